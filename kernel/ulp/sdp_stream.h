/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What carries the stream of a socket.
 *
 * The socket layer (sdp_sock.c, sdp_opt.c) knows a stream by this table alone:
 * it looks up the slot, waits for the outcome of connect(), and asks either this
 * table or TCP's proto_ops.  SDP's connection is a stream (sdp_conn_stream.c), and
 * so is a pair of joined sockets (sdp_join_stream.c).
 *
 * A stream may end at any time, and TCP carry the socket again.  A function
 * that is called without the socket lock looks again, and says if it no longer
 * carries the stream.
 */
#ifndef _SDP_STREAM_H
#define _SDP_STREAM_H

#include <linux/poll.h>
#include <linux/types.h>

struct msghdr;
struct sdp_info;
struct sdp_sk;
struct sock;
struct tcp_info;

struct sdp_stream_ops {
	/* Send @len bytes, with the flags of @msg.  @timeo: jiffies that the
	 * caller may still sleep.  Process context, socket not locked.  Returns
	 * bytes, or TCP's error; -ENOIOCTLCMD: it no longer carries the stream.
	 */
	int (*sendmsg)(struct sock *sk, struct sdp_sk *ssk, struct msghdr *msg,
		       size_t len, long timeo);
	/* Receive up to @len bytes, or the urgent byte with MSG_OOB.  As
	 * sendmsg(); 0 at the end of the stream.
	 */
	int (*recvmsg)(struct sock *sk, struct sdp_sk *ssk, struct msghdr *msg,
		       size_t len, int flags, long timeo);
	/* Send what is held back: no more comes.  Socket locked. */
	void (*push)(struct sock *sk, struct sdp_sk *ssk);
	/* Set @mask to what is ready, and have the socket woken for what is
	 * not.  @wanted: what the caller asks for.  Process context, socket not
	 * locked.  Returns false if it no longer carries the stream.
	 */
	bool (*poll)(struct sock *sk, struct sdp_sk *ssk, __poll_t wanted,
		     __poll_t *mask);
	/* SO_RCVLOWAT was changed: wake who has enough now.  Does not sleep. */
	void (*rcvlowat)(struct sock *sk, struct sdp_sk *ssk);
	/* Answer SIOCINQ, SIOCATMARK, SIOCOUTQ or SIOCOUTQNSD.  Socket locked.
	 * Returns the value.
	 */
	int (*ioctl)(struct sock *sk, struct sdp_sk *ssk, unsigned int cmd);
	/* @how: RCV_SHUTDOWN, SEND_SHUTDOWN, or both.  Process context, socket
	 * not locked.  Returns 0 or TCP's error; -ENOIOCTLCMD: it no longer
	 * carries the stream.
	 */
	int (*shutdown)(struct sock *sk, struct sdp_sk *ssk, int how);
	/* The socket is being closed, whether it has a stream or an attempt or
	 * not: end that, and wait as SO_LINGER says.  Socket locked.
	 */
	void (*close)(struct sock *sk, struct sdp_sk *ssk);

	/* An option was stored in the sock: TCP_NODELAY, TCP_CORK, TCP_KEEPIDLE,
	 * TCP_USER_TIMEOUT, TCP_NOTSENT_LOWAT.  Socket locked.
	 */
	void (*option)(struct sock *sk, struct sdp_sk *ssk, int optname);
	/* ssk->zcopy was changed.  Socket locked; whether it has a stream or an
	 * attempt or not.
	 */
	void (*zcopy)(struct sdp_sk *ssk);
	/* Returns the state that TCP would be in; TCP_CLOSE: it is over.  Any
	 * context.
	 */
	u8 (*state)(struct sdp_sk *ssk);
	/* Returns the value of TCP_MAXSEG, 0: not known yet.  Any context. */
	u32 (*mss)(struct sdp_sk *ssk);
	/* Fill in SDP_INFO.  Socket locked; whether it has a stream or an attempt
	 * or not.
	 */
	void (*info)(struct sdp_sk *ssk, struct sdp_info *info);
	/* Fill in TCP_INFO, over what TCP says of the sock.  Process context.
	 * Returns false if it no longer carries the stream.
	 */
	bool (*tcp_info)(struct sdp_sk *ssk, struct tcp_info *info);
};

#endif
