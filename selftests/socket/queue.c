// SPDX-License-Identifier: GPL-2.0
/*
 * What waits in a socket: full and empty ones, SO_RCVLOWAT, the ioctls that
 * count.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include <linux/sockios.h>
#include <netinet/tcp.h>

#include "lib/variant.h"

/* ------------------------------------------------------------- full and empty */

CASE(send_until_full)
{
	long long sum;
	struct pair p;
	char c = 0;

	pair_open(&p);
	sum = fill(p.c, 5);
	FAILS(EAGAIN, send(p.c, &c, 1, MSG_NOSIGNAL));
	EQ_HEX(0, poll_one(p.c, POLLOUT, 0));
	EQ_HEX(0, poll_one(p.c, POLLIN | POLLRDHUP, 0));
	recv_pattern(p.s, sum, 5, 0);
	EQ_HEX(POLLOUT, await(p.c, POLLOUT));
	send_text(p.c, "room again");
	recv_text(p.s, "room again");
}

/* Programs write much before they read: as much is taken of both as by TCP. */
CASE(send_before_reading)
{
	enum { MUCH = 1280 * 1024 };
	struct task a = { .run = task_send, .len = MUCH, .buf = memory(MUCH, 0) }, b;
	struct pair p;

	pattern_fill(a.buf, MUCH, 1, 0);
	b = a;
	pair_open(&p);
	a.fd = p.c;
	b.fd = p.s;
	task_start(&a);
	task_start(&b);
	EQ(MUCH, task_join(&a));
	EQ(MUCH, task_join(&b));
	recv_pattern(p.s, MUCH, 1, 0);
	recv_pattern(p.c, MUCH, 1, 0);
}

/* The same of a file's pages. */
CASE(sendfile_before_reading)
{
	enum { MUCH = 2 << 20 };
	off_t off = 0;
	struct pair p;
	int file;
	char *m;

	pair_open(&p);
	file = OK(memfd_create("pattern", 0));
	OK(ftruncate(file, MUCH));
	m = mmap(NULL, MUCH, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	CHECK(m != MAP_FAILED);
	pattern_fill(m, MUCH, 1, 0);
	while (off < MUCH)
		CHECK(OK(sendfile(p.c, file, &off, MUCH - off)) > 0);
	recv_pattern(p.s, MUCH, 1, 0);
}

/* The same of one who does not wait. */
CASE(full_is_much)
{
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	CHECK(sum >= 1 << 20);
	recv_pattern(p.s, sum, 5, 0);
}

/*
 * What fits into TCP's first window is at the reader before he reads, whatever it was
 * written in: some wait for all of a request (FIONREAD) before they take any.
 */
CASE(arrives_unread)
{
	enum { ALL = 48 * 1024 };
	static const int pieces[] = { ALL, 16 * 1024, 4096, 1000 };
	unsigned int round, i;
	struct pair p;
	int n, at;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < ARRAY_SIZE(pieces); i++) {
			pair_open(&p);
			for (at = 0; at < ALL; at += n) {
				n = pieces[i] < ALL - at ? pieces[i] : ALL - at;
				send_pattern(p.c, n, 3, at);
			}
			arrived(p.s, ALL);
			recv_pattern(p.s, ALL, 3, 0);
			close(p.c);
			close(p.s);
			close(p.l);
		}
	}
}

/* The other direction has buffers of its own. */
CASE(full_one_way_only)
{
	long long a, b;
	struct pair p;

	pair_open(&p);
	a = fill(p.c, 5);
	nonblock(p.c, false);
	send_pattern(p.s, 10000, 6, 0);
	recv_pattern(p.c, 10000, 6, 0);
	b = fill(p.s, 7);
	nonblock(p.s, false);	/* part of it may still be under way */
	recv_pattern(p.s, a, 5, 0);
	recv_pattern(p.c, b, 7, 0);
}

CASE(send_blocks_until_read)
{
	struct task t = { .run = task_send_all, .len = 100000 };
	long long sum;
	struct pair p;

	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	task_blocks(&t, p.c);
	recv_pattern(p.s, sum, 5, 0);
	recv_pattern(p.s, t.len, 1, 0);
	task_join(&t);
}

CASE(recv_blocks_until_sent)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	task_blocks(&t, p.s);
	send_text(p.c, "at last");
	EQ(7, task_join(&t));
}

CASE(recv_interrupted)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	expect_eintr(&t, SO_RCVTIMEO);
	start_and_signal(&t);
	still_waits(&t);
	send_text(p.c, "data");
	EQ(4, task_join(&t));
}

/* A send that has taken something tells how much, else EINTR. */
CASE(send_interrupted)
{
	static char buf[4 << 20];
	struct task t = { .run = task_send, .buf = buf, .len = sizeof(buf) };
	long long sum, n;
	struct pair p;

	catch(0);
	pair_open(&p);
	t.fd = p.c;
	pattern_fill(buf, sizeof(buf), 5, 0);
	OK(set_int(p.c, SOL_SOCKET, SO_SNDBUF, 65536));
	task_start(&t);
	CHECK(!t.done);
	pthread_kill(t.thread, SIGUSR1);
	n = task_join(&t);
	IN_RANGE(1, sizeof(buf) - 1, n);
	sum = fill(p.c, 6);
	nonblock(p.c, false);
	task_start(&t);
	CHECK(!t.done);
	pthread_kill(t.thread, SIGUSR1);
	FAILS(EINTR, task_join(&t));
	recv_pattern(p.s, n, 5, 0);
	recv_pattern(p.s, sum, 6, 0);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));
}

CASE(recv_timeout)
{
	struct ktap_watch start;
	struct pair p;
	char c;

	pair_open(&p);
	OK(set_ms(p.s, SO_RCVTIMEO, 100));
	start = ktap_watch();
	FAILS(EAGAIN, recv(p.s, &c, 1, 0));
	WAITED(100, ktap_ms(2000), start);
	start = ktap_watch();
	FAILS(EAGAIN, recv(p.s, &c, 1, MSG_PEEK));
	WAITED(100, ktap_ms(2000), start);
	send_text(p.c, "x");
	await(p.s, POLLIN);
	recv_text(p.s, "x");
}
BY_CLOCK(recv_timeout);

CASE(send_timeout)
{
	struct ktap_watch start;
	long long sum;
	struct pair p;
	char c = 0;

	pair_open(&p);
	sum = fill(p.c, 5);
	nonblock(p.c, false);
	OK(set_ms(p.c, SO_SNDTIMEO, 100));
	start = ktap_watch();
	FAILS(EAGAIN, send(p.c, &c, 1, 0));
	WAITED(100, ktap_ms(2000), start);
	recv_pattern(p.s, sum, 5, 0);
	await(p.c, POLLOUT);
	send_text(p.c, "x");
	recv_text(p.s, "x");
}
BY_CLOCK(send_timeout);

/* --------------------------------------------------------------------- queues */

CASE(so_rcvlowat)
{
	char buf[300];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 100));
	EQ(100, get_int(p.s, SOL_SOCKET, SO_RCVLOWAT));
	send_pattern(p.c, 99, 5, 0);
	arrived(p.s, 99);
	EQ_HEX(0, poll_one(p.s, POLLIN, 0));
	EQ(99, recv(p.s, buf, sizeof(buf), MSG_DONTWAIT));
	/*
	 * A reader who waits before anything came: one who has taken 99 bytes
	 * already is not woken by TCP until 100 more are there.
	 */
	t.fd = p.s;
	task_start(&t);
	send_pattern(p.c, 99, 5, 0);
	settle();
	CHECK(!t.done);
	send_pattern(p.c, 1, 5, 99);
	EQ(100, task_join(&t));
	EQ(-1, pattern_check(buf, 100, 5, 0));

	/* Less is given to who does not wait, and to who asks for less. */
	send_pattern(p.c, 50, 6, 0);
	arrived(p.s, 50);
	EQ(10, recv(p.s, buf, 10, 0));
	EQ(40, recv(p.s, buf, sizeof(buf), MSG_DONTWAIT));

	send_pattern(p.c, 99, 7, 0);
	arrived(p.s, 99);
	EQ_HEX(0, poll_one(p.s, POLLIN, 0));
	send_pattern(p.c, 1, 7, 99);
	await(p.s, POLLIN);
	recv_pattern(p.s, 100, 7, 0);

	/* The end is always worth a look. */
	send_pattern(p.c, 5, 8, 0);
	OK(shutdown(p.c, SHUT_WR));
	await(p.s, POLLIN);
	EQ(5, recv(p.s, buf, sizeof(buf), 0));
	expect_eof(p.s);
}

CASE(rcvlowat_poll_wakes)
{
	struct task t = { .run = task_poll, .events = POLLIN };
	struct pair p;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 5000));
	t.fd = p.s;
	task_start(&t);
	send_pattern(p.c, 4000, 5, 0);
	arrived(p.s, 4000);
	wait_asleep(getpid(), t.tid);
	CHECK(!t.done);
	send_pattern(p.c, 1000, 5, 4000);
	EQ_HEX(POLLIN, task_join(&t));
	recv_pattern(p.s, 5000, 5, 0);
}

/* What is waited for is let in, though nobody takes anything meanwhile. */
CASE(rcvlowat_much)
{
	static const int lowats[] = { 60000, 300000, 500000 };
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(lowats); i++) {
		/* Read by RDMA, and copied, which takes more buffers. */
		int lowat = i % 2 ? lowats[i / 2] : lowats[i / 2] * 8 / 5;
		struct task t = { .run = task_send_all, .len = 2 * lowat };
		struct pair p;

		sysctl("zcopy_thresh", i % 2 ? 0 : 65536);
		pair_open(&p);
		OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, lowat));
		t.fd = p.c;
		task_start(&t);
		await(p.s, POLLIN);
		CHECK(inq(p.s) >= lowat);
		recv_past_lowat(p.s, t.len, 1, 0);
		EQ(t.len, task_join(&t));
		close(p.c);
		close(p.s);
	}
}

/* More than there is memory for: what is there is told of, with TCP too. */
CASE(rcvlowat_too_much)
{
	int i;

	for (i = 0; i < 2; i++) {
		struct task t = { .run = task_send_all, .len = 12 << 20 };
		struct pair p;

		sysctl("zcopy_thresh", i ? 0 : 65536);
		pair_open(&p);
		OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 10 << 20));
		t.fd = p.c;
		task_start(&t);
		await(p.s, POLLIN);
		CHECK(inq(p.s) >= 200000);
		OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 1));
		recv_pattern(p.s, t.len, 1, 0);
		EQ(t.len, task_join(&t));
		close(p.c);
		close(p.s);
	}
}

/* Set while everything waits already, and set back while somebody sleeps. */
CASE(rcvlowat_much_later)
{
	struct task t = { .run = task_send_all, .len = 900000 };
	struct task reader = { .run = task_poll, .events = POLLIN };
	struct pair p;

	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	t.fd = p.c;
	task_start(&t);
	await(p.s, POLLIN);
	sleep_ms(300);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 500000));
	await(p.s, POLLIN);	/* TCP says so though there is less */
	CHECK(inq(p.s) >= (on_sdp() ? 500000 : 30000));
	recv_past_lowat(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));

	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 5000));
	send_pattern(p.c, 4000, 5, 0);
	arrived(p.s, 4000);
	reader.fd = p.s;
	task_start(&reader);
	wait_asleep(getpid(), reader.tid);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 4000));
	EQ_HEX(POLLIN, task_join(&reader));
	recv_pattern(p.s, 4000, 5, 0);
}

/* What is being read by RDMA is not here yet. */
CASE(rcvlowat_of_one_send)
{
	struct task t = { .run = task_send, .len = 4 << 20 };
	struct pair p;

	t.buf = malloc(t.len);
	pattern_fill(t.buf, t.len, 1, 0);
	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 800000));
	t.fd = p.c;
	task_start(&t);
	await(p.s, POLLIN);
	CHECK(inq(p.s) >= 800000);
	recv_past_lowat(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
	free(t.buf);
}

static void task_send_small(struct task *t)
{
	size_t i;

	for (i = 0; i < t->len; i += 2000)
		send_pattern(t->fd, 2000, 1, i);
	t->ret = i;
}

/*
 * Many small messages: SDP runs out of buffers before there is so much.  What is
 * there has to be read then, as TCP says too that is out of memory for more.
 */
CASE(rcvlowat_of_small)
{
	struct task t = { .run = task_send_small, .len = 500000 };
	struct pair p;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 400000));
	OK(set_int(p.c, SOL_TCP, TCP_NODELAY, 1));
	t.fd = p.c;
	task_start(&t);
	await(p.s, POLLIN);
	CHECK(inq(p.s) >= (on_sdp() ? 200000 : 400000));
	recv_past_lowat(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
}

CASE(peek_much)
{
	struct task t = { .run = task_send_all, .len = 65536 };
	static char buf[60000];
	struct task peek = {
		.run = task_recv, .buf = buf, .len = sizeof(buf),
		.flags = MSG_PEEK | MSG_WAITALL,
	};
	struct pair p;

	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	peek.fd = p.s;
	task_start(&peek);
	wait_asleep(getpid(), peek.tid);
	send_text(p.s, "x");	/* what is waited for stays what it was */
	recv_text(p.c, "x");
	t.fd = p.c;
	task_start(&t);
	EQ(sizeof(buf), task_join(&peek));
	EQ(-1, pattern_check(buf, sizeof(buf), 1, 0));
	recv_pattern(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
}

/* Short messages, one by one, take no more room while somebody looks at them. */
CASE(peek_small)
{
	static char buf[20000];
	struct task peek = {
		.run = task_recv, .buf = buf, .len = sizeof(buf),
		.flags = MSG_PEEK | MSG_WAITALL,
	};
	struct pair p;
	int i;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_NODELAY, 1));
	peek.fd = p.s;
	task_start(&peek);
	for (i = 0; i < (int)sizeof(buf); i += 100) {
		send_pattern(p.c, 100, 5, i);
		arrived(p.s, i + 100);
		if (i < (int)sizeof(buf) - 100)
			wait_asleep(getpid(), peek.tid);
	}
	EQ(sizeof(buf), task_join(&peek));
	EQ(-1, pattern_check(buf, sizeof(buf), 5, 0));
	for (; i < 2 * (int)sizeof(buf); i += 100) {
		send_pattern(p.c, 100, 5, i);
		arrived(p.s, i + 100);
		EQ(100, recv(p.s, buf, 100, MSG_PEEK | MSG_DONTWAIT));
	}
	recv_pattern(p.s, i, 5, 0);
}

CASE(fionread)
{
	struct pair p;
	int n = -1;

	pair_open(&p);
	EQ(0, inq(p.s));
	send_pattern(p.c, 1000, 5, 0);
	arrived(p.s, 1000);
	OK(ioctl(p.s, FIONREAD, &n));
	EQ(1000, n);
	recv_pattern(p.s, 400, 5, 0);
	EQ(600, inq(p.s));
	send_pattern(p.c, 20000, 5, 1000);
	arrived(p.s, 20600);
	recv_pattern(p.s, 20600, 5, 400);
	EQ(0, inq(p.s));
	OK(shutdown(p.c, SHUT_WR));
	await(p.s, POLLRDHUP);
	EQ(0, inq(p.s));
	FAILS(EFAULT, ioctl(p.s, FIONREAD, (void *)8));
}

CASE(siocoutq)
{
	struct pair p;
	int n = -1;

	pair_open(&p);
	EQ(0, outq(p.c));
	send_pattern(p.c, 10000, 5, 0);
	EVENTUALLY(0, outq(p.c));	/* arrived, though not read */
	fill(p.c, 6);
	IN_RANGE(1, 256 << 20, outq(p.c));
	OK(ioctl(p.c, SIOCOUTQNSD, &n));
	IN_RANGE(0, outq(p.c), n);
	OK(shutdown(p.c, SHUT_WR));
	recv_pattern(p.s, 10000, 5, 0);
	drain(p.s, 6, 0);
	EVENTUALLY(0, outq(p.c));
}

/*
 * A reader with few buffers, whose own direction is closed: all that he sends
 * is word of new buffers, and the peer waits for it again and again.
 */
CASE(few_buffers_and_half_closed)
{
	struct task t = { .run = task_send_all, .len = 1 << 20 };
	struct pair p;

	pair_start(&p);
	set_int(p.c, SOL_SOCKET, SO_RCVBUF, 1);
	pair_finish(&p);
	OK(shutdown(p.c, SHUT_WR));
	expect_eof(p.s);
	t.fd = p.s;
	task_start(&t);
	recv_pattern(p.c, t.len, 1, 0);
	EQ(t.len, task_join(&t));
}

CASE(siocatmark)
{
	struct pair p;
	int n = -1;

	pair_open(&p);
	OK(ioctl(p.s, SIOCATMARK, &n));
	IN_RANGE(0, 1, n);
	FAILS(ENOTTY, ioctl(p.s, 0x5413, &n));		/* TIOCGWINSZ */
}
