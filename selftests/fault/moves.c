// SPDX-License-Identifier: GPL-2.0
/*
 * The other ways to move bytes, and what only asks, with their first, second, third
 * ... allocation failing: files, pipes, vectors, io_uring, the urgent byte, notices,
 * options.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "fault.h"
#include "lib/uring.h"

enum { PIECES = 8 };

/* ------------------------------------------------------------ files and pipes */

/* What a call has returned.  0 would be the end of what has none yet. */
static int moved(struct step *st, ssize_t n)
{
	if (!n)
		errno = ENODATA;
	if (n <= 0)
		return -1;
	st->done += n;
	return 0;
}

/* What it says has gone arrives, and the rest when it is sent. */
static void move_all(struct step *st, int (*call)(struct step *st))
{
	while (st->done < st->len)
		OK(call(st));
	fault_has_heard(st);
}

static void before_sendfile(struct step *st, int thresh)
{
	fault_before_heard(st, FAULT_SAID, thresh);
	st->fd = OK(memfd_create("fault", MFD_CLOEXEC | MFD_ALLOW_SEALING));
	EQ(FAULT_SAID, pwrite(st->fd, fault_big, FAULT_SAID, 0));
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
	/* From where the file is: no call that reads the caller's memory. */
	return moved(st, sendfile(st->p.c, st->fd, NULL, st->len - st->done));
}

static void after_sendfile(struct step *st, int ret)
{
	(void)ret;
	move_all(st, call_sendfile);
	/* Not while anybody refers to a page of it. */
	EVENTUALLY(0, fcntl(st->fd, F_ADD_SEALS, F_SEAL_WRITE));
}

CASE_LIMIT(sendfile_faults, ~0u, 240)
{
	static const struct op op = {
		"sendfile", before_sendfile_copied, call_sendfile, after_sendfile,
		{ ENOMEM },
	};

	fault_sweep(&op, 4);
}

CASE_LIMIT(sendfile_lent_faults, ON_SDP, 240)
{
	static const struct op op = {
		"sendfile, lent", before_sendfile_lent, call_sendfile, after_sendfile,
		{ ENOMEM },
	};

	fault_sweep(&op, 4);
}

static int pipes[2];

static void before_splice_in(struct step *st)
{
	fault_before_heard(st, FAULT_SAID, 0);
	OK(pipe2(pipes, O_CLOEXEC));
	OK(fcntl(pipes[1], F_SETPIPE_SZ, FAULT_SAID));
	EQ(FAULT_SAID, write(pipes[1], fault_big, FAULT_SAID));
}

static int call_splice_in(struct step *st)
{
	return moved(st, splice(pipes[0], NULL, st->p.c, NULL, st->len - st->done, 0));
}

static void after_splice_in(struct step *st, int ret)
{
	(void)ret;
	move_all(st, call_splice_in);
	close(pipes[0]);
	close(pipes[1]);
}

CASE_LIMIT(splice_in_faults, ~0u, 240)
{
	static const struct op op = {
		"splice to a socket", before_splice_in, call_splice_in, after_splice_in,
		{ ENOMEM },
	};

	fault_sweep(&op, 4);
}

static void before_splice_out(struct step *st)
{
	fault_before_said(st);
	/* Of what is not there yet a call that fails early loses nothing. */
	await(st->p.s, POLLIN);
	OK(pipe2(pipes, O_CLOEXEC));
}

static int call_splice_out(struct step *st)
{
	return moved(st, splice(st->p.s, NULL, pipes[1], NULL, st->len - st->done, 0));
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
	close(pipes[0]);
	close(pipes[1]);
	fault_has_said(st);
}

CASE_LIMIT(splice_out_faults, ~0u, 240)
{
	static const struct op op = {
		"splice from a socket", before_splice_out, call_splice_out,
		after_splice_out, { ENOMEM },
	};

	fault_sweep(&op, 1);
}

/* -------------------------------------------------------------------- vectors */

/* The bytes from one on, up to another, in pieces. */
static int pieces(struct iovec *iov, char *of, size_t from, size_t to)
{
	size_t each = (to - from + PIECES - 1) / PIECES, at;
	int n = 0;

	for (at = from; at < to; at += iov[n++].iov_len) {
		iov[n].iov_base = of + at;
		iov[n].iov_len = to - at < each ? to - at : each;
	}
	return n;
}

static int call_writev(struct step *st)
{
	struct iovec iov[PIECES];

	return moved(st, writev(st->p.c, iov, pieces(iov, fault_big, st->done, st->len)));
}

static void before_writev(struct step *st)
{
	fault_before_heard(st, FAULT_SAID, 0);
}

static void after_writev(struct step *st, int ret)
{
	(void)ret;
	move_all(st, call_writev);
}

CASE_LIMIT(writev_faults, ~0u, 240)
{
	static const struct op op = {
		"writev", before_writev, call_writev, after_writev, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 8);
}

static int call_recvmsg(struct step *st)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov };

	msg.msg_iovlen = pieces(iov, fault_room, st->done, st->len);
	return moved(st, recvmsg(st->p.s, &msg, MSG_WAITALL));
}

static void after_recvmsg(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		OK(call_recvmsg(st));
	fault_has_said(st);
}

CASE_LIMIT(recvmsg_faults, ~0u, 240)
{
	static const struct op op = {
		"recvmsg", fault_before_said, call_recvmsg, after_recvmsg, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 8);
}

/* So much comes, whether anybody reads or not. */
enum { PEEKED = 8000 };

static int call_peek(struct step *st)
{
	struct iovec iov[PIECES];
	struct msghdr msg = { .msg_iov = iov };

	msg.msg_iovlen = pieces(iov, fault_room, 0, PEEKED);
	return moved(st, recvmsg(st->p.s, &msg, MSG_PEEK | MSG_WAITALL));
}

/* What it says it has seen it has, and who reads gets the same, and the rest. */
static void after_peek(struct step *st, int ret)
{
	EQ(-1, pattern_check(fault_room, st->done, 7, 0));
	memset(fault_room, 0, st->len);
	st->done = 0;
	after_recvmsg(st, ret);
}

CASE_LIMIT(peek_faults, ~0u, 240)
{
	static const struct op op = {
		"recvmsg, peeking", fault_before_said, call_peek, after_peek,
		{ EFAULT, ENOMEM },
	};

	fault_sweep(&op, 8);
}

/* ------------------------------------------------------------------ io_uring */

/* The thread that submits is the one that is struck: it does all that does not wait. */
static struct {
	struct ring ring;
	bool more;	/* a notification is to come */
} uring;

/* One request for what is not done yet.  What it gives is in its completion. */
static int request(struct step *st, int opcode, int fd, const char *buf)
{
	struct io_uring_sqe sqe = {
		.opcode = opcode, .fd = fd, .addr = (uintptr_t)(buf + st->done),
		.len = st->len - st->done, .msg_flags = MSG_WAITALL | MSG_NOSIGNAL,
	};
	struct io_uring_cqe cqe;

	uring.more = false;
	if (ring_submit(&uring.ring, &sqe))
		return -1;
	ring_next(&uring.ring, &cqe);
	uring.more = cqe.flags & IORING_CQE_F_MORE;
	errno = cqe.res < 0 ? -cqe.res : 0;
	return moved(st, cqe.res < 0 ? -1 : cqe.res);
}

static void before_uring_send(struct step *st)
{
	fault_before_heard(st, FAULT_SAID, 0);
	ring_open(&uring.ring);
}

static int call_uring_send(struct step *st)
{
	return request(st, IORING_OP_SEND, st->p.c, fault_big);
}

static void after_uring_send(struct step *st, int ret)
{
	(void)ret;
	move_all(st, call_uring_send);
	ring_close(&uring.ring);
}

CASE_LIMIT(uring_send_faults, ~0u, 240)
{
	static const struct op op = {
		"io_uring, send", before_uring_send, call_uring_send, after_uring_send,
		{ EFAULT, ENOMEM, EAGAIN },
	};

	fault_sweep(&op, 20);
}

static void before_uring_lease(struct step *st)
{
	fault_before_heard(st, FAULT_BIG / 4, 65536);
	ring_open(&uring.ring);
}

static int call_uring_lease(struct step *st)
{
	return request(st, IORING_OP_SEND_ZC, st->p.c, fault_big);
}

/* Who was told that he would be told when his memory is free is told, once. */
static void after_uring_lease(struct step *st, int ret)
{
	struct io_uring_cqe cqe;

	for (;;) {
		if (uring.more) {
			ring_next(&uring.ring, &cqe);
			CHECK(cqe.flags & IORING_CQE_F_NOTIF);
			CHECK(!(cqe.flags & IORING_CQE_F_MORE));
		} else if (!ret) {
			FAIL("a send without a copy, and no notification");
		}
		if (st->done == st->len)
			break;
		ret = OK(call_uring_lease(st));
	}
	fault_has_heard(st);
	ring_close(&uring.ring);
}

CASE_LIMIT(uring_lease_faults, ~0u, 600)
{
	static const struct op op = {
		"io_uring, send 256 KiB, leased", before_uring_lease, call_uring_lease,
		after_uring_lease, { EFAULT, ENOBUFS, ENOMEM, EAGAIN },
	};

	fault_sweep(&op, 8);
}

static void before_uring_recv(struct step *st)
{
	fault_before_said(st);
	ring_open(&uring.ring);
}

static int call_uring_recv(struct step *st)
{
	return request(st, IORING_OP_RECV, st->p.s, fault_room);
}

/* No byte is lost by a request that could not write it. */
static void after_uring_recv(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		OK(call_uring_recv(st));
	ring_close(&uring.ring);
	fault_has_said(st);
}

CASE_LIMIT(uring_recv_faults, ~0u, 240)
{
	static const struct op op = {
		"io_uring, recv", before_uring_recv, call_uring_recv, after_uring_recv,
		{ EFAULT, ENOMEM, EAGAIN },
	};

	fault_sweep(&op, 10);
}

/* ----------------------------------------------------------- the urgent byte */

static int call_urgent(struct step *st)
{
	return send(st->p.c, "!", 1, MSG_OOB | MSG_NOSIGNAL) == 1 ? 0 : -1;
}

/* It is there once, and no other byte of the stream is missing. */
static void after_urgent(struct step *st, int ret)
{
	char c = 0;

	fault_again(st, ret, call_urgent);
	await(st->p.s, POLLPRI);
	EQ(1, recv(st->p.s, &c, 1, MSG_OOB));
	EQ('!', c);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(urgent_faults, ~0u, 240)
{
	static const struct op op = {
		"send, urgent", fault_before_talk, call_urgent, after_urgent, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 2);
}

/* An urgent byte is there, and has not been read. */
static void before_urgent_read(struct step *st)
{
	fault_before_talk(st);
	OK(call_urgent(st));
	await(st->p.s, POLLPRI);
}

static char urgent;

static int read_urgent(struct step *st, int flags)
{
	urgent = 0;
	return recv(st->p.s, &urgent, 1, MSG_OOB | flags) == 1 ? 0 : -1;
}

static int call_urgent_read(struct step *st)
{
	return read_urgent(st, 0);
}

/* It was had once, by a call too that could not write it; and so is the next. */
static void after_urgent_read(struct step *st, int ret)
{
	EQ(ret ? 0 : '!', urgent);
	FAILS(EINVAL, call_urgent_read(st));
	after_urgent(st, -1);
}

static int call_urgent_peek(struct step *st)
{
	return read_urgent(st, MSG_PEEK);
}

/* Who only looks leaves it there. */
static void after_urgent_peek(struct step *st, int ret)
{
	fault_again(st, ret, call_urgent_peek);
	EQ('!', urgent);
	after_urgent(st, 0);
}

CASE_LIMIT(urgent_read_faults, ~0u, 120)
{
	static const struct op op = {
		"recv, urgent", before_urgent_read, call_urgent_read, after_urgent_read,
		{ EFAULT },
	};
	static const struct op peek = {
		"recv, urgent, peeking", before_urgent_read, call_urgent_peek,
		after_urgent_peek, { EFAULT },
	};

	fault_sweep(&op, 1);
	fault_sweep(&peek, 1);
}

/* ------------------------------------------------------ notices of MSG_ZEROCOPY */

/* The peer has read what was lent: the memory is free, and its owner told. */
static void before_notice(struct step *st)
{
	fault_before_heard(st, FAULT_BIG / 4, 65536);
	OK(set_int(st->p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	EQ(st->len, send(st->p.c, fault_big, st->len, MSG_NOSIGNAL | MSG_ZEROCOPY));
	fault_has_heard(st);
	await(st->p.c, POLLERR);
}

static union {
	struct cmsghdr head;
	char bytes[200];
} notice;

static int call_notice(struct step *st)
{
	struct msghdr msg = { .msg_control = &notice, .msg_controllen = sizeof(notice) };

	memset(&notice, 0, sizeof(notice));
	if (recvmsg(st->p.c, &msg, MSG_ERRQUEUE) < 0)
		return -1;
	st->done = msg.msg_controllen;
	return 0;
}

/*
 * It waits for the next call, after one that failed.  What could not be written to the
 * caller's memory the kernel has told, and does not say so: TCP's neither.
 */
static void after_notice(struct step *st, int ret)
{
	const struct sock_extended_err *e = (void *)CMSG_DATA(&notice.head);

	fault_again(st, ret, call_notice);
	if (st->done || !st->hit) {
		EQ(SO_EE_ORIGIN_ZEROCOPY, e->ee_origin);
		EQ(0, e->ee_errno);
		EQ(0, e->ee_info);
		EQ(0, e->ee_data);
	}
	FAILS(EAGAIN, call_notice(st));
	EQ(0, poll_one(st->p.c, POLLERR, 0));
	fault_talk(st->p.c, st->p.s);
}

/* Nothing of it is the module's own: anywhere in it, as for TCP. */
CASE_LIMIT(notice_faults, ~0u, 120)
{
	static const struct op op = {
		"recvmsg, a notice", before_notice, call_notice, after_notice, { EFAULT },
	};

	fault_sweep_at(FAULT_ANYWHERE, &op, 2);
}

/* -------------------------------------------------------- what asks, and tells */

/* Those that come to a protocol: what is at SOL_SOCKET the kernel copies itself. */
static const struct option {
	const char *what;
	int level, name;
	int was, value;
} options[] = {
	{ "TCP_NODELAY", SOL_TCP, TCP_NODELAY, 0, 1 },
	{ "TCP_CORK", SOL_TCP, TCP_CORK, 0, 1 },
	{ "TCP_CORK, taken away", SOL_TCP, TCP_CORK, 1, 0 },
	{ "TCP_USER_TIMEOUT", SOL_TCP, TCP_USER_TIMEOUT, 0, 60000 },
	{ "TCP_KEEPIDLE", SOL_TCP, TCP_KEEPIDLE, 7200, 60 },
	{ "TCP_INQ", SOL_TCP, TCP_INQ, 0, 1 },
	{ "IP_TOS", SOL_IP, IP_TOS, 0, 0x20 },
	{ "SDP_ZCOPY", SOL_SDP, SDP_ZCOPY, -1, 4096 },
	{ "SDP_ZCOPY_THRESH", SOL_TCP, SDP_ZCOPY_THRESH, -1, 4096 },
};

static const struct option *option;

static void before_set(struct step *st)
{
	fault_before_talk(st);
	OK(set_int(st->p.c, option->level, option->name, option->was));
}

static int call_set(struct step *st)
{
	return set_int(st->p.c, option->level, option->name, option->value);
}

/* Set if it says so, and else as it was. */
static void after_set(struct step *st, int ret)
{
	EQ(ret ? option->was : option->value, get_int(st->p.c, option->level, option->name));
	fault_again(st, ret, call_set);
	EQ(option->value, get_int(st->p.c, option->level, option->name));
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(setsockopt_faults, ~0u, 120)
{
	for (option = options; option < options + ARRAY_SIZE(options); option++) {
		struct op op = { option->what, before_set, call_set, after_set, { EFAULT } };

		if (on_sdp() || (option->level != SOL_SDP && option->name != SDP_ZCOPY_THRESH))
			fault_sweep(&op, 1);
	}
}

enum { ASKED_OF = 1000 };

static struct {
	int unread, unsent, mark, error, nodelay;
	struct tcp_info info;
	union addr own, peer;
} answers;

static void before_ask(struct step *st)
{
	fault_before_talk(st);
	OK(set_int(st->p.c, SOL_TCP, TCP_NODELAY, 1));
	send_pattern(st->p.c, ASKED_OF, 7, 0);
	EVENTUALLY(ASKED_OF, inq(st->p.s));
	EVENTUALLY(0, outq(st->p.c));
}

static int call_ask(struct step *st)
{
	socklen_t len = sizeof(int), info_len = sizeof(answers.info);

	/* An answer that nobody gave is a wrong one. */
	memset(&answers, 0xff, sizeof(answers));
	if (ioctl(st->p.s, FIONREAD, &answers.unread) ||
	    ioctl(st->p.c, SIOCOUTQ, &answers.unsent) ||
	    ioctl(st->p.s, SIOCATMARK, &answers.mark) ||
	    name_of(st->p.c, &answers.own) || peer_of(st->p.c, &answers.peer) ||
	    getsockopt(st->p.c, SOL_SOCKET, SO_ERROR, &answers.error, &len) ||
	    getsockopt(st->p.c, SOL_TCP, TCP_INFO, &answers.info, &info_len))
		return -1;
	len = sizeof(int);
	return getsockopt(st->p.c, SOL_TCP, TCP_NODELAY, &answers.nodelay, &len);
}

/* A call that succeeded has answered, and rightly. */
static void after_ask(struct step *st, int ret)
{
	union addr c;

	fault_again(st, ret, call_ask);
	EQ(ASKED_OF, answers.unread);
	EQ(0, answers.unsent);
	EQ(0, answers.mark);
	EQ(0, answers.error);
	EQ(1, answers.nodelay);
	EQ(TCP_ESTABLISHED, answers.info.tcpi_state);
	OK(peer_of(st->p.s, &c));
	CHECK(addr_equal(&c, &answers.own));
	CHECK(addr_equal(&st->p.addr, &answers.peer));
	/* No fault is injected into put_user(): this memory is not there. */
	FAILS(EFAULT, ioctl(st->p.s, FIONREAD, NULL));
	FAILS(EFAULT, ioctl(st->p.c, SIOCOUTQ, NULL));
	FAILS(EFAULT, ioctl(st->p.s, SIOCATMARK, NULL));
	recv_pattern(st->p.s, ASKED_OF, 7, 0);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(ask_faults, ~0u, 120)
{
	static const struct op op = {
		"ioctl, getsockopt, names", before_ask, call_ask, after_ask, { EFAULT },
	};

	/* Of TCP_INFO we copy once; lengths go by get_user() and put_user(). */
	fault_sweep(&op, on_sdp() ? 4 : 6);
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

/* It is told of what is there, and of what comes later. */
static void after_epoll(struct step *st, int ret)
{
	struct epoll_event e;

	/* It may have been added, and only asking have failed. */
	if (ret && call_epoll(st) && errno != EEXIST)
		FAIL("epoll: %s", ktap_errno(errno));
	await(st->fd, POLLIN);
	recv_pattern(st->p.s, FAULT_SAID, 7, 0);
	EQ(0, epoll_wait(st->fd, &e, 1, 0));
	send_pattern(st->p.c, 1, 9, 0);
	await(st->fd, POLLIN);
	recv_pattern(st->p.s, 1, 9, 0);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(epoll_faults, ~0u, 120)
{
	static const struct op op = {
		"epoll", fault_before_said, call_epoll, after_epoll, { EFAULT, ENOMEM, EMFILE, ENFILE },
	};

	fault_sweep(&op, 1);
}

/* Who waits for an edge of EPOLLOUT, and has had the first. */
static void before_edge(struct step *st)
{
	struct epoll_event e = { .events = EPOLLOUT | EPOLLET };

	fault_before_talk(st);
	nonblock(st->p.c, true);
	st->fd = OK(epoll_create1(EPOLL_CLOEXEC));
	OK(epoll_ctl(st->fd, EPOLL_CTL_ADD, st->p.c, &e));
	EQ(1, epoll_wait(st->fd, &e, 1, 0));
	EQ(0, epoll_wait(st->fd, &e, 1, 0));
}

static int call_edge(struct step *st)
{
	return send(st->p.c, fault_big, FAULT_SAID / 16, MSG_NOSIGNAL);
}

/* No room, he is told: so he is told when to try again. */
static void after_edge(struct step *st, int ret)
{
	struct epoll_event e;

	if (ret < 0 && errno == EAGAIN)
		EQ(1, epoll_wait(st->fd, &e, 1, ktap_ms(5000)));
	nonblock(st->p.c, false);
	if (ret < 0)
		ret = OK(call_edge(st));
	EQ(ret, recv(st->p.s, fault_room, ret, MSG_WAITALL));
	CHECK(!memcmp(fault_room, fault_big, ret));
	fault_after_talk(st, 0);
}

CASE_LIMIT(edge_faults, ~0u, 120)
{
	static const struct op op = {
		"send, who waits for an edge", before_edge, call_edge, after_edge,
		{ EAGAIN, EFAULT },
	};

	fault_sweep(&op, 2);
}
