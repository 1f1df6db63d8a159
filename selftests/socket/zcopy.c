// SPDX-License-Identifier: GPL-2.0
/*
 * Long sends and receives, which SDP does without copying: to a program they are
 * what they are with TCP, whoever reads, waits, gives up or dies meanwhile.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/tcp.h>
#include <sys/mman.h>

#include "lib/variant.h"

enum {
	LONG	= 1 << 20,
	PAGE	= 4096,
};

static int send_and_recv_(const struct pair *p, size_t len, size_t from,
			  size_t to, int flags)
{
	struct task t = { .run = task_send, .fd = p->c, .len = len };
	char *there = memory(len, to);
	size_t got = 0;

	t.buf = pattern(len, from);
	task_start(&t);
	while (got < len) {
		ssize_t n = OK(recv(p->s, there + got, len - got, flags));

		CHECK(n > 0);
		got += n;
	}
	EQ(-1, pattern_check(there, len, 1, 0));
	EQ(len, task_join(&t));
	munmap((char *)t.buf - from, len + from + PAGE);
	munmap(there - to, len + to + PAGE);
	return 0;
}

#define send_and_recv(...)	CALL(send_and_recv_(__VA_ARGS__))

/* Sizes around every bound, memory that begins anywhere, both ways. */
CASE_LIMIT(zcopy_sizes, ~0u, 60)
{
	static const size_t sizes[] = {
		65535, 65536, 65537, 100001, 262143, 262144, 262145, 524289,
		LONG, 3 * LONG + 1,
	};
	static const size_t offs[] = { 0, 1, 63, 4095 };
	unsigned long long lent = count("bytes_lent");
	size_t i, total = 0;
	struct pair p, back;

	sysctl("zcopy_wait", 60000);	/* who is late is waited for */
	sysctl("zcopy_write", 0);	/* what it leaves over is copied */
	pair_open(&p);
	back = (struct pair) { .c = p.s, .s = p.c };
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		send_and_recv(&p, sizes[i], offs[i % 4], offs[i / 4], MSG_WAITALL);
		send_and_recv(&back, sizes[i], offs[i / 4], offs[i % 4], 0);
		if (sizes[i] >= 65536)
			total += 2 * sizes[i];
	}
	if (on_sdp())
		EQ(lent + total, count("bytes_lent"));
}

/* Bytes that came to where the reader wanted them, one way or the other. */
static unsigned long long direct(void)
{
	return count("bytes_taken") + count("bytes_filled");
}

/* He has it brought to where he wants it. */
static int read_waiting_(const struct pair *p, size_t len, int times)
{
	unsigned long long before = direct();
	int i;

	for (i = 0; i < times; i++)
		read_asleep(p, len);
	/* He may have been late now and then. */
	if (on_sdp())
		IN_RANGE(len * times / 2, len * times, direct() - before);
	return 0;
}

#define read_waiting(...)	CALL(read_waiting_(__VA_ARGS__))

CASE(zcopy_reader_waits)
{
	struct pair p;

	pair_open(&p);
	read_waiting(&p, 65536, 32);
	read_waiting(&p, LONG, 8);
}

/* Who waits before there is anything to be read has it written to him. */
CASE(zcopy_written)
{
	unsigned long long filled = count("bytes_filled");
	unsigned long long written = count("bytes_written");
	struct pair p, back;
	int i;

	sysctl("zcopy_wait", 60000);
	pair_open(&p);
	back = (struct pair) { .c = p.s, .s = p.c };
	for (i = 0; i < 8; i++) {
		read_waiting(&p, 65536, 2);
		read_waiting(&back, 200000, 2);
		read_waiting(&p, LONG, 2);
	}
	EQ(count("bytes_filled") - filled, count("bytes_written") - written);
	/* Of LONG no more than a piece is; the rest is on offer by then. */
	if (on_sdp())
		CHECK(count("bytes_filled") - filled > 8 * (65536 + 200000));
}

/* What comes is short, and he has it at once. */
CASE(zcopy_written_little)
{
	struct task t = { .run = task_recv, .len = 200000 };
	char *from = pattern(200000, 0);
	struct pair p;
	int i;

	sysctl("zcopy_wait", 60000);
	pair_open(&p);
	learn_to_ask(&p);
	t.fd = p.s;
	t.buf = memory(t.len, 0);
	for (i = 0; i < 20; i++) {
		size_t len = i % 4 ? 1 + i * 1000 : 100000;

		memset(t.buf, 0xee, t.len);
		task_start(&t);
		EQ(len, send(p.c, from, len, 0));
		IN_RANGE(1, len, task_join(&t));
		EQ(-1, pattern_check(t.buf, t.ret, 1, 0));
		EQ((char)0xee, ((char *)t.buf)[t.ret]);
		if (t.ret < (long long)len)
			recv_pattern(p.s, len - t.ret, 1, t.ret);
	}
}

/* A reader who sleeps, his buffer known to the peer; filled with 0xee. */
static int ask_(const struct pair *p, struct task *t)
{
	unsigned long long asks = count("asks");

	*t = (struct task) { .run = task_recv, .fd = p->s, .len = 200000,
			     .buf = memory(200000, 0) };
	memset(t->buf, 0xee, t->len);
	task_start(t);
	if (on_sdp())
		EVENTUALLY(asks + 1, count("asks"));
	return 0;
}

#define ask(...)	CALL(ask_(__VA_ARGS__))

static bool is_untouched(const struct task *t)
{
	size_t i;

	for (i = 0; i < t->len; i++)
		if (((char *)t->buf)[i] != (char)0xee)
			return false;
	return true;
}

/* He gives up: his buffer is his, and what comes is for the next call. */
CASE(zcopy_asked_and_gone)
{
	struct task s = { .run = task_send, .len = 200000 };
	struct task t;
	struct pair p;
	int i;

	catch(0);
	pair_open(&p);
	s.fd = p.c;
	s.buf = pattern(s.len, 0);
	for (i = 0; i < 6; i++) {
		learn_to_ask(&p);
		if (i % 2)
			set_ms(p.s, SO_RCVTIMEO, 50);
		ask(&p, &t);
		if (i % 2 == 0)
			pthread_kill(t.thread, SIGUSR1);
		EQ(-1, task_join(&t));
		EQ(i % 2 ? EAGAIN : EINTR, t.err);
		set_ms(p.s, SO_RCVTIMEO, 0);
		task_start(&s);
		recv_pattern(p.s, s.len, 1, 0);
		EQ(s.len, task_join(&s));
		CHECK(is_untouched(&t));
	}
}

/* Memory is not kept for who sleeps long, and he is woken as before. */
CASE(zcopy_asked_and_patient)
{
	unsigned long long back;
	struct task t;
	struct pair p;

	pair_open(&p);
	learn_to_ask(&p);
	sysctl("zcopy_wait", 20);
	back = count("asks_cancelled");
	ask(&p, &t);
	if (on_sdp())
		EVENTUALLY(back + 1, count("asks_cancelled"));
	usleep(100000);
	EQ(10, send(p.c, pattern(10, 0), 10, 0));
	EQ(10, task_join(&t));
	EQ(-1, pattern_check(t.buf, 10, 1, 0));
}
BY_CLOCK(zcopy_asked_and_patient);

/* The stream ends, from either side. */
CASE(zcopy_asked_and_over)
{
	const struct linger at_once = { .l_onoff = 1 };
	struct task t;
	struct pair p;

	pair_open(&p);
	learn_to_ask(&p);
	ask(&p, &t);
	OK(shutdown(p.c, SHUT_WR));
	EQ(0, task_join(&t));
	CHECK(is_untouched(&t));
	pair_open(&p);
	learn_to_ask(&p);
	ask(&p, &t);
	OK(shutdown(p.s, SHUT_RD));
	EQ(0, task_join(&t));
	CHECK(is_untouched(&t));
	pair_open(&p);
	learn_to_ask(&p);
	ask(&p, &t);
	OK(setsockopt(p.c, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	OK(close(p.c));
	EQ(-1, task_join(&t));
	EQ(ECONNRESET, t.err);
}

/* What is sent cannot be read to its end: he has what could. */
CASE(zcopy_asked_and_bad_memory)
{
	char *half = pattern(200000, 0);
	struct task t;
	struct pair p;
	ssize_t n;

	pair_open(&p);
	learn_to_ask(&p);
	OK(munmap(half + 128 * 1024, 200000 - 128 * 1024));
	ask(&p, &t);
	n = OK(send(p.c, half, 200000, 0));
	IN_RANGE(1, 128 * 1024, n);
	IN_RANGE(1, n, task_join(&t));
	EQ(-1, pattern_check(t.buf, t.ret, 1, 0));
	if (t.ret < n)
		recv_pattern(p.s, n - t.ret, 1, t.ret);
}

/*
 * His buffer is unmapped meanwhile: it is filled, where nobody sees it, or what came
 * is there for the next call.
 */
CASE(zcopy_asked_and_unmapped)
{
	struct task t;
	struct pair p;

	pair_open(&p);
	learn_to_ask(&p);
	ask(&p, &t);
	wait_asleep(getpid(), t.tid);
	forget(t.buf, t.len);
	EQ(t.len, send(p.c, pattern(t.len, 0), t.len, 0));
	if (task_join(&t) < 0) {
		EQ(EFAULT, t.err);
		recv_pattern(p.s, t.len, 1, 0);
	} else {
		CHECK(on_sdp());
		if (t.ret < (long long)t.len)
			recv_pattern(p.s, t.len - t.ret, 1, t.ret);
	}
	send_text(p.c, "further");
	recv_text(p.s, "further");
}

/* A reader who is killed is gone soon; his peer hears of it. */
CASE(zcopy_asked_and_killed)
{
	char *there = memory(200000, 0);
	unsigned long long asks;
	struct pair p;
	int status;
	pid_t pid;

	pair_open(&p);
	learn_to_ask(&p);
	asks = count("asks");
	pid = OK(fork());
	if (!pid) {
		close(p.c);
		recv(p.s, there, 200000, MSG_WAITALL);
		_exit(1);
	}
	close(p.s);
	if (on_sdp())
		EVENTUALLY(asks + 1, count("asks"));
	wait_asleep(pid, pid);
	OK(kill(pid, SIGKILL));
	EVENTUALLY(pid, waitpid(pid, &status, WNOHANG));
	CHECK(WIFSIGNALED(status));
	await(p.c, POLLIN);
	EQ(0, recv(p.c, there, 1, 0));
}

/* An urgent byte is not for him, and he reads what comes behind it. */
CASE(zcopy_asked_and_urgent)
{
	struct task t;
	struct pair p;

	pair_open(&p);
	learn_to_ask(&p);
	ask(&p, &t);
	EQ(1, send(p.c, "!", 1, MSG_OOB));
	EQ(70000, send(p.c, pattern(70000, 0), 70000, 0));
	IN_RANGE(1, 70000, task_join(&t));
	EQ(-1, pattern_check(t.buf, t.ret, 1, 0));
	if (t.ret < 70000)
		recv_pattern(p.s, 70000 - t.ret, 1, t.ret);
}

/* What he has room for in the end is too little for that: it is not forgotten. */
CASE(zcopy_short_rest)
{
	enum { ROOM = 65536 + 1000 };
	struct task t = { .run = task_recv, .len = ROOM, .flags = MSG_WAITALL };
	char *from = pattern(2 * 65536, 0);
	struct pair p;

	sysctl("zcopy_wait", 60000);
	pair_open(&p);
	t.fd = p.s;
	t.buf = memory(ROOM, 0);
	task_start(&t);
	EQ(65536, send(p.c, from, 65536, 0));
	EQ(65536, send(p.c, from + 65536, 65536, 0));
	EQ(ROOM, task_join(&t));
	EQ(-1, pattern_check(t.buf, ROOM, 1, 0));
	recv_pattern(p.s, 2 * 65536 - ROOM, 1, ROOM);
}

/* A reader of small pieces, of what he may look at first, by poll. */
CASE(zcopy_read_by_pieces)
{
	unsigned long long fetched = count("bytes_fetched");
	struct task t = { .run = task_send, .len = LONG };
	char there[70000];
	struct pair p;
	size_t got;

	pair_open(&p);
	t.fd = p.c;
	t.buf = pattern(LONG, 0);
	task_start(&t);
	EQ(1000, recv(p.s, there, 1000, MSG_PEEK | MSG_WAITALL));
	EQ(-1, pattern_check(there, 1000, 1, 0));
	for (got = 0; got < LONG / 2; got += 1000)
		recv_pattern(p.s, 1000, 1, got);
	nonblock(p.s, true);
	while (got < LONG) {
		ssize_t n = recv(p.s, there, sizeof(there), 0);

		if (n < 0) {
			CHECK(errno == EAGAIN);
			await(p.s, POLLIN);
			CHECK(inq(p.s) > 0);
			continue;
		}
		EQ(-1, pattern_check(there, n, 1, got));
		got += n;
	}
	EQ(LONG, task_join(&t));
	if (on_sdp())
		CHECK(count("bytes_fetched") > fetched);
}

/* Several pieces of memory in a call, short ones between. */
CASE(zcopy_vectors)
{
	struct task t = { .run = task_drain };
	struct iovec v[5];
	struct pair p;
	size_t i, pos = 0;

	pair_open(&p);
	t.fd = p.s;
	for (i = 0; i < 5; i++) {
		v[i].iov_len = i % 2 ? 100 : 200000;
		v[i].iov_base = memory(v[i].iov_len, i);
		pattern_fill(v[i].iov_base, v[i].iov_len, 1, pos);
		pos += v[i].iov_len;
	}
	task_start(&t);
	EQ(pos, writev(p.c, v, 5));
	OK(shutdown(p.c, SHUT_WR));
	EQ(pos, task_join(&t));
}

/* Both ends send before they read, as much as TCP has room for. */
static void send_then_recv(struct task *t)
{
	ssize_t n = send(t->fd, t->buf, t->len, 0);

	t->ret = n < 0 ? n : recv(t->fd, t->buf, t->len, MSG_WAITALL);
}

CASE(zcopy_both_send_first)
{
	struct task t[2];
	struct pair p;
	int i, round;

	pair_open(&p);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 2; i++) {
			t[i] = (struct task) {
				.run = send_then_recv, .fd = i ? p.s : p.c,
				.buf = pattern(65536, i), .len = 65536,
			};
			task_start(&t[i]);
		}
		for (i = 0; i < 2; i++) {
			EQ(65536, task_join(&t[i]));
			EQ(-1, pattern_check(t[i].buf, 65536, 1, 0));
		}
	}
}

/*
 * Nobody reads: the sender is not held for longer than he said, and what he was
 * told to have sent is what arrives, no byte more.
 */
CASE(zcopy_nobody_reads)
{
	size_t len = 16 * LONG;
	struct pair p;
	ssize_t n;

	pair_open(&p);
	set_ms(p.c, SO_SNDTIMEO, 500);
	n = OK(send(p.c, pattern(len, 0), len, 0));
	CHECK(n > 0 && n < (ssize_t)len);
	OK(shutdown(p.c, SHUT_WR));
	EQ(n, drain(p.s, 1, 0));
}

/* More than fits is sent by p->c, and nobody reads yet. */
static int send_long_(struct pair *p, struct task *t)
{
	pair_open(p);
	*t = (struct task){ .run = task_send, .fd = p->c, .len = 16 * LONG };
	t->buf = pattern(t->len, 0);
	task_start(t);
	return 0;
}

#define send_long(p, t)	CALL(send_long_(p, t))

/* A signal ends the wait; what was sent by then is told, and comes. */
CASE(zcopy_signal)
{
	struct task t;
	struct pair p;

	catch(0);
	send_long(&p, &t);
	pthread_kill(t.thread, SIGUSR1);
	CHECK(task_join(&t) > 0 && t.ret < (long long)t.len);
	OK(shutdown(p.c, SHUT_WR));
	EQ(t.ret, drain(p.s, 1, 0));
}

/* A sender who is killed is gone soon, and what comes of his is right. */
CASE(zcopy_killed)
{
	struct pair p;
	long long n;
	int status;
	pid_t pid;

	pair_open(&p);
	pid = OK(fork());
	if (!pid) {
		close(p.s);
		send(p.c, pattern(16 * LONG, 0), 16 * LONG, 0);
		_exit(1);
	}
	close(p.c);
	await(p.s, POLLIN);
	wait_asleep(pid, pid);
	OK(kill(pid, SIGKILL));
	EVENTUALLY(pid, waitpid(pid, &status, WNOHANG));
	CHECK(WIFSIGNALED(status));
	n = drain(p.s, 1, 0);
	CHECK(n > 0 && n < 16 * LONG);
}

/* His other thread ends the stream under him. */
CASE(zcopy_shutdown)
{
	struct task t;
	struct pair p;

	send_long(&p, &t);
	OK(shutdown(p.c, SHUT_WR));
	CHECK(task_join(&t) > 0 && t.ret < (long long)t.len);
	EQ(t.ret, drain(p.s, 1, 0));
}

/* The reader goes and leaves most of it. */
CASE(zcopy_reader_goes)
{
	struct task t;
	struct pair p;

	send_long(&p, &t);
	recv_pattern(p.s, 100000, 1, 0);
	OK(close(p.s));
	CHECK(task_join(&t) < (long long)t.len);
	if (t.ret < 0)
		CHECK(t.err == ECONNRESET || t.err == EPIPE);
	else
		await(p.c, POLLERR | POLLHUP);
}

/* Several who send at a time: all of each arrives. */
CASE(zcopy_senders)
{
	enum { SENDERS = 3, LEN = 300000 };
	struct task t[SENDERS];
	size_t got = 0, of[SENDERS] = {};
	char *there = memory(LONG, 0);
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < SENDERS; i++) {
		t[i] = (struct task) { .run = task_send, .fd = p.c, .len = LEN,
				       .buf = memory(LEN, i) };
		memset(t[i].buf, 'a' + i, LEN);
		task_start(&t[i]);
	}
	while (got < SENDERS * LEN) {
		ssize_t k, n = OK(recv(p.s, there, LONG, 0));

		CHECK(n > 0);
		for (k = 0; k < n; k++) {
			IN_RANGE('a', 'a' + SENDERS - 1, there[k]);
			of[there[k] - 'a']++;
		}
		got += n;
	}
	for (i = 0; i < SENDERS; i++) {
		EQ(LEN, of[i]);
		EQ(LEN, task_join(&t[i]));
	}
}

/* Several who read: each byte goes to one of them. */
CASE(zcopy_readers)
{
	enum { READERS = 3, LEN = 1200000 };
	struct task t[READERS], s = { .run = task_send, .len = LEN };
	long long sum = 0, want = 0, i, k;
	struct pair p;

	pair_open(&p);
	for (i = 0; i < READERS; i++) {
		t[i] = (struct task) { .run = task_recv, .fd = p.s,
				       .buf = memory(LEN / READERS, 0),
				       .len = LEN / READERS,
				       .flags = MSG_WAITALL };
		task_start(&t[i]);
	}
	s.fd = p.c;
	s.buf = pattern(LEN, 0);
	for (k = 0; k < LEN; k++)
		want += ((unsigned char *)s.buf)[k];
	task_start(&s);
	for (i = 0; i < READERS; i++) {
		EQ(LEN / READERS, task_join(&t[i]));
		for (k = 0; k < LEN / READERS; k++)
			sum += ((unsigned char *)t[i].buf)[k];
	}
	EQ(want, sum);
	EQ(LEN, task_join(&s));
}

/* Memory that cannot be read, or written, where it matters. */
/*
 * A child is made while memory is lent: what the parent does with his memory is
 * his own, on either side.
 */
CASE(zcopy_fork)
{
	struct task t = { .run = task_send, .len = LONG };
	struct task r = { .run = task_recv, .len = LONG, .flags = MSG_WAITALL };
	struct pair p;
	sigset_t ends;
	pid_t pid;
	int i;

	pair_open(&p);
	learn_to_ask(&p);
	/*
	 * A child that ends while its parent's thread is still in fork(), where
	 * libc blocks all signals, has SIGCHLD delivered to another thread, and
	 * its call returns with what it has done so far.
	 */
	sigemptyset(&ends);
	sigaddset(&ends, SIGCHLD);
	EQ(0, pthread_sigmask(SIG_BLOCK, &ends, NULL));
	for (i = 0; i < 3; i++) {
		t.fd = p.c;
		t.buf = pattern(LONG, 0);
		r.fd = p.s;
		r.buf = memory(LONG, 0);
		memset(r.buf, 1, LONG);
		task_start(i ? &t : &r);
		pid = OK(fork());
		if (!pid) {
			memset(t.buf, 2, LONG);
			memset(r.buf, 2, LONG);
			_exit(0);
		}
		memset((char *)r.buf + LONG - 1, 3, 1);
		task_start(i ? &r : &t);
		CHILD_OK(pid);
		EQ(LONG, task_join(&r));
		EQ(-1, pattern_check(r.buf, LONG, 1, 0));
		EQ(LONG, task_join(&t));
	}
}

/* An urgent byte behind a long send, and a long one behind that. */
CASE(zcopy_urgent)
{
	struct task t = { .run = task_send, .len = 200000 };
	struct pair p;
	char byte;

	pair_open(&p);
	t.fd = p.c;
	t.buf = pattern(t.len, 0);
	task_start(&t);
	recv_pattern(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
	EQ(1, send(p.c, "!", 1, MSG_OOB));
	await(p.s, POLLPRI);
	task_start(&t);
	EQ(1, recv(p.s, &byte, 1, MSG_OOB));
	EQ('!', byte);
	recv_pattern(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
}

/*
 * Both ways at once, by two threads at each end: lengths by chance from 1 to
 * 600,000, calls that wait and that do not, signals into them, thresholds that
 * change, and offers that are taken back as soon as nobody reads.
 */
struct blower {
	pthread_t thread;
	int fd;
	unsigned int seed;
	unsigned long long key, pos;
	atomic_bool stop;
};

enum { GUST = 600000 };

static int is_passing(int err)
{
	return err == EINTR || err == EAGAIN;
}

static void *blow(void *arg)
{
	static const int kinds[] = { 0, 0, 0, MSG_DONTWAIT, MSG_MORE };
	struct blower *b = arg;
	char *buf = memory(GUST, 0);

	while (!b->stop) {
		size_t off = rand_r(&b->seed) % 5000;
		size_t len = 1 + rand_r(&b->seed) %
			     (rand_r(&b->seed) % 4 ? GUST - off : 3000);
		int flags = kinds[rand_r(&b->seed) % ARRAY_SIZE(kinds)];
		ssize_t n;

		if (len > GUST - off)
			len = GUST - off;
		pattern_fill(buf + off, len, b->key, b->pos);
		n = send(b->fd, buf + off, len, flags | MSG_NOSIGNAL);
		/* It is ours again: nobody may read it later than now. */
		memset(buf + off, 0xee, len);
		if (n < 0)
			CHECK(is_passing(errno));
		else
			b->pos += n;
	}
	OK(shutdown(b->fd, SHUT_WR));
	return NULL;
}

static void *be_blown(void *arg)
{
	static const int kinds[] = {
		0, 0, MSG_WAITALL, MSG_WAITALL, MSG_DONTWAIT, MSG_PEEK,
	};
	struct blower *b = arg;
	char *buf = memory(GUST, 0);

	for (;;) {
		size_t off = rand_r(&b->seed) % 5000;
		size_t len = 1 + rand_r(&b->seed) %
			     (rand_r(&b->seed) % 4 ? GUST - off : 3000);
		int flags = kinds[rand_r(&b->seed) % ARRAY_SIZE(kinds)];
		ssize_t n;

		if (len > GUST - off)
			len = GUST - off;
		n = recv(b->fd, buf + off, len, flags);
		if (n < 0) {
			CHECK(is_passing(errno));
			continue;
		}
		if (!n)
			return NULL;
		EQ(-1, pattern_check(buf + off, n, b->key, b->pos));
		if (flags != MSG_PEEK)
			b->pos += n;
		if (rand_r(&b->seed) % 64 == 0)
			usleep(rand_r(&b->seed) % 20000);
	}
}

CASE_LIMIT(zcopy_storm, ~0u, 60)
{
	static const int thresholds[] = { 0, 1, 5000, 65536, -1 };
	static const int waits[] = { 1, 5, 250 };
	unsigned int seed = ktap_now();
	struct blower b[4] = {};
	long long end;
	struct pair p;
	int i;

	ktap_note("seed %u", seed);
	catch(0);
	sysctl("zcopy_adapt", 1);
	pair_open(&p);
	for (i = 0; i < 4; i++) {
		b[i].fd = i % 2 ? p.c : p.s;
		b[i].seed = seed + i;
		b[i].key = i == 0 || i == 3 ? 1 : 2;
	}
	EQ(0, pthread_create(&b[0].thread, NULL, blow, &b[0]));
	EQ(0, pthread_create(&b[1].thread, NULL, blow, &b[1]));
	EQ(0, pthread_create(&b[2].thread, NULL, be_blown, &b[2]));
	EQ(0, pthread_create(&b[3].thread, NULL, be_blown, &b[3]));
	end = ktap_now() + ktap_ms(1500);
	while (ktap_now() < end) {
		usleep(rand_r(&seed) % 5000);
		i = rand_r(&seed) % 8;
		if (i < 4)
			pthread_kill(b[i].thread, SIGUSR1);
		else if (i < 6 && on_sdp())
			OK(set_int(i == 4 ? p.c : p.s, SOL_SDP, SDP_ZCOPY,
				   thresholds[rand_r(&seed) %
					      ARRAY_SIZE(thresholds)]));
		else if (i == 6)
			sysctl("zcopy_wait",
			       waits[rand_r(&seed) % ARRAY_SIZE(waits)]);
	}
	for (i = 0; i < 2; i++)
		b[i].stop = true;
	for (i = 0; i < 4; i++)
		EQ(0, pthread_join(b[i].thread, NULL));
	EQ(b[0].pos, b[3].pos);
	EQ(b[1].pos, b[2].pos);
	ktap_note("%llu and %llu bytes", b[0].pos, b[1].pos);
}

/* Nothing is pinned, and nothing is out, when it is over. */
CASE_ON(zcopy_thresholds, ON_SDP)
{
	unsigned long long lent = counter("bytes_lent");
	struct pair p;

	sysctl("zcopy_wait", 60000);
	pair_open(&p);
	sysctl("zcopy_thresh", 0);
	send_and_recv(&p, LONG, 0, 0, 0);
	EQ(lent, counter("bytes_lent"));
	sysctl("zcopy_thresh", LONG);
	send_and_recv(&p, LONG - 1, 0, 0, 0);
	EQ(lent, counter("bytes_lent"));
	send_and_recv(&p, LONG, 0, 0, 0);
	EQ(lent + LONG, counter("bytes_lent"));
	/* No memory may be pinned: it is copied, and nothing is lost. */
	sysctl("zcopy_pinned", 0);
	send_and_recv(&p, 3 * LONG, 0, 0, 0);
	EQ(lent + LONG, counter("bytes_lent"));
	/* There is room for a piece on either side. */
	sysctl("zcopy_pinned", 512);
	send_and_recv(&p, LONG, 0, 0, 0);
	IN_RANGE(lent + LONG + LONG / 4, lent + 2 * LONG, counter("bytes_lent"));
}

/* By what sends have cost: each way is tried at first, and now and then later. */
CASE_ON(zcopy_adapts, ON_SDP)
{
	enum { LEN = 3 * 4096, FIRST = 5, TRY = 128, TRIES = 3 };
	unsigned long long lent = counter("bytes_lent");
	struct pair p;
	int i;

	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	sysctl("zcopy_thresh", 4097);
	sysctl("zcopy_adapt", 1);
	pair_open(&p);
	for (i = 0; i < 2 * FIRST; i++)
		send_and_recv(&p, LEN, 0, 0, MSG_WAITALL);
	EQ(lent + FIRST * LEN, counter("bytes_lent"));
	lent = counter("bytes_lent");
	for (i = 0; i < TRY + TRIES; i++)
		send_and_recv(&p, LEN, 0, 0, MSG_WAITALL);
	IN_RANGE(TRIES * LEN, TRY * LEN, counter("bytes_lent") - lent);
	/* Of what is not measured nothing is tried. */
	sysctl("zcopy_adapt", 0);
	lent = counter("bytes_lent");
	for (i = 0; i < 2 * FIRST; i++)
		send_and_recv(&p, LEN, 0, 0, MSG_WAITALL);
	EQ(lent + 2 * FIRST * LEN, counter("bytes_lent"));
}

/* Only this reason was counted since the last time, so often; NULL: none. */
static int because_(const char *why, unsigned long long n)
{
	static const char *const all[] = {
		"copied_cost", "copied_habit", "copied_busy", "copied_limit",
		"copied_memory", "copied_pages", "copied_refused", "copied_late",
	};
	static unsigned long long before[ARRAY_SIZE(all)];
	unsigned long long now;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(all); i++) {
		now = counter(all[i]);
		if (!why)
			before[i] = now;
		if (why && !strcmp(why, all[i]))
			EQ(n, now - before[i]);
		else if (now != before[i])
			FAIL("%s by %llu", all[i], now - before[i]);
		before[i] = now;
	}
	return 0;
}

#define because(...)	CALL(because_(__VA_ARGS__))

/* Whatever is copied and might have been lent has its reason on record. */
CASE_ON(zcopy_copied_why, ON_SDP)
{
	unsigned long long late, lent;
	struct task t;
	struct pair p;
	char *at;
	int i;

	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	pair_open(&p);
	because(NULL, 0);
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_limit", 0);
	sysctl("zcopy_pinned", 0);
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_limit", 1);
	sysctl("zcopy_pinned", 4096);
	/* A page, and nothing behind it. */
	at = mmap(NULL, LONG, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	OK(munmap(at + 4096, LONG - 4096));
	lent = counter("bytes_lent");
	EQ(4096, send(p.c, at, LONG, 0));
	EQ(4096, recv(p.s, pattern(4096, 0), 4096, MSG_WAITALL));
	because("copied_pages", 1);
	EQ(lent, counter("bytes_lent"));
	OK(set_int(p.s, SOL_SDP, SDP_ZCOPY, 0));
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_refused", 1);
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_habit", 1);
	/* What the one way has learnt the other knows: three are copied now. */
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_refused", 1);
	OK(set_int(p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	t = (struct task) { .run = task_send, .fd = p.c, .buf = pattern(LONG, 0),
			    .len = LONG, .flags = MSG_ZEROCOPY };
	task_start(&t);
	EQ(LONG, recv(p.s, memory(LONG, 0), LONG, MSG_WAITALL));
	EQ(LONG, task_join(&t));
	because("copied_habit", 1);
	send_and_recv(&p, LONG, 0, 0, 0);
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_habit", 2);
	OK(set_int(p.s, SOL_SDP, SDP_ZCOPY, -1));
	/* Somebody waits for a reader. */
	t = (struct task) { .run = task_send, .len = 4 * LONG };
	t.buf = pattern(t.len, 0);
	task_blocks(&t, p.c);
	set_ms(p.c, SO_SNDTIMEO, 50);
	FAILS(EAGAIN, send(p.c, t.buf, LONG, 0));
	because("copied_busy", 1);
	EQ(t.len, recv(p.s, memory(t.len, 0), t.len, MSG_WAITALL));
	EQ(t.len, task_join(&t));
	set_ms(p.c, SO_SNDTIMEO, 0);
	/* What nobody comes for is copied, when there is room: once, so with time. */
	sysctl("zcopy_wait", ktap_ms(200));
	late = counter("copied_late");
	task_start(&t);
	for (i = 0; i < 10000 && counter("copied_late") == late; i++)
		usleep(1000);
	because("copied_late", 1);
	EQ(t.len, recv(p.s, memory(t.len, 0), t.len, MSG_WAITALL));
	EQ(t.len, task_join(&t));
	sysctl("zcopy_wait", 60000);
	send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_habit", 1);
	sysctl("zcopy_adapt", 1);
	for (i = 0; i < 6; i++)
		send_and_recv(&p, LONG, 0, 0, 0);
	because("copied_cost", 1);
}

/* The socket's own word, by both names. */
CASE_ON(zcopy_option, ON_SDP)
{
	unsigned long long lent = counter("bytes_lent");
	unsigned long long refused = counter("offers_refused");
	struct pair p;
	int fd;

	sysctl("zcopy_wait", 60000);
	fd = sock();
	EQ(-1, get_int(fd, SOL_SDP, SDP_ZCOPY));
	FAILS(EINVAL, set_int(fd, SOL_SDP, SDP_ZCOPY, -2));
	OK(set_int(fd, SOL_TCP, SDP_ZCOPY_THRESH, 12345));
	EQ(12345, get_int(fd, SOL_SDP, SDP_ZCOPY));
	EQ(12345, get_int(fd, SOL_TCP, SDP_ZCOPY_THRESH));

	pair_start(&p);
	OK(set_int(p.l, SOL_SDP, SDP_ZCOPY, 0));
	pair_finish(&p);
	EQ(0, get_int(p.s, SOL_SDP, SDP_ZCOPY));
	/* What is offered to it is refused, and comes by copy. */
	send_and_recv(&p, LONG, 0, 0, 0);
	EQ(refused + 1, counter("offers_refused"));
	EQ(lent + 64, counter("bytes_lent"));
	/* Nor does it offer. */
	send_and_recv(&(struct pair) { .c = p.s, .s = p.c }, LONG, 0, 0, 0);
	EQ(lent + 64, counter("bytes_lent"));
	OK(set_int(p.s, SOL_SDP, SDP_ZCOPY, LONG));
	send_and_recv(&(struct pair) { .c = p.s, .s = p.c }, LONG, 0, 0, 0);
	EQ(lent + 64 + LONG, counter("bytes_lent"));
}
