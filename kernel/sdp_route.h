/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the routing tables say of a connection; see sdp_route.c.
 */
#ifndef _SDP_ROUTE_H
#define _SDP_ROUTE_H

#include <linux/uidgid.h>

struct dst_entry;
struct net;
struct sdp_addr;

/**
 * sdp_route_find() - the way that TCP's packets would take
 * @net: the namespace
 * @ifindex: the device that the socket is bound to; 0: any
 * @mark: of the socket
 * @uid: its owner
 * @local: the source; chosen if it is no address
 * @remote: the destination
 *
 * Context: process or softirq.
 * Return: a reference, or ERR_PTR().
 */
struct dst_entry *sdp_route_find(struct net *net, int ifindex, u32 mark,
				 kuid_t uid, struct sdp_addr *local,
				 const struct sdp_addr *remote);

/**
 * sdp_route_is_local() - does it end in this host?
 * @dst: from sdp_route_find()
 * @remote: the destination that was asked for
 *
 * Context: any.
 * Return: true if so.
 */
bool sdp_route_is_local(const struct dst_entry *dst,
			const struct sdp_addr *remote);

#endif
