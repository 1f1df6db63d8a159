/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory registrations, and the pool of a device that keeps them; see sdp_mr.c.
 */
#ifndef _SDP_MR_H
#define _SDP_MR_H

#include <rdma/ib_verbs.h>
#include "sdp_pool.h"

struct sdp_umem;

/* The idle registrations of one device. */
struct sdp_mr_pool {
	struct ib_pd *pd;
	unsigned int pages;		/* pages that one covers; 0: the device has none */
	struct sdp_pool idle;
};

struct sdp_mr {
	struct ib_mr *mr;		/* mr->iova is dma or told */
	struct sdp_pooled idle;
	u64 dma;			/* where it begins for our device */
	u64 told;			/* where it begins for a peer */
	bool valid;			/* its key may be valid */
};

struct sdp_mr *sdp_mr_get(struct sdp_mr_pool *pool);
void sdp_mr_put(struct sdp_mr_pool *pool, struct sdp_mr *mr,
		struct sdp_umem *umem);
int sdp_mr_map(struct sdp_mr *mr, struct sdp_umem *umem);
void sdp_mr_pool_init(struct sdp_mr_pool *pool, struct ib_pd *pd,
		      unsigned int pages);

/**
 * sdp_mr_bytes() - bytes that a registration covers, wherever they begin
 * @pool: the pool
 *
 * Context: any.
 * Return: bytes; 0 if the device has no such registrations.
 */
static inline u32 sdp_mr_bytes(const struct sdp_mr_pool *pool)
{
	return pool->pages ? (pool->pages - 1) * PAGE_SIZE : 0;
}

void sdp_mr_pool_exit(struct sdp_mr_pool *pool);

#endif
