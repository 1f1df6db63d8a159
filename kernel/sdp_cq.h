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

/* Of one device. */
struct sdp_cq_pool {
	struct ib_device *ib;
	int entries;			/* completions that a queue has room for */
	atomic_t vector;		/* of the queue made last */
	struct sdp_pool idle;
};

struct sdp_cq {
	struct ib_cq *cq;
	struct sdp_pooled idle;
	bool broken;			/* the device says so: not for reuse */
	spinlock_t lock;		/* irq-safe: event, ctx; held in event() */
	void (*event)(void *ctx);	/* NULL: nobody has it */
	void *ctx;
};

/**
 * sdp_cq_get() - have a completion queue
 * @pool: of the device
 * @event: called when a completion comes after sdp_cq_arm(), with interrupts
 *	off: it may only wake.  Also now and then for nothing
 * @ctx: handed to it
 *
 * Context: process; sleeps.
 * Return: the queue, empty, or an ERR_PTR().
 */
struct sdp_cq *sdp_cq_get(struct sdp_cq_pool *pool, void (*event)(void *ctx),
			  void *ctx);

/**
 * sdp_cq_put() - give it back
 * @pool: as in sdp_cq_get()
 * @cq: the queue, or NULL; no queue pair leads to it any more
 *
 * When this returns event() is not running and will not be called any more.
 * Completions that nobody polled are lost.
 *
 * Context: process; sleeps.
 */
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

/**
 * sdp_cq_pool_init() - an empty pool
 * @pool: what to initialise
 * @ib: the device
 * @entries: completions that each queue has room for, at least
 *
 * Context: any.
 */
void sdp_cq_pool_init(struct sdp_cq_pool *pool, struct ib_device *ib,
		      int entries);

/**
 * sdp_cq_pool_exit() - destroy what is in the pool; every queue was given back
 * @pool: the pool
 *
 * Context: process; sleeps.
 */
void sdp_cq_pool_exit(struct sdp_cq_pool *pool);

#endif
