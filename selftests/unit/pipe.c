// SPDX-License-Identifier: GPL-2.0
/*
 * A pipe with its producer and its consumer in two threads, under ASan and under
 * TSan: is each byte delivered once and in order, is no buffer written to or freed
 * while the consumer looks at it, does nobody sleep for ever?
 *
 * A byte's value follows from its position.  Each round has chances of its own:
 * sizes of writes, reads and buffers, the limit, what the consumer needs, pages of
 * others in between, looks ahead, and returning to TCP at the end.
 *
 * What sleeps and wakes is modelled on the kernel's: a thread prepares, looks once
 * more, and sleeps; a waker looks for a sleeper behind a full barrier.  When both
 * sleep and neither was woken nobody ever will be: no clock has to tell that.
 *
 * "pipe SEED COUNT"; a failure prints its seed.
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../kernel/local/sdp_pipe.h"
#include "chance.h"

enum { PRODUCER, CONSUMER };

static struct {
	struct sdp_pipe pipe;
	u32 total;		/* bytes of this round */
	u32 begin;		/* position of the first */
	u32 most_written, most_read; /* bytes of one call */
	u32 limit, low;
	u32 buf_size;
	u32 chance_page, chance_peek, chance_need; /* one in so many; 0: never */
	bool leaves;		/* the stream goes back to TCP in the end */
} r;

static uint64_t seed;
static u64 slept[2], passed, reused, pages;

#define CHECK(what) do {						\
	if (!(what)) {							\
		printf("not ok 1 - pipe: seed %llu: %s:%d: not true: %s\n",	\
		       (unsigned long long)seed, __FILE__, __LINE__, #what); \
		fflush(stdout);						\
		_Exit(1);						\
	}								\
} while (0)

static bool one_in(u32 n)
{
	return n && !below(n);
}

/* Let the other thread come between. */
static void interfere(void)
{
	if (one_in(4))
		sched_yield();
}

/* Wait queues */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	pthread_cond_t cond;
	bool queued;		/* also read without the lock: READ_ONCE() */
	bool woken, asleep;
} queue[2] = {
	{ .cond = PTHREAD_COND_INITIALIZER },
	{ .cond = PTHREAD_COND_INITIALIZER },
};

static void prepare(int me)
{
	interfere();
	pthread_mutex_lock(&lock);
	WRITE_ONCE(queue[me].queued, true);
	queue[me].woken = false;
	pthread_mutex_unlock(&lock);
	smp_mb();	/* set_current_state() */
}

static void finish(int me)
{
	pthread_mutex_lock(&lock);
	WRITE_ONCE(queue[me].queued, false);
	pthread_mutex_unlock(&lock);
}

static void sleeps(int me)
{
	interfere();
	pthread_mutex_lock(&lock);
	queue[me].asleep = true;
	while (!queue[me].woken) {
		CHECK(!queue[!me].asleep || queue[!me].woken);
		pthread_cond_wait(&queue[me].cond, &lock);
	}
	queue[me].asleep = false;
	slept[me]++;
	pthread_mutex_unlock(&lock);
}

static void wake(int who)
{
	interfere();
	smp_mb();	/* skwq_has_sleeper() */
	if (!READ_ONCE(queue[who].queued))
		return;
	pthread_mutex_lock(&lock);
	if (queue[who].queued) {
		WRITE_ONCE(queue[who].queued, false);
		queue[who].woken = true;
		pthread_cond_signal(&queue[who].cond);
	}
	pthread_mutex_unlock(&lock);
}

static u8 value(u32 pos)
{
	return (pos * 2654435761u) >> 24 ^ pos;
}

/* Memory */

static void buf_free(struct sdp_pipe_buf *buf)
{
	free(buf->mem);
	free(buf);
}

static struct sdp_pipe_buf *buf_new(u32 size, u8 kind)
{
	struct sdp_pipe_buf *buf = calloc(1, sizeof(*buf));

	CHECK(buf);
	buf->mem = malloc(size);
	CHECK(buf->mem);
	buf->size = size;
	buf->kind = kind;
	return buf;
}

static struct sdp_pipe_buf *buf_own(void)
{
	struct sdp_pipe_buf *buf;

	while ((buf = sdp_pipe_reuse(&r.pipe))) {
		CHECK(buf->kind == SDP_PIPE_OWN || !buf->mem);
		reused++;
		if (buf->kind == SDP_PIPE_OWN && !one_in(8))
			return buf;
		buf_free(buf);
	}
	return buf_new(r.buf_size, SDP_PIPE_OWN);
}

/* The producer */

static u32 put_page(u32 n)
{
	struct sdp_pipe_buf *buf;
	u32 i;

	n = n < 4096 ? n : 4096;
	buf = buf_new(n, SDP_PIPE_PAGE);
	for (i = 0; i < n; i++)
		((u8 *)buf->mem)[i] = value(r.pipe.written + i);
	sdp_pipe_append(&r.pipe, buf, n);
	pages++;
	return n;
}

static u32 put_copied(u32 n)
{
	struct sdp_pipe_buf *buf = sdp_pipe_tail(&r.pipe);
	u32 i;

	if (!buf) {
		buf = buf_own();
		sdp_pipe_append(&r.pipe, buf, 0);
	}
	n = n < buf->size - buf->len ? n : buf->size - buf->len;
	for (i = 0; i < n; i++)
		((u8 *)buf->mem)[buf->len + i] = value(r.pipe.written + i);
	sdp_pipe_put(&r.pipe, n);
	return n;
}

static void wait_space(void)
{
	wake(CONSUMER);
	prepare(PRODUCER);
	if (!sdp_pipe_want_space(&r.pipe, r.low + below(r.limit - r.low)))
		sleeps(PRODUCER);
	finish(PRODUCER);
}

static void *producer(void *unused)
{
	u32 left = r.total;

	(void)unused;
	rng = seed;
	sdp_pipe_switch(&r.pipe, 77);
	while (left) {
		u32 n = 1 + below(r.most_written), room;

		n = n < left ? n : left;
		left -= n;
		while (n) {
			room = sdp_pipe_room(&r.pipe, r.limit);
			if (!room) {
				wait_space();
				continue;
			}
			room = room < n ? room : n;
			n -= one_in(r.chance_page) ? put_page(room) :
			     put_copied(room);
		}
		if (sdp_pipe_is_enough(&r.pipe))
			wake(CONSUMER);
	}
	if (r.leaves)
		sdp_pipe_leave(&r.pipe);
	wake(CONSUMER);
	return NULL;
}

/* The consumer */

static void look(u32 pos, u32 most)
{
	struct sdp_pipe_buf *buf = NULL;
	u32 off, n, i;

	while (most && (n = sdp_pipe_at(&r.pipe, &buf, pos, &off))) {
		n = n < most ? n : most;
		for (i = 0; i < n; i++)
			CHECK(((u8 *)buf->mem)[off + i] == value(pos + i));
		pos += n;
		most -= n;
	}
}

static u32 take(u32 most)
{
	struct sdp_pipe_buf *buf = NULL;
	u32 off, n, i;

	n = sdp_pipe_at(&r.pipe, &buf, r.pipe.read, &off);
	n = n < most ? n : most;
	if (!n)
		return 0;
	for (i = 0; i < n; i++)
		CHECK(((u8 *)buf->mem)[off + i] == value(r.pipe.read + i));
	if (buf->kind == SDP_PIPE_PAGE && off + n == buf->len) {
		free(buf->mem);
		buf->mem = NULL;
	}
	sdp_pipe_get(&r.pipe, buf, n);
	passed += n;
	return n;
}

static void wait_data(u32 need)
{
	if (sdp_pipe_stop(&r.pipe)) {
		sdp_pipe_space_told(&r.pipe);
		wake(PRODUCER);
	}
	prepare(CONSUMER);
	if (!sdp_pipe_need(&r.pipe, need))
		sleeps(CONSUMER);
	finish(CONSUMER);
	sdp_pipe_need_any(&r.pipe);
}

static void *consumer(void *unused)
{
	u32 left = r.total, n, most, need;

	(void)unused;
	rng = ~seed;
	while (left) {
		most = 1 + below(r.most_read);
		need = one_in(r.chance_need) ? 1 + below(r.most_read) : 1;
		need = need < left ? need : left;
		if (!sdp_pipe_is_next(&r.pipe, 77)) {
			CHECK(!sdp_pipe_fill(&r.pipe));
			wait_data(1);
			continue;
		}
		sdp_pipe_begin(&r.pipe);
		if (one_in(r.chance_peek))
			look(r.pipe.read + below(100), 2 * most);
		/* It may wait for more than there is, as SO_RCVLOWAT has it. */
		n = need > 1 && !sdp_pipe_has(&r.pipe, need) ? 0 : take(most);
		left -= n;
		if (sdp_pipe_space_due(&r.pipe)) {
			sdp_pipe_space_told(&r.pipe);
			wake(PRODUCER);
		}
		if (!n && left)
			wait_data(need);
	}
	return NULL;
}

static void converse(void)
{
	struct sdp_pipe_buf *buf;
	pthread_t thread[2];

	rng = seed;
	r.total = 1 + below(one_in(4) ? 3000000 : 100000);
	r.begin = one_in(2) ? -below(r.total) : rnd();
	r.most_written = 1 << below(17);
	r.most_read = 1 << below(17);
	r.buf_size = 1 << (6 + below(10));
	r.chance_page = one_in(2) ? 1 + below(20) : 0;
	r.chance_peek = one_in(2) ? 1 + below(20) : 0;
	r.chance_need = one_in(2) ? 1 + below(4) : 0;
	r.leaves = one_in(2);
	if (r.most_written + r.most_read < 64 && r.total > 50000)
		r.total = 50000;
	r.limit = 2 + below(one_in(2) ? 1000 : 300000);
	r.low = 1 + below(r.limit - 1);
	sdp_pipe_init(&r.pipe, r.low);
	r.pipe.written = r.pipe.read = r.begin;

	CHECK(!pthread_create(&thread[0], NULL, producer, NULL));
	CHECK(!pthread_create(&thread[1], NULL, consumer, NULL));
	pthread_join(thread[0], NULL);
	pthread_join(thread[1], NULL);
	CHECK(!sdp_pipe_fill(&r.pipe));
	CHECK(sdp_pipe_is_next(&r.pipe, 77) == !r.leaves);
	while ((buf = sdp_pipe_pop(&r.pipe)))
		buf_free(buf);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 300, i;

	seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	for (i = 0; i < count; i++, seed++)
		converse();
	/* Or nothing of what can go wrong was tried. */
	CHECK(slept[0] && slept[1] && passed && reused && pages);
	printf("ok 1 - pipe: %lu streams, %llu MiB; sleeps %llu and %llu, buffers used again %llu\n",
	       count, (unsigned long long)passed >> 20,
	       (unsigned long long)slept[0], (unsigned long long)slept[1],
	       (unsigned long long)reused);
	return 0;
}
