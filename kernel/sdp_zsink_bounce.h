/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sink of a SrcAvail: what the peer offers is read by RDMA; see sdp_zsink_bounce.c.
 */
#ifndef _SDP_ZSINK_BOUNCE_H
#define _SDP_ZSINK_BOUNCE_H

#include "sdp_conn.h"

/**
 * sdp_zsink_bounce_heard() - the peer offers something
 * @conn: the connection, conn->lock held
 * @inlined: its first bytes came with it and are not delivered yet: nothing is
 *	read before sdp_zsink_bounce_delivered()
 *
 * Refuses where reading is impossible or not wanted.
 *
 * Context: process or softirq.
 */
void sdp_zsink_bounce_heard(struct sdp_conn *conn, bool inlined);

/**
 * sdp_zsink_bounce_delivered() - they are the reader's
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_zsink_bounce_delivered(struct sdp_conn *conn);

/**
 * sdp_zsink_bounce_is_due() - may there be something to read?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if sdp_zsink_bounce_more() is worth a call.
 */
static inline bool sdp_zsink_bounce_is_due(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->mode.snk.held.n) ||
	       sdp_zsink_has_reads(&conn->zsink);
}

/**
 * sdp_zsink_bounce_is_full() - does what is offered wait for something to be read?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if as much was read by RDMA as may lie unread, all of it.
 */
bool sdp_zsink_bounce_is_full(const struct sdp_conn *conn);

/**
 * sdp_zsink_bounce_is_behind() - does the peer have bytes for us that we have not?
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 * Return: true if something offered is not read.
 */
bool sdp_zsink_bounce_is_behind(struct sdp_conn *conn);

/**
 * sdp_zsink_bounce_more() - read what is offered into buffers of ours
 * @conn: the connection
 *
 * As far as SO_RCVBUF and the memory of all allow: what nobody reads stays with
 * the peer.  Without memory the peer is asked to send it by copy.  If the last
 * reader would rather have had it read into his own buffer that waits a moment.
 *
 * Context: process; may sleep.
 */
void sdp_zsink_bounce_more(struct sdp_conn *conn);

#endif
