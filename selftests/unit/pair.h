/* SPDX-License-Identifier: GPL-2.0 */
/*
 * An end of a joined pair, and what the files about it have of each other:
 *
 *	pair.c		what happens next, and what must hold
 *	pair_end.c	an end, and what lies between the two
 *	pair_foreign.c	what a full implementation does otherwise
 */
#ifndef _PURE_PAIR_H
#define _PURE_PAIR_H

#include "../../kernel/proto/sdp_flow.h"
#include "../../kernel/proto/sdp_mode.h"
#include "../../kernel/proto/sdp_state.h"
#include "../../kernel/proto/sdp_wire.h"
#include "chance.h"

enum kind { OURS, ABORTED, FOREIGN, KINDS };

/* Chance. */

static inline u32 between(u32 min, u32 max)
{
	return min + below(max - min + 1);
}

static inline bool one_in(u32 n)
{
	return below(n) == 0;
}

static inline u32 at_most(u64 n, u32 max)
{
	return n < max ? n : max;
}

/* Failing, and telling: pair.c. */

extern enum kind conn_kind;

void __noreturn __printf(4, 5)
fail(const char *file, int line, const char *what, const char *format, ...);

#define CHECK(ok, ...)						\
do {								\
	if (!(ok))						\
		fail(__FILE__, __LINE__, #ok, " " __VA_ARGS__);	\
} while (0)

void __printf(1, 2) say(const char *format, ...);

/* What chance must have brought about, or the run has shown too little. */
enum seen {
	SEEN_COMBINED, SEEN_ALL_INLINE, SEEN_PIPELINED, SEEN_CANCEL,
	SEEN_CANCEL_CROSSED, SEEN_SENDSM, SEEN_SENDSM_STALE, SEEN_CROSSED_SENDSM,
	SEEN_TO_PIPELINED, SEEN_TO_COMBINED, SEEN_TO_COMBINED_DROPS,
	SEEN_TO_BUFFERED, SEEN_RCVBUF, SEEN_SUSP, SEEN_NOISE,
	SEEN_CLOSING, SEEN_HALF_CLOSED, SEEN_EARLY_SHUT, SEEN_DREQ_FIRST,
	SEEN_LAST_ACK_TIMER, SEEN_WRAP, SEEN_NO_CREDIT, SEENS
};

extern u64 seen[SEENS];

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

/* An end: pair_end.c. */

void fifo_init(struct fifo *fifo);
void fifo_drop(struct fifo *fifo);

bool is_over(const struct end *end);
void check_ring(const struct end *end);

void cm_send(struct end *to, enum sdp_event event);
void event(struct end *end, enum sdp_event what);

bool may_control(const struct end *end);
void post(struct end *end, struct sdp_wire_msg *msg, u64 from);
void post_plain(struct end *end, u8 mid);
void post_data(struct end *end, u32 bytes);
void push(struct end *end);

void poll_one(struct end *end);
void user_write(struct end *end);
void user_read(struct end *end);
void cm_deliver(struct end *end);
void complete_one(struct end *end);
void arrive_one(struct end *end);

/* What a full implementation does otherwise: pair_foreign.c. */

void foreign_push_control(struct end *end);
void foreign_push_stream(struct end *end);
void foreign_heard(struct end *end, const struct sdp_wire_msg *msg,
		   bool *deliver);
void foreign_whim(struct end *end);

#endif
