// SPDX-License-Identifier: GPL-2.0
/*
 * The ring of receive buffers.
 *
 * It starts with the four buffers below which the credit rules cannot work
 * (protocol text, 3.3) and doubles when the peer has used all but a quarter of
 * what it knows of: it sends faster than we give credits back.  (What counts
 * is what it knows of, not what is posted.  With four, each told one by one,
 * three are always posted, and a peer that may use one at a time crawls.)  The
 * growth is bounded by the receive queue, by net.sdp.rcvbuf_count and by
 * SO_RCVBUF.
 *
 * Order matters twice: a buffer is posted before it is counted, since Bufs
 * must never promise what is not there; and both under tx.lock, since Bufs is
 * read there.
 */
#include "sdp_ring.h"
#include "sdp_trace.h"

void sdp_ring_set_max(struct sdp_conn *conn, u32 bytes)
{
	u32 max = min(bytes / conn->rcv_size, READ_ONCE(conn->sn->rcvbuf_count));

	WRITE_ONCE(conn->rx.max, max_t(u32, max, SDP_WIRE_CREDITS_MIN));
}

/* Memory of a ring whose reader does not read, as TCP's first window. */
enum { SDP_RING_UNREAD = 128 * 1024 };

/* The last two are not for data: a peer that knows of no more is stopped. */
enum { SDP_RING_NOT_DATA = 2 };

void sdp_ring_used(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->tx.lock);
	if (sdp_flow_known(&conn->tx.flow) <=
	    max(READ_ONCE(conn->rx.target) / 4, SDP_RING_NOT_DATA))
		WRITE_ONCE(conn->rx.low, true);
}

static u16 sdp_ring_wanted(struct sdp_conn *conn, bool reading)
{
	u16 max, target;

	spin_lock_bh(&conn->rx.lock);
	max = READ_ONCE(conn->rx.max);
	if (!reading)
		max = min_t(u32, max, SDP_RING_UNREAD / conn->rcv_size);
	target = conn->rx.target;
	/* Not while there is less than was wanted the last time; and what a
	 * reader would let grow waits for him.
	 */
	if (conn->rx.low && conn->rx.nbufs >= target) {
		WRITE_ONCE(conn->rx.low, target >= max && !reading);
		if (target < max)
			target = min_t(u32, target * 2, max);
	}
	conn->rx.target = max_t(u16, min(target, READ_ONCE(conn->rx.max)),
				SDP_WIRE_CREDITS_MIN);
	target = conn->rx.target > conn->rx.nbufs ?
		 conn->rx.target - conn->rx.nbufs : 0;
	spin_unlock_bh(&conn->rx.lock);
	return target;
}

int sdp_ring_post(struct sdp_conn *conn, struct list_head *bufs, bool reading)
{
	struct sdp_buf *buf, *next;
	u16 grow = sdp_ring_wanted(conn, reading);
	int posted = 0;

	while (grow--) {
		buf = sdp_buf_alloc(conn, GFP_KERNEL);
		if (!buf)
			break;
		list_add_tail(&buf->node, bufs);
	}
	spin_lock_bh(&conn->tx.lock);
	list_for_each_entry_safe(buf, next, bufs, node) {
		if (conn->tx.dead)
			break;
		list_del_init(&buf->node);
		if (conn->xp->post_recv(conn, buf)) {
			list_add(&buf->node, bufs);
			break;
		}
		posted++;
	}
	sdp_flow_posted(&conn->tx.flow, posted);
	trace_sdp_post_recv(conn->id, posted, conn->tx.flow.posted);
	spin_unlock_bh(&conn->tx.lock);

	list_for_each_entry_safe(buf, next, bufs, node) {
		list_del_init(&buf->node);
		sdp_buf_free(conn, buf);
	}
	return posted;
}
