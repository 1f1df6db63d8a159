/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copy, or zero copy?  The policy of a connection, by what it has learnt.
 *
 * By habit: what was of no use the last times is tried less often.  A SrcAvail that
 * the peer refuses takes a round trip for nothing, and so is a SinkAvail that the
 * peer's data crosses.
 *
 * By cost: the time from one send() to the next, by the way that the first one took,
 * for sends of about one length.
 *
 * What the protocol allows is said by sdp_mode.c, what devices can do by the
 * transport.  Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_ZPOLICY_H
#define _SDP_ZPOLICY_H

#include <linux/types.h>

/* What was of no use is done less: 1, 3, 7, at most 63 occasions go by. */
struct sdp_zpolicy_habit {
	u8 missed;		/* times in a row */
	u8 skip;		/* occasions that go by yet */
};

/* Ways for what is sent. */
enum sdp_zpolicy_way {
	SDP_WAY_COPY,
	SDP_WAY_ZCOPY,
	SDP_WAYS,
};

/* What the ways have cost, for sends of about one length. */
struct sdp_zpolicy_cost {
	u32 cycle[SDP_WAYS];	/* ns a KiB until the next send, average */
	u32 own[SDP_WAYS];	/* and of those the caller's, without his sleep */
	u8 known[SDP_WAYS];	/* sends in it, up to SDP_ZPOLICY_KNOWN */
	u8 last;		/* way of the last one */
	u8 turn;		/* sends since the dearer way was tried */
};

enum {
	SDP_ZPOLICY_LENGTHS = 8,	/* up to 8 KiB, 16 KiB, ... 1 MiB */
	SDP_ZPOLICY_KNOWN	= 4,	/* sends from which on an average is believed */
	SDP_ZPOLICY_TRY	= 128,	/* sends until the dearer way is tried again, */
	SDP_ZPOLICY_TRIES	= 3,	/* with so many, of which the first is not counted */
};

/* What a connection has learnt of that; begins with zeros. */
struct sdp_zpolicy_costs {
	struct sdp_zpolicy_cost at[SDP_ZPOLICY_LENGTHS];
};

/* The last send of those that are measured. */
struct sdp_zpolicy_meter {
	u64 began;		/* ns */
	u32 len;		/* bytes; 0: it is not over, or there was none */
	u32 own;		/* ns of the caller's */
	u8 way;			/* enum sdp_zpolicy_way */
};

/* Begins with zeros. */
struct sdp_zpolicy {
	struct sdp_zpolicy_habit src; /* is it worth it to advertise what is sent? */
	struct sdp_zpolicy_habit snk; /* and where to receive? */
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
