/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options that an accepted socket has from its listener; see sdp_inherit.c.
 */
#ifndef _SDP_INHERIT_H
#define _SDP_INHERIT_H

struct sock;
void sdp_inherit_congestion(const struct sock *sk, struct sock *nsk);
void sdp_inherit(const struct sock *sk, struct sock *nsk);

#endif
