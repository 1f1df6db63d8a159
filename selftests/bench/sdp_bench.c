// SPDX-License-Identifier: GPL-2.0
/*
 * What a transport costs, beside its peers: SDP, TCP, rsockets, raw verbs
 * (SENDs, event mode), what fell back, and AF_UNIX, interleaved in one process.
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
 * that is plain TCP's, which is known by then.
 *
 * A figure is the median of --rounds measurements, with the least and the
 * greatest; in each round every transport has its turn, so that a busy moment of
 * the machine meets all.  For streams the processor's time is told too: of the
 * process and of all the host, at each end, since much of soft-RoCE's work is
 * done in nobody's name.
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
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench.h"

static const char usage[] =
"Usage: sdp_bench --serve | --host ADDRESS [OPTION]...\n"
"  --port N       first of the ports used (default: 9900)\n"
"  --over LIST    of tcp,sdp,fallback,rsockets,verbs,verbs-write,verbs-read,unix,\n"
"                 tcp-zerocopy,sdp-zerocopy (by MSG_ZEROCOPY)\n"
"                 (default: tcp,sdp,rsockets,verbs)\n"
"  --ping LIST    sizes of ping-pong, with k, m; none (default: 1,64,1k,64k)\n"
"  --stream LIST  sizes of writes in a stream (default: 64k,1m)\n"
"  --rate LIST    sizes of small messages (default: none)\n"
"  --connect      measure connections too\n"
"  --open N       and keep N open of each transport meanwhile\n"
"  --rounds N     default 7\n"
"  --ms N         how long one measurement should take (default: 150)\n"
"  --huge         sockets send and receive in huge pages, the server too\n"
"  --insn NS      count instructions, each of NS nanoseconds of the clock\n"
"  --divide N     with --insn: one Nth of the work, for a trial\n"
"  --idle N       measure the memory of N idle connections\n"
"  --tsv          figures also in lines that begin with @, fields between tabs: shape,\n"
"                 size (connections: how many are open), transport, unit, and the\n"
"                 figure of each round\n";

enum { MAX_SIZES = 16, MAX_ROUNDS = 101 };
enum { READ_SIZE = 64 << 10 };	/* of who reads small messages */
enum { AT_ONCE = 8 };		/* connections made, and accepted, side by side */

/* What a client asks for, first thing and after each answer; native order. */
enum op { OP_PING, OP_STREAM, OP_MEMORY, OP_DROP, OP_USAGE };

struct request {
	uint32_t op;
	uint32_t size;
	uint64_t count;		/* round trips; bytes in all */
};

static struct {
	const char *host;
	int port;
	int rounds;
	int ms;
	int insn;
	int divide;
	int idle;
	int open;
	bool connect;
	bool tsv;
	uint32_t ping[MAX_SIZES], stream[MAX_SIZES], rate[MAX_SIZES];
	int npings, nstreams, nrates;
} opt = {
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

/* Ports: control, then for each transport one that serves, holds, closes. */
enum { PORT_CONTROL = 0, PORT_SERVE = 1, PORT_HOLD = 2, PORT_CLOSE = 3, PORTS = 3 };

static const struct transport *const transports[] = {
	&over_tcp, &over_sdp, &over_fallback, &over_rsockets, &over_verbs,
	&over_verbs_write, &over_verbs_read, &over_unix, &over_tcp_zerocopy, &over_sdp_zerocopy,
};

enum { NTRANSPORTS = sizeof(transports) / sizeof(transports[0]) };

static int port_of(int transport, int what)
{
	return opt.port + PORTS * transport + what;
}

static void recv_stream(const struct transport *t, void *c, uint32_t size, uint64_t total)
{
	while (total) {
		size_t n = t->recv_some(c, total < size ? total : size);

		if (!n)
			die("%s: the stream ended early", t->name);
		total -= n;
	}
}

static void recv_exact(const struct transport *t, void *c, size_t size)
{
	recv_stream(t, c, size, size);
}

/* -------------------------------------------------------------------- server */

struct held {
	pthread_mutex_t lock;
	void **conns;
	int n;
};

static struct held held[NTRANSPORTS];

struct serving {
	const struct transport *t;
	int index;
	void *listener;
	void *conn;
};

static void drop_held(void)
{
	int i, j;

	for (i = 0; i < NTRANSPORTS; i++) {
		pthread_mutex_lock(&held[i].lock);
		for (j = 0; j < held[i].n; j++)
			transports[i]->close(held[i].conns[j]);
		free(held[i].conns);
		held[i].conns = NULL;
		held[i].n = 0;
		pthread_mutex_unlock(&held[i].lock);
	}
}

static void serve_request(const struct transport *t, void *c, const struct request *r)
{
	struct memory m;
	struct usage u;
	uint64_t i;

	switch (r->op) {
	case OP_PING:
		for (i = 0; i < r->count; i++) {
			recv_exact(t, c, r->size);
			t->send(c, NULL, r->size);
		}
		break;
	case OP_STREAM:
		recv_stream(t, c, r->size, r->count);
		t->send(c, NULL, 1);
		break;
	case OP_MEMORY:
		m = memory_now();
		t->send(c, &m, sizeof(m));
		break;
	case OP_DROP:
		drop_held();
		t->send(c, NULL, 1);
		break;
	case OP_USAGE:
		u = usage_now();
		t->send(c, &u, sizeof(u));
		break;
	}
}

static void *serve_conn(void *arg)
{
	struct serving *s = arg;
	struct request r;

	while (s->t->recv_some(s->conn, sizeof(r))) {
		memcpy(&r, s->t->data(s->conn), sizeof(r));
		serve_request(s->t, s->conn, &r);
	}
	s->t->close(s->conn);
	free(s);
	return NULL;
}

static void *serve_transport(void *arg)
{
	struct serving *s = arg, *mine;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (;;) {
		mine = malloc(sizeof(*mine));
		*mine = *s;
		mine->conn = s->t->accept(s->listener);
		if (pthread_create(&thread, &attr, serve_conn, mine))
			die("no thread");
	}
	return NULL;
}

static void *hold_transport(void *arg)
{
	struct serving *s = arg;
	struct held *h = &held[s->index];
	void *c;

	while (s->t->one_by_one)
		pause();	/* connections come about without accept() */
	for (;;) {
		c = s->t->accept(s->listener);
		pthread_mutex_lock(&h->lock);
		h->conns = realloc(h->conns, (h->n + 1) * sizeof(*h->conns));
		h->conns[h->n++] = c;
		pthread_mutex_unlock(&h->lock);
	}
	return NULL;
}

static void *close_transport(void *arg)
{
	struct serving *s = arg;

	for (;;)
		s->t->close(s->t->accept(s->listener));
	return NULL;
}

static bool offered(int transport, int what)
{
	const struct transport *t = transports[transport];

	return what == PORT_SERVE || (what == PORT_HOLD ? t->can_idle : t->can_connect);
}

static struct serving *start_listening(int transport, int what)
{
	struct serving *s = calloc(1, sizeof(*s));

	s->t = transports[transport];
	s->index = transport;
	s->listener = s->t->listen(port_of(transport, what));
	return s;
}

/* What librdmacm has accepted, and nobody has asked for, waits in a pair of sockets
 * that are made with the listener: hundreds are to find room.
 */
static struct serving *start_queueing(int transport, int what)
{
	static const char path[] = "/proc/sys/net/core/wmem_default";
	FILE *f = fopen(path, "r+");
	struct serving *s;
	int was;

	if (!f || fscanf(f, "%d", &was) != 1)
		die("%s: %s", path, strerror(errno));
	rewind(f);
	fprintf(f, "%d\n", 16 << 20);
	fflush(f);
	s = start_listening(transport, what);
	rewind(f);
	fprintf(f, "%d\n", was);
	fclose(f);
	return s;
}

/* In a process of its own; returns when it listens. */
static void serve_apart(int transport, int what, void *(*does)(void *))
{
	int listens[2];
	struct serving *s;
	char byte = 0;

	if (pipe(listens))
		die("no pipe");
	switch (fork()) {
	case -1:
		die("no process");
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		s = start_queueing(transport, what);
		if (write(listens[1], &byte, 1) != 1)
			die("nobody waits");
		does(s);
	}
	close(listens[1]);
	if (read(listens[0], &byte, 1) != 1)
		die("%s: nobody listens", transports[transport]->name);
	close(listens[0]);
}

static void serve(const bool *chosen)
{
	static void *(*const does[])(void *) = {
		[PORT_SERVE] = serve_transport, [PORT_HOLD] = hold_transport,
		[PORT_CLOSE] = close_transport,
	};
	pthread_t thread;
	int i, n, what;

	/* Before there are threads here. */
	for (i = 0; i < NTRANSPORTS; i++)
		for (what = PORT_HOLD; what <= PORT_CLOSE && chosen[i]; what++)
			if (offered(i, what) && transports[i]->one_by_one)
				serve_apart(i, what, does[what]);
	for (i = 0; i < NTRANSPORTS; i++) {
		pthread_mutex_init(&held[i].lock, NULL);
		for (what = PORT_SERVE; what <= PORT_CLOSE && chosen[i]; what++) {
			struct serving *s;

			if (!offered(i, what) ||
			    (what != PORT_SERVE && transports[i]->one_by_one))
				continue;
			s = start_listening(i, what);
			for (n = what == PORT_CLOSE ? AT_ONCE : 1; n; n--)
				if (pthread_create(&thread, NULL, does[what], s))
					die("no thread");
		}
	}
	/* The control port comes last: who reaches it reaches all. */
	struct serving control = {
		.t = &over_tcp, .listener = over_tcp.listen(opt.port + PORT_CONTROL),
	};

	serve_transport(&control);
}

/* -------------------------------------------------------------------- client */

static void ask(const struct transport *t, void *c, enum op op, uint32_t size, uint64_t count)
{
	struct request r = { .op = op, .size = size, .count = count };

	t->send(c, &r, sizeof(r));
}

/* Return: ns in all */
static int64_t run_ping(const struct transport *t, void *c, uint32_t size, uint64_t count)
{
	int64_t start;
	uint64_t i;

	ask(t, c, OP_PING, size, count + 1);
	t->send(c, NULL, size);		/* the request has been read when this is back */
	recv_exact(t, c, size);
	start = now();
	for (i = 0; i < count; i++) {
		t->send(c, NULL, size);
		recv_exact(t, c, size);
	}
	return now() - start;
}

/* Writes of @size; @read: what the other side reads with. */
static int64_t run_stream(const struct transport *t, void *c, uint32_t size, uint32_t read,
			  uint64_t total)
{
	int64_t start = now();
	uint64_t done;

	ask(t, c, OP_STREAM, read, total);
	for (done = 0; done < total; done += size)
		t->send(c, NULL, size);
	recv_exact(t, c, 1);
	return now() - start;
}

struct connecting {
	int transport;
	uint64_t count;
};

static void *connect_often(void *arg)
{
	struct connecting *what = arg;
	const struct transport *t = transports[what->transport];
	uint64_t i;
	void *c;

	for (i = 0; i < what->count; i++) {
		c = t->connect(opt.host, port_of(what->transport, PORT_CLOSE));
		if (t->recv_some(c, 1))
			die("%s: bytes came", t->name);
		t->close(c);
	}
	return NULL;
}

static int64_t run_connect(int transport, uint64_t count)
{
	struct connecting what = { transport, count };
	int64_t start = opt.insn ? ran() : now();

	connect_often(&what);
	return (opt.insn ? ran() : now()) - start;
}

static int64_t run_parallel(int transport, uint64_t count)
{
	struct connecting what = { transport, count / AT_ONCE };
	pthread_t thread[AT_ONCE];
	int64_t start = now();
	int i;

	for (i = 0; i < AT_ONCE; i++)
		if (pthread_create(&thread[i], NULL, connect_often, &what))
			die("no thread");
	for (i = 0; i < AT_ONCE; i++)
		pthread_join(thread[i], NULL);
	return now() - start;
}

/* One bare copy in the kernel, the pinning of a page with it: what a copy path adds to. */
static int64_t run_copy(uint32_t size, uint64_t total)
{
	char *from = malloc(size), *to = malloc(size);
	struct iovec local = { to, size }, remote = { from, size };
	int64_t start;
	uint64_t done;

	memset(from, 1, size);
	memset(to, 1, size);
	start = now();
	for (done = 0; done < total; done += size)
		if (process_vm_readv(getpid(), &local, 1, &remote, 1, 0) != (ssize_t)size)
			die("process_vm_readv: %s", strerror(errno));
	start = now() - start;
	free(from);
	free(to);
	return start;
}

enum shape { PING, STREAM, RATE, CONNECT, PARALLEL, COPY };

static const struct {
	const char *name, *title, *unit, *insn_unit;
	bool bytes;		/* what is counted is bytes; else round trips and such */
} shapes[] = {
	[PING] = { "ping", "ping-pong", "us a round trip", "thousand instructions a round trip" },
	[STREAM] = { "stream", "stream", "MiB/s", "million instructions a GiB", true },
	[RATE] = { "rate", "messages", "thousand messages/s", "thousand instructions a message" },
	[CONNECT] = { "connect", "connection", "us a connection",
		      "thousand instructions a connection" },
	[PARALLEL] = { "parallel", "connections, several at once", "connections/s", NULL },
	[COPY] = { "copy", "one kernel copy", NULL, "million instructions a GiB", true },
};

/* Whose processor time; "sender" is the client. */
enum { OF_SENDER, OF_SENDERS_HOST, OF_RECEIVER, OF_RECEIVERS_HOST, USERS };
static const char *const users[] = {
	"sender", "sender's host", "receiver", "receiver's host"
};

struct job {
	enum shape shape;
	uint32_t size;		/* connections: how many others are open */
	uint64_t count[NTRANSPORTS + 1];
	double figure[NTRANSPORTS + 1][MAX_ROUNDS];	/* ns for each that is counted */
	double cpu[NTRANSPORTS][USERS][MAX_ROUNDS];	/* the same, of streams */
};

static double measure(struct job *j, int t, void *c)
{
	uint64_t count = j->count[t];
	int64_t ns = 0;

	switch (j->shape) {
	case PING:
		ns = run_ping(transports[t], c, j->size, count);
		break;
	case STREAM:
		ns = run_stream(transports[t], c, j->size, j->size, count);
		break;
	case RATE:
		ns = run_stream(transports[t], c, j->size, READ_SIZE, count * j->size);
		break;
	case CONNECT:
		ns = run_connect(t, count);
		break;
	case PARALLEL:
		ns = run_parallel(t, count);
		break;
	case COPY:
		ns = run_copy(j->size, count);
		break;
	}
	return (double)ns / count;
}

static struct usage usage_there(void *control)
{
	struct usage u;

	ask(&over_tcp, control, OP_USAGE, 0, 0);
	recv_exact(&over_tcp, control, sizeof(u));
	memcpy(&u, over_tcp.data(control), sizeof(u));
	return u;
}

/* With the processor's time; not where instructions count: asking costs some. */
static void measure_round(struct job *j, int t, void *c, void *control, int round)
{
	struct usage here[2], there[2];
	double each = 1.0 / j->count[t];

	if (j->shape != STREAM || opt.insn) {
		j->figure[t][round] = measure(j, t, c);
		return;
	}
	there[0] = usage_there(control);
	here[0] = usage_now();
	j->figure[t][round] = measure(j, t, c);
	here[1] = usage_now();
	there[1] = usage_there(control);
	j->cpu[t][OF_SENDER][round] = (here[1].process - here[0].process) * each;
	j->cpu[t][OF_SENDERS_HOST][round] = (here[1].host - here[0].host) * each;
	j->cpu[t][OF_RECEIVER][round] = (there[1].process - there[0].process) * each;
	j->cpu[t][OF_RECEIVERS_HOST][round] = (there[1].host - there[0].host) * each;
}

/* How much is done where instructions count: so much that a run repeats. */
static uint64_t fixed_count(const struct job *j)
{
	switch (j->shape) {
	case PING:
		return (j->size > 4096 ? 60 : 300) / opt.divide;
	case RATE:
		return 4000 / opt.divide;
	case STREAM:
	case COPY:
		return (16 << 20) / opt.divide;
	default:
		return 500 / opt.divide;
	}
}

/* How much fills --ms, from a short run that also warms up. */
static void calibrate(struct job *j, int t, void *c)
{
	bool bytes = shapes[j->shape].bytes;
	double each, ms = opt.ms;
	uint64_t count, least = bytes ? (j->size > 1 << 20 ? 4 : 16) * (uint64_t)j->size :
			j->shape == RATE ? 64 :
			j->shape == PARALLEL ? 2 * AT_ONCE : 20;

	j->count[t] = least;
	each = measure(j, t, c);
	if (j->shape == STREAM)		/* /proc/stat counts in hundredths of a second */
		ms *= 4;
	count = opt.insn ? fixed_count(j) : ms * 1e6 / each;
	if (bytes)
		count -= count % j->size;
	if (j->shape == PARALLEL)
		count -= count % AT_ONCE;
	j->count[t] = count > least ? count : least;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static const char *size_text(uint32_t size)
{
	static char text[16];

	if (size >= 1 << 20)
		snprintf(text, sizeof(text), "%u MiB", size >> 20);
	else if (size >= 1 << 10)
		snprintf(text, sizeof(text), "%u KiB", size >> 10);
	else
		snprintf(text, sizeof(text), "%u B", size);
	return text;
}

/* What a figure is shown as. */
static double scaled(const struct job *j, double ns)
{
	bool bytes = shapes[j->shape].bytes;

	if (opt.insn)	/* millions a GiB, thousands */
		return bytes ? ns / opt.insn * 1024 * 1.048576 : ns / opt.insn / 1000;
	switch (j->shape) {
	case STREAM:
		return 1e9 / ns / (1 << 20);
	case RATE:
		return 1e6 / ns;
	case PARALLEL:
		return 1e9 / ns;
	default:
		return ns / 1000;
	}
}

static bool left_out(const struct job *j, const bool *chosen, int t)
{
	if (t == NTRANSPORTS)
		return j->shape != COPY;
	if (!chosen[t] || j->shape == COPY)
		return true;
	return (j->shape == CONNECT && !transports[t]->can_connect) ||
	       (j->shape == PARALLEL &&
		(!transports[t]->can_connect || transports[t]->one_by_one));
}

static double median(const double *figures)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, figures, opt.rounds * sizeof(*figures));
	qsort(sorted, opt.rounds, sizeof(*sorted), by_value);
	return sorted[opt.rounds / 2];
}

static void print_tsv(const char *shape, uint32_t size, const char *name, const char *unit,
		      const double *figures)
{
	int r;

	if (!opt.tsv)
		return;
	printf("@\t%s\t%u\t%s\t%s", shape, size, name, unit);
	for (r = 0; r < opt.rounds; r++)
		printf("\t%.4f", figures[r]);
	putchar('\n');
}

/* Processor seconds a GiB. */
static void report_cpu(const struct job *j, int t)
{
	double shown[MAX_ROUNDS];
	char unit[64];
	int u, r;

	for (u = 0; u < USERS; u++) {
		for (r = 0; r < opt.rounds; r++)
			shown[r] = j->cpu[t][u][r] * 1.073741824;
		printf("  %-10s %10.2f s a GiB of the %s\n", transports[t]->name, median(shown),
		       users[u]);
		snprintf(unit, sizeof(unit), "s a GiB, %s", users[u]);
		print_tsv("cpu", j->size, transports[t]->name, unit, shown);
	}
}

static void report(struct job *j, const bool *chosen)
{
	double med[NTRANSPORTS + 1], verbs = 0, tcp = 0;
	const char *unit = opt.insn ? shapes[j->shape].insn_unit : shapes[j->shape].unit;
	int i, r;

	if (j->shape == CONNECT || j->shape == PARALLEL)
		printf("\n%s, %u others open: %s\n", shapes[j->shape].title, j->size, unit);
	else
		printf("\n%s of %s: %s\n", shapes[j->shape].title, size_text(j->size), unit);
	for (i = 0; i <= NTRANSPORTS; i++) {
		if (left_out(j, chosen, i))
			continue;
		med[i] = median(j->figure[i]);
		if (i < NTRANSPORTS && transports[i] == &over_verbs)
			verbs = med[i];
		if (i < NTRANSPORTS && transports[i] == &over_tcp)
			tcp = med[i];
	}
	printf("  %-10s %10s %10s %10s %8s %8s\n", "", "median", "min", "max",
	       verbs ? "/verbs" : "", tcp ? "/tcp" : "");
	for (i = 0; i <= NTRANSPORTS; i++) {
		const char *name = i < NTRANSPORTS ? transports[i]->name : "copy";
		double shown[MAX_ROUNDS], lo = INFINITY, hi = 0;

		if (left_out(j, chosen, i))
			continue;
		for (r = 0; r < opt.rounds; r++) {
			shown[r] = scaled(j, j->figure[i][r]);
			lo = fmin(lo, shown[r]);
			hi = fmax(hi, shown[r]);
		}
		/* The ratio is of costs: above 1 is dearer than the other. */
		printf("  %-10s %10.1f %10.1f %10.1f", name, median(shown), lo, hi);
		if (verbs)
			printf(" %8.2f", med[i] / verbs);
		if (tcp)
			printf(" %8.2f", med[i] / tcp);
		putchar('\n');
		print_tsv(shapes[j->shape].name, j->size, name, unit, shown);
	}
	for (i = 0; i < NTRANSPORTS && j->shape == STREAM && !opt.insn; i++)
		if (!left_out(j, chosen, i))
			report_cpu(j, i);
}

static void run_jobs(struct job *jobs, int njobs, const bool *chosen, void **conns, void *control)
{
	double idle, load[3];
	int64_t start;
	int i, t, r;

	for (i = 0; i < njobs; i++)
		for (t = 0; t <= NTRANSPORTS; t++)
			if (!left_out(&jobs[i], chosen, t))
				calibrate(&jobs[i], t, conns[t]);
	idle = idle_seconds();
	start = now();
	for (r = 0; r < opt.rounds; r++) {
		for (i = 0; i < njobs; i++)
			for (t = 0; t <= NTRANSPORTS; t++)
				if (!left_out(&jobs[i], chosen, t))
					measure_round(&jobs[i], t, conns[t], control, r);
		fprintf(stderr, "round %d of %d\n", r + 1, opt.rounds);
	}
	idle = (idle_seconds() - idle) / ((now() - start) / 1e9);
	for (i = 0; i < njobs; i++)
		report(&jobs[i], chosen);
	if (getloadavg(load, 3) == 3)
		printf("\n%d rounds, load average here %.2f, processor idle %.1f %%\n", opt.rounds,
		       load[0], 100 * idle / sysconf(_SC_NPROCESSORS_ONLN));
}

static int add_connections(struct job *jobs)
{
	jobs[0].shape = CONNECT;
	jobs[0].size = opt.open;
	if (opt.insn)
		return 1;	/* how much there is to wait for does not count there */
	jobs[1].shape = PARALLEL;
	jobs[1].size = opt.open;
	return 2;
}

/* The end of the program closes them. */
static void open_others(const bool *chosen)
{
	int i, t;

	for (t = 0; t < NTRANSPORTS; t++)
		for (i = 0; chosen[t] && transports[t]->can_connect && i < opt.open; i++)
			transports[t]->connect(opt.host, port_of(t, PORT_HOLD));
}

static void compare(const bool *chosen, void *control)
{
	/* The last ones: connections, or the copy. */
	struct job *jobs = calloc(opt.npings + opt.nstreams + opt.nrates + 3, sizeof(*jobs));
	void *conns[NTRANSPORTS + 1] = {};
	int n = 0, i, t;

	if (!jobs)
		die("no memory");
	for (i = 0; i < opt.npings; i++, n++)
		jobs[n].size = opt.ping[i];
	for (i = 0; i < opt.nstreams; i++, n++) {
		jobs[n].shape = STREAM;
		jobs[n].size = opt.stream[i];
	}
	for (i = 0; i < opt.nrates; i++, n++) {
		jobs[n].shape = RATE;
		jobs[n].size = opt.rate[i];
	}
	if (opt.connect)
		n += add_connections(&jobs[n]);
	if (opt.insn && !opt.open) {
		jobs[n].shape = COPY;
		jobs[n].size = 64 << 10;
		n++;
	}
	for (t = 0; t < NTRANSPORTS; t++)
		if (chosen[t])
			conns[t] = transports[t]->connect(opt.host, port_of(t, PORT_SERVE));
	open_others(chosen);
	run_jobs(jobs, n, chosen, conns, control);
	/* The end of the program closes them: with verbs, close() waits long for a
	 * peer that looks for messages only.
	 */
	free(jobs);
}

static struct memory memory_there(void *control)
{
	struct memory m;

	ask(&over_tcp, control, OP_MEMORY, 0, 0);
	recv_exact(&over_tcp, control, sizeof(m));
	memcpy(&m, over_tcp.data(control), sizeof(m));
	return m;
}

static void print_memory(const char *name, const char *side, int n, struct memory was,
			 struct memory is)
{
	double kernel = (is.kernel - was.kernel) / 1024.0 / n;
	double user = (is.user - was.user) / 1024.0 / n;

	printf("  %-10s %10.1f KiB of the kernel's %10.1f KiB of the program's\n", side,
	       kernel, user);
	if (opt.tsv)
		printf("@\tidle\t%d\t%s\tKiB, %s: kernel, program, sum\t%.1f\t%.1f\t%.1f\n",
		       n, name, side, kernel, user, kernel + user);
}

static void print_own(const char *name, int n, double kib)
{
	printf("  %-10s %10.1f KiB of the kernel's, by its own account\n", name, kib);
	if (opt.tsv)
		printf("@\tidle\t%d\t%s\tKiB, own account\t%.1f\n", n, name, kib);
}

static void measure_idle(const bool *chosen, void *control)
{
	void **conns = calloc(opt.idle, sizeof(*conns));
	struct memory here, there;
	uint64_t ours;
	int t, i, n;

	for (t = 0; t < NTRANSPORTS; t++) {
		const struct transport *over = transports[t];

		if (!chosen[t] || !over->can_idle)
			continue;
		n = opt.idle;
		if (over->idle_max && over->idle_max < n)
			n = over->idle_max;
		ours = 0;
		here = memory_now();
		there = memory_there(control);
		for (i = 0; i < n; i++) {
			conns[i] = over->connect(opt.host, port_of(t, PORT_HOLD));
			if (over->memory)
				ours += over->memory(conns[i]);
		}
		sleep(1);
		printf("\n%s, %d idle connections, memory of one:\n", over->name, n);
		print_memory(over->name, "client", n, here, memory_now());
		print_memory(over->name, "server", n, there, memory_there(control));
		if (over->memory)
			print_own(over->name, n, ours / 1024.0 / n);
		if (over->stays_open)
			break;		/* the last one: the end of the program closes it */
		ask(&over_tcp, control, OP_DROP, 0, 0);
		for (i = 0; i < n; i++)
			over->close(conns[i]);
		recv_exact(&over_tcp, control, 1);
		sleep(2);
	}
	free(conns);
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
		{ "tsv", no_argument, NULL, 't' },
		{}
	};
	bool chosen[NTRANSPORTS] = { true, true, false, true, true, false };
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
	control = over_tcp.connect(opt.host, opt.port + PORT_CONTROL);
	if (opt.idle)
		measure_idle(chosen, control);
	else
		compare(chosen, control);
	over_tcp.close(control);
	return 0;
}
