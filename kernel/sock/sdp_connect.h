/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connecting, and falling back; see sdp_connect.c.
 */
#ifndef _SDP_CONNECT_H
#define _SDP_CONNECT_H

#include "sdp_ulp.h"

int sdp_connect(struct socket *sock, sdp_sockaddr *uaddr, int addr_len,
		int flags);
int sdp_connect_by_send(struct socket *sock, struct sdp_sk *ssk,
			struct msghdr *msg, size_t len);
int sdp_connect_plain_addr(const struct sdp_sk *ssk, sdp_sockaddr *uaddr,
			   int len, bool binding);
void sdp_connect_decide(struct work_struct *work);
int sdp_connect_wait(struct sock *sk, struct sdp_sk *ssk, long *timeo);
int sdp_connect_wait_tcp(struct sock *sk, __poll_t events, long *timeo);
void sdp_connect_exit(void);

#endif
