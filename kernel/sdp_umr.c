// SPDX-License-Identifier: GPL-2.0
/*
 * User memory that is registered: pinned, mapped, registered, and all that undone.
 *
 * In this order, since pinning may take as long as a user likes: the page may be of
 * a file that is slow, or of userfaultfd.  Who waits for that holds nothing of the
 * device.  It is told last, when all else is there, and what it knows is put on a
 * list of the connection at once: so it goes, by sdp_tx_drop(), with the queue pair,
 * and a device can be removed whatever callers wait for.
 *
 * Whose the memory is at each moment is said by its state (sdp_buf.h).  Nobody here
 * decides that: sdp_zsrc.c and sdp_zsrc_async.c have what is sent, sdp_zsink.c what is
 * received into.
 */
#include "sdp_trace.h"
#include "sdp_umr.h"

/* Places of the send queue that its own request needs. */
static u8 sdp_umr_slots(u8 op)
{
	switch (op) {
	case SDP_OP_READ:
		return 3;	/* made valid, read, taken back */
	case SDP_OP_WRITE:
		return 2;	/* the last comes when it is completed */
	default:
		return 1;
	}
}

enum { SDP_UMR_FIRST = 256 * 1024 };

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
			     size_t most)
{
	size_t max = conn->caps.umem_max;
	struct sdp_umr *umr;
	int err;

	umr = sdp_umr_alloc(op, sdp_umr_slots(op));
	if (!umr)
		return ERR_PTR(-ENOMEM);
	err = sdp_umem_pin(&umr->umem, conn->sn, iter,
			   min(bytes, max), min(most, max), dir);
	if (err < 0) {
		sdp_umr_free(umr);
		return ERR_PTR(err);
	}
	/* What could be pinned of it may be too little to be worth it. */
	if (umr->umem.bytes <= PAGE_SIZE) {
		sdp_umr_return(conn, umr);
		return ERR_PTR(-EMSGSIZE);
	}
	return umr;
}

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
int sdp_umr_reg(struct sdp_conn *conn, struct sdp_umr *umr)
{
	struct sdp_umem *umem = &umr->umem;
	int err = conn->xp->reg(conn, umem);

	if (!err)
		trace_sdp_reg(conn->id, umem->bytes, umem->npages, umem->nents,
			      umem->key, umem->dir == DMA_TO_DEVICE);
	return err;
}

/**
 * sdp_umr_return() - undo it
 * @conn: the connection
 * @umr: on no list; IDLE, or told to nobody
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
 * @err: of sdp_umr_make(), or of making its message
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
 * sdp_umr_copied() - what might have been registered is copied: count, and trace
 * @conn: the connection
 * @why: one of SDP_CNT_COPIED_*
 * @bytes: how much of it
 *
 * Context: any.
 */
void sdp_umr_copied(struct sdp_conn *conn, enum sdp_counter why, size_t bytes)
{
	sdp_count(conn->sn, why, 1);
	trace_sdp_copied(conn->id, bytes, sdp_counter_name(why));
}

/* The oldest, if it is free; adds to @bytes what was moved. */
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
 * Return: bytes of theirs that were moved.
 */
size_t sdp_umr_reap(struct sdp_conn *conn, struct list_head *umrs)
{
	struct sdp_umr *umr;
	size_t bytes = 0;

	while ((umr = sdp_umr_take(conn, umrs, &bytes)))
		sdp_umr_return(conn, umr);
	return bytes;
}

static bool sdp_umr_end_in(struct sdp_conn *conn, struct list_head *umrs,
			   u32 key)
{
	struct sdp_umr *umr;

	list_for_each_entry(umr, umrs, node) {
		if (umr->state != SDP_UMR_ADVERTISED || umr->umem.key != key ||
		    umr->op.op != SDP_OP_TAKE_BACK)
			continue;
		conn->xp->invalidated(conn, &umr->umem);
		umr->ended = true;
		sdp_count(conn->sn, SDP_CNT_KEYS_ENDED, 1);
		return true;
	}
	return false;
}

/**
 * sdp_umr_end_key() - the peer has had our device forget a key
 * @conn: the connection, conn->lock held
 * @key: which
 *
 * Context: process or softirq.
 * Return: false if nothing was advertised to the peer under that key.
 */
bool sdp_umr_end_key(struct sdp_conn *conn, u32 key)
{
	lockdep_assert_held(&conn->lock);
	return sdp_umr_end_in(conn, sdp_zsrc_umrs(&conn->zsrc), key) ||
	       sdp_umr_end_in(conn, sdp_zsink_avail_umrs(&conn->zsink), key);
}

/**
 * sdp_umr_hold() - the connection dies: what callers have listed stays on the list
 * @umrs: a list of the connection's, conn->lock held
 *
 * Until sdp_umr_drop() has made it IDLE.
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
 * The callers may be kept by a page that does not come, and a device that is removed
 * does not wait for that.  The lists stay as they are meanwhile: nobody takes from
 * them what is not IDLE, or puts anything behind it when the connection is dead.
 *
 * Context: process; sleeps.
 */
void sdp_umr_drop(struct sdp_conn *conn, struct list_head *umrs)
{
	struct sdp_umr *umr;

	list_for_each_entry(umr, umrs, node) {
		if (umr->umem.mr)
			conn->xp->dereg(conn, &umr->umem);
		/* What is async is copied from perhaps, and the worker's to return. */
		if (!umr->async)
			sdp_umem_try_unpin(&umr->umem);
	}
	spin_lock_bh(&conn->lock);
	list_for_each_entry(umr, umrs, node)
		umr->state = SDP_UMR_IDLE;
	spin_unlock_bh(&conn->lock);
}
