// SPDX-License-Identifier: GPL-2.0
/*
 * What may be advertised, and what becomes of what is advertised.
 *
 * Adverts can cross the messages that end them.  Three kinds of crossing make
 * the rules what they are.
 *
 * SendSm.  When it arrives it ends all SrcAvails that the source has
 * outstanding, also one that crossed it.  The sink must not read such a
 * SrcAvail, since its key may be invalid already.  The sink recognises it by
 * its MSeqAck, which does not cover the SendSm.
 *
 * SinkAvail.  A valid one ends all SrcAvails too, and its sink drops the
 * SrcAvails that arrive while it is outstanding.  Each side finds out by itself
 * whether a SinkAvail is valid.  A payload message makes the oldest SinkAvail
 * void.  NonDiscards, the number of payload messages that made none void, shows
 * which side is ahead (4.4).
 *
 * ModeChange out of pipelined mode.  It ends the SinkAvails that the sink has
 * outstanding.  A SinkAvail that crossed it is counted as of the ModeChange:
 * payload before that may have made it void, payload behind it has no effect on
 * it (4.2).  docs/model/half.pml shows what happens otherwise.
 */

#include <linux/errno.h>
#include <linux/types.h>

#include "sdp_advert.h"

static bool before(u32 a, u32 b)
{
	return (s32)(a - b) < 0;
}

/* ---- rings of adverts ---- */

static struct sdp_advert *nth(struct sdp_adverts *ring, unsigned int n)
{
	return &ring->at[(ring->first + n) % SDP_ADVERT_ADVERTS];
}

static const struct sdp_advert *peek(const struct sdp_adverts *ring,
				     unsigned int n)
{
	return &ring->at[(ring->first + n) % SDP_ADVERT_ADVERTS];
}

static const struct sdp_advert *oldest(const struct sdp_adverts *ring)
{
	return peek(ring, 0);
}

static struct sdp_advert *push(struct sdp_adverts *ring)
{
	struct sdp_advert *advert = nth(ring, ring->n++);

	*advert = (struct sdp_advert) {};
	return advert;
}

static void pop(struct sdp_adverts *ring)
{
	ring->first = (ring->first + 1) % SDP_ADVERT_ADVERTS;
	ring->n--;
}

static void clear(struct sdp_adverts *ring)
{
	ring->n = 0;
}

static u8 at_most(u16 adverts)
{
	return adverts < SDP_ADVERT_ADVERTS ? adverts : SDP_ADVERT_ADVERTS;
}

/* ---- source ---- */

/**
 * sdp_src_init() - start a half in combined mode without adverts
 * @src: what to initialise
 * @theirs: MaxAdverts of the peer's Hello or HelloAck, from 1
 * @ours: MaxAdverts of our Hello or HelloAck, 1 to SDP_ADVERT_ADVERTS
 *
 * Context: any; pure.
 */
void sdp_src_init(struct sdp_src *src, u16 theirs, u8 ours)
{
	*src = (struct sdp_src) {
		.mode = SDP_MODE_COMBINED,
		.max = at_most(theirs),
		.max_held = at_most(ours),
	};
}

/* Is an answer to a SinkAvailCancel due?  It goes first: the sink would misread
 * any advert or payload before it.
 */
static bool src_owes(const struct sdp_src *src)
{
	return src->owe_wr || src->owe_ack;
}

/**
 * sdp_src_may_copy() - whether Data with payload may be posted now
 * @src: the half
 *
 * Not while a SrcAvail is outstanding, whose bytes come first, nor while a
 * SinkAvail is partly written, whose RdmaWrCompl goes first.
 *
 * Context: the caller's lock; pure.
 * Return: true if it may.
 */
bool sdp_src_may_copy(const struct sdp_src *src)
{
	return !src->out.n && !src->cancel && !src->wrote && !src_owes(src);
}

/**
 * sdp_src_copied() - Data with payload was posted
 * @src: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_copied(struct sdp_src *src)
{
	if (src->held.n) {
		pop(&src->held);
		return;
	}
	src->ns++;
	src->since++;
}

/**
 * sdp_src_may_offer() - whether a SrcAvail may be posted now
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if it may.
 */
bool sdp_src_may_offer(const struct sdp_src *src)
{
	if (src->cancel || src->held.n || src_owes(src))
		return false;
	switch (src->mode) {
	case SDP_MODE_COMBINED:
		return !src->out.n;
	case SDP_MODE_PIPELINED:
		return src->out.n < src->max;
	}
	return false;
}

/**
 * sdp_src_offered() - a SrcAvail was posted
 * @src: the half; sdp_src_may_offer() was true
 * @mseq: its MSeq
 * @left: bytes that are not inline, from 1
 * @inlined: inline bytes; 0 in pipelined mode, from 1 in combined mode
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_offered(struct sdp_src *src, u32 mseq, u32 left, u32 inlined)
{
	struct sdp_advert *advert = push(&src->out);

	advert->mseq = mseq;
	advert->left = left;
	src->ended = false;
	if (inlined) {
		src->ns++;
		src->since++;
	}
}

/**
 * sdp_src_may_cancel() - whether a SrcAvailCancel may be posted now
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if a SrcAvail is outstanding and was not cancelled yet.
 */
bool sdp_src_may_cancel(const struct sdp_src *src)
{
	return src->out.n && !src->cancel;
}

/**
 * sdp_src_cancelled() - a SrcAvailCancel was posted
 * @src: the half
 *
 * The SrcAvails stay outstanding until the peer answers.
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_cancelled(struct sdp_src *src)
{
	src->cancel = true;
}

/**
 * sdp_src_may_change() - whether a ModeChange may be posted now (4.2)
 * @src: the half
 * @to: the new mode
 *
 * Context: the caller's lock; pure.
 * Return: true if the source may make this transition, and may make it now.
 */
bool sdp_src_may_change(const struct sdp_src *src, enum sdp_mode_kind to)
{
	if (src->cancel || src_owes(src))
		return false;
	switch (src->mode) {
	case SDP_MODE_COMBINED:
		return to == SDP_MODE_PIPELINED ||
		       (to == SDP_MODE_BUFFERED && !src->out.n);
	case SDP_MODE_PIPELINED:
		/* One at a time: else it is unknown what crossed which. */
		return to == SDP_MODE_COMBINED && !src->out.n &&
		       !src->held.n && !src->mode_changed;
	}
	return false;
}

/**
 * sdp_src_changed() - a ModeChange was posted
 * @src: the half
 * @to: the new mode
 * @mseq: its MSeq
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_changed(struct sdp_src *src, enum sdp_mode_kind to, u32 mseq)
{
	if (src->mode == SDP_MODE_PIPELINED) {
		src->mode_changed = true;
		src->mode_mseq = mseq;
		src->since = 0;
	}
	src->mode = to;
}

/**
 * sdp_src_may_write() - the SinkAvail that the next bytes may be written to
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: the oldest SinkAvail; NULL if there is none, it has no room, or an
 * answer to a SinkAvailCancel is due.
 */
const struct sdp_advert *sdp_src_may_write(const struct sdp_src *src)
{
	if (!src->held.n || src_owes(src) || !oldest(&src->held)->left)
		return NULL;
	return oldest(&src->held);
}

/**
 * sdp_src_wrote() - an RDMA Write into the oldest SinkAvail was posted
 * @src: the half
 * @bytes: its length; not more than the SinkAvail has room for
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_wrote(struct sdp_src *src, u32 bytes)
{
	struct sdp_advert *advert = nth(&src->held, 0);

	advert->left -= bytes;
	advert->va += bytes;
	src->wrote += bytes;
}

/**
 * sdp_src_owes_written() - whether a RdmaWrCompl is due
 * @src: the half
 * @least: bytes of room that a SinkAvail must have left to stay open
 * @more: more will be written right away if there is room
 *
 * Context: the caller's lock; pure.
 * Return: Len of the RdmaWrCompl in bytes, 0 if none is due.
 */
u32 sdp_src_owes_written(const struct sdp_src *src, u32 least, bool more)
{
	if (more && !src->owe_wr && src->wrote &&
	    oldest(&src->held)->left >= least)
		return 0;
	return src->wrote;
}

/**
 * sdp_src_told_written() - a RdmaWrCompl was posted
 * @src: the half; Len of the message was @src->wrote, not 0
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_told_written(struct sdp_src *src)
{
	src->wrote = 0;
	if (src->owe_wr)
		src->owe_wr = false;	/* a SinkAvailCancel has ended the advert */
	else
		pop(&src->held);
}

/**
 * sdp_src_ends() - the SinkAvail that the due RdmaWrCompl ends
 * @src: the half; sdp_src_owes_written() is not 0
 *
 * Context: the caller's lock; pure.
 * Return: the oldest SinkAvail; NULL if a SinkAvailCancel has removed it.
 */
const struct sdp_advert *sdp_src_ends(const struct sdp_src *src)
{
	return src->owe_wr ? NULL : oldest(&src->held);
}

/**
 * sdp_src_owes_cancel_ack() - whether a SinkCancelAck is to be posted now
 * @src: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if one is due, and no RdmaWrCompl goes before it.
 */
bool sdp_src_owes_cancel_ack(const struct sdp_src *src)
{
	return src->owe_ack && !src->owe_wr;
}

/**
 * sdp_src_told_dropped() - the SinkCancelAck was posted
 * @src: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_told_dropped(struct sdp_src *src)
{
	src->owe_ack = false;
}

/**
 * sdp_src_fin() - DisConn was posted: nothing of the stream follows
 * @src: the half; no SrcAvail is outstanding, and all writes were reported
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_fin(struct sdp_src *src)
{
	src->fin = true;
	clear(&src->held);
}

/* All outstanding SrcAvails end: their bytes go another way. */
static void src_withdraw(struct sdp_src *src, struct sdp_advert_told *told)
{
	src->cancel = false;
	if (!src->out.n)
		return;
	src->ended = true;
	clear(&src->out);
	told->news |= SDP_ADVERT_WITHDRAWN;
}

static int src_rd_compl(struct sdp_src *src, const struct sdp_wire_msg *msg,
			struct sdp_advert_told *told)
{
	struct sdp_advert *advert = nth(&src->out, 0);
	u32 bytes = msg->ext.bytes;

	if (!src->out.n)
		return src->ended ? 0 : -EPROTO;
	/* It belongs to an earlier SrcAvail, which is over. */
	if (before(msg->mseq_ack, advert->mseq))
		return 0;
	if (bytes > advert->left)
		return -EPROTO;
	advert->left -= bytes;
	told->bytes = bytes;
	if (advert->left)
		return 0;
	pop(&src->out);
	told->news |= SDP_ADVERT_DONE;
	told->done = 1;
	if (!src->out.n)
		src->cancel = false;
	return 0;
}

static void src_send_sm(struct sdp_src *src, const struct sdp_wire_msg *msg,
			struct sdp_advert_told *told)
{
	/* A SendSm that does not cover the oldest SrcAvail is stale (4.3). */
	if (src->out.n && !before(msg->mseq_ack, oldest(&src->out)->mseq))
		src_withdraw(src, told);
}

static int src_sink_avail(struct sdp_src *src, const struct sdp_wire_msg *msg,
			  struct sdp_advert_told *told)
{
	bool old = src->mode_changed;
	u32 ns = src->ns - (old ? src->since : 0);
	struct sdp_advert *advert;

	if (src->mode != SDP_MODE_PIPELINED && !old)
		return -EPROTO;
	/* No other may come before our answer to a SinkAvailCancel (4.6). */
	if (!msg->ext.avail.len || src->held.n >= src->max_held ||
	    src_owes(src) || before(ns, msg->ext.avail.non_discards))
		return -EPROTO;
	if (msg->ext.avail.non_discards != ns) {
		src->ns--;	/* payload of ours made it void */
		return 0;
	}
	/* It crossed our ModeChange or DisConn, which ends it at the sink. */
	if (old || src->fin)
		return 0;
	src_withdraw(src, told);
	advert = push(&src->held);
	advert->left = msg->ext.avail.len;
	advert->rkey = msg->ext.avail.rkey;
	advert->va = msg->ext.avail.va;
	return 0;
}

static void src_sink_cancel(struct sdp_src *src)
{
	if (!src->held.n)
		return;		/* the sink sees what became of them */
	src->owe_wr = src->wrote != 0;
	src->owe_ack = src->held.n > src->owe_wr;
	clear(&src->held);
}

/**
 * sdp_src_acked() - account the MSeqAck of a received message, of whatever kind
 * @src: the half
 * @mseq_ack: of the message; sdp_src_heard() is called after this
 *
 * Context: the caller's lock; pure.
 */
void sdp_src_acked(struct sdp_src *src, u32 mseq_ack)
{
	if (src->mode_changed && !before(mseq_ack, src->mode_mseq))
		src->mode_changed = false;
}

/**
 * sdp_src_heard() - account a message of the sink: RdmaRdCompl, SendSm,
 * SinkAvail, SinkAvailCancel, or a ModeChange with S set
 * @src: the half
 * @msg: the message
 * @told: filled in: what became of our SrcAvails
 *
 * Context: the caller's lock; pure.
 * Return: 0; -EPROTO if the message is not allowed now: @src is unchanged then.
 */
int sdp_src_heard(struct sdp_src *src, const struct sdp_wire_msg *msg,
		  struct sdp_advert_told *told)
{
	*told = (struct sdp_advert_told) {};
	switch (msg->mid) {
	case SDP_MID_RDMA_RD_COMPL:
		return src_rd_compl(src, msg, told);
	case SDP_MID_SEND_SM:
		src_send_sm(src, msg, told);
		return 0;
	case SDP_MID_SINK_AVAIL:
		return src_sink_avail(src, msg, told);
	case SDP_MID_SINK_AVAIL_CANCEL:
		src_sink_cancel(src);
		return 0;
	case SDP_MID_MODE_CHANGE:
		/* The sink may only change buffered to combined mode (4.2). */
		if (src->mode != SDP_MODE_BUFFERED ||
		    ((msg->ext.mode >> 4) & 0x7) != SDP_MODE_COMBINED)
			return -EPROTO;
		src->mode = SDP_MODE_COMBINED;
		return 0;
	}
	return -EPROTO;
}

/* ---- sink ---- */

/**
 * sdp_snk_init() - start a half in combined mode without adverts
 * @snk: what to initialise
 * @max_adverts: MaxAdverts of our Hello or HelloAck, 1 to SDP_ADVERT_ADVERTS
 *
 * Context: any; pure.
 */
void sdp_snk_init(struct sdp_snk *snk, u8 max_adverts)
{
	*snk = (struct sdp_snk) {
		.mode = SDP_MODE_COMBINED,
		.max = at_most(max_adverts),
	};
}

/* Is any SrcAvail being read, or was it read and not reported yet? */
static bool snk_reads(const struct sdp_snk *snk)
{
	unsigned int i;

	for (i = 0; i < snk->held.n; i++) {
		const struct sdp_advert *advert = peek(&snk->held, i);

		if (advert->moving || advert->moved)
			return true;
	}
	return false;
}

/* All SinkAvails of ours end, except those that are completed. */
static void snk_withdraw(struct sdp_snk *snk, struct sdp_advert_told *told)
{
	snk->cancel = false;
	if (!snk->out.n)
		return;
	clear(&snk->out);
	told->news |= SDP_ADVERT_WITHDRAWN;
}

static void snk_completed(struct sdp_snk *snk, u32 bytes,
			  struct sdp_advert_told *told)
{
	pop(&snk->out);
	told->news |= SDP_ADVERT_DONE;
	told->done = 1;
	told->bytes = bytes;
	if (!snk->out.n)
		snk->cancel = false;
}

static int snk_payload(struct sdp_snk *snk, struct sdp_advert_told *told)
{
	/* It would be delivered before older bytes (4.1). */
	if (snk->held.n)
		return -EPROTO;
	if (snk->out.n)
		snk_completed(snk, 0, told);
	else
		snk->nr++;
	return 0;
}

static int snk_src_avail(struct sdp_snk *snk, const struct sdp_wire_msg *msg)
{
	u32 inlined = sdp_wire_payload(msg);
	struct sdp_advert *advert;

	switch (snk->mode) {
	case SDP_MODE_COMBINED:
		if (!inlined || snk->held.n)
			return -EPROTO;
		snk->nr++;
		/* All bytes are inline: Data by another name (section 7). */
		if (inlined == msg->ext.avail.len)
			return 0;
		break;
	case SDP_MODE_PIPELINED:
		if (inlined || !msg->ext.avail.len || snk->cancelled ||
		    snk->held.n >= snk->max)
			return -EPROTO;
		/* A SinkAvail or SendSm of ours ends it at the source (4.5). */
		if (snk->out.n ||
		    (snk->sm_posted && before(msg->mseq_ack, snk->sm_mseq)))
			return 1;
		break;
	default:
		return -EPROTO;
	}
	advert = push(&snk->held);
	advert->mseq = msg->mseq;
	advert->left = msg->ext.avail.len - inlined;
	advert->rkey = msg->ext.avail.rkey;
	advert->va = msg->ext.avail.va + inlined;
	return 0;
}

static void snk_src_cancel(struct sdp_snk *snk, u32 mseq)
{
	if (!snk->held.n || snk->cancelled)
		return;		/* answered already, or will be */
	if (snk_reads(snk)) {
		snk->cancelled = true;
		snk->cancel_mseq = mseq;
	} else {
		snk->owe_sm = true;
	}
}

static int snk_mode_change(struct sdp_snk *snk, u8 to,
			   struct sdp_advert_told *told)
{
	switch (snk->mode) {
	case SDP_MODE_COMBINED:
		if (to != SDP_MODE_PIPELINED &&
		    (to != SDP_MODE_BUFFERED || snk->held.n))
			return -EPROTO;
		break;
	case SDP_MODE_PIPELINED:
		if (to != SDP_MODE_COMBINED || snk_reads(snk))
			return -EPROTO;
		/* The source advertises its bytes anew; our SinkAvails end. */
		clear(&snk->held);
		snk->owe_sm = false;
		snk_withdraw(snk, told);
		break;
	default:
		return -EPROTO;
	}
	snk->mode = to;
	return 0;
}

/**
 * sdp_snk_acked() - account the MSeqAck of a received message, of whatever kind
 * @snk: the half
 * @mseq_ack: of the message; sdp_snk_heard() is called after this
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_acked(struct sdp_snk *snk, u32 mseq_ack)
{
	if (snk->sm_posted && !before(mseq_ack, snk->sm_mseq))
		snk->sm_posted = false;
}

/**
 * sdp_snk_heard() - account a message of the source: Data, SrcAvail,
 * SrcAvailCancel, ModeChange, RdmaWrCompl, SinkCancelAck or DisConn
 * @snk: the half
 * @msg: the message
 * @told: filled in: what became of our SinkAvails.  Data may complete one with
 *	no bytes written: its payload is for the reader of that buffer
 *
 * Context: the caller's lock; pure.
 * Return: 0; 1 if the SrcAvail is to be dropped, since it crossed what ended
 * it; -EPROTO if the message is not allowed now: @snk is unchanged then.
 */
int sdp_snk_heard(struct sdp_snk *snk, const struct sdp_wire_msg *msg,
		  struct sdp_advert_told *told)
{
	*told = (struct sdp_advert_told) {};
	switch (msg->mid) {
	case SDP_MID_DATA:
		return sdp_wire_payload(msg) ? snk_payload(snk, told) : 0;
	case SDP_MID_SRC_AVAIL:
		return snk_src_avail(snk, msg);
	case SDP_MID_SRC_AVAIL_CANCEL:
		snk_src_cancel(snk, msg->mseq);
		return 0;
	case SDP_MID_MODE_CHANGE:
		return snk_mode_change(snk, (msg->ext.mode >> 4) & 0x7, told);
	case SDP_MID_RDMA_WR_COMPL:
		if (!snk->out.n || msg->ext.bytes > oldest(&snk->out)->left)
			return -EPROTO;
		snk_completed(snk, msg->ext.bytes, told);
		return 0;
	case SDP_MID_SINK_CANCEL_ACK:
		if (!snk->cancel)
			return -EPROTO;
		snk_withdraw(snk, told);
		return 0;
	case SDP_MID_DISCONN:
		/* The bytes of these SrcAvails would be missing. */
		if (snk->held.n)
			return -EPROTO;
		snk_withdraw(snk, told);
		return 0;
	}
	return -EPROTO;
}

/**
 * sdp_snk_may_read() - the SrcAvail that may be read next
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: the oldest SrcAvail that has bytes left; NULL if there is none, or if
 * they are refused or cancelled.
 */
const struct sdp_advert *sdp_snk_may_read(const struct sdp_snk *snk)
{
	unsigned int i;

	if (snk->cancelled || snk->owe_sm)
		return NULL;
	for (i = 0; i < snk->held.n; i++) {
		const struct sdp_advert *advert = peek(&snk->held, i);

		if (advert->left)
			return advert;
	}
	return NULL;
}

/**
 * sdp_snk_unread() - bytes that may be read
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: bytes of all SrcAvails for which no RDMA Read is posted; 0 if they
 * are refused or cancelled.
 */
u64 sdp_snk_unread(const struct sdp_snk *snk)
{
	unsigned int i;
	u64 bytes = 0;

	if (snk->cancelled || snk->owe_sm)
		return 0;
	for (i = 0; i < snk->held.n; i++)
		bytes += peek(&snk->held, i)->left;
	return bytes;
}

/**
 * sdp_snk_is_behind() - whether advertised bytes are not here yet
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if a SrcAvail has bytes whose RDMA Read is not completed.
 */
bool sdp_snk_is_behind(const struct sdp_snk *snk)
{
	unsigned int i;

	for (i = 0; i < snk->held.n; i++)
		if (peek(&snk->held, i)->left || peek(&snk->held, i)->moving)
			return true;
	return false;
}

/**
 * sdp_snk_read_posted() - an RDMA Read was posted
 * @snk: the half
 * @bytes: its length, from 1; not more than sdp_snk_may_read() has left
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_read_posted(struct sdp_snk *snk, u32 bytes)
{
	struct sdp_advert *advert;
	unsigned int i = 0;

	do
		advert = nth(&snk->held, i++);
	while (!advert->left);
	advert->left -= bytes;
	advert->va += bytes;
	advert->moving += bytes;
}

/**
 * sdp_snk_read_done() - the oldest RDMA Read has completed
 * @snk: the half
 * @bytes: as posted
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_read_done(struct sdp_snk *snk, u32 bytes)
{
	struct sdp_advert *advert;
	unsigned int i = 0;

	do
		advert = nth(&snk->held, i++);
	while (!advert->moving);
	advert->moving -= bytes;
	advert->moved += bytes;
}

/**
 * sdp_snk_owes_compl() - whether a RdmaRdCompl is due
 * @snk: the half
 *
 * It is due when no read of the oldest SrcAvail is in flight, or when
 * SDP_ADVERT_TELL bytes of it are read and not reported.
 *
 * Context: the caller's lock; pure.
 * Return: Len of the RdmaRdCompl in bytes, 0 if none is due.
 */
u32 sdp_snk_owes_compl(const struct sdp_snk *snk)
{
	const struct sdp_advert *advert = oldest(&snk->held);

	if (!snk->held.n || (advert->moving && advert->moved < SDP_ADVERT_TELL))
		return 0;
	return advert->moved;
}

/**
 * sdp_snk_ends() - the SrcAvail that the due RdmaRdCompl ends
 * @snk: the half; sdp_snk_owes_compl() is not 0
 *
 * Context: the caller's lock; pure.
 * Return: the oldest SrcAvail; NULL if not all of it is read.
 */
const struct sdp_advert *sdp_snk_ends(const struct sdp_snk *snk)
{
	const struct sdp_advert *advert = oldest(&snk->held);

	return advert->left || advert->moving ? NULL : advert;
}

/**
 * sdp_snk_told_read() - a RdmaRdCompl was posted
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_told_read(struct sdp_snk *snk)
{
	struct sdp_advert *advert = nth(&snk->held, 0);

	advert->moved = 0;
	if (!advert->left && !advert->moving)
		pop(&snk->held);
	if (snk->cancelled && !snk_reads(snk)) {
		snk->cancelled = false;
		snk->owe_sm = true;
	}
	/* Nothing is left that could be refused. */
	if (!snk->held.n)
		snk->owe_sm = false;
}

/**
 * sdp_snk_refuse() - have the SrcAvails come by copy: a SendSm is due
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_refuse(struct sdp_snk *snk)
{
	if (snk->held.n && !snk->cancelled)
		snk->owe_sm = true;
}

/**
 * sdp_snk_may_refuse() - whether a SendSm is due and may be posted now
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if it is due, and all reads are completed and reported.
 */
bool sdp_snk_may_refuse(const struct sdp_snk *snk)
{
	return snk->owe_sm && !snk_reads(snk);
}

/**
 * sdp_snk_refused() - the SendSm was posted
 * @snk: the half
 * @mseq: its MSeq
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_refused(struct sdp_snk *snk, u32 mseq)
{
	snk->owe_sm = false;
	snk->sm_posted = true;
	snk->sm_mseq = mseq;
	clear(&snk->held);
}

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
u32 sdp_snk_ack(const struct sdp_snk *snk, u32 heard)
{
	return snk->cancelled ? snk->cancel_mseq - 1 : heard;
}

/**
 * sdp_snk_may_offer() - whether a SinkAvail may be posted now
 * @snk: the half
 * @unread: whether bytes of the stream wait for the reader
 *
 * Context: the caller's lock; pure.
 * Return: true if it may; its NonDiscards is @snk->nr.
 */
bool sdp_snk_may_offer(const struct sdp_snk *snk, bool unread)
{
	return snk->mode == SDP_MODE_PIPELINED && !unread && !snk->held.n &&
	       !snk->cancel && !snk->owe_sm && snk->out.n < snk->max;
}

/**
 * sdp_snk_offered() - a SinkAvail was posted
 * @snk: the half
 * @bytes: length of the buffer
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_offered(struct sdp_snk *snk, u32 bytes)
{
	push(&snk->out)->left = bytes;
}

/**
 * sdp_snk_may_cancel() - whether a SinkAvailCancel may be posted now
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 * Return: true if a SinkAvail is outstanding and was not cancelled yet.
 */
bool sdp_snk_may_cancel(const struct sdp_snk *snk)
{
	return snk->out.n && !snk->cancel;
}

/**
 * sdp_snk_cancelled() - a SinkAvailCancel was posted
 * @snk: the half
 *
 * Context: the caller's lock; pure.
 */
void sdp_snk_cancelled(struct sdp_snk *snk)
{
	snk->cancel = true;
}
