/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ways in; see sdp_door.c.
 */
#ifndef _SDP_DOOR_H
#define _SDP_DOOR_H

/**
 * sdp_door_init() - open the doors: programs may make sockets from now on
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_door_init(void);

/**
 * sdp_door_exit() - close them; no socket of ours is left
 *
 * Context: process.
 */
void sdp_door_exit(void);

#endif
