// SPDX-License-Identifier: GPL-2.0
/*
 * IP_SDP_INFO: whether SDP carries a connection, and why not, asked of any TCP
 * socket; and how long that is remembered of those that TCP took over.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <netinet/tcp.h>

#include "lib/trace.h"
#include "lib/variant.h"

enum { ESTABLISHED = 3, CLOSE_WAIT = 7, FIN_WAIT_2 = 5 };	/* SDP_STATES */

/* A client of ours that TCP took over. */
static int fallen(const union addr *a)
{
	int fd = sock();

	OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 1));
	OK(connect_to(fd, a));
	EQ(-1, transport(fd));
	return fd;
}

static int is_tcp_(int fd, int reason, int state)
{
	struct sdp_info info;

	EQ(sizeof(info), ip_info(fd, &info));
	EQ(SDP_TRANSPORT_TCP, info.sdpi_transport);
	EQ(reason, info.sdpi_reason);
	EVENTUALLY(state, (ip_info(fd, &info), info.sdpi_state));
	EQ(0, info.sdpi_id);
	EQ(0, info.sdpi_qp_num);
	return 0;
}

#define is_tcp(...)	CALL(is_tcp_(__VA_ARGS__))

/* ------------------------------------------------------------ of whatever kind */

CASE(ip_info_of_any_socket)
{
	struct sdp_info info, same;
	int udp = OK(socket(variant->family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	int fd = sock();
	struct pair p;

	FAILS(ENOPROTOOPT, ip_info(udp, &info));
	FAILS(ENOPROTOOPT, ip_info(tcp_sock(), &info));
	pair_open(&p);
	if (!on_ours()) {
		FAILS(ENOPROTOOPT, ip_info(fd, &info));
		FAILS(ENOPROTOOPT, ip_info(p.c, &info));
		FAILS(ENOPROTOOPT, ip_info(p.l, &info));
		return;
	}
	EQ(sizeof(info), ip_info(fd, &info));
	EQ(SDP_TRANSPORT_NONE, info.sdpi_transport);
	EQ(sizeof(info), ip_info(p.l, &info));
	EQ(SDP_DIAG_LISTEN, info.sdpi_state);
	send_text(p.c, "abc");
	recv_text(p.s, "abc");
	EVENTUALLY(0, outq(p.c));
	EQ(sizeof(same), sdp_info(p.c, &same));
	EQ(sizeof(info), ip_info(p.c, &info));
	CHECK(info_is_sdp(&info));
	EQ(same.sdpi_id, info.sdpi_id);
	EQ(3, info.sdpi_bytes_sent);
	if (strcmp(same.sdpi_device, info.sdpi_device))
		FAIL("device: %s by SDP_INFO, %s by IP_SDP_INFO",
		     same.sdpi_device, info.sdpi_device);
}

CASE_ON(ip_info_sizes, ON_SDP)
{
	unsigned char buf[2 * sizeof(struct sdp_info)];
	union addr a;
	int fd[2], i, n;
	socklen_t len;

	tcp_listener(&a);
	fd[0] = sock();
	fd[1] = fallen(&a);
	for (i = 0; i < 2; i++) {
		for (n = 0; n < 8; n++) {
			len = n;
			FAILS(EINVAL, getsockopt(fd[i], ip_level(), IP_SDP_INFO,
						 buf, &len));
		}
		memset(buf, 0xee, sizeof(buf));
		len = 9;
		OK(getsockopt(fd[i], ip_level(), IP_SDP_INFO, buf, &len));
		EQ(9, len);
		EQ(i ? SDP_TRANSPORT_TCP : SDP_TRANSPORT_NONE, buf[0]);
		EQ(0xee, buf[9]);
		len = sizeof(buf);
		OK(getsockopt(fd[i], ip_level(), IP_SDP_INFO, buf, &len));
		EQ(sizeof(struct sdp_info), len);
		EQ(0xee, buf[len]);
		FAILS(EFAULT, getsockopt(fd[i], ip_level(), IP_SDP_INFO,
					 (void *)8, &len));
		FAILS(EFAULT, getsockopt(fd[i], ip_level(), IP_SDP_INFO, buf,
					 (void *)8));
		len = -1;
		FAILS(EINVAL, getsockopt(fd[i], ip_level(), IP_SDP_INFO, buf,
					 &len));
		FAILS(ENOPROTOOPT, set_int(fd[i], ip_level(), IP_SDP_INFO, 1));
	}
}

/* --------------------------------------------------------------- taken over */

CASE_ON(ip_info_of_a_client, ON_SDP)
{
	struct sdp_info info;
	int l, c, s;
	union addr a;

	l = tcp_listener(&a);
	c = fallen(&a);
	s = OK(accept(l, NULL, NULL));
	is_tcp(c, SDP_REASON_REFUSED, ESTABLISHED);
	FAILS(ENOPROTOOPT, ip_info(s, &info));
	OK(shutdown(c, SHUT_WR));
	is_tcp(c, SDP_REASON_REFUSED, FIN_WAIT_2);
	/* Whatever becomes of it: another slot, a descriptor in another hand. */
	close(s);
	s = dup(c);
	close(c);
	is_tcp(s, SDP_REASON_REFUSED, 0);
}

CASE_ON(ip_info_says_why, ON_SDP)
{
	int l, c, s;
	union addr a;

	sysctl("enable", 0);
	l = tcp_listener(&a);
	c = fallen(&a);
	s = OK(accept(l, NULL, NULL));
	is_tcp(c, SDP_REASON_FORCED, ESTABLISHED);
	set_tls(c);
	is_tcp(c, SDP_REASON_FORCED, ESTABLISHED);
	close(s);
	is_tcp(c, SDP_REASON_FORCED, CLOSE_WAIT);
}

/* A listener that serves both: who came by TCP is on record too. */
CASE_ON(ip_info_of_a_server, ON_SDP)
{
	struct sdp_info info;
	union addr a;
	int l = mixed_listener(&a), tcp = tcp_sock(), s;
	unsigned long long all = counter("tcp_accept"), why = counter("fallback_tcp_client");

	trace_switch("sdp/sdp_fallback", true);
	trace_empty();
	OK(connect_to(tcp, &a));
	s = accept_any(l);
	is_tcp(s, SDP_REASON_TCP_CLIENT, ESTABLISHED);
	FAILS(ENOPROTOOPT, ip_info(tcp, &info));
	EQ(all + 1, counter("tcp_accept"));
	EQ(why + 1, counter("fallback_tcp_client"));
	EQ(1, trace_lines(" sdp_fallback: ", "reason=tcp_client tcp"));
}

/* The newest are remembered, as many as net.sdp.fallback_records says. */
CASE_ON(ip_info_forgets, ON_SDP)
{
	enum { N = 5 };
	struct sdp_info info;
	union addr a;
	int fd[N], i;

	tcp_listener(&a);
	sysctl("cache_timeout", 0);
	sysctl("fallback_records", 3);
	for (i = 0; i < N; i++)
		fd[i] = fallen(&a);
	for (i = 0; i < N; i++)
		if (i < N - 3)
			FAILS(ENOPROTOOPT, ip_info(fd[i], &info));
		else
			is_tcp(fd[i], SDP_REASON_REFUSED, ESTABLISHED);
	/* Fewer take effect with the next, none at all too. */
	sysctl("fallback_records", 1);
	close(fd[0]);
	fd[0] = fallen(&a);
	is_tcp(fd[0], SDP_REASON_REFUSED, ESTABLISHED);
	for (i = 1; i < N; i++)
		FAILS(ENOPROTOOPT, ip_info(fd[i], &info));
	sysctl("fallback_records", 0);
	FAILS(ENOPROTOOPT, ip_info(fallen(&a), &info));
	FAILS(ENOPROTOOPT, ip_info(fd[0], &info));
	sysctl("fallback_records", 2);
	is_tcp(fallen(&a), SDP_REASON_REFUSED, ESTABLISHED);
}
