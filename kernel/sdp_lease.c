// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that stays lent when the call has returned.
 *
 * Who sends with MSG_ZEROCOPY, or by io_uring's SEND_ZC, leaves his buffer alone
 * until he is told; and the pages of a file that sendfile() or splice() bring are
 * only referred to.  So the call need not wait for the peer as sdp_offer.c does:
 * the pieces take their places in the stream, others send behind them, and what
 * becomes of them is the connection's affair.
 *
 * Each piece is a lease, a loan that belongs to the connection.  Its way is that
 * of any loan (QUEUED, OUT, BACK, FREE), with these differences:
 *   - a lease that is next in the stream when the peer has told of a reader's
 *     buffer becomes an RDMA Write into it, if it fits;
 *   - what the peer refuses goes by copy, before all that is queued behind it
 *     (zsrc_async.lapsed keeps that back meanwhile).  The worker copies: there is no
 *     caller whose time it is, and a completion may not sleep;
 *   - so does what the peer has not come for within net.sdp.zcopy_wait; see
 *     sdp_timers.c.  A peer that does not answer that either loses the
 *     connection, so no page is held for ever;
 *   - when it is free the worker returns the memory, and tells its owner whether
 *     it was copied in the end.
 *
 * A program may have lent four times what SO_SNDBUF lets it have outstanding
 * (SDP_TX_LENT).  What is refused of that is copied whether there is room or not.
 *
 * The owner is told through an skb, empty but for the ubuf_info that it carries:
 * that is how the kernel's own users are told, and io_uring takes it as the sign
 * that something was sent without a copy.  A call that copied has one as well,
 * and hangs it on the last lease, so that calls are told of in their order.
 */
#include <linux/sched/mm.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include "sdp_lease.h"
#include "sdp_loan.h"
#include "sdp_offer.h"
#include "sdp_tx.h"

struct sk_buff *sdp_lease_note(struct ubuf_info *uarg)
{
	struct sk_buff *note = alloc_skb(0, GFP_KERNEL_ACCOUNT);

	if (note)
		skb_zcopy_set(note, uarg, NULL);
	return note;
}

void sdp_lease_tell(struct sk_buff *note, bool lent)
{
	if (!note)
		return;
	skb_zcopy_clear(note, lent);
	consume_skb(note);
}

void sdp_lease_tell_in_turn(struct sdp_conn *conn, struct sk_buff *note,
			    bool lent)
{
	struct sdp_loan *last;

	note->cb[0] = lent;
	spin_lock_bh(&conn->lock);
	if (conn->zsrc_async.lent) {
		last = list_last_entry(&conn->zsrc.loans, struct sdp_loan, node);
		__skb_queue_tail(&last->notes, note);
		note = NULL;
	} else if (conn->zsrc_async.telling) {
		__skb_queue_tail(&conn->zsrc_async.notes, note);
		note = NULL;
	}
	spin_unlock_bh(&conn->lock);
	sdp_lease_tell(note, lent);
}

bool sdp_lease_pays(const struct sdp_conn *conn, const struct iov_iter *iter)
{
	if (!iov_iter_is_bvec(iter))
		return sdp_offer_pays(conn, iter);
	/* How much of it lies together is seen when it is held. */
	return iov_iter_count(iter) >= sdp_conn_zcopy(conn);
}

bool sdp_lease_begin(struct sdp_conn *conn, size_t len)
{
	u32 least = sdp_conn_zcopy(conn);
	bool may;

	if (!least || len < least || !sdp_offer_can(conn))
		return false;
	spin_lock_bh(&conn->lock);
	may = sdp_zpolicy_may_offer(&conn->zpolicy, conn->mode.src.held.n);
	spin_unlock_bh(&conn->lock);
	if (!may)
		sdp_loan_copied(conn, SDP_CNT_COPIED_HABIT, len);
	return may;
}

static void sdp_lease_return(struct sdp_conn *conn, struct sdp_loan *loan)
{
	struct sk_buff *note = loan->note;
	struct sk_buff_head notes;
	bool lent = !loan->copied;

	__skb_queue_head_init(&notes);
	skb_queue_splice(&loan->notes, &notes);
	sdp_loan_return(conn, loan);
	sdp_lease_tell(note, lent);
	while ((note = __skb_dequeue(&notes)))
		sdp_lease_tell(note, note->cb[0]);
}

/* Who has copied since the last one was taken from the list. */
static struct sk_buff *sdp_lease_told(struct sdp_conn *conn)
{
	struct sk_buff *note;

	spin_lock_bh(&conn->lock);
	note = __skb_dequeue(&conn->zsrc_async.notes);
	conn->zsrc_async.telling = note;
	spin_unlock_bh(&conn->lock);
	return note;
}

ssize_t sdp_lease_more(struct sdp_conn *conn, struct page_frag *frag,
		       struct iov_iter *iter, struct ubuf_info *uarg)
{
	struct sdp_loan *loan;
	u32 bytes;
	int err;

	if (!sdp_tx_space(conn))
		return -EAGAIN;
	/* Short ones: the call does not wait, so several are under way. */
	bytes = sdp_loan_piece(conn, iov_iter_count(iter), true);
	loan = sdp_loan_make(conn, SDP_OP_TAKE_BACK, DMA_TO_DEVICE, iter,
			     bytes, bytes);
	if (IS_ERR(loan))
		return PTR_ERR(loan);
	loan->lease = true;
	if (uarg) {
		loan->note = sdp_lease_note(uarg);
		if (!loan->note) {
			sdp_loan_return(conn, loan);
			return -ENOBUFS;
		}
	}
	bytes = loan->span.bytes;
	err = sdp_offer_message(conn, frag, loan);
	if (!err)
		err = sdp_tx_queue_offer(conn, loan->msg);
	if (err) {
		sdp_lease_return(conn, loan);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

/* The first that was refused; without one the stream goes on. */
static struct sdp_loan *sdp_lease_refused(struct sdp_conn *conn)
{
	struct sdp_loan *loan, *found = NULL;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(loan, &conn->zsrc.loans, node) {
		if (!loan->rest || conn->dead)
			continue;
		loan->copied = true;
		found = loan;
		break;
	}
	if (!found)
		conn->zsrc_async.lapsed = false;
	spin_unlock_bh(&conn->lock);
	return found;
}

/* On the account of who lent it, be it above his limit, as what he copies himself; or
 * on none.
 */
static struct sdp_msg *sdp_lease_msg(struct sdp_conn *conn,
				     struct page_frag *frag, u32 *room)
{
	struct mem_cgroup *old = sdp_set_active_memcg(READ_ONCE(conn->payer));
	struct sdp_msg *msg;
	u32 want = *room;

	msg = sdp_msg_alloc(conn, frag, SDP_MID_DATA, want,
			    sdp_buf_gfp(GFP_KERNEL | __GFP_HIGH), room);
	sdp_set_active_memcg(old);
	return msg ?: sdp_msg_alloc(conn, frag, SDP_MID_DATA, want, GFP_KERNEL,
				    room);
}

enum { SDP_LEASE_NAP = HZ / 50 + 1 };	/* when memory is short */

/* Messages of what of it has not gone; all of it, or the connection is over. */
static void sdp_lease_copy(struct sdp_conn *conn, struct sdp_loan *loan,
			   struct page_frag *frag, struct list_head *msgs)
{
	u32 skip = loan->moved, room;
	struct sdp_msg *msg;

	while (skip < loan->span.bytes && !READ_ONCE(conn->dead)) {
		room = min_t(u32, loan->span.bytes - skip,
			     READ_ONCE(conn->snd_max));
		msg = sdp_lease_msg(conn, frag, &room);
		if (!msg) {
			schedule_timeout_uninterruptible(SDP_LEASE_NAP);
			continue;
		}
		sdp_span_copy(&loan->span, skip, sdp_msg_payload_at(msg), room);
		sdp_msg_grow(frag, msg, room);
		skip += room;
		msg->full = true;
		msg->more = skip < loan->span.bytes;
		list_add_tail(&msg->node, msgs);
	}
}

/* What was refused goes in its place, by copy. */
static void sdp_lease_copy_all(struct sdp_conn *conn)
{
	struct list_head *behind = &conn->tx.queue;
	struct page_frag frag = {};
	struct sdp_loan *loan;
	LIST_HEAD(msgs);

	while ((loan = sdp_lease_refused(conn))) {
		sdp_loan_copied(conn, loan->why, loan->span.bytes - loan->moved);
		sdp_lease_copy(conn, loan, &frag, &msgs);
		sdp_tx_queue_rest(conn, loan, &msgs, &behind);
	}
	if (frag.page)
		put_page(frag.page);
}

/* The oldest, if it is free and need not be copied any more. */
static struct sdp_loan *sdp_lease_take(struct sdp_conn *conn)
{
	struct sdp_loan *loan;

	spin_lock_bh(&conn->lock);
	loan = list_first_entry_or_null(&conn->zsrc.loans, struct sdp_loan, node);
	if (loan && loan->lease && loan->state == SDP_LOAN_FREE &&
	    (!loan->rest || conn->dead)) {
		list_del(&loan->node);
		WRITE_ONCE(conn->zsrc_async.lent, conn->zsrc_async.lent - loan->span.bytes);
		sdp_conn_stats_zcopied(&conn->stats, loan->moved);
		sdp_count(conn->sn, SDP_CNT_LENT, loan->moved);
		conn->zsrc_async.telling = true;
	} else {
		loan = NULL;
	}
	spin_unlock_bh(&conn->lock);
	return loan;
}

void sdp_lease_settle(struct sdp_conn *conn)
{
	struct sdp_loan *loan;
	struct sk_buff *note;

	if (READ_ONCE(conn->zsrc_async.lapsed))
		sdp_lease_copy_all(conn);
	while ((loan = sdp_lease_take(conn)))
		sdp_lease_return(conn, loan);
	while ((note = sdp_lease_told(conn)))
		sdp_lease_tell(note, note->cb[0]);
	/* What waited for it goes, or who waits for room is told. */
	sdp_tx_run(conn);
}
