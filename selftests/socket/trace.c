// SPDX-License-Identifier: GPL-2.0
/*
 * What the trace points tell (/sys/kernel/tracing/events/sdp): each decision that is
 * brought about here has a line with its reason or its numbers, and each line of
 * each event begins with the connection.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/trace.h"
#include "lib/variant.h"

/* One that is told by now, or soon. */
static int told_(const char *event, const char *word)
{
	long long end = ktap_now() + ktap_ms(10000);
	char name[64];

	snprintf(name, sizeof(name), ": %s: conn=", event);
	while (!trace_lines(name, word)) {
		if (ktap_now() > end)
			FAIL("no line of %s says \"%s\"", event, word);
		usleep(10000);
	}
	return 0;
}

#define told(event, word)	CALL(told_(event, word))

/* Nobody reads: the ring grows, and the sender's limit with it. */
static void buffers_grow(const struct pair *p)
{
	long long n;

	n = fill(p->c, 1);
	told("sdp_ring_grow", "bufs=4->8");
	told("sdp_snd_limit", "outstanding=");
	recv_pattern(p->s, n, 1, 0);
	told("sdp_rcvbuf_ask", "had=4096 size=16384");
	told("sdp_rcvbuf_asked", "had=4096 size=16384");
	told("sdp_rcvbuf_grant", "had=4096 size=");
	told("sdp_rcvbuf_given", "had=4096 size=");
	nonblock(p->c, false);
}

/* With no more memory than its listener was given. */
static void buffers_full(void)
{
	struct pair p;

	pair_start(&p);
	OK(set_int(p.l, SOL_SOCKET, SO_RCVBUF, 16384));
	pair_finish(&p);
	fill(p.c, 1);
	told("sdp_ring_full", "posted=2");
}

/* By the timer that looks after an idle connection. */
static void buffers_shrink(void)
{
	told("sdp_timer_set", "check ms=");
	told("sdp_timer_fired", "check");
	told("sdp_rcvbuf_promise", "size=4096");
	told("sdp_rcvbuf_shrink", "size=4096");
}

static void timers(const struct pair *p)
{
	OK(set_int(p->c, SOL_TCP, TCP_CORK, 1));
	EQ(1, send(p->c, "x", 1, MSG_NOSIGNAL));
	told("sdp_delay", "-> CORK");
	told("sdp_hold", "bytes=1 corked");
	told("sdp_timer_set", "uncork ms=");
	told("sdp_timer_fired", "uncork");
	recv_text(p->s, "x");
	OK(set_int(p->c, SOL_TCP, TCP_CORK, 0));

	OK(set_int(p->c, SOL_TCP, TCP_KEEPIDLE, 1));
	OK(set_int(p->c, SOL_SOCKET, SO_KEEPALIVE, 1));
	/* It counts from the next call on. */
	EQ(1, send(p->c, "y", 1, MSG_NOSIGNAL));
	recv_text(p->s, "y");
	told("sdp_keepalive", "due ms=");
	told("sdp_keepalive", "answered ms=");
}

/* Long enough to be advertised, while somebody reads. */
static void zero_copy(const struct pair *p)
{
	sysctl("zcopy_adapt", 1);
	sysctl("zcopy_thresh", 65536);
	read_asleep(p, 1 << 20);
	told("sdp_zcopy", "bytes=1048576 zcopy");
	told("sdp_src_told", "done=1");
}

/* Who finds no place, and who waits for his first byte. */
static void clients(void)
{
	union addr a, b;
	int l, c, next, s;

	l = listener(&a, 0);
	c = sock();
	OK(connect_to(c, &a));
	told("sdp_child_new", "qlen=1 aside=0");
	next = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(next, &a));
	told("sdp_child_refused", "backlog is full");
	told("sdp_cm", "busy");
	s = accept_one(l);
	told("sdp_child_accepted", "qlen=0");
	close(next);
	close(c);
	close(s);
	close(l);

	l = listener(&b, 4);
	OK(set_int(l, SOL_TCP, TCP_DEFER_ACCEPT, 30));
	c = sock();
	OK(connect_to(c, &b));
	told("sdp_child_deferred", "qlen=1");
	send_text(c, "now");
	s = accept_one(l);
	recv_text(s, "now");
}

CASE_LIMIT(trace_tells_decisions, ON_EXPLICIT, 60)
{
	struct pair p;

	sysctl("shrink_after", ktap_ms(300));
	trace_empty();
	trace_switch("sdp", true);
	pair_open(&p);
	told("sdp_session", "read advertise");
	sysctl("zcopy_thresh", 0);
	buffers_grow(&p);
	buffers_shrink();
	buffers_full();
	timers(&p);
	zero_copy(&p);
	clients();
	trace_switch("sdp", false);
	CHECK(trace_lines(": sdp_", ": conn=") > 100);
	EQ(trace_lines(": sdp_", ""), trace_lines(": sdp_", ": conn="));
}
