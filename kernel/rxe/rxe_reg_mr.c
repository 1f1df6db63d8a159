// SPDX-License-Identifier: GPL-2.0
/*
 * A defect of soft-RoCE, by verbs alone: a request that makes a registration valid
 * (IB_WR_REG_MR) is carried out again when what was posted before it has to be
 * repeated; the registration is valid by then, that is an error, and the queue pair
 * is lost.  It is why sdp_post_may_register() has such requests wait (sdp_dev.h).
 *
 * Two queue pairs of the device, connected to each other.  One sends; the other is
 * not ready to receive yet, so that what comes is lost, as it might be on the way.
 * Then it is, and all that was sent has to come, by being sent again.
 *
 *	behind	the registration is posted behind a message that is repeated: fails
 *	alone	nothing is under way when it is posted, and what is repeated is
 *		the message behind it: must work, everywhere
 *
 * Loading it runs both.  It stays loaded if "alone" worked and "behind" did not;
 * EXDEV says that "behind" works too, so that this device needs no care any more;
 * EIO that "alone" does not; ENODEV that there is no soft-RoCE device.
 */
#include <linux/delay.h>
#include <linux/etherdevice.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

enum {
	RXE_REG_PORT	= 1,
	RXE_REG_WRS	= 16,		/* of each queue */
	RXE_REG_SPAN	= 30,		/* ms in which all is lost */
	RXE_REG_LIMIT	= 2000,		/* ms until it has arrived */
};

struct rxe_reg {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp[2];
	struct ib_mr *mr;
	struct page *page;
	struct scatterlist sg;
	bool mapped;
	union ib_gid gid;
	int sgid_index;
	u8 mac[ETH_ALEN];
};

static int rxe_reg_init_qp(struct rxe_reg *r, int n)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= RXE_REG_PORT,
		.qp_access_flags = IB_ACCESS_REMOTE_READ,
	};

	return ib_modify_qp(r->qp[n], &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int rxe_reg_connect(struct rxe_reg *r, int n)
{
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_RTR,
		.path_mtu	= IB_MTU_1024,
		.dest_qp_num	= r->qp[!n]->qp_num,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic	= 1,
		.min_rnr_timer	= 10,
		.timeout	= 14,	/* 67 ms */
		.retry_cnt	= 7,
		.rnr_retry	= 7,
	};
	int err;

	attr.ah_attr.type = rdma_ah_find_type(r->device, RXE_REG_PORT);
	rdma_ah_set_port_num(&attr.ah_attr, RXE_REG_PORT);
	rdma_ah_set_grh(&attr.ah_attr, &r->gid, 0, r->sgid_index, 64, 0);
	/* Users in the kernel resolve it themselves: it is the device's own. */
	ether_addr_copy(attr.ah_attr.roce.dmac, r->mac);
	err = ib_modify_qp(r->qp[n], &attr, IB_QP_STATE | IB_QP_AV |
			   IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			   IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
	if (err)
		return err;
	attr.qp_state = IB_QPS_RTS;
	return ib_modify_qp(r->qp[n], &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int rxe_reg_mac(struct rxe_reg *r)
{
	const struct ib_gid_attr *attr;
	struct net_device *ndev;
	int err = 0;

	attr = rdma_get_gid_attr(r->device, RXE_REG_PORT, r->sgid_index);
	if (IS_ERR(attr))
		return PTR_ERR(attr);
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev))
		err = PTR_ERR(ndev);
	else
		ether_addr_copy(r->mac, ndev->dev_addr);
	rcu_read_unlock();
	rdma_put_gid_attr(attr);
	return err;
}

/* An address of its own that it can be reached by: IPv4, whichever is first. */
static int rxe_reg_gid(struct rxe_reg *r)
{
	const struct ib_port_data *port = &r->device->port_data[RXE_REG_PORT];
	int i;

	for (i = 0; i < port->immutable.gid_tbl_len; i++) {
		if (rdma_query_gid(r->device, RXE_REG_PORT, i, &r->gid) ||
		    !ipv6_addr_v4mapped((struct in6_addr *)&r->gid))
			continue;
		r->sgid_index = i;
		return rxe_reg_mac(r);
	}
	return -EADDRNOTAVAIL;
}

static void rxe_reg_close(struct rxe_reg *r)
{
	int i;

	for (i = 0; i < 2; i++)
		if (!IS_ERR_OR_NULL(r->qp[i]))
			ib_destroy_qp(r->qp[i]);
	if (!IS_ERR_OR_NULL(r->mr))
		ib_dereg_mr(r->mr);
	if (r->mapped)
		ib_dma_unmap_sg(r->device, &r->sg, 1, DMA_BIDIRECTIONAL);
	if (!IS_ERR_OR_NULL(r->cq))
		ib_destroy_cq(r->cq);
	if (!IS_ERR_OR_NULL(r->pd))
		ib_dealloc_pd(r->pd);
	if (r->page)
		__free_page(r->page);
}

static int rxe_reg_open(struct rxe_reg *r)
{
	struct ib_cq_init_attr cq = { .cqe = 4 * RXE_REG_WRS };
	struct ib_qp_init_attr qp = {
		.sq_sig_type	= IB_SIGNAL_REQ_WR,
		.qp_type	= IB_QPT_RC,
		.cap = {
			.max_send_wr	= RXE_REG_WRS,
			.max_recv_wr	= RXE_REG_WRS,
			.max_send_sge	= 1,
			.max_recv_sge	= 1,
		},
	};
	int i, err;

	err = rxe_reg_gid(r);
	if (err)
		return err;
	r->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!r->page)
		return -ENOMEM;
	r->pd = ib_alloc_pd(r->device, 0);
	if (IS_ERR(r->pd))
		return PTR_ERR(r->pd);
	r->cq = ib_create_cq(r->device, NULL, NULL, NULL, &cq);
	if (IS_ERR(r->cq))
		return PTR_ERR(r->cq);
	qp.send_cq = r->cq;
	qp.recv_cq = r->cq;
	for (i = 0; i < 2; i++) {
		r->qp[i] = ib_create_qp(r->pd, &qp);
		if (IS_ERR(r->qp[i]))
			return PTR_ERR(r->qp[i]);
	}
	err = rxe_reg_init_qp(r, 0) ?: rxe_reg_init_qp(r, 1) ?:
	      rxe_reg_connect(r, 0);
	if (err)
		return err;
	r->mr = ib_alloc_mr(r->pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(r->mr))
		return PTR_ERR(r->mr);
	sg_init_table(&r->sg, 1);
	sg_set_page(&r->sg, r->page, PAGE_SIZE, 0);
	r->mapped = ib_dma_map_sg(r->device, &r->sg, 1, DMA_BIDIRECTIONAL);
	if (!r->mapped)
		return -ENOMEM;
	i = ib_map_mr_sg(r->mr, &r->sg, 1, NULL, PAGE_SIZE);
	return i == 1 ? 0 : -EINVAL;
}

/* Messages of no bytes: it is not about what they say. */
static int rxe_reg_send(struct rxe_reg *r, bool registers)
{
	struct ib_send_wr send = {
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};
	struct ib_reg_wr reg = {
		.wr.opcode	= IB_WR_REG_MR,
		.wr.next	= &send,
		.mr		= r->mr,
		.key		= r->mr->rkey,
		.access		= IB_ACCESS_REMOTE_READ,
	};

	return ib_post_send(r->qp[0], registers ? &reg.wr : &send, NULL);
}

static int rxe_reg_recv(struct rxe_reg *r)
{
	struct ib_recv_wr recv = {};

	return ib_post_recv(r->qp[1], &recv, NULL);
}

/* So many sends and as many receives are completed; -EIO if one has failed. */
static int rxe_reg_wait(struct rxe_reg *r, int completions)
{
	struct ib_wc wc;
	int ms;

	for (ms = 0; completions && ms < RXE_REG_LIMIT; ms++) {
		while (ib_poll_cq(r->cq, 1, &wc) == 1) {
			if (wc.status != IB_WC_SUCCESS) {
				pr_info("rxe_reg_mr: %s\n",
					ib_wc_status_msg(wc.status));
				return -EIO;
			}
			completions--;
		}
		usleep_range(1000, 2000);
	}
	return completions ? -ETIMEDOUT : 0;
}

static int rxe_reg_behind(struct rxe_reg *r)
{
	int err;

	err = rxe_reg_send(r, false) ?: rxe_reg_send(r, true);
	msleep(RXE_REG_SPAN);
	return err ?: rxe_reg_recv(r) ?: rxe_reg_recv(r) ?:
	       rxe_reg_connect(r, 1) ?: rxe_reg_wait(r, 4);
}

static int rxe_reg_alone(struct rxe_reg *r)
{
	int err;

	err = rxe_reg_send(r, true);
	msleep(RXE_REG_SPAN);
	return err ?: rxe_reg_recv(r) ?: rxe_reg_connect(r, 1) ?:
	       rxe_reg_wait(r, 2);
}

static int rxe_reg_run(struct ib_device *device, const char *name,
		       int (*run)(struct rxe_reg *r), bool *works)
{
	struct rxe_reg r = { .device = device };
	int err;

	err = rxe_reg_open(&r);
	if (!err) {
		int got = run(&r);

		*works = !got;
		pr_info("rxe_reg_mr: %s: a registration that is posted %s: %d\n",
			dev_name(&device->dev), name, got);
	}
	rxe_reg_close(&r);
	return err;
}

static int rxe_reg_result = -ENODEV;

static int rxe_reg_add(struct ib_device *device)
{
	bool alone = false, behind = false;
	int err;

	if (device->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	err = rxe_reg_run(device, "alone", rxe_reg_alone, &alone) ?:
	      rxe_reg_run(device, "behind others", rxe_reg_behind, &behind);
	if (!err && !alone)
		err = -EIO;
	else if (!err && behind)
		err = -EXDEV;
	rxe_reg_result = err;
	return 0;
}

static struct ib_client rxe_reg_client = {
	.name	= "rxe_reg_mr",
	.add	= rxe_reg_add,
};

static int __init rxe_reg_init(void)
{
	int err = ib_register_client(&rxe_reg_client);

	if (err)
		return err;
	ib_unregister_client(&rxe_reg_client);
	return rxe_reg_result;
}
module_init(rxe_reg_init);

static void __exit rxe_reg_exit(void)
{
}
module_exit(rxe_reg_exit);

MODULE_DESCRIPTION("Soft-RoCE repeats registrations: a reproducer");
MODULE_LICENSE("GPL");
