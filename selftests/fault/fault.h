/* SPDX-License-Identifier: GPL-2.0 */
/* What the fault cases share; see main.c. */
#ifndef _SELFTESTS_FAULT_H
#define _SELFTESTS_FAULT_H

#include "lib/inject.h"
#include "lib/variant.h"

enum { FAULT_BIG = 1 << 20, FAULT_SAID = 65536, FAULT_TALK = 40000 };

extern char *fault_big;		/* FAULT_BIG bytes of the pattern of key 7 */
extern char *fault_room;	/* and as many for anything */

/* What a step works on; fresh for each. */
struct step {
	struct pair p;
	int fd;
	int flags;
	size_t len, done;
	struct task task;
	void *arg;
	bool hit;	/* for after(): one has failed */
};

struct op {
	const char *name;
	void (*before)(struct step *st);
	int (*call)(struct step *st);
	/* @ret and errno are the call's. */
	void (*after)(struct step *st, int ret);
	int errors[6];		/* that TCP gives there */
};

/*
 * The call again and again, each time with the next chance to fail taken, until there
 * is none; there must be so many at least.  Over TCP: anywhere in it, and any number.
 */
void fault_sweep(const struct op *op, int least);
void fault_sweep_at(enum fault_aim at, const struct op *op, int least);
/*
 * The same of what the call leads to, in workers and interrupts too: the next chance of
 * all to be given memory.  The call is to return when all of that is over.
 */
void fault_sweep_wide(const struct op *op, int least);
/* The call asks for nothing, over SDP: if one day it does, it wants a sweep. */
void fault_never(const struct op *op);

/*
 * Instead of the next chance, by SDP_FAULT_SITES: each place where the module calls for
 * memory that was not struck yet (sites.c).
 *
 *	for (n = fault_site_next(-1); n >= 0; n = fault_site_next(n)) {
 *		fault_site_arm(n);
 *		...
 *		hit = fault_site_disarm(n);
 *	}
 */
int fault_sites_init(void);
bool fault_at_sites(void);
int fault_site_next(int n);
void fault_site_arm(int n);
/* No more faults; true if there was one.  errno stays. */
bool fault_site_disarm(int n);

/* FAULT_TALK bytes each way, and the end of one. */
void fault_talk(int c, int s);
/* A new connection, every byte compared. */
void fault_still_works(void);
/* For an op that needs nothing before or after. */
void fault_nothing(struct step *st);

/* What several ops have before their calls, and after: steps.c. */

/*
 * @l listens at a @port that the kernel gives to nobody by itself: what is remembered
 * of it is not met again by a connection that wants another one.
 */
int fault_listen_at_(int l, union addr *a, int port);
#define fault_listen_at(...) CALL(fault_listen_at_(__VA_ARGS__))

/* One that waits to be accepted. */
void fault_before_accept(struct step *st);
/* A connection. */
void fault_before_talk(struct step *st);
/* FAULT_SAID bytes of fault_big on their way to p.s, copied. */
void fault_before_said(struct step *st);
/* Another thread reads @len bytes from p.s into fault_room; net.sdp.zcopy_thresh. */
void fault_before_heard(struct step *st, size_t len, int thresh);

/* The connection works as before. */
void fault_after_talk(struct step *st, int ret);
/* What failed goes when it is called again. */
int fault_again_(struct step *st, int ret, int (*call)(struct step *st));
#define fault_again(...) CALL(fault_again_(__VA_ARGS__))
/* What was said is in fault_room, and the connection works as before. */
int fault_has_said_(struct step *st);
#define fault_has_said(st) CALL(fault_has_said_(st))
/* The other thread has heard all of it. */
int fault_has_heard_(struct step *st);
#define fault_has_heard(st) CALL(fault_has_heard_(st))

#endif
