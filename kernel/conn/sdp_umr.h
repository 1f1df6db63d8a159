/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User memory that is registered with the device; see sdp_umr.c.
 */
#ifndef _SDP_UMR_H
#define _SDP_UMR_H

#include "sdp_conn.h"

u32 sdp_umr_piece(const struct sdp_conn *conn, size_t left, bool first);
struct sdp_umr *sdp_umr_make(struct sdp_conn *conn, u8 op, u8 dir,
			     const struct iov_iter *iter, size_t bytes,
			     size_t most);
int sdp_umr_reg(struct sdp_conn *conn, struct sdp_umr *umr);
void sdp_umr_return(struct sdp_conn *conn, struct sdp_umr *umr);
size_t sdp_umr_reap(struct sdp_conn *conn, struct list_head *umrs);

/**
 * sdp_umr_fill_avail() - advertise memory: the peer may access it from now on
 * @umr: memory that a SrcAvail or SinkAvail is about to name; conn->lock held
 * @hdr: header of the message; length, key and address are filled in
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
 * sdp_umr_comes_back() - the advert of this memory is resolved
 * @conn: the connection, conn->lock held
 * @umr: ADVERTISED until now
 *
 * Its key has to be invalidated before it is IDLE, unless the peer has done so
 * by Send-with-Invalidate.  The caller sets tx.done.
 *
 * Context: process or softirq.
 */
static inline void sdp_umr_comes_back(struct sdp_conn *conn,
				      struct sdp_umr *umr)
{
	if (umr->invalidated) {
		umr->state = SDP_UMR_IDLE;
		return;
	}
	umr->state = SDP_UMR_INVALIDATING;
	list_add_tail(&umr->op.node, &conn->tx.invalidations);
}

bool sdp_umr_invalidated(struct sdp_conn *conn, u32 key);
enum sdp_counter sdp_umr_why(int err);
void sdp_umr_copied(struct sdp_conn *conn, enum sdp_counter why, size_t bytes);

void sdp_umr_hold(struct list_head *umrs);
void sdp_umr_drop(struct sdp_conn *conn, struct list_head *umrs);

#endif
