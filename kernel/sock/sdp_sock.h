/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The socket's operations; see sdp_sock.c.
 */
#ifndef _SDP_SOCK_H
#define _SDP_SOCK_H

#include <linux/net.h>

void sdp_sock_fill(struct proto_ops *ops);

#endif
