/* SPDX-License-Identifier: GPL-2.0 */
/* Control messages; see sdp_ctl.c. */
#ifndef _SDP_CTL_H
#define _SDP_CTL_H

#include "sdp_conn.h"

bool sdp_ctl_push(struct sdp_conn *conn);
bool sdp_ctl_push_fin(struct sdp_conn *conn);
bool sdp_ctl_push_pipelined(struct sdp_conn *conn);
bool sdp_ctl_push_data(struct sdp_conn *conn, enum sdp_flow_class class);

#endif
