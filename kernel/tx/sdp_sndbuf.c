// SPDX-License-Identifier: GPL-2.0
/*
 * The limit of bytes that a sender may have outstanding: messages that are
 * queued or in flight, and user memory that is advertised.
 *
 * While the peer reads, the limit is SO_SNDBUF, or net.sdp.sndbuf_bytes if that
 * was not set.  If the peer does not read, it may grow to as much as TCP would
 * take.  Above net.sdp.mem_max it is one message.
 */
#include "sdp_check.h"
#include "sdp_sndbuf.h"
#include "sdp_trace.h"

/**
 * sdp_sndbuf_charge() - count a message as outstanding
 * @conn: the connection, conn->lock held
 * @msg: the message, on no list; only bytes not charged yet are counted
 *
 * Context: process or softirq.
 * Return: false if the connection is dead: the message was freed.
 */
bool sdp_sndbuf_charge(struct sdp_conn *conn, struct sdp_msg *msg)
{
	u32 charge = SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid) + msg->payload -
		     msg->charged;

	lockdep_assert_held(&conn->lock);
	sdp_check_begin(conn);
	if (conn->dead) {
		conn->tx.outstanding -= msg->charged;
		sdp_msg_free(conn, msg);
		return false;
	}
	msg->charged += charge;
	conn->tx.outstanding += charge;
	sdp_mem_add(charge);
	if (sdp_spare_any(&conn->spare))
		sdp_msg_fit(conn);
	return true;
}

/**
 * sdp_sndbuf_set_limit() - set how many bytes may be outstanding
 * @conn: the connection
 * @least: bytes if the peer reads
 * @most: bytes if the peer does not read
 *
 * @most is what TCP takes before the peer has to read.  Programs that write
 * much before they read rely on it.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_sndbuf_set_limit(struct sdp_conn *conn, u32 least, u32 most)
{
	if (likely(least == READ_ONCE(conn->tx.limit_least) &&
		   most == READ_ONCE(conn->tx.limit_most)))
		return;
	spin_lock_bh(&conn->lock);
	trace_sdp_snd_limit(conn->id, conn->tx.limit, least, conn->tx.outstanding);
	WRITE_ONCE(conn->tx.limit_least, least);
	WRITE_ONCE(conn->tx.limit_most, most);
	WRITE_ONCE(conn->tx.limit, least);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_sndbuf_grow() - double the limit if the peer does not read
 * @conn: the connection, conn->lock held; a writer waits for room
 *
 * The peer does not read if a message waits for a credit and nothing is in
 * flight: the peer's buffers are all full, and it gives none back.  Two
 * programs that write to each other before they read would wait for ever, where
 * TCP takes what its larger buffers hold.  This only costs memory until the
 * peer reads: sdp_tx_wc() resets the limit when nothing is outstanding.
 *
 * Context: process or softirq.
 */
void sdp_sndbuf_grow(struct sdp_conn *conn)
{
	u32 limit = conn->tx.limit, most = conn->tx.limit_most;

	if (likely(!conn->tx.waiting || conn->tx.inflight) ||
	    limit >= most || sdp_mem_is_short())
		return;
	most = min_t(u64, limit * 2ULL, most);
	trace_sdp_snd_limit(conn->id, limit, most, conn->tx.outstanding);
	WRITE_ONCE(conn->tx.limit, most);
}

/**
 * sdp_sndbuf_outq() - bytes that the peer's device does not have yet
 * @conn: the connection
 * @unsent: without those that are on their way
 *
 * Context: process or softirq, no spinlock of the connection held.
 * Return: bytes.
 */
u32 sdp_sndbuf_outq(struct sdp_conn *conn, bool unsent)
{
	u32 bytes;

	spin_lock_bh(&conn->lock);
	bytes = conn->tx.outstanding + sdp_zsrc_async_bytes(&conn->zsrc_async);
	if (unsent)
		bytes -= conn->tx.inflight_bytes;
	spin_unlock_bh(&conn->lock);
	return bytes;
}
