// SPDX-License-Identifier: GPL-2.0
/*
 * A defect of soft-RoCE, by verbs alone: a request that makes a registration valid
 * (IB_WR_REG_MR) is carried out again when what was posted before it has to be
 * repeated; the registration is valid by then, that is an error, and the queue pair
 * is lost.  It is why sdp_post_may_register() has such requests wait (sdp_dev.h).
 *
 * One queue pair sends; the other is not ready to receive yet, so that what comes
 * is lost, as it might be on the way.  Then it is, and all that was sent has to
 * come, by being sent again.
 *
 *	behind	the registration is posted behind a message that is repeated: fails
 *	alone	nothing is under way when it is posted, and what is repeated is
 *		the message behind it: must work, everywhere
 */
#include <linux/delay.h>
#include <linux/scatterlist.h>

#include "rxe_pair.h"

enum {
	RXE_REG_SPAN	= 30,		/* ms in which all is lost */
	RXE_REG_LIMIT	= 2000,		/* ms until it has arrived */
};

struct rxe_reg {
	struct rxe_pair pair;
	struct ib_mr *mr;
	struct page *page;
	struct scatterlist sg;
	bool mapped;
};

static void rxe_reg_close(struct rxe_reg *r)
{
	rxe_pair_stop(&r->pair);
	if (!IS_ERR_OR_NULL(r->mr))
		ib_dereg_mr(r->mr);
	if (r->mapped)
		ib_dma_unmap_sg(r->pair.device, &r->sg, 1, DMA_BIDIRECTIONAL);
	rxe_pair_close(&r->pair);
	if (r->page)
		__free_page(r->page);
}

static int rxe_reg_open(struct rxe_reg *r)
{
	int err;

	err = rxe_pair_open(&r->pair) ?: rxe_pair_connect(&r->pair, 0);
	if (err)
		return err;
	r->page = alloc_page(GFP_KERNEL | __GFP_ZERO);
	if (!r->page)
		return -ENOMEM;
	r->mr = ib_alloc_mr(r->pair.pd, IB_MR_TYPE_MEM_REG, 1);
	if (IS_ERR(r->mr))
		return PTR_ERR(r->mr);
	sg_init_table(&r->sg, 1);
	sg_set_page(&r->sg, r->page, PAGE_SIZE, 0);
	r->mapped = ib_dma_map_sg(r->pair.device, &r->sg, 1, DMA_BIDIRECTIONAL);
	if (!r->mapped)
		return -ENOMEM;
	return ib_map_mr_sg(r->mr, &r->sg, 1, NULL, PAGE_SIZE) == 1 ? 0 : -EINVAL;
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

	return ib_post_send(r->pair.qp[0], registers ? &reg.wr : &send, NULL);
}

static int rxe_reg_recv(struct rxe_reg *r)
{
	struct ib_recv_wr recv = {};

	return ib_post_recv(r->pair.qp[1], &recv, NULL);
}

/* So many sends and as many receives are completed; -EIO if one has failed. */
static int rxe_reg_wait(struct rxe_reg *r, int completions)
{
	struct ib_wc wc;
	int ms;

	for (ms = 0; completions && ms < RXE_REG_LIMIT; ms++) {
		while (ib_poll_cq(r->pair.cq, 1, &wc) == 1) {
			if (wc.status != IB_WC_SUCCESS) {
				dev_info(&r->pair.device->dev, "%s\n",
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
	       rxe_pair_connect(&r->pair, 1) ?: rxe_reg_wait(r, 4);
}

static int rxe_reg_alone(struct rxe_reg *r)
{
	int err;

	err = rxe_reg_send(r, true);
	msleep(RXE_REG_SPAN);
	return err ?: rxe_reg_recv(r) ?: rxe_pair_connect(&r->pair, 1) ?:
	       rxe_reg_wait(r, 2);
}

static int rxe_reg_run(struct ib_device *device, const char *name,
		       int (*run)(struct rxe_reg *r), bool *works)
{
	struct rxe_reg r = { .pair.device = device };
	int err;

	err = rxe_reg_open(&r);
	if (!err) {
		int got = run(&r);

		*works = !got;
		dev_info(&device->dev,
			 "a registration that is posted %s: %d\n", name, got);
	}
	rxe_reg_close(&r);
	return err;
}

/**
 * rxe_reg_mr() - a registration behind what is repeated
 * @device: of soft-RoCE
 *
 * Context: process context; may sleep.
 * Return: 0 if "alone" works and "behind" does not; -EXDEV if both do, so that
 * this device needs no care any more; -EIO if "alone" does not; or why it could
 * not be tried.
 */
int rxe_reg_mr(struct ib_device *device)
{
	bool alone = false, behind = false;
	int err;

	err = rxe_reg_run(device, "alone", rxe_reg_alone, &alone) ?:
	      rxe_reg_run(device, "behind others", rxe_reg_behind, &behind);
	if (err)
		return err;
	if (!alone)
		return -EIO;
	return behind ? -EXDEV : 0;
}
