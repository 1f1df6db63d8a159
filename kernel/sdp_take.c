// SPDX-License-Identifier: GPL-2.0
/*
 * Reading what the peer offers to where the reader wants it.
 *
 * A caller who sleeps in recv() with a large buffer is woken by the SrcAvail as
 * by any message.  He pins a piece of his buffer, registers it for the device's
 * own use, and posts an RDMA Read into it, for several pieces one after the
 * other; and he does not leave before the device has let go of the last, since
 * from then on the memory is the program's again.  Neither side copies.
 *
 * It is possible when what is offered is what he would read next: nothing that
 * came before lies unread, and none of it is being fetched for somebody else.
 * One reader does this at a time; another one waits.
 *
 * Adverts come when they like, and a reader who takes everything at once still
 * is away for a moment between two calls.  So what is offered then is left to him
 * for a moment before it is fetched, if he was the last who read.
 */
#include <linux/uio.h>
#include "sdp_loan.h"
#include "sdp_take.h"
#include "sdp_tx.h"

bool sdp_take_wants(struct sdp_conn *conn, const struct iov_iter *iter,
		    size_t len)
{
	u32 least = sdp_conn_zcopy(conn);
	bool wants = least && len >= least && conn->caps.may_read &&
		     user_backed_iter(iter) && sdp_iter_len(iter) >= least;

	if (wants)
		WRITE_ONCE(conn->rx.takers, conn->rx.takers + 1);
	if (wants != READ_ONCE(conn->rx.lazy))
		WRITE_ONCE(conn->rx.lazy, wants);
	return wants;
}

void sdp_take_wanted(struct sdp_conn *conn, bool again)
{
	WRITE_ONCE(conn->rx.takers, conn->rx.takers - 1);
	if (!again)
		WRITE_ONCE(conn->rx.lazy, false);
	smp_mb();	/* who saw him left the rest to him: he looks now */
}

/* Is what the peer offers next in the stream, and nobody's? */
static bool sdp_take_is_next(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	return !conn->dead && !conn->zsink.hold_reads &&
	       sdp_snk_may_read(&conn->mode.snk) && !sdp_conn_unread(conn);
}

bool sdp_take_begin(struct sdp_conn *conn)
{
	bool mine = false;

	if (!READ_ONCE(conn->mode.snk.held.n))
		return false;
	spin_lock_bh(&conn->lock);
	if (!conn->zsink.taking && sdp_take_is_next(conn)) {
		conn->zsink.taking = true;
		conn->zsink.gave_up = false;
		mine = true;
	}
	spin_unlock_bh(&conn->lock);
	return mine;
}

/* Bytes that the next read may have, and of which advert; 0: none now. */
static u32 sdp_take_offered(struct sdp_conn *conn, u32 *id)
{
	const struct sdp_advert *from;
	u32 bytes = 0;

	spin_lock_bh(&conn->lock);
	from = sdp_snk_may_read(&conn->mode.snk);
	if (sdp_take_is_next(conn) && list_empty(&conn->zsink.reads) &&
	    !conn->zsink.gave_up) {
		*id = from->mseq;
		bytes = from->left;
	}
	spin_unlock_bh(&conn->lock);
	return bytes;
}

/* Its turn is behind what is being read.  -ENODEV: there is no connection any more. */
static int sdp_take_queue(struct sdp_conn *conn, struct sdp_loan *loan)
{
	int err = sdp_loan_lend(conn, loan);

	if (err)
		return err;
	spin_lock_bh(&conn->lock);
	/* Nothing is listed behind sdp_tx_drop(). */
	if (conn->dead) {
		err = -ENODEV;
	} else {
		list_add_tail(&loan->op.node, &conn->zsink.reads);
		list_add_tail(&loan->node, &conn->zsink.takes);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

ssize_t sdp_take_more(struct sdp_conn *conn, struct iov_iter *iter, size_t len)
{
	struct sdp_loan *loan;
	size_t bytes, most;
	u32 id;
	int err;

	bytes = min_t(size_t, sdp_take_offered(conn, &id), len);
	if (!bytes)
		return 0;
	most = sdp_loan_piece(conn, bytes, false);
	bytes = sdp_loan_piece(conn, bytes,
			       list_empty_careful(&conn->zsink.takes));
	loan = sdp_loan_make(conn, SDP_OP_READ, DMA_FROM_DEVICE, iter, bytes,
			     most);
	if (IS_ERR(loan))
		return PTR_ERR(loan);
	bytes = loan->span.bytes;
	loan->op.mseq = id;
	err = sdp_take_queue(conn, loan);
	if (err) {
		sdp_loan_return(conn, loan);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

size_t sdp_take_reap(struct sdp_conn *conn)
{
	struct sdp_loan *loan;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(loan, &conn->zsink.takes, node) {
		/* Not what the peer offers now, or nothing goes any more. */
		if (loan->state == SDP_LOAN_QUEUED &&
		    (conn->err || !sdp_tx_may_take(conn, loan))) {
			list_del_init(&loan->op.node);
			loan->state = SDP_LOAN_FREE;
			/* And nothing behind it: there would be a hole. */
			conn->zsink.gave_up = true;
		}
	}
	spin_unlock_bh(&conn->lock);
	return sdp_loan_reap(conn, &conn->zsink.takes);
}

void sdp_take_end(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	conn->zsink.taking = false;
	spin_unlock_bh(&conn->lock);
	/* Another reader, who waited. */
	if (wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}
