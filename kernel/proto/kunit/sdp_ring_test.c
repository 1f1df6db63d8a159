// SPDX-License-Identifier: GPL-2.0
/*
 * Does the ring of receive buffers grow when it should, and no further?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_ring.c"

enum { PAGE = 4096, FULL = 16384 };

/* A ring of some buffers of this size, with room for more. */
static struct sdp_ring ring_of(u16 nbufs, u32 size)
{
	struct sdp_ring ring = { };

	sdp_ring_init(&ring);
	sdp_ring_set_rq_size(&ring, 63);
	while (nbufs--)
		sdp_ring_account(&ring, size, 1);
	sdp_ring_keep_all(&ring);
	return ring;
}

static struct sdp_ring_now now_of(u32 size, u16 posted)
{
	return (struct sdp_ring_now){
		.size = size, .full_size = FULL, .count = 63, .posted = posted,
		.owned = true,
	};
}

static void sdp_ring_wanted__first(struct kunit *test)
{
	struct sdp_ring ring = ring_of(0, PAGE);
	struct sdp_ring_now now = now_of(PAGE, 0);

	KUNIT_EXPECT_EQ(test, 4, sdp_ring_wanted(&ring, &now));
	/* However little it may have. */
	sdp_ring_set_max_bytes(&ring, 1);
	now.mem_over = true;
	KUNIT_EXPECT_EQ(test, 4, sdp_ring_wanted(&ring, &now));
}

/* How many are wanted of a ring that the peer has used most of. */
static void sdp_ring_wanted__grows(struct kunit *test)
{
	static const struct {
		u16 nbufs, posted;
		u32 size, max_bytes, inq, count;
		u16 rq_size;
		bool busy, reading, mem_short;
		int want;
		bool still_low;
	} cases[] = {
		/* Small buffers, and it was so once: four are enough. */
		{ 4, 4, PAGE, ~0U, 0, 63, 63, 0, 1, 0, 0, false },
		/* Again and again, large ones, or what is unread keeps them. */
		{ 4, 4, PAGE, ~0U, 0, 63, 63, 1, 1, 0, 4, false },
		{ 4, 4, FULL, ~0U, 0, 63, 63, 0, 1, 0, 4, false },
		{ 8, 6, PAGE, ~0U, 100, 63, 63, 0, 1, 0, 8, false },
		{ 8, 7, PAGE, ~0U, 100, 63, 63, 0, 1, 0, 0, false },
		{ 8, 6, PAGE, ~0U, 0, 63, 63, 0, 1, 0, 0, false },
		/* Each limit. */
		{ 32, 32, PAGE, ~0U, 0, 63, 63, 1, 1, 0, 31, false },
		{ 32, 32, PAGE, ~0U, 0, 40, 63, 1, 1, 0, 8, false },
		{ 32, 32, PAGE, ~0U, 0, 63, 33, 1, 1, 0, 1, false },
		{ 8, 8, PAGE, 10 * PAGE, 0, 63, 63, 1, 1, 0, 2, false },
		{ 8, 8, PAGE, ~0U, 0, 63, 63, 1, 1, 1, 0, false },
		/* Nobody reads: no more than TCP's first window, until somebody does. */
		{ 32, 32, PAGE, ~0U, 0, 63, 63, 1, 0, 0, 0, true },
		{ 8, 8, FULL, ~0U, 0, 63, 63, 1, 0, 0, 0, true },
		{ 4, 4, FULL, ~0U, 0, 63, 63, 1, 0, 0, 4, false },
	};
	unsigned int i, j, times;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sdp_ring ring = ring_of(cases[i].nbufs, cases[i].size);
		struct sdp_ring_now now = now_of(cases[i].size, cases[i].posted);

		sdp_ring_set_max_bytes(&ring, cases[i].max_bytes);
		sdp_ring_set_rq_size(&ring, cases[i].rq_size);
		now.count = cases[i].count;
		now.inq = cases[i].inq;
		now.reading = cases[i].reading;
		now.mem_short = cases[i].mem_short;
		times = 1;
		if (cases[i].busy)
			times = SDP_RING_BUSY;
		for (j = 0; j < times; j++)
			sdp_ring_used(&ring, 0, false, 1000);
		KUNIT_EXPECT_TRUE(test, sdp_ring_is_low(&ring));
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want, sdp_ring_wanted(&ring, &now),
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].still_low, sdp_ring_is_low(&ring),
				    "case %u", i);
	}
}

/* It does not grow again before those are there that were wanted. */
static void sdp_ring_wanted__once(struct kunit *test)
{
	struct sdp_ring ring = ring_of(4, FULL);
	struct sdp_ring_now now = now_of(FULL, 4);

	now.reading = true;
	sdp_ring_used(&ring, 0, false, 1000);
	KUNIT_EXPECT_EQ(test, 4, sdp_ring_wanted(&ring, &now));
	sdp_ring_used(&ring, 0, false, 1000);
	KUNIT_EXPECT_EQ(test, 4, sdp_ring_wanted(&ring, &now));
	KUNIT_EXPECT_TRUE(test, sdp_ring_is_low(&ring));
	now.dropped = 4;
	KUNIT_EXPECT_EQ(test, 12, sdp_ring_wanted(&ring, &now));
}

/* Fewer are wanted than there are. */
static void sdp_ring_wanted__less(struct kunit *test)
{
	struct sdp_ring ring = ring_of(16, PAGE);
	struct sdp_ring_now now = now_of(PAGE, 10);

	/* Of those that are at hand some go, and four stay posted. */
	now.at_hand = 6;
	now.mem_over = true;
	KUNIT_EXPECT_EQ(test, -12, sdp_ring_wanted(&ring, &now));
	/* Of what is unread none is there to go. */
	ring = ring_of(16, PAGE);
	now = now_of(PAGE, 4);
	now.mem_over = true;
	KUNIT_EXPECT_EQ(test, 0, sdp_ring_wanted(&ring, &now));
	/* Of a full ring those stay that are not for data, and no more. */
	ring = ring_of(12, PAGE);
	sdp_ring_keep_fewest(&ring);
	sdp_ring_set_max_bytes(&ring, 8 * PAGE);
	now = now_of(PAGE, 3);
	KUNIT_EXPECT_EQ(test, 0, sdp_ring_wanted(&ring, &now));
	now.posted = 1;
	KUNIT_EXPECT_EQ(test, 1, sdp_ring_wanted(&ring, &now));
	/* The user has made SO_RCVBUF smaller: what was read is not posted. */
	ring = ring_of(16, PAGE);
	now = now_of(PAGE, 8);
	now.at_hand = 2;
	sdp_ring_set_max_bytes(&ring, 12 * PAGE);
	KUNIT_EXPECT_EQ(test, 0, sdp_ring_wanted(&ring, &now));
	now.reading = true;
	KUNIT_EXPECT_EQ(test, -4, sdp_ring_wanted(&ring, &now));
}

/* The peer can send nothing, and who waits for more is told once. */
static void sdp_ring_wanted__full(struct kunit *test)
{
	struct sdp_ring ring = ring_of(8, FULL);
	struct sdp_ring_now now = now_of(FULL, 2);

	sdp_ring_set_max_bytes(&ring, 8 * FULL);
	now.inq = 6 * FULL;
	KUNIT_EXPECT_EQ(test, 0, sdp_ring_wanted(&ring, &now));
	KUNIT_EXPECT_TRUE(test, sdp_ring_is_full(&ring, 2));
	KUNIT_EXPECT_FALSE(test, sdp_ring_is_full(&ring, 3));
	KUNIT_EXPECT_FALSE(test, sdp_ring_full_news(&ring));
	/* Somebody waits for more: it is looked at again, and is news. */
	sdp_ring_set_wants(&ring, 7 * FULL);
	sdp_ring_look_again(&ring, false);
	KUNIT_EXPECT_FALSE(test, sdp_ring_is_full(&ring, 2));
	KUNIT_EXPECT_TRUE(test, sdp_ring_is_low(&ring));
	sdp_ring_wanted(&ring, &now);
	KUNIT_EXPECT_TRUE(test, sdp_ring_may_be_full_news(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_ring_full_news(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_ring_full_news(&ring));
	/* That it still is, is none. */
	sdp_ring_look_again(&ring, true);
	KUNIT_EXPECT_TRUE(test, sdp_ring_is_full(&ring, 2));
	sdp_ring_wanted(&ring, &now);
	KUNIT_EXPECT_FALSE(test, sdp_ring_full_news(&ring));
}

/* Before accept(): four at a time, within the listener's SO_RCVBUF. */
static void sdp_ring_wanted__before(struct kunit *test)
{
	static const struct {
		u16 nbufs, posted;
		u32 max_bytes, bounced;
		bool mem_short;
		int want;
		bool withheld;
	} cases[] = {
		{ 0, 0, 16 * PAGE, 0, 0, 4, false },
		{ 4, 3, 16 * PAGE, 0, 0, 1, false },
		{ 15, 3, 16 * PAGE, 0, 0, 1, false },
		{ 16, 3, 16 * PAGE, 0, 0, 0, true },
		{ 8, 3, 16 * PAGE, 8 * PAGE, 0, 0, true },
		{ 63, 3, ~0U, 0, 0, 0, true },
		/* More than a window nobody gets who is not read. */
		{ 32, 3, ~0U, 0, 0, 0, true },
		/* The four that the credit rules need are there in any case. */
		{ 2, 2, PAGE, 0, 0, 2, true },
		{ 2, 2, ~0U, 0, 1, 2, true },
		{ 4, 3, ~0U, 0, 1, 0, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sdp_ring ring = ring_of(cases[i].nbufs, PAGE);
		struct sdp_ring_now now = now_of(PAGE, cases[i].posted);

		now.owned = false;
		now.bounced = cases[i].bounced;
		now.mem_short = cases[i].mem_short;
		sdp_ring_set_max_bytes(&ring, cases[i].max_bytes);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want, sdp_ring_wanted(&ring, &now),
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].withheld, sdp_ring_withheld(&ring),
				    "case %u", i);
	}
}

static void sdp_ring_used__lull(struct kunit *test)
{
	struct sdp_ring ring = ring_of(16, PAGE);
	unsigned long at = -3UL;
	unsigned int i;

	/* A quarter is left, or the message was empty: nothing is short. */
	sdp_ring_used(&ring, 5, false, at);
	sdp_ring_used(&ring, 0, true, at);
	KUNIT_EXPECT_FALSE(test, sdp_ring_is_low(&ring));
	/* So often that it is busy, by messages that tell of buffers alone. */
	for (i = 1; i < SDP_RING_BUSY; i++)
		sdp_ring_told_alone(&ring, at += SDP_RING_LULL);
	KUNIT_EXPECT_FALSE(test, sdp_ring_is_low(&ring));
	sdp_ring_told_alone(&ring, at += SDP_RING_LULL);
	KUNIT_EXPECT_TRUE(test, sdp_ring_is_low(&ring));
	/* After a lull it begins anew. */
	ring = ring_of(16, PAGE);
	for (i = 1; i < SDP_RING_BUSY; i++)
		sdp_ring_told_alone(&ring, at);
	sdp_ring_told_alone(&ring, at + SDP_RING_LULL + 1);
	KUNIT_EXPECT_FALSE(test, sdp_ring_is_low(&ring));
}

static void sdp_ring_new_size__bounds(struct kunit *test)
{
	static const struct {
		u32 asked, max_bytes, want;
	} cases[] = {
		{ FULL, ~0U, FULL },
		{ FULL + 5, ~0U, FULL },
		{ ~0U, ~0U, FULL },
		{ 9000, ~0U, 8192 },
		{ PAGE, ~0U, 0 },
		{ 0, ~0U, 0 },
		/* One is no more than an eighth, and the first have room beside these. */
		{ FULL, 8 * 8192, 8192 },
		{ FULL, 4 * PAGE + 4 * 8192, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sdp_ring ring = ring_of(4, PAGE);

		sdp_ring_ask(&ring, cases[i].asked, 0, false);
		sdp_ring_set_max_bytes(&ring, cases[i].max_bytes);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].want,
				    sdp_ring_new_size(&ring, PAGE, FULL, PAGE),
				    "case %u", i);
	}
}

static void sdp_ring_may_resize__when(struct kunit *test)
{
	struct sdp_ring ring = ring_of(4, PAGE);

	sdp_ring_ask(&ring, FULL, 100, true);
	KUNIT_EXPECT_TRUE(test, sdp_ring_asks(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_ring_may_resize(&ring, true, false, 100, 50, false));
	KUNIT_EXPECT_TRUE(test, sdp_ring_withheld(&ring));
	/* Not while nobody takes what has come, but if more is waited for. */
	KUNIT_EXPECT_FALSE(test, sdp_ring_may_resize(&ring, true, true, 100, 50, false));
	KUNIT_EXPECT_TRUE(test, sdp_ring_may_resize(&ring, true, true, 100, 50, true));
	KUNIT_EXPECT_TRUE(test, sdp_ring_may_resize(&ring, true, true, 101, 49, false));
	KUNIT_EXPECT_TRUE(test, sdp_ring_may_resize(&ring, true, true, 100, 0, false));
	KUNIT_EXPECT_TRUE(test, sdp_ring_may_resize(&ring, false, true, 100, 50, false));
}

/* The answer goes when the last of the old ones was used. */
static void sdp_ring_resized__answer(struct kunit *test)
{
	struct sdp_ring ring = ring_of(16, PAGE);
	struct sdp_ring_now now = now_of(FULL, 4);

	sdp_ring_ask(&ring, FULL, 0, false);
	sdp_ring_resized(&ring, PAGE, FULL, 2);
	KUNIT_EXPECT_FALSE(test, sdp_ring_answered(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_ring_asks(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_ring_has_old(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_ring_old_used(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_ring_old_used(&ring));
	/* As much memory as before, in fewer buffers. */
	now.mem_over = false;
	ring.nbufs = 0;
	KUNIT_EXPECT_EQ(test, 4, sdp_ring_wanted(&ring, &now));
}

static void sdp_ring_promise__shrinks(struct kunit *test)
{
	struct sdp_ring ring = ring_of(16, FULL);
	struct sdp_ring_now now = now_of(FULL, 16);
	u32 mseq;

	sdp_ring_ask(&ring, 2 * FULL, 0, false);
	KUNIT_EXPECT_FALSE(test, sdp_ring_promise(&ring, FULL, PAGE, PAGE));
	sdp_ring_ask(&ring, 100, 0, false);
	KUNIT_EXPECT_TRUE(test, sdp_ring_promise(&ring, FULL, PAGE, PAGE));
	KUNIT_EXPECT_EQ(test, PAGE, sdp_ring_promised(&ring));
	KUNIT_EXPECT_TRUE(test, sdp_ring_shrinks(&ring));
	/* None more is posted, and those that come back go. */
	sdp_ring_keep_fewest(&ring);
	KUNIT_EXPECT_EQ(test, -12, sdp_ring_wanted(&ring, &now));
	/* Until the peer has heard of it nothing smaller is. */
	KUNIT_EXPECT_FALSE(test, sdp_ring_promise_mseq(&ring, &mseq));
	sdp_ring_promise_posted(&ring, 77);
	KUNIT_EXPECT_TRUE(test, sdp_ring_promise_mseq(&ring, &mseq));
	KUNIT_EXPECT_EQ(test, 77, mseq);
	KUNIT_EXPECT_EQ(test, PAGE, sdp_ring_shrink(&ring, 2));
	KUNIT_EXPECT_FALSE(test, sdp_ring_promise_mseq(&ring, &mseq));
	/* Those posted then are used up, and are not a sign of being busy. */
	sdp_ring_used(&ring, 0, false, 1000);
	KUNIT_EXPECT_TRUE(test, sdp_ring_flushed(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_ring_flushed(&ring));
	sdp_ring_used(&ring, 0, false, 1000);
	KUNIT_EXPECT_FALSE(test, sdp_ring_is_low(&ring));
	KUNIT_EXPECT_FALSE(test, sdp_ring_shrinks(&ring));
	sdp_ring_used(&ring, 0, false, 1000);
	KUNIT_EXPECT_TRUE(test, sdp_ring_is_low(&ring));
}

static struct kunit_case sdp_ring_cases[] = {
	KUNIT_CASE(sdp_ring_wanted__first),
	KUNIT_CASE(sdp_ring_wanted__grows),
	KUNIT_CASE(sdp_ring_wanted__once),
	KUNIT_CASE(sdp_ring_wanted__less),
	KUNIT_CASE(sdp_ring_wanted__full),
	KUNIT_CASE(sdp_ring_wanted__before),
	KUNIT_CASE(sdp_ring_used__lull),
	KUNIT_CASE(sdp_ring_new_size__bounds),
	KUNIT_CASE(sdp_ring_may_resize__when),
	KUNIT_CASE(sdp_ring_resized__answer),
	KUNIT_CASE(sdp_ring_promise__shrinks),
	{}
};

static struct kunit_suite sdp_ring_suite = {
	.name = "sdp_ring",
	.test_cases = sdp_ring_cases,
};

kunit_test_suite(sdp_ring_suite);
