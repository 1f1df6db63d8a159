/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Writing to where the peer's reader wants it; see sdp_fill.c.
 */
#ifndef _SDP_FILL_H
#define _SDP_FILL_H

#include "sdp_conn.h"

/**
 * sdp_fill_more() - have the next piece written
 * @conn: the connection; the caller has the socket lock, and lends
 * @iter: the user's memory; advanced
 * @bytes: how much of it, at most
 *
 * It goes with the next sdp_tx_run() if the SinkAvail is still there then; or
 * else sdp_tx_withdraw() has been called.
 *
 * Context: process; sleeps.
 * Return: bytes; 0 if there is no room until something is completed; negative
 * errno: this piece, and what comes behind it, has to go by copy.
 */
ssize_t sdp_fill_more(struct sdp_conn *conn, struct iov_iter *iter, u32 bytes);

/**
 * sdp_fill_end() - no more is to be written for now
 * @conn: the connection, conn->lock held
 *
 * The peer is told then of what was: sdp_tx_run() is the caller's.
 *
 * Context: process.
 */
void sdp_fill_end(struct sdp_conn *conn);

#endif
