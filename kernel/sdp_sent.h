/* SPDX-License-Identifier: GPL-2.0 */
/* Send completions; see sdp_sent.c. */
#ifndef _SDP_SENT_H
#define _SDP_SENT_H

#include "sdp_conn.h"

/**
 * sdp_sent() - a signalled send completed, and all before it
 * @conn: the connection; tx.lock held
 * @msg: the message
 * @status: 0, or a negative errno: the queue pair is in error.  -ETIMEDOUT if
 *	the peer's device did not answer
 *
 * Context: process or softirq; called by the transport's poll_send().
 */
void sdp_sent(struct sdp_conn *conn, struct sdp_msg *msg, int status);

#endif
