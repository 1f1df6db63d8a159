/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A refusal of SDP counts where TCP was not refused; see sdp_confirm.c.
 */
#ifndef _SDP_CONFIRM_H
#define _SDP_CONFIRM_H

#include <linux/types.h>

struct sdp_dst_key;
struct sock;
void sdp_confirm_later(struct sock *sk, const struct sdp_dst_key *key,
		       gfp_t gfp);
void sdp_confirm_now(struct sock *sk, const struct sdp_dst_key *key);
int sdp_confirm_init(void);
void sdp_confirm_exit(void);

#endif
