/* SPDX-License-Identifier: GPL-2.0 */
/* What a connection tells of itself; see sdp_conn_info.c. */
#ifndef _SDP_CONN_INFO_H
#define _SDP_CONN_INFO_H

#include "sdp_conn.h"

struct sdp_info;
struct tcp_info;

void sdp_conn_info(struct sdp_conn *conn, struct sdp_info *info);
u8 sdp_conn_tcp_state(const struct sdp_conn *conn);
void sdp_conn_tcp_info(struct sdp_conn *conn, struct tcp_info *info);
u32 sdp_conn_mss(const struct sdp_conn *conn);

#endif
