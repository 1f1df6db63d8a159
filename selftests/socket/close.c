// SPDX-License-Identifier: GPL-2.0
/* Half close, close, reset, and who hears of it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/variant.h"

static void linger(int fd, int seconds)
{
	struct linger l = { .l_onoff = 1, .l_linger = seconds };

	OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
}

/* ------------------------------------------------------------------- shutdown */

CASE(shutdown_unconnected)
{
	int fd = sock(), how;
	union addr a;

	for (how = SHUT_RD; how <= SHUT_RDWR; how++)
		FAILS(ENOTCONN, shutdown(fd, how));
	FAILS(EINVAL, shutdown(fd, 3));
	FAILS(EINVAL, shutdown(fd, -1));
	here(&a, 0);
	OK(bind_to(fd, &a));
	FAILS(ENOTCONN, shutdown(fd, SHUT_RDWR));
}

CASE(shutdown_repeated)
{
	struct pair p;
	int how, i;

	for (how = SHUT_RD; how <= SHUT_RDWR; how++) {
		pair_open(&p);
		FAILS(EINVAL, shutdown(p.c, 3));
		for (i = 0; i < 3; i++)
			OK(shutdown(p.c, how));
		OK(shutdown(p.c, SHUT_RDWR));
		OK(shutdown(p.c, SHUT_WR));
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/* When both sides are through, there is no connection left to shut. */
CASE(shutdown_after_end)
{
	struct pair p;

	pair_open(&p);
	OK(shutdown(p.c, SHUT_WR));
	expect_eof(p.s);
	OK(shutdown(p.s, SHUT_WR));
	expect_eof(p.c);
	await(p.s, POLLHUP);
	await(p.c, POLLHUP);
	EVENTUALLY(ENOTCONN, shutdown(p.s, SHUT_RDWR) ? errno : 0);
}

/* The peer of who has shut SHUT_WR may go on for as long as it likes. */
CASE(half_close)
{
	struct task t = { .run = task_drain };
	struct pair p;
	char c = 0;
	int i;

	pair_open(&p);
	send_text(p.c, "request");
	OK(shutdown(p.c, SHUT_WR));
	recv_text(p.s, "request");
	for (i = 0; i < 3; i++)
		expect_eof(p.s);
	FAILS(EPIPE, send(p.c, &c, 1, MSG_NOSIGNAL));
	task_blocks(&t, p.c);
	send_pattern(p.s, 1000000, 1, 0);
	CHECK(!t.done);
	settle();
	send_pattern(p.s, 1000, 1, 1000000);
	OK(shutdown(p.s, SHUT_WR));
	EQ(1001000, task_join(&t));
	expect_eof(p.c);
}

/* All that was sent comes before the end of the stream. */
CASE(shutdown_behind_data)
{
	struct task t = { .run = task_send_all, .len = 2000000 };
	struct pair p;

	pair_open(&p);
	t.fd = p.c;
	task_start(&t);
	recv_pattern(p.s, 1000, 1, 0);
	recv_pattern(p.s, t.len - 1000 - 5000, 1, 1000);
	task_join(&t);
	OK(shutdown(p.c, SHUT_WR));
	EQ(5000, drain(p.s, 1, t.len - 5000));
}

CASE(shutdown_read)
{
	struct pair p;
	char c;

	pair_open(&p);
	/* What is there already can be read, then it is the end. */
	send_text(p.c, "before");
	arrived(p.s, 6);
	OK(shutdown(p.s, SHUT_RD));
	recv_text(p.s, "before");
	expect_eof(p.s);
	EQ(0, recv(p.s, &c, 1, MSG_DONTWAIT));
	/* The peer is told nothing, the other direction goes on. */
	EQ_HEX(POLLOUT, poll_one(p.c, POLLIN | POLLOUT | POLLRDHUP, 0));
	send_text(p.s, "the other way");
	recv_text(p.c, "the other way");
}

/* With Linux's TCP what the peer sends after a SHUT_RD is accepted. */
CASE(shutdown_read_late_data)
{
	char buf[16];
	struct pair p;

	pair_open(&p);
	OK(shutdown(p.s, SHUT_RD));
	EQ(4, send(p.c, "late", 4, MSG_NOSIGNAL));
	settle();
	send_text(p.s, "alive");
	recv_text(p.c, "alive");
	EQ(4, send(p.c, "more", 4, MSG_NOSIGNAL));
	EVENTUALLY(8, recv(p.s, buf, sizeof(buf), MSG_PEEK | MSG_DONTWAIT));
	recv_text(p.s, "latemore");
	expect_eof(p.s);
}

/* shutdown() by another thread wakes who waits. */
CASE(shutdown_wakes_recv)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	task_blocks(&t, p.s);
	OK(shutdown(p.s, SHUT_RD));
	EQ(0, task_join(&t));
	task_blocks(&t, p.c);
	OK(shutdown(p.c, SHUT_RDWR));
	EQ(0, task_join(&t));
}

CASE(shutdown_wakes_send)
{
	struct task t = { .run = task_send, .len = 1 << 20 };
	long long sum;
	struct pair p;

	t.buf = calloc(1, t.len);
	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	task_blocks(&t, p.c);
	OK(shutdown(p.c, SHUT_WR));
	FAILS(EPIPE, task_join(&t));
	recv_pattern(p.s, sum, 5, 0);
	expect_eof(p.s);
}

CASE(simultaneous_half_close)
{
	struct pair p;
	int i;

	for (i = 0; i < 10; i++) {
		pair_open(&p);
		send_text(p.c, "from c");
		send_text(p.s, "from s");
		OK(shutdown(p.c, SHUT_WR));
		OK(shutdown(p.s, SHUT_WR));
		recv_text(p.c, "from s");
		recv_text(p.s, "from c");
		expect_eof(p.c);
		expect_eof(p.s);
		await(p.c, POLLHUP);
		await(p.s, POLLHUP);
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/* ---------------------------------------------------------------------- close */

CASE(close_delivers)
{
	struct task t = { .run = task_drain };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	send_pattern(p.c, 3000000, 1, 0);
	close(p.c);
	EQ(3000000, task_join(&t));
	expect_eof(p.s);
}

/* Nobody reads yet when the sender is gone, with all buffers full. */
CASE(close_delivers_full_buffers)
{
	struct pair p;
	long long sum;

	pair_open(&p);
	sum = fill(p.c, 5);
	close(p.c);
	settle();
	EQ(sum, drain(p.s, 5, 0));
}

CASE(exit_delivers)
{
	struct pair p;
	pid_t pid;

	pair_open(&p);
	pid = OK(fork());
	if (!pid) {
		send_pattern(p.c, 100000, 5, 0);
		_exit(0);
	}
	close(p.c);
	EQ(100000, drain(p.s, 5, 0));
	CHILD_OK(pid);
}

/* Killed, with nothing unread: the data and an orderly end. */
CASE(kill_delivers)
{
	struct pair p;
	pid_t pid;

	pair_open(&p);
	pid = OK(fork());
	if (!pid) {
		send_pattern(p.c, 10000, 5, 0);
		pause();
	}
	close(p.c);
	recv_pattern(p.s, 10000, 5, 0);
	OK(kill(pid, SIGKILL));
	expect_eof(p.s);
}

CASE(close_wakes_peer_in_recv)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	task_blocks(&t, p.s);
	close(p.c);
	EQ(0, task_join(&t));
}

CASE(close_with_unread_data)
{
	struct pair p;
	char c = 0;

	pair_open(&p);
	send_text(p.c, "unread");
	arrived(p.s, 6);
	close(p.s);
	expect_reset(p.c);
	EQ(0, recv(p.c, &c, 1, 0));
	FAILS(EPIPE, send(p.c, &c, 1, MSG_NOSIGNAL));
	EQ(0, get_int(p.c, SOL_SOCKET, SO_ERROR));
	FAILS(ENOTCONN, shutdown(p.c, SHUT_RDWR));
}

CASE(close_with_unread_data_wakes_peer_in_recv)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	send_text(p.c, "unread");
	arrived(p.s, 6);
	task_blocks(&t, p.c);
	close(p.s);
	FAILS(ECONNRESET, task_join(&t));
}

CASE(close_wakes_peer_in_send)
{
	struct task t = { .run = task_send, .len = 1 << 20 };
	struct pair p;
	char c = 0;

	t.buf = calloc(1, t.len);
	pair_open(&p);
	fill(p.c, 5);
	nonblock(p.c, false);
	task_blocks(&t, p.c);
	close(p.s);
	FAILS(ECONNRESET, task_join(&t));
	FAILS(EPIPE, send(p.c, &c, 1, MSG_NOSIGNAL));
}

CASE(linger_zero_resets)
{
	struct pair p;
	char c = 0;

	pair_open(&p);
	linger(p.c, 0);
	close(p.c);
	expect_reset(p.s);
	EQ(0, recv(p.s, &c, 1, 0));
	FAILS(EPIPE, send(p.s, &c, 1, MSG_NOSIGNAL));
	FAILS(ENOTCONN, peer_of(p.s, &p.addr));
	OK(name_of(p.s, &p.addr));
}

CASE(linger_zero_wakes_peer)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	task_blocks(&t, p.s);
	linger(p.c, 0);
	close(p.c);
	FAILS(ECONNRESET, task_join(&t));
}

/* What had arrived before the reset can be read; then comes the error. */
CASE(reset_behind_data)
{
	struct pair p;
	char c;

	pair_open(&p);
	send_text(p.c, "arrived");
	arrived(p.s, 7);
	linger(p.c, 0);
	close(p.c);
	await(p.s, POLLERR);
	recv_text(p.s, "arrived");
	FAILS(ECONNRESET, recv(p.s, &c, 1, 0));
	expect_eof(p.s);
}

CASE(reset_seen_by_send)
{
	struct pair p;
	char c = 0;

	pair_open(&p);
	linger(p.s, 0);
	close(p.s);
	await(p.c, POLLERR);
	FAILS(ECONNRESET, send(p.c, &c, 1, MSG_NOSIGNAL));
	FAILS(EPIPE, send(p.c, &c, 1, MSG_NOSIGNAL));
	expect_eof(p.c);
}

/* Reads until the reset, comparing; how many bytes came before it. */
static long long drain_reset_(int fd, __u64 key)
{
	static char buf[65536];
	long long pos = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		if (pattern_check(buf, n, key, pos) >= 0)
			FAIL("a wrong byte among %zd after %lld", n, pos);
		pos += n;
	}
	if (!n)
		FAIL("end of stream after %lld bytes, expected ECONNRESET", pos);
	EQ(ECONNRESET, errno);
	expect_eof(fd);
	return pos;
}

#define drain_reset(...)	CALL(drain_reset_(__VA_ARGS__))

/* With all buffers full: a first part of it comes, whole, or nothing. */
CASE(linger_zero_in_flight)
{
	long long sum, n;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	linger(p.c, 0);
	OK(close(p.c));
	await(p.s, POLLERR);
	n = drain_reset(p.s, 5);
	IN_RANGE(1, sum, n);
	FAILS(EPIPE, send(p.s, "x", 1, MSG_NOSIGNAL));
}

/* The same with the other direction full too, and nobody reading. */
CASE(linger_zero_both_full)
{
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	fill(p.s, 6);
	nonblock(p.s, false);
	linger(p.c, 0);
	OK(close(p.c));
	await(p.s, POLLERR);
	IN_RANGE(1, sum, drain_reset(p.s, 5));
}

CASE(linger_zero_wakes_peer_in_send)
{
	struct task t = { .run = task_send, .len = 1 << 20 };
	struct pair p;
	char c = 0;

	t.buf = calloc(1, t.len);
	pair_open(&p);
	fill(p.s, 5);
	nonblock(p.s, false);
	task_blocks(&t, p.s);
	linger(p.c, 0);
	OK(close(p.c));
	FAILS(ECONNRESET, task_join(&t));
	FAILS(EPIPE, send(p.s, &c, 1, MSG_NOSIGNAL));
	expect_eof(p.s);
}

/* Half of what it waits for: that is returned, and the error is the next's. */
CASE(linger_zero_wakes_peer_in_waitall)
{
	char buf[100];
	struct task t = {
		.run = task_recv, .buf = buf, .len = sizeof(buf), .flags = MSG_WAITALL,
	};
	struct pair p;

	pair_open(&p);
	send_pattern(p.c, 50, 5, 0);
	arrived(p.s, 50);
	task_blocks(&t, p.s);
	linger(p.c, 0);
	OK(close(p.c));
	EQ(50, task_join(&t));
	EQ(-1, pattern_check(buf, 50, 5, 0));
	FAILS(ECONNRESET, recv(p.s, buf, 1, 0));
	expect_eof(p.s);
}

CASE(linger_zero_wakes_peer_in_splice)
{
	struct task t = { .run = task_splice, .len = 100 };
	struct pair p;
	int fds[2];

	pair_open(&p);
	OK(pipe(fds));
	t.other = fds[1];
	task_blocks(&t, p.s);
	linger(p.c, 0);
	OK(close(p.c));
	FAILS(ECONNRESET, task_join(&t));
	EQ(0, splice(p.s, NULL, fds[1], NULL, 100, 0));
}

/* Both who wait are woken; the error is given once. */
CASE(linger_zero_wakes_peer_in_both)
{
	char buf[16];
	struct task r = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct task w = { .run = task_send, .len = 1 << 20 };
	bool first;
	struct pair p;

	w.buf = calloc(1, w.len);
	pair_open(&p);
	fill(p.s, 5);
	nonblock(p.s, false);
	r.fd = p.s;
	w.fd = p.s;
	task_start(&r);
	task_start(&w);
	CHECK(!r.done && !w.done);
	linger(p.c, 0);
	OK(close(p.c));
	task_join(&r);
	task_join(&w);
	first = r.ret < 0;
	EQ(-1, w.ret);
	if (first) {
		EQ(ECONNRESET, r.err);
		EQ(EPIPE, w.err);
	} else {
		EQ(0, r.ret);
		EQ(ECONNRESET, w.err);
	}
	EQ(0, get_int(p.s, SOL_SOCKET, SO_ERROR));
}

/* An edge-triggered poller, who had been told of room, is told of the end. */
CASE(linger_zero_epoll_edge)
{
	enum { END = EPOLLIN | EPOLLOUT | EPOLLERR | EPOLLHUP | EPOLLRDHUP };
	struct epoll_event ev = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
	};
	int ep = OK(epoll_create1(EPOLL_CLOEXEC));
	struct pair p;
	char c;

	pair_open(&p);
	OK(epoll_ctl(ep, EPOLL_CTL_ADD, p.s, &ev));
	EQ(1, epoll_wait(ep, &ev, 1, ktap_ms(10000)));
	EQ_HEX(EPOLLOUT, ev.events);
	send_text(p.c, "arrived");
	EQ(1, epoll_wait(ep, &ev, 1, ktap_ms(10000)));
	EQ_HEX(EPOLLIN | EPOLLOUT, ev.events);
	EQ(0, epoll_wait(ep, &ev, 1, 0));
	linger(p.c, 0);
	OK(close(p.c));
	/* TCP reports its error before the state, and may be seen in between. */
	do {
		EQ(1, epoll_wait(ep, &ev, 1, ktap_ms(10000)));
		CHECK(ev.events & EPOLLERR);
	} while (!(ev.events & EPOLLHUP));
	EQ_HEX(END, ev.events);
	recv_text(p.s, "arrived");
	FAILS(ECONNRESET, recv(p.s, &c, 1, 0));
}

/* One who has seen the orderly end hears of the reset by writing only. */
CASE(linger_zero_after_shutdown)
{
	struct pair p;
	char c = 0;

	pair_open(&p);
	send_text(p.c, "last");
	OK(shutdown(p.c, SHUT_WR));
	recv_text(p.s, "last");
	expect_eof(p.s);
	linger(p.c, 0);
	OK(close(p.c));
	await(p.s, POLLHUP);
	expect_eof(p.s);
	FAILS(EPIPE, send(p.s, &c, 1, MSG_NOSIGNAL));
	FAILS(ENOTCONN, peer_of(p.s, &p.addr));
}

/* What the peer sends after the shutdown, and is not read, resets as well. */
CASE(close_with_unread_data_after_shutdown)
{
	struct pair p;
	char c = 0;

	pair_open(&p);
	OK(shutdown(p.c, SHUT_WR));
	expect_eof(p.s);
	send_text(p.s, "unread");
	arrived(p.c, 6);
	OK(close(p.c));
	await(p.s, POLLHUP);
	expect_eof(p.s);
	FAILS(EPIPE, send(p.s, &c, 1, MSG_NOSIGNAL));
}

/* After a shutdown close() adds nothing that the peer could see. */
CASE(shutdown_then_close)
{
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	OK(shutdown(p.c, SHUT_WR));
	OK(close(p.c));
	settle();
	EQ(sum, drain(p.s, 5, 0));
	OK(shutdown(p.s, SHUT_WR));
	await(p.s, POLLHUP);
	EQ(0, get_int(p.s, SOL_SOCKET, SO_ERROR));
}

/* close() waits until the peer has all of it, or the time is over. */
CASE(linger_waits)
{
	struct task t = { .run = task_close };
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	linger(p.c, 15);
	task_blocks(&t, p.c);
	EQ(sum, drain(p.s, 5, 0));
	/* TCP waits for the end of the peer's stream too. */
	close(p.s);
	EQ(0, task_join(&t));
	IN_RANGE(0, 14000, t.ms);
}
BY_CLOCK(linger_waits);

/* close(p->c) waits for a second, and all of @sum, key 5, is there for p->s after it. */
static int lingers_a_second_(const struct pair *p, long long sum)
{
	struct ktap_watch start;

	linger(p->c, 1);
	start = ktap_watch();
	OK(close(p->c));
	WAITED(1000, ktap_ms(5000), start);
	/* Given up waiting, not sending. */
	EQ(sum, drain(p->s, 5, 0));
	return 0;
}

#define lingers_a_second(p, sum)	CALL(lingers_a_second_(p, sum))

CASE(linger_time_over)
{
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	lingers_a_second(&p, sum);
}
BY_CLOCK(linger_time_over);

/* A reader who takes his time: until he has had all, and not for longer. */
CASE(linger_slow_reader)
{
	struct task t = { .run = task_close };
	long long sum, pos, n;
	struct pair p;

	pair_open_bufs(&p, 65536, 32768);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	linger(p.c, 15);
	task_blocks(&t, p.c);
	for (pos = 0; pos < sum; pos += n) {
		n = sum - pos < 8192 ? sum - pos : 8192;
		recv_pattern(p.s, n, 5, pos);
		if (pos < 16384)
			CHECK(!t.done);
		settle();
	}
	EQ(0, task_join(&t));
	IN_RANGE(0, 14000, t.ms);
	expect_eof(p.s);
	/* His own direction is open still, and nobody is there. */
	EVENTUALLY(EPIPE, send(p.s, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0);
}
BY_CLOCK(linger_slow_reader);

/* TCP does not ask whether the descriptor was non-blocking. */
CASE(linger_nonblocking)
{
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	lingers_a_second(&p, sum);
}
BY_CLOCK(linger_nonblocking);

/* After shutdown() too. */
CASE(linger_after_shutdown)
{
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	OK(shutdown(p.c, SHUT_WR));
	lingers_a_second(&p, sum);
}
BY_CLOCK(linger_after_shutdown);

/* Nothing under way, the peer's direction open: not waited for. */
CASE(linger_nothing)
{
	long long start;
	struct pair p;

	pair_open(&p);
	send_text(p.c, "had");
	recv_text(p.s, "had");
	EVENTUALLY(0, outq(p.c));
	linger(p.c, 15);
	start = ktap_now();
	OK(close(p.c));
	IN_RANGE(0, 10000, ktap_now() - start);
	expect_eof(p.s);
}
BY_CLOCK(linger_nothing);

/* What he has not read resets: there is nothing to be waited for, whatever is under way. */
CASE(linger_unread)
{
	struct task t = { .run = task_close };
	struct pair p;

	pair_open(&p);
	fill(p.c, 5);
	nonblock(p.c, false);
	send_text(p.s, "unread");
	arrived(p.c, 6);
	linger(p.c, 600);
	t.fd = p.c;
	task_start(&t);
	EVENTUALLY(true, t.done);
	EQ(0, task_join(&t));
	await(p.s, POLLERR);
	drain_reset(p.s, 5);
}

/* The peer resets, by wish or by what it has not read: nothing is waited for any more. */
CASE(linger_reset_by_peer)
{
	struct pair p;
	int i;

	for (i = 0; i < 2; i++) {
		struct task t = { .run = task_close };

		pair_open(&p);
		fill(p.c, 5);
		nonblock(p.c, false);
		linger(p.c, 600);
		task_blocks(&t, p.c);
		if (i)
			linger(p.s, 0);
		OK(close(p.s));
		EVENTUALLY(true, t.done);
		EQ(0, task_join(&t));
		close(p.l);
	}
}

/* Who ends does not linger, and what he sent arrives. */
CASE(linger_exit)
{
	long long sum, start;
	struct pair p;
	pid_t pid;

	pair_open(&p);
	sum = fill(p.c, 5);
	linger(p.c, 15);
	pid = OK(fork());
	if (!pid)
		pause();
	close(p.c);
	start = ktap_now();
	OK(kill(pid, SIGKILL));
	EQ(pid, waitpid(pid, NULL, 0));
	IN_RANGE(0, 10000, ktap_now() - start);
	EQ(sum, drain(p.s, 5, 0));
}
BY_CLOCK(linger_exit);

/* Sending to a peer who has closed: once into the void, then EPIPE. */
CASE(send_to_closed_peer)
{
	struct pair p;

	pair_open(&p);
	close(p.c);
	expect_eof(p.s);
	EVENTUALLY(EPIPE, send(p.s, "x", 1, MSG_NOSIGNAL) < 0 ? errno : 0);
	FAILS(EPIPE, send(p.s, "x", 1, MSG_NOSIGNAL));
	expect_eof(p.s);
}

/* The same for one who could wait for room. */
CASE(data_for_closed_socket)
{
	struct pair p;

	pair_open(&p);
	close(p.s);
	expect_eof(p.c);
	nonblock(p.c, true);
	EVENTUALLY(EPIPE, send(p.c, "data", 4, MSG_NOSIGNAL) < 0 ? errno : 0);
	await(p.c, POLLHUP);
}

CASE(close_fresh_and_bound)
{
	union addr a;
	int fd;

	fd = sock();
	OK(close(fd));
	fd = sock();
	bind_here(fd, &a);
	OK(close(fd));
	fd = sock();
	OK(bind_to(fd, &a));
}

/* Both at once, many times: no side hangs, none sees an error. */
CASE(simultaneous_close)
{
	struct pair p;
	pid_t pid;
	int i;

	for (i = 0; i < 20; i++) {
		pair_open(&p);
		pid = OK(fork());
		if (!pid) {
			close(p.s);
			_exit(close(p.c) != 0);
		}
		close(p.c);
		if (i & 1)
			send_text(p.s, "");
		OK(close(p.s));
		close(p.l);
		CHILD_OK(pid);
	}
}
