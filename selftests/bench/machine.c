// SPDX-License-Identifier: GPL-2.0
/*
 * What the machine says of itself: the time, its processors' and its memory.
 */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

static void write_one(const char *path)
{
	FILE *f = fopen(path, "w");

	if (!f)
		return;
	fputs("1\n", f);
	fclose(f);
}

/*
 * Objects that were freed are kept for the next that is made: who comes after another
 * transport would seem to need no memory.  The system's caches are all given back.
 */
static void give_back_caches(void)
{
	glob_t found;
	size_t i;

	write_one("/proc/sys/vm/drop_caches");
	if (glob("/sys/kernel/slab/*/shrink", 0, NULL, &found))
		die("/sys/kernel/slab: no caches there");
	for (i = 0; i < found.gl_pathc; i++)
		write_one(found.gl_pathv[i]);
	globfree(&found);
	/* Counters are kept per processor; this folds them. */
	write_one("/proc/sys/vm/stat_refresh");
}

/* KiB that each processor has in store: free, but not counted so. */
static long long in_store(void)
{
	long long pages = 0, value;
	char line[128];
	FILE *f;

	f = fopen("/proc/zoneinfo", "r");
	if (!f)
		die("/proc/zoneinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " count: %lld", &value) == 1)
			pages += value;
	fclose(f);
	return pages * sysconf(_SC_PAGESIZE) / 1024;
}

struct memory memory_now(void)
{
	struct memory m = {};
	long long value, total = 0, other;
	char line[128], key[64];
	FILE *f;

	give_back_caches();
	other = in_store();
	f = fopen("/proc/meminfo", "r");
	if (!f)
		die("/proc/meminfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63[^:]: %lld", key, &value) != 2)
			continue;
		if (!strcmp(key, "MemTotal"))
			total = value;
		else if (!strcmp(key, "MemFree") || !strcmp(key, "Buffers") ||
			 !strcmp(key, "Cached") || !strcmp(key, "AnonPages"))
			other += value;
		if (!strcmp(key, "AnonPages"))
			m.user = value * 1024;
	}
	fclose(f);
	m.kernel = (total - other) * 1024;
	return m;
}

double idle_seconds(void)
{
	double user, nice, system, idle = 0, iowait = 0;
	FILE *f = fopen("/proc/stat", "r");

	if (f) {
		if (fscanf(f, "cpu %lf %lf %lf %lf %lf", &user, &nice, &system, &idle,
			   &iowait) != 5)
			die("/proc/stat is not as expected");
		fclose(f);
	}
	return (idle + iowait) / sysconf(_SC_CLK_TCK);
}

static const char sdpstat[] = "/proc/net/sdpstat";

/* What follows @name at the beginning of a line. */
static uint64_t number_in(const char *path, const char *name)
{
	size_t len = strlen(name);
	unsigned long long n;
	bool found = false;
	char line[512];
	FILE *f = fopen(path, "r");

	if (!f)
		die("%s: %s", path, strerror(errno));
	while (!found && fgets(line, sizeof(line), f))
		found = !strncmp(line, name, len) && sscanf(line + len, " %llu", &n) == 1;
	fclose(f);
	if (!found)
		die("%s has no \"%s\"", path, name);
	return n;
}

static int64_t timeval_ns(struct timeval tv)
{
	return tv.tv_sec * 1000000000ll + tv.tv_usec * 1000;
}

struct usage usage_now(void)
{
	struct usage u;
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	u.process = timeval_ns(r.ru_utime) + timeval_ns(r.ru_stime);
	/* What is counted as busy is found by ticks; what is idle, by the clock. */
	u.host = now() * sysconf(_SC_NPROCESSORS_ONLN) - (int64_t)(idle_seconds() * 1e9);
	u.switches = number_in("/proc/stat", "ctxt");
	return u;
}

struct polls polls_now(void)
{
	struct polls p = { .hits = number_in(sdpstat, "poll_hit") };

	p.all = p.hits + number_in(sdpstat, "poll_miss");
	return p;
}

struct joined joined_now(void)
{
	return (struct joined) {
		.joins = number_in(sdpstat, "local_joins"),
		.sent = number_in(sdpstat, "local_bytes_sent"),
		.lent = number_in(sdpstat, "local_bytes_lent"),
	};
}

int64_t ran(void)
{
	unsigned long long ns = 0;
	char line[256];
	FILE *f = fopen("/proc/schedstat", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "cpu0 %*u %*u %*u %*u %*u %*u %llu", &ns) == 1)
			break;
	if (!ns)
		die("/proc/schedstat does not tell how long cpu0 ran");
	fclose(f);
	return ns;
}
