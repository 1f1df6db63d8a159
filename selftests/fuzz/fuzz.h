/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the fuzzers have in common.
 *
 * A fuzzer is one file, fuzz_NAME.c, with the functions below, and is
 * built twice: with change.c and clang's libFuzzer, which looks at what an
 * input reaches ("make fuzz" of the top directory), and with main.c, which makes its
 * inputs by chance alone and needs nothing but gcc ("make check").  What
 * main.c makes are also the seeds that libFuzzer starts from.
 */
#ifndef _FUZZ_H
#define _FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(ok)							\
do {									\
	if (!(ok)) {							\
		fprintf(stderr, "%s:%d: does not hold: %s\n",		\
			__FILE__, __LINE__, #ok);			\
		abort();						\
	}								\
} while (0)

/* Read an input, and abort() if anything that must hold does not. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* There is at least so much room for an input. */
enum { FUZZ_ROOM = 2048 };

/* Make an input by chance; its size. */
size_t fuzz_make(uint8_t *to, size_t room);

/* Change one somewhere; its new size. */
size_t fuzz_change(uint8_t *input, size_t size, size_t room);

/* A file of the command line, for who makes his inputs from files. */
void fuzz_file(const char *bytes, size_t size) __attribute__((weak));

/* An allocation of just that size, so that the first byte behind it is seen. */
static inline void *exact_copy(const void *from, size_t bytes)
{
	void *copy = malloc(bytes);

	if (!bytes)
		return copy;
	if (!copy)
		abort();
	return memcpy(copy, from, bytes);
}

#endif
