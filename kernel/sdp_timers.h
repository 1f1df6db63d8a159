/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The timers of an established connection: when to ask whether the peer is there,
 * and when to give up.
 *
 * This is the policy alone.  It is told what the connection is like and what time
 * it is, and says what is due and when to look again; sdp_check.c does it.  What
 * may be due:
 *
 *	keepalive	nothing was heard for so long, and SO_KEEPALIVE is set; or
 *			a sender waits for credits with nothing under way, and
 *			would never hear of a peer whose going was lost; or
 *			the CM has lost the connection, and will not tell
 *	user timeout	what was sent, or asked, makes no progress (TCP_USER_TIMEOUT)
 *
 * Pure: types and arithmetic, nothing else of the kernel.  Times are in jiffies, HZ
 * of them a second.
 */
#ifndef _SDP_TIMERS_H
#define _SDP_TIMERS_H

#include <asm/param.h>
#include <linux/compiler.h>
#include <linux/types.h>

enum {
	SDP_TIMERS_STARVED	= 10 * HZ,	/* without credits, then ask */
	SDP_TIMERS_LOST		= HZ,		/* rare enough to ask often */
};

/* There is nothing to look for. */
#define SDP_TIMERS_NEVER	(~0UL)

struct sdp_timers {
	u32 keep_idle;		/* jiffies of silence until a keepalive; 0: none */
	u32 user_timeout;	/* jiffies without progress; 0: any */
	unsigned long progress;	/* jiffies when there was some */
	bool keepalive;		/* a keepalive is under way */
	unsigned long keepalive_at; /* jiffies when it was sent */
	bool watched;		/* a look will come: a message waits for credits */
	bool async;		/* a look will come: memory stays advertised after a call */
	bool cm_lost;		/* the CM tells of no end, theirs or ours */
};

/* What the connection is like when the timers are looked at. */
struct sdp_timers_now {
	unsigned long now;
	unsigned long heard;	/* jiffies of the last message */
	bool starved;		/* the next message waits for a credit */
	bool outstanding;	/* something is queued or under way, or is advertised */
	bool inflight;		/* something is under way */
	bool signalled;		/* and its completion will be heard of */
	bool async;		/* memory stays advertised after a call */
	bool last_ack;		/* both sides have said all, and the peer may go */
	bool others;		/* there are other reasons to look */
};

struct sdp_timers_due {
	bool give_up;		/* the peer makes no progress: it is over */
	bool ask;		/* post a keepalive */
	unsigned long next;	/* jiffies until the next look, or SDP_TIMERS_NEVER */
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
 * sdp_timers_patience() - how long the peer has to begin with what is advertised
 * @timers: the timers
 * @wait: jiffies that it has at the most
 *
 * Context: any; pure.
 * Return: jiffies, from 1; less than TCP_USER_TIMEOUT, as a reader who is slow is
 * no reason to end the connection.
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
 * sdp_timers_moved() - the peer's device, or the peer, took something
 * @timers: the timers; changed
 * @now: the time
 *
 * Context: any; pure.
 */
static inline void sdp_timers_moved(struct sdp_timers *timers, unsigned long now)
{
	timers->progress = now;
}

/**
 * sdp_timers_progress() - when something was taken last
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
 * sdp_timers_asked() - a keepalive was posted
 * @timers: the timers; changed
 * @now: the time
 *
 * Context: any; pure.
 */
static inline void sdp_timers_asked(struct sdp_timers *timers, unsigned long now)
{
	timers->keepalive = true;
	timers->keepalive_at = now;
}

/**
 * sdp_timers_asks() - is a keepalive under way?
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
 * sdp_timers_are() - are the user's timers set so?
 * @timers: the timers; may change meanwhile
 * @keep_idle: jiffies of silence until a keepalive
 * @user_timeout: jiffies without progress
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
 * sdp_timers_lose_cm() - nothing but silence will tell that the peer is gone
 * @timers: the timers; changed
 *
 * Context: any; pure.
 */
static inline void sdp_timers_lose_cm(struct sdp_timers *timers)
{
	WRITE_ONCE(timers->cm_lost, true);
}

/**
 * sdp_timers_lost_cm() - was that so?
 * @timers: the timers; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if sdp_timers_lose_cm() was called.
 */
static inline bool sdp_timers_lost_cm(const struct sdp_timers *timers)
{
	return READ_ONCE(timers->cm_lost);
}

#endif
