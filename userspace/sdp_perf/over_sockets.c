// SPDX-License-Identifier: GPL-2.0
/*
 * Stream sockets: the same calls with another socket under them.  Here are those of the
 * kernel, over_rsocket.c has librdmacm's.
 *
 * SDP sockets are made by TCP_ULP, as the preload library makes them, since the kernel then
 * says why a connection is not SDP's.  What is measured as sdp or local must be that at
 * both ends: SDP_INFO is asked when the other end has accepted, and again behind each
 * measurement.  Of local sockets it also tells how many bytes went by memory: all must
 * have.  And what is measured as tcp must not be SDP's, as the preload library would have
 * it.
 *
 * Each connection has two buffers, one to send from and one to receive into, so that a
 * thread may do each.  Memory that was never written is the page of zeros: both are written
 * before they are used.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/un.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "sockets.h"

#ifndef TCP_ULP
#define TCP_ULP	31
#endif

enum {
	READ_AT_LEAST = 64 << 10,	/* a reader's buffer, however short messages are */
	CONNECT_SECONDS = 20,
	ALIGN = 4096,
};

struct socket_conn {
	const struct calls *calls;
	const struct plan *plan;
	int fd, epoll;
	bool alone;			/* this host has one processor */
	char *out, *in;
	size_t room;			/* of in */
	uint64_t sent, checked;		/* bytes: all; when it was last checked */
	uint64_t carried;		/* what SDP_INFO said then */
	char device[sizeof(((struct sdp_info *)0)->sdpi_device) + 16];
};

static struct socket_conn *new_conn(const struct calls *calls, const struct plan *plan, int fd)
{
	struct socket_conn *c = need(calloc(1, sizeof(*c)));

	c->calls = calls;
	c->plan = plan;
	c->fd = fd;
	c->epoll = -1;
	c->alone = machine_processors() == 1;
	return c;
}

/* What a connection has and a listener has not. */
static void *set_up(struct socket_conn *c)
{
	const struct plan *plan = c->plan;
	struct epoll_event ev = { .events = EPOLLIN };
	size_t room = (plan->largest + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	int one = 1;

	/* AF_UNIX has no such option, and no such delay. */
	c->calls->setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (plan->mode == MODE_CONNECTIONS) {
		c->room = 1;		/* it sees the end, no bytes */
		c->in = need(malloc(c->room));
		return c;
	}
	c->room = room < READ_AT_LEAST ? READ_AT_LEAST : room;
	c->out = need(aligned_alloc(ALIGN, room));
	c->in = need(aligned_alloc(ALIGN, c->room));
	memset(c->out, 1, room);
	memset(c->in, 1, c->room);
	if (plan->wait == WAIT_EPOLL) {
		c->epoll = epoll_create1(EPOLL_CLOEXEC);
		if (c->epoll < 0 || epoll_ctl(c->epoll, EPOLL_CTL_ADD, c->fd, &ev))
			fail("epoll: %s", strerror(errno));
	}
	return c;
}

static int new_socket(const struct calls *calls, int family)
{
	int fd = calls->socket(family, SOCK_STREAM, 0);

	if (fd < 0)
		fail("socket: %s%s", strerror(errno), calls->hint ? calls->hint : "");
	if (calls->by_ulp && setsockopt(fd, IPPROTO_TCP, TCP_ULP, SDP_ULP_NAME,
					strlen(SDP_ULP_NAME)))
		fail("TCP_ULP: %s%s", strerror(errno), errno == ENOENT ?
		     ": the kernel module af_sdp is not loaded (modprobe af_sdp)" : "");
	return fd;
}

/**
 * socket_listen() - a listener, for struct transport
 * @calls: by which
 * @plan: what will be measured
 * @at: an address of this host; then where it listens
 *
 * Context: Any thread; gives up.
 * Return: the listener.
 */
void *socket_listen(const struct calls *calls, const struct plan *plan, struct place *at)
{
	int fd = new_socket(calls, at->ss.ss_family);

	if (calls->bind(fd, (struct sockaddr *)&at->ss, at->len) || calls->listen(fd, 128))
		fail("listen: %s%s", strerror(errno), calls->hint ? calls->hint : "");
	at->len = sizeof(at->ss);
	if (calls->getsockname(fd, (struct sockaddr *)&at->ss, &at->len))
		fail("getsockname: %s", strerror(errno));
	return new_conn(calls, plan, fd);
}

/**
 * socket_accept() - a connection, for struct transport
 * @listener: of socket_listen()
 *
 * Context: Any thread; waits, gives up.
 * Return: the connection.
 */
void *socket_accept(void *listener)
{
	struct socket_conn *l = listener;
	int fd;

	do {
		fd = l->calls->accept(l->fd, NULL, NULL);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		fail("accept: %s", strerror(errno));
	return set_up(new_conn(l->calls, l->plan, fd));
}

/* A limit for connect(); 0: none.  Rsockets have their own. */
static void limit_connect(int fd, int seconds)
{
	struct timeval limit = { .tv_sec = seconds };

	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/**
 * socket_connect() - a connection, for struct transport
 * @calls: by which
 * @plan: what will be measured
 * @at: where to
 *
 * Context: Any thread; waits, gives up.
 * Return: the connection.
 */
void *socket_connect(const struct calls *calls, const struct plan *plan, const struct place *at)
{
	int fd = new_socket(calls, at->ss.ss_family);
	bool ours = calls->socket == socket;

	if (ours)
		limit_connect(fd, CONNECT_SECONDS);
	if (calls->connect(fd, (const struct sockaddr *)&at->ss, at->len))
		fail("connect: %s%s", errno == EINPROGRESS ?
		     "no answer: is there a firewall?" : strerror(errno),
		     calls->hint ? calls->hint : "");
	if (ours)
		limit_connect(fd, 0);
	return set_up(new_conn(calls, plan, fd));
}

/**
 * socket_close() - close a connection, for struct transport
 * @conn: the connection
 *
 * Context: Any thread.
 */
void socket_close(void *conn)
{
	struct socket_conn *c = conn;

	c->calls->close(c->fd);
	if (c->epoll >= 0)
		close(c->epoll);
	free(c->out);
	free(c->in);
	free(c);
}

/**
 * socket_buffer() - what is sent from, for struct transport
 * @conn: the connection
 *
 * Context: Any thread.
 * Return: the buffer.
 */
char *socket_buffer(void *conn)
{
	struct socket_conn *c = conn;

	return c->out;
}

static void __attribute__((noreturn)) broken(const char *call)
{
	if (errno == EPIPE || errno == ECONNRESET)
		lost("the other end has closed");
	fail("%s: %s", call, strerror(errno));
}

static void send_all(struct socket_conn *c, const char *from, size_t size)
{
	ssize_t n;

	c->sent += size;
	while (size) {
		n = c->calls->send(c->fd, from, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			broken("send");
		size -= n;
		from += n;
	}
}

/**
 * socket_send() - send what is in the buffer, for struct transport
 * @conn: the connection
 * @size: bytes
 *
 * Context: One thread at a time; waits, gives up.
 */
void socket_send(void *conn, size_t size)
{
	struct socket_conn *c = conn;

	send_all(c, c->out, size);
}

/**
 * socket_send_word() - send a byte, for struct transport
 * @conn: the connection
 *
 * Context: As socket_send().
 */
void socket_send_word(void *conn)
{
	static const char word;

	send_all(conn, &word, 1);
}

static ssize_t recv_once(struct socket_conn *c, size_t size)
{
	struct epoll_event ev;

	switch (c->plan->wait) {
	case WAIT_ASLEEP:
		return c->calls->recv(c->fd, c->in, size, 0);
	case WAIT_EPOLL:
		if (epoll_wait(c->epoll, &ev, 1, -1) < 0)
			return -1;
		break;
	case WAIT_POLL:
		break;
	}
	return c->calls->recv(c->fd, c->in, size, MSG_DONTWAIT);
}

/**
 * socket_recv() - some bytes, for struct transport
 * @conn: the connection
 * @size: so many at most
 * @data: where they are
 *
 * Context: One thread at a time; waits, as the plan says, and gives up.
 * Return: how many; 0: the other end has closed.
 */
size_t socket_recv(void *conn, size_t size, char **data)
{
	struct socket_conn *c = conn;
	ssize_t n;

	if (size > c->room)
		size = c->room;
	for (;;) {
		n = recv_once(c, size);
		if (n >= 0)
			break;
		if (errno != EINTR && errno != EAGAIN)
			broken("recv");
		/* Who is to answer needs the processor too. */
		if (errno == EAGAIN && c->alone)
			sched_yield();
	}
	*data = c->in;
	return n;
}

/* ------------------------------------------------------------- the kernel's own */

/* libc declares some with attributes of their own. */
static int sys_bind(int fd, const struct sockaddr *a, socklen_t n)
{
	return bind(fd, a, n);
}

static int sys_accept(int fd, struct sockaddr *a, socklen_t *n)
{
	return accept(fd, a, n);
}

static int sys_connect(int fd, const struct sockaddr *a, socklen_t n)
{
	return connect(fd, a, n);
}

static int sys_getsockname(int fd, struct sockaddr *a, socklen_t *n)
{
	return getsockname(fd, a, n);
}

#define SYSTEM_CALLS							\
	.socket = socket, .bind = sys_bind, .listen = listen,		\
	.accept = sys_accept, .connect = sys_connect,			\
	.getsockname = sys_getsockname, .setsockopt = setsockopt,	\
	.send = send, .recv = recv, .close = close

static const struct calls tcp_calls = { SYSTEM_CALLS };
static const struct calls unix_calls = { SYSTEM_CALLS };
static const struct calls sdp_calls = { .by_ulp = true, SYSTEM_CALLS };
static const struct calls local_calls = { .by_ulp = true, SYSTEM_CALLS };

static void *tcp_listen(const struct plan *plan, struct place *at)
{
	return socket_listen(&tcp_calls, plan, at);
}

static void *tcp_connect(const struct plan *plan, const struct place *at)
{
	return socket_connect(&tcp_calls, plan, at);
}

/* A name that the kernel chooses, in the abstract name space. */
static void *unix_listen(const struct plan *plan, struct place *at)
{
	at->ss = (struct sockaddr_storage) { .ss_family = AF_UNIX };
	at->len = sizeof(sa_family_t);
	return socket_listen(&unix_calls, plan, at);
}

static void *unix_connect(const struct plan *plan, const struct place *at)
{
	return socket_connect(&unix_calls, plan, at);
}

static void *sdp_listen(const struct plan *plan, struct place *at)
{
	return socket_listen(&sdp_calls, plan, at);
}

static void *sdp_connect(const struct plan *plan, const struct place *at)
{
	return socket_connect(&sdp_calls, plan, at);
}

/* net.sdp.local=0 is the default, and this one needs it to be another. */
static void local_is_on(void)
{
	int on = sdp_tunable("local");

	if (on < 0 && sdp_tunable("enable") < 0)
		fail("the kernel module af_sdp is not loaded (modprobe af_sdp)");
	if (on < 0)
		fail("this af_sdp has no net.sdp.local: it is older than that");
	if (!on)
		fail("net.sdp.local is 0: sysctl net.sdp.local=1");
}

static void *local_listen(const struct plan *plan, struct place *at)
{
	local_is_on();
	return socket_listen(&local_calls, plan, at);
}

static void *local_connect(const struct plan *plan, const struct place *at)
{
	local_is_on();
	return socket_connect(&local_calls, plan, at);
}

/* ------------------------------------------------- whether it is what it is called */

static const char *const reason_help[] = {
#define REASON_HELP(name, word, help) word ": " help,
	SDP_REASONS(REASON_HELP)
};

/* False: nothing of SDP's was ever about it. */
static bool get_info(struct socket_conn *c, struct sdp_info *info)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);
	int level = SOL_IP;

	if (!getsockname(c->fd, (struct sockaddr *)&ss, &len) && ss.ss_family == AF_INET6)
		level = IPPROTO_IPV6;
	*info = (struct sdp_info) {};
	len = sizeof(*info);
	return !getsockopt(c->fd, level, IP_SDP_INFO, info, &len);
}

static void tcp_check(void *conn, bool after_connect)
{
	struct sdp_info info;

	(void)after_connect;
	if (get_info(conn, &info) && (info.sdpi_transport == SDP_TRANSPORT_IB ||
				      info.sdpi_transport == SDP_TRANSPORT_LOCAL))
		fail("SDP carries it: run sdp_perf without sdp_run and libsdp_preload.so");
}

static void unix_check(void *conn, bool after_connect)
{
	(void)conn;
	(void)after_connect;
}

static void is_tcp(const struct sdp_info *info)
{
	unsigned int reason = info->sdpi_reason;

	if (reason >= SDP_REASON_COUNT)
		fail("TCP carries it: reason %u, which is newer than sdp_perf", reason);
	if (reason == SDP_REASON_NONE)
		fail("TCP carries it: it was not joined, see af_sdp(7)");
	fail("TCP carries it: %s", reason_help[reason]);
}

static void sdp_check(void *conn, bool after_connect)
{
	struct socket_conn *c = conn;
	struct sdp_info info;

	if (!get_info(c, &info))
		fail("TCP carries it, and SDP was not tried");
	/* Two of this host that are about to be joined: local, of which accept() decides. */
	if (after_connect && info.sdpi_transport == SDP_TRANSPORT_TCP &&
	    info.sdpi_reason == SDP_REASON_NONE)
		return;
	if (info.sdpi_transport == SDP_TRANSPORT_LOCAL)
		fail("memory carries it, as net.sdp.local is 1: sysctl net.sdp.local=0");
	if (info.sdpi_transport != SDP_TRANSPORT_IB)
		is_tcp(&info);
	snprintf(c->device, sizeof(c->device), "%.*s/%u", (int)sizeof(info.sdpi_device),
		 info.sdpi_device, info.sdpi_port_num);
}

static void local_check(void *conn, bool after_connect)
{
	struct socket_conn *c = conn;
	struct sdp_info info;
	uint64_t by_memory;

	if (!get_info(c, &info))
		fail("TCP carries it, and SDP was not tried");
	if (after_connect && info.sdpi_transport == SDP_TRANSPORT_TCP &&
	    info.sdpi_reason == SDP_REASON_NONE)
		return;
	if (info.sdpi_transport == SDP_TRANSPORT_IB)
		fail("RDMA carries it, not memory");
	if (info.sdpi_transport != SDP_TRANSPORT_LOCAL)
		is_tcp(&info);
	by_memory = info.sdpi_bytes_sent - c->carried;
	if (by_memory != c->sent - c->checked)
		fail("of %llu bytes that were sent %llu went by memory, and TCP carried the others",
		     (unsigned long long)(c->sent - c->checked), (unsigned long long)by_memory);
	c->checked = c->sent;
	c->carried = info.sdpi_bytes_sent;
}

static const char *sdp_by(void *conn)
{
	struct socket_conn *c = conn;

	return c->device;
}

const struct transport over_tcp = {
	.name = "tcp", .carrier = "TCP", .listen = tcp_listen, .connect = tcp_connect,
	.check = tcp_check, SOCKET_CALLS
};

const struct transport over_unix = {
	.name = "unix", .carrier = "AF_UNIX", .same_host = true,
	.listen = unix_listen, .connect = unix_connect, .check = unix_check, SOCKET_CALLS
};

const struct transport over_sdp = {
	.name = "sdp", .listen = sdp_listen, .connect = sdp_connect, .check = sdp_check,
	.by = sdp_by, SOCKET_CALLS
};

const struct transport over_local = {
	.name = "local", .carrier = "memory", .same_host = true,
	.listen = local_listen, .connect = local_connect, .check = local_check, SOCKET_CALLS
};
