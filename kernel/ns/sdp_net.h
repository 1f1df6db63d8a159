/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What belongs to a network namespace: counters, tunables, limits, and the
 * connections and listeners that tools are shown; see sdp_net.c.
 *
 * One list yields enum, name and help of every counter (sdp_counters.h), another
 * of every tunable (sdp_tunables.h), so that kernel, tools and man pages cannot
 * disagree.
 */
#ifndef _SDP_NET_H
#define _SDP_NET_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>
#include <linux/sdp.h>
#include "sdp_counters.h"
#include "sdp_tunables.h"

enum sdp_counter {
#define SDP_COUNTER_ENUM(sym, name, help) SDP_CNT_##sym,
	SDP_COUNTERS(SDP_COUNTER_ENUM)
#undef SDP_COUNTER_ENUM
	/* One for each enum sdp_reason: FALLBACK by its reason, and TCP_ACCEPT
	 * by the one reason it has.  Named fallback_<word of the reason>.
	 */
	SDP_CNT_REASON,
	SDP_CNT_MAX = SDP_CNT_REASON + SDP_REASON_COUNT
};

struct sdp_net {
#define SDP_TUNABLE_FIELD(field, def, min, max, help) unsigned int field;
	SDP_TUNABLES(SDP_TUNABLE_FIELD)
#undef SDP_TUNABLE_FIELD
	struct net *net;
	struct ctl_table_header *ctl;	/* sdp_sysctl.c */

	u64 __percpu *counters;		/* SDP_CNT_MAX of them */

	atomic_long_t pinned;		/* pages pinned: net.sdp.zcopy_pinned */
	struct xarray users;		/* by uid; its lock guards conns too */
	unsigned int conns;		/* connections; under the users' lock */

	/*
	 * For tools: all connections, all listening sockets, and all that are
	 * joined or being joined, each at a place of its own, the lowest that is
	 * free, from 1.  A dump needs no lock but RCU's, and goes on after a
	 * pause at the place where it stopped.
	 */
	struct xarray all_conns;
	struct xarray all_listeners;
	struct xarray all_joined;
};

extern unsigned int sdp_net_id;
struct sdp_net *sdp_net(const struct net *net);

/* A limit.  The owner of a namespace may set it there to any value.  But what
 * it limits is the machine's, so it is at most that of the first namespace.
 */
#define sdp_net_bounded(sn, field)					\
	min(READ_ONCE((sn)->field), READ_ONCE(sdp_net(&init_net)->field))

const char *sdp_reason_word(u8 reason);
const char *sdp_counter_name(enum sdp_counter counter);

/**
 * sdp_count() - add to a counter
 * @sn: namespace
 * @counter: which counter
 * @n: how much to add
 *
 * Context: any, also with interrupts off.
 */
static inline void sdp_count(struct sdp_net *sn, enum sdp_counter counter,
			     u64 n)
{
	this_cpu_add(sn->counters[counter], n);
}

int sdp_net_charge(struct sdp_net *sn, kuid_t uid);
void sdp_net_uncharge(struct sdp_net *sn, kuid_t uid);
int sdp_net_init(void);
void sdp_net_exit(void);

#endif
