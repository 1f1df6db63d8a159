// SPDX-License-Identifier: GPL-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs.h"

void verbs_must(int well, const char *what)
{
	if (well)
		return;
	fprintf(stderr, "%s: %s failed: %m\n", program_invocation_short_name, what);
	exit(2);
}

struct verbs verbs_opened(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct verbs v = { };
	int i;

	for (i = 0; list && list[i]; i++)
		if (!strcmp(ibv_get_device_name(list[i]), name))
			v.ctx = ibv_open_device(list[i]);
	verbs_must(!!v.ctx, "to open the device");
	ibv_free_device_list(list);
	v.pd = ibv_alloc_pd(v.ctx);
	verbs_must(!!v.pd, "ibv_alloc_pd");
	v.cq = ibv_create_cq(v.ctx, 4, NULL, NULL, 0);
	verbs_must(!!v.cq, "ibv_create_cq");
	return v;
}

struct ibv_qp *verbs_made(const struct verbs *v)
{
	struct ibv_qp_init_attr init = {
		.send_cq = v->cq, .recv_cq = v->cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(v->pd, &init);

	verbs_must(!!qp, "ibv_create_qp");
	return qp;
}
