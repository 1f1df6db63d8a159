// SPDX-License-Identifier: GPL-2.0
/*
 * RDMA Reads of what the peer advertises into bounce buffers.
 *
 * A SrcAvail names memory of the peer that holds the next bytes of the stream
 * (protocol text, 4.3).  While one is outstanding nothing else of the stream
 * can come, so the advertised bytes always follow all that has arrived.  They
 * need no place in the receive queue, and are appended to it when they have
 * been read.
 *
 * The bytes go to the reader like any others.  The reader pays the copy that it
 * always paid; the copy of the peer is saved.  They are read at once if no
 * reader waits, or the reader wants little: the peer's caller sits in send()
 * until its memory is read, and poll() must not report as readable what a read
 * could not have.  They are read before accept() too, in what is left of the
 * little memory that a connection may have then.
 *
 * A caller that sleeps in recv() with a large buffer is better served by
 * sdp_zsink.c.  If the last reader was such a caller, it is given a moment to
 * come back.
 *
 * Without memory the SrcAvail is refused, and the peer sends by copy.
 */
#include "sdp_mem.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_zsink.h"
#include "sdp_zsink_bounce.h"

enum {
	SDP_ZSINK_BOUNCE_SIZE	= 64 * 1024,	/* most bytes of one read */
	SDP_ZSINK_BOUNCE_SHORT	= 64 * 1024,	/* most bytes unread above mem_pressure */
	SDP_ZSINK_BOUNCE_WAIT	= HZ / 500 + 1,	/* jiffies that a direct reader has to come */
};

static void sdp_zsink_bounce_refuse(struct sdp_conn *conn, const char *why)
{
	lockdep_assert_held(&conn->lock);
	trace_sdp_sendsm(conn->id, sdp_snk_unread(&conn->mode.snk), why);
	sdp_snk_refuse(&conn->mode.snk);
	conn->tx.ctl |= SDP_CTL_SENDSM;
}

/**
 * sdp_zsink_bounce_heard() - a SrcAvail has arrived
 * @conn: the connection, conn->lock held
 * @inlined: its inline bytes are not delivered yet: nothing is read before
 *	sdp_zsink_bounce_delivered()
 *
 * Refuses it if RDMA Reads are impossible or zero copy is off.
 *
 * Context: process or softirq.
 */
void sdp_zsink_bounce_heard(struct sdp_conn *conn, bool inlined)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->caps.may_read || !sdp_conn_zcopy(conn))
		sdp_zsink_bounce_refuse(conn, conn->caps.may_read ?
					"zero copy is off" : "no RDMA Reads");
	else
		sdp_zsink_hold(conn, inlined);
}

/**
 * sdp_zsink_bounce_delivered() - the inline bytes are delivered
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_zsink_bounce_delivered(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	sdp_zsink_hold(conn, false);
	spin_unlock_bh(&conn->lock);
}

/* Most bytes of bounce buffers.  Before accept() they are part of what the ring
 * may have.
 */
static u32 sdp_zsink_bounce_limit(const struct sdp_conn *conn)
{
	u32 most = sdp_buf_full_size(conn) * READ_ONCE(conn->sn->rcvbuf_count);
	bool owned = READ_ONCE(conn->owned);
	u32 mem = sdp_ring_mem(&conn->ring);

	if (sdp_mem_is_over())
		return 0;
	if (sdp_mem_is_short())
		return owned ? SDP_ZSINK_BOUNCE_SHORT : 0;
	most = min(most, sdp_ring_max_bytes(&conn->ring));
	if (owned)
		return max_t(u32, most, PAGE_SIZE);
	return most > mem ? round_down(most - mem, PAGE_SIZE) : 0;
}

/* Bytes of the next buffer, which has 2^n pages; 0: there is no room. */
static u32 sdp_zsink_bounce_room(u32 limit, u32 has)
{
	if (limit < has + PAGE_SIZE)
		return 0;
	return min_t(u32, rounddown_pow_of_two(limit - has), SDP_ZSINK_BOUNCE_SIZE);
}

/**
 * sdp_zsink_bounce_is_full() - whether RDMA Reads wait until bytes are read
 * @conn: the connection
 *
 * Context: any.
 * Return: true if bounce buffers are at their limit and no read is in flight.
 */
bool sdp_zsink_bounce_is_full(const struct sdp_conn *conn)
{
	return !sdp_zsink_bounce_room(sdp_zsink_bounce_limit(conn),
				      READ_ONCE(conn->rx.bounced)) &&
	       !READ_ONCE(conn->rx.bouncing);
}

/*
 * Are the bytes left to a direct reader?  They are while one is in a call.
 * Else they are if the last reader was a direct one, until it had time to come
 * back.
 */
static bool sdp_zsink_bounce_waits(struct sdp_conn *conn)
{
	bool late = test_and_clear_bit(SDP_CONN_BOUNCE, &conn->flags);

	if (!sdp_zsink_is_direct(&conn->zsink))
		return false;
	if (sdp_zsink_has_readers(&conn->zsink))
		return true;
	if (late)
		return false;
	sdp_conn_bounce_later(conn, SDP_ZSINK_BOUNCE_WAIT);
	return true;
}

/* Bytes for which a buffer is to be made; -ENOMEM if none may be made. */
static int sdp_zsink_bounce_wanted(struct sdp_conn *conn)
{
	u32 limit, has, room;
	s64 want;

	spin_lock_bh(&conn->lock);
	want = sdp_zsink_unread(conn);
	spin_lock(&conn->rx.lock);
	limit = sdp_zsink_bounce_limit(conn);
	has = conn->rx.bounced;
	room = sdp_zsink_bounce_room(limit, has);
	if (want > room && !conn->owned)
		sdp_ring_withhold(&conn->ring);
	spin_unlock(&conn->rx.lock);
	spin_unlock_bh(&conn->lock);
	if (want <= 0)
		return 0;
	if (!limit && !has)
		return -ENOMEM;
	/* The rest waits for the reader. */
	if (!room)
		trace_sdp_read_waits(conn->id, want, sdp_mem_is_short() ?
				     "mem_pressure" : "SO_RCVBUF");
	return min_t(s64, want, room);
}

/**
 * sdp_zsink_bounce_is_behind() - whether advertised bytes are not read yet
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 * Return: true if there are any.
 */
bool sdp_zsink_bounce_is_behind(struct sdp_conn *conn)
{
	bool behind;

	spin_lock_bh(&conn->lock);
	behind = sdp_snk_is_behind(&conn->mode.snk);
	spin_unlock_bh(&conn->lock);
	return behind;
}

static struct sdp_msg *sdp_zsink_bounce_alloc(struct sdp_conn *conn, u32 want)
{
	u32 size = roundup_pow_of_two(max_t(u32, want, PAGE_SIZE));
	struct sdp_buf *buf = NULL;
	struct sdp_msg *msg;

	/* Large pages may be rare; small ones do.  Without any: SendSm. */
	for (; !buf && size >= PAGE_SIZE; size /= 2)
		buf = sdp_buf_alloc(conn, size, true,
				    GFP_KERNEL | __GFP_NORETRY);
	if (!buf)
		return NULL;
	msg = sdp_msg_alloc_read(buf, GFP_KERNEL);
	if (!msg)
		sdp_buf_free(conn, buf);
	return msg;
}

/**
 * sdp_zsink_bounce_more() - read what is advertised into bounce buffers
 * @conn: the connection
 *
 * Reads as far as SO_RCVBUF and the memory of all connections allow: what
 * nobody reads stays with the peer.  Without memory the peer is asked to send
 * by copy.  Waits a moment if the last reader was a direct one.
 *
 * Context: process; may sleep.
 */
void sdp_zsink_bounce_more(struct sdp_conn *conn)
{
	struct sdp_msg *msg = NULL;
	int want;

	if (sdp_zsink_bounce_waits(conn))
		return;
	while ((want = sdp_zsink_bounce_wanted(conn)) > 0) {
		msg = sdp_zsink_bounce_alloc(conn, want);
		if (!msg)
			break;
		spin_lock_bh(&conn->lock);
		sdp_zsink_add_read(conn, msg);
		sdp_zsink_drop_bounced(conn, false);
		spin_unlock_bh(&conn->lock);
		sdp_tx_run(conn);
	}
	if (!want && !sdp_zsink_has_reads(&conn->zsink))
		return;
	spin_lock_bh(&conn->lock);
	if (want)
		sdp_zsink_bounce_refuse(conn, "no memory");
	if (!sdp_snk_unread(&conn->mode.snk))
		sdp_zsink_drop_bounced(conn, true);
	spin_unlock_bh(&conn->lock);
	if (want)
		sdp_tx_run(conn);
}
