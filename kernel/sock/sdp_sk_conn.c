// SPDX-License-Identifier: GPL-2.0
/*
 * Where a connection meets its socket.
 *
 * The connection calls up in any order and from any context that may wake.
 * While a connect() is open the calls only queue the work that decides its
 * outcome under the socket lock.  After that they wake the socket as TCP would:
 * one report each for data, room, end of stream, and error.
 */
#include <net/ipv6.h>
#include "sdp_check.h"
#include "sdp_port.h"
#include "sdp_refill.h"
#include "sdp_route.h"
#include "sdp_rx.h"
#include "sdp_sk_conn.h"
#include "sdp_sndbuf.h"
#include "sdp_tx.h"
#include "sdp_urg.h"
#include "sdp_zsink_bounce.h"

/**
 * sdp_sk_conn_readable() - bytes that a read would give, as poll() counts them
 * @sk: its socket; SO_OOBINLINE counts
 * @conn: the connection
 *
 * Context: process or softirq.
 * Return: bytes.
 */
u32 sdp_sk_conn_readable(const struct sock *sk, struct sdp_conn *conn)
{
	return sdp_urg_readable(conn, sock_flag(sk, SOCK_URGINLINE));
}

/**
 * sdp_sk_conn_is_readable() - whether poll() is to report readable
 * @sk: its socket; SO_RCVLOWAT counts
 * @conn: the connection
 *
 * As with TCP, less than SO_RCVLOWAT is enough if the peer can send no more.
 *
 * Context: process or softirq.
 * Return: true if so.
 */
bool sdp_sk_conn_is_readable(const struct sock *sk, struct sdp_conn *conn)
{
	u32 there = sdp_sk_conn_readable(sk, conn);

	return there >= sock_rcvlowat(sk, 0, INT_MAX) ||
	       unlikely(there && (sdp_refill_is_full(conn) ||
				  sdp_zsink_bounce_is_full(conn)));
}

static void sdp_sk_conn_data_ready(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;
	struct sock *sk;

	spin_lock_bh(&ssk->lock);
	sk = ssk->sk;
	if (sk && !ssk->closed && ssk->mode == SDP_SK_CONNECTED &&
	    sdp_sk_conn_is_readable(sk, conn))
		sk->sk_data_ready(sk);
	spin_unlock_bh(&ssk->lock);
}

static void sdp_sk_conn_write_space(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;

	spin_lock_bh(&ssk->lock);
	if (ssk->sk && !ssk->closed && ssk->mode == SDP_SK_CONNECTED)
		ssk->sk->sk_write_space(ssk->sk);
	spin_unlock_bh(&ssk->lock);
}

static void sdp_sk_conn_state_change(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;
	struct sock *sk;

	spin_lock_bh(&ssk->lock);
	sk = ssk->sk;
	if (!sk || ssk->closed)
		goto out;
	if (ssk->mode == SDP_SK_CONNECTING) {
		if (sdp_conn_state(conn) >= SDP_ESTABLISHED)
			sdp_ulp_queue_decide(ssk);
	} else if (sdp_conn_is_eof(conn)) {
		sk->sk_state_change(sk);
		sk_wake_async(sk, SOCK_WAKE_WAITD, POLL_IN);
	}
out:
	spin_unlock_bh(&ssk->lock);
}

/* SIGURG at the announcement, a wake-up with the byte; both as TCP. */
static void sdp_sk_conn_urgent(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;
	struct sock *sk;

	spin_lock_bh(&ssk->lock);
	sk = ssk->sk;
	if (sk && !ssk->closed && ssk->mode == SDP_SK_CONNECTED) {
		if (sdp_urg_is_new(conn))
			sk_send_sigurg(sk);
		if (sdp_urg_is_valid(conn))
			sk->sk_data_ready(sk);
	}
	spin_unlock_bh(&ssk->lock);
}

static void sdp_sk_conn_error(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;
	struct sock *sk;

	spin_lock_bh(&ssk->lock);
	sk = ssk->sk;
	if (!sk || ssk->closed)
		goto out;
	/* A call on an earlier connection may be late to report its end. */
	if (ssk->conn != conn)
		goto out;
	if (ssk->mode == SDP_SK_CONNECTING) {
		sdp_ulp_queue_decide(ssk);
	} else if (ssk->mode == SDP_SK_CONNECTED && !ssk->reported) {
		WRITE_ONCE(sk->sk_err, sdp_conn_err(conn));
		/* Publishes sk_err, with sdp_sk_conn_ended(). */
		smp_store_release(&ssk->reported, true);
		sk->sk_state_change(sk);
		sk_error_report(sk);
	}
out:
	spin_unlock_bh(&ssk->lock);
}

const struct sdp_conn_ops sdp_sk_conn_ops = {
	.data_ready	= sdp_sk_conn_data_ready,
	.write_space	= sdp_sk_conn_write_space,
	.state_change	= sdp_sk_conn_state_change,
	.urgent		= sdp_sk_conn_urgent,
	.error		= sdp_sk_conn_error,
};

/* For IP_MTU, IPV6_MTU and IPV6_PATHMTU: no packet of ours takes the route. */
static void sdp_sk_conn_set_route(struct sock *sk, const struct sdp_conn *conn)
{
	struct sdp_addr from = conn->local;
	struct dst_entry *dst;

	dst = sdp_route_find(conn->net, READ_ONCE(sk->sk_bound_dev_if),
			     READ_ONCE(sk->sk_mark), conn->uid, &from,
			     &conn->remote);
	sk_dst_set(sk, IS_ERR(dst) ? NULL : dst);
}

/**
 * sdp_sk_conn_set_names() - set a sock's addresses and route from its connection
 * @sk: locked
 * @conn: the connection
 *
 * Context: process.
 */
void sdp_sk_conn_set_names(struct sock *sk, const struct sdp_conn *conn)
{
	struct inet_sock *inet = inet_sk(sk);
	__be32 v4_local = 0, v4_remote = 0;

	if (ipv6_addr_v4mapped(&conn->local.ip)) {
		v4_local = conn->local.ip.s6_addr32[3];
		v4_remote = conn->remote.ip.s6_addr32[3];
	}
	/* The receive address is not set here: a client's is set by
	 * sdp_port_take(), and a child is hashed nowhere.  getsockname() takes
	 * these addresses where the receive address is the wildcard.
	 */
	inet->inet_saddr = v4_local;
	inet->inet_daddr = v4_remote;
	inet->inet_sport = conn->local.port;
	inet->inet_dport = conn->remote.port;
	if (sk->sk_family == AF_INET6) {
		inet6_sk(sk)->saddr = conn->local.ip;
		sk->sk_v6_daddr = conn->remote.ip;
	}
	sdp_sk_conn_set_route(sk, conn);
}

/**
 * sdp_sk_conn_set_buffers() - pass SO_SNDBUF and SO_RCVBUF to the connection
 * @sk: the sock
 * @conn: its connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_sk_conn_set_buffers(const struct sock *sk, struct sdp_conn *conn)
{
	u32 rcv = READ_ONCE(sk->sk_rcvbuf);
	u32 least = READ_ONCE(sk->sk_sndbuf), most = least;

	/* A size that the user has not set is tuned, as TCP does: the sysctls
	 * bound it.
	 */
	if (!(sk->sk_userlocks & SOCK_RCVBUF_LOCK))
		rcv = INT_MAX;
	if (!(sk->sk_userlocks & SOCK_SNDBUF_LOCK)) {
		least = READ_ONCE(conn->sn->sndbuf_bytes);
		most = max_t(u32, least,
			     READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_wmem[2]));
	}
	sdp_sndbuf_set_limit(conn, least, most);
	sdp_refill_set_max(conn, rcv);
	sdp_sk_conn_sync_alive(sk, conn);
}

/**
 * sdp_sk_conn_set_limits() - pass a socket's limits to its connection
 * @sk: the sock
 * @conn: its connection
 *
 * Options that may have been set before there was a connection: SO_SNDBUF,
 * SO_RCVBUF, SO_RCVLOWAT, SO_TIMESTAMP and its kin, TCP_NOTSENT_LOWAT.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_sk_conn_set_limits(const struct sock *sk, struct sdp_conn *conn)
{
	sdp_sk_conn_set_buffers(sk, conn);
	sdp_sk_conn_sync_stamps(sk, conn);
	sdp_sndbuf_set_notsent_lowat(conn, tcp_notsent_lowat(tcp_sk(sk)));
	sdp_refill_set_wants(conn, READ_ONCE(sk->sk_rcvlowat));
}

/**
 * sdp_sk_conn_sync_alive() - pass SO_KEEPALIVE and TCP_USER_TIMEOUT to the connection
 * @sk: the sock
 * @conn: its connection, which carries the stream
 *
 * Nothing of ours is called when SO_KEEPALIVE is set, so each later call looks.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_sk_conn_sync_alive(const struct sock *sk, struct sdp_conn *conn)
{
	u32 user = READ_ONCE(inet_csk(sk)->icsk_user_timeout);
	u32 idle = 0;

	if (sock_flag(sk, SOCK_KEEPOPEN))
		idle = keepalive_time_when(tcp_sk(sk));
	user = msecs_to_jiffies(user);
	sdp_check_set(conn, idle, user);
}

/**
 * sdp_sk_conn_set_conn() - set or clear the connection of a socket
 * @ssk: the socket's SDP state; the socket is locked
 * @conn: its reference passes to @ssk; NULL: the old one's to the caller
 *
 * Context: process.
 */
void sdp_sk_conn_set_conn(struct sdp_sk *ssk, struct sdp_conn *conn)
{
	spin_lock_bh(&ssk->lock);
	ssk->conn = conn;
	spin_unlock_bh(&ssk->lock);
}

/**
 * sdp_sk_conn_conn_get() - get the connection that carries the stream
 * @ssk: the socket's SDP state
 *
 * For callers without the socket lock.  Since they looked at the mode the
 * connection may have been dissolved and another one begun.
 *
 * Context: process or softirq.
 * Return: a reference; NULL if there is no connection, or its outcome is open.
 */
struct sdp_conn *sdp_sk_conn_conn_get(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = NULL;

	spin_lock_bh(&ssk->lock);
	/* The mode is SDP_SK_CONNECTING before another connection is set. */
	if (READ_ONCE(ssk->mode) == SDP_SK_CONNECTED)
		conn = ssk->conn;
	if (conn)
		sdp_conn_get(conn);
	spin_unlock_bh(&ssk->lock);
	return conn;
}

/**
 * sdp_sk_conn_failed() - whether the connection has ended with an error
 * @conn: the connection
 * @ssk: the socket's SDP state; the socket is locked
 *
 * Context: process.
 * Return: true if so; the error has been put into sk_err then, or taken from
 * there already.
 */
bool sdp_sk_conn_failed(struct sdp_conn *conn, struct sdp_sk *ssk)
{
	if (!sdp_conn_err(conn))
		return false;
	/* The context that set conn->err may not have called up yet. */
	sdp_sk_conn_error(conn, ssk);
	return true;
}

/**
 * sdp_sk_conn_graft() - give an accepted connection its socket
 * @sk: locked
 * @ssk: its SDP state
 * @conn: the connection; the caller's reference passes to @ssk
 *
 * Context: process.
 */
void sdp_sk_conn_graft(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn)
{
	sdp_sk_conn_set_conn(ssk, conn);
	sdp_conn_own(conn);
	ssk->named = true;
	sdp_sk_conn_set_names(sk, conn);
	sdp_sk_conn_set_limits(sk, conn);
	sdp_conn_set_zcopy(conn, ssk->zcopy);
	WRITE_ONCE(ssk->mode, SDP_SK_CONNECTED);
	sdp_refill_owned(conn);
	sdp_conn_attach(conn, &sdp_sk_conn_ops, ssk);
	/* It may have failed before its calls up came here. */
	sdp_sk_conn_failed(conn, ssk);
}

/**
 * sdp_sk_conn_delay() - what small writes may wait for
 * @sk: locked; its TCP_NODELAY and TCP_CORK count
 * @flags: of the call that sends; MSG_MORE counts
 *
 * Context: process.
 * Return: enum sdp_cork_delay, without SDP_DELAY_PUSH.
 */
u8 sdp_sk_conn_delay(const struct sock *sk, int flags)
{
	u8 nonagle = tcp_sk(sk)->nonagle;
	u8 delay = 0;

	if (nonagle & TCP_NAGLE_OFF)
		delay |= SDP_DELAY_NODELAY;
	if (nonagle & TCP_NAGLE_CORK || flags & SDP_MSG_MORE)
		delay |= SDP_DELAY_CORK;
	return delay;
}

/**
 * sdp_sk_conn_cut() - close the connection of a socket and detach it
 * @ssk: the socket's SDP state, with a connection; the socket is locked
 * @orderly: true: deliver what was sent, then DisConn; false: abort
 *
 * Context: process.
 */
void sdp_sk_conn_cut(struct sdp_sk *ssk, bool orderly)
{
	struct sdp_conn *conn = ssk->conn;

	sdp_sk_conn_set_conn(ssk, NULL);
	sdp_conn_attach(conn, NULL, NULL);
	if (orderly) {
		sdp_conn_orphan(conn);
		sdp_conn_event(conn, SDP_EV_SHUTDOWN);
		/* A peer that never closes must not keep the connection for
		 * ever.  A connection in TIME_WAIT ends sooner anyway.
		 */
		if (sdp_conn_state(conn) != SDP_CLOSED &&
		    sdp_conn_state(conn) < SDP_TIME_WAIT_1)
			sdp_conn_start_timer(conn, READ_ONCE(conn->sn->fin_timeout));
		sdp_tx_run(conn);
		/* Data that has arrived, or is advertised, has no reader. */
		if (sdp_rx_inq(conn) || sdp_zsink_bounce_is_behind(conn))
			orderly = false;
	}
	if (!orderly)
		sdp_conn_fail(conn, ECONNRESET, SDP_EV_ABORT, "closed");
	sdp_conn_put(conn);
}

/**
 * sdp_sk_conn_abort() - end the connection of a socket, or the attempt
 * @sk: locked
 * @ssk: its SDP state; the mode becomes SDP_SK_IDLE
 * @orderly: as for sdp_sk_conn_cut()
 *
 * Context: process.
 */
void sdp_sk_conn_abort(struct sock *sk, struct sdp_sk *ssk, bool orderly)
{
	if (!ssk->conn)
		return;
	sdp_sk_conn_cut(ssk, orderly);
	sdp_port_put(sk, ssk);
	smp_store_release(&ssk->mode, SDP_SK_IDLE);	/* with sdp_poll() */
	ssk->reported = false;
	wake_up_all(&ssk->wq);
}
