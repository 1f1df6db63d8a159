/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A transport: what carries bytes between two programs, as a table of functions.
 *
 * Each function gives up (fail()) with a reason when it cannot do what it is asked for; a
 * runner or a session is of one transport, so that this is the transport's reason.
 */
#ifndef _PERF_TRANSPORT_H
#define _PERF_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "perf.h"

/* Where a session listens: an address, with its port or its name. */
struct place {
	struct sockaddr_storage ss;
	socklen_t len;
};

struct transport {
	const char *name;
	const char *carrier;	/* what it goes by, for people; NULL: see by() */
	bool same_host;		/* works inside a host alone */
	bool no_epoll;		/* it has no descriptor that epoll would know */
	bool no_connections;	/* what a connection costs cannot be measured */

	/* @at: an address of this host, and where it listens then. */
	void *(*listen)(const struct plan *plan, struct place *at);
	void *(*accept)(void *listener);
	void *(*connect)(const struct plan *plan, const struct place *at);
	void (*close)(void *conn);

	/* Whether it is what it is called, and has carried all that was sent since this
	 * was asked last.  @after_connect: by what connect() has done alone, as the
	 * other end has not accepted yet.
	 */
	void (*check)(void *conn, bool after_connect);
	/* What a connection goes by: the port of the RDMA device. */
	const char *(*by)(void *conn);

	/* A buffer of plan->largest bytes, and the sending of its first @size. */
	char *(*buffer)(void *conn);
	void (*send)(void *conn, size_t size);
	/* Until what was sent may be written again; NULL: it may when send() returns. */
	void (*settle)(void *conn);
	/* Up to @size bytes, at @data until the next call; 0: the other end has closed. */
	size_t (*recv)(void *conn, size_t size, char **data);
	/* A word of one byte; the buffer above is let alone. */
	void (*send_word)(void *conn);

	/* Send @count messages of @size and receive as many at once, each piece of them
	 * given to @piece with what came before it; NULL: send() and recv() may be in two
	 * threads.
	 */
	void (*exchange)(void *conn, uint32_t size, uint64_t count,
			 void (*piece)(const char *data, size_t n, uint64_t at, void *with),
			 void *with);
};

extern const struct transport over_tcp, over_unix, over_sdp, over_local, over_rsocket, over_verbs;

/* transports.c */
enum { NTRANSPORTS = 6 };
extern const struct transport *const transports[NTRANSPORTS];
const struct transport *transport_by_name(const char *name, size_t len, int *index);

/* library.c */
void *library_open(const char *name, const char *package);
void *library_symbol(void *library, const char *name);

#endif
