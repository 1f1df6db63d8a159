/* SPDX-License-Identifier: GPL-2.0 */
/* The limit of bytes that a sender may have outstanding; see sdp_sndbuf.c. */
#ifndef _SDP_SNDBUF_H
#define _SDP_SNDBUF_H

#include "sdp_conn.h"
#include "sdp_mem.h"

bool sdp_sndbuf_charge(struct sdp_conn *conn, struct sdp_msg *msg);

/* Bytes that may be outstanding above net.sdp.mem_max: one message. */
enum { SDP_SNDBUF_LEAST = 4096 };

/**
 * sdp_sndbuf_limit() - bytes that may be outstanding
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; at most SDP_SNDBUF_LEAST above net.sdp.mem_max.
 */
static inline u32 sdp_sndbuf_limit(const struct sdp_conn *conn)
{
	u32 limit = READ_ONCE(conn->tx.limit);

	return sdp_mem_is_over() ? min_t(u32, limit, SDP_SNDBUF_LEAST) : limit;
}

void sdp_sndbuf_set_limit(struct sdp_conn *conn, u32 least, u32 most);

/* Memory that stays advertised after its call may be this many times
 * tx.limit_least.  It is the user's memory, not ours, and one piece may be as
 * long as the whole limit.
 */
enum { SDP_SNDBUF_ASYNC = 4 };

/**
 * sdp_sndbuf_is_enough() - whether unsent bytes have reached TCP_NOTSENT_LOWAT
 * @conn: the connection
 * @share: 1: whether no more may be queued; 2: whether no writer is woken,
 *	which is so from half of TCP_NOTSENT_LOWAT on
 *
 * Context: any; a hint without conn->lock.
 * Return: true if so; always false without TCP_NOTSENT_LOWAT.
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
	/* What another call sends by zero copy comes first in the stream. */
	if (unlikely(sdp_zsrc_is_busy(&conn->zsrc) ||
		     sdp_zsrc_async_bytes(&conn->zsrc_async) / SDP_SNDBUF_ASYNC >=
		     min(limit, READ_ONCE(conn->tx.limit_least))))
		return 0;
	return used < limit ? limit - used : 0;
}

/**
 * sdp_sndbuf_writable() - whether there is room worth waking a writer for
 * @conn: the connection
 *
 * Context: any.
 * Return: true if a third of the limit is free, as with TCP, and less than half
 * of TCP_NOTSENT_LOWAT waits to be sent.
 */
static inline bool sdp_sndbuf_writable(const struct sdp_conn *conn)
{
	return sdp_sndbuf_space(conn) >= sdp_sndbuf_limit(conn) / 3 &&
	       !sdp_sndbuf_is_enough(conn, 2);
}

/**
 * sdp_sndbuf_set_notsent_lowat() - set TCP_NOTSENT_LOWAT
 * @conn: the connection
 * @bytes: not sent at which a writer waits; U32_MAX: no such limit
 *
 * Context: any.
 */
static inline void sdp_sndbuf_set_notsent_lowat(struct sdp_conn *conn, u32 bytes)
{
	WRITE_ONCE(conn->tx.notsent_lowat, bytes);
}

u32 sdp_sndbuf_outq(struct sdp_conn *conn, bool unsent);
void sdp_sndbuf_grow(struct sdp_conn *conn);

#endif
