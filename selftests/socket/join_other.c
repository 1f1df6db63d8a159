// SPDX-License-Identifier: GPL-2.0
/*
 * Who is not joined (net.sdp.local): a socket that looks like the other end and is not
 * it, by NAT, by another network namespace or VRF, by an address that was used again.
 * Each connection keeps its own bytes, whichever way they go, as with TCP.
 */
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/filter.h>

#include "lib/destroy.h"
#include "lib/netns.h"
#include "lib/variant.h"

enum { MUCH = 300000 };

/* The two are a connection: its bytes come at the other end, both ways. */
static int connected_(int c, int s, __u64 key)
{
	struct task t = { .run = task_send_all, .len = MUCH };
	int i, fd[2] = { c, s };

	for (i = 0; i < 2; i++) {
		t.fd = fd[i];
		t.done = false;
		task_start(&t);
		recv_pattern(fd[!i], MUCH, 1, 0);
		EQ(MUCH, task_join(&t));
		/* What nobody else sends. */
		send_pattern(fd[i], 1000, key + i, MUCH);
		recv_pattern(fd[!i], 1000, key + i, MUCH);
	}
	return 0;
}

#define connected(...)	CALL(connected_(__VA_ARGS__))

static unsigned long long joins(void)
{
	return on_ours() ? counter("local_joins") : 0;
}

/* Since @before that many were joined. */
#define joined_since(before, n)	EQ((before) + (on_join() ? (n) : 0), joins())

/* A socket of the variant that is bound there, and reuses what it finds. */
static int bound_to(int fd, const union addr *a)
{
	OK(set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(fd, a));
	return fd;
}

static int listener_at(int fd, const union addr *a)
{
	OK(listen(bound_to(fd, a), 8));
	return fd;
}

/* As nft writes it: "ip to 10.0.0.1:80". */
static const char *nat_to(const union addr *a)
{
	static char text[2][128];
	static int n;
	bool v6 = variant->family == AF_INET6;

	n = !n;
	snprintf(text[n], sizeof(text[n]), v6 ? "ip6 to [%s]:%d" : "ip to %s:%d",
		 host_addr(variant->family, NULL), addr_port(a));
	return text[n];
}

/* ----------------------------------------------------------------------- NAT */

/*
 * The look-up finds a socket of ours that is waiting to be joined, and it is not the
 * peer: by NAT that socket is connected to somebody else, and somebody else has
 * its address.  The sequence numbers tell.
 */
CASE_ON(join_not_crosswise, ON_TCP | ON_JOIN)
{
	unsigned long long before;
	union addr a, b, from, other, seen;
	int l, l2, c, c2, s, s2;

	netns_new();
	l = listener(&a, 8);
	l2 = tcp_listener(&b);
	c = sock();
	bind_here(c, &from);
	c2 = sock();
	bind_here(c2, &other);
	rules("chain o { type nat hook output priority -100; "
	      "tcp sport %d tcp dport %d dnat %s; }; "
	      "chain p { type nat hook postrouting priority 100; "
	      "tcp sport %d tcp dport %d snat %s; }",
	      addr_port(&from), addr_port(&a), nat_to(&b),
	      addr_port(&other), addr_port(&a), nat_to(&from));
	before = joins();
	OK(connect_to(c, &a));
	s = accept_any(l2);
	OK(connect_to(c2, &a));
	s2 = accept_any(l);
	OK(peer_of(s2, &seen));
	CHECK(addr_equal(&seen, &from));
	if (on_ours())
		EQ(-1, transport(s2));
	connected(c2, s2, 10);
	connected(c, s, 20);
	joined_since(before, 0);
}

/* Connects to @to by the rules, and @l accepts it. */
static void by_nat(const union addr *to, int l, bool same)
{
	unsigned long long before = joins();
	int c = sock(), s;

	OK(connect_to(c, to));
	s = accept_any(l);
	if (on_ours())
		EQ(same ? SDP_TRANSPORT_LOCAL : -1, transport(s));
	connected(c, s, 10);
	joined_since(before, same);
	close(c);
	expect_eof(s);
	close(s);
}

/*
 * REDIRECT, which is to 127.0.0.1 or ::1, DNAT and SNAT: TCP, unless the names are the same
 * at both ends.
 */
CASE_ON(join_nat, ON_TCP | ON_JOIN)
{
	union addr a, closed, from, ours, same;
	int l, l2;

	netns_new();
	l = any_listener(&a, variant->family, 1);
	closed_port(&closed);
	closed_port(&from);
	l2 = listener(&ours, 8);
	listener(&same, 8);
	rules("chain o { type nat hook output priority -100; "
	      "tcp dport %d redirect to :%d; "
	      "tcp dport %d dnat %s; "
	      "tcp dport %d redirect to :%d; }; "
	      "chain p { type nat hook postrouting priority 100; "
	      "tcp dport %d snat %s; }",
	      addr_port(&closed), addr_port(&a),
	      addr_port(&same), nat_to(&a),
	      addr_port(&a), addr_port(&a),
	      addr_port(&ours), nat_to(&from));
	by_nat(&closed, l, false);
	/* A socket of ours listens there too. */
	by_nat(&same, l, false);
	by_nat(&ours, l2, false);
	addr_set(&a, variant->family,
		 variant->family == AF_INET ? "127.0.0.1" : "::1", addr_port(&a));
	by_nat(&a, l, true);
}

/* ------------------------------------------------------- namespaces and VRFs */

/*
 * Four sockets with the same two names, in two places: a client of ours that is waiting to
 * be joined in one, and in the other a plain one.
 */
struct twins {
	union addr a, from;
	int l, c;
};

/* @device: that all of the place are bound to, or NULL. */
static void twin_open(struct twins *t, const char *device)
{
	int fd[2], i;

	t->l = sock();
	t->c = sock();
	fd[0] = t->l;
	fd[1] = t->c;
	for (i = 0; device && i < 2; i++)
		OK(setsockopt(fd[i], SOL_SOCKET, SO_BINDTODEVICE, device,
			      strlen(device)));
	here(&t->a, 0);
	listener_at(t->l, &t->a);
	OK(name_of(t->l, &t->a));
	bind_here(t->c, &t->from);
	OK(connect_to(t->c, &t->a));
}

/* The other place: nobody is joined there. */
static void twin_is_alone(const struct twins *t, const char *device)
{
	unsigned long long before = joins();
	int fd[2] = { sock(), tcp_sock() }, i, s;

	for (i = 0; device && i < 2; i++)
		OK(setsockopt(fd[i], SOL_SOCKET, SO_BINDTODEVICE, device,
			      strlen(device)));
	listener_at(fd[0], &t->a);
	OK(connect_to(bound_to(fd[1], &t->from), &t->a));
	s = accept_any(fd[0]);
	if (on_ours())
		EQ(-1, transport(s));
	connected(fd[1], s, 10);
	joined_since(before, 0);
}

static void twin_is_joined(const struct twins *t)
{
	unsigned long long before = joins();
	int s = accept_one(t->l);

	joined_since(before, 1);
	connected(t->c, s, 20);
}

CASE_ON(join_in_one_namespace, ON_TCP | ON_JOIN)
{
	struct twins t;
	int was, new;

	twin_open(&t, NULL);
	was = netns_new();
	new = netns_here();
	twin_is_alone(&t, NULL);
	netns_enter(was);
	twin_is_joined(&t);
	/* And the other way round. */
	netns_enter(new);
	twin_open(&t, NULL);
	netns_enter(was);
	twin_is_alone(&t, NULL);
	netns_enter(new);
	twin_is_joined(&t);
}

static void add_vrf(const char *name, int table)
{
	static bool table_moved;
	char line[128];

	snprintf(line, sizeof(line), "ip link add %s type vrf table %d 2>/dev/null",
		 name, table);
	if (system(line))
		ktap_skip("this kernel has no VRF");
	shell("ip link set %s up", name);
	/* Its table is asked before that of this host's addresses. */
	if (!table_moved) {
		shell("ip rule add pref 32765 table local; ip rule del pref 0");
		shell("ip -6 rule add pref 32765 table local; ip -6 rule del pref 0");
		table_moved = true;
	}
}

static void add_vrf_addr(const char *name, const char *v4, const char *v6)
{
	shell("ip addr add %s/32 dev %s", v4, name);
	shell("ip addr add %s/128 dev %s nodad", v6, name);
}

CASE_ON(join_in_one_vrf, ON_TCP | ON_JOIN)
{
	struct twins t;

	netns_new();
	add_vrf("red", 10);
	add_vrf("blue", 11);
	add_vrf_addr("red", host_addr(AF_INET, NULL), host_addr(AF_INET6, NULL));
	add_vrf_addr("blue", host_addr(AF_INET, NULL), host_addr(AF_INET6, NULL));
	twin_open(&t, "red");
	twin_is_alone(&t, "blue");
	twin_is_alone(&t, NULL);
	twin_is_joined(&t);
	twin_open(&t, NULL);
	twin_is_alone(&t, "red");
	twin_is_joined(&t);
}

/* An address that the VRF alone has, and a listener of all VRFs. */
CASE_ON(join_in_vrf_alone, ON_TCP | ON_JOIN)
{
	bool v4 = variant->family == AF_INET;
	unsigned long long before;
	int l, c, s, all;
	union addr a;

	netns_new();
	add_vrf("red", 10);
	add_vrf_addr("red", "192.0.2.7", "fd77::7");
	before = joins();
	for (all = 0; all < 2; all++) {
		l = sock();
		c = sock();
		OK(setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "red", 3));
		if (!all)
			OK(setsockopt(l, SOL_SOCKET, SO_BINDTODEVICE, "red", 3));
		else
			net_sysctl("ipv4/tcp_l3mdev_accept", 1);
		addr_any(&a, variant->family, 0);
		OK(listen(bound_to(l, &a), 8));
		OK(name_of(l, &a));
		addr_set(&a, variant->family, v4 ? "192.0.2.7" : "fd77::7",
			 addr_port(&a));
		OK(connect_to(c, &a));
		s = accept_one(l);
		connected(c, s, 10);
		joined_since(before, 1 + all);
		close(l);
	}
}

/* --------------------------------------------------------------------- again */

/*
 * A client is gone without that its server knows, and another one has its address; it is
 * not connected as long as the server has the old connection.
 */
CASE_ON(join_address_again, ON_TCP | ON_JOIN)
{
	unsigned long long before;
	union addr a, from;
	int l, c, c2, s;

	netns_new();
	l = listener(&a, 8);
	c = sock();
	bind_here(c, &from);
	before = joins();
	OK(connect_to(c, &a));
	await(l, POLLIN);
	rules("chain o { type filter hook output priority 0; tcp flags & rst == rst drop; }");
	if (destroy_connection(c)) {
		EQ(EOPNOTSUPP, errno);
		ktap_skip("this kernel ends no sockets");
	}
	close(c);
	c2 = sock_flags(SOCK_NONBLOCK);
	bound_to(c2, &from);
	FAILS(EINPROGRESS, connect_to(c2, &a));
	s = accept_any(l);
	if (on_ours())
		EQ(-1, transport(s));
	joined_since(before, 0);
	shell("nft delete table inet sdp");
	/* Its SYN, sent again, finds out what the old connection is. */
	expect_reset(s);
	EQ_HEX(POLLOUT, await(c2, POLLOUT));
	nonblock(c2, false);
	s = accept_one(l);
	connected(c2, s, 10);
	joined_since(before, 1);
}

/* ------------------------------------------------------------------ reuseport */

/* All go to the listener of the group that has this number. */
static void group_chooses(int l, int n)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, n) };
	struct sock_fprog prog = { .len = ARRAY_SIZE(code), .filter = code };

	OK(setsockopt(l, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &prog, sizeof(prog)));
}

/*
 * A client asks beforehand whether the listener is of ours, and that is a guess where
 * several share a port: whoever it is, it works.  @wrong: what was guessed wrongly so far.
 */
static void to_group(const int l[2], const union addr *a, int chosen, bool wrong[2])
{
	unsigned long long before = joins();
	int c = sock(), s, i;
	bool guess, ours;

	OK(connect_to(c, a));
	for (i = 0; !poll_one(l[i], POLLIN, 1); i = !i)
		;
	if (chosen >= 0)
		EQ(chosen, i);
	ours = on_ours() && !i;		/* the first is */
	guess = on_ours() && transport(c) >= 0;
	if (guess != ours)
		wrong[guess] = true;
	s = OK(accept(l[i], NULL, NULL));
	if (on_ours())
		EQ(guess && ours ? SDP_TRANSPORT_LOCAL : -1, transport(s));
	connected(c, s, 10);
	joined_since(before, guess && ours);
	close(c);
	expect_eof(s);
	close(s);
}

CASE_LIMIT(join_reuseport, ON_TCP | ON_JOIN, 60)
{
	bool wrong[2] = { };
	int l[2], i, n;
	union addr a;

	/* It is the same for all clients of a port. */
	for (n = 0; n < 3 || (on_join() && !(wrong[0] && wrong[1])); n++) {
		l[0] = sock();
		l[1] = tcp_sock();
		for (i = 0; i < 2; i++)
			OK(set_int(l[i], SOL_SOCKET, SO_REUSEPORT, 1));
		here(&a, 0);
		OK(bind_to(l[0], &a));
		OK(name_of(l[0], &a));
		OK(bind_to(l[1], &a));
		OK(listen(l[0], 8));
		OK(listen(l[1], 8));
		for (i = 0; i < 8; i++)
			to_group(l, &a, -1, wrong);
		/* A program that chooses is not asked by who guesses. */
		for (i = 0; i < 2; i++) {
			group_chooses(l[0], i);
			to_group(l, &a, i, wrong);
		}
		close(l[0]);
		close(l[1]);
	}
}

/* --------------------------------------------------------------------- scopes */

/* @from, @to: devices that the client and the listener are bound to, or NULL. */
static void joined_at(union addr *a, const char *from, const char *to)
{
	unsigned long long before = joins();
	int l = sock(), c = sock(), s;
	union addr name;

	if (to)
		OK(setsockopt(l, SOL_SOCKET, SO_BINDTODEVICE, to, strlen(to)));
	if (from)
		OK(setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, from, strlen(from)));
	addr_set_port(a, 0);
	OK(listen(bound_to(l, a), 8));
	OK(name_of(l, &name));
	addr_set_port(a, addr_port(&name));
	OK(connect_to(c, a));
	s = accept_one(l);
	joined_since(before, 1);
	connected(c, s, 10);
	close(l);
	close(c);
	close(s);
}

/* A device is named by SO_BINDTODEVICE. */
CASE_ON(join_bound_to_lo, ON_TCP | ON_JOIN)
{
	union addr a;

	addr_set(&a, variant->family,
		 variant->family == AF_INET ? "127.0.0.1" : "::1", 0);
	joined_at(&a, "lo", NULL);
	joined_at(&a, NULL, "lo");
	joined_at(&a, "lo", "lo");
}

/* Or by the scope of a link-local address. */
CASE_ON(join_link_local, BIT(TCP_V6) | BIT(JOIN_V6))
{
	static const char *const device[] = { "lo", "dummy0" };
	union addr a;
	char text[32];
	int i;

	netns_new();
	shell("ip link add dummy0 type dummy");
	shell("ip link set dummy0 up");
	for (i = 0; i < 2; i++) {
		snprintf(text, sizeof(text), "fe80::7%d", i);
		shell("ip addr add %s/64 dev %s nodad", text, device[i]);
		addr_set(&a, AF_INET6, text, 0);
		a.in6.sin6_scope_id = if_nametoindex(device[i]);
		joined_at(&a, NULL, NULL);
		joined_at(&a, device[i], NULL);
	}
}
