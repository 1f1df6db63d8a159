/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The receive side: completions -> decode -> account -> dispatch; the ring.
 */
#ifndef _SDP_RX_H
#define _SDP_RX_H

#include "sdp_conn.h"

/**
 * sdp_rx_start() - make the first buffers and post them
 * @conn: the connection; its queue pair is in INIT, nobody else knows it
 * @rq_size: receives that may be posted
 *
 * Context: process.
 * Return: how many are posted (the Bufs of our Hello or HelloAck), or
 * -ENOMEM, or the transport's error.
 */
int sdp_rx_start(struct sdp_conn *conn, u16 rq_size);

/**
 * sdp_rx_poll() - take what has arrived, and ask for the next event
 * @conn: the connection
 *
 * Only one at a time polls; who comes second leaves that to the first and
 * returns.  Bounded: a peer that never stops sending is left to the worker.
 *
 * Context: process, no spinlock held.
 */
void sdp_rx_poll(struct sdp_conn *conn);

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
bool sdp_rx_look(struct sdp_conn *conn);

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
bool sdp_rx_claim(struct sdp_conn *conn);

/**
 * sdp_rx_unclaim() - give rx.poll back
 * @conn: the connection
 *
 * Polls for who came meanwhile.
 *
 * Context: process, no spinlock held.
 */
void sdp_rx_unclaim(struct sdp_conn *conn);

/**
 * sdp_rx_hear() - what has arrived by now is heard when this returns
 * @conn: the connection; rx.poll held
 *
 * Context: process, may sleep.
 */
void sdp_rx_hear(struct sdp_conn *conn);

/**
 * sdp_rx_close() - sdp_rx_end(), for who has rx.poll
 * @conn: the connection; rx.poll held
 *
 * Context: process, may sleep.
 */
void sdp_rx_close(struct sdp_conn *conn);

/**
 * sdp_rx_flush() - what has arrived by now is heard when this returns
 * @conn: the connection
 *
 * Unlike sdp_rx_poll() it waits for who is at it.
 *
 * Context: process, in the user's call; may sleep; also under the socket lock.
 */
void sdp_rx_flush(struct sdp_conn *conn);

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
void sdp_rx_end(struct sdp_conn *conn);

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
		    int status);

/**
 * sdp_rx_work() - the worker: both queues, when no caller is there
 * @work: conn->work
 *
 * Context: process; drops the reference that the queued work holds.
 */
void sdp_rx_work(struct work_struct *work);

#endif
