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

/**
 * sdp_src_init() - a half begins: combined, nothing offered
 * @src: what to initialise
 * @theirs: MaxAdverts of the peer's Hello or HelloAck, from 1
 * @ours: of ours, 1 to SDP_ADVERT_ADVERTS
 *
 * Context: any; pure.
 */
void sdp_src_init(struct sdp_src *src, u16 theirs, u8 ours);

/**
 * sdp_src_may_copy() - may Data with payload be posted now?
 * @src: the half
 *
 * Not behind a SrcAvail, whose bytes come before, nor into a SinkAvail that is
 * partly written: its RdmaWrCompl goes first.
 *
 * Context: the caller's lock; pure.
 * Return: true if it may.
 */
bool sdp_src_may_copy(const struct sdp_src *src);

/**
 * sdp_src_copied() - Data with payload was posted
 * @src: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_copied(struct sdp_src *src);

/**
 * sdp_src_may_offer() - may a SrcAvail be posted now?
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if it may.
 */
bool sdp_src_may_offer(const struct sdp_src *src);

/**
 * sdp_src_offered() - a SrcAvail was posted
 * @src: the half; sdp_src_may_offer() was true
 * @mseq: its MSeq
 * @left: bytes that are not inline, from 1
 * @inlined: bytes that are; 0 in pipelined mode and in no other
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_offered(struct sdp_src *src, u32 mseq, u32 left, u32 inlined);

/**
 * sdp_src_may_cancel() - is there something that a SrcAvailCancel would end?
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if there is, and none was posted yet.
 */
bool sdp_src_may_cancel(const struct sdp_src *src);

/**
 * sdp_src_cancelled() - a SrcAvailCancel was posted
 * @src: the half
 *
 * What was offered stays with the peer until it says so.
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_cancelled(struct sdp_src *src);

/**
 * sdp_src_may_change() - may this ModeChange be posted now? (4.2)
 * @src: the half
 * @to: the mode
 *
 * Context: the caller's lock; pure.
 * Return: true if the transition is the source's, and in its time.
 */
bool sdp_src_may_change(const struct sdp_src *src, enum sdp_mode_kind to);

/**
 * sdp_src_changed() - a ModeChange was posted
 * @src: the half
 * @to: the mode
 * @mseq: its MSeq
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_changed(struct sdp_src *src, enum sdp_mode_kind to, u32 mseq);

/**
 * sdp_src_may_write() - where the next bytes of the stream may be written
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: the oldest SinkAvail with room, or NULL.
 */
const struct sdp_advert *sdp_src_may_write(const struct sdp_src *src);

/**
 * sdp_src_wrote() - an RDMA Write into it was posted
 * @src: the half
 * @bytes: how long; not more than it has room for
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_wrote(struct sdp_src *src, u32 bytes);

/**
 * sdp_src_owes_written() - is a RdmaWrCompl to be posted?
 * @src: the half
 * @least: bytes of room for which a SinkAvail stays open: payload of a full
 *	message
 * @more: more will be written right away if there is room
 *
 * Context: the caller's lock; pure.
 * Return: its Len in bytes, 0 if none is.
 */
u32 sdp_src_owes_written(const struct sdp_src *src, u32 least, bool more);

/**
 * sdp_src_told_written() - its RdmaWrCompl was posted
 * @src: the half; its Len was @src->wrote, not 0
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_told_written(struct sdp_src *src);

/**
 * sdp_src_ends() - which SinkAvail does the RdmaWrCompl end that is due?
 * @src: the half; sdp_src_owes_written() is not 0
 *
 * Context: the caller's lock; pure.
 * Return: the oldest; NULL if a SinkAvailCancel has taken it.
 */
const struct sdp_advert *sdp_src_ends(const struct sdp_src *src);

/**
 * sdp_src_owes_cancel_ack() - is a SinkCancelAck to be posted?
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if one is, and no RdmaWrCompl goes before it.
 */
bool sdp_src_owes_cancel_ack(const struct sdp_src *src);

/**
 * sdp_src_told_dropped() - it was posted
 * @src: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_told_dropped(struct sdp_src *src);

/**
 * sdp_src_fin() - DisConn was posted: nothing of ours comes any more
 * @src: the half; nothing is offered, nothing written and not told
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_fin(struct sdp_src *src);

/**
 * sdp_src_acked() - a message of the peer, whichever, has this MSeqAck
 * @src: the half
 * @mseq_ack: from the message, before it is heard
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_acked(struct sdp_src *src, u32 mseq_ack);

/**
 * sdp_src_heard() - a message of the sink: RdmaRdCompl, SendSm, SinkAvail,
 * SinkAvailCancel, or a ModeChange with S set
 * @src: the half
 * @msg: the message
 * @told: filled in: what became of our SrcAvails
 *
 * Context: the caller's lock; pure.
 * Return: 0, or -EPROTO if it is not allowed now; nothing is changed then.
 */
int sdp_src_heard(struct sdp_src *src, const struct sdp_wire_msg *msg,
		  struct sdp_advert_told *told);

/* -------------------------------------------------------------------- sink */

/**
 * sdp_snk_init() - a half begins: combined, nothing offered
 * @snk: what to initialise
 * @max_adverts: MaxAdverts of our Hello or HelloAck, 1 to SDP_ADVERT_ADVERTS
 *
 * Context: any; pure.
 */
void sdp_snk_init(struct sdp_snk *snk, u8 max_adverts);

/**
 * sdp_snk_acked() - a message of the peer, whichever, has this MSeqAck
 * @snk: the half
 * @mseq_ack: from the message, before it is heard
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_acked(struct sdp_snk *snk, u32 mseq_ack);

/**
 * sdp_snk_heard() - a message of the source: Data, SrcAvail, SrcAvailCancel,
 * ModeChange, RdmaWrCompl, SinkCancelAck or DisConn
 * @snk: the half
 * @msg: the message
 * @told: filled in: what became of our SinkAvails.  After Data it may be one
 *	that is completed with no bytes written: the payload is for its buffer
 *
 * Context: the caller's lock; pure.
 * Return: 0; 1 if its payload, or the advert that it brings, is to be dropped
 * (it crossed what ended it); -EPROTO if it is not allowed now, and nothing is
 * changed then.
 */
int sdp_snk_heard(struct sdp_snk *snk, const struct sdp_wire_msg *msg,
		  struct sdp_advert_told *told);

/**
 * sdp_snk_may_read() - what may be read next
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: the oldest SrcAvail that has bytes left, or NULL: there is none, or
 * they are refused or cancelled.
 */
const struct sdp_advert *sdp_snk_may_read(const struct sdp_snk *snk);

/**
 * sdp_snk_unread() - how much may be read
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: bytes of all SrcAvails that nobody has begun to read; 0 if they are
 * refused or cancelled.
 */
u64 sdp_snk_unread(const struct sdp_snk *snk);

/**
 * sdp_snk_is_behind() - is there anything of the stream that has not come?
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if a SrcAvail has bytes that are not read yet.
 */
bool sdp_snk_is_behind(const struct sdp_snk *snk);

/**
 * sdp_snk_reads() - an RDMA Read of it was posted
 * @snk: the half
 * @bytes: how long, from 1; not more than it has left
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_reads(struct sdp_snk *snk, u32 bytes);

/**
 * sdp_snk_read() - the oldest RDMA Read is completed
 * @snk: the half
 * @bytes: as posted
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_read(struct sdp_snk *snk, u32 bytes);

/**
 * sdp_snk_owes_compl() - is a RdmaRdCompl to be posted?
 * @snk: the half
 *
 * One for all that is being read of an advert at a time, or SDP_ADVERT_TELL.
 *
 * Context: the caller's lock; pure.
 * Return: its Len in bytes, 0 if none is.
 */
u32 sdp_snk_owes_compl(const struct sdp_snk *snk);

/**
 * sdp_snk_ends() - which SrcAvail does the RdmaRdCompl end that is due?
 * @snk: the half; sdp_snk_owes_compl() is not 0
 *
 * Context: the caller's lock; pure.
 * Return: the oldest, if all of it is read; or else NULL.
 */
const struct sdp_advert *sdp_snk_ends(const struct sdp_snk *snk);

/**
 * sdp_snk_told_read() - it was posted
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_told_read(struct sdp_snk *snk);

/**
 * sdp_snk_refuse() - the SrcAvails shall come by copy: SendSm is owed
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_refuse(struct sdp_snk *snk);

/**
 * sdp_snk_may_refuse() - may the SendSm that is owed be posted now?
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if it is owed, and nothing is being read or not told.
 */
bool sdp_snk_may_refuse(const struct sdp_snk *snk);

/**
 * sdp_snk_refused() - the SendSm was posted
 * @snk: the half
 * @mseq: its MSeq
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_refused(struct sdp_snk *snk, u32 mseq);

/**
 * sdp_snk_ack() - the MSeqAck that our messages may carry
 * @snk: the half
 * @heard: MSeq of the last message that arrived
 *
 * It does not cover a SrcAvailCancel that is not answered yet (3.4).
 *
 * Context: the caller's lock; pure.
 * Return: MSeqAck.
 */
u32 sdp_snk_ack(const struct sdp_snk *snk, u32 heard);

/**
 * sdp_snk_may_offer() - may a SinkAvail be posted now?
 * @snk: the half
 * @unread: whether bytes of the stream wait for the reader
 *
 * Context: the caller's lock; pure.
 * Return: true if it may; its NonDiscards is @snk->nr.
 */
bool sdp_snk_may_offer(const struct sdp_snk *snk, bool unread);

/**
 * sdp_snk_offered() - a SinkAvail was posted
 * @snk: the half
 * @bytes: how long the buffer is
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_offered(struct sdp_snk *snk, u32 bytes);

/**
 * sdp_snk_may_cancel() - is there something that a SinkAvailCancel would end?
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if there is, and none was posted yet.
 */
bool sdp_snk_may_cancel(const struct sdp_snk *snk);

/**
 * sdp_snk_cancelled() - a SinkAvailCancel was posted
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_cancelled(struct sdp_snk *snk);

#endif
