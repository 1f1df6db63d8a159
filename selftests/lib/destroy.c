// SPDX-License-Identifier: GPL-2.0
#include <poll.h>
#include <string.h>

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>

#include "destroy.h"

static void addr_put(__be32 to[static 4], const union addr *a)
{
	if (variant->family == AF_INET)
		to[0] = a->in.sin_addr.s_addr;
	else
		memcpy(to, &a->in6.sin6_addr, sizeof(a->in6.sin6_addr));
}

/* @remote: NULL of a listener; all that is known of it is that it listens there. */
static int destroy(const union addr *local, const union addr *remote)
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
				.idiag_sport = htons(addr_port(local)),
				.idiag_dport = htons(remote ? addr_port(remote) : 0),
				.idiag_cookie = { INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE },
			},
		},
	};
	struct {
		struct nlmsghdr nlh;
		struct nlmsgerr err;
		char rest[256];
	} answer = { };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	int err;

	if (fd < 0)
		return -1;
	addr_put(msg.req.id.idiag_src, local);
	if (remote)
		addr_put(msg.req.id.idiag_dst, remote);
	if (send(fd, &msg, sizeof(msg), 0) < 0 || recv(fd, &answer, sizeof(answer), 0) < 0) {
		err = errno;
	} else {
		EQ(NLMSG_ERROR, answer.nlh.nlmsg_type);
		err = -answer.err.error;
	}
	close(fd);
	errno = err;
	return err ? -1 : 0;
}

int destroy_listener(const union addr *a)
{
	return destroy(a, NULL);
}

int destroy_connection(int fd)
{
	union addr local, remote;

	OK(name_of(fd, &local));
	OK(peer_of(fd, &remote));
	return destroy(&local, &remote);
}

int listener_is_over_(int l, int c, const union addr *a)
{
	int other = sock();

	FAILS(ECONNREFUSED, connect_to(other, a));
	close(other);
	CHECK(await(l, POLLIN) & (POLLERR | POLLHUP));
	if (!on_sdp() && c >= 0)
		expect_reset(c);
	FAILS(EINVAL, accept(l, NULL, NULL));
	if (on_sdp() && c >= 0)
		expect_reset(c);
	return 0;
}
