// SPDX-License-Identifier: GPL-2.0
/*
 * The send queue: messages are queued, what may go is posted, completions are
 * reaped and acted upon.
 *
 * sdp_tx_push.c chooses what is posted next, sdp_post.c writes headers and
 * posts, sdp_ctl.c makes control messages, and sdp_tx_wc.c handles completions.
 *
 * Completions.  Most send completions only free memory, so the send queue is
 * not armed unless somebody needs the event (sdp_tx_needs_event()): a writer
 * that waits for room, a DisConn, AbortConn, keepalive or RDMA operation in
 * flight, messages that wait for a place in the send queue or of a control
 * message, or are held back, or more than SDP_TX_LINGER bytes that would
 * otherwise stay allocated on an idle connection.  Otherwise completions are
 * reaped when the next message is posted.
 *
 * A message is owned by the caller that fills it, then by tx.queue, then by
 * tx.posted and the device; then it is freed.
 *
 * Errors.  A request that cannot be posted, or completes with an error, sets
 * tx.broken: nothing is posted after it, and the connection fails.  What was
 * queued or posted is freed by sdp_tx_drop() when the queue pair is gone.
 */
#include "sdp_check.h"
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_tx_push.h"
#include "sdp_umr.h"

enum {
	SDP_TX_LINGER		= 16 * 1024,	/* bytes in flight that need an event */
	SDP_TX_REAP		= 8,		/* requests in flight at which to reap */
};

/**
 * sdp_tx_enqueue() - append a message or an RDMA Write to the send queue
 * @conn: the connection, conn->lock held
 * @msg: the request, on no list
 *
 * If the connection is dead, a message is freed instead.
 *
 * Context: process or softirq.
 */
void sdp_tx_enqueue(struct sdp_conn *conn, struct sdp_msg *msg)
{
	/* An RDMA Write takes no receive buffer of the peer and no memory of
	 * ours: it is not charged.
	 */
	if (unlikely(msg->op == SDP_OP_WRITE))
		sdp_check_begin(conn);
	else if (!sdp_sndbuf_charge(conn, msg))
		return;
	list_add_tail(&msg->node, &conn->tx.queue);
	conn->tx.oob += msg->urgent;
}

/**
 * sdp_tx_queue() - append a built Data message to the send queue
 * @conn: the connection; the caller has the socket lock
 * @msg: the message, with its payload in place; full is set if it cannot grow
 *
 * The next sdp_tx_run() posts it, as soon as credits allow.
 *
 * Context: process.
 */
void sdp_tx_queue(struct sdp_conn *conn, struct sdp_msg *msg)
{
	spin_lock_bh(&conn->lock);
	sdp_tx_enqueue(conn, msg);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_tx_take_tail() - take the last message off the send queue, to add to it
 * @conn: the connection; the caller has the socket lock
 * @frag: the page fragment from which the caller cuts messages
 *
 * The caller gives it back by sdp_tx_queue().  Nothing can overtake it in the
 * meantime, as only the holder of the socket lock queues Data or raises
 * SDP_EV_SHUTDOWN.
 *
 * Context: process.
 * Return: the message, or NULL if there is none or it has no room.
 */
struct sdp_msg *sdp_tx_take_tail(struct sdp_conn *conn,
				 const struct page_frag *frag)
{
	struct sdp_msg *msg = NULL;

	if (list_empty_careful(&conn->tx.queue))
		return NULL;
	spin_lock_bh(&conn->lock);
	if (!list_empty(&conn->tx.queue)) {
		msg = list_last_entry(&conn->tx.queue, struct sdp_msg, node);
		if (sdp_msg_room(conn, frag, msg)) {
			list_del_init(&msg->node);
			sdp_cork_taken_back(&conn->cork);
		} else {
			msg = NULL;
		}
	}
	spin_unlock_bh(&conn->lock);
	return msg;
}

static bool sdp_tx_may_post(const struct sdp_conn *conn)
{
	return conn->queues && conn->state >= SDP_ESTABLISHED &&
	       conn->state <= SDP_TIME_WAIT_1;
}

/* Whether somebody needs the event of the next send completion. */
static bool sdp_tx_needs_event(const struct sdp_conn *conn)
{
	if (!conn->tx.inflight)
		return false;
	return conn->tx.want_space || sdp_cork_is_held(&conn->cork) ||
	       sdp_timers_asks(&conn->timers) || sdp_post_waits(&conn->post_wait) ||
	       conn->tx.fin_posted || conn->tx.watched_ops ||
	       conn->tx.abort_posted ||
	       conn->tx.inflight_bytes > SDP_TX_LINGER ||
	       list_empty(&conn->tx.ctl_free);
}

/* Reap completions, post what may go, and arm the send queue if needed.
 * @reap: in any case; else only if an event came, or much is in flight.
 */
static void __sdp_tx_run(struct sdp_conn *conn, bool reap)
{
	lockdep_assert_held(&conn->lock);
	if (test_and_clear_bit(SDP_CONN_UNCORK, &conn->flags))
		sdp_tx_uncork(conn);
	/* The event that we armed for has come: there is something to reap. */
	if (test_and_clear_bit(SDP_CONN_FIRED_SEND, &conn->flags)) {
		conn->tx.armed = false;
		reap = true;
		conn->tx.fired = true;
	}
	if (unlikely(test_and_clear_bit(SDP_CONN_CHECK, &conn->flags))) {
		conn->xp->poll_send(conn);
		if (sdp_tx_may_post(conn))
			sdp_check(conn, sdp_tx_push_check(conn));
	}
	for (;;) {
		if (reap || conn->tx.inflight >= SDP_TX_REAP)
			conn->xp->poll_send(conn);
		conn->tx.fired = false;
		sdp_post_wait_begin(&conn->post_wait);
		if (sdp_tx_may_post(conn))
			while ((likely(conn->tx.inflight < conn->tx.sq_requests) ||
				sdp_post_can(conn, SDP_OP_ANY)) &&
			       sdp_tx_push_one(conn))
				;
		/* Something waits for completions, which may be there: reap. */
		if ((sdp_cork_is_held(&conn->cork) || sdp_post_waits(&conn->post_wait)) && !reap) {
			reap = true;
			continue;
		}
		if (!sdp_tx_needs_event(conn))
			return;
		/* Somebody waits for a completion, but nothing in flight is
		 * signalled: its sender meant to send more, and cannot.  Post a
		 * request that is signalled.
		 */
		if ((conn->tx.want_space || sdp_cork_is_held(&conn->cork)) &&
		    unlikely(conn->tx.inflight == conn->tx.unsignalled) &&
		    sdp_tx_may_post(conn) && !conn->tx.broken)
			sdp_post_nothing(conn);
		if (conn->tx.armed)
			return;
		conn->tx.armed = true;
		if (!conn->xp->arm_send(conn))
			return;
		conn->tx.armed = false;
		reap = true;
	}
}

/* Act on @done, bits of enum sdp_tx_done, without conn->lock. */
static void sdp_tx_settle(struct sdp_conn *conn, u8 done)
{
	if (done & SDP_TX_DONE_LOST) {
		bool timed_out = READ_ONCE(conn->tx.timed_out);

		if (timed_out)
			sdp_count(conn->sn, SDP_CNT_TIMEOUTS, 1);
		sdp_conn_fail(conn, timed_out ? ETIMEDOUT : ECONNRESET,
			      SDP_EV_LOST, "send");
	}
	if (done & SDP_TX_DONE_TIMEOUT) {
		sdp_count(conn->sn, SDP_CNT_TIMEOUTS, 1);
		sdp_conn_fail(conn, ETIMEDOUT, SDP_EV_ABORT, "user timeout");
	}
	if (done & SDP_TX_DONE_FIN) {
		sdp_conn_event(conn, SDP_EV_FIN_SENT);
		/* All data is delivered: the peer's time to close begins. */
		if (READ_ONCE(conn->tx.orphan) &&
		    sdp_conn_state(conn) == SDP_FIN_WAIT_2)
			sdp_conn_start_timer(conn, READ_ONCE(conn->sn->fin_timeout));
	}
	if (done & SDP_TX_DONE_ABORT) {
		sdp_conn_stop_timer(conn);
		conn->xp->act(conn, SDP_DO_END);
	}
	if (done & SDP_TX_DONE_SPACE)
		sdp_conn_write_space(conn);
	/* The worker unpins async memory, and copies what the peer refused. */
	if (unlikely(done & SDP_TX_DONE_UMR && sdp_zsrc_async_bytes(&conn->zsrc_async)))
		sdp_conn_queue_work(conn);
	if (done & SDP_TX_DONE_READ)
		sdp_conn_data_ready(conn);
	else if (done & SDP_TX_DONE_UMR && wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

/* Take tx.done; adds SDP_TX_DONE_SPACE if a writer waits and there is room. */
static u8 sdp_tx_take_done(struct sdp_conn *conn)
{
	u8 done = conn->tx.done;

	if (conn->tx.want_space && !sdp_sndbuf_writable(conn))
		sdp_sndbuf_grow(conn);
	if (conn->tx.want_space && sdp_sndbuf_writable(conn)) {
		conn->tx.want_space = false;
		done |= SDP_TX_DONE_SPACE;
	}
	conn->tx.done = 0;
	return done;
}

/*
 * The only way to the device's send queue, whether to post, to reap, or to
 * look.  Without queues it does nothing.  A request that comes before there are
 * queues, maybe by a late event of a pooled completion queue, stays in
 * conn->flags.
 */
static u8 sdp_tx_try(struct sdp_conn *conn, bool reap)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->queues)
		return 0;
	__sdp_tx_run(conn, reap);
	return sdp_tx_take_done(conn);
}

static void sdp_tx_go(struct sdp_conn *conn, bool reap)
{
	u8 done;

	spin_lock_bh(&conn->lock);
	done = sdp_tx_try(conn, reap);
	spin_unlock_bh(&conn->lock);
	if (done)
		sdp_tx_settle(conn, done);
}

/**
 * sdp_tx_run() - reap completions, post what may go, act on completions
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_tx_run(struct sdp_conn *conn)
{
	sdp_tx_go(conn, false);
}

/**
 * sdp_tx_reap() - sdp_tx_run(), but reap completions in any case
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_tx_reap(struct sdp_conn *conn)
{
	sdp_tx_go(conn, true);
}

/**
 * sdp_tx_set_delay() - set what may be held back
 * @conn: the connection; the caller has the socket lock
 * @delay: bits of enum sdp_cork_delay
 *
 * Takes effect with the next sdp_tx_run(); posts nothing itself.
 *
 * Context: process, no spinlock of the connection held.
 */
void sdp_tx_set_delay(struct sdp_conn *conn, u8 delay)
{
	if (sdp_cork_delay(&conn->cork) == delay)
		return;
	trace_sdp_delay(conn->id, sdp_cork_delay(&conn->cork), delay);
	if (!(delay & SDP_DELAY_CORK))
		sdp_conn_uncork_never(conn);
	spin_lock_bh(&conn->lock);
	clear_bit(SDP_CONN_UNCORK, &conn->flags);
	sdp_cork_set_delay(&conn->cork, delay);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_tx_want_space() - have write_space() called when there is room
 * @conn: the connection
 *
 * Context: process, no spinlock of the connection held.
 * Return: true if there is room already, or the connection is dead; nothing is
 * called later then.
 */
bool sdp_tx_want_space(struct sdp_conn *conn)
{
	bool room, others;
	u8 done;

	spin_lock_bh(&conn->lock);
	others = conn->tx.want_space;
	if (!conn->dead)
		conn->tx.want_space = true;
	done = sdp_tx_try(conn, true);
	room = conn->dead || !conn->tx.want_space;
	spin_unlock_bh(&conn->lock);
	/* The caller sees the room by our result; a writer that asked before
	 * sleeps and has to be woken.
	 */
	sdp_tx_settle(conn, others ? done : done & ~SDP_TX_DONE_SPACE);
	return room;
}

/**
 * sdp_tx_drop() - free all that was queued or posted
 * @conn: the connection; conn->dead is set and its queue pair is destroyed
 *
 * Deregisters the user memory of calls in progress as well: they find it IDLE
 * after that.
 *
 * Context: process.
 */
void sdp_tx_drop(struct sdp_conn *conn)
{
	struct sdp_msg *msg, *next;
	LIST_HEAD(drop);

	sdp_conn_uncork_never(conn);
	sdp_conn_check_never(conn);
	sdp_conn_bounce_never(conn);
	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->tx.posted, &drop);
	list_splice_tail_init(&conn->tx.queue, &drop);
	sdp_zsink_take_reads(&conn->zsink, &drop);
	list_splice_tail_init(&conn->tx.invalidations, &drop);
	conn->tx.inflight = 0;
	conn->tx.inflight_bytes = 0;
	conn->tx.rtt.timed = NULL;
	conn->tx.watched_ops = 0;
	list_for_each_entry_safe(msg, next, &drop, node) {
		list_del_init(&msg->node);
		conn->tx.outstanding -= msg->charged;
		sdp_msg_free(conn, msg);
	}
	/* Callers leave registrations on these lists until they are IDLE. */
	sdp_umr_hold(sdp_zsrc_umrs(&conn->zsrc));
	sdp_umr_hold(sdp_zsink_read_umrs(&conn->zsink));
	sdp_umr_hold(sdp_zsink_avail_umrs(&conn->zsink));
	spin_unlock_bh(&conn->lock);
	sdp_umr_drop(conn, sdp_zsrc_umrs(&conn->zsrc));
	sdp_umr_drop(conn, sdp_zsink_read_umrs(&conn->zsink));
	sdp_umr_drop(conn, sdp_zsink_avail_umrs(&conn->zsink));
	if (sdp_zsrc_async_bytes(&conn->zsrc_async))
		sdp_conn_queue_work(conn);
	sdp_conn_write_space(conn);
}
