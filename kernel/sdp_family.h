/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways in; see sdp_family.c.
 */
#ifndef _SDP_FAMILY_H
#define _SDP_FAMILY_H

/**
 * sdp_family_init() - open the doors: programs may make sockets from now on
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_family_init(void);

/**
 * sdp_family_exit() - close them; no socket of ours is left
 *
 * Context: process.
 */
void sdp_family_exit(void);

#endif
