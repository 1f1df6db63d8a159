// SPDX-License-Identifier: GPL-2.0
/*
 * The zero-copy source, asynchronous: memory stays advertised after its call
 * has returned.
 *
 * A program that sends with MSG_ZEROCOPY, or by io_uring's SEND_ZC, leaves its
 * buffer alone until it is notified.  The pages of a file that sendfile() or
 * splice() bring are only referenced.  So the call need not wait for the peer
 * as in sdp_zsrc.c: the pieces take their places in the stream, others send
 * behind them, and the connection sees to what becomes of them.
 *
 * Each piece has the same states as any (QUEUED, ADVERTISED, INVALIDATING,
 * IDLE), with these differences:
 *   - A piece that is next in the stream when the peer has advertised a
 *     reader's buffer becomes an RDMA Write into it, if it fits.
 *   - What the peer refuses goes by copy, before all that is queued behind it
 *     (zsrc_async.refused holds that back meanwhile).  The worker copies: there
 *     is no caller whose time it could take, and a completion may not sleep.
 *   - The same goes for what the peer has not read within net.sdp.zcopy_wait.
 *     A peer that does not answer the cancel either loses the connection, so no
 *     page is held for ever.
 *   - When a piece is IDLE the worker returns the memory, and notifies the
 *     program that sent it, and says whether it was copied in the end.
 *
 * Async memory is limited to four times what SO_SNDBUF allows to be outstanding
 * (SDP_SNDBUF_ASYNC).  What is refused of it is copied whether there is room or
 * not.
 *
 * The notification is an skb, empty but for the ubuf_info that it carries.
 * That is how the kernel's own users are notified, and io_uring takes it as the
 * sign that something was sent without a copy.  A call that copied has a
 * notification as well.  It is queued on the last piece, so that calls are
 * notified in their order.
 */
#include <linux/sched/mm.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include "sdp_check.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_umr.h"
#include "sdp_zsrc.h"
#include "sdp_zsrc_async.h"

/**
 * sdp_zsrc_async_note() - make a notification
 * @uarg: whom to notify; a reference is taken
 *
 * Context: process; sleeps.
 * Return: the notification, for sdp_zsrc_async_tell(); NULL without memory.
 */
struct sk_buff *sdp_zsrc_async_note(struct ubuf_info *uarg)
{
	struct sk_buff *note = alloc_skb(0, GFP_KERNEL_ACCOUNT);

	if (note)
		skb_zcopy_set(note, uarg, NULL);
	return note;
}

/**
 * sdp_zsrc_async_tell() - notify the sender that its memory is free
 * @note: from sdp_zsrc_async_note(), freed here; or NULL
 * @zcopied: no byte of it was copied
 *
 * Context: process.
 */
void sdp_zsrc_async_tell(struct sk_buff *note, bool zcopied)
{
	if (!note)
		return;
	skb_zcopy_clear(note, zcopied);
	consume_skb(note);
}

/**
 * sdp_zsrc_async_tell_in_turn() - notify, but not before what was sent earlier
 * @conn: the connection; the caller has the socket lock
 * @note: from sdp_zsrc_async_note(), not the caller's after
 * @zcopied: no byte of it was copied
 *
 * Context: process.
 */
void sdp_zsrc_async_tell_in_turn(struct sdp_conn *conn, struct sk_buff *note,
				 bool zcopied)
{
	struct sdp_umr *last;

	note->cb[0] = zcopied;
	spin_lock_bh(&conn->lock);
	if (conn->zsrc_async.bytes) {
		last = list_last_entry(sdp_zsrc_umrs(&conn->zsrc), struct sdp_umr, node);
		__skb_queue_tail(&last->notes, note);
		note = NULL;
	} else if (conn->zsrc_async.telling) {
		__skb_queue_tail(&conn->zsrc_async.notes, note);
		note = NULL;
	}
	spin_unlock_bh(&conn->lock);
	sdp_zsrc_async_tell(note, zcopied);
}

/* Is what is next long enough to be advertised?  Pages (ITER_BVEC) may be
 * referenced.
 */
static bool sdp_zsrc_async_pays(const struct sdp_conn *conn, const struct iov_iter *iter)
{
	if (!iov_iter_is_bvec(iter))
		return sdp_zsrc_pays(conn, iter);
	/* How much of it one piece can hold is seen when it is held. */
	return iov_iter_count(iter) >= sdp_conn_zcopy(conn);
}

/* Should a call of @len bytes leave its memory advertised?  Not if they are few,
 * or cannot be advertised; and not for a while after adverts that were of no
 * use: @why says that.
 */
static bool sdp_zsrc_async_begin(struct sdp_conn *conn, size_t len, enum sdp_counter *why)
{
	u32 least = sdp_conn_zcopy(conn);
	bool may;

	if (!least || len < least || !sdp_zsrc_can(conn))
		return false;
	spin_lock_bh(&conn->lock);
	may = sdp_zpolicy_may_offer(&conn->zpolicy, conn->mode.src.held.n);
	spin_unlock_bh(&conn->lock);
	if (!may)
		*why = SDP_CNT_COPIED_HABIT;
	return may;
}

static void sdp_zsrc_async_return(struct sdp_conn *conn, struct sdp_umr *umr)
{
	struct sk_buff *note = umr->note;
	struct sk_buff_head notes;
	bool zcopied = !umr->copied;

	__skb_queue_head_init(&notes);
	skb_queue_splice(&umr->notes, &notes);
	sdp_umr_return(conn, umr);
	sdp_zsrc_async_tell(note, zcopied);
	while ((note = __skb_dequeue(&notes)))
		sdp_zsrc_async_tell(note, note->cb[0]);
}

/* Next notification of a call that copied, while another was notified. */
static struct sk_buff *sdp_zsrc_async_told(struct sdp_conn *conn)
{
	struct sk_buff *note;

	spin_lock_bh(&conn->lock);
	note = __skb_dequeue(&conn->zsrc_async.notes);
	conn->zsrc_async.telling = note;
	spin_unlock_bh(&conn->lock);
	return note;
}

/*
 * Advertise the next piece of the stream, and advance the iterator.
 * sdp_tx_run() posts it in its turn.  Returns the bytes, from 1; -EAGAIN without
 * room; -EMSGSIZE if the piece is so short that it is better copied; another
 * error if all has to be copied.
 */
static ssize_t sdp_zsrc_async_more(struct sdp_conn *conn, struct page_frag *frag,
				   struct iov_iter *iter, struct ubuf_info *uarg)
{
	struct sdp_umr *umr;
	u32 bytes;
	int err = -ENOBUFS;

	if (!sdp_sndbuf_space(conn))
		return -EAGAIN;
	umr = sdp_zsrc_avail(conn, frag, iter, true);
	if (IS_ERR(umr))
		return PTR_ERR(umr);
	bytes = umr->umem.bytes;
	if (uarg)
		umr->note = sdp_zsrc_async_note(uarg);
	if (!uarg || umr->note)
		err = sdp_zsrc_queue(conn, umr);
	else if (umr->msg)
		sdp_msg_free(conn, umr->msg);
	if (err) {
		sdp_zsrc_async_return(conn, umr);
		return err;
	}
	iov_iter_advance(iter, bytes);
	return bytes;
}

/**
 * sdp_zsrc_async_send() - send the next piece by leaving it advertised
 * @conn: the connection; the caller has the socket lock
 * @frag: where messages are cut from
 * @iter: what is to be sent; advanced by the piece.  Pages (ITER_BVEC) only if
 *	they may be referenced
 * @call: the call; says why the piece is copied, and whether all others are
 *
 * What the peer refuses of it is copied by the worker.
 *
 * Context: process; sleeps.
 * Return: bytes; 0: the piece is to be copied; -EAGAIN without room.
 */
ssize_t sdp_zsrc_async_send(struct sdp_conn *conn, struct page_frag *frag,
			    struct iov_iter *iter, struct sdp_zsrc_async_call *call)
{
	ssize_t n;

	call->why = 0;
	if (!call->begun) {
		call->begun = true;
		call->over = !sdp_zsrc_async_begin(conn, iov_iter_count(iter), &call->why);
	}
	if (call->over || !sdp_zsrc_async_pays(conn, iter))
		return 0;
	n = sdp_zsrc_async_more(conn, frag, iter, call->uarg);
	if (n > 0 || n == -EAGAIN)
		return n;
	/* If it is too short, this piece alone is copied. */
	call->over = n != -EMSGSIZE;
	call->why = sdp_umr_why(n);
	return 0;
}

/* The first piece to be copied; if there is none the stream goes on. */
static struct sdp_umr *sdp_zsrc_async_next(struct sdp_conn *conn)
{
	struct sdp_umr *umr, *found = NULL;

	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, sdp_zsrc_umrs(&conn->zsrc), node) {
		if (!umr->rest || conn->dead)
			continue;
		umr->copied = true;
		found = umr;
		break;
	}
	if (!found)
		conn->zsrc_async.refused = false;
	spin_unlock_bh(&conn->lock);
	return found;
}

/* Charged to the owner, even above the limit, as what the owner copies itself;
 * if that fails, to nobody.
 */
static struct sdp_msg *sdp_zsrc_async_msg(struct sdp_conn *conn,
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

enum { SDP_ZSRC_ASYNC_NAP = HZ / 50 + 1 };	/* jiffies, when memory is short */

/* Make messages of what of @umr has not gone.  Ends when all is copied, or when
 * the connection is dead.
 */
static void sdp_zsrc_async_copy(struct sdp_conn *conn, struct sdp_umr *umr,
				struct page_frag *frag, struct list_head *msgs)
{
	u32 skip = umr->moved, room;
	struct sdp_msg *msg;

	while (skip < umr->umem.bytes && !READ_ONCE(conn->dead)) {
		room = min_t(u32, umr->umem.bytes - skip,
			     READ_ONCE(conn->snd_max));
		msg = sdp_zsrc_async_msg(conn, frag, &room);
		if (!msg) {
			schedule_timeout_uninterruptible(SDP_ZSRC_ASYNC_NAP);
			continue;
		}
		sdp_umem_copy(&umr->umem, skip, sdp_msg_payload_at(msg), room);
		sdp_msg_grow(frag, msg, room);
		skip += room;
		msg->full = true;
		msg->more = skip < umr->umem.bytes;
		list_add_tail(&msg->node, msgs);
	}
}

/* Queue the copies of @umr in its place: at its SrcAvail if that is still
 * queued, or else behind what was copied before it.
 */
static void sdp_zsrc_async_queue_rest(struct sdp_conn *conn, struct sdp_umr *umr,
				      struct list_head *msgs, struct list_head **behind)
{
	struct list_head *at = *behind;
	struct sdp_msg *msg, *next;

	spin_lock_bh(&conn->lock);
	if (umr->msg)
		at = &umr->msg->node;
	list_for_each_entry_safe(msg, next, msgs, node) {
		list_del_init(&msg->node);
		if (!sdp_sndbuf_charge(conn, msg))
			continue;
		list_add(&msg->node, at);
		at = &msg->node;
	}
	if (umr->msg)
		sdp_zsrc_drop_msg(conn, umr->msg);
	else
		*behind = at;
	umr->rest = false;
	spin_unlock_bh(&conn->lock);
}

/* Copy all refused pieces, each into its place in the stream. */
static void sdp_zsrc_async_copy_all(struct sdp_conn *conn)
{
	struct list_head *behind = &conn->tx.queue;
	struct page_frag frag = {};
	struct sdp_umr *umr;
	LIST_HEAD(msgs);

	while ((umr = sdp_zsrc_async_next(conn))) {
		sdp_umr_copied(conn, umr->why, umr->umem.bytes - umr->moved);
		sdp_zsrc_async_copy(conn, umr, &frag, &msgs);
		sdp_zsrc_async_queue_rest(conn, umr, &msgs, &behind);
	}
	if (frag.page)
		put_page(frag.page);
}

/* Take the oldest off the list if it is IDLE and has nothing left to copy. */
static struct sdp_umr *sdp_zsrc_async_take(struct sdp_conn *conn)
{
	struct sdp_umr *umr;

	spin_lock_bh(&conn->lock);
	umr = list_first_entry_or_null(sdp_zsrc_umrs(&conn->zsrc), struct sdp_umr, node);
	if (umr && umr->async && umr->state == SDP_UMR_IDLE &&
	    (!umr->rest || conn->dead)) {
		list_del(&umr->node);
		WRITE_ONCE(conn->zsrc_async.bytes, conn->zsrc_async.bytes - umr->umem.bytes);
		sdp_conn_stats_zcopied(&conn->stats, umr->moved);
		sdp_count(conn->sn, SDP_CNT_LENT, umr->moved);
		conn->zsrc_async.telling = true;
	} else {
		umr = NULL;
	}
	spin_unlock_bh(&conn->lock);
	return umr;
}

/**
 * sdp_zsrc_async_settle() - copy what was refused, return what is IDLE, notify
 * @conn: the connection
 *
 * Context: process, the connection's worker; sleeps.
 */
void sdp_zsrc_async_settle(struct sdp_conn *conn)
{
	struct sdp_umr *umr;
	struct sk_buff *note;

	if (READ_ONCE(conn->zsrc_async.refused))
		sdp_zsrc_async_copy_all(conn);
	while ((umr = sdp_zsrc_async_take(conn)))
		sdp_zsrc_async_return(conn, umr);
	while ((note = sdp_zsrc_async_told(conn)))
		sdp_zsrc_async_tell(note, note->cb[0]);
	/* Messages that waited for this may go, or senders be told of room. */
	sdp_tx_run(conn);
}

/**
 * sdp_zsrc_async_check() - withdraw async memory that the peer is late with
 * @conn: the connection, conn->lock held
 *
 * Async memory is cancelled if the peer does not read it in time.  It is not
 * kept either for what could not even be advertised: that is copied.
 *
 * Context: process or softirq.
 * Return: jiffies until the next look; SDP_TIMERS_NEVER if there is nothing; 0
 * if the peer does not answer at all: the connection is to end.
 */
unsigned long sdp_zsrc_async_check(struct sdp_conn *conn)
{
	unsigned long now = jiffies;
	struct sdp_src *src = &conn->mode.src;
	/* A cancel that waits for a credit counts too: none may ever come. */
	bool cancel = src->cancel || (conn->tx.ctl & SDP_CTL_SRC_CANCEL &&
				      sdp_src_may_cancel(src));
	struct sdp_umr *umr = list_first_entry_or_null(sdp_zsrc_umrs(&conn->zsrc),
						       struct sdp_umr, node);
	/* Or only our own device has to end it (a write, an invalidation), but
	 * the peer has no buffer for a message that goes before that.
	 */
	bool last = cancel || (umr && !sdp_src_may_cancel(src) &&
			       (umr->state == SDP_UMR_ADVERTISED ||
				umr->state == SDP_UMR_INVALIDATING));
	unsigned long patience = sdp_check_patience(conn);
	unsigned long due = sdp_zsrc_at(&conn->zsrc) +
			    (last ? SDP_CHECK_CANCEL : patience);

	if (!conn->zsrc_async.bytes)
		return SDP_TIMERS_NEVER;
	/* When it is answered others may be outstanding: look again. */
	if (time_before(now, due))
		return min(due - now, patience);
	if (last)
		return 0;
	cancel = sdp_src_may_cancel(src);
	trace_sdp_src_late(conn->id, conn->zsrc_async.bytes,
			   cancel ? "cancelled" : "copied");
	if (cancel) {
		conn->tx.ctl |= SDP_CTL_SRC_CANCEL;
		sdp_zsrc_moved(&conn->zsrc, now);
	}
	list_for_each_entry(umr, sdp_zsrc_umrs(&conn->zsrc), node) {
		if (!cancel && umr->state == SDP_UMR_QUEUED)
			sdp_zsrc_lapse(conn, umr, SDP_CNT_COPIED_LATE);
		else if (!umr->why)
			umr->why = SDP_CNT_COPIED_LATE;
	}
	return patience;
}
