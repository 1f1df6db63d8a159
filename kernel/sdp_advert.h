/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The adverts of the two half-connections (protocol text, sections 4.2 to 4.6).
 *
 * A half has a source, whose stream flows, and a sink.  struct sdp_src is what
 * the source of a half keeps, struct sdp_snk what the sink of the other does;
 * docs/model/half.pml has the same two under the same names, and explores every
 * order in which their messages can cross.
 *
 * The functions come in two kinds.  Those named _may_ ask whether something may
 * be posted now.  The others say that something was posted, or has arrived, and
 * what follows.  Nothing here knows memory: who owns the pages behind an advert
 * keeps them in the same order, the oldest first, and is told how many are done.
 *
 * Bytes are of the stream; MSeq and MSeqAck are compared by serial number.
 *
 * Pure: KUnit and the user-space tests compile this file as it stands.
 */
#ifndef _SDP_ADVERT_H
#define _SDP_ADVERT_H

#include <linux/types.h>
#include "sdp_wire.h"

/* Adverts of one half that are kept track of, of each kind; 2^n. */
enum { SDP_ADVERT_ADVERTS = 8 };

/* Bytes read of an advert that are told while more of it is being read. */
enum { SDP_ADVERT_TELL = 256 * 1024 };

/* The numbers are those of the ModeChange header. */
enum sdp_mode_kind {
	SDP_MODE_BUFFERED	= 0,
	SDP_MODE_COMBINED	= 1,
	SDP_MODE_PIPELINED	= 2,
};

struct sdp_advert {
	u32	mseq;		/* of the SrcAvail */
	u32	left;		/* bytes that nobody has begun to move */
	u32	moving;		/* by an RDMA operation that is not completed */
	u32	moved;		/* and the other side is not told yet */
	u32	rkey;
	u64	va;		/* of the first byte of left */
};

struct sdp_adverts {
	u8	first;
	u8	n;
	struct sdp_advert at[SDP_ADVERT_ADVERTS];
};

struct sdp_src {
	u8	mode;		/* enum sdp_mode_kind */
	u8	max;		/* adverts that the peer lets us have out */
	u8	max_held;	/* and we let it have */
	bool	fin;		/* DisConn was posted */
	bool	ended;		/* SrcAvails were, by the sink, since the last */
	bool	cancel;		/* a SrcAvailCancel is not resolved */
	bool	owe_wr;		/* RdmaWrCompl for the oldest of held, then */
	bool	owe_ack;	/* SinkCancelAck, to be posted */
	u32	ns;		/* NonDiscards, as we count it */
	u32	since;		/* part of it: since mode_mseq */
	u32	mode_mseq;	/* of our ModeChange out of pipelined mode, */
	bool	mode_changed;	/* which the sink has not acknowledged yet */
	u32	wrote;		/* bytes written that RdmaWrCompl will tell */
	struct sdp_adverts out;	/* our SrcAvails: mseq and left count */
	struct sdp_adverts held; /* the peer's SinkAvails */
};

struct sdp_snk {
	u8	mode;
	u8	max;		/* adverts that we let the peer have out */
	bool	cancelled;	/* a SrcAvailCancel waits for the read */
	bool	owe_sm;		/* SendSm, to be posted */
	bool	sm_posted;	/* one is not acknowledged, */
	u32	sm_mseq;	/* the last as this */
	bool	cancel;		/* our SinkAvailCancel is not resolved */
	u32	cancel_mseq;	/* of the peer's, while cancelled */
	u32	nr;		/* NonDiscards */
	struct sdp_adverts held; /* the peer's SrcAvails */
	struct sdp_adverts out;	/* our SinkAvails: left counts */
};

/* What became of the adverts by a message: bits, and how many. */
enum sdp_advert_news {
	SDP_ADVERT_DONE		= 0x01,	/* the oldest so many are completed */
	SDP_ADVERT_WITHDRAWN	= 0x02,	/* all others are void: send or fill by copy */
};

struct sdp_advert_told {
	u8	news;		/* enum sdp_advert_news */
	u8	done;		/* adverts, the oldest first */
	u32	bytes;		/* moved by this message */
};

/* ------------------------------------------------------------------ source */

void sdp_src_init(struct sdp_src *src, u16 theirs, u8 ours);
bool sdp_src_may_copy(const struct sdp_src *src);
void sdp_src_copied(struct sdp_src *src);
bool sdp_src_may_offer(const struct sdp_src *src);
void sdp_src_offered(struct sdp_src *src, u32 mseq, u32 left, u32 inlined);
bool sdp_src_may_cancel(const struct sdp_src *src);
void sdp_src_cancelled(struct sdp_src *src);
bool sdp_src_may_change(const struct sdp_src *src, enum sdp_mode_kind to);
void sdp_src_changed(struct sdp_src *src, enum sdp_mode_kind to, u32 mseq);
const struct sdp_advert *sdp_src_may_write(const struct sdp_src *src);
void sdp_src_wrote(struct sdp_src *src, u32 bytes);
u32 sdp_src_owes_written(const struct sdp_src *src, u32 least, bool more);
void sdp_src_told_written(struct sdp_src *src);
const struct sdp_advert *sdp_src_ends(const struct sdp_src *src);
bool sdp_src_owes_cancel_ack(const struct sdp_src *src);
void sdp_src_told_dropped(struct sdp_src *src);
void sdp_src_fin(struct sdp_src *src);
void sdp_src_acked(struct sdp_src *src, u32 mseq_ack);
int sdp_src_heard(struct sdp_src *src, const struct sdp_wire_msg *msg,
		  struct sdp_advert_told *told);

/* -------------------------------------------------------------------- sink */

void sdp_snk_init(struct sdp_snk *snk, u8 max_adverts);
void sdp_snk_acked(struct sdp_snk *snk, u32 mseq_ack);
int sdp_snk_heard(struct sdp_snk *snk, const struct sdp_wire_msg *msg,
		  struct sdp_advert_told *told);
const struct sdp_advert *sdp_snk_may_read(const struct sdp_snk *snk);
u64 sdp_snk_unread(const struct sdp_snk *snk);
bool sdp_snk_is_behind(const struct sdp_snk *snk);
void sdp_snk_reads(struct sdp_snk *snk, u32 bytes);
void sdp_snk_read(struct sdp_snk *snk, u32 bytes);
u32 sdp_snk_owes_compl(const struct sdp_snk *snk);
const struct sdp_advert *sdp_snk_ends(const struct sdp_snk *snk);
void sdp_snk_told_read(struct sdp_snk *snk);
void sdp_snk_refuse(struct sdp_snk *snk);
bool sdp_snk_may_refuse(const struct sdp_snk *snk);
void sdp_snk_refused(struct sdp_snk *snk, u32 mseq);
u32 sdp_snk_ack(const struct sdp_snk *snk, u32 heard);
bool sdp_snk_may_offer(const struct sdp_snk *snk, bool unread);
void sdp_snk_offered(struct sdp_snk *snk, u32 bytes);
bool sdp_snk_may_cancel(const struct sdp_snk *snk);
void sdp_snk_cancelled(struct sdp_snk *snk);

#endif
