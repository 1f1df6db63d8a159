// SPDX-License-Identifier: GPL-2.0
/*
 * Joined sockets: a sender that waits lends its memory to the reader.  What is lent
 * is copied once; what the reader does not take in time is taken back and copied.
 * A program sees the same as with TCP.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../lib/absent.h"
#include "../lib/variant.h"

enum { LEND_MIB = 1 << 20 };

/* All that is long enough is lent where it can be. */
static void always(void)
{
	if (on_join())
		sysctl("zcopy_adapt", 0);
}

/* Since @before was read @n bytes were lent and taken. */
static int lent_(unsigned long long before, long long n)
{
	if (on_join())
		EQ(before + n, counter("local_bytes_lent"));
	return 0;
}

#define lent(...)	CALL(lent_(__VA_ARGS__))

/* To a reader that sleeps: no byte is copied twice. */
CASE(lend_to_who_sleeps)
{
	unsigned long long before = counter("local_bytes_lent");
	struct task t = { .run = task_recv, .len = LEND_MIB, .flags = MSG_WAITALL };
	char *buf = memory(LEND_MIB, 0);
	struct pair p;

	always();
	pair_open(&p);
	t.fd = p.s;
	t.buf = memory(LEND_MIB, 100);
	task_start(&t);
	still_waits(&t);
	pattern_fill(buf, LEND_MIB, 1, 0);
	EQ(LEND_MIB, send(p.c, buf, LEND_MIB, 0));
	memset(buf, 0, LEND_MIB);
	EQ(LEND_MIB, task_join(&t));
	EQ(-1, pattern_check(t.buf, LEND_MIB, 1, 0));
	lent(before, LEND_MIB);
	/* Short, or of a caller that does not wait: copied. */
	send_pattern(p.c, 20000, 1, 0);
	recv_pattern(p.s, 20000, 1, 0);
	EQ(100000, send(p.c, memory(100000, 0), 100000, MSG_DONTWAIT));
	lent(before, LEND_MIB);
}

/* One thread is both ends: what nobody takes is taken back, and all of it is there. */
CASE(lend_to_oneself)
{
	unsigned long long before = counter("local_bytes_lent");
	enum { LEN = 700000 };
	char *buf = memory(LEN, 10);
	struct pair p;
	int i;

	always();
	pair_open(&p);
	for (i = 0; i < 3; i++) {
		pattern_fill(buf, LEN, 1, i * LEN);
		EQ(LEN, send(p.c, buf, LEN, 0));
		/* The memory is the caller's again. */
		memset(buf, 'x', LEN);
		if (!i && on_join())
			EQ(LEN, inq(p.s));
	}
	lent(before, 0);
	recv_pattern(p.s, 3 * LEN, 1, 0);
	for (i = 0; i < 2; i++) {
		pattern_fill(buf, LEN, 2, 0);
		EQ(LEN, send(i ? p.c : p.s, buf, LEN, 0));
	}
	recv_pattern(p.s, LEN, 2, 0);
	recv_pattern(p.c, LEN, 2, 0);
}

/* The reader waits for a page of its own: nobody waits for it. */
CASE_ON(lend_to_who_faults, ON_JOIN)
{
	enum { PAGES = 64 };
	size_t page = sysconf(_SC_PAGESIZE), len = PAGES * page;
	struct task t = { .run = task_recv, .len = len, .flags = MSG_WAITALL };
	char *buf = memory(len, 0);
	struct absent absent;
	struct pair p;

	always();
	pair_open(&p);
	absent_make(&absent, len);
	t.fd = p.s;
	t.buf = absent.there;
	task_start(&t);
	still_waits(&t);
	/* Another pattern than the pages have when they come. */
	pattern_fill(buf, len, 3, 0);
	EQ((ssize_t)len, send(p.c, buf, len, 0));
	memset(buf, 'x', len);
	await(absent.fd, POLLIN);
	still_waits(&t);
	absent_give(&absent, 0, len);
	EQ((long long)len, task_join(&t));
	EQ(-1, pattern_check(t.buf, len, 3, 0));
}

/* The writer's own pages do not come: nobody else waits for them. */
CASE_ON(lend_of_who_faults, ON_JOIN)
{
	size_t page = sysconf(_SC_PAGESIZE), len = 64 * page;
	struct task t = { .run = task_send, .len = len };
	struct absent absent;
	struct pair p;
	char c;

	always();
	pair_open(&p);
	absent_make(&absent, len);
	t.fd = p.c;
	t.buf = absent.there;
	task_start(&t);
	await(absent.fd, POLLIN);
	FAILS(EAGAIN, recv(p.s, &c, 1, MSG_DONTWAIT));
	EQ(0, inq(p.s));
	EQ(POLLOUT, poll_one(p.s, POLLIN | POLLOUT, 0));
	send_text(p.s, "the other way");
	recv_text(p.c, "the other way");
	absent_give(&absent, 0, len);
	OK(shutdown(p.s, SHUT_WR));
	CHECK(recv(p.s, memory(len, 0), len, MSG_WAITALL) == (ssize_t)len);
	EQ((long long)len, task_join(&t));
}

/* A reader that peeks, skips, asks, or has no memory for it, and then reads on. */
CASE(lend_to_who_looks)
{
	enum { LEN = 300000 };
	struct task t = { .run = task_send_all, .len = 10 * LEN };
	size_t page = sysconf(_SC_PAGESIZE);
	char *at = memory(LEN, 0), *hole;
	long long pos = 0;
	struct pair p;
	ssize_t n;
	int i;

	always();
	pair_open(&p);
	hole = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(hole != MAP_FAILED);
	OK(munmap(hole + 2 * page, page));
	t.fd = p.c;
	task_start(&t);
	for (i = 0; pos < (long long)t.len; i++) {
		switch (i % 6) {
		case 0:
			n = OK(recv(p.s, at, LEN, MSG_PEEK));
			EQ(-1, pattern_check(at, n, 1, pos));
			continue;
		case 1:
			n = OK(recv(p.s, NULL, 5000, MSG_TRUNC));
			break;
		case 2:
			n = recv(p.s, hole + page, 3 * page, 0);
			if (n < 0) {
				EQ(EFAULT, errno);
				continue;
			}
			EQ(-1, pattern_check(hole + page, n, 1, pos));
			break;
		case 3:
			IN_RANGE(0, t.len - pos, inq(p.s));
			continue;
		default:
			n = OK(recv(p.s, at, i % 2 ? LEN : 70000, 0));
			EQ(-1, pattern_check(at, n, 1, pos));
		}
		CHECK(n > 0);
		pos += n;
	}
	EQ((long long)t.len, task_join(&t));
}

/* Sends one piece after another from one buffer, and spoils it in between. */
static void task_spoil(struct task *t)
{
	long long pos = 0;

	while (pos < t->events) {
		ssize_t n;

		pattern_fill(t->buf, t->len, 1, pos);
		n = send(t->fd, t->buf, t->len, MSG_NOSIGNAL);
		memset(t->buf, 'x', t->len);
		if (n <= 0)
			break;
		pos += n;
	}
	t->ret = pos;
	t->err = errno;
}

/*
 * The reader comes late or early, takes much or little, while signals interrupt the
 * sender: each byte is the one that was sent.
 */
CASE_LIMIT(lend_in_a_storm, ~0u, 120)
{
	enum { TOTAL = 12 << 20 };
	struct task t = { .run = task_spoil, .len = 200000, .events = TOTAL };
	unsigned int seed = 1;
	char *at = memory(LEND_MIB, 3);
	long long pos = 0, sent;
	struct pair p;

	always();
	catch(0);
	pair_open(&p);
	t.fd = p.c;
	t.buf = memory(t.len, 77);
	task_start(&t);
	while (pos < TOTAL) {
		size_t want = 1 + rand_r(&seed) % (rand_r(&seed) % 3 ? LEND_MIB : 3000);
		int flags;
		ssize_t n;

		if (rand_r(&seed) % 40 == 0)
			usleep(1000 * (rand_r(&seed) % 30));
		if (rand_r(&seed) % 20 == 0)
			pthread_kill(t.thread, SIGUSR1);
		flags = rand_r(&seed) % 2 ? 0 : MSG_DONTWAIT;
		if (flags && rand_r(&seed) % 3 == 0)
			flags |= MSG_PEEK;
		/* What was told to be there is there, also when it was taken back. */
		if (flags)
			await(p.s, POLLIN);
		n = OK(recv(p.s, at, want, flags));
		CHECK(n > 0);
		EQ(-1, pattern_check(at, n, 1, pos));
		if (!(flags & MSG_PEEK))
			pos += n;
	}
	sent = task_join(&t);
	recv_pattern(p.s, sent - pos, 1, pos);
}

/* The sender is killed, or the reader goes, with memory lent. */
CASE(lend_and_die)
{
	enum { LEN = 4 << 20 };
	char *at = memory(LEND_MIB, 0);
	struct pair p;
	long long pos;
	ssize_t n;
	pid_t pid;
	int i;

	always();
	for (i = 0; i < 10; i++) {
		pair_open(&p);
		pid = OK(fork());
		if (!pid) {
			char *buf = memory(LEN, 0);

			close(p.s);
			close(p.l);
			pattern_fill(buf, LEN, 1, 0);
			send(p.c, buf, LEN, 0);
			pause();
		}
		close(p.c);
		for (pos = 0; pos < 100000; pos += n) {
			n = OK(recv(p.s, at, 65536, 0));
			CHECK(n > 0);
			EQ(-1, pattern_check(at, n, 1, pos));
		}
		if (i % 2)
			OK(kill(pid, SIGKILL));
		/* What it had sent comes, and then the end. */
		while (i % 2 && (n = OK(recv(p.s, at, LEND_MIB, 0)))) {
			EQ(-1, pattern_check(at, n, 1, pos));
			pos += n;
		}
		close(p.s);
		close(p.l);
		if (!(i % 2))
			OK(kill(pid, SIGKILL));
		EQ(pid, waitpid(pid, NULL, 0));
	}
}

/* The reader closes, with lent bytes unread: the sender is told as by TCP. */
CASE_ON(lend_to_who_closes, ON_TCP | ON_JOIN)
{
	struct task t = { .run = task_send, .len = 8 << 20, .flags = MSG_NOSIGNAL };
	char *at = memory(LEND_MIB, 0);
	struct pair p;

	always();
	pair_open(&p);
	t.fd = p.c;
	t.buf = memory(t.len, 0);
	pattern_fill(t.buf, t.len, 1, 0);
	task_start(&t);
	EQ(300000, recv(p.s, at, 300000, MSG_WAITALL));
	EQ(-1, pattern_check(at, 300000, 1, 0));
	close(p.s);
	IN_RANGE(300000, (8 << 20) - 1, task_join(&t));
	FAILS(ECONNRESET, send(p.c, "x", 1, MSG_NOSIGNAL));
	FAILS(EPIPE, send(p.c, "x", 1, MSG_NOSIGNAL));
}

/* Pages of a file go by reference. */
CASE(lend_of_a_file)
{
	unsigned long long before = counter("local_bytes_lent");
	struct task t = { .run = task_recv, .len = LEND_MIB, .flags = MSG_WAITALL };
	char *buf = memory(LEND_MIB, 0);
	struct pair p;
	off_t at = 0;
	int fd;

	always();
	pair_open(&p);
	fd = OK(memfd_create("file", 0));
	pattern_fill(buf, LEND_MIB, 1, 0);
	EQ(LEND_MIB, write(fd, buf, LEND_MIB));
	t.fd = p.s;
	t.buf = memory(LEND_MIB, 0);
	task_start(&t);
	still_waits(&t);
	while (at < LEND_MIB)
		CHECK(sendfile(p.c, fd, &at, LEND_MIB - at) > 0);
	EQ(LEND_MIB, task_join(&t));
	EQ(-1, pattern_check(t.buf, LEND_MIB, 1, 0));
	if (on_join() && kernel_since(6, 5))
		CHECK(counter("local_bytes_lent") > before);
}

/* The time is over, or the other direction is shut, while memory is lent. */
CASE(lend_and_time_out)
{
	struct timeval tv = { .tv_usec = 200000 };
	char *buf = memory(8 << 20, 0);
	struct pair p;
	long long n;

	always();
	pair_open(&p);
	OK(setsockopt(p.c, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
	pattern_fill(buf, 8 << 20, 1, 0);
	n = OK(send(p.c, buf, 8 << 20, 0));
	IN_RANGE(100000, (8 << 20) - 1, n);
	memset(buf, 'x', 8 << 20);
	OK(shutdown(p.c, SHUT_WR));
	recv_pattern(p.s, n, 1, 0);
	expect_eof(p.s);
}
