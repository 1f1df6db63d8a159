// SPDX-License-Identifier: GPL-2.0
/*
 * Urgent data: MSG_OOB, the mark, SIGURG, SO_OOBINLINE, POLLPRI.
 *
 * What Linux's TCP does is odd in places (a replaced urgent byte is back in the
 * stream, unless the reader stood before it); programs know nothing else, so
 * each oddity is asked of both.
 */
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <unistd.h>

#include "lib/variant.h"

static int at_mark(int fd)
{
	int at = -1;

	if (ioctl(fd, SIOCATMARK, &at))
		return -1;
	return at;
}

/* What the client sent is there, and the server's side has looked at it. */
static int all_arrived_(const struct pair *p)
{
	struct sdp_info c = { }, s = { };

	EVENTUALLY(0, outq(p->c));
	if (on_sdp())
		EVENTUALLY(true, (sdp_info(p->c, &c), sdp_info(p->s, &s),
				  c.sdpi_bytes_sent == s.sdpi_bytes_received));
	return 0;
}

#define all_arrived(p)	CALL(all_arrived_(p))

static int urgent_(const struct pair *p, const char *text)
{
	EQ((long long)strlen(text), send(p->c, text, strlen(text), MSG_OOB));
	all_arrived(p);
	return 0;
}

#define urgent(p, text)	CALL(urgent_(&(p), text))

static int plain_(const struct pair *p, const char *text)
{
	send_text(p->c, text);
	all_arrived(p);
	return 0;
}

#define plain(p, text)	CALL(plain_(&(p), text))

/* One read gives exactly this. */
static int reads_(int fd, const char *text, int flags)
{
	char got[100];
	ssize_t n = recv(fd, got, sizeof(got) - 1, flags | MSG_DONTWAIT);

	if (n < 0)
		FAIL("recv: expected \"%s\", got %s", text, ktap_errno(errno));
	got[n] = 0;
	if (strcmp(got, text))
		FAIL("recv: expected \"%s\", got \"%s\"", text, got);
	return 0;
}

#define reads(fd, text)		CALL(reads_(fd, text, 0))
#define reads_oob(fd, text)	CALL(reads_(fd, text, MSG_OOB))
#define peeks(fd, text)		CALL(reads_(fd, text, MSG_PEEK))

static int nothing_urgent_(int fd)
{
	char c;

	FAILS(EINVAL, recv(fd, &c, 1, MSG_OOB));
	EQ_HEX(0, poll_one(fd, POLLPRI, 0));
	return 0;
}

#define nothing_urgent(fd)	CALL(nothing_urgent_(fd))

CASE(urgent_out_of_line)
{
	char c[2] = "-";
	struct iovec iov = { c, 1 };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct pair p;

	pair_open(&p);
	nothing_urgent(p.s);
	plain(p, "abc");
	nothing_urgent(p.s);
	urgent(p, "X");
	plain(p, "def");
	EQ_HEX(POLLIN | POLLPRI, poll_one(p.s, POLLIN | POLLPRI, 0));
	EQ(3, inq(p.s));
	EQ(0, at_mark(p.s));
	EQ(1, recvmsg(p.s, &msg, MSG_OOB));
	EQ('X', c[0]);
	EQ_HEX(MSG_OOB, msg.msg_flags & (MSG_OOB | MSG_TRUNC));
	nothing_urgent(p.s);
	EQ(3, inq(p.s));
	reads(p.s, "abc");
	EQ(1, at_mark(p.s));
	EQ(0, inq(p.s));
	reads(p.s, "def");
	EQ(0, at_mark(p.s));
	/* The other way round as well. */
	EQ(1, send(p.s, "Y", 1, MSG_OOB));
	await(p.c, POLLPRI);
	reads_oob(p.c, "Y");
}

CASE(urgent_not_taken)
{
	struct pair p;

	pair_open(&p);
	plain(p, "abc");
	urgent(p, "X");
	plain(p, "def");
	reads(p.s, "abc");
	EQ_HEX(POLLPRI, poll_one(p.s, POLLPRI, 0));
	reads(p.s, "def");
	nothing_urgent(p.s);
}

CASE(urgent_inline)
{
	struct pair p;
	char c;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_OOBINLINE, 1));
	plain(p, "abc");
	urgent(p, "X");
	plain(p, "def");
	EQ_HEX(POLLIN | POLLPRI, poll_one(p.s, POLLIN | POLLPRI, 0));
	FAILS(EINVAL, recv(p.s, &c, 1, MSG_OOB));
	EQ(7, inq(p.s));
	reads(p.s, "abc");
	EQ(1, at_mark(p.s));
	peeks(p.s, "Xdef");
	EQ(1, at_mark(p.s));
	reads(p.s, "Xdef");
	EQ(0, at_mark(p.s));
	nothing_urgent(p.s);
}

/* The last byte of a send is the urgent one. */
CASE(urgent_last_of_many)
{
	struct pair p;

	pair_open(&p);
	EQ(0, send(p.c, "", 0, MSG_OOB));
	plain(p, "abc");
	nothing_urgent(p.s);
	urgent(p, "hello");
	reads_oob(p.s, "o");
	reads(p.s, "abchell");
	plain(p, "!");
	reads(p.s, "!");
}

/* No byte of the stream: nobody is told that he may read. */
CASE(urgent_alone)
{
	struct pair p;
	char c;

	pair_open(&p);
	urgent(p, "X");
	EQ_HEX(POLLPRI, poll_one(p.s, POLLIN | POLLPRI, 0));
	EQ(0, inq(p.s));
	EQ(1, at_mark(p.s));
	CALL(reads_(p.s, "X", MSG_OOB | MSG_PEEK));
	/* A read that finds nothing is past it nevertheless. */
	FAILS(EAGAIN, recv(p.s, &c, 1, MSG_DONTWAIT));
	nothing_urgent(p.s);
	EQ(0, at_mark(p.s));
	urgent(p, "Y");
	EQ(0, recv(p.s, &c, 0, MSG_OOB));	/* no room: it is gone */
	nothing_urgent(p.s);
}

CASE(urgent_does_not_end_a_wait)
{
	char buf[10];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	urgent(p, "X");
	wait_asleep(getpid(), t.tid);
	CHECK(!t.done);
	plain(p, "d");
	EQ(1, task_join(&t));
	EQ('d', buf[0]);
}

/* One byte held back, and an urgent one behind it: until both are there. */
static struct ktap_watch urgent_behind_held_(const struct pair *p, int flags)
{
	struct ktap_watch took, start = ktap_watch();

	EQ(1, send(p->c, "h", 1, flags));
	EQ(1, send(p->c, "X", 1, flags | MSG_OOB));
	EQ_HEX(POLLPRI, await(p->s, POLLPRI));
	arrived(p->s, 1);
	took = ktap_watch();
	took.now -= start.now;
	took.ticks -= start.ticks;
	reads_oob(p->s, "X");
	reads(p->s, "h");
	return took;
}

#define urgent_behind_held(p, flags)	CALL(urgent_behind_held_(&(p), flags))

/*
 * An urgent byte goes at once, and what was held back before it with it: by TCP_CORK,
 * which is given up after 200 ms in any case, or by MSG_MORE.  How long a machine takes
 * for that is its own affair; but once in a while it is less than those.
 */
static void urgent_not_held(int cork, int flags)
{
	long long end = ktap_now() + ktap_ms(10000), most = 190 * sysconf(_SC_CLK_TCK) / 1000;
	struct ktap_watch took;
	struct pair p;

	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_CORK, cork));
	while ((took = urgent_behind_held(p, flags)).ticks >= most)
		if (ktap_now() > end)
			FAIL("an urgent byte took %lld ms", took.now);
	/* And the cork is there still. */
	all_arrived(&p);
	took = ktap_watch();
	EQ(1, send(p.c, "h", 1, flags));
	await(p.s, POLLIN);
	WAITED(190, ktap_ms(2000), took);
}

CASE(urgent_not_held_back)
{
	urgent_not_held(1, 0);
	urgent_not_held(0, MSG_MORE);
	urgent_not_held(1, MSG_MORE);
}
BY_CLOCK(urgent_not_held_back);

/* The newer replaces the older, which is in the stream again. */
CASE(urgent_replaced)
{
	struct pair p;

	pair_open(&p);
	plain(p, "abc");
	urgent(p, "X");
	plain(p, "def");
	urgent(p, "Y");
	plain(p, "ghi");
	reads_oob(p.s, "Y");
	reads(p.s, "abcXdef");
	EQ(1, at_mark(p.s));
	reads(p.s, "ghi");
}

/* Unless the reader stood right before it. */
CASE(urgent_replaced_at_the_mark)
{
	struct pair p;
	int taken;

	for (taken = 0; taken < 2; taken++) {
		pair_open(&p);
		plain(p, "abc");
		urgent(p, "X");
		if (taken)
			reads_oob(p.s, "X");
		reads(p.s, "abc");
		plain(p, "def");
		urgent(p, "Y");
		EQ(0, at_mark(p.s));
		EQ(3, inq(p.s));
		peeks(p.s, "def");
		reads(p.s, "def");
		EQ(1, at_mark(p.s));
		urgent(p, "Z");
		EQ_HEX(POLLPRI, poll_one(p.s, POLLIN | POLLPRI, 0));
		reads_oob(p.s, "Z");
		plain(p, "ghi");
		reads(p.s, "ghi");
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/* Several side by side before the first of them was read past: all are left out. */
CASE(urgent_replaced_side_by_side)
{
	struct pair p;
	int taken, peeked;

	for (taken = 0; taken < 2; taken++) {
		for (peeked = 0; peeked < 2; peeked++) {
			pair_open(&p);
			urgent(p, "1");
			if (taken)
				reads_oob(p.s, "1");
			urgent(p, "2");
			if (taken)
				reads_oob(p.s, "2");
			urgent(p, "3");
			urgent(p, "4");
			plain(p, "ghi");
			EQ_HEX(POLLIN | POLLPRI,
			       poll_one(p.s, POLLIN | POLLPRI, 0));
			EQ(1, at_mark(p.s));
			if (peeked)
				peeks(p.s, "ghi");
			else
				reads_oob(p.s, "4");
			reads(p.s, "ghi");
			close(p.c);
			close(p.s);
			close(p.l);
		}
	}
}

CASE(urgent_replaced_inline)
{
	struct pair p;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_OOBINLINE, 1));
	plain(p, "abc");
	urgent(p, "X");
	reads(p.s, "abc");
	plain(p, "def");
	urgent(p, "Y");
	reads(p.s, "Xdef");
	EQ(1, at_mark(p.s));
	reads(p.s, "Y");
}

CASE(urgent_peek)
{
	struct pair p;

	pair_open(&p);
	plain(p, "abc");
	urgent(p, "X");
	plain(p, "def");
	peeks(p.s, "abc");
	peeks(p.s, "abc");
	EQ(0, at_mark(p.s));
	reads(p.s, "abc");
	peeks(p.s, "def");
	EQ(1, at_mark(p.s));
	CALL(reads_(p.s, "X", MSG_OOB | MSG_PEEK));
	reads_oob(p.s, "X");
	peeks(p.s, "def");
	reads(p.s, "def");
}

/* A read ends at the mark whatever it was to wait for. */
CASE(urgent_ends_a_read)
{
	char buf[10];
	struct pair p;

	pair_open(&p);
	plain(p, "abc");
	urgent(p, "X");
	plain(p, "def");
	EQ(3, recv(p.s, buf, 6, MSG_WAITALL));
	EQ(3, recv(p.s, buf, 3, MSG_WAITALL));
	EQ(0, memcmp(buf, "def", 3));
	urgent(p, "ghiX");
	EQ(3, recv(p.s, NULL, 10, MSG_TRUNC));
	EQ(1, at_mark(p.s));
}

static volatile sig_atomic_t sigurgs;

static void on_urgent(int sig)
{
	(void)sig;
	sigurgs++;
}

CASE(urgent_signal)
{
	struct sigaction sa = { .sa_handler = on_urgent, .sa_flags = SA_RESTART };
	struct pair p;

	pair_open(&p);
	OK(sigaction(SIGURG, &sa, NULL));
	urgent(p, "V");			/* nobody asked for it */
	await(p.s, POLLPRI);
	settle();
	EQ(0, sigurgs);
	OK(fcntl(p.s, F_SETOWN, getpid()));
	urgent(p, "W");
	EVENTUALLY(1, sigurgs);
	urgent(p, "X");
	EVENTUALLY(2, sigurgs);
	plain(p, "abc");
	settle();
	EQ(2, sigurgs);
}

CASE(urgent_epoll_edge)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLPRI | EPOLLET };
	int ep = OK(epoll_create1(0));
	struct pair p;
	int i;

	pair_open(&p);
	OK(epoll_ctl(ep, EPOLL_CTL_ADD, p.s, &ev));
	for (i = 0; i < 3; i++) {
		urgent(p, "X");
		settle();	/* who looked at it has told of it, too */
		EQ(1, epoll_wait(ep, &ev, 1, ktap_ms(10000)));
		EQ_HEX(EPOLLPRI, ev.events);
		EQ(0, epoll_wait(ep, &ev, 1, 20));
		reads_oob(p.s, "X");
	}
	plain(p, "a");
	EQ(1, epoll_wait(ep, &ev, 1, ktap_ms(10000)));
	EQ_HEX(EPOLLIN, ev.events);
}

CASE(urgent_select)
{
	struct timeval tv = { 10, 0 };
	fd_set in, except;
	struct pair p;

	pair_open(&p);
	urgent(p, "X");
	FD_ZERO(&in);
	FD_ZERO(&except);
	FD_SET(p.s, &in);
	FD_SET(p.s, &except);
	EQ(1, select(p.s + 1, &in, NULL, &except, &tv));
	CHECK(FD_ISSET(p.s, &except));
	CHECK(!FD_ISSET(p.s, &in));
}

CASE(urgent_and_the_end)
{
	struct pair p;
	char c;

	pair_open(&p);
	plain(p, "abc");
	urgent(p, "X");
	OK(shutdown(p.c, SHUT_WR));
	await(p.s, POLLRDHUP);
	reads_oob(p.s, "X");
	reads(p.s, "abc");
	EQ(0, recv(p.s, &c, 1, 0));
	FAILS(EPIPE, send(p.c, "Y", 1, MSG_OOB | MSG_NOSIGNAL));
}

/* Queued behind what finds no room: no more, no less than other bytes. */
CASE(urgent_without_room)
{
	struct pair p;
	long long n;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_OOBINLINE, 1));
	n = fill(p.c, 7);
	FAILS(EAGAIN, send(p.c, "X", 1, MSG_OOB | MSG_DONTWAIT));
	nothing_urgent(p.s);
	recv_pattern(p.s, n, 7, 0);
	await(p.c, POLLOUT);
	urgent(p, "X");
	reads(p.s, "X");
}

static void task_storm(struct task *t)
{
	enum { SENDS = 2000 };
	unsigned int seed = 1, i;
	char buf[3000];
	__u64 pos = 0;

	for (i = 0; i < SENDS; i++) {
		size_t n = 1 + rand_r(&seed) % (i % 7 ? 100 : sizeof(buf));

		pattern_fill(buf, n, 3, pos);
		if (send(t->fd, buf, n, i % 5 ? 0 : MSG_OOB) != (ssize_t)n)
			break;
		pos += n;
	}
	t->ret = pos;
	shutdown(t->fd, SHUT_WR);
}

/* Whatever the marks do, inline no byte is lost, and none comes twice. */
CASE_LIMIT(urgent_storm, ~0u, 60)
{
	struct task t = { .run = task_storm };
	struct pair p;
	long long got;

	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_OOBINLINE, 1));
	t.fd = p.c;
	task_start(&t);
	got = drain(p.s, 3, 0);
	EQ(task_join(&t), got);
}
