// SPDX-License-Identifier: GPL-2.0
/*
 * Whole connections with one failing allocation anywhere, in workers and interrupts
 * too, and such as fall back or probe; then with many; and a device that comes or
 * goes meanwhile.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/wait.h>

#include "fault.h"
#include "lib/module.h"

enum { LIFE = 200000 };

static atomic_bool client_done;

/* Sends the pattern; how much was taken before an error. */
static long long life_send(int fd, __u64 key)
{
	static __thread char buf[16384];
	long long pos = 0;
	ssize_t n;

	while (pos < LIFE) {
		size_t want = LIFE - pos;

		if (want > sizeof(buf))
			want = sizeof(buf);
		pattern_fill(buf, want, key, pos);
		n = send(fd, buf, want, MSG_NOSIGNAL);
		if (n < 0 && errno == EAGAIN)
			FAIL("send hangs after %lld bytes", pos);
		if (n < 0)
			break;
		pos += n;
	}
	return pos;
}

/* Receives to the end, or an error; true if all came. */
static bool life_recv(int fd, __u64 key)
{
	static __thread char buf[16384];
	long long pos = 0;
	ssize_t n, bad;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		bad = pattern_check(buf, n, key, pos);
		if (bad >= 0)
			FAIL("wrong byte at %lld", pos + bad);
		pos += n;
	}
	if (n < 0 && errno == EAGAIN)
		FAIL("recv hangs after %lld bytes", pos);
	if (!n && pos != LIFE)
		FAIL("end of stream after %lld bytes, not reset", pos);
	return !n;
}

static void set_limits(int fd)
{
	/* Longer than all of the module's: connect 2 s, CM 8 s. */
	OK(set_ms(fd, SO_RCVTIMEO, ktap_ms(20000)));
	OK(set_ms(fd, SO_SNDTIMEO, ktap_ms(20000)));
}

static void life_server(struct task *t)
{
	int s;

	t->ret = 0;
	while (!client_done) {
		if (!(poll_one(t->fd, POLLIN, 20) & POLLIN))
			continue;
		s = accept(t->fd, NULL, NULL);
		if (s < 0)
			continue;	/* the client is told, or tries again */
		set_limits(s);
		if (life_recv(s, 5) && life_send(s, 6) == LIFE)
			t->ret++;
		close(s);
	}
}

enum life {
	GOOD,		/* there and back, every byte */
	REFUSED,	/* it was not established */
	BROKEN,		/* it was, and was reset */
};

/* One connection; @silent us pass before its first byte. */
static enum life life_client_after(const union addr *a, int silent)
{
	int c = via_socket(variant->via, variant->family, 0);
	enum life end = BROKEN;

	if (c < 0) {
		if (errno != ENOMEM && errno != ENOBUFS && errno != ENFILE)
			FAIL("socket: %s", ktap_errno(errno));
		return REFUSED;
	}
	set_limits(c);
	if (!connect_to(c, a)) {
		usleep(silent);
		if (life_send(c, 5) == LIFE && !shutdown(c, SHUT_WR) &&
		    life_recv(c, 6))
			end = GOOD;
		else if (errno != ECONNRESET && errno != EPIPE &&
			 errno != ENOTCONN)
			FAIL("broken by %s", ktap_errno(errno));
	} else {
		end = REFUSED;
		/* ECONNREFUSED, ETIMEDOUT: it was the peer who had no memory;
		 * ENETUNREACH: the device is gone.
		 */
		if (errno != ENOMEM && errno != ENOBUFS && errno != EADDRNOTAVAIL &&
		    errno != ECONNREFUSED && errno != ETIMEDOUT &&
		    errno != ENETUNREACH)
			FAIL("connect: %s", ktap_errno(errno));
	}
	close(c);
	return end;
}

static enum life life_client(const union addr *a)
{
	return life_client_after(a, 0);
}

static void life_start(struct task *t, union addr *a)
{
	fault_aim(FAULT_IN_MODULE);
	client_done = false;
	*t = (struct task){ .run = life_server, .fd = listener(a, 4) };
	task_start(t);
}

static void life_end(struct task *t)
{
	fault_quiet();
	client_done = true;
	task_join(t);
	close(t->fd);
}

/* One fault at a site in a connection's life; false if it did not come by. */
static bool life_at_site(const union addr *a, int n, int silent)
{
	enum { NOBODY = 65534 };
	enum life life;

	fault_site_arm(n);
	/* Who has no connection yet is not in the books. */
	setfsuid(NOBODY);
	life = life_client_after(a, silent);
	setfsuid(0);
	if (life == BROKEN)
		FAIL("site %d: an established connection broke", n + 1);
	/* What the last messages lead to. */
	usleep(20000);
	if (!fault_site_disarm(n))
		return false;
	EQ(GOOD, life_client(a));
	return true;
}

/* At each that one comes by, which speaks at once, or later than the RTU. */
static void life_at_sites(void)
{
	struct task t;
	union addr a;
	int n;

	life_start(&t, &a);
	for (n = fault_site_next(-1); n >= 0; n = fault_site_next(n))
		if (!life_at_site(&a, n, 0))
			life_at_site(&a, n, 20000);
	life_end(&t);
	fault_still_works();
}

/* One fault, ever further into the life of a connection. */
static void one_fault(const char *kind, int least)
{
	int k, good = 0, struck = 0, missed = 0;
	enum life life;
	struct task t;
	union addr a;

	if (fault_at_sites()) {
		life_at_sites();
		return;
	}
	life_start(&t, &a);
	for (k = 2; missed < 3 && k < 1000; k++) {
		fault_strike_once(kind, k);
		life = life_client(&a);
		if (life == BROKEN)
			FAIL("chance %d: an established connection broke", k);
		if (fault_struck_yet(kind)) {
			missed = 0;
			struck++;
			good += life == GOOD;
		} else {
			missed++;	/* so many chances there are not */
			EQ(GOOD, life);
			/* What has been counted is known at a fault only. */
			while (!fault_struck_yet(kind))
				life_client(&a);
		}
		fault_quiet();
		EQ(GOOD, life_client(&a));
	}
	life_end(&t);
	fault_still_works();
	ktap_note("%s: %d connections with one fault, %d went well", kind,
		  struck, good);
	if (struck < least)
		FAIL("expected at least %d faults, got %d", least, struck);
}

CASE_LIMIT(life_one_slab, BIT(FAMILY_V4) | BIT(ULP_V4), 400)
{
	one_fault("failslab", 20);
}

CASE_LIMIT(life_one_page, BIT(FAMILY_V4) | BIT(PROTO_V6) | BIT(ULP_V4), 400)
{
	one_fault("fail_page_alloc", 4);
}

/* ------------------------------------------------- falling back, and probing */

/*
 * A connection that goes well, whatever fails; whether by SDP.  If by TCP @reason is
 * why, or -1 if that is not on record.
 */
static bool goes_by(const union addr *a, int l, int *reason,
		    int (*connects)(int fd, const union addr *a))
{
	struct sdp_info info;
	bool by_sdp;
	int c, s;

	/* TCP, when it takes over, may have no memory for itself. */
	while ((c = via_socket(variant->via, variant->family, 0)) < 0 ||
	       connects(c, a)) {
		if (errno != ENOMEM && errno != ENOBUFS && errno != EADDRNOTAVAIL)
			FAIL("%s: %s", c < 0 ? "socket" : "connect", ktap_errno(errno));
		close(c);
	}
	set_limits(c);
	by_sdp = is_sdp(c);
	if (!by_sdp)
		EQ(-1, transport(c));
	*reason = -1;
	if (ip_info(c, &info) > 0)
		*reason = info.sdpi_reason;
	else if (errno != ENOPROTOOPT)
		FAIL("IP_SDP_INFO: %s", ktap_errno(errno));
	s = accept_any(l);
	set_limits(s);
	fault_talk(c, s);
	close(c);
	close(s);
	return by_sdp;
}

static int waits(int fd, const union addr *a)
{
	return connect_to(fd, a);
}

/* What TCP is answered, nobody waits for in the kernel. */
static int polls(int fd, const union addr *a)
{
	nonblock(fd, true);
	if (connect_to(fd, a)) {
		EQ(EINPROGRESS, errno);
		await(fd, POLLOUT);
		errno = get_int(fd, SOL_SOCKET, SO_ERROR);
		if (errno)
			return -1;
	}
	nonblock(fd, false);
	return 0;
}

static bool goes(const union addr *a, int l, int *reason)
{
	return goes_by(a, l, reason, waits);
}

/* Those that fell back so far are on record no more. */
static void forget_records(void)
{
	union addr a;
	int l = tcp_listener(&a), reason;

	sysctl("fallback_records", 0);
	EQ(false, goes(&a, l, &reason));
	EQ(-1, reason);
	sysctl("fallback_records", 1024);
	close(l);
}

/* An address that no route was asked for yet. */
#define NEW_ADDRESS "fd09::99"

static void new_address(const char *verb)
{
	char line[80];

	snprintf(line, sizeof(line), "ip addr %s " NEW_ADDRESS "/128 dev %s nodad", verb,
		 getenv("SDP_NETDEV") ?: "eth0");
	EQ(0, system(line));
}

/* One fault at each site that an attempt comes by which is refused. */
static void refused_at_sites(void)
{
	bool v6 = variant->family == AF_INET6;
	int l, other, n, reason;
	union addr a;

	for (n = fault_site_next(-1); n >= 0; n = fault_site_next(n)) {
		/* Nothing older makes room: there is nothing. */
		forget_records();
		/* The module refuses, as the port has one that is not meant. */
		other = any_listener(&a, v6 ? AF_INET : AF_INET6, 1);
		if (v6) {
			new_address("add");
			addr_set(&a, AF_INET6, NEW_ADDRESS, addr_port(&a));
		}
		l = tcp_sock();
		OK(bind_to(l, &a));
		OK(listen(l, 8));
		fault_site_arm(n);
		EQ(false, goes_by(&a, l, &reason, polls));
		EQ(false, goes(&a, l, &reason));
		fault_site_disarm(n);
		EQ(false, goes(&a, l, &reason));
		CHECK(reason >= 0);
		close(l);
		close(other);
		if (v6)
			new_address("del");
	}
	fault_still_works();
}

/* One fault, ever further into an attempt that is refused: TCP goes on, and well. */
CASE_LIMIT(refused_faults, ON_ULP, 240)
{
	int k, hit, reason, struck = 0, missed = 0, count[SDP_REASON_COUNT] = { };
	union addr a;
	int l;

	sysctl("cache_timeout", 600000);
	if (fault_at_sites()) {
		refused_at_sites();
		return;
	}
	fault_aim(FAULT_IN_MODULE);
	for (k = 2; missed < 3 && k < 1000; k++) {
		l = fault_listen_at(tcp_sock(), &a, 20000 + k);
		fault_strike_once("failslab", k);
		EQ(false, goes(&a, l, &reason));
		hit = fault_struck_yet("failslab");
		struck += hit;
		missed = hit ? 0 : missed + 1;
		if (!hit)
			EQ(SDP_REASON_REFUSED, reason);
		/* What is known of others is as it was, and who is older makes room. */
		if (reason < 0)
			FAIL("chance %d: nobody knows why", k);
		count[reason]++;
		while (!fault_struck_yet("failslab"))
			goes(&a, l, &reason);
		fault_quiet();
		close(l);
	}
	fault_still_works();
	ktap_note("%d faults: %d were refused, %d did not get so far, %d had asked before",
		  struck, count[SDP_REASON_REFUSED], count[SDP_REASON_LIMIT],
		  count[SDP_REASON_CACHED]);
	if (struck < 10)
		FAIL("expected at least 10 faults, got %d", struck);
	EQ(k - 2, count[SDP_REASON_REFUSED] + count[SDP_REASON_LIMIT] +
		  count[SDP_REASON_CACHED]);
}

/* What there is no memory for is not remembered, and that is all. */
CASE_LIMIT(refused_unremembered, ON_ULP, 60)
{
	unsigned long long cached;
	int l, reason;
	union addr a;

	sysctl("cache_timeout", 600000);
	/* Why it was, for who asks. */
	forget_records();
	fault_aim_into("sdp_fallback_log_add");
	fault_strike("failslab", "1", "100", "1");
	l = fault_listen_at(tcp_sock(), &a, 21000);
	EQ(false, goes(&a, l, &reason));
	CHECK(fault_struck_yet("failslab"));
	EQ(-1, reason);
	fault_quiet();
	close(l);
	/* One that is older makes room. */
	l = fault_listen_at(tcp_sock(), &a, 21001);
	EQ(false, goes(&a, l, &reason));
	EQ(SDP_REASON_REFUSED, reason);
	fault_strike("failslab", "1", "100", "1");
	EQ(false, goes(&a, l, &reason));
	CHECK(fault_struck_yet("failslab"));
	EQ(SDP_REASON_CACHED, reason);
	fault_quiet();
	close(l);
	/* That the next need not try. */
	fault_aim_into("sdp_dst_cache_learn");
	fault_strike("failslab", "1", "100", "1");
	l = fault_listen_at(tcp_sock(), &a, 21002);
	EQ(false, goes(&a, l, &reason));
	CHECK(fault_struck_yet("failslab"));
	EQ(SDP_REASON_REFUSED, reason);
	fault_quiet();
	cached = counter("fallback_cached");
	EQ(false, goes(&a, l, &reason));
	EQ(SDP_REASON_REFUSED, reason);
	EQ(false, goes(&a, l, &reason));
	EQ(SDP_REASON_CACHED, reason);
	EQ(cached + 1, counter("fallback_cached"));
	close(l);
	/* That it is being asked: it is asked once more. */
	sysctl("learn", 1);
	fault_aim_into("sdp_dst_cache_probing");
	fault_strike("failslab", "1", "100", "1");
	l = fault_listen_at(sock(), &a, 21003);
	EQ(false, goes(&a, l, &reason));
	CHECK(fault_struck_yet("failslab"));
	EQ(SDP_REASON_LEARNING, reason);
	fault_quiet();
	EVENTUALLY(true, goes(&a, l, &reason));
	close(l);
}

/* What is known of a port, at whatever address: a word of sdp_peers, or "nothing". */
static const char *known_of(const union addr *a)
{
	static char line[256], known[16];
	const char *found = "nothing";
	int port, ifindex;
	FILE *f = fopen("/proc/net/sdp_peers", "re");

	if (!f)
		FAIL("/proc/net/sdp_peers: %s", ktap_errno(errno));
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %d %d %15s", &port, &ifindex, known) == 3 &&
		    port == addr_port(a)) {
			found = known;
			break;
		}
	fclose(f);
	return found;
}

/* One fault at each site that a probe comes by. */
static void probe_at_sites(int port)
{
	union addr a;
	int l, n, reason;

	for (n = fault_site_next(-1); n >= 0; n = fault_site_next(n)) {
		sysctl("cache_timeout", 600000);
		l = fault_listen_at(sock(), &a, port + n);
		fault_site_arm(n);
		goes(&a, l, &reason);
		EVENTUALLY(true, strcmp("asked", known_of(&a)) != 0);
		fault_site_disarm(n);
		sysctl("cache_timeout", 100);
		EVENTUALLY(true, goes(&a, l, &reason));
		close(l);
	}
	sysctl("learn", 0);
	fault_still_works();
}

/*
 * net.sdp.learn, and one fault ever further into the probe of a server that takes SDP:
 * the connection goes by TCP and well, and the next ones find it out.
 */
CASE_LIMIT(probe_faults, ON_ULP, 240)
{
	int port = variant->family == AF_INET6 ? 23000 : 22000;
	int k, hit, reason, struck = 0, missed = 0, undecided = 0;
	const char *known;
	bool by_sdp;
	union addr a;
	int l;

	sysctl("learn", 1);
	if (fault_at_sites()) {
		probe_at_sites(port);
		return;
	}
	fault_aim(FAULT_IN_MODULE);
	for (k = 2; missed < 3 && k < 1000; k++) {
		/* For good; what failed is held against it for a moment only. */
		sysctl("cache_timeout", 600000);
		l = fault_listen_at(sock(), &a, port + k);
		fault_strike_once("failslab", k);
		by_sdp = goes(&a, l, &reason);
		EVENTUALLY(true, strcmp("asked", known_of(&a)) != 0);
		known = known_of(&a);
		hit = fault_struck_yet("failslab");
		struck += hit;
		missed = hit ? 0 : missed + 1;
		undecided += hit && strcmp("sdp", known);
		if (!hit) {
			CHECK(!by_sdp);	/* the first attempt, and no second */
			CHECK(!strcmp("sdp", known));
		}
		while (!fault_struck_yet("failslab"))
			goes(&a, l, &reason);
		fault_quiet();
		sysctl("cache_timeout", 100);
		EVENTUALLY(true, goes(&a, l, &reason));
		close(l);
	}
	sysctl("learn", 0);
	fault_still_works();
	ktap_note("%d faults, %d probes without a result", struck, undecided);
	if (struck < 10)
		FAIL("expected at least 10 faults, got %d", struck);
	CHECK(undecided > 0 && undecided < struck);
}

/* Many faults at any time, for a while. */
static void many_faults(const char *percent)
{
	enum { MOST = 1000000 };
	long long end = ktap_now() + 5000, faults;
	int count[3] = { };
	struct task t;
	union addr a;

	life_start(&t, &a);
	fault_strike("failslab", "1", percent, "1000000");
	fault_strike("fail_page_alloc", "1", percent, "1000000");
	while (ktap_now() < end)
		count[life_client(&a)]++;
	faults = 2 * MOST - fault_knob("failslab", "times") -
		 fault_knob("fail_page_alloc", "times");
	fault_quiet();
	EQ(GOOD, life_client(&a));
	life_end(&t);
	fault_still_works();
	/* A request that finds no memory is made again: few are not made. */
	ktap_note("%s %% of allocations, %lld in all, fail: %d connections went well, %d were not made, %d broke",
		  percent, faults, count[GOOD], count[REFUSED], count[BROKEN]);
	if (!faults)
		FAIL("nothing failed");
}

/* What the peer refuses of leases is copied by nobody's call, with what there is. */
CASE_LIMIT(lease_refused_30_percent, ON_SDP, 120)
{
	enum { CALLS = 24, LEN = 100000 };
	static char all[CALLS * LEN];
	struct task t = { .run = task_drain };
	unsigned int told = 0, sent = 0;
	size_t done = 0;
	struct pair p;
	ssize_t n;

	pattern_fill(all, sizeof(all), 1, 0);
	pair_open(&p);
	OK(set_int(p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
	OK(set_int(p.s, SOL_SDP, SDP_ZCOPY, 0));
	t.fd = p.s;
	task_start(&t);
	fault_aim(FAULT_IN_MODULE);
	fault_strike("failslab", "1", "30", "1000000");
	fault_strike("fail_page_alloc", "1", "30", "1000000");
	while (done < sizeof(all)) {
		n = send(p.c, all + done, LEN < sizeof(all) - done ? LEN : sizeof(all) - done,
			 MSG_ZEROCOPY | MSG_NOSIGNAL);
		if (n > 0) {
			done += n;
			sent++;
		} else if (errno != EFAULT && errno != ENOBUFS) {
			FAIL("send: %s, which TCP does not say", ktap_errno(errno));
		}
	}
	fault_quiet();
	OK(shutdown(p.c, SHUT_WR));
	EQ(sizeof(all), task_join(&t));
	while (told < sent)
		told += notified(p.c, told, NULL);
	EQ(sent, told);
	fault_still_works();
}

CASE_LIMIT(life_1_percent, BIT(FAMILY_V4) | BIT(PROTO_V6) | BIT(ULP_V4), 120)
{
	many_faults("1");
}

CASE_LIMIT(life_10_percent, BIT(FAMILY_V4) | BIT(PROTO_V6) | BIT(ULP_V4), 120)
{
	many_faults("10");
}

/* Either all of it is there, or the next one serves; false if it was that one. */
static bool device_serves(const union addr *a)
{
	if (life_client(a) == GOOD)
		return true;
	device_remove();
	device_add();
	EQ(GOOD, life_client(a));
	return false;
}

/* One fault at each site that a device which comes leads to. */
static void device_at_sites(void)
{
	struct task t;
	union addr a;
	int n;

	/* The first connection makes what others find; it lends all that it can. */
	sysctl("zcopy_thresh", 4096);
	sysctl("zcopy_adapt", 0);
	life_start(&t, &a);
	for (n = fault_site_next(-1); n >= 0; n = fault_site_next(n)) {
		device_remove();
		fault_site_arm(n);
		OK(device_try_add());
		if (life_client(&a) == BROKEN)
			FAIL("site %d: an established connection broke", n + 1);
		fault_site_disarm(n);
		device_serves(&a);
	}
	life_end(&t);
	fault_still_works();
}

/* A device that comes, and finds a listener, while one allocation fails. */
CASE_LIMIT(device_add_faults, BIT(FAMILY_V4), 240)
{
	int k, struck = 0, useless = 0;
	struct task t;
	union addr a;

	if (fault_at_sites()) {
		device_at_sites();
		return;
	}
	life_start(&t, &a);
	for (k = 2; k < 200; k++) {
		device_remove();
		fault_strike_once("failslab", k);
		OK(device_try_add());
		if (!fault_struck_yet("failslab"))
			break;
		fault_quiet();
		struck++;
		useless += !device_serves(&a);
	}
	while (!fault_struck_yet("failslab"))
		life_client(&a);
	life_end(&t);
	fault_still_works();
	ktap_note("device: %d faults, %d times of no use", struck, useless);
	if (struck < 4)
		FAIL("expected at least 4 faults, got %d", struck);
}

/* The device goes at any moment of a connection's life, and comes back. */
CASE_LIMIT(device_goes_any_time, BIT(FAMILY_V4) | BIT(PROTO_V6), 240)
{
	int i, count[3] = { };
	struct task t;
	union addr a;
	pid_t pid;

	life_start(&t, &a);
	for (i = 0; i < 12; i++) {
		pid = OK(fork());
		if (!pid) {
			usleep(i * 2000);
			device_remove();
			device_add();
			_exit(0);
		}
		while (!waitpid(pid, NULL, WNOHANG))
			count[life_client(&a)]++;
		/* Its CM listens a moment later. */
		EVENTUALLY(GOOD, life_client(&a));
	}
	life_end(&t);
	ktap_note("%d connections went well, %d were not made, %d broke",
		  count[GOOD], count[REFUSED], count[BROKEN]);
	if (!count[REFUSED] || !count[BROKEN])
		FAIL("the device always went at the same moment");
}
