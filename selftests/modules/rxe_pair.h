/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the reproducers of soft-RoCE's defects have in common, and what they are
 * to rxe_main.c.
 */
#ifndef RXE_PAIR_H
#define RXE_PAIR_H

#include <rdma/ib_verbs.h>

enum { RXE_PAIR_WRS = 16 };	/* of each queue */

struct rxe_pair {
	struct ib_device *device;
	struct ib_pd *pd;
	struct ib_cq *cq;
	struct ib_qp *qp[2];
	union ib_gid gid;
	int sgid_index;
	u8 mac[ETH_ALEN];
};

int rxe_pair_open(struct rxe_pair *p);
int rxe_pair_connect(struct rxe_pair *p, int n);
void rxe_pair_stop(struct rxe_pair *p);
void rxe_pair_close(struct rxe_pair *p);

int rxe_reg_mr(struct ib_device *device);
int rxe_qp_free(struct ib_device *device);

#endif
