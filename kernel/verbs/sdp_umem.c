// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is held while a device may access it.
 *
 * Memory of a process is pinned.  FOLL_PIN and not a mere reference: after
 * fork() the parent keeps a page that is pinned, and the child gets the copy.
 * With a reference it would be the other way round, and what is received into
 * the page would be lost.  Not FOLL_LONGTERM: it is for one transfer, which
 * net.sdp.zcopy_wait bounds.
 *
 * Pages that come as such (of a file, by sendfile(); of a buffer that io_uring
 * has pinned already) are only referenced.
 *
 * net.sdp.zcopy_pinned limits how much a namespace may have pinned.
 * RLIMIT_MEMLOCK would be the wrong measure here.  A program did not ask for
 * its memory to be locked.  A send() of a megabyte must not fail, or be slow,
 * because of a limit that is 64 KiB in some distributions.  And what is pinned
 * is the program's own buffer for the time of its own call.  Beyond the limit
 * bytes are copied.
 */
#include <linux/bvec.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/net.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include "sdp_net.h"
#include "sdp_umem.h"

static bool sdp_umem_charge(struct sdp_net *sn, u32 npages)
{
	u64 max = (u64)sdp_net_bounded(sn, zcopy_pinned) * 1024 / PAGE_SIZE;

	if (atomic_long_add_return(npages, &sn->pinned) <= max)
		return true;
	atomic_long_sub(npages, &sn->pinned);
	return false;
}

/* Most bytes of one scatterlist entry: every device can take as many. */
enum { SDP_UMEM_ENTRY = 64 * 1024 };

/* Charge @npages, and have room for @nents scatterlist entries. */
static int sdp_umem_begin(struct sdp_umem *umem, struct sdp_net *sn, u32 npages,
			  u32 nents, u8 dir)
{
	if (!sdp_umem_charge(sn, npages))
		return -ENOBUFS;
	umem->sg = umem->few;
	if (nents > SDP_UMEM_FEW)
		umem->sg = kvmalloc_array(nents, sizeof(*umem->sg), GFP_KERNEL);
	if (!umem->sg) {
		atomic_long_sub(npages, &sn->pinned);
		return -ENOMEM;
	}
	umem->sn = sn;
	umem->dir = dir;
	umem->mr = NULL;
	umem->bytes = 0;
	umem->npages = 0;
	umem->nents = 0;
	return 0;
}

/* All pages are there: uncharge what is left of the @npages charged. */
static void sdp_umem_end(struct sdp_umem *umem, u32 npages)
{
	atomic_long_sub(npages - umem->npages, &umem->sn->pinned);
	if (umem->nents)
		sg_mark_end(umem->sg + umem->nents - 1);
	else if (umem->sg != umem->few)
		kvfree(umem->sg);
}

/* Append @n contiguous pages: to the last entry if they directly follow it. */
static void sdp_umem_add(struct sdp_umem *umem, struct page *page, u32 n,
			 u32 off, u32 bytes)
{
	struct scatterlist *last;

	umem->npages += n;
	umem->bytes += bytes;
	if (umem->nents) {
		last = umem->sg + umem->nents - 1;
		if (last->length + bytes <= SDP_UMEM_ENTRY &&
		    sg_phys(last) + last->length == page_to_phys(page) + off) {
			last->length += bytes;
			return;
		}
	}
	last = umem->sg + umem->nents++;
	*last = (struct scatterlist) {};
	sg_set_page(last, page, bytes, off);
}

/*
 * Reference pages of an iterator, as far as one registration can cover them:
 * all but the first begin at a page boundary, all but the last end at one.
 */
static void sdp_umem_refer(struct sdp_umem *umem, const struct iov_iter *iter,
			   size_t left, u32 npages)
{
	const struct bio_vec *bv = iter->bvec;
	size_t off = iter->iov_offset;

	while (left && umem->npages < npages) {
		size_t at = bv->bv_offset + off;
		size_t here = min3(left, bv->bv_len - off,
				   PAGE_SIZE - offset_in_page(at));
		struct page *page = bv->bv_page + (at >> PAGE_SHIFT);

		/* Some callers have empty segments: skip them. */
		if (!here) {
			bv++;
			off = 0;
			continue;
		}
		if ((umem->npages && offset_in_page(at)) || !sendpage_ok(page))
			break;
		get_page(page);
		sdp_umem_add(umem, page, 1, offset_in_page(at), here);
		left -= here;
		off += here;
		if (offset_in_page(at) + here < PAGE_SIZE)
			break;
	}
}

static int sdp_umem_hold_pages(struct sdp_umem *umem, struct sdp_net *sn,
			       const struct iov_iter *iter, u32 bytes)
{
	size_t left = min_t(size_t, bytes, iov_iter_count(iter));
	u32 npages = DIV_ROUND_UP(left, PAGE_SIZE) + 1;
	int err;

	err = sdp_umem_begin(umem, sn, npages, npages, DMA_TO_DEVICE);
	if (err)
		return err;
	umem->pinned = false;
	sdp_umem_refer(umem, iter, left, npages);
	sdp_umem_end(umem, npages);
	return umem->npages ? umem->bytes : -EFAULT;
}

/* How many of the first pages are contiguous, at most those of one entry. */
static u32 sdp_umem_run(struct page **pages, u32 n)
{
	unsigned long pfn = page_to_pfn(*pages);
	u32 i = 1;

	n = min_t(u32, n, SDP_UMEM_ENTRY / PAGE_SIZE);
	while (i < n && page_to_pfn(pages[i]) == pfn + i)
		i++;
	return i;
}

enum {
	SDP_UMEM_BATCH	= 64,	/* pages pinned at a time */
	/* Pages per entry from which on pinning more costs next to nothing. */
	SDP_UMEM_LONG	= 8,
};

/* Pin @bytes from @addr on.  Pin up to @most where the pages are contiguous,
 * since that takes few of the @nents entries.  0, or why pinning ended early.
 */
static int sdp_umem_pin_pages(struct sdp_umem *umem, unsigned long addr,
			      u32 bytes, u32 most, u32 nents)
{
	unsigned int gup = umem->dir == DMA_FROM_DEVICE ? FOLL_WRITE : 0;
	struct page *pages[SDP_UMEM_BATCH];
	u32 off = offset_in_page(addr), run, here;
	/* Whole pages: to go on within a page would pin that page twice. */
	u32 least = min_t(u32, round_up(off + bytes, PAGE_SIZE) - off, most);
	int i, n, want;

	while (umem->bytes < least ||
	       (umem->bytes < most && umem->nents < nents &&
		umem->nents * SDP_UMEM_LONG <= umem->npages)) {
		here = (umem->bytes < least ? least : most) - umem->bytes;
		want = min3(DIV_ROUND_UP(off + here, (u32)PAGE_SIZE),
			    (u32)ARRAY_SIZE(pages), nents - umem->nents);
		n = pin_user_pages_fast(addr + umem->bytes, want, gup, pages);
		here = min_t(u32, here, want * PAGE_SIZE - off);
		for (i = 0; i < n; i += run) {
			u32 part;

			run = sdp_umem_run(pages + i, n - i);
			part = min_t(u32, here, run * PAGE_SIZE - off);
			sdp_umem_add(umem, pages[i], run, off, part);
			here -= part;
			off = 0;
		}
		if (n < want)
			return n < 0 ? n : -EFAULT;
	}
	if (umem->bytes == least) {
		umem->sg[umem->nents - 1].length -= least - bytes;
		umem->bytes = bytes;
	}
	return 0;
}

static int sdp_umem_hold_user(struct sdp_umem *umem, struct sdp_net *sn,
			      unsigned long addr, u32 bytes, u32 most, u8 dir)
{
	u32 npages = DIV_ROUND_UP(offset_in_page(addr) + most, PAGE_SIZE);
	u32 nents = max_t(u32, DIV_ROUND_UP(offset_in_page(addr) + bytes,
					    PAGE_SIZE), SDP_UMEM_FEW);
	int err;

	err = sdp_umem_begin(umem, sn, npages, nents, dir);
	if (err)
		return err;
	umem->pinned = true;
	err = sdp_umem_pin_pages(umem, addr, bytes, most, nents);
	sdp_umem_end(umem, npages);
	return umem->npages ? umem->bytes : err;
}

static int sdp_umem_hold(struct sdp_umem *umem, struct sdp_net *sn,
			 const struct iov_iter *iter, u32 bytes, u32 most, u8 dir)
{
	unsigned long addr;
	int n;

	if (iov_iter_is_bvec(iter) && dir == DMA_TO_DEVICE)
		return sdp_umem_hold_pages(umem, sn, iter,
					   min_t(u32, bytes, SDP_UMEM_BYTES));
	if (!user_backed_iter(iter))
		return -EINVAL;
	addr = (unsigned long)sdp_iter_addr(iter);
	most = min3((size_t)most, sdp_iter_len(iter), (size_t)SDP_UMEM_BYTES);
	bytes = min(bytes, most);
	if (!bytes)
		return -EINVAL;
	n = sdp_umem_hold_user(umem, sn, addr, bytes, most, dir);
	/* There may be room for @bytes, if not for more. */
	if (n == -ENOBUFS && bytes < most)
		n = sdp_umem_hold_user(umem, sn, addr, bytes, bytes, dir);
	return n;
}

/**
 * sdp_umem_pin() - hold the memory that an iterator stands at
 * @umem: what to fill in
 * @sn: namespace that is charged; its net.sdp.zcopy_pinned is the limit
 * @iter: user memory; or, with DMA_TO_DEVICE, pages (ITER_BVEC) that may be
 *	referenced.  Not advanced
 * @bytes: how much, at most.  Of user memory not more than one segment is
 *	taken, of pages not more than one registration can cover, and not more
 *	than SDP_UMEM_BYTES
 * @most: @bytes or more.  User memory is held up to this length if it is
 *	contiguous (huge pages), where to pin more costs next to nothing
 * @dir: DMA_TO_DEVICE or DMA_FROM_DEVICE
 *
 * Context: process; sleeps.
 * Return: bytes held, more than a page; -EMSGSIZE if it would be a page or less,
 * -EFAULT if nothing could be held, -EINVAL if it is other memory or none,
 * -ENOBUFS if too much is held already, -ENOMEM.
 */
int sdp_umem_pin(struct sdp_umem *umem, struct sdp_net *sn,
		 const struct iov_iter *iter, u32 bytes, u32 most, u8 dir)
{
	int n = sdp_umem_hold(umem, sn, iter, bytes, most, dir);

	/* What could be held may be too little to be worth it. */
	if (n >= 0 && n <= PAGE_SIZE) {
		sdp_umem_unpin(umem);
		return -EMSGSIZE;
	}
	return n;
}

static struct page *sdp_umem_page(struct scatterlist *sg, u32 n)
{
	return pfn_to_page(page_to_pfn(sg_page(sg)) + n);
}

static u32 sdp_umem_pages(const struct scatterlist *sg)
{
	return DIV_ROUND_UP(sg->offset + sg->length, PAGE_SIZE);
}

static void sdp_umem_put_entry(const struct sdp_umem *umem,
			       struct scatterlist *sg, bool dirty)
{
	u32 n = sdp_umem_pages(sg);

	if (umem->pinned)
		unpin_user_page_range_dirty_lock(sg_page(sg), n, dirty);
	else
		while (n--)
			put_page(sdp_umem_page(sg, n));
}

/* @dirty: the pages have to be marked dirty. */
static void sdp_umem_put(struct sdp_umem *umem, bool dirty)
{
	u32 i;

	for (i = 0; i < umem->nents; i++)
		sdp_umem_put_entry(umem, umem->sg + i, dirty);
	atomic_long_sub(umem->npages, &umem->sn->pinned);
	if (umem->sg != umem->few)
		kvfree(umem->sg);
	umem->sg = umem->few;
	umem->nents = 0;
	umem->npages = 0;
}

/**
 * sdp_umem_unpin() - let go of memory that the device does not access any more
 * @umem: from sdp_umem_pin(); holds nothing after, and may be unpinned again
 *
 * Context: process; may sleep until others have unlocked its pages.
 */
void sdp_umem_unpin(struct sdp_umem *umem)
{
	sdp_umem_put(umem, umem->dir == DMA_FROM_DEVICE);
}

/* Mark pages dirty without waiting for a page lock.  A page that is dirty
 * already needs no mark: its write-back will include all that the device has
 * written.
 */
static bool sdp_umem_try_dirty(struct scatterlist *sg)
{
	u32 n = sdp_umem_pages(sg);

	while (n--) {
		struct folio *folio = page_folio(sdp_umem_page(sg, n));

		if (folio_test_dirty(folio))
			continue;
		if (!folio_trylock(folio))
			return false;
		folio_mark_dirty(folio);
		folio_unlock(folio);
	}
	return true;
}

/**
 * sdp_umem_try_unpin() - sdp_umem_unpin(), without waiting for a page lock
 * @umem: from sdp_umem_pin()
 *
 * Memory that was written to stays held if one of its pages is locked:
 * sdp_umem_unpin() is to be called later in any case.
 *
 * Context: process.
 */
void sdp_umem_try_unpin(struct sdp_umem *umem)
{
	u32 i;

	if (umem->dir == DMA_FROM_DEVICE)
		for (i = 0; i < umem->nents; i++)
			if (!sdp_umem_try_dirty(umem->sg + i))
				return;
	sdp_umem_put(umem, false);
}

/**
 * sdp_umem_copy() - copy from held memory
 * @umem: from sdp_umem_pin()
 * @skip: bytes to leave out at its beginning
 * @to: where to
 * @bytes: how many, not more than are left
 *
 * Context: process.
 */
void sdp_umem_copy(const struct sdp_umem *umem, u32 skip, void *to, u32 bytes)
{
	struct scatterlist *sg = umem->sg;
	u32 at, here;

	for (; bytes; sg++) {
		for (; bytes && skip < sg->length; skip += here) {
			at = sg->offset + skip;
			here = min3(bytes, sg->length - skip,
				    (u32)(PAGE_SIZE - offset_in_page(at)));
			memcpy_from_page(to, sdp_umem_page(sg, at >> PAGE_SHIFT),
					 offset_in_page(at), here);
			to += here;
			bytes -= here;
		}
		skip -= sg->length;
	}
}

/**
 * sdp_umem_to_iter() - copy from held memory to where an iterator stands
 * @umem: from sdp_umem_pin(); none of it is high memory
 * @skip: bytes to leave out at its beginning
 * @bytes: how many, not more than are left
 * @to: where to; advanced
 *
 * Context: process; does not sleep if page faults are off.
 * Return: bytes; fewer if a page of the iterator's was not there.
 */
u32 sdp_umem_to_iter(const struct sdp_umem *umem, u32 skip, u32 bytes,
		     struct iov_iter *to)
{
	struct scatterlist *sg = umem->sg;
	u32 done = 0, here, n;

	while (skip >= sg->length)
		skip -= sg++->length;
	for (; done < bytes; skip = 0, sg++) {
		here = min(bytes - done, sg->length - skip);
		/* An entry is contiguous, and pages of users: nothing to check. */
		n = _copy_to_iter(sg_virt(sg) + skip, here, to);
		done += n;
		if (n < here)
			break;
	}
	return done;
}
