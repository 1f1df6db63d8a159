/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The adverts of the two half-connections (protocol text, sections 4.2 to 4.6).
 *
 * A half has a source, whose stream flows, and a sink.  struct sdp_src is the
 * state of the source of one half, struct sdp_snk that of the sink of the
 * other.  docs/model/half.pml models a source and a sink, and explores every
 * order in which their messages can cross.
 *
 * Functions named _may_ or _owes_ tell whether something may, or has to, be
 * posted now.  Most others record that something was posted or received.
 *
 * This layer knows no memory.  The caller keeps the memory behind its adverts
 * in the same order, the oldest first, and is told how many are completed.
 *
 * Bytes are bytes of the stream; MSeq and MSeqAck are compared modulo 2^32.
 *
 * Pure: KUnit and the user-space tests compile this file as it stands.
 */
#ifndef _SDP_ADVERT_H
#define _SDP_ADVERT_H

#include <linux/types.h>
#include "sdp_wire.h"

/* Adverts of each kind that one half can keep track of; 2^n. */
enum { SDP_ADVERT_ADVERTS = 8 };

/* Bytes read of an advert that are reported while more of it is being read. */
enum { SDP_ADVERT_TELL = 256 * 1024 };

/* The numbers are those of the ModeChange header. */
enum sdp_mode_kind {
	SDP_MODE_BUFFERED	= 0,
	SDP_MODE_COMBINED	= 1,
	SDP_MODE_PIPELINED	= 2,
};

struct sdp_advert {
	u32	mseq;		/* MSeq of the SrcAvail */
	u32	left;		/* bytes not moved, as far as this side knows */
	u32	moving;		/* bytes in RDMA Reads that are not completed */
	u32	moved;		/* bytes read, not reported to the peer yet */
	u32	rkey;
	u64	va;		/* address of the first byte of left */
};

/* A ring, the oldest advert first. */
struct sdp_adverts {
	u8	first;
	u8	n;
	struct sdp_advert at[SDP_ADVERT_ADVERTS];
};

struct sdp_src {
	u8	mode;		/* enum sdp_mode_kind */
	u8	max;		/* MaxAdverts of the peer */
	u8	max_held;	/* SinkAvails that the peer may have outstanding */
	bool	fin;		/* DisConn was posted */
	bool	ended;		/* the sink ended SrcAvails, none was posted since */
	bool	cancel;		/* our SrcAvailCancel is not resolved */
	bool	owe_wr;		/* RdmaWrCompl due for a cancelled SinkAvail */
	bool	owe_ack;	/* SinkCancelAck is due, after RdmaWrCompl */
	u32	ns;		/* NonDiscards, as the source counts it (4.4) */
	u32	since;		/* part of ns counted after mode_mseq */
	u32	mode_mseq;	/* MSeq of our ModeChange out of pipelined mode */
	bool	mode_changed;	/* the sink has not acknowledged mode_mseq */
	u32	wrote;		/* bytes written, for the next RdmaWrCompl */
	struct sdp_adverts out;	/* our SrcAvails; uses mseq and left */
	struct sdp_adverts held; /* the peer's SinkAvails */
};

struct sdp_snk {
	u8	mode;		/* enum sdp_mode_kind */
	u8	max;		/* our MaxAdverts: most of held, and of out */
	bool	cancelled;	/* the peer's SrcAvailCancel waits for reads */
	bool	owe_sm;		/* SendSm is due */
	bool	sm_posted;	/* the peer has not acknowledged sm_mseq */
	u32	sm_mseq;	/* MSeq of our last SendSm */
	bool	cancel;		/* our SinkAvailCancel is not resolved */
	u32	cancel_mseq;	/* MSeq of the SrcAvailCancel, while cancelled */
	u32	nr;		/* NonDiscards, as the sink counts it (4.4) */
	struct sdp_adverts held; /* the peer's SrcAvails */
	struct sdp_adverts out;	/* our SinkAvails; uses left */
};

/* What a message did to our adverts; bits. */
enum sdp_advert_news {
	SDP_ADVERT_DONE		= 0x01,	/* the oldest are completed: told.done */
	SDP_ADVERT_WITHDRAWN	= 0x02,	/* all others have ended: their bytes go another way */
};

struct sdp_advert_told {
	u8	news;		/* enum sdp_advert_news */
	u8	done;		/* adverts completed, the oldest first */
	u32	bytes;		/* bytes that this message reports as moved */
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
void sdp_snk_read_posted(struct sdp_snk *snk, u32 bytes);
void sdp_snk_read_done(struct sdp_snk *snk, u32 bytes);
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
