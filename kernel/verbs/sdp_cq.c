// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues, which outlive their connection.
 *
 * To make or to destroy one is a command to the device's firmware, or with
 * soft-RoCE an allocation of pages, and a connection needs two.  The number of
 * a queue pair is known for a while to the peer's CM and to what is under way.
 * A completion queue is known to nobody outside, so an empty one is as good as
 * new.  Each device therefore keeps those that were given back, for some
 * seconds.
 *
 * The device knows the queue, not the connection.  Events go to the present
 * user of the queue, under its lock, and to nobody after sdp_cq_put().  A late
 * event of the connection before is spurious for the next one, and only makes
 * it look.  This is also what makes soft-RoCE of Linux before 6.4 safe, which
 * calls the handler from a tasklet that ib_destroy_cq() does not wait for: here
 * it has long run when the queue is destroyed.
 */
#include <linux/slab.h>
#include "sdp_cq.h"
#include "sdp_trace.h"

enum {
	SDP_CQ_LATE_MS	= 100,	/* how late an event may come, in ms */
	SDP_CQ_POLL	= 8,	/* completions dropped in one go */
};

static void sdp_cq_event(struct ib_cq *ibcq, void *ctx)
{
	struct sdp_cq *cq = ctx;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	if (cq->event)
		cq->event(cq->ctx);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/* A queue in error: its queue pairs are told too, which ends the connection. */
static void sdp_cq_failed(struct ib_event *event, void *ctx)
{
	struct sdp_cq *cq = ctx;

	WRITE_ONCE(cq->broken, true);
}

static void sdp_cq_own(struct sdp_cq *cq, void (*event)(void *ctx), void *ctx)
{
	spin_lock_irq(&cq->lock);
	cq->event = event;
	cq->ctx = ctx;
	spin_unlock_irq(&cq->lock);
}

static struct sdp_cq *sdp_cq_create(struct sdp_cq_pool *pool)
{
	struct ib_cq_init_attr attr = { .cqe = pool->entries };
	struct sdp_cq *cq;

	cq = kzalloc_obj(*cq, GFP_KERNEL);
	if (!cq)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&cq->lock);
	/* Vectors in turn, by a counter of each pool: with a common one half of
	 * the vectors would have the receives and the other half the sends.
	 */
	attr.comp_vector = (unsigned int)atomic_inc_return(&pool->vector) %
			   max(pool->ib->num_comp_vectors, 1);
	cq->cq = ib_create_cq(pool->ib, sdp_cq_event, sdp_cq_failed, cq, &attr);
	if (IS_ERR(cq->cq)) {
		int err = PTR_ERR(cq->cq);

		kfree(cq);
		return ERR_PTR(err);
	}
	return cq;
}

static void sdp_cq_destroy(struct sdp_cq *cq)
{
	ib_destroy_cq(cq->cq);
	kfree(cq);
}

static void sdp_cq_destroy_idle(struct sdp_pooled *entry)
{
	sdp_cq_destroy(container_of(entry, struct sdp_cq, idle));
}

/**
 * sdp_cq_get() - get a completion queue
 * @pool: a pool of the device
 * @event: called when a completion comes after sdp_cq_arm(), with interrupts
 *	off: it may only wake.  Some calls are spurious
 * @ctx: argument of @event
 *
 * Context: process; sleeps.
 * Return: the queue, empty, or an ERR_PTR().
 */
struct sdp_cq *sdp_cq_get(struct sdp_cq_pool *pool, void (*event)(void *ctx),
			  void *ctx)
{
	struct sdp_pooled *idle = sdp_pool_take(&pool->idle);
	struct sdp_cq *cq;

	cq = idle ? container_of(idle, struct sdp_cq, idle) :
		    sdp_cq_create(pool);
	if (!idle)
		trace_sdp_pool(0, dev_name(&pool->ib->dev), "CQ", PTR_ERR_OR_ZERO(cq));
	if (IS_ERR(cq))
		return cq;
	sdp_cq_own(cq, event, ctx);
	return cq;
}

/**
 * sdp_cq_put() - give a completion queue back
 * @pool: as in sdp_cq_get()
 * @cq: the queue, or NULL; no queue pair uses it any more
 *
 * When this returns event() is not running and will not be called any more.
 * Completions that nobody polled are lost.
 *
 * Context: process; sleeps.
 */
void sdp_cq_put(struct sdp_cq_pool *pool, struct sdp_cq *cq)
{
	struct ib_wc wc[SDP_CQ_POLL];

	if (!cq)
		return;
	sdp_cq_own(cq, NULL, NULL);
	if (READ_ONCE(cq->broken)) {
		sdp_cq_destroy(cq);
		return;
	}
	while (ib_poll_cq(cq->cq, SDP_CQ_POLL, wc) > 0)
		;
	sdp_pool_give(&pool->idle, &cq->idle);
}

/**
 * sdp_cq_pool_init() - initialise an empty pool
 * @pool: what to initialise
 * @ib: the device
 * @entries: completions that each queue has room for, at least
 *
 * Context: any.
 */
void sdp_cq_pool_init(struct sdp_cq_pool *pool, struct ib_device *ib,
		      int entries)
{
	pool->ib = ib;
	pool->entries = entries;
	atomic_set(&pool->vector, 0);
	sdp_pool_init(&pool->idle, sdp_cq_destroy_idle);
}

/**
 * sdp_cq_pool_exit() - destroy all queues; each was given back
 * @pool: the pool
 *
 * Context: process; sleeps.
 */
void sdp_cq_pool_exit(struct sdp_cq_pool *pool)
{
	sdp_pool_exit(&pool->idle, SDP_CQ_LATE_MS);
}
