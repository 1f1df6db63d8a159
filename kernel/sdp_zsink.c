// SPDX-License-Identifier: GPL-2.0
/*
 * The sink without a copy: the buffer of a reader that waits.
 *
 * Reading.  A caller who sleeps in recv() with a large buffer is woken by the
 * SrcAvail as by any message.  The caller pins a piece of its buffer, registers it
 * for the device's own use, and posts an RDMA Read into it, for several pieces one
 * after the other; and does not leave before the device has let go of the last,
 * since from then on the memory is the program's again.  Neither side copies.  It is
 * possible when what is advertised is what would be read next: nothing that came
 * before lies unread, and none of it is being read for somebody else.
 *
 * Adverts come when they like, and a reader who takes everything at once still
 * is away for a moment between two calls.  So what is advertised then is left alone
 * for a moment before it is read to a buffer of ours (sdp_zsink_bounce.c), if the
 * last reader was such a one.
 *
 * Being written to.  A caller who is about to sleep with a large buffer has time to
 * pin it, and advertises it by a SinkAvail (protocol text, 4.4).  What the peer sends
 * next it writes there, and its RdmaWrCompl ends the call.  Whatever else the peer
 * sends makes the SinkAvail void, and takes its usual way.  That is worth it for who
 * waits for what is long: so it is not done where the peer has never advertised
 * anything (a source is led to pipelined mode by its first SrcAvails), and less and
 * less where the last ones were of no use (sdp_zpolicy.c).  One is out at a time: with
 * two, and the first not filled to its end, there would be a hole.  A reader may
 * sleep for hours, and memory is not pinned for so long: after net.sdp.zcopy_wait it
 * is asked back, and the reader sleeps as any other.
 *
 * One reader does either at a time; another one waits.
 */
#include <linux/uio.h>
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_umr.h"
#include "sdp_zsink.h"

/**
 * sdp_zsink_wants() - may this recv() be read into?
 * @conn: the connection
 * @iter: where to
 * @len: bytes that are wanted
 *
 * If so what is offered is left for it from now on, until sdp_zsink_wanted(), and
 * for a moment after that.
 *
 * Context: process; the caller has the socket lock.
 * Return: true if it is user memory, and long enough.
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
 * sdp_zsink_wanted() - the call ends, or cannot have it so
 * @conn: the connection
 * @again: whether the next of its kind may be expected to
 *
 * Context: process; the caller has the socket lock.
 */
void sdp_zsink_wanted(struct sdp_conn *conn, bool again)
{
	WRITE_ONCE(conn->zsink.readers, conn->zsink.readers - 1);
	if (!again)
		WRITE_ONCE(conn->zsink.direct, false);
	smp_mb();	/* who saw him left the rest to him: he looks now */
}

/* Is what the peer offers next in the stream, and nobody's? */
static bool sdp_zsink_read_is_next(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return !conn->dead && !conn->zsink.held &&
	       sdp_snk_may_read(&conn->mode.snk) && !sdp_conn_unread(conn);
}

/**
 * sdp_zsink_read_begin() - are the next bytes of the stream to be had so?
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_zsink_end()
 *
 * Context: process.
 * Return: true if they are offered and nobody else reads them: they are the
 * caller's.
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

/* Bytes that the next read may have, and of which advert; 0: none now. */
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

/* Its turn is behind what is being read.  -ENODEV: there is no connection any more. */
static int sdp_zsink_read_queue(struct sdp_conn *conn, struct sdp_umr *umr)
{
	int err = sdp_umr_reg(conn, umr);

	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	/* Nothing is listed behind sdp_tx_drop(). */
	if (conn->dead) {
		err = -ENODEV;
	} else {
		list_add_tail(&umr->op.node, &conn->zsink.reads);
		list_add_tail(&umr->node, &conn->zsink.read_umrs);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

/**
 * sdp_zsink_read_more() - have the next of them read
 * @conn: the connection
 * @iter: where to; advanced
 * @len: bytes at most
 *
 * Posted by the next sdp_tx_run() that has room.
 *
 * Context: process; sleeps.
 * Return: bytes; 0 if there is no more now; a negative errno: the rest is to go
 * by copy.
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
	err = sdp_zsink_read_queue(conn, umr);
	if (err) {
		sdp_umr_return(conn, umr);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

/* Is it still the memory for what is read next? */
static bool sdp_zsink_may_read(const struct sdp_conn *conn, const struct sdp_umr *umr)
{
	const struct sdp_advert *from = sdp_snk_may_read(&conn->mode.snk);

	return from && from->mseq == umr->op.mseq && from->left >= umr->umem.bytes;
}

/**
 * sdp_zsink_read_reap() - unpin what is read
 * @conn: the connection
 *
 * What turned out not to be read any more is given up.
 *
 * Context: process; sleeps.
 * Return: bytes that are where they are wanted.
 */
size_t sdp_zsink_read_reap(struct sdp_conn *conn)
{
	struct sdp_umr *umr;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, &conn->zsink.read_umrs, node) {
		/* Not what the peer offers now, or nothing goes any more. */
		if (umr->state == SDP_UMR_QUEUED &&
		    (conn->err || !sdp_zsink_may_read(conn, umr))) {
			list_del_init(&umr->op.node);
			umr->state = SDP_UMR_IDLE;
			/* And nothing behind it: there would be a hole. */
			conn->zsink.gave_up = true;
		}
	}
	spin_unlock_bh(&conn->lock);
	return sdp_umr_reap(conn, &conn->zsink.read_umrs);
}

/**
 * sdp_zsink_avail_begin() - shall what the reader waits for be written to him?
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_zsink_end()
 *
 * Context: process.
 * Return: true if so; nobody else takes or asks from now on.
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

static int sdp_zsink_avail_queue(struct sdp_conn *conn, struct sdp_umr *umr)
{
	int err = sdp_umr_reg(conn, umr);

	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	/* Nothing is listed behind sdp_tx_drop(). */
	if (conn->dead) {
		err = -ENODEV;
	} else {
		conn->tx.ctl |= SDP_CTL_SINK_AVAIL;
		list_add_tail(&umr->node, &conn->zsink.avail_umrs);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

/**
 * sdp_zsink_avail_make() - tell the peer of his buffer
 * @conn: the connection; sdp_zsink_avail_begin() was true
 * @iter: the buffer; not advanced
 * @len: its length in bytes
 *
 * The message goes with the next sdp_tx_run() that credits allow, unless
 * something comes before.
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno: -EMSGSIZE if it is too short, or that of
 * sdp_umr_make().
 */
int sdp_zsink_avail_make(struct sdp_conn *conn, const struct iov_iter *iter, size_t len)
{
	struct sdp_umr *umr;
	u32 bytes = sdp_umr_piece(conn, len, false);
	int err;

	umr = sdp_umr_make(conn, SDP_OP_TAKE_BACK, DMA_FROM_DEVICE, iter,
			   bytes, bytes);
	if (IS_ERR(umr))
		return PTR_ERR(umr);
	/* Any Data has to fit into it (4.4). */
	err = umr->umem.bytes < conn->rcv_size ? -EMSGSIZE :
						  sdp_zsink_avail_queue(conn, umr);
	if (err)
		sdp_umr_return(conn, umr);
	return err;
}

/**
 * sdp_zsink_avail_reap() - unpin what has come back
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
 * sdp_zsink_avail_cancel() - the reader will not wait any longer
 * @conn: the connection
 *
 * What the peer has been told it has to give back: there is an answer to wait
 * for.  sdp_tx_run() is the caller's.
 *
 * Context: process.
 */
void sdp_zsink_avail_cancel(struct sdp_conn *conn)
{
	struct sdp_umr *umr;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, &conn->zsink.avail_umrs, node)
		if (umr->state == SDP_UMR_QUEUED)
			umr->state = SDP_UMR_IDLE;
	if (sdp_snk_may_cancel(&conn->mode.snk))
		conn->tx.ctl |= SDP_CTL_SINK_CANCEL;
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_zsink_avail_told() - the peer has told what became of our SinkAvails
 * @conn: the connection, conn->lock held
 * @told: what
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
 * @conn: the connection; nothing is being read
 *
 * Context: process.
 */
void sdp_zsink_end(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->zsink.busy = false;
	spin_unlock_bh(&conn->lock);
	/* Another reader, who waited. */
	if (wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

/**
 * sdp_zsink_push_read() - post the RDMA Read that is next, if there is something
 * @conn: the connection, conn->lock held; sdp_zsink_has_reads()
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
			 !sdp_post_may_register(conn)))
		return false;
	msg->bytes = min(room, from->left);
	msg->va = from->va;
	msg->rkey = from->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	if (msg->umr)
		msg->umr->state = SDP_UMR_ADVERTISED;
	sdp_snk_reads(snk, msg->bytes);
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
 * sdp_zsink_hold() - inline bytes are to reach the reader before what is read
 * @conn: the connection, conn->lock held
 * @hold: whether they are not there yet
 *
 * Context: process or softirq.
 */
void sdp_zsink_hold(struct sdp_conn *conn, bool hold)
{
	lockdep_assert_held(&conn->lock);
	conn->zsink.held = hold;
}

/**
 * sdp_zsink_unread() - bytes that are advertised, and that nobody is about to read
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: bytes; 0 or less if there is nothing for others, or a reader is busy.
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
 * sdp_zsink_drop_bounced() - free queued RDMA Reads to buffers of ours
 * @conn: the connection, conn->lock held
 * @all: in any case; else if a reader is busy, who has what is next, or it is over
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
