/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the active and the passive side of a connection over verbs share with
 * its worker; see sdp_ib_cm.c.
 */
#ifndef _SDP_IB_CM_H
#define _SDP_IB_CM_H

#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include "sdp_advert.h"
#include "sdp_conn.h"
#include "sdp_verbs.h"
#include "sdp_wire.h"

struct rdma_cm_id;
struct sdp_xport;
struct sdp_xport_upper;

enum {
	SDP_IB_RNR_RETRY	= 7,		/* 7 means infinitely many */
};

/* Steps of the worker, as bits; it does the lowest bit first. */
enum sdp_ib_todo {
	SDP_IB_RESOLVE,		/* active: begin to resolve the address */
	SDP_IB_AGAIN,		/* active: the address is not resolved yet */
	SDP_IB_ROUTE,		/* active: the address is resolved */
	SDP_IB_REQ,		/* active: the route is resolved */
	SDP_IB_REP,		/* active: REP received */
	SDP_IB_BUILD,		/* passive: REQ admitted */
	SDP_IB_COMM_EST,	/* passive: the device reports a message */
	SDP_IB_RTU,		/* passive: RTU received */
	SDP_IB_NO_RTU,		/* passive: the CM has given up the REP */
	SDP_IB_BUSY,		/* active: the peer has no room now */
	SDP_IB_TIMEOUT,		/* not in time, or a pause is over */
	SDP_IB_REFUSED,		/* refused, by ib->err and ib->reason */
	SDP_IB_BROKEN,		/* the queue pair is in error */
	SDP_IB_DREQ_HEARD,
	SDP_IB_DREP_HEARD,	/* DREP received, or the DREQ was given up */
	SDP_IB_LOST,		/* the device is removed */
	SDP_IB_SEND_DREQ,
	SDP_IB_SEND_DREP,
	SDP_IB_FREE,
};

/* The CM half of a connection, with the verbs half in it. */
struct sdp_ib {
	struct sdp_verbs verbs;
	struct rcu_head rcu;
	struct work_struct work;
	struct delayed_work timeout;	/* end of the attempt, or of a pause */
	unsigned long todo;		/* enum sdp_ib_todo */
	struct ib_cm_id *cm_id;
	struct rdma_cm_id *resolver;
	u32 psn;			/* the peer's first PSN, 24 bits */
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

static inline struct sdp_ib *sdp_ib_of_verbs(struct sdp_verbs *v)
{
	return container_of(v, struct sdp_ib, verbs);
}

static inline struct sdp_ib *sdp_ib_of(const struct sdp_conn *conn)
{
	return sdp_ib_of_verbs(conn->xp_priv);
}

/**
 * struct sdp_ib_hooks - what the files below sdp_ib.c need of it
 * @work: the worker of a connection
 * @verbs: what the verbs half calls
 * @cm_event: the callback of ib_cm
 * @xp: the table of this transport
 * @upper: decides about requests that arrive
 *
 * Filled by sdp_ib_init() before there is a connection, and not changed after.
 */
struct sdp_ib_hooks {
	work_func_t work;
	const struct sdp_verbs_ops *verbs;
	ib_cm_handler cm_event;
	const struct sdp_xport *xp;
	const struct sdp_xport_upper *upper;
};

extern struct sdp_ib_hooks sdp_ib_hooks;

/* For workers and timers; made and destroyed by sdp_ib.c. */
extern struct workqueue_struct *sdp_ib_wq;
void sdp_ib_queue(struct sdp_ib *ib, enum sdp_ib_todo what);
void sdp_ib_queue_again(struct sdp_ib *ib);
void sdp_ib_refuse(struct sdp_ib *ib, int err, u8 reason);
struct sdp_ib *sdp_ib_alloc(struct sdp_conn *conn);
u8 sdp_ib_ack_timeout(const struct sdp_conn *conn);
int sdp_ib_modify(struct sdp_ib *ib, enum ib_qp_state state);

/**
 * sdp_ib_is_ended() - whether the peer's CM has ended the connection
 * @ib: the CM half, for which a step has failed
 *
 * Our CM knows by a DREQ or REJ, and is about to report it; the time wait may
 * even be over by now.
 *
 * Context: worker.
 * Return: true if so.
 */
static inline bool sdp_ib_is_ended(const struct sdp_ib *ib)
{
	enum ib_cm_state state = READ_ONCE(ib->cm_id->state);

	return state == IB_CM_DREQ_RCVD || state == IB_CM_TIMEWAIT ||
	       state == IB_CM_IDLE;
}

#endif
