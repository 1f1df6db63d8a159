// SPDX-License-Identifier: GPL-2.0
/*
 * Each call on a socket in each state: above all while there is no queue pair below it
 * yet, or none any more.  It is made beside a socket of TCP's in the same state, and
 * both answer the same (lib/sweep.c has the calls, lib/compat.c what SDP answers
 * otherwise).
 */
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lib/compat.h"
#include "lib/sweep.h"
#include "lib/variant.h"

/* One of the variant, and one of TCP's, made by the same function. */
static int sweep_state_(int (*make)(void), enum sweep how)
{
	const struct variant tcp = { .via = VIA_TCP, .family = variant->family };
	const struct variant *const was = variant;
	int fd = make(), like;

	variant = &tcp;
	like = make();
	variant = was;
	sweep(fd, like, how);
	close(fd);
	close(like);
	return 0;
}

#define sweep_state(...) CALL(sweep_state_(__VA_ARGS__))

static const struct linger at_once = { .l_onoff = 1 };
static const union addr nowhere = { .sa.sa_family = AF_UNSPEC };

/* -------------------------------------------------------- without a connection */

static int fresh(void)
{
	return sock();
}

CASE(state_fresh)
{
	sweep_state(fresh, SWEEP_EQUAL);
}

static int bound(void)
{
	union addr a;
	int fd = sock();

	here(&a, 0);
	OK(bind_to(fd, &a));
	return fd;
}

CASE(state_bound)
{
	sweep_state(bound, SWEEP_EQUAL);
}

static int listening(void)
{
	union addr a;
	int fd = listener(&a, 4), c = sock();

	OK(connect_to(c, &a));
	must_be_sdp(c);
	await(fd, POLLIN);
	return fd;
}

CASE(state_listening)
{
	sweep_state(listening, SWEEP_EQUAL);
}

static int refused(void)
{
	int fd = sock_flags(SOCK_NONBLOCK);
	union addr a;

	closed_port(&a);
	FAILS(EINPROGRESS, connect_to(fd, &a));
	await_end(fd, POLLOUT);
	return fd;
}

CASE(state_refused)
{
	sweep_state(refused, SWEEP_EQUAL);
}

/* ------------------------------------------------------------------ connecting */

/* So long that the attempt is under way, whatever the machine has to do besides. */
static void for_long(void)
{
	sysctl("connect_timeout", 60000);
	sysctl("require_timeout", 60000);
}

/* The address is not resolved; by TCP, somebody is there who does not answer. */
static int resolving(void)
{
	int fd = sock_flags(SOCK_NONBLOCK);
	union addr a;

	if (on_sdp()) {
		nobody(&a);
	} else {
		listener(&a, 0);
		OK(connect_to(sock(), &a));
	}
	FAILS(EINPROGRESS, connect_to(fd, &a));
	return fd;
}

CASE(state_resolving)
{
	for_long();
	sweep_state(resolving, SWEEP_EQUAL);
}

/* It is resolved, there is a queue pair, and the peer has no place yet. */
static int asking(void)
{
	int fd = sock_flags(SOCK_NONBLOCK);
	struct sdp_info info = { };
	union addr a;

	listener(&a, 0);
	OK(connect_to(sock(), &a));
	FAILS(EINPROGRESS, connect_to(fd, &a));
	if (on_sdp())
		EVENTUALLY(true, sdp_info(fd, &info) > 0 && info.sdpi_qp_num);
	return fd;
}

CASE(state_asking)
{
	for_long();
	sweep_state(asking, SWEEP_EQUAL);
}

/* Given up, and the socket is as new. */
static int resolving_dissolved(void)
{
	int fd = resolving();

	OK(connect(fd, &nowhere.sa, sizeof(nowhere.in)));
	return fd;
}

CASE(state_resolving_dissolved)
{
	for_long();
	sweep_state(resolving_dissolved, SWEEP_EQUAL);
}

static int asking_shut(void)
{
	int fd = asking();

	OK(shutdown(fd, SHUT_RDWR));
	return fd;
}

CASE(state_asking_shut)
{
	for_long();
	sweep_state(asking_shut, SWEEP_EQUAL);
}

/* ------------------------------------------------------------------- connected */

static struct pair open_pair(void)
{
	struct pair p;

	pair_open(&p);
	return p;
}

static int connected(void)
{
	return open_pair().c;
}

CASE(state_connected)
{
	sweep_state(connected, SWEEP_EQUAL);
}

static int accepted(void)
{
	struct pair p = open_pair();

	send_text(p.c, "something to be read");
	arrived(p.s, 20);
	return p.s;
}

CASE(state_accepted)
{
	sweep_state(accepted, SWEEP_EQUAL);
}

static int peer_gone(void)
{
	struct pair p = open_pair();

	close(p.s);
	await(p.c, POLLIN);
	return p.c;
}

CASE(state_peer_gone)
{
	sweep_state(peer_gone, SWEEP_SENT);
}

/* Behind its last byte, which was not taken, it is over. */
static int peer_gone_unread(void)
{
	struct pair p = open_pair();

	send_text(p.s, "something to be read");
	arrived(p.c, 20);
	close(p.s);
	await(p.c, POLLRDHUP);
	return p.c;
}

CASE(state_peer_gone_unread)
{
	sweep_state(peer_gone_unread, SWEEP_SENT);
}

static int half_shut_by_peer(void)
{
	struct pair p = open_pair();

	OK(shutdown(p.s, SHUT_WR));
	await(p.c, POLLRDHUP);
	return p.c;
}

CASE(state_half_shut_by_peer)
{
	sweep_state(half_shut_by_peer, SWEEP_SENT);
}

static int shut(void)
{
	struct pair p = open_pair();

	pair_shut(&p);
	return p.c;
}

CASE(state_shut)
{
	sweep_state(shut, SWEEP_EQUAL);
}

static int half_shut(void)
{
	enum { FIN_WAIT2 = 5 };
	struct pair p = open_pair();

	OK(shutdown(p.c, SHUT_WR));
	expect_eof(p.s);
	EVENTUALLY(FIN_WAIT2, tcp_state(p.c));
	return p.c;
}

CASE(state_half_shut)
{
	sweep_state(half_shut, SWEEP_EQUAL);
}

static int reset(void)
{
	struct pair p = open_pair();

	OK(setsockopt(p.s, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	close(p.s);
	await_end(p.c, POLLIN);
	return p.c;
}

CASE(state_reset)
{
	sweep_state(reset, SWEEP_EQUAL);
}

static int dissolved(void)
{
	struct pair p = open_pair();

	OK(connect(p.c, &nowhere.sa, sizeof(nowhere.in)));
	return p.c;
}

CASE(state_dissolved)
{
	sweep_state(dissolved, SWEEP_EQUAL);
}

static int fallen_back(void)
{
	int fd = sock(), l;
	union addr a;

	l = tcp_listener(&a);
	if (on_ours())
		OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 1));
	OK(connect_to(fd, &a));
	OK(accept(l, NULL, NULL));
	EQ(-1, transport(fd));
	return fd;
}

CASE(state_fallen_back)
{
	sweep_state(fallen_back, SWEEP_EQUAL);
}

/* ------------------------------------------------------------ what is documented */

/* Each option that TCP has is one of docs/compatibility.md. */
CASE_ON(state_options, ON_TCP)
{
	EQ(0, sweep_unknown());
}

static void differs_no_more(const char *name, const char *what)
{
	ktap_note("%s answers as TCP in all states that were tried (%s): lib/compat.c says that it does not",
		  name, what);
}

/*
 * Nothing that is said there to differ has been seen to answer as TCP in each of the
 * states above, which this follows: run it with -t 'state_*'.
 */
CASE_ON(state_differences, ON_SDP)
{
	static const char *const what[] = { "value", "getsockopt()", "setsockopt()" };
	unsigned int n = variant_by_name(variant_name()), i, j;
	int wrong = 0;

	for (i = 0; i < compat_nr_options; i++) {
		const struct compat_option *row = &compat_options[i];

		if (row->level == (variant->family == AF_INET ? SOL_IPV6 : SOL_IP) ||
		    (row->differs & COMPAT_REQUIRED && variant->via == VIA_ULP))
			continue;
		for (j = 0; j < COMPAT_WHAT; j++) {
			if (!(row->differs & BIT(j)) || compat_has_seen_option(n, row, BIT(j)))
				continue;
			differs_no_more(row->name, what[j]);
			wrong++;
		}
	}
	for (i = 0; i < compat_nr_calls; i++) {
		if (compat_has_seen_call(n, &compat_calls[i]))
			continue;
		differs_no_more(compat_calls[i].call, "call");
		wrong++;
	}
	EQ(0, wrong);
}

/* ----------------------------------------------------- what was asked for early */

/*
 * What is set while the outcome is open counts when there is one, and is told to nobody
 * before.  Behind that no call is made that would have it told once more.
 */
CASE(state_asked_early)
{
	int l, c = sock_flags(SOCK_NONBLOCK), i;
	unsigned long long before;
	struct sdp_info info;
	union addr a;

	for_long();
	l = listener(&a, 0);
	OK(connect_to(sock(), &a));
	before = counter("keepalives");
	OK(set_int(c, SOL_SOCKET, SO_KEEPALIVE, 1));
	OK(set_int(c, SOL_TCP, TCP_KEEPIDLE, 1));
	OK(set_int(c, SOL_TCP, TCP_USER_TIMEOUT, 60000));
	FAILS(EINPROGRESS, connect_to(c, &a));
	if (on_sdp())
		EVENTUALLY(true, sdp_info(c, &info) > 0 && info.sdpi_qp_num);
	OK(set_int(c, SOL_SOCKET, SO_RCVLOWAT, 2));
	settle();
	for (i = 0; i < 2; i++)
		accept_one(l);
	if (on_sdp())
		EVENTUALLY(true, counter("keepalives") > before);
	EQ_HEX(POLLOUT, await(c, POLLOUT));
	must_be_sdp(c);
}

/* ----------------------------------------------------------------------- races */

enum { ROUNDS = 300 };

static int raced;
static atomic_bool over;

/* Whatever is there, or not, or not yet, or not any more. */
static void *looks_on(void *arg)
{
	struct sdp_info info;
	union addr a;
	int n = 0;

	while (!over) {
		poll_one(raced, POLLIN | POLLOUT | POLLPRI, 0);
		if (!arg)
			continue;
		set_int(raced, SOL_SOCKET, SO_RCVLOWAT, ++n % 3 + 1);
		set_int(raced, SOL_SOCKET, SO_KEEPALIVE, n & 1);
		set_int(raced, SOL_TCP, TCP_USER_TIMEOUT, 30000 + n % 5);
		set_int(raced, SOL_TCP, TCP_CORK, n & 1);
		tcp_state(raced);
		outq(raced);
		inq(raced);
		sdp_info(raced, &info);
		ip_info(raced, &info);
		peer_of(raced, &a);
		recv(raced, &info, 1, MSG_DONTWAIT | MSG_PEEK);
	}
	return NULL;
}

static void accept_all(int l)
{
	int s;

	while ((s = accept4(l, NULL, NULL, SOCK_CLOEXEC)) >= 0)
		close(s);
	EQ(EAGAIN, errno);
}

/*
 * One thread connects and dissolves, to who is there and who is not, with the connection
 * there by then or not; others poll, and set what is told to the connection.
 */
CASE_LIMIT(state_races, ~0u, 120)
{
	pthread_t polls, sets;
	union addr a, none;
	int l = listener(&a, 64), i;

	for_long();
	nonblock(l, true);
	nobody(&none);
	raced = sock_flags(SOCK_NONBLOCK);
	EQ(0, pthread_create(&polls, NULL, looks_on, NULL));
	EQ(0, pthread_create(&sets, NULL, looks_on, &over));
	for (i = 0; i < ROUNDS; i++) {
		int err;

		/* At once; after a moment; or when it is there. */
		err = connect_to(raced, i % 4 ? &a : &none);
		if (err && errno != EINPROGRESS)
			FAIL("connect: %s", ktap_errno(errno));
		if (i % 4 == 1)
			await(raced, POLLOUT);
		else if (i % 4 == 2)
			sched_yield();
		OK(connect(raced, &nowhere.sa, sizeof(nowhere.in)));
		accept_all(l);
	}
	over = true;
	EQ(0, pthread_join(polls, NULL));
	EQ(0, pthread_join(sets, NULL));
	/* It is good for another. */
	OK(set_int(raced, SOL_SOCKET, SO_RCVLOWAT, 1));
	OK(set_int(raced, SOL_TCP, TCP_CORK, 0));
	nonblock(raced, false);
	close(l);
	l = listener(&a, 4);
	OK(connect_to(raced, &a));
	must_be_sdp(raced);
	i = accept_one(l);
	send_text(raced, "after all");
	recv_text(i, "after all");
}
