// SPDX-License-Identifier: GPL-2.0
/*
 * User memory that is registered: pin it, register it, and undo both.
 *
 * Pinning comes first, since it may take as long as a user likes: the page may
 * be of a file that is slow, or of userfaultfd.  A caller that waits for it
 * holds nothing of the device.  Registration comes last, when all else is
 * ready, and what is registered is put on a list of the connection at once.  So
 * sdp_tx_drop() finds it when the queue pair goes, and a device can be removed
 * whatever callers wait for.
 *
 * The state (sdp_buf.h) says who may use the memory at each moment.  This file
 * does not decide that: sdp_zsrc.c, sdp_zsrc_push.c and sdp_zsrc_async.c do for
 * what is sent, sdp_zsink.c for what is received into.
 */
#include "sdp_trace.h"
#include "sdp_umr.h"

enum { SDP_UMR_FIRST = 256 * 1024 };

/**
 * sdp_umr_piece() - how much to register at a time
 * @conn: the connection
 * @left: bytes that there are, from 1
 * @first: nothing else is under way
 *
 * Each piece costs both sides a message and a registration, so pieces are long.
 * The first one is shorter: what follows is pinned while it moves.  @left is
 * divided into pieces of about equal length, in whole pages.
 *
 * Context: any.
 * Return: length of the next piece in bytes.
 */
u32 sdp_umr_piece(const struct sdp_conn *conn, size_t left, bool first)
{
	u32 most = first ? SDP_UMR_FIRST : SDP_UMEM_BYTES;
	size_t pieces;

	most = clamp_t(u32, conn->caps.umem_max, PAGE_SIZE, most);
	pieces = DIV_ROUND_UP(left, (size_t)most);
	return min3(round_up(DIV_ROUND_UP(left, pieces), PAGE_SIZE),
		    (size_t)most, left);
}

/**
 * sdp_umr_make() - pin the memory that an iterator stands at
 * @conn: the connection
 * @op: SDP_OP_READ for an RDMA Read into it, SDP_OP_WRITE for an RDMA Write of
 *	it, SDP_OP_INVALIDATE if it is advertised to the peer
 * @dir: DMA_TO_DEVICE or DMA_FROM_DEVICE
 * @iter: user memory, or pages to be sent, as for sdp_umem_pin(); not advanced
 * @bytes: how much, at most
 * @most: @bytes or more: how much, at most, where it is contiguous
 *
 * Context: process; sleeps until the pages have come.
 * Return: the memory, QUEUED and on no list, with what could be pinned; it is
 * not registered.  Or ERR_PTR: -EMSGSIZE if a page or less could be pinned,
 * -EFAULT if nothing could be, -EINVAL if it is other memory, -ENOBUFS if too
 * much is pinned already, -ENOMEM.
 */
struct sdp_umr *sdp_umr_make(struct sdp_conn *conn, u8 op, u8 dir,
			     const struct iov_iter *iter, size_t bytes,
			     size_t most)
{
	size_t max = conn->caps.umem_max;
	struct sdp_umr *umr;
	int err;

	umr = sdp_umr_alloc(op);
	if (!umr)
		return ERR_PTR(-ENOMEM);
	err = sdp_umem_pin(&umr->umem, conn->sn, iter,
			   min(bytes, max), min(most, max), dir);
	if (err < 0) {
		sdp_umr_free(umr);
		return ERR_PTR(err);
	}
	return umr;
}

/**
 * sdp_umr_reg() - register pinned memory with the device
 * @conn: the connection
 * @umr: from sdp_umr_make()
 *
 * The device cannot be removed before the caller has put @umr on its list or
 * has returned it.  So the caller does one of the two next, and accesses no
 * user memory before that.
 *
 * Context: process; sleeps, but only for the device.
 * Return: 0; -ENODEV if the connection is dead, or the transport's error.
 * After an error the caller calls sdp_umr_return().
 */
int sdp_umr_reg(struct sdp_conn *conn, struct sdp_umr *umr)
{
	struct sdp_umem *umem = &umr->umem;
	int err = conn->xp->reg(conn, umem);

	if (!err)
		trace_sdp_reg(conn->id, umem->bytes, umem->npages, umem->nents,
			      umem->key, umem->dir == DMA_TO_DEVICE);
	else
		trace_sdp_reg_fail(conn->id, umem->dir == DMA_TO_DEVICE ?
				   "to be read" : "to be written", err);
	return err;
}

/**
 * sdp_umr_return() - deregister, unpin and free
 * @conn: the connection
 * @umr: on no list; IDLE, or never posted
 *
 * Context: process; sleeps.
 */
void sdp_umr_return(struct sdp_conn *conn, struct sdp_umr *umr)
{
	if (umr->umem.mr) {
		trace_sdp_dereg(conn->id, umr->umem.bytes, umr->moved,
				umr->umem.key);
		conn->xp->dereg(conn, &umr->umem);
	}
	sdp_umem_unpin(&umr->umem);
	sdp_umr_free(umr);
}

/**
 * sdp_umr_why() - the counter for what could not be registered
 * @err: error of sdp_umr_make(), or of making or queueing its message
 *
 * Context: any.
 * Return: one of SDP_CNT_COPIED_*.
 */
enum sdp_counter sdp_umr_why(int err)
{
	switch (err) {
	case -ENOBUFS:
		return SDP_CNT_COPIED_LIMIT;
	case -EFAULT:
	case -EINVAL:
	case -EMSGSIZE:
		return SDP_CNT_COPIED_PAGES;
	case -ECANCELED:
		return SDP_CNT_COPIED_REFUSED;
	}
	return SDP_CNT_COPIED_MEMORY;
}

/**
 * sdp_umr_copied() - count and trace what is copied instead of registered
 * @conn: the connection
 * @why: one of SDP_CNT_COPIED_*
 * @bytes: how many are copied
 *
 * Context: any.
 */
void sdp_umr_copied(struct sdp_conn *conn, enum sdp_counter why, size_t bytes)
{
	sdp_count(conn->sn, why, 1);
	trace_sdp_copied(conn->id, bytes, sdp_counter_name(why));
}

/* Take the oldest off its list if it is IDLE; add to @bytes what was moved. */
static struct sdp_umr *sdp_umr_take(struct sdp_conn *conn,
				    struct list_head *umrs, size_t *bytes)
{
	struct sdp_umr *umr;

	spin_lock_bh(&conn->lock);
	umr = list_first_entry_or_null(umrs, struct sdp_umr, node);
	if (umr && umr->state == SDP_UMR_IDLE) {
		list_del(&umr->node);
		*bytes += umr->moved;
	} else {
		umr = NULL;
	}
	spin_unlock_bh(&conn->lock);
	return umr;
}

/**
 * sdp_umr_reap() - return those at the front of a list that are IDLE
 * @conn: the connection
 * @umrs: a list of zsrc or zsink
 *
 * Context: process; sleeps.
 * Return: how many of their bytes were moved.
 */
size_t sdp_umr_reap(struct sdp_conn *conn, struct list_head *umrs)
{
	struct sdp_umr *umr;
	size_t bytes = 0;

	while ((umr = sdp_umr_take(conn, umrs, &bytes)))
		sdp_umr_return(conn, umr);
	return bytes;
}

static bool sdp_umr_invalidated_in(struct sdp_conn *conn, struct list_head *umrs,
				   u32 key)
{
	struct sdp_umr *umr;

	list_for_each_entry(umr, umrs, node) {
		if (umr->state != SDP_UMR_ADVERTISED || umr->umem.key != key ||
		    umr->op.op != SDP_OP_INVALIDATE)
			continue;
		conn->xp->invalidated(conn, &umr->umem);
		umr->invalidated = true;
		sdp_count(conn->sn, SDP_CNT_KEYS_ENDED, 1);
		return true;
	}
	return false;
}

/**
 * sdp_umr_invalidated() - the peer has invalidated a key by Send-with-Invalidate
 * @conn: the connection, conn->lock held
 * @key: the key
 *
 * Context: process or softirq.
 * Return: false if nothing was advertised to the peer under that key.
 */
bool sdp_umr_invalidated(struct sdp_conn *conn, u32 key)
{
	lockdep_assert_held(&conn->lock);
	return sdp_umr_invalidated_in(conn, sdp_zsrc_umrs(&conn->zsrc), key) ||
	       sdp_umr_invalidated_in(conn, sdp_zsink_avail_umrs(&conn->zsink), key);
}

/**
 * sdp_umr_hold() - keep what callers have listed while a connection is torn down
 * @umrs: a list of the connection's, conn->lock held
 *
 * It becomes INVALIDATING, so that callers leave it on the list until
 * sdp_umr_drop() has made it IDLE.
 *
 * Context: process or softirq.
 */
void sdp_umr_hold(struct list_head *umrs)
{
	struct sdp_umr *umr;

	list_for_each_entry(umr, umrs, node)
		umr->state = SDP_UMR_INVALIDATING;
}

/**
 * sdp_umr_drop() - deregister and unpin what callers have listed
 * @conn: the connection, which is dead, and whose queue pair is gone
 * @umrs: a list that sdp_umr_hold() was called for
 *
 * The callers may wait for a page that does not come, and removal of a device
 * must not wait for that.  The lists do not change meanwhile: no caller takes
 * off what is not IDLE, or adds anything once the connection is dead.
 *
 * Context: process; sleeps.
 */
void sdp_umr_drop(struct sdp_conn *conn, struct list_head *umrs)
{
	struct sdp_umr *umr;

	list_for_each_entry(umr, umrs, node) {
		if (umr->umem.mr)
			conn->xp->dereg(conn, &umr->umem);
		/* Async memory may still be copied; the worker returns it. */
		if (!umr->async)
			sdp_umem_try_unpin(&umr->umem);
	}
	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, umrs, node)
		umr->state = SDP_UMR_IDLE;
	spin_unlock_bh(&conn->lock);
}
