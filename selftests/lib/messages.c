// SPDX-License-Identifier: GPL-2.0
/*
 * How many messages a socket has sent, and whether it waits for its reader.  In a
 * file of its own because only the kernel's header has all of struct tcp_info, and the
 * C library's, which the others include, does not go with it.
 */
#include <linux/tcp.h>

#include "sdptest.h"

long long messages_sent(int fd)
{
	struct tcp_info tcp = {};
	socklen_t len = sizeof(tcp);
	struct sdp_info sdp;

	if (sdp_info(fd, &sdp) > 0)
		return sdp.sdpi_msgs_sent;
	OK(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len));
	return tcp.tcpi_data_segs_out;
}

/*
 * TCP shows no room any more; or it goes on showing what it has shown, since SO_RCVBUF was
 * made smaller, and drops what comes each time that it is sent again.
 */
bool tcp_window_used_up(int fd)
{
	enum { DROPS = 3 };
	struct tcp_info tcp = {};
	socklen_t len = sizeof(tcp);

	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &tcp, &len) &&
	       (tcp.tcpi_backoff >= DROPS ||
		(!tcp.tcpi_snd_wnd && (!tcp.tcpi_unacked || tcp.tcpi_backoff)));
}
