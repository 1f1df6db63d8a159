// SPDX-License-Identifier: GPL-2.0
/*
 * Whether a device takes "not ready" (RNR NAK) for no answer: for device.sh.
 *
 * softroce_rnr DEVICE [GID_INDEX]: one queue pair of the device sends to another,
 * which has no buffer for it.  It may be told so for ever (rnr_retry 7), and would
 * give up what is not answered after 7 * 67 ms (retry_cnt 6, timeout 14).  After 2 s
 * there is a buffer.  Prints "well" when the send has succeeded then, "ended" when
 * retries were exceeded; anything else is an error of this test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/verbs.h"

enum { NOT_READY = 2, PATIENCE = 30 };	/* s */

static char buffer[64];

static void connected(struct ibv_qp *qp, const struct ibv_qp *to, int gid_index)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
	};

	verbs_must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
				  IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "INIT");
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
		.dest_qp_num = to->qp_num, .max_dest_rd_atomic = 1,
		.min_rnr_timer = 14,		/* 1.28 ms until it is tried again */
		.ah_attr = {
			.is_global = 1, .port_num = 1,
			.grh = { .hop_limit = 64, .sgid_index = gid_index },
		},
	};
	verbs_must(!ibv_query_gid(qp->context, 1, gid_index, &attr.ah_attr.grh.dgid),
		   "ibv_query_gid");
	verbs_must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), "RTR");
	attr = (struct ibv_qp_attr) {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 6,
		.rnr_retry = 7, .max_rd_atomic = 1,
	};
	verbs_must(!ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
				  IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
				  IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

int main(int argc, char **argv)
{
	int gid_index = argc > 2 ? atoi(argv[2]) : 1, n = 0;
	struct ibv_qp *from, *to;
	struct ibv_mr *mr;
	struct verbs v;
	struct ibv_wc wc;
	time_t end;

	if (argc < 2) {
		fprintf(stderr, "usage: softroce_rnr DEVICE [GID_INDEX]\n");
		return 2;
	}
	v = verbs_opened(argv[1]);
	mr = ibv_reg_mr(v.pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
	verbs_must(!!mr, "ibv_reg_mr");
	from = verbs_made(&v);
	to = verbs_made(&v);
	connected(from, to, gid_index);
	connected(to, from, gid_index);

	struct ibv_sge sge = {
		.addr = (uintptr_t)buffer, .length = sizeof(buffer) / 2,
		.lkey = mr->lkey,
	};
	struct ibv_send_wr send = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad_send;
	struct ibv_recv_wr recv = { .sg_list = &sge, .num_sge = 1 }, *bad_recv;

	verbs_must(!ibv_post_send(from, &send, &bad_send), "ibv_post_send");
	sleep(NOT_READY);
	verbs_must(!ibv_post_recv(to, &recv, &bad_recv), "ibv_post_recv");
	for (end = time(NULL) + PATIENCE; time(NULL) < end; usleep(10000)) {
		n = ibv_poll_cq(v.cq, 1, &wc);
		if (n && (n < 0 || wc.qp_num == from->qp_num))
			break;
	}
	verbs_must(n == 1, "to hear what became of it");
	if (wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_RETRY_EXC_ERR) {
		fprintf(stderr, "softroce_rnr: %s\n", ibv_wc_status_str(wc.status));
		return 2;
	}
	puts(wc.status ? "ended" : "well");
	ibv_destroy_qp(from);
	ibv_destroy_qp(to);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(v.cq);
	ibv_dealloc_pd(v.pd);
	ibv_close_device(v.ctx);
	return 0;
}
