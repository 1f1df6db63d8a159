/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The verbs half of a connection, the same for every transport over verbs; see
 * sdp_verbs.c, and sdp_verbs_data.c for what moves data.
 *
 * The contracts of those in SDP_VERBS_DATA_OPS are in struct sdp_xport.
 */
#ifndef _SDP_VERBS_H
#define _SDP_VERBS_H

#include "sdp_dev.h"
#include "sdp_qp.h"

struct sdp_buf;
struct sdp_conn;
struct sdp_msg;
struct sdp_umem;
struct sdp_verbs;

/* What the CM half is told, in any context. */
struct sdp_verbs_ops {
	/* The device reports the peer's first message, before the CM does. */
	void (*heard)(struct sdp_verbs *v);
	/* The queue pair is in error. */
	void (*broken)(struct sdp_verbs *v);
	/* The device goes; under its lock. */
	void (*lost)(struct sdp_verbs *v);
};

/* The verbs half: conn->xp_priv.  A CM half has it as a member. */
struct sdp_verbs {
	struct sdp_conn *conn;		/* a reference, until closed */
	const struct sdp_verbs_ops *ops;
	struct sdp_dev *dev;		/* reference; set before it is listed */
	struct list_head dev_node;	/* dev->conns, dev->lock */
	struct sdp_qp qp;
	u32 peer_qpn;
	u8 port_num;
};

int sdp_verbs_open(struct sdp_verbs *v, u16 pkey);
void sdp_verbs_close(struct sdp_verbs *v);
int sdp_verbs_enlist(struct sdp_verbs *v, struct ib_device *device);
void sdp_verbs_remove(struct sdp_dev *dev);

bool sdp_verbs_can_post(struct sdp_conn *conn, u8 op);
int sdp_verbs_post(struct sdp_conn *conn, struct sdp_msg *msg);
int sdp_verbs_reg(struct sdp_conn *conn, struct sdp_umem *umem);
void sdp_verbs_dereg(struct sdp_conn *conn, struct sdp_umem *umem);
void sdp_verbs_invalidated(struct sdp_conn *conn, struct sdp_umem *umem);
void sdp_verbs_unmap_msg(struct sdp_conn *conn, struct sdp_msg *msg);
int sdp_verbs_post_recv(struct sdp_conn *conn, struct sdp_buf *buf);
int sdp_verbs_poll_recv(struct sdp_conn *conn, int budget);
void sdp_verbs_poll_send(struct sdp_conn *conn);
bool sdp_verbs_arm_recv(struct sdp_conn *conn);
bool sdp_verbs_arm_send(struct sdp_conn *conn);
int sdp_verbs_map(struct sdp_conn *conn, struct sdp_buf *buf);
void sdp_verbs_unmap(struct sdp_conn *conn, struct sdp_buf *buf);
void sdp_verbs_unmap_all(struct sdp_conn *conn);
void sdp_verbs_info(struct sdp_conn *conn, char *device, size_t size, u8 *port,
		    u32 *qpn, u32 *peer_qpn);

/* For the table of a transport over verbs. */
#define SDP_VERBS_DATA_OPS				\
	.can_post	= sdp_verbs_can_post,		\
	.post		= sdp_verbs_post,		\
	.post_recv	= sdp_verbs_post_recv,		\
	.poll_recv	= sdp_verbs_poll_recv,		\
	.poll_send	= sdp_verbs_poll_send,		\
	.arm_recv	= sdp_verbs_arm_recv,		\
	.arm_send	= sdp_verbs_arm_send,		\
	.map		= sdp_verbs_map,		\
	.unmap		= sdp_verbs_unmap,		\
	.reg		= sdp_verbs_reg,		\
	.dereg		= sdp_verbs_dereg,		\
	.invalidated	= sdp_verbs_invalidated,	\
	.unmap_msg	= sdp_verbs_unmap_msg,		\
	.info		= sdp_verbs_info

#endif
