// SPDX-License-Identifier: GPL-2.0
/*
 * From a built message to the wire, and the memory back.
 *
 * Order of service when credits come (protocol text, 3.2): control messages
 * first, then data, then DisConn behind the last data, and an empty Data only
 * if nothing else went that told the peer of new buffers.  The header is
 * written here, at the last moment: Bufs, MSeq and MSeqAck are one snapshot
 * under tx.lock, and posting under the same lock keeps their order.
 *
 * A last message with room behind it may be held back, so that small writes
 * travel together: sdp_mode_hold() has the rules.  What it waits for then is
 * the completion of what was sent before, or the user, or a timer.
 *
 * Completions.  A send completion gives memory back and nothing more, so its
 * queue is not armed unless somebody needs the event: a writer who waits for
 * room, a DisConn or AbortConn under way, messages that wait for a place in
 * the send queue or are held back, or more than SDP_TX_LINGER bytes that would
 * otherwise stay behind on an idle connection.  Otherwise completions are
 * reaped when the next message is posted.  The last message of a burst is signalled, and some
 * in a long one; a completion retires all messages before it.
 *
 * RDMA Reads and the requests that take registrations back go the same way, and
 * complete in their turn: what was read is handed to the reader here, before the
 * peer can be told of it, so nothing that it sends then can overtake it.
 *
 * Who owns a message: the caller while he fills it; tx.queue; tx.posted and
 * the device; then it is freed.
 */
#include "sdp_mem.h"
#include "sdp_size.h"
#include "sdp_trace.h"
#include "sdp_tx.h"

enum {
	SDP_TX_CORK_MS		= 200,		/* as long as TCP holds back */
	SDP_TX_LINGER		= 16 * 1024,	/* bytes, see above */
	SDP_TX_REAP		= 8,		/* messages under way */
	SDP_TX_BURST		= 8,		/* unsignalled messages in a row */
	SDP_TX_BURST_BYTES	= 64 * 1024,
	SDP_TX_STARVED		= 10 * HZ,	/* without credits, then ask */
};

/* What was sent before has arrived: the time for more begins now. */
static void sdp_tx_begins(struct sdp_conn *conn)
{
	if (conn->tx.outstanding)
		return;
	conn->tx.progress = jiffies;
	/* A check that was to come before stays. */
	if (unlikely(conn->tx.user_timeout && !conn->tx.dead))
		sdp_conn_check_later(conn, conn->tx.lease_check ? 0 :
						   conn->tx.user_timeout);
}

/* Count it as outstanding; false if the connection is gone, and so is it. */
static bool sdp_tx_charge(struct sdp_conn *conn, struct sdp_msg *msg)
{
	u32 charge = SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid) + msg->payload -
		     msg->charged;

	lockdep_assert_held(&conn->tx.lock);
	sdp_tx_begins(conn);
	if (conn->tx.dead) {
		conn->tx.outstanding -= msg->charged;
		sdp_msg_free(conn, msg);
		return false;
	}
	msg->charged += charge;
	conn->tx.outstanding += charge;
	sdp_mem_add(charge);
	return true;
}

/* Behind what is queued. */
static void sdp_tx_enqueue(struct sdp_conn *conn, struct sdp_msg *msg)
{
	if (!sdp_tx_charge(conn, msg))
		return;
	list_add_tail(&msg->node, &conn->tx.queue);
	conn->tx.oob += msg->urgent;
}

/* The message that was to offer something is not needed. */
static void sdp_tx_drop_offer(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->tx.lock);
	list_del_init(&msg->node);
	WRITE_ONCE(conn->tx.outstanding, conn->tx.outstanding - msg->charged);
	sdp_msg_free(conn, msg);
}

void sdp_tx_queue(struct sdp_conn *conn, struct sdp_msg *msg)
{
	spin_lock_bh(&conn->tx.lock);
	sdp_tx_enqueue(conn, msg);
	spin_unlock_bh(&conn->tx.lock);
}

/* What is lent has the connection's clocks run as what is copied has. */
static void sdp_tx_enqueue_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->tx.lock);
	sdp_tx_begins(conn);
	if (conn->tx.dead)
		sdp_msg_free(conn, msg);
	else
		list_add_tail(&msg->node, &conn->tx.queue);
}

/* Are there reasons for a check besides the peer's silence? */
static bool sdp_tx_is_timed(const struct sdp_conn *conn)
{
	return conn->tx.user_timeout || conn->tx.grown || conn->tx.lease_check;
}

/* Of what is lent beyond a call nobody waits for the end but the connection. */
static void sdp_tx_leases(struct sdp_conn *conn, const struct sdp_loan *loan)
{
	bool timed = conn->tx.keep_idle || conn->tx.watched ||
		     sdp_tx_is_timed(conn);

	lockdep_assert_held(&conn->tx.lock);
	if (!conn->tx.lent)
		conn->tx.lent_at = jiffies;
	WRITE_ONCE(conn->tx.lent, conn->tx.lent + loan->span.bytes);
	if (conn->tx.lease_check || conn->tx.dead)
		return;
	conn->tx.lease_check = true;
	/* A check may be due before: it is for it to say when the next is. */
	sdp_conn_check_later(conn, timed ? 0 : sdp_tx_patience(conn));
}

bool sdp_tx_queue_offer(struct sdp_conn *conn, struct sdp_msg *msg)
{
	bool lease = msg->loan->lease;
	bool queued = false;

	spin_lock_bh(&conn->tx.lock);
	if ((lease || !conn->tx.withdrawn) && !conn->tx.fin_queued &&
	    !conn->tx.err) {
		if (lease)
			sdp_tx_leases(conn, msg->loan);
		list_add_tail(&msg->loan->node, &conn->tx.loans);
		/* Without a connection it is free, and to be reaped. */
		queued = true;
		if (msg->op == SDP_OP_WRITE)
			sdp_tx_enqueue_write(conn, msg);
		else
			sdp_tx_enqueue(conn, msg);
	} else {
		sdp_msg_free(conn, msg);
	}
	spin_unlock_bh(&conn->tx.lock);
	return queued;
}

void sdp_tx_queue_rest(struct sdp_conn *conn, struct sdp_loan *loan,
		       struct list_head *msgs, struct list_head **behind)
{
	struct list_head *at = *behind;
	struct sdp_msg *msg, *next;

	spin_lock_bh(&conn->tx.lock);
	if (loan->msg)
		at = &loan->msg->node;
	list_for_each_entry_safe(msg, next, msgs, node) {
		list_del_init(&msg->node);
		if (!sdp_tx_charge(conn, msg))
			continue;
		list_add(&msg->node, at);
		at = &msg->node;
	}
	if (loan->msg)
		sdp_tx_drop_offer(conn, loan->msg);
	else
		*behind = at;
	loan->rest = false;
	spin_unlock_bh(&conn->tx.lock);
}

void sdp_tx_withdraw(struct sdp_conn *conn)
{
	struct sdp_loan *loan;

	lockdep_assert_held(&conn->tx.lock);
	conn->tx.withdrawn = true;
	list_for_each_entry(loan, &conn->tx.loans, node)
		if (loan->state == SDP_LOAN_QUEUED)
			sdp_tx_drop_offer(conn, loan->msg);
	conn->tx.done |= SDP_TX_DONE_LOAN;
}

struct sdp_msg *sdp_tx_take_tail(struct sdp_conn *conn,
				 const struct page_frag *frag)
{
	struct sdp_msg *msg = NULL;

	if (list_empty_careful(&conn->tx.queue))
		return NULL;
	spin_lock_bh(&conn->tx.lock);
	if (!list_empty(&conn->tx.queue)) {
		msg = list_last_entry(&conn->tx.queue, struct sdp_msg, node);
		if (sdp_msg_room(conn, frag, msg)) {
			list_del_init(&msg->node);
			conn->tx.held = false;
		} else {
			msg = NULL;
		}
	}
	spin_unlock_bh(&conn->tx.lock);
	return msg;
}

/* Of those whose completion is awaited there is an event. */
static bool sdp_tx_is_watched(const struct sdp_msg *msg)
{
	return msg->op == SDP_OP_READ || msg->op == SDP_OP_WRITE ||
	       msg->op == SDP_OP_TAKE_BACK;
}

static void sdp_tx_hand_over(struct sdp_conn *conn, struct sdp_msg *msg)
{
	int err;

	if (msg->signalled) {
		conn->tx.unsignalled = 0;
		conn->tx.unsignalled_bytes = 0;
	}
	list_add_tail(&msg->node, &conn->tx.posted);
	conn->tx.inflight += msg->slots;
	conn->tx.watched_ops += sdp_tx_is_watched(msg);
	err = conn->xp->post(conn, msg);
	if (err) {
		/* The sequence number is used: nothing may follow. */
		trace_sdp_fail(conn->id, err, "post");
		conn->tx.broken = true;
		conn->tx.done |= SDP_TX_DONE_LOST;
	}
}

/* Write the header and post; a credit is known to be there. */
static void sdp_tx_post(struct sdp_conn *conn, struct sdp_msg *msg,
			struct sdp_wire_msg *hdr, bool signalled)
{
	lockdep_assert_held(&conn->tx.lock);
	hdr->mid = msg->mid;
	/* Whatever goes first announces it, and each is announced once. */
	if (unlikely(conn->tx.oob)) {
		hdr->flags |= SDP_FLAG_OOB_PEND;
		conn->tx.oob--;
	}
	if (unlikely(msg->urgent)) {
		hdr->flags |= SDP_FLAG_OOB_PRES;
		sdp_count(conn->sn, SDP_CNT_URGENT_SENT, 1);
	}
	hdr->len = SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid) + msg->payload;
	sdp_flow_take(&conn->tx.flow, hdr);
	if (unlikely(conn->tx.mode.snk.cancelled))
		sdp_flow_hold_ack(hdr, sdp_snk_ack(&conn->tx.mode.snk,
						   hdr->mseq_ack));
	sdp_wire_put(msg->addr, hdr);
	msg->mseq = hdr->mseq;
	msg->bytes = hdr->len;
	conn->tx.unsignalled += msg->slots;
	conn->tx.unsignalled_bytes += hdr->len;
	msg->signalled = signalled || conn->tx.unsignalled >= SDP_TX_BURST ||
			 conn->tx.unsignalled_bytes >= SDP_TX_BURST_BYTES;
	conn->tx.inflight_bytes += msg->charged;
	conn->tx.bytes += msg->payload;
	conn->tx.msgs++;
	sdp_count(conn->sn, SDP_CNT_MSGS_SENT, 1);
	if (msg->payload)
		sdp_count(conn->sn, SDP_CNT_BYTES_SENT, msg->payload);
	trace_sdp_post(conn->id, hdr->mid, hdr->flags, hdr->bufs, hdr->len,
		       hdr->mseq, hdr->mseq_ack);
	sdp_tx_hand_over(conn, msg);
}

static bool sdp_tx_may(struct sdp_conn *conn, u8 mid,
		       enum sdp_flow_class class)
{
	bool go = sdp_flow_may(&conn->tx.flow, class);

	trace_sdp_credit(conn->id, mid, sdp_flow_credits(&conn->tx.flow), go);
	return go;
}

static struct sdp_msg *sdp_tx_control(struct sdp_conn *conn, u8 mid)
{
	struct sdp_msg *msg;

	msg = list_first_entry_or_null(&conn->tx.ctl_free, struct sdp_msg,
				       node);
	if (msg) {
		list_del_init(&msg->node);
		msg->op = SDP_OP_SEND;
		msg->slots = 1;
		msg->mid = mid;
		msg->payload = 0;
		msg->charged = 0;
	}
	return msg;
}

/* Ask the peer's device whether it is there: neither credit nor number. */
static bool sdp_tx_push_keepalive(struct sdp_conn *conn)
{
	struct sdp_msg *msg = sdp_tx_control(conn, SDP_MID_DATA);

	if (!msg)
		return false;
	conn->tx.ctl &= ~SDP_CTL_KEEPALIVE;
	conn->tx.keepalive = true;
	msg->op = SDP_OP_NOTHING;
	msg->signalled = true;
	sdp_tx_hand_over(conn, msg);
	return true;
}

/*
 * May a request be posted that makes a registration valid?  On a device with the
 * defect nothing may be under way before it (sdp_dev.h); and what is must be
 * heard of.
 */
static bool sdp_tx_may_register(struct sdp_conn *conn)
{
	if (likely(!conn->tx.reg_alone) || !conn->tx.inflight)
		return true;
	conn->tx.reg_waits = true;
	if (conn->tx.unsignalled && !conn->tx.keepalive)
		sdp_tx_push_keepalive(conn);
	return false;
}

static const struct {
	u16 bit;
	u8 mid;
} sdp_tx_kinds[] = {
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

/* Length of the RdmaWrCompl that is due, in bytes; 0: none. */
static u32 sdp_tx_owes_written(const struct sdp_conn *conn)
{
	return sdp_src_owes_written(&conn->tx.mode.src,
				    sdp_tx_write_least(conn),
				    conn->tx.filling);
}

/* The reader's buffer, if the peer may be told of it now; or it is his again. */
static struct sdp_loan *sdp_tx_asks(struct sdp_conn *conn)
{
	struct sdp_loan *loan;

	loan = list_first_entry_or_null(&conn->tx.asks, struct sdp_loan, node);
	if (!loan || loan->state != SDP_LOAN_QUEUED)
		return NULL;
	if (!conn->tx.err && sdp_mode_has_advert(&conn->tx.mode) &&
	    sdp_snk_may_offer(&conn->tx.mode.snk, sdp_tx_unread(conn)))
		return loan;
	loan->state = SDP_LOAN_FREE;
	conn->tx.done |= SDP_TX_DONE_LOAN;
	return NULL;
}

/* What is due of the control messages wanted: some have become needless. */
static u16 sdp_tx_due(struct sdp_conn *conn)
{
	const struct sdp_mode *mode = &conn->tx.mode;
	u16 due = conn->tx.ctl;

	/* One for all that was read at a time. */
	if (due & SDP_CTL_RD_COMPL && !sdp_snk_owes_compl(&mode->snk))
		due &= ~SDP_CTL_RD_COMPL;
	if (due & SDP_CTL_SENDSM && !sdp_snk_may_refuse(&mode->snk))
		due &= ~SDP_CTL_SENDSM;
	if (due & SDP_CTL_SRC_CANCEL && !sdp_src_may_cancel(&mode->src))
		due &= ~SDP_CTL_SRC_CANCEL;
	if (due & SDP_CTL_WR_COMPL && !sdp_tx_owes_written(conn))
		due &= ~SDP_CTL_WR_COMPL;
	if (due & SDP_CTL_CANCEL_ACK && !sdp_src_owes_cancel_ack(&mode->src))
		due &= ~SDP_CTL_CANCEL_ACK;
	if (due & SDP_CTL_SINK_AVAIL && !sdp_tx_asks(conn))
		due &= ~SDP_CTL_SINK_AVAIL;
	if (due & SDP_CTL_SINK_CANCEL && !sdp_snk_may_cancel(&mode->snk))
		due &= ~SDP_CTL_SINK_CANCEL;
	conn->tx.ctl = due;
	return due;
}

/* What is lent has the peer's from now on. */
static void sdp_tx_fill_avail(struct sdp_loan *loan, struct sdp_wire_msg *hdr)
{
	hdr->ext.avail.len = loan->span.bytes;
	hdr->ext.avail.rkey = loan->span.key;
	hdr->ext.avail.va = loan->span.va;
	loan->state = SDP_LOAN_OUT;
	loan->msg = NULL;
}

/* The rest of what a control message says. */
static void sdp_tx_fill_control(struct sdp_conn *conn, u16 bit,
				struct sdp_msg *msg, struct sdp_wire_msg *hdr)
{
	switch (bit) {
	case SDP_CTL_ABORT:
		conn->tx.abort_posted = true;
		break;
	case SDP_CTL_RD_COMPL:
		hdr->ext.bytes = sdp_snk_owes_compl(&conn->tx.mode.snk);
		/* We are one that would like several at a time. */
		hdr->flags |= SDP_FLAG_REQ_PIPE;
		break;
	case SDP_CTL_WR_COMPL:
		hdr->ext.bytes = sdp_tx_owes_written(conn);
		break;
	case SDP_CTL_SINK_AVAIL:
		msg->loan = list_first_entry(&conn->tx.asks, struct sdp_loan,
					     node);
		msg->slots = 2;
		sdp_tx_fill_avail(msg->loan, hdr);
		hdr->ext.avail.non_discards = conn->tx.mode.snk.nr;
		break;
	case SDP_CTL_RCVBUF_ACK:
		hdr->ext.rcvsz = conn->rx.shrink ?: conn->rcv_size;
		break;
	case SDP_CTL_RCVBUF:
		hdr->ext.rcvsz = conn->tx.ask;
		sdp_mode_rcvbuf_posted(&conn->tx.mode);
		break;
	}
}

/* What follows from its being posted. */
static void sdp_tx_control_posted(struct sdp_conn *conn, u16 bit,
				  struct sdp_msg *msg)
{
	struct sdp_mode *mode = &conn->tx.mode;
	u32 mseq = msg->mseq;

	switch (bit) {
	case SDP_CTL_RD_COMPL:
		sdp_snk_told_read(&mode->snk);
		/* For the next advert, or after a cancel. */
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
		sdp_snk_offered(&mode->snk, msg->loan->span.bytes);
		sdp_count(conn->sn, SDP_CNT_ASKS, 1);
		msg->loan = NULL;	/* it has its own place */
		break;
	case SDP_CTL_SINK_CANCEL:
		sdp_snk_cancelled(&mode->snk);
		sdp_count(conn->sn, SDP_CNT_ASKS_CANCELLED, 1);
		break;
	case SDP_CTL_RCVBUF_ACK:
		if (!conn->rx.shrink)
			break;
		conn->rx.shrink_told = true;
		conn->rx.shrink_mseq = mseq;
		break;
	}
}

/* One control message, the most urgent first; false if none went. */
static bool sdp_tx_push_control(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = {};
	u16 due = sdp_tx_due(conn), bit;
	struct sdp_msg *msg;
	int i;

	if (!due)
		return false;
	for (i = 0; !(due & sdp_tx_kinds[i].bit); i++)
		;
	bit = sdp_tx_kinds[i].bit;
	if (bit == SDP_CTL_SINK_AVAIL && !sdp_tx_may_register(conn))
		return false;
	if (!sdp_tx_may(conn, sdp_tx_kinds[i].mid, SDP_FLOW_CONTROL))
		return false;
	msg = sdp_tx_control(conn, sdp_tx_kinds[i].mid);
	if (!msg)
		return false;
	conn->tx.ctl &= ~bit;
	sdp_tx_fill_control(conn, bit, msg, &hdr);
	sdp_tx_post(conn, msg, &hdr, true);
	sdp_tx_control_posted(conn, bit, msg);
	return true;
}

/* Does the next message, which is the last, wait for more behind it? */
static bool sdp_tx_hold(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	conn->tx.held = false;
	if (msg->full || msg->more || conn->tx.fin_queued ||
	    !list_is_last(&msg->node, &conn->tx.queue))
		return false;
	if (conn->tx.small_out &&
	    sdp_flow_acked(&conn->tx.flow, conn->tx.small_mseq))
		conn->tx.small_out = false;
	switch (sdp_mode_hold(conn->tx.delay, conn->tx.small_out,
			      conn->tx.inflight)) {
	case SDP_HOLD_NONE:
		return false;
	case SDP_HOLD_SENT:
		conn->tx.held = true;
		return true;
	case SDP_HOLD_CORK:
		sdp_conn_uncork_later(conn, SDP_TX_CORK_MS);
		return true;
	}
	return false;
}

/*
 * Who waits for credits with nothing under way would never hear of a peer that
 * is gone, if the word of its going was lost: TCP probes a closed window.
 */
static void sdp_tx_watch(struct sdp_conn *conn)
{
	bool timed = conn->tx.keep_idle || sdp_tx_is_timed(conn);

	if (conn->tx.watched)
		return;
	conn->tx.watched = true;
	/* Silence was nobody's concern before. */
	if (!conn->tx.keep_idle)
		WRITE_ONCE(conn->rx.heard, jiffies);
	/* A check may be due before: it is for it to say when the next is. */
	sdp_conn_check_later(conn, timed ? 0 : SDP_TX_STARVED);
}

static bool sdp_tx_push_empty(struct sdp_conn *conn, u8 mid,
			      enum sdp_flow_class class);

/* A SrcAvail that has nothing inline is for pipelined mode: lead us there. */
static bool sdp_tx_needs_pipeline(const struct sdp_conn *conn,
				  const struct sdp_msg *msg)
{
	return !msg->payload && conn->tx.mode.src.mode == SDP_MODE_COMBINED;
}

/* May what comes next of the stream be posted as it is? (4.1 to 4.4) */
static bool sdp_tx_may_follow(const struct sdp_conn *conn,
			      const struct sdp_msg *msg)
{
	const struct sdp_src *src = &conn->tx.mode.src;

	if (likely(!msg->loan))
		return sdp_src_may_copy(src);
	if (sdp_tx_needs_pipeline(conn, msg))
		return sdp_src_may_change(src, SDP_MODE_PIPELINED);
	return sdp_src_may_offer(src) && sdp_mode_has_advert(&conn->tx.mode) &&
	       src->out.n < READ_ONCE(conn->sn->zcopy_adverts);
}

/* What it offers is the peer's to read from now on. */
static void sdp_tx_fill_offer(struct sdp_conn *conn, struct sdp_msg *msg,
			      struct sdp_wire_msg *hdr)
{
	sdp_tx_fill_avail(msg->loan, hdr);
	msg->loan->moved = msg->payload;
}

static void sdp_tx_stream_posted(struct sdp_conn *conn,
				 const struct sdp_msg *msg)
{
	struct sdp_src *src = &conn->tx.mode.src;

	if (likely(!msg->loan)) {
		sdp_src_copied(src);
		return;
	}
	sdp_src_offered(src, msg->mseq, msg->loan->span.bytes - msg->payload,
			msg->payload);
	conn->tx.lent_at = jiffies;
	sdp_count(conn->sn, SDP_CNT_OFFERS, 1);
}

/* Write what is next of the stream to where the peer's reader wants it. */
static bool sdp_tx_push_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_src *src = &conn->tx.mode.src;
	const struct sdp_advert *to = sdp_src_may_write(src);
	struct sdp_loan *loan = msg->loan;

	/* Taken back meanwhile, or made void by what was copied. */
	if (!to || to->left < loan->span.bytes) {
		sdp_tx_withdraw(conn);
		return true;
	}
	if (!sdp_tx_may_register(conn))
		return false;
	msg->bytes = loan->span.bytes;
	msg->va = to->va;
	msg->rkey = to->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	loan->state = SDP_LOAN_OUT;
	loan->msg = NULL;
	conn->tx.filling = msg->more;
	conn->tx.ctl |= SDP_CTL_WR_COMPL;
	conn->tx.bytes += msg->bytes;
	conn->tx.written_bytes += msg->bytes;
	conn->tx.lent_at = jiffies;
	sdp_count(conn->sn, SDP_CNT_BYTES_SENT, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_WRITTEN, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_RDMA_WRITES, 1);
	trace_sdp_write(conn->id, msg->bytes, to->rkey);
	sdp_src_wrote(src, msg->bytes);
	sdp_tx_hand_over(conn, msg);
	return true;
}

/* It goes by copy; nothing else of the stream meanwhile. */
static void sdp_tx_lapse(struct sdp_conn *conn, struct sdp_loan *loan)
{
	loan->rest = true;
	conn->tx.lapsed = true;
	conn->tx.done |= SDP_TX_DONE_LOAN;
}

/*
 * A lease is next, and the peer has told where its reader wants that: it is
 * written there if there is room for it, and copied if not.
 */
static bool sdp_tx_push_lease(struct sdp_conn *conn, struct sdp_msg *msg)
{
	const struct sdp_advert *to = sdp_src_may_write(&conn->tx.mode.src);
	struct sdp_loan *loan = msg->loan;

	/* Something is owed for what is there: that goes first. */
	if (!to || conn->tx.mode.src.wrote)
		return false;
	if (to->left < loan->span.bytes) {
		sdp_tx_lapse(conn, loan);
		return false;
	}
	if (!sdp_tx_may_register(conn))
		return false;
	loan->op.op = SDP_OP_WRITE;
	loan->op.slots = 2;
	loan->op.full = true;
	loan->msg = &loan->op;
	list_add(&loan->op.node, &msg->node);
	sdp_tx_drop_offer(conn, msg);
	return sdp_tx_push_write(conn, &loan->op);
}

static bool sdp_tx_push_data(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_msg *msg;

	msg = list_first_entry(&conn->tx.queue, struct sdp_msg, node);
	if (unlikely(msg->op == SDP_OP_WRITE))
		return sdp_tx_push_write(conn, msg);
	if (unlikely(msg->loan && msg->loan->lease &&
		     conn->tx.mode.src.held.n))
		return sdp_tx_push_lease(conn, msg);
	if (sdp_tx_hold(conn, msg) || !sdp_tx_may_follow(conn, msg))
		return false;
	if (!sdp_tx_may(conn, SDP_MID_DATA, SDP_FLOW_PAYLOAD)) {
		if (!conn->tx.waiting)
			sdp_count(conn->sn, SDP_CNT_CREDIT_WAITS, 1);
		conn->tx.waiting = true;
		sdp_tx_watch(conn);
		return sdp_size_asks_for_more(conn, msg);	/* that goes first */
	}
	conn->tx.waiting = false;
	if (unlikely(msg->loan)) {
		if (sdp_tx_needs_pipeline(conn, msg))
			return sdp_tx_push_empty(conn, SDP_MID_MODE_CHANGE,
						 SDP_FLOW_CONTROL);
		if (!sdp_tx_may_register(conn))
			return false;
		sdp_tx_fill_offer(conn, msg, &hdr);
	}
	if (unlikely(conn->tx.flush))
		conn->tx.flush--;
	list_del_init(&msg->node);
	sdp_tx_post(conn, msg, &hdr, !msg->full ||
		    (!msg->more && list_empty(&conn->tx.queue)));
	sdp_tx_stream_posted(conn, msg);
	if (!msg->full) {
		conn->tx.small_out = true;
		conn->tx.small_mseq = msg->mseq;
	}
	return true;
}

static bool sdp_tx_push_empty(struct sdp_conn *conn, u8 mid,
			      enum sdp_flow_class class)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_msg *msg;

	if (!sdp_tx_may(conn, mid, class))
		return false;
	msg = sdp_tx_control(conn, mid);
	if (!msg)
		return false;
	switch (mid) {
	case SDP_MID_DISCONN:
		conn->tx.fin_posted = true;
		sdp_src_fin(&conn->tx.mode.src);
		break;
	case SDP_MID_MODE_CHANGE:
		hdr.ext.mode = SDP_MODE_PIPELINED << 4;
		break;
	default:
		sdp_count(conn->sn, SDP_CNT_CREDIT_UPDATES, 1);
	}
	sdp_tx_post(conn, msg, &hdr, true);
	if (mid == SDP_MID_MODE_CHANGE)
		sdp_src_changed(&conn->tx.mode.src, SDP_MODE_PIPELINED,
				msg->mseq);
	return true;
}

/* Have the device forget a registration whose memory is ours again. */
static bool sdp_tx_push_back(struct sdp_conn *conn)
{
	struct sdp_msg *msg;

	msg = list_first_entry(&conn->tx.back, struct sdp_msg, node);
	list_del_init(&msg->node);
	msg->signalled = true;
	sdp_tx_hand_over(conn, msg);
	return true;
}

bool sdp_tx_may_take(const struct sdp_conn *conn, const struct sdp_loan *loan)
{
	const struct sdp_advert *from = sdp_snk_may_read(&conn->tx.mode.snk);

	return from && from->mseq == loan->op.mseq &&
	       from->left >= loan->span.bytes;
}

/* Read what the peer offers to where it is wanted. */
static bool sdp_tx_push_read(struct sdp_conn *conn)
{
	struct sdp_snk *snk = &conn->tx.mode.snk;
	const struct sdp_advert *from;
	struct sdp_msg *msg;
	u32 room;

	from = sdp_snk_may_read(snk);
	if (!from || conn->tx.hold_reads)
		return false;
	msg = list_first_entry(&conn->tx.reads, struct sdp_msg, node);
	room = msg->loan ? msg->loan->span.bytes : msg->buf->size;
	if (msg->loan && (!sdp_tx_may_take(conn, msg->loan) ||
			  !sdp_tx_may_register(conn)))
		return false;
	msg->bytes = min(room, from->left);
	msg->va = from->va;
	msg->rkey = from->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	if (msg->loan)
		msg->loan->state = SDP_LOAN_OUT;
	sdp_snk_reads(snk, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_RDMA_READS, 1);
	trace_sdp_read(conn->id, msg->bytes, from->rkey, !!msg->loan);
	sdp_tx_hand_over(conn, msg);
	return true;
}

/* One message, the most urgent first; false when nothing more may go. */
static bool sdp_tx_push_one(struct sdp_conn *conn)
{
	bool owed = conn->tx.reg_owed;

	if (conn->tx.abort_posted || conn->tx.broken)
		return false;
	if (unlikely(conn->tx.ctl & SDP_CTL_KEEPALIVE)) {
		if (!sdp_tx_push_keepalive(conn))
			return false;
		sdp_count(conn->sn, SDP_CNT_KEEPALIVES, 1);
		return true;
	}
	if (conn->tx.ctl && sdp_tx_push_control(conn))
		return true;
	if (unlikely(!list_empty(&conn->tx.back)))
		return sdp_tx_push_back(conn);
	if (unlikely(!list_empty(&conn->tx.reads)) && !owed &&
	    sdp_tx_push_read(conn))
		return true;
	/* Or there would always be something under way. */
	if (unlikely(conn->tx.reg_waits))
		return false;
	conn->tx.reg_owed = false;
	if (unlikely(conn->tx.lapsed)) {
		;	/* of the stream something else is next */
	} else if (!list_empty(&conn->tx.queue)) {
		if (sdp_tx_push_data(conn))
			return true;
		conn->tx.reg_owed = conn->tx.reg_waits;
	} else if (conn->tx.fin_queued && !conn->tx.fin_posted &&
		   sdp_src_may_copy(&conn->tx.mode.src)) {
		if (sdp_tx_push_empty(conn, SDP_MID_DISCONN, SDP_FLOW_CONTROL))
			return true;
	}
	if (unlikely(conn->tx.reg_waits))
		return false;
	/* It is not a registration that keeps what is sent. */
	if (unlikely(owed && !list_empty(&conn->tx.reads)) &&
	    sdp_tx_push_read(conn))
		return true;
	if (unlikely(conn->tx.flush) && list_empty(&conn->tx.queue) &&
	    !conn->tx.fin_queued &&
	    sdp_tx_push_empty(conn, SDP_MID_DATA, SDP_FLOW_PAYLOAD)) {
		conn->tx.flush--;
		return true;
	}
	return sdp_flow_owes_update(&conn->tx.flow) &&
	       sdp_tx_push_empty(conn, SDP_MID_DATA, SDP_FLOW_UPDATE);
}

static bool sdp_tx_may_post(const struct sdp_conn *conn)
{
	return !conn->tx.dead && conn->tx.state >= SDP_ESTABLISHED &&
	       conn->tx.state <= SDP_TIME_WAIT_1;
}

/* Is there a reason to be told of the next send completion? */
static bool sdp_tx_needs_event(const struct sdp_conn *conn)
{
	if (!conn->tx.inflight)
		return false;
	return conn->tx.want_space || conn->tx.held || conn->tx.keepalive ||
	       conn->tx.reg_waits ||
	       conn->tx.fin_posted || conn->tx.watched_ops ||
	       conn->tx.abort_posted ||
	       conn->tx.inflight_bytes > SDP_TX_LINGER ||
	       conn->tx.inflight >= conn->tx.sq_size ||
	       list_empty(&conn->tx.ctl_free);
}

/* Jiffies of silence after which the peer is asked; 0: for ever. */
static u32 sdp_tx_idle(const struct sdp_conn *conn)
{
	u32 idle = conn->tx.keep_idle;

	if (!conn->tx.waiting)
		return idle;
	return idle ? min_t(u32, idle, SDP_TX_STARVED) : SDP_TX_STARVED;
}

/*
 * What is lent beyond a call is taken back when the peer does not come for it;
 * and nobody's memory is kept for what cannot even be offered.  Jiffies until the
 * next look; 0 if the peer does not answer at all.
 */
static unsigned long sdp_tx_check_leases(struct sdp_conn *conn,
					 unsigned long now)
{
	struct sdp_src *src = &conn->tx.mode.src;
	/* Also one that waits for a credit, which the peer may never give. */
	bool cancel = src->cancel || (conn->tx.ctl & SDP_CTL_SRC_CANCEL &&
				      sdp_src_may_cancel(src));
	unsigned long patience = sdp_tx_patience(conn);
	unsigned long due = conn->tx.lent_at +
			    (cancel ? SDP_TX_CANCEL : patience);
	struct sdp_loan *loan;

	/* When it is answered others are out, perhaps. */
	if (time_before(now, due))
		return min(due - now, patience);
	if (cancel)
		return 0;
	if (sdp_src_may_cancel(src)) {
		conn->tx.ctl |= SDP_CTL_SRC_CANCEL;
		conn->tx.lent_at = now;
		return patience;
	}
	list_for_each_entry(loan, &conn->tx.loans, node)
		if (loan->state == SDP_LOAN_QUEUED)
			sdp_tx_lapse(conn, loan);
	return patience;
}

/* Is it time to give up, or to ask?  What has arrived has been reaped. */
static void sdp_tx_check(struct sdp_conn *conn)
{
	unsigned long now = jiffies, due, next = MAX_JIFFY_OFFSET;
	unsigned long shrink = sdp_size_shrink_due(conn);
	u32 idle = sdp_tx_idle(conn);

	if (shrink)
		next = shrink;
	conn->tx.watched = conn->tx.waiting;
	conn->tx.lease_check = conn->tx.lent;
	if (conn->tx.lent) {
		due = sdp_tx_check_leases(conn, now);
		if (!due) {
			conn->tx.done |= SDP_TX_DONE_TIMEOUT;
			return;
		}
		next = min(next, due);
	}
	if (conn->tx.user_timeout &&
	    (conn->tx.outstanding || !list_empty(&conn->tx.loans))) {
		due = conn->tx.progress + conn->tx.user_timeout;
		if (time_after_eq(now, due)) {
			conn->tx.done |= SDP_TX_DONE_TIMEOUT;
			return;
		}
		next = min(next, due - now);
	}
	if (idle && !conn->tx.keepalive) {
		due = READ_ONCE(conn->rx.heard) + idle;
		if (time_before(now, due)) {
			next = min(next, due - now);
		} else if (conn->tx.inflight > conn->tx.unsignalled) {
			/* What is under way, and will be heard of, asks too. */
			next = min_t(unsigned long, next, idle);
		} else {
			conn->tx.ctl |= SDP_CTL_KEEPALIVE;
		}
	}
	if (next != MAX_JIFFY_OFFSET)
		sdp_conn_check_later(conn, next);
}

static void __sdp_tx_run(struct sdp_conn *conn, bool reap)
{
	lockdep_assert_held(&conn->tx.lock);
	if (test_and_clear_bit(SDP_CONN_UNCORK, &conn->flags))
		WRITE_ONCE(conn->tx.delay, conn->tx.delay | SDP_DELAY_PUSH);
	/* The event we armed for has come: there is something to reap. */
	if (test_and_clear_bit(SDP_CONN_FIRED_SEND, &conn->flags)) {
		conn->tx.armed = false;
		reap = true;
	}
	if (unlikely(test_and_clear_bit(SDP_CONN_CHECK, &conn->flags))) {
		conn->xp->poll_send(conn);
		if (sdp_tx_may_post(conn))
			sdp_tx_check(conn);
	}
	for (;;) {
		if (reap || conn->tx.inflight >= SDP_TX_REAP)
			conn->xp->poll_send(conn);
		conn->tx.reg_waits = false;
		if (sdp_tx_may_post(conn))
			while (conn->tx.inflight < conn->tx.sq_size &&
			       sdp_tx_push_one(conn))
				;
		/* Held back for what has arrived by now, perhaps. */
		if ((conn->tx.held || conn->tx.reg_waits) && !reap) {
			reap = true;
			continue;
		}
		if (conn->tx.armed || !sdp_tx_needs_event(conn))
			return;
		conn->tx.armed = true;
		if (!conn->xp->arm_send(conn))
			return;
		conn->tx.armed = false;
		reap = true;
	}
}

/* Act on what sdp_tx_sent() found. */
static void sdp_tx_settle(struct sdp_conn *conn, u8 done)
{
	if (done & SDP_TX_DONE_LOST) {
		bool timed_out = READ_ONCE(conn->tx.timed_out);

		if (timed_out)
			sdp_count(conn->sn, SDP_CNT_TIMEOUTS, 1);
		sdp_conn_fail(conn, timed_out ? ETIMEDOUT : ECONNRESET,
			      SDP_EV_LOST, "send");
	}
	if (done & SDP_TX_DONE_TIMEOUT) {
		sdp_count(conn->sn, SDP_CNT_TIMEOUTS, 1);
		sdp_conn_fail(conn, ETIMEDOUT, SDP_EV_ABORT, "user timeout");
	}
	if (done & SDP_TX_DONE_FIN)
		sdp_conn_event(conn, SDP_EV_FIN_SENT);
	if (done & SDP_TX_DONE_ABORT) {
		sdp_conn_stop_timer(conn);
		conn->xp->act(conn, SDP_DO_DREQ);
	}
	if (done & SDP_TX_DONE_SPACE)
		sdp_conn_write_space(conn);
	/* Leases are the worker's to return, and to copy. */
	if (unlikely(done & SDP_TX_DONE_LOAN && READ_ONCE(conn->tx.lent)))
		sdp_conn_queue_work(conn);
	if (done & SDP_TX_DONE_READ)
		sdp_conn_data_ready(conn);
	else if (done & SDP_TX_DONE_LOAN && wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

static u8 sdp_tx_take_done(struct sdp_conn *conn)
{
	u8 done = conn->tx.done;

	if (conn->tx.want_space && sdp_tx_writable(conn)) {
		conn->tx.want_space = false;
		done |= SDP_TX_DONE_SPACE;
	}
	conn->tx.done = 0;
	return done;
}

static void sdp_tx_go(struct sdp_conn *conn, bool reap)
{
	u8 done = 0;

	spin_lock_bh(&conn->tx.lock);
	if (!conn->tx.dead) {
		__sdp_tx_run(conn, reap);
		done = sdp_tx_take_done(conn);
	}
	spin_unlock_bh(&conn->tx.lock);
	if (done)
		sdp_tx_settle(conn, done);
}

void sdp_tx_run(struct sdp_conn *conn)
{
	sdp_tx_go(conn, false);
}

void sdp_tx_reap(struct sdp_conn *conn)
{
	sdp_tx_go(conn, true);
}

void sdp_tx_set_delay(struct sdp_conn *conn, u8 delay)
{
	if (READ_ONCE(conn->tx.delay) == delay)
		return;
	if (!(delay & SDP_DELAY_CORK))
		sdp_conn_uncork_never(conn);
	spin_lock_bh(&conn->tx.lock);
	clear_bit(SDP_CONN_UNCORK, &conn->flags);
	WRITE_ONCE(conn->tx.delay, delay);
	spin_unlock_bh(&conn->tx.lock);
}

void sdp_tx_set_alive(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout)
{
	spin_lock_bh(&conn->tx.lock);
	/* Who asks for it now did not ask before, so it begins now. */
	if (keep_idle && !conn->tx.keep_idle)
		WRITE_ONCE(conn->rx.heard, jiffies);
	WRITE_ONCE(conn->tx.keep_idle, keep_idle);
	WRITE_ONCE(conn->tx.user_timeout, user_timeout);
	if (!conn->tx.dead && (keep_idle || user_timeout))
		sdp_conn_check_later(conn, 0);
	spin_unlock_bh(&conn->tx.lock);
}

bool sdp_tx_want_space(struct sdp_conn *conn)
{
	bool room, others;
	u8 done = 0;

	spin_lock_bh(&conn->tx.lock);
	others = conn->tx.want_space;
	if (!conn->tx.dead) {
		conn->tx.want_space = true;
		__sdp_tx_run(conn, true);
		done = sdp_tx_take_done(conn);
	}
	room = conn->tx.dead || !conn->tx.want_space;
	spin_unlock_bh(&conn->tx.lock);
	/* Who asks now sees the room himself; who asked before sleeps. */
	sdp_tx_settle(conn, others ? done : done & ~SDP_TX_DONE_SPACE);
	return room;
}

/* Bytes that an RDMA Read has brought are the stream's next. */
static void sdp_tx_read_done(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_buf *buf = msg->buf;

	sdp_snk_read(&conn->tx.mode.snk, msg->bytes);
	conn->tx.ctl |= SDP_CTL_RD_COMPL;
	sdp_count(conn->sn, SDP_CNT_BYTES_RECEIVED, msg->bytes);
	spin_lock(&conn->rx.lock);
	conn->rx.bytes += msg->bytes;
	if (buf) {
		buf->off = 0;
		buf->left = msg->bytes;
		buf->mark = 0;
		list_add_tail(&buf->node, &conn->rx.queue);
		conn->rx.inq += msg->bytes;
		msg->buf = NULL;
	} else {
		conn->rx.read += msg->bytes;
	}
	spin_unlock(&conn->rx.lock);
	if (buf) {
		conn->tx.done |= SDP_TX_DONE_READ;
		conn->tx.fetched_bytes += msg->bytes;
		sdp_count(conn->sn, SDP_CNT_FETCHED, msg->bytes);
	} else {
		msg->loan->moved = msg->bytes;
		conn->tx.taken_bytes += msg->bytes;
		sdp_count(conn->sn, SDP_CNT_TAKEN, msg->bytes);
	}
}

/* The peer's device has it, and ours need not repeat it: its key is taken back. */
static void sdp_tx_written(struct sdp_conn *conn, struct sdp_msg *msg)
{
	msg->op = SDP_OP_TAKE_BACK;
	msg->slots = 1;
	msg->loan->state = SDP_LOAN_BACK;
	msg->loan->moved = msg->bytes;
	conn->tx.lent_at = jiffies;
	if (msg->loan->lease)
		sdp_mode_lent(&conn->tx.mode, true);
	list_add_tail(&msg->node, &conn->tx.back);
}

static void sdp_tx_retire(struct sdp_conn *conn, struct sdp_msg *msg)
{
	list_del_init(&msg->node);
	conn->tx.inflight -= msg->slots;
	if (unlikely(sdp_tx_is_watched(msg))) {
		conn->tx.watched_ops--;
		if (msg->op == SDP_OP_READ)
			sdp_tx_read_done(conn, msg);
		if (msg->loan)
			conn->tx.done |= SDP_TX_DONE_LOAN;
	}
	conn->tx.inflight_bytes -= msg->charged;
	WRITE_ONCE(conn->tx.outstanding, conn->tx.outstanding - msg->charged);
	if (msg->op == SDP_OP_NOTHING) {
		bool other = sdp_tx_is_timed(conn);
		u32 idle = sdp_tx_idle(conn);

		conn->tx.keepalive = false;
		WRITE_ONCE(conn->rx.heard, jiffies);
		if (idle && !conn->tx.dead)
			sdp_conn_check_later(conn, other ? 0 : idle);
		else
			conn->tx.watched = false;
	} else {
		conn->tx.progress = jiffies;
		if (conn->tx.small_out && msg->op == SDP_OP_SEND &&
		    msg->mseq == conn->tx.small_mseq)
			conn->tx.small_out = false;
	}
	if (msg->op != SDP_OP_SEND)
		;
	else if (msg->mid == SDP_MID_DISCONN)
		conn->tx.done |= SDP_TX_DONE_FIN;
	else if (msg->mid == SDP_MID_ABORT_CONN)
		conn->tx.done |= SDP_TX_DONE_ABORT;
	if (unlikely(msg->op == SDP_OP_WRITE))
		sdp_tx_written(conn, msg);
	else
		sdp_msg_sent(conn, msg);
	if (!conn->tx.outstanding)
		sdp_msg_idle(conn);
}

void sdp_tx_sent(struct sdp_conn *conn, struct sdp_msg *msg, int status)
{
	struct sdp_msg *first;
	bool last;

	lockdep_assert_held(&conn->tx.lock);
	trace_sdp_send_done(conn->id, msg->mid, msg->mseq, status);
	if (status) {
		/* All stays posted until the queue pair is destroyed. */
		if (!conn->tx.broken) {
			conn->tx.done |= SDP_TX_DONE_LOST;
			conn->tx.timed_out = status == -ETIMEDOUT;
		}
		conn->tx.broken = true;
		return;
	}
	do {
		first = list_first_entry(&conn->tx.posted, struct sdp_msg,
					 node);
		last = first == msg;
		sdp_tx_retire(conn, first);
	} while (!last);
}

/* What a caller has on loan he leaves on the list until it is free. */
static bool sdp_tx_hold_back(struct list_head *loans)
{
	struct sdp_loan *loan;

	list_for_each_entry(loan, loans, node)
		loan->state = SDP_LOAN_BACK;
	return !list_empty(loans);
}

/*
 * The device's part goes now, as no queue pair leads to it.  The callers may be
 * kept by a page that does not come, and a device that is removed does not wait
 * for that.  What they put behind meanwhile stays for as long as what is first.
 */
static void sdp_tx_unlend(struct sdp_conn *conn, struct list_head *loans)
{
	struct sdp_loan *loan;

	list_for_each_entry(loan, loans, node)
		if (loan->span.mr)
			conn->xp->unlend(conn, &loan->span);
	spin_lock_bh(&conn->tx.lock);
	list_for_each_entry(loan, loans, node)
		loan->state = SDP_LOAN_FREE;
	spin_unlock_bh(&conn->tx.lock);
}

void sdp_tx_drop(struct sdp_conn *conn)
{
	struct sdp_msg *msg, *next;
	bool loans, takes, asks;
	LIST_HEAD(drop);

	sdp_conn_uncork_never(conn);
	sdp_conn_check_never(conn);
	sdp_conn_fetch_never(conn);
	spin_lock_bh(&conn->tx.lock);
	list_splice_init(&conn->tx.posted, &drop);
	list_splice_tail_init(&conn->tx.queue, &drop);
	list_splice_tail_init(&conn->tx.reads, &drop);
	list_splice_tail_init(&conn->tx.back, &drop);
	conn->tx.inflight = 0;
	conn->tx.inflight_bytes = 0;
	conn->tx.watched_ops = 0;
	list_for_each_entry_safe(msg, next, &drop, node) {
		list_del_init(&msg->node);
		conn->tx.outstanding -= msg->charged;
		sdp_msg_free(conn, msg);
	}
	loans = sdp_tx_hold_back(&conn->tx.loans);
	takes = sdp_tx_hold_back(&conn->tx.takes);
	asks = sdp_tx_hold_back(&conn->tx.asks);
	spin_unlock_bh(&conn->tx.lock);
	if (loans)
		sdp_tx_unlend(conn, &conn->tx.loans);
	if (takes)
		sdp_tx_unlend(conn, &conn->tx.takes);
	if (asks)
		sdp_tx_unlend(conn, &conn->tx.asks);
	if (READ_ONCE(conn->tx.lent))
		sdp_conn_queue_work(conn);
	sdp_conn_write_space(conn);
}
