/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The book of fuzz_conn: what the protocol text says of a connection, read a
 * second time and kept in other terms than the code has.
 *
 * Messages are counted from 0 in 64 bits and never wrap; MSeq is where it
 * begins and so many.  Credits are a signed balance.  An advert is a record
 * with the count of the message that it came with, and with what of it was
 * begun, done and told; so "before" is a comparison of counts, and a cancel is
 * pending as long as an advert is out that is older than it.  NonDiscards is a
 * difference: of all messages with payload, and of all SinkAvails that these
 * have made void.
 *
 * book_refuses() and book_hears() say what a message means, and change nothing
 * but the book; the functions behind them note what we do ourselves.  Nothing
 * here asks the code, except for book_check(), which holds it against the book.
 */
#ifndef _FUZZ_BOOK_H
#define _FUZZ_BOOK_H

#include "../../kernel/proto/sdp_mode.h"

struct book_advert {
	u64 at;			/* the message that it came with */
	u32 len;		/* bytes that go by RDMA */
	u32 begun, done, told;	/* of these: posted, completed, and said so */
	u32 rkey;
	u64 va;			/* where they begin */
};

/* The oldest first. */
struct book_adverts {
	struct book_advert at[SDP_ADVERT_ADVERTS];
	u32 n;
};

/* What a message has told of adverts of ours. */
struct book_news {
	bool completed, withdrawn;
	u32 bytes;
};

/* The half whose source we are. */
struct book_src {
	u8 mode;
	struct book_adverts offers;	/* our SrcAvails */
	struct book_adverts rooms;	/* the peer's SinkAvails */
	u64 cancel;			/* our newest SrcAvailCancel */
	u64 payloads, killed;		/* messages; SinkAvails void by them */
	u64 left;			/* our ModeChange out of pipelined mode, */
	u64 payloads_left;		/* and payloads when it was posted */
	bool forgives;			/* RdmaRdCompl for what was ended */
	u32 cut;			/* bytes in a room that was asked back, */
	bool dropped;			/* or rooms: not answered yet */
	bool fin;
	struct book_news news;		/* by the last message of the sink */
};

/* The half whose sink we are. */
struct book_snk {
	u8 mode;
	struct book_adverts offers;	/* the peer's SrcAvails */
	struct book_adverts asks;	/* our SinkAvails */
	u64 refused;			/* our newest SendSm */
	bool declined;			/* one is owed */
	u64 cancel;			/* SrcAvailCancel, while reads end */
	u64 ask_cancel;			/* our newest SinkAvailCancel */
	u64 payloads, killed;
	bool crossed;			/* a SinkAvail ended the last one */
	bool fin, shut;			/* DisConn heard; reader has gone */
	struct book_news news;		/* the last there was */
};

struct book {
	/* Messages since the beginning. */
	u32 tx_base, rx_base;
	u64 sent, acked, heard;
	u64 ack_said;			/* in our newest header */
	s64 peer_bufs;			/* of its newest header */
	s64 posted, told, told_heard;	/* ours; as our newest header said */
	bool news;			/* not an update heard since */

	u32 ours, theirs;		/* MaxAdverts */
	struct book_src src;
	struct book_snk snk;
	bool asked_rcvbuf;
	bool req_pipe;			/* it said so in any message */

	/* The whole connection. */
	bool was_up, user_closed, fin_told;
	bool disconn, disconn_out, disconn_done;
	u32 dreqs, resets, eofs, frees, dreps;
};

/* Sections 4.1 to 4.6 and 6.1, as prohibitions: 0 if none of them applies.
 * @acked: of our messages, by this one's MSeqAck
 */
int book_refuses(const struct book *book, const struct sdp_wire_msg *msg,
		 u64 acked);

/* One that is not refused: what is to be done, as enum sdp_mode_verdict. */
u32 book_hears(struct book *book, const struct sdp_wire_msg *msg);

bool book_is_experimental(u8 mid);

/* Newest MSeqAck that we may say, as a count (3.4). */
u64 book_ack(const struct book *book);

/* NonDiscards of the two halves; @crossed: as of our ModeChange (4.4). */
u32 book_ns(const struct book_src *src, bool crossed);
u32 book_nr(const struct book_snk *snk);

/* What we did, right after its message was counted as sent, if there is one. */
void book_reads(struct book *book, u64 at, u32 bytes);
void book_read(struct book *book, u64 at, u32 bytes);
void book_told_read(struct book *book);
void book_declines(struct book *book);
void book_refused(struct book *book);
void book_asked(struct book *book, u32 bytes);
void book_ask_cancelled(struct book *book);
void book_copied(struct book *book);
void book_offered(struct book *book, u32 left, u32 inlined);
void book_offer_cancelled(struct book *book);
void book_changed(struct book *book, u8 to);
void book_wrote(struct book *book, u32 bytes);
void book_told_written(struct book *book);
void book_told_dropped(struct book *book);
void book_fin(struct book *book);

/* Does the code say the same of all that may be done now, and of what is out? */
void book_check(const struct book *book, struct sdp_mode *mode);

#endif
