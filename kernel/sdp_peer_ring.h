/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peer's receive buffers: when to ask for larger ones, and when for smaller.
 *
 * A connection begins with small ones.  When a message as long as they are waits
 * for credits, or what is sent was cut again and again because they are not longer,
 * it is time to ask for larger ones (ChRcvBuf, protocol text, 5.1); and when nothing
 * was sent for a while the peer may have that memory back.
 *
 * This is the policy alone; sdp_chrcvbuf.c asks.  Pure: types and arithmetic, nothing
 * else of the kernel.  Sizes are bytes of a buffer, with the BSDH; times are in
 * jiffies, HZ of them a second.
 */
#ifndef _SDP_PEER_RING_H
#define _SDP_PEER_RING_H

#include <asm/param.h>
#include <linux/types.h>
#include "sdp_wire.h"

enum {
	SDP_PEER_RING_AGAIN	= 10 * HZ,	/* until larger ones are asked for again */
	SDP_PEER_RING_CUTS	= 16,		/* messages that were cut, before we ask */
	/* Buffers that are not worth asking for. */
	SDP_PEER_RING_FEW	= SDP_WIRE_CREDITS_MIN + 1,
};

struct sdp_peer_ring {
	bool asked;		/* the peer was asked for other buffers */
	unsigned long asked_at;	/* jiffies when it was */
	u32 ask;		/* size that it was asked for */
	bool asks_less;		/* it was for smaller ones, and has not answered */
	u32 had;		/* size that it had before that */
	u8 cuts;		/* full messages with more behind, in a row */
	bool grown;		/* it has grown its ring, and may shrink it */
	bool keeps;		/* it never gives buffers back */
	u16 flush;		/* empty messages to post, to use old buffers up */
};

/**
 * sdp_peer_ring_init() - the connection is established
 * @ring: the peer's ring; changed
 * @bufs: buffers that the peer has made for it
 *
 * A peer that begins with many did not make them for us, and keeps them.
 *
 * Context: any; pure.
 */
static inline void sdp_peer_ring_init(struct sdp_peer_ring *ring, u16 bufs)
{
	ring->keeps = bufs > SDP_PEER_RING_FEW;
}

bool sdp_peer_ring_wants_more(struct sdp_peer_ring *ring, u32 want, bool open,
			      unsigned long now);
bool sdp_peer_ring_cut(struct sdp_peer_ring *ring);
bool sdp_peer_ring_grow(struct sdp_peer_ring *ring);

/**
 * sdp_peer_ring_is_grown() - is there anything to have back from it?
 * @ring: the peer's ring
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_peer_ring_is_grown(const struct sdp_peer_ring *ring)
{
	return ring->grown;
}

/* What is known when the peer may perhaps have memory back. */
struct sdp_peer_ring_idle {
	unsigned long now;	/* jiffies */
	unsigned long since;	/* jiffies when something was taken last */
	unsigned long idle;	/* jiffies that it has to be so; 0: it never may */
	bool ends;		/* the end is near, and gives everything back */
	u16 bufs;		/* buffers that it has for us */
	u32 size;		/* of one */
	u32 least;		/* size that we begin with */
};

unsigned long sdp_peer_ring_shrink(struct sdp_peer_ring *ring,
				   const struct sdp_peer_ring_idle *idle, bool *ask);
void sdp_peer_ring_ask_less(struct sdp_peer_ring *ring, u32 size, u32 had,
			    unsigned long now);

/**
 * sdp_peer_ring_asked() - what a ChRcvBuf is to say
 * @ring: the peer's ring
 *
 * Context: any; pure.
 * Return: the size.
 */
static inline u32 sdp_peer_ring_asked(const struct sdp_peer_ring *ring)
{
	return ring->ask;
}

void sdp_peer_ring_given(struct sdp_peer_ring *ring, u32 size, u16 bufs);

/**
 * sdp_peer_ring_use_up() - use the peer's buffers up by empty messages
 * @ring: the peer's ring; changed
 * @bufs: how many
 *
 * Context: any; pure.
 */
static inline void sdp_peer_ring_use_up(struct sdp_peer_ring *ring, u16 bufs)
{
	ring->flush = bufs;
}

/**
 * sdp_peer_ring_uses_up() - are there buffers to be used up?
 * @ring: the peer's ring
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_peer_ring_uses_up(const struct sdp_peer_ring *ring)
{
	return ring->flush;
}

/**
 * sdp_peer_ring_used() - a message goes, of payload or of none, and uses one up
 * @ring: the peer's ring; changed
 *
 * Context: any; pure.
 */
static inline void sdp_peer_ring_used(struct sdp_peer_ring *ring)
{
	if (ring->flush)
		ring->flush--;
}

#endif
