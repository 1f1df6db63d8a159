// SPDX-License-Identifier: GPL-2.0
/*
 * A signal at each place where a call sleeps.  A handler without SA_RESTART
 * ends it with EINTR, or with what is done so far; with SA_RESTART it goes on,
 * but not if the socket has a time limit, nor in poll() and its like.
 *
 * accept() and recv() have their cases in listen.c and data.c.
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/sendfile.h>

#include "lib/variant.h"

/* -------------------------------------------------------------------- connect */

/*
 * A listener with a backlog of 1, and all that it has room for: two, and of
 * TCP's clients two more if it takes both kinds.
 */
static int full_listener_(union addr *a)
{
	int l = listener(a, 1), i;

	for (i = 0; i < 2; i++)
		OK(connect_to(sock(), a));
	if (!on_sdp())
		EVENTUALLY(2, waiting(l));
	for (i = 0; on_sdp() && variant->via == VIA_ULP && i < 2; i++)
		OK(connect_to(OK(socket(variant->family, SOCK_STREAM, 0)), a));
	return l;
}

/* Takes what comes until @c is connected: the other end of that. */
static int take_(int l, struct task *c)
{
	union addr name, peer;
	int s;

	for (;;) {
		await(l, POLLIN);
		s = OK(accept(l, NULL, NULL));
		if (peer_of(s, &peer) || name_of(c->fd, &name))
			continue;
		/* It may not know its address yet, but it does know its port. */
		if (addr_port(&name) == addr_port(&peer))
			return s;
	}
}

#define full_listener(a)	CALL(full_listener_(a))
#define take(l, c)		CALL(take_(l, c))

CASE(signal_connect)
{
	union addr a;
	int l = full_listener(&a), s;
	struct task t = { .run = task_connect, .fd = sock(), .addr = &a };

	expect_eintr(&t, SO_SNDTIMEO);
	start_and_signal(&t);
	still_waits(&t);
	s = take(l, &t);
	EQ(0, task_join(&t));
	must_be_sdp(t.fd);
	send_text(t.fd, "at last");
	recv_text(s, "at last");
}

/* Restarted while SDP tries, it waits for TCP's connection too. */
CASE_ON(signal_connect_falls_back, ON_TCP | ON_ULP)
{
	unsigned long long before = 0;
	union addr a;
	int l = full_listener(&a), s;
	struct task t = { .run = task_connect, .fd = sock(), .addr = &a };

	if (on_sdp()) {
		sysctl("cache_timeout", 0);
		sysctl("connect_timeout", ktap_ms(1000));
		before = counter("fallback");
	}
	catch(SA_RESTART);
	start_and_signal(&t);
	still_waits(&t);
	if (on_sdp()) {
		EQ(before, counter("fallback"));
		EVENTUALLY(before + 1, counter("fallback"));
		still_waits(&t);
		pthread_kill(t.thread, SIGUSR1);
		EVENTUALLY(2, signals);
		still_waits(&t);
	}
	s = take(l, &t);
	EQ(0, task_join(&t));
	EQ(-1, transport(t.fd));
	send_text(t.fd, "at last");
	recv_text(s, "at last");
}

/* Whose client @s is; the rest were there before. */
static int of_(int s, const int *c, int n)
{
	union addr name, peer;
	int i;

	if (peer_of(s, &peer))
		return -1;
	for (i = 0; i < n; i++)
		if (!name_of(c[i], &name) && addr_port(&name) == addr_port(&peer))
			return i;
	return -1;
}

/* Who sends or receives before there is a connection waits for it. */
CASE(signal_while_connecting)
{
	enum { SEND, RECV, SPLICE_TO, SPLICE_FROM, CALLS };
	static const char text[] = "at last";
	int c[CALLS], fds[2][2], l, i, s, n = 0;
	char got[CALLS][16] = { };
	struct task t[CALLS] = {
		[SEND] = { .run = task_send, .buf = (char *)text },
		[RECV] = { .run = task_recv, .buf = got[RECV] },
		[SPLICE_TO] = { .run = task_splice },
		[SPLICE_FROM] = { .run = task_splice },
	};
	union addr a;

	if (variant->via == VIA_ULP)
		sysctl("connect_timeout", ktap_ms(10000));
	l = full_listener(&a);
	OK(pipe(fds[0]));
	OK(pipe(fds[1]));
	EQ(7, write(fds[0][1], text, 7));
	for (i = 0; i < CALLS; i++) {
		c[i] = sock();
		nonblock(c[i], true);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
		nonblock(c[i], false);
		t[i].fd = i == SPLICE_TO ? fds[0][0] : c[i];
		t[i].other = i == SPLICE_TO ? c[i] : fds[1][1];
		t[i].len = 7;

		catch(0);
		start_and_signal(&t[i]);
		FAILS(EINTR, task_join(&t[i]));
		catch(SA_RESTART);
		OK(set_ms(c[i], SO_SNDTIMEO, 60000));
		OK(set_ms(c[i], SO_RCVTIMEO, 60000));
		start_and_signal(&t[i]);
		FAILS(EINTR, task_join(&t[i]));
		OK(set_ms(c[i], SO_SNDTIMEO, 0));
		OK(set_ms(c[i], SO_RCVTIMEO, 0));
		start_and_signal(&t[i]);
		still_waits(&t[i]);
	}
	while (n < CALLS) {
		s = accept_any(l);
		i = of_(s, c, CALLS);
		if (i < 0)
			continue;
		n++;
		must_be_sdp(s);
		if (i == RECV || i == SPLICE_FROM)
			send_text(s, text);
		EQ(7, task_join(&t[i]));
		if (i == SEND || i == SPLICE_TO)
			recv_text(s, text);
	}
	EQ(7, read(fds[1][0], got[SPLICE_FROM], 7));
	CHECK(!strcmp(got[RECV], text) && !strcmp(got[SPLICE_FROM], text));
}

/*
 * The same where SDP gives up while they wait, and TCP's handshake takes its time as
 * well: a signal before that and one behind it do what TCP has them do, and the call is
 * one.  Who has a time limit waits in a loop of ours behind it (sdp_sock_tcp_send() and
 * its like), the others in TCP's own call.
 */
CASE_LIMIT(signal_while_falling_back, ON_TCP | ON_ULP, 60)
{
	enum { SEND, RECV, SEND_LIMIT, RECV_LIMIT, SEND_ENDS, RECV_ENDS, POLL, CALLS };
	static const char text[] = "at last";
	unsigned long long before = 0;
	char got[CALLS][16] = { };
	struct task t[CALLS] = { };
	int c[CALLS], l, i, s, n;
	union addr a;

	if (on_sdp()) {
		sysctl("cache_timeout", 0);
		sysctl("connect_timeout", ktap_ms(5000));
		before = counter("fallback");
	}
	l = full_listener(&a);
	for (i = 0; i < CALLS; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
		nonblock(c[i], false);
		t[i] = (struct task){
			.run = i == POLL ? task_poll : i % 2 ? task_recv : task_send,
			.fd = c[i], .buf = i % 2 ? got[i] : (char *)text, .len = 7,
			.events = POLLOUT,
		};
		catch(0);
		start_and_signal(&t[i]);
		FAILS(EINTR, task_join(&t[i]));
		catch(SA_RESTART);
		if (i == SEND_LIMIT || i == RECV_LIMIT || i == POLL) {
			OK(set_ms(c[i], SO_SNDTIMEO, 600000));
			OK(set_ms(c[i], SO_RCVTIMEO, 600000));
			start_and_signal(&t[i]);
			FAILS(EINTR, task_join(&t[i]));
			task_start(&t[i]);
		} else {
			start_and_signal(&t[i]);
		}
		still_waits(&t[i]);
	}
	if (on_sdp()) {
		EQ(before, counter("fallback"));
		EVENTUALLY(before + CALLS, counter("fallback"));
	}
	for (i = 0; i < CALLS; i++) {
		still_waits(&t[i]);
		n = signals;
		catch(i == SEND_ENDS || i == RECV_ENDS ? 0 : SA_RESTART);
		pthread_kill(t[i].thread, SIGUSR1);
		EVENTUALLY(n + 1, signals);
		if (i == SEND || i == RECV) {
			still_waits(&t[i]);
			continue;
		}
		FAILS(EINTR, task_join(&t[i]));
		/* Nothing of it is left: it is asked for anew, of TCP alone. */
		task_start(&t[i]);
		still_waits(&t[i]);
	}
	for (n = 0; n < CALLS; ) {
		s = accept_any(l);
		i = of_(s, c, CALLS);
		if (i < 0)
			continue;
		n++;
		if (i % 2)
			send_text(s, text);
		if (i == POLL)
			EQ_HEX(POLLOUT, task_join(&t[i]));
		else
			EQ(7, task_join(&t[i]));
		if (i % 2)
			CHECK(!strcmp(got[i], text));
		else if (i != POLL)
			recv_text(s, text);
		EQ(-1, transport(c[i]));
		OK(shutdown(c[i], SHUT_WR));
		expect_eof(s);
	}
}

/* ----------------------------------------------------------------------- recv */

CASE(signal_recv_waitall)
{
	static char buf[1000];
	struct task t = {
		.run = task_recv, .buf = buf, .len = sizeof(buf), .flags = MSG_WAITALL,
	};
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	/* Nothing yet: started anew, and all of it is waited for. */
	catch(SA_RESTART);
	start_and_signal(&t);
	still_waits(&t);
	send_pattern(p.c, 1000, 5, 0);
	EQ(1000, task_join(&t));
	EQ(-1, pattern_check(buf, 1000, 5, 0));

	/* A part: that is what it returns, whatever the handler's flags. */
	send_pattern(p.c, 300, 5, 1000);
	arrived(p.s, 300);
	start_and_signal(&t);
	EQ(300, task_join(&t));
	EQ(-1, pattern_check(buf, 300, 5, 1000));

	OK(set_ms(p.s, SO_RCVTIMEO, 60000));
	send_pattern(p.c, 300, 5, 1300);
	arrived(p.s, 300);
	start_and_signal(&t);
	EQ(300, task_join(&t));
	EQ(-1, pattern_check(buf, 300, 5, 1300));
	start_and_signal(&t);
	FAILS(EINTR, task_join(&t));
	OK(set_ms(p.s, SO_RCVTIMEO, 0));

	/* Peeking takes nothing, interrupted or not. */
	catch(0);
	t.flags |= MSG_PEEK;
	send_pattern(p.c, 300, 5, 1600);
	arrived(p.s, 300);
	start_and_signal(&t);
	EQ(300, task_join(&t));
	EQ(-1, pattern_check(buf, 300, 5, 1600));
	EQ(300, inq(p.s));
	recv_pattern(p.s, 300, 5, 1600);
}

/* ----------------------------------------------------------------------- send */

CASE(signal_send)
{
	static char buf[4 << 20];
	struct task t = { .run = task_send, .buf = buf, .len = sizeof(buf) };
	struct task all = { .run = task_send, .len = 100000 };
	long long sum, n;
	struct pair p;

	all.buf = malloc(all.len);
	pattern_fill(all.buf, all.len, 7, 0);
	pattern_fill(buf, sizeof(buf), 5, 0);
	pair_open(&p);
	t.fd = p.c;
	all.fd = p.c;
	/* A part: so much, though it would be started anew. */
	catch(SA_RESTART);
	OK(set_int(p.c, SOL_SOCKET, SO_SNDBUF, 65536));
	start_and_signal(&t);
	n = task_join(&t);
	IN_RANGE(1, sizeof(buf) - 1, n);

	/* Nothing: EINTR, with a time limit in any case. */
	sum = fill(p.c, 6);
	nonblock(p.c, false);
	expect_eintr(&t, SO_SNDTIMEO);

	/* Nothing, and no limit: it goes on, and all of it is sent once. */
	start_and_signal(&all);
	still_waits(&all);
	recv_pattern(p.s, n, 5, 0);
	recv_pattern(p.s, sum, 6, 0);
	recv_pattern(p.s, all.len, 7, 0);
	EQ(all.len, task_join(&all));
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));
}

/* --------------------------------------------------------- poll and its like */

static void task_ppoll(struct task *t)
{
	struct pollfd p = { .fd = t->fd, .events = t->events };
	struct timespec ts = { .tv_sec = 600 };

	t->ret = ppoll(&p, 1, &ts, NULL);
	if (t->ret > 0)
		t->ret = p.revents;
}

static void task_select(struct task *t)
{
	fd_set r;

	FD_ZERO(&r);
	FD_SET(t->fd, &r);
	t->ret = select(t->fd + 1, &r, NULL, NULL, NULL);
	if (t->ret == 1 && FD_ISSET(t->fd, &r))
		t->ret = POLLIN;
}

static void task_epoll(struct task *t)
{
	struct epoll_event ev = { .events = t->events | t->flags };
	int ep = OK(epoll_create1(EPOLL_CLOEXEC));

	OK(epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &ev));
	t->ret = epoll_wait(ep, &ev, 1, -1);
	if (t->ret > 0)
		t->ret = ev.events;
	/* close() keeps errno if it succeeds. */
	close(ep);
}

CASE(signal_poll)
{
	static void (*const calls[])(struct task *t) = {
		task_poll, task_ppoll, task_select, task_epoll,
	};
	struct task t = { .events = POLLIN };
	unsigned int i, flags;
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		t.run = calls[i];
		for (flags = 0; flags < 2; flags++) {
			catch(flags ? SA_RESTART : 0);
			start_and_signal(&t);
			FAILS(EINTR, task_join(&t));
		}
		/* Nothing was lost by it. */
		task_start(&t);
		CHECK(!t.done);
		send_text(p.c, "x");
		EQ_HEX(POLLIN, task_join(&t));
		recv_text(p.s, "x");
	}
	t.flags = EPOLLET;
	start_and_signal(&t);
	FAILS(EINTR, task_join(&t));
}

/* ---------------------------------------------------------------------- close */

/* close() has its own way: the wait is over, what it closed is closed. */
CASE(signal_close_lingering)
{
	struct linger l = { .l_onoff = 1, .l_linger = 15 };
	struct task t = { .run = task_close };
	unsigned int flags;
	long long sum;
	struct pair p;

	for (flags = 0; flags < 2; flags++) {
		catch(flags ? SA_RESTART : 0);
		pair_open(&p);
		sum = fill(p.c, 5);
		nonblock(p.c, false);
		OK(setsockopt(p.c, SOL_SOCKET, SO_LINGER, &l, sizeof(l)));
		t.fd = p.c;
		start_and_signal(&t);
		EQ(0, task_join(&t));
		IN_RANGE(0, 14000, t.ms);
		FAILS(EBADF, close(p.c));
		EQ(sum, drain(p.s, 5, 0));
	}
}
BY_CLOCK(signal_close_lingering);

/* ------------------------------------------------------------ splice, sendfile */

CASE(signal_splice_from_socket)
{
	struct task t = { .run = task_splice, .len = 100 };
	char buf[16];
	struct pair p;
	int fds[2];

	pair_open(&p);
	OK(pipe(fds));
	t.fd = p.s;
	t.other = fds[1];
	expect_eintr(&t, SO_RCVTIMEO);
	start_and_signal(&t);
	still_waits(&t);
	send_text(p.c, "hello");
	EQ(5, task_join(&t));
	EQ(5, read(fds[0], buf, sizeof(buf)));
	CHECK(!memcmp(buf, "hello", 5));
}

/* What the pipe still has was not sent. */
CASE(signal_splice_to_socket)
{
	static char buf[1 << 20];
	struct task t = { .run = task_splice, .len = sizeof(buf) };
	long long sum, n;
	struct pair p;
	int fds[2];

	/* More than they take: TCP with room for a byte takes 64 KiB. */
	pair_open_bufs(&p, 1 << 17, 1 << 17);
	OK(pipe(fds));
	OK(fcntl(fds[1], F_SETPIPE_SZ, sizeof(buf)));
	pattern_fill(buf, sizeof(buf), 5, 0);
	EQ(sizeof(buf), write(fds[1], buf, sizeof(buf)));
	sum = fill(p.c, 6);
	nonblock(p.c, false);
	t.fd = fds[0];
	t.other = p.c;
	catch(0);
	start_and_signal(&t);
	n = task_join(&t);
	/* Room for a byte or two is not room for one who polls. */
	if (n < 0) {
		EQ(EINTR, errno);
		n = 0;
	}
	CHECK(n < (long long)sizeof(buf));
	catch(SA_RESTART);
	t.len = 30000;
	start_and_signal(&t);
	/* Restarted, unless there was room for a part. */
	wait_asleep(getpid(), t.tid);
	CHECK(!t.done || t.ret > 0);
	recv_pattern(p.s, sum, 6, 0);
	recv_pattern(p.s, n, 5, 0);
	sum = task_join(&t);
	IN_RANGE(1, t.len, sum);
	recv_pattern(p.s, sum, 5, n);
	FAILS(EAGAIN, recv(p.s, buf, 1, MSG_DONTWAIT));
}

static void task_sendfile(struct task *t)
{
	t->ret = sendfile(t->fd, t->other, t->buf, t->len);
}

/* The file's offset tells what was sent, to the byte. */
CASE(signal_sendfile)
{
	enum { LEN = 8 << 20 };
	off_t off = 0, was;
	struct task t = { .run = task_sendfile, .buf = &off, .len = LEN };
	struct task drain_task = { .run = task_drain };
	struct pair p;
	long long n;
	char *m;

	pair_open(&p);
	t.fd = p.c;
	t.other = OK(memfd_create("pattern", 0));
	OK(ftruncate(t.other, LEN));
	m = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, t.other, 0);
	CHECK(m != MAP_FAILED);
	pattern_fill(m, LEN, 1, 0);

	catch(SA_RESTART);
	start_and_signal(&t);
	n = task_join(&t);
	IN_RANGE(1, LEN - 1, n);
	EQ(n, off);
	/* Full by now. */
	catch(0);
	t.len = LEN - off;
	was = off;
	start_and_signal(&t);
	n = task_join(&t);
	if (n < 0) {
		EQ(EINTR, errno);
		EQ(was, off);
	} else {
		EQ(n, off - was);
	}
	drain_task.fd = p.s;
	task_start(&drain_task);
	while (off < LEN)
		CHECK(OK(sendfile(p.c, t.other, &off, LEN - off)) > 0);
	OK(shutdown(p.c, SHUT_WR));
	EQ(LEN, task_join(&drain_task));
}

/* ---------------------------------------------------------------------- storm */

static atomic_bool stop;

/* To each of four tasks, all the time. */
static void *kick(void *arg)
{
	const struct task *t = arg;
	int i;

	while (!stop) {
		for (i = 0; i < 4; i++)
			if (t[i].tid && !t[i].done)
				tgkill(getpid(), t[i].tid, SIGUSR1);
		usleep(100);
	}
	return NULL;
}

/* Each byte arrives once. */
CASE_LIMIT(signal_storm, ~0u, 60)
{
	enum { LEN = 4000000 };
	struct task t[4] = {
		{ .run = task_send_all, .len = LEN }, { .run = task_send_all, .len = LEN },
		{ .run = task_drain }, { .run = task_drain },
	};
	pthread_t kicker;
	struct pair p;
	int i;

	/* Small buffers: each call has to wait, many times. */
	pair_start(&p);
	OK(set_bufs(p.c, 16384));
	OK(set_bufs(p.l, 16384));
	pair_finish(&p);
	catch(SA_RESTART);
	EQ(0, pthread_create(&kicker, NULL, kick, t));
	for (i = 0; i < 4; i++) {
		t[i].fd = i & 1 ? p.s : p.c;
		task_start(&t[i]);
	}
	for (i = 0; i < 2; i++) {
		EQ(LEN, task_join(&t[i]));
		OK(shutdown(t[i].fd, SHUT_WR));
	}
	EQ(LEN, task_join(&t[2]));
	EQ(LEN, task_join(&t[3]));
	stop = true;
	EQ(0, pthread_join(kicker, NULL));
	ktap_note("%d signals", signals);
	CHECK(signals > 10);
}
