/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A queue pair with its two completion queues, and posting on it.
 *
 * Two queues, since they are wanted at different times: receives wake a
 * reader, while send completions only give memory back, and nobody should be
 * woken for that unless he waits for it.
 */
#ifndef _SDP_QP_H
#define _SDP_QP_H

#include "sdp_dev.h"

struct sdp_qp {
	struct sdp_dev *dev;	/* holds a reference */
	struct ib_qp *qp;
	struct sdp_cq *recv_cq;
	struct sdp_cq *send_cq;
	u16 sq_size;		/* requests that may be posted */
	u16 rq_size;
};

/* Handlers run in any context, with interrupts off: they may only wake.  The
 * first two are also called now and then for nothing.
 */
struct sdp_qp_init {
	void (*recv_event)(void *ctx);
	void (*send_event)(void *ctx);
	void (*qp_event)(struct ib_event *event, void *ctx);
	void *ctx;		/* handed to all three */
};

/**
 * sdp_qp_create() - make the queue pair and move it to no state yet
 * @qp: zeroed
 * @dev: the device; @qp takes a reference of its own
 * @init: handlers
 *
 * Context: process; sleeps.
 * Return: 0 or a negative errno; nothing is left behind on errors.
 */
int sdp_qp_create(struct sdp_qp *qp, struct sdp_dev *dev,
		  const struct sdp_qp_init *init);

/**
 * sdp_qp_destroy() - destroy the queue pair, give its completion queues back
 * @qp: from sdp_qp_create(), or zeroed
 *
 * The device touches no buffer after this; completions not polled are gone,
 * and no handler is called any more.
 * The caller has made sure that nobody posts or polls any more.
 *
 * Context: process; sleeps.
 */
void sdp_qp_destroy(struct sdp_qp *qp);

/**
 * sdp_qp_post_send() - post one Send
 * @qp: in RTS
 * @mr: made valid for the peer before it goes; NULL: nothing is
 * @access: what the peer may do then, IB_ACCESS_*
 * @dma: mapped address of the message
 * @bytes: its length
 * @cookie: comes back in the completion's wr_id
 * @send_flags: IB_SEND_SIGNALED: a completion is wanted; it speaks for all
 *	sends before it.  IB_SEND_SOLICITED: the peer is to be woken
 *
 * Context: any but hard interrupt; the caller's lock orders the messages.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_send(struct sdp_qp *qp, struct sdp_mr *mr, int access, u64 dma,
		     u32 bytes, void *cookie, int send_flags);

/**
 * sdp_qp_post_end() - post one message that has the peer's device forget a key
 * @qp: in RTS
 * @rkey: which; the peer must have said that it may be sent such (1.2)
 * @dma: mapped address of the message
 * @bytes: its length
 * @cookie: comes back in the completion's wr_id
 * @send_flags: as for sdp_qp_post_send()
 *
 * Context: any but hard interrupt; the caller's lock orders the messages.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_end(struct sdp_qp *qp, u32 rkey, u64 dma, u32 bytes,
		    void *cookie, int send_flags);

/* The memory of a peer, by its advert. */
struct sdp_qp_remote {
	u64 va;
	u32 rkey;
};

/**
 * sdp_qp_post_read() - post one RDMA Read
 * @qp: in RTS
 * @mr: to read into; valid for the time of the read.  NULL: to @dma
 * @dma: mapped address to read to, where @mr is NULL
 * @bytes: how many, from 1
 * @from: where they are
 * @cookie: comes back in the completion's wr_id
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_read(struct sdp_qp *qp, struct sdp_mr *mr, u64 dma, u32 bytes,
		     const struct sdp_qp_remote *from, void *cookie);

/**
 * sdp_qp_post_write() - post one RDMA Write
 * @qp: in RTS
 * @mr: what is written, all of it; it is valid from then on
 * @to: where it goes
 * @cookie: comes back in the completion's wr_id
 *
 * The device may need it again until the write is completed, so it is for the
 * caller to have it invalidated then.
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_write(struct sdp_qp *qp, struct sdp_mr *mr,
		      const struct sdp_qp_remote *to, void *cookie);

/**
 * sdp_qp_post_invalidate() - take a registration back
 * @qp: in RTS; the one it was made valid on
 * @mr: leads nowhere when this completes
 * @cookie: comes back in the completion's wr_id
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_invalidate(struct sdp_qp *qp, struct sdp_mr *mr, void *cookie);

/**
 * sdp_qp_post_nothing() - post an RDMA Write of no bytes
 * @qp: in RTS
 * @cookie: comes back in the completion's wr_id
 *
 * The peer's device acknowledges it, and nobody behind it notices (3.6).
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_nothing(struct sdp_qp *qp, void *cookie);

/**
 * sdp_qp_post_recv() - post one receive buffer
 * @qp: in INIT or later
 * @dma: mapped address
 * @bytes: its size
 * @cookie: comes back in the completion's wr_id
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_recv(struct sdp_qp *qp, u64 dma, u32 bytes, void *cookie);

#endif
