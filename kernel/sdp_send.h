/* SPDX-License-Identifier: GPL-2.0 */
/* Sending on a connected socket; see sdp_send.c. */
#ifndef _SDP_SEND_H
#define _SDP_SEND_H

#include <linux/socket.h>
#include "sdp_sk_conn.h"

/**
 * sdp_send() - send what a message has
 * @sk: locked; not while the caller sleeps
 * @ssk: ours
 * @conn: its connection, entered
 * @msg: the message
 * @flags: of the call
 * @timeo: jiffies that the caller may sleep yet
 *
 * Context: process; sleeps.
 * Return: bytes, which are the peer's or queued; or TCP's error.
 */
int sdp_send(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn,
	     struct msghdr *msg, int flags, long timeo);

/**
 * sdp_send_notified() - the same with MSG_ZEROCOPY
 * @sk: as above
 * @ssk: as above
 * @conn: as above
 * @msg: as above
 * @flags: as above
 * @timeo: as above
 *
 * The error queue tells when the memory is the caller's again, and whether it was
 * copied in the end; or io_uring does, which has its own way.
 *
 * Context: process; sleeps.
 * Return: as above; -ENOBUFS if there is no memory to tell it with.
 */
int sdp_send_notified(struct sock *sk, struct sdp_sk *ssk,
		      struct sdp_conn *conn, struct msghdr *msg, int flags,
		      long timeo);

#endif
