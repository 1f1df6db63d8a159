/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The modes of the two half-connections, and what a received message means in
 * them (protocol text, sections 4.1 to 4.6 and 5).
 *
 * A half has a source, whose data flows, and a sink: @src is the half whose
 * source we are, @snk the one whose sink we are.  sdp_advert.h keeps the
 * adverts of each.
 *
 * sdp_mode_heard() is the whole receive side of the protocol in one pure
 * function: the callers carry out its verdict and decide nothing themselves.
 *
 * Pure: KUnit and the user-space tests compile this file as it stands.
 */
#ifndef _SDP_MODE_H
#define _SDP_MODE_H

#include <linux/types.h>
#include "sdp_advert.h"
#include "sdp_wire.h"

struct sdp_mode {
	/* News of our SrcAvails; valid with SDP_HEARD_TOLD. */
	struct sdp_advert_told told;
	/* News of our SinkAvails; valid with SDP_HEARD_FILLED. */
	struct sdp_advert_told filled;
	struct sdp_src src;	/* the half whose source we are */
	struct sdp_snk snk;	/* the half whose sink we are */
	bool peer_fin;		/* DisConn received: no payload may follow */
	bool shut_rd;		/* our reader has gone: payload is an error (4.1) */
	bool req_pipe;		/* the peer asked for pipelined mode */
	bool asked_rcvbuf;	/* a ChRcvBuf of ours is unanswered */
	bool sink_crossed;	/* a SrcAvail crossed our last SinkAvail */
};

/* What to do with a message, as bits: several may be set. */
enum sdp_mode_verdict {
	SDP_HEARD_DELIVER	= 0x01,	/* append the payload to the stream */
	SDP_HEARD_SENDSM	= 0x02,	/* sdp_snk_may_refuse(): queue a SendSm */
	SDP_HEARD_FIN		= 0x04,	/* end of stream, behind what is queued */
	SDP_HEARD_RESET		= 0x08,	/* the peer aborts: ECONNRESET */
	SDP_HEARD_RCVBUF	= 0x10,	/* answer by ChRcvBufAck, when it is time */
	SDP_HEARD_SUSP_ACK	= 0x20,	/* queue SuspCommAck */
	SDP_HEARD_OOB_PEND	= 0x40,	/* urgent data is under way */
	SDP_HEARD_OOB_PRES	= 0x80,	/* the last payload byte is urgent */
	SDP_HEARD_RCVBUF_ACK	= 0x100, /* the peer's buffers have this size now */
	SDP_HEARD_ADVERT	= 0x200, /* there is something to read by RDMA */
	SDP_HEARD_TOLD		= 0x400, /* mode->told: news of our SrcAvails */
	SDP_HEARD_FILLED	= 0x800, /* mode->filled: news of our SinkAvails */
	SDP_HEARD_OWES		= 0x1000, /* RdmaWrCompl or SinkCancelAck is due */
};

void sdp_mode_init(struct sdp_mode *mode, u16 theirs, u8 ours);
int sdp_mode_heard(struct sdp_mode *mode, const struct sdp_wire_msg *msg);
void sdp_mode_rcvbuf_posted(struct sdp_mode *mode);
bool sdp_mode_may_ask(const struct sdp_mode *mode, bool unread);

/**
 * sdp_mode_crossed() - whether a SrcAvail crossed our last SinkAvail
 * @mode: the connection's; the mark is cleared for the next SinkAvail
 *
 * Context: the caller's lock; pure.
 * Return: true if one did: the SinkAvail was of no use.
 */
static inline bool sdp_mode_crossed(struct sdp_mode *mode)
{
	bool crossed = mode->sink_crossed;

	mode->sink_crossed = false;
	return crossed;
}

bool sdp_mode_can_ask(const struct sdp_mode *mode, bool unread);

/**
 * sdp_mode_has_advert() - whether one more advert of ours may be outstanding
 * @mode: the connection's
 *
 * The peer's MaxAdverts is a limit for both halves together (4.3).
 *
 * Context: the caller's lock; pure.
 * Return: true if it may.
 */
static inline bool sdp_mode_has_advert(const struct sdp_mode *mode)
{
	return mode->src.out.n + mode->snk.out.n < mode->src.max;
}

/* How the next slice of a send goes. */
struct sdp_mode_slice {
	u32	bytes;		/* user bytes that it takes, from 1 */
	bool	coalesce;	/* they fit behind the last message not yet posted */
};

struct sdp_mode_slice sdp_mode_pick(size_t left, u32 payload_max, u32 tail_room);

#endif
