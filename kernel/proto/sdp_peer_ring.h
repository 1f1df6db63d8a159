/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The peer's receive buffers: when to ask for larger or for smaller ones.
 *
 * A connection begins with small ones.  It is time to ask for larger ones
 * (ChRcvBuf, protocol text, 5.1) when a message as long as they are waits for
 * credits, or when messages were cut again and again because they are not
 * longer.  When nothing was sent for a while the peer is asked for smaller
 * ones, so that it can free memory.
 *
 * This is the policy alone; sdp_chrcvbuf.c asks.  Its state belongs to the
 * connection, under conn->lock.
 *
 * Pure: types and arithmetic, nothing else of the kernel.  Sizes are bytes of a
 * buffer, with the BSDH; times are in jiffies, HZ of them a second.
 */
#ifndef _SDP_PEER_RING_H
#define _SDP_PEER_RING_H

#include <asm/param.h>
#include <linux/types.h>
#include "sdp_wire.h"

enum {
	SDP_PEER_RING_AGAIN	= 10 * HZ,	/* between two questions for larger buffers */
	SDP_PEER_RING_CUTS	= 16,		/* messages cut until larger ones are asked for */
	/* Number of buffers so small that asking for less is not worth it. */
	SDP_PEER_RING_FEW	= SDP_WIRE_CREDITS_MIN + 1,
};

struct sdp_peer_ring {
	bool asked;		/* the peer was asked for other buffers */
	unsigned long asked_at;	/* jiffies when the peer was asked last */
	u32 ask;		/* size that the peer was asked for last */
	bool asks_less;		/* asked for smaller buffers, not answered yet */
	u32 size_before;		/* size before smaller buffers were asked for */
	u8 cut_msgs;		/* full messages with more behind; from 0 after we asked */
	bool grown;		/* the peer has grown its ring, and may shrink it */
	bool never_shrinks;		/* the peer never shrinks its ring */
	u16 flush;		/* messages to post until old buffers are used up */
};

/**
 * sdp_peer_ring_init() - begin, when a connection is set up
 * @ring: the peer's ring; changed
 * @bufs: buffers that the peer has posted, by its Hello or HelloAck
 *
 * A peer that begins with many did not make them for us, and keeps them.
 *
 * Context: any; pure.
 */
static inline void sdp_peer_ring_init(struct sdp_peer_ring *ring, u16 bufs)
{
	ring->never_shrinks = bufs > SDP_PEER_RING_FEW;
}

bool sdp_peer_ring_wants_more(struct sdp_peer_ring *ring, u32 want, bool open,
			      unsigned long now);
bool sdp_peer_ring_cut(struct sdp_peer_ring *ring);
bool sdp_peer_ring_grow(struct sdp_peer_ring *ring);

/**
 * sdp_peer_ring_is_grown() - whether the peer's ring has grown and may shrink
 * @ring: the peer's ring
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_peer_ring_is_grown(const struct sdp_peer_ring *ring)
{
	return ring->grown;
}

/* The state of a connection, to decide whether the peer's ring is to shrink. */
struct sdp_peer_ring_idle {
	unsigned long now;	/* jiffies */
	unsigned long since;	/* jiffies of the last progress */
	unsigned long idle;	/* jiffies without progress before we ask; 0: never ask */
	bool ends;		/* the connection is about to end, which frees the buffers */
	u16 bufs;		/* buffers that the peer has for us */
	u32 size;		/* bytes of one of these buffers */
	u32 least;		/* bytes of a buffer that we begin with */
};

unsigned long sdp_peer_ring_shrink(struct sdp_peer_ring *ring,
				   const struct sdp_peer_ring_idle *idle, bool *ask);
void sdp_peer_ring_ask_less(struct sdp_peer_ring *ring, u32 size, u32 had,
			    unsigned long now);

/**
 * sdp_peer_ring_asked() - size that a ChRcvBuf asks for
 * @ring: the peer's ring
 *
 * Context: any; pure.
 * Return: bytes.
 */
static inline u32 sdp_peer_ring_asked(const struct sdp_peer_ring *ring)
{
	return ring->ask;
}

void sdp_peer_ring_given(struct sdp_peer_ring *ring, u32 size, u16 bufs);

/**
 * sdp_peer_ring_use_up() - have the peer's buffers used up by empty messages
 * @ring: the peer's ring; changed
 * @bufs: number of buffers
 *
 * Context: any; pure.
 */
static inline void sdp_peer_ring_use_up(struct sdp_peer_ring *ring, u16 bufs)
{
	ring->flush = bufs;
}

/**
 * sdp_peer_ring_uses_up() - whether there are buffers to be used up
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
 * sdp_peer_ring_used() - note that a message used up one of the buffers
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
