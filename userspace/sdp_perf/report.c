// SPDX-License-Identifier: GPL-2.0
/*
 * What was measured, in three forms.
 *
 * A record is of one transport and one size, and has a figure for each column.  A table
 * shows a block for each column, a line for each size, transports side by side.  CSV has a
 * line for each record and JSON an object.
 *
 * "About" is where, when and how it was measured: a JSON object, some levels deep.  A
 * table begins with it, JSON holds it as it is, and CSV repeats it in each line, in a
 * column for each word in it that is called by the way there: client.kernel.  So whoever
 * has a line of CSV knows where it is from.  What is an array there is one column.
 *
 * Nothing is measured here; selftests/unit/perf_test.c tests it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

enum { DIGITS = 6, SHOWN = 4 };	/* significant ones: of CSV and JSON, of a table */

/**
 * report_add() - a record, behind those that are there
 * @r: the report
 * @transport: its name, which has to stay
 * @size: in bytes; 0 if there is none
 *
 * Context: Any.
 * Return: its figures, all NAN; NULL if there is no memory.
 */
double *report_add(struct report *r, const char *transport, uint64_t size)
{
	double *figures = calloc(r->ncolumns, sizeof(*figures));
	struct record *records;
	int i;

	if (!figures)
		return NULL;
	records = realloc(r->records, (r->nrecords + 1) * sizeof(*records));
	if (!records) {
		free(figures);
		return NULL;
	}
	r->records = records;
	for (i = 0; i < r->ncolumns; i++)
		figures[i] = NAN;
	records[r->nrecords++] = (struct record) { transport, size, figures };
	return figures;
}

/**
 * report_free() - no record, nothing about it
 * @r: the report
 *
 * Context: Any.
 */
void report_free(struct report *r)
{
	size_t i;

	for (i = 0; i < r->nrecords; i++)
		free(r->records[i].figures);
	free(r->records);
	json_object_put(r->about);
	r->records = NULL;
	r->nrecords = 0;
	r->about = NULL;
}

/* So many significant digits, and never an exponent. */
static char *put_number(char *to, size_t room, double value, int digits)
{
	int whole = value ? (int)floor(log10(fabs(value))) + 1 : 1;
	int behind = digits - whole;

	snprintf(to, room, "%.*f", behind < 0 ? 0 : behind > 9 ? 9 : behind, value);
	return to;
}

/**
 * report_number() - a figure as a table shows it
 * @to: where to
 * @room: bytes there
 * @value: the figure; "-" stands for NAN
 *
 * Context: Any.
 * Return: @to.
 */
char *report_number(char *to, size_t room, double value)
{
	if (!isfinite(value))
		snprintf(to, room, "-");
	else
		put_number(to, room, value, SHOWN);
	return to;
}

/* ---------------------------------------------------------------------- table */

static void put_value(FILE *to, struct json_object *value);

/* What the other host says of itself is shown to a terminal: no control characters. */
static void put_text(FILE *to, const char *text)
{
	const unsigned char *c = (const unsigned char *)text;

	for (; *c; c++) {
		if (*c < ' ' || *c == 0x7f) {
			putc('?', to);
		} else if (*c == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0) {
			putc('?', to);
			c++;
		} else {
			putc(*c, to);
		}
	}
}

/* An object as "name word", others as they are. */
static void put_pairs(FILE *to, struct json_object *object)
{
	const char *between = "";

	json_object_object_foreach(object, key, value) {
		if (!value)
			continue;
		fputs(between, to);
		put_text(to, key);
		putc(' ', to);
		put_value(to, value);
		between = ", ";
	}
}

static void put_value(FILE *to, struct json_object *value)
{
	size_t i, n;

	switch (json_object_get_type(value)) {
	case json_type_null:
		fputs("-", to);
		break;
	case json_type_array:
		n = json_object_array_length(value);
		if (!n)
			fputs("none", to);
		for (i = 0; i < n; i++) {
			fputs(i ? "; " : "", to);
			put_value(to, json_object_array_get_idx(value, i));
		}
		break;
	case json_type_object:
		put_pairs(to, value);
		break;
	default:
		put_text(to, json_object_get_string(value));
	}
}

static void put_line(FILE *to, const char *key, struct json_object *value)
{
	put_text(to, key);
	fputs(": ", to);
	put_value(to, value);
	putc('\n', to);
}

/* A line for each; an array has one for each of what is in it. */
static void put_about(const struct report *r, FILE *to)
{
	size_t i;

	if (!r->about)
		return;
	json_object_object_foreach(r->about, key, value) {
		if (!json_object_is_type(value, json_type_array)) {
			put_line(to, key, value);
			continue;
		}
		for (i = 0; i < json_object_array_length(value); i++)
			put_line(to, key, json_object_array_get_idx(value, i));
	}
}

static void put_size(FILE *to, uint64_t size)
{
	char text[24];

	if (size)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	else
		text[0] = '\0';
	fprintf(to, "%10s", text);
}

static bool first_of_size(const struct report *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (r->records[i].size == r->records[n].size)
			return false;
	return true;
}

static bool first_of_transport(const struct report *r, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(r->records[i].transport, r->records[n].transport))
			return false;
	return true;
}

static const struct record *find(const struct report *r, uint64_t size, const char *transport)
{
	size_t i;

	for (i = 0; i < r->nrecords; i++)
		if (r->records[i].size == size && !strcmp(r->records[i].transport, transport))
			return &r->records[i];
	return NULL;
}

/* As "12.3 (11.0..14.2)" if it has a least and a greatest. */
static void put_cell(FILE *to, const struct report *r, const struct record *record, int column)
{
	const struct column *c = &r->columns[column];
	char text[80] = "-", a[24], b[24], m[24];

	if (record && c->low && isfinite(record->figures[c->low]))
		snprintf(text, sizeof(text), "%s (%s..%s)",
			 report_number(m, sizeof(m), record->figures[column]),
			 report_number(a, sizeof(a), record->figures[c->low]),
			 report_number(b, sizeof(b), record->figures[c->high]));
	else if (record)
		report_number(text, sizeof(text), record->figures[column]);
	fprintf(to, "  %*s", c->low ? 24 : 10, text);
}

static void put_block(const struct report *r, FILE *to, int column)
{
	size_t i, t;

	fprintf(to, "\n%s\n%10s", r->columns[column].title, r->rows);
	for (t = 0; t < r->nrecords; t++)
		if (first_of_transport(r, t))
			fprintf(to, "  %*s", r->columns[column].low ? 24 : 10,
				r->records[t].transport);
	putc('\n', to);
	for (i = 0; i < r->nrecords; i++) {
		if (!first_of_size(r, i))
			continue;
		put_size(to, r->records[i].size);
		for (t = 0; t < r->nrecords; t++)
			if (first_of_transport(r, t))
				put_cell(to, r, find(r, r->records[i].size,
						     r->records[t].transport), column);
		putc('\n', to);
	}
}

/* What was not asked for has no figures, and no place in a table. */
static bool has_figures(const struct report *r, int column)
{
	size_t i;

	for (i = 0; i < r->nrecords; i++)
		if (isfinite(r->records[i].figures[column]))
			return true;
	return false;
}

/**
 * report_table() - for people
 * @r: the report
 * @to: where to; whether that could be written is to be asked there
 *
 * Context: Any.
 */
void report_table(const struct report *r, FILE *to)
{
	int c;

	put_about(r, to);
	for (c = 0; c < r->ncolumns && r->nrecords; c++)
		if (r->columns[c].title && has_figures(r, c))
			put_block(r, to, c);
}

/* ------------------------------------------------------------------------ CSV */

/* In quotes, as RFC 4180 has it: always, as no reader minds. */
static void put_quoted(FILE *to, const char *text)
{
	putc('"', to);
	for (; *text; text++) {
		if (*text == '"')
			putc('"', to);
		putc(*text, to);
	}
	putc('"', to);
}

static void put_csv_value(FILE *to, struct json_object *value)
{
	char *text = NULL;
	size_t size;
	FILE *words;

	if (!value)
		return;		/* an empty field */
	words = open_memstream(&text, &size);
	if (!words)
		return;
	put_value(words, value);
	fclose(words);
	put_quoted(to, text);
	free(text);
}

/* The words of @object, or what they are called: "before.key". */
static void put_csv_about(FILE *to, struct json_object *object, const char *before, bool head)
{
	char path[160];

	if (!object)
		return;
	json_object_object_foreach(object, key, value) {
		snprintf(path, sizeof(path), "%s%s%s", before, *before ? "." : "", key);
		if (json_object_is_type(value, json_type_object)) {
			put_csv_about(to, value, path, head);
			continue;
		}
		putc(',', to);
		if (head)
			put_quoted(to, path);
		else
			put_csv_value(to, value);
	}
}

/**
 * report_csv() - for programs: a line of names, then a line for each record
 * @r: the report
 * @to: where to; whether that could be written is to be asked there
 *
 * Context: Any.
 */
void report_csv(const struct report *r, FILE *to)
{
	char text[32];
	size_t i;
	int c;

	fputs("transport,size", to);
	for (c = 0; c < r->ncolumns; c++)
		fprintf(to, ",%s", r->columns[c].key);
	put_csv_about(to, r->about, "", true);
	putc('\n', to);
	for (i = 0; i < r->nrecords; i++) {
		const struct record *record = &r->records[i];

		fprintf(to, "%s,%llu", record->transport, (unsigned long long)record->size);
		for (c = 0; c < r->ncolumns; c++)
			fprintf(to, ",%s", isfinite(record->figures[c]) ?
				put_number(text, sizeof(text), record->figures[c], DIGITS) : "");
		put_csv_about(to, r->about, "", false);
		putc('\n', to);
	}
}

/* ----------------------------------------------------------------------- JSON */

static struct json_object *number(double value)
{
	char text[32];

	if (!isfinite(value))
		return NULL;	/* null */
	return json_object_new_double_s(value, put_number(text, sizeof(text), value, DIGITS));
}

/**
 * report_json() - for programs: what it is about, and an array "results"
 * @r: the report
 * @to: where to; whether that could be written is to be asked there
 *
 * Context: Any.
 */
void report_json(const struct report *r, FILE *to)
{
	struct json_object *all = json_object_new_object(), *one;
	struct json_object *results = json_object_new_array();
	size_t i;
	int c;

	if (r->about) {
		json_object_object_foreach(r->about, key, value)
			json_object_object_add(all, key, json_object_get(value));
	}
	for (i = 0; i < r->nrecords; i++) {
		const struct record *record = &r->records[i];

		one = json_object_new_object();
		json_object_object_add(one, "transport", json_object_new_string(record->transport));
		json_object_object_add(one, "size", json_object_new_int64(record->size));
		for (c = 0; c < r->ncolumns; c++)
			json_object_object_add(one, r->columns[c].key,
					       number(record->figures[c]));
		json_object_array_add(results, one);
	}
	json_object_object_add(all, "results", results);
	fprintf(to, "%s\n", json_object_to_json_string_ext(all, JSON_C_TO_STRING_PRETTY |
		JSON_C_TO_STRING_SPACED | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(all);
}
