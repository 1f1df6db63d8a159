// SPDX-License-Identifier: GPL-2.0
/*
 * The type of service that a program has asked for is in what its packets say on the
 * wire, TCP's or RoCE's: looked at as they leave this host.
 */
#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <netinet/in.h>

#include "lib/pair.h"

enum {
	ROCE_PORT	= 4791,
	IP4_LEN		= 20,		/* nobody here has options */
	IP6_LEN		= 40,
	UDP_LEN		= 8,
	WANTED		= 0x28,		/* AF11 */
	DSCP		= 0xfc,		/* the rest is the network's */
};

/* Of the packets from TCP's port @end, or to RoCE's queue pair @end. */
struct classes {
	int wanted, plain, other;
};

static bool is_of(const unsigned char *b, ssize_t n, int end)
{
	int proto = variant->family == AF_INET ? b[9] : b[6];
	const unsigned char *h = b + (variant->family == AF_INET ? IP4_LEN : IP6_LEN);
	const unsigned char *bth = h + UDP_LEN;

	if (bth + 8 > b + n)
		return false;
	if (!on_sdp())
		return proto == IPPROTO_TCP && (h[0] << 8 | h[1]) == end;
	return proto == IPPROTO_UDP && (h[2] << 8 | h[3]) == ROCE_PORT &&
	       (bth[5] << 16 | bth[6] << 8 | bth[7]) == end;
}

static struct classes classes_of(int tap, int end)
{
	struct classes c = { };
	unsigned char b[128];
	struct sockaddr_ll from;
	socklen_t len;
	ssize_t n;
	int tos;

	for (;;) {
		len = sizeof(from);
		n = recvfrom(tap, b, sizeof(b), MSG_DONTWAIT, (struct sockaddr *)&from, &len);
		if (n < 0)
			break;
		if (from.sll_pkttype != PACKET_OUTGOING || n < IP4_LEN ||
		    from.sll_protocol != htons(variant->family == AF_INET ? ETH_P_IP :
								     ETH_P_IPV6) ||
		    !is_of(b, n, end))
			continue;
		tos = (variant->family == AF_INET ? b[1] : b[0] << 4 | b[1] >> 4) & DSCP;
		c.wanted += tos == WANTED;
		c.plain += !tos;
		c.other += tos && tos != WANTED;
	}
	EQ(EAGAIN, errno);
	return c;
}

/* A connection of which so much is asked, and what its packets said. */
static struct classes talk(int tap, const union addr *a, int tos)
{
	bool v4 = variant->family == AF_INET;
	int c = sock(), qp;
	struct classes is;
	union addr own;

	OK(set_int(c, v4 ? SOL_IP : SOL_IPV6, v4 ? IP_TOS : IPV6_TCLASS, tos));
	OK(connect_to(c, a));
	must_be_sdp(c);
	OK(name_of(c, &own));
	qp = hear_number();
	/* The last words to the one before may have been to a queue pair of its number. */
	classes_of(tap, 0);
	send_pattern(c, 40000, 2, 0);
	recv_pattern(c, 40000, 3, 0);
	expect_eof(c);
	is = classes_of(tap, on_sdp() ? qp : addr_port(&own));
	close(c);
	return is;
}

PAIR_CASE(type_of_service)

static void type_of_service_client(void)
{
	int tap = OK(socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, htons(ETH_P_ALL)));
	struct classes is;
	union addr a;

	server_addr(&a);
	is = talk(tap, &a, WANTED);
	CHECK(is.wanted > 3);
	EQ(0, is.plain + is.other);
	is = talk(tap, &a, 0);
	CHECK(is.plain > 3);
	EQ(0, is.wanted + is.other);
	meet("done");
}

static void type_of_service_server(void)
{
	int l = serve_port(8), s, i;
	struct sdp_info info = { };

	for (i = 0; i < 2; i++) {
		s = accept_one(l);
		if (on_sdp())
			OK(sdp_info(s, &info));
		tell_number(info.sdpi_qp_num);
		recv_pattern(s, 40000, 2, 0);
		send_pattern(s, 40000, 3, 0);
		close(s);
	}
	meet("done");
}
