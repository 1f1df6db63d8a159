// SPDX-License-Identifier: GPL-2.0
/*
 * Is the cheaper way taken, and is what was of no use tried less often?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_zpolicy.c"

/* A send of @len goes as preferred, and takes so much a KiB either way. */
static enum sdp_zpolicy_way spend(struct sdp_zpolicy_costs *costs, u32 len, u32 copy,
				  u32 lend)
{
	enum sdp_zpolicy_way way = sdp_zpolicy_prefers(costs, len);
	u32 ns = (way == SDP_WAY_ZCOPY ? lend : copy) * (len >> 10);

	sdp_zpolicy_cost(costs, len, way, ns, ns / 2);
	return way;
}

/* How many of so many are lent. */
static int spend_many(struct sdp_zpolicy_costs *costs, int sends, u32 len, u32 copy,
		      u32 lend)
{
	int n = 0;

	while (sends--)
		n += spend(costs, len, copy, lend) == SDP_WAY_ZCOPY;
	return n;
}

/* Until something is known of a way; and of both. */
enum {
	FIRST	= SDP_ZPOLICY_KNOWN + 1,
	BOTH	= 2 * FIRST,
	TURN	= SDP_ZPOLICY_TRY + SDP_ZPOLICY_TRIES,
};

static void sdp_zpolicy_prefers__cheaper(struct kunit *test)
{
	struct sdp_zpolicy_costs costs = {};
	int i;

	/* Each way is tried first. */
	for (i = 0; i < FIRST; i++)
		KUNIT_EXPECT_EQ(test, spend(&costs, 65536, 500, 400),
				SDP_WAY_ZCOPY);
	for (i = 0; i < FIRST; i++)
		KUNIT_EXPECT_EQ(test, spend(&costs, 65536, 500, 400),
				SDP_WAY_COPY);
	/* Then the cheaper, and now and then the other. */
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, spend_many(&costs, SDP_ZPOLICY_TRY, 65536,
						 500, 400), SDP_ZPOLICY_TRY);
		KUNIT_EXPECT_EQ(test, spend_many(&costs, SDP_ZPOLICY_TRIES, 65536,
						 500, 400), 0);
	}
	/* When they cost the same nothing is copied. */
	costs = (struct sdp_zpolicy_costs) {};
	spend_many(&costs, BOTH, 65536, 500, 500);
	KUNIT_EXPECT_EQ(test, spend(&costs, 65536, 500, 500), SDP_WAY_ZCOPY);
}

/* The link is what both wait for: what counts is the processor. */
static void sdp_zpolicy_prefers__own_time(struct kunit *test)
{
	struct sdp_zpolicy_costs costs = {};
	int i;

	for (i = 0; i < BOTH; i++) {
		enum sdp_zpolicy_way way = sdp_zpolicy_prefers(&costs, 1024);

		if (way == SDP_WAY_ZCOPY)
			sdp_zpolicy_cost(&costs, 1024, way, 510, 100);
		else
			sdp_zpolicy_cost(&costs, 1024, way, 500, 90);
	}
	KUNIT_EXPECT_EQ(test, spend(&costs, 1024, 500, 510), SDP_WAY_COPY);
	/* But not if one waits longer. */
	costs.at[0].cycle[SDP_WAY_COPY] = 600;
	KUNIT_EXPECT_EQ(test, spend(&costs, 1024, 600, 510), SDP_WAY_ZCOPY);
}

/* What follows another way pays for what that has left under way. */
static void sdp_zpolicy_cost__first_of_a_way(struct kunit *test)
{
	struct sdp_zpolicy_costs costs = {};

	spend_many(&costs, BOTH, 65536, 500, 400);
	KUNIT_EXPECT_EQ(test, costs.at[3].cycle[SDP_WAY_ZCOPY], 400);
	sdp_zpolicy_cost(&costs, 65536, SDP_WAY_ZCOPY, 640 * 64, 0);
	KUNIT_EXPECT_EQ(test, costs.at[3].cycle[SDP_WAY_ZCOPY], 400);
	sdp_zpolicy_cost(&costs, 65536, SDP_WAY_ZCOPY, 640 * 64, 0);
	KUNIT_EXPECT_EQ(test, costs.at[3].cycle[SDP_WAY_ZCOPY], 430);
}

/* What is true of one length says nothing of another. */
static void sdp_zpolicy_prefers__by_length(struct kunit *test)
{
	struct sdp_zpolicy_costs costs = {};

	spend_many(&costs, BOTH, 8192, 300, 900);
	spend_many(&costs, BOTH, 16384, 300, 200);
	spend_many(&costs, BOTH, 1 << 20, 300, 200);
	KUNIT_EXPECT_EQ(test, spend(&costs, 8192, 300, 900), SDP_WAY_COPY);
	KUNIT_EXPECT_EQ(test, spend(&costs, 1, 300, 900), SDP_WAY_COPY);
	KUNIT_EXPECT_EQ(test, spend(&costs, 8193, 300, 200), SDP_WAY_ZCOPY);
	KUNIT_EXPECT_EQ(test, spend(&costs, 16384, 300, 200), SDP_WAY_ZCOPY);
	KUNIT_EXPECT_EQ(test, spend(&costs, 600000, 300, 200), SDP_WAY_ZCOPY);
	/* Nothing is known of these. */
	KUNIT_EXPECT_EQ(test, costs.at[2].known[SDP_WAY_ZCOPY], 0);
}

/* Long ones are not tried both ways, but go as those of a MiB do. */
static void sdp_zpolicy_prefers__long(struct kunit *test)
{
	struct sdp_zpolicy_costs costs = {};

	KUNIT_EXPECT_EQ(test, spend_many(&costs, 2 * TURN, 16 << 20, 200, 300),
			2 * TURN);
	spend_many(&costs, FIRST, 1 << 20, 200, 300);
	KUNIT_EXPECT_EQ(test, spend(&costs, 16 << 20, 200, 300), SDP_WAY_ZCOPY);
	spend_many(&costs, FIRST, 1 << 20, 200, 300);
	KUNIT_EXPECT_EQ(test, spend_many(&costs, 2 * TURN, (1 << 20) + 1, 200,
					 300), 0);
	KUNIT_EXPECT_EQ(test, spend_many(&costs, 2 * TURN, 1 << 30, 200, 300),
			0);
}

static void sdp_zpolicy_prefers__changes(struct kunit *test)
{
	struct sdp_zpolicy_costs costs = {};

	spend_many(&costs, BOTH + 1, 65536, 500, 400);
	/* Once the program went away: that is not lending's fault. */
	sdp_zpolicy_cost(&costs, 65536, SDP_WAY_ZCOPY, 2000000000, 0);
	KUNIT_EXPECT_LE(test, costs.at[3].cycle[SDP_WAY_ZCOPY], 450);
	spend_many(&costs, 20 * TURN - 1, 65536, 500, 400);
	KUNIT_EXPECT_EQ(test, spend_many(&costs, TURN, 65536, 500, 400),
			SDP_ZPOLICY_TRY);
	/* It has become dear for good. */
	spend_many(&costs, 20 * TURN, 65536, 500, 800);
	KUNIT_EXPECT_EQ(test, spend_many(&costs, TURN, 65536, 500, 800),
			SDP_ZPOLICY_TRIES);
	/* And cheap again. */
	spend_many(&costs, 20 * TURN, 65536, 500, 300);
	KUNIT_EXPECT_EQ(test, spend_many(&costs, TURN, 65536, 500, 300),
			SDP_ZPOLICY_TRY);
}

/* A peer that refuses is offered less; one that writes is not concerned. */
static void sdp_zpolicy_offered__backs_off(struct kunit *test)
{
	static const u8 missed[] = { 1, 3, 7, 15, 31, 63, 63 };
	struct sdp_zpolicy policy = {};
	u32 i, n;

	KUNIT_EXPECT_TRUE(test, sdp_zpolicy_may_offer(&policy, false));
	for (i = 0; i < ARRAY_SIZE(missed); i++) {
		sdp_zpolicy_offered(&policy, false);
		for (n = 0; !sdp_zpolicy_may_offer(&policy, false); n++)
			;
		KUNIT_EXPECT_EQ(test, n, missed[i]);
	}
	sdp_zpolicy_offered(&policy, false);
	KUNIT_EXPECT_TRUE(test, sdp_zpolicy_may_offer(&policy, true));
	KUNIT_EXPECT_FALSE(test, sdp_zpolicy_may_offer(&policy, false));
	sdp_zpolicy_offered(&policy, true);
	KUNIT_EXPECT_TRUE(test, sdp_zpolicy_may_offer(&policy, false));
}

static void sdp_zpolicy_asked__backs_off(struct kunit *test)
{
	static const u8 missed[] = { 1, 3, 7, 15, 31, 63, 63, 63 };
	struct sdp_zpolicy policy = {};
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(missed); i++) {
		sdp_zpolicy_asked(&policy, false);
		for (n = 0; !sdp_zpolicy_may_ask(&policy); n++)
			;
		KUNIT_EXPECT_EQ(test, n, missed[i]);
	}
	/* What is sent has a habit of its own. */
	KUNIT_EXPECT_TRUE(test, sdp_zpolicy_may_offer(&policy, false));
	sdp_zpolicy_asked(&policy, true);
	KUNIT_EXPECT_TRUE(test, sdp_zpolicy_may_ask(&policy));
}

/* A send costs what has passed until the next one begins. */
static void sdp_zpolicy_begin__measures(struct kunit *test)
{
	struct sdp_zpolicy policy = {};
	const struct sdp_zpolicy_cost *cost = &policy.costs.at[0];
	u64 now = 1000;

	sdp_zpolicy_begin(&policy, 1024, now);
	sdp_zpolicy_end(&policy, 1024, SDP_WAY_ZCOPY, 70);
	/* The first of a way is not counted. */
	sdp_zpolicy_begin(&policy, 1024, now += 500);
	KUNIT_EXPECT_EQ(test, 0, cost->known[SDP_WAY_ZCOPY]);
	sdp_zpolicy_end(&policy, 1024, SDP_WAY_ZCOPY, 70);
	sdp_zpolicy_begin(&policy, 1024, now += 400);
	KUNIT_EXPECT_EQ(test, 400, cost->cycle[SDP_WAY_ZCOPY]);
	KUNIT_EXPECT_EQ(test, 70, cost->own[SDP_WAY_ZCOPY]);
	/* One that has not ended measures nothing. */
	sdp_zpolicy_begin(&policy, 1024, now += 300);
	KUNIT_EXPECT_EQ(test, 1, cost->known[SDP_WAY_ZCOPY]);
	/* Nor does what is longer than all that is compared, of which 2^32 ns are known. */
	sdp_zpolicy_end(&policy, ~(size_t)0, SDP_WAY_COPY, ~(u64)0);
	KUNIT_EXPECT_EQ(test, (int)SDP_WAY_ZCOPY,
			(int)sdp_zpolicy_begin(&policy, ~(size_t)0, now + (1ULL << 40)));
}

static struct kunit_case sdp_zpolicy_cases[] = {
	KUNIT_CASE(sdp_zpolicy_prefers__cheaper),
	KUNIT_CASE(sdp_zpolicy_prefers__own_time),
	KUNIT_CASE(sdp_zpolicy_cost__first_of_a_way),
	KUNIT_CASE(sdp_zpolicy_prefers__by_length),
	KUNIT_CASE(sdp_zpolicy_prefers__long),
	KUNIT_CASE(sdp_zpolicy_prefers__changes),
	KUNIT_CASE(sdp_zpolicy_offered__backs_off),
	KUNIT_CASE(sdp_zpolicy_asked__backs_off),
	KUNIT_CASE(sdp_zpolicy_begin__measures),
	{}
};

static struct kunit_suite sdp_zpolicy_suite = {
	.name = "sdp_zpolicy",
	.test_cases = sdp_zpolicy_cases,
};

kunit_test_suite(sdp_zpolicy_suite);
