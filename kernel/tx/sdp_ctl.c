// SPDX-License-Identifier: GPL-2.0
/*
 * Control messages: which is due, what it says, and what follows when it is
 * posted.
 *
 * A caller that wants one sets its bit in tx.ctl and goes on.  The message is
 * made when there is a credit for it, from the state at that time.  Some have
 * become needless by then, and one RdmaRdCompl reports all that was read so
 * far.
 *
 * Control messages need no memory: they have places in the connection
 * (tx.ctl_free).  When all are in flight the next one waits for a completion.
 */
#include "sdp_ctl.h"
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_umr.h"

static const struct {
	u16 bit;
	u8 mid;
} sdp_ctl_kinds[] = {
	{ SDP_CTL_ABORT,	SDP_MID_ABORT_CONN },
	{ SDP_CTL_RD_COMPL,	SDP_MID_RDMA_RD_COMPL },
	{ SDP_CTL_WR_COMPL,	SDP_MID_RDMA_WR_COMPL },
	{ SDP_CTL_CANCEL_ACK,	SDP_MID_SINK_CANCEL_ACK },
	{ SDP_CTL_SENDSM,	SDP_MID_SEND_SM },
	{ SDP_CTL_SINK_CANCEL,	SDP_MID_SINK_AVAIL_CANCEL },
	{ SDP_CTL_SINK_AVAIL,	SDP_MID_SINK_AVAIL },
	{ SDP_CTL_SRC_CANCEL,	SDP_MID_SRC_AVAIL_CANCEL },
	{ SDP_CTL_RCVBUF_ACK,	SDP_MID_CH_RCV_BUF_ACK },
	{ SDP_CTL_SUSP_ACK,	SDP_MID_SUSP_COMM_ACK },
	{ SDP_CTL_RCVBUF,	SDP_MID_CH_RCV_BUF },
};

/* Bytes that the RdmaWrCompl that is due reports; 0: none is due. */
static u32 sdp_ctl_owes_written(const struct sdp_conn *conn)
{
	return sdp_src_owes_written(&conn->mode.src,
				    sdp_conn_write_least(conn),
				    sdp_zsrc_has_more(&conn->zsrc));
}

/* The reader's buffer, if it may be advertised now.  If that is not possible
 * any more, the buffer becomes IDLE, so that the reader gets it back.
 */
static struct sdp_umr *sdp_ctl_asks(struct sdp_conn *conn)
{
	struct sdp_umr *umr;

	umr = sdp_zsink_avail(&conn->zsink);
	if (!umr || umr->state != SDP_UMR_QUEUED)
		return NULL;
	if (!conn->err &&
	    sdp_mode_can_ask(&conn->mode, sdp_conn_unread(conn)))
		return umr;
	trace_sdp_snk_void(conn->id, umr->umem.bytes,
			   conn->err ? "error" : "data, or an advert, is first");
	umr->state = SDP_UMR_IDLE;
	conn->tx.done |= SDP_TX_DONE_UMR;
	return NULL;
}

/* Drop control messages from tx.ctl that have become needless; what is left. */
static u16 sdp_ctl_due(struct sdp_conn *conn)
{
	const struct sdp_mode *mode = &conn->mode;
	u16 due = conn->tx.ctl;

	/* One RdmaRdCompl has reported all that was read. */
	if (due & SDP_CTL_RD_COMPL && !sdp_snk_owes_compl(&mode->snk))
		due &= ~SDP_CTL_RD_COMPL;
	if (due & SDP_CTL_SENDSM && !sdp_snk_may_refuse(&mode->snk))
		due &= ~SDP_CTL_SENDSM;
	if (due & SDP_CTL_SRC_CANCEL && !sdp_src_may_cancel(&mode->src))
		due &= ~SDP_CTL_SRC_CANCEL;
	if (due & SDP_CTL_WR_COMPL && !sdp_ctl_owes_written(conn))
		due &= ~SDP_CTL_WR_COMPL;
	if (due & SDP_CTL_CANCEL_ACK && !sdp_src_owes_cancel_ack(&mode->src))
		due &= ~SDP_CTL_CANCEL_ACK;
	if (due & SDP_CTL_SINK_AVAIL && !sdp_ctl_asks(conn))
		due &= ~SDP_CTL_SINK_AVAIL;
	if (due & SDP_CTL_SINK_CANCEL && !sdp_snk_may_cancel(&mode->snk))
		due &= ~SDP_CTL_SINK_CANCEL;
	conn->tx.ctl = due;
	return due;
}

/* If the peer takes Send-with-Invalidate, @msg invalidates the key of @advert:
 * the peer need not do it.
 */
static void sdp_ctl_end(const struct sdp_conn *conn, struct sdp_msg *msg,
			const struct sdp_advert *advert)
{
	if (!conn->caps.may_invalidate || !advert)
		return;
	msg->invalidates = true;
	msg->rkey = advert->rkey;
}

/* Fill in the extended header and the flags of a control message. */
static void sdp_ctl_fill(struct sdp_conn *conn, u16 bit,
			 struct sdp_msg *msg, struct sdp_wire_msg *hdr)
{
	switch (bit) {
	case SDP_CTL_ABORT:
		conn->tx.abort_posted = true;
		break;
	case SDP_CTL_RD_COMPL:
		hdr->ext.bytes = sdp_snk_owes_compl(&conn->mode.snk);
		/* We would profit from several SrcAvails at a time (4.2). */
		hdr->flags |= SDP_FLAG_REQ_PIPE;
		sdp_ctl_end(conn, msg, sdp_snk_ends(&conn->mode.snk));
		break;
	case SDP_CTL_WR_COMPL:
		hdr->ext.bytes = sdp_ctl_owes_written(conn);
		sdp_ctl_end(conn, msg, sdp_src_ends(&conn->mode.src));
		break;
	case SDP_CTL_SINK_AVAIL:
		msg->umr = sdp_zsink_avail(&conn->zsink);
		sdp_umr_fill_avail(msg->umr, hdr);
		hdr->ext.avail.non_discards = conn->mode.snk.nr;
		break;
	case SDP_CTL_RCVBUF_ACK:
		hdr->ext.rcvsz = sdp_ring_promised(&conn->ring) ?: conn->rcv_size;
		break;
	case SDP_CTL_RCVBUF:
		hdr->ext.rcvsz = sdp_peer_ring_asked(&conn->peer_ring);
		sdp_mode_rcvbuf_posted(&conn->mode);
		break;
	}
}

/* Account a control message that was posted, and ask for those to follow. */
static void sdp_ctl_posted(struct sdp_conn *conn, u16 bit,
			   struct sdp_msg *msg)
{
	struct sdp_mode *mode = &conn->mode;
	u32 mseq = msg->mseq;

	switch (bit) {
	case SDP_CTL_RD_COMPL:
		sdp_snk_told_read(&mode->snk);
		/* The next advert may have bytes to report, and a
		 * SrcAvailCancel may have waited for this message.
		 */
		conn->tx.ctl |= SDP_CTL_RD_COMPL | SDP_CTL_SENDSM;
		break;
	case SDP_CTL_SENDSM:
		sdp_snk_refused(&mode->snk, mseq);
		sdp_count(conn->sn, SDP_CNT_SENDSM, 1);
		break;
	case SDP_CTL_SRC_CANCEL:
		sdp_src_cancelled(&mode->src);
		sdp_count(conn->sn, SDP_CNT_OFFERS_CANCELLED, 1);
		break;
	case SDP_CTL_WR_COMPL:
		sdp_src_told_written(&mode->src);
		conn->tx.ctl |= SDP_CTL_CANCEL_ACK;
		break;
	case SDP_CTL_CANCEL_ACK:
		sdp_src_told_dropped(&mode->src);
		break;
	case SDP_CTL_SINK_AVAIL:
		sdp_snk_offered(&mode->snk, msg->umr->umem.bytes);
		sdp_count(conn->sn, SDP_CNT_ASKS, 1);
		msg->umr = NULL;	/* it stays on zsink.avail_umrs */
		break;
	case SDP_CTL_SINK_CANCEL:
		sdp_snk_cancelled(&mode->snk);
		sdp_count(conn->sn, SDP_CNT_ASKS_CANCELLED, 1);
		break;
	case SDP_CTL_RCVBUF_ACK:
		if (sdp_ring_promised(&conn->ring))
			sdp_ring_promise_posted(&conn->ring, mseq);
		break;
	}
}

/**
 * sdp_ctl_push() - post the most urgent control message of those in tx.ctl
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: false if none is due, or the one that is due may not go.
 */
bool sdp_ctl_push(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = {};
	u16 due = sdp_ctl_due(conn), bit;
	struct sdp_msg *msg;
	int i;

	if (!due)
		return false;
	for (i = 0; !(due & sdp_ctl_kinds[i].bit); i++)
		;
	bit = sdp_ctl_kinds[i].bit;
	if (bit == SDP_CTL_SINK_AVAIL && !sdp_post_can(conn, SDP_OP_ADVERTISE))
		return false;
	if (!sdp_post_may(conn, sdp_ctl_kinds[i].mid, SDP_FLOW_CONTROL))
		return false;
	msg = sdp_post_control(conn, sdp_ctl_kinds[i].mid);
	if (!msg)
		return false;
	conn->tx.ctl &= ~bit;
	sdp_ctl_fill(conn, bit, msg, &hdr);
	sdp_post_msg(conn, msg, &hdr, true);
	sdp_ctl_posted(conn, bit, msg);
	return true;
}

/* Take a control message if there is a credit and a place for it; or NULL. */
static struct sdp_msg *sdp_ctl_empty(struct sdp_conn *conn, u8 mid,
				     enum sdp_flow_class class)
{
	if (!sdp_post_may(conn, mid, class))
		return NULL;
	return sdp_post_control(conn, mid);
}

/**
 * sdp_ctl_push_fin() - post DisConn
 * @conn: the connection, conn->lock held; all data is posted
 *
 * Context: process or softirq.
 * Return: false if it may not go yet.
 */
bool sdp_ctl_push_fin(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_msg *msg;

	msg = sdp_ctl_empty(conn, SDP_MID_DISCONN, SDP_FLOW_CONTROL);
	if (!msg)
		return false;
	conn->tx.fin_posted = true;
	sdp_src_fin(&conn->mode.src);
	sdp_post_msg(conn, msg, &hdr, true);
	return true;
}

/**
 * sdp_ctl_push_pipelined() - post the ModeChange to pipelined mode (4.2)
 * @conn: the connection, conn->lock held; sdp_src_may_change() was true
 *
 * Context: process or softirq.
 * Return: false if it may not go yet.
 */
bool sdp_ctl_push_pipelined(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = { .ext.mode = SDP_MODE_PIPELINED << 4 };
	struct sdp_msg *msg;

	msg = sdp_ctl_empty(conn, SDP_MID_MODE_CHANGE, SDP_FLOW_CONTROL);
	if (!msg)
		return false;
	sdp_post_msg(conn, msg, &hdr, true);
	sdp_src_changed(&conn->mode.src, SDP_MODE_PIPELINED, msg->mseq);
	trace_sdp_mode(conn->id, true, SDP_MODE_PIPELINED);
	return true;
}

/**
 * sdp_ctl_push_data() - post a Data message without payload
 * @conn: the connection, conn->lock held
 * @class: SDP_FLOW_UPDATE to tell the peer of new buffers; SDP_FLOW_PAYLOAD to
 *	use up one of the peer's buffers
 *
 * Context: process or softirq.
 * Return: false if it may not go yet.
 */
bool sdp_ctl_push_data(struct sdp_conn *conn, enum sdp_flow_class class)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_msg *msg;

	msg = sdp_ctl_empty(conn, SDP_MID_DATA, class);
	if (!msg)
		return false;
	sdp_count(conn->sn, SDP_CNT_CREDIT_UPDATES, 1);
	sdp_post_msg(conn, msg, &hdr, true);
	return true;
}
