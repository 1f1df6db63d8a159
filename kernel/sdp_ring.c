// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of receive buffers: how many, and of which size?  See sdp_ring.h.
 *
 * A connection that nobody has accepted is a stranger's word: four empty buffers
 * at a time, and no larger ones than at first, so that what nobody pays for is known
 * before; and all of it together, with what RDMA Reads were given, is what the
 * listener's SO_RCVBUF says, which TCP's child has too.  Only the four that the
 * credit rules cannot do without it has in any case.
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

/* Buffers that the ring may grow to in this memory, large and small ones. */
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
 * Two messages side by side stop a peer that knows of four buffers: that alone
 * does not make a connection a busy one.  It is if the peer has asked for large
 * buffers, if this happens again and again, or if the buffers are not back
 * because nobody reads what is in them.  Those of a reader on another processor,
 * who has read all, are about to be.
 */
static bool sdp_ring_is_busy(const struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	u16 here = now->posted + now->at_hand;

	return now->size >= now->full_size || READ_ONCE(ring->lows) >= SDP_RING_BUSY ||
	       (now->inq && ring->nbufs >= here + SDP_RING_NOT_DATA);
}

/**
 * sdp_ring_set_full() - is the peer stopped, and will it be?
 * @ring: the ring; changed; under rx.lock
 * @here: buffers posted, or about to be
 * @at_end: there will be no more
 * @waited: somebody waits for more than has come: see sdp_ring_is_waited()
 *
 * With so many there, can the peer send nothing, and will they not be more?
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
 * sdp_ring_look_again() - what was full may not be any more
 * @ring: the ring; changed; under rx.lock
 * @keep: full until it is seen that it is not: that it still is, is no news
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

/* Memory of a ring that nobody reads.  While less has come than is waited for
 * that is all it may have: bytes may lie as thin in large buffers as they like.
 */
static u32 sdp_ring_unread(const struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	if (sdp_ring_waits(ring, now))
		return ring->max_bytes;
	return sdp_ring_least(ring->max_bytes, SDP_RING_UNREAD);
}

/* Before accept(): none to go, and when there is no room none in place of those that
 * are unread.  A peer that has used those that are not for data as well has its
 * connection stand still.
 */
static int sdp_ring_wanted_before(struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	u32 most = sdp_ring_unread(ring, now), used = ring->mem + now->fetched;
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
 * What waits for its reader counts, but is not there to be posted: of those that
 * are, the fewest stay, and are had.  Of a full ring only those that are not for
 * data are, which a peer that keeps to the rules leaves there; one that does not has
 * its connection stand still.
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
 * sdp_ring_wanted() - how many buffers are to be made?
 * @ring: the ring; changed; under rx.lock
 * @now: what is known
 *
 * Context: any; pure.
 * Return: how many are to be made beside those at hand, or of them to go if negative.
 */
int sdp_ring_wanted(struct sdp_ring *ring, const struct sdp_ring_now *now)
{
	u16 here = now->posted + now->at_hand;
	u16 max, most, target;
	int want, spare, excess = 0;

	if (unlikely(!now->owned))
		return sdp_ring_wanted_before(ring, now);
	most = sdp_ring_max(ring, now, ring->max_bytes);
	/* The user wants less than there is: what was read is not posted. */
	if (ring->mem > ring->max_bytes) {
		excess = (ring->mem - ring->max_bytes + now->size - 1) / now->size;
		most = sdp_ring_most(ring->nbufs - excess, SDP_WIRE_CREDITS_MIN);
	}
	max = now->reading ? most : sdp_ring_max(ring, now, sdp_ring_unread(ring, now));
	target = ring->target;
	/* Not while there is less than was wanted the last time; and what a
	 * reader would let grow waits for it.
	 */
	if (ring->low && (!sdp_ring_is_busy(ring, now) || now->mem_short)) {
		WRITE_ONCE(ring->low, false);
	} else if (ring->low && ring->nbufs + now->dropped >= target) {
		/* Those of an earlier size, not read yet, are in addition. */
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
	if (want < 0)	/* and those are about to go */
		here -= sdp_ring_least(now->at_hand, -want);
	sdp_ring_set_full(ring, here, want <= 0 && (ring->nbufs >= most || now->mem_short),
			  sdp_ring_waits(ring, now));
	return want;
}

/* Once more, more of them would be better. */
static void sdp_ring_short(struct sdp_ring *ring, unsigned long now)
{
	if (now - ring->low_at > SDP_RING_LULL)
		ring->lows = 0;
	ring->low_at = now;
	if (ring->lows < SDP_RING_BUSY)
		WRITE_ONCE(ring->lows, ring->lows + 1);
}

/**
 * sdp_ring_used() - a message of the peer has used a buffer
 * @ring: the ring; changed; under conn->lock
 * @known: buffers that the peer knows of and has not used
 * @empty: it was a message that carries nothing but its header
 * @now: jiffies
 *
 * Remembers if the peer has used most of what it knows of.
 *
 * Context: any; pure.
 */
void sdp_ring_used(struct sdp_ring *ring, u32 known, bool empty, unsigned long now)
{
	/* The peer uses up what is to go, and has nothing to say. */
	if (unlikely(ring->flush)) {
		WRITE_ONCE(ring->flush, ring->flush - 1);
		/* Or has by now, and what is unread is not replaced by itself. */
		ring->flushed = true;
		return;
	}
	/* Its buffer is there again at once. */
	if (empty || known > (u32)sdp_ring_most(READ_ONCE(ring->target) / 4, SDP_RING_NOT_DATA))
		return;
	sdp_ring_short(ring, now);
	WRITE_ONCE(ring->low, true);
}

/**
 * sdp_ring_told_alone() - a message goes that tells of buffers and carries nothing
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
 * sdp_ring_new_size() - what the peer asked for, as far as it may have it
 * @ring: the ring; by who polls
 * @size: of buffers now
 * @full_size: of those for a peer that sends much
 * @page: bytes of a page
 *
 * Context: any; pure.
 * Return: the size, whole pages; 0: nothing changes, or it asked for less.
 */
u32 sdp_ring_new_size(const struct sdp_ring *ring, u32 size, u32 full_size, u32 page)
{
	u32 max = READ_ONCE(ring->max_bytes), mem = READ_ONCE(ring->mem);
	/* The first are made while those of before are still there. */
	u32 room = max > mem ? (max - mem) / SDP_WIRE_CREDITS_MIN : 0;
	u32 most = sdp_ring_least(full_size, max / SDP_RING_PARTS);

	most = sdp_ring_least(ring->asked, sdp_ring_least(most, room));
	most = sdp_ring_whole(most, page);
	return most > size ? most : 0;
}

/**
 * sdp_ring_may_resize() - may the peer have an answer now?
 * @ring: the ring; changed; under rx.lock
 * @larger: it may have larger buffers
 * @owned: somebody has accepted the connection
 * @read: bytes that the reader has taken, modulo 2^32
 * @inq: bytes that are unread
 * @waited: somebody waits for more
 *
 * What a peer asks for it has when somebody has accepted, and, if that is larger
 * buffers, when somebody reads: it goes on with messages that it has made for the
 * others, of which as many as TCP's first window takes would not fit into the limit
 * of what nobody reads.
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
 * sdp_ring_resized() - there are some of another size
 * @ring: the ring; changed; under conn->lock and rx.lock, by who polls
 * @was: size before
 * @size: size from now on
 * @old: posted buffers that are not of that
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
 * sdp_ring_promise() - the peer asks for what it has, or less: it is idle
 * @ring: the ring; changed; under conn->lock, by who polls
 * @size: of buffers now
 * @least: size with which a ring begins
 * @page: bytes of a page
 *
 * Context: any; pure.
 * Return: true if it is promised to shrink, and is to have the fewest buffers until
 * then.
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
 * sdp_ring_shrink() - the peer has heard of the promise
 * @ring: the ring; changed; under conn->lock, by who polls
 * @posted: buffers that are
 *
 * Context: any; pure.
 * Return: the size from now on.
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
