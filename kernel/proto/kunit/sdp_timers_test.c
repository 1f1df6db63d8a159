// SPDX-License-Identifier: GPL-2.0
/*
 * Is the peer asked, and given up, when it is time, and looked at no more often?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_timers.c"

/* Where jiffies are interesting: in the middle, and across the wrap. */
static const unsigned long begins[] = { 1000000, 0, -5UL };

#define NEVER SDP_TIMERS_NEVER

/* What is due @after jiffies since the last message and the last progress. */
static void sdp_timers_check__table(struct kunit *test)
{
	enum { OUT = 1, SIG = 2, UNSIG = 4, STARVED = 8, LAST = 16, LOST = 32, ASKED = 64 };
	static const struct {
		u32 keep_idle, user_timeout;
		unsigned int is;
		unsigned long after;
		bool give_up, ask;
		unsigned long next;
	} cases[] = {
		/* Nothing is asked for: nobody looks, whatever is under way. */
		{ 0, 0, 0, 50000, false, false, NEVER },
		{ 0, 0, OUT | SIG, 50000, false, false, NEVER },
		/* Keepalive: not before it is time, then once. */
		{ 500, 0, 0, 0, false, false, 500 },
		{ 500, 0, 0, 499, false, false, 1 },
		{ 500, 0, 0, 500, false, true, NEVER },
		{ 500, 0, ASKED, 9000, false, false, NEVER },
		/* What is under way asks too, if it will be heard of. */
		{ 500, 0, OUT | SIG, 600, false, false, 500 },
		{ 500, 0, OUT | UNSIG, 600, false, true, NEVER },
		/* The user timeout is of what is outstanding, and of a question. */
		{ 0, 300, 0, 9000, false, false, NEVER },
		{ 0, 300, OUT | SIG, 299, false, false, 1 },
		{ 0, 300, OUT | SIG, 300, true, false, NEVER },
		{ 0, 300, OUT, 300, true, false, NEVER },
		{ 0, 300, ASKED, 299, false, false, 1 },
		{ 0, 300, ASKED, 300, true, false, NEVER },
		/* Whose completion nobody would hear of is asked for, and gets its time. */
		{ 0, 300, OUT | UNSIG, 300, false, true, 300 },
		/* Both: the question is asked in time to be answered. */
		{ 500, 300, 0, 500, false, true, 300 },
		{ 100, 300, OUT | SIG, 200, false, false, 100 },
		/* Without credits it is asked after ten seconds, */
		{ 0, 0, STARVED, 0, false, false, SDP_TIMERS_STARVED },
		{ 0, 0, STARVED, SDP_TIMERS_STARVED, false, true, NEVER },
		/* sooner if the user wants that, and not later if he does not. */
		{ 50, 0, STARVED, 0, false, false, 50 },
		{ SDP_TIMERS_STARVED * 2, 0, STARVED, 0, false, false, SDP_TIMERS_STARVED },
		/* When the CM would not tell, each second, */
		{ 0, 0, LOST, 0, false, false, SDP_TIMERS_LOST },
		{ 0, 0, LOST, SDP_TIMERS_LOST, false, true, NEVER },
		/* but of a peer that may go. */
		{ 0, 0, LOST | LAST, 9000, false, false, NEVER },
		{ 500, 0, LAST, 500, false, true, NEVER },
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (j = 0; j < ARRAY_SIZE(begins); j++) {
			unsigned int is = cases[i].is;
			struct sdp_timers timers = {
				.keep_idle	= cases[i].keep_idle,
				.user_timeout	= cases[i].user_timeout,
				.progress	= begins[j],
				.keepalive	= is & ASKED,
				.keepalive_at	= begins[j],
				.cm_lost	= is & LOST,
			};
			struct sdp_timers_now now = {
				.now		= begins[j] + cases[i].after,
				.heard		= begins[j],
				.starved	= is & STARVED,
				.outstanding	= is & OUT,
				.inflight	= is & (SIG | UNSIG),
				.signalled	= is & SIG,
				.last_ack	= is & LAST,
			};
			struct sdp_timers_due due = sdp_timers_check(&timers, &now);

			KUNIT_EXPECT_EQ_MSG(test, cases[i].give_up, due.give_up,
					    "case %u of %u", i, j);
			KUNIT_EXPECT_EQ_MSG(test, cases[i].ask, due.ask,
					    "case %u of %u", i, j);
			KUNIT_EXPECT_EQ_MSG(test, cases[i].next, due.next,
					    "case %u of %u", i, j);
		}
	}
}

/* A question that was answered, or a byte taken, gives the peer its time again. */
static void sdp_timers_check__progress(struct kunit *test)
{
	struct sdp_timers timers = { .user_timeout = 300, .progress = 1000 };
	struct sdp_timers_now now = {
		.now = 1290, .heard = 1000, .outstanding = true, .inflight = true,
		.signalled = true,
	};

	KUNIT_EXPECT_EQ(test, 10, sdp_timers_check(&timers, &now).next);
	sdp_timers_moved(&timers, 1290);
	KUNIT_EXPECT_EQ(test, 1290, sdp_timers_progress(&timers));
	KUNIT_EXPECT_EQ(test, 300, sdp_timers_check(&timers, &now).next);
	/* The answer to a question comes behind what was taken after it. */
	now.outstanding = false;
	sdp_timers_asked(&timers, 1100);
	KUNIT_EXPECT_TRUE(test, sdp_timers_asks(&timers));
	now.now = 1500;
	KUNIT_EXPECT_EQ(test, 90, sdp_timers_check(&timers, &now).next);
}

static void sdp_timers_begin__looks(struct kunit *test)
{
	struct sdp_timers timers = { };

	KUNIT_EXPECT_EQ(test, NEVER, sdp_timers_begin(&timers, 7));
	KUNIT_EXPECT_EQ(test, 7, sdp_timers_progress(&timers));
	timers.user_timeout = 300;
	KUNIT_EXPECT_EQ(test, 300, sdp_timers_begin(&timers, 8));
	/* One that was to come sooner stays: it is asked. */
	timers.async = true;
	KUNIT_EXPECT_EQ(test, 0, sdp_timers_begin(&timers, 9));
}

static void sdp_timers_starve__once(struct kunit *test)
{
	struct sdp_timers timers = { };
	struct sdp_timers_now now = { .starved = true };
	bool silence;

	KUNIT_EXPECT_EQ(test, SDP_TIMERS_STARVED,
			sdp_timers_starve(&timers, false, &silence));
	KUNIT_EXPECT_TRUE(test, silence);
	KUNIT_EXPECT_EQ(test, NEVER, sdp_timers_starve(&timers, false, &silence));
	KUNIT_EXPECT_FALSE(test, silence);
	/* As long as it is so, each look keeps it; then it may be told anew. */
	sdp_timers_check(&timers, &now);
	KUNIT_EXPECT_EQ(test, NEVER, sdp_timers_starve(&timers, false, &silence));
	now.starved = false;
	sdp_timers_check(&timers, &now);
	KUNIT_EXPECT_EQ(test, SDP_TIMERS_STARVED,
			sdp_timers_starve(&timers, false, &silence));
}

/* A look may come sooner by any of these: it says when the next is. */
static void sdp_timers_starve__others(struct kunit *test)
{
	static const struct {
		struct sdp_timers timers;
		bool others, silence;
	} cases[] = {
		{ { .keep_idle = 500 }, false, false },
		{ { .user_timeout = 500 }, false, true },
		{ { .async = true }, false, true },
		{ { .cm_lost = true }, false, false },
		{ { }, true, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sdp_timers timers = cases[i].timers;
		bool silence;

		KUNIT_EXPECT_EQ_MSG(test, 0,
				    sdp_timers_starve(&timers, cases[i].others, &silence),
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].silence, silence, "case %u", i);
	}
}

static void sdp_timers_async__once(struct kunit *test)
{
	struct sdp_timers timers = { };

	KUNIT_EXPECT_EQ(test, 60, sdp_timers_async(&timers, false, 60));
	KUNIT_EXPECT_EQ(test, NEVER, sdp_timers_async(&timers, false, 60));
	timers = (struct sdp_timers){ .watched = true };
	KUNIT_EXPECT_EQ(test, 0, sdp_timers_async(&timers, false, 60));
	timers = (struct sdp_timers){ };
	KUNIT_EXPECT_EQ(test, 0, sdp_timers_async(&timers, true, 60));
}

static void sdp_timers_answered__next(struct kunit *test)
{
	struct sdp_timers_now now = { .now = 1000 };
	struct sdp_timers timers = { .watched = true };

	sdp_timers_asked(&timers, 900);
	KUNIT_EXPECT_EQ(test, NEVER, sdp_timers_answered(&timers, &now));
	KUNIT_EXPECT_FALSE(test, sdp_timers_asks(&timers));
	timers.keep_idle = 500;
	KUNIT_EXPECT_EQ(test, 500, sdp_timers_answered(&timers, &now));
	now.others = true;
	KUNIT_EXPECT_EQ(test, 0, sdp_timers_answered(&timers, &now));
}

static void sdp_timers_patience__bounds(struct kunit *test)
{
	struct sdp_timers timers = { };

	KUNIT_EXPECT_EQ(test, 60, sdp_timers_patience(&timers, 60));
	KUNIT_EXPECT_EQ(test, 1, sdp_timers_patience(&timers, 0));
	timers.user_timeout = 100;
	KUNIT_EXPECT_EQ(test, 50, sdp_timers_patience(&timers, 60));
	timers.user_timeout = 1;
	KUNIT_EXPECT_EQ(test, 1, sdp_timers_patience(&timers, 60));
}

static void sdp_timers_set__begins(struct kunit *test)
{
	struct sdp_timers timers = { };

	KUNIT_EXPECT_FALSE(test, sdp_timers_set(&timers, 0, 300));
	KUNIT_EXPECT_TRUE(test, sdp_timers_set(&timers, 500, 300));
	KUNIT_EXPECT_FALSE(test, sdp_timers_set(&timers, 600, 300));
	KUNIT_EXPECT_TRUE(test, sdp_timers_are(&timers, 600, 300));
	KUNIT_EXPECT_FALSE(test, sdp_timers_are(&timers, 600, 301));
	KUNIT_EXPECT_FALSE(test, sdp_timers_lost_cm(&timers));
	sdp_timers_lose_cm(&timers);
	KUNIT_EXPECT_TRUE(test, sdp_timers_lost_cm(&timers));
}

static struct kunit_case sdp_timers_cases[] = {
	KUNIT_CASE(sdp_timers_check__table),
	KUNIT_CASE(sdp_timers_check__progress),
	KUNIT_CASE(sdp_timers_begin__looks),
	KUNIT_CASE(sdp_timers_starve__once),
	KUNIT_CASE(sdp_timers_starve__others),
	KUNIT_CASE(sdp_timers_async__once),
	KUNIT_CASE(sdp_timers_answered__next),
	KUNIT_CASE(sdp_timers_patience__bounds),
	KUNIT_CASE(sdp_timers_set__begins),
	{}
};

static struct kunit_suite sdp_timers_suite = {
	.name = "sdp_timers",
	.test_cases = sdp_timers_cases,
};

kunit_test_suite(sdp_timers_suite);
