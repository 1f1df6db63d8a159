// SPDX-License-Identifier: GPL-2.0
/*
 * Credits and sequence numbers, as arithmetic on two 32-bit counters.
 *
 * How many messages may be sent follows from the newest header received:
 *
 *	credits = Bufs - (MSeq of our last message - MSeqAck)
 *
 * How many the peer may send follows by the same formula from the newest header
 * sent: it is the number of buffers that the peer knows of and has not used.
 * All differences are modulo 2^32, so a wrap is nothing special.
 * sdp_flow_heard() refuses every header that would make a difference negative,
 * so no other function has to check.
 *
 * The last three credits are reserved by purpose (3.2).  A payload message
 * needs three credits, a control message two.  So the very last one is always
 * there to tell the peer about new buffers: if both sides are full and have
 * used everything else, each can still open the other.
 *
 * A credit update is itself a message.  It uses a buffer of the peer, which
 * posts the buffer again and then has something to announce.  The factor of 1.5
 * in sdp_flow_owes_update() stops that echo as long as one side has 4 buffers
 * or more.  If both sides have 3 or fewer (neither reader reads) it does not:
 * there one buffer more is half as many again.  In that case an update that
 * announced nothing but its own buffer is not answered.  This causes no
 * deadlock.  A side with 3 buffers or fewer has a reader with unread data, or
 * buffers that are about to be posted, and either will be news; see
 * SDP_WIRE_CREDITS_MIN.
 */

#include <linux/errno.h>
#include <linux/types.h>

#include "sdp_flow.h"

/* Credits that must remain after a message, by its class. */
static const u8 sdp_flow_leaves[] = {
	[SDP_FLOW_PAYLOAD]	= 2,
	[SDP_FLOW_CONTROL]	= 1,
	[SDP_FLOW_UPDATE]	= 0,
};

/**
 * sdp_flow_init() - start after the exchange of Hello and HelloAck
 * @flow: what to initialise
 * @told_bufs: Bufs of our own Hello or HelloAck, all of them posted
 * @peer_bufs: Bufs of the peer's Hello or HelloAck
 *
 * Context: any; pure.
 */
void sdp_flow_init(struct sdp_flow *flow, u16 told_bufs, u16 peer_bufs)
{
	*flow = (struct sdp_flow) {
		.peer_bufs = peer_bufs,
		.posted = told_bufs,
		.told_bufs = told_bufs,
	};
}

/**
 * sdp_flow_credits() - messages that may still be sent
 * @flow: the connection's
 *
 * Context: the caller's lock; pure.
 * Return: credits, never negative: sdp_flow_heard() refuses a header that would
 * make them so.
 */
u32 sdp_flow_credits(const struct sdp_flow *flow)
{
	return flow->peer_bufs - (flow->tx_mseq - flow->tx_acked);
}

/**
 * sdp_flow_may() - whether the credits allow a message now
 * @flow: the connection's
 * @class: what the message is for
 *
 * The last credit is reserved for a message that gives the peer new credits.
 * This prevents a deadlock when both sides are full.
 *
 * Context: the caller's lock; pure.
 * Return: true if it may be sent.
 */
bool sdp_flow_may(const struct sdp_flow *flow, enum sdp_flow_class class)
{
	return sdp_flow_credits(flow) > sdp_flow_leaves[class];
}

/**
 * sdp_flow_take() - use a credit and a sequence number
 * @flow: the connection's; sdp_flow_may() has returned true
 * @msg: bufs, mseq and mseq_ack are filled in
 *
 * Context: the caller's lock, held until the message is posted; pure.
 */
void sdp_flow_take(struct sdp_flow *flow, struct sdp_wire_msg *msg)
{
	msg->bufs = flow->posted;
	msg->mseq = ++flow->tx_mseq;
	msg->mseq_ack = flow->rx_mseq;

	flow->told_bufs = flow->posted;
	flow->told_mseq = flow->rx_mseq;
	flow->told_stale = false;
}

/**
 * sdp_flow_heard() - account a received message
 * @flow: the connection's
 * @msg: the message; it has used one of the posted receive buffers
 *
 * Context: the caller's lock; pure.
 * Return: 0; -EPROTO if the sequence number is not the next one, if the peer
 * acknowledges a message that was never sent or acknowledges less than before,
 * if it used a buffer that it was not told of, or if Bufs makes the credits
 * negative.  @flow is unchanged on error.
 */
int sdp_flow_heard(struct sdp_flow *flow, const struct sdp_wire_msg *msg)
{
	/* Our messages that were not acknowledged before this header, and
	 * those that still are not.
	 */
	u32 unacked = flow->tx_mseq - flow->tx_acked;
	u32 unseen = flow->tx_mseq - msg->mseq_ack;

	/* In this order: not the next sequence number; more acknowledged than
	 * was sent, or less than before (either makes unseen too large); more
	 * messages of ours under way than Bufs has buffers for; a buffer used
	 * that the peer was not told of.
	 */
	if (msg->mseq != flow->rx_mseq + 1 || unseen > unacked ||
	    unseen > msg->bufs || !sdp_flow_known(flow))
		return -EPROTO;

	flow->rx_mseq = msg->mseq;
	flow->tx_acked = msg->mseq_ack;
	flow->peer_bufs = msg->bufs;
	flow->posted--;
	if (msg->mid != SDP_MID_DATA || msg->len != SDP_LEN_BSDH)
		flow->told_stale = true;
	return 0;
}

/**
 * sdp_flow_posted() - receive buffers have been posted
 * @flow: the connection's
 * @n: how many were posted
 *
 * Context: the caller's lock; pure.
 */
void sdp_flow_posted(struct sdp_flow *flow, u16 n)
{
	flow->posted += n;
}

/**
 * sdp_flow_known() - buffers that the peer knows about and has not used
 * @flow: the connection's
 *
 * Context: the caller's lock; pure.
 * Return: Bufs last sent less the messages heard since.
 */
u32 sdp_flow_known(const struct sdp_flow *flow)
{
	return flow->told_bufs - (flow->rx_mseq - flow->told_mseq);
}

/**
 * sdp_flow_owes_update() - whether a credit update is due (3.3)
 * @flow: the connection's
 *
 * It is due if the peer knows of fewer than 3 buffers and more are posted, or
 * if half as many again are posted as it knows of.  The factor stops two idle
 * sides from answering each other's updates for ever.  If both have 3 buffers
 * or fewer it cannot, so an update that brought no news is not answered then.
 *
 * Context: the caller's lock; pure.
 * Return: true if an empty Data should be sent, unless another message goes.
 */
bool sdp_flow_owes_update(const struct sdp_flow *flow)
{
	u32 known = sdp_flow_known(flow);
	/* Never negative: every buffer that the peer knows of is posted. */
	u32 more = flow->posted - known;

	/* Less than half as many again; if it knows of 2 or fewer, one is
	 * enough.
	 */
	if (!more || 2 * more < known)
		return false;

	/* Exactly one more: send an update only if the peer has enough buffers
	 * not to answer it, or if there is news.
	 */
	return more > 1 || flow->peer_bufs >= SDP_WIRE_CREDITS_MIN ||
	       flow->told_stale || flow->posted > flow->told_bufs;
}

/**
 * sdp_flow_acked() - whether the peer has processed a message of ours
 * @flow: the connection's
 * @mseq: MSeq of the message
 *
 * Context: the caller's lock; pure.
 * Return: true if the newest MSeqAck covers it (serial-number arithmetic).
 */
bool sdp_flow_acked(const struct sdp_flow *flow, u32 mseq)
{
	return (s32)(flow->tx_acked - mseq) >= 0;
}
