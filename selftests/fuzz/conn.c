// SPDX-License-Identifier: GPL-2.0
/*
 * A hostile peer, and a user who does as he likes, against credits, modes,
 * adverts and states: the way of a message through sdp_wire_get(),
 * sdp_flow_heard() and sdp_mode_heard(), what we send meanwhile, read and write
 * by RDMA, and what follows for the state.
 *
 * An input is a little program (conn.h), so that chance gets further than
 * the first check.  A message may ask to have Len, MSeq, MSeqAck and Bufs put
 * right first, or what only a peer that knows our state could say; what is left
 * wrong is wrong in one place only.  What we do ourselves is done only where the
 * code allows it, and a credit is there for it.
 *
 * Beside the connection runs a book of what the protocol text says of it, in
 * other terms than the code: book.h.  Every verdict must be the book's, and
 * after each step the code must allow what the book allows.  An action of the
 * states must be one that the history allows: one DisConn, one DREQ, one reset,
 * nothing cut off in silence, and an end that always comes.
 */
#include <errno.h>

#include <asm/byteorder.h>

#include "../../kernel/proto/sdp_cork.h"
#include "../../kernel/proto/sdp_flow.h"
#include "../../kernel/proto/sdp_mode.h"
#include "../../kernel/proto/sdp_state.h"
#include "../../kernel/proto/sdp_wire.h"
#include "fuzz.h"
#include "book.h"
#include "conn.h"

enum { RING_MAX = 1024, READS_MAX = 8 };

struct conn {
	struct sdp_flow flow;
	struct sdp_mode mode;
	enum sdp_state state;
	bool born, failed;
	/* RDMA Reads that the device has; the oldest is completed first. */
	struct {
		u64 at;			/* its SrcAvail */
		u32 bytes;
	} reads[READS_MAX];
	u32 nreads;
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
	if (todo & SDP_DO_END_ACK)
		CHECK(what == SDP_EV_END_HEARD && !book->dreps++);
	if (todo & SDP_DO_WAKE)
		CHECK(what == SDP_EV_ESTABLISHED && !over);
	if (todo & SDP_DO_TIMER)
		CHECK(what == SDP_EV_FIN_SENT && conn->state == SDP_LAST_ACK);
	/* Behind a DisConn only, and with the DREQ that it precedes (6.3). */
	if (todo & SDP_DO_ABORTCONN)
		CHECK(book->disconn && todo & SDP_DO_END);
	if (todo & SDP_DO_END) {
		CHECK(conn->state == SDP_TIME_WAIT_1 && book->was_up);
		/* A second one only for an AbortConn that did not get out. */
		CHECK(!book->dreqs++ || (was == SDP_TIME_WAIT_1 &&
					 what == SDP_EV_FIN_TIMEOUT));
	}
	/* And none of them is left out. */
	if (what == SDP_EV_END_HEARD &&
	    (is_connected(was) || was == SDP_TIME_WAIT_1))
		CHECK(todo & SDP_DO_END_ACK);
	if (what == SDP_EV_SHUTDOWN && is_connected(was) && !book->user_closed)
		CHECK(todo & SDP_DO_DISCONN);
	if (what == SDP_EV_FIN_HEARD && was >= SDP_ESTABLISHED &&
	    is_connected(was) && !book->fin_told)
		CHECK(todo & SDP_DO_EOF);
	if (conn->state == SDP_TIME_WAIT_1 && was != SDP_TIME_WAIT_1)
		CHECK(todo & SDP_DO_END);
	if (what == SDP_EV_FIN_HEARD)
		book->fin_told |= was >= SDP_ESTABLISHED;

	/* A connection that ends and was not closed by both sides was cut off:
	 * its user hears of it, unless he left it to the timer.
	 */
	if (is_connected(was) && over && what != SDP_EV_FIN_TIMEOUT &&
	    !(book->eofs && book->disconn))
		CHECK(todo & SDP_DO_RESET);
	/* With both DisConns a DREQ is the orderly end. */
	if (what == SDP_EV_END_HEARD && book->eofs && book->disconn)
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
		SDP_EV_END_DONE, SDP_EV_TIME_WAIT_OVER,
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
	u64 ack = book_ack(book);

	sdp_flow_take(&conn->flow, &msg);
	sdp_flow_hold_ack(&msg, sdp_snk_ack(&conn->mode.snk, msg.mseq_ack));
	book->sent++;
	CHECK(msg.mseq == (u32)(book->tx_base + book->sent));
	/* Section 3.4: not a SrcAvailCancel that is not answered. */
	CHECK(msg.mseq_ack == (u32)(book->rx_base + ack));
	CHECK(ack >= book->ack_said);
	/* What came since has used buffers that are counted. */
	CHECK(msg.bufs == book->posted + (s64)(book->heard - ack));
	book->ack_said = ack;
	book->told = book->posted;
	book->told_heard = book->heard;
	book->news = false;
	check_flow(conn);
	CHECK(!sdp_flow_owes_update(&conn->flow));
}

/* Section 3.2, and nothing before there is a connection. */
static bool post(struct conn *conn, u8 mid, enum sdp_flow_class class)
{
	if (conn->state < SDP_ESTABLISHED || !sdp_flow_may(&conn->flow, class))
		return false;
	take(conn, mid);
	return true;
}

static bool post_control(struct conn *conn, u8 mid)
{
	return post(conn, mid, SDP_FLOW_CONTROL);
}

/* What sdp_tx.c does, in the order of service that the input chooses. */
static void send_one(struct conn *conn, u8 arg)
{
	struct book *book = &conn->book;
	enum sdp_flow_class class = arg % 3;

	if (arg & 4 && book->disconn && !book->disconn_out) {
		/* Section 6.1: behind all that is offered or written. */
		if (!sdp_src_may_copy(&conn->mode.src) ||
		    !post_control(conn, SDP_MID_DISCONN))
			return;
		book->disconn_out = true;
		sdp_src_fin(&conn->mode.src);
		book_fin(book);
	} else if (class != SDP_FLOW_PAYLOAD) {
		post(conn, SDP_MID_DATA, class);
	} else if (!book->disconn_out && sdp_src_may_copy(&conn->mode.src) &&
		   post(conn, SDP_MID_DATA, class)) {
		sdp_src_copied(&conn->mode.src);
		book_copied(book);
	}
}

/* ---- what arrives ---- */

static void hear_mode(struct conn *conn, const struct sdp_wire_msg *msg)
{
	struct book *book = &conn->book;
	int refused = book_refuses(book, msg, book->acked), verdict;
	struct sdp_mode before;

	memcpy(&before, &conn->mode, sizeof(before));
	/* What has arrived has, whatever else the message says. */
	sdp_src_acked(&before.src, msg->mseq_ack);
	sdp_snk_acked(&before.snk, msg->mseq_ack);
	verdict = sdp_mode_heard(&conn->mode, msg);
	if (refused) {
		CHECK(verdict == refused);
		CHECK(!memcmp(&before, &conn->mode, sizeof(before)));
		conn_fail(conn);
		return;
	}
	CHECK(verdict == (int)book_hears(book, msg));
	if (verdict & SDP_HEARD_FIN)
		event(conn, SDP_EV_FIN_HEARD);
	if (verdict & SDP_HEARD_RESET) {
		event(conn, SDP_EV_ABORT_HEARD);
		conn->failed = true;
	}
}

/* A part of so many bytes, from 1; every second one is all of them. */
static u32 part(u8 arg, u32 bytes)
{
	return arg & 1 ? bytes : 1 + (u64)bytes * arg / 256;
}

/* What a peer says of so many: part of them, or, just so, one too many. */
static __be32 said(u8 raw, u32 bytes)
{
	return cpu_to_be32(raw ? part(raw, bytes) : bytes + 1);
}

/* The MCH byte of a change that is due; of the two that may be, @raw's. */
static u8 due_change(const struct book *book, u8 raw)
{
	if (book->src.mode == SDP_MODE_BUFFERED && raw & 0x80)
		return 0x90;
	if (book->snk.mode == SDP_MODE_PIPELINED)
		return 0x10;
	return raw & 0x40 ? 0x00 : 0x20;
}

/* Which of our messages, as a count; nonsense if we never sent it. */
static u64 acked_by(const struct book *book, u32 mseq_ack)
{
	return book->sent - (u32)(book->tx_base + book->sent - mseq_ack);
}

/* NonDiscards of a peer which payload of ours has crossed, or not. */
static __be32 fix_non_discards(const struct book *book, u64 acked, u8 raw)
{
	u32 ns = book_ns(&book->src, acked < book->src.left);

	return cpu_to_be32(raw & 3 ? ns : ns - 1);
}

/* What is behind the BSDH and says how much, or how things stand. */
static void fix_ext(const struct book *book, u8 *from, u32 bytes)
{
	const struct sdp_wire_bsdh *bsdh = (void *)from;
	u8 *ext = from + SDP_LEN_BSDH;
	struct sdp_wire_sinkah *room = (void *)ext;
	const struct book_advert *oldest;
	__be32 *word = (void *)ext;
	u64 acked = acked_by(book, be32_to_cpu(bsdh->mseq_ack));

	if (bytes < SDP_LEN_BSDH + sdp_wire_ext_len(bsdh->mid))
		return;
	switch (bsdh->mid) {
	case SDP_MID_MODE_CHANGE:
		ext[0] = due_change(book, ext[0]);
		break;
	case SDP_MID_RDMA_RD_COMPL:
		oldest = book->src.offers.at;
		if (book->src.offers.n)
			*word = said(ext[3], oldest->len - oldest->told);
		break;
	case SDP_MID_RDMA_WR_COMPL:
		if (book->snk.asks.n)
			*word = said(ext[3], book->snk.asks.at[0].len);
		break;
	case SDP_MID_SINK_AVAIL:
		room->non_discards = fix_non_discards(book, acked, ext[19]);
		break;
	}
}

/* Bytes of it that a peer would send that knows the mode. */
static u32 fix_size(const struct book *book, const u8 *from, u32 bytes)
{
	u32 head = SDP_LEN_BSDH + sizeof(struct sdp_wire_srcah);

	if (bytes > head && from[0] == SDP_MID_SRC_AVAIL &&
	    book->snk.mode == SDP_MODE_PIPELINED)
		return head;
	return bytes;
}

static void fix_bsdh(const struct book *book, struct sdp_wire_bsdh *bsdh,
		     u8 fix, u32 bytes)
{
	u32 late = be32_to_cpu(bsdh->mseq_ack) & 0xf;
	u16 bufs = be16_to_cpu(bsdh->bufs);

	if (fix & FIX_LEN)
		bsdh->len = cpu_to_be32(bytes);
	if (fix & FIX_MSEQ)
		bsdh->mseq = cpu_to_be32(book->rx_base + book->heard + 1);
	if (!(fix & FIX_ACK))
		return;
	/* Mostly it has heard all that we have sent. */
	if (late > 3 || late > book->sent - book->acked)
		late = 0;
	bsdh->mseq_ack = cpu_to_be32(book->tx_base + book->sent - late);
	bsdh->bufs = cpu_to_be16(bufs > late ? bufs : late + 1);
}

/* Would a peer that keeps to the text say this now? */
static bool is_allowed(const struct book *book, const struct sdp_wire_msg *msg)
{
	return known(book) &&
	       !book_refuses(book, msg, acked_by(book, msg->mseq_ack));
}

static void hear(struct conn *conn, u8 fix, const u8 *data, u32 bytes)
{
	struct book *book = &conn->book;
	enum sdp_wire_verdict verdict;
	struct sdp_wire_msg msg;
	u8 *from;

	if (bytes && fix & FIX_EXT)
		bytes = fix_size(book, data, bytes);
	from = exact_copy(data, bytes);
	if (bytes >= SDP_LEN_BSDH) {
		fix_bsdh(book, (void *)from, fix, bytes);
		if (fix & FIX_EXT)
			fix_ext(book, from, bytes);
	}
	verdict = sdp_wire_get(&msg, from, bytes);
	if (verdict == SDP_WIRE_OK && fix & FIX_RULES &&
	    !is_allowed(book, &msg)) {
		free(from);
		return;
	}
	/* The first message does what the RTU would (1.5). */
	if (conn->state == SDP_SYN_RECV)
		event(conn, SDP_EV_ESTABLISHED);
	if (verdict != SDP_WIRE_OK) {
		free(from);
		conn_fail(conn);
		return;
	}
	/* Everything that was promised is there to be read. */
	if (sdp_wire_payload(&msg))
		free(exact_copy(from + bytes - sdp_wire_payload(&msg),
				sdp_wire_payload(&msg)));
	free(from);
	if (hear_flow(conn, &msg))
		hear_mode(conn, &msg);
	else
		conn_fail(conn);
}

/* ---- what the peer offers, and where we would like to be written ---- */

/* Section 3.2: SendSm is control. */
static void refuse(struct conn *conn)
{
	if (!sdp_snk_may_refuse(&conn->mode.snk) ||
	    !post_control(conn, SDP_MID_SEND_SM))
		return;
	sdp_snk_refused(&conn->mode.snk, conn->flow.tx_mseq);
	book_refused(&conn->book);
}

static void begin_read(struct conn *conn, u8 arg)
{
	const struct sdp_advert *from = sdp_snk_may_read(&conn->mode.snk);
	struct book *book = &conn->book;
	u32 bytes;
	u64 at;

	if (!from || conn->nreads == READS_MAX || conn->state < SDP_ESTABLISHED)
		return;
	bytes = part(arg, from->left);
	/* Just as many as are told of while more is being read. */
	if (!arg && from->left > SDP_ADVERT_TELL)
		bytes = SDP_ADVERT_TELL;
	at = book->heard - (u32)(book->rx_base + book->heard - from->mseq);
	conn->reads[conn->nreads].at = at;
	conn->reads[conn->nreads++].bytes = bytes;
	sdp_snk_read_posted(&conn->mode.snk, bytes);
	book_reads(book, at, bytes);
}

static void end_read(struct conn *conn)
{
	if (!conn->nreads)
		return;
	book_read(&conn->book, conn->reads[0].at, conn->reads[0].bytes);
	sdp_snk_read_done(&conn->mode.snk, conn->reads[0].bytes);
	memmove(conn->reads, conn->reads + 1,
		--conn->nreads * sizeof(conn->reads[0]));
}

static void tell_read(struct conn *conn)
{
	if (!sdp_snk_owes_compl(&conn->mode.snk) ||
	    !post_control(conn, SDP_MID_RDMA_RD_COMPL))
		return;
	sdp_snk_told_read(&conn->mode.snk);
	book_told_read(&conn->book);
}

static void ask(struct conn *conn, u8 arg)
{
	const struct book_snk *snk = &conn->book.snk;
	u32 bytes = 1 + ((u32)arg << 12);

	/* sdp_snk_may_offer() does not know that nothing comes any more. */
	if (snk->fin || snk->shut || !sdp_mode_has_advert(&conn->mode) ||
	    !sdp_snk_may_offer(&conn->mode.snk, false) ||
	    !post_control(conn, SDP_MID_SINK_AVAIL))
		return;
	sdp_snk_offered(&conn->mode.snk, bytes);
	book_asked(&conn->book, bytes);
}

static void ask_cancel(struct conn *conn)
{
	if (!sdp_snk_may_cancel(&conn->mode.snk) ||
	    !post_control(conn, SDP_MID_SINK_AVAIL_CANCEL))
		return;
	sdp_snk_cancelled(&conn->mode.snk);
	book_ask_cancelled(&conn->book);
}

/* ---- what we offer, and where the peer would like to be written ---- */

static void offer(struct conn *conn, u8 arg)
{
	struct sdp_src *src = &conn->mode.src;
	u32 bytes = 1 + ((u32)arg << 12), inlined = 0;

	if (conn->book.disconn_out || !sdp_src_may_offer(src) ||
	    !sdp_mode_has_advert(&conn->mode) ||
	    !post(conn, SDP_MID_SRC_AVAIL, SDP_FLOW_PAYLOAD))
		return;
	if (src->mode == SDP_MODE_COMBINED)
		inlined = 64;
	sdp_src_offered(src, conn->flow.tx_mseq, bytes, inlined);
	book_offered(&conn->book, bytes, inlined);
}

static void offer_cancel(struct conn *conn)
{
	if (!sdp_src_may_cancel(&conn->mode.src) ||
	    !post_control(conn, SDP_MID_SRC_AVAIL_CANCEL))
		return;
	sdp_src_cancelled(&conn->mode.src);
	book_offer_cancelled(&conn->book);
}

static void change(struct conn *conn, enum sdp_mode_kind to)
{
	struct sdp_src *src = &conn->mode.src;

	if (conn->book.disconn_out || !sdp_src_may_change(src, to) ||
	    !post_control(conn, SDP_MID_MODE_CHANGE))
		return;
	sdp_src_changed(src, to, conn->flow.tx_mseq);
	book_changed(&conn->book, to);
}

static void write_some(struct conn *conn, u8 arg)
{
	const struct sdp_advert *to = sdp_src_may_write(&conn->mode.src);
	u32 bytes;

	if (!to || conn->book.disconn_out || conn->state < SDP_ESTABLISHED)
		return;
	bytes = part(arg, to->left);
	sdp_src_wrote(&conn->mode.src, bytes);
	book_wrote(&conn->book, bytes);
}

static void tell_written(struct conn *conn, u8 arg)
{
	if (!sdp_src_owes_written(&conn->mode.src, (u32)arg << 8, arg & 1) ||
	    !post_control(conn, SDP_MID_RDMA_WR_COMPL))
		return;
	sdp_src_told_written(&conn->mode.src);
	book_told_written(&conn->book);
}

static void tell_dropped(struct conn *conn)
{
	if (!sdp_src_owes_cancel_ack(&conn->mode.src) ||
	    !post_control(conn, SDP_MID_SINK_CANCEL_ACK))
		return;
	sdp_src_told_dropped(&conn->mode.src);
	book_told_dropped(&conn->book);
}

static void ask_rcvbuf(struct conn *conn)
{
	if (conn->book.asked_rcvbuf || !post_control(conn, SDP_MID_CH_RCV_BUF))
		return;
	sdp_mode_rcvbuf_posted(&conn->mode);
	conn->book.asked_rcvbuf = true;
}

static void act(struct conn *conn, u8 what, u8 arg)
{
	switch (what) {
	case ACT_READ:
		begin_read(conn, arg);
		break;
	case ACT_READ_DONE:
		end_read(conn);
		break;
	case ACT_TELL_READ:
		tell_read(conn);
		break;
	case ACT_DECLINE:
		sdp_snk_refuse(&conn->mode.snk);
		book_declines(&conn->book);
		break;
	case ACT_ASK:
		ask(conn, arg);
		break;
	case ACT_ASK_CANCEL:
		ask_cancel(conn);
		break;
	case ACT_OFFER:
		offer(conn, arg);
		break;
	case ACT_OFFER_CANCEL:
		offer_cancel(conn);
		break;
	case ACT_CHANGE:
		change(conn, arg % 3);
		break;
	case ACT_WRITE:
		write_some(conn, arg);
		break;
	case ACT_TELL_WRITTEN:
		tell_written(conn, arg);
		break;
	case ACT_TELL_DROPPED:
		tell_dropped(conn);
		break;
	case ACT_RCVBUF:
		ask_rcvbuf(conn);
		break;
	}
}

/* ---- what goes out, and when: pure functions of their arguments ---- */

static void slice(const u8 *args)
{
	size_t left = 1 + ((size_t)args[0] << (args[1] & 31));
	u32 full = 48 + (args[2] << (args[3] & 7)), room = args[4] * (args[5] & 1);
	struct sdp_mode_slice got = sdp_mode_pick(left, full, room);
	bool small_out = args[6] & 1;
	u8 delay = args[6] >> 1 & 7;
	struct sdp_cork cork = { .delay = delay };
	struct sdp_flow flow;
	enum sdp_cork_hold hold;

	sdp_flow_init(&flow, 4, 4);
	if (small_out)
		sdp_cork_posted(&cork, 1);
	hold = sdp_cork_hold(&cork, &flow, true, args[7], 0);
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
	u16 theirs;

	sdp_flow_init(&conn->flow, data[0], data[1]);
	book->ours = 1 + data[2] % SDP_ADVERT_ADVERTS;
	theirs = data[2] >> 4 ? data[2] >> 4 : 1;
	book->theirs = theirs < SDP_ADVERT_ADVERTS ? theirs : SDP_ADVERT_ADVERTS;
	sdp_mode_init(&conn->mode, theirs, book->ours);
	book->posted = data[0];
	book->told = data[0];
	book->peer_bufs = data[1];
	book->src.mode = SDP_MODE_COMBINED;
	book->snk.mode = SDP_MODE_COMBINED;
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

/* One record, @size bytes of it; the first is the operation. */
static void run_record(struct conn *conn, const u8 *record, u32 size)
{
	u8 op = record[0], last = record[size - 1];
	u16 posted = op >> 3;

	/* The transport hears nothing more of what has failed. */
	if ((op & 7) != OP_EVENT &&
	    (conn->failed || !is_connected(conn->state))) {
		event(conn, last % SDP_EVENT_COUNT);
		return;
	}
	switch ((enum op)(op & 7)) {
	case OP_HEAR:
		hear(conn, op, record + 2, size < 2 ? 0 : size - 2);
		break;
	case OP_SEND:
		send_one(conn, op >> 3);
		break;
	case OP_POSTED:
		if (conn->book.posted >= RING_MAX)
			break;
		sdp_flow_posted(&conn->flow, posted);
		conn->book.posted += posted;
		check_flow(conn);
		break;
	case OP_REFUSE:
		refuse(conn);
		break;
	case OP_EVENT:
		event(conn, (op >> 3) % SDP_EVENT_COUNT);
		break;
	case OP_SHUT_RD:
		conn->mode.shut_rd = true;
		conn->book.snk.shut = true;
		break;
	case OP_SLICE:
		if (size == 9)
			slice(record + 1);
		break;
	case OP_ACT:
		act(conn, (op >> 3) % ACTS, last);
		break;
	}
	book_check(&conn->book, &conn->mode);
}

static void run_connection(const u8 *data, size_t size)
{
	struct conn conn = { .state = SDP_CLOSED };
	u32 at, bytes;

	if (size < 4)
		return;
	begin(&conn, data);
	check_flow(&conn);
	for (at = 4; at < size; at += bytes) {
		bytes = fuzz_record(data + at, size - at);
		run_record(&conn, data + at, bytes);
	}
	check_end(&conn, data[size - 1] & 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run_connection(data, size);
	return 0;
}
