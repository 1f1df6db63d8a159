// SPDX-License-Identifier: GPL-2.0
/*
 * Asking the peer for other receive buffers (ChRcvBuf, protocol text, 5.1), and what
 * follows from its answer: how long our messages may be.  When it is time to ask is
 * said by sdp_peer_ring.c.
 */
#include "sdp_chrcvbuf.h"

/**
 * sdp_chrcvbuf_ask_more() - a message waits for credits: are larger ones better?
 * @conn: the connection, conn->lock held
 * @msg: the message
 *
 * Once in a while, if it is as long as the peer's buffers and these are small.
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
	conn->tx.ctl |= SDP_CTL_RCVBUF;
	return true;
}

/**
 * sdp_chrcvbuf_posted() - a message goes: would a longer one have been better?
 * @conn: the connection, conn->lock held
 * @msg: the message
 *
 * A ping-pong never waits for credits, and yet is slower by many short messages.
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_posted(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	if (msg->more && msg->payload >= conn->snd_max &&
	    sdp_peer_ring_cut(&conn->peer_ring))
		sdp_chrcvbuf_ask_more(conn, msg);
}

/* The end is near, and gives everything back. */
static bool sdp_chrcvbuf_ends(const struct sdp_conn *conn)
{
	return conn->state != SDP_ESTABLISHED || conn->tx.fin_queued;
}

/**
 * sdp_chrcvbuf_grown() - the peer's ring has grown: have it shrink when we are idle
 * @conn: the connection, conn->lock held
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

/* Bytes of a buffer that an idle peer is asked for: what we begin with. */
static u32 sdp_chrcvbuf_least(const struct sdp_conn *conn)
{
	u32 size = round_down(READ_ONCE(conn->sn->rcvbuf_start), PAGE_SIZE);

	return min_t(u32, max_t(u32, size, PAGE_SIZE),
		     conn->snd_max + SDP_LEN_BSDH);
}

/*
 * Nothing was sent for a while, and the peer has many buffers for us or large
 * ones: it may have that memory back.  We keep to the smaller size from the
 * moment that we ask, so no message may be in the making that does not.
 */
static bool sdp_chrcvbuf_ask_less(struct sdp_conn *conn)
{
	u32 was = conn->snd_max, least = sdp_chrcvbuf_least(conn);

	if (conn->tx.outstanding || sdp_zsrc_async_bytes(&conn->zsrc_async) ||
	    !list_empty(&conn->tx.queue) || conn->tx.ctl & SDP_CTL_RCVBUF)
		return false;
	if (conn->mode.asked_rcvbuf) {
		/* It answers when the small ones are used up: we ask then. */
		sdp_peer_ring_use_up(&conn->peer_ring, sdp_flow_credits(&conn->flow));
		return false;
	}
	WRITE_ONCE(conn->snd_max, least - SDP_LEN_BSDH);
	smp_mb();	/* with sdp_chrcvbuf_build() */
	if (READ_ONCE(conn->building)) {
		WRITE_ONCE(conn->snd_max, was);
		return false;
	}
	sdp_peer_ring_ask_less(&conn->peer_ring, least, was + SDP_LEN_BSDH, jiffies);
	conn->tx.ctl |= SDP_CTL_RCVBUF;
	sdp_count(conn->sn, SDP_CNT_SHRINKS, 1);
	return true;
}

/**
 * sdp_chrcvbuf_shrink() - is it time for the peer to have memory back?
 * @conn: the connection, conn->lock held
 *
 * If so it is asked, unless a message is in the making.
 *
 * Context: process or softirq.
 * Return: jiffies until it may be; 0: there is nothing to wait for.
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
 * sdp_chrcvbuf_given() - the peer's receive buffers are larger now
 * @conn: the connection, conn->lock held
 * @size: bytes of one, by its ChRcvBufAck; a smaller one changes nothing
 *
 * Context: process or softirq.
 */
void sdp_chrcvbuf_given(struct sdp_conn *conn, u32 size)
{
	lockdep_assert_held(&conn->lock);
	size = min_t(u32, size, SDP_MSG_MAX);
	sdp_peer_ring_given(&conn->peer_ring, size, conn->flow.peer_bufs);
	/* What is built already may be as long as it is. */
	if (size > conn->snd_max + SDP_LEN_BSDH) {
		WRITE_ONCE(conn->snd_max, size - SDP_LEN_BSDH);
		if (!sdp_peer_ring_is_grown(&conn->peer_ring))
			sdp_chrcvbuf_grown(conn);
	}
}
