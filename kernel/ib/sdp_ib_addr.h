/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses of the transport over verbs; see sdp_ib_addr.c.
 */
#ifndef _SDP_IB_ADDR_H
#define _SDP_IB_ADDR_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct ib_cm_req_event_param;
struct net_device;
struct sdp_addr;
struct sdp_conn;
void sdp_ib_to_sockaddr(const struct sdp_addr *addr, int ifindex,
			struct sockaddr_storage *to);
int sdp_ib_route_source(struct sdp_conn *conn);
int sdp_ib_check_device(const struct sdp_conn *conn, int ifindex);
bool sdp_ib_may_answer(struct net_device *ndev, const struct sdp_addr *local,
		       const struct sdp_addr *remote);
bool sdp_ib_is_understood(const struct in6_addr *ip);
bool sdp_ib_is_loopback(const struct in6_addr *ip);
struct net_device *sdp_ib_netdev(const struct ib_cm_req_event_param *req,
				 struct ib_device *device,
				 const struct in6_addr *local);
int sdp_ib_check_path(const struct ib_cm_req_event_param *req,
		      struct ib_device *device, struct net_device *ndev,
		      const struct in6_addr *local,
		      const struct in6_addr *remote);

#endif
