// SPDX-License-Identifier: GPL-2.0
/*
 * Two queue pairs of one device, to be connected to each other: what the
 * reproducers do is between them.
 */
#include <linux/etherdevice.h>
#include <rdma/ib_cache.h>

#include "rxe_pair.h"

enum { RXE_PAIR_PORT = 1 };

static int rxe_pair_init_qp(struct rxe_pair *p, int n)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= RXE_PAIR_PORT,
		.qp_access_flags = IB_ACCESS_REMOTE_READ,
	};

	return ib_modify_qp(p->qp[n], &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

/**
 * rxe_pair_connect() - one of them may receive from the other, and send
 * @p: the pair
 * @n: which, 0 or 1; the other one need not be connected
 *
 * Context: process context; may sleep.
 * Return: 0 or the device's error.
 */
int rxe_pair_connect(struct rxe_pair *p, int n)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_RTR,
		.path_mtu	= IB_MTU_1024,
		.dest_qp_num	= p->qp[!n]->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic	= 1,
		.min_rnr_timer	= 10,
		.timeout	= 14,	/* 67 ms */
		.retry_cnt	= 7,
		.rnr_retry	= 7,
	};
	int err;

	attr.ah_attr.type = rdma_ah_find_type(p->device, RXE_PAIR_PORT);
	rdma_ah_set_port_num(&attr.ah_attr, RXE_PAIR_PORT);
	rdma_ah_set_grh(&attr.ah_attr, &p->gid, 0, p->sgid_index, 64, 0);
	/* Users in the kernel resolve it themselves: it is the device's own. */
	ether_addr_copy(attr.ah_attr.roce.dmac, p->mac);
	err = ib_modify_qp(p->qp[n], &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(p->qp[n], &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int rxe_pair_mac(struct rxe_pair *p)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	int err = 0;

	attr = rdma_get_gid_attr(p->device, RXE_PAIR_PORT, p->sgid_index);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev))
		err = PTR_ERR(ndev);
	else
		ether_addr_copy(p->mac, ndev->dev_addr);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return err;
}

/* An address of its own that it can be reached by: IPv4, whichever is first. */
static int rxe_pair_gid(struct rxe_pair *p)
{
	const struct ib_port_data *port = &p->device->port_data[RXE_PAIR_PORT];
	int i;

	for (i = 0; i < port->immutable.gid_tbl_len; i++) {
		if (rdma_query_gid(p->device, RXE_PAIR_PORT, i, &p->gid) ||
		    !ipv6_addr_v4mapped((struct in6_addr *)&p->gid))
			continue;
		p->sgid_index = i;
		return rxe_pair_mac(p);
	}
	return -EADDRNOTAVAIL;
}

/**
 * rxe_pair_stop() - destroy the queue pairs: nothing that was posted is used again
 * @p: the pair, whatever rxe_pair_open() returned; a queue pair that was
 *     destroyed before must be NULL
 *
 * Context: process context; may sleep.
 */
void rxe_pair_stop(struct rxe_pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (!IS_ERR_OR_NULL(p->qp[i]))
			ib_destroy_qp(p->qp[i]);
		p->qp[i] = NULL;
	}
}

/**
 * rxe_pair_close() - destroy what rxe_pair_open() made
 * @p: the pair, stopped or not; nothing else is left of its protection domain
 *
 * Context: process context; may sleep.
 */
void rxe_pair_close(struct rxe_pair *p)
{
	rxe_pair_stop(p);
	if (!IS_ERR_OR_NULL(p->cq))
		ib_destroy_cq(p->cq);
	if (!IS_ERR_OR_NULL(p->pd))
		ib_dealloc_pd(p->pd);
}

/**
 * rxe_pair_open() - make both, neither of them connected
 * @p: all zero but for the device
 *
 * Context: process context; may sleep.
 * Return: 0, -EADDRNOTAVAIL if the device has no IPv4 address, or the device's
 * error; rxe_pair_close() has to follow in any case.
 */
int rxe_pair_open(struct rxe_pair *p)
{
	struct ib_cq_init_attr cq = { .cqe = 4 * RXE_PAIR_WRS };
	struct ib_qp_init_attr qp = {
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= RXE_PAIR_WRS,
			.max_recv_wr	= RXE_PAIR_WRS,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	int i, err;

	err = rxe_pair_gid(p);
	if (err)
		return err;
	p->pd = ib_alloc_pd(p->device, 0);
	if (IS_ERR(p->pd))
		return PTR_ERR(p->pd);
	p->cq = ib_create_cq(p->device, NULL, NULL, NULL, &cq);
	if (IS_ERR(p->cq))
		return PTR_ERR(p->cq);
	qp.send_cq = p->cq;
	qp.recv_cq = p->cq;
	for (i = 0; i < 2; i++) {
		p->qp[i] = ib_create_qp(p->pd, &qp);
		if (IS_ERR(p->qp[i]))
			return PTR_ERR(p->qp[i]);
	}
	return rxe_pair_init_qp(p, 0) ?: rxe_pair_init_qp(p, 1);
}
