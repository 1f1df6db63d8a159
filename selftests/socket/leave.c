// SPDX-License-Identifier: GPL-2.0
/*
 * Joined sockets (net.sdp.local) that return to TCP, and those that need not: by
 * options, packet sockets that watch, and MSG_ZEROCOPY.  What a program sees is
 * as with TCP.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <linux/tls.h>
#include <netinet/tcp.h>

#include "../lib/variant.h"

/* Since @before was read @n more directions returned to TCP for the reason @why. */
static int left_for_(const char *why, unsigned long long before, int n)
{
	char name[64];

	snprintf(name, sizeof(name), "local_leaves_%s", why);
	EQ(before + (on_join() ? n : 0), counter(name));
	return 0;
}

#define left_for(...)	CALL(left_for_(__VA_ARGS__))

/* What @s has sent is @n bytes more than @before, by pipes. */
static int by_pipe_(unsigned long long before, long long n)
{
	if (on_join())
		EQ(before + n, counter("local_bytes_sent"));
	return 0;
}

#define by_pipe(...)	CALL(by_pipe_(__VA_ARGS__))

/* Records go both ways, one of them read as it is. */
static void secret(const struct pair *p)
{
	struct task t = { .run = task_send_all, .len = 300000 };
	unsigned char record[5];

	tls_key(p->c, TLS_TX, 'c');
	send_text(p->c, "secret");
	EQ(5, recv(p->s, record, sizeof(record), MSG_PEEK | MSG_WAITALL));
	EQ(23, record[0]);
	tls_key(p->s, TLS_RX, 'c');
	recv_text(p->s, "secret");
	tls_key(p->s, TLS_TX, 's');
	tls_key(p->c, TLS_RX, 's');
	t.fd = p->s;
	task_start(&t);
	recv_pattern(p->c, t.len, 1, 0);
	EQ(t.len, task_join(&t));
	OK(shutdown(p->c, SHUT_WR));
	expect_eof(p->s);
}

/* kTLS after a handshake that went by the pipes; the last word is not read yet. */
CASE_ON(leave_for_ktls, ON_TCP | ON_JOIN)
{
	unsigned long long option = counter("local_leaves_option");
	unsigned long long sent = counter("local_bytes_sent");
	struct pair p;

	pair_open(&p);
	send_text(p.c, "hello");
	recv_text(p.s, "hello");
	send_text(p.s, "hello, finished");
	recv_text(p.c, "hello, finished");
	send_text(p.c, "finished");
	by_pipe(sent, 5 + 15 + 8);
	set_tls(p.c);
	left_for("option", option, 2);
	recv_text(p.s, "finished");
	set_tls(p.s);
	left_for("option", option, 2);
	secret(&p);
	by_pipe(sent, 5 + 15 + 8);
}

/* kTLS decrypts what TCP has unread, but a pipe is not TCP: the program does without. */
CASE_ON(leave_not_while_unread, ON_JOIN)
{
	unsigned long long option = counter("local_leaves_option");
	struct pair p;

	pair_open(&p);
	send_text(p.s, "ticket");
	FAILS(EEXIST, setsockopt(p.c, SOL_TCP, TCP_ULP, "tls", 3));
	left_for("option", option, 0);
	recv_text(p.c, "ticket");
	set_tls(p.c);
	set_tls(p.s);
	left_for("option", option, 2);
	secret(&p);	/* one direction was never by the pipe */
}

/* A client that nobody has accepted yet, and never is joined then. */
CASE_ON(leave_before_accept, ON_TCP | ON_JOIN)
{
	unsigned long long joins = counter("local_joins");
	struct pair p;

	pair_start(&p);
	OK(connect_to(p.c, &p.addr));
	set_tls(p.c);
	p.s = accept_any(p.l);
	EQ(joins, counter("local_joins"));
	set_tls(p.s);
	secret(&p);
}

/* A caller that is asleep in recv() when another makes the socket TCP's. */
CASE_ON(leave_reader_asleep, ON_TCP | ON_JOIN)
{
	struct task t = { .run = task_recv, .len = 6 };
	char name[16] = "";
	socklen_t len = sizeof(name);
	struct pair p;

	pair_open(&p);
	t.fd = p.c;
	t.buf = memory(6, 0);
	task_start(&t);
	still_waits(&t);
	set_tls(p.c);
	/* Without a key the bytes are as they come. */
	send_text(p.s, "answer");
	EQ(6, task_join(&t));
	EQ(0, memcmp(t.buf, "answer", 6));
	OK(getsockopt(p.c, SOL_TCP, TCP_ULP, name, &len));
	EQ(0, strcmp(name, "tls"));
}

/* Who repairs reads TCP's queues: so the bytes have to be there, or read. */
CASE_ON(leave_for_repair, ON_TCP | ON_JOIN)
{
	unsigned long long option = counter("local_leaves_option");
	struct pair p;

	pair_open(&p);
	send_text(p.c, "unread");
	if (on_join()) {
		FAILS(EPERM, set_int(p.c, SOL_TCP, TCP_REPAIR, 1));
		FAILS(EPERM, set_int(p.s, SOL_TCP, TCP_REPAIR, 1));
	}
	recv_text(p.s, "unread");
	left_for("option", option, 0);
	OK(set_int(p.c, SOL_TCP, TCP_REPAIR, 1));
	left_for("option", option, 2);
	/* -1: without a window probe */
	OK(set_int(p.c, SOL_TCP, TCP_REPAIR, -1));
	send_text(p.c, "by TCP");
	recv_text(p.s, "by TCP");
	send_text(p.s, "as well");
	recv_text(p.c, "as well");
	/* What does not repair changes nothing. */
	pair_open(&p);
	OK(set_int(p.c, SOL_TCP, TCP_REPAIR, 0));
	left_for("option", option, 2);
}

/* A storm of it: both ends have bytes under way, and each byte comes. */
CASE_LIMIT(leave_in_a_storm, ON_TCP | ON_JOIN, 60)
{
	enum { ROUNDS = 40, LEN = 200000 };
	unsigned long long option = counter("local_leaves_option");
	int i, left = 0;

	for (i = 0; i < ROUNDS; i++) {
		struct task t = { .run = task_send_all, .len = LEN };
		long long got;
		struct pair p;
		int end;

		pair_open(&p);
		t.fd = p.s;
		task_start(&t);
		end = i % 2 ? p.c : p.s;
		for (got = 0; got < LEN; got += 1000) {
			recv_pattern(p.c, 1000, 1, got);
			if (got / 1000 >= i * 4 && left <= i)
				left += !setsockopt(end, SOL_TCP, TCP_ULP, "tls", 3);
		}
		EQ(LEN, task_join(&t));
		if (left <= i) {
			set_tls(end);
			left++;
		}
		send_text(p.c, "all");
		recv_text(p.s, "all");
		close(p.c);
		expect_eof(p.s);
		close(p.s);
		close(p.l);
	}
	left_for("option", option, 2 * left);
}

/* ---------------------------------------------------------------- who watches */

/* A packet socket on lo. */
static int packet_socket(void)
{
	struct sockaddr_ll lo = {
		.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
		.sll_ifindex = if_nametoindex("lo"),
	};
	int fd = OK(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)));

	OK(bind(fd, (struct sockaddr *)&lo, sizeof(lo)));
	return fd;
}

/* Whether it has seen a packet with @text. */
static bool seen(int fd, const char *text)
{
	static char packet[65536 + 100];
	ssize_t n;

	while ((n = recv(fd, packet, sizeof(packet), MSG_DONTWAIT)) >= 0)
		if (memmem(packet, n, text, strlen(text)))
			return true;
	return false;
}

/* From the moment that tcpdump watches, it sees what is sent. */
CASE_ON(leave_for_packet_socket, ON_TCP | ON_JOIN)
{
	unsigned long long watched = counter("local_leaves_watched");
	unsigned long long sent = counter("local_bytes_sent");
	struct pair p;
	int fd;

	pair_open(&p);
	send_text(p.c, "unseen");
	recv_text(p.s, "unseen");
	by_pipe(sent, 6);
	fd = packet_socket();
	usleep(50000);	/* the next look is in the next jiffy */
	send_text(p.c, "to be seen");
	recv_text(p.s, "to be seen");
	EVENTUALLY(true, seen(fd, "to be seen"));
	left_for("watched", watched, 1);
	send_text(p.s, "this one too");
	recv_text(p.c, "this one too");
	EVENTUALLY(true, seen(fd, "this one too"));
	left_for("watched", watched, 2);
	by_pipe(sent, 6);
	/* For good. */
	close(fd);
	send_text(p.c, "later");
	recv_text(p.s, "later");
	by_pipe(sent, 6);
	left_for("watched", watched, 2);
}

/* -------------------------------------------------------------- MSG_ZEROCOPY */

/* It is copied, as by TCP on lo, the caller told so, and nothing leaves the pipe. */
CASE_ON(leave_not_for_zerocopy, ON_TCP | ON_JOIN)
{
	enum { CALLS = 5, LEN = 100000 };
	unsigned long long leaves = counter("local_leaves");
	unsigned long long sent = counter("local_bytes_sent");
	unsigned int told = 0, i;
	bool copied;
	struct pair p;
	char *buf, c;

	pair_open(&p);
	OK(set_int(p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	buf = memory(CALLS * LEN, 0);
	pattern_fill(buf, CALLS * LEN, 1, 0);
	for (i = 0; i < CALLS; i++) {
		EQ(LEN, send(p.c, buf + i * LEN, LEN, MSG_ZEROCOPY));
		recv_pattern(p.s, LEN, 1, i * LEN);
	}
	while (told < CALLS) {
		told += notified(p.c, told, &copied);
		EQ(true, copied);
	}
	EQ(CALLS, told);
	/* A call that sends nothing has no number. */
	FAILS(EFAULT, send(p.c, (void *)8, LEN, MSG_ZEROCOPY));
	FAILS(EAGAIN, recv(p.c, &c, 1, MSG_ERRQUEUE));
	EQ(100, send(p.c, buf, 100, MSG_ZEROCOPY));
	EQ(1, notified(p.c, told++, &copied));
	recv_pattern(p.s, 100, 1, 0);
	by_pipe(sent, CALLS * LEN + 100);
	EQ(leaves, counter("local_leaves"));
}
