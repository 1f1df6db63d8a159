// SPDX-License-Identifier: GPL-2.0
#include <dirent.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <time.h>

#include "ktap.h"

void (*ktap_on_fail)(void);

static struct ktap_case *cases, **cases_end = &cases;
static unsigned int results, passed, failed, skipped;

/* Where the helpers running now were called from, innermost last. */
static __thread struct {
	const char *file;
	int line;
} calls[8];
static __thread unsigned int depth;

/* Shared with the child: the check it has reached. */
static struct {
	const char *file;
	int line;
} *at;

void ktap_add(struct ktap_case *c)
{
	*cases_end = c;
	cases_end = &c->next;
}

const struct ktap_case *ktap_find(const char *name)
{
	const struct ktap_case *t;

	for (t = cases; t; t = t->next)
		if (!strcmp(t->name, name))
			break;
	return t;
}

void ktap_by_clock(const char *name)
{
	struct ktap_case *t;

	for (t = cases; t; t = t->next)
		if (!strcmp(t->name, name))
			t->by_clock = true;
}

/* ---------------------------------------------------------------------- time */

static double factor(void)
{
	const char *s = getenv("SDP_TIME_FACTOR");
	double f = s ? strtod(s, NULL) : 1;

	return f >= 1 ? f : 1;
}

int ktap_ms(int ms)
{
	return ms * factor();
}

long long ktap_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

struct ktap_watch ktap_watch(void)
{
	struct tms unused;
	/* Linux's times() returns the kernel's ticks, in its user's unit. */
	struct ktap_watch watch = { ktap_now(), times(&unused) };

	return watch;
}

void ktap_waited(const char *file, int line, struct ktap_watch since, int ms,
		 int most)
{
	struct ktap_watch now = ktap_watch();
	long unit = 1000 / sysconf(_SC_CLK_TCK);
	long long ticks = (now.ticks - since.ticks) * unit;

	ktap_at(file, line);
	/* One is lost where the kernel's unit is rounded to this one. */
	if (ticks < ms - unit)
		ktap_fail(file, line,
			  "waited %lld ms by the kernel's ticks, %lld by the clock; expected at least %d",
			  ticks, now.now - since.now, ms);
	if (now.now - since.now > most)
		ktap_fail(file, line, "waited %lld ms, expected at most %d",
			  now.now - since.now, most);
}

/* --------------------------------------------------------------------- words */

static void __attribute__((format(printf, 2, 0)))
say(const char *head, const char *fmt, va_list ap)
{
	char text[1024], out[1200];
	int n;

	vsnprintf(text, sizeof(text), fmt, ap);
	n = snprintf(out, sizeof(out), "# %s%s\n", head, text);
	/* One write, so that lines of several processes stay whole. */
	if (write(STDOUT_FILENO, out, n < (int)sizeof(out) ? n : (int)sizeof(out) - 1) < 0)
		_exit(KTAP_FAIL);
}

void ktap_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("", fmt, ap);
	va_end(ap);
}

void ktap_fail(const char *file, int line, const char *fmt, ...)
{
	char head[256];
	va_list ap;

	snprintf(head, sizeof(head), "%s:%d: ", file, line);
	va_start(ap, fmt);
	say(head, fmt, ap);
	va_end(ap);
	while (depth-- > 0)
		if (depth < ARRAY_SIZE(calls))
			ktap_note("    called from %s:%d", calls[depth].file,
				  calls[depth].line);
	if (ktap_on_fail)
		ktap_on_fail();
	_exit(KTAP_FAIL);
}

void ktap_skip(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("SKIP ", fmt, ap);
	va_end(ap);
	_exit(KTAP_SKIP);
}

const char *ktap_errno(int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "an unknown errno";
}

void ktap_at(const char *file, int line)
{
	if (at) {
		at->file = file;
		at->line = line;
	}
}

void ktap_enter(const char *file, int line)
{
	ktap_at(file, line);
	if (depth < ARRAY_SIZE(calls)) {
		calls[depth].file = file;
		calls[depth].line = line;
	}
	depth++;
}

void ktap_leave(void)
{
	depth--;
}

/* ------------------------------------------------------------------ children */

/* Prints the first lines of a file of /proc, joined. */
static void show_file(const char *what, const char *path)
{
	char text[600];
	size_t i, n;
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	while (n && text[n - 1] == '\n')
		n--;
	text[n] = '\0';
	for (i = 0; i < n; i++)
		if (text[i] == '\n')
			text[i] = ' ';
	if (n)
		ktap_note("    %s: %s", what, text);
}

static void show_threads(const char *pid)
{
	static const char *const files[] = { "comm", "wchan", "syscall", "stack" };
	char path[512];
	struct dirent *d;
	unsigned int i;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%s/task", pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		ktap_note("  thread %s of process %s:", d->d_name, pid);
		for (i = 0; i < ARRAY_SIZE(files); i++) {
			snprintf(path, sizeof(path), "/proc/%s/task/%s/%s", pid,
				 d->d_name, files[i]);
			show_file(files[i], path);
		}
	}
	if (dir)
		closedir(dir);
}

/* What every process of the group @pgid hangs in. */
static void show_group(pid_t pgid)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && (d = readdir(dir)))
		if (d->d_name[0] >= '0' && d->d_name[0] <= '9' &&
		    getpgid(atoi(d->d_name)) == pgid)
			show_threads(d->d_name);
	if (dir)
		closedir(dir);
}

/* Waits for @pid as long as @ms; false if it is still there. */
static bool reap(pid_t pid, int pidfd, int ms, int *status)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };
	long long end = ktap_now() + ms;
	int left;

	while ((left = end - ktap_now()) > 0 || ms == 0) {
		if (poll(&p, 1, ms ? left : -1) == 1)
			return waitpid(pid, status, 0) == pid;
	}
	return false;
}

int ktap_child(void (*run)(void *arg), void *arg, int limit)
{
	int pidfd, left, status = 0;
	long long end;
	bool late;
	pid_t pid;

	if (!at)
		at = mmap(NULL, sizeof(*at), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	at->file = NULL;
	fflush(stdout);
	pid = fork();
	if (pid < 0) {
		ktap_note("fork: %s", ktap_errno(errno));
		return KTAP_FAIL;
	}
	if (!pid) {
		setpgid(0, 0);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run(arg);
		fflush(stdout);
		_exit(KTAP_PASS);
	}
	setpgid(pid, pid);
	pidfd = syscall(SYS_pidfd_open, pid, 0);
	late = !reap(pid, pidfd, ktap_ms(limit * 1000), &status);
	if (late) {
		ktap_note("no end after %d s; last check reached: %s:%d",
			  ktap_ms(limit * 1000) / 1000,
			  at->file ? at->file : "none", at->line);
		show_group(pid);
	}
	kill(-pid, SIGKILL);
	if (late && !reap(pid, pidfd, ktap_ms(5000), &status))
		ktap_note("process %d does not die", pid);
	close(pidfd);
	/* Whatever the case forked is killed too: let it close its sockets. */
	end = ktap_now() + ktap_ms(1000);
	while ((left = waitpid(-pid, NULL, WNOHANG)) >= 0 && ktap_now() < end)
		if (!left)
			usleep(500);
	if (late)
		return KTAP_FAIL;
	if (WIFSIGNALED(status)) {
		ktap_note("ended by signal %d (%s) after %s:%d",
			  WTERMSIG(status), strsignal(WTERMSIG(status)),
			  at->file ? at->file : "none", at->line);
		return KTAP_FAIL;
	}
	return WEXITSTATUS(status);
}

/* ------------------------------------------------------------------- results */

void ktap_header(unsigned int count)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%u\n", count);
	fflush(stdout);
}

void ktap_result(int status, const char *name, const char *variant)
{
	bool good = status == KTAP_PASS || status == KTAP_SKIP;

	printf("%s %u - %s%s%s%s\n", good ? "ok" : "not ok", ++results, name,
	       variant ? "." : "", variant ? variant : "",
	       status == KTAP_SKIP ? " # SKIP" : "");
	fflush(stdout);
	if (status == KTAP_PASS)
		passed++;
	else if (status == KTAP_SKIP)
		skipped++;
	else
		failed++;
}

int ktap_totals(void)
{
	printf("# Totals: pass:%u fail:%u skip:%u\n", passed, failed, skipped);
	fflush(stdout);
	return failed ? KTAP_FAIL : KTAP_PASS;
}

/* ---------------------------------------------------------------------- main */

struct job {
	const struct ktap_case *what;
	unsigned int variant;
	void (*choose)(unsigned int variant);
};

static void run_job(void *arg)
{
	const struct job *job = arg;

	job->choose(job->variant);
	job->what->run();
}

static bool selected(const char *const *patterns, unsigned int nr,
		     const char *name)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (!fnmatch(patterns[i], name, 0))
			return true;
	return !nr;
}

/* A name that is nobody's is a mistake, and would leave out what it means. */
static bool known(const char *pattern, const char *const *names, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (selected(&pattern, 1, names[i]))
			return true;
	return false;
}

static bool known_case(const char *pattern)
{
	const struct ktap_case *t;

	for (t = cases; t; t = t->next)
		if (selected(&pattern, 1, t->name))
			return true;
	return false;
}

static bool left_out(const struct ktap_case *t)
{
	const char *clock = getenv("SDP_BY_CLOCK");

	return t->by_clock && clock && !strcmp(clock, "no");
}

static void usage(const char *program)
{
	printf("Usage: %s [-l] [-t PATTERN]... [-v PATTERN]...\n"
	       "Run the cases, or those whose name (-t) or variant (-v) matches.\n"
	       "  -l  list them\n"
	       "SDP_TIME_FACTOR in the environment multiplies time limits; SDP_BY_CLOCK=no\n"
	       "leaves out what goes by the clock.\n",
	       program);
}

int ktap_main(int argc, char **argv, const char *const *names, unsigned int nr,
	      void (*choose)(unsigned int variant))
{
	const char *case_patterns[64], *variant_patterns[64];
	unsigned int nt = 0, nv = 0, v, pass, count = 0;
	const struct ktap_case *t;
	bool list = false;
	struct job job;
	int c;

	while ((c = getopt(argc, argv, "t:v:lh")) != -1) {
		if (c == 't' && nt < ARRAY_SIZE(case_patterns)) {
			case_patterns[nt++] = optarg;
		} else if (c == 'v' && nv < ARRAY_SIZE(variant_patterns)) {
			variant_patterns[nv++] = optarg;
		} else if (c == 'l') {
			list = true;
		} else {
			usage(argv[0]);
			return c == 'h' ? 0 : 2;
		}
	}
	for (v = 0; v < nt + nv; v++) {
		const char *p = v < nt ? case_patterns[v] : variant_patterns[v - nt];

		if (v < nt ? !known_case(p) : !known(p, names, nr)) {
			fprintf(stderr, "%s: no %s is called %s\n", argv[0],
				v < nt ? "case" : "variant", p);
			return 2;
		}
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	/* First pass counts or lists, second runs. */
	for (pass = 0; pass < 2; pass++) {
		for (t = cases; t; t = t->next) {
			for (v = 0; v < nr; v++) {
				if (!(t->variants & BIT(v)) || left_out(t) ||
				    !selected(case_patterns, nt, t->name) ||
				    !selected(variant_patterns, nv, names[v]))
					continue;
				if (!pass) {
					count++;
					if (list)
						printf("%s.%s\n", t->name, names[v]);
					continue;
				}
				job.what = t;
				job.variant = v;
				job.choose = choose;
				ktap_result(ktap_child(run_job, &job, t->limit),
					    t->name, names[v]);
			}
		}
		if (list)
			return 0;
		if (!count) {
			fprintf(stderr, "%s: no case matches\n", argv[0]);
			return 2;
		}
		if (!pass)
			ktap_header(count);
	}
	return ktap_totals();
}
