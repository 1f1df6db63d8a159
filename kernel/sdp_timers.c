// SPDX-License-Identifier: GPL-2.0
/*
 * The clocks of an established connection: when to ask whether the peer is there,
 * when to take back what it does not come for, and when to give up.
 *
 * One timer serves all (SDP_CONN_CHECK).  It is set for the first of them that is
 * due, and whoever looks then says when the next look is; nobody moves it when
 * data flows, so it costs a busy connection nothing.  What may be due:
 *
 *	keepalive	nothing was heard for so long, and SO_KEEPALIVE is set; or
 *			a sender waits for credits with nothing under way, and
 *			would never hear of a peer whose going was lost; or
 *			the CM does not know the connection, and would not tell
 *	user timeout	what was sent, or asked, makes no progress (TCP_USER_TIMEOUT)
 *	leases		memory lent beyond a call that the peer does not read
 *	shrinking	nothing was sent: the peer may have its memory back
 */
#include "sdp_loan.h"
#include "sdp_peer_ring.h"
#include "sdp_timers.h"

enum {
	SDP_TIMERS_STARVED	= 10 * HZ,	/* without credits, then ask */
	SDP_TIMERS_DEAF		= HZ,		/* rare enough to ask often */
};

void sdp_timers_begins(struct sdp_conn *conn)
{
	if (conn->tx.outstanding)
		return;
	conn->timers.progress = jiffies;
	/* A check that was to come before stays. */
	if (unlikely(conn->timers.user_timeout && !conn->dead))
		sdp_conn_check_later(conn, conn->timers.lease_check ? 0 :
						   conn->timers.user_timeout);
}

/* Are there reasons for a check besides a silence that the user cares about? */
static bool sdp_timers_is_timed(const struct sdp_conn *conn)
{
	return conn->timers.user_timeout || conn->peer_ring.grown ||
	       conn->timers.lease_check || conn->timers.deaf;
}

void sdp_timers_lease(struct sdp_conn *conn)
{
	bool timed = conn->timers.keep_idle || conn->timers.watched ||
		     sdp_timers_is_timed(conn);

	lockdep_assert_held(&conn->lock);
	if (conn->timers.lease_check || conn->dead)
		return;
	conn->timers.lease_check = true;
	/* A check may be due before: it is for it to say when the next is. */
	sdp_conn_check_later(conn, timed ? 0 : sdp_timers_patience(conn));
}

void sdp_timers_watch(struct sdp_conn *conn)
{
	bool timed = conn->timers.keep_idle || sdp_timers_is_timed(conn);

	if (conn->timers.watched)
		return;
	conn->timers.watched = true;
	/* Silence was nobody's concern before. */
	if (!conn->timers.keep_idle && !conn->timers.deaf)
		WRITE_ONCE(conn->rx.heard, jiffies);
	/* A check may be due before: it is for it to say when the next is. */
	sdp_conn_check_later(conn, timed ? 0 : SDP_TIMERS_STARVED);
}

/* Jiffies of silence after which the peer is asked; 0: for ever. */
static u32 sdp_timers_idle(const struct sdp_conn *conn)
{
	u32 idle = conn->timers.keep_idle ?: U32_MAX;

	/* Both have said all, and the peer may go: he will not tell. */
	if (conn->timers.deaf && conn->tx.fin_posted &&
	    conn->state == SDP_LAST_ACK)
		return 0;
	if (conn->tx.waiting)
		idle = min_t(u32, idle, SDP_TIMERS_STARVED);
	if (conn->timers.deaf)
		idle = min_t(u32, idle, SDP_TIMERS_DEAF);
	return idle == U32_MAX ? 0 : idle;
}

/*
 * What is lent beyond a call is taken back when the peer does not come for it;
 * and nobody's memory is kept for what cannot even be offered.  Jiffies until the
 * next look; 0 if the peer does not answer at all.
 */
static unsigned long sdp_timers_check_leases(struct sdp_conn *conn,
					     unsigned long now)
{
	struct sdp_src *src = &conn->mode.src;
	/* Also one that waits for a credit, which the peer may never give. */
	bool cancel = src->cancel || (conn->tx.ctl & SDP_CTL_SRC_CANCEL &&
				      sdp_src_may_cancel(src));
	struct sdp_loan *loan = list_first_entry_or_null(&conn->zsrc.loans,
							 struct sdp_loan, node);
	/* Or it is for our device to end, and the peer has no buffer for what
	 * comes before that.
	 */
	bool last = cancel || (loan && !sdp_src_may_cancel(src) &&
			       (loan->state == SDP_LOAN_OUT ||
				loan->state == SDP_LOAN_BACK));
	unsigned long patience = sdp_timers_patience(conn);
	unsigned long due = conn->zsrc.lent_at +
			    (last ? SDP_TIMERS_CANCEL : patience);

	/* When it is answered others are out, perhaps. */
	if (time_before(now, due))
		return min(due - now, patience);
	if (last)
		return 0;
	cancel = sdp_src_may_cancel(src);
	if (cancel) {
		conn->tx.ctl |= SDP_CTL_SRC_CANCEL;
		conn->zsrc.lent_at = now;
	}
	list_for_each_entry(loan, &conn->zsrc.loans, node) {
		if (!cancel && loan->state == SDP_LOAN_QUEUED)
			sdp_loan_lapse(conn, loan, SDP_CNT_COPIED_LATE);
		else if (!loan->why)
			loan->why = SDP_CNT_COPIED_LATE;
	}
	return patience;
}

void sdp_timers_check(struct sdp_conn *conn)
{
	unsigned long now = jiffies, due, next = MAX_JIFFY_OFFSET;
	unsigned long shrink = sdp_peer_ring_shrink_due(conn);
	u32 idle = sdp_timers_idle(conn);

	if (shrink)
		next = shrink;
	conn->timers.watched = conn->tx.waiting;
	conn->timers.lease_check = conn->zsrc_async.lent;
	if (conn->zsrc_async.lent) {
		due = sdp_timers_check_leases(conn, now);
		if (!due) {
			conn->tx.done |= SDP_TX_DONE_TIMEOUT;
			return;
		}
		next = min(next, due);
	}
	/* Of what is under way nothing will be heard: its sender has failed in
	 * the middle.  So it is asked for, and its time begins.
	 */
	if (conn->timers.user_timeout && conn->tx.inflight &&
	    conn->tx.inflight == conn->tx.unsignalled) {
		conn->tx.ctl |= SDP_CTL_KEEPALIVE;
		conn->timers.progress = now;
	}
	if (conn->timers.user_timeout &&
	    (conn->tx.outstanding || !list_empty(&conn->zsrc.loans))) {
		due = conn->timers.progress + conn->timers.user_timeout;
		if (time_after_eq(now, due)) {
			conn->tx.done |= SDP_TX_DONE_TIMEOUT;
			return;
		}
		next = min(next, due - now);
	}
	/* It is for the answer to a question as well, which is behind what was sent. */
	if (conn->timers.user_timeout && conn->timers.keepalive) {
		due = conn->timers.keepalive_at;
		if (time_after(conn->timers.progress, due))
			due = conn->timers.progress;
		due += conn->timers.user_timeout;
		if (time_after_eq(now, due)) {
			conn->tx.done |= SDP_TX_DONE_TIMEOUT;
			return;
		}
		next = min(next, due - now);
	}
	if (idle && !conn->timers.keepalive) {
		due = READ_ONCE(conn->rx.heard) + idle;
		if (time_before(now, due)) {
			next = min(next, due - now);
		} else if (conn->tx.inflight > conn->tx.unsignalled) {
			/* What is under way, and will be heard of, asks too. */
			next = min_t(unsigned long, next, idle);
		} else {
			conn->tx.ctl |= SDP_CTL_KEEPALIVE;
			if (conn->timers.user_timeout)
				next = min_t(unsigned long, next,
					     conn->timers.user_timeout);
		}
	}
	if (next != MAX_JIFFY_OFFSET)
		sdp_conn_check_later(conn, next);
}

void sdp_timers_answered(struct sdp_conn *conn)
{
	bool other = sdp_timers_is_timed(conn);
	u32 idle = sdp_timers_idle(conn);

	lockdep_assert_held(&conn->lock);
	conn->timers.keepalive = false;
	WRITE_ONCE(conn->rx.heard, jiffies);
	if (idle && !conn->dead)
		sdp_conn_check_later(conn, other ? 0 : idle);
	else
		conn->timers.watched = false;
}

void sdp_timers_deaf(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->timers.deaf = true;
	/* Silence was nobody's concern before. */
	WRITE_ONCE(conn->rx.heard, jiffies);
	if (!conn->dead)
		sdp_conn_check_later(conn, 0);
	spin_unlock_bh(&conn->lock);
}

void sdp_timers_set(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout)
{
	spin_lock_bh(&conn->lock);
	/* Who asks for it now did not ask before, so it begins now. */
	if (keep_idle && !conn->timers.keep_idle)
		WRITE_ONCE(conn->rx.heard, jiffies);
	WRITE_ONCE(conn->timers.keep_idle, keep_idle);
	WRITE_ONCE(conn->timers.user_timeout, user_timeout);
	if (!conn->dead && (keep_idle || user_timeout))
		sdp_conn_check_later(conn, 0);
	spin_unlock_bh(&conn->lock);
}
