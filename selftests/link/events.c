// SPDX-License-Identifier: GPL-2.0
/*
 * Two hosts, and events that a card may raise on one of them; soft-RoCE raises
 * none, so selftests/modules/verbs_events.c does (scripts/vm --rxe).  TCP has no such
 * thing: what is compared with it is the error that each side is told, that of a
 * connection that was reset.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm.h"

#define ON_SOME_SDP	(BIT(PROTO_V4) | BIT(ULP_V6))

enum { HELD = 2000 };	/* ms in which an attempt is not answered */

static const char events_file[] = "/run/rig/modules/verbs_events.ko";
static const char raise_file[] = "/sys/module/verbs_events/parameters/raise";

/* How late queue pairs of this kernel are ready, to receive or to send; or "early". */
static void be_late(const char *for_what, int ms)
{
	char name[80];
	FILE *f;

	snprintf(name, sizeof(name), "/sys/module/verbs_events/parameters/%s",
		 for_what);
	f = fopen(name, "w");
	CHECK(f);
	fprintf(f, "%d", ms);
	EQ(0, fclose(f));
}

/* It stays loaded: the guest's end unloads it. */
static int events_ready_(void)
{
	if (access(events_file, R_OK))
		ktap_skip("the rig has not built verbs_events (vm --rxe)");
	if (access(raise_file, W_OK))
		EQ(0, system("insmod /run/rig/modules/verbs_events.ko"));
	/* Whatever ended the case before. */
	be_late("rtr_ms", 0);
	be_late("rts_ms", 0);
	be_late("early", 0);
	EVENTUALLY(0, counter("conns"));
	/* It goes by SDP however long the neighbour takes. */
	sysctl("connect_timeout", ktap_ms(10000));
	return 0;
}

#define events_ready() CALL(events_ready_())

/* On the queue pair that was made last.  Return: 0, or -1 with errno. */
static int raise_event(const char *name)
{
	FILE *f = fopen(raise_file, "w");
	int err;

	if (!f)
		return -1;
	fputs(name, f);
	err = fflush(f);
	fclose(f);
	return err;
}

/* So many completion queues does our module have. */
static int queues(void)
{
	FILE *f = popen("rdma resource show cq | grep -c 'comm .af_sdp.'", "r");
	int n;

	CHECK(f);
	EQ(1, fscanf(f, "%d", &n));
	pclose(f);
	return n;
}

/* ------------------------------------------------------- a connection that ends */

/* Who sleeps is told, and who polls; the other host too; nothing is left. */
static void ended_by(const char *event)
{
	struct task r = { .run = task_recv, .len = 1 };
	unsigned long long resets = 0;
	char x;
	int c;

	if (on_sdp()) {
		events_ready();
		resets = counter("resets");
	}
	c = open_client();
	send_text(c, "hello");
	recv_text(c, "hello");
	r.fd = c;
	r.buf = &x;
	task_start(&r);
	if (on_sdp())
		OK(raise_event(event));
	meet("raised");
	EQ(-1, task_join(&r));
	EQ(ECONNRESET, errno);
	EQ_HEX(POLLIN | POLLOUT | POLLHUP | POLLRDHUP,
	       poll_one(c, POLLIN | POLLOUT | POLLRDHUP, 0));
	FAILS(EPIPE, send(c, "x", 1, MSG_NOSIGNAL));
	EQ(0, recv(c, &x, 1, 0));
	OK(close(c));
	if (on_sdp()) {
		EQ(resets + 1, counter("resets"));
		EVENTUALLY(0, counter("conns"));
	}
	meet("ended");
}

static void sees_the_end(void)
{
	int s = open_server();

	recv_text(s, "hello");
	send_text(s, "hello");
	meet("raised");
	if (on_sdp()) {
		expect_reset(s);
		OK(close(s));
		EVENTUALLY(0, counter("conns"));
	} else {
		linger(s, 0);
		OK(close(s));
	}
	meet("ended");
}

PAIR_CASE_ON(event_qp_fatal, ON_SOME_SDP | BIT(TCP_V4))

static void event_qp_fatal_client(void)
{
	ended_by("qp_fatal");
}

static void event_qp_fatal_server(void)
{
	sees_the_end();
}

PAIR_CASE_ON(event_qp_req_err, BIT(PROTO_V4))

static void event_qp_req_err_client(void)
{
	ended_by("qp_req_err");
}

static void event_qp_req_err_server(void)
{
	sees_the_end();
}

PAIR_CASE_ON(event_qp_access_err, BIT(PROTO_V4))

static void event_qp_access_err_client(void)
{
	ended_by("qp_access_err");
}

static void event_qp_access_err_server(void)
{
	sees_the_end();
}

/* With both directions full: the bytes that came are those that were sent. */
PAIR_CASE_ON(event_in_a_stream, ON_SOME_SDP)

enum { FIRST = 1 << 20 };

/* Whatever comes is right, and the end is told once, to one of the two calls. */
static void to_the_end(int fd, struct task *w, long long pos)
{
	static char buf[65536];
	ssize_t n;
	char x = 0;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		EQ(-1, pattern_check(buf, n, 1, pos));
		pos += n;
	}
	if (n < 0)
		EQ(ECONNRESET, errno);
	task_join(w);
	CHECK(w->ret < (long long)w->len);
	if (!n && w->ret < 0)
		EQ(ECONNRESET, w->err);
	else if (!n)
		FAILS(ECONNRESET, send(fd, &x, 1, MSG_NOSIGNAL));
	FAILS(EPIPE, send(fd, &x, 1, MSG_NOSIGNAL));
	expect_eof(fd);
	OK(close(fd));
	EVENTUALLY(0, counter("conns"));
	meet("ended");
}

static void event_in_a_stream_client(void)
{
	struct task w = { .run = task_send, .len = 64 << 20 };

	events_ready();
	w.buf = pattern(w.len, 0);
	w.fd = open_client();
	task_start(&w);
	recv_pattern(w.fd, FIRST, 1, 0);
	OK(raise_event("qp_fatal"));
	to_the_end(w.fd, &w, FIRST);
}

static void event_in_a_stream_server(void)
{
	struct task w = { .run = task_send, .len = 64 << 20 };

	w.buf = pattern(w.len, 0);
	w.fd = open_server();
	task_start(&w);
	to_the_end(w.fd, &w, 0);
}

/* ------------------------------------------------------- a connection that goes on */

static void talk_client(int c)
{
	send_text(c, "hello");
	recv_text(c, "hello");
	OK(shutdown(c, SHUT_WR));
	expect_eof(c);
	OK(close(c));
	EVENTUALLY(0, counter("conns"));
}

static void answer(int s)
{
	recv_text(s, "hello");
	send_text(s, "hello");
	expect_eof(s);
	OK(close(s));
}

static void talk_server(void)
{
	answer(open_server());
}

/* Nothing for us. */
PAIR_CASE_ON(event_of_no_concern, BIT(PROTO_V4))

static void event_of_no_concern_client(void)
{
	int c;

	events_ready();
	c = open_client();
	FAILS(EINVAL, raise_event("no_event"));
	OK(raise_event("path_mig"));
	/* Each queue pair is taken once. */
	FAILS(ENXIO, raise_event("qp_fatal"));
	talk_client(c);
	meet("ended");
}

static void event_of_no_concern_server(void)
{
	talk_server();
	meet("ended");
}

/*
 * A queue that the device gave up is destroyed with its connection, not kept for
 * the next one as others are.  (The device would tell its queue pair too.)
 */
PAIR_CASE_ON(event_cq_err, ON_SOME_SDP)

static void event_cq_err_client(void)
{
	int n, c;

	events_ready();
	/* None is kept that would be given up for its age meanwhile. */
	EQ(0, system("rdma link delete rxe0 && "
		     "rdma link add rxe0 type rxe netdev ${SDP_NETDEV:-eth0}"));
	device_back();
	EVENTUALLY(0, counter("conns"));
	n = queues();
	CHECK(n >= 2);
	talk_client(open_client());
	EQ(n, queues());
	c = open_client();
	OK(raise_event("cq_err"));
	talk_client(c);
	EQ(n - 1, queues());
	meet("ended");
}

static void event_cq_err_server(void)
{
	int i;

	for (i = 0; i < 2; i++)
		talk_server();
	meet("ended");
}

/* ------------------------------------------------------------------ an attempt */

/* Nobody has answered yet: the attempt fails at once, and TCP takes over where it may. */
PAIR_CASE_ON(event_while_connecting, ON_SDP)

static void event_while_connecting_client(void)
{
	unsigned long long fell;
	struct ktap_watch since;
	union addr a;
	int c;

	events_ready();
	/* Whatever else is held against it: not this. */
	sysctl("cache_timeout", 60000);
	fell = counter("fallback_device");
	server_addr(&a);
	meet("unanswered");
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	since = ktap_watch();
	EVENTUALLY(0, raise_event("qp_fatal"));
	await(c, POLLOUT);
	WAITED(0, HELD / 2, since);
	if (variant->via == VIA_ULP) {
		EQ(0, get_int(c, SOL_SOCKET, SO_ERROR));
		EQ(-1, transport(c));
		EQ(fell + 1, counter("fallback_device"));
		nonblock(c, false);
		send_text(c, "hello");
		recv_text(c, "hello");
	} else {
		EQ(ENETUNREACH, get_int(c, SOL_SOCKET, SO_ERROR));
		EQ(fell, counter("fallback_device"));
	}
	meet("over");
	OK(close(c));
	EVENTUALLY(0, counter("conns"));
	meet("well");
	c = sock();
	OK(connect_to(c, &a));
	CHECK(is_sdp(c));
	talk_client(c);
	meet("ended");
}

static void event_while_connecting_server(void)
{
	int l = serve_port(8), s;
	pid_t pid = trouble_for(CM_REP, LOST, HELD);

	meet("unanswered");
	if (variant->via == VIA_ULP) {
		await(l, POLLIN);
		s = OK(accept(l, NULL, NULL));
		EQ(-1, transport(s));
		recv_text(s, "hello");
		send_text(s, "hello");
	}
	meet("over");
	CHILD_OK(pid);
	/* What was asked by SDP is no second connection. */
	EQ_HEX(0, poll_one(l, POLLIN, 500));
	EVENTUALLY(0, counter("conns"));
	meet("well");
	answer(accept_one(l));
	meet("ended");
}

/*
 * The device says that a first message came, to a server that has had no RTU: the
 * client is there.  The CM has had none either, and takes no DREQ before it comes.
 */
PAIR_CASE_ON(event_comm_est, ON_SOME_SDP)

static void event_comm_est_client(void)
{
	union addr a;
	pid_t pid;
	int c;

	events_ready();
	server_addr(&a);
	pid = trouble_for(CM_RTU, LOST, 2 * HELD);
	c = connect_client(&a);
	CHECK(is_sdp(c));
	recv_text(c, "hello");
	expect_eof(c);
	OK(close(c));
	meet("closed");
	CHILD_OK(pid);
	EVENTUALLY(0, counter("conns"));
	meet("ended");
}

static void event_comm_est_server(void)
{
	struct ktap_watch since;
	int l, s;

	events_ready();
	l = serve_port(0);
	EVENTUALLY(1, counter("conns"));
	/* The answer is there by now. */
	EQ_HEX(0, poll_one(l, POLLIN, 500));
	OK(raise_event("comm_est"));
	since = ktap_watch();
	s = accept_one(l);
	WAITED(0, HELD / 2, since);
	send_text(s, "hello");
	OK(close(s));
	meet("closed");
	sleep_ms(300);
	EQ(1, counter("conns"));
	EVENTUALLY(0, counter("conns"));
	meet("ended");
}

/*
 * He is long about his RTU, longer than his attempt may take: the server's kernel,
 * which repeats its answer for as long as that, is told that he has it and waits.
 */
PAIR_CASE_ON(late_to_confirm, ON_SOME_SDP)

enum { CONFIRMED = 3000, ATTEMPT = 500 };

static void late_to_confirm_client(void)
{
	struct ktap_watch since;
	int c;

	events_ready();
	talk_client(open_client());
	sysctl("connect_timeout", ktap_ms(ATTEMPT));
	sysctl("require_timeout", ktap_ms(ATTEMPT));
	be_late("rtr_ms", ktap_ms(CONFIRMED));
	since = ktap_watch();
	c = open_client();
	WAITED(ktap_ms(CONFIRMED), 5 * ktap_ms(CONFIRMED), since);
	be_late("rtr_ms", 0);
	CHECK(is_sdp(c));
	talk_client(c);
	meet("ended");
}

static void late_to_confirm_server(void)
{
	int i;

	for (i = 0; i < 2; i++)
		talk_server();
	meet("ended");
}

/*
 * Its RTU has come, but the server's worker is late to look: that is no silence, and
 * who asks next waits for the place.
 */
PAIR_CASE_ON(late_to_notice, ON_SOME_SDP)

static void late_to_notice_client(void)
{
	struct task t = { .run = task_recv, .len = 5 };
	union addr a;
	char text[5];
	int c, other;

	events_ready();
	server_addr(&a);
	c = connect_client(&a);
	CHECK(is_sdp(c));
	t.fd = c;
	t.buf = text;
	task_start(&t);
	/* For longer than who is silent keeps a place that another wants. */
	sleep_ms(2000);
	other = connect_client(&a);
	send_text(other, "hello");
	recv_text(other, "hello");
	OK(close(other));
	/* The server speaks first. */
	EQ(5, task_join(&t));
	EQ(0, memcmp(text, "hello", 5));
	send_text(c, "hello");
	recv_text(c, "bye");
	meet("ended");
}

static void late_to_notice_server(void)
{
	int l, s;

	events_ready();
	be_late("rts_ms", 4000);
	l = serve_port(0);
	s = accept_one(l);
	be_late("rts_ms", 0);
	answer(accept_one(l));
	send_text(s, "hello");
	recv_text(s, "hello");
	send_text(s, "bye");
	meet("ended");
}

/*
 * The server takes its answer back while the client's queue pair is on its way: it is
 * too late to ask again with that one.  Where TCP may come next, nobody listens.
 */
PAIR_CASE_ON(late_and_taken_back, ON_SOME_SDP)

static void late_and_taken_back_client(void)
{
	unsigned long long fell;
	union addr a;
	int c;

	events_ready();
	server_addr(&a);
	be_late("rtr_ms", 5000);
	fell = counter("fallback_busy");
	c = sock();
	FAILS(variant->via == VIA_ULP ? ECONNREFUSED : ETIMEDOUT,
	      connect_to(c, &a));
	be_late("rtr_ms", 0);
	if (variant->via == VIA_ULP)
		EQ(fell + 1, counter("fallback_busy"));
	OK(close(c));
	EVENTUALLY(0, counter("conns"));
	meet("ended");
}

static void late_and_taken_back_server(void)
{
	int l = serve_port(0);

	EVENTUALLY(1, counter("conns"));
	/* The answer is there by now, and the client not yet. */
	sleep_ms(700);
	OK(close(l));
	EVENTUALLY(0, counter("conns"));
	meet("ended");
}

/*
 * An event of a completion queue that was another's before, while the queue pair is made
 * and when it cannot be made.  Whoever comes for it finds nothing to be polled.
 */
enum { ROUNDS = 20 };

PAIR_CASE_ON(event_early, BIT(PROTO_V4))

static void event_early_client(void)
{
	union addr a;
	int i, c;

	events_ready();
	server_addr(&a);
	for (i = 0; i < ROUNDS; i++) {
		be_late("early", 2);
		c = sock();
		FAILS(ENOMEM, connect_to(c, &a));
		OK(close(c));
		be_late("early", 1);
		c = sock();
		OK(connect_to(c, &a));
		send_text(c, "hello");
		recv_text(c, "hello");
		OK(close(c));
	}
	be_late("early", 0);
	EVENTUALLY(0, counter("conns"));
	meet("ended");
}

static void event_early_server(void)
{
	int l = serve_port(4), i, s;

	for (i = 0; i < ROUNDS; i++) {
		s = accept_one(l);
		recv_text(s, "hello");
		send_text(s, "hello");
		expect_eof(s);
		OK(close(s));
	}
	meet("ended");
	OK(close(l));
}
