/* SPDX-License-Identifier: GPL-2.0 */
/* Samples, and what is said of many in one figure; see stats.c. */
#ifndef _PERF_STATS_H
#define _PERF_STATS_H

#include <stdbool.h>
#include <stddef.h>

struct samples {
	double *at;
	size_t n, room;
};

bool samples_add(struct samples *s, const double *from, size_t n);
void samples_sort(struct samples *s);
void samples_free(struct samples *s);
double samples_median(const struct samples *s);
double samples_quantile(const struct samples *s, unsigned int part, unsigned int whole);

#endif
