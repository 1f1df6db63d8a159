/* SPDX-License-Identifier: GPL-2.0 */
/* Writing headers and posting requests; see sdp_post.c. */
#ifndef _SDP_POST_H
#define _SDP_POST_H

#include "sdp_conn.h"

/**
 * sdp_post_is_watched() - whether a request needs the event of its completion
 * @msg: a message or another request
 *
 * Context: any.
 * Return: true for RDMA operations and invalidations: somebody waits for them.
 */
static inline bool sdp_post_is_watched(const struct sdp_msg *msg)
{
	return msg->op == SDP_OP_READ || msg->op == SDP_OP_WRITE ||
	       msg->op == SDP_OP_INVALIDATE;
}

bool sdp_post_may(struct sdp_conn *conn, u8 mid, enum sdp_flow_class class);
void sdp_post_msg(struct sdp_conn *conn, struct sdp_msg *msg,
		  struct sdp_wire_msg *hdr, bool signalled);
void sdp_post_op(struct sdp_conn *conn, struct sdp_msg *msg);
struct sdp_msg *sdp_post_control(struct sdp_conn *conn, u8 mid);
bool sdp_post_nothing(struct sdp_conn *conn);
bool sdp_post_can(struct sdp_conn *conn, u8 op);

#endif
