// SPDX-License-Identifier: GPL-2.0
/*
 * The destination cache: which destinations take SDP.
 *
 * Each namespace has a hash table, looked up under RCU, and one list of the
 * entries in the order in which they were written.  The table holds at most
 * net.sdp.cache_max entries: the oldest makes room.  An entry is out of date
 * when its time is over, or when sdp_dst_cache_forget() was called after it was
 * written.  A generation number tells the latter, so nothing has to be walked
 * when a device comes or goes.
 *
 * There may be a million entries.  So the lock is held for a few at a time, and
 * a reader of /proc/net/sdp_peers goes from index to index under RCU.
 */
#include <linux/jiffies.h>
#include <linux/proc_fs.h>
#include <linux/rhashtable.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/xarray.h>
#include <net/netns/generic.h>
#include <linux/sdp.h>
#include "sdp_dst_cache.h"
#include "sdp_net.h"
#include "sdp_trace.h"

struct sdp_dst {
	struct rhash_head hash;
	struct list_head node;		/* sdp_dst_cache.list */
	u32 place;			/* index in sdp_dst_cache.all */
	struct rcu_head rcu;
	struct sdp_dst_key key;
	unsigned long since;		/* jiffies when it was written */
	unsigned int ms;		/* milliseconds from since on that SDP_PEER_LACKS holds */
	int generation;
	unsigned int listens;		/* sdp_dst_cache.listens when it was written */
	u8 known;			/* enum sdp_peer_known */
	u8 reason;			/* enum sdp_reason */
};

enum { SDP_DST_CACHE_PORTS = 256 };	/* groups of ports for which listen() is counted */

struct sdp_dst_cache {
	struct rhashtable table;
	spinlock_t lock;		/* writers, and the list; a leaf */
	struct list_head list;		/* the oldest first */
	struct xarray all;		/* for /proc, by sdp_dst.place; from 1 */
	unsigned int count;
	unsigned int listens[SDP_DST_CACHE_PORTS];	/* listen() calls, by group of ports */
};

static const struct rhashtable_params sdp_dst_cache_params = {
	.key_len		= sizeof(struct sdp_dst_key),
	.key_offset		= offsetof(struct sdp_dst, key),
	.head_offset		= offsetof(struct sdp_dst, hash),
	.automatic_shrinking	= true,
};

static unsigned int sdp_dst_cache_id __read_mostly;
static atomic_t sdp_dst_cache_generation;

/* Milliseconds after which a probe without an answer is given up. */
enum { SDP_DST_CACHE_PROBE_MS = 60000 };

/*
 * A first failure that may be transient holds for this part of cache_timeout,
 * each that follows for so many times as long as the one before.
 */
enum { SDP_DST_CACHE_ONCE = 64, SDP_DST_CACHE_AGAIN = 4 };

enum { SDP_DST_CACHE_PIECE = 64 };	/* entries removed without a pause, at most */

static const char * const sdp_dst_cache_words[] = {
	[SDP_PEER_UNKNOWN] = "unknown", [SDP_PEER_ASKED] = "asked",
	[SDP_PEER_TAKES] = "sdp", [SDP_PEER_LACKS] = "tcp",
};

static struct sdp_dst_cache *sdp_dst_cache_of(const struct sdp_net *sn)
{
	return net_generic(sn->net, sdp_dst_cache_id);
}

static unsigned int *sdp_dst_cache_listens(struct sdp_dst_cache *peers, __be16 port)
{
	return &peers->listens[ntohs(port) % SDP_DST_CACHE_PORTS];
}

/* Whether an entry is still valid. */
static bool sdp_dst_cache_fresh(const struct sdp_net *sn,
				const struct sdp_dst *peer)
{
	unsigned int ms = min(READ_ONCE(sn->cache_timeout),
			      READ_ONCE(peer->ms));
	u8 known = READ_ONCE(peer->known);

	if (READ_ONCE(peer->generation) != atomic_read(&sdp_dst_cache_generation))
		return false;
	if (known == SDP_PEER_TAKES)
		return true;
	/* It may be a port of this host, with a listener by now. */
	if (READ_ONCE(peer->reason) == SDP_REASON_REFUSED &&
	    READ_ONCE(peer->listens) !=
	    READ_ONCE(*sdp_dst_cache_listens(sdp_dst_cache_of(sn), peer->key.port)))
		return false;
	if (known == SDP_PEER_ASKED)
		ms = SDP_DST_CACHE_PROBE_MS;
	return ms && time_before(jiffies, READ_ONCE(peer->since) +
					  msecs_to_jiffies(ms));
}

/**
 * sdp_dst_cache_ask() - whether a destination takes SDP
 * @sn: namespace
 * @key: the destination, with its port
 *
 * Context: process or softirq.
 * Return: enum sdp_peer_known.
 */
enum sdp_peer_known sdp_dst_cache_ask(struct sdp_net *sn,
				      const struct sdp_dst_key *key)
{
	struct sdp_dst_cache *peers = sdp_dst_cache_of(sn);
	enum sdp_peer_known known = SDP_PEER_UNKNOWN;
	struct sdp_dst_key host = *key;
	struct sdp_dst *peer;

	/* An entry from before cache_max became 0 does not count either. */
	if (!READ_ONCE(sn->cache_max))
		return SDP_PEER_UNKNOWN;
	host.port = 0;
	rcu_read_lock();
	peer = rhashtable_lookup(&peers->table, &host, sdp_dst_cache_params);
	if (!peer || !sdp_dst_cache_fresh(sn, peer))
		peer = rhashtable_lookup(&peers->table, key, sdp_dst_cache_params);
	if (peer && sdp_dst_cache_fresh(sn, peer)) {
		known = READ_ONCE(peer->known);
		if (trace_sdp_dst_use_enabled())
			trace_sdp_dst_use(0, &peer->key.ip, ntohs(peer->key.port),
					  sdp_dst_cache_words[known],
					  sdp_reason_word(READ_ONCE(peer->reason)));
	}
	rcu_read_unlock();
	return known;
}

static void sdp_dst_cache_remove(struct sdp_dst_cache *peers, struct sdp_dst *peer)
{
	lockdep_assert_held(&peers->lock);
	trace_sdp_dst_drop(0, &peer->key.ip, ntohs(peer->key.port),
			   sdp_dst_cache_words[peer->known],
			   sdp_reason_word(peer->reason));
	rhashtable_remove_fast(&peers->table, &peer->hash, sdp_dst_cache_params);
	xa_erase(&peers->all, peer->place);
	list_del(&peer->node);
	WRITE_ONCE(peers->count, peers->count - 1);
	kfree_rcu(peer, rcu);
}

/* Remove @n of the oldest entries, as far as there are so many. */
static void sdp_dst_cache_remove_oldest(struct sdp_dst_cache *peers, unsigned int n)
{
	lockdep_assert_held(&peers->lock);
	for (; n && !list_empty(&peers->list); n--)
		sdp_dst_cache_remove(peers, list_first_entry(&peers->list,
							     struct sdp_dst,
							     node));
}

static struct sdp_dst *sdp_dst_cache_find(struct sdp_dst_cache *peers,
					  const struct sdp_dst_key *key)
{
	struct sdp_dst *peer;

	rcu_read_lock();	/* peers->lock keeps the entry after */
	peer = rhashtable_lookup(&peers->table, key, sdp_dst_cache_params);
	rcu_read_unlock();
	return peer;
}

/* NULL: no memory. */
static struct sdp_dst *sdp_dst_cache_add(struct sdp_dst_cache *peers,
					 const struct sdp_dst_key *key)
{
	struct sdp_dst *peer;

	lockdep_assert_held(&peers->lock);
	peer = kzalloc_obj(*peer, GFP_ATOMIC | __GFP_NOWARN | __GFP_ACCOUNT);
	if (!peer)
		return NULL;
	peer->key = *key;
	if (xa_alloc(&peers->all, &peer->place, peer, xa_limit_31b,
		     GFP_ATOMIC | __GFP_NOWARN)) {
		kfree(peer);
		return NULL;
	}
	if (rhashtable_insert_fast(&peers->table, &peer->hash,
				   sdp_dst_cache_params)) {
		xa_erase(&peers->all, peer->place);
		kfree_rcu(peer, rcu);
		return NULL;
	}
	list_add_tail(&peer->node, &peers->list);
	WRITE_ONCE(peers->count, peers->count + 1);
	return peer;
}

/* Write an entry.  Without memory there is none, and the next attempt finds out. */
static void sdp_dst_cache_write(struct sdp_net *sn, struct sdp_dst_cache *peers,
				const struct sdp_dst_key *key, u8 known, u8 reason,
				unsigned int ms)
{
	struct sdp_dst *peer = sdp_dst_cache_find(peers, key);
	unsigned int max = sdp_net_bounded(sn, cache_max);

	lockdep_assert_held(&peers->lock);
	/* Nothing is to be kept, nor what was kept before. */
	if (!max) {
		if (peer)
			sdp_dst_cache_remove(peers, peer);
		return;
	}
	if (!peer) {
		/* After cache_max was lowered the excess goes little by little. */
		if (peers->count >= max)
			sdp_dst_cache_remove_oldest(peers,
						    min(peers->count - max + 1,
							SDP_DST_CACHE_PIECE));
		peer = sdp_dst_cache_add(peers, key);
		if (!peer)
			return;
	}
	list_move_tail(&peer->node, &peers->list);
	WRITE_ONCE(peer->known, known);
	WRITE_ONCE(peer->reason, reason);
	WRITE_ONCE(peer->ms, ms);
	WRITE_ONCE(peer->since, jiffies);
	WRITE_ONCE(peer->listens, *sdp_dst_cache_listens(peers, key->port));
	WRITE_ONCE(peer->generation, atomic_read(&sdp_dst_cache_generation));
	if (trace_sdp_dst_learn_enabled())
		trace_sdp_dst_learn(0, &key->ip, ntohs(key->port),
				    sdp_dst_cache_words[known], sdp_reason_word(reason));
}

/**
 * sdp_dst_cache_probing() - claim the probe of a destination
 * @sn: namespace
 * @key: the destination, with its port
 *
 * Context: process.
 * Return: true if nobody else probes it; the caller reports the result by
 * sdp_dst_cache_learn().
 */
bool sdp_dst_cache_probing(struct sdp_net *sn, const struct sdp_dst_key *key)
{
	struct sdp_dst_cache *peers = sdp_dst_cache_of(sn);
	struct sdp_dst *peer;
	bool mine;

	spin_lock_bh(&peers->lock);
	peer = sdp_dst_cache_find(peers, key);
	mine = !peer || !sdp_dst_cache_fresh(sn, peer);
	if (mine)
		sdp_dst_cache_write(sn, peers, key, SDP_PEER_ASKED,
				    SDP_REASON_LEARNING, 0);
	spin_unlock_bh(&peers->lock);
	return mine;
}

/*
 * Whether a failure may be transient.  Silence may be an accident, and a lack
 * of room last a moment.  A host may not be found because one query for its
 * address was lost, or because there was no route for a moment.
 */
static bool sdp_dst_cache_passes(u8 reason)
{
	return reason == SDP_REASON_TIMEOUT || reason == SDP_REASON_BUSY ||
	       reason == SDP_REASON_NO_ROUTE;
}

/*
 * Milliseconds that a failure holds: a short time for the first one that may be
 * transient, a longer one for each that follows.
 */
static unsigned int sdp_dst_cache_how_long(const struct sdp_dst *peer, u8 reason,
					   unsigned int most)
{
	if (!sdp_dst_cache_passes(reason))
		return most;
	if (!peer || peer->reason != reason)
		return DIV_ROUND_UP(most, SDP_DST_CACHE_ONCE);
	return min_t(u64, most, (u64)SDP_DST_CACHE_AGAIN * peer->ms);
}

/*
 * Write that a destination lacks SDP; not if cache_timeout is 0, when nobody
 * asks.
 */
static void sdp_dst_cache_lacks(struct sdp_net *sn, struct sdp_dst_cache *peers,
				const struct sdp_dst_key *key, u8 reason)
{
	struct sdp_dst *peer = sdp_dst_cache_find(peers, key);
	unsigned int most = READ_ONCE(sn->cache_timeout);

	lockdep_assert_held(&peers->lock);
	/* An attempt that began before this was known saw the same failure: it
	 * counts as the same one, not as the next.
	 */
	if (peer && peer->reason == reason && sdp_dst_cache_passes(reason) &&
	    sdp_dst_cache_fresh(sn, peer))
		return;
	if (most)
		sdp_dst_cache_write(sn, peers, key, SDP_PEER_LACKS, reason,
				    sdp_dst_cache_how_long(peer, reason, most));
	else if (peer)
		sdp_dst_cache_remove(peers, peer);
}

/**
 * sdp_dst_cache_learn() - keep the result of an attempt
 * @sn: namespace
 * @key: the destination, with its port
 * @reason: enum sdp_reason; SDP_REASON_NONE: it takes SDP.  Reasons that say
 *	nothing about the destination are not kept
 *
 * Context: process or softirq, under any lock of a connection.
 */
void sdp_dst_cache_learn(struct sdp_net *sn, const struct sdp_dst_key *key,
			 u8 reason)
{
	struct sdp_dst_cache *peers = sdp_dst_cache_of(sn);
	struct sdp_dst_key host = *key;
	struct sdp_dst *peer;

	host.port = 0;
	spin_lock_bh(&peers->lock);
	switch (reason) {
	case SDP_REASON_NONE:
		/* The host may be known not to answer.  It does now. */
		peer = sdp_dst_cache_find(peers, &host);
		if (peer)
			sdp_dst_cache_remove(peers, peer);
		sdp_dst_cache_write(sn, peers, key, SDP_PEER_TAKES, reason, 0);
		break;
	case SDP_REASON_NO_DEVICE:
	case SDP_REASON_NO_ROUTE:
	case SDP_REASON_TIMEOUT:
		sdp_dst_cache_lacks(sn, peers, &host, reason);
		fallthrough;
	case SDP_REASON_REFUSED:
	case SDP_REASON_PROTOCOL:
	case SDP_REASON_BUSY:
		sdp_dst_cache_lacks(sn, peers, key, reason);
		break;
	default:
		/* Of a probe: it found nothing out. */
		peer = sdp_dst_cache_find(peers, key);
		if (peer && peer->known == SDP_PEER_ASKED)
			sdp_dst_cache_remove(peers, peer);
	}
	spin_unlock_bh(&peers->lock);
}

/**
 * sdp_dst_cache_forget() - invalidate all entries of all namespaces
 *
 * For changes of devices or routes.
 *
 * Context: any but hard interrupt.
 */
void sdp_dst_cache_forget(void)
{
	trace_sdp_dst_forget(0, 0);
	atomic_inc(&sdp_dst_cache_generation);
}

/**
 * sdp_dst_cache_listening() - a socket of this namespace listens by SDP
 * @sn: namespace
 * @port: its port
 *
 * Invalidates refusals of ports with this number, also those of other hosts:
 * which addresses are this host's is not looked at.
 *
 * Context: process or softirq.
 */
void sdp_dst_cache_listening(struct sdp_net *sn, __be16 port)
{
	struct sdp_dst_cache *peers = sdp_dst_cache_of(sn);
	unsigned int *listens = sdp_dst_cache_listens(peers, port);

	spin_lock_bh(&peers->lock);
	trace_sdp_dst_forget(0, ntohs(port));
	WRITE_ONCE(*listens, *listens + 1);
	spin_unlock_bh(&peers->lock);
}

/**
 * sdp_dst_cache_empty() - remove all entries of a namespace
 * @sn: namespace
 *
 * Context: process.
 */
void sdp_dst_cache_empty(struct sdp_net *sn)
{
	struct sdp_dst_cache *peers = sdp_dst_cache_of(sn);
	int left;

	/* What is written meanwhile stays. */
	for (left = READ_ONCE(peers->count); left > 0; left -= SDP_DST_CACHE_PIECE) {
		spin_lock_bh(&peers->lock);
		sdp_dst_cache_remove_oldest(peers, min(left, SDP_DST_CACHE_PIECE));
		spin_unlock_bh(&peers->lock);
		cond_resched();
	}
}

/* The first entry from this index on; *pos becomes its index. */
static void *sdp_dst_cache_from(struct seq_file *seq, loff_t *pos)
{
	struct sdp_dst_cache *peers = net_generic(seq_file_net(seq), sdp_dst_cache_id);
	unsigned long place = *pos;
	struct sdp_dst *peer;

	peer = xa_find(&peers->all, &place, ULONG_MAX, XA_PRESENT);
	if (peer)
		*pos = place;
	return peer;
}

static void *sdp_dst_cache_start(struct seq_file *seq, loff_t *pos)
	__acquires(RCU)
{
	rcu_read_lock();
	return *pos ? sdp_dst_cache_from(seq, pos) : SEQ_START_TOKEN;
}

static void *sdp_dst_cache_next(struct seq_file *seq, void *at, loff_t *pos)
{
	++*pos;
	return sdp_dst_cache_from(seq, pos);
}

static void sdp_dst_cache_stop(struct seq_file *seq, void *at)
	__releases(RCU)
{
	rcu_read_unlock();
}

static int sdp_dst_cache_show(struct seq_file *seq, void *at)
{
	struct sdp_net *sn = sdp_net(seq_file_net(seq));
	const struct sdp_dst *peer = at;
	bool fresh;

	if (at == SEQ_START_TOKEN) {
		seq_printf(seq, "%-39s %5s %4s %-7s %-10s %8s\n", "address",
			   "port", "if", "takes", "reason", "age_ms");
		return 0;
	}
	fresh = sdp_dst_cache_fresh(sn, peer);
	seq_printf(seq, "%-39pI6c %5u %4d %-7s %-10s %8u\n",
		   &peer->key.ip, ntohs(peer->key.port), peer->key.ifindex,
		   sdp_dst_cache_words[fresh ? READ_ONCE(peer->known) : SDP_PEER_UNKNOWN],
		   sdp_reason_word(READ_ONCE(peer->reason)),
		   jiffies_to_msecs(jiffies - READ_ONCE(peer->since)));
	return 0;
}

static const struct seq_operations sdp_dst_cache_seq = {
	.start	= sdp_dst_cache_start,
	.next	= sdp_dst_cache_next,
	.stop	= sdp_dst_cache_stop,
	.show	= sdp_dst_cache_show,
};

static int __net_init sdp_dst_cache_enter(struct net *net)
{
	struct sdp_dst_cache *peers = net_generic(net, sdp_dst_cache_id);
	int err;

	spin_lock_init(&peers->lock);
	INIT_LIST_HEAD(&peers->list);
	xa_init_flags(&peers->all, XA_FLAGS_ALLOC1 | XA_FLAGS_ACCOUNT);
	err = rhashtable_init(&peers->table, &sdp_dst_cache_params);
	if (err)
		return err;
	if (!proc_create_net("sdp_peers", 0400, net->proc_net, &sdp_dst_cache_seq,
			     sizeof(struct seq_net_private))) {
		rhashtable_destroy(&peers->table);
		return -ENOMEM;
	}
	return 0;
}

static void __net_exit sdp_dst_cache_leave(struct net *net)
{
	struct sdp_dst_cache *peers = net_generic(net, sdp_dst_cache_id);

	remove_proc_entry("sdp_peers", net->proc_net);
	sdp_dst_cache_empty(sdp_net(net));
	xa_destroy(&peers->all);
	rhashtable_destroy(&peers->table);
}

static struct pernet_operations sdp_dst_cache_ops = {
	.init	= sdp_dst_cache_enter,
	.exit	= sdp_dst_cache_leave,
	.id	= &sdp_dst_cache_id,
	.size	= sizeof(struct sdp_dst_cache),
};

/**
 * sdp_dst_cache_init() - register the per-namespace tables and /proc/net/sdp_peers
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_dst_cache_init(void)
{
	return register_pernet_subsys(&sdp_dst_cache_ops);
}

/**
 * sdp_dst_cache_exit() - undo sdp_dst_cache_init()
 *
 * Context: process.
 */
void sdp_dst_cache_exit(void)
{
	unregister_pernet_subsys(&sdp_dst_cache_ops);
}
