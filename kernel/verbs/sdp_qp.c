// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: create, post to, destroy.
 *
 * One receive or send is one scatter entry: header and payload lie side by
 * side.  Buffers of ours are mapped by the caller and named by the protection
 * domain's own local key.  A key that a peer can use is made for one transfer.
 * The request that makes it valid is posted right before the message that tells
 * the peer, and lets the peer read, or write, and no more.
 *
 * Destruction needs no drain: the connection keeps lists of what is posted, and
 * once ib_destroy_qp() has returned the device can access none of it.
 *
 * A queue pair is made for one connection, though its completion queues are
 * used again.  It could be reset and used again too, but not at once.  A peer's
 * CM that has not had our DREP takes a REQ that names the number for stale and
 * rejects it.  And until the time wait is over, what is still under way might
 * be taken for the next connection's.  So at a thousand connections a second
 * some two thousand would lie waiting, each with 47 KiB, to save 8 % of what a
 * connection costs on soft-RoCE.  This was measured: see docs/results.md (Queue
 * pairs).
 */
#include <linux/slab.h>
#include "sdp_qp.h"

/**
 * sdp_qp_create() - make a queue pair, which stays in its first state (RESET)
 * @qp: what to fill in, zeroed
 * @dev: the device; @qp takes a reference of its own
 * @init: handlers
 *
 * Context: process; sleeps.
 * Return: 0 or a negative errno; nothing is left behind on errors.
 */
int sdp_qp_create(struct sdp_qp *qp, struct sdp_dev *dev,
		  const struct sdp_qp_init *init)
{
	struct ib_qp_init_attr attr = {
		.event_handler	= init->qp_event,
		.qp_context	= init->ctx,
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= dev->sq_size,
			.max_recv_wr	= dev->rq_size,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	struct ib_qp *ib;
	int err;

	kref_get(&dev->ref);
	qp->dev = dev;
	sdp_sq_init(&qp->sq, dev->sq_size, dev->reg_alone);
	qp->rq_size = dev->rq_size;
	qp->recv_cq = sdp_cq_get(&dev->recv_cqs, init->recv_event, init->ctx);
	if (IS_ERR(qp->recv_cq)) {
		err = PTR_ERR(qp->recv_cq);
		qp->recv_cq = NULL;
		goto fail;
	}
	qp->send_cq = sdp_cq_get(&dev->send_cqs, init->send_event, init->ctx);
	if (IS_ERR(qp->send_cq)) {
		err = PTR_ERR(qp->send_cq);
		qp->send_cq = NULL;
		goto fail;
	}
	attr.recv_cq = qp->recv_cq->cq;
	attr.send_cq = qp->send_cq->cq;
	ib = ib_create_qp(dev->pd, &attr);
	if (IS_ERR(ib)) {
		err = PTR_ERR(ib);
		goto fail;
	}
	qp->qp = ib;	/* tools may look at any time: never an ERR_PTR() */
	return 0;
fail:
	sdp_qp_destroy(qp);
	return err;
}

/**
 * sdp_qp_destroy() - destroy the queue pair, give its completion queues back
 * @qp: from sdp_qp_create(), or zeroed
 *
 * The caller has made sure that nobody posts or polls any more.  After this the
 * device accesses no buffer, completions not polled are lost, and no handler is
 * called.
 *
 * Context: process; sleeps.
 */
void sdp_qp_destroy(struct sdp_qp *qp)
{
	if (qp->qp)
		ib_destroy_qp(qp->qp);
	if (qp->dev) {
		sdp_cq_put(&qp->dev->send_cqs, qp->send_cq);
		sdp_cq_put(&qp->dev->recv_cqs, qp->recv_cq);
		sdp_dev_put(qp->dev);
	}
	memset(qp, 0, sizeof(*qp));
}

/* A mapped buffer of ours. */
static struct ib_sge sdp_qp_sge(const struct sdp_qp *qp, u64 dma, u32 bytes)
{
	return (struct ib_sge) {
		.addr	= dma,
		.length	= bytes,
		.lkey	= qp->dev->pd->local_dma_lkey,
	};
}

static struct ib_reg_wr sdp_qp_reg_wr(struct sdp_mr *mr, int access,
				      struct ib_send_wr *next, void *cookie)
{
	mr->mr->iova = access & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE) ?
		       mr->told : mr->dma;
	return (struct ib_reg_wr) {
		.wr.next	= next,
		.wr.wr_id	= (uintptr_t)cookie,	/* if it fails */
		.wr.opcode	= IB_WR_REG_MR,
		.mr		= mr->mr,
		.key		= mr->mr->rkey,
		.access		= access,
	};
}

static struct ib_send_wr sdp_qp_invalidate_wr(struct sdp_mr *mr, void *cookie)
{
	return (struct ib_send_wr) {
		.wr_id		= (uintptr_t)cookie,
		.opcode		= IB_WR_LOCAL_INV,
		.send_flags	= IB_SEND_SIGNALED | IB_SEND_FENCE,
		.ex.invalidate_rkey = mr->mr->rkey,
	};
}

/**
 * sdp_qp_post_send() - post one Send
 * @qp: in RTS
 * @mr: registration that is made valid for the peer before the Send; NULL: none
 * @access: what the peer may do with @mr then, IB_ACCESS_*
 * @dma: mapped address of the message
 * @bytes: its length
 * @cookie: comes back in the completion's wr_id
 * @send_flags: IB_SEND_SIGNALED: a completion is wanted; it covers all sends
 *	before it too.  IB_SEND_SOLICITED: the peer is to be woken
 *
 * Context: any but hard interrupt; the caller's lock orders the messages.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_send(struct sdp_qp *qp, struct sdp_mr *mr, int access, u64 dma,
		     u32 bytes, void *cookie, int send_flags)
{
	struct ib_sge sge = sdp_qp_sge(qp, dma, bytes);
	struct ib_send_wr wr = {
		.wr_id		= (uintptr_t)cookie,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND,
		.send_flags	= send_flags,
	};
	struct ib_reg_wr reg;

	if (!mr)
		return ib_post_send(qp->qp, &wr, NULL);
	mr->valid = true;
	reg = sdp_qp_reg_wr(mr, access, &wr, cookie);
	return ib_post_send(qp->qp, &reg.wr, NULL);
}

/**
 * sdp_qp_post_end() - post one Send-with-Invalidate
 * @qp: in RTS
 * @rkey: key of the peer to invalidate; the peer must have INVALIDATE_CAP (1.2)
 * @dma: mapped address of the message
 * @bytes: its length
 * @cookie: comes back in the completion's wr_id
 * @send_flags: as for sdp_qp_post_send()
 *
 * Context: any but hard interrupt; the caller's lock orders the messages.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_end(struct sdp_qp *qp, u32 rkey, u64 dma, u32 bytes,
		    void *cookie, int send_flags)
{
	struct ib_sge sge = sdp_qp_sge(qp, dma, bytes);
	struct ib_send_wr wr = {
		.wr_id		= (uintptr_t)cookie,
		.sg_list	= &sge,
		.num_sge	= 1,
		.opcode		= IB_WR_SEND_WITH_INV,
		.send_flags	= send_flags,
		.ex.invalidate_rkey = rkey,
	};

	return ib_post_send(qp->qp, &wr, NULL);
}

/**
 * sdp_qp_post_read() - post one RDMA Read
 * @qp: in RTS
 * @mr: registration to read into, valid for the time of the read; NULL: to @dma
 * @dma: mapped address to read to if @mr is NULL
 * @bytes: how many, from 1
 * @from: the peer's memory
 * @cookie: comes back in the completion's wr_id
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_read(struct sdp_qp *qp, struct sdp_mr *mr, u64 dma, u32 bytes,
		     const struct sdp_qp_remote *from, void *cookie)
{
	struct ib_sge sge = sdp_qp_sge(qp, dma, bytes);
	struct ib_rdma_wr wr = {
		.wr.wr_id	= (uintptr_t)cookie,
		.wr.sg_list	= &sge,
		.wr.num_sge	= 1,
		.wr.opcode	= IB_WR_RDMA_READ,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.remote_addr	= from->va,
		.rkey		= from->rkey,
	};
	struct ib_send_wr inv;
	struct ib_reg_wr reg;

	if (!mr)
		return ib_post_send(qp->qp, &wr.wr, NULL);
	sge.addr = mr->dma;
	sge.lkey = mr->mr->lkey;
	/* The completion of the last of the three covers all. */
	inv = sdp_qp_invalidate_wr(mr, cookie);
	wr.wr.send_flags = 0;
	wr.wr.next = &inv;
	mr->valid = true;
	reg = sdp_qp_reg_wr(mr, IB_ACCESS_LOCAL_WRITE, &wr.wr, cookie);
	return ib_post_send(qp->qp, &reg.wr, NULL);
}

/**
 * sdp_qp_post_write() - post one RDMA Write
 * @qp: in RTS
 * @mr: registration whose memory is written, all of it; valid from then on
 * @to: the peer's memory
 * @cookie: comes back in the completion's wr_id
 *
 * The device may need the registration again until the write has completed, so
 * the caller has it invalidated after that.
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_write(struct sdp_qp *qp, struct sdp_mr *mr,
		      const struct sdp_qp_remote *to, void *cookie)
{
	struct ib_sge sge = {
		.addr	= mr->dma,
		.length	= mr->mr->length,
		.lkey	= mr->mr->lkey,
	};
	struct ib_rdma_wr wr = {
		.wr.wr_id	= (uintptr_t)cookie,
		.wr.sg_list	= &sge,
		.wr.num_sge	= 1,
		.wr.opcode	= IB_WR_RDMA_WRITE,
		.wr.send_flags	= IB_SEND_SIGNALED,
		.remote_addr	= to->va,
		.rkey		= to->rkey,
	};
	struct ib_reg_wr reg = sdp_qp_reg_wr(mr, 0, &wr.wr, cookie);

	mr->valid = true;
	return ib_post_send(qp->qp, &reg.wr, NULL);
}

/**
 * sdp_qp_post_invalidate() - invalidate the key of a registration
 * @qp: in RTS; the queue pair on which it was made valid
 * @mr: the registration; its key is invalid when this completes
 * @cookie: comes back in the completion's wr_id
 *
 * Context: any but hard interrupt.
 * Return: 0 or a negative errno.
 */
int sdp_qp_post_invalidate(struct sdp_qp *qp, struct sdp_mr *mr, void *cookie)
{
	struct ib_send_wr inv = sdp_qp_invalidate_wr(mr, cookie);

	return ib_post_send(qp->qp, &inv, NULL);
}

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
int sdp_qp_post_nothing(struct sdp_qp *qp, void *cookie)
{
	struct ib_rdma_wr wr = {
		.wr.wr_id	= (uintptr_t)cookie,
		.wr.opcode	= IB_WR_RDMA_WRITE,
		.wr.send_flags	= IB_SEND_SIGNALED,
	};

	return ib_post_send(qp->qp, &wr.wr, NULL);
}

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
int sdp_qp_post_recv(struct sdp_qp *qp, u64 dma, u32 bytes, void *cookie)
{
	struct ib_sge sge = sdp_qp_sge(qp, dma, bytes);
	struct ib_recv_wr wr = {
		.wr_id		= (uintptr_t)cookie,
		.sg_list	= &sge,
		.num_sge	= 1,
	};

	return ib_post_recv(qp->qp, &wr, NULL);
}
