// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the suites that were linked in and prints KTAP.  An argument runs only
 * the suites and cases whose name contains it.
 */

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "kunit_shim.h"

struct kunit_block {
	struct kunit_block *next;
	void *bytes;
};

static struct kunit_suite *suites;
static int suite_count;

void kunit_shim_add(struct kunit_suite *suite)
{
	struct kunit_suite **at = &suites;

	/* Constructors run in no order that the sources show; sort by name. */
	while (*at && strcmp((*at)->name, suite->name) < 0)
		at = &(*at)->next;
	suite->next = *at;
	*at = suite;
	suite_count++;
}

void *kunit_kmalloc(struct kunit *test, size_t size, int gfp)
{
	struct kunit_block *block = malloc(sizeof(*block));

	(void)gfp;
	if (!block)
		return NULL;
	block->bytes = malloc(size);
	block->next = test->blocks;
	test->blocks = block;
	return block->bytes;
}

void kunit_shim_fail(struct kunit *test, const char *file, int line,
		     const char *what, const char *format, ...)
{
	va_list args;

	test->failed = true;
	printf("    # %s: %s:%d: expected %s: ", test->name, file, line, what);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
}

static bool run_case(const struct kunit_case *which)
{
	struct kunit test = { .name = which->name };

	if (!setjmp(test.out))
		which->run_case(&test);
	while (test.blocks) {
		struct kunit_block *next = test.blocks->next;

		free(test.blocks->bytes);
		free(test.blocks);
		test.blocks = next;
	}
	return !test.failed;
}

static bool wanted(const char *name, const char *word)
{
	return !word || strstr(name, word);
}

static bool run_suite(const struct kunit_suite *suite, int number, const char *word)
{
	const struct kunit_case *which;
	int count = 0;
	bool ok = true;

	if (word && strstr(suite->name, word))
		word = NULL;
	for (which = suite->test_cases; which->run_case; which++)
		count += wanted(which->name, word);
	printf("    KTAP version 1\n    # Subtest: %s\n    1..%d\n",
	       suite->name, count);
	count = 0;
	for (which = suite->test_cases; which->run_case; which++) {
		bool passed;

		if (!wanted(which->name, word))
			continue;
		passed = run_case(which);
		printf("    %sok %d %s\n", passed ? "" : "not ", ++count,
		       which->name);
		ok &= passed;
	}
	printf("%sok %d %s\n", ok ? "" : "not ", number, suite->name);
	return ok;
}

int main(int argc, char **argv)
{
	const struct kunit_suite *suite;
	int number = 0;
	bool ok = true;

	printf("KTAP version 1\n1..%d\n", suite_count);
	for (suite = suites; suite; suite = suite->next)
		ok &= run_suite(suite, ++number, argc > 1 ? argv[1] : NULL);
	return !ok;
}
