/* SPDX-License-Identifier: GPL-2.0 */
/* The zero-copy sink: the buffer of a reader that waits; see sdp_zsink.c. */
#ifndef _SDP_ZSINK_H
#define _SDP_ZSINK_H

#include "sdp_conn.h"

bool sdp_zsink_wants(struct sdp_conn *conn, const struct iov_iter *iter,
		     size_t len);
void sdp_zsink_wanted(struct sdp_conn *conn, bool again);
bool sdp_zsink_read_begin(struct sdp_conn *conn);
ssize_t sdp_zsink_read_more(struct sdp_conn *conn, struct iov_iter *iter, size_t len);
size_t sdp_zsink_read_reap(struct sdp_conn *conn);

/**
 * sdp_zsink_read_is_out() - whether direct reads are under way
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_zsink_read_reap() has unpinned the last.
 */
static inline bool sdp_zsink_read_is_out(const struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsink.read_umrs);
}

bool sdp_zsink_avail_begin(struct sdp_conn *conn);
int sdp_zsink_avail_make(struct sdp_conn *conn, const struct iov_iter *iter, size_t len);
size_t sdp_zsink_avail_reap(struct sdp_conn *conn);

/**
 * sdp_zsink_avail_is_out() - whether a reader's buffer may still be written to
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_zsink_avail_reap() has unpinned it.
 */
static inline bool sdp_zsink_avail_is_out(const struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsink.avail_umrs);
}

void sdp_zsink_avail_cancel(struct sdp_conn *conn);
void sdp_zsink_avail_told(struct sdp_conn *conn, const struct sdp_advert_told *told);
void sdp_zsink_end(struct sdp_conn *conn);
bool sdp_zsink_push_read(struct sdp_conn *conn);
void sdp_zsink_add_read(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_zsink_hold(struct sdp_conn *conn, bool hold);
s64 sdp_zsink_unread(const struct sdp_conn *conn);
void sdp_zsink_drop_bounced(struct sdp_conn *conn, bool all);

#endif
