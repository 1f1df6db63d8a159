// SPDX-License-Identifier: GPL-2.0
/* Memory: rings that shrink again, limits of all, and who is charged for it. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <linux/userfaultfd.h>

#include "lib/trace.h"
#include "lib/variant.h"

enum {
	IDLE	= 24 * 1024,		/* an idle connection's, at the most */
	STREAM	= 1 << 20,
};

static unsigned long long mem_of(int fd)
{
	struct sdp_info info;

	return sdp_info(fd, &info) < 0 ? 0 : info.sdpi_mem;
}

/* From one end to the other, faster than it is read: rings grow. */
static int stream_(int from, int to, unsigned long long pos)
{
	struct task t = { .run = task_send_all, .fd = from, .len = STREAM };

	(void)pos;
	/* By copy: what is not copied takes no room in a ring. */
	sysctl("zcopy_thresh", 0);
	task_start(&t);
	recv_pattern(to, STREAM, 1, 0);
	EQ(STREAM, task_join(&t));
	EVENTUALLY(0, outq(from));
	return 0;
}

#define stream(from, to)	CALL(stream_(from, to, 0))

/* Back at what a fresh connection has. */
static int shrunk_(int fd)
{
	long long end = ktap_now() + ktap_ms(10000);
	struct sdp_info i;

	for (;;) {
		OK(sdp_info(fd, &i));
		if (i.sdpi_mem <= IDLE)
			return 0;
		if (ktap_now() > end)
			FAIL("%llu bytes held after 10 s: %u of %u posted, %u out, %u to read",
			     i.sdpi_mem, i.sdpi_posted, i.sdpi_rcv_size,
			     i.sdpi_outq, i.sdpi_inq);
		usleep(1000);
	}
}

#define shrunk(fd)	CALL(shrunk_(fd))

/*
 * Both rings grow, and are back at what a fresh connection has when nothing
 * was said for a while, while somebody waits for it, and again.
 */
CASE_ON(memory_shrinks, ON_SDP)
{
	char text[8];
	struct pair p;
	int i;

	sysctl("shrink_after", ktap_ms(500));
	pair_open(&p);
	for (i = 0; i < 2; i++) {
		struct task t = { .run = task_recv, .fd = p.s, .buf = text, .len = 5 };

		stream(p.c, p.s);
		CHECK(mem_of(p.s) > 2 * IDLE);
		stream(p.s, p.c);
		CHECK(mem_of(p.c) > 2 * IDLE);
		task_start(&t);
		shrunk(p.s);
		shrunk(p.c);
		send_text(p.c, "still");
		EQ(5, task_join(&t));
		EQ(0, memcmp(text, "still", 5));
	}
}

/* It is asked once and not again: an idle connection has nothing to do. */
CASE_ON(memory_shrinks_once, ON_SDP)
{
	unsigned long long asked = counter("shrinks");
	long long said;
	struct pair p;

	sysctl("shrink_after", 200);
	pair_open(&p);
	stream(p.c, p.s);
	shrunk(p.s);
	/* More than once if the sender was kept from sending for so long. */
	CHECK(counter("shrinks") > asked);
	asked = counter("shrinks");
	/* What was used up is told, and that too; then it is still. */
	do {
		said = messages_sent(p.c) + messages_sent(p.s);
		sleep_ms(500);
	} while (said != messages_sent(p.c) + messages_sent(p.s));
	sleep_ms(500);
	EQ(said, messages_sent(p.c) + messages_sent(p.s));
	EQ(asked, counter("shrinks"));
}

/* Those that are large from the beginning stay so, and are fewer. */
CASE_ON(memory_shrinks_large, ON_SDP)
{
	struct sdp_info info;
	struct pair p;

	sysctl("rcvbuf_start", 16384);
	sysctl("shrink_after", ktap_ms(300));
	pair_open(&p);
	stream(p.c, p.s);
	OK(sdp_info(p.s, &info));
	CHECK(info.sdpi_posted > 4);
	EVENTUALLY(4, (sdp_info(p.s, &info), info.sdpi_posted));
	sleep_ms(ktap_ms(900));
	OK(sdp_info(p.s, &info));
	EQ(4, info.sdpi_posted);
}

/* Senders who find the ring small, or shrinking, lose nothing. */
CASE_ON(memory_shrinks_meanwhile, ON_SDP)
{
	struct pair p;
	int i, pos = 0;

	sysctl("shrink_after", 1);
	pair_open(&p);
	for (i = 0; i < 60; i++) {
		int len = 1 + i * 7919 % 60000;

		struct task t = { .run = task_send_all, .fd = p.c, .len = len };

		task_start(&t);
		recv_pattern(p.s, len, 1, 0);
		EQ(len, task_join(&t));
		send_pattern(p.s, 1000, 2, pos);
		recv_pattern(p.c, 1000, 2, pos);
		pos += 1000;
		sleep_ms(i % 7);
	}
}

/* How often work of ours has run since the trace was emptied. */
static int works(void)
{
	return trace_lines("workqueue_execute_start: ", " function sdp_");
}

/* Timers of connections: each is in the object that has their work. */
static int armed(void)
{
	return trace_armed(" function sdp_rx_work", 3072);
}

static void trace_idle(bool on)
{
	trace_switch("timer/timer_start", on);
	trace_switch("timer/timer_cancel", on);
	trace_switch("timer/timer_expire_entry", on);
	trace_switch("workqueue/workqueue_execute_start", on);
	trace_pointers(on);
}

/*
 * Who is idle costs no processor time: all that runs without a call, and without
 * a message, is work, of timers or of others.  No timer of a connection is left when
 * what was used is shrunk; and no work runs when that has been trimmed.
 */
CASE_LIMIT(idle_runs_nothing, ON_SDP, 120)
{
	struct pair p;
	int n;

	sysctl("shrink_after", ktap_ms(300));
	trace_empty();
	trace_idle(true);
	pair_open(&p);
	stream(p.c, p.s);
	/* Both ends'. */
	CHECK(armed() > 0);
	EVENTUALLY(0, armed());
	do {
		n = works();
		sleep_ms(ktap_ms(2000));
	} while (works() != n);
	EQ(0, armed());
	CHECK(n > 0);
	trace_idle(false);
	send_text(p.c, "still there");
	recv_text(p.s, "still there");
}

/* What is unread counts, but the peer cannot send into it. */
CASE(memory_shrinks_unread)
{
	unsigned long long asked;
	struct sdp_info info;
	long long said;
	struct pair p;

	sysctl("shrink_after", ktap_ms(300));
	pair_open(&p);
	stream(p.c, p.s);
	/* TCP's may not have grown enough, and whose window is full is readable. */
	OK(set_int(p.s, SOL_SOCKET, SO_RCVBUF, 212992));
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 150100));
	send_pattern(p.c, 150000, 5, 0);
	arrived(p.s, 150000);
	if (on_sdp()) {
		OK(sdp_info(p.s, &info));
		CHECK(info.sdpi_rcv_size > 4096);
		EVENTUALLY(true, (sdp_info(p.s, &info),
				  info.sdpi_rcv_size < 4096));
		asked = counter("shrinks");
		do {
			said = messages_sent(p.c) + messages_sent(p.s);
			sleep_ms(ktap_ms(900));
		} while (said != messages_sent(p.c) + messages_sent(p.s));
		/* Asked once: it does not grow again by being used up. */
		EQ(asked, counter("shrinks"));
		OK(sdp_info(p.s, &info));
		EQ(4, info.sdpi_posted);
	}
	EQ_HEX(0, poll_one(p.s, POLLIN, 0));
	send_pattern(p.c, 100, 5, 150000);
	await(p.s, POLLIN);
	recv_pattern(p.s, 150100, 5, 0);
}

/*
 * A sender who is kept in the middle of copying has been told how long his
 * message may be: the peer is not asked for less meanwhile.
 */
CASE_ON(memory_shrinks_not_for_a_sender, ON_SDP)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_copy copy = {};
	unsigned long long asked;
	size_t len = 64 * 1024;
	struct task t = { .run = task_send };
	char *there, *page;
	struct pair p;
	int fd, i;

	sysctl("shrink_after", ktap_ms(300));
	pair_open(&p);
	stream(p.c, p.s);
	there = mmap(NULL, len, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page = malloc(len);
	CHECK(there != MAP_FAILED && page);
	pattern_fill(page, len, 1, 0);
	fd = OK(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
	OK(ioctl(fd, UFFDIO_API, &api));
	reg.range.start = (unsigned long)there;
	reg.range.len = len;
	OK(ioctl(fd, UFFDIO_REGISTER, &reg));
	t.fd = p.c;
	t.buf = there;
	t.len = len;
	task_start(&t);
	await(fd, POLLIN);
	asked = counter("shrinks");
	/* The other end is not idle: it has no reason to ask this one. */
	for (i = 0; i < 18; i++) {
		send_text(p.s, "x");
		sleep_ms(ktap_ms(50));
	}
	EQ(asked, counter("shrinks"));
	copy.dst = reg.range.start;
	copy.src = (unsigned long)page;
	copy.len = len;
	OK(ioctl(fd, UFFDIO_COPY, &copy));
	recv_pattern(p.s, len, 1, 0);
	EQ(len, task_join(&t));
	shrunk(p.s);
	CHECK(counter("shrinks") > asked);
}

CASE_ON(memory_kept, ON_SDP)
{
	unsigned long long asked = counter("shrinks");
	struct pair p;

	sysctl("shrink_after", 0);
	pair_open(&p);
	stream(p.c, p.s);
	sleep_ms(300);
	CHECK(mem_of(p.s) > 2 * IDLE);
	EQ(asked, counter("shrinks"));
}

/* Under pressure nobody grows, and all goes on. */
CASE_ON(memory_pressure, ON_SDP)
{
	struct pair p, other;

	/* So that it is seen by all processors. */
	pair_open(&other);
	fill(other.c, 1);
	sysctl("mem_pressure", 0);
	pair_open(&p);
	stream(p.c, p.s);
	CHECK(mem_of(p.s) <= IDLE);
	stream(p.s, p.c);
	CHECK(mem_of(p.c) <= IDLE);
}

/* Less is there than is waited for, and told of; and so when that changes. */
CASE_ON(memory_pressure_rcvlowat, ON_SDP)
{
	struct task t = { .run = task_send_all, .len = 300000 };
	struct pair p, other;
	char buf[5];

	pair_open(&other);
	fill(other.c, 1);
	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	sysctl("mem_pressure", 0);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 250000));
	t.fd = p.c;
	task_start(&t);
	await(p.s, POLLIN);
	CHECK(inq(p.s) < 240000);
	EQ(5, recv(p.s, buf, sizeof(buf), 0));
	EQ(-1, pattern_check(buf, sizeof(buf), 1, 0));
	await(p.s, POLLIN);
	OK(set_int(p.s, SOL_SOCKET, SO_RCVLOWAT, 240000));
	await(p.s, POLLIN);
	CHECK(inq(p.s) < 240000);
	recv_pattern(p.s, t.len - 5, 1, 5);
	EQ(t.len, task_join(&t));
}

/*
 * Above the limit what is open gives back and goes on; what is new is refused,
 * or goes by TCP.
 */
CASE_ON(memory_limit, ON_SDP)
{
	unsigned long long limited = counter("fallback_limit");
	struct pair p, other;
	union addr a;
	int c, l;

	pair_open(&p);
	stream(p.c, p.s);
	CHECK(mem_of(p.s) > 2 * IDLE);
	pair_open(&other);
	fill(other.c, 1);
	sysctl("mem_max", 0);
	stream(p.c, p.s);
	CHECK(mem_of(p.s) <= 4 * 16 * 1024 + IDLE);
	stream(p.s, p.c);
	CHECK(mem_of(p.c) <= IDLE);
	fill(p.c, 1);
	CHECK(outq(p.c) <= 4096 + 64);
	l = listener(&a, 4);
	c = sock();
	if (variant->via == VIA_ULP) {
		OK(connect_to(c, &a));
		EQ(-1, transport(c));
		EQ(limited + 1, counter("fallback_limit"));
	} else {
		FAILS(ENOMEM, connect_to(c, &a));
	}
	sysctl("mem_max", 1 << 20);
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(c);
	close(l);
}

/* Who peeks at much takes nothing: he goes on when there is memory again. */
CASE_ON(memory_pressure_peek, ON_SDP)
{
	struct task t = { .run = task_send_all, .len = 65536 };
	static char buf[60000];
	struct task peek = {
		.run = task_recv, .buf = buf, .len = sizeof(buf),
		.flags = MSG_PEEK | MSG_WAITALL,
	};
	struct pair p, other;
	long long n;
	int i;

	pair_open(&other);
	fill(other.c, 1);
	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	sysctl("mem_pressure", 0);
	peek.fd = p.s;
	task_start(&peek);
	t.fd = p.c;
	task_start(&t);
	await(p.s, POLLIN);
	sleep_ms(ktap_ms(500));
	CHECK(!peek.done && inq(p.s) < (int)sizeof(buf));
	/* A signal: so much as there is, and it is there still. */
	catch(SA_RESTART);
	pthread_kill(peek.thread, SIGUSR1);
	n = task_join(&peek);
	IN_RANGE(1, sizeof(buf) - 1, n);
	EQ(-1, pattern_check(buf, n, 1, 0));
	task_start(&peek);
	CHECK(!peek.done && inq(p.s) >= n);
	sysctl("mem_pressure", 1 << 20);
	for (i = 0; i < 30 && !peek.done; i++)
		sleep_ms(ktap_ms(100));
	CHECK(peek.done);
	EQ(sizeof(buf), task_join(&peek));
	EQ(-1, pattern_check(buf, sizeof(buf), 1, 0));
	recv_pattern(p.s, t.len, 1, 0);
	EQ(t.len, task_join(&t));
}

/*
 * What nobody reads is bounded by the buffers as they were set, each of which is
 * twice as large; and so is what it takes, beside what an idle connection has.
 * (TCP looks before it takes a packet, which may be of 64 KiB.)
 */
CASE(memory_within_buffers)
{
	static const int sizes[] = { 16384, 65536, 262144 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		long long there, back;
		int size = sizes[i], most = 4 * size + (on_sdp() ? 0 : 65536);
		struct pair p;

		pair_start(&p);
		OK(set_bufs(p.l, size));
		OK(set_bufs(p.c, size));
		pair_finish(&p);
		there = fill(p.c, 1);
		back = fill(p.s, 1);
		IN_RANGE(size, most, there);
		IN_RANGE(size, most, back);
		CHECK(mem_of(p.c) <= 4U * size + IDLE);
		CHECK(mem_of(p.s) <= 4U * size + IDLE);
		nonblock(p.c, false);
		nonblock(p.s, false);
		OK(shutdown(p.c, SHUT_WR));
		EQ(there, drain(p.s, 1, 0));
		OK(shutdown(p.s, SHUT_WR));
		EQ(back, drain(p.c, 1, 0));
		close(p.c);
		close(p.s);
		close(p.l);
	}
}

/* Both buffers of both ends.  Nothing of ours hears of it: the next call does. */
static void set_buffers(const struct pair *p, int size)
{
	int fds[] = { p->c, p->s }, i;
	char c;

	for (i = 0; i < 2; i++) {
		OK(set_int(fds[i], SOL_SOCKET, SO_RCVBUF, size));
		OK(set_int(fds[i], SOL_SOCKET, SO_SNDBUF, size));
		if (recv(fds[i], &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0)
			EQ(EAGAIN, errno);
	}
}

/*
 * The same of a connection that is open: of what is queued from then on, be it less or
 * more than before.  (TCP takes back nothing of a window that it has shown, which is
 * 64 KiB at first.  SDP has four buffers at the least, however large they are by then.)
 */
CASE(memory_within_buffers_set_late)
{
	enum { SMALL = 16384, LARGE = 262144, BESIDE = 65536 };
	int beside = on_sdp() ? 0 : BESIDE, i;
	long long first[2], more[2], last;
	struct pair p;

	pair_open(&p);
	set_buffers(&p, SMALL);
	for (i = 0; i < 2; i++) {
		first[i] = fill(i ? p.s : p.c, 1);
		IN_RANGE(SMALL, 4 * SMALL + beside, first[i]);
	}
	CHECK(mem_of(p.c) <= 4U * SMALL + IDLE);
	CHECK(mem_of(p.s) <= 4U * SMALL + IDLE);
	set_buffers(&p, LARGE);
	for (i = 0; i < 2; i++) {
		more[i] = fill(i ? p.s : p.c, 2);
		IN_RANGE(LARGE - first[i], 4 * LARGE + beside - first[i], more[i]);
	}
	CHECK(mem_of(p.c) <= 4U * LARGE + IDLE);
	CHECK(mem_of(p.s) <= 4U * LARGE + IDLE);
	/*
	 * What is there stays; and when it was read there is less room.  TCP of Linux
	 * 7.2 stands still there for longer than a case may take, that of 6.1 and 6.12
	 * does not.
	 */
	if (!on_sdp())
		return;
	set_buffers(&p, SMALL);
	nonblock(p.c, false);
	nonblock(p.s, false);
	for (i = 0; i < 2; i++) {
		recv_pattern(i ? p.c : p.s, first[i], 1, 0);
		recv_pattern(i ? p.c : p.s, more[i], 2, 0);
	}
	for (i = 0; i < 2; i++) {
		last = fill(i ? p.s : p.c, 3);
		IN_RANGE(SMALL, 2 * SMALL + BESIDE, last);
		nonblock(p.c, false);
		nonblock(p.s, false);
		recv_pattern(i ? p.c : p.s, last, 3, 0);
	}
}

/* The number that the kernel tells of a cache of ours. */
static long long in_slab(const char *cache, const char *file)
{
	char path[64], line[32];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/slab/sdp_%s/%s", cache, file);
	f = fopen(path, "re");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	return atoll(line);
}

/* What the kernel has of objects of ours, in bytes. */
static long long objects(void)
{
	static const char *const caches[] = { "conn", "buf", "msg", "umr" };
	long long sum = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(caches); i++)
		sum += in_slab(caches[i], "objects") * in_slab(caches[i], "slab_size");
	return sum;
}

/* By what the kernel has less, not by each connection's own account. */
CASE_ON(memory_idle_really, ON_SDP)
{
	enum { CONNS = 200 };
	long long before;
	union addr a;
	int i, l;

	EVENTUALLY(0, counter("conns"));
	l = listener(&a, CONNS);
	before = objects() + counter("mem_kib") * 1024;
	for (i = 0; i < CONNS; i++) {
		OK(connect_to(sock(), &a));
		accept_one(l);
	}
	IN_RANGE(CONNS * 2 * 4 * 4096, CONNS * 2 * IDLE,
		 objects() + counter("mem_kib") * 1024 - before);
}

/* The buffers of all are counted, and given back. */
CASE_ON(memory_counted, ON_SDP)
{
	unsigned long long before, held;
	struct pair p;

	/* Those of the cases before have gone. */
	EVENTUALLY(0, counter("conns"));
	before = counter("mem_kib");
	pair_open(&p);
	held = fill(p.c, 1) / 1024;
	CHECK(held > 100);
	EVENTUALLY(true, counter("mem_kib") >= before + held);
	EQ(held * 1024, recv(p.s, malloc(held * 1024), held * 1024, MSG_WAITALL));
	close(p.c);
	close(p.s);
	EVENTUALLY(true, counter("mem_kib") <= before);
}

/* ------------------------------------------------------------ before accept() */

/* Bytes that somebody who waits could send, in one call. */
static long long send_waiting(int fd)
{
	struct task t = { .run = task_send, .fd = fd, .len = 4 << 20 };
	long long n;

	t.buf = calloc(1, t.len);
	OK(set_ms(fd, SO_SNDTIMEO, ktap_ms(700)));
	task_start(&t);
	n = task_join(&t);
	if (n < 0)
		EQ(EAGAIN, t.err);
	return n < 0 ? 0 : n;
}

/*
 * What nobody has accepted is bounded by the listener's SO_RCVBUF, which is twice as
 * large as it was set, be it copied or offered; and behind accept() all of it is there,
 * and all goes on.  (TCP looks before it takes a packet, which may be of 64 KiB.)
 */
CASE(memory_before_accept)
{
	static const int sizes[] = { 16384, 65536 };
	unsigned int i, offered;

	for (i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		int size = sizes[i / 2], beside = on_sdp() ? 0 : 65536;
		long long before = on_sdp() ? counter("mem_kib") * 1024 : 0;
		long long there, held;
		struct pair p = { };

		offered = i % 2;
		pair_start(&p);
		OK(set_int(p.l, SOL_SOCKET, SO_RCVBUF, size));
		OK(set_int(p.c, SOL_SOCKET, SO_SNDBUF, size));
		OK(connect_to(p.c, &p.addr));
		there = offered ? send_waiting(p.c) : fill(p.c, 1);
		IN_RANGE(size, 4 * size + beside, there);
		if (on_sdp()) {
			held = counter("mem_kib") * 1024 - before;
			CHECK(held <= 2 * size + (long long)mem_of(p.c));
		}
		p.s = accept_one(p.l);
		nonblock(p.c, false);
		OK(shutdown(p.c, SHUT_WR));
		if (offered)
			EQ(there, recv(p.s, malloc(there), there, MSG_WAITALL));
		else
			recv_pattern(p.s, there, 1, 0);
		expect_eof(p.s);
		close(p.c);
		close(p.s);
		close(p.l);
		if (on_sdp())
			EVENTUALLY(0, counter("conns"));
	}
}

/* When memory is short for all, it is the four small buffers, whoever sends how. */
CASE_ON(memory_pressure_before_accept, ON_SDP)
{
	long long before, held;
	struct pair p, other;

	pair_open(&other);
	fill(other.c, 1);
	before = counter("mem_kib") * 1024 - (long long)mem_of(other.c);
	pair_start(&p);
	sysctl("mem_pressure", 0);
	OK(connect_to(p.c, &p.addr));
	CHECK(send_waiting(p.c) > 0);
	held = counter("mem_kib") * 1024 - (long long)mem_of(other.c) - before;
	CHECK(held <= IDLE + (long long)mem_of(p.c));
	sysctl("mem_pressure", 1 << 20);
	p.s = accept_one(p.l);
	nonblock(p.c, false);
	send_text(p.s, "there");
	recv_text(p.c, "there");
}

/* Whose data waits to be accepted: larger buffers, and more of them, are had then. */
CASE_ON(memory_grows_after_accept, ON_SDP)
{
	struct pair p = { };
	long long there;

	pair_start(&p);
	sysctl("zcopy_thresh", 0);
	OK(connect_to(p.c, &p.addr));
	there = fill(p.c, 1);
	nonblock(p.c, false);
	p.s = accept_one(p.l);
	recv_pattern(p.s, there, 1, 0);
	stream(p.c, p.s);
	CHECK(mem_of(p.s) > 4 * 16384 + IDLE);
}

/* ------------------------------------------------------------ memory cgroup */

static char root[] = "/tmp/cgroup.XXXXXX", group[64];

static void put(const char *dir, const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, file);
	fd = OK(open(path, O_WRONLY));
	EQ(strlen(text), write(fd, text, strlen(text)));
	close(fd);
}

/* The number in a file of the group's, behind @word if that is not NULL; or -1. */
static long long charged_to(const char *file, const char *word)
{
	char path[128], text[8192] = "", *at = text;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return -1;
	close(fd);
	if (word)
		at = strstr(text, word);
	return at ? atoll(at + (word ? strlen(word) : 0)) : -1;
}

static long long charged(void)
{
	return charged_to("memory.current", NULL);
}

/* A memory cgroup of the case's own. */
static void group_make(void)
{
	OK(unshare(CLONE_NEWNS));
	OK(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK(mkdtemp(root));
	OK(mount("cgroup2", root, "cgroup2", 0, NULL));
	put(root, "cgroup.subtree_control", "+memory");
	snprintf(group, sizeof(group), "%s/sdp%d", root, getpid());
	OK(mkdir(group, 0700));
}

static void group_enter(pid_t pid)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", pid);
	put(group, "cgroup.procs", text);
}

static void group_remove(void)
{
	EVENTUALLY(0, rmdir(group));
	OK(umount(root));
	OK(rmdir(root));
}

/* A process in a memory cgroup, and a listener that was there before it. */
struct member {
	pid_t pid;
	int go, ready;		/* this side's ends: he is told to, he says so */
	int l;
	union addr addr;	/* of l */
};

/* As fork(): the child becomes the only one in a memory cgroup of the case's own. */
static pid_t member_fork(struct member *m, int backlog)
{
	int go[2], ready[2];

	group_make();
	OK(pipe(go));
	OK(pipe(ready));
	m->l = listener(&m->addr, backlog);
	m->pid = OK(fork());
	m->go = go[!!m->pid];
	m->ready = ready[!m->pid];
	if (m->pid)
		group_enter(m->pid);
	return m->pid;
}

/* He is killed, and the cgroup goes. */
static void member_end(const struct member *m)
{
	OK(kill(m->pid, SIGKILL));
	EQ(m->pid, waitpid(m->pid, NULL, 0));
	close(m->l);
	group_remove();
}

/* When he is told to, and says so; and reads nothing. */
static void accept_and_sleep(const struct member *m, int n)
{
	char byte;

	if (read(m->go, &byte, 1) != 1)
		_exit(1);
	while (n--)
		if (accept(m->l, NULL, NULL) < 0)
			_exit(1);
	if (write(m->ready, &byte, 1) == 1)
		pause();
	_exit(0);
}

/* Somebody in a memory cgroup does not read; @high: who has no more. */
static void charge_reader(const char *high)
{
	enum { CONNS = 32 };
	char byte = 0;
	int c[CONNS], i;
	long long before, told, sent = 0;
	struct member m;

	if (!member_fork(&m, CONNS))
		accept_and_sleep(&m, CONNS);
	EQ(1, write(m.go, &byte, 1));
	for (i = 0; i < CONNS; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &m.addr));
	}
	EQ(1, read(m.ready, &byte, 1));
	before = charged();
	CHECK(before >= 0);
	if (high)
		put(group, "memory.high", high);
	told = charged_to("memory.events", "high ");
	for (i = 0; i < CONNS; i++)
		sent += fill(c[i], 1);
	/* A part is still the sender's; processors keep some to themselves. */
	EVENTUALLY(true, charged() >= before + CONNS * 64 * 1024);
	/* A pipe has buffers of 32 KiB, the last is not full, and each has a head. */
	CHECK(sent + (on_join() ? sent / 32 : 0) >= charged() - before);
	/* What he cannot have yet is the sender's: nobody is filled up by others. */
	CHECK(charged() - before <= CONNS * 2 * get_int(m.l, SOL_SOCKET, SO_RCVBUF));
	if (high)
		EQ(told, charged_to("memory.events", "high "));
	member_end(&m);
	for (i = 0; i < CONNS; i++)
		close(c[i]);
}

/* What arrives for him, by whatever worker, is his; as with TCP. */
CASE(memory_cgroup)
{
	charge_reader(NULL);
}

/*
 * He is above memory.high, which has tasks reclaim and wait: nobody does that in his
 * place who works for others, too.  (TCP leaves it to a work of the cgroup's.)
 */
CASE_ON(memory_cgroup_high, ON_SDP)
{
	charge_reader("256K");
}

/* What has come before he accepts is his when he has, though he reads nothing. */
static void charged_at_accept(bool reset)
{
	enum { CONNS = 32, EACH = 48 * 1024 };
	int c, i;
	unsigned long long resets = counter("resets");
	long long before;
	struct linger off = { .l_onoff = 1 };
	char byte = 0;
	struct member m;

	if (!member_fork(&m, CONNS))
		accept_and_sleep(&m, CONNS);
	for (i = 0; i < CONNS; i++) {
		c = sock();
		OK(connect_to(c, &m.addr));
		CHECK(fill(c, 1) > EACH);
		if (reset) {
			OK(setsockopt(c, SOL_SOCKET, SO_LINGER, &off, sizeof(off)));
			close(c);
		}
	}
	if (reset)
		EVENTUALLY(true, counter("resets") >= resets + CONNS);
	before = charged();
	CHECK(before >= 0);
	EQ(1, write(m.go, &byte, 1));
	EQ(1, read(m.ready, &byte, 1));
	EVENTUALLY(true, charged() >= before + CONNS * EACH);
	member_end(&m);
}

CASE(memory_cgroup_before_accept)
{
	charged_at_accept(false);
}

/* There is no queue pair any more, and what has come is his all the same. */
CASE_ON(memory_cgroup_reset_before_accept, ON_SDP)
{
	charged_at_accept(true);
}

enum { SENDERS = 32, URGENT = 500 };

/* Connects, and says so; sends on all of them when he is told to, and says how much. */
static void write_much(const struct member *m, bool urgent)
{
	int c[SENDERS], i, n;
	long long sent = 0;
	char byte = 0;

	EQ(1, read(m->go, &byte, 1));
	for (i = 0; i < SENDERS; i++) {
		c[i] = sock();
		OK(connect_to(c[i], &m->addr));
	}
	EQ(sizeof(sent), write(m->ready, &sent, sizeof(sent)));
	EQ(1, read(m->go, &byte, 1));
	for (i = 0; i < SENDERS; i++) {
		if (!urgent)
			sent += fill(c[i], 1);
		/* Each is a message of its own. */
		for (n = 0; urgent && n < URGENT; n++)
			if (send(c[i], "x", 1, MSG_OOB | MSG_DONTWAIT) == 1)
				sent++;
	}
	EQ(sizeof(sent), write(m->ready, &sent, sizeof(sent)));
	pause();
}

/* Somebody in a memory cgroup sends to who does not read, and is in none. */
static void charge_sender(bool urgent)
{
	long long before, slab, sent;
	struct member m;

	if (!member_fork(&m, SENDERS)) {
		write_much(&m, urgent);
		_exit(0);
	}
	EQ(1, write(m.go, "", 1));
	EQ(sizeof(sent), read(m.ready, &sent, sizeof(sent)));
	before = charged();
	slab = charged_to("memory.stat", "\nslab ");
	EQ(1, write(m.go, "", 1));
	EQ(sizeof(sent), read(m.ready, &sent, sizeof(sent)));
	/* Processors keep some to themselves, and tell of it later. */
	if (urgent)
		EVENTUALLY(true, charged_to("memory.stat", "\nslab ") - slab >=
				 sent / 2 * in_slab("msg", "slab_size"));
	else
		EVENTUALLY(true, charged() >= before + SENDERS * 64 * 1024);
	member_end(&m);
}

/* The bytes that have not gone are the sender's, as with TCP. */
CASE(memory_cgroup_sender)
{
	charge_sender(false);
}

/* So is what describes each message, which is more than what is in it, if that is short. */
CASE_ON(memory_cgroup_sender_small, ON_SDP)
{
	charge_sender(true);
}

enum { WRITERS = 32, WRITTEN = 5 << 18 };

/* Reads nothing until he is told; then all of it. */
static void read_late(const struct member *m)
{
	int s[WRITERS], i;
	char byte;

	EQ(1, read(m->go, &byte, 1));
	for (i = 0; i < WRITERS; i++)
		/* Without memory for a pipe it is TCP's. */
		s[i] = on_join() ? accept_any(m->l) : accept_one(m->l);
	EQ(1, read(m->go, &byte, 1));
	for (i = 0; i < WRITERS; i++)
		EQ(WRITTEN, drain(s[i], 1, 0));
}

/*
 * He who does not read may have far less memory than is sent to him: he gets less
 * of it, and nobody is killed for that; then all of it, as he reads.  (Who writes
 * more than he may have is killed, with TCP too: he has asked for it.)
 */
CASE_LIMIT(memory_cgroup_max, ~0u, 60)
{
	struct task t[WRITERS] = { };
	struct member m;
	int i;

	if (on_sdp())
		sysctl("zcopy_thresh", 0);
	if (!member_fork(&m, WRITERS)) {
		read_late(&m);
		_exit(0);
	}
	put(group, "memory.max", "6M");
	EQ(1, write(m.go, "", 1));
	for (i = 0; i < WRITERS; i++) {
		t[i].run = task_send_all;
		t[i].fd = sock();
		t[i].len = WRITTEN;
		OK(set_int(t[i].fd, SOL_SOCKET, SO_SNDBUF, 32768));
		OK(connect_to(t[i].fd, &m.addr));
		task_start(&t[i]);
		CHECK(!t[i].done);
	}
	EQ(1, write(m.go, "", 1));
	for (i = 0; i < WRITERS; i++) {
		EQ(WRITTEN, task_join(&t[i]));
		OK(shutdown(t[i].fd, SHUT_WR));
	}
	EQ(0, charged_to("memory.events", "oom_kill "));
	CHILD_OK(m.pid);
	for (i = 0; i < WRITERS; i++)
		close(t[i].fd);
	close(m.l);
	group_remove();
}
