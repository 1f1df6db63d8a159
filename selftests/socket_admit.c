// SPDX-License-Identifier: GPL-2.0
/*
 * Who may connect, and to what: addresses that security modules would not
 * understand, sockets that only TCP can serve, and limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <netinet/tcp.h>

#include "lib/variant.h"

/* No rule of Landlock speaks of family 27, so it must lead nowhere. */
TEST_ON(family_27_elsewhere, ON_TCP | BIT(DOOR2_V4) | BIT(DOOR2_V6) | ON_DOOR3)
{
	union addr a, b;
	int fd = sock();

	listener(&a, 4);
	here(&b, 0);
	a.sa.sa_family = AF_INET_SDP;
	b.sa.sa_family = AF_INET_SDP;
	FAILS(EAFNOSUPPORT, connect(fd, &a.sa, sizeof(a.in6)));
	FAILS(EAFNOSUPPORT, bind(fd, &b.sa, sizeof(b.in6)));
	a.sa.sa_family = variant->family;
	OK(connect_to(fd, &a));
	must_be_sdp(fd);
}

static void family_addr(const char *value)
{
	int fd = OK(open("/sys/module/af_sdp/parameters/family_addr",
			 O_WRONLY));

	EQ(1, write(fd, value, 1));
	close(fd);
}

TEST_ON(family_27_refused, BIT(DOOR1_V4))
{
	int fd = sock(), bound, why;
	union addr a;

	here(&a, 0);
	a.sa.sa_family = AF_INET_SDP;
	family_addr("0");
	bound = bind(fd, &a.sa, sizeof(a.in));
	why = errno;
	family_addr("1");
	EQ(-1, bound);
	EQ(EAFNOSUPPORT, why);
	OK(bind(fd, &a.sa, sizeof(a.in)));
}

/* -------------------------------------------------- what is learned, of whom */

/* Who cannot get there from where he is bound says nothing about the way. */
TEST_ON(bound_elsewhere_learns_nothing, ON_DOOR3)
{
	unsigned long long was;
	union addr a, from;
	int l, c, s;

	sysctl("cache_timeout", 600000);
	sysctl("connect_timeout", ktap_ms(10000));
	l = mixed_listener(&a);
	was = counter("fallback_no_device");
	c = sock();
	addr_set(&from, variant->family,
		 variant->family == AF_INET ? "127.0.0.1" : "::1", 0);
	OK(bind_to(c, &from));
	OK(connect_to(c, &a));
	EQ(was + 1, counter("fallback_no_device"));
	close(accept_any(l));
	close(c);
	c = sock();
	OK(connect_to(c, &a));
	must_be_sdp(c);
	s = accept_any(l);
	send_text(c, "there");
	recv_text(s, "there");
}
