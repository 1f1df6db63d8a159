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

static bool sdp_busy_poll(struct sdp_conn *conn, const wait_queue_entry_t *wait,
			  u64 end)
{
	do {
		if (READ_ONCE(wait->flags) & WQ_FLAG_WOKEN || sdp_rx_look(conn))
			return true;
		if (signal_pending(current) || need_resched() ||
		    !single_task_running())
			return false;
		cpu_relax();
	} while (ktime_get_ns() < end);
	return false;
}

/* Learn from a wait of @slept ns, where up to @max ns are worth polling for. */
static void sdp_busy_poll_learn(struct sdp_conn *conn, u64 slept, u32 max)
{
	u32 now = READ_ONCE(conn->spin_ns);

	if (slept > max)
		now = now / 2 < SDP_BUSY_POLL_START ? 0 : now / 2;
	else if (slept > now)
		now = max_t(u32, now * 2, SDP_BUSY_POLL_START);
	WRITE_ONCE(conn->spin_ns, min(now, max));
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
	u32 max = asked ?: READ_ONCE(conn->sn->poll_usec);
	u32 window;
	u64 began;
	bool hit;

	if (!max || (!asked && num_online_cpus() == 1))
		return wait_woken(wait, TASK_INTERRUPTIBLE, timeo);
	max = min_t(u32, max, SDP_BUSY_POLL_MAX_USEC) * NSEC_PER_USEC;
	window = asked ? max : min(READ_ONCE(conn->spin_ns), max);
	began = ktime_get_ns();
	if (window) {
		hit = sdp_busy_poll(conn, wait, began + window);
		trace_sdp_busy_poll(conn->id, hit ? "hit" : "miss", window);
		sdp_count(conn->sn, hit ? SDP_CNT_POLL_HIT : SDP_CNT_POLL_MISS, 1);
		/* If the caller was woken, wait_woken() must consume that. */
		if (hit && !(READ_ONCE(wait->flags) & WQ_FLAG_WOKEN))
			return timeo;
	}
	timeo = wait_woken(wait, TASK_INTERRUPTIBLE, timeo);
	if (!asked)
		sdp_busy_poll_learn(conn, ktime_get_ns() - began, max);
	return timeo;
}
