/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Address and port of a client; see sdp_port.c.
 */
#ifndef _SDP_PORT_H
#define _SDP_PORT_H

#include "sdp_ulp.h"

int sdp_port_take(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn);
void sdp_port_put(struct sock *sk, struct sdp_sk *ssk);

#endif
