// SPDX-License-Identifier: GPL-2.0
/*
 * The server: a session for each control connection, in a process of its own, which
 * listens for the one transport that it is asked for, at the address by which it was
 * reached, and does its part of each measurement.
 *
 *	{"do":"hello","version":1}	who and where the server is
 *	{"do":"plan",...}		listen: {"port":N} or {"name":"..."}
 *	{"do":"connected"}		then, for each connection, when the runner has found it
 *					to be what it is called: {"accepted":true}
 *	{"do":"task","size":N,"count":N}	{"ready":true}, and {"process":ns,"busy":ns}
 *					when it is over
 *
 * It serves whoever reaches its port: nothing that a request says makes it use more than a
 * few buffers for each connection, and it opens no file for anyone.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "mode.h"

/* ---------------------------------------------------------------------- listening */

static int listen_at(const struct addrinfo *a)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1, off = 0, err;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (a->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, 64))
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

/**
 * server_listen() - the port that clients know
 * @host: an address of this host; NULL: all
 * @port: the port; 0: any
 * @is: where to put which it is, if not NULL
 *
 * Context: The main thread; gives up.
 * Return: the listening socket.
 */
int server_listen(const char *host, uint16_t port, uint16_t *is)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE };
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	struct addrinfo *all, *a;
	int fd = -1, family, err;
	char text[8];

	snprintf(text, sizeof(text), "%u", port);
	err = getaddrinfo(host, text, &hints, &all);
	if (err)
		fail("%s: %s", host ? host : "any address", gai_strerror(err));
	/* One of IPv6 takes IPv4 too. */
	for (family = AF_INET6; fd < 0 && family; family = family == AF_INET6 ? AF_INET : 0)
		for (a = all; a && fd < 0; a = a->ai_next)
			if (a->ai_family == family)
				fd = listen_at(a);
	freeaddrinfo(all);
	if (fd < 0)
		fail("port %u of %s: %s%s", port, host ? host : "this host", strerror(errno),
		     errno == EADDRINUSE ? ": is another server there? -p has another port" :
		     errno == EADDRNOTAVAIL ? ": that is no address of this host" : "");
	if (is) {
		if (getsockname(fd, (struct sockaddr *)&ss, &len))
			fail("getsockname: %s", strerror(errno));
		*is = ntohs(ss.ss_family == AF_INET6 ?
			    ((struct sockaddr_in6 *)&ss)->sin6_port :
			    ((struct sockaddr_in *)&ss)->sin_port);
	}
	return fd;
}

/* ------------------------------------------------------------------------ session */

static struct control *control;

static void tell_runner(const char *text)
{
	static atomic_flag told = ATOMIC_FLAG_INIT;
	struct json_object *what = json_object_new_object();
	char words[600];

	while (atomic_flag_test_and_set(&told))
		pause();	/* another thread tells, and ends this one too */
	snprintf(words, sizeof(words), "server: %s", text);
	json_object_object_add(what, "error", json_object_new_string(words));
	control_say(control, what);
	_exit(1);
}

static struct json_object *hello(void)
{
	struct json_object *answer = json_object_new_object();

	json_object_object_add(answer, "version", json_object_new_int(PROTOCOL));
	json_object_object_add(answer, "place", machine_place());
	json_object_object_add(answer, "machine", machine_about());
	return answer;
}

static uint32_t limited(struct json_object *ask, const char *key, uint32_t least, uint32_t most)
{
	int64_t n = control_number(ask, key);

	if (n < least || n > most)
		fail("%s=%lld: %u to %u", key, (long long)n, least, most);
	return n;
}

/* IPv4 as such, where a socket of IPv6 has taken it. */
static void unmap(struct place *at)
{
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at->ss;
	struct sockaddr_in four = { .sin_family = AF_INET };

	if (at->ss.ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&six->sin6_addr))
		return;
	memcpy(&four.sin_addr, &six->sin6_addr.s6_addr[12], sizeof(four.sin_addr));
	memcpy(&at->ss, &four, sizeof(four));
	at->len = sizeof(four);
}

static void read_plan(struct json_object *ask, struct ends *e)
{
	const char *over = control_text(ask, "over"), *wait = control_text(ask, "wait");

	e->t = over ? transport_by_name(over, strlen(over), NULL) : NULL;
	if (!e->t)
		fail("it has no transport \"%s\"", over ? over : "");
	if (!wait || !wait_by_name(wait, &e->plan.wait))
		fail("it has no way \"%s\" to wait", wait ? wait : "");
	e->plan.mode = limited(ask, "mode", MODE_LATENCY, MODE_CONNECTIONS);
	e->plan.largest = limited(ask, "largest", 1, SIZE_MAX_BYTES);
	e->plan.streams = limited(ask, "streams", 1, STREAMS_MAX);
	if ((uint64_t)e->plan.largest * e->plan.streams > MEMORY_MAX)
		fail("%u streams of %u bytes: too much memory", e->plan.streams, e->plan.largest);
	e->plan.window = limited(ask, "window", 0, UINT32_MAX);
	e->plan.touch = limited(ask, "touch", 0, UINT32_MAX);
	e->plan.both = control_number(ask, "both");
	e->plan.verify = control_number(ask, "verify");
}

/* Where to connect to: the runner has the address, as it has found its way here. */
static struct json_object *place_told(const struct place *at)
{
	struct json_object *answer = json_object_new_object();
	const struct sockaddr_un *un = (const struct sockaddr_un *)&at->ss;
	struct json_object *name;
	uint16_t port;
	int len;

	if (at->ss.ss_family == AF_UNIX) {
		len = at->len - offsetof(struct sockaddr_un, sun_path) - 1;
		name = json_object_new_string_len(un->sun_path + 1, len);
		json_object_object_add(answer, "name", name);
		return answer;
	}
	port = at->ss.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&at->ss)->sin6_port :
		((const struct sockaddr_in *)&at->ss)->sin_port;
	json_object_object_add(answer, "port", json_object_new_int(ntohs(port)));
	return answer;
}

static void clear_port(struct place *at)
{
	if (at->ss.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&at->ss)->sin6_port = 0;
	else
		((struct sockaddr_in *)&at->ss)->sin_port = 0;
}

/* Who connects knows best what kept SDP from it, and is asked first. */
static void hear_connected(void)
{
	struct json_object *ask = control_hear(control);
	const char *what = control_text(ask, "do");

	if (!what || strcmp(what, "connected"))
		fail("a connection, and nobody says so");
	json_object_put(ask);
}

static void start_plan(struct json_object *ask, struct ends *e)
{
	struct json_object *answer;
	uint32_t i;

	if (e->t)
		fail("one session, one plan");
	read_plan(ask, e);
	control_name(control, false, &e->at.ss, &e->at.len);
	unmap(&e->at);
	clear_port(&e->at);
	e->listener = e->t->listen(&e->plan, &e->at);
	control_say(control, place_told(&e->at));
	e->conns = need(calloc(e->plan.streams, sizeof(*e->conns)));
	for (i = 0; i < e->plan.streams; i++) {
		e->conns[i] = e->t->accept(e->listener);
		hear_connected();
		e->t->check(e->conns[i], false);
		answer = json_object_new_object();
		json_object_object_add(answer, "accepted", json_object_new_boolean(true));
		control_say(control, answer);
	}
}

static void do_task(struct json_object *ask, struct ends *e)
{
	struct json_object *answer = json_object_new_object();
	int64_t process, busy;
	struct task task;
	uint32_t i;

	if (!e->conns)
		fail("a task, and no plan");
	task.size = limited(ask, "size", 1, e->plan.largest);
	task.count = limited(ask, "count", 1, UINT32_MAX);
	process = process_time();
	busy = machine_busy();
	json_object_object_add(answer, "ready", json_object_new_boolean(true));
	control_say(control, answer);
	mode_of(e->plan.mode)->serve(e, &task);
	process = process_time() - process;
	busy = machine_busy() - busy;
	for (i = 0; i < e->plan.streams; i++)
		e->t->check(e->conns[i], false);
	answer = json_object_new_object();
	json_object_object_add(answer, "process", json_object_new_int64(process));
	json_object_object_add(answer, "busy", json_object_new_int64(busy));
	control_say(control, answer);
}

static void __attribute__((noreturn)) session_run(int fd)
{
	struct ends e = {};

	control = control_new(fd);
	last_words = tell_runner;
	control_watch(control, true);
	for (;;) {
		struct json_object *ask = control_hear(control);
		const char *what = control_text(ask, "do");

		if (what && !strcmp(what, "hello"))
			control_say(control, hello());
		else if (what && !strcmp(what, "plan"))
			start_plan(ask, &e);
		else if (what && !strcmp(what, "task"))
			do_task(ask, &e);
		else
			fail("it does not know what \"%s\" is", what ? what : "");
		json_object_put(ask);
	}
}

/**
 * server_run() - serve clients for ever
 * @listener: of server_listen()
 *
 * Context: The main thread.
 */
void server_run(int listener)
{
	pid_t server = getpid();
	int fd;

	signal(SIGCHLD, SIG_IGN);	/* nobody waits for sessions */
	if (!opt.self) {
		printf("sdp_perf: serving at port %u\n", opt.port);
		fflush(stdout);
	}
	for (;;) {
		fd = accept(listener, NULL, NULL);
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0)
			fail("accept: %s", strerror(errno));
		switch (fork()) {
		case 0:
			close(listener);
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (getppid() != server)
				_exit(0);
			session_run(fd);
		case -1:
			fprintf(stderr, "sdp_perf: a client is turned away: %s\n",
				strerror(errno));
		}
		close(fd);
	}
}
