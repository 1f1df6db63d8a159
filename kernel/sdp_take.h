/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sink of a SrcAvail with a reader who waits: bytes are read where he wants
 * them; see sdp_take.c.
 */
#ifndef _SDP_TAKE_H
#define _SDP_TAKE_H

#include "sdp_conn.h"

/**
 * sdp_take_wants() - may this recv() be read into?
 * @conn: the connection
 * @iter: where to
 * @len: bytes that are wanted
 *
 * If so what is offered is left for it from now on, until sdp_take_wanted(), and
 * for a moment after that.
 *
 * Context: process; the caller has the socket lock.
 * Return: true if it is user memory, and long enough.
 */
bool sdp_take_wants(struct sdp_conn *conn, const struct iov_iter *iter,
		    size_t len);

/**
 * sdp_take_wanted() - the call ends, or cannot have it so
 * @conn: the connection
 * @again: whether the next of its kind may be expected to
 *
 * Context: process; the caller has the socket lock.
 */
void sdp_take_wanted(struct sdp_conn *conn, bool again);

/**
 * sdp_take_begin() - are the next bytes of the stream to be had so?
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_take_end()
 *
 * Context: process.
 * Return: true if they are offered and nobody else reads them: they are the
 * caller's.
 */
bool sdp_take_begin(struct sdp_conn *conn);

/**
 * sdp_take_more() - have the next of them read
 * @conn: the connection
 * @iter: where to; advanced
 * @len: bytes at most
 *
 * Posted by the next sdp_tx_run() that has room.
 *
 * Context: process; sleeps.
 * Return: bytes; 0 if there is no more now; a negative errno: the rest is to go
 * by copy.
 */
ssize_t sdp_take_more(struct sdp_conn *conn, struct iov_iter *iter, size_t len);

/**
 * sdp_take_reap() - unpin what is read
 * @conn: the connection
 *
 * What turned out not to be read any more is given up.
 *
 * Context: process; sleeps.
 * Return: bytes that are where they are wanted.
 */
size_t sdp_take_reap(struct sdp_conn *conn);

/**
 * sdp_take_is_out() - is anything being read?
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_take_reap() has seen the last.
 */
static inline bool sdp_take_is_out(const struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsink.takes);
}

/**
 * sdp_take_end() - others may read again
 * @conn: the connection; nothing is being read
 *
 * Context: process.
 */
void sdp_take_end(struct sdp_conn *conn);

#endif
