/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TCP_INFO and TCP_MAXSEG of an SDP connection; see sdp_tcp_info.c.
 */
#ifndef _SDP_TCP_INFO_H
#define _SDP_TCP_INFO_H

#include <linux/tcp.h>
#include "sdp_ulp.h"

u8 sdp_tcp_info_state(struct sdp_sk *ssk);
void sdp_tcp_info_get(struct sock *sk, struct sdp_sk *ssk,
		      struct tcp_info *info);
u32 sdp_tcp_info_mss(struct sdp_sk *ssk);

#endif
