// SPDX-License-Identifier: GPL-2.0
/*
 * What accept() gives a child of its listener: every option that a listener can be
 * given, one at a time, beside a listener of TCP's.
 *
 * No list says which these are: a number is an option if TCP takes a value for it and
 * answers another one from then on.  So whatever a kernel adds is asked for, too.
 */
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
#include <netinet/tcp.h>

#include "lib/variant.h"

enum {
	OPTIONS	= 128,		/* of a level */
	LARGE	= 64,		/* bytes of a value */
};

struct value {
	int ret;		/* bytes, or -errno */
	char is[LARGE];
};

static struct value value_of(int fd, int level, int option)
{
	struct value v = { };
	socklen_t len = sizeof(v.is);

	v.ret = getsockopt(fd, level, option, v.is, &len) ? -errno : (int)len;
	return v;
}

static bool equal(const struct value *a, const struct value *b)
{
	return a->ret == b->ret && (a->ret < 0 || !memcmp(a->is, b->is, a->ret));
}

/* What an option is set to. */
struct setting {
	int level, option;
	char to[LARGE];
	socklen_t len;
};

/* Options that are no numbers. */
static const struct {
	int level, option;
	union {
		struct linger linger;
		struct timeval time;
		char name[16];
	} to;
	socklen_t len;
} others[] = {
	{ SOL_SOCKET, SO_LINGER, { .linger = { 1, 7 } }, sizeof(struct linger) },
	{ SOL_SOCKET, SO_RCVTIMEO, { .time = { 3 } }, sizeof(struct timeval) },
	{ SOL_SOCKET, SO_SNDTIMEO, { .time = { 3 } }, sizeof(struct timeval) },
	{ SOL_TCP, TCP_CONGESTION, { .name = "reno" }, 4 },
};

static int set(int fd, const struct setting *to)
{
	return setsockopt(fd, to->level, to->option, to->to, to->len) ? -errno : 0;
}

/* A value of its own, as TCP has it; false: it is no option of a listener. */
static bool find_setting(int level, int option, struct setting *to)
{
	static const int numbers[] = { 1, 0, 2, 5, 44, 9999, 40000 };
	struct value before, after;
	unsigned int i;
	int fd, number;

	*to = (struct setting){ .level = level, .option = option };
	for (i = 0; i < ARRAY_SIZE(others); i++) {
		if (others[i].level != level || others[i].option != option)
			continue;
		memcpy(to->to, &others[i].to, sizeof(others[i].to));
		to->len = others[i].len;
		return true;
	}
	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		number = numbers[i];
		if (level == SOL_SOCKET && option == SO_BINDTOIFINDEX)
			number = if_nametoindex(getenv("SDP_NETDEV") ?: "eth0");
		memcpy(to->to, &number, sizeof(number));
		to->len = sizeof(number);
		fd = tcp_sock();
		before = value_of(fd, level, option);
		if (!set(fd, to)) {
			after = value_of(fd, level, option);
			close(fd);
			if (before.ret >= 0 && !equal(&before, &after))
				return true;
		} else {
			close(fd);
		}
	}
	return false;
}

/* A child of such a listener of the variant's; -1: SDP is not for one with that. */
static int child(const struct setting *to, int *err)
{
	union addr a;
	int l = sock(), c, s;

	here(&a, 0);
	*err = set(l, to);
	OK(bind_to(l, &a));
	OK(listen(l, 4));
	OK(name_of(l, &a));
	c = sock();
	if (connect_to(c, &a) || (on_sdp() && !is_sdp(c))) {
		if (!on_sdp())
			FAIL("setsockopt(%d, %d): nobody connects", to->level, to->option);
		close(c);
		close(l);
		return -1;
	}
	/* Some wait for it. */
	EQ(1, send(c, "x", 1, 0));
	await(l, POLLIN);
	s = OK(accept(l, NULL, NULL));
	close(c);
	close(l);
	return s;
}

static int child_of_tcp(const struct setting *to, int *err)
{
	const struct variant tcp = { .via = VIA_TCP, .family = variant->family };
	const struct variant *const was = variant;
	int s;

	variant = &tcp;
	s = child(to, err);
	variant = was;
	return s;
}

/* What has another value of its own accord: those of TCP's connection. */
static bool is_the_connections(int level, int option)
{
	/* That of 5.10 takes away two of its bits, which are the network's (ECN). */
	if (level == SOL_IPV6 && option == IPV6_TCLASS && !kernel_since(6, 1))
		return true;
	/* The processor that took the last packet, of two perhaps. */
	if (level == SOL_SOCKET && option == SO_INCOMING_CPU)
		return true;
	return level == SOL_TCP && (option == TCP_MAXSEG || option == TCP_WINDOW_CLAMP ||
				    option == TCP_QUICKACK);
}

/* False: the child has not what TCP's has. */
static bool inherits(const struct setting *to)
{
	int err, tcp_err, s, like;
	struct value is, tcp;
	bool good;

	like = child_of_tcp(to, &tcp_err);
	s = child(to, &err);
	if (s < 0) {
		close(like);
		return true;
	}
	is = value_of(s, to->level, to->option);
	tcp = value_of(like, to->level, to->option);
	good = err == tcp_err && equal(&is, &tcp);
	if (!good)
		ktap_note("setsockopt(%d, %d) of a listener: %d, TCP %d; its child's: %d bytes %#x, TCP %d bytes %#x",
			  to->level, to->option, err, tcp_err, is.ret, *(int *)is.is,
			  tcp.ret, *(int *)tcp.is);
	close(s);
	close(like);
	return good;
}

CASE_LIMIT(accept_inherits, ON_SDP, 120)
{
	static const int levels[] = { SOL_SOCKET, SOL_TCP, SOL_IP, SOL_IPV6 };
	int asked = 0, differ = 0, option;
	struct setting to;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(levels); i++) {
		if (levels[i] == SOL_IPV6 && variant->family == AF_INET)
			continue;
		for (option = 1; option < OPTIONS; option++) {
			/* They would be sockets of another kind. */
			if ((levels[i] == SOL_IPV6 && option == IPV6_ADDRFORM) ||
			    (levels[i] == SOL_TCP && option == TCP_REPAIR) ||
			    is_the_connections(levels[i], option) ||
			    !find_setting(levels[i], option, &to))
				continue;
			asked++;
			differ += !inherits(&to);
		}
	}
	ktap_note("%d options", asked);
	if (differ)
		FAIL("of %d options %d are not as TCP's", asked, differ);
	/* It has not asked for those that it knows of, at least. */
	CHECK(asked > (int)ARRAY_SIZE(others));
}
