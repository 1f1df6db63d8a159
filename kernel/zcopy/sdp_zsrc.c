// SPDX-License-Identifier: GPL-2.0
/*
 * The zero-copy source: the memory of a call that waits.
 *
 * A long blocking send() is not copied.  It is cut into pieces.  Each piece is
 * pinned, registered for the peer to read, and advertised by a SrcAvail in its
 * turn of the stream (protocol text, 4.3).  In pipelined mode several are
 * outstanding at a time, so that pinning one overlaps with reading another.
 * When the peer has reported that a piece is read, its key is invalidated, and
 * when the device has done that, the pages are unpinned.  The call returns only
 * then.
 *
 * A reader of the peer that waits with a large buffer advertises it by a
 * SinkAvail, before there is anything to be read (4.4).  Then the next pieces
 * are written there by RDMA: no copy on either side, and half a round trip
 * less.  One RdmaWrCompl reports how much was written: when the buffer is
 * nearly full, or when the call has nothing more to write.  What is short goes
 * by copy, as Data, which makes the SinkAvail void.  A piece waits for its turn
 * in the stream.  If the SinkAvail is gone by then, the piece is withdrawn and
 * the caller sends it another way.
 *
 * Only one call advertises at a time.  All other senders wait meanwhile as if
 * there were no room: what a refusal (SendSm) gives back must go by copy before
 * anything that comes later in the stream.  sdp_zsrc_send() is that call from
 * its begin to its end.  How it sleeps, and what cuts it short, the socket layer
 * tells it by struct sdp_zsrc_wait_ops.
 *
 * A piece is QUEUED until its message is posted, then ADVERTISED (or being
 * written).  It is INVALIDATING when the peer has read it or refuses it, and
 * IDLE when its key is invalid: after the completion of the request that
 * invalidates it, or with the end of the queue pair.  Here are the steps of the
 * call; those that its turn in the stream and the peer's reports make are in
 * sdp_zsrc_push.c.  Memory that stays advertised after its call belongs to
 * sdp_zsrc_async.c, and is on the same list.
 */
#include <linux/uio.h>
#include "sdp_check.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_umr.h"
#include "sdp_zsrc.h"

enum {
	/* Inline bytes of a SrcAvail in combined mode.  Some peers drop fewer,
	 * and read them again (4.3).
	 */
	SDP_ZSRC_INLINE	= 64,
	/* Pieces in combined mode: one is outstanding, the next is prepared. */
	SDP_ZSRC_COMBINED	= 2,
};

/**
 * sdp_zsrc_can() - whether memory can be advertised at all
 * @conn: the connection
 *
 * Context: any.
 * Return: true if both sides can, and messages are long enough.
 */
bool sdp_zsrc_can(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->caps.may_advertise) &&
	       READ_ONCE(conn->snd_max) >= sizeof(struct sdp_wire_srcah) +
					   SDP_ZSRC_INLINE;
}

/**
 * sdp_zsrc_pays() - whether a send() should advertise its memory
 * @conn: the connection
 * @iter: what it sends
 *
 * Context: process.
 * Return: true if it is long enough, user memory, and can be advertised.
 */
bool sdp_zsrc_pays(const struct sdp_conn *conn, const struct iov_iter *iter)
{
	u32 least = sdp_conn_zcopy(conn);

	return least && iov_iter_count(iter) >= least &&
	       user_backed_iter(iter) && sdp_iter_len(iter) >= least &&
	       sdp_zsrc_can(conn);
}

/**
 * sdp_zsrc_spent() - a send whose cost is measured is over
 * @conn: the connection
 * @len: its bytes, from 1
 * @zcopied: whether any of them were read or written by RDMA
 * @ns: ns of the caller's own time, without sleep
 *
 * Context: process.
 */
void sdp_zsrc_spent(struct sdp_conn *conn, size_t len, bool zcopied, u64 ns)
{
	spin_lock_bh(&conn->lock);
	sdp_zpolicy_end(&conn->zpolicy, len, zcopied ? SDP_WAY_ZCOPY : SDP_WAY_COPY, ns);
	spin_unlock_bh(&conn->lock);
}

/*
 * Become the call that advertises: all other senders wait until sdp_zsrc_end().
 * The caller has the socket lock, and may release it meanwhile.  Returns 0, or
 * why the bytes are copied: that is cheaper (COST), another call's memory is
 * advertised or the connection is dead (BUSY), or the peer has refused too
 * often of late (HABIT).
 */
static enum sdp_counter sdp_zsrc_begin(struct sdp_conn *conn,
				       const struct sdp_zsrc_call *call)
{
	size_t len = iov_iter_count(call->iter);
	enum sdp_counter why = 0;

	spin_lock_bh(&conn->lock);
	if (call->began && sdp_zpolicy_begin(&conn->zpolicy, len, call->began) ==
			   SDP_WAY_COPY)
		why = SDP_CNT_COPIED_COST;
	else if (conn->dead || conn->zsrc.busy || sdp_zsrc_async_bytes(&conn->zsrc_async))
		why = SDP_CNT_COPIED_BUSY;
	else if (!sdp_zpolicy_may_offer(&conn->zpolicy, conn->mode.src.held.n))
		why = SDP_CNT_COPIED_HABIT;
	if (!why) {
		WRITE_ONCE(conn->zsrc.busy, true);
		conn->zsrc.withdrawn = false;
		sdp_zsrc_moved(&conn->zsrc, jiffies);
	}
	spin_unlock_bh(&conn->lock);
	if (call->began)
		trace_sdp_zcopy(conn->id, len, why == SDP_CNT_COPIED_COST ? "copy" : "zcopy");
	return why;
}

/**
 * sdp_zsrc_drop_msg() - drop a queued message that was to advertise memory
 * @conn: the connection, conn->lock held
 * @msg: the message, on tx.queue
 *
 * Context: process or softirq.
 */
void sdp_zsrc_drop_msg(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->lock);
	list_del_init(&msg->node);
	WRITE_ONCE(conn->tx.outstanding, conn->tx.outstanding - msg->charged);
	sdp_msg_free(conn, msg);
}

/**
 * sdp_zsrc_withdraw() - what the peer does not know of yet goes another way
 * @conn: the connection, conn->lock held; a call advertises
 * @why: for the trace
 *
 * What the call has queued is dropped, and no more is queued.
 *
 * Context: process or softirq.
 */
void sdp_zsrc_withdraw(struct sdp_conn *conn, const char *why)
{
	struct sdp_umr *umr;
	size_t bytes = 0;

	lockdep_assert_held(&conn->lock);
	conn->zsrc.withdrawn = true;
	list_for_each_entry(umr, &conn->zsrc.umrs, node) {
		if (umr->state != SDP_UMR_QUEUED)
			continue;
		bytes += umr->umem.bytes;
		sdp_zsrc_drop_msg(conn, umr->msg);
	}
	trace_sdp_src_withdraw(conn->id, bytes, why);
	conn->tx.done |= SDP_TX_DONE_UMR;
}

/**
 * sdp_zsrc_queue() - register memory, and queue what advertises or writes it
 * @conn: the connection; the caller is the call that advertises, or has the
 *	socket lock and the memory is async
 * @umr: the memory, with its message; on zsrc.umrs after that
 *
 * Fails if earlier memory of the call was withdrawn, since that comes first in
 * the stream and goes by copy.  Fails too if the stream is at its end.
 *
 * Context: process; sleeps, but only for the device.
 * Return: 0; -ECANCELED in these cases, -ENOMEM if there was no memory for the
 * message, or the error of sdp_umr_reg().  After an error the message is freed,
 * and the memory is IDLE and on no list: the caller returns it.
 */
int sdp_zsrc_queue(struct sdp_conn *conn, struct sdp_umr *umr)
{
	struct sdp_msg *msg = umr->msg;
	int err = msg ? sdp_umr_reg(conn, umr) : -ENOMEM;

	if (!msg)
		return err;
	spin_lock_bh(&conn->lock);
	/* Nothing may be listed after sdp_tx_drop(). */
	if (!err && (conn->dead || conn->tx.fin_queued || conn->err ||
		     (!umr->async && conn->zsrc.withdrawn)))
		err = -ECANCELED;
	if (!err && umr->async) {
		/* No call waits for its end: the connection's check does. */
		if (!sdp_zsrc_async_bytes(&conn->zsrc_async))
			sdp_zsrc_moved(&conn->zsrc, jiffies);
		sdp_zsrc_async_add(&conn->zsrc_async, umr->umem.bytes);
		sdp_check_async(conn);
	}
	if (err) {
		sdp_msg_free(conn, msg);
	} else {
		list_add_tail(&umr->node, &conn->zsrc.umrs);
		sdp_tx_enqueue(conn, msg);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

/* Is a SrcAvail made now for pipelined mode? */
static bool sdp_zsrc_pipelined(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->mode.req_pipe) && conn->mode.src.max > 1;
}

/* Does the peer advertise a buffer to be written to?  A hint. */
static bool sdp_zsrc_has_sink(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->mode.src.held.n);
}

static bool sdp_zsrc_has_room(struct sdp_conn *conn)
{
	u8 max = sdp_zsrc_pipelined(conn) ? conn->mode.src.max :
					     SDP_ZSRC_COMBINED;
	struct list_head *umr;

	max = min_t(u32, max, READ_ONCE(conn->sn->zcopy_adverts));

	/* The list is the caller's; others only change the states in it. */
	list_for_each(umr, &conn->zsrc.umrs)
		if (!--max)
			return false;
	return true;
}

/* Pin the next piece that is to be advertised. */
static struct sdp_umr *sdp_zsrc_pin(struct sdp_conn *conn,
				    const struct iov_iter *iter, bool async)
{
	bool first = list_empty_careful(&conn->zsrc.umrs);
	size_t left = iov_iter_count(iter);
	/* If the call does not wait, several are under way: short pieces. */
	u32 most = sdp_umr_piece(conn, left, async);
	u32 bytes = sdp_umr_piece(conn, left, async || first);
	struct sdp_umr *umr;

	umr = sdp_umr_make(conn, SDP_OP_INVALIDATE, DMA_TO_DEVICE, iter, bytes,
			   most);
	if (!IS_ERR(umr))
		umr->async = async;
	return umr;
}

/**
 * sdp_zsrc_avail() - pin the next piece, and make the SrcAvail that advertises it
 * @conn: the connection; the caller has the socket lock
 * @frag: where messages are cut from
 * @iter: what is sent; not advanced
 * @async: the memory stays advertised after the call
 *
 * The message has the inline bytes that the mode needs.
 *
 * Context: process; sleeps.
 * Return: the memory, for sdp_zsrc_queue(); it has no message if there was no
 * memory for one.  Or the error of sdp_umr_make().
 */
struct sdp_umr *sdp_zsrc_avail(struct sdp_conn *conn, struct page_frag *frag,
			       const struct iov_iter *iter, bool async)
{
	struct sdp_umr *umr = sdp_zsrc_pin(conn, iter, async);
	u32 want = sdp_zsrc_pipelined(conn) ? 0 : SDP_ZSRC_INLINE;
	struct sdp_msg *msg;
	u32 room;

	if (IS_ERR(umr))
		return umr;
	msg = sdp_msg_alloc(conn, frag, SDP_MID_SRC_AVAIL, want, GFP_KERNEL,
			    &room);
	if (!msg)
		return umr;
	if (room < want) {
		sdp_msg_free(conn, msg);
		return umr;
	}
	msg->full = true;
	/* From the pinned pages: the user may have mapped others by now. */
	sdp_umem_copy(&umr->umem, 0, sdp_msg_payload_at(msg), want);
	sdp_msg_grow(frag, msg, want);
	msg->umr = umr;
	umr->msg = msg;
	return umr;
}

/* Bytes of room in the next SinkAvail, less what is queued to be written there.
 * @waits: something is on the list.
 */
static s64 sdp_zsrc_write_room(struct sdp_conn *conn, bool *waits)
{
	const struct sdp_advert *to;
	struct sdp_umr *umr;
	s64 room = 0;

	*waits = false;
	spin_lock_bh(&conn->lock);
	to = sdp_src_may_write(&conn->mode.src);
	if (to)
		room = to->left;
	list_for_each_entry(umr, &conn->zsrc.umrs, node) {
		*waits = true;
		if (umr->state == SDP_UMR_QUEUED)
			room -= umr->umem.bytes;
	}
	spin_unlock_bh(&conn->lock);
	return room;
}

/* Pin the next piece that is to be written.  NULL: not now. */
static struct sdp_umr *sdp_zsrc_write(struct sdp_conn *conn,
				      const struct iov_iter *iter)
{
	bool first = list_empty_careful(&conn->zsrc.umrs), waits;
	s64 room = sdp_zsrc_write_room(conn, &waits);
	size_t left = iov_iter_count(iter), most;
	struct sdp_umr *umr;

	if (room < sdp_conn_write_least(conn))
		return waits ? NULL : ERR_PTR(-ENOBUFS);
	most = min_t(s64, sdp_umr_piece(conn, left, false), room);
	umr = sdp_umr_make(conn, SDP_OP_WRITE, DMA_TO_DEVICE, iter,
			   min_t(size_t, sdp_umr_piece(conn, left, first), most),
			   most);
	if (IS_ERR(umr))
		return umr;
	umr->msg = &umr->op;
	umr->op.full = true;
	umr->op.more = left > umr->umem.bytes;
	return umr;
}

/*
 * Advertise, or write, the next piece, and advance the iterator.  sdp_tx_run()
 * posts it when credits and the mode allow that.  Returns the bytes of the
 * piece; 0 if no more may be outstanding now; an error if this piece, and what
 * comes behind it, has to go by copy.
 */
static ssize_t sdp_zsrc_more(struct sdp_conn *conn, struct page_frag *frag,
			     struct iov_iter *iter)
{
	struct sdp_umr *umr;
	u32 bytes;
	int err;

	if (!sdp_zsrc_has_room(conn))
		return 0;
	if (!sdp_zsrc_has_sink(conn))
		umr = sdp_zsrc_avail(conn, frag, iter, false);
	else
		umr = sdp_zsrc_write(conn, iter);
	if (IS_ERR_OR_NULL(umr))
		return PTR_ERR(umr);
	bytes = umr->umem.bytes;
	err = sdp_zsrc_queue(conn, umr);
	if (err) {
		sdp_umr_return(conn, umr);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

/* Advertise as much as may be outstanding.  False: nothing is, and nothing more is
 * to be.
 */
static bool sdp_zsrc_advertise(struct sdp_conn *conn, struct sdp_zsrc_call *call,
			       struct iov_iter *ahead)
{
	ssize_t n = 1;

	if (!call->why && READ_ONCE(conn->zsrc.withdrawn))
		call->why = SDP_CNT_COPIED_REFUSED;
	while (!call->why && n > 0 && iov_iter_count(ahead)) {
		n = sdp_zsrc_more(conn, call->frag, ahead);
		if (n < 0)
			call->why = sdp_umr_why(n);
		sdp_tx_run(conn);
	}
	return sdp_zsrc_is_out(&conn->zsrc) ||
	       (!call->why && iov_iter_count(ahead));
}

/* The peer has had @bytes of the call's memory, which is the caller's again. */
static void sdp_zsrc_lent(struct sdp_conn *conn, size_t bytes)
{
	if (!bytes)
		return;
	sdp_count(conn->sn, SDP_CNT_LENT, bytes);
	spin_lock_bh(&conn->lock);
	sdp_conn_stats_zcopied(&conn->stats, bytes);
	spin_unlock_bh(&conn->lock);
}

/* Withdraw what the peer has not read.  The peer may finish reads that are in
 * progress, so the caller has to wait for its answer.
 */
static void sdp_zsrc_cancel(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	sdp_zsrc_withdraw(conn, "cancelled");
	if (sdp_src_may_cancel(&conn->mode.src))
		conn->tx.ctl |= SDP_CTL_SRC_CANCEL;
	sdp_zsrc_moved(&conn->zsrc, jiffies);
	spin_unlock_bh(&conn->lock);
	sdp_tx_run(conn);
}

/*
 * Cancel the adverts, and wait until there are none.  Memory that a device may
 * access is not the caller's, even after a signal, a time-out or an error.
 * Returns the bytes that the peer has.
 */
static size_t sdp_zsrc_take_back(struct sdp_conn *conn, struct sdp_zsrc_call *call)
{
	unsigned long since = jiffies;
	size_t sent = 0, bytes;

	sdp_zsrc_cancel(conn);
	for (;;) {
		call->ops->poll(conn);
		bytes = sdp_umr_reap(conn, &conn->zsrc.umrs);
		sdp_zsrc_lent(conn, bytes);
		sent += bytes;
		if (!sdp_zsrc_is_out(&conn->zsrc))
			return sent;
		/* Not since the last byte: a peer that reports one byte after
		 * the other could keep the caller waiting for all of them.
		 */
		call->ops->sleep_cancelled(call, since);
	}
}

/* Nothing of the call is advertised or queued: others may send again. */
static void sdp_zsrc_end(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(conn->zsrc.busy, false);
	if (!conn->zsrc.withdrawn)
		sdp_zpolicy_offered(&conn->zpolicy, true);
	conn->zsrc.more = false;
	conn->tx.ctl |= SDP_CTL_WR_COMPL;
	spin_unlock_bh(&conn->lock);
	/* Senders that wait for room may be told, or a DisConn may go. */
	sdp_tx_run(conn);
	if (wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

/**
 * sdp_zsrc_send() - send by advertising the memory
 * @conn: the connection
 * @call: what is sent, and how the caller sleeps; the caller has the socket lock,
 *	and may release it while it sleeps
 *
 * The iterator is advanced by what is sent.  @call says why the rest is to be
 * copied; or that the peer has just advertised a buffer for it, so that it may
 * be written there.
 *
 * Context: process; sleeps.
 * Return: bytes that the peer has, once nothing is advertised any more.
 */
size_t sdp_zsrc_send(struct sdp_conn *conn, struct sdp_zsrc_call *call)
{
	struct iov_iter ahead = *call->iter;
	size_t sent = 0, bytes;
	int err = 0;

	call->again = false;
	call->why = sdp_zsrc_begin(conn, call);
	call->began = 0;	/* the policy is asked once */
	if (call->why)
		return 0;
	add_wait_queue(&conn->wq, call->wait);
	call->ops->poll(conn);
	while (sdp_zsrc_advertise(conn, call, &ahead)) {
		/* When the peer has had enough time to read. */
		err = call->ops->sleep(call, READ_ONCE(conn->zsrc.at) +
					     sdp_check_patience(conn));
		if (err)
			break;
		call->ops->poll(conn);
		bytes = sdp_umr_reap(conn, &conn->zsrc.umrs);
		sdp_zsrc_lent(conn, bytes);
		sent += bytes;
	}
	if (err == -ETIME)
		call->why = SDP_CNT_COPIED_LATE;
	if (err)
		sent += sdp_zsrc_take_back(conn, call);
	else
		call->again = READ_ONCE(conn->zsrc.withdrawn) &&
			      sdp_zsrc_has_sink(conn);
	remove_wait_queue(&conn->wq, call->wait);
	sdp_zsrc_end(conn);
	iov_iter_advance(call->iter, sent);
	return sent;
}
