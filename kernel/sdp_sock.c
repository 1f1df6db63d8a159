// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of a socket that carries SDP.
 *
 * Each operation looks up the slot first.  If the slot is not ours, or the
 * socket is neither connecting nor connected by SDP, TCP's own operation
 * answers, with TCP's own errors.  While the outcome of connect() is open, send
 * and recv wait for it.
 *
 * A caller in send or recv sleeps on conn->wq (sdp_wait.c).  poll() and epoll
 * sleep on the socket's own wait queue and are woken by the poller of the
 * connection, mostly the worker.
 */
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/inet_common.h>
#include <linux/sdp.h>
#include "sdp_connect.h"
#include "sdp_listen.h"
#include "sdp_opt.h"
#include "sdp_recv.h"
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_send.h"
#include "sdp_sk_conn.h"
#include "sdp_sock.h"
#include "sdp_tx.h"
#include "sdp_urg.h"
#include "sdp_zsink_bounce.h"

/*
 * Begin a call: lock the socket, and get a reference to the connection if SDP
 * carries the stream.  The socket is locked on return in any case.  NULL: the
 * error is in @err, -ENOIOCTLCMD if TCP should answer.
 */
static struct sdp_conn *sdp_sock_begin(struct sock *sk, struct sdp_sk *ssk,
				       long *timeo, int *err)
{
	struct sdp_conn *conn;

	lock_sock(sk);
	*err = sdp_connect_wait(sk, ssk, timeo);
	if (*err)
		return NULL;
	conn = ssk->mode == SDP_SK_CONNECTED ? ssk->conn : NULL;
	if (!conn) {
		*err = -ENOIOCTLCMD;
		return NULL;
	}
	sdp_sk_conn_sync_alive(sk, conn);
	sdp_conn_enter(sdp_conn_get(conn));
	return conn;
}

static void sdp_sock_end(struct sdp_conn *conn)
{
	/* Take what came meanwhile here: the worker would cost a context switch. */
	if (READ_ONCE(conn->flags) & (BIT(SDP_CONN_FIRED_RECV) |
				      BIT(SDP_CONN_FIRED_SEND)))
		sdp_rx_poll(conn);
	if (unlikely(sdp_zsink_bounce_is_due(conn)))
		sdp_zsink_bounce_more(conn);
	sdp_conn_leave(conn);
	sdp_conn_put(conn);
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

/*
 * Check control messages.  Valid ones concern packets, if anything, and are
 * ignored.  Any other is an error, as with TCP.
 */
static int sdp_sock_check_control(struct sock *sk, struct sdp_conn *conn,
				  struct msghdr *msg)
{
	struct sockcm_cookie cookie;

	/* The error that nothing can be sent any more goes first. */
	if (likely(!msg->msg_controllen) || sdp_sk_conn_cannot_send(sk, conn))
		return 0;
	sockcm_init(&cookie, sk);
	return sock_cmsg_send(sk, msg, &cookie) ? -EINVAL : 0;
}

static int sdp_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	int flags = msg->msg_flags;
	long whole = sock_sndtimeo(sk, flags & MSG_DONTWAIT), timeo = whole;
	struct sdp_conn *conn;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && READ_ONCE(ssk->mode) != SDP_SK_IDLE) {
		conn = sdp_sock_begin(sk, ssk, &timeo, &err);
		if (conn)
			err = flags & MSG_FASTOPEN ? -EOPNOTSUPP :
			      sdp_sock_check_control(sk, conn, msg);
		if (!conn || err)
			;	/* TCP answers, or it is an error */
		else if (flags & MSG_ZEROCOPY && len &&
			 (sdp_msg_ubuf(msg) || sock_flag(sk, SOCK_ZEROCOPY)))
			err = sdp_send_notified(sk, ssk, conn, msg, flags,
						timeo);
		else
			err = sdp_send(sk, ssk, conn, msg, flags, timeo);
		release_sock(sk);
		if (conn)
			sdp_sock_end(conn);
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
	struct sdp_conn *conn;
	long timeo = whole;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && READ_ONCE(ssk->mode) != SDP_SK_IDLE &&
	    !(flags & MSG_ERRQUEUE)) {
		conn = sdp_sock_begin(sk, ssk, &timeo, &err);
		/* MSG_OOB waits neither for the urgent byte nor for the
		 * connection.
		 */
		if (err == -EAGAIN && flags & MSG_OOB)
			err = -EINVAL;
		if (conn && flags & MSG_OOB)
			err = sdp_recv_urgent(sk, conn, msg, len, flags);
		else if (conn)
			err = sdp_recv(sk, ssk, conn, msg, len, flags, timeo);
		release_sock(sk);
		if (conn) {
			msg->msg_namelen = 0;
			sdp_sock_end(conn);
		}
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
	if (ssk && (READ_ONCE(ssk->mode) == SDP_SK_CONNECTED ||
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
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk) {
		lock_sock(sk);
		if (ssk->mode == SDP_SK_CONNECTED) {
			sdp_tx_set_delay(ssk->conn, sdp_sk_conn_delay(sk, 0));
			sdp_tx_run(ssk->conn);
		}
		release_sock(sk);
	} else {
		sdp_ops_call_splice_eof(sdp_ulp_tcp(sk), sock);
	}
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
}

/* poll */

static __poll_t sdp_sock_ready(struct sock *sk, struct sdp_sk *ssk,
			       struct sdp_conn *conn)
{
	bool failed = sdp_sk_conn_ended(ssk);
	bool eof = failed || sk->sk_shutdown & RCV_SHUTDOWN ||
		   test_bit(SDP_CONN_EOF, &conn->flags);
	__poll_t mask = 0;
	bool both;

	both = failed || (eof && sk->sk_shutdown & SEND_SHUTDOWN);
	if (both)
		mask |= EPOLLHUP;
	if (eof)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (sdp_sk_conn_is_readable(sk, conn))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (sdp_urg_is_valid(conn))
		mask |= EPOLLPRI;
	if (sk->sk_shutdown & SEND_SHUTDOWN || failed || sdp_sndbuf_writable(conn))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

static __poll_t sdp_sock_poll(struct file *file, struct socket *sock,
			      struct sdp_sk *ssk, __poll_t wanted)
{
	struct sock *sk = sock->sk;
	struct sdp_conn *conn;
	__poll_t mask;

	conn = sdp_sk_conn_conn_get(ssk);
	if (!conn)	/* dissolved since: TCP answers */
		return tcp_poll(file, sock, NULL);
	sdp_sk_conn_sync_alive(sk, conn);
	sdp_sk_conn_sync_stamps(sk, conn);
	/* poll() reports what a read would return.  So what is advertised must
	 * not wait for a reader.
	 */
	sdp_zsink_set_direct(&conn->zsink, false);
	mask = sdp_sock_ready(sk, ssk, conn);
	if (!(mask & wanted & (EPOLLIN | EPOLLRDNORM))) {
		sdp_rx_poll(conn);
		mask = sdp_sock_ready(sk, ssk, conn);
	}
	if (!(mask & EPOLLOUT)) {
		set_bit(SOCK_NOSPACE, &sock->flags);
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		smp_mb__after_atomic();	/* with sk_stream_write_space() */
		if (sdp_tx_want_space(conn))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	sdp_conn_put(conn);
	return mask;
}

/*
 * A caller that sleeps in poll() is woken, as by TCP, if what is unread is
 * enough now.  A value that is set while the outcome of connect() is open
 * reaches the connection with the outcome.
 */
static int sdp_set_rcvlowat(struct sock *sk, int val)
{
	struct sdp_conn *conn;
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	err = sdp_ulp_tcp(sk)->set_rcvlowat(sk, val);
	ssk = sdp_ulp_get(sk);
	conn = ssk ? sdp_sk_conn_conn_get(ssk) : NULL;
	if (conn) {
		sdp_sk_conn_set_limits(sk, conn);
		if (sdp_sk_conn_is_readable(sk, conn))
			sk->sk_data_ready(sk);
		else if (sdp_ring_is_low(&conn->ring))
			sdp_conn_queue_work(conn);	/* this function may not sleep */
		sdp_conn_put(conn);
	}
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
		mask = sdp_sock_poll(file, sock, ssk, poll_requested_events(wait));
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

static int sdp_shutdown(struct socket *sock, int how)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && how >= SHUT_RD && how <= SHUT_RDWR) {
		lock_sock(sk);
		if (ssk->mode == SDP_SK_CONNECTED) {
			struct sdp_conn *conn = ssk->conn;

			err = sdp_sk_conn_is_over(conn) ? -ENOTCONN : 0;
			WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | (how + 1));
			if (!err && (how + 1) & SEND_SHUTDOWN) {
				sdp_conn_event(conn, SDP_EV_SHUTDOWN);
				sdp_tx_run(conn);
			}
			wake_up(&conn->wq);
			sk->sk_state_change(sk);
		} else if (ssk->mode == SDP_SK_CONNECTING) {
			/* As TCP in SYN_SENT: disconnect. */
			WRITE_ONCE(sk->sk_err, ECONNRESET);
			sdp_connect_abort(sk, ssk, false);
			err = sk->sk_prot->disconnect(sk, O_NONBLOCK);
			sock->state = err ? SS_DISCONNECTING : SS_UNCONNECTED;
			sk->sk_state_change(sk);
		}
		release_sock(sk);
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
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	bool connected;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	connected = ssk && READ_ONCE(ssk->mode) == SDP_SK_CONNECTED;
	if (peer && connected) {
		struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);

		/* 2: the peer's name whatever sk_state says. */
		if (conn && !sdp_sk_conn_is_over(conn))
			peer = 2;
		sdp_conn_put(conn);
	}
	err = sdp_ulp_tcp(sk)->getname(sock, addr, peer);
	if (err > 0 && !peer && connected)
		sdp_sock_real_name(sk, addr);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

static int sdp_ioctl(struct socket *sock, unsigned int cmd, unsigned long arg)
{
	struct sock *sk = sock->sk;
	struct sdp_conn *conn = NULL;
	struct sdp_sk *ssk;
	int err, value = 0;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && (cmd == SIOCINQ || cmd == SIOCOUTQ || cmd == SIOCOUTQNSD ||
		    cmd == SIOCATMARK)) {
		lock_sock(sk);
		conn = ssk->mode == SDP_SK_CONNECTED ? ssk->conn : NULL;
		if (conn && cmd == SIOCINQ) {
			sdp_rx_poll(conn);
			value = sdp_urg_inq(conn, sock_flag(sk, SOCK_URGINLINE));
		} else if (conn && cmd == SIOCATMARK) {
			sdp_rx_poll(conn);
			value = sdp_urg_at_mark(conn, sock_flag(sk, SOCK_URGINLINE));
		} else if (conn) {
			sdp_tx_want_space(conn);	/* reaps completions */
			spin_lock_bh(&conn->lock);
			value = conn->tx.outstanding + sdp_zsrc_async_bytes(&conn->zsrc_async);
			if (cmd == SIOCOUTQNSD)
				value -= conn->tx.inflight_bytes;
			spin_unlock_bh(&conn->lock);
		}
		release_sock(sk);
	}
	if (conn)
		err = put_user(value, (int __user *)arg);
	else
		err = sdp_ulp_tcp(sk)->ioctl(sock, cmd, arg);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

/* SO_LINGER with a time: wait until the peer has everything and has said so. */
static void sdp_sock_linger(struct sock *sk, struct sdp_conn *conn)
{
	long timeo = sk->sk_lingertime;
	DEFINE_WAIT_FUNC(wait, woken_wake_function);

	add_wait_queue(&conn->wq, &wait);
	while (timeo && !signal_pending(current)) {
		enum sdp_state state;

		sdp_tx_run(conn);
		sdp_rx_poll(conn);
		state = sdp_conn_state(conn);
		if (state != SDP_FIN_WAIT_1 && state != SDP_CLOSING &&
		    state != SDP_LAST_ACK)
			break;
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
	}
	remove_wait_queue(&conn->wq, &wait);
}

static void sdp_sock_close(struct sock *sk, struct sdp_sk *ssk)
{
	struct sdp_conn *conn = ssk->conn;
	bool linger = sock_flag(sk, SOCK_LINGER);
	bool orderly;

	sdp_conn_get(conn);
	sdp_rx_poll(conn);
	orderly = ssk->mode == SDP_SK_CONNECTED && !READ_ONCE(conn->rx.inq) &&
		  !sdp_zsink_bounce_is_behind(conn) &&
		  !(linger && !sk->sk_lingertime);
	sdp_conn_enter(conn);
	sdp_connect_abort(sk, ssk, orderly);
	if (orderly && linger && !(current->flags & PF_EXITING))
		sdp_sock_linger(sk, conn);
	sdp_conn_leave(conn);
	sdp_conn_put(conn);
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
		if (ssk->conn)
			sdp_sock_close(sk, ssk);
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
	if (ssk && (READ_ONCE(ssk->mode) == SDP_SK_CONNECTED ||
		    READ_ONCE(ssk->mode) == SDP_SK_CONNECTING))
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
