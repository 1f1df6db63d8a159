/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What becomes of every option of TCP's sockets on one of SDP's, and where a call answers
 * otherwise: with the reason of each.
 *
 * docs/compatibility.md is printed from these tables (tree/compat_table.c).  The cases state_*
 * ask in every state, beside TCP: a difference that is not here fails, and so does one
 * that is here and not seen.
 */
#ifndef _SELFTESTS_COMPAT_H
#define _SELFTESTS_COMPAT_H

#include <stdbool.h>

enum compat_kind {
	COMPAT_SAME,		/* it has TCP's effect */
	COMPAT_TCP,		/* with it set, the socket is TCP */
	COMPAT_UNUSED,		/* TCP makes no use of it either */
	COMPAT_NO_EFFECT,	/* it is kept, and nothing comes of it */
	COMPAT_REFUSED,		/* an error while SDP carries the stream */
};

/* Where the answer is another than TCP's. */
enum {
	COMPAT_VALUE	= 1,	/* what getsockopt() reads */
	COMPAT_GET	= 2,	/* whether it does */
	COMPAT_SET	= 4,	/* whether setsockopt() does */
	COMPAT_WHAT	= 3,	/* how many of these */
	COMPAT_REQUIRED	= 8,	/* only where SDP is required, and nothing falls back */
};

struct compat_option {
	int level, option;
	const char *name;
	enum compat_kind kind;
	unsigned int differs;	/* COMPAT_VALUE and so on */
	const char *shown;	/* names of cases; NULL: state_* alone, its answers */
	const char *why;	/* a sentence: of a difference, or of what has no effect */
};

extern const struct compat_option compat_options[];
extern const unsigned int compat_nr_options;

/* Return: the table's row, or NULL. */
const struct compat_option *compat_option(int level, int option);

/* A call that answers otherwise in some state. */
struct compat_call {
	const char *name;	/* of lib/sweep.c */
	const char *call;	/* as people write it */
	const char *why;
};

extern const struct compat_call compat_calls[];
extern const unsigned int compat_nr_calls;

/* What no single call shows. */
struct compat_behaviour {
	const char *what;
	const char *why;
	const char *shown;	/* names of cases, or NULL */
};

extern const struct compat_behaviour compat_behaviours[];
extern const unsigned int compat_nr_behaviours;

/*
 * What has been seen to differ, by variant: shared by all cases of a run, which are
 * processes of their own.
 */
void compat_init(void);
void compat_saw_option(unsigned int variant, const struct compat_option *row,
		       unsigned int what);
void compat_saw_call(unsigned int variant, const struct compat_call *row);
bool compat_has_seen_option(unsigned int variant, const struct compat_option *row,
			    unsigned int what);
bool compat_has_seen_call(unsigned int variant, const struct compat_call *row);

#endif
