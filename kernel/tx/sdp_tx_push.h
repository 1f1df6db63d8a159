/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is posted next; see sdp_tx_push.c.
 */
#ifndef _SDP_TX_PUSH_H
#define _SDP_TX_PUSH_H

#include "sdp_conn.h"

/* Calls to zero copy, which is above this file; all under conn->lock. */
struct sdp_tx_zcopy_ops {
	/* Post the first message of tx.queue, which is for user memory.  True
	 * if something was posted, or the queue has changed.
	 */
	bool (*push)(struct sdp_conn *conn, struct sdp_msg *msg);
	/* Post an RDMA Read that waits.  True if one was posted. */
	bool (*push_read)(struct sdp_conn *conn);
	/* Look after memory that stays advertised after a call.  Jiffies until
	 * the next look, or SDP_TIMERS_NEVER; 0: the peer does not answer.
	 */
	unsigned long (*check)(struct sdp_conn *conn);
};

void sdp_tx_init(const struct sdp_tx_zcopy_ops *ops);
bool sdp_tx_may_go(struct sdp_conn *conn);
void sdp_tx_post_data(struct sdp_conn *conn, struct sdp_msg *msg, struct sdp_wire_msg *hdr);
bool sdp_tx_push_one(struct sdp_conn *conn);
void sdp_tx_uncork(struct sdp_conn *conn);
unsigned long sdp_tx_push_check(struct sdp_conn *conn);

#endif
