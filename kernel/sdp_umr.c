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

u32 sdp_umr_piece(const struct sdp_conn *conn, size_t left, bool first)
{
	u32 most = first ? SDP_UMR_FIRST : SDP_UMEM_BYTES;
	size_t pieces;

	most = clamp_t(u32, conn->caps.umem_max, PAGE_SIZE, most);
	pieces = DIV_ROUND_UP(left, (size_t)most);
	return min3(round_up(DIV_ROUND_UP(left, pieces), PAGE_SIZE),
		    (size_t)most, left);
}

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

int sdp_umr_reg(struct sdp_conn *conn, struct sdp_umr *umr)
{
	struct sdp_umem *umem = &umr->umem;
	int err = conn->xp->reg(conn, umem);

	if (!err)
		trace_sdp_reg(conn->id, umem->bytes, umem->npages, umem->nents,
			      umem->key, umem->dir == DMA_TO_DEVICE);
	return err;
}

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

bool sdp_umr_end_key(struct sdp_conn *conn, u32 key)
{
	lockdep_assert_held(&conn->lock);
	return sdp_umr_end_in(conn, sdp_zsrc_umrs(&conn->zsrc), key) ||
	       sdp_umr_end_in(conn, sdp_zsink_avail_umrs(&conn->zsink), key);
}

void sdp_umr_hold(struct list_head *umrs)
{
	struct sdp_umr *umr;

	list_for_each_entry(umr, umrs, node)
		umr->state = SDP_UMR_INVALIDATING;
}

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
