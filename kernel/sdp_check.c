// SPDX-License-Identifier: GPL-2.0
/*
 * The check of an established connection: what its timers have due is done here.
 *
 * One delayed work serves all of them (SDP_CONN_CHECK): sdp_timers.c says when it
 * is to come, and what is due then.  Beside keepalive and the user timeout that is:
 *
 *	async		memory that stays advertised after a call, and that the peer
 *			does not read, is taken back
 *	shrinking	nothing was sent: the peer may have its memory back
 */
#include "sdp_check.h"
#include "sdp_chrcvbuf.h"

/* A look in so many jiffies; sdp_timers.c may say that there is none to come. */
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
 * sdp_check_patience() - how long the peer has to begin with what is advertised
 * @conn: the connection
 *
 * Context: any.
 * Return: jiffies, from 1: net.sdp.zcopy_wait, but less than TCP_USER_TIMEOUT.
 */
unsigned long sdp_check_patience(const struct sdp_conn *conn)
{
	return sdp_timers_patience(&conn->timers,
				   msecs_to_jiffies(READ_ONCE(conn->sn->zcopy_wait)));
}

/**
 * sdp_check_begin() - something is about to be queued or advertised
 * @conn: the connection, conn->lock held
 *
 * If nothing was under way the time for progress begins now: what was sent before
 * has arrived.
 *
 * Context: process or softirq.
 */
void sdp_check_begin(struct sdp_conn *conn)
{
	if (!conn->tx.outstanding)
		sdp_check_in(conn, sdp_timers_begin(&conn->timers, jiffies));
}

/**
 * sdp_check_async() - memory stays advertised after a call
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
 * sdp_check_starved() - a message waits for credits
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
 * sdp_check() - is it time to give up, or to ask?
 * @conn: the connection, conn->lock held; what has arrived has been reaped
 * @async: jiffies until memory that stays advertised is to be looked at, or
 *	SDP_TIMERS_NEVER; 0: the peer does not answer
 *
 * What is to be done is in tx.done and tx.ctl then.
 *
 * Context: process or softirq.
 */
void sdp_check(struct sdp_conn *conn, unsigned long async)
{
	unsigned long next = sdp_chrcvbuf_shrink(conn) ?: SDP_TIMERS_NEVER;
	struct sdp_timers_now now = sdp_check_now(conn);
	struct sdp_timers_due due;

	if (!async) {
		conn->tx.done |= SDP_TX_DONE_TIMEOUT;
		return;
	}
	next = min(next, async);
	due = sdp_timers_check(&conn->timers, &now);
	if (due.give_up) {
		conn->tx.done |= SDP_TX_DONE_TIMEOUT;
		return;
	}
	if (due.ask)
		conn->tx.ctl |= SDP_CTL_KEEPALIVE;
	sdp_check_in(conn, min(next, due.next));
}

/**
 * sdp_check_answered() - the peer's device has answered a keepalive
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_answered(struct sdp_conn *conn)
{
	struct sdp_timers_now now = sdp_check_now(conn);

	WRITE_ONCE(conn->rx.heard, jiffies);
	sdp_check_in(conn, sdp_timers_answered(&conn->timers, &now));
}

/**
 * sdp_check_cm_lost() - nothing but silence will tell that the peer is gone
 * @conn: the connection
 *
 * It is asked for by keepalives, after a second of silence each.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_check_cm_lost(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	sdp_timers_lose_cm(&conn->timers);
	/* Silence was nobody's concern before. */
	WRITE_ONCE(conn->rx.heard, jiffies);
	sdp_check_in(conn, 0);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_check_set() - when to ask whether the peer is there, and to give up
 * @conn: the connection
 * @keep_idle: jiffies without a message until a keepalive is sent; 0: never
 * @user_timeout: jiffies that what was sent may remain under way or queued
 *	without any progress, and a keepalive without an answer; 0: for ever
 *
 * A keepalive that is not answered, or a user timeout, ends the connection by
 * ETIMEDOUT.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_check_set(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout)
{
	if (sdp_timers_are(&conn->timers, keep_idle, user_timeout))
		return;
	spin_lock_bh(&conn->lock);
	/* Who asks for it now did not ask before, so it begins now. */
	if (sdp_timers_set(&conn->timers, keep_idle, user_timeout))
		WRITE_ONCE(conn->rx.heard, jiffies);
	if (keep_idle || user_timeout)
		sdp_check_in(conn, 0);
	spin_unlock_bh(&conn->lock);
}
