/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small harness: cases that register themselves, each run once for every
 * variant, each in a child process of its own with a time limit, results as
 * KTAP.
 *
 *	CASE(name)
 *	{
 *		int fd = OK(socket(variant->family, SOCK_STREAM, 0));
 *
 *		FAILS(ENOTCONN, recv(fd, buf, 1, 0));
 *	}
 *
 * The first failed check prints where it stands, what was expected and what
 * came, and ends the case; so do a crash and the time limit, after which the
 * last check reached and what the kernel says of every thread are printed.
 * Whatever processes a case leaves behind are killed.
 *
 * SDP_TIME_FACTOR multiplies every time limit, for slow machines.  SDP_BY_CLOCK=no
 * leaves out the cases that BY_CLOCK() is said of.
 */
#ifndef _KTAP_H
#define _KTAP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(n) (1u << (n))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* Exit status of a case. */
enum {
	KTAP_PASS	= 0,
	KTAP_FAIL	= 1,
	KTAP_SKIP	= 4,
};

struct ktap_case {
	const char *name;
	void (*run)(void);
	unsigned int variants;	/* bit n: runs on variant n */
	int limit;		/* seconds */
	bool by_clock;
	struct ktap_case *next;
};

#define KTAP_LIMIT	20

#define CASE(name)			CASE_ON(name, ~0u)
#define CASE_ON(name, variants)		CASE_LIMIT(name, variants, KTAP_LIMIT)
#define CASE_LIMIT(case_name, case_variants, seconds)			\
static void case_name(void);						\
static __attribute__((constructor)) void ktap_add_##case_name(void)	\
{									\
	static struct ktap_case c = {					\
		.name = #case_name, .run = case_name,			\
		.variants = case_variants, .limit = seconds,		\
	};								\
									\
	ktap_add(&c);							\
}									\
static void case_name(void)

/*
 * Behind a case: its verdict goes by the clock (something must take so long, or not
 * longer).  A guest that stands still, on a machine that others use, may make it fail,
 * so it is left out where SDP_BY_CLOCK is "no".
 */
#define BY_CLOCK(case_name)						\
static __attribute__((constructor)) void ktap_clock_##case_name(void)	\
{									\
	ktap_by_clock(#case_name);					\
}									\
_Static_assert(1, "a semicolon")

void ktap_add(struct ktap_case *c);
void ktap_by_clock(const char *name);

/**
 * ktap_main() - run the cases that the command line selects
 * @argc: of main()
 * @argv: of main(); -t PATTERN and -v PATTERN select cases and variants, -l
 *	lists
 * @names: of the variants
 * @nr: how many
 * @choose: called in the child before a case, with the variant's number
 *
 * Return: exit status of the program.
 */
int ktap_main(int argc, char **argv, const char *const *names, unsigned int nr,
	      void (*choose)(unsigned int variant));

/* The same in pieces, for a program that is more than its cases. */
const struct ktap_case *ktap_find(const char *name);
void ktap_header(unsigned int count);
void ktap_result(int status, const char *name, const char *variant);
int ktap_totals(void);

/**
 * ktap_child() - run something in a child with a time limit
 * @run: what; it passes if it returns
 * @arg: given to @run
 * @limit: seconds, before SDP_TIME_FACTOR
 *
 * Return: KTAP_*; the reason of a failure has been printed.
 */
int ktap_child(void (*run)(void *arg), void *arg, int limit);

/* Called in the child when a check fails, before it ends; may be NULL. */
extern void (*ktap_on_fail)(void);

/* Milliseconds, made longer on slow machines. */
int ktap_ms(int ms);
/* CLOCK_MONOTONIC in milliseconds. */
long long ktap_now(void);

/*
 * A time-out of a socket is counted in the kernel's ticks, and so is the least
 * that a caller may have waited: a guest whose ticks come late makes up for
 * them at once, and a wait that began before ends early by any other clock,
 * with TCP as with us.  The most is real time.
 */
struct ktap_watch {
	long long now;			/* ktap_now() */
	long long ticks;		/* times() */
};

struct ktap_watch ktap_watch(void);
void ktap_waited(const char *file, int line, struct ktap_watch since, int ms,
		 int most);

/* From @since on @ms milliseconds have passed, and not more than @most. */
#define WAITED(ms, most, since)						\
	ktap_waited(__FILE__, __LINE__, since, ms, most)

/* Prints a line of diagnosis. */
void ktap_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ktap_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4), noreturn));
void ktap_skip(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
const char *ktap_errno(int err);
void ktap_at(const char *file, int line);

/* A helper's failure names its caller too if it is called by CALL(). */
void ktap_enter(const char *file, int line);
void ktap_leave(void);
#define CALL(helper) ({							\
	ktap_enter(__FILE__, __LINE__);					\
	__auto_type call_ret = (helper);				\
	ktap_leave();							\
	call_ret;							\
})

#define AT() ktap_at(__FILE__, __LINE__)
#define FAIL(...) ktap_fail(__FILE__, __LINE__, __VA_ARGS__)

#define CHECK(cond) ({							\
	AT();								\
	if (!(cond))							\
		FAIL("not true: %s", #cond);				\
})

/* A call that must succeed; its value. */
#define OK(call) ({							\
	long long ok_ret;						\
	AT();								\
	ok_ret = (call);						\
	if (ok_ret < 0)							\
		FAIL("%s: %s", #call, ktap_errno(errno));		\
	ok_ret;								\
})

/* A call that must fail with this errno. */
#define FAILS(err, call) ({						\
	long long fails_ret;						\
	AT();								\
	errno = 0;							\
	fails_ret = (call);						\
	if (fails_ret >= 0)						\
		FAIL("%s: expected %s, got success (%lld)", #call,	\
		     ktap_errno(err), fails_ret);			\
	if (errno != (err))						\
		FAIL("%s: expected %s, got %s", #call,			\
		     ktap_errno(err), ktap_errno(errno));		\
})

/* Numbers that must be equal; a call's errno is shown if it gave -1. */
#define EQ(exp, act) ({							\
	long long eq_exp = (exp), eq_act;				\
	AT();								\
	eq_act = (act);							\
	if (eq_exp != eq_act)						\
		FAIL("%s: expected %lld, got %lld%s%s", #act, eq_exp,	\
		     eq_act, eq_act == -1 && errno ? " " : "",		\
		     eq_act == -1 && errno ? ktap_errno(errno) : "");	\
})

/* Flags that must be equal, printed in hexadecimal. */
#define EQ_HEX(exp, act) ({						\
	long long eq_exp = (exp), eq_act;				\
	AT();								\
	eq_act = (act);							\
	if (eq_exp != eq_act)						\
		FAIL("%s: expected %#llx, got %#llx", #act, eq_exp,	\
		     eq_act);						\
})

#define IN_RANGE(low, high, act) ({					\
	long long in_low = (low), in_high = (high), in_act;		\
	AT();								\
	in_act = (act);							\
	if (in_act < in_low || in_act > in_high)			\
		FAIL("%s: expected %lld to %lld, got %lld", #act,	\
		     in_low, in_high, in_act);				\
})

/*
 * What becomes true by the peer's or the network's doing: looked at every
 * millisecond for ten seconds.
 */
#define EVENTUALLY(exp, act) ({						\
	long long ev_end = ktap_now() + ktap_ms(10000);			\
	long long ev_exp = (exp), ev_act;				\
	AT();								\
	while ((ev_act = (act)) != ev_exp) {				\
		if (ktap_now() > ev_end)				\
			FAIL("%s: expected %lld within 10 s, got %lld",	\
			     #act, ev_exp, ev_act);			\
		usleep(1000);						\
	}								\
})

/* A process forked by the case must end well. */
#define CHILD_OK(pid) ({						\
	int child_status;						\
	AT();								\
	if (waitpid((pid), &child_status, 0) != (pid))			\
		FAIL("waitpid: %s", ktap_errno(errno));			\
	if (child_status)						\
		FAIL("child process: wait status %#x", child_status);	\
})

#endif
