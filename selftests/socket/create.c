// SPDX-License-Identifier: GPL-2.0
/* Making sockets, binding and naming them. */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#include "lib/variant.h"

CASE(create)
{
	struct stat st;
	int fd = sock();

	EQ(variant->family, get_int(fd, SOL_SOCKET, SO_DOMAIN));
	EQ(SOCK_STREAM, get_int(fd, SOL_SOCKET, SO_TYPE));
	EQ(IPPROTO_TCP, get_int(fd, SOL_SOCKET, SO_PROTOCOL));
	EQ(0, get_int(fd, SOL_SOCKET, SO_ACCEPTCONN));
	EQ(0, get_int(fd, SOL_SOCKET, SO_ERROR));
	EQ(0, fcntl(fd, F_GETFD));
	EQ(O_RDWR, fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK));
	OK(fstat(fd, &st));
	CHECK(S_ISSOCK(st.st_mode));
	OK(close(fd));
	FAILS(EBADF, close(fd));
}

CASE(create_flags)
{
	int fd = sock_flags(SOCK_CLOEXEC | SOCK_NONBLOCK);
	int on = 1;

	EQ(FD_CLOEXEC, fcntl(fd, F_GETFD));
	EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
	close(fd);
	fd = sock_flags(SOCK_CLOEXEC);
	EQ(0, fcntl(fd, F_GETFL) & O_NONBLOCK);
	OK(ioctl(fd, FIONBIO, &on));
	EQ(O_NONBLOCK, fcntl(fd, F_GETFL) & O_NONBLOCK);
}

/* Types and protocols that no way in has. */
CASE(create_wrong)
{
	int family = variant->family;

	switch (variant->via) {
	case VIA_FAMILY:
		FAILS(ESOCKTNOSUPPORT, socket(AF_INET_SDP, SOCK_DGRAM, 0));
		FAILS(ESOCKTNOSUPPORT, socket(AF_INET_SDP, SOCK_SEQPACKET, 0));
		FAILS(EPROTONOSUPPORT, socket(AF_INET_SDP, SOCK_STREAM, IPPROTO_UDP));
		OK(socket(AF_INET_SDP, SOCK_STREAM, IPPROTO_TCP));
		break;
	case VIA_PROTO:
		FAILS(EPROTONOSUPPORT, socket(family, SOCK_DGRAM, IPPROTO_SDP));
		FAILS(EPROTONOSUPPORT, socket(family, SOCK_STREAM, 258));
		break;
	default:
		FAILS(EPROTONOSUPPORT, socket(family, SOCK_DGRAM, IPPROTO_TCP));
	}
}

CASE(create_many)
{
	int fds[200];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = sock();
	for (i = 0; i < ARRAY_SIZE(fds); i++)
		OK(close(fds[i]));
}

CASE(names_before_bind)
{
	union addr a, any;
	socklen_t len = 2;
	int fd = sock();

	OK(name_of(fd, &a));
	addr_any(&any, variant->family, 0);
	if (!addr_equal(&a, &any))
		FAIL("getsockname: expected %s, got %s", addr_text(&any), addr_text(&a));
	FAILS(ENOTCONN, peer_of(fd, &a));

	/* A short buffer is filled as far as it goes, the length is the whole. */
	OK(getsockname(fd, &a.sa, &len));
	EQ(addr_len(&any), len);
	len = sizeof(a);
	FAILS(EFAULT, getsockname(fd, (void *)8, &len));
	len = -1;
	FAILS(EINVAL, getsockname(fd, &a.sa, &len));
}

CASE(bind_ephemeral)
{
	union addr a, b;
	int fd = sock();

	here(&a, 0);
	OK(bind_to(fd, &a));
	OK(name_of(fd, &b));
	IN_RANGE(1024, 65535, addr_port(&b));
	addr_set_port(&a, addr_port(&b));
	if (!addr_equal(&a, &b))
		FAIL("getsockname: expected %s, got %s", addr_text(&a), addr_text(&b));
	FAILS(ENOTCONN, peer_of(fd, &b));
	/* once only */
	addr_set_port(&a, 0);
	FAILS(EINVAL, bind_to(fd, &a));
}

CASE(bind_chosen_port)
{
	union addr a, b;
	int fd = sock();

	bind_here(fd, &a);
	OK(close(fd));
	fd = sock();
	OK(bind_to(fd, &a));
	OK(name_of(fd, &b));
	CHECK(addr_equal(&a, &b));
}

/* SDP and TCP share one space of ports. */
CASE(bind_in_use)
{
	union addr a, any;
	int fd = sock(), other = sock();
	int tcp = OK(socket(variant->family, SOCK_STREAM, 0));

	bind_here(fd, &a);
	FAILS(EADDRINUSE, bind_to(other, &a));
	FAILS(EADDRINUSE, bind_to(tcp, &a));
	addr_any(&any, variant->family, addr_port(&a));
	FAILS(EADDRINUSE, bind_to(other, &any));
	FAILS(EADDRINUSE, bind_to(tcp, &any));

	/* SO_REUSEADDR on both: bind goes, listen does for one only. */
	close(fd);
	close(other);
	fd = sock();
	other = sock();
	OK(set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(set_int(other, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(fd, &a));
	OK(bind_to(other, &a));
	OK(listen(fd, 1));
	FAILS(EADDRINUSE, listen(other, 1));

	/* and the other way round: TCP holds, SDP asks */
	close(fd);
	close(other);
	other = sock();
	OK(bind_to(tcp, &a));
	FAILS(EADDRINUSE, bind_to(other, &a));
}

CASE(bind_errors)
{
	bool v4 = variant->family == AF_INET;
	union addr a;
	int fd = sock();

	here(&a, 0);
	FAILS(EINVAL, bind(fd, &a.sa, v4 ? 8 : 20));
	FAILS(EINVAL, bind(fd, &a.sa, 0));
	FAILS(EFAULT, bind(fd, (void *)8, sizeof(a.in6)));
	FAILS(EINVAL, bind(fd, &a.sa, sizeof(a) + 1));
	a.sa.sa_family = AF_UNIX;
	FAILS(EAFNOSUPPORT, bind(fd, &a.sa, sizeof(a.in6)));
	addr_set(&a, variant->family, v4 ? "192.0.2.1" : "2001:db8::1", 0);
	FAILS(EADDRNOTAVAIL, bind_to(fd, &a));
	here(&a, 0);
	OK(bind_to(fd, &a));
}

/* AF_UNSPEC with the wildcard address passes for IPv4. */
CASE_ON(bind_unspec_v4, BIT(TCP_V4) | BIT(FAMILY_V4) | BIT(PROTO_V4) | BIT(ULP_V4))
{
	union addr a;

	addr_any(&a, AF_INET, 0);
	a.sa.sa_family = AF_UNSPEC;
	OK(bind(sock(), &a.sa, sizeof(a.in)));
	here(&a, 0);
	a.sa.sa_family = AF_UNSPEC;
	FAILS(EAFNOSUPPORT, bind(sock(), &a.sa, sizeof(a.in)));
}

CASE(bind_privileged_port)
{
	union addr a;
	pid_t pid;
	int fd;

	pid = OK(fork());
	if (!pid) {
		OK(setgid(65534));
		OK(setuid(65534));
		fd = sock();		/* anybody may have one */
		here(&a, 81);
		FAILS(EACCES, bind_to(fd, &a));
		_exit(0);
	}
	CHILD_OK(pid);
}

CASE(bind_after_connect)
{
	struct pair p;
	union addr a;

	pair_open(&p);
	here(&a, 0);
	FAILS(EINVAL, bind_to(p.c, &a));
	FAILS(EINVAL, bind_to(p.s, &a));
	FAILS(EINVAL, bind_to(p.l, &a));
}

CASE(names_of_connection)
{
	union addr c, s, x;
	socklen_t len = 2;
	struct pair p;

	pair_open(&p);
	OK(name_of(p.c, &c));
	OK(name_of(p.s, &s));
	if (!addr_equal(&s, &p.addr))
		FAIL("server's name: expected %s, got %s", addr_text(&p.addr), addr_text(&s));
	here(&x, addr_port(&c));
	if (!addr_equal(&c, &x))
		FAIL("client's name: expected %s, got %s", addr_text(&x), addr_text(&c));
	IN_RANGE(1024, 65535, addr_port(&c));

	OK(peer_of(p.c, &x));
	if (!addr_equal(&x, &s))
		FAIL("client's peer: expected %s, got %s", addr_text(&s), addr_text(&x));
	OK(peer_of(p.s, &x));
	if (!addr_equal(&x, &c))
		FAIL("server's peer: expected %s, got %s", addr_text(&c), addr_text(&x));
	OK(getpeername(p.s, &x.sa, &len));
	EQ(addr_len(&c), len);
	OK(name_of(p.l, &x));
	CHECK(addr_equal(&x, &p.addr));
	FAILS(ENOTCONN, peer_of(p.l, &x));
}

CASE(client_port_is_taken)
{
	struct pair p;
	union addr c;

	pair_open(&p);
	OK(name_of(p.c, &c));
	FAILS(EADDRINUSE, bind_to(sock(), &c));
}

/* A port of one's own is free after close(). */
CASE(client_port_is_free_again)
{
	struct pair p;
	union addr c;
	int fd;

	pair_start(&p);
	here(&c, 0);
	OK(bind_to(p.c, &c));
	pair_finish(&p);
	OK(name_of(p.c, &c));
	fd = sock();
	FAILS(EADDRINUSE, bind_to(fd, &c));
	/* The server's end closes first: no TIME_WAIT at this one. */
	close(p.s);
	expect_eof(p.c);
	close(p.c);
	EVENTUALLY(0, bind_to(fd, &c));
}

/* Family 27 in an address is taken, and never given back. */
CASE_ON(family_27_in_addresses, BIT(FAMILY_V4))
{
	union addr a, x;
	int l = sock(), c = sock(), s;
	socklen_t len = sizeof(x);

	here(&a, 0);
	a.sa.sa_family = AF_INET_SDP;
	OK(bind(l, &a.sa, sizeof(a.in)));
	OK(listen(l, 4));
	OK(name_of(l, &x));
	EQ(AF_INET, x.sa.sa_family);
	a.in.sin_port = x.in.sin_port;
	OK(connect(c, &a.sa, sizeof(a.in)));
	await(l, POLLIN);
	s = OK(accept(l, &x.sa, &len));
	must_be_sdp(s);
	EQ(AF_INET, x.sa.sa_family);
	EQ(sizeof(x.in), len);
	OK(peer_of(c, &x));
	EQ(AF_INET, x.sa.sa_family);
	OK(peer_of(s, &x));
	EQ(AF_INET, x.sa.sa_family);
}
