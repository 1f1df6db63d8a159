// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair for which the table of a soft device must grow: for softroce_nodes.sh.
 *
 * softroce_nodes DEVICE COMMAND: makes and destroys queue pairs until the next one
 * has the first number for which the table, an xarray, has to be a level higher, runs
 * COMMAND, makes that one, and destroys it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/verbs.h"

enum { HIGHER = 64 * 64 };	/* XA_CHUNK_SIZE entries at each of two levels */

int main(int argc, char **argv)
{
	struct ibv_qp *kept, *qp;
	struct ibv_context *ctx;
	struct ibv_cq *cq;
	struct ibv_pd *pd;
	unsigned int n;

	if (argc != 3) {
		fprintf(stderr, "usage: softroce_nodes DEVICE COMMAND\n");
		return 2;
	}
	ctx = verbs_opened(argv[1]);
	pd = ibv_alloc_pd(ctx);
	verbs_must(!!pd, "ibv_alloc_pd");
	cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	verbs_must(!!cq, "ibv_create_cq");
	kept = verbs_made(pd, cq);
	verbs_must(kept->qp_num < HIGHER, "a queue pair of a low number");
	do {
		qp = verbs_made(pd, cq);
		n = qp->qp_num;
		ibv_destroy_qp(qp);
	} while (n != HIGHER - 1);
	verbs_must(!system(argv[2]), argv[2]);
	qp = verbs_made(pd, cq);	/* of a lower number, as there is none beside */
	printf("after number %u: %u\n", n, qp->qp_num);
	ibv_destroy_qp(qp);
	ibv_destroy_qp(kept);
	return 0;
}
