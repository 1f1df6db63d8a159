// SPDX-License-Identifier: GPL-2.0
/*
 * Sockets of one host that are joined (net.sdp.local): who is and who is not, and
 * which way the bytes go.  What a program sees is as with TCP; that the other
 * cases show, by the same variants.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/net_tstamp.h>
#include <linux/tcp.h>

#include "../lib/variant.h"

#define JOINED_MIB (1 << 20)

/* Since @before was read @sent bytes went by pipes. */
static int went_by_pipe_(unsigned long long before, long long sent)
{
	if (on_join())
		EQ(before + sent, counter("local_bytes_sent"));
	return 0;
}

#define went_by_pipe(...) CALL(went_by_pipe_(__VA_ARGS__))

static unsigned long long by_pipe(void)
{
	return on_join() ? counter("local_bytes_sent") : 0;
}

/* Both ways, both together, and one side alone: all bytes go by the pipes. */
CASE(join_carries_all)
{
	unsigned long long before = by_pipe(), leaves = counter("local_leaves");
	struct task t = { .run = task_send, .len = JOINED_MIB };
	struct pair p;

	pair_open(&p);
	if (on_join()) {
		EQ(SDP_TRANSPORT_LOCAL, transport(p.c));
		EQ(SDP_TRANSPORT_LOCAL, transport(p.s));
	}
	t.fd = p.c;
	t.buf = memory(JOINED_MIB, 0);
	pattern_fill(t.buf, JOINED_MIB, 1, 0);
	task_start(&t);
	recv_pattern(p.s, JOINED_MIB, 1, 0);
	EQ(JOINED_MIB, task_join(&t));
	send_text(p.s, "answer");
	recv_text(p.c, "answer");
	went_by_pipe(before, JOINED_MIB + 6);
	EQ(leaves, counter("local_leaves"));
}

static bool has_sent(int fd)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);

	OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info.tcpi_data_segs_out;
}

/* What the client sends before accept() goes by TCP, what comes later by the pipe. */
static void early(size_t len)
{
	unsigned long long before = by_pipe();
	struct task t = { .run = task_send, .len = len };
	struct pair p;

	pair_start(&p);
	OK(connect_to(p.c, &p.addr));
	t.fd = p.c;
	t.buf = memory(len + 1, 0);
	pattern_fill(t.buf, len, 1, 0);
	task_start(&t);
	/* The call is in TCP before it could be joined. */
	EVENTUALLY(true, has_sent(p.c));
	went_by_pipe(before, 0);
	p.s = accept_one(p.l);
	recv_pattern(p.s, len, 1, 0);
	EQ((long)len, task_join(&t));
	/* A call that began in TCP ends there. */
	went_by_pipe(before, 0);
	send_pattern(p.c, 1000, 1, len);
	recv_pattern(p.s, 1000, 1, len);
	went_by_pipe(before, 1000);
	send_text(p.s, "answer");
	recv_text(p.c, "answer");
}

CASE(join_data_before)
{
	early(1);
	early(5000);
	early(6 << 20);
}

/* By TCP, the pipe, and TCP again, and only then is it read: in one piece. */
CASE(join_three_parts)
{
	struct pair p;

	pair_start(&p);
	OK(connect_to(p.c, &p.addr));
	send_text(p.c, "by TCP, ");
	p.s = accept_one(p.l);
	send_text(p.c, "by the pipe, ");
	OK(set_int(p.c, SOL_SOCKET, SO_TIMESTAMPING, SOF_TIMESTAMPING_TX_SOFTWARE));
	send_text(p.c, "and back.");
	EVENTUALLY(30, inq(p.s));
	recv_text(p.s, "by TCP, by the pipe, and back.");
}

/* Two callers send before accept(), and one is still in TCP when the other comes again. */
CASE(join_data_before_of_two)
{
	enum { LONG = 6 << 20 };
	struct task t = { .run = task_send, .len = LONG };
	char *all = memory(LONG + 2000, 0);
	struct pair p;
	size_t i, got = 0;

	pair_start(&p);
	OK(connect_to(p.c, &p.addr));
	t.fd = p.c;
	t.buf = memory(LONG, 0);
	memset(t.buf, 'l', LONG);
	task_start(&t);
	EVENTUALLY(true, has_sent(p.c));
	p.s = accept_one(p.l);
	nonblock(p.s, true);
	for (i = 0; i < 2000; ) {
		/* Behind what TCP has, or among it: but not lost, nor before it. */
		if (send(p.c, "s", 1, MSG_DONTWAIT) == 1)
			i++;
		ssize_t n = recv(p.s, all + got, 4096, 0);

		if (n > 0)
			got += n;
	}
	nonblock(p.s, false);
	while (got < LONG + 2000)
		got += OK(recv(p.s, all + got, LONG + 2000 - got, 0));
	EQ(LONG, task_join(&t));
	for (i = got = 0; i < LONG + 2000; i++) {
		CHECK(all[i] == 'l' || all[i] == 's');
		got += all[i] == 's';
	}
	EQ(2000, got);
}

/* A client that waits, as @t says, for what comes when it is joined. */
static struct pair join_asleep(struct task *t)
{
	struct pair p;

	pair_start(&p);
	OK(connect_to(p.c, &p.addr));
	t->fd = p.c;
	task_start(t);
	still_waits(t);
	p.s = accept_one(p.l);
	still_waits(t);
	send_text(p.s, "x");
	return p;
}

CASE(join_reader_asleep)
{
	char byte;
	struct task t = { .run = task_recv, .buf = &byte, .len = 1 };

	join_asleep(&t);
	EQ(1, task_join(&t));
	EQ('x', byte);
}

CASE(join_poller_asleep)
{
	struct task t = { .run = task_poll, .events = POLLIN };
	struct pair p = join_asleep(&t);

	EQ(POLLIN, task_join(&t));
	recv_text(p.c, "x");
}

/* By every address of this host. */
static void joined_by(int family, const char *bound, const char *to)
{
	unsigned long long joins = counter("local_joins");
	union addr a;
	int l, c, s;

	l = OK(via_socket(variant->via, family, 0));
	addr_set(&a, family, bound, 0);
	OK(bind_to(l, &a));
	OK(listen(l, 4));
	OK(name_of(l, &a));
	addr_set(&a, family, to, addr_port(&a));
	c = OK(via_socket(variant->via, family, 0));
	OK(connect_to(c, &a));
	s = accept_one(l);
	EQ(joins + on_join(), counter("local_joins"));
	send_text(c, "there");
	recv_text(s, "there");
	send_text(s, "and back");
	recv_text(c, "and back");
	close(c);
	expect_eof(s);
	close(s);
	close(l);
}

CASE_ON(join_addresses, ON_TCP | ON_JOIN)
{
	if (variant->family == AF_INET) {
		joined_by(AF_INET, "127.0.0.1", "127.0.0.1");
		joined_by(AF_INET, "0.0.0.0", "127.0.0.1");
		joined_by(AF_INET, "0.0.0.0", "127.1.2.3");
		joined_by(AF_INET, "0.0.0.0", "0.0.0.0");
		joined_by(AF_INET, "0.0.0.0", host_addr(AF_INET, NULL));
		return;
	}
	joined_by(AF_INET6, "::1", "::1");
	joined_by(AF_INET6, "::", "::1");
	joined_by(AF_INET6, "::", "::");
	joined_by(AF_INET6, "::", host_addr(AF_INET6, NULL));
	joined_by(AF_INET6, "::", "::ffff:127.0.0.1");
	joined_by(AF_INET6, "::ffff:127.0.0.1", "::ffff:127.0.0.1");
}

/* One door or another, at either end. */
CASE_ON(join_doors, ON_JOIN)
{
	enum via via[] = { VIA_PROTO, VIA_ULP, VIA_FAMILY };
	int n = variant->family == AF_INET ? 3 : 2, i, j, l, c, s;
	unsigned long long joins;
	union addr a;

	for (i = 0; i < n; i++)
		for (j = 0; j < n; j++) {
			joins = counter("local_joins");
			l = OK(via_socket(via[i], variant->family, 0));
			bind_here(l, &a);
			OK(listen(l, 4));
			c = OK(via_socket(via[j], variant->family, 0));
			OK(connect_to(c, &a));
			s = accept_one(l);
			EQ(joins + 1, counter("local_joins"));
			send_text(c, "hi");
			recv_text(s, "hi");
		}
}

/* With a plain socket at the other end both are plain. */
CASE_ON(join_with_plain, ON_JOIN)
{
	unsigned long long joins = counter("local_joins");
	unsigned long long local = counter("fallback_local");
	union addr a;
	int l, c, s;

	l = tcp_listener(&a);
	c = sock();
	OK(connect_to(c, &a));
	s = OK(accept(l, NULL, NULL));
	EQ(-1, transport(c));		/* it is TCP's */
	EQ(local + 1, counter("fallback_local"));
	send_text(c, "there");
	recv_text(s, "there");
	l = listener(&a, 4);
	c = tcp_sock();
	OK(connect_to(c, &a));
	s = accept_any(l);
	EQ(-1, transport(s));
	send_text(s, "and back");
	recv_text(c, "and back");
	EQ(joins, counter("local_joins"));
}

/* Nobody listens: as TCP; and the socket can listen itself then, or connect. */
CASE(join_refused)
{
	int c = sock(), l;
	union addr a, b;

	closed_port(&a);
	FAILS(ECONNREFUSED, connect_to(c, &a));
	l = listener(&b, 4);
	if (!on_ours() || on_join()) {
		c = sock();
		OK(connect_to(c, &b));
		accept_one(l);
	}
}

/* It is asked when a connection is accepted, and changes nothing that is there. */
CASE_ON(join_switched_off, ON_JOIN)
{
	unsigned long long joins = counter("local_joins");
	struct pair p;
	int c = sock(), s;

	pair_open(&p);
	OK(connect_to(c, &p.addr));
	sysctl("local", 0);
	s = accept_any(p.l);
	EQ(-1, transport(s));
	EQ(joins + 1, counter("local_joins"));
	send_text(s, "by TCP");
	recv_text(c, "by TCP");
	send_text(c, "and back");
	recv_text(s, "and back");
	send_text(p.c, "by the pipe");
	recv_text(p.s, "by the pipe");
}

/* Memory of TCP's sockets that is in use, in sockets; some more than there are. */
static long long tcp_socks(void)
{
	FILE *f = fopen("/proc/slabinfo", "re");
	char line[256], name[64];
	long long n = -1, active;

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld", name, &active) == 2 &&
		    !strcmp(name, variant->family == AF_INET6 ? "TCPv6" : "TCP"))
			n = active;
	fclose(f);
	CHECK(n >= 0);
	return n;
}

static void *accepts(void *arg)
{
	int l = *(int *)arg, s;

	while ((s = accept(l, NULL, NULL)) >= 0)
		close(s);
	return NULL;
}

/* A client that gives up while the server accepts it leaves no socket behind. */
CASE(join_dissolved_meanwhile)
{
	enum { ROUNDS = 1000 };
	union addr x = { .sa.sa_family = AF_UNSPEC };
	long long before = tcp_socks();
	pthread_t thread;
	int l, c, i;
	union addr a;

	l = listener(&a, 64);
	EQ(0, pthread_create(&thread, NULL, accepts, &l));
	for (i = 0; i < ROUNDS; i++) {
		c = sock();
		OK(connect_to(c, &a));
		if (i % 3 == 0)
			send(c, "x", 1, MSG_NOSIGNAL);
		/* When it is joined for certain, or in the middle. */
		if (i % 2 && on_join())
			EVENTUALLY(SDP_TRANSPORT_LOCAL, transport(c));
		OK(connect(c, &x.sa, sizeof(x.in)));
		close(c);
	}
	OK(shutdown(l, SHUT_RD));
	EQ(0, pthread_join(thread, NULL));
	close(l);
	EVENTUALLY(true, tcp_socks() < before + ROUNDS / 4);
}

/* Sends @n bytes, and reads them at once, in halves, or not at all. */
static void passed_on(const struct pair *p, size_t n, int flags, int how, long long pos)
{
	char *buf = memory(n, 0);

	pattern_fill(buf, n, 1, pos);
	EQ((ssize_t)n, send(p->c, buf, n, flags));
	if (how == 0) {
		recv_pattern(p->s, n, 1, pos);
	} else if (how == 1) {
		recv_pattern(p->s, n - n / 2, 1, pos);
		recv_pattern(p->s, n / 2, 1, pos + n - n / 2);
	}
}

/* A storm of leaves: each byte comes, in order, whatever carries it. */
CASE_LIMIT(join_leaves, ~0u, 60)
{
	enum { ROUNDS = 60, BACK = 300000 };
	unsigned long long leaves = counter("local_leaves");
	int i, j;

	for (i = 0; i < ROUNDS; i++) {
		struct task t = { .run = task_send_all, .len = BACK };
		long long pos = 0;
		struct pair p;

		pair_open(&p);
		OK(set_int(p.s, SOL_SOCKET, SO_OOBINLINE, 1));
		for (j = 0; j < 5; j++) {
			size_t n = 1 + (i * 7919 + j * 104729) % 9000;

			if (j == i % 5 && !(i % 2))
				OK(set_int(p.c, SOL_SOCKET, SO_TIMESTAMPING,
					   SOF_TIMESTAMPING_TX_SOFTWARE));
			passed_on(&p, n, j == i % 5 && i % 2 ? MSG_OOB : 0, i % 3, pos);
			pos += n;
		}
		if (i % 3 == 2)
			recv_pattern(p.s, pos, 1, 0);
		/* The other direction has not left. */
		t.fd = p.s;
		task_start(&t);
		recv_pattern(p.c, BACK, 1, 0);
		EQ(BACK, task_join(&t));
		close(p.c);
		expect_eof(p.s);
		close(p.s);
		close(p.l);
	}
	if (on_join())
		EQ(leaves + ROUNDS, counter("local_leaves"));
}
