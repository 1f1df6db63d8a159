/* SPDX-License-Identifier: GPL-2.0 */
/* Sending on a connected socket; see sdp_send.c. */
#ifndef _SDP_SEND_H
#define _SDP_SEND_H

#include <linux/socket.h>
#include "sdp_sk_conn.h"

int sdp_send(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn,
	     struct msghdr *msg, int flags, long timeo);
int sdp_send_notified(struct sock *sk, struct sdp_sk *ssk,
		      struct sdp_conn *conn, struct msghdr *msg, int flags,
		      long timeo);

#endif
