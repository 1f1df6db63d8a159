/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A refusal of SDP counts where TCP was not refused; see sdp_confirm.c.
 */
#ifndef _SDP_CONFIRM_H
#define _SDP_CONFIRM_H

#include <linux/types.h>

struct sdp_dst_key;
struct sock;

/**
 * sdp_confirm_later() - find out what TCP is answered
 * @sk: a socket that TCP connects
 * @key: its destination, which refused SDP
 * @gfp: for a note of it
 *
 * sdp_dst_cache_learn() is told of the refusal once TCP's connection is there, and of
 * nothing otherwise.  Without memory, and of a kernel's own socket, nothing is learnt.
 *
 * Context: process or softirq; the caller holds a reference of the socket.
 */
void sdp_confirm_later(struct sock *sk, const struct sdp_dst_key *key,
		       gfp_t gfp);

/**
 * sdp_confirm_now() - TCP has been answered
 * @sk: a socket that TCP connected
 * @key: its destination, which refused SDP
 *
 * Context: process or softirq.
 */
void sdp_confirm_now(struct sock *sk, const struct sdp_dst_key *key);

/**
 * sdp_confirm_init() - make the workqueue
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int sdp_confirm_init(void);

/**
 * sdp_confirm_exit() - give up what is not known yet
 *
 * Context: process; nobody calls sdp_confirm_later() any more.
 */
void sdp_confirm_exit(void);

#endif
