/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a child has of its listener; see sdp_inherit.c.
 */
#ifndef _SDP_INHERIT_H
#define _SDP_INHERIT_H

struct sock;

/**
 * sdp_inherit_congestion() - the congestion control, by name
 * @sk: the listener
 * @nsk: its child, which nobody else has
 *
 * SDP has none; a program that asks for it is answered as by TCP.  What the caller
 * may not choose stays the default.
 *
 * Context: process; no socket lock held.
 */
void sdp_inherit_congestion(const struct sock *sk, struct sock *nsk);

/**
 * sdp_inherit() - all other options
 * @sk: the listener
 * @nsk: its child, which nobody else has, without names
 *
 * Context: process; the lock of @nsk held.
 */
void sdp_inherit(const struct sock *sk, struct sock *nsk);

#endif
