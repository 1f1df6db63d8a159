// SPDX-License-Identifier: GPL-2.0
/*
 * The client: starts runners, gives them their tasks, and says what came of it.
 *
 * Repetitions are interleaved: in each, every size has its turn, and of a size every
 * transport, so that a busy moment of the machine meets all.  What is said of them are
 * medians.
 *
 * The client itself only waits, so that an interruption is seen at once: it says what there
 * is so far, and how it ended.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "mode.h"

enum {
	START_SECONDS = 60,	/* of a runner, until its connections are there */
	LOOPS = 40,		/* of finding out how much takes how long */
};

struct runner {
	pid_t pid;
	int fd;			/* to it and from it; -1: there is none */
};

/* A transport, and what was measured over it. */
struct lane {
	const struct transport *t;
	struct runner *runners;		/* opt.clients */
	char by[128];
	uint64_t *counts;		/* for each size: how much is measured at once */
	struct tally *tallies;
};

static struct client {
	const struct mode *mode;
	const char *host;
	uint16_t port;
	bool same_host;
	struct lane *lanes;
	int nlanes;
	struct json_object *about, *left_out, *carried;
	bool progress;			/* somebody watches */
	bool shown;			/* a line of it is on the screen */
} client;

static volatile sig_atomic_t interrupted;
static sigset_t waiting;		/* the signals that are let in while waiting */

static void interrupt(int signal)
{
	interrupted = signal;
}

/* ----------------------------------------------------------------------- progress */

static void clear_progress(void)
{
	if (client.shown)
		fputs("\r\033[K", stderr);
	client.shown = false;
}

__attribute__((format(printf, 1, 2)))
static void progress(const char *fmt, ...)
{
	va_list ap;

	if (!client.progress)
		return;
	clear_progress();
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	client.shown = true;
}

/* ------------------------------------------------------------------------- report */

static void add_records(struct report *r)
{
	double *figures;
	uint32_t size;
	size_t s;
	int i;

	for (s = 0; s < opt.nsizes; s++) {
		for (i = 0; i < client.nlanes; i++) {
			struct tally *t = &client.lanes[i].tallies[s];

			if (!t->rates.n)
				continue;
			size = client.mode == &mode_connections ? 0 : opt.sizes[s];
			figures = need(report_add(r, client.lanes[i].t->name, size));
			client.mode->figures(t, opt.sizes[s], figures);
		}
	}
}

/* What there is; and how it ends. */
static int say_all(void)
{
	struct report r = {
		.rows = client.mode->rows, .columns = client.mode->columns,
		.ncolumns = client.mode->ncolumns, .about = client.about,
	};

	clear_progress();
	json_object_object_add(client.about, "interrupted", json_object_new_boolean(interrupted));
	add_records(&r);
	switch (opt.output) {
	case OUTPUT_TABLE:
		report_table(&r, stdout);
		break;
	case OUTPUT_CSV:
		report_csv(&r, stdout);
		break;
	case OUTPUT_JSON:
		report_json(&r, stdout);
		break;
	}
	if (fflush(stdout) || ferror(stdout))
		fail("cannot write to standard output: %s", strerror(errno));
	return interrupted ? 128 + interrupted : 0;
}

/* ------------------------------------------------------------------------ runners */

static void be_interrupted(void)
{
	exit(say_all());	/* runners end with their parent */
}

/* Until the runner says something, or has gone; false: not in time. */
static bool wait_for(struct runner *r, int seconds)
{
	struct timespec limit = { .tv_sec = seconds };
	struct pollfd p = { .fd = r->fd, .events = POLLIN };
	int n;

	for (;;) {
		if (interrupted)
			be_interrupted();
		n = ppoll(&p, 1, seconds ? &limit : NULL, &waiting);
		if (n >= 0)
			return n;
		if (errno != EINTR)
			fail("ppoll: %s", strerror(errno));
	}
}

/* @size bytes of it; false: it has gone. */
static bool hear_bytes(struct runner *r, void *to, size_t size)
{
	size_t at;
	ssize_t n;

	for (at = 0; at < size; at += n) {
		wait_for(r, 0);
		n = read(r->fd, (char *)to + at, size - at);
		if (n <= 0)
			return false;
	}
	return true;
}

static void hear_result(struct runner *r, struct result *result)
{
	if (hear_bytes(r, result, sizeof(*result))) {
		result->text[sizeof(result->text) - 1] = '\0';
		return;
	}
	*result = (struct result) { .failed = true };
	snprintf(result->text, sizeof(result->text), "the process that measures it has died");
}

/* With its end of a pair of sockets as standard input and output. */
static void start_runner(struct lane *lane, struct runner *r)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		fail("socketpair: %s", strerror(errno));
	fflush(NULL);
	r->pid = fork();
	if (r->pid < 0)
		fail("fork: %s", strerror(errno));
	if (!r->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		signal(SIGINT, SIG_IGN);	/* the client tells */
		signal(SIGTERM, SIG_DFL);
		sigprocmask(SIG_SETMASK, &waiting, NULL);
		if (dup2(pair[1], STDIN_FILENO) < 0 || dup2(pair[1], STDOUT_FILENO) < 0)
			fail("dup2: %s", strerror(errno));
		runner_run(lane->t, client.host, client.port);
	}
	close(pair[1]);
	r->fd = pair[0];
}

static void stop_runners(struct lane *lane)
{
	uint32_t i;

	for (i = 0; i < opt.clients; i++) {
		if (lane->runners[i].fd < 0)
			continue;
		kill(lane->runners[i].pid, SIGKILL);
		close(lane->runners[i].fd);
		lane->runners[i].fd = -1;
	}
}

/* Known without a try. */
static const char *never(const struct transport *t)
{
	if (t->same_host && !client.same_host)
		return "the server is on another host, or in another network namespace";
	if (t->no_epoll && opt.plan.wait == WAIT_EPOLL)
		return "its descriptors are none of the kernel's, and epoll knows only those";
	if (t->no_connections && opt.plan.mode == MODE_CONNECTIONS)
		return "the cost of its connections is not measured, as their end is not told";
	return NULL;
}

/* NULL, or why it does not work. */
static const char *start_lane(struct lane *lane)
{
	static char why[600];
	struct result ready;
	const char *no = never(lane->t);
	uint32_t i;

	if (no)
		return no;
	for (i = 0; i < opt.clients; i++) {
		start_runner(lane, &lane->runners[i]);
		ready = (struct result) { .failed = true };
		if (wait_for(&lane->runners[i], START_SECONDS))
			hear_result(&lane->runners[i], &ready);
		else
			snprintf(ready.text, sizeof(ready.text), "no connection within a minute");
		if (!ready.failed)
			continue;
		snprintf(why, sizeof(why), "%s", ready.text);
		stop_runners(lane);
		return why;
	}
	snprintf(lane->by, sizeof(lane->by), "%.100s", ready.text);
	return NULL;
}

static void add_lane(const struct transport *t, bool asked)
{
	struct lane *lane = &client.lanes[client.nlanes];
	struct json_object *left;
	const char *why;
	uint32_t i;

	*lane = (struct lane) { .t = t };
	lane->runners = need(calloc(opt.clients, sizeof(*lane->runners)));
	for (i = 0; i < opt.clients; i++)
		lane->runners[i].fd = -1;
	progress("connecting over %s", t->name);
	why = start_lane(lane);
	clear_progress();
	if (why && asked)
		fail("%s: %s", t->name, why);
	if (why) {
		left = json_object_new_object();
		json_object_object_add(left, "transport", json_object_new_string(t->name));
		json_object_object_add(left, "reason", json_object_new_string(why));
		json_object_array_add(client.left_out, left);
		free(lane->runners);
		return;
	}
	lane->counts = need(calloc(opt.nsizes, sizeof(*lane->counts)));
	lane->tallies = need(calloc(opt.nsizes, sizeof(*lane->tallies)));
	json_object_object_add(client.carried, t->name,
			       json_object_new_string(lane->by));
	client.nlanes++;
}

/* ---------------------------------------------------------------------- measuring */

/* One of all runners of a lane, into @tally; rates by second. */
static double measure(struct lane *lane, const struct task *task, struct tally *tally)
{
	int64_t start = INT64_MAX, end = 0;
	struct result r;
	double count = 0, rate, *s;
	uint32_t i;

	for (i = 0; i < opt.clients; i++)
		if (write(lane->runners[i].fd, task, sizeof(*task)) != sizeof(*task))
			fail("%s: the process that measures it has died", lane->t->name);
	for (i = 0; i < opt.clients; i++) {
		hear_result(&lane->runners[i], &r);
		if (r.failed)
			fail("%s: %s", lane->t->name, r.text);
		s = need(calloc(r.nsamples + 1, sizeof(*s)));
		if (!hear_bytes(&lane->runners[i], s, r.nsamples * sizeof(*s)) ||
		    !samples_add(&tally->samples, s, r.nsamples))
			fail("%s: its samples did not come", lane->t->name);
		free(s);
		start = r.start < start ? r.start : start;
		end = r.end > end ? r.end : end;
		count += r.count;
		tally->process += r.process;
		/* All runners' tasks take the same time, and the hosts' is all of theirs. */
		if (!i)
			tally->busy += r.busy + (client.same_host ? 0 : r.busy_there);
	}
	end = end > start ? end : start + 1;
	rate = count / ((end - start) / 1e9);
	tally->count += count;
	tally->elapsed += end - start;
	tally->computed += opt.compute_us * 1e3 * task->count;
	if (!samples_add(&tally->rates, &rate, 1))
		fail("out of memory");
	return (end - start) / 1e6;
}

static uint64_t whole_windows(uint64_t count)
{
	uint32_t window = opt.plan.window;

	return window ? (count + window - 1) / window * window : count;
}

/* How much takes --ms: by what takes a good part of it. */
static uint64_t find_count(struct lane *lane, size_t size)
{
	struct task task = { .size = opt.sizes[size] };
	struct tally tried = {};
	double ms, wanted;
	int i;

	if (client.mode->by_count)
		return opt.count;
	task.count = whole_windows(client.mode->least);
	for (i = 0; i < LOOPS; i++) {
		ms = measure(lane, &task, &tried);
		if (ms >= opt.ms / 4.0 || task.count > UINT32_MAX / 8)
			break;
		task.count = whole_windows(task.count * 4);
	}
	samples_free(&tried.rates);
	samples_free(&tried.samples);
	wanted = task.count * (opt.ms / ms);
	if (wanted > UINT32_MAX / 2)
		wanted = UINT32_MAX / 2;
	return whole_windows(wanted > 1 ? wanted : 1);
}

static void measure_all(void)
{
	struct task task;
	size_t s;
	uint32_t n;
	int i;

	for (s = 0; s < opt.nsizes; s++)
		for (i = 0; i < client.nlanes; i++) {
			progress("%s: trying %u bytes over %s", client.mode->name, opt.sizes[s],
				 client.lanes[i].t->name);
			client.lanes[i].counts[s] = find_count(&client.lanes[i], s);
		}
	for (n = 0; n < opt.repeat; n++)
		for (s = 0; s < opt.nsizes; s++)
			for (i = 0; i < client.nlanes; i++) {
				progress("%s: %u of %u, %u bytes over %s", client.mode->name,
					 n + 1, opt.repeat, opt.sizes[s], client.lanes[i].t->name);
				task.size = opt.sizes[s];
				task.count = client.lanes[i].counts[s];
				measure(&client.lanes[i], &task, &client.lanes[i].tallies[s]);
			}
}

/* -------------------------------------------------------------------------- start */

static struct json_object *sizes_told(void)
{
	struct json_object *sizes = json_object_new_array();
	size_t i;

	for (i = 0; i < opt.nsizes; i++)
		json_object_array_add(sizes, json_object_new_int64(opt.sizes[i]));
	return sizes;
}

static struct json_object *parameters(void)
{
	struct json_object *all = json_object_new_object();
	bool stream = opt.plan.mode == MODE_STREAM;

	json_object_object_add(all, "host", json_object_new_string(client.host));
	json_object_object_add(all, "self", json_object_new_boolean(opt.self));
	json_object_object_add(all, "wait", json_object_new_string(wait_name(opt.plan.wait)));
	json_object_object_add(all, "repeat", json_object_new_int64(opt.repeat));
	if (client.mode->by_count)
		json_object_object_add(all, "count", json_object_new_int64(opt.count));
	else
		json_object_object_add(all, "ms", json_object_new_int64(opt.ms));
	if (opt.plan.mode != MODE_CONNECTIONS) {
		json_object_object_add(all, "sizes", sizes_told());
		json_object_object_add(all, "verify", json_object_new_boolean(opt.plan.verify));
	}
	if (opt.plan.mode != MODE_LATENCY)
		json_object_object_add(all, "clients", json_object_new_int64(opt.clients));
	if (stream) {
		json_object_object_add(all, "streams", json_object_new_int64(opt.plan.streams));
		json_object_object_add(all, "window", json_object_new_int64(opt.plan.window));
		json_object_object_add(all, "both", json_object_new_boolean(opt.plan.both));
		json_object_object_add(all, "compute_us", json_object_new_int64(opt.compute_us));
		json_object_object_add(all, "touch", json_object_new_int64(opt.plan.touch));
		json_object_object_add(all, "send_time", json_object_new_boolean(opt.send_time));
	}
	return all;
}

/* Who the server is; whether it is on this host. */
static struct json_object *greet(void)
{
	struct control *c = control_dial(client.host, client.port);
	struct json_object *ask = json_object_new_object(), *answer, *machine = NULL, *here;
	const char *place;

	json_object_object_add(ask, "do", json_object_new_string("hello"));
	answer = control_ask(c, ask);
	if (control_number(answer, "version") != PROTOCOL)
		fail("%s, port %u: that is an sdp_perf of another version: take the same at both ends",
		     client.host, client.port);
	here = machine_place();
	place = control_text(answer, "place");
	client.same_host = place && !strcmp(place, json_object_get_string(here));
	json_object_put(here);
	json_object_object_get_ex(answer, "machine", &machine);
	json_object_get(machine);
	json_object_put(answer);
	control_close(c);
	return machine;
}

static void collect_about(void)
{
	struct json_object *about = json_object_new_object();
	time_t t = time(NULL);
	struct tm tm;
	char date[40];

	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &tm));
	json_object_object_add(about, "sdp_perf", json_object_new_string(SDP_VERSION));
	json_object_object_add(about, "measured", json_object_new_string(client.mode->name));
	json_object_object_add(about, "date", json_object_new_string(date));
	json_object_object_add(about, "parameters", parameters());
	json_object_object_add(about, "client", machine_about());
	json_object_object_add(about, "server", greet());
	client.carried = json_object_new_object();
	client.left_out = json_object_new_array();
	json_object_object_add(about, "carried_by", client.carried);
	json_object_object_add(about, "left_out", client.left_out);
	client.about = about;
}

/* A server in a process that ends with this one. */
static void start_server(void)
{
	pid_t parent = getpid();
	int listener = server_listen(client.host, 0, &client.port);

	fflush(NULL);
	switch (fork()) {
	case -1:
		fail("fork: %s", strerror(errno));
	case 0:
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != parent)
			_exit(0);
		signal(SIGINT, SIG_IGN);
		server_run(listener);
	}
	close(listener);
}

static void let_in_while_waiting(void)
{
	struct sigaction action = { .sa_handler = interrupt };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGINT);
	sigaddset(&blocked, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, &waiting);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}

/**
 * client_run() - measure, as the command line says
 *
 * Context: The only thread of this process.
 * Return: the exit status.
 */
int client_run(void)
{
	int i;

	client.mode = mode_of(opt.plan.mode);
	client.host = opt.host ? opt.host : "127.0.0.1";
	client.port = opt.port;
	client.progress = isatty(STDERR_FILENO);
	client.lanes = need(calloc(NTRANSPORTS, sizeof(*client.lanes)));
	if (opt.self)
		start_server();
	collect_about();
	let_in_while_waiting();
	for (i = 0; i < NTRANSPORTS; i++)
		if (!opt.over || opt.over[i])
			add_lane(transports[i], opt.over);
	if (!client.nlanes)
		fail("no transport works between here and %s: name one by --over to see why",
		     client.host);
	measure_all();
	for (i = 0; i < client.nlanes; i++)
		stop_runners(&client.lanes[i]);
	return say_all();
}
