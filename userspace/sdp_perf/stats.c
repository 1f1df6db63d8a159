// SPDX-License-Identifier: GPL-2.0
/*
 * Samples: they are gathered, sorted once, and asked.
 *
 * A quantile is the nearest rank: the least sample that so many are not above, so that it
 * is a value which was measured.  Of too few samples there is none: p99.9 of a hundred
 * would be their greatest under another name.  What is not there is NAN.
 *
 * Nothing here knows what the samples are of; selftests/unit/perf_test.c tests it.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats.h"

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/**
 * samples_add() - more samples, behind those that are there
 * @s: where to; all zeroes at first
 * @from: what is added
 * @n: how many
 *
 * Context: Any.
 * Return: false, with @s as it was, if there is no memory.
 */
bool samples_add(struct samples *s, const double *from, size_t n)
{
	size_t room = s->room ? s->room : 64;
	double *at;

	if (!n)
		return true;
	if (n > SIZE_MAX / sizeof(*at) / 2 - s->n)
		return false;
	while (room < s->n + n)
		room *= 2;
	if (room != s->room) {
		at = realloc(s->at, room * sizeof(*at));
		if (!at)
			return false;
		s->at = at;
		s->room = room;
	}
	memcpy(s->at + s->n, from, n * sizeof(*from));
	s->n += n;
	return true;
}

/**
 * samples_sort() - the least first, as the functions below expect it
 * @s: samples, none of them NAN
 *
 * Context: Any.
 */
void samples_sort(struct samples *s)
{
	if (s->n)
		qsort(s->at, s->n, sizeof(*s->at), by_value);
}

/**
 * samples_free() - none, and no memory
 * @s: samples
 *
 * Context: Any.
 */
void samples_free(struct samples *s)
{
	free(s->at);
	*s = (struct samples) {};
}

/**
 * samples_median() - the one in the middle, or the mean of the two there
 * @s: sorted samples
 *
 * Context: Any.
 * Return: NAN if there is no sample.
 */
double samples_median(const struct samples *s)
{
	size_t half = s->n / 2;

	if (!s->n)
		return NAN;
	return s->n % 2 ? s->at[half] : (s->at[half - 1] + s->at[half]) / 2;
}

/**
 * samples_quantile() - the least sample that @part of @whole are not above
 * @s: sorted samples
 * @part: 99 for p99, 999 for p99.9
 * @whole: 100, 1000; above @part
 *
 * Context: Any.
 * Return: NAN if not one whole sample would be above: p99 takes 100 samples.
 */
double samples_quantile(const struct samples *s, unsigned int part, unsigned int whole)
{
	if (s->n < (whole + (whole - part) - 1) / (whole - part))
		return NAN;
	return s->at[(s->n * part + whole - 1) / whole - 1];
}
