/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The passive side of the hello exchange, over verbs; see sdp_ib_passive.c.
 */
#ifndef _SDP_IB_PASSIVE_H
#define _SDP_IB_PASSIVE_H

struct ib_cm_event;
struct ib_cm_id;
struct sdp_conn;
struct sdp_ib;

/* sdp_ib_established() is an entry of struct sdp_xport; see there. */
void sdp_ib_established(struct sdp_conn *conn);
int sdp_ib_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
int sdp_ib_sidr_req(struct ib_cm_id *cm_id, const struct ib_cm_event *event);
void sdp_ib_build(struct sdp_ib *ib);
void sdp_ib_comm_est(struct sdp_ib *ib);
void sdp_ib_rtu(struct sdp_ib *ib);
void sdp_ib_no_rtu(struct sdp_ib *ib);

#endif
