// SPDX-License-Identifier: GPL-2.0
/*
 * The passive side of the hello exchange: from a REQ to the RTU.
 *
 * The callback of ib_cm validates a REQ.  Its Hello must be well-formed, must
 * be for an address of a net device, which tells the network namespace, and
 * must be from the address that the path leads to.  Then the socket layer
 * admits the request, or not.  What takes longer, the queue pair and the REP,
 * is left to the worker of the new connection; there is no socket yet.
 *
 * Nothing is sent until the RTU or a first message says that the peer has had
 * our REP; net.sdp.require_timeout bounds how long that may take.
 *
 * What is wrong for good is rejected with a reason of its own.  Any other
 * failure rejects with reason 28 when the CM id is destroyed, and the peer
 * tries again.
 */
#include <linux/netdevice.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <linux/sdp.h>
#include "sdp_check.h"
#include "sdp_conn.h"
#include "sdp_ib_addr.h"
#include "sdp_ib_cm.h"
#include "sdp_ib_passive.h"
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_session.h"
#include "sdp_trace.h"
#include "sdp_tx.h"

static void sdp_ib_keep_req(struct sdp_ib *ib, struct ib_cm_id *cm_id,
			    const struct ib_cm_req_event_param *req)
{
	ib->cm_id = cm_id;
	ib->verbs.port_num = req->port;
	ib->verbs.peer_qpn = req->remote_qpn;
	ib->rep_timeout = req->remote_cm_response_timeout;
	/* ib_cm has swapped them: what the peer initiates is ours to answer. */
	ib->responder_resources = min(req->responder_resources,
				      ib->verbs.dev->max_rd_atom);
	ib->initiator_depth = min(req->initiator_depth, ib->verbs.dev->max_rd_atom);
}

/* Reject for good: without a reason of its own the peer would take it for a
 * lack of room, and try again.
 */
static int sdp_ib_reject(struct ib_cm_id *cm_id, enum ib_cm_rej_reason reason)
{
	ib_send_cm_rej(cm_id, reason, NULL, 0, NULL, 0);
	return -EINVAL;
}

/**
 * sdp_ib_req() - validate and admit a REQ that arrived
 * @cm_id: its CM id
 * @event: the REQ, with the Hello
 *
 * The connection is built by its worker: SDP_IB_BUILD.
 *
 * Context: process (callback of ib_cm); must not wait for others.
 * Return: 0 if the REQ was admitted; the CM id is the connection's then.
 * Otherwise the CM destroys the id, and so rejects with reason 28 if we have
 * not rejected: -EINVAL for a Hello or a path that is wrong, -ENODEV, -EAGAIN
 * if the peer's neighbour is not known yet, or an error of struct
 * sdp_xport_upper.spawn(), with -ENOBUFS in place of -ENOMEM.
 */
int sdp_ib_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	u16 port = be64_to_cpu(cm_id->service_id) & 0xffff;
	struct sdp_addr local = { .port = htons(port) }, remote;
	struct ib_device *device = cm_id->device;
	enum sdp_wire_verdict verdict;
	struct sdp_wire_hello hello;
	struct net_device *ndev;
	struct sdp_conn *conn;
	struct sdp_ib *ib;
	struct net *net;
	int err;

	verdict = sdp_session_get_hello(&hello, event->private_data, &local, &remote);
	trace_sdp_cm(0, sdp_wire_verdict_name(verdict), port);
	if (verdict != SDP_WIRE_OK) {
		sdp_count(sdp_net(&init_net), SDP_CNT_REJECT_HELLO, 1);
		return sdp_ib_reject(cm_id, IB_CM_REJ_UNSUPPORTED);
	}
	ndev = NULL;
	if (sdp_ib_is_understood(&local.ip) && sdp_ib_is_understood(&remote.ip))
		ndev = sdp_ib_netdev(req, device, &local.ip);
	if (!ndev) {
		sdp_count(sdp_net(&init_net), SDP_CNT_REJECT_PATH, 1);
		return sdp_ib_reject(cm_id, IB_CM_REJ_INVALID_GID);
	}
	/* The net device may move to another namespace meanwhile. */
	rcu_read_lock();
	net = maybe_get_net(dev_net(ndev));
	rcu_read_unlock();
	if (!net) {
		dev_put(ndev);
		return -ENODEV;
	}
	err = sdp_ib_check_path(req, device, ndev, &local.ip, &remote.ip);
	if (!err && !sdp_ib_may_answer(ndev, &local, &remote))
		err = -EINVAL;
	if (err) {
		/* -EAGAIN goes as a lack of room does: the peer asks again. */
		if (err != -EAGAIN)
			sdp_count(sdp_net(net), SDP_CNT_REJECT_PATH, 1);
		conn = ERR_PTR(err);
	} else {
		conn = sdp_ib_hooks.upper->spawn(sdp_ib_hooks.xp, net,
						 ndev->ifindex, &local,
						 &remote);
	}
	put_net(net);	/* the connection has its own */
	dev_put(ndev);
	if (IS_ERR(conn)) {
		trace_sdp_cm(0, "refused", PTR_ERR(conn));
		/* The reason that the CM gives where nobody listens at all. */
		if (PTR_ERR(conn) == -ECONNREFUSED)
			sdp_ib_reject(cm_id, IB_CM_REJ_INVALID_SERVICE_ID);
		if (PTR_ERR(conn) == -EINVAL)
			sdp_ib_reject(cm_id, IB_CM_REJ_INVALID_GID);
		/* For -ENOMEM ib_cm would send no REJ. */
		return PTR_ERR(conn) == -ENOMEM ? -ENOBUFS : PTR_ERR(conn);
	}
	ib = sdp_ib_alloc(conn);
	if (!ib || sdp_verbs_enlist(&ib->verbs, device)) {
		sdp_conn_refuse(conn, ENOMEM, SDP_REASON_LIMIT);
		sdp_conn_put(conn);
		return -ENODEV;
	}
	sdp_session_accept(conn, &hello);
	sdp_ib_keep_req(ib, cm_id, req);
	cm_id->context = ib;
	sdp_conn_event(conn, SDP_EV_ACCEPT);
	/* A listener that closed before ACCEPT aborted in vain: repeat it. */
	if (READ_ONCE(conn->err))
		sdp_conn_event(conn, SDP_EV_ABORT);
	sdp_ib_queue(ib, SDP_IB_BUILD);
	return 0;
}

/*
 * When a silent peer may lose its place in a full backlog, in jiffies.  If its
 * answer was lost it is heard of when our REP has been repeated, unless that is
 * lost too.  So there are two repetitions before its place is taken, as many as
 * TCP has at least.  A peer that asks for a long time between them gets at most
 * four seconds.
 */
static unsigned long sdp_ib_silent_at(const struct sdp_ib *ib)
{
	unsigned int n = ib->rep_timeout;
	u32 ms = n < 8 ? 1 : 1 << (n - 8);	/* as ib_cm computes it */

	return jiffies + msecs_to_jiffies(clamp(3 * ms, 1000, 4000)) ?: 1;
}

static int sdp_ib_try_build(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;
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
	int mask, err;
	u16 pkey;

	/* The CM knows the P_Key index; sdp_verbs_open() wants the key. */
	err = ib_cm_init_qp_attr(ib->cm_id, &attr, &mask);
	if (err)
		return err;
	err = ib_get_cached_pkey(ib->verbs.dev->ib, ib->verbs.port_num, attr.pkey_index,
				 &pkey);
	if (err)
		return err;
	err = sdp_verbs_open(&ib->verbs, pkey);
	if (err)
		return err;
	sdp_session_begin(conn);
	err = sdp_ib_modify(ib, IB_QPS_RTR);
	if (err)
		return err;
	sdp_session_put_hello_ack(conn, data);
	rep.qp_num = ib->verbs.qp.qp->qp_num;
	rep.starting_psn = ib->psn;
	trace_sdp_cm(conn->id, "send REP", sdp_session_bufs(conn));
	WRITE_ONCE(conn->silent_at, sdp_ib_silent_at(ib));
	sdp_conn_state_change(conn);	/* the listener files it as silent */
	ib->awaits_rtu = true;
	err = ib_send_cm_rep(ib->cm_id, &rep);
	if (err)
		return err;
	err = sdp_ib_modify(ib, IB_QPS_RTS);
	if (err)
		return err;
	sdp_count(conn->sn, SDP_CNT_ACCEPT, 1);
	sdp_session_up(conn);
	return 0;
}

/**
 * sdp_ib_build() - SDP_IB_BUILD: make the queue pair and send the REP
 * @ib: the CM half, from sdp_ib_req()
 *
 * A failure is reported by sdp_ib_refuse().
 *
 * Context: worker; sleeps.
 */
void sdp_ib_build(struct sdp_ib *ib)
{
	unsigned int limit = READ_ONCE(ib->verbs.conn->sn->require_timeout);
	int err;

	if (sdp_conn_state(ib->verbs.conn) != SDP_SYN_RECV)
		return;
	err = sdp_ib_try_build(ib);
	/* The peer had our REP and is gone already: no lack of room. */
	if (err && sdp_ib_is_ended(ib))
		return;
	if (err) {
		sdp_count(ib->verbs.conn->sn, SDP_CNT_REJECT_LIMIT, 1);
		/* Destroying the CM id sends the REJ. */
		sdp_ib_refuse(ib, -err, SDP_REASON_LIMIT);
		return;
	}
	/* The peer's REQ says for how long the CM repeats the REP.  Without a
	 * limit of ours a peer that does not exist would hold its place for
	 * hours.
	 */
	if (sdp_conn_state(ib->verbs.conn) == SDP_SYN_RECV)
		queue_delayed_work(sdp_ib_wq, &ib->timeout,
				   msecs_to_jiffies(limit));
}

/*
 * The peer has our REP: its first message came, or the RTU, whichever is first
 * (1.5).
 *
 * ib_cm is not told of the message (ib_cm_notify()).  It would take the
 * connection for established at once, but cancel its REP only in work of its
 * own.  If a DREQ or REJ, of the peer's or ours, comes before that, the REP is
 * repeated as often and as long as the peer's REQ asks, hours perhaps, and
 * ib_destroy_cm_id() waits for the end of it.
 *
 * The RTU comes all the same, since the REP is repeated until then, unless each
 * is lost (sdp_ib_no_rtu()).  If the id is destroyed earlier that cancels the
 * REP and sends a REJ, which ends the connection too.
 */
void sdp_ib_established(struct sdp_conn *conn)
{
	struct sdp_ib *ib = sdp_ib_of(conn);

	sdp_conn_event(conn, SDP_EV_ESTABLISHED);
	cancel_delayed_work(&ib->timeout);
}

static void sdp_ib_end_wait_for_rtu(struct sdp_ib *ib)
{
	ib->awaits_rtu = false;
	if (ib->dreq_held)
		sdp_ib_queue(ib, SDP_IB_SEND_DREQ);
}

/**
 * sdp_ib_comm_est() - SDP_IB_COMM_EST: the peer has had our REP
 * @ib: the CM half; nothing happens if it does not wait for that
 *
 * Context: worker; sleeps.
 */
void sdp_ib_comm_est(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;

	if (sdp_conn_state(conn) != SDP_SYN_RECV ||
	    !test_bit(SDP_CONN_OPEN, &conn->flags))
		return;
	sdp_ib_established(conn);
	sdp_tx_run(conn);
	sdp_rx_poll(conn);
}

/**
 * sdp_ib_rtu() - SDP_IB_RTU: the RTU arrived
 * @ib: the CM half
 *
 * A DREQ that waited for the RTU is sent.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_rtu(struct sdp_ib *ib)
{
	sdp_ib_end_wait_for_rtu(ib);
	sdp_ib_comm_est(ib);
}

/**
 * sdp_ib_no_rtu() - SDP_IB_NO_RTU: the CM has repeated our REP in vain
 * @ib: the CM half
 *
 * If no message has come the connection is refused.  Otherwise it goes on, but
 * without its CM id: from then on keepalives notice when the peer is gone, and
 * an AbortConn reports our own abort.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_no_rtu(struct sdp_ib *ib)
{
	struct sdp_conn *conn = ib->verbs.conn;

	if (sdp_conn_state(conn) == SDP_SYN_RECV) {
		sdp_conn_refuse(conn, ETIMEDOUT, SDP_REASON_TIMEOUT);
		return;
	}
	/* A message did what the RTU would.  The CM alone has lost the
	 * connection: it takes no DREQ of ours and reports none.  Without the
	 * id it answers the peer's DREQ.
	 */
	ib_destroy_cm_id(ib->cm_id);
	ib->cm_id = NULL;
	sdp_check_cm_lost(conn);
	sdp_ib_end_wait_for_rtu(ib);
}

/**
 * sdp_ib_sidr_req() - answer a peer that asks whether a port takes SDP
 * @cm_id: CM id of the question
 * @event: the question
 *
 * The port does, unless net.sdp.enable is 0: for a port that nobody listens on
 * the CM itself answers.
 *
 * Context: process (callback of ib_cm); must not wait.
 * Return: -ECANCELED, so that the CM destroys the id.
 */
int sdp_ib_sidr_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event)
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
	return -ECANCELED;	/* the CM destroys the id */
}
