// SPDX-License-Identifier: GPL-2.0
/*
 * Is a send queue never overfilled, and does a completion always come that
 * frees it?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_sq.h"

/* Post; returns whether it is signalled. */
static bool sq_post(struct sdp_sq *sq, u16 places, u32 bytes, bool wanted,
		    u16 *position)
{
	*position = sdp_sq_post(sq, places, bytes, &wanted);
	return wanted;
}

static void sdp_sq_is_never_overfilled(struct kunit *test)
{
	struct sdp_sq sq;
	u16 position;
	int n;

	sdp_sq_init(&sq, 16, false);
	for (n = 0; sdp_sq_may(&sq, true); n += SDP_SQ_PLACES)
		sq_post(&sq, SDP_SQ_PLACES, 0, false, &position);
	KUNIT_EXPECT_EQ(test, n, 15);
	KUNIT_EXPECT_FALSE(test, sdp_sq_may(&sq, false));
	sdp_sq_done(&sq, position);
	KUNIT_EXPECT_TRUE(test, sdp_sq_may(&sq, false));
	for (n = 0; sdp_sq_may(&sq, false); n++)
		sq_post(&sq, 1, 0, false, &position);
	KUNIT_EXPECT_EQ(test, n, 14);	/* the longest request has room, or none goes */
}

/* Positions go round; the queue must not see it. */
static void sdp_sq_goes_round(struct kunit *test)
{
	u16 position, signalled_at;
	struct sdp_sq sq;
	u32 i;

	sdp_sq_init(&sq, 32, false);
	signalled_at = 0;
	for (i = 0; i < 3 * 65536; i++) {
		if (!sdp_sq_may(&sq, false)) {
			sdp_sq_done(&sq, signalled_at);
			if (!sdp_sq_may(&sq, false))
				break;
		}
		if (sq_post(&sq, 1 + i % 3, 100, false, &position))
			signalled_at = position;
	}
	KUNIT_EXPECT_EQ(test, i, 3 * 65536);
}

static void sdp_sq_signals_some_of_many(struct kunit *test)
{
	struct sdp_sq sq;
	u16 position;
	int i;

	sdp_sq_init(&sq, 256, false);
	for (i = 1; i < SDP_SQ_BURST; i++)
		KUNIT_EXPECT_FALSE(test, sq_post(&sq, 1, 1, false, &position));
	KUNIT_EXPECT_TRUE(test, sq_post(&sq, 1, 1, false, &position));
	/* It counts from there. */
	KUNIT_EXPECT_FALSE(test, sq_post(&sq, 1, 1, false, &position));
	/* Few that are long: they hold memory. */
	KUNIT_EXPECT_TRUE(test, sq_post(&sq, 1, SDP_SQ_BURST_BYTES - 1, false,
					&position));
	KUNIT_EXPECT_FALSE(test, sq_post(&sq, 1, SDP_SQ_BURST_BYTES - 1, false,
					 &position));
	/* One that is wanted counts for those before. */
	KUNIT_EXPECT_TRUE(test, sq_post(&sq, 1, 0, true, &position));
	KUNIT_EXPECT_FALSE(test, sq_post(&sq, 1, 1, false, &position));
}

static void sdp_sq_registers_alone(struct kunit *test)
{
	struct sdp_sq sq;
	u16 position;

	sdp_sq_init(&sq, 256, true);
	KUNIT_EXPECT_TRUE(test, sdp_sq_may(&sq, true));
	sq_post(&sq, 2, 0, true, &position);
	KUNIT_EXPECT_FALSE(test, sdp_sq_may(&sq, true));
	KUNIT_EXPECT_TRUE(test, sdp_sq_may(&sq, false));
	sdp_sq_done(&sq, position);
	KUNIT_EXPECT_TRUE(test, sdp_sq_may(&sq, true));
}

static struct kunit_case sdp_sq_cases[] = {
	KUNIT_CASE(sdp_sq_is_never_overfilled),
	KUNIT_CASE(sdp_sq_goes_round),
	KUNIT_CASE(sdp_sq_signals_some_of_many),
	KUNIT_CASE(sdp_sq_registers_alone),
	{}
};

static struct kunit_suite sdp_sq_suite = {
	.name = "sdp_sq",
	.test_cases = sdp_sq_cases,
};

kunit_test_suite(sdp_sq_suite);
