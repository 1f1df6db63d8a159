// SPDX-License-Identifier: GPL-2.0
/*
 * What both sides of the hello exchange need: the way to the worker of the
 * connection, and to the queue pair's next state.
 *
 * The queue pair is in INIT, with receives posted, before a hello is sent,
 * since the hello says how many there are.  It goes to RTR and RTS when the
 * peer's hello is there too.  The active side does both on the REP, and sends
 * the RTU then.  The passive side is in RTR before it sends the REP, since the
 * peer may send as soon as it has that, and goes to RTS after it.
 *
 * An error of a step is returned, and what was made stays: it goes with the
 * connection, in sdp_ib_free().
 *
 * The worker, the callback of ib_cm and the table are in sdp_ib.c, the highest
 * file of the transport.  What the files below need of it is in sdp_ib_hooks.
 */
#include <linux/cache.h>
#include <linux/random.h>
#include <linux/slab.h>
#include "sdp_conn.h"
#include "sdp_ib_cm.h"
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
 * @ib: the CM half; somebody holds a reference to its connection
 * @what: the step; it is done once, even if it is asked for again before that
 *
 * Context: any.
 */
void sdp_ib_queue(struct sdp_ib *ib, enum sdp_ib_todo what)
{
	/* First: the worker may free ib as soon as it sees the bit. */
	sdp_conn_get(ib->verbs.conn);
	set_bit(what, &ib->todo);
	if (!queue_work(sdp_ib_wq, &ib->work))
		sdp_conn_put(ib->verbs.conn);
}

/**
 * sdp_ib_queue_again() - have the worker do the steps that it could not do
 * @ib: the CM half; somebody holds a reference to its connection
 *
 * Context: any.
 */
void sdp_ib_queue_again(struct sdp_ib *ib)
{
	sdp_conn_get(ib->verbs.conn);
	if (!queue_work(sdp_ib_wq, &ib->work))
		sdp_conn_put(ib->verbs.conn);
}

/**
 * sdp_ib_refuse() - have the worker end an attempt that failed
 * @ib: the CM half
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
 * @ib: the CM half; its CM id knows the peer's queue pair
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
					      ib->verbs.dev->max_rd_atom);
		ib->is_read = attr.max_dest_rd_atomic;
	} else if (state == IB_QPS_RTS) {
		u8 ack = sdp_ib_ack_timeout(ib->verbs.conn);

		sdp_session_can_rdma(ib->verbs.conn, attr.max_rd_atomic, ib->is_read);
		/* On the passive side these come from the peer's REQ, which
		 * must not make us wait for ever (0 does) or for hours.
		 */
		attr.retry_cnt = READ_ONCE(ib->verbs.conn->sn->ack_retries);
		attr.timeout = clamp_t(u8, attr.timeout, ack,
				       ack + SDP_IB_ACK_SLACK);
	}
	return ib_modify_qp(ib->verbs.qp.qp, &attr, mask);
}

/**
 * sdp_ib_alloc() - make the CM half of a connection
 * @conn: the connection; keeps it as xp_priv until its last reference is gone
 *
 * Context: process; sleeps.
 * Return: the CM half, without a device yet; NULL without memory.
 */
struct sdp_ib *sdp_ib_alloc(struct sdp_conn *conn)
{
	struct sdp_ib *ib = kzalloc_obj(*ib, GFP_KERNEL);

	if (!ib)
		return NULL;
	ib->verbs.conn = conn;
	ib->verbs.ops = sdp_ib_hooks.verbs;
	INIT_WORK(&ib->work, sdp_ib_hooks.work);
	INIT_DELAYED_WORK(&ib->timeout, sdp_ib_timeout);
	ib->psn = get_random_u32() & 0xffffff;
	INIT_LIST_HEAD(&ib->verbs.dev_node);
	conn->xp_priv = &ib->verbs;
	return ib;
}
