// SPDX-License-Identifier: GPL-2.0
/*
 * Making and posting receive buffers, as many and as large as sdp_ring.c says.
 *
 * When the peer asks for larger ones (ChRcvBuf, protocol text, 5.1) only larger ones
 * are posted from then on, and when the last small one has been used the answer goes,
 * and with it the right to send longer messages.  While nobody takes what has come
 * it has to wait.  A peer that says in its Hello that it has what it wants us to
 * have will not ask, and gets large ones at once.
 *
 * accept() charges its caller for what has come before, and the ring goes on as any
 * other.
 *
 * Order matters twice: a buffer is posted before it is counted, since Bufs
 * must never promise what is not there; and both under conn->lock, since Bufs is
 * read there.
 */
#include "sdp_mem.h"
#include "sdp_refill.h"
#include "sdp_trace.h"

/**
 * sdp_refill_full_size() - bytes of a buffer for a peer that sends much
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes with header, whole pages.
 */
u32 sdp_refill_full_size(const struct sdp_conn *conn)
{
	u32 size = READ_ONCE(conn->sn->rcvbuf_size);

	return max_t(u32, round_down(size, PAGE_SIZE), PAGE_SIZE);
}

/* Bytes of a buffer of a connection that has little to say. */
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
	u32 full = min(sdp_refill_full_size(conn), most);

	full = max_t(u32, round_down(full, PAGE_SIZE), PAGE_SIZE);
	conn->rcv_size = peer_asks ? min(sdp_refill_start_size(conn), full) : full;
}

/**
 * sdp_refill_set_max() - how far it may grow
 * @conn: the connection
 * @bytes: memory that its receive buffers may take
 *
 * Never below the four buffers that the protocol wants posted.
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
 * sdp_refill_set_wants() - somebody waits for so much to be there at once
 * @conn: the connection
 * @bytes: of the stream, that nobody reads before all of them have come
 *
 * The ring grows for them although nothing is read, within its maximum, from
 * the next sdp_refill_post() on; what is waited for may still not fit:
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
 * sdp_refill_retry() - what was full may not be any more
 * @conn: the connection
 *
 * For who waits for memory, of which nobody tells him: whoever polls next tries.
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
 * sdp_refill_is_waited() - does somebody wait for more than has come?
 * @conn: the connection, rx.lock held
 *
 * Urgent bytes out of line are no part of what is waited for.
 *
 * Context: process or softirq.
 * Return: true if so, and nobody takes anything until it has come.
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

/* Up to @count more at the end of the list; how many there are now. */
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

/* Is a message to tell of these that carries nothing else?  One for the peer's
 * own such messages is not meant: that is the other direction.
 */
static bool sdp_refill_tells_alone(const struct sdp_conn *conn)
{
	return list_empty(&conn->tx.queue) && conn->flow.told_stale &&
	       !sdp_ring_shrinks(&conn->ring) &&
	       sdp_flow_owes_update(&conn->flow);
}

/* From the front of the list, until one is not of the size that counts, or is
 * not taken; how many.
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

/* Of those that are posted, how many are of another size? */
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

/* The peer asks for what it has, or less: it is idle. */
static void sdp_refill_give_less(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (!sdp_ring_promise(&conn->ring, conn->rcv_size, sdp_refill_start_size(conn),
			      PAGE_SIZE))
		return;
	/* What the peer uses up is counted by the answer: post no more. */
	spin_lock(&conn->rx.lock);
	sdp_ring_keep_fewest(&conn->ring);
	spin_unlock(&conn->rx.lock);
}

/**
 * sdp_refill_heard() - a message came: has the peer heard that the ring shrinks?
 * @conn: the connection, conn->lock held; the caller polls
 *
 * Context: process or softirq.
 */
void sdp_refill_heard(struct sdp_conn *conn)
{
	u32 mseq;

	lockdep_assert_held(&conn->lock);
	if (!sdp_ring_promise_mseq(&conn->ring, &mseq) ||
	    !sdp_flow_acked(&conn->flow, mseq))
		return;
	WRITE_ONCE(conn->rcv_size, sdp_ring_shrink(&conn->ring, conn->flow.posted));
	/* As promised, whatever made it grow meanwhile. */
	spin_lock(&conn->rx.lock);
	sdp_ring_keep_fewest(&conn->ring);
	spin_unlock(&conn->rx.lock);
}

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
 * sdp_refill_resize() - the peer asks for larger buffers, or smaller ones
 * @conn: the connection; the caller polls; sdp_ring_ask() has what it asks for
 *
 * Has conn->rcv_size told to the peer: at once if nothing changes, since it may
 * not or there is no memory; else when all that were posted before have been
 * used.  If there is no place in the receive queue, if nobody has accepted the
 * connection, or larger ones are asked for and nobody takes what has come,
 * sdp_ring_asks() stays true, and the caller tries again after the next message, or when
 * somebody has.
 *
 * If it asks for no more than it has, the ring shrinks to the fewest buffers of
 * that size as soon as the peer has heard the answer: it sends nothing longer
 * from then on.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_resize(struct sdp_conn *conn)
{
	u32 was = conn->rcv_size, size = 0;
	LIST_HEAD(bufs);
	u16 room, n = 0;

	if (!sdp_mem_is_short())
		size = sdp_ring_new_size(&conn->ring, was, sdp_refill_full_size(conn),
					 PAGE_SIZE);
	if (!sdp_refill_resizes(conn, size))
		return;
	room = sdp_ring_rq_size(&conn->ring) - READ_ONCE(conn->flow.posted);
	if (size && !room)
		return;		/* soon */
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
		sdp_refill_give(conn, &bufs);
	}
	if (!size)
		sdp_refill_give_less(conn);
	if (sdp_ring_answered(&conn->ring))
		conn->tx.ctl |= SDP_CTL_RCVBUF_ACK;
	spin_unlock_bh(&conn->lock);
	sdp_refill_free(conn, &bufs);
}

/**
 * sdp_refill_arrived() - a buffer was used, perhaps an old one
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
 * sdp_refill_used() - a message of the peer has used a buffer
 * @conn: the connection, conn->lock held
 * @empty: it was one that carries nothing but its header
 *
 * Remembers if the peer has used most of what it knows of.
 *
 * Context: process or softirq.
 */
void sdp_refill_used(struct sdp_conn *conn, bool empty)
{
	lockdep_assert_held(&conn->lock);
	sdp_ring_used(&conn->ring, sdp_flow_known(&conn->flow), empty, jiffies);
}

/**
 * sdp_refill_turned_full() - has it become full since this was asked?
 * @conn: the connection
 *
 * Context: process or softirq.
 * Return: true if so, and somebody waited for more: he is to be told.
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
 * sdp_refill_is_full() - can nothing come before something is read?
 * @conn: the connection
 *
 * Context: any; behind sdp_refill_post(), which may find room.
 * Return: true if the peer has no buffer left that it may use for data.
 */
bool sdp_refill_is_full(const struct sdp_conn *conn)
{
	return sdp_ring_is_full(&conn->ring, READ_ONCE(conn->flow.posted));
}

/* How many are to be made, beside those @at_hand, or of them to go if negative;
 * @dropped have just gone.
 */
static int sdp_refill_count(struct sdp_conn *conn, u16 at_hand, u16 dropped, bool reading)
{
	struct sdp_ring_now now = {
		.size		= READ_ONCE(conn->rcv_size),
		.full_size	= sdp_refill_full_size(conn),
		.count		= READ_ONCE(conn->sn->rcvbuf_count),
		.posted		= READ_ONCE(conn->flow.posted),
		.at_hand	= at_hand,
		.dropped	= dropped,
		.reading	= reading,
		.mem_short	= sdp_mem_is_short(),
		.mem_over	= sdp_mem_is_over(),
	};
	int want;

	spin_lock_bh(&conn->rx.lock);
	now.owned = conn->owned;
	now.inq = conn->rx.inq;
	now.holes = conn->rx.urg.holes;
	now.fetched = conn->rx.fetched;
	want = sdp_ring_wanted(&conn->ring, &now);
	spin_unlock_bh(&conn->rx.lock);
	return want;
}

/* One that is charged to the owner in place of one that nobody is. */
static void sdp_refill_renew(struct sdp_conn *conn, struct sdp_buf *old)
{
	struct sdp_buf *buf;

	buf = sdp_buf_alloc(conn, old->size, false, SDP_REFILL_GFP_NEED);
	if (!buf)
		return;
	list_replace_init(&old->node, &buf->node);
	sdp_buf_free(conn, old);
}

/* Those of an earlier size go, and others come in their place. */
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
		/* What is unread comes back. */
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
 * @reading: a reader has taken bytes: the ring may grow to its maximum; else
 *	only as far as TCP lets a peer send to who does not read
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
 * sdp_refill_charge() - charge the owner for what has come before he was
 * @conn: the connection, which is owned
 *
 * Buffers that are posted are charged for when they have been used.
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
 * @conn: the connection, which has an owner and his maximum
 *
 * He is charged for what waits for him, and what had to wait for him (more
 * buffers, larger ones, RDMA Reads) is seen to by the worker.
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
	/* What is unread is had, as if the ring had grown so far. */
	sdp_ring_keep_all(&conn->ring);
	sdp_ring_look_again(&conn->ring, false);
	spin_unlock_bh(&conn->rx.lock);
	if (withheld)
		sdp_conn_queue_work(conn);
}
