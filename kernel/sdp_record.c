// SPDX-License-Identifier: GPL-2.0
/*
 * Who fell back, and why.
 *
 * A socket that TCP has taken over has nothing of ours: there is no place in
 * it for the reason, and nobody tells us when it is closed.  So the reason is
 * kept here, under the socket's cookie, which is never used again: the newest
 * net.sdp.fallback_records of each namespace, in a list, the oldest first.
 * Adding one is cheap, since every connection that falls back pays it; finding
 * one walks the list, the newest first, and is for tools and curious programs.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/sock_diag.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include "sdp_net.h"
#include "sdp_record.h"

struct sdp_records {
	spinlock_t lock;		/* a leaf */
	struct list_head list;		/* the oldest first */
	unsigned int count;
	u64 serial;			/* of the newest */
};

static unsigned int sdp_record_id __read_mostly;

static struct sdp_records *sdp_record_of(const struct net *net)
{
	return net_generic(net, sdp_record_id);
}

static u64 sdp_record_cookie(struct sock *sk)
{
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	return (u64)cookie[1] << 32 | cookie[0];
}

static void sdp_record_fill(struct sdp_record *record, struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	record->cookie = sdp_record_cookie(sk);
	record->inode = sock_i_ino(sk);
	record->family = sk->sk_family;
	record->uid = sk_uid(sk);
	record->since = ktime_get_seconds();
	record->sport = inet->inet_sport;
	record->dport = inet->inet_dport;
	if (sk->sk_family == AF_INET6) {
		record->saddr = sk->sk_v6_rcv_saddr;
		record->daddr = sk->sk_v6_daddr;
	} else {
		ipv6_addr_set_v4mapped(inet->inet_saddr, &record->saddr);
		ipv6_addr_set_v4mapped(inet->inet_daddr, &record->daddr);
	}
}

void sdp_record_add(struct sock *sk, u8 reason, bool by_ulp)
{
	struct sdp_records *records = sdp_record_of(sock_net(sk));
	unsigned int max = READ_ONCE(sdp_net(sock_net(sk))->fallback_records);
	struct sdp_record *record = NULL;
	struct sdp_record it = { .reason = reason, .by_ulp = by_ulp };

	if (max) {
		sdp_record_fill(&it, sk);
		if (READ_ONCE(records->count) < max)
			record = kmalloc(sizeof(*record), GFP_KERNEL_ACCOUNT);
	}
	spin_lock_bh(&records->lock);
	/* The oldest are overwritten; what a smaller maximum leaves over goes. */
	while (records->count && (!record || records->count >= max)) {
		kfree(record);
		record = list_first_entry(&records->list, struct sdp_record,
					  node);
		list_del(&record->node);
		WRITE_ONCE(records->count, records->count - 1);
	}
	if (max && record) {
		it.serial = ++records->serial;
		*record = it;
		list_add_tail(&record->node, &records->list);
		WRITE_ONCE(records->count, records->count + 1);
		record = NULL;
	}
	spin_unlock_bh(&records->lock);
	kfree(record);
}

bool sdp_record_find(struct sock *sk, struct sdp_record *record)
{
	struct sdp_records *records = sdp_record_of(sock_net(sk));
	u64 cookie = sdp_record_cookie(sk);
	struct sdp_record *it;
	bool found = false;

	spin_lock_bh(&records->lock);
	list_for_each_entry_reverse(it, &records->list, node) {
		found = it->cookie == cookie;
		if (found) {
			*record = *it;
			break;
		}
	}
	spin_unlock_bh(&records->lock);
	return found;
}

bool sdp_record_next(struct sdp_net *sn, u64 serial, struct sdp_record *record)
{
	struct sdp_records *records = sdp_record_of(sn->net);
	struct sdp_record *it;
	bool found = false;

	spin_lock_bh(&records->lock);
	list_for_each_entry(it, &records->list, node) {
		found = it->serial > serial;
		if (found) {
			*record = *it;
			break;
		}
	}
	spin_unlock_bh(&records->lock);
	return found;
}

static int __net_init sdp_record_enter(struct net *net)
{
	struct sdp_records *records = sdp_record_of(net);

	spin_lock_init(&records->lock);
	INIT_LIST_HEAD(&records->list);
	return 0;
}

static void __net_exit sdp_record_leave(struct net *net)
{
	struct sdp_record *record, *next;

	list_for_each_entry_safe(record, next, &sdp_record_of(net)->list, node)
		kfree(record);
}

static struct pernet_operations sdp_record_ops = {
	.init	= sdp_record_enter,
	.exit	= sdp_record_leave,
	.id	= &sdp_record_id,
	.size	= sizeof(struct sdp_records),
};

int __init sdp_record_init(void)
{
	return register_pernet_subsys(&sdp_record_ops);
}

void sdp_record_exit(void)
{
	unregister_pernet_subsys(&sdp_record_ops);
}
