/* SPDX-License-Identifier: GPL-2.0 */
/* Stream sockets, whoever's calls they are made by; see over_sockets.c. */
#ifndef _PERF_SOCKETS_H
#define _PERF_SOCKETS_H

#include "transport.h"

struct calls {
	bool by_ulp;		/* an SDP socket by TCP_ULP */
	int (*socket)(int family, int type, int protocol);
	int (*bind)(int fd, const struct sockaddr *a, socklen_t n);
	int (*listen)(int fd, int backlog);
	int (*accept)(int fd, struct sockaddr *a, socklen_t *n);
	int (*connect)(int fd, const struct sockaddr *a, socklen_t n);
	int (*getsockname)(int fd, struct sockaddr *a, socklen_t *n);
	int (*setsockopt)(int fd, int level, int name, const void *value, socklen_t n);
	ssize_t (*send)(int fd, const void *data, size_t n, int flags);
	ssize_t (*recv)(int fd, void *data, size_t n, int flags);
	int (*close)(int fd);
	const char *hint;	/* what to do where connect() fails; or NULL */
};

struct socket_conn;

void *socket_listen(const struct calls *calls, const struct plan *plan, struct place *at);
void *socket_connect(const struct calls *calls, const struct plan *plan, const struct place *at);
void *socket_accept(void *listener);
void socket_close(void *conn);
char *socket_buffer(void *conn);
void socket_send(void *conn, size_t size);
void socket_send_word(void *conn);
size_t socket_recv(void *conn, size_t size, char **data);

/* The members of struct transport that are the same for all. */
#define SOCKET_CALLS							\
	.accept = socket_accept, .close = socket_close,			\
	.buffer = socket_buffer, .send = socket_send,			\
	.send_word = socket_send_word, .recv = socket_recv

#endif
