/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listening and accepting; see sdp_listen.c.
 */
#ifndef _SDP_LISTEN_H
#define _SDP_LISTEN_H

#include "sdp_ulp.h"

bool sdp_listen_is_here(struct net *net, int ifindex,
			const struct sdp_addr *local);
int sdp_listen(struct socket *sock, int backlog);
int sdp_accept(struct socket *sock, struct socket *newsock, SDP_ACCEPT_ARGS);
void sdp_listen_stop(struct sock *sk, struct sdp_sk *ssk);
void sdp_listen_check(struct sock *sk, struct sdp_sk *ssk);
void sdp_listen_defer_work(struct work_struct *work);
struct sdp_conn *sdp_listen_spawn(const struct sdp_xport *xp, struct net *net,
				  int ifindex, const struct sdp_addr *local,
				  const struct sdp_addr *remote);

#endif
