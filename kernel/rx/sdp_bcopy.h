/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copying: user bytes into messages, and arrived buffers to user memory.
 */
#ifndef _SDP_BCOPY_H
#define _SDP_BCOPY_H

#include <linux/uio.h>
#include "sdp_conn.h"

ssize_t sdp_bcopy_send(struct sdp_conn *conn, struct page_frag *frag,
		       struct iov_iter *iter, bool urgent, gfp_t gfp);

/* What sdp_bcopy_recv() does with the bytes. */
enum sdp_bcopy_flag {
	SDP_BCOPY_PEEK		= 0x1,	/* they stay */
	SDP_BCOPY_DISCARD	= 0x2,	/* they are not copied (MSG_TRUNC) */
	SDP_BCOPY_PAST		= 0x4,	/* the first may be the urgent one */
};

ssize_t sdp_bcopy_recv(struct sdp_conn *conn, struct iov_iter *iter, size_t len,
		       size_t skip, unsigned int flags);

#endif
