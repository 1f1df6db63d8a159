// SPDX-License-Identifier: GPL-2.0
/*
 * What sdp_perf says of samples, the three forms of its report, and the bytes that it
 * compares, in the order of the functions of stats.c, report.c and pattern.c.  They are
 * included, so that an allocation can be made to fail and giving up be seen.
 */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Allocations that succeed before one fails; negative: all do. */
static int allocations = -1;

static bool may_allocate(void)
{
	if (!allocations)
		return false;
	if (allocations > 0)
		allocations--;
	return true;
}

#define realloc(p, n)	(may_allocate() ? realloc(p, n) : NULL)
#define calloc(n, m)	(may_allocate() ? calloc(n, m) : NULL)
#include "../../userspace/sdp_perf/stats.c"
#include "../../userspace/sdp_perf/report.c"
#undef realloc
#undef calloc
#include "../../userspace/sdp_perf/pattern.c"

#include <kunit/test.h>

/* -------------------------------------------------------------------- stats.c */

static struct samples samples_of(struct kunit *test, const double *from, size_t n)
{
	struct samples s = {};

	KUNIT_ASSERT_TRUE(test, samples_add(&s, from, n));
	samples_sort(&s);
	return s;
}

/* 1 to @n, the greatest first. */
static struct samples counting_samples(struct kunit *test, size_t n)
{
	double *from = kunit_kmalloc(test, n * sizeof(*from), GFP_KERNEL);
	size_t i;

	for (i = 0; i < n; i++)
		from[i] = n - i;
	return samples_of(test, from, n);
}

static void samples__none(struct kunit *test)
{
	struct samples s = {};

	samples_sort(&s);
	KUNIT_EXPECT_TRUE(test, isnan(samples_median(&s)));
	KUNIT_EXPECT_TRUE(test, isnan(samples_quantile(&s, 99, 100)));
	KUNIT_EXPECT_TRUE(test, samples_add(&s, NULL, 0));
	samples_free(&s);
}

static void samples__median(struct kunit *test)
{
	static const double odd[] = { 3, -1, 8 }, even[] = { 4, 1, 3, 2 }, one[] = { 7 };
	struct samples s = samples_of(test, odd, 3);

	KUNIT_EXPECT_TRUE(test, samples_median(&s) == 3);
	samples_free(&s);
	s = samples_of(test, even, 4);
	KUNIT_EXPECT_TRUE(test, samples_median(&s) == 2.5);
	samples_free(&s);
	s = samples_of(test, one, 1);
	KUNIT_EXPECT_TRUE(test, samples_median(&s) == 7);
	samples_free(&s);
}

/* One below what it takes, just that, one above, and many: NAN is 0 here. */
static void samples__quantiles(struct kunit *test)
{
	static const struct {
		size_t n;
		unsigned int part, whole, is;
	} cases[] = {
		{ 1, 1, 2, 0 }, { 2, 1, 2, 1 }, { 3, 1, 2, 2 }, { 4, 1, 2, 2 },
		{ 9, 9, 10, 0 }, { 10, 9, 10, 9 }, { 11, 9, 10, 10 },
		{ 99, 99, 100, 0 }, { 100, 99, 100, 99 }, { 101, 99, 100, 100 },
		{ 199, 99, 100, 198 }, { 200, 99, 100, 198 }, { 201, 99, 100, 199 },
		{ 999, 999, 1000, 0 }, { 1000, 999, 1000, 999 }, { 5000, 999, 1000, 4995 },
		{ 3, 2, 5, 2 }, { 1, 2, 5, 0 },
	};
	struct samples s;
	bool right;
	size_t i;
	double is;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		s = counting_samples(test, cases[i].n);
		is = samples_quantile(&s, cases[i].part, cases[i].whole);
		right = cases[i].is ? is == cases[i].is : isnan(is);
		KUNIT_EXPECT_TRUE_MSG(test, right, "%u/%u of %zu is %g", cases[i].part,
				      cases[i].whole, cases[i].n, is);
		samples_free(&s);
	}
}

static void samples__add_in_pieces(struct kunit *test)
{
	struct samples s = {};
	double x;
	size_t i;

	for (i = 0; i < 1000; i++) {
		x = (i * 7) % 1000;	/* each number once */
		KUNIT_ASSERT_TRUE(test, samples_add(&s, &x, 1));
	}
	samples_sort(&s);
	KUNIT_EXPECT_EQ(test, s.n, 1000);
	for (i = 0; i < s.n; i++)
		KUNIT_EXPECT_TRUE(test, s.at[i] == i);
	samples_free(&s);
	KUNIT_EXPECT_EQ(test, s.n, 0);
}

static void samples__no_memory(struct kunit *test)
{
	static const double two[] = { 1, 2 };
	struct samples s = samples_of(test, two, 2);
	double many[64] = {};

	allocations = 0;
	KUNIT_EXPECT_FALSE(test, samples_add(&s, many, 64));
	allocations = -1;
	KUNIT_EXPECT_FALSE(test, samples_add(&s, many, SIZE_MAX / 16));
	KUNIT_EXPECT_EQ(test, s.n, 2);
	KUNIT_EXPECT_TRUE(test, samples_median(&s) == 1.5);
	samples_free(&s);
}

/* ------------------------------------------------------------------- report.c */

static const struct column test_columns[] = {
	{ .key = "rate", .title = "Rate", .low = 1, .high = 2 },
	{ .key = "rate_min" },
	{ .key = "rate_max" },
	{ .key = "share", .title = "Share" },
	{ .key = "other", .title = "Other" },
};

static struct report report_of(const char *about)
{
	return (struct report) {
		.rows = "bytes", .columns = test_columns, .ncolumns = ARRAY_SIZE(test_columns),
		.about = about ? json_tokener_parse(about) : NULL,
	};
}

static void add_record(struct kunit *test, struct report *r, const char *transport,
		       uint64_t size, double rate, double share)
{
	double *figures = report_add(r, transport, size);

	KUNIT_ASSERT_NOT_NULL(test, figures);
	figures[0] = rate;
	figures[1] = rate / 2;
	figures[2] = rate * 2;
	figures[3] = share;
}

/* What @report_form writes; for free(). */
static char *written(const struct report *r, void (*report_form)(const struct report *r, FILE *to))
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	report_form(r, to);
	fclose(to);
	return text;
}

static void expect_form(struct kunit *test, struct report *r,
			void (*report_form)(const struct report *r, FILE *to), const char *is)
{
	char *text = written(r, report_form);

	KUNIT_EXPECT_STREQ(test, text, is);
	free(text);
	report_free(r);
}

static void number__table(struct kunit *test)
{
	static const struct {
		double value;
		const char *is;
	} cases[] = {
		{ 0, "0.000" }, { 1, "1.000" }, { 9.9994, "9.999" }, { 12.345, "12.35" },
		{ 999.96, "1000.0" }, { 1000, "1000" }, { 123456.7, "123457" },
		{ 0.012345, "0.01235" }, { -2.5, "-2.500" }, { 1e-12, "0.000000000" },
		{ 1e15, "1000000000000000" }, { NAN, "-" }, { INFINITY, "-" },
	};
	char text[32];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		KUNIT_EXPECT_STREQ(test, report_number(text, sizeof(text), cases[i].value),
				   cases[i].is);
}

static void report__nothing(struct kunit *test)
{
	struct report r = report_of(NULL);

	expect_form(test, &r, report_table, "");
	expect_form(test, &r, report_csv, "transport,size,rate,rate_min,rate_max,share,other\n");
	expect_form(test, &r, report_json, "{\n  \"results\": [\n  ]\n}\n");
}

/* A hole where a transport was not measured, no block for what has no figure. */
static void table__side_by_side(struct kunit *test)
{
	struct report r = report_of("{\"a\":\"b\",\"c\":{\"d\":1,\"e\":null,\"f\":[\"g\",\"h\"]},"
				    "\"i\":[{\"j\":true,\"k\":\"l\"},{\"j\":false}],\"m\":[]}");

	add_record(test, &r, "tcp", 1, 10, NAN);
	add_record(test, &r, "sdp", 1, 20, 0.5);
	add_record(test, &r, "sdp", 4096, 2000, 0.25);
	expect_form(test, &r, report_table,
		    "a: b\n"
		    "c: d 1, f g; h\n"
		    "i: j true, k l\n"
		    "i: j false\n"
		    "\n"
		    "Rate\n"
		    "     bytes                       tcp                       sdp\n"
		    "         1      10.00 (5.000..20.00)      20.00 (10.00..40.00)\n"
		    "      4096                         -         2000 (1000..4000)\n"
		    "\n"
		    "Share\n"
		    "     bytes         tcp         sdp\n"
		    "         1           -      0.5000\n"
		    "      4096           -      0.2500\n");
}

/* What comes from another host may be anything. */
static void table__control_characters(struct kunit *test)
{
	struct report r = report_of("{\"a\\u001b\":\"\\u001b[31m\\u009b\\u00e9\\n\"}");

	expect_form(test, &r, report_table, "a?: ?[31m?\xc3\xa9?\n");
}

static void csv__quotes(struct kunit *test)
{
	struct report r = report_of("{\"a\":\"b,\\\"c\\\"\",\"d\":{\"e\":{\"f\":2},\"g\":null},"
				    "\"h\":[1,2]}");

	add_record(test, &r, "tcp", 0, 1234567.5, NAN);
	expect_form(test, &r, report_csv,
		    "transport,size,rate,rate_min,rate_max,share,other,\"a\",\"d.e.f\",\"d.g\",\"h\"\n"
		    "tcp,0,1234568,617284,2469135,,,\"b,\"\"c\"\"\",\"2\",,\"1; 2\"\n");
}

static void json__keeps_about(struct kunit *test)
{
	struct report r = report_of("{\"a\":\"/\\\"\",\"b\":{\"c\":null}}");
	struct json_object *all, *results, *one, *value;
	char *text;

	add_record(test, &r, "tcp", 65536, 12.3456789, NAN);
	text = written(&r, report_json);
	all = json_tokener_parse(text);
	KUNIT_ASSERT_NOT_NULL(test, all);
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(all, "a", &value));
	KUNIT_EXPECT_STREQ(test, json_object_get_string(value), "/\"");
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(all, "b", &value));
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(value, "c", &value) && !value);
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(all, "results", &results));
	KUNIT_ASSERT_EQ(test, json_object_array_length(results), 1);
	one = json_object_array_get_idx(results, 0);
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(one, "size", &value));
	KUNIT_EXPECT_EQ(test, json_object_get_int(value), 65536);
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(one, "rate", &value));
	KUNIT_EXPECT_STREQ(test, json_object_get_string(value), "12.3457");
	KUNIT_EXPECT_TRUE(test, json_object_object_get_ex(one, "share", &value) && !value);
	json_object_put(all);
	free(text);
	report_free(&r);
}

static void report__no_memory(struct kunit *test)
{
	struct report r = report_of(NULL);
	int i;

	for (i = 0; i < 2; i++) {
		allocations = i;
		KUNIT_EXPECT_TRUE(test, !report_add(&r, "tcp", 1));
	}
	allocations = -1;
	KUNIT_EXPECT_EQ(test, r.nrecords, 0);
	report_free(&r);
}

/* ------------------------------------------------------------------ pattern.c */

static jmp_buf given_up;
static char words[200];

void fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words, sizeof(words), fmt, ap);
	va_end(ap);
	longjmp(given_up, 1);
}

static bool message_passes(const char *part, size_t n, uint32_t size, size_t at, uint64_t fill,
			   bool all)
{
	if (setjmp(given_up))
		return false;
	pattern_check_message(part, n, size, at, fill, all);
	return true;
}

static bool stream_passes(const char *part, size_t n, uint32_t size, uint64_t at,
			  const struct plan *plan)
{
	if (setjmp(given_up))
		return false;
	pattern_check_stream(part, n, size, at, plan);
	return true;
}

static const uint32_t test_sizes[] = { 1, 2, 250, 251, 252, 4095, 4096, 4097, 70000 };

/* Each byte that is another one is seen, by its place. */
static void pattern__each_byte(struct kunit *test)
{
	char *m, says[40];
	uint32_t at, n;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(test_sizes); i++) {
		m = kunit_kmalloc(test, test_sizes[i], GFP_KERNEL);
		pattern_fill(m, test_sizes[i], 3);
		n = test_sizes[i];
		KUNIT_EXPECT_TRUE(test, message_passes(m, n, n, 0, 3, true));
		for (at = 0; at < n; at += 1 + n / 300) {
			m[at]++;
			KUNIT_EXPECT_FALSE(test, message_passes(m, n, n, 0, 3, true));
			snprintf(says, sizeof(says), " at %u there is", at);
			KUNIT_EXPECT_TRUE_MSG(test, strstr(words, says), "%s", words);
			m[at]--;
		}
	}
}

/* Another fill, a page too early, a byte late: not the same, at any place. */
static void pattern__another_place(struct kunit *test)
{
	enum { SIZE = 3 * 4096 };
	char *m = kunit_kmalloc(test, SIZE, GFP_KERNEL);
	uint64_t fill;

	for (fill = 0; fill < 251; fill++) {
		pattern_fill(m, SIZE, fill);
		KUNIT_EXPECT_TRUE(test, message_passes(m, SIZE, SIZE, 0, fill, true));
		KUNIT_EXPECT_FALSE(test, message_passes(m, SIZE, SIZE, 0, fill + 1, false));
		KUNIT_EXPECT_FALSE(test, message_passes(m + 4096, 4096, SIZE, 0, fill, false));
		KUNIT_EXPECT_FALSE(test, message_passes(m + 1, 4096, SIZE, 0, fill, false));
	}
}

/* By its first and last byte, in pieces too. */
static void pattern__stamps(struct kunit *test)
{
	char *m;
	size_t i, n;

	for (i = 0; i < ARRAY_SIZE(test_sizes); i++) {
		n = test_sizes[i];
		m = kunit_kmalloc(test, n, GFP_KERNEL);
		pattern_fill(m, n, 0);
		pattern_stamp(m, n, 7, false);
		KUNIT_EXPECT_TRUE(test, message_passes(m, n, n, 0, 7, false));
		KUNIT_EXPECT_FALSE(test, message_passes(m, n, n, 0, 6, false));
		if (n < 2)
			continue;
		KUNIT_EXPECT_TRUE(test, message_passes(m, n - 1, n, 0, 7, false));
		KUNIT_EXPECT_TRUE(test, message_passes(m + n - 1, 1, n, n - 1, 7, false));
		KUNIT_EXPECT_FALSE(test, message_passes(m, 1, n, 0, 8, false));
		KUNIT_EXPECT_FALSE(test, message_passes(m + n - 1, 1, n, n - 1, 8, false));
		KUNIT_EXPECT_FALSE(test, n > 2 && message_passes(m, n, n, 0, 7, true));
		pattern_stamp(m, n, 7, true);
		KUNIT_EXPECT_TRUE(test, message_passes(m, n, n, 0, 7, true));
	}
}

/* As it comes: pieces of any length, whose ends are no messages' ends. */
static void pattern__stream(struct kunit *test)
{
	enum { MESSAGES = 7 };
	struct plan plan = { .touch = 3, .verify = true };
	uint64_t total, at, lost;
	size_t i, n, piece;
	char *all;

	for (i = 0; i < ARRAY_SIZE(test_sizes); i++) {
		n = test_sizes[i];
		total = MESSAGES * n;
		all = kunit_kmalloc(test, total, GFP_KERNEL);
		for (at = 0; at < MESSAGES; at++)
			pattern_fill(all + at * n, n, at / plan.touch);
		for (piece = 1; piece <= total; piece = piece * 3 + 1)
			for (at = 0; at + piece <= total; at += piece) {
				plan.verify = !plan.verify;
				KUNIT_EXPECT_TRUE_MSG(test, stream_passes(all + at, piece, n, at,
									  &plan), "%s", words);
			}
		/* One byte fewer than there should be. */
		lost = total - 1;
		plan.verify = true;
		KUNIT_EXPECT_FALSE(test, stream_passes(all + 1, lost, n, 0, &plan));
		plan.verify = false;
		KUNIT_EXPECT_FALSE(test, stream_passes(all + 1, lost, n, 0, &plan));
		/* What was sent before the buffer was written again. */
		KUNIT_EXPECT_FALSE(test, stream_passes(all, n, n, 3 * n, &plan));
	}
}

static struct kunit_case perf_cases[] = {
	KUNIT_CASE(samples__none),
	KUNIT_CASE(samples__median),
	KUNIT_CASE(samples__quantiles),
	KUNIT_CASE(samples__add_in_pieces),
	KUNIT_CASE(samples__no_memory),
	KUNIT_CASE(number__table),
	KUNIT_CASE(report__nothing),
	KUNIT_CASE(table__side_by_side),
	KUNIT_CASE(table__control_characters),
	KUNIT_CASE(csv__quotes),
	KUNIT_CASE(json__keeps_about),
	KUNIT_CASE(report__no_memory),
	KUNIT_CASE(pattern__each_byte),
	KUNIT_CASE(pattern__another_place),
	KUNIT_CASE(pattern__stamps),
	KUNIT_CASE(pattern__stream),
	{ }
};

static struct kunit_suite perf_suite = {
	.name = "perf",
	.test_cases = perf_cases,
};

kunit_test_suite(perf_suite);
