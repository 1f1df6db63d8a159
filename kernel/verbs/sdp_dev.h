/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One object per RDMA device: its protection domain, its limits, and the
 * references by which removal waits for all that was made on it.
 */
#ifndef _SDP_DEV_H
#define _SDP_DEV_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>
#include "sdp_cq.h"
#include "sdp_mr.h"

/* Requests that a queue has room for; 2^n - 1 fits the rings best. */
enum {
	SDP_DEV_SQ_SIZE	= 31,
	SDP_DEV_RQ_SIZE	= 63,
};

struct sdp_dev {
	struct kref ref;		/* one of the list, one of each user */
	struct ib_device *ib;
	struct ib_event_handler handler;
	struct ib_pd *pd;
	struct list_head node;		/* sdp_dev_list */
	struct completion released;	/* the last reference is gone */

	spinlock_t lock;		/* softirq-safe, leaf: conns */
	struct list_head conns;		/* of the transport, for removal */
	bool going;			/* removal has begun: no new conns */

	struct sdp_cq_pool send_cqs;	/* of sq_size entries */
	struct sdp_cq_pool recv_cqs;	/* of rq_size entries */
	struct sdp_mr_pool mrs;

	u16 sq_size;			/* most requests in a send queue */
	u16 rq_size;			/* most requests in a receive queue */
	u8 max_rd_atom;			/* most RDMA Reads in flight: 1 to 4 */
	/* When soft-RoCE repeats what was not acknowledged it carries out local
	 * requests among it again, and making a valid registration valid puts
	 * the queue pair into error.  So a registration has to be the first
	 * request under way.
	 */
	bool reg_alone;
};

/* How the layer above hears of devices; both calls may sleep. */
struct sdp_dev_ops {
	/* A device may be used from now on. */
	void (*add)(struct sdp_dev *dev);
	/* It goes: end all that uses it; sdp_dev.c waits for the references. */
	void (*remove)(struct sdp_dev *dev);
};

struct sdp_dev *sdp_dev_get(struct ib_device *ib);
void sdp_dev_put(struct sdp_dev *dev);
int sdp_dev_for_each(int (*fn)(struct sdp_dev *dev, void *arg), void *arg);
int sdp_dev_init(const struct sdp_dev_ops *ops);
void sdp_dev_exit(void);

#endif
