// SPDX-License-Identifier: GPL-2.0
/*
 * Memory of a process, pinned for the time that a device may touch it.
 *
 * FOLL_PIN and not a mere reference: after fork() the parent keeps a page that
 * is pinned, and the child has the copy; with a reference it would be the other
 * way, and a receive into it be lost.  Not FOLL_LONGTERM: a call lends its own
 * buffer, and only while it lasts.
 *
 * How much may be pinned is bounded for each namespace by net.sdp.zcopy_pinned.
 * RLIMIT_MEMLOCK would be the wrong measure here: a program did not ask for its
 * memory to be locked, a send() of a megabyte must not fail, or be slow, by a
 * limit that is 64 KiB in some distributions, and what is pinned is its own
 * buffer for the time of its own call.  Beyond the bound bytes are copied.
 */
#include <linux/mm.h>
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

int sdp_span_pin(struct sdp_span *span, struct sdp_net *sn,
		 const struct iov_iter *iter, u32 bytes, u8 dir)
{
	unsigned int gup = dir == DMA_FROM_DEVICE ? FOLL_WRITE : 0;
	unsigned long addr;
	u32 off, want;
	int i, n;

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
	unpin_user_pages_dirty_lock(span->pages, span->npages,
				    span->dir == DMA_FROM_DEVICE);
	atomic_long_sub(span->npages, &span->sn->pinned);
}
