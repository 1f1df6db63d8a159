/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Cases of two hosts: each has its client's and its server's side, side by
 * side in the source, which meet at barriers over a TCP connection of their
 * own.
 *
 *	PAIR_CASE(name)
 *
 *	static void name_client(void) { ... }
 *	static void name_server(void) { ... }
 *
 * How they are run is told in pair/pair.c.
 */
#ifndef _PAIR_H
#define _PAIR_H

#include "variant.h"

/* ------------------------------------------------------------ the two sides */

struct pair_case {
	const char *name;
	void (*client)(void);
	void (*server)(void);
	int limit;
	struct pair_case *next;
};

void pair_add(struct pair_case *c);
void pair_run_client(const char *name);

#define PAIR_CASE(name)			PAIR_CASE_ON(name, ~0u)
#define PAIR_CASE_ON(name, variants)		PAIR_CASE_LIMIT(name, variants, 30)
#define PAIR_CASE_LIMIT(case_name, variants, seconds)			\
static void case_name##_client(void);					\
static void case_name##_server(void);					\
static __attribute__((constructor)) void pair_add_##case_name(void)	\
{									\
	static struct pair_case c = {					\
		.name = #case_name, .limit = seconds,			\
		.client = case_name##_client,				\
		.server = case_name##_server,				\
	};								\
									\
	pair_add(&c);							\
}									\
									\
CASE_LIMIT(case_name, (variants) & ~ON_JOIN, seconds)			\
{									\
	pair_run_client(#case_name);					\
}

int pair_main(int argc, char **argv);

/* -------------------------------------------------------- control connection */

/* For a case that waits for the other side's word and for something else. */
extern int pair_control;

/* Both sides come to the same point. */
int meet_(const char *word);
#define meet(word) CALL(meet_(word))

void tell_number(long long n);
long long hear_number(void);

/* -------------------------------------------------------------- for the cases */

/* The server's listener; the client is told its port. */
int serve_port(int backlog);
void server_addr(union addr *a);

int connect_client_(const union addr *a);
#define connect_client(a) CALL(connect_client_(a))

/* A connection between the two, for cases that are about something else. */
int open_client_(void);
int open_server_(void);
#define open_client() CALL(open_client_())
#define open_server() CALL(open_server_())

void linger(int fd, int seconds);

/* Waits until this host has a device again, and its addresses are known to that. */
int device_back_(void);
#define device_back() CALL(device_back_())

/*
 * The shell command @begin now and @end when @ms are over: a process of its own
 * sees to that, whatever becomes of the case.  Wait for it with CHILD_OK().
 */
pid_t meanwhile_(const char *begin, const char *end, int ms);
#define meanwhile(...) CALL(meanwhile_(__VA_ARGS__))

#endif
