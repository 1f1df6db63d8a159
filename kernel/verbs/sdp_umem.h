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

/* SDP_UMEM_PAGES: most pages of one; one more if it begins within a page. */
enum {
	SDP_UMEM_PAGES	= 256,
	SDP_UMEM_BYTES	= SDP_UMEM_PAGES * 4096,
	SDP_UMEM_FEW	= 64 + 1,	/* entries that need no allocation */
};

struct sdp_umem {
	struct sdp_net *sn;		/* namespace that is charged */
	u32 bytes;
	u16 npages;
	u16 nents;			/* entries of sg: contiguous pages, up to 64 KiB */
	/* DMA_TO_DEVICE: the device reads it, DMA_FROM_DEVICE: it writes. */
	u8 dir;
	bool pinned;			/* user memory; false: referenced pages */
	/* Of the transport, while it is registered: see sdp_xport.reg(). */
	void *dev;
	void *mr;
	u32 key;
	u64 va;				/* address for the holder of the key */
	struct scatterlist *sg;		/* few, or an allocated array */
	struct scatterlist few[SDP_UMEM_FEW];
};

int sdp_umem_pin(struct sdp_umem *umem, struct sdp_net *sn,
		 const struct iov_iter *iter, u32 bytes, u32 most, u8 dir);
void sdp_umem_unpin(struct sdp_umem *umem);
void sdp_umem_try_unpin(struct sdp_umem *umem);
u32 sdp_umem_to_iter(const struct sdp_umem *umem, u32 skip, u32 bytes,
		     struct iov_iter *to);
void sdp_umem_copy(const struct sdp_umem *umem, u32 skip, void *to, u32 bytes);

#endif
