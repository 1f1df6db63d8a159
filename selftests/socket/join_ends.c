// SPDX-License-Identifier: GPL-2.0
/*
 * How connections inside this host begin and end when a process does not behave: it is
 * killed, stopped, both ends itself, gone before it was accepted; or the kernel is told
 * to end one of them.  With net.sdp.local the bytes go by memory (join), and a program
 * sees what it sees of TCP.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/destroy.h"
#include "lib/uring.h"
#include "lib/variant.h"

enum { MIB = 1 << 20, HUGE = 64 << 20 };

/* ------------------------------------------------------------------ SOCK_DESTROY */

static void destroy_it(int fd)
{
	if (destroy_connection(fd)) {
		EQ(EOPNOTSUPP, errno);
		ktap_skip("this kernel ends no sockets");
	}
}

/* The one that is ended, and the other. */
static void ends(const struct pair *p, int i, int fd[2])
{
	fd[0] = i ? p->s : p->c;
	fd[1] = i ? p->c : p->s;
}

/* Reads what is left of a stream of @sent bytes, which ends by a reset; how much. */
static long long until_reset(int fd, long long sent)
{
	char *buf = memory(65536, 0);
	long long pos = 0;
	ssize_t n;

	while ((n = recv(fd, buf, 65536, 0)) > 0) {
		EQ(-1, pattern_check(buf, n, 1, pos));
		pos += n;
	}
	EQ(ECONNRESET, errno);
	IN_RANGE(0, sent, pos);
	munmap(buf, 65536 + 4096);
	return pos;
}

/* Both sleep in recv(). */
CASE_ON(destroyed_while_both_receive, ON_TCP | ON_JOIN)
{
	struct task t[2];
	struct pair p;
	char byte[2];
	int i, j, fd[2];

	for (i = 0; i < 2; i++) {
		pair_open(&p);
		ends(&p, i, fd);
		for (j = 0; j < 2; j++) {
			t[j] = (struct task){ .run = task_recv, .fd = fd[j],
					      .buf = &byte[j], .len = 1 };
			task_start(&t[j]);
		}
		destroy_it(fd[0]);
		FAILS(ECONNABORTED, task_join(&t[0]));
		FAILS(ECONNRESET, task_join(&t[1]));
		for (j = 0; j < 2; j++) {
			EQ(0, recv(fd[j], byte, 1, 0));
			FAILS(EPIPE, send(fd[j], "x", 1, MSG_NOSIGNAL));
			EQ_HEX(POLLIN | POLLOUT | POLLHUP | POLLRDHUP,
			       poll_one(fd[j], POLLIN | POLLOUT | POLLRDHUP, 0));
		}
		close(p.l);
	}
}

/* One sleeps in send(), the other does not read. */
CASE_ON(destroyed_while_one_sends, ON_TCP | ON_JOIN)
{
	struct task t;
	struct pair p;
	long long sent;
	int i, fd[2];

	for (i = 0; i < 2; i++) {
		pair_open(&p);
		ends(&p, i, fd);
		t = (struct task){ .run = task_send, .fd = p.c, .len = HUGE,
				   .buf = pattern(HUGE, 0), .flags = MSG_NOSIGNAL };
		task_start(&t);
		destroy_it(fd[0]);
		sent = task_join(&t);
		IN_RANGE(1, HUGE - 1, sent);
		if (!i) {
			FAILS(ECONNABORTED, send(p.c, "x", 1, MSG_NOSIGNAL));
			CHECK(until_reset(p.s, sent) > 0);
		} else {
			FAILS(ECONNRESET, send(p.c, "x", 1, MSG_NOSIGNAL));
			FAILS(EPIPE, send(p.c, "x", 1, MSG_NOSIGNAL));
		}
		munmap(t.buf, HUGE + 4096);
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/* ------------------------------------------------------------- SIGKILL, SIGSTOP */

/* The process of one end, which sends, or receives, until it is killed. */
static pid_t busy_end(const struct pair *p, bool sends)
{
	char *buf = memory(65536, 0);
	pid_t pid = OK(fork());
	long long pos = 0;

	if (pid) {
		munmap(buf, 65536 + 4096);
		return pid;
	}
	close(p->c);
	for (;;) {
		size_t n = 1 + pos * 7919 % 60000;

		pattern_fill(buf, n, 1, pos);
		pos += OK(sends ? send(p->s, buf, n, 0) : recv(p->s, buf, n, 0));
	}
}

/* Whoever has its bytes has them in order, and then the end; @n of them at least. */
CASE_LIMIT(killed_while_it_sends, ~0u, 60)
{
	struct pair p;
	pid_t pid;
	int i;

	for (i = 0; i < 10; i++) {
		size_t n = 1 + i * 77777;

		pair_open(&p);
		pid = busy_end(&p, true);
		close(p.s);
		recv_pattern(p.c, n, 1, 0);
		OK(kill(pid, SIGKILL));
		drain(p.c, 1, n);
		EQ(pid, waitpid(pid, NULL, 0));
		close(p.c);
		close(p.l);
	}
}

/* Who sends to it is told, also when he sleeps. */
CASE_LIMIT(killed_while_it_receives, ~0u, 60)
{
	char *buf = memory(100000, 0);
	struct pair p;
	pid_t pid;
	int i;

	for (i = 0; i < 10; i++) {
		long long sent = 0, end = 1 + i * 300000;
		ssize_t n;

		pair_open(&p);
		pid = busy_end(&p, false);
		close(p.s);
		while ((n = send(p.c, buf, 100000, MSG_NOSIGNAL)) > 0) {
			sent += n;
			if (pid && sent > end) {
				OK(kill(pid, SIGKILL));
				EQ(pid, waitpid(pid, NULL, 0));
				pid = 0;
			}
		}
		CHECK(errno == ECONNRESET || errno == EPIPE);
		FAILS(EPIPE, send(p.c, buf, 1, MSG_NOSIGNAL));
		close(p.c);
		close(p.l);
	}
}

/* All of it comes when it goes on, whichever end stood still in the middle. */
CASE_LIMIT(stopped_in_the_middle, ~0u, 60)
{
	enum { MUCH = 16 << 20 };
	struct pair p;
	int i, status;
	pid_t pid;

	for (i = 0; i < 2; i++) {
		struct task t = { .run = i ? task_drain : task_send_all, .len = MUCH };

		pair_open(&p);
		pid = OK(fork());
		if (!pid) {
			close(p.c);
			raise(SIGSTOP);
			if (i)
				send_pattern(p.s, MUCH, 1, 0);
			else
				recv_pattern(p.s, MUCH, 1, 0);
			_exit(0);
		}
		close(p.s);
		EQ(pid, waitpid(pid, NULL, WUNTRACED));
		t.fd = p.c;
		task_start(&t);
		CHECK(!t.done);
		/* Until the process has done its part, and ends. */
		do {
			OK(kill(pid, SIGCONT));
			sleep_ms(2);
			OK(kill(pid, SIGSTOP));
			EQ(pid, waitpid(pid, &status, WUNTRACED));
		} while (WIFSTOPPED(status));
		EQ(0, status);
		EQ(MUCH, task_join(&t));
		close(p.c);
		close(p.l);
	}
}

/* ----------------------------------------------------------------- who is an end */

/* One thread is both ends: it writes to itself before it reads. */
CASE(one_thread_is_both)
{
	char *buf = pattern(MIB, 0);
	struct pair p;
	int i, fd[2];

	pair_open(&p);
	for (i = 0; i < 3; i++) {
		EQ(MIB, send(p.c, buf, MIB, 0));
		EQ(MIB, send(p.s, buf, MIB, 0));
		recv_pattern(p.s, MIB, 1, 0);
		recv_pattern(p.c, MIB, 1, 0);
	}
	/* As much as fits, and then a part of it, until all is through. */
	for (i = 0; i < 2; i++) {
		enum { ALL = 3 * MIB };
		long long sent = 0, got = 0;
		ssize_t n;

		ends(&p, i, fd);
		while (got < ALL) {
			n = sent < ALL ? send(fd[0], buf + sent % MIB,
					      MIB - sent % MIB, MSG_DONTWAIT) : -1;
			if (n > 0)
				sent += n;
			n = recv(fd[1], buf + got % MIB, MIB - got % MIB, MSG_DONTWAIT);
			if (n <= 0)
				continue;
			/* The buffer has this there, or has it again. */
			EQ(-1, pattern_check(buf + got % MIB, n, 1, got % MIB));
			got += n;
		}
	}
}

/* A process and its child are one end, both sending. */
CASE(one_end_is_two_processes)
{
	enum { EACH = 300000 };
	char *buf = memory(2 * EACH, 0);
	int i, got, of_child = 0;
	struct pair p;
	pid_t pid;

	pair_open(&p);
	pid = OK(fork());
	memset(buf, pid ? 'p' : 'c', EACH);
	for (i = 0; !pid && i < EACH; i += 1000)
		EQ(1000, send(p.c, buf, 1000, 0));
	if (!pid)
		_exit(0);
	struct task t = { .run = task_send, .fd = p.c, .buf = buf, .len = EACH };
	char *in = memory(2 * EACH, 0);

	task_start(&t);
	for (got = 0; got < 2 * EACH; )
		got += OK(recv(p.s, in + got, 2 * EACH - got, 0));
	EQ(EACH, task_join(&t));
	CHILD_OK(pid);
	for (i = 0; i < got; i++)
		of_child += in[i] == 'c';
	EQ(EACH, of_child);
	close(p.c);
	expect_eof(p.s);
}

/* ------------------------------------------------------------------ before accept() */

/* io_uring accepts: before or after the client comes. */
CASE(accepted_by_io_uring)
{
	struct io_uring_sqe sqe = { .opcode = IORING_OP_ACCEPT };
	struct io_uring_cqe cqe;
	struct ring r;
	union addr a;
	int c[2], i;

	ring_open(&r);
	sqe.fd = listener(&a, 4);
	for (i = 0; i < 2; i++) {
		c[i] = sock();
		if (i) {
			OK(connect_to(c[i], &a));
			await(sqe.fd, POLLIN);
		}
		OK(ring_submit(&r, &sqe));
		if (!i)
			OK(connect_to(c[i], &a));
		ring_next(&r, &cqe);
		CHECK(cqe.res >= 0);
		must_be_sdp(cqe.res);
		if (on_join())
			EQ(SDP_TRANSPORT_LOCAL, transport(cqe.res));
		send_text(c[i], "by the ring");
		recv_text(cqe.res, "by the ring");
		send_text(cqe.res, "and back");
		recv_text(c[i], "and back");
	}
	ring_close(&r);
}

/* A client that sends @len bytes and ends by a FIN, or as much as fits and a reset. */
static void gone_before_accept(long long len, bool reset)
{
	struct linger off = { .l_onoff = 1 };
	union addr a;
	int l = listener(&a, 4), c = sock(), s;
	pid_t pid;

	OK(connect_to(c, &a));
	if (reset) {
		if (len > MIB)
			len = fill(c, 1);
		else
			send_pattern(c, len, 1, 0);
		EVENTUALLY(0, len > MIB ? 0 : outq(c));
		OK(setsockopt(c, SOL_SOCKET, SO_LINGER, &off, sizeof(off)));
		close(c);
	} else {
		pid = OK(fork());
		if (!pid) {
			send_pattern(c, len, 1, 0);
			_exit(0);
		}
		close(c);
		if (len < MIB)
			CHILD_OK(pid);
	}
	s = accept_any(l);
	if (reset)
		until_reset(s, len);
	else
		EQ(len, drain(s, 1, 0));
	if (!reset && len >= MIB)
		CHILD_OK(pid);
	if (!reset) {
		/* Nobody is there. */
		send_text(s, "x");
		await(s, POLLERR);
		FAILS(EPIPE, send(s, "x", 1, MSG_NOSIGNAL));
	}
	close(s);
	close(l);
}

CASE_ON(gone_before_it_is_accepted, ON_TCP | ON_JOIN)
{
	int reset;

	for (reset = 0; reset < 2; reset++) {
		gone_before_accept(0, reset);
		gone_before_accept(1, reset);
		gone_before_accept(3 * MIB, reset);
	}
}

static void *switches(void *arg)
{
	atomic_bool *stop = arg;
	int i;

	for (i = 0; !*stop; i++)
		sysctl("local", i % 2);
	return NULL;
}

/* net.sdp.local is changed all the time: joined or not, each has its bytes. */
CASE_ON(join_switched_meanwhile, ON_TCP | ON_JOIN)
{
	enum { ROUNDS = 300 };
	unsigned long long before = on_ours() ? counter("local_joins") : 0;
	atomic_bool stop = false;
	pthread_t thread;
	union addr a;
	int l, c, s, i, joined = 0;

	l = listener(&a, 8);
	if (on_ours())
		EQ(0, pthread_create(&thread, NULL, switches, &stop));
	for (i = 0; i < ROUNDS; i++) {
		c = sock();
		OK(connect_to(c, &a));
		if (i % 2)
			send_text(c, "early, ");
		s = accept_any(l);
		joined += on_ours() && transport(s) == SDP_TRANSPORT_LOCAL;
		send_text(c, "there");
		recv_text(s, i % 2 ? "early, there" : "there");
		send_text(s, "and back");
		recv_text(c, "and back");
		close(i % 3 ? c : s);
		expect_eof(i % 3 ? s : c);
		close(i % 3 ? s : c);
	}
	stop = true;
	if (!on_ours())
		return;
	EQ(0, pthread_join(thread, NULL));
	EQ(before + joined, counter("local_joins"));
	ktap_note("%d of %d were joined", joined, ROUNDS);
}
