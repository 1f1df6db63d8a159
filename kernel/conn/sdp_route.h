/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Route look-up for a connection; see sdp_route.c.
 */
#ifndef _SDP_ROUTE_H
#define _SDP_ROUTE_H

#include <linux/uidgid.h>

struct dst_entry;
struct net;
struct sdp_addr;
struct dst_entry *sdp_route_find(struct net *net, int ifindex, u32 mark,
				 kuid_t uid, struct sdp_addr *local,
				 const struct sdp_addr *remote);
bool sdp_route_is_local(const struct dst_entry *dst,
			const struct sdp_addr *remote);

#endif
