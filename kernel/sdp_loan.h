/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A caller's memory, ready to be touched by the device; see sdp_loan.c.
 */
#ifndef _SDP_LOAN_H
#define _SDP_LOAN_H

#include "sdp_conn.h"

/**
 * sdp_loan_make() - pin what an iterator stands at, and have the device know it
 * @conn: the connection
 * @op: SDP_OP_READ to read into it, SDP_OP_WRITE to write it, SDP_OP_TAKE_BACK
 *	if the peer is to do one of these
 * @dir: DMA_TO_DEVICE or DMA_FROM_DEVICE
 * @iter: of user memory; not advanced
 * @bytes: how much, at most
 *
 * Context: process; sleeps.
 * Return: the loan, QUEUED and on no list, with what could be pinned; or ERR_PTR:
 * -EMSGSIZE if that is a page or less, -EFAULT if it is nothing, -EINVAL if it is
 * not memory of a process, -ENOBUFS if too much is pinned already, -ENOMEM, or the
 * transport's error.
 */
struct sdp_loan *sdp_loan_make(struct sdp_conn *conn, u8 op, u8 dir,
			       const struct iov_iter *iter, u32 bytes);

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
 * @loans: tx.loans, tx.takes or tx.asks
 *
 * Context: process; sleeps.
 * Return: bytes of theirs that were moved.
 */
size_t sdp_loan_reap(struct sdp_conn *conn, struct list_head *loans);

#endif
