// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that is not there: every call of the socket API with its first, second,
 * third ... allocation (or access to user memory) failing, until the call makes
 * no more of them; then whole connections with one failing allocation anywhere,
 * in workers and interrupts too; then with many.
 *
 * A call must succeed all the same or fail with an error that TCP gives there,
 * which the same cases over TCP prove.  After that it must work, and so must
 * a new connection, every byte compared.
 *
 * Faults are injected where a function of the module is on the stack, so the
 * rest of the kernel has its memory; over TCP anywhere in the call.  Needs root
 * and a kernel with CONFIG_FAULT_INJECTION, FAILSLAB, FAIL_PAGE_ALLOC,
 * FAULT_INJECTION_USERCOPY, FAULT_INJECTION_STACKTRACE_FILTER and debugfs.
 */
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/module.h"
#include "lib/variant.h"

#define DEBUGFS "/sys/kernel/debug/"

/* ------------------------------------------------------------------ injection */

static const char *const kinds[] = { "failslab", "fail_page_alloc", "fail_usercopy" };

static int knob(const char *kind, const char *name, const char *value)
{
	char path[128];
	int fd, ret;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ret = write(fd, value, strlen(value)) < 0 ? -1 : 0;
	close(fd);
	return ret;
}

static long long knob_get(const char *kind, const char *name)
{
	char path[128], text[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), DEBUGFS "%s/%s", kind, name);
	fd = OK(open(path, O_RDONLY | O_CLOEXEC));
	n = OK(read(fd, text, sizeof(text) - 1));
	text[n] = '\0';
	close(fd);
	return atoll(text);
}

/* Leave out what is called by this function of the kernel; NULL: nothing. */
static void spare(const char *function)
{
	unsigned long addr, from = 0, to = ~0ul;
	char line[256], name[128], text[32];
	unsigned int i;
	FILE *f;

	f = fopen("/proc/kallsyms", "re");
	while (f && function && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx %*c %127s", &addr, name) == 2 &&
		    !strcmp(name, function))
			from = addr;
	if (f)
		rewind(f);
	/* Up to where the next one begins. */
	while (f && from && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx", &addr) == 1 && addr > from && addr < to)
			to = addr;
	if (f)
		fclose(f);
	if (function && !from)
		FAIL("no %s() in /proc/kallsyms", function);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		snprintf(text, sizeof(text), "%#lx", from);
		OK(knob(kinds[i], "reject-start", text));
		snprintf(text, sizeof(text), "%#lx", from ? to : 0);
		OK(knob(kinds[i], "reject-end", text));
	}
}

/* The module's code; all other modules are built in. */
static int module_text(unsigned long *start, unsigned long *end)
{
	unsigned long size;
	char line[256];
	FILE *f;

	*start = 0;
	f = fopen("/sys/module/af_sdp/sections/.text", "re");
	if (!f || fscanf(f, "%li", (long *)start) != 1)
		return -1;
	fclose(f);
	f = fopen("/proc/modules", "re");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "af_sdp %lu", &size) == 1)
			*end = *start + size;
	}
	if (f)
		fclose(f);
	return *end > *start ? 0 : -1;
}

static int quiet(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		err |= knob(kinds[i], "probability", "0");
		err |= knob(kinds[i], "interval", "1");
		err |= knob(kinds[i], "times", "-1");
		err |= knob(kinds[i], "space", "0");
		err |= knob(kinds[i], "verbose", "0");
		err |= knob(kinds[i], "task-filter", "N");
	}
	err |= knob("failslab", "ignore-gfp-wait", "N");
	err |= knob("fail_page_alloc", "ignore-gfp-wait", "N");
	err |= knob("fail_page_alloc", "ignore-gfp-highmem", "N");
	err |= knob("fail_page_alloc", "min-order", "0");
	return err;
}

enum aim {
	ANYWHERE,
	MODULE,
	NEW_MODULE,	/* one that is being loaded */
};

static void aim(enum aim at)
{
	unsigned long start = 0, end = 0;
	char from[32] = "0", to[32] = "0xffffffffffffffff";
	unsigned int i;

	if (at == NEW_MODULE)
		/* User-Mode Linux: modules lie above the guest's memory, and all
		 * other code below.
		 */
		snprintf(from, sizeof(from), "0x80000000");
	if (at == MODULE) {
		if (module_text(&start, &end))
			FAIL("where is the module's code?");
		snprintf(from, sizeof(from), "%#lx", start);
		snprintf(to, sizeof(to), "%#lx", end);
	}
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		OK(knob(kinds[i], "stacktrace-depth", "32"));
		OK(knob(kinds[i], "require-start", from));
		OK(knob(kinds[i], "require-end", to));
	}
}

static int nth_fd = -1;

/* The n-th chance to fail in this thread, from here on, does. */
static void arm(unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	EQ(len, pwrite(nth_fd, text, len, 0));
}

/* No more faults; true if one was injected.  errno stays. */
static bool disarm(void)
{
	char text[16] = "";
	int err = errno;
	ssize_t n;

	/* Looking is a chance to fail too: EFAULT says that it was the next. */
	n = pread(nth_fd, text, sizeof(text) - 1, 0);
	while (pwrite(nth_fd, "0", 1, 0) != 1)
		;
	errno = err;
	return n > 0 && text[0] == '0';
}

/* ---------------------------------------------------------------------- sweep */

static char *big;		/* the pattern of key 7 */
static char *room;

enum { BIG = 1 << 20, TALK = 40000 };

/* What a step works on; fresh for each. */
struct step {
	struct pair p;
	int fd;
	int flags;
	size_t len, done;
	struct task task;
	void *arg;
};

struct op {
	const char *name;
	void (*before)(struct step *st);
	int (*call)(struct step *st);
	/* @ret and errno are the call's. */
	void (*after)(struct step *st, int ret);
	int errors[6];		/* that TCP gives there */
};

static void talk(int c, int s)
{
	/* Less than a queue holds: one thread does both. */
	send_pattern(c, TALK, 3, 0);
	recv_pattern(s, TALK, 3, 0);
	send_pattern(s, TALK, 4, 0);
	recv_pattern(c, TALK, 4, 0);
	OK(shutdown(c, SHUT_WR));
	expect_eof(s);
}

static void still_works(void)
{
	struct pair p;

	pair_open(&p);
	talk(p.c, p.s);
	close(p.c);
	close(p.s);
	close(p.l);
}

static bool allowed(const struct op *op, int err)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(op->errors); i++)
		if (op->errors[i] == err)
			return true;
	return false;
}

enum { MOST = 500 };

static void sweep_at(enum aim at, const struct op *op, int least)
{
	int n, failed = 0;

	aim(at);
	/* A page fault is no place of the call's to fail. */
	OK(mlockall(MCL_CURRENT));
	nth_fd = OK(open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC));
	for (n = 1; n < MOST; n++) {
		struct step st = { .fd = -1, .p = { -1, -1, -1, { } } };
		bool hit;
		int ret;

		op->before(&st);
		arm(n);
		errno = 0;
		ret = op->call(&st);
		hit = disarm();
		if (ret < 0) {
			failed++;
			if (!hit)
				FAIL("%s: %s without any fault", op->name,
				     ktap_errno(errno));
			if (!allowed(op, errno))
				FAIL("%s: fault %d: %s, which TCP does not say",
				     op->name, n, ktap_errno(errno));
		}
		op->after(&st, ret);
		close(st.fd);
		close(st.p.c);
		close(st.p.s);
		close(st.p.l);
		if (!hit)
			break;
		still_works();
	}
	ktap_note("%s: %d faults, %d calls failed", op->name, n - 1, failed);
	if (n == MOST)
		FAIL("%s: no end of faults", op->name);
	if (n - 1 < least)
		FAIL("%s: expected at least %d places to fail, found %d",
		     op->name, least, n - 1);
}

static void sweep(const struct op *op, int least)
{
	sweep_at(on_sdp() ? MODULE : ANYWHERE, op, on_sdp() ? least : 0);
}

static void nothing(struct step *st)
{
	(void)st;
}

/* ------------------------------------------------------------- making sockets */

static int call_socket(struct step *st)
{
	st->fd = variant->door == DOOR1 ?
		socket(AF_INET_SDP, SOCK_STREAM, 0) :
		socket(variant->family, SOCK_STREAM,
		       variant->door == DOOR2 ? IPPROTO_SDP : 0);
	return st->fd;
}

static void after_socket(struct step *st, int ret)
{
	(void)st;
	(void)ret;
}

TEST_LIMIT(socket_faults, ~ON_DOOR3, 60)
{
	static const struct op op = {
		"socket", nothing, call_socket,
		after_socket,
		{ ENOMEM, ENOBUFS, ENFILE },
	};

	sweep(&op, 1);
}

static void before_ulp(struct step *st)
{
	st->fd = OK(socket(variant->family, SOCK_STREAM, 0));
}

static int call_ulp(struct step *st)
{
	return setsockopt(st->fd, SOL_TCP, TCP_ULP, SDP_ULP_NAME,
			  strlen(SDP_ULP_NAME));
}

static void after_ulp(struct step *st, int ret)
{
	if (ret)
		OK(call_ulp(st));
}

TEST_LIMIT(ulp_faults, ON_DOOR3, 60)
{
	static const struct op op = {
		"TCP_ULP", before_ulp, call_ulp, after_ulp, { ENOMEM },
	};

	sweep(&op, 1);
}

/* ------------------------------------------------------------ bind and listen */

static void before_bind(struct step *st)
{
	st->fd = sock();
	here(&st->p.addr, 0);
}

static int call_bind(struct step *st)
{
	return bind_to(st->fd, &st->p.addr);
}

static void after_bind(struct step *st, int ret)
{
	if (ret)
		OK(call_bind(st));
}

TEST_LIMIT(bind_faults, ~0u, 60)
{
	/* TCP has one answer for all that get_port() meets. */
	static const struct op op = {
		"bind", before_bind, call_bind, after_bind,
		{ EADDRINUSE, EFAULT },
	};

	sweep(&op, 1);
}

static void before_listen(struct step *st)
{
	before_bind(st);
	OK(call_bind(st));
	OK(name_of(st->fd, &st->p.addr));
}

static int call_listen(struct step *st)
{
	return listen(st->fd, 4);
}

static void after_listen(struct step *st, int ret)
{
	int c = sock(), s;

	if (ret)
		OK(call_listen(st));
	OK(connect_to(c, &st->p.addr));
	s = accept_any(st->fd);
	/* Door 3 may have been left with TCP alone. */
	if (variant->door != DOOR3)
		must_be_sdp(c);
	talk(c, s);
	close(c);
	close(s);
}

TEST_LIMIT(listen_faults, ~0u, 120)
{
	static const struct op op = {
		"listen", before_listen, call_listen, after_listen,
		{ ENOMEM },
	};

	sweep(&op, 2);
}

/* --------------------------------------------------------- connect and accept */

static void before_connect(struct step *st)
{
	pair_start(&st->p);
}

static int call_connect(struct step *st)
{
	return connect_to(st->p.c, &st->p.addr);
}

static void after_connect(struct step *st, int ret)
{
	if (ret)
		OK(call_connect(st));
	st->p.s = accept_any(st->p.l);
	if (variant->door != DOOR3)
		must_be_sdp(st->p.c);
	talk(st->p.c, st->p.s);
}

TEST_LIMIT(connect_faults, ~0u, 240)
{
	static const struct op op = {
		"connect", before_connect, call_connect, after_connect,
		{ EADDRNOTAVAIL, ENOMEM, ENOBUFS, EFAULT },
	};

	sweep(&op, 3);
}

static void before_accept(struct step *st)
{
	pair_start(&st->p);
	OK(connect_to(st->p.c, &st->p.addr));
	await(st->p.l, POLLIN);
}

static int call_accept(struct step *st)
{
	st->p.s = accept(st->p.l, NULL, NULL);
	return st->p.s;
}

/* The connection waits for the next accept(). */
static void after_accept(struct step *st, int ret)
{
	if (ret < 0) {
		nonblock(st->p.l, true);
		OK(call_accept(st));
	}
	must_be_sdp(st->p.s);
	talk(st->p.c, st->p.s);
}

TEST_LIMIT(accept_faults, ~0u, 240)
{
	static const struct op op = {
		"accept", before_accept, call_accept, after_accept,
		{ ENFILE, ENOMEM, ENOBUFS },
	};

	sweep(&op, 2);
}

/* -------------------------------------------------------------- moving bytes */

static void before_send(struct step *st, size_t len, bool lend)
{
	sysctl("zcopy_thresh", lend ? 65536 : 0);
	pair_open(&st->p);
	st->len = len;
	st->task = (struct task){ .run = task_recv, .fd = st->p.s, .buf = room,
				  .len = len, .flags = MSG_WAITALL };
	memset(room, 0, len);
	task_start(&st->task);
}

static int call_send(struct step *st)
{
	ssize_t n = send(st->p.c, big, st->len, MSG_NOSIGNAL);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

/* What was accepted arrives, and the rest when it is sent. */
static void after_send(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		st->done += OK(send(st->p.c, big + st->done,
				    st->len - st->done, MSG_NOSIGNAL));
	EQ(st->len, task_join(&st->task));
	EQ(-1, pattern_check(room, st->len, 7, 0));
}

static void before_send_1(struct step *st)
{
	before_send(st, 1, false);
}

static void before_send_64k(struct step *st)
{
	before_send(st, 65536, false);
}

static void before_send_1m(struct step *st)
{
	before_send(st, BIG, false);
}

static void before_lend_1m(struct step *st)
{
	before_send(st, BIG, true);
}

TEST_LIMIT(send_1_faults, ~0u, 120)
{
	static const struct op op = {
		"send", before_send_1, call_send, after_send, { EFAULT },
	};

	sweep(&op, 3);
}

TEST_LIMIT(send_64k_faults, ~0u, 240)
{
	static const struct op op = {
		"send 64 KiB", before_send_64k, call_send, after_send,
		{ EFAULT },
	};

	sweep(&op, 8);
}

TEST_LIMIT(send_1m_faults, ~0u, 600)
{
	static const struct op op = {
		"send 1 MiB", before_send_1m, call_send, after_send,
		{ EFAULT },
	};

	sweep(&op, 40);
}

/* The same without a copy: what cannot be lent is copied. */
TEST_LIMIT(lend_1m_faults, ON_SDP, 600)
{
	static const struct op op = {
		"send 1 MiB, lent", before_lend_1m, call_send, after_send,
		{ EFAULT },
	};

	sweep(&op, 12);
}

/* And by MSG_ZEROCOPY, which leaves the rest to others: who was told to is told. */
static void before_lease(struct step *st)
{
	before_send(st, BIG / 4, true);
	OK(set_int(st->p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
}

static int call_lease(struct step *st)
{
	ssize_t n = send(st->p.c, big, st->len, MSG_NOSIGNAL | MSG_ZEROCOPY);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

static void after_lease(struct step *st, int ret)
{
	after_send(st, ret);
	if (!ret)
		EQ(1, notified(st->p.c, 0, NULL));
}

TEST_LIMIT(lease_faults, ON_SDP, 600)
{
	static const struct op op = {
		"send 256 KiB, leased", before_lease, call_lease, after_lease,
		{ EFAULT, ENOBUFS },
	};

	sweep(&op, 8);
}

static void before_recv(struct step *st)
{
	sysctl("zcopy_thresh", 0);
	pair_open(&st->p);
	st->len = 65536;
	memset(room, 0, st->len);
	EQ(st->len, send(st->p.c, big, st->len, MSG_NOSIGNAL));
}

static int call_recv(struct step *st)
{
	ssize_t n = recv(st->p.s, room, st->len, MSG_WAITALL);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

/* No byte is lost by a call that could not write it to the caller's memory. */
static void after_recv(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		st->done += OK(recv(st->p.s, room + st->done,
				    st->len - st->done, 0));
	EQ(-1, pattern_check(room, st->len, 7, 0));
	talk(st->p.c, st->p.s);
}

TEST_LIMIT(recv_faults, ~0u, 240)
{
	static const struct op op = {
		"recv", before_recv, call_recv, after_recv, { EFAULT },
	};

	sweep(&op, 4);
}

/* Read to where it is wanted; or not, and copied. */
static void before_take(struct step *st)
{
	sysctl("zcopy_thresh", 65536);
	pair_open(&st->p);
	st->len = BIG;
	memset(room, 0, st->len);
	st->task = (struct task){ .run = task_send, .fd = st->p.c, .buf = big,
				  .len = st->len };
	task_start(&st->task);
}

static void after_take(struct step *st, int ret)
{
	after_recv(st, ret);
	EQ(st->len, task_join(&st->task));
}

TEST_LIMIT(take_faults, ON_SDP, 240)
{
	static const struct op op = {
		"recv 1 MiB, taken", before_take, call_recv, after_take,
		{ EFAULT },
	};

	sweep(&op, 8);
}

/* ----------------------------------------------------------------- the others */

static void before_talk(struct step *st)
{
	pair_open(&st->p);
}

static int call_poll(struct step *st)
{
	struct pollfd fds[2] = {
		{ .fd = st->p.c, .events = POLLIN | POLLOUT },
		{ .fd = st->p.s, .events = POLLIN | POLLOUT },
	};

	return poll(fds, 2, 0);
}

static void after_talk(struct step *st, int ret)
{
	(void)ret;
	talk(st->p.c, st->p.s);
}

TEST_LIMIT(poll_faults, ~0u, 60)
{
	static const struct op op = {
		"poll", before_recv, call_poll, after_recv, { EFAULT },
	};

	sweep(&op, 0);
}

static int call_shutdown(struct step *st)
{
	return shutdown(st->p.c, SHUT_WR);
}

/* It may not fail, and the peer gets the end of the stream.  TCP, if it has no
 * memory for the FIN, never says it.
 */
static void after_shutdown(struct step *st, int ret)
{
	EQ(0, ret);
	recv_pattern(st->p.s, 65536, 7, 0);
	expect_eof(st->p.s);
	send_pattern(st->p.s, TALK, 4, 0);
	recv_pattern(st->p.c, TALK, 4, 0);
}

TEST_LIMIT(shutdown_faults, ON_SDP, 60)
{
	static const struct op op = {
		"shutdown", before_recv, call_shutdown, after_shutdown, { 0 },
	};

	sweep(&op, 0);
}

static int call_close(struct step *st)
{
	int fd = st->p.c;

	st->p.c = -1;
	return close(fd);
}

static void after_close(struct step *st, int ret)
{
	EQ(0, ret);
	recv_pattern(st->p.s, 65536, 7, 0);
	expect_eof(st->p.s);
}

TEST_LIMIT(close_faults, ON_SDP, 60)
{
	static const struct op op = {
		"close", before_recv, call_close, after_close, { 0 },
	};

	sweep(&op, 0);
}

static void before_close_listener(struct step *st)
{
	before_accept(st);
}

static int call_close_listener(struct step *st)
{
	int fd = st->p.l;

	st->p.l = -1;
	return close(fd);
}

static void after_close_listener(struct step *st, int ret)
{
	EQ(0, ret);
	expect_reset(st->p.c);
}

TEST_LIMIT(close_listener_faults, ON_SDP, 60)
{
	static const struct op op = {
		"close of a listener", before_close_listener,
		call_close_listener, after_close_listener, { 0 },
	};

	sweep(&op, 0);
}

static int call_info(struct step *st)
{
	struct sdp_info info;

	return sdp_info(st->p.c, &info) < 0 ? -1 : 0;
}

TEST_LIMIT(info_faults, ON_SDP, 60)
{
	static const struct op op = {
		"SDP_INFO", before_talk, call_info, after_talk, { EFAULT },
	};

	sweep(&op, 1);
}

/* How many connections and listeners sock_diag shows; -1 with errno. */
static int dump(void)
{
	struct {
		struct nlmsghdr nlh;
		struct sdp_diag_req req;
	} msg = {
		.nlh = {
			.nlmsg_len = sizeof(msg),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
		},
		.req.sdiag_family = AF_INET_SDP,
	};
	static union {
		struct nlmsghdr nlh;
		char bytes[32768];
	} buf;
	int fd, n, len, seen = 0, err = 0;
	struct nlmsghdr *h;

	fd = OK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
	if (send(fd, &msg, sizeof(msg), 0) < 0)
		err = errno;
	for (n = 1; !err && n; ) {
		len = recv(fd, &buf, sizeof(buf), 0);
		if (len < 0)
			err = errno;
		for (h = &buf.nlh; !err && NLMSG_OK(h, len); h = NLMSG_NEXT(h, len)) {
			if (h->nlmsg_type == SOCK_DIAG_BY_FAMILY)
				seen++;
			else if (h->nlmsg_type == NLMSG_ERROR)
				err = -((struct nlmsgerr *)NLMSG_DATA(h))->error;
			else if (h->nlmsg_type == NLMSG_DONE)
				n = 0;
		}
	}
	close(fd);
	errno = err;
	return err ? -1 : seen;
}

static int call_dump(struct step *st)
{
	(void)st;
	return dump();
}

static void after_dump(struct step *st, int ret)
{
	if (ret < 0)
		ret = OK(dump());
	if (ret < 3)
		FAIL("two ends and a listener, and %d in the dump", ret);
	talk(st->p.c, st->p.s);
}

TEST_LIMIT(diag_faults, BIT(DOOR1_V4), 60)
{
	static const struct op op = {
		"sock_diag", before_talk, call_dump, after_dump,
		{ ENOMEM, ENOBUFS, EFAULT },
	};

	sweep(&op, 1);
}

/* ---------------------------------------------------------- whole connections */

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

/* One connection. */
static enum life life_client(const union addr *a)
{
	int c = door_socket(variant->door, variant->family, 0);
	enum life end = BROKEN;

	if (c < 0) {
		if (errno != ENOMEM && errno != ENOBUFS && errno != ENFILE)
			FAIL("socket: %s", ktap_errno(errno));
		return REFUSED;
	}
	set_limits(c);
	if (!connect_to(c, a)) {
		if (life_send(c, 5) == LIFE && !shutdown(c, SHUT_WR) &&
		    life_recv(c, 6))
			end = GOOD;
		else if (errno != ECONNRESET && errno != EPIPE &&
			 errno != ENOTCONN && errno != ENETRESET)
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

static void strike(const char *kind, const char *interval, const char *percent,
		   const char *times)
{
	OK(knob(kind, "interval", interval));
	OK(knob(kind, "times", times));
	OK(knob(kind, "probability", percent));
}

static void life_start(struct task *t, union addr *a)
{
	aim(MODULE);
	client_done = false;
	*t = (struct task){ .run = life_server, .fd = listener(a, 4) };
	task_start(t);
}

static void life_end(struct task *t)
{
	quiet();
	client_done = true;
	task_join(t);
	close(t->fd);
}

/*
 * The k-th chance from now on fails, in whatever context.  With an interval
 * the kernel counts chances since it was booted and a fault falls on the
 * multiples: so remember how far it has counted, and take an interval that the
 * count has not reached.
 */
static void strike_once(const char *kind, int k)
{
	char path[64], interval[16];
	int fd, counted = 0;

	snprintf(path, sizeof(path), "/run/sdp_fault.%s", kind);
	fd = OK(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600));
	if (pread(fd, &counted, sizeof(counted), 0) < 0)
		FAIL("%s: %s", path, ktap_errno(errno));
	counted += k;
	EQ(sizeof(counted), pwrite(fd, &counted, sizeof(counted), 0));
	close(fd);
	snprintf(interval, sizeof(interval), "%d", counted);
	strike(kind, interval, "100", "1");
}

static bool struck_yet(const char *kind)
{
	return !knob_get(kind, "times");
}

/* One fault, ever further into the life of a connection. */
static void one_fault(const char *kind, int least)
{
	int k, good = 0, struck = 0, missed = 0;
	enum life life;
	struct task t;
	union addr a;

	life_start(&t, &a);
	for (k = 2; missed < 3 && k < 1000; k++) {
		strike_once(kind, k);
		life = life_client(&a);
		if (life == BROKEN)
			FAIL("chance %d: an established connection broke", k);
		if (struck_yet(kind)) {
			missed = 0;
			struck++;
			good += life == GOOD;
		} else {
			missed++;	/* so many chances there are not */
			EQ(GOOD, life);
			/* What has been counted is known at a fault only. */
			while (!struck_yet(kind))
				life_client(&a);
		}
		quiet();
		EQ(GOOD, life_client(&a));
	}
	life_end(&t);
	still_works();
	ktap_note("%s: %d connections with one fault, %d went well", kind,
		  struck, good);
	if (struck < least)
		FAIL("expected at least %d faults, got %d", least, struck);
}

TEST_LIMIT(life_one_slab, BIT(DOOR1_V4) | BIT(DOOR3_V4), 400)
{
	one_fault("failslab", 20);
}

TEST_LIMIT(life_one_page, BIT(DOOR1_V4) | BIT(DOOR2_V6) | BIT(DOOR3_V4), 400)
{
	one_fault("fail_page_alloc", 4);
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
	strike("failslab", "1", percent, "1000000");
	strike("fail_page_alloc", "1", percent, "1000000");
	while (ktap_now() < end)
		count[life_client(&a)]++;
	faults = 2 * MOST - knob_get("failslab", "times") -
		 knob_get("fail_page_alloc", "times");
	quiet();
	EQ(GOOD, life_client(&a));
	life_end(&t);
	still_works();
	/* A request that finds no memory is made again: few are not made. */
	ktap_note("%s %% of allocations, %lld in all, fail: %d connections went well, %d were not made, %d broke",
		  percent, faults, count[GOOD], count[REFUSED], count[BROKEN]);
	if (!faults)
		FAIL("nothing failed");
}

/* What the peer refuses of leases is copied by nobody's call, with what there is. */
TEST_LIMIT(lease_refused_30_percent, ON_SDP, 120)
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
	aim(MODULE);
	strike("failslab", "1", "30", "1000000");
	strike("fail_page_alloc", "1", "30", "1000000");
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
	quiet();
	OK(shutdown(p.c, SHUT_WR));
	EQ(sizeof(all), task_join(&t));
	while (told < sent)
		told += notified(p.c, told, NULL);
	EQ(sent, told);
	still_works();
}

TEST_LIMIT(life_1_percent, BIT(DOOR1_V4) | BIT(DOOR2_V6) | BIT(DOOR3_V4), 120)
{
	many_faults("1");
}

TEST_LIMIT(life_10_percent, BIT(DOOR1_V4) | BIT(DOOR2_V6) | BIT(DOOR3_V4), 120)
{
	many_faults("10");
}

/* --------------------------------------------- module, namespaces, devices */

static void before_load(struct step *st)
{
	(void)st;
	OK(module_unload());
}

static int call_load(struct step *st)
{
	(void)st;
	return module_load();
}

/* It may have loaded and had no memory for the device. */
static void after_load(struct step *st, int ret)
{
	(void)st;
	if (!ret)
		OK(module_unload());
	OK(module_load());
}

TEST_LIMIT(load_faults, BIT(DOOR2_V4), 300)
{
	static const struct op op = {
		"load", before_load, call_load, after_load,
		{ ENOMEM, ENOBUFS, ENFILE },
	};

	/* It leaks the cache's name when sysfs has no memory. */
	spare("do_kmem_cache_create");
	sweep_at(NEW_MODULE, &op, 30);
}

static void before_netns(struct step *st)
{
	st->fd = OK(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

static int call_netns(struct step *st)
{
	(void)st;
	return unshare(CLONE_NEWNET);
}

static void after_netns(struct step *st, int ret)
{
	if (ret)
		OK(call_netns(st));
	CHECK(module_loaded());
	OK(setns(st->fd, CLONE_NEWNET));
}

TEST_LIMIT(netns_faults, BIT(DOOR2_V4), 120)
{
	static const struct op op = {
		"namespace", before_netns, call_netns, after_netns,
		{ ENOMEM },
	};

	sweep(&op, 5);
}

/* A device that comes, and finds a listener, while one allocation fails. */
TEST_LIMIT(device_add_faults, BIT(DOOR1_V4), 240)
{
	int k, struck = 0, useless = 0;
	struct task t;
	union addr a;

	life_start(&t, &a);
	for (k = 2; k < 200; k++) {
		device_remove();
		strike_once("failslab", k);
		OK(device_try_add());
		if (!struck_yet("failslab"))
			break;
		quiet();
		struck++;
		/* Either all of it, or the next one serves. */
		if (life_client(&a) != GOOD) {
			useless++;
			device_remove();
			device_add();
			EQ(GOOD, life_client(&a));
		}
	}
	while (!struck_yet("failslab"))
		life_client(&a);
	life_end(&t);
	still_works();
	ktap_note("device: %d faults, %d times of no use", struck, useless);
	if (struck < 4)
		FAIL("expected at least 4 faults, got %d", struck);
}

/* The device goes at any moment of a connection's life, and comes back. */
TEST_LIMIT(device_goes_any_time, BIT(DOOR1_V4) | BIT(DOOR2_V6), 240)
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

static void choose(unsigned int n)
{
	quiet();
	spare(NULL);
	module_restore();
	variant_choose(n);
}

int main(int argc, char **argv)
{
	int ret;

	if (quiet() || access("/proc/self/fail-nth", W_OK)) {
		printf("Bail out! this kernel cannot inject faults: use uml-debug\n");
		return 2;
	}
	big = malloc(BIG);
	room = malloc(BIG);
	pattern_fill(big, BIG, 7, 0);
	signal(SIGPIPE, SIG_IGN);
	variant_init();
	ret = ktap_main(argc, argv, variant_names, NR_VARIANTS, choose);
	quiet();
	module_restore();
	variant_exit();
	return ret;
}
