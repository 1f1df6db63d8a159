// SPDX-License-Identifier: GPL-2.0
/*
 * The policy that chooses between copying and zero copy; see sdp_zpolicy.h.
 *
 * The caller asks before it advertises, and reports the outcome and the cost.
 * The state is the caller's and is guarded by its lock.  Nothing here can fail.
 */
#include "sdp_zpolicy.h"

enum { SDP_ZPOLICY_MISSES = 6 };	/* most that count: 63 occasions are skipped */

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

/**
 * sdp_zpolicy_may_offer() - whether to advertise, or write, a long send
 * @policy: the connection's; changed
 * @wanted: a SinkAvail of the peer waits for the bytes
 *
 * Context: the caller's lock; pure.
 * Return: true if it is worth it.
 */
bool sdp_zpolicy_may_offer(struct sdp_zpolicy *policy, bool wanted)
{
	return wanted || sdp_zpolicy_again(&policy->src);
}

/**
 * sdp_zpolicy_offered() - record what became of bytes that were advertised
 * @policy: the connection's; changed
 * @used: true if all were read or written, false if the peer has refused
 *
 * Context: the caller's lock; pure.
 */
void sdp_zpolicy_offered(struct sdp_zpolicy *policy, bool used)
{
	sdp_zpolicy_learn(&policy->src, used);
}

/**
 * sdp_zpolicy_may_ask() - whether to advertise a waiting reader's large buffer
 * @policy: the connection's; changed
 *
 * Context: the caller's lock; pure.
 * Return: true if it is worth it.
 */
bool sdp_zpolicy_may_ask(struct sdp_zpolicy *policy)
{
	return sdp_zpolicy_again(&policy->snk);
}

/**
 * sdp_zpolicy_asked() - record what became of a SinkAvail
 * @policy: the connection's; changed
 * @used: the peer has written into it
 *
 * Context: the caller's lock; pure.
 */
void sdp_zpolicy_asked(struct sdp_zpolicy *policy, bool used)
{
	sdp_zpolicy_learn(&policy->snk, used);
}

/* The costs for sends of about @len bytes; NULL: too long to be measured. */
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

/* By the time between sends; if that is about the same, by the caller's own. */
static enum sdp_zpolicy_way sdp_zpolicy_cheaper(const struct sdp_zpolicy_cost *cost)
{
	u32 zcopy = cost->cycle[SDP_WAY_ZCOPY], copy = cost->cycle[SDP_WAY_COPY];

	if (zcopy < copy - copy / 16)
		return SDP_WAY_ZCOPY;
	if (copy < zcopy - zcopy / 16)
		return SDP_WAY_COPY;
	return cost->own[SDP_WAY_ZCOPY] <= cost->own[SDP_WAY_COPY] ?
	       SDP_WAY_ZCOPY : SDP_WAY_COPY;
}

/**
 * sdp_zpolicy_prefers() - choose the cheaper way for a send of a given length
 * @costs: the connection's
 * @len: bytes, from 1
 *
 * At first each way is tried a few times, then the more expensive one now and
 * then: the costs change with the peer and with the machine.  Sends longer than
 * 1 MiB are not measured, since nobody should copy 16 MiB to find out.  They go
 * the way that proved best for the longest measured sends, and are advertised
 * if that is not known.
 *
 * The measure is what the program sees: the time from one send to the next,
 * with all that happens on both sides meanwhile.  If that is the same because
 * the program waits for the link or the peer, the cheaper way is the one that
 * leaves more of the processor to others.
 *
 * Context: the caller's lock; pure.
 * Return: the way for this send.
 */
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
		/* The first sends pay for what later ones find done. */
		if (!known || each < *avg)
			*avg = each;
		return;
	}
	/* An outlier: something else ran meanwhile, or the program did. */
	if (each / 2 > *avg)
		each = 2 * *avg;
	*avg = *avg - *avg / 8 + each / 8;
}

/**
 * sdp_zpolicy_cost() - record what a send has cost
 * @costs: the connection's
 * @len: its bytes, from 1
 * @way: the way that it went; the first send after one of the other way is not
 *	counted, as it pays for what that one left under way
 * @cycle: ns from its begin to that of the next send
 * @own: ns of the caller's own time, without sleep
 *
 * Context: the caller's lock; pure.
 */
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

/**
 * sdp_zpolicy_begin() - a send that may be advertised begins
 * @policy: the connection's; changed
 * @len: its bytes, from 1
 * @now: the present time in ns
 *
 * The time since the send before it began is the cost of that one.
 *
 * Context: the caller's lock; pure.
 * Return: the way for this send.
 */
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

/**
 * sdp_zpolicy_end() - a send that sdp_zpolicy_begin() was asked for is over
 * @policy: the connection's; changed
 * @len: bytes that were sent
 * @way: the way that the send counts for
 * @own: ns of the caller's own time, without sleep
 *
 * Context: the caller's lock; pure.
 */
void sdp_zpolicy_end(struct sdp_zpolicy *policy, size_t len, enum sdp_zpolicy_way way,
		     u64 own)
{
	policy->meter.len = sdp_zpolicy_u32_of(len);
	policy->meter.own = sdp_zpolicy_u32_of(own);
	policy->meter.way = way;
}
