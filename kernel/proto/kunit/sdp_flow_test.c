// SPDX-License-Identifier: GPL-2.0
/*
 * Is the credit arithmetic that of the protocol text (3.1 to 3.4), across the
 * wrap of the sequence numbers, at exhaustion, and with headers that lie?
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_flow.c"

/* Where sequence numbers are interesting. */
static const u32 bases[] = {
	0, 1, 0x7ffffffe, 0x7fffffff, 0x80000000, 0xfffffffd, 0xfffffffe, ~0u,
};

/* A flow in the middle of its life: all heard, all acknowledged. */
static struct sdp_flow flow_at(u32 tx, u32 rx, u16 bufs, u16 peer_bufs)
{
	struct sdp_flow flow;

	sdp_flow_init(&flow, bufs, peer_bufs);
	flow.tx_mseq = tx;
	flow.tx_acked = tx;
	flow.rx_mseq = rx;
	flow.told_mseq = rx;
	return flow;
}

static struct sdp_wire_msg update(u32 mseq, u32 mseq_ack, u16 bufs)
{
	return (struct sdp_wire_msg) {
		.mid = SDP_MID_DATA, .len = SDP_LEN_BSDH, .bufs = bufs,
		.mseq = mseq, .mseq_ack = mseq_ack,
	};
}

static struct sdp_wire_msg payload(u32 mseq, u32 mseq_ack, u16 bufs)
{
	struct sdp_wire_msg msg = update(mseq, mseq_ack, bufs);

	msg.len++;
	return msg;
}

/* @flow sends a message, its header comes back. */
static struct sdp_wire_msg taken(struct sdp_flow *flow)
{
	struct sdp_wire_msg msg = { .mid = SDP_MID_DATA, .len = SDP_LEN_BSDH };

	sdp_flow_take(flow, &msg);
	return msg;
}

static void sdp_flow_init__first_messages(struct kunit *test)
{
	struct sdp_wire_msg msg;
	struct sdp_flow flow;

	memset(&flow, 0xa5, sizeof(flow));
	sdp_flow_init(&flow, 60, 64);
	KUNIT_EXPECT_EQ(test, sdp_flow_credits(&flow), 64);
	KUNIT_EXPECT_EQ(test, sdp_flow_known(&flow), 60);
	KUNIT_EXPECT_FALSE(test, sdp_flow_owes_update(&flow));

	/* MSeq starts at 1 on both sides (3.4). */
	msg = taken(&flow);
	KUNIT_EXPECT_EQ(test, msg.mseq, 1);
	KUNIT_EXPECT_EQ(test, msg.mseq_ack, 0);
	KUNIT_EXPECT_EQ(test, msg.bufs, 60);
	msg = payload(1, 0, 64);
	KUNIT_EXPECT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
}

static void sdp_flow_init__no_buffers(struct kunit *test)
{
	struct sdp_wire_msg msg = update(1, 0, 0);
	struct sdp_flow flow;

	sdp_flow_init(&flow, 0, 0);
	KUNIT_EXPECT_EQ(test, sdp_flow_credits(&flow), 0);
	KUNIT_EXPECT_FALSE(test, sdp_flow_may(&flow, SDP_FLOW_UPDATE));
	KUNIT_EXPECT_FALSE(test, sdp_flow_owes_update(&flow));
	KUNIT_EXPECT_EQ(test, sdp_flow_heard(&flow, &msg), -EPROTO);
}

/* The table of 3.1: S, MSeqAck, Bufs, credits. */
static void sdp_flow_credits__table(struct kunit *test)
{
	static const struct {
		u32 s, ack;
		u16 bufs;
		int credits;
	} table[] = {
		{ 0, 0, 64, 64 },
		{ 5, 3, 64, 62 },
		{ 5, 5, 2, 2 },
		{ 0x00000001, 0xfffffffe, 8, 5 },
		{ 10, 8, 1, -EPROTO },
		/* More of the kind: nothing left, one missing, all there is. */
		{ 2, 0xffffffff, 3, 0 },
		{ 2, 0xffffffff, 2, -EPROTO },
		{ 0xffffffff, 0xffffffff, 0xffff, 0xffff },
		{ 0x00007fff, 0xffff8000, 0xffff, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct sdp_flow flow = flow_at(table[i].ack, 77, 4, 0xffff);
		struct sdp_wire_msg msg = payload(78, table[i].ack, table[i].bufs);
		int err;

		flow.tx_mseq = table[i].s;
		err = sdp_flow_heard(&flow, &msg);
		if (table[i].credits < 0) {
			KUNIT_EXPECT_EQ_MSG(test, err, table[i].credits,
					    "row %u", i);
			continue;
		}
		KUNIT_EXPECT_EQ_MSG(test, err, 0, "row %u", i);
		KUNIT_EXPECT_EQ_MSG(test, sdp_flow_credits(&flow),
				    table[i].credits, "row %u", i);
	}
}

/* 3.2: who may use the last credits. */
static void sdp_flow_may__last_credits(struct kunit *test)
{
	static const struct {
		u16 credits;
		bool payload, control, update;
	} table[] = {
		{ 0, false, false, false },
		{ 1, false, false, true },
		{ 2, false, true, true },
		{ 3, true, true, true },
		{ 4, true, true, true },
		{ 0xffff, true, true, true },
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		for (j = 0; j < ARRAY_SIZE(bases); j++) {
			struct sdp_flow flow = flow_at(bases[j], 0, 4,
						       table[i].credits);

			KUNIT_EXPECT_EQ(test, sdp_flow_may(&flow, SDP_FLOW_PAYLOAD),
					table[i].payload);
			KUNIT_EXPECT_EQ(test, sdp_flow_may(&flow, SDP_FLOW_CONTROL),
					table[i].control);
			KUNIT_EXPECT_EQ(test, sdp_flow_may(&flow, SDP_FLOW_UPDATE),
					table[i].update);
		}
	}
}

static void sdp_flow_take__counts_down_across_the_wrap(struct kunit *test)
{
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		struct sdp_flow flow = flow_at(bases[i], bases[i] + 5, 9, 8);

		for (n = 1; n <= 8; n++) {
			struct sdp_wire_msg msg = taken(&flow);

			KUNIT_EXPECT_EQ(test, msg.mseq, bases[i] + n);
			KUNIT_EXPECT_EQ(test, msg.mseq_ack, bases[i] + 5);
			KUNIT_EXPECT_EQ(test, msg.bufs, 9);
			KUNIT_EXPECT_EQ(test, sdp_flow_credits(&flow), 8 - n);
		}
		KUNIT_EXPECT_FALSE(test, sdp_flow_may(&flow, SDP_FLOW_UPDATE));
	}
}

/* Bufs and MSeqAck are of one moment. */
static void sdp_flow_take__one_snapshot(struct kunit *test)
{
	struct sdp_flow flow = flow_at(0, 10, 4, 8);
	struct sdp_wire_msg msg = payload(11, 0, 8);

	KUNIT_ASSERT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
	msg = taken(&flow);
	KUNIT_EXPECT_EQ(test, msg.bufs, 3);
	KUNIT_EXPECT_EQ(test, msg.mseq_ack, 11);
	sdp_flow_posted(&flow, 2);
	msg = taken(&flow);
	KUNIT_EXPECT_EQ(test, msg.bufs, 5);
	KUNIT_EXPECT_EQ(test, msg.mseq_ack, 11);
}

/* What must be refused, relative to: 3 messages sent of which 1 acknowledged,
 * 5 buffers told of.
 */
/* An acknowledgment held back (4.6) takes no credit away, and is no lie. */
static void sdp_flow_hold_ack__same_credits(struct kunit *test)
{
	unsigned int i, posted, crossing;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		for (posted = 0; posted <= 4; posted++) {
			for (crossing = 0; crossing <= 1; crossing++) {
				u32 base = bases[i];
				struct sdp_flow from = flow_at(base, 7, 8, 5);
				struct sdp_flow to = flow_at(7, base, 5, 8);
				struct sdp_wire_msg msg;
				int n;

				for (n = 0; n < 4; n++) {
					msg = taken(&from);
					KUNIT_ASSERT_EQ(test, sdp_flow_heard(&to, &msg), 0);
				}
				sdp_flow_posted(&to, posted);
				msg = taken(&to);
				sdp_flow_hold_ack(&msg, base + 1);
				KUNIT_EXPECT_EQ(test, msg.mseq_ack, base + 1);
				/* It knew of five and has used four. */
				if (crossing)
					taken(&from);
				KUNIT_EXPECT_EQ(test, sdp_flow_heard(&from, &msg), 0);
				KUNIT_EXPECT_EQ(test, sdp_flow_credits(&from),
						1 + posted - crossing);
				KUNIT_EXPECT_EQ(test, sdp_flow_known(&to), 1 + posted);
			}
		}
	}
}

static void sdp_flow_heard__refuses(struct kunit *test)
{
	static const struct {
		const char *what;
		u32 mseq, ack;		/* on top of rx_mseq and tx_mseq */
		u16 bufs;
		int want;
	} cases[] = {
		{ "the next", 1, -2, 8, 0 },
		{ "acknowledges one more", 1, -1, 8, 0 },
		{ "acknowledges all", 1, 0, 8, 0 },
		{ "acknowledges all, none posted", 1, 0, 0, 0 },
		{ "credits exactly 0", 1, -2, 2, 0 },
		{ "credits -1", 1, -2, 1, -EPROTO },
		{ "credits -2", 1, -2, 0, -EPROTO },
		{ "the same again", 0, 0, 8, -EPROTO },
		{ "one missing", 2, 0, 8, -EPROTO },
		{ "an old one", -1, 0, 8, -EPROTO },
		{ "half the circle ahead", 0x80000001, 0, 8, -EPROTO },
		{ "acknowledges the unsent", 1, 1, 8, -EPROTO },
		{ "acknowledges the unsent, far", 1, 0x7fffffff, 0xffff, -EPROTO },
		{ "takes one back", 1, -3, 8, -EPROTO },
		{ "takes half the circle back", 1, 0x80000000, 0xffff, -EPROTO },
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		for (j = 0; j < ARRAY_SIZE(bases); j++) {
			u32 tx = bases[j], rx = bases[ARRAY_SIZE(bases) - 1 - j];
			struct sdp_flow flow = flow_at(tx, rx, 5, 8), before;
			struct sdp_wire_msg msg = payload(rx + cases[i].mseq,
							  tx + cases[i].ack,
							  cases[i].bufs);

			flow.tx_acked = tx - 2;
			memcpy(&before, &flow, sizeof(flow));
			KUNIT_EXPECT_EQ_MSG(test, sdp_flow_heard(&flow, &msg),
					    cases[i].want, "%s at %#x",
					    cases[i].what, tx);
			if (!cases[i].want) {
				KUNIT_EXPECT_EQ(test, flow.rx_mseq, rx + 1);
				KUNIT_EXPECT_EQ(test, flow.tx_acked, msg.mseq_ack);
				KUNIT_EXPECT_EQ(test, flow.posted, 4);
				KUNIT_EXPECT_EQ(test, sdp_flow_credits(&flow),
						msg.bufs - (tx - msg.mseq_ack));
			} else {
				KUNIT_EXPECT_EQ_MSG(test,
						    memcmp(&before, &flow, sizeof(flow)),
						    0, "%s", cases[i].what);
			}
		}
	}
}

/* The peer uses each buffer once; what it was not told of it may not use. */
static void sdp_flow_heard__overrun(struct kunit *test)
{
	struct sdp_flow flow = flow_at(0, ~0u - 2, 5, 8);
	struct sdp_wire_msg msg;
	u32 n;

	sdp_flow_posted(&flow, 7);
	for (n = 0; n < 5; n++) {
		msg = payload(~0u - 1 + n, 0, 8);
		KUNIT_EXPECT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
		KUNIT_EXPECT_EQ(test, sdp_flow_known(&flow), 4 - n);
	}
	msg = payload(~0u - 1 + n, 0, 8);
	KUNIT_EXPECT_EQ(test, sdp_flow_heard(&flow, &msg), -EPROTO);
	KUNIT_EXPECT_EQ(test, flow.posted, 7);

	/* Told of the other 7, it may. */
	taken(&flow);
	KUNIT_EXPECT_EQ(test, sdp_flow_known(&flow), 7);
	KUNIT_EXPECT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
}

static void sdp_flow_posted__adds(struct kunit *test)
{
	struct sdp_flow flow = flow_at(0, 0, 0, 8);

	sdp_flow_posted(&flow, 4);
	sdp_flow_posted(&flow, 0);
	sdp_flow_posted(&flow, 60);
	KUNIT_EXPECT_EQ(test, flow.posted, 64);
	/* Posted is not told. */
	KUNIT_EXPECT_EQ(test, sdp_flow_known(&flow), 0);
	taken(&flow);
	KUNIT_EXPECT_EQ(test, sdp_flow_known(&flow), 64);
}

/* The rule of 3.3, with the peer not short of buffers itself. */
static void sdp_flow_owes_update__rule(struct kunit *test)
{
	static const struct {
		u16 known, posted;
		bool want;
	} table[] = {
		{ 0, 0, false }, { 0, 1, true }, { 0, 64, true },
		{ 1, 1, false }, { 1, 2, true },
		{ 2, 2, false }, { 2, 3, true },
		{ 3, 3, false }, { 3, 4, false }, { 3, 5, true },
		{ 4, 5, false }, { 4, 6, true },
		{ 5, 7, false }, { 5, 8, true },
		{ 41, 61, false }, { 41, 62, true },
		{ 42, 62, false }, { 42, 63, true },
		{ 63, 64, false }, { 64, 64, false },
		{ 43690, 65534, false }, { 43690, 65535, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct sdp_flow flow = flow_at(0, ~0u, table[i].known, 64);

		sdp_flow_posted(&flow, table[i].posted - table[i].known);
		KUNIT_EXPECT_EQ_MSG(test, sdp_flow_owes_update(&flow),
				    table[i].want, "%u of %u known",
				    table[i].known, table[i].posted);
	}
}

/* With both sides at 3 or fewer, an update is worth an answer only if it adds
 * to something else.
 */
static void sdp_flow_owes_update__only_news(struct kunit *test)
{
	static const struct {
		const char *what;
		u16 told, peer_bufs;
		u8 updates, others;	/* heard, and all posted again */
		u16 freed;		/* by the reader */
		bool want;
	} table[] = {
		{ "echo at 2", 2, 2, 1, 0, 0, false },
		{ "echo at 3", 3, 3, 1, 0, 0, false },
		{ "echo at 3, peer at 0", 3, 0, 1, 0, 0, false },
		{ "echo at 1", 1, 3, 1, 0, 0, false },
		{ "peer has 4", 3, 4, 1, 0, 0, true },
		{ "peer has 4, we 2", 2, 4, 1, 0, 0, true },
		{ "two echoes", 3, 3, 2, 0, 0, true },
		{ "reader", 2, 2, 0, 0, 1, true },
		{ "echo and reader", 2, 2, 1, 0, 1, true },
		{ "another message", 2, 2, 0, 1, 0, true },
		{ "another message, then an echo", 3, 3, 1, 1, 0, true },
		{ "4 of ours", 4, 2, 1, 0, 0, false },
	};
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(table); i++) {
		struct sdp_flow flow = flow_at(5, ~0u, table[i].told, 64);
		struct sdp_wire_msg msg;
		u32 mseq = ~0u;

		for (n = 0; n < table[i].others; n++) {
			msg = payload(++mseq, 5, table[i].peer_bufs);
			KUNIT_ASSERT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
			sdp_flow_posted(&flow, 1);
		}
		for (n = 0; n < table[i].updates; n++) {
			msg = update(++mseq, 5, table[i].peer_bufs);
			KUNIT_ASSERT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
			sdp_flow_posted(&flow, 1);
		}
		flow.peer_bufs = table[i].peer_bufs;
		sdp_flow_posted(&flow, table[i].freed);
		KUNIT_EXPECT_EQ_MSG(test, sdp_flow_owes_update(&flow),
				    table[i].want, "%s", table[i].what);

		/* Said once is enough, and is no news any more. */
		taken(&flow);
		KUNIT_EXPECT_FALSE(test, sdp_flow_owes_update(&flow));
		msg = update(++mseq, 6, table[i].peer_bufs + 1);
		KUNIT_ASSERT_EQ(test, sdp_flow_heard(&flow, &msg), 0);
		sdp_flow_posted(&flow, 1);
		flow.peer_bufs = 0;
		KUNIT_EXPECT_FALSE_MSG(test, sdp_flow_owes_update(&flow), "%s",
				       table[i].what);
	}
}

/* Two sides that do nothing but keep the rule, after @start updates. */
static void falls_silent(struct kunit *test, u16 a, u16 b, unsigned int start)
{
	/* Both told each other in a message that was all the news. */
	struct sdp_flow flow[2] = {
		flow_at(0, ~0u, a, b),
		flow_at(~0u, 0, b, a),
	};
	unsigned int sent = 0, side = 0, quiet = 0;

	while (quiet < 2) {
		struct sdp_flow *me = &flow[side], *peer = &flow[!side];

		if (((sent < start && !side) || sdp_flow_owes_update(me)) &&
		    sdp_flow_may(me, SDP_FLOW_UPDATE)) {
			struct sdp_wire_msg msg = taken(me);

			KUNIT_ASSERT_EQ(test, sdp_flow_heard(peer, &msg), 0);
			sdp_flow_posted(peer, 1);
			quiet = 0;
			/* They halve from one turn to the next. */
			KUNIT_ASSERT_TRUE(test, ++sent <= 2 * start + 1);
		} else {
			quiet++;
			side = !side;
		}
	}
}

static void sdp_flow_owes_update__falls_silent(struct kunit *test)
{
	unsigned int start;
	u16 a, b;

	for (start = 0; start < 3; start++)
		for (a = 1; a <= 64; a++)
			for (b = 1; b <= 64; b++)
				falls_silent(test, a, b, start);
}

static void sdp_flow_acked__serial_numbers(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		struct sdp_flow flow = flow_at(bases[i], 0, 4, 4);

		KUNIT_EXPECT_TRUE(test, sdp_flow_acked(&flow, bases[i]));
		KUNIT_EXPECT_TRUE(test, sdp_flow_acked(&flow, bases[i] - 1));
		KUNIT_EXPECT_TRUE(test, sdp_flow_acked(&flow, bases[i] - 0x7fffffff));
		KUNIT_EXPECT_FALSE(test, sdp_flow_acked(&flow, bases[i] + 1));
		KUNIT_EXPECT_FALSE(test, sdp_flow_acked(&flow, bases[i] + 0x7fffffff));
	}
}

static struct kunit_case sdp_flow_cases[] = {
	KUNIT_CASE(sdp_flow_init__first_messages),
	KUNIT_CASE(sdp_flow_init__no_buffers),
	KUNIT_CASE(sdp_flow_credits__table),
	KUNIT_CASE(sdp_flow_may__last_credits),
	KUNIT_CASE(sdp_flow_take__counts_down_across_the_wrap),
	KUNIT_CASE(sdp_flow_take__one_snapshot),
	KUNIT_CASE(sdp_flow_hold_ack__same_credits),
	KUNIT_CASE(sdp_flow_heard__refuses),
	KUNIT_CASE(sdp_flow_heard__overrun),
	KUNIT_CASE(sdp_flow_posted__adds),
	KUNIT_CASE(sdp_flow_owes_update__rule),
	KUNIT_CASE(sdp_flow_owes_update__only_news),
	KUNIT_CASE(sdp_flow_owes_update__falls_silent),
	KUNIT_CASE(sdp_flow_acked__serial_numbers),
	{}
};

static struct kunit_suite sdp_flow_suite = {
	.name = "sdp_flow",
	.test_cases = sdp_flow_cases,
};

kunit_test_suite(sdp_flow_suite);
