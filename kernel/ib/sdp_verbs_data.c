// SPDX-License-Identifier: GPL-2.0
/*
 * The data path over verbs: posting, completions, mappings.
 *
 * These are entries of struct sdp_xport (sdp_xport.h), called by the files that
 * move data, under their locks.  Nothing here knows of the CM.  What the device
 * refuses, and what completes with an error, is returned or handed up: the
 * callers end the connection.
 */
#include <rdma/ib_verbs.h>
#include "sdp_conn.h"
#include "sdp_rx.h"
#include "sdp_tx.h"
#include "sdp_tx_wc.h"
#include "sdp_verbs.h"

enum {
	SDP_VERBS_POLL	= 4,	/* completions polled at a time, on the stack */
};

/* What the peer may do with memory that is advertised to it. */
static int sdp_verbs_access(const struct sdp_umem *umem)
{
	return umem->dir == DMA_TO_DEVICE ? IB_ACCESS_REMOTE_READ :
	       IB_ACCESS_REMOTE_WRITE | IB_ACCESS_LOCAL_WRITE;
}

static int sdp_verbs_post_send(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_umem *umem = msg->umr ? &msg->umr->umem : NULL;
	struct sdp_verbs *v = conn->xp_priv;
	struct ib_device *device = v->dev->ib;

	msg->dma = ib_dma_map_single(device, msg->addr, msg->bytes,
				     DMA_TO_DEVICE);
	if (ib_dma_mapping_error(device, msg->dma))
		return -ENOMEM;
	msg->mapped = true;
	if (msg->invalidates)
		return sdp_qp_post_end(&v->qp, msg->rkey, msg->dma, msg->bytes,
				       msg, msg->signalled ? IB_SEND_SIGNALED : 0);
	/* A peer that sleeps until it is solicited must hear of urgent data. */
	return sdp_qp_post_send(&v->qp, umem ? umem->mr : NULL,
				umem ? sdp_verbs_access(umem) : 0, msg->dma,
				msg->bytes, msg,
				(msg->signalled ? IB_SEND_SIGNALED : 0) |
				(msg->urgent ? IB_SEND_SOLICITED : 0));
}

static int sdp_verbs_post_read(struct sdp_conn *conn, struct sdp_msg *msg)
{
	const struct sdp_qp_remote from = { .va = msg->va, .rkey = msg->rkey };
	struct sdp_verbs *v = conn->xp_priv;

	if (msg->umr)
		return sdp_qp_post_read(&v->qp, msg->umr->umem.mr, 0,
					msg->bytes, &from, msg);
	return sdp_qp_post_read(&v->qp, NULL, msg->buf->dma, msg->bytes, &from,
				msg);
}

static int sdp_verbs_post_write(struct sdp_conn *conn, struct sdp_msg *msg)
{
	const struct sdp_qp_remote to = { .va = msg->va, .rkey = msg->rkey };
	struct sdp_verbs *v = conn->xp_priv;

	return sdp_qp_post_write(&v->qp, msg->umr->umem.mr, &to, msg);
}

bool sdp_verbs_can_post(struct sdp_conn *conn, u8 op)
{
	struct sdp_verbs *v = conn->xp_priv;

	return sdp_sq_may(&v->qp.sq, op == SDP_OP_READ || op == SDP_OP_WRITE ||
				      op == SDP_OP_ADVERTISE);
}

/* Places in the send queue; see sdp_qp.c for what is posted. */
static u16 sdp_verbs_places(const struct sdp_msg *msg)
{
	switch (msg->op) {
	case SDP_OP_SEND:
		return msg->umr ? 2 : 1;	/* registration, message */
	case SDP_OP_READ:
		return msg->umr ? 3 : 1;	/* and local invalidation */
	case SDP_OP_WRITE:
		return 2;			/* registration, write */
	default:
		return 1;
	}
}

int sdp_verbs_post(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_verbs *v = conn->xp_priv;

	lockdep_assert_held(&conn->lock);
	msg->sq_position = sdp_sq_post(&v->qp.sq, sdp_verbs_places(msg),
				       msg->op == SDP_OP_SEND ? msg->bytes : 0,
				       &msg->signalled);
	switch (msg->op) {
	case SDP_OP_NOTHING:
		return sdp_qp_post_nothing(&v->qp, msg);
	case SDP_OP_READ:
		return sdp_verbs_post_read(conn, msg);
	case SDP_OP_WRITE:
		return sdp_verbs_post_write(conn, msg);
	case SDP_OP_INVALIDATE:
		return sdp_qp_post_invalidate(&v->qp, msg->umr->umem.mr, msg);
	default:
		return sdp_verbs_post_send(conn, msg);
	}
}

/* Account what a request has done to memory when it has completed. */
static void sdp_verbs_completed(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_verbs *v = conn->xp_priv;
	struct sdp_mr *mr;

	if (msg->op == SDP_OP_READ && !msg->umr) {
		ib_dma_sync_single_for_cpu(v->dev->ib, msg->buf->dma,
					   msg->bytes, DMA_FROM_DEVICE);
	} else if (msg->op == SDP_OP_READ || msg->op == SDP_OP_INVALIDATE) {
		mr = msg->umr->umem.mr;
		mr->valid = false;
	}
}

static int sdp_verbs_wc_errno(enum ib_wc_status status)
{
	switch (status) {
	case IB_WC_SUCCESS:
		return 0;
	case IB_WC_RETRY_EXC_ERR:
	case IB_WC_RESP_TIMEOUT_ERR:
		return -ETIMEDOUT;
	default:
		return -ECONNRESET;
	}
}

void sdp_verbs_unmap_msg(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct sdp_verbs *v = conn->xp_priv;

	ib_dma_unmap_single(v->dev->ib, msg->dma, msg->bytes, DMA_TO_DEVICE);
	msg->mapped = false;
}

int sdp_verbs_post_recv(struct sdp_conn *conn, struct sdp_buf *buf)
{
	struct sdp_verbs *v = conn->xp_priv;

	lockdep_assert_held(&conn->lock);
	ib_dma_sync_single_for_device(v->dev->ib, buf->dma, buf->size,
				      DMA_FROM_DEVICE);
	return sdp_qp_post_recv(&v->qp, buf->dma, buf->size, buf);
}

int sdp_verbs_poll_recv(struct sdp_conn *conn, int budget)
{
	struct sdp_verbs *v = conn->xp_priv;
	struct ib_wc wc[SDP_VERBS_POLL];
	int i, n, want, done = 0;

	do {
		want = min_t(int, budget - done, SDP_VERBS_POLL);
		n = ib_poll_cq(v->qp.recv_cq->cq, want, wc);
		for (i = 0; i < n; i++) {
			struct sdp_buf *buf = (void *)(uintptr_t)wc[i].wr_id;
			u32 bytes = 0;

			/* On errors only the cookie and the status are valid.
			 * A Write with immediate uses up a receive too, but
			 * puts nothing into its buffer: that is no message.
			 */
			if (wc[i].status == IB_WC_SUCCESS &&
			    wc[i].opcode == IB_WC_RECV) {
				bytes = wc[i].byte_len;
				ib_dma_sync_single_for_cpu(v->dev->ib,
							   buf->dma, bytes,
							   DMA_FROM_DEVICE);
				buf->invalidated = wc[i].wc_flags &
					     IB_WC_WITH_INVALIDATE;
				buf->key = wc[i].ex.invalidate_rkey;
			}
			sdp_rx_arrived(conn, buf, bytes, wc[i].status);
		}
		done += max(n, 0);
	} while (n == want && done < budget);
	return done;
}

void sdp_verbs_poll_send(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->xp_priv;
	struct ib_wc wc[SDP_VERBS_POLL];
	int i, n;

	do {
		n = ib_poll_cq(v->qp.send_cq->cq, SDP_VERBS_POLL, wc);
		for (i = 0; i < n; i++) {
			struct sdp_msg *msg = (void *)(uintptr_t)wc[i].wr_id;

			if (wc[i].status == IB_WC_SUCCESS) {
				sdp_sq_done(&v->qp.sq, msg->sq_position);
				sdp_verbs_completed(conn, msg);
			}
			sdp_tx_wc(conn, msg, sdp_verbs_wc_errno(wc[i].status));
		}
	} while (n == SDP_VERBS_POLL);
}

bool sdp_verbs_arm_recv(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->xp_priv;

	return sdp_cq_arm(v->qp.recv_cq);
}

bool sdp_verbs_arm_send(struct sdp_conn *conn)
{
	struct sdp_verbs *v = conn->xp_priv;

	return sdp_cq_arm(v->qp.send_cq);
}

int sdp_verbs_map(struct sdp_conn *conn, struct sdp_buf *buf)
{
	struct sdp_verbs *v = conn->xp_priv;
	int err = -ENODEV;

	spin_lock_bh(&conn->lock);
	if (conn->queues) {
		buf->dma = ib_dma_map_page(v->dev->ib, buf->page, 0,
					   buf->size, DMA_FROM_DEVICE);
		buf->mapped = !ib_dma_mapping_error(v->dev->ib, buf->dma);
		err = buf->mapped ? 0 : -ENOMEM;
	}
	spin_unlock_bh(&conn->lock);
	return err;
}

void sdp_verbs_unmap(struct sdp_conn *conn, struct sdp_buf *buf)
{
	struct sdp_verbs *v = conn->xp_priv;

	lockdep_assert_held(&conn->rx.lock);
	/*
	 * What arrived was synced when it did, and small payload may have been
	 * appended by the processor since (sdp_rx_merge()).  Another sync, from
	 * a bounce buffer or by invalidating the cache, would lose that.
	 */
	if (!ib_uses_virt_dma(v->dev->ib))
		dma_unmap_page_attrs(v->dev->ib->dma_device, buf->dma,
				     buf->size, DMA_FROM_DEVICE,
				     DMA_ATTR_SKIP_CPU_SYNC);
	buf->mapped = false;
}

void sdp_verbs_invalidated(struct sdp_conn *conn, struct sdp_umem *umem)
{
	struct sdp_mr *mr = umem->mr;

	mr->valid = false;
}

int sdp_verbs_reg(struct sdp_conn *conn, struct sdp_umem *umem)
{
	struct sdp_verbs *v = conn->xp_priv;
	struct sdp_dev *dev = NULL;
	struct sdp_mr *mr;
	int err;

	spin_lock_bh(&conn->lock);
	if (conn->queues) {
		dev = v->dev;
		kref_get(&dev->ref);
	}
	spin_unlock_bh(&conn->lock);
	if (!dev)
		return -ENODEV;
	mr = sdp_mr_get(&dev->mrs);
	if (IS_ERR(mr)) {
		err = PTR_ERR(mr);
		goto fail;
	}
	err = sdp_mr_map(mr, umem);
	if (err) {
		sdp_mr_put(&dev->mrs, mr, NULL);
		goto fail;
	}
	umem->dev = dev;
	umem->mr = mr;
	return 0;
fail:
	sdp_dev_put(dev);
	return err;
}

void sdp_verbs_dereg(struct sdp_conn *conn, struct sdp_umem *umem)
{
	struct sdp_dev *dev = umem->dev;

	sdp_mr_put(&dev->mrs, umem->mr, umem);
	sdp_dev_put(dev);
	umem->mr = NULL;
}

/**
 * sdp_verbs_unmap_all() - undo sdp_verbs_map() for all buffers of a connection
 * @conn: the connection; its queue pair is gone
 *
 * Context: process; takes conn->rx.lock.
 */
void sdp_verbs_unmap_all(struct sdp_conn *conn)
{
	struct sdp_buf *buf;

	spin_lock_bh(&conn->rx.lock);
	list_for_each_entry(buf, &conn->rx.all, all)
		if (buf->mapped)
			sdp_verbs_unmap(conn, buf);
	spin_unlock_bh(&conn->rx.lock);
}
