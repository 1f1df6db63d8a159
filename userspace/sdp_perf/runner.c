// SPDX-License-Identifier: GPL-2.0
/*
 * A runner: the process that holds the connections of one transport at the client's end,
 * and measures.  It tells the client by standard output, which is a socket then: first
 * that it is ready, and then the result of each task that it reads from standard input.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "mode.h"

enum { LAST_WORDS_SECONDS = 5 };

static const struct mode *const modes[] = {
	[MODE_LATENCY] = &mode_latency,
	[MODE_STREAM] = &mode_stream,
	[MODE_CONNECTIONS] = &mode_connections,
};

/**
 * mode_of() - what is done in a mode
 * @mode: which
 *
 * Context: Any.
 * Return: its functions.
 */
const struct mode *mode_of(enum mode_id mode)
{
	return modes[mode];
}

static void write_all(const void *from, size_t size)
{
	ssize_t n;

	for (; size; size -= n, from = (const char *)from + n) {
		n = write(STDOUT_FILENO, from, size);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			_exit(1);	/* the client has gone */
	}
}

static void tell_client(const char *text)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	struct result r = { .failed = true };

	while (atomic_flag_test_and_set(&told))
		pause();	/* another thread tells, and ends this one too */
	snprintf(r.text, sizeof(r.text), "%s", text);
	write_all(&r, sizeof(r));
	_exit(1);
}

/* The thread that watches the control hears them. */
static void wait_for_session(void)
{
	sleep(LAST_WORDS_SECONDS);
}

static struct json_object *plan_told(const struct transport *t)
{
	struct json_object *ask = json_object_new_object();

	json_object_object_add(ask, "do", json_object_new_string("plan"));
	json_object_object_add(ask, "over", json_object_new_string(t->name));
	json_object_object_add(ask, "wait", json_object_new_string(wait_name(opt.plan.wait)));
	json_object_object_add(ask, "mode", json_object_new_int(opt.plan.mode));
	json_object_object_add(ask, "largest", json_object_new_int64(opt.plan.largest));
	json_object_object_add(ask, "streams", json_object_new_int64(opt.plan.streams));
	json_object_object_add(ask, "window", json_object_new_int64(opt.plan.window));
	json_object_object_add(ask, "touch", json_object_new_int64(opt.plan.touch));
	json_object_object_add(ask, "both", json_object_new_int(opt.plan.both));
	json_object_object_add(ask, "verify", json_object_new_int(opt.plan.verify));
	return ask;
}

/* The address of the control, with the port of the session's listener; or its name. */
static void find_place(struct control *control, struct json_object *answer, struct place *at)
{
	const char *name = control_text(answer, "name");
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	uint16_t port = htons(control_number(answer, "port"));
	size_t len;

	if (name) {
		len = strnlen(name, sizeof(un.sun_path) - 1);
		memcpy(un.sun_path + 1, name, len);
		memcpy(&at->ss, &un, sizeof(un));
		at->len = offsetof(struct sockaddr_un, sun_path) + 1 + len;
		return;
	}
	control_name(control, true, &at->ss, &at->len);
	if (at->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&at->ss)->sin6_port = port;
	else
		((struct sockaddr_in *)&at->ss)->sin_port = port;
}

static void connect_all(struct control *control, struct ends *e, struct result *ready)
{
	struct json_object *answer = control_ask(control, plan_told(e->t)), *ask;
	uint32_t i;

	find_place(control, answer, &e->at);
	json_object_put(answer);
	e->conns = need(calloc(e->plan.streams, sizeof(*e->conns)));
	for (i = 0; i < e->plan.streams; i++) {
		e->conns[i] = e->t->connect(&e->plan, &e->at);
		e->t->check(e->conns[i], true);
		ask = json_object_new_object();
		json_object_object_add(ask, "do", json_object_new_string("connected"));
		json_object_put(control_ask(control, ask));	/* it is accepted */
		e->t->check(e->conns[i], false);
	}
	snprintf(ready->text, sizeof(ready->text), "%s",
		 e->t->by ? e->t->by(e->conns[0]) : e->t->carrier);
}

static void do_task(struct control *control, struct ends *e, const struct task *task)
{
	struct json_object *ask = json_object_new_object(), *answer;
	struct result r = {};
	struct samples s = {};
	int64_t process, busy;
	uint32_t i;

	json_object_object_add(ask, "do", json_object_new_string("task"));
	json_object_object_add(ask, "size", json_object_new_int64(task->size));
	json_object_object_add(ask, "count", json_object_new_int64(task->count));
	json_object_put(control_ask(control, ask));
	process = process_time();
	busy = machine_busy();
	mode_of(e->plan.mode)->run(e, task, &r, &s);
	r.process = process_time() - process;
	r.busy = machine_busy() - busy;
	answer = control_hear(control);
	r.process += control_number(answer, "process");
	r.busy_there = control_number(answer, "busy");
	json_object_put(answer);
	for (i = 0; i < e->plan.streams; i++)
		e->t->check(e->conns[i], false);
	r.nsamples = s.n;
	write_all(&r, sizeof(r));
	write_all(s.at, s.n * sizeof(*s.at));
	samples_free(&s);
}

/**
 * runner_run() - be a runner
 * @t: of which transport
 * @host: where its server is
 * @port: and which
 *
 * Context: The only thread of a process that was forked for it.
 */
void runner_run(const struct transport *t, const char *host, uint16_t port)
{
	struct ends e = { .t = t, .plan = opt.plan };
	struct result ready = {};
	struct control *control;
	struct task task;

	last_words = tell_client;
	other_tells = wait_for_session;
	control = control_dial(host, port);
	control_watch(control, false);
	connect_all(control, &e, &ready);
	write_all(&ready, sizeof(ready));
	while (read(STDIN_FILENO, &task, sizeof(task)) == sizeof(task))
		do_task(control, &e, &task);
	_exit(0);
}
