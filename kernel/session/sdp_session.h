/* SPDX-License-Identifier: GPL-2.0 */
/* The Hello exchange above any transport; see sdp_session.c. */
#ifndef _SDP_SESSION_H
#define _SDP_SESSION_H

#include "sdp_conn.h"

/* What a transport brings into a connection when it has made its queues. */
struct sdp_session_queues {
	u16 rq_size;		/* places in the receive queue */
	u16 requests;		/* requests that the send queue takes, whatever they are */
	u32 umem_max;		/* bytes that one key can be for */
	bool can_invalidate;	/* the device takes Send-with-Invalidate */
};

int sdp_session_open(struct sdp_conn *conn, const struct sdp_session_queues *queues);
enum sdp_wire_verdict sdp_session_get_hello(struct sdp_wire_hello *hello, const void *data,
					    struct sdp_addr *local,
					    struct sdp_addr *remote);
void sdp_session_accept(struct sdp_conn *conn, const struct sdp_wire_hello *hello);
void sdp_session_connect(struct sdp_conn *conn);
void sdp_session_put_hello(const struct sdp_conn *conn, void *data);
void sdp_session_put_hello_ack(const struct sdp_conn *conn, void *data);
enum sdp_wire_verdict sdp_session_get_hello_ack(struct sdp_conn *conn, const void *data);
u16 sdp_session_bufs(const struct sdp_conn *conn);
void sdp_session_begin(struct sdp_conn *conn);
void sdp_session_can_rdma(struct sdp_conn *conn, bool reads, bool is_read);
void sdp_session_up(struct sdp_conn *conn);
bool sdp_session_close(struct sdp_conn *conn);

#endif
