/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send side: built messages -> credit -> post; send completions.
 */
#ifndef _SDP_TX_H
#define _SDP_TX_H

#include "sdp_conn.h"
#include "sdp_sndbuf.h"

/* What is not copied is posted by who knows it, in its turn; under conn->lock. */
struct sdp_tx_zcopy_ops {
	/* The first message of tx.queue is for memory of a user: true if something
	 * was posted, or the queue has changed.
	 */
	bool (*push)(struct sdp_conn *conn, struct sdp_msg *msg);
	/* RDMA Reads wait: true if one was posted. */
	bool (*push_read)(struct sdp_conn *conn);
	/* Jiffies until what stays advertised is to be looked at, or
	 * SDP_TIMERS_NEVER; 0: the peer does not answer.
	 */
	unsigned long (*check)(struct sdp_conn *conn);
};

/**
 * sdp_tx_init() - who knows what is not copied
 * @ops: the table
 *
 * Context: process; before there is a connection.
 */
void sdp_tx_init(const struct sdp_tx_zcopy_ops *ops);

/**
 * sdp_tx_enqueue() - a message, or a write, goes behind what is queued
 * @conn: the connection, conn->lock held
 * @msg: on no list
 *
 * Context: process or softirq.
 */
void sdp_tx_enqueue(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_tx_may_go() - is there a credit for the next message of the stream?
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: true if so; else it waits, and the timers know.
 */
bool sdp_tx_may_go(struct sdp_conn *conn);

/**
 * sdp_tx_post_data() - post the next message of the stream
 * @conn: the connection, conn->lock held; sdp_tx_may_go() was true
 * @msg: the first of tx.queue
 * @hdr: what of its header is not that of any
 *
 * Context: process or softirq.
 */
void sdp_tx_post_data(struct sdp_conn *conn, struct sdp_msg *msg, struct sdp_wire_msg *hdr);

/**
 * sdp_tx_queue() - hand over a built Data message
 * @conn: the connection; the caller has the socket lock
 * @msg: the message, with its payload in place; full is set if it cannot grow
 *
 * It is posted by the next sdp_tx_run() that credits allow.
 *
 * Context: process.
 */
void sdp_tx_queue(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_tx_take_tail() - take back the last message that is not posted yet
 * @conn: the connection; the caller has the socket lock
 * @frag: where the caller cuts messages from
 *
 * So that more can be put behind it; goes back with sdp_tx_queue().  Nothing
 * can overtake it meanwhile, as only the socket lock's owner queues Data or
 * raises SDP_EV_SHUTDOWN.
 *
 * Context: process.
 * Return: the message, or NULL if there is none or its memory has no room.
 */
struct sdp_msg *sdp_tx_take_tail(struct sdp_conn *conn,
				 const struct page_frag *frag);

/**
 * sdp_tx_run() - reap completions, post what may go, act on what was found
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_tx_run(struct sdp_conn *conn);

/**
 * sdp_tx_set_delay() - what may be held back from now on
 * @conn: the connection; the caller has the socket lock
 * @delay: bits of enum sdp_cork_delay
 *
 * For what sdp_tx_run() does from now on; it posts nothing itself.
 *
 * Context: process, no spinlock of the connection held.
 */
void sdp_tx_set_delay(struct sdp_conn *conn, u8 delay);

/**
 * sdp_tx_reap() - sdp_tx_run(), and look at completions that nobody waits for
 * @conn: the connection
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_tx_reap(struct sdp_conn *conn);

/**
 * sdp_tx_want_space() - a writer waits: call write_space when there is room
 * @conn: the connection
 *
 * Context: process, no spinlock of the connection held.
 * Return: true if there is room already, and nothing was asked for.
 */
bool sdp_tx_want_space(struct sdp_conn *conn);

/**
 * sdp_tx_drop() - forget all that was queued or posted
 * @conn: the connection; conn->dead is set and the device is done with it
 *
 * Context: process.
 */
void sdp_tx_drop(struct sdp_conn *conn);

#endif
