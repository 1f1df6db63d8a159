// SPDX-License-Identifier: GPL-2.0
/*
 * The names of a client.
 *
 * A port is shared, as with TCP: it is taken for one peer's port and from one address
 * alone, so that a host has as many outgoing connections as there are such pairs, and
 * a port is free for others at its other addresses.  That is what inet_hash_connect()
 * is for, which puts the socket among TCP's connections, with its state CLOSE.  No
 * packet comes there for it, and what did would be dropped.
 *
 * The source address has to be known before.  Whoever bound the wildcard address is
 * moved to the bucket of this one, and back, as TCP's connect() does it.
 *
 * Newer kernels keep some of what it takes to themselves (sdp_compat.h): by IPv4 a
 * client has its port for itself then.
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

/* The address that is received for, which is a part of a bound socket's place. */
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

/* Has it an address to receive for, so that TCP's connections may be told apart? */
static bool sdp_port_is_at_one(const struct sock *sk, const struct sdp_conn *conn)
{
#if IS_ENABLED(CONFIG_IPV6)
	if (!sdp_port_is_v4(conn))
		return !ipv6_addr_any(&sk->sk_v6_rcv_saddr);
#endif
	return inet_sk(sk)->inet_rcv_saddr;
}

/* Shared if that can be; else, if bind() has not chosen one, its own. */
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

/* The bucket and the address fields that TCP wants to find untouched. */
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
 * sdp_port_take() - a client's address and port, as TCP's connect() chooses them
 * @sk: locked, in state CLOSE
 * @ssk: ours of it
 * @conn: its connection, with both addresses and the peer's port; gets its own port
 *
 * The socket has its names then, and stands among TCP's connections with them.
 *
 * Context: process; sleeps.
 * Return: 0; -EADDRNOTAVAIL if there is no port, or who has the one that was bound
 * is connected to the same port of the same host; -ENOMEM.
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
 * sdp_port_put() - what sdp_port_take() took
 * @sk: locked
 * @ssk: ours of it
 *
 * What bind() gave stays.  Nothing is done for a socket that has no names of ours.
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
