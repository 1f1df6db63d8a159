/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The round-trip time to the peer's device, for TCP_INFO.
 *
 * The first sample is the exchange of the CM.  From then on one request at a
 * time is timed, from posting to completion.  It counts only if an event
 * reported the completion: a completion that is reaped later says nothing about
 * the time.  The smoothing is that of RFC 6298.
 */
#ifndef _SDP_RTT_H
#define _SDP_RTT_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

struct sdp_rtt {
	u64 sent_ns;		/* when the timed request was posted, nanoseconds */
	const void *timed;	/* the timed request; NULL: none */
	unsigned long at;	/* jiffies when the last one was posted */
	u32 srtt_us;		/* smoothed, microseconds; 0: no sample yet */
	u32 var_us;		/* mean deviation, microseconds */
	u32 min_us;		/* the shortest, microseconds */
};

/**
 * sdp_rtt_sample() - add a sample: the timed request is complete
 * @rtt: the round-trip time; the time runs from @rtt->sent_ns
 * @now_ns: nanoseconds, by the same clock
 *
 * Context: any; the caller serialises.
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
