// SPDX-License-Identifier: GPL-2.0
/*
 * Sending on a connected socket.
 *
 * A call copies its bytes into messages (sdp_bcopy.c).  A long call that may
 * wait advertises its memory to the peer instead, and returns when the memory
 * is the caller's again (sdp_zsrc.c).  A call whose memory may be read after it
 * returns leaves the memory advertised (sdp_zsrc_async.c).  What one way cannot
 * do the next does, from the byte on where it stopped; copying can always be
 * done.
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
	struct ubuf_info *uarg;		/* told when the memory is free; or NULL */
	bool async;			/* long pieces stay advertised after the call */
	bool copied;			/* some bytes were copied */
	/* Counter of why bytes are copied after all; 0: none. */
	enum sdp_counter why;
	/* Whether the cost of the call, without sleep, is measured. */
	bool metered;
	u64 began, slept;		/* ns: when the call began, and its time asleep */
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

	/* For a poller after EAGAIN.  Set before the look, or a wake-up is
	 * missed.
	 */
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
 * Cancel the adverts, and wait until there are none.  Memory that a device may
 * access is not the caller's, even after a signal, a time-out or an error.
 * Returns the bytes that the peer has.
 */
static size_t sdp_send_zcopy_cancel(struct sock *sk, struct sdp_conn *conn,
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
		/* Not since the last byte: a peer that reports one byte after
		 * the other could keep the caller waiting for all of them.
		 */
		sdp_wait_cancelled(sk, conn, wait, since);
		sdp_send_wakes(call);
	}
}

/* Sleep while memory is advertised.  0: look again; an error: why to cancel. */
static int sdp_send_zcopy_sleep(struct sock *sk, struct sdp_conn *conn,
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
 * Send by advertising the memory.  Returns the bytes that the peer has, once
 * nothing is advertised any more, and advances the iterator by them.  The rest
 * is to be copied, unless the peer has just advertised a buffer for it: then
 * @again is set.
 */
static size_t sdp_send_zcopy(struct sock *sk, struct sdp_conn *conn,
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
				 sdp_zsrc_has_sink(conn);
			break;
		}
		err = -EPIPE;
		if (!sdp_sk_conn_cannot_send(sk, conn))
			err = sdp_send_zcopy_sleep(sk, conn, call, &wait, timeo);
		if (err) {
			if (err == -ETIME)
				call->why = SDP_CNT_COPIED_LATE;
			sent += sdp_send_zcopy_cancel(sk, conn, call, &wait);
			break;
		}
	}
	remove_wait_queue(&conn->wq, &wait);
	sdp_zsrc_end(conn);
	iov_iter_advance(iter, sent);
	return sent;
}

/* Pieces after which the queue is pushed while a long send is being copied. */
enum { SDP_SEND_PUSH_EVERY = 4 };

/*
 * Send the next piece: advertise it beyond the call, or copy it.  Bytes, or an
 * error.
 */
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
		/* What cannot be advertised is copied; if it is too short, this
		 * piece alone.
		 */
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
	bool zcopy = timeo && !(flags & MSG_OOB) && !stays &&
		    sdp_zsrc_pays(conn, &msg->msg_iter);
	size_t done = 0, zcopied = 0;
	int queued = 0;
	ssize_t n = 0;
	int err = 0;

	if (zcopy && READ_ONCE(conn->sn->zcopy_adapt)) {
		call->metered = true;
		call->began = ktime_get_ns();
		zcopy = sdp_zsrc_prefers(conn, len, call->began);
		if (!zcopy)
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
		if (zcopy) {
			zcopy = false;
			zcopied += sdp_send_zcopy(sk, conn, call, &msg->msg_iter,
						  &timeo, &zcopy);
			done = zcopied;	/* nothing was copied before */
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
		/* No room: nothing can be added to what is queued, so it goes. */
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
		sdp_zsrc_spent(conn, len, zcopied, ktime_get_ns() -
				call->began - call->slept);
	if (done)
		return done;
	if (err == -EPIPE)
		sdp_sk_conn_failed(conn, ssk);	/* its error is reported first */
	/* No event tells that there is memory: a caller that waits for an event
	 * is to try again, as with TCP.
	 */
	if (unlikely(n == -ENOMEM && err == -EAGAIN)) {
		set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
		sk->sk_write_space(sk);
	}
	return sk_stream_error(sk, flags, err);
}

/**
 * sdp_send() - send the bytes of a message
 * @sk: locked; released while the caller sleeps
 * @ssk: its SDP state
 * @conn: its connection, entered
 * @msg: the message
 * @flags: of the call
 * @timeo: jiffies that the caller may still sleep
 *
 * Context: process; sleeps.
 * Return: bytes that the peer has or that are queued; or TCP's error.
 */
int sdp_send(struct sock *sk, struct sdp_sk *ssk, struct sdp_conn *conn,
	     struct msghdr *msg, int flags, long timeo)
{
	struct sdp_send_call call = {};

	return sdp_send_any(sk, ssk, conn, msg, flags, timeo, &call);
}

/**
 * sdp_send_notified() - sdp_send() with MSG_ZEROCOPY
 * @sk: locked; released while the caller sleeps
 * @ssk: its SDP state
 * @conn: its connection, entered
 * @msg: the message
 * @flags: of the call
 * @timeo: jiffies that the caller may still sleep
 *
 * The error queue tells the program when the memory is its own again, and
 * whether it was copied in the end.  io_uring tells it in its own way.
 *
 * Context: process; sleeps.
 * Return: as sdp_send(); -ENOBUFS if there is no memory for the notification.
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
		;	/* io_uring owns it and keeps its reference */
	else if (n > 0)
		net_zcopy_put(call.uarg);
	else
		net_zcopy_put_abort(call.uarg, true);
	return n;
}
