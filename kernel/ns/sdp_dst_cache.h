/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The destination cache: which destinations take SDP.
 *
 * A failed attempt costs its caller up to net.sdp.connect_timeout before TCP
 * may begin.  So the result is kept, a negative one for net.sdp.cache_timeout.
 * A result about a host (it did not answer, no RDMA device leads there) is kept
 * for all its ports.  A refusal is kept for the port that refused, if that did
 * not refuse TCP as well (sdp_confirm.c), and until somebody listens on such a
 * port here.  A host that does not answer in time, is not found, or has no
 * room, is asked again sooner, at first.
 *
 * Only attempts that may fall back ask the cache.  An attempt that requires SDP
 * always tries.  Its result is kept too, except for a refusal: only TCP could
 * tell what that means.  No failure is kept of a socket that is bound to an
 * address or has a mark: such a socket may reach the destination by another way
 * than the others.
 */
#ifndef _SDP_DST_CACHE_H
#define _SDP_DST_CACHE_H

#include <linux/in6.h>
#include <linux/types.h>

struct sdp_net;

struct sdp_dst_key {
	struct in6_addr ip;	/* IPv4 as v4-mapped */
	int ifindex;		/* bound device, 0: any */
	__be16 port;		/* 0: all ports of the host */
	u16 zero;
};

enum sdp_peer_known {
	SDP_PEER_UNKNOWN,	/* nobody asked, or it is too long ago */
	SDP_PEER_ASKED,		/* a probe is under way */
	SDP_PEER_TAKES,		/* it took SDP the last time */
	SDP_PEER_LACKS,		/* it did not take SDP a short time ago */
};

enum sdp_peer_known sdp_dst_cache_ask(struct sdp_net *sn,
				      const struct sdp_dst_key *key);
bool sdp_dst_cache_probing(struct sdp_net *sn, const struct sdp_dst_key *key);
void sdp_dst_cache_learn(struct sdp_net *sn, const struct sdp_dst_key *key,
			 u8 reason);
void sdp_dst_cache_forget(void);
void sdp_dst_cache_listening(struct sdp_net *sn, __be16 port);
void sdp_dst_cache_empty(struct sdp_net *sn);
int sdp_dst_cache_init(void);
void sdp_dst_cache_exit(void);

#endif
