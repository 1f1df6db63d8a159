// SPDX-License-Identifier: GPL-2.0
/*
 * The protocol text once more: what a hostile peer may say of adverts, and what
 * we may do with them.  book.h tells how it is kept.
 *
 * Where the text leaves a peer that breaks it a choice, or leaves one to us, the
 * book has what the code does, and says so: "lenient".
 */
#include <errno.h>

#include "fuzz.h"
#include "book.h"

/* ---- adverts ---- */

static struct book_advert *add(struct book_adverts *to, u64 at, u32 len)
{
	struct book_advert *advert;

	CHECK(to->n < SDP_ADVERT_ADVERTS);
	advert = &to->at[to->n++];
	*advert = (struct book_advert) { .at = at, .len = len };
	return advert;
}

static void drop_oldest(struct book_adverts *from)
{
	from->n--;
	memmove(from->at, from->at + 1, from->n * sizeof(from->at[0]));
}

/* Bytes that were moved, or are being moved, and that nobody was told of. */
static bool is_read(const struct book_snk *snk)
{
	u32 i;

	for (i = 0; i < snk->offers.n; i++)
		if (snk->offers.at[i].begun > snk->offers.at[i].told)
			return true;
	return false;
}

/* All that is out is older than a cancel that is not resolved (4.6). */
static bool is_cancelled(const struct book_adverts *out, u64 cancel)
{
	return out->n && out->at[0].at < cancel;
}

static bool owes_answer(const struct book_src *src)
{
	return src->cut || src->dropped;
}

/* Bytes that the peer's reader has and does not know of. */
static u32 written(const struct book_src *src)
{
	if (src->cut)
		return src->cut;
	return src->rooms.n ? src->rooms.at[0].begun : 0;
}

/* What was offered while they were out goes another way. */
static void end_offers(struct book_src *src)
{
	src->news.withdrawn = src->offers.n;
	src->forgives |= src->offers.n > 0;
	src->offers.n = 0;
}

u32 book_ns(const struct book_src *src, bool crossed)
{
	return (crossed ? src->payloads_left : src->payloads) - src->killed;
}

u32 book_nr(const struct book_snk *snk)
{
	return snk->payloads - snk->killed;
}

u64 book_ack(const struct book *book)
{
	return book->snk.cancel ? book->snk.cancel - 1 : book->heard;
}

/* ---- prohibitions ---- */

bool book_is_experimental(u8 mid)
{
	return mid >= 0x40 && mid <= 0x7f;
}

/* Section 4.2: what may follow what, by the MCH byte without its reserved bits. */
static bool change_is_legal(const struct book *book, u8 change)
{
	switch (change & 0xf0) {
	case 0x00:
		return book->snk.mode == SDP_MODE_COMBINED &&
		       !book->snk.offers.n;
	case 0x20:
		return book->snk.mode == SDP_MODE_COMBINED;
	case 0x10:
		return book->snk.mode == SDP_MODE_PIPELINED &&
		       !is_read(&book->snk);
	case 0x90:
		return book->src.mode == SDP_MODE_BUFFERED;
	}
	return false;
}

/* User data, inline or to be read: out of order, or for nobody? */
static int refuses_stream(const struct book_snk *snk)
{
	if (snk->fin)
		return -EPROTO;
	return snk->shut ? -ECONNABORTED : 0;
}

/* Sections 4.2, 4.3; 4.6 for one that comes while a cancel is answered. */
static bool refuses_offer(const struct book *book,
			  const struct sdp_wire_msg *msg)
{
	const struct book_snk *snk = &book->snk;
	u32 inlined = sdp_wire_payload(msg);

	if (snk->mode == SDP_MODE_COMBINED)
		return !inlined || snk->offers.n;
	/* Lenient: refused and cancelled alike, it may come before our SendSm. */
	return snk->mode == SDP_MODE_BUFFERED || inlined ||
	       !msg->ext.avail.len || snk->cancel ||
	       snk->offers.n >= book->ours;
}

/* Section 4.3. */
static bool refuses_read(const struct book_src *src, u32 bytes, u64 acked)
{
	const struct book_advert *oldest = src->offers.at;

	if (!src->offers.n)
		return !src->forgives;
	return acked >= oldest->at && bytes > oldest->len - oldest->told;
}

/* Section 4.4.  Lenient: any length will do. */
static bool refuses_room(const struct book *book,
			 const struct sdp_wire_msg *msg, u64 acked)
{
	const struct book_src *src = &book->src;
	bool crossed = acked < src->left;
	u32 ahead = msg->ext.avail.non_discards - book_ns(src, crossed);

	if (src->mode != SDP_MODE_PIPELINED && !crossed)
		return true;
	/* Lenient: those of the other half are not counted. */
	if (!msg->ext.avail.len || src->rooms.n >= book->ours)
		return true;
	/* It has asked back what it had out, and has no answer yet (4.6). */
	if (src->dropped || src->cut)
		return true;
	return ahead && ahead <= 1u << 31;
}

int book_refuses(const struct book *book, const struct sdp_wire_msg *msg,
		 u64 acked)
{
	const struct book_snk *snk = &book->snk;
	bool refused = false;
	int err;

	if (book_is_experimental(msg->mid))
		return 0;
	switch (msg->mid) {
	case SDP_MID_DATA:
		if (!sdp_wire_payload(msg))
			break;
		err = refuses_stream(snk);
		/* Bytes of the stream would be missing before it. */
		return err ? err : snk->offers.n ? -EPROTO : 0;
	case SDP_MID_SRC_AVAIL:
		err = refuses_stream(snk);
		return err ? err : refuses_offer(book, msg) ? -EPROTO : 0;
	case SDP_MID_MODE_CHANGE:
		refused = !change_is_legal(book, msg->ext.mode);
		break;
	case SDP_MID_DISCONN:
		refused = snk->fin || snk->offers.n;
		break;
	case SDP_MID_RDMA_WR_COMPL:
		refused = !snk->asks.n || msg->ext.bytes > snk->asks.at[0].len;
		break;
	case SDP_MID_SINK_CANCEL_ACK:
		refused = !is_cancelled(&snk->asks, snk->ask_cancel);
		break;
	case SDP_MID_RDMA_RD_COMPL:
		refused = refuses_read(&book->src, msg->ext.bytes, acked);
		break;
	case SDP_MID_SINK_AVAIL:
		refused = refuses_room(book, msg, acked);
		break;
	case SDP_MID_CH_RCV_BUF_ACK:
		refused = !book->asked_rcvbuf;
		break;
	case SDP_MID_SUSP_COMM_ACK:
		refused = true;		/* we never suspend */
		break;
	}
	return refused ? -EPROTO : 0;
}

/* ---- what a message means ---- */

/* Section 4.4: what a payload does to where it might have been written. */
static u32 payload_heard(struct book_snk *snk)
{
	snk->payloads++;
	if (!snk->asks.n)
		return 0;
	drop_oldest(&snk->asks);
	snk->killed++;
	snk->news = (struct book_news) { .completed = true };
	return SDP_HEARD_FILLED;
}

static u32 asks_void(struct book_snk *snk)
{
	if (!snk->asks.n)
		return 0;
	snk->asks.n = 0;
	snk->news = (struct book_news) { .withdrawn = true };
	return SDP_HEARD_FILLED;
}

static u32 offer_heard(struct book *book, const struct sdp_wire_msg *msg)
{
	struct book_snk *snk = &book->snk;
	u32 inlined = sdp_wire_payload(msg), means = 0;
	struct book_advert *offer;

	/* The source will see what has ended it (4.5). */
	if (!inlined && (snk->asks.n || book->acked < snk->refused)) {
		snk->crossed = snk->asks.n;
		return 0;
	}
	if (inlined) {
		snk->payloads++;
		means = SDP_HEARD_DELIVER;
	}
	if (inlined == msg->ext.avail.len)
		return means;
	offer = add(&snk->offers, book->heard, msg->ext.avail.len - inlined);
	offer->rkey = msg->ext.avail.rkey;
	offer->va = msg->ext.avail.va + inlined;
	return means | SDP_HEARD_ADVERT;
}

/* Section 4.6, the first table. */
static u32 offer_cancel_heard(struct book *book)
{
	struct book_snk *snk = &book->snk;

	/* Of several it is the first that is to be answered. */
	if (snk->offers.n && !snk->cancel) {
		if (is_read(snk))
			snk->cancel = book->heard;
		else
			snk->declined = true;
	}
	return snk->declined && !is_read(snk) ? SDP_HEARD_SENDSM : 0;
}

static u32 change_heard(struct book *book, u8 change)
{
	struct book_snk *snk = &book->snk;
	u32 means = 0;

	if (change & 0x80) {
		book->src.mode = SDP_MODE_COMBINED;
		return 0;
	}
	if (snk->mode == SDP_MODE_PIPELINED) {
		snk->offers.n = 0;
		snk->declined = false;
		means = asks_void(snk);
	}
	snk->mode = change >> 4;
	return means;
}

static void read_heard(struct book *book, u32 bytes)
{
	struct book_src *src = &book->src;
	struct book_advert *oldest = src->offers.at;

	/* Of an earlier one, which is over. */
	if (!src->offers.n || book->acked < oldest->at)
		return;
	src->news.bytes = bytes;
	oldest->told += bytes;
	if (oldest->told < oldest->len)
		return;
	drop_oldest(&src->offers);
	src->news.completed = true;
}

static void room_heard(struct book *book, const struct sdp_wire_msg *msg)
{
	struct book_src *src = &book->src;
	bool crossed = book->acked < src->left;
	struct book_advert *room;

	if (msg->ext.avail.non_discards != book_ns(src, crossed)) {
		src->killed++;
		return;
	}
	if (crossed || src->fin)
		return;
	end_offers(src);
	/* What only waits to be offered is to be written now. */
	src->news.withdrawn |= !src->rooms.n;
	room = add(&src->rooms, book->heard, msg->ext.avail.len);
	room->rkey = msg->ext.avail.rkey;
	room->va = msg->ext.avail.va;
}

/* Section 4.6, the second table. */
static void room_cancel_heard(struct book_src *src)
{
	if (!src->rooms.n)
		return;
	src->cut = src->rooms.at[0].begun;
	src->dropped = src->rooms.n > (src->cut ? 1 : 0);
	src->rooms.n = 0;
}

static u32 source_hears(struct book *book, const struct sdp_wire_msg *msg)
{
	struct book_src *src = &book->src;
	u32 means = 0;

	src->news = (struct book_news) {};
	switch (msg->mid) {
	case SDP_MID_RDMA_RD_COMPL:
		read_heard(book, msg->ext.bytes);
		break;
	case SDP_MID_SEND_SM:
		if (src->offers.n && book->acked >= src->offers.at[0].at)
			end_offers(src);
		break;
	case SDP_MID_SINK_AVAIL:
		room_heard(book, msg);
		break;
	case SDP_MID_SINK_AVAIL_CANCEL:
		room_cancel_heard(src);
		means = owes_answer(src) ? SDP_HEARD_OWES : 0;
		break;
	}
	if (src->news.completed || src->news.withdrawn || src->news.bytes)
		means |= SDP_HEARD_TOLD;
	return means;
}

static u32 means(struct book *book, const struct sdp_wire_msg *msg)
{
	struct book_snk *snk = &book->snk;

	switch (msg->mid) {
	case SDP_MID_DATA:
		if (!sdp_wire_payload(msg))
			return 0;
		return payload_heard(snk) | SDP_HEARD_DELIVER |
		       (msg->flags & 0x01 ? SDP_HEARD_OOB_PRES : 0);
	case SDP_MID_SRC_AVAIL:
		return offer_heard(book, msg);
	case SDP_MID_SRC_AVAIL_CANCEL:
		return offer_cancel_heard(book);
	case SDP_MID_RDMA_WR_COMPL:
		drop_oldest(&snk->asks);
		snk->news = (struct book_news) {
			.completed = true, .bytes = msg->ext.bytes,
		};
		return SDP_HEARD_FILLED;
	case SDP_MID_SINK_CANCEL_ACK:
		return asks_void(snk);
	case SDP_MID_MODE_CHANGE:
		if (msg->ext.mode & 0x80)
			source_hears(book, msg);
		return change_heard(book, msg->ext.mode);
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_SEND_SM:
	case SDP_MID_SINK_AVAIL:
	case SDP_MID_SINK_AVAIL_CANCEL:
		return source_hears(book, msg);
	case SDP_MID_DISCONN:
		snk->fin = true;
		return asks_void(snk) | SDP_HEARD_FIN;
	case SDP_MID_ABORT_CONN:
		return SDP_HEARD_RESET;
	case SDP_MID_CH_RCV_BUF:
		return SDP_HEARD_RCVBUF;
	case SDP_MID_CH_RCV_BUF_ACK:
		book->asked_rcvbuf = false;
		return SDP_HEARD_RCVBUF_ACK;
	case SDP_MID_SUSP_COMM:
		return SDP_HEARD_SUSP_ACK;
	}
	return 0;
}

u32 book_hears(struct book *book, const struct sdp_wire_msg *msg)
{
	if (book_is_experimental(msg->mid))
		return 0;
	book->req_pipe |= msg->flags & 0x04;
	return means(book, msg) | (msg->flags & 0x02 ? SDP_HEARD_OOB_PEND : 0);
}

/* ---- what we do ---- */

static struct book_advert *find(struct book_adverts *in, u64 at)
{
	u32 i;

	for (i = 0; i < in->n; i++)
		if (in->at[i].at == at)
			return &in->at[i];
	return NULL;
}

void book_reads(struct book *book, u64 at, u32 bytes)
{
	struct book_advert *offer = find(&book->snk.offers, at);

	CHECK(offer && bytes <= offer->len - offer->begun);
	offer->begun += bytes;
}

void book_read(struct book *book, u64 at, u32 bytes)
{
	struct book_advert *offer = find(&book->snk.offers, at);

	/* What is being read is never forgotten, whatever the peer says. */
	CHECK(offer && bytes <= offer->begun - offer->done);
	offer->done += bytes;
}

void book_told_read(struct book *book)
{
	struct book_snk *snk = &book->snk;
	struct book_advert *oldest = snk->offers.at;

	oldest->told = oldest->done;
	if (oldest->told == oldest->len)
		drop_oldest(&snk->offers);
	/* The rest of what was cancelled is refused. */
	if (snk->cancel && !is_read(snk)) {
		snk->cancel = 0;
		snk->declined = true;
	}
	if (!snk->offers.n)
		snk->declined = false;
}

void book_declines(struct book *book)
{
	/* A cancel leads to it by itself. */
	if (book->snk.offers.n && !book->snk.cancel)
		book->snk.declined = true;
}

void book_refused(struct book *book)
{
	book->snk.refused = book->sent;
	book->snk.declined = false;
	book->snk.offers.n = 0;
}

void book_asked(struct book *book, u32 bytes)
{
	add(&book->snk.asks, book->sent, bytes);
}

void book_ask_cancelled(struct book *book)
{
	book->snk.ask_cancel = book->sent;
}

void book_copied(struct book *book)
{
	book->src.payloads++;
	if (!book->src.rooms.n)
		return;
	book->src.killed++;
	drop_oldest(&book->src.rooms);
}

void book_offered(struct book *book, u32 left, u32 inlined)
{
	if (inlined)
		book->src.payloads++;
	add(&book->src.offers, book->sent, left);
	book->src.forgives = false;
}

void book_offer_cancelled(struct book *book)
{
	book->src.cancel = book->sent;
}

void book_changed(struct book *book, u8 to)
{
	if (book->src.mode == SDP_MODE_PIPELINED) {
		book->src.left = book->sent;
		book->src.payloads_left = book->src.payloads;
	}
	book->src.mode = to;
}

void book_wrote(struct book *book, u32 bytes)
{
	book->src.rooms.at[0].begun += bytes;
}

void book_told_written(struct book *book)
{
	if (book->src.cut)
		book->src.cut = 0;
	else
		drop_oldest(&book->src.rooms);
}

void book_told_dropped(struct book *book)
{
	book->src.dropped = false;
}

void book_fin(struct book *book)
{
	book->src.fin = true;
	book->src.rooms.n = 0;
}

/* ---- the code against the book ---- */

static void check_news(const struct sdp_advert_told *told,
		       const struct book_news *news)
{
	CHECK(told->news == (news->completed ? SDP_ADVERT_DONE : 0) +
			    (news->withdrawn ? SDP_ADVERT_WITHDRAWN : 0));
	CHECK(told->done == news->completed);
	CHECK(told->bytes == news->bytes);
}

/* Sections 4.2 and 4.3. */
static void check_offers(const struct book *book, const struct sdp_src *code)
{
	const struct book_src *src = &book->src;
	bool free = !src->offers.n, busy = owes_answer(src) ||
		    is_cancelled(&src->offers, src->cancel);

	CHECK(code->mode == src->mode);
	CHECK(code->out.n == src->offers.n);
	CHECK(sdp_src_may_copy(code) == (free && !busy && !written(src)));
	CHECK(sdp_src_may_cancel(code) ==
	      (!free && !is_cancelled(&src->offers, src->cancel)));
	CHECK(sdp_src_may_offer(code) ==
	      (!busy && !src->rooms.n &&
	       ((src->mode == SDP_MODE_COMBINED && free) ||
		(src->mode == SDP_MODE_PIPELINED &&
		 src->offers.n < book->theirs))));
	CHECK(sdp_src_may_change(code, SDP_MODE_PIPELINED) ==
	      (!busy && src->mode == SDP_MODE_COMBINED));
	CHECK(sdp_src_may_change(code, SDP_MODE_BUFFERED) ==
	      (!busy && src->mode == SDP_MODE_COMBINED && free));
	/* The peer has to know of the last time before the next. */
	CHECK(sdp_src_may_change(code, SDP_MODE_COMBINED) ==
	      (!busy && src->mode == SDP_MODE_PIPELINED && free &&
	       !src->rooms.n && book->acked >= src->left));
}

/* Section 4.4, and 4.6 for what is owed. */
static void check_rooms(const struct book *book, const struct sdp_src *code)
{
	const struct book_src *src = &book->src;
	const struct book_advert *room = src->rooms.n ? src->rooms.at : NULL;
	const struct sdp_advert *to = sdp_src_may_write(code);
	u32 left = room ? room->len - room->begun : 0;

	CHECK(code->held.n == src->rooms.n);
	CHECK(code->ns == book_ns(src, false));
	CHECK(!!to == (left && !owes_answer(src)));
	if (to)
		CHECK(to->left == left && to->rkey == room->rkey &&
		      to->va == room->va + room->begun);
	CHECK(sdp_src_owes_written(code, 1, false) == written(src));
	CHECK(sdp_src_owes_cancel_ack(code) == (src->dropped && !src->cut));
	if (!written(src))
		return;
	/* What is not asked back stays open as long as there is room. */
	CHECK(sdp_src_owes_written(code, left, true) == src->cut);
	CHECK(sdp_src_owes_written(code, left + 1, true) == written(src));
	if (src->cut)
		CHECK(!sdp_src_ends(code));
	else
		CHECK(sdp_src_ends(code) && sdp_src_ends(code)->rkey == room->rkey);
}

/* What may be read, and what is to be said of it (4.3). */
static void check_reads(const struct book *book, const struct sdp_snk *code)
{
	const struct book_snk *snk = &book->snk;
	const struct sdp_advert *from = sdp_snk_may_read(code);
	const struct book_advert *next = NULL, *oldest = snk->offers.at;
	bool stopped = snk->cancel || snk->declined, behind = false;
	u32 i, owed = 0;
	u64 unread = 0;

	for (i = snk->offers.n; i--;) {
		if (snk->offers.at[i].begun < snk->offers.at[i].len)
			next = &snk->offers.at[i];
		unread += snk->offers.at[i].len - snk->offers.at[i].begun;
		behind |= snk->offers.at[i].done < snk->offers.at[i].len;
	}
	CHECK(code->held.n == snk->offers.n);
	CHECK(!!from == (next && !stopped));
	if (from)
		CHECK(from->mseq == (u32)(book->rx_base + next->at) &&
		      from->left == next->len - next->begun &&
		      from->rkey == next->rkey &&
		      from->va == next->va + next->begun);
	CHECK(sdp_snk_unread(code) == (stopped ? 0 : unread));
	CHECK(sdp_snk_is_behind(code) == behind);
	if (snk->offers.n)
		owed = oldest->done - oldest->told;
	/* Small pieces are told together, large ones by and by. */
	if (owed < SDP_ADVERT_TELL && oldest->begun > oldest->done)
		owed = 0;
	CHECK(sdp_snk_owes_compl(code) == owed);
	if (owed && oldest->done == oldest->len)
		CHECK(sdp_snk_ends(code) &&
		      sdp_snk_ends(code)->mseq == (u32)(book->rx_base + oldest->at));
	else if (owed)
		CHECK(!sdp_snk_ends(code));
	CHECK(sdp_snk_may_refuse(code) == (snk->declined && !is_read(snk)));
	CHECK(sdp_snk_ack(code, book->rx_base + book->heard) ==
	      (u32)(book->rx_base + book_ack(book)));
}

/* Section 4.4. */
static void check_asks(const struct book *book, struct sdp_mode *mode)
{
	const struct book_snk *snk = &book->snk;
	const struct sdp_snk *code = &mode->snk;
	bool cancelled = is_cancelled(&snk->asks, snk->ask_cancel), may, one;

	/* Nothing of the stream is to come another way before. */
	may = snk->mode == SDP_MODE_PIPELINED && !snk->offers.n && !cancelled &&
	      snk->asks.n < book->ours;
	one = book->src.offers.n + snk->asks.n < book->theirs;
	CHECK(code->mode == snk->mode);
	CHECK(code->out.n == snk->asks.n);
	CHECK(code->nr == book_nr(snk));
	CHECK(sdp_snk_may_offer(code, false) == may);
	CHECK(!sdp_snk_may_offer(code, true));
	CHECK(sdp_snk_may_cancel(code) == (snk->asks.n && !cancelled));
	CHECK(sdp_mode_has_advert(mode) == one);
	CHECK(sdp_mode_may_ask(mode, false) ==
	      (may && one && !snk->asks.n && book->theirs > 1 && !snk->fin &&
	       !snk->shut));
	CHECK(!sdp_mode_may_ask(mode, true));
	CHECK(mode->sink_crossed == snk->crossed);
}

void book_check(const struct book *book, struct sdp_mode *mode)
{
	check_offers(book, &mode->src);
	check_rooms(book, &mode->src);
	check_news(&mode->told, &book->src.news);
	check_reads(book, &mode->snk);
	check_asks(book, mode);
	check_news(&mode->filled, &book->snk.news);
	CHECK(mode->peer_fin == book->snk.fin);
	CHECK(mode->asked_rcvbuf == book->asked_rcvbuf);
	CHECK(mode->req_pipe == book->req_pipe);
}
