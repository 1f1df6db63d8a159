/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A transport as the benchmark sees it.  Every call ends the program with a
 * message when it fails; bytes sent and received are of no account, so each
 * connection brings its own buffers.
 */
#ifndef _SDP_BENCH_H
#define _SDP_BENCH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX = 16 << 20 };	/* bytes of one send */

struct transport {
	const char *name;
	bool can_idle;		/* many connections at once may be held */
	bool can_connect;	/* the cost of a connection may be measured */
	bool connects_only;	/* and once it is made it is another's: nothing else is */
	bool one_by_one;	/* a process must not accept before it has closed */
	bool stays_open;	/* close() hangs unless the other side reads */
	bool can_epoll;		/* a descriptor of the system's, and its send() may return early */
	int idle_max;		/* so many may be held in a guest's memory; 0: any number */
	void *(*listen)(int port);
	void *(*accept)(void *listener);
	void *(*connect)(const char *host, int port);
	/* All @size bytes; @data NULL: whatever is in the buffer. */
	void (*send)(void *conn, const void *data, size_t size);
	/* Up to @size bytes; 0: the other side has closed. */
	size_t (*recv_some)(void *conn, size_t size);
	/* What recv_some() brought last. */
	const void *(*data)(void *conn);
	void (*close)(void *conn);
	/* Bytes that the transport says it holds for a connection. */
	uint64_t (*memory)(void *conn);
	/* Whether it is what it should be: asked once, of the first connection. */
	void (*check)(void *conn);
};

extern const struct transport over_tcp, over_sdp, over_fallback, over_library, over_rsockets,
	over_verbs, over_verbs_write, over_verbs_read, over_unix, over_tcp_zerocopy,
	over_sdp_zerocopy, over_local;

extern bool over_huge_pages;	/* what sockets send and receive lies in such */
extern bool over_epoll;		/* they wait by epoll_wait(), and receive without waiting */
extern bool over_nonblock;	/* they send without waiting, and wait by epoll_wait() for room */

/* Loads the preload library, for over_library. */
void over_library_open(const char *path);

/* Bytes in use. */
struct memory {
	int64_t kernel, user;
};

/* Processor time since some moment, ns: of this program, and of all this host; and how
 * often a processor of this host went from one task to another, the idle one too.
 */
struct usage {
	int64_t process, host, switches;
};

/* Callers of SDP on this host who polled before they slept, and those who need not sleep. */
struct polls {
	uint64_t all, hits;
};

/* Connections inside this host whose bytes go by memory, and bytes that did. */
struct joined {
	uint64_t joins, sent, lent;
};

int64_t now(void);		/* ns */
struct memory memory_now(void);
struct usage usage_now(void);
struct polls polls_now(void);
struct joined joined_now(void);
double idle_seconds(void);	/* of all processors together */
int64_t ran(void);		/* ns in which anything ran on the first of them */

__attribute__((format(printf, 1, 2), noreturn)) void die(const char *fmt, ...);

/* ---------------------------------------------------------- of sdp_bench alone */

enum { MAX_SIZES = 16, MAX_ROUNDS = 101 };
enum { AT_ONCE = 8 };		/* connections made, and accepted, side by side */

/* What the command line asked for. */
struct options {
	const char *host;
	int port;
	int rounds;
	int ms;
	int insn;
	int divide;
	int idle;
	int open;
	bool connect;
	bool tsv;
	uint32_t ping[MAX_SIZES], stream[MAX_SIZES], rate[MAX_SIZES];
	int npings, nstreams, nrates;
};

extern struct options opt;

/* What a client asks for, first thing and after each answer; native order. */
enum op { OP_PING, OP_STREAM, OP_MEMORY, OP_DROP, OP_USAGE };

struct request {
	uint32_t op;
	uint32_t size;
	uint64_t count;		/* round trips; bytes in all */
};

/* Ports: control, then for each transport one that serves, holds, closes. */
enum { PORT_CONTROL = 0, PORT_SERVE = 1, PORT_HOLD = 2, PORT_CLOSE = 3, PORTS = 3 };

enum { NTRANSPORTS = 12 };

extern const struct transport *const transports[NTRANSPORTS];

int port_of(int transport, int what);
void recv_stream(const struct transport *t, void *c, uint32_t size, uint64_t total);
void recv_exact(const struct transport *t, void *c, size_t size);
void ask(const struct transport *t, void *c, enum op op, uint32_t size, uint64_t count);

/* @chosen: of transports[].  The first never returns. */
void serve(const bool *chosen);
void compare(const bool *chosen, void *control);
void measure_idle(const bool *chosen, void *control);

#endif
