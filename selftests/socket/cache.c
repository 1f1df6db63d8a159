// SPDX-License-Identifier: GPL-2.0
/*
 * What is known of destinations: an attempt over SDP that came to nothing is
 * not made again for a while, and net.sdp.learn asks before it tries.
 *
 * Only TCP_ULP falls back by itself, so it is what these cases are about.
 */
#include <poll.h>
#include <unistd.h>

#include "lib/variant.h"

/* Nothing is forgotten meanwhile, and no attempt fails for want of time. */
static int remember_(void)
{
	sysctl("cache_timeout", 600000);
	sysctl("connect_timeout", ktap_ms(10000));
	return 0;
}

#define remember() CALL(remember_())

/* By TCP_ULP, and it may not fall back. */
static int required(void)
{
	int fd = sock();

	OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 0));
	return fd;
}

/* A new connection, and whether it went by SDP. */
static bool by_sdp(int l, const union addr *a)
{
	int c = sock(), s;
	bool sdp;

	OK(connect_to(c, a));
	sdp = is_sdp(c);
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	EQ(sdp, is_sdp(s));
	send_text(c, "there");
	recv_text(s, "there");
	/* So that the listener's port is in TIME_WAIT, always. */
	close(s);
	close(c);
	return sdp;
}

struct counts {
	unsigned long long fallback, refused, cached, learning, fail, probes;
};

static struct counts counts(void)
{
	struct counts now = {
		counter("fallback"), counter("fallback_refused"),
		counter("fallback_cached"), counter("fallback_learning"),
		counter("connect_fail"), counter("probes"),
	};

	return now;
}

/* Since @was, so many fell back for each reason, and so many tried. */
static int counted_(const struct counts *was, int refused, int cached,
		    int learning, int tried)
{
	struct counts now = counts();

	ktap_note("since then: %llu fell back: %llu refused, %llu cached, %llu learning; %llu tried",
		  now.fallback - was->fallback, now.refused - was->refused,
		  now.cached - was->cached, now.learning - was->learning,
		  now.fail - was->fail);
	EQ(refused, now.refused - was->refused);
	EQ(cached, now.cached - was->cached);
	EQ(learning, now.learning - was->learning);
	EQ(refused + cached + learning, now.fallback - was->fallback);
	EQ(tried, now.fail - was->fail);
	return 0;
}

#define counted(...) CALL(counted_(__VA_ARGS__))

CASE_ON(cache_refused, ON_ULP)
{
	struct counts was;
	union addr a, b;
	int l = tcp_listener(&a), other = tcp_listener(&b);

	remember();
	was = counts();
	CHECK(!by_sdp(l, &a));
	counted(&was, 1, 0, 0, 1);
	CHECK(!by_sdp(l, &a));
	CHECK(!by_sdp(l, &a));
	counted(&was, 1, 2, 0, 1);
	/* It was this port that refused, not the host. */
	CHECK(!by_sdp(other, &b));
	counted(&was, 2, 2, 0, 2);
}

/*
 * A port is shared where the other end is another: when there are no more for one, there
 * are for others, by TCP and by SDP.
 */
CASE_ON(cache_shares_ports, ON_ULP)
{
	union addr a, b, other;
	int l = tcp_listener(&a), fresh = tcp_listener(&b);
	unsigned long long limit = counter("fallback_limit");
	struct counts was;
	int i;

	tcp_listener(&other);
	remember();
	CHECK(!by_sdp(l, &a));
	only_ports(61000, 61003);
	for (i = 0; i < 4; i++)
		OK(connect_to(tcp_sock(), &other));
	FAILS(EADDRNOTAVAIL, connect_to(tcp_sock(), &other));
	OK(connect_to(tcp_sock(), &a));
	close(OK(accept(l, NULL, NULL)));
	was = counts();
	CHECK(!by_sdp(l, &a));
	EQ(1, counter("fallback_cached") - was.cached);
	EQ(limit, counter("fallback_limit"));
	/* Who tries SDP has one for that, or has to do without. */
	CHECK(!by_sdp(fresh, &b));
	limit += !shares_ports();
	EQ(limit, counter("fallback_limit"));
	FAILS(EADDRNOTAVAIL, connect_to(sock(), &other));
	EQ(limit + 1, counter("fallback_limit"));
	FAILS(EADDRNOTAVAIL, connect_to(required(), &other));
}

CASE_ON(cache_off, ON_ULP)
{
	struct counts was = counts();
	union addr a, b;
	int l = tcp_listener(&a), other = tcp_listener(&b);

	sysctl("cache_timeout", 0);
	CHECK(!by_sdp(l, &a));
	CHECK(!by_sdp(l, &a));
	counted(&was, 2, 0, 0, 2);
	remember();
	CHECK(!by_sdp(other, &b));
	counted(&was, 3, 0, 0, 3);
	sysctl("cache_max", 0);
	CHECK(!by_sdp(other, &b));
	CHECK(!by_sdp(other, &b));
	counted(&was, 5, 0, 0, 5);
	/* Nor is what was known before. */
	sysctl("cache_max", 4096);
	CHECK(!by_sdp(other, &b));
	counted(&was, 6, 0, 0, 6);
	sysctl("cache_max", 0);
	CHECK(!by_sdp(other, &b));
	counted(&was, 7, 0, 0, 7);
	/* 0 forgets for good. */
	sysctl("cache_max", 4096);
	CHECK(!by_sdp(other, &b));
	CHECK(!by_sdp(other, &b));
	counted(&was, 8, 1, 0, 8);
	sysctl("cache_timeout", 0);
	CHECK(!peer_known(&b, addr_port(&b)));
	remember();
	CHECK(!by_sdp(other, &b));
	counted(&was, 9, 1, 0, 9);
}

/* The oldest of too many makes room. */
CASE_ON(cache_full, ON_ULP)
{
	struct counts was;
	union addr a[3];
	int l[3], i;

	remember();
	sysctl("cache_max", 2);
	was = counts();
	for (i = 0; i < 3; i++) {
		l[i] = tcp_listener(&a[i]);
		CHECK(!by_sdp(l[i], &a[i]));
	}
	counted(&was, 3, 0, 0, 3);
	CHECK(!by_sdp(l[1], &a[1]));
	CHECK(!by_sdp(l[2], &a[2]));
	counted(&was, 3, 2, 0, 3);
	CHECK(!by_sdp(l[0], &a[0]));
	counted(&was, 4, 2, 0, 4);
}

/* A listener over SDP at the address of one that is closed. */
static int listen_again(const union addr *a)
{
	int l = sock();

	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, a));
	OK(listen(l, 8));
	return l;
}

/* Nobody listens, by TCP neither: whoever comes a second later is asked again. */
CASE_ON(cache_no_server, ON_ULP)
{
	struct counts was;
	union addr a;
	int c, i;

	remember();
	was = counts();
	close(tcp_listener(&a));
	for (i = 0; i < 2; i++)
		FAILS(ECONNREFUSED, connect_to(sock(), &a));
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await(c, POLLOUT);
	EQ(ECONNREFUSED, get_int(c, SOL_SOCKET, SO_ERROR));
	counted(&was, 3, 0, 0, 3);
	CHECK(!peer_known(&a, addr_port(&a)));
	/* Nor when somebody has had the time to look at it. */
	usleep(ktap_ms(100) * 1000);
	CHECK(!peer_known(&a, addr_port(&a)));
	CHECK(by_sdp(listen_again(&a), &a));
}

/* Who does not wait for TCP learns from it all the same; be it closed by then. */
CASE_ON(cache_refused_nonblocking, ON_ULP)
{
	struct counts was;
	union addr a, b;
	int l = tcp_listener(&a), other = tcp_listener(&b), c;

	remember();
	was = counts();
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	await(c, POLLOUT);
	EVENTUALLY(true, !!peer_known(&a, addr_port(&a)));
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &b));
	await(other, POLLIN);
	close(c);
	EVENTUALLY(true, !!peer_known(&b, addr_port(&b)));
	counted(&was, 2, 0, 0, 2);
	close(OK(accept(l, NULL, NULL)));
	CHECK(!by_sdp(l, &a));
	counted(&was, 2, 1, 0, 2);
}

/* Its refusal is remembered, and used. */
static int refusal_kept_(int l, const union addr *a, struct counts *was)
{
	remember();
	*was = counts();
	CHECK(!by_sdp(l, a));
	CHECK(!by_sdp(l, a));
	counted(was, 1, 1, 0, 1);
	return 0;
}

#define refusal_kept(...) CALL(refusal_kept_(__VA_ARGS__))

/* Whoever listens here knows better. */
CASE_ON(cache_forgotten_by_listen, ON_ULP)
{
	struct counts was;
	union addr a;
	int l = tcp_listener(&a);

	refusal_kept(l, &a, &was);
	close(l);
	CHECK(by_sdp(listen_again(&a), &a));
	counted(&was, 1, 1, 0, 1);
}

/* An answer is not for ever. */
CASE_ON(cache_expires, ON_ULP)
{
	struct counts was;
	union addr a;
	int l = tcp_listener(&a);

	refusal_kept(l, &a, &was);
	sysctl("cache_timeout", 100);
	usleep(110000);
	CHECK(!by_sdp(l, &a));
	counted(&was, 2, 1, 0, 2);
}
BY_CLOCK(cache_expires);

/*
 * Who will have SDP asks by himself, and what he is granted all know.  What a refusal
 * means TCP would have to say, whom he does not ask.
 */
CASE_ON(cache_required, ON_ULP)
{
	struct counts was;
	union addr a;
	int l = tcp_listener(&a), c;

	remember();
	was = counts();
	FAILS(ECONNREFUSED, connect_to(required(), &a));
	counted(&was, 0, 0, 0, 1);
	CHECK(!by_sdp(l, &a));
	CHECK(!by_sdp(l, &a));
	counted(&was, 1, 1, 0, 2);
	close(l);
	l = listen_again(&a);
	c = required();
	OK(connect_to(c, &a));
	close(OK(accept(l, NULL, NULL)));
	CHECK(by_sdp(l, &a));
	counted(&was, 1, 1, 0, 2);
}

/* Unknown: by TCP at once, and the next one knows. */
CASE_ON(learn, ON_ULP)
{
	struct counts was;
	union addr a, b;
	int l = listener(&a, 64), plain = tcp_listener(&b);

	remember();
	sysctl("learn", 1);
	was = counts();
	CHECK(!by_sdp(l, &a));
	counted(&was, 0, 0, 1, 0);
	EQ(1, counter("probes") - was.probes);
	EVENTUALLY(true, by_sdp(l, &a));
	was = counts();
	CHECK(by_sdp(l, &a));
	counted(&was, 0, 0, 0, 0);

	CHECK(!by_sdp(plain, &b));
	counted(&was, 0, 0, 1, 0);
	EQ(1, counter("probes") - was.probes);
	EVENTUALLY(true, (by_sdp(plain, &b),
			  counter("fallback_cached") > was.cached));
	was = counts();
	CHECK(!by_sdp(plain, &b));
	counted(&was, 0, 1, 0, 0);
	/* One question each; nobody was bothered with a connection. */
	EQ(0, counter("probes") - was.probes);
	EQ_HEX(0, poll_one(l, POLLIN, 50));
}

/* A failed attempt is felt by those who learn, too. */
CASE_ON(learn_from_failure, ON_ULP)
{
	union addr a;
	int l = listener(&a, 64);

	remember();
	sysctl("learn", 1);
	CHECK(!by_sdp(l, &a));
	EVENTUALLY(true, by_sdp(l, &a));
	close(l);
	FAILS(ECONNREFUSED, connect_to(sock(), &a));
	l = OK(socket(variant->family, SOCK_STREAM | SOCK_CLOEXEC, 0));
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, &a));
	OK(listen(l, 64));
	CHECK(!by_sdp(l, &a));
}

/* Many who ask at once ask once. */
CASE_ON(learn_at_once, ON_ULP)
{
	unsigned long long probes = counter("probes");
	union addr a;
	int l = listener(&a, 64), c[20], i;

	remember();
	sysctl("learn", 1);
	for (i = 0; i < 20; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	for (i = 0; i < 20; i++) {
		await(c[i], POLLOUT);
		EQ(0, get_int(c[i], SOL_SOCKET, SO_ERROR));
		await(l, POLLIN);
		close(OK(accept(l, NULL, NULL)));
	}
	EQ(1, counter("probes") - probes);
	EQ_HEX(0, poll_one(l, POLLIN, 50));
}

/* An answer that cannot be kept would be asked for ever: so it is tried. */
CASE_ON(learn_without_memory, ON_ULP)
{
	struct counts was;
	union addr a;
	int l = listener(&a, 64);

	remember();
	sysctl("learn", 1);
	sysctl("cache_max", 0);
	was = counts();
	CHECK(by_sdp(l, &a));
	counted(&was, 0, 0, 0, 0);
	EQ(0, counter("probes") - was.probes);
}

/* A full backlog is this moment's: not held against the server for long. */
CASE_ON(cache_busy, ON_ULP)
{
	unsigned long long busy = counter("fallback_busy");
	int l, c, s, i;
	union addr a;

	l = listener(&a, 1);
	remember();
	for (i = 0; i < 2; i++)
		OK(connect_to(required(), &a));
	/* What is said for a 64th of that time is said for 100 ms. */
	sysctl("cache_timeout", 6400);
	sysctl("connect_timeout", ktap_ms(1000));
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	EVENTUALLY(busy + 1, counter("fallback_busy"));
	/* TCP's SYN waits for room as well. */
	for (i = 0; i < 3; i++) {
		await(l, POLLIN);
		s = OK(accept(l, NULL, NULL));
		EQ(i < 2, is_sdp(s));
	}
	usleep(110000);
	sysctl("connect_timeout", ktap_ms(10000));
	CHECK(by_sdp(l, &a));
}
BY_CLOCK(cache_busy);

/* Nor for longer when many find it so at once: they have seen the same moment. */
CASE_ON(cache_busy_at_once, ON_ULP)
{
	enum { N = 8 };
	unsigned long long busy = counter("fallback_busy");
	int l, c[N], i;
	union addr a;

	l = listener(&a, 1);
	remember();
	for (i = 0; i < 2; i++)
		OK(connect_to(required(), &a));
	/* A 64th is a second; what follows is held against it for four, 16 and 64. */
	sysctl("cache_timeout", ktap_ms(64000));
	sysctl("connect_timeout", ktap_ms(300));
	for (i = 0; i < N; i++) {
		c[i] = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c[i], &a));
	}
	EVENTUALLY(busy + N, counter("fallback_busy"));
	for (i = 0; i < N; i++)
		close(c[i]);
	usleep(ktap_ms(1100) * 1000);
	for (i = 0; i < 2; i++) {
		await(l, POLLIN);
		close(OK(accept(l, NULL, NULL)));
	}
	while (poll_one(l, POLLIN, 0))
		close(OK(accept(l, NULL, NULL)));
	sysctl("connect_timeout", ktap_ms(10000));
	CHECK(by_sdp(l, &a));
}
BY_CLOCK(cache_busy_at_once);
