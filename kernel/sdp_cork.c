// SPDX-License-Identifier: GPL-2.0
/*
 * Does the last message wait for more behind it?  See sdp_cork.h.
 *
 * What it waits for is the completion of what was sent before, or the user, or a
 * time.  The time set first stays set: a write behind what is corked does not make
 * it wait longer.
 */
#include "sdp_cork.h"

/* The rules, for a message that more would fit behind. */
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
 * sdp_cork_hold() - does a message that is not full wait for more? (3.5)
 * @cork: what is known of the messages before it; changed
 * @flow: what the peer has acknowledged
 * @partial: it is the last of the stream, and not full
 * @under_way: messages sent and not known to have arrived
 * @now: the time
 *
 * Nagle's rule as TCP has it now: full messages never make a small one wait, only
 * another small one does.  There is no acknowledgment in SDP; send completions,
 * which say that the peer's device has the message, take its place, or an MSeqAck
 * that came sooner.  With TCP_NODELAY small messages are joined only while many
 * are under way, when one more of its own would help nobody.
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
 * sdp_cork_left() - how long a corked message waits yet, whatever comes
 * @cork: of whose last message sdp_cork_hold() said SDP_HOLD_CORK
 * @now: the time
 * @most: how long it may wait
 *
 * Context: any; pure.
 * Return: the time that is left; 0: it is over.
 */
unsigned long sdp_cork_left(const struct sdp_cork *cork, unsigned long now,
			    unsigned long most)
{
	unsigned long waited = now - cork->corked_at;

	return waited < most ? most - waited : 0;
}

/**
 * sdp_cork_timer() - the time that was set for a corked message is over
 * @cork: the policy's state; changed
 * @now: the time
 * @most: how long a corked message may wait
 *
 * What the time was set for may have gone in a full message, or was pushed: what
 * is corked since then has its own time to wait.
 *
 * Context: any; pure.
 * Return: the time that is left for what is corked now; 0: what is queued goes, or
 * nothing is corked.
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
 * sdp_cork_set_delay() - what may be held back from now on
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
