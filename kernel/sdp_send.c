// SPDX-License-Identifier: GPL-2.0
/*
 * Sending on a connected socket.
 *
 * A call copies what it is given into messages (sdp_bcopy.c); or, when it is long
 * and may wait, lends its memory to the peer and returns when it is its own again
 * (sdp_zsrc.c); or, when its caller has said that the memory may be read after the
 * call, leaves it advertised (sdp_zsrc_async.c).  What one way cannot do the next does, from
 * the byte on where it stopped: copying can always be done.
 */
#include "sdp_bcopy.h"
#include "sdp_check.h"
#include "sdp_rx.h"
#include "sdp_send.h"
#include "sdp_sk_conn.h"
#include "sdp_tx.h"
#include "sdp_umr.h"
#include "sdp_wait.h"
#include "sdp_zsrc.h"
#include "sdp_zsrc_async.h"

/* One send() under way. */
struct sdp_send_call {
	/* Of memory that may be read when the call has returned: */
	struct ubuf_info *uarg;		/* to be told when it is free; or NULL */
	bool async;			/* it stays advertised, and is long enough */
	bool copied;			/* some of it was */
	/* Of what may not: the counter of why it is copied after all; or 0. */
	enum sdp_counter why;
	/* What it costs, without sleep: */
	bool metered;
	u64 began, slept;		/* ns */
};

static void sdp_send_sleeps(struct sdp_send_call *call)
{
	if (unlikely(call->metered))
		call->slept -= ktime_get_ns();
}

static void sdp_send_wakes(struct sdp_send_call *call)
{
	if (unlikely(call->metered))
		call->slept += ktime_get_ns();
}

static int sdp_send_wait_space(struct sock *sk, struct sdp_conn *conn,
			       struct sdp_send_call *call, long *timeo)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	int err = 0;

	/* For who polls after EAGAIN; before we look, or it is missed. */
	if (!*timeo) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	}
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		/* Credits come with what the peer sends. */
		sdp_rx_poll(conn);
		if (sdp_sk_conn_cannot_send(sk, conn) || sdp_tx_want_space(conn))
			break;
		sdp_send_sleeps(call);
		err = sdp_wait_event(sk, conn, &wait, timeo);
		sdp_send_wakes(call);
		if (err)
			break;
	}
	remove_wait_queue(&conn->wq, &wait);
	return err;
}

/*
 * Wait until nothing is advertised any more: memory that a device may touch is not the
 * caller's, whatever he has heard or would like to do.  Bytes that the peer has.
 */
static size_t sdp_send_take_back(struct sock *sk, struct sdp_conn *conn,
				 struct sdp_send_call *call,
				 wait_queue_entry_t *wait)
{
	unsigned long since = jiffies;
	size_t sent = 0;

	sdp_zsrc_cancel(conn);
	sdp_tx_run(conn);
	for (;;) {
		sdp_rx_poll(conn);
		sent += sdp_zsrc_reap(conn);
		if (!sdp_zsrc_is_out(&conn->zsrc))
			return sent;
		sdp_send_sleeps(call);
		/* Not since the last byte: or a peer that tells of one after the
		 * other had him wait for all.
		 */
		sdp_wait_cancelled(sk, conn, wait, since);
		sdp_send_wakes(call);
	}
}

/* Sleep while memory is advertised.  0: look again; or why it is to be taken back. */
static int sdp_send_sleep_lent(struct sock *sk, struct sdp_conn *conn,
			       struct sdp_send_call *call, wait_queue_entry_t *wait,
			       long *timeo)
{
	unsigned long until = sdp_zsrc_due(conn);
	int err;

	sdp_send_sleeps(call);
	err = sdp_wait_until(sk, conn, wait, until, timeo);
	sdp_send_wakes(call);
	return err;
}

/*
 * Send by advertising the memory: returns when nothing of it is any more, with
 * the bytes that the peer has.  The iterator stands behind them.  What is left is
 * for copying, unless the peer has just told where it wants it: then @again.
 */
static size_t sdp_send_lend(struct sock *sk, struct sdp_conn *conn,
			    struct sdp_send_call *call, struct iov_iter *iter,
			    long *timeo, bool *again)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct iov_iter ahead = *iter;
	bool stop = false;
	size_t sent = 0;
	ssize_t n;
	int err;

	call->why = sdp_zsrc_begin(conn);
	if (call->why)
		return 0;
	add_wait_queue(&conn->wq, &wait);
	for (;;) {
		sdp_rx_poll(conn);
		sent += sdp_zsrc_reap(conn);
		if (!stop && sdp_zsrc_withdrawn(conn)) {
			call->why = SDP_CNT_COPIED_REFUSED;
			stop = true;
		}
		n = 1;
		while (!stop && n > 0 && iov_iter_count(&ahead)) {
			n = sdp_zsrc_more(conn, sk_page_frag(sk), &ahead);
			if (n < 0) {
				call->why = sdp_umr_why(n);
				stop = true;
			}
			sdp_tx_run(conn);
		}
		if (!sdp_zsrc_is_out(&conn->zsrc) && (stop || !iov_iter_count(&ahead))) {
			*again = sdp_zsrc_withdrawn(conn) &&
				 READ_ONCE(conn->mode.src.held.n);
			break;
		}
		err = -EPIPE;
		if (!sdp_sk_conn_cannot_send(sk, conn))
			err = sdp_send_sleep_lent(sk, conn, call, &wait, timeo);
		if (err) {
			if (err == -ETIME)
				call->why = SDP_CNT_COPIED_LATE;
			sent += sdp_send_take_back(sk, conn, call, &wait);
			break;
		}
	}
	remove_wait_queue(&conn->wq, &wait);
	sdp_zsrc_end(conn);
	iov_iter_advance(iter, sent);
	return sent;
}

/* How often the queue is pushed while a long send is being copied. */
enum { SDP_SEND_PUSH_EVERY = 4 };

/* Some of it on its way, advertised beyond the call or copied.  Bytes, or an error. */
static ssize_t sdp_send_some(struct sock *sk, struct sdp_conn *conn,
			     struct msghdr *msg, int flags,
			     struct sdp_send_call *call)
{
	ssize_t n;

	if (unlikely(call->async) && sdp_zsrc_async_pays(conn, &msg->msg_iter)) {
		n = sdp_zsrc_async_more(conn, sk_page_frag(sk), &msg->msg_iter,
					call->uarg);
		if (n > 0 || n == -EAGAIN)
			return n;
		/* What cannot be advertised is copied; a short piece, alone. */
		call->async = n == -EMSGSIZE;
		call->why = sdp_umr_why(n);
	}
	if (unlikely(call->why)) {
		sdp_umr_copied(conn, call->why, msg_data_left(msg));
		call->why = 0;
	}
	n = sdp_bcopy_send(conn, sk_page_frag(sk), &msg->msg_iter,
			   flags & MSG_OOB, sk->sk_allocation);
	call->copied |= n > 0;
	return n;
}

static int sdp_send_any(struct sock *sk, struct sdp_sk *ssk,
			struct sdp_conn *conn, struct msghdr *msg, int flags,
			long timeo, struct sdp_send_call *call)
{
	bool stays = (call->uarg || flags & SDP_MSG_SPLICE_PAGES) &&
		     !(flags & MSG_OOB);
	u8 delay = sdp_sk_conn_delay(sk, flags);
	size_t len = msg_data_left(msg);
	bool lend = timeo && !(flags & MSG_OOB) && !stays &&
		    sdp_zsrc_pays(conn, &msg->msg_iter);
	size_t done = 0, lent = 0;
	int queued = 0;
	ssize_t n = 0;
	int err = 0;

	if (lend && READ_ONCE(conn->sn->zcopy_adapt)) {
		call->metered = true;
		call->began = ktime_get_ns();
		lend = sdp_zsrc_prefers(conn, len, call->began);
		if (!lend)
			call->why = SDP_CNT_COPIED_COST;
	}
	call->async = unlikely(stays) && sdp_zsrc_async_begin(conn, len);
	sk_clear_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	sdp_sk_conn_sync_buffers(sk, conn);
	sdp_tx_set_delay(conn, delay);
	if (!len && sdp_sk_conn_cannot_send(sk, conn))
		err = -EPIPE;
	while (done < len) {
		if (sdp_sk_conn_cannot_send(sk, conn)) {
			err = -EPIPE;
			break;
		}
		if (lend) {
			lend = false;
			lent += sdp_send_lend(sk, conn, call, &msg->msg_iter,
					      &timeo, &lend);
			done = lent;	/* nothing is copied before */
			continue;
		}
		n = sdp_send_some(sk, conn, msg, flags, call);
		if (n > 0) {
			done += n;
			if (++queued % SDP_SEND_PUSH_EVERY == 0 ||
			    unlikely(call->async))
				sdp_tx_run(conn);
			continue;
		}
		/* No room: nothing comes behind what is there, so it goes. */
		sdp_tx_set_delay(conn, delay | SDP_DELAY_PUSH);
		sdp_tx_run(conn);
		if (n == -EAGAIN)
			err = sdp_send_wait_space(sk, conn, call, &timeo);
		else if (n == -ENOMEM)
			err = sdp_wait_memory(sk, &timeo);
		else
			err = n;
		if (err)
			break;
		sdp_tx_set_delay(conn, delay);
	}
	sdp_tx_run(conn);
	if (unlikely(call->metered) && done == len)
		sdp_zsrc_spent(conn, len, lent, ktime_get_ns() -
				call->began - call->slept);
	if (done)
		return done;
	if (err == -EPIPE)
		sdp_sk_conn_failed(conn, ssk);	/* its error goes first */
	/* No event tells that there is memory: who waits for one is to try again,
	 * as with TCP.
	 */
	if (unlikely(n == -ENOMEM && err == -EAGAIN)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		sk->sk_write_space(sk);
	}
	return sk_stream_error(sk, flags, err);
}

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
	     struct msghdr *msg, int flags, long timeo)
{
	struct sdp_send_call call = {};

	return sdp_send_any(sk, ssk, conn, msg, flags, timeo, &call);
}

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
		      long timeo)
{
	struct sdp_send_call call = { .uarg = sdp_msg_ubuf(msg) };
	struct sk_buff *note;
	int n = -ENOBUFS;

	if (!call.uarg)
		call.uarg = sdp_zerocopy_realloc(sk, msg_data_left(msg));
	if (!call.uarg)
		return -ENOBUFS;
	note = sdp_zsrc_async_note(call.uarg);
	if (note) {
		n = sdp_send_any(sk, ssk, conn, msg, flags, timeo, &call);
		if (n > 0)
			sdp_zsrc_async_tell_in_turn(conn, note, !call.copied);
		else
			sdp_zsrc_async_tell(note, true);
	}
	if (sdp_msg_ubuf(msg))
		;	/* it is its owner's, who keeps it */
	else if (n > 0)
		net_zcopy_put(call.uarg);
	else
		net_zcopy_put_abort(call.uarg, true);
	return n;
}
