// SPDX-License-Identifier: GPL-2.0
/*
 * Two hosts, and a client who opens connections as fast as he can to a server
 * who has something to do besides: others get in all the same.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/pair.h"

enum {
	BACKLOG		= 8,
	AT_A_TIME	= 200,
	SECONDS		= 4,
	CLIENTS		= 40,		/* of whom each gets in, */
	AT_ONCE		= 1000,		/* and half so soon */
	/*
	 * Who finds no room asks again, by SDP after 10 ms, then after twice as long
	 * each time up to a second: 21 times until then, and of a thousand the
	 * slowest needed eight.  TCP does after 1, 2, 4 and 8 s.
	 */
	PATIENCE	= 16000,
	/*
	 * What is known of a destination where users have left all as it is: a full
	 * backlog is held against it for 1 s, then for 4 and 16 s.
	 */
	KNOWN		= 60000,
	BACK		= 20000,
};

/* Opens them all, closes each when it is decided or late, and begins anew. */
static void flood_from_here(const union addr *a)
{
	struct linger abort = { .l_onoff = 1 };
	int fd[AT_A_TIME], i;
	struct pollfd p;

	for (;;) {
		for (i = 0; i < AT_A_TIME; i++) {
			fd[i] = sock_flags(SOCK_NONBLOCK);
			setsockopt(fd[i], SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
			FAILS(EINPROGRESS, connect_to(fd[i], a));
		}
		for (i = 0; i < AT_A_TIME; i++) {
			p = (struct pollfd){ .fd = fd[i], .events = POLLOUT };
			poll(&p, 1, 10);
			close(fd[i]);
		}
	}
}

/* net.sdp.cache_timeout while it lasts; 0: nothing is remembered. */
static int known;

/*
 * Of one that has fallen back: in all its time there was no room, or no answer, be it
 * of a neighbour on a slow machine; or others have found it so just before.
 */
static int must_have_tried_(int fd)
{
	struct sdp_info info;

	OK(ip_info(fd, &info));
	if (info.sdpi_reason != SDP_REASON_BUSY &&
	    info.sdpi_reason != SDP_REASON_TIMEOUT &&
	    info.sdpi_reason != SDP_REASON_NO_ROUTE &&
	    !(known && info.sdpi_reason == SDP_REASON_CACHED))
		FAIL("this connection goes by TCP, for reason %u", info.sdpi_reason);
	return 0;
}

#define must_have_tried(fd) CALL(must_have_tried_(fd))

/* A word there and back over a new connection; how long it took. */
static long long legitimate_(const union addr *a, bool *sdp)
{
	struct pollfd p = { .fd = sock_flags(SOCK_NONBLOCK), .events = POLLOUT };
	long long start = ktap_now();
	int err;

	FAILS(EINPROGRESS, connect_to(p.fd, a));
	if (poll(&p, 1, ktap_ms(PATIENCE)) != 1)
		FAIL("not connected after %d ms", ktap_ms(PATIENCE));
	err = get_int(p.fd, SOL_SOCKET, SO_ERROR);
	if (err)
		FAIL("%s after %lld ms", ktap_errno(err), ktap_now() - start);
	nonblock(p.fd, false);
	*sdp = is_sdp(p.fd);
	if (on_sdp() && !*sdp)
		must_have_tried(p.fd);
	OK(set_ms(p.fd, SO_RCVTIMEO, ktap_ms(PATIENCE)));
	send_text(p.fd, "let me in");
	recv_text(p.fd, "let me in");
	OK(close(p.fd));
	return ktap_now() - start;
}

#define legitimate(...) CALL(legitimate_(__VA_ARGS__))

/* They come at their times, whatever becomes of those before. */
struct client {
	pthread_t thread;
	const union addr *a;
	long long took;
	bool sdp;
};

static void *ask(void *arg)
{
	struct client *c = arg;

	c->took = legitimate(c->a, &c->sdp);
	return NULL;
}

static void flooded_client(void)
{
	struct client client[CLIENTS] = { };
	int i, by_sdp = 0, at_once = 0;
	long long most = 0, end;
	union addr a;
	pid_t pid;
	bool sdp;

	server_addr(&a);
	if (on_sdp())
		sysctl("connect_timeout", ktap_ms(10000));
	legitimate(&a, &sdp);
	EQ(on_sdp(), sdp);
	if (on_sdp()) {
		/* As users have it. */
		sysctl("connect_timeout", ktap_ms(200));
		sysctl("require_timeout", ktap_ms(20000));
		sysctl("cache_timeout", known);
	}
	pid = OK(fork());
	if (!pid)
		flood_from_here(&a);
	meet("flooded");
	for (i = 0; i < CLIENTS; i++) {
		client[i].a = &a;
		EQ(0, pthread_create(&client[i].thread, NULL, ask, &client[i]));
		sleep_ms(ktap_ms(SECONDS * 1000) / CLIENTS);
	}
	for (i = 0; i < CLIENTS; i++) {
		pthread_join(client[i].thread, NULL);
		by_sdp += client[i].sdp;
		at_once += client[i].took < ktap_ms(AT_ONCE);
		if (client[i].took > most)
			most = client[i].took;
	}
	meet("still flooded");
	/* It was a flood all the time. */
	EQ(0, waitpid(pid, NULL, WNOHANG));
	OK(kill(pid, SIGKILL));
	EQ(pid, waitpid(pid, NULL, 0));
	ktap_note("%d of %d by SDP, %d at once, the slowest after %lld ms", by_sdp,
		  CLIENTS, at_once, most);
	CHECK(2 * at_once >= CLIENTS);
	IN_RANGE(0, ktap_ms(PATIENCE), most);
	/*
	 * Who may not fall back has not.  Who may has if he found no room within
	 * connect_timeout, in which he asks five times: one of ten did, and half of them
	 * with a kernel that checks everything.  If that is remembered, all others do
	 * without asking, for a while: of 100 it was none to half who went by SDP.
	 */
	if (variant->via != VIA_ULP)
		EQ(on_sdp() ? CLIENTS : 0, by_sdp);
	else if (!known)
		CHECK(4 * by_sdp >= CLIENTS);
	/* And when it is over, it is over, or soon. */
	meet("over");
	if (on_sdp())
		sysctl("connect_timeout", ktap_ms(10000));
	end = ktap_now() + ktap_ms(BACK);
	do
		legitimate(&a, &sdp);
	while (known && !sdp && ktap_now() < end);
	for (i = 0; i < 3; i++) {
		legitimate(&a, &sdp);
		EQ(on_sdp(), sdp);
	}
	tell_number(-1);
	meet("done");
}

/* Accepts and echoes until the client says something; how many came. */
static int serve(int l, struct pollfd *p, int room)
{
	int n = 2, came = 0, i, k;
	char buf[64];

	p[0] = (struct pollfd){ .fd = l, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = pair_control, .events = POLLIN };
	for (;;) {
		p[0].events = n < room ? POLLIN : 0;
		OK(poll(p, n, -1));
		if (p[1].revents)
			break;
		sleep_ms(2);
		for (i = 2; i < n; i++) {
			ssize_t got;

			if (!p[i].revents)
				continue;
			got = recv(p[i].fd, buf, sizeof(buf), MSG_DONTWAIT);
			if (got < 0 && errno == EAGAIN)
				continue;
			if (got > 0 && send(p[i].fd, buf, got, MSG_NOSIGNAL) == got)
				continue;
			close(p[i].fd);
			p[i].fd = -1;
		}
		for (i = 2, k = 2; i < n; i++)
			if (p[i].fd >= 0)
				p[k++] = p[i];
		n = k;
		if (p[0].revents) {
			p[n] = (struct pollfd){ .events = POLLIN };
			p[n].fd = accept(l, NULL, NULL);
			if (p[n].fd >= 0) {
				came++;
				n++;
			} else if (errno != EAGAIN && errno != ECONNABORTED) {
				FAIL("accept: %s", ktap_errno(errno));
			}
		}
	}
	for (i = 2; i < n; i++)
		close(p[i].fd);
	return came;
}

static void flooded_server(void)
{
	enum { ROOM = 900 };
	struct pollfd *p = calloc(ROOM, sizeof(*p));
	unsigned long long rejected = on_sdp() ? counter("reject_backlog") : 0;
	int l = serve_port(BACKLOG), came;

	nonblock(l, true);
	serve(l, p, ROOM);
	meet("flooded");
	came = serve(l, p, ROOM);
	meet("still flooded");
	ktap_note("%d connections came meanwhile", came);
	/* There was no room, again and again. */
	if (on_sdp()) {
		rejected = counter("reject_backlog") - rejected;
		ktap_note("%llu rejected", rejected);
		CHECK(rejected > 20);
	}
	serve(l, p, ROOM);
	meet("over");
	serve(l, p, ROOM);
	EQ(-1, hear_number());
	meet("done");
}

PAIR_CASE_LIMIT(flood, BIT(TCP_V4) | BIT(PROTO_V4) | BIT(ULP_V4) | BIT(ULP_V6), 120)

static void flood_client(void)
{
	flooded_client();
}

static void flood_server(void)
{
	flooded_server();
}

/* The same where what is found out of a destination is remembered. */
PAIR_CASE_LIMIT(flood_remembered, ON_ULP, 120)

static void flood_remembered_client(void)
{
	known = ktap_ms(KNOWN);
	flooded_client();
}

static void flood_remembered_server(void)
{
	flooded_server();
}
