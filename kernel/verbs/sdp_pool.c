// SPDX-License-Identifier: GPL-2.0
/*
 * Pools of objects that are expensive to make, and as good as new when they are
 * given back: completion queues and memory registrations.  A pool grows with
 * use.  An object that nobody has wanted for SDP_POOL_IDLE_MS is destroyed.
 *
 * Queue pairs are not pooled: their number is known outside for a while; see
 * sdp_qp.c.
 */
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/sched.h>
#include "sdp_pool.h"

enum { SDP_POOL_IDLE_MS = 10000 };

/**
 * sdp_pool_take() - take an idle object
 * @pool: the pool
 *
 * Context: any but hard interrupt.
 * Return: the object given back last; NULL if none is idle.
 */
struct sdp_pooled *sdp_pool_take(struct sdp_pool *pool)
{
	struct sdp_pooled *entry;

	spin_lock_bh(&pool->lock);
	entry = list_first_entry_or_null(&pool->idle, struct sdp_pooled, node);
	if (entry)
		list_del(&entry->node);
	spin_unlock_bh(&pool->lock);
	return entry;
}

/**
 * sdp_pool_give() - give an object back
 * @pool: the pool
 * @entry: the object, as good as new
 *
 * Context: any but hard interrupt.
 */
void sdp_pool_give(struct sdp_pool *pool, struct sdp_pooled *entry)
{
	entry->since = jiffies;
	spin_lock_bh(&pool->lock);
	list_add(&entry->node, &pool->idle);
	spin_unlock_bh(&pool->lock);
	queue_delayed_work(system_long_wq, &pool->trim,
			   msecs_to_jiffies(SDP_POOL_IDLE_MS));
}

/* Take the longest idle object, if it is idle since @before.  The list is in
 * that order.
 */
static struct sdp_pooled *sdp_pool_take_old(struct sdp_pool *pool,
					    unsigned long before)
{
	struct sdp_pooled *entry = NULL;

	spin_lock_bh(&pool->lock);
	if (!list_empty(&pool->idle)) {
		entry = list_last_entry(&pool->idle, struct sdp_pooled, node);
		if (time_after(entry->since, before))
			entry = NULL;
		else
			list_del(&entry->node);
	}
	spin_unlock_bh(&pool->lock);
	return entry;
}

/* Destroy objects that are idle for @ms milliseconds or more. */
static void sdp_pool_trim(struct sdp_pool *pool, unsigned int ms)
{
	unsigned long before = jiffies - msecs_to_jiffies(ms);
	struct sdp_pooled *entry;

	while ((entry = sdp_pool_take_old(pool, before))) {
		pool->destroy(entry);
		cond_resched();
	}
	if (!list_empty_careful(&pool->idle))
		queue_delayed_work(system_long_wq, &pool->trim,
				   msecs_to_jiffies(SDP_POOL_IDLE_MS));
}

static void sdp_pool_trim_work(struct work_struct *work)
{
	sdp_pool_trim(container_of(to_delayed_work(work), struct sdp_pool,
				   trim), SDP_POOL_IDLE_MS);
}

/**
 * sdp_pool_init() - initialise an empty pool
 * @pool: what to initialise
 * @destroy: frees an object; may sleep
 *
 * Context: any.
 */
void sdp_pool_init(struct sdp_pool *pool,
		   void (*destroy)(struct sdp_pooled *entry))
{
	spin_lock_init(&pool->lock);
	INIT_LIST_HEAD(&pool->idle);
	INIT_DELAYED_WORK(&pool->trim, sdp_pool_trim_work);
	pool->destroy = destroy;
}

/**
 * sdp_pool_exit() - destroy all objects; each was given back
 * @pool: the pool
 * @late_ms: milliseconds to wait before, if there are any objects
 *
 * Context: process; sleeps.
 */
void sdp_pool_exit(struct sdp_pool *pool, unsigned int late_ms)
{
	cancel_delayed_work_sync(&pool->trim);
	if (list_empty(&pool->idle))
		return;
	msleep(late_ms);
	sdp_pool_trim(pool, 0);
}
