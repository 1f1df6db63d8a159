/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of receive buffers: how many there are to be, and of which size.
 *
 * The ring starts with four buffers, since the credit rules cannot work with
 * fewer (protocol text, 3.3).  It doubles when the peer has used all but a
 * quarter of what it knows of: then the peer sends faster than we give credits
 * back.  What counts is what the peer knows of, not what is posted.  With four
 * buffers, each told one by one, three are always posted, and a peer that may
 * use one at a time crawls.  The ring also doubles when messages are sent again
 * and again that tell of new buffers and carry nothing else: twice the buffers
 * take half as many of these.  The growth is bounded by the receive queue, by
 * net.sdp.rcvbuf_count and by SO_RCVBUF.
 *
 * The buffers are small at first, so that a connection that is idle, or has
 * little to say, takes little memory.  The peer knows best when that is not
 * enough: it has a full message, waits for credits, and asks for larger buffers
 * (ChRcvBuf, 5.1).
 *
 * The ring shrinks again when the peer has nothing to say.  A posted buffer
 * comes back only by being used, so the peer has to do it: it asks for no more
 * than it had at first, hears our answer, and then uses the buffers up with
 * empty messages (sdp_peer_ring.c is that side).  Smaller buffers are posted
 * when a message of the peer acknowledges the answer, and no sooner: until then
 * the peer may have sent something longer.
 *
 * This is the policy alone; sdp_refill.c makes and posts buffers.  Pure: types and
 * arithmetic, nothing else of the kernel.  Sizes are bytes of a buffer, with the
 * BSDH; times are in jiffies, HZ of them a second.
 */
#ifndef _SDP_RING_H
#define _SDP_RING_H

#include <asm/param.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include "sdp_wire.h"

enum {
	/* The last two are not for data: a peer that knows of no more is stopped. */
	SDP_RING_NOT_DATA	= 2,
	/* Shortages of buffers in a row that make a connection busy. */
	SDP_RING_BUSY		= 8,
	/* Jiffies without a shortage after which the count begins anew. */
	SDP_RING_LULL		= HZ / 10,
	/* One buffer takes at most 1/8 of the memory for a ring. */
	SDP_RING_PARTS		= 8,
	/* Bytes of a ring whose reader does not read, as TCP's first window. */
	SDP_RING_UNREAD		= 128 * 1024,
};

struct sdp_ring {
	/* Changed by the holder of conn->rx.poll. */
	u32 asked;		/* size that the peer wants */
	u32 asked_at;		/* rx.read when the peer asked */
	bool asked_unread;	/* bytes were unread when the peer asked */
	bool asks;		/* the peer has no answer yet */
	bool flushed;		/* while shrinking, a buffer was used */
	u16 old;		/* posted buffers of an earlier size */
	u16 flush;		/* old buffers to be used up yet */
	u32 shrink;		/* size promised to the peer; 0: none */
	u16 rq_size;		/* places in the receive queue */
	/* Under conn->lock. */
	bool shrink_told;	/* the promise to shrink was posted */
	u32 shrink_mseq;	/* MSeq of the promise to shrink */
	bool low;		/* the peer has used most buffers: grow */
	u8 lows;		/* times that buffers were short, in a row */
	unsigned long low_at;	/* jiffies when buffers were short last */
	/* Under rx.lock. */
	u16 nbufs;		/* buffers of the ring, posted or not */
	u32 mem;		/* bytes of the buffers' pages */
	u16 target;		/* buffers to have */
	u32 max_bytes;		/* bytes that the ring may take */
	u32 wanted;		/* bytes that a reader waits for, unread ones included */
	u32 owed;		/* bytes that nobody was charged for */
	bool withheld;		/* it got less than wanted: no owner */
	bool full;		/* no room for more buffers, or no memory */
	bool full_news;		/* the reader was not told that it is full */
};

/* What is known when buffers are to be posted. */
struct sdp_ring_now {
	u32 size;		/* bytes of a new buffer */
	u32 full_size;		/* bytes of a buffer if the peer sends much */
	u32 count;		/* buffers that a ring may have: net.sdp.rcvbuf_count */
	u16 posted;		/* buffers posted */
	u16 at_hand;		/* buffers about to be posted */
	u16 dropped;		/* buffers that were freed just now */
	u32 inq;		/* bytes of the stream that are unread */
	u32 holes;		/* urgent bytes in inq, not waited for */
	u32 bounced;		/* bytes of buffers for RDMA Reads */
	bool reading;		/* a reader has taken bytes */
	bool owned;		/* the connection has an owner to charge */
	bool mem_short;		/* net.sdp.mem_pressure is exceeded */
	bool mem_over;		/* net.sdp.mem_max is exceeded */
};

void sdp_ring_init(struct sdp_ring *ring);
int sdp_ring_wanted(struct sdp_ring *ring, const struct sdp_ring_now *now);
void sdp_ring_set_full(struct sdp_ring *ring, u16 here, bool at_end, bool waited);
void sdp_ring_look_again(struct sdp_ring *ring, bool keep);

/**
 * sdp_ring_keep_all() - raise the target to the number of buffers there are
 * @ring: the ring; changed; under rx.lock
 *
 * Context: any; pure.
 */
static inline void sdp_ring_keep_all(struct sdp_ring *ring)
{
	if (ring->target < ring->nbufs)
		ring->target = ring->nbufs;
}

/**
 * sdp_ring_keep_fewest() - lower the target to the fewest buffers
 * @ring: the ring; changed; under rx.lock
 *
 * Context: any; pure.
 */
static inline void sdp_ring_keep_fewest(struct sdp_ring *ring)
{
	ring->target = SDP_WIRE_CREDITS_MIN;
}

void sdp_ring_used(struct sdp_ring *ring, u32 known, bool empty, unsigned long now);
void sdp_ring_told_alone(struct sdp_ring *ring, unsigned long now);

/**
 * sdp_ring_ask() - record that the peer wants buffers of another size
 * @ring: the ring; changed; under rx.poll
 * @size: size that the peer wants, bytes
 * @read: bytes that the reader has taken, modulo 2^32
 * @unread: bytes that have come are unread
 *
 * Context: any; pure.
 */
static inline void sdp_ring_ask(struct sdp_ring *ring, u32 size, u32 read, bool unread)
{
	ring->asks = true;
	ring->asked = size;
	ring->asked_at = read;
	ring->asked_unread = unread;
}

/**
 * sdp_ring_asks() - whether the peer waits for an answer
 * @ring: the ring; under rx.poll
 *
 * Context: any; pure.
 * Return: true if the peer has asked and has no answer yet.
 */
static inline bool sdp_ring_asks(const struct sdp_ring *ring)
{
	return ring->asks;
}

u32 sdp_ring_new_size(const struct sdp_ring *ring, u32 size, u32 full_size, u32 page);
bool sdp_ring_may_resize(struct sdp_ring *ring, bool larger, bool owned, u32 read,
			 u32 inq, bool waited);
void sdp_ring_resized(struct sdp_ring *ring, u32 was, u32 size, u16 old);

/**
 * sdp_ring_answered() - record that the peer is to have its answer
 * @ring: the ring; changed; under rx.poll
 *
 * Context: any; pure.
 * Return: true if it may go now; false if it has to wait for the last old
 * buffer to be used.
 */
static inline bool sdp_ring_answered(struct sdp_ring *ring)
{
	ring->asks = false;
	return !ring->old;
}

/**
 * sdp_ring_has_old() - whether buffers of an earlier size are posted
 * @ring: the ring; under rx.poll
 *
 * Context: any; pure.
 * Return: true if there are such buffers.
 */
static inline bool sdp_ring_has_old(const struct sdp_ring *ring)
{
	return ring->old;
}

/**
 * sdp_ring_old_used() - record that a buffer of an earlier size was used
 * @ring: the ring; changed; under rx.poll
 *
 * Context: any; pure.
 * Return: true if it was the last one.
 */
static inline bool sdp_ring_old_used(struct sdp_ring *ring)
{
	return !--ring->old;
}

bool sdp_ring_promise(struct sdp_ring *ring, u32 size, u32 least, u32 page);

/**
 * sdp_ring_promised() - the size that was promised to the peer
 * @ring: the ring; under conn->lock
 *
 * Context: any; pure.
 * Return: bytes; 0 if none was promised.
 */
static inline u32 sdp_ring_promised(const struct sdp_ring *ring)
{
	return ring->shrink;
}

/**
 * sdp_ring_promise_posted() - record the message that promises to shrink
 * @ring: the ring; changed; under conn->lock
 * @mseq: MSeq of the message
 *
 * Context: any; pure.
 */
static inline void sdp_ring_promise_posted(struct sdp_ring *ring, u32 mseq)
{
	ring->shrink_told = true;
	ring->shrink_mseq = mseq;
}

/**
 * sdp_ring_promise_mseq() - find the message that promised to shrink
 * @ring: the ring; under conn->lock
 * @mseq: set to the MSeq of the message
 *
 * Context: any; pure.
 * Return: false if no such message was posted.
 */
static inline bool sdp_ring_promise_mseq(const struct sdp_ring *ring, u32 *mseq)
{
	*mseq = ring->shrink_mseq;
	return ring->shrink && ring->shrink_told;
}

u32 sdp_ring_shrink(struct sdp_ring *ring, u16 posted);

/**
 * sdp_ring_shrinks() - whether the ring shrinks, or is about to
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if it does.
 */
static inline bool sdp_ring_shrinks(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->shrink) || READ_ONCE(ring->flush);
}

/**
 * sdp_ring_flushed() - whether a buffer was used while the ring shrinks
 * @ring: the ring; changed; under rx.poll
 *
 * Context: any; pure.
 * Return: true if so, once.
 */
static inline bool sdp_ring_flushed(struct sdp_ring *ring)
{
	bool flushed = ring->flushed;

	ring->flushed = false;
	return flushed;
}

/**
 * sdp_ring_is_waited() - whether a reader waits for more than has come
 * @ring: the ring; under rx.lock
 * @inq: bytes that are unread
 * @holes: urgent bytes in @inq, out of line
 *
 * Context: any; pure.
 * Return: true if so; then nobody takes anything until it has come.
 */
static inline bool sdp_ring_is_waited(const struct sdp_ring *ring, u32 inq, u32 holes)
{
	return ring->wanted > 1 && inq <= ring->wanted + holes;
}

/**
 * sdp_ring_wants() - bytes that a reader waits for to be there at once
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: bytes; 1 or 0 if any number will do.
 */
static inline u32 sdp_ring_wants(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->wanted);
}

/**
 * sdp_ring_is_low() - whether the ring is to grow
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if posting buffers would let it grow.
 */
static inline bool sdp_ring_is_low(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->low);
}

/**
 * sdp_ring_is_full() - whether no data can come before something is read
 * @ring: the ring; may change meanwhile
 * @posted: buffers that are posted
 *
 * Context: any; pure.
 * Return: true if the peer has no buffer left that it may use for data.
 */
static inline bool sdp_ring_is_full(const struct sdp_ring *ring, u16 posted)
{
	return READ_ONCE(ring->full) && posted <= SDP_RING_NOT_DATA;
}

/**
 * sdp_ring_account() - account a buffer that comes or goes
 * @ring: the ring; changed; under rx.lock
 * @bytes: its size
 * @sign: 1 if it comes, -1 if it goes
 *
 * Context: any; pure.
 */
static inline void sdp_ring_account(struct sdp_ring *ring, u32 bytes, int sign)
{
	ring->nbufs += sign;
	ring->mem += sign * (int)bytes;
}

/**
 * sdp_ring_account_owed() - account an uncharged buffer that comes or goes
 * @ring: the ring; changed; under rx.lock
 * @bytes: its size
 * @sign: 1 if it comes, -1 if it goes
 *
 * The buffer may be one of the ring, or one for RDMA Reads.
 *
 * Context: any; pure.
 */
static inline void sdp_ring_account_owed(struct sdp_ring *ring, u32 bytes, int sign)
{
	ring->owed += sign * (int)bytes;
}

/**
 * sdp_ring_owes() - whether there are buffers that nobody was charged for
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if there are.
 */
static inline bool sdp_ring_owes(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->owed);
}

/**
 * sdp_ring_bufs() - how many buffers the ring has
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: buffers.
 */
static inline u16 sdp_ring_bufs(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->nbufs);
}

/**
 * sdp_ring_target() - how many buffers the ring is to have
 * @ring: the ring; under rx.lock
 *
 * Context: any; pure.
 * Return: buffers.
 */
static inline u16 sdp_ring_target(const struct sdp_ring *ring)
{
	return ring->target;
}

/**
 * sdp_ring_mem() - how much memory the ring has
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: bytes.
 */
static inline u32 sdp_ring_mem(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->mem);
}

/**
 * sdp_ring_max_bytes() - how much memory the ring may have
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: bytes.
 */
static inline u32 sdp_ring_max_bytes(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->max_bytes);
}

/**
 * sdp_ring_set_max_bytes() - set how much memory the ring may have
 * @ring: the ring; changed; under rx.lock, or nobody has it yet
 * @bytes: bytes of memory
 *
 * Context: any; pure.
 */
static inline void sdp_ring_set_max_bytes(struct sdp_ring *ring, u32 bytes)
{
	WRITE_ONCE(ring->max_bytes, bytes);
}

/**
 * sdp_ring_set_wants() - set how many bytes a reader waits for
 * @ring: the ring; changed; under rx.lock
 * @bytes: bytes that are to be there at once
 *
 * Context: any; pure.
 */
static inline void sdp_ring_set_wants(struct sdp_ring *ring, u32 bytes)
{
	WRITE_ONCE(ring->wanted, bytes);
}

/**
 * sdp_ring_rq_size() - places in the receive queue
 * @ring: the ring
 *
 * Context: any; pure.
 * Return: places.
 */
static inline u16 sdp_ring_rq_size(const struct sdp_ring *ring)
{
	return ring->rq_size;
}

/**
 * sdp_ring_set_rq_size() - set the size of the receive queue
 * @ring: the ring; changed; nothing was posted yet
 * @places: places in the receive queue
 *
 * Context: any; pure.
 */
static inline void sdp_ring_set_rq_size(struct sdp_ring *ring, u16 places)
{
	ring->rq_size = places;
}

/**
 * sdp_ring_withhold() - record that a connection without an owner got less
 * @ring: the ring; changed; under rx.lock
 *
 * Context: any; pure.
 */
static inline void sdp_ring_withhold(struct sdp_ring *ring)
{
	ring->withheld = true;
}

/**
 * sdp_ring_withheld() - whether a connection without an owner got less
 * @ring: the ring; under rx.lock
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_ring_withheld(const struct sdp_ring *ring)
{
	return ring->withheld;
}

/**
 * sdp_ring_may_be_full_news() - whether a waiting reader may have to be told
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if sdp_ring_full_news() is to be called.
 */
static inline bool sdp_ring_may_be_full_news(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->full_news);
}

/**
 * sdp_ring_full_news() - whether the ring has become full since the last call
 * @ring: the ring; changed; under rx.lock
 *
 * Context: any; pure.
 * Return: true if so, and a reader waited for more.
 */
static inline bool sdp_ring_full_news(struct sdp_ring *ring)
{
	bool news = ring->full_news;

	WRITE_ONCE(ring->full_news, false);
	return news;
}

#endif
