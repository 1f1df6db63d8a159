// SPDX-License-Identifier: GPL-2.0
/*
 * A listener that is ended from outside, as ss -K does: nobody who waits in it or for it is
 * left waiting, and nobody gets in any more.  Who waits to be accepted is reset: at once by
 * TCP, by SDP when the program, to whom poll() says that there is an error, looks at it.
 */
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include "lib/variant.h"

/* What is known of TCP's listener at @a is that it listens there. */
static int destroy_listener(const union addr *a)
{
	struct {
		struct nlmsghdr nlh;
		struct inet_diag_req_v2 req;
	} msg = {
		.nlh = {
			.nlmsg_len = sizeof(msg),
			.nlmsg_type = SOCK_DESTROY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		},
		.req = {
			.sdiag_family = variant->family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = ~0u,
			.id = {
				.idiag_sport = htons(addr_port(a)),
				.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
			},
		},
	};
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char rest[256];
	} answer;
	int fd = OK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));

	if (variant->family == AF_INET)
		msg.req.id.idiag_src[0] = a->in.sin_addr.s_addr;
	else
		memcpy(msg.req.id.idiag_src, &a->in6.sin6_addr, sizeof(a->in6.sin6_addr));
	EQ(sizeof(msg), send(fd, &msg, sizeof(msg), 0));
	CHECK(recv(fd, &answer, sizeof(answer), 0) >=
	      (ssize_t)(sizeof(answer.nlh) + sizeof(answer.err)));
	close(fd);
	EQ(NLMSG_ERROR, answer.nlh.nlmsg_type);
	errno = -answer.err.error;
	return errno ? -1 : 0;
}

/* Nobody gets in, and who was there to be accepted is gone. */
static int is_over_(int l, int c, const union addr *a)
{
	FAILS(ECONNREFUSED, connect_to(sock(), a));
	CHECK(await(l, POLLIN) & (POLLERR | POLLHUP));
	if (!on_sdp())
		expect_reset(c);
	FAILS(EINVAL, accept(l, NULL, NULL));
	if (on_sdp())
		expect_reset(c);
	return 0;
}

#define is_over(...)	CALL(is_over_(__VA_ARGS__))

TEST(listener_destroyed)
{
	union addr a;
	int l = listener(&a, 4), c = sock();

	OK(connect_to(c, &a));
	must_be_sdp(c);
	await(l, POLLIN);
	if (destroy_listener(&a)) {
		EQ(EOPNOTSUPP, errno);
		ktap_skip("this kernel ends no sockets");
	}
	is_over(l, c, &a);
	close(l);
	l = listener(&a, 4);
	OK(connect_to(sock(), &a));
	accept_one(l);
}

/* Somebody waits in accept(), another in poll(). */
TEST(listener_destroyed_meanwhile)
{
	union addr a;
	int l = listener(&a, 4);
	struct task in = { .run = task_accept, .fd = l };
	struct task for_it = { .run = task_poll, .fd = l, .events = POLLIN };

	task_start(&in);
	task_start(&for_it);
	if (destroy_listener(&a)) {
		EQ(EOPNOTSUPP, errno);
		ktap_skip("this kernel ends no sockets");
	}
	FAILS(EINVAL, task_join(&in));
	CHECK(task_join(&for_it) & (POLLERR | POLLHUP));
	FAILS(EINVAL, accept(l, NULL, NULL));
	FAILS(ECONNREFUSED, connect_to(sock(), &a));
}
