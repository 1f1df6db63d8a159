// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving on a socket that may be joined, or is.
 *
 * The stream has up to three parts: what TCP carried before the sender's
 * direction switched, what is in the pipe, and what TCP carries since it
 * returned.  Sequence numbers and positions tell where one ends and the next
 * begins; TCP is never asked for more than its part.
 *
 * No caller sleeps inside TCP's recvmsg(): it would sleep through what comes by the
 * pipe.  TCP is asked with MSG_DONTWAIT, and the caller sleeps here, where whatever
 * carries the bytes wakes it.
 *
 * When the pipe is empty and the stream at its end, TCP says how it ended.
 */
#include <linux/sched/signal.h>
#include <net/tcp.h>
#include "sdp_busy_poll.h"
#include "sdp_join.h"
#include "sdp_net.h"

/* One recv() under way. */
struct sdp_join_read {
	struct sock *sk;
	struct sdp_sk *ssk;
	struct sdp_join *join;	/* NULL: not joined */
	struct sdp_join_way *way;
	struct msghdr *msg;
	size_t len;		/* bytes wanted */
	size_t done;		/* bytes that the caller has */
	int target;		/* bytes without which it waits */
	int flags;
	long timeo;		/* jiffies that the caller may still sleep */
	u32 ahead;		/* bytes that peeking skips (SO_PEEK_OFF) */
	bool tcp_peeked;	/* what TCP has was peeked at: no more of it */
	bool ended;		/* no more comes */
	u32 pos;		/* position in the pipe of what is next */
};

/**
 * sdp_join_sync() - take over SO_RCVBUF and SO_TIMESTAMP of the reader
 * @sk: the reader
 * @way: the direction
 *
 * Nothing of ours is called when these are set, so each later call looks.
 *
 * Context: any.
 */
void sdp_join_sync(const struct sock *sk, struct sdp_join_way *way)
{
	bool stamps = sock_flag(sk, SOCK_RCVTSTAMP) ||
		      READ_ONCE(sk->sk_tsflags) & SOF_TIMESTAMPING_RX_SOFTWARE;

	if (unlikely(sk->sk_userlocks & SOCK_RCVBUF_LOCK))
		WRITE_ONCE(way->rcvbuf, READ_ONCE(sk->sk_rcvbuf));
	if (unlikely(stamps != READ_ONCE(way->stamps)))
		WRITE_ONCE(way->stamps, stamps);
}

/**
 * sdp_join_inq() - bytes that can be read
 * @sk: the reader
 * @way: the direction, or NULL before it is joined
 *
 * Context: any; socket locked for an exact answer of TCP's part.
 * Return: bytes, of TCP and of the pipe.
 */
u32 sdp_join_inq(const struct sock *sk, const struct sdp_join_way *way)
{
	return tcp_inq((struct sock *)sk) +
	       (way ? sdp_join_unread(way) : 0);
}

static u32 sdp_join_copied_seq(const struct sock *sk)
{
	return READ_ONCE(tcp_sk(sk)->copied_seq);
}

/**
 * sdp_join_is_readable() - whether there is enough to read
 * @sk: the reader
 * @way: the direction
 * @n: bytes, at least 1
 *
 * Context: any.
 * Return: true if so; false if not, or if the stream is in TCP.
 */
bool sdp_join_is_readable(const struct sock *sk, const struct sdp_join_way *way,
			  u32 n)
{
	return (sdp_join_unread(way) >= n || sdp_pipe_has(&way->pipe, n)) &&
	       sdp_pipe_is_next(&way->pipe, sdp_join_copied_seq(sk));
}

/* Whether TCP has something, be it bytes, an error or the end. */
static bool sdp_join_tcp_has(const struct sock *sk)
{
	return !skb_queue_empty_lockless(&sk->sk_receive_queue) ||
	       READ_ONCE(sk->sk_err) ||
	       READ_ONCE(sk->sk_shutdown) & RCV_SHUTDOWN ||
	       READ_ONCE(sk->sk_state) == TCP_CLOSE;
}

static int sdp_join_ask_tcp(struct sdp_join_read *r, size_t len)
{
	return sdp_ulp_tcp(r->sk)->recvmsg(r->sk->sk_socket, r->msg, len,
					   r->flags | MSG_DONTWAIT);
}

/*
 * Bytes of TCP's that come before the pipe; SIZE_MAX: the stream has returned to
 * TCP.  What TCP has now was sent before a switch that is not seen yet.
 */
static size_t sdp_join_tcp_part(struct sdp_join_read *r)
{
	const struct tcp_sock *tp = tcp_sk(r->sk);
	u32 seq = sdp_join_copied_seq(r->sk);
	u32 next = READ_ONCE(tp->rcv_nxt);
	struct sdp_pipe *pipe;

	smp_rmb();	/* what may have ended TCP's part is looked at later */
	if (!r->way)
		return sdp_join_get(r->ssk) ? 0 : next - seq;
	pipe = &r->way->pipe;
	/* then left_at */
	if (smp_load_acquire(&pipe->left) && r->pos == pipe->left_at &&
	    (pipe->begun || !pipe->switched || !before(seq, pipe->seq)))
		return SIZE_MAX;
	/* then seq */
	if (smp_load_acquire(&pipe->switched))
		next = pipe->seq;
	return pipe->begun || before(next, seq) ? 0 : next - seq;
}

/* Whether TCP's next byte is the urgent one: TCP ends a read before it. */
static bool sdp_join_is_at_mark(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tp->urg_data && tp->urg_seq == sdp_join_copied_seq(sk);
}

/* Read TCP's part.  Bytes; 0: there is none now; or an error. */
static int sdp_join_read_tcp(struct sdp_join_read *r)
{
	size_t len = r->len - r->done;
	int n;

	if (r->tcp_peeked || skb_queue_empty_lockless(&r->sk->sk_receive_queue))
		return 0;
	if (r->done && sdp_join_is_at_mark(r->sk))
		return 0;
	len = min(len, sdp_join_tcp_part(r));
	if (!len)
		return 0;
	n = sdp_join_ask_tcp(r, len);
	r->tcp_peeked = r->flags & MSG_PEEK && n > 0;
	return n == -EAGAIN ? 0 : n;
}

/* Copy from the pipe, from pos on.  Bytes; 0: there are none; or an error. */
static ssize_t sdp_join_read_pipe(struct sdp_join_read *r)
{
	struct sdp_pipe *pipe = &r->way->pipe;
	size_t left = r->len - r->done, n, c;
	struct sdp_pipe_buf *buf = NULL;
	u32 off, pos = r->pos, begin = pos;

	while (left) {
		n = min_t(size_t, left, sdp_pipe_at(pipe, &buf, pos, &off));
		if (!n)
			break;
		/* The memory is whole pages of ours. */
		c = r->flags & MSG_TRUNC ? n :
		    _copy_to_iter(buf->mem + off, n, &r->msg->msg_iter);
		if (c < n) {	/* as TCP: nothing of a piece that faults */
			iov_iter_revert(&r->msg->msg_iter, c);
			return pos == begin ? -EFAULT : pos - begin;
		}
		if (!(r->flags & MSG_PEEK))
			sdp_pipe_get(pipe, buf, n);
		pos += n;
		left -= n;
	}
	return pos - begin;
}

/* Copy from what is lent behind the pipe, from pos on.  As sdp_join_read_pipe(). */
static ssize_t sdp_join_read_lent(struct sdp_join_read *r)
{
	return sdp_join_read_loan(r->join, r->ssk->side, r->pos,
				  r->flags & MSG_TRUNC ? NULL : &r->msg->msg_iter,
				  r->len - r->done, r->flags & MSG_PEEK);
}

/* Read what comes next.  Bytes; 0: nothing is there; or an error. */
static ssize_t sdp_join_read_next(struct sdp_join_read *r)
{
	struct sdp_join_way *way = r->way;
	struct sdp_pipe *pipe;
	ssize_t n = 0;
	u32 lent;

	if (!way)
		return sdp_join_read_tcp(r);
	pipe = &way->pipe;
	r->pos = pipe->read + r->ahead + (r->flags & MSG_PEEK ? r->done : 0);
	if (!sdp_pipe_is_next(pipe, sdp_join_copied_seq(r->sk)))
		return sdp_join_read_tcp(r);
	sdp_pipe_begin(pipe);
	do {
		/* Then what was put back into the pipe. */
		lent = smp_load_acquire(&way->lent_left);
		n = sdp_join_read_pipe(r);
		if (!n && unlikely(lent))
			n = sdp_join_read_lent(r);
		else
			lent = 0;
	} while (!n && lent);
	if (unlikely(!n && smp_load_acquire(&pipe->left)))	/* then left_at */
		return sdp_join_read_tcp(r);	/* peeking, beyond the pipe */
	if (sdp_pipe_space_due(pipe)) {
		sdp_pipe_space_told(pipe);
		sdp_join_wake_writer(r->join, !r->ssk->side);
	}
	return n;
}

/* The reader stops: a writer may have begun to wait for space meanwhile. */
static void sdp_join_stop(struct sdp_join_read *r)
{
	if (!r->way || !sdp_pipe_stop(&r->way->pipe))
		return;
	sdp_pipe_space_told(&r->way->pipe);
	sdp_join_wake_writer(r->join, !r->ssk->side);
}

/* What there is while the caller, peeking, waits for more than it has seen. */
static bool sdp_join_has_more(struct sdp_join_read *r)
{
	u32 seen = r->flags & MSG_PEEK ? r->done + r->ahead : 0;

	if (sdp_join_tcp_has(r->sk) && !r->tcp_peeked)
		return true;
	if (!r->way)
		return sdp_join_get(r->ssk);	/* joined by now */
	return sdp_join_unread(r->way) > seen &&
	       sdp_pipe_is_next(&r->way->pipe, sdp_join_copied_seq(r->sk));
}

static bool sdp_join_look(void *arg)
{
	return sdp_join_has_more(arg);
}

/* Poll before sleeping, while that pays, as sdp_busy_poll_sleep().  true: look again. */
static bool sdp_join_poll(struct sdp_join_read *r, u32 max, bool asked, u64 began)
{
	u32 window = asked ? max : min(READ_ONCE(r->way->spin_ns), max);

	return window && sdp_busy_poll(sdp_net(sock_net(r->sk)), 0, began + window,
				       window, sdp_join_look, r);
}

static void sdp_join_sleep_reader(struct sdp_join_read *r)
{
	DEFINE_WAIT(wait);

	prepare_to_wait(sk_sleep(r->sk), &wait, TASK_INTERRUPTIBLE);
	if (!sdp_join_has_more(r)) {
		if (r->way)
			WRITE_ONCE(r->way->asleep, true);
		r->timeo = schedule_timeout(r->timeo);
		if (r->way)
			WRITE_ONCE(r->way->asleep, false);
	}
	finish_wait(sk_sleep(r->sk), &wait);
}

/* Sleep until there is something.  0: look again, or the error. */
static int sdp_join_wait(struct sdp_join_read *r)
{
	unsigned int asked = sdp_busy_poll_asked(r->sk);
	u64 began = 0;
	u32 max = 0;

	if (signal_pending(current))
		return r->timeo ? sock_intr_errno(r->timeo) : -EAGAIN;
	if (!r->timeo)
		return -EAGAIN;
	if (r->way)
		mutex_unlock(&r->way->recv);
	if (r->way)
		max = sdp_busy_poll_max(sdp_net(sock_net(r->sk)), asked);
	if (max)
		began = ktime_get_ns();
	if (!max || !sdp_join_poll(r, max, asked, began)) {
		sdp_join_sleep_reader(r);
		if (max && !asked)
			sdp_busy_poll_learn(&r->way->spin_ns, ktime_get_ns() - began, max);
	}
	cond_resched();
	if (r->way)
		mutex_lock(&r->way->recv);
	return 0;
}

/*
 * Nothing is there, and the caller has not what it wants.  0: look again; 1: the
 * call ends with what it has; or the error.
 */
static int sdp_join_nothing(struct sdp_join_read *r)
{
	bool ended = READ_ONCE(r->sk->sk_err) ||
		     READ_ONCE(r->sk->sk_shutdown) & RCV_SHUTDOWN ||
		     READ_ONCE(r->sk->sk_state) == TCP_CLOSE;

	sdp_join_stop(r);
	/* The socket is TCP's, or another's that has replaced the operations. */
	if (READ_ONCE(r->ssk->mode) == SDP_SK_DETACHED)
		return r->done ? 1 : -ENOIOCTLCMD;
	/* After connect(AF_UNSPEC): as TCP, and its error stays in sk_err. */
	if (r->join && sdp_join_get(r->ssk) != r->join)
		return r->done ? 1 : -EPIPE;
	if (ended) {
		/* The end may have come after the last look, and bytes before it. */
		smp_rmb();
		if (r->way && sdp_join_is_readable(r->sk, r->way, 1 + r->ahead +
				(r->flags & MSG_PEEK ? r->done : 0)))
			return 0;
		r->ended = true;
		return 1;
	}
	if (r->done && (!r->timeo || signal_pending(current) ||
			sdp_join_is_at_mark(r->sk)))
		return 1;
	return sdp_join_wait(r);
}

/* Join the caller's call to the pair, if there is one by now. */
static void sdp_join_read_enter(struct sdp_join_read *r)
{
	if (r->join)
		return;
	r->join = sdp_join_get(r->ssk);
	if (!r->join)
		return;
	r->way = &r->join->way[r->ssk->side];
	mutex_lock(&r->way->recv);
	sdp_join_sync(r->sk, r->way);
}

static void sdp_join_tell_inq(struct sdp_join_read *r)
{
	bool asked = tcp_sk(r->sk)->recvmsg_inq;
	int inq;

	if (likely(!asked && !sdp_msg_wants_inq(r->msg)))
		return;
	inq = sdp_join_inq(r->sk, r->way);
	if (!inq && READ_ONCE(r->sk->sk_shutdown) & RCV_SHUTDOWN)
		inq = 1;
	sdp_msg_set_inq(r->msg, inq);
	if (asked)
		put_cmsg(r->msg, SOL_TCP, TCP_CM_INQ, sizeof(inq), &inq);
}

/* The sender has, and this end answers; it may have been seen as a sender since. */
static void sdp_join_show_reader(struct sdp_join_read *r)
{
	struct sdp_join_end *end = &r->join->end[r->ssk->side];

	WRITE_ONCE(r->way->show, false);
	if (sdp_join_is_unseen(end))
		sdp_join_show(r->sk, end);
}

/* As sdp_recv_tell_time(). */
static void sdp_join_tell_time(struct sdp_join_read *r)
{
	struct sk_buff *skb;

	if (likely(!READ_ONCE(r->way->stamps)))
		return;
	skb = alloc_skb(0, r->sk->sk_allocation);
	if (!skb)
		return;
	skb->tstamp = READ_ONCE(r->way->stamp) ?: ktime_get_real();
	__sock_recv_timestamp(r->msg, r->sk, skb);
	kfree_skb(skb);
}

/**
 * sdp_join_recv() - receive on a socket that may be joined, or is
 * @sk: the socket; not locked
 * @ssk: its SDP state
 * @msg: where to put the bytes
 * @len: bytes wanted
 * @flags: of the call, without MSG_OOB
 * @timeo: jiffies that the caller may sleep
 *
 * Context: process; sleeps.
 * Return: bytes; 0 at the end of the stream; or TCP's error.
 */
int sdp_join_recv(struct sock *sk, struct sdp_sk *ssk, struct msghdr *msg,
		  size_t len, int flags, long timeo)
{
	struct sdp_join_read r = {
		.sk = sk, .ssk = ssk, .msg = msg, .len = len, .flags = flags,
		.target = sock_rcvlowat(sk, flags & MSG_WAITALL, len),
		.timeo = timeo,
	};
	bool piped = false;
	ssize_t n;
	int err;

	if (flags & MSG_PEEK)
		r.ahead = max(sk_peek_offset(sk, flags), 0);
	do {
		sdp_join_read_enter(&r);
		err = 0;
		n = sdp_join_read_next(&r);
		if (n > 0) {
			r.done += n;
			piped |= r.way && r.way->pipe.begun;
			/* That was all, or the rest comes with the next call. */
			if (likely(piped && r.done >= r.target &&
				   !READ_ONCE(r.way->pipe.left)))
				err = 1;
		} else if (n < 0) {
			err = n;
		} else if (r.done >= r.target) {
			err = 1;
		} else if (!len && sdp_join_inq(sk, r.way)) {
			err = 1;
		} else {
			err = sdp_join_nothing(&r);
		}
	} while (!err && (r.done < len || !len));
	if (r.ended && !r.done) {
		err = sdp_join_ask_tcp(&r, len);	/* how did it end? */
		/* Before the urgent byte TCP lets a signal end the call. */
		if (err == -EAGAIN && r.timeo && signal_pending(current))
			err = sock_intr_errno(r.timeo);
	}
	if (piped && flags & MSG_PEEK)
		sk_peek_offset_fwd(sk, r.done);
	else if (piped)
		sk_peek_offset_bwd(sk, r.done);
	if (piped)
		sdp_join_tell_time(&r);
	if (r.way) {
		sdp_join_tell_inq(&r);
		sdp_join_stop(&r);	/* it may not come back for long */
		mutex_unlock(&r.way->recv);
		if (unlikely(READ_ONCE(r.way->show)) && r.done)
			sdp_join_show_reader(&r);
	}
	msg->msg_namelen = 0;
	return r.done ?: min(err, 0);
}
