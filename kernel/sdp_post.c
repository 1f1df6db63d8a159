// SPDX-License-Identifier: GPL-2.0
/*
 * Posting: what a message's header says is decided here, at the last moment.
 *
 * Bufs, MSeq and MSeqAck are one snapshot under conn->lock, and posting under the
 * same lock keeps their order.  When a message may go, and which, is for others to
 * say (sdp_ctl.c, sdp_tx.c); that there is a credit for it they have asked here.
 *
 * The last message of a burst is signalled, and some in a long one: a completion
 * retires all that were posted before it (sdp_tx_wc.c).
 */
#include "sdp_mem.h"
#include "sdp_post.h"
#include "sdp_trace.h"

enum {
	SDP_POST_BURST		= 8,		/* unsignalled messages in a row */
	SDP_POST_BURST_BYTES	= 64 * 1024,
};

/**
 * sdp_post_op() - post what is no message
 * @conn: the connection, conn->lock held
 * @msg: the request, on no list; signalled is set
 *
 * It takes neither credit nor number.  Errors as for sdp_post_msg().
 *
 * Context: process or softirq.
 */
void sdp_post_op(struct sdp_conn *conn, struct sdp_msg *msg)
{
	int err;

	if (msg->signalled) {
		conn->tx.unsignalled = 0;
		conn->tx.unsignalled_bytes = 0;
	}
	/* One in a jiffy is enough. */
	if (msg->signalled && !conn->tx.rtt.timed && time_after(jiffies, conn->tx.rtt.at)) {
		conn->tx.rtt.timed = msg;
		conn->tx.rtt.at = jiffies;
		conn->tx.rtt.sent_ns = ktime_get_ns();
	}
	list_add_tail(&msg->node, &conn->tx.posted);
	conn->tx.inflight += msg->slots;
	conn->tx.watched_ops += sdp_post_is_watched(msg);
	err = conn->xp->post(conn, msg);
	if (err) {
		/* The sequence number is used: nothing may follow. */
		trace_sdp_fail(conn->id, err, "post");
		conn->tx.broken = true;
		conn->tx.done |= SDP_TX_DONE_LOST;
	}
}

/**
 * sdp_post_msg() - write the header and post
 * @conn: the connection, conn->lock held; sdp_post_may() has said yes
 * @msg: the message, on no list
 * @hdr: its flags and extended header; the rest is filled in
 * @signalled: whether its completion is wanted; it may be anyway
 *
 * What the device refuses breaks the send side: tx.done has it.
 *
 * Context: process or softirq.
 */
void sdp_post_msg(struct sdp_conn *conn, struct sdp_msg *msg,
		  struct sdp_wire_msg *hdr, bool signalled)
{
	lockdep_assert_held(&conn->lock);
	hdr->mid = msg->mid;
	/* Whatever goes first announces it, and each is announced once. */
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
	conn->tx.unsignalled += msg->slots;
	conn->tx.unsignalled_bytes += hdr->len;
	msg->signalled = signalled || conn->tx.unsignalled >= SDP_POST_BURST ||
			 conn->tx.unsignalled_bytes >= SDP_POST_BURST_BYTES;
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
 * sdp_post_may() - is there a credit for it?
 * @conn: the connection, conn->lock held
 * @mid: the message's identifier, for the trace
 * @class: what it is to the flow control
 *
 * Context: process or softirq.
 * Return: true if one may be posted.
 */
bool sdp_post_may(struct sdp_conn *conn, u8 mid, enum sdp_flow_class class)
{
	bool go = sdp_flow_may(&conn->flow, class);

	trace_sdp_credit(conn->id, mid, sdp_flow_credits(&conn->flow), go);
	return go;
}

/**
 * sdp_post_control() - a place for a message without payload
 * @conn: the connection, conn->lock held
 * @mid: the message's identifier
 *
 * Context: process or softirq.
 * Return: the message, to be posted; NULL when all are under way.
 */
struct sdp_msg *sdp_post_control(struct sdp_conn *conn, u8 mid)
{
	struct sdp_msg *msg;

	msg = list_first_entry_or_null(&conn->tx.ctl_free, struct sdp_msg,
				       node);
	if (msg) {
		list_del_init(&msg->node);
		msg->op = SDP_OP_SEND;
		msg->slots = 1;
		msg->ends = false;
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
 * Its completion also tells of all that was posted before.
 *
 * Context: process or softirq.
 * Return: false if there was no place for it.
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
 * sdp_post_may_register() - may a request be posted that makes a registration
 * valid?
 * @conn: the connection, conn->lock held
 *
 * On a device with the defect nothing may be under way before it (sdp_dev.h); and
 * what is must be heard of.
 *
 * Context: process or softirq.
 * Return: false if it has to wait; reg.reg_waits is set then.
 */
bool sdp_post_may_register(struct sdp_conn *conn)
{
	if (likely(sdp_reg_order_may(&conn->reg, conn->tx.inflight)))
		return true;
	if (conn->tx.unsignalled && !sdp_timers_asks(&conn->timers))
		sdp_post_nothing(conn);
	return false;
}
