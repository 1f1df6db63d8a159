// SPDX-License-Identifier: GPL-2.0
/* Who sends is told when he may go on, and what he sent is delivered. */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "lib/absent.h"
#include "lib/variant.h"

/* O_ASYNC: SIGIO says that there is room again. */
CASE(sigio_room)
{
	struct timespec limit = { .tv_sec = ktap_ms(5000) / 1000 };
	siginfo_t info;
	sigset_t set;
	long long sum;
	struct pair p;

	pair_open(&p);
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	OK(sigprocmask(SIG_BLOCK, &set, NULL));
	OK(fcntl(p.c, F_SETSIG, SIGRTMIN));
	OK(fcntl(p.c, F_SETOWN, getpid()));
	OK(fcntl(p.c, F_SETFL, O_NONBLOCK | O_ASYNC));
	sum = fill(p.c, 5);
	/* What came before, of the connection or of room while it was filled. */
	while (sigtimedwait(&set, &info, &(struct timespec){}) > 0)
		;
	FAILS(EAGAIN, send(p.c, "x", 1, 0));
	recv_pattern(p.s, sum, 5, 0);
	do {
		EQ(SIGRTMIN, sigtimedwait(&set, &info, &limit));
		EQ(p.c, info.si_fd);
	} while (!(info.si_band & POLLOUT));
	CHECK(send(p.c, "x", 1, 0) == 1);
	OK(sigprocmask(SIG_UNBLOCK, &set, NULL));
}

/* Without a moment between the two. */
static void task_connect_and_set(struct task *t)
{
	t->ret = connect(t->fd, &t->addr->sa, addr_len(t->addr));
	t->err = errno;
	setsockopt(t->fd, SOL_IP, IP_OPTIONS, t->buf, t->len);
	errno = t->err;
}

static int told(const sigset_t *set, int signal, int band)
{
	struct timespec limit = { .tv_sec = ktap_ms(5000) / 1000 };
	siginfo_t info;

	do {
		EQ(signal, sigtimedwait(set, &info, &limit));
	} while (band && !(info.si_band & band));
	return 0;
}

/*
 * What comes before the client knows itself to be connected has its signals too.  The
 * call that reads its argument under the socket's lock keeps it from knowing, and begins
 * while the server has no room for it.  With TCP it keeps it from all else, so that there
 * the server speaks afterwards.
 */
CASE(signals_before_connected)
{
	size_t page = sysconf(_SC_PAGESIZE);
	sigset_t urg, io, all;
	union addr a;
	int speaks;

	sigemptyset(&urg);
	sigaddset(&urg, SIGURG);
	sigemptyset(&io);
	sigaddset(&io, SIGRTMIN);
	all = urg;
	sigaddset(&all, SIGRTMIN);
	OK(sigprocmask(SIG_BLOCK, &all, NULL));
	for (speaks = 0; speaks < 2; speaks++) {
		struct task t = { .run = task_connect_and_set, .len = 8 };
		int l = listener(&a, 0), full = sock();
		int c = sock_flags(SOCK_NONBLOCK), s = -1, i;
		struct absent absent;

		absent_make(&absent, page);
		OK(fcntl(c, F_SETSIG, SIGRTMIN));
		OK(fcntl(c, F_SETOWN, getpid()));
		OK(fcntl(c, F_SETFL, O_NONBLOCK | O_ASYNC));
		t.fd = c;
		t.addr = &a;
		t.buf = absent.there;
		OK(connect_to(full, &a));
		task_start(&t);
		await(absent.fd, POLLIN);
		OK(accept_one(l));
		for (i = on_sdp() ? 0 : 1; i < 2; i++) {
			if (i)
				absent_give(&absent, 0, page);
			if (s >= 0)
				break;
			s = accept_one(l);
			if (speaks)
				CHECK(send(s, "X", 1, MSG_OOB) == 1);
			else
				close(s);
			settle();
		}
		if (speaks)
			CALL(told(&urg, SIGURG, 0));
		CALL(told(&io, SIGRTMIN, POLLIN));
		FAILS(EINPROGRESS, task_join(&t));
		must_be_sdp(c);
		OK(close(c));
		OK(close(l));
	}
}

/* More works than a queue of the kernel's runs at a time: 256, or 1024 since 6.15. */
static int locks_enough(void)
{
	return kernel_since(6, 15) ? 1100 : 300;
}

enum { LOCKS = 4400 };

static struct {
	union addr addr;		/* where nobody listens */
	struct absent absent;
	pthread_attr_t small;
	pthread_t thread[LOCKS];
	int fd[LOCKS];
	int n;
} locks;

/* Connects, and has the socket's lock from then on: its argument is not there. */
static void *connect_and_lock(void *arg)
{
	int *fd = arg;

	connect(*fd, &locks.addr.sa, addr_len(&locks.addr));
	setsockopt(*fd, SOL_IP, IP_OPTIONS, locks.absent.there, 8);
	return NULL;
}

static int locks_take(int n)
{
	int i;

	for (i = 0; i < n; i++, locks.n++) {
		CHECK(locks.n < LOCKS);
		locks.fd[locks.n] = sock_flags(SOCK_NONBLOCK);
		EQ(0, pthread_create(&locks.thread[locks.n], &locks.small,
				     connect_and_lock, &locks.fd[locks.n]));
	}
	while (n--)
		absent_missed(&locks.absent);
	return 0;
}

/*
 * Who keeps the locks of many sockets, whose connections come to nothing meanwhile,
 * keeps nobody else from connecting, nor from falling back.  His own hear of it when
 * he gives the locks back.
 */
CASE_LIMIT(connect_beside_locks, BIT(TCP_V4) | BIT(PROTO_V4) | BIT(ULP_V4), 60)
{
	struct rlimit files = { 2 * LOCKS, 2 * LOCKS };
	size_t page = sysconf(_SC_PAGESIZE);
	int i, before = count("connect_fail"), missing = locks_enough();
	struct pair p;

	OK(setrlimit(RLIMIT_NOFILE, &files));
	OK(pthread_attr_init(&locks.small));
	OK(pthread_attr_setstacksize(&locks.small, 256 * 1024));
	/* Each asks for himself. */
	if (on_sdp())
		sysctl("cache_timeout", 0);
	closed_port(&locks.addr);
	absent_make(&locks.absent, page);
	/* Who was told before he had the lock is none of those. */
	do {
		CALL(locks_take(missing));
		missing = locks_enough() - locks.n +
			  count("connect_fail") - before;
	} while (missing > 0);
	settle();
	pair_open(&p);
	must_be_sdp(p.c);
	send_text(p.c, "not kept");
	recv_text(p.s, "not kept");
	if (variant->via != VIA_PROTO) {
		union addr a;
		int l = tcp_listener(&a), c = sock();

		OK(connect_to(c, &a));
		OK(accept_any(l));
		send_text(c, "nor this");
	}
	absent_give(&locks.absent, 0, page);
	for (i = 0; i < locks.n; i++)
		EQ(0, pthread_join(locks.thread[i], NULL));
	for (i = 0; i < locks.n; i++) {
		await_end(locks.fd[i], POLLOUT);
		EQ(ECONNREFUSED, get_int(locks.fd[i], SOL_SOCKET, SO_ERROR));
	}
}

static void task_set_ip_options(struct task *t)
{
	t->ret = setsockopt(t->fd, SOL_IP, IP_OPTIONS, t->buf, t->len);
}

static void task_listen(struct task *t)
{
	t->ret = listen(t->fd, 4);
}

/*
 * One thread listens, and another has given the socket to TCP just before: by connect()
 * with an option that SDP does not keep, to where no way leads.  They wait in this order
 * for the third, which has the socket.  It listens by TCP, and no listener of ours is
 * left of it.
 */
CASE(listen_while_it_is_left)
{
	bool v4 = variant->family == AF_INET;
	size_t page = sysconf(_SC_PAGESIZE);
	int before = OK(sockets_shown(1u << 31)), fd = sock();
	struct task holds = { .run = task_set_ip_options, .fd = fd, .len = 8 };
	struct task leaves = { .run = task_connect, .fd = fd };
	struct task listens = { .run = task_listen, .fd = fd };
	struct absent absent;
	union addr a;

	addr_set(&a, variant->family, v4 ? "192.0.2.1" : "2001:db8::1", 9);
	OK(set_int(fd, SOL_TCP, TCP_FASTOPEN_CONNECT, 1));
	absent_make(&absent, page);
	holds.buf = absent.there;
	leaves.addr = &a;
	task_start(&holds);
	await(absent.fd, POLLIN);
	task_start(&leaves);
	task_start(&listens);
	absent_give(&absent, 0, page);
	task_join(&holds);
	FAILS(ENETUNREACH, task_join(&leaves));
	OK(task_join(&listens));
	OK(close(fd));
	EQ(before, OK(sockets_shown(1u << 31)));
}

/*
 * Memory runs out while a send() is in the middle of its bytes: what went before
 * asked for no completion, as more was to follow.  It goes on all the same.
 */
CASE_ON(memory_over_in_a_send, ON_SDP)
{
	size_t page = sysconf(_SC_PAGESIZE), len = 16 * page;
	struct task t = { .run = task_send, .len = len };
	struct absent a;
	struct pair p;

	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	absent_make(&a, len);
	t.fd = p.c;
	t.buf = a.there;
	task_start(&t);
	await(a.fd, POLLIN);
	absent_give(&a, 0, page);
	/* The first message is on its way when the second page is missed. */
	await(a.fd, POLLIN);
	sysctl("mem_max", 0);
	absent_give(&a, page, len - page);
	recv_pattern(p.s, len, 1, 0);
	EQ(len, task_join(&t));
}

/*
 * A send() that failed in its middle leaves nothing that TCP_USER_TIMEOUT is for.
 * Its good part is what one message of a fresh connection holds, as the last that
 * had something behind it.
 */
CASE(user_timeout_after_a_bad_send)
{
	size_t len = 4096 - 16;
	char *bytes = malloc(len);
	struct iovec iov[2] = {
		{ .iov_base = bytes, .iov_len = len },
		{ .iov_base = (void *)8, .iov_len = len },
	};
	struct pair p;
	ssize_t n;

	pair_open(&p);
	pattern_fill(bytes, len, 1, 0);
	OK(set_int(p.c, SOL_TCP, TCP_USER_TIMEOUT, ktap_ms(400)));
	n = writev(p.c, iov, 2);
	if (on_sdp())
		EQ(len, n);
	else if (n < 0)		/* TCP takes nothing of what it cannot have all of */
		EQ(EFAULT, errno);
	if (n > 0)
		recv_pattern(p.s, n, 1, 0);
	sleep_ms(ktap_ms(1200));
	EQ(0, get_int(p.c, SOL_SOCKET, SO_ERROR));
	send_text(p.c, "still there");
	recv_text(p.s, "still there");
}
BY_CLOCK(user_timeout_after_a_bad_send);

/*
 * What was sent before close() is delivered for as long as the peer takes it:
 * the time of FIN_WAIT_2 is for a peer that has all and does not close.
 */
CASE_LIMIT(closed_and_read_slowly, BIT(TCP_V4) | BIT(PROTO_V4) | BIT(ULP_V6), 60)
{
	enum { PIECE = 16384 };
	long long sum, pos, n;
	struct pair p;

	if (on_sdp())
		sysctl("fin_timeout", ktap_ms(500) + 1500);
	pair_open_bufs(&p, 65536, 32768);
	sum = fill(p.c, 5);
	close(p.c);
	for (pos = 0; pos < sum; pos += n) {
		n = sum - pos < PIECE ? sum - pos : PIECE;
		recv_pattern(p.s, n, 5, pos);
		sleep_ms(ktap_ms(100) + 300);
	}
	/* Longer than the time without progress, by far. */
	IN_RANGE(8 * PIECE, 50 * PIECE, sum);
	expect_eof(p.s);
}
BY_CLOCK(closed_and_read_slowly);
