// SPDX-License-Identifier: GPL-2.0
/*
 * A listener that is ended from outside, as ss -K does: nobody who waits in it or for it is
 * left waiting, and nobody gets in any more.  Who waits to be accepted is reset: at once by
 * TCP, by SDP when the program, to whom poll() says that there is an error, looks at it.
 */
#include <poll.h>
#include <unistd.h>

#include "lib/destroy.h"

/* connect() with the first bytes. */
static ssize_t send_first(int fd, const union addr *a)
{
	return sendto(fd, "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, &a->sa, addr_len(a));
}

CASE(listener_destroyed)
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
	listener_is_over(l, c, &a);
	close(l);
	l = listener(&a, 4);
	OK(connect_to(sock(), &a));
	accept_one(l);
}

/* And what it is afterwards is a TCP socket that sends: nothing of the listener is left. */
CASE(listener_destroyed_and_left)
{
	int before = OK(sockets_shown(1u << 31)), l;
	union addr a, none;

	nobody(&none);
	l = listener(&a, 4);
	if (destroy_listener(&a)) {
		EQ(EOPNOTSUPP, errno);
		ktap_skip("this kernel ends no sockets");
	}
	nonblock(l, true);
	if (on_sdp() && variant->via != VIA_ULP)
		FAILS(EOPNOTSUPP, send_first(l, &none));
	else
		CHECK(send_first(l, &none) < 0 && errno != EOPNOTSUPP);
	OK(close(l));
	EQ(before, OK(sockets_shown(1u << 31)));
}

/* Somebody waits in accept(), another in poll(). */
CASE(listener_destroyed_meanwhile)
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
