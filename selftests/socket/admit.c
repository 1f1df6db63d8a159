// SPDX-License-Identifier: GPL-2.0
/*
 * Who may connect, and to what: addresses that security modules would not
 * understand, sockets that only TCP can serve, and limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/wait.h>

#include "lib/variant.h"

/* No rule of Landlock speaks of family 27, so it must lead nowhere. */
CASE_ON(family_27_elsewhere, ON_TCP | BIT(PROTO_V4) | BIT(PROTO_V6) | ON_ULP)
{
	union addr a, b;
	int fd = sock();

	listener(&a, 4);
	here(&b, 0);
	a.sa.sa_family = AF_INET_SDP;
	b.sa.sa_family = AF_INET_SDP;
	FAILS(EAFNOSUPPORT, connect(fd, &a.sa, sizeof(a.in6)));
	FAILS(EAFNOSUPPORT, bind(fd, &b.sa, sizeof(b.in6)));
	a.sa.sa_family = variant->family;
	OK(connect_to(fd, &a));
	must_be_sdp(fd);
}

static void family_addr(const char *value)
{
	int fd = OK(open("/sys/module/af_sdp/parameters/family_addr",
			 O_WRONLY));

	EQ(1, write(fd, value, 1));
	close(fd);
}

CASE_ON(family_27_refused, BIT(FAMILY_V4))
{
	int fd = sock(), bound, why;
	union addr a;

	here(&a, 0);
	a.sa.sa_family = AF_INET_SDP;
	family_addr("0");
	bound = bind(fd, &a.sa, sizeof(a.in));
	why = errno;
	family_addr("1");
	EQ(-1, bound);
	EQ(EAFNOSUPPORT, why);
	OK(bind(fd, &a.sa, sizeof(a.in)));
}

/* -------------------------------------------------- what is learned, of whom */

/* Who cannot get there from where he is bound says nothing about the way. */
CASE_ON(bound_elsewhere_learns_nothing, ON_ULP)
{
	unsigned long long was;
	union addr a, from;
	int l, c, s;

	sysctl("cache_timeout", 600000);
	sysctl("connect_timeout", ktap_ms(10000));
	l = mixed_listener(&a);
	was = counter("fallback_no_device");
	c = sock();
	addr_set(&from, variant->family,
		 variant->family == AF_INET ? "127.0.0.1" : "::1", 0);
	OK(bind_to(c, &from));
	OK(connect_to(c, &a));
	EQ(was + 1, counter("fallback_no_device"));
	close(accept_any(l));
	close(c);
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(c);
	s = accept_any(l);
	send_text(c, "there");
	recv_text(s, "there");
}

/* ---------------------------------------------- what TCP is to do by itself */

enum { NO_COOKIE = 34 };		/* TCP_FASTOPEN_NO_COOKIE */

/* A listener that takes data in its SYNs, from anybody. */
static int fast_listener(union addr *a)
{
	int l = tcp_listener(a);

	OK(set_int(l, SOL_TCP, TCP_FASTOPEN, 8));
	OK(set_int(l, SOL_TCP, NO_COOKIE, 1));
	return l;
}

static int accept_tcp(int l)
{
	await(l, POLLIN);
	return OK(accept(l, NULL, NULL));
}

/* connect() is over at once; the SYN goes with the first bytes. */
CASE_ON(connect_fastopen, ON_TCP | ON_ULP)
{
	struct task connecting = { .run = task_connect };
	union addr a;
	int l, s, c;

	l = fast_listener(&a);
	c = sock();
	OK(set_int(c, SOL_TCP, TCP_FASTOPEN_CONNECT, 1));
	OK(set_int(c, SOL_TCP, NO_COOKIE, 1));
	connecting.fd = c;
	connecting.addr = &a;
	task_start(&connecting);
	EVENTUALLY(true, atomic_load(&connecting.done));
	EQ(0, task_join(&connecting));
	EQ(0, poll_one(l, POLLIN, 50));
	send_text(c, "there");
	s = accept_tcp(l);
	recv_text(s, "there");
	EQ(-1, transport(c));
}

CASE_ON(connect_repair, ON_TCP | ON_ULP)
{
	union addr a;
	int c = sock();

	tcp_listener(&a);
	OK(set_int(c, SOL_TCP, TCP_REPAIR, 1));
	OK(connect_to(c, &a));
}

/* sendto() with an address connects; of ours, by TCP or not at all. */
CASE(sendto_fastopen)
{
	static const char text[5] = "there";
	union addr a;
	int l = fast_listener(&a), c = sock(), s;

	OK(set_int(c, SOL_TCP, NO_COOKIE, 1));
	if (variant->via == VIA_FAMILY || variant->via == VIA_PROTO) {
		FAILS(EOPNOTSUPP, sendto(c, text, sizeof(text), MSG_FASTOPEN,
					 &a.sa, addr_len(&a)));
		return;
	}
	EQ(sizeof(text), sendto(c, text, sizeof(text), MSG_FASTOPEN, &a.sa,
				addr_len(&a)));
	s = accept_tcp(l);
	recv_text(s, "there");
	EQ(-1, transport(c));
	send_text(s, "back");
	recv_text(c, "back");
}

/* ------------------------------------------------------------- many TCP clients */

/* Who resets plain clients does not do so for ever, in one call. */
CASE_ON(accept_ends_while_resetting, ON_EXPLICIT)
{
	enum { CLIENTS = 70, AT_ONCE = 64 };
	unsigned long long was = counter("tcp_reset");
	int l, i;
	union addr a;

	l = listener(&a, 128);
	nonblock(l, true);
	for (i = 0; i < CLIENTS; i++)
		OK(connect_to(tcp_sock(), &a));
	FAILS(EAGAIN, accept(l, NULL, NULL));
	EQ(was + AT_ONCE, counter("tcp_reset"));
	/* A handshake's last packet may come after its connect() is over. */
	EVENTUALLY(was + CLIENTS, (accept(l, NULL, NULL), counter("tcp_reset")));
	FAILS(EAGAIN, accept(l, NULL, NULL));
	EQ(was + CLIENTS, counter("tcp_reset"));
}

/* ------------------------------------------------------- link-local addresses */

static void link_local(union addr *a)
{
	struct ifaddrs *all, *i;

	OK(getifaddrs(&all));
	for (i = all; i; i = i->ifa_next) {
		const union addr *it = (const union addr *)i->ifa_addr;

		if (!it || it->sa.sa_family != AF_INET6 ||
		    i->ifa_flags & IFF_LOOPBACK ||
		    !IN6_IS_ADDR_LINKLOCAL(&it->in6.sin6_addr))
			continue;
		a->in6 = it->in6;
		freeifaddrs(all);
		return;
	}
	FAIL("no link-local address");
}

/* Both ends know by which device, whoever of the two was told. */
CASE_ON(link_local_scope, ON_V6)
{
	union addr a, x;
	int l, c, s;

	l = any_listener(&x, AF_INET6, 1);
	link_local(&a);
	addr_set_port(&a, addr_port(&x));
	c = sock();
	OK(connect_to(c, &a));
	s = accept_one(l);
	must_be_sdp(c);
	OK(peer_of(c, &x));
	EQ(a.in6.sin6_scope_id, x.in6.sin6_scope_id);
	OK(name_of(c, &x));
	EQ(a.in6.sin6_scope_id, x.in6.sin6_scope_id);
	OK(peer_of(s, &x));
	EQ(a.in6.sin6_scope_id, x.in6.sin6_scope_id);
	OK(name_of(s, &x));
	EQ(a.in6.sin6_scope_id, x.in6.sin6_scope_id);
	EQ(a.in6.sin6_scope_id, get_int(s, SOL_SOCKET, SO_BINDTOIFINDEX));
}

CASE_ON(link_local_errors, ON_V6)
{
	union addr a;
	int c = sock();
	unsigned int scope;

	link_local(&a);
	addr_set_port(&a, 9);
	scope = a.in6.sin6_scope_id;
	a.in6.sin6_scope_id = 0;
	FAILS(EINVAL, connect_to(c, &a));
	a.in6.sin6_scope_id = scope;
	OK(set_int(c, SOL_SOCKET, SO_BINDTOIFINDEX, if_nametoindex("lo")));
	FAILS(EINVAL, connect_to(c, &a));
}

/* ------------------------------------------------------------------- namespaces */

/* Its owner may write what he likes: what is the machine's is bounded by the first. */
CASE_ON(limits_of_a_namespace, ON_EXPLICIT)
{
	union addr a;
	pid_t pid;

	addr_set(&a, variant->family,
		 variant->family == AF_INET ? "127.0.0.1" : "::1", 9);
	sysctl("max_conns", 0);
	pid = OK(fork());
	if (!pid) {
		OK(unshare(CLONE_NEWNET));
		FAILS(EUSERS, connect_to(sock(), &a));
		_exit(0);
	}
	CHILD_OK(pid);
}
