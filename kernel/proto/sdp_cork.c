// SPDX-License-Identifier: GPL-2.0
/*
 * Whether the last message is held back to wait for more payload; see
 * sdp_cork.h.
 *
 * It waits for the completion of what was sent before, or for the user, or for
 * a time.  The time is counted from when the first byte was corked: later
 * writes do not make it wait longer.
 */
#include "sdp_cork.h"

/* The rules, for a message that has room. */
static enum sdp_cork_hold sdp_cork_rule(u8 delay, bool small_out, u32 under_way)
{
	if (delay & SDP_DELAY_PUSH)
		return SDP_HOLD_NONE;
	if (delay & SDP_DELAY_CORK)
		return SDP_HOLD_CORK;
	if (delay & SDP_DELAY_NODELAY)
		return under_way < SDP_CORK_AUTO ? SDP_HOLD_NONE : SDP_HOLD_SENT;
	return small_out ? SDP_HOLD_SENT : SDP_HOLD_NONE;
}

/**
 * sdp_cork_hold() - whether the next message waits for more payload (3.5)
 * @cork: the policy's state; changed
 * @flow: what the peer has acknowledged
 * @partial: whether the message is the last of the stream, and not full
 * @under_way: requests in flight
 * @now: current time
 *
 * This is Nagle's rule as in today's TCP: full messages never make a small one
 * wait, only another small one does.  SDP has no acknowledgments.  In their
 * place this takes send completions, which say that the peer's device has the
 * message, or an MSeqAck that comes sooner.  With TCP_NODELAY small messages
 * are joined only while many are in flight, when one more of its own would gain
 * nothing.
 *
 * Context: any; pure.
 * Return: enum sdp_cork_hold.
 */
enum sdp_cork_hold sdp_cork_hold(struct sdp_cork *cork, const struct sdp_flow *flow,
				 bool partial, u32 under_way, unsigned long now)
{
	enum sdp_cork_hold hold = SDP_HOLD_NONE;

	if (partial) {
		if (cork->small_out && sdp_flow_acked(flow, cork->small_mseq))
			cork->small_out = false;
		hold = sdp_cork_rule(cork->delay, cork->small_out, under_way);
	}
	cork->held = hold == SDP_HOLD_SENT;
	if (hold == SDP_HOLD_NONE) {
		cork->corked = false;
	} else if (hold == SDP_HOLD_CORK && !cork->corked) {
		cork->corked = true;
		cork->corked_at = now;
	}
	return hold;
}

/**
 * sdp_cork_left() - time that a corked message may still wait
 * @cork: the policy's state; sdp_cork_hold() returned SDP_HOLD_CORK
 * @now: current time
 * @most: jiffies that a corked message may wait
 *
 * Context: any; pure.
 * Return: jiffies that are left; 0: the time is over.
 */
unsigned long sdp_cork_left(const struct sdp_cork *cork, unsigned long now,
			    unsigned long most)
{
	unsigned long waited = now - cork->corked_at;

	return waited < most ? most - waited : 0;
}

/**
 * sdp_cork_timer() - handle the timer of a corked message
 * @cork: the policy's state; changed
 * @now: current time
 * @most: jiffies that a corked message may wait
 *
 * The message for which the timer was set may have been sent since, because it
 * became full or was pushed.  What was corked after that has its own time.
 *
 * Context: any; pure.
 * Return: jiffies that are left for what is corked now; 0: what is queued goes,
 * or nothing is corked.
 */
unsigned long sdp_cork_timer(struct sdp_cork *cork, unsigned long now,
			     unsigned long most)
{
	unsigned long left;

	if (!cork->corked)
		return 0;
	left = sdp_cork_left(cork, now, most);
	if (!left)
		WRITE_ONCE(cork->delay, cork->delay | SDP_DELAY_PUSH);
	return left;
}

/**
 * sdp_cork_set_delay() - set what may be held back
 * @cork: the policy's state; changed
 * @delay: bits of enum sdp_cork_delay
 *
 * Context: any; pure.
 */
void sdp_cork_set_delay(struct sdp_cork *cork, u8 delay)
{
	WRITE_ONCE(cork->delay, delay);
	if (!(delay & SDP_DELAY_CORK))
		cork->corked = false;
}
