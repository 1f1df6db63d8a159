// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inject.h"
#include "sdptest.h"

#define DEBUGFS "/sys/kernel/debug/"

static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

static int knob(const char *kind, const char *name, const char *value)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = write(fd, value, strlen(value)) < 0 ? -1 : 0;
	close(fd);
	return ret;
}

long long fault_knob(const char *kind, const char *name)
{
	char path[128], text[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	fd = OK(open(path, O_RDONLY | O_CLOEXEC));
	n = OK(read(fd, text, sizeof(text) - 1));
	text[n] = '\0';
	close(fd);
	return atoll(text);
}

/* Where a function of the kernel or the module begins, and the next one; 0: nowhere. */
static unsigned long function_text(const char *function, unsigned long *end)
{
	unsigned long addr, from = 0, to = ~0ul;
	char line[256], name[128];
	FILE *f;

	f = fopen("/proc/kallsyms", "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %*c %127s", &addr, name) == 2 &&
		    !strcmp(name, function))
			from = addr;
	if (f)
		rewind(f);
	while (f && from && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx", &addr) == 1 && addr > from && addr < to)
			to = addr;
	if (f)
		fclose(f);
	if (!from)
		FAIL("no %s() in /proc/kallsyms", function);
	*end = to;
	return from;
}

void fault_spare(const char *function)
{
	unsigned long from, to;
	char text[32];
	unsigned int i;

	from = function_text(function, &to);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(text, sizeof(text), "%#lx", from);
		OK(knob(kinds[i], "reject-start", text));
		snprintf(text, sizeof(text), "%#lx", to);
		OK(knob(kinds[i], "reject-end", text));
	}
}

/* The module's code; all other modules are built in. */
static int module_text(unsigned long *start, unsigned long *end)
{
	unsigned long size;
	char line[256];
	FILE *f;

	*start = 0;
	f = fopen("/sys/module/af_sdp/sections/.text", "re");
	if (!f || fscanf(f, "%li", (long *)start) != 1)
		return -1;
	fclose(f);
	f = fopen("/proc/modules", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "af_sdp %lu", &size) == 1)
			*end = *start + size;
	}
	if (f)
		fclose(f);
	return *end > *start ? 0 : -1;
}

int fault_quiet(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		err |= knob(kinds[i], "probability", "0");
		err |= knob(kinds[i], "interval", "1");
		err |= knob(kinds[i], "times", "-1");
		err |= knob(kinds[i], "space", "0");
		err |= knob(kinds[i], "verbose", "0");
		err |= knob(kinds[i], "task-filter", "N");
	}
	err |= knob("failslab", "ignore-gfp-wait", "N");
	err |= knob("fail_page_alloc", "ignore-gfp-wait", "N");
	err |= knob("fail_page_alloc", "ignore-gfp-highmem", "N");
	err |= knob("fail_page_alloc", "min-order", "0");
	return err;
}

static void aim(const char *from, const char *to)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		OK(knob(kinds[i], "stacktrace-depth", "32"));
		OK(knob(kinds[i], "require-start", from));
		OK(knob(kinds[i], "require-end", to));
	}
}

void fault_aim_into(const char *function)
{
	unsigned long start, end;
	char from[32], to[32];

	start = function_text(function, &end);
	snprintf(from, sizeof(from), "%#lx", start);
	snprintf(to, sizeof(to), "%#lx", end);
	aim(from, to);
}

void fault_aim_at(unsigned long address)
{
	char from[32], to[32];

	snprintf(from, sizeof(from), "%#lx", address);
	snprintf(to, sizeof(to), "%#lx", address + 1);
	aim(from, to);
}

void fault_aim(enum fault_aim at)
{
	unsigned long start = 0, end = 0;
	char from[32] = "0", to[32] = "0xffffffffffffffff";

	if (at == FAULT_NEW_MODULE)
		/* User-Mode Linux: modules lie above the guest's memory, and all
		 * other code below.
		 */
		snprintf(from, sizeof(from), "0x80000000");
	if (at == FAULT_IN_MODULE) {
		if (module_text(&start, &end))
			FAIL("where is the module's code?");
		snprintf(from, sizeof(from), "%#lx", start);
		snprintf(to, sizeof(to), "%#lx", end);
	}
	aim(from, to);
}

static int nth_fd = -1;

void fault_begin(void)
{
	nth_fd = OK(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC));
}

void fault_arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	EQ(len, pwrite(nth_fd, text, len, 0));
}

bool fault_disarm(void)
{
	char text[16] = "";
	int err = errno;
	ssize_t n;

	/* Looking is a chance to fail too: EFAULT says that it was the next. */
	n = pread(nth_fd, text, sizeof(text) - 1, 0);
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	errno = err;
	return n > 0 && text[0] == '0';
}

void fault_strike(const char *kind, const char *interval, const char *percent,
		   const char *times)
{
	OK(knob(kind, "interval", interval));
	OK(knob(kind, "times", times));
	OK(knob(kind, "probability", percent));
}

/*
 * The k-th chance from now on fails, in whatever context.  With an interval
 * the kernel counts chances since it was booted and a fault falls on the
 * multiples: so remember how far it has counted, and take an interval that the
 * count has not reached.
 */
void fault_strike_once(const char *kind, int k)
{
	char path[64], interval[16];
	int fd, counted = 0;

	snprintf(path, sizeof(path), "/run/sdp_fault.%s", kind);
	fd = OK(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	if (pread(fd, &counted, sizeof(counted), 0) < 0)
		FAIL("%s: %s", path, ktap_errno(errno));
	counted += k;
	snprintf(interval, sizeof(interval), "%d", counted);
	/* With an interval of 1 the kernel does not count. */
	if (counted == 1)
		counted = 0;
	EQ(sizeof(counted), pwrite(fd, &counted, sizeof(counted), 0));
	close(fd);
	fault_strike(kind, interval, "100", "1");
}

bool fault_struck_yet(const char *kind)
{
	return !fault_knob(kind, "times");
}
