/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timers of an established connection: when to ask whether the peer is
 * there, and when to give up.
 *
 * This is the policy alone.  It is given the state of the connection and the
 * time, and says what is due and when to check again; sdp_check.c does it.
 * What may be due:
 *
 *	keepalive	nothing was received for too long, and one of these
 *			holds: SO_KEEPALIVE is set; or a sender waits for
 *			credits with nothing in flight, and would never notice
 *			that the peer is gone if the word of that was lost; or
 *			the CM has lost the connection, and will not report the
 *			peer's end
 *	user timeout	what was sent, or a keepalive, makes no progress for
 *			TCP_USER_TIMEOUT
 *
 * Pure: types and arithmetic, nothing else of the kernel.  Times are in
 * jiffies, HZ of them a second.
 */
#ifndef _SDP_TIMERS_H
#define _SDP_TIMERS_H

#include <asm/param.h>
#include <linux/compiler.h>
#include <linux/types.h>

enum {
	/* Jiffies until a keepalive, while a message waits for credits. */
	SDP_TIMERS_STARVED	= 10 * HZ,
	/* Jiffies until a keepalive, if the CM lost the connection.  That is
	 * rare, so asking often does no harm.
	 */
	SDP_TIMERS_LOST		= HZ,
};

/* No check is needed. */
#define SDP_TIMERS_NEVER	(~0UL)

struct sdp_timers {
	u32 keep_idle;		/* jiffies of silence until a keepalive; 0: none */
	u32 user_timeout;	/* jiffies without progress until giving up; 0: never */
	unsigned long progress;	/* jiffies of the last progress */
	bool keepalive;		/* a keepalive is in flight */
	unsigned long keepalive_at; /* jiffies when the keepalive was sent */
	bool watched;		/* a check is set: a message waits for credits */
	bool async;		/* a check is set: memory stays advertised after a call */
	bool cm_lost;		/* the CM lost the connection, and reports no end of it */
};

/* The state of the connection at a check. */
struct sdp_timers_now {
	unsigned long now;	/* jiffies */
	unsigned long heard;	/* jiffies of the last message received */
	bool starved;		/* the next message waits for a credit */
	bool outstanding;	/* something is queued, in flight or advertised */
	bool inflight;		/* something is in flight */
	bool signalled;		/* something in flight is signalled */
	bool async;		/* memory stays advertised after a call */
	bool last_ack;		/* both DisConns were posted: the peer may be gone */
	bool others;		/* there are reasons to check besides these timers */
};

struct sdp_timers_due {
	bool give_up;		/* no progress for too long: end the connection */
	bool ask;		/* post a keepalive */
	unsigned long next;	/* jiffies until the next check, or SDP_TIMERS_NEVER */
};

struct sdp_timers_due sdp_timers_check(struct sdp_timers *timers,
				       const struct sdp_timers_now *now);
unsigned long sdp_timers_begin(struct sdp_timers *timers, unsigned long now);
unsigned long sdp_timers_starve(struct sdp_timers *timers, bool others, bool *silence);
unsigned long sdp_timers_async(struct sdp_timers *timers, bool others,
			       unsigned long patience);
unsigned long sdp_timers_answered(struct sdp_timers *timers,
				  const struct sdp_timers_now *now);

/**
 * sdp_timers_patience() - time that memory may stay advertised without progress
 * @timers: the timers
 * @wait: jiffies at most
 *
 * Context: any; pure.
 * Return: jiffies, at least 1; at most half of TCP_USER_TIMEOUT, as a slow
 * reader is no reason to end the connection.
 */
static inline unsigned long sdp_timers_patience(const struct sdp_timers *timers,
						unsigned long wait)
{
	u32 timeout = READ_ONCE(timers->user_timeout);

	if (timeout && wait > timeout / 2)
		wait = timeout / 2;
	return wait ?: 1;
}

/**
 * sdp_timers_moved() - note progress: the peer or its device took something
 * @timers: the timers; changed
 * @now: jiffies
 *
 * Context: any; pure.
 */
static inline void sdp_timers_moved(struct sdp_timers *timers, unsigned long now)
{
	timers->progress = now;
}

/**
 * sdp_timers_progress() - time of the last progress
 * @timers: the timers
 *
 * Context: any; pure.
 * Return: jiffies.
 */
static inline unsigned long sdp_timers_progress(const struct sdp_timers *timers)
{
	return timers->progress;
}

/**
 * sdp_timers_asked() - note that a keepalive was posted
 * @timers: the timers; changed
 * @now: jiffies
 *
 * Context: any; pure.
 */
static inline void sdp_timers_asked(struct sdp_timers *timers, unsigned long now)
{
	timers->keepalive = true;
	timers->keepalive_at = now;
}

/**
 * sdp_timers_asks() - whether a keepalive is in flight
 * @timers: the timers
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_timers_asks(const struct sdp_timers *timers)
{
	return timers->keepalive;
}

/**
 * sdp_timers_are() - whether the user's timers have these values already
 * @timers: the timers; may change at the same time
 * @keep_idle: jiffies of silence until a keepalive; 0: none
 * @user_timeout: jiffies without progress until giving up; 0: never
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_timers_are(const struct sdp_timers *timers, u32 keep_idle,
				  u32 user_timeout)
{
	return READ_ONCE(timers->keep_idle) == keep_idle &&
	       READ_ONCE(timers->user_timeout) == user_timeout;
}

bool sdp_timers_set(struct sdp_timers *timers, u32 keep_idle, u32 user_timeout);

/**
 * sdp_timers_lose_cm() - note that the CM lost the connection
 * @timers: the timers; changed
 *
 * From now on only silence tells that the peer is gone.
 *
 * Context: any; pure.
 */
static inline void sdp_timers_lose_cm(struct sdp_timers *timers)
{
	WRITE_ONCE(timers->cm_lost, true);
}

/**
 * sdp_timers_lost_cm() - whether the CM lost the connection
 * @timers: the timers; may change at the same time
 *
 * Context: any; pure.
 * Return: true if sdp_timers_lose_cm() was called.
 */
static inline bool sdp_timers_lost_cm(const struct sdp_timers *timers)
{
	return READ_ONCE(timers->cm_lost);
}

#endif
