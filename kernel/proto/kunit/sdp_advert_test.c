// SPDX-License-Identifier: GPL-2.0
/*
 * Does sdp_advert.c do with adverts what the protocol text says (4.2 to 4.6, and
 * the NonDiscards scenarios of section 9)?
 *
 * One case for each row of its tables.  What happens when rows meet is tried by
 * selftests/unit/half.c, and explored by docs/model/half.pml.
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_advert.c"

enum { TO_BUFFERED = 0x00, TO_COMBINED = 0x10, TO_PIPELINED = 0x20 };

/* What the other side says. */
struct say {
	u8 mid;
	u32 mseq, ack;
	u32 payload;		/* bytes behind the headers */
	u32 ext;		/* Len, bytes or MCH byte */
	u32 nond;		/* NonDiscards */
};

static struct sdp_wire_msg to_msg(const struct say *say)
{
	struct sdp_wire_msg msg = {
		.mid = say->mid, .mseq = say->mseq, .mseq_ack = say->ack,
	};

	switch (say->mid) {
	case SDP_MID_SRC_AVAIL:
	case SDP_MID_SINK_AVAIL:
		msg.ext.avail.len = say->ext;
		msg.ext.avail.non_discards = say->nond;
		break;
	case SDP_MID_MODE_CHANGE:
		msg.ext.mode = say->ext;
		break;
	default:
		msg.ext.bytes = say->ext;
	}
	msg.len = SDP_LEN_BSDH + sdp_wire_ext_len(msg.mid) + say->payload;
	return msg;
}

static int src_say(struct kunit *test, struct sdp_src *src,
		   struct sdp_advert_told *told, struct say say)
{
	struct sdp_wire_msg msg = to_msg(&say);
	struct sdp_src was;
	int err;

	sdp_src_acked(src, say.ack);
	memcpy(&was, src, sizeof(was));
	err = sdp_src_heard(src, &msg, told);
	if (err)
		KUNIT_EXPECT_EQ(test, memcmp(&was, src, sizeof(was)), 0);
	return err;
}

static int snk_say(struct kunit *test, struct sdp_snk *snk,
		   struct sdp_advert_told *told, struct say say)
{
	struct sdp_wire_msg msg = to_msg(&say);
	struct sdp_snk was;
	int err;

	memcpy(&was, snk, sizeof(was));
	err = sdp_snk_heard(snk, &msg, told);
	if (err < 0)
		KUNIT_EXPECT_EQ(test, memcmp(&was, snk, sizeof(was)), 0);
	return err;
}

#define SRC(want, ...) KUNIT_EXPECT_EQ(test, (want),			\
	src_say(test, &src, &told, (struct say){ __VA_ARGS__ }))
#define SNK(want, ...) KUNIT_EXPECT_EQ(test, (want),			\
	snk_say(test, &snk, &told, (struct say){ __VA_ARGS__ }))
#define TOLD(bits, count, moved) do {					\
	KUNIT_EXPECT_EQ(test, told.news, bits);				\
	KUNIT_EXPECT_EQ(test, told.done, count);			\
	KUNIT_EXPECT_EQ(test, told.bytes, moved);			\
} while (0)
#define YES(what) KUNIT_EXPECT_TRUE(test, what)
#define NO(what) KUNIT_EXPECT_FALSE(test, what)

static struct sdp_src a_source(u8 mode)
{
	struct sdp_src src;

	sdp_src_init(&src, 4, 4);
	if (mode != SDP_MODE_COMBINED)
		sdp_src_changed(&src, mode, 1);
	return src;
}

static struct sdp_snk a_sink(u8 mode)
{
	struct sdp_snk snk;

	sdp_snk_init(&snk, 4);
	snk.mode = mode;
	return snk;
}

/* ---- 4.2 ---- */

static void sdp_src__modes(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_COMBINED);

	YES(sdp_src_may_copy(&src));
	YES(sdp_src_may_offer(&src));
	sdp_src_offered(&src, 5, 1000, 64);
	NO(sdp_src_may_copy(&src));
	NO(sdp_src_may_offer(&src));
	NO(sdp_src_may_change(&src, SDP_MODE_BUFFERED));
	NO(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	YES(sdp_src_may_change(&src, SDP_MODE_PIPELINED));
	/* A combined one stays valid, and counts. */
	sdp_src_changed(&src, SDP_MODE_PIPELINED, 6);
	sdp_src_offered(&src, 7, 1000, 0);
	sdp_src_offered(&src, 8, 1000, 0);
	YES(sdp_src_may_offer(&src));
	sdp_src_offered(&src, 9, 1000, 0);
	NO(sdp_src_may_offer(&src));
	NO(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	NO(sdp_src_may_change(&src, SDP_MODE_BUFFERED));

	src = a_source(SDP_MODE_PIPELINED);
	YES(sdp_src_may_copy(&src));
	YES(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	NO(sdp_src_may_change(&src, SDP_MODE_BUFFERED));

	src = a_source(SDP_MODE_BUFFERED);
	YES(sdp_src_may_copy(&src));
	NO(sdp_src_may_offer(&src));
	NO(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	NO(sdp_src_may_change(&src, SDP_MODE_PIPELINED));
}

/* The peer's MaxAdverts, as far as we keep track. */
static void sdp_src__max_adverts(struct kunit *test)
{
	static const u16 given[] = { 1, 2, SDP_ADVERT_ADVERTS, 255, 65535 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(given); i++) {
		struct sdp_src src;
		u32 mseq = 2;

		sdp_src_init(&src, given[i], 1);
		sdp_src_changed(&src, SDP_MODE_PIPELINED, 1);
		while (sdp_src_may_offer(&src))
			sdp_src_offered(&src, mseq++, 1, 0);
		KUNIT_EXPECT_EQ(test, src.out.n, at_most(given[i]));
		KUNIT_EXPECT_LE(test, src.out.n, SDP_ADVERT_ADVERTS);
	}
}

static void sdp_snk__modes(struct kunit *test)
{
	unsigned int from, to;

	for (from = 0; from < 3; from++) {
		for (to = 0; to < 8; to++) {
			struct sdp_snk snk = a_sink(from);
			struct sdp_advert_told told;
			bool may = (from == SDP_MODE_COMBINED &&
				    (to == SDP_MODE_BUFFERED ||
				     to == SDP_MODE_PIPELINED)) ||
				   (from == SDP_MODE_PIPELINED &&
				    to == SDP_MODE_COMBINED);

			SNK(may ? 0 : -EPROTO, SDP_MID_MODE_CHANGE, .mseq = 1,
			    .ext = to << 4);
			KUNIT_EXPECT_EQ(test, snk.mode, may ? to : from);
		}
	}
}

static void sdp_snk__modes_and_adverts(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_COMBINED);
	struct sdp_advert_told told;

	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000, .payload = 64);
	KUNIT_EXPECT_EQ(test, sdp_snk_may_read(&snk)->left, 936);
	SNK(-EPROTO, SDP_MID_MODE_CHANGE, .mseq = 2, .ext = TO_BUFFERED);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 2, .ext = 1000, .payload = 64);
	SNK(-EPROTO, SDP_MID_DATA, .mseq = 2, .payload = 1);
	SNK(-EPROTO, SDP_MID_DISCONN, .mseq = 2);
	SNK(0, SDP_MID_DATA, .mseq = 2);
	SNK(0, SDP_MID_MODE_CHANGE, .mseq = 3, .ext = TO_PIPELINED);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 4, .ext = 1000, .payload = 1);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 4);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 4, .ext = 1000);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 5, .ext = 1000);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 6, .ext = 1000);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 7, .ext = 1000);
	/* Dropped, and offered anew. */
	SNK(0, SDP_MID_MODE_CHANGE, .mseq = 7, .ext = TO_COMBINED);
	YES(!sdp_snk_may_read(&snk));
	SNK(0, SDP_MID_DATA, .mseq = 8, .payload = 1);

	snk = a_sink(SDP_MODE_BUFFERED);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000, .payload = 64);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000);
	SNK(0, SDP_MID_DATA, .mseq = 1, .payload = 64);
	NO(sdp_snk_may_offer(&snk, false));

	/* Everything inline is Data by another name. */
	snk = a_sink(SDP_MODE_COMBINED);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 64, .payload = 64);
	YES(!sdp_snk_may_read(&snk));
	SNK(0, SDP_MID_DATA, .mseq = 2, .payload = 1);
	NO(sdp_snk_may_offer(&snk, false));
}

/* Only the sink leads out of buffered mode. */
static void sdp_src__out_of_buffered(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_BUFFERED);
	struct sdp_advert_told told;

	SRC(-EPROTO, SDP_MID_MODE_CHANGE, .ext = 0x80);
	SRC(-EPROTO, SDP_MID_MODE_CHANGE, .ext = 0xa0);
	SRC(0, SDP_MID_MODE_CHANGE, .ext = 0x90);
	KUNIT_EXPECT_EQ(test, src.mode, SDP_MODE_COMBINED);
	SRC(-EPROTO, SDP_MID_MODE_CHANGE, .ext = 0x90);
}

/* ---- 4.3 ---- */

static void sdp_src__rd_compl(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	SRC(-EPROTO, SDP_MID_RDMA_RD_COMPL, .ack = 9, .ext = 1);
	sdp_src_offered(&src, 5, 1000, 0);
	sdp_src_offered(&src, 6, 500, 0);
	SRC(-EPROTO, SDP_MID_RDMA_RD_COMPL, .ack = 6, .ext = 1001);
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 4, .ext = 1);	/* stale */
	TOLD(0, 0, 0);
	/* In increments, or all at once. */
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 5, .ext = 400);
	TOLD(0, 0, 400);
	SRC(-EPROTO, SDP_MID_RDMA_RD_COMPL, .ack = 6, .ext = 601);
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 6, .ext = 600);
	TOLD(SDP_ADVERT_DONE, 1, 600);
	NO(sdp_src_may_copy(&src));
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 6, .ext = 500);
	TOLD(SDP_ADVERT_DONE, 1, 500);
	YES(sdp_src_may_copy(&src));
	SRC(-EPROTO, SDP_MID_RDMA_RD_COMPL, .ack = 6, .ext = 1);
}

static void sdp_src__send_sm(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	SRC(0, SDP_MID_SEND_SM, .ack = 9);
	TOLD(0, 0, 0);
	sdp_src_offered(&src, 5, 1000, 0);
	sdp_src_offered(&src, 6, 500, 0);
	SRC(0, SDP_MID_SEND_SM, .ack = 4);	/* of what is over */
	TOLD(0, 0, 0);
	NO(sdp_src_may_copy(&src));
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 5, .ext = 400);
	/* All of them, also the one that crossed it. */
	SRC(0, SDP_MID_SEND_SM, .ack = 5);
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
	YES(sdp_src_may_copy(&src));
	KUNIT_EXPECT_EQ(test, src.mode, SDP_MODE_PIPELINED);
	/* Late, and no error. */
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 6, .ext = 1);
	TOLD(0, 0, 0);
	/* By serial number. */
	src = a_source(SDP_MODE_PIPELINED);
	sdp_src_offered(&src, 0xfffffffe, 1000, 0);
	SRC(0, SDP_MID_SEND_SM, .ack = 0xfffffffd);
	TOLD(0, 0, 0);
	SRC(0, SDP_MID_SEND_SM, .ack = 3);
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
}

static void sdp_snk__reads(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 2, .ext = 500);
	/* Several at a time, also of several. */
	sdp_snk_read_posted(&snk, 600);
	KUNIT_EXPECT_EQ(test, sdp_snk_may_read(&snk)->left, 400);
	KUNIT_EXPECT_EQ(test, sdp_snk_may_read(&snk)->va, 600);
	sdp_snk_read_posted(&snk, 400);
	KUNIT_EXPECT_EQ(test, sdp_snk_may_read(&snk)->left, 500);
	sdp_snk_read_posted(&snk, 500);
	YES(!sdp_snk_may_read(&snk));
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 0);
	sdp_snk_read_done(&snk, 600);
	/* One for both. */
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 0);
	sdp_snk_read_done(&snk, 400);
	sdp_snk_read_done(&snk, 500);
	/* Of the oldest, then of the next: each is its end. */
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 1000);
	KUNIT_EXPECT_EQ(test, sdp_snk_ends(&snk)->mseq, 1);
	sdp_snk_told_read(&snk);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 500);
	KUNIT_EXPECT_EQ(test, sdp_snk_ends(&snk)->mseq, 2);
	NO(sdp_snk_may_offer(&snk, false));
	sdp_snk_told_read(&snk);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 0);
	YES(sdp_snk_may_offer(&snk, false));
}

/* A peer whose advert is read for long hears of it now and then. */
static void sdp_snk__tells(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 2 * SDP_ADVERT_TELL);
	KUNIT_EXPECT_EQ(test, sdp_snk_unread(&snk), 2 * SDP_ADVERT_TELL);
	YES(sdp_snk_is_behind(&snk));
	sdp_snk_read_posted(&snk, SDP_ADVERT_TELL - 1);
	sdp_snk_read_posted(&snk, 1);
	sdp_snk_read_posted(&snk, 1);
	KUNIT_EXPECT_EQ(test, sdp_snk_unread(&snk), SDP_ADVERT_TELL - 1);
	sdp_snk_read_done(&snk, SDP_ADVERT_TELL - 1);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 0);
	sdp_snk_read_done(&snk, 1);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), SDP_ADVERT_TELL);
	YES(!sdp_snk_ends(&snk));
	sdp_snk_told_read(&snk);
	sdp_snk_read_done(&snk, 1);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 1);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 2, .ext = 1000);
	KUNIT_EXPECT_EQ(test, sdp_snk_unread(&snk), SDP_ADVERT_TELL + 999);
	sdp_snk_refuse(&snk);
	KUNIT_EXPECT_EQ(test, sdp_snk_unread(&snk), 0);
	/* Refused, but not yet sent by copy. */
	YES(sdp_snk_is_behind(&snk));
}

/* Bytes that are moving have not come; those that are not told have. */
static void sdp_snk__behind(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	NO(sdp_snk_is_behind(&snk));
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000);
	sdp_snk_read_posted(&snk, 1000);
	KUNIT_EXPECT_EQ(test, sdp_snk_unread(&snk), 0);
	YES(sdp_snk_is_behind(&snk));
	sdp_snk_read_done(&snk, 1000);
	NO(sdp_snk_is_behind(&snk));
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 1000);
}

static void sdp_snk__refuses(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	sdp_snk_refuse(&snk);
	NO(sdp_snk_may_refuse(&snk));
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 1, .ext = 1000);
	sdp_snk_read_posted(&snk, 400);
	sdp_snk_refuse(&snk);
	YES(!sdp_snk_may_read(&snk));
	NO(sdp_snk_may_refuse(&snk));
	sdp_snk_read_done(&snk, 400);
	NO(sdp_snk_may_refuse(&snk));
	sdp_snk_told_read(&snk);
	YES(sdp_snk_may_refuse(&snk));
	sdp_snk_refused(&snk, 70);
	NO(sdp_snk_may_refuse(&snk));
	/* It does not know of the SendSm, which has ended it. */
	SNK(1, SDP_MID_SRC_AVAIL, .mseq = 2, .ack = 69, .ext = 1000);
	YES(!sdp_snk_may_read(&snk));
	SNK(0, SDP_MID_DATA, .mseq = 3, .ack = 70, .payload = 1);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 4, .ack = 70, .ext = 1000);
	sdp_snk_refuse(&snk);
	sdp_snk_refused(&snk, 71);
	sdp_snk_acked(&snk, 70);
	SNK(1, SDP_MID_SRC_AVAIL, .mseq = 5, .ack = 70, .ext = 1000);
	/* Once it is acknowledged no number is before it. */
	sdp_snk_acked(&snk, 71);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 6, .ack = 71 + 0x80000005,
	    .ext = 1000);
	/* All read before it could go: it must not. */
	sdp_snk_read_posted(&snk, 1000);
	sdp_snk_refuse(&snk);
	sdp_snk_read_done(&snk, 1000);
	sdp_snk_told_read(&snk);
	NO(sdp_snk_may_refuse(&snk));
}

/* ---- 4.4, 9: NonDiscards ---- */

#define SINK_AVAIL(n, nd) SDP_MID_SINK_AVAIL, .ack = 1, .ext = (n), .nond = (nd)
#define SENDS(n) SDP_MID_DATA, .mseq = (n), .payload = 1

static void sdp_advert__non_discards(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	/* Nothing crosses. */
	sdp_snk_offered(&snk, 1000);
	SRC(0, SINK_AVAIL(1000, 0));
	KUNIT_EXPECT_EQ(test, src.held.n, 1);
	/* It has ended nothing, so nothing can be told of that crossed it. */
	SRC(-EPROTO, SDP_MID_RDMA_RD_COMPL, .ack = 1, .ext = 1);
	/* Copied all the same: both drop it. */
	sdp_src_copied(&src);
	SNK(0, SENDS(2));
	TOLD(SDP_ADVERT_DONE, 1, 0);
	KUNIT_EXPECT_EQ(test, src.held.n, 0);
	KUNIT_EXPECT_EQ(test, src.ns, 0);
	KUNIT_EXPECT_EQ(test, snk.nr, 0);

	/* D1 crosses S1. */
	sdp_snk_offered(&snk, 1000);
	sdp_src_copied(&src);
	SNK(0, SENDS(3));
	TOLD(SDP_ADVERT_DONE, 1, 0);
	SRC(0, SINK_AVAIL(1000, 0));
	KUNIT_EXPECT_EQ(test, src.held.n, 0);
	KUNIT_EXPECT_EQ(test, src.ns, 0);
	KUNIT_EXPECT_EQ(test, snk.nr, 0);

	/* D1 crosses S1 and S2. */
	sdp_snk_offered(&snk, 1000);
	sdp_snk_offered(&snk, 2000);
	sdp_src_copied(&src);
	SNK(0, SENDS(4));
	SRC(0, SINK_AVAIL(1000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	KUNIT_EXPECT_EQ(test, src.held.n, 1);
	KUNIT_EXPECT_EQ(test, sdp_src_may_write(&src)->left, 2000);
	KUNIT_EXPECT_EQ(test, snk.out.n, 1);
	sdp_src_copied(&src);
	SNK(0, SENDS(5));

	/* D1 and D2 cross S1. */
	sdp_snk_offered(&snk, 1000);
	sdp_src_copied(&src);
	sdp_src_copied(&src);
	SNK(0, SENDS(6));
	SNK(0, SENDS(7));
	TOLD(0, 0, 0);
	SRC(0, SINK_AVAIL(1000, 0));
	KUNIT_EXPECT_EQ(test, src.ns, 1);
	KUNIT_EXPECT_EQ(test, snk.nr, 1);

	/* D1, D2; D1 kills S1, then S2 is sent, and D2 kills it. */
	sdp_snk_offered(&snk, 1000);
	sdp_src_copied(&src);
	sdp_src_copied(&src);
	SNK(0, SENDS(8));
	sdp_snk_offered(&snk, 2000);
	SNK(0, SENDS(9));
	TOLD(SDP_ADVERT_DONE, 1, 0);
	SRC(0, SINK_AVAIL(1000, 1));
	SRC(0, SINK_AVAIL(2000, 1));
	KUNIT_EXPECT_EQ(test, src.held.n, 0);
	KUNIT_EXPECT_EQ(test, src.ns, 1);
	KUNIT_EXPECT_EQ(test, snk.nr, 1);

	/* More than we have sent is impossible. */
	SRC(-EPROTO, SINK_AVAIL(1000, 2));
	/* Empty Data is none of it, inline bytes are. */
	SNK(0, SDP_MID_DATA, .mseq = 10);
	KUNIT_EXPECT_EQ(test, snk.nr, 1);
	snk.mode = SDP_MODE_COMBINED;
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 11, .ext = 1000, .payload = 64);
	KUNIT_EXPECT_EQ(test, snk.nr, 2);
}

static void sdp_src__sink_avail(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_COMBINED);
	struct sdp_advert_told told;

	SRC(-EPROTO, SINK_AVAIL(1000, 0));
	src = a_source(SDP_MODE_PIPELINED);
	SRC(-EPROTO, SINK_AVAIL(0, 0));
	/* Valid: our SrcAvails are void. */
	sdp_src_offered(&src, 2, 1000, 0);
	sdp_src_cancelled(&src);
	SRC(0, SINK_AVAIL(1000, 0));
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
	NO(src.cancel);
	NO(sdp_src_may_offer(&src));
	SRC(0, SINK_AVAIL(2000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	SRC(-EPROTO, SINK_AVAIL(2000, 0));
	/* Stale: they stay. */
	src = a_source(SDP_MODE_PIPELINED);
	sdp_src_copied(&src);
	sdp_src_offered(&src, 3, 1000, 0);
	SRC(0, SINK_AVAIL(1000, 0));
	TOLD(0, 0, 0);
	NO(sdp_src_may_copy(&src));
	/* After our DisConn nobody writes into it. */
	src = a_source(SDP_MODE_PIPELINED);
	sdp_src_fin(&src);
	SRC(0, SINK_AVAIL(1000, 0));
	YES(!sdp_src_may_write(&src));
}

static void sdp_advert__writes(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	NO(sdp_snk_may_offer(&snk, true));
	YES(sdp_snk_may_offer(&snk, false));
	sdp_snk_offered(&snk, 1000);
	sdp_snk_offered(&snk, 2000);
	SRC(0, SINK_AVAIL(1000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	sdp_src_wrote(&src, 300);
	KUNIT_EXPECT_EQ(test, sdp_src_may_write(&src)->left, 700);
	KUNIT_EXPECT_EQ(test, sdp_src_may_write(&src)->va, 300);
	/* What is copied would kill the next one, after its RdmaWrCompl. */
	NO(sdp_src_may_copy(&src));
	sdp_src_wrote(&src, 700);
	YES(!sdp_src_may_write(&src));
	KUNIT_EXPECT_EQ(test, src.wrote, 1000);
	sdp_src_told_written(&src);
	SNK(0, SDP_MID_RDMA_WR_COMPL, .mseq = 2, .ext = 1000);
	TOLD(SDP_ADVERT_DONE, 1, 1000);
	KUNIT_EXPECT_EQ(test, sdp_src_may_write(&src)->left, 2000);
	SNK(-EPROTO, SDP_MID_RDMA_WR_COMPL, .mseq = 3, .ext = 2001);
	/* Not full: completed all the same. */
	SNK(0, SDP_MID_RDMA_WR_COMPL, .mseq = 3, .ext = 1);
	TOLD(SDP_ADVERT_DONE, 1, 1);
	SNK(-EPROTO, SDP_MID_RDMA_WR_COMPL, .mseq = 4, .ext = 1);
}

/* ---- 4.5 ---- */

static void sdp_advert__crossings(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	/* A SrcAvail meets a SinkAvail: that one counts, at both. */
	sdp_snk_offered(&snk, 1000);
	SNK(1, SDP_MID_SRC_AVAIL, .mseq = 2, .ext = 500);
	YES(!sdp_snk_may_read(&snk));
	sdp_src_offered(&src, 2, 500, 0);
	SRC(0, SINK_AVAIL(1000, 0));
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
}

/*
 * A SinkAvail meets a ModeChange: it is its sink's again.  Payload that went before
 * the change has killed it, what went behind has not.
 */
static void sdp_advert__crosses_mode_change(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	sdp_src_copied(&src);
	sdp_src_changed(&src, SDP_MODE_COMBINED, 3);
	NO(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	sdp_src_changed(&src, SDP_MODE_PIPELINED, 4);
	sdp_src_copied(&src);
	NO(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	sdp_snk_offered(&snk, 1000);
	sdp_snk_offered(&snk, 2000);
	SNK(0, SENDS(2));
	TOLD(SDP_ADVERT_DONE, 1, 0);
	SNK(0, SDP_MID_MODE_CHANGE, .mseq = 3, .ext = TO_COMBINED);
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
	SNK(0, SDP_MID_MODE_CHANGE, .mseq = 4, .ext = TO_PIPELINED);
	SNK(0, SENDS(5));
	SRC(0, SINK_AVAIL(1000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	TOLD(0, 0, 0);
	KUNIT_EXPECT_EQ(test, src.held.n, 0);
	KUNIT_EXPECT_EQ(test, src.ns, snk.nr);
	/* The next one knows of it. */
	SRC(0, SDP_MID_SINK_AVAIL, .ack = 5, .ext = 1000, .nond = snk.nr);
	KUNIT_EXPECT_EQ(test, src.held.n, 1);
}

/* When RdmaWrCompl is due (4.4): nearly full, or nothing more to write. */
static void sdp_src__owes_written(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, false), 0);
	SRC(0, SINK_AVAIL(1000, 0));
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, false), 0);
	sdp_src_wrote(&src, 900);
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, true), 0);
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 101, true), 900);
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, false), 900);
	YES(sdp_src_ends(&src) == sdp_src_may_write(&src));
	/* Data goes behind it. */
	NO(sdp_src_may_copy(&src));
	sdp_src_told_written(&src);
	YES(sdp_src_may_copy(&src));
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, false), 0);
	YES(!sdp_src_may_write(&src));
}

/* ---- 4.6 ---- */

static void sdp_snk__src_avail_cancel(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	/* Nothing outstanding. */
	SNK(0, SDP_MID_SRC_AVAIL_CANCEL, .mseq = 1);
	NO(sdp_snk_may_refuse(&snk));

	/* Not started. */
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 2, .ext = 1000);
	SNK(0, SDP_MID_SRC_AVAIL_CANCEL, .mseq = 3);
	YES(!sdp_snk_may_read(&snk));
	YES(sdp_snk_may_refuse(&snk));
	SNK(0, SDP_MID_SRC_AVAIL_CANCEL, .mseq = 4);	/* one answer will do */
	sdp_snk_refused(&snk, 60);

	/* Reads in flight: they finish, and MSeqAck waits. */
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 5, .ack = 60, .ext = 1000);
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 6, .ack = 60, .ext = 1000);
	sdp_snk_read_posted(&snk, 1000);
	KUNIT_EXPECT_EQ(test, sdp_snk_ack(&snk, 6), 6);
	SNK(0, SDP_MID_SRC_AVAIL_CANCEL, .mseq = 7, .ack = 60);
	YES(!sdp_snk_may_read(&snk));
	NO(sdp_snk_may_refuse(&snk));
	KUNIT_EXPECT_EQ(test, sdp_snk_ack(&snk, 8), 6);
	SNK(-EPROTO, SDP_MID_SRC_AVAIL, .mseq = 8, .ack = 60, .ext = 1000);
	sdp_snk_read_done(&snk, 1000);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 1000);
	sdp_snk_told_read(&snk);
	KUNIT_EXPECT_EQ(test, sdp_snk_ack(&snk, 8), 8);
	YES(sdp_snk_may_refuse(&snk));
	sdp_snk_refused(&snk, 61);

	/* Partly read, and not told: the same. */
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 9, .ack = 61, .ext = 1000);
	sdp_snk_read_posted(&snk, 400);
	sdp_snk_read_done(&snk, 400);
	SNK(0, SDP_MID_SRC_AVAIL_CANCEL, .mseq = 10, .ack = 61);
	KUNIT_EXPECT_EQ(test, sdp_snk_owes_compl(&snk), 400);
	sdp_snk_told_read(&snk);
	YES(sdp_snk_may_refuse(&snk));
	sdp_snk_refused(&snk, 62);

	/* Everything read: only the RdmaRdCompl. */
	SNK(0, SDP_MID_SRC_AVAIL, .mseq = 11, .ack = 62, .ext = 1000);
	sdp_snk_read_posted(&snk, 1000);
	SNK(0, SDP_MID_SRC_AVAIL_CANCEL, .mseq = 12, .ack = 62);
	sdp_snk_read_done(&snk, 1000);
	sdp_snk_told_read(&snk);
	NO(sdp_snk_may_refuse(&snk));
	KUNIT_EXPECT_EQ(test, sdp_snk_ack(&snk, 12), 12);
}

static void sdp_src__src_avail_cancel(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	NO(sdp_src_may_cancel(&src));
	sdp_src_offered(&src, 2, 1000, 0);
	YES(sdp_src_may_cancel(&src));
	sdp_src_cancelled(&src);
	NO(sdp_src_may_cancel(&src));
	NO(sdp_src_may_offer(&src));
	NO(sdp_src_may_copy(&src));
	NO(sdp_src_may_change(&src, SDP_MODE_COMBINED));
	/* Resolved by SendSm, which may be older than the cancel. */
	SRC(0, SDP_MID_SEND_SM, .ack = 2);
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
	YES(sdp_src_may_offer(&src));
	/* Or by completion. */
	sdp_src_offered(&src, 4, 1000, 0);
	sdp_src_cancelled(&src);
	SRC(0, SDP_MID_RDMA_RD_COMPL, .ack = 4, .ext = 1000);
	TOLD(SDP_ADVERT_DONE, 1, 1000);
	YES(sdp_src_may_copy(&src));
}

static void sdp_advert__sink_avail_cancel(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	/* Nothing held. */
	SRC(0, SDP_MID_SINK_AVAIL_CANCEL, .ack = 1);
	NO(src.owe_ack);

	/* Some held, none written. */
	NO(sdp_snk_may_cancel(&snk));
	sdp_snk_offered(&snk, 1000);
	sdp_snk_offered(&snk, 2000);
	YES(sdp_snk_may_cancel(&snk));
	sdp_snk_cancelled(&snk);
	NO(sdp_snk_may_cancel(&snk));
	NO(sdp_snk_may_offer(&snk, false));
	SRC(0, SINK_AVAIL(1000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	SRC(0, SDP_MID_SINK_AVAIL_CANCEL, .ack = 1);
	YES(src.owe_ack);
	NO(src.owe_wr);
	NO(sdp_src_may_copy(&src));
	NO(sdp_src_may_offer(&src));
	YES(!sdp_src_may_write(&src));
	SNK(0, SDP_MID_SINK_CANCEL_ACK, .mseq = 2);
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
	SNK(-EPROTO, SDP_MID_SINK_CANCEL_ACK, .mseq = 3);
}

/* The oldest is partly written: that is told first. */
static void sdp_src__cancel_of_written(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	SRC(0, SINK_AVAIL(1000, 0));
	SRC(0, SINK_AVAIL(2000, 0));
	sdp_src_wrote(&src, 10);
	SRC(0, SDP_MID_SINK_AVAIL_CANCEL, .ack = 1);
	YES(src.owe_wr && src.owe_ack);
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, true), 10);
	/* Its key has gone with it. */
	YES(!sdp_src_ends(&src));
	NO(sdp_src_owes_cancel_ack(&src));
	sdp_src_told_written(&src);
	NO(src.owe_wr);
	KUNIT_EXPECT_EQ(test, sdp_src_owes_written(&src, 100, false), 0);
	YES(sdp_src_owes_cancel_ack(&src));
	NO(sdp_src_may_copy(&src));
	sdp_src_told_dropped(&src);
	NO(sdp_src_owes_cancel_ack(&src));
	YES(sdp_src_may_copy(&src));
}

/* It was the only one: no SinkCancelAck. */
static void sdp_src__cancel_of_one(struct kunit *test)
{
	struct sdp_src src = a_source(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	SRC(0, SINK_AVAIL(1000, 0));
	sdp_src_wrote(&src, 10);
	SRC(0, SDP_MID_SINK_AVAIL_CANCEL, .ack = 1);
	YES(src.owe_wr && !src.owe_ack);
	sdp_src_told_written(&src);
	YES(sdp_src_may_copy(&src));
}

/* The sink's is resolved by what completes them, too. */
static void sdp_snk__cancel_resolved(struct kunit *test)
{
	struct sdp_snk snk = a_sink(SDP_MODE_PIPELINED);
	struct sdp_advert_told told;

	sdp_snk_offered(&snk, 1000);
	sdp_snk_offered(&snk, 1000);
	sdp_snk_cancelled(&snk);
	SNK(0, SDP_MID_RDMA_WR_COMPL, .mseq = 2, .ext = 10);
	YES(snk.cancel);
	SNK(0, SENDS(3));
	NO(snk.cancel);
	/* And by the end. */
	sdp_snk_offered(&snk, 1000);
	sdp_snk_cancelled(&snk);
	SNK(0, SDP_MID_DISCONN, .mseq = 4);
	TOLD(SDP_ADVERT_WITHDRAWN, 0, 0);
	NO(snk.cancel);
}

/* Every other MID is none of a half's, or not of this side of it. */
static void sdp_advert__other_mids(struct kunit *test)
{
	unsigned int mid;

	for (mid = 0; mid < 256; mid++) {
		struct sdp_src src = a_source(SDP_MODE_COMBINED);
		struct sdp_snk snk = a_sink(SDP_MODE_COMBINED);
		struct sdp_advert_told told;

		if (mid != SDP_MID_SEND_SM && mid != SDP_MID_SINK_AVAIL_CANCEL)
			SRC(-EPROTO, mid, .ext = 0x20);
		if (mid != SDP_MID_DATA && mid != SDP_MID_DISCONN &&
		    mid != SDP_MID_SRC_AVAIL_CANCEL &&
		    mid != SDP_MID_MODE_CHANGE)
			SNK(-EPROTO, mid, .ext = 0x20);
	}
}

static struct kunit_case sdp_advert_cases[] = {
	KUNIT_CASE(sdp_src__modes),
	KUNIT_CASE(sdp_src__max_adverts),
	KUNIT_CASE(sdp_snk__modes),
	KUNIT_CASE(sdp_snk__modes_and_adverts),
	KUNIT_CASE(sdp_src__out_of_buffered),
	KUNIT_CASE(sdp_src__rd_compl),
	KUNIT_CASE(sdp_src__send_sm),
	KUNIT_CASE(sdp_snk__reads),
	KUNIT_CASE(sdp_snk__tells),
	KUNIT_CASE(sdp_snk__behind),
	KUNIT_CASE(sdp_snk__refuses),
	KUNIT_CASE(sdp_advert__non_discards),
	KUNIT_CASE(sdp_src__sink_avail),
	KUNIT_CASE(sdp_advert__writes),
	KUNIT_CASE(sdp_advert__crossings),
	KUNIT_CASE(sdp_advert__crosses_mode_change),
	KUNIT_CASE(sdp_src__owes_written),
	KUNIT_CASE(sdp_snk__src_avail_cancel),
	KUNIT_CASE(sdp_src__src_avail_cancel),
	KUNIT_CASE(sdp_advert__sink_avail_cancel),
	KUNIT_CASE(sdp_src__cancel_of_written),
	KUNIT_CASE(sdp_src__cancel_of_one),
	KUNIT_CASE(sdp_snk__cancel_resolved),
	KUNIT_CASE(sdp_advert__other_mids),
	{}
};

static struct kunit_suite sdp_advert_suite = {
	.name = "sdp_advert",
	.test_cases = sdp_advert_cases,
};

kunit_test_suite(sdp_advert_suite);
