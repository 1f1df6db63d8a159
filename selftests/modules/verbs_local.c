// SPDX-License-Identifier: GPL-2.0
/*
 * Soft-RoCE that is as strict as rdmavt (hfi1): what it reads to or writes from by the
 * local key of a fast registration has to lie where ib_map_mr_sg() put it, whatever
 * iova said when that was registered; rvt_lkey_ok() looks at no other address.  A
 * request that has it elsewhere is refused with EINVAL.  The parameter looked counts
 * those that were well.
 *
 * To be unloaded when nobody posts.
 */
#include <linux/module.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

static struct {
	struct ib_device *device;
	int (*map_mr_sg)(struct ib_mr *mr, struct scatterlist *sg, int nents,
			 unsigned int *offset);
	int (*post_send)(struct ib_qp *qp, const struct ib_send_wr *wr,
			 const struct ib_send_wr **bad);
	struct xarray bases;		/* by the registration: where it was mapped */
} verbs = {
	.bases = XARRAY_INIT(verbs.bases, 0),
};

static unsigned int verbs_looked;
module_param_named(looked, verbs_looked, uint, 0444);
MODULE_PARM_DESC(looked, "requests by a local key that were well");

/* All but the highest bit, which a value in an array has no place for. */
static void *verbs_value(u64 addr)
{
	return xa_mk_value(addr & LONG_MAX);
}

static int verbs_map_mr_sg(struct ib_mr *mr, struct scatterlist *sg, int nents,
			   unsigned int *offset)
{
	int n = verbs.map_mr_sg(mr, sg, nents, offset);
	void *old;

	if (n <= 0)
		return n;
	old = xa_store(&verbs.bases, (unsigned long)mr, verbs_value(mr->iova),
		       GFP_KERNEL);
	return xa_err(old) ?: n;
}

static bool verbs_is_well(const struct ib_mr *mr, const struct ib_sge *sge)
{
	void *base = xa_load(&verbs.bases, (unsigned long)mr);
	u64 off = (sge->addr & LONG_MAX) - xa_to_value(base);

	return base && off <= mr->length && sge->length <= mr->length - off;
}

static int verbs_post_send(struct ib_qp *qp, const struct ib_send_wr *wr,
			   const struct ib_send_wr **bad)
{
	const struct ib_mr *mr = NULL;
	const struct ib_send_wr *at;

	for (at = wr; at; at = at->next) {
		if (at->opcode == IB_WR_REG_MR)
			mr = reg_wr(at)->mr;
		if ((at->opcode != IB_WR_RDMA_READ && at->opcode != IB_WR_RDMA_WRITE) ||
		    !mr || !at->num_sge || at->sg_list->lkey != mr->lkey)
			continue;
		if (!verbs_is_well(mr, at->sg_list)) {
			*bad = wr;
			return -EINVAL;
		}
		verbs_looked++;
	}
	return verbs.post_send(qp, wr, bad);
}

static int verbs_add(struct ib_device *device)
{
	if (verbs.device || device->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	verbs.device = device;
	verbs.map_mr_sg = device->ops.map_mr_sg;
	verbs.post_send = device->ops.post_send;
	WRITE_ONCE(device->ops.map_mr_sg, verbs_map_mr_sg);
	WRITE_ONCE(device->ops.post_send, verbs_post_send);
	return 0;
}

static void verbs_remove(struct ib_device *device, void *data)
{
	WRITE_ONCE(device->ops.map_mr_sg, verbs.map_mr_sg);
	WRITE_ONCE(device->ops.post_send, verbs.post_send);
	verbs.device = NULL;
}

static struct ib_client verbs_client = {
	.name	= "verbs_local",
	.add	= verbs_add,
	.remove	= verbs_remove,
};

static int __init verbs_init(void)
{
	return ib_register_client(&verbs_client);
}
module_init(verbs_init);

static void __exit verbs_exit(void)
{
	ib_unregister_client(&verbs_client);
	xa_destroy(&verbs.bases);
}
module_exit(verbs_exit);

MODULE_DESCRIPTION("Soft-RoCE that looks at local addresses as hfi1 does");
MODULE_LICENSE("GPL");
