// SPDX-License-Identifier: GPL-2.0
/*
 * Two hosts, and an attempt over SDP that nobody answers: whoever waits on the socket
 * meanwhile, in whatever way, sees what a slow TCP connection would show him, and
 * never that there were two attempts.
 *
 * TCP, beside it, meets no trouble, so it is faster; what is seen is the same.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "cm.h"

#define ON_SOME	(BIT(TCP_V4) | BIT(ULP_V4) | BIT(ULP_V6))

enum { ATTEMPT = 1000 };	/* ms over SDP */

/* The address of the server; nothing that this host asks of a CM gets there. */
static pid_t unheard_(union addr *a)
{
	pid_t pid;

	server_addr(a);
	if (on_sdp()) {
		sysctl("connect_timeout", ATTEMPT);
		sysctl("cache_timeout", 0);
	}
	pid = trouble(CM_REQ, LOST);
	meet("unheard");
	return pid;
}

#define unheard(a) CALL(unheard_(a))

/* The attempt is under way, and no more than that. */
static void trying(const char *counter_name, unsigned long long was)
{
	if (!on_sdp())
		return;
	sleep_ms(ATTEMPT / 4);
	EQ(was, counter(counter_name));
}

static unsigned long long fallbacks(void)
{
	return on_sdp() ? counter("fallback") : 0;
}

/* ------------------------------------------------------------ one writable event */

#define EDGE (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

static unsigned int next_event(int ep, int ms)
{
	struct epoll_event ev;

	return OK(epoll_wait(ep, &ev, 1, ms)) ? ev.events : 0;
}

/* A socket that is watched from before connect() on. */
static int watched_attempt_(const union addr *a, int *ep)
{
	struct epoll_event ev = { .events = EDGE };
	int c = sock_flags(SOCK_NONBLOCK);

	*ep = OK(epoll_create1(EPOLL_CLOEXEC));
	OK(epoll_ctl(*ep, EPOLL_CTL_ADD, c, &ev));
	EQ_HEX(EPOLLOUT | EPOLLHUP, next_event(*ep, 0));
	FAILS(EINPROGRESS, connect_to(c, a));
	return c;
}

#define watched_attempt(a, ep) CALL(watched_attempt_(a, ep))

PAIR_CASE_ON(falling_back_watched, ON_SOME)

static void falling_back_watched_client(void)
{
	unsigned long long was = fallbacks();
	struct ktap_watch since;
	union addr a;
	pid_t pid = unheard(&a);
	int c, ep;

	since = ktap_watch();
	c = watched_attempt(&a, &ep);
	if (on_sdp()) {
		FAILS(EALREADY, connect_to(c, &a));
		EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
		EQ_HEX(0, next_event(ep, ATTEMPT / 4));
		EQ(was, counter("fallback"));
	}
	EQ_HEX(EPOLLOUT, next_event(ep, ktap_ms(10000)));
	/* The attempt has its time, and TCP begins then. */
	WAITED(on_sdp() ? ATTEMPT : 0, on_sdp() * ATTEMPT + ktap_ms(500), since);
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(-1, transport(c));
	EQ_HEX(0, next_event(ep, 300));
	send_text(c, "hello");
	meet("asked");
	EQ_HEX(EPOLLIN | EPOLLOUT, next_event(ep, ktap_ms(10000)));
	nonblock(c, false);
	recv_text(c, "welcome");
	CHILD_OK(pid);
	meet("done");
}

/* One connection comes, says hello, and no other does. */
static void welcome_one(void)
{
	int l = serve_port(8), s;

	meet("unheard");
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	EQ(-1, transport(s));
	recv_text(s, "hello");
	meet("asked");
	send_text(s, "welcome");
	EQ_HEX(0, poll_one(l, POLLIN, 2 * ATTEMPT));
	meet("done");
}

static void falling_back_watched_server(void)
{
	welcome_one();
}

/* Nobody listens to TCP either: one event, one error. */
PAIR_CASE_ON(falling_back_in_vain, ON_SOME)

static void falling_back_in_vain_client(void)
{
	unsigned long long was = fallbacks();
	union addr a;
	pid_t pid = unheard(&a);
	int c, ep;

	c = watched_attempt(&a, &ep);
	EQ_HEX(EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLERR | EPOLLHUP,
	       next_event(ep, ktap_ms(10000)));
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
	EQ_HEX(0, next_event(ep, 300));
	if (on_sdp())
		EQ(was + 1, counter("fallback"));
	CHILD_OK(pid);
	meet("done");
}

static void falling_back_in_vain_server(void)
{
	int reserve = sock();
	union addr a;

	/* Bound, and not listening. */
	here(&a, 0);
	OK(bind_to(reserve, &a));
	OK(name_of(reserve, &a));
	tell_number(addr_port(&a));
	meet("unheard");
	meet("done");
}

/* ------------------------------------------------------------------- who waits */

/* In connect(), poll(), send() and recv() at once, each in a thread. */
PAIR_CASE_ON(falling_back_awaited, ON_SOME)

static void falling_back_awaited_client(void)
{
	unsigned long long was = fallbacks();
	static char buf[16];
	union addr a;
	pid_t pid = unheard(&a);
	int c = sock_flags(SOCK_NONBLOCK);
	struct task polls = { .run = task_poll, .fd = c, .events = POLLOUT };
	struct task sends = { .run = task_send, .fd = c, .buf = "hello", .len = 5 };
	struct task recvs = { .run = task_recv, .fd = c, .buf = buf, .len = sizeof(buf) };
	struct task connects = { .run = task_connect, .fd = c, .addr = &a };

	FAILS(EINPROGRESS, connect_to(c, &a));
	nonblock(c, false);
	task_start(&polls);
	task_start(&sends);
	task_start(&recvs);
	/* TCP may be done by now: a second call is told so. */
	task_start(&connects);
	trying("fallback", was);
	if (on_sdp())
		CHECK(!polls.done && !sends.done && !recvs.done && !connects.done);
	task_join(&polls);
	EQ_HEX(POLLOUT, polls.ret);
	EQ(5, task_join(&sends));
	if (task_join(&connects))
		EQ(EISCONN, connects.err);
	meet("asked");
	EQ(7, task_join(&recvs));
	EQ(0, memcmp(buf, "welcome", 7));
	EQ(-1, transport(c));
	CHILD_OK(pid);
	meet("done");
}

static void falling_back_awaited_server(void)
{
	welcome_one();
}

static void ignore(int sig)
{
	(void)sig;
}

/* A signal ends the call and not the attempt, which falls back alone. */
PAIR_CASE_ON(falling_back_interrupted, ON_SOME)

static void falling_back_interrupted_client(void)
{
	struct sigaction sa = { .sa_handler = ignore };
	unsigned long long was = fallbacks();
	union addr a;
	pid_t pid = unheard(&a);
	struct task t = { .run = task_connect, .fd = sock(), .addr = &a };

	OK(sigaction(SIGUSR1, &sa, NULL));
	task_start(&t);
	trying("fallback", was);
	if (on_sdp())
		CHECK(!t.done);
	pthread_kill(t.thread, SIGUSR1);
	if (on_sdp()) {
		FAILS(EINTR, task_join(&t));
		EQ_HEX(0, poll_one(t.fd, POLLOUT, 0));
	} else {
		EQ(0, task_join(&t));
	}
	EQ_HEX(POLLOUT, await(t.fd, POLLOUT));
	EQ(0, get_int(t.fd, SOL_SOCKET, SO_ERROR));
	EQ(-1, transport(t.fd));
	send_text(t.fd, "hello");
	meet("asked");
	recv_text(t.fd, "welcome");
	CHILD_OK(pid);
	meet("done");
}

static void falling_back_interrupted_server(void)
{
	welcome_one();
}

/* ------------------------------------------------------------ what is remembered */

enum {
	ONCE	= 1500,		/* ms that silence is held against a host at first, */
	AGAIN	= 4 * ONCE,	/* and the second time */
	MOST	= 64 * ONCE,	/* and at most, which is cache_timeout */
};

/* Why a new connection went by TCP, in one word of sdpstat; NULL: by SDP. */
static const char *went_(const union addr *a)
{
	static const char *const why[] = {
		"fallback_timeout", "fallback_cached", "fallback_no_route",
	};
	unsigned long long was[ARRAY_SIZE(why)];
	const char *found = NULL;
	int c = sock();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(why); i++)
		was[i] = counter(why[i]);
	OK(connect_to(c, a));
	for (i = 0; i < ARRAY_SIZE(why); i++)
		if (counter(why[i]) > was[i])
			found = why[i];
	if (found)
		EQ(-1, transport(c));
	else
		CHECK(is_sdp(c));
	close(c);
	return found;
}

/* It went so; @word: NULL or one of those. */
static int goes_(const union addr *a, const char *word)
{
	const char *was = CALL(went_(a));

	if (!word != !was || (was && strcmp(was, word)))
		FAIL("expected %s, got %s", word ?: "SDP", was ?: "SDP");
	return 0;
}

#define goes(a, word) CALL(goes_(a, word))

static bool forgotten(const union addr *a)
{
	const char *known = peer_known(a, 0);

	return known && !strcmp(known, "unknown timeout");
}

/*
 * Silence is the host's, not the port's, and may be an accident: held against it for
 * a 64th of cache_timeout, then for four times as long, until it answers.
 */
PAIR_CASE_LIMIT(silence_remembered, ON_ULP, 90)

static void silence_remembered_client(void)
{
	struct ktap_watch since;
	union addr a, other;
	pid_t pid;

	server_addr(&a);
	server_addr(&other);
	sysctl("connect_timeout", ktap_ms(10000));
	sysctl("cache_timeout", ktap_ms(MOST));
	goes(&a, NULL);
	sysctl("connect_timeout", ktap_ms(ATTEMPT / 5));
	pid = trouble_for(CM_REQ, LOST, ktap_ms(2 * ATTEMPT / 5 + ONCE + 2 * ONCE));
	meet("unheard");
	/* It took SDP, which is the port's. */
	peer_is(&a, 0, NULL);
	peer_is(&a, addr_port(&a), "sdp none");
	since = ktap_watch();
	goes(&a, "fallback_timeout");
	peer_is(&a, 0, "tcp timeout");
	peer_is(&a, addr_port(&a), "tcp timeout");
	goes(&other, "fallback_cached");
	peer_is(&other, addr_port(&other), NULL);
	EVENTUALLY(true, forgotten(&a));
	WAITED(ktap_ms(ATTEMPT / 5 + ONCE), ktap_ms(ATTEMPT / 5 + AGAIN), since);
	peer_is(&a, addr_port(&a), "unknown timeout");
	/* Once more, by the other port: it is the host that is known. */
	goes(&other, "fallback_timeout");
	sleep_ms(ktap_ms(2 * ONCE));
	goes(&a, "fallback_cached");
	CHILD_OK(pid);
	/* It would answer now, but who would know? */
	goes(&a, "fallback_cached");
	EVENTUALLY(true, forgotten(&a));
	sysctl("connect_timeout", ktap_ms(10000));
	goes(&a, NULL);
	peer_is(&a, 0, NULL);
	peer_is(&a, addr_port(&a), "sdp none");
	meet("done");
}

static void silence_remembered_server(void)
{
	int l = serve_port(16), other = serve_port(16), i;

	meet("unheard");
	for (i = 0; i < 5; i++) {
		await(l, POLLIN);
		close(OK(accept(l, NULL, NULL)));
	}
	for (i = 0; i < 2; i++) {
		await(other, POLLIN);
		close(OK(accept(other, NULL, NULL)));
	}
	meet("done");
}

/*
 * That nothing leads to a host is all its ports' too, and may be an accident as well: one
 * question for its address is all that connect_timeout leaves time for.
 */
PAIR_CASE_ON(no_route_remembered, ON_ULP)

static void no_route_remembered_client(void)
{
	unsigned long long no_route = counter("fallback_no_route");
	unsigned long long cached = counter("fallback_cached");
	int c = sock_flags(SOCK_NONBLOCK), again = sock_flags(SOCK_NONBLOCK);
	union addr a, other;

	nobody(&a);
	other = a;
	addr_set_port(&other, addr_port(&a) + 1);
	sysctl("connect_timeout", ATTEMPT / 5);
	sysctl("cache_timeout", ktap_ms(MOST));
	FAILS(EINPROGRESS, connect_to(c, &a));
	EVENTUALLY(no_route + 1, counter("fallback_no_route"));
	peer_is(&a, 0, "tcp no_route");
	peer_is(&a, addr_port(&a), "tcp no_route");
	FAILS(EINPROGRESS, connect_to(again, &other));
	EQ(cached + 1, counter("fallback_cached"));
	EVENTUALLY(0, strcmp(peer_known(&a, 0) ?: "", "unknown no_route"));
	close(again);
	again = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(again, &other));
	EVENTUALLY(no_route + 2, counter("fallback_no_route"));
	sleep_ms(ktap_ms(2 * ONCE));
	peer_is(&a, 0, "tcp no_route");
	meet("done");
}

static void no_route_remembered_server(void)
{
	meet("done");
}

/*
 * A socket that is bound to a device leaves by that or not at all, even where the device
 * has no address of its own and takes another's.
 */
PAIR_CASE_ON(bound_to_another_device, BIT(TCP_V4) | BIT(PROTO_V4) | BIT(ULP_V4))

static void bound_to_another_device_client(void)
{
	unsigned long long no_device = counter("fallback_no_device");
	int c = sock();
	union addr a;

	server_addr(&a);
	EQ(0, system("ip link del sdp-else 2>/dev/null; "
		     "ip link add sdp-else type dummy && ip link set sdp-else up"));
	OK(setsockopt(c, SOL_SOCKET, SO_BINDTODEVICE, "sdp-else", 8));
	OK(set_ms(c, SO_SNDTIMEO, ktap_ms(1000)));
	CHECK(connect_to(c, &a) < 0);
	if (variant->via == VIA_ULP)
		EVENTUALLY(no_device + 1, counter("fallback_no_device"));
	EQ(0, system("ip link del sdp-else"));
	meet("done");
}

static void bound_to_another_device_server(void)
{
	int l = serve_port(16);

	meet("done");
	EQ_HEX(0, poll_one(l, POLLIN, 0));
}

/* ------------------------------------------------------------- time-outs of a call */

/*
 * A call has one time-out, whatever it waits for in it: SDP, TCP's handshake, room,
 * data.  It is longer than the attempt, and two of them would be longer than both.
 */
enum {
	CALL_ATTEMPT	= 3000,
	CALL_MS		= CALL_ATTEMPT + 200,
	CALL_MOST	= CALL_ATTEMPT + CALL_MS - 100,
};

/*
 * Nobody has the address: neither SDP nor TCP gets an answer in that time, which is not so
 * long that the neighbour is given up.
 */
PAIR_CASE_ON(falling_back_sndtimeo, ON_SOME)

static void falling_back_sndtimeo_client(void)
{
	struct ktap_watch since;
	union addr a;
	int c = sock();

	if (on_sdp()) {
		sysctl("connect_timeout", ATTEMPT);
		sysctl("cache_timeout", 0);
	}
	nobody(&a);
	OK(set_ms(c, SO_SNDTIMEO, ATTEMPT + 200));
	since = ktap_watch();
	FAILS(EINPROGRESS, connect_to(c, &a));
	WAITED(ATTEMPT + 200, ATTEMPT + ATTEMPT + 100, since);
	/* It has not ended by that. */
	EQ_HEX(0, poll_one(c, POLLOUT, 0));
	EQ(-1, transport(c));
	meet("done");
}

static void falling_back_sndtimeo_server(void)
{
	meet("done");
}

/* TCP is there when SDP was not, and then nothing comes, or nobody reads. */
PAIR_CASE_ON(falling_back_timeouts, ON_SOME)

/* An attempt that nobody has waited for yet. */
static int begun_(const union addr *a)
{
	int c = sock_flags(SOCK_NONBLOCK);

	FAILS(EINPROGRESS, connect_to(c, a));
	nonblock(c, false);
	OK(set_ms(c, SO_SNDTIMEO, CALL_MS));
	OK(set_ms(c, SO_RCVTIMEO, CALL_MS));
	return c;
}

#define begun(a) CALL(begun_(a))

static void falling_back_timeouts_client(void)
{
	enum { LEN = 64 << 20 };
	struct task sends = { .run = task_send, .buf = pattern(LEN, 0), .len = LEN };
	char buf[16];
	struct task all = { .run = task_recv, .buf = buf, .len = 8, .flags = MSG_WAITALL };
	struct ktap_watch since;
	union addr a, first;
	pid_t pid;
	int c;

	server_addr(&a);
	server_addr(&first);
	if (on_sdp()) {
		sysctl("connect_timeout", CALL_ATTEMPT);
		sysctl("cache_timeout", 0);
	}
	pid = trouble_for(CM_REQ, LOST, CALL_ATTEMPT + CALL_MS);
	meet("unheard");
	c = begun(&a);
	since = ktap_watch();
	sends.fd = begun(&a);
	task_start(&sends);
	all.fd = begun(&first);
	task_start(&all);
	FAILS(EAGAIN, recv(c, buf, sizeof(buf), 0));
	WAITED(CALL_MS, CALL_MOST, since);
	/* The same again, by TCP alone. */
	since = ktap_watch();
	FAILS(EAGAIN, recv(c, buf, sizeof(buf), 0));
	WAITED(CALL_MS, CALL_MOST, since);
	EQ(-1, transport(c));
	/* What there was room for, and what had come. */
	IN_RANGE(1, LEN - 1, task_join(&sends));
	IN_RANGE(CALL_MS - 50, CALL_MOST, sends.ms);
	EQ(5, task_join(&all));
	EQ(0, memcmp(buf, "first", 5));
	IN_RANGE(CALL_MS - 50, CALL_MOST, all.ms);
	CHILD_OK(pid);
	meet("full");
	tell_number(sends.ret);
	meet("done");
}

static void falling_back_timeouts_server(void)
{
	int l = serve_port(8), first = serve_port(8), s[2], i;

	meet("unheard");
	await(first, POLLIN);
	send_text(OK(accept(first, NULL, NULL)), "first");
	for (i = 0; i < 2; i++) {
		await(l, POLLIN);
		s[i] = OK(accept(l, NULL, NULL));
		EQ(-1, transport(s[i]));
	}
	meet("full");
	/* Of the two that are alike one has sent. */
	recv_pattern(s[!poll_one(s[0], POLLIN, 0)], hear_number(), 1, 0);
	meet("done");
}

/* By SDP, which takes its time. */
PAIR_CASE_ON(connecting_timeouts, BIT(PROTO_V4) | ON_SOME)

static void connecting_timeouts_client(void)
{
	struct ktap_watch since;
	char x;
	union addr a;
	int c;

	server_addr(&a);
	sysctl("connect_timeout", ktap_ms(10000));
	meet("late");
	c = begun(&a);
	since = ktap_watch();
	FAILS(EAGAIN, recv(c, &x, 1, 0));
	WAITED(CALL_MS, CALL_MS + HOW_LATE - 100, since);
	await(c, POLLOUT);
	must_be_sdp(c);
	meet("done");
}

static void connecting_timeouts_server(void)
{
	int l = serve_port(8);
	pid_t pid = trouble_for(CM_REP, LATE, CALL_MS);

	meet("late");
	accept_one(l);
	CHILD_OK(pid);
	meet("done");
}

/* ------------------------------------------------------------- closed meanwhile */

/* Closed while SDP is tried: TCP is not, and nothing is left. */
PAIR_CASE_ON(falling_back_and_closed, ON_SOME)

static void falling_back_and_closed_client(void)
{
	unsigned long long was = fallbacks();
	union addr a;
	pid_t pid = unheard(&a);
	int c, i;

	for (i = 0; i < 8; i++) {
		c = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c, &a));
		sleep_ms(i * ATTEMPT / 20);
		/* One that is closed before the answer leaves nothing to accept. */
		if (!on_sdp())
			await(c, POLLOUT);
		OK(close(c));
	}
	meet("closed");
	CHILD_OK(pid);
	if (on_sdp()) {
		EQ(was, counter("fallback"));
		EVENTUALLY(0, counter("conns"));
	}
	meet("done");
}

static void falling_back_and_closed_server(void)
{
	int l = serve_port(8), i;

	meet("unheard");
	meet("closed");
	/* TCP's were established. */
	for (i = 0; !on_sdp() && i < 8; i++) {
		await(l, POLLIN);
		expect_eof(OK(accept(l, NULL, NULL)));
	}
	EQ_HEX(0, poll_one(l, POLLIN, 2 * ATTEMPT));
	meet("done");
}

/* Closed in the moment in which TCP takes over: it is there, or it is not. */
PAIR_CASE_LIMIT(falling_back_then_closed, ON_SOME, 60)

enum { MOMENTS = 16 };

static void falling_back_then_closed_client(void)
{
	union addr a;
	pid_t pid = unheard(&a);
	int c, i;

	if (on_sdp())
		sysctl("connect_timeout", 100);
	for (i = 0; i < MOMENTS; i++) {
		c = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c, &a));
		usleep(95000 + 1000 * i);
		if (!on_sdp())
			await(c, POLLOUT);
		OK(close(c));
	}
	meet("closed");
	CHILD_OK(pid);
	if (on_sdp())
		EVENTUALLY(0, counter("conns"));
	meet("done");
}

static void falling_back_then_closed_server(void)
{
	int l = serve_port(MOMENTS), n = 0;

	meet("unheard");
	meet("closed");
	/* Each that was established has its end, none more than there were. */
	while (poll_one(l, POLLIN, ATTEMPT)) {
		expect_eof(OK(accept(l, NULL, NULL)));
		n++;
	}
	if (!on_sdp())
		EQ(MOMENTS, n);
	CHECK(n <= MOMENTS);
	meet("done");
}
