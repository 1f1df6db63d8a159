// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_perf: what a connection costs, by each way that there is between two programs.
 * sdp_perf(1) is its manual; perf.h tells which process does what.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "perf.h"

/* Who waits for these: the other end of a session, the client; NULL: a person. */
void (*last_words)(const char *text);
/* Wait for the last words of the other end, and end with them if they come. */
void (*other_tells)(void);

/**
 * fail() - give up, with a reason
 * @fmt: the reason: what is wrong and, where that is known, what to do
 *
 * Context: Any thread.
 */
void fail(const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (last_words)
		last_words(text);
	fflush(stdout);
	fprintf(stderr, "sdp_perf: %s\n", text);
	exit(1);
}

/**
 * lost() - give up as the connection has ended; but what the other end says of it is better
 * @text: what was seen of it
 *
 * Context: Any thread.
 */
void lost(const char *text)
{
	if (other_tells)
		other_tells();
	fail("%s", text);
}

/**
 * need() - what an allocation returned
 * @p: that
 *
 * Context: Any thread.
 * Return: @p, which is not NULL.
 */
void *need(void *p)
{
	if (!p)
		fail("out of memory");
	return p;
}

/**
 * now() - the clock
 *
 * Context: Any.
 * Return: nanoseconds since some moment, the same for all processes of a host.
 */
int64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

int main(int argc, char **argv)
{
	int status = options_parse(argc, argv);

	if (status >= 0)
		return status;
	signal(SIGPIPE, SIG_IGN);
	if (opt.serve)
		server_run(server_listen(opt.host, opt.port, NULL));
	return client_run();
}
