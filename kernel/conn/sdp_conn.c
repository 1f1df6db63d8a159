// SPDX-License-Identifier: GPL-2.0
/*
 * The connection object: references, state, the first error, calls up.
 *
 * Everything here is small on purpose.  The pure files decide what the protocol
 * requires, the movers above move bytes.  This file only keeps the object
 * alive, changes its state by the table (sdp_state.c), and tells the layer
 * above.
 *
 * The first error is kept in conn->err and reported upwards.  It does not end
 * the connection by itself: the event that comes with it does.
 *
 * Teardown, in the order in which it happens:
 *  1. an event leads to a state that asks for SDP_DO_FREE (both have ended
 *     it, the attempt was refused, or the device was removed);
 *  2. the transport, when it has rx.poll, clears SDP_CONN_OPEN and sets
 *     conn->dead: no completion is taken and nothing is posted after that.  It
 *     destroys the queue pair;
 *  3. the transport unmaps all buffers (those that wait for a reader stay
 *     readable) and drops its reference;
 *  4. the socket, if there is one, drops its reference at close();
 *  5. the last put frees the buffers, takes the connection off the namespace's
 *     list and uncharges its user.
 */
#include <linux/slab.h>
#include <uapi/linux/in.h>
#include <linux/sdp.h>
#include "sdp_conn.h"
#include "sdp_mem.h"
#include "sdp_trace.h"

static struct kmem_cache *sdp_conn_cache;
static struct workqueue_struct *sdp_conn_wq;
static atomic_t sdp_conn_ids = ATOMIC_INIT(0);
static atomic_t sdp_conn_live = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(sdp_conn_gone);

enum {
	/* Milliseconds that AbortConn may wait for a credit before the end. */
	SDP_ABORT_MS		= 200,
	/* The same where no end can follow: as long as an end would wait for
	 * its answer.
	 */
	SDP_ABORT_ALONE_MS	= 5000,
};

/* While the peer takes what was sent before close() it is alive, and may go on.
 * Milliseconds until fin_timeout has passed since the last progress; 0: nothing
 * to wait for, or the time is over.
 */
static unsigned int sdp_conn_delivers(const struct sdp_conn *conn)
{
	unsigned long due = sdp_timers_progress(&conn->timers) +
			    msecs_to_jiffies(READ_ONCE(conn->sn->fin_timeout));

	lockdep_assert_held(&conn->lock);
	if (conn->dead || conn->state == SDP_TIME_WAIT_1 ||
	    (!conn->tx.outstanding && !sdp_zsrc_async_bytes(&conn->zsrc_async)) ||
	    time_after_eq(jiffies, due))
		return 0;
	return jiffies_to_msecs(due - jiffies) + 1;
}

/* A timer's name, for the trace. */
static const char *sdp_conn_timer_name(const struct sdp_conn *conn,
				       const struct delayed_work *work)
{
	if (work == &conn->timer)
		return "close";
	if (work == &conn->uncork)
		return "uncork";
	return work == &conn->check ? "check" : "bounce";
}

static void sdp_conn_timer(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work),
					     struct sdp_conn, timer);
	unsigned int again;
	bool abort_late;

	trace_sdp_timer_fired(conn->id, sdp_conn_timer_name(conn, &conn->timer));
	spin_lock_bh(&conn->lock);
	abort_late = conn->tx.ctl & SDP_CTL_ABORT;
	conn->tx.ctl &= ~SDP_CTL_ABORT;
	again = sdp_conn_delivers(conn);
	spin_unlock_bh(&conn->lock);
	if (abort_late)
		conn->xp->act(conn, SDP_DO_END);
	else if (again)
		sdp_conn_start_timer(conn, again);
	else
		sdp_conn_event(conn, SDP_EV_FIN_TIMEOUT);
	sdp_conn_put(conn);
}

/* A pending work has a reference of its own to the connection. */
static void sdp_conn_cancel(struct sdp_conn *conn, struct delayed_work *work)
{
	if (!cancel_delayed_work(work))
		return;
	trace_sdp_timer_off(conn->id, sdp_conn_timer_name(conn, work));
	sdp_conn_put(conn);
}

/* Also with conn->lock held: the reference it drops is never the last. */
static void sdp_conn_delay(struct sdp_conn *conn, struct delayed_work *work,
			   unsigned long delay)
{
	trace_sdp_timer_set(conn->id, sdp_conn_timer_name(conn, work), delay);
	sdp_conn_get(conn);
	/* It was pending and has a reference already: drop the new one. */
	if (mod_delayed_work(sdp_conn_wq, work, delay))
		refcount_dec(&conn->ref);
}

/* Have the worker act on @flag; consumes the reference of @work. */
static void sdp_conn_raise(struct sdp_conn *conn, const struct delayed_work *work,
			   enum sdp_conn_flag flag)
{
	trace_sdp_timer_fired(conn->id, sdp_conn_timer_name(conn, work));
	set_bit(flag, &conn->flags);
	sdp_conn_queue_work(conn);
	sdp_conn_put(conn);
}

/**
 * sdp_conn_stop_timer() - cancel sdp_conn_start_timer()
 * @conn: the connection, referenced by the caller
 *
 * Context: process or softirq; does not wait for a timer that runs.
 */
void sdp_conn_stop_timer(struct sdp_conn *conn)
{
	sdp_conn_cancel(conn, &conn->timer);
}

/**
 * sdp_conn_start_timer() - raise SDP_EV_FIN_TIMEOUT later
 * @conn: the connection
 * @ms: milliseconds; replaces a time set before
 *
 * If an AbortConn still waits to be posted by then it is dropped, and the
 * transport is asked for the end instead.  While the peer takes what was sent
 * before close() the timer starts anew.
 *
 * Context: process or softirq.
 */
void sdp_conn_start_timer(struct sdp_conn *conn, unsigned int ms)
{
	sdp_conn_delay(conn, &conn->timer, msecs_to_jiffies(ms));
	/* Torn down in the meantime: nobody else would stop it. */
	if (READ_ONCE(conn->dead))
		sdp_conn_stop_timer(conn);
}

static void sdp_conn_uncork(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work),
					     struct sdp_conn, uncork);

	sdp_conn_raise(conn, &conn->uncork, SDP_CONN_UNCORK);
}

/* Unlike sdp_conn_delay(), keep the time of a work that is pending. */
static void sdp_conn_delay_at_most(struct sdp_conn *conn,
				   struct delayed_work *work,
				   unsigned long delay)
{
	sdp_conn_get(conn);
	if (!queue_delayed_work(sdp_conn_wq, work, delay)) {
		refcount_dec(&conn->ref);
		return;
	}
	trace_sdp_timer_set(conn->id, sdp_conn_timer_name(conn, work), delay);
}

/**
 * sdp_conn_uncork_later() - have corked bytes sent after a delay
 * @conn: the connection
 * @delay: jiffies; a time set before stays
 *
 * Context: process or softirq, also with conn->lock held.
 */
void sdp_conn_uncork_later(struct sdp_conn *conn, unsigned long delay)
{
	sdp_conn_delay_at_most(conn, &conn->uncork, delay);
}

/**
 * sdp_conn_uncork_never() - cancel sdp_conn_uncork_later()
 * @conn: the connection, referenced by the caller
 *
 * Context: process or softirq; does not wait for a timer that runs.
 */
void sdp_conn_uncork_never(struct sdp_conn *conn)
{
	sdp_conn_cancel(conn, &conn->uncork);
}

static void sdp_conn_bounce(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work),
					     struct sdp_conn, bounce);

	sdp_conn_raise(conn, &conn->bounce, SDP_CONN_BOUNCE);
}

/**
 * sdp_conn_bounce_later() - RDMA Read to a bounce buffer if no reader comes
 * @conn: the connection
 * @delay: jiffies; a time set before stays
 *
 * Context: process or softirq.
 */
void sdp_conn_bounce_later(struct sdp_conn *conn, unsigned long delay)
{
	sdp_conn_delay_at_most(conn, &conn->bounce, delay);
	/* Torn down in the meantime: nobody else would stop it. */
	if (READ_ONCE(conn->dead))
		sdp_conn_bounce_never(conn);
}

/**
 * sdp_conn_bounce_never() - cancel sdp_conn_bounce_later()
 * @conn: the connection, referenced by the caller
 *
 * Context: process or softirq; does not wait for a timer that runs.
 */
void sdp_conn_bounce_never(struct sdp_conn *conn)
{
	sdp_conn_cancel(conn, &conn->bounce);
}

static void sdp_conn_check(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(to_delayed_work(work),
					     struct sdp_conn, check);

	sdp_conn_raise(conn, &conn->check, SDP_CONN_CHECK);
}

/**
 * sdp_conn_check_later() - have sdp_check() run after a delay
 * @conn: the connection
 * @delay: jiffies; replaces a time set before
 *
 * Context: process or softirq, also with conn->lock held.
 */
void sdp_conn_check_later(struct sdp_conn *conn, unsigned long delay)
{
	sdp_conn_delay(conn, &conn->check, delay);
}

/**
 * sdp_conn_check_never() - cancel sdp_conn_check_later()
 * @conn: the connection, referenced by the caller
 *
 * Context: process or softirq; does not wait for a timer that runs.
 */
void sdp_conn_check_never(struct sdp_conn *conn)
{
	sdp_conn_cancel(conn, &conn->check);
}

/**
 * sdp_conn_alloc() - make a connection in state CLOSED
 * @xp: its transport
 * @net: its namespace; a reference is taken
 * @uid: the user to charge
 * @work: called in a worker when events came and no caller is there
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a connection with one reference, or ERR_PTR(-EUSERS) at a limit, or
 * ERR_PTR(-ENOMEM) without memory or when net.sdp.mem_max is exceeded.
 */
struct sdp_conn *sdp_conn_alloc(const struct sdp_xport *xp, struct net *net,
				kuid_t uid, work_func_t work, gfp_t gfp)
{
	struct sdp_net *sn = sdp_net(net);
	struct sdp_conn *conn;
	int err, i;

	if (sdp_mem_is_over()) {
		trace_sdp_limit(0, "mem_max", -ENOMEM);
		return ERR_PTR(-ENOMEM);
	}
	err = sdp_net_charge(sn, uid);
	if (err) {
		trace_sdp_limit(0, "max_conns or max_conns_user", err);
		return ERR_PTR(err);
	}
	conn = kmem_cache_zalloc(sdp_conn_cache, gfp);
	if (!conn) {
		trace_sdp_limit(0, "connection", -ENOMEM);
		sdp_net_uncharge(sn, uid);
		return ERR_PTR(-ENOMEM);
	}
	refcount_set(&conn->ref, 1);
	conn->id = atomic_inc_return(&sdp_conn_ids);
	conn->uid = uid;
	conn->xp = xp;
	conn->net = net;
	conn->sn = sn;
	init_waitqueue_head(&conn->wq);
	INIT_WORK(&conn->work, work);
	INIT_DELAYED_WORK(&conn->timer, sdp_conn_timer);
	INIT_DELAYED_WORK(&conn->uncork, sdp_conn_uncork);
	INIT_DELAYED_WORK(&conn->check, sdp_conn_check);
	INIT_DELAYED_WORK(&conn->bounce, sdp_conn_bounce);
	spin_lock_init(&conn->up.lock);
	spin_lock_init(&conn->lock);
	conn->zcopy = -1;
	conn->state = SDP_CLOSED;
	conn->tx.limit = READ_ONCE(sn->sndbuf_bytes);
	conn->tx.limit_least = conn->tx.limit;
	conn->tx.limit_most = conn->tx.limit;
	conn->tx.notsent_lowat = U32_MAX;
	conn->tx.rtt.at = jiffies - 1;
	INIT_LIST_HEAD(&conn->tx.queue);
	INIT_LIST_HEAD(&conn->tx.posted);
	INIT_LIST_HEAD(&conn->tx.ctl_free);
	INIT_LIST_HEAD(&conn->tx.invalidations);
	sdp_zcopy_init(&conn->zsrc, &conn->zsrc_async, &conn->zsink);
	for (i = 0; i < SDP_CTL_MSGS; i++) {
		conn->tx.ctl_msg[i].addr = conn->tx.ctl_msg[i].hdr;
		list_add_tail(&conn->tx.ctl_msg[i].node, &conn->tx.ctl_free);
	}
	sdp_mode_init(&conn->mode, 1, 1);
	mutex_init(&conn->rx.poll);
	INIT_LIST_HEAD(&conn->rx.idle);
	spin_lock_init(&conn->rx.lock);
	INIT_LIST_HEAD(&conn->rx.queue);
	INIT_LIST_HEAD(&conn->rx.all);
	INIT_LIST_HEAD(&conn->rx.ready);
	sdp_ring_init(&conn->ring);
	INIT_LIST_HEAD(&conn->accept_node);
	/* Tools may find it from here on. */
	err = xa_alloc_bh(&sn->all_conns, &conn->place, conn, xa_limit_31b,
			  gfp);
	if (err) {
		kmem_cache_free(sdp_conn_cache, conn);
		sdp_net_uncharge(sn, uid);
		return ERR_PTR(-ENOMEM);
	}
	get_net(net);
	atomic_inc(&sdp_conn_live);
	return conn;
}

/**
 * sdp_conn_own() - charge the connection's memory to the caller from now on
 * @conn: the connection, which nobody owns
 *
 * Buffers are charged to the memory cgroup of the calling process for as long
 * as the connection lives, also if a worker allocates them.  Before, a
 * connection gets no more than the listener's SO_RCVBUF allows, and that is
 * charged to nobody; see sdp_refill_owned().
 *
 * Context: process, of the user whose socket it is.
 */
void sdp_conn_own(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->payer, get_mem_cgroup_from_mm(current->mm));
	spin_lock_bh(&conn->rx.lock);
	/* Publishes payer: pairs with smp_load_acquire() in sdp_buf_make(). */
	smp_store_release(&conn->owned, true);
	spin_unlock_bh(&conn->rx.lock);
}

static void sdp_conn_free(struct rcu_head *head)
{
	kmem_cache_free(sdp_conn_cache, container_of(head, struct sdp_conn, rcu));
}

/**
 * sdp_conn_put() - drop a reference
 * @conn: the connection, or NULL
 *
 * Context: any but hard interrupt.
 */
void sdp_conn_put(struct sdp_conn *conn)
{
	if (!conn || !refcount_dec_and_test(&conn->ref))
		return;
	xa_erase_bh(&conn->sn->all_conns, conn->place);
	sdp_buf_purge(conn);
	conn->xp->release(conn);
	if (conn->payer)
		mem_cgroup_put(conn->payer);
	sdp_net_uncharge(conn->sn, conn->uid);
	put_net(conn->net);
	mutex_destroy(&conn->rx.poll);
	call_rcu(&conn->rcu, sdp_conn_free);
	if (atomic_dec_and_test(&sdp_conn_live))
		wake_up_all(&sdp_conn_gone);
}

/**
 * sdp_conn_attach() - set the layer above that is told of events
 * @conn: the connection
 * @ops: its table, or NULL for nobody
 * @upper: passed to each call
 *
 * When this returns the previous one is not called any more.
 *
 * Context: process or softirq.
 */
void sdp_conn_attach(struct sdp_conn *conn, const struct sdp_conn_ops *ops,
		     void *upper)
{
	spin_lock_bh(&conn->up.lock);
	conn->up.ops = ops;
	conn->up.upper = upper;
	spin_unlock_bh(&conn->up.lock);
}

/**
 * sdp_conn_detach_locked() - have the layer above not called any more
 * @conn: the connection
 *
 * Context: a call up, so up.lock is held.
 */
void sdp_conn_detach_locked(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->up.lock);
	conn->up.ops = NULL;
}

/**
 * sdp_conn_with_upper() - do something with the layer above, if it is of this kind
 * @conn: the connection
 * @ops: table of that kind
 * @call: called with what sdp_conn_attach() was given, under up.lock: it may
 *	only take leaf locks
 * @arg: passed to @call
 *
 * Context: process or softirq.
 */
void sdp_conn_with_upper(struct sdp_conn *conn, const struct sdp_conn_ops *ops,
			 void (*call)(void *upper, void *arg), void *arg)
{
	spin_lock_bh(&conn->up.lock);
	if (conn->up.ops == ops)
		call(conn->up.upper, arg);
	spin_unlock_bh(&conn->up.lock);
}

/**
 * sdp_conn_orphan() - note that the socket is closed
 * @conn: the connection
 *
 * What still arrives has no reader, and SrcAvails are refused.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_conn_orphan(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->tx.orphan = true;
	conn->mode.shut_rd = true;
	spin_unlock_bh(&conn->lock);
}

#define SDP_CONN_UP(conn, call) do {					\
	spin_lock_bh(&(conn)->up.lock);					\
	if ((conn)->up.ops)						\
		(conn)->up.ops->call(conn, (conn)->up.upper);		\
	spin_unlock_bh(&(conn)->up.lock);				\
	if (wq_has_sleeper(&(conn)->wq))				\
		wake_up(&(conn)->wq);					\
} while (0)

void sdp_conn_data_ready(struct sdp_conn *conn)
{
	SDP_CONN_UP(conn, data_ready);
}

void sdp_conn_write_space(struct sdp_conn *conn)
{
	SDP_CONN_UP(conn, write_space);
}

void sdp_conn_state_change(struct sdp_conn *conn)
{
	SDP_CONN_UP(conn, state_change);
}

void sdp_conn_urgent(struct sdp_conn *conn)
{
	SDP_CONN_UP(conn, urgent);
}

static void sdp_conn_await_abort(struct sdp_conn *conn)
{
	sdp_conn_start_timer(conn, sdp_timers_lost_cm(&conn->timers) ?
				   SDP_ABORT_ALONE_MS : SDP_ABORT_MS);
	sdp_conn_queue_work(conn);
}

/**
 * sdp_conn_tell_abort() - send an AbortConn where the transport cannot end it
 * @conn: the connection
 *
 * The transport is asked for the end again when the AbortConn is complete, or
 * has waited too long: SDP_ABORT_ALONE_MS if the CM lost the connection,
 * SDP_ABORT_MS otherwise.
 *
 * Context: process or softirq, no spinlock of the connection held.
 * Return: false if there is nothing to tell, or an AbortConn was posted before.
 */
bool sdp_conn_tell_abort(struct sdp_conn *conn)
{
	bool tell;

	spin_lock_bh(&conn->lock);
	/* A peer that has both DisConns, or has aborted, need not be told. */
	tell = !conn->tx.abort_posted && !conn->tx.abort_heard &&
	       !(conn->tx.fin_posted && test_bit(SDP_CONN_EOF, &conn->flags));
	if (tell)
		conn->tx.ctl |= SDP_CTL_ABORT;
	spin_unlock_bh(&conn->lock);
	if (tell)
		sdp_conn_await_abort(conn);
	return tell;
}

/* Whether the peer's end or a REJ came before our DisConn was posted: queued
 * data is lost then, so the end is not an orderly one.
 */
static bool sdp_conn_is_cut_off(const struct sdp_conn *conn,
				enum sdp_state from, enum sdp_event event)
{
	return (event == SDP_EV_END_HEARD || event == SDP_EV_REFUSED) &&
	       (from == SDP_CLOSING || from == SDP_LAST_ACK) &&
	       !conn->tx.fin_posted;
}

/* The connection is established.  So far the CM's messages are all that was
 * exchanged: they give the first round-trip time and the first progress.
 */
static void sdp_conn_begins(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	sdp_rtt_sample(&conn->tx.rtt, ktime_get_ns());
	sdp_timers_moved(&conn->timers, jiffies);
	conn->tx.sent_at = jiffies;
	WRITE_ONCE(conn->rx.data_at, jiffies);
}

/**
 * sdp_conn_event() - change the state of the connection by an event
 * @conn: the connection
 * @event: what happened
 *
 * Looks the event up in the table, changes the state, and carries out the
 * actions that the table asks for.  It posts nothing: after SDP_EV_SHUTDOWN the
 * caller runs sdp_tx_run().
 *
 * Context: process or softirq, no spinlock of the connection held.
 * Return: the actions, SDP_DO_*; 0 if there were none.
 */
unsigned int sdp_conn_event(struct sdp_conn *conn, enum sdp_event event)
{
	enum sdp_state from, to;
	unsigned int actions;

	spin_lock_bh(&conn->lock);
	from = conn->state;
	to = from;
	actions = sdp_state_next(&to, event);
	WRITE_ONCE(conn->state, to);
	if (event == SDP_EV_CONNECT || event == SDP_EV_ACCEPT)
		conn->tx.rtt.sent_ns = ktime_get_ns();
	else if (to == SDP_ESTABLISHED && from != to)
		sdp_conn_begins(conn);
	if (to == SDP_ESTABLISHED)
		set_bit(SDP_CONN_WAS_UP, &conn->flags);
	if (actions & SDP_DO_DISCONN)
		conn->tx.fin_queued = true;
	if (event == SDP_EV_ABORT_HEARD)
		conn->tx.abort_heard = true;
	if (sdp_conn_is_cut_off(conn, from, event))
		actions |= SDP_DO_RESET;
	if (actions & SDP_DO_ABORTCONN) {
		/* An AbortConn may only follow our DisConn (6.3). */
		if (conn->tx.fin_posted && !conn->dead)
			conn->tx.ctl |= SDP_CTL_ABORT;
		else
			actions &= ~SDP_DO_ABORTCONN;
	}
	if (actions & SDP_DO_RESET && !conn->err)
		conn->err = from == SDP_CLOSE_WAIT ? EPIPE : ECONNRESET;
	spin_unlock_bh(&conn->lock);
	if (from != to || actions)
		trace_sdp_state(conn->id, sdp_state_name(from),
				sdp_state_name(to), event, actions);

	if (actions & SDP_DO_RESET && event != SDP_EV_ABORT)
		sdp_count(conn->sn, SDP_CNT_RESETS, 1);
	if (actions & SDP_DO_ABORTCONN) {
		/* The worker posts the AbortConn; its completion, or the timer,
		 * leads to the end.
		 */
		actions &= ~SDP_DO_END;
		sdp_conn_await_abort(conn);
	}
	if (actions & (SDP_DO_END | SDP_DO_END_ACK | SDP_DO_FREE))
		conn->xp->act(conn, actions);
	if (actions & SDP_DO_TIMER)
		sdp_conn_start_timer(conn, READ_ONCE(conn->sn->fin_timeout));
	if (actions & SDP_DO_RESET)
		SDP_CONN_UP(conn, error);
	else if (actions & (SDP_DO_EOF | SDP_DO_WAKE) || from != to)
		sdp_conn_state_change(conn);
	return actions;
}

/**
 * sdp_conn_fail() - end a connection with an error
 * @conn: the connection
 * @err: positive errno for the user; the first one stays
 * @event: SDP_EV_ABORT if this side ends the connection, SDP_EV_LOST if the
 *	device or the queue pair does
 * @why: reason, for the trace
 *
 * May be called more than once.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_conn_fail(struct sdp_conn *conn, int err, enum sdp_event event,
		   const char *why)
{
	spin_lock_bh(&conn->lock);
	if (!conn->err)
		conn->err = err;
	spin_unlock_bh(&conn->lock);
	trace_sdp_fail(conn->id, err, why);
	/* No actions: the connection was over already. */
	if (sdp_conn_event(conn, event) && event == SDP_EV_ABORT)
		sdp_count(conn->sn, SDP_CNT_ABORTS, 1);
	SDP_CONN_UP(conn, error);
}

/**
 * sdp_conn_refuse() - end an attempt to connect
 * @conn: the connection, not yet established
 * @err: positive errno for the user
 * @reason: enum sdp_reason; SDP_REASON_NONE: the peer answered a probe by yes
 *
 * Context: process.
 */
void sdp_conn_refuse(struct sdp_conn *conn, int err, u8 reason)
{
	spin_lock_bh(&conn->lock);
	if (!conn->err) {
		conn->err = err;
		conn->reason = reason;
	}
	spin_unlock_bh(&conn->lock);
	trace_sdp_refuse(conn->id, sdp_reason_word(reason), err);
	sdp_conn_event(conn, SDP_EV_REFUSED);
	SDP_CONN_UP(conn, error);
}

/**
 * sdp_conn_queue_work() - have the worker poll
 * @conn: the connection
 *
 * Context: any, also hard interrupt.
 */
void sdp_conn_queue_work(struct sdp_conn *conn)
{
	sdp_conn_get(conn);
	/* It was pending and has a reference: drop ours, never the last. */
	if (!queue_work(sdp_conn_wq, &conn->work))
		refcount_dec(&conn->ref);
}

/**
 * sdp_conn_kick() - handle an event of a completion queue
 * @conn: the connection
 * @flag: SDP_CONN_FIRED_RECV or SDP_CONN_FIRED_SEND
 *
 * Wakes the callers, which poll in their own context, or queues the worker if
 * there is no caller.  No event is lost: this sets the flag before it looks at
 * conn->users, and sdp_conn_leave() looks at the flags after it has counted the
 * caller out.
 *
 * Context: any, also hard interrupt.
 */
void sdp_conn_kick(struct sdp_conn *conn, enum sdp_conn_flag flag)
{
	set_bit(flag, &conn->flags);
	smp_mb__after_atomic();	/* with sdp_conn_leave() */
	if (atomic_read(&conn->users)) {
		this_cpu_inc(conn->sn->counters[SDP_CNT_WAKE_CALLER]);
		wake_up(&conn->wq);
	} else {
		this_cpu_inc(conn->sn->counters[SDP_CNT_WAKE_WORKER]);
		sdp_conn_queue_work(conn);
	}
}

/**
 * sdp_conn_leave() - count a caller out
 * @conn: the connection
 *
 * The last caller leaves events that were not polled to the worker.
 *
 * Context: process.
 */
void sdp_conn_leave(struct sdp_conn *conn)
{
	/* Fully ordered: the flags are read after the count is down. */
	if (atomic_dec_return(&conn->users))
		return;
	if (READ_ONCE(conn->flags) & (BIT(SDP_CONN_FIRED_RECV) |
				      BIT(SDP_CONN_FIRED_SEND)))
		sdp_conn_queue_work(conn);
}

/**
 * sdp_conn_init() - make the cache and the workqueue
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int __init sdp_conn_init(void)
{
	sdp_conn_cache = kmem_cache_create("sdp_conn", sizeof(struct sdp_conn),
					   0, SLAB_HWCACHE_ALIGN | SLAB_ACCOUNT,
					   NULL);
	if (!sdp_conn_cache)
		return -ENOMEM;
	sdp_conn_wq = alloc_workqueue("sdp_conn", WQ_UNBOUND | WQ_HIGHPRI, 0);
	if (!sdp_conn_wq) {
		kmem_cache_destroy(sdp_conn_cache);
		return -ENOMEM;
	}
	return 0;
}

/**
 * sdp_conn_wait_all() - wait until there is no connection any more
 *
 * The caller has seen to it that no new connection is made, and has told all to
 * end.
 *
 * Context: process; sleeps.
 */
void sdp_conn_wait_all(void)
{
	wait_event(sdp_conn_gone, !atomic_read(&sdp_conn_live));
}

/**
 * sdp_conn_exit() - wait for the last connection, undo sdp_conn_init()
 *
 * All transports have ended their connections.
 *
 * Context: process; sleeps.
 */
void sdp_conn_exit(void)
{
	sdp_conn_wait_all();
	destroy_workqueue(sdp_conn_wq);
	rcu_barrier();		/* sdp_conn_free() */
	kmem_cache_destroy(sdp_conn_cache);
}
