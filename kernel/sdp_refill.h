/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Receive buffers are made and posted; see sdp_refill.c, and sdp_ring.h for how many.
 */
#ifndef _SDP_REFILL_H
#define _SDP_REFILL_H

#include "sdp_conn.h"

/**
 * sdp_refill_full_size() - bytes of a buffer for a peer that sends much
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes with header, whole pages.
 */
u32 sdp_refill_full_size(const struct sdp_conn *conn);

/**
 * sdp_refill_begin() - choose the size of the first buffers
 * @conn: the connection, before sdp_rx_start(), with the maximum of its memory
 * @peer_asks: the peer will ask when it wants larger ones
 *
 * Context: process or softirq.
 */
void sdp_refill_begin(struct sdp_conn *conn, bool peer_asks);

/**
 * sdp_refill_resize() - the peer asks for larger buffers, or smaller ones
 * @conn: the connection; the caller polls; sdp_ring_ask() has what it asks for
 *
 * Has conn->rcv_size told to the peer: at once if nothing changes, since it may
 * not or there is no memory; else when all that were posted before have been
 * used.  If there is no place in the receive queue, if nobody has accepted the
 * connection, or larger ones are asked for and nobody takes what has come,
 * sdp_ring_asks() stays true, and the caller tries again after the next message, or when
 * somebody has.
 *
 * If it asks for no more than it has, the ring shrinks to the fewest buffers of
 * that size as soon as the peer has heard the answer: it sends nothing longer
 * from then on.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_resize(struct sdp_conn *conn);

/**
 * sdp_refill_heard() - a message came: has the peer heard that the ring shrinks?
 * @conn: the connection, conn->lock held; the caller polls
 *
 * Context: process or softirq.
 */
void sdp_refill_heard(struct sdp_conn *conn);

/**
 * sdp_refill_arrived() - a buffer was used, perhaps an old one
 * @conn: the connection; the caller polls
 * @buf: the buffer
 *
 * Context: process or softirq.
 */
void sdp_refill_arrived(struct sdp_conn *conn, const struct sdp_buf *buf);

/**
 * sdp_refill_post() - post buffers, and new ones if the ring should grow
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
int sdp_refill_post(struct sdp_conn *conn, struct list_head *bufs, bool reading);

/**
 * sdp_refill_used() - a message of the peer has used a buffer
 * @conn: the connection, conn->lock held
 * @empty: it was one that carries nothing but its header
 *
 * Remembers if the peer has used most of what it knows of.
 *
 * Context: process or softirq.
 */
void sdp_refill_used(struct sdp_conn *conn, bool empty);

/**
 * sdp_refill_charge() - charge the owner for what has come before he was
 * @conn: the connection, which is owned
 *
 * Buffers that are posted are charged for when they have been used.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_charge(struct sdp_conn *conn);

/**
 * sdp_refill_owned() - somebody has accepted the connection
 * @conn: the connection, which has an owner and his maximum
 *
 * He is charged for what waits for him, and what had to wait for him (more
 * buffers, larger ones, RDMA Reads) is seen to by the worker.
 *
 * Context: process; may allocate with GFP_KERNEL.
 */
void sdp_refill_owned(struct sdp_conn *conn);

/**
 * sdp_refill_set_max() - how far it may grow
 * @conn: the connection
 * @bytes: memory that its receive buffers may take
 *
 * Never below the four buffers that the protocol wants posted.
 *
 * Context: process or softirq.
 */
void sdp_refill_set_max(struct sdp_conn *conn, u32 bytes);

/**
 * sdp_refill_set_wants() - somebody waits for so much to be there at once
 * @conn: the connection
 * @bytes: of the stream, that nobody reads before all of them have come
 *
 * The ring grows for them although nothing is read, within its maximum, from
 * the next sdp_refill_post() on; what is waited for may still not fit:
 * sdp_refill_is_full().
 *
 * Context: process or softirq.
 */
void sdp_refill_set_wants(struct sdp_conn *conn, u32 bytes);

/**
 * sdp_refill_retry() - what was full may not be any more
 * @conn: the connection
 *
 * For who waits for memory, of which nobody tells him: whoever polls next tries.
 *
 * Context: process or softirq.
 */
void sdp_refill_retry(struct sdp_conn *conn);

/**
 * sdp_refill_is_waited() - does somebody wait for more than has come?
 * @conn: the connection, rx.lock held
 *
 * Urgent bytes out of line are no part of what is waited for.
 *
 * Context: process or softirq.
 * Return: true if so, and nobody takes anything until it has come.
 */
bool sdp_refill_is_waited(const struct sdp_conn *conn);

/**
 * sdp_refill_turned_full() - has it become full since this was asked?
 * @conn: the connection
 *
 * Context: process or softirq.
 * Return: true if so, and somebody waited for more: he is to be told.
 */
bool sdp_refill_turned_full(struct sdp_conn *conn);

/**
 * sdp_refill_is_full() - can nothing come before something is read?
 * @conn: the connection
 *
 * Context: any; behind sdp_refill_post(), which may find room.
 * Return: true if the peer has no buffer left that it may use for data.
 */
bool sdp_refill_is_full(const struct sdp_conn *conn);

#endif
