// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile peer, and a user who does as he likes, against credits, modes and
 * states: the way of a message through sdp_wire_get(), sdp_flow_heard() and
 * sdp_mode_heard(), what we send meanwhile, and what follows for the state.
 *
 * An input is a little program, so that chance gets further than the first
 * check.  Four bytes say how the connection begins; then each record is an
 * operation byte, for a message followed by a length and its bytes.  The
 * operation may ask to have Len, MSeq, MSeqAck and Bufs put right first; what
 * is left wrong is wrong in one place only.
 *
 * Beside the connection runs a book of what the protocol text says of it, in
 * other terms than the code: messages are counted from 0 in 64 bits and never
 * wrap, credits are a signed balance, adverts are heard, answered and taken
 * back one by one.  Every verdict must be the book's, and an action of the
 * states must be one that the history allows: one DisConn, one DREQ, one reset,
 * nothing cut off in silence, and an end that always comes.
 */
#include <errno.h>

#include <asm/byteorder.h>

#include "../../kernel/sdp_flow.h"
#include "../../kernel/sdp_mode.h"
#include "../../kernel/sdp_state.h"
#include "../../kernel/sdp_wire.h"
#include "../../kernel/kunit/sdp_golden.h"
#include "chance.h"
#include "fuzz.h"

/* Operations: the low 3 bits, the rest is an argument. */
enum op {
	OP_HEAR,		/* arguments: FIX_* */
	OP_SEND, OP_POSTED, OP_ANSWER, OP_EVENT, OP_SHUT_RD, OP_SLICE,
};

enum fix { FIX_LEN = 0x08, FIX_MSEQ = 0x10, FIX_ACK = 0x20 };

enum { MESSAGE_MAX = 512, RING_MAX = 1024 };

struct book {
	/* Messages since the beginning; MSeq is where it begins and so many. */
	u32 tx_base, rx_base;
	u64 sent, acked, heard;
	s64 peer_bufs;			/* of its newest header */
	s64 posted, told, told_heard;	/* ours; and as our newest header said */
	bool news;			/* not an update heard since */

	/* The half whose sink we are. */
	u8 mode;
	u32 unanswered, max_adverts;
	u64 refused;			/* our newest SendSm, as sent counts */
	bool fin_heard, shut_rd;

	/* The whole connection. */
	bool was_up, user_closed, fin_told;
	bool disconn, disconn_out, disconn_done;
	u32 dreqs, resets, eofs, frees, dreps;
};

struct conn {
	struct sdp_flow flow;
	struct sdp_mode mode;
	enum sdp_state state;
	bool born, failed;
	struct book book;
};

/* ---- states ---- */

static bool is_connected(enum sdp_state state)
{
	return state >= SDP_SYN_RECV && state <= SDP_LAST_ACK;
}

static void check_actions(struct conn *conn, enum sdp_event what,
			  enum sdp_state was, unsigned int todo)
{
	struct book *book = &conn->book;
	bool over = conn->state == SDP_CLOSED ||
		    conn->state >= SDP_TIME_WAIT_1;

	/* Each of these once in the life of a connection, and in its place. */
	if (todo & SDP_DO_DISCONN) {
		CHECK(what == SDP_EV_SHUTDOWN && !book->disconn);
		CHECK(is_connected(was) && !conn->failed);
		book->disconn = true;
	}
	if (todo & SDP_DO_EOF) {
		CHECK(what == SDP_EV_FIN_HEARD && !book->eofs++);
		CHECK(!conn->failed && !book->resets);
	}
	if (todo & SDP_DO_RESET)
		CHECK(!book->resets++);
	if (todo & SDP_DO_FREE)
		CHECK(conn->state == SDP_CLOSED && !book->frees++);
	if (todo & SDP_DO_DREP)
		CHECK(what == SDP_EV_DREQ && !book->dreps++);
	if (todo & SDP_DO_WAKE)
		CHECK(what == SDP_EV_ESTABLISHED && !over);
	if (todo & SDP_DO_TIMER)
		CHECK(what == SDP_EV_FIN_SENT && conn->state == SDP_LAST_ACK);
	/* Behind a DisConn only, and with the DREQ that it precedes (6.3). */
	if (todo & SDP_DO_ABORTCONN)
		CHECK(book->disconn && todo & SDP_DO_DREQ);
	if (todo & SDP_DO_DREQ) {
		CHECK(conn->state == SDP_TIME_WAIT_1 && book->was_up);
		/* A second one only for an AbortConn that did not get out. */
		CHECK(!book->dreqs++ || (was == SDP_TIME_WAIT_1 &&
					 what == SDP_EV_FIN_TIMEOUT));
	}
	/* And none of them is left out. */
	if (what == SDP_EV_DREQ &&
	    (is_connected(was) || was == SDP_TIME_WAIT_1))
		CHECK(todo & SDP_DO_DREP);
	if (what == SDP_EV_SHUTDOWN && is_connected(was) && !book->user_closed)
		CHECK(todo & SDP_DO_DISCONN);
	if (what == SDP_EV_FIN_HEARD && was >= SDP_ESTABLISHED &&
	    is_connected(was) && !book->fin_told)
		CHECK(todo & SDP_DO_EOF);
	if (conn->state == SDP_TIME_WAIT_1 && was != SDP_TIME_WAIT_1)
		CHECK(todo & SDP_DO_DREQ);
	if (what == SDP_EV_FIN_HEARD)
		book->fin_told |= was >= SDP_ESTABLISHED;

	/* A connection that ends and was not closed by both sides was cut off:
	 * its user hears of it, unless he left it to the timer.
	 */
	if (is_connected(was) && over && what != SDP_EV_FIN_TIMEOUT &&
	    !(book->eofs && book->disconn))
		CHECK(todo & SDP_DO_RESET);
	/* With both DisConns a DREQ is the orderly end. */
	if (what == SDP_EV_DREQ && book->eofs && book->disconn)
		CHECK(!(todo & SDP_DO_RESET));
}

static void event(struct conn *conn, enum sdp_event what)
{
	enum sdp_state was = conn->state;
	struct book *book = &conn->book;
	unsigned int todo;

	/* Nobody connects a connection that has been one. */
	if (conn->born && (what == SDP_EV_CONNECT || what == SDP_EV_ACCEPT))
		return;
	/* What completes has been posted. */
	if (what == SDP_EV_FIN_SENT) {
		if (!book->disconn_out || book->disconn_done)
			return;
		book->disconn_done = true;
	}
	conn->born = true;
	todo = sdp_state_next(&conn->state, what);
	CHECK(conn->state < SDP_STATE_COUNT);
	CHECK(strcmp(sdp_state_name(conn->state), "?"));
	CHECK(todo < 2 * SDP_DO_FREE);
	if (is_connected(conn->state))
		book->was_up = true;
	if (what == SDP_EV_ABORT)
		conn->failed = true;
	/* It goes one way, and what is over stays over. */
	if (was == SDP_CLOSED)
		CHECK(conn->state == SDP_CLOSED || what == SDP_EV_ACCEPT ||
		      what == SDP_EV_CONNECT);
	else if (conn->state == SDP_CLOSED)
		CHECK(todo & SDP_DO_FREE);
	else
		CHECK(conn->state >= was);
	if (conn->failed)
		CHECK(conn->state == SDP_CLOSED || conn->state >= SDP_TIME_WAIT_1);
	if (was == conn->state)
		CHECK(!(todo & (SDP_DO_FREE | SDP_DO_RESET | SDP_DO_EOF)));
	check_actions(conn, what, was, todo);
	if (what == SDP_EV_SHUTDOWN)
		book->user_closed = true;
	/* After the user's close nothing of his is taken any more. */
	if (sdp_state_may_send(conn->state))
		CHECK(!book->user_closed && !book->resets);
}

static void conn_fail(struct conn *conn)
{
	event(conn, SDP_EV_ABORT);
}

/* Whatever happened: with its device gone it is over, and so it is when a
 * user closes it and all timers run.
 */
static void check_end(struct conn *conn, bool lost)
{
	static const enum sdp_event patience[] = {
		SDP_EV_SHUTDOWN, SDP_EV_FIN_SENT, SDP_EV_FIN_TIMEOUT,
		SDP_EV_DREP, SDP_EV_TIMEWAIT_EXIT,
	};
	u32 i;

	if (lost) {
		event(conn, SDP_EV_LOST);
	} else {
		conn->book.disconn_out |= conn->book.disconn;
		for (i = 0; i < sizeof(patience) / sizeof(patience[0]); i++) {
			event(conn, patience[i]);
			conn->book.disconn_out |= conn->book.disconn;
		}
	}
	CHECK(conn->state == SDP_CLOSED);
	CHECK(conn->book.frees == 1);
	/* Late events find nothing. */
	for (i = 0; i < SDP_EVENT_COUNT; i++)
		event(conn, i);
	CHECK(conn->state == SDP_CLOSED);
}

/* ---- credits and sequence numbers ---- */

static s64 credits(const struct book *book)
{
	return book->peer_bufs - (s64)(book->sent - book->acked);
}

/* Buffers that the peer was told of and has not used. */
static s64 known(const struct book *book)
{
	return book->told - ((s64)book->heard - book->told_heard);
}

/* Section 3.3. */
static void check_update(const struct conn *conn)
{
	const struct book *book = &conn->book;
	s64 a = known(book), p = book->posted;
	bool due = p > a && (a < 3 || 2 * p >= 3 * a);
	bool owes = sdp_flow_owes_update(&conn->flow);

	CHECK(!owes || due);
	/* Left out only where both are nearly without, and nothing is new. */
	if (due && !owes)
		CHECK(p - a == 1 && book->peer_bufs < 4 && !book->news &&
		      p <= book->told);
}

static void check_flow(const struct conn *conn)
{
	const struct sdp_flow *flow = &conn->flow;
	const struct book *book = &conn->book;
	s64 n = credits(book);

	CHECK(n >= 0 && n <= book->peer_bufs);
	CHECK(sdp_flow_credits(flow) == n);
	/* Section 3.2. */
	CHECK(sdp_flow_may(flow, SDP_FLOW_PAYLOAD) == (n >= 3));
	CHECK(sdp_flow_may(flow, SDP_FLOW_CONTROL) == (n >= 2));
	CHECK(sdp_flow_may(flow, SDP_FLOW_UPDATE) == (n >= 1));
	CHECK(known(book) >= 0 && known(book) <= book->posted);
	CHECK(sdp_flow_known(flow) == known(book));
	CHECK(flow->posted == book->posted);
	if (book->sent)
		CHECK(sdp_flow_acked(flow, book->tx_base + (u32)book->sent) ==
		      (book->acked == book->sent));
	CHECK(sdp_flow_acked(flow, book->tx_base + (u32)book->acked));
	CHECK(!sdp_flow_acked(flow, book->tx_base + (u32)book->sent + 1));
	check_update(conn);
}

/* Sections 3.1, 3.4, 5.3. */
static bool flow_refuses(const struct book *book, const struct sdp_wire_msg *msg,
			 u64 *acked)
{
	if (msg->mseq != (u32)(book->rx_base + book->heard + 1))
		return true;
	for (*acked = book->acked; *acked <= book->sent; (*acked)++)
		if ((u32)(book->tx_base + *acked) == msg->mseq_ack)
			break;
	if (*acked > book->sent)
		return true;
	return msg->bufs < book->sent - *acked || !known(book);
}

/* True if the message counts. */
static bool hear_flow(struct conn *conn, const struct sdp_wire_msg *msg)
{
	struct book *book = &conn->book;
	struct sdp_flow before;
	bool refused;
	u64 acked;
	int err;

	memcpy(&before, &conn->flow, sizeof(before));
	refused = flow_refuses(book, msg, &acked);
	err = sdp_flow_heard(&conn->flow, msg);
	CHECK(err == (refused ? -EPROTO : 0));
	if (refused) {
		CHECK(!memcmp(&before, &conn->flow, sizeof(before)));
		return false;
	}
	book->heard++;
	book->acked = acked;
	book->peer_bufs = msg->bufs;
	book->posted--;
	if (msg->mid != SDP_MID_DATA || sdp_wire_payload(msg))
		book->news = true;
	check_flow(conn);
	return true;
}

static void take(struct conn *conn, u8 mid)
{
	struct book *book = &conn->book;
	struct sdp_wire_msg msg = { .mid = mid };

	sdp_flow_take(&conn->flow, &msg);
	book->sent++;
	CHECK(msg.mseq == (u32)(book->tx_base + book->sent));
	CHECK(msg.mseq_ack == (u32)(book->rx_base + book->heard));
	CHECK(msg.bufs == book->posted);
	book->told = book->posted;
	book->told_heard = book->heard;
	book->news = false;
	check_flow(conn);
	CHECK(!sdp_flow_owes_update(&conn->flow));
}

/* What sdp_tx.c does, in the order of service that the input chooses. */
static void send_one(struct conn *conn, u8 arg)
{
	struct book *book = &conn->book;

	if (conn->state < SDP_ESTABLISHED)
		return;
	if (arg & 4 && book->disconn && !book->disconn_out) {
		if (!sdp_flow_may(&conn->flow, SDP_FLOW_CONTROL))
			return;
		book->disconn_out = true;
		take(conn, SDP_MID_DISCONN);
	} else if (sdp_flow_may(&conn->flow, arg % 3) &&
		   (arg % 3 != SDP_FLOW_PAYLOAD || !book->disconn_out)) {
		take(conn, SDP_MID_DATA);
	}
}

/* ---- modes ---- */

static bool is_experimental(u8 mid)
{
	return mid >= 0x40 && mid <= 0x7f;
}

/* Section 4.2: what may follow what, by the MCH byte without its reserved bits. */
static bool change_is_legal(u8 mode, u8 change)
{
	switch (change & 0xf0) {
	case 0x00:
	case 0x20:
		return mode == SDP_MODE_COMBINED;
	case 0x10:
		return mode == SDP_MODE_PIPELINED;
	}
	/* The sink leads out of buffered mode; our half never enters it. */
	return false;
}

/* Sections 4.1 to 4.6 and 6.1, as prohibitions: 0 if none of them applies. */
static int mode_refuses(const struct book *book, const struct sdp_wire_msg *msg)
{
	u32 payload = sdp_wire_payload(msg);
	bool advert = msg->mid == SDP_MID_SRC_AVAIL;

	if (is_experimental(msg->mid))
		return 0;
	if (advert || (msg->mid == SDP_MID_DATA && payload)) {
		if (book->fin_heard)
			return -EPROTO;
		if (book->shut_rd)
			return -ECONNABORTED;
		/* Bytes of the stream would be missing before it. */
		if (book->unanswered && !(advert && book->mode == SDP_MODE_PIPELINED))
			return -EPROTO;
	}
	if (advert && (book->mode == SDP_MODE_BUFFERED ||
		       (book->mode == SDP_MODE_COMBINED) != (payload > 0) ||
		       (payload == 0 && (book->unanswered >= book->max_adverts ||
					 !msg->ext.avail.len))))
		return -EPROTO;
	if (msg->mid == SDP_MID_MODE_CHANGE) {
		if (!change_is_legal(book->mode, msg->ext.mode))
			return -EPROTO;
		if (!(msg->ext.mode & 0x70) && book->unanswered)
			return -EPROTO;
	}
	if (msg->mid == SDP_MID_DISCONN && (book->fin_heard || book->unanswered))
		return -EPROTO;
	switch (msg->mid) {
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_SINK_CANCEL_ACK:
	case SDP_MID_CH_RCV_BUF_ACK:
	case SDP_MID_SUSP_COMM_ACK:
		return -EPROTO;		/* nothing of ours to answer */
	}
	return 0;
}

static u32 mode_means(struct book *book, const struct sdp_wire_msg *msg)
{
	u32 payload = sdp_wire_payload(msg), means = 0;

	if (is_experimental(msg->mid))
		return 0;
	if (msg->flags & 0x02)
		means |= SDP_HEARD_OOB_PEND;
	switch (msg->mid) {
	case SDP_MID_DATA:
		if (!payload)
			return means;
		if (msg->flags & 0x01)
			means |= SDP_HEARD_OOB_PRES;
		return means | SDP_HEARD_DELIVER;
	case SDP_MID_SRC_AVAIL:
		if (payload)
			means |= SDP_HEARD_DELIVER;
		if (payload && payload == msg->ext.avail.len)
			return means;
		/* Its source cannot have known that it is refused. */
		if (!payload && book->acked < book->refused)
			return means;
		book->unanswered++;
		return means | SDP_HEARD_ADVERT;
	case SDP_MID_SRC_AVAIL_CANCEL:
		return means | (book->unanswered ? SDP_HEARD_SENDSM : 0);
	case SDP_MID_MODE_CHANGE:
		if (msg->ext.mode >> 4 == SDP_MODE_COMBINED)
			book->unanswered = 0;
		book->mode = msg->ext.mode >> 4;
		return means;
	case SDP_MID_DISCONN:
		book->fin_heard = true;
		return means | SDP_HEARD_FIN;
	case SDP_MID_ABORT_CONN:
		return means | SDP_HEARD_RESET;
	case SDP_MID_CH_RCV_BUF:
		return means | SDP_HEARD_RCVBUF;
	case SDP_MID_SUSP_COMM:
		return means | SDP_HEARD_SUSP_ACK;
	}
	return means;
}

static void hear_mode(struct conn *conn, const struct sdp_wire_msg *msg)
{
	int refused = mode_refuses(&conn->book, msg), verdict;
	struct book *book = &conn->book;
	struct sdp_mode before;

	memcpy(&before, &conn->mode, sizeof(before));
	/* What has arrived has, whatever else the message says. */
	if (!is_experimental(msg->mid)) {
		sdp_src_acked(&before.src, msg->mseq_ack);
		sdp_snk_acked(&before.snk, msg->mseq_ack);
	}
	verdict = sdp_mode_heard(&conn->mode, msg);
	if (refused) {
		CHECK(verdict == refused);
		CHECK(!memcmp(&before, &conn->mode, sizeof(before)));
		conn_fail(conn);
		return;
	}
	CHECK(verdict == (int)mode_means(book, msg));
	if (verdict & SDP_HEARD_ADVERT)
		sdp_snk_refuse(&conn->mode.snk);
	CHECK(conn->mode.src.mode == SDP_MODE_COMBINED);
	CHECK(conn->mode.snk.mode == book->mode);
	CHECK(conn->mode.snk.held.n == book->unanswered);
	CHECK(book->unanswered <= book->max_adverts);
	/* Whatever is outstanding is refused. */
	CHECK(sdp_snk_may_refuse(&conn->mode.snk) == !!book->unanswered);
	CHECK(conn->mode.peer_fin == book->fin_heard);
	if (verdict & SDP_HEARD_FIN)
		event(conn, SDP_EV_FIN_HEARD);
	if (verdict & SDP_HEARD_RESET) {
		event(conn, SDP_EV_ABORT_HEARD);
		conn->failed = true;
	}
}

/* Section 3.2: SendSm is control. */
static void answer(struct conn *conn)
{
	if (!sdp_snk_may_refuse(&conn->mode.snk) ||
	    conn->state < SDP_ESTABLISHED ||
	    !sdp_flow_may(&conn->flow, SDP_FLOW_CONTROL))
		return;
	take(conn, SDP_MID_SEND_SM);
	sdp_snk_refused(&conn->mode.snk, conn->flow.tx_mseq);
	conn->book.refused = conn->book.sent;
	conn->book.unanswered = 0;
	CHECK(!sdp_snk_may_refuse(&conn->mode.snk));
}

static void hear(struct conn *conn, u8 fix, const u8 *data, u32 bytes)
{
	struct book *book = &conn->book;
	u8 *from = exact_copy(data, bytes);
	struct sdp_wire_bsdh *bsdh = (void *)from;
	struct sdp_wire_msg msg;

	if (bytes >= SDP_LEN_BSDH) {
		if (fix & FIX_LEN)
			bsdh->len = cpu_to_be32(bytes);
		if (fix & FIX_MSEQ)
			bsdh->mseq = cpu_to_be32(book->rx_base + book->heard + 1);
		if (fix & FIX_ACK) {
			bsdh->mseq_ack = cpu_to_be32(book->tx_base + book->sent);
			bsdh->bufs = cpu_to_be16(be16_to_cpu(bsdh->bufs) | 4);
		}
	}
	/* The first message does what the RTU would (1.5). */
	if (conn->state == SDP_SYN_RECV)
		event(conn, SDP_EV_ESTABLISHED);
	if (sdp_wire_get(&msg, from, bytes) != SDP_WIRE_OK) {
		free(from);
		conn_fail(conn);
		return;
	}
	/* Everything that was promised is there to be read. */
	free(exact_copy(from + bytes - sdp_wire_payload(&msg),
			sdp_wire_payload(&msg)));
	free(from);
	if (hear_flow(conn, &msg))
		hear_mode(conn, &msg);
	else
		conn_fail(conn);
}

/* ---- what goes out, and when: pure functions of their arguments ---- */

static void slice(const u8 *args)
{
	size_t left = 1 + ((size_t)args[0] << (args[1] & 31));
	u32 full = 48 + (args[2] << (args[3] & 7)), room = args[4] * (args[5] & 1);
	struct sdp_mode_slice got = sdp_mode_pick(left, full, room);
	bool small_out = args[6] & 1;
	u8 delay = args[6] >> 1 & 7;
	enum sdp_mode_hold hold = sdp_mode_hold(delay, small_out, args[7]);

	CHECK(got.bytes >= 1 && got.bytes <= left);
	CHECK(got.bytes <= (room ? room : full));
	CHECK(got.coalesce == (room > 0));
	/* Section 3.5. */
	CHECK(hold <= SDP_HOLD_CORK);
	if (delay & SDP_DELAY_PUSH)
		CHECK(hold == SDP_HOLD_NONE);
	else
		CHECK((hold == SDP_HOLD_CORK) == !!(delay & SDP_DELAY_CORK));
	/* Nobody waits for the arrival of what was never sent. */
	if (!small_out && !args[7])
		CHECK(hold != SDP_HOLD_SENT);
}

/* ---- the program ---- */

static void begin(struct conn *conn, const u8 *data)
{
	struct book *book = &conn->book;

	sdp_flow_init(&conn->flow, data[0], data[1]);
	book->max_adverts = 1 + data[2] % SDP_HALF_ADVERTS;
	sdp_mode_init(&conn->mode, data[2], book->max_adverts);
	book->posted = data[0];
	book->told = data[0];
	book->peer_bufs = data[1];
	book->mode = SDP_MODE_COMBINED;
	/* As after 2^32 messages less a few. */
	if (data[3] & 1) {
		book->tx_base = -(data[3] >> 2);
		book->rx_base = -(data[3] >> 4);
		conn->flow.tx_mseq = book->tx_base;
		conn->flow.tx_acked = book->tx_base;
		conn->flow.rx_mseq = book->rx_base;
		conn->flow.told_mseq = book->rx_base;
	}
	event(conn, data[3] & 2 ? SDP_EV_CONNECT : SDP_EV_ACCEPT);
}

static void run_connection(const u8 *data, size_t size)
{
	struct conn conn = { .state = SDP_CLOSED };
	u32 at = 4, bytes;
	u8 op = 0;

	if (size < 4)
		return;
	begin(&conn, data);
	check_flow(&conn);

	while (at < size) {
		op = data[at++];
		/* The transport hears nothing more of what has failed. */
		if (conn.failed || !is_connected(conn.state)) {
			event(&conn, op % SDP_EVENT_COUNT);
			continue;
		}
		switch (op & 7) {
		case OP_SEND:
			send_one(&conn, op >> 3);
			break;
		case OP_POSTED:
			if (conn.book.posted < RING_MAX) {
				sdp_flow_posted(&conn.flow, op >> 3);
				conn.book.posted += op >> 3;
			}
			check_flow(&conn);
			break;
		case OP_ANSWER:
			answer(&conn);
			break;
		case OP_EVENT:
			event(&conn, (op >> 3) % SDP_EVENT_COUNT);
			break;
		case OP_SHUT_RD:
			conn.mode.shut_rd = true;
			conn.book.shut_rd = true;
			break;
		case OP_SLICE:
			if (size - at < 8)
				break;
			slice(data + at);
			at += 8;
			break;
		default:
			bytes = at < size ? 2 * data[at++] : 0;
			if (bytes > size - at)
				bytes = size - at;
			hear(&conn, op, data + at, bytes);
			at += bytes;
		}
	}
	check_end(&conn, op & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_connection(data, size);
	return 0;
}

/* ---- inputs by chance ---- */

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

static u32 make_step(u8 *to)
{
	/* Buffers and answers, so that it goes on. */
	static const u8 ops[] = {
		OP_SEND, OP_SEND, OP_SEND | 4 << 3, OP_POSTED | 1 << 3,
		OP_POSTED | 4 << 3, OP_ANSWER, OP_ANSWER,
	};
	static const u8 events[] = {
		SDP_EV_ESTABLISHED, SDP_EV_SHUTDOWN, SDP_EV_FIN_SENT,
		SDP_EV_FIN_TIMEOUT, SDP_EV_DREQ,
	};
	u32 i;

	switch (below(20)) {
	case 0:
		to[0] = rnd();
		return 1;
	case 1:
		to[0] = OP_EVENT | events[below(sizeof(events))] << 3;
		return 1;
	case 2:
		to[0] = OP_SLICE;
		for (i = 1; i <= 8; i++)
			to[i] = rnd();
		return 9;
	}
	to[0] = ops[below(sizeof(ops))];
	return 1;
}

static u32 make_message(u8 *to)
{
	const struct sdp_golden_msg *golden = pick_golden();
	u32 bytes = golden->msg.len;

	to[0] = OP_HEAR;
	if (below(20))
		to[0] |= FIX_LEN;
	if (below(20))
		to[0] |= FIX_MSEQ;
	if (below(20))
		to[0] |= FIX_ACK;
	memcpy(to + 2, golden->bytes, bytes);
	/* Most legal conversations need no more than these. */
	if (golden->msg.mid == SDP_MID_MODE_CHANGE)
		to[2 + SDP_LEN_BSDH] = below(4) ? (1 + below(2)) << 4 : rnd();
	if (golden->msg.mid == SDP_MID_SRC_AVAIL && below(2))
		bytes = SDP_LEN_BSDH + 16;	/* pipelined */
	if (golden->msg.mid == SDP_MID_SRC_AVAIL && !below(4))
		memcpy(to + 2 + SDP_LEN_BSDH, "\0\0\0\x8", 4);
	if (!below(16))
		to[2] = rnd();
	while (!below(16))
		bytes = bend(to + 2, bytes, MESSAGE_MAX - 2);
	/* Lengths go in twos; an odd one borrows from the next. */
	to[1] = (bytes + 1) / 2;
	if (bytes & 1)
		to[2 + bytes] = rnd();
	return 2 + 2 * to[1];
}

/* A conversation: golden messages and our own steps, now and then bent. */
size_t fuzz_make(uint8_t *to, size_t room)
{
	static const u8 adverts[] = { 1, 1, 2, 3, 255 };
	u32 at = 0, steps = below(40);

	to[at++] = below(4) ? 3 + below(8) : rnd();
	to[at++] = below(4) ? 3 + below(8) : rnd();
	to[at++] = adverts[below(sizeof(adverts))];
	to[at++] = rnd();
	while (steps-- && at + 2 + MESSAGE_MAX < room)
		at += below(2) ? make_step(to + at) : make_message(to + at);
	while (!below(3))
		at = bend(to, at, room);
	return at;
}

/* The size of the record there, at most what is left of the input. */
static u32 record(const uint8_t *at, u32 left)
{
	u32 size = 1;

	switch (at[0] & 7) {
	case OP_SEND:
	case OP_POSTED:
	case OP_ANSWER:
	case OP_EVENT:
	case OP_SHUT_RD:
		break;
	case OP_SLICE:
		size = 9;
		break;
	default:
		size = left < 2 ? 1 : 2 + 2 * at[1];
	}
	return size < left ? size : left;
}

/* Insert, remove or repeat whole records, or bend what stands in one. */
size_t fuzz_change(uint8_t *input, size_t size, size_t room)
{
	uint8_t fresh[2 + MESSAGE_MAX];
	u32 at = 4, old = 0, new, step;

	if (size < 4 || !below(16))
		return fuzz_make(input, room);
	for (step = below(64); at < size && step; step--)
		at += record(input + at, size - at);
	if (at < size)
		old = record(input + at, size - at);
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
