// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving on a connected socket.
 *
 * A call takes what has arrived.  If that is not enough it waits, in up to
 * three ways at once.  What the peer advertises is read into the caller's
 * buffer by RDMA (sdp_zsink.c).  A caller with a large buffer and nothing to
 * read advertises the buffer, and the peer writes there (sdp_zsink.c).
 * Anything else that comes is copied (sdp_bcopy.c).
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

/*
 * Find out why no more than @seen bytes can be read.  Returns 0 at the end of
 * the stream, or if the next call has to report the error since this one has
 * @done something; -EINPROGRESS if more may come; -EAGAIN if more has come by
 * now; otherwise the error.
 */
static int sdp_recv_nothing(struct sock *sk, struct sdp_sk *ssk,
			    struct sdp_conn *conn, u32 seen, size_t done)
{
	bool failed = sdp_sk_conn_failed(conn, ssk);

	if (!failed && !sk->sk_err && !sdp_sk_conn_is_eof(sk, conn))
		return -EINPROGRESS;
	/* This call or a later one reports the error, and no byte follows it. */
	if (failed && !done)
		sdp_rx_end(conn);
	/* The end may have come after the last look, and bytes before it. */
	smp_rmb();
	if (sdp_rx_inq(conn) > seen)
		return -EAGAIN;
	/* After the end of the stream only senders get the error. */
	if (done || sdp_conn_is_eof(conn))
		return 0;
	/* After connect(AF_UNSPEC) this is not the end of the stream, and the
	 * error stays in sk_err.
	 */
	return ssk->conn == conn ? sock_error(sk) : -EPIPE;
}

/*
 * Remove an urgent byte that is out of line from the stream, or skip it when
 * peeking.
 */
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
 * Check whether the reader stands at the urgent byte, or at urgent bytes that
 * were replaced before they were read past.  Out of line these are removed from
 * the stream, or skipped when peeking.  Returns 0 to go on, or the error that
 * ends the call; it is not reported if something is @done.
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
 * Read what the peer advertises into the caller's buffer by RDMA.  Returns the
 * bytes, 0, or the error if there are none, once no RDMA Read is under way.
 * Advances the iterator by the bytes.
 *
 * An RDMA Read that was begun is waited for in any case: memory that a device
 * may write is not the caller's.  It takes a round trip, or until the device
 * gives up, or we do.
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
		sdp_rx_stamp_now(conn);
	return taken ?: err;
}

/*
 * Advertise the caller's buffer (SinkAvail) and let the peer write into it.
 * Returns once the peer can no longer write: the bytes; 0 if something else has
 * come; or the error if there are none, -ETIME if net.sdp.zcopy_wait is over or
 * the buffer cannot be registered.  Advances the iterator by the bytes.
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

			/* With time left the peer need not hurry: the limit of
			 * sdp_wait_cancelled() begins again.
			 */
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
		sdp_rx_stamp_now(conn);
	return got ?: err;
}

/* One recv() under way. */
struct sdp_recv {
	struct sock *sk;
	struct sdp_sk *ssk;
	struct sdp_conn *conn;
	struct msghdr *msg;
	size_t len;			/* bytes wanted */
	size_t target;			/* bytes to wait for */
	size_t done;			/* bytes received */
	u32 ahead;			/* bytes that peeking skips (SO_PEEK_OFF) */
	u32 holes;			/* urgent bytes that were peeked past */
	unsigned int how;		/* flags of sdp_bcopy_recv() */
	bool take;			/* what the peer advertises may be read into the buffer */
	bool ask;			/* the buffer may be advertised to the peer */
	bool waiting;			/* wait is on conn->wq */
	wait_queue_entry_t wait;
	long timeo;
	long nap;			/* jiffies between looks for memory */
};

/*
 * Receive what has come.  1: that is all that is wanted; 0: look for more; or
 * an error.
 */
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
	return r->done >= r->len && (r->len || sdp_rx_inq(conn));
}

/* Read what is advertised.  True: look again. */
static bool sdp_recv_offered(struct sdp_recv *r)
{
	ssize_t n = sdp_recv_take(r->sk, r->conn, &r->msg->msg_iter,
				  r->len - r->done);

	if (n > 0)
		r->done += n;
	if (n >= 0)
		return n;
	/* It is read to a bounce buffer then.  If copying fails too it returns
	 * the error.
	 */
	sdp_zsink_wanted(r->conn, false);
	r->take = false;
	r->ask = false;
	return true;
}

/*
 * Jiffies between two looks for room in a full ring: the first interval and the
 * longest.  Each is twice the one before.
 */
enum { SDP_RECV_NAP = HZ / 50 + 1, SDP_RECV_NAP_MAX = HZ };

/*
 * A caller that peeks frees no buffer, so nothing comes while the ring is full.
 * No event tells when there is memory for more buffers.  So the caller looks
 * from time to time, as TCP probes a closed window.
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

/* Wait for more.  0: look again; 1: there will be nothing; or an error. */
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
	r->ask = false;		/* once, however often the caller wakes */
	if (!sdp_zsink_avail_begin(r->conn))
		return sdp_wait_event(r->sk, r->conn, &r->wait, &r->timeo);
	n = sdp_recv_ask(r->sk, r->conn, &r->msg->msg_iter, r->len - r->done,
			 &r->wait, &r->timeo);
	/* Payload that made the SinkAvail void is read, however late it was. */
	if (n < 0)
		return n == -ETIME || sdp_rx_inq(r->conn) > seen ? 0 : n;
	r->done += n;
	r->ask = n > 0;
	return 0;
}

/*
 * Tell the ring what the call waits for.  A caller that peeks waits until all
 * of it is here; others take what comes.
 */
static void sdp_recv_wants(const struct sdp_recv *r)
{
	u32 wanted = READ_ONCE(r->sk->sk_rcvlowat);

	if (r->how & SDP_BCOPY_PEEK)
		wanted = max_t(u32, wanted, r->ahead + r->target);
	sdp_refill_set_wants(r->conn, wanted);
}

/*
 * Report how much is left to be read, by TCP_INQ's message and io_uring's hint.
 * At the end of the stream this is 1, as with TCP: the end is there to be read.
 */
static void sdp_recv_tell_inq(struct sock *sk, struct sdp_conn *conn,
			      struct msghdr *msg)
{
	bool asked = tcp_sk(sk)->recvmsg_inq;
	int inq;

	if (likely(!asked && !sdp_msg_wants_inq(msg)))
		return;
	inq = sdp_urg_inq(conn, sock_flag(sk, SOCK_URGINLINE));
	if (!inq && sdp_conn_is_eof(conn))
		inq = 1;
	sdp_msg_set_inq(msg, inq);
	if (asked)
		put_cmsg(msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/*
 * Report when the last byte came, for SO_TIMESTAMP, SO_TIMESTAMPNS and
 * SO_TIMESTAMPING.  The kernel makes all their layouts from a packet.  A byte
 * that came before stamps were asked for gets the current time, as with
 * datagrams.
 */
static void sdp_recv_tell_time(struct sock *sk, struct sdp_conn *conn,
			       struct msghdr *msg)
{
	struct sk_buff *skb;

	if (likely(!sdp_conn_stamps(conn)))
		return;
	skb = alloc_skb(0, sk->sk_allocation);
	if (!skb)
		return;
	skb->tstamp = sdp_rx_stamp(conn) ?: ktime_get_real();
	__sock_recv_timestamp(msg, sk, skb);
	kfree_skb(skb);
}

/**
 * sdp_recv() - receive from the stream
 * @sk: locked; released while the caller sleeps
 * @ssk: its SDP state
 * @conn: its connection, entered
 * @msg: where to put the bytes
 * @len: bytes wanted
 * @flags: of the call, without MSG_OOB
 * @timeo: jiffies that the caller may still sleep
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
		/* Another caller may have wanted less meanwhile. */
		sdp_recv_wants(&r);
		if (sdp_rx_inq(conn) <= seen)
			sdp_rx_poll(conn);
		if (sdp_rx_inq(conn) > seen ||
		    (unlikely(r.take) && sdp_recv_offered(&r)))
			continue;
		err = r.done >= r.target ? 1 : sdp_recv_wait(&r, seen);
	} while (!err);
	if (r.take)
		sdp_zsink_wanted(conn, true);
	if (r.waiting)
		remove_wait_queue(&conn->wq, &r.wait);
	/* Fewer bytes may be left now than SO_RCVLOWAT asks for: let a low ring
	 * grow.
	 */
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
 * sdp_recv_urgent() - receive the urgent byte (MSG_OOB)
 * @sk: locked
 * @conn: its connection, entered
 * @msg: where to put the byte
 * @len: bytes wanted
 * @flags: of the call
 *
 * As TCP, the call does not wait for an urgent byte that has not arrived.  It
 * does wait for another poller to handle what has arrived.
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
