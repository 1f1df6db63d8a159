// SPDX-License-Identifier: GPL-2.0
/*
 * Copy, or zero copy?  See sdp_zpolicy.h.
 */
#include "sdp_zpolicy.h"

enum { SDP_ZPOLICY_MISSES = 6 };	/* that count: 63 occasions go by */

static bool sdp_zpolicy_again(struct sdp_zpolicy_habit *habit)
{
	if (!habit->skip)
		return true;
	habit->skip--;
	return false;
}

static void sdp_zpolicy_learn(struct sdp_zpolicy_habit *habit, bool used)
{
	if (used)
		habit->missed = 0;
	else if (habit->missed < SDP_ZPOLICY_MISSES)
		habit->missed++;
	habit->skip = (1 << habit->missed) - 1;
}

bool sdp_zpolicy_may_offer(struct sdp_zpolicy *policy, bool wanted)
{
	return wanted || sdp_zpolicy_again(&policy->src);
}

void sdp_zpolicy_offered(struct sdp_zpolicy *policy, bool used)
{
	sdp_zpolicy_learn(&policy->src, used);
}

bool sdp_zpolicy_may_ask(struct sdp_zpolicy *policy)
{
	return sdp_zpolicy_again(&policy->snk);
}

void sdp_zpolicy_asked(struct sdp_zpolicy *policy, bool used)
{
	sdp_zpolicy_learn(&policy->snk, used);
}

/* NULL: longer than any that is measured. */
static struct sdp_zpolicy_cost *sdp_zpolicy_cost_of(struct sdp_zpolicy_costs *costs, u32 len)
{
	unsigned int n = 0;

	for (len = (len - 1) >> 13; len; len >>= 1)
		n++;
	return n < SDP_ZPOLICY_LENGTHS ? &costs->at[n] : NULL;
}

static bool sdp_zpolicy_is_known(const struct sdp_zpolicy_cost *cost, enum sdp_zpolicy_way way)
{
	return cost->known[way] >= SDP_ZPOLICY_KNOWN;
}

/* By what the program sees; or, if it sees no difference, by its own time. */
static enum sdp_zpolicy_way sdp_zpolicy_cheaper(const struct sdp_zpolicy_cost *cost)
{
	u32 lend = cost->cycle[SDP_WAY_ZCOPY], copy = cost->cycle[SDP_WAY_COPY];

	if (lend < copy - copy / 16)
		return SDP_WAY_ZCOPY;
	if (copy < lend - lend / 16)
		return SDP_WAY_COPY;
	return cost->own[SDP_WAY_ZCOPY] <= cost->own[SDP_WAY_COPY] ?
	       SDP_WAY_ZCOPY : SDP_WAY_COPY;
}

enum sdp_zpolicy_way sdp_zpolicy_prefers(struct sdp_zpolicy_costs *costs, u32 len)
{
	const struct sdp_zpolicy_cost *longest = &costs->at[SDP_ZPOLICY_LENGTHS - 1];
	struct sdp_zpolicy_cost *cost = sdp_zpolicy_cost_of(costs, len);
	enum sdp_zpolicy_way way;

	if (!cost)
		return sdp_zpolicy_is_known(longest, SDP_WAY_COPY) ? sdp_zpolicy_cheaper(longest) :
							 SDP_WAY_ZCOPY;
	if (!sdp_zpolicy_is_known(cost, SDP_WAY_ZCOPY))
		return SDP_WAY_ZCOPY;
	if (!sdp_zpolicy_is_known(cost, SDP_WAY_COPY))
		return SDP_WAY_COPY;
	way = sdp_zpolicy_cheaper(cost);
	if (++cost->turn <= SDP_ZPOLICY_TRY)
		return way;
	if (cost->turn == SDP_ZPOLICY_TRY + SDP_ZPOLICY_TRIES)
		cost->turn = 0;
	return way == SDP_WAY_ZCOPY ? SDP_WAY_COPY : SDP_WAY_ZCOPY;
}

static void sdp_zpolicy_average(u32 *avg, u32 each, u8 known)
{
	if (known < SDP_ZPOLICY_KNOWN) {
		/* The first ones pay for what others find done. */
		if (!known || each < *avg)
			*avg = each;
		return;
	}
	/* Something else ran meanwhile, or the program did. */
	if (each / 2 > *avg)
		each = 2 * *avg;
	*avg = *avg - *avg / 8 + each / 8;
}

void sdp_zpolicy_cost(struct sdp_zpolicy_costs *costs, u32 len, enum sdp_zpolicy_way way,
		      u32 cycle, u32 own)
{
	struct sdp_zpolicy_cost *cost = sdp_zpolicy_cost_of(costs, len);
	u32 kib = len < 1024 ? 1 : len >> 10;

	if (!cost)
		return;
	if (cost->last != way) {
		cost->last = way;
		return;
	}
	sdp_zpolicy_average(&cost->cycle[way], cycle / kib, cost->known[way]);
	sdp_zpolicy_average(&cost->own[way], own / kib, cost->known[way]);
	if (cost->known[way] < SDP_ZPOLICY_KNOWN)
		cost->known[way]++;
}

static u32 sdp_zpolicy_u32_of(u64 n)
{
	return n < ~0U ? n : ~0U;
}

enum sdp_zpolicy_way sdp_zpolicy_begin(struct sdp_zpolicy *policy, size_t len, u64 now)
{
	struct sdp_zpolicy_meter *last = &policy->meter;

	if (last->len)
		sdp_zpolicy_cost(&policy->costs, last->len, last->way,
				 sdp_zpolicy_u32_of(now - last->began), last->own);
	last->began = now;
	last->len = 0;
	return sdp_zpolicy_prefers(&policy->costs, sdp_zpolicy_u32_of(len));
}

void sdp_zpolicy_end(struct sdp_zpolicy *policy, size_t len, enum sdp_zpolicy_way way,
		     u64 own)
{
	policy->meter.len = sdp_zpolicy_u32_of(len);
	policy->meter.own = sdp_zpolicy_u32_of(own);
	policy->meter.way = way;
}
