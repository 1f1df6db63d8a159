// SPDX-License-Identifier: GPL-2.0
/*
 * Busy polling before a caller sleeps.
 *
 * A caller that waits for a message which is a few microseconds away loses more
 * by going to sleep than by waiting.  So it polls first, as KVM polls for a
 * processor that halts, and by the same rules: only while its own processor has
 * nothing else to run, and only as long as that has paid.
 *
 * How long to poll is learnt from sleeping, not from polling in vain.  A sleep
 * that ended within net.sdp.poll_usec would have been worth polling for, and
 * the time grows.  A longer one would not, and the time shrinks to nothing.  So
 * a connection that carries a message now and then never polls.
 *
 * With one processor polling is never worth while: the program that is to
 * answer needs it, and so does the device if it is made of software.
 *
 * SO_BUSY_POLL is the user's wish, not a guess: then each wait polls for that
 * time.
 */
#include <linux/cpumask.h>
#include <linux/ktime.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include "sdp_busy_poll.h"
#include "sdp_rx.h"
#include "sdp_trace.h"

/* Nanoseconds that are polled first, when sleeps have become short. */
enum { SDP_BUSY_POLL_START = 10 * NSEC_PER_USEC };

/**
 * sdp_busy_poll_max() - how long a wait may poll at most
 * @sn: the namespace
 * @asked: microseconds that the user asked for (SO_BUSY_POLL), or 0
 *
 * Context: any.
 * Return: ns; 0: it is to sleep at once.
 */
u32 sdp_busy_poll_max(const struct sdp_net *sn, unsigned int asked)
{
	u32 max = asked ?: READ_ONCE(sn->poll_usec);

	if (!max || (!asked && num_online_cpus() == 1))
		return 0;
	return min_t(u32, max, SDP_BUSY_POLL_MAX_USEC) * NSEC_PER_USEC;
}

static bool sdp_busy_poll_loop(bool (*look)(void *arg), void *arg, u64 end)
{
	do {
		if (look(arg))
			return true;
		if (signal_pending(current) || need_resched() ||
		    !single_task_running())
			return false;
		cpu_relax();
	} while (ktime_get_ns() < end);
	return false;
}

/**
 * sdp_busy_poll() - poll until there is something
 * @sn: the namespace, for its counters
 * @id: id of the connection, for the trace; or 0
 * @end: ktime_get_ns() when to give up
 * @ns: how long that is, for the trace
 * @look: whether there is something; does not sleep
 * @arg: its argument
 *
 * Context: process.
 * Return: false if there is nothing by then, or the processor has other work.
 */
bool sdp_busy_poll(struct sdp_net *sn, u32 id, u64 end, u32 ns,
		   bool (*look)(void *arg), void *arg)
{
	bool hit = sdp_busy_poll_loop(look, arg, end);

	trace_sdp_busy_poll(id, hit ? "hit" : "miss", ns);
	sdp_count(sn, hit ? SDP_CNT_POLL_HIT : SDP_CNT_POLL_MISS, 1);
	return hit;
}

/**
 * sdp_busy_poll_learn() - learn from a wait how long to poll
 * @ns: how long to poll, changed
 * @slept: ns that the wait took, polling and sleeping
 * @max: ns that are worth polling for
 *
 * Context: any; several may learn at a time.
 */
void sdp_busy_poll_learn(u32 *ns, u64 slept, u32 max)
{
	u32 now = READ_ONCE(*ns);

	if (slept > max)
		now = now / 2 < SDP_BUSY_POLL_START ? 0 : now / 2;
	else if (slept > now)
		now = max_t(u32, now * 2, SDP_BUSY_POLL_START);
	WRITE_ONCE(*ns, min(now, max));
}

/* A caller that waits for its connection. */
struct sdp_busy_poll_conn {
	struct sdp_conn *conn;
	const wait_queue_entry_t *wait;
};

static bool sdp_busy_poll_look(void *arg)
{
	struct sdp_busy_poll_conn *poll = arg;

	return READ_ONCE(poll->wait->flags) & WQ_FLAG_WOKEN || sdp_rx_look(poll->conn);
}

/**
 * sdp_busy_poll_sleep() - wait until something happens on a connection
 * @conn: the connection, entered
 * @wait: the caller's entry on conn->wq, with woken_wake_function(); the caller
 *	has checked its condition since it queued the entry
 * @timeo: jiffies to wait at most, not 0; the time spent polling is not
 *	deducted
 * @asked: microseconds to poll that the user asked for (SO_BUSY_POLL), or 0
 *
 * Context: process, no lock held.
 * Return: jiffies that are left; 0 if the time is over.  A signal ends it too.
 */
long sdp_busy_poll_sleep(struct sdp_conn *conn, wait_queue_entry_t *wait, long timeo,
			 unsigned int asked)
{
	struct sdp_busy_poll_conn poll = { .conn = conn, .wait = wait };
	u32 max = sdp_busy_poll_max(conn->sn, asked), window;
	u64 began;
	bool hit;

	if (!max)
		return wait_woken(wait, TASK_INTERRUPTIBLE, timeo);
	window = asked ? max : min(READ_ONCE(conn->spin_ns), max);
	began = ktime_get_ns();
	if (window) {
		hit = sdp_busy_poll(conn->sn, conn->id, began + window, window,
				    sdp_busy_poll_look, &poll);
		/* If the caller was woken, wait_woken() must consume that. */
		if (hit && !(READ_ONCE(wait->flags) & WQ_FLAG_WOKEN))
			return timeo;
	}
	timeo = wait_woken(wait, TASK_INTERRUPTIBLE, timeo);
	if (!asked)
		sdp_busy_poll_learn(&conn->spin_ns, ktime_get_ns() - began, max);
	return timeo;
}
