/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Fault injection by the kernel: allocations and accesses to user memory that fail.
 * See fault/main.c for what that needs.
 */
#ifndef _SELFTESTS_INJECT_H
#define _SELFTESTS_INJECT_H

#include <stdbool.h>

enum fault_aim {
	FAULT_ANYWHERE,
	FAULT_IN_MODULE,
	FAULT_NEW_MODULE,	/* one that is being loaded */
};

/* No faults at all; -1 if this kernel cannot inject any. */
int fault_quiet(void);
/* Where the stack has to be for one. */
void fault_aim(enum fault_aim at);
/* In what was called by the instruction before this one. */
void fault_aim_at(unsigned long address);
/* In this function, or what it calls. */
void fault_aim_into(const char *function);
/* Leave out what is called by this function of the kernel, and by no other. */
void fault_spare(const char *function);

/* Of this thread. */
void fault_begin(void);
/* The n-th chance to fail in this thread, from here on, does. */
void fault_arm(unsigned int n);
/* No more faults; true if one was injected.  errno stays. */
bool fault_disarm(void);

/* Of all: @kind is failslab or fail_page_alloc, the others as the kernel has them. */
void fault_strike(const char *kind, const char *interval, const char *percent,
		  const char *times);
/* The k-th chance from now on fails, in whatever context. */
void fault_strike_once(const char *kind, int k);
bool fault_struck_yet(const char *kind);
long long fault_knob(const char *kind, const char *name);

#endif
