/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The device half of a connection, and the entries of struct sdp_xport that
 * move data; see sdp_ib_data.c.
 *
 * The contracts of the functions are in struct sdp_xport, except for
 * sdp_ib_unmap_all().
 */
#ifndef _SDP_IB_DATA_H
#define _SDP_IB_DATA_H

#include <linux/workqueue.h>
#include "sdp_dev.h"
#include "sdp_qp.h"
#include "sdp_wire.h"

struct rdma_cm_id;
struct sdp_buf;
struct sdp_conn;
struct sdp_msg;
struct sdp_umem;

/* The device half of a connection: conn->xp_priv. */
struct sdp_ib {
	struct sdp_conn *conn;		/* a reference, until freed */
	struct rcu_head rcu;
	struct work_struct work;
	struct delayed_work timeout;	/* end of the attempt, or of a pause */
	unsigned long todo;		/* enum sdp_ib_todo */
	struct sdp_dev *dev;		/* reference; set before it is listed */
	struct list_head dev_node;	/* dev->conns, dev->lock */
	struct ib_cm_id *cm_id;
	struct rdma_cm_id *resolver;
	struct sdp_qp qp;
	u32 psn;			/* the peer's first PSN, 24 bits */
	u32 peer_qpn;
	u8 port_num;
	u8 responder_resources;
	u8 initiator_depth;
	bool is_read;			/* the peer may read by RDMA: both devices can */
	bool resolved;			/* the resolver has the address */
	u32 ask_ms;			/* ms for the last address look-up */
	u32 busy_ms;			/* ms of pause if the peer is full */
	unsigned long deadline;		/* jiffies: the end of the attempt */
	u8 rep_timeout;			/* passive: until ib_cm repeats the REP,
					 * 4.096 us * 2^n, by the peer's REQ
					 */
	bool begun;			/* active: the queue pair left INIT */
	bool awaits_rtu;		/* passive, worker only: RTU may come */
	bool dreq_held;			/* worker only: DREQ awaits the RTU */
	bool abort_tried;		/* worker only: AbortConn was tried */
	bool freed;			/* worker only: teardown has begun */
	int err;			/* with SDP_IB_REFUSED: positive errno */
	u8 reason;			/* with SDP_IB_REFUSED: sdp_reason */
};

bool sdp_ib_can_post(struct sdp_conn *conn, u8 op);
int sdp_ib_post(struct sdp_conn *conn, struct sdp_msg *msg);
int sdp_ib_reg(struct sdp_conn *conn, struct sdp_umem *umem);
void sdp_ib_dereg(struct sdp_conn *conn, struct sdp_umem *umem);
void sdp_ib_invalidated(struct sdp_conn *conn, struct sdp_umem *umem);
void sdp_ib_unmap_msg(struct sdp_conn *conn, struct sdp_msg *msg);
int sdp_ib_post_recv(struct sdp_conn *conn, struct sdp_buf *buf);
int sdp_ib_poll_recv(struct sdp_conn *conn, int budget);
void sdp_ib_poll_send(struct sdp_conn *conn);
bool sdp_ib_arm_recv(struct sdp_conn *conn);
bool sdp_ib_arm_send(struct sdp_conn *conn);
int sdp_ib_map(struct sdp_conn *conn, struct sdp_buf *buf);
void sdp_ib_unmap(struct sdp_conn *conn, struct sdp_buf *buf);
void sdp_ib_unmap_all(struct sdp_conn *conn);

#endif
