/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Socket options; see sdp_opt.c.
 */
#ifndef _SDP_OPT_H
#define _SDP_OPT_H

#include <linux/sockptr.h>
#include <linux/sdp.h>
#include "sdp_ulp.h"

int sdp_setsockopt(struct socket *sock, int level, int optname,
		   sockptr_t optval, unsigned int optlen);
int sdp_getsockopt(struct socket *sock, int level, int optname,
		   char __user *optval, int __user *optlen);
int sdp_opt_init(void);
void sdp_opt_exit(void);

#endif
