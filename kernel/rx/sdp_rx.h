/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a connection: completions are decoded, accounted and
 * dispatched; see sdp_rx.c.
 */
#ifndef _SDP_RX_H
#define _SDP_RX_H

#include "sdp_conn.h"

/**
 * sdp_rx_inq() - bytes of payload that wait for a reader
 * @conn: the connection
 *
 * Context: any; without rx.lock it may have changed already.
 * Return: bytes.
 */
static inline u32 sdp_rx_inq(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->rx.inq);
}

/**
 * sdp_rx_bytes() - bytes of the stream that have arrived since it began
 * @conn: the connection
 *
 * Context: any; without rx.lock it may have changed already.
 * Return: bytes.
 */
static inline u64 sdp_rx_bytes(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->rx.bytes);
}

/**
 * sdp_rx_stamp() - when the last byte came that was read
 * @conn: the connection; its reader has the socket lock
 *
 * Context: process.
 * Return: wall clock time; 0 if it was not asked for then.
 */
static inline ktime_t sdp_rx_stamp(const struct sdp_conn *conn)
{
	return conn->rx.stamp;
}

/**
 * sdp_rx_stamp_now() - note that the last byte that was read came now
 * @conn: the connection; its reader has the socket lock
 *
 * Context: process.
 */
static inline void sdp_rx_stamp_now(struct sdp_conn *conn)
{
	conn->rx.stamp = sdp_conn_stamp(conn);
}

int sdp_rx_start(struct sdp_conn *conn, u16 rq_size);
void sdp_rx_poll(struct sdp_conn *conn);
bool sdp_rx_look(struct sdp_conn *conn);
bool sdp_rx_claim(struct sdp_conn *conn);
void sdp_rx_unclaim(struct sdp_conn *conn);
void sdp_rx_hear(struct sdp_conn *conn);
void sdp_rx_close(struct sdp_conn *conn);
void sdp_rx_flush(struct sdp_conn *conn);
void sdp_rx_end(struct sdp_conn *conn);
void sdp_rx_arrived(struct sdp_conn *conn, struct sdp_buf *buf, u32 bytes,
		    int status);
void sdp_rx_work(struct work_struct *work);

#endif
