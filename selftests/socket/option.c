// SPDX-License-Identifier: GPL-2.0
/* Options: kept, returned, inherited, refused. */
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "lib/variant.h"

struct option {
	const char *name;
	int level, option, value;
};

static const struct option kept[] = {
	{ "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1 },
	{ "SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1 },
	{ "SO_REUSEPORT", SOL_SOCKET, SO_REUSEPORT, 1 },
	{ "SO_OOBINLINE", SOL_SOCKET, SO_OOBINLINE, 1 },
	{ "SO_PRIORITY", SOL_SOCKET, SO_PRIORITY, 3 },
	{ "SO_MARK", SOL_SOCKET, SO_MARK, 77 },
	{ "SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, 3 },
	{ "TCP_NODELAY", SOL_TCP, TCP_NODELAY, 1 },
	{ "TCP_CORK", SOL_TCP, TCP_CORK, 1 },
	{ "TCP_KEEPIDLE", SOL_TCP, TCP_KEEPIDLE, 100 },
	{ "TCP_KEEPINTVL", SOL_TCP, TCP_KEEPINTVL, 33 },
	{ "TCP_KEEPCNT", SOL_TCP, TCP_KEEPCNT, 5 },
	{ "TCP_USER_TIMEOUT", SOL_TCP, TCP_USER_TIMEOUT, 40000 },
	{ "TCP_SYNCNT", SOL_TCP, TCP_SYNCNT, 4 },
	{ "TCP_LINGER2", SOL_TCP, TCP_LINGER2, 20 },
};

static void set_and_get(int fd)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		const struct option *o = &kept[i];
		int got;

		if (set_int(fd, o->level, o->option, o->value))
			FAIL("set %s: %s", o->name, ktap_errno(errno));
		got = get_int(fd, o->level, o->option);
		if (got != o->value)
			FAIL("%s: set %d, got %d", o->name, o->value, got);
	}
}

CASE(options_fresh)
{
	set_and_get(sock());
}

CASE(options_connected)
{
	struct pair p;

	pair_open(&p);
	set_and_get(p.c);
	set_and_get(p.s);
	OK(set_int(p.c, SOL_SOCKET, SO_RCVLOWAT, 1));
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 1));
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 0));
	OK(set_int(p.s, SOL_TCP, TCP_CORK, 0));
	send_text(p.c, "there");
	recv_text(p.s, "there");
	send_text(p.s, "and back");
	recv_text(p.c, "and back");
}

/* What was set before connect() is the same after it. */
CASE(options_survive_connect)
{
	struct pair p;
	unsigned int i;

	pair_start(&p);
	set_and_get(p.c);
	pair_finish(&p);
	for (i = 0; i < ARRAY_SIZE(kept); i++) {
		int got = get_int(p.c, kept[i].level, kept[i].option);

		if (got != kept[i].value)
			FAIL("%s: set %d before connect, got %d after it",
			     kept[i].name, kept[i].value, got);
	}
}

/* An accepted socket has what its listener had; SO_PRIORITY alone is reset. */
CASE(options_inherited)
{
	static const struct option inherited[] = {
		{ "SO_KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ "SO_REUSEADDR", SOL_SOCKET, SO_REUSEADDR, 1 },
		{ "SO_OOBINLINE", SOL_SOCKET, SO_OOBINLINE, 1 },
		{ "SO_RCVLOWAT", SOL_SOCKET, SO_RCVLOWAT, 3 },
		{ "TCP_NODELAY", SOL_TCP, TCP_NODELAY, 1 },
		{ "TCP_KEEPIDLE", SOL_TCP, TCP_KEEPIDLE, 100 },
		{ "TCP_KEEPINTVL", SOL_TCP, TCP_KEEPINTVL, 33 },
		{ "TCP_KEEPCNT", SOL_TCP, TCP_KEEPCNT, 5 },
		{ "TCP_USER_TIMEOUT", SOL_TCP, TCP_USER_TIMEOUT, 40000 },
		{ "TCP_LINGER2", SOL_TCP, TCP_LINGER2, 20 },
		{ "SO_REUSEPORT", SOL_SOCKET, SO_REUSEPORT, 1 },
		{ "SO_BUSY_POLL", SOL_SOCKET, SO_BUSY_POLL, 17 },
		{ "SO_ZEROCOPY", SOL_SOCKET, SO_ZEROCOPY, 1 },
		{ "TCP_CORK", SOL_TCP, TCP_CORK, 1 },
		{ "TCP_SYNCNT", SOL_TCP, TCP_SYNCNT, 4 },
		{ "TCP_INQ", SOL_TCP, TCP_INQ, 1 },
		{ "IP_TTL", SOL_IP, IP_TTL, 33 },
		{ "IP_TOS", SOL_IP, IP_TOS, 0x10 },
	};
	struct linger linger = { .l_onoff = 1, .l_linger = 7 };
	socklen_t len = sizeof(linger);
	struct timeval tv;
	struct pair p;
	unsigned int i;
	int rcv, snd;

	pair_start(&p);
	for (i = 0; i < ARRAY_SIZE(inherited); i++)
		OK(set_int(p.l, inherited[i].level, inherited[i].option,
			   inherited[i].value));
	OK(setsockopt(p.l, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	OK(set_int(p.l, SOL_SOCKET, SO_RCVBUF, 70000));
	OK(set_int(p.l, SOL_SOCKET, SO_SNDBUF, 80000));
	OK(set_ms(p.l, SO_RCVTIMEO, 7000));
	OK(set_ms(p.l, SO_SNDTIMEO, 8000));
	rcv = get_int(p.l, SOL_SOCKET, SO_RCVBUF);
	snd = get_int(p.l, SOL_SOCKET, SO_SNDBUF);
	pair_finish(&p);
	for (i = 0; i < ARRAY_SIZE(inherited); i++) {
		int got = get_int(p.s, inherited[i].level, inherited[i].option);

		if (got != inherited[i].value)
			FAIL("%s: %d on the listener, %d on the accepted socket",
			     inherited[i].name, inherited[i].value, got);
	}
	/* IP_TOS has given the listener one. */
	CHECK(get_int(p.l, SOL_SOCKET, SO_PRIORITY) > 0);
	EQ(0, get_int(p.s, SOL_SOCKET, SO_PRIORITY));
	memset(&linger, 0, sizeof(linger));
	OK(getsockopt(p.s, SOL_SOCKET, SO_LINGER, &linger, &len));
	EQ(1, linger.l_onoff);
	EQ(7, linger.l_linger);
	EQ(rcv, get_int(p.s, SOL_SOCKET, SO_RCVBUF));
	EQ(snd, get_int(p.s, SOL_SOCKET, SO_SNDBUF));
	len = sizeof(tv);
	OK(getsockopt(p.s, SOL_SOCKET, SO_RCVTIMEO, &tv, &len));
	EQ(7, tv.tv_sec);
	OK(getsockopt(p.s, SOL_SOCKET, SO_SNDTIMEO, &tv, &len));
	EQ(8, tv.tv_sec);
}

CASE(options_tos)
{
	bool v4 = variant->family == AF_INET;
	int level = v4 ? SOL_IP : SOL_IPV6, tos = v4 ? IP_TOS : IPV6_TCLASS;
	int ttl = v4 ? IP_TTL : IPV6_UNICAST_HOPS;
	struct pair p;

	pair_start(&p);
	OK(set_int(p.c, level, tos, 0x20));
	OK(set_int(p.c, level, ttl, 33));
	pair_finish(&p);
	EQ(0x20, get_int(p.c, level, tos));
	EQ(33, get_int(p.c, level, ttl));
	OK(set_int(p.s, level, tos, 0x40));
	EQ(0x40, get_int(p.s, level, tos));
}

/* The kernel doubles what it is given, and has a least value. */
CASE(buffer_sizes)
{
	struct pair p;
	int fd = sock();

	OK(set_int(fd, SOL_SOCKET, SO_RCVBUF, 50000));
	OK(set_int(fd, SOL_SOCKET, SO_SNDBUF, 60000));
	EQ(100000, get_int(fd, SOL_SOCKET, SO_RCVBUF));
	EQ(120000, get_int(fd, SOL_SOCKET, SO_SNDBUF));
	OK(set_int(fd, SOL_SOCKET, SO_RCVBUF, 1));
	OK(set_int(fd, SOL_SOCKET, SO_SNDBUF, 1));
	IN_RANGE(1024, 8192, get_int(fd, SOL_SOCKET, SO_RCVBUF));
	IN_RANGE(1024, 8192, get_int(fd, SOL_SOCKET, SO_SNDBUF));

	pair_open(&p);
	OK(set_int(p.c, SOL_SOCKET, SO_RCVBUF, 50000));
	OK(set_int(p.c, SOL_SOCKET, SO_SNDBUF, 60000));
	EQ(100000, get_int(p.c, SOL_SOCKET, SO_RCVBUF));
	EQ(120000, get_int(p.c, SOL_SOCKET, SO_SNDBUF));
}

/* Data passes whole through the smallest buffers. */
CASE(smallest_buffers)
{
	struct task t = { .run = task_send_all, .len = 200000 };
	struct pair p;

	pair_start(&p);
	OK(set_bufs(p.c, 1));
	OK(set_bufs(p.l, 1));
	pair_finish(&p);
	t.fd = p.c;
	task_start(&t);
	recv_pattern(p.s, t.len, 1, 0);
	task_join(&t);
	t.fd = p.s;
	task_start(&t);
	recv_pattern(p.c, t.len, 1, 0);
	task_join(&t);
}

CASE(buffer_size_bounds_queue)
{
	long long small, large;
	struct pair p;

	pair_open_bufs(&p, 16384, 16384);
	small = fill(p.c, 1);
	close(p.c);
	close(p.s);
	close(p.l);
	pair_open_bufs(&p, 1 << 20, 16384);
	large = fill(p.c, 1);
	if (large <= small)
		FAIL("%lld bytes queued with a small SO_SNDBUF, %lld with a large one",
		     small, large);
}

static int unsent(int fd)
{
	int n;

	return ioctl(fd, SIOCOUTQNSD, &n) ? -1 : n;
}

/* TCP_NOTSENT_LOWAT: what is taken of a writer before all of it was sent. */
CASE(notsent_lowat)
{
	enum { LOWAT = 16384, PIECE = 65536 };
	struct task t = { .run = task_poll, .events = POLLOUT };
	long long sum, more;
	struct pair p;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_NOTSENT_LOWAT, LOWAT));
	sum = fill(p.c, 5);
	IN_RANGE(LOWAT, LOWAT + PIECE, unsent(p.c));
	EQ_HEX(0, poll_one(p.c, POLLOUT, 0));
	/* Who waits is told when there is to be more. */
	task_blocks(&t, p.c);
	OK(set_int(p.c, SOL_TCP, TCP_NOTSENT_LOWAT, 1 << 30));
	EQ_HEX(POLLOUT, task_join(&t));
	more = fill(p.c, 6);
	CHECK(unsent(p.c) > LOWAT + PIECE);
	OK(set_int(p.c, SOL_TCP, TCP_NOTSENT_LOWAT, LOWAT));
	EQ_HEX(0, poll_one(p.c, POLLOUT, 0));
	task_blocks(&t, p.c);
	recv_pattern(p.s, sum, 5, 0);
	recv_pattern(p.s, more, 6, 0);
	EQ_HEX(POLLOUT, task_join(&t));
	IN_RANGE(0, LOWAT / 2, unsent(p.c));
}

/* So does who sleeps in send(). */
CASE(notsent_lowat_blocks)
{
	struct task t = { .run = task_send, .len = 1000 };
	struct pair p;
	long long sum;

	t.buf = calloc(1, t.len);
	pair_start(&p);
	OK(set_int(p.c, SOL_TCP, TCP_NOTSENT_LOWAT, 1));
	pair_finish(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	task_blocks(&t, p.c);
	recv_pattern(p.s, sum, 5, 0);
	EQ(t.len, task_join(&t));
}

CASE(options_wrong)
{
	int fd = sock(), one = 1;
	socklen_t len = 2;

	FAILS(ENOPROTOOPT, setsockopt(fd, SOL_SOCKET, 9999, &one, sizeof(one)));
	FAILS(ENOPROTOOPT, setsockopt(fd, SOL_TCP, 9999, &one, sizeof(one)));
	FAILS(ENOPROTOOPT, getsockopt(fd, SOL_TCP, 9999, &one, &len));
	FAILS(EINVAL, setsockopt(fd, SOL_TCP, TCP_NODELAY, &one, 2));
	FAILS(EINVAL, setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, 2));
	FAILS(EFAULT, setsockopt(fd, SOL_TCP, TCP_NODELAY, (void *)8, 4));
	FAILS(EINVAL, set_int(fd, SOL_TCP, TCP_KEEPIDLE, 0));
	FAILS(ENOPROTOOPT, setsockopt(fd, 4711, 1, &one, sizeof(one)));
}

CASE(options_get_short)
{
	socklen_t len = 1;
	int fd = sock();
	char c = 9;

	OK(set_int(fd, SOL_TCP, TCP_NODELAY, 1));
	OK(getsockopt(fd, SOL_TCP, TCP_NODELAY, &c, &len));
	EQ(1, len);
	EQ(1, c);
}

CASE(so_linger)
{
	struct linger linger = { .l_onoff = 1, .l_linger = 5 };
	socklen_t len = sizeof(linger);
	int fd = sock();

	OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	memset(&linger, 0, sizeof(linger));
	OK(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &len));
	EQ(1, linger.l_onoff);
	EQ(5, linger.l_linger);
}

CASE(so_timeouts)
{
	static const int options[] = { SO_RCVTIMEO, SO_SNDTIMEO };
	socklen_t len;
	struct timeval tv;
	struct pair p;
	unsigned int i, end;

	pair_open(&p);
	for (i = 0; i < 2; i++) {
		for (end = 0; end < 2; end++) {
			int fd = end ? p.s : p.c;

			len = sizeof(tv);
			OK(getsockopt(fd, SOL_SOCKET, options[i], &tv, &len));
			EQ(0, tv.tv_sec);
			EQ(0, tv.tv_usec);
			OK(set_ms(fd, options[i], 2500));
			OK(getsockopt(fd, SOL_SOCKET, options[i], &tv, &len));
			EQ(2, tv.tv_sec);
			IN_RANGE(490000, 510000, tv.tv_usec);
			tv.tv_usec = 1000000;
			FAILS(EDOM, setsockopt(fd, SOL_SOCKET, options[i], &tv, sizeof(tv)));
		}
	}
}

/* The states that tools and servers look at. */
CASE(tcp_info_state)
{
	enum { ESTABLISHED = 1, CLOSED = 7, LISTEN = 10 };
	struct pair p;

	pair_start(&p);
	EQ(CLOSED, tcp_state(p.c));
	EQ(LISTEN, tcp_state(p.l));
	pair_finish(&p);
	EQ(ESTABLISHED, tcp_state(p.c));
	EQ(ESTABLISHED, tcp_state(p.s));
}

CASE(tcp_info_state_closing)
{
	struct pair p;

	pair_open(&p);
	pair_shut(&p);
}

CASE(tcp_maxseg)
{
	struct pair p;

	pair_open(&p);
	IN_RANGE(88, 1 << 30, get_int(p.c, SOL_TCP, TCP_MAXSEG));
}

CASE(tcp_ulp)
{
	char name[16] = "";
	socklen_t len = sizeof(name);
	struct pair p;

	pair_open(&p);
	OK(getsockopt(p.c, SOL_TCP, TCP_ULP, name, &len));
	if (!on_ours()) {
		EQ(0, len);
		FAILS(ENOENT, setsockopt(p.c, SOL_TCP, TCP_ULP, "none", 4));
		return;
	}
	if (strcmp(name, SDP_ULP_NAME))
		FAIL("TCP_ULP: expected %s, got %s", SDP_ULP_NAME, name);
	FAILS(EEXIST, setsockopt(p.c, SOL_TCP, TCP_ULP, "sdp", 3));
	FAILS(EEXIST, setsockopt(p.s, SOL_TCP, TCP_ULP, "sdp", 3));
	FAILS(EEXIST, setsockopt(p.l, SOL_TCP, TCP_ULP, "sdp", 3));
	if (on_join())
		return;	/* leave_for_ktls */
	/* a kernel without TLS does not get as far as the slot */
	EQ(-1, setsockopt(p.c, SOL_TCP, TCP_ULP, "tls", 3));
	CHECK(errno == EEXIST || errno == ENOENT);
}

/*
 * IPV6_ADDRFORM: by IPv4 TCP's socket becomes one of IPv4, which one that SDP carries
 * cannot; it goes on as it was.
 */
CASE_ON(addrform, ON_V6)
{
	int fd = sock(), other = sock(), l, s;
	union addr v4, v6;
	struct pair p;

	FAILS(ENOTCONN, set_int(fd, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
	pair_open(&p);
	EQ(AF_INET6, get_int(p.c, SOL_IPV6, IPV6_ADDRFORM));
	FAILS(EADDRNOTAVAIL, set_int(p.c, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
	FAILS(EADDRNOTAVAIL, set_int(p.s, SOL_IPV6, IPV6_ADDRFORM, AF_INET));

	l = any_listener(&v6, AF_INET6, 0);
	addr_set(&v4, AF_INET6, "::ffff:0.0.0.0", addr_port(&v6));
	addr_set(&v6, AF_INET, host_addr(AF_INET, NULL), 0);
	memcpy(&v4.in6.sin6_addr.s6_addr[12], &v6.in.sin_addr, 4);
	OK(connect_to(other, &v4));
	must_be_sdp(other);
	s = accept_one(l);
	EQ(AF_INET6, get_int(other, SOL_IPV6, IPV6_ADDRFORM));
	if (on_sdp()) {
		FAILS(EOPNOTSUPP, set_int(other, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
		FAILS(EOPNOTSUPP, set_int(s, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
	} else {
		OK(set_int(other, SOL_IPV6, IPV6_ADDRFORM, AF_INET));
		EQ(AF_INET, get_int(other, SOL_SOCKET, SO_DOMAIN));
		EQ(AF_INET6, get_int(s, SOL_SOCKET, SO_DOMAIN));
	}
	send_text(other, "by IPv4");
	recv_text(s, "by IPv4");
}
