// SPDX-License-Identifier: GPL-2.0
/*
 * Making and posting receive buffers, as many and as large as sdp_ring.c says.
 *
 * When the peer asks for larger buffers (ChRcvBuf, protocol text, 5.1) only
 * larger ones are posted from then on.  When the last small one has been used,
 * the answer is sent, and with it the right to send longer messages.  The
 * answer waits while nobody takes what has come.  A peer that says in its Hello
 * that its buffers are as large as it wants ours to be will not ask, and gets
 * large ones at once.
 *
 * accept() charges its caller for what has come before, and from then on the
 * ring is like any other.
 *
 * A buffer is posted before it is counted, since Bufs must never promise what
 * is not there.  Both happen under conn->lock, since Bufs is read under it.
 *
 * If a buffer cannot be allocated the ring counts as full until the next
 * attempt.
 */
#include "sdp_mem.h"
#include "sdp_refill.h"
#include "sdp_trace.h"

/* Bytes of a buffer for a peer that has little to say. */
static u32 sdp_refill_start_size(const struct sdp_conn *conn)
{
	u32 size = READ_ONCE(conn->sn->rcvbuf_start);

	return max_t(u32, round_down(size, PAGE_SIZE), PAGE_SIZE);
}

/**
 * sdp_refill_begin() - choose the size of the first buffers
 * @conn: the connection, before sdp_rx_start(), with the maximum of its memory
 * @peer_asks: the peer will ask when it wants larger ones
 *
 * Context: process or softirq.
 */
void sdp_refill_begin(struct sdp_conn *conn, bool peer_asks)
{
	u32 most = sdp_ring_max_bytes(&conn->ring) / SDP_WIRE_CREDITS_MIN;
	u32 full = min(sdp_buf_full_size(conn), most);

	full = max_t(u32, round_down(full, PAGE_SIZE), PAGE_SIZE);
	conn->rcv_size = peer_asks ? min(sdp_refill_start_size(conn), full) : full;
}

/**
 * sdp_refill_set_max() - set how much memory the ring may take
 * @conn: the connection
 * @bytes: memory that its receive buffers may take
 *
 * The ring always has the four buffers that the protocol needs.
 *
 * Context: process or softirq.
 */
void sdp_refill_set_max(struct sdp_conn *conn, u32 bytes)
{
	if (bytes == sdp_ring_max_bytes(&conn->ring))
		return;
	spin_lock_bh(&conn->rx.lock);
	sdp_ring_set_max_bytes(&conn->ring, bytes);
	sdp_ring_look_again(&conn->ring, false);
	spin_unlock_bh(&conn->rx.lock);
}

/**
 * sdp_refill_set_wants() - set how many bytes a reader waits for at once
 * @conn: the connection
 * @bytes: of the stream; nobody reads before all of them have come
 *
 * From the next sdp_refill_post() on the ring grows for them, within its
 * maximum, although nothing is read.  They may still not fit:
 * sdp_refill_is_full().
 *
 * Context: process or softirq.
 */
void sdp_refill_set_wants(struct sdp_conn *conn, u32 bytes)
{
	if (likely(bytes == sdp_ring_wants(&conn->ring)))
		return;
	spin_lock_bh(&conn->rx.lock);
	sdp_ring_set_wants(&conn->ring, bytes);
	sdp_ring_look_again(&conn->ring, false);
	spin_unlock_bh(&conn->rx.lock);
}

/**
 * sdp_refill_retry() - have the next poller try again to grow a full ring
 * @conn: the connection
 *
 * For a caller that waits for memory: no event tells it that there is some.
 *
 * Context: process or softirq.
 */
void sdp_refill_retry(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->rx.lock);
	sdp_ring_look_again(&conn->ring, true);
	spin_unlock_bh(&conn->rx.lock);
}

/**
 * sdp_refill_is_waited() - whether a reader waits for more than has come
 * @conn: the connection, rx.lock held
 *
 * Urgent bytes out of line are no part of what is waited for.
 *
 * Context: process or softirq.
 * Return: true if so; then nobody takes anything until it has come.
 */
bool sdp_refill_is_waited(const struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->rx.lock);
	return sdp_ring_is_waited(&conn->ring, conn->rx.inq, conn->rx.urg.holes);
}

/*
 * Receiving must not trigger the OOM killer, as in TCP.  Optional buffers fail early;
 * the fewest, which the credit rules need, may exceed the owner's limit.
 */
#define SDP_REFILL_GFP_MORE (GFP_KERNEL | __GFP_NORETRY)
#define SDP_REFILL_GFP_NEED (GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_HIGH)

/* Append up to @count new buffers to a list; returns how many were made. */
static u16 sdp_refill_alloc(struct sdp_conn *conn, struct list_head *bufs,
			    u32 size, u16 count, gfp_t gfp)
{
	struct sdp_buf *buf;
	u16 n;

	for (n = 0; n < count; n++) {
		buf = sdp_buf_alloc(conn, size, false, gfp);
		if (!buf)
			break;
		list_add_tail(&buf->node, bufs);
	}
	return n;
}

static void sdp_refill_free(struct sdp_conn *conn, struct list_head *bufs)
{
	struct sdp_buf *buf, *next;

	list_for_each_entry_safe(buf, next, bufs, node) {
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
	}
}

/* Whether only a message of its own would tell the peer of the new buffers.  An
 * update that answers the peer's own updates does not count: that traffic is
 * the other direction's.
 */
static bool sdp_refill_tells_alone(const struct sdp_conn *conn)
{
	return list_empty(&conn->tx.queue) && conn->flow.told_stale &&
	       !sdp_ring_shrinks(&conn->ring) &&
	       sdp_flow_owes_update(&conn->flow);
}

/* Post buffers from the front of a list, until one is of an outdated size or is
 * not taken; returns how many were posted.
 */
static int sdp_refill_give(struct sdp_conn *conn, struct list_head *bufs)
{
	struct sdp_buf *buf, *next;
	int n = 0;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry_safe(buf, next, bufs, node) {
		if (!conn->queues || buf->size != conn->rcv_size)
			break;
		list_del_init(&buf->node);
		buf->posted = true;
		if (conn->xp->post_recv(conn, buf)) {
			buf->posted = false;
			list_add(&buf->node, bufs);
			break;
		}
		n++;
	}
	sdp_flow_posted(&conn->flow, n);
	if (n && sdp_refill_tells_alone(conn))
		sdp_ring_told_alone(&conn->ring, jiffies);
	trace_sdp_post_recv(conn->id, n, conn->flow.posted);
	return n;
}

/* How many of the posted buffers are not of this size. */
static u16 sdp_refill_others(struct sdp_conn *conn, u32 size)
{
	const struct sdp_buf *buf;
	u16 n = 0;

	lockdep_assert_held(&conn->lock);
	lockdep_assert_held(&conn->rx.lock);
	list_for_each_entry(buf, &conn->rx.all, all)
		n += buf->posted && buf->size != size;
	return n;
}

/* The peer asks for no more than it has, so it is idle: promise to shrink. */
static void sdp_refill_give_less(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!sdp_ring_promise(&conn->ring, conn->rcv_size, sdp_refill_start_size(conn),
			      PAGE_SIZE)) {
		trace_sdp_rcvbuf_refuse(conn->id, conn->rcv_size, conn->rcv_size,
					conn->flow.posted);
		return;
	}
	trace_sdp_rcvbuf_promise(conn->id, conn->rcv_size,
				 sdp_ring_promised(&conn->ring), conn->flow.posted);
	/* Our answer tells the peer how many to use up: post no more. */
	spin_lock(&conn->rx.lock);
	sdp_ring_keep_fewest(&conn->ring);
	spin_unlock(&conn->rx.lock);
}

/**
 * sdp_refill_heard() - shrink the ring if the peer has heard of the promise
 * @conn: the connection, conn->lock held; the caller polls
 *
 * Context: process or softirq.
 */
void sdp_refill_heard(struct sdp_conn *conn)
{
	u32 mseq, was = conn->rcv_size;

	lockdep_assert_held(&conn->lock);
	if (!sdp_ring_promise_mseq(&conn->ring, &mseq) ||
	    !sdp_flow_acked(&conn->flow, mseq))
		return;
	WRITE_ONCE(conn->rcv_size, sdp_ring_shrink(&conn->ring, conn->flow.posted));
	trace_sdp_rcvbuf_shrink(conn->id, was, conn->rcv_size, conn->flow.posted);
	/* As promised, whatever made the ring grow meanwhile. */
	spin_lock(&conn->rx.lock);
	sdp_ring_keep_fewest(&conn->ring);
	spin_unlock(&conn->rx.lock);
}

/* Whether the peer may have an answer now. */
static bool sdp_refill_resizes(struct sdp_conn *conn, bool larger)
{
	bool may;

	spin_lock_bh(&conn->rx.lock);
	may = sdp_ring_may_resize(&conn->ring, larger, conn->owned, conn->rx.read,
				  conn->rx.inq, sdp_refill_is_waited(conn));
	spin_unlock_bh(&conn->rx.lock);
	return may;
}

/**
 * sdp_refill_resize() - give a peer the buffers that it asks for, or refuse
 * @conn: the connection; the caller polls; sdp_ring_ask() has what the peer
 *	wants
 *
 * The peer is told conn->rcv_size.  If nothing changes, because it may not or
 * because there is no memory, it is told at once; else when all buffers that
 * were posted before have been used.
 *
 * There may be no place in the receive queue, nobody may have accepted the
 * connection, or larger buffers are asked for and nobody takes what has come.
 * Then sdp_ring_asks() stays true, and the caller tries again after the next
 * message, or when that has changed.
 *
 * If the peer asks for no more than it has, the ring shrinks to the fewest
 * buffers of that size as soon as the peer has heard the answer: from then on
 * it sends nothing longer.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_resize(struct sdp_conn *conn)
{
	u32 was = conn->rcv_size, size = 0;
	LIST_HEAD(bufs);
	u16 room, n = 0;

	if (!sdp_mem_is_short())
		size = sdp_ring_new_size(&conn->ring, was, sdp_buf_full_size(conn),
					 PAGE_SIZE);
	if (!sdp_refill_resizes(conn, size))
		return;
	room = sdp_ring_rq_size(&conn->ring) - READ_ONCE(conn->flow.posted);
	if (size && !room)
		return;		/* the next message frees a place */
	if (size) {
		/* Enough to go on with, before the small ones may go. */
		room = min_t(u16, room, SDP_WIRE_CREDITS_MIN);
		n = sdp_refill_alloc(conn, &bufs, size, room, SDP_REFILL_GFP_MORE);
	}
	spin_lock_bh(&conn->lock);
	if (n && n == room) {
		WRITE_ONCE(conn->rcv_size, size);
		spin_lock(&conn->rx.lock);
		sdp_ring_resized(&conn->ring, was, size, sdp_refill_others(conn, size));
		spin_unlock(&conn->rx.lock);
		trace_sdp_rcvbuf_grant(conn->id, was, size, conn->flow.posted);
		sdp_refill_give(conn, &bufs);
	} else if (size) {
		trace_sdp_rcvbuf_refuse(conn->id, was, was, conn->flow.posted);
	}
	if (!size)
		sdp_refill_give_less(conn);
	if (sdp_ring_answered(&conn->ring))
		conn->tx.ctl |= SDP_CTL_RCVBUF_ACK;
	spin_unlock_bh(&conn->lock);
	sdp_refill_free(conn, &bufs);
}

/**
 * sdp_refill_arrived() - account a buffer that was used, perhaps an old one
 * @conn: the connection; the caller polls; sdp_ring_has_old()
 * @buf: the buffer
 *
 * Context: process or softirq.
 */
void sdp_refill_arrived(struct sdp_conn *conn, const struct sdp_buf *buf)
{
	if (buf->size == conn->rcv_size || !sdp_ring_old_used(&conn->ring))
		return;
	spin_lock_bh(&conn->lock);
	conn->tx.ctl |= SDP_CTL_RCVBUF_ACK;
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_refill_used() - note whether the peer has used most of its buffers
 * @conn: the connection, conn->lock held
 * @empty: the message that used one carries nothing but its header
 *
 * Context: process or softirq.
 */
void sdp_refill_used(struct sdp_conn *conn, bool empty)
{
	lockdep_assert_held(&conn->lock);
	sdp_ring_used(&conn->ring, sdp_flow_known(&conn->flow), empty, jiffies);
}

/**
 * sdp_refill_turned_full() - whether the ring has become full since last asked
 * @conn: the connection
 *
 * Context: process or softirq.
 * Return: true if so, and a reader waited for more: it is to be told.
 */
bool sdp_refill_turned_full(struct sdp_conn *conn)
{
	bool news;

	if (likely(!sdp_ring_may_be_full_news(&conn->ring)))
		return false;
	spin_lock_bh(&conn->rx.lock);
	news = sdp_ring_full_news(&conn->ring);
	spin_unlock_bh(&conn->rx.lock);
	return news;
}

/**
 * sdp_refill_is_full() - whether no data can come before something is read
 * @conn: the connection
 *
 * Context: any; call it after sdp_refill_post(), which may find room.
 * Return: true if the peer has no buffer left that it may use for data.
 */
bool sdp_refill_is_full(const struct sdp_conn *conn)
{
	return sdp_ring_is_full(&conn->ring, READ_ONCE(conn->flow.posted));
}

static bool sdp_refill_is_traced(void)
{
	return trace_sdp_ring_grow_enabled() || trace_sdp_ring_shrink_enabled() ||
	       trace_sdp_ring_full_enabled();
}

/* Trace what has become of the number of buffers, and whether they are used up. */
static void sdp_refill_trace(const struct sdp_conn *conn, const struct sdp_ring_now *now,
			     u16 from, u16 to, bool full)
{
	u32 mem = sdp_ring_mem(&conn->ring);

	if (to > from)
		trace_sdp_ring_grow(conn->id, now->size, from, to, now->posted, mem);
	else if (to < from)
		trace_sdp_ring_shrink(conn->id, now->size, from, to, now->posted, mem);
	if (full)
		trace_sdp_ring_full(conn->id, now->size, from, to, now->posted, mem);
}

/* How many buffers to make beside those @at_hand, or, if negative, to drop of
 * those.  @dropped were freed just now.
 */
static int sdp_refill_count(struct sdp_conn *conn, u16 at_hand, u16 dropped, bool reading)
{
	struct sdp_ring_now now = {
		.size		= READ_ONCE(conn->rcv_size),
		.full_size	= sdp_buf_full_size(conn),
		.count		= READ_ONCE(conn->sn->rcvbuf_count),
		.posted		= READ_ONCE(conn->flow.posted),
		.at_hand	= at_hand,
		.dropped	= dropped,
		.reading	= reading,
		.mem_short	= sdp_mem_is_short(),
		.mem_over	= sdp_mem_is_over(),
	};
	bool was_full = false, full = false;
	bool traced = sdp_refill_is_traced();
	u16 from = 0, to = 0;
	int want;

	spin_lock_bh(&conn->rx.lock);
	if (unlikely(traced)) {
		from = sdp_ring_target(&conn->ring);
		was_full = sdp_ring_is_full(&conn->ring, now.posted);
	}
	now.owned = conn->owned;
	now.inq = conn->rx.inq;
	now.holes = conn->rx.urg.holes;
	now.bounced = conn->rx.bounced;
	want = sdp_ring_wanted(&conn->ring, &now);
	if (unlikely(traced)) {
		to = sdp_ring_target(&conn->ring);
		full = sdp_ring_is_full(&conn->ring, now.posted) && !was_full;
	}
	spin_unlock_bh(&conn->rx.lock);
	if (unlikely(traced))
		sdp_refill_trace(conn, &now, from, to, full);
	return want;
}

/* Replace a buffer that nobody is charged for by one charged to the owner. */
static void sdp_refill_renew(struct sdp_conn *conn, struct sdp_buf *old)
{
	struct sdp_buf *buf;

	buf = sdp_buf_alloc(conn, old->size, false, SDP_REFILL_GFP_NEED);
	if (!buf)
		return;
	list_replace_init(&old->node, &buf->node);
	sdp_buf_free(conn, old);
}

/* Drop buffers of an earlier size from a list, and make others instead. */
static void sdp_refill_make(struct sdp_conn *conn, struct list_head *bufs, bool reading)
{
	u32 size = READ_ONCE(conn->rcv_size);
	struct sdp_buf *buf, *next;
	u16 at_hand = 0, dropped = 0, here, made;
	int want, need;

	list_for_each_entry_safe(buf, next, bufs, node) {
		if (buf->size == size) {
			at_hand++;
			if (unlikely(buf->owed) && READ_ONCE(conn->owned))
				sdp_refill_renew(conn, buf);
			continue;
		}
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
		dropped++;
	}
	want = sdp_refill_count(conn, at_hand, dropped, reading);
	if (want > 0) {
		here = READ_ONCE(conn->flow.posted) + at_hand;
		/* Unread buffers come back, so they count among the fewest. */
		need = clamp(SDP_WIRE_CREDITS_MIN -
			     (int)sdp_ring_bufs(&conn->ring), 0, want);
		made = sdp_refill_alloc(conn, bufs, size, need, SDP_REFILL_GFP_NEED);
		if (made == need)
			made += sdp_refill_alloc(conn, bufs, size, want - need,
						 SDP_REFILL_GFP_MORE);
		if (made < want) {
			spin_lock_bh(&conn->rx.lock);
			sdp_ring_set_full(&conn->ring, here + made, true,
					  sdp_refill_is_waited(conn));
			spin_unlock_bh(&conn->rx.lock);
		}
	}
	while (want++ < 0 && !list_empty(bufs)) {
		buf = list_first_entry(bufs, struct sdp_buf, node);
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
	}
}

/**
 * sdp_refill_post() - post buffers, and new ones if the ring should grow
 * @conn: the connection
 * @bufs: a list of buffers by sdp_buf.node; empty on return
 * @reading: a reader has taken bytes, and the ring may grow to its maximum; if
 *	false, only as far as TCP lets a peer send when nobody reads
 *
 * Buffers that the transport does not take any more, because the connection
 * is dead, are freed.
 *
 * Context: process; may allocate with GFP_KERNEL.
 * Return: how many were posted.
 */
int sdp_refill_post(struct sdp_conn *conn, struct list_head *bufs, bool reading)
{
	int posted = 0;
	bool again;

	do {
		sdp_refill_make(conn, bufs, reading);
		spin_lock_bh(&conn->lock);
		posted += sdp_refill_give(conn, bufs);
		/* The size may have changed since we looked. */
		again = conn->queues && !list_empty(bufs) &&
			list_first_entry(bufs, struct sdp_buf, node)->size !=
			conn->rcv_size;
		spin_unlock_bh(&conn->lock);
	} while (again);
	sdp_refill_free(conn, bufs);
	return posted;
}

/**
 * sdp_refill_charge() - charge the owner for data that came before accept()
 * @conn: the connection, which is owned
 *
 * Posted buffers are charged when they have been used.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_charge(struct sdp_conn *conn)
{
	while (sdp_buf_charge(conn, SDP_REFILL_GFP_NEED))
		cond_resched();
}

/**
 * sdp_refill_owned() - somebody has accepted the connection
 * @conn: the connection, which has an owner and the owner's maximum
 *
 * The owner is charged for the data that waits.  The worker sees to what had to
 * wait for an owner: more buffers, larger ones, RDMA Reads.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_owned(struct sdp_conn *conn)
{
	bool withheld;

	if (conn->rx.inq)
		sdp_refill_charge(conn);
	spin_lock_bh(&conn->rx.lock);
	withheld = sdp_ring_withheld(&conn->ring);
	/* Unread buffers count as if the ring had grown for them. */
	sdp_ring_keep_all(&conn->ring);
	sdp_ring_look_again(&conn->ring, false);
	spin_unlock_bh(&conn->rx.lock);
	if (withheld)
		sdp_conn_queue_work(conn);
}
