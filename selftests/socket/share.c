// SPDX-License-Identifier: GPL-2.0
/*
 * Descriptors that go elsewhere: dup, fork, exec, SCM_RIGHTS, threads; and
 * data that does: splice and sendfile.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "lib/variant.h"

CASE(dup_shares)
{
	struct pair p;
	int d;

	pair_open(&p);
	d = OK(dup(p.c));
	must_be_sdp(d);
	send_text(d, "by the copy ");
	close(p.c);
	send_text(d, "after close");
	recv_text(p.s, "by the copy after close");
	EQ_HEX(POLLOUT, poll_one(p.s, POLLIN | POLLOUT | POLLRDHUP, 0));
	close(d);
	expect_eof(p.s);
}

CASE(fork_shares)
{
	struct pair p;
	pid_t pid;

	pair_open(&p);
	pid = OK(fork());
	if (!pid) {
		must_be_sdp(p.c);
		send_text(p.c, "child");
		recv_text(p.c, "parent");
		_exit(0);
	}
	recv_text(p.s, "child");
	/* One of two holders closes: that is nothing to the connection. */
	close(p.c);
	send_text(p.s, "parent");
	CHILD_OK(pid);
	expect_eof(p.s);
}

/* A prefork server: children wait in accept() of one listener. */
CASE(fork_accept)
{
	enum { CHILDREN = 3, CLIENTS = 12 };
	pid_t pid[CHILDREN];
	int l, c[CLIENTS], i;
	union addr a;
	char x;

	l = listener(&a, CLIENTS);
	for (i = 0; i < CHILDREN; i++) {
		pid[i] = OK(fork());
		if (!pid[i]) {
			for (;;) {
				int s = OK(accept(l, NULL, NULL));

				must_be_sdp(s);
				EQ(1, recv(s, &x, 1, 0));
				EQ(1, send(s, &x, 1, 0));
				close(s);
				if (x == 'q')
					_exit(0);
			}
		}
	}
	for (i = 0; i < CLIENTS; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &a));
		x = 'a';
		EQ(1, send(c[i], &x, 1, 0));
	}
	for (i = 0; i < CLIENTS; i++) {
		recv_text(c[i], "a");
		expect_eof(c[i]);
	}
	for (i = 0; i < CHILDREN; i++) {
		c[0] = sock();
		OK(connect_to(c[0], &a));
		send_text(c[0], "q");
		recv_text(c[0], "q");
	}
	for (i = 0; i < CHILDREN; i++)
		CHILD_OK(pid[i]);
}

/* A listener inherited by fork works when the parent has closed it. */
CASE(fork_listener)
{
	union addr a;
	int l = listener(&a, 4), c = sock();
	pid_t pid;

	pid = OK(fork());
	if (!pid) {
		send_text(accept_one(l), "from the child");
		_exit(0);
	}
	close(l);
	OK(connect_to(c, &a));
	recv_text(c, "from the child");
	CHILD_OK(pid);
}

CASE(exec_keeps)
{
	struct pair p;
	char fd[16];
	pid_t pid;

	pair_open(&p);
	snprintf(fd, sizeof(fd), "%d", p.c);
	pid = OK(fork());
	if (!pid) {
		OK(execl("/proc/self/exe", "sdp_socket", "--after-exec", fd,
			 variant_name(), NULL));
	}
	close(p.c);
	recv_text(p.s, "after exec");
	CHILD_OK(pid);
	expect_eof(p.s);
}

CASE(exec_closes_cloexec)
{
	struct pair p;
	pid_t pid;

	pair_open(&p);
	OK(fcntl(p.c, F_SETFD, FD_CLOEXEC));
	pid = OK(fork());
	if (!pid)
		OK(execl("/bin/sleep", "sleep", "1000", NULL));
	close(p.c);
	expect_eof(p.s);
	OK(kill(pid, SIGKILL));
}

static void send_fd(int via, int fd)
{
	char control[CMSG_SPACE(sizeof(fd))] = { };
	struct iovec iov = { "f", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	OK(sendmsg(via, &msg, 0));
}

static int recv_fd(int via)
{
	char control[CMSG_SPACE(sizeof(int))], x;
	struct iovec iov = { &x, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int fd;

	OK(recvmsg(via, &msg, 0));
	c = CMSG_FIRSTHDR(&msg);
	CHECK(c && c->cmsg_type == SCM_RIGHTS);
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	return fd;
}

CASE(pass_descriptor)
{
	int via[2], fd;
	struct pair p;
	pid_t pid;

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, via));
	pair_open(&p);
	pid = OK(fork());
	if (!pid) {
		close(p.s);
		close(p.l);
		close(p.c);
		fd = recv_fd(via[1]);
		must_be_sdp(fd);
		recv_text(fd, "queued");
		send_text(fd, "passed");
		fd = recv_fd(via[1]);
		send_text(accept_one(fd), "accepted");
		_exit(0);
	}
	/* With data in it, closed here while under way. */
	send_text(p.s, "queued");
	send_fd(via[0], p.c);
	close(p.c);
	recv_text(p.s, "passed");
	send_fd(via[0], p.l);
	close(p.l);
	p.c = sock();
	OK(connect_to(p.c, &p.addr));
	recv_text(p.c, "accepted");
	CHILD_OK(pid);
	expect_eof(p.s);
}

/* A descriptor that nobody takes from the AF_UNIX socket is closed with it. */
CASE(pass_descriptor_and_forget)
{
	struct pair p;
	int via[2];

	OK(socketpair(AF_UNIX, SOCK_STREAM, 0, via));
	pair_open(&p);
	send_fd(via[0], p.c);
	close(p.c);
	settle();
	EQ_HEX(0, poll_one(p.s, POLLIN | POLLRDHUP, 0));
	close(via[0]);
	close(via[1]);
	expect_eof(p.s);
}

/* -------------------------------------------------------------------- threads */

CASE(duplex)
{
	struct task t[4] = {
		{ .run = task_send_all, .len = 4000000 },
		{ .run = task_send_all, .len = 4000000 },
		{ .run = task_drain }, { .run = task_drain },
	};
	struct pair p;
	int i;

	pair_open(&p);
	t[0].fd = p.c;
	t[1].fd = p.s;
	t[2].fd = p.c;
	t[3].fd = p.s;
	for (i = 0; i < 4; i++)
		task_start(&t[i]);
	for (i = 0; i < 2; i++) {
		task_join(&t[i]);
		OK(shutdown(t[i].fd, SHUT_WR));
	}
	EQ(4000000, task_join(&t[2]));
	EQ(4000000, task_join(&t[3]));
}

/* Two threads send: nothing is lost, and no single send() is torn apart. */
static void task_records(struct task *t)
{
	char record[64];
	int i;

	memset(record, t->flags, sizeof(record));
	for (i = 0; i < 3000; i++)
		EQ(sizeof(record), send(t->fd, record, sizeof(record), 0));
}

CASE(two_senders)
{
	struct task t[2] = {
		{ .run = task_records, .flags = 'a' },
		{ .run = task_records, .flags = 'b' },
	};
	int i, k, count[2] = { };
	char record[64];
	struct pair p;

	pair_open(&p);
	t[0].fd = p.c;
	t[1].fd = p.c;
	task_start(&t[0]);
	task_start(&t[1]);
	for (i = 0; i < 6000; i++) {
		EQ(sizeof(record), recv(p.s, record, sizeof(record), MSG_WAITALL));
		for (k = 1; k < (int)sizeof(record); k++)
			EQ(record[0], record[k]);
		IN_RANGE('a', 'b', record[0]);
		count[record[0] - 'a']++;
	}
	EQ(3000, count[0]);
	EQ(3000, count[1]);
	task_join(&t[0]);
	task_join(&t[1]);
}

static void task_count(struct task *t)
{
	static __thread char buf[5000];
	ssize_t n;

	while ((n = OK(recv(t->fd, buf, sizeof(buf), 0))))
		t->ret += n;
}

CASE(two_receivers)
{
	struct task t[2] = { { .run = task_count }, { .run = task_count } };
	struct pair p;

	pair_open(&p);
	t[0].fd = p.s;
	t[1].fd = p.s;
	task_start(&t[0]);
	task_start(&t[1]);
	send_pattern(p.c, 2000000, 5, 0);
	OK(shutdown(p.c, SHUT_WR));
	task_join(&t[0]);
	task_join(&t[1]);
	EQ(2000000, t[0].ret + t[1].ret);
}

/* -------------------------------------------------------------- splice, files */

CASE(splice_from_socket)
{
	static char buf[30000];
	size_t pos = 0;
	struct pair p;
	int fds[2];
	ssize_t n;

	pair_open(&p);
	OK(pipe(fds));
	nonblock(p.s, true);
	FAILS(EAGAIN, splice(p.s, NULL, fds[1], NULL, 100, 0));
	nonblock(p.s, false);
	send_pattern(p.c, 30000, 5, 0);
	OK(shutdown(p.c, SHUT_WR));
	arrived(p.s, 30000);
	EQ(1, splice(p.s, NULL, fds[1], NULL, 1, 0));
	EQ(1, read(fds[0], buf, 10));
	EQ(-1, pattern_check(buf, 1, 5, 0));
	for (pos = 1; pos < 30000; pos += n) {
		n = OK(splice(p.s, NULL, fds[1], NULL, 7000, 0));
		IN_RANGE(1, 7000, n);
		EQ(n, read(fds[0], buf, sizeof(buf)));
		EQ(-1, pattern_check(buf, n, 5, pos));
	}
	EQ(0, splice(p.s, NULL, fds[1], NULL, 100, 0));
}

/* A splice() with these flags, from p->s into the pipe, waits for data. */
static int splice_waits_(struct pair *p, int fds[2], unsigned int flags)
{
	struct task t = { .run = task_splice, .len = 100, .flags = flags };

	pair_open(p);
	OK(pipe(fds));
	t.other = fds[1];
	task_blocks(&t, p->s);
	send_text(p->c, "hello");
	EQ(5, task_join(&t));
	return 0;
}

#define splice_waits(...)	CALL(splice_waits_(__VA_ARGS__))

/* Waits for data as recv() does, unless the socket is non-blocking. */
CASE(splice_from_socket_blocks)
{
	struct pair p;
	int fds[2];

	splice_waits(&p, fds, 0);
}

/* SPLICE_F_NONBLOCK is about the pipe alone: the socket is waited for. */
CASE(splice_from_socket_nonblocking_pipe)
{
	struct pair p;
	int fds[2];

	splice_waits(&p, fds, SPLICE_F_NONBLOCK);
	/* No room in it: that is not waited for. */
	OK(fcntl(fds[1], F_SETPIPE_SZ, getpagesize()));
	send_pattern(p.c, 10, 5, 0);
	arrived(p.s, 10);
	FAILS(EAGAIN, splice(p.s, NULL, fds[1], NULL, 100, SPLICE_F_NONBLOCK));
	recv_pattern(p.s, 10, 5, 0);
}

CASE(splice_to_socket)
{
	static char buf[60000];
	struct pair p;
	int fds[2];

	pair_open(&p);
	OK(pipe(fds));
	pattern_fill(buf, sizeof(buf), 5, 0);
	EQ(sizeof(buf), write(fds[1], buf, sizeof(buf)));
	EQ(1, splice(fds[0], NULL, p.c, NULL, 1, 0));
	EQ(4999, splice(fds[0], NULL, p.c, NULL, 4999, SPLICE_F_MORE));
	EQ(sizeof(buf) - 5000, splice(fds[0], NULL, p.c, NULL, 1 << 20, 0));
	recv_pattern(p.s, sizeof(buf), 5, 0);
	OK(shutdown(p.s, SHUT_RD));
	OK(shutdown(p.c, SHUT_WR));
	signal(SIGPIPE, SIG_IGN);
	EQ(10, write(fds[1], buf, 10));
	FAILS(EPIPE, splice(fds[0], NULL, p.c, NULL, 10, 0));
}

/* A pipe's pages stay the pipe's: what is changed after is not what was sent. */
CASE(splice_through)
{
	struct task t[2] = {
		{ .run = task_send_all, .len = 1000000 }, { .run = task_drain },
	};
	struct pair p, q;
	size_t sum = 0;
	int fds[2];
	ssize_t n;

	pair_open(&p);
	pair_open(&q);
	OK(pipe(fds));
	t[0].fd = p.c;
	t[1].fd = q.s;
	task_start(&t[0]);
	task_start(&t[1]);
	while (sum < t[0].len) {
		n = OK(splice(p.s, NULL, fds[1], NULL, 65536, SPLICE_F_MOVE));
		CHECK(n > 0);
		sum += n;
		while (n > 0)
			n -= OK(splice(fds[0], NULL, q.c, NULL, n, SPLICE_F_MOVE | SPLICE_F_MORE));
	}
	task_join(&t[0]);
	OK(shutdown(q.c, SHUT_WR));
	EQ(sum, task_join(&t[1]));
}

static int pattern_file(size_t len)
{
	int fd = OK(memfd_create("pattern", 0));
	char *m;

	OK(ftruncate(fd, len));
	m = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(m != MAP_FAILED);
	pattern_fill(m, len, 1, 0);
	munmap(m, len);
	return fd;
}

CASE(sendfile_to_socket)
{
	struct task t = { .run = task_drain };
	size_t len = 3 << 20;
	off_t off = 1001;
	struct pair p;
	ssize_t n;
	int file;

	pair_open(&p);
	file = pattern_file(len);
	EQ(1001, sendfile(p.c, file, NULL, 1001));
	t.fd = p.s;
	task_start(&t);
	while (off < (off_t)len) {
		n = OK(sendfile(p.c, file, &off, 700000));
		CHECK(n > 0);
	}
	EQ(0, sendfile(p.c, file, &off, 100));
	OK(shutdown(p.c, SHUT_WR));
	EQ(len, task_join(&t));
}

CASE(sendfile_nonblocking)
{
	size_t len = 8 << 20, sum = 0;
	off_t off = 0;
	struct pair p;
	ssize_t n;
	int file;

	pair_open(&p);
	file = pattern_file(len);
	nonblock(p.c, true);
	while ((n = sendfile(p.c, file, &off, len - off)) > 0)
		if (off == (off_t)len)
			FAIL("sendfile never said EAGAIN in %zu bytes", len);
	if (n == 0 || errno != EAGAIN)
		FAIL("sendfile: expected EAGAIN, got %zd %s", n, ktap_errno(errno));
	while (sum < len) {
		recv_pattern(p.s, off - sum, 1, sum);
		sum = off;
		if (sum == len)
			break;
		await(p.c, POLLOUT);
		OK(sendfile(p.c, file, &off, len - off));
	}
}

CASE(no_mmap)
{
	struct pair p;

	pair_open(&p);
	/* TCP maps for TCP_ZEROCOPY_RECEIVE; nobody maps for writing. */
	EQ(1, mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, p.s, 0) == MAP_FAILED);
	FAILS(ESPIPE, lseek(p.s, 0, SEEK_SET));
	FAILS(ESPIPE, pread(p.s, &p, 1, 0));
}
