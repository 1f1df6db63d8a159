/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Urgent data on the side that reads (protocol text, 4.7).
 */
#ifndef _SDP_URG_H
#define _SDP_URG_H

#include "sdp_conn.h"

/* What stands at a place of the stream. */
enum sdp_urg_place {
	SDP_URG_NOTHING,
	SDP_URG_MARK,		/* the urgent byte */
	SDP_URG_HOLE,		/* one that a newer has replaced */
};

/**
 * sdp_urg_any() - is there anything urgent to be careful of?
 * @conn: the connection
 *
 * Context: any; a hint for who holds no lock.
 * Return: false for streams without urgent data.
 */
static inline bool sdp_urg_any(const struct sdp_conn *conn)
{
	return unlikely(READ_ONCE(conn->rx.urg.data) ||
			READ_ONCE(conn->rx.urg.holes));
}

/**
 * sdp_urg_announced() - OOB_PEND or OOB_PRES came
 * @conn: the connection, rx.lock held
 * @pend: the message says that urgent data is under way
 * @pres: the message ends with urgent data
 *
 * Context: process or softirq.
 * Return: true if the owner is to be signalled: once for each urgent byte,
 * when it is announced, or comes unannounced.
 */
bool sdp_urg_announced(struct sdp_conn *conn, bool pend, bool pres);

/**
 * sdp_urg_arrived() - an urgent byte has been put at the end of rx.queue
 * @conn: the connection, rx.lock held
 * @seq: its place in the stream
 * @byte: the byte
 *
 * Context: process or softirq.
 * Return: the name of the mark, for sdp_buf.mark.
 */
u32 sdp_urg_arrived(struct sdp_conn *conn, u32 seq, u8 byte);

/**
 * sdp_urg_stops() - does a read end before the last byte of this buffer?
 * @conn: the connection
 * @buf: a buffer that was taken over by the reader, with its mark set
 *
 * Context: any.
 * Return: true if that byte is the urgent one still.
 */
bool sdp_urg_stops(const struct sdp_conn *conn, const struct sdp_buf *buf);

/**
 * sdp_urg_passed() - the reader has moved rx.read
 * @conn: the connection, rx.lock held
 *
 * Context: process.
 */
void sdp_urg_passed(struct sdp_conn *conn);

/**
 * sdp_urg_place() - where does the reader stand?
 * @conn: the connection
 * @ahead: bytes from rx.read to the place, that were peeked at
 *
 * Context: process or softirq.
 * Return: enum sdp_urg_place.
 */
enum sdp_urg_place sdp_urg_place(struct sdp_conn *conn, u32 ahead);

/**
 * sdp_urg_at_mark() - SIOCATMARK
 * @conn: the connection
 * @inlined: SO_OOBINLINE
 *
 * Context: process or softirq.
 * Return: true if the next byte of the stream is the urgent one.
 */
bool sdp_urg_at_mark(struct sdp_conn *conn, bool inlined);

/**
 * sdp_urg_take() - recv(MSG_OOB)
 * @conn: the connection
 * @peek: leave it there
 * @byte: is set
 *
 * Context: process.
 * Return: 0; -EINVAL if there is none, or it was taken; -EAGAIN if it was
 * announced and is not here yet.
 */
int sdp_urg_take(struct sdp_conn *conn, bool peek, u8 *byte);

/**
 * sdp_urg_is_valid() - would recv(MSG_OOB) give it?
 * @conn: the connection
 *
 * Context: any.
 * Return: true as long as poll() says POLLPRI.
 */
bool sdp_urg_is_valid(const struct sdp_conn *conn);

/**
 * sdp_urg_readable() - bytes that a read would give, as poll() counts them
 * @conn: the connection
 * @inlined: SO_OOBINLINE
 *
 * Context: process or softirq.
 * Return: bytes; without the urgent byte if the reader stands at it.
 */
u32 sdp_urg_readable(struct sdp_conn *conn, bool inlined);

/**
 * sdp_urg_inq() - bytes up to the mark, as SIOCINQ counts them
 * @conn: the connection
 * @inlined: SO_OOBINLINE
 *
 * Context: process or softirq.
 * Return: bytes; all that arrived if there is no mark, or @inlined.
 */
u32 sdp_urg_inq(struct sdp_conn *conn, bool inlined);

#endif
