// SPDX-License-Identifier: GPL-2.0
/*
 * Asking the peer for other receive buffers (ChRcvBuf, protocol text, 5.1), and
 * what follows from its answer: how long our messages may be (conn->snd_max).
 *
 * sdp_peer_ring.c is the policy, and says when it is time to ask.  We ask for
 * larger buffers when full messages wait for credits or were cut to the peer's
 * size, and for smaller ones when we have sent nothing for
 * net.sdp.shrink_after.
 *
 * If the peer grants larger ones, messages may be longer from its answer on.
 * If it is asked for smaller ones, we keep to the smaller size from the
 * question on.  A peer may refuse either: then it answers the size that it has.
 */
#include "sdp_chrcvbuf.h"
#include "sdp_trace.h"

/**
 * sdp_chrcvbuf_ask_more() - ask for larger buffers if a full message waits
 * @conn: the connection, conn->lock held
 * @msg: the message, which waits for credits or was cut to the peer's size
 *
 * Asks once in SDP_PEER_RING_AGAIN, if the message is as long as the peer's
 * buffers allow and these are smaller than net.sdp.rcvbuf_size.
 *
 * Context: process or softirq.
 * Return: true if a ChRcvBuf is to be posted now.
 */
bool sdp_chrcvbuf_ask_more(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	u32 want = READ_ONCE(conn->sn->rcvbuf_size);
	bool open = conn->mode.asked_rcvbuf || conn->tx.ctl & SDP_CTL_RCVBUF;

	if (msg->payload < conn->snd_max || conn->snd_max + SDP_LEN_BSDH >= want ||
	    !sdp_peer_ring_wants_more(&conn->peer_ring, want, open, jiffies))
		return false;
	trace_sdp_rcvbuf_ask(conn->id, conn->snd_max + SDP_LEN_BSDH, want,
			     conn->flow.peer_bufs);
	conn->tx.ctl |= SDP_CTL_RCVBUF;
	return true;
}

/**
 * sdp_chrcvbuf_posted() - count a full message with more behind it
 * @conn: the connection, conn->lock held
 * @msg: the message, which was posted
 *
 * After SDP_PEER_RING_CUTS of them larger buffers are asked for: a ping-pong
 * never waits for credits, and yet is slower by many short messages.
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_posted(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	if (msg->more && msg->payload >= conn->snd_max &&
	    sdp_peer_ring_cut(&conn->peer_ring))
		sdp_chrcvbuf_ask_more(conn, msg);
}

/* Whether the connection is about to end, which frees the peer's buffers. */
static bool sdp_chrcvbuf_ends(const struct sdp_conn *conn)
{
	return conn->state != SDP_ESTABLISHED || conn->tx.fin_queued;
}

/**
 * sdp_chrcvbuf_grown() - watch for idleness: the peer's ring has grown
 * @conn: the connection, conn->lock held
 *
 * When we have sent nothing for a while, the peer is asked for smaller buffers.
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_grown(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->dead || sdp_chrcvbuf_ends(conn) ||
	    !READ_ONCE(conn->sn->shrink_after) || !sdp_peer_ring_grow(&conn->peer_ring))
		return;
	if (!conn->tx.outstanding)
		sdp_timers_moved(&conn->timers, jiffies);
	sdp_conn_check_later(conn, 0);
}

/* Bytes of a buffer to ask an idle peer for: the size that we begin with. */
static u32 sdp_chrcvbuf_least(const struct sdp_conn *conn)
{
	u32 size = round_down(READ_ONCE(conn->sn->rcvbuf_start), PAGE_SIZE);

	return min_t(u32, max_t(u32, size, PAGE_SIZE),
		     conn->snd_max + SDP_LEN_BSDH);
}

/*
 * Nothing was sent for a while, and the peer has many buffers for us or large
 * ones: ask it for smaller ones.  We keep to the smaller size from the moment
 * that we ask, so no longer message may be in the making.
 */
static bool sdp_chrcvbuf_ask_less(struct sdp_conn *conn)
{
	u32 was = conn->snd_max, least = sdp_chrcvbuf_least(conn);

	if (conn->tx.outstanding || sdp_zsrc_async_bytes(&conn->zsrc_async) ||
	    !list_empty(&conn->tx.queue) || conn->tx.ctl & SDP_CTL_RCVBUF)
		return false;
	if (conn->mode.asked_rcvbuf) {
		/* The peer has not answered our question for larger buffers: it
		 * does so when its old ones are used up.  Use them up, and ask
		 * then.
		 */
		sdp_peer_ring_use_up(&conn->peer_ring, sdp_flow_credits(&conn->flow));
		return false;
	}
	WRITE_ONCE(conn->snd_max, least - SDP_LEN_BSDH);
	smp_mb();	/* pairs with sdp_chrcvbuf_build() */
	if (READ_ONCE(conn->building)) {
		WRITE_ONCE(conn->snd_max, was);
		return false;
	}
	sdp_peer_ring_ask_less(&conn->peer_ring, least, was + SDP_LEN_BSDH, jiffies);
	trace_sdp_rcvbuf_ask(conn->id, was + SDP_LEN_BSDH, least, conn->flow.peer_bufs);
	conn->tx.ctl |= SDP_CTL_RCVBUF;
	sdp_count(conn->sn, SDP_CNT_SHRINKS, 1);
	return true;
}

/**
 * sdp_chrcvbuf_shrink() - ask the peer for smaller buffers if it is time
 * @conn: the connection, conn->lock held
 *
 * Does not ask while a message is outstanding or in the making.
 *
 * Context: process or softirq.
 * Return: jiffies until the next try; 0: there is nothing to wait for.
 */
unsigned long sdp_chrcvbuf_shrink(struct sdp_conn *conn)
{
	struct sdp_peer_ring_idle idle = {
		.now	= jiffies,
		.since	= sdp_timers_progress(&conn->timers),
		.idle	= msecs_to_jiffies(READ_ONCE(conn->sn->shrink_after)),
		.ends	= sdp_chrcvbuf_ends(conn),
		.bufs	= conn->flow.peer_bufs,
		.size	= conn->snd_max + SDP_LEN_BSDH,
		.least	= sdp_chrcvbuf_least(conn),
	};
	unsigned long again;
	bool ask;

	lockdep_assert_held(&conn->lock);
	again = sdp_peer_ring_shrink(&conn->peer_ring, &idle, &ask);
	return ask && sdp_chrcvbuf_ask_less(conn) ? 0 : again;
}

/**
 * sdp_chrcvbuf_given() - take the peer's answer to a ChRcvBuf
 * @conn: the connection, conn->lock held
 * @size: bytes of one buffer, by its ChRcvBufAck
 *
 * A larger size allows longer messages.  A smaller one than we keep to changes
 * nothing.
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_given(struct sdp_conn *conn, u32 size)
{
	lockdep_assert_held(&conn->lock);
	trace_sdp_rcvbuf_given(conn->id, conn->snd_max + SDP_LEN_BSDH, size,
			       conn->flow.peer_bufs);
	size = min_t(u32, size, SDP_MSG_MAX);
	sdp_peer_ring_given(&conn->peer_ring, size, conn->flow.peer_bufs);
	/* Never lower snd_max here: messages already built may be as long. */
	if (size > conn->snd_max + SDP_LEN_BSDH) {
		WRITE_ONCE(conn->snd_max, size - SDP_LEN_BSDH);
		if (!sdp_peer_ring_is_grown(&conn->peer_ring))
			sdp_chrcvbuf_grown(conn);
	}
}
