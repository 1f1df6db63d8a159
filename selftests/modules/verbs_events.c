// SPDX-License-Identifier: GPL-2.0
/*
 * Events that a card raises and soft-RoCE never does.  While this is loaded,
 * writing the name of one to /sys/module/verbs_events/parameters/raise raises it
 * on the queue pair that a user in the kernel has made last, or on the completion
 * queue of its sends, as a driver would: by calling the handler, with interrupts
 * off.  A queue pair is taken once; ENXIO says that there is none, or that it is
 * destroyed already, EINVAL that no event is called so.
 *
 * What a busy machine does, for once: with rtr_ms in the same place a queue pair of
 * the kernel's becomes ready to receive so many milliseconds late.
 *
 * What a completion queue that is used again may be late with: with early set to 1 both
 * queues of a queue pair of the kernel's tell of a completion before it is made, and with
 * 2 it is not made, for lack of memory.
 *
 * The device's own verbs are called in any other case: this only looks on.  It is to be
 * unloaded when nobody makes or destroys queue pairs.
 */
#include <linux/delay.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

static const struct {
	const char *name;
	enum ib_event_type event;
} verbs_events[] = {
	{ "qp_fatal",		IB_EVENT_QP_FATAL },
	{ "qp_req_err",		IB_EVENT_QP_REQ_ERR },
	{ "qp_access_err",	IB_EVENT_QP_ACCESS_ERR },
	{ "path_mig",		IB_EVENT_PATH_MIG },
	{ "comm_est",		IB_EVENT_COMM_EST },
	{ "cq_err",		IB_EVENT_CQ_ERR },
};

static struct {
	struct ib_device *device;
	int (*create_qp)(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			 struct ib_udata *udata);
	int (*modify_qp)(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			 struct ib_udata *udata);
	int (*destroy_qp)(struct ib_qp *qp, struct ib_udata *udata);
	spinlock_t lock;		/* irq-safe: qp, which lives while it is there */
	struct ib_qp *qp;
} verbs = {
	.lock = __SPIN_LOCK_UNLOCKED(verbs.lock),
};

static unsigned int verbs_rtr_ms;
module_param_named(rtr_ms, verbs_rtr_ms, uint, 0600);
MODULE_PARM_DESC(rtr_ms, "how late queue pairs of the kernel's are ready to receive (ms)");

static unsigned int verbs_rts_ms;
module_param_named(rts_ms, verbs_rts_ms, uint, 0600);
MODULE_PARM_DESC(rts_ms, "and how late to send");

static unsigned int verbs_early;
module_param_named(early, verbs_early, uint, 0600);
MODULE_PARM_DESC(early, "1: completions before the queue pair; 2: and it is refused");

static void verbs_complete(struct ib_cq *cq)
{
	unsigned long flags;

	local_irq_save(flags);
	cq->comp_handler(cq, cq->cq_context);
	local_irq_restore(flags);
}

static int verbs_create_qp(struct ib_qp *qp, struct ib_qp_init_attr *attr,
			   struct ib_udata *udata)
{
	unsigned int early = READ_ONCE(verbs_early);

	if (early && !qp->uobject && attr->qp_type == IB_QPT_RC) {
		verbs_complete(attr->send_cq);
		verbs_complete(attr->recv_cq);
		if (early > 1)
			return -ENOMEM;
		msleep(20);	/* for who is told */
	}
	return verbs.create_qp(qp, attr, udata);
}

/* It is made when it can do something: who makes it initialises it next. */
static int verbs_modify_qp(struct ib_qp *qp, struct ib_qp_attr *attr, int mask,
			   struct ib_udata *udata)
{
	int err;

	if (!qp->uobject && qp->qp_type == IB_QPT_RC && (mask & IB_QP_STATE)) {
		if (attr->qp_state == IB_QPS_RTR)
			msleep(READ_ONCE(verbs_rtr_ms));
		if (attr->qp_state == IB_QPS_RTS)
			msleep(READ_ONCE(verbs_rts_ms));
	}
	err = verbs.modify_qp(qp, attr, mask, udata);
	if (!err && !qp->uobject && qp->qp_type == IB_QPT_RC &&
	    (mask & IB_QP_STATE) && attr->qp_state == IB_QPS_INIT) {
		spin_lock_irq(&verbs.lock);
		verbs.qp = qp;
		spin_unlock_irq(&verbs.lock);
	}
	return err;
}

static int verbs_destroy_qp(struct ib_qp *qp, struct ib_udata *udata)
{
	spin_lock_irq(&verbs.lock);
	if (verbs.qp == qp)
		verbs.qp = NULL;
	spin_unlock_irq(&verbs.lock);
	return verbs.destroy_qp(qp, udata);
}

static int verbs_raise(enum ib_event_type type)
{
	struct ib_event event = { .event = type };
	struct ib_qp *qp;

	spin_lock_irq(&verbs.lock);
	qp = verbs.qp;
	verbs.qp = NULL;
	if (qp) {
		event.device = qp->device;
		if (type == IB_EVENT_CQ_ERR) {
			event.element.cq = qp->send_cq;
			qp->send_cq->event_handler(&event, qp->send_cq->cq_context);
		} else {
			event.element.qp = qp;
			qp->event_handler(&event, qp->qp_context);
		}
	}
	spin_unlock_irq(&verbs.lock);
	return qp ? 0 : -ENXIO;
}

static int verbs_set_raise(const char *text, const struct kernel_param *kp)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(verbs_events); i++)
		if (sysfs_streq(text, verbs_events[i].name))
			return verbs_raise(verbs_events[i].event);
	return -EINVAL;
}

static const struct kernel_param_ops verbs_raise_ops = {
	.set = verbs_set_raise,
};

module_param_cb(raise, &verbs_raise_ops, NULL, 0200);
MODULE_PARM_DESC(raise, "event: qp_fatal, qp_req_err, qp_access_err, path_mig, comm_est or cq_err");

static int verbs_add(struct ib_device *device)
{
	if (verbs.device || device->ops.driver_id != RDMA_DRIVER_RXE)
		return -EOPNOTSUPP;
	verbs.device = device;
	verbs.create_qp = device->ops.create_qp;
	verbs.modify_qp = device->ops.modify_qp;
	verbs.destroy_qp = device->ops.destroy_qp;
	WRITE_ONCE(device->ops.create_qp, verbs_create_qp);
	WRITE_ONCE(device->ops.modify_qp, verbs_modify_qp);
	WRITE_ONCE(device->ops.destroy_qp, verbs_destroy_qp);
	return 0;
}

static void verbs_remove(struct ib_device *device, void *data)
{
	WRITE_ONCE(device->ops.create_qp, verbs.create_qp);
	WRITE_ONCE(device->ops.modify_qp, verbs.modify_qp);
	WRITE_ONCE(device->ops.destroy_qp, verbs.destroy_qp);
	spin_lock_irq(&verbs.lock);
	verbs.qp = NULL;
	spin_unlock_irq(&verbs.lock);
	verbs.device = NULL;
}

static struct ib_client verbs_client = {
	.name	= "verbs_events",
	.add	= verbs_add,
	.remove	= verbs_remove,
};

module_driver(verbs_client, ib_register_client, ib_unregister_client);

MODULE_DESCRIPTION("Events of verbs that soft-RoCE does not raise");
MODULE_LICENSE("GPL");
