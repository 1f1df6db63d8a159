/* SPDX-License-Identifier: GPL-2.0 */
/* Receiving on a connected socket; see sdp_recv.c. */
#ifndef _SDP_RECV_H
#define _SDP_RECV_H

#include <linux/socket.h>
#include "sdp_sk_conn.h"

ssize_t sdp_recv(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn,
		 struct msghdr *msg, size_t len, int flags, long timeo);
int sdp_recv_urgent(struct sock *sk, struct sdp_conn *conn, struct msghdr *msg,
		    size_t len, int flags);

#endif
