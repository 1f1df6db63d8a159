// SPDX-License-Identifier: GPL-2.0
/*
 * Addresses of the transport over verbs: TCP's, the Hello's and the path's.
 *
 * A connection keeps IPv4 addresses v4-mapped.  rdma_cm wants sockaddrs, the
 * Hello has its own form, and on RoCE a GID is the v4-mapped form again.  The
 * source address is chosen by the routing tables, as for TCP.
 *
 * The peer's address is proven, not believed.  The peer wrote the Hello, and
 * also the path in the REQ: that the addresses of one are those of the other
 * proves nothing.  What it did not write are the GID and net device that its
 * packet came to, and on RoCE the hardware address to which ib_cm has resolved
 * the packet's source.
 *
 * On InfiniBand the path has the GID of a port, which the peer's kernel puts
 * there.  A program can only choose among the ports of its own host, unless it
 * may send management datagrams, which only root may.  The Hello's address must
 * be one that our own neighbour table has for that port.  So it is believed as
 * far as ARP is, and as far as TCP over the same net device.
 */
#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <net/dst.h>
#include <net/addrconf.h>
#include <net/ip_fib.h>
#include <net/ip6_route.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/neighbour.h>
#include <net/route.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_cm.h>
#include <linux/sdp.h>
#include "sdp_conn.h"
#include "sdp_ib_addr.h"
#include "sdp_route.h"
#include "sdp_wire.h"

/**
 * sdp_ib_to_sockaddr() - convert an address to what rdma_cm wants, without port
 * @addr: the address
 * @ifindex: scope of an IPv6 link-local address
 * @to: set to the sockaddr
 *
 * Context: any.
 */
void sdp_ib_to_sockaddr(const struct sdp_addr *addr, int ifindex,
			struct sockaddr_storage *to)
{
	memset(to, 0, sizeof(*to));
	if (ipv6_addr_v4mapped(&addr->ip)) {
		struct sockaddr_in *sin = (struct sockaddr_in *)to;

		sin->sin_family = AF_INET;
		sin->sin_addr.s_addr = addr->ip.s6_addr32[3];
	} else {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)to;

		sin6->sin6_family = AF_INET6;
		sin6->sin6_addr = addr->ip;
		if (ipv6_addr_type(&addr->ip) & IPV6_ADDR_LINKLOCAL)
			sin6->sin6_scope_id = ifindex;
	}
}

/* Refuse a route that IPsec protects, or for which it has yet to find a state:
 * no RDMA device would know of it.
 */
static int sdp_ib_check_policy(const struct dst_entry *dst)
{
	return dst_xfrm(dst) || dst->output == dst_discard_out ? -ENETUNREACH :
								 0;
}

/* @via: set to the index of the route's net device; 0 if it ends here. */
static int sdp_ib_find_route(struct net *net, int ifindex, u32 mark, kuid_t uid,
			     struct sdp_addr *local,
			     const struct sdp_addr *remote, int *via)
{
	struct dst_entry *dst = sdp_route_find(net, ifindex, mark, uid, local,
					       remote);
	int err;

	if (IS_ERR(dst))
		return PTR_ERR(dst);
	err = sdp_ib_check_policy(dst);
	*via = sdp_route_is_local(dst, remote) ? 0 : dst->dev->ifindex;
	dst_release(dst);
	return err;
}

/**
 * sdp_ib_route_source() - choose conn->local.ip as TCP would
 * @conn: a connection with its remote address, mark, uid and device
 *
 * Context: process; sleeps.
 * Return: 0, or a negative errno of the routing tables; -ENETUNREACH also where
 * IPsec would have to protect the connection.
 */
int sdp_ib_route_source(struct sdp_conn *conn)
{
	int via;

	return sdp_ib_find_route(conn->net, conn->ifindex, conn->mark,
				 conn->uid, &conn->local, &conn->remote, &via);
}

/**
 * sdp_ib_check_device() - check a net device against SO_BINDTODEVICE
 * @conn: the connection, its addresses set
 * @ifindex: the net device that owns the address, as rdma_cm found it
 *
 * rdma_cm goes by the device that has the local address, which need not be the one
 * that SO_BINDTODEVICE names: that may have no address of its own.
 *
 * Context: process; sleeps.
 * Return: 0 if the socket is bound to no device, to this one or its VRF, or if
 * the peer is this host; -ENODEV if the route leads to another device; or the
 * reason why there is no route by now.
 */
int sdp_ib_check_device(const struct sdp_conn *conn, int ifindex)
{
	struct sdp_addr from = conn->local;
	int via, err;

	/* Any device of the VRF will do, and another look may find another. */
	if (!conn->ifindex || conn->ifindex == ifindex ||
	    l3mdev_master_ifindex_by_index(conn->net, ifindex) == conn->ifindex)
		return 0;
	err = sdp_ib_find_route(conn->net, conn->ifindex, conn->mark,
				conn->uid, &from, &conn->remote, &via);
	if (err)
		return err;
	return via && via != ifindex ? -ENODEV : 0;
}

/**
 * sdp_ib_may_answer() - whether there is a way back, and without IPsec
 * @ndev: the net device that a REQ came to
 * @local: the address and port that the REQ is for
 * @remote: the address and port that the REQ is from
 *
 * Context: process; sleeps.
 * Return: true if there is.
 */
bool sdp_ib_may_answer(struct net_device *ndev, const struct sdp_addr *local,
		       const struct sdp_addr *remote)
{
	struct sdp_addr from = *local;
	int via;

	return !sdp_ib_find_route(dev_net(ndev), ndev->ifindex, 0,
				  GLOBAL_ROOT_UID, &from, remote, &via);
}

/**
 * sdp_ib_is_understood() - whether this kernel can look an address up
 * @ip: the address
 *
 * With ipv6.disable=1 the tables for IPv6 addresses do not exist, but a peer
 * can still name such an address in its Hello.  With RoCE the CM has looked at
 * the path before, with InfiniBand nobody has.
 *
 * Context: any.
 * Return: true for IPv4, and for IPv6 where the kernel has it.
 */
bool sdp_ib_is_understood(const struct in6_addr *ip)
{
	return ipv6_addr_v4mapped(ip) || ipv6_mod_enabled();
}

/**
 * sdp_ib_is_loopback() - whether an address is one that no RDMA device has
 * @ip: the address
 *
 * Context: any.
 * Return: true for 127.0.0.0/8, ::1 and the wildcards, which TCP takes for
 * loopback.
 */
bool sdp_ib_is_loopback(const struct in6_addr *ip)
{
	if (ipv6_addr_v4mapped(ip))
		return ipv4_is_loopback(ip->s6_addr32[3]) || !ip->s6_addr32[3];
	return ipv6_addr_loopback(ip) || ipv6_addr_any(ip);
}

/**
 * sdp_ib_netdev() - find the net device that a REQ came to
 * @req: the REQ
 * @device: the RDMA device that it came to
 * @local: the address that its Hello is for
 *
 * Context: process (callback of ib_cm).
 * Return: the net device, with a reference; NULL if there is none.
 */
struct net_device *sdp_ib_netdev(const struct ib_cm_req_event_param *req,
				 struct ib_device *device,
				 const struct in6_addr *local)
{
	struct sockaddr_storage addr;
	struct sdp_addr to = { .ip = *local };
	struct net_device *ndev;

	if (rdma_protocol_roce(device, req->port)) {
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(req->ppath_sgid_attr);
		if (IS_ERR(ndev))
			ndev = NULL;
		dev_hold(ndev);
		rcu_read_unlock();
		return ndev;
	}
	/* The path's P_Key: some devices report one for all CM messages. */
	sdp_ib_to_sockaddr(&to, 0, &addr);
	return ib_get_net_dev_by_params(device, req->port,
					be16_to_cpu(req->primary_path->pkey),
					&req->primary_path->sgid,
					(struct sockaddr *)&addr);
}

/* Whether a host can have this address, and others can send to it. */
static bool sdp_ib_is_host(const struct in6_addr *ip)
{
	__be32 v4 = ip->s6_addr32[3];

	if (ipv6_addr_v4mapped(ip))
		return !ipv4_is_loopback(v4) && !ipv4_is_zeronet(v4) &&
		       !ipv4_is_multicast(v4) && !ipv4_is_lbcast(v4);
	return ipv6_addr_type(ip) & IPV6_ADDR_UNICAST &&
	       !ipv6_addr_loopback(ip);
}

static bool sdp_ib_is_local(struct net_device *ndev, const struct in6_addr *ip)
{
	struct net *net = dev_net(ndev);

	if (ipv6_addr_v4mapped(ip))
		return inet_addr_type_dev_table(net, ndev, ip->s6_addr32[3]) ==
		       RTN_LOCAL;
	return ipv6_chk_addr(net, ip, NULL, 0);
}

/* InfiniBand: whether the path's other end is this port, hence this host. */
static bool sdp_ib_is_own_port(const struct ib_cm_req_event_param *req,
			       struct ib_device *device)
{
	const struct ib_gid_attr *attr;
	struct ib_port_attr port;

	attr = rdma_find_gid_by_port(device, &req->primary_path->dgid,
				     IB_GID_TYPE_IB, req->port, NULL);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	return !ib_query_port(device, req->port, &port) &&
	       be32_to_cpu(sa_path_get_dlid(req->primary_path)) == port.lid;
}

/* Whether the route leaves by @ndev.  ip_route_output_key() would not tell:
 * given a device it finds a route to everywhere.
 */
static bool sdp_ib_leads_by4(struct net_device *ndev, __be32 local,
			     __be32 remote)
{
	struct flowi4 fl4 = {
		.flowi4_oif = ndev->ifindex,
		.daddr = remote,
		.saddr = local,
	};
	struct fib_result res;
	bool match;

	rcu_read_lock();
	match = !fib_lookup(dev_net(ndev), &fl4, &res, 0) &&
		res.type == RTN_UNICAST && FIB_RES_DEV(res) == ndev;
	rcu_read_unlock();
	return match;
}

/* The route, which the caller puts, if it leaves by @ndev; else NULL. */
static struct dst_entry *sdp_ib_way_by6(struct net_device *ndev,
					const struct in6_addr *local,
					const struct in6_addr *remote)
{
	struct flowi6 fl6 = {
		.flowi6_oif = ndev->ifindex,
		.daddr = *remote,
		.saddr = *local,
	};
	struct dst_entry *dst;

	dst = ip6_dst_lookup_flow(dev_net(ndev), NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return NULL;
	if (dst->dev == ndev && !(((struct rt6_info *)dst)->rt6i_flags &
				  (RTF_LOCAL | RTF_ANYCAST | RTF_REJECT)))
		return dst;
	dst_release(dst);
	return NULL;
}

/* Whether the path leads to this hardware address.  Net devices of one port
 * (child interfaces, a bond of it) have its GID in their hardware addresses.
 */
static bool sdp_ib_is_hwaddr(const struct net_device *ndev, const u8 *hwaddr,
			     struct sa_path_rec *path)
{
	const u8 *mac = sa_path_get_dmac(path);

	if (mac)
		return ether_addr_equal_unaligned(hwaddr, mac);
	return ndev->type == ARPHRD_INFINIBAND &&
	       ndev->addr_len == SDP_WIRE_IPOIB &&
	       sdp_wire_is_port(hwaddr, &path->dgid);
}

/*
 * 0 if the path leads to the next hop on the way to @ip; else -EINVAL, or
 * -EAGAIN.
 *
 * On RoCE ib_cm has found the neighbour before.  On InfiniBand packets need no
 * neighbour; most often the peer's own request for our address has made it
 * known.  If not, this asks for it, as TCP would before it answers, but does
 * not wait for it in ib_cm's only worker: -EAGAIN.
 */
static int sdp_ib_check_next(struct dst_entry *dst, const void *ip,
			     struct sa_path_rec *path)
{
	struct neighbour *neigh = dst_neigh_lookup(dst, ip);
	u8 hwaddr[MAX_ADDR_LEN];
	int err = -EINVAL;

	if (!neigh)
		return err;
	neigh_ha_snapshot((char *)hwaddr, neigh, dst->dev);
	if (READ_ONCE(neigh->nud_state) & NUD_VALID) {
		if (sdp_ib_is_hwaddr(dst->dev, hwaddr, path))
			err = 0;
	} else if (!sa_path_is_roce(path)) {
		neigh_event_send(neigh, NULL);
		err = -EAGAIN;
	}
	neigh_release(neigh);
	return err;
}

static int sdp_ib_check_behind4(struct net_device *ndev, __be32 local,
				__be32 remote, struct sa_path_rec *path)
{
	struct flowi4 fl4 = {
		.flowi4_oif = ndev->ifindex,
		.daddr = remote,
		.saddr = local,
	};
	struct rtable *rt;
	int err;

	if (!sdp_ib_leads_by4(ndev, local, remote))
		return -EINVAL;
	rt = ip_route_output_key(dev_net(ndev), &fl4);
	if (IS_ERR(rt))
		return -EINVAL;
	err = sdp_ib_check_next(&rt->dst, &remote, path);
	ip_rt_put(rt);
	return err;
}

static int sdp_ib_check_behind6(struct net_device *ndev,
				const struct in6_addr *local,
				const struct in6_addr *remote,
				struct sa_path_rec *path)
{
	struct dst_entry *dst = sdp_ib_way_by6(ndev, local, remote);
	int err;

	if (!dst)
		return -EINVAL;
	err = sdp_ib_check_next(dst, remote, path);
	dst_release(dst);
	return err;
}

static int sdp_ib_check_behind(struct net_device *ndev,
			       const struct in6_addr *local,
			       const struct in6_addr *remote,
			       struct sa_path_rec *path)
{
	if (ipv6_addr_v4mapped(remote))
		return sdp_ib_check_behind4(ndev, local->s6_addr32[3],
					    remote->s6_addr32[3], path);
	return sdp_ib_check_behind6(ndev, local, remote, path);
}

/* InfiniBand: the path has port GIDs, so ask net device and routes (1.4), as
 * rdma_cm does, and neighbours.  The route must leave by this device, even if
 * others lead to the same network.
 */
static int sdp_ib_check_port(const struct ib_cm_req_event_param *req,
			     struct ib_device *device, struct net_device *ndev,
			     const struct in6_addr *local,
			     const struct in6_addr *remote)
{
	struct net *net = dev_net(ndev);
	bool mine;

	if (sdp_ib_is_local(ndev, remote))
		return sdp_ib_is_local(ndev, local) &&
		       sdp_ib_is_own_port(req, device) ? 0 : -EINVAL;
	if (ipv6_addr_v4mapped(local))
		mine = inet_addr_type_dev_table(net, ndev,
						local->s6_addr32[3]) == RTN_LOCAL;
	else
		mine = ipv6_chk_addr(net, local, ndev, 1);
	if (!mine)
		return -EINVAL;
	return sdp_ib_check_behind(ndev, local, remote, req->primary_path);
}

/*
 * RoCE: to answer, ib_cm has found the neighbour of the address that the packet
 * came from.  So if @remote is that address it has the same neighbour, which is
 * known.
 */
static int sdp_ib_check_mac(const struct ib_cm_req_event_param *req,
			    struct net_device *ndev,
			    const struct in6_addr *local,
			    const struct in6_addr *remote)
{
	const u8 *mac = sa_path_get_dmac(req->primary_path);
	u8 by_address[ETH_ALEN];

	if (!mac)
		return -EINVAL;
	/* From this host itself: ib_cm answers to the device it came to. */
	if (sdp_ib_is_local(ndev, remote))
		return ether_addr_equal(mac, ndev->dev_addr) ? 0 : -EINVAL;
	/* RoCE v1 derives these addresses' MAC, and asks no neighbour. */
	if (req->ppath_sgid_attr->gid_type == IB_GID_TYPE_ROCE &&
	    ipv6_addr_type(remote) & IPV6_ADDR_LINKLOCAL) {
		rdma_get_ll_mac((struct in6_addr *)remote, by_address);
		return ether_addr_equal(mac, by_address) ? 0 : -EINVAL;
	}
	return sdp_ib_check_behind(ndev, local, remote, req->primary_path);
}

/**
 * sdp_ib_check_path() - check that the Hello's addresses are the path's (1.4)
 * @req: the REQ
 * @device: the RDMA device that it came to
 * @ndev: the net device that it came to
 * @local: the address that the Hello is for
 * @remote: the address that the Hello claims to be from
 *
 * Context: process (callback of ib_cm).
 * Return: 0 if the peer, which wrote the Hello, is what it says; -EINVAL if
 * not; -EAGAIN if that is not known yet, but has been asked for (InfiniBand
 * only).
 */
int sdp_ib_check_path(const struct ib_cm_req_event_param *req,
		      struct ib_device *device, struct net_device *ndev,
		      const struct in6_addr *local,
		      const struct in6_addr *remote)
{
	const struct sa_path_rec *path = req->primary_path;

	if (!sdp_ib_is_host(local) || !sdp_ib_is_host(remote) ||
	    ipv6_addr_v4mapped(local) != ipv6_addr_v4mapped(remote))
		return -EINVAL;
	if (!rdma_protocol_roce(device, req->port))
		return sdp_ib_check_port(req, device, ndev, local, remote);
	/* The connection's packets go where the path says. */
	if (memcmp(&req->ppath_sgid_attr->gid, local, sizeof(*local)) ||
	    memcmp(&path->sgid, local, sizeof(*local)) ||
	    memcmp(&path->dgid, remote, sizeof(*remote)))
		return -EINVAL;
	return sdp_ib_check_mac(req, ndev, local, remote);
}
