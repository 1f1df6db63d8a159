/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What is known of destinations: whether they take SDP.
 *
 * An attempt that fails costs its caller up to net.sdp.connect_timeout before
 * TCP may begin, so the answer is kept: for net.sdp.cache_timeout where it was
 * no.  What says something about a host (it did not answer, no RDMA device
 * leads there) is kept for all its ports; a refusal for the one that refused,
 * if it did not refuse TCP as well (sdp_confirm.c), and until somebody listens on
 * such a port here.
 * A host that does not answer in time, is not found, or has no room, is asked
 * again sooner, at first.
 *
 * Only attempts that may fall back ask.  Who wants SDP or nothing always tries,
 * and what he finds is kept too, but a refusal, of which TCP would have to say
 * what it means; and no failure of a socket that is bound to an
 * address or has a mark, since those may lead another way than everybody's.
 */
#ifndef _SDP_DST_CACHE_H
#define _SDP_DST_CACHE_H

#include <linux/in6.h>
#include <linux/types.h>

struct sdp_net;

struct sdp_dst_key {
	struct in6_addr ip;	/* IPv4 as v4-mapped */
	int ifindex;		/* bound device, 0: any */
	__be16 port;		/* 0: all of the host's */
	u16 zero;
};

enum sdp_peer_known {
	SDP_PEER_UNKNOWN,	/* nobody asked, or it is too long ago */
	SDP_PEER_ASKED,		/* a probe is under way */
	SDP_PEER_TAKES,		/* it took SDP the last time */
	SDP_PEER_LACKS,		/* it did not, a short time ago */
};

/**
 * sdp_dst_cache_ask() - does this destination take SDP?
 * @sn: namespace
 * @key: the destination, with its port
 *
 * Context: process or softirq.
 * Return: enum sdp_peer_known.
 */
enum sdp_peer_known sdp_dst_cache_ask(struct sdp_net *sn,
				      const struct sdp_dst_key *key);

/**
 * sdp_dst_cache_probing() - this caller will find out
 * @sn: namespace
 * @key: the destination, with its port
 *
 * Context: process.
 * Return: true if nobody else is finding out; the caller's answer is
 * sdp_dst_cache_learn().
 */
bool sdp_dst_cache_probing(struct sdp_net *sn, const struct sdp_dst_key *key);

/**
 * sdp_dst_cache_learn() - what an attempt has found
 * @sn: namespace
 * @key: the destination, with its port
 * @reason: enum sdp_reason; SDP_REASON_NONE: it takes SDP.  Reasons that say
 *	nothing about the destination are not kept
 *
 * Context: process or softirq, under any lock of a connection.
 */
void sdp_dst_cache_learn(struct sdp_net *sn, const struct sdp_dst_key *key,
			 u8 reason);

/**
 * sdp_dst_cache_forget() - devices or routes are not what they were
 *
 * Forgets all that was said of all destinations in all namespaces.
 *
 * Context: any but hard interrupt.
 */
void sdp_dst_cache_forget(void);

/**
 * sdp_dst_cache_listening() - a port of this namespace takes SDP from now on
 * @sn: namespace
 * @port: its number
 *
 * Forgets that ports of this number have refused, also those of other hosts: which
 * addresses are this host's is not looked at.
 *
 * Context: process or softirq.
 */
void sdp_dst_cache_listening(struct sdp_net *sn, __be16 port);

/**
 * sdp_dst_cache_empty() - forget all destinations of a namespace
 * @sn: namespace
 *
 * Context: process.
 */
void sdp_dst_cache_empty(struct sdp_net *sn);

/**
 * sdp_dst_cache_init() - register the per-namespace tables and /proc/net/sdp_peers
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_dst_cache_init(void);

/**
 * sdp_dst_cache_exit() - undo sdp_dst_cache_init()
 *
 * Context: process.
 */
void sdp_dst_cache_exit(void);

#endif
