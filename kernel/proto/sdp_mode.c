// SPDX-License-Identifier: GPL-2.0
/*
 * The meaning of a received message.
 *
 * One switch over the message identifiers, and rules that hold for all of them:
 * payload is refused after the peer's DisConn, after our reader has gone, and
 * where it would be out of order.  A message that is refused changes nothing
 * here except by its MSeqAck.
 *
 * A SrcAvail stands for a range of the stream: its inline bytes come first, the
 * rest is read by RDMA, or follows by copy when the source has our SendSm.  No
 * other payload may come in between.  Accepting it would lose no byte, but
 * would deliver bytes in the wrong order, which is worse.  sdp_advert.c knows
 * which SrcAvails are valid.
 */

#include <linux/errno.h>
#include <linux/types.h>

#include "sdp_mode.h"

/**
 * sdp_mode_init() - start a connection with both halves in combined mode
 * @mode: what to initialise
 * @theirs: MaxAdverts of the peer's Hello or HelloAck, from 1
 * @ours: MaxAdverts of our Hello or HelloAck, 1 to SDP_ADVERT_ADVERTS
 *
 * Context: any; pure.
 */
void sdp_mode_init(struct sdp_mode *mode, u16 theirs, u8 ours)
{
	*mode = (struct sdp_mode) {};
	sdp_src_init(&mode->src, theirs, ours);
	sdp_snk_init(&mode->snk, ours);
}

/* May user data, inline or to be read by RDMA, still come (4.1, 6.1)? */
static int may_payload(const struct sdp_mode *mode)
{
	if (mode->peer_fin)
		return -EPROTO;
	if (mode->shut_rd)
		return -ECONNABORTED;
	return 0;
}

static int filled(struct sdp_mode *mode, const struct sdp_advert_told *told)
{
	if (!told->news)
		return 0;
	mode->filled = *told;
	return SDP_HEARD_FILLED;
}

static int heard_data(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	struct sdp_advert_told told;
	int err;

	/* A credit update is accepted in every state (3.3). */
	if (!sdp_wire_payload(msg))
		return 0;
	err = may_payload(mode);
	if (!err)
		err = sdp_snk_heard(&mode->snk, msg, &told);
	if (err)
		return err;
	/* Payload that completes our SinkAvail is delivered as any other. */
	if (msg->flags & SDP_FLAG_OOB_PRES)
		return filled(mode, &told) | SDP_HEARD_DELIVER |
		       SDP_HEARD_OOB_PRES;
	return filled(mode, &told) | SDP_HEARD_DELIVER;
}

static int heard_src_avail(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	u32 inlined = sdp_wire_payload(msg);
	struct sdp_advert_told told;
	int err;

	err = may_payload(mode);
	if (!err)
		err = sdp_snk_heard(&mode->snk, msg, &told);
	if (err < 0)
		return err;
	/* It crossed what ended it: drop it.  It has no inline bytes. */
	if (err) {
		mode->sink_crossed = mode->snk.out.n;
		return 0;
	}
	if (!mode->snk.held.n)
		return SDP_HEARD_DELIVER;	/* all of it is inline */
	return inlined ? SDP_HEARD_DELIVER | SDP_HEARD_ADVERT : SDP_HEARD_ADVERT;
}

static int heard_by_sink(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	struct sdp_advert_told told;
	int err = sdp_snk_heard(&mode->snk, msg, &told);

	return err ? err : filled(mode, &told);
}

static int heard_src_cancel(struct sdp_mode *mode,
			    const struct sdp_wire_msg *msg)
{
	int err = heard_by_sink(mode, msg);

	if (err < 0)
		return err;
	return sdp_snk_may_refuse(&mode->snk) ? SDP_HEARD_SENDSM : 0;
}

static int heard_by_source(struct sdp_mode *mode,
			   const struct sdp_wire_msg *msg)
{
	bool held = mode->src.held.n;
	struct sdp_advert_told told;
	int err;

	err = sdp_src_heard(&mode->src, msg, &told);
	if (err)
		return err;
	/* A SinkAvail came: SrcAvails not posted yet must not go either. */
	if (mode->src.held.n && !held)
		told.news |= SDP_ADVERT_WITHDRAWN;
	mode->told = told;
	return mode->told.news || mode->told.bytes ? SDP_HEARD_TOLD : 0;
}

static int heard_sink_cancel(struct sdp_mode *mode,
			     const struct sdp_wire_msg *msg)
{
	int err = heard_by_source(mode, msg);

	if (err < 0)
		return err;
	return mode->src.owe_wr || mode->src.owe_ack ? SDP_HEARD_OWES : 0;
}

static int heard_mode_change(struct sdp_mode *mode,
			     const struct sdp_wire_msg *msg)
{
	/* S is set: from the sink of our send half.  Else from the source of
	 * the other half.
	 */
	if (msg->ext.mode & 0x80)
		return heard_by_source(mode, msg);
	return heard_by_sink(mode, msg);
}

static int heard_disconn(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	struct sdp_advert_told told;
	int err;

	if (mode->peer_fin)
		return -EPROTO;
	err = sdp_snk_heard(&mode->snk, msg, &told);
	if (err)
		return err;
	mode->peer_fin = true;
	return filled(mode, &told) | SDP_HEARD_FIN;
}

static int heard(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	switch (msg->mid) {
	case SDP_MID_DATA:
		return heard_data(mode, msg);
	case SDP_MID_SRC_AVAIL:
		return heard_src_avail(mode, msg);
	case SDP_MID_MODE_CHANGE:
		return heard_mode_change(mode, msg);
	case SDP_MID_DISCONN:
		return heard_disconn(mode, msg);
	case SDP_MID_ABORT_CONN:
		return SDP_HEARD_RESET;
	case SDP_MID_CH_RCV_BUF:
		return SDP_HEARD_RCVBUF;
	case SDP_MID_CH_RCV_BUF_ACK:
		if (!mode->asked_rcvbuf)
			return -EPROTO;
		mode->asked_rcvbuf = false;
		return SDP_HEARD_RCVBUF_ACK;
	case SDP_MID_SUSP_COMM:
		return SDP_HEARD_SUSP_ACK;
	case SDP_MID_SRC_AVAIL_CANCEL:
		return heard_src_cancel(mode, msg);
	case SDP_MID_RDMA_WR_COMPL:
	case SDP_MID_SINK_CANCEL_ACK:
		return heard_by_sink(mode, msg);
	case SDP_MID_SEND_SM:
	case SDP_MID_RDMA_RD_COMPL:
	case SDP_MID_SINK_AVAIL:
		return heard_by_source(mode, msg);
	case SDP_MID_SINK_AVAIL_CANCEL:
		return heard_sink_cancel(mode, msg);
	}
	return -EPROTO;		/* SuspCommAck: we never send SuspComm (5.2) */
}

/**
 * sdp_mode_heard() - account a received message and say what to do
 * @mode: the connection's; updated
 * @msg: the message, accepted by sdp_wire_get()
 *
 * Context: the caller's lock; pure.
 * Return: bits of enum sdp_mode_verdict, 0 if there is nothing to do (a credit
 * update, a message that crossed ours); -EPROTO if the message is not allowed
 * in this mode; -ECONNABORTED for payload after our reader has gone (4.1).
 * Both errors end the connection.
 */
int sdp_mode_heard(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	int verdict;

	sdp_src_acked(&mode->src, msg->mseq_ack);
	sdp_snk_acked(&mode->snk, msg->mseq_ack);
	/* The flags of an experimental message are ignored. */
	if (msg->mid >= SDP_MID_EXPERIMENTAL_FIRST &&
	    msg->mid <= SDP_MID_EXPERIMENTAL_LAST)
		return 0;

	verdict = heard(mode, msg);
	if (verdict < 0)
		return verdict;
	if (msg->flags & SDP_FLAG_REQ_PIPE)
		mode->req_pipe = true;
	if (msg->flags & SDP_FLAG_OOB_PEND)
		verdict |= SDP_HEARD_OOB_PEND;
	return verdict;
}

/**
 * sdp_mode_can_ask() - whether a SinkAvail may be posted now
 * @mode: the connection's
 * @unread: whether bytes of the stream wait for the reader
 *
 * What held when the reader came may have changed by the time its buffer is
 * registered and there is a credit: a peer that has sent its DisConn answers no
 * SinkAvail.
 *
 * Context: the caller's lock; pure.
 * Return: true if it may.
 */
bool sdp_mode_can_ask(const struct sdp_mode *mode, bool unread)
{
	return !mode->peer_fin && !mode->shut_rd && sdp_mode_has_advert(mode) &&
	       sdp_snk_may_offer(&mode->snk, unread);
}

/**
 * sdp_mode_may_ask() - whether a waiting reader's buffer may be advertised
 * @mode: the connection's
 * @unread: whether bytes of the stream wait for the reader
 *
 * A peer that takes one advert at a time may not know SinkAvail (section 7).
 *
 * Context: the caller's lock; pure.
 * Return: true if a SinkAvail may be made.
 */
bool sdp_mode_may_ask(const struct sdp_mode *mode, bool unread)
{
	return mode->src.max > 1 && !mode->snk.out.n && sdp_mode_can_ask(mode, unread);
}

/**
 * sdp_mode_rcvbuf_posted() - a ChRcvBuf is being posted
 * @mode: the connection's; no other one is unanswered (5.1)
 *
 * Context: the caller's lock; pure.
 */
void sdp_mode_rcvbuf_posted(struct sdp_mode *mode)
{
	mode->asked_rcvbuf = true;
}

/**
 * sdp_mode_pick() - choose how the next slice of a send goes
 * @left: user bytes still to send, from 1
 * @payload_max: payload bytes of a full message to this peer
 * @tail_room: payload bytes still free in the last message not yet posted;
 *	0 if there is none
 *
 * It is always copied: behind the last message not yet posted if that has room.
 *
 * Context: any; pure.
 * Return: the slice.
 */
struct sdp_mode_slice sdp_mode_pick(size_t left, u32 payload_max, u32 tail_room)
{
	u32 room = tail_room ? tail_room : payload_max;

	return (struct sdp_mode_slice) {
		.bytes = left < room ? left : room,
		.coalesce = tail_room != 0,
	};
}
