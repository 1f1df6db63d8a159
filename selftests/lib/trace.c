// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"

#define TRACING "/sys/kernel/tracing/"

int trace_switch_(const char *event, bool on)
{
	char file[256];
	int fd;

	snprintf(file, sizeof(file), TRACING "events/%s/enable", event);
	fd = OK(open(file, O_WRONLY | O_CLOEXEC));
	EQ(1, write(fd, on ? "1" : "0", 1));
	close(fd);
	return 0;
}

int trace_pointers_(bool shown)
{
	int fd = open(TRACING "options/hash-ptr", O_WRONLY | O_CLOEXEC);

	/* Linux 5.10 shows them as they are. */
	if (fd < 0 && errno == ENOENT)
		return 0;
	OK(fd);
	EQ(1, write(fd, shown ? "0" : "1", 1));
	close(fd);
	return 0;
}

int trace_empty_(void)
{
	close(OK(open(TRACING "trace", O_WRONLY | O_TRUNC | O_CLOEXEC)));
	return 0;
}

int trace_lines_(const char *a, const char *b)
{
	char line[4096];
	int n = 0;
	FILE *f;

	f = fopen(TRACING "trace", "re");
	CHECK(f);
	while (fgets(line, sizeof(line), f))
		n += strstr(line, a) && strstr(line, b);
	fclose(f);
	return n;
}

/* Addresses, few and in no order. */
struct addresses {
	unsigned long at[4096];
	int n;
};

static int address_find(const struct addresses *set, unsigned long at, long size)
{
	int i;

	for (i = 0; i < set->n; i++)
		if (labs((long)(set->at[i] - at)) < size)
			return i;
	return -1;
}

static void address_add(struct addresses *set, unsigned long at)
{
	if (address_find(set, at, 1) >= 0)
		return;
	CHECK(set->n < (int)ARRAY_SIZE(set->at));
	set->at[set->n++] = at;
}

static void address_drop(struct addresses *set, unsigned long at)
{
	int i = address_find(set, at, 1);

	if (i >= 0)
		set->at[i] = set->at[--set->n];
}

/* The address behind @word, if the line has that. */
static bool address_behind(const char *line, const char *word, unsigned long *at)
{
	const char *text = strstr(line, word);

	return text && sscanf(text + strlen(word), "%lx", at) == 1;
}

int trace_armed_(const char *function, long size)
{
	static struct addresses timers, works;
	long long here, ever;
	char line[4096];
	unsigned long at;
	int i, n = 0;
	FILE *f;

	timers.n = works.n = 0;
	f = fopen(TRACING "trace", "re");
	CHECK(f);
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "# entries-in-buffer/entries-written: %lld/%lld",
			   &here, &ever) == 2)
			EQ(ever, here);
		else if (address_behind(line, " timer_start: timer=", &at))
			address_add(&timers, at);
		else if (address_behind(line, " timer_cancel: timer=", &at) ||
			 address_behind(line, " timer_expire_entry: timer=", &at))
			address_drop(&timers, at);
		else if (address_behind(line, " workqueue_execute_start: work struct ", &at) &&
			 strstr(line, function))
			address_add(&works, at);
	}
	fclose(f);
	CHECK(works.n);
	for (i = 0; i < timers.n; i++)
		n += address_find(&works, timers.at[i], size) >= 0;
	return n;
}
