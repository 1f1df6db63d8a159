// SPDX-License-Identifier: GPL-2.0
/*
 * Is the last message held back as TCP holds it, and for no longer?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_cork.c"

/* Of two messages that were sent so much is acknowledged. */
static struct sdp_flow flow_acked(u32 mseq)
{
	struct sdp_flow flow;

	sdp_flow_init(&flow, 64, 64);
	flow.tx_acked = mseq;
	return flow;
}

static void sdp_cork_hold__table(struct kunit *test)
{
	enum { N = SDP_DELAY_NODELAY, C = SDP_DELAY_CORK, P = SDP_DELAY_PUSH };
	static const struct {
		u8 delay;
		bool small_out;
		u32 under_way;
		enum sdp_cork_hold want;
	} cases[] = {
		/* Nagle: only a small one under way holds a small one back. */
		{ 0, false, 0, SDP_HOLD_NONE },
		{ 0, false, 60, SDP_HOLD_NONE },
		{ 0, true, 1, SDP_HOLD_SENT },
		{ 0, true, 60, SDP_HOLD_SENT },
		/* No delay: only when many are under way. */
		{ N, true, 1, SDP_HOLD_NONE },
		{ N, true, SDP_CORK_AUTO - 1, SDP_HOLD_NONE },
		{ N, true, SDP_CORK_AUTO, SDP_HOLD_SENT },
		{ N, false, SDP_CORK_AUTO, SDP_HOLD_SENT },
		/* Corked: whatever is under way, and no delay or not. */
		{ C, false, 0, SDP_HOLD_CORK },
		{ C, true, 60, SDP_HOLD_CORK },
		{ C | N, false, 0, SDP_HOLD_CORK },
		/* Pushed: it goes. */
		{ P, true, 60, SDP_HOLD_NONE },
		{ P | C, true, 60, SDP_HOLD_NONE },
		{ P | N, true, 60, SDP_HOLD_NONE },
		{ P | N | C, true, 60, SDP_HOLD_NONE },
	};
	struct sdp_flow flow = flow_acked(4);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sdp_cork cork = { .delay = cases[i].delay };

		if (cases[i].small_out)
			sdp_cork_posted(&cork, 5);
		KUNIT_EXPECT_EQ_MSG(test, (int)cases[i].want,
				    (int)sdp_cork_hold(&cork, &flow, true,
						       cases[i].under_way, 0),
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want == SDP_HOLD_SENT,
				    sdp_cork_is_held(&cork), "case %u", i);
		/* Full, or others behind it: it goes whatever was asked for. */
		KUNIT_EXPECT_EQ_MSG(test, (int)SDP_HOLD_NONE,
				    (int)sdp_cork_hold(&cork, &flow, false,
						       cases[i].under_way, 0),
				    "case %u, full", i);
		KUNIT_EXPECT_FALSE(test, sdp_cork_is_held(&cork));
	}
}

/* A small message has arrived by its completion, or by the peer's MSeqAck. */
static void sdp_cork_hold__arrived(struct kunit *test)
{
	struct sdp_flow before = flow_acked(4), after = flow_acked(6);
	struct sdp_cork cork = {};

	sdp_cork_posted(&cork, 5);
	sdp_cork_posted(&cork, 6);
	sdp_cork_arrived(&cork, 5);
	KUNIT_EXPECT_EQ(test, (int)SDP_HOLD_SENT,
			(int)sdp_cork_hold(&cork, &before, true, 1, 0));
	KUNIT_EXPECT_EQ(test, (int)SDP_HOLD_NONE,
			(int)sdp_cork_hold(&cork, &after, true, 1, 0));
	sdp_cork_posted(&cork, 7);
	sdp_cork_arrived(&cork, 7);
	KUNIT_EXPECT_EQ(test, (int)SDP_HOLD_NONE,
			(int)sdp_cork_hold(&cork, &before, true, 1, 0));
}

/* A write behind what is corked does not make it wait longer; across the wrap. */
static void sdp_cork_timer__wrap(struct kunit *test)
{
	struct sdp_cork cork = { .delay = SDP_DELAY_CORK };
	struct sdp_flow flow = flow_acked(4);
	unsigned long begin = -5UL;

	KUNIT_EXPECT_EQ(test, 0, sdp_cork_timer(&cork, begin, 10));
	KUNIT_EXPECT_FALSE(test, sdp_cork_delay(&cork) & SDP_DELAY_PUSH);
	sdp_cork_hold(&cork, &flow, true, 0, begin);
	sdp_cork_hold(&cork, &flow, true, 0, begin + 7);
	KUNIT_EXPECT_EQ(test, 3, sdp_cork_timer(&cork, begin + 7, 10));
	KUNIT_EXPECT_FALSE(test, sdp_cork_delay(&cork) & SDP_DELAY_PUSH);
	KUNIT_EXPECT_EQ(test, 0, sdp_cork_timer(&cork, begin + 10, 10));
	KUNIT_EXPECT_TRUE(test, sdp_cork_delay(&cork) & SDP_DELAY_PUSH);
	KUNIT_EXPECT_EQ(test, (int)SDP_HOLD_NONE,
			(int)sdp_cork_hold(&cork, &flow, true, 0, begin + 10));
}

/* What is corked after that has its own time. */
static void sdp_cork_timer__again(struct kunit *test)
{
	struct sdp_cork cork = { .delay = SDP_DELAY_CORK };
	struct sdp_flow flow = flow_acked(4);

	sdp_cork_hold(&cork, &flow, true, 0, 100);
	sdp_cork_hold(&cork, &flow, false, 0, 104);
	sdp_cork_hold(&cork, &flow, true, 0, 105);
	KUNIT_EXPECT_EQ(test, 5, sdp_cork_timer(&cork, 110, 10));
}

static void sdp_cork_set_delay__uncorks(struct kunit *test)
{
	struct sdp_cork cork = { .delay = SDP_DELAY_CORK };
	struct sdp_flow flow = flow_acked(4);

	sdp_cork_hold(&cork, &flow, true, 0, 100);
	sdp_cork_set_delay(&cork, SDP_DELAY_CORK | SDP_DELAY_NODELAY);
	KUNIT_EXPECT_EQ(test, 2, sdp_cork_timer(&cork, 108, 10));
	sdp_cork_set_delay(&cork, 0);
	KUNIT_EXPECT_EQ(test, 0, sdp_cork_timer(&cork, 108, 10));
	KUNIT_EXPECT_EQ(test, 0, sdp_cork_delay(&cork));
}

static void sdp_cork_taken_back__not_held(struct kunit *test)
{
	struct sdp_flow flow = flow_acked(4);
	struct sdp_cork cork = {};

	sdp_cork_posted(&cork, 5);
	sdp_cork_hold(&cork, &flow, true, 1, 0);
	KUNIT_EXPECT_TRUE(test, sdp_cork_is_held(&cork));
	sdp_cork_taken_back(&cork);
	KUNIT_EXPECT_FALSE(test, sdp_cork_is_held(&cork));
}

static struct kunit_case sdp_cork_cases[] = {
	KUNIT_CASE(sdp_cork_hold__table),
	KUNIT_CASE(sdp_cork_hold__arrived),
	KUNIT_CASE(sdp_cork_timer__wrap),
	KUNIT_CASE(sdp_cork_timer__again),
	KUNIT_CASE(sdp_cork_set_delay__uncorks),
	KUNIT_CASE(sdp_cork_taken_back__not_held),
	{}
};

static struct kunit_suite sdp_cork_suite = {
	.name = "sdp_cork",
	.test_cases = sdp_cork_cases,
};

kunit_test_suite(sdp_cork_suite);
