// SPDX-License-Identifier: GPL-2.0
/*
 * The copy path.
 *
 * Sending: the caller has the socket lock and is the only producer.  It cuts a
 * message from the page fragment, or takes back the last queued one that still
 * waits for credits, copies outside every spinlock, and queues the message.
 *
 * Receiving: the poller is the producer and appends to rx.queue.  The reader
 * has the socket lock and is the only consumer.  It takes the whole queue over
 * into rx.ready at once, so rx.lock is taken once for many buffers.  Buffers
 * that are read to the end are posted again in small batches: their credits go
 * back while the rest is still being copied.  The reader stops before an urgent
 * byte, unless it says that it stands at one (SDP_BCOPY_PAST).
 */
#include "sdp_bcopy.h"
#include "sdp_chrcvbuf.h"
#include "sdp_refill.h"
#include "sdp_tx.h"
#include "sdp_urg.h"

enum { SDP_BCOPY_REPOST = 4 };	/* buffers posted again in one batch */

/**
 * sdp_bcopy_send() - copy the next slice of a send into a message and queue it
 * @conn: the connection; the caller has the socket lock
 * @frag: where messages are cut from: sk_page_frag()
 * @iter: the user's bytes, at least one
 * @urgent: the last of the bytes is urgent
 * @gfp: how to allocate
 *
 * Takes no more than one message and no more than there is space.  The caller
 * runs sdp_tx_run() after the last slice, or when a few are queued.
 *
 * Context: process; copies from user memory.
 * Return: bytes taken; -EAGAIN without space, -ENOMEM, -EFAULT.
 */
ssize_t sdp_bcopy_send(struct sdp_conn *conn, struct page_frag *frag,
		       struct iov_iter *iter, bool urgent, gfp_t gfp)
{
	u32 space = sdp_sndbuf_space(conn);
	struct sdp_mode_slice slice;
	struct sdp_msg *msg;
	u32 room = 0;
	size_t bytes;

	if (!space)
		return -EAGAIN;
	sdp_chrcvbuf_build(conn);
	msg = sdp_tx_take_tail(conn, frag);
	if (msg)
		room = sdp_msg_room(conn, frag, msg);
	slice = sdp_mode_pick(min_t(size_t, iov_iter_count(iter), space),
			      READ_ONCE(conn->snd_max), room);
	if (!slice.coalesce) {
		if (msg)
			sdp_tx_queue(conn, msg);
		msg = sdp_msg_alloc(conn, frag, SDP_MID_DATA, slice.bytes, gfp,
				    &slice.bytes);
		if (!msg) {
			sdp_chrcvbuf_built(conn);
			return -ENOMEM;
		}
	}
	bytes = copy_from_iter(msg->addr + SDP_LEN_BSDH + msg->payload,
			       slice.bytes, iter);
	sdp_msg_grow(frag, msg, bytes);
	if (!msg->payload) {
		sdp_msg_free(conn, msg);
		sdp_chrcvbuf_built(conn);
		return -EFAULT;
	}
	/* If no message follows, this one needs its own completion. */
	msg->more = bytes == slice.bytes && iov_iter_count(iter) &&
		    space > slice.bytes + SDP_LEN_BSDH;
	msg->urgent = urgent && bytes == slice.bytes && !iov_iter_count(iter);
	msg->full = !sdp_msg_room(conn, frag, msg);
	sdp_tx_queue(conn, msg);
	sdp_chrcvbuf_built(conn);
	return bytes ?: -EFAULT;
}

/* The reader's next buffer with bytes in it, or NULL. */
static struct sdp_buf *sdp_bcopy_first(struct sdp_conn *conn)
{
	if (list_empty(&conn->rx.ready)) {
		if (list_empty_careful(&conn->rx.queue))
			return NULL;
		spin_lock_bh(&conn->rx.lock);
		list_splice_tail_init(&conn->rx.queue, &conn->rx.ready);
		spin_unlock_bh(&conn->rx.lock);
	}
	return list_first_entry_or_null(&conn->rx.ready, struct sdp_buf, node);
}

static void sdp_bcopy_consumed(struct sdp_conn *conn, u32 bytes)
{
	spin_lock_bh(&conn->rx.lock);
	conn->rx.inq -= bytes;
	conn->rx.read += bytes;
	if (sdp_urg_any(conn))
		sdp_urg_passed(conn);
	spin_unlock_bh(&conn->rx.lock);
}

static size_t sdp_bcopy_out(struct sdp_buf *buf, struct iov_iter *iter,
			    u32 skip, size_t bytes, unsigned int flags)
{
	if (flags & SDP_BCOPY_DISCARD)
		return bytes;
	return copy_to_iter(sdp_buf_addr(buf) + buf->off + skip, bytes, iter);
}

/* Bytes of a buffer that a read may take: not the last, if that is urgent. */
static u32 sdp_bcopy_before_mark(struct sdp_conn *conn,
				 const struct sdp_buf *buf)
{
	bool stops = unlikely(buf->mark) && sdp_urg_stops(conn, buf);

	return buf->left - stops;
}

static ssize_t sdp_bcopy_peek(struct sdp_conn *conn, struct iov_iter *iter,
			      size_t len, size_t skip, unsigned int flags)
{
	bool past = flags & SDP_BCOPY_PAST;
	struct sdp_buf *buf;
	ssize_t done = 0;

	/* Take over what arrived since: only rx.ready is walked. */
	spin_lock_bh(&conn->rx.lock);
	list_splice_tail_init(&conn->rx.queue, &conn->rx.ready);
	spin_unlock_bh(&conn->rx.lock);
	list_for_each_entry(buf, &conn->rx.ready, node) {
		size_t have = sdp_bcopy_before_mark(conn, buf), want, n;

		if (skip >= buf->left) {
			skip -= buf->left;
			continue;
		}
		if (past && skip == have)
			have = buf->left;
		if (skip == have)
			break;
		past = false;
		want = min_t(size_t, len - done, have - skip);
		n = sdp_bcopy_out(buf, iter, skip, want, flags);
		conn->rx.stamp = buf->stamp;
		skip = 0;
		done += n;
		if (n < want)
			return done ?: -EFAULT;
		if (done == len || have < buf->left)
			break;
	}
	return done;
}

/* Give the last buffer, not read yet, back to rx.queue: it may get more. */
static void sdp_bcopy_give_back(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->rx.lock);
	if (!list_empty(&conn->rx.ready))
		list_move(conn->rx.ready.prev, &conn->rx.queue);
	spin_unlock_bh(&conn->rx.lock);
}

/**
 * sdp_bcopy_recv() - copy arrived bytes to the user, up to an urgent one
 * @conn: the connection; the caller has the socket lock
 * @iter: where to; not used with SDP_BCOPY_DISCARD
 * @len: bytes at most
 * @skip: with SDP_BCOPY_PEEK, bytes of the stream to skip first
 * @flags: enum sdp_bcopy_flag
 *
 * Buffers that are read to the end go back to the transport.
 *
 * Context: process; copies to user memory.
 * Return: bytes, 0 if there are none to read; -EFAULT if none could be copied.
 */
ssize_t sdp_bcopy_recv(struct sdp_conn *conn, struct iov_iter *iter, size_t len,
		       size_t skip, unsigned int flags)
{
	bool past = flags & SDP_BCOPY_PAST;
	struct sdp_buf *buf;
	LIST_HEAD(consumed);
	int batch = 0;
	size_t done = 0;
	ssize_t err = 0;

	if (flags & SDP_BCOPY_PEEK) {
		err = sdp_bcopy_peek(conn, iter, len, skip, flags);
		sdp_bcopy_give_back(conn);
		return err;
	}
	while (done < len && (buf = sdp_bcopy_first(conn))) {
		size_t want = min_t(size_t, len - done,
				    past ? buf->left :
					   sdp_bcopy_before_mark(conn, buf));
		size_t n;

		if (!want)
			break;
		past = false;
		n = sdp_bcopy_out(buf, iter, 0, want, flags);
		conn->rx.stamp = buf->stamp;
		buf->off += n;
		buf->left -= n;
		done += n;
		if (!buf->left && unlikely(buf->bounce)) {
			list_del_init(&buf->node);
			sdp_buf_free(conn, buf);
		} else if (!buf->left) {
			list_move_tail(&buf->node, &consumed);
			if (++batch == SDP_BCOPY_REPOST) {
				sdp_refill_post(conn, &consumed, true);
				sdp_tx_run(conn);
				batch = 0;
			}
		}
		if (n < want) {
			err = -EFAULT;
			break;
		}
	}
	if (done)
		sdp_bcopy_consumed(conn, done);
	if (batch) {
		sdp_refill_post(conn, &consumed, true);
		sdp_tx_run(conn);
	}
	return done ?: err;
}
