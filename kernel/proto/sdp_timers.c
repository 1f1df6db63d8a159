// SPDX-License-Identifier: GPL-2.0
/*
 * The timers of an established connection: what is due; see sdp_timers.h.
 *
 * One check serves all timers.  It is set for the timer that is due first, and
 * each check says when the next one is.  It is not moved when data flows, so it
 * costs a busy connection nothing.  If another timer starts while a check is
 * set, the two times are not compared: a check is made at once, and says when
 * the next one is.
 */
#include "sdp_timers.h"

static bool sdp_timers_after(unsigned long a, unsigned long b)
{
	return (long)(b - a) < 0;
}

static unsigned long sdp_timers_min(unsigned long a, unsigned long b)
{
	return a < b ? a : b;
}

/* Jiffies of silence until a keepalive; 0: none is sent. */
static u32 sdp_timers_idle(const struct sdp_timers *timers, bool starved, bool last_ack)
{
	u32 idle = timers->keep_idle;

	/* Both DisConns were posted: the peer may go, and will not tell. */
	if (timers->cm_lost && last_ack)
		return 0;
	if (starved && (!idle || idle > SDP_TIMERS_STARVED))
		idle = SDP_TIMERS_STARVED;
	if (timers->cm_lost && (!idle || idle > SDP_TIMERS_LOST))
		idle = SDP_TIMERS_LOST;
	return idle;
}

/* Whether a check may be set for another reason than keepalive. */
static bool sdp_timers_others(const struct sdp_timers *timers, bool others)
{
	return timers->user_timeout || others || timers->async || timers->cm_lost;
}

/* Whether the user timeout has passed since @since; if not, limits @next. */
static bool sdp_timers_overdue(const struct sdp_timers *timers, unsigned long since,
			       unsigned long now, unsigned long *next)
{
	unsigned long due = since + timers->user_timeout;

	if (!sdp_timers_after(due, now))
		return true;
	*next = sdp_timers_min(*next, due - now);
	return false;
}

/**
 * sdp_timers_check() - check whether it is time to give up, or for a keepalive
 * @timers: the timers; changed
 * @now: the state of the connection
 *
 * Context: any; pure.
 * Return: what is to be done; with give_up there is no next check.
 */
struct sdp_timers_due sdp_timers_check(struct sdp_timers *timers,
				       const struct sdp_timers_now *now)
{
	struct sdp_timers_due due = { .next = SDP_TIMERS_NEVER };
	u32 idle = sdp_timers_idle(timers, now->starved, now->last_ack);
	unsigned long since;

	timers->watched = now->starved;
	timers->async = now->async;
	/* Nothing in flight is signalled, because its sender failed halfway: no
	 * completion will come.  Ask the peer's device, whose answer retires it
	 * as well, and let the time begin now.
	 */
	if (timers->user_timeout && now->inflight && !now->signalled) {
		due.ask = true;
		timers->progress = now->now;
	}
	if (timers->user_timeout && now->outstanding)
		due.give_up = sdp_timers_overdue(timers, timers->progress, now->now,
						 &due.next);
	/* The user timeout holds for the answer to a keepalive, too.  That
	 * comes behind the completion of what was sent, so progress counts as
	 * well.
	 */
	if (timers->user_timeout && timers->keepalive && !due.give_up) {
		since = timers->keepalive_at;
		if (sdp_timers_after(timers->progress, since))
			since = timers->progress;
		due.give_up = sdp_timers_overdue(timers, since, now->now, &due.next);
	}
	if (due.give_up) {
		due.ask = false;
		due.next = SDP_TIMERS_NEVER;
		return due;
	}
	if (!idle || timers->keepalive)
		return due;
	since = now->heard + idle;
	if (sdp_timers_after(since, now->now)) {
		due.next = sdp_timers_min(due.next, since - now->now);
	} else if (now->signalled) {
		/* What is in flight and signalled is as good as a keepalive. */
		due.next = sdp_timers_min(due.next, idle);
	} else {
		due.ask = true;
		if (timers->user_timeout)
			due.next = sdp_timers_min(due.next, timers->user_timeout);
	}
	return due;
}

/**
 * sdp_timers_begin() - start the user timeout: something is outstanding now
 * @timers: the timers; changed
 * @now: jiffies; the time for progress begins
 *
 * Called when something is queued or advertised, and nothing was before.
 *
 * Context: any; pure.
 * Return: jiffies until the next check; 0: check now, as another one is set;
 * SDP_TIMERS_NEVER: there is no user timeout.
 */
unsigned long sdp_timers_begin(struct sdp_timers *timers, unsigned long now)
{
	timers->progress = now;
	if (!timers->user_timeout)
		return SDP_TIMERS_NEVER;
	/* The check for async memory may be due before: check now. */
	return timers->async ? 0 : timers->user_timeout;
}

/**
 * sdp_timers_starve() - start keepalives: a message waits for credits
 * @timers: the timers; changed
 * @others: there are reasons to check besides these timers
 * @silence: set to true if nobody watched the silence before: it begins now
 *
 * A sender that waits with nothing in flight would never notice that the peer
 * is gone, if the word of that was lost.  TCP probes a closed window for this.
 *
 * Context: any; pure.
 * Return: jiffies until the next check; 0: check now, as another one may be
 * set; SDP_TIMERS_NEVER: a check is set for this already.
 */
unsigned long sdp_timers_starve(struct sdp_timers *timers, bool others, bool *silence)
{
	*silence = false;
	if (timers->watched)
		return SDP_TIMERS_NEVER;
	timers->watched = true;
	*silence = !timers->keep_idle && !timers->cm_lost;
	return timers->keep_idle || sdp_timers_others(timers, others) ?
	       0 : SDP_TIMERS_STARVED;
}

/**
 * sdp_timers_async() - watch memory that stays advertised after a call
 * @timers: the timers; changed
 * @others: there are reasons to check besides these timers
 * @patience: jiffies that it may stay advertised without progress
 *
 * Context: any; pure.
 * Return: jiffies until the next check; 0: check now, as another one may be
 * set; SDP_TIMERS_NEVER: a check is set for this already.
 */
unsigned long sdp_timers_async(struct sdp_timers *timers, bool others,
			       unsigned long patience)
{
	if (timers->async)
		return SDP_TIMERS_NEVER;
	others = timers->keep_idle || timers->watched ||
		 sdp_timers_others(timers, others);
	timers->async = true;
	return others ? 0 : patience;
}

/**
 * sdp_timers_answered() - note that the peer's device has answered a keepalive
 * @timers: the timers; changed
 * @now: the state of the connection
 *
 * Context: any; pure.
 * Return: jiffies until the next check; 0: check now, as another one may be
 * set; SDP_TIMERS_NEVER: no keepalive is needed any more.
 */
unsigned long sdp_timers_answered(struct sdp_timers *timers,
				  const struct sdp_timers_now *now)
{
	u32 idle = sdp_timers_idle(timers, now->starved, now->last_ack);

	timers->keepalive = false;
	if (idle)
		return sdp_timers_others(timers, now->others) ? 0 : idle;
	timers->watched = false;
	return SDP_TIMERS_NEVER;
}

/**
 * sdp_timers_set() - set the user's timers
 * @timers: the timers; changed
 * @keep_idle: jiffies of silence until a keepalive; 0: none
 * @user_timeout: jiffies without progress until giving up; 0: never
 *
 * Context: any; pure.
 * Return: true if keepalives were off before: the silence begins now.
 */
bool sdp_timers_set(struct sdp_timers *timers, u32 keep_idle, u32 user_timeout)
{
	bool begins = keep_idle && !timers->keep_idle;

	WRITE_ONCE(timers->keep_idle, keep_idle);
	WRITE_ONCE(timers->user_timeout, user_timeout);
	return begins;
}
