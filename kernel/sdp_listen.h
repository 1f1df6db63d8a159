/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listening and accepting; see sdp_listen.c.
 */
#ifndef _SDP_LISTEN_H
#define _SDP_LISTEN_H

#include "sdp_ulp.h"

/**
 * sdp_listen() - proto_ops.listen
 * @sock: the socket
 * @backlog: as TCP's
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_listen(struct socket *sock, int backlog);

/**
 * sdp_accept() - proto_ops.accept
 * @sock: the listener
 * @newsock: gets the SDP or the plain TCP child, whichever came
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_accept(struct socket *sock, struct socket *newsock, SDP_ACCEPT_ARGS);

/**
 * sdp_listen_stop() - no more children; those not accepted are aborted
 * @sk: a listener, or any socket
 * @ssk: ours of it
 *
 * Context: process; not under the socket lock.
 */
void sdp_listen_stop(struct sock *sk, struct sdp_sk *ssk);

/**
 * sdp_listen_check() - the same, if TCP has stopped listening
 * @sk: a socket that shutdown() or connect() was called on
 * @ssk: ours of it
 *
 * Context: process; not under the socket lock.
 */
void sdp_listen_check(struct sock *sk, struct sdp_sk *ssk);

/**
 * sdp_listen_defer_work() - TCP_DEFER_ACCEPT's time is over for a child, or more
 * @work: struct sdp_sk.defer of the listener
 *
 * Context: process, a worker.
 */
void sdp_listen_defer_work(struct work_struct *work);

/**
 * sdp_listen_spawn() - struct sdp_xport_upper.spawn
 * @xp: the transport that heard the request
 * @net: for which namespace
 * @ifindex: on which device
 * @local: to whom
 * @remote: from whom
 *
 * Context: process; does not wait for others.
 * Return: see struct sdp_xport_upper.
 */
struct sdp_conn *sdp_listen_spawn(const struct sdp_xport *xp, struct net *net,
				  int ifindex, const struct sdp_addr *local,
				  const struct sdp_addr *remote);

#endif
