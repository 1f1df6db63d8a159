// SPDX-License-Identifier: GPL-2.0
/*
 * Chooses what is posted next.
 *
 * Order of service when credits come (protocol text, 3.2): control messages
 * first, then data, then DisConn behind the last data, and an empty Data only
 * if nothing else went that told the peer of new buffers.  A keepalive goes
 * before all of these; keys are invalidated and RDMA Reads posted between
 * control messages and data.
 *
 * The last message may be held back while it has room, so that small writes
 * travel together: sdp_cork.c has the rules.  It then waits for the completion
 * of what was sent before, or for the user, or for a timer.
 *
 * Messages for user memory are zero copy's, which is above this file: it hands
 * its calls down in a table.
 */
#include "sdp_check.h"
#include "sdp_chrcvbuf.h"
#include "sdp_ctl.h"
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx_push.h"

enum { SDP_TX_CORK_MS = 200 };	/* ms that corked bytes wait at most */

static const struct sdp_tx_zcopy_ops *sdp_tx_zcopy __ro_after_init;

/* Jiffies that corked bytes wait at most: as long as TCP holds them back. */
static unsigned long sdp_tx_cork_most(void)
{
	return msecs_to_jiffies(SDP_TX_CORK_MS);
}

/**
 * sdp_tx_uncork() - the timer of corked bytes has expired
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_tx_uncork(struct sdp_conn *conn)
{
	unsigned long left = sdp_cork_timer(&conn->cork, jiffies,
					    sdp_tx_cork_most());

	if (left)
		sdp_conn_uncork_later(conn, left);
}

/* Whether @msg, the next message, is held back to wait for more payload. */
static bool sdp_tx_hold(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	bool partial = !msg->full && !msg->more && !conn->tx.fin_queued &&
		       list_is_last(&msg->node, &conn->tx.queue);
	unsigned long now = jiffies;

	switch (sdp_cork_hold(&conn->cork, &conn->flow, partial,
			      conn->tx.inflight, now)) {
	case SDP_HOLD_NONE:
		return false;
	case SDP_HOLD_CORK:
		trace_sdp_hold(conn->id, msg->payload, "corked");
		sdp_conn_uncork_later(conn, sdp_cork_left(&conn->cork, now,
							  sdp_tx_cork_most()));
		break;
	case SDP_HOLD_SENT:
		trace_sdp_hold(conn->id, msg->payload, "others are in flight");
		break;
	}
	return true;
}

/**
 * sdp_tx_may_go() - whether there is a credit for the stream's next message
 * @conn: the connection, conn->lock held
 *
 * If not, the wait is noted in tx.waiting, and the timers are told.
 *
 * Context: process or softirq.
 * Return: true if there is.
 */
bool sdp_tx_may_go(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (likely(sdp_post_may(conn, SDP_MID_DATA, SDP_FLOW_PAYLOAD))) {
		conn->tx.waiting = false;
		return true;
	}
	if (!conn->tx.waiting)
		sdp_count(conn->sn, SDP_CNT_CREDIT_WAITS, 1);
	conn->tx.waiting = true;
	sdp_check_starved(conn);
	return false;
}

/**
 * sdp_tx_post_data() - post the next message of the stream
 * @conn: the connection, conn->lock held; sdp_tx_may_go() was true
 * @msg: the first message of tx.queue
 * @hdr: its flags and extended header; sdp_post_msg() fills in the rest
 *
 * Context: process or softirq.
 */
void sdp_tx_post_data(struct sdp_conn *conn, struct sdp_msg *msg, struct sdp_wire_msg *hdr)
{
	sdp_peer_ring_used(&conn->peer_ring);
	list_del_init(&msg->node);
	sdp_post_msg(conn, msg, hdr, !msg->full ||
		     (!msg->more && list_empty(&conn->tx.queue)));
	sdp_chrcvbuf_posted(conn, msg);
}

/* Post the next message of the stream; false if it has to wait. */
static bool sdp_tx_push_data(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_msg *msg;

	msg = list_first_entry(&conn->tx.queue, struct sdp_msg, node);
	if (unlikely(msg->umr))
		return sdp_tx_zcopy->push(conn, msg);
	if (sdp_tx_hold(conn, msg) || !sdp_src_may_copy(&conn->mode.src))
		return false;
	if (!sdp_tx_may_go(conn))
		return sdp_chrcvbuf_ask_more(conn, msg);	/* a ChRcvBuf goes first */
	sdp_tx_post_data(conn, msg, &hdr);
	sdp_src_copied(&conn->mode.src);
	if (!msg->full)
		sdp_cork_posted(&conn->cork, msg->mseq);
	return true;
}

/* Invalidate the key of a registration that the peer is done with. */
static bool sdp_tx_push_invalidate(struct sdp_conn *conn)
{
	struct sdp_msg *msg;

	msg = list_first_entry(&conn->tx.invalidations, struct sdp_msg, node);
	list_del_init(&msg->node);
	msg->signalled = true;
	sdp_post_op(conn, msg);
	return true;
}

/**
 * sdp_tx_push_one() - post one request, the most urgent first
 * @conn: the connection, conn->lock held; sdp_post_can() was true
 *
 * Context: process or softirq.
 * Return: false when nothing more may go.
 */
bool sdp_tx_push_one(struct sdp_conn *conn)
{
	bool owed = sdp_post_wait_owed(&conn->post_wait);

	if (conn->tx.abort_posted || conn->tx.broken)
		return false;
	if (unlikely(conn->tx.ctl & SDP_CTL_KEEPALIVE)) {
		if (!sdp_post_nothing(conn))
			return false;
		sdp_count(conn->sn, SDP_CNT_KEEPALIVES, 1);
		return true;
	}
	if (conn->tx.ctl && sdp_ctl_push(conn))
		return true;
	if (unlikely(!list_empty(&conn->tx.invalidations)))
		return sdp_tx_push_invalidate(conn);
	if (unlikely(sdp_zsink_has_reads(&conn->zsink)) && !owed &&
	    sdp_tx_zcopy->push_read(conn))
		return true;
	/* What waits until nothing is in flight would wait for ever if more
	 * were posted.
	 */
	if (unlikely(sdp_post_waits(&conn->post_wait)))
		return false;
	sdp_post_wait_take_owed(&conn->post_wait);
	if (unlikely(sdp_zsrc_async_refused(&conn->zsrc_async))) {
		;	/* the worker's copies of refused bytes come first */
	} else if (!list_empty(&conn->tx.queue)) {
		if (sdp_tx_push_data(conn))
			return true;
		sdp_post_wait_owe(&conn->post_wait);
	} else if (conn->tx.fin_queued && !conn->tx.fin_posted &&
		   sdp_src_may_copy(&conn->mode.src)) {
		if (sdp_ctl_push_fin(conn))
			return true;
	}
	if (unlikely(sdp_post_waits(&conn->post_wait)))
		return false;
	/* The reads gave way to the source (see owed above), which waits for
	 * nothing now: they may go.
	 */
	if (unlikely(owed && sdp_zsink_has_reads(&conn->zsink)) &&
	    sdp_tx_zcopy->push_read(conn))
		return true;
	if (unlikely(sdp_peer_ring_uses_up(&conn->peer_ring)) && list_empty(&conn->tx.queue) &&
	    !conn->tx.fin_queued &&
	    sdp_ctl_push_data(conn, SDP_FLOW_PAYLOAD)) {
		sdp_peer_ring_used(&conn->peer_ring);
		return true;
	}
	return sdp_flow_owes_update(&conn->flow) &&
	       sdp_ctl_push_data(conn, SDP_FLOW_UPDATE);
}

/**
 * sdp_tx_push_check() - have zero copy look after memory that stays advertised
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: as check() of struct sdp_tx_zcopy_ops.
 */
unsigned long sdp_tx_push_check(struct sdp_conn *conn)
{
	return sdp_tx_zcopy->check(conn);
}

/**
 * sdp_tx_init() - set the calls to zero copy
 * @ops: the table
 *
 * Context: process; before there is a connection.
 */
void __init sdp_tx_init(const struct sdp_tx_zcopy_ops *ops)
{
	sdp_tx_zcopy = ops;
}
