// SPDX-License-Identifier: GPL-2.0
/*
 * What TCP_INFO and its kin say of a connection: proxies log a round-trip time and
 * close by how long nothing has moved, others size their writes by a segment.
 */
#include <linux/tcp.h>
#include <string.h>
#include <unistd.h>

#include "lib/variant.h"

enum { BIG = 200000, MTU = 14, V6_MTU = 24, V6_PATHMTU = 61 };

static struct tcp_info info_of_(int fd)
{
	struct tcp_info info = { };
	socklen_t len = sizeof(info);

	OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len));
	return info;
}

#define info_of(fd) CALL(info_of_(fd))

CASE(tcp_info_counts)
{
	struct task t = { .run = task_send, .len = BIG };
	struct tcp_info c, s;
	struct pair p;

	pair_open(&p);
	t.buf = memory(BIG, 0);
	pattern_fill(t.buf, BIG, 1, 0);
	t.fd = p.c;
	task_start(&t);
	recv_pattern(p.s, BIG, 1, 0);
	EQ(BIG, task_join(&t));
	send_text(p.s, "answer");
	recv_text(p.c, "answer");
	/* TCP counts its SYN. */
	EVENTUALLY(true, info_of(p.c).tcpi_bytes_acked >= BIG);
	c = info_of(p.c);
	s = info_of(p.s);
	EQ(1, c.tcpi_state);
	IN_RANGE(BIG, BIG + 1, c.tcpi_bytes_acked);
	/* Of TCP, what it sent again too, on a host that is short of time. */
	EQ(BIG, c.tcpi_bytes_sent - c.tcpi_bytes_retrans);
	EQ(6, c.tcpi_bytes_received);
	EQ(BIG, s.tcpi_bytes_received);
	EQ(0, c.tcpi_notsent_bytes);
	IN_RANGE(1, 10000, c.tcpi_segs_out);
	IN_RANGE(1, c.tcpi_segs_out, c.tcpi_data_segs_out);
	IN_RANGE(1, 10000, s.tcpi_segs_in);
	IN_RANGE(1, s.tcpi_segs_in, s.tcpi_data_segs_in);
	IN_RANGE(537, 65535, c.tcpi_snd_mss);
	IN_RANGE(537, 65535, s.tcpi_rcv_mss);
	CHECK(c.tcpi_snd_cwnd && c.tcpi_snd_wnd);
	EQ(c.tcpi_snd_mss, get_int(p.c, IPPROTO_TCP, TCP_MAXSEG));
}

/* Known from the beginning, of both sides; and not of what the clock says. */
CASE(tcp_info_rtt)
{
	struct tcp_info info;
	struct pair p;
	int i;

	pair_open(&p);
	for (i = 0; i < 20; i++) {
		send_text(p.c, "there");
		recv_text(p.s, "there");
		send_text(p.s, "and back");
		recv_text(p.c, "and back");
		info = info_of(i & 1 ? p.s : p.c);
		IN_RANGE(1, 10000000, info.tcpi_rtt);
		IN_RANGE(1, info.tcpi_rtt * 8LL, info.tcpi_min_rtt);
	}
}

/* Since when nothing has moved, each way. */
CASE(tcp_info_idle)
{
	long long begin = ktap_now(), ms;
	struct tcp_info c, s;
	struct pair p;

	pair_open(&p);
	c = info_of(p.c);
	s = info_of(p.s);
	ms = ktap_now() - begin + 20;
	IN_RANGE(0, ms, c.tcpi_last_data_sent);
	IN_RANGE(0, ms, c.tcpi_last_data_recv);
	IN_RANGE(0, ms, s.tcpi_last_data_sent);
	usleep(300000);
	CHECK(info_of(p.c).tcpi_last_data_sent >= 200);
	CHECK(info_of(p.s).tcpi_last_data_recv >= 200);
	begin = ktap_now();
	send_text(p.c, "alive");
	recv_text(p.s, "alive");
	c = info_of(p.c);
	s = info_of(p.s);
	ms = ktap_now() - begin + 20;
	IN_RANGE(0, ms, c.tcpi_last_data_sent);
	IN_RANGE(0, ms, s.tcpi_last_data_recv);
	CHECK(s.tcpi_last_data_sent >= 200);
}

/* Of each state as TCP's, also where nobody has waited for an answer. */
CASE(tcp_info_connecting)
{
	union addr a;
	int fd = sock();

	EQ(7, info_of(fd).tcpi_state);
	nobody(&a);
	nonblock(fd, true);
	FAILS(EINPROGRESS, connect_to(fd, &a));
	EQ(2, info_of(fd).tcpi_state);
}

/* That of the route, as TCP's beside it. */
CASE(mtu_of_route)
{
	bool v6 = variant->family == AF_INET6;
	int level = v6 ? SOL_IPV6 : SOL_IP, option = v6 ? V6_MTU : MTU, tcp, mtu;
	char path[64];
	socklen_t len = sizeof(path);
	struct pair p;
	union addr a;

	FAILS(ENOTCONN, get_int(sock(), level, option));
	tcp_listener(&a);
	tcp = tcp_sock();
	OK(connect_to(tcp, &a));
	mtu = get_int(tcp, level, option);
	pair_open(&p);
	EQ(mtu, get_int(p.c, level, option));
	EQ(mtu, get_int(p.s, level, option));
	if (v6)
		OK(getsockopt(p.c, level, V6_PATHMTU, path, &len));
}
