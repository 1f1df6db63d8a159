/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The active side of the hello exchange, over verbs; see sdp_ib_active.c.
 *
 * All but sdp_ib_reaches(), sdp_ib_route(), sdp_ib_connect() and
 * sdp_ib_cm_rep() are steps of the worker, which may sleep.  They return
 * nothing: a failure is reported by sdp_ib_refuse() or sdp_conn_refuse().
 */
#ifndef _SDP_IB_ACTIVE_H
#define _SDP_IB_ACTIVE_H

struct ib_cm_event;
struct net;
struct sdp_addr;
struct sdp_conn;
struct sdp_ib;

/* sdp_ib_reaches(), sdp_ib_route() and sdp_ib_connect() are entries of struct
 * sdp_xport; see there.
 */
bool sdp_ib_reaches(struct net *net, const struct sdp_addr *remote, int ifindex);
int sdp_ib_route(struct sdp_conn *conn);
int sdp_ib_connect(struct sdp_conn *conn);
void sdp_ib_resolve(struct sdp_ib *ib);
void sdp_ib_ask_address(struct sdp_ib *ib);
void sdp_ib_resolve_route(struct sdp_ib *ib);
void sdp_ib_send_req(struct sdp_ib *ib);
int sdp_ib_cm_rep(struct sdp_ib *ib, const struct ib_cm_event *event);
void sdp_ib_rep(struct sdp_ib *ib);
void sdp_ib_busy(struct sdp_ib *ib);
void sdp_ib_timed_out(struct sdp_ib *ib);

#endif
