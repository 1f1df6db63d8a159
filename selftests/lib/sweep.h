/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Everything that can be asked of a socket, one after the other: each option of each
 * level that anybody answers, ioctls, poll(), recv(), send(), splice() with all their
 * flags, and the calls that change what it is.
 */
#ifndef _SELFTESTS_SWEEP_H
#define _SELFTESTS_SWEEP_H

enum sweep {
	SWEEP_EQUAL	= 0,	/* each call answers as it does with the other socket */
	SWEEP_SENT	= 1,	/* but not behind send(), as what comes of that comes late */
	SWEEP_SURVIVES	= 2,	/* it answers, and that is all */
};

/*
 * Asks @fd, and @like, which is TCP's and in the same state.  Neither is of use after.
 * Both are made non-blocking.
 */
int sweep_(int fd, int like, enum sweep how);
#define sweep(...)	CALL(sweep_(__VA_ARGS__))

/* The same without what changes the socket's state or sends: it is used on. */
int sweep_looks_(int fd, int like, enum sweep how);
#define sweep_looks(...) CALL(sweep_looks_(__VA_ARGS__))

/*
 * Options that a socket of the variant answers to and compat.c does not know, printed.
 *
 * Return: how many.
 */
int sweep_unknown_(void);
#define sweep_unknown()	CALL(sweep_unknown_())

#endif
