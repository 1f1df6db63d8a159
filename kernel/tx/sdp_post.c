// SPDX-License-Identifier: GPL-2.0
/*
 * Posting requests: a header is written here, right before its message goes.
 *
 * Bufs, MSeq and MSeqAck are one snapshot under conn->lock, and posting under
 * the same lock keeps their order.  sdp_ctl.c and sdp_tx_push.c choose what
 * goes, and when; they ask sdp_post_may() first whether there is a credit.
 *
 * The last message of a burst is signalled, and the transport has some messages
 * of a long burst signalled.  A completion retires all that was posted before it
 * (sdp_tx_wc.c).
 *
 * A request belongs to tx.posted and the device from here until sdp_tx_wc().
 * If the device refuses one, the send side is broken, and the connection fails.
 */
#include "sdp_mem.h"
#include "sdp_post.h"
#include "sdp_trace.h"

/**
 * sdp_post_op() - post a request
 * @conn: the connection, conn->lock held
 * @msg: the request, on no list; signalled says whether its completion is wanted
 *
 * Takes neither credit nor sequence number: for a message call sdp_post_msg().
 * If the device refuses the request, the send side is broken, and tx.done says
 * so.
 *
 * Context: process or softirq.
 */
void sdp_post_op(struct sdp_conn *conn, struct sdp_msg *msg)
{
	/* Time the round trip of one request per jiffy, at most. */
	bool timed = !conn->tx.rtt.timed && time_after(jiffies, conn->tx.rtt.at);
	u64 now = timed ? ktime_get_ns() : 0;
	int err;

	list_add_tail(&msg->node, &conn->tx.posted);
	conn->tx.inflight++;
	conn->tx.watched_ops += sdp_post_is_watched(msg);
	err = conn->xp->post(conn, msg);
	conn->tx.unsignalled = msg->signalled ? 0 : conn->tx.unsignalled + 1;
	if (timed && msg->signalled) {
		conn->tx.rtt.timed = msg;
		conn->tx.rtt.at = jiffies;
		conn->tx.rtt.sent_ns = now;
	}
	if (err) {
		/* The sequence number is used up: nothing may follow. */
		trace_sdp_fail(conn->id, err, "post");
		conn->tx.broken = true;
		conn->tx.done |= SDP_TX_DONE_LOST;
	}
}

/**
 * sdp_post_msg() - write the header of a message and post it
 * @conn: the connection, conn->lock held; sdp_post_may() was true
 * @msg: the message, on no list
 * @hdr: its flags and extended header; the rest is filled in
 * @signalled: whether its completion is wanted; it may be reported anyway
 *
 * Takes a credit and a sequence number.  Errors as for sdp_post_op().
 *
 * Context: process or softirq.
 */
void sdp_post_msg(struct sdp_conn *conn, struct sdp_msg *msg,
		  struct sdp_wire_msg *hdr, bool signalled)
{
	lockdep_assert_held(&conn->lock);
	hdr->mid = msg->mid;
	/* The next message of any kind announces an urgent byte, once each. */
	if (unlikely(conn->tx.oob)) {
		hdr->flags |= SDP_FLAG_OOB_PEND;
		conn->tx.oob--;
	}
	if (unlikely(msg->urgent)) {
		hdr->flags |= SDP_FLAG_OOB_PRES;
		sdp_count(conn->sn, SDP_CNT_URGENT_SENT, 1);
	}
	hdr->len = SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid) + msg->payload;
	sdp_flow_take(&conn->flow, hdr);
	if (unlikely(conn->mode.snk.cancelled))
		sdp_flow_hold_ack(hdr, sdp_snk_ack(&conn->mode.snk,
						   hdr->mseq_ack));
	sdp_wire_put(msg->addr, hdr);
	msg->mseq = hdr->mseq;
	msg->bytes = hdr->len;
	msg->signalled = signalled;
	conn->tx.inflight_bytes += msg->charged;
	sdp_conn_stats_posted(&conn->stats, msg->payload, msg->payload || msg->umr);
	if (msg->payload || msg->umr)
		conn->tx.sent_at = jiffies;
	sdp_count(conn->sn, SDP_CNT_MSGS_SENT, 1);
	if (msg->payload)
		sdp_count(conn->sn, SDP_CNT_BYTES_SENT, msg->payload);
	trace_sdp_post(conn->id, hdr->mid, hdr->flags, hdr->bufs, hdr->len,
		       hdr->mseq, hdr->mseq_ack);
	sdp_post_op(conn, msg);
}

/**
 * sdp_post_may() - whether there is a credit for a message
 * @conn: the connection, conn->lock held
 * @mid: identifier of the message, for the trace
 * @class: its class in flow control
 *
 * Context: process or softirq.
 * Return: true if it may be posted.
 */
bool sdp_post_may(struct sdp_conn *conn, u8 mid, enum sdp_flow_class class)
{
	bool go = sdp_flow_may(&conn->flow, class);

	trace_sdp_credit(conn->id, mid, sdp_flow_credits(&conn->flow), go);
	return go;
}

/**
 * sdp_post_control() - take a control message from tx.ctl_free
 * @conn: the connection, conn->lock held
 * @mid: identifier of the message
 *
 * Context: process or softirq.
 * Return: the message, to be posted; NULL when all are in flight.
 */
struct sdp_msg *sdp_post_control(struct sdp_conn *conn, u8 mid)
{
	struct sdp_msg *msg;

	msg = list_first_entry_or_null(&conn->tx.ctl_free, struct sdp_msg,
				       node);
	if (msg) {
		list_del_init(&msg->node);
		msg->op = SDP_OP_SEND;
		msg->invalidates = false;
		msg->mid = mid;
		msg->payload = 0;
		msg->charged = 0;
	}
	return msg;
}

/**
 * sdp_post_nothing() - ask the peer's device whether it is there
 * @conn: the connection, conn->lock held
 *
 * Posts an RDMA Write of no bytes (3.6).  It is signalled, so its completion
 * also retires all that was posted before.
 *
 * Context: process or softirq.
 * Return: false if all control messages are in flight.
 */
bool sdp_post_nothing(struct sdp_conn *conn)
{
	struct sdp_msg *msg = sdp_post_control(conn, SDP_MID_DATA);

	if (!msg)
		return false;
	conn->tx.ctl &= ~SDP_CTL_KEEPALIVE;
	sdp_timers_asked(&conn->timers, jiffies);
	msg->op = SDP_OP_NOTHING;
	msg->signalled = true;
	sdp_post_op(conn, msg);
	return true;
}

/**
 * sdp_post_can() - whether the transport takes a request now
 * @conn: the connection, conn->lock held
 * @op: what it is to do, enum sdp_op
 *
 * If nothing in flight is signalled, this posts a request that is, so that a
 * completion will tell when to try again.
 *
 * Context: process or softirq.
 * Return: false if it has to wait; sdp_post_waits() says so until completions
 * are reaped.
 */
bool sdp_post_can(struct sdp_conn *conn, u8 op)
{
	if (likely(conn->xp->can_post(conn, op)))
		return true;
	sdp_post_wait_set(&conn->post_wait);
	trace_sdp_post_waits(conn->id, conn->tx.inflight_bytes,
			     op == SDP_OP_ANY ? "no room" : "in flight");
	if (op != SDP_OP_ANY && conn->tx.unsignalled &&
	    !sdp_timers_asks(&conn->timers))
		sdp_post_nothing(conn);
	return false;
}
