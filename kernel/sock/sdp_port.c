// SPDX-License-Identifier: GPL-2.0
/*
 * The local address and port of a client.
 *
 * Ports are shared, as with TCP.  A client takes its port towards one port of
 * one peer, and at one local address only.  So a host has as many outgoing
 * connections as there are such pairs, and the port stays free for others at
 * the host's other addresses.  inet_hash_connect() does this: it puts the
 * socket among TCP's connections, with state TCP_CLOSE.  No packet comes there
 * for the socket, and one that did would be dropped.
 *
 * The source address has to be known before.  A socket that is bound to the
 * wildcard address is moved to the bucket of the source address, and back, as
 * TCP's connect() does it.
 *
 * Newer kernels do not export all that this takes (sdp_compat.h).  With them an
 * IPv4 client has its port to itself.
 */
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/transp_v6.h>
#include "sdp_port.h"

static bool sdp_port_is_v4(const struct sdp_conn *conn)
{
	return ipv6_addr_v4mapped(&conn->remote.ip);
}

/* Set the receive address.  A bound socket is hashed by it and has to move. */
static int sdp_port_move(struct sock *sk, const struct sdp_conn *conn)
{
	struct in6_addr source = conn->local.ip;

	if (SDP_MOVES_PORTS)
		return sdp_port_is_v4(conn) ?
		       sdp_bhash2_update_saddr(sk, &source.s6_addr32[3], AF_INET) :
		       sdp_bhash2_update_saddr(sk, &source, AF_INET6);
	if (SDP_FILES_ADDRESSES && inet_csk(sk)->icsk_bind_hash)
		return 0;
	if (sdp_port_is_v4(conn))
		sk_rcv_saddr_set(sk, source.s6_addr32[3]);
#if IS_ENABLED(CONFIG_IPV6)
	else
		sk->sk_v6_rcv_saddr = source;
#endif
	return 0;
}

static int sdp_port_set_source(struct sock *sk, const struct sdp_conn *conn)
{
	struct inet_sock *inet = inet_sk(sk);
	int err = 0;

	if (sdp_port_is_v4(conn)) {
		if (!inet->inet_saddr)
			err = sdp_port_move(sk, conn);
		else
			sk_rcv_saddr_set(sk, inet->inet_saddr);
		return err;
	}
#if IS_ENABLED(CONFIG_IPV6)
	if (ipv6_addr_any(&sk->sk_v6_rcv_saddr))
		err = sdp_port_move(sk, conn);
	if (!err) {
		inet6_sk(sk)->saddr = conn->local.ip;
		inet->inet_rcv_saddr = LOOPBACK4_IPV6;	/* as TCP: none */
	}
#endif
	return err;
}

/* Whether it has a receive address, to tell TCP's connections apart. */
static bool sdp_port_is_at_one(const struct sock *sk, const struct sdp_conn *conn)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!sdp_port_is_v4(conn))
		return !ipv6_addr_any(&sk->sk_v6_rcv_saddr);
#endif
	return inet_sk(sk)->inet_rcv_saddr;
}

/*
 * Choose the port: a shared one where possible; else the bound one, or one of
 * its own.
 */
static int sdp_port_choose(struct sock *sk, const struct sdp_conn *conn)
{
	struct inet_timewait_death_row *row = &sock_net(sk)->ipv4.tcp_death_row;
	bool v4 = sdp_port_is_v4(conn);

	if (SDP_SHARES_PORTS(v4) && sdp_port_is_at_one(sk, conn))
		return v4 ? sdp_v4_hash_connect(row, sk) : inet6_hash_connect(row, sk);
	if (inet_sk(sk)->inet_num)
		return 0;
	if (sk->sk_prot->get_port(sk, 0))
		return -EADDRNOTAVAIL;
	inet_sk(sk)->inet_sport = htons(inet_sk(sk)->inet_num);
	return 0;
}

static void sdp_port_set_peer(struct sock *sk, const struct sdp_conn *conn)
{
	inet_sk(sk)->inet_dport = conn->remote.port;
	if (sdp_port_is_v4(conn))
		sk_daddr_set(sk, conn->remote.ip.s6_addr32[3]);
#if IS_ENABLED(CONFIG_IPV6)
	else
		sk->sk_v6_daddr = conn->remote.ip;
#endif
}

static void sdp_port_forget_source(struct sock *sk)
{
	inet_sk(sk)->inet_rcv_saddr = 0;
#if IS_ENABLED(CONFIG_IPV6)
	sk->sk_v6_rcv_saddr = in6addr_any;
#endif
}

/*
 * Restore the bucket and the address fields to what TCP expects before
 * connect().
 */
static void sdp_port_undo_names(struct sock *sk)
{
	struct inet_sock *inet = inet_sk(sk);

	sk_dst_reset(sk);
	inet->inet_dport = 0;
	sk_daddr_set(sk, 0);
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		sk->sk_v6_daddr = in6addr_any;
#endif
	if (sk->sk_userlocks & SOCK_BINDADDR_LOCK)
		return;
	if (SDP_MOVES_PORTS ||
	    (SDP_FILES_ADDRESSES && inet_csk(sk)->icsk_bind_hash))
		sdp_bhash2_reset_saddr(sk);
	else
		sdp_port_forget_source(sk);
	inet->inet_saddr = 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		inet6_sk(sk)->saddr = in6addr_any;
#endif
}

/**
 * sdp_port_take() - choose a client's address and port, as TCP's connect() does
 * @sk: locked, in state CLOSE
 * @ssk: its SDP state
 * @conn: its connection, with both addresses and the peer's port; gets its own
 *	port
 *
 * On success the addresses are set in the sock, which stands among TCP's
 * connections with them.
 *
 * Context: process; sleeps.
 * Return: 0; -EADDRNOTAVAIL if there is no port, or another socket with the
 * bound port is connected to the same port of the same host; -ENOMEM.
 */
int sdp_port_take(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn)
{
	bool bound = inet_sk(sk)->inet_num;
	int err;

	ssk->named = true;
	err = sdp_port_set_source(sk, conn);
	if (err)
		goto fail;
	sdp_port_set_peer(sk, conn);
	err = sdp_port_choose(sk, conn);
	if (err)
		goto fail;
	ssk->port_ours = !bound;
	conn->local.port = inet_sk(sk)->inet_sport;
	return 0;

fail:
	sdp_port_put(sk, ssk);
	return err;
}

/**
 * sdp_port_put() - release what sdp_port_take() took
 * @sk: locked
 * @ssk: its SDP state
 *
 * What bind() gave stays.  Nothing is done for a socket without a connection's
 * addresses.
 *
 * Context: process.
 */
void sdp_port_put(struct sock *sk, struct sdp_sk *ssk)
{
	if (!ssk->named)
		return;
	ssk->named = false;
	sk->sk_prot->unhash(sk);
	if (ssk->port_ours && inet_csk(sk)->icsk_bind_hash)
		sdp_put_port(sk);
	ssk->port_ours = false;
	sdp_port_undo_names(sk);
}
