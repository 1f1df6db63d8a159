// SPDX-License-Identifier: GPL-2.0
/*
 * Counters, limits and tunables of each network namespace.
 *
 * Counters are per processor, and only summed when /proc/net/sdpstat is read.
 *
 * The limits count connections, not sockets: a connection is what holds a queue
 * pair and pages, and it may outlive its socket.  Each connection holds a
 * reference to its namespace, so struct sdp_net is never freed under one.
 */
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <net/netns/generic.h>
#include "sdp_mem.h"
#include "sdp_net.h"

unsigned int sdp_net_id __read_mostly;

/**
 * sdp_net() - find the object of a network namespace
 * @net: the namespace, referenced
 *
 * Context: any.
 * Return: its object; lives as long as the namespace.
 */
struct sdp_net *sdp_net(const struct net *net)
{
	return net_generic(net, sdp_net_id);
}

/**
 * sdp_net_charge() - take a place under max_conns and max_conns_user
 * @sn: namespace
 * @uid: the connection's owner
 *
 * Context: any but hard interrupt.
 * Return: 0, -EUSERS when a limit is reached, -ENOMEM.
 */
int sdp_net_charge(struct sdp_net *sn, kuid_t uid)
{
	unsigned long index = __kuid_val(uid);
	unsigned long mine;
	void *entry, *old;
	int err = -EUSERS;

	xa_lock_bh(&sn->users);
	entry = xa_load(&sn->users, index);
	mine = entry ? xa_to_value(entry) : 0;
	if (sn->conns >= sdp_net_bounded(sn, max_conns) ||
	    mine >= sdp_net_bounded(sn, max_conns_user))
		goto out;
	old = __xa_store(&sn->users, index, xa_mk_value(mine + 1), GFP_ATOMIC);
	err = xa_err(old);
	if (!err)
		sn->conns++;
out:
	xa_unlock_bh(&sn->users);
	return err;
}

/**
 * sdp_net_uncharge() - give a place back
 * @sn: namespace
 * @uid: as for sdp_net_charge()
 *
 * Context: any but hard interrupt.
 */
void sdp_net_uncharge(struct sdp_net *sn, kuid_t uid)
{
	unsigned long index = __kuid_val(uid);
	unsigned long mine;

	xa_lock_bh(&sn->users);
	mine = xa_to_value(xa_load(&sn->users, index));
	/* Neither erases nor overwrites allocate: the entry exists. */
	if (mine <= 1)
		__xa_erase(&sn->users, index);
	else
		__xa_store(&sn->users, index, xa_mk_value(mine - 1), GFP_ATOMIC);
	sn->conns--;
	xa_unlock_bh(&sn->users);
}

static const struct {
	const char *name;
	const char *help;
} sdp_counter_names[SDP_CNT_MAX] = {
#define SDP_COUNTER_NAME(sym, name, help) { name, help },
	SDP_COUNTERS(SDP_COUNTER_NAME)
#undef SDP_COUNTER_NAME
#define SDP_COUNTER_NAME(sym, name, help) { "fallback_" name, help },
	SDP_REASONS(SDP_COUNTER_NAME)
#undef SDP_COUNTER_NAME
};

static const char * const sdp_reason_words[] = {
#define SDP_REASON_WORD(name, word, help) word,
	SDP_REASONS(SDP_REASON_WORD)
#undef SDP_REASON_WORD
};

/**
 * sdp_reason_word() - the name of a reason in counters and trace points
 * @reason: enum sdp_reason
 *
 * Context: any.
 * Return: one word.
 */
const char *sdp_reason_word(u8 reason)
{
	return sdp_reason_words[reason];
}

/**
 * sdp_counter_name() - the name of a counter in /proc/net/sdpstat
 * @counter: which counter
 *
 * Context: any.
 * Return: the name.
 */
const char *sdp_counter_name(enum sdp_counter counter)
{
	return sdp_counter_names[counter].name;
}

static int sdp_net_show(struct seq_file *seq, void *unused)
{
	struct sdp_net *sn = sdp_net(seq_file_single_net(seq));
	int cpu, i;

	seq_printf(seq, "%-28s %20u  %s\n", "conns", READ_ONCE(sn->conns),
		   "connections now");
	seq_printf(seq, "%-28s %20llu  %s\n", "mem_kib", sdp_mem_kib(),
		   "KiB of buffers and messages now, of all namespaces");
	for (i = 0; i < SDP_CNT_MAX; i++) {
		u64 sum = 0;

		for_each_possible_cpu(cpu)
			sum += per_cpu_ptr(sn->counters, cpu)[i];
		seq_printf(seq, "%-28s %20llu  %s\n", sdp_counter_names[i].name,
			   sum, sdp_counter_names[i].help);
	}
	return 0;
}

/* Nodes are charged to the memory cgroup of the task that adds an entry. */
#define SDP_NET_PLACES	(XA_FLAGS_ALLOC1 | XA_FLAGS_LOCK_BH | XA_FLAGS_ACCOUNT)

static int __net_init sdp_net_enter(struct net *net)
{
	struct sdp_net *sn = sdp_net(net);

#define SDP_TUNABLE_SET(field, def, min, max, help) sn->field = (def);
	SDP_TUNABLES(SDP_TUNABLE_SET)
#undef SDP_TUNABLE_SET
	sn->net = net;
	xa_init_flags(&sn->users, XA_FLAGS_LOCK_BH);
	xa_init_flags(&sn->all_conns, SDP_NET_PLACES);
	xa_init_flags(&sn->all_listeners, SDP_NET_PLACES);
	xa_init_flags(&sn->all_joined, SDP_NET_PLACES);
	sn->counters = __alloc_percpu(sizeof(u64) * SDP_CNT_MAX, sizeof(u64));
	if (!sn->counters)
		return -ENOMEM;
	if (!proc_create_net_single("sdpstat", 0444, net->proc_net,
				    sdp_net_show, NULL)) {
		free_percpu(sn->counters);
		return -ENOMEM;
	}
	return 0;
}

/* Not xa_empty(): an array that got one node of two keeps that one, empty. */
static bool sdp_net_has_none(struct xarray *places)
{
	unsigned long at = 0;

	return !xa_find(places, &at, ULONG_MAX, XA_PRESENT);
}

static void __net_exit sdp_net_leave(struct net *net)
{
	struct sdp_net *sn = sdp_net(net);

	remove_proc_entry("sdpstat", net->proc_net);
	WARN_ON_ONCE(!sdp_net_has_none(&sn->all_conns));
	WARN_ON_ONCE(!sdp_net_has_none(&sn->all_listeners));
	WARN_ON_ONCE(!sdp_net_has_none(&sn->all_joined));
	xa_destroy(&sn->all_conns);
	xa_destroy(&sn->all_listeners);
	xa_destroy(&sn->all_joined);
	xa_destroy(&sn->users);
	free_percpu(sn->counters);
}

static struct pernet_operations sdp_net_ops = {
	.init	= sdp_net_enter,
	.exit	= sdp_net_leave,
	.id	= &sdp_net_id,
	.size	= sizeof(struct sdp_net),
};

/**
 * sdp_net_init() - register the per-namespace objects and /proc/net/sdpstat
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_net_init(void)
{
	return register_pernet_subsys(&sdp_net_ops);
}

/**
 * sdp_net_exit() - undo sdp_net_init(); no connection is left
 *
 * Context: process.
 */
void sdp_net_exit(void)
{
	unregister_pernet_subsys(&sdp_net_ops);
}
