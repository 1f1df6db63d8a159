/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The send side: built messages -> credit -> post; send completions.
 */
#ifndef _SDP_TX_H
#define _SDP_TX_H

#include "sdp_conn.h"
#include "sdp_sndbuf.h"

/* What is not copied is posted by who knows it, in its turn; under conn->lock. */
struct sdp_tx_zcopy_ops {
	/* The first message of tx.queue is for memory of a user: true if something
	 * was posted, or the queue has changed.
	 */
	bool (*push)(struct sdp_conn *conn, struct sdp_msg *msg);
	/* RDMA Reads wait: true if one was posted. */
	bool (*push_read)(struct sdp_conn *conn);
	/* Jiffies until what stays advertised is to be looked at, or
	 * SDP_TIMERS_NEVER; 0: the peer does not answer.
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
