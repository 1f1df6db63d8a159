// SPDX-License-Identifier: GPL-2.0
/*
 * Who does not wait in the call that moves his bytes: poll() and select(), a connect()
 * that is asked about later, and a listener that is ended from outside, with their
 * first, second, third ... allocation failing.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "fault.h"
#include "lib/destroy.h"

/* ------------------------------------------------------------ poll and select */

/* More than the kernel has room for on its stack, so it asks for a page. */
enum { ASKED = 16 };

static int call_poll(struct step *st)
{
	struct pollfd fds[ASKED];
	int i;

	for (i = 0; i < ASKED; i++)
		fds[i] = (struct pollfd){ .fd = st->p.s, .events = POLLIN };
	return poll(fds, ASKED, 1);
}

/* Nothing was there; what comes later is told. */
static int later_is_told_(struct step *st, int ret, int (*call)(struct step *st))
{
	if (ret < 0)
		ret = OK(call(st));
	EQ(0, ret);
	send_pattern(st->p.c, 1, 9, 0);
	EVENTUALLY(ASKED, call(st));
	recv_pattern(st->p.s, 1, 9, 0);
	return 0;
}

#define later_is_told(...)	CALL(later_is_told_(__VA_ARGS__))

static void after_poll(struct step *st, int ret)
{
	later_is_told(st, ret, call_poll);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(poll_faults, ~0u, 60)
{
	static const struct op op = {
		"poll", fault_before_talk, call_poll, after_poll, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 1);
}

static int selected[ASKED];

static void before_select(struct step *st)
{
	int i;

	fault_before_talk(st);
	for (i = 0; i < ASKED; i++)
		selected[i] = OK(dup(st->p.s));
}

static int call_select(struct step *st)
{
	struct timeval tv = { .tv_usec = 1000 };
	fd_set set;
	int i;

	(void)st;
	FD_ZERO(&set);
	for (i = 0; i < ASKED; i++)
		FD_SET(selected[i], &set);
	return select(selected[ASKED - 1] + 1, &set, NULL, NULL, &tv);
}

static void after_select(struct step *st, int ret)
{
	int i;

	later_is_told(st, ret, call_select);
	for (i = 0; i < ASKED; i++)
		close(selected[i]);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(select_faults, ~0u, 60)
{
	static const struct op op = {
		"select", before_select, call_select, after_select, { EFAULT, ENOMEM },
	};

	fault_sweep(&op, 1);
}

/* ------------------------------------------------------- a connect() for later */

/* Who waits for an edge, and has had that of a socket that is nothing yet. */
static void before_later(struct step *st)
{
	struct epoll_event e = { .events = EPOLLOUT | EPOLLET };

	pair_start(&st->p);
	nonblock(st->p.c, true);
	st->fd = OK(epoll_create1(EPOLL_CLOEXEC));
	OK(epoll_ctl(st->fd, EPOLL_CTL_ADD, st->p.c, &e));
	EQ(1, epoll_wait(st->fd, &e, 1, 0));
}

static int call_later(struct step *st)
{
	int ret = connect_to(st->p.c, &st->p.addr);

	return ret && errno == EINPROGRESS ? 0 : ret;
}

/* What comes of it: -1 with errno if nothing. */
static int outcome(struct step *st)
{
	struct epoll_event e;
	int err;

	EQ(1, epoll_wait(st->fd, &e, 1, ktap_ms(20000)));
	err = get_int(st->p.c, SOL_SOCKET, SO_ERROR);
	CHECK(!err == !(e.events & EPOLLERR));
	if (!err)
		EQ(0, epoll_wait(st->fd, &e, 1, 0));
	else
		FAILS(ECONNABORTED, connect_to(st->p.c, &st->p.addr));
	errno = err;
	return err ? -1 : 0;
}

/* It went well, or does the next time. */
static void after_outcome(struct step *st, int ret)
{
	nonblock(st->p.c, false);
	fault_again(st, ret, call_later);
	st->p.s = accept_any(st->p.l);
	if (variant->via != VIA_ULP)
		must_be_sdp(st->p.c);
	fault_talk(st->p.c, st->p.s);
}

static void after_later(struct step *st, int ret)
{
	if (!ret) {
		ret = outcome(st);
		CHECK(!ret || (st->hit && (errno == ENOMEM || errno == ENOBUFS)));
	}
	after_outcome(st, ret);
}

CASE_LIMIT(connect_later_faults, ~0u, 240)
{
	static const struct op op = {
		"connect, non-blocking", before_later, call_later, after_later,
		{ EADDRNOTAVAIL, ENOMEM, ENOBUFS, EFAULT },
	};

	fault_sweep(&op, 5);
}

static int call_outcome(struct step *st)
{
	return call_later(st) ?: outcome(st);
}

/* And what is done when nobody is in a call, at both ends. */
CASE_LIMIT(connect_later_wide, BIT(FAMILY_V4) | BIT(PROTO_V6) | BIT(ULP_V4), 400)
{
	static const struct op op = {
		"connect, non-blocking", before_later, call_outcome, after_outcome,
		{ EADDRNOTAVAIL, ENOMEM, ENOBUFS, ECONNREFUSED, ETIMEDOUT },
	};

	fault_sweep_wide(&op, 40);
}

/* ----------------------------------------------- a listener ended from outside */

static int call_destroy(struct step *st)
{
	return destroy_listener(&st->p.addr);
}

/*
 * That it has been done may be what could not be told; and a client for whose RST TCP had
 * no memory hears when he sends.
 */
static void after_destroy(struct step *st, int ret)
{
	bool told = on_sdp() || !st->hit;

	if (ret && call_destroy(st))
		EQ(ENOENT, errno);
	listener_is_over(st->p.l, told ? st->p.c : -1, &st->p.addr);
	if (!told) {
		send(st->p.c, "!", 1, MSG_NOSIGNAL);
		await_end(st->p.c, 0);
	}
}

/* What the kernel does there is not the module's own: anywhere in it, as for TCP. */
CASE_LIMIT(destroy_faults, ~0u, 120)
{
	static const struct op op = {
		"SOCK_DESTROY", fault_before_accept, call_destroy, after_destroy,
		{ ENOMEM, ENOBUFS, ENFILE, EFAULT },
	};

	fault_sweep_at(FAULT_ANYWHERE, &op, 8);
}

/* The listener is over, and the program has not looked at it yet. */
static void before_destroyed(struct step *st)
{
	fault_before_accept(st);
	OK(destroy_listener(&st->p.addr));
}

static int call_destroyed(struct step *st)
{
	int s = accept(st->p.l, NULL, NULL);

	if (s >= 0)
		FAIL("accept() from a listener that is over");
	return errno == EINVAL ? 0 : -1;
}

static void after_destroyed(struct step *st, int ret)
{
	(void)ret;
	listener_is_over(st->p.l, st->p.c, &st->p.addr);
}

/* TCP says that it is over, and who is still there is sent away: with what there is. */
CASE_LIMIT(destroyed_faults, ~0u, 120)
{
	static const struct op op = {
		"accept, of a destroyed listener", before_destroyed, call_destroyed,
		after_destroyed, { ENFILE, ENOMEM, ENOBUFS },
	};

	fault_never(&op);
}

/* --------------------------------------------------------------- SDP_FALLBACK */

/* What it is to become: what the way in does not have by itself. */
static int fallback(void)
{
	return variant->via != VIA_ULP;
}

static void before_fallback(struct step *st)
{
	st->p.l = tcp_listener(&st->p.addr);
	st->p.c = sock();
}

static int call_fallback(struct step *st)
{
	return set_int(st->p.c, SOL_SDP, SDP_FALLBACK, fallback());
}

/* Set if it says so, and else as it was; and that is what connect() does. */
static void after_fallback(struct step *st, int ret)
{
	EQ(ret ? !fallback() : fallback(), get_int(st->p.c, SOL_SDP, SDP_FALLBACK));
	fault_again(st, ret, call_fallback);
	EQ(fallback(), get_int(st->p.c, SOL_SDP, SDP_FALLBACK));
	if (!fallback()) {
		FAILS(ECONNREFUSED, connect_to(st->p.c, &st->p.addr));
		return;
	}
	OK(connect_to(st->p.c, &st->p.addr));
	st->p.s = accept_any(st->p.l);
	fault_talk(st->p.c, st->p.s);
}

CASE_LIMIT(fallback_option_faults, ON_SDP, 60)
{
	static const struct op op = {
		"SDP_FALLBACK", before_fallback, call_fallback, after_fallback, { EFAULT },
	};

	fault_sweep(&op, 1);
}
