/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Records of sockets that fell back to TCP; see sdp_fallback_log.c.
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
	u64 cookie;		/* cookie of the socket, which no other ever has */
	u64 inode;
	struct in6_addr saddr;	/* IPv4 as v4-mapped */
	struct in6_addr daddr;
	__be16 sport;
	__be16 dport;
	u16 family;		/* of the socket */
	u8 reason;		/* enum sdp_reason */
	bool by_ulp;		/* made by TCP_ULP */
	kuid_t uid;
	time64_t since;		/* seconds, as ktime_get_seconds() */
};

void sdp_fallback_log_add(struct sock *sk, u8 reason, bool by_ulp);
bool sdp_fallback_log_find(struct sock *sk, struct sdp_fallback_entry *record);
bool sdp_fallback_log_next(struct sdp_net *sn, unsigned long serial,
			   struct sdp_fallback_entry *record);
int sdp_fallback_log_init(void);
void sdp_fallback_log_exit(void);

#endif
