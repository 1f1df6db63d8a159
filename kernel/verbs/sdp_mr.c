// SPDX-License-Identifier: GPL-2.0
/*
 * Fast memory registrations, each valid for one transfer.
 *
 * A registration is made once and used again and again: a request on the queue
 * pair makes it valid for some pages under a new key, another one makes it
 * invalid.
 *
 * Keys belong to the protection domain, which is the device's, and not to the
 * queue pair.  So a registration that is still valid when its queue pair is
 * gone must be destroyed before its memory is unpinned.  And a peer that has
 * had a key could try the next one on memory that is advertised to another
 * peer.  So registered memory has a random address, a new one each time, that a
 * peer has to be told: a wrong address costs the peer its connection.  (It also
 * tells nobody where a process or the kernel has its memory.)
 *
 * This holds for memory that a peer is to access.  What our own device reads or
 * writes by a local key begins where ib_map_mr_sg() said: rdmavt (hfi1) accepts
 * nothing else.
 */
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "sdp_mr.h"
#include "sdp_trace.h"
#include "sdp_umem.h"

static void sdp_mr_destroy(struct sdp_mr *mr)
{
	ib_dereg_mr(mr->mr);
	kfree(mr);
}

static void sdp_mr_destroy_idle(struct sdp_pooled *entry)
{
	sdp_mr_destroy(container_of(entry, struct sdp_mr, idle));
}

static struct sdp_mr *sdp_mr_create(struct sdp_mr_pool *pool)
{
	struct sdp_mr *mr;
	int err;

	if (!pool->pages)
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc_obj(*mr, GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->mr = ib_alloc_mr(pool->pd, IB_MR_TYPE_MEM_REG, pool->pages);
	if (IS_ERR(mr->mr)) {
		err = PTR_ERR(mr->mr);
		kfree(mr);
		return ERR_PTR(err);
	}
	return mr;
}

/**
 * sdp_mr_get() - get a registration that covers nothing yet
 * @pool: the pool of the device
 *
 * Context: process; sleeps.
 * Return: the registration, or ERR_PTR(-EOPNOTSUPP) if the device has none,
 * -ENOMEM, or the provider's error.
 */
struct sdp_mr *sdp_mr_get(struct sdp_mr_pool *pool)
{
	struct sdp_pooled *idle = sdp_pool_take(&pool->idle);
	struct sdp_mr *mr;

	if (idle)
		return container_of(idle, struct sdp_mr, idle);
	mr = sdp_mr_create(pool);
	trace_sdp_pool(0, dev_name(&pool->pd->device->dev), "MR", PTR_ERR_OR_ZERO(mr));
	return mr;
}

static void sdp_mr_unmap(struct ib_device *ib, struct sdp_umem *umem)
{
	ib_dma_unmap_sg(ib, umem->sg, umem->nents, umem->dir);
}

/**
 * sdp_mr_put() - give a registration back
 * @pool: as in sdp_mr_get()
 * @mr: the registration; one that is still valid is destroyed
 * @umem: what it covers since sdp_mr_map(); or NULL
 *
 * When this returns its key is invalid, and no device can access the memory.
 *
 * Context: process; sleeps.
 */
void sdp_mr_put(struct sdp_mr_pool *pool, struct sdp_mr *mr,
		struct sdp_umem *umem)
{
	struct ib_device *ib = mr->mr->device;
	bool valid = mr->valid;

	if (valid)
		ib_dereg_mr(mr->mr);
	if (umem)
		sdp_mr_unmap(ib, umem);
	if (valid)
		kfree(mr);
	else
		sdp_pool_give(&pool->idle, &mr->idle);
}

/**
 * sdp_mr_map() - have a registration cover pinned memory
 * @mr: the registration
 * @umem: the memory; its key and va are set
 *
 * The request that makes the registration valid is still to be posted.
 *
 * Context: process.
 * Return: 0, -ENOMEM, or -EINVAL if one registration cannot cover the memory.
 */
int sdp_mr_map(struct sdp_mr *mr, struct sdp_umem *umem)
{
	struct ib_device *ib = mr->mr->device;
	int nents, n;

	nents = ib_dma_map_sg(ib, umem->sg, umem->nents, umem->dir);
	if (!nents)
		return -ENOMEM;
	n = ib_map_mr_sg(mr->mr, umem->sg, nents, NULL, PAGE_SIZE);
	if (n != nents || mr->mr->length != umem->bytes) {
		sdp_mr_unmap(ib, umem);
		return -EINVAL;
	}
	mr->dma = mr->mr->iova;
	/* Half of all addresses, so that its end does not wrap. */
	mr->told = (get_random_u64() >> 1 & ~(u64)(PAGE_SIZE - 1)) |
		   offset_in_page(mr->dma);
	/* Any key but the last, which a peer may still use late. */
	ib_update_fast_reg_key(mr->mr, (mr->mr->rkey + 1 +
					get_random_u32() % 255) & 0xff);
	umem->key = mr->mr->rkey;
	umem->va = mr->told;
	return 0;
}

/**
 * sdp_mr_pool_init() - initialise an empty pool
 * @pool: what to initialise, zeroed
 * @pd: protection domain of the device
 * @pages: that each registration covers; fewer if the device's limit is lower
 *
 * Context: any.
 */
void sdp_mr_pool_init(struct sdp_mr_pool *pool, struct ib_pd *pd,
		      unsigned int pages)
{
	const struct ib_device_attr *attrs = &pd->device->attrs;

	pool->pd = pd;
	if (attrs->device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS)
		pool->pages = min(pages, attrs->max_fast_reg_page_list_len);
	sdp_pool_init(&pool->idle, sdp_mr_destroy_idle);
}

/**
 * sdp_mr_pool_exit() - destroy all registrations; each was given back
 * @pool: the pool
 *
 * Context: process; sleeps.
 */
void sdp_mr_pool_exit(struct sdp_mr_pool *pool)
{
	sdp_pool_exit(&pool->idle, 0);
}
