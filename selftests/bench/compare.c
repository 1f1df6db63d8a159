// SPDX-License-Identifier: GPL-2.0
/*
 * The client of sdp_bench: the shapes, in rounds in which every transport has its
 * turn; their figures, the processor's time of streams, and context switches.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench.h"

enum { READ_SIZE = 64 << 10 };	/* of who reads small messages */

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

/* Where context switches were; the client is the first. */
enum { HERE, THERE, ENDS };

struct job {
	enum shape shape;
	uint32_t size;		/* connections: how many others are open */
	uint64_t count[NTRANSPORTS + 1];
	double figure[NTRANSPORTS + 1][MAX_ROUNDS];	/* ns for each that is counted */
	double cpu[NTRANSPORTS][USERS][MAX_ROUNDS];	/* the same, of streams */
	double switches[NTRANSPORTS][ENDS][MAX_ROUNDS];	/* the same, and of ping-pong */
	struct polls polls[NTRANSPORTS];	/* ping-pong over SDP, all rounds */
	struct joined joined;			/* over "local", all rounds */
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

static bool may_poll(const struct job *j, int t)
{
	return j->shape == PING && !opt.insn &&
	       (transports[t] == &over_sdp || transports[t] == &over_local);
}

static double measure_polls(struct job *j, int t, void *c)
{
	struct polls before = polls_now(), after;
	double ns = measure(j, t, c);

	after = polls_now();
	j->polls[t].all += after.all - before.all;
	j->polls[t].hits += after.hits - before.hits;
	return ns;
}

/* What the client alone sends at least, as the other side's last send() may still be
 * under way.
 */
static uint64_t sent_at_least(const struct job *j, int t)
{
	return j->shape == STREAM ? j->count[t] : j->count[t] * j->size;
}

/* And die if anything went another way: the figure would be another transport's. */
static double measure_joined(struct job *j, int t, void *c)
{
	struct joined before = joined_now(), after;
	double ns = may_poll(j, t) ? measure_polls(j, t, c) : measure(j, t, c);
	uint64_t joins, sent;

	after = joined_now();
	joins = after.joins - before.joins;
	sent = after.sent - before.sent;
	if (j->shape == CONNECT || j->shape == PARALLEL) {
		if (joins != j->count[t])
			die("local: %llu of %llu connections were joined",
			    (unsigned long long)joins, (unsigned long long)j->count[t]);
	} else if (sent < sent_at_least(j, t)) {
		die("local: %llu of %llu bytes went by memory", (unsigned long long)sent,
		    (unsigned long long)sent_at_least(j, t));
	}
	j->joined.sent += sent;
	j->joined.lent += after.lent - before.lent;
	return ns;
}

static double measure_watched(struct job *j, int t, void *c)
{
	if (t < NTRANSPORTS && transports[t] == &over_local)
		return measure_joined(j, t, c);
	if (t < NTRANSPORTS && may_poll(j, t))
		return measure_polls(j, t, c);
	return measure(j, t, c);
}

/* With the processor's time; not where instructions count: asking costs some. */
static void measure_round(struct job *j, int t, void *c, void *control, int round)
{
	struct usage here[2], there[2];
	double each = 1.0 / j->count[t];

	if ((j->shape != STREAM && j->shape != PING) || opt.insn) {
		j->figure[t][round] = measure_watched(j, t, c);
		return;
	}
	there[0] = usage_there(control);
	here[0] = usage_now();
	j->figure[t][round] = measure_watched(j, t, c);
	here[1] = usage_now();
	there[1] = usage_there(control);
	j->switches[t][HERE][round] = (here[1].switches - here[0].switches) * each;
	j->switches[t][THERE][round] = (there[1].switches - there[0].switches) * each;
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
	/* /proc/stat counts in hundredths of a second; and the first connections of
	 * all are slow, so that too few would be measured by their pace.
	 */
	if (j->shape == STREAM || j->shape == CONNECT)
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
	if (j->shape == CONNECT)
		return !transports[t]->can_connect;
	if (j->shape == PARALLEL)
		return !transports[t]->can_connect || transports[t]->one_by_one;
	return transports[t]->connects_only;
}

static double median(const double *figures)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, figures, opt.rounds * sizeof(*figures));
	qsort(sorted, opt.rounds, sizeof(*sorted), by_value);
	return sorted[opt.rounds / 2];
}

/* The first fields of a line of figures. */
static void print_key(const char *shape, uint32_t size, const char *name, const char *unit)
{
	printf("@\t%s%s%s\t%u\t%s\t%s", shape, over_epoll ? "-epoll" : "",
	       over_nonblock ? "-nonblock" : "", size, name, unit);
}

static void print_tsv(const char *shape, uint32_t size, const char *name, const char *unit,
		      const double *figures)
{
	int r;

	if (!opt.tsv)
		return;
	print_key(shape, size, name, unit);
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

/* For how many it paid, on this host; all rounds together, as one may have had none. */
static void report_polls(const struct job *j, int t)
{
	const struct polls *p = &j->polls[t];
	double each = (double)p->all / (j->count[t] * opt.rounds);
	double hits = p->all ? 100.0 * p->hits / p->all : 0;

	printf("  %-10s %10.2f polls a round trip, %.1f %% hit\n", transports[t]->name, each,
	       hits);
	if (!opt.tsv)
		return;
	print_key("poll", j->size, transports[t]->name, "polls a round trip");
	printf("\t%.4f\n", each);
	if (!p->all)
		return;
	print_key("poll", j->size, transports[t]->name, "% hit");
	printf("\t%.4f\n", hits);
}

/* A MiB of a stream, a round trip. */
static void report_switches(const struct job *j, int t)
{
	static const char *const of[][ENDS] = {
		[PING] = { "a round trip, client's host", "a round trip, server's host" },
		[STREAM] = { "a MiB, sender's host", "a MiB, receiver's host" },
	};
	double shown[MAX_ROUNDS];
	int end, r;

	for (end = 0; end < ENDS; end++) {
		for (r = 0; r < opt.rounds; r++)
			shown[r] = j->switches[t][end][r] * (j->shape == STREAM ? 1 << 20 : 1);
		printf("  %-10s %10.2f context switches %s\n", transports[t]->name,
		       median(shown), of[j->shape][end]);
		print_tsv("switches", j->size, transports[t]->name, of[j->shape][end], shown);
	}
}

/* All rounds together, as polls. */
static void report_lent(const struct job *j, int t)
{
	double percent = 100.0 * j->joined.lent / j->joined.sent;

	printf("  %-10s %10.1f %% of what was sent was lent\n", transports[t]->name, percent);
	if (!opt.tsv)
		return;
	print_key("lent", j->size, transports[t]->name, "% of what was sent");
	printf("\t%.4f\n", percent);
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
	for (i = 0; i < NTRANSPORTS; i++) {
		if (left_out(j, chosen, i))
			continue;
		if (j->shape == STREAM && transports[i] == &over_local)
			report_lent(j, i);
		if (may_poll(j, i))
			report_polls(j, i);
		if (j->shape == STREAM && !opt.insn)
			report_cpu(j, i);
		if ((j->shape == STREAM || j->shape == PING) && !opt.insn)
			report_switches(j, i);
	}
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

void compare(const bool *chosen, void *control)
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
	if (opt.insn && !opt.open && !over_epoll && !over_nonblock) {
		jobs[n].shape = COPY;
		jobs[n].size = 64 << 10;
		n++;
	}
	for (t = 0; t < NTRANSPORTS; t++)
		if (chosen[t]) {
			conns[t] = transports[t]->connect(opt.host, port_of(t, PORT_SERVE));
			if (transports[t]->check)
				transports[t]->check(conns[t]);
		}
	open_others(chosen);
	run_jobs(jobs, n, chosen, conns, control);
	/* The end of the program closes them: with verbs, close() waits long for a
	 * peer that looks for messages only.
	 */
	free(jobs);
}
