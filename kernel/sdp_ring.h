/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ring of receive buffers: how many there are, posting them again.
 */
#ifndef _SDP_RING_H
#define _SDP_RING_H

#include "sdp_conn.h"

/**
 * sdp_ring_post() - post buffers, and new ones if the ring should grow
 * @conn: the connection
 * @bufs: a list of buffers by sdp_buf.node; empty on return
 * @reading: a reader has taken bytes: the ring may grow to its maximum; else
 *	only as far as TCP lets a peer send to who does not read
 *
 * Buffers that the transport does not take any more, because the connection
 * is dead, are freed.
 *
 * Context: process; may allocate with GFP_KERNEL.
 * Return: how many were posted.
 */
int sdp_ring_post(struct sdp_conn *conn, struct list_head *bufs,
		  bool reading);

/**
 * sdp_ring_is_low() - has the peer used most of what is posted?
 * @conn: the connection
 *
 * Context: any; a hint.
 * Return: true if sdp_ring_post() would let the ring grow.
 */
bool sdp_ring_is_low(struct sdp_conn *conn);

/**
 * sdp_ring_set_max() - how far it may grow
 * @conn: the connection
 * @bytes: memory that its receive buffers may take
 *
 * Never below the four buffers that the protocol wants posted.
 *
 * Context: any.
 */
void sdp_ring_set_max(struct sdp_conn *conn, u32 bytes);

#endif
