/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Requests that have to wait until others are complete, as the transport says
 * (can_post() of struct sdp_xport): there is no place in the send queue, or
 * nothing may be in flight when a registration is made valid.
 *
 * While one waits, nothing else is posted, or there would always be something
 * in flight.  A registration of the source (SrcAvail, RDMA Write) that waited
 * goes before RDMA Reads, or a reader could keep a sender waiting for ever.
 * All of this is under conn->lock.
 *
 * Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_POST_WAIT_H
#define _SDP_POST_WAIT_H

#include <linux/types.h>

struct sdp_post_wait {
	bool waits;		/* a request waits until others are complete */
	bool owed;		/* one of the source waited: it is next */
};

/**
 * sdp_post_wait_set() - note that a request has to wait
 * @wait: changed
 *
 * Context: any; pure.
 */
static inline void sdp_post_wait_set(struct sdp_post_wait *wait)
{
	wait->waits = true;
}

/**
 * sdp_post_wait_begin() - let a request that waits try again
 * @wait: changed
 *
 * Called after completions were reaped, before requests are posted.
 *
 * Context: any; pure.
 */
static inline void sdp_post_wait_begin(struct sdp_post_wait *wait)
{
	wait->waits = false;
}

/**
 * sdp_post_waits() - whether a request waits
 * @wait: the state
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_post_waits(const struct sdp_post_wait *wait)
{
	return wait->waits;
}

/**
 * sdp_post_wait_owe() - note whether a request of the source waits
 * @wait: changed
 *
 * Called when the source could not post; nothing else waits then.
 *
 * Context: any; pure.
 */
static inline void sdp_post_wait_owe(struct sdp_post_wait *wait)
{
	wait->owed = wait->waits;
}

/**
 * sdp_post_wait_take_owed() - give the source its turn
 * @wait: changed
 *
 * Context: any; pure.
 */
static inline void sdp_post_wait_take_owed(struct sdp_post_wait *wait)
{
	wait->owed = false;
}

/**
 * sdp_post_wait_owed() - whether the source has its turn before RDMA Reads
 * @wait: the state
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_post_wait_owed(const struct sdp_post_wait *wait)
{
	return wait->owed;
}

#endif
