// SPDX-License-Identifier: GPL-2.0
/*
 * Writing to where the peer's reader wants it.
 *
 * A reader who waits with a large buffer tells of it by a SinkAvail, before there
 * is anything to be read (protocol text, 4.4).  What is sent next, if it is long,
 * is written there by RDMA: no copy on either side, and half a round trip less
 * than by SrcAvail.  A RdmaWrCompl tells how much, once: when the buffer is
 * nearly full, or when the call has nothing more to write.
 *
 * What is short goes by copy, as Data, which makes the SinkAvail void.
 *
 * A piece waits in its turn of the stream.  If the SinkAvail is gone by then, it
 * is withdrawn, and the caller sees to it that it goes another way.  Its memory
 * is registered for the device's own use, under a key that no peer has, and until
 * the write is completed: the device may have to repeat it.
 */
#include <linux/uio.h>
#include "sdp_fill.h"
#include "sdp_loan.h"
#include "sdp_tx.h"

/* Room in the SinkAvail that is next, behind what waits to be written there. */
static s64 sdp_fill_room(struct sdp_conn *conn, bool *waits)
{
	const struct sdp_advert *to;
	struct sdp_loan *loan;
	s64 room = 0;

	*waits = false;
	spin_lock_bh(&conn->lock);
	to = sdp_src_may_write(&conn->mode.src);
	if (to)
		room = to->left;
	list_for_each_entry(loan, &conn->zsrc.loans, node) {
		*waits = true;
		if (loan->state == SDP_LOAN_QUEUED)
			room -= loan->span.bytes;
	}
	spin_unlock_bh(&conn->lock);
	return room;
}

ssize_t sdp_fill_more(struct sdp_conn *conn, struct iov_iter *iter, u32 bytes)
{
	struct sdp_loan *loan;
	bool waits;
	size_t most;
	s64 room;
	int err;

	room = sdp_fill_room(conn, &waits);
	if (room < sdp_loan_write_least(conn))
		return waits ? 0 : -ENOBUFS;
	most = min_t(s64, sdp_loan_piece(conn, iov_iter_count(iter), false),
		     room);
	loan = sdp_loan_make(conn, SDP_OP_WRITE, DMA_TO_DEVICE, iter,
			     min_t(size_t, bytes, most), most);
	if (IS_ERR(loan))
		return PTR_ERR(loan);
	bytes = loan->span.bytes;
	loan->msg = &loan->op;
	loan->op.full = true;
	loan->op.more = iov_iter_count(iter) > bytes;
	err = sdp_tx_queue_offer(conn, loan->msg);
	if (err) {
		sdp_loan_return(conn, loan);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

void sdp_fill_end(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	conn->zsrc.filling = false;
	conn->tx.ctl |= SDP_CTL_WR_COMPL;
}
