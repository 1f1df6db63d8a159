/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Connecting, and falling back; see sdp_connect.c.
 */
#ifndef _SDP_CONNECT_H
#define _SDP_CONNECT_H

#include "sdp_ulp.h"

/**
 * sdp_connect() - proto_ops.connect
 * @sock: the socket
 * @uaddr: where to; see sdp_connect_plain_addr()
 * @addr_len: its size in bytes
 * @flags: file flags
 *
 * Context: process.
 * Return: 0 or a negative errno, as TCP's.
 */
int sdp_connect(struct socket *sock, sdp_sockaddr *uaddr, int addr_len,
		int flags);

/**
 * sdp_connect_by_send() - MSG_FASTOPEN on a socket that is not connected
 * @sock: the socket
 * @ssk: ours
 * @msg: of sendmsg()
 * @len: its bytes
 *
 * SDP has no such thing.  As with connect(), TCP takes the socket over where it
 * may, so that nothing of ours stays in it.
 *
 * Context: process.
 * Return: what TCP's sendmsg() says, or -EOPNOTSUPP.
 */
int sdp_connect_by_send(struct socket *sock, struct sdp_sk *ssk,
			struct msghdr *msg, size_t len);

/**
 * sdp_connect_plain_addr() - an address as TCP knows it
 * @ssk: ours, or NULL
 * @uaddr: of bind() or connect(), in kernel memory; rewritten in place
 * @len: its size in bytes
 * @binding: for bind()
 *
 * On a socket of family 27, which has one name for both kinds of address,
 * family 27 becomes AF_INET, v4-mapped addresses become IPv4 ones, and so does
 * "::" when binding (qperf's server binds so).  Elsewhere 27 stays, and TCP
 * refuses it: security modules that judge by the family (Landlock, Smack) have
 * seen the address as it was, and know nothing of 27.
 *
 * Context: process.
 * Return: the size in bytes of what @uaddr is now.
 */
int sdp_connect_plain_addr(const struct sdp_sk *ssk, sdp_sockaddr *uaddr,
			   int len, bool binding);

/**
 * sdp_connect_decide() - the worker: SDP, TCP, or an error
 * @work: of a struct sdp_sk
 *
 * Context: process.
 */
void sdp_connect_decide(struct work_struct *work);

/**
 * sdp_connect_wait() - wait while the outcome of connect() is open
 * @sk: locked; released while asleep
 * @ssk: ours
 * @timeo: jiffies left; updated
 *
 * Context: process.
 * Return: 0 when it is known; -EAGAIN when the time is over, -EINTR or
 * -ERESTARTSYS on signals.
 */
int sdp_connect_wait(struct sock *sk, struct sdp_sk *ssk, long *timeo);

/**
 * sdp_connect_wait_tcp() - wait for TCP, which has taken over meanwhile
 * @sk: not locked
 * @events: of tcp_poll() that the caller waits for; errors and ends count too
 * @timeo: jiffies left; updated
 *
 * TCP's own calls begin with the whole of the socket's time-out.  Who has used a
 * part of it waits here, and asks TCP when it need not.
 *
 * Context: process, in the socket's call, and guarded by sdp_ulp_hand_on().
 * Return: 0 when there is something; -EAGAIN when the time is over, -EINTR or
 * -ERESTARTSYS on signals.
 */
int sdp_connect_wait_tcp(struct sock *sk, __poll_t events, long *timeo);

/**
 * sdp_connect_exit() - end the probes that are under way
 *
 * No socket is left, so no new one begins.
 *
 * Context: process.
 */
void sdp_connect_exit(void);

/**
 * sdp_connect_abort() - leave SDP_SK_CONNECTING or SDP_SK_CONNECTED
 * @sk: locked
 * @ssk: ours
 * @orderly: as sdp_sk_conn_cut()
 *
 * Context: process.
 */
void sdp_connect_abort(struct sock *sk, struct sdp_sk *ssk, bool orderly);

#endif
