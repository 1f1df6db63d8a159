/* SPDX-License-Identifier: GPL-2.0 */
/* What was measured, as a table, CSV or JSON; see report.c. */
#ifndef _PERF_REPORT_H
#define _PERF_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <json-c/json.h>

/* A figure that each record has. */
struct column {
	const char *key;	/* in CSV and JSON */
	const char *title;	/* in a table; NULL: it is in none */
	int low, high;		/* columns with its least and greatest; 0: none */
};

struct record {
	const char *transport;
	uint64_t size;		/* 0: there is none */
	double *figures;	/* NAN: could not be told */
};

struct report {
	const char *rows;		/* what sizes are of */
	const struct column *columns;
	int ncolumns;
	struct json_object *about;	/* of objects, arrays, and words */
	struct record *records;
	size_t nrecords;
};

double *report_add(struct report *r, const char *transport, uint64_t size);
void report_table(const struct report *r, FILE *to);
void report_csv(const struct report *r, FILE *to);
void report_json(const struct report *r, FILE *to);
void report_free(struct report *r);
char *report_number(char *to, size_t room, double value);

#endif
