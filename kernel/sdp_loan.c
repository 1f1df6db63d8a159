// SPDX-License-Identifier: GPL-2.0
/*
 * Memory on loan: pinned, mapped, registered, and all that undone.
 *
 * Whose it is at each moment is said by its state (sdp_buf.h).  Nobody here
 * decides that: sdp_offer.c has what a peer may read, sdp_take.c what is read
 * into.
 */
#include "sdp_loan.h"

struct sdp_loan *sdp_loan_make(struct sdp_conn *conn, u8 op,
			       const struct iov_iter *iter, u32 bytes)
{
	bool out = op == SDP_OP_TAKE_BACK;
	struct sdp_loan *loan;
	int err;

	/* A read needs places for making it valid, reading, and taking back. */
	loan = sdp_loan_alloc(op, out ? 1 : SDP_OP_SLOTS);
	if (!loan)
		return ERR_PTR(-ENOMEM);
	err = sdp_span_pin(&loan->span, conn->sn, iter, bytes,
			   out ? DMA_TO_DEVICE : DMA_FROM_DEVICE);
	if (err < 0) {
		sdp_loan_free(loan);
		return ERR_PTR(err);
	}
	/* What could be pinned of it may be too little to be worth it. */
	err = loan->span.bytes <= PAGE_SIZE ? -EFAULT :
					      conn->xp->lend(conn, &loan->span);
	if (err) {
		sdp_loan_return(conn, loan);
		return ERR_PTR(err);
	}
	return loan;
}

void sdp_loan_return(struct sdp_conn *conn, struct sdp_loan *loan)
{
	if (loan->span.mr)
		conn->xp->unlend(conn, &loan->span);
	sdp_span_unpin(&loan->span);
	sdp_loan_free(loan);
}

/* The oldest, if it is free; adds to @bytes what was moved. */
static struct sdp_loan *sdp_loan_take(struct sdp_conn *conn,
				      struct list_head *loans, size_t *bytes)
{
	struct sdp_loan *loan;

	spin_lock_bh(&conn->tx.lock);
	loan = list_first_entry_or_null(loans, struct sdp_loan, node);
	if (loan && loan->state == SDP_LOAN_FREE) {
		list_del(&loan->node);
		*bytes += loan->moved;
	} else {
		loan = NULL;
	}
	spin_unlock_bh(&conn->tx.lock);
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
