// SPDX-License-Identifier: GPL-2.0
/*
 * What arrives: decode, account, dispatch.
 *
 * One holder of rx.poll takes completions in the order of the stream.  For
 * each: the status first, only then the bytes; sdp_wire_get() refuses what is
 * malformed, sdp_flow_heard() accounts it, sdp_mode_heard() says what it means,
 * the last two under conn->lock since the next header we write answers for them.
 * The verdict is carried out here.  What wakes others (data, end of stream,
 * errors, credits) is collected and told once per batch.
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

/* Payload in bytes that is rather copied than given a buffer of its own. */
enum { SDP_RX_MERGE = 1024 };

/**
 * sdp_rx_start() - make the first buffers and post them
 * @conn: the connection; its queue pair is in INIT, nobody else knows it
 * @rq_size: receives that may be posted
 *
 * Context: process.
 * Return: how many are posted (the Bufs of our Hello or HelloAck), or
 * -ENOMEM, or the transport's error.
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
 * Small payload is put behind the last one that no reader has taken over, and
 * its buffer is posted again at once: many small messages do not use up the
 * ring, so that a reader who waits for many bytes gets them.  While they are not
 * here, larger payload is too: the peer may have cut what it sends for the small
 * buffers of the beginning, and each of the large ones would hold one piece.
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
	/* The device has done it by now: this is to know of it, or to object. */
	if (unlikely(buf->ended) && !sdp_umr_end_key(conn, buf->key))
		heard = -EPROTO;
	if (!heard && unlikely(sdp_ring_promised(&conn->ring)))
		sdp_refill_heard(conn);
	if (!heard)
		heard = sdp_mode_heard(&conn->mode, msg);
	if (heard > 0) {
		/* Whoever posts next knows of it, before it is in the queue. */
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
 * sdp_rx_arrived() - a receive completed
 * @conn: the connection; rx.poll held
 * @buf: its buffer
 * @bytes: how many arrived
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

/* Tell what the batch brought; rx.poll held. */
static void sdp_rx_settle(struct sdp_conn *conn)
{
	bool data = conn->found.data;

	conn->found.data = false;
	WRITE_ONCE(conn->rx.heard, jiffies);
	if (unlikely(sdp_ring_asks(&conn->ring)))
		sdp_refill_resize(conn);
	/* What was posted before there was an owner. */
	if (unlikely(sdp_ring_owes(&conn->ring)) && READ_ONCE(conn->owned))
		sdp_refill_charge(conn);
	/* Nothing arrives any more, and what is posted comes back at once. */
	if (unlikely(conn->found.lost))
		;
	else if (!list_empty(&conn->rx.idle) || sdp_ring_is_low(&conn->ring) ||
		 sdp_ring_flushed(&conn->ring))
		sdp_refill_post(conn, &conn->rx.idle, false);
	sdp_ring_flushed(&conn->ring);
	data |= sdp_refill_turned_full(conn);
	if (conn->found.fin && !test_and_set_bit(SDP_CONN_EOF, &conn->flags)) {
		sdp_conn_event(conn, SDP_EV_FIN_HEARD);
		data = false;	/* told by the end of stream, once */
	}
	if (data)
		sdp_conn_data_ready(conn);
	if (unlikely(conn->found.advert)) {
		conn->found.advert = false;
		/* A reader may take it: whoever polled, he is to know. */
		if (wq_has_sleeper(&conn->wq))
			wake_up(&conn->wq);
	}
	if (unlikely(conn->found.urgent)) {
		conn->found.urgent = false;
		sdp_conn_urgent(conn);
	}
	/* Whatever comes behind it: the end is told once, and counted once. */
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
		/* A send has failed before, maybe: it knows the reason. */
		sdp_tx_reap(conn);
		sdp_conn_fail(conn, ECONNRESET, SDP_EV_LOST, "receive");
	}
}

/* Somebody may wait for more than there is by now: it comes, or cannot. */
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

/* Poll to the end and arm; false if the budget ran out. */
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

/* Where the transport's worker has asked for it, it is the next. */
static bool sdp_rx_try(struct sdp_conn *conn)
{
	return likely(!test_bit(SDP_CONN_WANTED, &conn->flags)) &&
	       mutex_trylock(&conn->rx.poll);
}

/* For a caller, who may wait for another caller. */
static void sdp_rx_lock(struct sdp_conn *conn)
{
	wait_on_bit(&conn->flags, SDP_CONN_WANTED, TASK_UNINTERRUPTIBLE);
	mutex_lock(&conn->rx.poll);
}

static void sdp_rx_unlock(struct sdp_conn *conn)
{
	mutex_unlock(&conn->rx.poll);
	smp_mb();	/* with the marks of who failed to get it */
	if (unlikely(test_bit(SDP_CONN_WANTED, &conn->flags)))
		conn->xp->poll_free(conn);
}

/**
 * sdp_rx_claim() - take rx.poll, for the transport's worker
 * @conn: the connection
 *
 * Workers are shared by all, and who has it may be long: so this does not wait.
 * When he goes the transport's poll_free() is called, and meanwhile nobody else
 * takes it.
 *
 * Context: process, no spinlock held.
 * Return: true if it is the caller's now, until sdp_rx_unclaim().
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
 * Polls for who came meanwhile.
 *
 * Context: process, no spinlock held.
 */
void sdp_rx_unclaim(struct sdp_conn *conn)
{
	sdp_rx_unlock(conn);
	/* For who came meanwhile and left it to us. */
	sdp_rx_poll(conn);
}

/**
 * sdp_rx_poll() - take what has arrived, and ask for the next event
 * @conn: the connection
 *
 * Only one at a time polls; who comes second leaves that to the first and
 * returns.  Bounded: a peer that never stops sending is left to the worker.
 *
 * Context: process, no spinlock held.
 */
void sdp_rx_poll(struct sdp_conn *conn)
{
	/* An event of sends wakes the callers too, and then no worker. */
	if (test_bit(SDP_CONN_FIRED_SEND, &conn->flags))
		sdp_tx_run(conn);
	do {
		bool more = false;

		set_bit(SDP_CONN_AGAIN, &conn->flags);
		smp_mb__after_atomic();	/* the mark, then the attempt */
		if (!sdp_rx_try(conn))
			return;		/* its holder will see the mark */
		clear_bit(SDP_CONN_AGAIN, &conn->flags);
		smp_mb__after_atomic();	/* what a mark from here on is for */
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
 * For who looks again and again: the queue stays armed, or not, as it was,
 * unless something had come.
 *
 * Context: process, no spinlock held.
 * Return: true if something had.
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
	/* What has come has used the event up: the next one is armed here. */
	if (n || test_bit(SDP_CONN_AGAIN, &conn->flags))
		sdp_rx_poll(conn);
	return n;
}

/**
 * sdp_rx_hear() - what has arrived by now is heard when this returns
 * @conn: the connection; rx.poll held
 *
 * All that has arrived, and of what a peer that never stops sends no more.
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
 * sdp_rx_close() - sdp_rx_end(), for who has rx.poll
 * @conn: the connection; rx.poll held
 *
 * Context: process, may sleep.
 */
void sdp_rx_close(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->rx.poll);
	if (conn->rx.over)
		return;
	sdp_rx_hear(conn);
	/* Under both: RDMA Reads complete under the second alone. */
	spin_lock_bh(&conn->lock);
	WRITE_ONCE(conn->rx.over, true);
	spin_unlock_bh(&conn->lock);
}

/**
 * sdp_rx_flush() - what has arrived by now is heard when this returns
 * @conn: the connection
 *
 * Unlike sdp_rx_poll() it waits for who is at it.
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
 * sdp_rx_end() - the stream ends with what has arrived by now
 * @conn: the connection, which failed
 *
 * For who is about to tell its error: what has come by then is readable when this
 * returns, and what comes later is not heard.  A DREQ may overtake data on its way
 * (the one goes by the CM, and repeated data comes late), so a connection can end
 * here before all has come that the peer had sent.
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
