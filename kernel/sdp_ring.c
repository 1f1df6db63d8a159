// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of receive buffers.
 *
 * It starts with the four buffers below which the credit rules cannot work
 * (protocol text, 3.3) and doubles when the peer has used all but a quarter of
 * what it knows of: it sends faster than we give credits back.  (What counts
 * is what it knows of, not what is posted.  With four, each told one by one,
 * three are always posted, and a peer that may use one at a time crawls.)  It
 * does too when messages go again and again that tell of new buffers and carry
 * nothing else: twice the buffers are half as many of these.  The growth is
 * bounded by the receive queue, by net.sdp.rcvbuf_count and by SO_RCVBUF.
 *
 * The buffers are small at first, so that a connection which is idle, or has
 * little to say, takes little memory.  Nobody knows better than the peer when
 * that is not enough: it has a full message, waits for credits, and asks for
 * larger buffers (ChRcvBuf, 5.1).  From then on only larger ones are posted, and
 * when the last small one has been used the answer goes, and with it the right
 * to send longer messages.  While nobody takes what has come it has to wait.  A
 * peer that says in its Hello that it has what it wants us to have will not ask,
 * and gets large ones at once.
 *
 * It shrinks again when the peer has nothing to say.  A posted buffer comes back
 * by being used and in no other way, so only the peer can see to it: it asks for
 * no more than it had at first, hears our answer, and then uses the buffers up
 * with empty messages (sdp_tx.c).  Smaller buffers are posted when a message of
 * the peer acknowledges the answer, and no sooner: until then it may have sent
 * something that is longer.
 *
 * A connection that nobody has accepted is a stranger's word: four empty buffers
 * at a time, and no larger ones than at first, so that what nobody pays for is known
 * before; and all of it together, with what RDMA Reads were given, is what the
 * listener's SO_RCVBUF says, which TCP's child has too.  Only the four that the
 * credit rules cannot do without it has in any case.  accept() charges him who
 * calls it for what has come, and the ring goes on as any other.
 *
 * Order matters twice: a buffer is posted before it is counted, since Bufs
 * must never promise what is not there; and both under conn->lock, since Bufs is
 * read there.
 */
#include "sdp_mem.h"
#include "sdp_ring.h"
#include "sdp_trace.h"

u32 sdp_ring_full_size(const struct sdp_conn *conn)
{
	u32 size = READ_ONCE(conn->sn->rcvbuf_size);

	return max_t(u32, round_down(size, PAGE_SIZE), PAGE_SIZE);
}

void sdp_ring_begin(struct sdp_conn *conn, bool peer_asks)
{
	u32 most = READ_ONCE(conn->ring.max_bytes) / SDP_WIRE_CREDITS_MIN;
	u32 full = min(sdp_ring_full_size(conn), most);
	u32 start = READ_ONCE(conn->sn->rcvbuf_start);

	full = max_t(u32, round_down(full, PAGE_SIZE), PAGE_SIZE);
	start = max_t(u32, round_down(start, PAGE_SIZE), PAGE_SIZE);
	conn->rcv_size = peer_asks ? min(start, full) : full;
}

/* What was full may not be any more: who polls next is to see. */
static void sdp_ring_look_again(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->rx.lock);
	if (!conn->ring.full)
		return;
	WRITE_ONCE(conn->ring.full, false);
	WRITE_ONCE(conn->ring.low, true);
}

void sdp_ring_set_max(struct sdp_conn *conn, u32 bytes)
{
	if (bytes == READ_ONCE(conn->ring.max_bytes))
		return;
	spin_lock_bh(&conn->rx.lock);
	WRITE_ONCE(conn->ring.max_bytes, bytes);
	sdp_ring_look_again(conn);
	spin_unlock_bh(&conn->rx.lock);
}

void sdp_ring_set_wanted(struct sdp_conn *conn, u32 bytes)
{
	if (likely(bytes == READ_ONCE(conn->ring.wanted)))
		return;
	spin_lock_bh(&conn->rx.lock);
	WRITE_ONCE(conn->ring.wanted, bytes);
	sdp_ring_look_again(conn);
	spin_unlock_bh(&conn->rx.lock);
}

void sdp_ring_retry(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->rx.lock);
	/* Full until it is seen that it is not: that it still is, is no news. */
	if (conn->ring.full)
		WRITE_ONCE(conn->ring.low, true);
	spin_unlock_bh(&conn->rx.lock);
}

/* Buffers that the ring may grow to in this memory, large and small ones. */
static u16 sdp_ring_max(const struct sdp_conn *conn, u32 bytes)
{
	u32 max = conn->ring.nbufs;

	lockdep_assert_held(&conn->rx.lock);
	if (bytes > conn->ring.mem)
		max += (bytes - conn->ring.mem) / conn->rcv_size;
	max = min3(max, READ_ONCE(conn->sn->rcvbuf_count),
		   (u32)conn->ring.rq_size);
	return max_t(u32, max, SDP_WIRE_CREDITS_MIN);
}

/* Of the memory for a ring this part is one buffer, at the most. */
enum { SDP_RING_PARTS = 8 };

/*
 * Nobody is killed, whose memory cgroup perhaps has no more, for what others send
 * him: as with TCP.  What he can go on without he does not get.  What he cannot he
 * does, above his limit, as TCP lets one packet in.
 */
#define SDP_RING_GFP_MORE (GFP_KERNEL | __GFP_NORETRY)
#define SDP_RING_GFP_NEED (GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_HIGH)

/* Up to @count more at the end of the list; how many there are now. */
static u16 sdp_ring_alloc(struct sdp_conn *conn, struct list_head *bufs,
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

static void sdp_ring_free(struct sdp_conn *conn, struct list_head *bufs)
{
	struct sdp_buf *buf, *next;

	list_for_each_entry_safe(buf, next, bufs, node) {
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
	}
}

/* Memory of a ring whose reader does not read, as TCP's first window. */
enum { SDP_RING_UNREAD = 128 * 1024 };

/* The last two are not for data: a peer that knows of no more is stopped. */
enum { SDP_RING_NOT_DATA = 2 };

/* So often short of buffers, with no longer lull between, is busy. */
enum { SDP_RING_BUSY = 8, SDP_RING_LULL = HZ / 10 };

/* Once more, more of them would be better. */
static void sdp_ring_short(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (time_after(jiffies, conn->ring.low_at + SDP_RING_LULL))
		conn->ring.lows = 0;
	conn->ring.low_at = jiffies;
	if (conn->ring.lows < SDP_RING_BUSY)
		WRITE_ONCE(conn->ring.lows, conn->ring.lows + 1);
}

/* Is a message to tell of these that carries nothing else?  One for the peer's
 * own such messages is not meant: that is the other direction.
 */
static bool sdp_ring_tells_alone(const struct sdp_conn *conn)
{
	return list_empty(&conn->tx.queue) && conn->flow.told_stale &&
	       !conn->ring.flush && !conn->ring.shrink &&
	       sdp_flow_owes_update(&conn->flow);
}

/* From the front of the list, until one is not of the size that counts, or is
 * not taken; how many.
 */
static int sdp_ring_give(struct sdp_conn *conn, struct list_head *bufs)
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
	if (n && sdp_ring_tells_alone(conn)) {
		sdp_ring_short(conn);
		if (conn->ring.lows >= SDP_RING_BUSY)
			WRITE_ONCE(conn->ring.low, true);
	}
	trace_sdp_post_recv(conn->id, n, conn->flow.posted);
	return n;
}

/* What the peer asked for, as far as it may have it; 0: nothing changes. */
static u32 sdp_ring_new_size(const struct sdp_conn *conn)
{
	u32 max = READ_ONCE(conn->ring.max_bytes), mem = READ_ONCE(conn->ring.mem);
	/* The first are made while those of before are still there. */
	u32 room = max > mem ? (max - mem) / SDP_WIRE_CREDITS_MIN : 0;
	u32 most = min3(sdp_ring_full_size(conn), max / SDP_RING_PARTS, room);
	u32 size = round_down(min(conn->ring.asked, most), PAGE_SIZE);

	return size > conn->rcv_size && !sdp_mem_is_short() ? size : 0;
}

/* Of those that are posted, how many are of another size? */
static u16 sdp_ring_others(struct sdp_conn *conn, u32 size)
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
static void sdp_ring_promise(struct sdp_conn *conn)
{
	u32 least = max_t(u32, round_down(READ_ONCE(conn->sn->rcvbuf_start),
					  PAGE_SIZE), PAGE_SIZE);
	u32 size = round_down(conn->ring.asked, PAGE_SIZE);

	lockdep_assert_held(&conn->lock);
	if (size > conn->rcv_size || conn->ring.old)
		return;
	WRITE_ONCE(conn->ring.shrink, min(max(size, least), conn->rcv_size));
	conn->ring.shrink_told = false;
	/* What the peer uses up is counted by the answer: post no more. */
	spin_lock(&conn->rx.lock);
	conn->ring.target = SDP_WIRE_CREDITS_MIN;
	spin_unlock(&conn->rx.lock);
}

void sdp_ring_shrink(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	WRITE_ONCE(conn->rcv_size, conn->ring.shrink);
	WRITE_ONCE(conn->ring.flush, conn->flow.posted);
	WRITE_ONCE(conn->ring.shrink, 0);
	/* As promised, whatever made it grow meanwhile. */
	spin_lock(&conn->rx.lock);
	conn->ring.target = SDP_WIRE_CREDITS_MIN;
	spin_unlock(&conn->rx.lock);
	conn->ring.lows = 0;
	WRITE_ONCE(conn->ring.low, false);
}

/*
 * What a peer asks for it has when somebody has accepted, and, if that is larger
 * buffers, when somebody reads: it goes on with messages that it has made for the
 * others, of which as many as TCP's first window takes would not fit into the limit
 * of what nobody reads.
 */
static bool sdp_ring_may_resize(struct sdp_conn *conn, bool larger)
{
	bool may;

	spin_lock_bh(&conn->rx.lock);
	may = conn->ring.owned;
	if (!may)
		conn->ring.withheld = true;
	else if (larger && conn->ring.asked_unread && conn->rx.inq &&
		 conn->rx.read == conn->ring.asked_at)
		may = sdp_ring_is_waited(conn);
	spin_unlock_bh(&conn->rx.lock);
	return may;
}

void sdp_ring_resize(struct sdp_conn *conn)
{
	u32 size = sdp_ring_new_size(conn), was = conn->rcv_size;
	LIST_HEAD(bufs);
	u16 room, n = 0;

	if (!sdp_ring_may_resize(conn, size))
		return;
	room = conn->ring.rq_size - READ_ONCE(conn->flow.posted);
	if (size && !room)
		return;		/* soon */
	if (size) {
		/* Enough to go on with, before the small ones may go. */
		room = min_t(u16, room, SDP_WIRE_CREDITS_MIN);
		n = sdp_ring_alloc(conn, &bufs, size, room, SDP_RING_GFP_MORE);
	}
	spin_lock_bh(&conn->lock);
	conn->ring.asks = false;
	if (n && n == room) {
		WRITE_ONCE(conn->rcv_size, size);
		spin_lock(&conn->rx.lock);
		conn->ring.target = max_t(u16, SDP_WIRE_CREDITS_MIN,
					  conn->ring.target * was / size);
		conn->ring.old = sdp_ring_others(conn, size);
		spin_unlock(&conn->rx.lock);
		WRITE_ONCE(conn->ring.shrink, 0);
		WRITE_ONCE(conn->ring.flush, 0);
		sdp_ring_give(conn, &bufs);
	}
	if (!size)
		sdp_ring_promise(conn);
	if (!conn->ring.old)
		conn->tx.ctl |= SDP_CTL_RCVBUF_ACK;
	spin_unlock_bh(&conn->lock);
	sdp_ring_free(conn, &bufs);
}

void sdp_ring_arrived(struct sdp_conn *conn, const struct sdp_buf *buf)
{
	if (buf->size == conn->rcv_size || --conn->ring.old)
		return;
	spin_lock_bh(&conn->lock);
	conn->tx.ctl |= SDP_CTL_RCVBUF_ACK;
	spin_unlock_bh(&conn->lock);
}

void sdp_ring_used(struct sdp_conn *conn, bool empty)
{
	lockdep_assert_held(&conn->lock);
	/* The peer uses up what is to go, and has nothing to say. */
	if (unlikely(conn->ring.flush)) {
		WRITE_ONCE(conn->ring.flush, conn->ring.flush - 1);
		/* Or has by now, and what is unread is not replaced by itself. */
		conn->ring.flushed = true;
		return;
	}
	/* Its buffer is there again at once. */
	if (empty || sdp_flow_known(&conn->flow) >
	    max(READ_ONCE(conn->ring.target) / 4, SDP_RING_NOT_DATA))
		return;
	sdp_ring_short(conn);
	WRITE_ONCE(conn->ring.low, true);
}

/*
 * Two messages side by side stop a peer that knows of four buffers: that alone
 * does not make a connection a busy one.  It is if the peer has asked for large
 * buffers, if this happens again and again, or if the buffers are not back
 * because nobody reads what is in them.  Those of a reader on another processor,
 * who has read all, are about to be.
 */
static bool sdp_ring_is_busy(const struct sdp_conn *conn, u16 at_hand)
{
	u16 here = READ_ONCE(conn->flow.posted) + at_hand;

	lockdep_assert_held(&conn->rx.lock);
	return conn->rcv_size >= sdp_ring_full_size(conn) ||
	       READ_ONCE(conn->ring.lows) >= SDP_RING_BUSY ||
	       (conn->rx.inq && conn->ring.nbufs >= here + SDP_RING_NOT_DATA);
}

/* With so many there, can the peer send nothing, and will they not be more? */
static void sdp_ring_set_full(struct sdp_conn *conn, u16 here, bool at_end)
{
	bool full = at_end && here <= SDP_RING_NOT_DATA;

	lockdep_assert_held(&conn->rx.lock);
	if (full && !conn->ring.full && sdp_ring_is_waited(conn))
		WRITE_ONCE(conn->ring.full_news, true);
	WRITE_ONCE(conn->ring.full, full);
}

bool sdp_ring_turned_full(struct sdp_conn *conn)
{
	bool news;

	if (likely(!READ_ONCE(conn->ring.full_news)))
		return false;
	spin_lock_bh(&conn->rx.lock);
	news = conn->ring.full_news;
	WRITE_ONCE(conn->ring.full_news, false);
	spin_unlock_bh(&conn->rx.lock);
	return news;
}

bool sdp_ring_is_full(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->ring.full) &&
	       READ_ONCE(conn->flow.posted) <= SDP_RING_NOT_DATA;
}

/* Memory of a ring that nobody reads.  While less has come than is waited for
 * that is all it may have: bytes may lie as thin in large buffers as they like.
 */
static u32 sdp_ring_unread(const struct sdp_conn *conn)
{
	if (sdp_ring_is_waited(conn))
		return conn->ring.max_bytes;
	return min_t(u32, conn->ring.max_bytes, SDP_RING_UNREAD);
}

/* The same before accept(): none to go, and when there is no room none in place of
 * those that are unread.  A peer that has used those that are not for data as well
 * has its connection stand still.
 */
static int sdp_ring_wanted_before(struct sdp_conn *conn, u16 here)
{
	u32 most = sdp_ring_unread(conn), used = conn->ring.mem + conn->rx.fetched;
	int room = 0, want;

	lockdep_assert_held(&conn->rx.lock);
	if (used < most && !sdp_mem_is_short())
		room = (most - used) / conn->rcv_size;
	room = min_t(int, room, READ_ONCE(conn->sn->rcvbuf_count) -
				conn->ring.nbufs);
	if (room <= 0)
		conn->ring.withheld = true;
	want = min(SDP_WIRE_CREDITS_MIN - here, room);
	want = max3(want, SDP_WIRE_CREDITS_MIN - (int)conn->ring.nbufs, 0);
	WRITE_ONCE(conn->ring.low, false);
	sdp_ring_set_full(conn, here, !want && room <= 0);
	return want;
}

/* How many are to be made, beside those @at_hand, or of them to go if negative;
 * @dropped have just gone.
 */
static int sdp_ring_wanted(struct sdp_conn *conn, u16 at_hand, u16 dropped,
			   bool reading)
{
	u16 here = READ_ONCE(conn->flow.posted) + at_hand;
	bool over = sdp_mem_is_over();
	u16 max, most, target;
	int want, spare, excess = 0;

	spin_lock_bh(&conn->rx.lock);
	if (unlikely(!conn->ring.owned)) {
		want = sdp_ring_wanted_before(conn, here);
		spin_unlock_bh(&conn->rx.lock);
		return want;
	}
	most = sdp_ring_max(conn, conn->ring.max_bytes);
	/* The user wants less than there is: what he has read is not posted. */
	if (conn->ring.mem > conn->ring.max_bytes) {
		excess = DIV_ROUND_UP(conn->ring.mem - conn->ring.max_bytes,
				      conn->rcv_size);
		most = max_t(int, conn->ring.nbufs - excess,
			     SDP_WIRE_CREDITS_MIN);
	}
	max = reading ? most : sdp_ring_max(conn, sdp_ring_unread(conn));
	target = conn->ring.target;
	/* Not while there is less than was wanted the last time; and what a
	 * reader would let grow waits for him.
	 */
	if (conn->ring.low && (!sdp_ring_is_busy(conn, at_hand) ||
			       sdp_mem_is_short())) {
		WRITE_ONCE(conn->ring.low, false);
	} else if (conn->ring.low && conn->ring.nbufs + dropped >= target) {
		/* Those of an earlier size, not read yet, are in addition. */
		target = max(target, conn->ring.nbufs);
		WRITE_ONCE(conn->ring.low, target >= max && !reading);
		if (target < max)
			target = min_t(u32, target * 2, max);
	}
	if (over)
		most = 0;
	conn->ring.target = max_t(u16, min(target, most),
				  SDP_WIRE_CREDITS_MIN);
	want = conn->ring.target - conn->ring.nbufs;
	if (want < 0) {
		/* What waits for its reader counts, but is not there to be
		 * posted: of those that are, the fewest stay, and are had.
		 * Of a full ring only those that are not for data are, which a
		 * peer that keeps to the rules leaves there; one that does not
		 * has its connection stand still.
		 */
		spare = SDP_WIRE_CREDITS_MIN - here;
		if (conn->ring.nbufs >= max)
			spare = min(spare, SDP_RING_NOT_DATA - here);
		if (conn->ring.nbufs >= conn->ring.rq_size + SDP_WIRE_CREDITS_MIN)
			spare = min(spare, 0);
		if (over)
			want = clamp(spare, want, 0);
		else if (READ_ONCE(conn->ring.shrink) ||
			 READ_ONCE(conn->ring.flush) || (excess && reading))
			want = max(spare, want);
		else
			want = max(spare, 0);
	}
	if (want < 0)	/* and those are about to go */
		here -= min_t(int, at_hand, -want);
	sdp_ring_set_full(conn, here, want <= 0 && (conn->ring.nbufs >= most ||
						    sdp_mem_is_short()));
	spin_unlock_bh(&conn->rx.lock);
	return want;
}

/* One that is charged to the owner in place of one that nobody is. */
static void sdp_ring_renew(struct sdp_conn *conn, struct sdp_buf *old)
{
	struct sdp_buf *buf;

	buf = sdp_buf_alloc(conn, old->size, false, SDP_RING_GFP_NEED);
	if (!buf)
		return;
	list_replace_init(&old->node, &buf->node);
	sdp_buf_free(conn, old);
}

/* Those of an earlier size go, and others come in their place. */
static void sdp_ring_make(struct sdp_conn *conn, struct list_head *bufs,
			  bool reading)
{
	u32 size = READ_ONCE(conn->rcv_size);
	struct sdp_buf *buf, *next;
	u16 at_hand = 0, dropped = 0, here, made;
	int want, need;

	list_for_each_entry_safe(buf, next, bufs, node) {
		if (buf->size == size) {
			at_hand++;
			if (unlikely(buf->owed) && READ_ONCE(conn->ring.owned))
				sdp_ring_renew(conn, buf);
			continue;
		}
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
		dropped++;
	}
	want = sdp_ring_wanted(conn, at_hand, dropped, reading);
	if (want > 0) {
		here = READ_ONCE(conn->flow.posted) + at_hand;
		/* What is unread comes back. */
		need = clamp(SDP_WIRE_CREDITS_MIN -
			     (int)READ_ONCE(conn->ring.nbufs), 0, want);
		made = sdp_ring_alloc(conn, bufs, size, need,
				      SDP_RING_GFP_NEED);
		if (made == need)
			made += sdp_ring_alloc(conn, bufs, size, want - need,
					       SDP_RING_GFP_MORE);
		if (made < want) {
			spin_lock_bh(&conn->rx.lock);
			sdp_ring_set_full(conn, here + made, true);
			spin_unlock_bh(&conn->rx.lock);
		}
	}
	while (want++ < 0 && !list_empty(bufs)) {
		buf = list_first_entry(bufs, struct sdp_buf, node);
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
	}
}

int sdp_ring_post(struct sdp_conn *conn, struct list_head *bufs, bool reading)
{
	int posted = 0;
	bool again;

	do {
		sdp_ring_make(conn, bufs, reading);
		spin_lock_bh(&conn->lock);
		posted += sdp_ring_give(conn, bufs);
		/* The size may have changed since we looked. */
		again = conn->queues && !list_empty(bufs) &&
			list_first_entry(bufs, struct sdp_buf, node)->size !=
			conn->rcv_size;
		spin_unlock_bh(&conn->lock);
	} while (again);
	sdp_ring_free(conn, bufs);
	return posted;
}

void sdp_ring_charge(struct sdp_conn *conn)
{
	while (sdp_buf_charge(conn, SDP_RING_GFP_NEED))
		cond_resched();
}

void sdp_ring_owned(struct sdp_conn *conn)
{
	bool withheld;

	if (conn->rx.inq)
		sdp_ring_charge(conn);
	spin_lock_bh(&conn->rx.lock);
	withheld = conn->ring.withheld;
	/* What is unread is had, as if the ring had grown so far. */
	conn->ring.target = max(conn->ring.target, conn->ring.nbufs);
	sdp_ring_look_again(conn);
	spin_unlock_bh(&conn->rx.lock);
	if (withheld)
		sdp_conn_queue_work(conn);
}
