// SPDX-License-Identifier: GPL-2.0
/*
 * Does a pipe deliver each byte once and in order, and keep to one page where
 * it can?
 *
 * Two threads that use one at a time are in selftests/unit/pipe.c; here is what
 * a single caller can see.
 */

#include <kunit/test.h>
#include <linux/module.h>

#include "../sdp_pipe.c"

enum { PIPE_LIMIT = 300, PIPE_LOW = 200 };

/* Begins shortly before positions go round. */
static void pipe_begin(struct sdp_pipe *pipe)
{
	sdp_pipe_init(pipe, PIPE_LOW);
	pipe->written = -10;
	pipe->read = -10;
}

static struct sdp_pipe_buf *pipe_buf(struct kunit *test, u32 size)
{
	struct sdp_pipe_buf *buf = kunit_kmalloc(test, sizeof(*buf), GFP_KERNEL);
	void *mem = kunit_kmalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_TRUE(test, buf && mem);
	*buf = (struct sdp_pipe_buf){ .mem = mem, .size = size };
	return buf;
}

/* Write @n bytes: their values are their positions.  Buffers have 100 bytes. */
static void pipe_write(struct kunit *test, struct sdp_pipe *pipe, u32 n)
{
	struct sdp_pipe_buf *buf;
	u32 i;

	while (n--) {
		KUNIT_ASSERT_TRUE(test, sdp_pipe_room(pipe, PIPE_LIMIT));
		buf = sdp_pipe_tail(pipe);
		if (!buf) {
			buf = sdp_pipe_reuse(pipe) ?: pipe_buf(test, 100);
			sdp_pipe_append(pipe, buf, 0);
		}
		i = buf->len;
		((u8 *)buf->mem)[i] = (u8)pipe->written;
		sdp_pipe_put(pipe, 1);
	}
}

/* Read what there is, up to @n bytes; how many. */
static u32 pipe_read(struct kunit *test, struct sdp_pipe *pipe, u32 n)
{
	u32 done = 0, off, len, i;

	while (done < n) {
		struct sdp_pipe_buf *buf = NULL;

		len = sdp_pipe_at(pipe, &buf, pipe->read, &off);
		if (!len)
			break;
		len = len < n - done ? len : n - done;
		for (i = 0; i < len; i++)
			KUNIT_EXPECT_EQ(test, ((u8 *)buf->mem)[off + i],
					(u8)(pipe->read + i));
		sdp_pipe_get(pipe, buf, len);
		done += len;
	}
	return done;
}

static void sdp_pipe_delivers(struct kunit *test)
{
	struct sdp_pipe pipe;
	u32 i;

	pipe_begin(&pipe);
	KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 1), 0);
	for (i = 0; i < 1000; i++) {
		pipe_write(test, &pipe, 1 + i % 290);
		KUNIT_EXPECT_EQ(test, sdp_pipe_fill(&pipe), 1 + i % 290);
		KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 1000),
				1 + i % 290);
	}
	/* And when it is never empty. */
	pipe_write(test, &pipe, 100);
	for (i = 0; i < 1000; i++) {
		pipe_write(test, &pipe, 70);
		KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 70), 70);
	}
}

static void sdp_pipe_takes_its_limit(struct kunit *test)
{
	struct sdp_pipe pipe;

	pipe_begin(&pipe);
	KUNIT_EXPECT_EQ(test, sdp_pipe_room(&pipe, PIPE_LIMIT), PIPE_LIMIT);
	pipe_write(test, &pipe, PIPE_LIMIT - 1);
	KUNIT_EXPECT_EQ(test, sdp_pipe_room(&pipe, PIPE_LIMIT), 1);
	pipe_write(test, &pipe, 1);
	KUNIT_EXPECT_EQ(test, sdp_pipe_room(&pipe, PIPE_LIMIT), 0);
	pipe_read(test, &pipe, 1);
	KUNIT_EXPECT_EQ(test, sdp_pipe_room(&pipe, PIPE_LIMIT), 1);
	/* The limit may be lowered below what there is. */
	KUNIT_EXPECT_EQ(test, sdp_pipe_room(&pipe, 100), 0);
}

/* Short messages that are answered one by one stay where they were. */
static void sdp_pipe_empty_begins_anew(struct kunit *test)
{
	struct sdp_pipe_buf *buf;
	struct sdp_pipe pipe;
	u32 i;

	pipe_begin(&pipe);
	pipe_write(test, &pipe, 1);
	buf = pipe.tail;
	for (i = 0; i < 500; i++) {
		KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 9), i ? 7 : 1);
		pipe_write(test, &pipe, 7);
		KUNIT_EXPECT_TRUE(test, pipe.tail == buf && buf->len == 7);
	}
	/* Not while something is unread. */
	pipe_write(test, &pipe, 94);
	KUNIT_EXPECT_TRUE(test, pipe.tail != buf);
}

/* A stream that flows allocates nothing, and what was read is taken in turn. */
static void sdp_pipe_reuses(struct kunit *test)
{
	struct sdp_pipe_buf *buf[3];
	struct sdp_pipe pipe;
	u32 i;

	pipe_begin(&pipe);
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_reuse(&pipe));
	for (i = 0; i < 3; i++) {
		pipe_write(test, &pipe, 100);
		buf[i] = pipe.tail;
	}
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_reuse(&pipe));
	pipe_read(test, &pipe, 100);
	/* The consumer stands at its end. */
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_reuse(&pipe));
	pipe_read(test, &pipe, 150);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_reuse(&pipe) == buf[0]);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_reuse(&pipe) == buf[1]);
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_reuse(&pipe));
	sdp_pipe_append(&pipe, buf[0], 0);
	pipe_write(test, &pipe, 100);
	KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 1000), 150);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_pop(&pipe) == buf[2]);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_pop(&pipe) == buf[0]);
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_pop(&pipe));
}

static void sdp_pipe_new_has_nothing(struct kunit *test)
{
	struct sdp_pipe pipe;

	sdp_pipe_init(&pipe, PIPE_LOW);
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_tail(&pipe));
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_pop(&pipe));
}

/* To peek is to look at later positions, and to move nothing. */
static void sdp_pipe_peeks(struct kunit *test)
{
	struct sdp_pipe_buf *buf = NULL;
	u32 off, len, pos, seen = 0;
	struct sdp_pipe pipe;

	pipe_begin(&pipe);
	pipe_write(test, &pipe, 250);
	pipe_read(test, &pipe, 20);
	for (pos = pipe.read + 5; (len = sdp_pipe_at(&pipe, &buf, pos, &off));
	     pos += len) {
		KUNIT_EXPECT_EQ(test, ((u8 *)buf->mem)[off], (u8)pos);
		seen += len;
	}
	KUNIT_EXPECT_EQ(test, seen, 225);
	KUNIT_EXPECT_EQ(test, sdp_pipe_at(&pipe, &buf, pos + 1, &off), 0);
	KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 1000), 230);
}

/* Pages of others lie between what was copied, and nothing is added to them. */
static void sdp_pipe_refers_to_pages(struct kunit *test)
{
	struct sdp_pipe_buf *page = pipe_buf(test, 0), *buf;
	struct sdp_pipe pipe;
	u32 off;

	pipe_begin(&pipe);
	pipe_write(test, &pipe, 30);
	page->kind = SDP_PIPE_PAGE;
	sdp_pipe_append(&pipe, page, 40);
	KUNIT_EXPECT_EQ(test, sdp_pipe_fill(&pipe), 70);
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_tail(&pipe));
	pipe_write(test, &pipe, 5);
	KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 30), 30);
	buf = NULL;
	KUNIT_EXPECT_EQ(test, sdp_pipe_at(&pipe, &buf, pipe.read, &off), 40);
	KUNIT_EXPECT_TRUE(test, buf == page && !off);
	sdp_pipe_get(&pipe, buf, 15);
	buf = NULL;
	KUNIT_EXPECT_EQ(test, sdp_pipe_at(&pipe, &buf, pipe.read, &off), 25);
	KUNIT_EXPECT_TRUE(test, buf == page && off == 15);
	sdp_pipe_get(&pipe, buf, 25);
	KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 1000), 5);
	/* Also when nothing is unread: the page is not the pipe's. */
	sdp_pipe_append(&pipe, page, 1);
	buf = NULL;
	KUNIT_EXPECT_EQ(test, sdp_pipe_at(&pipe, &buf, pipe.read, &off), 1);
	sdp_pipe_get(&pipe, buf, 1);
	KUNIT_EXPECT_TRUE(test, !sdp_pipe_tail(&pipe));
}

/* What TCP has sent comes before the pipe, and what it sends later behind it. */
static void sdp_pipe_comes_from_tcp_and_goes_back(struct kunit *test)
{
	struct sdp_pipe pipe;

	pipe_begin(&pipe);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_is_next(&pipe, 1000));
	sdp_pipe_switch(&pipe, 1000);
	pipe_write(test, &pipe, 10);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_is_next(&pipe, 999));
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_next(&pipe, 1000));
	/* Known from then on, whatever TCP says. */
	sdp_pipe_begin(&pipe);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_next(&pipe, 5));
	sdp_pipe_leave(&pipe);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_next(&pipe, 1000));
	pipe_read(test, &pipe, 9);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_next(&pipe, 1000));
	pipe_read(test, &pipe, 1);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_is_next(&pipe, 1000));
}

/* It may leave before anything was put, and before the consumer has begun. */
static void sdp_pipe_goes_back_at_once(struct kunit *test)
{
	struct sdp_pipe pipe;

	pipe_begin(&pipe);
	sdp_pipe_switch(&pipe, 1000);
	sdp_pipe_leave(&pipe);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_is_next(&pipe, 1000));
}

static void sdp_pipe_takes_the_last_back(struct kunit *test)
{
	struct sdp_pipe pipe;
	u8 byte = 0;

	pipe_begin(&pipe);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_unput(&pipe, &byte));
	pipe_write(test, &pipe, 101);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_unput(&pipe, &byte));
	KUNIT_EXPECT_EQ(test, byte, (u8)pipe.written);
	KUNIT_EXPECT_EQ(test, sdp_pipe_fill(&pipe), 100);
	/* The last buffer is empty now, and the one before is the consumer's. */
	KUNIT_EXPECT_FALSE(test, sdp_pipe_unput(&pipe, &byte));
	sdp_pipe_put(&pipe, 1);
	KUNIT_EXPECT_EQ(test, pipe_read(test, &pipe, 1000), 101);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_unput(&pipe, &byte));
}

static void sdp_pipe_wakes_who_waits_for_space(struct kunit *test)
{
	struct sdp_pipe pipe;

	pipe_begin(&pipe);
	pipe_write(test, &pipe, PIPE_LIMIT);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_space_due(&pipe));	/* nobody waits */
	KUNIT_EXPECT_FALSE(test, sdp_pipe_want_space(&pipe, PIPE_LOW));
	pipe_read(test, &pipe, PIPE_LIMIT - PIPE_LOW - 1);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_space_due(&pipe));
	KUNIT_EXPECT_FALSE(test, sdp_pipe_stop(&pipe));
	pipe_read(test, &pipe, 1);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_space_due(&pipe));
	KUNIT_EXPECT_TRUE(test, sdp_pipe_stop(&pipe));
	sdp_pipe_space_told(&pipe);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_space_due(&pipe));
	KUNIT_EXPECT_TRUE(test, sdp_pipe_want_space(&pipe, PIPE_LOW));	/* need not wait */
	KUNIT_EXPECT_FALSE(test, sdp_pipe_want_space(&pipe, PIPE_LOW - 1));
}

static void sdp_pipe_wakes_who_has_enough(struct kunit *test)
{
	struct sdp_pipe pipe;

	pipe_begin(&pipe);
	pipe_write(test, &pipe, 1);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_enough(&pipe));
	KUNIT_EXPECT_FALSE(test, sdp_pipe_need(&pipe, 20));
	KUNIT_EXPECT_FALSE(test, sdp_pipe_is_enough(&pipe));
	pipe_write(test, &pipe, 18);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_is_enough(&pipe));
	pipe_write(test, &pipe, 1);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_enough(&pipe));
	KUNIT_EXPECT_TRUE(test, sdp_pipe_need(&pipe, 20));
	sdp_pipe_need_any(&pipe);
	pipe_read(test, &pipe, 20);
	pipe_write(test, &pipe, 1);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_is_enough(&pipe));
	/* A producer may wait while so much is unread, so that is enough. */
	pipe_write(test, &pipe, PIPE_LOW - 1);
	KUNIT_EXPECT_FALSE(test, sdp_pipe_need(&pipe, PIPE_LIMIT + 1));
	pipe_write(test, &pipe, 1);
	KUNIT_EXPECT_TRUE(test, sdp_pipe_need(&pipe, PIPE_LIMIT + 1));
}

static struct kunit_case sdp_pipe_cases[] = {
	KUNIT_CASE(sdp_pipe_delivers),
	KUNIT_CASE(sdp_pipe_takes_its_limit),
	KUNIT_CASE(sdp_pipe_empty_begins_anew),
	KUNIT_CASE(sdp_pipe_reuses),
	KUNIT_CASE(sdp_pipe_new_has_nothing),
	KUNIT_CASE(sdp_pipe_peeks),
	KUNIT_CASE(sdp_pipe_refers_to_pages),
	KUNIT_CASE(sdp_pipe_comes_from_tcp_and_goes_back),
	KUNIT_CASE(sdp_pipe_goes_back_at_once),
	KUNIT_CASE(sdp_pipe_takes_the_last_back),
	KUNIT_CASE(sdp_pipe_wakes_who_waits_for_space),
	KUNIT_CASE(sdp_pipe_wakes_who_has_enough),
	{}
};

static struct kunit_suite sdp_pipe_suite = {
	.name = "sdp_pipe",
	.test_cases = sdp_pipe_cases,
};

kunit_test_suite(sdp_pipe_suite);

MODULE_DESCRIPTION("KUnit suites for the pure files of the path inside one host");
MODULE_LICENSE("GPL");
