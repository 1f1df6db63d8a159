/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The round-trip time to the peer's device, as TCP_INFO tells it.
 *
 * The first sample is the exchange of the CM.  From then on one message at a time is
 * timed, from being posted to its completion, and counts if an event told of the
 * completion: one that is found later, since nobody had to know, says nothing.  It is
 * smoothed as RFC 6298 has it.
 */
#ifndef _SDP_RTT_H
#define _SDP_RTT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

struct sdp_rtt {
	u64 sent_ns;		/* when that was sent which is timed */
	const void *timed;	/* the message; NULL: none */
	unsigned long at;	/* jiffies of the last one that was timed */
	u32 srtt_us;		/* smoothed; 0: no sample yet */
	u32 var_us;		/* its mean deviation */
	u32 min_us;		/* the shortest */
};

/**
 * sdp_rtt_sample() - the answer to what is timed is here
 * @rtt: the round-trip time
 * @now_ns: ns, by the clock of @rtt->sent_ns
 *
 * Context: any; the caller keeps others away.
 */
static inline void sdp_rtt_sample(struct sdp_rtt *rtt, u64 now_ns)
{
	u64 ns = now_ns - rtt->sent_ns;
	u32 us = clamp_t(u64, div_u64(ns, NSEC_PER_USEC), 1, U32_MAX / 8), off;

	if (!rtt->srtt_us) {
		rtt->srtt_us = us;
		rtt->var_us = us / 2;
		rtt->min_us = us;
		return;
	}
	off = us > rtt->srtt_us ? us - rtt->srtt_us : rtt->srtt_us - us;
	rtt->var_us = (rtt->var_us * 3 + off) / 4;
	rtt->srtt_us = max_t(u32, (rtt->srtt_us * 7 + us) / 8, 1);
	rtt->min_us = min(rtt->min_us, us);
}

#endif
