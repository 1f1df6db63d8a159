// SPDX-License-Identifier: GPL-2.0
/*
 * The zero-copy source: what becomes of memory that is queued.
 *
 * When its turn in the stream has come, the memory's SrcAvail is posted; or the
 * memory is written into the buffer that the peer has advertised (SinkAvail).
 * When the peer reports what it has read or refuses, the key comes back, and
 * what is left goes by copy: the caller's that waits (sdp_zsrc.c), or the
 * worker's (sdp_zsrc_async.c).
 *
 * All of this is under conn->lock, by whoever posts or takes in what arrives.
 */
#include "sdp_ctl.h"
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx_push.h"
#include "sdp_umr.h"
#include "sdp_zsrc.h"

/**
 * sdp_zsrc_lapse() - send async memory by copy, and nothing else before that
 * @conn: the connection, conn->lock held
 * @umr: the memory
 * @why: one of SDP_CNT_COPIED_*; a reason that it has already stays
 *
 * The worker copies; tx.done tells it.
 *
 * Context: process or softirq.
 */
void sdp_zsrc_lapse(struct sdp_conn *conn, struct sdp_umr *umr, enum sdp_counter why)
{
	lockdep_assert_held(&conn->lock);
	if (!umr->why)
		umr->why = why;
	umr->rest = true;
	sdp_zsrc_async_refuse(&conn->zsrc_async);
	conn->tx.done |= SDP_TX_DONE_UMR;
}

/**
 * sdp_zsrc_told() - the peer has reported what became of our SrcAvails
 * @conn: the connection, conn->lock held
 * @told: the report
 *
 * Context: process or softirq.
 */
void sdp_zsrc_told(struct sdp_conn *conn, const struct sdp_advert_told *told)
{
	struct sdp_umr *umr;
	u32 bytes = told->bytes;
	u8 done = told->done;

	lockdep_assert_held(&conn->lock);
	trace_sdp_src_told(conn->id, bytes, done, told->news & SDP_ADVERT_WITHDRAWN);
	list_for_each_entry(umr, &conn->zsrc.umrs, node) {
		/* RDMA Writes end by their own completion alone. */
		if (umr->state != SDP_UMR_ADVERTISED || umr->op.op == SDP_OP_WRITE)
			continue;
		umr->moved += bytes;
		bytes = 0;
		if (!done && !(told->news & SDP_ADVERT_WITHDRAWN))
			break;
		sdp_umr_comes_back(conn, umr);
		if (done)
			done--;
		if (!umr->async)
			continue;
		if (umr->moved < umr->umem.bytes)
			sdp_zsrc_lapse(conn, umr, SDP_CNT_COPIED_REFUSED);
		else
			sdp_zpolicy_offered(&conn->zpolicy, true);
	}
	if (told->news & SDP_ADVERT_WITHDRAWN && !conn->mode.src.held.n)
		sdp_zpolicy_offered(&conn->zpolicy, false);
	if (told->news & SDP_ADVERT_WITHDRAWN && conn->zsrc.busy &&
	    !conn->zsrc.withdrawn) {
		sdp_zsrc_withdraw(conn, conn->mode.src.held.n ?
				  "SinkAvail" : "refused");
		if (!conn->mode.src.held.n)
			sdp_count(conn->sn, SDP_CNT_OFFERS_REFUSED, 1);
	} else if (sdp_zsrc_async_refused(&conn->zsrc_async) && !conn->mode.src.held.n) {
		sdp_count(conn->sn, SDP_CNT_OFFERS_REFUSED, 1);
	}
	sdp_conn_stats_taken(&conn->stats, told->bytes);
	sdp_count(conn->sn, SDP_CNT_BYTES_SENT, told->bytes);
	sdp_timers_moved(&conn->timers, jiffies);
	sdp_zsrc_moved(&conn->zsrc, jiffies);
	conn->tx.done |= SDP_TX_DONE_UMR;
}

/* Must a ModeChange go first?  A SrcAvail without inline bytes is for pipelined
 * mode.
 */
static bool sdp_zsrc_needs_pipeline(const struct sdp_conn *conn, const struct sdp_msg *msg)
{
	return !msg->payload && conn->mode.src.mode == SDP_MODE_COMBINED;
}

/* May a SrcAvail, or the ModeChange before it, be posted now (4.1 to 4.3)? */
static bool sdp_zsrc_may_follow(const struct sdp_conn *conn, const struct sdp_msg *msg)
{
	const struct sdp_src *src = &conn->mode.src;

	if (sdp_zsrc_needs_pipeline(conn, msg))
		return sdp_src_may_change(src, SDP_MODE_PIPELINED);
	return sdp_src_may_offer(src) && sdp_mode_has_advert(&conn->mode) &&
	       src->out.n < READ_ONCE(conn->sn->zcopy_adverts);
}

/* Write the next piece of the stream into the peer's oldest SinkAvail. */
static bool sdp_zsrc_push_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_src *src = &conn->mode.src;
	const struct sdp_advert *to = sdp_src_may_write(src);
	struct sdp_umr *umr = msg->umr;

	/* It was cancelled meanwhile, or copied data has made it void. */
	if (!to || to->left < umr->umem.bytes) {
		sdp_zsrc_withdraw(conn, "no room in a SinkAvail");
		return true;
	}
	if (!sdp_post_can(conn, SDP_OP_WRITE))
		return false;
	msg->bytes = umr->umem.bytes;
	msg->va = to->va;
	msg->rkey = to->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	umr->state = SDP_UMR_ADVERTISED;
	umr->msg = NULL;
	conn->zsrc.more = msg->more;
	conn->tx.ctl |= SDP_CTL_WR_COMPL;
	sdp_conn_stats_written(&conn->stats, msg->bytes);
	sdp_zsrc_moved(&conn->zsrc, jiffies);
	sdp_count(conn->sn, SDP_CNT_BYTES_SENT, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_WRITTEN, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_RDMA_WRITES, 1);
	trace_sdp_write(conn->id, msg->bytes, to->rkey);
	sdp_src_wrote(src, msg->bytes);
	sdp_post_op(conn, msg);
	return true;
}

/*
 * Async memory is next in the stream, and the peer has a SinkAvail outstanding:
 * the memory is written there if there is room for it, and copied if not.
 */
static bool sdp_zsrc_push_async(struct sdp_conn *conn, struct sdp_msg *msg)
{
	const struct sdp_advert *to = sdp_src_may_write(&conn->mode.src);
	struct sdp_umr *umr = msg->umr;

	/* A RdmaWrCompl or SinkCancelAck is due: that goes first. */
	if (!to || conn->mode.src.wrote)
		return false;
	if (to->left < umr->umem.bytes) {
		sdp_zsrc_lapse(conn, umr, SDP_CNT_COPIED_REFUSED);
		return false;
	}
	if (!sdp_post_can(conn, SDP_OP_WRITE))
		return false;
	umr->op.op = SDP_OP_WRITE;
	umr->op.full = true;
	umr->msg = &umr->op;
	list_add(&umr->op.node, &msg->node);
	sdp_zsrc_drop_msg(conn, msg);
	return sdp_zsrc_push_write(conn, &umr->op);
}

/* Post a SrcAvail: the peer may read the memory from now on. */
static bool sdp_zsrc_push_avail(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_umr *umr = msg->umr;

	if (!sdp_zsrc_may_follow(conn, msg) || !sdp_tx_may_go(conn))
		return false;
	if (sdp_zsrc_needs_pipeline(conn, msg))
		return sdp_ctl_push_pipelined(conn);
	if (!sdp_post_can(conn, SDP_OP_ADVERTISE))
		return false;
	sdp_umr_fill_avail(umr, &hdr);
	umr->moved = msg->payload;
	sdp_tx_post_data(conn, msg, &hdr);
	sdp_src_offered(&conn->mode.src, msg->mseq, umr->umem.bytes - msg->payload,
			msg->payload);
	/* The advert may be resolved before this message's completion comes. */
	msg->umr = NULL;
	sdp_zsrc_moved(&conn->zsrc, jiffies);
	sdp_count(conn->sn, SDP_CNT_OFFERS, 1);
	return true;
}

/**
 * sdp_zsrc_push() - post the next of the stream, which is user memory
 * @conn: the connection, conn->lock held
 * @msg: the first of tx.queue, a SrcAvail or an RDMA Write
 *
 * Context: process or softirq.
 * Return: true if something was posted, or the queue has changed; false if it
 * has to wait.
 */
bool sdp_zsrc_push(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->lock);
	if (msg->op == SDP_OP_WRITE)
		return sdp_zsrc_push_write(conn, msg);
	if (msg->umr->async && conn->mode.src.held.n)
		return sdp_zsrc_push_async(conn, msg);
	return sdp_zsrc_push_avail(conn, msg);
}
