/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Objects of a device that nobody uses at the moment, kept for the next user;
 * see sdp_pool.c.
 */
#ifndef _SDP_POOL_H
#define _SDP_POOL_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

/* Part of each object that a pool may hold. */
struct sdp_pooled {
	struct list_head node;		/* sdp_pool.idle */
	unsigned long since;		/* jiffies when it became idle */
};

struct sdp_pool {
	spinlock_t lock;		/* softirq-safe, leaf: idle */
	struct list_head idle;		/* the one given back last is first */
	struct delayed_work trim;
	void (*destroy)(struct sdp_pooled *entry);
};

void sdp_pool_init(struct sdp_pool *pool,
		   void (*destroy)(struct sdp_pooled *entry));
struct sdp_pooled *sdp_pool_take(struct sdp_pool *pool);
void sdp_pool_give(struct sdp_pool *pool, struct sdp_pooled *entry);
void sdp_pool_exit(struct sdp_pool *pool, unsigned int late_ms);

#endif
