/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether the last message is held back to wait for more payload.
 *
 * A message with room may be held back, so that small writes travel together:
 * Nagle's rule, TCP_NODELAY, TCP_CORK and MSG_MORE (protocol text, 3.5).
 * This is the policy alone: it is told what was sent and what has arrived, and
 * says what the next message waits for.  sdp_tx.c does the waiting.
 *
 * The state belongs to the connection, under conn->lock; sdp_cork_delay() may
 * be called without it.
 *
 * Pure: types and arithmetic, nothing else of the kernel.  Times are in the
 * caller's jiffies, whatever their length.
 */
#ifndef _SDP_CORK_H
#define _SDP_CORK_H

#include <linux/compiler.h>
#include <linux/types.h>
#include "sdp_flow.h"

/* What the user asked for with TCP_NODELAY, TCP_CORK and MSG_MORE. */
enum sdp_cork_delay {
	SDP_DELAY_NODELAY	= 0x01,
	SDP_DELAY_CORK		= 0x02,	/* TCP_CORK, or MSG_MORE in the last call */
	SDP_DELAY_PUSH		= 0x04,	/* what is queued goes, overrides the others */
};

/* Why the last message, which has room, stays in the queue. */
enum sdp_cork_hold {
	SDP_HOLD_NONE,		/* it goes */
	SDP_HOLD_SENT,		/* until what was sent before has arrived */
	SDP_HOLD_CORK,		/* until the user uncorks it, or a time is over */
};

/* Slots in flight from which TCP_NODELAY lets small messages be joined, too. */
enum { SDP_CORK_AUTO = 8 };

struct sdp_cork {
	u8 delay;		/* enum sdp_cork_delay */
	bool held;		/* the last message waits for completions */
	bool corked;		/* the last message waits for the user */
	bool small_out;		/* a message that was not full is in flight */
	u32 small_mseq;		/* MSeq of the newest message that was not full */
	unsigned long corked_at; /* when the last message began to wait for the user */
};

enum sdp_cork_hold sdp_cork_hold(struct sdp_cork *cork, const struct sdp_flow *flow,
				 bool partial, u32 under_way, unsigned long now);
unsigned long sdp_cork_left(const struct sdp_cork *cork, unsigned long now,
			    unsigned long most);
unsigned long sdp_cork_timer(struct sdp_cork *cork, unsigned long now,
			     unsigned long most);
void sdp_cork_set_delay(struct sdp_cork *cork, u8 delay);

/**
 * sdp_cork_delay() - what may be held back now
 * @cork: the policy's state; may change at the same time
 *
 * Context: any; pure.
 * Return: bits of enum sdp_cork_delay.
 */
static inline u8 sdp_cork_delay(const struct sdp_cork *cork)
{
	return READ_ONCE(cork->delay);
}

/**
 * sdp_cork_posted() - note that a message was posted that is not full
 * @cork: the policy's state; changed
 * @mseq: MSeq of the message
 *
 * Context: any; pure.
 */
static inline void sdp_cork_posted(struct sdp_cork *cork, u32 mseq)
{
	cork->small_out = true;
	cork->small_mseq = mseq;
}

/**
 * sdp_cork_arrived() - note that the peer's device has a message
 * @cork: the policy's state; changed
 * @mseq: MSeq of the message
 *
 * Context: any; pure.
 */
static inline void sdp_cork_arrived(struct sdp_cork *cork, u32 mseq)
{
	if (cork->small_out && mseq == cork->small_mseq)
		cork->small_out = false;
}

/**
 * sdp_cork_is_held() - whether the last message waits for completions
 * @cork: the policy's state
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_cork_is_held(const struct sdp_cork *cork)
{
	return cork->held;
}

/**
 * sdp_cork_taken_back() - note that the caller took the last message back
 * @cork: the policy's state; changed
 *
 * Context: any; pure.
 */
static inline void sdp_cork_taken_back(struct sdp_cork *cork)
{
	cork->held = false;
}

#endif
