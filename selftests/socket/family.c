// SPDX-License-Identifier: GPL-2.0
/* The three ways to make a socket, falling back to TCP, and the options of SOL_SDP. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/variant.h"

#define ON_V4	(BIT(FAMILY_V4) | BIT(PROTO_V4) | BIT(ULP_V4))

/* TCP does not know the level: IPv4 says it so, IPv6 so. */
static void must_lack_info(int fd)
{
	EQ(-1, transport(fd));
	if (errno != (variant->family == AF_INET ? EOPNOTSUPP : ENOPROTOOPT))
		FAIL("SDP_INFO on TCP: %s", ktap_errno(errno));
}

static int is_tcp_now(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	must_lack_info(fd);
	OK(getsockopt(fd, SOL_TCP, TCP_ULP, name, &len));
	if (len && name[0])
		FAIL("TCP_ULP: expected none, got %s", name);
	EQ(1, tcp_state(fd));
	return 0;
}

#define must_be_tcp(fd) CALL(is_tcp_now(fd))

static int talk_(int c, int s)
{
	send_text(c, "there");
	recv_text(s, "there");
	send_pattern(s, 50000, 9, 0);
	recv_pattern(c, 50000, 9, 0);
	OK(shutdown(c, SHUT_WR));
	expect_eof(s);
	close(s);
	expect_eof(c);
	return 0;
}

#define talk(c, s) CALL(talk_(c, s))

/* ------------------------------------------------------------------- SDP_INFO */

CASE_ON(info_on_tcp, ON_TCP)
{
	struct pair p;
	int fd = sock();

	must_lack_info(fd);
	FAILS(ENOPROTOOPT, set_int(fd, SOL_SDP, SDP_FALLBACK, 1));
	pair_open(&p);
	must_lack_info(p.c);
}

CASE_ON(info_fresh, ON_SDP)
{
	struct sdp_info info;
	union addr a;
	int fd = sock();

	EQ(sizeof(info), sdp_info(fd, &info));
	EQ(SDP_TRANSPORT_NONE, info.sdpi_transport);
	EQ(SDP_REASON_NONE, info.sdpi_reason);
	EQ(0, info.sdpi_state);
	EQ(0, info.sdpi_qp_num);
	EQ(0, info.sdpi_device[0]);
	fd = listener(&a, 4);
	EQ(sizeof(info), sdp_info(fd, &info));
	EQ(SDP_TRANSPORT_NONE, info.sdpi_transport);
	EQ(SDP_DIAG_LISTEN, info.sdpi_state);
}

CASE_ON(info_sizes, ON_SDP)
{
	unsigned char buf[2 * sizeof(struct sdp_info)];
	socklen_t len;
	struct pair p;
	int n;

	pair_open(&p);
	for (n = 0; n < 8; n++) {
		len = n;
		FAILS(EINVAL, getsockopt(p.c, SOL_SDP, SDP_INFO, buf, &len));
	}
	for (n = 8; n <= (int)sizeof(struct sdp_info); n += 5) {
		memset(buf, 0xee, sizeof(buf));
		len = n;
		OK(getsockopt(p.c, SOL_SDP, SDP_INFO, buf, &len));
		EQ(n, len);
		EQ(SDP_TRANSPORT_IB, buf[0]);
		EQ(0xee, buf[n]);
	}
	memset(buf, 0xee, sizeof(buf));
	len = sizeof(buf);
	OK(getsockopt(p.c, SOL_SDP, SDP_INFO, buf, &len));
	EQ(sizeof(struct sdp_info), len);
	EQ(0xee, buf[len]);
	len = sizeof(struct sdp_info);
	FAILS(EFAULT, getsockopt(p.c, SOL_SDP, SDP_INFO, (void *)8, &len));
	FAILS(EFAULT, getsockopt(p.c, SOL_SDP, SDP_INFO, buf, (void *)8));
	len = -1;
	FAILS(EINVAL, getsockopt(p.c, SOL_SDP, SDP_INFO, buf, &len));
}

CASE_ON(info_connected, ON_SDP)
{
	struct sdp_info c, s;
	struct pair p;

	pair_open(&p);
	OK(sdp_info(p.c, &c));
	OK(sdp_info(p.s, &s));
	EQ(3, c.sdpi_state);		/* ESTABLISHED in SDP_STATES */
	EVENTUALLY(3, (sdp_info(p.s, &s), s.sdpi_state));
	EQ(SDP_REASON_NONE, c.sdpi_reason);
	CHECK(c.sdpi_qp_num && s.sdpi_qp_num && c.sdpi_qp_num != s.sdpi_qp_num);
	EQ(c.sdpi_qp_num, s.sdpi_peer_qp_num);
	EQ(s.sdpi_qp_num, c.sdpi_peer_qp_num);
	CHECK(c.sdpi_id && s.sdpi_id && c.sdpi_id != s.sdpi_id);
	EQ(c.sdpi_snd_size, s.sdpi_rcv_size);
	EQ(s.sdpi_snd_size, c.sdpi_rcv_size);
	IN_RANGE(48, 1 << 20, c.sdpi_snd_size);
	EQ(SDP_MODE_INFO_COMBINED, c.sdpi_mode_send);
	EQ(SDP_MODE_INFO_COMBINED, c.sdpi_mode_recv);
	IN_RANGE(1, 255, c.sdpi_port_num);
	IN_RANGE(1, 65535, c.sdpi_credits);
	IN_RANGE(1, 65535, c.sdpi_posted);
	CHECK(c.sdpi_device[0]);
	if (strnlen(c.sdpi_device, 16) == 16)
		FAIL("the device's name has no end");
	CHECK(c.sdpi_mem > 0 && c.sdpi_mem < 1 << 20);
}

CASE_ON(info_counts, ON_SDP)
{
	struct sdp_info c, s;
	struct pair p;

	pair_open(&p);
	send_pattern(p.c, 100000, 5, 0);
	recv_pattern(p.s, 90000, 5, 0);
	/* The last bytes may still wait for credits. */
	EVENTUALLY(100000, (sdp_info(p.c, &c), c.sdpi_bytes_sent));
	EQ(0, c.sdpi_bytes_received);
	EVENTUALLY(100000, (sdp_info(p.s, &s), s.sdpi_bytes_received));
	EQ(10000, s.sdpi_inq);
	EQ(0, s.sdpi_bytes_sent);
	CHECK(c.sdpi_msgs_sent > 0 && s.sdpi_msgs_received > 0);
	EVENTUALLY(0, (sdp_info(p.c, &c), c.sdpi_outq));
	send_pattern(p.s, 10, 5, 0);
	recv_pattern(p.c, 10, 5, 0);
	OK(sdp_info(p.c, &c));
	EQ(10, c.sdpi_bytes_received);
}

static int held_(int fd, unsigned int least, unsigned int most)
{
	struct sdp_info info;

	OK(sdp_info(fd, &info));
	if (info.sdpi_mem < least || info.sdpi_mem > most)
		FAIL("%llu bytes held, not %u to %u", info.sdpi_mem, least, most);
	return 0;
}

#define held(...)	CALL(held_(__VA_ARGS__))

/* Four small buffers, and as much for who has little to say; more, and larger
 * ones, when the peer uses them up.
 */
CASE_ON(info_memory, ON_SDP)
{
	enum { IDLE = 24 * 1024, UNREAD = 128 * 1024 };
	struct sdp_info info;
	struct pair p;
	int i;

	pair_open(&p);
	OK(sdp_info(p.s, &info));
	EQ(4, info.sdpi_posted);
	held(p.s, 4 * (info.sdpi_rcv_size + 16), IDLE);
	held(p.c, 4 * (info.sdpi_rcv_size + 16), IDLE);
	/* Fewer than make a busy connection, however they are cut. */
	for (i = 0; i < 3; i++) {
		send_pattern(p.c, 1000, 1, i * 1000);
		recv_pattern(p.s, 1000, 1, i * 1000);
		send_pattern(p.s, 3000, 2, i * 3000);
		recv_pattern(p.c, 3000, 2, i * 3000);
	}
	EVENTUALLY(0, outq(p.c) + outq(p.s));
	held(p.s, 4096, IDLE);
	held(p.c, 4096, IDLE);
	fill(p.c, 1);
	EVENTUALLY(true, (sdp_info(p.s, &info), info.sdpi_mem >= UNREAD / 2));
	held(p.s, UNREAD / 2, UNREAD + IDLE);
}

CASE_ON(options_of_sol_sdp_wrong, ON_SDP)
{
	int fd = sock(), one = 1, x;
	socklen_t len = sizeof(x);
	struct pair p;

	FAILS(ENOPROTOOPT, set_int(fd, SOL_SDP, 999, 1));
	FAILS(ENOPROTOOPT, getsockopt(fd, SOL_SDP, 999, &x, &len));
	FAILS(ENOPROTOOPT, set_int(fd, SOL_SDP, SDP_INFO, 1));
	FAILS(EINVAL, set_int(fd, SOL_SDP, SDP_FALLBACK, 2));
	FAILS(EINVAL, set_int(fd, SOL_SDP, SDP_FALLBACK, -1));
	FAILS(EINVAL, setsockopt(fd, SOL_SDP, SDP_FALLBACK, &one, 2));
	FAILS(EFAULT, setsockopt(fd, SOL_SDP, SDP_FALLBACK, (void *)8, 4));
	pair_open(&p);
	FAILS(EISCONN, set_int(p.c, SOL_SDP, SDP_FALLBACK, 1));
	FAILS(EISCONN, set_int(p.s, SOL_SDP, SDP_FALLBACK, 1));
	FAILS(EISCONN, set_int(p.l, SOL_SDP, SDP_FALLBACK, 1));
}

CASE_ON(fallback_default, ON_SDP)
{
	int fd = sock();

	EQ(variant->via == VIA_ULP, get_int(fd, SOL_SDP, SDP_FALLBACK));
	OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 1));
	EQ(1, get_int(fd, SOL_SDP, SDP_FALLBACK));
	OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 0));
	EQ(0, get_int(fd, SOL_SDP, SDP_FALLBACK));
	sysctl("fallback", 1);
	EQ(1, get_int(sock(), SOL_SDP, SDP_FALLBACK));
	/* What was said of the socket itself stays. */
	EQ(0, get_int(fd, SOL_SDP, SDP_FALLBACK));
}

/* ------------------------------------------------------------ where TCP speaks */

/* @c connects by TCP to @a, where @l listens; the other end. */
static int goes_by_tcp_(int c, int l, const union addr *a)
{
	int s;

	OK(connect_to(c, a));
	s = accept_any(l);
	must_be_tcp(c);
	return s;
}

#define goes_by_tcp(...)	CALL(goes_by_tcp_(__VA_ARGS__))

CASE_ON(ulp_connect_to_tcp, ON_ULP)
{
	union addr a, x;
	int l = tcp_listener(&a), c = sock(), s;

	OK(set_int(c, SOL_TCP, TCP_NODELAY, 1));
	OK(set_int(c, SOL_SOCKET, SO_SNDBUF, 50000));
	s = goes_by_tcp(c, l, &a);
	/* Same socket, same options, same answers. */
	EQ(1, get_int(c, SOL_TCP, TCP_NODELAY));
	EQ(100000, get_int(c, SOL_SOCKET, SO_SNDBUF));
	FAILS(EISCONN, connect_to(c, &a));
	OK(peer_of(c, &x));
	CHECK(addr_equal(&x, &a));
	talk(c, s);
}

CASE_ON(ulp_connect_to_tcp_nonblocking, ON_ULP)
{
	union addr a;
	int l = tcp_listener(&a), c = sock_flags(SOCK_NONBLOCK), s;

	FAILS(EINPROGRESS, connect_to(c, &a));
	EQ_HEX(POLLOUT, await(c, POLLOUT));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(0, connect_to(c, &a));
	FAILS(EISCONN, connect_to(c, &a));
	s = accept_any(l);
	must_be_tcp(c);
	nonblock(c, false);
	talk(c, s);
}

/* Calls that wait on the socket while it changes from SDP to TCP. */
CASE_ON(ulp_blocked_while_falling_back, ON_ULP)
{
	char buf[16];
	struct task recv_task = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct task poll_task = { .run = task_poll, .events = POLLIN };
	union addr a;
	int l = tcp_listener(&a), c = sock_flags(SOCK_NONBLOCK), s;

	FAILS(EINPROGRESS, connect_to(c, &a));
	nonblock(c, false);
	recv_task.fd = c;
	poll_task.fd = c;
	task_start(&recv_task);
	task_start(&poll_task);
	send_text(c, "early");
	s = accept_any(l);
	recv_text(s, "early");
	send_text(s, "late");
	EQ(4, task_join(&recv_task));
	/* It may have been read before the other thread looked. */
	send_text(s, "later");
	task_join(&poll_task);
	EQ(POLLIN, poll_task.ret);
	recv_text(c, "later");
	must_be_tcp(c);
}

CASE_ON(ulp_bound_client_falls_back, ON_ULP)
{
	union addr a, from, x;
	int l = tcp_listener(&a), c = sock(), s;

	here(&from, 0);
	OK(bind_to(c, &from));
	OK(name_of(c, &from));
	OK(connect_to(c, &a));
	s = accept_any(l);
	OK(peer_of(s, &x));
	if (!addr_equal(&x, &from))
		FAIL("peer: expected %s, got %s", addr_text(&from), addr_text(&x));
	must_be_tcp(c);
	talk(c, s);
}

CASE_ON(explicit_connect_to_tcp, ON_EXPLICIT)
{
	union addr a;
	int l = tcp_listener(&a), c = sock();
	struct sdp_info info;

	FAILS(ECONNREFUSED, connect_to(c, &a));
	EQ_HEX(0, poll_one(l, POLLIN, 50));
	OK(sdp_info(c, &info));
	EQ(SDP_REASON_REFUSED, info.sdpi_reason);
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await_end(c, POLLERR);
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
}

CASE_ON(explicit_connect_to_tcp_with_fallback, ON_EXPLICIT)
{
	union addr a;
	int l = tcp_listener(&a), c = sock();

	OK(set_int(c, SOL_SDP, SDP_FALLBACK, 1));
	talk(c, goes_by_tcp(c, l, &a));
	sysctl("fallback", 1);
	c = sock();
	talk(c, goes_by_tcp(c, l, &a));
}

CASE_ON(ulp_without_fallback, ON_ULP)
{
	union addr a;
	int l = tcp_listener(&a), c = sock();

	OK(set_int(c, SOL_SDP, SDP_FALLBACK, 0));
	FAILS(ECONNREFUSED, connect_to(c, &a));
	EQ_HEX(0, poll_one(l, POLLIN, 50));
}

/* ------------------------------------------------------ what a listener accepts */

/* A listener by TCP_ULP takes both kinds, and each child is what it came as. */
CASE_ON(ulp_listener_takes_both, ON_ULP)
{
	int l, tcp, sdp, s, i, wildcard;
	union addr a;

	for (wildcard = 0; wildcard < 2; wildcard++) {
		l = wildcard ? any_listener(&a, variant->family, 1) : listener(&a, 8);
		for (i = 0; i < 3; i++) {
			tcp = tcp_sock();
			OK(connect_to(tcp, &a));
			s = accept_any(l);
			must_be_tcp(s);
			talk(tcp, s);
			sdp = sock();
			OK(connect_to(sdp, &a));
			must_be_sdp(sdp);
			s = accept_one(l);
			talk(sdp, s);
			EQ_HEX(0, poll_one(l, POLLIN, 0));
		}
	}
}

/* Both kinds in the queue at once: all are served. */
CASE_ON(ulp_listener_mixed_queue, ON_ULP)
{
	enum { N = 6 };
	int l, c[N], i, s, sdp = 0;
	union addr a;

	l = listener(&a, N);
	for (i = 0; i < N; i++) {
		c[i] = i & 1 ? sock() : tcp_sock();
		OK(connect_to(c[i], &a));
		send_text(c[i], i & 1 ? "S" : "T");
	}
	for (i = 0; i < N; i++) {
		s = accept_any(l);
		if (is_sdp(s)) {
			recv_text(s, "S");
			sdp++;
		} else {
			recv_text(s, "T");
		}
	}
	EQ(N / 2, sdp);
}

/* A listener that asked for SDP: a plain TCP client never reaches the program. */
CASE_ON(explicit_listener_resets_tcp, ON_EXPLICIT)
{
	long long end = ktap_now() + ktap_ms(10000);
	int l, tcp, c, s, err = 0;
	union addr a;
	char x;

	l = listener(&a, 4);
	nonblock(l, true);
	tcp = tcp_sock();
	if (connect_to(tcp, &a)) {
		err = errno;
	} else {
		nonblock(tcp, true);
		while (!err && ktap_now() < end) {
			FAILS(EAGAIN, accept(l, NULL, NULL));
			if (recv(tcp, &x, 1, 0) < 0 && errno != EAGAIN)
				err = errno;
			usleep(1000);
		}
	}
	if (err != ECONNRESET && err != ECONNREFUSED)
		FAIL("plain TCP client: expected ECONNRESET, got %s", ktap_errno(err));
	c = sock();
	OK(connect_to(c, &a));
	s = accept_one(l);
	nonblock(s, false);
	talk(c, s);
}

/* A server that waits is not woken, or not for long, by such a client. */
CASE_ON(explicit_accept_blocks_over_tcp, ON_EXPLICIT)
{
	union addr a;
	struct task t = { .run = task_accept, .fd = listener(&a, 4) };
	int tcp = tcp_sock(), c;
	char x;

	task_start(&t);
	if (!connect_to(tcp, &a))
		FAILS(ECONNRESET, recv(tcp, &x, 1, 0));
	CHECK(!t.done);
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(OK(task_join(&t)));
	talk(c, t.ret);
}

CASE_ON(explicit_listener_with_fallback, ON_EXPLICIT)
{
	union addr a;
	int l = mixed_listener(&a), tcp = tcp_sock(), c = sock(), s;

	OK(connect_to(tcp, &a));
	s = accept_any(l);
	must_be_tcp(s);
	talk(tcp, s);
	OK(connect_to(c, &a));
	s = accept_one(l);
	talk(c, s);
}

CASE_ON(ulp_listener_without_fallback, ON_ULP)
{
	struct task t = { .run = task_accept, .fd = sock() };
	int tcp = tcp_sock(), c = sock();
	union addr a;
	char x;

	here(&a, 0);
	OK(set_int(t.fd, SOL_SDP, SDP_FALLBACK, 0));
	OK(bind_to(t.fd, &a));
	OK(listen(t.fd, 4));
	OK(name_of(t.fd, &a));
	task_start(&t);
	if (!connect_to(tcp, &a))
		FAILS(ECONNRESET, recv(tcp, &x, 1, 0));
	CHECK(!t.done);
	OK(connect_to(c, &a));
	must_be_sdp(OK(task_join(&t)));
}

/* Clients and listeners made in different ways speak to one another. */
CASE_ON(ways_mixed, ON_SDP)
{
	enum via d;
	union addr a;
	int l = listener(&a, 4), c, s;

	for (d = VIA_FAMILY; d <= VIA_ULP; d++) {
		if (d == VIA_FAMILY && variant->family == AF_INET6)
			continue;
		c = OK(via_socket(d, variant->family, 0));
		OK(connect_to(c, &a));
		must_be_sdp(c);
		s = accept_one(l);
		talk(c, s);
		close(c);
	}
}

/* ---------------------------------------------------------------- no way by SDP */

static void loopback(union addr *a, int port)
{
	addr_set(a, variant->family, variant->family == AF_INET ? "127.0.0.1" : "::1",
		 port);
}

CASE_ON(ulp_loopback, ON_ULP)
{
	union addr a;
	int l = any_listener(&a, variant->family, 1), c = sock(), s;

	loopback(&a, addr_port(&a));
	s = goes_by_tcp(c, l, &a);
	must_be_tcp(s);
	talk(c, s);
	/* the wildcard address is the loopback too */
	addr_any(&a, variant->family, addr_port(&a));
	c = sock();
	talk(c, goes_by_tcp(c, l, &a));
}

CASE_ON(explicit_loopback, ON_EXPLICIT)
{
	union addr a;
	int l = any_listener(&a, variant->family, 1), c = sock();
	struct sdp_info info;

	loopback(&a, addr_port(&a));
	FAILS(ENETUNREACH, connect_to(c, &a));
	OK(sdp_info(c, &info));
	EQ(SDP_REASON_LOOPBACK, info.sdpi_reason);
	EQ_HEX(0, poll_one(l, POLLIN, 50));
	/* The socket is good for another address. */
	here(&a, addr_port(&a));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	accept_one(l);
}

CASE_ON(disabled, ON_SDP)
{
	union addr a;
	int l = listener(&a, 4), c, s;
	struct sdp_info info;

	sysctl("enable", 0);
	c = sock();
	if (variant->via == VIA_ULP) {
		s = goes_by_tcp(c, l, &a);
		must_be_tcp(s);
		talk(c, s);
	} else {
		FAILS(ENETUNREACH, connect_to(c, &a));
		OK(sdp_info(c, &info));
		EQ(SDP_REASON_FORCED, info.sdpi_reason);
	}
	sysctl("enable", 1);
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(c);
	talk(c, accept_one(l));
}

/* A limit of the namespace, given back when connections end. */
CASE_ON(limit_of_connections, ON_SDP)
{
	int l, c[4], s[4], x, i;
	union addr a;

	l = listener(&a, 8);
	/* Earlier cases' connections may be on their way out. */
	sysctl("max_conns", 0);
	x = sock();
	if (variant->via == VIA_ULP) {
		OK(connect_to(x, &a));
		must_be_tcp(x);
		close(accept_any(l));
	} else {
		EQ(-1, connect_to(x, &a));
	}
	close(x);
	sysctl("max_conns", 65536);
	for (i = 0; i < 4; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		must_be_sdp(c[i]);
		s[i] = accept_one(l);
	}
	for (i = 0; i < 4; i++)
		talk(c[i], s[i]);
}

/* ------------------------------------------------------------------- the slot */

CASE_ON(ulp_where_it_cannot_be, ON_ULP)
{
	union addr a;
	int l = tcp_listener(&a), c = tcp_sock(), s, connecting;

	FAILS(EOPNOTSUPP, setsockopt(l, SOL_TCP, TCP_ULP, "sdp", 3));
	OK(connect_to(c, &a));
	s = accept_any(l);
	FAILS(EOPNOTSUPP, setsockopt(c, SOL_TCP, TCP_ULP, "sdp", 3));
	FAILS(EOPNOTSUPP, setsockopt(s, SOL_TCP, TCP_ULP, "sdp", 3));
	connecting = OK(socket(variant->family, SOCK_STREAM | SOCK_NONBLOCK, 0));
	nobody(&a);
	FAILS(EINPROGRESS, connect_to(connecting, &a));
	FAILS(EOPNOTSUPP, setsockopt(connecting, SOL_TCP, TCP_ULP, "sdp", 3));
	talk(c, s);
}

CASE_ON(ulp_once, ON_SDP)
{
	int fd = sock();

	FAILS(EEXIST, setsockopt(fd, SOL_TCP, TCP_ULP, "sdp", 3));
	EQ(SDP_TRANSPORT_NONE, transport(fd));
}

/* After falling back the slot is free, and the socket TCP's altogether. */
CASE_ON(ulp_after_fallback, ON_ULP)
{
	union addr a;
	int l = tcp_listener(&a), c = sock(), s, err;

	OK(connect_to(c, &a));
	s = accept_any(l);
	must_be_tcp(c);
	FAILS(EOPNOTSUPP, setsockopt(c, SOL_TCP, TCP_ULP, "sdp", 3));
	err = setsockopt(c, SOL_TCP, TCP_ULP, "tls", 3) ? errno : 0;
	/* ENOENT: a kernel without TLS */
	if (err && err != ENOENT)
		FAIL("TCP_ULP tls: %s", ktap_errno(err));
	if (err)
		talk(c, s);
}

/* A refused socket that fell back can be attached again and connect by SDP. */
CASE_ON(ulp_again_after_refusal, ON_ULP)
{
	union addr a, closed;
	int l = listener(&a, 4), c = sock(), err;

	closed_port(&closed);
	FAILS(ECONNREFUSED, connect_to(c, &closed));
	err = setsockopt(c, SOL_TCP, TCP_ULP, "sdp", 3) ? errno : 0;
	if (err && err != EEXIST)
		FAIL("TCP_ULP sdp: %s", ktap_errno(err));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	accept_one(l);
}

/* What would change the socket under us is refused, on every path to it. */
CASE_ON(options_that_cannot_be_kept, ON_SDP)
{
	struct pair p;
	int n = AF_INET;

	pair_open(&p);
	EQ(-1, set_int(p.c, SOL_TCP, TCP_REPAIR, 1));
	if (variant->family == AF_INET6)
		EQ(-1, setsockopt(p.c, SOL_IPV6, IPV6_ADDRFORM, &n, sizeof(n)));
	talk(p.c, p.s);
}

/* ----------------------------------------------------------------- who may use it */

CASE_ON(unprivileged, ON_SDP)
{
	struct pair p;
	pid_t pid;

	pid = OK(fork());
	if (!pid) {
		OK(setgid(65534));
		OK(setuid(65534));
		pair_open(&p);
		talk(p.c, p.s);
		_exit(0);
	}
	CHILD_OK(pid);
}

/* The counters say what happened. */
CASE_ON(counters, ON_SDP)
{
	unsigned long long sent = counter("bytes_sent"), received = counter("bytes_received");
	unsigned long long connects = counter("connect"), accepts = counter("accept");
	unsigned long long fallbacks;
	struct pair p;
	union addr a;

	pair_open(&p);
	send_pattern(p.c, 200000, 5, 0);
	recv_pattern(p.s, 200000, 5, 0);
	/* Both ends are here. */
	IN_RANGE(200000, 210000, counter("bytes_sent") - sent);
	IN_RANGE(200000, 210000, counter("bytes_received") - received);
	EQ(connects + 1, counter("connect"));
	EQ(accepts + 1, counter("accept"));
	if (variant->via != VIA_ULP)
		return;
	fallbacks = counter("fallback");
	tcp_listener(&a);
	OK(connect_to(sock(), &a));
	EQ(fallbacks + 1, counter("fallback"));
}
