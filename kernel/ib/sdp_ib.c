// SPDX-License-Identifier: GPL-2.0
/*
 * The transport over verbs: the callback of ib_cm, the worker of a connection,
 * its teardown, and the transport's table.  The hello exchange is in
 * sdp_ib_active.c and sdp_ib_passive.c.
 *
 * ib_cm runs the callbacks of all its users, host-wide, from one workqueue.  So
 * our callback must not wait: it only copies what it was given, sets a bit of
 * ib->todo, and queues the connection's worker.  A REQ it validates and admits
 * first.
 *
 * The worker of a connection never runs twice at a time, and does its bits in
 * the order of enum sdp_ib_todo.  It alone touches the CM id, the resolver and
 * the queue pair's state.  It does not wait for callers either: a step that
 * needs rx.poll, and does not get it, is done when the worker is called again.
 *
 * The CM id is destroyed as soon as the DREQ exchange is over, or impossible
 * (sdp_ib_no_rtu()).  The time wait that follows belongs to ib_cm, which keeps
 * what it needs for it, and answers a repeated DREQ, without the id.
 *
 * Device removal: sdp_dev calls sdp_ib_remove(), which marks every connection
 * of the device as lost; their workers destroy what they have on it.  A
 * connection with a socket lives on without its queue pair, with the bytes
 * that had arrived.
 */
#include <linux/slab.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <linux/sdp.h>
#include "sdp_conn.h"
#include "sdp_ib.h"
#include "sdp_ib_active.h"
#include "sdp_ib_cm.h"
#include "sdp_ib_passive.h"
#include "sdp_ib_port.h"
#include "sdp_rx.h"
#include "sdp_session.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_verbs.h"

/* Rejected for now.  The peer has no room; or its CM has yet to end a
 * connection of this queue pair's number, left from an earlier attempt or from
 * before this host crashed, and does so now.
 */
static bool sdp_ib_is_for_now(enum ib_cm_rej_reason reason)
{
	return reason == IB_CM_REJ_CONSUMER_DEFINED ||
	       reason == IB_CM_REJ_STALE_CONN;
}

/* CM events; must not wait, see the top. */

static int sdp_ib_cm_heard(struct sdp_ib *ib, const struct ib_cm_event *event)
{
	trace_sdp_cm(ib->verbs.conn->id, "event", event->event);
	/* The peer is there, if late. */
	WRITE_ONCE(ib->verbs.conn->silent_at, 0);
	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		return sdp_ib_cm_rep(ib, event);
	case IB_CM_RTU_RECEIVED:
		sdp_ib_queue(ib, SDP_IB_RTU);
		break;
	case IB_CM_REJ_RECEIVED:
		trace_sdp_cm(ib->verbs.conn->id, "REJ reason",
			     event->param.rej_rcvd.reason);
		if (sdp_ib_is_for_now(event->param.rej_rcvd.reason))
			sdp_ib_queue(ib, SDP_IB_BUSY);
		else
			sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_REFUSED);
		break;
	case IB_CM_SIDR_REP_RECEIVED:
		if (event->param.sidr_rep_rcvd.status == IB_SIDR_SUCCESS)
			sdp_ib_refuse(ib, EAGAIN, SDP_REASON_NONE);
		else
			sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_REFUSED);
		break;
	case IB_CM_REP_ERROR:
		sdp_ib_queue(ib, SDP_IB_NO_RTU);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_SIDR_REQ_ERROR:
		sdp_ib_refuse(ib, ETIMEDOUT, SDP_REASON_TIMEOUT);
		break;
	case IB_CM_DREQ_RECEIVED:
		sdp_ib_queue(ib, SDP_IB_DREQ_HEARD);
		break;
	case IB_CM_DREQ_ERROR:
	case IB_CM_DREP_RECEIVED:
		sdp_ib_queue(ib, SDP_IB_DREP_HEARD);
		break;
	default:
		break;
	}
	return 0;
}

/*
 * ib_destroy_cm_id() waits for callbacks that report a received message.  ib_cm
 * may be about to report that a message of ours was not answered, without a
 * reference to its id.  So the connection may be over already: RCU keeps its
 * memory valid.
 */
static int sdp_ib_cm_event(struct ib_cm_id *cm_id,
			   const struct ib_cm_event *event)
{
	struct sdp_ib *ib = cm_id->context;
	bool lives;
	int err;

	if (event->event == IB_CM_REQ_RECEIVED)
		return sdp_ib_req(cm_id, event);
	if (event->event == IB_CM_SIDR_REQ_RECEIVED)
		return sdp_ib_sidr_req(cm_id, event);
	if (!ib)
		return 0;
	rcu_read_lock();
	lives = refcount_inc_not_zero(&ib->verbs.conn->ref);
	rcu_read_unlock();
	if (!lives)
		return 0;
	err = sdp_ib_cm_heard(ib, event);
	sdp_conn_put(ib->verbs.conn);
	return err;
}

/* Teardown */

/* On the passive side the peer's REQ says for how long the CM repeats a DREQ,
 * which may be a day.  Neither a close nor registered memory may wait that
 * long.
 */
enum { SDP_IB_DREQ_MS = 5000 };

static void sdp_ib_send_dreq(struct sdp_ib *ib)
{
	int err = ib->cm_id ? ib_send_cm_dreq(ib->cm_id, NULL, 0) : -ENOMEM;

	if (!err) {
		ib->awaits_rtu = false;
		ib->dreq_held = false;
		sdp_conn_start_timer(ib->verbs.conn, SDP_IB_DREQ_MS);
	} else if (err == -ENOMEM && !ib->abort_tried &&
		   sdp_conn_tell_abort(ib->verbs.conn)) {
		/* There will be no DREQ: an AbortConn tells the peer. */
		ib->abort_tried = true;
	} else if (ib->awaits_rtu) {
		/* The CM takes no DREQ before the RTU.  That is waited for no
		 * longer than this timer, which asks for the DREQ again.
		 */
		ib->awaits_rtu = false;
		ib->dreq_held = true;
		sdp_conn_start_timer(ib->verbs.conn, SDP_IB_DREQ_MS);
	} else {
		/* Not connected, or the peer's DREQ crossed ours, or ours was
		 * sent before and its time is over: there is nothing to wait
		 * for.
		 */
		sdp_ib_queue(ib, SDP_IB_DREP_HEARD);
	}
}

/* Hear everything that has arrived.  What was sent before the CM reported the
 * end may still be in the receive queue (6.1), or be with a caller that polls.
 */
static bool sdp_ib_take_all(struct sdp_ib *ib)
{
	if (!sdp_rx_claim(ib->verbs.conn))
		return false;
	sdp_rx_hear(ib->verbs.conn);
	sdp_rx_unclaim(ib->verbs.conn);
	return true;
}

/* These return false if they need rx.poll and did not get it. */

static bool sdp_ib_dreq_heard(struct sdp_ib *ib)
{
	if (!sdp_ib_take_all(ib))
		return false;
	sdp_tx_run(ib->verbs.conn);
	sdp_conn_event(ib->verbs.conn, SDP_EV_END_HEARD);
	/* Send a DREP in any state: the table asks for one only in some. */
	sdp_ib_queue(ib, SDP_IB_SEND_DREP);
	return true;
}

/* There may be no completion that reports this.  Before the peer has answered
 * it says nothing of the peer: the next connection tries SDP again.
 */
static bool sdp_ib_broken(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;

	if (sdp_conn_state(conn) < SDP_ESTABLISHED) {
		sdp_conn_refuse(conn, ENETUNREACH, SDP_REASON_DEVICE);
		return true;
	}
	if (!sdp_ib_take_all(ib))
		return false;
	sdp_conn_fail(conn, ECONNRESET, SDP_EV_LOST, "queue pair in error");
	return true;
}

/* Steps 2 and 3 of the teardown described in sdp_conn.c. */
static bool sdp_ib_free(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;

	if (!sdp_session_close(conn))
		return false;
	ib->freed = true;
	if (cancel_delayed_work_sync(&ib->timeout))
		trace_sdp_cm(conn->id, "timer off", 0);
	if (ib->resolver)
		rdma_destroy_id(ib->resolver);
	if (ib->cm_id)
		ib_destroy_cm_id(ib->cm_id);
	sdp_verbs_close(&ib->verbs);
	sdp_conn_stop_timer(conn);
	trace_sdp_cm(conn->id, "freed", 0);
	sdp_conn_put(conn);
	return true;
}

static bool sdp_ib_refused(struct sdp_ib *ib)
{
	enum sdp_state state = sdp_conn_state(ib->verbs.conn);

	if (state == SDP_CLOSED)
		return true;
	if (state < SDP_ESTABLISHED) {
		sdp_conn_refuse(ib->verbs.conn, ib->err, ib->reason);
		return true;
	}
	/* A late REJ: the peer's CM gave up after we were established, or the
	 * peer ended the connection before it had our RTU.
	 */
	if (!sdp_ib_take_all(ib))
		return false;
	sdp_tx_run(ib->verbs.conn);
	sdp_conn_event(ib->verbs.conn, SDP_EV_REFUSED);
	return true;
}

/* The time wait is ib_cm's own: the connection does not stay for it. */
static void sdp_ib_leave_time_wait(struct sdp_ib *ib)
{
	if (sdp_conn_state(ib->verbs.conn) == SDP_TIME_WAIT_2)
		sdp_conn_event(ib->verbs.conn, SDP_EV_TIME_WAIT_OVER);
}

static void sdp_ib_lost(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;

	sdp_count(conn->sn, SDP_CNT_DEVICE_GONE, 1);
	if (sdp_conn_state(conn) < SDP_ESTABLISHED)
		sdp_conn_refuse(conn, ENETUNREACH, SDP_REASON_NO_DEVICE);
	else
		sdp_conn_fail(conn, ECONNRESET, SDP_EV_LOST, "device removed");
}

static bool sdp_ib_do(struct sdp_ib *ib, enum sdp_ib_todo what)
{
	switch (what) {
	case SDP_IB_RESOLVE:
		sdp_ib_resolve(ib);
		break;
	case SDP_IB_AGAIN:
		sdp_ib_ask_address(ib);
		break;
	case SDP_IB_ROUTE:
		sdp_ib_resolve_route(ib);
		break;
	case SDP_IB_REQ:
		sdp_ib_send_req(ib);
		break;
	case SDP_IB_REP:
		sdp_ib_rep(ib);
		break;
	case SDP_IB_BUILD:
		sdp_ib_build(ib);
		break;
	case SDP_IB_COMM_EST:
		sdp_ib_comm_est(ib);
		break;
	case SDP_IB_RTU:
		sdp_ib_rtu(ib);
		break;
	case SDP_IB_NO_RTU:
		sdp_ib_no_rtu(ib);
		break;
	case SDP_IB_BUSY:
		sdp_ib_busy(ib);
		break;
	case SDP_IB_TIMEOUT:
		sdp_ib_timed_out(ib);
		break;
	case SDP_IB_REFUSED:
		return sdp_ib_refused(ib);
	case SDP_IB_BROKEN:
		return sdp_ib_broken(ib);
	case SDP_IB_DREQ_HEARD:
		return sdp_ib_dreq_heard(ib);
	case SDP_IB_DREP_HEARD:
		sdp_conn_event(ib->verbs.conn, SDP_EV_END_DONE);
		sdp_ib_leave_time_wait(ib);
		break;
	case SDP_IB_LOST:
		sdp_ib_lost(ib);
		break;
	case SDP_IB_SEND_DREQ:
		sdp_ib_send_dreq(ib);
		break;
	case SDP_IB_SEND_DREP:
		if (ib->cm_id)
			ib_send_cm_drep(ib->cm_id, NULL, 0);
		sdp_ib_leave_time_wait(ib);
		break;
	case SDP_IB_FREE:
		return sdp_ib_free(ib);
	}
	return true;
}

static void sdp_ib_work(struct work_struct *work)
{
	struct sdp_ib *ib = container_of(work, struct sdp_ib, work);
	struct sdp_conn *conn = ib->verbs.conn;
	unsigned long todo;

	while (!ib->freed && (todo = READ_ONCE(ib->todo))) {
		unsigned int what = __ffs(todo);

		clear_bit(what, &ib->todo);
		if (sdp_ib_do(ib, what))
			continue;
		/* The poller has it done later: sdp_ib_poll_free(). */
		set_bit(what, &ib->todo);
		break;
	}
	sdp_conn_put(conn);
}

/* The verbs half calls these, in any context. */

static void sdp_ib_qp_heard(struct sdp_verbs *v)
{
	sdp_ib_queue(sdp_ib_of_verbs(v), SDP_IB_COMM_EST);
}

static void sdp_ib_qp_broken(struct sdp_verbs *v)
{
	sdp_ib_queue(sdp_ib_of_verbs(v), SDP_IB_BROKEN);
}

static void sdp_ib_dev_lost(struct sdp_verbs *v)
{
	sdp_ib_queue(sdp_ib_of_verbs(v), SDP_IB_LOST);
}

static const struct sdp_verbs_ops sdp_ib_verbs_ops = {
	.heard	= sdp_ib_qp_heard,
	.broken	= sdp_ib_qp_broken,
	.lost	= sdp_ib_dev_lost,
};

/* The table */

static void sdp_ib_act(struct sdp_conn *conn, unsigned int actions)
{
	struct sdp_ib *ib = sdp_ib_of(conn);

	if (actions & SDP_DO_END)
		sdp_ib_queue(ib, SDP_IB_SEND_DREQ);
	if (actions & SDP_DO_END_ACK)
		sdp_ib_queue(ib, SDP_IB_SEND_DREP);
	if (actions & SDP_DO_FREE)
		sdp_ib_queue(ib, SDP_IB_FREE);
}

static void sdp_ib_poll_free(struct sdp_conn *conn)
{
	sdp_ib_queue_again(sdp_ib_of(conn));
}

static void sdp_ib_release(struct sdp_conn *conn)
{
	struct sdp_ib *ib = sdp_ib_of(conn);

	kfree_rcu(ib, rcu);
}

static void sdp_ib_remove(struct sdp_dev *dev)
{
	sdp_ib_ports_remove(dev);
	sdp_verbs_remove(dev);
}

static const struct sdp_dev_ops sdp_ib_dev_ops = {
	.add	= sdp_ib_ports_add,
	.remove	= sdp_ib_remove,
};

const struct sdp_xport sdp_ib_xport = {
	.name		= "ib",
	.id		= SDP_TRANSPORT_IB,
	.priv_size	= sizeof(struct sdp_ib),
	.listen		= sdp_ib_listen,
	.unlisten	= sdp_ib_unlisten,
	.reaches	= sdp_ib_reaches,
	.route		= sdp_ib_route,
	.connect	= sdp_ib_connect,
	.act		= sdp_ib_act,
	SDP_VERBS_DATA_OPS,
	.poll_free	= sdp_ib_poll_free,
	.established	= sdp_ib_established,
	.release	= sdp_ib_release,
};

/**
 * sdp_ib_init() - become a client of the RDMA core and use its devices
 * @upper: decides about requests that arrive
 *
 * Context: process; sleeps.
 * Return: 0 or a negative errno.
 */
int __init sdp_ib_init(const struct sdp_xport_upper *upper)
{
	int err;

	sdp_ib_hooks = (struct sdp_ib_hooks){
		.work		= sdp_ib_work,
		.verbs		= &sdp_ib_verbs_ops,
		.cm_event	= sdp_ib_cm_event,
		.xp		= &sdp_ib_xport,
		.upper		= upper,
	};
	sdp_ib_ports_init(sdp_ib_cm_event);
	sdp_ib_wq = alloc_workqueue("sdp_ib", WQ_UNBOUND, 0);
	if (!sdp_ib_wq)
		return -ENOMEM;
	err = sdp_dev_init(&sdp_ib_dev_ops);
	if (err)
		destroy_workqueue(sdp_ib_wq);
	return err;
}

/**
 * sdp_ib_exit() - end all connections and stop using the devices
 *
 * Context: process; sleeps until every queue pair is destroyed.
 */
void sdp_ib_exit(void)
{
	sdp_dev_exit();
	/* A resolver may still find an address and queue a worker, so the
	 * workqueue goes when there is no connection left.
	 */
	sdp_conn_wait_all();
	destroy_workqueue(sdp_ib_wq);
	sdp_ib_ports_exit();
}
