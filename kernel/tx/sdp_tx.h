/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send queue: from built messages to posting; see sdp_tx.c.
 */
#ifndef _SDP_TX_H
#define _SDP_TX_H

#include "sdp_conn.h"
#include "sdp_sndbuf.h"

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
void sdp_tx_enqueue(struct sdp_conn *conn, struct sdp_msg *msg);
bool sdp_tx_may_go(struct sdp_conn *conn);
void sdp_tx_post_data(struct sdp_conn *conn, struct sdp_msg *msg, struct sdp_wire_msg *hdr);
void sdp_tx_queue(struct sdp_conn *conn, struct sdp_msg *msg);
struct sdp_msg *sdp_tx_take_tail(struct sdp_conn *conn,
				 const struct page_frag *frag);
void sdp_tx_run(struct sdp_conn *conn);
void sdp_tx_set_delay(struct sdp_conn *conn, u8 delay);
void sdp_tx_reap(struct sdp_conn *conn);
bool sdp_tx_want_space(struct sdp_conn *conn);
void sdp_tx_drop(struct sdp_conn *conn);

#endif
