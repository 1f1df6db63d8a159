/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The first transport: verbs and ib_cm.
 */
#ifndef _SDP_IB_H
#define _SDP_IB_H

#include "sdp_xport.h"

extern const struct sdp_xport sdp_ib_xport;

/**
 * sdp_ib_init() - become a client of the RDMA core and use its devices
 * @upper: whom to ask when a request arrives
 *
 * Context: process; sleeps.
 * Return: 0 or a negative errno.
 */
int sdp_ib_init(const struct sdp_xport_upper *upper);

/**
 * sdp_ib_exit() - end all connections and stop using the devices
 *
 * Context: process; sleeps until every queue pair is destroyed.
 */
void sdp_ib_exit(void);

#endif
