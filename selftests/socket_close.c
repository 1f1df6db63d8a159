// SPDX-License-Identifier: GPL-2.0
/* Half close, close, reset, and who hears of it. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "lib/variant.h"

#define arrived(fd, n) EVENTUALLY(n, inq(fd))

static void linger(int fd, int seconds)
{
	struct linger l = { .l_onoff = 1, .l_linger = seconds };

	OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
}

/* ------------------------------------------------------------------- shutdown */

TEST(shutdown_unconnected)
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

TEST(shutdown_repeated)
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
TEST(shutdown_after_end)
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
TEST(half_close)
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
	t.fd = p.c;
	task_start(&t);
	CHECK(!t.done);
	send_pattern(p.s, 1000000, 1, 0);
	CHECK(!t.done);
	settle();
	send_pattern(p.s, 1000, 1, 1000000);
	OK(shutdown(p.s, SHUT_WR));
	EQ(1001000, task_join(&t));
	expect_eof(p.c);
}

/* All that was sent comes before the end of the stream. */
TEST(shutdown_behind_data)
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

TEST(shutdown_read)
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
TEST(shutdown_read_late_data)
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
TEST(shutdown_wakes_recv)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	CHECK(!t.done);
	OK(shutdown(p.s, SHUT_RD));
	EQ(0, task_join(&t));
	t.fd = p.c;
	task_start(&t);
	CHECK(!t.done);
	OK(shutdown(p.c, SHUT_RDWR));
	EQ(0, task_join(&t));
}

TEST(shutdown_wakes_send)
{
	struct task t = { .run = task_send, .len = 1 << 20 };
	long long sum;
	struct pair p;

	t.buf = calloc(1, t.len);
	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	t.fd = p.c;
	task_start(&t);
	CHECK(!t.done);
	OK(shutdown(p.c, SHUT_WR));
	FAILS(EPIPE, task_join(&t));
	recv_pattern(p.s, sum, 5, 0);
	expect_eof(p.s);
}

TEST(simultaneous_half_close)
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

TEST(close_delivers)
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
TEST(close_delivers_full_buffers)
{
	struct pair p;
	long long sum;

	pair_open(&p);
	sum = fill(p.c, 5);
	close(p.c);
	settle();
	EQ(sum, drain(p.s, 5, 0));
}

TEST(exit_delivers)
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
TEST(kill_delivers)
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

TEST(close_wakes_peer_in_recv)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	CHECK(!t.done);
	close(p.c);
	EQ(0, task_join(&t));
}

TEST(close_with_unread_data)
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

TEST(close_with_unread_data_wakes_peer_in_recv)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	send_text(p.c, "unread");
	arrived(p.s, 6);
	t.fd = p.c;
	task_start(&t);
	CHECK(!t.done);
	close(p.s);
	FAILS(ECONNRESET, task_join(&t));
}

TEST(close_wakes_peer_in_send)
{
	struct task t = { .run = task_send, .len = 1 << 20 };
	struct pair p;
	char c = 0;

	t.buf = calloc(1, t.len);
	pair_open(&p);
	fill(p.c, 5);
	nonblock(p.c, false);
	t.fd = p.c;
	task_start(&t);
	CHECK(!t.done);
	close(p.s);
	FAILS(ECONNRESET, task_join(&t));
	FAILS(EPIPE, send(p.c, &c, 1, MSG_NOSIGNAL));
}

TEST(linger_zero_resets)
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

TEST(linger_zero_wakes_peer)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	CHECK(!t.done);
	linger(p.c, 0);
	close(p.c);
	FAILS(ECONNRESET, task_join(&t));
}

/* What had arrived before the reset can be read; then comes the error. */
TEST(reset_behind_data)
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

TEST(reset_seen_by_send)
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

/* close() waits until the peer has all of it, or the time is over. */
TEST(linger_waits)
{
	struct task t = { .run = task_close };
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	linger(p.c, 15);
	t.fd = p.c;
	task_start(&t);
	CHECK(!t.done);
	EQ(sum, drain(p.s, 5, 0));
	/* TCP waits for the end of the peer's stream too. */
	close(p.s);
	EQ(0, task_join(&t));
	IN_RANGE(0, 14000, t.ms);
}

TEST(linger_time_over)
{
	struct ktap_watch start;
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	linger(p.c, 1);
	start = ktap_watch();
	OK(close(p.c));
	WAITED(1000, ktap_ms(5000), start);
	/* Given up waiting, not sending. */
	EQ(sum, drain(p.s, 5, 0));
}

/* Sending to a peer who has closed: once into the void, then EPIPE. */
TEST(send_to_closed_peer)
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
TEST(data_for_closed_socket)
{
	struct pair p;

	pair_open(&p);
	close(p.s);
	expect_eof(p.c);
	nonblock(p.c, true);
	EVENTUALLY(EPIPE, send(p.c, "data", 4, MSG_NOSIGNAL) < 0 ? errno : 0);
	await(p.c, POLLHUP);
}

TEST(close_fresh_and_bound)
{
	union addr a;
	int fd;

	fd = sock();
	OK(close(fd));
	fd = sock();
	here(&a, 0);
	OK(bind_to(fd, &a));
	OK(name_of(fd, &a));
	OK(close(fd));
	fd = sock();
	OK(bind_to(fd, &a));
}

/* Both at once, many times: no side hangs, none sees an error. */
TEST(simultaneous_close)
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
