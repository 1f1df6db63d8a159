// SPDX-License-Identifier: GPL-2.0
/*
 * Loading and unloading the module, and devices that come and go, with sockets
 * in every state.  Needs root and the module's file: SDP_MODULE, or the rig's.
 * The RDMA device is soft-RoCE, which "rdma link" makes and removes: rxe0 on
 * SDP_NETDEV.  Ends with module and device as they were.
 */
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "lib/module.h"
#include "lib/sweep.h"
#include "lib/variant.h"

/* What the case before has left behind is put right. */
static void choose(unsigned int n)
{
	module_restore();
	variant_choose(n);
}

/* As seen from outside a socket: it cannot go, and nothing happens to it. */
static int must_stay_(void)
{
	FAILS(EAGAIN, module_unload());
	return 0;
}

#define must_stay() CALL(must_stay_())

static int must_go_(void)
{
	EVENTUALLY(0, module_unload());
	OK(module_load());
	return 0;
}

#define must_go() CALL(must_go_())

CASE_ON(unload_unused, ON_SDP)
{
	int i;

	for (i = 0; i < 5; i++)
		must_go();
	close(sock());
	must_go();
	FAILS(EEXIST, module_load());
}

CASE_ON(unload_with_sockets, ON_SDP)
{
	struct pair p;
	union addr a;
	int fd;

	fd = sock();
	must_stay();
	here(&a, 0);
	OK(bind_to(fd, &a));
	must_stay();
	OK(listen(fd, 4));
	must_stay();
	close(fd);
	must_go();

	nobody(&a);
	fd = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(fd, &a));
	must_stay();
	close(fd);

	pair_open(&p);
	must_stay();
	close(p.l);
	must_stay();
	close(p.c);
	must_stay();
	expect_eof(p.s);
	must_stay();
	close(p.s);
	/* Their ends may take a moment to be over. */
	must_go();
	pair_open(&p);
	send_text(p.c, "works");
	recv_text(p.s, "works");
}

static int tunable(const char *word)
{
	char path[128];
	int value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/sdp/%s", word);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%d", &value) != 1)
		FAIL("%s: %s", path, ktap_errno(errno));
	fclose(f);
	return value;
}

/* What af_sdp(7) says that they are, where nobody has changed them. */
CASE_ON(defaults, BIT(PROTO_V4))
{
	static const struct {
		const char *word;
		int value;
	} known[] = {
		{ "enable", 1 }, { "fallback", 0 }, { "learn", 0 },
		{ "connect_timeout", 200 }, { "require_timeout", 20000 },
		{ "cache_timeout", 60000 }, { "fallback_records", 1024 },
		/* 500 ms, 7 tries */
		{ "ack_timeout", 500 }, { "ack_retries", 6 },
		{ "shrink_after", 10000 }, { "poll_usec", 50 },
		{ "rcvbuf_start", 4096 }, { "rcvbuf_size", 16384 },
		{ "zcopy_thresh", 65536 }, { "zcopy_write", 1 }, { "zcopy_wait", 250 },
		{ "zcopy_adapt", 1 }, { "zcopy_invalidate", 1 },
		{ "zcopy_pinned", 256 * 1024 },
	};
	struct sysinfo machine;
	long long quarter;
	unsigned int i;

	OK(sysinfo(&machine));
	quarter = (long long)machine.totalram * machine.mem_unit / 1024 / 4;
	OK(unshare(CLONE_NEWNET));
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (tunable(known[i].word) != known[i].value)
			FAIL("net.sdp.%s is %d, not %d", known[i].word,
			     tunable(known[i].word), known[i].value);
	/* Of the machine: 1/4 and 3/16 of what it had when the module came. */
	IN_RANGE(quarter * 15 / 16, quarter * 17 / 16, tunable("mem_max"));
	IN_RANGE(quarter * 3 / 4 * 15 / 16, quarter * 3 / 4 * 17 / 16, tunable("mem_pressure"));
}

/* Data under way when everything is closed still arrives, then the module goes. */
CASE_ON(unload_after_data, ON_SDP)
{
	struct task t = { .run = task_drain };
	struct pair p;

	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	send_pattern(p.c, 1000000, 1, 0);
	close(p.c);
	EQ(1000000, task_join(&t));
	close(p.s);
	close(p.l);
	must_go();
}

/* A connection that was not accepted goes with its listener. */
CASE_ON(unload_after_queue, ON_SDP)
{
	union addr a;
	int l = listener(&a, 4), c = sock();

	OK(connect_to(c, &a));
	must_be_sdp(c);
	close(l);
	close(c);
	must_go();
}

/* Fallen back, a socket is TCP's, and survives the module. */
CASE_ON(unload_with_fallen_back, ON_ULP)
{
	int l = OK(socket(variant->family, SOCK_STREAM, 0)), c = sock(), s;
	union addr a;

	here(&a, 0);
	OK(bind_to(l, &a));
	OK(listen(l, 4));
	OK(name_of(l, &a));
	OK(connect_to(c, &a));
	s = OK(accept(l, NULL, NULL));
	send_text(c, "before");
	recv_text(s, "before");
	EVENTUALLY(0, module_unload());
	send_text(c, "after");
	recv_text(s, "after");
	OK(module_load());
	send_text(s, "again");
	recv_text(c, "again");
	close(s);
	expect_eof(c);
}

/* A question that nobody answers, and nobody waits for, holds up nothing. */
CASE_ON(unload_with_probe, ON_ULP)
{
	long long start;
	union addr a;
	int c, i;

	for (i = 0; i < 10; i++) {
		sysctl("learn", 1);
		nobody(&a);
		c = sock_flags(SOCK_NONBLOCK);
		FAILS(EINPROGRESS, connect_to(c, &a));
		EQ(1, counter("probes"));
		close(c);
		start = ktap_now();
		must_go();
		IN_RANGE(0, ktap_ms(3000), ktap_now() - start);
	}
}
BY_CLOCK(unload_with_probe);

/* So is a plain TCP child of a listener of ours. */
CASE_ON(unload_with_tcp_child, ON_ULP)
{
	int tcp = OK(socket(variant->family, SOCK_STREAM, 0)), l, s;
	union addr a;

	l = listener(&a, 4);
	OK(connect_to(tcp, &a));
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	close(l);
	EVENTUALLY(0, module_unload());
	send_text(tcp, "hello");
	recv_text(s, "hello");
	OK(module_load());
}

/* Without the module, what each way to make a socket says. */
CASE_ON(without_module, ON_SDP)
{
	int fd;

	OK(module_unload());
	EQ(-1, via_socket(variant->via, variant->family, 0));
	switch (variant->via) {
	case VIA_FAMILY:
		EQ(EAFNOSUPPORT, errno);
		break;
	case VIA_PROTO:
		EQ(EPROTONOSUPPORT, errno);
		break;
	default:
		EQ(ENOENT, errno);
	}
	OK(module_load());
	fd = sock();
	must_stay();
	close(fd);
}

/* Memory that a process shares with those which it forks. */
static void *shared(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(at != MAP_FAILED);
	return at;
}

/* A process that opens connections and closes them until it may stop. */
static pid_t comes_and_goes(const atomic_bool *stop)
{
	pid_t pid = OK(fork());

	while (!pid) {
		int l, c, s;
		union addr a;
		char x;

		if (*stop)
			_exit(0);
		l = via_socket(variant->via, variant->family, 0);
		c = via_socket(variant->via, variant->family, SOCK_NONBLOCK);
		here(&a, 0);
		if (l >= 0 && c >= 0 && !bind_to(l, &a) && !listen(l, 4) &&
		    !name_of(l, &a)) {
			connect_to(c, &a);
			if (ktap_now() & 1 && poll_one(l, POLLIN, 1000)) {
				s = accept(l, NULL, NULL);
				send(s, "x", 1, MSG_NOSIGNAL);
				if (ktap_now() & 1)
					recv(c, &x, 1, 0);
				close(s);
			}
		}
		close(l);
		close(c);
		/* a gap in which the module may go */
		usleep(ktap_ms(ktap_now() % 7) * 1000);
	}
	return pid;
}

/*
 * Programs that come and go while somebody unloads and loads: an attempt is
 * refused or succeeds, and no program sees anything but an error.
 */
/* The family number for IPv6 makes a socket that knows addresses as any of IPv6 does. */
CASE_ON(family6, BIT(PROTO_V6))
{
	enum { FAMILY6 = 28 };
	union addr any, a, x;
	int l, c, s;

	OK(module_unload());
	FAILS(EAFNOSUPPORT, socket(FAMILY6, SOCK_STREAM, 0));
	OK(module_load_with("family6=28"));
	l = OK(socket(FAMILY6, SOCK_STREAM, 0));
	c = OK(socket(FAMILY6, SOCK_STREAM, 0));
	EQ(AF_INET6, get_int(l, SOL_SOCKET, SO_DOMAIN));
	addr_any(&any, AF_INET6, 0);
	OK(bind_to(l, &any));
	OK(listen(l, 4));
	OK(name_of(l, &any));
	EQ(AF_INET6, any.sa.sa_family);
	here(&a, addr_port(&any));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	s = accept_one(l);
	send_text(c, "six");
	recv_text(s, "six");
	close(c);
	close(s);
	/* IPv4 is there by its mapped address. */
	addr_set(&a, AF_INET6, "::ffff:0.0.0.0", addr_port(&any));
	addr_set(&x, AF_INET, host_addr(AF_INET, NULL), 0);
	memcpy(&a.in6.sin6_addr.s6_addr[12], &x.in.sin_addr, 4);
	c = OK(socket(FAMILY6, SOCK_STREAM, 0));
	OK(connect_to(c, &a));
	must_be_sdp(c);
	s = accept_one(l);
	send_text(s, "four");
	recv_text(c, "four");
	close(c);
	close(s);
	close(l);
	EVENTUALLY(0, module_unload());
	OK(module_load());
}

CASE_LIMIT(unload_under_traffic, ON_SDP, 60)
{
	atomic_bool *stop = shared(sizeof(*stop));
	long long end = ktap_now() + 3000;
	int gone = 0, stayed = 0, i;
	pid_t pid[3];

	for (i = 0; i < 3; i++)
		pid[i] = comes_and_goes(stop);
	/* Both happen; a slow machine takes longer for it. */
	while (ktap_now() < end || gone < 2 || stayed < 2) {
		if (!module_unload()) {
			gone++;
			OK(module_load());
			/* every other time they are waited for */
			for (i = 0; gone & 1 && i < 1000 && !module_users(); i++)
				usleep(100);
		} else {
			stayed++;
			usleep(500);
		}
	}
	*stop = true;
	for (i = 0; i < 3; i++)
		CHILD_OK(pid[i]);
	ktap_note("unloaded %d times, refused %d times", gone, stayed);
	must_go();
}

/* The pattern, until it may stop. */
static void task_send_on(struct task *t)
{
	const atomic_bool *stop = t->buf;
	enum { PIECE = 65536 };

	for (t->ret = 0; !*stop; t->ret += PIECE)
		send_pattern(t->fd, PIECE, 1, t->ret);
	OK(shutdown(t->fd, SHUT_WR));
}

/* As long as there is one connection it stays, however often it is asked to go. */
CASE_LIMIT(unload_under_stream, ON_SDP, 60)
{
	enum { ATTEMPTS = 200, AT_LEAST = 1 << 20 };
	atomic_bool *stop = shared(sizeof(*stop));
	struct task send[2] = { { .run = task_send_on, .buf = stop },
				{ .run = task_send_on, .buf = stop } };
	struct task recv[2] = { { .run = task_drain }, { .run = task_drain } };
	unsigned long long was;
	struct pair p;
	pid_t pid;
	int i;

	pair_open(&p);
	close(p.l);
	send[0].fd = recv[1].fd = p.c;
	send[1].fd = recv[0].fd = p.s;
	was = counter("bytes_received");
	for (i = 0; i < 2; i++) {
		task_start(&recv[i]);
		task_start(&send[i]);
	}
	pid = comes_and_goes(stop);
	for (i = 0; i < ATTEMPTS; i++) {
		must_stay();
		/* Something happens in between. */
		if (i % 20 == 0) {
			EVENTUALLY(true, counter("bytes_received") > was);
			was = counter("bytes_received");
		}
	}
	/* A slow machine has not come so far by now. */
	EVENTUALLY(true, send[0].ret >= AT_LEAST && send[1].ret >= AT_LEAST);
	*stop = true;
	CHILD_OK(pid);
	for (i = 0; i < 2; i++)
		EQ(task_join(&send[i]), task_join(&recv[i]));
	close(p.c);
	must_stay();
	close(p.s);
	must_go();
}

/* ------------------------------------------------------------------- devices */

CASE_ON(device_gone, ON_SDP)
{
	char buf[16];
	struct task t = { .run = task_recv, .buf = buf, .len = sizeof(buf) };
	struct pair p;
	int c, s;

	pair_open(&p);
	task_blocks(&t, p.c);
	device_remove();
	/* Its connections end, and nothing else. */
	FAILS(ECONNRESET, task_join(&t));
	await(p.s, POLLHUP);
	EQ(ECONNRESET, get_int(p.s, SOL_SOCKET, SO_ERROR));
	FAILS(EPIPE, send(p.c, "x", 1, MSG_NOSIGNAL));
	FAILS(EAGAIN, (nonblock(p.l, true), accept(p.l, NULL, NULL)));

	c = sock();
	if (variant->via == VIA_ULP) {
		OK(connect_to(c, &p.addr));
		await(p.l, POLLIN);
		s = OK(accept(p.l, NULL, NULL));
		EQ(-1, transport(c));
		send_text(c, "by TCP");
		recv_text(s, "by TCP");
	} else {
		FAILS(ENETUNREACH, connect_to(c, &p.addr));
	}
	/* A device that comes back serves the listener that was there before. */
	device_add();
	close(c);
	EVENTUALLY(true, (close(c), c = sock(), !connect_to(c, &p.addr) && is_sdp(c)));
	close(p.c);
	close(p.s);
}

/* What is known of others is forgotten when a device goes, and when one comes. */
CASE_ON(device_gone_and_peers, ON_ULP)
{
	unsigned long long no_device, cached;
	union addr a;
	int l = listener(&a, 16), c = sock();

	sysctl("cache_timeout", 600000);
	OK(connect_to(c, &a));
	must_be_sdp(c);
	peer_is(&a, 0, NULL);
	peer_is(&a, addr_port(&a), "sdp none");
	device_remove();
	peer_is(&a, addr_port(&a), "unknown none");

	no_device = counter("fallback_no_device");
	cached = counter("fallback_cached");
	OK(connect_to(sock(), &a));
	EQ(no_device + 1, counter("fallback_no_device"));
	peer_is(&a, 0, "tcp no_device");
	peer_is(&a, addr_port(&a), "tcp no_device");
	OK(connect_to(sock(), &a));
	EQ(no_device + 1, counter("fallback_no_device"));
	EQ(cached + 1, counter("fallback_cached"));

	device_add();
	EVENTUALLY(true, (close(c), c = sock(), !connect_to(c, &a) && is_sdp(c)));
	peer_is(&a, 0, NULL);
	peer_is(&a, addr_port(&a), "sdp none");
	close(l);
}

CASE_ON(device_gone_while_sending, ON_SDP)
{
	enum { LEN = 64 << 20, READ = LEN / 2 };
	struct task sends = { .run = task_send, .buf = pattern(LEN, 0), .len = LEN };
	/* The other half waits for the device to go, however long that takes. */
	struct task recvs = { .run = task_recv, .buf = memory(LEN, 0), .len = READ,
				 .flags = MSG_WAITALL };
	struct pair p;
	ssize_t got;
	int n = 0;
	char x;

	pair_open(&p);
	sends.fd = p.c;
	recvs.fd = p.s;
	task_start(&recvs);
	task_start(&sends);
	EVENTUALLY(true, counter("bytes_received") > LEN / 16);
	device_remove();
	/* A part of it went, and a part of that came; the next call has the error. */
	IN_RANGE(1, LEN - 1, task_join(&sends));
	/* What was lent may have been read, and no word of that come back. */
	got = task_join(&recvs);
	IN_RANGE(1, READ, got);
	/* If all of its half came, some of the other is here, too. */
	while (got >= READ && !ioctl(p.s, SIOCINQ, &n) && n) {
		OK(recv(p.s, (char *)recvs.buf + got, n, MSG_WAITALL));
		got += n;
	}
	EQ(-1, pattern_check(recvs.buf, got, 1, 0));
	FAILS(ECONNRESET, send(p.c, &x, 1, MSG_NOSIGNAL));
	FAILS(EPIPE, send(p.c, &x, 1, MSG_NOSIGNAL));
	expect_eof(p.c);
	FAILS(ECONNRESET, recv(p.s, &x, 1, 0));
	expect_eof(p.s);
	await(p.c, POLLHUP);
	await(p.s, POLLHUP);
}

CASE_ON(device_gone_while_connecting, ON_SDP)
{
	union addr a;
	int c = sock_flags(SOCK_NONBLOCK);

	nobody(&a);
	FAILS(EINPROGRESS, connect_to(c, &a));
	device_remove();
	close(c);
	device_add();
}

/* Every call on what it leaves: beside a connection of TCP's that was reset. */
CASE_ON(device_gone_and_asked, ON_SDP)
{
	const struct linger at_once = { .l_onoff = 1 };
	const struct variant tcp = { .via = VIA_TCP, .family = variant->family };
	const struct variant *const was = variant;
	struct pair p, by_tcp;
	union addr a;
	int c;

	pair_open(&p);
	nobody(&a);
	c = sock_flags(SOCK_NONBLOCK);
	FAILS(EINPROGRESS, connect_to(c, &a));
	device_remove();
	await_end(p.c, POLLIN);
	variant = &tcp;
	pair_open(&by_tcp);
	OK(setsockopt(by_tcp.s, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once)));
	close(by_tcp.s);
	await_end(by_tcp.c, POLLIN);
	variant = was;
	sweep(p.c, by_tcp.c, SWEEP_EQUAL);
	sweep(p.s, by_tcp.l, SWEEP_SURVIVES);
	sweep(c, by_tcp.c, SWEEP_SURVIVES);
	close(p.c);
	close(p.s);
	close(c);
	device_add();
}

CASE_ON(device_gone_with_queue, ON_SDP)
{
	union addr a;
	int l = listener(&a, 4), c = sock(), s;
	char x;

	OK(connect_to(c, &a));
	must_be_sdp(c);
	await(l, POLLIN);
	device_remove();
	await(c, POLLHUP);
	/* What waits there is given out as a dead connection, or not at all. */
	nonblock(l, true);
	s = accept(l, NULL, NULL);
	if (s >= 0)
		IN_RANGE(-1, 0, recv(s, &x, 1, 0));
	else if (errno != EAGAIN && errno != ECONNABORTED)
		FAIL("accept: %s", ktap_errno(errno));
}

/* Module and device at once. */
CASE_ON(device_gone_then_unload, ON_SDP)
{
	struct pair p;

	pair_open(&p);
	device_remove();
	must_stay();
	close(p.c);
	close(p.s);
	close(p.l);
	must_go();
	device_add();
	p.c = -1;
	p.l = -1;
	EVENTUALLY(true, (close(p.c), close(p.l), p.c = sock(), p.l = listener(&p.addr, 4),
			  !connect_to(p.c, &p.addr) && is_sdp(p.c)));
}

static void shell(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	EQ(0, system(line));
}

/*
 * The first socket of each way loads an installed module.  The kernel runs
 * its modprobe on a tree that has nothing else in it.
 */
CASE_ON(loads_by_itself, ON_SDP)
{
	char tree[] = "/tmp/sdp_module.XXXXXX";
	const char *path = module_file();
	char was[128] = "";
	FILE *f;

	f = fopen("/proc/sys/kernel/modprobe", "r");
	if (!f || !fgets(was, sizeof(was), f))
		FAIL("/proc/sys/kernel/modprobe: %s", ktap_errno(errno));
	fclose(f);
	was[strcspn(was, "\n")] = 0;
	if (!mkdtemp(tree))
		FAIL("mkdtemp: %s", ktap_errno(errno));
	shell("d=%s/lib/modules/$(uname -r) && mkdir -p $d && cp %s $d/af_sdp.ko && "
	      "touch $d/modules.order $d/modules.builtin $d/modules.builtin.modinfo && "
	      "depmod -b %s && printf '#!/bin/sh\nexec %s -d %s \"$@\"\n' > %s/modprobe && "
	      "chmod 755 %s/modprobe && sysctl -qw kernel.modprobe=%s/modprobe",
	      tree, path, tree, was, tree, tree, tree, tree);
	EVENTUALLY(0, module_unload());
	close(sock());
	EQ(true, module_loaded());
	shell("sysctl -qw kernel.modprobe=%s && rm -r %s", was, tree);
}

/* Registrations of the device, by its own count. */
static int registrations(void)
{
	FILE *f = popen("rdma resource show rxe0", "r");
	char said[256] = "", *mr;

	if (!f || !fgets(said, sizeof(said), f))
		FAIL("rdma resource: %s", ktap_errno(errno));
	pclose(f);
	mr = strstr(said, " mr ");
	if (!mr)
		FAIL("rdma resource says \"%s\"", said);
	return atoi(mr + 4);
}

/* They are kept for the next long send, and go when there is none for a while. */
CASE_LIMIT(registrations_go, BIT(PROTO_V4), 60)
{
	enum { LEN = 8 << 20, PIECES = 3, IDLE = 10000 };
	struct task t = { .run = task_drain };
	long long began;
	struct pair p;
	char *buf;

	buf = pattern(LEN, 0);
	must_go();
	sysctl("zcopy_wait", 60000);
	EQ(0, registrations());
	pair_open(&p);
	t.fd = p.s;
	task_start(&t);
	EQ(LEN, send(p.c, buf, LEN, 0));
	began = ktap_now();
	IN_RANGE(PIECES, 64, registrations());
	send_pattern(p.c, 100, 1, LEN);
	OK(shutdown(p.c, SHUT_WR));
	EQ(LEN + 100, task_join(&t));
	while (registrations() && ktap_now() < began + ktap_ms(3 * IDLE))
		usleep(200000);
	EQ(0, registrations());
	CHECK(ktap_now() - began > IDLE / 2);
}
BY_CLOCK(registrations_go);

/* The numbers of those that the module has; each one made gets the next. */
static int registration_numbers_(int *least, int *most)
{
	FILE *f = popen("rdma resource show mr dev rxe0", "r");
	char line[256], *at;
	int n;

	*least = 0;
	*most = 0;
	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, " mrn ");
		if (!at || !strstr(line, "[af_sdp]"))
			continue;
		n = atoi(at + 5);
		if (!*most || n < *least)
			*least = n;
		if (n > *most)
			*most = n;
	}
	if (!f || pclose(f))
		FAIL("rdma resource show mr: %s", ktap_errno(errno));
	if (!*most)
		FAIL("rdma resource shows no registration of ours");
	return 0;
}

#define registration_numbers(least, most) CALL(registration_numbers_(least, most))

/* Every piece is registered, but those that were made for the first serve all others, of
 * this connection and of the next.
 */
CASE_LIMIT(registrations_again, BIT(PROTO_V4), 60)
{
	enum { LEN = 128 << 10, SENDS = 100, CONNECTIONS = 3, AT_ONCE = 32 };
	int first, last, least, most, i, j;
	struct pair p;
	char *buf;

	buf = pattern(SENDS * LEN, 0);
	must_go();
	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_adapt", 0);
	EQ(0, registrations());
	for (i = 0; i < CONNECTIONS; i++) {
		struct task t = { .run = task_drain };

		pair_open(&p);
		t.fd = p.s;
		task_start(&t);
		for (j = 0; j < SENDS; j++)
			EQ(LEN, send(p.c, buf + j * LEN, LEN, 0));
		if (!i)
			registration_numbers(&first, &last);
		OK(shutdown(p.c, SHUT_WR));
		EQ(SENDS * LEN, task_join(&t));
		close(p.c);
		close(p.s);
		close(p.l);
	}
	/* Or it would say nothing of registrations. */
	EQ(CONNECTIONS * SENDS * LEN, counter("bytes_lent"));
	registration_numbers(&least, &most);
	IN_RANGE(0, AT_ONCE, last - first);
	IN_RANGE(0, AT_ONCE, most - first);
}

int main(int argc, char **argv)
{
	int ret;

	variant_init();
	ret = ktap_main(argc, argv, variant_names, NR_VARIANTS, choose);
	module_restore();
	variant_exit();
	return ret;
}
