/* SPDX-License-Identifier: GPL-2.0 */
/* Control messages; see sdp_ctl.c. */
#ifndef _SDP_CTL_H
#define _SDP_CTL_H

#include "sdp_conn.h"

/**
 * sdp_ctl_push() - post one that is wanted (tx.ctl), the most urgent first
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: false if none is due, or may go.
 */
bool sdp_ctl_push(struct sdp_conn *conn);

/**
 * sdp_ctl_push_fin() - post DisConn
 * @conn: the connection, conn->lock held; all data is posted
 *
 * Context: process or softirq.
 * Return: false if it may not go yet.
 */
bool sdp_ctl_push_fin(struct sdp_conn *conn);

/**
 * sdp_ctl_push_pipelined() - post the ModeChange that leads to pipelined mode (4.2)
 * @conn: the connection, conn->lock held; sdp_src_may_change() has said yes
 *
 * Context: process or softirq.
 * Return: false if it may not go yet.
 */
bool sdp_ctl_push_pipelined(struct sdp_conn *conn);

/**
 * sdp_ctl_push_data() - post a Data message without payload
 * @conn: the connection, conn->lock held
 * @class: SDP_FLOW_UPDATE to tell of new buffers; SDP_FLOW_PAYLOAD to use one of
 *	the peer's up
 *
 * Context: process or softirq.
 * Return: false if it may not go yet.
 */
bool sdp_ctl_push_data(struct sdp_conn *conn, enum sdp_flow_class class);

#endif
