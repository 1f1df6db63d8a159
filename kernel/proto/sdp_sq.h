/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of a send queue: places, signalling, and what may be posted
 * now.
 *
 * A request may take several places: registration, the operation itself, local
 * invalidation.  Only some requests are signalled, that is, only their
 * completions are reported; such a completion frees the places of all that was
 * posted before it.  So all there is to know is how far the queue was filled,
 * emptied and signalled, as positions that only grow, modulo 2^16.
 *
 * On a device with the defect described in sdp_dev.h, nothing may be in flight
 * when a registration is made valid.
 *
 * Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_SQ_H
#define _SDP_SQ_H

#include <linux/types.h>

enum {
	SDP_SQ_PLACES		= 3,		/* that one request takes, at most */
	SDP_SQ_BURST		= 8,		/* places unsignalled in a row */
	SDP_SQ_BURST_BYTES	= 64 * 1024,	/* bytes unsignalled in a row */
};

struct sdp_sq {
	u16 size;		/* places that there are */
	bool reg_alone;		/* the device has the defect */
	u16 posted;		/* position behind the last request */
	u16 done;		/* position behind the last that is complete */
	u16 signalled;		/* position behind the last that is signalled */
	u32 unsignalled_bytes;	/* bytes of messages behind that position */
};

/**
 * sdp_sq_init() - begin with an empty send queue
 * @sq: filled in
 * @size: places that there are, more than SDP_SQ_PLACES
 * @reg_alone: nothing may be in flight when a registration is made valid
 *
 * Context: any; pure.
 */
static inline void sdp_sq_init(struct sdp_sq *sq, u16 size, bool reg_alone)
{
	*sq = (struct sdp_sq){ .size = size, .reg_alone = reg_alone };
}

/**
 * sdp_sq_may() - whether a request may be posted
 * @sq: the send queue
 * @registers: it makes a registration valid
 *
 * Context: any; pure.
 * Return: false if it has to wait until more is complete.
 */
static inline bool sdp_sq_may(const struct sdp_sq *sq, bool registers)
{
	u16 taken = sq->posted - sq->done;

	if (registers && sq->reg_alone)
		return !taken;
	return taken + SDP_SQ_PLACES <= sq->size;
}

/**
 * sdp_sq_post() - account a request that is posted now
 * @sq: the send queue; changed
 * @places: places that it takes
 * @bytes: its length, if it is a message; else 0
 * @signalled: whether its completion is wanted; set if it has to be anyway
 *
 * Context: any; pure.
 * Return: the position behind it, for sdp_sq_done().
 */
static inline u16 sdp_sq_post(struct sdp_sq *sq, u16 places, u32 bytes,
			      bool *signalled)
{
	sq->posted += places;
	sq->unsignalled_bytes += bytes;
	if ((u16)(sq->posted - sq->signalled) >= SDP_SQ_BURST ||
	    sq->unsignalled_bytes >= SDP_SQ_BURST_BYTES)
		*signalled = true;
	if (*signalled) {
		sq->signalled = sq->posted;
		sq->unsignalled_bytes = 0;
	}
	return sq->posted;
}

/**
 * sdp_sq_done() - a signalled request is complete, and all before it
 * @sq: the send queue; changed
 * @position: what sdp_sq_post() returned for it
 *
 * Context: any; pure.
 */
static inline void sdp_sq_done(struct sdp_sq *sq, u16 position)
{
	sq->done = position;
}

#endif
