/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Listening on ports, by verbs; see sdp_ib_port.c.
 */
#ifndef _SDP_IB_PORT_H
#define _SDP_IB_PORT_H

#include <linux/types.h>
#include <rdma/ib_cm.h>

struct sdp_dev;

#define SDP_IB_SERVICE_ID	0x0000000000010000ULL	/* + port, 1.1 */

/* sdp_ib_listen() and sdp_ib_unlisten() are entries of struct sdp_xport; see
 * there.
 */
int sdp_ib_listen(u16 number);
void sdp_ib_unlisten(u16 number);
void sdp_ib_ports_add(struct sdp_dev *dev);
void sdp_ib_ports_remove(struct sdp_dev *dev);
void sdp_ib_ports_init(ib_cm_handler event);
void sdp_ib_ports_exit(void);

#endif
