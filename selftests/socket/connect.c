// SPDX-License-Identifier: GPL-2.0
/* Connecting: blocking, non-blocking, refused, interrupted, undone. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/variant.h"

CASE(connect_blocking)
{
	struct pair p;

	pair_open(&p);
	send_text(p.c, "question");
	recv_text(p.s, "question");
	send_text(p.s, "answer");
	recv_text(p.c, "answer");
	EQ(0, get_int(p.c, SOL_SOCKET, SO_ERROR));
	FAILS(EISCONN, connect_to(p.c, &p.addr));
	FAILS(EISCONN, connect_to(p.s, &p.addr));
}

/* Nobody has to be in accept() for connect() to return. */
CASE(connect_before_accept)
{
	union addr a;
	int l = listener(&a, 4), c = sock(), s;

	OK(connect_to(c, &a));
	must_be_sdp(c);
	send_text(c, "early");
	s = accept_one(l);
	recv_text(s, "early");
}

CASE(connect_nonblocking)
{
	union addr a;
	int l = listener(&a, 4), c = sock(), s;

	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, &a));
	EQ_HEX(POLLOUT, await(c, POLLOUT));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	/* The first look at the outcome is 0, further ones are errors. */
	EQ(0, connect_to(c, &a));
	FAILS(EISCONN, connect_to(c, &a));
	FAILS(EISCONN, connect_to(c, &a));
	must_be_sdp(c);
	s = accept_one(l);
	send_text(c, "hi");
	recv_text(s, "hi");
	FAILS(EAGAIN, recv(c, &a, 1, 0));
}

CASE(connect_already)
{
	union addr a;
	int c = sock();

	nobody(&a);
	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, &a));
	FAILS(EALREADY, connect_to(c, &a));
	FAILS(EALREADY, connect_to(c, &a));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ_HEX(0, poll_one(c, POLLIN | POLLOUT | POLLRDHUP, 0));
	FAILS(EAGAIN, send(c, &a, 1, MSG_NOSIGNAL));
	FAILS(EINVAL, listen(c, 1));
	OK(close(c));
}

/* A blocking second call waits for the first. */
CASE(connect_already_blocking)
{
	union addr a;
	int l = listener(&a, 4), c = sock();

	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, &a));
	nonblock(c, false);
	OK(connect_to(c, &a));
	FAILS(EISCONN, connect_to(c, &a));
	accept_one(l);
}

/* Refused over SDP and then by TCP, a socket by TCP_ULP is TCP's for good:
 * a documented difference from one that had never tried.
 */
static int serves_after_refusal_(int c, int l)
{
	struct sdp_info info;
	int s;

	if (variant->via != VIA_ULP) {
		must_be_sdp(c);
		accept_one(l);
		return 0;
	}
	EQ(-1, sdp_info(c, &info));
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	EQ(-1, sdp_info(s, &info));
	return 0;
}

#define serves_after_refusal(c, l)	CALL(serves_after_refusal_(c, l))

CASE(connect_refused)
{
	union addr a, open;
	int c = sock(), l;

	closed_port(&a);
	FAILS(ECONNREFUSED, connect_to(c, &a));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	FAILS(ENOTCONN, peer_of(c, &a));
	FAILS(ECONNREFUSED, connect_to(c, &a));
	/* The socket is good for another address. */
	l = listener(&open, 4);
	OK(connect_to(c, &open));
	serves_after_refusal(c, l);
}

CASE(connect_refused_nonblocking)
{
	union addr a;
	int c = sock();

	closed_port(&a);
	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, &a));
	EQ_HEX(POLLIN | POLLOUT | POLLERR | POLLHUP | POLLRDHUP,
	       await_end(c, POLLIN | POLLOUT | POLLRDHUP));
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ_HEX(POLLIN | POLLOUT | POLLHUP | POLLRDHUP,
	       poll_one(c, POLLIN | POLLOUT | POLLRDHUP, 0));
	EQ(0, recv(c, &a, 1, 0));
	FAILS(EPIPE, send(c, &a, 1, MSG_NOSIGNAL));
}

/* The error not yet fetched is the next connect()'s, once. */
CASE(connect_refused_second_call)
{
	union addr a, open;
	int c = sock(), l;

	closed_port(&a);
	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await_end(c, POLLOUT);
	FAILS(ECONNREFUSED, connect_to(c, &a));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	FAILS(EINPROGRESS, connect_to(c, &a));
	await_end(c, POLLOUT);
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
	FAILS(ECONNABORTED, connect_to(c, &a));
	l = listener(&open, 4);
	FAILS(EINPROGRESS, connect_to(c, &open));
	await(c, POLLOUT);
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	serves_after_refusal(c, l);
}

/* Whoever looks while it is decided sees nothing, or the end with its error. */
CASE(connect_refused_watched)
{
	union addr a;
	int i;

	closed_port(&a);
	for (i = 0; i < 100; i++) {
		long long end = ktap_now() + ktap_ms(10000);
		int c = sock_flags(SOCK_NONBLOCK), got;

		FAILS(EINPROGRESS, connect_to(c, &a));
		do {
			CHECK(ktap_now() < end);
			got = poll_one(c, POLLIN | POLLOUT, 0);
			if (got && !(got & POLLERR))
				FAIL("poll: %#x without an error", got);
		} while (!got);
		EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
		OK(close(c));
	}
}

/* The error not yet fetched is recv()'s and send()'s too. */
CASE(connect_refused_recv)
{
	union addr a;
	char x = 0;
	int c;

	closed_port(&a);
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await(c, POLLERR);
	FAILS(ECONNREFUSED, recv(c, &x, 1, 0));
	EQ(0, recv(c, &x, 1, 0));
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await(c, POLLERR);
	FAILS(ECONNREFUSED, send(c, &x, 1, MSG_NOSIGNAL));
	FAILS(EPIPE, send(c, &x, 1, MSG_NOSIGNAL));
}

/* Interrupted, it goes on in the background. */
CASE(connect_interrupted)
{
	union addr a;
	struct task t = { .run = task_connect, .fd = sock(), .addr = &a };

	catch(0);
	nobody(&a);
	task_start(&t);
	CHECK(!t.done);
	pthread_kill(t.thread, SIGUSR1);
	FAILS(EINTR, task_join(&t));
	nonblock(t.fd, true);
	FAILS(EALREADY, connect_to(t.fd, &a));
}

CASE(connect_timeout)
{
	struct ktap_watch start = ktap_watch();
	union addr a;
	int c = sock();

	nobody(&a);
	OK(set_ms(c, SO_SNDTIMEO, 100));
	FAILS(EINPROGRESS, connect_to(c, &a));
	WAITED(100, ktap_ms(1900), start);
	FAILS(EALREADY, connect_to(c, &a));
}
BY_CLOCK(connect_timeout);

/* Closing, or dying, while a connection is under way leaves nothing behind. */
CASE(connect_and_close)
{
	union addr a, b;
	int l = listener(&b, 64), i, c;

	nobody(&a);
	for (i = 0; i < 20; i++) {
		c = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c, i & 1 ? &a : &b));
		OK(close(c));
	}
	c = sock();
	OK(connect_to(c, &b));
	send_text(c, "x");
	/* What is accepted before it has an end. */
	for (i = 0; i < 21; i++) {
		char text;
		int s;

		await(l, POLLIN);
		s = OK(accept(l, NULL, NULL));
		if (recv(s, &text, 1, 0) == 1)
			return;
		close(s);
	}
	FAIL("the last connection was not accepted");
}

CASE(connect_and_be_killed)
{
	union addr a;
	int c = sock(), ready[2];
	pid_t pid;
	char byte = 0;

	nobody(&a);
	OK(pipe(ready));
	pid = OK(fork());
	if (!pid) {
		/* From here on it sleeps in connect() only. */
		if (write(ready[1], &byte, 1) == 1)
			connect_to(c, &a);
		pause();
	}
	EQ(1, read(ready[0], &byte, 1));
	close(ready[0]);
	close(ready[1]);
	wait_asleep(pid, pid);
	OK(kill(pid, SIGKILL));
	EQ(pid, waitpid(pid, NULL, 0));
	nonblock(c, true);
	FAILS(EALREADY, connect_to(c, &a));
	OK(close(c));
}

/* TCP of 5.10 leaves a socket that somebody waits for as it is, since its update 181. */
static void disconnects(int ret)
{
	if (ret && errno == EBUSY && !on_sdp() && !kernel_since(6, 1))
		ktap_skip("TCP of this kernel disconnects nobody who waits");
	OK(ret);
}

CASE(connect_shutdown)
{
	union addr a;
	struct task t = { .run = task_connect, .fd = sock(), .addr = &a };

	nobody(&a);
	task_start(&t);
	CHECK(!t.done);
	disconnects(shutdown(t.fd, SHUT_RDWR));
	EQ(-1, task_join(&t));
	if (errno != ECONNABORTED && errno != ECONNRESET)
		FAIL("connect: expected ECONNABORTED, got %s", ktap_errno(errno));
}

static pthread_barrier_t together;

static void task_connect_together(struct task *t)
{
	pthread_barrier_wait(&together);
	task_connect(t);
}

/*
 * Of two threads in connect() one is told why it failed; the other, if it waited for
 * the same attempt, that it is over, and if it came later, the same of one of its own.
 * With SDP a must neither gets to the one who listens for TCP alone.
 */
CASE(connect_by_two_refused)
{
	enum { ROUNDS = 300, BOTH = 2 };
	struct task t[BOTH];
	int i, k, l, told[BOTH] = { };
	union addr a;

	if (on_sdp()) {
		l = tcp_sock();
		here(&a, 0);
		OK(bind_to(l, &a));
		OK(listen(l, 4));
		OK(name_of(l, &a));
		nonblock(l, true);
	} else {
		l = listener(&a, 4);
		OK(close(l));
	}
	pthread_barrier_init(&together, NULL, BOTH);
	for (i = 0; i < ROUNDS; i++) {
		int c = sock();

		if (on_sdp())
			OK(set_int(c, SOL_SDP, SDP_FALLBACK, 0));
		for (k = 0; k < BOTH; k++) {
			t[k] = (struct task){ .run = task_connect_together, .fd = c,
					      .addr = &a };
			task_start(&t[k]);
		}
		for (k = 0; k < BOTH; k++) {
			EQ(-1, task_join(&t[k]));
			/* EPIPE is newer kernels' word for who was overtaken. */
			if (errno != ECONNREFUSED && errno != ECONNABORTED &&
			    (on_sdp() || errno != EPIPE))
				FAIL("connect: %s", ktap_errno(errno));
			told[k] = errno == ECONNREFUSED;
		}
		CHECK(told[0] || told[1]);
		if (on_sdp())
			FAILS(EAGAIN, accept(l, NULL, NULL));
		OK(close(c));
	}
}

CASE(connect_wrong_address)
{
	bool v4 = variant->family == AF_INET;
	union addr a, l;
	int c = sock(), s;

	s = listener(&l, 4);
	a = l;
	FAILS(EINVAL, connect(c, &a.sa, 0));
	FAILS(EINVAL, connect(c, &a.sa, 1));
	FAILS(EINVAL, connect(c, &a.sa, v4 ? 8 : 20));
	FAILS(EFAULT, connect(c, (void *)8, sizeof(a.in6)));
	FAILS(EINVAL, connect(c, &a.sa, sizeof(a) + 1));
	a.sa.sa_family = AF_UNIX;
	FAILS(EAFNOSUPPORT, connect(c, &a.sa, sizeof(a.in6)));
	a.sa.sa_family = v4 ? AF_INET6 : AF_INET;
	FAILS(EAFNOSUPPORT, connect(c, &a.sa, sizeof(a.in6)));
	FAILS(EBADF, connect(-1, &l.sa, addr_len(&l)));
	/* None of this has used the socket up. */
	OK(connect_to(c, &l));
	must_be_sdp(c);
	accept_one(s);
}

CASE(connect_no_route)
{
	bool v4 = variant->family == AF_INET;
	union addr a;
	int c = sock();

	/* Nets for documentation: without default route unreachable. */
	addr_set(&a, variant->family, v4 ? "192.0.2.1" : "2001:db8::1", 9);
	if (connect_to(c, &a) == 0 || errno != ENETUNREACH)
		FAIL("connect: expected ENETUNREACH, got %s", ktap_errno(errno));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
}

/* He who does not wait is told at once as well, and can go elsewhere then. */
CASE(connect_no_route_at_once)
{
	bool v4 = variant->family == AF_INET;
	union addr a, l;
	int c = sock(), p = epoll_create1(0);
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT };
	int s = listener(&l, 4);

	addr_set(&a, variant->family, v4 ? "192.0.2.1" : "2001:db8::1", 9);
	OK(p);
	OK(epoll_ctl(p, EPOLL_CTL_ADD, c, &e));
	nonblock(c, true);
	FAILS(ENETUNREACH, connect_to(c, &a));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(1, epoll_wait(p, &e, 1, 0));
	EQ(EPOLLOUT | EPOLLHUP, e.events);
	nonblock(c, false);
	OK(connect_to(c, &l));
	accept_any(s);
}

CASE(connect_bound)
{
	union addr a, from, name;
	int l = listener(&a, 4), c = sock(), s;

	here(&from, 0);
	OK(bind_to(c, &from));
	OK(name_of(c, &from));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	s = accept_one(l);
	OK(name_of(c, &name));
	CHECK(addr_equal(&name, &from));
	OK(peer_of(s, &name));
	if (!addr_equal(&name, &from))
		FAIL("peer of the server: expected %s, got %s", addr_text(&from), addr_text(&name));
}

/* connect() to AF_UNSPEC undoes a connection; the socket can be used anew. */
CASE(connect_unspec)
{
	union addr x = { .sa.sa_family = AF_UNSPEC };
	struct pair p;
	int s;

	pair_open(&p);
	OK(connect(p.c, &x.sa, sizeof(x.in)));
	FAILS(ENOTCONN, peer_of(p.c, &x));
	EQ_HEX(POLLERR, poll_one(p.c, 0, 0) & POLLERR);
	EQ(ECONNRESET, get_int(p.c, SOL_SOCKET, SO_ERROR));
	expect_reset(p.s);
	OK(connect_to(p.c, &p.addr));
	must_be_sdp(p.c);
	s = accept_one(p.l);
	send_text(p.c, "second life");
	recv_text(s, "second life");
}

/* One that came to its end, by an error or by both sides, is dissolved without. */
CASE(connect_unspec_ended)
{
	union addr x = { .sa.sa_family = AF_UNSPEC };
	struct linger at_once = { .l_onoff = 1 };
	struct pair p;

	pair_open(&p);
	OK(setsockopt(p.s, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	close(p.s);
	expect_reset(p.c);
	OK(connect(p.c, &x.sa, sizeof(x.in)));
	EQ(0, get_int(p.c, SOL_SOCKET, SO_ERROR));

	OK(connect_to(p.c, &p.addr));
	p.s = accept_one(p.l);
	close(p.s);
	expect_eof(p.c);
	OK(shutdown(p.c, SHUT_WR));
	settle();
	OK(connect(p.c, &x.sa, sizeof(x.in)));
	EQ(0, get_int(p.c, SOL_SOCKET, SO_ERROR));
}

/* Who waits for bytes meanwhile is not told that these have come to their end. */
CASE(connect_unspec_reader)
{
	union addr x = { .sa.sa_family = AF_UNSPEC };
	char byte;
	struct task t = { .run = task_recv, .buf = &byte, .len = 1 };
	struct pair p;

	pair_open(&p);
	t.fd = p.c;
	task_start(&t);
	disconnects(connect(p.c, &x.sa, sizeof(x.in)));
	FAILS(EPIPE, task_join(&t));
	expect_reset(p.s);
	OK(connect_to(p.c, &p.addr));
	must_be_sdp(p.c);
	send_text(p.c, "second life");
	recv_text(accept_one(p.l), "second life");
}

CASE(connect_unspec_fresh)
{
	union addr x = { .sa.sa_family = AF_UNSPEC }, a;
	int c = sock(), l = listener(&a, 4);

	OK(connect(c, &x.sa, sizeof(x.in)));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	accept_one(l);
}

CASE(connect_unspec_connecting)
{
	union addr x = { .sa.sa_family = AF_UNSPEC }, a, b;
	int c = sock_flags(SOCK_NONBLOCK), l = listener(&b, 4);

	nobody(&a);
	FAILS(EINPROGRESS, connect_to(c, &a));
	OK(connect(c, &x.sa, sizeof(x.in)));
	EQ(ECONNRESET, get_int(c, SOL_SOCKET, SO_ERROR));
	FAILS(EINPROGRESS, connect_to(c, &b));
	expect_connected(c);
	accept_one(l);
}

/* An error that nobody asked for is not the next connection's. */
CASE(connect_unspec_error_left)
{
	union addr x = { .sa.sa_family = AF_UNSPEC }, a, b;
	int c = sock_flags(SOCK_NONBLOCK), l = listener(&b, 4), s;

	nobody(&a);
	FAILS(EINPROGRESS, connect_to(c, &a));
	OK(connect(c, &x.sa, sizeof(x.in)));
	nonblock(c, false);
	OK(connect_to(c, &b));
	must_be_sdp(c);
	s = accept_one(l);
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	send_text(c, "second life");
	recv_text(s, "second life");
}

/* It is no listener any more, those in its queue are reset, and it may be one again. */
CASE(connect_unspec_listener)
{
	union addr x = { .sa.sa_family = AF_UNSPEC }, a, b;
	int l = listener(&a, 4), c = sock();

	OK(connect_to(c, &a));
	must_be_sdp(c);
	settle();	/* the last handshake may be under way still */
	OK(connect(l, &x.sa, sizeof(x.in)));
	FAILS(EINVAL, accept(l, NULL, NULL));
	EQ(0, get_int(l, SOL_SOCKET, SO_ACCEPTCONN));
	expect_reset(c);
	FAILS(ECONNREFUSED, connect_to(sock(), &a));

	OK(listen(l, 4));	/* by another port: it was bound by nobody */
	OK(name_of(l, &b));
	if (addr_port(&a) != addr_port(&b))
		FAILS(ECONNREFUSED, connect_to(sock(), &a));
	here(&a, addr_port(&b));
	serves(l, &a);
}

/* Many at once, each with its own byte. */
CASE(connect_many)
{
	enum { N = 32 };
	int l, c[N], i, s;
	unsigned char x;
	union addr a;

	l = listener(&a, N);
	for (i = 0; i < N; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	for (i = 0; i < N; i++) {
		expect_connected(c[i]);
		x = i;
		EQ(1, send(c[i], &x, 1, 0));
	}
	for (i = 0; i < N; i++) {
		s = accept_one(l);
		EQ(1, recv(s, &x, 1, 0));
		EQ(1, send(s, &x, 1, 0));
	}
	for (i = 0; i < N; i++) {
		await(c[i], POLLIN);
		EQ(1, recv(c[i], &x, 1, 0));
		EQ(i, x);
	}
}

/* One after the other, with nothing left over. */
CASE(connect_in_a_row)
{
	union addr a;
	int l = listener(&a, 4), c, s, i;

	for (i = 0; i < 50; i++) {
		c = sock();
		OK(connect_to(c, &a));
		s = accept_one(l);
		send_pattern(c, 100, i, 0);
		recv_pattern(s, 100, i, 0);
		if (i & 1) {
			close(c);
			expect_eof(s);
			close(s);
		} else {
			close(s);
			expect_eof(c);
			close(c);
		}
	}
}

/* Early send() waits for the connection, as does recv(). */
CASE(connect_early_calls)
{
	char buf[16];
	union addr a;
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	int l = listener(&a, 4), c = sock(), s;

	nonblock(c, true);
	FAILS(EINPROGRESS, connect_to(c, &a));
	nonblock(c, false);
	send_text(c, "early");
	t.fd = c;
	task_start(&t);
	s = accept_one(l);
	recv_text(s, "early");
	send_text(s, "late");
	EQ(4, task_join(&t));
	must_be_sdp(c);
}

/* As does splice(); nobody is let in before the two who fill the backlog. */
CASE(connect_early_splice)
{
	union addr a;
	struct task t = { .run = task_splice, .fd = sock(), .len = 100 };
	int l = listener(&a, 1), s = -1, fds[2], i;

	OK(pipe(fds));
	for (i = 0; i < 2; i++)
		OK(connect_to(sock(), &a));
	nonblock(t.fd, true);
	FAILS(EINPROGRESS, connect_to(t.fd, &a));
	nonblock(t.fd, false);
	t.other = fds[1];
	task_start(&t);
	CHECK(!t.done);
	for (i = 0; i < 3; i++)
		s = accept_one(l);
	send_text(s, "late");
	EQ(4, task_join(&t));
	must_be_sdp(t.fd);
}
