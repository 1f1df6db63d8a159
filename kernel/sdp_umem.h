/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stretch of memory, held so that a device can read or write it; see
 * sdp_umem.c.
 */
#ifndef _SDP_UMEM_H
#define _SDP_UMEM_H

#include <linux/dma-direction.h>
#include <linux/list.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

struct iov_iter;
struct page;
struct sdp_net;

/* Pages of one, and one more where it does not begin with a page. */
enum {
	SDP_UMEM_PAGES	= 256,
	SDP_UMEM_BYTES	= SDP_UMEM_PAGES * 4096,
	SDP_UMEM_FEW	= 64 + 1,	/* for which no memory is allocated */
};

struct sdp_umem {
	struct sdp_net *sn;		/* charged for it */
	u32 bytes;
	u16 npages;
	u16 nents;			/* pages that lie together are one, up to 64 KiB */
	u8 dir;				/* enum dma_data_direction: TO_DEVICE if it
					 * is read, FROM_DEVICE if it is written
					 */
	bool pinned;			/* a process's; or pages with references */
	/* What the transport keeps with it while it is registered: see reg(). */
	void *dev;
	void *mr;
	u32 key;
	u64 va;				/* by which the key's holder knows it */
	struct scatterlist *sg;		/* these, or more of its own */
	struct scatterlist few[SDP_UMEM_FEW];
};

int sdp_umem_pin(struct sdp_umem *umem, struct sdp_net *sn,
		 const struct iov_iter *iter, u32 bytes, u32 most, u8 dir);
void sdp_umem_unpin(struct sdp_umem *umem);
void sdp_umem_try_unpin(struct sdp_umem *umem);
void sdp_umem_copy(const struct sdp_umem *umem, u32 skip, void *to, u32 bytes);

#endif
