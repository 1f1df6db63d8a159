// SPDX-License-Identifier: GPL-2.0
/* Polling before sleeping: only where it pays, or where it was asked for. */
#include <pthread.h>
#include <unistd.h>

#include "lib/variant.h"

/* The other end answers each byte with the same. */
static void task_echo(struct task *t)
{
	char byte;

	while ((t->ret = recv(t->fd, &byte, 1, 0)) == 1)
		if (send(t->fd, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
}

static int ping_pong_(const struct pair *p, int rounds)
{
	struct task t = { .run = task_echo, .fd = p->s };
	char byte = 1;

	task_start(&t);
	while (rounds--) {
		EQ(1, send(p->c, &byte, 1, MSG_NOSIGNAL));
		EQ(1, recv(p->c, &byte, 1, 0));
	}
	OK(shutdown(p->c, SHUT_WR));
	EQ(0, task_join(&t));
	return 0;
}

#define ping_pong(p, n)	CALL(ping_pong_(p, n))

/*
 * Until one who polled has found what he polled for.  A poll ends in vain as soon
 * as anything else is to run on its processor, be it the device's own work: how
 * many succeed is a matter of what else the machine has to do, that some do is not.
 */
static int until_hit_(const struct pair *p)
{
	unsigned long long hits = counter("poll_hit");
	struct task t = { .run = task_echo, .fd = p->s };
	long long end = ktap_now() + ktap_ms(10000);
	char byte = 1;

	task_start(&t);
	do {
		EQ(1, send(p->c, &byte, 1, MSG_NOSIGNAL));
		EQ(1, recv(p->c, &byte, 1, 0));
	} while (counter("poll_hit") == hits && ktap_now() < end);
	OK(shutdown(p->c, SHUT_WR));
	EQ(0, task_join(&t));
	CHECK(counter("poll_hit") > hits);
	return 0;
}

#define until_hit(p)	CALL(until_hit_(p))

/* A byte for who has waited for it. */
static int late_byte_(const struct pair *p)
{
	char byte = 1;
	struct task t = { .run = task_recv, .fd = p->s, .buf = &byte, .len = 1 };

	task_start(&t);
	sleep_ms(15);
	EQ(1, send(p->c, &byte, 1, MSG_NOSIGNAL));
	EQ(1, task_join(&t));
	return 0;
}

#define late_byte(p)	CALL(late_byte_(p))

/* Answers that come at once are polled for, and found; with one processor, never. */
CASE_ON(poll_learned, ON_SDP | ON_JOIN)
{
	unsigned long long tries = counter("poll_hit") + counter("poll_miss");
	struct pair p;

	sysctl("poll_usec", 10000);
	pair_open(&p);
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		until_hit(&p);
	} else {
		ping_pong(&p, 500);
		EQ(tries, counter("poll_hit") + counter("poll_miss"));
	}
}
BY_CLOCK(poll_learned);

/*
 * Who waits for long polls less and less, and not at all then: though it has paid.
 * An update that wakes him meanwhile is a short sleep, and worth a try again.
 */
CASE_ON(poll_unlearned, ON_SDP | ON_JOIN)
{
	enum { WAITS = 20 };
	unsigned long long tries;
	struct pair p, back;
	int i;

	sysctl("poll_usec", 10000);
	pair_open(&p);
	ping_pong(&p, 200);
	back = (struct pair){ .c = p.s, .s = p.c };
	for (i = 0; i < 15; i++)
		late_byte(&back);
	tries = counter("poll_hit") + counter("poll_miss");
	for (i = 0; i < WAITS; i++)
		late_byte(&back);
	IN_RANGE(0, WAITS / 4, counter("poll_hit") + counter("poll_miss") - tries);
}

CASE_ON(poll_never, ON_SDP | ON_JOIN)
{
	unsigned long long tries = counter("poll_hit") + counter("poll_miss");
	struct pair p;

	sysctl("poll_usec", 0);
	pair_open(&p);
	ping_pong(&p, 100);
	EQ(tries, counter("poll_hit") + counter("poll_miss"));
}

/*
 * Who is accepted has the listener's SO_BUSY_POLL, and polls.  With two processors
 * he finds what comes soon; with one whoever is to answer, or the device, needs it.
 */
CASE(poll_asked_of_listener)
{
	unsigned long long misses;
	struct pair p, back;
	int i;

	if (on_ours())
		sysctl("poll_usec", 0);
	pair_start(&p);
	OK(set_int(p.l, SOL_SOCKET, SO_BUSY_POLL, 10000));
	pair_finish(&p);
	EQ(10000, get_int(p.s, SOL_SOCKET, SO_BUSY_POLL));
	CHECK(get_int(p.c, SOL_SOCKET, SO_BUSY_POLL) != 10000);
	misses = on_ours() ? counter("poll_miss") : 0;
	for (i = 0; i < 5; i++)
		late_byte(&p);
	if (on_ours())
		CHECK(counter("poll_miss") >= misses + 5);
	/* The accepted one waits for the answers; the other end never polls. */
	back = (struct pair){ .c = p.s, .s = p.c };
	if (on_ours() && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		until_hit(&back);
	else
		ping_pong(&back, 200);
}
BY_CLOCK(poll_asked_of_listener);

/* SO_BUSY_POLL is kept, and each wait polls, whatever has been learned. */
CASE(poll_asked)
{
	unsigned long long misses;
	struct pair p;
	int i;

	if (on_ours())
		sysctl("poll_usec", 0);
	pair_open(&p);
	OK(set_int(p.s, SOL_SOCKET, SO_BUSY_POLL, 200));
	EQ(200, get_int(p.s, SOL_SOCKET, SO_BUSY_POLL));
	misses = on_ours() ? counter("poll_miss") : 0;
	for (i = 0; i < 5; i++)
		late_byte(&p);
	if (on_ours())
		CHECK(counter("poll_miss") >= misses + 5);
	OK(set_int(p.s, SOL_SOCKET, SO_BUSY_POLL, 0));
	misses = on_ours() ? counter("poll_miss") : 0;
	for (i = 0; i < 5; i++)
		late_byte(&p);
	if (on_ours())
		EQ(misses, counter("poll_miss"));
}
BY_CLOCK(poll_asked);
