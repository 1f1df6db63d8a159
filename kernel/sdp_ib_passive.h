/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The passive side of the hello exchange, over verbs.
 */
#ifndef _SDP_IB_PASSIVE_H
#define _SDP_IB_PASSIVE_H

struct ib_cm_event;
struct ib_cm_id;
struct sdp_conn;
struct sdp_ib;

/* Entry of struct sdp_xport; see there. */
void sdp_ib_established(struct sdp_conn *conn);

/**
 * sdp_ib_req() - a REQ arrived: validate and admit
 * @cm_id: its CM id
 * @event: the REQ, with the Hello
 *
 * The connection is built by its worker: SDP_IB_BUILD.
 *
 * Context: process (callback of ib_cm); must not wait for others.
 * Return: 0 if it was admitted: the CM id is the connection's then.  Otherwise
 * the CM destroys the id, and so rejects with reason 28, if we have not: -EINVAL
 * for a Hello or a path that is wrong, -ENODEV, or what
 * struct sdp_xport_upper.spawn() said.
 */
int sdp_ib_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event);

/**
 * sdp_ib_sidr_req() - somebody asks whether this port takes SDP
 * @cm_id: CM id of the question
 * @event: the question
 *
 * It does, unless net.sdp.enable is 0: the CM itself answers for those that nobody
 * listens on.
 *
 * Context: process (callback of ib_cm); must not wait.
 * Return: -ECANCELED: the CM destroys the id.
 */
int sdp_ib_sidr_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event);

/**
 * sdp_ib_build() - SDP_IB_BUILD: make the queue pair and send the REP
 * @ib: the device half, from sdp_ib_req()
 *
 * What fails is told by sdp_ib_refuse().
 *
 * Context: worker; sleeps.
 */
void sdp_ib_build(struct sdp_ib *ib);

/**
 * sdp_ib_comm_est() - SDP_IB_COMM_EST: the peer has had our REP
 * @ib: the device half; unless it waits for that, nothing happens
 *
 * Context: worker; sleeps.
 */
void sdp_ib_comm_est(struct sdp_ib *ib);

/**
 * sdp_ib_rtu() - SDP_IB_RTU: and the CM says so
 * @ib: the device half
 *
 * A DREQ that waited for it is sent.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_rtu(struct sdp_ib *ib);

/**
 * sdp_ib_no_rtu() - SDP_IB_NO_RTU: the CM has repeated our REP in vain
 * @ib: the device half
 *
 * Nothing ends for that if a message has come, but the CM id goes: from then on the
 * peer's going is noticed by keepalives, and our own abort is told by an AbortConn.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_no_rtu(struct sdp_ib *ib);

#endif
