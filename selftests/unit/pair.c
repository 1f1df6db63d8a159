// SPDX-License-Identifier: GPL-2.0
/*
 * Two protocol halves joined in memory: the whole protocol without a kernel.
 *
 * A scheduler picks by chance what happens next, so every order that a machine
 * could bring about comes up sooner or later.  What it picks from is only what
 * could happen by itself: when nothing is left and the connection is not over,
 * it has stalled, and that is a failure.  What it is that happens to an end is
 * in pair_end.c, and what a full implementation does otherwise in
 * pair_foreign.c.
 *
 * Three kinds of connections:
 *
 *	ours		both ends are this implementation; both close in order
 *	aborted		the same, and one end aborts or is lost on the way
 *	foreign		the other end is a full implementation by the text
 *
 * What is checked: each byte, in order and once; no message ever finds no
 * buffer; no update goes in circles while both sides idle; no end hears
 * anything it would refuse; nothing is cut off without a reset; both ends come
 * to CLOSED with everything accounted for.
 *
 * A connection depends on nothing but its own seed.  "pair SEED 1 KIND -v"
 * replays one and tells what happens.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "pair.h"

static const char * const kind_names[] = { "ours", "aborted", "foreign" };

/* Failing, and telling. */

static u64 conn_seed;
enum kind conn_kind;
static bool verbose;

void __noreturn __printf(4, 5)
fail(const char *file, int line, const char *what, const char *format, ...)
{
	va_list args;

	printf("# %s:%d: %s: ", file, line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n# replay: pair %llu 1 %s -v\n", (unsigned long long)conn_seed,
	       kind_names[conn_kind]);
	printf("not ok %d %s\n", conn_kind + 1, kind_names[conn_kind]);
	/* Not exit(): the message in hand would be called a leak. */
	_exit(1);
}

void __printf(1, 2) say(const char *format, ...)
{
	va_list args;

	if (!verbose)
		return;
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

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

u64 seen[SEENS];

static struct end ends[2];
static bool frozen;			/* the users rest */
static u64 total_messages, total_updates, total_bytes;

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
		event(end, SDP_EV_TIME_WAIT_OVER);
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
