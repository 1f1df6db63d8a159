// SPDX-License-Identifier: GPL-2.0
/*
 * From a built message to the wire: what goes next.
 *
 * Order of service when credits come (protocol text, 3.2): control messages
 * first, then data, then DisConn behind the last data, and an empty Data only
 * if nothing else went that told the peer of new buffers.  Headers and posting
 * are sdp_post.c's, control messages sdp_ctl.c's, and what a completion means is
 * in sdp_tx_wc.c.
 *
 * A last message with room behind it may be held back, so that small writes
 * travel together: sdp_cork.c has the rules.  What it waits for then is
 * the completion of what was sent before, or the user, or a timer.
 *
 * Completions.  A send completion gives memory back and nothing more, so its
 * queue is not armed unless somebody needs the event: a writer who waits for
 * room, a DisConn or AbortConn under way, RDMA, messages that wait for a place in
 * the send queue or are held back, or more than SDP_TX_LINGER bytes that would
 * otherwise stay behind on an idle connection.  Otherwise completions are
 * reaped when the next message is posted.
 *
 * Who owns a message: the caller while he fills it; tx.queue; tx.posted and
 * the device; then it is freed.
 */
#include "sdp_check.h"
#include "sdp_chrcvbuf.h"
#include "sdp_ctl.h"
#include "sdp_loan.h"
#include "sdp_post.h"
#include "sdp_trace.h"
#include "sdp_tx.h"

enum {
	SDP_TX_CORK_MS		= 200,
	SDP_TX_LINGER		= 16 * 1024,	/* bytes, see above */
	SDP_TX_REAP		= 8,		/* messages under way */
};

/* Count it as outstanding; false if the connection is gone, and so is it. */
static bool sdp_tx_charge(struct sdp_conn *conn, struct sdp_msg *msg)
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
	sdp_msg_fit(conn);
	return true;
}

/* Behind what is queued. */
static void sdp_tx_enqueue(struct sdp_conn *conn, struct sdp_msg *msg)
{
	if (!sdp_tx_charge(conn, msg))
		return;
	list_add_tail(&msg->node, &conn->tx.queue);
	conn->tx.oob += msg->urgent;
}

/* The message that was to offer something is not needed. */
static void sdp_tx_drop_offer(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->lock);
	list_del_init(&msg->node);
	WRITE_ONCE(conn->tx.outstanding, conn->tx.outstanding - msg->charged);
	sdp_msg_free(conn, msg);
}

void sdp_tx_queue(struct sdp_conn *conn, struct sdp_msg *msg)
{
	spin_lock_bh(&conn->lock);
	sdp_tx_enqueue(conn, msg);
	spin_unlock_bh(&conn->lock);
}

/* What is lent has the connection's clocks run as what is copied has. */
static void sdp_tx_enqueue_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	lockdep_assert_held(&conn->lock);
	sdp_check_begin(conn);
	list_add_tail(&msg->node, &conn->tx.queue);
}

/* Of what is lent beyond a call nobody waits for the end but the connection. */
static void sdp_tx_lease(struct sdp_conn *conn, const struct sdp_loan *loan)
{
	if (!conn->zsrc_async.lent)
		conn->zsrc.lent_at = jiffies;
	WRITE_ONCE(conn->zsrc_async.lent, conn->zsrc_async.lent + loan->span.bytes);
	sdp_check_async(conn);
}

int sdp_tx_queue_offer(struct sdp_conn *conn, struct sdp_msg *msg)
{
	bool lease = msg->loan->lease;
	int err = sdp_loan_lend(conn, msg->loan);

	spin_lock_bh(&conn->lock);
	/* Nothing is listed behind sdp_tx_drop(). */
	if (!err && (conn->dead || conn->tx.fin_queued || conn->err ||
		     (!lease && conn->zsrc.withdrawn)))
		err = -ECANCELED;
	if (err) {
		sdp_msg_free(conn, msg);
	} else {
		if (lease)
			sdp_tx_lease(conn, msg->loan);
		list_add_tail(&msg->loan->node, &conn->zsrc.loans);
		if (msg->op == SDP_OP_WRITE)
			sdp_tx_enqueue_write(conn, msg);
		else
			sdp_tx_enqueue(conn, msg);
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

void sdp_tx_queue_rest(struct sdp_conn *conn, struct sdp_loan *loan,
		       struct list_head *msgs, struct list_head **behind)
{
	struct list_head *at = *behind;
	struct sdp_msg *msg, *next;

	spin_lock_bh(&conn->lock);
	if (loan->msg)
		at = &loan->msg->node;
	list_for_each_entry_safe(msg, next, msgs, node) {
		list_del_init(&msg->node);
		if (!sdp_tx_charge(conn, msg))
			continue;
		list_add(&msg->node, at);
		at = &msg->node;
	}
	if (loan->msg)
		sdp_tx_drop_offer(conn, loan->msg);
	else
		*behind = at;
	loan->rest = false;
	spin_unlock_bh(&conn->lock);
}

void sdp_tx_withdraw(struct sdp_conn *conn)
{
	struct sdp_loan *loan;

	lockdep_assert_held(&conn->lock);
	conn->zsrc.withdrawn = true;
	list_for_each_entry(loan, &conn->zsrc.loans, node)
		if (loan->state == SDP_LOAN_QUEUED)
			sdp_tx_drop_offer(conn, loan->msg);
	conn->tx.done |= SDP_TX_DONE_LOAN;
}

struct sdp_msg *sdp_tx_take_tail(struct sdp_conn *conn,
				 const struct page_frag *frag)
{
	struct sdp_msg *msg = NULL;

	if (list_empty_careful(&conn->tx.queue))
		return NULL;
	spin_lock_bh(&conn->lock);
	if (!list_empty(&conn->tx.queue)) {
		msg = list_last_entry(&conn->tx.queue, struct sdp_msg, node);
		if (sdp_msg_room(conn, frag, msg)) {
			list_del_init(&msg->node);
			sdp_cork_taken_back(&conn->cork);
		} else {
			msg = NULL;
		}
	}
	spin_unlock_bh(&conn->lock);
	return msg;
}

/* Jiffies that corked bytes wait, whatever comes: as long as TCP holds back. */
static unsigned long sdp_tx_cork_most(void)
{
	return msecs_to_jiffies(SDP_TX_CORK_MS);
}

/* The time that was set for corked bytes is over. */
static void sdp_tx_uncork(struct sdp_conn *conn)
{
	unsigned long left = sdp_cork_timer(&conn->cork, jiffies,
					    sdp_tx_cork_most());

	if (left)
		sdp_conn_uncork_later(conn, left);
}

/* Does the next message, which is the last, wait for more behind it? */
static bool sdp_tx_hold(struct sdp_conn *conn, const struct sdp_msg *msg)
{
	bool partial = !msg->full && !msg->more && !conn->tx.fin_queued &&
		       list_is_last(&msg->node, &conn->tx.queue);
	unsigned long now = jiffies;

	switch (sdp_cork_hold(&conn->cork, &conn->flow, partial,
			      conn->tx.inflight, now)) {
	case SDP_HOLD_NONE:
		return false;
	case SDP_HOLD_CORK:
		sdp_conn_uncork_later(conn, sdp_cork_left(&conn->cork, now,
							  sdp_tx_cork_most()));
		break;
	case SDP_HOLD_SENT:
		break;
	}
	return true;
}

/* A SrcAvail that has nothing inline is for pipelined mode: lead us there. */
static bool sdp_tx_needs_pipeline(const struct sdp_conn *conn,
				  const struct sdp_msg *msg)
{
	return !msg->payload && conn->mode.src.mode == SDP_MODE_COMBINED;
}

/* May what comes next of the stream be posted as it is? (4.1 to 4.4) */
static bool sdp_tx_may_follow(const struct sdp_conn *conn,
			      const struct sdp_msg *msg)
{
	const struct sdp_src *src = &conn->mode.src;

	if (likely(!msg->loan))
		return sdp_src_may_copy(src);
	if (sdp_tx_needs_pipeline(conn, msg))
		return sdp_src_may_change(src, SDP_MODE_PIPELINED);
	return sdp_src_may_offer(src) && sdp_mode_has_advert(&conn->mode) &&
	       src->out.n < READ_ONCE(conn->sn->zcopy_adverts);
}

/* What it offers is the peer's to read from now on. */
static void sdp_tx_fill_offer(struct sdp_conn *conn, struct sdp_msg *msg,
			      struct sdp_wire_msg *hdr)
{
	sdp_loan_fill_avail(msg->loan, hdr);
	msg->loan->moved = msg->payload;
}

static void sdp_tx_stream_posted(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_src *src = &conn->mode.src;

	if (likely(!msg->loan)) {
		sdp_src_copied(src);
		return;
	}
	sdp_src_offered(src, msg->mseq, msg->loan->span.bytes - msg->payload,
			msg->payload);
	/* The peer may have ended it before this message's completion comes. */
	msg->loan = NULL;
	conn->zsrc.lent_at = jiffies;
	sdp_count(conn->sn, SDP_CNT_OFFERS, 1);
}

/* Write what is next of the stream to where the peer's reader wants it. */
static bool sdp_tx_push_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_src *src = &conn->mode.src;
	const struct sdp_advert *to = sdp_src_may_write(src);
	struct sdp_loan *loan = msg->loan;

	/* Taken back meanwhile, or made void by what was copied. */
	if (!to || to->left < loan->span.bytes) {
		sdp_tx_withdraw(conn);
		return true;
	}
	if (!sdp_post_may_register(conn))
		return false;
	msg->bytes = loan->span.bytes;
	msg->va = to->va;
	msg->rkey = to->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	loan->state = SDP_LOAN_OUT;
	loan->msg = NULL;
	conn->zsrc.filling = msg->more;
	conn->tx.ctl |= SDP_CTL_WR_COMPL;
	sdp_conn_stats_written(&conn->stats, msg->bytes);
	conn->zsrc.lent_at = jiffies;
	sdp_count(conn->sn, SDP_CNT_BYTES_SENT, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_WRITTEN, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_RDMA_WRITES, 1);
	trace_sdp_write(conn->id, msg->bytes, to->rkey);
	sdp_src_wrote(src, msg->bytes);
	sdp_post_op(conn, msg);
	return true;
}

/*
 * A lease is next, and the peer has told where its reader wants that: it is
 * written there if there is room for it, and copied if not.
 */
static bool sdp_tx_push_lease(struct sdp_conn *conn, struct sdp_msg *msg)
{
	const struct sdp_advert *to = sdp_src_may_write(&conn->mode.src);
	struct sdp_loan *loan = msg->loan;

	/* Something is owed for what is there: that goes first. */
	if (!to || conn->mode.src.wrote)
		return false;
	if (to->left < loan->span.bytes) {
		sdp_loan_lapse(conn, loan, SDP_CNT_COPIED_REFUSED);
		return false;
	}
	if (!sdp_post_may_register(conn))
		return false;
	loan->op.op = SDP_OP_WRITE;
	loan->op.slots = 2;
	loan->op.full = true;
	loan->msg = &loan->op;
	list_add(&loan->op.node, &msg->node);
	sdp_tx_drop_offer(conn, msg);
	return sdp_tx_push_write(conn, &loan->op);
}

static bool sdp_tx_push_data(struct sdp_conn *conn)
{
	struct sdp_wire_msg hdr = {};
	struct sdp_msg *msg;

	msg = list_first_entry(&conn->tx.queue, struct sdp_msg, node);
	if (unlikely(msg->op == SDP_OP_WRITE))
		return sdp_tx_push_write(conn, msg);
	if (unlikely(msg->loan && msg->loan->lease &&
		     conn->mode.src.held.n))
		return sdp_tx_push_lease(conn, msg);
	if (sdp_tx_hold(conn, msg) || !sdp_tx_may_follow(conn, msg))
		return false;
	if (!sdp_post_may(conn, SDP_MID_DATA, SDP_FLOW_PAYLOAD)) {
		if (!conn->tx.waiting)
			sdp_count(conn->sn, SDP_CNT_CREDIT_WAITS, 1);
		conn->tx.waiting = true;
		sdp_check_starved(conn);
		return sdp_chrcvbuf_ask_more(conn, msg);	/* that goes first */
	}
	conn->tx.waiting = false;
	if (unlikely(msg->loan)) {
		if (sdp_tx_needs_pipeline(conn, msg))
			return sdp_ctl_push_pipelined(conn);
		if (!sdp_post_may_register(conn))
			return false;
		sdp_tx_fill_offer(conn, msg, &hdr);
	}
	sdp_peer_ring_used(&conn->peer_ring);
	list_del_init(&msg->node);
	sdp_post_msg(conn, msg, &hdr, !msg->full ||
		     (!msg->more && list_empty(&conn->tx.queue)));
	sdp_tx_stream_posted(conn, msg);
	sdp_chrcvbuf_posted(conn, msg);
	if (!msg->full)
		sdp_cork_posted(&conn->cork, msg->mseq);
	return true;
}

/* Have the device forget a registration whose memory is ours again. */
static bool sdp_tx_push_back(struct sdp_conn *conn)
{
	struct sdp_msg *msg;

	msg = list_first_entry(&conn->tx.back, struct sdp_msg, node);
	list_del_init(&msg->node);
	msg->signalled = true;
	sdp_post_op(conn, msg);
	return true;
}

bool sdp_tx_may_take(const struct sdp_conn *conn, const struct sdp_loan *loan)
{
	const struct sdp_advert *from = sdp_snk_may_read(&conn->mode.snk);

	return from && from->mseq == loan->op.mseq &&
	       from->left >= loan->span.bytes;
}

/* Read what the peer offers to where it is wanted. */
static bool sdp_tx_push_read(struct sdp_conn *conn)
{
	struct sdp_snk *snk = &conn->mode.snk;
	const struct sdp_advert *from;
	struct sdp_msg *msg;
	u32 room;

	from = sdp_snk_may_read(snk);
	if (!from || conn->zsink.hold_reads)
		return false;
	msg = list_first_entry(&conn->zsink.reads, struct sdp_msg, node);
	room = msg->loan ? msg->loan->span.bytes : msg->buf->size;
	if (msg->loan && (!sdp_tx_may_take(conn, msg->loan) ||
			  !sdp_post_may_register(conn)))
		return false;
	msg->bytes = min(room, from->left);
	msg->va = from->va;
	msg->rkey = from->rkey;
	msg->signalled = true;
	list_del_init(&msg->node);
	if (msg->loan)
		msg->loan->state = SDP_LOAN_OUT;
	sdp_snk_reads(snk, msg->bytes);
	sdp_count(conn->sn, SDP_CNT_RDMA_READS, 1);
	trace_sdp_read(conn->id, msg->bytes, from->rkey, !!msg->loan);
	sdp_post_op(conn, msg);
	return true;
}

/* One message, the most urgent first; false when nothing more may go. */
static bool sdp_tx_push_one(struct sdp_conn *conn)
{
	bool owed = sdp_reg_order_owed(&conn->reg);

	if (conn->tx.abort_posted || conn->tx.broken)
		return false;
	if (unlikely(conn->tx.ctl & SDP_CTL_KEEPALIVE)) {
		if (!sdp_post_nothing(conn))
			return false;
		sdp_count(conn->sn, SDP_CNT_KEEPALIVES, 1);
		return true;
	}
	if (conn->tx.ctl && sdp_ctl_push(conn))
		return true;
	if (unlikely(!list_empty(&conn->tx.back)))
		return sdp_tx_push_back(conn);
	if (unlikely(!list_empty(&conn->zsink.reads)) && !owed &&
	    sdp_tx_push_read(conn))
		return true;
	/* Or there would always be something under way. */
	if (unlikely(sdp_reg_order_waits(&conn->reg)))
		return false;
	sdp_reg_order_take_owed(&conn->reg);
	if (unlikely(conn->zsrc_async.lapsed)) {
		;	/* of the stream something else is next */
	} else if (!list_empty(&conn->tx.queue)) {
		if (sdp_tx_push_data(conn))
			return true;
		sdp_reg_order_owe(&conn->reg);
	} else if (conn->tx.fin_queued && !conn->tx.fin_posted &&
		   sdp_src_may_copy(&conn->mode.src)) {
		if (sdp_ctl_push_fin(conn))
			return true;
	}
	if (unlikely(sdp_reg_order_waits(&conn->reg)))
		return false;
	/* It is not a registration that keeps what is sent. */
	if (unlikely(owed && !list_empty(&conn->zsink.reads)) &&
	    sdp_tx_push_read(conn))
		return true;
	if (unlikely(sdp_peer_ring_uses_up(&conn->peer_ring)) && list_empty(&conn->tx.queue) &&
	    !conn->tx.fin_queued &&
	    sdp_ctl_push_data(conn, SDP_FLOW_PAYLOAD)) {
		sdp_peer_ring_used(&conn->peer_ring);
		return true;
	}
	return sdp_flow_owes_update(&conn->flow) &&
	       sdp_ctl_push_data(conn, SDP_FLOW_UPDATE);
}

static bool sdp_tx_may_post(const struct sdp_conn *conn)
{
	return conn->queues && conn->state >= SDP_ESTABLISHED &&
	       conn->state <= SDP_TIME_WAIT_1;
}

/* Is there a reason to be told of the next send completion? */
static bool sdp_tx_needs_event(const struct sdp_conn *conn)
{
	if (!conn->tx.inflight)
		return false;
	return conn->tx.want_space || sdp_cork_is_held(&conn->cork) ||
	       sdp_timers_asks(&conn->timers) || sdp_reg_order_waits(&conn->reg) ||
	       conn->tx.fin_posted || conn->tx.watched_ops ||
	       conn->tx.abort_posted ||
	       conn->tx.inflight_bytes > SDP_TX_LINGER ||
	       conn->tx.inflight >= conn->tx.sq_size ||
	       list_empty(&conn->tx.ctl_free);
}

static void __sdp_tx_run(struct sdp_conn *conn, bool reap)
{
	lockdep_assert_held(&conn->lock);
	if (test_and_clear_bit(SDP_CONN_UNCORK, &conn->flags))
		sdp_tx_uncork(conn);
	/* The event we armed for has come: there is something to reap. */
	if (test_and_clear_bit(SDP_CONN_FIRED_SEND, &conn->flags)) {
		conn->tx.armed = false;
		reap = true;
		conn->tx.fired = true;
	}
	if (unlikely(test_and_clear_bit(SDP_CONN_CHECK, &conn->flags))) {
		conn->xp->poll_send(conn);
		if (sdp_tx_may_post(conn))
			sdp_check(conn);
	}
	for (;;) {
		if (reap || conn->tx.inflight >= SDP_TX_REAP)
			conn->xp->poll_send(conn);
		conn->tx.fired = false;
		sdp_reg_order_begin(&conn->reg);
		if (sdp_tx_may_post(conn))
			while (conn->tx.inflight < conn->tx.sq_size &&
			       sdp_tx_push_one(conn))
				;
		/* Held back for what has arrived by now, perhaps. */
		if ((sdp_cork_is_held(&conn->cork) || sdp_reg_order_waits(&conn->reg)) && !reap) {
			reap = true;
			continue;
		}
		if (!sdp_tx_needs_event(conn))
			return;
		/* Somebody waits, and of what is under way nothing would be heard:
		 * who sent it was to send more, and cannot.
		 */
		if ((conn->tx.want_space || sdp_cork_is_held(&conn->cork)) &&
		    unlikely(conn->tx.inflight == conn->tx.unsignalled) &&
		    sdp_tx_may_post(conn) && !conn->tx.broken)
			sdp_post_nothing(conn);
		if (conn->tx.armed)
			return;
		conn->tx.armed = true;
		if (!conn->xp->arm_send(conn))
			return;
		conn->tx.armed = false;
		reap = true;
	}
}

/* Act on what sdp_tx_wc() found. */
static void sdp_tx_settle(struct sdp_conn *conn, u8 done)
{
	if (done & SDP_TX_DONE_LOST) {
		bool timed_out = READ_ONCE(conn->tx.timed_out);

		if (timed_out)
			sdp_count(conn->sn, SDP_CNT_TIMEOUTS, 1);
		sdp_conn_fail(conn, timed_out ? ETIMEDOUT : ECONNRESET,
			      SDP_EV_LOST, "send");
	}
	if (done & SDP_TX_DONE_TIMEOUT) {
		sdp_count(conn->sn, SDP_CNT_TIMEOUTS, 1);
		sdp_conn_fail(conn, ETIMEDOUT, SDP_EV_ABORT, "user timeout");
	}
	if (done & SDP_TX_DONE_FIN) {
		sdp_conn_event(conn, SDP_EV_FIN_SENT);
		/* All was delivered: from now on the peer has time to close. */
		if (READ_ONCE(conn->tx.orphan) &&
		    sdp_conn_state(conn) == SDP_FIN_WAIT_2)
			sdp_conn_start_timer(conn, READ_ONCE(conn->sn->fin_timeout));
	}
	if (done & SDP_TX_DONE_ABORT) {
		sdp_conn_stop_timer(conn);
		conn->xp->act(conn, SDP_DO_DREQ);
	}
	if (done & SDP_TX_DONE_SPACE)
		sdp_conn_write_space(conn);
	/* Leases are the worker's to return, and to copy. */
	if (unlikely(done & SDP_TX_DONE_LOAN && READ_ONCE(conn->zsrc_async.lent)))
		sdp_conn_queue_work(conn);
	if (done & SDP_TX_DONE_READ)
		sdp_conn_data_ready(conn);
	else if (done & SDP_TX_DONE_LOAN && wq_has_sleeper(&conn->wq))
		wake_up(&conn->wq);
}

void sdp_tx_set_limit(struct sdp_conn *conn, u32 least, u32 most)
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

/*
 * A writer waits, and the peer has all that it has buffers for and gives none back:
 * nobody reads there.  Two programs that write to each other before they read would
 * wait for ever, where TCP takes what its larger buffers hold.  It is no more than
 * memory until the peer reads: sdp_tx_wc() takes it back with the last byte.
 */
static void sdp_tx_grow(struct sdp_conn *conn)
{
	u32 limit = conn->tx.limit;

	if (likely(!conn->tx.waiting || conn->tx.inflight) ||
	    limit >= conn->tx.limit_most || sdp_mem_is_short())
		return;
	WRITE_ONCE(conn->tx.limit, min_t(u64, limit * 2ULL, conn->tx.limit_most));
}

static u8 sdp_tx_take_done(struct sdp_conn *conn)
{
	u8 done = conn->tx.done;

	if (conn->tx.want_space && !sdp_tx_writable(conn))
		sdp_tx_grow(conn);
	if (conn->tx.want_space && sdp_tx_writable(conn)) {
		conn->tx.want_space = false;
		done |= SDP_TX_DONE_SPACE;
	}
	conn->tx.done = 0;
	return done;
}

/*
 * The one way to the queue of sends, for all who post, reap, or only look.  Without
 * queues there is nothing to be done: what is asked for before there are some, by an
 * event of a pooled queue perhaps, stays in the flags.
 */
static u8 sdp_tx_try(struct sdp_conn *conn, bool reap)
{
	lockdep_assert_held(&conn->lock);
	if (!conn->queues)
		return 0;
	__sdp_tx_run(conn, reap);
	return sdp_tx_take_done(conn);
}

static void sdp_tx_go(struct sdp_conn *conn, bool reap)
{
	u8 done;

	spin_lock_bh(&conn->lock);
	done = sdp_tx_try(conn, reap);
	spin_unlock_bh(&conn->lock);
	if (done)
		sdp_tx_settle(conn, done);
}

void sdp_tx_run(struct sdp_conn *conn)
{
	sdp_tx_go(conn, false);
}

void sdp_tx_reap(struct sdp_conn *conn)
{
	sdp_tx_go(conn, true);
}

void sdp_tx_set_delay(struct sdp_conn *conn, u8 delay)
{
	if (sdp_cork_delay(&conn->cork) == delay)
		return;
	if (!(delay & SDP_DELAY_CORK))
		sdp_conn_uncork_never(conn);
	spin_lock_bh(&conn->lock);
	clear_bit(SDP_CONN_UNCORK, &conn->flags);
	sdp_cork_set_delay(&conn->cork, delay);
	spin_unlock_bh(&conn->lock);
}

bool sdp_tx_want_space(struct sdp_conn *conn)
{
	bool room, others;
	u8 done;

	spin_lock_bh(&conn->lock);
	others = conn->tx.want_space;
	if (!conn->dead)
		conn->tx.want_space = true;
	done = sdp_tx_try(conn, true);
	room = conn->dead || !conn->tx.want_space;
	spin_unlock_bh(&conn->lock);
	/* Who asks now sees the room himself; who asked before sleeps. */
	sdp_tx_settle(conn, others ? done : done & ~SDP_TX_DONE_SPACE);
	return room;
}

/* What a caller has on loan he leaves on the list until it is free. */
static bool sdp_tx_hold_back(struct list_head *loans)
{
	struct sdp_loan *loan;

	list_for_each_entry(loan, loans, node)
		loan->state = SDP_LOAN_BACK;
	return !list_empty(loans);
}

/*
 * The device's part goes now, as no queue pair leads to it, and the pages with it.
 * The callers may be kept by one that does not come, and a device that is removed
 * does not wait for that.  The lists stay as they are meanwhile: nobody takes from
 * them what is not free, or puts anything behind it when the connection is dead.
 */
static void sdp_tx_unlend(struct sdp_conn *conn, struct list_head *loans)
{
	struct sdp_loan *loan;

	list_for_each_entry(loan, loans, node) {
		if (loan->span.mr)
			conn->xp->unlend(conn, &loan->span);
		/* A lease is copied from perhaps, and the worker's to return. */
		if (!loan->lease)
			sdp_span_try_unpin(&loan->span);
	}
	spin_lock_bh(&conn->lock);
	list_for_each_entry(loan, loans, node)
		loan->state = SDP_LOAN_FREE;
	spin_unlock_bh(&conn->lock);
}

void sdp_tx_drop(struct sdp_conn *conn)
{
	struct sdp_msg *msg, *next;
	bool loans, takes, asks;
	LIST_HEAD(drop);

	sdp_conn_uncork_never(conn);
	sdp_conn_check_never(conn);
	sdp_conn_fetch_never(conn);
	spin_lock_bh(&conn->lock);
	list_splice_init(&conn->tx.posted, &drop);
	list_splice_tail_init(&conn->tx.queue, &drop);
	list_splice_tail_init(&conn->zsink.reads, &drop);
	list_splice_tail_init(&conn->tx.back, &drop);
	conn->tx.inflight = 0;
	conn->tx.inflight_bytes = 0;
	conn->tx.rtt.timed = NULL;
	conn->tx.watched_ops = 0;
	list_for_each_entry_safe(msg, next, &drop, node) {
		list_del_init(&msg->node);
		conn->tx.outstanding -= msg->charged;
		sdp_msg_free(conn, msg);
	}
	loans = sdp_tx_hold_back(&conn->zsrc.loans);
	takes = sdp_tx_hold_back(&conn->zsink.takes);
	asks = sdp_tx_hold_back(&conn->zsink.asks);
	spin_unlock_bh(&conn->lock);
	if (loans)
		sdp_tx_unlend(conn, &conn->zsrc.loans);
	if (takes)
		sdp_tx_unlend(conn, &conn->zsink.takes);
	if (asks)
		sdp_tx_unlend(conn, &conn->zsink.asks);
	if (READ_ONCE(conn->zsrc_async.lent))
		sdp_conn_queue_work(conn);
	sdp_conn_write_space(conn);
}
