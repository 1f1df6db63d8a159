// SPDX-License-Identifier: GPL-2.0
/*
 * What libsdp_preload.so does to a program, seen from inside one: run it by
 * sdp_run, with SDP_PRELOAD unset, off and require, with the module and without
 * it; the cases know what to expect in each.  Where rules have the same effect,
 * SDP_EXPECT says which of the three it is.  Sockets here are plain TCP sockets,
 * as in any program.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "lib/sdptest.h"

static int family;
static bool off, require, module;
/* Whether connections are to go by SDP, and those inside this host are joined. */
static bool sdp, joins;

static bool host_joins(void)
{
	int fd = open("/proc/sys/net/sdp/local", O_RDONLY);
	char c = 0;

	if (fd >= 0) {
		EQ(1, read(fd, &c, 1));
		close(fd);
	}
	return c == '1';
}

static void choose(unsigned int n)
{
	const char *mode = getenv("SDP_EXPECT") ?: getenv("SDP_PRELOAD");
	int fd;

	family = n ? AF_INET6 : AF_INET;
	off = mode && !strcmp(mode, "off");
	require = mode && !strcmp(mode, "require");
	fd = socket(AF_INET, SOCK_STREAM, IPPROTO_SDP);
	module = fd >= 0;
	close(fd);
	sdp = module && !off;
	joins = sdp && host_joins();
	if (require && !module) {
		/* One message a process is tested by the script, not here. */
		dup2(OK(open("/dev/null", O_WRONLY)), STDERR_FILENO);
	}
}

static int tcp(int flags)
{
	return OK(socket(family, SOCK_STREAM | flags, 0));
}

static int to(int fd, const union addr *a)
{
	return connect(fd, &a->sa, addr_len(a));
}

static void bound(int fd, union addr *a, const char *ip)
{
	addr_set(a, family, ip ?: host_addr(family, NULL), 0);
	OK(bind(fd, &a->sa, addr_len(a)));
	OK(name_of(fd, a));
}

static bool attached(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name);

	OK(getsockopt(fd, SOL_TCP, TCP_ULP, name, &len));
	return len && !strcmp(name, SDP_ULP_NAME);
}

/* A listener that the library has not seen. */
static int raw_listener(union addr *a)
{
	int l = tcp(0);

	bound(l, a, NULL);
	OK(syscall(SYS_listen, l, 8));
	return l;
}

static int listener(union addr *a)
{
	int l = tcp(0);

	bound(l, a, NULL);
	OK(listen(l, 8));
	return l;
}

static int accept_one(int l)
{
	await(l, POLLIN);
	return OK(accept(l, NULL, NULL));
}

static void talk(int c, int s)
{
	send_text(c, "there");
	recv_text(s, "there");
	send_pattern(s, 60000, 1, 0);
	recv_pattern(c, 60000, 1, 0);
	close(c);
	expect_eof(s);
	close(s);
}

CASE(library_is_there)
{
	Dl_info info = { };

	CHECK(dladdr(dlsym(RTLD_DEFAULT, "connect"), &info));
	if (!strstr(info.dli_fname, "libsdp_preload.so"))
		FAIL("connect() is %s's: run this test by sdp_run", info.dli_fname);
	CHECK(dladdr(dlsym(RTLD_DEFAULT, "listen"), &info));
	CHECK(strstr(info.dli_fname, "libsdp_preload.so"));
	/* and nothing else of it */
	CHECK(!dlsym(RTLD_DEFAULT, "preload_init"));
}

CASE(connection)
{
	union addr a;
	int l, c, s;

	if (require && !module)
		return;
	l = listener(&a);
	EQ(sdp, attached(l));
	c = tcp(0);
	EQ(0, attached(c));
	OK(to(c, &a));
	s = accept_one(l);
	EQ(sdp, attached(c));
	EQ(sdp, attached(s));
	if (sdp) {
		CHECK(is_sdp(c));
		CHECK(is_sdp(s));
	}
	FAILS(EISCONN, to(c, &a));
	FAILS(EISCONN, to(s, &a));
	FAILS(EINVAL, listen(c, 1));
	OK(listen(l, 4));
	talk(c, s);
}

static int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = -3;	/* ".", ".." and the directory itself */

	CHECK(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static ino_t inode(int fd)
{
	struct stat st;

	OK(fstat(fd, &st));
	return st.st_ino;
}

/* The program's own sockets, and none beside them, whatever becomes of a call. */
CASE(no_other_socket)
{
	int before = descriptors(), l = tcp(0), c = tcp(0), s;
	ino_t of_l = inode(l), of_c = inode(c);
	union addr a;

	EQ(before + 2, descriptors());
	bound(l, &a, NULL);
	EQ(-1, to(c, &a));
	EQ(before + 2, descriptors());
	EQ(require && !module ? -1 : 0, listen(l, 8));
	EQ(before + 2, descriptors());
	EQ(require && !module ? -1 : 0, to(c, &a));
	EQ(before + 2, descriptors());
	EQ(of_l, inode(l));
	EQ(of_c, inode(c));
	if (require && !module)
		return;
	s = accept_one(l);
	talk(c, s);
	close(l);
	EQ(before, descriptors());
}

CASE(connection_nonblocking)
{
	union addr a;
	int l, c, s;

	if (require && !module)
		return;
	l = listener(&a);
	c = tcp(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, to(c, &a));
	await(c, POLLOUT);
	EQ(0, to(c, &a));
	FAILS(EISCONN, to(c, &a));
	s = accept_one(l);
	EQ(sdp, attached(c));
	nonblock(c, false);
	talk(c, s);
}

/* The peer is plain TCP. */
CASE(peer_without_sdp)
{
	int l, c, s;
	union addr a;

	if (require && !module)
		return;
	l = raw_listener(&a);
	c = tcp(0);
	if (require) {
		FAILS(ECONNREFUSED, to(c, &a));
		return;
	}
	OK(to(c, &a));
	s = accept_one(l);
	EQ(0, attached(c));
	talk(c, s);
}

/* What io_uring says of one send of a few bytes without a copy. */
static int send_zc(int fd, const char *text)
{
	struct io_uring_params p = { };
	int ring = OK(syscall(__NR_io_uring_setup, 1, &p));
	size_t size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
	const int both = PROT_READ | PROT_WRITE;
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	char *at;

	at = mmap(NULL, size, both, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	sqe = mmap(NULL, sizeof(*sqe), both, MAP_SHARED, ring, IORING_OFF_SQES);
	CHECK(at != MAP_FAILED && (void *)sqe != MAP_FAILED);
	*sqe = (struct io_uring_sqe) {
		.opcode = IORING_OP_SEND_ZC, .fd = fd, .addr = (uintptr_t)text,
		.len = strlen(text),
	};
	*(unsigned int *)(at + p.sq_off.array) = 0;
	__atomic_store_n((unsigned int *)(at + p.sq_off.tail), 1, __ATOMIC_RELEASE);
	EQ(1, syscall(__NR_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	cqe = (void *)(at + p.cq_off.cqes);
	return cqe->res;
}

/* A kernel that does not know of it (before 6.0) says so of any socket. */
static bool kernel_sends_zc(void)
{
	int both[2], n;

	OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both));
	n = send_zc(both[0], "x");
	close(both[0]);
	close(both[1]);
	return n != -EINVAL;
}

/* A second connect(), which collects the first one's end, takes nothing from it. */
CASE(peer_without_sdp_zero_copy)
{
	int l, c, s;
	union addr a;

	if (require)
		return;
	l = raw_listener(&a);
	c = tcp(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, to(c, &a));
	await(c, POLLOUT);
	OK(to(c, &a));
	FAILS(EISCONN, to(c, &a));
	s = accept_one(l);
	if (!kernel_sends_zc())
		ktap_skip("this kernel has no SEND_ZC");
	EQ(5, send_zc(c, "there"));
	recv_text(s, "there");
}

CASE(client_without_sdp)
{
	int l, c, s;
	union addr a;
	char x;

	if (require && !module)
		return;
	l = listener(&a);
	nonblock(l, true);
	c = tcp(0);
	if (require) {
		/* The listener is for SDP only. */
		if (!syscall(SYS_connect, c, &a.sa, addr_len(&a))) {
			nonblock(c, true);
			EVENTUALLY(ECONNRESET, (accept(l, NULL, NULL),
						recv(c, &x, 1, 0) < 0 ? errno : 0));
		}
		return;
	}
	OK(syscall(SYS_connect, c, &a.sa, addr_len(&a)));
	s = accept_one(l);
	EQ(0, attached(s));
	nonblock(s, false);
	talk(c, s);
}

CASE(refused)
{
	union addr a;
	int c = tcp(0);

	if (require && !module)
		return;
	bound(tcp(0), &a, NULL);
	FAILS(ECONNREFUSED, to(c, &a));
	FAILS(ECONNREFUSED, to(c, &a));
	c = tcp(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, to(c, &a));
	await(c, POLLERR);
	FAILS(ECONNREFUSED, to(c, &a));
}

/* require: no TCP in silence. */
CASE(required_but_missing)
{
	union addr a;
	int l, c;

	if (!require || module)
		return;
	raw_listener(&a);
	FAILS(ENETUNREACH, to(tcp(0), &a));
	FAILS(ENETUNREACH, to(tcp(SOCK_NONBLOCK), &a));
	l = tcp(0);
	bound(l, &a, NULL);
	FAILS(EOPNOTSUPP, listen(l, 1));
	/* What is connected is left alone. */
	l = raw_listener(&a);
	c = tcp(0);
	OK(syscall(SYS_connect, c, &a.sa, addr_len(&a)));
	FAILS(EISCONN, to(c, &a));
}

CASE(errno_survives)
{
	union addr a;
	int l, c;

	if (require && !module)
		return;
	l = tcp(0);
	bound(l, &a, NULL);
	errno = 4711;
	CHECK(!listen(l, 4) && errno == 4711);
	c = tcp(0);
	errno = 4711;
	CHECK(!to(c, &a) && errno == 4711);
	/* also where it has nothing to do, or its own calls fail */
	c = OK(socket(AF_INET, SOCK_DGRAM, 0));
	addr_set(&a, AF_INET, host_addr(AF_INET, NULL), 9);
	errno = 4711;
	CHECK(!to(c, &a) && errno == 4711);
}

/* Errors are the system call's own. */
CASE(errors)
{
	union addr a = { };
	int pipes[2], c = tcp(0);

	addr_set(&a, family, host_addr(family, NULL), 9);
	OK(pipe(pipes));
	FAILS(EBADF, to(-1, &a));
	FAILS(ENOTSOCK, to(pipes[0], &a));
	FAILS(EBADF, listen(-1, 1));
	FAILS(ENOTSOCK, listen(pipes[0], 1));
	FAILS(EFAULT, connect(c, NULL, sizeof(a.in6)));
	FAILS(EFAULT, connect(c, (void *)8, sizeof(a.in6)));
	FAILS(EINVAL, connect(c, &a.sa, 0));
	FAILS(EINVAL, connect(c, &a.sa, 1));
	FAILS(EINVAL, connect(c, &a.sa, 8));
	FAILS(EINVAL, connect(c, &a.sa, -1));
	FAILS(EINVAL, connect(c, NULL, 0));
	EQ(0, attached(c));
	a.sa.sa_family = AF_UNSPEC;
	OK(connect(c, &a.sa, sizeof(a.in)));
	EQ(0, attached(c));
	FAILS(EOPNOTSUPP, listen(OK(socket(AF_INET, SOCK_DGRAM, 0)), 1));
}

/* The last bytes of a page: an address need not be as long as it could be. */
CASE(address_at_the_end_of_memory)
{
	size_t page = getpagesize(), len;
	union addr a;
	char *m;
	int l;

	if (require && !module)
		return;
	m = aligned_alloc(page, 2 * page);
	/* an unreadable page behind it */
	CHECK(!syscall(SYS_mprotect, m + page, page, 0));
	l = listener(&a);
	len = family == AF_INET ? sizeof(a.in) : offsetof(struct sockaddr_in6, sin6_scope_id);
	memcpy(m + page - len, &a, len);
	OK(connect(tcp(0), (struct sockaddr *)(m + page - len), len));
	accept_one(l);
	CHECK(!syscall(SYS_mprotect, m + page, page, 3));
}

/* Any part of an address that lies in two pages may not be there. */
CASE(address_in_two_pages)
{
	size_t page = getpagesize(), len, before, gone;
	union addr a;
	char *m, *at;
	int l, c;

	if (require && !module)
		return;
	l = listener(&a);
	len = addr_len(&a);
	for (before = 1; before < len; before++) {
		m = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			 -1, 0);
		CHECK(m != MAP_FAILED);
		at = m + page - before;
		memcpy(at, &a, len);
		c = tcp(0);
		OK(connect(c, (struct sockaddr *)at, len));
		EQ(sdp, attached(c));
		close(accept_one(l));
		close(c);
		/* User-Mode Linux itself reads what is mapped, be it PROT_NONE. */
		gone = before % 2 * page;
		munmap(m + gone, page);
		c = tcp(0);
		FAILS(EFAULT, connect(c, (struct sockaddr *)at, len));
		close(c);
		munmap(m + page - gone, page);
	}
}

static const char *loopback_ip(void)
{
	return family == AF_INET ? "127.0.0.1" : "::1";
}

/* A connection to @a, where @l listens: joined, or TCP's. */
static int joined_or_tcp_(int l, const union addr *a)
{
	unsigned long long before = joins ? counter("local_joins") : 0;
	int c = tcp(0), s;

	OK(to(c, a));
	s = accept_one(l);
	EQ(joins, attached(c));
	EQ(joins, attached(s));
	if (joins) {
		EQ(before + 1, counter("local_joins"));
		EQ(SDP_TRANSPORT_LOCAL, transport(c));
	}
	talk(c, s);
	return 0;
}

#define joined_or_tcp(...) CALL(joined_or_tcp_(__VA_ARGS__))

/*
 * As other addresses, where sockets inside this host are joined; where they are not, TCP's
 * by "require" too.
 */
CASE(loopback)
{
	int l = tcp(0), l4;
	union addr a;

	bound(l, &a, loopback_ip());
	OK(listen(l, 4));
	EQ(sdp, attached(l));
	joined_or_tcp(l, &a);
	/* Nobody listens there. */
	if (family == AF_INET) {
		addr_set(&a, family, "127.77.0.1", addr_port(&a));
		EQ(-1, to(tcp(0), &a));
	} else {
		l4 = OK(socket(AF_INET, SOCK_STREAM, 0));
		addr_set(&a, AF_INET, "127.0.0.1", 0);
		OK(bind(l4, &a.sa, sizeof(a.in)));
		OK(listen(l4, 4));
		OK(name_of(l4, &a));
		addr_set(&a, AF_INET6, "::ffff:127.0.0.1", addr_port(&a));
		joined_or_tcp(l4, &a);
	}
	if (require && !module)
		return;
	/* 0.0.0.0 and :: as destinations are the loopback. */
	l = tcp(0);
	addr_any(&a, family, 0);
	OK(bind(l, &a.sa, addr_len(&a)));
	OK(listen(l, 4));
	OK(name_of(l, &a));
	if (joins || !require)
		joined_or_tcp(l, &a);
}

CASE(loopback_server_is_plain)
{
	int l = tcp(0), c = tcp(0), s;
	union addr a;

	bound(l, &a, loopback_ip());
	OK(syscall(SYS_listen, l, 4));
	if (require && joins) {
		EQ(-1, to(c, &a));
		return;
	}
	OK(to(c, &a));
	s = accept_one(l);
	EQ(0, attached(c));
	talk(c, s);
}

CASE(loopback_client_is_plain)
{
	int l = tcp(0), c = tcp(0), s;
	union addr a;
	char x;

	bound(l, &a, loopback_ip());
	OK(listen(l, 4));
	nonblock(l, true);
	OK(syscall(SYS_connect, c, &a.sa, addr_len(&a)));
	if (require && joins) {
		nonblock(c, true);
		EVENTUALLY(ECONNRESET, (accept(l, NULL, NULL),
					recv(c, &x, 1, 0) < 0 ? errno : 0));
		return;
	}
	s = accept_one(l);
	EQ(0, attached(s));
	nonblock(s, false);
	talk(c, s);
}

CASE(wildcard_listener)
{
	int l = tcp(0), c, s;
	union addr a;

	if (require && !module)
		return;
	OK(listen(l, 4));	/* unbound */
	EQ(sdp, attached(l));
	OK(name_of(l, &a));
	addr_set(&a, family, host_addr(family, NULL), addr_port(&a));
	c = tcp(0);
	OK(to(c, &a));
	s = accept_one(l);
	EQ(sdp, attached(s));
	talk(c, s);
}

CASE(connecting_is_left_alone)
{
	int c = tcp(SOCK_NONBLOCK);
	union addr a;

	nobody_addr(&a, family);
	FAILS(EINPROGRESS, syscall(SYS_connect, c, &a.sa, addr_len(&a)));
	FAILS(EALREADY, to(c, &a));
	EQ(0, attached(c));
}

CASE(others_are_left_alone)
{
	struct sockaddr_un un = { .sun_family = AF_UNIX, .sun_path = "\0sdp-preload-test" };
	int u = OK(socket(AF_UNIX, SOCK_STREAM, 0)), c = OK(socket(AF_UNIX, SOCK_STREAM, 0));
	union addr a;
	int fd;

	OK(bind(u, (struct sockaddr *)&un, sizeof(un)));
	OK(listen(u, 1));
	OK(connect(c, (struct sockaddr *)&un, sizeof(un)));
	addr_set(&a, family, host_addr(family, NULL), 9);
	/* Also when it is known by one that is TCP that the module is not there. */
	EQ(-1, to(tcp(0), &a));
	fd = OK(socket(family, SOCK_DGRAM, 0));
	OK(to(fd, &a));
	OK(to(fd, &a));
	OK(send(fd, "x", 1, 0));
	fd = OK(socket(family, SOCK_DGRAM, 0));
	bound(fd, &a, NULL);
	OK(to(fd, &a));
	addr_set(&a, family, host_addr(family, NULL), 9);
	fd = socket(family, SOCK_STREAM, 262);	/* IPPROTO_MPTCP */
	if (fd >= 0) {
		FAILS(ECONNREFUSED, to(fd, &a));
		FAILS(ECONNREFUSED, to(fd, &a));
		bound(fd = OK(socket(family, SOCK_STREAM, 262)), &a, NULL);
		addr_set(&a, family, host_addr(family, NULL), 9);
		FAILS(ECONNREFUSED, to(fd, &a));
	}
}

static int to_port_9(int fd)
{
	union addr a;

	addr_set(&a, family, host_addr(family, NULL), 9);
	return to(fd, &a);
}

/* A client that has bound itself before is as one that has not. */
CASE(bound_client)
{
	union addr a, mine;
	int l, c, s;

	if (require && !module) {
		bound(c = tcp(0), &mine, NULL);
		FAILS(ENETUNREACH, to_port_9(c));
		return;
	}
	l = listener(&a);
	bound(c = tcp(0), &mine, NULL);
	OK(to(c, &a));
	EQ(sdp, attached(c));
	s = accept_one(l);
	talk(c, s);
}

CASE(child_of_vfork)
{
	static atomic_int ret = -2;
	union addr a;
	int l, c;
	pid_t pid;

	if (require && !module)
		return;
	l = listener(&a);
	c = tcp(0);
	pid = vfork();
	if (!pid) {
		ret = to(c, &a);
		_exit(0);
	}
	CHILD_OK(pid);
	EQ(0, ret);
	talk(c, accept_one(l));
}

static atomic_int handler_ret = -2;
static union addr handler_addr;
static int handler_fd;

static void connect_in_handler(int sig)
{
	int err = errno;

	(void)sig;
	handler_ret = to(handler_fd, &handler_addr);
	errno = err;
}

CASE(in_a_signal_handler)
{
	int l;

	if (require && !module)
		return;
	l = listener(&handler_addr);
	handler_fd = tcp(0);
	signal(SIGUSR1, connect_in_handler);
	raise(SIGUSR1);
	EQ(0, handler_ret);
	talk(handler_fd, accept_one(l));
}

static void *run_connect(void *arg)
{
	const union addr *a = arg;
	int i, fd;

	for (i = 0; i < 20; i++) {
		fd = tcp(0);
		OK(to(fd, a));
		send_text(fd, "x");
		recv_text(fd, "y");
		close(fd);
	}
	return NULL;
}

CASE(threads)
{
	pthread_t t[4];
	union addr a;
	int l, i, s;

	if (require && !module)
		return;
	l = listener(&a);
	for (i = 0; i < 4; i++)
		EQ(0, pthread_create(&t[i], NULL, run_connect, &a));
	for (i = 0; i < 80; i++) {
		s = accept_one(l);
		recv_text(s, "x");
		send_text(s, "y");
		expect_eof(s);
		close(s);
	}
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "ipv4", "ipv6" };

	return ktap_main(argc, argv, names, ARRAY_SIZE(names), choose);
}
