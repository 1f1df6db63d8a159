// SPDX-License-Identifier: GPL-2.0
/*
 * SDP's connection as the stream of a socket: the table of sdp_stream.h.
 *
 * A call locks the socket and enters the connection, so that the worker leaves
 * polling to it.  A caller in send or recv sleeps on conn->wq (sdp_wait.c).
 * poll() and epoll sleep on the socket's own wait queue and are woken by the
 * poller of the connection, mostly the worker.
 */
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <linux/tcp.h>
#include "sdp_conn_info.h"
#include "sdp_conn_stream.h"
#include "sdp_recv.h"
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_send.h"
#include "sdp_sk_conn.h"
#include "sdp_sndbuf.h"
#include "sdp_tx.h"
#include "sdp_urg.h"
#include "sdp_zsink.h"
#include "sdp_zsink_bounce.h"

/*
 * Begin a call: lock the socket, and get a reference to the connection.  NULL:
 * it no longer carries the stream.  The socket is locked on return in any case.
 */
static struct sdp_conn *sdp_conn_stream_begin(struct sock *sk,
					      struct sdp_sk *ssk)
{
	struct sdp_conn *conn;

	lock_sock(sk);
	conn = ssk->mode == SDP_SK_CONNECTED ? ssk->conn : NULL;
	if (!conn)
		return NULL;
	sdp_sk_conn_sync_alive(sk, conn);
	sdp_conn_enter(sdp_conn_get(conn));
	return conn;
}

static void sdp_conn_stream_end(struct sdp_conn *conn)
{
	/* Take what came meanwhile here: the worker would cost a context switch. */
	if (sdp_conn_has_events(conn))
		sdp_rx_poll(conn);
	if (unlikely(sdp_zsink_bounce_is_due(conn)))
		sdp_zsink_bounce_more(conn);
	sdp_conn_leave(conn);
	sdp_conn_put(conn);
}

/*
 * Check control messages.  Valid ones concern packets, if anything, and are
 * ignored.  Any other is an error, as with TCP.
 */
static int sdp_conn_stream_control(struct sock *sk, struct sdp_conn *conn,
				   struct msghdr *msg)
{
	struct sockcm_cookie cookie;

	/* The error that nothing can be sent any more goes first. */
	if (likely(!msg->msg_controllen) || sdp_sk_conn_cannot_send(sk, conn))
		return 0;
	sockcm_init(&cookie, sk);
	return sock_cmsg_send(sk, msg, &cookie) ? -EINVAL : 0;
}

static int sdp_conn_stream_sendmsg(struct sock *sk, struct sdp_sk *ssk,
				   struct msghdr *msg, size_t len, long timeo)
{
	struct sdp_conn *conn = sdp_conn_stream_begin(sk, ssk);
	int flags = msg->msg_flags;
	int n;

	if (!conn)
		n = -ENOIOCTLCMD;
	else if (flags & MSG_FASTOPEN)
		n = -EOPNOTSUPP;
	else
		n = sdp_conn_stream_control(sk, conn, msg);
	if (n)
		;	/* the socket layer asks TCP, or it is an error */
	else if (flags & MSG_ZEROCOPY && len &&
		 (sdp_msg_ubuf(msg) || sock_flag(sk, SOCK_ZEROCOPY)))
		n = sdp_send_notified(sk, ssk, conn, msg, flags, timeo);
	else
		n = sdp_send(sk, ssk, conn, msg, flags, timeo);
	release_sock(sk);
	if (conn)
		sdp_conn_stream_end(conn);
	return n;
}

static int sdp_conn_stream_recvmsg(struct sock *sk, struct sdp_sk *ssk,
				   struct msghdr *msg, size_t len, int flags,
				   long timeo)
{
	struct sdp_conn *conn = sdp_conn_stream_begin(sk, ssk);
	int n;

	if (!conn)
		n = -ENOIOCTLCMD;
	else if (flags & MSG_OOB)
		n = sdp_recv_urgent(sk, conn, msg, len, flags);
	else
		n = sdp_recv(sk, ssk, conn, msg, len, flags, timeo);
	release_sock(sk);
	if (conn) {
		msg->msg_namelen = 0;
		sdp_conn_stream_end(conn);
	}
	return n;
}

static void sdp_conn_stream_push(struct sock *sk, struct sdp_sk *ssk)
{
	sdp_tx_set_delay(ssk->conn, sdp_sk_conn_delay(sk, 0));
	sdp_tx_run(ssk->conn);
}

static __poll_t sdp_conn_stream_ready(struct sock *sk, struct sdp_sk *ssk,
				      struct sdp_conn *conn)
{
	bool failed = sdp_sk_conn_ended(ssk);
	bool eof = failed || sk->sk_shutdown & RCV_SHUTDOWN ||
		   sdp_conn_is_eof(conn);
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

static bool sdp_conn_stream_poll(struct sock *sk, struct sdp_sk *ssk,
				 __poll_t wanted, __poll_t *mask)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);

	if (!conn)
		return false;
	sdp_sk_conn_sync_alive(sk, conn);
	sdp_sk_conn_sync_stamps(sk, conn);
	/* poll() reports what a read would return.  So what is advertised must
	 * not wait for a reader.
	 */
	sdp_zsink_set_direct(&conn->zsink, false);
	*mask = sdp_conn_stream_ready(sk, ssk, conn);
	if (!(*mask & wanted & (EPOLLIN | EPOLLRDNORM))) {
		sdp_rx_poll(conn);
		*mask = sdp_conn_stream_ready(sk, ssk, conn);
	}
	if (!(*mask & EPOLLOUT)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
		smp_mb__after_atomic();	/* with sk_stream_write_space() */
		if (sdp_tx_want_space(conn))
			*mask |= EPOLLOUT | EPOLLWRNORM;
	}
	sdp_conn_put(conn);
	return true;
}

/*
 * A caller that sleeps in poll() is woken, as by TCP, if what is unread is
 * enough now.
 */
static void sdp_conn_stream_rcvlowat(struct sock *sk, struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);

	if (!conn)
		return;
	sdp_sk_conn_set_limits(sk, conn);
	if (sdp_sk_conn_is_readable(sk, conn))
		sk->sk_data_ready(sk);
	else if (sdp_ring_is_low(&conn->ring))
		sdp_conn_queue_work(conn);	/* this function may not sleep */
	sdp_conn_put(conn);
}

static int sdp_conn_stream_ioctl(struct sock *sk, struct sdp_sk *ssk,
				 unsigned int cmd)
{
	bool inlined = sock_flag(sk, SOCK_URGINLINE);
	struct sdp_conn *conn = ssk->conn;

	switch (cmd) {
	case SIOCINQ:
		sdp_rx_poll(conn);
		return sdp_urg_inq(conn, inlined);
	case SIOCATMARK:
		sdp_rx_poll(conn);
		return sdp_urg_at_mark(conn, inlined);
	default:
		sdp_tx_want_space(conn);	/* reaps completions */
		return sdp_sndbuf_outq(conn, cmd == SIOCOUTQNSD);
	}
}

static int sdp_conn_stream_shutdown(struct sock *sk, struct sdp_sk *ssk, int how)
{
	struct sdp_conn *conn;
	int err = -ENOIOCTLCMD;

	lock_sock(sk);
	conn = ssk->mode == SDP_SK_CONNECTED ? ssk->conn : NULL;
	if (!conn)
		goto out;
	err = sdp_conn_tcp_state(conn) == TCP_CLOSE ? -ENOTCONN : 0;
	WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | how);
	if (!err && how & SEND_SHUTDOWN) {
		sdp_conn_event(conn, SDP_EV_SHUTDOWN);
		sdp_tx_run(conn);
	}
	wake_up(&conn->wq);
	sk->sk_state_change(sk);
out:
	release_sock(sk);
	return err;
}

/* SO_LINGER with a time: wait until the peer has everything and has said so. */
static void sdp_conn_stream_linger(struct sock *sk, struct sdp_conn *conn)
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

static void sdp_conn_stream_close(struct sock *sk, struct sdp_sk *ssk)
{
	bool linger = sock_flag(sk, SOCK_LINGER);
	struct sdp_conn *conn = ssk->conn;
	bool orderly;

	if (!conn)
		return;
	sdp_conn_get(conn);
	sdp_rx_poll(conn);
	orderly = ssk->mode == SDP_SK_CONNECTED && !sdp_rx_inq(conn) &&
		  !sdp_zsink_bounce_is_behind(conn) &&
		  !(linger && !sk->sk_lingertime);
	sdp_conn_enter(conn);
	sdp_sk_conn_abort(sk, ssk, orderly);
	if (orderly && linger && !(current->flags & PF_EXITING))
		sdp_conn_stream_linger(sk, conn);
	sdp_conn_leave(conn);
	sdp_conn_put(conn);
}

/* As TCP: setting TCP_NODELAY pushes what is queued, even what is corked. */
static void sdp_conn_stream_delay(struct sock *sk, struct sdp_conn *conn,
				  int optname)
{
	u8 delay = sdp_sk_conn_delay(sk, 0);

	if (delay & SDP_DELAY_NODELAY && optname == TCP_NODELAY)
		delay |= SDP_DELAY_PUSH;
	sdp_tx_set_delay(conn, delay);
	sdp_tx_run(conn);
	sdp_tx_set_delay(conn, delay & ~SDP_DELAY_PUSH);
}

static void sdp_conn_stream_option(struct sock *sk, struct sdp_sk *ssk,
				   int optname)
{
	struct sdp_conn *conn = ssk->conn;

	switch (optname) {
	case TCP_NODELAY:
	case TCP_CORK:
		sdp_conn_stream_delay(sk, conn, optname);
		break;
	case TCP_KEEPIDLE:
	case TCP_USER_TIMEOUT:
		sdp_sk_conn_sync_alive(sk, conn);
		break;
	case TCP_NOTSENT_LOWAT:
		sdp_sndbuf_set_notsent_lowat(conn, tcp_notsent_lowat(tcp_sk(sk)));
		/* A caller that waits for room may have it now. */
		sdp_tx_reap(conn);
		break;
	default:
		break;
	}
}

static void sdp_conn_stream_zcopy(struct sdp_sk *ssk)
{
	if (ssk->conn)
		sdp_conn_set_zcopy(ssk->conn, ssk->zcopy);
}

static u8 sdp_conn_stream_state(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);
	u8 state = conn ? sdp_conn_tcp_state(conn) : TCP_CLOSE;

	sdp_conn_put(conn);
	return state;
}

static u32 sdp_conn_stream_mss(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);
	u32 mss = conn ? sdp_conn_mss(conn) : 0;

	sdp_conn_put(conn);
	return mss;
}

static void sdp_conn_stream_info(struct sdp_sk *ssk, struct sdp_info *info)
{
	if (!ssk->conn)
		return;
	/* Completions are reaped late: reap them now, for a current answer. */
	if (ssk->mode == SDP_SK_CONNECTED)
		sdp_tx_reap(ssk->conn);
	sdp_conn_info(ssk->conn, info);
}

static bool sdp_conn_stream_tcp_info(struct sdp_sk *ssk, struct tcp_info *info)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);

	if (!conn)
		return false;
	sdp_conn_tcp_info(conn, info);
	sdp_conn_put(conn);
	return true;
}

const struct sdp_stream_ops sdp_conn_stream_ops = {
	.sendmsg	= sdp_conn_stream_sendmsg,
	.recvmsg	= sdp_conn_stream_recvmsg,
	.push		= sdp_conn_stream_push,
	.poll		= sdp_conn_stream_poll,
	.rcvlowat	= sdp_conn_stream_rcvlowat,
	.ioctl		= sdp_conn_stream_ioctl,
	.shutdown	= sdp_conn_stream_shutdown,
	.close		= sdp_conn_stream_close,
	.option		= sdp_conn_stream_option,
	.zcopy		= sdp_conn_stream_zcopy,
	.state		= sdp_conn_stream_state,
	.mss		= sdp_conn_stream_mss,
	.info		= sdp_conn_stream_info,
	.tcp_info	= sdp_conn_stream_tcp_info,
};
