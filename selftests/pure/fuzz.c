// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile bytes for everything that reads them: the Hello, the HelloAck, and
 * the way of a message through sdp_wire_get(), sdp_flow_heard() and
 * sdp_mode_heard(), with what follows for the state.
 *
 * An input is a little program, so that chance gets further than the first
 * check: its first byte says what is read, and in a connection each record is an
 * operation byte, then for a message a length and its bytes.  The operation
 * may ask to have Len, MSeq, MSeqAck and Bufs put right first; what is left
 * wrong is wrong in one place only.  Each message is copied to an allocation of
 * just its size.
 *
 * Built twice from this file: with clang as a libFuzzer target, and alone, with
 * a driver that starts from the golden vectors and mutates by its own chance:
 * "fuzz COUNT SEED", or "fuzz FILE" to replay a libFuzzer finding.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <asm/byteorder.h>

#include "../../kernel/sdp_flow.h"
#include "../../kernel/sdp_mode.h"
#include "../../kernel/sdp_state.h"
#include "../../kernel/sdp_wire.h"
#include "../../kernel/kunit/sdp_golden.h"

#define CHECK(ok)							\
do {									\
	if (!(ok)) {							\
		fprintf(stderr, "line %d: does not hold: %s\n",		\
			__LINE__, #ok);					\
		abort();						\
	}								\
} while (0)

enum what { HELLO, HELLO_ACK, CONNECTION, WHATS };

/* Operations: the low 3 bits, the rest is an argument. */
enum op {
	OP_HEAR,		/* arguments: FIX_* */
	OP_SEND, OP_POSTED, OP_SENDSM, OP_EVENT, OP_SHUT_RD,
};

enum fix { FIX_LEN = 0x08, FIX_MSEQ = 0x10, FIX_ACK = 0x20 };

enum { MESSAGE_MAX = 512 };

static void *exact_copy(const void *from, size_t bytes)
{
	void *copy = malloc(bytes);

	if (bytes && !copy)
		abort();
	if (bytes)
		memcpy(copy, from, bytes);
	return copy;
}

static void read_hello(const u8 *data, size_t size)
{
	void *from = exact_copy(data, size);
	struct sdp_wire_hello hello, again;
	u8 back[SDP_LEN_HELLO];

	if (sdp_wire_get_hello(&hello, from, size) == SDP_WIRE_OK) {
		CHECK(size >= SDP_LEN_HELLO);
		CHECK(hello.version >> 4 == 2);
		CHECK(hello.ipv == 4 || hello.ipv == 6);
		CHECK(hello.max_adverts > 0);
		CHECK(hello.rcvsz >= SDP_WIRE_RCVSZ_MIN);
		sdp_wire_put_hello(back, &hello);
		CHECK(sdp_wire_get_hello(&again, back, sizeof(back)) == SDP_WIRE_OK);
		CHECK(again.bufs == hello.bufs && again.port == hello.port &&
		      again.cap == hello.cap && again.rcvsz == hello.rcvsz &&
		      again.des_rcvsz == hello.des_rcvsz &&
		      again.max_adverts == hello.max_adverts &&
		      !memcmp(again.src_ip, hello.src_ip, 16) &&
		      !memcmp(again.dst_ip, hello.dst_ip, 16));
	}
	free(from);
}

static void read_hello_ack(const u8 *data, size_t size)
{
	void *from = exact_copy(data, size);
	struct sdp_wire_hello ack, again;
	u8 back[SDP_LEN_HELLO_ACK];

	if (sdp_wire_get_hello_ack(&ack, from, size) == SDP_WIRE_OK) {
		CHECK(size >= SDP_LEN_HELLO_ACK_MIN);
		CHECK(ack.version >> 4 == 2);
		CHECK(ack.max_adverts > 0 && ack.max_adverts <= 255);
		CHECK(ack.rcvsz >= SDP_WIRE_RCVSZ_MIN);
		sdp_wire_put_hello_ack(back, &ack);
		CHECK(sdp_wire_get_hello_ack(&again, back, sizeof(back)) ==
		      SDP_WIRE_OK);
		CHECK(!memcmp(&again, &ack, sizeof(ack)));
	}
	free(from);
}

struct conn {
	struct sdp_flow flow;
	struct sdp_mode mode;
	enum sdp_state state;
	bool born, failed;
};

static void event(struct conn *conn, enum sdp_event what)
{
	enum sdp_state was = conn->state;
	unsigned int todo;

	/* Nobody connects a connection that has been one. */
	if (what == SDP_EV_CONNECT || (what == SDP_EV_ACCEPT && conn->born))
		return;
	conn->born = true;
	todo = sdp_state_next(&conn->state, what);
	CHECK(conn->state < SDP_STATE_COUNT);
	CHECK(todo < 2 * SDP_DO_FREE);
	/* What is over stays over, and goes only one way. */
	if (was == SDP_CLOSED)
		CHECK(conn->state == SDP_CLOSED || what == SDP_EV_ACCEPT);
	else if (conn->state != SDP_CLOSED)
		CHECK(conn->state >= was);
	if (conn->failed)
		CHECK(conn->state == SDP_CLOSED || conn->state >= SDP_TIME_WAIT_1);
	if (conn->state == SDP_CLOSED && was != SDP_CLOSED)
		CHECK(todo & SDP_DO_FREE);
}

static void conn_fail(struct conn *conn)
{
	conn->failed = true;
	event(conn, SDP_EV_ABORT);
}

/* A header that was taken is one that we could have written. */
static void check_same_bytes(const struct sdp_wire_msg *msg, const u8 *bytes)
{
	u64 space[SDP_LEN_HDR_MAX / 8 + 1];
	u32 head = sdp_wire_put(space, msg);

	CHECK(head == SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid));
	if (msg->mid == SDP_MID_MODE_CHANGE)
		head -= 3;	/* reserved */
	CHECK(!memcmp(space, bytes, head));
}

static void hear_mode(struct conn *conn, const struct sdp_wire_msg *msg)
{
	struct sdp_mode before;
	u32 payload = sdp_wire_payload(msg);
	int verdict;

	memcpy(&before, &conn->mode, sizeof(before));
	verdict = sdp_mode_heard(&conn->mode, msg);
	if (verdict < 0) {
		CHECK(verdict == -EPROTO || verdict == -ECONNABORTED);
		CHECK(!memcmp(&before, &conn->mode, sizeof(before)));
		conn_fail(conn);
		return;
	}
	CHECK(verdict <= 0xff);
	CHECK(conn->mode.send == SDP_MODE_COMBINED);
	CHECK(conn->mode.recv <= SDP_MODE_PIPELINED);
	CHECK(conn->mode.avails <= conn->mode.max_adverts);
	CHECK(conn->mode.sendsm_owed || !conn->mode.avails);
	CHECK(!before.sendsm_owed || conn->mode.sendsm_owed);
	CHECK(conn->mode.peer_fin == (before.peer_fin || (verdict & SDP_HEARD_FIN)));
	CHECK(!before.peer_fin || !(verdict & SDP_HEARD_FIN));
	if (verdict & SDP_HEARD_DELIVER)
		CHECK(payload && !before.peer_fin && !before.shut_rd);
	else if (payload)
		CHECK(msg->mid >= SDP_MID_EXPERIMENTAL_FIRST &&
		      msg->mid <= SDP_MID_EXPERIMENTAL_LAST);
	if (verdict & SDP_HEARD_OOB_PRES)
		CHECK(msg->mid == SDP_MID_DATA && payload);
	if (verdict & SDP_HEARD_SENDSM)
		CHECK(msg->mid == SDP_MID_SRC_AVAIL && conn->mode.avails &&
		      before.recv != SDP_MODE_BUFFERED);
	if (verdict & SDP_HEARD_FIN)
		event(conn, SDP_EV_FIN_HEARD);
	if (verdict & SDP_HEARD_RESET) {
		event(conn, SDP_EV_ABORT_HEARD);
		conn->failed = true;
	}
}

static void hear(struct conn *conn, u8 fix, const u8 *data, u32 bytes)
{
	struct sdp_flow *flow = &conn->flow, before;
	u8 *from = exact_copy(data, bytes);
	struct sdp_wire_bsdh *bsdh = (void *)from;
	struct sdp_wire_msg msg;

	if (bytes >= SDP_LEN_BSDH) {
		if (fix & FIX_LEN)
			bsdh->len = cpu_to_be32(bytes);
		if (fix & FIX_MSEQ)
			bsdh->mseq = cpu_to_be32(flow->rx_mseq + 1);
		if (fix & FIX_ACK) {
			bsdh->mseq_ack = cpu_to_be32(flow->tx_mseq);
			bsdh->bufs = cpu_to_be16(be16_to_cpu(bsdh->bufs) | 4);
		}
	}

	if (sdp_wire_get(&msg, from, bytes) != SDP_WIRE_OK) {
		free(from);
		conn_fail(conn);
		return;
	}
	CHECK(msg.mid != SDP_MID_HELLO && msg.mid != SDP_MID_HELLO_ACK);
	CHECK(sdp_wire_payload(&msg) <= bytes - SDP_LEN_BSDH);
	CHECK(sdp_wire_payload(&msg) + SDP_LEN_BSDH + sdp_wire_ext_len(msg.mid) ==
	      bytes);
	if (msg.mid == SDP_MID_SRC_AVAIL)
		CHECK(sdp_wire_payload(&msg) <= msg.ext.avail.len);
	check_same_bytes(&msg, from);
	/* Everything that was promised is there to be read. */
	free(exact_copy(from + bytes - sdp_wire_payload(&msg),
			sdp_wire_payload(&msg)));
	free(from);

	memcpy(&before, flow, sizeof(before));
	if (sdp_flow_heard(flow, &msg)) {
		CHECK(!memcmp(&before, flow, sizeof(before)));
		conn_fail(conn);
		return;
	}
	CHECK(flow->rx_mseq == before.rx_mseq + 1);
	CHECK(flow->posted == before.posted - 1);
	CHECK(sdp_flow_known(flow) == sdp_flow_known(&before) - 1);
	CHECK(sdp_flow_credits(flow) <= msg.bufs);
	CHECK(sdp_flow_acked(flow, before.tx_acked));
	hear_mode(conn, &msg);
}

static void send_one(struct conn *conn, u8 arg)
{
	enum sdp_flow_class class = arg % 3;
	u32 credits = sdp_flow_credits(&conn->flow);
	struct sdp_wire_msg msg;

	if (!sdp_flow_may(&conn->flow, class))
		return;
	CHECK(credits > 0);
	sdp_flow_take(&conn->flow, &msg);
	CHECK(sdp_flow_credits(&conn->flow) == credits - 1);
	CHECK(msg.bufs == conn->flow.posted);
	CHECK(!sdp_flow_owes_update(&conn->flow));
}

static void run_connection(const u8 *data, size_t size)
{
	struct conn conn = { .state = SDP_CLOSED };
	u32 at = 4, bytes;

	if (size < 4)
		return;
	/* A few counts from the input, some near the wrap. */
	sdp_flow_init(&conn.flow, data[0], data[1]);
	sdp_mode_init(&conn.mode, data[2] ? data[2] : 1);
	if (data[3] & 1) {
		conn.flow.tx_mseq = -(data[3] >> 1);
		conn.flow.tx_acked = conn.flow.tx_mseq;
		conn.flow.rx_mseq = -(data[3] >> 4);
		conn.flow.told_mseq = conn.flow.rx_mseq;
	}
	event(&conn, SDP_EV_ACCEPT);
	event(&conn, SDP_EV_ESTABLISHED);
	CHECK(conn.state == SDP_ESTABLISHED);

	while (at < size) {
		u8 op = data[at++];

		/* The transport hears nothing more of what has failed. */
		if (conn.failed || conn.state == SDP_CLOSED ||
		    conn.state >= SDP_TIME_WAIT_1) {
			event(&conn, op % SDP_EVENT_COUNT);
			continue;
		}
		switch (op & 7) {
		case OP_SEND:
			send_one(&conn, op >> 3);
			break;
		case OP_POSTED:
			if (conn.flow.posted < 1024)
				sdp_flow_posted(&conn.flow, op >> 3);
			CHECK(sdp_flow_known(&conn.flow) <= conn.flow.posted);
			CHECK(!sdp_flow_owes_update(&conn.flow) ||
			      sdp_flow_known(&conn.flow) < conn.flow.posted);
			break;
		case OP_SENDSM:
			sdp_mode_sendsm_posted(&conn.mode);
			break;
		case OP_EVENT:
			event(&conn, (op >> 3) % SDP_EVENT_COUNT);
			break;
		case OP_SHUT_RD:
			conn.mode.shut_rd = true;
			break;
		default:
			bytes = at < size ? 2 * data[at++] : 0;
			if (bytes > size - at)
				bytes = size - at;
			hear(&conn, op, data + at, bytes);
			at += bytes;
		}
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (!size)
		return 0;
	switch (data[0] % WHATS) {
	case HELLO:
		read_hello(data + 1, size - 1);
		break;
	case HELLO_ACK:
		read_hello_ack(data + 1, size - 1);
		break;
	case CONNECTION:
		run_connection(data + 1, size - 1);
		break;
	}
	return 0;
}

#ifndef LIBFUZZER

#include <sanitizer/common_interface_defs.h>
#include <signal.h>

static u64 seed, rng, round;

static u32 rnd(void)
{
	u64 z = rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 32;
}

static u32 below(u32 n)
{
	return rnd() % n;
}

static void mutate(u8 *bytes, u32 *count, u32 max)
{
	static const u8 edges[] = { 0, 1, 0x7f, 0x80, 0xff, 15, 16, 20, 36, 92 };

	switch (below(5)) {
	case 0:
		if (*count)
			bytes[below(*count)] ^= 1 << below(8);
		break;
	case 1:
		if (*count)
			bytes[below(*count)] = edges[below(sizeof(edges))];
		break;
	case 2:
		if (*count)
			bytes[below(*count)] = rnd();
		break;
	case 3:
		*count = below(*count + 1);
		break;
	case 4:
		while (*count < max && below(8))
			bytes[(*count)++] = rnd();
		break;
	}
}

/* Mostly one that can be taken, or every conversation would be short. */
static const struct sdp_golden_msg *pick_golden(void)
{
	const struct sdp_golden_msg *golden;

	do {
		golden = &sdp_golden_msgs[below(sizeof(sdp_golden_msgs) /
						sizeof(sdp_golden_msgs[0]))];
		switch (golden->msg.mid) {
		case SDP_MID_RDMA_RD_COMPL:
		case SDP_MID_RDMA_WR_COMPL:
		case SDP_MID_CH_RCV_BUF_ACK:
		case SDP_MID_SINK_AVAIL:
		case SDP_MID_DISCONN:
			continue;
		}
		return golden;
	} while (below(16));
	return golden;
}

/* A conversation: golden messages and our own steps, now and then bent. */
static u32 make_connection(u8 *to, u32 max)
{
	static const u8 adverts[] = { 1, 1, 2, 3, 255 };
	u32 at = 0, steps = below(40);

	to[at++] = below(4) ? 3 + below(8) : rnd();
	to[at++] = below(4) ? 3 + below(8) : rnd();
	to[at++] = adverts[below(sizeof(adverts))];
	to[at++] = rnd();
	while (steps-- && at + 2 + MESSAGE_MAX < max) {
		const struct sdp_golden_msg *golden;
		u32 bytes;

		if (below(2)) {
			/* Buffers and answers, so that it goes on. */
			static const u8 ops[] = {
				OP_SEND, OP_SEND, OP_POSTED | 1 << 3,
				OP_POSTED | 4 << 3, OP_SENDSM, OP_SENDSM,
			};

			to[at++] = below(20) ? ops[below(sizeof(ops))] : rnd();
			continue;
		}
		golden = pick_golden();
		bytes = golden->msg.len;
		to[at] = OP_HEAR;
		if (below(20))
			to[at] |= FIX_LEN;
		if (below(20))
			to[at] |= FIX_MSEQ;
		if (below(20))
			to[at] |= FIX_ACK;
		memcpy(to + at + 2, golden->bytes, bytes);
		/* Most legal conversations need no more than these. */
		if (golden->msg.mid == SDP_MID_MODE_CHANGE)
			to[at + 2 + SDP_LEN_BSDH] = below(4) ? (1 + below(2)) << 4 :
							       rnd();
		if (golden->msg.mid == SDP_MID_SRC_AVAIL && below(2))
			bytes = SDP_LEN_BSDH + 16;	/* pipelined */
		if (golden->msg.mid == SDP_MID_SRC_AVAIL && !below(4))
			memcpy(to + at + 2 + SDP_LEN_BSDH, "\0\0\0\x8", 4);
		if (!below(16))
			to[at + 2] = rnd();
		while (!below(16))
			mutate(to + at + 2, &bytes, MESSAGE_MAX - 2);
		/* Lengths go in twos; an odd one borrows from the next. */
		to[at + 1] = (bytes + 1) / 2;
		if (bytes & 1)
			to[at + 2 + bytes] = rnd();
		at += 2 + 2 * to[at + 1];
	}
	return at;
}

static u32 make_input(u8 *to, u32 max)
{
	u32 bytes;

	to[0] = below(8) ? CONNECTION : below(2);
	switch (to[0]) {
	case HELLO:
		bytes = sizeof(sdp_golden_hello);
		memcpy(to + 1, below(2) ? sdp_golden_hello : sdp_golden_hello6, bytes);
		/* ExtMaxAdverts takes two bytes to be right. */
		if (below(2)) {
			to[1 + 17] |= SDP_CAP_EXTENDED_MAXADVERTS;
			to[1 + 67] = rnd();
		}
		if (!below(8))
			memset(to + 1 + 24, 0, 3);	/* a small LocalRcvSz */
		break;
	case HELLO_ACK:
		bytes = sizeof(sdp_golden_hello_ack);
		memcpy(to + 1, sdp_golden_hello_ack, bytes);
		break;
	default:
		bytes = make_connection(to + 1, max - 1);
	}
	while (!below(3))
		mutate(to + 1, &bytes, max - 1);
	return bytes + 1;
}

static void told_round(void)
{
	fprintf(stderr, "# replay: fuzz 1 %llu\n", (unsigned long long)(seed + round));
}

static void on_abort(int signal)
{
	told_round();
	(void)signal;
}

static int replay(const char *path)
{
	FILE *file = fopen(path, "rb");
	u8 *bytes = malloc(1 << 20);
	size_t size;

	if (!file || !bytes)
		return 1;
	size = fread(bytes, 1, 1 << 20, file);
	fclose(file);
	LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	return 0;
}

int main(int argc, char **argv)
{
	static u8 input[1 << 14];
	u64 count;
	char *end;

	count = argc > 1 ? strtoull(argv[1], &end, 0) : 200000;
	if (argc > 1 && *end)
		return replay(argv[1]);
	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	printf("KTAP version 1\n1..1\n# %llu inputs, seed %llu\n",
	       (unsigned long long)count, (unsigned long long)seed);
	fflush(stdout);
	__sanitizer_set_death_callback(told_round);
	signal(SIGABRT, on_abort);
	for (round = 0; round < count; round++) {
		u32 bytes;

		rng = seed + round;
		bytes = make_input(input, sizeof(input));
		LLVMFuzzerTestOneInput(input, bytes);
	}
	printf("ok 1 fuzz\n");
	return 0;
}

#endif
