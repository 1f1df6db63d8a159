// SPDX-License-Identifier: GPL-2.0
/*
 * The operations of a socket that carries SDP: sending, receiving, waiting,
 * poll, shutdown, close.
 *
 * Each looks the slot up first.  No slot, or a socket that is neither
 * connecting nor connected by SDP: TCP's own operation answers, with TCP's own
 * errors.  While the outcome of connect() is open, send and recv wait for it.
 *
 * Waiting.  A caller who sleeps in send or recv sleeps on conn->wq and polls
 * the completion queues in his own context when an event wakes him: so a
 * ping-pong costs one wake-up per message, as it does a verbs program.  poll()
 * and epoll sleep on the socket's own wait queue and are woken by whoever
 * polled, mostly the worker.
 *
 * Errors come in TCP's order: bytes that arrived are delivered first, then
 * sk_err is reported once, then the stream is at its end.
 */
#include <linux/sched/signal.h>
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/inet_common.h>
#include <linux/sdp.h>
#include "sdp_bcopy.h"
#include "sdp_connect.h"
#include "sdp_ask.h"
#include "sdp_fetch.h"
#include "sdp_lease.h"
#include "sdp_link.h"
#include "sdp_listen.h"
#include "sdp_offer.h"
#include "sdp_opt.h"
#include "sdp_rx.h"
#include "sdp_sock.h"
#include "sdp_spin.h"
#include "sdp_take.h"
#include "sdp_tx.h"
#include "sdp_urg.h"

static bool sdp_sock_eof(const struct sock *sk, const struct sdp_conn *conn)
{
	return sk->sk_shutdown & RCV_SHUTDOWN ||
	       test_bit(SDP_CONN_EOF, &conn->flags) ||
	       READ_ONCE(conn->tx.err);
}

static bool sdp_sock_cannot_send(const struct sock *sk,
				 const struct sdp_conn *conn)
{
	return sk->sk_err || sk->sk_shutdown & SEND_SHUTDOWN ||
	       READ_ONCE(conn->tx.err);
}

static void sdp_sock_limits(const struct sock *sk, struct sdp_conn *conn)
{
	if (unlikely(sk->sk_userlocks & (SOCK_SNDBUF_LOCK | SOCK_RCVBUF_LOCK)))
		sdp_link_set_limits(sk, conn);
}

/* SO_BUSY_POLL, in microseconds. */
static unsigned int sdp_sock_busy_poll(const struct sock *sk)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return READ_ONCE(sk->sk_ll_usec);
#else
	return 0;
#endif
}

/* Sleep until something happened on the connection, or @timeo is over.  The
 * caller looked at the condition after he was on the queue.
 */
static int sdp_sock_sleep(struct sock *sk, struct sdp_conn *conn,
			  wait_queue_entry_t *wait, long *timeo)
{
	unsigned int busy = sdp_sock_busy_poll(sk);

	if (!*timeo)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	release_sock(sk);
	*timeo = sdp_spin_sleep(conn, wait, *timeo, busy);
	lock_sock(sk);
	return 0;
}

/* Sending */

static int sdp_sock_wait_space(struct sock *sk, struct sdp_conn *conn,
			       long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	/* For who polls after EAGAIN; before we look, or it is missed. */
	if (!*timeo)
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		/* Credits come with what the peer sends. */
		sdp_rx_poll(conn);
		if (sdp_sock_cannot_send(sk, conn) || sdp_tx_want_space(conn))
			break;
		err = sdp_sock_sleep(sk, conn, &wait, timeo);
		if (err)
			break;
	}
	remove_wait_queue(&conn->wq, &wait);
	return err;
}

/* TCP does not fail when memory is short, it waits; so do we. */
static int sdp_sock_wait_memory(struct sock *sk, long *timeo)
{
	long nap = min_t(long, *timeo, HZ / 50 + 1);

	if (!nap)
		return -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= nap;
	release_sock(sk);
	schedule_timeout_interruptible(nap);
	lock_sock(sk);
	return 0;
}

/* The same as SDP_TX_CANCEL, if the caller is being killed. */
enum { SDP_SOCK_KILLED = 5 * HZ };

/* Sleep while memory is lent.  0: look again; or why it is to be taken back. */
static int sdp_sock_sleep_lent(struct sock *sk, struct sdp_conn *conn,
			       wait_queue_entry_t *wait, long *timeo)
{
	long nap, left;

	nap = READ_ONCE(conn->tx.lent_at) + sdp_tx_patience(conn) - jiffies;
	nap = min(nap, *timeo);
	if (nap <= 0)
		return *timeo ? -ETIME : -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	release_sock(sk);
	left = sdp_spin_sleep(conn, wait, nap, sdp_sock_busy_poll(sk));
	lock_sock(sk);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= nap - left;
	return 0;
}

/*
 * Sleep until memory may have come back.  If nothing was heard of it @since so
 * long it is had back in the only other way: by ending the connection.
 */
static void sdp_sock_sleep_cancelled(struct sock *sk, struct sdp_conn *conn,
				     wait_queue_entry_t *wait,
				     unsigned long since)
{
	unsigned long limit = fatal_signal_pending(current) ? SDP_SOCK_KILLED :
							      SDP_TX_CANCEL;

	if (time_after(jiffies, since + limit) && !READ_ONCE(conn->tx.err))
		sdp_conn_fail(conn, ETIMEDOUT, SDP_EV_ABORT, "cancel");
	release_sock(sk);
	wait_woken(wait, TASK_UNINTERRUPTIBLE, HZ);
	lock_sock(sk);
}

/*
 * Wait until nothing is lent any more: memory that a device may touch is not the
 * caller's, whatever he has heard or would like to do.  Bytes that the peer has.
 */
static size_t sdp_sock_take_back(struct sock *sk, struct sdp_conn *conn,
				 wait_queue_entry_t *wait)
{
	size_t sent = 0;

	sdp_offer_cancel(conn);
	sdp_tx_run(conn);
	for (;;) {
		sdp_rx_poll(conn);
		sent += sdp_offer_reap(conn);
		if (!sdp_offer_is_out(conn))
			return sent;
		sdp_sock_sleep_cancelled(sk, conn, wait,
					 READ_ONCE(conn->tx.lent_at));
	}
}

/*
 * Send by lending the memory: returns when nothing of it is lent any more, with
 * the bytes that the peer has.  The iterator stands behind them.  What is left is
 * for copying, unless the peer has just told where it wants it: then @again.
 */
static size_t sdp_sock_lend(struct sock *sk, struct sdp_conn *conn,
			    struct iov_iter *iter, long *timeo, bool *again)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct iov_iter ahead = *iter;
	bool stop = false;
	size_t sent = 0;
	ssize_t n;

	if (!sdp_offer_begin(conn))
		return 0;
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		sdp_rx_poll(conn);
		sent += sdp_offer_reap(conn);
		stop = stop || READ_ONCE(conn->tx.withdrawn);
		n = 1;
		while (!stop && n > 0 && iov_iter_count(&ahead)) {
			n = sdp_offer_more(conn, sk_page_frag(sk), &ahead);
			stop = n < 0;
			sdp_tx_run(conn);
		}
		if (!sdp_offer_is_out(conn) && (stop || !iov_iter_count(&ahead))) {
			*again = READ_ONCE(conn->tx.withdrawn) &&
				 READ_ONCE(conn->tx.mode.src.held.n);
			break;
		}
		if (sdp_sock_cannot_send(sk, conn) ||
		    sdp_sock_sleep_lent(sk, conn, &wait, timeo)) {
			sent += sdp_sock_take_back(sk, conn, &wait);
			break;
		}
	}
	remove_wait_queue(&conn->wq, &wait);
	sdp_offer_end(conn);
	iov_iter_advance(iter, sent);
	return sent;
}

/* How often the queue is pushed while a long send is being copied. */
enum { SDP_SOCK_PUSH_EVERY = 4 };

/* Who sends memory that may be read when the call has returned. */
struct sdp_sock_zc {
	struct ubuf_info *uarg;		/* to be told when it is free; or NULL */
	bool lease;			/* it is long enough */
	bool copied;			/* some of it was not lent */
};

/* Some of it on its way, lent beyond the call or copied.  Bytes, or an error. */
static ssize_t sdp_sock_send_some(struct sock *sk, struct sdp_conn *conn,
				  struct msghdr *msg, int flags,
				  struct sdp_sock_zc *zc)
{
	ssize_t n;

	if (unlikely(zc->lease) && sdp_lease_pays(conn, &msg->msg_iter)) {
		n = sdp_lease_more(conn, sk_page_frag(sk), &msg->msg_iter,
				   zc->uarg);
		if (n > 0 || n == -EAGAIN)
			return n;
		/* What cannot be lent is copied; a short piece, alone. */
		zc->lease = n == -EMSGSIZE;
	}
	n = sdp_bcopy_send(conn, sk_page_frag(sk), &msg->msg_iter,
			   flags & MSG_OOB, sk->sk_allocation);
	zc->copied |= n > 0;
	return n;
}

static int sdp_sock_send(struct sock *sk, struct sdp_sk *ssk,
			 struct sdp_conn *conn, struct msghdr *msg, int flags,
			 struct sdp_sock_zc *zc)
{
	bool stays = (zc->uarg || flags & SDP_MSG_SPLICE_PAGES) &&
		     !(flags & MSG_OOB);
	long timeo = sock_sndtimeo(sk, flags & MSG_DONTWAIT);
	u8 delay = sdp_link_delay(sk, flags);
	size_t len = msg_data_left(msg);
	bool lend = timeo && !(flags & MSG_OOB) && !stays &&
		    sdp_offer_pays(conn, &msg->msg_iter);
	size_t done = 0;
	int queued = 0;
	ssize_t n = 0;
	int err = 0;

	zc->lease = unlikely(stays) && sdp_lease_begin(conn, len);
	sdp_sock_limits(sk, conn);
	sdp_tx_set_delay(conn, delay);
	if (!len && sdp_sock_cannot_send(sk, conn))
		err = -EPIPE;
	while (done < len) {
		if (sdp_sock_cannot_send(sk, conn)) {
			err = -EPIPE;
			break;
		}
		if (lend) {
			lend = false;
			done += sdp_sock_lend(sk, conn, &msg->msg_iter, &timeo,
					      &lend);
			continue;
		}
		n = sdp_sock_send_some(sk, conn, msg, flags, zc);
		if (n > 0) {
			done += n;
			if (++queued % SDP_SOCK_PUSH_EVERY == 0 ||
			    unlikely(zc->lease))
				sdp_tx_run(conn);
			continue;
		}
		/* No room: nothing comes behind what is there, so it goes. */
		sdp_tx_set_delay(conn, delay | SDP_DELAY_PUSH);
		sdp_tx_run(conn);
		if (n == -EAGAIN)
			err = sdp_sock_wait_space(sk, conn, &timeo);
		else if (n == -ENOMEM)
			err = sdp_sock_wait_memory(sk, &timeo);
		else
			err = n;
		if (err)
			break;
		sdp_tx_set_delay(conn, delay);
	}
	sdp_tx_run(conn);
	if (done)
		return done;
	if (err == -EPIPE)
		sdp_link_failed(conn, ssk);	/* its error goes first */
	return sk_stream_error(sk, flags, err);
}

/*
 * MSG_ZEROCOPY: the error queue tells when the memory is the caller's again, and
 * whether it was copied in the end; or io_uring does, which has its own way.
 */
static int sdp_sock_send_notified(struct sock *sk, struct sdp_sk *ssk,
				  struct sdp_conn *conn, struct msghdr *msg,
				  int flags)
{
	struct sdp_sock_zc zc = { .uarg = msg->msg_ubuf };
	struct sk_buff *note;
	int n = -ENOBUFS;

	if (!zc.uarg)
		zc.uarg = sdp_zerocopy_realloc(sk, msg_data_left(msg));
	if (!zc.uarg)
		return -ENOBUFS;
	note = sdp_lease_note(zc.uarg);
	if (note) {
		n = sdp_sock_send(sk, ssk, conn, msg, flags, &zc);
		if (n > 0)
			sdp_lease_tell_in_turn(conn, note, !zc.copied);
		else
			sdp_lease_tell(note, true);
	}
	if (msg->msg_ubuf)
		;	/* it is its owner's, who keeps it */
	else if (n > 0)
		net_zcopy_put(zc.uarg);
	else
		net_zcopy_put_abort(zc.uarg, true);
	return n;
}

/* A reference to the connection if SDP carries the stream.  Locked on return
 * in any case; *@err is -ENOIOCTLCMD if TCP should answer.
 */
static struct sdp_conn *sdp_sock_begin(struct sock *sk, struct sdp_sk *ssk,
				       long timeo, int *err)
{
	struct sdp_conn *conn;

	lock_sock(sk);
	*err = sdp_connect_wait(sk, ssk, &timeo);
	if (*err)
		return NULL;
	conn = ssk->mode == SDP_SK_CONNECTED ? ssk->conn : NULL;
	if (!conn) {
		*err = -ENOIOCTLCMD;
		return NULL;
	}
	sdp_link_sync_alive(sk, conn);
	sdp_conn_enter(sdp_conn_get(conn));
	return conn;
}

static void sdp_sock_end(struct sdp_conn *conn)
{
	/* What came meanwhile is ours to look at: a worker costs a switch. */
	if (READ_ONCE(conn->flags) & (BIT(SDP_CONN_FIRED_RECV) |
				      BIT(SDP_CONN_FIRED_SEND)))
		sdp_rx_poll(conn);
	if (unlikely(sdp_fetch_is_due(conn)))
		sdp_fetch_more(conn);
	sdp_conn_leave(conn);
	sdp_conn_put(conn);
}

static int sdp_sendmsg(struct socket *sock, struct msghdr *msg, size_t len)
{
	struct sock *sk = sock->sk;
	int flags = msg->msg_flags;
	struct sdp_conn *conn;
	struct sdp_sock_zc zc = {};
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && READ_ONCE(ssk->mode) != SDP_SK_IDLE) {
		conn = sdp_sock_begin(sk, ssk, sock_sndtimeo(sk, flags &
							     MSG_DONTWAIT),
				      &err);
		if (conn && flags & MSG_FASTOPEN)
			err = -EOPNOTSUPP;
		else if (conn && flags & MSG_ZEROCOPY && len &&
			 (msg->msg_ubuf || sock_flag(sk, SOCK_ZEROCOPY)))
			err = sdp_sock_send_notified(sk, ssk, conn, msg, flags);
		else if (conn)
			err = sdp_sock_send(sk, ssk, conn, msg, flags, &zc);
		release_sock(sk);
		if (conn)
			sdp_sock_end(conn);
	}
	sdp_ulp_put(ssk);
	if (err == -ENOIOCTLCMD)
		err = SDP_TCP_CALL(sk, sendmsg, sock, msg, len);
	sdp_ulp_leave();
	return err;
}

/* Receiving */

/* Why there are no more than @seen bytes to read; 0: end of stream, or an
 * error that is the next call's, since this one has @done something;
 * -EINPROGRESS: there will be; -EAGAIN: there are by now.
 */
static int sdp_sock_nothing(struct sock *sk, struct sdp_sk *ssk,
			    struct sdp_conn *conn, u32 seen, size_t done)
{
	bool failed = sdp_link_failed(conn, ssk);

	if (!failed && !sk->sk_err && !sdp_sock_eof(sk, conn))
		return -EINPROGRESS;
	/* The end may have come after we looked, and bytes before it. */
	smp_rmb();
	if (READ_ONCE(conn->rx.inq) > seen)
		return -EAGAIN;
	/* Behind the end of the stream an error is who sends to hear. */
	if (done || test_bit(SDP_CONN_EOF, &conn->flags))
		return 0;
	return sock_error(sk);
}

/*
 * Is the reader at an urgent byte?  Out of line it is no part of the stream:
 * it goes, or is skipped in peeking.  0; or why to end: no error if @done.
 */
static int sdp_sock_at_mark(struct sock *sk, struct sdp_conn *conn,
			    size_t done, long timeo, u32 *holes,
			    unsigned int *how)
{
	bool inlined = sock_flag(sk, SOCK_URGINLINE);
	bool peek = *how & SDP_BCOPY_PEEK;

	switch (sdp_urg_place(conn, peek ? done + *holes : 0)) {
	case SDP_URG_NOTHING:
		return 0;
	case SDP_URG_HOLE:
		if (inlined)
			return 0;
		break;
	case SDP_URG_MARK:
		if (done)
			return -EAGAIN;
		if (signal_pending(current))
			return timeo ? sock_intr_errno(timeo) : -EAGAIN;
		if (inlined) {
			*how |= SDP_BCOPY_PAST;
			return 0;
		}
		break;
	}
	if (peek)
		++*holes;
	else
		sdp_bcopy_recv(conn, NULL, 1, 0,
			       SDP_BCOPY_DISCARD | SDP_BCOPY_PAST);
	return 0;
}

/*
 * Have what is offered read to where it is wanted: returns when none of it is
 * being read any more, with the bytes, or 0, or why there are none.  The
 * iterator stands behind them.
 *
 * What was begun is waited for whatever comes: memory that a device may write is
 * not the caller's.  It takes a round trip, or until the device gives up, or we do.
 */
static ssize_t sdp_sock_take(struct sock *sk, struct sdp_conn *conn,
			     struct iov_iter *iter, size_t len)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct iov_iter ahead = *iter;
	unsigned long since = jiffies;
	size_t left = len, taken = 0;
	ssize_t n, err = 0;

	if (!sdp_take_begin(conn))
		return 0;
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		n = sdp_take_reap(conn);
		if (n)
			since = jiffies;
		taken += n;
		do {
			n = signal_pending(current) ? -EINTR :
			    sdp_take_more(conn, &ahead, left);
			if (n > 0) {
				left -= n;
				sdp_tx_run(conn);
			} else if (n < 0) {
				err = n;
				left = 0;
			}
		} while (n > 0 && left);
		if (!sdp_take_is_out(conn))
			break;
		sdp_sock_sleep_cancelled(sk, conn, &wait, since);
		sdp_rx_poll(conn);
	}
	remove_wait_queue(&conn->wq, &wait);
	sdp_take_end(conn);
	iov_iter_advance(iter, taken);
	return taken ?: err;
}

/* Sleep while the peer may write.  0: look again; or why it is to be ended. */
static int sdp_sock_sleep_asked(struct sock *sk, struct sdp_conn *conn,
				wait_queue_entry_t *wait, unsigned long until,
				long *timeo)
{
	long nap = min_t(long, until - jiffies, *timeo), left;

	if (nap <= 0)
		return *timeo ? -ETIME : -EAGAIN;
	if (signal_pending(current))
		return sock_intr_errno(*timeo);
	release_sock(sk);
	left = sdp_spin_sleep(conn, wait, nap, sdp_sock_busy_poll(sk));
	lock_sock(sk);
	if (*timeo != MAX_SCHEDULE_TIMEOUT)
		*timeo -= nap - left;
	return 0;
}

/*
 * Have the peer write to where it is wanted: returns when it may not any more,
 * with the bytes; or 0 if something else has come; or why there are none, -ETIME
 * if that will not be soon.  The iterator stands behind them.
 */
static ssize_t sdp_sock_ask(struct sock *sk, struct sdp_conn *conn,
			    struct iov_iter *iter, size_t len,
			    wait_queue_entry_t *wait, long *timeo)
{
	unsigned long until = jiffies +
			      msecs_to_jiffies(READ_ONCE(conn->sn->zcopy_wait));
	bool cancelled = false;
	size_t got = 0;
	int err = 0;

	if (sdp_ask_make(conn, iter, len))
		err = -ETIME;	/* what cannot be lent is copied */
	sdp_tx_run(conn);
	for (;;) {
		sdp_rx_poll(conn);
		got += sdp_ask_reap(conn);
		if (!sdp_ask_is_out(conn))
			break;
		if (cancelled) {
			unsigned long before = jiffies;

			/* Who has time leaves it to the peer. */
			if (err == -ETIME && *timeo && !sk->sk_err &&
			    !signal_pending(current) && !sdp_sock_eof(sk, conn))
				until = before;
			sdp_sock_sleep_cancelled(sk, conn, wait, until);
			if (*timeo != MAX_SCHEDULE_TIMEOUT)
				*timeo -= min_t(long, *timeo, jiffies - before);
			continue;
		}
		cancelled = sk->sk_err || sdp_sock_eof(sk, conn);
		if (!cancelled)
			err = sdp_sock_sleep_asked(sk, conn, wait, until,
						   timeo);
		if (err)
			cancelled = true;
		if (cancelled) {
			sdp_ask_cancel(conn);
			sdp_tx_run(conn);
			until = jiffies;
		}
	}
	sdp_take_end(conn);
	iov_iter_advance(iter, got);
	return got ?: err;
}

static ssize_t sdp_sock_recv(struct sock *sk, struct sdp_sk *ssk,
			     struct sdp_conn *conn, struct msghdr *msg,
			     size_t len, int flags)
{
	long timeo = sock_rcvtimeo(sk, flags & MSG_DONTWAIT);
	size_t target = sock_rcvlowat(sk, flags & MSG_WAITALL, len);
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	unsigned int how = 0;
	bool waiting = false;
	size_t done = 0;
	u32 holes = 0;
	bool take, ask;
	u32 seen;
	ssize_t n;
	int err = 0;

	if (flags & MSG_PEEK)
		how |= SDP_BCOPY_PEEK;
	else if (flags & MSG_TRUNC)
		how |= SDP_BCOPY_DISCARD;
	sdp_sock_limits(sk, conn);
	take = sdp_take_wants(conn, &msg->msg_iter, timeo && !how ? len : 0);
	ask = take;
	do {
		how &= ~SDP_BCOPY_PAST;
		if (sdp_urg_any(conn) && len) {
			err = sdp_sock_at_mark(sk, conn, done, timeo, &holes,
					       &how);
			if (err)
				break;
		}
		n = sdp_bcopy_recv(conn, &msg->msg_iter, len - done,
				   done + holes, how);
		if (n > 0)
			done += n;
		else if (n < 0)
			err = n;
		if (n < 0 || (done >= len && (len || READ_ONCE(conn->rx.inq))))
			break;
		/* Look whether more has come; then whether it ever will. */
		seen = how & SDP_BCOPY_PEEK ? done + holes : 0;
		if (READ_ONCE(conn->rx.inq) <= seen)
			sdp_rx_poll(conn);
		if (READ_ONCE(conn->rx.inq) > seen)
			continue;
		if (unlikely(take)) {
			n = sdp_sock_take(sk, conn, &msg->msg_iter, len - done);
			if (n > 0) {
				done += n;
				continue;
			}
			if (n < 0) {
				/* It is fetched then; copying will say why, if
				 * that cannot be either.
				 */
				sdp_take_wanted(conn, false);
				take = false;
				ask = false;
				continue;
			}
		}
		if (done >= target)
			break;
		err = sdp_sock_nothing(sk, ssk, conn, seen, done);
		if (err == -EAGAIN) {
			err = 0;
			continue;
		}
		if (err != -EINPROGRESS)
			break;
		err = 0;
		if (!waiting) {
			/* Look once more when on the queue. */
			add_wait_queue(&conn->wq, &wait);
			waiting = true;
			continue;
		}
		if (unlikely(ask)) {
			ask = false;	/* one occasion, however often he wakes */
			if (sdp_ask_begin(conn)) {
				n = sdp_sock_ask(sk, conn, &msg->msg_iter,
						 len - done, &wait, &timeo);
				if (n > 0)
					done += n;
				else if (n != -ETIME)
					err = n;
				ask = n > 0;
				continue;
			}
		}
		err = sdp_sock_sleep(sk, conn, &wait, &timeo);
	} while (!err);
	if (take)
		sdp_take_wanted(conn, true);
	if (waiting)
		remove_wait_queue(&conn->wq, &wait);
	return done ?: err;
}

/* MSG_OOB: the urgent byte, or why not.  It does not wait for what has not
 * arrived, as TCP does not; it does for who is looking at what has.
 */
static int sdp_sock_recv_urgent(struct sock *sk, struct sdp_conn *conn,
				struct msghdr *msg, size_t len, int flags)
{
	int err;
	u8 byte;

	if (sock_flag(sk, SOCK_URGINLINE))
		return -EINVAL;
	sdp_rx_flush(conn);
	err = sdp_urg_take(conn, flags & MSG_PEEK, &byte);
	if (err == -EAGAIN && sdp_sock_eof(sk, conn))
		return 0;
	if (err)
		return err;
	msg->msg_flags |= MSG_OOB;
	if (!len) {
		msg->msg_flags |= MSG_TRUNC;
		return 0;
	}
	if (!(flags & MSG_TRUNC) && memcpy_to_msg(msg, &byte, 1))
		return -EFAULT;
	return 1;
}

static int sdp_recvmsg(struct socket *sock, struct msghdr *msg, size_t len,
		       int flags)
{
	struct sock *sk = sock->sk;
	struct sdp_conn *conn;
	struct sdp_sk *ssk;
	int err = -ENOIOCTLCMD;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk && READ_ONCE(ssk->mode) != SDP_SK_IDLE &&
	    !(flags & MSG_ERRQUEUE)) {
		conn = sdp_sock_begin(sk, ssk, sock_rcvtimeo(sk, flags &
							     MSG_DONTWAIT),
				      &err);
		if (conn && flags & MSG_OOB)
			err = sdp_sock_recv_urgent(sk, conn, msg, len, flags);
		else if (conn)
			err = sdp_sock_recv(sk, ssk, conn, msg, len,
					    flags);
		release_sock(sk);
		if (conn) {
			msg->msg_namelen = 0;
			sdp_sock_end(conn);
		}
	}
	sdp_ulp_put(ssk);
	if (err == -ENOIOCTLCMD)
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
	/* As with TCP, SPLICE_F_NONBLOCK is about the pipe alone; and what is
	 * asked while connecting waits, as sdp_recvmsg() does.
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

/* sendfile() or splice() is at its end: more does not come. */
static void __maybe_unused sdp_splice_eof(struct socket *sock)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk) {
		lock_sock(sk);
		if (ssk->mode == SDP_SK_CONNECTED) {
			sdp_tx_set_delay(ssk->conn, sdp_link_delay(sk, 0));
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
	bool failed = sdp_link_ended(ssk);
	bool eof = failed || sk->sk_shutdown & RCV_SHUTDOWN ||
		   test_bit(SDP_CONN_EOF, &conn->flags);
	__poll_t mask = 0;
	bool both;

	both = failed || (eof && sk->sk_shutdown & SEND_SHUTDOWN);
	if (both)
		mask |= EPOLLHUP;
	if (eof)
		mask |= EPOLLIN | EPOLLRDNORM | EPOLLRDHUP;
	if (sdp_link_readable(sk, conn) >= sock_rcvlowat(sk, 0, INT_MAX))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (sdp_urg_is_valid(conn))
		mask |= EPOLLPRI;
	if (sk->sk_shutdown & SEND_SHUTDOWN || failed || sdp_tx_writable(conn))
		mask |= EPOLLOUT | EPOLLWRNORM;
	if (READ_ONCE(sk->sk_err) || !skb_queue_empty_lockless(&sk->sk_error_queue))
		mask |= EPOLLERR;
	return mask;
}

static __poll_t sdp_sock_poll(struct socket *sock, struct sock *sk,
			      struct sdp_sk *ssk, __poll_t wanted)
{
	struct sdp_conn *conn;
	__poll_t mask;

	conn = sdp_link_conn_get(ssk);
	if (!conn)
		return EPOLLHUP;
	sdp_link_sync_alive(sk, conn);
	/* Readable is what a read would have, so it must not wait for one. */
	WRITE_ONCE(conn->rx.lazy, false);
	mask = sdp_sock_ready(sk, ssk, conn);
	if (!(mask & wanted & (EPOLLIN | EPOLLRDNORM))) {
		sdp_rx_poll(conn);
		mask = sdp_sock_ready(sk, ssk, conn);
	}
	if (!(mask & EPOLLOUT)) {
		set_bit(SOCK_NOSPACE, &sock->flags);
		smp_mb__after_atomic();	/* with sk_stream_write_space() */
		if (sdp_tx_want_space(conn))
			mask |= EPOLLOUT | EPOLLWRNORM;
	}
	sdp_conn_put(conn);
	return mask;
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
	smp_rmb();	/* the mode before what shows in it: sdp_connect.c */
	switch (mode) {
	case SDP_SK_CONNECTING:
		/* Nothing.  sk_err, if it is set by now, is from after a fall
		 * back: who set it wakes us, and tcp_poll() tells it whole.
		 */
		break;
	case SDP_SK_CONNECTED:
		mask = sdp_sock_poll(sock, sk, ssk, poll_requested_events(wait));
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

			err = 0;
			if (READ_ONCE(conn->tx.err) ||
			    sdp_conn_state(conn) == SDP_CLOSED ||
			    sdp_conn_state(conn) >= SDP_TIME_WAIT_1)
				err = -ENOTCONN;
			WRITE_ONCE(sk->sk_shutdown, sk->sk_shutdown | (how + 1));
			if (!err && (how + 1) & SEND_SHUTDOWN) {
				sdp_conn_event(conn, SDP_EV_SHUTDOWN);
				sdp_tx_run(conn);
			}
			wake_up(&conn->wq);
			sk->sk_state_change(sk);
		} else if (ssk->mode == SDP_SK_CONNECTING) {
			/* In SYN_SENT TCP disconnects. */
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
	if (ssk && ssk->port && sk->sk_state != TCP_LISTEN)
		sdp_listen_stop(ssk);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

static int sdp_getname(struct socket *sock, struct sockaddr *addr, int peer)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (peer && ssk && READ_ONCE(ssk->mode) == SDP_SK_CONNECTED) {
		struct sdp_conn *conn = sdp_link_conn_get(ssk);

		/* 2: the peer's name whatever sk_state says. */
		if (conn && !READ_ONCE(conn->tx.err))
			peer = 2;
		sdp_conn_put(conn);
	}
	err = sdp_ulp_tcp(sk)->getname(sock, addr, peer);
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
			sdp_tx_want_space(conn);	/* reaps */
			spin_lock_bh(&conn->tx.lock);
			value = conn->tx.outstanding + conn->tx.lent;
			if (cmd == SIOCOUTQNSD)
				value -= conn->tx.inflight_bytes;
			spin_unlock_bh(&conn->tx.lock);
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

/* SO_LINGER with a time: wait until the peer has had all, and said so. */
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
		  !sdp_fetch_is_behind(conn) &&
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
		sdp_listen_stop(ssk);
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
	/* TCP knows it by sk_state; a child of ours has no port of its own. */
	if (ssk && (READ_ONCE(ssk->mode) == SDP_SK_CONNECTED ||
		    READ_ONCE(ssk->mode) == SDP_SK_CONNECTING))
		err = -EINVAL;
	else
		err = sdp_ulp_tcp(sock->sk)->bind(sock, uaddr, addr_len);
	sdp_ulp_put(ssk);
	sdp_ulp_leave();
	return err;
}

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
	ops->splice_read = sdp_splice_read;
	ops->mmap	= sock_no_mmap;
	ops->read_sock	= NULL;
	ops->read_skb	= NULL;
	ops->peek_len	= NULL;
	ops->sendmsg_locked = NULL;
	sdp_ops_no_sendpage(ops);
	sdp_ops_set_splice_eof(ops, sdp_splice_eof);
}
