// SPDX-License-Identifier: GPL-2.0
/*
 * The peer's receive buffers: are others to be asked for?  See sdp_peer_ring.h.
 *
 * What a peer is not asked for it does not do.  One that refuses smaller buffers is
 * not asked for smaller ones again; one that refuses larger ones is, now and then,
 * since it may have been short of memory.
 */
#include "sdp_peer_ring.h"

static void sdp_peer_ring_ask(struct sdp_peer_ring *ring, u32 size, unsigned long now)
{
	ring->asked = true;
	ring->asked_at = now;
	ring->ask = size;
}

/**
 * sdp_peer_ring_wants_more() - a message as long as a buffer waits: ask for larger ones?
 * @ring: the peer's ring; changed if so
 * @want: size that we would like
 * @open: a ChRcvBuf of ours is not posted, or not answered
 * @now: jiffies
 *
 * Context: any; pure.
 * Return: true if a ChRcvBuf is to be posted.
 */
bool sdp_peer_ring_wants_more(struct sdp_peer_ring *ring, u32 want, bool open,
			      unsigned long now)
{
	if (ring->asked && (open || now - ring->asked_at < SDP_PEER_RING_AGAIN))
		return false;
	sdp_peer_ring_ask(ring, want, now);
	return true;
}

/**
 * sdp_peer_ring_cut() - a message was cut, because the peer's buffers are not longer
 * @ring: the peer's ring; changed
 *
 * A ping-pong never waits for credits, and yet is slower by many short messages.
 *
 * Context: any; pure.
 * Return: true if that has been so often enough to ask for larger ones.
 */
bool sdp_peer_ring_cut(struct sdp_peer_ring *ring)
{
	if (++ring->cuts < SDP_PEER_RING_CUTS)
		return false;
	ring->cuts = 0;
	return true;
}

/**
 * sdp_peer_ring_grow() - the peer has many buffers for us, or large ones
 * @ring: the peer's ring; changed
 *
 * Context: any; pure.
 * Return: true if it may shrink again when we are idle; false: it never does.
 */
bool sdp_peer_ring_grow(struct sdp_peer_ring *ring)
{
	if (ring->keeps)
		return false;
	ring->grown = true;
	return true;
}

/**
 * sdp_peer_ring_shrink() - is it time for the peer to have memory back?
 * @ring: the peer's ring; changed
 * @idle: what is known
 * @ask: set to true if it is to be asked for smaller ones; that it was then is said
 *	by sdp_peer_ring_ask_less()
 *
 * Context: any; pure.
 * Return: jiffies until it may be time, or until it is to be asked again if that
 * was not possible; 0: there is nothing to wait for.
 */
unsigned long sdp_peer_ring_shrink(struct sdp_peer_ring *ring,
				   const struct sdp_peer_ring_idle *idle, bool *ask)
{
	unsigned long waited = idle->now - idle->since;

	*ask = false;
	if (idle->ends)
		ring->grown = false;
	if (!ring->grown || !idle->idle)
		return 0;
	if (waited < idle->idle)
		return idle->idle - waited;
	if (idle->bufs <= SDP_PEER_RING_FEW && idle->size <= idle->least) {
		ring->grown = false;
		return 0;
	}
	*ask = !ring->asks_less;
	return idle->idle;
}

/**
 * sdp_peer_ring_ask_less() - the peer is asked for smaller buffers
 * @ring: the peer's ring; changed
 * @size: what it is asked for
 * @had: what it has
 * @now: jiffies
 *
 * Context: any; pure.
 */
void sdp_peer_ring_ask_less(struct sdp_peer_ring *ring, u32 size, u32 had,
			    unsigned long now)
{
	sdp_peer_ring_ask(ring, size, now);
	ring->asks_less = true;
	ring->had = had;
}

/**
 * sdp_peer_ring_given() - the peer has answered
 * @ring: the peer's ring; changed
 * @size: by its ChRcvBufAck
 * @bufs: buffers that it has for us
 *
 * If it was asked for less, and gives less, the old buffers are to be used up by
 * empty messages.
 *
 * Context: any; pure.
 */
void sdp_peer_ring_given(struct sdp_peer_ring *ring, u32 size, u16 bufs)
{
	if (!ring->asks_less)
		return;
	ring->asks_less = false;
	ring->asked = false;
	ring->grown = false;
	if (size <= ring->ask || size < ring->had)
		ring->flush = bufs;
	/* It will not give what it did not give now. */
	ring->keeps = size > ring->ask;
}
