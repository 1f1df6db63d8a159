/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Whether to copy or to use zero copy: a connection decides by what it has
 * learnt.
 *
 * Habit.  What was of no use the last times is tried less often.  A SrcAvail
 * that the peer refuses costs a round trip for nothing, and so does a SinkAvail
 * that the peer's data crosses.
 *
 * Cost.  The time from one send() to the next is averaged for each way that the
 * first one can take, and for sends of about one length.
 *
 * sdp_mode.c says what the protocol allows, and the transport what the devices
 * can do.  Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_ZPOLICY_H
#define _SDP_ZPOLICY_H

#include <linux/types.h>

/* After each miss in a row more occasions are skipped: 1, 3, 7, at most 63. */
struct sdp_zpolicy_habit {
	u8 missed;		/* misses in a row */
	u8 skip;		/* occasions still to be skipped */
};

/* The ways to send. */
enum sdp_zpolicy_way {
	SDP_WAY_COPY,
	SDP_WAY_ZCOPY,
	SDP_WAYS,
};

/* What the ways have cost on average, for sends of about one length. */
struct sdp_zpolicy_cost {
	u32 cycle[SDP_WAYS];	/* ns a KiB until the next send */
	u32 own[SDP_WAYS];	/* ns a KiB of the caller's own, without sleep */
	u8 known[SDP_WAYS];	/* sends averaged, up to SDP_ZPOLICY_KNOWN */
	u8 last;		/* way of the last send */
	u8 turn;		/* sends since the costlier way was tried */
};

enum {
	SDP_ZPOLICY_LENGTHS = 8,	/* up to 8 KiB, 16 KiB, ... 1 MiB */
	SDP_ZPOLICY_KNOWN	= 4,	/* sends until an average is trusted */
	SDP_ZPOLICY_TRY	= 128,	/* sends until the costlier way has a trial */
	SDP_ZPOLICY_TRIES	= 3,	/* sends of a trial, the first not counted */
};

/* The costs of sends by their length; begins with zeros. */
struct sdp_zpolicy_costs {
	struct sdp_zpolicy_cost at[SDP_ZPOLICY_LENGTHS];
};

/* The last send that was measured. */
struct sdp_zpolicy_meter {
	u64 began;		/* when it began, in ns */
	u32 len;		/* bytes; 0: it is not over, or there was none */
	u32 own;		/* ns of the caller's own time */
	u8 way;			/* enum sdp_zpolicy_way */
};

/* Begins with zeros. */
struct sdp_zpolicy {
	struct sdp_zpolicy_habit src; /* of advertising what is sent */
	struct sdp_zpolicy_habit snk; /* of advertising a reader's buffer */
	struct sdp_zpolicy_costs costs;
	struct sdp_zpolicy_meter meter;
};

bool sdp_zpolicy_may_offer(struct sdp_zpolicy *policy, bool wanted);
void sdp_zpolicy_offered(struct sdp_zpolicy *policy, bool used);
bool sdp_zpolicy_may_ask(struct sdp_zpolicy *policy);
void sdp_zpolicy_asked(struct sdp_zpolicy *policy, bool used);
enum sdp_zpolicy_way sdp_zpolicy_begin(struct sdp_zpolicy *policy, size_t len, u64 now);
void sdp_zpolicy_end(struct sdp_zpolicy *policy, size_t len, enum sdp_zpolicy_way way,
		     u64 own);
enum sdp_zpolicy_way sdp_zpolicy_prefers(struct sdp_zpolicy_costs *costs, u32 len);
void sdp_zpolicy_cost(struct sdp_zpolicy_costs *costs, u32 len,
		      enum sdp_zpolicy_way way, u32 cycle, u32 own);

#endif
