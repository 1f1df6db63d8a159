// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs for which the tables of a soft device must grow: for softroce_nodes.sh.
 *
 * softroce_nodes DEVICE COMMAND...: makes and destroys queue pairs until the next one
 * has the first number for which a table, an xarray, has to be a level higher.  Then
 * for each COMMAND: runs it, makes one queue pair, and destroys it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "lib/verbs.h"

enum { HIGHER = 64 * 64 };	/* XA_CHUNK_SIZE entries at each of two levels */

int main(int argc, char **argv)
{
	struct ibv_qp *kept, *qp;
	struct verbs v;
	unsigned int n;
	int i;

	if (argc < 3) {
		fprintf(stderr, "usage: softroce_nodes DEVICE COMMAND...\n");
		return 2;
	}
	v = verbs_opened(argv[1]);
	kept = verbs_made(&v);
	verbs_must(kept->qp_num < HIGHER, "a queue pair of a low number");
	do {
		qp = verbs_made(&v);
		n = qp->qp_num;
		ibv_destroy_qp(qp);
	} while (n != HIGHER - 1);
	for (i = 2; i < argc; i++) {
		verbs_must(!system(argv[i]), argv[i]);
		qp = verbs_made(&v);
		/* Of a lower number, if the device had no place beside. */
		printf("after number %u, and %s: %u\n", n, argv[i], qp->qp_num);
		n = qp->qp_num;
		ibv_destroy_qp(qp);
	}
	ibv_destroy_qp(kept);
	return 0;
}
