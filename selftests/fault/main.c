// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is not there: every call of the socket API with its first, second,
 * third ... allocation (or access to user memory) failing, until the call makes
 * no more of them; then whole connections with one failing allocation anywhere,
 * in workers and interrupts too; then with many.
 *
 * A call must succeed all the same or fail with an error that TCP gives there,
 * which the same cases over TCP prove.  After that it must work, and so must
 * a new connection, every byte compared.
 *
 * Faults are injected where a function of the module is on the stack, so the
 * rest of the kernel has its memory; over TCP anywhere in the call.  Needs root
 * and a kernel with CONFIG_FAULT_INJECTION, FAILSLAB, FAIL_PAGE_ALLOC,
 * FAULT_INJECTION_USERCOPY, FAULT_INJECTION_STACKTRACE_FILTER and debugfs.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fault.h"
#include "lib/module.h"

char *fault_big;
char *fault_room;

void fault_talk(int c, int s)
{
	/* Less than a queue holds: one thread does both. */
	send_pattern(c, FAULT_TALK, 3, 0);
	recv_pattern(s, FAULT_TALK, 3, 0);
	send_pattern(s, FAULT_TALK, 4, 0);
	recv_pattern(c, FAULT_TALK, 4, 0);
	OK(shutdown(c, SHUT_WR));
	expect_eof(s);
}

void fault_still_works(void)
{
	struct pair p;

	pair_open(&p);
	fault_talk(p.c, p.s);
	close(p.c);
	close(p.s);
	close(p.l);
}

static bool allowed(const struct op *op, int err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op->errors) && op->errors[i]; i++)
		if (op->errors[i] == err)
			return true;
	return false;
}

enum { MOST = 500 };

static void step_begin(struct step *st, const struct op *op)
{
	*st = (struct step){ .fd = -1, .p = { -1, -1, -1, { } } };
	op->before(st);
}

/* @ret and errno are the call's. */
static void step_end(struct step *st, const struct op *op, int ret, bool hit, int n)
{
	if (ret < 0 && !hit)
		FAIL("%s: %s without any fault", op->name, ktap_errno(errno));
	if (ret < 0 && !allowed(op, errno))
		FAIL("%s: fault %d: %s, which TCP does not say", op->name, n,
		     ktap_errno(errno));
	st->hit = hit;
	op->after(st, ret);
	close(st->fd);
	close(st->p.c);
	close(st->p.s);
	close(st->p.l);
	if (hit)
		fault_still_works();
}

/* False if no places are given. */
static bool sweep_sites(const struct op *op)
{
	struct step st;
	int n, ret;
	bool hit;

	/* A page fault is no place of the call's to fail. */
	OK(mlockall(MCL_CURRENT));
	if (!fault_at_sites())
		return false;
	for (n = fault_site_next(-1); n >= 0; n = fault_site_next(n)) {
		step_begin(&st, op);
		fault_site_arm(n);
		errno = 0;
		ret = op->call(&st);
		hit = fault_site_disarm(n);
		step_end(&st, op, ret, hit, n + 1);
	}
	return true;
}

/* Each step with the next chance taken; how many there were. */
static int sweep(enum fault_aim at, const struct op *op)
{
	int n, failed = 0;
	struct step st;
	bool hit = true;
	int ret;

	fault_aim(at);
	fault_begin();
	for (n = 1; n < MOST && hit; n++) {
		step_begin(&st, op);
		fault_arm(n);
		errno = 0;
		ret = op->call(&st);
		hit = fault_disarm();
		failed += ret < 0;
		step_end(&st, op, ret, hit, n);
	}
	n -= !hit;
	ktap_note("%s: %d faults, %d calls failed", op->name, n - 1, failed);
	if (hit)
		FAIL("%s: no end of faults", op->name);
	return n - 1;
}

static void expect_faults(const struct op *op, int least, int n)
{
	if (n < least)
		FAIL("%s: expected at least %d places to fail, found %d", op->name, least, n);
}

void fault_sweep_at(enum fault_aim at, const struct op *op, int least)
{
	if (!sweep_sites(op))
		expect_faults(op, least, sweep(at, op));
}

void fault_sweep(const struct op *op, int least)
{
	fault_sweep_at(on_sdp() ? FAULT_IN_MODULE : FAULT_ANYWHERE, op, on_sdp() ? least : 0);
}

/* Until the fault that nobody has met has struck somebody who does not mind. */
static void use_up(const char *kind)
{
	while (!fault_struck_yet(kind))
		close(via_socket(variant->via, variant->family, 0));
}

void fault_sweep_wide(const struct op *op, int least)
{
	int k, ret, err, struck = 0, failed = 0, missed = 0;
	struct step st;
	bool hit;

	if (sweep_sites(op))
		return;
	fault_aim(FAULT_IN_MODULE);
	/* How many there are is not always the same. */
	for (k = 1; missed < 3 && k < MOST; k++) {
		step_begin(&st, op);
		fault_strike_once("failslab", k);
		errno = 0;
		ret = op->call(&st);
		err = errno;
		hit = fault_struck_yet("failslab");
		if (!hit)
			use_up("failslab");
		fault_quiet();
		struck += hit;
		missed = hit ? 0 : missed + 1;
		failed += ret < 0;
		errno = err;
		step_end(&st, op, ret, hit, k);
	}
	ktap_note("%s, and what comes of it: %d faults, %d calls failed", op->name, struck,
		  failed);
	expect_faults(op, least, struck);
}

void fault_never(const struct op *op)
{
	int n;

	if (sweep_sites(op))
		return;
	n = sweep(on_sdp() ? FAULT_IN_MODULE : FAULT_ANYWHERE, op);
	if (on_sdp() && n)
		FAIL("%s: expected no place to fail, found %d", op->name, n);
}

void fault_nothing(struct step *st)
{
	(void)st;
}

static void choose(unsigned int n)
{
	fault_quiet();
	/* Tables that grow in part are leaked, with a warning: device/softroce_nodes.sh. */
	fault_spare("__xas_nomem");
	module_restore();
	variant_choose(n);
}

int main(int argc, char **argv)
{
	int ret;

	if (fault_quiet() || access("/proc/self/fail-nth", W_OK)) {
		printf("Bail out! this kernel cannot inject faults: use uml-debug\n");
		return 2;
	}
	/* Shared: a case's own copies would lie together, as mlock() makes them. */
	fault_big = mmap(NULL, 2 * FAULT_BIG, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (fault_big == MAP_FAILED)
		return 2;
	scatter(fault_big, 2 * FAULT_BIG);
	fault_room = fault_big + FAULT_BIG;
	pattern_fill(fault_big, FAULT_BIG, 7, 0);
	signal(SIGPIPE, SIG_IGN);
	if (fault_sites_init()) {
		printf("Bail out! SDP_FAULT_SITES is no list of sites\n");
		return 2;
	}
	variant_init();
	ret = ktap_main(argc, argv, variant_names, NR_VARIANTS, choose);
	fault_quiet();
	module_restore();
	variant_exit();
	return ret;
}
