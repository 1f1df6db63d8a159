/* SPDX-License-Identifier: GPL-2.0 */
/* The peer's receive buffers, asked for more or less of; see sdp_chrcvbuf.c. */
#ifndef _SDP_CHRCVBUF_H
#define _SDP_CHRCVBUF_H

#include "sdp_conn.h"

/**
 * sdp_chrcvbuf_ask_more() - a message waits for credits: are larger ones better?
 * @conn: the connection, conn->lock held
 * @msg: the message
 *
 * Once in a while, if it is as long as the peer's buffers and these are small.
 *
 * Context: process or softirq.
 * Return: true if a ChRcvBuf is to be posted now.
 */
bool sdp_chrcvbuf_ask_more(struct sdp_conn *conn, const struct sdp_msg *msg);

/**
 * sdp_chrcvbuf_posted() - a message goes: would a longer one have been better?
 * @conn: the connection, conn->lock held
 * @msg: the message
 *
 * A ping-pong never waits for credits, and yet is slower by many short messages.
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_posted(struct sdp_conn *conn, const struct sdp_msg *msg);

/**
 * sdp_chrcvbuf_shrink() - is it time for the peer to have memory back?
 * @conn: the connection, conn->lock held
 *
 * If so it is asked, unless a message is in the making.
 *
 * Context: process or softirq.
 * Return: jiffies until it may be; 0: there is nothing to wait for.
 */
unsigned long sdp_chrcvbuf_shrink(struct sdp_conn *conn);

/**
 * sdp_chrcvbuf_given() - the peer's receive buffers are larger now
 * @conn: the connection, conn->lock held
 * @size: bytes of one, by its ChRcvBufAck; a smaller one changes nothing
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_given(struct sdp_conn *conn, u32 size);

/**
 * sdp_chrcvbuf_build() - a message is about to be made
 * @conn: the connection; the caller has the socket lock
 *
 * Between this and sdp_chrcvbuf_built() conn->snd_max may be taken at its word: the
 * peer is not told meanwhile that we send nothing so long.
 *
 * Context: process.
 */
static inline void sdp_chrcvbuf_build(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->building, true);
	smp_mb();	/* before snd_max is read */
}

/**
 * sdp_chrcvbuf_built() - it is in the queue, or was given up
 * @conn: as for sdp_chrcvbuf_build()
 *
 * Context: process.
 */
static inline void sdp_chrcvbuf_built(struct sdp_conn *conn)
{
	smp_store_release(&conn->building, false);	/* it is in the queue */
}

/**
 * sdp_chrcvbuf_grown() - the peer's ring has grown: have it shrink when we are idle
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_grown(struct sdp_conn *conn);

#endif
