/* SPDX-License-Identifier: GPL-2.0 */
/* Send completions; see sdp_tx_wc.c. */
#ifndef _SDP_TX_WC_H
#define _SDP_TX_WC_H

#include "sdp_conn.h"

/**
 * sdp_tx_wc() - a signalled send completed, and all before it
 * @conn: the connection; conn->lock held
 * @msg: the message
 * @status: 0, or a negative errno: the queue pair is in error.  -ETIMEDOUT if
 *	the peer's device did not answer
 *
 * Context: process or softirq; called by the transport's poll_send().
 */
void sdp_tx_wc(struct sdp_conn *conn, struct sdp_msg *msg, int status);

#endif
