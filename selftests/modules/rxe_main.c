// SPDX-License-Identifier: GPL-2.0
/*
 * Defects of soft-RoCE, shown by verbs alone.  Loading it with defect=NAME runs one
 * of them on the newest soft-RoCE device:
 *
 *	reg_mr	registrations are repeated (rxe_reg_mr.c)
 *	qp_free	a queue pair is freed while a packet's receiver looks at it
 *		(rxe_qp_free.c)
 *
 * It stays loaded if the defect is there.  EXDEV says that it is not, ENODEV that
 * there is no soft-RoCE device, EINVAL that no defect is called so or that this kernel
 * has not what it takes; other errors are why it could not be tried.
 */
#include <linux/module.h>

#include "rxe_pair.h"

static char *defect = "";
module_param(defect, charp, 0444);
MODULE_PARM_DESC(defect, "which: reg_mr or qp_free");

static int (*rxe_run)(struct ib_device *device);
static int rxe_result = -ENODEV;

static int rxe_add(struct ib_device *device)
{
	if (device->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	rxe_result = rxe_run(device);
	return 0;
}

static struct ib_client rxe_client = {
	.name	= "rxe_defects",
	.add	= rxe_add,
};

static int __init rxe_defects_init(void)
{
	int err;

	if (!strcmp(defect, "reg_mr")) {
		rxe_run = rxe_reg_mr;
	} else if (IS_ENABLED(CONFIG_KRETPROBES) && !strcmp(defect, "qp_free")) {
		rxe_run = rxe_qp_free;
	} else {
		pr_err("rxe_defects: defect=\"%s\": reg_mr or (with kretprobes) qp_free\n",
		       defect);
		return -EINVAL;
	}
	err = ib_register_client(&rxe_client);
	if (err)
		return err;
	ib_unregister_client(&rxe_client);
	return rxe_result;
}
module_init(rxe_defects_init);

static void __exit rxe_defects_exit(void)
{
}
module_exit(rxe_defects_exit);

MODULE_DESCRIPTION("Defects of soft-RoCE, by verbs alone");
MODULE_LICENSE("GPL");
