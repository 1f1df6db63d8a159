/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is on record of connections that TCP took over; see sdp_fallback_log.c.
 */
#ifndef _SDP_FALLBACK_LOG_H
#define _SDP_FALLBACK_LOG_H

#include <linux/in6.h>
#include <linux/types.h>
#include <linux/uidgid.h>

struct sock;
struct sdp_net;

struct sdp_fallback_entry {
	unsigned long serial;	/* ascends within a namespace; from 1 */
	u64 cookie;		/* the socket's; no other ever has it */
	u64 inode;
	struct in6_addr saddr;	/* IPv4 as v4-mapped */
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
	u16 family;		/* of the socket */
	u8 reason;		/* enum sdp_reason */
	bool by_ulp;		/* door 3 */
	kuid_t uid;
	time64_t since;		/* seconds, as ktime_get_seconds() */
};

/**
 * sdp_fallback_log_add() - this socket is TCP's from now on
 * @sk: the socket, with its names
 * @reason: enum sdp_reason
 * @by_ulp: whether it came by door 3
 *
 * The oldest record makes room for it; net.sdp.fallback_records says how many
 * are kept.  Without memory, and without a record to overwrite, none is.
 *
 * Context: process; the socket lock held, or nobody else has the socket.
 */
void sdp_fallback_log_add(struct sock *sk, u8 reason, bool by_ulp);

/**
 * sdp_fallback_log_find() - is there a record of this socket?
 * @sk: a TCP socket
 * @record: filled in with the newest
 *
 * Context: process or softirq.
 * Return: true if there is.
 */
bool sdp_fallback_log_find(struct sock *sk, struct sdp_fallback_entry *record);

/**
 * sdp_fallback_log_next() - walk the records of a namespace
 * @sn: namespace
 * @serial: the number after the last one's, 0 for the first
 * @record: filled in with that, or the oldest there is if that is gone
 *
 * Context: process or softirq.
 * Return: false if the last one was the newest.
 */
bool sdp_fallback_log_next(struct sdp_net *sn, unsigned long serial,
			   struct sdp_fallback_entry *record);

/**
 * sdp_fallback_log_init() - begin to keep records
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_fallback_log_init(void);

/**
 * sdp_fallback_log_exit() - undo sdp_fallback_log_init()
 *
 * Context: process.
 */
void sdp_fallback_log_exit(void);

#endif
