// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>

#include "compat.h"
#include "sweep.h"
#include "variant.h"

#ifndef IP_PROTOCOL
#define IP_PROTOCOL 52
#endif

enum {
	OPTIONS		= 128,		/* of a level; those of netfilter's users among them */
	LARGE		= 256,		/* bytes of an option */
	MANY		= 30,		/* differences that are printed */
};

static const int levels[] = { SOL_SOCKET, SOL_IP, SOL_TCP, SOL_SDP, SOL_IPV6 };

/* What a call has come to. */
struct answer {
	long long ret;
	int err;
	long long value;
};

struct sweeping {
	int fd, like;
	bool equal;			/* both are to answer the same */
	int differ;
};

static struct answer answer(long long ret)
{
	return (struct answer){ .ret = ret, .err = ret < 0 ? errno : 0 };
}

__attribute__((format(printf, 4, 5)))
static void same(struct sweeping *s, struct answer is, struct answer tcp,
		 const char *fmt, ...)
{
	char call[80];
	va_list args;

	if (!s->equal || (is.ret == tcp.ret && is.err == tcp.err && is.value == tcp.value))
		return;
	va_start(args, fmt);
	vsnprintf(call, sizeof(call), fmt, args);
	va_end(args);
	if (s->differ++ < MANY)
		ktap_note("%s: %lld %s %#llx, by TCP %lld %s %#llx", call, is.ret,
			  is.err ? ktap_errno(is.err) : "", is.value, tcp.ret,
			  tcp.err ? ktap_errno(tcp.err) : "", tcp.value);
}

/* ------------------------------------------------------------------- options */

/*
 * Each socket has its own of these, or it is a matter of time: of two of TCP's they differ,
 * too.
 */
static const struct {
	int level, option;
} own[] = {
	{ SOL_SOCKET, SO_RCVBUF },
	{ SOL_SOCKET, SO_SNDBUF },
	{ SOL_SOCKET, SO_PEERNAME },
	{ SOL_SOCKET, SO_INCOMING_CPU },
	{ SOL_SOCKET, SO_INCOMING_NAPI_ID },
	{ SOL_SOCKET, SO_MEMINFO },
	{ SOL_IP, IP_PROTOCOL },		/* the port */
	{ SOL_IP, IP_MTU },			/* of the route; mtu_of_route compares it */
	{ SOL_IPV6, IPV6_MTU },
	{ SOL_TCP, TCP_TIMESTAMP },
};

static bool is_own(int level, int option)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(own); i++)
		if (own[i].level == level && own[i].option == option)
			return true;
	return false;
}

/* Of options that differ as compat.c says. */
static bool is_known(struct sweeping *s, int level, int option, unsigned int what)
{
	const struct compat_option *row = compat_option(level, option);

	if (level == SOL_SDP)
		return true;
	if (!on_ours() || !row || !(row->differs & what))
		return false;
	if (s->equal)
		compat_saw_option(variant_by_name(variant_name()), row, what);
	return true;
}

static struct answer get_option(int fd, int level, int option, socklen_t len)
{
	char value[LARGE] = { };
	struct answer a;
	int n = 0;

	a = answer(getsockopt(fd, level, option, value, &len));
	if (!a.ret)
		a.ret = len;
	memcpy(&n, value, sizeof(n));
	if (a.ret == sizeof(n))
		a.value = n;
	/* The state; behind it is what has been sent again by now. */
	if (level == SOL_TCP && option == TCP_INFO)
		a.value &= 0xff;
	return a;
}

static struct answer set_option(int fd, int level, int option, int value, socklen_t len)
{
	char bytes[LARGE] = { };

	memcpy(bytes, &value, sizeof(value));
	return answer(setsockopt(fd, level, option, bytes, len));
}

static void try_get(struct sweeping *s, int level, int option)
{
	static const socklen_t lens[] = { sizeof(int), 0, 1, LARGE };
	struct answer is, tcp;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		is = get_option(s->fd, level, option, lens[i]);
		tcp = get_option(s->like, level, option, lens[i]);
		if (is_own(level, option))
			is.value = tcp.value;
		if ((is.ret != tcp.ret || is.err != tcp.err) &&
		    is_known(s, level, option, COMPAT_GET))
			continue;
		if (is.value != tcp.value && is_known(s, level, option, COMPAT_VALUE))
			continue;
		same(s, is, tcp, "getsockopt(%d, %d), %u bytes", level, option, lens[i]);
	}
}

/* It gets the value that it had before, if it has one. */
static void restore(int fd, int level, int option, struct answer had)
{
	set_option(fd, level, option, had.ret == sizeof(int) ? had.value : 0, LARGE);
}

/* Of the whole connection, in ms: one would be over before the next call, on a busy machine. */
static bool is_time(int level, int option)
{
	return level == SOL_TCP && option == TCP_USER_TIMEOUT;
}

static void try_set(struct sweeping *s, int level, int option)
{
	static const int lens[] = { sizeof(int), 1, 16 };
	struct answer is, tcp, had, tcp_had;
	unsigned int i;
	int n, value;

	/* Names: of these the kernel asks user space. */
	if (level == SOL_TCP && (option == TCP_ULP || option == TCP_CONGESTION))
		return;
	had = get_option(s->fd, level, option, sizeof(int));
	tcp_had = get_option(s->like, level, option, sizeof(int));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (n = 0; n <= 1; n++) {
			value = n * (is_time(level, option) ? 600000 : 1);
			is = set_option(s->fd, level, option, value, lens[i]);
			tcp = set_option(s->like, level, option, value, lens[i]);
			if (!is.ret)
				restore(s->fd, level, option, had);
			if (!tcp.ret)
				restore(s->like, level, option, tcp_had);
			if ((is.ret == tcp.ret && is.err == tcp.err) ||
			    !is_known(s, level, option, COMPAT_SET))
				same(s, is, tcp, "setsockopt(%d, %d, %d), %d bytes", level,
				     option, value, lens[i]);
		}
	}
}

/* As large as any need here, whatever the kernel made of what it said before. */
static void restore_buffers(int fd)
{
	OK(set_int(fd, SOL_SOCKET, SO_SNDBUF, 100000));
	OK(set_int(fd, SOL_SOCKET, SO_RCVBUF, 100000));
}

static void try_names(struct sweeping *s)
{
	static const char reno[] = "reno", sdp[] = SDP_ULP_NAME;

	same(s, answer(setsockopt(s->fd, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno))),
	     answer(setsockopt(s->like, SOL_TCP, TCP_CONGESTION, reno, sizeof(reno))), "reno");
	/* It is one, or cannot be one any more. */
	if (on_ours())
		CHECK(setsockopt(s->fd, SOL_TCP, TCP_ULP, sdp, sizeof(sdp)));
}

/* -------------------------------------------------------------------- ioctls */

static const unsigned int ioctls[] = {
	SIOCINQ, SIOCOUTQ, SIOCOUTQNSD, SIOCATMARK, FIOGETOWN, SIOCGPGRP, FIOASYNC,
	FIONCLEX, FIOCLEX, FIOQSIZE, SIOCGSTAMP_OLD, SIOCGSTAMPNS_OLD, SIOCGSTAMP_NEW,
	SIOCGSTAMPNS_NEW, SIOCGIFNAME, SIOCGIFCONF, SIOCETHTOOL, SIOCPROTOPRIVATE, 0x5499,
};

static struct answer try_one_ioctl(int fd, unsigned int cmd)
{
	char arg[LARGE] = { };
	struct answer a = answer(ioctl(fd, cmd, arg));
	int n;

	memcpy(&n, arg, sizeof(n));
	/* What is not acknowledged yet is a matter of time. */
	if (!a.ret && cmd != SIOCOUTQ && cmd != SIOCOUTQNSD)
		a.value = n;
	return a;
}

static void try_ioctls(struct sweeping *s)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ioctls); i++) {
		unsigned int cmd = ioctls[i];

		same(s, try_one_ioctl(s->fd, cmd), try_one_ioctl(s->like, cmd),
		     "ioctl(%#x)", cmd);
		same(s, answer(ioctl(s->fd, cmd, (void *)8)),
		     answer(ioctl(s->like, cmd, (void *)8)), "ioctl(%#x, 8)", cmd);
	}
}

/* --------------------------------------------------------------------- calls */

enum { ALL = POLLIN | POLLOUT | POLLPRI | POLLRDHUP };

static long long call_poll(int fd)
{
	return poll_one(fd, ALL, 0);
}

static long long call_poll_out(int fd)
{
	return poll_one(fd, POLLOUT, 0);
}

static long long call_select(int fd)
{
	struct timeval none = { };
	fd_set in, out, except;
	int n;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(fd, &in);
	FD_SET(fd, &out);
	FD_SET(fd, &except);
	n = select(fd + 1, &in, &out, &except, &none);
	return n < 0 ? n : FD_ISSET(fd, &in) | FD_ISSET(fd, &out) << 1 |
			   FD_ISSET(fd, &except) << 2;
}

static long long call_epoll(int fd, int flags)
{
	struct epoll_event e = { .events = ALL | flags };
	int p = epoll_create1(EPOLL_CLOEXEC);
	long long n, got = 0;

	n = epoll_ctl(p, EPOLL_CTL_ADD, fd, &e);
	if (!n && epoll_wait(p, &e, 1, 0) == 1)
		got = e.events;
	close(p);
	return n ?: got;
}

static long long call_epoll_level(int fd)
{
	return call_epoll(fd, 0);
}

static long long call_epoll_edge(int fd)
{
	return call_epoll(fd, EPOLLET);
}

static long long call_getsockname(int fd)
{
	union addr a;

	return name_of(fd, &a) ?: a.sa.sa_family;
}

static long long call_getpeername(int fd)
{
	union addr a;

	return peer_of(fd, &a) ?: a.sa.sa_family;
}

static long long call_mmap(int fd)
{
	void *at = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

	if (at != MAP_FAILED)
		munmap(at, 4096);
	return at == MAP_FAILED;
}

static long long call_diag(int fd)
{
	(void)fd;
	OK(sockets_shown(~0u));
	return 0;
}

#define RECV(name, len, flags)						\
static long long call_##name(int fd)					\
{									\
	char bytes[16];							\
									\
	return recv(fd, bytes, len, (flags) | MSG_DONTWAIT);		\
}

RECV(recv_none, 0, 0)
RECV(recv, 1, 0)
RECV(recv_all, 4, MSG_WAITALL)
RECV(recv_trunc, 1, MSG_TRUNC)
RECV(recv_oob, 1, MSG_OOB)
RECV(peek_none, 0, MSG_PEEK)
RECV(peek, 16, MSG_PEEK)
RECV(peek_trunc, 16, MSG_PEEK | MSG_TRUNC)
RECV(peek_oob, 1, MSG_PEEK | MSG_OOB)
RECV(peek_all, 16, MSG_PEEK | MSG_WAITALL)
RECV(recv_errqueue, 16, MSG_ERRQUEUE)
RECV(recv_odd, 1, MSG_CMSG_CLOEXEC | MSG_CONFIRM | MSG_EOR)

static long long call_splice_in(int fd)
{
	long long n;
	int p[2];

	OK(pipe2(p, O_NONBLOCK | O_CLOEXEC));
	n = splice(fd, NULL, p[1], NULL, 1, SPLICE_F_NONBLOCK);
	close(p[0]);
	close(p[1]);
	return n;
}

static long long call_recv_fault(int fd)
{
	return recv(fd, (void *)8, 1, MSG_DONTWAIT);
}

#define SEND(name, len, flags)						\
static long long call_##name(int fd)					\
{									\
	return send(fd, "12345678", len, (flags) | MSG_DONTWAIT | MSG_NOSIGNAL); \
}

SEND(send_none, 0, 0)
SEND(send, 1, 0)
SEND(send_more, 2, MSG_MORE)
SEND(send_oob, 1, MSG_OOB)
SEND(send_zerocopy, 8, MSG_ZEROCOPY)
SEND(send_odd, 1, MSG_EOR | MSG_CONFIRM | MSG_DONTROUTE)
/* Of a socket that is not connected: one that is has another error by SDP. */
SEND(send_first, 1, MSG_FASTOPEN)

static long long call_splice_out(int fd)
{
	long long n;
	int p[2];

	OK(pipe2(p, O_NONBLOCK | O_CLOEXEC));
	EQ(1, write(p[1], "x", 1));
	n = splice(p[0], NULL, fd, NULL, 1, SPLICE_F_NONBLOCK | SPLICE_F_MORE);
	close(p[0]);
	close(p[1]);
	return n;
}

static long long call_sendfile(int fd)
{
	int f = OK(memfd_create("sweep", MFD_CLOEXEC));
	long long n;

	EQ(4, write(f, "file", 4));
	EQ(0, lseek(f, 0, SEEK_SET));
	n = sendfile(fd, f, NULL, 4);
	close(f);
	return n;
}

static long long call_send_fault(int fd)
{
	return send(fd, (void *)8, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static long long call_accept(int fd)
{
	int s = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (s >= 0)
		close(s);
	return s < 0 ? s : 0;
}

static long long call_bind(int fd)
{
	union addr a;

	here(&a, 0);
	return bind_to(fd, &a);
}

static long long call_connect(int fd)
{
	union addr a = { .sa.sa_family = AF_UNIX };

	return connect(fd, &a.sa, sizeof(a.in6));
}

static long long call_listen(int fd)
{
	return listen(fd, 1);
}

static long long call_shut_rd(int fd)
{
	return shutdown(fd, SHUT_RD);
}

static long long call_shut_wr(int fd)
{
	return shutdown(fd, SHUT_WR);
}

static long long call_shut_odd(int fd)
{
	return shutdown(fd, 3);
}

static long long call_dissolve(int fd)
{
	union addr x = { .sa.sa_family = AF_UNSPEC };

	return connect(fd, &x.sa, sizeof(x.in));
}

struct call {
	const char *name;
	long long (*run)(int fd);
};

#define C(name) { #name, call_##name }

static const struct call looks[] = {
	C(poll), C(poll_out), C(select), C(epoll_level), C(epoll_edge), C(getsockname),
	C(getpeername), C(mmap), C(diag),
};

static const struct call reads[] = {
	C(recv_errqueue), C(recv_none), C(peek_none), C(peek), C(peek_trunc), C(peek_oob),
	C(peek_all), C(recv_oob), C(recv_fault), C(recv), C(recv_odd), C(recv_trunc),
	C(splice_in), C(recv_all), C(recv), C(recv),
};

static const struct call sends[] = {
	C(send_none), C(send_fault), C(send), C(send_more), C(send_oob), C(send_zerocopy),
	C(send_odd), C(splice_out), C(sendfile), C(send),
};

static const struct call changes[] = {
	C(shut_odd), C(connect), C(accept), C(bind), C(shut_rd), C(poll), C(recv), C(shut_wr),
	C(poll), C(send), C(shut_rd), C(recv), C(poll), C(dissolve), C(poll), C(recv), C(send),
	C(getpeername), C(send_first), C(listen), C(poll), C(accept), C(dissolve), C(poll),
};

static bool is_known_call(struct sweeping *s, const char *name)
{
	unsigned int i;

	for (i = 0; on_ours() && i < compat_nr_calls; i++) {
		if (strcmp(compat_calls[i].name, name))
			continue;
		if (s->equal)
			compat_saw_call(variant_by_name(variant_name()), &compat_calls[i]);
		return true;
	}
	return false;
}

static void try_calls(struct sweeping *s, const struct call *calls, unsigned int n)
{
	struct answer is, tcp;
	unsigned int i;

	for (i = 0; i < n; i++) {
		is = answer(calls[i].run(s->fd));
		tcp = answer(calls[i].run(s->like));
		if ((is.ret == tcp.ret && is.err == tcp.err) || !is_known_call(s, calls[i].name))
			same(s, is, tcp, "%s", calls[i].name);
	}
}

static void try_options(struct sweeping *s, void (*try)(struct sweeping *, int, int))
{
	unsigned int i;
	int option;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		/* Of IPv4's this level has none. */
		if (levels[i] == SOL_IPV6 && variant->family == AF_INET)
			continue;
		for (option = 0; option < OPTIONS; option++)
			try(s, levels[i], option);
	}
	try(s, SOL_IP, IP_SDP_INFO);
	try(s, SOL_IPV6, IP_SDP_INFO);
}

static void look(struct sweeping *s)
{
	try_calls(s, looks, ARRAY_SIZE(looks));
	try_ioctls(s);
	try_options(s, try_get);
	try_options(s, try_set);
	restore_buffers(s->fd);
	restore_buffers(s->like);
	try_names(s);
	try_calls(s, looks, ARRAY_SIZE(looks));
}

/* Its clocks are to be set by whatever call can, at any time. */
static void wants_clocks(int fd)
{
	OK(set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1));
	OK(set_int(fd, SOL_TCP, TCP_USER_TIMEOUT, 600000));
}

static struct sweeping begin(int fd, int like, enum sweep how)
{
	wants_clocks(fd);
	wants_clocks(like);
	/* Of a pipe, as splice() is, there is no MSG_NOSIGNAL. */
	signal(SIGPIPE, SIG_IGN);
	nonblock(fd, true);
	nonblock(like, true);
	return (struct sweeping){ .fd = fd, .like = like, .equal = how != SWEEP_SURVIVES };
}

static int end(const struct sweeping *s)
{
	if (s->differ)
		FAIL("%d calls answer otherwise than TCP", s->differ);
	return 0;
}

int sweep_looks_(int fd, int like, enum sweep how)
{
	struct sweeping s = begin(fd, like, how);

	look(&s);
	return end(&s);
}

int sweep_(int fd, int like, enum sweep how)
{
	struct sweeping s = begin(fd, like, how);

	look(&s);
	try_calls(&s, reads, ARRAY_SIZE(reads));
	try_calls(&s, looks, ARRAY_SIZE(looks));
	if (how == SWEEP_SENT)
		s.equal = false;
	try_calls(&s, sends, ARRAY_SIZE(sends));
	try_calls(&s, changes, ARRAY_SIZE(changes));
	return end(&s);
}

/* What the kernel takes for an option. */
static bool is_answered(int fd, int level, int option)
{
	static const socklen_t lens[] = { sizeof(int), LARGE };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		if (get_option(fd, level, option, lens[i]).err != ENOPROTOOPT ||
		    set_option(fd, level, option, 0, lens[i]).err != ENOPROTOOPT)
			return true;
	return false;
}

int sweep_unknown_(void)
{
	int unknown = 0, option, fd;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		if (levels[i] == SOL_SDP || (levels[i] == SOL_IPV6 && variant->family == AF_INET))
			continue;
		for (option = 0; option < OPTIONS; option++) {
			fd = sock();
			if (is_answered(fd, levels[i], option) &&
			    !compat_option(levels[i], option)) {
				ktap_note("option %d of level %d", option, levels[i]);
				unknown++;
			}
			close(fd);
		}
	}
	return unknown;
}
