/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a device was asked for and nobody uses at the moment, kept for the next;
 * see sdp_pool.c.
 */
#ifndef _SDP_POOL_H
#define _SDP_POOL_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/* In each object that a pool may hold. */
struct sdp_pooled {
	struct list_head node;		/* sdp_pool.idle */
	unsigned long since;		/* jiffies: idle since then */
};

struct sdp_pool {
	spinlock_t lock;		/* softirq-safe, leaf: idle */
	struct list_head idle;		/* the one given back last is first */
	struct delayed_work trim;
	void (*destroy)(struct sdp_pooled *entry);
};

/**
 * sdp_pool_init() - an empty pool
 * @pool: what to initialise
 * @destroy: frees an object; may sleep
 *
 * Context: any.
 */
void sdp_pool_init(struct sdp_pool *pool,
		   void (*destroy)(struct sdp_pooled *entry));

/**
 * sdp_pool_take() - have one that is idle
 * @pool: the pool
 *
 * Context: any but hard interrupt.
 * Return: the one given back last, or NULL: there is none.
 */
struct sdp_pooled *sdp_pool_take(struct sdp_pool *pool);

/**
 * sdp_pool_give() - it is idle, and as good as new
 * @pool: the pool
 * @entry: the object
 *
 * Context: any but hard interrupt.
 */
void sdp_pool_give(struct sdp_pool *pool, struct sdp_pooled *entry);

/**
 * sdp_pool_exit() - destroy what is idle; every object was given back
 * @pool: the pool
 * @late_ms: wait so long before, if there is any
 *
 * Context: process; sleeps.
 */
void sdp_pool_exit(struct sdp_pool *pool, unsigned int late_ms);

#endif
