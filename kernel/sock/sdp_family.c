// SPDX-License-Identifier: GPL-2.0
/*
 * The three ways to make an SDP socket.  All give the same object.
 *
 * 1. socket(27, SOCK_STREAM, 0 or IPPROTO_TCP): the historic family number.
 *    The sock is taken out of a TCP socket made on the way, so that TCP's
 *    creation hooks run with the real family.
 * 2. socket(AF_INET or AF_INET6, SOCK_STREAM, 257): inet_create() finds the
 *    protocol number and calls sdp_family_birth() as the proto's init(), which
 *    turns the sock into TCP's.  The proto is an unregistered copy of TCP's;
 *    the sock has it for the length of that call only.
 * 3. setsockopt(TCP_ULP, "sdp"): see sdp_ulp.c.
 */
#include <linux/module.h>
#include <net/protocol.h>
#include <net/transp_v6.h>
#include <linux/sdp.h>
#include "sdp_family.h"
#include "sdp_ulp.h"

static int family = AF_INET_SDP;
module_param(family, int, 0444);
MODULE_PARM_DESC(family, "socket family number for IPv4, 0: none (default 27)");

static int family6;
module_param(family6, int, 0444);
MODULE_PARM_DESC(family6, "socket family number for IPv6, 0: none (default 0)");

/* By protocol number */

static struct proto sdp_family_prot[2];

static int sdp_family_birth(struct sock *sk)
{
	struct proto *tcp = sk->sk_family == AF_INET6 ? &tcpv6_prot : &tcp_prot;
	int err;

	sk->sk_protocol = IPPROTO_TCP;
	sk->sk_prot = tcp;
	sk->sk_prot_creator = tcp;	/* time wait and clones use it */
	sk->sk_backlog_rcv = tcp->backlog_rcv;
	sk->sk_socket->ops = sdp_ulp_tcp(sk);
	err = tcp->init(sk);
	if (!err)
		err = sdp_ulp_attach(sk, sk->sk_socket);
	module_put(THIS_MODULE);	/* from sk_prot_alloc(): the copy's owner */
	return err;
}

static struct inet_protosw sdp_family_sw4 = {
	.type		= SOCK_STREAM,
	.protocol	= IPPROTO_SDP,
	.prot		= &sdp_family_prot[0],
	.ops		= &sdp_ulp_ops[0],
	.flags		= INET_PROTOSW_ICSK,
};

static struct inet_protosw sdp_family_sw6 = {
	.type		= SOCK_STREAM,
	.protocol	= IPPROTO_SDP,
	.prot		= &sdp_family_prot[1],
	.ops		= &sdp_ulp_ops[1],
	.flags		= INET_PROTOSW_ICSK,
};

/* By family number */

static int sdp_family_create(struct net *net, struct socket *sock, int protocol,
			     int kern, int inet_family)
{
	struct sock *sk;
	int err;

	if (sock->type != SOCK_STREAM)
		return -ESOCKTNOSUPPORT;
	if (protocol && protocol != IPPROTO_TCP && protocol != IPPROTO_SDP)
		return -EPROTONOSUPPORT;
	sk = sdp_ulp_steal(net, inet_family, kern);
	if (IS_ERR(sk))
		return PTR_ERR(sk);
	sock_graft(sk, sock);
	sock->ops = sdp_ulp_tcp(sk);
	sock->state = SS_UNCONNECTED;
	err = sdp_ulp_attach(sk, sock);
	if (!err) {
		struct sdp_sk *ssk = sdp_ulp_get(sk);

		/* The one for IPv6 has no second name in addresses. */
		ssk->historic = inet_family == AF_INET;
		sdp_ulp_put(ssk);
	} else {
		/* On error __sock_create() does not release the sock. */
		sdp_ulp_tcp(sk)->release(sock);
		sock->sk = NULL;
	}
	return err;
}

static int sdp_family_create4(struct net *net, struct socket *sock, int protocol,
			      int kern)
{
	return sdp_family_create(net, sock, protocol, kern, AF_INET);
}

static int sdp_family_create6(struct net *net, struct socket *sock, int protocol,
			      int kern)
{
	return sdp_family_create(net, sock, protocol, kern, AF_INET6);
}

static struct net_proto_family sdp_family_pf4 = {
	.create	= sdp_family_create4,
	.owner	= THIS_MODULE,
};

static struct net_proto_family sdp_family_pf6 = {
	.create	= sdp_family_create6,
	.owner	= THIS_MODULE,
};

static int __init sdp_family_register(struct net_proto_family *pf, int number)
{
	if (!number)
		return 0;
	pf->family = number;
	return sock_register(pf);
}

/**
 * sdp_family_init() - register families and protocol: sockets can be made now
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_family_init(void)
{
	int err;

	sdp_family_prot[0] = tcp_prot;
	sdp_family_prot[1] = tcpv6_prot;
	sdp_family_prot[0].owner = THIS_MODULE;
	sdp_family_prot[1].owner = THIS_MODULE;
	sdp_family_prot[0].init = sdp_family_birth;
	sdp_family_prot[1].init = sdp_family_birth;
	err = sdp_family_register(&sdp_family_pf4, family);
	if (err) {
		pr_err("family %d is taken (%d); try family=0\n",
		       family, err);
		return err;
	}
	err = sdp_family_register(&sdp_family_pf6, family6);
	if (err) {
		pr_err("family6 %d is taken (%d)\n", family6, err);
		goto fail_family4;
	}
	inet_register_protosw(&sdp_family_sw4);
	err = inet6_register_protosw(&sdp_family_sw6);
	if (err)
		goto fail_sw4;
	return 0;

fail_sw4:
	inet_unregister_protosw(&sdp_family_sw4);
	if (family6)
		sock_unregister(family6);
fail_family4:
	if (family)
		sock_unregister(family);
	return err;
}

/**
 * sdp_family_exit() - undo sdp_family_init(); no socket of ours is left
 *
 * Context: process.
 */
void sdp_family_exit(void)
{
	inet6_unregister_protosw(&sdp_family_sw6);
	inet_unregister_protosw(&sdp_family_sw4);
	if (family6)
		sock_unregister(family6);
	if (family)
		sock_unregister(family);
}
