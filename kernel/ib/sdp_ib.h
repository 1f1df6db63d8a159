/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The first transport: verbs and ib_cm.
 */
#ifndef _SDP_IB_H
#define _SDP_IB_H

#include "sdp_xport.h"

extern const struct sdp_xport sdp_ib_xport;
int sdp_ib_init(const struct sdp_xport_upper *upper);
void sdp_ib_exit(void);

#endif
