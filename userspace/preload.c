// SPDX-License-Identifier: LGPL-2.1
/*
 * libsdp_preload.so: lets an unmodified program speak SDP.
 *
 * An AF_SDP socket is a TCP socket with our object in its upper-layer-protocol
 * slot, so a program's own socket can be turned into one at the last moment: in
 * connect(), when the destination is known, and in listen().  These are the two
 * functions replaced here.  Each fills the slot with setsockopt(TCP_ULP) and
 * then calls the function it replaces; the descriptor, its options and its bind
 * stay the program's.  There is no second socket, no table of descriptors and
 * nothing to follow through dup(), fork() or exec().
 *
 * Where the slot cannot be filled the socket stays TCP, and so does, by the
 * module's doing, a connection that cannot go by SDP.  SDP_PRELOAD in the
 * environment changes that:
 *
 *   SDP_PRELOAD=off		nothing is touched
 *   SDP_PRELOAD=require	what would be TCP is an error instead: connect()
 *				fails (ENETUNREACH if the module is not there),
 *				listen() too (EOPNOTSUPP), and a listener resets
 *				plain TCP clients
 *
 * Never touched: what is not TCP, sockets that are connected or connecting or
 * have another upper-layer protocol, and 127.0.0.0/8 and ::1, which no RDMA
 * device reaches; this holds for "require" too.
 *
 * connect() and listen() are async-signal-safe and are called between vfork()
 * and exec(), so nothing here locks or allocates once the constructor has run.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/sdp.h>

/*
 * The two replacements go by names of their own in C, since the C library
 * declares connect() in ways that differ with the compiler.
 */
int preload_connect(int fd, const struct sockaddr *addr, socklen_t len)
	__asm__("connect") __attribute__((visibility("default")));
int preload_listen(int fd, int backlog)
	__asm__("listen") __attribute__((visibility("default")));

/* The kernel takes an IPv6 address without its scope id (RFC 2133). */
#define SIN6_LEN_MIN	offsetof(struct sockaddr_in6, sin6_scope_id)

enum mode { MODE_UNSET, MODE_ON, MODE_OFF, MODE_REQUIRE };

enum outcome {
	UNTOUCHED,	/* none of our business, or TCP will do */
	ATTACHED,
	MISSING,	/* required, and the module is not there */
	IMPOSSIBLE,	/* required, and the socket cannot have it */
};

typedef int (*connect_fn)(int fd, const struct sockaddr *addr, socklen_t len);
typedef int (*listen_fn)(int fd, int backlog);

static _Atomic enum mode preload_mode;
static _Atomic connect_fn next_connect;
static _Atomic listen_fn next_listen;
static atomic_flag told = ATOMIC_FLAG_INIT;

static enum mode mode(void)
{
	enum mode m = atomic_load(&preload_mode);
	const char *word;

	if (m != MODE_UNSET)
		return m;
	word = getenv("SDP_PRELOAD");
	m = MODE_ON;
	if (word && !strcmp(word, "off"))
		m = MODE_OFF;
	else if (word && !strcmp(word, "require"))
		m = MODE_REQUIRE;
	atomic_store(&preload_mode, m);
	return m;
}

/*
 * The next definition after this library: the C library's, or that of another
 * preloaded library.  Two threads that look at once find the same.
 */
static connect_fn real_connect(void)
{
	connect_fn fn = atomic_load(&next_connect);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "connect");
		atomic_store(&next_connect, fn);
	}
	return fn;
}

static listen_fn real_listen(void)
{
	listen_fn fn = atomic_load(&next_listen);

	if (!fn) {
		fn = dlsym(RTLD_NEXT, "listen");
		atomic_store(&next_listen, fn);
	}
	return fn;
}

/*
 * Opening a socket of protocol IPPROTO_SDP loads the module for any user, which
 * TCP_ULP does for privileged ones only.
 */
static __attribute__((constructor)) void preload_init(void)
{
	int err = errno;
	int fd;

	real_connect();
	real_listen();
	if (mode() != MODE_OFF) {
		fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SDP);
		if (fd >= 0)
			close(fd);
	}
	errno = err;
}

/*
 * The program's address may point nowhere, which the kernel answers by EFAULT
 * and we would by a crash.  rt_sigprocmask() reads eight bytes before it finds
 * that the first argument makes no sense.
 */
static bool readable(const void *p)
{
	return p && !(syscall(SYS_rt_sigprocmask, -1, p, NULL, 8) < 0 &&
		      errno == EFAULT);
}

static bool is_loopback4(in_addr_t addr)
{
	/* 0.0.0.0 as destination is this host by way of the loopback. */
	return ntohl(addr) >> 24 == IN_LOOPBACKNET || addr == INADDR_ANY;
}

static bool is_loopback6(const struct in6_addr *addr)
{
	in_addr_t v4;

	if (IN6_IS_ADDR_V4MAPPED(addr)) {
		memcpy(&v4, &addr->s6_addr[12], sizeof(v4));
		return is_loopback4(v4);
	}
	return IN6_IS_ADDR_LOOPBACK(addr) || IN6_IS_ADDR_UNSPECIFIED(addr);
}

/* Whether an RDMA device may lead to @addr. */
static bool is_remote(const struct sockaddr *addr, socklen_t len)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	if (len < sizeof(*sin) || len > sizeof(struct sockaddr_storage) ||
	    !readable(addr))
		return false;
	if (addr->sa_family == AF_INET)
		return !is_loopback4(sin->sin_addr.s_addr);
	if (addr->sa_family != AF_INET6 || len < SIN6_LEN_MIN ||
	    !readable((const char *)addr + SIN6_LEN_MIN - 8))
		return false;
	return !is_loopback6(&sin6->sin6_addr);
}

static bool is_tcp(int fd)
{
	int proto;
	socklen_t len = sizeof(proto);

	return !getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &proto, &len) &&
	       proto == IPPROTO_TCP;
}

/* Whether our name stands in the slot of @fd. */
static bool is_sdp(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name) - 1;

	return !getsockopt(fd, SOL_TCP, TCP_ULP, name, &len) &&
	       !strcmp(name, SDP_ULP_NAME);
}

/* Whether @fd is neither connected nor connecting nor listening. */
static bool is_fresh(int fd)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	return !getsockopt(fd, SOL_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state == TCP_CLOSE;
}

static enum outcome attach(int fd)
{
	int no = 0;
	int err;

	if (!is_tcp(fd))
		return UNTOUCHED;
	err = setsockopt(fd, SOL_TCP, TCP_ULP, SDP_ULP_NAME,
			 strlen(SDP_ULP_NAME)) ? errno : 0;
	if (!err || (err == EEXIST && is_sdp(fd))) {
		/* EISCONN: connecting already, and not for the first time */
		if (mode() == MODE_REQUIRE &&
		    setsockopt(fd, SOL_SDP, SDP_FALLBACK, &no, sizeof(no)) &&
		    errno != EISCONN)
			return IMPOSSIBLE;
		return ATTACHED;
	}
	if (mode() != MODE_REQUIRE)
		return UNTOUCHED;

	switch (err) {
	case EOPNOTSUPP:	/* connected, connecting or listening as TCP */
	case EISCONN:
	case EEXIST:		/* another protocol in the slot */
		return UNTOUCHED;
	case ENOENT:
	case ENOPROTOOPT:	/* a kernel without TCP_ULP */
		return is_fresh(fd) ? MISSING : UNTOUCHED;
	default:
		return is_fresh(fd) ? IMPOSSIBLE : UNTOUCHED;
	}
}

static void tell(enum outcome why)
{
	static const char missing[] =
		"libsdp_preload: SDP_PRELOAD=require, but the kernel module af_sdp is not loaded (modprobe af_sdp)\n";
	static const char impossible[] =
		"libsdp_preload: SDP_PRELOAD=require, but a socket of this program cannot be an SDP socket\n";
	const char *text = why == MISSING ? missing : impossible;
	ssize_t n;

	/* A daemon that closed its standard error may have a connection there. */
	if (atomic_flag_test_and_set(&told) || is_tcp(STDERR_FILENO))
		return;
	n = write(STDERR_FILENO, text, strlen(text));
	(void)n;
}

/* True if the function replaced may be called; else errno is @fail. */
static bool prepare(int fd, int fail)
{
	int err = errno;
	enum outcome out = attach(fd);

	if (out == MISSING || out == IMPOSSIBLE) {
		tell(out);
		errno = fail;
		return false;
	}
	errno = err;
	return true;
}

/* Whether @fd is bound to an address that only this host's own TCP reaches. */
static bool listens_locally(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len))
		return true;
	if (ss.ss_family == AF_INET) {
		struct sockaddr_in *sin = (struct sockaddr_in *)&ss;

		return sin->sin_addr.s_addr != INADDR_ANY &&
		       is_loopback4(sin->sin_addr.s_addr);
	}
	if (ss.ss_family == AF_INET6) {
		struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)&ss;

		return !IN6_IS_ADDR_UNSPECIFIED(&sin6->sin6_addr) &&
		       is_loopback6(&sin6->sin6_addr);
	}
	return true;
}

int preload_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	connect_fn real = real_connect();
	int err = errno;
	bool ours;

	if (mode() != MODE_OFF) {
		ours = is_remote(addr, len);
		errno = err;
		if (ours && !prepare(fd, ENETUNREACH))
			return -1;
	}
	if (!real)
		return syscall(SYS_connect, fd, addr, len);
	return real(fd, addr, len);
}

int preload_listen(int fd, int backlog)
{
	listen_fn real = real_listen();
	int err = errno;
	bool ours;

	if (mode() != MODE_OFF) {
		ours = !listens_locally(fd);
		errno = err;
		if (ours && !prepare(fd, EOPNOTSUPP))
			return -1;
	}
	if (!real)
		return syscall(SYS_listen, fd, backlog);
	return real(fd, backlog);
}
