// SPDX-License-Identifier: GPL-2.0
/* What both ends do with their connections, whatever is measured. */
#include <pthread.h>
#include <stdlib.h>

#include "mode.h"

struct stream {
	struct ends *e;
	uint32_t n;
	void (*does)(struct ends *e, uint32_t stream, void *with);
	void *with;
	pthread_barrier_t *start;
	pthread_t thread;
};

static void *stream_thread(void *arg)
{
	struct stream *s = arg;

	pthread_barrier_wait(s->start);
	s->does(s->e, s->n, s->with);
	return NULL;
}

static void in_threads(struct stream *streams, uint32_t n, int64_t *start)
{
	pthread_barrier_t barrier;
	uint32_t i;

	pthread_barrier_init(&barrier, NULL, n + 1);
	for (i = 0; i < n; i++) {
		streams[i].start = &barrier;
		if (pthread_create(&streams[i].thread, NULL, stream_thread, &streams[i]))
			fail("no thread for each of %u streams", n);
	}
	if (start)
		*start = now();
	pthread_barrier_wait(&barrier);
	for (i = 0; i < n; i++)
		pthread_join(streams[i].thread, NULL);
	pthread_barrier_destroy(&barrier);
}

/**
 * each_stream() - do something with each connection, with all at once
 * @e: the connections
 * @does: what; @stream is the connection's number
 * @with: for @does
 * @start: when it began, if not NULL
 * @end: when all had ended, if not NULL
 *
 * Context: The main thread.
 */
void each_stream(struct ends *e, void (*does)(struct ends *e, uint32_t stream, void *with),
		 void *with, int64_t *start, int64_t *end)
{
	struct stream *streams = need(calloc(e->plan.streams, sizeof(*streams)));
	uint32_t i;

	for (i = 0; i < e->plan.streams; i++)
		streams[i] = (struct stream) { .e = e, .n = i, .does = does, .with = with };
	/* A program that has one connection has no thread for it. */
	if (e->plan.streams > 1) {
		in_threads(streams, e->plan.streams, start);
	} else {
		if (start)
			*start = now();
		does(e, 0, with);
	}
	if (end)
		*end = now();
	free(streams);
}

/**
 * recv_exact() - receive what is not looked at
 * @e: the connection's side
 * @conn: the connection
 * @size: bytes
 *
 * Context: Any thread that may receive; gives up if the other end closes.
 */
void recv_exact(struct ends *e, void *conn, size_t size)
{
	char *data;
	size_t n;

	while (size) {
		n = e->t->recv(conn, size, &data);
		if (!n)
			lost("the other end has closed");
		size -= n;
	}
}
