// SPDX-License-Identifier: GPL-2.0
/* Listening and accepting. */
#include <fcntl.h>
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/variant.h"

CASE(listen_sets_acceptconn)
{
	union addr a;
	int l = listener(&a, 4);

	EQ(1, get_int(l, SOL_SOCKET, SO_ACCEPTCONN));
	EQ(0, get_int(l, SOL_SOCKET, SO_ERROR));
	IN_RANGE(1024, 65535, addr_port(&a));
}

CASE(listen_unbound)
{
	union addr a, any;
	int l = sock();

	OK(listen(l, 4));
	OK(name_of(l, &a));
	IN_RANGE(1024, 65535, addr_port(&a));
	addr_any(&any, variant->family, addr_port(&a));
	CHECK(addr_equal(&a, &any));
	here(&a, addr_port(&a));
	serves(l, &a);
}

CASE(listen_twice)
{
	union addr a;
	int l = listener(&a, 4), c, s;

	OK(listen(l, 8));
	OK(listen(l, 4));
	c = sock();
	OK(connect_to(c, &a));
	OK(listen(l, 8));	/* with a connection in the queue */
	s = accept_one(l);
	send_text(c, "hi");
	recv_text(s, "hi");
}

CASE(listen_connected)
{
	struct pair p;

	pair_open(&p);
	FAILS(EINVAL, listen(p.c, 1));
	FAILS(EINVAL, listen(p.s, 1));
	send_text(p.c, "still there");
	recv_text(p.s, "still there");
}

CASE(accept_blocks)
{
	union addr a;
	struct task t = { .run = task_accept, .fd = listener(&a, 4) };
	int c = sock();

	task_start(&t);
	CHECK(!t.done);
	OK(connect_to(c, &a));
	OK(task_join(&t));
	must_be_sdp(t.ret);
	send_text(c, "hi");
	recv_text(t.ret, "hi");
}

/* Several threads wait in accept(): each connection wakes one. */
CASE(accept_many_threads)
{
	struct task t[4] = { };
	int c[4], l, i;
	union addr a;

	l = listener(&a, 8);
	for (i = 0; i < 4; i++) {
		t[i].run = task_accept;
		t[i].fd = l;
		task_start(&t[i]);
	}
	for (i = 0; i < 4; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
	}
	for (i = 0; i < 4; i++) {
		OK(task_join(&t[i]));
		must_be_sdp(t[i].ret);
		send_text(t[i].ret, "hello");
	}
	for (i = 0; i < 4; i++)
		recv_text(c[i], "hello");
}

CASE(accept_nonblocking)
{
	union addr a;
	int l = listener(&a, 4), c = sock(), s;

	nonblock(l, true);
	FAILS(EAGAIN, accept(l, NULL, NULL));
	FAILS(EAGAIN, accept(l, NULL, NULL));
	OK(connect_to(c, &a));
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	must_be_sdp(s);
	/* The listener's flag is not inherited. */
	EQ(0, fcntl(s, F_GETFL) & O_NONBLOCK);
	EQ(0, fcntl(s, F_GETFD));
	FAILS(EAGAIN, accept(l, NULL, NULL));
}

CASE(accept4_flags)
{
	union addr a;
	int l = listener(&a, 4), s;

	FAILS(EINVAL, accept4(l, NULL, NULL, ~(SOCK_NONBLOCK | SOCK_CLOEXEC)));
	OK(connect_to(sock(), &a));
	s = OK(accept4(l, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	must_be_sdp(s);
	EQ(O_NONBLOCK, fcntl(s, F_GETFL) & O_NONBLOCK);
	EQ(FD_CLOEXEC, fcntl(s, F_GETFD));
}

CASE(accept_not_listening)
{
	struct pair p;
	union addr a;
	int fd = sock();

	FAILS(EINVAL, accept(fd, NULL, NULL));
	here(&a, 0);
	OK(bind_to(fd, &a));
	FAILS(EINVAL, accept(fd, NULL, NULL));
	pair_open(&p);
	FAILS(EINVAL, accept(p.c, NULL, NULL));
	FAILS(EINVAL, accept(p.s, NULL, NULL));
	send_text(p.c, "still there");
	recv_text(p.s, "still there");
}

CASE(accept_timeout)
{
	union addr a;
	int l = listener(&a, 4), c;
	struct ktap_watch start;

	OK(set_ms(l, SO_RCVTIMEO, 100));
	start = ktap_watch();
	FAILS(EAGAIN, accept(l, NULL, NULL));
	WAITED(100, ktap_ms(2000), start);
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(accept_one(l));
}
BY_CLOCK(accept_timeout);

CASE(accept_address)
{
	union addr a, from, name;
	socklen_t len = sizeof(from);
	int l = listener(&a, 4), c = sock(), s;

	OK(connect_to(c, &a));
	s = OK(accept(l, &from.sa, &len));
	EQ(addr_len(&a), len);
	OK(name_of(c, &name));
	if (!addr_equal(&from, &name))
		FAIL("accept: expected %s, got %s", addr_text(&name), addr_text(&from));
	close(s);

	c = sock();
	OK(connect_to(c, &a));
	len = 4;
	memset(&from, 0xee, sizeof(from));
	s = OK(accept(l, &from.sa, &len));
	EQ(addr_len(&a), len);
	EQ(0xee, ((unsigned char *)&from)[4]);
	must_be_sdp(s);
}

/* A bad address costs the connection, and nothing else. */
CASE(accept_bad_address)
{
	union addr a;
	socklen_t len = sizeof(a);
	int l = listener(&a, 4), c = sock();

	OK(connect_to(c, &a));
	await(l, POLLIN);
	FAILS(EFAULT, accept(l, (void *)8, &len));
	await(c, POLLIN | POLLHUP | POLLERR);
	serves(l, &a);
}

CASE(accept_interrupted)
{
	union addr a;
	struct task t = { .run = task_accept, .fd = listener(&a, 4) };
	int c = sock();

	expect_eintr(&t, SO_RCVTIMEO);
	start_and_signal(&t);
	still_waits(&t);
	OK(connect_to(c, &a));
	must_be_sdp(OK(task_join(&t)));
}

/*
 * Two wait in accept(), and who is to be woken by a connection gets a signal at about that
 * time: he takes it, or the other one does.
 */
CASE_LIMIT(accept_woken_and_interrupted, ~0u, 60)
{
	enum { ROUNDS = 200 };
	int interrupted = 0, i, c, late;
	struct task first, second;
	union addr a;
	int l = listener(&a, 8);

	catch(0);
	for (i = 0; i < ROUNDS; i++) {
		first = second = (struct task){ .run = task_accept, .fd = l };
		task_start(&first);
		task_start(&second);
		c = sock_flags(SOCK_NONBLOCK);
		if (connect_to(c, &a))
			EQ(EINPROGRESS, errno);
		usleep(i * 10 % 1000);
		pthread_kill(first.thread, SIGUSR1);
		late = -1;
		if (task_join(&first) < 0) {
			EQ(EINTR, errno);
			interrupted++;
		} else {
			close(first.ret);
			late = sock();
			OK(connect_to(late, &a));
		}
		close(OK(task_join(&second)));
		close(c);
		close(late);
	}
	ktap_note("the first of two was interrupted %d times of %d", interrupted, ROUNDS);
}

CASE(listener_poll)
{
	union addr a;
	int l = listener(&a, 4), c[2], s;

	EQ_HEX(0, poll_one(l, POLLIN | POLLOUT | POLLRDNORM, 0));
	c[0] = sock();
	c[1] = sock();
	OK(connect_to(c[0], &a));
	EQ_HEX(POLLIN | POLLRDNORM, await(l, POLLIN | POLLOUT | POLLRDNORM));
	OK(connect_to(c[1], &a));
	s = accept_one(l);
	s = accept_one(l);
	must_be_sdp(s);
	EQ_HEX(0, poll_one(l, POLLIN | POLLOUT | POLLRDNORM, 0));
}

CASE(listener_poll_blocked)
{
	union addr a;
	struct task t = {
		.run = task_poll, .fd = listener(&a, 4), .events = POLLIN,
	};

	task_start(&t);
	CHECK(!t.done);
	OK(connect_to(sock(), &a));
	EQ_HEX(POLLIN, task_join(&t));
	accept_one(t.fd);
}

/* Shut for reading a listener is a fresh socket again, with its port. */
CASE(listener_shutdown)
{
	struct task t = { .run = task_accept, .fd = sock() };
	int c = sock(), fd = sock();
	union addr a, b;

	/* A port that the kernel chose would be another one afterwards. */
	bind_here(fd, &a);
	close(fd);
	OK(set_int(t.fd, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(t.fd, &a));
	OK(listen(t.fd, 4));

	OK(shutdown(t.fd, SHUT_WR));	/* without effect */
	OK(connect_to(c, &a));
	accept_one(t.fd);

	task_start(&t);
	OK(shutdown(t.fd, SHUT_RD));
	FAILS(EINVAL, task_join(&t));
	FAILS(EINVAL, accept(t.fd, NULL, NULL));
	FAILS(ECONNREFUSED, connect_to(sock(), &a));
	OK(listen(t.fd, 4));
	OK(name_of(t.fd, &b));
	CHECK(addr_equal(&a, &b));
	OK(connect_to(sock(), &a));
	accept_one(t.fd);
}

struct ender {
	int fd;
	union addr from;	/* AF_UNSPEC, or a family: shutdown() then */
	atomic_bool over;
	pthread_t thread;
};

static void *end_it(void *arg)
{
	struct ender *e = arg;

	while (!e->over) {
		if (e->from.sa.sa_family == AF_UNSPEC)
			connect(e->fd, &e->from.sa, sizeof(e->from.in));
		else
			shutdown(e->fd, SHUT_RD);
	}
	return NULL;
}

/* As sockets_shown() has them. */
#define LISTENING	(1u << 31)

/*
 * One thread listens, and others end that at the same time, either way.  Whoever is
 * last is right; and nothing is left of the others.
 */
CASE(listen_while_it_ends)
{
	union addr a = { .sa.sa_family = variant->family };
	struct ender e[2] = { { .from = a } };
	int i, n, before = OK(sockets_shown(LISTENING));

	e[1].from.sa.sa_family = AF_UNSPEC;
	e[0].fd = e[1].fd = sock();
	for (i = 0; i < 2; i++)
		EQ(0, pthread_create(&e[i].thread, NULL, end_it, &e[i]));
	for (n = 0; n < 500; n++)
		OK(listen(e[0].fd, 4));
	for (i = 0; i < 2; i++) {
		e[i].over = true;
		EQ(0, pthread_join(e[i].thread, NULL));
	}
	OK(listen(e[0].fd, 4));
	EQ(before + on_ours(), OK(sockets_shown(LISTENING)));
	OK(name_of(e[0].fd, &a));
	here(&a, addr_port(&a));
	i = sock();
	OK(connect_to(i, &a));
	accept_one(e[0].fd);
	close(e[0].fd);
	EQ(before, OK(sockets_shown(LISTENING)));
	FAILS(ECONNREFUSED, connect_to(sock(), &a));
}

/* Connections that nobody accepted are reset with their listener. */
CASE(listener_close_resets_queue)
{
	int l, c[3], i;
	union addr a;

	l = listener(&a, 4);
	for (i = 0; i < 3; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		must_be_sdp(c[i]);
		if (i)
			send_text(c[i], "nobody will read this");
	}
	/* The last handshakes may be under way still. */
	settle();
	close(l);
	for (i = 0; i < 3; i++)
		expect_reset(c[i]);
	FAILS(ECONNREFUSED, connect_to(sock(), &a));
}

/* However far the handshake has come on the listener's side. */
CASE(listener_close_at_once)
{
	union addr a;
	int i, c, l;

	for (i = 0; i < 50; i++) {
		l = listener(&a, 4);
		c = sock();
		OK(connect_to(c, &a));
		close(l);
		expect_reset(c);
		close(c);
	}
}

/* Who connected first is accepted first. */
CASE(accepted_in_order)
{
	enum { CONNS = 20 };
	union addr a, from[CONNS], peer;
	int c[CONNS], i, n, l;

	l = listener(&a, CONNS);
	for (n = 0; n < 5; n++) {
		for (i = 0; i < CONNS; i++) {
			c[i] = sock();
			OK(connect_to(c[i], &a));
			OK(name_of(c[i], &from[i]));
		}
		/* The last of a handshake may be late, at each. */
		sleep_ms(ktap_ms(100));
		for (i = 0; i < CONNS; i++) {
			int s = accept_one(l);

			OK(peer_of(s, &peer));
			if (!addr_equal(&peer, &from[i]))
				FAIL("number %d is not from port %d but %d", i,
				     addr_port(&from[i]), addr_port(&peer));
			close(s);
			close(c[i]);
		}
	}
}

CASE(listener_io_errors)
{
	union addr a;
	int l = listener(&a, 4);
	char c = 0;

	FAILS(ENOTCONN, recv(l, &c, 1, 0));
	FAILS(EPIPE, send(l, &c, 1, MSG_NOSIGNAL));
	FAILS(EINVAL, inq(l));
	FAILS(EISCONN, connect_to(l, &a));
	accept_one((OK(connect_to(sock(), &a)), l));
}

/* Data that came before accept() is there after it. */
CASE(data_before_accept)
{
	union addr a;
	int l = listener(&a, 4), c = sock(), s;

	OK(connect_to(c, &a));
	send_pattern(c, 5000, 3, 0);
	OK(shutdown(c, SHUT_WR));
	settle();
	s = accept_one(l);
	EQ(5000, drain(s, 3, 0));
	send_text(s, "got it");
	recv_text(c, "got it");
}

/* So is one that has closed already. */
CASE(closed_before_accept)
{
	union addr a;
	int l = listener(&a, 4), c = sock(), s;

	OK(connect_to(c, &a));
	send_pattern(c, 100, 3, 0);
	close(c);
	settle();
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	EQ(100, drain(s, 3, 0));
}

/*
 * More connections than the backlog: who finds no room is repeated until there
 * is some, and all are taken in the end.  Whoever connected is accepted, and
 * speaks to the right partner.
 *
 * The clients speak first: TCP with SYN cookies forgets a client that found no
 * room, who believes to be connected, until he sends something.
 */
CASE_LIMIT(backlog_overflow, ~0u, 60)
{
	enum { N = 12 };
	int l, s[N + 1], c[N], i, accepted = 0, connected = 0;
	bool over[N] = { };
	char text[16];
	union addr a;

	l = listener(&a, 3);
	nonblock(l, true);
	for (i = 0; i < N; i++) {
		c[i] = sock();
		nonblock(c[i], true);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	/* Leave the queue full for a while, then serve it. */
	settle();
	for (i = 0; i < N; i++)
		connected += !!poll_one(c[i], POLLOUT, 0);
	if (on_sdp() && variant->via != VIA_ULP)
		IN_RANGE(0, 4, connected);
	connected = 0;
	while (connected < N || accepted < N) {
		s[accepted] = accept(l, NULL, NULL);
		if (s[accepted] >= 0) {
			/* TCP_ULP takes TCP for those who wait too long. */
			if (variant->via != VIA_ULP)
				must_be_sdp(s[accepted]);
			IN_RANGE(1, N, ++accepted);
			continue;
		}
		if (errno != EAGAIN)
			FAIL("accept: %s", ktap_errno(errno));
		for (i = 0; i < N; i++) {
			if (over[i] || !poll_one(c[i], POLLOUT, 0))
				continue;
			over[i] = true;
			EQ(0, get_int(c[i], SOL_SOCKET, SO_ERROR));
			connected++;
			text[0] = 'a' + i;
			EQ(1, send(c[i], text, 1, MSG_NOSIGNAL));
		}
		usleep(1000);
	}
	for (i = 0; i < N; i++) {
		EQ(1, recv(s[i], text, sizeof(text), 0));
		EQ(1, send(s[i], text, 1, MSG_NOSIGNAL));
		close(s[i]);
	}
	for (i = 0; i < N; i++) {
		nonblock(c[i], false);
		EQ(1, recv(c[i], text, sizeof(text), 0));
		EQ('a' + i, text[0]);
		expect_eof(c[i]);
	}
}

/* A queue as long as was asked for. */
CASE(backlog_holds)
{
	enum { N = 16 };
	int l, c[N], i;
	union addr a;

	l = listener(&a, N);
	for (i = 0; i < N; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		must_be_sdp(c[i]);
	}
	for (i = 0; i < N; i++)
		accept_one(l);
}

/* TCP_DEFER_ACCEPT: accept() has who has spoken, or ended; and then it is there. */
CASE(defer_accept)
{
	struct linger reset = { .l_onoff = 1 };
	int l, c, s, quiet;
	union addr a;
	char buf[8];

	l = listener(&a, 8);
	OK(set_int(l, SOL_TCP, TCP_DEFER_ACCEPT, 30));
	EQ(31, get_int(l, SOL_TCP, TCP_DEFER_ACCEPT));
	nonblock(l, true);
	quiet = sock();
	OK(connect_to(quiet, &a));
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(c);
	FAILS(EAGAIN, accept(l, NULL, NULL));
	EQ_HEX(0, poll_one(l, POLLIN, 50));
	send_text(c, "spoken");
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	EQ(6, recv(s, buf, sizeof(buf), MSG_DONTWAIT));
	FAILS(EAGAIN, accept(l, NULL, NULL));

	OK(shutdown(quiet, SHUT_WR));
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	expect_eof(s);
	send_text(s, "to whom");
	recv_text(quiet, "to whom");

	/* Who was reset before was never there; who is there when it ends, is let go. */
	quiet = sock();
	OK(connect_to(quiet, &a));
	c = sock();
	OK(connect_to(c, &a));
	OK(setsockopt(c, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
	close(c);
	c = sock();
	OK(connect_to(c, &a));
	send_text(c, "last");
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	recv_text(s, "last");
	FAILS(EAGAIN, accept(l, NULL, NULL));
	close(l);
}

/* In the end it has those who say nothing, too. */
CASE(defer_accept_ends)
{
	int l, c[2], i;
	union addr a;

	l = listener(&a, 8);
	OK(set_int(l, SOL_TCP, TCP_DEFER_ACCEPT, 1));
	for (i = 0; i < 2; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		must_be_sdp(c[i]);
	}
	for (i = 0; i < 2; i++)
		send_text(accept_one(l), "at last");
	for (i = 0; i < 2; i++)
		recv_text(c[i], "at last");
}

/* A client gets in, of the variant or of plain TCP. */
static int gets_in_(int l, const union addr *a, bool tcp)
{
	int c = tcp ? tcp_sock() : sock(), before = waiting(l);

	OK(connect_to(c, a));
	if (tcp)
		EVENTUALLY(before + 1, waiting(l));
	else
		must_be_sdp(c);
	return c;
}

/* And another one does not. */
static int stays_out_(const union addr *a, bool tcp)
{
	int c = tcp ? tcp_sock() : sock();

	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, a));
	EQ_HEX(0, poll_one(c, POLLIN | POLLOUT, 60));
	close(c);
	return 0;
}

#define gets_in(...)	CALL(gets_in_(__VA_ARGS__))
#define stays_out(...)	CALL(stays_out_(__VA_ARGS__))

/* Clients to fill it and one more each time that one is taken. */
static void exactly(int l, const union addr *a, int n, bool tcp)
{
	int i, c[64];

	for (i = 0; i < n; i++)
		c[i] = gets_in(l, a, tcp);
	stays_out(a, tcp);
	close(OK(accept(l, NULL, NULL)));
	c[i] = gets_in(l, a, tcp);
	stays_out(a, tcp);
	for (i = 0; i <= n; i++)
		close(c[i]);
}

/* Whoever waits there is taken, and is gone. */
static void empty(int l)
{
	int s;

	nonblock(l, true);
	while ((s = accept(l, NULL, NULL)) >= 0)
		close(s);
	EQ(EAGAIN, errno);
	nonblock(l, false);
}

static int set_somaxconn(int value)
{
	int fd = OK(open("/proc/sys/net/core/somaxconn", O_RDWR | O_CLOEXEC)), was;
	char text[16] = "";

	CHECK(read(fd, text, sizeof(text) - 1) > 0);
	was = atoi(text);
	EQ(0, lseek(fd, 0, SEEK_SET));
	CHECK(dprintf(fd, "%d", value) > 0);
	close(fd);
	return was;
}

/* As many as asked for, bounded by somaxconn, and one. */
CASE(backlog_exact)
{
	static const int backlogs[] = { 0, 1, 3, 16, 20 };
	enum { MOST = 18 };
	unsigned int i;

	/* Who finds no room does not go by TCP while this lasts. */
	if (variant->via == VIA_ULP)
		sysctl("connect_timeout", ktap_ms(5000));
	for (i = 0; i < ARRAY_SIZE(backlogs); i++) {
		int n = backlogs[i], was, l, err;
		union addr a;

		l = sock();
		bind_here(l, &a);
		was = set_somaxconn(MOST);
		err = listen(l, n);
		set_somaxconn(was);
		OK(err);
		exactly(l, &a, (n < MOST ? n : MOST) + 1, !on_sdp());
		close(l);
	}
}

/* A second listen() says how long the queue is from then on; below 0 as long as may be. */
CASE(backlog_exact_again)
{
	static const int backlogs[] = { 1, 4, 0, 7, 2, -1, 3, INT_MIN, 1 };
	enum { MOST = 9 };
	unsigned int i;
	union addr a;
	int l = sock();

	if (variant->via == VIA_ULP)
		sysctl("connect_timeout", ktap_ms(5000));
	bind_here(l, &a);
	for (i = 0; i < ARRAY_SIZE(backlogs); i++) {
		int n = backlogs[i], was = set_somaxconn(MOST), err = listen(l, n);

		set_somaxconn(was);
		OK(err);
		exactly(l, &a, (n < 0 ? MOST : n) + 1, !on_sdp());
		empty(l);
	}
}

/* The same with clients who wait: who is there stays, who comes finds less room, or more. */
CASE(backlog_changed_meanwhile)
{
	bool tcp = !on_sdp();
	union addr a;
	int l, i;

	if (variant->via == VIA_ULP)
		sysctl("connect_timeout", ktap_ms(5000));
	l = listener(&a, 3);
	for (i = 0; i < 4; i++)
		gets_in(l, &a, tcp);
	stays_out(&a, tcp);
	OK(listen(l, 5));
	gets_in(l, &a, tcp);
	gets_in(l, &a, tcp);
	stays_out(&a, tcp);
	OK(listen(l, 1));
	/* Six wait, and two may. */
	for (i = 0; i < 5; i++) {
		if (i < 4)
			stays_out(&a, tcp);
		close(OK(accept(l, NULL, NULL)));
	}
	gets_in(l, &a, tcp);
	stays_out(&a, tcp);
	close(OK(accept(l, NULL, NULL)));
	close(OK(accept(l, NULL, NULL)));
	nonblock(l, true);
	FAILS(EAGAIN, accept(l, NULL, NULL));
}

/* Who takes clients of both kinds has a queue of that length for each. */
CASE_ON(backlog_exact_mixed, ON_ULP)
{
	enum { N = 3 };
	union addr a;
	int l, i;

	sysctl("connect_timeout", ktap_ms(5000));
	l = listener(&a, N);
	for (i = 0; i < N; i++) {
		gets_in(l, &a, false);
		gets_in(l, &a, true);
	}
	gets_in(l, &a, true);
	stays_out(&a, true);
	gets_in(l, &a, false);
	stays_out(&a, false);
	for (i = 0; i < 2 * (N + 1); i++)
		OK(accept(l, NULL, NULL));
}

CASE(reuseaddr_rebind)
{
	struct pair p;
	int l;

	pair_open(&p);
	send_text(p.c, "x");
	recv_text(p.s, "x");
	/* The server closes first: with TCP its port is in TIME_WAIT. */
	close(p.l);
	close(p.s);
	expect_eof(p.c);
	close(p.c);
	l = sock();
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, &p.addr));
	OK(listen(l, 4));
	p.c = sock();
	OK(connect_to(p.c, &p.addr));
	p.s = accept_one(l);
	send_text(p.c, "again");
	recv_text(p.s, "again");
}

/* The same with a connection of the old listener still open. */
CASE(reuseaddr_rebind_connected)
{
	struct pair p;
	int l, c, s;

	pair_open(&p);
	close(p.l);
	l = sock();
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, &p.addr));
	OK(listen(l, 4));
	c = sock();
	OK(connect_to(c, &p.addr));
	s = accept_one(l);
	send_text(p.c, "old");
	send_text(c, "new");
	recv_text(s, "new");
	recv_text(p.s, "old");
}

CASE(reuseport_group)
{
	enum { N = 16 };
	int l[2], c[N], i, n = 0, s;
	union addr a;

	here(&a, 0);
	for (i = 0; i < 2; i++) {
		l[i] = sock();
		OK(set_int(l[i], SOL_SOCKET, SO_REUSEPORT, 1));
		OK(bind_to(l[i], &a));
		OK(listen(l[i], N));
		OK(name_of(l[i], &a));
		nonblock(l[i], true);
	}
	s = sock();
	FAILS(EADDRINUSE, bind_to(s, &a));
	for (i = 0; i < N; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		must_be_sdp(c[i]);
	}
	while (n < N) {
		struct pollfd p[2] = {
			{ .fd = l[0], .events = POLLIN },
			{ .fd = l[1], .events = POLLIN },
		};

		if (!poll(p, 2, ktap_ms(5000)))
			FAIL("%d connections, %d accepted", N, n);
		for (i = 0; i < 2; i++) {
			if (!p[i].revents)
				continue;
			s = OK(accept(l[i], NULL, NULL));
			must_be_sdp(s);
			n++;
		}
	}
	/* One of the two goes: the other serves all. */
	close(l[0]);
	for (i = 0; i < 4; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		accept_one(l[1]);
	}
}

CASE(wildcard_listener)
{
	union addr a, x;
	int l = any_listener(&a, variant->family, 1), c = sock(), s;

	OK(connect_to(c, &a));
	s = accept_one(l);
	OK(name_of(s, &x));
	if (!addr_equal(&x, &a))
		FAIL("accepted socket: expected %s, got %s", addr_text(&a), addr_text(&x));
	send_text(c, "hi");
	recv_text(s, "hi");
}

/* An IPv4 client of an IPv6 listener is shown by its v4-mapped address. */
CASE_ON(wildcard_listener_v4_client, ON_V6)
{
	union addr v6, v4, name, mapped;
	int l = any_listener(&v6, AF_INET6, 0), s, c;
	socklen_t len = sizeof(name);

	c = OK(via_socket(variant->via, AF_INET, 0));
	addr_set(&v4, AF_INET, host_addr(AF_INET, NULL), addr_port(&v6));
	OK(connect_to(c, &v4));
	must_be_sdp(c);
	await(l, POLLIN);
	s = OK(accept(l, &name.sa, &len));
	must_be_sdp(s);
	EQ(sizeof(name.in6), len);
	EQ(AF_INET6, get_int(s, SOL_SOCKET, SO_DOMAIN));
	OK(name_of(c, &v4));
	addr_set(&mapped, AF_INET6, "::ffff:0.0.0.0", addr_port(&v4));
	memcpy(&mapped.in6.sin6_addr.s6_addr[12], &v4.in.sin_addr, 4);
	if (!addr_equal(&name, &mapped))
		FAIL("accept: expected %s, got %s", addr_text(&mapped), addr_text(&name));
	OK(peer_of(s, &name));
	if (!addr_equal(&name, &mapped))
		FAIL("getpeername: expected %s, got %s", addr_text(&mapped), addr_text(&name));
	OK(name_of(s, &name));
	CHECK(IN6_IS_ADDR_V4MAPPED(&name.in6.sin6_addr));
	send_text(c, "to six");
	recv_text(s, "to six");
	send_text(s, "to four");
	recv_text(c, "to four");
}

CASE_ON(v6only_refuses_v4_client, ON_V6)
{
	union addr a, v4;
	int l, c, l4, s;

	l = any_listener(&a, AF_INET6, 1);
	c = OK(via_socket(variant->via, AF_INET, 0));
	addr_set(&v4, AF_INET, host_addr(AF_INET, NULL), addr_port(&a));
	FAILS(ECONNREFUSED, connect_to(c, &v4));
	/* An IPv4 listener has room beside it, and its own clients. */
	l4 = OK(via_socket(variant->via, AF_INET, 0));
	/* A connection of an earlier case may be in TIME_WAIT there. */
	OK(set_int(l4, SOL_SOCKET, SO_REUSEADDR, 1));
	addr_any(&v4, AF_INET, addr_port(&a));
	OK(bind_to(l4, &v4));
	OK(listen(l4, 4));
	addr_set(&v4, AF_INET, host_addr(AF_INET, NULL), addr_port(&a));
	c = OK(via_socket(variant->via, AF_INET, 0));
	OK(connect_to(c, &v4));
	s = accept_one(l4);
	EQ(AF_INET, get_int(s, SOL_SOCKET, SO_DOMAIN));
	OK(connect_to(sock(), &a));
	accept_one(l);
}

/* An IPv6 socket reaches an IPv4 listener by the mapped address. */
CASE_ON(v4_mapped_destination, ON_V6)
{
	union addr any, a, x;
	int l = OK(via_socket(variant->via, AF_INET, 0)), c = sock(), s;

	addr_any(&any, AF_INET, 0);
	OK(bind_to(l, &any));
	OK(listen(l, 4));
	OK(name_of(l, &any));
	addr_set(&a, AF_INET6, "::ffff:0.0.0.0", addr_port(&any));
	addr_set(&x, AF_INET, host_addr(AF_INET, NULL), 0);
	memcpy(&a.in6.sin6_addr.s6_addr[12], &x.in.sin_addr, 4);
	/* Bound to no address of IPv4's, its name is the real one all the same. */
	addr_set(&x, AF_INET6, "::ffff:0.0.0.0", 0);
	OK(bind_to(c, &x));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	s = accept_one(l);
	OK(peer_of(c, &x));
	if (!addr_equal(&x, &a))
		FAIL("getpeername: expected %s, got %s", addr_text(&a), addr_text(&x));
	OK(name_of(c, &x));
	EQ(0, memcmp(&a.in6.sin6_addr, &x.in6.sin6_addr, 16));
	OK(peer_of(s, &x));
	EQ(AF_INET, x.sa.sa_family);
	send_text(c, "mapped");
	recv_text(s, "mapped");
}
