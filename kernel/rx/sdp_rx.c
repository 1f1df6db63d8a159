// SPDX-License-Identifier: GPL-2.0
/*
 * What arrives: decode, account, dispatch.
 *
 * The holder of rx.poll takes receive completions in the order of the stream.
 * For each one it looks at the status first, and at the bytes only if that is
 * good.  sdp_wire_get() refuses what is malformed, sdp_flow_heard() accounts
 * the message, sdp_mode_heard() says what it means.  The last two run under
 * conn->lock, since the next header that we write depends on them.  The verdict
 * is carried out here.
 *
 * What wakes others (data, end of stream, errors, credits) is collected and
 * told once per batch.  After an error nothing that arrives counts.
 *
 * One context polls at a time.  Another one that wants to poll sets
 * SDP_CONN_AGAIN and returns, and the holder polls once more before it leaves.
 * The transport's worker sets SDP_CONN_WANTED, is called again when rx.poll is
 * free, and has precedence then.
 *
 * The queue is armed at the end of every poll, since a connection that nobody
 * reads must still hear of credits, DisConn and errors.  Arming comes after
 * clearing SDP_CONN_FIRED_RECV, and the queue is polled again if it was not
 * empty when armed: no event is lost.
 */
#include <linux/sched/signal.h>
#include <linux/wait_bit.h>
#include "sdp_chrcvbuf.h"
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_trace.h"
#include "sdp_tx.h"
#include "sdp_umr.h"
#include "sdp_urg.h"
#include "sdp_zsink.h"
#include "sdp_zsink_bounce.h"
#include "sdp_zsrc.h"
#include "sdp_zsrc_async.h"

/* Completions taken in one go before the worker is left with the rest. */
enum { SDP_RX_BUDGET = 256 };

/* Payload of up to so many bytes is copied behind earlier payload. */
enum { SDP_RX_MERGE = 1024 };

/**
 * sdp_rx_start() - make the first buffers and post them
 * @conn: the connection; its queue pair is in INIT, nobody else knows it
 * @rq_size: receives that may be posted
 *
 * Context: process.
 * Return: how many are posted (the Bufs of our Hello or HelloAck); -ENOMEM if
 * that is fewer than SDP_WIRE_CREDITS_MIN.
 */
int sdp_rx_start(struct sdp_conn *conn, u16 rq_size)
{
	LIST_HEAD(none);
	int posted;

	sdp_ring_set_rq_size(&conn->ring, rq_size);
	spin_lock_bh(&conn->lock);
	sdp_flow_init(&conn->flow, 0, 0);
	spin_unlock_bh(&conn->lock);
	posted = sdp_refill_post(conn, &none, false);
	return posted < SDP_WIRE_CREDITS_MIN ? -ENOMEM : posted;
}

/*
 * Small payload is appended to the last buffer that no reader has taken over,
 * and its own buffer is posted again at once.  So many small messages do not
 * use up the ring, and a reader that waits for many bytes gets them.  While a
 * reader waits for more than has come, larger payload is appended as well: the
 * peer may have cut what it sends to the small buffers of the beginning, and
 * otherwise each of the large ones would hold one piece.
 */
static bool sdp_rx_merge(struct sdp_conn *conn, const void *from, u32 bytes,
			 u32 mark, ktime_t stamp)
{
	struct sdp_buf *last;
	u32 end;

	lockdep_assert_held(&conn->rx.lock);
	if (list_empty(&conn->rx.queue) ||
	    (bytes > SDP_RX_MERGE && !sdp_refill_is_waited(conn)))
		return false;
	last = list_last_entry(&conn->rx.queue, struct sdp_buf, node);
	end = last->off + last->left;
	if (last->mark || end + bytes > last->size)
		return false;
	memcpy(sdp_buf_addr(last) + end, from, bytes);
	last->left += bytes;
	last->mark = mark;
	last->stamp = stamp;	/* the newest, as with TCP */
	return true;
}

static void sdp_rx_deliver(struct sdp_conn *conn, struct sdp_buf *buf,
			   const struct sdp_wire_msg *msg, bool urgent)
{
	u32 bytes = sdp_wire_payload(msg);
	u32 off = msg->len - bytes;
	const u8 *from = sdp_buf_addr(buf) + off;
	ktime_t stamp = sdp_conn_stamp(conn);
	u32 mark = 0;

	spin_lock_bh(&conn->rx.lock);
	if (unlikely(urgent))
		mark = sdp_urg_arrived(conn, conn->rx.bytes + bytes - 1,
				       from[bytes - 1]);
	if (!sdp_rx_merge(conn, from, bytes, mark, stamp)) {
		buf->off = off;
		buf->left = bytes;
		buf->mark = mark;
		buf->stamp = stamp;
		list_move_tail(&buf->node, &conn->rx.queue);
	}
	conn->rx.inq += bytes;
	conn->rx.coming = false;
	conn->rx.bytes += bytes;
	spin_unlock_bh(&conn->rx.lock);
	conn->found.data = true;
	sdp_count(conn->sn, SDP_CNT_BYTES_RECEIVED, bytes);
}

/* Account the message and ask what it means. */
static int sdp_rx_heard(struct sdp_conn *conn, const struct sdp_buf *buf,
			const struct sdp_wire_msg *msg)
{
	int heard;

	spin_lock_bh(&conn->lock);
	heard = sdp_flow_heard(&conn->flow, msg);
	/* The device has invalidated the key by now: record it, or object. */
	if (unlikely(buf->invalidated) && !sdp_umr_invalidated(conn, buf->key))
		heard = -EPROTO;
	if (!heard && unlikely(sdp_ring_promised(&conn->ring)))
		sdp_refill_heard(conn);
	if (!heard)
		heard = sdp_mode_heard(&conn->mode, msg);
	if (trace_sdp_mode_enabled() && msg->mid == SDP_MID_MODE_CHANGE && heard >= 0)
		trace_sdp_mode(conn->id, msg->ext.mode & 0x80, msg->ext.mode >> 4 & 0x7);
	if (heard > 0) {
		/* sdp_conn_unread() must know before the bytes are queued. */
		if (heard & SDP_HEARD_DELIVER)
			WRITE_ONCE(conn->rx.coming, sdp_wire_payload(msg) != 0);
		if (unlikely(heard & SDP_HEARD_ADVERT))
			sdp_zsink_bounce_heard(conn, heard & SDP_HEARD_DELIVER);
		if (heard & SDP_HEARD_SENDSM)
			conn->tx.ctl |= SDP_CTL_SENDSM;
		if (unlikely(heard & SDP_HEARD_TOLD))
			sdp_zsrc_told(conn, &conn->mode.told);
		if (unlikely(heard & SDP_HEARD_FILLED))
			sdp_zsink_avail_told(conn, &conn->mode.filled);
		if (unlikely(heard & SDP_HEARD_OWES))
			conn->tx.ctl |= SDP_CTL_WR_COMPL | SDP_CTL_CANCEL_ACK;
		if (heard & SDP_HEARD_RCVBUF) {
			trace_sdp_rcvbuf_asked(conn->id, conn->rcv_size,
					       msg->ext.rcvsz, conn->flow.posted);
			sdp_ring_ask(&conn->ring, msg->ext.rcvsz,
				     READ_ONCE(conn->rx.read), READ_ONCE(conn->rx.inq));
		}
		if (heard & SDP_HEARD_RCVBUF_ACK)
			sdp_chrcvbuf_given(conn, msg->ext.rcvsz);
		if (heard & SDP_HEARD_SUSP_ACK)
			conn->tx.ctl |= SDP_CTL_SUSP_ACK;
	}
	if (unlikely(conn->flow.peer_bufs > SDP_PEER_RING_FEW) &&
	    unlikely(!sdp_peer_ring_is_grown(&conn->peer_ring)))
		sdp_chrcvbuf_grown(conn);
	sdp_refill_used(conn, msg->mid == SDP_MID_DATA && !sdp_wire_payload(msg));
	spin_unlock_bh(&conn->lock);
	return heard;
}

static void sdp_rx_urgent(struct sdp_conn *conn, bool pend, bool pres)
{
	spin_lock_bh(&conn->rx.lock);
	if (sdp_urg_announced(conn, pend, pres))
		set_bit(SDP_CONN_SIGURG, &conn->flags);
	spin_unlock_bh(&conn->rx.lock);
	conn->found.urgent = true;
	if (pres)
		sdp_count(conn->sn, SDP_CNT_URGENT_RECEIVED, 1);
}

/**
 * sdp_rx_arrived() - take a completed receive
 * @conn: the connection; rx.poll held
 * @buf: the buffer that was used
 * @bytes: how many bytes arrived
 * @status: 0, or what failed, for the trace
 *
 * Context: process; called by the transport's poll_recv().
 */
void sdp_rx_arrived(struct sdp_conn *conn, struct sdp_buf *buf, u32 bytes,
		    int status)
{
	enum sdp_wire_verdict verdict;
	struct sdp_wire_msg msg;
	int heard;

	trace_sdp_recv_done(conn->id, bytes, status);
	list_add_tail(&buf->node, &conn->rx.idle);
	buf->posted = false;
	if (status) {
		conn->found.lost = true;
		return;
	}
	if (unlikely(sdp_ring_has_old(&conn->ring)))
		sdp_refill_arrived(conn, buf);
	if (conn->found.fail || conn->found.reset || conn->rx.over)
		return;		/* nothing after an error counts */
	if (sdp_conn_state(conn) == SDP_SYN_RECV)
		conn->xp->established(conn);	/* faster than the RTU */
	sdp_conn_stats_arrived(&conn->stats);
	sdp_count(conn->sn, SDP_CNT_MSGS_RECEIVED, 1);
	verdict = sdp_wire_get(&msg, sdp_buf_addr(buf), bytes);
	if (verdict != SDP_WIRE_OK) {
		trace_sdp_fail(conn->id, -EPROTO, sdp_wire_verdict_name(verdict));
		conn->found.fail = -EPROTO;
		return;
	}
	trace_sdp_heard(conn->id, msg.mid, msg.flags, msg.bufs, msg.len,
			msg.mseq, msg.mseq_ack);
	if (msg.mid == SDP_MID_SRC_AVAIL)
		sdp_count(conn->sn, SDP_CNT_SRC_AVAIL, 1);
	if (msg.mid == SDP_MID_SINK_AVAIL)
		sdp_count(conn->sn, SDP_CNT_SINK_AVAIL, 1);
	heard = sdp_rx_heard(conn, buf, &msg);
	if (heard < 0) {
		conn->found.fail = heard;
		return;
	}
	if (unlikely(heard & (SDP_HEARD_OOB_PEND | SDP_HEARD_OOB_PRES)))
		sdp_rx_urgent(conn, heard & SDP_HEARD_OOB_PEND,
			      heard & SDP_HEARD_OOB_PRES);
	if (sdp_wire_payload(&msg) ||
	    unlikely(heard & (SDP_HEARD_ADVERT | SDP_HEARD_FILLED))) {
		WRITE_ONCE(conn->rx.data_at, jiffies);
		sdp_conn_stats_arrived_data(&conn->stats);
	}
	if (heard & SDP_HEARD_DELIVER && sdp_wire_payload(&msg))
		sdp_rx_deliver(conn, buf, &msg, heard & SDP_HEARD_OOB_PRES);
	if (unlikely(heard & SDP_HEARD_ADVERT)) {
		conn->found.advert = true;
		sdp_zsink_bounce_delivered(conn);
	}
	if (heard & SDP_HEARD_FIN)
		conn->found.fin = true;
	if (heard & SDP_HEARD_RESET)
		conn->found.reset = true;
}

/* Act on what a batch brought, and tell those that wait; rx.poll held. */
static void sdp_rx_settle(struct sdp_conn *conn)
{
	bool data = conn->found.data;

	conn->found.data = false;
	WRITE_ONCE(conn->rx.heard, jiffies);
	if (unlikely(sdp_ring_asks(&conn->ring)))
		sdp_refill_resize(conn);
	/* Charge the owner for data that arrived before accept(). */
	if (unlikely(sdp_ring_owes(&conn->ring)) && READ_ONCE(conn->owned))
		sdp_refill_charge(conn);
	/* The queue pair is in error: what is posted comes back at once. */
	if (unlikely(conn->found.lost))
		;
	else if (!list_empty(&conn->rx.idle) || sdp_ring_is_low(&conn->ring) ||
		 sdp_ring_flushed(&conn->ring))
		sdp_refill_post(conn, &conn->rx.idle, false);
	sdp_ring_flushed(&conn->ring);
	data |= sdp_refill_turned_full(conn);
	if (conn->found.fin && !test_and_set_bit(SDP_CONN_EOF, &conn->flags)) {
		sdp_conn_event(conn, SDP_EV_FIN_HEARD);
		data = false;	/* the end of stream wakes the reader once */
	}
	if (data)
		sdp_conn_data_ready(conn);
	if (unlikely(conn->found.advert)) {
		conn->found.advert = false;
		/* A sleeping reader may read it in place, whoever polled. */
		if (wq_has_sleeper(&conn->wq))
			wake_up(&conn->wq);
	}
	if (unlikely(conn->found.urgent)) {
		conn->found.urgent = false;
		sdp_conn_urgent(conn);
	}
	/* The end is told once and counted once, whatever comes behind it. */
	if (conn->found.told)
		return;
	conn->found.told = conn->found.reset || conn->found.fail || conn->found.lost;
	if (conn->found.reset) {
		sdp_conn_event(conn, SDP_EV_ABORT_HEARD);
	} else if (conn->found.fail) {
		if (conn->found.fail == -EPROTO)
			sdp_count(conn->sn, SDP_CNT_PROTO_ERRORS, 1);
		sdp_conn_fail(conn, ECONNRESET, SDP_EV_ABORT, "received");
	} else if (conn->found.lost) {
		/* A send may have failed first: its status tells the reason. */
		sdp_tx_reap(conn);
		sdp_conn_fail(conn, ECONNRESET, SDP_EV_LOST, "receive");
	}
}

/* Grow the ring; if it cannot, tell a reader that waits for more. */
static void sdp_rx_grow(struct sdp_conn *conn)
{
	bool asks = sdp_ring_asks(&conn->ring);

	if (unlikely(asks))
		sdp_refill_resize(conn);
	if (sdp_refill_post(conn, &conn->rx.idle, false) || asks)
		sdp_tx_run(conn);
	if (sdp_refill_turned_full(conn))
		sdp_conn_data_ready(conn);
}

/* Poll until the queue is empty and arm it; false if the budget ran out. */
static bool sdp_rx_drain(struct sdp_conn *conn)
{
	int budget = SDP_RX_BUDGET;
	int n;

	lockdep_assert_held(&conn->rx.poll);
	if (unlikely(sdp_ring_is_low(&conn->ring) || sdp_ring_asks(&conn->ring)) &&
	    !conn->found.lost)
		sdp_rx_grow(conn);
	do {
		n = conn->xp->poll_recv(conn, budget);
		if (n) {
			sdp_rx_settle(conn);
			/* Credits came, or something is owed for them. */
			sdp_tx_run(conn);
			budget -= n;
			if (budget <= 0)
				return false;
		}
		clear_bit(SDP_CONN_FIRED_RECV, &conn->flags);
		smp_mb__after_atomic();	/* an event after arming sets it anew */
		if (!conn->xp->arm_recv(conn))
			return true;
	} while (1);
}

/* Try to take rx.poll, unless the transport's worker has asked for it. */
static bool sdp_rx_try(struct sdp_conn *conn)
{
	return likely(!test_bit(SDP_CONN_WANTED, &conn->flags)) &&
	       mutex_trylock(&conn->rx.poll);
}

/* Take rx.poll for a system call, which may wait for the holder. */
static void sdp_rx_lock(struct sdp_conn *conn)
{
	wait_on_bit(&conn->flags, SDP_CONN_WANTED, TASK_UNINTERRUPTIBLE);
	mutex_lock(&conn->rx.poll);
}

static void sdp_rx_unlock(struct sdp_conn *conn)
{
	mutex_unlock(&conn->rx.poll);
	smp_mb();	/* pairs with the barrier after a mark is set */
	if (unlikely(test_bit(SDP_CONN_WANTED, &conn->flags)))
		conn->xp->poll_free(conn);
}

/**
 * sdp_rx_claim() - take rx.poll, for the transport's worker
 * @conn: the connection
 *
 * This does not wait: workers are shared by all users, and the holder may keep
 * rx.poll for long.  When the holder leaves, the transport's poll_free() is
 * called.  Until the worker has had rx.poll nobody else takes it.
 *
 * Context: process, no spinlock held.
 * Return: true if the caller has it now, until sdp_rx_unclaim().
 */
bool sdp_rx_claim(struct sdp_conn *conn)
{
	set_bit(SDP_CONN_WANTED, &conn->flags);
	smp_mb__after_atomic();	/* the mark, then the attempt */
	if (!mutex_trylock(&conn->rx.poll))
		return false;	/* its holder will see the mark */
	clear_and_wake_up_bit(SDP_CONN_WANTED, &conn->flags);
	return true;
}

/**
 * sdp_rx_unclaim() - give rx.poll back
 * @conn: the connection
 *
 * Then polls for those that wanted to poll meanwhile.
 *
 * Context: process, no spinlock held.
 */
void sdp_rx_unclaim(struct sdp_conn *conn)
{
	sdp_rx_unlock(conn);
	/* For those that left SDP_CONN_AGAIN. */
	sdp_rx_poll(conn);
}

/**
 * sdp_rx_poll() - take what has arrived, and ask for the next event
 * @conn: the connection
 *
 * If another context is polling this leaves the work to it and returns.  The
 * work is bounded: a peer that never stops sending is left to the worker.
 *
 * Context: process, no spinlock held.
 */
void sdp_rx_poll(struct sdp_conn *conn)
{
	/* A send event that woke a caller did not queue the worker. */
	if (test_bit(SDP_CONN_FIRED_SEND, &conn->flags))
		sdp_tx_run(conn);
	do {
		bool more = false;

		set_bit(SDP_CONN_AGAIN, &conn->flags);
		smp_mb__after_atomic();	/* the mark, then the attempt */
		if (!sdp_rx_try(conn))
			return;		/* its holder will see the mark */
		clear_bit(SDP_CONN_AGAIN, &conn->flags);
		smp_mb__after_atomic();	/* a mark from here on is a new one */
		if (test_bit(SDP_CONN_OPEN, &conn->flags))
			more = !sdp_rx_drain(conn);
		sdp_rx_unlock(conn);
		if (more) {
			sdp_conn_queue_work(conn);
			return;
		}
	} while (test_bit(SDP_CONN_AGAIN, &conn->flags));
	if (unlikely(sdp_zsink_bounce_is_due(conn)))
		sdp_zsink_bounce_more(conn);
}

/**
 * sdp_rx_look() - take what has arrived, if anything
 * @conn: the connection
 *
 * For callers that look again and again: unless something had come, the queue
 * stays armed, or not armed, as it was.
 *
 * Context: process, no spinlock held.
 * Return: true if something had come.
 */
bool sdp_rx_look(struct sdp_conn *conn)
{
	int n = 0;

	if (!sdp_rx_try(conn))
		return false;
	if (test_bit(SDP_CONN_OPEN, &conn->flags))
		n = conn->xp->poll_recv(conn, SDP_RX_BUDGET);
	if (n) {
		sdp_rx_settle(conn);
		sdp_tx_run(conn);
	}
	sdp_rx_unlock(conn);
	/* What has come has used up the event: arm the next one. */
	if (n || test_bit(SDP_CONN_AGAIN, &conn->flags))
		sdp_rx_poll(conn);
	return n;
}

/**
 * sdp_rx_hear() - hear everything that has arrived by now
 * @conn: the connection; rx.poll held
 *
 * Bounded: it hears at least as many messages as the receive queue holds, and
 * stops then, even if the peer goes on sending.
 *
 * Context: process, may sleep.
 */
void sdp_rx_hear(struct sdp_conn *conn)
{
	int n = DIV_ROUND_UP(sdp_ring_rq_size(&conn->ring), SDP_RX_BUDGET);

	while (n-- && test_bit(SDP_CONN_OPEN, &conn->flags) &&
	       !sdp_rx_drain(conn))
		cond_resched();
}

/**
 * sdp_rx_close() - end the stream with what has arrived by now
 * @conn: the connection; rx.poll held
 *
 * As sdp_rx_end(), for a caller that has rx.poll.
 *
 * Context: process, may sleep.
 */
void sdp_rx_close(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->rx.poll);
	if (conn->rx.over)
		return;
	sdp_rx_hear(conn);
	/* Under conn->lock too: RDMA Reads complete under that alone. */
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(conn->rx.over, true);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_rx_flush() - hear everything that has arrived by now
 * @conn: the connection
 *
 * Unlike sdp_rx_poll() it waits for the context that polls.
 *
 * Context: process, in the user's call; may sleep; also under the socket lock.
 */
void sdp_rx_flush(struct sdp_conn *conn)
{
	sdp_rx_lock(conn);
	sdp_rx_hear(conn);
	sdp_rx_unclaim(conn);
}

/**
 * sdp_rx_end() - end the stream with what has arrived by now
 * @conn: the connection, which failed
 *
 * Called before the error is reported.  What has arrived by then is readable
 * when this returns, and what arrives later is not heard.  A DREQ goes by the
 * CM, and can overtake data that the device has to repeat.  So a connection can
 * end here before everything that the peer has sent has arrived.
 *
 * Context: process, in the user's call; may sleep; also under the socket lock.
 */
void sdp_rx_end(struct sdp_conn *conn)
{
	if (READ_ONCE(conn->rx.over))
		return;
	sdp_rx_lock(conn);
	sdp_rx_close(conn);
	sdp_rx_unclaim(conn);
}

/**
 * sdp_rx_work() - the worker: both queues, when no caller is there
 * @work: conn->work
 *
 * Context: process; drops the reference that the queued work holds.
 */
void sdp_rx_work(struct work_struct *work)
{
	struct sdp_conn *conn = container_of(work, struct sdp_conn, work);

	sdp_tx_run(conn);
	sdp_rx_poll(conn);
	if (unlikely(sdp_zsrc_async_bytes(&conn->zsrc_async)))
		sdp_zsrc_async_settle(conn);
	sdp_conn_put(conn);
}
