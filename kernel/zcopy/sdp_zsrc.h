/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The zero-copy source: memory of a call that waits is advertised to the peer;
 * see sdp_zsrc.c.
 *
 * sdp_zsrc_more(), sdp_zsrc_reap(), sdp_zsrc_cancel() and sdp_zsrc_withdrawn()
 * are for the one call between its sdp_zsrc_begin() and sdp_zsrc_end().
 */
#ifndef _SDP_ZSRC_H
#define _SDP_ZSRC_H

#include "sdp_conn.h"

/**
 * sdp_zsrc_has_sink() - whether the peer advertises a buffer to be written to
 * @conn: the connection
 *
 * Context: any; a hint without conn->lock.
 * Return: true if a SinkAvail of the peer is held.
 */
static inline bool sdp_zsrc_has_sink(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->mode.src.held.n);
}

bool sdp_zsrc_pays(const struct sdp_conn *conn, const struct iov_iter *iter);
bool sdp_zsrc_prefers(struct sdp_conn *conn, size_t len, u64 now);
void sdp_zsrc_spent(struct sdp_conn *conn, size_t len, bool zcopied, u64 ns);
bool sdp_zsrc_can(const struct sdp_conn *conn);
int sdp_zsrc_message(struct sdp_conn *conn, struct page_frag *frag,
		     struct sdp_umr *umr);
enum sdp_counter sdp_zsrc_begin(struct sdp_conn *conn);
ssize_t sdp_zsrc_more(struct sdp_conn *conn, struct page_frag *frag,
		      struct iov_iter *iter);
size_t sdp_zsrc_reap(struct sdp_conn *conn);
void sdp_zsrc_cancel(struct sdp_conn *conn);
void sdp_zsrc_end(struct sdp_conn *conn);
void sdp_zsrc_told(struct sdp_conn *conn, const struct sdp_advert_told *told);
int sdp_zsrc_queue(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_zsrc_drop_msg(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_zsrc_lapse(struct sdp_conn *conn, struct sdp_umr *umr, enum sdp_counter why);
bool sdp_zsrc_push(struct sdp_conn *conn, struct sdp_msg *msg);
unsigned long sdp_zsrc_due(const struct sdp_conn *conn);
bool sdp_zsrc_withdrawn(const struct sdp_conn *conn);

#endif
