// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of an SDP socket.
 *
 * Each operation looks up the slot first.  What carries the stream then answers
 * by its table (sdp_stream.h).  If the slot is not ours, or nothing of ours
 * carries the stream, TCP's own operation answers, with TCP's own errors.  While
 * the outcome of connect() is open, send and recv wait for it.
 *
 * poll() and epoll sleep on the socket's own wait queue, whatever carries the
 * stream.
 */
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/inet_common.h>
#include <linux/sdp.h>
#include "sdp_connect.h"
#include "sdp_listen.h"
#include "sdp_opt.h"
#include "sdp_sk_conn.h"
#include "sdp_sock.h"
#include "sdp_stream.h"

/* What carries the stream.  NULL: nothing of ours, so TCP answers. */
static const struct sdp_stream_ops *sdp_sock_stream(const struct sdp_sk *ssk)
{
	switch (smp_load_acquire(&ssk->mode)) {		/* then stream */
	case SDP_SK_CONNECTED:
	case SDP_SK_JOINING:
	case SDP_SK_JOINED:
		return ssk->stream;
	default:
		return NULL;
	}
}

/*
 * Wait while the outcome of connect() is open.  Returns 0 when it is known, or
 * the error that ends the call.
 */
static int sdp_sock_settle(struct sock *sk, struct sdp_sk *ssk, long *timeo)
{
	int err;

	if (likely(READ_ONCE(ssk->mode) != SDP_SK_CONNECTING))
		return 0;
	lock_sock(sk);
	err = sdp_connect_wait(sk, ssk, timeo);
	release_sock(sk);
	return err;
}

/* What a call returns that nothing of ours answers, unless connect() is open. */
static bool sdp_sock_again(const struct sdp_sk *ssk, int err)
{
	return unlikely(err == -ENOIOCTLCMD &&
			READ_ONCE(ssk->mode) == SDP_SK_CONNECTING);
}

/* TCP's sendmsg(), for a call that has used a part of its time already. */
static int sdp_sock_tcp_send(struct socket *sock, struct msghdr *msg, long timeo)
{
	struct sock *sk = sock->sk;
	bool held = sdp_ulp_hand_on();
	int flags = msg->msg_flags;
	int n, done = 0, waited;

	do {
		waited = sdp_connect_wait_tcp(sk, EPOLLOUT, &timeo);
		/* The next call reports the error, if this one has sent
		 * something.
		 */
		if (done && (waited || READ_ONCE(sk->sk_err) ||
			     READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN))
			break;
		msg->msg_flags = flags | MSG_DONTWAIT;
		n = sdp_ulp_tcp(sk)->sendmsg(sock, msg, msg_data_left(msg));
		if (n > 0)
			done += n;
		else if (n == -EAGAIN && waited)
			n = waited;
	} while ((n > 0 || n == -EAGAIN) && !waited && msg_data_left(msg));
	msg->msg_flags = flags;
	sdp_ulp_hand_back(held);
	return done ?: n;
}

static int sdp_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	int flags = msg->msg_flags;
	long whole = sock_sndtimeo(sk, flags & MSG_DONTWAIT), timeo = whole;
	const struct sdp_stream_ops *stream;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && READ_ONCE(ssk->mode) != SDP_SK_IDLE) {
		do {
			err = sdp_sock_settle(sk, ssk, &timeo);
			if (err)
				break;
			stream = sdp_sock_stream(ssk);
			err = stream ? stream->sendmsg(sk, ssk, msg, len, timeo) :
				       -ENOIOCTLCMD;
		} while (sdp_sock_again(ssk, err));
	} else if (ssk && flags & MSG_FASTOPEN) {
		err = sdp_connect_by_send(sock, ssk, msg, len);
	}
	sdp_ulp_put(ssk);
	/* With MSG_ZEROCOPY each call of TCP makes one notification: so there
	 * may be only one.
	 */
	if (err == -ENOIOCTLCMD && timeo < whole && !(flags & MSG_ZEROCOPY))
		err = sdp_sock_tcp_send(sock, msg, timeo);
	else if (err == -ENOIOCTLCMD)
		err = SDP_TCP_CALL(sk, sendmsg, sock, msg, len);
	sdp_ulp_leave();
	return err;
}

/* TCP's recvmsg(), for a call that has used a part of its time already. */
static int sdp_sock_tcp_recv(struct socket *sock, struct msghdr *msg, size_t len,
			     int flags, long timeo)
{
	struct sock *sk = sock->sk;
	bool held = sdp_ulp_hand_on();
	int n, waited, done = 0;
	int target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);

	do {
		waited = sdp_connect_wait_tcp(sk, EPOLLIN | EPOLLRDHUP, &timeo);
		/* The next call reports the error, if this one has received
		 * something.
		 */
		if (done && READ_ONCE(sk->sk_err) && !tcp_inq(sk))
			break;
		n = sdp_ulp_tcp(sk)->recvmsg(sock, msg, len - done,
					     flags | MSG_DONTWAIT);
		if (n > 0)
			done += n;
		else if (n == -EAGAIN && waited)
			n = waited;
	} while (!waited && (n == -EAGAIN || (n > 0 && done < target &&
					      !(flags & MSG_PEEK))));
	sdp_ulp_hand_back(held);
	return done ?: n;
}

static int sdp_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		       int flags)
{
	struct sock *sk = sock->sk;
	long whole = sock_rcvtimeo(sk, flags & (MSG_DONTWAIT | MSG_OOB));
	const struct sdp_stream_ops *stream;
	long timeo = whole;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && READ_ONCE(ssk->mode) != SDP_SK_IDLE &&
	    !(flags & MSG_ERRQUEUE)) {
		do {
			err = sdp_sock_settle(sk, ssk, &timeo);
			/* MSG_OOB waits neither for the urgent byte nor for the
			 * connection.
			 */
			if (err == -EAGAIN && flags & MSG_OOB)
				err = -EINVAL;
			if (err)
				break;
			stream = sdp_sock_stream(ssk);
			err = stream ? stream->recvmsg(sk, ssk, msg, len, flags,
						       timeo) : -ENOIOCTLCMD;
		} while (sdp_sock_again(ssk, err));
	}
	sdp_ulp_put(ssk);
	/* MSG_PEEK with MSG_WAITALL cannot go on where it was: TCP begins
	 * again, with the whole time-out.
	 */
	if (err == -ENOIOCTLCMD && timeo < whole &&
	    !(flags & MSG_PEEK && flags & MSG_WAITALL))
		err = sdp_sock_tcp_recv(sock, msg, len, flags, timeo);
	else if (err == -ENOIOCTLCMD)
		err = SDP_TCP_CALL(sk, recvmsg, sock, msg, len, flags);
	sdp_ulp_leave();
	return err;
}

static ssize_t sdp_splice_read(struct socket *sock, loff_t *pos,
			       struct pipe_inode_info *pipe, size_t len,
			       unsigned int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	ssize_t ret;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	/* As with TCP, SPLICE_F_NONBLOCK concerns the pipe alone.  While
	 * connecting the call waits, as sdp_recvmsg() does.
	 */
	if (ssk && (sdp_sock_stream(ssk) ||
		    READ_ONCE(ssk->mode) == SDP_SK_CONNECTING))
		ret = copy_splice_read(sock->file, pos, pipe, len, flags);
	else
		ret = SDP_TCP_CALL(sk, splice_read, sock, pos, pipe, len,
				   flags);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return ret;
}

/* The end of a sendfile() or splice(): no more comes, so nothing is held back. */
static void __maybe_unused sdp_splice_eof(struct socket *sock)
{
	const struct sdp_stream_ops *stream;
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk) {
		lock_sock(sk);
		stream = sdp_sock_stream(ssk);
		if (stream)
			stream->push(sk, ssk);
		release_sock(sk);
	} else {
		sdp_ops_call_splice_eof(sdp_ulp_tcp(sk), sock);
	}
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
}

/* poll */

/*
 * A value that is set while the outcome of connect() is open reaches the stream
 * with the outcome.
 */
static int sdp_set_rcvlowat(struct sock *sk, int val)
{
	const struct sdp_stream_ops *stream;
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	err = sdp_ulp_tcp(sk)->set_rcvlowat(sk, val);
	ssk = sdp_ulp_get(sk);
	stream = ssk ? sdp_sock_stream(ssk) : NULL;
	if (stream)
		stream->rcvlowat(sk, ssk);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

static __poll_t sdp_poll(struct file *file, struct socket *sock,
			 poll_table *wait)
{
	struct sock *sk = sock->sk;
	enum sdp_sk_mode mode;
	struct sdp_sk *ssk;
	__poll_t mask = 0;

	sdp_ulp_enter();
	/* One wait queue whatever the socket becomes: register, then look. */
	sock_poll_wait(file, sock, wait);
	ssk = sdp_ulp_get(sk);
	mode = ssk ? READ_ONCE(ssk->mode) : SDP_SK_DETACHED;
	smp_rmb();	/* mode before state; see sdp_connect_set_failed() */
	switch (mode) {
	case SDP_SK_CONNECTING:
		/* Report nothing.  If sk_err is set by now, it was set after a
		 * fallback.  Pollers are woken for that, and tcp_poll() reports
		 * it completely.
		 */
		break;
	case SDP_SK_CONNECTED:
	case SDP_SK_JOINING:
	case SDP_SK_JOINED:
		if (!ssk->stream->poll(sk, ssk, poll_requested_events(wait),
				       &mask))
			mask = tcp_poll(file, sock, NULL);	/* dissolved since */
		break;
	default:
		mask = tcp_poll(file, sock, NULL);
		if (ssk && READ_ONCE(ssk->acceptable))
			mask |= EPOLLIN | EPOLLRDNORM;
	}
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return mask;
}

/* The rest */

/* Whether SDP carries the stream, or is about to. */
static bool sdp_sock_active(const struct sdp_sk *ssk)
{
	u8 mode = READ_ONCE(ssk->mode);

	return mode == SDP_SK_CONNECTING || mode == SDP_SK_CONNECTED;
}

/* shutdown() while the outcome of connect() is open: as TCP in SYN_SENT. */
static int sdp_sock_disconnect(struct socket *sock, struct sdp_sk *ssk)
{
	struct sock *sk = sock->sk;
	int err = -ENOIOCTLCMD;

	lock_sock(sk);
	if (ssk->mode == SDP_SK_CONNECTING) {
		WRITE_ONCE(sk->sk_err, ECONNRESET);
		sdp_sk_conn_abort(sk, ssk, false);
		err = sk->sk_prot->disconnect(sk, O_NONBLOCK);
		sock->state = err ? SS_DISCONNECTING : SS_UNCONNECTED;
		sk->sk_state_change(sk);
	}
	release_sock(sk);
	return err;
}

static int sdp_shutdown(struct socket *sock, int how)
{
	const struct sdp_stream_ops *stream;
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && how >= SHUT_RD && how <= SHUT_RDWR) {
		do {
			stream = sdp_sock_stream(ssk);
			err = stream ? stream->shutdown(sk, ssk, how + 1) :
				       sdp_sock_disconnect(sock, ssk);
		} while (err == -ENOIOCTLCMD && sdp_sock_active(ssk));
	}
	if (err == -ENOIOCTLCMD)
		err = SDP_TCP_CALL(sk, shutdown, sock, how);
	if (ssk)
		sdp_listen_check(sk, ssk);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

/*
 * A socket that was bound to ::ffff:0.0.0.0 stays hashed by that address, see
 * sdp_sk_conn_set_names(), and TCP takes only :: for no address.
 */
static void sdp_sock_real_name(const struct sock *sk, struct sockaddr *addr)
{
	struct sockaddr_in6 *sin6 = (struct sockaddr_in6 *)addr;

	if (addr->sa_family == AF_INET6 &&
	    ipv6_addr_v4mapped(&sin6->sin6_addr) &&
	    !sin6->sin6_addr.s6_addr32[3])
		sin6->sin6_addr = inet6_sk(sk)->saddr;
}

static int sdp_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	const struct sdp_stream_ops *stream;
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	stream = ssk && READ_ONCE(ssk->mode) == SDP_SK_CONNECTED ? ssk->stream :
								   NULL;
	/* 2: the peer's name whatever sk_state says. */
	if (peer && stream && stream->state(ssk) != TCP_CLOSE)
		peer = 2;
	err = sdp_ulp_tcp(sk)->getname(sock, addr, peer);
	if (err > 0 && !peer && stream)
		sdp_sock_real_name(sk, addr);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

static int sdp_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	const struct sdp_stream_ops *stream = NULL;
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err, value = 0;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && (cmd == SIOCINQ || cmd == SIOCOUTQ || cmd == SIOCOUTQNSD ||
		    cmd == SIOCATMARK)) {
		lock_sock(sk);
		stream = sdp_sock_stream(ssk);
		if (stream)
			value = stream->ioctl(sk, ssk, cmd);
		release_sock(sk);
	}
	if (stream)
		err = put_user(value, (int __user *)arg);
	else
		err = sdp_ulp_tcp(sk)->ioctl(sock, cmd, arg);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

static int sdp_release(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err;

	/* A failed accept() releases a socket that has our ops and no sock. */
	if (!sk)
		return 0;
	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk) {
		lock_sock(sk);
		spin_lock_bh(&ssk->lock);
		ssk->closed = true;
		spin_unlock_bh(&ssk->lock);
		ssk->stream->close(sk, ssk);
		release_sock(sk);
		sdp_listen_stop(sk, ssk);
		sdp_ulp_put(ssk);
	}
	err = SDP_TCP_CALL(sk, release, sock);
	sdp_ulp_leave();
	return err;
}

static int sdp_bind(struct socket *sock, sdp_sockaddr *uaddr, int addr_len)
{
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sock->sk);
	addr_len = sdp_connect_plain_addr(ssk, uaddr, addr_len, true);
	/* TCP tells by sk_state, which is CLOSE here; and an accepted child has
	 * no port of its own.
	 */
	if (ssk && sdp_sock_active(ssk))
		err = -EINVAL;
	else
		err = sdp_ulp_tcp(sock->sk)->bind(sock, uaddr, addr_len);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

/**
 * sdp_sock_fill() - put our operations into a copy of TCP's
 * @ops: the copy; its owner stays
 *
 * Context: process.
 */
void __init sdp_sock_fill(struct proto_ops *ops)
{
	ops->release	= sdp_release;
	ops->bind	= sdp_bind;
	ops->connect	= sdp_connect;
	ops->accept	= sdp_accept;
	ops->getname	= sdp_getname;
	ops->poll	= sdp_poll;
	ops->ioctl	= sdp_ioctl;
	ops->listen	= sdp_listen;
	ops->shutdown	= sdp_shutdown;
	ops->setsockopt	= sdp_setsockopt;
	ops->getsockopt	= sdp_getsockopt;
	ops->sendmsg	= sdp_sendmsg;
	ops->recvmsg	= sdp_recvmsg;
	ops->set_rcvlowat = sdp_set_rcvlowat;
	ops->splice_read = sdp_splice_read;
	ops->mmap	= sock_no_mmap;
	ops->read_sock	= NULL;
	sdp_ops_no_read_skb(ops);
	ops->peek_len	= NULL;
	ops->sendmsg_locked = NULL;
	sdp_ops_no_sendpage(ops);
	sdp_ops_set_splice_eof(ops, sdp_splice_eof);
}
