// SPDX-License-Identifier: GPL-2.0
/*
 * The active side of the hello exchange: from an address to the RTU.
 *
 * rdma_cm only turns addresses into device, port, GID and path: its connection
 * requests carry 36 bytes of its own before ours, and another service id.  So
 * the REQ is sent by ib_cm itself, with the Hello as its whole private data and
 * service id 0x10000 + port.  The resolver, an rdma_cm id, is destroyed once
 * the REQ is out.
 *
 * A probe goes the same way, but sends a SIDR REQ instead of the REQ.
 *
 * What fails for now, because a neighbour is not known or a backlog is full, is
 * tried again until ib->deadline: the attempt's timer never waits longer.  What
 * fails for good ends the attempt by sdp_ib_refuse(), with an errno for the
 * user and an enum sdp_reason.
 */
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <linux/sdp.h>
#include "sdp_conn.h"
#include "sdp_ib_active.h"
#include "sdp_ib_addr.h"
#include "sdp_ib_cm.h"
#include "sdp_ib_port.h"
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_session.h"
#include "sdp_trace.h"

enum {
	/* CM response timeouts, 4.096 us * 2^n: 16 ms to 0.5 s.  ib_cm waits
	 * twice as long for the answer to a REQ.
	 */
	SDP_IB_CM_TIMEOUT_MIN	= 12,
	SDP_IB_CM_TIMEOUT_MAX	= 17,
	SDP_IB_CM_RETRIES	= 15,
	SDP_IB_CM_TRIES		= SDP_IB_CM_RETRIES + 1,
	SDP_IB_ASK_MS		= 10,		/* first address look-up */
	SDP_IB_BUSY_MS		= 10,		/* first pause when busy */
	SDP_IB_BUSY_MAX_MS	= 1000,
};

/* Set the attempt's timer, but not beyond the end of the attempt. */
static void sdp_ib_set_timer(struct sdp_ib *ib, unsigned int ms)
{
	unsigned long at = jiffies + msecs_to_jiffies(ms);

	if (time_after(at, ib->deadline))
		at = ib->deadline;
	mod_delayed_work(sdp_ib_wq, &ib->timeout,
			 max_t(long, at - jiffies, 0));
}

/* No memory, or the device is out of a resource: not the route's fault. */
static bool sdp_ib_short_of(int err)
{
	return err == -ENOMEM || err == -ENOBUFS;
}

/* The address cannot be resolved; @err is a negative errno. */
static void sdp_ib_no_address(struct sdp_ib *ib, int err)
{
	if (sdp_ib_short_of(err))
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
	else
		sdp_ib_refuse(ib, ENETUNREACH, err == -ENODEV ?
			      SDP_REASON_NO_DEVICE : SDP_REASON_NO_ROUTE);
}

/* The core's devices are asked for all but the host itself. */
bool sdp_ib_reaches(struct net *net, const struct sdp_addr *remote, int ifindex)
{
	return !sdp_ib_is_loopback(&remote->ip);
}

/* Routing errors are reported at once, as by TCP's connect(). */
int sdp_ib_route(struct sdp_conn *conn)
{
	int err;

	if (sdp_ib_is_loopback(&conn->remote.ip)) {
		conn->reason = SDP_REASON_LOOPBACK;
		return -ENETUNREACH;
	}
	err = sdp_ib_route_source(conn);
	if (err && !sdp_ib_short_of(err))
		conn->reason = SDP_REASON_NO_ROUTE;
	return err;
}

int sdp_ib_connect(struct sdp_conn *conn)
{
	struct sdp_ib *ib = sdp_ib_alloc(conn);

	if (!ib)
		return -ENOMEM;
	sdp_conn_get(conn);	/* until sdp_ib_free() */
	sdp_session_connect(conn);
	sdp_conn_event(conn, SDP_EV_CONNECT);
	ib->deadline = jiffies + msecs_to_jiffies(conn->limit_ms);
	sdp_ib_set_timer(ib, conn->limit_ms);
	sdp_ib_queue(ib, SDP_IB_RESOLVE);
	return 0;
}

static int sdp_ib_resolver_event(struct rdma_cm_id *id,
				 struct rdma_cm_event *event)
{
	struct sdp_ib *ib = id->context;

	trace_sdp_cm(ib->verbs.conn->id, rdma_event_msg(event->event), event->status);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		sdp_ib_queue(ib, SDP_IB_ROUTE);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		sdp_ib_queue(ib, SDP_IB_REQ);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		if (event->status == -ETIMEDOUT)
			sdp_ib_queue(ib, SDP_IB_AGAIN);
		else
			sdp_ib_no_address(ib, event->status);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_ROUTE);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
		break;
	default:
		break;
	}
	return 0;
}

/**
 * sdp_ib_ask_address() - SDP_IB_AGAIN: resolve the address, with more time
 * @ib: the CM half; its resolver is idle
 *
 * The RDMA core looks at the neighbour when it is asked, when the neighbour's
 * state changes, and when the time is over.  It misses a change between its
 * first look and the moment from which it listens for changes.  So it gets
 * little time, and is asked again until the attempt ends.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_ask_address(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;
	struct sockaddr_storage src, dst;
	int err;

	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	ib->ask_ms = ib->ask_ms ? 2 * ib->ask_ms : SDP_IB_ASK_MS;
	trace_sdp_cm(conn->id, "resolve address", ib->ask_ms);
	sdp_ib_to_sockaddr(&conn->local, conn->ifindex, &src);
	sdp_ib_to_sockaddr(&conn->remote, conn->ifindex, &dst);
	err = rdma_resolve_addr(ib->resolver, (struct sockaddr *)&src,
				(struct sockaddr *)&dst, ib->ask_ms);
	if (err)
		sdp_ib_no_address(ib, err);
}

/**
 * sdp_ib_resolve() - SDP_IB_RESOLVE: begin to resolve the peer's address
 * @ib: the CM half
 *
 * Called again for another try when the peer had no room.  Does nothing if the
 * attempt has ended.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_resolve(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;
	int err;

	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	ib->resolved = false;
	ib->ask_ms = 0;
	/* For another try: the route may be blocked, or under IPsec, by now. */
	err = ib->busy_ms ? sdp_ib_route_source(conn) : 0;
	if (err) {
		sdp_ib_refuse(ib, -err, sdp_ib_short_of(err) ?
			      SDP_REASON_LIMIT : SDP_REASON_NO_ROUTE);
		return;
	}
	ib->resolver = rdma_create_id(conn->net, sdp_ib_resolver_event, ib,
				      RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(ib->resolver)) {
		err = PTR_ERR(ib->resolver);
		ib->resolver = NULL;
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
		return;
	}
	rdma_set_ack_timeout(ib->resolver, sdp_ib_ack_timeout(conn));
	/* A socket without a TOS gets the administrator's default. */
	if (conn->tos)
		rdma_set_service_type(ib->resolver, conn->tos);
	sdp_ib_ask_address(ib);
}

/**
 * sdp_ib_resolve_route() - SDP_IB_ROUTE: the address is resolved, ask for the path
 * @ib: the CM half; its resolver knows the device
 *
 * Context: worker; sleeps.
 */
void sdp_ib_resolve_route(struct sdp_ib *ib)
{
	int err;

	ib->resolved = true;
	if (!rdma_cap_ib_cm(ib->resolver->device, ib->resolver->port_num)) {
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
		return;
	}
	err = sdp_ib_check_device(ib->verbs.conn,
				  ib->resolver->route.addr.dev_addr.bound_dev_if);
	if (err == -ENODEV) {
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
		return;
	}
	if (!err)
		err = rdma_resolve_route(ib->resolver, ib->verbs.conn->limit_ms);
	if (sdp_ib_short_of(err))
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
	else if (err)
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_ROUTE);
}

/*
 * A CM response timeout for ib_cm_req_param, 4.096 us * 2^n.  All tries
 * together are to last at least as long as the attempt may, and up to twice
 * that, as far as the limits allow: then our timer ends the attempt, and the
 * peer hears its REJ.  A peer that gave up its REP earlier could not tell us.
 */
static u8 sdp_ib_cm_timeout(u32 limit_ms, u32 tries)
{
	/* 2^8 of them are about a millisecond. */
	return clamp_t(u8, order_base_2(limit_ms / tries + 1) + 8,
		       SDP_IB_CM_TIMEOUT_MIN, SDP_IB_CM_TIMEOUT_MAX);
}

/* Bind the connection to the route's device, and make its CM id. */
static int sdp_ib_open(struct sdp_ib *ib, const struct rdma_cm_id *id)
{
	int err;

	if (ib->verbs.dev)	/* another try: there may be a queue pair already */
		err = ib->verbs.dev->ib == id->device &&
		      ib->verbs.port_num == id->port_num ? 0 : -ENODEV;
	else
		err = sdp_verbs_enlist(&ib->verbs, id->device);
	if (err)
		return err;
	ib->verbs.port_num = id->port_num;
	ib->cm_id = ib_create_cm_id(id->device, sdp_ib_hooks.cm_event, ib);
	if (IS_ERR(ib->cm_id)) {
		err = PTR_ERR(ib->cm_id);
		ib->cm_id = NULL;
	}
	return err;
}

static int sdp_ib_try_req(struct sdp_ib *ib)
{
	struct rdma_cm_id *id = ib->resolver;
	struct sdp_conn *conn = ib->verbs.conn;
	u8 data[SDP_LEN_HELLO];
	struct ib_cm_req_param req = {
		.primary_path	= id->route.path_rec,
		.ppath_sgid_attr = id->route.addr.dev_addr.sgid_attr,
		.service_id	= cpu_to_be64(SDP_IB_SERVICE_ID +
					      ntohs(conn->remote.port)),
		.private_data	= data,
		.private_data_len = sizeof(data),
		.qp_type	= IB_QPT_RC,
		.flow_control	= 1,
		.remote_cm_response_timeout =
			sdp_ib_cm_timeout(conn->limit_ms, 2 * SDP_IB_CM_TRIES),
		.local_cm_response_timeout =
			sdp_ib_cm_timeout(conn->limit_ms, SDP_IB_CM_TRIES),
		/* Never 7: soft-RoCE takes that for infinitely many. */
		.retry_count	= READ_ONCE(conn->sn->ack_retries),
		.rnr_retry_count = SDP_IB_RNR_RETRY,
		.max_cm_retries	= SDP_IB_CM_RETRIES,
	};
	int err;

	err = sdp_ib_open(ib, id);
	if (err)
		return err;
	if (!ib->verbs.qp.qp) {
		err = sdp_verbs_open(&ib->verbs,
				     be16_to_cpu(id->route.path_rec->pkey));
		if (err)
			return err;
	}
	sdp_session_put_hello(conn, data);
	req.qp_num = ib->verbs.qp.qp->qp_num;
	req.starting_psn = ib->psn;
	req.responder_resources = ib->verbs.dev->max_rd_atom;
	req.initiator_depth = ib->verbs.dev->max_rd_atom;
	trace_sdp_cm(conn->id, "send REQ", ntohs(conn->remote.port));
	return ib_send_cm_req(ib->cm_id, &req);
}

/* A probe only asks for the service: a listener answers and keeps nothing. */
static int sdp_ib_try_sidr(struct sdp_ib *ib)
{
	struct rdma_cm_id *id = ib->resolver;
	struct ib_cm_sidr_req_param req = {
		.path		= id->route.path_rec,
		.sgid_attr	= id->route.addr.dev_addr.sgid_attr,
		.service_id	= cpu_to_be64(SDP_IB_SERVICE_ID +
					      ntohs(ib->verbs.conn->remote.port)),
		.timeout_ms	= max_t(u32, ib->verbs.conn->limit_ms / 16, 1),
		.max_cm_retries	= SDP_IB_CM_RETRIES,
	};
	int err;

	err = sdp_ib_open(ib, id);
	if (err)
		return err;
	trace_sdp_cm(ib->verbs.conn->id, "send SIDR REQ",
		     ntohs(ib->verbs.conn->remote.port));
	return ib_send_cm_sidr_req(ib->cm_id, &req);
}

/**
 * sdp_ib_send_req() - SDP_IB_REQ: the route is resolved, send the REQ
 * @ib: the CM half; afterwards it has a CM id and no resolver
 *
 * Makes the queue pair, unless an earlier try has made it.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_send_req(struct sdp_ib *ib)
{
	int err;

	if (sdp_conn_state(ib->verbs.conn) != SDP_SYN_SENT)
		return;		/* the attempt is over */
	err = ib->verbs.conn->probe ? sdp_ib_try_sidr(ib) : sdp_ib_try_req(ib);
	if (err == -ENODEV)
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
	else if (err)	/* a provider's own errno is not for users */
		sdp_ib_refuse(ib, err == -ENOMEM ? ENOMEM : ENOBUFS,
			      SDP_REASON_LIMIT);
	/* The REQ is out, or never will be. */
	rdma_destroy_id(ib->resolver);
	ib->resolver = NULL;
}

/**
 * sdp_ib_cm_rep() - keep what a REP says, and queue SDP_IB_REP
 * @ib: the CM half
 * @event: the REP, with the HelloAck
 *
 * Context: process (callback of ib_cm); must not wait.
 * Return: 0, what ib_cm expects of a callback that keeps the id.
 */
int sdp_ib_cm_rep(struct sdp_ib *ib, const struct ib_cm_event *event)
{
	enum sdp_wire_verdict verdict;

	verdict = sdp_session_get_hello_ack(ib->verbs.conn, event->private_data);
	if (verdict != SDP_WIRE_OK) {
		trace_sdp_cm(ib->verbs.conn->id, sdp_wire_verdict_name(verdict), 0);
		sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_PROTOCOL);
		return 0;
	}
	ib->verbs.peer_qpn = event->param.rep_rcvd.remote_qpn;
	/* Our worker may be late, and the peer's CM repeats its REP only within
	 * the time of our attempt.  The MRA tells it that we have the REP, so
	 * that the peer does not give up.
	 */
	ib_prepare_cm_mra(ib->cm_id);
	sdp_ib_queue(ib, SDP_IB_REP);
	return 0;
}

/**
 * sdp_ib_rep() - SDP_IB_REP: the HelloAck is good, go to RTS and send the RTU
 * @ib: the CM half
 *
 * Context: worker; sleeps.
 */
void sdp_ib_rep(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;
	int err;

	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	sdp_session_begin(conn);
	err = sdp_ib_modify(ib, IB_QPS_RTR);
	if (!err) {
		ib->begun = true;
		err = sdp_ib_modify(ib, IB_QPS_RTS);
	}
	if (!err)
		err = ib_send_cm_rtu(ib->cm_id, NULL, 0);
	/* The peer has withdrawn it: the CM's next event says how. */
	if (err && sdp_ib_is_ended(ib))
		return;
	if (err) {
		sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_PROTOCOL);
		return;
	}
	cancel_delayed_work(&ib->timeout);
	sdp_count(conn->sn, SDP_CNT_CONNECT, 1);
	sdp_conn_event(conn, SDP_EV_ESTABLISHED);
	/* Poll only now: the table ignores a DisConn before ESTABLISHED. */
	sdp_session_up(conn);
}

/**
 * sdp_ib_busy() - SDP_IB_BUSY: the peer rejected for now
 * @ib: the CM half; on the active side it loses its CM id until the next
 *	try
 *
 * The peer's backlog is full, its limits are reached, or its CM takes us for an
 * earlier connection.  Where TCP would drop a SYN, and have the client repeat
 * it until there is room or the time is over, this tries again with the queue
 * pair that it has.  On the passive side, or later, the REJ ends the
 * connection.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_busy(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;

	/* The peer's CM gives the same reason for a server that ends the
	 * connection before our RTU has come, and for a client that is closed
	 * with our REP in its hands.
	 */
	if (sdp_conn_state(conn) != SDP_SYN_SENT) {
		sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_REFUSED);
		return;
	}
	/* Rejected while we went to RTS: this queue pair is used up. */
	if (ib->begun) {
		sdp_ib_refuse(ib, ETIMEDOUT, SDP_REASON_BUSY);
		return;
	}
	ib_destroy_cm_id(ib->cm_id);
	ib->cm_id = NULL;
	ib->busy_ms = ib->busy_ms ? min(2 * ib->busy_ms, SDP_IB_BUSY_MAX_MS) :
				    SDP_IB_BUSY_MS;
	sdp_count(conn->sn, SDP_CNT_CONNECT_AGAIN, 1);
	trace_sdp_cm(conn->id, "busy", ib->busy_ms);
	sdp_ib_set_timer(ib, ib->busy_ms);
}

/**
 * sdp_ib_timed_out() - SDP_IB_TIMEOUT: the attempt's time, or a pause, is over
 * @ib: the CM half, of either side
 *
 * Context: worker; sleeps.
 */
void sdp_ib_timed_out(struct sdp_ib *ib)
{
	/* It may have been established while this waited its turn. */
	if (sdp_conn_state(ib->verbs.conn) >= SDP_ESTABLISHED)
		return;
	if (ib->busy_ms && !ib->cm_id && time_before(jiffies, ib->deadline)) {
		sdp_ib_set_timer(ib, ib->verbs.conn->limit_ms);
		sdp_ib_resolve(ib);
	} else if (ib->busy_ms) {
		sdp_conn_refuse(ib->verbs.conn, ETIMEDOUT, SDP_REASON_BUSY);
	} else if (ib->resolver && !ib->resolved) {
		sdp_conn_refuse(ib->verbs.conn, EHOSTUNREACH, SDP_REASON_NO_ROUTE);
	} else {
		sdp_conn_refuse(ib->verbs.conn, ETIMEDOUT, SDP_REASON_TIMEOUT);
	}
}
