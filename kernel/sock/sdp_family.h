/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways to make an SDP socket; see sdp_family.c.
 */
#ifndef _SDP_FAMILY_H
#define _SDP_FAMILY_H

int sdp_family_init(void);
void sdp_family_exit(void);

#endif
