/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A caller's memory, ready to be touched by the device; see sdp_loan.c.
 */
#ifndef _SDP_LOAN_H
#define _SDP_LOAN_H

#include "sdp_conn.h"

/**
 * sdp_loan_piece() - how much to lend at a time
 * @conn: the connection
 * @left: bytes that there are, from 1
 * @first: nothing else is under way
 *
 * Each piece costs both sides a message and a registration, so they are long.  The
 * first one is shorter: what follows is pinned while it moves.  Those of one length
 * are about equally long, in whole pages.
 *
 * Context: any.
 * Return: bytes.
 */
u32 sdp_loan_piece(const struct sdp_conn *conn, size_t left, bool first);

/**
 * sdp_loan_make() - pin what an iterator stands at
 * @conn: the connection
 * @op: SDP_OP_READ to read into it, SDP_OP_WRITE to write it, SDP_OP_TAKE_BACK
 *	if the peer is to do one of these
 * @dir: DMA_TO_DEVICE or DMA_FROM_DEVICE
 * @iter: of user memory; not advanced
 * @bytes: how much, at most
 * @most: from @bytes, how much of it at most where it lies together
 *
 * Context: process; sleeps, for as long as a page does not come.
 * Return: the loan, QUEUED and on no list, with what could be pinned; no device
 * knows it.  Or ERR_PTR: -EMSGSIZE if that is a page or less, -EFAULT if it is
 * nothing, -EINVAL if it is not memory of a process, -ENOBUFS if too much is pinned
 * already, -ENOMEM.
 */
struct sdp_loan *sdp_loan_make(struct sdp_conn *conn, u8 op, u8 dir,
			       const struct iov_iter *iter, size_t bytes,
			       size_t most);

/**
 * sdp_loan_lend() - have the device know it
 * @conn: the connection
 * @loan: from sdp_loan_make()
 *
 * The device does not go before the caller has put it on its list, or returned it:
 * so he does one of the two next, and touches no memory of a user before.
 *
 * Context: process; sleeps, for nobody but the device.
 * Return: 0; -ENODEV if the connection is dead, or the transport's error: the loan
 * is to be returned.
 */
int sdp_loan_lend(struct sdp_conn *conn, struct sdp_loan *loan);

/**
 * sdp_loan_return() - undo it
 * @conn: the connection
 * @loan: on no list; FREE, or told to nobody
 *
 * Context: process; sleeps.
 */
void sdp_loan_return(struct sdp_conn *conn, struct sdp_loan *loan);

/**
 * sdp_loan_reap() - return those at the front of a list that are FREE
 * @conn: the connection
 * @loans: zsrc.loans, zsink.takes or zsink.asks
 *
 * Context: process; sleeps.
 * Return: bytes of theirs that were moved.
 */
size_t sdp_loan_reap(struct sdp_conn *conn, struct list_head *loans);

/**
 * sdp_loan_fill_avail() - it is the peer's from now on
 * @loan: what a SrcAvail or SinkAvail is about to name; conn->lock held
 * @hdr: the message's; length, key and address are filled in
 *
 * Context: process or softirq.
 */
static inline void sdp_loan_fill_avail(struct sdp_loan *loan,
				       struct sdp_wire_msg *hdr)
{
	hdr->ext.avail.len = loan->span.bytes;
	hdr->ext.avail.rkey = loan->span.key;
	hdr->ext.avail.va = loan->span.va;
	loan->state = SDP_LOAN_OUT;
	loan->msg = NULL;
}

/**
 * sdp_loan_comes_back() - the peer has done with it
 * @conn: the connection, conn->lock held
 * @loan: OUT until now
 *
 * Its key is to lead nowhere before it is free, if it does not already: the peer may
 * have seen to that by Send-with-Invalidate.  tx.done is the caller's.
 *
 * Context: process or softirq.
 */
static inline void sdp_loan_comes_back(struct sdp_conn *conn,
				       struct sdp_loan *loan)
{
	if (loan->ended) {
		loan->state = SDP_LOAN_FREE;
		return;
	}
	loan->state = SDP_LOAN_BACK;
	list_add_tail(&loan->op.node, &conn->tx.back);
}

/**
 * sdp_loan_end_key() - the peer has had our device forget a key
 * @conn: the connection, conn->lock held
 * @key: which
 *
 * Context: process or softirq.
 * Return: false if the peer has not been lent anything under that key.
 */
bool sdp_loan_end_key(struct sdp_conn *conn, u32 key);

/**
 * sdp_loan_why() - the counter for what could not be lent
 * @err: of sdp_loan_make(), or of making its message
 *
 * Context: any.
 * Return: one of SDP_CNT_COPIED_*.
 */
enum sdp_counter sdp_loan_why(int err);

/**
 * sdp_loan_copied() - what might have been lent is copied: count, and trace
 * @conn: the connection
 * @why: one of SDP_CNT_COPIED_*
 * @bytes: how much of it
 *
 * Context: any.
 */
void sdp_loan_copied(struct sdp_conn *conn, enum sdp_counter why, size_t bytes);

/**
 * sdp_loan_lapse() - a lease goes by copy; nothing else of the stream meanwhile
 * @conn: the connection, conn->lock held
 * @loan: the lease
 * @why: one of SDP_CNT_COPIED_*, unless it has a reason already
 *
 * Copying is the worker's, who is told by tx.done.
 *
 * Context: process or softirq.
 */
static inline void sdp_loan_lapse(struct sdp_conn *conn, struct sdp_loan *loan,
				  enum sdp_counter why)
{
	if (!loan->why)
		loan->why = why;
	loan->rest = true;
	conn->zsrc_async.lapsed = true;
	conn->tx.done |= SDP_TX_DONE_LOAN;
}

/**
 * sdp_loan_write_least() - room in a SinkAvail that is worth writing to
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; more than a message brings, and more than a page.
 */
static inline u32 sdp_loan_write_least(const struct sdp_conn *conn)
{
	return max_t(u32, READ_ONCE(conn->snd_max), PAGE_SIZE) + 1;
}

#endif
