/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Memory that stays advertised when the call has returned; see sdp_zsrc_async.c.
 */
#ifndef _SDP_ZSRC_ASYNC_H
#define _SDP_ZSRC_ASYNC_H

#include "sdp_conn.h"

struct iov_iter;
struct sk_buff;
struct ubuf_info;

/**
 * sdp_zsrc_async_note() - have something by which to tell of one's memory
 * @uarg: whom to tell; it knows of one more from now on
 *
 * Context: process; sleeps.
 * Return: what sdp_zsrc_async_tell() is to be called with; NULL without memory.
 */
struct sk_buff *sdp_zsrc_async_note(struct ubuf_info *uarg);

/**
 * sdp_zsrc_async_tell() - memory is its owner's again
 * @note: from sdp_zsrc_async_note(), gone after; or NULL
 * @lent: no byte of it was copied
 *
 * Context: process.
 */
void sdp_zsrc_async_tell(struct sk_buff *note, bool lent);

/**
 * sdp_zsrc_async_tell_in_turn() - the same, but not before what was sent earlier
 * @conn: the connection; the caller has the socket lock
 * @note: from sdp_zsrc_async_note(), gone after
 * @lent: no byte of it was copied
 *
 * Context: process.
 */
void sdp_zsrc_async_tell_in_turn(struct sdp_conn *conn, struct sk_buff *note,
				 bool lent);

/**
 * sdp_zsrc_async_begin() - a call would like to: is it worth trying?
 * @conn: the connection; the caller has the socket lock
 * @len: bytes that it sends
 *
 * Context: process.
 * Return: false if they are few, or cannot be advertised; and for a while after offers
 * that were of no use.
 */
bool sdp_zsrc_async_begin(struct sdp_conn *conn, size_t len);

/**
 * sdp_zsrc_async_pays() - is what is next long enough?
 * @conn: the connection; sdp_zsrc_async_begin() said yes
 * @iter: what is to be sent; pages (ITER_BVEC) only if they may be referred to
 *
 * Context: process.
 * Return: true if so.
 */
bool sdp_zsrc_async_pays(const struct sdp_conn *conn, const struct iov_iter *iter);

/**
 * sdp_zsrc_async_more() - advertise what comes next of the stream
 * @conn: the connection; the caller has the socket lock
 * @frag: where messages are cut from
 * @iter: what is to be sent; advanced by that
 * @uarg: whom to tell when the memory is free; NULL: nobody
 *
 * Goes with the next sdp_tx_run(), in its turn.  What the peer refuses of it
 * is copied, without the caller.
 *
 * Context: process; sleeps.
 * Return: bytes, from 1; -EAGAIN without room; -EMSGSIZE if so little of it is in
 * one piece that it is better copied, another error if all has to be.
 */
ssize_t sdp_zsrc_async_more(struct sdp_conn *conn, struct page_frag *frag,
			    struct iov_iter *iter, struct ubuf_info *uarg);

/**
 * sdp_zsrc_async_settle() - copy what was refused, return what is free, and tell
 * @conn: the connection
 *
 * Context: process, the connection's worker; sleeps.
 */
void sdp_zsrc_async_settle(struct sdp_conn *conn);

/**
 * sdp_zsrc_async_check() - is the peer late with what stays advertised?
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: jiffies until the next look, SDP_TIMERS_NEVER if there is nothing; 0 if
 * the peer does not answer at all.
 */
unsigned long sdp_zsrc_async_check(struct sdp_conn *conn);

#endif
