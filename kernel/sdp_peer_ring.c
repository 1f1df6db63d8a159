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

bool sdp_peer_ring_wants_more(struct sdp_peer_ring *ring, u32 want, bool open,
			      unsigned long now)
{
	if (ring->asked && (open || now - ring->asked_at < SDP_PEER_RING_AGAIN))
		return false;
	sdp_peer_ring_ask(ring, want, now);
	return true;
}

bool sdp_peer_ring_cut(struct sdp_peer_ring *ring)
{
	if (++ring->cuts < SDP_PEER_RING_CUTS)
		return false;
	ring->cuts = 0;
	return true;
}

bool sdp_peer_ring_grow(struct sdp_peer_ring *ring)
{
	if (ring->keeps)
		return false;
	ring->grown = true;
	return true;
}

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

void sdp_peer_ring_ask_less(struct sdp_peer_ring *ring, u32 size, u32 had,
			    unsigned long now)
{
	sdp_peer_ring_ask(ring, size, now);
	ring->asks_less = true;
	ring->had = had;
}

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
