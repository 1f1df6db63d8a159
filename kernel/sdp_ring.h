/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of receive buffers: how many there are to be, and of which size.
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
 * larger buffers (ChRcvBuf, 5.1).
 *
 * It shrinks again when the peer has nothing to say.  A posted buffer comes back
 * by being used and in no other way, so only the peer can see to it: it asks for
 * no more than it had at first, hears our answer, and then uses the buffers up
 * with empty messages (sdp_peer_ring.c is that side).  Smaller buffers are posted
 * when a message of the peer acknowledges the answer, and no sooner: until then it
 * may have sent something that is longer.
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
	/* So often short of buffers, with no longer lull between, is busy. */
	SDP_RING_BUSY		= 8,
	SDP_RING_LULL		= HZ / 10,
	/* Of the memory for a ring this part is one buffer, at the most. */
	SDP_RING_PARTS		= 8,
	/* Bytes of a ring whose reader does not read, as TCP's first window. */
	SDP_RING_UNREAD		= 128 * 1024,
};

struct sdp_ring {
	/* Under the lock of who polls. */
	u32 asked;		/* size that the peer wants */
	u32 asked_at;		/* where the reader was then, as rx.read counts */
	bool asked_unread;	/* the reader had not taken all then */
	bool asks;		/* the peer has no answer yet */
	bool flushed;		/* a buffer that was to go was used */
	u16 old;		/* posted buffers that are not of the size now */
	u16 flush;		/* buffers posted when it began to shrink */
	u32 shrink;		/* size that was promised to the peer */
	u16 rq_size;		/* places in the receive queue */
	/* Under conn->lock. */
	bool shrink_told;	/* the promise was posted */
	u32 shrink_mseq;	/* by this message */
	bool low;		/* the peer has used most */
	u8 lows;		/* how often in a row */
	unsigned long low_at;	/* jiffies of the last time */
	/* Under rx.lock. */
	u16 nbufs;		/* buffers */
	u32 mem;		/* bytes of their pages */
	u16 target;		/* buffers to have */
	u32 max_bytes;		/* bytes that they may take */
	u32 wanted;		/* bytes that a reader waits for, unread ones included */
	u32 owed;		/* bytes that nobody was charged for */
	bool withheld;		/* it had no owner, and got less than it wanted */
	bool full;		/* no room for more buffers, or no memory */
	bool full_news;		/* who waits was not told of that */
};

/* What is known when buffers are to be posted. */
struct sdp_ring_now {
	u32 size;		/* of new buffers */
	u32 full_size;		/* of those for a peer that sends much */
	u32 count;		/* buffers that a ring may have: net.sdp.rcvbuf_count */
	u16 posted;		/* buffers posted */
	u16 at_hand;		/* buffers about to be posted */
	u16 dropped;		/* buffers that have just gone */
	u32 inq;		/* bytes of the stream that are unread */
	u32 holes;		/* urgent bytes among them, which are not waited for */
	u32 fetched;		/* bytes of pages that RDMA Reads were given */
	bool reading;		/* a reader has taken bytes */
	bool owned;		/* somebody has the connection, and is charged */
	bool mem_short;		/* net.sdp.mem_pressure is reached */
	bool mem_over;		/* net.sdp.mem_max is */
};

void sdp_ring_init(struct sdp_ring *ring);
int sdp_ring_wanted(struct sdp_ring *ring, const struct sdp_ring_now *now);
void sdp_ring_set_full(struct sdp_ring *ring, u16 here, bool at_end, bool waited);
void sdp_ring_look_again(struct sdp_ring *ring, bool keep);

/**
 * sdp_ring_keep_all() - it is to have those that it has, as if it had grown so far
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
 * sdp_ring_keep_fewest() - it is to have the fewest, whatever made it grow
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
 * sdp_ring_ask() - the peer wants other buffers
 * @ring: the ring; changed; by who polls
 * @size: that it wants
 * @read: bytes that the reader has taken, modulo 2^32
 * @unread: there are others
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
 * sdp_ring_asks() - has the peer no answer yet?
 * @ring: the ring; by who polls
 *
 * Context: any; pure.
 * Return: true if so.
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
 * sdp_ring_answered() - the peer is to have its answer
 * @ring: the ring; changed; by who polls
 *
 * Context: any; pure.
 * Return: true if it may go now; false: when the last old buffer was used.
 */
static inline bool sdp_ring_answered(struct sdp_ring *ring)
{
	ring->asks = false;
	return !ring->old;
}

/**
 * sdp_ring_has_old() - are buffers posted that are of another size?
 * @ring: the ring; by who polls
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_ring_has_old(const struct sdp_ring *ring)
{
	return ring->old;
}

/**
 * sdp_ring_old_used() - one of these was used
 * @ring: the ring; changed; by who polls
 *
 * Context: any; pure.
 * Return: true if it was the last.
 */
static inline bool sdp_ring_old_used(struct sdp_ring *ring)
{
	return !--ring->old;
}

bool sdp_ring_promise(struct sdp_ring *ring, u32 size, u32 least, u32 page);

/**
 * sdp_ring_promised() - the size that was promised
 * @ring: the ring; under conn->lock
 *
 * Context: any; pure.
 * Return: bytes; 0: none was.
 */
static inline u32 sdp_ring_promised(const struct sdp_ring *ring)
{
	return ring->shrink;
}

/**
 * sdp_ring_promise_posted() - the promise goes
 * @ring: the ring; changed; under conn->lock
 * @mseq: the message's
 *
 * Context: any; pure.
 */
static inline void sdp_ring_promise_posted(struct sdp_ring *ring, u32 mseq)
{
	ring->shrink_told = true;
	ring->shrink_mseq = mseq;
}

/**
 * sdp_ring_promise_mseq() - which message promised it
 * @ring: the ring; under conn->lock
 * @mseq: its MSeq
 *
 * Context: any; pure.
 * Return: false if none has gone.
 */
static inline bool sdp_ring_promise_mseq(const struct sdp_ring *ring, u32 *mseq)
{
	*mseq = ring->shrink_mseq;
	return ring->shrink && ring->shrink_told;
}

u32 sdp_ring_shrink(struct sdp_ring *ring, u16 posted);

/**
 * sdp_ring_shrinks() - does it shrink, or is it about to?
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_ring_shrinks(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->shrink) || READ_ONCE(ring->flush);
}

/**
 * sdp_ring_flushed() - was a buffer used that was to go?
 * @ring: the ring; changed; by who polls
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
 * sdp_ring_is_waited() - does somebody wait for more than has come?
 * @ring: the ring; under rx.lock
 * @inq: bytes that are unread
 * @holes: urgent bytes among them, out of line
 *
 * Context: any; pure.
 * Return: true if so, and nobody takes anything until it has come.
 */
static inline bool sdp_ring_is_waited(const struct sdp_ring *ring, u32 inq, u32 holes)
{
	return ring->wanted > 1 && inq <= ring->wanted + holes;
}

/**
 * sdp_ring_wants() - bytes that somebody waits for to be there at once
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: bytes; 1 or 0: any will do.
 */
static inline u32 sdp_ring_wants(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->wanted);
}

/**
 * sdp_ring_is_low() - is the ring to grow?
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if posting would let it grow.
 */
static inline bool sdp_ring_is_low(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->low);
}

/**
 * sdp_ring_is_full() - can nothing come before something is read?
 * @ring: the ring; may change meanwhile
 * @posted: buffers that are
 *
 * Context: any; pure.
 * Return: true if the peer has no buffer left that it may use for data.
 */
static inline bool sdp_ring_is_full(const struct sdp_ring *ring, u16 posted)
{
	return READ_ONCE(ring->full) && posted <= SDP_RING_NOT_DATA;
}

/**
 * sdp_ring_account() - a buffer comes or goes
 * @ring: the ring; changed; under rx.lock
 * @bytes: its size
 * @sign: 1 or -1
 *
 * Context: any; pure.
 */
static inline void sdp_ring_account(struct sdp_ring *ring, u32 bytes, int sign)
{
	ring->nbufs += sign;
	ring->mem += sign * (int)bytes;
}

/**
 * sdp_ring_account_owed() - one that nobody was charged for does, or of RDMA Reads
 * @ring: the ring; changed; under rx.lock
 * @bytes: its size
 * @sign: 1 or -1
 *
 * Context: any; pure.
 */
static inline void sdp_ring_account_owed(struct sdp_ring *ring, u32 bytes, int sign)
{
	ring->owed += sign * (int)bytes;
}

/**
 * sdp_ring_owes() - is there anything that nobody was charged for?
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_ring_owes(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->owed);
}

/**
 * sdp_ring_bufs() - how many buffers it has
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
 * sdp_ring_mem() - how much memory it has
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
 * sdp_ring_max_bytes() - how much memory it may have
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
 * sdp_ring_set_max_bytes() - how much memory it may have from now on
 * @ring: the ring; changed; under rx.lock, or nobody has it yet
 * @bytes: so much
 *
 * Context: any; pure.
 */
static inline void sdp_ring_set_max_bytes(struct sdp_ring *ring, u32 bytes)
{
	WRITE_ONCE(ring->max_bytes, bytes);
}

/**
 * sdp_ring_set_wants() - somebody waits for so much to be there at once
 * @ring: the ring; changed; under rx.lock
 * @bytes: so much
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
 * sdp_ring_set_rq_size() - there is a receive queue
 * @ring: the ring; changed; nothing was posted yet
 * @places: that it has
 *
 * Context: any; pure.
 */
static inline void sdp_ring_set_rq_size(struct sdp_ring *ring, u16 places)
{
	ring->rq_size = places;
}

/**
 * sdp_ring_withhold() - what has no owner got less than it wanted
 * @ring: the ring; changed; under rx.lock
 *
 * Context: any; pure.
 */
static inline void sdp_ring_withhold(struct sdp_ring *ring)
{
	ring->withheld = true;
}

/**
 * sdp_ring_withheld() - was that so?
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
 * sdp_ring_may_be_full_news() - is there perhaps news for who waits?
 * @ring: the ring; may change meanwhile
 *
 * Context: any; pure.
 * Return: true if sdp_ring_full_news() is to be asked.
 */
static inline bool sdp_ring_may_be_full_news(const struct sdp_ring *ring)
{
	return READ_ONCE(ring->full_news);
}

/**
 * sdp_ring_full_news() - has it become full since this was asked?
 * @ring: the ring; changed; under rx.lock
 *
 * Context: any; pure.
 * Return: true if so, and somebody waited for more.
 */
static inline bool sdp_ring_full_news(struct sdp_ring *ring)
{
	bool news = ring->full_news;

	WRITE_ONCE(ring->full_news, false);
	return news;
}

#endif
