// SPDX-License-Identifier: GPL-2.0
/*
 * A joined pair as the stream of a socket: the table of sdp_stream.h.
 *
 * Before it is joined, and for whatever is not the stream itself, TCP answers:
 * the socket is a connected TCP socket, in TCP's state.
 */
#include <linux/sockios.h>
#include <asm/ioctls.h>
#include <net/tcp.h>
#include <linux/sdp.h>
#include "sdp_join.h"
#include "sdp_stream.h"

static int sdp_join_stream_recvmsg(struct sock *sk, struct sdp_sk *ssk,
				   struct msghdr *msg, size_t len, int flags,
				   long timeo)
{
	if (flags & MSG_OOB)
		return -ENOIOCTLCMD;	/* urgent data is TCP's */
	return sdp_join_recv(sk, ssk, msg, len, flags, timeo);
}

/* Nothing is held back. */
static void sdp_join_stream_push(struct sock *sk, struct sdp_sk *ssk)
{
}

/* EPOLLOUT of a direction that goes through the pipe. */
static bool sdp_join_is_writable(struct sock *sk, struct sdp_join_way *way)
{
	u32 mark = sdp_join_limit(sk, way) / 3 * 2;

	if (READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	    (sdp_pipe_fill(&way->pipe) <= mark && !READ_ONCE(way->lent)))
		return true;
	set_bit(SOCK_NOSPACE, &sk->sk_socket->flags);
	sk_set_bit(SOCKWQ_ASYNC_NOSPACE, sk);
	return !sdp_join_is_lent(way) && sdp_pipe_want_space(&way->pipe, mark);
}

static bool sdp_join_stream_poll(struct sock *sk, struct sdp_sk *ssk,
				 __poll_t wanted, __poll_t *mask)
{
	const __poll_t out = EPOLLOUT | EPOLLWRNORM;
	struct sdp_join *join = sdp_join_get(ssk);
	struct sdp_join_way *in, *back;

	if (!join)
		return false;
	in = &join->way[ssk->side];
	back = &join->way[!ssk->side];
	sdp_join_sync(sk, in);
	*mask = tcp_poll(NULL, sk->sk_socket, NULL);
	if (sdp_join_is_readable(sk, in, sock_rcvlowat(sk, 0, INT_MAX)))
		*mask |= EPOLLIN | EPOLLRDNORM;
	/* A writer that began to wait may have missed the last read. */
	if (sdp_pipe_stop(&in->pipe)) {
		sdp_pipe_space_told(&in->pipe);
		sdp_join_wake_writer(join, !ssk->side);
	}
	if (*mask & out && !READ_ONCE(back->pipe.left) &&
	    !sdp_join_is_closed(join, ssk->side) &&
	    !sdp_join_is_writable(sk, back))
		*mask &= ~out;
	return true;
}

static void sdp_join_stream_rcvlowat(struct sock *sk, struct sdp_sk *ssk)
{
	struct sdp_join *join = sdp_join_get(ssk);

	if (join && sdp_join_is_readable(sk, &join->way[ssk->side],
					 sock_rcvlowat(sk, 0, INT_MAX)))
		sk->sk_data_ready(sk);
}

/*
 * Bytes that are sent and not received.  @from: the sequence number up to which TCP has
 * no more to do with its own.
 */
static u32 sdp_join_outq(const struct sock *sk, const struct sdp_sk *ssk, u32 from)
{
	struct sdp_join *join = sdp_join_get(ssk);
	int state = READ_ONCE(sk->sk_state);
	u32 queued = 0, fill, room;

	if (state != TCP_SYN_SENT && state != TCP_SYN_RECV)
		queued = READ_ONCE(tcp_sk(sk)->write_seq) - from;
	if (!join)
		return queued;
	/* What is unread beyond the reader's part of the limit. */
	fill = sdp_join_unread(&join->way[!ssk->side]);
	room = sdp_join_received(sk, &join->way[!ssk->side]);
	return queued + (fill > room ? fill - room : 0);
}

static int sdp_join_stream_ioctl(struct sock *sk, struct sdp_sk *ssk,
				 unsigned int cmd)
{
	struct sdp_join *join = sdp_join_get(ssk);
	const struct tcp_sock *tp = tcp_sk(sk);

	switch (cmd) {
	case SIOCINQ:
		return sdp_join_inq(sk, join ? &join->way[ssk->side] : NULL);
	case SIOCATMARK:
		return tp->urg_data &&
		       tp->urg_seq == READ_ONCE(tp->copied_seq) &&
		       !(join && sdp_join_unread(&join->way[ssk->side]));
	case SIOCOUTQ:
		return sdp_join_outq(sk, ssk, tp->snd_una);
	default:
		return sdp_join_outq(sk, ssk, READ_ONCE(tp->snd_nxt));
	}
}

/* A caller that is sending comes before the FIN, or gets the error. */
static int sdp_join_stream_shutdown(struct sock *sk, struct sdp_sk *ssk, int how)
{
	struct sdp_join *join = sdp_join_get(ssk);
	struct mutex *send = join ? &join->way[!ssk->side].send : NULL;
	int err;

	if (send)
		mutex_lock(send);
	err = SDP_TCP_CALL(sk, shutdown, sk->sk_socket, how - 1);
	if (send)
		mutex_unlock(send);
	return err;
}

static void sdp_join_stream_option(struct sock *sk, struct sdp_sk *ssk, int optname)
{
}

static void sdp_join_stream_zcopy(struct sdp_sk *ssk)
{
}

static u8 sdp_join_stream_state(struct sdp_sk *ssk)
{
	struct sock *sk = READ_ONCE(ssk->sk);

	return sk ? READ_ONCE(sk->sk_state) : TCP_CLOSE;
}

static u32 sdp_join_stream_mss(struct sdp_sk *ssk)
{
	return 0;
}

/* Of a socket that is not locked, but ssk->lock, each figure is of a moment of its own. */
static void sdp_join_stream_info(struct sdp_sk *ssk, struct sdp_info *info)
{
	struct sdp_join *join = sdp_join_get(ssk);
	const struct sock *sk = ssk->sk;
	struct sdp_join_way *in;

	info->sdpi_transport = join ? SDP_TRANSPORT_LOCAL : SDP_TRANSPORT_TCP;
	info->sdpi_state = sdp_ulp_state(sk);
	if (!join)
		return;
	in = &join->way[ssk->side];
	info->sdpi_inq = sdp_join_inq(sk, in);
	info->sdpi_outq = sdp_join_outq(sk, ssk, READ_ONCE(tcp_sk(sk)->snd_una));
	info->sdpi_bytes_sent = READ_ONCE(join->way[!ssk->side].bytes);
	info->sdpi_bytes_received = READ_ONCE(in->bytes) - sdp_join_unread(in);
	info->sdpi_mem = READ_ONCE(in->kept);
}

static u32 sdp_join_ms_since(u32 at, u32 tcp)
{
	return at ? min(tcp, jiffies_to_msecs((u32)jiffies - at)) : tcp;
}

/* What went by the pipes is added to what TCP says. */
static bool sdp_join_stream_tcp_info(struct sdp_sk *ssk, struct tcp_info *info)
{
	struct sdp_join *join = sdp_join_get(ssk);
	struct sdp_join_way *in, *out;
	u32 unread;

	if (!join)
		return true;
	in = &join->way[ssk->side];
	out = &join->way[!ssk->side];
	unread = sdp_join_unread(out);
	info->tcpi_bytes_received += READ_ONCE(in->bytes);
	info->tcpi_bytes_sent += READ_ONCE(out->bytes);
	info->tcpi_bytes_acked += READ_ONCE(out->bytes) - unread;
	/* The nearest to a segment: the times that a reader was told. */
	info->tcpi_data_segs_out += READ_ONCE(out->tells);
	info->tcpi_segs_out += READ_ONCE(out->tells);
	info->tcpi_data_segs_in += READ_ONCE(in->tells);
	info->tcpi_segs_in += READ_ONCE(in->tells);
	/* TCP learns it from what arrives. */
	info->tcpi_rcv_mss = max(info->tcpi_rcv_mss, info->tcpi_snd_mss);
	info->tcpi_last_data_sent = sdp_join_ms_since(READ_ONCE(out->at),
						      info->tcpi_last_data_sent);
	info->tcpi_last_data_recv = sdp_join_ms_since(READ_ONCE(in->at),
						      info->tcpi_last_data_recv);
	return true;
}

const struct sdp_stream_ops sdp_join_stream_ops = {
	.sendmsg	= sdp_join_send,
	.recvmsg	= sdp_join_stream_recvmsg,
	.push		= sdp_join_stream_push,
	.poll		= sdp_join_stream_poll,
	.rcvlowat	= sdp_join_stream_rcvlowat,
	.ioctl		= sdp_join_stream_ioctl,
	.shutdown	= sdp_join_stream_shutdown,
	.close		= sdp_join_close,
	.option		= sdp_join_stream_option,
	.zcopy		= sdp_join_stream_zcopy,
	.state		= sdp_join_stream_state,
	.mss		= sdp_join_stream_mss,
	.info		= sdp_join_stream_info,
	.tcp_info	= sdp_join_stream_tcp_info,
};
