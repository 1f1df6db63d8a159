// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of receive buffers: how many, and of which size.  See sdp_ring.h.
 *
 * A connection that nobody has accepted is a stranger's request, and its memory
 * is charged to nobody.  So it has four empty buffers at a time, no larger than
 * those it began with: what it can cost is known in advance.  All of its memory
 * together, buffers for RDMA Reads included, stays within the listener's
 * SO_RCVBUF, which bounds a child of TCP's too.  Only the four buffers that the
 * credit rules need are made in any case.
 */
#include "sdp_ring.h"

static u32 sdp_ring_least(u32 a, u32 b)
{
	return a < b ? a : b;
}

static int sdp_ring_most(int a, int b)
{
	return a > b ? a : b;
}

/**
 * sdp_ring_init() - a ring without a buffer, and without limits
 * @ring: what to initialise
 *
 * Context: any; pure.
 */
void sdp_ring_init(struct sdp_ring *ring)
{
	ring->rq_size = 0xffff;
	ring->max_bytes = ~0U;
	ring->target = SDP_WIRE_CREDITS_MIN;
}

static bool sdp_ring_waits(const struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	return sdp_ring_is_waited(ring, now->inq, now->holes);
}

/* Buffers, large and small, that the ring may have within @bytes of memory. */
static u16 sdp_ring_max(const struct sdp_ring *ring, const struct sdp_ring_now *now,
			u32 bytes)
{
	u32 max = ring->nbufs;

	if (bytes > ring->mem)
		max += (bytes - ring->mem) / now->size;
	max = sdp_ring_least(sdp_ring_least(max, now->count), ring->rq_size);
	return sdp_ring_most(max, SDP_WIRE_CREDITS_MIN);
}

/*
 * Two messages side by side stop a peer that knows of four buffers, so that
 * alone does not make a connection a busy one.  It is busy if the peer has
 * asked for large buffers, if buffers are short again and again, or if buffers
 * are missing because nobody reads what is in them.  If everything was read,
 * the missing ones are with a reader on another processor and about to come
 * back.
 */
static bool sdp_ring_is_busy(const struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	u16 here = now->posted + now->at_hand;

	return now->size >= now->full_size || READ_ONCE(ring->lows) >= SDP_RING_BUSY ||
	       (now->inq && ring->nbufs >= here + SDP_RING_NOT_DATA);
}

/**
 * sdp_ring_set_full() - record whether the peer is stopped for lack of buffers
 * @ring: the ring; changed; under rx.lock
 * @here: buffers posted, or about to be
 * @at_end: no more buffers will be made
 * @waited: a reader waits for more than has come: see sdp_ring_is_waited()
 *
 * The ring is full if the peer cannot send data with the buffers there are, and
 * there will be no more.
 *
 * Context: any; pure.
 */
void sdp_ring_set_full(struct sdp_ring *ring, u16 here, bool at_end, bool waited)
{
	bool full = at_end && here <= SDP_RING_NOT_DATA;

	if (full && !ring->full && waited)
		WRITE_ONCE(ring->full_news, true);
	WRITE_ONCE(ring->full, full);
}

/**
 * sdp_ring_look_again() - let a full ring try to grow
 * @ring: the ring; changed; under rx.lock
 * @keep: it counts as full until it has grown, so a ring that stays full is no
 *	news
 *
 * Context: any; pure.
 */
void sdp_ring_look_again(struct sdp_ring *ring, bool keep)
{
	if (!ring->full)
		return;
	if (!keep)
		WRITE_ONCE(ring->full, false);
	WRITE_ONCE(ring->low, true);
}

/* Bytes that the ring may take while nobody reads.  If a reader waits for more
 * than has come that is its whole maximum, since the bytes may be spread thinly
 * over large buffers.
 */
static u32 sdp_ring_unread(const struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	if (sdp_ring_waits(ring, now))
		return ring->max_bytes;
	return sdp_ring_least(ring->max_bytes, SDP_RING_UNREAD);
}

/* Before accept() no buffer is dropped, and without room those that are unread
 * are not replaced.  A peer that also uses for data the buffers that are not
 * for data has its connection stand still.
 */
static int sdp_ring_wanted_before(struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	u32 most = sdp_ring_unread(ring, now), used = ring->mem + now->bounced;
	u16 here = now->posted + now->at_hand;
	int room = 0, want;

	if (used < most && !now->mem_short)
		room = (most - used) / now->size;
	if (room > (int)now->count - ring->nbufs)
		room = (int)now->count - ring->nbufs;
	if (room <= 0)
		ring->withheld = true;
	want = SDP_WIRE_CREDITS_MIN - here;
	if (want > room)
		want = room;
	want = sdp_ring_most(want, SDP_WIRE_CREDITS_MIN - (int)ring->nbufs);
	want = sdp_ring_most(want, 0);
	WRITE_ONCE(ring->low, false);
	sdp_ring_set_full(ring, here, !want && room <= 0, sdp_ring_waits(ring, now));
	return want;
}

/*
 * For a ring with more buffers than its target: how many may be dropped
 * (negative), or must be made all the same (positive).  Unread buffers count,
 * but cannot be posted, so the fewest that the credit rules need must be there
 * beside them.  In a full ring two are enough, those that are not for data.  A
 * peer that keeps to the rules leaves these alone; one that does not has its
 * connection stand still.
 */
static int sdp_ring_spare(const struct sdp_ring *ring, u16 here, u16 max)
{
	int spare = SDP_WIRE_CREDITS_MIN - here;

	if (ring->nbufs >= max && spare > SDP_RING_NOT_DATA - here)
		spare = SDP_RING_NOT_DATA - here;
	if (ring->nbufs >= ring->rq_size + SDP_WIRE_CREDITS_MIN && spare > 0)
		spare = 0;
	return spare;
}

/**
 * sdp_ring_wanted() - how many buffers to make or to drop
 * @ring: the ring; changed; under rx.lock
 * @now: what is known
 *
 * Context: any; pure.
 * Return: buffers to make beside those at hand; if negative, buffers to drop of
 * those at hand.
 */
int sdp_ring_wanted(struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	u16 here = now->posted + now->at_hand;
	u16 max, most, target;
	int want, spare, excess = 0;

	if (unlikely(!now->owned))
		return sdp_ring_wanted_before(ring, now);
	most = sdp_ring_max(ring, now, ring->max_bytes);
	/* SO_RCVBUF is less than there is: do not post again what was read. */
	if (ring->mem > ring->max_bytes) {
		excess = (ring->mem - ring->max_bytes + now->size - 1) / now->size;
		most = sdp_ring_most(ring->nbufs - excess, SDP_WIRE_CREDITS_MIN);
	}
	max = now->reading ? most : sdp_ring_max(ring, now, sdp_ring_unread(ring, now));
	target = ring->target;
	/* Do not grow while there are fewer buffers than the target.  If only a
	 * reader would let the ring grow, it stays low until one comes.
	 */
	if (ring->low && (!sdp_ring_is_busy(ring, now) || now->mem_short)) {
		WRITE_ONCE(ring->low, false);
	} else if (ring->low && ring->nbufs + now->dropped >= target) {
		/* Unread buffers of an earlier size come on top. */
		target = sdp_ring_most(target, ring->nbufs);
		WRITE_ONCE(ring->low, target >= max && !now->reading);
		if (target < max)
			target = sdp_ring_least(target * 2, max);
	}
	if (now->mem_over)
		most = 0;
	ring->target = sdp_ring_most(sdp_ring_least(target, most),
				     SDP_WIRE_CREDITS_MIN);
	want = ring->target - ring->nbufs;
	if (want < 0) {
		spare = sdp_ring_spare(ring, here, max);
		if (now->mem_over)
			want = sdp_ring_most(spare > 0 ? 0 : spare, want);
		else if (sdp_ring_shrinks(ring) || (excess && now->reading))
			want = sdp_ring_most(spare, want);
		else
			want = sdp_ring_most(spare, 0);
	}
	if (want < 0)	/* those at hand that will be dropped */
		here -= sdp_ring_least(now->at_hand, -want);
	sdp_ring_set_full(ring, here, want <= 0 && (ring->nbufs >= most || now->mem_short),
			  sdp_ring_waits(ring, now));
	return want;
}

/* Count a shortage of buffers; after a lull the count begins anew. */
static void sdp_ring_short(struct sdp_ring *ring, unsigned long now)
{
	if (now - ring->low_at > SDP_RING_LULL)
		ring->lows = 0;
	ring->low_at = now;
	if (ring->lows < SDP_RING_BUSY)
		WRITE_ONCE(ring->lows, ring->lows + 1);
}

/**
 * sdp_ring_used() - account a buffer that a message of the peer has used
 * @ring: the ring; changed; under conn->lock
 * @known: buffers that the peer knows of and has not used
 * @empty: the message carries nothing but its header
 * @now: jiffies
 *
 * Notes whether the peer has used most of what it knows of.
 *
 * Context: any; pure.
 */
void sdp_ring_used(struct sdp_ring *ring, u32 known, bool empty, unsigned long now)
{
	/* The peer has nothing to say and uses the old buffers up. */
	if (unlikely(ring->flush)) {
		WRITE_ONCE(ring->flush, ring->flush - 1);
		/* If it sends data instead, the unread buffer is to be
		 * replaced.
		 */
		ring->flushed = true;
		return;
	}
	/* The buffer of an empty message is posted again at once. */
	if (empty || known > (u32)sdp_ring_most(READ_ONCE(ring->target) / 4, SDP_RING_NOT_DATA))
		return;
	sdp_ring_short(ring, now);
	WRITE_ONCE(ring->low, true);
}

/**
 * sdp_ring_told_alone() - account a message that only tells of new buffers
 * @ring: the ring; changed; under conn->lock
 * @now: jiffies
 *
 * Context: any; pure.
 */
void sdp_ring_told_alone(struct sdp_ring *ring, unsigned long now)
{
	sdp_ring_short(ring, now);
	if (ring->lows >= SDP_RING_BUSY)
		WRITE_ONCE(ring->low, true);
}

static u32 sdp_ring_whole(u32 size, u32 page)
{
	return size - size % page;
}

/**
 * sdp_ring_new_size() - the size to give a peer that asks for larger buffers
 * @ring: the ring; under rx.poll
 * @size: size of new buffers now, bytes
 * @full_size: size of buffers for a peer that sends much, bytes
 * @page: bytes of a page
 *
 * The size is what the peer asked for, as far as it may have it.
 *
 * Context: any; pure.
 * Return: bytes, whole pages; 0 if the buffers do not become larger.
 */
u32 sdp_ring_new_size(const struct sdp_ring *ring, u32 size, u32 full_size, u32 page)
{
	u32 max = READ_ONCE(ring->max_bytes), mem = READ_ONCE(ring->mem);
	/* The first ones are made while the old ones are still there. */
	u32 room = max > mem ? (max - mem) / SDP_WIRE_CREDITS_MIN : 0;
	u32 most = sdp_ring_least(full_size, max / SDP_RING_PARTS);

	most = sdp_ring_least(ring->asked, sdp_ring_least(most, room));
	most = sdp_ring_whole(most, page);
	return most > size ? most : 0;
}

/**
 * sdp_ring_may_resize() - whether the peer may have an answer now
 * @ring: the ring; changed; under rx.lock
 * @larger: it may have larger buffers
 * @owned: somebody has accepted the connection
 * @read: bytes that the reader has taken, modulo 2^32
 * @inq: bytes that are unread
 * @waited: a reader waits for more than has come
 *
 * Every answer has to wait for accept().  Larger buffers have to wait for a
 * reader as well: the peer goes on with messages that it has made for small
 * ones, and as many of these as TCP's first window takes would not fit into
 * SDP_RING_UNREAD, each in a large buffer.
 *
 * Context: any; pure.
 * Return: true if so.
 */
bool sdp_ring_may_resize(struct sdp_ring *ring, bool larger, bool owned, u32 read,
			 u32 inq, bool waited)
{
	if (!owned) {
		ring->withheld = true;
		return false;
	}
	if (larger && ring->asked_unread && inq && read == ring->asked_at)
		return waited;
	return true;
}

/**
 * sdp_ring_resized() - account that new buffers are of another size
 * @ring: the ring; changed; under conn->lock and rx.lock, by the poller
 * @was: size before, bytes
 * @size: size from now on, bytes
 * @old: posted buffers that are not of that size
 *
 * Context: any; pure.
 */
void sdp_ring_resized(struct sdp_ring *ring, u32 was, u32 size, u16 old)
{
	ring->target = sdp_ring_most(SDP_WIRE_CREDITS_MIN, ring->target * was / size);
	ring->old = old;
	WRITE_ONCE(ring->shrink, 0);
	WRITE_ONCE(ring->flush, 0);
}

/**
 * sdp_ring_promise() - promise to shrink, if the peer asks for no more
 * @ring: the ring; changed; under conn->lock, by the poller
 * @size: size of new buffers now, bytes
 * @least: size with which a ring begins, bytes
 * @page: bytes of a page
 *
 * A peer that asks for the buffers it has, or for smaller ones, is idle.
 *
 * Context: any; pure.
 * Return: true if the ring is promised to shrink, and is to have the fewest
 * buffers until then.
 */
bool sdp_ring_promise(struct sdp_ring *ring, u32 size, u32 least, u32 page)
{
	u32 asked = sdp_ring_whole(ring->asked, page);

	if (asked > size || ring->old)
		return false;
	if (asked < least)
		asked = least;
	WRITE_ONCE(ring->shrink, sdp_ring_least(asked, size));
	ring->shrink_told = false;
	return true;
}

/**
 * sdp_ring_shrink() - shrink: the peer has heard of the promise
 * @ring: the ring; changed; under conn->lock, by the poller
 * @posted: buffers that are posted
 *
 * Context: any; pure.
 * Return: the size from now on, bytes.
 */
u32 sdp_ring_shrink(struct sdp_ring *ring, u16 posted)
{
	u32 size = ring->shrink;

	WRITE_ONCE(ring->flush, posted);
	WRITE_ONCE(ring->shrink, 0);
	ring->lows = 0;
	WRITE_ONCE(ring->low, false);
	return size;
}
