// SPDX-License-Identifier: GPL-2.0
/*
 * What a sender may have outstanding: messages that are queued or under way, and
 * memory of its own that is.
 *
 * To a peer that reads it is SO_SNDBUF, or net.sdp.sndbuf_bytes; to one that does not
 * it may be as much as TCP takes then.  Above net.sdp.mem_max it is one message.
 */
#include "sdp_check.h"
#include "sdp_sndbuf.h"

/**
 * sdp_sndbuf_charge() - count a message as outstanding
 * @conn: the connection, conn->lock held
 * @msg: the message, on no list
 *
 * Context: process or softirq.
 * Return: false if the connection is gone, and so is the message.
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
 * sdp_sndbuf_set_limit() - how many bytes may be outstanding
 * @conn: the connection
 * @least: bytes, to a peer that reads
 * @most: bytes, to one that does not: so much TCP takes before somebody has to
 *	read, and programs rely on it that write much before they read
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_sndbuf_set_limit(struct sdp_conn *conn, u32 least, u32 most)
{
	if (likely(least == READ_ONCE(conn->tx.limit_least) &&
		   most == READ_ONCE(conn->tx.limit_most)))
		return;
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(conn->tx.limit_least, least);
	WRITE_ONCE(conn->tx.limit_most, most);
	WRITE_ONCE(conn->tx.limit, least);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_sndbuf_grow() - a writer waits for room: let it have more if nobody reads
 * @conn: the connection, conn->lock held
 *
 * A writer waits, and the peer has all that it has buffers for and gives none back:
 * nobody reads there.  Two programs that write to each other before they read would
 * wait for ever, where TCP takes what its larger buffers hold.  It is no more than
 * memory until the peer reads: sdp_tx_wc() takes it back with the last byte.
 *
 * Context: process or softirq.
 */
void sdp_sndbuf_grow(struct sdp_conn *conn)
{
	u32 limit = conn->tx.limit;

	if (likely(!conn->tx.waiting || conn->tx.inflight) ||
	    limit >= conn->tx.limit_most || sdp_mem_is_short())
		return;
	WRITE_ONCE(conn->tx.limit, min_t(u64, limit * 2ULL, conn->tx.limit_most));
}
