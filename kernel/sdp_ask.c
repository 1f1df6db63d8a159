// SPDX-License-Identifier: GPL-2.0
/*
 * Telling the peer where a reader waits.
 *
 * A caller who is about to sleep in recv() with a large buffer has time to pin
 * it, and tells the peer of it by a SinkAvail (protocol text, 4.4).  What the
 * peer sends next it writes there, and its RdmaWrCompl ends the call.  Whatever
 * else the peer sends makes the SinkAvail void, and takes its usual way.
 *
 * That is worth it for who waits for what is long.  So it is not done where the
 * peer has never offered anything (a source is led to pipelined mode by its first
 * offers), and less and less where the last ones were of no use: sdp_zpolicy.c.
 * One is out at a time: with two, and the first not filled to its end, there
 * would be a hole.
 *
 * A reader may sleep for hours, and memory is not pinned for so long: after
 * net.sdp.zcopy_wait it is asked back, and he sleeps as any other.
 */
#include <linux/uio.h>
#include "sdp_ask.h"
#include "sdp_loan.h"
#include "sdp_tx.h"

bool sdp_ask_begin(struct sdp_conn *conn)
{
	bool mine;

	if (!READ_ONCE(conn->sn->zcopy_write) ||
	    READ_ONCE(conn->mode.snk.mode) != SDP_MODE_PIPELINED)
		return false;
	spin_lock_bh(&conn->lock);
	mine = !conn->dead && !conn->err && !conn->zsink.taking &&
	       sdp_mode_may_ask(&conn->mode, sdp_conn_unread(conn)) &&
	       sdp_zpolicy_may_ask(&conn->zpolicy);
	if (mine)
		conn->zsink.taking = true;
	spin_unlock_bh(&conn->lock);
	return mine;
}

static int sdp_ask_queue(struct sdp_conn *conn, struct sdp_loan *loan)
{
	int err = sdp_loan_lend(conn, loan);

	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	/* Nothing is listed behind sdp_tx_drop(). */
	if (conn->dead) {
		err = -ENODEV;
	} else {
		conn->tx.ctl |= SDP_CTL_SINK_AVAIL;
		list_add_tail(&loan->node, &conn->zsink.asks);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

int sdp_ask_make(struct sdp_conn *conn, const struct iov_iter *iter, size_t len)
{
	struct sdp_loan *loan;
	u32 bytes = sdp_loan_piece(conn, len, false);
	int err;

	loan = sdp_loan_make(conn, SDP_OP_TAKE_BACK, DMA_FROM_DEVICE, iter,
			     bytes, bytes);
	if (IS_ERR(loan))
		return PTR_ERR(loan);
	/* Any Data has to fit into it (4.4). */
	err = loan->span.bytes < conn->rcv_size ? -EMSGSIZE :
						  sdp_ask_queue(conn, loan);
	if (err)
		sdp_loan_return(conn, loan);
	return err;
}

size_t sdp_ask_reap(struct sdp_conn *conn)
{
	return sdp_loan_reap(conn, &conn->zsink.asks);
}

void sdp_ask_cancel(struct sdp_conn *conn)
{
	struct sdp_loan *loan;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(loan, &conn->zsink.asks, node)
		if (loan->state == SDP_LOAN_QUEUED)
			loan->state = SDP_LOAN_FREE;
	if (sdp_snk_may_cancel(&conn->mode.snk))
		conn->tx.ctl |= SDP_CTL_SINK_CANCEL;
	spin_unlock_bh(&conn->lock);
}

void sdp_ask_told(struct sdp_conn *conn, const struct sdp_advert_told *told)
{
	struct sdp_loan *loan;

	lockdep_assert_held(&conn->lock);
	loan = list_first_entry_or_null(&conn->zsink.asks, struct sdp_loan, node);
	if (!loan || loan->state != SDP_LOAN_OUT)
		return;
	loan->moved = told->bytes;
	sdp_loan_comes_back(conn, loan);
	conn->tx.done |= SDP_TX_DONE_LOAN;
	sdp_zpolicy_asked(&conn->zpolicy,
			  !sdp_mode_crossed(&conn->mode) && told->bytes);
	sdp_conn_stats_filled(&conn->stats, told->bytes);
	spin_lock(&conn->rx.lock);
	conn->rx.bytes += told->bytes;
	conn->rx.read += told->bytes;
	spin_unlock(&conn->rx.lock);
	sdp_count(conn->sn, SDP_CNT_BYTES_RECEIVED, told->bytes);
	sdp_count(conn->sn, SDP_CNT_FILLED, told->bytes);
}
