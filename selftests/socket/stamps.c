// SPDX-License-Identifier: GPL-2.0
/*
 * When what is read came: SO_TIMESTAMP, SO_TIMESTAMPNS and SO_TIMESTAMPING, whose
 * control message has the time of the last byte.
 *
 * A kernel begins to stamp packets some time after somebody asked for it, so the first
 * may have no time with TCP.
 */
#include <linux/net_tstamp.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/variant.h"

enum {
	STAMP = 29, STAMP_NS = 35, STAMPING = 37,	/* SO_TIMESTAMP ..., as they were, */
	STAMP_NEW = 63, STAMP_NS_NEW = 64, STAMPING_NEW = 65, /* of 64 bits anywhere */
};

static const struct kind {
	int option, value;
	long long unit;		/* ns, of the second half of a time */
	size_t len;		/* bytes of the message */
} kinds[] = {
	{ STAMP, 1, 1000, 16 },
	{ STAMP_NS, 1, 1, 16 },
	{ STAMPING, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, 1, 48 },
	{ STAMP_NEW, 1, 1000, 16 },
	{ STAMP_NS_NEW, 1, 1, 16 },
	{ STAMPING_NEW, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE, 1, 48 },
};

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Reads @len bytes.  Return: when they came, in ns; 0 if that is not told. */
static long long stamp_of_(int fd, const struct kind *k, void *buf, size_t len, int flags)
{
	char control[CMSG_SPACE(48) + CMSG_SPACE(4)];
	struct iovec iov = { .iov_base = buf, .iov_len = len };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *c;
	long long t[6];

	EQ(len, recvmsg(fd, &msg, flags));
	CHECK(!(msg.msg_flags & MSG_CTRUNC));
	c = CMSG_FIRSTHDR(&msg);
	if (!c)
		return 0;
	EQ(SOL_SOCKET, c->cmsg_level);
	EQ(k->option, c->cmsg_type);
	EQ(CMSG_LEN(k->len), c->cmsg_len);
	CHECK(!CMSG_NXTHDR(&msg, c));
	memcpy(t, CMSG_DATA(c), k->len);
	return t[0] * 1000000000LL + t[1] * k->unit;
}

#define stamp_of(...) CALL(stamp_of_(__VA_ARGS__))

/* A byte there.  Return: whether it has a time. */
static bool stamped_(const struct pair *p, const struct kind *k)
{
	char c;

	send_text(p->c, "x");
	return stamp_of(p->s, k, &c, 1, 0);
}

static int began_(const struct pair *p, const struct kind *k)
{
	if (on_sdp())
		CHECK(stamped_(p, k));
	else
		EVENTUALLY(true, stamped_(p, k));
	return 0;
}

#define began(...) CALL(began_(__VA_ARGS__))

static bool within(const struct kind *k, long long from, long long stamp, long long to)
{
	return from / k->unit <= stamp / k->unit && stamp <= to;
}

/* The time when it came, and not when it is read; of the last byte. */
static int told_(const struct pair *p, const struct kind *k)
{
	long long first, last, came, stamp;
	char buf[1000];

	first = now();
	send_pattern(p->c, 1000, 1, 0);
	arrived(p->s, 1000);
	came = now();
	usleep(2000);
	stamp = stamp_of(p->s, k, buf, 400, MSG_PEEK);
	CHECK(within(k, first, stamp, came));
	EQ(stamp, stamp_of(p->s, k, buf, 400, 0));
	EQ(stamp, stamp_of(p->s, k, buf, 300, 0));
	last = now();
	send_pattern(p->c, 700, 1, 1000);
	arrived(p->s, 1000);
	came = now();
	usleep(2000);
	CHECK(within(k, last, stamp_of(p->s, k, buf, 1000, 0), came));
	return 0;
}

#define told(...) CALL(told_(__VA_ARGS__))

CASE(stamps_told)
{
	struct pair p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];

		pair_open(&p);
		CHECK(!stamped_(&p, k));
		OK(set_int(p.s, SOL_SOCKET, k->option, k->value));
		began(&p, k);
		told(&p, k);
		OK(set_int(p.s, SOL_SOCKET, k->option, 0));
		CHECK(!stamped_(&p, k));
		pair_shut(&p);
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

CASE(stamps_inherited)
{
	struct pair p;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		const struct kind *k = &kinds[i];

		pair_start(&p);
		OK(set_int(p.l, SOL_SOCKET, k->option, k->value));
		pair_finish(&p);
		/* Linux 5.10 does not tell that of SO_TIMESTAMPING_NEW. */
		if (get_int(p.l, SOL_SOCKET, k->option) >= 0)
			EQ(k->value, get_int(p.s, SOL_SOCKET, k->option));
		began(&p, k);
		told(&p, k);
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/* What no buffer of ours has held. */
CASE(stamps_of_zero_copy)
{
	const struct kind *k = &kinds[1];
	struct task t = { .run = task_send, .len = 1 << 20 };
	long long first, stamp;
	char *buf = memory(t.len, 0);
	struct pair p;

	t.buf = memory(t.len, 0);
	pattern_fill(t.buf, t.len, 1, 0);
	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, k->option, k->value));
	began(&p, k);
	first = now();
	t.fd = p.c;
	task_start(&t);
	stamp = stamp_of(p.s, k, buf, t.len, MSG_WAITALL);
	CHECK(within(k, first, stamp, now()));
	EQ(t.len, task_join(&t));
	EQ(-1, pattern_check(buf, t.len, 1, 0));
}
