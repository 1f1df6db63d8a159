/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the active and the passive side of a connection over verbs share with
 * its worker; see sdp_ib_qp.c.
 */
#ifndef _SDP_IB_QP_H
#define _SDP_IB_QP_H

#include <linux/workqueue.h>
#include <rdma/ib_cm.h>
#include "sdp_advert.h"
#include "sdp_ib_data.h"

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

/**
 * struct sdp_ib_hooks - what the files below sdp_ib.c need of it
 * @work: the worker of a connection
 * @cm_event: the callback of ib_cm
 * @xp: the table of this transport
 * @upper: decides about requests that arrive
 *
 * Filled by sdp_ib_init() before there is a connection, and not changed after.
 */
struct sdp_ib_hooks {
	work_func_t work;
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
int sdp_ib_enlist(struct sdp_ib *ib, struct ib_device *device);
void sdp_ib_unlist(struct sdp_ib *ib);
u8 sdp_ib_ack_timeout(const struct sdp_conn *conn);
int sdp_ib_build_qp(struct sdp_ib *ib, u16 pkey);
int sdp_ib_modify(struct sdp_ib *ib, enum ib_qp_state state);

/**
 * sdp_ib_is_ended() - whether the peer's CM has ended the connection
 * @ib: the device half, for which a step has failed
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
