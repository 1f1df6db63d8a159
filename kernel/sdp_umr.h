/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User memory that is registered with the device; see sdp_umr.c.
 */
#ifndef _SDP_UMR_H
#define _SDP_UMR_H

#include "sdp_conn.h"

/**
 * sdp_umr_piece() - how much to register at a time
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
u32 sdp_umr_piece(const struct sdp_conn *conn, size_t left, bool first);

/**
 * sdp_umr_make() - pin what an iterator stands at
 * @conn: the connection
 * @op: SDP_OP_READ to read into it, SDP_OP_WRITE to write it, SDP_OP_TAKE_BACK
 *	if the peer is to do one of these
 * @dir: DMA_TO_DEVICE or DMA_FROM_DEVICE
 * @iter: of user memory; not advanced
 * @bytes: how much, at most
 * @most: from @bytes, how much of it at most where it lies together
 *
 * Context: process; sleeps, for as long as a page does not come.
 * Return: it, QUEUED and on no list, with what could be pinned; no device
 * knows it.  Or ERR_PTR: -EMSGSIZE if that is a page or less, -EFAULT if it is
 * nothing, -EINVAL if it is not memory of a process, -ENOBUFS if too much is pinned
 * already, -ENOMEM.
 */
struct sdp_umr *sdp_umr_make(struct sdp_conn *conn, u8 op, u8 dir,
			     const struct iov_iter *iter, size_t bytes,
			     size_t most);

/**
 * sdp_umr_reg() - have the device know it
 * @conn: the connection
 * @umr: from sdp_umr_make()
 *
 * The device does not go before the caller has put it on its list, or returned it:
 * so he does one of the two next, and touches no memory of a user before.
 *
 * Context: process; sleeps, for nobody but the device.
 * Return: 0; -ENODEV if the connection is dead, or the transport's error: it
 * is to be returned.
 */
int sdp_umr_reg(struct sdp_conn *conn, struct sdp_umr *umr);

/**
 * sdp_umr_return() - undo it
 * @conn: the connection
 * @umr: on no list; IDLE, or told to nobody
 *
 * Context: process; sleeps.
 */
void sdp_umr_return(struct sdp_conn *conn, struct sdp_umr *umr);

/**
 * sdp_umr_reap() - return those at the front of a list that are IDLE
 * @conn: the connection
 * @umrs: a list of zsrc or zsink
 *
 * Context: process; sleeps.
 * Return: bytes of theirs that were moved.
 */
size_t sdp_umr_reap(struct sdp_conn *conn, struct list_head *umrs);

/**
 * sdp_umr_fill_avail() - it is the peer's from now on
 * @umr: what a SrcAvail or SinkAvail is about to name; conn->lock held
 * @hdr: the message's; length, key and address are filled in
 *
 * Context: process or softirq.
 */
static inline void sdp_umr_fill_avail(struct sdp_umr *umr,
				      struct sdp_wire_msg *hdr)
{
	hdr->ext.avail.len = umr->umem.bytes;
	hdr->ext.avail.rkey = umr->umem.key;
	hdr->ext.avail.va = umr->umem.va;
	umr->state = SDP_UMR_ADVERTISED;
	umr->msg = NULL;
}

/**
 * sdp_umr_comes_back() - the peer has done with it
 * @conn: the connection, conn->lock held
 * @umr: ADVERTISED until now
 *
 * Its key is to lead nowhere before it is free, if it does not already: the peer may
 * have seen to that by Send-with-Invalidate.  tx.done is the caller's.
 *
 * Context: process or softirq.
 */
static inline void sdp_umr_comes_back(struct sdp_conn *conn,
				      struct sdp_umr *umr)
{
	if (umr->ended) {
		umr->state = SDP_UMR_IDLE;
		return;
	}
	umr->state = SDP_UMR_INVALIDATING;
	list_add_tail(&umr->op.node, &conn->tx.back);
}

/**
 * sdp_umr_end_key() - the peer has had our device forget a key
 * @conn: the connection, conn->lock held
 * @key: which
 *
 * Context: process or softirq.
 * Return: false if nothing was advertised to the peer under that key.
 */
bool sdp_umr_end_key(struct sdp_conn *conn, u32 key);

/**
 * sdp_umr_why() - the counter for what could not be registered
 * @err: of sdp_umr_make(), or of making its message
 *
 * Context: any.
 * Return: one of SDP_CNT_COPIED_*.
 */
enum sdp_counter sdp_umr_why(int err);

/**
 * sdp_umr_copied() - what might have been registered is copied: count, and trace
 * @conn: the connection
 * @why: one of SDP_CNT_COPIED_*
 * @bytes: how much of it
 *
 * Context: any.
 */
void sdp_umr_copied(struct sdp_conn *conn, enum sdp_counter why, size_t bytes);

/**
 * sdp_umr_write_least() - room in a SinkAvail that is worth writing to
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; more than a message brings, and more than a page.
 */
static inline u32 sdp_umr_write_least(const struct sdp_conn *conn)
{
	return max_t(u32, READ_ONCE(conn->snd_max), PAGE_SIZE) + 1;
}

/**
 * sdp_umr_hold() - the connection dies: what callers have listed stays on the list
 * @umrs: a list of the connection's, conn->lock held
 *
 * Until sdp_umr_drop() has made it IDLE.
 *
 * Context: process or softirq.
 */
void sdp_umr_hold(struct list_head *umrs);

/**
 * sdp_umr_drop() - deregister and unpin what callers have listed
 * @conn: the connection, which is dead, and whose queue pair is gone
 * @umrs: a list that sdp_umr_hold() was called for
 *
 * The callers may be kept by a page that does not come, and a device that is removed
 * does not wait for that.  The lists stay as they are meanwhile: nobody takes from
 * them what is not IDLE, or puts anything behind it when the connection is dead.
 *
 * Context: process; sleeps.
 */
void sdp_umr_drop(struct sdp_conn *conn, struct list_head *umrs);

#endif
