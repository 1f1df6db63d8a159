/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The order of registrations, where a device has the defect that sdp_dev.h tells of:
 * nothing may be under way when memory is registered.
 *
 * A registration that has to wait for that is next, or there would always be
 * something under way; and one of what is sent goes before RDMA Reads, or a reader
 * would keep a sender waiting for ever.  All of it under conn->lock.
 *
 * Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_REG_ORDER_H
#define _SDP_REG_ORDER_H

#include <linux/types.h>

struct sdp_reg_order {
	bool alone;		/* the device has the defect */
	bool waits;		/* a registration waits until nothing is under way */
	bool owed;		/* it is of what is sent */
};

/**
 * sdp_reg_order_may() - may memory be registered now?
 * @reg: the order; changed
 * @inflight: something is under way
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
 * sdp_reg_order_begin() - what is under way is less now: look again
 * @reg: the order; changed
 *
 * Context: any; pure.
 */
static inline void sdp_reg_order_begin(struct sdp_reg_order *reg)
{
	reg->waits = false;
}

/**
 * sdp_reg_order_waits() - does a registration wait?
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
 * sdp_reg_order_owe() - whatever waits now is of what is sent
 * @reg: the order; changed
 *
 * Context: any; pure.
 */
static inline void sdp_reg_order_owe(struct sdp_reg_order *reg)
{
	reg->owed = reg->waits;
}

/**
 * sdp_reg_order_take_owed() - it is the turn of what is sent
 * @reg: the order; changed
 *
 * Context: any; pure.
 */
static inline void sdp_reg_order_take_owed(struct sdp_reg_order *reg)
{
	reg->owed = false;
}

/**
 * sdp_reg_order_owed() - does one of what is sent go before RDMA Reads?
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
