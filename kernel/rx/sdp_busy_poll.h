/* SPDX-License-Identifier: GPL-2.0 */
/* Busy polling before a caller sleeps; see sdp_busy_poll.c. */
#ifndef _SDP_BUSY_POLL_H
#define _SDP_BUSY_POLL_H

#include <net/sock.h>
#include "sdp_conn.h"

/**
 * sdp_busy_poll_asked() - SO_BUSY_POLL of a socket
 * @sk: the socket
 *
 * Context: any.
 * Return: microseconds; 0: it was not set.
 */
static inline unsigned int sdp_busy_poll_asked(const struct sock *sk)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return READ_ONCE(sk->sk_ll_usec);
#else
	return 0;
#endif
}

u32 sdp_busy_poll_max(const struct sdp_net *sn, unsigned int asked);
bool sdp_busy_poll(struct sdp_net *sn, u32 id, u64 end, u32 ns,
		   bool (*look)(void *arg), void *arg);
void sdp_busy_poll_learn(u32 *ns, u64 slept, u32 max);

long sdp_busy_poll_sleep(struct sdp_conn *conn, wait_queue_entry_t *wait, long timeo,
			 unsigned int asked);

#endif
