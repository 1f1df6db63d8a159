// SPDX-License-Identifier: GPL-2.0
/*
 * Why TCP took a connection over: the socket (IP_SDP_INFO), the counter and the
 * trace point say the same word.  Each reason that one host can have is brought
 * about here; time-out and a bad answer in selftests/wire and link/cm.c.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/xfrm.h>

#include "lib/trace.h"
#include "lib/variant.h"

#ifndef IPV6_PREFER_SRC_TMP
#define IPV6_PREFER_SRC_TMP 1
#endif

static const char *const words[] = {
#define WORD(name, word, help) word,
	SDP_REASONS(WORD)
#undef WORD
};

/* Every reason's counter, by its number. */
static void count_all(unsigned long long *n)
{
	char name[64];
	int i;

	for (i = 1; i < SDP_REASON_COUNT; i++) {
		snprintf(name, sizeof(name), "fallback_%s", words[i]);
		n[i] = counter(name);
	}
}

/* connect() with the first bytes, which go with the SYN if the server can. */
static int connect_by_send(int fd, const union addr *a)
{
	return sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &a->sa, addr_len(a)) < 0 ?
	       -1 : 0;
}

/* What @fd does when it connects to @a: TCP, for this reason and no other. */
static int falls_by_(int (*call)(int fd, const union addr *a), int fd,
		     const union addr *a, int reason)
{
	unsigned long long before[SDP_REASON_COUNT], after[SDP_REASON_COUNT];
	unsigned long long all = counter("fallback");
	struct sdp_info info = { };
	char word[64];
	int i;

	count_all(before);
	trace_empty();
	nonblock(fd, true);
	/* TCP finds at once that no way leads there. */
	if (call(fd, a))
		EQ(reason == SDP_REASON_NO_ROUTE ? EHOSTUNREACH : EINPROGRESS, errno);
	EVENTUALLY(all + 1, counter("fallback"));
	count_all(after);
	for (i = 1; i < SDP_REASON_COUNT; i++)
		if (after[i] != before[i] + (i == reason))
			FAIL("fallback_%s: %llu more, for a reason %s", words[i],
			     after[i] - before[i], words[reason]);
	OK(ip_info(fd, &info));
	EQ(SDP_TRANSPORT_TCP, info.sdpi_transport);
	EQ(reason, info.sdpi_reason);
	snprintf(word, sizeof(word), "reason=%s tcp", words[reason]);
	EQ(1, trace_lines(" sdp_fallback: ", word));
	close(fd);
	return 0;
}

#define falls_by(...)	CALL(falls_by_(__VA_ARGS__))
#define falls(...)	falls_by(connect_to, __VA_ARGS__)

/* Segments to @a and from it carry a signature. */
static int sign(int fd, const union addr *a)
{
	struct tcp_md5sig md5 = {
		.tcpm_keylen = 6, .tcpm_key = "secret",
	};

	memcpy(&md5.tcpm_addr, &a->ss, addr_len(a));
	return setsockopt(fd, SOL_TCP, TCP_MD5SIG, &md5, sizeof(md5));
}

/* One that lets all pass. */
static int set_filter(int fd)
{
	struct sock_filter all = { .code = BPF_RET | BPF_K, .k = ~0u };
	struct sock_fprog prog = { .len = 1, .filter = &all };

	return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &prog, sizeof(prog));
}

/* That what it sends goes in the clear, whatever the host's policies say. */
static int set_policy(int fd)
{
	bool v6 = variant->family == AF_INET6;
	struct xfrm_userpolicy_info allow = {
		.sel.family = variant->family,
		.dir = XFRM_POLICY_OUT, .action = XFRM_POLICY_ALLOW,
		.lft.soft_byte_limit = XFRM_INF, .lft.hard_byte_limit = XFRM_INF,
		.lft.soft_packet_limit = XFRM_INF, .lft.hard_packet_limit = XFRM_INF,
	};

	return setsockopt(fd, v6 ? SOL_IPV6 : SOL_IP, v6 ? IPV6_XFRM_POLICY : IP_XFRM_POLICY,
			  &allow, sizeof(allow));
}

/* What SDP cannot keep, and TCP can: of each, TCP alone says whether it has it. */
static int options_fall_(const union addr *a)
{
	int fd = sock();

	OK(set_int(fd, SOL_TCP, TCP_REPAIR, 1));
	falls(fd, a, SDP_REASON_OPTION);

	fd = sock();
	OK(set_int(fd, SOL_TCP, TCP_FASTOPEN_CONNECT, 1));
	falls(fd, a, SDP_REASON_OPTION);
	falls_by(connect_by_send, sock(), a, SDP_REASON_OPTION);

	fd = sock();
	OK(set_filter(fd));
	falls(fd, a, SDP_REASON_OPTION);
	/* When a packet left, or came to a card; but not when bytes came. */
	fd = sock();
	OK(set_int(fd, SOL_SOCKET, SO_TIMESTAMPING,
		   SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_TX_ACK));
	falls(fd, a, SDP_REASON_OPTION);
	fd = sock();
	OK(set_int(fd, SOL_SOCKET, SO_TIMESTAMPING,
		   SOF_TIMESTAMPING_RAW_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE));
	falls(fd, a, SDP_REASON_OPTION);
	fd = sock();
	OK(set_int(fd, SOL_SOCKET, SO_TIMESTAMPING,
		   SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_RX_SOFTWARE));
	falls(fd, a, SDP_REASON_REFUSED);
	fd = sock();
	OK(set_int(fd, SOL_SOCKET, SO_DONTROUTE, 1));
	falls(fd, a, SDP_REASON_OPTION);
	fd = sock();
	if (set_policy(tcp_sock())) {
		ktap_note("TCP of this kernel has no IP_XFRM_POLICY: %s", ktap_errno(errno));
	} else {
		OK(set_policy(fd));
		falls(fd, a, SDP_REASON_OPTION);
		fd = sock();
	}
	OK(set_int(fd, SOL_IP, IP_MINTTL, 2));
	falls(fd, a, SDP_REASON_OPTION);
	fd = sock();
	OK(setsockopt(fd, SOL_IP, IP_OPTIONS, "\1\1\1\0", 4));
	falls(fd, a, SDP_REASON_OPTION);
	/* What is cleared again is none. */
	fd = sock();
	OK(setsockopt(fd, SOL_IP, IP_OPTIONS, "\1\1\1\0", 4));
	OK(setsockopt(fd, SOL_IP, IP_OPTIONS, NULL, 0));
	falls(fd, a, SDP_REASON_REFUSED);
	if (variant->family == AF_INET6) {
		fd = sock();
		OK(set_int(fd, SOL_IPV6, IPV6_MINHOPCOUNT, 2));
		falls(fd, a, SDP_REASON_OPTION);
		fd = sock();
		OK(set_int(fd, SOL_IPV6, IPV6_ADDR_PREFERENCES, IPV6_PREFER_SRC_TMP));
		falls(fd, a, SDP_REASON_OPTION);
		fd = sock();
		/* One unit of eight bytes: PadN. */
		OK(setsockopt(fd, SOL_IPV6, IPV6_DSTOPTS, "\0\0\1\4\0\0\0\0", 8));
		falls(fd, a, SDP_REASON_OPTION);
	}

	fd = sock();
	if (sign(tcp_sock(), a)) {
		ktap_note("TCP of this kernel has no TCP_MD5SIG");
		FAILS(ENOPROTOOPT, sign(fd, a));
		close(fd);
	} else {
		OK(sign(fd, a));
		falls(fd, a, SDP_REASON_OPTION);
	}
	return 0;
}

#define options_fall(a)	CALL(options_fall_(a))

/* An address of an interface without an RDMA device, and who listens there. */
static void elsewhere(union addr *a)
{
	bool v6 = variant->family == AF_INET6;
	int l = tcp_sock();

	EQ(0, system(v6 ? "ip -6 addr replace fd77::1/128 dev lo nodad" :
			  "ip addr replace 10.77.0.1/32 dev lo"));
	addr_set(a, variant->family, v6 ? "fd77::1" : "10.77.0.1", 0);
	OK(bind_to(l, a));
	OK(listen(l, 8));
	OK(name_of(l, a));
}

/* An address to which no route leads. */
static void nowhere(union addr *a)
{
	bool v6 = variant->family == AF_INET6;

	EQ(0, system(v6 ? "ip -6 route replace unreachable fd78::/64" :
			  "ip route replace unreachable 10.78.0.0/24"));
	addr_set(a, variant->family, v6 ? "fd78::1" : "10.78.0.1", 9);
}

CASE_LIMIT(reasons_agree, ON_ULP, 60)
{
	union addr a, ours, b;
	int fd, l, tcp = tcp_sock();

	trace_switch("sdp/sdp_fallback", true);
	sysctl("cache_timeout", 0);
	tcp_listener(&a);
	falls(sock(), &a, SDP_REASON_REFUSED);

	elsewhere(&b);
	falls(sock(), &b, SDP_REASON_NO_DEVICE);

	nowhere(&b);
	nonblock(tcp, true);
	FAILS(EHOSTUNREACH, connect_to(tcp, &b));
	falls(sock(), &b, SDP_REASON_NO_ROUTE);

	addr_set(&b, variant->family, variant->family == AF_INET ? "127.0.0.1" : "::1",
		 addr_port(&a));
	falls(sock(), &b, SDP_REASON_LOOPBACK);

	sysctl("max_conns", 0);
	falls(sock(), &a, SDP_REASON_LIMIT);
	sysctl("max_conns", 65536);

	sysctl("enable", 0);
	falls(sock(), &a, SDP_REASON_FORCED);
	sysctl("enable", 1);

	options_fall(&a);

	/* The first is remembered, and a listener of ours that is not known asked. */
	sysctl("cache_timeout", 60000);
	tcp_listener(&b);
	falls(sock(), &b, SDP_REASON_REFUSED);
	EVENTUALLY(true, !!peer_known(&b, addr_port(&b)));
	falls(sock(), &b, SDP_REASON_CACHED);
	sysctl("learn", 1);
	l = listener(&ours, 8);
	falls(sock(), &ours, SDP_REASON_LEARNING);

	/* One that looks at packets sees none of SDP's. */
	sysctl("learn", 0);
	sysctl("cache_timeout", 0);
	OK(set_filter(l));
	falls(sock(), &ours, SDP_REASON_REFUSED);
	OK(set_int(l, SOL_SOCKET, SO_DETACH_FILTER, 0));
	OK(set_int(l, SOL_IP, IP_MINTTL, 2));
	falls(sock(), &ours, SDP_REASON_REFUSED);

	/* One that is full says so until there is room, or no more time. */
	close(l);
	l = listener(&ours, 0);
	fd = sock();
	OK(set_int(fd, SOL_SDP, SDP_FALLBACK, 0));
	OK(connect_to(fd, &ours));
	sysctl("connect_timeout", ktap_ms(300));
	falls(sock(), &ours, SDP_REASON_BUSY);
	trace_switch("sdp/sdp_fallback", false);
}
