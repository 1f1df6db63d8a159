/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the files of sdp_perf share: what the command line asks for, how to give up, the
 * machine, and the processes that measure.
 *
 * Who does what.  The *client* (client.c) is what the user started.  It measures nothing
 * itself: for each transport, and with --clients for each of so many, it forks a *runner*
 * (runner.c), which holds the connections and is told task by task what to do.  The
 * *server* (server.c) forks a *session* for each runner.  A runner and its session speak
 * over a TCP connection of their own, the control (control.c), in lines of JSON; the
 * connections that are measured carry nothing but what is measured.
 *
 * So a transport that fails, or hangs, takes one runner and one session with it, and its
 * last words are its reason; an interrupted client has all that was told so far.
 */
#ifndef _PERF_H
#define _PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_object;
struct report;
struct column;
struct samples;

enum {
	SIZE_MAX_BYTES = 16 << 20,	/* of a message */
	MEMORY_MAX = 1 << 30,		/* of the messages of all streams of a process */
	DEFAULT_PORT = 9960,
	PROTOCOL = 1,			/* of the control: another number, another language */
};

enum mode_id { MODE_LATENCY, MODE_STREAM, MODE_CONNECTIONS };

/* How a reader waits for bytes. */
enum wait { WAIT_ASLEEP, WAIT_POLL, WAIT_EPOLL };

enum output { OUTPUT_TABLE, OUTPUT_CSV, OUTPUT_JSON };

/* Of the two ends alike: the runner tells its session. */
struct plan {
	enum mode_id mode;
	enum wait wait;
	uint32_t largest;	/* message */
	uint32_t streams;
	uint32_t window;	/* messages to one reply; 0: none */
	uint32_t touch;		/* messages until the buffer is written again; 0: never */
	bool both;
	bool verify;		/* each byte, not only some */
};

struct options {
	bool serve;
	bool self;		/* the client has a server of its own */
	const char *host;	/* NULL: this one */
	uint16_t port;
	struct plan plan;
	enum output output;
	uint32_t *sizes;
	size_t nsizes;
	uint32_t repeat;	/* measurements of each size and transport */
	uint32_t count;		/* latency: round trips in each */
	uint32_t ms;		/* stream, connections: how long each should take */
	uint32_t clients;
	uint32_t compute_us;	/* between two sends */
	bool send_time;
	bool *over;		/* for each transport; NULL: all that work */
};

extern struct options opt;

/* options.c */
int options_parse(int argc, char **argv);
const char *wait_name(enum wait wait);
bool wait_by_name(const char *name, enum wait *wait);

/* main.c */
extern void (*last_words)(const char *text);
extern void (*other_tells)(void);
void lost(const char *text) __attribute__((noreturn));
__attribute__((format(printf, 1, 2), noreturn)) void fail(const char *fmt, ...);
void *need(void *p);
int64_t now(void);

/* machine.c */
struct json_object *machine_about(void);
struct json_object *machine_place(void);
int64_t machine_busy(void);
int64_t process_time(void);
int machine_processors(void);
int sdp_tunable(const char *name);

/* pattern.c */
void pattern_fill(char *to, uint32_t size, uint64_t fill);
void pattern_stamp(char *message, uint32_t size, uint64_t fill, bool all);
void pattern_check_message(const char *part, size_t n, uint32_t size, size_t at,
			   uint64_t fill, bool all);
void pattern_check_stream(const char *part, size_t n, uint32_t size, uint64_t at,
			  const struct plan *plan);

/* server.c */
int server_listen(const char *host, uint16_t port, uint16_t *is);
void server_run(int listener) __attribute__((noreturn));

/* client.c */
int client_run(void);

#endif
