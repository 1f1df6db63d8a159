// SPDX-License-Identifier: GPL-2.0
/*
 * sock_diag's dumps of family 27, a piece at a time: what is there from beginning to end
 * is shown once, whatever else comes and goes between the pieces; and the work is as the
 * number of entries.
 *
 * TCP is no oracle here: inet_diag counts the sockets of a hash row, and shows one twice,
 * or not at all, when another in its row comes or goes.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include "lib/variant.h"

#define LISTENERS	(1u << 31)

enum {
#define STATE(state) SDP_##state,
	SDP_STATES(STATE)
#undef STATE
};

struct dump {
	int fd;
	bool done;
	int pieces;
	int entries;
	/* Of each: by its port, how often it was shown.  NULL: only counted. */
	unsigned char *shown;
};

static void dump_begin(struct dump *d, int what, __u32 states, unsigned char *shown)
{
	*d = (struct dump){ .shown = shown };
	if (shown)
		memset(shown, 0, 65536);
	d->fd = OK(diag_ask(what, states));
}

/* A dozen or so: the kernel fills what it is given.  false: there is no more. */
static bool dump_piece(struct dump *d)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[4096];
	} buf;
	int len = OK(recv(d->fd, &buf, sizeof(buf), 0));
	const struct sdp_diag_msg *m;
	struct nlmsghdr *h;

	d->pieces++;
	for (h = &buf.nlh; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
		CHECK(h->nlmsg_type != NLMSG_ERROR);
		if (h->nlmsg_type == NLMSG_DONE) {
			d->done = true;
			continue;
		}
		m = NLMSG_DATA(h);
		d->entries++;
		if (d->shown)
			d->shown[ntohs(m->sdm_sport)]++;
	}
	if (d->done)
		close(d->fd);
	return !d->done;
}

static void dump_rest(struct dump *d)
{
	while (!d->done)
		dump_piece(d);
}

static unsigned char shown[65536];

/* ------------------------------------------------------------- others come and go */

enum { KEPT = 150, GONE = 60 };	/* more than the kernel has ready at a time */

/* As many of them are closed that were shown, and that were not. */
static int goes(int i)
{
	return i < GONE / 2 || i >= KEPT + GONE / 2;
}

CASE_ON(dump_listeners_that_stay, ON_SDP)
{
	int l[KEPT + GONE], port[KEPT + GONE], others[GONE], i;
	struct dump d;
	union addr a;

	for (i = 0; i < KEPT + GONE; i++) {
		l[i] = listener(&a, 1);
		port[i] = addr_port(&a);
	}
	dump_begin(&d, SDP_DIAG_SOCKETS, LISTENERS, shown);
	while (!shown[port[GONE / 2]])
		CHECK(dump_piece(&d));
	CHECK(!shown[port[KEPT + GONE / 2 - 1]]);
	for (i = 0; i < KEPT + GONE; i++)
		if (goes(i))
			close(l[i]);
	for (i = 0; i < GONE; i++)
		others[i] = listener(&a, 1);
	dump_rest(&d);
	CHECK(d.pieces > 3);
	for (i = 0; i < KEPT + GONE; i++)
		if (!goes(i))
			EQ(1, shown[port[i]]);
	for (i = 0; i < GONE; i++)
		close(others[i]);
}

/* Both ends are here, the client with a port that no other has: bound, it shares none. */
static int open_bound(struct pair *p)
{
	union addr me;

	pair_start(p);
	here(&me, 0);
	OK(bind_to(p->c, &me));
	pair_finish(p);
	OK(name_of(p->c, &me));
	return addr_port(&me);
}

CASE_ON(dump_connections_that_stay, ON_SDP | ON_JOIN)
{
	enum { N = 60, ENDED = 20 };
	struct pair p[N], other;
	int port[N], i;
	struct dump d;

	/* Those of the case before this one may be about to end. */
	EVENTUALLY(0, sockets_shown(~LISTENERS));
	for (i = 0; i < N; i++)
		port[i] = open_bound(&p[i]);
	dump_begin(&d, SDP_DIAG_SOCKETS, ~LISTENERS, shown);
	while (!shown[port[ENDED]])
		CHECK(dump_piece(&d));
	CHECK(!shown[port[N - 1]]);
	for (i = 0; i < ENDED; i++) {
		close(p[i].c);
		close(p[i].s);
	}
	EVENTUALLY(2 * (N - ENDED), sockets_shown(~LISTENERS));
	open_bound(&other);
	dump_rest(&d);
	for (i = ENDED; i < N; i++)
		EQ(1, shown[port[i]]);
}

/* The entry of the socket; false if there is none. */
static bool entry_of(int fd, __u32 states, struct sdp_diag_msg *m)
{
	static union {
		struct nlmsghdr nlh;
		char bytes[32768];
	} buf;
	int nl = OK(diag_ask(SDP_DIAG_SOCKETS, states)), len;
	bool done = false, found = false;
	struct nlmsghdr *h;
	struct stat st;

	OK(fstat(fd, &st));
	while (!done) {
		len = OK(recv(nl, &buf, sizeof(buf), 0));
		for (h = &buf.nlh; NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			done |= h->nlmsg_type == NLMSG_DONE;
			CHECK(h->nlmsg_type != NLMSG_ERROR);
			if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY ||
			    ((struct sdp_diag_msg *)NLMSG_DATA(h))->sdm_inode != st.st_ino)
				continue;
			CHECK(!found);
			found = true;
			*m = *(struct sdp_diag_msg *)NLMSG_DATA(h);
		}
	}
	close(nl);
	return found;
}

static int shown_at_(const union addr *a, int port, const __u8 ip[16])
{
	struct in6_addr mapped = { .s6_addr = { [10] = 0xff, [11] = 0xff } };
	const void *want = &a->in6.sin6_addr;

	if (a->sa.sa_family == AF_INET) {
		memcpy(mapped.s6_addr + 12, &a->in.sin_addr, 4);
		want = &mapped;
	}
	EQ(addr_port(a), ntohs(port));
	CHECK(!memcmp(want, ip, 16));
	return 0;
}

#define shown_at(...) CALL(shown_at_(__VA_ARGS__))

/* What the entry says is what the socket says. */
static int entry_is_of_(int fd, int state)
{
	struct sdp_diag_msg m;
	union addr a;

	CHECK(entry_of(fd, 1u << state, &m));
	CHECK(!entry_of(fd, ~(1u << state), &m));
	EQ(state, m.sdm_state);
	EQ(variant->family, m.sdm_family);
	OK(name_of(fd, &a));
	shown_at(&a, m.sdm_sport, m.sdm_saddr);
	OK(peer_of(fd, &a));
	shown_at(&a, m.sdm_dport, m.sdm_daddr);
	EQ(1, m.sdm_ulp);
	EQ(getuid(), m.sdm_uid);
	EQ(state, m.sdm_info.sdpi_state);
	EQ(SDP_TRANSPORT_LOCAL, m.sdm_info.sdpi_transport);
	EQ(SDP_REASON_NONE, m.sdm_info.sdpi_reason);
	EQ(inq(fd), m.sdm_info.sdpi_inq);
	EQ(outq(fd), m.sdm_info.sdpi_outq);
	return 0;
}

#define entry_is_of(...) CALL(entry_is_of_(__VA_ARGS__))

static int moved_(int fd, unsigned int sent, unsigned int received)
{
	struct sdp_diag_msg m;

	CHECK(entry_of(fd, 0, &m));
	EQ(sent, m.sdm_info.sdpi_bytes_sent);
	EQ(received, m.sdm_info.sdpi_bytes_received);
	return 0;
}

#define moved(...) CALL(moved_(__VA_ARGS__))

/* Both ends of what is joined, from accept() to close(); TCP's are not ours to show. */
CASE_ON(dump_joined, ON_TCP | ON_JOIN)
{
	struct sdp_diag_msg m;
	struct pair p;
	long long full;

	/* Connections by SDP of earlier cases take their time to end. */
	EVENTUALLY(0, sockets_shown(~LISTENERS));
	pair_start(&p);
	OK(connect_to(p.c, &p.addr));
	CHECK(!entry_of(p.c, 0, &m));
	p.s = accept_one(p.l);
	if (!on_join()) {
		CHECK(!entry_of(p.c, 0, &m));
		CHECK(!entry_of(p.s, 0, &m));
		EQ(0, sockets_shown(~LISTENERS));
		return;
	}
	EQ(2, sockets_shown(~LISTENERS));
	entry_is_of(p.c, SDP_ESTABLISHED);
	entry_is_of(p.s, SDP_ESTABLISHED);
	send_text(p.s, "some that nobody reads");
	EQ(22, inq(p.c));
	entry_is_of(p.c, SDP_ESTABLISHED);
	moved(p.s, 22, 0);
	moved(p.c, 0, 0);
	recv_text(p.c, "some");
	moved(p.c, 0, 4);
	/* More than the receiver is said to have. */
	full = fill(p.c, 1);
	CHECK(outq(p.c) > 0);
	entry_is_of(p.c, SDP_ESTABLISHED);
	entry_is_of(p.s, SDP_ESTABLISHED);
	moved(p.c, full, 4);
	OK(shutdown(p.c, SHUT_WR));
	EQ(full, drain(p.s, 1, 0));
	moved(p.s, 22, full);
	EVENTUALLY(TCP_FIN_WAIT2, tcp_state(p.c));
	entry_is_of(p.c, SDP_FIN_WAIT_2);
	entry_is_of(p.s, SDP_CLOSE_WAIT);
	close(p.s);
	EQ(1, sockets_shown(~LISTENERS));
	close(p.c);
	EQ(0, sockets_shown(~LISTENERS));
}

/* The oldest records make room, and new ones are added, between the pieces. */
CASE_ON(dump_records_that_stay, ON_ULP)
{
	enum { RECORDS = 64, MORE = 24 };
	int port[RECORDS + MORE], l, i;
	struct dump d;
	union addr a, own;

	sysctl("fallback_records", 0);
	l = tcp_listener(&a);
	for (i = 0; i <= RECORDS; i++) {
		int fd = sock();

		OK(connect_to(fd, &a));
		close(OK(accept(l, NULL, NULL)));
		OK(name_of(fd, &own));
		/* The first one is what takes the old records away. */
		if (!i)
			sysctl("fallback_records", RECORDS);
		else
			port[i - 1] = addr_port(&own);
	}
	dump_begin(&d, SDP_DIAG_FALLBACKS, 0, shown);
	while (!shown[port[MORE]])
		CHECK(dump_piece(&d));
	CHECK(!shown[port[RECORDS - 1]]);
	for (i = RECORDS; i < RECORDS + MORE; i++) {
		int fd = sock();

		OK(connect_to(fd, &a));
		close(OK(accept(l, NULL, NULL)));
		OK(name_of(fd, &own));
		port[i] = addr_port(&own);
	}
	dump_rest(&d);
	for (i = 0; i < RECORDS + MORE; i++)
		EQ(1, shown[port[i]]);
	/* In a dump of its own are the newest, and no others. */
	dump_begin(&d, SDP_DIAG_FALLBACKS, 0, shown);
	dump_rest(&d);
	EQ(RECORDS, d.entries);
	for (i = 0; i < RECORDS + MORE; i++)
		EQ(i >= MORE, shown[port[i]]);
	sysctl("fallback_records", 1024);
}

/* ---------------------------------------------------------------------- the work */

/* Processor time of this process, which is where a dump is made. */
static long long cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ll + ts.tv_nsec;
}

/*
 * What so many entries cost by dumps of @n each: the least of a few times, as what the
 * machine does for others is in it as well.  The first that is little @enough will do.
 */
static long long dump_cost(int n, int entries, long long enough)
{
	long long best = 0, began, cost;
	struct dump d;
	int i, round;

	for (round = 0; round < 3 && (!best || best >= enough); round++) {
		began = cpu_ns();
		for (i = 0; i < entries; i += n) {
			dump_begin(&d, SDP_DIAG_SOCKETS, LISTENERS, NULL);
			dump_rest(&d);
			CHECK(d.entries >= n);
		}
		cost = cpu_ns() - began;
		if (!best || cost < best)
			best = cost;
	}
	return best;
}

static void open_listeners(int from, int to, int port)
{
	union addr a;
	int i, fd;

	for (i = from; i < to; i++) {
		addr_set(&a, AF_INET, "127.0.0.1", port);
		a.in.sin_addr.s_addr = htonl(ntohl(a.in.sin_addr.s_addr) + i);
		fd = sock();
		OK(bind_to(fd, &a));
		OK(listen(fd, 1));
	}
}

/*
 * As many entries are shown, by dumps that are four times as long: the time is the same,
 * or four times as long if each piece were to walk to where the one before it ended.  The
 * two are compared with each other only, so it does not matter how fast the machine is.
 */
CASE_LIMIT(dump_work_is_linear, BIT(ULP_V4), 240)
{
	enum { N = 4000, ENTRIES = 8 * N, PORT = 9797 };
	struct rlimit files = { 4 * N + 100, 4 * N + 100 };
	long long few, many;

	OK(setrlimit(RLIMIT_NOFILE, &files));
	open_listeners(0, N, PORT);
	few = dump_cost(N, ENTRIES, 0);
	open_listeners(N, 4 * N, PORT);
	many = dump_cost(4 * N, ENTRIES, 2 * few);
	printf("# %d entries, %d at a time: %lld ms; %d at a time: %lld ms\n", ENTRIES, N,
	       few / 1000000, 4 * N, many / 1000000);
	CHECK(many < 2 * few);
}
BY_CLOCK(dump_work_is_linear);
