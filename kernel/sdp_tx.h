/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send side: built messages -> credit -> post; send completions.
 */
#ifndef _SDP_TX_H
#define _SDP_TX_H

#include "sdp_conn.h"
#include "sdp_mem.h"

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
 * sdp_tx_queue_offer() - lend what a SrcAvail offers, or a write is of, and queue it
 * @conn: the connection; the caller lends, or has the socket lock and it is a
 *	lease
 * @msg: the message, or the loan's own request; the loan is on zsrc.loans then
 *
 * Not if what the caller offered before it has been withdrawn: that comes first
 * in the stream, and by copy.  Nor if the stream is at its end.
 *
 * Context: process; sleeps, for nobody but the device.
 * Return: 0; -ECANCELED if so, or the error of sdp_loan_lend(): the message is gone,
 * and the loan free, on no list, and to be returned.
 */
int sdp_tx_queue_offer(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_tx_queue_rest() - what has to be copied of a lease, in its place
 * @conn: the connection; zsrc_async.lapsed is set, so nothing leaves the queue
 * @loan: the lease; its rest flag is cleared
 * @msgs: Data messages with their payload in place
 * @behind: the message that what was offered before has come to stand behind; at
 *	first, tx.queue
 *
 * Context: process, the connection's worker.
 */
void sdp_tx_queue_rest(struct sdp_conn *conn, struct sdp_loan *loan,
		       struct list_head *msgs, struct list_head **behind);

/**
 * sdp_tx_withdraw() - what a caller lends and nobody knows goes another way
 * @conn: the connection, conn->lock held
 *
 * Nor is anything more taken by sdp_tx_queue_offer().
 *
 * Context: process or softirq.
 */
void sdp_tx_withdraw(struct sdp_conn *conn);

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

/* Bytes that may be outstanding when memory is short for all: a message. */
enum { SDP_TX_LEAST = 4096 };

/**
 * sdp_tx_limit() - bytes that may be outstanding
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; less than was asked for when memory is short.
 */
static inline u32 sdp_tx_limit(const struct sdp_conn *conn)
{
	u32 limit = READ_ONCE(conn->tx.limit);

	return sdp_mem_is_over() ? min_t(u32, limit, SDP_TX_LEAST) : limit;
}

/**
 * sdp_tx_set_limit() - how many bytes may be outstanding
 * @conn: the connection
 * @least: bytes, to a peer that reads
 * @most: bytes, to one that does not: so much TCP takes before somebody has to
 *	read, and programs rely on it that write much before they read
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_tx_set_limit(struct sdp_conn *conn, u32 least, u32 most);

/* Of what counts as outstanding to a peer that reads, so much may be lent beyond
 * calls: it is not our memory, and one piece may be as long as all that is.
 */
enum { SDP_TX_LENT = 4 };

/**
 * sdp_tx_is_enough() - is there as much not sent as the user wants there to be?
 * @conn: the connection
 * @share: 1: so that no more is taken; 2: so that nobody is told of room, which
 *	TCP_NOTSENT_LOWAT has at half of it
 *
 * Context: any; a hint, of who has not conn->lock.
 * Return: true if so; never without TCP_NOTSENT_LOWAT.
 */
static inline bool sdp_tx_is_enough(const struct sdp_conn *conn, u32 share)
{
	u32 lowat = READ_ONCE(conn->tx.notsent_lowat);
	s32 notsent;

	if (likely(lowat == U32_MAX))
		return false;
	notsent = READ_ONCE(conn->tx.outstanding) -
		  READ_ONCE(conn->tx.inflight_bytes);
	return notsent > 0 ? (u64)notsent * share >= lowat : !lowat;
}

/**
 * sdp_tx_space() - bytes that a caller may still queue
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; 0 when full.
 */
static inline u32 sdp_tx_space(const struct sdp_conn *conn)
{
	u32 used = READ_ONCE(conn->tx.outstanding);
	u32 limit = sdp_tx_limit(conn);

	if (sdp_tx_is_enough(conn, 1))
		return 0;
	/* What somebody sends without copying is on its way before. */
	if (unlikely(READ_ONCE(conn->zsrc.lending) ||
		     READ_ONCE(conn->zsrc_async.lent) / SDP_TX_LENT >=
		     min(limit, READ_ONCE(conn->tx.limit_least))))
		return 0;
	return used < limit ? limit - used : 0;
}

/**
 * sdp_tx_writable() - is there room worth waking a writer for?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if a third of the limit is free, as TCP has it, and less than half of
 * TCP_NOTSENT_LOWAT waits to be sent.
 */
static inline bool sdp_tx_writable(const struct sdp_conn *conn)
{
	return sdp_tx_space(conn) >= sdp_tx_limit(conn) / 3 &&
	       !sdp_tx_is_enough(conn, 2);
}

/**
 * sdp_tx_want_space() - a writer waits: call write_space when there is room
 * @conn: the connection
 *
 * Context: process, no spinlock of the connection held.
 * Return: true if there is room already, and nothing was asked for.
 */
bool sdp_tx_want_space(struct sdp_conn *conn);

/**
 * sdp_tx_may_take() - is it still the memory for what is read next?
 * @conn: the connection; conn->lock held
 * @loan: on zsink.reads, for the advert whose MSeq its request has
 *
 * Context: process or softirq.
 * Return: true if the peer offers that, as much as fits, and nothing else before.
 */
bool sdp_tx_may_take(const struct sdp_conn *conn, const struct sdp_loan *loan);

/**
 * sdp_tx_drop() - forget all that was queued or posted
 * @conn: the connection; conn->dead is set and the device is done with it
 *
 * Context: process.
 */
void sdp_tx_drop(struct sdp_conn *conn);

#endif
