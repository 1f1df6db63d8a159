// SPDX-License-Identifier: GPL-2.0
/*
 * Sending on a socket that may be joined, or is.
 *
 * Before it is joined TCP sends, and a call may sleep in TCP for long.  So the
 * direction switches to the pipe only when no call is in TCP: what such a call
 * has still to send would come behind what is in the pipe.
 *
 * How much a pipe takes.  TCP on lo takes some 2.5 MB that nobody reads, and
 * programs count on that: two that write before they read.  But a pipe as large
 * would leave the processor's caches.  So a blocking caller waits at 256 KiB if
 * there is a reader who reads, and goes on when nothing was read for 10 ms.
 *
 * A direction returns to TCP (sdp_join_leave()) for what only TCP can do: urgent
 * data, time stamps of what was sent, and an end that was closed, which TCP
 * answers with RST; when there is no memory; and while a packet socket watches
 * the device, so that tcpdump sees the bytes.
 *
 * MSG_ZEROCOPY is copied and the caller told so, as TCP does on lo.
 */
#include <linux/netdevice.h>
#include <linux/sched/signal.h>
#include <net/tcp.h>
#include "sdp_join.h"
#include "sdp_net.h"
#include "sdp_trace.h"
#include "sdp_zsrc_async.h"

enum {
	SDP_JOIN_SOFT	= 256 * 1024,	/* bytes at which a blocking caller waits */
	SDP_JOIN_SOFT_MS = 10,		/* ms, while nothing is read */
	SDP_JOIN_TELL	= 64 * 1024,	/* bytes after which a reader is woken */
};

/* One send() under way. */
struct sdp_join_call {
	struct sock *sk;
	struct sdp_sk *ssk;
	struct sdp_join *join;
	struct sdp_join_way *way;
	struct msghdr *msg;
	u8 side;		/* the caller's */
	long timeo;		/* jiffies that it may still sleep */
	u32 limit;		/* bytes that may be unread */
	size_t done;		/* bytes that are in the pipe */
	bool metered;		/* whether to lend is chosen by what sends cost */
	bool lends;		/* long pieces are lent */
	bool lent;		/* some were */
	u64 began, slept;	/* ns: when the call began, and its time asleep */
	size_t told;		/* those of which the reader knows */
	struct ubuf_info *uarg;	/* who is notified that the memory is free; or NULL */
	struct sk_buff *note;	/* the notification */
	enum sdp_counter leaves; /* why the direction is to return to TCP; 0: it is not */
};

static u32 sdp_join_mark(u32 limit)
{
	return limit / 3 * 2;
}

static bool sdp_join_cannot_send(const struct sock *sk)
{
	return READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN;
}

/* @all: also a reader who waits for more than there is */
static void sdp_join_tell(struct sdp_join_call *call, bool all)
{
	struct sdp_join_way *way = call->way;

	sdp_join_put_noted(way, call->done - call->told);
	call->told = call->done;
	if (sdp_pipe_is_enough(&way->pipe) || all)
		sdp_join_wake_reader(call->join, !call->side);
	sdp_join_show_sender(call->sk, call->join, call->side);
}

/* Whether there is space again; if not, the caller is woken when there is. */
static bool sdp_join_has_space(struct sdp_join_call *call, u32 limit)
{
	return !sdp_join_is_lent(call->way) &&
	       sdp_pipe_want_space(&call->way->pipe, sdp_join_mark(limit));
}

/* Sleep until there is space, with the pipe free for others.  0, or the error. */
static int sdp_join_sleep(struct sdp_join_call *call, long *timeo)
{
	struct sock *sk = call->sk;
	DEFINE_WAIT(wait);

	mutex_unlock(&call->way->send);
	if (unlikely(call->metered))
		call->slept -= ktime_get_ns();
	prepare_to_wait(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
	if (!sdp_join_has_space(call, call->limit) &&
	    !sdp_join_cannot_send(sk) &&
	    !sdp_join_is_closed(call->join, call->side) &&
	    !signal_pending(current))
		*timeo = schedule_timeout(*timeo);
	finish_wait(sk_sleep(sk), &wait);
	if (unlikely(call->metered))
		call->slept += ktime_get_ns();
	mutex_lock(&call->way->send);
	return signal_pending(current) ? sock_intr_errno(call->timeo) : 0;
}

/* The pipe is full.  0: look again, or the error. */
static int sdp_join_wait_space(struct sdp_join_call *call)
{
	struct sdp_pipe *pipe = &call->way->pipe;
	u32 hard = sdp_join_limit(call->sk, call->way);
	u32 read = READ_ONCE(pipe->read);
	long soft = msecs_to_jiffies(SDP_JOIN_SOFT_MS), left;
	int err;

	sdp_join_tell(call, true);
	if (!call->timeo) {
		set_bit(SOCK_NOSPACE, &call->sk->sk_socket->flags);
		sk_set_bit(SOCKWQ_ASYNC_NOSPACE, call->sk);
		return sdp_join_has_space(call, hard) ? 0 : -EAGAIN;
	}
	if (call->limit < hard && soft < call->timeo) {
		left = soft;
		err = sdp_join_sleep(call, &left);
		if (!left && READ_ONCE(pipe->read) == read)
			call->limit = hard;
		if (call->timeo != MAX_SCHEDULE_TIMEOUT)
			call->timeo -= soft - left;
		return err;
	}
	call->limit = hard;
	err = sdp_join_sleep(call, &call->timeo);
	return err ?: call->timeo ? 0 : -EAGAIN;
}

/* Copy what fits.  Bytes; 0: it is full; or an error. */
static ssize_t sdp_join_copy(struct sdp_join_call *call)
{
	struct iov_iter *iter = &call->msg->msg_iter;
	struct sdp_pipe *pipe = &call->way->pipe;
	struct sdp_pipe_buf *buf;
	size_t n;

	n = min_t(size_t, iov_iter_count(iter), sdp_pipe_room(pipe, call->limit));
	if (!n || unlikely(call->way->lent))
		return 0;
	buf = sdp_pipe_tail(pipe);
	if (!buf) {
		buf = sdp_join_buf(call->sk, call->way,
				   iov_iter_count(iter));
		if (!buf)
			return -ENOMEM;
		sdp_pipe_append(pipe, buf, 0);
	}
	n = min_t(size_t, n, buf->size - buf->len);
	/* The memory is whole pages of ours. */
	n = _copy_from_iter(buf->mem + buf->len, n, iter);
	if (!n)
		return -EFAULT;
	sdp_pipe_put(pipe, n);
	call->done += n;
	return n;
}

/*
 * The other end was closed.  What it has not read goes by TCP again: TCP answers
 * with RST, and the next call gets the error.
 */
static void sdp_join_take_back(struct sdp_join_call *call)
{
	size_t n = min_t(size_t, call->done, sdp_pipe_fill(&call->way->pipe));

	iov_iter_revert(&call->msg->msg_iter, n);
	call->done -= n;
}

/* Whether to lend now: to a reader that sleeps, or because nothing more fits. */
static bool sdp_join_lends_now(const struct sdp_join_call *call)
{
	const struct sdp_join_way *way = call->way;

	return !way->lent && (!sdp_pipe_room(&way->pipe, call->limit) ||
			      (READ_ONCE(way->asleep) && !sdp_pipe_fill(&way->pipe)));
}

/* Lend what is next.  As sdp_join_copy(). */
static ssize_t sdp_join_lend_next(struct sdp_join_call *call)
{
	u32 room = sdp_pipe_room(&call->way->pipe, sdp_join_limit(call->sk, call->way));
	struct iov_iter *iter = &call->msg->msg_iter;
	size_t before = iov_iter_count(iter);
	ssize_t n;

	if (call->done != call->told)
		sdp_join_tell(call, true);
	n = sdp_join_lend(call->sk, call->join, call->side, iter, room,
			  &call->timeo, &call->slept);
	call->lent |= n != 0;
	/* The reader does not read, or this cannot be lent: copy. */
	call->lends = n > 0;
	if (n == -EAGAIN)
		call->limit = sdp_join_limit(call->sk, call->way);
	n = before - iov_iter_count(iter);
	call->done += n;
	call->told = call->done;
	return n ?: sdp_join_copy(call);
}

/* Send into the pipe.  0; -ENOIOCTLCMD: TCP sends the rest; or an error. */
static int sdp_join_fill(struct sdp_join_call *call)
{
	struct iov_iter *iter = &call->msg->msg_iter;
	ssize_t n;
	int err;

	do {
		if (sdp_join_cannot_send(call->sk))
			return -EPIPE;
		if (sdp_join_is_closed(call->join, call->side)) {
			call->leaves = SDP_CNT_JOIN_LEAVES_CLOSED;
			return -ENOIOCTLCMD;
		}
		if (unlikely(call->way->pipe.left))
			return -ENOIOCTLCMD;	/* another caller has it leave */
		n = unlikely(call->lends) && sdp_join_lends_now(call) ?
		    sdp_join_lend_next(call) : sdp_join_copy(call);
		if (n == -ENOMEM) {
			call->leaves = SDP_CNT_JOIN_LEAVES_MEMORY;
			return -ENOIOCTLCMD;
		}
		if (n < 0)
			return n;
		if (!n) {
			err = sdp_join_wait_space(call);
			if (err)
				return err;
		} else if (call->done - call->told >= SDP_JOIN_TELL) {
			sdp_join_tell(call, false);
		}
	} while (iov_iter_count(iter));
	return 0;
}

/* sdp_join_fill(), which lends what is long enough if that is the cheaper way. */
static int sdp_join_fill_metered(struct sdp_join_call *call)
{
	size_t len = iov_iter_count(&call->msg->msg_iter);
	int err;

	if (likely(len < SDP_JOIN_LOAN_LEAST || !call->timeo || call->uarg) ||
	    !sdp_join_may_lend(call->sk, call->ssk, call->msg))
		return sdp_join_fill(call);
	call->metered = true;
	call->began = ktime_get_ns();
	call->lends = sdp_join_prefers_loan(call->sk, call->way, len, call->began);
	err = sdp_join_fill(call);
	if (call->done)
		sdp_zpolicy_end(&call->way->zpolicy, call->done,
				call->lent ? SDP_WAY_ZCOPY : SDP_WAY_COPY,
				ktime_get_ns() - call->began - call->slept);
	return err;
}

/* As long as nothing fits into the pipe nothing goes by TCP either. */
static int sdp_join_wait_leave(struct sdp_join_call *call)
{
	int err = 0;

	while (!err && !call->way->pipe.left && !sdp_join_cannot_send(call->sk) &&
	       !sdp_join_is_closed(call->join, call->side) &&
	       (sdp_join_is_lent(call->way) ||
		!sdp_pipe_room(&call->way->pipe, call->limit)))
		err = sdp_join_wait_space(call);
	return err ?: -ENOIOCTLCMD;
}

/*
 * An urgent byte is about to go by TCP.  If another follows and nothing before it
 * is unread, TCP holds that the receiver stands at the first, and skips it.  So
 * the byte before it goes by TCP too, if the receiver has not read it yet.
 */
static void sdp_join_precede(struct sdp_join_call *call)
{
	struct sdp_join_way *way = call->way;
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT | MSG_NOSIGNAL };
	struct kvec vec = { .iov_len = 1 };
	u8 byte;

	/* Not for a receiver who is reading. */
	if (way->pipe.left || !mutex_trylock(&way->recv))
		return;
	if (sdp_pipe_unput(&way->pipe, &byte)) {
		vec.iov_base = &byte;
		iov_iter_kvec(&msg.msg_iter, WRITE, &vec, 1, 1);
		if (call->sk->sk_prot->sendmsg(call->sk, &msg, 1) == 1)
			sdp_join_leave(call->sk, way, SDP_CNT_JOIN_LEAVES_URGENT);
		else
			sdp_pipe_put(&way->pipe, 1);
	}
	mutex_unlock(&way->recv);
}

/* The direction leaves TCP, unless a call is still in TCP. */
static bool sdp_join_switch(struct sdp_join_call *call)
{
	struct sdp_pipe *pipe = &call->way->pipe;

	lock_sock(call->sk);
	spin_lock_bh(&call->ssk->lock);
	if (!call->ssk->tcp_sends)
		sdp_pipe_switch(pipe, tcp_sk(call->sk)->write_seq);
	spin_unlock_bh(&call->ssk->lock);
	release_sock(call->sk);
	return pipe->switched;
}

/*
 * TCP sends, on a socket that may be joined meanwhile.  Returns false if it was,
 * and has left TCP; otherwise @n is TCP's answer.
 */
static bool sdp_join_by_tcp(struct sdp_join_call *call, size_t len, int *n)
{
	struct sdp_sk *ssk = call->ssk;
	struct sock *sk = call->sk;
	struct sdp_join *join;
	bool in_tcp;

	spin_lock_bh(&ssk->lock);
	join = sdp_join_get(ssk);
	in_tcp = !join || !join->way[!ssk->side].pipe.switched;
	ssk->tcp_sends += in_tcp;
	spin_unlock_bh(&ssk->lock);
	if (!in_tcp)
		return false;
	*n = SDP_TCP_CALL(sk, sendmsg, sk->sk_socket, call->msg, len);
	spin_lock_bh(&ssk->lock);
	ssk->tcp_sends--;
	spin_unlock_bh(&ssk->lock);
	return true;
}

/* Whether a packet socket gets what TCP would send. */
static bool sdp_join_is_watched(const struct sock *sk)
{
	struct dst_entry *dst;
	bool watched;

	rcu_read_lock();
	dst = __sk_dst_get((struct sock *)sk);
	watched = dev_nit_active(dst ? dst->dev : sock_net(sk)->loopback_dev);
	rcu_read_unlock();
	return watched;
}

/* Why TCP is to send this; 0: the pipe can. */
static enum sdp_counter sdp_join_needs_tcp(struct sdp_join_call *call)
{
	u32 now = jiffies;

	if (unlikely(call->msg->msg_flags & MSG_OOB))
		return SDP_CNT_JOIN_LEAVES_URGENT;
	if (unlikely(READ_ONCE(call->sk->sk_tsflags) & SOF_TIMESTAMPING_TX_RECORD_MASK))
		return SDP_CNT_JOIN_LEAVES_STAMPS;
	if (likely(call->way->looked == now))
		return 0;
	call->way->looked = now;
	return unlikely(sdp_join_is_watched(call->sk)) ? SDP_CNT_JOIN_LEAVES_WATCHED : 0;
}

/* MSG_ZEROCOPY: take a number for the notification.  0 or -ENOBUFS. */
static int sdp_join_begin_note(struct sdp_join_call *call)
{
	struct msghdr *msg = call->msg;

	if (likely(!(msg->msg_flags & MSG_ZEROCOPY)) ||
	    !(sdp_msg_ubuf(msg) || sock_flag(call->sk, SOCK_ZEROCOPY)))
		return 0;
	call->uarg = sdp_msg_ubuf(msg) ?:
		     sdp_zerocopy_realloc(call->sk, iov_iter_count(&msg->msg_iter));
	if (call->uarg)
		call->note = sdp_zsrc_async_note(call->uarg);
	return call->note ? 0 : -ENOBUFS;
}

/* Notify that the bytes were copied; of none, give the number back. */
static void sdp_join_end_note(struct sdp_join_call *call)
{
	if (likely(!call->uarg))
		return;
	sdp_zsrc_async_tell(call->note, false);
	if (sdp_msg_ubuf(call->msg))
		;	/* io_uring owns it and keeps its reference */
	else if (call->done)
		net_zcopy_put(call->uarg);
	else
		net_zcopy_put_abort(call->uarg, true);
}

/* What the call returns, once the pipe has what it takes. */
static int sdp_join_sent(struct sdp_join_call *call, int flags, int err)
{
	struct sock *sk = call->sk;

	if (call->done)
		sdp_count(sdp_net(sock_net(sk)), SDP_CNT_JOIN_SENT, call->done);
	/* An error of the socket is the next call's. */
	if (unlikely(err == -ENOIOCTLCMD && call->done && !sdp_join_cannot_send(sk))) {
		/* It was notified of what went by the pipe: once is enough. */
		call->msg->msg_flags = flags & ~MSG_ZEROCOPY;
		err = SDP_TCP_CALL(sk, sendmsg, sk->sk_socket, call->msg,
				   iov_iter_count(&call->msg->msg_iter));
		call->msg->msg_flags = flags;
		call->done += max(err, 0);
	}
	if (call->done)
		return call->done;
	return err == -EPIPE ? sk_stream_error(sk, flags, err) : err;
}

/*
 * Send on a joined socket.  Returns false if the direction is still TCP's;
 * otherwise @n is the answer.
 */
static bool sdp_join_by_pipe(struct sdp_join_call *call, int *n)
{
	struct sock *sk = call->sk;
	int err;

	mutex_lock(&call->way->send);
	if (unlikely(call->way->pipe.left)) {
		mutex_unlock(&call->way->send);
		*n = -ENOIOCTLCMD;
		return true;
	}
	if (unlikely(!call->way->pipe.switched) && !sdp_join_switch(call)) {
		mutex_unlock(&call->way->send);
		return false;
	}
	call->limit = sdp_join_limit(sk, call->way);
	/* Who waits at less does not wait for long.  The reader's cache line is
	 * left alone while nothing changes.
	 */
	if (unlikely(call->way->pipe.low != sdp_join_mark(call->limit)))
		WRITE_ONCE(call->way->pipe.low, sdp_join_mark(call->limit));
	if (call->timeo)
		call->limit = min_t(u32, call->limit, SDP_JOIN_SOFT);
	call->leaves = sdp_join_needs_tcp(call);
	if (unlikely(call->leaves))
		err = sdp_join_wait_leave(call);
	else
		err = sdp_join_begin_note(call) ?: sdp_join_fill_metered(call);
	if (call->done != call->told)
		sdp_join_tell(call, false);
	/* The wake-up was a full barrier; with sdp_join_close(). */
	if (unlikely(sdp_join_is_closed(call->join, call->side)) && call->done) {
		sdp_join_take_back(call);
		call->leaves = SDP_CNT_JOIN_LEAVES_CLOSED;
		if (iov_iter_count(&call->msg->msg_iter))
			err = -ENOIOCTLCMD;
	}
	if (err == -ENOIOCTLCMD && call->msg->msg_flags & MSG_OOB)
		sdp_join_precede(call);
	if (err == -ENOIOCTLCMD)
		sdp_join_leave(sk, call->way, call->leaves);
	sdp_join_end_note(call);
	mutex_unlock(&call->way->send);
	*n = sdp_join_sent(call, call->msg->msg_flags, err);
	return true;
}

/* Check control messages as TCP does: valid ones concern packets, if anything. */
static int sdp_join_control(struct sock *sk, struct msghdr *msg)
{
	struct sockcm_cookie cookie;

	if (likely(!msg->msg_controllen) || sdp_join_cannot_send(sk))
		return 0;
	sockcm_init(&cookie, sk);
	return sock_cmsg_send(sk, msg, &cookie) ? -EINVAL : 0;
}

/**
 * sdp_join_send() - send on a socket that may be joined, or is
 * @sk: the socket; not locked
 * @ssk: its SDP state
 * @msg: the message
 * @len: its bytes
 * @timeo: jiffies that the caller may sleep
 *
 * Context: process; sleeps.
 * Return: bytes, or TCP's error; -ENOIOCTLCMD: TCP is to send it.
 */
int sdp_join_send(struct sock *sk, struct sdp_sk *ssk, struct msghdr *msg,
		  size_t len, long timeo)
{
	struct sdp_join_call call = {
		.sk = sk, .ssk = ssk, .msg = msg, .timeo = timeo,
	};
	int n;

	/* TCP's error, and no byte is sent. */
	if (unlikely(msg->msg_flags & MSG_FASTOPEN || !len))
		return -ENOIOCTLCMD;
	do {
		call.join = sdp_join_get(ssk);
		if (!call.join)
			continue;
		call.side = ssk->side;
		call.way = &call.join->way[!call.side];
		/* For good, and without looking further. */
		if (unlikely(READ_ONCE(call.way->pipe.left)))
			return -ENOIOCTLCMD;
		n = sdp_join_control(sk, msg);
		if (n || sdp_join_by_pipe(&call, &n))
			return n;
	} while (!sdp_join_by_tcp(&call, len, &n));
	return n;
}
