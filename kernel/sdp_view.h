/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What administrators see and set; see sdp_diag.c and sdp_sysctl.c.
 */
#ifndef _SDP_VIEW_H
#define _SDP_VIEW_H

/**
 * sdp_diag_init() - answer sock_diag requests for family 27
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_diag_init(void);

/**
 * sdp_diag_exit() - undo sdp_diag_init()
 *
 * Context: process.
 */
void sdp_diag_exit(void);

/**
 * sdp_sysctl_init() - make net.sdp.* in every namespace
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_sysctl_init(void);

/**
 * sdp_sysctl_exit() - undo sdp_sysctl_init()
 *
 * Context: process.
 */
void sdp_sysctl_exit(void);

#endif
