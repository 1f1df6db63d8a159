/* SPDX-License-Identifier: GPL-2.0 */
/* What a sender may have outstanding; see sdp_sndbuf.c. */
#ifndef _SDP_SNDBUF_H
#define _SDP_SNDBUF_H

#include "sdp_conn.h"
#include "sdp_mem.h"

bool sdp_sndbuf_charge(struct sdp_conn *conn, struct sdp_msg *msg);

/* Bytes that may be outstanding when memory is short for all: a message. */
enum { SDP_SNDBUF_LEAST = 4096 };

/**
 * sdp_sndbuf_limit() - bytes that may be outstanding
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; less than was asked for when memory is short.
 */
static inline u32 sdp_sndbuf_limit(const struct sdp_conn *conn)
{
	u32 limit = READ_ONCE(conn->tx.limit);

	return sdp_mem_is_over() ? min_t(u32, limit, SDP_SNDBUF_LEAST) : limit;
}

void sdp_sndbuf_set_limit(struct sdp_conn *conn, u32 least, u32 most);

/* Of what counts as outstanding to a peer that reads, so much may be advertised beyond
 * calls: it is not our memory, and one piece may be as long as all that is.
 */
enum { SDP_SNDBUF_ASYNC = 4 };

/**
 * sdp_sndbuf_is_enough() - is there as much not sent as the user wants there to be?
 * @conn: the connection
 * @share: 1: so that no more is taken; 2: so that nobody is told of room, which
 *	TCP_NOTSENT_LOWAT has at half of it
 *
 * Context: any; a hint, of who has not conn->lock.
 * Return: true if so; never without TCP_NOTSENT_LOWAT.
 */
static inline bool sdp_sndbuf_is_enough(const struct sdp_conn *conn, u32 share)
{
	u32 lowat = READ_ONCE(conn->tx.notsent_lowat);
	s32 notsent;

	if (likely(lowat == U32_MAX))
		return false;
	notsent = READ_ONCE(conn->tx.outstanding) -
		  READ_ONCE(conn->tx.inflight_bytes);
	return notsent > 0 ? (u64)notsent * share >= lowat : !lowat;
}

/**
 * sdp_sndbuf_space() - bytes that a caller may still queue
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; 0 when full.
 */
static inline u32 sdp_sndbuf_space(const struct sdp_conn *conn)
{
	u32 used = READ_ONCE(conn->tx.outstanding);
	u32 limit = sdp_sndbuf_limit(conn);

	if (sdp_sndbuf_is_enough(conn, 1))
		return 0;
	/* What somebody sends without copying is on its way before. */
	if (unlikely(sdp_zsrc_is_busy(&conn->zsrc) ||
		     sdp_zsrc_async_bytes(&conn->zsrc_async) / SDP_SNDBUF_ASYNC >=
		     min(limit, READ_ONCE(conn->tx.limit_least))))
		return 0;
	return used < limit ? limit - used : 0;
}

/**
 * sdp_sndbuf_writable() - is there room worth waking a writer for?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if a third of the limit is free, as TCP has it, and less than half of
 * TCP_NOTSENT_LOWAT waits to be sent.
 */
static inline bool sdp_sndbuf_writable(const struct sdp_conn *conn)
{
	return sdp_sndbuf_space(conn) >= sdp_sndbuf_limit(conn) / 3 &&
	       !sdp_sndbuf_is_enough(conn, 2);
}

void sdp_sndbuf_grow(struct sdp_conn *conn);

#endif
