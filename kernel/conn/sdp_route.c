// SPDX-License-Identifier: GPL-2.0
/*
 * Route look-up for a connection.
 *
 * SDP sends no packets by these routes.  But as for a TCP connection between
 * the same addresses, they choose the source address, say that a destination is
 * unreachable, and have the MTU that IP_MTU reports.
 */
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/route.h>
#include "sdp_conn.h"
#include "sdp_route.h"

static struct dst_entry *sdp_route_find_v4(struct net *net, int ifindex,
					   u32 mark, kuid_t uid,
					   struct sdp_addr *local,
					   const struct sdp_addr *remote)
{
	struct flowi4 fl4 = {
		.flowi4_oif	= ifindex,
		.flowi4_mark	= mark,
		.flowi4_proto	= IPPROTO_TCP,
		.flowi4_uid	= uid,
		.fl4_sport	= local->port,
		.fl4_dport	= remote->port,
		.daddr		= remote->ip.s6_addr32[3],
	};
	struct rtable *rt;

	if (!ipv6_addr_any(&local->ip))
		fl4.saddr = local->ip.s6_addr32[3];
	rt = ip_route_output_flow(net, &fl4, NULL);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	ipv6_addr_set_v4mapped(fl4.saddr, &local->ip);
	return &rt->dst;
}

static struct dst_entry *sdp_route_find_v6(struct net *net, int ifindex,
					   u32 mark, kuid_t uid,
					   struct sdp_addr *local,
					   const struct sdp_addr *remote)
{
	struct flowi6 fl6 = {
		.flowi6_oif	= ifindex,
		.flowi6_mark	= mark,
		.flowi6_proto	= IPPROTO_TCP,
		.flowi6_uid	= uid,
		.fl6_sport	= local->port,
		.fl6_dport	= remote->port,
		.daddr		= remote->ip,
		.saddr		= local->ip,
	};
	struct dst_entry *dst = ip6_dst_lookup_flow(net, NULL, &fl6, NULL);

	if (!IS_ERR(dst))
		local->ip = fl6.saddr;
	return dst;
}

/**
 * sdp_route_find() - find the route that TCP's packets would take
 * @net: the namespace
 * @ifindex: the device that the socket is bound to; 0: any
 * @mark: mark of the socket
 * @uid: owner of the socket
 * @local: source address and port; the address is chosen if it is a wildcard
 * @remote: destination address and port
 *
 * Context: process or softirq.
 * Return: a reference to the route, or an ERR_PTR() of the routing code.
 */
struct dst_entry *sdp_route_find(struct net *net, int ifindex, u32 mark,
				 kuid_t uid, struct sdp_addr *local,
				 const struct sdp_addr *remote)
{
	return ipv6_addr_v4mapped(&remote->ip) ?
	       sdp_route_find_v4(net, ifindex, mark, uid, local, remote) :
	       sdp_route_find_v6(net, ifindex, mark, uid, local, remote);
}

/**
 * sdp_route_is_local() - whether a route ends in this host
 * @dst: the route, from sdp_route_find()
 * @remote: the destination that was passed to it
 *
 * Context: any.
 * Return: true if so.
 */
bool sdp_route_is_local(const struct dst_entry *dst,
			const struct sdp_addr *remote)
{
	if (ipv6_addr_v4mapped(&remote->ip))
		return ((const struct rtable *)dst)->rt_flags & RTCF_LOCAL;
	return ((const struct rt6_info *)dst)->rt6i_flags & RTF_LOCAL;
}
