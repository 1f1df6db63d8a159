/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Telling the peer where a reader waits; see sdp_ask.c.
 *
 * All but sdp_ask_told() is for the one reader who asks.
 */
#ifndef _SDP_ASK_H
#define _SDP_ASK_H

#include "sdp_conn.h"

/**
 * sdp_ask_begin() - shall what the reader waits for be written to him?
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_take_end()
 *
 * Context: process.
 * Return: true if so; nobody else takes or asks from now on.
 */
bool sdp_ask_begin(struct sdp_conn *conn);

/**
 * sdp_ask_make() - tell the peer of his buffer
 * @conn: the connection; sdp_ask_begin() was true
 * @iter: the buffer; not advanced
 * @len: its length in bytes
 *
 * The message goes with the next sdp_tx_run() that credits allow, unless
 * something comes before.
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno: -EMSGSIZE if it is too short, or that of
 * sdp_loan_make().
 */
int sdp_ask_make(struct sdp_conn *conn, const struct iov_iter *iter, size_t len);

/**
 * sdp_ask_reap() - unpin what has come back
 * @conn: the connection
 *
 * Context: process; sleeps.
 * Return: bytes that the peer has written.
 */
size_t sdp_ask_reap(struct sdp_conn *conn);

/**
 * sdp_ask_is_out() - may it still be written to?
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_ask_reap() has taken it back.
 */
static inline bool sdp_ask_is_out(const struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsink.asks);
}

/**
 * sdp_ask_cancel() - the reader will not wait any longer
 * @conn: the connection
 *
 * What the peer has been told it has to give back: there is an answer to wait
 * for.  sdp_tx_run() is the caller's.
 *
 * Context: process.
 */
void sdp_ask_cancel(struct sdp_conn *conn);

/**
 * sdp_ask_told() - the peer has told what became of our SinkAvails
 * @conn: the connection, conn->lock held
 * @told: what
 *
 * Context: process or softirq.
 */
void sdp_ask_told(struct sdp_conn *conn, const struct sdp_advert_told *told);

#endif
