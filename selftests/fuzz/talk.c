// SPDX-License-Identifier: GPL-2.0
/*
 * Inputs for fuzz_conn by chance: conversations that get far.
 *
 * One is mostly about one thing, because by chance alone it takes long until a
 * SinkAvail is out that payload can cross: a theme is what the peer says then,
 * and what we do.  How often the peer breaks the rules is a matter of the
 * conversation too, since all that a broken rule leads to is its end.  Messages
 * are those of the theme, with what chance says in them, or golden vectors.
 */
#include "../../kernel/proto/kunit/sdp_golden.h"
#include "../../kernel/proto/sdp_advert.h"
#include "../../kernel/proto/sdp_state.h"
#include "../unit/chance.h"
#include "fuzz.h"
#include "conn.h"

enum { MESSAGE_MAX = 512, RECORD_MAX = 2 + MESSAGE_MAX };

#define ACT(what) (OP_ACT | ACT_##what << 3)
#define COPY OP_SEND
#define MID(what) SDP_MID_##what

static const struct theme {
	u8 mids[8];
	u8 steps[12];
} themes[] = {
	/* The peer offers. */
	{ { MID(SRC_AVAIL), MID(SRC_AVAIL), MID(SRC_AVAIL), MID(SRC_AVAIL),
	    MID(SRC_AVAIL_CANCEL), MID(SRC_AVAIL_CANCEL), MID(DATA),
	    MID(MODE_CHANGE) },
	  { ACT(READ), ACT(READ), ACT(READ), ACT(READ), ACT(READ_DONE),
	    ACT(READ_DONE), ACT(READ_DONE), ACT(TELL_READ), ACT(TELL_READ),
	    ACT(DECLINE), OP_REFUSE, ACT(ASK) } },
	/* We would like to be written to. */
	{ { MID(DATA), MID(DATA), MID(RDMA_WR_COMPL), MID(RDMA_WR_COMPL),
	    MID(SINK_CANCEL_ACK), MID(SRC_AVAIL), MID(SRC_AVAIL),
	    MID(MODE_CHANGE) },
	  { ACT(ASK), ACT(ASK), ACT(ASK), ACT(ASK), ACT(ASK_CANCEL),
	    ACT(ASK_CANCEL), ACT(DECLINE), OP_REFUSE, OP_REFUSE, ACT(READ),
	    ACT(READ_DONE), ACT(TELL_READ) } },
	/* We offer. */
	{ { MID(RDMA_RD_COMPL), MID(RDMA_RD_COMPL), MID(RDMA_RD_COMPL),
	    MID(SEND_SM), MID(SEND_SM), MID(SINK_AVAIL), MID(MODE_CHANGE),
	    MID(DATA) },
	  { ACT(OFFER), ACT(OFFER), ACT(OFFER), ACT(OFFER), ACT(OFFER),
	    ACT(OFFER_CANCEL), ACT(OFFER_CANCEL), ACT(CHANGE), ACT(CHANGE),
	    COPY, ACT(WRITE), ACT(TELL_WRITTEN) } },
	/* The peer would like to be written to. */
	{ { MID(SINK_AVAIL), MID(SINK_AVAIL), MID(SINK_AVAIL), MID(SINK_AVAIL),
	    MID(SINK_AVAIL_CANCEL), MID(SINK_AVAIL_CANCEL),
	    MID(RDMA_RD_COMPL), MID(SEND_SM) },
	  { ACT(WRITE), ACT(WRITE), ACT(TELL_WRITTEN), ACT(TELL_WRITTEN),
	    ACT(TELL_DROPPED), COPY, COPY, COPY, ACT(OFFER), ACT(CHANGE),
	    ACT(CHANGE), ACT(CHANGE) } },
	/* All of it, and the end. */
	{ { MID(DATA), MID(SRC_AVAIL), MID(SINK_AVAIL), MID(SEND_SM),
	    MID(RDMA_RD_COMPL), MID(CH_RCV_BUF_ACK), MID(DISCONN),
	    MID(ABORT_CONN) },
	  { COPY, COPY, ACT(OFFER), ACT(READ), ACT(READ_DONE), ACT(TELL_READ),
	    ACT(WRITE), ACT(TELL_WRITTEN), ACT(ASK), OP_REFUSE, ACT(RCVBUF),
	    OP_SEND | 4 << 3 } },
};

/* Of the conversation that is being made. */
static const struct theme *theme;
static u32 manners;		/* it breaks a rule once in so many times */

static void begin_theme(void)
{
	static const u32 kinds[] = { 12, 60, 400 };

	theme = &themes[below(sizeof(themes) / sizeof(themes[0]))];
	manners = kinds[below(sizeof(kinds) / sizeof(kinds[0]))];
}

static u32 make_step(u8 *to)
{
	/* Buffers and answers, so that it goes on. */
	static const u8 ops[] = {
		COPY, OP_SEND | 2 << 3, OP_SEND | 4 << 3, OP_POSTED | 1 << 3,
		OP_POSTED | 4 << 3, OP_POSTED | 8 << 3,
	};
	static const u8 events[] = {
		SDP_EV_ESTABLISHED, SDP_EV_SHUTDOWN, SDP_EV_FIN_SENT,
		SDP_EV_FIN_TIMEOUT, SDP_EV_END_HEARD,
	};
	u32 i;

	switch (below(128)) {
	case 0:
		to[0] = rnd();
		break;
	case 1:
		to[0] = OP_EVENT | events[below(sizeof(events))] << 3;
		break;
	case 2:
		to[0] = OP_SLICE;
		for (i = 1; i <= 8; i++)
			to[i] = rnd();
		return 9;
	case 3:
		to[0] = OP_SHUT_RD;
		break;
	case 4 ... 23:
		to[0] = ops[below(sizeof(ops))];
		break;
	default:
		to[0] = theme->steps[below(sizeof(theme->steps))];
	}
	to[1] = below(8) ? rnd() : 0;
	return (to[0] & 7) == OP_ACT ? 2 : 1;
}

/* Of all sizes alike. */
static u32 some_bytes(void)
{
	return 1 + (rnd() >> (8 + below(22)));
}

static u8 some_mid(void)
{
	return below(4) ? SDP_MID_DISCONN + below(SDP_MID_SUSP_COMM_ACK - 1) :
			  SDP_MID_SINK_AVAIL + below(3);
}

static u32 make_headed(u8 *to, u8 mid)
{
	struct sdp_wire_msg msg = {
		.mid = mid, .bufs = below(8) ? 20 + below(60) : below(8),
		.mseq_ack = rnd(),
		.flags = below(4) ? 0 : rnd(),
	};
	u32 head = SDP_LEN_BSDH + sdp_wire_ext_len(mid), payload = 0, i;
	u64 aligned[SDP_LEN_HDR_MAX / sizeof(u64) + 1];

	switch (mid) {
	case SDP_MID_DATA:
		payload = below(3) ? 1 + below(16) : 0;
		break;
	case SDP_MID_SRC_AVAIL:
		payload = below(8) ? 1 + below(16) : 0;
		/* Now and then there is no more than that. */
		msg.ext.avail.len = payload + (below(8) ? some_bytes() : 0);
		break;
	case SDP_MID_SINK_AVAIL:
		msg.ext.avail.len = below(64) ? some_bytes() : 0;
		msg.ext.avail.non_discards = below(4) ? 1 : rnd();
		break;
	case SDP_MID_MODE_CHANGE:
		msg.ext.mode = rnd();
		break;
	default:
		msg.ext.bytes = some_bytes();
	}
	if (mid == SDP_MID_SRC_AVAIL || mid == SDP_MID_SINK_AVAIL) {
		msg.ext.avail.rkey = rnd();
		msg.ext.avail.va = (u64)rnd() << 32 | rnd();
	}
	msg.len = head + payload;
	memcpy(to, aligned, sdp_wire_put(aligned, &msg));
	for (i = head; i < msg.len; i++)
		to[i] = i;
	return msg.len;
}

static u32 make_message(u8 *to)
{
	const struct sdp_golden_msg *golden;
	u32 bytes;

	to[0] = OP_HEAR;
	if (below(manners))
		to[0] |= FIX_RULES | FIX_EXT;
	else if (below(2))
		to[0] |= FIX_EXT;
	if (below(8 * manners))
		to[0] |= FIX_LEN;
	if (below(8 * manners))
		to[0] |= FIX_MSEQ;
	if (below(8 * manners))
		to[0] |= FIX_ACK;
	/* Who breaks the rules does not keep to the theme either. */
	if (!(to[0] & FIX_RULES) && below(2)) {
		bytes = make_headed(to + 2, some_mid());
	} else if (below(12)) {
		bytes = make_headed(to + 2, theme->mids[below(sizeof(theme->mids))]);
	} else {
		golden = &sdp_golden_msgs[below(sizeof(sdp_golden_msgs) /
						sizeof(sdp_golden_msgs[0]))];
		bytes = golden->msg.len;
		memcpy(to + 2, golden->bytes, bytes);
	}
	/* Where there is a length: none, or by FIX_EXT one too many. */
	if (!(to[0] & FIX_RULES) && below(2))
		to[2 + SDP_LEN_BSDH + 3] = 0;
	if (!below(8 * manners))
		to[2] = rnd();
	while (!below(2 * manners))
		bytes = bend(to + 2, bytes, MESSAGE_MAX - 2);
	/* Lengths go in twos; an odd one borrows from the next. */
	to[1] = (bytes + 1) / 2;
	if (bytes & 1)
		to[2 + bytes] = rnd();
	return 2 + 2 * to[1];
}

/* Both halves are combined at first; most of what there is wants them not to be. */
static u32 make_beginning(u8 *to)
{
	/* Where there are few, who may send at all is what it is about. */
	u32 at = 0, bufs = below(4) ? 60 : 8;

	to[at++] = below(8) ? 3 + below(bufs) : rnd();
	to[at++] = below(8) ? 3 + below(bufs) : rnd();
	to[at++] = below(4) ? (rnd() & 0xf3) | 0x20 : rnd();
	to[at++] = below(8) ? rnd() & ~2 : rnd();
	to[at++] = OP_EVENT | SDP_EV_ESTABLISHED << 3;
	if (below(3)) {
		to[at++] = ACT(CHANGE);
		to[at++] = below(8) ? SDP_MODE_PIPELINED : SDP_MODE_BUFFERED;
	}
	if (below(3)) {
		to[at++] = OP_HEAR | FIX_LEN | FIX_MSEQ | FIX_ACK |
			   FIX_EXT;
		to[at++] = (SDP_LEN_BSDH + 4) / 2;
		at += make_headed(to + at, SDP_MID_MODE_CHANGE);
	}
	return at;
}

/* A conversation: messages and our own steps, now and then bent. */
size_t fuzz_make(uint8_t *to, size_t room)
{
	u32 at, steps = below(48);

	begin_theme();
	at = make_beginning(to);
	while (steps-- && at + RECORD_MAX < room) {
		/* Some have two. */
		if (!below(24))
			theme = &themes[below(sizeof(themes) / sizeof(themes[0]))];
		at += below(2) ? make_step(to + at) : make_message(to + at);
	}
	while (!below(manners))
		at = bend(to, at, room);
	return at;
}

u32 fuzz_record(const u8 *at, u32 left)
{
	u32 size = 1;

	switch ((enum op)(at[0] & 7)) {
	case OP_SEND:
	case OP_POSTED:
	case OP_REFUSE:
	case OP_EVENT:
	case OP_SHUT_RD:
		break;
	case OP_ACT:
		size = 2;
		break;
	case OP_SLICE:
		size = 9;
		break;
	case OP_HEAR:
		size = left < 2 ? 1 : 2 + 2 * at[1];
		break;
	}
	return size < left ? size : left;
}

/* Insert, remove or repeat whole records, or bend what stands in one. */
size_t fuzz_change(uint8_t *input, size_t size, size_t room)
{
	uint8_t fresh[RECORD_MAX];
	u32 at = 4, old = 0, new, step;

	if (size < 4 || !below(16))
		return fuzz_make(input, room);
	begin_theme();
	for (step = below(64); at < size && step; step--)
		at += fuzz_record(input + at, size - at);
	if (at < size)
		old = fuzz_record(input + at, size - at);
	switch (below(4)) {
	case 0:
		new = 0;
		break;
	case 1:
		new = 2 * old;
		if (new > sizeof(fresh))
			return size;
		memcpy(fresh, input + at, old);
		memcpy(fresh + old, input + at, old);
		break;
	case 2:
		bend(input + at, old, old);
		return size;
	default:
		new = below(2) ? make_step(fresh) : make_message(fresh);
		if (below(2))
			old = 0;
	}
	if (size - old + new > room)
		return size;
	memmove(input + at + new, input + at + old, size - at - old);
	memcpy(input + at, fresh, new);
	return size - old + new;
}
