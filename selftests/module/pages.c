// SPDX-License-Identifier: GPL-2.0
/*
 * A device that goes while a call waits for a page of its caller's memory.  The page does
 * not come before it has gone, nor is anything held for it meanwhile: no page stays pinned
 * but those that the kernel holds to fault in the one behind them.  TCP has no device.
 */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/absent.h"
#include "lib/module.h"
#include "lib/variant.h"

enum {
	PAGE	= 4096,
	PIECE	= 256 << 10,		/* that is lent first, */
	LONG	= 1 << 20,		/* and next */
	FEW	= 8,			/* pages */
};

/* Pages that are pinned, all over this host. */
static long pinned(void)
{
	int fd = open("/proc/sys/vm/stat_refresh", O_RDONLY | O_CLOEXEC);
	long acquired = -1, released = -1, n;
	char line[128], word[64];
	FILE *f;

	/* What each processor has counted, where there are several. */
	if (fd >= 0) {
		read(fd, line, sizeof(line));
		close(fd);
	}
	f = fopen("/proc/vmstat", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld", word, &n) != 2)
			continue;
		if (!strcmp(word, "nr_foll_pin_acquired"))
			acquired = n;
		if (!strcmp(word, "nr_foll_pin_released"))
			released = n;
	}
	if (f)
		fclose(f);
	CHECK(acquired >= 0 && released >= 0);
	return acquired - released;
}

/* What is lent stays so until there is a reader, who has not told where he waits. */
static int lends_(struct pair *p)
{
	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_adapt", 0);
	sysctl("zcopy_write", 0);
	pair_start(p);
	/* Nor is much of it fetched without him. */
	OK(set_int(p->l, SOL_SOCKET, SO_RCVBUF, PAGE));
	pair_finish(p);
	return 0;
}

#define lends(p)	CALL(lends_(p))

/* @was before anything was lent; then the caller has his page. */
static int device_goes_(struct absent *a, size_t missed, long was)
{
	device_remove();
	EVENTUALLY(true, pinned() - was < FEW);
	absent_give(a, missed, PAGE);
	return 0;
}

#define device_goes(...)	CALL(device_goes_(__VA_ARGS__))

/* A part of it went perhaps, and that is told first. */
static int ended_(struct task *t)
{
	if (task_join(t) < 0)
		EQ(ECONNRESET, t->err);
	else
		IN_RANGE(1, t->len - 1, t->ret);
	return 0;
}

#define ended(t)	CALL(ended_(t))

/*
 * A page that was pinned is not there any more when the peer is told of it, and nobody
 * needs it: not for the bytes that this message brings with it, either.
 */
static int offered_(struct pair *p, struct absent *a, struct task *t, int flags)
{
	unsigned long long offers = counter("offers");
	long was = pinned();

	lends(p);
	if (flags & MSG_ZEROCOPY)
		OK(set_int(p->c, SOL_SOCKET, SO_ZEROCOPY, 1));
	absent_make(a, PIECE);
	absent_give_but(a, PAGE);
	*t = (struct task){ .run = task_send, .fd = p->c, .buf = a->there, .len = PIECE,
			    .flags = flags };
	task_start(t);
	EQ(PAGE, absent_missed(a));
	OK(madvise(a->there, PAGE, MADV_DONTNEED));
	absent_give(a, PAGE, PAGE);
	EVENTUALLY(true, counter("offers") > offers || poll_one(a->fd, POLLIN, 0));
	device_remove();
	EVENTUALLY(true, pinned() - was < FEW);
	EQ_HEX(0, poll_one(a->fd, POLLIN, 0));
	return 0;
}

#define offered(...)	CALL(offered_(__VA_ARGS__))

CASE_ON(device_gone_and_page_offered, ON_SDP)
{
	struct absent a;
	struct task t;
	struct pair p;

	offered(&p, &a, &t, 0);
	ended(&t);
}

CASE_ON(device_gone_and_page_leased, ON_SDP)
{
	struct absent a;
	struct task t;
	struct pair p;

	offered(&p, &a, &t, MSG_ZEROCOPY);
	EQ(PIECE, task_join(&t));
	EQ(1, notified(p.c, 0, NULL));
}

/* The first piece is lent, and the next cannot be pinned. */
CASE_ON(device_gone_and_page_to_send, ON_SDP)
{
	struct task t = { .run = task_send, .len = 2 * PIECE };
	long was = pinned();
	struct absent a;
	struct pair p;

	lends(&p);
	absent_make(&a, t.len);
	absent_give_but(&a, PIECE);
	t.fd = p.c;
	t.buf = a.there;
	task_start(&t);
	EQ(PIECE, absent_missed(&a));
	CHECK(pinned() - was >= PIECE / PAGE);
	device_goes(&a, PIECE, was);
	ended(&t);
}

/* The same where the peer has told where its reader waits: what is written there. */
CASE_ON(device_gone_and_page_to_write, ON_SDP)
{
	struct task s = { .run = task_send, .len = 2 * PIECE };
	struct task r = { .run = task_recv, .len = 2 * PIECE, .flags = MSG_WAITALL };
	unsigned long long asks;
	struct absent a;
	struct pair p;
	long was;

	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_adapt", 0);
	pair_open(&p);
	learn_to_ask(&p);
	was = pinned();
	absent_make(&a, s.len);
	absent_give_but(&a, PIECE);
	asks = counter("asks");
	r.fd = p.s;
	r.buf = memory(r.len, 0);
	task_start(&r);
	EVENTUALLY(asks + 1, counter("asks"));
	s.fd = p.c;
	s.buf = a.there;
	task_start(&s);
	EQ(PIECE, absent_missed(&a));
	CHECK(pinned() - was >= 3 * PIECE / PAGE);
	device_goes(&a, PIECE, was);
	ended(&s);
	ended(&r);
}

/*
 * A reader who has a part of what is offered read to where he wants it, and cannot have
 * the next one pinned.  The first offer is a piece, and the second so long that he takes
 * it in two; each brings a few bytes with it.
 */
enum { TAKEN = PIECE + LONG, MISSED = 2 * PIECE + PAGE };

struct taker {
	struct pair p;
	struct absent a;
	struct task send, recv;
	long was;
};

static int takes_(struct taker *k)
{
	k->was = pinned();
	lends(&k->p);
	absent_make(&k->a, TAKEN);
	absent_give_but(&k->a, MISSED);
	/* It shows what comes from the peer. */
	memset(k->a.there, 0, MISSED);
	k->send = (struct task){ .run = task_send, .len = TAKEN, .fd = k->p.c,
				 .buf = memory(TAKEN, 0) };
	k->recv = (struct task){ .run = task_recv, .len = TAKEN, .fd = k->p.s,
				 .buf = k->a.there, .flags = MSG_WAITALL };
	scatter(k->send.buf, TAKEN);
	pattern_fill(k->send.buf, TAKEN, 1, 0);
	task_start(&k->recv);
	task_start(&k->send);
	EQ(MISSED, absent_missed(&k->a));
	/* The sender's second piece, the reader's first of that, and what he is at. */
	CHECK(pinned() - k->was > (LONG + PIECE) / PAGE);
	return 0;
}

#define takes(k)	CALL(takes_(k))

/* What came is right. */
static int taken_(struct taker *k)
{
	ended(&k->send);
	IN_RANGE(PIECE, MISSED, task_join(&k->recv));
	EQ(-1, pattern_check(k->recv.buf, k->recv.ret, 1, 0));
	return 0;
}

#define taken(k)	CALL(taken_(k))

CASE_ON(device_gone_and_page_to_recv, ON_SDP)
{
	struct taker k;

	takes(&k);
	device_goes(&k.a, MISSED, k.was);
	taken(&k);
}

/* The connection has died first, by the peer's doing, with a device that is well. */
CASE_ON(device_gone_and_connection_dead, ON_SDP)
{
	struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct taker k;

	takes(&k);
	OK(connect(k.p.c, &none, sizeof(none)));
	EVENTUALLY(true, pinned() - k.was < FEW);
	device_goes(&k.a, MISSED, k.was);
	taken(&k);
}
