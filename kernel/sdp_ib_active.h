/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The active side of the hello exchange, over verbs.
 *
 * But for sdp_ib_route(), sdp_ib_connect() and sdp_ib_cm_rep() these are steps of the worker,
 * which may sleep.  They return nothing: what fails is told by sdp_ib_refuse() or
 * sdp_conn_refuse().
 */
#ifndef _SDP_IB_ACTIVE_H
#define _SDP_IB_ACTIVE_H

struct ib_cm_event;
struct sdp_conn;
struct sdp_ib;

/* Entries of struct sdp_xport; see there. */
int sdp_ib_route(struct sdp_conn *conn);
int sdp_ib_connect(struct sdp_conn *conn);

/**
 * sdp_ib_resolve() - SDP_IB_RESOLVE: begin to look for the way to the peer
 * @ib: the device half
 *
 * Also to begin anew, when the peer had no room; not if the attempt has ended.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_resolve(struct sdp_ib *ib);

/**
 * sdp_ib_ask_address() - SDP_IB_AGAIN: ask for the neighbour, with more time
 * @ib: the device half; its resolver has nothing to do
 *
 * Context: worker; sleeps.
 */
void sdp_ib_ask_address(struct sdp_ib *ib);

/**
 * sdp_ib_resolve_route() - SDP_IB_ROUTE: the address is resolved, ask for the path
 * @ib: the device half; its resolver knows the device
 *
 * Context: worker; sleeps.
 */
void sdp_ib_resolve_route(struct sdp_ib *ib);

/**
 * sdp_ib_send_req() - SDP_IB_REQ: the route is resolved, send the REQ
 * @ib: the device half; has a CM id then, and no resolver any more
 *
 * Makes the queue pair, unless it is there from another try.
 *
 * Context: worker; sleeps.
 */
void sdp_ib_send_req(struct sdp_ib *ib);

/**
 * sdp_ib_cm_rep() - the REP arrived: keep what it says, and queue SDP_IB_REP
 * @ib: the device half
 * @event: the REP, with the HelloAck
 *
 * Context: process (callback of ib_cm); must not wait.
 * Return: 0, what ib_cm expects of a callback that keeps the id.
 */
int sdp_ib_cm_rep(struct sdp_ib *ib, const struct ib_cm_event *event);

/**
 * sdp_ib_rep() - SDP_IB_REP: the HelloAck is good, go to RTS and say RTU
 * @ib: the device half
 *
 * Context: worker; sleeps.
 */
void sdp_ib_rep(struct sdp_ib *ib);

/**
 * sdp_ib_busy() - SDP_IB_BUSY: the peer rejected for now
 * @ib: the device half; who asked loses its CM id until it is tried again, on
 *	the passive side and later it is the end
 *
 * Context: worker; sleeps.
 */
void sdp_ib_busy(struct sdp_ib *ib);

/**
 * sdp_ib_timed_out() - SDP_IB_TIMEOUT: the attempt's time, or a pause, is over
 * @ib: the device half, of either side
 *
 * Context: worker; sleeps.
 */
void sdp_ib_timed_out(struct sdp_ib *ib);

#endif
