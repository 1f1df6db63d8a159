// SPDX-License-Identifier: GPL-2.0
/*
 * Which sockets fell back to TCP, and why.
 *
 * A socket that TCP has taken over has nothing of ours: there is no place in it
 * for the reason, and nothing of ours is called when it is closed.  So the
 * reason is kept here, under the socket's cookie, which is never used again.
 * Each namespace keeps its newest net.sdp.fallback_records records.  Their
 * serial numbers have no gaps, so every query is answered without a walk.
 */
#include <linux/slab.h>
#include <linux/timekeeping.h>
#include <linux/xarray.h>
#include <linux/sock_diag.h>
#include <net/inet_sock.h>
#include <net/ipv6.h>
#include <net/netns/generic.h>
#include <net/sock.h>
#include "sdp_fallback_log.h"
#include "sdp_net.h"

struct sdp_fallback_log {
	spinlock_t lock;		/* a leaf but for the locks of the xarrays */
	struct xarray all;		/* all records, by serial number */
	struct xarray newest;		/* the newest record of each socket, by cookie */
	unsigned int count;
	unsigned long serial;		/* serial number of the newest record */
};

#define SDP_FALLBACK_LOG_GFP	(GFP_ATOMIC | __GFP_NOWARN)

static unsigned int sdp_fallback_log_id __read_mostly;

static struct sdp_fallback_log *sdp_fallback_log_of(const struct net *net)
{
	return net_generic(net, sdp_fallback_log_id);
}

static u64 sdp_fallback_log_cookie(struct sock *sk)
{
	u32 cookie[2];

	sock_diag_save_cookie(sk, cookie);
	return (u64)cookie[1] << 32 | cookie[0];
}

static void sdp_fallback_log_fill(struct sdp_fallback_entry *record, struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);

	record->cookie = sdp_fallback_log_cookie(sk);
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

static unsigned long sdp_fallback_log_oldest(const struct sdp_fallback_log *records)
{
	return records->serial - records->count + 1;
}

/* Remove the oldest record, which exists; the caller owns it then. */
static struct sdp_fallback_entry *sdp_fallback_log_take_oldest(struct sdp_fallback_log *records)
{
	struct sdp_fallback_entry *record;

	lockdep_assert_held(&records->lock);
	record = xa_erase(&records->all, sdp_fallback_log_oldest(records));
	if (xa_load(&records->newest, record->cookie) == record)
		xa_erase(&records->newest, record->cookie);
	WRITE_ONCE(records->count, records->count - 1);
	return record;
}

/* Remove one record of those above a lowered maximum; NULL: there is none. */
static struct sdp_fallback_entry *sdp_fallback_log_take_excess(struct sdp_fallback_log *records,
							       unsigned int max)
{
	struct sdp_fallback_entry *record = NULL;

	if (READ_ONCE(records->count) <= max)
		return NULL;
	spin_lock_bh(&records->lock);
	if (records->count > max)
		record = sdp_fallback_log_take_oldest(records);
	spin_unlock_bh(&records->lock);
	return record;
}

/* On -ENOMEM the record is in neither xarray. */
static int sdp_fallback_log_store(struct sdp_fallback_log *records,
				  struct sdp_fallback_entry *record)
{
	int err;

	lockdep_assert_held(&records->lock);
	record->serial = records->serial + 1;
	err = xa_err(xa_store(&records->all, record->serial, record,
			      SDP_FALLBACK_LOG_GFP));
	if (err)
		return err;
	err = xa_err(xa_store(&records->newest, record->cookie, record,
			      SDP_FALLBACK_LOG_GFP));
	if (err) {
		xa_erase(&records->all, record->serial);
		return err;
	}
	records->serial++;
	WRITE_ONCE(records->count, records->count + 1);
	return 0;
}

/**
 * sdp_fallback_log_add() - record that a socket fell back
 * @sk: the socket, with its addresses
 * @reason: enum sdp_reason
 * @by_ulp: whether it was made by TCP_ULP
 *
 * The oldest record makes room; net.sdp.fallback_records says how many are
 * kept.  Without memory the oldest record is overwritten; if there is none,
 * nothing is recorded.
 *
 * Context: process; the socket lock held, or nobody else has the socket.
 */
void sdp_fallback_log_add(struct sock *sk, u8 reason, bool by_ulp)
{
	struct sdp_fallback_log *records = sdp_fallback_log_of(sock_net(sk));
	unsigned int max = READ_ONCE(sdp_net(sock_net(sk))->fallback_records);
	struct sdp_fallback_entry it = { .reason = reason, .by_ulp = by_ulp };
	struct sdp_fallback_entry *record;

	while ((record = sdp_fallback_log_take_excess(records, max)))
		kfree(record);
	if (max) {
		sdp_fallback_log_fill(&it, sk);
		if (READ_ONCE(records->count) < max)
			record = kmalloc(sizeof(*record), GFP_KERNEL_ACCOUNT);
	}
	spin_lock_bh(&records->lock);
	/* The oldest is overwritten. */
	if (records->count && (!record || records->count >= max)) {
		kfree(record);
		record = sdp_fallback_log_take_oldest(records);
	}
	if (max && record) {
		*record = it;
		if (!sdp_fallback_log_store(records, record))
			record = NULL;
	}
	spin_unlock_bh(&records->lock);
	kfree(record);
}

/**
 * sdp_fallback_log_find() - find the newest record of a socket
 * @sk: a TCP socket
 * @record: filled in with it
 *
 * Context: process or softirq.
 * Return: true if there is one.
 */
bool sdp_fallback_log_find(struct sock *sk, struct sdp_fallback_entry *record)
{
	struct sdp_fallback_log *records = sdp_fallback_log_of(sock_net(sk));
	u64 cookie = sdp_fallback_log_cookie(sk);
	const struct sdp_fallback_entry *it;
	bool found;

	spin_lock_bh(&records->lock);
	it = xa_load(&records->newest, cookie);
	/* An index of an xarray may be shorter than a cookie. */
	found = it && it->cookie == cookie;
	if (found)
		*record = *it;
	spin_unlock_bh(&records->lock);
	return found;
}

/**
 * sdp_fallback_log_next() - walk the records of a namespace
 * @sn: namespace
 * @serial: serial number after that of the last record; 0: begin with the
 *	oldest
 * @record: filled in with the record of that number, or with the oldest if that
 *	is gone
 *
 * Context: process or softirq.
 * Return: false if the last one was the newest.
 */
bool sdp_fallback_log_next(struct sdp_net *sn, unsigned long serial,
			   struct sdp_fallback_entry *record)
{
	struct sdp_fallback_log *records = sdp_fallback_log_of(sn->net);
	const struct sdp_fallback_entry *it = NULL;
	unsigned long oldest;

	spin_lock_bh(&records->lock);
	oldest = sdp_fallback_log_oldest(records);
	if (serial != records->serial + 1 && serial - oldest >= records->count)
		serial = oldest;
	if (serial - oldest < records->count)
		it = xa_load(&records->all, serial);
	if (it)
		*record = *it;
	spin_unlock_bh(&records->lock);
	return it;
}

static int __net_init sdp_fallback_log_enter(struct net *net)
{
	struct sdp_fallback_log *records = sdp_fallback_log_of(net);

	spin_lock_init(&records->lock);
	xa_init_flags(&records->all, XA_FLAGS_ACCOUNT);
	xa_init_flags(&records->newest, XA_FLAGS_ACCOUNT);
	return 0;
}

static void __net_exit sdp_fallback_log_leave(struct net *net)
{
	struct sdp_fallback_log *records = sdp_fallback_log_of(net);
	struct sdp_fallback_entry *record;
	unsigned long serial;

	xa_for_each(&records->all, serial, record)
		kfree(record);
	xa_destroy(&records->all);
	xa_destroy(&records->newest);
}

static struct pernet_operations sdp_fallback_log_ops = {
	.init	= sdp_fallback_log_enter,
	.exit	= sdp_fallback_log_leave,
	.id	= &sdp_fallback_log_id,
	.size	= sizeof(struct sdp_fallback_log),
};

/**
 * sdp_fallback_log_init() - register the records of each namespace
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_fallback_log_init(void)
{
	return register_pernet_subsys(&sdp_fallback_log_ops);
}

/**
 * sdp_fallback_log_exit() - undo sdp_fallback_log_init()
 *
 * Context: process.
 */
void sdp_fallback_log_exit(void)
{
	unregister_pernet_subsys(&sdp_fallback_log_ops);
}
