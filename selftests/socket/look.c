// SPDX-License-Identifier: GPL-2.0
/* What is there to be read, without reading it: SO_PEEK_OFF, MSG_TRUNC, TCP_INQ. */
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>

#include "lib/variant.h"

/* Peeking without copying is counting. */
CASE(peek_trunc)
{
	struct pair p;

	pair_open(&p);
	send_pattern(p.c, 1000, 5, 0);
	arrived(p.s, 1000);
	EQ(300, recv(p.s, NULL, 300, MSG_PEEK | MSG_TRUNC));
	EQ(1000, recv(p.s, NULL, 5000, MSG_PEEK | MSG_TRUNC));
	recv_pattern(p.s, 1000, 5, 0);
	FAILS(EAGAIN, recv(p.s, NULL, 1, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT));
}

static void peek_pattern(int fd, int flags, size_t len, unsigned long long pos)
{
	unsigned char buf[100];

	EQ(len, recv(fd, buf, len, MSG_PEEK | flags));
	EQ(-1, pattern_check(buf, len, 5, pos));
}

/*
 * SO_PEEK_OFF: each look begins behind the one before, and what is read is taken off.
 * A kernel whose TCP does not know it (before 6.9) says so, of both.
 */
CASE(peek_off)
{
	struct task t = { .run = task_recv, .flags = MSG_PEEK, .len = 50 };
	unsigned char buf[50];
	struct pair p;
	int old = tcp_sock();

	pair_open(&p);
	if (set_int(old, SOL_SOCKET, SO_PEEK_OFF, 0)) {
		EQ(EOPNOTSUPP, errno);
		FAILS(EOPNOTSUPP, set_int(p.s, SOL_SOCKET, SO_PEEK_OFF, 0));
		return;
	}
	OK(set_int(p.s, SOL_SOCKET, SO_PEEK_OFF, 0));
	EQ(0, get_int(p.s, SOL_SOCKET, SO_PEEK_OFF));
	send_pattern(p.c, 200, 5, 0);
	arrived(p.s, 200);
	peek_pattern(p.s, 0, 100, 0);
	peek_pattern(p.s, 0, 60, 100);
	EQ(160, get_int(p.s, SOL_SOCKET, SO_PEEK_OFF));
	recv_pattern(p.s, 50, 5, 0);
	EQ(110, get_int(p.s, SOL_SOCKET, SO_PEEK_OFF));
	peek_pattern(p.s, 0, 40, 160);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_PEEK | MSG_DONTWAIT));

	/* Who looks behind all that is there waits for more. */
	t.fd = p.s;
	t.buf = buf;
	task_start(&t);
	CHECK(!t.done);
	send_pattern(p.c, 50, 5, 200);
	EQ(50, task_join(&t));
	EQ(-1, pattern_check(buf, 50, 5, 200));
	OK(set_int(p.s, SOL_SOCKET, SO_PEEK_OFF, -1));
	peek_pattern(p.s, 0, 100, 50);
	peek_pattern(p.s, 0, 100, 50);
	recv_pattern(p.s, 200, 5, 50);
}

/* What TCP_CM_INQ says after a recvmsg() of @len bytes; -1: nothing. */
static int inq_after(int fd, size_t len)
{
	char buf[1000], control[CMSG_SPACE(sizeof(int))];
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	int inq;

	OK(recvmsg(fd, &msg, MSG_DONTWAIT));
	c = CMSG_FIRSTHDR(&msg);
	if (!c)
		return -1;
	EQ(SOL_TCP, c->cmsg_level);
	EQ(TCP_CM_INQ, c->cmsg_type);
	EQ(CMSG_LEN(sizeof(int)), c->cmsg_len);
	memcpy(&inq, CMSG_DATA(c), sizeof(inq));
	return inq;
}

CASE(tcp_inq)
{
	struct pair p;

	pair_open(&p);
	EQ(0, get_int(p.s, SOL_TCP, TCP_INQ));
	send_pattern(p.c, 1000, 5, 0);
	arrived(p.s, 1000);
	EQ(-1, inq_after(p.s, 100));
	OK(set_int(p.s, SOL_TCP, TCP_INQ, 1));
	EQ(1, get_int(p.s, SOL_TCP, TCP_INQ));
	EQ(700, inq_after(p.s, 200));
	EQ(0, inq_after(p.s, 1000));
	send_pattern(p.c, 10, 5, 0);
	OK(shutdown(p.c, SHUT_WR));
	await(p.s, POLLRDHUP);
	/* There is something to be read yet: the end. */
	EQ(1, inq_after(p.s, 10));
	OK(set_int(p.s, SOL_TCP, TCP_INQ, 0));
	EQ(-1, inq_after(p.s, 10));
}
