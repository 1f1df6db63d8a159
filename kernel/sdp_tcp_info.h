/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What TCP's getsockopt() says of a connection that is SDP; see sdp_tcp_info.c.
 */
#ifndef _SDP_TCP_INFO_H
#define _SDP_TCP_INFO_H

#include <linux/tcp.h>
#include "sdp_ulp.h"

/**
 * sdp_tcp_info_state() - the state that TCP would be in
 * @ssk: ours, of a socket that is connected or about to be
 *
 * Context: process or softirq.
 * Return: TCP_ESTABLISHED and its like; TCP_CLOSE if it is over.
 */
u8 sdp_tcp_info_state(struct sdp_sk *ssk);

/**
 * sdp_tcp_info_get() - TCP_INFO
 * @sk: the socket, not locked
 * @ssk: ours of it
 * @info: filled in
 *
 * Context: process; takes the socket lock for a moment.
 */
void sdp_tcp_info_get(struct sock *sk, struct sdp_sk *ssk,
		      struct tcp_info *info);

/**
 * sdp_tcp_info_mss() - TCP_MAXSEG
 * @ssk: ours
 *
 * Context: process or softirq.
 * Return: bytes of the longest message that the peer takes; 0 if there is none yet.
 */
u32 sdp_tcp_info_mss(struct sdp_sk *ssk);

#endif
