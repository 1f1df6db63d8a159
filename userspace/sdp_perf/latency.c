// SPDX-License-Identifier: GPL-2.0
/*
 * Latency: a message there and the same back, one at a time, each by the clock.  All
 * samples of a size and transport are kept, so that the slow ones are seen as well.
 *
 * The first ones are not counted: they meet cold caches, and a session that has just been
 * told what to do.
 */
#include <math.h>
#include <stdlib.h>

#include "mode.h"

enum { WARM = 16 };

enum { MEDIAN, P99, P999, LEAST, SAMPLES, FIGURES };

static const struct column columns[] = {
	[MEDIAN] = { .key = "median_us", .title = "round trip, us: median" },
	[P99] = { .key = "p99_us", .title = "round trip, us: 99 of 100 take no longer" },
	[P999] = { .key = "p99_9_us", .title = "round trip, us: 999 of 1000 take no longer" },
	[LEAST] = { .key = "min_us" },
	[SAMPLES] = { .key = "samples" },
};

static void recv_message(struct ends *e, void *conn, uint32_t size, uint64_t n)
{
	size_t at, got;
	char *data;

	for (at = 0; at < size; at += got) {
		got = e->t->recv(conn, size - at, &data);
		if (!got)
			lost("the other end has closed");
		pattern_check_message(data, got, size, at, n, e->plan.verify);
	}
}

static void latency_run(struct ends *e, const struct task *t, struct result *r, struct samples *s)
{
	double *us = need(calloc(t->count, sizeof(*us)));
	void *conn = e->conns[0];
	char *message = e->t->buffer(conn);
	int64_t start;
	uint64_t i;

	pattern_fill(message, t->size, 0);
	for (i = 0; i < t->count + WARM; i++) {
		pattern_stamp(message, t->size, i, e->plan.verify);
		start = now();
		if (i == WARM)
			r->start = start;
		e->t->send(conn, t->size);
		recv_message(e, conn, t->size, i);
		r->end = now();
		if (i >= WARM)
			us[i - WARM] = (r->end - start) / 1e3;
	}
	r->count = t->count;
	if (!samples_add(s, us, t->count))
		fail("out of memory");
	free(us);
}

static void latency_serve(struct ends *e, const struct task *t)
{
	void *conn = e->conns[0];
	char *message = e->t->buffer(conn);
	uint64_t i;

	pattern_fill(message, t->size, 0);
	for (i = 0; i < t->count + WARM; i++) {
		recv_message(e, conn, t->size, i);
		pattern_stamp(message, t->size, i, e->plan.verify);
		e->t->send(conn, t->size);
	}
}

static void latency_figures(struct tally *t, uint32_t size, double *figures)
{
	(void)size;
	samples_sort(&t->samples);
	figures[MEDIAN] = samples_median(&t->samples);
	figures[P99] = samples_quantile(&t->samples, 99, 100);
	figures[P999] = samples_quantile(&t->samples, 999, 1000);
	figures[LEAST] = t->samples.n ? t->samples.at[0] : NAN;
	figures[SAMPLES] = t->samples.n;
}

const struct mode mode_latency = {
	.name = "latency", .rows = "bytes", .by_count = true,
	.columns = columns, .ncolumns = FIGURES,
	.run = latency_run, .serve = latency_serve, .figures = latency_figures,
};
