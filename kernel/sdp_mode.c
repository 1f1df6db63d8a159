// SPDX-License-Identifier: GPL-2.0
/*
 * What an arriving message means.
 *
 * One switch over the message identifiers, and the rules that cut across it:
 * payload is never taken after the peer's DisConn, nor when our reader has
 * gone, nor when it would be out of order.  A message that is refused changes
 * nothing here.
 *
 * A SrcAvail stands for a stretch of the stream: its inline bytes come first,
 * the rest follows by copy when the source has our SendSm.  Nothing of the
 * stream may come between; taking it would lose no byte but put two in the
 * wrong order, which is worse.  So @avails counts what the source cannot have
 * heard our answer for:
 *
 *  - a SrcAvail adds one, the SendSm takes all of them back;
 *  - one SendSm ends every SrcAvail that its source has outstanding when it
 *    arrives there (4.3), also one that crossed it.  In pipelined mode such a
 *    one reaches us after the SendSm was posted, is counted, and is already
 *    void for the source, which shows by what it does next: it copies (Data),
 *    cancels, or goes back to combined mode.  Each of the three clears the
 *    count.  The second SendSm that we owe by then is harmless: the source has
 *    nothing outstanding, or a SrcAvail that is newer than its MSeqAck, or one
 *    that it answers rightly;
 *  - in combined mode there is only one SrcAvail at a time, nothing crosses,
 *    and whatever comes behind an unanswered one is an error.
 *
 * Our own half stays combined and has no adverts, so answers to adverts and
 * SinkAvails are errors, except where the text says that a late one is none.
 */

#include <linux/errno.h>
#include <linux/types.h>

#include "sdp_mode.h"

void sdp_mode_init(struct sdp_mode *mode, u8 max_adverts)
{
	*mode = (struct sdp_mode) {
		.send = SDP_MODE_COMBINED,
		.recv = SDP_MODE_COMBINED,
		.max_adverts = max_adverts,
	};
}

/* User data, inline or to be fetched: may it still come (4.1, 6.1)? */
static int may_payload(const struct sdp_mode *mode)
{
	if (mode->peer_fin)
		return -EPROTO;
	if (mode->shut_rd)
		return -ECONNABORTED;
	return 0;
}

static int heard_data(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	int err;

	/* An update is never refused, whoever has gone or finished (3.3). */
	if (!sdp_wire_payload(msg))
		return 0;
	err = may_payload(mode);
	if (err)
		return err;
	if (mode->avails) {
		if (mode->recv != SDP_MODE_PIPELINED)
			return -EPROTO;
		mode->avails = 0;
	}
	if (msg->flags & SDP_FLAG_OOB_PRES)
		return SDP_HEARD_DELIVER | SDP_HEARD_OOB_PRES;
	return SDP_HEARD_DELIVER;
}

static int heard_src_avail(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	u32 inlined = sdp_wire_payload(msg);
	int err;

	err = may_payload(mode);
	if (err)
		return err;

	switch (mode->recv) {
	case SDP_MODE_COMBINED:
		if (!inlined || mode->avails)
			return -EPROTO;
		/* Everything is here: Data by another name (section 7). */
		if (inlined == msg->ext.avail.len)
			return SDP_HEARD_DELIVER;
		break;
	case SDP_MODE_PIPELINED:
		if (inlined || mode->avails >= mode->max_adverts)
			return -EPROTO;
		break;
	default:
		return -EPROTO;
	}

	mode->avails++;
	mode->sendsm_owed = 1;
	return inlined ? SDP_HEARD_DELIVER | SDP_HEARD_SENDSM : SDP_HEARD_SENDSM;
}

static int heard_src_avail_cancel(struct sdp_mode *mode)
{
	/* The SendSm that is owed answers it, without one there is nothing
	 * left to cancel.  A source that had taken an earlier SendSm for the
	 * end may go on at once; only in pipelined mode can there be one.
	 */
	if (mode->recv == SDP_MODE_PIPELINED)
		mode->avails = 0;
	return 0;
}

/* The transitions of 4.2: who may send it, from what, to what (as bits). */
static const u8 sdp_mode_source_may[] = {
	[SDP_MODE_BUFFERED]	= 0,
	[SDP_MODE_COMBINED]	= 1 << SDP_MODE_BUFFERED | 1 << SDP_MODE_PIPELINED,
	[SDP_MODE_PIPELINED]	= 1 << SDP_MODE_COMBINED,
};

static const u8 sdp_mode_sink_may[] = {
	[SDP_MODE_BUFFERED]	= 1 << SDP_MODE_COMBINED,
	[SDP_MODE_COMBINED]	= 0,
	[SDP_MODE_PIPELINED]	= 0,
};

static int heard_mode_change(struct sdp_mode *mode, u8 change)
{
	u8 to = (change >> 4) & 0x7;

	/* From the sink of our send half. */
	if (change & 0x80) {
		if (!(sdp_mode_sink_may[mode->send] & 1 << to))
			return -EPROTO;
		mode->send = to;
		return 0;
	}

	if (!(sdp_mode_source_may[mode->recv] & 1 << to))
		return -EPROTO;
	if (to == SDP_MODE_BUFFERED && mode->avails)
		return -EPROTO;
	/* Out of pipelined mode the source takes its SrcAvails back itself. */
	if (to == SDP_MODE_COMBINED)
		mode->avails = 0;
	mode->recv = to;
	return 0;
}

static int heard_disconn(struct sdp_mode *mode)
{
	/* The rest of an unanswered SrcAvail would be missing from the stream. */
	if (mode->peer_fin || mode->avails)
		return -EPROTO;
	mode->peer_fin = true;
	return SDP_HEARD_FIN;
}

static int heard(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	switch (msg->mid) {
	case SDP_MID_DATA:
		return heard_data(mode, msg);
	case SDP_MID_SRC_AVAIL:
		return heard_src_avail(mode, msg);
	case SDP_MID_SRC_AVAIL_CANCEL:
		return heard_src_avail_cancel(mode);
	case SDP_MID_MODE_CHANGE:
		return heard_mode_change(mode, msg->ext.mode);
	case SDP_MID_DISCONN:
		return heard_disconn(mode);
	case SDP_MID_ABORT_CONN:
		return SDP_HEARD_RESET;
	case SDP_MID_CH_RCV_BUF:
		return SDP_HEARD_RCVBUF;
	case SDP_MID_CH_RCV_BUF_ACK:
		if (!mode->asked_rcvbuf)
			break;
		mode->asked_rcvbuf = false;
		return SDP_HEARD_RCVBUF_ACK;
	case SDP_MID_SUSP_COMM:
		return SDP_HEARD_SUSP_ACK;
	case SDP_MID_SEND_SM:
	case SDP_MID_SINK_AVAIL_CANCEL:
		/* Late or not, there is nothing of ours that they could end. */
		return 0;
	}
	/* Answers to what we never sent, SinkAvail outside pipelined mode, and
	 * what sdp_wire_get() does not let through.
	 */
	return -EPROTO;
}

int sdp_mode_heard(struct sdp_mode *mode, const struct sdp_wire_msg *msg)
{
	int verdict;

	/* Of a message that we do not know the flags mean nothing either. */
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

void sdp_mode_rcvbuf_posted(struct sdp_mode *mode)
{
	mode->asked_rcvbuf = true;
}

void sdp_mode_sendsm_posted(struct sdp_mode *mode)
{
	mode->sendsm_owed = 0;
	mode->avails = 0;
}

struct sdp_mode_slice sdp_mode_pick(size_t left, u32 payload_max, u32 tail_room)
{
	u32 room = tail_room ? tail_room : payload_max;

	return (struct sdp_mode_slice) {
		.bytes = left < room ? left : room,
		.coalesce = tail_room != 0,
	};
}

enum sdp_mode_hold sdp_mode_hold(u8 delay, bool small_out, u32 under_way)
{
	if (delay & SDP_DELAY_PUSH)
		return SDP_HOLD_NONE;
	if (delay & SDP_DELAY_CORK)
		return SDP_HOLD_CORK;
	if (delay & SDP_DELAY_NODELAY)
		return under_way < SDP_MODE_AUTOCORK ? SDP_HOLD_NONE :
						       SDP_HOLD_SENT;
	return small_out ? SDP_HOLD_SENT : SDP_HOLD_NONE;
}
