// SPDX-License-Identifier: GPL-2.0
/*
 * Streams: messages one way, or both ways at once, as fast as they go; of one connection
 * or of several, each of which has a thread at each end.
 *
 * A stream is over when its receiver has taken all and a word of it is back, so that what
 * lies in buffers does not count.  With --window there is a word for so many messages, and
 * nothing is sent meanwhile.
 *
 * --compute-us: the sender has work of its own between two sends, of a length that was
 * measured with nothing beside it.  By how much longer the whole takes tells what part of
 * its processor was left to it.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "mode.h"

enum { READ_AT_LEAST = 64 << 10 };	/* of short messages several at a time */

enum {
	RATE, RATE_LOW, RATE_HIGH, MESSAGES, PE, PE_PROCESS,
	SEND, SEND_P99, COMPUTE, FIGURES
};

static const struct column columns[] = {
	[RATE] = {
		.key = "mib_s", .title = "MiB/s: median (least..greatest)",
		.low = RATE_LOW, .high = RATE_HIGH
	},
	[RATE_LOW] = { .key = "mib_s_min" },
	[RATE_HIGH] = { .key = "mib_s_max" },
	[MESSAGES] = { .key = "messages_s", .title = "messages/s: median" },
	[PE] = { .key = "pe_host", .title = "PE index, MiB a processor-second of the hosts" },
	[PE_PROCESS] = {
		.key = "pe_process",
		.title = "PE index, MiB a processor-second of the processes"
	},
	[SEND] = { .key = "send_us", .title = "in send(), us: median" },
	[SEND_P99] = {
		.key = "send_p99_us",
		.title = "in send(), us: 99 of 100 take no longer"
	},
	[COMPUTE] = {
		.key = "compute_share",
		.title = "part of the processor left to the sender's own work"
	},
};

/* -------------------------------------------------------------- the sender's work */

enum { WORK = 1000, TRIALS = 50 };	/* steps of one trial */

static double ns_of_step;

/* So much that the compiler cannot leave it out. */
static void work(uint64_t steps)
{
	static __thread volatile uint64_t result;
	uint64_t x = result + 1;

	while (steps--)
		x = x * 6364136223846793005ull + 1442695040888963407ull;
	result = x;
}

/* The least: the others were disturbed. */
static void measure_work(void)
{
	int64_t start, least = INT64_MAX;
	int i;

	for (i = 0; i < TRIALS; i++) {
		start = now();
		work(WORK);
		start = now() - start;
		if (start < least)
			least = start;
	}
	ns_of_step = (double)(least > 0 ? least : 1) / WORK;
}

/* -------------------------------------------------------------------- both ends */

struct way {
	const struct task *t;
	double *send_us;		/* of the first stream; NULL: not asked for */
	struct ends *e;
	void *conn;
	uint64_t steps;			/* of work between sends */
};

static void check_piece(const char *data, size_t n, uint64_t at, void *with)
{
	struct way *w = with;

	pattern_check_stream(data, n, w->t->size, at, &w->e->plan);
}

static void recv_stream(struct way *w)
{
	uint64_t total = w->t->size * w->t->count, at = 0, left, until;
	uint64_t words = (uint64_t)w->e->plan.window * w->t->size;
	size_t read = w->t->size < READ_AT_LEAST ? READ_AT_LEAST : w->t->size, n;
	char *data;

	while (at < total) {
		until = words ? words - at % words : total - at;
		left = until < read ? until : read;
		n = w->e->t->recv(w->conn, left, &data);
		if (!n)
			lost("the other end has closed");
		check_piece(data, n, at, w);
		at += n;
		if (words && !(at % words))
			w->e->t->send_word(w->conn);
	}
}

static void write_again(struct way *w, uint64_t message)
{
	if (w->e->t->settle)
		w->e->t->settle(w->conn);
	pattern_fill(w->e->t->buffer(w->conn), w->t->size, message / w->e->plan.touch);
}

static void send_stream(struct way *w)
{
	const struct plan *plan = &w->e->plan;
	int64_t start;
	uint64_t i;

	for (i = 0; i < w->t->count; i++) {
		if (plan->touch && i && !(i % plan->touch))
			write_again(w, i);
		if (w->steps)
			work(w->steps);
		if (w->send_us) {
			start = now();
			w->e->t->send(w->conn, w->t->size);
			w->send_us[i] = (now() - start) / 1e3;
		} else {
			w->e->t->send(w->conn, w->t->size);
		}
		if (plan->window && !((i + 1) % plan->window))
			recv_exact(w->e, w->conn, 1);
	}
}

static void *send_thread(void *arg)
{
	send_stream(arg);
	return NULL;
}

static void both_ways(struct way *w)
{
	pthread_t thread;

	if (w->e->t->exchange) {
		w->e->t->exchange(w->conn, w->t->size, w->t->count, check_piece, w);
		return;
	}
	if (pthread_create(&thread, NULL, send_thread, w))
		fail("no thread");
	recv_stream(w);
	pthread_join(thread, NULL);
}

static void fill_all(struct ends *e, uint32_t size)
{
	uint32_t i;

	for (i = 0; i < e->plan.streams; i++)
		pattern_fill(e->t->buffer(e->conns[i]), size, 0);
}

/* -------------------------------------------------------------------- the client */

static void run_one(struct ends *e, uint32_t stream, void *with)
{
	struct way w = *(struct way *)with;

	w.conn = e->conns[stream];
	if (stream)
		w.send_us = NULL;
	if (e->plan.both)
		both_ways(&w);
	else
		send_stream(&w);
	recv_exact(e, w.conn, 1);
}

static void stream_run(struct ends *e, const struct task *t, struct result *r, struct samples *s)
{
	struct way w = { .e = e, .t = t };

	if (opt.compute_us) {
		if (!ns_of_step)
			measure_work();
		w.steps = opt.compute_us * 1e3 / ns_of_step + 1;
	}
	if (opt.send_time)
		w.send_us = need(calloc(t->count, sizeof(*w.send_us)));
	fill_all(e, t->size);
	each_stream(e, run_one, &w, &r->start, &r->end);
	r->count = t->count * e->plan.streams * (e->plan.both ? 2 : 1);
	if (w.send_us && !samples_add(s, w.send_us, t->count))
		fail("out of memory");
	free(w.send_us);
}

static void stream_figures(struct tally *t, uint32_t size, double *figures)
{
	double mib = size / 1048576.0;

	samples_sort(&t->rates);
	samples_sort(&t->samples);
	figures[MESSAGES] = samples_median(&t->rates);
	figures[RATE] = figures[MESSAGES] * mib;
	figures[RATE_LOW] = t->rates.at[0] * mib;
	figures[RATE_HIGH] = t->rates.at[t->rates.n - 1] * mib;
	/* The kernel tells idle time in steps, which may be more than was used. */
	if (t->busy > 0)
		figures[PE] = t->count * mib / (t->busy / 1e9);
	if (t->process > 0)
		figures[PE_PROCESS] = t->count * mib / (t->process / 1e9);
	figures[SEND] = samples_median(&t->samples);
	figures[SEND_P99] = samples_quantile(&t->samples, 99, 100);
	if (opt.compute_us)
		figures[COMPUTE] = t->computed / t->elapsed;
}

/* -------------------------------------------------------------------- the session */

static void serve_one(struct ends *e, uint32_t stream, void *with)
{
	struct way w = { .e = e, .t = with, .conn = e->conns[stream] };

	if (e->plan.both)
		both_ways(&w);
	else
		recv_stream(&w);
	e->t->send_word(w.conn);
}

static void stream_serve(struct ends *e, const struct task *t)
{
	if (e->plan.both)
		fill_all(e, t->size);
	each_stream(e, serve_one, (void *)t, NULL, NULL);
}

const struct mode mode_stream = {
	.name = "bw", .rows = "bytes", .least = 16,
	.columns = columns, .ncolumns = FIGURES,
	.run = stream_run, .serve = stream_serve, .figures = stream_figures,
};
