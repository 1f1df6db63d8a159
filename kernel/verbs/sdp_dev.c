// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA devices, which come and go, as objects with references.
 *
 * The RDMA core calls remove() of its clients in the reverse order of their
 * registration, so ours runs before rdma_cm's own removal event, and the core
 * waits for it.  All queue pairs, completion queues and CM ids of ours must be
 * gone when it returns.  The layer above ends its connections, each of which
 * holds a reference, and remove() waits for the last reference.
 *
 * A device without an InfiniBand CM (iWARP) is not used.
 */
#include <linux/module.h>
#include <linux/slab.h>
#include "sdp_dev.h"
#include "sdp_dst_cache.h"
#include "sdp_trace.h"
#include "sdp_umem.h"

static const struct sdp_dev_ops *sdp_dev_upper;
static LIST_HEAD(sdp_dev_list);
static DEFINE_SPINLOCK(sdp_dev_list_lock);
static struct ib_client sdp_dev_client;

static void sdp_dev_release(struct kref *ref)
{
	struct sdp_dev *dev = container_of(ref, struct sdp_dev, ref);

	complete(&dev->released);
}

/**
 * sdp_dev_put() - drop a reference
 * @dev: from sdp_dev_get()
 *
 * Context: any but hard interrupt.
 */
void sdp_dev_put(struct sdp_dev *dev)
{
	kref_put(&dev->ref, sdp_dev_release);
}

/**
 * sdp_dev_get() - find the object of an RDMA device
 * @ib: the device
 *
 * Context: any but hard interrupt.
 * Return: a reference; NULL if the device cannot carry SDP or is being removed.
 */
struct sdp_dev *sdp_dev_get(struct ib_device *ib)
{
	struct sdp_dev *dev;

	spin_lock_bh(&sdp_dev_list_lock);
	list_for_each_entry(dev, &sdp_dev_list, node)
		if (dev->ib == ib && kref_get_unless_zero(&dev->ref))
			goto out;
	dev = NULL;
out:
	spin_unlock_bh(&sdp_dev_list_lock);
	return dev;
}

/**
 * sdp_dev_for_each() - call a function for each device
 * @fn: called with a reference held; may sleep; its first error ends the walk.
 *	It may be called twice for a device if another is removed meanwhile
 * @arg: passed to @fn
 *
 * Context: process; sleeps.  Devices that come or go meanwhile may be missed: a
 * caller that needs them all has to serialise with add() and remove().
 * Return: 0 or the error of @fn.
 */
int sdp_dev_for_each(int (*fn)(struct sdp_dev *dev, void *arg), void *arg)
{
	struct sdp_dev *dev, *prev = NULL;
	int err = 0;

	spin_lock_bh(&sdp_dev_list_lock);
again:
	list_for_each_entry(dev, &sdp_dev_list, node) {
		if (!kref_get_unless_zero(&dev->ref))
			continue;
		spin_unlock_bh(&sdp_dev_list_lock);
		/* Its reference kept the previous one's links until here. */
		if (prev)
			sdp_dev_put(prev);
		prev = dev;
		err = fn(dev, arg);
		spin_lock_bh(&sdp_dev_list_lock);
		if (err)
			break;
		/* Removed while unlocked, and off the list: start again. */
		if (list_empty(&dev->node))
			goto again;
	}
	spin_unlock_bh(&sdp_dev_list_lock);
	if (prev)
		sdp_dev_put(prev);
	return err;
}

/* Addresses or links have changed: forget what is known of destinations. */
static void sdp_dev_event(struct ib_event_handler *handler,
			  struct ib_event *event)
{
	trace_sdp_dev(0, dev_name(&event->device->dev), ib_event_msg(event->event),
		      event->element.port_num);
	switch (event->event) {
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_GID_CHANGE:
	case IB_EVENT_SM_CHANGE:
	case IB_EVENT_PKEY_CHANGE:
		sdp_dst_cache_forget();
		break;
	default:
		break;
	}
}

static bool sdp_dev_usable(struct ib_device *ib)
{
	u32 port;

	rdma_for_each_port(ib, port)
		if (rdma_cap_ib_cm(ib, port))
			return true;
	return false;
}

static int sdp_dev_add(struct ib_device *ib)
{
	struct sdp_dev *dev;
	int err = -ENOMEM;

	if (!sdp_dev_usable(ib))
		return -EOPNOTSUPP;
	dev = kzalloc_obj(*dev, GFP_KERNEL);
	if (!dev)
		goto fail;
	dev->pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(dev->pd)) {
		err = PTR_ERR(dev->pd);
		kfree(dev);
		goto fail;
	}
	kref_init(&dev->ref);
	init_completion(&dev->released);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->conns);
	dev->ib = ib;
	dev->sq_size = min3((int)SDP_DEV_SQ_SIZE, ib->attrs.max_qp_wr,
			    ib->attrs.max_cqe);
	dev->rq_size = min3((int)SDP_DEV_RQ_SIZE, ib->attrs.max_qp_wr,
			    ib->attrs.max_cqe);
	sdp_cq_pool_init(&dev->send_cqs, ib, dev->sq_size);
	sdp_cq_pool_init(&dev->recv_cqs, ib, dev->rq_size);
	/* ocrdma derives the offset in the first page from iova, which is
	 * random here: it gets no registrations, and all is copied.
	 */
	sdp_mr_pool_init(&dev->mrs, dev->pd,
			 ib->ops.driver_id == RDMA_DRIVER_OCRDMA ? 0 : SDP_UMEM_PAGES + 1);
	dev->reg_alone = ib->ops.driver_id == RDMA_DRIVER_RXE;
	dev->max_rd_atom = clamp_t(int, min(ib->attrs.max_qp_rd_atom,
					    ib->attrs.max_qp_init_rd_atom),
				   1, 4);
	ib_set_client_data(ib, &sdp_dev_client, dev);
	spin_lock_bh(&sdp_dev_list_lock);
	list_add_tail(&dev->node, &sdp_dev_list);
	spin_unlock_bh(&sdp_dev_list_lock);
	trace_sdp_dev(0, dev_name(&ib->dev), "added", 0);
	sdp_dev_upper->add(dev);
	INIT_IB_EVENT_HANDLER(&dev->handler, ib, sdp_dev_event);
	ib_register_event_handler(&dev->handler);
	sdp_dst_cache_forget();
	return 0;

fail:
	/* The RDMA core does not report errors of add(). */
	pr_warn("%s: device not used (%d)\n", dev_name(&ib->dev), err);
	return err;
}

static void sdp_dev_remove(struct ib_device *ib, void *client_data)
{
	struct sdp_dev *dev = client_data;

	if (!dev)
		return;
	trace_sdp_dev(0, dev_name(&ib->dev), "removed", 0);
	ib_unregister_event_handler(&dev->handler);
	sdp_dst_cache_forget();
	spin_lock_bh(&sdp_dev_list_lock);
	list_del_init(&dev->node);
	spin_unlock_bh(&sdp_dev_list_lock);
	sdp_dev_upper->remove(dev);
	sdp_dev_put(dev);
	wait_for_completion(&dev->released);
	sdp_cq_pool_exit(&dev->send_cqs);
	sdp_cq_pool_exit(&dev->recv_cqs);
	sdp_mr_pool_exit(&dev->mrs);
	ib_dealloc_pd(dev->pd);
	kfree(dev);
}

static struct ib_client sdp_dev_client = {
	.name	= "sdp",
	.add	= sdp_dev_add,
	.remove	= sdp_dev_remove,
};

/**
 * sdp_dev_init() - become a client of the RDMA core
 * @ops: the layer above
 *
 * Context: process; sleeps.
 * Return: 0 or a negative errno.
 */
int __init sdp_dev_init(const struct sdp_dev_ops *ops)
{
	sdp_dev_upper = ops;
	return ib_register_client(&sdp_dev_client);
}

/**
 * sdp_dev_exit() - undo sdp_dev_init(): every device is removed
 *
 * Context: process; sleeps until the last reference is gone.
 */
void sdp_dev_exit(void)
{
	ib_unregister_client(&sdp_dev_client);
}
