// SPDX-License-Identifier: GPL-2.0
/*
 * A queue pair for which the table of a soft device must grow: for softroce_nodes.sh.
 *
 * softroce_nodes DEVICE COMMAND: makes and destroys queue pairs until the next one
 * has the first number for which the table, an xarray, has to be a level higher, runs
 * COMMAND, makes that one, and destroys it.
 */
#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HIGHER = 64 * 64 };	/* XA_CHUNK_SIZE entries at each of two levels */

static void must(int well, const char *what)
{
	if (well)
		return;
	fprintf(stderr, "softroce_nodes: %s failed: %m\n", what);
	exit(2);
}

static struct ibv_context *opened(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *ctx = NULL;
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			ctx = ibv_open_device(list[i]);
	must(!!ctx, "to open the device");
	ibv_free_device_list(list);
	return ctx;
}

int main(int argc, char **argv)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *kept, *qp;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	unsigned int n;

	if (argc != 3) {
		fprintf(stderr, "usage: softroce_nodes DEVICE COMMAND\n");
		return 2;
	}
	ctx = opened(argv[1]);
	pd = ibv_alloc_pd(ctx);
	must(!!pd, "ibv_alloc_pd");
	init.send_cq = ibv_create_cq(ctx, 4, NULL, NULL, 0);
	init.recv_cq = init.send_cq;
	must(!!init.send_cq, "ibv_create_cq");
	kept = ibv_create_qp(pd, &init);
	must(kept && kept->qp_num < HIGHER, "ibv_create_qp of a low number");
	do {
		qp = ibv_create_qp(pd, &init);
		must(!!qp, "ibv_create_qp");
		n = qp->qp_num;
		ibv_destroy_qp(qp);
	} while (n != HIGHER - 1);
	must(!system(argv[2]), argv[2]);
	qp = ibv_create_qp(pd, &init);
	printf("after number %u: %d\n", n, qp ? (int)qp->qp_num : -1);
	if (qp)
		ibv_destroy_qp(qp);
	ibv_destroy_qp(kept);
	return 0;
}
