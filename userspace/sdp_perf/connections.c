// SPDX-License-Identifier: GPL-2.0
/*
 * Connections, one after another: the session closes each as soon as it has accepted it,
 * and the runner sees its end before it closes too.
 *
 * Of the first one it was asked what carries it, when its end had not come yet.
 */
#include "mode.h"

enum { RATE, RATE_LOW, RATE_HIGH, MEDIAN, P99, PE, PE_PROCESS, FIGURES };

static const struct column columns[] = {
	[RATE] = {
		.key = "connections_s", .title = "connections/s: median (least..greatest)",
		.low = RATE_LOW, .high = RATE_HIGH
	},
	[RATE_LOW] = { .key = "connections_s_min" },
	[RATE_HIGH] = { .key = "connections_s_max" },
	[MEDIAN] = { .key = "connection_us", .title = "one connection, us: median" },
	[P99] = {
		.key = "connection_p99_us",
		.title = "one connection, us: 99 of 100 take no longer"
	},
	[PE] = {
		.key = "pe_host",
		.title = "PE index, connections a processor-second of the hosts"
	},
	[PE_PROCESS] = {
		.key = "pe_process",
		.title = "PE index, connections a processor-second of the processes"
	},
};

static void connections_run(struct ends *e, const struct task *t, struct result *r,
			    struct samples *s)
{
	int64_t start, last;
	double us;
	uint64_t i;
	char *data;
	void *conn;

	r->start = now();
	last = r->start;
	for (i = 0; i < t->count; i++) {
		start = last;
		conn = e->t->connect(&e->plan, &e->at);
		if (e->t->recv(conn, 1, &data))
			fail("bytes came, and none were sent");
		e->t->close(conn);
		last = now();
		us = (last - start) / 1e3;
		if (!samples_add(s, &us, 1))
			fail("out of memory");
	}
	r->end = last;
	r->count = t->count;
}

static void connections_serve(struct ends *e, const struct task *t)
{
	uint64_t i;

	for (i = 0; i < t->count; i++)
		e->t->close(e->t->accept(e->listener));
}

static void connections_figures(struct tally *t, uint32_t size, double *figures)
{
	(void)size;
	samples_sort(&t->rates);
	samples_sort(&t->samples);
	figures[RATE] = samples_median(&t->rates);
	figures[RATE_LOW] = t->rates.at[0];
	figures[RATE_HIGH] = t->rates.at[t->rates.n - 1];
	figures[MEDIAN] = samples_median(&t->samples);
	figures[P99] = samples_quantile(&t->samples, 99, 100);
	if (t->busy > 0)
		figures[PE] = t->count / (t->busy / 1e9);
	if (t->process > 0)
		figures[PE_PROCESS] = t->count / (t->process / 1e9);
}

const struct mode mode_connections = {
	.name = "connections", .rows = "", .least = 4,
	.columns = columns, .ncolumns = FIGURES,
	.run = connections_run, .serve = connections_serve, .figures = connections_figures,
};
