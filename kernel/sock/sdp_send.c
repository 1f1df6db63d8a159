// SPDX-License-Identifier: GPL-2.0
/*
 * Sending on a connected socket.
 *
 * A call copies its bytes into messages (sdp_bcopy.c).  A long call that may
 * wait advertises its memory to the peer instead, and returns when the memory
 * is the caller's again (sdp_zsrc.c).  A call whose memory may be read after it
 * returns leaves the memory advertised (sdp_zsrc_async.c).  What one way cannot
 * do the next does, from the byte on where it stopped; copying can always be
 * done.  Here a way is chosen, and the call waits for room (sdp_wait.c).
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

/* How the next piece of a call goes. */
enum sdp_send_way {
	SDP_SEND_COPY,			/* by copy */
	SDP_SEND_ZCOPY,			/* advertised by a call that waits, if that pays */
	SDP_SEND_ASYNC,			/* advertised beyond the call, if that pays */
};

/* One send() under way. */
struct sdp_send_call {
	struct sdp_zsrc_async_call async;
	size_t zcopied;			/* bytes sent so, before any other: SDP_SEND_ZCOPY */
	/* ns: when the call began, and as much later as it slept; 0: what it costs
	 * is not measured.
	 */
	u64 began;
	/* Counter of why bytes are copied after all; 0: none. */
	enum sdp_counter why;
	u8 way;				/* enum sdp_send_way */
	bool copied;			/* some bytes were copied */
};

/*
 * Send by advertising the memory, as long as the peer wants it so.  False: that
 * does not pay.  What is left is copied.
 */
static bool sdp_send_zcopy(struct sock *sk, struct sdp_conn *conn,
			   struct msghdr *msg, long *timeo,
			   struct sdp_send_call *call)
{
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	struct sdp_wait_zcopy zcopy = {
		.call = {
			.ops	= &sdp_wait_zcopy_ops,
			.wait	= &wait,
			.frag	= sk_page_frag(sk),
			.iter	= &msg->msg_iter,
		},
		.sk	= sk,
		.conn	= conn,
		.timeo	= timeo,
	};

	call->way = SDP_SEND_COPY;
	if (!sdp_zsrc_pays(conn, &msg->msg_iter))
		return false;
	if (READ_ONCE(conn->sn->zcopy_adapt)) {
		call->began = ktime_get_ns();
		zcopy.call.began = call->began;
		zcopy.slept = &call->began;
	}
	do {
		call->zcopied += sdp_zsrc_send(conn, &zcopy.call);
	} while (zcopy.call.again && msg_data_left(msg) &&
		 !sdp_sk_conn_cannot_send(sk, conn));
	call->why = zcopy.call.why;
	return true;
}

/* Pieces after which the queue is pushed while a long send is being copied. */
enum { SDP_SEND_PUSH_EVERY = 4 };

/*
 * Send the next piece.  Returns its bytes; 0 if that was as much as could be
 * advertised (call->zcopied), and nothing was copied; or an error.
 */
static ssize_t sdp_send_some(struct sock *sk, struct sdp_conn *conn,
			     struct msghdr *msg, int flags, long *timeo,
			     struct sdp_send_call *call)
{
	ssize_t n;

	if (unlikely(call->way == SDP_SEND_ZCOPY)) {
		if (sdp_send_zcopy(sk, conn, msg, timeo, call))
			return 0;
	} else if (unlikely(call->way)) {
		n = sdp_zsrc_async_send(conn, sk_page_frag(sk), &msg->msg_iter,
					&call->async);
		if (n)
			return n;
		call->why = call->async.why;
		if (call->async.over)
			call->way = SDP_SEND_COPY;
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

/* The way that a call of @len bytes begins with. */
static enum sdp_send_way sdp_send_choose(struct sdp_conn *conn, size_t len, int flags,
					 long timeo, const struct sdp_send_call *call)
{
	if (unlikely(flags & MSG_OOB))
		return SDP_SEND_COPY;
	if (unlikely(call->async.uarg || flags & SDP_MSG_SPLICE_PAGES))
		return SDP_SEND_ASYNC;
	return timeo && len >= sdp_conn_zcopy(conn) ? SDP_SEND_ZCOPY : SDP_SEND_COPY;
}

static int sdp_send_any(struct sock *sk, struct sdp_sk *ssk,
			struct sdp_conn *conn, struct msghdr *msg, int flags,
			long timeo, struct sdp_send_call *call)
{
	u8 delay = sdp_sk_conn_delay(sk, flags);
	size_t len = msg_data_left(msg), done = 0;
	int queued = 0, err = 0;
	ssize_t n = 0;

	call->way = sdp_send_choose(conn, len, flags, timeo, call);
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
		n = sdp_send_some(sk, conn, msg, flags, &timeo, call);
		if (n > 0) {
			done += n;
			if (++queued % SDP_SEND_PUSH_EVERY == 0 ||
			    unlikely(call->way))
				sdp_tx_run(conn);
			continue;
		}
		if (!n) {
			done = call->zcopied;	/* nothing was copied before */
			continue;
		}
		/* No room: nothing can be added to what is queued, so it goes. */
		sdp_tx_set_delay(conn, delay | SDP_DELAY_PUSH);
		sdp_tx_run(conn);
		if (n == -EAGAIN)
			err = sdp_wait_space(sk, conn, &timeo,
					     call->began ? &call->began : NULL);
		else if (n == -ENOMEM)
			err = sdp_wait_memory(sk, &timeo);
		else
			err = n;
		if (err)
			break;
		sdp_tx_set_delay(conn, delay);
	}
	sdp_tx_run(conn);
	if (unlikely(call->began) && done == len)
		sdp_zsrc_spent(conn, len, call->zcopied, ktime_get_ns() - call->began);
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
	struct sdp_send_call call = { .async.uarg = sdp_msg_ubuf(msg) };
	struct sk_buff *note;
	int n = -ENOBUFS;

	if (!call.async.uarg)
		call.async.uarg = sdp_zerocopy_realloc(sk, msg_data_left(msg));
	if (!call.async.uarg)
		return -ENOBUFS;
	note = sdp_zsrc_async_note(call.async.uarg);
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
		net_zcopy_put(call.async.uarg);
	else
		net_zcopy_put_abort(call.async.uarg, true);
	return n;
}
