// SPDX-License-Identifier: GPL-2.0
/*
 * Does sdp_mode.c mean by each message what the protocol text means (4.1 to
 * 4.7, 5, 6.1)?
 *
 * A case is a short conversation: what arrives, in order, and what is to be
 * done about it.  Steps that are no message are what our own side does.
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_mode.c"

enum {
	DELIVER = SDP_HEARD_DELIVER,
	ADVERT = SDP_HEARD_ADVERT,
	SENDSM = SDP_HEARD_SENDSM,
};

/* What our own side does between two messages; outside the MIDs. */
enum { POSTED = 0x100, SHUT_RD, ASKED };

struct step {
	u16 mid;
	int want;
	u32 payload;	/* bytes behind the headers */
	u32 ext;	/* Len of a SrcAvail; byte 0 of a ModeChange */
	u8 flags;
	bool late;	/* it crossed our newest SendSm */
};

#define DATA(n, ...)	{ SDP_MID_DATA, __VA_ARGS__, .payload = (n) }
#define EMPTY		{ SDP_MID_DATA, 0 }
#define AVAIL(len, n, ...) \
	{ SDP_MID_SRC_AVAIL, __VA_ARGS__, .payload = (n), .ext = (len) }
#define CHANGE(mch, ...) { SDP_MID_MODE_CHANGE, __VA_ARGS__, .ext = (mch) }
#define MSG(mid, ...)	{ SDP_MID_ ## mid, __VA_ARGS__ }
#define WE(do)		{ do, 0 }

enum {
	TO_BUFFERED		= 0x00,
	TO_COMBINED		= 0x10,
	TO_PIPELINED		= 0x20,
	SINK_TO_COMBINED	= 0x90,
};

static int step_heard(struct sdp_mode *mode, const struct step *step)
{
	struct sdp_wire_msg msg = {
		.mid = step->mid,
		.flags = step->flags,
		.mseq_ack = mode->snk.sm_mseq - step->late,
	};

	switch (step->mid) {
	case POSTED:
		sdp_snk_refuse(&mode->snk);
		if (!sdp_snk_may_refuse(&mode->snk))
			return -ENOENT;
		sdp_snk_refused(&mode->snk, mode->snk.sm_mseq + 1);
		return 0;
	case ASKED:
		sdp_mode_rcvbuf_posted(mode);
		return 0;
	case SHUT_RD:
		mode->shut_rd = true;
		return 0;
	case SDP_MID_SRC_AVAIL:
		msg.ext.avail.len = step->ext;
		break;
	case SDP_MID_MODE_CHANGE:
		msg.ext.mode = step->ext;
		break;
	}
	msg.len = SDP_LEN_BSDH + sdp_wire_ext_len(msg.mid) + step->payload;
	return sdp_mode_heard(mode, &msg);
}

static void play(struct kunit *test, const char *what, struct sdp_mode *mode,
		 const struct step *steps, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct sdp_mode before;
		int got;

		memcpy(&before, mode, sizeof(before));
		got = step_heard(mode, &steps[i]);
		KUNIT_EXPECT_EQ_MSG(test, got, steps[i].want, "%s, step %u",
				    what, i + 1);
		if (got < 0)
			KUNIT_EXPECT_EQ_MSG(test,
					    memcmp(&before, mode, sizeof(before)),
					    0, "%s, step %u changed something",
					    what, i + 1);
	}
}

#define PLAY(test, what, adverts, ...)					\
do {									\
	static const struct step __steps[] = { __VA_ARGS__ };		\
	struct sdp_mode __mode;						\
									\
	sdp_mode_init(&__mode, 1, adverts);				\
	play(test, what, &__mode, __steps, ARRAY_SIZE(__steps));	\
} while (0)

static void sdp_mode_init__combined(struct kunit *test)
{
	struct sdp_mode mode;

	memset(&mode, 0xa5, sizeof(mode));
	sdp_mode_init(&mode, 3, 2);
	KUNIT_EXPECT_EQ(test, mode.src.mode, SDP_MODE_COMBINED);
	KUNIT_EXPECT_EQ(test, mode.snk.mode, SDP_MODE_COMBINED);
	KUNIT_EXPECT_EQ(test, mode.src.max, 3);
	KUNIT_EXPECT_EQ(test, mode.snk.max, 2);
	KUNIT_EXPECT_FALSE(test, sdp_snk_may_refuse(&mode.snk));
	KUNIT_EXPECT_FALSE(test, mode.peer_fin);
	KUNIT_EXPECT_FALSE(test, mode.shut_rd);
	KUNIT_EXPECT_FALSE(test, mode.req_pipe);
}

/* Every MID as the first message of a connection. */
static void sdp_mode_heard__every_mid(struct kunit *test)
{
	unsigned int mid;

	for (mid = 0; mid < 256; mid++) {
		struct step step = { .mid = mid, .want = -EPROTO };
		struct sdp_mode mode;

		switch (mid) {
		case SDP_MID_DISCONN:
			step.want = SDP_HEARD_FIN;
			break;
		case SDP_MID_ABORT_CONN:
			step.want = SDP_HEARD_RESET;
			break;
		case SDP_MID_CH_RCV_BUF:
			step.want = SDP_HEARD_RCVBUF;
			break;
		case SDP_MID_SUSP_COMM:
			step.want = SDP_HEARD_SUSP_ACK;
			break;
		case SDP_MID_SEND_SM:
		case SDP_MID_SRC_AVAIL_CANCEL:
		case SDP_MID_SINK_AVAIL_CANCEL:
		case SDP_MID_DATA:
			step.want = 0;
			break;
		case SDP_MID_MODE_CHANGE:
			step.ext = TO_PIPELINED;
			step.want = 0;
			break;
		case SDP_MID_SRC_AVAIL:
			step.payload = 64;
			step.ext = 65536;
			step.want = DELIVER | ADVERT;
			break;
		}
		if (mid >= 0x40 && mid <= 0x7f)
			step.want = 0;
		sdp_mode_init(&mode, 1, 1);
		play(test, "every MID", &mode, &step, 1);
	}
}

static void sdp_mode_heard__data(struct kunit *test)
{
	PLAY(test, "data and updates", 1,
	     DATA(5, DELIVER), EMPTY, DATA(32768, DELIVER), EMPTY);
	PLAY(test, "after DisConn", 1,
	     DATA(1, DELIVER), MSG(DISCONN, SDP_HEARD_FIN),
	     EMPTY, DATA(1, -EPROTO), EMPTY);
	PLAY(test, "reader gone", 1,
	     WE(SHUT_RD), EMPTY, DATA(1, -ECONNABORTED), EMPTY,
	     MSG(DISCONN, SDP_HEARD_FIN), EMPTY, DATA(1, -EPROTO));
	PLAY(test, "in every mode", 1,
	     CHANGE(TO_PIPELINED, 0), DATA(1, DELIVER),
	     CHANGE(TO_COMBINED, 0), DATA(1, DELIVER),
	     CHANGE(TO_BUFFERED, 0), DATA(1, DELIVER));
}

static void sdp_mode_heard__combined_src_avail(struct kunit *test)
{
	PLAY(test, "answered and copied", 1,
	     AVAIL(1000, 64, DELIVER | ADVERT), WE(POSTED), DATA(936, DELIVER),
	     AVAIL(1000, 1, DELIVER | ADVERT), WE(POSTED), DATA(999, DELIVER));
	PLAY(test, "nothing inline", 1, AVAIL(1000, 0, -EPROTO));
	PLAY(test, "nothing at all", 1, AVAIL(0, 0, -EPROTO));
	/* Combined means one, whatever was announced. */
	PLAY(test, "a second one", 255,
	     AVAIL(1000, 64, DELIVER | ADVERT), AVAIL(1000, 64, -EPROTO),
	     AVAIL(64, 64, -EPROTO), EMPTY, MSG(SEND_SM, 0), WE(POSTED),
	     AVAIL(1000, 64, DELIVER | ADVERT));
	PLAY(test, "data before the answer", 1,
	     AVAIL(1000, 64, DELIVER | ADVERT), DATA(1, -EPROTO), EMPTY);
	PLAY(test, "end before the answer", 1,
	     AVAIL(1000, 64, DELIVER | ADVERT), MSG(DISCONN, -EPROTO),
	     WE(POSTED), DATA(936, DELIVER), MSG(DISCONN, SDP_HEARD_FIN));
	PLAY(test, "everything inline", 1,
	     AVAIL(64, 64, DELIVER), DATA(1, DELIVER), AVAIL(1, 1, DELIVER),
	     AVAIL(65, 64, DELIVER | ADVERT));
	PLAY(test, "after DisConn", 1,
	     MSG(DISCONN, SDP_HEARD_FIN), AVAIL(1000, 64, -EPROTO),
	     AVAIL(64, 64, -EPROTO));
	PLAY(test, "reader gone", 1,
	     WE(SHUT_RD), AVAIL(1000, 64, -ECONNABORTED),
	     AVAIL(64, 64, -ECONNABORTED));
}

static void sdp_mode_heard__pipelined_src_avail(struct kunit *test)
{
	PLAY(test, "as many as announced", 3,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT),
	     AVAIL(1000, 0, ADVERT), AVAIL(1000, 0, ADVERT),
	     AVAIL(1000, 0, -EPROTO), WE(POSTED), AVAIL(1000, 0, ADVERT));
	PLAY(test, "something inline", 3,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 1, -EPROTO),
	     AVAIL(1, 1, -EPROTO));
	/* An outstanding combined one stays valid, and counts. */
	PLAY(test, "from combined", 2,
	     AVAIL(1000, 64, DELIVER | ADVERT), CHANGE(TO_PIPELINED, 0),
	     AVAIL(1000, 0, ADVERT), AVAIL(1000, 0, -EPROTO));
	PLAY(test, "reader gone", 2,
	     CHANGE(TO_PIPELINED, 0), WE(SHUT_RD), AVAIL(1000, 0, -ECONNABORTED));
	PLAY(test, "after DisConn", 2,
	     CHANGE(TO_PIPELINED, 0), MSG(DISCONN, SDP_HEARD_FIN),
	     AVAIL(1000, 0, -EPROTO));
	PLAY(test, "end before the answer", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT),
	     MSG(DISCONN, -EPROTO));
}

/* A SrcAvail crosses the SendSm that ends it: no second one is owed. */
static void sdp_mode_heard__pipelined_crossing(struct kunit *test)
{
	PLAY(test, "it copies", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT), WE(POSTED),
	     AVAIL(1000, 0, 0, .late = true), DATA(2000, DELIVER),
	     AVAIL(1000, 0, ADVERT), AVAIL(1000, 0, ADVERT),
	     AVAIL(1000, 0, -EPROTO));
	PLAY(test, "it copies while one counts", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT),
	     DATA(2000, -EPROTO));
	PLAY(test, "it cancels", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT), WE(POSTED),
	     AVAIL(1000, 0, 0, .late = true), MSG(SRC_AVAIL_CANCEL, 0),
	     AVAIL(1000, 0, ADVERT), AVAIL(1000, 0, ADVERT),
	     AVAIL(1000, 0, -EPROTO));
	PLAY(test, "it goes back to combined", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT), WE(POSTED),
	     AVAIL(1000, 0, 0, .late = true), CHANGE(TO_COMBINED, 0),
	     AVAIL(1000, 64, DELIVER | ADVERT), AVAIL(1000, 64, -EPROTO));
	PLAY(test, "it copies and ends", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT), WE(POSTED),
	     AVAIL(1000, 0, 0, .late = true), DATA(2000, DELIVER),
	     MSG(DISCONN, SDP_HEARD_FIN));
}

static void sdp_mode_heard__src_avail_cancel(struct kunit *test)
{
	PLAY(test, "nothing outstanding", 1,
	     MSG(SRC_AVAIL_CANCEL, 0), AVAIL(1000, 64, DELIVER | ADVERT),
	     WE(POSTED), MSG(SRC_AVAIL_CANCEL, 0), DATA(936, DELIVER));
	/* The SendSm answers both; until then nothing may follow. */
	PLAY(test, "not answered yet", 1,
	     AVAIL(1000, 64, DELIVER | ADVERT), MSG(SRC_AVAIL_CANCEL, SENDSM),
	     DATA(936, -EPROTO), AVAIL(1000, 64, -EPROTO),
	     MSG(DISCONN, -EPROTO), WE(POSTED), DATA(936, DELIVER));
	PLAY(test, "after DisConn", 1,
	     MSG(DISCONN, SDP_HEARD_FIN), MSG(SRC_AVAIL_CANCEL, 0));
}

static void sdp_mode_heard__cancel_keeps_the_debt(struct kunit *test)
{
	static const struct step steps[] = {
		AVAIL(1000, 64, DELIVER | ADVERT), MSG(SRC_AVAIL_CANCEL, SENDSM),
	};
	struct sdp_mode mode;

	sdp_mode_init(&mode, 1, 1);
	play(test, "cancel", &mode, steps, ARRAY_SIZE(steps));
	KUNIT_EXPECT_TRUE(test, sdp_snk_may_refuse(&mode.snk));
	sdp_snk_refused(&mode.snk, 1);
	KUNIT_EXPECT_FALSE(test, sdp_snk_may_refuse(&mode.snk));
	KUNIT_EXPECT_EQ(test, mode.snk.held.n, 0);
}

/* From each mode, every byte that a ModeChange can carry. */
static void sdp_mode_heard__mode_change(struct kunit *test)
{
	unsigned int from, mch;

	for (from = SDP_MODE_BUFFERED; from <= SDP_MODE_PIPELINED; from++) {
		for (mch = 0; mch < 256; mch++) {
			struct step step = CHANGE(mch, -EPROTO);
			unsigned int to = mch >> 4;	/* bits 3:0 are free */
			struct sdp_mode mode;

			sdp_mode_init(&mode, 1, 1);
			mode.snk.mode = from;
			if ((from == SDP_MODE_COMBINED && to == TO_BUFFERED >> 4) ||
			    (from == SDP_MODE_COMBINED && to == TO_PIPELINED >> 4) ||
			    (from == SDP_MODE_PIPELINED && to == TO_COMBINED >> 4))
				step.want = 0;
			play(test, "source's", &mode, &step, 1);
			KUNIT_EXPECT_EQ(test, mode.snk.mode, step.want ? from : to);
			KUNIT_EXPECT_EQ(test, mode.src.mode, SDP_MODE_COMBINED);

			/* The other half, were it ever elsewhere. */
			sdp_mode_init(&mode, 1, 1);
			mode.src.mode = from;
			if (to < 8)
				continue;
			step.want = from == SDP_MODE_BUFFERED &&
				    to == SINK_TO_COMBINED >> 4 ? 0 : -EPROTO;
			play(test, "sink's", &mode, &step, 1);
			KUNIT_EXPECT_EQ(test, mode.snk.mode, SDP_MODE_COMBINED);
			KUNIT_EXPECT_EQ(test, mode.src.mode, step.want ?
					from : SDP_MODE_COMBINED);
		}
	}
}

static void sdp_mode_heard__mode_change_and_adverts(struct kunit *test)
{
	PLAY(test, "buffered with one outstanding", 1,
	     AVAIL(1000, 64, DELIVER | ADVERT), CHANGE(TO_BUFFERED, -EPROTO),
	     WE(POSTED), CHANGE(TO_BUFFERED, 0), AVAIL(1000, 64, -EPROTO),
	     AVAIL(64, 64, -EPROTO), AVAIL(1000, 0, -EPROTO), DATA(936, DELIVER));
	/* The source drops what was outstanding and issues it again. */
	PLAY(test, "combined with some outstanding", 2,
	     CHANGE(TO_PIPELINED, 0), AVAIL(1000, 0, ADVERT),
	     AVAIL(1000, 0, ADVERT), CHANGE(TO_COMBINED, 0),
	     AVAIL(1000, 64, DELIVER | ADVERT), DATA(1, -EPROTO), WE(POSTED),
	     DATA(936, DELIVER));
	PLAY(test, "there and back", 1,
	     CHANGE(TO_PIPELINED, 0), CHANGE(TO_PIPELINED, -EPROTO),
	     CHANGE(TO_COMBINED, 0), CHANGE(TO_COMBINED, -EPROTO),
	     CHANGE(SINK_TO_COMBINED, -EPROTO), CHANGE(TO_BUFFERED, 0),
	     CHANGE(TO_BUFFERED, -EPROTO), CHANGE(TO_COMBINED, -EPROTO),
	     CHANGE(TO_PIPELINED, -EPROTO));
	PLAY(test, "after DisConn", 1,
	     MSG(DISCONN, SDP_HEARD_FIN), CHANGE(TO_PIPELINED, 0));
}

static void sdp_mode_heard__disconn(struct kunit *test)
{
	PLAY(test, "twice", 1,
	     MSG(DISCONN, SDP_HEARD_FIN), MSG(DISCONN, -EPROTO));
	/* What belongs to the other half may follow (6.1). */
	PLAY(test, "control behind it", 1,
	     MSG(DISCONN, SDP_HEARD_FIN), EMPTY, MSG(SEND_SM, 0),
	     MSG(CH_RCV_BUF, SDP_HEARD_RCVBUF),
	     MSG(SUSP_COMM, SDP_HEARD_SUSP_ACK), MSG(SINK_AVAIL_CANCEL, 0),
	     MSG(ABORT_CONN, SDP_HEARD_RESET));
	PLAY(test, "reader gone", 1, WE(SHUT_RD), MSG(DISCONN, SDP_HEARD_FIN));
}

static void sdp_mode_heard__unasked_answers(struct kunit *test)
{
	PLAY(test, "with a SrcAvail of the peer's outstanding", 1,
	     AVAIL(1000, 64, DELIVER | ADVERT), MSG(RDMA_RD_COMPL, -EPROTO),
	     MSG(RDMA_WR_COMPL, -EPROTO), MSG(SINK_CANCEL_ACK, -EPROTO),
	     MSG(CH_RCV_BUF_ACK, -EPROTO), MSG(SUSP_COMM_ACK, -EPROTO),
	     MSG(SINK_AVAIL, -EPROTO), MSG(SEND_SM, 0));
	PLAY(test, "pipelined is the peer's half, not ours", 8,
	     CHANGE(TO_PIPELINED, 0), MSG(SINK_AVAIL, -EPROTO));
}

static void sdp_mode_heard__size_of_buffers(struct kunit *test)
{
	PLAY(test, "one answer for one question", 1,
	     MSG(CH_RCV_BUF_ACK, -EPROTO), WE(ASKED), EMPTY,
	     MSG(CH_RCV_BUF, SDP_HEARD_RCVBUF),
	     MSG(CH_RCV_BUF_ACK, SDP_HEARD_RCVBUF_ACK),
	     MSG(CH_RCV_BUF_ACK, -EPROTO));
	PLAY(test, "whatever else is under way", 1,
	     WE(ASKED), AVAIL(1000, 64, DELIVER | ADVERT),
	     MSG(CH_RCV_BUF_ACK, SDP_HEARD_RCVBUF_ACK), WE(POSTED), WE(ASKED),
	     MSG(DISCONN, SDP_HEARD_FIN),
	     MSG(CH_RCV_BUF_ACK, SDP_HEARD_RCVBUF_ACK));
}

static void sdp_mode_heard__flags(struct kunit *test)
{
	enum { PRES = SDP_FLAG_OOB_PRES, PEND = SDP_FLAG_OOB_PEND };

	PLAY(test, "urgent", 1,
	     DATA(1, DELIVER | SDP_HEARD_OOB_PRES | SDP_HEARD_OOB_PEND,
		  .flags = PRES | PEND),
	     DATA(1, DELIVER | SDP_HEARD_OOB_PEND, .flags = PEND),
	     DATA(9, DELIVER | SDP_HEARD_OOB_PRES, .flags = PRES));
	PLAY(test, "pending, in any message", 1,
	     DATA(0, SDP_HEARD_OOB_PEND, .flags = PEND),
	     AVAIL(1000, 64, DELIVER | ADVERT | SDP_HEARD_OOB_PEND, .flags = PEND),
	     MSG(SEND_SM, SDP_HEARD_OOB_PEND, .flags = PEND));
	/* Only the last byte of a Data can be urgent. */
	PLAY(test, "present where it cannot be", 1,
	     DATA(0, 0, .flags = PRES),
	     AVAIL(64, 64, DELIVER, .flags = PRES),
	     AVAIL(1000, 64, DELIVER | ADVERT, .flags = PRES),
	     MSG(SEND_SM, 0, .flags = PRES));
	PLAY(test, "reserved", 1,
	     DATA(1, DELIVER, .flags = 0xf8), MSG(SEND_SM, 0, .flags = 0xf8));
	PLAY(test, "refused", 1,
	     MSG(SINK_CANCEL_ACK, -EPROTO, .flags = 0xff));
}

static void sdp_mode_heard__req_pipe(struct kunit *test)
{
	static const struct step
		wish = MSG(SEND_SM, 0, .flags = SDP_FLAG_REQ_PIPE),
		other = EMPTY,
		refused = MSG(RDMA_RD_COMPL, -EPROTO, .flags = SDP_FLAG_REQ_PIPE);
	struct sdp_mode mode;

	sdp_mode_init(&mode, 1, 1);
	play(test, "refused", &mode, &refused, 1);
	play(test, "other", &mode, &other, 1);
	KUNIT_EXPECT_FALSE(test, mode.req_pipe);
	play(test, "wish", &mode, &wish, 1);
	play(test, "other", &mode, &other, 1);
	KUNIT_EXPECT_TRUE(test, mode.req_pipe);
}

/* Nothing that we do not know may change anything, at any time. */
static void sdp_mode_heard__experimental(struct kunit *test)
{
	static const struct step steps[] = {
		{ 0x40, 0 }, { 0x7f, 0 },
		{ 0x55, 0, .payload = 1000, .flags = 0xff },
	};
	static struct sdp_mode mode, before;	/* long for a stack */

	sdp_mode_init(&mode, 1, 1);
	mode.peer_fin = true;
	mode.shut_rd = true;
	mode.snk.held.n = 1;
	memcpy(&before, &mode, sizeof(mode));
	play(test, "experimental", &mode, steps, ARRAY_SIZE(steps));
	KUNIT_EXPECT_EQ(test, memcmp(&before, &mode, sizeof(mode)), 0);
}

/* A sink in pipelined mode whose peer takes several adverts. */
static void set_mode(struct sdp_mode *mode, u16 theirs)
{
	sdp_mode_init(mode, theirs, 8);
	mode->snk.mode = SDP_MODE_PIPELINED;
}

static void sdp_mode_may_ask__where(struct kunit *test)
{
	struct sdp_mode mode;

	set_mode(&mode, 2);
	KUNIT_EXPECT_TRUE(test, sdp_mode_may_ask(&mode, false));
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, true));
	sdp_snk_offered(&mode.snk, 1000);	/* one at a time */
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, false));
	set_mode(&mode, 2);	/* MaxAdverts is for both halves together (4.3) */
	mode.src.out.n = 1;
	KUNIT_EXPECT_TRUE(test, sdp_mode_may_ask(&mode, false));
	mode.src.out.n = 2;
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, false));
	set_mode(&mode, 1);			/* section 7 */
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, false));
	set_mode(&mode, 2);
	mode.snk.mode = SDP_MODE_COMBINED;
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, false));
	set_mode(&mode, 2);
	mode.peer_fin = true;
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, false));
	set_mode(&mode, 2);
	mode.shut_rd = true;
	KUNIT_EXPECT_FALSE(test, sdp_mode_may_ask(&mode, false));
}

/* A SinkAvail that a SrcAvail has crossed was for nothing; that is told once. */
static void sdp_mode_crossed__once(struct kunit *test)
{
	const struct sdp_wire_msg avail = {
		.mid = SDP_MID_SRC_AVAIL, .ext.avail.len = 500,
		.len = SDP_LEN_BSDH + sdp_wire_ext_len(SDP_MID_SRC_AVAIL),
	};
	struct sdp_mode mode;

	set_mode(&mode, 2);
	KUNIT_EXPECT_FALSE(test, sdp_mode_crossed(&mode));
	sdp_snk_offered(&mode.snk, 1000);
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &avail), 0);
	KUNIT_EXPECT_TRUE(test, sdp_mode_crossed(&mode));
	KUNIT_EXPECT_FALSE(test, sdp_mode_crossed(&mode));
}

static void sdp_mode_heard__filled(struct kunit *test)
{
	struct sdp_wire_msg msg = { .mid = SDP_MID_RDMA_WR_COMPL };
	struct sdp_mode mode;

	set_mode(&mode, 2);
	sdp_snk_offered(&mode.snk, 1000);
	msg.ext.bytes = 1000;
	msg.len = SDP_LEN_BSDH + sdp_wire_ext_len(msg.mid);
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), SDP_HEARD_FILLED);
	KUNIT_EXPECT_EQ(test, mode.filled.bytes, 1000);
	KUNIT_EXPECT_EQ(test, mode.filled.news, SDP_ADVERT_DONE);

	sdp_snk_offered(&mode.snk, 1000);
	msg.mid = SDP_MID_DATA;
	msg.len = SDP_LEN_BSDH + 10;
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg),
			SDP_HEARD_FILLED | SDP_HEARD_DELIVER);
	KUNIT_EXPECT_EQ(test, mode.filled.bytes, 0);
	KUNIT_EXPECT_EQ(test, mode.filled.news, SDP_ADVERT_DONE);
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), SDP_HEARD_DELIVER);

	sdp_snk_offered(&mode.snk, 1000);
	sdp_snk_cancelled(&mode.snk);
	msg.mid = SDP_MID_SINK_CANCEL_ACK;
	msg.len = SDP_LEN_BSDH;
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), SDP_HEARD_FILLED);
	KUNIT_EXPECT_EQ(test, mode.filled.news, SDP_ADVERT_WITHDRAWN);

	sdp_snk_offered(&mode.snk, 1000);
	msg.mid = SDP_MID_DISCONN;
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg),
			SDP_HEARD_FILLED | SDP_HEARD_FIN);
}

/* A SinkAvailCancel is answered where something was held. */
static void sdp_mode_heard__sink_cancel(struct kunit *test)
{
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_SINK_AVAIL, .ext.avail.len = 1000,
		.len = SDP_LEN_BSDH + sdp_wire_ext_len(SDP_MID_SINK_AVAIL),
	};
	struct sdp_mode mode;

	set_mode(&mode, 2);
	mode.src.mode = SDP_MODE_PIPELINED;
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), SDP_HEARD_TOLD);
	KUNIT_EXPECT_EQ(test, mode.told.news, SDP_ADVERT_WITHDRAWN);
	/* What is written into the first one is not taken back by the second. */
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), 0);
	msg.mid = SDP_MID_SINK_AVAIL_CANCEL;
	msg.len = SDP_LEN_BSDH;
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), SDP_HEARD_OWES);
	sdp_src_told_dropped(&mode.src);
	KUNIT_EXPECT_EQ(test, sdp_mode_heard(&mode, &msg), 0);
}

static void sdp_mode_pick__slices(struct kunit *test)
{
	static const struct {
		size_t left;
		u32 payload_max, tail_room;
		u32 bytes;
		bool coalesce;
	} cases[] = {
		{ 1, 48, 0, 1, false },
		{ 48, 48, 0, 48, false },
		{ 49, 48, 0, 48, false },
		{ 1, 48, 1, 1, true },
		{ 2, 48, 1, 1, true },
		{ 48, 48, 47, 47, true },
		{ 10, 32768, 32000, 10, true },
		{ ~(size_t)0, 32768, 0, 32768, false },
		{ ~(size_t)0, ~0u, 0, ~0u, false },
		{ ~(size_t)0, 32768, 5, 5, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct sdp_mode_slice slice =
			sdp_mode_pick(cases[i].left, cases[i].payload_max,
				      cases[i].tail_room);

		KUNIT_EXPECT_EQ_MSG(test, slice.bytes, cases[i].bytes,
				    "case %u", i);
		KUNIT_EXPECT_EQ_MSG(test, slice.coalesce, cases[i].coalesce,
				    "case %u", i);
	}
}

static struct kunit_case sdp_mode_cases[] = {
	KUNIT_CASE(sdp_mode_init__combined),
	KUNIT_CASE(sdp_mode_heard__every_mid),
	KUNIT_CASE(sdp_mode_heard__data),
	KUNIT_CASE(sdp_mode_heard__combined_src_avail),
	KUNIT_CASE(sdp_mode_heard__pipelined_src_avail),
	KUNIT_CASE(sdp_mode_heard__pipelined_crossing),
	KUNIT_CASE(sdp_mode_heard__src_avail_cancel),
	KUNIT_CASE(sdp_mode_heard__cancel_keeps_the_debt),
	KUNIT_CASE(sdp_mode_heard__mode_change),
	KUNIT_CASE(sdp_mode_heard__mode_change_and_adverts),
	KUNIT_CASE(sdp_mode_heard__disconn),
	KUNIT_CASE(sdp_mode_heard__unasked_answers),
	KUNIT_CASE(sdp_mode_heard__size_of_buffers),
	KUNIT_CASE(sdp_mode_heard__flags),
	KUNIT_CASE(sdp_mode_heard__req_pipe),
	KUNIT_CASE(sdp_mode_heard__experimental),
	KUNIT_CASE(sdp_mode_may_ask__where),
	KUNIT_CASE(sdp_mode_crossed__once),
	KUNIT_CASE(sdp_mode_heard__filled),
	KUNIT_CASE(sdp_mode_heard__sink_cancel),
	KUNIT_CASE(sdp_mode_pick__slices),
	{}
};

static struct kunit_suite sdp_mode_suite = {
	.name = "sdp_mode",
	.test_cases = sdp_mode_cases,
};

kunit_test_suite(sdp_mode_suite);
