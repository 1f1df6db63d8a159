/* SPDX-License-Identifier: GPL-2.0 */
/* The sink without a copy, for a reader that waits; see sdp_zsink.c. */
#ifndef _SDP_ZSINK_H
#define _SDP_ZSINK_H

#include "sdp_conn.h"

/**
 * sdp_zsink_wants() - may this recv() be read into?
 * @conn: the connection
 * @iter: where to
 * @len: bytes that are wanted
 *
 * If so what is offered is left for it from now on, until sdp_zsink_wanted(), and
 * for a moment after that.
 *
 * Context: process; the caller has the socket lock.
 * Return: true if it is user memory, and long enough.
 */
bool sdp_zsink_wants(struct sdp_conn *conn, const struct iov_iter *iter,
		     size_t len);

/**
 * sdp_zsink_wanted() - the call ends, or cannot have it so
 * @conn: the connection
 * @again: whether the next of its kind may be expected to
 *
 * Context: process; the caller has the socket lock.
 */
void sdp_zsink_wanted(struct sdp_conn *conn, bool again);

/**
 * sdp_zsink_read_begin() - are the next bytes of the stream to be had so?
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_zsink_end()
 *
 * Context: process.
 * Return: true if they are offered and nobody else reads them: they are the
 * caller's.
 */
bool sdp_zsink_read_begin(struct sdp_conn *conn);

/**
 * sdp_zsink_read_more() - have the next of them read
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
ssize_t sdp_zsink_read_more(struct sdp_conn *conn, struct iov_iter *iter, size_t len);

/**
 * sdp_zsink_read_reap() - unpin what is read
 * @conn: the connection
 *
 * What turned out not to be read any more is given up.
 *
 * Context: process; sleeps.
 * Return: bytes that are where they are wanted.
 */
size_t sdp_zsink_read_reap(struct sdp_conn *conn);

/**
 * sdp_zsink_read_is_out() - is anything being read?
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_zsink_read_reap() has seen the last.
 */
static inline bool sdp_zsink_read_is_out(const struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsink.read_umrs);
}

/**
 * sdp_zsink_avail_begin() - shall what the reader waits for be written to him?
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_zsink_end()
 *
 * Context: process.
 * Return: true if so; nobody else takes or asks from now on.
 */
bool sdp_zsink_avail_begin(struct sdp_conn *conn);

/**
 * sdp_zsink_avail_make() - tell the peer of his buffer
 * @conn: the connection; sdp_zsink_avail_begin() was true
 * @iter: the buffer; not advanced
 * @len: its length in bytes
 *
 * The message goes with the next sdp_tx_run() that credits allow, unless
 * something comes before.
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno: -EMSGSIZE if it is too short, or that of
 * sdp_umr_make().
 */
int sdp_zsink_avail_make(struct sdp_conn *conn, const struct iov_iter *iter, size_t len);

/**
 * sdp_zsink_avail_reap() - unpin what has come back
 * @conn: the connection
 *
 * Context: process; sleeps.
 * Return: bytes that the peer has written.
 */
size_t sdp_zsink_avail_reap(struct sdp_conn *conn);

/**
 * sdp_zsink_avail_is_out() - may it still be written to?
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_zsink_avail_reap() has taken it back.
 */
static inline bool sdp_zsink_avail_is_out(const struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsink.avail_umrs);
}

/**
 * sdp_zsink_avail_cancel() - the reader will not wait any longer
 * @conn: the connection
 *
 * What the peer has been told it has to give back: there is an answer to wait
 * for.  sdp_tx_run() is the caller's.
 *
 * Context: process.
 */
void sdp_zsink_avail_cancel(struct sdp_conn *conn);

/**
 * sdp_zsink_avail_told() - the peer has told what became of our SinkAvails
 * @conn: the connection, conn->lock held
 * @told: what
 *
 * Context: process or softirq.
 */
void sdp_zsink_avail_told(struct sdp_conn *conn, const struct sdp_advert_told *told);

/**
 * sdp_zsink_end() - others may read again
 * @conn: the connection; nothing is being read
 *
 * Context: process.
 */
void sdp_zsink_end(struct sdp_conn *conn);

/**
 * sdp_zsink_push_read() - post the RDMA Read that is next, if there is something
 * @conn: the connection, conn->lock held; sdp_zsink_has_reads()
 *
 * Context: process or softirq.
 * Return: true if it was posted.
 */
bool sdp_zsink_push_read(struct sdp_conn *conn);

/**
 * sdp_zsink_add_read() - queue an RDMA Read
 * @conn: the connection, conn->lock held
 * @msg: its request
 *
 * Context: process or softirq.
 */
void sdp_zsink_add_read(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_zsink_hold() - inline bytes are to reach the reader before what is read
 * @conn: the connection, conn->lock held
 * @hold: whether they are not there yet
 *
 * Context: process or softirq.
 */
void sdp_zsink_hold(struct sdp_conn *conn, bool hold);

/**
 * sdp_zsink_unread() - bytes that are advertised, and that nobody is about to read
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: bytes; 0 or less if there is nothing for others, or a reader is busy.
 */
s64 sdp_zsink_unread(const struct sdp_conn *conn);

/**
 * sdp_zsink_drop_bounced() - free queued RDMA Reads to buffers of ours
 * @conn: the connection, conn->lock held
 * @all: in any case; else if a reader is busy, who has what is next, or it is over
 *
 * Context: process or softirq.
 */
void sdp_zsink_drop_bounced(struct sdp_conn *conn, bool all);

#endif
