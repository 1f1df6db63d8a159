/* SPDX-License-Identifier: GPL-2.0 */
/* A message's header, and its way to the device; see sdp_post.c. */
#ifndef _SDP_POST_H
#define _SDP_POST_H

#include "sdp_conn.h"

/**
 * sdp_post_is_watched() - is there an event of its completion?
 * @msg: a message or another request
 *
 * Context: any.
 * Return: true if somebody waits for what it brings.
 */
static inline bool sdp_post_is_watched(const struct sdp_msg *msg)
{
	return msg->op == SDP_OP_READ || msg->op == SDP_OP_WRITE ||
	       msg->op == SDP_OP_TAKE_BACK;
}

/**
 * sdp_post_may() - is there a credit for it?
 * @conn: the connection, conn->lock held
 * @mid: the message's identifier, for the trace
 * @class: what it is to the flow control
 *
 * Context: process or softirq.
 * Return: true if one may be posted.
 */
bool sdp_post_may(struct sdp_conn *conn, u8 mid, enum sdp_flow_class class);

/**
 * sdp_post_msg() - write the header and post
 * @conn: the connection, conn->lock held; sdp_post_may() has said yes
 * @msg: the message, on no list
 * @hdr: its flags and extended header; the rest is filled in
 * @signalled: whether its completion is wanted; it may be anyway
 *
 * What the device refuses breaks the send side: tx.done has it.
 *
 * Context: process or softirq.
 */
void sdp_post_msg(struct sdp_conn *conn, struct sdp_msg *msg,
		  struct sdp_wire_msg *hdr, bool signalled);

/**
 * sdp_post_op() - post what is no message
 * @conn: the connection, conn->lock held
 * @msg: the request, on no list; signalled is set
 *
 * It takes neither credit nor number.  Errors as for sdp_post_msg().
 *
 * Context: process or softirq.
 */
void sdp_post_op(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_post_control() - a place for a message without payload
 * @conn: the connection, conn->lock held
 * @mid: the message's identifier
 *
 * Context: process or softirq.
 * Return: the message, to be posted; NULL when all are under way.
 */
struct sdp_msg *sdp_post_control(struct sdp_conn *conn, u8 mid);

/**
 * sdp_post_nothing() - ask the peer's device whether it is there
 * @conn: the connection, conn->lock held
 *
 * Its completion also tells of all that was posted before.
 *
 * Context: process or softirq.
 * Return: false if there was no place for it.
 */
bool sdp_post_nothing(struct sdp_conn *conn);

/**
 * sdp_post_may_register() - may a request be posted that makes a registration
 * valid?
 * @conn: the connection, conn->lock held
 *
 * On a device with the defect nothing may be under way before it (sdp_dev.h); and
 * what is must be heard of.
 *
 * Context: process or softirq.
 * Return: false if it has to wait; reg.reg_waits is set then.
 */
bool sdp_post_may_register(struct sdp_conn *conn);

#endif
