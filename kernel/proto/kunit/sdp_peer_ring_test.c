// SPDX-License-Identifier: GPL-2.0
/*
 * Is the peer asked for larger buffers when they would help, and for smaller ones
 * when we are idle?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_peer_ring.c"

static void sdp_peer_ring_wants_more__again(struct kunit *test)
{
	struct sdp_peer_ring ring = { };
	unsigned long now = -5UL;

	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_wants_more(&ring, 16384, false, now));
	KUNIT_EXPECT_EQ(test, 16384, sdp_peer_ring_asked(&ring));
	/* Not while it has not answered, nor soon after a refusal. */
	now += SDP_PEER_RING_AGAIN - 1;
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_wants_more(&ring, 16384, false, now));
	now++;
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_wants_more(&ring, 16384, true, now));
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_wants_more(&ring, 32768, false, now));
	KUNIT_EXPECT_EQ(test, 32768, sdp_peer_ring_asked(&ring));
}

static void sdp_peer_ring_cut__often(struct kunit *test)
{
	struct sdp_peer_ring ring = { };
	int i;

	for (i = 1; i < SDP_PEER_RING_CUTS; i++)
		KUNIT_EXPECT_FALSE(test, sdp_peer_ring_cut(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_cut(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_cut(&ring));
}

static void sdp_peer_ring_shrink__table(struct kunit *test)
{
	static const struct {
		bool grown, asks_less, ends;
		unsigned long waited, idle;
		u16 bufs;
		u32 size;
		bool ask, still;
		unsigned long again;
	} cases[] = {
		/* It has not grown. */
		{ 0, 0, 0, 900, 500, 63, 16384, 0, 0, 0 },
		/* Not yet. */
		{ 1, 0, 0, 0, 500, 63, 16384, 0, 1, 500 },
		{ 1, 0, 0, 499, 500, 63, 16384, 0, 1, 1 },
		/* Many buffers, or large ones. */
		{ 1, 0, 0, 500, 500, 63, 4096, 1, 1, 500 },
		{ 1, 0, 0, 500, 500, 4, 16384, 1, 1, 500 },
		/* It has shrunk by itself. */
		{ 1, 0, 0, 500, 500, SDP_PEER_RING_FEW, 4096, 0, 0, 0 },
		/* It has been asked. */
		{ 1, 1, 0, 900, 500, 63, 16384, 0, 1, 500 },
		/* The user does not want that, or the end gives all back. */
		{ 1, 0, 0, 900, 0, 63, 16384, 0, 1, 0 },
		{ 1, 0, 1, 900, 500, 63, 16384, 0, 0, 0 },
	};
	static const unsigned long begins[] = { 1000000, -5UL };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (j = 0; j < ARRAY_SIZE(begins); j++) {
			struct sdp_peer_ring ring = {
				.grown = cases[i].grown,
				.asks_less = cases[i].asks_less,
			};
			struct sdp_peer_ring_idle idle = {
				.now = begins[j] + cases[i].waited,
				.since = begins[j],
				.idle = cases[i].idle,
				.ends = cases[i].ends,
				.bufs = cases[i].bufs,
				.size = cases[i].size,
				.least = 4096,
			};
			bool ask;

			KUNIT_EXPECT_EQ_MSG(test, cases[i].again,
					    sdp_peer_ring_shrink(&ring, &idle, &ask),
					    "case %u of %u", i, j);
			KUNIT_EXPECT_EQ_MSG(test, cases[i].ask, ask, "case %u of %u", i, j);
			KUNIT_EXPECT_EQ_MSG(test, cases[i].still,
					    sdp_peer_ring_is_grown(&ring),
					    "case %u of %u", i, j);
		}
	}
}

/* What it has given back is used up, one message each. */
static void sdp_peer_ring_given__less(struct kunit *test)
{
	struct sdp_peer_ring ring = { .grown = true };

	sdp_peer_ring_ask_less(&ring, 4096, 16384, 100);
	sdp_peer_ring_given(&ring, 4096, 2);
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_is_grown(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_uses_up(&ring));
	sdp_peer_ring_used(&ring);
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_uses_up(&ring));
	sdp_peer_ring_used(&ring);
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_uses_up(&ring));
	sdp_peer_ring_used(&ring);
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_uses_up(&ring));
	/* It may grow again, and be asked for more at once. */
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_grow(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_wants_more(&ring, 16384, true, 101));
}

/* One that gives something, and one that gives nothing, are not asked again. */
static void sdp_peer_ring_given__not_all(struct kunit *test)
{
	struct sdp_peer_ring ring = { .grown = true };

	sdp_peer_ring_ask_less(&ring, 4096, 16384, 100);
	sdp_peer_ring_given(&ring, 8192, 2);
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_uses_up(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_grow(&ring));
	ring = (struct sdp_peer_ring){ .grown = true };
	sdp_peer_ring_ask_less(&ring, 4096, 16384, 100);
	sdp_peer_ring_given(&ring, 16384, 2);
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_uses_up(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_grow(&ring));
}

/* The answer to a question for more has nothing used up. */
static void sdp_peer_ring_given__more(struct kunit *test)
{
	struct sdp_peer_ring ring = { .grown = true };

	sdp_peer_ring_wants_more(&ring, 16384, false, 100);
	sdp_peer_ring_given(&ring, 16384, 4);
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_uses_up(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_is_grown(&ring));
}

static void sdp_peer_ring_init__keeps(struct kunit *test)
{
	struct sdp_peer_ring ring = { };

	sdp_peer_ring_init(&ring, SDP_PEER_RING_FEW + 1);
	KUNIT_EXPECT_FALSE(test, sdp_peer_ring_grow(&ring));
	sdp_peer_ring_init(&ring, SDP_PEER_RING_FEW);
	KUNIT_EXPECT_TRUE(test, sdp_peer_ring_grow(&ring));
}

static struct kunit_case sdp_peer_ring_cases[] = {
	KUNIT_CASE(sdp_peer_ring_init__keeps),
	KUNIT_CASE(sdp_peer_ring_wants_more__again),
	KUNIT_CASE(sdp_peer_ring_cut__often),
	KUNIT_CASE(sdp_peer_ring_shrink__table),
	KUNIT_CASE(sdp_peer_ring_given__less),
	KUNIT_CASE(sdp_peer_ring_given__not_all),
	KUNIT_CASE(sdp_peer_ring_given__more),
	{}
};

static struct kunit_suite sdp_peer_ring_suite = {
	.name = "sdp_peer_ring",
	.test_cases = sdp_peer_ring_cases,
};

kunit_test_suite(sdp_peer_ring_suite);
