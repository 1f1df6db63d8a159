// SPDX-License-Identifier: GPL-2.0
/*
 * Two hosts: opening and closing, dying, transfers, many connections.  More of
 * them are in pair_*.c.
 *
 *	h2: sdp_pair --server
 *	h1: sdp_pair [-l] [-t CASE]... [-v VARIANT]...
 *	h1: sdp_pair --quit			(ends the server)
 *
 * SDP_HOST tells which host this is (h1 or h2), SDP_PAIR_PORT another control
 * port, SDP_PAIR_SERVER another address of the server.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>

#include "lib/pair.h"

/* ------------------------------------------------------------------ the cases */

PAIR_CASE(echo)

static void echo_client(void)
{
	union addr a, x;
	int c;

	server_addr(&a);
	c = connect_client(&a);
	OK(name_of(c, &x));
	tell_number(addr_port(&x));
	OK(peer_of(c, &x));
	CHECK(addr_equal(&x, &a));
	send_text(c, "question");
	recv_text(c, "answer");
	expect_eof(c);
}

static void echo_server(void)
{
	int l = serve_port(8), s;
	union addr from, x;
	socklen_t len = sizeof(from);

	await(l, POLLIN);
	s = OK(accept(l, &from.sa, &len));
	must_be_sdp(s);
	addr_set(&x, variant->family, host_addr(variant->family, "h1"), hear_number());
	if (!addr_equal(&from, &x))
		FAIL("client's address: expected %s, got %s", addr_text(&x), addr_text(&from));
	OK(peer_of(s, &from));
	CHECK(addr_equal(&from, &x));
	recv_text(s, "question");
	send_text(s, "answer");
}

PAIR_CASE(nonblocking_connect)

static void nonblocking_connect_client(void)
{
	union addr a;
	int c = sock_flags(SOCK_NONBLOCK);

	server_addr(&a);
	FAILS(EINPROGRESS, connect_to(c, &a));
	EQ_HEX(POLLOUT, await(c, POLLOUT));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(0, connect_to(c, &a));
	FAILS(EISCONN, connect_to(c, &a));
	must_be_sdp(c);
	send_text(c, "hello");
	meet("done");
}

static void nonblocking_connect_server(void)
{
	recv_text(open_server(), "hello");
	meet("done");
}

PAIR_CASE(refused)

static void refused_client(void)
{
	union addr a;
	int c = sock();

	server_addr(&a);
	FAILS(ECONNREFUSED, connect_to(c, &a));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await_end(c, POLLERR);
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
	meet("done");
}

static void refused_server(void)
{
	union addr a;

	closed_port(&a);
	tell_number(addr_port(&a));
	meet("done");
}

PAIR_CASE(half_close)

static void half_close_client(void)
{
	int c = open_client();

	send_pattern(c, 100000, 2, 0);
	OK(shutdown(c, SHUT_WR));
	EQ(2000000, drain(c, 3, 0));
	expect_eof(c);
	meet("done");
}

static void half_close_server(void)
{
	int s = open_server();

	EQ(100000, drain(s, 2, 0));
	expect_eof(s);
	send_pattern(s, 2000000, 3, 0);
	OK(shutdown(s, SHUT_WR));
	meet("done");
	await(s, POLLHUP);
}

/* The same with the server ahead. */
PAIR_CASE(half_close_by_server)

static void half_close_by_server_client(void)
{
	int c = open_client();

	EQ(100000, drain(c, 2, 0));
	meet("server is through");
	send_pattern(c, 2000000, 3, 0);
	close(c);
	meet("done");
}

static void half_close_by_server_server(void)
{
	int s = open_server();

	send_pattern(s, 100000, 2, 0);
	OK(shutdown(s, SHUT_WR));
	meet("server is through");
	EQ(2000000, drain(s, 3, 0));
	meet("done");
}

PAIR_CASE(simultaneous_close)

static void simultaneous_close_client(void)
{
	union addr a;
	int c, i;

	server_addr(&a);
	for (i = 0; i < 20; i++) {
		c = connect_client(&a);
		meet("close");
		OK(close(c));
	}
	meet("done");
}

static void simultaneous_close_server(void)
{
	int l = serve_port(8), s, i;

	for (i = 0; i < 20; i++) {
		s = accept_one(l);
		meet("close");
		OK(close(s));
	}
	meet("done");
}

PAIR_CASE(simultaneous_shutdown)

static void simultaneous_shutdown_both(int fd, __u64 in, __u64 out)
{
	send_pattern(fd, 20000, out, 0);
	meet("shut");
	OK(shutdown(fd, SHUT_WR));
	EQ(20000, drain(fd, in, 0));
	await(fd, POLLHUP);
	meet("over");
	close(fd);
}

static void simultaneous_shutdown_client(void)
{
	union addr a;
	int i;

	server_addr(&a);
	for (i = 0; i < 10; i++)
		simultaneous_shutdown_both(connect_client(&a), i, i + 100);
}

static void simultaneous_shutdown_server(void)
{
	int l = serve_port(8), i;

	for (i = 0; i < 10; i++)
		simultaneous_shutdown_both(accept_one(l), i + 100, i);
}

PAIR_CASE(abort_by_client)

static void abort_by_client_client(void)
{
	int c = open_client();

	send_text(c, "arrived");
	meet("data is there");
	linger(c, 0);
	close(c);
	meet("reset seen");
}

static void abort_by_client_server(void)
{
	int s = open_server();
	char x = 0;

	arrived(s, 7);
	meet("data is there");
	await(s, POLLERR);
	recv_text(s, "arrived");
	FAILS(ECONNRESET, recv(s, &x, 1, 0));
	expect_eof(s);
	FAILS(EPIPE, send(s, &x, 1, MSG_NOSIGNAL));
	meet("reset seen");
}

PAIR_CASE(abort_by_server)

static void abort_by_server_client(void)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };

	t.fd = open_client();
	task_start(&t);
	meet("waiting");
	FAILS(ECONNRESET, task_join(&t));
	FAILS(EPIPE, send(t.fd, buf, 1, MSG_NOSIGNAL));
}

static void abort_by_server_server(void)
{
	int s = open_server();

	linger(s, 0);
	meet("waiting");
	close(s);
}

PAIR_CASE(close_with_unread_data)

static void close_with_unread_data_client(void)
{
	int c = open_client();

	send_text(c, "nobody reads this");
	meet("closed");
	expect_reset(c);
}

static void close_with_unread_data_server(void)
{
	int s = open_server();

	arrived(s, 17);
	close(s);
	meet("closed");
}

/* Killed while it sends: all that it had sent, then the end. */
PAIR_CASE(kill_sender)

static void kill_sender_client(void)
{
	int c = open_client();
	long long n;

	recv_pattern(c, 1000000, 2, 0);
	tell_number(1);
	n = drain(c, 2, 1000000);
	ktap_note("%lld bytes after the kill", n);
}

static void kill_sender_server(void)
{
	int s = open_server();
	pid_t pid = OK(fork());

	if (!pid)
		send_pattern(s, 1ull << 40, 2, 0);
	close(s);
	hear_number();
	OK(kill(pid, SIGKILL));
}

/* Killed with data unread: who sends to it is reset, in send() and in recv(). */
PAIR_CASE(kill_receiver)

static void kill_receiver_client(void)
{
	struct task t = { .run = task_send, .len = 64 << 20 };
	char x;

	t.buf = calloc(1, t.len);
	task_blocks(&t, open_client());
	meet("full");
	task_join(&t);
	if (t.ret < 0 && t.err != ECONNRESET)
		FAIL("send: expected ECONNRESET, got %s", ktap_errno(t.err));
	if (t.ret >= 0) {
		/* A part was taken: the next call has the error. */
		CHECK(t.ret < (long long)t.len);
		FAILS(ECONNRESET, send(t.fd, &x, 1, MSG_NOSIGNAL));
	}
	FAILS(EPIPE, send(t.fd, &x, 1, MSG_NOSIGNAL));
	expect_eof(t.fd);
}

static void kill_receiver_server(void)
{
	int s = open_server();
	pid_t pid = OK(fork());

	if (!pid)
		pause();
	close(s);
	meet("full");
	OK(kill(pid, SIGKILL));
}

/* Killed while it neither sends nor has anything to read. */
PAIR_CASE(kill_idle)

static void kill_idle_client(void)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };

	t.fd = open_client();
	task_start(&t);
	meet("idle");
	EQ(0, task_join(&t));
}

static void kill_idle_server(void)
{
	int s = open_server();
	pid_t pid = OK(fork());

	if (!pid)
		pause();
	close(s);
	meet("idle");
	OK(kill(pid, SIGKILL));
}

PAIR_CASE_LIMIT(large_transfers, ~0u, 120)

#define LARGE (32 << 20)

static void large_both(int fd, bool client)
{
	struct task t = { .run = task_send_all, .fd = fd, .len = LARGE };

	/* one way, the other, both */
	if (client)
		send_pattern(fd, LARGE, 1, 0);
	else
		recv_pattern(fd, LARGE, 1, 0);
	if (client)
		recv_pattern(fd, LARGE, 1, 0);
	else
		send_pattern(fd, LARGE, 1, 0);
	task_start(&t);
	recv_pattern(fd, LARGE, 1, 0);
	task_join(&t);
	OK(shutdown(fd, SHUT_WR));
	expect_eof(fd);
	meet("done");
}

static void large_transfers_client(void)
{
	large_both(open_client(), true);
}

static void large_transfers_server(void)
{
	large_both(open_server(), false);
}

/* One large send() by each side at the same time, then both read. */
PAIR_CASE_LIMIT(crossing_sends, ~0u, 60)

static void crossing(int fd)
{
	struct task t = { .run = task_send, .fd = fd, .len = 8 << 20 };

	t.buf = malloc(t.len);
	pattern_fill(t.buf, t.len, 4, 0);
	meet("start");
	task_start(&t);
	CHECK(!t.done);
	meet("both send");
	recv_pattern(fd, t.len, 4, 0);
	EQ(t.len, task_join(&t));
	meet("done");
}

static void crossing_sends_client(void)
{
	crossing(open_client());
}

static void crossing_sends_server(void)
{
	crossing(open_server());
}

/* A reader who pauses: the sender waits, and loses nothing. */
PAIR_CASE_LIMIT(slow_reader, ~0u, 60)

static void slow_reader_client(void)
{
	int c = open_client(), i;
	long long n;

	for (i = 0; i < 5; i++) {
		n = fill(c, i);
		tell_number(n);
		meet("read");
		nonblock(c, false);
	}
}

static void slow_reader_server(void)
{
	int s = open_server(), i;

	for (i = 0; i < 5; i++) {
		recv_pattern(s, hear_number(), i, 0);
		EQ_HEX(0, poll_one(s, POLLIN, 0));
		meet("read");
	}
}

/* Backlog full, each connection with its own byte: see the case of the same
 * name in socket/listen.c.
 */
PAIR_CASE_LIMIT(backlog_full, ~0u, 60)

static void backlog_full_client(void)
{
	enum { N = 10 };
	union addr a;
	int c[N], i;
	char x;

	server_addr(&a);
	for (i = 0; i < N; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	settle();
	meet("accept");
	for (i = 0; i < N; i++) {
		await(c[i], POLLOUT);
		EQ(0, get_int(c[i], SOL_SOCKET, SO_ERROR));
		nonblock(c[i], false);
		x = 'a' + i;
		EQ(1, send(c[i], &x, 1, MSG_NOSIGNAL));
	}
	tell_number(N);
	for (i = 0; i < N; i++) {
		EQ(1, recv(c[i], &x, 1, 0));
		EQ('a' + i, x);
		expect_eof(c[i]);
	}
	meet("done");
}

static void backlog_full_server(void)
{
	int l = serve_port(3), s[16], n = 0, i, want = -1;
	struct pollfd p[2] = {
		{ .fd = l, .events = POLLIN }, { .fd = pair_control, .events = POLLIN },
	};
	char x;

	meet("accept");
	while (n != want) {
		OK(poll(p, 2, -1));
		if (p[0].revents) {
			s[n] = OK(accept(l, NULL, NULL));
			IN_RANGE(1, 16, ++n);
		} else if (p[1].revents) {
			want = hear_number();
		}
	}
	for (i = 0; i < n; i++) {
		EQ(1, recv(s[i], &x, 1, 0));
		EQ(1, send(s[i], &x, 1, MSG_NOSIGNAL));
		close(s[i]);
	}
	meet("done");
}

PAIR_CASE_LIMIT(many_short, ~0u, 60)

static void many_short_client(void)
{
	union addr a;
	int c, i;

	server_addr(&a);
	for (i = 0; i < 200; i++) {
		c = connect_client(&a);
		send_pattern(c, 1 + i * 7, i, 0);
		if (i & 1)
			OK(shutdown(c, SHUT_WR));
		recv_pattern(c, 1 + i * 3, i + 1000, 0);
		expect_eof(c);
		close(c);
	}
}

static void many_short_server(void)
{
	int l = serve_port(8), s, i;

	for (i = 0; i < 200; i++) {
		s = accept_one(l);
		recv_pattern(s, 1 + i * 7, i, 0);
		if (i & 1)
			expect_eof(s);
		send_pattern(s, 1 + i * 3, i + 1000, 0);
		close(s);
	}
}

/* All at once, all open at the same time. */
PAIR_CASE_LIMIT(many_open, ~0u, 60)

static void many_open_client(void)
{
	enum { N = 64 };
	int c[N], i;
	union addr a;

	server_addr(&a);
	for (i = 0; i < N; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	for (i = 0; i < N; i++) {
		expect_connected(c[i]);
		nonblock(c[i], false);
		send_pattern(c[i], 5000, 7, 0);
	}
	for (i = 0; i < N; i++)
		recv_pattern(c[i], 5000, 8, 0);
	meet("done");
}

static void many_open_server(void)
{
	enum { N = 64 };
	int l = serve_port(N), s[N], i;

	for (i = 0; i < N; i++)
		s[i] = accept_one(l);
	for (i = 0; i < N; i++) {
		recv_pattern(s[i], 5000, 7, 0);
		send_pattern(s[i], 5000, 8, 0);
	}
	meet("done");
}

/*
 * As many as $SDP_MANY at a time, with little to say: 10,000 fit between two
 * hosts of 1 GiB (scripts/check all), soft-RoCE's part included.
 */
PAIR_CASE_LIMIT(many_idle, ~0u, 120)

static int *many_(int n)
{
	struct rlimit most = { n + 100, n + 100 };

	OK(setrlimit(RLIMIT_NOFILE, &most));
	return calloc(n, sizeof(int));
}

/*
 * What a socket has of ours, whichever way it was made: four buffers, and a fifth where
 * one was not back yet when the ring was filled, as that of a message before accept(),
 * or one that another processor has in hand.
 */
static int many_memory_(int fd)
{
	struct sdp_info info;

	OK(sdp_info(fd, &info));
	IN_RANGE(16 * 1024, 28 * 1024, info.sdpi_mem);
	return 0;
}

/*
 * From @i on, so many have something to say at once: with SDP all, whose buffers are
 * there.  TCP drops what its memory for all sockets (tcp_mem) does not hold, and the
 * one that is to be read next may be among it, for ever: 10,000 of these are too many
 * in 1 GiB.
 */
static int many_until(int i, int n)
{
	enum { TCP_AT_ONCE = 1000 };

	return on_sdp() || n - i < TCP_AT_ONCE ? n : i + TCP_AT_ONCE;
}

static void many_idle_client(void)
{
	const char *env = getenv("SDP_MANY");
	int n = env ? atoi(env) : 200, i, k, *c;
	union addr a;

	/* None may fall back: not where its variant allows it, and the machine is slow. */
	if (on_sdp()) {
		sysctl("connect_timeout", ktap_ms(10000));
		sysctl("cache_timeout", 0);
	}
	server_addr(&a);
	c = many_(n);
	tell_number(n);
	for (i = 0; i < n; i++) {
		c[i] = connect_client(&a);
		EQ(4, send(c[i], &i, 4, 0));
	}
	meet("all are open");
	for (i = 0; i < n; i = k) {
		for (k = i; k < many_until(i, n); k++)
			send_pattern(c[k], 100, k, 0);
		for (k = i; k < many_until(i, n); k++)
			recv_pattern(c[k], 200, k, 0);
	}
	for (i = 0; i < n; i++) {
		if (on_sdp())
			CALL(many_memory_(c[i]));
		close(c[i]);
	}
	meet("done");
}

static void many_idle_server(void)
{
	int l = serve_port(128), n = hear_number(), i, k;
	int *s = many_(n);

	for (i = 0; i < n; i++) {
		int fd = accept_one(l), who;

		EQ(4, recv(fd, &who, 4, MSG_WAITALL));
		IN_RANGE(0, n - 1, who);
		EQ(0, s[who]);
		s[who] = fd;
	}
	meet("all are open");
	for (i = 0; i < n; i = k) {
		for (k = i; k < many_until(i, n); k++)
			recv_pattern(s[k], 100, k, 0);
		for (k = i; k < many_until(i, n); k++) {
			if (on_sdp())
				CALL(many_memory_(s[k]));
			send_pattern(s[k], 200, k, 0);
		}
	}
	for (i = 0; i < n; i++) {
		expect_eof(s[i]);
		close(s[i]);
	}
	meet("done");
}

/*
 * One accept() for each connect(), whichever way it went: no ghost of an
 * attempt over SDP that was given up, and none twice.  It is meant for a network
 * that loses and delays (scripts/check runs it so), where attempts fail at each
 * message of the exchange.
 */
PAIR_CASE_LIMIT(accepted_once, ON_TCP | ON_ULP, 240)

enum { ONCE = 120, ONCE_AT_A_TIME = 30 };

static void accepted_once_client(void)
{
	int c[ONCE_AT_A_TIME], i, k, sdp = 0;
	uint32_t id, echo;
	union addr a;

	if (on_sdp()) {
		sysctl("connect_timeout", 200);
		sysctl("cache_timeout", 0);
	}
	server_addr(&a);
	for (i = 0; i < ONCE; i += ONCE_AT_A_TIME) {
		for (k = 0; k < ONCE_AT_A_TIME; k++) {
			c[k] = sock_flags(SOCK_NONBLOCK);
			FAILS(EINPROGRESS, connect_to(c[k], &a));
		}
		for (k = 0; k < ONCE_AT_A_TIME; k++) {
			struct pollfd p = { .fd = c[k], .events = POLLOUT };

			OK(poll(&p, 1, ktap_ms(60000)));
			EQ_HEX(POLLOUT, p.revents);
			EQ(0, get_int(c[k], SOL_SOCKET, SO_ERROR));
			sdp += is_sdp(c[k]);
			id = i + k;
			EQ(4, send(c[k], &id, 4, 0));
			nonblock(c[k], false);
		}
		for (k = 0; k < ONCE_AT_A_TIME; k++) {
			EQ(4, recv(c[k], &echo, 4, MSG_WAITALL));
			EQ((uint32_t)(i + k), echo);
			close(c[k]);
		}
	}
	ktap_note("%d of %d by SDP", sdp, ONCE);
	/* Where the link is such that both come about ($SDP_IMPAIRED). */
	if (on_sdp() && getenv("SDP_IMPAIRED"))
		IN_RANGE(1, ONCE - 1, sdp);
	meet("all");
	meet("no more");
}

static void accepted_once_server(void)
{
	int l = serve_port(ONCE), s, i;
	bool seen[ONCE] = { };
	uint32_t id;

	for (i = 0; i < ONCE; i++) {
		await(l, POLLIN);
		s = OK(accept(l, NULL, NULL));
		/* Who connected says so: an end instead is a ghost's. */
		EQ(4, recv(s, &id, 4, MSG_WAITALL));
		CHECK(id < ONCE && !seen[id]);
		seen[id] = true;
		EQ(4, send(s, &id, 4, MSG_NOSIGNAL));
		close(s);
	}
	meet("all");
	EQ_HEX(0, poll_one(l, POLLIN, 2000));
	meet("no more");
}

/* Nobody has the address: the neighbour's silence is an unreachable host. */
PAIR_CASE_LIMIT(no_such_host, ~0u, 60)

static void no_such_host_client(void)
{
	union addr a;

	sysctl("require_timeout", ktap_ms(2000));
	nobody(&a);
	FAILS(EHOSTUNREACH, connect_to(sock(), &a));
}

static void no_such_host_server(void)
{
}

/* The server goes away with its connections and comes back on its port. */
PAIR_CASE(server_restart)

static void server_restart_client(void)
{
	union addr a;
	int c, i;

	server_addr(&a);
	for (i = 0; i < 3; i++) {
		c = connect_client(&a);
		recv_text(c, "hello");
		if (i == 1)
			meet("unread");
		meet("stop");
		if (i == 1)
			expect_reset(c);
		else
			expect_eof(c);
		meet("stopped");
		FAILS(ECONNREFUSED, connect_to(sock(), &a));
		meet("start");
		meet("started");
		close(c);
	}
}

static void server_restart_server(void)
{
	int l, s, i, reserve;
	union addr a;

	l = listener(&a, 8);
	tell_number(addr_port(&a));
	for (i = 0; i < 3; i++) {
		s = accept_one(l);
		send_text(s, "hello");
		if (i == 1) {
			meet("unread");
			/* Aborted, as a crash would. */
			linger(s, 0);
		}
		meet("stop");
		close(s);
		close(l);
		/* Bound, but nobody listens: the port stays this case's. */
		reserve = sock();
		OK(set_int(reserve, SOL_SOCKET, SO_REUSEADDR, 1));
		OK(bind_to(reserve, &a));
		meet("stopped");
		meet("start");
		OK(listen(reserve, 8));
		l = reserve;
		meet("started");
	}
}

PAIR_CASE(listener_closed_with_queue)

static void listener_closed_with_queue_client(void)
{
	int c[3], i;
	union addr a;

	server_addr(&a);
	for (i = 0; i < 3; i++) {
		c[i] = connect_client(&a);
		send_text(c[i], "unread");
	}
	settle();
	meet("close");
	for (i = 0; i < 3; i++)
		expect_reset(c[i]);
}

static void listener_closed_with_queue_server(void)
{
	int l = serve_port(8);

	meet("close");
	close(l);
}

PAIR_CASE(data_before_accept)

static void data_before_accept_client(void)
{
	int c = open_client();

	send_pattern(c, 10000, 5, 0);
	OK(shutdown(c, SHUT_WR));
	meet("sent");
	recv_text(c, "got it");
}

static void data_before_accept_server(void)
{
	int l = serve_port(8), s;

	meet("sent");
	s = accept_one(l);
	EQ(10000, drain(s, 5, 0));
	send_text(s, "got it");
}

/* The process ends right after its last send(). */
PAIR_CASE(exit_after_send)

static void exit_after_send_client(void)
{
	int c = open_client();
	pid_t pid = OK(fork());

	if (!pid) {
		send_pattern(c, 3000000, 5, 0);
		_exit(0);
	}
	close(c);
	CHILD_OK(pid);
	meet("done");
}

static void exit_after_send_server(void)
{
	int s = open_server();

	EQ(3000000, drain(s, 5, 0));
	meet("done");
}

/* Edge-triggered reader of a stream from the other host. */
PAIR_CASE_LIMIT(epoll_edge_stream, ~0u, 60)

static void epoll_edge_stream_client(void)
{
	int c = open_client();

	send_pattern(c, 8 << 20, 6, 0);
	OK(shutdown(c, SHUT_WR));
	recv_text(c, "got it");
}

static void epoll_edge_stream_server(void)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLRDHUP | EPOLLET };
	int s = open_server(), ep = OK(epoll_create1(0));
	static char buf[30000];
	size_t pos = 0;
	ssize_t n;

	nonblock(s, true);
	OK(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev));
	do {
		if (epoll_wait(ep, &ev, 1, ktap_ms(10000)) != 1)
			FAIL("no event in 10 s at offset %zu", pos);
		while ((n = recv(s, buf, sizeof(buf), 0)) > 0) {
			EQ(-1, pattern_check(buf, n, 6, pos));
			pos += n;
		}
		if (n < 0 && errno != EAGAIN)
			FAIL("recv at offset %zu: %s", pos, ktap_errno(errno));
	} while (n);
	EQ(8 << 20, pos);
	nonblock(s, false);
	send_text(s, "got it");
}

/* --------------------------------------------------------- TCP on the other side */

/* A client of SDP, a server of TCP. */
PAIR_CASE_ON(tcp_server, ON_SDP)

static void tcp_server_client(void)
{
	int c = sock();
	union addr a;

	server_addr(&a);
	if (variant->via != VIA_ULP) {
		FAILS(ECONNREFUSED, connect_to(c, &a));
		c = sock();
		OK(set_int(c, SOL_SDP, SDP_FALLBACK, 1));
	}
	OK(connect_to(c, &a));
	EQ(-1, transport(c));
	send_pattern(c, 300000, 5, 0);
	OK(shutdown(c, SHUT_WR));
	EQ(300000, drain(c, 6, 0));
	meet("done");
}

static void tcp_server_server(void)
{
	int l = OK(socket(variant->family, SOCK_STREAM, 0)), s;
	union addr a;

	here(&a, 0);
	OK(bind_to(l, &a));
	OK(listen(l, 4));
	OK(name_of(l, &a));
	tell_number(addr_port(&a));
	s = OK(accept(l, NULL, NULL));
	EQ(300000, drain(s, 5, 0));
	send_pattern(s, 300000, 6, 0);
	close(s);
	meet("done");
}

/* And the other way round. */
PAIR_CASE_ON(tcp_client, ON_ULP)

static void tcp_client_client(void)
{
	union addr a;
	int c;

	server_addr(&a);
	c = OK(socket(variant->family, SOCK_STREAM, 0));
	OK(connect_to(c, &a));
	send_text(c, "plain");
	recv_text(c, "plain too");
	close(connect_client(&a));
}

static void tcp_client_server(void)
{
	int l = serve_port(8), s;

	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	EQ(-1, transport(s));
	recv_text(s, "plain");
	send_text(s, "plain too");
	accept_one(l);
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv);
}
