/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Urgent data on the receiving side (protocol text, 4.7); see sdp_urg.c.
 */
#ifndef _SDP_URG_H
#define _SDP_URG_H

#include "sdp_conn.h"

/* What stands at a place of the stream. */
enum sdp_urg_place {
	SDP_URG_NOTHING,
	SDP_URG_MARK,		/* the urgent byte */
	SDP_URG_HOLE,		/* an urgent byte that a newer replaced */
};

/**
 * sdp_urg_any() - whether there is anything urgent to be careful of
 * @conn: the connection
 *
 * Context: any; without rx.lock the answer is a hint.
 * Return: false for streams without urgent data.
 */
static inline bool sdp_urg_any(const struct sdp_conn *conn)
{
	return unlikely(READ_ONCE(conn->rx.urg.data) ||
			READ_ONCE(conn->rx.urg.holes));
}

/**
 * sdp_urg_is_new() - whether urgent data was announced that SIGURG was not sent for
 * @conn: the connection
 *
 * Context: any.
 * Return: true, once for each announcement.
 */
static inline bool sdp_urg_is_new(struct sdp_conn *conn)
{
	return test_and_clear_bit(SDP_CONN_SIGURG, &conn->flags);
}

bool sdp_urg_announced(struct sdp_conn *conn, bool pend, bool pres);
u32 sdp_urg_arrived(struct sdp_conn *conn, u32 seq, u8 byte);
bool sdp_urg_stops(const struct sdp_conn *conn, const struct sdp_buf *buf);
void sdp_urg_passed(struct sdp_conn *conn);
enum sdp_urg_place sdp_urg_place(struct sdp_conn *conn, u32 ahead);
bool sdp_urg_at_mark(struct sdp_conn *conn, bool inlined);
int sdp_urg_take(struct sdp_conn *conn, bool peek, u8 *byte);
bool sdp_urg_is_valid(const struct sdp_conn *conn);
u32 sdp_urg_readable(struct sdp_conn *conn, bool inlined);
u32 sdp_urg_inq(struct sdp_conn *conn, bool inlined);

#endif
