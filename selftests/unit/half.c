// SPDX-License-Identifier: GPL-2.0
/*
 * The two ends of one half-connection, sdp_advert.c at both, joined in memory.
 *
 * What docs/model/half.pml proves of the model this tries of the code, with
 * more adverts, real sizes, several reads under way, and sequence numbers that
 * wrap.  A scheduler picks by chance what happens next; where only patience is
 * left it says so, and a stream that does not come to its end is a failure.
 *
 * A byte of the stream is its position: an advert's VA is the position of its
 * first byte, so who reads or writes the wrong place is found at once.  Memory
 * that the other side may touch is a list of loans; touching what is no loan
 * any more is the failure that would be a crash, or somebody else's data.
 *
 * "half SEED 1 -v" replays one and tells what happens.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernel/proto/sdp_advert.h"
#include "chance.h"

enum {
	DEPTH = 40,		/* messages under way, each direction */
	LOANS = 4096,		/* in one conversation */
	SLICE = 300000,		/* bytes of an advert, at the most */
	COPY = 16368,		/* and of Data */
};

struct loan {
	u64 from, to;		/* positions; of a SinkAvail: not known */
	bool alive;
	u32 len;
};

struct item {
	struct sdp_wire_msg msg;
	bool write;		/* an RDMA Write: avail.va, avail.rkey, avail.len */
	u64 pos;		/* of payload, or of what is written */
	bool ends;		/* the device forgets @key when it comes */
	u32 key;
};

struct way {
	struct item at[DEPTH];
	unsigned int first, n;
	u32 mseq;		/* of the last message posted */
	u32 heard;		/* and heard */
};

static struct {
	struct sdp_src src;
	struct sdp_snk snk;
	struct way down, up;

	u64 total, next;	/* source: to send; first not sent or offered */
	u64 out[SDP_ADVERT_ADVERTS * 2]; /* positions of what is out, in order */
	unsigned int nout;
	u32 out_len[SDP_ADVERT_ADVERTS * 2];
	bool done;

	u64 got;		/* sink: bytes of the stream that have come */
	u64 read_to;		/* positions up to which reads were posted */
	u32 reads[64];		/* sizes of reads under way */
	u64 reads_at[64];
	u32 reads_key[64];
	unsigned int nreads;
	u32 bufs[SDP_ADVERT_ADVERTS]; /* loans of our SinkAvails, the oldest first */
	u32 filled;		/* of the oldest, by RDMA Writes */
	bool unread, fin;

	struct loan loans[LOANS];
	u32 nloans;
	unsigned int changes, cancels, refusals;
	bool patient;		/* no more tricks: come to the end */
	bool leaves;		/* the reader has gone by then */
	u64 moved[3];		/* bytes copied, read, written */
} s;

static uint64_t seed;
static bool verbose;

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
	va_list ap;

	if (!verbose)
		return;
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

#define CHECK(what) do {						\
	if (!(what)) {							\
		printf("half: seed %llu: %s:%d: not true: %s\n",	\
		       (unsigned long long)seed, __FILE__, __LINE__, #what); \
		exit(1);						\
	}								\
} while (0)

static bool one_in(u32 n)
{
	return !below(n);
}

static u32 upto(u64 n)
{
	return 1 + below(n < SLICE ? (u32)n : SLICE);
}

/* ---- what is under way ---- */

static struct item *post(struct way *to, struct way *from, u8 mid)
{
	struct item *item = &to->at[(to->first + to->n++) % DEPTH];

	CHECK(to->n <= DEPTH);
	memset(item, 0, sizeof(*item));
	item->msg.mid = mid;
	item->msg.len = SDP_LEN_BSDH + sdp_wire_ext_len(mid);
	item->msg.mseq = ++to->mseq;
	item->msg.mseq_ack = from->heard;
	return item;
}

static struct item *down(u8 mid)
{
	return post(&s.down, &s.up, mid);
}

static struct item *up(u8 mid)
{
	struct item *item = post(&s.up, &s.down, mid);

	item->msg.mseq_ack = sdp_snk_ack(&s.snk, s.down.heard);
	return item;
}

static bool room(const struct way *way)
{
	return way->n < DEPTH;
}

static struct item take(struct way *way)
{
	struct item item = way->at[way->first];

	way->first = (way->first + 1) % DEPTH;
	way->n--;
	if (!item.write)
		way->heard = item.msg.mseq;
	return item;
}

static u32 lend(u64 from, u32 len)
{
	CHECK(s.nloans < LOANS);
	s.loans[s.nloans] = (struct loan) { from, from + len, true, len };
	return s.nloans++;
}

/* ---- the source ---- */

/* Everything that was out and not acknowledged is to be sent again. */
static void src_back(void)
{
	u32 i;

	CHECK(s.nout);
	s.next = s.out[0];
	s.nout = 0;
	for (i = 0; i < s.nloans; i++)
		if (s.loans[i].from != ~0ull && s.loans[i].to > s.next)
			s.loans[i].alive = false;
}

static void src_hears(const struct item *item)
{
	bool lent = item->ends && s.loans[item->key].alive;
	struct sdp_advert_told told;
	u32 i;

	say("  source hears %02x mseq %u ack %u: %u", item->msg.mid,
	    item->msg.mseq, item->msg.mseq_ack, item->msg.ext.bytes);
	sdp_src_acked(&s.src, item->msg.mseq_ack);
	CHECK(!sdp_src_heard(&s.src, &item->msg, &told));
	if (told.bytes) {
		CHECK(s.nout && told.bytes <= s.out_len[0]);
		s.out[0] += told.bytes;
		s.out_len[0] -= told.bytes;
	}
	if (told.news & SDP_ADVERT_DONE) {
		CHECK(told.done == 1 && s.nout && !s.out_len[0]);
		for (i = 0; i < s.nloans; i++)
			if (s.loans[i].to == s.out[0])
				s.loans[i].alive = false;
		s.nout--;
		memmove(s.out, s.out + 1, s.nout * sizeof(s.out[0]));
		memmove(s.out_len, s.out_len + 1, s.nout * sizeof(s.out_len[0]));
	}
	if (told.news & SDP_ADVERT_WITHDRAWN)
		src_back();
	/* Whose key is ended was lent until now, and is not any more. */
	CHECK(item->ends == !!(told.news & SDP_ADVERT_DONE));
	CHECK(!item->ends || (lent && !s.loans[item->key].alive));
	CHECK(s.nout == s.src.out.n);
}

static bool src_copies(void)
{
	u64 left = s.total - s.next;
	struct item *item;
	u32 n;

	if (!left || !sdp_src_may_copy(&s.src) || !room(&s.down))
		return false;
	n = 1 + below(left < COPY ? (u32)left : COPY);
	item = down(SDP_MID_DATA);
	item->msg.len += n;
	item->pos = s.next;
	s.next += n;
	s.moved[0] += n;
	sdp_src_copied(&s.src);
	say("source: Data %u at %llu", n, (unsigned long long)item->pos);
	return true;
}

static bool src_offers(void)
{
	u64 left = s.total - s.next;
	struct item *item;
	u32 n, in = 0;

	if (left < 2 || !sdp_src_may_offer(&s.src) || !room(&s.down))
		return false;
	n = 1 + upto(left - 1);
	if (s.src.mode == SDP_MODE_COMBINED)
		in = 1 + below(n - 1 < COPY ? n - 1 : COPY);
	item = down(SDP_MID_SRC_AVAIL);
	item->msg.len += in;
	item->pos = s.next;
	item->msg.ext.avail.len = n;
	item->msg.ext.avail.va = s.next;
	item->msg.ext.avail.rkey = lend(s.next + in, n - in);
	sdp_src_offered(&s.src, item->msg.mseq, n - in, in);
	s.out[s.nout] = s.next + in;
	s.out_len[s.nout++] = n - in;
	s.next += n;
	s.moved[0] += in;
	say("source: SrcAvail mseq %u of %u, %u inline, at %llu", item->msg.mseq,
	    n, in, (unsigned long long)item->pos);
	return true;
}

static bool src_cancels(void)
{
	if (!sdp_src_may_cancel(&s.src) || !room(&s.down))
		return false;
	down(SDP_MID_SRC_AVAIL_CANCEL);
	sdp_src_cancelled(&s.src);
	say("source: SrcAvailCancel");
	return true;
}

static bool src_changes(u8 to)
{
	struct item *item;

	if (!sdp_src_may_change(&s.src, to) || !room(&s.down))
		return false;
	item = down(SDP_MID_MODE_CHANGE);
	item->msg.ext.mode = to << 4;
	sdp_src_changed(&s.src, to, item->msg.mseq);
	say("source: ModeChange mseq %u to %u", item->msg.mseq, to);
	return true;
}

static bool src_writes(void)
{
	const struct sdp_advert *advert = sdp_src_may_write(&s.src);
	u64 left = s.total - s.next;
	struct item *item;
	u32 n;

	if (!left || !advert || !room(&s.down))
		return false;
	n = upto(left < advert->left ? left : advert->left);
	item = &s.down.at[(s.down.first + s.down.n++) % DEPTH];
	memset(item, 0, sizeof(*item));
	item->write = true;
	item->pos = s.next;
	item->msg.ext.avail.len = n;
	item->msg.ext.avail.rkey = advert->rkey;
	item->msg.ext.avail.va = advert->va;
	say("source: RDMA Write of %u at %llu into %u", n,
	    (unsigned long long)s.next, advert->rkey);
	s.next += n;
	s.moved[2] += n;
	sdp_src_wrote(&s.src, n);
	return true;
}

static bool src_tells_written(void)
{
	struct item *item;

	u32 n = sdp_src_owes_written(&s.src, 1 + below(COPY), one_in(2));

	if (!n || !room(&s.down))
		return false;
	item = down(SDP_MID_RDMA_WR_COMPL);
	item->msg.ext.bytes = n;
	item->ends = sdp_src_ends(&s.src);
	item->key = item->ends ? sdp_src_ends(&s.src)->rkey : 0;
	sdp_src_told_written(&s.src);
	say("source: RdmaWrCompl %u", item->msg.ext.bytes);
	return true;
}

static bool src_acks_cancel(void)
{
	if (!sdp_src_owes_cancel_ack(&s.src) || !room(&s.down))
		return false;
	down(SDP_MID_SINK_CANCEL_ACK);
	sdp_src_told_dropped(&s.src);
	say("source: SinkCancelAck");
	return true;
}

static bool src_ends(void)
{
	if (s.done || s.next < s.total || !sdp_src_may_copy(&s.src) ||
	    !room(&s.down))
		return false;
	down(SDP_MID_DISCONN);
	sdp_src_fin(&s.src);
	s.done = true;
	say("source: DisConn");
	return true;
}

/* ---- the sink ---- */

static void snk_pop_buf(void)
{
	s.loans[s.bufs[0]].alive = false;
	memmove(s.bufs, s.bufs + 1, sizeof(s.bufs) - sizeof(s.bufs[0]));
	s.filled = 0;
}

static void snk_written(const struct item *item)
{
	u32 key = item->msg.ext.avail.rkey;
	u32 n = item->msg.ext.avail.len;

	CHECK(s.snk.out.n && key == s.bufs[0] && s.loans[key].alive);
	CHECK(item->msg.ext.avail.va == s.filled);
	CHECK(s.filled + n <= s.loans[key].len);
	CHECK(item->pos == s.got + s.filled);
	s.filled += n;
}

static void snk_hears(const struct item *item)
{
	bool lent = item->ends && s.loans[item->key].alive;
	u32 in = sdp_wire_payload(&item->msg);
	unsigned int had = s.snk.out.n;
	struct sdp_advert_told told;
	int drop;

	if (item->write) {
		snk_written(item);
		return;
	}
	say("  sink hears %02x mseq %u ack %u", item->msg.mid, item->msg.mseq,
	    item->msg.mseq_ack);
	sdp_snk_acked(&s.snk, item->msg.mseq_ack);
	drop = sdp_snk_heard(&s.snk, &item->msg, &told);
	CHECK(drop >= 0);
	if (told.news & SDP_ADVERT_DONE) {
		CHECK(had && told.done == 1);
		if (item->msg.mid == SDP_MID_RDMA_WR_COMPL) {
			CHECK(told.bytes == s.filled);
			s.got += told.bytes;
			s.unread = true;
		} else {
			CHECK(!s.filled);
		}
		snk_pop_buf();
		had--;
	}
	if (told.news & SDP_ADVERT_WITHDRAWN) {
		CHECK(had && !s.filled);
		while (had--)
			snk_pop_buf();
	}
	CHECK(!item->ends || (lent && !s.loans[item->key].alive));
	if (in) {
		CHECK(!drop && item->pos == s.got);
		s.got += in;
		s.unread = true;
	}
	if (item->msg.mid == SDP_MID_SRC_AVAIL && drop)
		say("  dropped");
	if (item->msg.mid == SDP_MID_DISCONN) {
		CHECK(s.got == s.total);
		s.fin = true;
	}
}

static bool snk_reads(void)
{
	const struct sdp_advert *advert = sdp_snk_may_read(&s.snk);
	u32 n;

	if (!advert || s.nreads == 64)
		return false;
	n = upto(advert->left);
	s.reads[s.nreads] = n;
	s.reads_at[s.nreads] = advert->va;
	s.reads_key[s.nreads++] = advert->rkey;
	say("sink: RDMA Read of %u at %llu", n, (unsigned long long)advert->va);
	sdp_snk_read_posted(&s.snk, n);
	return true;
}

/* Until then the device may look at what is lent. */
static bool snk_read(void)
{
	const struct loan *loan;

	if (!s.nreads)
		return false;
	loan = &s.loans[s.reads_key[0]];
	say("sink: RDMA Read of %u is done", s.reads[0]);
	CHECK(loan->alive);
	CHECK(s.reads_at[0] >= loan->from &&
	      s.reads_at[0] + s.reads[0] <= loan->to);
	CHECK(s.reads_at[0] == s.got);
	s.got += s.reads[0];
	s.moved[1] += s.reads[0];
	s.unread = true;
	sdp_snk_read_done(&s.snk, s.reads[0]);
	s.nreads--;
	memmove(s.reads, s.reads + 1, s.nreads * sizeof(s.reads[0]));
	memmove(s.reads_at, s.reads_at + 1, s.nreads * sizeof(s.reads_at[0]));
	memmove(s.reads_key, s.reads_key + 1, s.nreads * sizeof(s.reads_key[0]));
	return true;
}

static bool snk_tells_read(void)
{
	u32 n = sdp_snk_owes_compl(&s.snk);
	struct item *item;

	if (!n || !room(&s.up))
		return false;
	item = up(SDP_MID_RDMA_RD_COMPL);
	item->msg.ext.bytes = n;
	item->ends = sdp_snk_ends(&s.snk);
	item->key = item->ends ? sdp_snk_ends(&s.snk)->rkey : 0;
	sdp_snk_told_read(&s.snk);
	say("sink: RdmaRdCompl %u", n);
	return true;
}

static bool snk_refuses(void)
{
	struct item *item;

	if (!sdp_snk_may_refuse(&s.snk) || !room(&s.up))
		return false;
	item = up(SDP_MID_SEND_SM);
	sdp_snk_refused(&s.snk, item->msg.mseq);
	say("sink: SendSm mseq %u ack %u", item->msg.mseq, item->msg.mseq_ack);
	return true;
}

static bool snk_offers(void)
{
	struct item *item;
	u32 n;

	if (s.fin || !sdp_snk_may_offer(&s.snk, s.unread) || !room(&s.up))
		return false;
	n = upto(SLICE);
	item = up(SDP_MID_SINK_AVAIL);
	item->msg.ext.avail.len = n;
	item->msg.ext.avail.rkey = lend(~0ull, 0);
	s.loans[item->msg.ext.avail.rkey].len = n;
	item->msg.ext.avail.non_discards = s.snk.nr;
	s.bufs[s.snk.out.n] = item->msg.ext.avail.rkey;
	sdp_snk_offered(&s.snk, n);
	say("sink: SinkAvail %u of %u, NonDiscards %u",
	    item->msg.ext.avail.rkey, n, s.snk.nr);
	return true;
}

static bool snk_cancels(void)
{
	if (!sdp_snk_may_cancel(&s.snk) || !room(&s.up))
		return false;
	up(SDP_MID_SINK_AVAIL_CANCEL);
	sdp_snk_cancelled(&s.snk);
	say("sink: SinkAvailCancel");
	return true;
}

/* ---- by chance ---- */

static bool deliver(struct way *way, void (*hears)(const struct item *item))
{
	struct item item;

	if (!way->n)
		return false;
	item = take(way);
	hears(&item);
	return true;
}

static bool step(unsigned int what)
{
	bool tricks = !s.patient, gone = s.patient && s.leaves;

	switch (what) {
	case 0 ... 2:
		return deliver(&s.down, snk_hears);
	case 3 ... 5:
		return deliver(&s.up, src_hears);
	case 6:
		return src_copies();
	case 7:
		return !gone && src_offers();
	case 8:
		return src_writes();
	case 9:
		return src_tells_written();
	case 10:
		return src_acks_cancel();
	case 11:
		return src_ends();
	case 12:
		return !gone && snk_reads();
	case 13:
		return snk_read();
	case 14:
		return snk_tells_read();
	case 15:
		return snk_refuses();
	case 16:
		s.unread = false;
		return false;
	case 17:
		return tricks && snk_offers();
	case 18:
		return (gone || (tricks && one_in(4))) && src_cancels();
	case 19:
		return tricks && one_in(4) && snk_cancels();
	case 20:
		if (tricks && one_in(4))
			sdp_snk_refuse(&s.snk);
		return false;
	case 21:
		return s.next < s.total && src_changes(SDP_MODE_PIPELINED);
	case 22:
		return tricks && s.next < s.total && one_in(4) &&
		       src_changes(SDP_MODE_COMBINED);
	}
	return false;
}

static void converse(void)
{
	unsigned int steps = 0, idle = 0;

	rng = seed;
	memset(&s, 0, sizeof(s));
	sdp_src_init(&s.src, 1 + below(SDP_ADVERT_ADVERTS), SDP_ADVERT_ADVERTS);
	sdp_snk_init(&s.snk, SDP_ADVERT_ADVERTS);
	s.leaves = one_in(3);
	s.total = 1 + rnd() % 3000000;
	/* Wherever they begin, they wrap. */
	s.down.mseq = s.down.heard = rnd() | (one_in(2) ? 0xfffffff0 : 0);
	s.up.mseq = s.up.heard = rnd() | (one_in(2) ? 0xfffffff0 : 0);
	while (!s.fin || s.up.n) {
		/* In the end everybody does what is owed, and nothing else. */
		s.patient = steps > 400;
		idle = step(below(23)) ? 0 : idle + 1;
		CHECK(idle < 2000);
		CHECK(++steps < 200000);
	}
	CHECK(s.got == s.total && !s.down.n && !s.nreads);
	CHECK(!s.src.out.n && !s.snk.out.n && !s.snk.held.n);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 10000;
	u64 moved[3] = {};
	unsigned long i;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	verbose = argc > 3 && !strcmp(argv[3], "-v");
	for (i = 0; i < count; i++, seed++) {
		converse();
		moved[0] += s.moved[0];
		moved[1] += s.moved[1];
		moved[2] += s.moved[2];
	}
	printf("ok 1 - half: %lu conversations; MiB copied %llu, read %llu, written %llu\n",
	       count, (unsigned long long)moved[0] >> 20,
	       (unsigned long long)moved[1] >> 20,
	       (unsigned long long)moved[2] >> 20);
	return !(moved[0] && moved[1] && moved[2]);
}
