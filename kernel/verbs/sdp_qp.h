/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair with its two completion queues, and posting on it.
 *
 * Receives and sends have separate completion queues, since they are needed at
 * different times.  A receive wakes a reader.  A send completion only gives
 * memory back, and should wake nobody but a caller that waits for it.
 */
#ifndef _SDP_QP_H
#define _SDP_QP_H

#include "sdp_dev.h"
#include "sdp_sq.h"

struct sdp_qp {
	struct sdp_dev *dev;	/* holds a reference */
	struct ib_qp *qp;
	struct sdp_cq *recv_cq;
	struct sdp_cq *send_cq;
	struct sdp_sq sq;	/* its send queue; under the lock that orders posting */
	u16 rq_size;		/* receives that may be posted */
};

/* Handlers run in any context, with interrupts off: they may only wake.  Some
 * calls of the first two are spurious.
 */
struct sdp_qp_init {
	void (*recv_event)(void *ctx);
	void (*send_event)(void *ctx);
	void (*qp_event)(struct ib_event *event, void *ctx);
	void *ctx;		/* handed to all three */
};

int sdp_qp_create(struct sdp_qp *qp, struct sdp_dev *dev,
		  const struct sdp_qp_init *init);
void sdp_qp_destroy(struct sdp_qp *qp);
int sdp_qp_post_send(struct sdp_qp *qp, struct sdp_mr *mr, int access, u64 dma,
		     u32 bytes, void *cookie, int send_flags);
int sdp_qp_post_end(struct sdp_qp *qp, u32 rkey, u64 dma, u32 bytes,
		    void *cookie, int send_flags);

/* Memory of a peer, as its advert names it. */
struct sdp_qp_remote {
	u64 va;
	u32 rkey;
};

int sdp_qp_post_read(struct sdp_qp *qp, struct sdp_mr *mr, u64 dma, u32 bytes,
		     const struct sdp_qp_remote *from, void *cookie);
int sdp_qp_post_write(struct sdp_qp *qp, struct sdp_mr *mr,
		      const struct sdp_qp_remote *to, void *cookie);
int sdp_qp_post_invalidate(struct sdp_qp *qp, struct sdp_mr *mr, void *cookie);
int sdp_qp_post_nothing(struct sdp_qp *qp, void *cookie);
int sdp_qp_post_recv(struct sdp_qp *qp, u64 dma, u32 bytes, void *cookie);

#endif
