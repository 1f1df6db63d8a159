/* SPDX-License-Identifier: GPL-2.0 */
/*
 * As much of KUnit as the suites in kernel/kunit use, for user space: the same
 * sources run there under ASan and UBSan, within a second of a change.
 *
 * A suite registers itself before main(); kunit_shim.c runs all of them and
 * speaks KTAP.  An expectation that fails is printed and the case goes on; an
 * assertion that fails ends its case, as in the kernel.
 */
#ifndef _PURE_KUNIT_SHIM_H
#define _PURE_KUNIT_SHIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include <linux/types.h>

#ifndef ARRAY_SIZE
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#endif

#define GFP_KERNEL 0
#define S32_MIN INT32_MIN
#define S32_MAX INT32_MAX
#define fallthrough __attribute__((fallthrough))

/* What the kernel does not warn of either: tables of cases leave out zeroes, and
 * expectations would be full of casts.
 */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"

struct kunit_block;

struct kunit {
	const char *name;
	bool failed;
	jmp_buf out;			/* where a failed assertion goes */
	struct kunit_block *blocks;	/* freed when the case ends */
};

struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
};

struct kunit_suite {
	const char *name;
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

#define KUNIT_CASE(function) { .run_case = (function), .name = #function }

void kunit_shim_add(struct kunit_suite *suite);

#define kunit_test_suite(suite)						\
	static void __attribute__((constructor)) suite ## _add(void)	\
	{								\
		kunit_shim_add(&(suite));				\
	}								\
	_Static_assert(1, "a semicolon follows")

/* Exactly @size bytes, so that ASan sees the first byte behind them. */
void *kunit_kmalloc(struct kunit *test, size_t size, int gfp);

__printf(5, 6)
void kunit_shim_fail(struct kunit *test, const char *file, int line,
		     const char *what, const char *format, ...);

#define __KUNIT_CHECK(test, ok, what, end, ...)				\
do {									\
	if (!(ok)) {							\
		kunit_shim_fail(test, __FILE__, __LINE__, what,		\
				" " __VA_ARGS__);			\
		if (end)						\
			longjmp((test)->out, 1);			\
	}								\
} while (0)

/* Both values are shown; they are integers or pointers. */
#define __KUNIT_BINARY(test, left, op, right, end, ...)			\
do {									\
	__typeof__((left) + 0) __left = (left);				\
	__typeof__((right) + 0) __right = (right);			\
									\
	if (!(__left op __right)) {					\
		kunit_shim_fail(test, __FILE__, __LINE__,		\
				#left " " #op " " #right,		\
				"%#llx and %#llx",			\
				(unsigned long long)__left,		\
				(unsigned long long)__right);		\
		__KUNIT_CHECK(test, false, "", end, __VA_ARGS__);	\
	}								\
} while (0)

#define KUNIT_EXPECT_TRUE(test, x)	__KUNIT_CHECK(test, x, #x, false, " ")
#define KUNIT_EXPECT_FALSE(test, x)	__KUNIT_CHECK(test, !(x), "!(" #x ")", false, " ")
#define KUNIT_ASSERT_TRUE(test, x)	__KUNIT_CHECK(test, x, #x, true, " ")
#define KUNIT_ASSERT_NOT_NULL(test, x)	__KUNIT_CHECK(test, (x) != NULL, #x, true, " ")
#define KUNIT_EXPECT_TRUE_MSG(test, x, ...) \
	__KUNIT_CHECK(test, x, #x, false, __VA_ARGS__)
#define KUNIT_EXPECT_FALSE_MSG(test, x, ...) \
	__KUNIT_CHECK(test, !(x), "!(" #x ")", false, __VA_ARGS__)
#define KUNIT_EXPECT_EQ(test, a, b)	__KUNIT_BINARY(test, a, ==, b, false, " ")
#define KUNIT_EXPECT_NE(test, a, b)	__KUNIT_BINARY(test, a, !=, b, false, " ")
#define KUNIT_EXPECT_LE(test, a, b)	__KUNIT_BINARY(test, a, <=, b, false, " ")
#define KUNIT_ASSERT_EQ(test, a, b)	__KUNIT_BINARY(test, a, ==, b, true, " ")
#define KUNIT_EXPECT_EQ_MSG(test, a, b, ...) \
	__KUNIT_BINARY(test, a, ==, b, false, __VA_ARGS__)
#define KUNIT_ASSERT_EQ_MSG(test, a, b, ...) \
	__KUNIT_BINARY(test, a, ==, b, true, __VA_ARGS__)
#define KUNIT_EXPECT_STREQ(test, a, b) \
	__KUNIT_CHECK(test, !strcmp(a, b), #a " is " #b, false, "%s", a)

#endif
