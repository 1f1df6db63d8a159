/* SPDX-License-Identifier: GPL-2.0 */
/*
 * RDMA Reads of what the peer advertises into bounce buffers; see
 * sdp_zsink_bounce.c.
 */
#ifndef _SDP_ZSINK_BOUNCE_H
#define _SDP_ZSINK_BOUNCE_H

#include "sdp_conn.h"

void sdp_zsink_bounce_heard(struct sdp_conn *conn, bool inlined);
void sdp_zsink_bounce_delivered(struct sdp_conn *conn);

/**
 * sdp_zsink_bounce_is_due() - whether there may be something to read
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

bool sdp_zsink_bounce_is_full(const struct sdp_conn *conn);
bool sdp_zsink_bounce_is_behind(struct sdp_conn *conn);
void sdp_zsink_bounce_more(struct sdp_conn *conn);

#endif
