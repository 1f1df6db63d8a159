// SPDX-License-Identifier: GPL-2.0
/*
 * What both sides of a connection over verbs need: its queue pair, its place
 * in the device's list, and the way to its worker.
 *
 * The queue pair is in INIT, with receives posted, before a hello is sent,
 * since the hello says how many there are.  It goes to RTR and RTS when the
 * peer's hello is there too.  The active side does both on the REP, and sends
 * the RTU then.  The passive side is in RTR before it sends the REP, since the
 * peer may send as soon as it has that, and goes to RTS after it.
 *
 * An error of a step is returned, and what was made stays: it goes with the
 * device half, in sdp_ib_free().
 *
 * The worker, the callback of ib_cm and the table are in sdp_ib.c, the highest
 * file of the transport.  What the files below need of it is in sdp_ib_hooks.
 */
#include <linux/cache.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include "sdp_conn.h"
#include "sdp_ib_qp.h"
#include "sdp_session.h"
#include "sdp_trace.h"

enum {
	/* A slow peer's REQ may ask for up to 2^2 times as long. */
	SDP_IB_ACK_SLACK	= 2,
	SDP_IB_RNR_TIMER	= 12,		/* 0.64 ms */
};

struct sdp_ib_hooks sdp_ib_hooks __ro_after_init;
struct workqueue_struct *sdp_ib_wq;

/**
 * sdp_ib_queue() - have the worker do a step
 * @ib: the device half; somebody holds a reference to its connection
 * @what: the step; it is done once, even if it is asked for again before that
 *
 * Context: any.
 */
void sdp_ib_queue(struct sdp_ib *ib, enum sdp_ib_todo what)
{
	/* First: the worker may free ib as soon as it sees the bit. */
	sdp_conn_get(ib->conn);
	set_bit(what, &ib->todo);
	if (!queue_work(sdp_ib_wq, &ib->work))
		sdp_conn_put(ib->conn);
}

/**
 * sdp_ib_queue_again() - have the worker do the steps that it could not do
 * @ib: the device half; somebody holds a reference to its connection
 *
 * Context: any.
 */
void sdp_ib_queue_again(struct sdp_ib *ib)
{
	sdp_conn_get(ib->conn);
	if (!queue_work(sdp_ib_wq, &ib->work))
		sdp_conn_put(ib->conn);
}

/**
 * sdp_ib_refuse() - have the worker end an attempt that failed
 * @ib: the device half
 * @err: positive errno for the user
 * @reason: enum sdp_reason
 *
 * Context: as sdp_ib_queue().
 */
void sdp_ib_refuse(struct sdp_ib *ib, int err, u8 reason)
{
	ib->err = err;
	ib->reason = reason;
	sdp_ib_queue(ib, SDP_IB_REFUSED);
}

static void sdp_ib_timeout(struct work_struct *work)
{
	struct sdp_ib *ib = container_of(to_delayed_work(work), struct sdp_ib,
					 timeout);

	sdp_ib_queue(ib, SDP_IB_TIMEOUT);
}

/* Queue pair */

static void sdp_ib_recv_event(void *ctx)
{
	struct sdp_ib *ib = ctx;

	sdp_conn_kick(ib->conn, SDP_CONN_FIRED_RECV);
}

static void sdp_ib_send_event(void *ctx)
{
	struct sdp_ib *ib = ctx;

	sdp_conn_kick(ib->conn, SDP_CONN_FIRED_SEND);
}

static void sdp_ib_qp_event(struct ib_event *event, void *ctx)
{
	struct sdp_ib *ib = ctx;

	trace_sdp_cm(ib->conn->id, ib_event_msg(event->event), event->event);
	switch (event->event) {
	case IB_EVENT_COMM_EST:
		WRITE_ONCE(ib->conn->silent_at, 0);
		sdp_ib_queue(ib, SDP_IB_COMM_EST);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		sdp_ib_queue(ib, SDP_IB_BROKEN);
		break;
	default:
		break;
	}
}

/**
 * sdp_ib_ack_timeout() - how long the device waits for the peer's ack
 * @conn: the connection
 *
 * For the queue pair and the path.
 *
 * Context: any.
 * Return: n of 4.096 us * 2^n, which is not less than net.sdp.ack_timeout.
 */
u8 sdp_ib_ack_timeout(const struct sdp_conn *conn)
{
	unsigned int ms = READ_ONCE(conn->sn->ack_timeout);

	return ms > 1 ? ilog2(ms - 1) + 9 : 8;
}

/**
 * sdp_ib_modify() - bring the queue pair to the next state
 * @ib: the device half; its CM id knows the peer's queue pair
 * @state: IB_QPS_RTR, then IB_QPS_RTS
 *
 * Context: worker; sleeps.
 * Return: 0; -EINVAL if the CM has gone on meanwhile, or the device's error.
 */
int sdp_ib_modify(struct sdp_ib *ib, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(ib->cm_id, &attr, &mask);
	if (err)
		return err;
	if (state == IB_QPS_RTR) {
		/* On the passive side the CM does not know this PSN yet. */
		attr.rq_psn = ib->psn;
		attr.min_rnr_timer = SDP_IB_RNR_TIMER;
		/* The peer may have asked for more than the device has. */
		attr.max_dest_rd_atomic = min(attr.max_dest_rd_atomic,
					      ib->dev->max_rd_atom);
		ib->is_read = attr.max_dest_rd_atomic;
	} else if (state == IB_QPS_RTS) {
		u8 ack = sdp_ib_ack_timeout(ib->conn);

		sdp_session_can_rdma(ib->conn, attr.max_rd_atomic, ib->is_read);
		/* On the passive side these come from the peer's REQ, which
		 * must not make us wait for ever (0 does) or for hours.
		 */
		attr.retry_cnt = READ_ONCE(ib->conn->sn->ack_retries);
		attr.timeout = clamp_t(u8, attr.timeout, ack,
				       ack + SDP_IB_ACK_SLACK);
	}
	return ib_modify_qp(ib->qp.qp, &attr, mask);
}

/**
 * sdp_ib_alloc() - make the device half of a connection
 * @conn: the connection; keeps it as xp_priv until its last reference is gone
 *
 * Context: process; sleeps.
 * Return: the device half, without a device yet; NULL without memory.
 */
struct sdp_ib *sdp_ib_alloc(struct sdp_conn *conn)
{
	struct sdp_ib *ib = kzalloc_obj(*ib, GFP_KERNEL);

	if (!ib)
		return NULL;
	ib->conn = conn;
	INIT_WORK(&ib->work, sdp_ib_hooks.work);
	INIT_DELAYED_WORK(&ib->timeout, sdp_ib_timeout);
	INIT_LIST_HEAD(&ib->dev_node);
	conn->xp_priv = ib;
	return ib;
}

/**
 * sdp_ib_build_qp() - make the queue pair, in INIT, with the first receives posted
 * @ib: the device half, with device and port
 * @pkey: P_Key of the path
 *
 * The CM id of the active side knows port and P_Key only once the REQ is on its
 * way, but receives must be posted before.  So both sides set them by hand.
 *
 * Context: worker; sleeps.
 * Return: 0, or a negative errno: -ENOMEM, -ENOENT if the port has no such P_Key,
 * or the device's error.  What was made by then goes with the device half.
 */
int sdp_ib_build_qp(struct sdp_ib *ib, u16 pkey)
{
	const struct sdp_qp_init init = {
		.recv_event	= sdp_ib_recv_event,
		.send_event	= sdp_ib_send_event,
		.qp_event	= sdp_ib_qp_event,
		.ctx		= ib,
	};
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= ib->port_num,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = sdp_qp_create(&ib->qp, ib->dev, &init);
	if (err)
		return err;
	ib->psn = get_random_u32() & 0xffffff;
	err = ib_find_cached_pkey(ib->dev->ib, ib->port_num, pkey,
				  &attr.pkey_index);
	if (err)
		return err;
	err = ib_modify_qp(ib->qp.qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	return sdp_session_open(ib->conn, &(struct sdp_session_queues){
			.rq_size	= ib->qp.rq_size,
			.umem_max	= sdp_mr_bytes(&ib->dev->mrs),
			.can_invalidate	= ib->dev->mrs.pages,
		});
}

/**
 * sdp_ib_enlist() - enter the device's list, so that device removal finds it
 * @ib: the device half, without a device so far
 * @device: the device
 *
 * Context: any but hard interrupt.
 * Return: 0; -ENODEV if the device cannot carry SDP or is going.
 */
int sdp_ib_enlist(struct sdp_ib *ib, struct ib_device *device)
{
	bool going;

	ib->dev = sdp_dev_get(device);
	if (!ib->dev)
		return -ENODEV;
	spin_lock_bh(&ib->dev->lock);
	going = ib->dev->going;
	if (!going)
		list_add_tail(&ib->dev_node, &ib->dev->conns);
	spin_unlock_bh(&ib->dev->lock);
	if (!going)
		return 0;
	/* Device removal waits for this reference, and a connection that never
	 * began has no teardown that would drop it.
	 */
	sdp_dev_put(ib->dev);
	ib->dev = NULL;
	return -ENODEV;
}

/**
 * sdp_ib_unlist() - leave the device's list, if it is in one
 * @ib: the device half; keeps its reference to the device
 *
 * Context: any but hard interrupt.
 */
void sdp_ib_unlist(struct sdp_ib *ib)
{
	if (!ib->dev)
		return;
	spin_lock_bh(&ib->dev->lock);
	list_del_init(&ib->dev_node);
	spin_unlock_bh(&ib->dev->lock);
}
