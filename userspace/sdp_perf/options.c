// SPDX-License-Identifier: GPL-2.0
/*
 * The command line: every option is in one table, with the commands that take it.  What is
 * wrong is said with what would be right, on a line of standard error, and ends with 2.
 */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mode.h"

static const char usage[] =
"Usage: sdp_perf server [-p PORT] [ADDRESS]\n"
"       sdp_perf latency [OPTION]... [HOST]\n"
"       sdp_perf bw [OPTION]... [HOST]\n"
"Measure what connections between two programs cost, by each way there is between them.\n"
"HOST is where \"sdp_perf server\" runs.  Without it a server is started here.\n"
"\n"
"server:   serve clients, any number, until it is stopped\n"
"latency:  round trips, one after another\n"
"bw:       streams of messages\n"
"\n"
"  -p, --port PORT     of the server (default: 9960)\n"
"      --self          HOST is this host: start a server for this run\n"
"      --over LIST     of tcp, unix, sdp, local (SDP sockets of one host), rsocket,\n"
"                      verbs (default: all that work; those named have to)\n"
"      --size LIST     bytes of a message, with k, m (default: latency 1 to 65536 in\n"
"                      steps, bw 64,1k,4k,16k,64k,256k,1m)\n"
"      --wait HOW      readers wait asleep, by poll (without sleep) or by epoll\n"
"                      (default: asleep)\n"
"      --repeat N      measure all N times, in turn (default: 5)\n"
"      --verify        compare every byte, not only some\n"
"      --csv           a line for each transport and size\n"
"      --json          one JSON object\n"
"\n"
"latency:\n"
"      --count N       round trips of each repetition (default: 1000)\n"
"\n"
"bw:\n"
"      --ms N          how long a repetition should take (default: 200)\n"
"      --window N      N messages, then a reply\n"
"      --both          both ways at once\n"
"      --streams N     connections at once, a thread for each\n"
"      --clients N     processes at once\n"
"      --compute-us N  the sender computes for N microseconds before each send\n"
"      --touch N       the sender writes its buffer again after N messages\n"
"      --send-time     how long each send() took\n"
"      --connections   connections, opened and closed, and no messages\n"
"\n"
"      --help          this text\n"
"      --version       the version\n";

enum { LATENCY = 1, STREAM = 2, CONNECTIONS = 4, SERVER = 8 };
enum { MEASURING = LATENCY | STREAM | CONNECTIONS };

struct options opt = {
	.port = DEFAULT_PORT, .repeat = 5, .count = 1000, .ms = 200, .clients = 1,
	.plan = { .streams = 1 },
};

static const char *const waits[] = {
	[WAIT_ASLEEP] = "asleep", [WAIT_POLL] = "poll", [WAIT_EPOLL] = "epoll",
};

/**
 * wait_name() - what a way to wait is called
 * @wait: which
 *
 * Context: Any.
 * Return: its name.
 */
const char *wait_name(enum wait wait)
{
	return waits[wait];
}

/**
 * wait_by_name() - the way to wait that is called so
 * @name: its name
 * @wait: where to put it
 *
 * Context: Any.
 * Return: false if there is none.
 */
bool wait_by_name(const char *name, enum wait *wait)
{
	size_t i;

	for (i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		if (strcmp(name, waits[i]))
			continue;
		*wait = i;
		return true;
	}
	return false;
}

/* ------------------------------------------------------------------------- errors */

__attribute__((format(printf, 1, 2), noreturn))
static void wrong(const char *fmt, ...)
{
	va_list ap;

	fputs("sdp_perf: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputs("\nTry 'sdp_perf --help'.\n", stderr);
	exit(2);
}

/* ------------------------------------------------------------------------- values */

static uint32_t number(const char *name, const char *text, uint32_t least, uint32_t most)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || n < least || n > most)
		wrong("--%s %s: it takes a number from %u to %u", name, text, least, most);
	return n;
}

static uint32_t size(const char *text, size_t len)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (*end == 'k')
		n <<= 10, end++;
	else if (*end == 'm')
		n <<= 20, end++;
	if (*text < '0' || *text > '9' || errno || end != text + len || !n ||
	    n > SIZE_MAX_BYTES)
		wrong("--size %.*s: a size is from 1 to %d bytes, as 64, 4k, 1m", (int)len, text,
		      SIZE_MAX_BYTES);
	return n;
}

static void add_size(uint32_t n)
{
	size_t i;

	for (i = 0; i < opt.nsizes; i++)
		if (opt.sizes[i] == n)
			return;
	opt.sizes = need(realloc(opt.sizes, (opt.nsizes + 1) * sizeof(*opt.sizes)));
	opt.sizes[opt.nsizes++] = n;
}

static void set_sizes(const char *list)
{
	size_t len;

	opt.nsizes = 0;
	for (;; list += len + 1) {
		len = strcspn(list, ",");
		add_size(size(list, len));
		if (!list[len])
			break;
	}
}

/* Those of the tables that others print; a factor of four between those of streams. */
static void default_sizes(void)
{
	static const uint32_t steps[] = { 24, 32, 48, 64, 96, 128 };
	uint32_t n;

	if (opt.plan.mode == MODE_STREAM) {
		set_sizes("64,1k,4k,16k,64k,256k,1m");
		return;
	}
	if (opt.plan.mode == MODE_CONNECTIONS) {
		add_size(1);
		return;
	}
	for (n = 1; n <= 16; n++)
		add_size(n);
	for (n = 0; n < sizeof(steps) / sizeof(*steps); n++)
		add_size(steps[n]);
	for (n = 256; n <= 65536; n *= 2)
		add_size(n);
}

static void set_over(const char *list)
{
	size_t len;
	int i;

	free(opt.over);
	opt.over = need(calloc(NTRANSPORTS, sizeof(*opt.over)));
	for (;; list += len + 1) {
		len = strcspn(list, ",");
		if (!transport_by_name(list, len, &i))
			wrong("--over %.*s: it takes a list of tcp, unix, sdp, local, rsocket, verbs",
			      (int)len, list);
		opt.over[i] = true;
		if (!list[len])
			break;
	}
}

/* ------------------------------------------------------------------------ options */

enum {
	OPT_SELF = 256, OPT_OVER, OPT_SIZE, OPT_WAIT, OPT_REPEAT, OPT_VERIFY, OPT_CSV, OPT_JSON,
	OPT_COUNT, OPT_MS, OPT_WINDOW, OPT_BOTH, OPT_STREAMS, OPT_CLIENTS, OPT_COMPUTE, OPT_TOUCH,
	OPT_SEND_TIME, OPT_CONNECTIONS, OPT_HELP, OPT_VERSION,
};

static const struct known {
	struct option option;
	int commands;
} known[] = {
	{ { "port", required_argument, NULL, 'p' }, MEASURING | SERVER },
	{ { "self", no_argument, NULL, OPT_SELF }, MEASURING },
	{ { "over", required_argument, NULL, OPT_OVER }, MEASURING },
	{ { "size", required_argument, NULL, OPT_SIZE }, LATENCY | STREAM },
	{ { "wait", required_argument, NULL, OPT_WAIT }, MEASURING },
	{ { "repeat", required_argument, NULL, OPT_REPEAT }, MEASURING },
	{ { "verify", no_argument, NULL, OPT_VERIFY }, LATENCY | STREAM },
	{ { "csv", no_argument, NULL, OPT_CSV }, MEASURING },
	{ { "json", no_argument, NULL, OPT_JSON }, MEASURING },
	{ { "count", required_argument, NULL, OPT_COUNT }, LATENCY },
	{ { "ms", required_argument, NULL, OPT_MS }, STREAM | CONNECTIONS },
	{ { "window", required_argument, NULL, OPT_WINDOW }, STREAM },
	{ { "both", no_argument, NULL, OPT_BOTH }, STREAM },
	{ { "streams", required_argument, NULL, OPT_STREAMS }, STREAM },
	{ { "clients", required_argument, NULL, OPT_CLIENTS }, STREAM | CONNECTIONS },
	{ { "compute-us", required_argument, NULL, OPT_COMPUTE }, STREAM },
	{ { "touch", required_argument, NULL, OPT_TOUCH }, STREAM },
	{ { "send-time", no_argument, NULL, OPT_SEND_TIME }, STREAM },
	{ { "connections", no_argument, NULL, OPT_CONNECTIONS }, CONNECTIONS },
	{ { "help", no_argument, NULL, OPT_HELP }, MEASURING | SERVER },
	{ { "version", no_argument, NULL, OPT_VERSION }, MEASURING | SERVER },
};

enum { NKNOWN = sizeof(known) / sizeof(*known) };

static void set_option(int c, const char *name, const char *arg)
{
	switch (c) {
	case 'p':
		opt.port = number(name, arg, 1, UINT16_MAX);
		break;
	case OPT_SELF:
		opt.self = true;
		break;
	case OPT_OVER:
		set_over(arg);
		break;
	case OPT_SIZE:
		set_sizes(arg);
		break;
	case OPT_WAIT:
		if (!wait_by_name(arg, &opt.plan.wait))
			wrong("--wait %s: it takes asleep, poll or epoll", arg);
		break;
	case OPT_REPEAT:
		opt.repeat = number(name, arg, 1, 1000000);
		break;
	case OPT_VERIFY:
		opt.plan.verify = true;
		break;
	case OPT_CSV:
		opt.output = OUTPUT_CSV;
		break;
	case OPT_JSON:
		opt.output = OUTPUT_JSON;
		break;
	case OPT_COUNT:
		opt.count = number(name, arg, 1, 10000000);
		break;
	case OPT_MS:
		opt.ms = number(name, arg, 1, 3600000);
		break;
	case OPT_WINDOW:
		opt.plan.window = number(name, arg, 1, 1000000);
		break;
	case OPT_BOTH:
		opt.plan.both = true;
		break;
	case OPT_STREAMS:
		opt.plan.streams = number(name, arg, 1, STREAMS_MAX);
		break;
	case OPT_CLIENTS:
		opt.clients = number(name, arg, 1, CLIENTS_MAX);
		break;
	case OPT_COMPUTE:
		opt.compute_us = number(name, arg, 1, 1000000);
		break;
	case OPT_TOUCH:
		opt.plan.touch = number(name, arg, 1, 1000000);
		break;
	case OPT_SEND_TIME:
		opt.send_time = true;
		break;
	}
}

static void check_together(const bool *given)
{
	if (given[OPT_CSV - 256] && given[OPT_JSON - 256])
		wrong("--csv and --json: one of them");
	if (opt.plan.both && opt.plan.window)
		wrong("--both and --window: what comes back would be in each other's way, say one of them");
	if (opt.plan.both && (opt.compute_us || opt.plan.touch || opt.send_time))
		wrong("--both: --compute-us, --touch and --send-time are for one way only");
	if (opt.self && given[OPT_VERSION + 1 - 256])
		wrong("--self and --port: the server that it starts has a port of its own");
}

static const char *command_name(int command)
{
	return command == LATENCY ? "latency" : command == SERVER ? "server" :
		command == STREAM ? "bw" : "bw --connections";
}

/* Which commands take it, for who gave it to another. */
static const char *taken_by(int commands)
{
	return commands == LATENCY ? "latency" : commands & CONNECTIONS && commands & LATENCY ?
		"latency and bw" : commands & CONNECTIONS ? "bw" : commands & LATENCY ?
		"latency, and for bw without --connections" : "bw without --connections";
}

static int command_of(const char *word)
{
	if (!strcmp(word, "server"))
		return SERVER;
	if (!strcmp(word, "latency"))
		return LATENCY;
	if (!strcmp(word, "bw"))
		return STREAM;
	wrong("\"%s\" is no command: say server, latency or bw", word);
}

/* --help and --version need nothing else. */
static int say(int c)
{
	if (c == OPT_HELP)
		fputs(usage, stdout);
	else
		puts("sdp_perf (AF_SDP) " SDP_VERSION);
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fail("cannot write to standard output: %s", strerror(errno));
}

/* Where the option was that getopt has just taken. */
static const struct known *known_of(int c)
{
	int i;

	for (i = 0; known[i].option.val != c; i++)
		;
	return &known[i];
}

static void set_largest(void)
{
	size_t i;

	for (i = 0; i < opt.nsizes; i++)
		if (opt.sizes[i] > opt.plan.largest)
			opt.plan.largest = opt.sizes[i];
}

/**
 * options_parse() - fill in opt
 * @argc: of main()
 * @argv: of main()
 *
 * Context: The only thread; ends the program if the line is wrong.
 * Return: -1, or the status to end with, as all was said.
 */
int options_parse(int argc, char **argv)
{
	bool given[OPT_VERSION - 256 + 2] = {};	/* and --port, behind the others */
	struct option options[NKNOWN + 1] = {};
	int command, c, i;

	for (i = 0; i < NKNOWN; i++)
		options[i] = known[i].option;
	if (argc < 2)
		wrong("what is to be done? Say server, latency or bw");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "--version"))
		return say(argv[1][2] == 'h' ? OPT_HELP : OPT_VERSION);
	command = command_of(argv[1]);
	argv++;
	argc--;
	while ((c = getopt_long(argc, argv, "p:", options, NULL)) != -1) {
		if (c == '?') {
			fputs("Try 'sdp_perf --help'.\n", stderr);
			exit(2);
		}
		if (c == OPT_HELP || c == OPT_VERSION)
			return say(c);
		given[c == 'p' ? OPT_VERSION + 1 - 256 : c - 256] = true;
		set_option(c, known_of(c)->option.name, optarg);
	}
	if (given[OPT_CONNECTIONS - 256] && command == STREAM)
		command = CONNECTIONS;
	for (i = 0; i < NKNOWN; i++) {
		c = known[i].option.val;
		if (given[c == 'p' ? OPT_VERSION + 1 - 256 : c - 256] &&
		    !(known[i].commands & command))
			wrong("--%s is not for %s, but for %s", known[i].option.name,
			      command_name(command), taken_by(known[i].commands));
	}
	if (argc - optind > 1)
		wrong("\"%s\" and \"%s\": one %s", argv[optind], argv[optind + 1],
		      command == SERVER ? "address" : "host");
	if (argc > optind)
		opt.host = argv[optind];
	opt.serve = command == SERVER;
	opt.self |= !opt.host && !opt.serve;
	check_together(given);
	opt.plan.mode = command == LATENCY ? MODE_LATENCY :
		command == CONNECTIONS ? MODE_CONNECTIONS : MODE_STREAM;
	if (!opt.nsizes)
		default_sizes();
	set_largest();
	if ((uint64_t)opt.plan.largest * opt.plan.streams > MEMORY_MAX)
		wrong("--size and --streams: %u messages of %u bytes are more than 1 GiB",
		      opt.plan.streams, opt.plan.largest);
	return -1;
}
