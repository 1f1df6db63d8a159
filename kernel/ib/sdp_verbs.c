// SPDX-License-Identifier: GPL-2.0
/*
 * The verbs half of a connection: its queue pair, and its place in the device's
 * list.
 *
 * The same for every transport over verbs.  How two hosts agree on a connection
 * is the CM half's business (sdp_ib.c for InfiniBand and RoCE): it has the queue
 * pair made before a hello is sent, since the hello says how many receives are
 * posted, brings it from INIT to RTS, and has it destroyed.  What the queue pair
 * and the device report goes there by struct sdp_verbs_ops.
 */
#include <rdma/ib_cache.h>
#include "sdp_conn.h"
#include "sdp_session.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_verbs.h"

static void sdp_verbs_recv_event(void *ctx)
{
	struct sdp_verbs *v = ctx;

	sdp_conn_kick(v->conn, SDP_CONN_FIRED_RECV);
}

static void sdp_verbs_send_event(void *ctx)
{
	struct sdp_verbs *v = ctx;

	sdp_conn_kick(v->conn, SDP_CONN_FIRED_SEND);
}

static void sdp_verbs_qp_event(struct ib_event *event, void *ctx)
{
	struct sdp_verbs *v = ctx;

	trace_sdp_cm(v->conn->id, ib_event_msg(event->event), event->event);
	switch (event->event) {
	case IB_EVENT_COMM_EST:
		WRITE_ONCE(v->conn->silent_at, 0);
		v->ops->heard(v);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		v->ops->broken(v);
		break;
	default:
		break;
	}
}

/**
 * sdp_verbs_open() - make the queue pair, in INIT, with the first receives posted
 * @v: the verbs half, with device and port
 * @pkey: P_Key of the path
 *
 * The CM id of the active side knows port and P_Key only once the REQ is on its
 * way, but receives must be posted before.  So both sides set them by hand.
 *
 * Context: worker; sleeps.
 * Return: 0, or a negative errno: -ENOMEM, -ENOENT if the port has no such P_Key,
 * or the device's error.  What was made by then goes with sdp_verbs_close().
 */
int sdp_verbs_open(struct sdp_verbs *v, u16 pkey)
{
	const struct sdp_qp_init init = {
		.recv_event	= sdp_verbs_recv_event,
		.send_event	= sdp_verbs_send_event,
		.qp_event	= sdp_verbs_qp_event,
		.ctx		= v,
	};
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= v->port_num,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = sdp_qp_create(&v->qp, v->dev, &init);
	if (err)
		return err;
	err = ib_find_cached_pkey(v->dev->ib, v->port_num, pkey,
				  &attr.pkey_index);
	if (err)
		return err;
	err = ib_modify_qp(v->qp.qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	return sdp_session_open(v->conn, &(struct sdp_session_queues){
			.rq_size	= v->qp.rq_size,
			.requests	= v->qp.sq.size / SDP_SQ_PLACES,
			.umem_max	= sdp_mr_bytes(&v->dev->mrs),
			.can_invalidate	= v->dev->mrs.pages,
		});
}

/**
 * sdp_verbs_enlist() - enter the device's list, so that device removal finds it
 * @v: the verbs half, without a device so far
 * @device: the device
 *
 * Context: any but hard interrupt.
 * Return: 0; -ENODEV if the device cannot carry SDP or is going.
 */
int sdp_verbs_enlist(struct sdp_verbs *v, struct ib_device *device)
{
	bool going;

	v->dev = sdp_dev_get(device);
	if (!v->dev)
		return -ENODEV;
	spin_lock_bh(&v->dev->lock);
	going = v->dev->going;
	if (!going)
		list_add_tail(&v->dev_node, &v->dev->conns);
	spin_unlock_bh(&v->dev->lock);
	if (!going)
		return 0;
	/* Device removal waits for this reference, and a connection that never
	 * began has no teardown that would drop it.
	 */
	sdp_dev_put(v->dev);
	v->dev = NULL;
	return -ENODEV;
}

/* Leave the device's list, if it is in one; keeps the reference to the device. */
static void sdp_verbs_unlist(struct sdp_verbs *v)
{
	if (!v->dev)
		return;
	spin_lock_bh(&v->dev->lock);
	list_del_init(&v->dev_node);
	spin_unlock_bh(&v->dev->lock);
}

/**
 * sdp_verbs_close() - destroy the queue pair and all that was queued on it
 * @v: the verbs half, behind sdp_session_close()
 *
 * Context: worker; sleeps.
 */
void sdp_verbs_close(struct sdp_verbs *v)
{
	sdp_verbs_unlist(v);
	if (v->qp.qp)
		ib_destroy_qp(v->qp.qp);
	v->qp.qp = NULL;
	sdp_tx_drop(v->conn);
	sdp_verbs_unmap_all(v->conn);
	sdp_qp_destroy(&v->qp);
	if (v->dev)
		sdp_dev_put(v->dev);
	v->dev = NULL;
}

void sdp_verbs_info(struct sdp_conn *conn, char *device, size_t size,
		    u8 *port, u32 *qpn, u32 *peer_qpn)
{
	struct sdp_verbs *v = conn->xp_priv;

	spin_lock_bh(&conn->lock);
	if (conn->queues) {
		strscpy(device, dev_name(&v->dev->ib->dev), size);
		*port = v->port_num;
		*qpn = v->qp.qp->qp_num;
		*peer_qpn = v->peer_qpn;
	}
	spin_unlock_bh(&conn->lock);
}

enum { SDP_VERBS_TELL = 64 };	/* connections told between two pauses */

/* Tell some of @untold, and put them back on the device's list. */
static void sdp_verbs_tell_lost(struct sdp_dev *dev, struct list_head *untold)
{
	struct sdp_verbs *v, *next;
	int n = SDP_VERBS_TELL;

	lockdep_assert_held(&dev->lock);
	list_for_each_entry_safe(v, next, untold, dev_node) {
		list_move_tail(&v->dev_node, &dev->conns);
		v->ops->lost(v);
		if (!--n)
			return;
	}
}

/**
 * sdp_verbs_remove() - a device goes: tell all connections of it
 * @dev: the device; no connection joins its list any more
 *
 * Context: process; sleeps.
 */
void sdp_verbs_remove(struct sdp_dev *dev)
{
	LIST_HEAD(untold);

	spin_lock_bh(&dev->lock);
	dev->going = true;	/* no connection joins the list any more */
	list_splice_init(&dev->conns, &untold);
	while (!list_empty(&untold)) {
		sdp_verbs_tell_lost(dev, &untold);
		/* A connection that ends meanwhile leaves the list it is on. */
		spin_unlock_bh(&dev->lock);
		cond_resched();
		spin_lock_bh(&dev->lock);
	}
	spin_unlock_bh(&dev->lock);
}
