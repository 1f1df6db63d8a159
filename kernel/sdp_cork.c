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

unsigned long sdp_cork_left(const struct sdp_cork *cork, unsigned long now,
			    unsigned long most)
{
	unsigned long waited = now - cork->corked_at;

	return waited < most ? most - waited : 0;
}

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

void sdp_cork_set_delay(struct sdp_cork *cork, u8 delay)
{
	WRITE_ONCE(cork->delay, delay);
	if (!(delay & SDP_DELAY_CORK))
		cork->corked = false;
}
