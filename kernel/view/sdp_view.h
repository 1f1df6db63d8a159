/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What administrators see and set; see sdp_diag.c and sdp_sysctl.c.
 */
#ifndef _SDP_VIEW_H
#define _SDP_VIEW_H

int sdp_diag_init(void);
void sdp_diag_exit(void);
int sdp_sysctl_init(void);
void sdp_sysctl_exit(void);

#endif
