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
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "sdp_net.h"
#include "sdp_span.h"

static bool sdp_span_charge(struct sdp_net *sn, u32 npages)
{
	u64 max = (u64)sdp_net_bounded(sn, zcopy_pinned) * 1024 / PAGE_SIZE;

	if (atomic_long_add_return(npages, &sn->pinned) <= max)
		return true;
	atomic_long_sub(npages, &sn->pinned);
	return false;
}

/* One entry is no longer than any device can be given. */
enum { SDP_SPAN_ENTRY = 64 * 1024 };

/* Ready for as many pages, charged for, in so many entries. */
static int sdp_span_begin(struct sdp_span *span, struct sdp_net *sn, u32 npages,
			  u32 nents, u8 dir)
{
	if (!sdp_span_charge(sn, npages))
		return -ENOBUFS;
	span->sg = span->few;
	if (nents > SDP_SPAN_FEW)
		span->sg = kvmalloc_array(nents, sizeof(*span->sg), GFP_KERNEL);
	if (!span->sg) {
		atomic_long_sub(npages, &sn->pinned);
		return -ENOMEM;
	}
	span->sn = sn;
	span->dir = dir;
	span->mr = NULL;
	span->bytes = 0;
	span->npages = 0;
	span->nents = 0;
	return 0;
}

/* No more pages are to come, of @npages that were charged. */
static void sdp_span_end(struct sdp_span *span, u32 npages)
{
	atomic_long_sub(npages - span->npages, &span->sn->pinned);
	if (span->nents)
		sg_mark_end(span->sg + span->nents - 1);
	else if (span->sg != span->few)
		kvfree(span->sg);
}

/* @n pages that lie together, behind what it has: with the last entry if they lie
 * behind that.
 */
static void sdp_span_add(struct sdp_span *span, struct page *page, u32 n,
			 u32 off, u32 bytes)
{
	struct scatterlist *last;

	span->npages += n;
	span->bytes += bytes;
	if (span->nents) {
		last = span->sg + span->nents - 1;
		if (last->length + bytes <= SDP_SPAN_ENTRY &&
		    sg_phys(last) + last->length == page_to_phys(page) + off) {
			last->length += bytes;
			return;
		}
	}
	last = span->sg + span->nents++;
	*last = (struct scatterlist) {};
	sg_set_page(last, page, bytes, off);
}

/*
 * Pages of an iterator that lie one behind the other as a device is to see them:
 * all but the first begin with the page, all but the last end with it.
 */
static void sdp_span_refer(struct sdp_span *span, const struct iov_iter *iter,
			   size_t left, u32 npages)
{
	const struct bio_vec *bv = iter->bvec;
	size_t off = iter->iov_offset;

	while (left && span->npages < npages) {
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
		if ((span->npages && offset_in_page(at)) || !sendpage_ok(page))
			break;
		get_page(page);
		sdp_span_add(span, page, 1, offset_in_page(at), here);
		left -= here;
		off += here;
		if (offset_in_page(at) + here < PAGE_SIZE)
			break;
	}
}

static int sdp_span_hold_pages(struct sdp_span *span, struct sdp_net *sn,
			       const struct iov_iter *iter, u32 bytes)
{
	size_t left = min_t(size_t, bytes, iov_iter_count(iter));
	u32 npages = DIV_ROUND_UP(left, PAGE_SIZE) + 1;
	int err;

	err = sdp_span_begin(span, sn, npages, npages, DMA_TO_DEVICE);
	if (err)
		return err;
	span->pinned = false;
	sdp_span_refer(span, iter, left, npages);
	sdp_span_end(span, npages);
	return span->npages ? span->bytes : -EFAULT;
}

/* Of these pages so many lie together, no more than an entry takes. */
static u32 sdp_span_run(struct page **pages, u32 n)
{
	unsigned long pfn = page_to_pfn(*pages);
	u32 i = 1;

	n = min_t(u32, n, SDP_SPAN_ENTRY / PAGE_SIZE);
	while (i < n && page_to_pfn(pages[i]) == pfn + i)
		i++;
	return i;
}

enum {
	SDP_SPAN_BATCH	= 64,	/* pages pinned at a time */
	/* So many pages in an entry, and pinning more costs next to nothing. */
	SDP_SPAN_LONG	= 8,
};

/* Pins from @addr on, as much of it as there is; why there is no more.  @bytes of
 * the @most that may be, unless it lies together: that takes few entries, of the
 * @nents that there are.
 */
static int sdp_span_pin_pages(struct sdp_span *span, unsigned long addr,
			      u32 bytes, u32 most, u32 nents)
{
	unsigned int gup = span->dir == DMA_FROM_DEVICE ? FOLL_WRITE : 0;
	struct page *pages[SDP_SPAN_BATCH];
	u32 off = offset_in_page(addr), run, here;
	/* Whole pages, or there would be one that is held twice. */
	u32 least = min_t(u32, round_up(off + bytes, PAGE_SIZE) - off, most);
	int i, n, want;

	while (span->bytes < least ||
	       (span->bytes < most && span->nents < nents &&
		span->nents * SDP_SPAN_LONG <= span->npages)) {
		here = (span->bytes < least ? least : most) - span->bytes;
		want = min3(DIV_ROUND_UP(off + here, (u32)PAGE_SIZE),
			    (u32)ARRAY_SIZE(pages), nents - span->nents);
		n = pin_user_pages_fast(addr + span->bytes, want, gup, pages);
		here = min_t(u32, here, want * PAGE_SIZE - off);
		for (i = 0; i < n; i += run) {
			u32 part;

			run = sdp_span_run(pages + i, n - i);
			part = min_t(u32, here, run * PAGE_SIZE - off);
			sdp_span_add(span, pages[i], run, off, part);
			here -= part;
			off = 0;
		}
		if (n < want)
			return n < 0 ? n : -EFAULT;
	}
	if (span->bytes == least) {
		span->sg[span->nents - 1].length -= least - bytes;
		span->bytes = bytes;
	}
	return 0;
}

static int sdp_span_hold_user(struct sdp_span *span, struct sdp_net *sn,
			      unsigned long addr, u32 bytes, u32 most, u8 dir)
{
	u32 npages = DIV_ROUND_UP(offset_in_page(addr) + most, PAGE_SIZE);
	u32 nents = max_t(u32, DIV_ROUND_UP(offset_in_page(addr) + bytes,
					    PAGE_SIZE), SDP_SPAN_FEW);
	int err;

	err = sdp_span_begin(span, sn, npages, nents, dir);
	if (err)
		return err;
	span->pinned = true;
	err = sdp_span_pin_pages(span, addr, bytes, most, nents);
	sdp_span_end(span, npages);
	return span->npages ? span->bytes : err;
}

int sdp_span_pin(struct sdp_span *span, struct sdp_net *sn,
		 const struct iov_iter *iter, u32 bytes, u32 most, u8 dir)
{
	unsigned long addr;
	int n;

	if (iov_iter_is_bvec(iter) && dir == DMA_TO_DEVICE)
		return sdp_span_hold_pages(span, sn, iter,
					   min_t(u32, bytes, SDP_SPAN_BYTES));
	if (!user_backed_iter(iter))
		return -EINVAL;
	addr = (unsigned long)sdp_iter_addr(iter);
	most = min3((size_t)most, sdp_iter_len(iter), (size_t)SDP_SPAN_BYTES);
	bytes = min(bytes, most);
	if (!bytes)
		return -EINVAL;
	n = sdp_span_hold_user(span, sn, addr, bytes, most, dir);
	/* Perhaps there is room for what is wanted in any case. */
	if (n == -ENOBUFS && bytes < most)
		n = sdp_span_hold_user(span, sn, addr, bytes, bytes, dir);
	return n;
}

static struct page *sdp_span_page(struct scatterlist *sg, u32 n)
{
	return pfn_to_page(page_to_pfn(sg_page(sg)) + n);
}

static u32 sdp_span_pages(const struct scatterlist *sg)
{
	return DIV_ROUND_UP(sg->offset + sg->length, PAGE_SIZE);
}

static void sdp_span_put_entry(const struct sdp_span *span,
			       struct scatterlist *sg, bool dirty)
{
	u32 n = sdp_span_pages(sg);

	if (span->pinned)
		unpin_user_page_range_dirty_lock(sg_page(sg), n, dirty);
	else
		while (n--)
			put_page(sdp_span_page(sg, n));
}

/* @dirty: what is put is still to be marked so. */
static void sdp_span_put(struct sdp_span *span, bool dirty)
{
	u32 i;

	for (i = 0; i < span->nents; i++)
		sdp_span_put_entry(span, span->sg + i, dirty);
	atomic_long_sub(span->npages, &span->sn->pinned);
	if (span->sg != span->few)
		kvfree(span->sg);
	span->sg = span->few;
	span->nents = 0;
	span->npages = 0;
}

void sdp_span_unpin(struct sdp_span *span)
{
	sdp_span_put(span, span->dir == DMA_FROM_DEVICE);
}

/* Mark it without waiting for a page's lock.  One that is written back from now on
 * and clean then is so with all that the device has put there.
 */
static bool sdp_span_try_dirty(struct scatterlist *sg)
{
	u32 n = sdp_span_pages(sg);

	while (n--) {
		struct folio *folio = page_folio(sdp_span_page(sg, n));

		if (folio_test_dirty(folio))
			continue;
		if (!folio_trylock(folio))
			return false;
		folio_mark_dirty(folio);
		folio_unlock(folio);
	}
	return true;
}

void sdp_span_try_unpin(struct sdp_span *span)
{
	u32 i;

	if (span->dir == DMA_FROM_DEVICE)
		for (i = 0; i < span->nents; i++)
			if (!sdp_span_try_dirty(span->sg + i))
				return;
	sdp_span_put(span, false);
}

void sdp_span_copy(const struct sdp_span *span, u32 skip, void *to, u32 bytes)
{
	struct scatterlist *sg = span->sg;
	u32 at, here;

	for (; bytes; sg++) {
		for (; bytes && skip < sg->length; skip += here) {
			at = sg->offset + skip;
			here = min3(bytes, sg->length - skip,
				    (u32)(PAGE_SIZE - offset_in_page(at)));
			memcpy_from_page(to, sdp_span_page(sg, at >> PAGE_SHIFT),
					 offset_in_page(at), here);
			to += here;
			bytes -= here;
		}
		skip -= sg->length;
	}
}
