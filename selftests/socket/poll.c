// SPDX-License-Identifier: GPL-2.0
/* poll, select and epoll, level and edge; SIGIO. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>

#include <netinet/tcp.h>

#include "lib/variant.h"

#define ALL_EVENTS (POLLIN | POLLOUT | POLLRDHUP | POLLPRI)

CASE(poll_states)
{
	struct pair p;

	pair_start(&p);
	EQ_HEX(POLLOUT | POLLHUP, poll_one(p.c, ALL_EVENTS, 0));
	EQ_HEX(0, poll_one(p.l, ALL_EVENTS, 0));
	pair_finish(&p);
	EQ_HEX(POLLOUT, poll_one(p.c, ALL_EVENTS, 0));
	EQ_HEX(POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
	EQ_HEX(POLLOUT | POLLWRNORM,
	       poll_one(p.c, POLLOUT | POLLWRNORM | POLLWRBAND | POLLRDNORM, 0));
	send_text(p.c, "x");
	EQ_HEX(POLLIN | POLLRDNORM, await(p.s, POLLIN | POLLRDNORM));
	EQ_HEX(POLLIN | POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
	recv_text(p.s, "x");
	EQ_HEX(POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
}

CASE(poll_half_closed)
{
	struct pair p;

	pair_open(&p);
	OK(shutdown(p.c, SHUT_WR));
	EQ_HEX(POLLIN | POLLRDHUP, await(p.s, POLLIN | POLLRDHUP));
	EQ_HEX(POLLIN | POLLRDHUP | POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
	/* Its own half closed is no event; a write would not block. */
	EQ_HEX(POLLOUT, poll_one(p.c, ALL_EVENTS, 0));
	OK(shutdown(p.s, SHUT_WR));
	EQ_HEX(POLLIN | POLLRDHUP | POLLHUP | POLLOUT,
	       (await(p.c, POLLHUP), poll_one(p.c, ALL_EVENTS, 0)));
	EQ_HEX(POLLIN | POLLRDHUP | POLLHUP | POLLOUT,
	       (await(p.s, POLLHUP), poll_one(p.s, ALL_EVENTS, 0)));
}

CASE(poll_peer_closed)
{
	struct pair p;

	pair_open(&p);
	send_text(p.c, "last words");
	close(p.c);
	await(p.s, POLLRDHUP);
	EQ_HEX(POLLIN | POLLRDHUP | POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
	recv_text(p.s, "last words");
	expect_eof(p.s);
	EQ_HEX(POLLIN | POLLRDHUP | POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
}

CASE(poll_reset)
{
	struct linger linger = { .l_onoff = 1 };
	struct pair p;

	pair_open(&p);
	OK(setsockopt(p.c, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	close(p.c);
	/* TCP sets the error first, and the rest a moment later. */
	await_end(p.s, 0);
	EQ_HEX(POLLIN | POLLRDHUP | POLLHUP | POLLERR | POLLOUT,
	       poll_one(p.s, ALL_EVENTS, 0));
	EQ(ECONNRESET, get_int(p.s, SOL_SOCKET, SO_ERROR));
	EQ(0, get_int(p.s, SOL_SOCKET, SO_ERROR));
	EQ_HEX(POLLIN | POLLRDHUP | POLLHUP | POLLOUT, poll_one(p.s, ALL_EVENTS, 0));
	expect_eof(p.s);
}

CASE(poll_shut_locally)
{
	struct pair p;

	pair_open(&p);
	OK(shutdown(p.c, SHUT_RD));
	EQ_HEX(POLLIN | POLLRDHUP | POLLOUT, poll_one(p.c, ALL_EVENTS, 0));
	OK(shutdown(p.c, SHUT_WR));
	EQ_HEX(POLLIN | POLLRDHUP | POLLHUP | POLLOUT, poll_one(p.c, ALL_EVENTS, 0));
}

/* A poll() that waits sees everything that can come. */
CASE(poll_wakes)
{
	struct task t = { .run = task_poll };
	struct pair p;
	long long sum;

	pair_open(&p);
	t.fd = p.s;
	t.events = POLLIN;
	task_start(&t);
	CHECK(!t.done);
	send_text(p.c, "x");
	EQ_HEX(POLLIN, task_join(&t));
	recv_text(p.s, "x");

	t.fd = p.c;
	t.events = POLLOUT;
	sum = fill(p.c, 5);
	task_start(&t);
	CHECK(!t.done);
	recv_pattern(p.s, sum, 5, 0);
	EQ_HEX(POLLOUT, task_join(&t));

	t.fd = p.s;
	t.events = POLLRDHUP;
	task_start(&t);
	CHECK(!t.done);
	OK(shutdown(p.c, SHUT_WR));
	EQ_HEX(POLLRDHUP, task_join(&t));

	t.events = 0;
	task_start(&t);
	CHECK(!t.done);
	OK(shutdown(p.s, SHUT_WR));
	EQ_HEX(POLLHUP, task_join(&t));
}

/*
 * One thread sleeps until there is room, and others ask about the same socket
 * just when it comes: what they find is his to know.
 */
CASE_LIMIT(poll_wakes_though_others_look, ~0u, 60)
{
	struct task t = { .run = task_poll, .events = POLLOUT };
	long long sum, n;
	struct pair p;
	int i;

	pair_open(&p);
	t.fd = p.c;
	for (i = 0; i < 20; i++) {
		long long end = ktap_now() + ktap_ms(10000);

		sum = fill(p.c, 5);
		task_start(&t);
		for (n = 0; n < sum && !t.done; n += 1000) {
			recv_pattern(p.s, sum - n < 1000 ? sum - n : 1000, 5, n);
			outq(p.c);
			poll_one(p.c, POLLIN, 0);
		}
		while (!t.done && ktap_now() < end)
			outq(p.c);
		if (!t.done)
			FAIL("round %d: nobody woke him, %d bytes are under way", i, outq(p.c));
		EQ_HEX(POLLOUT, task_join(&t));
		if (n < sum)
			recv_pattern(p.s, sum - n, 5, n);
		nonblock(p.c, false);
	}
}

CASE(poll_wakes_on_reset)
{
	struct linger linger = { .l_onoff = 1 };
	struct task t = { .run = task_poll };
	struct pair p;

	pair_open(&p);
	OK(setsockopt(p.c, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
	task_blocks(&t, p.s);
	close(p.c);
	EQ_HEX(POLLERR | POLLHUP, task_join(&t));
}

CASE(poll_wakes_on_local_shutdown)
{
	struct task t = { .run = task_poll, .events = POLLIN };
	struct pair p;

	pair_open(&p);
	task_blocks(&t, p.s);
	OK(shutdown(p.s, SHUT_RD));
	EQ_HEX(POLLIN, task_join(&t));
}

CASE(poll_timeout)
{
	struct pollfd f = { .events = POLLIN };
	long long start;
	struct pair p;

	pair_open(&p);
	f.fd = p.s;
	start = ktap_now();
	EQ(0, poll(&f, 1, 50));
	IN_RANGE(49, ktap_ms(2000), ktap_now() - start);
}
BY_CLOCK(poll_timeout);

static int select_one(int fd, bool r, bool w)
{
	struct timeval tv = { };
	fd_set rs, ws, es;
	int n;

	FD_ZERO(&rs);
	FD_ZERO(&ws);
	FD_ZERO(&es);
	if (r)
		FD_SET(fd, &rs);
	if (w)
		FD_SET(fd, &ws);
	FD_SET(fd, &es);
	n = OK(select(fd + 1, &rs, &ws, &es, &tv));
	EQ(n, !!FD_ISSET(fd, &rs) + !!FD_ISSET(fd, &ws) + !!FD_ISSET(fd, &es));
	return FD_ISSET(fd, &rs) * 1 | FD_ISSET(fd, &ws) * 2 | FD_ISSET(fd, &es) * 4;
}

CASE(select_sets)
{
	struct pair p;

	pair_open(&p);
	EQ(2, select_one(p.c, true, true));
	EQ(0, select_one(p.c, true, false));
	EQ(0, select_one(p.l, true, true));
	send_text(p.c, "x");
	await(p.s, POLLIN);
	EQ(3, select_one(p.s, true, true));
	recv_text(p.s, "x");
	OK(shutdown(p.c, SHUT_WR));
	await(p.s, POLLIN);
	EQ(1, select_one(p.s, true, false));
	EQ(2, select_one(p.s, false, true));
}

/* ---------------------------------------------------------------------- epoll */

static int epoll_of(int fd, unsigned int events)
{
	struct epoll_event ev = { .events = events, .data.fd = fd };
	int ep = OK(epoll_create1(EPOLL_CLOEXEC));

	OK(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return ep;
}

/* The events of the one descriptor, 0 if none came in time. */
static unsigned int epoll_next(int ep, int ms)
{
	struct epoll_event ev[2];
	int n = OK(epoll_wait(ep, ev, 2, ms));

	if (n > 1)
		FAIL("%d descriptors reported, one is watched", n);
	return n ? ev[0].events : 0;
}

static unsigned int epoll_soon(int ep)
{
	return epoll_next(ep, ktap_ms(10000));
}

/* Waits for a quiet moment, in which nothing more may be reported. */
static unsigned int epoll_more(int ep)
{
	return epoll_next(ep, 30);
}

CASE(epoll_level)
{
	struct pair p;
	int ep, i;

	pair_open(&p);
	ep = epoll_of(p.s, EPOLLIN | EPOLLRDHUP);
	EQ_HEX(0, epoll_next(ep, 0));
	send_text(p.c, "abc");
	for (i = 0; i < 3; i++) {
		EQ_HEX(EPOLLIN, epoll_soon(ep));
		recv_text(p.s, i == 0 ? "a" : i == 1 ? "b" : "c");
	}
	EQ_HEX(0, epoll_next(ep, 0));
	OK(shutdown(p.c, SHUT_WR));
	for (i = 0; i < 3; i++)
		EQ_HEX(EPOLLIN | EPOLLRDHUP, epoll_soon(ep));
	OK(shutdown(p.s, SHUT_WR));
	await(p.s, POLLHUP);
	EQ_HEX(EPOLLIN | EPOLLRDHUP | EPOLLHUP, epoll_soon(ep));
	close(p.s);
	EQ_HEX(0, epoll_next(ep, 0));
}

#define EDGE (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

/* Armed before connect(): the whole life of a connection, edge by edge. */
CASE(epoll_edge_from_connect)
{
	union addr a;
	int l = listener(&a, 4), c = sock_flags(SOCK_NONBLOCK), s;
	int ep = epoll_of(c, EDGE);

	EQ_HEX(EPOLLOUT | EPOLLHUP, epoll_next(ep, 0));
	EQ_HEX(0, epoll_next(ep, 0));
	FAILS(EINPROGRESS, connect_to(c, &a));
	EQ_HEX(EPOLLOUT, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(0, connect_to(c, &a));
	FAILS(EISCONN, connect_to(c, &a));
	must_be_sdp(c);
	s = accept_one(l);
	EQ_HEX(0, epoll_more(ep));
	send_text(s, "hi");
	EQ_HEX(EPOLLIN | EPOLLOUT, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	recv_text(c, "hi");
	EQ_HEX(0, epoll_more(ep));
	close(s);
	EQ_HEX(EPOLLIN | EPOLLOUT | EPOLLRDHUP, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	expect_eof(c);
}

/*
 * Refused: everything at once, and nothing after the error was fetched.  The
 * report may come twice: TCP announces the state and the error one after the
 * other.
 */
CASE(epoll_edge_refused)
{
	const unsigned int all = EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP;
	int c = sock_flags(SOCK_NONBLOCK), ep = epoll_of(c, EDGE);
	unsigned int again;
	union addr a;

	closed_port(&a);
	EQ_HEX(EPOLLOUT | EPOLLHUP, epoll_next(ep, 0));
	FAILS(EINPROGRESS, connect_to(c, &a));
	EQ_HEX(all, epoll_soon(ep));
	again = epoll_more(ep);
	if (again && again != all)
		FAIL("second report: expected none or %#x, got %#x", all, again);
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ_HEX(0, epoll_more(ep));
}

/* Sleeps in poll() from when it is told that connect() was called. */
struct poller {
	struct pollfd p;
	int go[2];
	int ret;
	pthread_t thread;
};

static void *poll_when_told(void *arg)
{
	struct poller *w = arg;
	char byte;

	if (read(w->go[0], &byte, 1) == 1)
		w->ret = poll(&w->p, 1, -1);
	return NULL;
}

/*
 * Armed before connect(), and TCP takes over: one report, as of TCP alone, while
 * a thread sleeps in poll().  One more would come with a wake-up of ours.
 */
CASE_ON(epoll_edge_falls_back, ON_TCP | ON_ULP)
{
	enum { ROUNDS = 50 };
	unsigned long long refused = count("fallback_refused");
	int c[ROUNDS], ep[ROUNDS], i, l, s;
	union addr a;

	if (on_sdp())
		sysctl("cache_timeout", 0);
	l = tcp_listener(&a);
	for (i = 0; i < ROUNDS; i++) {
		struct poller w = { .p.events = POLLIN };

		c[i] = sock_flags(SOCK_NONBLOCK);
		ep[i] = epoll_of(c[i], EDGE);
		w.p.fd = c[i];
		OK(pipe(w.go));
		EQ(0, pthread_create(&w.thread, NULL, poll_when_told, &w));
		EQ_HEX(EPOLLOUT | EPOLLHUP, epoll_next(ep[i], 0));
		FAILS(EINPROGRESS, connect_to(c[i], &a));
		EQ(1, write(w.go[1], "", 1));
		EQ_HEX(EPOLLOUT, epoll_soon(ep[i]));
		EQ(0, get_int(c[i], SOL_SOCKET, SO_ERROR));
		EQ(0, connect_to(c[i], &a));
		EQ(-1, transport(c[i]));
		s = OK(accept(l, NULL, NULL));
		EQ_HEX(0, epoll_next(ep[i], 1));
		send_text(s, "x");
		EQ(0, pthread_join(w.thread, NULL));
		EQ(1, w.ret);
		EQ_HEX(POLLIN, w.p.revents);
		EQ_HEX(EPOLLIN | EPOLLOUT, epoll_soon(ep[i]));
		close(w.go[0]);
		close(w.go[1]);
	}
	/* Nor did one come late. */
	settle();
	for (i = 0; i < ROUNDS; i++)
		EQ_HEX(0, epoll_next(ep[i], 0));
	if (on_sdp())
		EQ(refused + ROUNDS, counter("fallback_refused"));
}

static void task_send_thin(struct task *t)
{
	size_t i;

	for (i = 0; i < t->len; i += 1500)
		send_pattern(t->fd, 1500, 1, i);
	t->ret = i;
}

/*
 * More is asked for than is here while nobody looks: it is let in and told of;
 * or, if there is no place for so much, that this is all.
 */
CASE(epoll_edge_rcvlowat_raised)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct task t = { .run = task_send_thin, .len = 450000 };
		struct pair p;
		int ep;

		pair_start(&p);
		if (i)
			OK(set_int(p.c, SOL_SOCKET, SO_RCVBUF, 32768));
		pair_finish(&p);
		OK(set_int(p.s, SOL_TCP, TCP_NODELAY, 1));
		ep = epoll_of(p.c, EPOLLIN | EPOLLET);
		t.fd = p.s;
		task_start(&t);
		EQ_HEX(EPOLLIN, epoll_soon(ep));
		while (epoll_more(ep))
			;
		OK(set_int(p.c, SOL_SOCKET, SO_RCVLOWAT, i ? 32768 : 150000));
		EQ_HEX(EPOLLIN, epoll_soon(ep));
		if (on_sdp() && !i)
			CHECK(inq(p.c) >= 150000);
		close(ep);
		recv_past_lowat(p.c, t.len, 1, 0);
		EQ(t.len, task_join(&t));
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/*
 * Somebody reads a little, and there is less than the mark.  (TCP tells if its
 * window opens by that, which depends on when the peer has asked.)
 */
CASE_ON(epoll_edge_rcvlowat_less, ON_SDP)
{
	struct task t = { .run = task_send_all, .len = 1 << 20 };
	struct pair p;
	char buf[10];
	int ep;

	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	ep = epoll_of(p.s, EPOLLIN | EPOLLET);
	t.fd = p.c;
	task_start(&t);
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	while (epoll_more(ep))
		;
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, inq(p.s)));
	while (epoll_more(ep))
		;
	EQ(10, recv(p.s, buf, sizeof(buf), 0));
	EQ(-1, pattern_check(buf, sizeof(buf), 1, 0));
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	recv_pattern(p.s, t.len - 10, 1, 10);
	EQ(t.len, task_join(&t));
}

/* One report for each arrival, none without. */
CASE(epoll_edge_data)
{
	char buf[100];
	struct pair p;
	int ep, i;

	pair_open(&p);
	ep = epoll_of(p.s, EPOLLIN | EPOLLET);
	EQ_HEX(0, epoll_next(ep, 0));
	for (i = 0; i < 10; i++) {
		send_pattern(p.c, 100, 5, i * 100);
		EQ_HEX(EPOLLIN, epoll_soon(ep));
		EQ_HEX(0, i & 1 ? epoll_more(ep) : 0);
		/* Reading a part is no reason for another one. */
		recv_pattern(p.s, 50, 5, i * 100);
		EQ_HEX(0, epoll_next(ep, 0));
		recv_pattern(p.s, 50, 5, i * 100 + 50);
		FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));
		EQ_HEX(0, epoll_next(ep, 0));
	}
	/* Unread data: what comes on top is reported still. */
	send_pattern(p.c, 100, 6, 0);
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	send_pattern(p.c, 100, 6, 100);
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	/* Armed anew, what is there is reported once. */
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET };

	OK(epoll_ctl(ep, EPOLL_CTL_MOD, p.s, &ev));
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	recv_pattern(p.s, 200, 6, 0);
}

/* The classic loop: on each report read until EAGAIN; nothing is forgotten. */
CASE(epoll_edge_stream)
{
	struct task t = { .run = task_send_all, .len = 3000000 };
	static char buf[20000];
	size_t pos = 0;
	struct pair p;
	ssize_t n;
	int ep;

	pair_open(&p);
	nonblock(p.s, true);
	ep = epoll_of(p.s, EPOLLIN | EPOLLET);
	t.fd = p.c;
	task_start(&t);
	while (pos < t.len) {
		if (!epoll_soon(ep))
			FAIL("no event in 10 s after %zu of %zu bytes", pos, t.len);
		while ((n = recv(p.s, buf, sizeof(buf), 0)) > 0) {
			EQ(-1, pattern_check(buf, n, 1, pos));
			pos += n;
		}
		if (n == 0 || errno != EAGAIN)
			FAIL("recv: %zd %s", n, ktap_errno(errno));
	}
	task_join(&t);
}

/* The same for the writing side. */
CASE(epoll_edge_writer)
{
	struct task t = { .run = task_drain };
	static char buf[50000];
	size_t pos = 0;
	struct pair p;
	ssize_t n;
	int ep;

	pair_open(&p);
	nonblock(p.c, true);
	ep = epoll_of(p.c, EPOLLOUT | EPOLLET);
	EQ_HEX(EPOLLOUT, epoll_soon(ep));
	t.fd = p.s;
	task_start(&t);
	while (pos < 3000000) {
		pattern_fill(buf, sizeof(buf), 1, pos);
		n = send(p.c, buf, sizeof(buf), MSG_NOSIGNAL);
		if (n > 0) {
			pos += n;
			continue;
		}
		if (errno != EAGAIN)
			FAIL("send: %s", ktap_errno(errno));
		if (!epoll_soon(ep))
			FAIL("no room reported in 10 s after %zu bytes", pos);
	}
	OK(shutdown(p.c, SHUT_WR));
	EQ(pos, task_join(&t));
}

CASE(epoll_edge_full)
{
	struct pair p;
	long long sum;
	int ep;

	pair_open(&p);
	ep = epoll_of(p.c, EPOLLOUT | EPOLLET);
	EQ_HEX(EPOLLOUT, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	sum = fill(p.c, 5);
	/* What was reported while it was filled. */
	while (epoll_more(ep))
		;
	recv_pattern(p.s, sum, 5, 0);
	EQ_HEX(EPOLLOUT, epoll_soon(ep));
	EQ_HEX(POLLOUT, poll_one(p.c, POLLOUT, 0));
}

CASE(epoll_edge_listener)
{
	union addr a;
	int l = listener(&a, 8), ep, i, c[3];

	nonblock(l, true);
	ep = epoll_of(l, EPOLLIN | EPOLLET);
	EQ_HEX(0, epoll_next(ep, 0));
	for (i = 0; i < 3; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		EQ_HEX(EPOLLIN, epoll_soon(ep));
		if (i == 1)
			EQ_HEX(0, epoll_more(ep));
	}
	for (i = 0; i < 3; i++)
		must_be_sdp(OK(accept(l, NULL, NULL)));
	FAILS(EAGAIN, accept(l, NULL, NULL));
	EQ_HEX(0, epoll_more(ep));
}

CASE(epoll_oneshot)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLONESHOT };
	struct pair p;
	int ep;

	pair_open(&p);
	ep = epoll_of(p.s, EPOLLIN | EPOLLONESHOT);
	send_text(p.c, "a");
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	send_text(p.c, "b");
	OK(shutdown(p.c, SHUT_WR));
	EQ_HEX(0, epoll_more(ep));
	OK(epoll_ctl(ep, EPOLL_CTL_MOD, p.s, &ev));
	EQ_HEX(EPOLLIN, epoll_soon(ep));
	EQ_HEX(0, epoll_next(ep, 0));
	recv_text(p.s, "ab");
}

CASE(epoll_rdhup)
{
	struct pair p;
	int ep;

	pair_open(&p);
	ep = epoll_of(p.s, EPOLLRDHUP | EPOLLET);
	send_text(p.c, "x");
	await(p.s, POLLIN);
	EQ_HEX(0, epoll_more(ep) & ~EPOLLIN);
	OK(shutdown(p.c, SHUT_WR));
	EQ_HEX(EPOLLRDHUP, epoll_soon(ep));
	EQ_HEX(0, epoll_more(ep));
	OK(shutdown(p.s, SHUT_WR));
	EQ_HEX(EPOLLRDHUP | EPOLLHUP, epoll_soon(ep));
}

/* Two watch the same socket: level and edge do not disturb one another. */
CASE(epoll_two_watchers)
{
	struct pair p;
	int level, edge;

	pair_open(&p);
	level = epoll_of(p.s, EPOLLIN);
	edge = epoll_of(p.s, EPOLLIN | EPOLLET);
	send_text(p.c, "x");
	EQ_HEX(EPOLLIN, epoll_soon(level));
	EQ_HEX(EPOLLIN, epoll_soon(edge));
	EQ_HEX(EPOLLIN, epoll_soon(level));
	EQ_HEX(0, epoll_next(edge, 0));
	recv_text(p.s, "x");
	EQ_HEX(0, epoll_next(level, 0));
}

/* EPOLLEXCLUSIVE on a listener: who waits is served, nobody sleeps for ever. */
CASE(epoll_exclusive)
{
	union addr a;
	int l = listener(&a, 8), ep[2];

	ep[0] = epoll_of(l, EPOLLIN | EPOLLEXCLUSIVE);
	ep[1] = epoll_of(l, EPOLLIN | EPOLLEXCLUSIVE);
	OK(connect_to(sock(), &a));
	await(l, POLLIN);
	EVENTUALLY(true, epoll_next(ep[0], 0) || epoll_next(ep[1], 0));
	accept_one(l);
	EQ_HEX(0, epoll_next(ep[0], 0));
	EQ_HEX(0, epoll_next(ep[1], 0));
}

/* ---------------------------------------------------------------------- SIGIO */

CASE(sigio)
{
	struct timespec limit = { .tv_sec = ktap_ms(10000) / 1000 };
	siginfo_t info;
	struct pair p;
	sigset_t set;
	int on = 1;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	sigaddset(&set, SIGRTMIN);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	pair_open(&p);
	OK(fcntl(p.s, F_SETOWN, getpid()));
	EQ(getpid(), fcntl(p.s, F_GETOWN));
	OK(ioctl(p.s, FIOASYNC, &on));
	EQ(O_ASYNC, fcntl(p.s, F_GETFL) & O_ASYNC);
	send_text(p.c, "x");
	EQ(SIGIO, sigtimedwait(&set, &info, &limit));
	recv_text(p.s, "x");

	/* With a signal of one's own the descriptor comes along. */
	OK(fcntl(p.s, F_SETSIG, SIGRTMIN));
	send_text(p.c, "y");
	EQ(SIGRTMIN, sigtimedwait(&set, &info, &limit));
	EQ(p.s, info.si_fd);
	recv_text(p.s, "y");
	while (sigtimedwait(&set, &info, &(struct timespec){ }) > 0)
		;
	close(p.c);
	EQ(SIGRTMIN, sigtimedwait(&set, &info, &limit));
	/* Closed while armed: the kernel's log would complain. */
	OK(close(p.s));
}

CASE(sigio_listener)
{
	struct timespec limit = { .tv_sec = ktap_ms(10000) / 1000 };
	union addr a;
	int l = listener(&a, 4);
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	OK(fcntl(l, F_SETOWN, getpid()));
	OK(fcntl(l, F_SETFL, O_ASYNC | O_NONBLOCK));
	OK(connect_to(sock(), &a));
	EQ(SIGIO, sigtimedwait(&set, &info, &limit));
	accept_one(l);
}
