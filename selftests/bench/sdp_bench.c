// SPDX-License-Identifier: GPL-2.0
/*
 * What a transport costs, beside its peers: SDP, TCP, rsockets, raw verbs
 * (SENDs, event mode), what fell back, AF_UNIX, and the path inside one host,
 * interleaved in one process.
 *
 *	h2: sdp_bench --serve
 *	h1: sdp_bench --host ADDRESS [OPTION...]
 *
 * Shapes.  Ping-pong: @size bytes there and back, both ends asleep in between.
 * Stream: @total bytes in writes of @size, read with buffers of @size, and one
 * byte back when all has come.  Rate: the same of small messages, each a write of
 * its own, read with a large buffer, as programs do.  Connections (--connect):
 * the server closes each as soon as it has accepted it; one after another, and
 * several at once; with --open N while N more are open of each transport.
 * "fallback" is TCP by way of SDP: a socket that would go by SDP to a listener
 * that is plain TCP's, which is known by then.  "library" is that as users have it,
 * by the connect() of libsdp_preload.so; only connections are measured of it, since
 * once made they are what those of "fallback" are.  "local" is a socket of ours to
 * a listener of ours at 127.0.0.1: the program ends with an error if its bytes do
 * not go by memory (net.sdp.local).
 *
 * A figure is the median of --rounds measurements, with the least and the
 * greatest; in each round every transport has its turn, so that a busy moment of
 * the machine meets all.  For streams the processor's time is told too: of the
 * process and of all the host, at each end, since much of soft-RoCE's work is
 * done in nobody's name.  For streams and ping-pong it is told how often each host
 * went from one task to another, which is twice for one that sleeps while nothing else
 * runs.  For ping-pong over SDP it is told how many polled before they slept, on the
 * client's host, and how many of those need not sleep then; over "local", how much
 * of what was sent was lent, and so copied once.
 *
 * Waiting.  As a rule send() and recv() wait themselves.  With --epoll whoever
 * receives waits by epoll_wait() and receives without waiting then; with --nonblock the
 * client sends without waiting, and waits by epoll_wait() for room.  Names of
 * shapes have "-epoll" and "-nonblock" then.
 *
 * With --insn NS the clock of the guest counts instructions of NS nanoseconds
 * (qemu -icount): counts are fixed, so that a run repeats, and figures are
 * instructions.  Client and server must share that guest then.  A guest with
 * nothing to do lets its clock run on: of connections, for which a transport may
 * sleep, only the time counts in which something ran.
 *
 * With --idle N memory is measured instead: N connections that do nothing, as
 * a difference of /proc/meminfo on both sides.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

static const char usage[] =
"Usage: sdp_bench --serve | --host ADDRESS [OPTION]...\n"
"  --port N       first of the ports used (default: 9900)\n"
"  --over LIST    of tcp,sdp,fallback,library,rsockets,verbs,verbs-write,verbs-read,\n"
"                 unix,tcp-zerocopy,sdp-zerocopy (by MSG_ZEROCOPY),\n"
"                 local (on one host, by memory: needs net.sdp.local)\n"
"                 (default: tcp,sdp,rsockets,verbs)\n"
"  --library PATH libsdp_preload.so, for a client of \"library\"\n"
"  --ping LIST    sizes of ping-pong, with k, m; none (default: 1,64,1k,64k)\n"
"  --stream LIST  sizes of writes in a stream (default: 64k,1m)\n"
"  --rate LIST    sizes of small messages (default: none)\n"
"  --connect      measure connections too\n"
"  --open N       and keep N open of each transport meanwhile\n"
"  --rounds N     default 7\n"
"  --ms N         how long one measurement should take (default: 150)\n"
"  --epoll        who receives waits by epoll_wait(), the server too\n"
"  --nonblock     the client sends without waiting, epoll_wait() says when there is room\n"
"  --huge         sockets send and receive in huge pages, the server too\n"
"  --insn NS      count instructions, each of NS nanoseconds of the clock\n"
"  --divide N     with --insn: one Nth of the work, for a trial\n"
"  --idle N       measure the memory of N idle connections\n"
"  --tsv          figures also in lines that begin with @, fields between tabs: shape,\n"
"                 size (connections: how many are open), transport, unit, and the\n"
"                 figure of each round\n";

struct options opt = {
	.port = 9900, .rounds = 7, .ms = 150, .divide = 1,
	.ping = { 1, 64, 1 << 10, 64 << 10 }, .npings = 4,
	.stream = { 64 << 10, 1 << 20 }, .nstreams = 2,
};

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("sdp_bench: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

/* ---------------------------------------------------------------- transports */

const struct transport *const transports[NTRANSPORTS] = {
	&over_tcp, &over_sdp, &over_fallback, &over_library, &over_rsockets, &over_verbs,
	&over_verbs_write, &over_verbs_read, &over_unix, &over_tcp_zerocopy, &over_sdp_zerocopy,
	&over_local,
};

int port_of(int transport, int what)
{
	return opt.port + PORTS * transport + what;
}

void recv_stream(const struct transport *t, void *c, uint32_t size, uint64_t total)
{
	while (total) {
		size_t n = t->recv_some(c, total < size ? total : size);

		if (!n)
			die("%s: the stream ended early", t->name);
		total -= n;
	}
}

void recv_exact(const struct transport *t, void *c, size_t size)
{
	recv_stream(t, c, size, size);
}

void ask(const struct transport *t, void *c, enum op op, uint32_t size, uint64_t count)
{
	struct request r = { .op = op, .size = size, .count = count };

	t->send(c, &r, sizeof(r));
}

/* ------------------------------------------------------------------- options */

static int parse_sizes(char *list, uint32_t *sizes)
{
	char *word, *end;
	int n = 0;

	if (!strcmp(list, "none"))
		return 0;
	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		unsigned long v = strtoul(word, &end, 10);

		if (*end == 'k')
			v <<= 10, end++;
		else if (*end == 'm')
			v <<= 20, end++;
		if (*end || !v || v > BENCH_MAX || n == MAX_SIZES)
			die("bad size \"%s\": 1 to %d, with k or m, %d at most", word,
			    BENCH_MAX, MAX_SIZES);
		sizes[n++] = v;
	}
	return n;
}

/* The library's connect() is called by clients alone. */
static void open_library(const bool *chosen, const char *path)
{
	int t;

	for (t = 0; transports[t] != &over_library; t++)
		;
	if (!chosen[t])
		return;
	if (!path)
		die("library: which? --library says where libsdp_preload.so is");
	over_library_open(path);
}

static void may_epoll(const bool *chosen)
{
	int t;

	for (t = 0; t < NTRANSPORTS && (over_epoll || over_nonblock); t++)
		if (chosen[t] && !transports[t]->can_epoll)
			die("%s: not with --epoll or --nonblock", transports[t]->name);
}

static void parse_over(char *list, bool *chosen)
{
	char *word;
	int t;

	memset(chosen, 0, NTRANSPORTS * sizeof(*chosen));
	for (word = strtok(list, ","); word; word = strtok(NULL, ",")) {
		for (t = 0; t < NTRANSPORTS && strcmp(word, transports[t]->name); t++)
			;
		if (t == NTRANSPORTS)
			die("unknown transport \"%s\"\n%s", word, usage);
		chosen[t] = true;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "serve", no_argument, NULL, 's' },
		{ "host", required_argument, NULL, 'h' },
		{ "port", required_argument, NULL, 'p' },
		{ "over", required_argument, NULL, 'o' },
		{ "library", required_argument, NULL, 'l' },
		{ "ping", required_argument, NULL, 'P' },
		{ "stream", required_argument, NULL, 'S' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "ms", required_argument, NULL, 'm' },
		{ "insn", required_argument, NULL, 'i' },
		{ "idle", required_argument, NULL, 'I' },
		{ "rate", required_argument, NULL, 'R' },
		{ "divide", required_argument, NULL, 'd' },
		{ "connect", no_argument, NULL, 'c' },
		{ "open", required_argument, NULL, 'O' },
		{ "huge", no_argument, NULL, 'H' },
		{ "epoll", no_argument, NULL, 'E' },
		{ "nonblock", no_argument, NULL, 'N' },
		{ "tsv", no_argument, NULL, 't' },
		{}
	};
	bool chosen[NTRANSPORTS] = { true, true, false, false, true, true };
	const char *library = NULL;
	bool serving = false;
	void *control;
	int c;

	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 's': serving = true; break;
		case 'h': opt.host = optarg; break;
		case 'p': opt.port = atoi(optarg); break;
		case 'o': parse_over(optarg, chosen); break;
		case 'l': library = optarg; break;
		case 'P': opt.npings = parse_sizes(optarg, opt.ping); break;
		case 'S': opt.nstreams = parse_sizes(optarg, opt.stream); break;
		case 'r': opt.rounds = atoi(optarg); break;
		case 'm': opt.ms = atoi(optarg); break;
		case 'i': opt.insn = atoi(optarg); break;
		case 'I': opt.idle = atoi(optarg); break;
		case 'R': opt.nrates = parse_sizes(optarg, opt.rate); break;
		case 'd': opt.divide = atoi(optarg); break;
		case 'c': opt.connect = true; break;
		case 'O': opt.open = atoi(optarg); break;
		case 'H': over_huge_pages = true; break;
		case 'E': over_epoll = true; break;
		case 'N': over_nonblock = true; break;
		case 't': opt.tsv = true; break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind < argc || serving == !!opt.host || opt.rounds < 1 ||
	    opt.rounds > MAX_ROUNDS || opt.port < 1 || opt.ms < 1 || opt.divide < 1) {
		fputs(usage, stderr);
		return 2;
	}
	if (serving)
		serve(chosen);
	may_epoll(chosen);
	open_library(chosen, library);
	control = over_tcp.connect(opt.host, opt.port + PORT_CONTROL);
	if (opt.idle)
		measure_idle(chosen, control);
	else
		compare(chosen, control);
	over_tcp.close(control);
	return 0;
}
