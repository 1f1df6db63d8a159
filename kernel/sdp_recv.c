// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving on a connected socket.
 *
 * A call takes what has arrived; and if that is not enough it waits, in up to three
 * ways at once.  What the peer offers is read to where it is wanted (sdp_zsink.c).
 * A caller with a large buffer and nothing to read has the peer write there
 * (sdp_zsink.c).  Anything else that comes is copied (sdp_bcopy.c).
 *
 * Errors come in TCP's order: bytes that arrived are delivered first, then
 * sk_err is reported once, then the stream is at its end.
 */
#include <linux/sched/signal.h>
#include "sdp_bcopy.h"
#include "sdp_recv.h"
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_sk_conn.h"
#include "sdp_tx.h"
#include "sdp_urg.h"
#include "sdp_wait.h"
#include "sdp_zsink.h"

/* Why there are no more than @seen bytes to read; 0: end of stream, or an
 * error that is the next call's, since this one has @done something;
 * -EINPROGRESS: there will be; -EAGAIN: there are by now.
 */
static int sdp_recv_nothing(struct sock *sk, struct sdp_sk *ssk,
			    struct sdp_conn *conn, u32 seen, size_t done)
{
	bool failed = sdp_sk_conn_failed(conn, ssk);

	if (!failed && !sk->sk_err && !sdp_sk_conn_is_eof(sk, conn))
		return -EINPROGRESS;
	/* Either this call or a later one tells the error, and no byte follows it. */
	if (failed && !done)
		sdp_rx_end(conn);
	/* The end may have come after we looked, and bytes before it. */
	smp_rmb();
	if (READ_ONCE(conn->rx.inq) > seen)
		return -EAGAIN;
	/* Behind the end of the stream an error is who sends to hear. */
	if (done || test_bit(SDP_CONN_EOF, &conn->flags))
		return 0;
	/* Dissolved by connect(AF_UNSPEC): no end of the stream, and the error is left
	 * for who asks.
	 */
	return ssk->conn == conn ? sock_error(sk) : -EPIPE;
}

/* An urgent byte out of line is no part of the stream. */
static void sdp_recv_leave_out(struct sdp_conn *conn, u32 *holes,
			       unsigned int how)
{
	if (how & SDP_BCOPY_PEEK)
		++*holes;
	else
		sdp_bcopy_recv(conn, NULL, 1, 0,
			       SDP_BCOPY_DISCARD | SDP_BCOPY_PAST);
}

/*
 * Is the reader at an urgent byte, or at some that were replaced, each before it was
 * read past?  Out of line they go, or are skipped in peeking.
 * 0; or why to end: no error if @done.
 */
static int sdp_recv_at_mark(struct sock *sk, struct sdp_conn *conn,
			    size_t done, u32 ahead, long timeo, u32 *holes,
			    unsigned int *how)
{
	bool inlined = sock_flag(sk, SOCK_URGINLINE);
	bool peek = *how & SDP_BCOPY_PEEK;
	enum sdp_urg_place place;

	for (;;) {
		place = sdp_urg_place(conn, peek ? ahead + done + *holes : 0);
		if (place != SDP_URG_HOLE || inlined)
			break;
		sdp_recv_leave_out(conn, holes, *how);
	}
	if (place != SDP_URG_MARK)
		return 0;
	if (done)
		return -EAGAIN;
	if (signal_pending(current))
		return timeo ? sock_intr_errno(timeo) : -EAGAIN;
	if (inlined)
		*how |= SDP_BCOPY_PAST;
	else
		sdp_recv_leave_out(conn, holes, *how);
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
static ssize_t sdp_recv_take(struct sock *sk, struct sdp_conn *conn,
			     struct iov_iter *iter, size_t len)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct iov_iter ahead = *iter;
	unsigned long since = jiffies;
	size_t left = len, taken = 0;
	ssize_t n, err = 0;

	if (!sdp_zsink_read_begin(conn))
		return 0;
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		n = sdp_zsink_read_reap(conn);
		if (n)
			since = jiffies;
		taken += n;
		do {
			n = signal_pending(current) ? -EINTR :
			    sdp_zsink_read_more(conn, &ahead, left);
			if (n > 0) {
				left -= n;
				sdp_tx_run(conn);
			} else if (n < 0) {
				err = n;
				left = 0;
			}
		} while (n > 0 && left);
		if (!sdp_zsink_read_is_out(conn))
			break;
		sdp_wait_cancelled(sk, conn, &wait, since);
		sdp_rx_poll(conn);
	}
	remove_wait_queue(&conn->wq, &wait);
	sdp_zsink_end(conn);
	iov_iter_advance(iter, taken);
	if (taken)
		conn->rx.stamp = sdp_conn_stamp(conn);
	return taken ?: err;
}

/*
 * Have the peer write to where it is wanted: returns when it may not any more,
 * with the bytes; or 0 if something else has come; or why there are none, -ETIME
 * if that will not be soon.  The iterator stands behind them.
 */
static ssize_t sdp_recv_ask(struct sock *sk, struct sdp_conn *conn,
			    struct iov_iter *iter, size_t len,
			    wait_queue_entry_t *wait, long *timeo)
{
	unsigned long until = jiffies +
			      msecs_to_jiffies(READ_ONCE(conn->sn->zcopy_wait));
	bool cancelled = false;
	size_t got = 0;
	int err = 0;

	if (sdp_zsink_avail_make(conn, iter, len))
		err = -ETIME;	/* what cannot be registered is copied */
	sdp_tx_run(conn);
	for (;;) {
		sdp_rx_poll(conn);
		got += sdp_zsink_avail_reap(conn);
		if (!sdp_zsink_avail_is_out(conn))
			break;
		if (cancelled) {
			unsigned long before = jiffies;

			/* Who has time leaves it to the peer. */
			if (err == -ETIME && *timeo && !sk->sk_err &&
			    !signal_pending(current) && !sdp_sk_conn_is_eof(sk, conn))
				until = before;
			sdp_wait_cancelled(sk, conn, wait, until);
			if (*timeo != MAX_SCHEDULE_TIMEOUT)
				*timeo -= min_t(long, *timeo, jiffies - before);
			continue;
		}
		cancelled = sk->sk_err || sdp_sk_conn_is_eof(sk, conn);
		if (!cancelled)
			err = sdp_wait_until(sk, conn, wait, until,
					     timeo);
		if (err)
			cancelled = true;
		if (cancelled) {
			sdp_zsink_avail_cancel(conn);
			sdp_tx_run(conn);
			until = jiffies;
		}
	}
	sdp_zsink_end(conn);
	iov_iter_advance(iter, got);
	if (got)
		conn->rx.stamp = sdp_conn_stamp(conn);
	return got ?: err;
}

/* One recv() under way. */
struct sdp_recv {
	struct sock *sk;
	struct sdp_sk *ssk;
	struct sdp_conn *conn;
	struct msghdr *msg;
	size_t len;			/* bytes wanted, */
	size_t target;			/* to be waited for, */
	size_t done;			/* and had */
	u32 ahead;			/* peeking begins behind so many (SO_PEEK_OFF) */
	u32 holes;			/* urgent bytes that were peeked past */
	unsigned int how;		/* of sdp_bcopy_recv() */
	bool take;			/* what is offered may be read in place */
	bool ask;			/* and the peer be asked to write there */
	bool waiting;			/* on the queue, by: */
	wait_queue_entry_t wait;
	long timeo;
	long nap;			/* between looks whether there is memory */
};

/* What has come.  1: that is all that is wanted; 0: look for more; or an error. */
static int sdp_recv_queued(struct sdp_recv *r)
{
	struct sdp_conn *conn = r->conn;
	ssize_t n;
	int err;

	r->how &= ~SDP_BCOPY_PAST;
	if (sdp_urg_any(conn) && r->len) {
		err = sdp_recv_at_mark(r->sk, conn, r->done, r->ahead, r->timeo,
				       &r->holes, &r->how);
		if (err)
			return err;
	}
	n = sdp_bcopy_recv(conn, &r->msg->msg_iter, r->len - r->done,
			   r->ahead + r->done + r->holes, r->how);
	if (n < 0)
		return n;
	r->done += n;
	return r->done >= r->len && (r->len || READ_ONCE(conn->rx.inq));
}

/* What is offered.  True: look again. */
static bool sdp_recv_offered(struct sdp_recv *r)
{
	ssize_t n = sdp_recv_take(r->sk, r->conn, &r->msg->msg_iter,
				  r->len - r->done);

	if (n > 0)
		r->done += n;
	if (n >= 0)
		return n;
	/* It is read to a buffer of ours then; copying will say why, if that cannot be either. */
	sdp_zsink_wanted(r->conn, false);
	r->take = false;
	r->ask = false;
	return true;
}

/* So long between two looks whether a full ring has room, and twice as long each
 * time up to the latter.
 */
enum { SDP_RECV_NAP = HZ / 50 + 1, SDP_RECV_NAP_MAX = HZ };

/*
 * Who peeks frees nothing, so nothing comes while the ring is full, and no event
 * tells that there is memory for more: he looks himself, as a TCP that probes a
 * closed window.
 */
static int sdp_recv_wait_memory(struct sdp_recv *r)
{
	int err;

	r->nap = clamp_t(long, r->nap * 2, SDP_RECV_NAP, SDP_RECV_NAP_MAX);
	err = sdp_wait_until(r->sk, r->conn, &r->wait, jiffies + r->nap,
			     &r->timeo);
	sdp_refill_retry(r->conn);
	return err == -ETIME ? 0 : err;
}

/* There is nothing.  0: look again; 1: there will be nothing; or an error. */
static int sdp_recv_wait(struct sdp_recv *r, u32 seen)
{
	ssize_t n;
	int err;

	err = sdp_recv_nothing(r->sk, r->ssk, r->conn, seen, r->done);
	if (err != -EINPROGRESS)
		return err == -EAGAIN ? 0 : err ?: 1;
	if (!r->waiting) {
		/* Look once more when on the queue. */
		add_wait_queue(&r->conn->wq, &r->wait);
		r->waiting = true;
		return 0;
	}
	if (unlikely(r->how & SDP_BCOPY_PEEK) && sdp_refill_is_full(r->conn))
		return sdp_recv_wait_memory(r);
	r->nap = 0;
	if (likely(!r->ask))
		return sdp_wait_event(r->sk, r->conn, &r->wait, &r->timeo);
	r->ask = false;		/* one occasion, however often he wakes */
	if (!sdp_zsink_avail_begin(r->conn))
		return sdp_wait_event(r->sk, r->conn, &r->wait, &r->timeo);
	n = sdp_recv_ask(r->sk, r->conn, &r->msg->msg_iter, r->len - r->done,
			 &r->wait, &r->timeo);
	/* What made the buffer void is read, however late it was. */
	if (n < 0)
		return n == -ETIME || READ_ONCE(r->conn->rx.inq) > seen ? 0 : n;
	r->done += n;
	r->ask = n > 0;
	return 0;
}

/* Who peeks waits for all of it to be here; others take what comes. */
static void sdp_recv_wants(const struct sdp_recv *r)
{
	u32 wanted = READ_ONCE(r->sk->sk_rcvlowat);

	if (r->how & SDP_BCOPY_PEEK)
		wanted = max_t(u32, wanted, r->ahead + r->target);
	sdp_refill_set_wants(r->conn, wanted);
}

/* How much is left to be read: TCP_INQ's message, and io_uring's hint.  At the
 * end of the stream one, as TCP says: there is something to be read, the end.
 */
static void sdp_recv_tell_inq(struct sock *sk, struct sdp_conn *conn,
			      struct msghdr *msg)
{
	bool asked = tcp_sk(sk)->recvmsg_inq;
	int inq;

	if (likely(!asked && !sdp_msg_wants_inq(msg)))
		return;
	inq = sdp_urg_inq(conn, sock_flag(sk, SOCK_URGINLINE));
	if (!inq && test_bit(SDP_CONN_EOF, &conn->flags))
		inq = 1;
	sdp_msg_set_inq(msg, inq);
	if (asked)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/*
 * When the last byte came: SO_TIMESTAMP, SO_TIMESTAMPNS and SO_TIMESTAMPING in all
 * their layouts, which the kernel makes of a packet.  A byte that came before we knew
 * that anybody asks came now, as with datagrams.
 */
static void sdp_recv_tell_time(struct sock *sk, struct sdp_conn *conn,
			       struct msghdr *msg)
{
	struct sk_buff *skb;

	if (likely(!READ_ONCE(conn->stamps)))
		return;
	skb = alloc_skb(0, sk->sk_allocation);
	if (!skb)
		return;
	skb->tstamp = conn->rx.stamp ?: ktime_get_real();
	__sock_recv_timestamp(msg, sk, skb);
	kfree_skb(skb);
}

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
		 struct msghdr *msg, size_t len, int flags, long timeo)
{
	struct sdp_recv r = {
		.sk = sk, .ssk = ssk, .conn = conn, .msg = msg, .len = len,
		.target = sock_rcvlowat(sk, flags & MSG_WAITALL, len),
		.timeo = timeo,
		.wait = {
			.private = current,
			.func = woken_wake_function,
			.entry = LIST_HEAD_INIT(r.wait.entry),
		},
	};
	u32 seen;
	int err;

	if (flags & MSG_PEEK) {
		r.how |= SDP_BCOPY_PEEK;
		r.ahead = max(sk_peek_offset(sk, flags), 0);
	}
	if (flags & MSG_TRUNC)
		r.how |= SDP_BCOPY_DISCARD;
	sdp_sk_conn_sync_buffers(sk, conn);
	sdp_sk_conn_sync_stamps(sk, conn);
	sdp_recv_wants(&r);
	r.take = sdp_zsink_wants(conn, &msg->msg_iter,
				 r.timeo && !r.how ? len : 0);
	r.ask = r.take;
	do {
		err = sdp_recv_queued(&r);
		if (err)
			break;
		/* Look whether more has come; then whether it ever will. */
		seen = r.how & SDP_BCOPY_PEEK ? r.ahead + r.done + r.holes : 0;
		/* Another's call may have wanted less meanwhile. */
		sdp_recv_wants(&r);
		if (READ_ONCE(conn->rx.inq) <= seen)
			sdp_rx_poll(conn);
		if (READ_ONCE(conn->rx.inq) > seen ||
		    (unlikely(r.take) && sdp_recv_offered(&r)))
			continue;
		err = r.done >= r.target ? 1 : sdp_recv_wait(&r, seen);
	} while (!err);
	if (r.take)
		sdp_zsink_wanted(conn, true);
	if (r.waiting)
		remove_wait_queue(&conn->wq, &r.wait);
	/* Less may be here now than the next event waits for. */
	if (unlikely(sdp_ring_wants(&conn->ring) > 1) && r.done &&
	    sdp_ring_is_low(&conn->ring))
		sdp_rx_poll(conn);
	if (flags & MSG_PEEK)
		sk_peek_offset_fwd(sk, r.done);
	else
		sk_peek_offset_bwd(sk, r.done);
	if (r.done)
		sdp_recv_tell_time(sk, conn, msg);
	if (r.done || err > 0)
		sdp_recv_tell_inq(sk, conn, msg);
	return r.done ?: min(err, 0);
}

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
		    size_t len, int flags)
{
	int err;
	u8 byte;

	if (sock_flag(sk, SOCK_URGINLINE))
		return -EINVAL;
	sdp_rx_flush(conn);
	err = sdp_urg_take(conn, flags & MSG_PEEK, &byte);
	if (err == -EAGAIN && sdp_sk_conn_is_eof(sk, conn))
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
