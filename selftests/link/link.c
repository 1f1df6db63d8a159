// SPDX-License-Identifier: GPL-2.0
/*
 * Two hosts, and a network or a peer that is not there for a while, or never
 * again.  What a connection survives is what net.sdp.ack_timeout and
 * ack_retries say, about 4 s; TCP, beside it, survives all of this.
 *
 * Needs a link that nothing else impairs ($SDP_NETDEV), tc, and the queues that
 * pair/pair.sh makes.
 */
#include <limits.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/pair.h"

/* One of each kind is enough: below them is the same network. */
#define ON_SOME_SDP	(BIT(PROTO_V4) | BIT(ULP_V6))
#define ON_SOME		(BIT(TCP_V4) | ON_SOME_SDP)

/* ------------------------------------------------------------------- the link */

enum outage {
	LOSING,		/* what leaves this host is lost */
	DOWN,		/* its interface is down, and says so */
	GONE,		/* it has no RDMA device, then a new one */
	DOWN_AND_GONE,	/* DOWN, then a new device */
};

static const struct {
	const char *begin, *end;
} links[] = {
	[LOSING] = {
		"tc qdisc change dev ${SDP_NETDEV:-eth0} parent 1:3 handle 13: "
			"netem limit 100000 loss 100%",
		"tc qdisc change dev ${SDP_NETDEV:-eth0} parent 1:3 handle 13: "
			"netem limit 100000",
	},
	[DOWN] = {
		"ip link set dev ${SDP_NETDEV:-eth0} down",
		"ip link set dev ${SDP_NETDEV:-eth0} up",
	},
	[GONE] = {
		"rdma link delete rxe0",
		"rdma link add rxe0 type rxe netdev ${SDP_NETDEV:-eth0}",
	},
	[DOWN_AND_GONE] = {
		"ip link set dev ${SDP_NETDEV:-eth0} down",
		"ip link set dev ${SDP_NETDEV:-eth0} up && rdma link delete rxe0 && "
			"rdma link add rxe0 type rxe netdev ${SDP_NETDEV:-eth0}",
	},
};

#define outage(how, ms)	meanwhile(links[how].begin, links[how].end, ms)

/* It is over already. */
static int over_(enum outage how, pid_t pid)
{
	pid_t end;

	OK(kill(pid, SIGKILL));
	EQ(pid, waitpid(pid, NULL, 0));
	end = meanwhile(links[how].end, "true", 0);
	CHILD_OK(end);
	return 0;
}

#define over(how, pid)	CALL(over_(how, pid))

/* ---------------------------------------------------------------- for a while */

enum { MUCH = 16 << 20, FIRST = 1 << 20 };

/* All of it both ways, with such an outage of so many ms at this side, or none. */
static void duplex(int fd, enum outage how, int ms)
{
	struct task t = { .run = task_send_all, .fd = fd, .len = MUCH };
	long long start;
	pid_t pid = 0;

	task_start(&t);
	recv_pattern(fd, FIRST, 1, 0);
	start = ktap_now();
	if (ms)
		pid = outage(how, ms);
	recv_pattern(fd, MUCH - FIRST, 1, FIRST);
	EQ(MUCH, task_join(&t));
	if (pid) {
		ktap_note("%lld ms from the outage to the end", ktap_now() - start);
		CHILD_OK(pid);
	}
	OK(shutdown(fd, SHUT_WR));
	expect_eof(fd);
	meet("done");
}

enum { SHORT_OUTAGE = 2000, LONG_OUTAGE = 8000, LONGER_OUTAGE = 12000 };

/* Every byte of what was under way is repeated. */
PAIR_CASE_LIMIT(outage_at_server, ON_SOME, 60)

static void outage_at_server_client(void)
{
	duplex(open_client(), LOSING, 0);
}

static void outage_at_server_server(void)
{
	duplex(open_server(), LOSING, SHORT_OUTAGE);
}

PAIR_CASE_LIMIT(outage_at_client, ON_SOME, 60)

static void outage_at_client_client(void)
{
	duplex(open_client(), LOSING, SHORT_OUTAGE);
}

static void outage_at_client_server(void)
{
	duplex(open_server(), LOSING, 0);
}

/* A connection that has nothing to say does not notice, however long it is. */
static void idle_client(enum outage how)
{
	int c = open_client();
	pid_t pid;

	send_text(c, "before");
	recv_text(c, "before");
	EVENTUALLY(0, outq(c));
	meet("idle");
	pid = outage(how, LONG_OUTAGE);
	CHILD_OK(pid);
	EQ_HEX(POLLOUT, poll_one(c, POLLIN | POLLOUT | POLLRDHUP, 0));
	send_text(c, "after");
	recv_text(c, "after");
	meet("done");
}

static void idle_server(void)
{
	int s = open_server();

	recv_text(s, "before");
	send_text(s, "before");
	EVENTUALLY(0, outq(s));
	meet("idle");
	recv_text(s, "after");
	send_text(s, "after");
	meet("done");
}

PAIR_CASE_LIMIT(outage_while_idle, ON_SOME, 60)

static void outage_while_idle_client(void)
{
	idle_client(LOSING);
}

static void outage_while_idle_server(void)
{
	idle_server();
}

PAIR_CASE_LIMIT(link_down_while_idle, ON_SOME, 60)

static void link_down_while_idle_client(void)
{
	idle_client(DOWN);
}

static void link_down_while_idle_server(void)
{
	idle_server();
}

/* ----------------------------------------------------------------- for too long */

/*
 * Who sends is told when the time is over, and not before; the other side, who
 * asks by SO_KEEPALIVE, is told as well.  What had arrived is right.
 */
PAIR_CASE_LIMIT(outage_too_long, ON_SOME_SDP, 90)

static void outage_too_long_client(void)
{
	struct task t = { .run = task_send, .len = 64 << 20 };
	int c = open_client();
	long long start;
	pid_t pid;
	char x = 0;

	t.buf = malloc(t.len);
	pattern_fill(t.buf, t.len, 1, 0);
	t.fd = c;
	task_start(&t);
	meet("under way");
	CHECK(!t.done);
	start = ktap_now();
	pid = outage(LOSING, LONG_OUTAGE);
	task_join(&t);
	/* A part was taken: the next call has the error. */
	CHECK(t.ret > 0 && t.ret < (long long)t.len);
	EQ(-1, send(c, &x, 1, MSG_NOSIGNAL));
	/* Only what goes there is lost: the other side may give up first, since
	 * nobody acknowledges its credits, and its word of it comes through.
	 */
	if (errno != ETIMEDOUT && errno != ECONNRESET)
		FAIL("send: expected ETIMEDOUT, got %s", ktap_errno(errno));
	ktap_note("lost after %lld ms", ktap_now() - start);
	IN_RANGE(3000, LONG_OUTAGE, ktap_now() - start);
	FAILS(EPIPE, send(c, &x, 1, MSG_NOSIGNAL));
	expect_eof(c);
	CHILD_OK(pid);
	meet("done");
}

static void outage_too_long_server(void)
{
	static char buf[65536];
	int s = open_server();
	long long pos = FIRST;
	ssize_t n;

	OK(set_int(s, SOL_SOCKET, SO_KEEPALIVE, 1));
	OK(set_int(s, SOL_TCP, TCP_KEEPIDLE, 1));
	recv_pattern(s, FIRST, 1, 0);
	meet("under way");
	while ((n = recv(s, buf, sizeof(buf), 0)) > 0) {
		EQ(-1, pattern_check(buf, n, 1, pos));
		pos += n;
	}
	EQ(-1, n);
	ktap_note("%lld bytes, then %s", pos, ktap_errno(errno));
	CHECK(errno == ETIMEDOUT || errno == ECONNRESET);
	expect_eof(s);
	meet("done");
}

/* TCP goes on where it was. */
PAIR_CASE_LIMIT(outage_long_tcp, BIT(TCP_V4), 90)

static void outage_long_tcp_client(void)
{
	duplex(open_client(), LOSING, LONG_OUTAGE);
}

static void outage_long_tcp_server(void)
{
	duplex(open_server(), LOSING, 0);
}

/* ------------------------------------------------------ as soon as the user says */

enum { SHORT_ACK = 100, LONG_ACK = 2000, USER_MS = 1000, DEAD_FOR = 10000 };

static long long last_said;	/* ktap_now() before the last that was heard */

/*
 * Nothing that this host says arrives: who waits in recv() is told @ms after the last
 * that was said, and within @most from now; the error is TCP's.
 */
static void told_of_dead_link(int c, int ms, int most, bool saying)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	pid_t pid = outage(LOSING, DEAD_FOR);

	task_blocks(&t, c);
	if (saying) {
		last_said = ktap_now();
		send_text(c, "unheard");
	}
	FAILS(ETIMEDOUT, task_join(&t));
	ktap_note("after %lld ms, of which in recv() %lld", ktap_now() - last_said, t.ms);
	IN_RANGE(ms - 50, INT_MAX, ktap_now() - last_said);
	IN_RANGE(0, most, t.ms);
	FAILS(EPIPE, send(c, buf, 1, MSG_NOSIGNAL));
	expect_eof(c);
	over(LOSING, pid);
}

static void not_told_server(void)
{
	int s = open_server();

	recv_text(s, "before");
	meet("well");
	meet("over");
}

static int well_client_(void)
{
	int c;

	sysctl("connect_timeout", ktap_ms(10000));
	c = open_client();
	last_said = ktap_now();
	send_text(c, "before");
	meet("well");
	EVENTUALLY(0, outq(c));
	return c;
}

#define well_client() CALL(well_client_())

/* What was sent is not acknowledged for that long. */
PAIR_CASE_ON(user_timeout, ON_SOME)

static void user_timeout_client(void)
{
	int c = well_client();

	OK(set_int(c, SOL_TCP, TCP_USER_TIMEOUT, USER_MS));
	/* TCP looks when it repeats, the third time after 1400 ms. */
	told_of_dead_link(c, USER_MS, USER_MS + !on_sdp() * 800 + ktap_ms(1000), true);
	meet("over");
}

static void user_timeout_server(void)
{
	not_told_server();
}

/* Who asks an idle peer after a second, and is told of his end by the device after some
 * time, by TCP after some questions.
 */
static int asking_client_(int ack_timeout, int questions)
{
	int c;

	if (on_sdp())
		sysctl("ack_timeout", ack_timeout);
	c = well_client();
	OK(set_int(c, SOL_TCP, TCP_KEEPIDLE, 1));
	OK(set_int(c, SOL_TCP, TCP_KEEPINTVL, 1));
	OK(set_int(c, SOL_TCP, TCP_KEEPCNT, questions));
	OK(set_int(c, SOL_SOCKET, SO_KEEPALIVE, 1));
	return c;
}

#define asking_client(...) CALL(asking_client_(__VA_ARGS__))

/*
 * An idle peer is asked after a second.  TCP asks as often as TCP_KEEPCNT says, at
 * intervals of TCP_KEEPINTVL; for SDP the device does, by ack_timeout and ack_retries.
 */
PAIR_CASE_ON(keepalive_dead, ON_SOME)

static void keepalive_dead_client(void)
{
	int c = asking_client(SHORT_ACK, 1);

	told_of_dead_link(c, 1000, ktap_ms(4000), false);
	meet("over");
}

static void keepalive_dead_server(void)
{
	not_told_server();
}

/*
 * And the time that the user has set is for the answer to that, too, where it is
 * shorter than that of the device, or of TCP_KEEPCNT.
 */
PAIR_CASE_ON(user_timeout_while_idle, ON_SOME)

static void user_timeout_while_idle_client(void)
{
	int c = asking_client(LONG_ACK, 100);

	OK(set_int(c, SOL_TCP, TCP_USER_TIMEOUT, USER_MS));
	/* TCP asks after a second, and looks after another. */
	told_of_dead_link(c, 1000 + USER_MS, 1000 + USER_MS + ktap_ms(1000), false);
	meet("over");
}

static void user_timeout_while_idle_server(void)
{
	not_told_server();
}

/* ------------------------------------------------- in the middle of everything */

enum { STREAMS = 4, SOON = 6000 };

/* A connection with both directions full, as far as they go. */
struct stream {
	struct task send, recv;
};

static void task_send_on(struct task *t)
{
	char *buf = malloc(FIRST);
	long long pos = 0;
	ssize_t n = 0;

	while (n >= 0 && pos < (long long)t->len) {
		pattern_fill(buf, FIRST, 1, pos);
		n = send(t->fd, buf, FIRST, MSG_NOSIGNAL);
		pos += n < 0 ? 0 : n;
	}
	t->ret = pos;
	errno = n < 0 ? errno : 0;
}

static void task_recv_on(struct task *t)
{
	static __thread char buf[65536];
	long long pos = FIRST;
	ssize_t n;

	while ((n = recv(t->fd, buf, sizeof(buf), 0)) > 0) {
		EQ(-1, pattern_check(buf, n, 1, pos));
		pos += n;
	}
	t->ret = pos;
	errno = n < 0 ? errno : 0;
}

/* All of them are under way when this returns. */
static int streams_open_(struct stream *s, bool client)
{
	int l = -1, i;
	union addr a;

	sysctl("ack_timeout", SHORT_ACK);
	sysctl("connect_timeout", ktap_ms(10000));
	sysctl("cache_timeout", 0);
	meet("set");
	if (client)
		server_addr(&a);
	else
		l = serve_port(STREAMS);
	for (i = 0; i < STREAMS; i++) {
		int fd = client ? connect_client(&a) : accept_one(l);

		s[i].send = (struct task){ .run = task_send_on, .fd = fd, .len = 1ull << 40 };
		s[i].recv = (struct task){ .run = task_recv_on, .fd = fd };
		/* Who waits for room, with nothing under way, asks after 10 s else. */
		OK(set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1));
		OK(set_int(fd, SOL_TCP, TCP_KEEPIDLE, 1));
		task_start(&s[i].send);
	}
	for (i = 0; i < STREAMS; i++) {
		recv_pattern(s[i].recv.fd, FIRST, 1, 0);
		task_start(&s[i].recv);
	}
	close(l);
	meet("under way");
	return 0;
}

#define streams_open(...) CALL(streams_open_(__VA_ARGS__))

static bool is_loss(int err)
{
	return err == ECONNRESET || err == ETIMEDOUT;
}

/* Each has ended, in that time, and one of its two callers has been told why. */
static int streams_end_(struct stream *s, long long since)
{
	int i;

	for (i = 0; i < STREAMS; i++) {
		int fd = s[i].send.fd;
		char x = 0;

		task_join(&s[i].send);
		task_join(&s[i].recv);
		ktap_note("%lld sent, %s; %lld received, %s; after %lld ms", s[i].send.ret,
			  ktap_errno(s[i].send.err), s[i].recv.ret,
			  s[i].recv.err ? ktap_errno(s[i].recv.err) : "the end",
			  ktap_now() - since);
		if (s[i].recv.err) {
			CHECK(is_loss(s[i].recv.err));
			EQ(EPIPE, s[i].send.err);
		} else {
			CHECK(is_loss(s[i].send.err));
		}
		FAILS(EPIPE, send(fd, &x, 1, MSG_NOSIGNAL));
		expect_eof(fd);
		close(fd);
	}
	IN_RANGE(0, ktap_ms(SOON), ktap_now() - since);
	EVENTUALLY(0, counter("conns"));
	return 0;
}

#define streams_end(...) CALL(streams_end_(__VA_ARGS__))

/* One host's device is taken away and comes back, again and again, under all that. */
enum { TIMES = 3 };

static void lose_device(bool client)
{
	struct stream s[STREAMS];
	long long since;
	pid_t pid;
	int i;

	for (i = 0; i < TIMES; i++) {
		streams_open(s, client);
		since = ktap_now();
		pid = i % 2 == client ? outage(GONE, 100) : 0;
		streams_end(s, since);
		if (pid) {
			CHILD_OK(pid);
			device_back();
		}
		meet("again");
	}
}

PAIR_CASE_LIMIT(device_gone_duplex, ON_SOME_SDP, 60)

static void device_gone_duplex_client(void)
{
	lose_device(true);
}

static void device_gone_duplex_server(void)
{
	lose_device(false);
}

/*
 * The interface is down for a while: TCP goes on where it was.  To soft-RoCE that
 * is the end of who sends meanwhile, and of its CM's own queue pair, which has to
 * say good-bye: selftests/device/device.sh shows both without us.  A new device helps.
 */
PAIR_CASE_LIMIT(link_down_duplex, ON_SOME, 60)

static void link_down_duplex_client(void)
{
	struct stream s[STREAMS];
	long long since;
	pid_t pid;

	if (!on_sdp()) {
		duplex(open_client(), DOWN, SHORT_OUTAGE);
		return;
	}
	streams_open(s, true);
	since = ktap_now();
	pid = outage(DOWN_AND_GONE, SHORT_OUTAGE);
	streams_end(s, since);
	CHILD_OK(pid);
	device_back();
	meet("up");
	send_text(open_client(), "well again");
	meet("done");
}

static void link_down_duplex_server(void)
{
	struct stream s[STREAMS];

	if (!on_sdp()) {
		duplex(open_server(), LOSING, 0);
		return;
	}
	streams_open(s, false);
	streams_end(s, ktap_now());
	meet("up");
	recv_text(open_server(), "well again");
	meet("done");
}

/* ------------------------------------------------------------ a peer that hangs */

/*
 * Stopped for longer than a dead link is borne: the kernel answers for it, and
 * nobody's connection ends.
 */
PAIR_CASE_LIMIT(peer_frozen, ON_SOME, 60)

static void peer_frozen_client(void)
{
	int c = open_client();
	struct task t = { .run = task_send_all, .fd = c, .len = MUCH };

	recv_pattern(c, FIRST, 1, 0);
	task_start(&t);
	meet("frozen");
	CHECK(!t.done);
	EQ_HEX(0, poll_one(c, POLLRDHUP, 0));
	meet("thaw");
	recv_pattern(c, MUCH - FIRST, 1, FIRST);
	EQ(MUCH, task_join(&t));
	OK(shutdown(c, SHUT_WR));
	expect_eof(c);
	meet("done");
}

static void peer_frozen_server(void)
{
	int s = open_server(), status;
	pid_t pid = OK(fork());

	if (!pid) {
		struct task t = { .run = task_send_all, .fd = s, .len = MUCH };

		task_start(&t);
		/* In the middle of both directions, however fast they are. */
		recv_pattern(s, FIRST, 1, 0);
		OK(raise(SIGSTOP));
		recv_pattern(s, MUCH - FIRST, 1, FIRST);
		EQ(MUCH, task_join(&t));
		OK(shutdown(s, SHUT_WR));
		expect_eof(s);
		_exit(0);
	}
	close(s);
	EQ(pid, waitpid(pid, &status, WUNTRACED));
	CHECK(WIFSTOPPED(status));
	sleep_ms(5000);
	meet("frozen");
	meet("thaw");
	OK(kill(pid, SIGCONT));
	CHILD_OK(pid);
	meet("done");
}

/* --------------------------------------------------------------- one that dies */

/* Killed with both directions full: whoever waits is told, one of the reset. */
static void killed_client(void)
{
	struct task w = { .run = task_send, .len = 64 << 20 };
	static char buf[65536];
	int c = open_client();
	long long pos = FIRST;
	ssize_t n;
	int err;
	char x = 0;

	w.buf = calloc(1, w.len);
	w.fd = c;
	recv_pattern(c, FIRST, 1, 0);
	task_start(&w);
	CHECK(!w.done);
	meet("kill");
	while ((n = recv(c, buf, sizeof(buf), 0)) > 0) {
		EQ(-1, pattern_check(buf, n, 1, pos));
		pos += n;
	}
	err = n < 0 ? errno : 0;
	task_join(&w);
	ktap_note("%lld bytes, then %s in recv; send: %lld %s", pos,
		  err ? ktap_errno(err) : "the end", w.ret,
		  w.ret < 0 ? ktap_errno(w.err) : "");
	CHECK(w.ret < (long long)w.len);
	if (err)
		EQ(ECONNRESET, err);
	else if (w.ret < 0)
		EQ(ECONNRESET, w.err);
	else
		FAILS(ECONNRESET, send(c, &x, 1, MSG_NOSIGNAL));
	FAILS(EPIPE, send(c, &x, 1, MSG_NOSIGNAL));
	expect_eof(c);
	meet("done");
}

static void killed_server(int first)
{
	int s = open_server();
	pid_t pid = OK(fork());

	if (!pid) {
		send_pattern(s, 1ull << 40, 1, 0);
		_exit(1);
	}
	meet("kill");
	/* What is unread makes a reset of its end. */
	EVENTUALLY(true, inq(s) > 0);
	close(s);
	if (first)
		OK(kill(pid, first));
	OK(kill(pid, SIGKILL));
	EQ(pid, waitpid(pid, NULL, 0));
	meet("done");
}

PAIR_CASE(killed_both_ways)

static void killed_both_ways_client(void)
{
	killed_client();
}

static void killed_both_ways_server(void)
{
	killed_server(0);
}

PAIR_CASE(killed_frozen)

static void killed_frozen_client(void)
{
	killed_client();
}

static void killed_frozen_server(void)
{
	killed_server(SIGSTOP);
}

/*
 * Killed while it sends and we read, again and again: what comes is a beginning
 * of the stream, then the error, once, and not a byte behind it.
 */
enum { KILLS = 12 };

PAIR_CASE_LIMIT(killed_while_read, ON_SOME, 60)

static void killed_while_read_client(void)
{
	static char buf[65536];
	int round, resets = 0;

	for (round = 0; round < KILLS; round++) {
		long long pos = FIRST;
		int c = open_client();
		ssize_t n;

		send_text(c, "unread");
		recv_pattern(c, FIRST, 1, 0);
		meet("kill");
		while ((n = recv(c, buf, sizeof(buf), 0)) > 0) {
			EQ(-1, pattern_check(buf, n, 1, pos));
			pos += n;
		}
		if (n < 0) {
			EQ(ECONNRESET, errno);
			resets++;
		}
		/* What is on its way may yet come here. */
		sleep_ms(20);
		EQ(0, recv(c, buf, sizeof(buf), MSG_DONTWAIT));
		close(c);
		meet("done");
	}
	EQ(KILLS, resets);
}

static void killed_while_read_server(void)
{
	int round;

	for (round = 0; round < KILLS; round++) {
		int s = open_server();
		pid_t pid = OK(fork());

		if (!pid) {
			send_pattern(s, 1ull << 40, 1, 0);
			_exit(1);
		}
		EVENTUALLY(true, inq(s) > 0);
		close(s);
		meet("kill");
		OK(kill(pid, SIGKILL));
		EQ(pid, waitpid(pid, NULL, 0));
		meet("done");
	}
}

/*
 * The peer is killed while nothing of its host gets through, and its word of
 * it is lost, however often it is repeated: who waits for room, with nothing
 * under way, finds out when the network is back.
 */
PAIR_CASE_LIMIT(killed_in_outage, BIT(TCP_V4) | BIT(ULP_V6), 60)

static void killed_in_outage_client(void)
{
	struct task w = { .run = task_send, .len = 64 << 20 };
	int c = open_client();
	char x = 0;

	w.buf = calloc(1, w.len);
	w.fd = c;
	task_start(&w);
	CHECK(!w.done);
	meet("full");
	task_join(&w);
	ktap_note("after %lld ms", w.ms);
	/* A part was taken: the next call has the error. */
	CHECK(w.ret > 0);
	EQ(-1, send(c, &x, 1, MSG_NOSIGNAL));
	if (errno != ECONNRESET && (!on_sdp() || errno != ETIMEDOUT))
		FAIL("send: %s", ktap_errno(errno));
	FAILS(EPIPE, send(c, &x, 1, MSG_NOSIGNAL));
	meet("done");
}

static void killed_in_outage_server(void)
{
	int s = open_server();
	pid_t pid = OK(fork()), link;

	if (!pid)
		pause();
	close(s);
	meet("full");
	settle();
	link = outage(LOSING, LONGER_OUTAGE);
	OK(kill(pid, SIGKILL));
	EQ(pid, waitpid(pid, NULL, 0));
	CHILD_OK(link);
	meet("done");
}

int main(int argc, char **argv)
{
	return pair_main(argc, argv);
}
