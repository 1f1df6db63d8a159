/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The socket's operations; see sdp_sock.c.
 */
#ifndef _SDP_SOCK_H
#define _SDP_SOCK_H

#include <linux/net.h>

/**
 * sdp_sock_fill() - put our operations into a copy of TCP's
 * @ops: the copy; its owner stays
 *
 * Context: process.
 */
void sdp_sock_fill(struct proto_ops *ops);

#endif
