// SPDX-License-Identifier: GPL-2.0
/*
 * The other ways to move bytes, and what only asks, with their first, second, third
 * ... allocation failing: files, pipes, vectors, the urgent byte, options.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault.h"

enum { MOVED = 65536, PIECES = 8 };

/* ------------------------------------------------------------ files and pipes */

/* A reader who wants all of it. */
static void before_moved(struct step *st, int thresh)
{
	sysctl("zcopy_thresh", thresh);
	pair_open(&st->p);
	st->len = MOVED;
	memset(fault_room, 0, st->len);
	st->task = (struct task){ .run = task_recv, .fd = st->p.s, .buf = fault_room,
				  .len = st->len, .flags = MSG_WAITALL };
	task_start(&st->task);
}

static void before_sendfile(struct step *st, int thresh)
{
	before_moved(st, thresh);
	st->fd = OK(memfd_create("fault", MFD_CLOEXEC));
	EQ(MOVED, write(st->fd, fault_big, MOVED));
}

static void before_sendfile_copied(struct step *st)
{
	before_sendfile(st, 0);
}

static void before_sendfile_lent(struct step *st)
{
	before_sendfile(st, 1);
}

static int call_sendfile(struct step *st)
{
	off_t at = st->done;
	ssize_t n = sendfile(st->p.c, st->fd, &at, st->len - st->done);

	if (n > 0)
		st->done += n;
	return n < 0 ? -1 : 0;
}

/* What it says has gone arrives, and the rest when it is sent. */
static void after_sendfile(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		OK(call_sendfile(st));
	EQ(st->len, task_join(&st->task));
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
}

TEST_LIMIT(sendfile_faults, ~0u, 240)
{
	static const struct op op = {
		"sendfile", before_sendfile_copied, call_sendfile, after_sendfile,
		{ EFAULT, ENOMEM },
	};

	fault_sweep(&op, 4);
}

TEST_LIMIT(sendfile_lent_faults, ON_SDP, 240)
{
	static const struct op op = {
		"sendfile, lent", before_sendfile_lent, call_sendfile, after_sendfile,
		{ EFAULT, ENOMEM },
	};

	fault_sweep(&op, 4);
}

static int pipes[2];

static void before_splice_in(struct step *st)
{
	before_moved(st, 0);
	OK(pipe2(pipes, O_CLOEXEC));
	OK(fcntl(pipes[1], F_SETPIPE_SZ, MOVED));
	EQ(MOVED, write(pipes[1], fault_big, MOVED));
}

static int call_splice_in(struct step *st)
{
	ssize_t n = splice(pipes[0], NULL, st->p.c, NULL, st->len - st->done, 0);

	if (n > 0)
		st->done += n;
	return n < 0 ? -1 : 0;
}

static void after_splice_in(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		OK(call_splice_in(st));
	EQ(st->len, task_join(&st->task));
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
	close(pipes[0]);
	close(pipes[1]);
}

TEST_LIMIT(splice_in_faults, ~0u, 240)
{
	static const struct op op = {
		"splice to a socket", before_splice_in, call_splice_in, after_splice_in,
		{ EFAULT, ENOMEM },
	};

	fault_sweep(&op, 4);
}

static void before_said(struct step *st)
{
	sysctl("zcopy_thresh", 0);
	pair_open(&st->p);
	st->len = MOVED;
	memset(fault_room, 0, st->len);
	EQ(st->len, send(st->p.c, fault_big, st->len, MSG_NOSIGNAL));
}

static void before_splice_out(struct step *st)
{
	before_said(st);
	OK(pipe2(pipes, O_CLOEXEC));
}

static int call_splice_out(struct step *st)
{
	ssize_t n = splice(st->p.s, NULL, pipes[1], NULL, st->len - st->done, 0);

	if (n > 0)
		st->done += n;
	return n < 0 ? -1 : 0;
}

/* Nothing is lost on the way to the pipe. */
static void after_splice_out(struct step *st, int ret)
{
	size_t had = 0;

	(void)ret;
	for (;;) {
		while (had < st->done)
			had += OK(read(pipes[0], fault_room + had, st->done - had));
		if (had == st->len)
			break;
		OK(call_splice_out(st));
	}
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
	close(pipes[0]);
	close(pipes[1]);
	fault_talk(st->p.c, st->p.s);
}

TEST_LIMIT(splice_out_faults, ~0u, 240)
{
	static const struct op op = {
		"splice from a socket", before_splice_out, call_splice_out,
		after_splice_out, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 1);
}

/* -------------------------------------------------------------------- vectors */

/* The bytes from st->done on, in pieces. */
static int pieces(struct step *st, struct iovec *iov, char *of)
{
	size_t at, n = 0, each = MOVED / PIECES;

	for (at = st->done; at < st->len; at += iov[n++].iov_len) {
		iov[n].iov_base = of + at;
		iov[n].iov_len = each - at % each;
	}
	return n;
}

static int call_writev(struct step *st)
{
	struct iovec iov[PIECES];
	ssize_t n = writev(st->p.c, iov, pieces(st, iov, fault_big));

	if (n > 0)
		st->done += n;
	return n < 0 ? -1 : 0;
}

static void before_writev(struct step *st)
{
	before_moved(st, 0);
}

static void after_writev(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		OK(call_writev(st));
	EQ(st->len, task_join(&st->task));
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
}

TEST_LIMIT(writev_faults, ~0u, 240)
{
	static const struct op op = {
		"writev", before_writev, call_writev, after_writev, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 8);
}

static void before_recvmsg(struct step *st)
{
	before_said(st);
	await(st->p.s, POLLIN);
}

static int call_recvmsg(struct step *st)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov };
	ssize_t n;

	msg.msg_iovlen = pieces(st, iov, fault_room);
	/* Seen first, and then taken. */
	n = recvmsg(st->p.s, &msg, MSG_PEEK | MSG_DONTWAIT);
	if (n > 0)
		n = recvmsg(st->p.s, &msg, 0);
	if (n > 0)
		st->done += n;
	return n < 0 ? -1 : 0;
}

static void after_recvmsg(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len) {
		await(st->p.s, POLLIN);
		OK(call_recvmsg(st));
	}
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
	fault_talk(st->p.c, st->p.s);
}

TEST_LIMIT(recvmsg_faults, ~0u, 240)
{
	static const struct op op = {
		"recvmsg", before_recvmsg, call_recvmsg, after_recvmsg, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 4);
}

/* ----------------------------------------------------------- the urgent byte */

static void before_talk(struct step *st)
{
	pair_open(&st->p);
}

static int call_urgent(struct step *st)
{
	return send(st->p.c, "!", 1, MSG_OOB | MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* It is there once, and no other byte of the stream is missing. */
static void after_urgent(struct step *st, int ret)
{
	char c = 0;

	if (ret)
		OK(call_urgent(st));
	await(st->p.s, POLLPRI);
	EQ(1, recv(st->p.s, &c, 1, MSG_OOB));
	EQ('!', c);
	fault_talk(st->p.c, st->p.s);
}

TEST_LIMIT(urgent_faults, ~0u, 240)
{
	static const struct op op = {
		"send, urgent", before_talk, call_urgent, after_urgent, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 2);
}

/* -------------------------------------------------------- what asks, and tells */

static int call_set(struct step *st)
{
	static const int options[][3] = {
		{ SOL_SOCKET, SO_SNDBUF, 100000 }, { SOL_SOCKET, SO_RCVBUF, 100000 },
		{ SOL_SOCKET, SO_RCVLOWAT, 1 }, { SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ SOL_SOCKET, SO_OOBINLINE, 1 }, { SOL_SOCKET, SO_ZEROCOPY, 1 },
		{ SOL_TCP, TCP_NODELAY, 1 }, { SOL_TCP, TCP_CORK, 1 }, { SOL_TCP, TCP_CORK, 0 },
		{ SOL_TCP, TCP_USER_TIMEOUT, 60000 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(options); i++)
		if (set_int(st->p.c, options[i][0], options[i][1], options[i][2]))
			return -1;
	return 0;
}

static void after_set(struct step *st, int ret)
{
	if (ret)
		OK(call_set(st));
	fault_talk(st->p.c, st->p.s);
}

TEST_LIMIT(setsockopt_faults, ~0u, 120)
{
	static const struct op op = {
		"setsockopt", before_talk, call_set, after_set, { EFAULT, ENOMEM, ENOBUFS },
	};

	fault_sweep(&op, 1);
}

static int call_ask(struct step *st)
{
	struct sockaddr_storage name;
	socklen_t len = sizeof(name);
	int value;

	if (ioctl(st->p.s, FIONREAD, &value) || ioctl(st->p.c, SIOCOUTQ, &value) ||
	    ioctl(st->p.s, SIOCATMARK, &value) ||
	    getsockname(st->p.c, (struct sockaddr *)&name, &len))
		return -1;
	len = sizeof(name);
	if (getpeername(st->p.c, (struct sockaddr *)&name, &len))
		return -1;
	len = sizeof(value);
	if (getsockopt(st->p.c, SOL_SOCKET, SO_ERROR, &value, &len))
		return -1;
	len = sizeof(value);
	return getsockopt(st->p.c, SOL_TCP, TCP_NODELAY, &value, &len);
}

static void after_ask(struct step *st, int ret)
{
	if (ret)
		OK(call_ask(st));
	fault_talk(st->p.c, st->p.s);
}

TEST_LIMIT(ask_faults, ~0u, 120)
{
	static const struct op op = {
		"ioctl, getsockopt, names", before_talk, call_ask, after_ask, { EFAULT },
	};

	fault_sweep(&op, 1);
}

static int call_epoll(struct step *st)
{
	struct epoll_event e = { .events = EPOLLIN };

	if (st->fd < 0)
		st->fd = epoll_create1(EPOLL_CLOEXEC);
	if (st->fd < 0 || epoll_ctl(st->fd, EPOLL_CTL_ADD, st->p.s, &e))
		return -1;
	return epoll_wait(st->fd, &e, 1, 0) < 0 ? -1 : 0;
}

static void after_epoll(struct step *st, int ret)
{
	/* It may have been added, and only asking have failed. */
	if (ret && call_epoll(st) && errno != EEXIST)
		FAIL("epoll: %s", ktap_errno(errno));
	await(st->fd, POLLIN);
	recv_pattern(st->p.s, MOVED, 7, 0);
	fault_talk(st->p.c, st->p.s);
}

TEST_LIMIT(epoll_faults, ~0u, 120)
{
	static const struct op op = {
		"epoll", before_said, call_epoll, after_epoll, { EFAULT, ENOMEM, EMFILE, ENFILE },
	};

	fault_sweep(&op, 0);
}
