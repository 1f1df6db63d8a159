/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue: from built messages to completions; see sdp_tx.c.
 */
#ifndef _SDP_TX_H
#define _SDP_TX_H

#include "sdp_conn.h"
#include "sdp_sndbuf.h"

void sdp_tx_enqueue(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_tx_queue(struct sdp_conn *conn, struct sdp_msg *msg);
struct sdp_msg *sdp_tx_take_tail(struct sdp_conn *conn,
				 const struct page_frag *frag);
void sdp_tx_run(struct sdp_conn *conn);
void sdp_tx_set_delay(struct sdp_conn *conn, u8 delay);
void sdp_tx_reap(struct sdp_conn *conn);
bool sdp_tx_want_space(struct sdp_conn *conn);
void sdp_tx_drop(struct sdp_conn *conn);

#endif
