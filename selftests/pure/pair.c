// SPDX-License-Identifier: GPL-2.0
/*
 * Two protocol halves joined in memory: the whole protocol without a kernel.
 *
 * An end uses the pure files as the module does: a ring of receive buffers that
 * are posted first and counted after, a queue of messages that waits for
 * credits, answers that wait beside it, a reader and a writer that come when
 * they please, a DisConn behind all data, and the CM's messages, which overtake
 * those on the queue pair.  A scheduler picks by chance what happens next, so
 * every order that a machine could bring about comes up sooner or later.  What
 * it picks from is only what could happen by itself: when nothing is left and
 * the connection is not over, it has stalled, and that is a failure.
 *
 * Three kinds of connections:
 *
 *	ours		both ends are this implementation; both close in order
 *	aborted		the same, and one end aborts or is lost on the way
 *	foreign		the other end is a full implementation by the text: it
 *			advertises (combined, pipelined, all inline), cancels,
 *			changes modes, asks for buffers and suspension, and sends
 *			credit updates as often as the text allows
 *
 * What is checked: each byte, in order and once; no message ever finds no
 * buffer; no update goes in circles while both sides idle; no end hears
 * anything it would refuse; nothing is cut off without a reset; both ends come
 * to CLOSED with everything accounted for.
 *
 * A connection depends on nothing but its own seed.  "pair SEED 1 KIND -v"
 * replays one and tells what happens.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernel/sdp_flow.h"
#include "../../kernel/sdp_mode.h"
#include "../../kernel/sdp_state.h"
#include "../../kernel/sdp_wire.h"
#include "chance.h"

enum kind { OURS, ABORTED, FOREIGN, KINDS };

static const char * const kind_names[] = { "ours", "aborted", "foreign" };

/* Chance. */

static u32 between(u32 min, u32 max)
{
	return min + below(max - min + 1);
}

static bool one_in(u32 n)
{
	return below(n) == 0;
}

static u32 at_most(u64 n, u32 max)
{
	return n < max ? n : max;
}

/* Failing, and telling. */

static u64 conn_seed;
static enum kind conn_kind;
static bool verbose;

static void __noreturn __printf(3, 4)
fail(int line, const char *what, const char *format, ...)
{
	va_list args;

	printf("# line %d: %s: ", line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n# replay: pair %llu 1 %s -v\n", (unsigned long long)conn_seed,
	       kind_names[conn_kind]);
	printf("not ok %d %s\n", conn_kind + 1, kind_names[conn_kind]);
	exit(1);
}

#define CHECK(ok, ...)						\
do {								\
	if (!(ok))						\
		fail(__LINE__, #ok, " " __VA_ARGS__);		\
} while (0)

static void __printf(1, 2) say(const char *format, ...)
{
	va_list args;

	if (!verbose)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

/* A message with its bytes in an allocation of just that size. */
struct msg {
	struct msg *next;
	u32 bytes;
	u64 data[];
};

struct fifo {
	struct msg *head, **tail;
	u32 count;
};

static void fifo_init(struct fifo *fifo)
{
	fifo->head = NULL;
	fifo->tail = &fifo->head;
	fifo->count = 0;
}

static void fifo_put(struct fifo *fifo, struct msg *msg)
{
	msg->next = NULL;
	*fifo->tail = msg;
	fifo->tail = &msg->next;
	fifo->count++;
}

static struct msg *fifo_get(struct fifo *fifo)
{
	struct msg *msg = fifo->head;

	fifo->head = msg->next;
	if (!fifo->head)
		fifo->tail = &fifo->head;
	fifo->count--;
	return msg;
}

static void fifo_drop(struct fifo *fifo)
{
	while (fifo->head)
		free(fifo_get(fifo));
}

enum { QUEUE_MAX = 8, ADVERTS_MAX = 6, CM_MAX = 16 };

/* A SrcAvail that its source has outstanding. */
struct advert {
	u32 mseq;
	u64 start;
	u32 len, inlined;
};

/* What a full implementation remembers of its own half, and would like to do. */
struct foreign {
	bool on;
	enum sdp_mode_kind mode;
	struct advert adverts[ADVERTS_MAX];
	u32 count;
	bool cancel_pending;
	u32 cancel_mseq;
	u64 copy_until;		/* a SendSm asked for copies up to here */
	bool rcvbuf_asked, susp_asked;
	bool want_cancel, want_rcvbuf, want_susp, want_noise;
	int want_mode;		/* -1 for none */
	u32 whims;		/* left; without them it must go on as well */
};

struct end {
	const char *name;
	struct end *peer;
	u8 salt;			/* makes the two streams differ */

	struct sdp_flow flow;
	struct sdp_mode mode;
	enum sdp_state state;
	struct foreign foreign;

	/* The ring: each buffer is in one of these five places. */
	u32 ring;
	u32 spare;			/* to be posted */
	u32 uncounted;			/* posted, sdp_flow not told yet */
	u32 hw_posted;			/* ready for a message, uncounted too */
	struct fifo cq;			/* arrived, not polled */
	struct fifo rxq;		/* polled, not read to the end */

	struct fifo wire;		/* on the way to us */
	u32 rcvsz, payload_max;

	/* The sender: slices in message sizes, and answers as bits. */
	u32 queue[QUEUE_MAX], queued;
	bool ctl_sendsm, ctl_rcvbuf_ack, ctl_susp_ack;
	bool fin_queued, fin_posted;
	bool connected, push_due;
	u32 sent, arrived, completed, fin_at;
	u64 tx_pos;			/* next byte to post */

	/* The user. */
	u64 wr_total, wr_pos, rd_pos;
	u32 rx_off;			/* read of the first in rxq */
	bool wait_eof;			/* shuts down only after the peer did */
	bool shut, eof_heard, eof_seen;
	u32 write_weight, read_weight, repost_weight, poll_weight, arrive_weight;

	/* The CM. */
	enum sdp_event cm[CM_MAX];
	u32 cm_count;
	bool dreq_heard, timer, timer_works, reset, freed;

	u32 updates, others;
};

static struct end ends[2];
static bool frozen;			/* the users rest */
static u64 total_messages, total_updates, total_bytes;

/* What chance must have brought about, or the run has shown too little. */
enum seen {
	SEEN_COMBINED, SEEN_ALL_INLINE, SEEN_PIPELINED, SEEN_CANCEL,
	SEEN_CANCEL_CROSSED, SEEN_SENDSM, SEEN_SENDSM_STALE, SEEN_CROSSED_SENDSM,
	SEEN_TO_PIPELINED, SEEN_TO_COMBINED, SEEN_TO_COMBINED_DROPS,
	SEEN_TO_BUFFERED, SEEN_RCVBUF, SEEN_SUSP, SEEN_NOISE,
	SEEN_CLOSING, SEEN_HALF_CLOSED, SEEN_EARLY_SHUT, SEEN_DREQ_FIRST,
	SEEN_LAST_ACK_TIMER, SEEN_WRAP, SEEN_NO_CREDIT, SEENS
};

static const char * const seen_names[SEENS] = {
	[SEEN_COMBINED] = "combined", [SEEN_ALL_INLINE] = "all inline",
	[SEEN_PIPELINED] = "pipelined", [SEEN_CANCEL] = "cancels",
	[SEEN_CANCEL_CROSSED] = "crossed by SendSm",
	[SEEN_SENDSM] = "SendSms", [SEEN_SENDSM_STALE] = "stale",
	[SEEN_CROSSED_SENDSM] = "ending several",
	[SEEN_TO_PIPELINED] = "to pipelined", [SEEN_TO_COMBINED] = "to combined",
	[SEEN_TO_COMBINED_DROPS] = "dropping some",
	[SEEN_TO_BUFFERED] = "to buffered", [SEEN_RCVBUF] = "ChRcvBuf",
	[SEEN_SUSP] = "SuspComm", [SEEN_NOISE] = "noise",
	[SEEN_CLOSING] = "closed at once", [SEEN_HALF_CLOSED] = "sent half closed",
	[SEEN_EARLY_SHUT] = "shut before RTU",
	[SEEN_DREQ_FIRST] = "DREQ before DisConn",
	[SEEN_LAST_ACK_TIMER] = "LAST_ACK timer", [SEEN_WRAP] = "wraps",
	[SEEN_NO_CREDIT] = "data without credit",
};

static u64 seen[SEENS];

static u8 stream_byte(const struct end *source, u64 pos)
{
	u32 x = (u32)pos * 2654435761u + source->salt;

	return x >> 24 ^ x >> 7;
}

static bool is_over(const struct end *end)
{
	return end->state == SDP_CLOSED || end->state == SDP_TIME_WAIT_1 ||
	       end->state == SDP_TIME_WAIT_2;
}

/* Everything is somewhere, and flow knows it. */
static void check_ring(const struct end *end)
{
	CHECK(end->spare + end->hw_posted + end->cq.count + end->rxq.count ==
	      end->ring, "%s", end->name);
	CHECK(end->flow.posted + end->uncounted == end->hw_posted + end->cq.count,
	      "%s", end->name);
	CHECK(sdp_flow_credits(&end->flow) <= end->flow.peer_bufs, "%s", end->name);
	CHECK(sdp_flow_known(&end->flow) <= end->flow.posted, "%s", end->name);
}

/* States and what they ask for. */

static void push(struct end *end);
static void post_abort_conn(struct end *end);

static void cm_send(struct end *to, enum sdp_event event)
{
	CHECK(to->cm_count < CM_MAX, "%s", to->name);
	to->cm[to->cm_count++] = event;
}

static void event(struct end *end, enum sdp_event what)
{
	enum sdp_state was = end->state;
	unsigned int todo = sdp_state_next(&end->state, what);

	say("%s: %s on %d -> %s, todo %#x\n", end->name,
	    sdp_state_name(was), what, sdp_state_name(end->state), todo);

	seen[SEEN_CLOSING] += end->state == SDP_CLOSING && was != SDP_CLOSING;
	seen[SEEN_EARLY_SHUT] += was == SDP_SYN_RECV && end->state == SDP_FIN_WAIT_1;
	seen[SEEN_LAST_ACK_TIMER] += was == SDP_LAST_ACK && what == SDP_EV_FIN_TIMEOUT;

	/* Nobody asked for a reset: there must be none. */
	CHECK(!(todo & SDP_DO_RESET) || conn_kind == ABORTED, "%s in %s",
	      end->name, sdp_state_name(was));
	if (todo & SDP_DO_RESET)
		end->reset = true;
	if (todo & SDP_DO_WAKE) {
		CHECK(!end->connected, "%s", end->name);
		end->connected = true;
		end->push_due = true;
	}
	if (todo & SDP_DO_DISCONN) {
		CHECK(!end->fin_queued, "%s", end->name);
		end->fin_queued = true;
		end->push_due = true;
	}
	if (todo & SDP_DO_EOF) {
		CHECK(!end->eof_heard, "%s", end->name);
		end->eof_heard = true;
	}
	if (todo & SDP_DO_ABORTCONN)
		post_abort_conn(end);
	/* The CM knows that it is void when the peer's came first. */
	if ((todo & SDP_DO_DREQ) && !end->dreq_heard)
		cm_send(end->peer, SDP_EV_DREQ);
	if (todo & SDP_DO_DREP) {
		CHECK(end->dreq_heard, "%s", end->name);
		cm_send(end->peer, SDP_EV_DREP);
	}
	if (todo & SDP_DO_TIMER)
		end->timer = true;
	if (todo & SDP_DO_FREE) {
		CHECK(!end->freed, "%s", end->name);
		end->freed = true;
		/* The CM refuses for us what it had in hand. */
		if (was == SDP_SYN_SENT || was == SDP_SYN_RECV)
			cm_send(end->peer, SDP_EV_REFUSED);
	}
	if (is_over(end)) {
		/* The queue pair is in error: nothing comes, nothing goes. */
		end->spare += end->cq.count;
		end->hw_posted -= end->uncounted;
		end->spare += end->uncounted + end->hw_posted;
		end->uncounted = 0;
		end->hw_posted = 0;
		end->flow.posted = 0;
		fifo_drop(&end->cq);
		fifo_drop(&end->wire);
	}
}

/* Sending. */

static void post(struct end *end, struct sdp_wire_msg *msg, u64 from)
{
	u32 head = SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid);
	struct msg *made;
	u8 *payload;
	u32 i;

	/* 3.2, in words of its own. */
	CHECK(sdp_flow_credits(&end->flow) >=
	      (msg->mid == SDP_MID_DATA && msg->len == SDP_LEN_BSDH ? 1 :
	       msg->mid == SDP_MID_DATA || msg->mid == SDP_MID_SRC_AVAIL ? 3 : 2),
	      "%s: MID %#x", end->name, msg->mid);
	CHECK(msg->len <= end->peer->rcvsz, "%s: %u bytes", end->name, msg->len);
	sdp_flow_take(&end->flow, msg);
	seen[SEEN_WRAP] += msg->mseq == 0;
	seen[SEEN_HALF_CLOSED] += end->eof_heard && msg->mid == SDP_MID_DATA &&
				  msg->len > SDP_LEN_BSDH;
	made = malloc(sizeof(*made) + msg->len);
	CHECK(made, "memory");
	made->bytes = msg->len;
	CHECK(sdp_wire_put(made->data, msg) == head, "MID %#x", msg->mid);
	payload = (u8 *)made->data + head;
	for (i = 0; i < msg->len - head; i++)
		payload[i] = stream_byte(end, from + i);

	say("%s: sends MID %#x, %u bytes, Bufs %u, MSeq %#x, Ack %#x; %u credits\n",
	    end->name, msg->mid, msg->len, msg->bufs, msg->mseq, msg->mseq_ack,
	    sdp_flow_credits(&end->flow));
	if (is_over(end->peer))
		free(made);
	else
		fifo_put(&end->peer->wire, made);
	end->sent++;
	if (msg->mid == SDP_MID_DATA && msg->len == SDP_LEN_BSDH)
		end->updates++;
	else
		end->others++;
}

static void post_plain(struct end *end, u8 mid)
{
	struct sdp_wire_msg msg = {
		.mid = mid, .len = SDP_LEN_BSDH + sdp_wire_ext_len(mid),
	};

	/* ChRcvBuf and its answer, so nothing is left unsaid. */
	if (mid == SDP_MID_CH_RCV_BUF_ACK)
		msg.ext.rcvsz = end->rcvsz;
	else if (mid == SDP_MID_CH_RCV_BUF)
		msg.ext.rcvsz = rnd();
	else
		msg.ext.sid = 0x1c001;
	post(end, &msg, 0);
}

static void post_data(struct end *end, u32 bytes)
{
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_DATA, .len = SDP_LEN_BSDH + bytes,
	};

	post(end, &msg, end->tx_pos);
	end->tx_pos += bytes;
}

static void post_abort_conn(struct end *end)
{
	/* 6.3: only after our DisConn has gone out. */
	if (end->fin_posted && sdp_flow_may(&end->flow, SDP_FLOW_CONTROL))
		post_plain(end, SDP_MID_ABORT_CONN);
}

static bool may_control(const struct end *end)
{
	return sdp_flow_may(&end->flow, SDP_FLOW_CONTROL);
}

static void push_answers(struct end *end)
{
	/* What it was to refuse may have been taken back meanwhile. */
	if (!sdp_snk_may_refuse(&end->mode.snk))
		end->ctl_sendsm = false;
	if (end->ctl_sendsm && may_control(end)) {
		post_plain(end, SDP_MID_SEND_SM);
		sdp_snk_refused(&end->mode.snk, end->flow.tx_mseq);
		end->ctl_sendsm = false;
	}
	if (end->ctl_rcvbuf_ack && may_control(end)) {
		post_plain(end, SDP_MID_CH_RCV_BUF_ACK);
		end->ctl_rcvbuf_ack = false;
	}
	if (end->ctl_susp_ack && may_control(end)) {
		post_plain(end, SDP_MID_SUSP_COMM_ACK);
		end->ctl_susp_ack = false;
	}
}

static void push_queue(struct end *end)
{
	while (end->queued && sdp_flow_may(&end->flow, SDP_FLOW_PAYLOAD)) {
		post_data(end, end->queue[0]);
		end->queued--;
		memmove(end->queue, end->queue + 1,
			end->queued * sizeof(end->queue[0]));
	}
}

static void push_fin(struct end *end)
{
	if (!end->fin_queued || end->fin_posted || !may_control(end))
		return;
	/* Behind all data, and no SrcAvail may be outstanding (6.1). */
	if (end->tx_pos != end->wr_total || end->foreign.count ||
	    end->foreign.cancel_pending)
		return;
	post_plain(end, SDP_MID_DISCONN);
	end->fin_posted = true;
	end->fin_at = end->sent;
}

/* The foreign source: what 4.2 to 4.6 let it do. */

static void foreign_post_avail(struct end *end, u32 len, u32 inlined)
{
	struct foreign *foreign = &end->foreign;
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_SRC_AVAIL, .len = SDP_LEN_BSDH + 16 + inlined,
		.ext.avail = { .len = len, .rkey = 0x12345678, .va = end->tx_pos },
	};

	post(end, &msg, end->tx_pos);
	if (inlined != len) {
		foreign->adverts[foreign->count++] = (struct advert) {
			.mseq = msg.mseq, .start = end->tx_pos,
			.len = len, .inlined = inlined,
		};
	}
	end->tx_pos += len;
	seen[inlined == len ? SEEN_ALL_INLINE :
	     inlined ? SEEN_COMBINED : SEEN_PIPELINED]++;
}

/* All are void: the stream goes on behind what was inline. */
static void foreign_take_back(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	if (!foreign->count)
		return;
	end->tx_pos = foreign->adverts[0].start + foreign->adverts[0].inlined;
	foreign->count = 0;
}

static void foreign_push_mode(struct end *end)
{
	struct foreign *foreign = &end->foreign;
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_MODE_CHANGE, .len = SDP_LEN_BSDH + 4,
	};

	if (foreign->want_mode < 0 || foreign->cancel_pending || end->fin_posted)
		return;
	switch (foreign->mode) {
	case SDP_MODE_COMBINED:
		if (foreign->want_mode == SDP_MODE_PIPELINED)
			break;
		if (foreign->want_mode == SDP_MODE_BUFFERED && !foreign->count)
			break;
		return;
	case SDP_MODE_PIPELINED:
		if (foreign->want_mode != SDP_MODE_COMBINED)
			return;
		/* Outstanding ones are dropped and must be issued again. */
		seen[SEEN_TO_COMBINED_DROPS] += foreign->count > 0;
		foreign_take_back(end);
		break;
	case SDP_MODE_BUFFERED:
		return;
	}
	foreign->mode = foreign->want_mode;
	seen[foreign->mode == SDP_MODE_PIPELINED ? SEEN_TO_PIPELINED :
	     foreign->mode == SDP_MODE_COMBINED ? SEEN_TO_COMBINED :
						  SEEN_TO_BUFFERED]++;
	foreign->want_mode = -1;
	msg.ext.mode = foreign->mode << 4;
	post(end, &msg, 0);
}

static void foreign_push_control(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	if (foreign->want_cancel && foreign->count && !foreign->cancel_pending &&
	    may_control(end)) {
		post_plain(end, SDP_MID_SRC_AVAIL_CANCEL);
		foreign->cancel_pending = true;
		foreign->cancel_mseq = end->flow.tx_mseq;
		seen[SEEN_CANCEL]++;
	}
	foreign->want_cancel = false;
	if (may_control(end))
		foreign_push_mode(end);
	if (foreign->want_rcvbuf && !foreign->rcvbuf_asked && may_control(end)) {
		post_plain(end, SDP_MID_CH_RCV_BUF);
		foreign->want_rcvbuf = false;
		foreign->rcvbuf_asked = true;
	}
	if (foreign->want_susp && !foreign->susp_asked && may_control(end)) {
		post_plain(end, SDP_MID_SUSP_COMM);
		foreign->want_susp = false;
		foreign->susp_asked = true;
	}
	if (foreign->want_noise && may_control(end)) {
		static const u8 noise[] = {
			SDP_MID_EXPERIMENTAL_FIRST, SDP_MID_SEND_SM,
			SDP_MID_SINK_AVAIL_CANCEL, SDP_MID_EXPERIMENTAL_LAST,
		};

		post_plain(end, noise[below(4)]);
		foreign->want_noise = false;
		seen[SEEN_NOISE]++;
	}
}

static void foreign_push_stream(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	while (end->tx_pos < end->wr_pos && !foreign->cancel_pending &&
	       sdp_flow_may(&end->flow, SDP_FLOW_PAYLOAD)) {
		u32 left = at_most(end->wr_pos - end->tx_pos, 5 * end->payload_max);
		bool may_avail = foreign->mode != SDP_MODE_BUFFERED &&
				 end->tx_pos >= foreign->copy_until;
		u32 inline_max = end->payload_max - 16;
		u32 len = between(1, left);

		if (foreign->count) {
			/* Nothing but another advert may go behind one. */
			if (foreign->mode != SDP_MODE_PIPELINED ||
			    foreign->count >= end->peer->mode.snk.max ||
			    one_in(3))
				return;
			foreign_post_avail(end, len, 0);
		} else if (may_avail && !one_in(3)) {
			if (foreign->mode == SDP_MODE_PIPELINED)
				foreign_post_avail(end, len, 0);
			else
				foreign_post_avail(end, len,
						   between(1, at_most(len, inline_max)));
		} else {
			post_data(end, at_most(len, end->payload_max));
		}
	}
}

static bool owes_update(const struct end *end)
{
	u32 known = sdp_flow_known(&end->flow);

	if (!end->foreign.on)
		return sdp_flow_owes_update(&end->flow);
	/* The letter of 3.3, without the care that ours takes. */
	return (known < 3 && end->flow.posted > known) ||
	       2 * end->flow.posted >= 3 * known;
}

/* Order of service: 3.2. */
static void push(struct end *end)
{
	end->push_due = false;
	if (!end->connected || is_over(end))
		return;
	if (end->foreign.on) {
		foreign_push_control(end);
		foreign_push_stream(end);
	} else {
		push_answers(end);
		push_queue(end);
	}
	if (owes_update(end) && end->flow.posted > sdp_flow_known(&end->flow) &&
	    sdp_flow_may(&end->flow, SDP_FLOW_UPDATE))
		post_data(end, 0);
	seen[SEEN_NO_CREDIT] += end->queued > 0;
	push_fin(end);
	check_ring(end);
}

/* Hearing. */

static void foreign_heard(struct end *end, const struct sdp_wire_msg *msg,
			  bool *deliver)
{
	struct foreign *foreign = &end->foreign;
	u64 behind;

	switch (msg->mid) {
	case SDP_MID_DATA:
		CHECK(!sdp_wire_payload(msg) || !end->eof_heard, "%s", end->name);
		*deliver = sdp_wire_payload(msg) > 0;
		return;
	case SDP_MID_DISCONN:
		event(end, SDP_EV_FIN_HEARD);
		return;
	case SDP_MID_SEND_SM:
		/* Stale, or none outstanding: not meant (4.3). */
		if (!foreign->count ||
		    (s32)(msg->mseq_ack - foreign->adverts[0].mseq) < 0) {
			seen[SEEN_SENDSM_STALE]++;
			return;
		}
		seen[SEEN_SENDSM]++;
		seen[SEEN_CROSSED_SENDSM] += foreign->count > 1;
		behind = end->tx_pos;
		foreign_take_back(end);
		/* What was cancelled may be advertised again at once. */
		if (!foreign->cancel_pending)
			foreign->copy_until = behind;
		else if ((s32)(msg->mseq_ack - foreign->cancel_mseq) < 0)
			seen[SEEN_CANCEL_CROSSED]++;
		foreign->cancel_pending = false;
		end->push_due = true;
		return;
	case SDP_MID_CH_RCV_BUF_ACK:
		CHECK(foreign->rcvbuf_asked, "%s", end->name);
		CHECK(msg->ext.rcvsz == end->peer->rcvsz, "%s", end->name);
		foreign->rcvbuf_asked = false;
		seen[SEEN_RCVBUF]++;
		return;
	case SDP_MID_SUSP_COMM_ACK:
		CHECK(foreign->susp_asked, "%s", end->name);
		foreign->susp_asked = false;
		seen[SEEN_SUSP]++;
		return;
	}
	CHECK(false, "%s: MID %#x", end->name, msg->mid);
}

static void our_heard(struct end *end, const struct sdp_wire_msg *msg,
		      bool *deliver)
{
	int verdict = sdp_mode_heard(&end->mode, msg);

	CHECK(verdict >= 0, "%s: MID %#x: %d", end->name, msg->mid, verdict);
	if (verdict & SDP_HEARD_ADVERT)
		sdp_snk_refuse(&end->mode.snk);
	if (verdict & (SDP_HEARD_ADVERT | SDP_HEARD_SENDSM))
		end->ctl_sendsm = true;
	if (verdict & SDP_HEARD_RCVBUF)
		end->ctl_rcvbuf_ack = true;
	if (verdict & SDP_HEARD_SUSP_ACK)
		end->ctl_susp_ack = true;
	*deliver = verdict & SDP_HEARD_DELIVER;
	if (verdict & SDP_HEARD_FIN)
		event(end, SDP_EV_FIN_HEARD);
	if (verdict & SDP_HEARD_RESET)
		event(end, SDP_EV_ABORT_HEARD);
}

static void poll_one(struct end *end)
{
	struct msg *msg = fifo_get(&end->cq);
	struct sdp_wire_msg got;
	bool deliver = false;

	/* The RTU may be overtaken (1.5). */
	if (!end->connected)
		event(end, SDP_EV_ESTABLISHED);

	CHECK(sdp_wire_get(&got, msg->data, msg->bytes) == SDP_WIRE_OK, "%s: MID %#x",
	      end->name, *(u8 *)msg->data);
	CHECK(sdp_flow_heard(&end->flow, &got) == 0, "%s: MSeq %#x Ack %#x Bufs %u",
	      end->name, got.mseq, got.mseq_ack, got.bufs);
	say("%s: hears MID %#x, MSeq %#x; %u credits\n", end->name, got.mid,
	    got.mseq, sdp_flow_credits(&end->flow));
	/* Whose buffer it is must be clear before a state lets go of all. */
	end->spare++;
	if (end->foreign.on)
		foreign_heard(end, &got, &deliver);
	else
		our_heard(end, &got, &deliver);
	if (deliver) {
		end->spare--;
		fifo_put(&end->rxq, msg);
	} else {
		free(msg);
	}
	end->push_due = true;
}

/* The users. */

static void user_write(struct end *end)
{
	u64 left = end->wr_total - end->wr_pos;
	u32 chunk = between(1, at_most(left, 4 * end->payload_max));

	if (end->foreign.on) {
		end->wr_pos += chunk;
		end->push_due = true;
		return;
	}
	while (chunk) {
		u32 room = end->queued ?
			end->payload_max - end->queue[end->queued - 1] : 0;
		struct sdp_mode_slice slice =
			sdp_mode_pick(chunk, end->payload_max, room);

		CHECK(slice.bytes > 0 && slice.bytes <= chunk, "%s", end->name);
		if (slice.coalesce) {
			CHECK(slice.bytes <= room, "%s", end->name);
			end->queue[end->queued - 1] += slice.bytes;
		} else {
			CHECK(slice.bytes <= end->payload_max, "%s", end->name);
			if (end->queued == QUEUE_MAX)
				break;
			end->queue[end->queued++] = slice.bytes;
		}
		end->wr_pos += slice.bytes;
		chunk -= slice.bytes;
	}
	end->push_due = true;
}

static void user_read(struct end *end)
{
	u32 want = between(1, 3 * end->rcvsz);

	while (want && end->rxq.head) {
		struct msg *msg = end->rxq.head;
		u8 *bytes = (u8 *)msg->data;
		u32 head = SDP_LEN_BSDH + sdp_wire_ext_len(bytes[0]);
		u32 n = at_most(want, msg->bytes - head - end->rx_off), i;

		for (i = 0; i < n; i++)
			CHECK(bytes[head + end->rx_off + i] ==
			      stream_byte(end->peer, end->rd_pos + i),
			      "%s: byte %llu", end->name,
			      (unsigned long long)end->rd_pos + i);
		end->rd_pos += n;
		end->rx_off += n;
		want -= n;
		if (end->rx_off < msg->bytes - head)
			return;
		free(fifo_get(&end->rxq));
		end->rx_off = 0;
		end->spare++;
	}
	if (!end->rxq.head && end->eof_heard) {
		CHECK(end->rd_pos == end->peer->wr_total, "%s: end of file at %llu",
		      end->name, (unsigned long long)end->rd_pos);
		end->eof_seen = true;
	}
}

static void foreign_whim(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	foreign->whims--;
	switch (below(8)) {
	case 0:
		foreign->want_rcvbuf = true;
		break;
	case 1:
		foreign->want_susp = true;
		break;
	case 2:
		foreign->want_noise = true;
		break;
	case 3:
	case 4:
		foreign->want_mode = one_in(20) ? SDP_MODE_BUFFERED :
			one_in(2) ? SDP_MODE_COMBINED : SDP_MODE_PIPELINED;
		break;
	default:
		foreign->want_cancel = true;
	}
	end->push_due = true;
}

/* The CM. */

static void cm_deliver(struct end *end)
{
	enum sdp_event what = end->cm[0];

	end->cm_count--;
	memmove(end->cm, end->cm + 1, end->cm_count * sizeof(end->cm[0]));
	if (what == SDP_EV_ESTABLISHED) {
		/* The first message may have been faster. */
		if (!end->connected)
			event(end, what);
		return;
	}
	if (what == SDP_EV_DREQ) {
		end->dreq_heard = true;
		/* The peer's DisConn may be among what was not polled (6.1). */
		seen[SEEN_DREQ_FIRST] += end->cq.head && !end->eof_heard;
		while (end->cq.head && !is_over(end))
			poll_one(end);
	}
	event(end, what);
}

static void complete_one(struct end *end)
{
	end->completed++;
	if (end->fin_posted && end->completed == end->fin_at)
		event(end, SDP_EV_FIN_SENT);
	end->push_due = true;
}

static void arrive_one(struct end *end)
{
	CHECK(end->hw_posted > 0, "%s: no buffer for a message", end->name);
	end->hw_posted--;
	fifo_put(&end->cq, fifo_get(&end->wire));
	end->peer->arrived++;
}

/* What can happen, and how likely it is. */

enum happening {
	WRITE, SHUT, READ, WHIM,			/* users, not while frozen */
	REPOST, COUNT, PUSH, ARRIVE, POLL, COMPLETE,
	CM, TIMER, TIMEWAIT, HAPPENINGS
};

static u32 weight(const struct end *end, enum happening what)
{
	bool live = !is_over(end);

	if (what <= WHIM && frozen)
		return 0;
	switch (what) {
	case WRITE:
		return end->wr_pos < end->wr_total && !end->shut &&
		       end->queued < QUEUE_MAX && sdp_state_may_send(end->state) ?
			end->write_weight : 0;
	case SHUT:
		return end->wr_pos == end->wr_total && !end->shut && live &&
		       end->state != SDP_SYN_SENT &&
		       (!end->wait_eof || end->eof_seen) ? 2 : 0;
	case READ:
		return end->rxq.head || (end->eof_heard && !end->eof_seen) ?
			end->read_weight : 0;
	case WHIM:
		return live && end->foreign.whims &&
		       (end->wr_pos < end->wr_total || end->foreign.count) ? 2 : 0;
	case REPOST:
		return live && end->spare ? end->repost_weight : 0;
	case COUNT:
		return live && end->uncounted ? 20 : 0;
	case PUSH:
		return live && end->push_due ? 20 : 0;
	case ARRIVE:
		return live && end->wire.head ? end->arrive_weight : 0;
	case POLL:
		return live && end->cq.head ? end->poll_weight : 0;
	case COMPLETE:
		return live && end->completed < end->arrived ? 10 : 0;
	case CM:
		return end->cm_count ? 3 : 0;
	case TIMER:
		return end->timer && end->timer_works &&
		       end->state == SDP_LAST_ACK ? 1 : 0;
	case TIMEWAIT:
		return end->state == SDP_TIME_WAIT_2 ? 3 : 0;
	default:
		return 0;
	}
}

static void happen(struct end *end, enum happening what)
{
	u32 n;

	switch (what) {
	case WRITE:
		user_write(end);
		break;
	case SHUT:
		end->shut = true;
		event(end, SDP_EV_SHUTDOWN);
		break;
	case READ:
		user_read(end);
		break;
	case WHIM:
		foreign_whim(end);
		break;
	case REPOST:
		/* Posted first, counted after: a message may come between. */
		n = between(1, end->spare);
		end->spare -= n;
		end->hw_posted += n;
		end->uncounted += n;
		break;
	case COUNT:
		sdp_flow_posted(&end->flow, end->uncounted);
		end->uncounted = 0;
		end->push_due = true;
		break;
	case PUSH:
		push(end);
		break;
	case ARRIVE:
		arrive_one(end);
		break;
	case POLL:
		poll_one(end);
		break;
	case COMPLETE:
		complete_one(end);
		break;
	case CM:
		cm_deliver(end);
		break;
	case TIMER:
		end->timer = false;
		event(end, SDP_EV_FIN_TIMEOUT);
		break;
	case TIMEWAIT:
		event(end, SDP_EV_TIMEWAIT_EXIT);
		break;
	default:
		break;
	}
	if (!is_over(end))
		check_ring(end);
}

/* Let one thing happen; false if nothing can. */
static bool step(void)
{
	u32 weights[2 * HAPPENINGS], sum = 0, i, pick;

	for (i = 0; i < 2 * HAPPENINGS; i++) {
		weights[i] = weight(&ends[i / HAPPENINGS], i % HAPPENINGS);
		sum += weights[i];
	}
	if (!sum)
		return false;
	pick = below(sum);
	for (i = 0; pick >= weights[i]; i++)
		pick -= weights[i];
	happen(&ends[i / HAPPENINGS], i % HAPPENINGS);
	return true;
}

/* The users rest: what is under way comes to an end, and nothing goes round. */
static void pause_users(void)
{
	u32 before = ends[0].sent + ends[1].sent;
	u32 bound = 2 * (ends[0].ring + ends[1].ring) + 4 * QUEUE_MAX + 16;

	say("the users pause\n");
	frozen = true;
	while (step())
		CHECK(ends[0].sent + ends[1].sent - before <= bound,
		      "messages go round while the users pause");
	frozen = false;
}

/* The beginning: Hello and HelloAck through the wire functions. */

static u32 some_ring(void)
{
	static const u8 small[] = { 4, 4, 5, 6, 7, 8 };

	return one_in(2) ? small[below(sizeof(small))] : between(4, 64);
}

static u32 some_weight(void)
{
	static const u8 weights[] = { 1, 3, 10, 30 };

	return weights[below(sizeof(weights))];
}

static void end_init(struct end *end, const char *name, struct end *peer)
{
	memset(end, 0, sizeof(*end));
	end->name = name;
	end->peer = peer;
	end->salt = rnd();
	end->ring = some_ring();
	end->rcvsz = one_in(3) ? SDP_WIRE_RCVSZ_MIN : between(SDP_WIRE_RCVSZ_MIN, 400);
	end->hw_posted = end->ring;
	end->wr_total = one_in(6) ? 0 : below(one_in(2) ? 300 : 6000);
	end->timer_works = one_in(2);
	end->write_weight = some_weight();
	end->read_weight = some_weight();
	end->repost_weight = some_weight();
	end->poll_weight = some_weight();
	end->arrive_weight = some_weight();
	end->foreign.mode = SDP_MODE_COMBINED;
	end->foreign.want_mode = -1;
	fifo_init(&end->wire);
	fifo_init(&end->cq);
	fifo_init(&end->rxq);
}

static void end_start(struct end *end, u8 max_adverts,
		      const struct sdp_wire_hello *peer)
{
	sdp_flow_init(&end->flow, end->ring, peer->bufs);
	sdp_mode_init(&end->mode, 1, max_adverts);
	end->payload_max = peer->rcvsz - SDP_LEN_BSDH;
}

/* As if so many messages had gone before: the counts are to wrap. */
static void age(struct sdp_flow *flow, u32 tx, u32 rx)
{
	flow->tx_mseq += tx;
	flow->tx_acked += tx;
	flow->rx_mseq += rx;
	flow->told_mseq += rx;
}

static void connect_ends(void)
{
	struct end *active = &ends[0], *passive = &ends[1];
	u8 adverts[2] = { between(1, ADVERTS_MAX), between(1, ADVERTS_MAX) };
	struct sdp_wire_hello said = {
		.version = SDP_WIRE_VERSION, .ipv = 4, .bufs = active->ring,
		.max_adverts = adverts[0], .rcvsz = active->rcvsz, .port = 1,
	}, heard;
	u8 bytes[SDP_LEN_HELLO_ACK];
	u32 base[2];

	sdp_wire_put_hello(bytes, &said);
	CHECK(sdp_wire_get_hello(&heard, bytes, SDP_LEN_HELLO) == SDP_WIRE_OK, "Hello");
	end_start(passive, adverts[1], &heard);
	said.bufs = passive->ring;
	said.max_adverts = adverts[1];
	said.rcvsz = passive->rcvsz;
	sdp_wire_put_hello_ack(bytes, &said);
	CHECK(sdp_wire_get_hello_ack(&heard, bytes, SDP_LEN_HELLO_ACK) == SDP_WIRE_OK,
	      "HelloAck");
	end_start(active, adverts[0], &heard);

	base[0] = one_in(3) ? 0 : (one_in(2) ? 0u : 0x80000000u) - below(60);
	base[1] = one_in(3) ? 0 : (one_in(2) ? 0u : 0x80000000u) - below(60);
	age(&active->flow, base[0], base[1]);
	age(&passive->flow, base[1], base[0]);

	event(active, SDP_EV_CONNECT);
	event(passive, SDP_EV_ACCEPT);
	/* The HelloAck has come; the RTU is on its way. */
	event(active, SDP_EV_ESTABLISHED);
	cm_send(passive, SDP_EV_ESTABLISHED);
}

static void abort_or_lose(struct end *end)
{
	if (is_over(end))
		return;
	if (one_in(4)) {
		event(end, SDP_EV_LOST);
		/* What the peer sees of it, sooner or later. */
		cm_send(end->peer, SDP_EV_LOST);
	} else {
		event(end, SDP_EV_ABORT);
	}
}

static bool finished(void)
{
	return ends[0].state == SDP_CLOSED && ends[1].state == SDP_CLOSED &&
	       (conn_kind == ABORTED || (ends[0].eof_seen && ends[1].eof_seen));
}

static void check_end(struct end *end)
{
	/* Read what is left; it must be the stream's. */
	while (end->rxq.head)
		user_read(end);
	CHECK(end->freed, "%s", end->name);
	CHECK(end->reset || end->eof_heard, "%s was cut off in silence", end->name);
	CHECK(!end->eof_heard || end->rd_pos == end->peer->wr_total,
	      "%s: end of file at %llu of %llu", end->name,
	      (unsigned long long)end->rd_pos,
	      (unsigned long long)end->peer->wr_total);
	CHECK(end->spare == end->ring, "%s: %u buffers of %u are left",
	      end->name, end->spare, end->ring);
	if (conn_kind != ABORTED)
		CHECK(!end->foreign.count && !end->foreign.cancel_pending, "%s",
		      end->name);
	fifo_drop(&end->wire);
	fifo_drop(&end->cq);
}

static void run_connection(void)
{
	u32 abort_in = conn_kind == ABORTED ? between(1, 400) : 0;
	u32 updates, others, steps = 0;

	end_init(&ends[0], "active", &ends[1]);
	end_init(&ends[1], "passive", &ends[0]);
	/* Both waiting for the other would be the users' own deadlock. */
	ends[below(2)].wait_eof = one_in(2);
	if (conn_kind == FOREIGN) {
		struct end *foreign = &ends[below(2)];

		foreign->foreign.on = true;
		foreign->foreign.whims = one_in(3) ? below(10) : below(200);
		/* We post SDP_WIRE_CREDITS_MIN at the least, others may not. */
		if (one_in(8))
			foreign->ring = 3;
		foreign->hw_posted = foreign->ring;
	}
	connect_ends();

	while (!finished()) {
		CHECK(++steps < 1000000, "no end: active %s, passive %s",
		      sdp_state_name(ends[0].state),
		      sdp_state_name(ends[1].state));
		if (!step())
			CHECK(false, "stalled: active %s, passive %s",
			      sdp_state_name(ends[0].state),
			      sdp_state_name(ends[1].state));
		if (one_in(150))
			pause_users();
		if (abort_in && !--abort_in)
			abort_or_lose(&ends[below(2)]);
	}
	check_end(&ends[0]);
	check_end(&ends[1]);

	updates = ends[0].updates + ends[1].updates;
	others = ends[0].others + ends[1].others;
	/* At the smallest rings each payload is told of and answered. */
	CHECK(updates <= 4 * others + 16, "%u updates for %u other messages",
	      updates, others);
	total_messages += updates + others;
	total_updates += updates;
	total_bytes += ends[0].rd_pos + ends[1].rd_pos;
}

/* Case KINDS + 1; a few connections cannot bring everything. */
static bool has_variety(u32 count)
{
	bool all = true;
	int i;

	for (i = 0; i < SEENS; i++) {
		printf("# %llu %s\n", (unsigned long long)seen[i], seen_names[i]);
		all &= seen[i] > 0;
	}
	if (count < 1000)
		printf("ok %d variety # SKIP fewer than 1000 connections\n", KINDS + 1);
	else
		printf("%sok %d variety\n", all ? "" : "not ", KINDS + 1);
	return all || count < 1000;
}

int main(int argc, char **argv)
{
	u64 seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	u32 count = argc > 2 ? strtoul(argv[2], NULL, 0) : 2000;
	const char *only = argc > 3 ? argv[3] : NULL;
	u32 i;

	verbose = argc > 4;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("KTAP version 1\n1..%d\n# seed %llu, %u connections of each kind\n",
	       only ? KINDS : KINDS + 1, (unsigned long long)seed, count);
	for (conn_kind = 0; conn_kind < KINDS; conn_kind++) {
		if (only && strcmp(only, kind_names[conn_kind])) {
			printf("ok %d %s # SKIP\n", conn_kind + 1,
			       kind_names[conn_kind]);
			continue;
		}
		total_messages = 0;
		total_updates = 0;
		total_bytes = 0;
		for (i = 0; i < count; i++) {
			conn_seed = seed + i;
			rng = conn_seed * KINDS + conn_kind;
			run_connection();
		}
		printf("# %llu bytes in %llu messages, %llu of them updates\n",
		       (unsigned long long)total_bytes,
		       (unsigned long long)total_messages,
		       (unsigned long long)total_updates);
		printf("ok %d %s\n", conn_kind + 1, kind_names[conn_kind]);
	}
	return only || has_variety(count) ? 0 : 1;
}
