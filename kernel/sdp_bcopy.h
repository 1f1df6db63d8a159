/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User bytes to messages, and arrived buffers to user bytes, by copy.
 */
#ifndef _SDP_BCOPY_H
#define _SDP_BCOPY_H

#include <linux/uio.h>
#include "sdp_conn.h"

/**
 * sdp_bcopy_send() - copy the next slice of a send into a message, queue it
 * @conn: the connection; the caller has the socket lock
 * @frag: where messages are cut from: sk_page_frag()
 * @iter: the user's bytes, at least one
 * @urgent: the last of the bytes is urgent
 * @gfp: how to allocate
 *
 * Takes no more than one message and no more than there is space.  The caller
 * runs sdp_tx_run() after the last slice, or when a few are queued.
 *
 * Context: process; copies from user memory.
 * Return: bytes taken; -EAGAIN without space, -ENOMEM, -EFAULT.
 */
ssize_t sdp_bcopy_send(struct sdp_conn *conn, struct page_frag *frag,
		       struct iov_iter *iter, bool urgent, gfp_t gfp);

/* What sdp_bcopy_recv() does with the bytes. */
enum sdp_bcopy_flag {
	SDP_BCOPY_PEEK		= 0x1,	/* they stay */
	SDP_BCOPY_DISCARD	= 0x2,	/* they are not copied (MSG_TRUNC) */
	SDP_BCOPY_PAST		= 0x4,	/* the first may be the urgent one */
};

/**
 * sdp_bcopy_recv() - copy arrived bytes to the user, up to an urgent one
 * @conn: the connection; the caller has the socket lock
 * @iter: where to; not looked at with SDP_BCOPY_DISCARD
 * @len: how many at most
 * @skip: with SDP_BCOPY_PEEK: begin so many bytes behind the first
 * @flags: enum sdp_bcopy_flag
 *
 * Buffers that are read to the end go back to the transport.
 *
 * Context: process; copies to user memory.
 * Return: bytes, 0 if none has arrived; -EFAULT if none could be copied.
 */
ssize_t sdp_bcopy_recv(struct sdp_conn *conn, struct iov_iter *iter, size_t len,
		       size_t skip, unsigned int flags);

#endif
