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
struct sk_buff *sdp_zsrc_async_note(struct ubuf_info *uarg);
void sdp_zsrc_async_tell(struct sk_buff *note, bool zcopied);
void sdp_zsrc_async_tell_in_turn(struct sdp_conn *conn, struct sk_buff *note,
				 bool zcopied);
bool sdp_zsrc_async_begin(struct sdp_conn *conn, size_t len);
bool sdp_zsrc_async_pays(const struct sdp_conn *conn, const struct iov_iter *iter);
ssize_t sdp_zsrc_async_more(struct sdp_conn *conn, struct page_frag *frag,
			    struct iov_iter *iter, struct ubuf_info *uarg);
void sdp_zsrc_async_settle(struct sdp_conn *conn);
unsigned long sdp_zsrc_async_check(struct sdp_conn *conn);

#endif
