// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdio.h>
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
