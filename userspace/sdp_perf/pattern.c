// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes that are sent, and whether those that came are these.
 *
 * A message is filled with numbers that count up to a prime, so that what comes from
 * another place, or a page too early, differs; a buffer that is written again gets
 * another start.  That is its "fill".  With --verify each byte is compared.  Without, the
 * first and the last of each piece that a read brings, which costs next to nothing and
 * finds what is lost, doubled or late.
 */
#include <string.h>

#include "perf.h"

enum { PRIME = 251, STEP = 97, SPAN = 4096 };

/* Where the count of a fill is at its byte @at. */
static unsigned int count_at(uint64_t fill, uint64_t at)
{
	return (at + fill % PRIME * STEP) % PRIME;
}

/* A span of counting, to copy from and compare with, from each start. */
static const unsigned char *counting(void)
{
	static unsigned char table[SPAN + PRIME];
	static bool made;
	int i;

	/* Two threads may write it at once: the same. */
	if (!__atomic_load_n(&made, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < SPAN + PRIME; i++)
			table[i] = i % PRIME;
		__atomic_store_n(&made, true, __ATOMIC_RELEASE);
	}
	return table;
}

/**
 * pattern_fill() - write a whole message
 * @to: its buffer
 * @size: bytes
 * @fill: which
 *
 * Context: Any thread.
 */
void pattern_fill(char *to, uint32_t size, uint64_t fill)
{
	uint32_t at, n;

	for (at = 0; at < size; at += n) {
		n = size - at < SPAN ? size - at : SPAN;
		memcpy(to + at, counting() + count_at(fill, at), n);
	}
}

static void wrong(uint64_t at, unsigned int is, unsigned int should)
{
	fail("the bytes are not those that were sent: at %llu there is %u, which should be %u",
	     (unsigned long long)at, is, should);
}

/* Bytes of one message. */
static void check(const char *part, size_t n, size_t in_message, uint64_t fill, uint64_t at)
{
	size_t i, m;

	for (; n; n -= m, part += m, in_message += m, at += m) {
		m = n < SPAN ? n : SPAN;
		if (!memcmp(part, counting() + count_at(fill, in_message), m))
			continue;
		for (i = 0; (unsigned char)part[i] == count_at(fill, in_message + i); i++)
			;
		wrong(at + i, (unsigned char)part[i], count_at(fill, in_message + i));
	}
}

/**
 * pattern_stamp() - make a message another one, by its first and last byte or by all
 * @message: its buffer, which has some fill already
 * @size: bytes
 * @fill: which it gets
 * @all: all bytes
 *
 * Context: Any thread.
 */
void pattern_stamp(char *message, uint32_t size, uint64_t fill, bool all)
{
	if (all) {
		pattern_fill(message, size, fill);
		return;
	}
	message[size - 1] = count_at(fill, size - 1);
	message[0] = count_at(fill, 0);
}

/**
 * pattern_check_message() - give up if a message is not that of pattern_stamp()
 * @part: what came
 * @n: bytes of it
 * @size: of the message
 * @at: where in the message they are
 * @fill: as there
 * @all: as there
 *
 * Context: Any thread.
 */
void pattern_check_message(const char *part, size_t n, uint32_t size, size_t at,
			   uint64_t fill, bool all)
{
	if (all) {
		check(part, n, at, fill, at);
		return;
	}
	if (!at)
		check(part, 1, 0, fill, 0);
	if (at + n == size)
		check(part + n - 1, 1, size - 1, fill, size - 1);
}

/* @n bytes at byte @at of a stream, all of one message. */
static void check_in_stream(const char *part, size_t n, uint32_t size, uint64_t at,
			    const struct plan *plan)
{
	uint64_t message = at / size;

	check(part, n, at % size, plan->touch ? message / plan->touch : 0, at);
}

/**
 * pattern_check_stream() - give up if a piece of a stream is not what was sent
 * @part: what came
 * @n: bytes of it, at least one
 * @size: of the messages
 * @at: bytes of the stream before it
 * @plan: how often the buffer is written again, and whether to compare each byte
 *
 * Context: Any thread.
 */
void pattern_check_stream(const char *part, size_t n, uint32_t size, uint64_t at,
			  const struct plan *plan)
{
	size_t m;

	if (!plan->verify) {
		check_in_stream(part, 1, size, at, plan);
		check_in_stream(part + n - 1, 1, size, at + n - 1, plan);
		return;
	}
	for (; n; n -= m, part += m, at += m) {
		m = size - at % size;
		if (m > n)
			m = n;
		check_in_stream(part, m, size, at, plan);
	}
}
