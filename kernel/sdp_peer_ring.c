// SPDX-License-Identifier: GPL-2.0
/*
 * The peer's receive buffers: how long our messages may be.
 *
 * A connection begins with small ones.  When we have to wait for credits with a
 * message as long as they are, or what is sent was cut again and again because they
 * are not longer, it is time to ask for larger ones (ChRcvBuf, protocol text, 5.1);
 * and when nothing was sent for a while the peer may have that memory back.
 */
#include "sdp_peer_ring.h"

enum {
	SDP_PEER_RING_ASK_AGAIN	= 10 * HZ,	/* for larger buffers */
	SDP_PEER_RING_CUTS		= 16,		/* messages, before we do */
};

static void sdp_peer_ring_ask(struct sdp_conn *conn, u32 size)
{
	conn->peer_ring.asked = true;
	conn->peer_ring.asked_at = jiffies;
	conn->peer_ring.ask = size;
	conn->tx.ctl |= SDP_CTL_RCVBUF;
}

bool sdp_peer_ring_asks_for_more(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	u32 want = READ_ONCE(conn->sn->rcvbuf_size);

	if (msg->payload < conn->snd_max || conn->snd_max + SDP_LEN_BSDH >= want)
		return false;
	if (conn->peer_ring.asked && (conn->mode.asked_rcvbuf ||
				      conn->tx.ctl & SDP_CTL_RCVBUF ||
				      time_before(jiffies, conn->peer_ring.asked_at +
						    SDP_PEER_RING_ASK_AGAIN)))
		return false;
	sdp_peer_ring_ask(conn, want);
	return true;
}

void sdp_peer_ring_posted(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	if (!msg->more || msg->payload < conn->snd_max)
		return;
	if (++conn->peer_ring.cuts < SDP_PEER_RING_CUTS)
		return;
	conn->peer_ring.cuts = 0;
	sdp_peer_ring_asks_for_more(conn, msg);
}

/* The end is near, and gives everything back. */
static bool sdp_peer_ring_ends(const struct sdp_conn *conn)
{
	return conn->state != SDP_ESTABLISHED || conn->tx.fin_queued;
}

void sdp_peer_ring_grown(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	if (conn->peer_ring.keeps || conn->dead || sdp_peer_ring_ends(conn) ||
	    !READ_ONCE(conn->sn->shrink_after))
		return;
	conn->peer_ring.grown = true;
	if (!conn->tx.outstanding)
		sdp_timers_moved(&conn->timers, jiffies);
	sdp_conn_check_later(conn, 0);
}

/* Bytes of a buffer that an idle peer is asked for: what we begin with. */
static u32 sdp_peer_ring_least(const struct sdp_conn *conn)
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
static bool sdp_peer_ring_ask_less(struct sdp_conn *conn)
{
	u32 was = conn->snd_max, least = sdp_peer_ring_least(conn);

	if (conn->tx.outstanding || conn->zsrc_async.lent ||
	    !list_empty(&conn->tx.queue) || conn->tx.ctl & SDP_CTL_RCVBUF)
		return false;
	if (conn->mode.asked_rcvbuf) {
		/* It answers when the small ones are used up: we ask then. */
		conn->peer_ring.flush = sdp_flow_credits(&conn->flow);
		return false;
	}
	WRITE_ONCE(conn->snd_max, least - SDP_LEN_BSDH);
	smp_mb();	/* with sdp_peer_ring_build() */
	if (READ_ONCE(conn->peer_ring.building)) {
		WRITE_ONCE(conn->snd_max, was);
		return false;
	}
	sdp_peer_ring_ask(conn, least);
	conn->peer_ring.asks_less = true;
	conn->peer_ring.had = was + SDP_LEN_BSDH;
	sdp_count(conn->sn, SDP_CNT_SHRINKS, 1);
	return true;
}

unsigned long sdp_peer_ring_shrink_due(struct sdp_conn *conn)
{
	unsigned long idle = msecs_to_jiffies(READ_ONCE(conn->sn->shrink_after));
	unsigned long due = sdp_timers_progress(&conn->timers) + idle;
	unsigned long now = jiffies;

	if (sdp_peer_ring_ends(conn))
		conn->peer_ring.grown = false;
	if (!conn->peer_ring.grown || !idle)
		return 0;
	if (time_before(now, due))
		return due - now;
	if (conn->flow.peer_bufs <= SDP_PEER_RING_FEW &&
	    conn->snd_max + SDP_LEN_BSDH <= sdp_peer_ring_least(conn))
		conn->peer_ring.grown = false;
	else if (conn->peer_ring.asks_less || !sdp_peer_ring_ask_less(conn))
		return idle;
	return 0;
}

void sdp_peer_ring_given(struct sdp_conn *conn, u32 size)
{
	lockdep_assert_held(&conn->lock);
	size = min_t(u32, size, SDP_MSG_MAX);
	if (conn->peer_ring.asks_less) {
		conn->peer_ring.asks_less = false;
		conn->peer_ring.asked = false;
		conn->peer_ring.grown = false;
		if (size <= conn->peer_ring.ask || size < conn->peer_ring.had)
			conn->peer_ring.flush = conn->flow.peer_bufs;
		/* It will not give what it did not give now. */
		conn->peer_ring.keeps = size > conn->peer_ring.ask;
	}
	/* What is built already may be as long as it is. */
	if (size > conn->snd_max + SDP_LEN_BSDH) {
		WRITE_ONCE(conn->snd_max, size - SDP_LEN_BSDH);
		if (!conn->peer_ring.grown)
			sdp_peer_ring_grown(conn);
	}
}
