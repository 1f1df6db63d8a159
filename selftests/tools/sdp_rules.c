// SPDX-License-Identifier: GPL-2.0
/*
 * A program for the rules of sdp.conf(5) to decide on; rules.sh runs it under
 * copies of its name.
 *
 *   sdp_rules connect ADDRESS PORT
 *	Prints how the connection goes as seen from here and as the server sees
 *	it ("sdp sdp", "tcp tcp"), or the error.
 *   sdp_rules serve ADDRESS PORT [ADDRESS PORT]...
 *	Prints for each how it listens or the error, then "ready"; tells each
 *	client how it came, until killed.
 *   sdp_rules again ADDRESS PORT PORT
 *	connect() to the first port, which fails, and with the same socket to the
 *	second.
 *   sdp_rules often ADDRESS PORT COUNT
 *	COUNT connections, by a socket each, which fail: prints the errors, each
 *	once if they come in a row.
 *   sdp_rules cancelled ADDRESS PORT COUNT
 *	COUNT threads that are to end call listen(), where no thread ends, and COUNT
 *	call connect(): how many listen(), how many returned from connect(), and how
 *	many descriptors more there are then.
 *
 * The library must not allocate in connect() and listen(): malloc() and its kin
 * are counted, and a call that used them prints "allocates".  With SDP_DATA the
 * program closes its standard error first and opens this file instead.  Host names that
 * begin with "connecting." are looked up by a connection to $SDP_LOOKUP, which
 * is an ADDRESS PORT: the program says "lookup:" and how that went.  The time
 * is that of SDP_CLOCK, in seconds, if it is set, and stands still; with SDP_TICK it
 * goes on by so many seconds from one of "often" to the next.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "lib/sdptest.h"

static unsigned int allocations, ticks;
static const char *lookup;

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);

void *malloc(size_t n)
{
	allocations++;
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	allocations++;
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
	allocations++;
	return __libc_realloc(p, n);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	const char *now = getenv("SDP_CLOCK"), *tick = getenv("SDP_TICK");

	if (!now)
		return syscall(SYS_clock_gettime, clock, ts);
	*ts = (struct timespec){ .tv_sec = atoll(now) + (tick ? ticks * atoll(tick) : 0) };
	return 0;
}

static void die(const char *what)
{
	printf("%s: %s\n", what, ktap_errno(errno));
	exit(1);
}

static const char *kind(int fd)
{
	char name[16] = "";
	socklen_t len = sizeof(name) - 1;

	if (getsockopt(fd, SOL_TCP, TCP_ULP, name, &len))
		die("TCP_ULP");
	return strcmp(name, SDP_ULP_NAME) ? "tcp" : "sdp";
}

static void set_addr(union addr *a, const char *text, const char *port)
{
	addr_set(a, strchr(text, ':') ? AF_INET6 : AF_INET, text, atoi(port));
}

static int tcp_socket(const union addr *a)
{
	int fd = socket(a->sa.sa_family, SOCK_STREAM, 0);

	if (fd < 0)
		die("socket");
	return fd;
}

int getaddrinfo(const char *restrict node, const char *restrict service,
		const struct addrinfo *restrict hints,
		struct addrinfo **restrict list)
{
	__typeof__(&getaddrinfo) next = dlsym(RTLD_NEXT, "getaddrinfo");
	char text[100], *port;
	union addr a;
	int fd;

	if (strncmp(node, "connecting.", 11))
		return next(node, service, hints, list);
	snprintf(text, sizeof(text), "%s", getenv("SDP_LOOKUP"));
	port = strchr(text, ' ');
	*port++ = '\0';
	set_addr(&a, text, port);
	fd = tcp_socket(&a);
	lookup = connect(fd, &a.sa, addr_len(&a)) ? "failed" : kind(fd);
	close(fd);
	return next(text, service, hints, list);
}

/* True if all is well; an error is printed. */
static bool try_connect(int fd, const union addr *a)
{
	unsigned int before = allocations;
	int ret = connect(fd, &a->sa, addr_len(a));

	if (allocations != before)
		printf("allocates ");
	if (ret)
		printf("%s", ktap_errno(errno));
	return !ret;
}

static void report(int fd)
{
	char seen[16] = "";
	ssize_t n = recv(fd, seen, sizeof(seen) - 1, 0);

	if (n < 0)
		printf("%s", ktap_errno(errno));
	else
		printf("%s %s", kind(fd), n ? seen : "end");
}

static void run_connect(char **args)
{
	union addr a;
	int fd;

	set_addr(&a, args[0], args[1]);
	fd = tcp_socket(&a);
	if (lookup)
		printf("lookup:%s ", lookup);
	if (try_connect(fd, &a))
		report(fd);
	puts("");
}

static void run_again(char **args)
{
	union addr a;
	int fd;

	set_addr(&a, args[0], args[1]);
	fd = tcp_socket(&a);
	if (try_connect(fd, &a))
		printf("connected");
	printf(" ");
	set_addr(&a, args[0], args[2]);
	if (try_connect(fd, &a))
		report(fd);
	puts("");
}

static void run_often(char **args)
{
	int fd, err, last = 0, count = atoi(args[2]);
	union addr a;

	set_addr(&a, args[0], args[1]);
	for (; count--; ticks++) {
		fd = tcp_socket(&a);
		err = connect(fd, &a.sa, addr_len(&a)) ? errno : 0;
		if (err != last)
			printf("%s%s", last ? " " : "", ktap_errno(err));
		last = err;
		close(fd);
	}
	puts("");
}

/* A thread that is to end where it first may. */
struct ending {
	pthread_t thread;
	const union addr *peer;		/* NULL: it listens */
	int fd;
	bool returned;
};

static void *end_there(void *arg)
{
	struct ending *e = arg;

	pthread_cancel(pthread_self());
	if (e->peer)
		connect(e->fd, &e->peer->sa, addr_len(e->peer));
	else
		listen(e->fd, 1);
	e->returned = true;
	return NULL;
}

static int end_threads(const union addr *a, const union addr *peer, int count)
{
	struct ending *all = calloc(count, sizeof(*all));
	int i, returned = 0;

	if (!all)
		die("calloc");
	for (i = 0; i < count; i++) {
		all[i].peer = peer;
		all[i].fd = tcp_socket(a);
		if (pthread_create(&all[i].thread, NULL, end_there, &all[i]))
			die("pthread_create");
		pthread_join(all[i].thread, NULL);
		returned += all[i].returned;
		close(all[i].fd);
	}
	free(all);
	return returned;
}

static int descriptors(void)
{
	int fd, n = 0;

	for (fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void run_cancelled(char **args)
{
	int count = atoi(args[2]), before = descriptors(), listened, connected;
	union addr a;

	set_addr(&a, args[0], args[1]);
	listened = end_threads(&a, NULL, count);
	connected = end_threads(&a, &a, count);
	printf("%d %d %d\n", listened, connected, descriptors() - before);
}

static void serve(char **args, int count)
{
	struct pollfd *p = calloc(count, sizeof(*p));
	unsigned int before;
	union addr a;
	int i, fd, one = 1, ret;

	if (!p)
		die("calloc");
	for (i = 0; i < count; i++) {
		set_addr(&a, args[2 * i], args[2 * i + 1]);
		fd = tcp_socket(&a);
		if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) ||
		    bind(fd, &a.sa, addr_len(&a)))
			die("bind");
		/* accept() would wait for a client that the module resets. */
		nonblock(fd, true);
		before = allocations;
		ret = listen(fd, 8);
		if (allocations != before)
			printf("allocates ");
		printf("%s\n", ret ? ktap_errno(errno) : kind(fd));
		p[i] = (struct pollfd){ .fd = ret ? -1 : fd, .events = POLLIN };
	}
	puts("ready");
	fflush(stdout);
	while (poll(p, count, -1) >= 0) {
		for (i = 0; i < count; i++) {
			if (!p[i].revents)
				continue;
			fd = accept(p[i].fd, NULL, NULL);
			if (fd < 0)
				continue;
			send(fd, kind(fd), 3, MSG_NOSIGNAL);
			close(fd);
		}
	}
	die("poll");
}

int main(int argc, char **argv)
{
	const char *data = getenv("SDP_DATA");

	if (data) {
		close(STDERR_FILENO);
		if (open(data, O_WRONLY | O_CREAT, 0600) != STDERR_FILENO)
			die("open");
	}
	if (argc == 4 && !strcmp(argv[1], "connect"))
		run_connect(argv + 2);
	else if (argc == 5 && !strcmp(argv[1], "again"))
		run_again(argv + 2);
	else if (argc == 5 && !strcmp(argv[1], "often"))
		run_often(argv + 2);
	else if (argc == 5 && !strcmp(argv[1], "cancelled"))
		run_cancelled(argv + 2);
	else if (argc >= 4 && !(argc % 2) && !strcmp(argv[1], "serve"))
		serve(argv + 2, argc / 2 - 1);
	else
		return 2;
	return 0;
}
