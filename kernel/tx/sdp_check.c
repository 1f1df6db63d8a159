// SPDX-License-Identifier: GPL-2.0
/*
 * The check of an established connection: does what its timers say is due.
 *
 * One delayed work serves all timers (SDP_CONN_CHECK).  sdp_timers.c is the
 * policy: it says when the next check is to come, and what is due then.  Apart
 * from keepalive and the user timeout, a check looks after:
 *
 *	async		memory that stays advertised after a call, and that the
 *			peer does not read: the SrcAvail is cancelled
 *	shrinking	nothing was sent for a while: the peer is asked to make
 *			its receive buffers smaller
 *
 * A peer that does not answer in time ends the connection with ETIMEDOUT.  This
 * file only leaves that in tx.done; sdp_tx.c does it without conn->lock.
 */
#include "sdp_check.h"
#include "sdp_chrcvbuf.h"
#include "sdp_trace.h"

/* Have the next check in @delay jiffies; SDP_TIMERS_NEVER: change nothing. */
static void sdp_check_in(struct sdp_conn *conn, unsigned long delay)
{
	lockdep_assert_held(&conn->lock);
	if (delay != SDP_TIMERS_NEVER && !conn->dead)
		sdp_conn_check_later(conn, delay);
}

static struct sdp_timers_now sdp_check_now(const struct sdp_conn *conn)
{
	return (struct sdp_timers_now){
		.now		= jiffies,
		.heard		= READ_ONCE(conn->rx.heard),
		.starved	= conn->tx.waiting,
		.outstanding	= conn->tx.outstanding || sdp_zsrc_is_out(&conn->zsrc),
		.inflight	= conn->tx.inflight,
		.signalled	= conn->tx.inflight > conn->tx.unsignalled,
		.async		= sdp_zsrc_async_bytes(&conn->zsrc_async),
		.last_ack	= conn->tx.fin_posted && conn->state == SDP_LAST_ACK,
		.others		= sdp_peer_ring_is_grown(&conn->peer_ring),
	};
}

/**
 * sdp_check_patience() - time that memory may stay advertised without progress
 * @conn: the connection
 *
 * Context: any.
 * Return: jiffies, at least 1: net.sdp.zcopy_wait, or half of TCP_USER_TIMEOUT
 * if that is less.
 */
unsigned long sdp_check_patience(const struct sdp_conn *conn)
{
	return sdp_timers_patience(&conn->timers,
				   msecs_to_jiffies(READ_ONCE(conn->sn->zcopy_wait)));
}

/**
 * sdp_check_begin() - note that something is about to be queued or advertised
 * @conn: the connection, conn->lock held
 *
 * If nothing is outstanding, everything sent before has arrived: the time for
 * progress (TCP_USER_TIMEOUT) begins now.
 *
 * Context: process or softirq.
 */
void sdp_check_begin(struct sdp_conn *conn)
{
	if (!conn->tx.outstanding)
		sdp_check_in(conn, sdp_timers_begin(&conn->timers, jiffies));
}

/**
 * sdp_check_async() - note that memory stays advertised after a call
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_async(struct sdp_conn *conn)
{
	if (!conn->dead)
		sdp_check_in(conn, sdp_timers_async(&conn->timers,
						    sdp_peer_ring_is_grown(&conn->peer_ring),
						    sdp_check_patience(conn)));
}

/**
 * sdp_check_starved() - note that a message waits for credits
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_starved(struct sdp_conn *conn)
{
	unsigned long delay;
	bool silence;

	delay = sdp_timers_starve(&conn->timers, sdp_peer_ring_is_grown(&conn->peer_ring),
				  &silence);
	if (silence)
		WRITE_ONCE(conn->rx.heard, jiffies);
	sdp_check_in(conn, delay);
}

/**
 * sdp_check() - check whether it is time to give up, or to send a keepalive
 * @conn: the connection, conn->lock held; send completions have been reaped
 * @async: jiffies until memory that stays advertised is to be looked at, or
 *	SDP_TIMERS_NEVER; 0: the peer does not answer
 *
 * Leaves what is to be done in tx.done and tx.ctl.
 *
 * Context: process or softirq.
 */
void sdp_check(struct sdp_conn *conn, unsigned long async)
{
	unsigned long next = sdp_chrcvbuf_shrink(conn) ?: SDP_TIMERS_NEVER;
	struct sdp_timers_now now = sdp_check_now(conn);
	struct sdp_timers_due due;

	if (!async) {
		trace_sdp_timeout(conn->id, "no answer to a cancel",
				  now.now - sdp_zsrc_at(&conn->zsrc));
		conn->tx.done |= SDP_TX_DONE_TIMEOUT;
		return;
	}
	next = min(next, async);
	due = sdp_timers_check(&conn->timers, &now);
	if (due.give_up) {
		trace_sdp_timeout(conn->id, sdp_timers_asks(&conn->timers) ?
				  "no answer to a keepalive" : "nothing taken",
				  now.now - sdp_timers_progress(&conn->timers));
		conn->tx.done |= SDP_TX_DONE_TIMEOUT;
		return;
	}
	if (due.ask) {
		trace_sdp_keepalive(conn->id, "due", now.now - now.heard);
		conn->tx.ctl |= SDP_CTL_KEEPALIVE;
	}
	sdp_check_in(conn, min(next, due.next));
}

/**
 * sdp_check_answered() - note that the peer's device has answered a keepalive
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_answered(struct sdp_conn *conn)
{
	struct sdp_timers_now now = sdp_check_now(conn);

	trace_sdp_keepalive(conn->id, "answered", now.now - now.heard);
	WRITE_ONCE(conn->rx.heard, jiffies);
	sdp_check_in(conn, sdp_timers_answered(&conn->timers, &now));
}

/**
 * sdp_check_cm_lost() - note that the CM lost the connection
 * @conn: the connection
 *
 * The CM will not report the peer's end any more, so keepalives have to find
 * out: one goes after each second of silence (SDP_TIMERS_LOST).
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_check_cm_lost(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	trace_sdp_cm(conn->id, "lost", 0);
	sdp_timers_lose_cm(&conn->timers);
	/* Nobody watched the silence before: it begins now. */
	WRITE_ONCE(conn->rx.heard, jiffies);
	sdp_check_in(conn, 0);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_check_set() - set the times of keepalive and user timeout
 * @conn: the connection
 * @keep_idle: jiffies without a message until a keepalive is sent; 0: never
 * @user_timeout: jiffies that what was sent may remain queued or in flight
 *	without progress, and a keepalive without an answer; 0: for ever
 *
 * A keepalive that is not answered, or a user timeout, ends the connection with
 * ETIMEDOUT.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_check_set(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout)
{
	if (sdp_timers_are(&conn->timers, keep_idle, user_timeout))
		return;
	spin_lock_bh(&conn->lock);
	/* Nobody watched the silence before: it begins now. */
	if (sdp_timers_set(&conn->timers, keep_idle, user_timeout))
		WRITE_ONCE(conn->rx.heard, jiffies);
	if (keep_idle || user_timeout)
		sdp_check_in(conn, 0);
	spin_unlock_bh(&conn->lock);
}
