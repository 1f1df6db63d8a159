// SPDX-License-Identifier: GPL-2.0
/*
 * The control: a TCP connection with a JSON object on each line, one as a request and one
 * as its answer.  An answer with a member "error" is the last words of the other side.
 *
 * While a side waits for bytes of the transport that it measures it does not hear that the
 * other one has gone; not every transport tells.  So a thread watches the control, and ends
 * the process with what it finds there.
 *
 * Nothing that comes is trusted: a line has a limit, and a number that is missing is 0.
 */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "control.h"
#include "perf.h"

enum {
	LINE = 64 << 10,	/* the longest */
	DIAL_SECONDS = 10,
};

struct control {
	int fd;
	bool exits;		/* the other side's end is no error */
	pthread_mutex_t lock;	/* who reads */
	size_t filled;
	char line[LINE + 1];
};

/* The other host may have gone without a word. */
static void keep_alive(int fd)
{
	int one = 1, idle = 10, each = 5, count = 6;

	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &each, sizeof(each));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

/**
 * control_new() - speak over a connection that is there
 * @fd: it
 *
 * Context: Any thread.
 * Return: the control.
 */
struct control *control_new(int fd)
{
	struct control *c = need(calloc(1, sizeof(*c)));

	c->fd = fd;
	pthread_mutex_init(&c->lock, NULL);
	keep_alive(fd);
	return c;
}

/**
 * control_dial() - connect to a server
 * @host: a name or an address
 * @port: its port
 *
 * Context: Any thread; gives up if nobody answers.
 * Return: the control.
 */
struct control *control_dial(const char *host, uint16_t port)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all, *a;
	struct timeval limit = { .tv_sec = DIAL_SECONDS };
	int err, fd = -1;
	char text[8];

	snprintf(text, sizeof(text), "%u", port);
	err = getaddrinfo(host, text, &hints, &all);
	if (err)
		fail("%s: %s", host, gai_strerror(err));
	errno = 0;
	for (a = all; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		if (connect(fd, a->ai_addr, a->ai_addrlen)) {
			err = errno;
			close(fd);
			errno = err;
			fd = -1;
		}
	}
	freeaddrinfo(all);
	if (fd < 0)
		fail("no server at %s, port %u: %s: run \"sdp_perf server\" there, or say --self if that is this host",
		     host, port, errno == EINPROGRESS ? "no answer" : strerror(errno));
	limit.tv_sec = 0;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	return control_new(fd);
}

/**
 * control_close() - the end, as the other side sees it too
 * @c: not watched
 *
 * Context: Any thread.
 */
void control_close(struct control *c)
{
	close(c->fd);
	free(c);
}

/**
 * control_name() - the addresses that the control has found its way by
 * @c: the control
 * @peer: the other side's, not ours
 * @ss: where to
 * @len: its length
 *
 * Context: Any thread.
 */
void control_name(struct control *c, bool peer, struct sockaddr_storage *ss, socklen_t *len)
{
	*len = sizeof(*ss);
	if ((peer ? getpeername : getsockname)(c->fd, (struct sockaddr *)ss, len))
		fail("control: %s", strerror(errno));
}

/**
 * control_say() - a line to the other side
 * @c: the control
 * @what: is given away
 *
 * Context: One thread at a time, and last words.
 */
void control_say(struct control *c, struct json_object *what)
{
	const char *text = json_object_to_json_string_ext(what, JSON_C_TO_STRING_PLAIN);
	size_t len = strlen(text);
	char *line = need(malloc(len + 1));
	ssize_t n;
	size_t at;

	memcpy(line, text, len);
	line[len] = '\n';
	for (at = 0; at <= len; at += n) {
		n = send(c->fd, line + at, len + 1 - at, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			break;		/* who reads will see why */
	}
	free(line);
	json_object_put(what);
}

/* A whole line, if there is one; NULL: the other side has ended. */
static struct json_object *take_line(struct control *c)
{
	struct json_object *what;
	char *end;
	ssize_t n;

	for (;;) {
		end = memchr(c->line, '\n', c->filled);
		if (end)
			break;
		if (c->filled == LINE)
			fail("control: a line of more than %d bytes: is that sdp_perf?", LINE);
		n = recv(c->fd, c->line + c->filled, LINE - c->filled, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return NULL;
		c->filled += n;
	}
	*end = '\0';
	what = json_tokener_parse(c->line);
	c->filled -= end + 1 - c->line;
	memmove(c->line, end + 1, c->filled);
	if (!json_object_is_type(what, json_type_object))
		fail("control: what came is no JSON object: is that sdp_perf?");
	return what;
}

static void ended(struct control *c)
{
	if (c->exits)
		_exit(0);
	fail("the other side has gone");
}

/**
 * control_hear() - the next line
 * @c: the control
 *
 * Context: Any thread; waits.  Gives up if the other side does, or has gone; a session
 *	whose runner has gone exits.
 * Return: an object, for json_object_put().
 */
struct json_object *control_hear(struct control *c)
{
	struct json_object *what;
	const char *error;

	pthread_mutex_lock(&c->lock);
	what = take_line(c);
	if (!what)
		ended(c);
	error = control_text(what, "error");
	if (error)
		fail("%s", error);
	pthread_mutex_unlock(&c->lock);
	return what;
}

/**
 * control_ask() - say a line and hear the answer
 * @c: the control
 * @what: is given away
 *
 * Context: As control_hear().
 * Return: an object, for json_object_put().
 */
struct json_object *control_ask(struct control *c, struct json_object *what)
{
	control_say(c, what);
	return control_hear(c);
}

/* Whoever reads the control sees by himself how it ends. */
static void *watch(void *arg)
{
	struct control *c = arg;
	struct pollfd p = { .fd = c->fd, .events = POLLRDHUP };

	while (poll(&p, 1, -1) <= 0)
		;
	pthread_mutex_lock(&c->lock);
	for (;;) {
		struct json_object *what = take_line(c);
		const char *error = what ? control_text(what, "error") : NULL;

		if (!what)
			ended(c);
		if (error)
			fail("%s", error);
		json_object_put(what);
	}
}

/**
 * control_watch() - end this process when the other side ends
 * @c: the control
 * @exits: that is no error, but how it ends here
 *
 * Context: Any thread, once.
 */
void control_watch(struct control *c, bool exits)
{
	pthread_t thread;

	c->exits = exits;
	if (pthread_create(&thread, NULL, watch, c))
		fail("no thread");
	pthread_detach(thread);
}

/**
 * control_text() - a word of an object
 * @in: the object
 * @key: what it is called
 *
 * Context: Any.
 * Return: the word, as long as @in is there; NULL if there is none.
 */
const char *control_text(struct json_object *in, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(in, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

/**
 * control_number() - a number of an object
 * @in: the object
 * @key: what it is called
 *
 * Context: Any.
 * Return: the number; 0 if there is none.
 */
int64_t control_number(struct json_object *in, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(in, key, &value) ||
	    !json_object_is_type(value, json_type_int))
		return 0;
	return json_object_get_int64(value);
}
