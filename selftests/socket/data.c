// SPDX-License-Identifier: GPL-2.0
/* Sending and receiving. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <linux/errqueue.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>

#include "lib/variant.h"

/* ----------------------------------------------------------------- the calls */

static ssize_t by_write(int fd, char *buf, size_t len)
{
	return write(fd, buf, len);
}

static ssize_t by_send(int fd, char *buf, size_t len)
{
	return send(fd, buf, len, 0);
}

static ssize_t by_sendto(int fd, char *buf, size_t len)
{
	return sendto(fd, buf, len, 0, NULL, 0);
}

static ssize_t by_writev(int fd, char *buf, size_t len)
{
	struct iovec iov[3] = {
		{ buf, len / 3 }, { NULL, 0 }, { buf + len / 3, len - len / 3 },
	};

	return writev(fd, iov, 3);
}

static ssize_t by_sendmsg(int fd, char *buf, size_t len)
{
	struct iovec iov[2] = {
		{ buf, 1 }, { buf + 1, len - 1 },
	};
	struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };

	return sendmsg(fd, &msg, 0);
}

static ssize_t by_read(int fd, char *buf, size_t len)
{
	return read(fd, buf, len);
}

static ssize_t by_recv(int fd, char *buf, size_t len)
{
	return recv(fd, buf, len, 0);
}

static ssize_t by_recvfrom(int fd, char *buf, size_t len)
{
	struct sockaddr_storage ss;
	socklen_t alen = sizeof(ss);
	ssize_t n = recvfrom(fd, buf, len, 0, (struct sockaddr *)&ss, &alen);

	/* TCP gives no address. */
	if (n >= 0 && alen)
		FAIL("recvfrom: address of %u bytes", alen);
	return n;
}

static ssize_t by_readv(int fd, char *buf, size_t len)
{
	struct iovec iov[3] = {
		{ buf, len / 2 }, { NULL, 0 }, { buf + len / 2, len - len / 2 },
	};

	return readv(fd, iov, 3);
}

static ssize_t by_recvmsg(int fd, char *buf, size_t len)
{
	struct sockaddr_storage ss;
	char control[64];
	struct iovec iov[2] = {
		{ buf, 1 }, { buf + 1, len - 1 },
	};
	struct msghdr msg = {
		.msg_name = &ss, .msg_namelen = sizeof(ss),
		.msg_iov = iov, .msg_iovlen = 2, .msg_flags = -1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(fd, &msg, 0);

	if (n >= 0 && (msg.msg_namelen || msg.msg_controllen || msg.msg_flags))
		FAIL("recvmsg: name of %u bytes, control of %zu, flags %#x",
		     msg.msg_namelen, msg.msg_controllen, msg.msg_flags);
	return n;
}

/* One byte, and a control message of four. */
static ssize_t send_control(int fd, int level, int type, int value, size_t len)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(value))];
	} control = { .head = {
		.cmsg_len = len, .cmsg_level = level, .cmsg_type = type,
	} };
	struct iovec iov = { "x", 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	memcpy(CMSG_DATA(&control.head), &value, sizeof(value));
	return sendmsg(fd, &msg, MSG_NOSIGNAL);
}

/* One that is wrong is told of, and nothing is sent; one for others is passed over. */
CASE(sendmsg_control)
{
	const size_t len = CMSG_LEN(sizeof(int));
	struct pair p;
	int fd;

	pair_open(&p);
	FAILS(EINVAL, send_control(p.c, SOL_SOCKET, 12345, 0, len));
	FAILS(EINVAL, send_control(p.c, SOL_SOCKET, SCM_TIMESTAMPING, 1, len - 1));
	/* It says when it is to go, and nobody has asked for that. */
	FAILS(EINVAL, send_control(p.c, SOL_SOCKET, SCM_TXTIME, 0, len));
	/* Not the length that there is. */
	FAILS(EINVAL, send_control(p.c, SOL_SOCKET, 12345, 0, 1));
	FAILS(EINVAL, send_control(p.c, SOL_SOCKET, 12345, 0, 4096));
	/* What is not that of sockets nobody looks at, nor at a file that is passed. */
	EQ(1, send_control(p.c, SOL_IP, 12345, 0, len));
	fd = p.s;
	EQ(1, send_control(p.c, SOL_SOCKET, SCM_RIGHTS, fd, len));
	arrived(p.s, 2);
	recv_text(p.s, "xx");
	/* That nothing can be sent is told first. */
	OK(shutdown(p.c, SHUT_WR));
	FAILS(EPIPE, send_control(p.c, SOL_SOCKET, 12345, 0, len));
}

static const struct {
	const char *name;
	ssize_t (*call)(int fd, char *buf, size_t len);
} senders[] = {
	{ "write", by_write }, { "send", by_send }, { "sendto", by_sendto },
	{ "writev", by_writev }, { "sendmsg", by_sendmsg },
}, receivers[] = {
	{ "read", by_read }, { "recv", by_recv }, { "recvfrom", by_recvfrom },
	{ "readv", by_readv }, { "recvmsg", by_recvmsg },
};

CASE(calls)
{
	static const size_t sizes[] = { 1, 3, 100, 4096, 5000 };
	unsigned int i, j, k;
	char out[5000], in[5001];
	size_t len, got;
	struct pair p;
	ssize_t n;

	pair_open(&p);
	for (i = 0; i < ARRAY_SIZE(senders); i++) {
		for (j = 0; j < ARRAY_SIZE(receivers); j++) {
			for (k = 0; k < ARRAY_SIZE(sizes); k++) {
				len = sizes[k];
				pattern_fill(out, len, i * 8 + j, 0);
				n = senders[i].call(p.c, out, len);
				if (n != (ssize_t)len)
					FAIL("%s of %zu bytes: %zd %s", senders[i].name,
					     len, n, n < 0 ? ktap_errno(errno) : "");
				for (got = 0; got < len; got += n) {
					n = receivers[j].call(p.s, in + got, sizeof(in) - got);
					if (n <= 0)
						FAIL("%s after %zu of %zu bytes: %zd %s",
						     receivers[j].name, got, len, n,
						     n < 0 ? ktap_errno(errno) : "");
				}
				if (got != len || memcmp(in, out, len))
					FAIL("%s of %zu bytes, %s of %zu: they differ",
					     senders[i].name, len, receivers[j].name, got);
			}
		}
	}
}

/* A connected stream has no use for an address, and does not mind one. */
CASE(sendto_with_address)
{
	struct pair p;
	union addr a;

	pair_open(&p);
	nobody(&a);
	EQ(5, sendto(p.c, "hello", 5, 0, &a.sa, addr_len(&a)));
	recv_text(p.s, "hello");
}

CASE(vectors)
{
	static char out[40000], in[40000];
	struct iovec iov[64];
	size_t sum, len;
	struct pair p;
	unsigned int i, round, n;
	ssize_t got;

	srandom(4711);
	pair_open(&p);
	for (round = 0; round < 40; round++) {
		n = 1 + random() % ARRAY_SIZE(iov);
		for (i = 0, sum = 0; i < n; i++) {
			len = random() % 4 ? random() % 600 : 0;
			iov[i].iov_base = out + sum;
			iov[i].iov_len = len;
			sum += len;
		}
		pattern_fill(out, sum, round, 0);
		EQ(sum, writev(p.c, iov, n));
		memset(in, 0, sum);
		for (i = 0, len = 0; i < ARRAY_SIZE(iov) && len < sum; i++) {
			size_t l = random() % 700;

			if (l > sum - len || i == ARRAY_SIZE(iov) - 1)
				l = sum - len;
			iov[i].iov_base = in + len;
			iov[i].iov_len = l;
			len += l;
		}
		struct msghdr msg = { .msg_iov = iov, .msg_iovlen = i };

		got = sum ? OK(recvmsg(p.s, &msg, MSG_WAITALL)) : 0;
		EQ(sum, got);
		got = pattern_check(in, sum, round, 0);
		if (got >= 0)
			FAIL("round %u: byte %zd of %zu differs", round, got, sum);
	}
}

CASE(mmsg)
{
	char out[3][10] = { "first", "second", "third" }, in[3][5];
	struct iovec oiov[3], iiov[3];
	struct mmsghdr o[3] = { }, i[3] = { };
	struct pair p;
	int k;

	pair_open(&p);
	for (k = 0; k < 3; k++) {
		oiov[k].iov_base = out[k];
		oiov[k].iov_len = 5;
		o[k].msg_hdr.msg_iov = &oiov[k];
		o[k].msg_hdr.msg_iovlen = 1;
		iiov[k].iov_base = in[k];
		iiov[k].iov_len = 5;
		i[k].msg_hdr.msg_iov = &iiov[k];
		i[k].msg_hdr.msg_iovlen = 1;
	}
	EQ(3, sendmmsg(p.c, o, 3, 0));
	for (k = 0; k < 3; k++)
		EQ(5, o[k].msg_len);
	arrived(p.s, 15);
	EQ(3, recvmmsg(p.s, i, 3, MSG_WAITALL, NULL));
	for (k = 0; k < 3; k++)
		CHECK(i[k].msg_len == 5 && !memcmp(in[k], out[k], 5));
}

/* ---------------------------------------------------------------------- sizes */

CASE(send_nothing)
{
	struct iovec iov = { };
	struct pair p;
	char c;

	pair_open(&p);
	EQ(0, send(p.c, "", 0, 0));
	EQ(0, write(p.c, "", 0));
	EQ(0, writev(p.c, &iov, 1));
	EQ(0, send(p.c, NULL, 0, MSG_DONTWAIT));
	settle();
	EQ_HEX(0, poll_one(p.s, POLLIN, 0));
	FAILS(EAGAIN, recv(p.s, &c, 1, MSG_DONTWAIT));
	send_text(p.c, "x");
	recv_text(p.s, "x");
}

CASE(receive_nothing)
{
	struct pair p;
	char c;

	pair_open(&p);
	EQ(0, read(p.s, &c, 0));		/* does not wait */
	FAILS(EAGAIN, recv(p.s, &c, 0, MSG_DONTWAIT));
	send_text(p.c, "x");
	await(p.s, POLLIN);
	EQ(0, recv(p.s, &c, 0, 0));
	EQ(0, recv(p.s, NULL, 0, 0));
	recv_text(p.s, "x");
}

CASE(partial_reads)
{
	static const size_t sizes[] = { 1, 7, 100, 4095, 1, 4096, 700 };
	char buf[4096];
	size_t pos = 0;
	struct pair p;
	unsigned int i;
	ssize_t n;

	pair_open(&p);
	send_pattern(p.c, 9000, 5, 0);
	arrived(p.s, 9000);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		/* What is there is given as far as there is room. */
		n = OK(recv(p.s, buf, sizes[i], 0));
		EQ(sizes[i], n);
		EQ(-1, pattern_check(buf, n, 5, pos));
		pos += n;
		EQ(9000 - pos, inq(p.s));
	}
	EQ(0, 9000 - pos);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));
}

/* Several sends are one read. */
CASE(stream_has_no_records)
{
	char buf[100];
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 50; i++)
		send_pattern(p.c, 2, 7, i * 2);
	arrived(p.s, 100);
	EQ(100, recv(p.s, buf, sizeof(buf), 0));
	EQ(-1, pattern_check(buf, 100, 7, 0));
}

/* Every length around the borders of messages and pages. */
CASE(sizes)
{
	static const size_t sizes[] = {
		1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 4079, 4080, 4081,
		4095, 4096, 4097, 8175, 8176, 8177, 8191, 8192, 8193, 16367,
		16368, 16369, 16383, 16384, 16385, 32751, 32752, 32753, 32768,
		65535, 65536, 65537, 131073, 300000,
	};
	static char buf[300000];
	struct task t = { .run = task_send, .buf = buf };
	struct pair p;
	unsigned int i;

	pair_open(&p);
	t.fd = p.c;
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		t.len = sizes[i];
		pattern_fill(buf, t.len, i, 0);
		if (t.len <= 32768)
			task_send(&t);
		else
			task_start(&t);
		recv_pattern(p.s, t.len, i, 0);
		if (t.len > 32768)
			task_join(&t);
		EQ(sizes[i], t.ret);
	}
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));
}

/* One send() larger than all buffers returns when all of it is taken. */
CASE(large_send)
{
	size_t len = 8 << 20;
	struct task t = { .run = task_send, .len = len };
	struct pair p;

	t.buf = malloc(len);
	pattern_fill(t.buf, len, 2, 0);
	pair_open(&p);
	task_blocks(&t, p.c);
	recv_pattern(p.s, len, 2, 0);
	EQ(len, task_join(&t));
}

CASE(ping_pong)
{
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 300; i++) {
		send_pattern(p.c, 1 + i % 100, i, 0);
		recv_pattern(p.s, 1 + i % 100, i, 0);
		send_pattern(p.s, 1 + i % 77, i, 5);
		recv_pattern(p.c, 1 + i % 77, i, 5);
	}
}

/* ---------------------------------------------------------------------- flags */

CASE(msg_dontwait)
{
	struct pair p;
	char c;

	pair_open(&p);
	FAILS(EAGAIN, recv(p.c, &c, 1, MSG_DONTWAIT));
	FAILS(EAGAIN, recv(p.s, &c, 1, MSG_DONTWAIT));
	EQ(5, send(p.c, "hello", 5, MSG_DONTWAIT));
	await(p.s, POLLIN);
	EQ(1, recv(p.s, &c, 1, MSG_DONTWAIT));
	nonblock(p.s, true);
	recv_text(p.s, "ello");
	FAILS(EAGAIN, recv(p.s, &c, 1, 0));
	FAILS(EAGAIN, read(p.s, &c, 1));
}

CASE(msg_peek)
{
	char buf[9000];
	struct pair p;
	int i;

	pair_open(&p);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_PEEK | MSG_DONTWAIT));
	send_pattern(p.c, 3000, 5, 0);
	send_pattern(p.c, 3000, 5, 3000);
	arrived(p.s, 6000);
	for (i = 0; i < 3; i++) {
		memset(buf, 0, sizeof(buf));
		/* More than is there: what is there, across messages. */
		EQ(6000, recv(p.s, buf, sizeof(buf), MSG_PEEK));
		EQ(-1, pattern_check(buf, 6000, 5, 0));
		EQ(10, recv(p.s, buf, 10, MSG_PEEK));
		EQ(-1, pattern_check(buf, 10, 5, 0));
		EQ(6000, inq(p.s));
	}
	recv_pattern(p.s, 100, 5, 0);
	EQ(5900, recv(p.s, buf, sizeof(buf), MSG_PEEK));
	EQ(-1, pattern_check(buf, 5900, 5, 100));
	recv_pattern(p.s, 5900, 5, 100);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_PEEK | MSG_DONTWAIT));
	OK(shutdown(p.c, SHUT_WR));
	EQ(0, recv(p.s, buf, 1, MSG_PEEK));
	expect_eof(p.s);
}

CASE(msg_peek_blocks)
{
	char buf[16];
	struct task t = {
		.run = task_recv, .buf = buf, .len = sizeof(buf), .flags = MSG_PEEK,
	};
	struct pair p;

	pair_open(&p);
	task_blocks(&t, p.s);
	send_text(p.c, "look");
	EQ(4, task_join(&t));
	recv_text(p.s, "look");
}

CASE(msg_peek_waitall)
{
	char buf[2000];
	struct task t = {
		.run = task_recv, .buf = buf, .len = sizeof(buf),
		.flags = MSG_PEEK | MSG_WAITALL,
	};
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	send_pattern(p.c, 1000, 5, 0);
	arrived(p.s, 1000);
	task_start(&t);
	send_pattern(p.c, 1000, 5, 1000);
	EQ(2000, task_join(&t));
	EQ(-1, pattern_check(buf, 2000, 5, 0));
	recv_pattern(p.s, 2000, 5, 0);
}

CASE(msg_waitall)
{
	static char buf[30000];
	struct task t = {
		.run = task_recv, .buf = buf, .len = sizeof(buf), .flags = MSG_WAITALL,
	};
	struct pair p;
	int i;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	for (i = 0; i < 10; i++) {
		CHECK(!t.done);
		send_pattern(p.c, 3000, 5, i * 3000);
	}
	EQ(30000, task_join(&t));
	EQ(-1, pattern_check(buf, 30000, 5, 0));

	/* The end of the stream ends the wait. */
	task_start(&t);
	send_pattern(p.c, 100, 6, 0);
	OK(shutdown(p.c, SHUT_WR));
	EQ(100, task_join(&t));
	EQ(-1, pattern_check(buf, 100, 6, 0));
	EQ(0, recv(p.s, buf, 10, MSG_WAITALL));
}

/* A signal or the time limit ends it with what is there. */
CASE(msg_waitall_cut_short)
{
	static char buf[1000];
	struct task t = {
		.run = task_recv, .buf = buf, .len = sizeof(buf), .flags = MSG_WAITALL,
	};
	struct pair p;

	catch(0);
	pair_open(&p);
	t.fd = p.s;
	send_pattern(p.c, 300, 5, 0);
	arrived(p.s, 300);
	task_start(&t);
	pthread_kill(t.thread, SIGUSR1);
	EQ(300, task_join(&t));
	EQ(-1, pattern_check(buf, 300, 5, 0));

	OK(set_ms(p.s, SO_RCVTIMEO, 100));
	send_pattern(p.c, 200, 5, 300);
	arrived(p.s, 200);
	EQ(200, recv(p.s, buf, sizeof(buf), MSG_WAITALL));
	EQ(-1, pattern_check(buf, 200, 5, 300));
	FAILS(EAGAIN, recv(p.s, buf, sizeof(buf), MSG_WAITALL));

	/* DONTWAIT wins over WAITALL. */
	send_pattern(p.c, 200, 5, 500);
	arrived(p.s, 200);
	EQ(200, recv(p.s, buf, sizeof(buf), MSG_WAITALL | MSG_DONTWAIT));
}

/* TCP's own meaning of MSG_TRUNC: the bytes are dropped instead of copied. */
CASE(msg_trunc)
{
	char buf[100];
	struct pair p;

	pair_open(&p);
	send_pattern(p.c, 1000, 5, 0);
	arrived(p.s, 1000);
	EQ(300, recv(p.s, NULL, 300, MSG_TRUNC));
	memset(buf, 0xee, sizeof(buf));
	EQ(100, recv(p.s, buf, 100, MSG_TRUNC));
	EQ(0xee, (unsigned char)buf[0]);
	EQ(0xee, (unsigned char)buf[99]);
	recv_pattern(p.s, 100, 5, 400);
	EQ(500, recv(p.s, NULL, 100000, MSG_TRUNC));
	FAILS(EAGAIN, recv(p.s, NULL, 1, MSG_TRUNC | MSG_DONTWAIT));
}

/* Held back for a while at most, and not once more data follows. */
CASE(msg_more)
{
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 10; i++)
		EQ(3, send(p.c, "abc", 3, MSG_MORE));
	EQ(3, send(p.c, "end", 3, 0));
	recv_text(p.s, "abcabcabcabcabcabcabcabcabcabcend");
	EQ(5, send(p.c, "alone", 5, MSG_MORE));
	arrived(p.s, 5);
	recv_text(p.s, "alone");
	EQ(5, send(p.c, "close", 5, MSG_MORE));
	OK(shutdown(p.c, SHUT_WR));
	recv_text(p.s, "close");
	expect_eof(p.s);
}

CASE(tcp_cork)
{
	struct pair p;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 1));
	send_text(p.c, "corked");
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 0));
	recv_text(p.s, "corked");
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 1));
	send_text(p.c, "corked for ever");
	arrived(p.s, 15);
}

/* 100 writes of 10 bytes, and what ends the corking. */
static void corked(struct pair *p, int flags, void (*end)(int fd))
{
	char buf[1000];
	struct ktap_watch start = ktap_watch();
	long long before = messages_sent(p->c), left;
	long long updates = on_sdp() ? counter("credit_updates") : 0;
	int i;

	pattern_fill(buf, sizeof(buf), 5, 0);
	for (i = 0; i < 99; i++)
		EQ(10, send(p->c, buf + 10 * i, 10, flags));
	EQ(10, send(p->c, buf + 990, 10, flags & ~MSG_MORE));
	end(p->c);
	recv_pattern(p->s, sizeof(buf), 5, 0);
	/* One for each time that corking is given up, after 200 ms. */
	left = 1 + (ktap_watch().ticks - start.ticks) * 1000 /
		   sysconf(_SC_CLK_TCK) / 190;
	/* And what the peer is told of buffers, of what it said before. */
	if (on_sdp())
		left += counter("credit_updates") - updates;
	IN_RANGE(1, left, messages_sent(p->c) - before);
}

static void uncork(int fd)
{
	OK(set_int(fd, SOL_TCP, TCP_CORK, 0));
}

static void nodelay(int fd)
{
	OK(set_int(fd, SOL_TCP, TCP_NODELAY, 1));
}

static void nothing(int fd)
{
	(void)fd;
}

/* What is joined holds nothing back: bytes are seen at once, though corked. */
CASE_ON(cork_joins, ON_TCP | ON_SDP)
{
	struct pair p;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 1));
	corked(&p, 0, uncork);
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 1));
	/* Pushes what is queued now, though the cork stays. */
	corked(&p, 0, nodelay);
	corked(&p, 0, nodelay);
	uncork(p.c);
	OK(set_int(p.c, SOL_TCP, TCP_NODELAY, 0));
	corked(&p, MSG_MORE, nothing);
}

/* Corked bytes go after a while, and not at once. */
CASE_ON(cork_waits, ON_TCP | ON_SDP)
{
	struct ktap_watch start;
	struct pair p;
	char c;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 1));
	start = ktap_watch();
	send_text(p.c, "x");
	EQ(1, recv(p.s, &c, 1, 0));
	WAITED(190, ktap_ms(2000), start);
	uncork(p.c);
	start = ktap_watch();
	EQ(1, send(p.c, "y", 1, MSG_MORE));
	EQ(1, recv(p.s, &c, 1, 0));
	WAITED(190, ktap_ms(2000), start);
}
BY_CLOCK(cork_waits);

/* What was corked before, and has gone, does not shorten the wait of what comes behind. */
CASE_ON(cork_waits_anew, ON_TCP | ON_SDP)
{
	struct ktap_watch start;
	struct pair p;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_CORK, 1));
	send_text(p.c, "x");
	usleep(100000);
	nodelay(p.c);
	recv_text(p.s, "x");
	EVENTUALLY(0, outq(p.c));
	start = ktap_watch();
	send_text(p.c, "y");
	recv_text(p.s, "y");
	WAITED(190, ktap_ms(2000), start);
}
BY_CLOCK(cork_waits_anew);

/* A writer of small pieces is not held up by a reader who says nothing. */
CASE(small_writes_one_way)
{
	long long start = ktap_now();
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 50; i++) {
		send_text(p.c, "a");
		send_text(p.c, "b");
		recv_text(p.s, "ab");
	}
	/* Nagle's algorithm and delayed ACKs would make it 40 ms each. */
	IN_RANGE(0, ktap_ms(5000), ktap_now() - start);
}
BY_CLOCK(small_writes_one_way);

CASE(msg_errqueue)
{
	struct pair p;
	char c;

	pair_open(&p);
	FAILS(EAGAIN, recv(p.c, &c, 1, MSG_ERRQUEUE));
	send_text(p.c, "x");
	await(p.s, POLLIN);
	FAILS(EAGAIN, recv(p.s, &c, 1, MSG_ERRQUEUE));
	recv_text(p.s, "x");
}

/*
 * MSG_ZEROCOPY without SO_ZEROCOPY is ignored; with it, whoever takes the
 * call owes a notification, else the program waits for ever.
 */
CASE(msg_zerocopy)
{
	static char buf[20000];
	struct pair p;

	pair_open(&p);
	pattern_fill(buf, sizeof(buf), 5, 0);
	EQ(10000, send(p.c, buf, 10000, MSG_ZEROCOPY));
	recv_pattern(p.s, 10000, 5, 0);
	OK(set_int(p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	EQ(sizeof(buf), send(p.c, buf, sizeof(buf), MSG_ZEROCOPY));
	recv_pattern(p.s, sizeof(buf), 5, 0);
	EQ(1, notified(p.c, 0, NULL));
}

/* --------------------------------------------------------------------- errors */

CASE(io_unconnected)
{
	union addr a;
	int fd = sock();
	char c = 0;

	FAILS(ENOTCONN, recv(fd, &c, 1, 0));
	FAILS(ENOTCONN, recv(fd, &c, 1, MSG_PEEK));
	FAILS(EPIPE, send(fd, &c, 1, MSG_NOSIGNAL));
	here(&a, 0);
	OK(bind_to(fd, &a));
	FAILS(ENOTCONN, read(fd, &c, 1));
	FAILS(EPIPE, sendto(fd, &c, 1, MSG_NOSIGNAL, &a.sa, addr_len(&a)));
	EQ(0, get_int(fd, SOL_SOCKET, SO_ERROR));
}

CASE(io_bad_buffer)
{
	struct pair p;
	char c;

	pair_open(&p);
	FAILS(EFAULT, send(p.c, (void *)8, 100, 0));
	FAILS(EFAULT, send(p.c, (void *)8, 100000, MSG_DONTWAIT));
	send_text(p.c, "safe");
	arrived(p.s, 4);
	FAILS(EFAULT, recv(p.s, (void *)8, 4, 0));
	FAILS(EFAULT, recv(p.s, (void *)8, 4, MSG_PEEK));
	recv_text(p.s, "safe");
	FAILS(EBADF, send(-1, &c, 1, 0));
	FAILS(EBADF, recv(-1, &c, 1, 0));
	FAILS(EFAULT, sendmsg(p.c, (void *)8, 0));
	FAILS(EFAULT, recvmsg(p.c, (void *)8, MSG_DONTWAIT));
	send_text(p.s, "fine");
	recv_text(p.c, "fine");
}

/*
 * A buffer that ends in the middle: either all is refused or the good bytes go,
 * never others.
 */
CASE(io_half_bad_buffer)
{
	size_t page = getpagesize();
	char *m, buf[100];
	struct pair p;
	ssize_t n;

	m = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(munmap(m + 2 * page, page));
	pair_open(&p);
	pattern_fill(m, 2 * page, 5, 0);
	n = send(p.c, m, 3 * page, 0);
	if (n < 0 && errno != EFAULT)
		FAIL("send: expected EFAULT, got %s", ktap_errno(errno));
	if (n > 2 * (ssize_t)page)
		FAIL("send: %zd bytes, only %zu are there", n, 2 * page);
	if (n > 0)
		recv_pattern(p.s, n, 5, 0);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));

	/* and when reading: what was not given stays in the queue */
	send_pattern(p.c, 100, 6, 0);
	arrived(p.s, 100);
	n = recv(p.s, m + 2 * page - 50, 100, 0);
	if (n < 0 && errno != EFAULT)
		FAIL("recv: expected EFAULT, got %s", ktap_errno(errno));
	if (n > 50)
		FAIL("recv: %zd bytes into room for 50", n);
	if (n > 0)
		EQ(-1, pattern_check(m + 2 * page - 50, n, 6, 0));
	else
		n = 0;
	recv_pattern(p.s, 100 - n, 6, n);
}

static atomic_int pipes;

static void on_pipe(int sig)
{
	(void)sig;
	pipes++;
}

CASE(epipe_and_sigpipe)
{
	struct sigaction sa = { .sa_handler = on_pipe };
	struct pair p;
	char c = 0;
	pid_t pid;
	int status;

	OK(sigaction(SIGPIPE, &sa, NULL));
	pair_open(&p);
	OK(shutdown(p.c, SHUT_WR));
	FAILS(EPIPE, send(p.c, &c, 1, MSG_NOSIGNAL));
	EQ(0, pipes);
	FAILS(EPIPE, send(p.c, &c, 1, 0));
	EQ(1, pipes);
	FAILS(EPIPE, write(p.c, &c, 1));
	EQ(2, pipes);
	EQ(0, get_int(p.c, SOL_SOCKET, SO_ERROR));

	/* By default the signal kills. */
	pid = OK(fork());
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		EQ(-1, write(p.c, &c, 1));
		_exit(0);
	}
	EQ(pid, waitpid(pid, &status, 0));
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}
