// SPDX-License-Identifier: GPL-2.0
/*
 * Lending a caller's memory to the peer.
 *
 * A long blocking send() is not copied.  It is cut into pieces; each is pinned,
 * registered for the peer to read, and offered by a SrcAvail in its turn of the
 * stream (protocol text, 4.3).  In pipelined mode several are out at a time, so
 * that pinning one overlaps with reading another.  When the peer has told that a
 * piece is read its key is taken back, and when the device has done that the
 * pages are unpinned: only then does the call return.
 *
 * Who lends is alone: whoever else sends meanwhile waits as if there were no
 * room, since what a refusal (SendSm) gives back must go by copy before anything
 * that comes later in the stream.
 *
 * A loan is QUEUED until its SrcAvail is posted, then OUT.  It comes BACK when
 * the peer has read it or refuses, and is FREE when its key leads nowhere: by
 * the completion of the request that says so, or with the queue pair.
 *
 * Where the peer has told of a reader's buffer, by SinkAvail, the next pieces are
 * written there instead: see sdp_fill.c.  Memory that stays lent when the call has
 * returned is a lease: see sdp_lease.c.
 */
#include <linux/uio.h>
#include "sdp_fill.h"
#include "sdp_loan.h"
#include "sdp_offer.h"
#include "sdp_tx.h"

enum {
	/* A SrcAvail of combined mode brings so many bytes with it: fewer and
	 * some peers drop them, and read them again (4.3).
	 */
	SDP_OFFER_INLINE	= 64,
	/* In combined mode one is out, and the next is made meanwhile. */
	SDP_OFFER_COMBINED	= 2,
};

bool sdp_offer_can(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->caps.may_lend) &&
	       READ_ONCE(conn->snd_max) >= sizeof(struct sdp_wire_srcah) +
					   SDP_OFFER_INLINE;
}

bool sdp_offer_pays(const struct sdp_conn *conn, const struct iov_iter *iter)
{
	u32 least = sdp_conn_zcopy(conn);

	return least && iov_iter_count(iter) >= least &&
	       user_backed_iter(iter) && sdp_iter_len(iter) >= least &&
	       sdp_offer_can(conn);
}

bool sdp_offer_prefers(struct sdp_conn *conn, size_t len, u64 now)
{
	enum sdp_zpolicy_way way;

	spin_lock_bh(&conn->lock);
	way = sdp_zpolicy_begin(&conn->zpolicy, len, now);
	spin_unlock_bh(&conn->lock);
	return way == SDP_WAY_ZCOPY;
}

void sdp_offer_spent(struct sdp_conn *conn, size_t len, bool lent, u64 ns)
{
	spin_lock_bh(&conn->lock);
	sdp_zpolicy_end(&conn->zpolicy, len, lent ? SDP_WAY_ZCOPY : SDP_WAY_COPY, ns);
	spin_unlock_bh(&conn->lock);
}

enum sdp_counter sdp_offer_begin(struct sdp_conn *conn)
{
	enum sdp_counter why = 0;

	spin_lock_bh(&conn->lock);
	if (conn->dead || conn->zsrc.lending || conn->zsrc_async.lent)
		why = SDP_CNT_COPIED_BUSY;
	else if (!sdp_zpolicy_may_offer(&conn->zpolicy, conn->mode.src.held.n))
		why = SDP_CNT_COPIED_HABIT;
	if (!why) {
		WRITE_ONCE(conn->zsrc.lending, true);
		conn->zsrc.withdrawn = false;
		conn->zsrc.lent_at = jiffies;
	}
	spin_unlock_bh(&conn->lock);
	return why;
}

/* Does a SrcAvail made now belong to pipelined mode? */
static bool sdp_offer_pipelined(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->mode.req_pipe) && conn->mode.src.max > 1;
}

static bool sdp_offer_has_room(struct sdp_conn *conn)
{
	u8 max = sdp_offer_pipelined(conn) ? conn->mode.src.max :
					     SDP_OFFER_COMBINED;
	struct list_head *loan;

	max = min_t(u32, max, READ_ONCE(conn->sn->zcopy_adverts));

	/* The list is the caller's, but for the state of what is on it. */
	list_for_each(loan, &conn->zsrc.loans)
		if (!--max)
			return false;
	return true;
}

int sdp_offer_message(struct sdp_conn *conn, struct page_frag *frag,
		      struct sdp_loan *loan)
{
	u32 want = sdp_offer_pipelined(conn) ? 0 : SDP_OFFER_INLINE;
	struct sdp_msg *msg;
	u32 room;

	msg = sdp_msg_alloc(conn, frag, SDP_MID_SRC_AVAIL, want, GFP_KERNEL,
			    &room);
	if (!msg)
		return -ENOMEM;
	if (room < want) {
		sdp_msg_free(conn, msg);
		return -ENOMEM;
	}
	msg->full = true;
	/* What the device reads, and not what is mapped there by now, if anything. */
	sdp_span_copy(&loan->span, 0, sdp_msg_payload_at(msg), want);
	sdp_msg_grow(frag, msg, want);
	msg->loan = loan;
	msg->slots = 2;
	loan->msg = msg;
	return 0;
}

ssize_t sdp_offer_more(struct sdp_conn *conn, struct page_frag *frag,
		       struct iov_iter *iter)
{
	struct sdp_loan *loan;
	u32 bytes, most;
	int err;

	if (!sdp_offer_has_room(conn))
		return 0;
	most = sdp_loan_piece(conn, iov_iter_count(iter), false);
	bytes = sdp_loan_piece(conn, iov_iter_count(iter),
			       list_empty_careful(&conn->zsrc.loans));
	if (READ_ONCE(conn->mode.src.held.n))
		return sdp_fill_more(conn, iter, bytes);
	loan = sdp_loan_make(conn, SDP_OP_TAKE_BACK, DMA_TO_DEVICE, iter,
			     bytes, most);
	if (IS_ERR(loan))
		return PTR_ERR(loan);
	bytes = loan->span.bytes;
	err = sdp_offer_message(conn, frag, loan);
	if (!err)
		err = sdp_tx_queue_offer(conn, loan->msg);
	if (err) {
		sdp_loan_return(conn, loan);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

size_t sdp_offer_reap(struct sdp_conn *conn)
{
	size_t bytes = sdp_loan_reap(conn, &conn->zsrc.loans);

	if (bytes) {
		sdp_count(conn->sn, SDP_CNT_LENT, bytes);
		spin_lock_bh(&conn->lock);
		sdp_conn_stats_zcopied(&conn->stats, bytes);
		spin_unlock_bh(&conn->lock);
	}
	return bytes;
}

bool sdp_offer_is_out(struct sdp_conn *conn)
{
	return !list_empty_careful(&conn->zsrc.loans);
}

void sdp_offer_cancel(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	sdp_tx_withdraw(conn);
	if (sdp_src_may_cancel(&conn->mode.src))
		conn->tx.ctl |= SDP_CTL_SRC_CANCEL;
	conn->zsrc.lent_at = jiffies;
	spin_unlock_bh(&conn->lock);
}

void sdp_offer_end(struct sdp_conn *conn)
{
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(conn->zsrc.lending, false);
	if (!conn->zsrc.withdrawn)
		sdp_zpolicy_offered(&conn->zpolicy, true);
	sdp_fill_end(conn);
	spin_unlock_bh(&conn->lock);
	/* Who waits for room may be told, or his DisConn go. */
	sdp_tx_run(conn);
	if (wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

void sdp_offer_told(struct sdp_conn *conn, const struct sdp_advert_told *told)
{
	struct sdp_loan *loan;
	u32 bytes = told->bytes;
	u8 done = told->done;

	lockdep_assert_held(&conn->lock);
	list_for_each_entry(loan, &conn->zsrc.loans, node) {
		/* What is written is ours alone. */
		if (loan->state != SDP_LOAN_OUT || loan->op.op == SDP_OP_WRITE)
			continue;
		loan->moved += bytes;
		bytes = 0;
		if (!done && !(told->news & SDP_ADVERT_WITHDRAWN))
			break;
		sdp_loan_comes_back(conn, loan);
		if (done)
			done--;
		if (!loan->lease)
			continue;
		if (loan->moved < loan->span.bytes)
			sdp_loan_lapse(conn, loan, SDP_CNT_COPIED_REFUSED);
		else
			sdp_zpolicy_offered(&conn->zpolicy, true);
	}
	if (told->news & SDP_ADVERT_WITHDRAWN && !conn->mode.src.held.n)
		sdp_zpolicy_offered(&conn->zpolicy, false);
	if (told->news & SDP_ADVERT_WITHDRAWN && conn->zsrc.lending &&
	    !conn->zsrc.withdrawn) {
		sdp_tx_withdraw(conn);
		if (!conn->mode.src.held.n)
			sdp_count(conn->sn, SDP_CNT_OFFERS_REFUSED, 1);
	} else if (conn->zsrc_async.lapsed && !conn->mode.src.held.n) {
		sdp_count(conn->sn, SDP_CNT_OFFERS_REFUSED, 1);
	}
	sdp_conn_stats_taken(&conn->stats, told->bytes);
	sdp_count(conn->sn, SDP_CNT_BYTES_SENT, told->bytes);
	sdp_timers_moved(&conn->timers, jiffies);
	conn->zsrc.lent_at = jiffies;
	conn->tx.done |= SDP_TX_DONE_LOAN;
}
