// SPDX-License-Identifier: GPL-2.0
/*
 * net.sdp.*, made from the lists in sdp_tunables.h and sdp_mem.h, for each
 * network namespace.  The limits of the machine's memory are the same in all of
 * them, and are set in the first.
 */
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <net/net_namespace.h>
#include "sdp_dst_cache.h"
#include "sdp_mem.h"
#include "sdp_net.h"
#include "sdp_view.h"

static const struct {
	unsigned int min, max;
} sdp_sysctl_range[] = {
#define SDP_TUNABLE_RANGE(field, def, min, max, help) { min, max },
	SDP_TUNABLES(SDP_TUNABLE_RANGE)
#undef SDP_TUNABLE_RANGE
#define SDP_MEM_RANGE(field, help) { 0, INT_MAX },
	SDP_MEM_LIMITS(SDP_MEM_RANGE)
#undef SDP_MEM_RANGE
};

/* cache_timeout 0 also forgets what is known: it must not come back later. */
static int sdp_sysctl_cache_timeout(sdp_ctl_table *table, int write,
				    void *buf, size_t *len, loff_t *pos)
{
	struct sdp_net *sn = container_of((unsigned int *)table->data,
					  struct sdp_net, cache_timeout);
	int err = proc_douintvec_minmax(table, write, buf, len, pos);

	if (!err && write && !READ_ONCE(sn->cache_timeout))
		sdp_dst_cache_empty(sn);
	return err;
}

static const struct ctl_table sdp_sysctl_template[] = {
#define SDP_TUNABLE_ENTRY(field, def, min, max, help) {			\
		.procname	= #field,				\
		.data		= (void *)offsetof(struct sdp_net, field), \
		.maxlen		= sizeof(unsigned int),			\
		.mode		= 0644,					\
		.proc_handler	= proc_douintvec_minmax,		\
	},
	SDP_TUNABLES(SDP_TUNABLE_ENTRY)
#undef SDP_TUNABLE_ENTRY
#define SDP_MEM_ENTRY(field, help) {					\
		.procname	= #field,				\
		.data		= &sdp_mem_limits.field,		\
		.maxlen		= sizeof(unsigned int),			\
		.mode		= 0644,					\
		.proc_handler	= proc_douintvec_minmax,		\
	},
	SDP_MEM_LIMITS(SDP_MEM_ENTRY)
#undef SDP_MEM_ENTRY
};

enum {
	SDP_SYSCTLS = ARRAY_SIZE(sdp_sysctl_template),
	SDP_SYSCTLS_MEM = sizeof(struct sdp_mem_limits) / sizeof(unsigned int),
};

static_assert(ARRAY_SIZE(sdp_sysctl_range) == SDP_SYSCTLS);

static int __net_init sdp_sysctl_enter(struct net *net)
{
	struct sdp_net *sn = sdp_net(net);
	struct ctl_table *table;
	int i;

	table = kcalloc(SDP_SYSCTLS + SDP_CTL_SENTINEL, sizeof(*table),
			GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	memcpy(table, sdp_sysctl_template, sizeof(sdp_sysctl_template));
	for (i = 0; i < SDP_SYSCTLS; i++) {
		if (table[i].data ==
		    (void *)offsetof(struct sdp_net, cache_timeout))
			table[i].proc_handler = sdp_sysctl_cache_timeout;
		if (i < SDP_SYSCTLS - SDP_SYSCTLS_MEM)
			table[i].data = (char *)sn + (unsigned long)table[i].data;
		else if (!net_eq(net, &init_net))
			table[i].mode = 0444;
		table[i].extra1 = (void *)&sdp_sysctl_range[i].min;
		table[i].extra2 = (void *)&sdp_sysctl_range[i].max;
	}
	sn->ctl = register_net_sysctl_sz(net, "net/sdp", table, SDP_SYSCTLS);
	if (!sn->ctl) {
		kfree(table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit sdp_sysctl_leave(struct net *net)
{
	struct sdp_net *sn = sdp_net(net);
	sdp_ctl_table *table = sn->ctl->ctl_table_arg;

	unregister_net_sysctl_table(sn->ctl);
	kfree(table);
}

static struct pernet_operations sdp_sysctl_ops = {
	.init	= sdp_sysctl_enter,
	.exit	= sdp_sysctl_leave,
};

/**
 * sdp_sysctl_init() - make net.sdp.* in every namespace
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_sysctl_init(void)
{
	return register_pernet_subsys(&sdp_sysctl_ops);
}

/**
 * sdp_sysctl_exit() - undo sdp_sysctl_init()
 *
 * Context: process.
 */
void sdp_sysctl_exit(void)
{
	unregister_pernet_subsys(&sdp_sysctl_ops);
}
