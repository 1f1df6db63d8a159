// SPDX-License-Identifier: GPL-2.0
/*
 * The transport over verbs: the hello exchange through ib_cm, and the queue
 * pair's life.
 *
 * rdma_cm only turns addresses into device, port, GID and path; its own
 * connection requests carry 36 bytes of its own before ours and another
 * service id.  So the REQ is sent by ib_cm itself, with the Hello as its whole
 * private data and service id 0x10000 + port, and the resolver is destroyed
 * once the REQ is out.
 *
 * ib_cm runs the callbacks of all its users, host-wide, from one workqueue.
 * So our callback only copies what it was given, sets a bit of ib->todo, and
 * queues the worker; for a REQ it validates and admits first.  The worker of a
 * connection runs alone and does its bits in the order of enum sdp_ib_todo: it
 * alone touches the CM id, the resolver and the queue pair's state.
 *
 * The CM id is destroyed as soon as the DREQ exchange is over.  The time wait
 * that follows belongs to ib_cm, which keeps what it needs for it (and answers
 * a repeated DREQ) without the id.
 *
 * Device removal.  sdp_dev calls sdp_ib_remove(), which marks every connection
 * of the device lost; their workers destroy what they have.  A connection with
 * a socket lives on without its device half, with the bytes that had arrived.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>
#include <linux/sdp.h>
#include "sdp_conn.h"
#include "sdp_ib.h"
#include "sdp_ib_addr.h"
#include "sdp_ib_data.h"
#include "sdp_ib_port.h"
#include "sdp_ring.h"
#include "sdp_rx.h"
#include "sdp_size.h"
#include "sdp_trace.h"
#include "sdp_tx.h"

enum {
	/* 4.096 us * 2^n: the answer of a CM that does not come (16 ms to
	 * 0.5 s, of which ib_cm waits twice as long).  Its 16 tries fill the
	 * time there is, if they can.
	 */
	SDP_IB_CM_TIMEOUT_MIN	= 12,
	SDP_IB_CM_TIMEOUT_MAX	= 17,
	SDP_IB_CM_RETRIES	= 15,
	SDP_IB_ASK_MS		= 10,		/* for a neighbour, at first */
	SDP_IB_BUSY_MS		= 10,		/* for a full backlog, at first */
	SDP_IB_BUSY_MAX_MS	= 1000,
	/* A peer that is slow by its own word may have 4 times as long. */
	SDP_IB_ACK_SLACK	= 2,
	SDP_IB_RNR_RETRY	= 7,		/* for ever */
	SDP_IB_RNR_TIMER	= 12,		/* 0.64 ms */
	SDP_IB_MAX_ADVERTS	= SDP_HALF_ADVERTS,
};

/* What the worker has to do; it does the lowest bit first. */
enum sdp_ib_todo {
	SDP_IB_RESOLVE,		/* active: begin */
	SDP_IB_AGAIN,		/* active: the address is not resolved yet */
	SDP_IB_ROUTE,		/* active: the address is resolved */
	SDP_IB_REQ,		/* active: the route is resolved */
	SDP_IB_REP,		/* active: REP received */
	SDP_IB_BUILD,		/* passive: REQ admitted */
	SDP_IB_RTU,		/* passive: RTU, or a message, received */
	SDP_IB_BUSY,		/* active: the peer has no room now */
	SDP_IB_TIMEOUT,		/* not established in time, or not busy now */
	SDP_IB_REFUSED,		/* ib->err and ib->reason say how */
	SDP_IB_DREQ_HEARD,
	SDP_IB_DREP_HEARD,	/* or the DREQ was given up */
	SDP_IB_LOST,		/* the device goes */
	SDP_IB_SEND_DREQ,
	SDP_IB_SEND_DREP,
	SDP_IB_FREE,
};

static const struct sdp_xport_upper *sdp_ib_upper;
static struct workqueue_struct *sdp_ib_wq;

static void sdp_ib_work(struct work_struct *work);
static void sdp_ib_timeout(struct work_struct *work);

static void sdp_ib_queue(struct sdp_ib *ib, enum sdp_ib_todo what)
{
	set_bit(what, &ib->todo);
	sdp_conn_get(ib->conn);
	if (!queue_work(sdp_ib_wq, &ib->work))
		sdp_conn_put(ib->conn);
}

/* For an attempt: not beyond its end. */
static void sdp_ib_set_timer(struct sdp_ib *ib, unsigned int ms)
{
	unsigned long at = jiffies + msecs_to_jiffies(ms);

	if (time_after(at, ib->deadline))
		at = ib->deadline;
	mod_delayed_work(sdp_ib_wq, &ib->timeout,
			 max_t(long, at - jiffies, 0));
}

static void sdp_ib_refuse(struct sdp_ib *ib, int err, u8 reason)
{
	ib->err = err;
	ib->reason = reason;
	sdp_ib_queue(ib, SDP_IB_REFUSED);
}

/* No memory, or the device has no more of something: not the route's fault. */
static bool sdp_ib_short_of(int err)
{
	return err == -ENOMEM || err == -ENOBUFS;
}

/* Queue pair */

static void sdp_ib_recv_event(void *ctx)
{
	struct sdp_ib *ib = ctx;

	sdp_conn_kick(ib->conn, SDP_CONN_FIRED_RECV);
}

static void sdp_ib_send_event(void *ctx)
{
	struct sdp_ib *ib = ctx;

	sdp_conn_kick(ib->conn, SDP_CONN_FIRED_SEND);
}

static void sdp_ib_qp_event(struct ib_event *event, void *ctx)
{
	struct sdp_ib *ib = ctx;

	trace_sdp_cm(ib->conn->id, ib_event_msg(event->event), event->event);
	if (event->event == IB_EVENT_COMM_EST)
		sdp_ib_queue(ib, SDP_IB_RTU);
}

/* For the queue pair and the path: 4.096 us * 2^n, not less than asked for. */
static u8 sdp_ib_ack_timeout(const struct sdp_conn *conn)
{
	unsigned int ms = READ_ONCE(conn->sn->ack_timeout);

	return ms > 1 ? ilog2(ms - 1) + 9 : 8;
}

static int sdp_ib_modify(struct sdp_ib *ib, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(ib->cm_id, &attr, &mask);
	if (err)
		return err;
	if (state == IB_QPS_RTR) {
		/* The CM of the passive side does not know it yet. */
		attr.rq_psn = ib->psn;
		attr.min_rnr_timer = SDP_IB_RNR_TIMER;
		/* The peer may have asked for more than the device has. */
		attr.max_dest_rd_atomic = min(attr.max_dest_rd_atomic,
					      ib->dev->max_rd_atom);
		ib->conn->tx.may_lend = attr.max_dest_rd_atomic && ib->lends;
		ib->conn->tx.span_max = sdp_mr_bytes(&ib->dev->mrs);
	} else if (state == IB_QPS_RTS) {
		u8 ack = sdp_ib_ack_timeout(ib->conn);

		ib->conn->tx.may_read = attr.max_rd_atomic;
		/* The passive side has them from the peer's REQ, which must
		 * not make us wait for ever (0 does) or for hours.
		 */
		attr.retry_cnt = READ_ONCE(ib->conn->sn->ack_retries);
		attr.timeout = clamp_t(u8, attr.timeout, ack,
				       ack + SDP_IB_ACK_SLACK);
	}
	return ib_modify_qp(ib->qp.qp, &attr, mask);
}

static struct sdp_ib *sdp_ib_alloc(struct sdp_conn *conn)
{
	struct sdp_ib *ib = kzalloc_obj(*ib, GFP_KERNEL);

	if (!ib)
		return NULL;
	ib->conn = conn;
	INIT_WORK(&ib->work, sdp_ib_work);
	INIT_DELAYED_WORK(&ib->timeout, sdp_ib_timeout);
	INIT_LIST_HEAD(&ib->dev_node);
	conn->xp_priv = ib;
	return ib;
}

/* Make the queue pair, bring it to INIT, post the first receives.
 *
 * The CM id of the active side knows port and P_Key only once the REQ is on
 * its way, but receives must be posted before: so both sides say it by hand.
 * Returns the number of receives, or a negative errno.
 */
static int sdp_ib_build_qp(struct sdp_ib *ib, u16 pkey)
{
	const struct sdp_qp_init init = {
		.recv_event	= sdp_ib_recv_event,
		.send_event	= sdp_ib_send_event,
		.qp_event	= sdp_ib_qp_event,
		.ctx		= ib,
	};
	struct ib_qp_attr attr = {
		.qp_state	= IB_QPS_INIT,
		.port_num	= ib->port_num,
		.qp_access_flags = IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE,
	};
	int err;

	err = sdp_qp_create(&ib->qp, ib->dev, &init);
	if (err)
		return err;
	ib->conn->tx.sq_size = ib->qp.sq_size - (SDP_OP_SLOTS - 1);
	ib->conn->tx.reg_alone = ib->dev->reg_alone;
	ib->psn = get_random_u32() & 0xffffff;
	err = ib_find_cached_pkey(ib->dev->ib, ib->port_num, pkey,
				  &attr.pkey_index);
	if (err)
		return err;
	err = ib_modify_qp(ib->qp.qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			   IB_QP_PORT | IB_QP_ACCESS_FLAGS);
	if (err)
		return err;
	return sdp_rx_start(ib->conn, ib->qp.rq_size);
}

/* What our device can do for the peer. */
static u8 sdp_ib_caps(const struct sdp_ib *ib)
{
	bool can = ib->dev->mrs.pages &&
		   READ_ONCE(ib->conn->sn->zcopy_invalidate);

	return can ? SDP_CAP_INVALIDATE : 0;
}

static void sdp_ib_limits(struct sdp_ib *ib, u16 told_bufs)
{
	const struct sdp_wire_hello *peer = &ib->peer;
	struct sdp_conn *conn = ib->conn;

	spin_lock_bh(&conn->tx.lock);
	sdp_flow_init(&conn->tx.flow, told_bufs, peer->bufs);
	sdp_mode_init(&conn->tx.mode, peer->max_adverts, SDP_IB_MAX_ADVERTS);
	/* Who begins with many did not make them for us, and keeps them. */
	conn->tx.keeps = peer->bufs > SDP_SIZE_FEW;
	ib->lends = sdp_wire_takes_offers(peer);
	conn->tx.may_end = peer->cap & sdp_ib_caps(ib);
	spin_unlock_bh(&conn->tx.lock);
	conn->snd_max = min_t(u32, peer->rcvsz, SDP_MSG_MAX) - SDP_LEN_BSDH;
}

/* The device half enters the device's list, so that removal finds it. */
static int sdp_ib_enlist(struct sdp_ib *ib, struct ib_device *device)
{
	bool going;

	ib->dev = sdp_dev_get(device);
	if (!ib->dev)
		return -ENODEV;
	spin_lock_bh(&ib->dev->lock);
	going = ib->dev->going;
	if (!going)
		list_add_tail(&ib->dev_node, &ib->dev->conns);
	spin_unlock_bh(&ib->dev->lock);
	return going ? -ENODEV : 0;
}

static void sdp_ib_unlist(struct sdp_ib *ib)
{
	if (!ib->dev)
		return;
	spin_lock_bh(&ib->dev->lock);
	list_del_init(&ib->dev_node);
	spin_unlock_bh(&ib->dev->lock);
}

/* Active side */

static int sdp_ib_resolver_event(struct rdma_cm_id *id,
				 struct rdma_cm_event *event)
{
	struct sdp_ib *ib = id->context;

	trace_sdp_cm(ib->conn->id, rdma_event_msg(event->event), event->status);
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
		else if (sdp_ib_short_of(event->status))
			sdp_ib_refuse(ib, -event->status, SDP_REASON_LIMIT);
		else
			sdp_ib_refuse(ib, ENETUNREACH,
				      event->status == -ENODEV ?
				      SDP_REASON_NO_DEVICE :
				      SDP_REASON_NO_ROUTE);
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

/*
 * The RDMA core looks at the neighbour when it is asked, when the neighbour's
 * state changes, and when the time is over.  A change between its first look
 * and the moment from which it listens for changes is not seen: so it gets
 * little time, and is asked again for as long as we have.
 */
static void sdp_ib_ask_address(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;
	struct sockaddr_storage src, dst;
	int err;

	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	ib->ask_ms = ib->ask_ms ? 2 * ib->ask_ms : SDP_IB_ASK_MS;
	sdp_ib_to_sockaddr(&conn->local, conn->ifindex, &src);
	sdp_ib_to_sockaddr(&conn->remote, conn->ifindex, &dst);
	err = rdma_resolve_addr(ib->resolver, (struct sockaddr *)&src,
				(struct sockaddr *)&dst, ib->ask_ms);
	if (sdp_ib_short_of(err))
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
	else if (err)
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
}

static void sdp_ib_resolve(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;
	int err;

	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	ib->resolved = false;
	ib->ask_ms = 0;

	if (sdp_ib_is_loopback(&conn->remote.ip)) {
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_LOOPBACK);
		return;
	}
	err = sdp_ib_route_source(conn);
	if (err) {
		sdp_ib_refuse(ib, -err, SDP_REASON_NO_ROUTE);
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
	sdp_ib_ask_address(ib);
}

static void sdp_ib_resolve_route(struct sdp_ib *ib)
{
	int err;

	ib->resolved = true;
	if (!rdma_cap_ib_cm(ib->resolver->device, ib->resolver->port_num)) {
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
		return;
	}
	err = rdma_resolve_route(ib->resolver, ib->conn->limit_ms);
	if (sdp_ib_short_of(err))
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
	else if (err)
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_ROUTE);
}

static int sdp_ib_cm_event(struct ib_cm_id *cm_id,
			   const struct ib_cm_event *event);

/* For ib_cm_req_param: 4.096 us * 2^n. */
static u8 sdp_ib_cm_timeout(u32 limit_ms)
{
	u32 each = max_t(u32, limit_ms / (2 * (SDP_IB_CM_RETRIES + 1)), 1);

	/* 2^8 of them are about a millisecond. */
	return clamp_t(u8, ilog2(each) + 8, SDP_IB_CM_TIMEOUT_MIN,
		       SDP_IB_CM_TIMEOUT_MAX);
}

/* The device half and the CM id, on the device that the route leads to. */
static int sdp_ib_open(struct sdp_ib *ib, const struct rdma_cm_id *id)
{
	int err;

	if (ib->dev)	/* another try: the queue pair is there already */
		err = ib->dev->ib == id->device &&
		      ib->port_num == id->port_num ? 0 : -ENODEV;
	else
		err = sdp_ib_enlist(ib, id->device);
	if (err)
		return err;
	ib->port_num = id->port_num;
	ib->cm_id = ib_create_cm_id(id->device, sdp_ib_cm_event, ib);
	if (IS_ERR(ib->cm_id)) {
		err = PTR_ERR(ib->cm_id);
		ib->cm_id = NULL;
	}
	return err;
}

static int sdp_ib_try_req(struct sdp_ib *ib)
{
	struct rdma_cm_id *id = ib->resolver;
	struct sdp_conn *conn = ib->conn;
	struct sdp_wire_hello hello = {
		.version	= SDP_WIRE_VERSION,
		.ipv		= conn->family == AF_INET ? 4 : 6,
		.max_adverts	= SDP_IB_MAX_ADVERTS,
		.des_rcvsz	= sdp_ring_full_size(conn),
		.rcvsz		= conn->rcv_size,
		.port		= ntohs(conn->local.port),
	};
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
		.remote_cm_response_timeout = sdp_ib_cm_timeout(conn->limit_ms),
		.local_cm_response_timeout = sdp_ib_cm_timeout(conn->limit_ms),
		/* 7 would mean 7, but soft-RoCE takes it for ever. */
		.retry_count	= READ_ONCE(conn->sn->ack_retries),
		.rnr_retry_count = SDP_IB_RNR_RETRY,
		.max_cm_retries	= SDP_IB_CM_RETRIES,
	};
	int err;

	err = sdp_ib_open(ib, id);
	if (err)
		return err;
	if (!ib->qp.qp) {
		err = sdp_ib_build_qp(ib,
				      be16_to_cpu(id->route.path_rec->pkey));
		if (err < 0)
			return err;
		ib->told_bufs = err;
	}
	hello.bufs = ib->told_bufs;
	hello.cap = sdp_ib_caps(ib);
	sdp_ib_ip_to_wire(&conn->local.ip, hello.src_ip);
	sdp_ib_ip_to_wire(&conn->remote.ip, hello.dst_ip);
	sdp_wire_put_hello(data, &hello);
	req.qp_num = ib->qp.qp->qp_num;
	req.starting_psn = ib->psn;
	req.responder_resources = ib->dev->max_rd_atom;
	req.initiator_depth = ib->dev->max_rd_atom;
	trace_sdp_cm(conn->id, "send REQ", ntohs(conn->remote.port));
	return ib_send_cm_req(ib->cm_id, &req);
}

/* A probe asks for the service and no more: whoever listens answers, and
 * nothing stays behind there.
 */
static int sdp_ib_try_sidr(struct sdp_ib *ib)
{
	struct rdma_cm_id *id = ib->resolver;
	struct ib_cm_sidr_req_param req = {
		.path		= id->route.path_rec,
		.sgid_attr	= id->route.addr.dev_addr.sgid_attr,
		.service_id	= cpu_to_be64(SDP_IB_SERVICE_ID +
					      ntohs(ib->conn->remote.port)),
		.timeout_ms	= max_t(u32, ib->conn->limit_ms / 16, 1),
		.max_cm_retries	= SDP_IB_CM_RETRIES,
	};
	int err;

	err = sdp_ib_open(ib, id);
	if (err)
		return err;
	trace_sdp_cm(ib->conn->id, "send SIDR REQ",
		     ntohs(ib->conn->remote.port));
	return ib_send_cm_sidr_req(ib->cm_id, &req);
}

static void sdp_ib_send_req(struct sdp_ib *ib)
{
	int err = ib->conn->probe ? sdp_ib_try_sidr(ib) : sdp_ib_try_req(ib);

	if (err == -ENODEV)
		sdp_ib_refuse(ib, ENETUNREACH, SDP_REASON_NO_DEVICE);
	else if (err)	/* a provider's own ways to say so are no user's */
		sdp_ib_refuse(ib, err == -ENOMEM ? ENOMEM : ENOBUFS,
			      SDP_REASON_LIMIT);
	/* The REQ is out, or never will be. */
	rdma_destroy_id(ib->resolver);
	ib->resolver = NULL;
}

/* The REP is there and its HelloAck is good: go to RTS and say RTU. */
static void sdp_ib_rep(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;
	int err;

	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	sdp_ib_limits(ib, ib->told_bufs);
	err = sdp_ib_modify(ib, IB_QPS_RTR);
	if (!err)
		err = sdp_ib_modify(ib, IB_QPS_RTS);
	if (!err)
		err = ib_send_cm_rtu(ib->cm_id, NULL, 0);
	if (err) {
		sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_PROTOCOL);
		return;
	}
	cancel_delayed_work(&ib->timeout);
	set_bit(SDP_CONN_OPEN, &conn->flags);
	sdp_count(conn->sn, SDP_CNT_CONNECT, 1);
	sdp_conn_event(conn, SDP_EV_ESTABLISHED);
	sdp_rx_poll(conn);
}

static void sdp_ib_timeout(struct work_struct *work)
{
	struct sdp_ib *ib = container_of(to_delayed_work(work), struct sdp_ib,
					 timeout);

	sdp_ib_queue(ib, SDP_IB_TIMEOUT);
}

/*
 * The peer rejected for now: its backlog is full, or its limits are reached.
 * TCP drops a SYN then, and the client repeats it until there is room or the
 * time is over; so does this, with the queue pair that it has.
 */
static void sdp_ib_busy(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;

	/* Its CM says the same for who ends it before our RTU has come. */
	if (sdp_conn_state(conn) >= SDP_ESTABLISHED)
		sdp_conn_fail(conn, ECONNRESET, SDP_EV_LOST, "REJ");
	if (sdp_conn_state(conn) != SDP_SYN_SENT)
		return;
	ib_destroy_cm_id(ib->cm_id);
	ib->cm_id = NULL;
	ib->busy_ms = ib->busy_ms ? min(2 * ib->busy_ms, SDP_IB_BUSY_MAX_MS) :
				    SDP_IB_BUSY_MS;
	sdp_count(conn->sn, SDP_CNT_CONNECT_AGAIN, 1);
	trace_sdp_cm(conn->id, "busy", ib->busy_ms);
	sdp_ib_set_timer(ib, ib->busy_ms);
}

static void sdp_ib_timed_out(struct sdp_ib *ib)
{
	/* It may have come about while this waited its turn. */
	if (sdp_conn_state(ib->conn) >= SDP_ESTABLISHED)
		return;
	if (ib->busy_ms && !ib->cm_id && time_before(jiffies, ib->deadline)) {
		sdp_ib_set_timer(ib, ib->conn->limit_ms);
		sdp_ib_resolve(ib);
	} else if (ib->busy_ms) {
		sdp_conn_refuse(ib->conn, ETIMEDOUT, SDP_REASON_BUSY);
	} else if (ib->resolver && !ib->resolved) {
		sdp_conn_refuse(ib->conn, EHOSTUNREACH, SDP_REASON_NO_ROUTE);
	} else {
		sdp_conn_refuse(ib->conn, ETIMEDOUT, SDP_REASON_TIMEOUT);
	}
}

/* Passive side */

static void sdp_ib_keep_req(struct sdp_ib *ib, struct ib_cm_id *cm_id,
			    const struct ib_cm_req_event_param *req)
{
	ib->cm_id = cm_id;
	ib->port_num = req->port;
	ib->peer_qpn = req->remote_qpn;
	/* As the CM gives them: theirs to start is ours to answer by now. */
	ib->responder_resources = min(req->responder_resources,
				      ib->dev->max_rd_atom);
	ib->initiator_depth = min(req->initiator_depth, ib->dev->max_rd_atom);
}

/*
 * Validate and admit; the connection is built by its worker.
 *
 * Returns 0 if it was admitted: the CM id is the connection's then.  Otherwise
 * the CM destroys the id, and so rejects with reason 28, if we have not.
 */
static int sdp_ib_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	u16 port = be64_to_cpu(cm_id->service_id) & 0xffff;
	struct sdp_addr local = { .port = htons(port) }, remote;
	struct ib_device *device = cm_id->device;
	enum sdp_wire_verdict verdict;
	struct sdp_wire_hello hello;
	struct net_device *ndev;
	struct sdp_conn *conn;
	struct sdp_net *sn;
	struct sdp_ib *ib;

	verdict = sdp_wire_get_hello(&hello, event->private_data,
				     SDP_LEN_HELLO);
	trace_sdp_cm(0, sdp_wire_verdict_name(verdict), port);
	/* Port 0 has no name: accept() would fail for who calls it. */
	if (verdict != SDP_WIRE_OK || !hello.port) {
		sdp_count(sdp_net(&init_net), SDP_CNT_REJECT_HELLO, 1);
		return -EINVAL;
	}
	sdp_ib_ip_from_wire(hello.dst_ip, hello.ipv, &local.ip);
	sdp_ib_ip_from_wire(hello.src_ip, hello.ipv, &remote.ip);
	remote.port = htons(hello.port);
	ndev = sdp_ib_netdev(req, device, &local.ip);
	if (!ndev) {
		sdp_count(sdp_net(&init_net), SDP_CNT_REJECT_PATH, 1);
		return -EINVAL;
	}
	sn = sdp_net(dev_net(ndev));
	if (!sdp_ib_path_matches(req, device, ndev, &local.ip, &remote.ip)) {
		sdp_count(sn, SDP_CNT_REJECT_PATH, 1);
		dev_put(ndev);
		return -EINVAL;
	}
	conn = sdp_ib_upper->spawn(&sdp_ib_xport, dev_net(ndev), ndev->ifindex,
				   &local, &remote);
	dev_put(ndev);
	if (IS_ERR(conn)) {
		trace_sdp_cm(0, "refused", PTR_ERR(conn));
		/* As the CM says it where nobody listens at all; without this
		 * the peer would take it for a lack of room, and try again.
		 */
		if (PTR_ERR(conn) == -ECONNREFUSED)
			ib_send_cm_rej(cm_id, IB_CM_REJ_INVALID_SERVICE_ID,
				       NULL, 0, NULL, 0);
		return PTR_ERR(conn);
	}
	ib = sdp_ib_alloc(conn);
	if (!ib || sdp_ib_enlist(ib, device)) {
		sdp_conn_refuse(conn, ENOMEM, SDP_REASON_LIMIT);
		sdp_conn_put(conn);
		return -ENODEV;
	}
	ib->peer = hello;
	/* Who asks says so: it has less than it would like us to have. */
	sdp_ring_begin(conn, hello.des_rcvsz > hello.rcvsz);
	sdp_ib_keep_req(ib, cm_id, req);
	cm_id->context = ib;
	conn->family = hello.ipv == 4 ? AF_INET : AF_INET6;
	sdp_conn_event(conn, SDP_EV_ACCEPT);
	sdp_ib_queue(ib, SDP_IB_BUILD);
	return 0;
}

static int sdp_ib_try_build(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;
	struct sdp_wire_hello ack = {
		.version	= SDP_WIRE_VERSION,
		.max_adverts	= SDP_IB_MAX_ADVERTS,
		.rcvsz		= conn->rcv_size,
	};
	u8 data[SDP_LEN_HELLO_ACK];
	struct ib_cm_rep_param rep = {
		.private_data	= data,
		.private_data_len = sizeof(data),
		.responder_resources = ib->responder_resources,
		.initiator_depth = ib->initiator_depth,
		.flow_control	= 1,
		.rnr_retry_count = SDP_IB_RNR_RETRY,
	};
	struct ib_qp_attr attr = { .qp_state = IB_QPS_INIT };
	int bufs, mask, err;
	u16 pkey;

	/* The CM knows the P_Key index; find_cached_pkey wants the key. */
	err = ib_cm_init_qp_attr(ib->cm_id, &attr, &mask);
	if (err)
		return err;
	err = ib_get_cached_pkey(ib->dev->ib, ib->port_num, attr.pkey_index,
				 &pkey);
	if (err)
		return err;
	bufs = sdp_ib_build_qp(ib, pkey);
	if (bufs < 0)
		return bufs;
	sdp_ib_limits(ib, bufs);
	err = sdp_ib_modify(ib, IB_QPS_RTR);
	if (err)
		return err;
	ack.bufs = bufs;
	ack.cap = sdp_ib_caps(ib);
	sdp_wire_put_hello_ack(data, &ack);
	rep.qp_num = ib->qp.qp->qp_num;
	rep.starting_psn = ib->psn;
	trace_sdp_cm(conn->id, "send REP", bufs);
	err = ib_send_cm_rep(ib->cm_id, &rep);
	if (err)
		return err;
	err = sdp_ib_modify(ib, IB_QPS_RTS);
	if (err)
		return err;
	sdp_count(conn->sn, SDP_CNT_ACCEPT, 1);
	set_bit(SDP_CONN_OPEN, &conn->flags);
	sdp_rx_poll(conn);
	return 0;
}

static void sdp_ib_build(struct sdp_ib *ib)
{
	unsigned int limit = READ_ONCE(ib->conn->sn->require_timeout);
	int err;

	if (sdp_conn_state(ib->conn) != SDP_SYN_RECV)
		return;
	err = sdp_ib_try_build(ib);
	if (err) {
		sdp_count(ib->conn->sn, SDP_CNT_REJECT_LIMIT, 1);
		/* Destroying the CM id rejects. */
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
		return;
	}
	/* How long the CM repeats the REP is the peer's word, in its REQ; a
	 * peer that does not exist would hold its place for hours.
	 */
	if (sdp_conn_state(ib->conn) == SDP_SYN_RECV)
		queue_delayed_work(sdp_ib_wq, &ib->timeout,
				   msecs_to_jiffies(limit));
}

/* The first message came, or the RTU: whichever is first (1.5). */
static void sdp_ib_established(struct sdp_conn *conn)
{
	struct sdp_ib *ib = conn->xp_priv;

	/* Says no more than the RTU would; fails when that was faster. */
	ib_cm_notify(ib->cm_id, IB_EVENT_COMM_EST);
	sdp_conn_event(conn, SDP_EV_ESTABLISHED);
	cancel_delayed_work(&ib->timeout);
}

static void sdp_ib_rtu(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;

	if (sdp_conn_state(conn) != SDP_SYN_RECV ||
	    !test_bit(SDP_CONN_OPEN, &conn->flags))
		return;
	sdp_ib_established(conn);
	sdp_tx_run(conn);
	sdp_rx_poll(conn);
}

/* CM events; must not wait, see the top. */

static int sdp_ib_cm_rep(struct sdp_ib *ib, const struct ib_cm_event *event)
{
	enum sdp_wire_verdict verdict;

	verdict = sdp_wire_get_hello_ack(&ib->peer, event->private_data,
					 SDP_LEN_HELLO_ACK);
	if (verdict != SDP_WIRE_OK) {
		trace_sdp_cm(ib->conn->id, sdp_wire_verdict_name(verdict), 0);
		sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_PROTOCOL);
		return 0;
	}
	ib->peer_qpn = event->param.rep_rcvd.remote_qpn;
	sdp_ib_queue(ib, SDP_IB_REP);
	return 0;
}

/* Somebody asks whether this port takes SDP.  It does: the CM itself answers
 * for those that nobody listens on.
 */
static int sdp_ib_sidr_req(struct ib_cm_id *cm_id,
			   const struct ib_cm_event *event)
{
	const struct ib_cm_sidr_req_event_param *req =
		&event->param.sidr_req_rcvd;
	struct ib_cm_sidr_rep_param rep = { .status = IB_SIDR_SUCCESS };
	struct net *net = &init_net;
	struct net_device *ndev;

	rcu_read_lock();
	if (rdma_protocol_roce(cm_id->device, req->port)) {
		ndev = rdma_read_gid_attr_ndev_rcu(req->sgid_attr);
		if (!IS_ERR_OR_NULL(ndev))
			net = dev_net(ndev);
	}
	if (!READ_ONCE(sdp_net(net)->enable))
		rep.status = IB_SIDR_REJECT;
	rcu_read_unlock();
	trace_sdp_cm(0, "SIDR REQ", be64_to_cpu(cm_id->service_id) & 0xffff);
	ib_send_cm_sidr_rep(cm_id, &rep);
	return -ECANCELED;	/* the CM destroys the id; there is no more */
}

static int sdp_ib_cm_event(struct ib_cm_id *cm_id,
			   const struct ib_cm_event *event)
{
	struct sdp_ib *ib = cm_id->context;

	if (event->event == IB_CM_REQ_RECEIVED)
		return sdp_ib_req(cm_id, event);
	if (event->event == IB_CM_SIDR_REQ_RECEIVED)
		return sdp_ib_sidr_req(cm_id, event);
	if (!ib)
		return 0;
	trace_sdp_cm(ib->conn->id, "event", event->event);
	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		return sdp_ib_cm_rep(ib, event);
	case IB_CM_RTU_RECEIVED:
	case IB_CM_USER_ESTABLISHED:
		sdp_ib_queue(ib, SDP_IB_RTU);
		break;
	case IB_CM_REJ_RECEIVED:
		trace_sdp_cm(ib->conn->id, "REJ reason",
			     event->param.rej_rcvd.reason);
		if (event->param.rej_rcvd.reason == IB_CM_REJ_CONSUMER_DEFINED)
			sdp_ib_queue(ib, SDP_IB_BUSY);
		else
			sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_REFUSED);
		break;
	case IB_CM_SIDR_REP_RECEIVED:
		if (event->param.sidr_rep_rcvd.status == IB_SIDR_SUCCESS)
			sdp_ib_refuse(ib, EAGAIN, SDP_REASON_NONE);
		else
			sdp_ib_refuse(ib, ECONNREFUSED, SDP_REASON_REFUSED);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
	case IB_CM_SIDR_REQ_ERROR:
		sdp_ib_refuse(ib, ETIMEDOUT, SDP_REASON_TIMEOUT);
		break;
	case IB_CM_DREQ_RECEIVED:
		sdp_ib_queue(ib, SDP_IB_DREQ_HEARD);
		break;
	case IB_CM_DREQ_ERROR:
	case IB_CM_DREP_RECEIVED:
		sdp_ib_queue(ib, SDP_IB_DREP_HEARD);
		break;
	default:
		break;
	}
	return 0;
}

/* Teardown */

static void sdp_ib_send_dreq(struct sdp_ib *ib)
{
	/* Not connected, or theirs crossed: there is nothing to wait for. */
	if (!ib->cm_id || ib_send_cm_dreq(ib->cm_id, NULL, 0))
		sdp_ib_queue(ib, SDP_IB_DREP_HEARD);
}

static void sdp_ib_dreq_heard(struct sdp_ib *ib)
{
	/* What was sent before it may still stand in the queue (6.1), or be
	 * in the hands of a reader.
	 */
	sdp_rx_flush(ib->conn);
	sdp_tx_run(ib->conn);
	sdp_conn_event(ib->conn, SDP_EV_DREQ);
	/* The table asks for a DREP only where it expected none. */
	sdp_ib_queue(ib, SDP_IB_SEND_DREP);
}

/* Steps 2 and 3 of the teardown told in sdp_conn.c. */
static void sdp_ib_free(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;

	ib->freed = true;
	if (cancel_delayed_work_sync(&ib->timeout))
		trace_sdp_cm(conn->id, "timer off", 0);
	if (ib->resolver)
		rdma_destroy_id(ib->resolver);
	if (ib->cm_id)
		ib_destroy_cm_id(ib->cm_id);
	mutex_lock(&conn->rx.poll);
	clear_bit(SDP_CONN_OPEN, &conn->flags);
	spin_lock_bh(&conn->tx.lock);
	conn->tx.dead = true;
	spin_unlock_bh(&conn->tx.lock);
	sdp_ib_unlist(ib);
	if (ib->qp.qp)
		ib_destroy_qp(ib->qp.qp);
	ib->qp.qp = NULL;
	sdp_tx_drop(conn);
	sdp_ib_unmap_all(conn);
	sdp_qp_destroy(&ib->qp);
	if (ib->dev)
		sdp_dev_put(ib->dev);
	ib->dev = NULL;
	mutex_unlock(&conn->rx.poll);
	sdp_conn_stop_timer(conn);
	trace_sdp_cm(conn->id, "freed", 0);
	sdp_conn_put(conn);
}

static void sdp_ib_refused(struct sdp_ib *ib)
{
	/* Late: the peer's CM gave up after we were established. */
	if (sdp_conn_state(ib->conn) >= SDP_ESTABLISHED)
		sdp_conn_fail(ib->conn, ECONNRESET, SDP_EV_LOST, "REJ");
	else
		sdp_conn_refuse(ib->conn, ib->err, ib->reason);
}

/* The time wait is the CM's own: we need not stay for it (see the top). */
static void sdp_ib_leave_time_wait(struct sdp_ib *ib)
{
	if (sdp_conn_state(ib->conn) == SDP_TIME_WAIT_2)
		sdp_conn_event(ib->conn, SDP_EV_TIMEWAIT_EXIT);
}

static void sdp_ib_lost(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->conn;

	sdp_count(conn->sn, SDP_CNT_DEVICE_GONE, 1);
	if (sdp_conn_state(conn) < SDP_ESTABLISHED)
		sdp_conn_refuse(conn, ENETUNREACH, SDP_REASON_NO_DEVICE);
	else
		sdp_conn_fail(conn, ENETRESET, SDP_EV_LOST, "device removed");
}

static void sdp_ib_do(struct sdp_ib *ib, enum sdp_ib_todo what)
{
	switch (what) {
	case SDP_IB_RESOLVE:
		sdp_ib_resolve(ib);
		break;
	case SDP_IB_AGAIN:
		sdp_ib_ask_address(ib);
		break;
	case SDP_IB_ROUTE:
		sdp_ib_resolve_route(ib);
		break;
	case SDP_IB_REQ:
		sdp_ib_send_req(ib);
		break;
	case SDP_IB_REP:
		sdp_ib_rep(ib);
		break;
	case SDP_IB_BUILD:
		sdp_ib_build(ib);
		break;
	case SDP_IB_RTU:
		sdp_ib_rtu(ib);
		break;
	case SDP_IB_BUSY:
		sdp_ib_busy(ib);
		break;
	case SDP_IB_TIMEOUT:
		sdp_ib_timed_out(ib);
		break;
	case SDP_IB_REFUSED:
		sdp_ib_refused(ib);
		break;
	case SDP_IB_DREQ_HEARD:
		sdp_ib_dreq_heard(ib);
		break;
	case SDP_IB_DREP_HEARD:
		sdp_conn_event(ib->conn, SDP_EV_DREP);
		sdp_ib_leave_time_wait(ib);
		break;
	case SDP_IB_LOST:
		sdp_ib_lost(ib);
		break;
	case SDP_IB_SEND_DREQ:
		sdp_ib_send_dreq(ib);
		break;
	case SDP_IB_SEND_DREP:
		ib_send_cm_drep(ib->cm_id, NULL, 0);
		sdp_ib_leave_time_wait(ib);
		break;
	case SDP_IB_FREE:
		sdp_ib_free(ib);
		break;
	}
}

static void sdp_ib_work(struct work_struct *work)
{
	struct sdp_ib *ib = container_of(work, struct sdp_ib, work);
	struct sdp_conn *conn = ib->conn;

	while (!ib->freed && READ_ONCE(ib->todo)) {
		unsigned int what = __ffs(READ_ONCE(ib->todo));

		clear_bit(what, &ib->todo);
		sdp_ib_do(ib, what);
	}
	sdp_conn_put(conn);
}

/* The table */

static int sdp_ib_connect(struct sdp_conn *conn)
{
	struct sdp_ib *ib = sdp_ib_alloc(conn);

	if (!ib)
		return -ENOMEM;
	sdp_conn_get(conn);	/* until freed */
	sdp_ring_begin(conn, true);
	sdp_conn_event(conn, SDP_EV_CONNECT);
	ib->deadline = jiffies + msecs_to_jiffies(conn->limit_ms);
	sdp_ib_set_timer(ib, conn->limit_ms);
	sdp_ib_queue(ib, SDP_IB_RESOLVE);
	return 0;
}

static void sdp_ib_act(struct sdp_conn *conn, unsigned int actions)
{
	struct sdp_ib *ib = conn->xp_priv;

	if (actions & SDP_DO_DREQ)
		sdp_ib_queue(ib, SDP_IB_SEND_DREQ);
	if (actions & SDP_DO_DREP)
		sdp_ib_queue(ib, SDP_IB_SEND_DREP);
	if (actions & SDP_DO_FREE)
		sdp_ib_queue(ib, SDP_IB_FREE);
}

static void sdp_ib_info(struct sdp_conn *conn, char *device, size_t size,
			u8 *port, u32 *qpn, u32 *peer_qpn)
{
	struct sdp_ib *ib = conn->xp_priv;

	spin_lock_bh(&conn->tx.lock);
	if (ib && !conn->tx.dead && ib->qp.qp) {
		strscpy(device, dev_name(&ib->dev->ib->dev), size);
		*port = ib->port_num;
		*qpn = ib->qp.qp->qp_num;
		*peer_qpn = ib->peer_qpn;
	}
	spin_unlock_bh(&conn->tx.lock);
}

static void sdp_ib_release(struct sdp_conn *conn)
{
	kfree(conn->xp_priv);
}

static void sdp_ib_remove(struct sdp_dev *dev)
{
	struct sdp_ib *ib;

	sdp_ib_ports_remove(dev);
	spin_lock_bh(&dev->lock);
	dev->going = true;
	list_for_each_entry(ib, &dev->conns, dev_node)
		sdp_ib_queue(ib, SDP_IB_LOST);
	spin_unlock_bh(&dev->lock);
}

static const struct sdp_dev_ops sdp_ib_dev_ops = {
	.add	= sdp_ib_ports_add,
	.remove	= sdp_ib_remove,
};

const struct sdp_xport sdp_ib_xport = {
	.name		= "ib",
	.id		= SDP_TRANSPORT_IB,
	.priv_size	= sizeof(struct sdp_ib),
	.listen		= sdp_ib_listen,
	.unlisten	= sdp_ib_unlisten,
	.connect	= sdp_ib_connect,
	.act		= sdp_ib_act,
	.post		= sdp_ib_post,
	.post_recv	= sdp_ib_post_recv,
	.poll_recv	= sdp_ib_poll_recv,
	.poll_send	= sdp_ib_poll_send,
	.arm_recv	= sdp_ib_arm_recv,
	.arm_send	= sdp_ib_arm_send,
	.established	= sdp_ib_established,
	.map		= sdp_ib_map,
	.unmap		= sdp_ib_unmap,
	.lend		= sdp_ib_lend,
	.unlend		= sdp_ib_unlend,
	.ended		= sdp_ib_ended,
	.unmap_msg	= sdp_ib_unmap_msg,
	.info		= sdp_ib_info,
	.release	= sdp_ib_release,
};

int __init sdp_ib_init(const struct sdp_xport_upper *upper)
{
	int err;

	sdp_ib_upper = upper;
	sdp_ib_ports_init(sdp_ib_cm_event);
	sdp_ib_wq = alloc_workqueue("sdp_ib", WQ_UNBOUND, 0);
	if (!sdp_ib_wq)
		return -ENOMEM;
	err = sdp_dev_init(&sdp_ib_dev_ops);
	if (err)
		destroy_workqueue(sdp_ib_wq);
	return err;
}

void sdp_ib_exit(void)
{
	sdp_dev_exit();
	/* An address may be resolved yet, and tell the worker: it is taken to
	 * pieces when nobody is left for whom it could come.
	 */
	sdp_conn_wait_all();
	destroy_workqueue(sdp_ib_wq);
}
