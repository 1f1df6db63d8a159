/* SPDX-License-Identifier: GPL-2.0 */
/* The check of an established connection; see sdp_check.c. */
#ifndef _SDP_CHECK_H
#define _SDP_CHECK_H

#include "sdp_conn.h"

/* Jiffies that a peer may take to answer a cancel: it has to finish its RDMA
 * Reads, and may be slow.
 */
enum { SDP_CHECK_CANCEL = 20 * HZ };

void sdp_check_set(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout);
unsigned long sdp_check_patience(const struct sdp_conn *conn);
void sdp_check_begin(struct sdp_conn *conn);
void sdp_check_async(struct sdp_conn *conn);
void sdp_check_starved(struct sdp_conn *conn);
void sdp_check_cm_lost(struct sdp_conn *conn);
void sdp_check_answered(struct sdp_conn *conn);
void sdp_check(struct sdp_conn *conn, unsigned long async);

#endif
