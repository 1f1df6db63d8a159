// SPDX-License-Identifier: GPL-2.0
/*
 * The peer's receive buffers: whether to ask for others; see sdp_peer_ring.h.
 *
 * A peer only changes its buffers if it is asked to.  A peer that refuses
 * smaller buffers is not asked for smaller ones again.  A peer that refuses
 * larger ones is asked again now and then, since it may have been short of
 * memory.
 */
#include "sdp_peer_ring.h"

static void sdp_peer_ring_ask(struct sdp_peer_ring *ring, u32 size, unsigned long now)
{
	ring->asked = true;
	ring->asked_at = now;
	ring->ask = size;
}

/**
 * sdp_peer_ring_wants_more() - whether to ask for larger buffers now
 * @ring: the peer's ring; changed if so
 * @want: size in bytes that we would like
 * @open: whether a ChRcvBuf of ours is not posted yet, or not answered
 * @now: jiffies
 *
 * Called when a message as long as a buffer waits, or was cut often enough.
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
 * sdp_peer_ring_cut() - count a message that was cut to the peer's buffer size
 * @ring: the peer's ring; changed
 *
 * A ping-pong never waits for credits, and yet is slower by many short messages.
 *
 * Context: any; pure.
 * Return: true if it is time to ask for larger buffers.
 */
bool sdp_peer_ring_cut(struct sdp_peer_ring *ring)
{
	if (++ring->cut_msgs < SDP_PEER_RING_CUTS)
		return false;
	ring->cut_msgs = 0;
	return true;
}

/**
 * sdp_peer_ring_grow() - note that the peer's ring has grown
 * @ring: the peer's ring; changed
 *
 * The peer has many buffers for us, or large ones.
 *
 * Context: any; pure.
 * Return: true if it may shrink again when we are idle; false: it never does.
 */
bool sdp_peer_ring_grow(struct sdp_peer_ring *ring)
{
	if (ring->never_shrinks)
		return false;
	ring->grown = true;
	return true;
}

/**
 * sdp_peer_ring_shrink() - whether it is time to ask for smaller buffers
 * @ring: the peer's ring; changed
 * @idle: the state of the connection
 * @ask: set to whether to ask now; the caller that does calls
 *	sdp_peer_ring_ask_less()
 *
 * Context: any; pure.
 * Return: jiffies until the next try; 0: there is nothing to wait for.
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
 * sdp_peer_ring_ask_less() - note that the peer is asked for smaller buffers
 * @ring: the peer's ring; changed
 * @size: bytes of a buffer that it is asked for
 * @had: bytes of a buffer that it has
 * @now: jiffies
 *
 * Context: any; pure.
 */
void sdp_peer_ring_ask_less(struct sdp_peer_ring *ring, u32 size, u32 had,
			    unsigned long now)
{
	sdp_peer_ring_ask(ring, size, now);
	ring->asks_less = true;
	ring->size_before = had;
}

/**
 * sdp_peer_ring_given() - take the peer's answer
 * @ring: the peer's ring; changed
 * @size: bytes of a buffer, by its ChRcvBufAck
 * @bufs: number of buffers that it has for us
 *
 * If it was asked for smaller ones, and grants that, the old buffers are used
 * up by empty messages.
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
	if (size <= ring->ask || size < ring->size_before)
		ring->flush = bufs;
	/* A peer that refused now will refuse again: do not ask any more. */
	ring->never_shrinks = size > ring->ask;
}
