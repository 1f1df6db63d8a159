// SPDX-License-Identifier: GPL-2.0
/*
 * What a full implementation by the text does otherwise than ours.
 *
 * It advertises (combined, pipelined, all inline), cancels, changes modes, asks
 * for buffers and suspension, and says what we are to ignore.  Chance tells it
 * what to want, and it does so once it may.  Its adverts are never read: ours
 * asks for copies, and what was not inline goes out again.
 *
 * Its buffers, its closing and its credits are as in pair_end.c, but for updates:
 * it sends them as often as the text allows.
 */
#include "pair.h"

/* The foreign source: what 4.2 to 4.6 let it do. */

static void foreign_post_avail(struct end *end, u32 len, u32 inlined)
{
	struct foreign *foreign = &end->foreign;
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_SRC_AVAIL, .len = SDP_LEN_BSDH + 16 + inlined,
		.ext.avail = { .len = len, .rkey = 0x12345678, .va = end->tx_pos },
	};

	post(end, &msg, end->tx_pos);
	if (inlined != len) {
		foreign->adverts[foreign->count++] = (struct advert) {
			.mseq = msg.mseq, .start = end->tx_pos,
			.len = len, .inlined = inlined,
		};
	}
	end->tx_pos += len;
	seen[inlined == len ? SEEN_ALL_INLINE :
	     inlined ? SEEN_COMBINED : SEEN_PIPELINED]++;
}

/* All are void: the stream goes on behind what was inline. */
static void foreign_take_back(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	if (!foreign->count)
		return;
	end->tx_pos = foreign->adverts[0].start + foreign->adverts[0].inlined;
	foreign->count = 0;
}

static void foreign_push_mode(struct end *end)
{
	struct foreign *foreign = &end->foreign;
	struct sdp_wire_msg msg = {
		.mid = SDP_MID_MODE_CHANGE, .len = SDP_LEN_BSDH + 4,
	};

	if (foreign->want_mode < 0 || foreign->cancel_pending || end->fin_posted)
		return;
	switch (foreign->mode) {
	case SDP_MODE_COMBINED:
		if (foreign->want_mode == SDP_MODE_PIPELINED)
			break;
		if (foreign->want_mode == SDP_MODE_BUFFERED && !foreign->count)
			break;
		return;
	case SDP_MODE_PIPELINED:
		if (foreign->want_mode != SDP_MODE_COMBINED)
			return;
		/* Outstanding ones are dropped and must be issued again. */
		seen[SEEN_TO_COMBINED_DROPS] += foreign->count > 0;
		foreign_take_back(end);
		break;
	case SDP_MODE_BUFFERED:
		return;
	}
	foreign->mode = foreign->want_mode;
	seen[foreign->mode == SDP_MODE_PIPELINED ? SEEN_TO_PIPELINED :
	     foreign->mode == SDP_MODE_COMBINED ? SEEN_TO_COMBINED :
						  SEEN_TO_BUFFERED]++;
	foreign->want_mode = -1;
	msg.ext.mode = foreign->mode << 4;
	post(end, &msg, 0);
}

void foreign_push_control(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	if (foreign->want_cancel && foreign->count && !foreign->cancel_pending &&
	    may_control(end)) {
		post_plain(end, SDP_MID_SRC_AVAIL_CANCEL);
		foreign->cancel_pending = true;
		foreign->cancel_mseq = end->flow.tx_mseq;
		seen[SEEN_CANCEL]++;
	}
	foreign->want_cancel = false;
	if (may_control(end))
		foreign_push_mode(end);
	if (foreign->want_rcvbuf && !foreign->rcvbuf_asked && may_control(end)) {
		post_plain(end, SDP_MID_CH_RCV_BUF);
		foreign->want_rcvbuf = false;
		foreign->rcvbuf_asked = true;
	}
	if (foreign->want_susp && !foreign->susp_asked && may_control(end)) {
		post_plain(end, SDP_MID_SUSP_COMM);
		foreign->want_susp = false;
		foreign->susp_asked = true;
	}
	if (foreign->want_noise && may_control(end)) {
		static const u8 noise[] = {
			SDP_MID_EXPERIMENTAL_FIRST, SDP_MID_SEND_SM,
			SDP_MID_SINK_AVAIL_CANCEL, SDP_MID_EXPERIMENTAL_LAST,
		};

		post_plain(end, noise[below(4)]);
		foreign->want_noise = false;
		seen[SEEN_NOISE]++;
	}
}

void foreign_push_stream(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	while (end->tx_pos < end->wr_pos && !foreign->cancel_pending &&
	       sdp_flow_may(&end->flow, SDP_FLOW_PAYLOAD)) {
		u32 left = at_most(end->wr_pos - end->tx_pos, 5 * end->payload_max);
		bool may_avail = foreign->mode != SDP_MODE_BUFFERED &&
				 end->tx_pos >= foreign->copy_until;
		u32 inline_max = end->payload_max - 16;
		u32 len = between(1, left);

		if (foreign->count) {
			/* Nothing but another advert may go behind one. */
			if (foreign->mode != SDP_MODE_PIPELINED ||
			    foreign->count >= end->peer->mode.snk.max ||
			    one_in(3))
				return;
			foreign_post_avail(end, len, 0);
		} else if (may_avail && !one_in(3)) {
			if (foreign->mode == SDP_MODE_PIPELINED)
				foreign_post_avail(end, len, 0);
			else
				foreign_post_avail(end, len,
						   between(1, at_most(len, inline_max)));
		} else {
			post_data(end, at_most(len, end->payload_max));
		}
	}
}

/* Hearing. */

void foreign_heard(struct end *end, const struct sdp_wire_msg *msg,
		   bool *deliver)
{
	struct foreign *foreign = &end->foreign;
	u64 behind;

	switch (msg->mid) {
	case SDP_MID_DATA:
		CHECK(!sdp_wire_payload(msg) || !end->eof_heard, "%s", end->name);
		*deliver = sdp_wire_payload(msg) > 0;
		return;
	case SDP_MID_DISCONN:
		event(end, SDP_EV_FIN_HEARD);
		return;
	case SDP_MID_SEND_SM:
		/* Stale, or none outstanding: not meant (4.3). */
		if (!foreign->count ||
		    (s32)(msg->mseq_ack - foreign->adverts[0].mseq) < 0) {
			seen[SEEN_SENDSM_STALE]++;
			return;
		}
		seen[SEEN_SENDSM]++;
		seen[SEEN_CROSSED_SENDSM] += foreign->count > 1;
		behind = end->tx_pos;
		foreign_take_back(end);
		/* What was cancelled may be advertised again at once. */
		if (!foreign->cancel_pending)
			foreign->copy_until = behind;
		else if ((s32)(msg->mseq_ack - foreign->cancel_mseq) < 0)
			seen[SEEN_CANCEL_CROSSED]++;
		foreign->cancel_pending = false;
		end->push_due = true;
		return;
	case SDP_MID_CH_RCV_BUF_ACK:
		CHECK(foreign->rcvbuf_asked, "%s", end->name);
		CHECK(msg->ext.rcvsz == end->peer->rcvsz, "%s", end->name);
		foreign->rcvbuf_asked = false;
		seen[SEEN_RCVBUF]++;
		return;
	case SDP_MID_SUSP_COMM_ACK:
		CHECK(foreign->susp_asked, "%s", end->name);
		foreign->susp_asked = false;
		seen[SEEN_SUSP]++;
		return;
	}
	CHECK(false, "%s: MID %#x", end->name, msg->mid);
}

/* What it would like to do next. */
void foreign_whim(struct end *end)
{
	struct foreign *foreign = &end->foreign;

	foreign->whims--;
	switch (below(8)) {
	case 0:
		foreign->want_rcvbuf = true;
		break;
	case 1:
		foreign->want_susp = true;
		break;
	case 2:
		foreign->want_noise = true;
		break;
	case 3:
	case 4:
		foreign->want_mode = one_in(20) ? SDP_MODE_BUFFERED :
			one_in(2) ? SDP_MODE_COMBINED : SDP_MODE_PIPELINED;
		break;
	default:
		foreign->want_cancel = true;
	}
	end->push_due = true;
}
