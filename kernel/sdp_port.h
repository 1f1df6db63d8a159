/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The names of a client, above all its port; see sdp_port.c.
 */
#ifndef _SDP_PORT_H
#define _SDP_PORT_H

#include "sdp_ulp.h"

/**
 * sdp_port_take() - a client's address and port, as TCP's connect() chooses them
 * @sk: locked, in state CLOSE
 * @ssk: ours of it
 * @conn: its connection, with both addresses and the peer's port; gets its own port
 *
 * The socket has its names then, and stands among TCP's connections with them.
 *
 * Context: process; sleeps.
 * Return: 0; -EADDRNOTAVAIL if there is no port, or who has the one that was bound
 * is connected to the same port of the same host; -ENOMEM.
 */
int sdp_port_take(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn);

/**
 * sdp_port_put() - what sdp_port_take() took
 * @sk: locked
 * @ssk: ours of it
 *
 * What bind() gave stays.  Nothing is done for a socket that has no names of ours.
 *
 * Context: process.
 */
void sdp_port_put(struct sock *sk, struct sdp_sk *ssk);

#endif
