/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The zero-copy source, asynchronous: memory that stays advertised after its
 * call has returned; see sdp_zsrc_async.c.
 */
#ifndef _SDP_ZSRC_ASYNC_H
#define _SDP_ZSRC_ASYNC_H

#include "sdp_conn.h"

struct iov_iter;
struct sk_buff;
struct ubuf_info;

/* A call whose memory stays advertised; begins with zeros but for @uarg. */
struct sdp_zsrc_async_call {
	struct ubuf_info *uarg;		/* told when the memory is free; or NULL */
	bool begun;			/* whether to advertise it was decided */
	/* Set by sdp_zsrc_async_send(), if the piece is copied. */
	bool over;			/* and so is all that comes behind it */
	enum sdp_counter why;		/* counter of the reason; 0: it is short */
};

struct sk_buff *sdp_zsrc_async_note(struct ubuf_info *uarg);
void sdp_zsrc_async_tell(struct sk_buff *note, bool zcopied);
void sdp_zsrc_async_tell_in_turn(struct sdp_conn *conn, struct sk_buff *note,
				 bool zcopied);
ssize_t sdp_zsrc_async_send(struct sdp_conn *conn, struct page_frag *frag,
			    struct iov_iter *iter, struct sdp_zsrc_async_call *call);
void sdp_zsrc_async_settle(struct sdp_conn *conn);
unsigned long sdp_zsrc_async_check(struct sdp_conn *conn);

#endif
