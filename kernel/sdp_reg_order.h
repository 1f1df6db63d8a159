/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of registrations on a device with the defect described in
 * sdp_dev.h: nothing may be in flight when a registration is made valid.
 *
 * While a registration waits for that, nothing else is posted, or there would
 * always be something in flight.  A registration of the source (SrcAvail, RDMA
 * Write) that waited goes before RDMA Reads, or a reader could keep a sender
 * waiting for ever.  All of this is under conn->lock.
 *
 * Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_REG_ORDER_H
#define _SDP_REG_ORDER_H

#include <linux/types.h>

struct sdp_reg_order {
	bool alone;		/* the device has the defect */
	bool waits;		/* a registration waits until nothing is in flight */
	bool owed;		/* a registration of the source waited: it is next */
};

/**
 * sdp_reg_order_may() - whether a registration may be made valid now
 * @reg: the order; changed
 * @inflight: whether something is in flight
 *
 * Context: any; pure.
 * Return: false if it has to wait; nothing else may be posted then.
 */
static inline bool sdp_reg_order_may(struct sdp_reg_order *reg, bool inflight)
{
	if (!reg->alone || !inflight)
		return true;
	reg->waits = true;
	return false;
}

/**
 * sdp_reg_order_begin() - let a registration that waits try again
 * @reg: the order; changed
 *
 * Called after completions were reaped, before requests are posted.
 *
 * Context: any; pure.
 */
static inline void sdp_reg_order_begin(struct sdp_reg_order *reg)
{
	reg->waits = false;
}

/**
 * sdp_reg_order_waits() - whether a registration waits
 * @reg: the order
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_reg_order_waits(const struct sdp_reg_order *reg)
{
	return reg->waits;
}

/**
 * sdp_reg_order_owe() - note whether a registration of the source waits
 * @reg: the order; changed
 *
 * Called when the source could not post; no other registration waits then.
 *
 * Context: any; pure.
 */
static inline void sdp_reg_order_owe(struct sdp_reg_order *reg)
{
	reg->owed = reg->waits;
}

/**
 * sdp_reg_order_take_owed() - give the source its turn
 * @reg: the order; changed
 *
 * Context: any; pure.
 */
static inline void sdp_reg_order_take_owed(struct sdp_reg_order *reg)
{
	reg->owed = false;
}

/**
 * sdp_reg_order_owed() - whether the source has its turn before RDMA Reads
 * @reg: the order
 *
 * Context: any; pure.
 * Return: true if so.
 */
static inline bool sdp_reg_order_owed(const struct sdp_reg_order *reg)
{
	return reg->owed;
}

#endif
