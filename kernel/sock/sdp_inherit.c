// SPDX-License-Identifier: GPL-2.0
/*
 * Options that an accepted socket has from its listener.
 *
 * A TCP child is a copy of its listener, and what belongs to one connection is
 * made anew.  Our child begins as a fresh socket, since no function that a
 * module may call copies one.  It gets each option here, in the order of the
 * kernel's structures.  selftests/socket/inherit.c asks for every option
 * number, to find one that is missing.
 */
#include <linux/netdevice.h>
#include <linux/tcp.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/tcp.h>
#include "sdp_inherit.h"

/* Flags that are no options, but describe this one socket. */
#define SDP_INHERIT_OWN_FLAGS						\
	(BIT(SOCK_DEAD) | BIT(SOCK_DONE) | BIT(SOCK_DESTROY) |		\
	 BIT(SOCK_ZAPPED) | BIT(SOCK_USE_WRITE_QUEUE) |			\
	 BIT(SOCK_MEMALLOC) | BIT(SOCK_FASYNC) | BIT(SOCK_RCU_FREE) |	\
	 BIT(SOCK_XDP))
/* Flags whose users the kernel counts. */
#define SDP_INHERIT_STAMPS						\
	(BIT(SOCK_TIMESTAMP) | BIT(SOCK_TIMESTAMPING_RX_SOFTWARE))

static void sdp_inherit_flags(const struct sock *sk, struct sock *nsk)
{
	unsigned long flags = READ_ONCE(sk->sk_flags) & ~SDP_INHERIT_OWN_FLAGS;

	nsk->sk_flags = (nsk->sk_flags & SDP_INHERIT_OWN_FLAGS) | flags;
	/* Destroying the child disables them. */
	if (flags & SDP_INHERIT_STAMPS)
		net_enable_timestamp();
}

static void sdp_inherit_sock(const struct sock *sk, struct sock *nsk)
{
	sdp_inherit_flags(sk, nsk);
	nsk->sk_bound_dev_if = READ_ONCE(sk->sk_bound_dev_if);
	nsk->sk_reuse = sk->sk_reuse;
	nsk->sk_reuseport = sk->sk_reuseport;
	nsk->sk_ipv6only = sk->sk_ipv6only;
	nsk->sk_mark = READ_ONCE(sk->sk_mark);
	nsk->sk_sndbuf = READ_ONCE(sk->sk_sndbuf);
	nsk->sk_rcvbuf = READ_ONCE(sk->sk_rcvbuf);
	nsk->sk_rcvlowat = READ_ONCE(sk->sk_rcvlowat);
	nsk->sk_rcvtimeo = READ_ONCE(sk->sk_rcvtimeo);
	nsk->sk_sndtimeo = READ_ONCE(sk->sk_sndtimeo);
	nsk->sk_lingertime = READ_ONCE(sk->sk_lingertime);
	nsk->sk_userlocks = sk->sk_userlocks & ~(SOCK_BINDPORT_LOCK |
						 SOCK_BINDADDR_LOCK);
	nsk->sk_no_check_tx = sk->sk_no_check_tx;
	nsk->sk_peek_off = READ_ONCE(sk->sk_peek_off);
	nsk->sk_tsflags = READ_ONCE(sk->sk_tsflags);
	nsk->sk_max_pacing_rate = READ_ONCE(sk->sk_max_pacing_rate);
	nsk->sk_incoming_cpu = raw_smp_processor_id();
#ifdef CONFIG_NET_RX_BUSY_POLL
	nsk->sk_ll_usec = READ_ONCE(sk->sk_ll_usec);
#endif
	sdp_sock_copy_newer(nsk, sk);
}

static void sdp_inherit_tcp(const struct sock *sk, struct sock *nsk)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct tcp_sock *ntp = tcp_sk(nsk);

	inet_csk(nsk)->icsk_user_timeout = READ_ONCE(icsk->icsk_user_timeout);
	inet_csk(nsk)->icsk_syn_retries = READ_ONCE(icsk->icsk_syn_retries);
	inet_csk(nsk)->icsk_rto_min = READ_ONCE(icsk->icsk_rto_min);
	inet_csk(nsk)->icsk_delack_max = READ_ONCE(icsk->icsk_delack_max);
	sdp_csk_copy_rto_max(inet_csk(nsk), icsk);
	ntp->nonagle = tp->nonagle;
	ntp->linger2 = READ_ONCE(tp->linger2);
	ntp->keepalive_time = READ_ONCE(tp->keepalive_time);
	ntp->keepalive_intvl = READ_ONCE(tp->keepalive_intvl);
	ntp->keepalive_probes = READ_ONCE(tp->keepalive_probes);
	ntp->notsent_lowat = READ_ONCE(tp->notsent_lowat);
	ntp->recvmsg_inq = tp->recvmsg_inq;
	ntp->thin_lto = tp->thin_lto;
	ntp->save_syn = tp->save_syn;
	ntp->fastopen_connect = tp->fastopen_connect;
	ntp->fastopen_no_cookie = tp->fastopen_no_cookie;
	ntp->tcp_tx_delay = READ_ONCE(tp->tcp_tx_delay);
}

static void sdp_inherit_inet(const struct sock *sk, struct sock *nsk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct inet_sock *ninet = inet_sk(nsk);

	sdp_inet_copy_flags(ninet, inet);
	ninet->uc_ttl = READ_ONCE(inet->uc_ttl);
	ninet->mc_ttl = READ_ONCE(inet->mc_ttl);
	ninet->tos = READ_ONCE(inet->tos);
	ninet->pmtudisc = READ_ONCE(inet->pmtudisc);
	ninet->uc_index = READ_ONCE(inet->uc_index);
	ninet->mc_index = READ_ONCE(inet->mc_index);
	ninet->mc_addr = READ_ONCE(inet->mc_addr);
	sdp_inet_copy_port_range(ninet, inet);
}

static void sdp_inherit_inet6(const struct sock *sk, struct sock *nsk)
{
#if IS_ENABLED(CONFIG_IPV6)
	const struct ipv6_pinfo *np = inet6_sk(sk);
	struct ipv6_pinfo *nnp = inet6_sk(nsk);

	sdp_inet6_copy_flags(nnp, np);
	nnp->hop_limit = np->hop_limit;
	nnp->mcast_hops = np->mcast_hops;
	nnp->pmtudisc = np->pmtudisc;
	nnp->tclass = READ_ONCE(np->tclass);
	nnp->srcprefs = np->srcprefs;
	nnp->flow_label = np->flow_label;
	nnp->frag_size = READ_ONCE(np->frag_size);
	nnp->ucast_oif = READ_ONCE(np->ucast_oif);
	nnp->mcast_oif = READ_ONCE(np->mcast_oif);
	nnp->rxopt.all = np->rxopt.all;
	nnp->sticky_pktinfo = np->sticky_pktinfo;
#endif
}

/**
 * sdp_inherit_congestion() - inherit the congestion control, by name
 * @sk: the listener
 * @nsk: its child, which nobody else has
 *
 * SDP has no congestion control, but a program that asks is answered as by TCP.
 * If the caller may not choose the listener's, the child keeps the default.
 *
 * Context: process; no socket lock held.
 */
void sdp_inherit_congestion(const struct sock *sk, struct sock *nsk)
{
	const struct tcp_congestion_ops *ca;
	char name[TCP_CA_NAME_MAX];
	bool same;

	rcu_read_lock();
	ca = READ_ONCE(inet_csk(sk)->icsk_ca_ops);
	same = ca == inet_csk(nsk)->icsk_ca_ops;
	if (!same)
		strscpy(name, ca->name, sizeof(name));
	rcu_read_unlock();
	if (!same)
		nsk->sk_prot->setsockopt(nsk, SOL_TCP, TCP_CONGESTION,
					 KERNEL_SOCKPTR(name), strlen(name));
}

/**
 * sdp_inherit() - inherit all other options
 * @sk: the listener
 * @nsk: its child, which nobody else has, without addresses
 *
 * Context: process; the lock of @nsk held.
 */
void sdp_inherit(const struct sock *sk, struct sock *nsk)
{
	sdp_inherit_sock(sk, nsk);
	sdp_inherit_tcp(sk, nsk);
	sdp_inherit_inet(sk, nsk);
	if (sk->sk_family == AF_INET6)
		sdp_inherit_inet6(sk, nsk);
}
