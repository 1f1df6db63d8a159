/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Socket options; see sdp_opt.c.
 */
#ifndef _SDP_OPT_H
#define _SDP_OPT_H

#include <linux/sockptr.h>
#include <linux/sdp.h>
#include "sdp_ulp.h"

/**
 * sdp_opt_info() - what SDP_INFO and sock_diag show of a connection
 * @conn: the connection
 * @info: filled in
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_opt_info(struct sdp_conn *conn, struct sdp_info *info);

/**
 * sdp_setsockopt() - proto_ops.setsockopt
 * @sock: the socket
 * @level: SOL_SDP is ours, the rest TCP's
 * @optname: option
 * @optval: value
 * @optlen: its size in bytes
 *
 * Context: process.
 * Return: 0 or a negative errno; see uapi/linux/sdp.h.
 */
int sdp_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen);

/**
 * sdp_getsockopt() - proto_ops.getsockopt
 * @sock: the socket
 * @level: SOL_SDP is ours, the rest TCP's
 * @optname: option
 * @optval: where to
 * @optlen: size in bytes, in and out
 *
 * Context: process.
 * Return: 0 or a negative errno; see uapi/linux/sdp.h.
 */
int sdp_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen);

/**
 * sdp_opt_init() - answer IP_SDP_INFO on every TCP socket
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_opt_init(void);

/**
 * sdp_opt_exit() - undo sdp_opt_init()
 *
 * Context: process.
 */
void sdp_opt_exit(void);

#endif
