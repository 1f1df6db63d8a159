// SPDX-License-Identifier: GPL-2.0
/*
 * The zero-copy sink: the buffer of a reader that waits.
 *
 * Reading.  A caller that sleeps in recv() with a large buffer is woken by a
 * SrcAvail as by any message.  The caller pins a piece of its buffer, registers
 * it for the device's own use, and posts an RDMA Read into it; then the next
 * piece.  It does not return before the device has released the last one, since
 * from then on the memory is the program's again.  Neither side copies.  This
 * is possible when the advertised bytes are the next to be read: nothing that
 * came before is unread, and none of it is being read for another reader.
 *
 * SrcAvails come at any time, and even a reader that takes everything at once
 * is away for a moment between two calls.  So if the last reader read directly,
 * what is advertised is left alone for a moment before it is read to a bounce
 * buffer (sdp_zsink_bounce.c).
 *
 * Being written to.  A caller that is about to sleep with a large buffer has
 * time to pin it, and advertises it by a SinkAvail (protocol text, 4.4).  The
 * peer writes there what it sends next, and its RdmaWrCompl ends the call.  Any
 * other payload of the peer makes the SinkAvail void, and takes its usual way.
 * This is worth it for a reader that waits for long data.  So it is not done
 * where the peer has never advertised anything (a source is led to pipelined
 * mode by its first SrcAvails), and less and less often where the last
 * SinkAvails were of no use (sdp_zpolicy.c).  One is outstanding at a time:
 * with two, and the first not filled to its end, there would be a hole.  A
 * reader may sleep for hours, and memory is not pinned for so long: after
 * net.sdp.zcopy_wait the SinkAvail is cancelled, and the reader sleeps as any
 * other.
 *
 * One reader does either at a time; others wait.
 */
#include <linux/uio.h>
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_umr.h"
#include "sdp_zsink.h"

/**
 * sdp_zsink_wants() - whether a recv() may be read into directly
 * @conn: the connection
 * @iter: its buffer
 * @len: bytes that are wanted
 *
 * If so, what is advertised is left to this call until sdp_zsink_wanted(), and
 * for a moment after that.
 *
 * Context: process; the caller has the socket lock.
 * Return: true if it is user memory, long enough, and RDMA Reads are possible.
 */
bool sdp_zsink_wants(struct sdp_conn *conn, const struct iov_iter *iter,
		     size_t len)
{
	u32 least = sdp_conn_zcopy(conn);
	bool wants = least && len >= least && conn->caps.may_read &&
		     user_backed_iter(iter) && sdp_iter_len(iter) >= least;

	if (wants)
		WRITE_ONCE(conn->zsink.readers, conn->zsink.readers + 1);
	if (wants != READ_ONCE(conn->zsink.direct))
		WRITE_ONCE(conn->zsink.direct, wants);
	return wants;
}

/**
 * sdp_zsink_wanted() - undo sdp_zsink_wants(): the call ends, or has to copy
 * @conn: the connection
 * @again: whether the next call may be expected to be read into directly
 *
 * Context: process; the caller has the socket lock.
 */
void sdp_zsink_wanted(struct sdp_conn *conn, bool again)
{
	WRITE_ONCE(conn->zsink.readers, conn->zsink.readers - 1);
	if (!again)
		WRITE_ONCE(conn->zsink.direct, false);
	/* A poller that saw this reader left the rest to it: it looks now. */
	smp_mb();
}

/* Are the advertised bytes next in the stream, and no other reader's? */
static bool sdp_zsink_read_is_next(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return !conn->dead && !conn->zsink.held &&
	       sdp_snk_may_read(&conn->mode.snk) && !sdp_conn_unread(conn);
}

/**
 * sdp_zsink_read_begin() - claim the next bytes of the stream for direct reads
 * @conn: the connection; the caller has the socket lock, and may release it
 *	until sdp_zsink_end()
 *
 * Context: process.
 * Return: true if they are advertised and no other reader reads them: they are
 * the caller's.
 */
bool sdp_zsink_read_begin(struct sdp_conn *conn)
{
	bool mine = false;

	if (!READ_ONCE(conn->mode.snk.held.n))
		return false;
	spin_lock_bh(&conn->lock);
	if (!conn->zsink.busy && sdp_zsink_read_is_next(conn)) {
		conn->zsink.busy = true;
		conn->zsink.gave_up = false;
		mine = true;
	}
	spin_unlock_bh(&conn->lock);
	return mine;
}

/* Bytes for the next read, and the MSeq of their SrcAvail; 0: none now. */
static u32 sdp_zsink_read_offered(struct sdp_conn *conn, u32 *id)
{
	const struct sdp_advert *from;
	u32 bytes = 0;

	spin_lock_bh(&conn->lock);
	from = sdp_snk_may_read(&conn->mode.snk);
	if (sdp_zsink_read_is_next(conn) && list_empty(&conn->zsink.reads) &&
	    !conn->zsink.gave_up) {
		*id = from->mseq;
		bytes = from->left;
	}
	spin_unlock_bh(&conn->lock);
	return bytes;
}

/* Queue a read behind those under way, or a SinkAvail.  -ENODEV if the
 * connection is dead.
 */
static int sdp_zsink_queue(struct sdp_conn *conn, struct sdp_umr *umr)
{
	int err = sdp_umr_reg(conn, umr);

	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	/* Nothing may be listed after sdp_tx_drop(). */
	if (conn->dead) {
		err = -ENODEV;
	} else if (umr->op.op == SDP_OP_READ) {
		list_add_tail(&umr->op.node, &conn->zsink.reads);
		list_add_tail(&umr->node, &conn->zsink.read_umrs);
	} else {
		conn->tx.ctl |= SDP_CTL_SINK_AVAIL;
		list_add_tail(&umr->node, &conn->zsink.avail_umrs);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

/**
 * sdp_zsink_read_more() - queue the next direct read
 * @conn: the connection
 * @iter: where to; advanced
 * @len: bytes at most
 *
 * It is posted by the next sdp_tx_run() that has room.
 *
 * Context: process; sleeps.
 * Return: bytes; 0 if there is no more now; a negative errno if the rest is to
 * be copied.
 */
ssize_t sdp_zsink_read_more(struct sdp_conn *conn, struct iov_iter *iter, size_t len)
{
	struct sdp_umr *umr;
	size_t bytes, most;
	u32 id;
	int err;

	bytes = min_t(size_t, sdp_zsink_read_offered(conn, &id), len);
	if (!bytes)
		return 0;
	most = sdp_umr_piece(conn, bytes, false);
	bytes = sdp_umr_piece(conn, bytes,
			      list_empty_careful(&conn->zsink.read_umrs));
	umr = sdp_umr_make(conn, SDP_OP_READ, DMA_FROM_DEVICE, iter, bytes,
			   most);
	if (IS_ERR(umr))
		return PTR_ERR(umr);
	bytes = umr->umem.bytes;
	umr->op.mseq = id;
	err = sdp_zsink_queue(conn, umr);
	if (err) {
		sdp_umr_return(conn, umr);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

/* Is this memory still for what is read next? */
static bool sdp_zsink_may_read(const struct sdp_conn *conn, const struct sdp_umr *umr)
{
	const struct sdp_advert *from = sdp_snk_may_read(&conn->mode.snk);

	return from && from->mseq == umr->op.mseq && from->left >= umr->umem.bytes;
}

/**
 * sdp_zsink_read_reap() - unpin the oldest pieces, as far as they are IDLE
 * @conn: the connection
 *
 * Reads that cannot be posted any more are given up.
 *
 * Context: process; sleeps.
 * Return: how many bytes were read into the caller's buffer.
 */
size_t sdp_zsink_read_reap(struct sdp_conn *conn)
{
	struct sdp_umr *umr;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, &conn->zsink.read_umrs, node) {
		/* Its advert has ended, or the connection has failed. */
		if (umr->state == SDP_UMR_QUEUED &&
		    (conn->err || !sdp_zsink_may_read(conn, umr))) {
			list_del_init(&umr->op.node);
			umr->state = SDP_UMR_IDLE;
			/* Nothing is read after it: there would be a hole. */
			conn->zsink.gave_up = true;
		}
	}
	spin_unlock_bh(&conn->lock);
	return sdp_umr_reap(conn, &conn->zsink.read_umrs);
}

/**
 * sdp_zsink_avail_begin() - whether to advertise a waiting reader's buffer
 * @conn: the connection; the caller has the socket lock, and may release it
 *	until sdp_zsink_end()
 *
 * Context: process.
 * Return: true if so; no other reader reads directly or advertises from now on.
 */
bool sdp_zsink_avail_begin(struct sdp_conn *conn)
{
	bool mine;

	if (!READ_ONCE(conn->sn->zcopy_write) ||
	    READ_ONCE(conn->mode.snk.mode) != SDP_MODE_PIPELINED)
		return false;
	spin_lock_bh(&conn->lock);
	mine = !conn->dead && !conn->err && !conn->zsink.busy &&
	       sdp_mode_may_ask(&conn->mode, sdp_conn_unread(conn)) &&
	       sdp_zpolicy_may_ask(&conn->zpolicy);
	if (mine)
		conn->zsink.busy = true;
	spin_unlock_bh(&conn->lock);
	return mine;
}

/**
 * sdp_zsink_avail_make() - register a reader's buffer and queue its SinkAvail
 * @conn: the connection; sdp_zsink_avail_begin() was true
 * @iter: the buffer; not advanced
 * @len: its length in bytes
 *
 * sdp_tx_run() posts the SinkAvail when credits allow that, unless data comes
 * before.
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno: -EMSGSIZE if it is too short, or the error of
 * sdp_umr_make() or sdp_umr_reg().
 */
int sdp_zsink_avail_make(struct sdp_conn *conn, const struct iov_iter *iter, size_t len)
{
	struct sdp_umr *umr;
	u32 bytes = sdp_umr_piece(conn, len, false);
	int err;

	umr = sdp_umr_make(conn, SDP_OP_INVALIDATE, DMA_FROM_DEVICE, iter,
			   bytes, bytes);
	if (IS_ERR(umr))
		return PTR_ERR(umr);
	/* Any Data has to fit into it (4.4). */
	err = umr->umem.bytes < conn->rcv_size ? -EMSGSIZE :
						  sdp_zsink_queue(conn, umr);
	if (err)
		sdp_umr_return(conn, umr);
	return err;
}

/**
 * sdp_zsink_avail_reap() - unpin the reader's buffer if it is IDLE
 * @conn: the connection
 *
 * Context: process; sleeps.
 * Return: bytes that the peer has written.
 */
size_t sdp_zsink_avail_reap(struct sdp_conn *conn)
{
	return sdp_umr_reap(conn, &conn->zsink.avail_umrs);
}

/**
 * sdp_zsink_avail_cancel() - cancel the SinkAvail: the reader waits no longer
 * @conn: the connection
 *
 * If it was posted already the peer has to resolve it, so the caller has to
 * wait for the answer.  The caller calls sdp_tx_run().
 *
 * Context: process.
 */
void sdp_zsink_avail_cancel(struct sdp_conn *conn)
{
	struct sdp_umr *umr;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, &conn->zsink.avail_umrs, node) {
		trace_sdp_snk_cancel(conn->id, umr->umem.bytes,
				     umr->state == SDP_UMR_QUEUED ?
				     "not posted" : "posted");
		if (umr->state == SDP_UMR_QUEUED)
			umr->state = SDP_UMR_IDLE;
	}
	if (sdp_snk_may_cancel(&conn->mode.snk))
		conn->tx.ctl |= SDP_CTL_SINK_CANCEL;
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_zsink_avail_told() - the peer has reported what became of our SinkAvail
 * @conn: the connection, conn->lock held
 * @told: the report
 *
 * Context: process or softirq.
 */
void sdp_zsink_avail_told(struct sdp_conn *conn, const struct sdp_advert_told *told)
{
	struct sdp_umr *umr;

	lockdep_assert_held(&conn->lock);
	umr = list_first_entry_or_null(&conn->zsink.avail_umrs, struct sdp_umr, node);
	if (!umr || umr->state != SDP_UMR_ADVERTISED)
		return;
	trace_sdp_snk_told(conn->id, told->bytes, told->done,
			   told->news & SDP_ADVERT_WITHDRAWN);
	umr->moved = told->bytes;
	sdp_umr_comes_back(conn, umr);
	conn->tx.done |= SDP_TX_DONE_UMR;
	sdp_zpolicy_asked(&conn->zpolicy,
			  !sdp_mode_crossed(&conn->mode) && told->bytes);
	sdp_conn_stats_filled(&conn->stats, told->bytes);
	spin_lock(&conn->rx.lock);
	conn->rx.bytes += told->bytes;
	conn->rx.read += told->bytes;
	spin_unlock(&conn->rx.lock);
	sdp_count(conn->sn, SDP_CNT_BYTES_RECEIVED, told->bytes);
	sdp_count(conn->sn, SDP_CNT_FILLED, told->bytes);
}

/**
 * sdp_zsink_end() - others may read again
 * @conn: the connection; nothing of the caller is being read or advertised
 *
 * Context: process.
 */
void sdp_zsink_end(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->zsink.busy = false;
	spin_unlock_bh(&conn->lock);
	/* Another reader may wait. */
	if (wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

/**
 * sdp_zsink_push_read() - post the next RDMA Read, if something is to be read
 * @conn: the connection, conn->lock held; sdp_zsink_has_reads() is true
 *
 * Context: process or softirq.
 * Return: true if it was posted.
 */
bool sdp_zsink_push_read(struct sdp_conn *conn)
{
	struct sdp_snk *snk = &conn->mode.snk;
	const struct sdp_advert *from;
	struct sdp_msg *msg;
	u32 room;

	lockdep_assert_held(&conn->lock);
	from = sdp_snk_may_read(snk);
	if (!from || conn->zsink.held)
		return false;
	msg = list_first_entry(&conn->zsink.reads, struct sdp_msg, node);
	room = msg->umr ? msg->umr->umem.bytes : msg->buf->size;
	if (msg->umr && (!sdp_zsink_may_read(conn, msg->umr) ||
			 !sdp_post_can(conn, SDP_OP_READ)))
		return false;
	msg->bytes = min(room, from->left);
	msg->va = from->va;
	msg->rkey = from->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	if (msg->umr)
		msg->umr->state = SDP_UMR_ADVERTISED;
	sdp_snk_read_posted(snk, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_RDMA_READS, 1);
	trace_sdp_read(conn->id, msg->bytes, from->rkey, !!msg->umr);
	sdp_post_op(conn, msg);
	return true;
}

/**
 * sdp_zsink_add_read() - queue an RDMA Read
 * @conn: the connection, conn->lock held
 * @msg: its request
 *
 * Context: process or softirq.
 */
void sdp_zsink_add_read(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->lock);
	list_add_tail(&msg->node, &conn->zsink.reads);
}

/**
 * sdp_zsink_hold() - hold RDMA Reads back until inline bytes are delivered
 * @conn: the connection, conn->lock held
 * @hold: true if the inline bytes are not delivered yet
 *
 * Context: process or softirq.
 */
void sdp_zsink_hold(struct sdp_conn *conn, bool hold)
{
	lockdep_assert_held(&conn->lock);
	conn->zsink.held = hold;
}

/**
 * sdp_zsink_unread() - advertised bytes that no queued RDMA Read is for
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: bytes; 0 or less if there are none, a direct reader is busy, or the
 * connection has failed.
 */
s64 sdp_zsink_unread(const struct sdp_conn *conn)
{
	const struct sdp_msg *msg;
	s64 bytes;

	lockdep_assert_held(&conn->lock);
	if (conn->err || conn->dead || conn->zsink.busy)
		bytes = 0;
	else
		bytes = sdp_snk_unread(&conn->mode.snk);
	list_for_each_entry(msg, &conn->zsink.reads, node)
		bytes -= msg->umr ? msg->umr->umem.bytes : msg->buf->size;
	return bytes;
}

/**
 * sdp_zsink_drop_bounced() - drop queued RDMA Reads to bounce buffers
 * @conn: the connection, conn->lock held
 * @all: drop them in any case; false: only if a direct reader is busy, which
 *	has what is next, or if the connection is dead
 *
 * Context: process or softirq.
 */
void sdp_zsink_drop_bounced(struct sdp_conn *conn, bool all)
{
	struct sdp_msg *msg, *next;

	lockdep_assert_held(&conn->lock);
	if (!all && !conn->dead && !conn->zsink.busy)
		return;
	list_for_each_entry_safe(msg, next, &conn->zsink.reads, node) {
		if (msg->umr)
			continue;
		list_del_init(&msg->node);
		sdp_msg_free(conn, msg);
	}
}
