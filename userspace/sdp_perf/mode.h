/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A mode: what is measured, as a table of functions.  run() is the runner's part and
 * serve() the session's, of one measurement; the control has told both its size and
 * count.  figures() is the client's part: what is said of all measurements of a size.
 */
#ifndef _PERF_MODE_H
#define _PERF_MODE_H

#include "report.h"
#include "stats.h"
#include "transport.h"

enum { STREAMS_MAX = 1024, CLIENTS_MAX = 256 };

/* One side of the connections that are measured. */
struct ends {
	const struct transport *t;
	struct plan plan;
	void *listener;			/* of a session */
	struct place at;		/* where it listens */
	void **conns;			/* plan.streams */
};

struct task {
	uint32_t size;
	uint64_t count;			/* round trips; messages of a stream; connections */
};

/* What a runner tells of a measurement. */
struct result {
	bool failed;
	char text[512];			/* why; or what the transport goes by */
	int64_t start, end;		/* ns, as now() */
	int64_t process, busy;		/* ns of processors: of the two processes; here */
	int64_t busy_there;
	uint64_t count;			/* of what is counted, at both ends */
	uint64_t nsamples;		/* doubles that follow */
};

/* All measurements of a size and transport. */
struct tally {
	struct samples rates;		/* count by second, of each measurement */
	struct samples samples;		/* us: round trips, or times in send() */
	double count, process, busy;	/* sums, ns */
	double computed, elapsed;	/* sums, ns */
};

struct mode {
	const char *name;
	const char *rows;
	bool by_count;			/* the user says how much, not how long */
	uint64_t least;			/* to find out how much takes how long */
	const struct column *columns;
	int ncolumns;
	void (*run)(struct ends *e, const struct task *t, struct result *r, struct samples *s);
	void (*serve)(struct ends *e, const struct task *t);
	void (*figures)(struct tally *t, uint32_t size, double *figures);
};

extern const struct mode mode_latency, mode_stream, mode_connections;

const struct mode *mode_of(enum mode_id mode);

/* each.c */
void each_stream(struct ends *e, void (*does)(struct ends *e, uint32_t stream, void *with),
		 void *with, int64_t *start, int64_t *end);
void recv_exact(struct ends *e, void *conn, size_t size);

/* runner.c */
void runner_run(const struct transport *t, const char *host, uint16_t port)
	__attribute__((noreturn));

#endif
