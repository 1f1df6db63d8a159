// SPDX-License-Identifier: GPL-2.0
/*
 * Each call of the socket API, with its first, second, third ... allocation failing.
 */
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fault.h"

/* ------------------------------------------------------------- making sockets */

static int call_socket(struct step *st)
{
	st->fd = variant->via == VIA_FAMILY ?
		socket(AF_INET_SDP, SOCK_STREAM, 0) :
		socket(variant->family, SOCK_STREAM,
		       variant->via == VIA_PROTO ? IPPROTO_SDP : 0);
	return st->fd;
}

static void after_socket(struct step *st, int ret)
{
	(void)st;
	(void)ret;
}

CASE_LIMIT(socket_faults, ~ON_ULP, 60)
{
	static const struct op op = {
		"socket", fault_nothing, call_socket,
		after_socket,
		{ ENOMEM, ENOBUFS, ENFILE },
	};

	fault_sweep(&op, 1);
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
	fault_again(st, ret, call_ulp);
}

CASE_LIMIT(ulp_faults, ON_ULP, 60)
{
	static const struct op op = {
		"TCP_ULP", before_ulp, call_ulp, after_ulp, { ENOMEM },
	};

	fault_sweep(&op, 1);
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
	fault_again(st, ret, call_bind);
}

CASE_LIMIT(bind_faults, ~0u, 60)
{
	/* TCP has one answer for all that get_port() meets. */
	static const struct op op = {
		"bind", before_bind, call_bind, after_bind,
		{ EADDRINUSE, EFAULT },
	};

	fault_sweep(&op, 1);
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

	fault_again(st, ret, call_listen);
	OK(connect_to(c, &st->p.addr));
	s = accept_any(st->fd);
	/* By TCP_ULP it may have been left with TCP alone. */
	if (variant->via != VIA_ULP)
		must_be_sdp(c);
	fault_talk(c, s);
	close(c);
	close(s);
}

CASE_LIMIT(listen_faults, ~0u, 120)
{
	static const struct op op = {
		"listen", before_listen, call_listen, after_listen,
		{ ENOMEM },
	};

	fault_sweep(&op, 2);
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
	fault_again(st, ret, call_connect);
	st->p.s = accept_any(st->p.l);
	if (variant->via != VIA_ULP)
		must_be_sdp(st->p.c);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(connect_faults, ~0u, 240)
{
	static const struct op op = {
		"connect", before_connect, call_connect, after_connect,
		{ EADDRNOTAVAIL, ENOMEM, ENOBUFS, EFAULT },
	};

	fault_sweep(&op, 3);
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
	/* Without memory for a pipe it is TCP's. */
	if (!on_join())
		must_be_sdp(st->p.s);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(accept_faults, ~0u, 240)
{
	static const struct op op = {
		"accept", fault_before_accept, call_accept, after_accept,
		{ ENFILE, ENOMEM, ENOBUFS },
	};

	fault_sweep(&op, 2);
}

/* -------------------------------------------------------------- moving bytes */

static int call_send(struct step *st)
{
	ssize_t n = send(st->p.c, fault_big, st->len, MSG_NOSIGNAL);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

/* What was accepted arrives, and the rest when it is sent. */
static void after_send(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		st->done += OK(send(st->p.c, fault_big + st->done,
				    st->len - st->done, MSG_NOSIGNAL));
	fault_has_heard(st);
}

static void before_send_1(struct step *st)
{
	fault_before_heard(st, 1, 0);
}

static void before_send_64k(struct step *st)
{
	fault_before_heard(st, 65536, 0);
}

static void before_send_1m(struct step *st)
{
	fault_before_heard(st, FAULT_BIG, 0);
}

static void before_lend_1m(struct step *st)
{
	fault_before_heard(st, FAULT_BIG, 65536);
}

CASE_LIMIT(send_1_faults, ~0u, 120)
{
	static const struct op op = {
		"send", before_send_1, call_send, after_send, { EFAULT },
	};

	fault_sweep(&op, 3);
}

CASE_LIMIT(send_64k_faults, ~0u, 240)
{
	static const struct op op = {
		"send 64 KiB", before_send_64k, call_send, after_send,
		{ EFAULT },
	};

	fault_sweep(&op, 8);
}

CASE_LIMIT(send_1m_faults, ~0u, 600)
{
	static const struct op op = {
		"send 1 MiB", before_send_1m, call_send, after_send,
		{ EFAULT },
	};

	fault_sweep(&op, 40);
}

/* As long as there is no memory at all he sleeps who may, and a signal wakes him. */
CASE_ON(send_waits_for_memory, ON_SDP)
{
	struct task t = { .run = task_send, .buf = fault_big, .len = 30000 };
	struct ktap_watch start;
	struct pair p;

	sysctl("zcopy_thresh", 0);
	pair_open(&p);
	t.fd = p.c;
	fault_aim(FAULT_IN_MODULE);
	fault_strike("failslab", "1", "100", "-1");
	expect_eintr(&t, SO_SNDTIMEO);
	OK(set_ms(p.c, SO_SNDTIMEO, 200));
	start = ktap_watch();
	FAILS(EAGAIN, send(p.c, fault_big, t.len, MSG_NOSIGNAL));
	WAITED(200, ktap_ms(2000), start);
	OK(set_ms(p.c, SO_SNDTIMEO, 0));
	start_and_signal(&t);
	still_waits(&t);
	fault_quiet();
	EQ(t.len, task_join(&t));
	recv_pattern(p.s, t.len, 7, 0);
	fault_talk(p.c, p.s);
}

enum { TABLE = 2 << 20 };	/* what one page of a page table maps */

/* fault_big where nobody has touched it: there are no page tables for it yet. */
static void before_lend_untouched(struct step *st)
{
	char *at;

	before_lend_1m(st);
	st->arg = mmap(NULL, 3 * TABLE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(st->arg != MAP_FAILED);
	at = (char *)(((unsigned long)st->arg + TABLE) & -TABLE);
	/* What is locked would be there at once. */
	OK(munlock(fault_big, st->len));
	CHECK(mremap(fault_big, 0, st->len, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
}

static int call_lend_untouched(struct step *st)
{
	char *at = (char *)(((unsigned long)st->arg + TABLE) & -TABLE);
	ssize_t n = send(st->p.c, at, st->len, MSG_NOSIGNAL);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

static void after_lend_untouched(struct step *st, int ret)
{
	after_send(st, ret);
	munmap(st->arg, 3 * TABLE);
}

/* The same without a copy: what cannot be lent is copied. */
CASE_LIMIT(lend_1m_faults, ON_SDP, 600)
{
	static const struct op untouched = {
		"send 1 MiB, lent untouched", before_lend_untouched, call_lend_untouched,
		after_lend_untouched, { EFAULT },
	};
	static const struct op op = {
		"send 1 MiB, lent", before_lend_1m, call_send, after_send,
		{ EFAULT },
	};

	/* Fewer than there are: a registration that one step has made serves the next. */
	fault_sweep(&op, 10);
	/* Elsewhere a page fault is no place of the call's to fail. */
	if (fault_at_sites())
		fault_sweep(&untouched, 0);
}

/* And by MSG_ZEROCOPY, which leaves the rest to others: who was told to is told. */
static void before_lease(struct step *st)
{
	fault_before_heard(st, FAULT_BIG / 4, 65536);
	OK(set_int(st->p.c, SOL_SOCKET, SO_ZEROCOPY, 1));
}

static int call_lease(struct step *st)
{
	ssize_t n = send(st->p.c, fault_big, st->len, MSG_NOSIGNAL | MSG_ZEROCOPY);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

static void after_lease(struct step *st, int ret)
{
	after_send(st, ret);
	if (!ret)
		EQ(1, notified(st->p.c, 0, NULL));
}

CASE_LIMIT(lease_faults, ON_SDP, 600)
{
	static const struct op op = {
		"send 256 KiB, leased", before_lease, call_lease, after_lease,
		{ EFAULT, ENOBUFS },
	};

	fault_sweep(&op, 8);
}

static int call_recv(struct step *st)
{
	ssize_t n = recv(st->p.s, fault_room, st->len, MSG_WAITALL);

	st->done = n > 0 ? n : 0;
	return n < 0 ? -1 : 0;
}

/* No byte is lost by a call that could not write it to the caller's memory. */
static void after_recv(struct step *st, int ret)
{
	(void)ret;
	while (st->done < st->len)
		st->done += OK(recv(st->p.s, fault_room + st->done,
				    st->len - st->done, 0));
	fault_has_said(st);
}

CASE_LIMIT(recv_faults, ~0u, 240)
{
	static const struct op op = {
		"recv", fault_before_said, call_recv, after_recv, { EFAULT },
	};

	fault_sweep(&op, 4);
}

static void before_stamped(struct step *st)
{
	fault_before_said(st);
	OK(set_int(st->p.s, SOL_SOCKET, SO_TIMESTAMP, 1));
}

/* A time that there is no memory for is not told; every byte is there. */
static int call_stamped(struct step *st)
{
	char control[CMSG_SPACE(sizeof(struct timeval))];
	struct iovec iov = { fault_room, st->len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1,
			      .msg_control = control, .msg_controllen = sizeof(control) };
	ssize_t n = recvmsg(st->p.s, &msg, MSG_WAITALL);
	struct cmsghdr *c = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;

	st->done = n > 0 ? n : 0;
	if (c)
		CHECK(c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMP);
	return n < 0 ? -1 : 0;
}

CASE_LIMIT(stamped_faults, ~0u, 240)
{
	static const struct op op = {
		"recvmsg with its time", before_stamped, call_stamped, after_recv,
		{ EFAULT },
	};

	fault_sweep(&op, 4);
}

/* Read to where it is wanted; or not, and copied. */
static void before_lent(struct step *st)
{
	sysctl("zcopy_thresh", 65536);
	pair_open(&st->p);
	st->len = FAULT_BIG;
	memset(fault_room, 0, st->len);
	st->task = (struct task){ .run = task_send, .fd = st->p.c, .buf = fault_big,
				  .len = st->len };
}

static void before_take(struct step *st)
{
	before_lent(st);
	task_start(&st->task);
}

static void after_take(struct step *st, int ret)
{
	after_recv(st, ret);
	EQ(st->len, task_join(&st->task));
}

CASE_LIMIT(take_faults, ON_SDP, 240)
{
	static const struct op op = {
		"recv 1 MiB, taken", before_take, call_recv, after_take,
		{ EFAULT },
	};

	fault_sweep(&op, 8);
}

/* Nobody reads yet: it is read by a worker, to buffers; or not, and copied. */
static int call_fetch(struct step *st)
{
	task_start(&st->task);
	await(st->p.s, POLLIN);
	return 0;
}

CASE_LIMIT(fetch_faults, ON_SDP, 240)
{
	static const struct op op = {
		"nobody reads", before_lent, call_fetch, after_take, { 0 },
	};

	/* Who reads it is in no call of anybody's. */
	fault_sweep_wide(&op, 10);
}

enum { MESSAGES = 8 };

/* MESSAGES parts of so many bytes. */
static void messages(struct mmsghdr *msgs, struct iovec *iov, char *at, size_t len)
{
	size_t part = len / MESSAGES;
	int i;

	memset(msgs, 0, MESSAGES * sizeof(*msgs));
	for (i = 0; i < MESSAGES; i++) {
		iov[i] = (struct iovec){ at + i * part, part };
		msgs[i].msg_hdr.msg_iov = &iov[i];
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
}

static int call_sendmmsg(struct step *st)
{
	struct mmsghdr msgs[MESSAGES];
	struct iovec iov[MESSAGES];
	int i, n;

	messages(msgs, iov, fault_big, st->len);
	n = sendmmsg(st->p.c, msgs, MESSAGES, MSG_NOSIGNAL);
	/* One that went in part is the last. */
	for (i = 0; i < n; i++) {
		EQ(i * (st->len / MESSAGES), st->done);
		st->done += msgs[i].msg_len;
	}
	return n < 0 ? -1 : 0;
}

CASE_LIMIT(sendmmsg_faults, ~0u, 240)
{
	static const struct op op = {
		"sendmmsg", before_send_64k, call_sendmmsg, after_send,
		{ EFAULT },
	};

	fault_sweep(&op, 8);
}

/* All of it is there: the socket's error is for who finds nothing. */
static void before_recvmmsg(struct step *st)
{
	sysctl("zcopy_thresh", 0);
	pair_open(&st->p);
	st->len = FAULT_SAID / 4;
	memset(fault_room, 0, st->len);
	EQ(st->len, send(st->p.c, fault_big, st->len, MSG_NOSIGNAL));
	arrived(st->p.s, st->len);
}

static int call_recvmmsg(struct step *st)
{
	struct mmsghdr msgs[MESSAGES];
	struct iovec iov[MESSAGES];
	int i, n;

	messages(msgs, iov, fault_room, st->len);
	n = recvmmsg(st->p.s, msgs, MESSAGES, MSG_WAITALL, NULL);
	/* One that got less than it has room for is not the last. */
	for (i = 0; i < n; i++) {
		memmove(fault_room + st->done, iov[i].iov_base, msgs[i].msg_len);
		st->done += msgs[i].msg_len;
	}
	return n < 0 ? -1 : 0;
}

/* What a message behind the first met is the socket's error, and after the data. */
static void after_recvmmsg(struct step *st, int ret)
{
	bool some = !ret && st->done < st->len;
	int err;

	while (st->done < st->len)
		st->done += OK(recv(st->p.s, fault_room + st->done,
				    st->len - st->done, 0));
	err = get_int(st->p.s, SOL_SOCKET, SO_ERROR);
	if (err)
		EQ(some ? EFAULT : 0, err);
	fault_has_said(st);
}

CASE_LIMIT(recvmmsg_faults, ~0u, 240)
{
	static const struct op op = {
		"recvmmsg", before_recvmmsg, call_recvmmsg, after_recvmmsg,
		{ EFAULT },
	};

	fault_sweep(&op, 8);
}

/* ----------------------------------------------------------------- the others */

static int call_shutdown(struct step *st)
{
	return shutdown(st->p.c, SHUT_WR);
}

/* What was said before it arrives, and nothing else. */
static void hear_the_end(struct step *st)
{
	recv_pattern(st->p.s, FAULT_SAID, 7, 0);
	expect_eof(st->p.s);
}

static int call_shutdown_heard(struct step *st)
{
	EQ(0, call_shutdown(st));
	hear_the_end(st);
	return 0;
}

static void after_shutdown_heard(struct step *st, int ret)
{
	EQ(0, ret);
	send_pattern(st->p.s, FAULT_TALK, 4, 0);
	recv_pattern(st->p.c, FAULT_TALK, 4, 0);
}

static void after_shutdown(struct step *st, int ret)
{
	hear_the_end(st);
	after_shutdown_heard(st, ret);
}

/* It may not fail.  TCP, if it has no memory for the FIN, never says it. */
CASE_LIMIT(shutdown_faults, ON_SDP, 120)
{
	static const struct op op = {
		"shutdown", fault_before_said, call_shutdown, after_shutdown, { 0 },
	};
	static const struct op heard = {
		"shutdown", fault_before_said, call_shutdown_heard, after_shutdown_heard, { 0 },
	};

	fault_never(&op);
	fault_sweep_wide(&heard, 10);
}

static int call_close(struct step *st)
{
	int fd = st->p.c;

	st->p.c = -1;
	return close(fd);
}

static int call_close_heard(struct step *st)
{
	EQ(0, call_close(st));
	hear_the_end(st);
	return 0;
}

static void after_close_heard(struct step *st, int ret)
{
	(void)st;
	EQ(0, ret);
}

static void after_close(struct step *st, int ret)
{
	EQ(0, ret);
	hear_the_end(st);
}

CASE_LIMIT(close_faults, ON_SDP, 120)
{
	static const struct op op = {
		"close", fault_before_said, call_close, after_close, { 0 },
	};
	static const struct op heard = {
		"close", fault_before_said, call_close_heard, after_close_heard, { 0 },
	};

	fault_never(&op);
	fault_sweep_wide(&heard, 10);
}

static void before_close_listener(struct step *st)
{
	fault_before_accept(st);
}

static int call_close_listener(struct step *st)
{
	int fd = st->p.l;

	st->p.l = -1;
	return close(fd);
}

static int call_close_listener_heard(struct step *st)
{
	EQ(0, call_close_listener(st));
	expect_reset(st->p.c);
	return 0;
}

static void after_close_listener(struct step *st, int ret)
{
	EQ(0, ret);
	expect_reset(st->p.c);
}

CASE_LIMIT(close_listener_faults, ON_SDP, 120)
{
	static const struct op op = {
		"close of a listener", before_close_listener,
		call_close_listener, after_close_listener, { 0 },
	};
	static const struct op heard = {
		"close of a listener", before_close_listener,
		call_close_listener_heard, after_close_heard, { 0 },
	};

	fault_never(&op);
	fault_sweep_wide(&heard, 4);
}

static int call_info(struct step *st)
{
	struct sdp_info info;

	if (sdp_info(st->p.c, &info) < 0)
		return -1;
	return get_int(st->p.c, SOL_SDP, SDP_FALLBACK) < 0 ? -1 : 0;
}

CASE_LIMIT(info_faults, ON_SDP, 60)
{
	static const struct op op = {
		"SDP_INFO, SDP_FALLBACK", fault_before_talk, call_info, fault_after_talk,
		{ EFAULT },
	};

	fault_sweep(&op, 2);
}

static int call_dump(struct step *st)
{
	(void)st;
	return sockets_shown(0);
}

static void after_dump(struct step *st, int ret)
{
	if (ret < 0)
		ret = OK(sockets_shown(0));
	if (ret < 3)
		FAIL("two ends and a listener, and %d in the dump", ret);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(diag_faults, BIT(FAMILY_V4), 60)
{
	static const struct op op = {
		"sock_diag", fault_before_talk, call_dump, after_dump,
		{ ENOMEM, ENOBUFS, EFAULT },
	};

	fault_sweep(&op, 1);
}

/* Of a socket that TCP has taken over; of a @port of its own each time. */
static void before_fallen(struct step *st, int *port)
{
	sysctl("cache_timeout", 600000);
	st->p.l = fault_listen_at(tcp_sock(), &st->p.addr, (*port)++);
	st->p.c = sock();
	OK(connect_to(st->p.c, &st->p.addr));
	EQ(-1, transport(st->p.c));
	st->p.s = accept_any(st->p.l);
}

static int call_ip_info(struct step *st)
{
	struct sdp_info info;

	if (ip_info(st->p.c, &info) < 0)
		return -1;
	EQ(SDP_REASON_REFUSED, info.sdpi_reason);
	return 0;
}

static void before_ip_info(struct step *st)
{
	static int port = 24000;

	before_fallen(st, &port);
}

static void after_ip_info(struct step *st, int ret)
{
	fault_again(st, ret, call_ip_info);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(ip_info_faults, ON_ULP, 60)
{
	static const struct op op = {
		"IP_SDP_INFO", before_ip_info, call_ip_info, after_ip_info, { EFAULT },
	};

	fault_sweep(&op, 1);
}

/* @arg: one of /proc/net, read to its end into fault_room. */
static int call_proc(struct step *st)
{
	ssize_t n;
	int err;

	st->done = 0;
	st->fd = open(st->arg, O_RDONLY | O_CLOEXEC);
	if (st->fd < 0)
		return -1;
	while ((n = read(st->fd, fault_room + st->done, FAULT_BIG - 1 - st->done)) > 0)
		st->done += n;
	err = errno;
	close(st->fd);
	st->fd = -1;
	fault_room[st->done] = '\0';
	errno = err;
	return n < 0 ? -1 : 0;
}

static void before_counters(struct step *st)
{
	fault_before_talk(st);
	st->arg = on_sdp() ? "/proc/net/sdpstat" : "/proc/net/snmp";
}

static void after_counters(struct step *st, int ret)
{
	fault_again(st, ret, call_proc);
	CHECK(strstr(fault_room, on_sdp() ? "bytes_sent" : "Tcp:"));
	fault_after_talk(st, ret);
}

/* Nothing of it is the module's own: anywhere in it, as for TCP. */
CASE_LIMIT(counters_faults, BIT(TCP_V4) | BIT(FAMILY_V4) | BIT(ULP_V4), 60)
{
	static const struct op op = {
		"/proc/net/sdpstat", before_counters, call_proc, after_counters,
		{ ENOMEM, ENFILE, EFAULT },
	};

	fault_sweep_at(FAULT_ANYWHERE, &op, 4);
}

static void before_peers(struct step *st)
{
	static int port = 25000;

	before_fallen(st, &port);
	st->arg = "/proc/net/sdp_peers";
}

static void after_peers(struct step *st, int ret)
{
	char port[8];

	fault_again(st, ret, call_proc);
	snprintf(port, sizeof(port), " %5d ", addr_port(&st->p.addr));
	CHECK(strstr(fault_room, port));
	fault_after_talk(st, ret);
}

CASE_LIMIT(peers_faults, ON_ULP, 60)
{
	static const struct op op = {
		"/proc/net/sdp_peers", before_peers, call_proc, after_peers,
		{ ENOMEM, ENFILE, EFAULT },
	};

	fault_sweep_at(FAULT_ANYWHERE, &op, 4);
}
