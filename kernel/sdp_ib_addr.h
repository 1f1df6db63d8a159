/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Addresses of the transport over verbs.
 */
#ifndef _SDP_IB_ADDR_H
#define _SDP_IB_ADDR_H

#include <linux/types.h>
#include <rdma/ib_verbs.h>

struct ib_cm_req_event_param;
struct net_device;
struct sdp_addr;
struct sdp_conn;

/**
 * sdp_ib_to_sockaddr() - an address as rdma_cm wants it, without its port
 * @addr: the address
 * @ifindex: scope of an IPv6 link-local one
 * @to: is filled
 *
 * Context: any.
 */
void sdp_ib_to_sockaddr(const struct sdp_addr *addr, int ifindex,
			struct sockaddr_storage *to);

/**
 * sdp_ib_ip_to_wire() - an address as the Hello has it
 * @ip: the address
 * @wire: 16 bytes; an IPv4 address stands behind zeros, not v4-mapped (1.2)
 *
 * Context: any.
 */
void sdp_ib_ip_to_wire(const struct in6_addr *ip, u8 *wire);

/**
 * sdp_ib_ip_from_wire() - an address out of the Hello
 * @wire: 16 bytes
 * @ipv: 4 or 6, as the Hello says
 * @ip: is filled
 *
 * Context: any.
 */
void sdp_ib_ip_from_wire(const u8 *wire, u8 ipv, struct in6_addr *ip);

/**
 * sdp_ib_route_source() - choose conn->local.ip as TCP would
 * @conn: a connection with its remote address, mark, uid and device
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno of the routing tables; -ENETUNREACH also where
 * IPsec would have to protect it.
 */
int sdp_ib_route_source(struct sdp_conn *conn);

/**
 * sdp_ib_check_device() - is it the net device that the socket is bound to?
 * @conn: the connection, its addresses set
 * @ifindex: the net device that owns the address, as rdma_cm found it
 *
 * rdma_cm goes by the device that has the local address, which need not be the one
 * that SO_BINDTODEVICE names: that may have none of its own.
 *
 * Context: process; sleeps.
 * Return: 0 if the socket is bound to no device, to this one or its VRF, or the peer is
 * this host; -ENODEV if it is another; or why there is no route by now.
 */
int sdp_ib_check_device(const struct sdp_conn *conn, int ifindex);

/**
 * sdp_ib_may_answer() - is there a way back, and without IPsec?
 * @ndev: the net device that a REQ came to
 * @local: the address and port that it is for
 * @remote: the address and port that it is from
 *
 * Context: process; sleeps.
 * Return: true if so.
 */
bool sdp_ib_may_answer(struct net_device *ndev, const struct sdp_addr *local,
		       const struct sdp_addr *remote);

/**
 * sdp_ib_is_understood() - can this kernel look for it?
 * @ip: the address
 *
 * With ipv6.disable=1 the tables that an IPv6 address is looked for in are not there, and
 * a peer can name one in its Hello all the same.  With RoCE the CM has looked at the path
 * before, with InfiniBand nobody has.
 *
 * Context: any.
 * Return: true for IPv4, and for IPv6 where the kernel has it.
 */
bool sdp_ib_is_understood(const struct in6_addr *ip);

/**
 * sdp_ib_is_loopback() - an address that no RDMA device has
 * @ip: the address
 *
 * Context: any.
 * Return: true for 127.0.0.0/8, ::1 and the wildcards, which TCP takes for
 * loopback.
 */
bool sdp_ib_is_loopback(const struct in6_addr *ip);

/**
 * sdp_ib_netdev() - the net device that a REQ came to
 * @req: the REQ
 * @device: its RDMA device
 * @local: the address that its Hello is for
 *
 * Context: process (callback of ib_cm).
 * Return: the net device, with a reference; NULL if there is none.
 */
struct net_device *sdp_ib_netdev(const struct ib_cm_req_event_param *req,
				 struct ib_device *device,
				 const struct in6_addr *local);

/**
 * sdp_ib_check_path() - are the Hello's addresses the path's? (1.4)
 * @req: the REQ
 * @device: its RDMA device
 * @ndev: its net device
 * @local: the address that the Hello is for
 * @remote: the address that the Hello claims to be from
 *
 * Context: process (callback of ib_cm).
 * Return: 0 if the peer, who wrote the Hello, is who it says; -EINVAL if not; -EAGAIN
 * if that is not known yet (InfiniBand alone), but has been asked for.
 */
int sdp_ib_check_path(const struct ib_cm_req_event_param *req,
		      struct ib_device *device, struct net_device *ndev,
		      const struct in6_addr *local,
		      const struct in6_addr *remote);

#endif
