// SPDX-License-Identifier: GPL-2.0
/*
 * Memory on loan: pinned, mapped, registered, and all that undone.
 *
 * In this order, since pinning may take as long as a user likes: his page may be of
 * a file that is slow, or of userfaultfd.  Who waits for that holds nothing of the
 * device.  It is told last, when all else is there, and what it knows is put on a
 * list of the connection at once: so it goes, by sdp_tx_drop(), with the queue pair,
 * and a device can be removed whatever callers wait for.
 *
 * Whose it is at each moment is said by its state (sdp_buf.h).  Nobody here
 * decides that: sdp_offer.c and sdp_fill.c have what is sent, sdp_take.c and
 * sdp_ask.c what is received into.
 */
#include "sdp_loan.h"
#include "sdp_trace.h"

/* Places of the send queue that its own request needs. */
static u8 sdp_loan_slots(u8 op)
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

enum { SDP_LOAN_FIRST = 256 * 1024 };

u32 sdp_loan_piece(const struct sdp_conn *conn, size_t left, bool first)
{
	u32 most = first ? SDP_LOAN_FIRST : SDP_SPAN_BYTES;
	size_t pieces;

	most = clamp_t(u32, conn->caps.span_max, PAGE_SIZE, most);
	pieces = DIV_ROUND_UP(left, (size_t)most);
	return min3(round_up(DIV_ROUND_UP(left, pieces), PAGE_SIZE),
		    (size_t)most, left);
}

struct sdp_loan *sdp_loan_make(struct sdp_conn *conn, u8 op, u8 dir,
			       const struct iov_iter *iter, size_t bytes,
			       size_t most)
{
	size_t max = conn->caps.span_max;
	struct sdp_loan *loan;
	int err;

	loan = sdp_loan_alloc(op, sdp_loan_slots(op));
	if (!loan)
		return ERR_PTR(-ENOMEM);
	err = sdp_span_pin(&loan->span, conn->sn, iter,
			   min(bytes, max), min(most, max), dir);
	if (err < 0) {
		sdp_loan_free(loan);
		return ERR_PTR(err);
	}
	/* What could be pinned of it may be too little to be worth it. */
	if (loan->span.bytes <= PAGE_SIZE) {
		sdp_loan_return(conn, loan);
		return ERR_PTR(-EMSGSIZE);
	}
	return loan;
}

int sdp_loan_lend(struct sdp_conn *conn, struct sdp_loan *loan)
{
	struct sdp_span *span = &loan->span;
	int err = conn->xp->lend(conn, span);

	if (!err)
		trace_sdp_lend(conn->id, span->bytes, span->npages, span->nents,
			       span->key, span->dir == DMA_TO_DEVICE);
	return err;
}

void sdp_loan_return(struct sdp_conn *conn, struct sdp_loan *loan)
{
	if (loan->span.mr) {
		trace_sdp_unlend(conn->id, loan->span.bytes, loan->moved,
				 loan->span.key);
		conn->xp->unlend(conn, &loan->span);
	}
	sdp_span_unpin(&loan->span);
	sdp_loan_free(loan);
}

enum sdp_counter sdp_loan_why(int err)
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

void sdp_loan_copied(struct sdp_conn *conn, enum sdp_counter why, size_t bytes)
{
	sdp_count(conn->sn, why, 1);
	trace_sdp_copied(conn->id, bytes, sdp_counter_name(why));
}

/* The oldest, if it is free; adds to @bytes what was moved. */
static struct sdp_loan *sdp_loan_take(struct sdp_conn *conn,
				      struct list_head *loans, size_t *bytes)
{
	struct sdp_loan *loan;

	spin_lock_bh(&conn->lock);
	loan = list_first_entry_or_null(loans, struct sdp_loan, node);
	if (loan && loan->state == SDP_LOAN_FREE) {
		list_del(&loan->node);
		*bytes += loan->moved;
	} else {
		loan = NULL;
	}
	spin_unlock_bh(&conn->lock);
	return loan;
}

size_t sdp_loan_reap(struct sdp_conn *conn, struct list_head *loans)
{
	struct sdp_loan *loan;
	size_t bytes = 0;

	while ((loan = sdp_loan_take(conn, loans, &bytes)))
		sdp_loan_return(conn, loan);
	return bytes;
}

static bool sdp_loan_end_in(struct sdp_conn *conn, struct list_head *loans,
			    u32 key)
{
	struct sdp_loan *loan;

	list_for_each_entry(loan, loans, node) {
		if (loan->state != SDP_LOAN_OUT || loan->span.key != key ||
		    loan->op.op != SDP_OP_TAKE_BACK)
			continue;
		conn->xp->ended(conn, &loan->span);
		loan->ended = true;
		sdp_count(conn->sn, SDP_CNT_KEYS_ENDED, 1);
		return true;
	}
	return false;
}

bool sdp_loan_end_key(struct sdp_conn *conn, u32 key)
{
	lockdep_assert_held(&conn->lock);
	return sdp_loan_end_in(conn, &conn->zsrc.loans, key) ||
	       sdp_loan_end_in(conn, &conn->zsink.asks, key);
}
