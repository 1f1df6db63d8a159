/* SPDX-License-Identifier: GPL-2.0 */
/* The peer's receive buffers, asked for more or less of; see sdp_peer_ring.c. */
#ifndef _SDP_PEER_RING_H
#define _SDP_PEER_RING_H

#include "sdp_conn.h"

/**
 * sdp_peer_ring_asks_for_more() - a message waits for credits: are larger ones better?
 * @conn: the connection, conn->lock held
 * @msg: the message
 *
 * Once in a while, if it is as long as the peer's buffers and these are small.
 *
 * Context: process or softirq.
 * Return: true if a ChRcvBuf is to be posted now.
 */
bool sdp_peer_ring_asks_for_more(struct sdp_conn *conn, const struct sdp_msg *msg);

/**
 * sdp_peer_ring_posted() - a message goes: would a longer one have been better?
 * @conn: the connection, conn->lock held
 * @msg: the message
 *
 * A ping-pong never waits for credits, and yet is slower by many short messages.
 *
 * Context: process or softirq.
 */
void sdp_peer_ring_posted(struct sdp_conn *conn, const struct sdp_msg *msg);

/**
 * sdp_peer_ring_shrink_due() - is it time for the peer to have memory back?
 * @conn: the connection, conn->lock held
 *
 * If so it is asked, unless a message is in the making.
 *
 * Context: process or softirq.
 * Return: jiffies until it may be; 0: there is nothing to wait for.
 */
unsigned long sdp_peer_ring_shrink_due(struct sdp_conn *conn);

/**
 * sdp_peer_ring_given() - the peer's receive buffers are larger now
 * @conn: the connection, conn->lock held
 * @size: bytes of one, by its ChRcvBufAck; a smaller one changes nothing
 *
 * Context: process or softirq.
 */
void sdp_peer_ring_given(struct sdp_conn *conn, u32 size);

/* Buffers of the peer that are not worth asking for. */
enum { SDP_PEER_RING_FEW = SDP_WIRE_CREDITS_MIN + 1 };

/**
 * sdp_peer_ring_build() - a message is about to be made
 * @conn: the connection; the caller has the socket lock
 *
 * Between this and sdp_peer_ring_built() conn->snd_max may be taken at its word: the
 * peer is not told meanwhile that we send nothing so long.
 *
 * Context: process.
 */
static inline void sdp_peer_ring_build(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->peer_ring.building, true);
	smp_mb();	/* before snd_max is read */
}

/**
 * sdp_peer_ring_built() - it is in the queue, or was given up
 * @conn: as for sdp_peer_ring_build()
 *
 * Context: process.
 */
static inline void sdp_peer_ring_built(struct sdp_conn *conn)
{
	smp_store_release(&conn->peer_ring.building, false);	/* it is in the queue */
}

/**
 * sdp_peer_ring_grown() - the peer's ring has grown: have it shrink when we are idle
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_peer_ring_grown(struct sdp_conn *conn);

#endif
