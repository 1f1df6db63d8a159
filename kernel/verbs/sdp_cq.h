/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Completion queues, and the pool of a device that keeps them for the next
 * connection; see sdp_cq.c.
 */
#ifndef _SDP_CQ_H
#define _SDP_CQ_H

#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "sdp_pool.h"

/* The idle queues of one device, for receives or for sends. */
struct sdp_cq_pool {
	struct ib_device *ib;
	int entries;			/* completions that a queue has room for */
	atomic_t vector;		/* counts queues made, for their vectors */
	struct sdp_pool idle;
};

struct sdp_cq {
	struct ib_cq *cq;
	struct sdp_pooled idle;
	bool broken;			/* error of the device: not for reuse */
	spinlock_t lock;		/* irq-safe: event, ctx; held in event() */
	void (*event)(void *ctx);	/* NULL: the queue is idle */
	void *ctx;			/* argument of event() */
};

struct sdp_cq *sdp_cq_get(struct sdp_cq_pool *pool, void (*event)(void *ctx),
			  void *ctx);
void sdp_cq_put(struct sdp_cq_pool *pool, struct sdp_cq *cq);

/**
 * sdp_cq_arm() - ask for an event at the next completion
 * @cq: the queue
 *
 * Context: any but hard interrupt, and not the queue's own handler.
 * Return: true if completions are already there: poll again.
 */
static inline bool sdp_cq_arm(struct sdp_cq *cq)
{
	return ib_req_notify_cq(cq->cq, IB_CQ_NEXT_COMP |
					IB_CQ_REPORT_MISSED_EVENTS) > 0;
}

void sdp_cq_pool_init(struct sdp_cq_pool *pool, struct ib_device *ib,
		      int entries);
void sdp_cq_pool_exit(struct sdp_cq_pool *pool);

#endif
