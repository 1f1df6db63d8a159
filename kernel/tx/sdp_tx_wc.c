// SPDX-License-Identifier: GPL-2.0
/*
 * Send completions: retire what was posted, in the order of posting.
 *
 * Most completions only free memory.  RDMA Reads, RDMA Writes and invalidations
 * complete here as well, each in its turn.  Bytes that were read are handed to
 * the reader here, before an RdmaRdCompl can tell the peer: so nothing that the
 * peer sends after that can overtake them.
 *
 * All this is under conn->lock.  What needs a call up is left in tx.done, for
 * the caller to act upon without the lock (sdp_tx_settle()).
 *
 * A completion with an error breaks the send side.  All requests stay on
 * tx.posted until the queue pair is destroyed.
 */
#include "sdp_check.h"
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx_wc.h"

/* An RDMA Read is complete: its bytes are the next ones of the stream. */
static void sdp_tx_wc_read(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_buf *buf = msg->buf;

	sdp_snk_read_done(&conn->mode.snk, msg->bytes);
	conn->tx.ctl |= SDP_CTL_RD_COMPL;
	sdp_count(conn->sn, SDP_CNT_BYTES_RECEIVED, msg->bytes);
	spin_lock(&conn->rx.lock);
	conn->rx.bytes += msg->bytes;
	if (buf) {
		buf->off = 0;
		buf->left = msg->bytes;
		buf->mark = 0;
		buf->stamp = sdp_conn_stamp(conn);
		buf->filled = true;
		conn->rx.bouncing -= buf->size;
		list_add_tail(&buf->node, &conn->rx.queue);
		conn->rx.inq += msg->bytes;
		msg->buf = NULL;
	} else {
		conn->rx.read += msg->bytes;
	}
	spin_unlock(&conn->rx.lock);
	sdp_conn_stats_read(&conn->stats, msg->bytes, buf);
	if (buf) {
		conn->tx.done |= SDP_TX_DONE_READ;
		sdp_count(conn->sn, SDP_CNT_FETCHED, msg->bytes);
	} else {
		msg->umr->moved = msg->bytes;
		sdp_count(conn->sn, SDP_CNT_TAKEN, msg->bytes);
	}
}

/* An RDMA Write is complete: our device need not repeat it, so the key of what
 * was written is to be invalidated.
 */
static void sdp_tx_wc_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	msg->op = SDP_OP_INVALIDATE;
	msg->umr->state = SDP_UMR_INVALIDATING;
	msg->umr->moved = msg->bytes;
	sdp_zsrc_moved(&conn->zsrc, jiffies);
	if (msg->umr->async)
		sdp_zpolicy_offered(&conn->zpolicy, true);
	list_add_tail(&msg->node, &conn->tx.invalidations);
}

static void sdp_tx_wc_one(struct sdp_conn *conn, struct sdp_msg *msg)
{
	list_del_init(&msg->node);
	if (msg == conn->tx.rtt.timed) {
		if (conn->tx.fired)
			sdp_rtt_sample(&conn->tx.rtt, ktime_get_ns());
		conn->tx.rtt.timed = NULL;
	}
	conn->tx.inflight--;
	if (unlikely(sdp_post_is_watched(msg))) {
		conn->tx.watched_ops--;
		/* Once an error was reported, no byte is queued behind it. */
		if (msg->op == SDP_OP_READ && !(msg->buf && conn->rx.over))
			sdp_tx_wc_read(conn, msg);
		if (msg->umr)
			conn->tx.done |= SDP_TX_DONE_UMR;
	}
	conn->tx.inflight_bytes -= msg->charged;
	WRITE_ONCE(conn->tx.outstanding, conn->tx.outstanding - msg->charged);
	if (msg->op == SDP_OP_NOTHING) {
		sdp_check_answered(conn);
	} else {
		sdp_timers_moved(&conn->timers, jiffies);
		if (msg->op == SDP_OP_SEND)
			sdp_cork_arrived(&conn->cork, msg->mseq);
	}
	if (msg->op != SDP_OP_SEND)
		;
	else if (msg->mid == SDP_MID_DISCONN)
		conn->tx.done |= SDP_TX_DONE_FIN;
	else if (msg->mid == SDP_MID_ABORT_CONN)
		conn->tx.done |= SDP_TX_DONE_ABORT;
	if (unlikely(msg->op == SDP_OP_WRITE))
		sdp_tx_wc_write(conn, msg);
	else
		sdp_msg_sent(conn, msg);
	if (!conn->tx.outstanding) {
		if (trace_sdp_snd_limit_enabled() && conn->tx.limit != conn->tx.limit_least)
			trace_sdp_snd_limit(conn->id, conn->tx.limit,
					    conn->tx.limit_least, 0);
		WRITE_ONCE(conn->tx.limit, conn->tx.limit_least);
		sdp_msg_idle(conn);
	}
}

/**
 * sdp_tx_wc() - retire a signalled request and all that was posted before it
 * @conn: the connection; conn->lock held
 * @msg: the request
 * @status: 0, or a negative errno: the queue pair is in error.  -ETIMEDOUT if
 *	the peer's device did not answer
 *
 * Context: process or softirq; called by the transport's poll_send().
 */
void sdp_tx_wc(struct sdp_conn *conn, struct sdp_msg *msg, int status)
{
	struct sdp_msg *first;
	bool last;

	lockdep_assert_held(&conn->lock);
	trace_sdp_send_done(conn->id, msg->mid, msg->mseq, status);
	if (status) {
		/* All stays posted until the queue pair is destroyed. */
		if (!conn->tx.broken) {
			conn->tx.done |= SDP_TX_DONE_LOST;
			conn->tx.timed_out = status == -ETIMEDOUT;
		}
		conn->tx.broken = true;
		return;
	}
	do {
		first = list_first_entry(&conn->tx.posted, struct sdp_msg,
					 node);
		last = first == msg;
		sdp_tx_wc_one(conn, first);
	} while (!last);
}
