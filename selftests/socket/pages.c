// SPDX-License-Identifier: GPL-2.0
/*
 * What long sends and receives are made from: memory of every kind, and memory that
 * changes under them.  SDP has the device read and write it where it is, TCP copies;
 * what a program sees is the same: the right bytes, or a clean EFAULT for those that
 * there are none for.
 */
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "lib/variant.h"

enum {
	LONG	= 1 << 20,
	MANY	= 16 * LONG,	/* more than a peer has room for who does not read */
};

/* Memory that is not there, in the middle or behind it. */
CASE(zcopy_bad_memory)
{
	struct task t = { .run = task_send, .len = 200000 };
	char *half = memory(LONG, 0), *there;
	struct pair p;
	ssize_t n;

	pair_open(&p);
	pattern_fill(half, LONG, 1, 0);
	OK(munmap(half + 128 * 1024, LONG - 128 * 1024));
	n = OK(send(p.c, half, LONG, 0));
	IN_RANGE(1, 128 * 1024, n);
	FAILS(EFAULT, send(p.c, half + 128 * 1024, 100000, 0));
	recv_pattern(p.s, n, 1, 0);
	/* What a reader has no room for stays. */
	t.fd = p.c;
	t.buf = pattern(t.len, 0);
	task_start(&t);
	there = memory(t.len, 0);
	OK(mprotect(there, t.len, PROT_READ));
	FAILS(EFAULT, recv(p.s, there, t.len, 0));
	OK(mprotect(there, t.len, PROT_READ | PROT_WRITE));
	EQ(t.len, recv(p.s, there, t.len, MSG_WAITALL));
	EQ(-1, pattern_check(there, t.len, 1, 0));
	EQ(t.len, task_join(&t));
}

static int send_mapped_(const struct pair *p, char *at, size_t len)
{
	struct task t = { .run = task_send, .fd = p->c, .buf = at, .len = len };
	char *there = memory(len, 0);

	CHECK(at != MAP_FAILED);
	task_start(&t);
	EQ(len, recv(p->s, there, len, MSG_WAITALL));
	EQ(0, memcmp(there, at, len));
	EQ(len, task_join(&t));
	return 0;
}

#define send_mapped(...)	CALL(send_mapped_(__VA_ARGS__))

/* Memory of many kinds: never touched, a file's, shared, huge. */
CASE(zcopy_kinds_of_memory)
{
	char name[] = "/tmp/zcopy-XXXXXX";
	struct pair p;
	char *at;
	int fd;

	pair_open(&p);
	send_mapped(&p, mmap(NULL, LONG, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
			     -1, 0), LONG);
	fd = OK(mkstemp(name));
	OK(unlink(name));
	EQ(LONG, write(fd, pattern(LONG, 0), LONG));
	send_mapped(&p, mmap(NULL, LONG, PROT_READ, MAP_PRIVATE, fd, 0), LONG);
	at = mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	send_mapped(&p, at, LONG);
	/* And received into the file. */
	struct task t = { .run = task_send, .fd = p.c, .len = LONG,
			  .buf = memory(LONG, 0) };
	pattern_fill(t.buf, LONG, 2, 0);
	task_start(&t);
	EQ(LONG, recv(p.s, at, LONG, MSG_WAITALL));
	EQ(LONG, task_join(&t));
	EQ(LONG, pread(fd, t.buf, LONG, 0));
	EQ(-1, pattern_check(t.buf, LONG, 2, 0));
	at = mmap(NULL, 4 * LONG, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	madvise(at, 4 * LONG, MADV_HUGEPAGE);
	pattern_fill(at, 4 * LONG, 3, 0);
	send_mapped(&p, at, 4 * LONG);
}

/* Transparent huge pages at @at, as far as the kernel says; bytes. */
static long huge_at(const void *at)
{
	FILE *f = fopen("/proc/self/smaps", "r");
	unsigned long from, to, kib;
	char line[256];
	bool here = false;
	long is = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &from, &to) == 2)
			here = from == (unsigned long)at;
		if (here &&
		    sscanf(line, "AnonHugePages: %lu kB", &kib) == 1)
			is = kib * 1024;
	}
	if (f)
		fclose(f);
	return is;
}

/* What lies together is lent in one piece where it would be two or more. */
CASE_ON(pages_that_lie_together, ON_SDP)
{
	enum { HUGE = 2 * LONG };
	unsigned long long offers, lent;
	char *map, *at;
	struct pair p;

	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	pair_open(&p);
	map = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(map != MAP_FAILED);
	at = (char *)(((unsigned long)map + HUGE - 1) & ~(HUGE - 1ul));
	scatter(at, HUGE);
	pattern_fill(at, LONG, 1, 0);
	offers = counter("offers");
	send_mapped(&p, at, LONG);
	EQ(offers + 2, counter("offers"));
	OK(munmap(at, HUGE));
	CHECK(mmap(at, HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		   MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
	if (madvise(at, HUGE, MADV_HUGEPAGE))
		ktap_skip("this kernel has no transparent huge pages");
	pattern_fill(at, HUGE, 1, 0);
	if (huge_at(at) < HUGE)
		ktap_skip("no huge page was to be had");
	offers = counter("offers");
	send_mapped(&p, at, LONG);
	EQ(offers + 1, counter("offers"));
	pattern_fill(at + 100, LONG, 1, 0);
	/* Also where it begins anywhere. */
	offers = counter("offers");
	send_mapped(&p, at + 100, LONG);
	EQ(offers + 1, counter("offers"));
	/* No piece is so long that the rest is too short to be lent. */
	lent = counter("bytes_lent");
	send_mapped(&p, at, LONG + 1);
	EQ(lent + LONG + 1, counter("bytes_lent"));
}

/*
 * A sender of @t->buf, which somebody else changes while the call waits for a reader;
 * what is lent of it stays lent until there is one.
 */
static int send_waits_(struct pair *p, struct task *t)
{
	sysctl("zcopy_wait", 60000);
	pair_open(p);
	t->run = task_send;
	t->len = MANY;
	task_blocks(t, p->c);
	return 0;
}

#define send_waits(...)	CALL(send_waits_(__VA_ARGS__))

/* The rest of the memory is gone: he has sent what was his in time. */
static int ends_early_(const struct pair *p, struct task *t)
{
	struct task r = { .run = task_drain, .fd = p->s };

	task_start(&r);
	IN_RANGE(1, MANY - 1, task_join(t));
	FAILS(EFAULT, send(p->c, (char *)t->buf + MANY - LONG, LONG, 0));
	OK(shutdown(p->c, SHUT_WR));
	EQ(t->ret, task_join(&r));
	return 0;
}

#define ends_early(...)	CALL(ends_early_(__VA_ARGS__))

/* A mapped file loses its end, and the pages that a device reads their file. */
CASE(pages_truncated)
{
	struct task t = {};
	struct pair p;
	int fd = OK(memfd_create("pages", 0));

	EQ(MANY, write(fd, pattern(MANY, 0), MANY));
	t.buf = mmap(NULL, MANY, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(t.buf != MAP_FAILED);
	send_waits(&p, &t);
	OK(ftruncate(fd, 0));
	ends_early(&p, &t);
	close(fd);
}

CASE(pages_unmapped)
{
	struct task t = { .buf = pattern(MANY, 0) };
	struct pair p;

	send_waits(&p, &t);
	forget(t.buf, MANY);
	ends_early(&p, &t);
}

/* What is written there meanwhile is sent or not, byte by byte; nothing else is. */
CASE(pages_overwritten)
{
	struct task t = { .buf = pattern(MANY, 0) };
	char *was = pattern(MANY, 0), *got = malloc(LONG);
	size_t done, n, i;
	struct pair p;

	send_waits(&p, &t);
	memset(t.buf, 0xee, MANY);
	for (done = 0; done < MANY; done += n) {
		n = OK(recv(p.s, got, LONG, 0));
		CHECK(n > 0);
		for (i = 0; i < n; i++)
			CHECK(got[i] == was[done + i] || got[i] == (char)0xee);
	}
	EQ(MANY, task_join(&t));
	free(got);
}

/* Sent from there, and received there. */
static int both_ways_(const struct pair *p, char *at, size_t len)
{
	struct task t = { .run = task_send, .fd = p->c, .len = len };

	CHECK(at != MAP_FAILED);
	pattern_fill(at, len, 5, 0);
	send_mapped(p, at, len);
	t.buf = pattern(len, 0);
	memset(at, 0, len);
	task_start(&t);
	EQ(len, recv(p->s, at, len, MSG_WAITALL));
	EQ(len, task_join(&t));
	EQ(-1, pattern_check(at, len, 1, 0));
	return 0;
}

#define both_ways(...)	CALL(both_ways_(__VA_ARGS__))

/*
 * Memory of the kernel's that a process may touch and nobody may pin, on some
 * kernels: the entries of a ring.
 */
CASE(pages_of_the_kernel)
{
	enum { ENTRIES = 4096, BYTES = ENTRIES * sizeof(struct io_uring_sqe) };
	struct io_uring_params params = {};
	struct pair p;
	int ring;

	pair_open(&p);
	ring = OK(syscall(__NR_io_uring_setup, ENTRIES, &params));
	both_ways(&p, mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES), BYTES);
	close(ring);
}

/* The first that has memory: those of PCI give it as their third resource. */
static int device_memory(void)
{
	int fd = -1;
	glob_t g;
	size_t i;

	if (glob("/sys/bus/pci/devices/*/resource2", 0, NULL, &g))
		return -1;
	for (i = 0; i < g.gl_pathc && fd < 0; i++) {
		struct stat st;
		char *enable;

		if (stat(g.gl_pathv[i], &st) || st.st_size < LONG)
			continue;
		if (asprintf(&enable, "%.*s/enable",
			     (int)(strrchr(g.gl_pathv[i], '/') - g.gl_pathv[i]),
			     g.gl_pathv[i]) < 0)
			break;
		fd = open(enable, O_WRONLY);
		if (fd >= 0) {
			if (write(fd, "1", 1) != 1)
				perror(enable);
			close(fd);
		}
		free(enable);
		fd = open(g.gl_pathv[i], O_RDWR);
	}
	globfree(&g);
	return fd;
}

/* A device's own, which no other can be told to read: copied, byte by byte. */
CASE(pages_of_a_device)
{
	int fd = device_memory();
	struct pair p;

	if (fd < 0)
		ktap_skip("no device here has memory that can be mapped");
	pair_open(&p);
	both_ways(&p, mmap(NULL, LONG, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
		  LONG);
	close(fd);
}
