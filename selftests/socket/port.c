// SPDX-License-Identifier: GPL-2.0
/*
 * The port of a client, which is taken for one destination and from one address alone;
 * and its names, from the moment that it connects.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/variant.h"

#ifndef IP_LOCAL_PORT_RANGE
#define IP_LOCAL_PORT_RANGE 51
#endif

/* Where the kernel chooses; the text before. */
static void set_range(char was[32], const char *to)
{
	int fd = open("/proc/sys/net/ipv4/ip_local_port_range", O_RDWR | O_CLOEXEC);
	ssize_t n = was ? pread(fd, was, 31, 0) : 0;

	if (n > 0)
		was[n] = '\0';
	if (pwrite(fd, to, strlen(to), 0) < 0)
		perror("ip_local_port_range");
	close(fd);
}

static void needs_sharing(void)
{
	if (!shares_ports())
		ktap_skip("Linux from 6.16 on shares no port by IPv4 with a module");
}

/* Who is bound to no address stays filed under that, by IPv6 too. */
static void needs_moving(void)
{
	if (on_sdp() && kernel_since(6, 16))
		ktap_skip("Linux from 6.16 on moves no bound socket for a module");
}

/*
 * As many connections as there are ports, to each of two servers, and one of TCP.  The
 * ports are none that an earlier case may have been given: a listener's port is nobody
 * else's while one of its connections is in TIME_WAIT.
 */
CASE(ports_shared)
{
	enum { PORTS = 4 };
	int err[2][PORTS + 1], c[2][PORTS + 1], tcp = tcp_sock(), of_tcp, i, j;
	union addr a[2], beside, me;
	char was[32] = "";

	needs_sharing();
	for (i = 0; i < 2; i++)
		listener(&a[i], 16);
	tcp_listener(&beside);
	for (i = 0; i < 2; i++)
		for (j = 0; j <= PORTS; j++)
			c[i][j] = sock();
	set_range(was, "61010 61013");
	for (i = 0; i < 2; i++)
		for (j = 0; j <= PORTS; j++)
			err[i][j] = connect_to(c[i][j], &a[i]) ? errno : 0;
	of_tcp = connect_to(tcp, &beside) ? errno : 0;
	set_range(NULL, was);
	EQ(0, of_tcp);
	for (i = 0; i < 2; i++) {
		for (j = 0; j < PORTS; j++) {
			EQ(0, err[i][j]);
			must_be_sdp(c[i][j]);
			OK(name_of(c[i][j], &me));
			IN_RANGE(61010, 61013, addr_port(&me));
		}
		EQ(EADDRNOTAVAIL, err[i][PORTS]);
	}
	/* One that is closed gives its own back. */
	close(c[0][1]);
	close(c[0][PORTS]);
	c[0][1] = sock();
	set_range(NULL, "61010 61013");
	err[0][1] = connect_to(c[0][1], &a[0]) ? errno : 0;
	set_range(NULL, was);
	if (on_sdp())
		EQ(0, err[0][1]);	/* TCP's is in TIME_WAIT, perhaps */
}

/* At the host's other addresses it is free. */
CASE(port_elsewhere)
{
	bool v6 = variant->family == AF_INET6;
	union addr me, other;
	struct pair p;
	int fd;

	pair_open(&p);
	OK(name_of(p.c, &me));
	fd = tcp_sock();
	FAILS(EADDRINUSE, bind(fd, &me.sa, addr_len(&me)));
	addr_set(&other, variant->family, v6 ? "::1" : "127.0.0.1", addr_port(&me));
	OK(bind(fd, &other.sa, addr_len(&other)));
	OK(listen(fd, 1));
}

/* Two who are bound to one port connect to different servers, and not to the same. */
CASE(port_bound_twice)
{
	union addr a, b, me;
	int fd[3], i;

	needs_sharing();
	listener(&a, 8);
	listener(&b, 8);
	here(&me, 0);
	for (i = 0; i < 3; i++) {
		fd[i] = sock();
		OK(set_int(fd[i], SOL_SOCKET, SO_REUSEADDR, 1));
		OK(bind_to(fd[i], &me));
		OK(name_of(fd[i], &me));
	}
	OK(connect_to(fd[0], &a));
	must_be_sdp(fd[0]);
	FAILS(EADDRNOTAVAIL, connect_to(fd[1], &a));
	OK(connect_to(fd[2], &b));
	must_be_sdp(fd[2]);
}

/* Bound to no address, and moved to the one that it connects from: and back. */
CASE(port_of_any_address)
{
	union addr a, me, any, now, none = { .sa.sa_family = AF_UNSPEC };
	int fd = sock(), twin = sock();

	needs_moving();
	listener(&a, 8);
	addr_any(&any, variant->family, 0);
	OK(bind_to(fd, &any));
	OK(name_of(fd, &any));
	/* One that bind() chose is given back with the connection. */
	close(fd);
	fd = sock();
	OK(set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(fd, &any));
	OK(set_int(twin, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(twin, &any));
	OK(connect_to(fd, &a));
	must_be_sdp(fd);
	FAILS(EADDRNOTAVAIL, connect_to(twin, &a));
	here(&me, addr_port(&any));
	OK(name_of(fd, &now));
	CHECK(addr_equal(&me, &now));
	OK(connect(fd, &none.sa, sizeof(none)));
	OK(name_of(fd, &now));
	CHECK(addr_equal(&any, &now));
	OK(connect_to(fd, &a));
	OK(name_of(fd, &now));
	CHECK(addr_equal(&me, &now));
}

/* It has them before there is an answer, which may never come. */
CASE(names_while_connecting)
{
	union addr a, me, now;
	int fd = sock();

	nobody(&a);
	nonblock(fd, true);
	FAILS(EINPROGRESS, connect_to(fd, &a));
	OK(name_of(fd, &now));
	CHECK(addr_port(&now));
	here(&me, addr_port(&now));
	CHECK(addr_equal(&me, &now));
}

/* A range of its own, from which the kernel chooses.  Of an odd number of ports bind()
 * looks at one less, and so does connect() where a client has its port for itself.
 */
CASE(port_range)
{
	union addr me, tcp_me;
	struct pair p;
	int fd, i;

	for (i = 0; i < 3; i++) {
		pair_start(&p);
		if (set_int(p.c, SOL_IP, IP_LOCAL_PORT_RANGE, 41010 | 41013 << 16)) {
			EQ(ENOPROTOOPT, errno);
			ktap_skip("this kernel has no IP_LOCAL_PORT_RANGE");
		}
		pair_finish(&p);
		OK(name_of(p.c, &me));
		IN_RANGE(41010, 41013, addr_port(&me));
	}
	/* One that is bound, too. */
	here(&tcp_me, 0);
	fd = sock();
	OK(set_int(fd, SOL_IP, IP_LOCAL_PORT_RANGE, 41020 | 41020 << 16));
	OK(bind_to(fd, &tcp_me));
	OK(name_of(fd, &me));
	EQ(41020, addr_port(&me));
}
