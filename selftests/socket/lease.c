// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is lent beyond the call, by MSG_ZEROCOPY and sendfile(): when it is
 * told to be free, and that what arrives is what was sent, whatever else is sent,
 * and whoever closes, dies or does not read meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/sendfile.h>

#include "lib/variant.h"

enum {
	LONG	= 1 << 20,
	PIECE	= 200000,
};

/* A client that may send with MSG_ZEROCOPY, and offers what it sends so. */
static int lessor_(struct pair *p)
{
	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	pair_open(p);
	OK(set_int(p->c, SOL_SOCKET, SO_ZEROCOPY, 1));
	return 0;
}

#define lessor(p)	CALL(lessor_(p))

static int adverts_out(int fd)
{
	struct sdp_info info;

	OK(sdp_info(fd, &info));
	return info.sdpi_adverts_out;
}

/*
 * Each call is told of, in order; on SDP it says that it was not copied where it
 * was not.  TCP copies on the way to the same host.
 */
CASE(lease_notified)
{
	struct task t = { .run = task_drain };
	unsigned int told = 0, i;
	char *buf = pattern(5 * LONG, 0);
	struct pair p;
	bool copied;

	lessor(&p);
	t.fd = p.s;
	task_start(&t);
	for (i = 0; i < 3; i++) {
		EQ(LONG, send(p.c, buf + i * LONG, LONG, MSG_ZEROCOPY));
		EQ(1, notified(p.c, told++, &copied));
		EQ(!on_sdp(), copied);
	}
	/* Of a call that does not wait; and what is too short to be worth it. */
	EQ(PIECE, send(p.c, buf + 3 * LONG, PIECE, MSG_ZEROCOPY | MSG_DONTWAIT));
	EQ(1, notified(p.c, told++, &copied));
	EQ(!on_sdp(), copied);
	EQ(1000, send(p.c, buf + 3 * LONG + PIECE, 1000, MSG_ZEROCOPY));
	EQ(1, notified(p.c, told++, &copied));
	EQ(1, copied);
	/* What was not done is not told. */
	FAILS(EFAULT, send(p.c, (void *)8, 100000, MSG_ZEROCOPY));
	FAILS(EAGAIN, recv(p.c, buf, 1, MSG_ERRQUEUE));
	OK(shutdown(p.c, SHUT_WR));
	EQ(3 * LONG + PIECE + 1000, task_join(&t));
}

/* The same to a server that takes nothing in before somebody reads. */
static int lessor_to_full_(struct pair *p)
{
	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	pair_start(p);
	/* With TCP it would be the client who could not send. */
	if (on_sdp())
		OK(set_int(p->l, SOL_SOCKET, SO_RCVBUF, 4096));
	pair_finish(p);
	OK(set_int(p->c, SOL_SOCKET, SO_ZEROCOPY, 1));
	return 0;
}

#define lessor_to_full(p)	CALL(lessor_to_full_(p))

/* Nobody reads: the call returns, and the memory is not free until one does. */
CASE(lease_outlives_the_call)
{
	char *buf = pattern(PIECE, 0);
	struct pair p;
	bool copied;

	lessor_to_full(&p);
	EQ(PIECE, send(p.c, buf, PIECE, MSG_ZEROCOPY));
	if (on_sdp()) {
		EVENTUALLY(1, adverts_out(p.c));
		IN_RANGE(PIECE, PIECE + 1000, outq(p.c));
		EQ_HEX(0, poll_one(p.c, POLLOUT, 50) & POLLERR);
	}
	recv_pattern(p.s, PIECE, 1, 0);
	EQ(1, notified(p.c, 0, &copied));
	EQ(!on_sdp(), copied);
	if (on_sdp())
		EVENTUALLY(0, outq(p.c));
}

/* A copy is done with at once, but is not told of before what is lent before it. */
CASE(lease_told_in_turn)
{
	char *buf = pattern(PIECE + 1000, 0);
	unsigned int told = 0;
	struct pair p;
	bool copied;

	lessor_to_full(&p);
	EQ(PIECE, send(p.c, buf, PIECE, MSG_ZEROCOPY));
	EQ(1000, send(p.c, buf + PIECE, 1000, MSG_ZEROCOPY));
	if (on_sdp())
		EQ_HEX(0, poll_one(p.c, POLLOUT, 50) & POLLERR);
	recv_pattern(p.s, PIECE + 1000, 1, 0);
	told = notified(p.c, 0, &copied);
	EQ(!on_sdp(), copied);
	if (told == 1) {
		EQ(1, notified(p.c, 1, &copied));
		EQ(1, copied);
	}
}

/* What is sent in other ways meanwhile keeps its place. */
CASE(lease_among_others)
{
	struct task t = { .run = task_drain };
	char *buf = pattern(3 * LONG, 0), *at = buf;
	unsigned int told = 0;
	struct pair p;
	int i;

	lessor(&p);
	t.fd = p.s;
	for (i = 0; i < 6; i++) {
		if (i == 3)
			task_start(&t);
		EQ(65536, send(p.c, at, 65536, MSG_ZEROCOPY));
		at += 65536;
		EQ(i + 1, send(p.c, at, i + 1, i % 2 ? MSG_MORE : 0));
		at += i + 1;
		if (i < 3)
			continue;
		EQ(PIECE, send(p.c, at, PIECE, 0));
		at += PIECE;
	}
	OK(shutdown(p.c, SHUT_WR));
	EQ(at - buf, task_join(&t));
	while (told < 6)
		told += notified(p.c, told, NULL);
	EQ(6, told);
}

/*
 * The peer does not come for it: it is copied, and free, before anybody reads;
 * what was sent behind it still comes behind it.
 */
static void runs_out(int user_timeout)
{
	enum { HALF = PIECE / 2 };
	char *buf = pattern(3 * HALF, 0);
	unsigned int told = 0;
	bool copied = false;
	struct pair p;

	lessor_to_full(&p);
	sysctl("zcopy_wait", 20);
	OK(set_int(p.c, IPPROTO_TCP, TCP_USER_TIMEOUT, user_timeout));
	EQ(HALF, send(p.c, buf, HALF, MSG_ZEROCOPY));
	EQ(HALF, send(p.c, buf + HALF, HALF, MSG_ZEROCOPY));
	EQ(10, send(p.c, buf + 2 * HALF, 10, 0));
	/* What TCP has no room for at the other end it tells of late. */
	if (on_sdp()) {
		while (told < 2)
			told += notified(p.c, told, &copied);
		CHECK(copied);
		memset(buf, 0xee, 3 * HALF);
	}
	recv_pattern(p.s, 2 * HALF + 10, 1, 0);
	while (told < 2)
		told += notified(p.c, told, NULL);
}

CASE(lease_runs_out)
{
	runs_out(0);
	/* That much later is not soon enough. */
	runs_out(60000);
}

/* The same to a peer that wants everything by copy. */
CASE(lease_refused)
{
	struct task t = { .run = task_drain };
	char *buf = pattern(4 * PIECE, 0);
	unsigned int told = 0, i;
	struct pair p;
	bool copied;

	lessor(&p);
	if (on_sdp())
		OK(set_int(p.s, SOL_SDP, SDP_ZCOPY, 0));
	t.fd = p.s;
	task_start(&t);
	for (i = 0; i < 4; i++)
		EQ(PIECE, send(p.c, buf + i * PIECE, PIECE, MSG_ZEROCOPY));
	while (told < 4) {
		told += notified(p.c, told, &copied);
		CHECK(copied);
	}
	OK(shutdown(p.c, SHUT_WR));
	EQ(4 * PIECE, task_join(&t));
}

/* Who closes, or ends, has sent what he has sent. */
CASE(lease_and_close)
{
	char *buf = pattern(PIECE, 0);
	struct pair p;
	int i;

	for (i = 0; i < 4; i++) {
		lessor(&p);
		if (i % 2)
			sysctl("zcopy_wait", 10);
		EQ(PIECE, send(p.c, buf, PIECE, MSG_ZEROCOPY));
		if (i < 2) {
			OK(close(p.c));
		} else {
			OK(shutdown(p.c, SHUT_WR));
			settle();
		}
		recv_pattern(p.s, PIECE, 1, 0);
		expect_eof(p.s);
	}
}

CASE(lease_and_exit)
{
	struct pair p;
	pid_t pid;
	int i;

	for (i = 0; i < 4; i++) {
		lessor(&p);
		pid = OK(fork());
		if (!pid) {
			char *own = pattern(PIECE, 0);

			close(p.s);
			if (send(p.c, own, PIECE, MSG_ZEROCOPY) != PIECE)
				_exit(1);
			if (i % 2)
				raise(SIGKILL);
			/* The pages are the connection's as well. */
			munmap(own, PIECE);
			_exit(0);
		}
		close(p.c);
		OK(waitpid(pid, NULL, 0));
		recv_pattern(p.s, PIECE, 1, 0);
		expect_eof(p.s);
	}
}

/* A connection that is reset has nothing on loan any more, and says so. */
CASE(lease_and_reset)
{
	const struct linger at_once = { .l_onoff = 1 };
	char *buf = pattern(PIECE, 0);
	struct pair p;

	lessor(&p);
	EQ(PIECE, send(p.c, buf, PIECE, MSG_ZEROCOPY));
	OK(setsockopt(p.s, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	OK(close(p.s));
	/* It may be told before. */
	EVENTUALLY(POLLHUP, poll_one(p.c, 0, 0) & POLLHUP);
	EVENTUALLY(0, recv(p.c, buf, 1, MSG_ERRQUEUE));
	FAILS(ECONNRESET, recv(p.c, buf, 1, 0));

	/* And by who lends. */
	lessor(&p);
	EQ(PIECE, send(p.c, buf, PIECE, MSG_ZEROCOPY));
	OK(setsockopt(p.c, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	OK(close(p.c));
	await(p.s, POLLHUP);
}

/* SO_SNDBUF bounds what is lent, and poll() tells when there is room. */
CASE(lease_room)
{
	enum { ALL = 8 * LONG };
	char *buf = pattern(ALL, 0);
	unsigned int calls = 0, told = 0;
	long long sent = 0, got = 0;
	struct pair p;

	lessor_to_full(&p);
	OK(set_int(p.c, SOL_SOCKET, SO_SNDBUF, 300000));
	nonblock(p.c, true);
	while (sent < ALL) {
		ssize_t n = send(p.c, buf + sent, PIECE < ALL - sent ? PIECE : ALL - sent,
				 MSG_ZEROCOPY);

		if (n > 0) {
			sent += n;
			calls++;
			continue;
		}
		EQ(-1, n);
		EQ(EAGAIN, errno);
		if (on_sdp() && !got)
			EQ_HEX(0, poll_one(p.c, POLLOUT, 20) & POLLOUT);
		while (got < sent) {
			long long some = sent - got < LONG ? sent - got : LONG;

			recv_pattern(p.s, some, 1, got);
			got += some;
		}
		/* POLLERR is there already: somebody is told. */
		EVENTUALLY(POLLOUT, poll_one(p.c, POLLOUT, 0) & POLLOUT);
	}
	/* In the first go it has to stop before that. */
	CHECK(got > 0);
	recv_pattern(p.s, ALL - got, 1, got);
	while (told < calls)
		told += notified(p.c, told, NULL);
	EQ(calls, told);
}

/* A reader who waits has it written to him, or copied if he has no room for it. */
static void to_who_waits(const struct pair *p, size_t want, unsigned int *told)
{
	struct task t = { .run = task_recv, .flags = MSG_WAITALL, .fd = p->s,
			  .len = want, .buf = memory(want, 0) };
	char *buf = pattern(PIECE, 0);

	task_start(&t);
	EQ(PIECE, send(p->c, buf, PIECE, MSG_ZEROCOPY));
	EQ(want, task_join(&t));
	EQ(-1, pattern_check(t.buf, want, 1, 0));
	if (want < PIECE)
		recv_pattern(p->s, PIECE - want, 1, want);
	EQ(1, notified(p->c, (*told)++, NULL));
	munmap(t.buf, want + 4096);
	munmap(buf, PIECE + 4096);
}

CASE(lease_to_who_waits)
{
	unsigned long long written = count("bytes_written");
	unsigned int told = 0;
	struct pair p;
	int i;

	lessor(&p);
	sysctl("zcopy_write", 1);
	/* Of those that cross what he says of it there are fewer and fewer. */
	do
		to_who_waits(&p, PIECE, &told);
	while (on_sdp() && count("bytes_written") < written + PIECE);
	for (i = 0; i < 12; i++)
		to_who_waits(&p, i % 2 ? PIECE : PIECE / 2, &told);
}

/* Of many pieces those that are long are lent. */
CASE(lease_of_pieces)
{
	unsigned long long lent = count("bytes_lent");
	char *buf = pattern(2 * LONG, 0);
	struct iovec v[4] = {
		{ buf, 40 },
		{ buf + 40, 300000 },
		{ buf + 300040, 1000 },
		{ buf + 301040, 200000 },
	};
	struct msghdr msg = { .msg_iov = v, .msg_iovlen = 4 };
	struct task t = { .run = task_drain };
	struct pair p;
	ssize_t n;

	lessor(&p);
	t.fd = p.s;
	task_start(&t);
	n = OK(sendmsg(p.c, &msg, MSG_ZEROCOPY));
	EQ(501040, n);
	OK(shutdown(p.c, SHUT_WR));
	EQ(n, task_join(&t));
	EQ(1, notified(p.c, 0, NULL));
	/* A message takes what it has room for, of the next piece too. */
	if (on_sdp())
		CHECK(count("bytes_lent") - lent > 400000);
}

/* Who is told that there is no room may ask for ever. */
CASE(lease_asked_for_in_vain)
{
	enum { TIMES = 2000 };
	char *buf = pattern(16 * LONG, 0);
	unsigned int calls = 0, told = 0;
	long long sent = 0;
	struct pair p;
	int i;

	lessor_to_full(&p);
	nonblock(p.c, true);
	for (i = 0; i < TIMES;) {
		ssize_t n = send(p.c, buf + sent % LONG, LONG, MSG_ZEROCOPY);

		if (n > 0) {
			sent += n;
			calls++;
			CHECK(sent < 16 * LONG);
			continue;
		}
		EQ(-1, n);
		EQ(EAGAIN, errno);
		i++;
	}
	close(p.s);
	while (told < calls) {
		ssize_t n = recv(p.c, buf, 1, MSG_ERRQUEUE);

		if (n >= 0)
			break;
		EQ(EAGAIN, errno);
		usleep(1000);
	}
}

/* An urgent byte is not held up by its being between two. */
CASE(lease_and_urgent)
{
	char *buf = pattern(2 * PIECE, 0);
	struct pair p;
	char byte;

	lessor(&p);
	EQ(PIECE, send(p.c, buf, PIECE, MSG_ZEROCOPY));
	EQ(1, send(p.c, "!", 1, MSG_OOB));
	EQ(PIECE, send(p.c, buf + PIECE, PIECE, MSG_ZEROCOPY));
	recv_pattern(p.s, PIECE, 1, 0);
	EVENTUALLY(1, recv(p.s, &byte, 1, MSG_OOB));
	EQ('!', byte);
	recv_pattern(p.s, PIECE, 1, PIECE);
}

/* Pages come to send() as such from Linux 6.5 on. */
static bool splices_pages(void)
{
	return kernel_since(6, 5);
}

/* A file's pages are lent as they are, and may leave the file meanwhile. */
CASE(lease_of_a_file)
{
	unsigned long long lent = count("bytes_lent");
	enum { PAGES = 128 * 1024 };	/* that are lent, or that it has room for */
	struct task t = { .run = task_drain };
	int file = OK(memfd_create("lease", 0));
	char *buf = pattern(LONG, 0);
	off_t off = 0;
	struct pair p;

	lessor(&p);
	EQ(LONG, write(file, buf, LONG));
	EQ(PAGES, sendfile(p.c, file, &off, PAGES));
	OK(ftruncate(file, 0));
	recv_pattern(p.s, PAGES, 1, 0);
	EQ(LONG, pwrite(file, buf, LONG, 0));
	t.fd = p.s;
	task_start(&t);
	off = 0;
	while (off < LONG)
		CHECK(OK(sendfile(p.c, file, &off, LONG - off)) > 0);
	OK(shutdown(p.c, SHUT_WR));
	EQ(LONG, task_join(&t));
	if (on_sdp())
		EVENTUALLY(splices_pages() ? lent + PAGES + LONG : lent,
			   count("bytes_lent"));
	close(file);
}

/*
 * Lengths by chance, some lent and some not, against a reader who sleeps now and
 * then, with offers that are soon taken back: a buffer is overwritten as soon as
 * it is told to be free.
 */
CASE_LIMIT(lease_storm, ~0u, 60)
{
	enum { SLOTS = 6, SLOT = 300000 };
	static const int waits[] = { 1, 5, 250, 60000 };
	struct task t = { .run = task_drain };
	char *slot[SLOTS], small[3000];
	bool lent[SLOTS] = { };
	unsigned int seed = ktap_now(), sent = 0, told = 0;
	long long pos = 0, end;
	struct pair p;
	int i;

	ktap_note("seed %u", seed);
	lessor(&p);
	sysctl("zcopy_write", 1);
	for (i = 0; i < SLOTS; i++)
		slot[i] = memory(SLOT, 0);
	t.fd = p.s;
	task_start(&t);
	end = ktap_now() + ktap_ms(1500);
	while (ktap_now() < end) {
		size_t len = 1 + rand_r(&seed) % sizeof(small);
		char *buf = small;

		if (rand_r(&seed) % 4) {
			len = 1 + rand_r(&seed) % SLOT;
			buf = slot[sent % SLOTS];
			while (lent[sent % SLOTS]) {
				unsigned int first, n;

				n = notified_any(p.c, &first, NULL);
				told += n;
				for (; n--; first++) {
					memset(slot[first % SLOTS], 0xee, SLOT);
					lent[first % SLOTS] = false;
				}
			}
		}
		pattern_fill(buf, len, 1, pos);
		if (buf == small) {
			EQ(len, send(p.c, buf, len,
				     rand_r(&seed) % 2 ? MSG_MORE : 0));
		} else {
			EQ(len, send(p.c, buf, len, MSG_ZEROCOPY));
			lent[sent++ % SLOTS] = true;
		}
		pos += len;
		if (rand_r(&seed) % 16 == 0)
			sysctl("zcopy_wait",
			       waits[rand_r(&seed) % ARRAY_SIZE(waits)]);
	}
	OK(shutdown(p.c, SHUT_WR));
	EQ(pos, task_join(&t));
	while (told < sent) {
		unsigned int first;

		told += notified_any(p.c, &first, NULL);
	}
	EQ(sent, told);
	ktap_note("%lld bytes", pos);
}
