// SPDX-License-Identifier: GPL-2.0
/*
 * The timers of an established connection: what is due?  See sdp_timers.h.
 *
 * One look serves all timers.  It is set for the first that is due, and each look
 * says when the next one is; nobody moves it when data flows, so it costs a busy
 * connection nothing.  A time that is set while a look is to come already is not
 * compared with it: the look comes at once, and says when the next is.
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

/* Jiffies of silence after which the peer is asked; 0: it never is. */
static u32 sdp_timers_idle(const struct sdp_timers *timers, bool starved, bool last_ack)
{
	u32 idle = timers->keep_idle;

	/* Both have said all, and the peer may go: it will not tell. */
	if (timers->cm_lost && last_ack)
		return 0;
	if (starved && (!idle || idle > SDP_TIMERS_STARVED))
		idle = SDP_TIMERS_STARVED;
	if (timers->cm_lost && (!idle || idle > SDP_TIMERS_LOST))
		idle = SDP_TIMERS_LOST;
	return idle;
}

/* Are there reasons to look, besides a silence that the user cares about? */
static bool sdp_timers_others(const struct sdp_timers *timers, bool others)
{
	return timers->user_timeout || others || timers->async || timers->cm_lost;
}

/* Since when nothing has moved, or been answered; when that is too long ago. */
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
 * sdp_timers_check() - is it time to give up, or to ask?
 * @timers: the timers; changed
 * @now: what the connection is like
 *
 * Context: any; pure.
 * Return: what is to be done; where it is to give up there is no next look.
 */
struct sdp_timers_due sdp_timers_check(struct sdp_timers *timers,
				       const struct sdp_timers_now *now)
{
	struct sdp_timers_due due = { .next = SDP_TIMERS_NEVER };
	u32 idle = sdp_timers_idle(timers, now->starved, now->last_ack);
	unsigned long since;

	timers->watched = now->starved;
	timers->async = now->async;
	/* Of what is under way nothing will be heard: its sender has failed in
	 * the middle.  So it is asked for, and its time begins.
	 */
	if (timers->user_timeout && now->inflight && !now->signalled) {
		due.ask = true;
		timers->progress = now->now;
	}
	if (timers->user_timeout && now->outstanding)
		due.give_up = sdp_timers_overdue(timers, timers->progress, now->now,
						 &due.next);
	/* It is for the answer to a question too, which is behind what was sent. */
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
		/* What is under way, and will be heard of, asks too. */
		due.next = sdp_timers_min(due.next, idle);
	} else {
		due.ask = true;
		if (timers->user_timeout)
			due.next = sdp_timers_min(due.next, timers->user_timeout);
	}
	return due;
}

/**
 * sdp_timers_begin() - something is queued or advertised, and nothing was before
 * @timers: the timers; changed
 * @now: the time: that for progress begins
 *
 * Context: any; pure.
 * Return: jiffies until the next look; 0: now, as one was to come before that;
 * SDP_TIMERS_NEVER: nobody limits the time for progress.
 */
unsigned long sdp_timers_begin(struct sdp_timers *timers, unsigned long now)
{
	timers->progress = now;
	if (!timers->user_timeout)
		return SDP_TIMERS_NEVER;
	/* A look that was to come before stays. */
	return timers->async ? 0 : timers->user_timeout;
}

/**
 * sdp_timers_starve() - a message waits for credits
 * @timers: the timers; changed
 * @others: there are reasons to look which are not of timers
 * @silence: set to true if silence was nobody's concern before, and begins to be
 *
 * Who waits with nothing under way would never hear of a peer that is gone, if the
 * word of its going was lost: TCP probes a closed window.
 *
 * Context: any; pure.
 * Return: jiffies until the next look; 0: now, for it to say when the next is;
 * SDP_TIMERS_NEVER: it is known already.
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
 * sdp_timers_async() - memory stays advertised after a call
 * @timers: the timers; changed
 * @others: there are reasons to look which are not of timers
 * @patience: jiffies that the peer has to begin with it
 *
 * Context: any; pure.
 * Return: as sdp_timers_starve().
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
 * sdp_timers_answered() - the peer's device has answered a keepalive
 * @timers: the timers; changed
 * @now: what the connection is like
 *
 * Context: any; pure.
 * Return: as sdp_timers_starve().
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
 * @user_timeout: jiffies without progress; 0: any
 *
 * Context: any; pure.
 * Return: true if silence was nobody's concern before, and begins to be.
 */
bool sdp_timers_set(struct sdp_timers *timers, u32 keep_idle, u32 user_timeout)
{
	bool begins = keep_idle && !timers->keep_idle;

	WRITE_ONCE(timers->keep_idle, keep_idle);
	WRITE_ONCE(timers->user_timeout, user_timeout);
	return begins;
}
