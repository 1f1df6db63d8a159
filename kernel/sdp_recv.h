/* SPDX-License-Identifier: GPL-2.0 */
/* Receiving on a connected socket; see sdp_recv.c. */
#ifndef _SDP_RECV_H
#define _SDP_RECV_H

#include <linux/socket.h>
#include "sdp_sk_conn.h"

/**
 * sdp_recv() - receive from the stream
 * @sk: locked; not while the caller sleeps
 * @ssk: ours
 * @conn: its connection, entered
 * @msg: where to
 * @len: bytes wanted
 * @flags: of the call, without MSG_OOB
 * @timeo: jiffies that the caller may sleep yet
 *
 * Context: process; sleeps.
 * Return: bytes; 0 at the end of the stream; or TCP's error.
 */
ssize_t sdp_recv(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn,
		 struct msghdr *msg, size_t len, int flags, long timeo);

/**
 * sdp_recv_urgent() - MSG_OOB: the urgent byte, or why not
 * @sk: locked
 * @conn: its connection, entered
 * @msg: where to
 * @len: bytes wanted
 * @flags: of the call
 *
 * It does not wait for what has not arrived, as TCP does not; it does for who is
 * looking at what has.
 *
 * Context: process; sleeps.
 * Return: 1; 0 at the end of the stream; or TCP's error.
 */
int sdp_recv_urgent(struct sock *sk, struct sdp_conn *conn, struct msghdr *msg,
		    size_t len, int flags);

#endif
