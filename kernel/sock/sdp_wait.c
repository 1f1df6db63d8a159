// SPDX-License-Identifier: GPL-2.0
/*
 * How a caller sleeps in send() or recv().
 *
 * The caller sleeps on conn->wq, and polls the completion queues in its own
 * context when an event wakes it: so a ping-pong costs one wake-up per message,
 * as it does a verbs program.  The socket lock is released meanwhile.  Signals
 * and time-outs end a sleep as they end TCP's; but no caller leaves while a
 * device may access its memory.
 */
#include <linux/sched/signal.h>
#include "sdp_busy_poll.h"
#include "sdp_check.h"
#include "sdp_rx.h"
#include "sdp_sk_conn.h"
#include "sdp_tx.h"
#include "sdp_wait.h"

/**
 * sdp_wait_event() - sleep until something happened on the connection
 * @sk: locked; released while asleep
 * @conn: its connection, entered
 * @wait: the caller's entry on conn->wq, with woken_wake_function(); the caller
 *	has looked at what it waits for since the entry was added
 * @timeo: jiffies at most; what has gone by is taken off
 *
 * Context: process.
 * Return: 0: look again; -EAGAIN: the time is over; -EINTR or -ERESTARTSYS.
 */
int sdp_wait_event(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, long *timeo)
{
	unsigned int busy = sdp_busy_poll_asked(sk);

	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	release_sock(sk);
	*timeo = sdp_busy_poll_sleep(conn, wait, *timeo, busy);
	lock_sock(sk);
	return 0;
}

/**
 * sdp_wait_until() - sdp_wait_event(), with a time to do something else
 * @sk: locked; released while asleep
 * @conn: its connection, entered
 * @wait: the caller's entry on conn->wq, as for sdp_wait_event()
 * @until: jiffies when the caller has to act, as to cancel what it advertises
 * @timeo: jiffies at most; what has gone by is taken off
 *
 * Context: process.
 * Return: 0: look again; -ETIME: it is @until; -EAGAIN: the time is over;
 * -EINTR or -ERESTARTSYS.
 */
int sdp_wait_until(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, unsigned long until, long *timeo)
{
	long nap = min_t(long, until - jiffies, *timeo), left;

	if (nap <= 0)
		return *timeo ? -ETIME : -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	release_sock(sk);
	left = sdp_busy_poll_sleep(conn, wait, nap, sdp_busy_poll_asked(sk));
	lock_sock(sk);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= nap - left;
	return 0;
}

/**
 * sdp_wait_memory() - give others time to free memory
 * @sk: locked; released while asleep
 * @timeo: jiffies at most; what has gone by is taken off
 *
 * TCP does not fail when memory is short, it waits; so do we.
 *
 * Context: process.
 * Return: as sdp_wait_event().
 */
int sdp_wait_memory(struct sock *sk, long *timeo)
{
	long nap = min_t(long, *timeo, HZ / 50 + 1);

	if (!nap)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= nap;
	release_sock(sk);
	schedule_timeout_interruptible(nap);
	lock_sock(sk);
	return 0;
}

/* SDP_CHECK_CANCEL of a caller that is being killed. */
enum { SDP_WAIT_KILLED = 5 * HZ };

/**
 * sdp_wait_cancelled() - sleep until cancelled memory may be the caller's again
 * @sk: locked; released while asleep
 * @conn: its connection, entered
 * @wait: the caller's entry on conn->wq
 * @since: jiffies of the last news of that memory
 *
 * After too long a time there is only one other way to get it: to end the
 * connection.  No signal ends the sleep, since memory that a device may access
 * is not the caller's.
 *
 * Context: process.
 */
void sdp_wait_cancelled(struct sock *sk, struct sdp_conn *conn,
			wait_queue_entry_t *wait, unsigned long since)
{
	unsigned long limit = fatal_signal_pending(current) ? SDP_WAIT_KILLED :
							      SDP_CHECK_CANCEL;

	if (time_after(jiffies, since + limit) && !sdp_conn_err(conn))
		sdp_conn_fail(conn, ETIMEDOUT, SDP_EV_ABORT, "cancel");
	release_sock(sk);
	wait_woken(wait, TASK_UNINTERRUPTIBLE, HZ);
	lock_sock(sk);
}

/* The time asleep is no part of what a send costs; NULL: nobody measures that. */
static void sdp_wait_sleeps(u64 *slept)
{
	if (unlikely(slept))
		*slept -= ktime_get_ns();
}

static void sdp_wait_wakes(u64 *slept)
{
	if (unlikely(slept))
		*slept += ktime_get_ns();
}

/**
 * sdp_wait_space() - sleep until there is room for more to be sent
 * @sk: locked; released while asleep
 * @conn: its connection, entered
 * @timeo: jiffies at most; what has gone by is taken off
 * @slept: ns that the time asleep is added to; or NULL
 *
 * Context: process.
 * Return: 0: there is room, or sending is an error; or as sdp_wait_event().
 */
int sdp_wait_space(struct sock *sk, struct sdp_conn *conn, long *timeo, u64 *slept)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	/* For a poller after EAGAIN.  Set before the look, or a wake-up is
	 * missed.
	 */
	if (!*timeo) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	}
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		/* Credits come with what the peer sends. */
		sdp_rx_poll(conn);
		if (sdp_sk_conn_cannot_send(sk, conn) || sdp_tx_want_space(conn))
			break;
		sdp_wait_sleeps(slept);
		err = sdp_wait_event(sk, conn, &wait, timeo);
		sdp_wait_wakes(slept);
		if (err)
			break;
	}
	remove_wait_queue(&conn->wq, &wait);
	return err;
}

static int sdp_wait_zcopy_sleep(struct sdp_zsrc_call *call, unsigned long until)
{
	struct sdp_wait_zcopy *w = container_of(call, struct sdp_wait_zcopy, call);
	int err;

	if (sdp_sk_conn_cannot_send(w->sk, w->conn))
		return -EPIPE;
	sdp_wait_sleeps(w->slept);
	err = sdp_wait_until(w->sk, w->conn, call->wait, until, w->timeo);
	sdp_wait_wakes(w->slept);
	return err;
}

static void sdp_wait_zcopy_cancelled(struct sdp_zsrc_call *call, unsigned long since)
{
	struct sdp_wait_zcopy *w = container_of(call, struct sdp_wait_zcopy, call);

	sdp_wait_sleeps(w->slept);
	sdp_wait_cancelled(w->sk, w->conn, call->wait, since);
	sdp_wait_wakes(w->slept);
}

const struct sdp_zsrc_wait_ops sdp_wait_zcopy_ops = {
	.poll			= sdp_rx_poll,
	.sleep			= sdp_wait_zcopy_sleep,
	.sleep_cancelled	= sdp_wait_zcopy_cancelled,
};
