/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Making and posting receive buffers; see sdp_refill.c, and sdp_ring.h for how
 * many.
 */
#ifndef _SDP_REFILL_H
#define _SDP_REFILL_H

#include "sdp_conn.h"

void sdp_refill_begin(struct sdp_conn *conn, bool peer_asks);
void sdp_refill_resize(struct sdp_conn *conn);
void sdp_refill_heard(struct sdp_conn *conn);
void sdp_refill_arrived(struct sdp_conn *conn, const struct sdp_buf *buf);
int sdp_refill_post(struct sdp_conn *conn, struct list_head *bufs, bool reading);
void sdp_refill_used(struct sdp_conn *conn, bool empty);
void sdp_refill_charge(struct sdp_conn *conn);
void sdp_refill_owned(struct sdp_conn *conn);
void sdp_refill_set_max(struct sdp_conn *conn, u32 bytes);
void sdp_refill_set_wants(struct sdp_conn *conn, u32 bytes);
void sdp_refill_retry(struct sdp_conn *conn);
bool sdp_refill_is_waited(const struct sdp_conn *conn);
bool sdp_refill_turned_full(struct sdp_conn *conn);
bool sdp_refill_is_full(const struct sdp_conn *conn);

#endif
