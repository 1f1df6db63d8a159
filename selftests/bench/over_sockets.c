// SPDX-License-Identifier: GPL-2.0
/*
 * TCP, SDP, AF_UNIX and rsockets: the same calls with another socket() under
 * them; the first two by MSG_ZEROCOPY; and SDP inside one host, which goes by memory.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <rdma/rsocket.h>
#include <linux/errqueue.h>
#include <linux/sdp.h>

#include "bench.h"

struct calls {
	const char *name;
	int family, protocol;
	int (*socket)(int, int, int);
	int (*bind)(int, const struct sockaddr *, socklen_t);
	int (*listen)(int, int);
	int (*accept)(int, struct sockaddr *, socklen_t *);
	int (*connect)(int, const struct sockaddr *, socklen_t);
	int (*setsockopt)(int, int, int, const void *, socklen_t);
	ssize_t (*send)(int, const void *, size_t, int);
	ssize_t (*recv)(int, void *, size_t, int);
	int (*close)(int);
};

/* What the system's calls are; libc declares some with attributes of their own. */
static int sys_bind(int fd, const struct sockaddr *a, socklen_t n) { return bind(fd, a, n); }
static int sys_accept(int fd, struct sockaddr *a, socklen_t *n) { return accept(fd, a, n); }
static int sys_connect(int fd, const struct sockaddr *a, socklen_t n) { return connect(fd, a, n); }

#define SYSTEM_CALLS_BUT_CONNECT \
	.socket = socket, .bind = sys_bind, .listen = listen, .accept = sys_accept, \
	.setsockopt = setsockopt, .send = send, .recv = recv, .close = close

#define SYSTEM_CALLS .connect = sys_connect, SYSTEM_CALLS_BUT_CONNECT

static const struct calls tcp_calls = {
	.name = "tcp", .family = AF_INET, SYSTEM_CALLS
};

static const struct calls sdp_calls = {
	.name = "sdp", .family = AF_INET, .protocol = IPPROTO_SDP, SYSTEM_CALLS
};

static void make_ours(int fd)
{
	if (setsockopt(fd, IPPROTO_TCP, TCP_ULP, "sdp", 3))
		die("TCP_ULP \"sdp\": %s", strerror(errno));
}

static int ulp_connect_call(int fd, const struct sockaddr *a, socklen_t n)
{
	make_ours(fd);
	return connect(fd, a, n);
}

static int ulp_listen_call(int fd, int backlog)
{
	make_ours(fd);
	return listen(fd, backlog);
}

/* A socket that would go by SDP, to a listener that is TCP's alone. */
static const struct calls fallback_calls = {
	.name = "fallback", .family = AF_INET,
	.connect = ulp_connect_call, SYSTEM_CALLS_BUT_CONNECT
};

/* A socket of ours, to a listener of ours on this host. */
static const struct calls local_calls = {
	.name = "local", .family = AF_INET,
	.socket = socket, .bind = sys_bind, .listen = ulp_listen_call, .accept = sys_accept,
	.connect = ulp_connect_call, .setsockopt = setsockopt, .send = send, .recv = recv,
	.close = close,
};

typedef int (*connect_fn)(int, const struct sockaddr *, socklen_t);

static connect_fn library_connect_function;

/* The same by who does it for users: the preload library's connect(). */
static int library_connect_call(int fd, const struct sockaddr *a, socklen_t n)
{
	return library_connect_function(fd, a, n);
}

static const struct calls library_calls = {
	.name = "library", .family = AF_INET,
	.connect = library_connect_call, SYSTEM_CALLS_BUT_CONNECT
};

/* Not preloaded, since the others are to have the system's connect(). */
void over_library_open(const char *path)
{
	void *library;

	/* What it is told by the environment when it is loaded: to try SDP, by no rule. */
	unsetenv("SDP_PRELOAD");
	setenv("SDP_CONFIG_FILE", "/dev/null", 1);
	if (!strchr(path, '/'))
		die("--library %s: a path has a slash in it", path);
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		die("--library: %s", dlerror());
	library_connect_function = (connect_fn)dlsym(library, "connect");
	/* Whatever else is opened has the C library's, by what it needs itself. */
	if (!library_connect_function ||
	    library_connect_function == (connect_fn)dlsym(RTLD_DEFAULT, "connect"))
		die("--library %s: has no connect() of its own", path);
}

static const struct calls unix_calls = { .name = "unix", .family = AF_UNIX, SYSTEM_CALLS };

static const struct calls rsocket_calls = {
	.name = "rsockets", .family = AF_INET,
	.socket = rsocket, .bind = rbind, .listen = rlisten, .accept = raccept,
	.connect = rconnect, .setsockopt = rsetsockopt, .send = rsend, .recv = rrecv,
	.close = rclose,
};

struct conn {
	const struct calls *calls;
	int fd;
	bool zerocopy;
	uint32_t lent, told;	/* calls by MSG_ZEROCOPY */
	int readable, writable;	/* each an epoll descriptor of its own; -1: none yet */
};

/* One buffer for all connections of a thread, as memory of idle ones is measured
 * with these too; not in the thread's own storage, which is made at its start.
 */
struct buffer {
	char *at;
	size_t filled;
};

static pthread_once_t buffers_made = PTHREAD_ONCE_INIT;
static pthread_key_t buffers;

enum { HUGE_PAGE = 2 << 20 };
bool over_huge_pages, over_epoll, over_nonblock;

static void free_buffer(void *buffer)
{
	struct buffer *b = buffer;

	free(b->at);
	free(b);
}

static void make_buffers(void)
{
	if (pthread_key_create(&buffers, free_buffer))
		die("no key for buffers");
}

/* Of small pages or of huge ones, but not as chance has it. */
static struct buffer *new_buffer(void)
{
	struct buffer *b = calloc(1, sizeof(*b));

	if (!b || pthread_setspecific(buffers, b))
		die("no memory");
	b->at = aligned_alloc(HUGE_PAGE, BENCH_MAX);
	if (!b->at)
		die("no memory");
	if (madvise(b->at, BENCH_MAX, over_huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE) &&
	    over_huge_pages)
		die("--huge: this kernel has no transparent huge pages");
	return b;
}

/* Where nothing was ever written there is but the one page of zeros: what is sent
 * has to be filled first, and so is what is received into.
 */
static char *buffer(size_t size)
{
	struct buffer *b;

	pthread_once(&buffers_made, make_buffers);
	b = pthread_getspecific(buffers) ?: new_buffer();
	if (size > b->filled) {
		memset(b->at + b->filled, 1, size - b->filled);
		b->filled = size;
	}
	return b->at;
}

static socklen_t address(const struct calls *calls, const char *host, int port,
			 struct sockaddr_storage *ss)
{
	struct sockaddr_in *in = (struct sockaddr_in *)ss;
	struct sockaddr_un *un = (struct sockaddr_un *)ss;

	memset(ss, 0, sizeof(*ss));
	if (calls->family == AF_UNIX) {
		un->sun_family = AF_UNIX;	/* the abstract name space */
		snprintf(un->sun_path + 1, sizeof(un->sun_path) - 1, "sdp_bench.%d", port);
		return sizeof(*un);
	}
	in->sin_family = AF_INET;
	in->sin_port = htons(port);
	if (host && inet_pton(AF_INET, host, &in->sin_addr) != 1)
		die("\"%s\" is no IPv4 address", host);
	return sizeof(*in);
}

static struct conn *conn_new(const struct calls *calls, int fd)
{
	struct conn *c = calloc(1, sizeof(*c));
	int one = 1;

	if (!c)
		die("no memory");
	c->calls = calls;
	c->fd = fd;
	c->readable = -1;
	c->writable = -1;
	if (calls->family == AF_INET)
		calls->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return c;
}

static int new_socket(const struct calls *calls)
{
	int fd = calls->socket(calls->family, SOCK_STREAM, calls->protocol);

	if (fd < 0)
		die("%s: socket: %s", calls->name, strerror(errno));
	return fd;
}

static void *sock_listen(const struct calls *calls, int port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(calls, NULL, port, &ss);
	int fd = new_socket(calls), one = 1;

	if (calls->family == AF_INET)
		calls->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (calls->bind(fd, (struct sockaddr *)&ss, len) || calls->listen(fd, 128))
		die("%s: port %d: %s", calls->name, port, strerror(errno));
	return conn_new(calls, fd);
}

static void *sock_accept(void *listener)
{
	struct conn *l = listener;
	int fd = l->calls->accept(l->fd, NULL, NULL);

	if (fd < 0)
		die("%s: accept: %s", l->calls->name, strerror(errno));
	return conn_new(l->calls, fd);
}

static void *sock_connect(const struct calls *calls, const char *host, int port)
{
	struct sockaddr_storage ss;
	socklen_t len = address(calls, host, port, &ss);
	int fd = new_socket(calls);

	if (calls->connect(fd, (struct sockaddr *)&ss, len))
		die("%s: connect: %s", calls->name, strerror(errno));
	return conn_new(calls, fd);
}

/* As a program does that has registered its socket once. */
static void wait_by_epoll(struct conn *c, int *set, uint32_t events)
{
	struct epoll_event e = { .events = events };

	if (*set < 0) {
		*set = epoll_create1(0);
		if (*set < 0 || epoll_ctl(*set, EPOLL_CTL_ADD, c->fd, &e))
			die("%s: epoll: %s", c->calls->name, strerror(errno));
	}
	while (epoll_wait(*set, &e, 1, -1) < 0)
		if (errno != EINTR)
			die("%s: epoll_wait: %s", c->calls->name, strerror(errno));
}

static void sock_send(void *conn, const void *data, size_t size)
{
	int flags = MSG_NOSIGNAL | (over_nonblock ? MSG_DONTWAIT : 0);
	struct conn *c = conn;
	const char *from = data ?: buffer(size);

	while (size) {
		ssize_t n = c->calls->send(c->fd, from, size, flags);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && over_nonblock) {
			wait_by_epoll(c, &c->writable, EPOLLOUT);
			continue;
		}
		if (n <= 0)
			die("%s: send: %s", c->calls->name, strerror(errno));
		size -= n;
		from += n;
	}
}

/* Notifications that are there. */
static void reap_notifications(struct conn *c)
{
	const struct sock_extended_err *e;
	char control[200];
	struct msghdr msg = { .msg_control = control, .msg_controllen = sizeof(control) };
	const struct cmsghdr *cmsg;

	while (!recvmsg(c->fd, &msg, MSG_ERRQUEUE)) {
		cmsg = CMSG_FIRSTHDR(&msg);
		e = (const struct sock_extended_err *)CMSG_DATA(cmsg);
		c->told += e->ee_data - e->ee_info + 1;
		msg.msg_controllen = sizeof(control);
	}
}

/* As a program does that has a few buffers, and uses them again when it may. */
enum { ZEROCOPY_BUFFERS = 8 };

static void sock_send_zerocopy(void *conn, const void *data, size_t size)
{
	struct conn *c = conn;
	struct pollfd p = { .fd = c->fd };
	const char *from = buffer(size);
	int one = 1;

	/* A word to the other side: the caller's stack, which is not to be lent. */
	if (data) {
		sock_send(conn, data, size);
		return;
	}
	if (!c->zerocopy && c->calls->setsockopt(c->fd, SOL_SOCKET, SO_ZEROCOPY, &one,
						 sizeof(one)))
		die("%s: SO_ZEROCOPY: %s", c->calls->name, strerror(errno));
	c->zerocopy = true;
	while (size) {
		ssize_t n = c->calls->send(c->fd, from, size, MSG_NOSIGNAL | MSG_ZEROCOPY);

		/* TCP's word for too many notifications under way. */
		if (n < 0 && (errno == EINTR || errno == ENOBUFS)) {
			reap_notifications(c);
			continue;
		}
		if (n <= 0)
			die("%s: send: %s", c->calls->name, strerror(errno));
		size -= n;
		from += n;
		c->lent++;
		reap_notifications(c);
		while (c->lent - c->told >= ZEROCOPY_BUFFERS) {
			poll(&p, 1, -1);
			reap_notifications(c);
		}
	}
}

static size_t sock_recv_some(void *conn, size_t size)
{
	struct conn *c = conn;
	ssize_t n;

	do {
		if (over_epoll)
			wait_by_epoll(c, &c->readable, EPOLLIN);
		n = c->calls->recv(c->fd, buffer(size), size, over_epoll ? MSG_DONTWAIT : 0);
	} while (n < 0 && (errno == EINTR || (errno == EAGAIN && over_epoll)));
	if (n < 0 && errno != ECONNRESET)
		die("%s: recv: %s", c->calls->name, strerror(errno));
	return n < 0 ? 0 : n;
}

static const void *sock_data(void *conn)
{
	(void)conn;
	return buffer(0);
}

/* What the library leaves alone would be TCP's as well, and cost less. */
static void library_check(void *conn)
{
	struct conn *c = conn;
	struct sdp_info info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, IPPROTO_IP, IP_SDP_INFO, &info, &len))
		die("library: SDP was not tried: %s", strerror(errno));
	if (info.sdpi_transport != SDP_TRANSPORT_TCP)
		die("library: the connection did not fall back");
}

static void sock_close(void *conn)
{
	struct conn *c = conn;

	if (c->readable >= 0)
		close(c->readable);
	if (c->writable >= 0)
		close(c->writable);
	c->calls->close(c->fd);
	free(c);
}

static uint64_t sdp_memory(void *conn)
{
	struct conn *c = conn;
	struct sdp_info info = {};
	socklen_t len = sizeof(info);

	if (getsockopt(c->fd, SOL_SDP, SDP_INFO, &info, &len))
		die("SDP_INFO: %s", strerror(errno));
	return info.sdpi_mem;
}

/* The listener's accept() joins the two: a round trip says that it has. */
static void local_check(void *conn)
{
	struct conn *c = conn;
	struct sdp_info info = {};
	socklen_t len = sizeof(info);

	ask(&over_local, conn, OP_PING, 1, 1);
	sock_send(conn, NULL, 1);
	recv_exact(&over_local, conn, 1);
	if (getsockopt(c->fd, SOL_SDP, SDP_INFO, &info, &len))
		die("local: the connection is plain TCP (net.sdp.local?): %s", strerror(errno));
	if (info.sdpi_transport != SDP_TRANSPORT_LOCAL)
		die("local: transport %u carries the bytes, not memory (net.sdp.local?)",
		    info.sdpi_transport);
}

/* Only who listens and connects differs from one to the next. */
#define LISTEN_AND_CONNECT(which)						\
	static void *which##_listen(int port)					\
	{									\
		return sock_listen(&which##_calls, port);			\
	}									\
	static void *which##_connect(const char *host, int port)		\
	{									\
		return sock_connect(&which##_calls, host, port);		\
	}

#define SOCKET_OPS(which, call)							\
	.can_idle = true, .listen = which##_listen, .accept = sock_accept,	\
	.connect = which##_connect, .send = call,				\
	.recv_some = sock_recv_some, .data = sock_data, .close = sock_close

LISTEN_AND_CONNECT(tcp)
LISTEN_AND_CONNECT(sdp)
LISTEN_AND_CONNECT(fallback)
LISTEN_AND_CONNECT(library)
LISTEN_AND_CONNECT(unix)
LISTEN_AND_CONNECT(rsocket)

/* Whatever address the others go to, which may be another host's. */
static void *local_listen(int port)
{
	return sock_listen(&local_calls, port);
}

static void *local_connect(const char *host, int port)
{
	(void)host;
	return sock_connect(&local_calls, "127.0.0.1", port);
}

const struct transport over_tcp = {
	.name = "tcp", .can_connect = true, .can_epoll = true, SOCKET_OPS(tcp, sock_send)
};
const struct transport over_sdp = {
	.name = "sdp", .can_connect = true, .can_epoll = true, SOCKET_OPS(sdp, sock_send),
	.memory = sdp_memory
};
const struct transport over_tcp_zerocopy = {
	.name = "tcp-zerocopy", SOCKET_OPS(tcp, sock_send_zerocopy)
};
const struct transport over_sdp_zerocopy = {
	.name = "sdp-zerocopy", SOCKET_OPS(sdp, sock_send_zerocopy)
};
const struct transport over_fallback = {
	.name = "fallback", .can_connect = true, .can_epoll = true,
	SOCKET_OPS(fallback, sock_send)
};
const struct transport over_library = {
	.name = "library", .can_connect = true, .connects_only = true,
	.check = library_check, SOCKET_OPS(library, sock_send)
};
const struct transport over_unix = {
	.name = "unix", .can_connect = true, .can_epoll = true, SOCKET_OPS(unix, sock_send)
};
const struct transport over_local = {
	.name = "local", .can_connect = true, .can_epoll = true, .check = local_check,
	SOCKET_OPS(local, sock_send)
};
/* Librdmacm's service thread may wait for ever for an event that is not there,
 * when several connections have been accepted or other threads accept and close;
 * then no call of the program comes back that needs it.
 */
const struct transport over_rsockets = {
	.name = "rsockets", .can_connect = true, .one_by_one = true, .stays_open = true,
	.idle_max = 200, SOCKET_OPS(rsocket, sock_send)
};
