/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side of a connection: completions are decoded, accounted and
 * dispatched; see sdp_rx.c.
 */
#ifndef _SDP_RX_H
#define _SDP_RX_H

#include "sdp_conn.h"

int sdp_rx_start(struct sdp_conn *conn, u16 rq_size);
void sdp_rx_poll(struct sdp_conn *conn);
bool sdp_rx_look(struct sdp_conn *conn);
bool sdp_rx_claim(struct sdp_conn *conn);
void sdp_rx_unclaim(struct sdp_conn *conn);
void sdp_rx_hear(struct sdp_conn *conn);
void sdp_rx_close(struct sdp_conn *conn);
void sdp_rx_flush(struct sdp_conn *conn);
void sdp_rx_end(struct sdp_conn *conn);
void sdp_rx_arrived(struct sdp_conn *conn, struct sdp_buf *buf, u32 bytes,
		    int status);
void sdp_rx_work(struct work_struct *work);

#endif
