/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Flow control of one connection: credits, sequence numbers, whether a message
 * may be sent, whether the peer must be told of new buffers (protocol text,
 * section 3).
 *
 * A credit is one receive buffer that the peer has posted; each message, of
 * whatever kind, uses one.  The peer's header says how many buffers it has
 * posted, and which of our messages was the last that it had seen by then.
 * Messages sent after that one are subtracted.  So credits are never added up:
 * the newest header replaces what was known.
 *
 * The caller's lock makes struct sdp_flow one snapshot: a header is written
 * from it in one go (Bufs and MSeqAck belong together).  A receive buffer is
 * posted to the device first and counted after, a completion is counted
 * before its message is used.
 *
 * Pure: KUnit and the user-space tests compile this file as it stands.
 */
#ifndef _SDP_FLOW_H
#define _SDP_FLOW_H

#include <linux/types.h>
#include "sdp_wire.h"

struct sdp_flow {
	u32	tx_mseq;	/* MSeq of the last message sent */
	u32	tx_acked;	/* newest MSeqAck: the peer has processed up to it */
	u32	rx_mseq;	/* MSeq of the last message received */
	u32	told_mseq;	/* rx_mseq when Bufs was last sent */
	u16	peer_bufs;	/* Bufs of the newest message received */
	u16	posted;		/* receive buffers posted, no message in them yet */
	u16	told_bufs;	/* Bufs last sent */
	bool	told_stale;	/* a message other than an update came since told_mseq */
};

/* What a message is for: decides which of the last credits it may use (3.2). */
enum sdp_flow_class {
	SDP_FLOW_PAYLOAD,	/* user data or a SrcAvail: must leave 2 credits */
	SDP_FLOW_CONTROL,	/* control message: must leave 1 credit */
	SDP_FLOW_UPDATE,	/* empty Data that gives credits: may use the last */
};

void sdp_flow_init(struct sdp_flow *flow, u16 told_bufs, u16 peer_bufs);
u32 sdp_flow_credits(const struct sdp_flow *flow);
bool sdp_flow_may(const struct sdp_flow *flow, enum sdp_flow_class class);
void sdp_flow_take(struct sdp_flow *flow, struct sdp_wire_msg *msg);

/**
 * sdp_flow_hold_ack() - have a message acknowledge less than it could
 * @msg: as sdp_flow_take() left it
 * @ack: MSeqAck to send instead; not less than was sent before
 *
 * The peer counts Bufs from the acknowledged message on.  Later messages have
 * used buffers already, so these are added to Bufs: the peer knows of as many
 * free buffers as it would otherwise.
 *
 * Context: the caller's lock; pure.
 */
static inline void sdp_flow_hold_ack(struct sdp_wire_msg *msg, u32 ack)
{
	msg->bufs += msg->mseq_ack - ack;
	msg->mseq_ack = ack;
}

int sdp_flow_heard(struct sdp_flow *flow, const struct sdp_wire_msg *msg);
void sdp_flow_posted(struct sdp_flow *flow, u16 n);
u32 sdp_flow_known(const struct sdp_flow *flow);
bool sdp_flow_owes_update(const struct sdp_flow *flow);
bool sdp_flow_acked(const struct sdp_flow *flow, u32 mseq);

#endif
