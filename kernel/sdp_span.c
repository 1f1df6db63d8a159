// SPDX-License-Identifier: GPL-2.0
/*
 * Memory held for the time that a device may touch it.
 *
 * That of a process is pinned.  FOLL_PIN and not a mere reference: after fork()
 * the parent keeps a page that is pinned, and the child has the copy; with a
 * reference it would be the other way, and a receive into it be lost.  Not
 * FOLL_LONGTERM: it is for one transfer, and net.sdp.zcopy_wait bounds that.
 *
 * Pages that come as such (of a file, by sendfile(); of a buffer that io_uring
 * has pinned already) are referred to.
 *
 * How much may be pinned is bounded for each namespace by net.sdp.zcopy_pinned.
 * RLIMIT_MEMLOCK would be the wrong measure here: a program did not ask for its
 * memory to be locked, a send() of a megabyte must not fail, or be slow, by a
 * limit that is 64 KiB in some distributions, and what is pinned is its own
 * buffer for the time of its own call.  Beyond the bound bytes are copied.
 */
#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/uio.h>
#include "sdp_net.h"
#include "sdp_span.h"

static bool sdp_span_charge(struct sdp_net *sn, u32 npages)
{
	u64 max = (u64)READ_ONCE(sn->zcopy_pinned) * 1024 / PAGE_SIZE;

	if (atomic_long_add_return(npages, &sn->pinned) <= max)
		return true;
	atomic_long_sub(npages, &sn->pinned);
	return false;
}

/*
 * Pages of an iterator that lie one behind the other as a device is to see them:
 * all but the first begin with the page, all but the last end with it.  How many;
 * *@bytes becomes what they hold.
 */
static int sdp_span_refer(struct sdp_span *span, const struct iov_iter *iter,
			  u32 *bytes)
{
	const struct bio_vec *bv = iter->bvec;
	size_t left = min_t(size_t, *bytes, iov_iter_count(iter));
	size_t off = iter->iov_offset;
	u32 got = 0;
	int n = 0;

	while (left && n < ARRAY_SIZE(span->pages)) {
		size_t at = bv->bv_offset + off;
		size_t here = min3(left, bv->bv_len - off,
				   PAGE_SIZE - offset_in_page(at));
		struct page *page = bv->bv_page + (at >> PAGE_SHIFT);

		/* An empty one is skipped: some callers have such. */
		if (!here) {
			bv++;
			off = 0;
			continue;
		}
		if ((n && offset_in_page(at)) || !sendpage_ok(page))
			break;
		get_page(page);
		span->pages[n] = page;
		sg_set_page(&span->sg[n++], page, here, offset_in_page(at));
		got += here;
		left -= here;
		off += here;
		if (offset_in_page(at) + here < PAGE_SIZE)
			break;
	}
	*bytes = got;
	return n;
}

static int sdp_span_hold_pages(struct sdp_span *span, struct sdp_net *sn,
			       const struct iov_iter *iter, u32 bytes)
{
	int n;

	if (!sdp_span_charge(sn, ARRAY_SIZE(span->pages)))
		return -ENOBUFS;
	sg_init_table(span->sg, ARRAY_SIZE(span->sg));
	n = sdp_span_refer(span, iter, &bytes);
	atomic_long_sub(ARRAY_SIZE(span->pages) - n, &sn->pinned);
	if (!n)
		return -EFAULT;
	sg_mark_end(&span->sg[n - 1]);
	span->sn = sn;
	span->dir = DMA_TO_DEVICE;
	span->npages = n;
	span->pinned = false;
	span->mr = NULL;
	span->bytes = bytes;
	return bytes;
}

int sdp_span_pin(struct sdp_span *span, struct sdp_net *sn,
		 const struct iov_iter *iter, u32 bytes, u8 dir)
{
	unsigned int gup = dir == DMA_FROM_DEVICE ? FOLL_WRITE : 0;
	unsigned long addr;
	u32 off, want;
	int i, n;

	if (iov_iter_is_bvec(iter) && dir == DMA_TO_DEVICE)
		return sdp_span_hold_pages(span, sn, iter,
					   min_t(u32, bytes, SDP_SPAN_BYTES));
	if (!user_backed_iter(iter))
		return -EINVAL;
	addr = (unsigned long)sdp_iter_addr(iter);
	off = offset_in_page(addr);
	bytes = min3((size_t)bytes, sdp_iter_len(iter), (size_t)SDP_SPAN_BYTES);
	if (!bytes)
		return -EINVAL;
	want = min_t(u32, DIV_ROUND_UP(off + bytes, PAGE_SIZE),
		     ARRAY_SIZE(span->pages));
	if (!sdp_span_charge(sn, want))
		return -ENOBUFS;
	n = pin_user_pages_fast(addr, want, gup, span->pages);
	if (n <= 0) {
		atomic_long_sub(want, &sn->pinned);
		return n ?: -EFAULT;
	}
	atomic_long_sub(want - n, &sn->pinned);
	span->sn = sn;
	span->dir = dir;
	span->npages = n;
	span->pinned = true;
	span->mr = NULL;
	span->bytes = min_t(u32, bytes, n * PAGE_SIZE - off);
	sg_init_table(span->sg, n);
	for (i = 0, bytes = span->bytes; i < n; i++) {
		u32 here = min_t(u32, bytes, PAGE_SIZE - off);

		sg_set_page(&span->sg[i], span->pages[i], here, off);
		bytes -= here;
		off = 0;
	}
	return span->bytes;
}

void sdp_span_unpin(struct sdp_span *span)
{
	int i;

	if (span->pinned)
		unpin_user_pages_dirty_lock(span->pages, span->npages,
					    span->dir == DMA_FROM_DEVICE);
	else
		for (i = 0; i < span->npages; i++)
			put_page(span->pages[i]);
	atomic_long_sub(span->npages, &span->sn->pinned);
}

void sdp_span_copy(const struct sdp_span *span, u32 skip, void *to, u32 bytes)
{
	const struct scatterlist *sg = span->sg;
	u32 here;

	for (; bytes; sg++) {
		if (skip >= sg->length) {
			skip -= sg->length;
			continue;
		}
		here = min(bytes, sg->length - skip);
		memcpy_from_page(to, sg_page((struct scatterlist *)sg),
				 sg->offset + skip, here);
		to += here;
		bytes -= here;
		skip = 0;
	}
}
