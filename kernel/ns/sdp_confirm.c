// SPDX-License-Identifier: GPL-2.0
/*
 * A refusal of SDP is remembered only where TCP was not refused as well.
 *
 * A port that refuses both has no server yet, and may have one for SDP a second
 * later.  A client that starts before its server, or while the server is
 * restarted, would otherwise keep everybody's connections to that port on TCP
 * for net.sdp.cache_timeout.  So the refusal is remembered once the TCP
 * connection in its place has been established.
 *
 * The socket is TCP's by then, and has nothing of ours that could report that.
 * A worker looks at the socket a few times, at growing intervals: whether TCP's
 * SYN was acknowledged can be told of an established connection, and of one
 * that is over already.  The reference that the worker holds keeps the sock's
 * memory and its network namespace.
 */
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/workqueue.h>
#include <net/ipv6.h>
#include <net/sock.h>
#include <linux/sdp.h>
#include "sdp_confirm.h"
#include "sdp_dst_cache.h"
#include "sdp_net.h"
#include "sdp_trace.h"

struct sdp_confirm {
	struct delayed_work work;
	struct list_head node;		/* sdp_confirms */
	struct sock *sk;		/* a reference */
	struct sdp_dst_key key;
	unsigned int delay_ms;		/* milliseconds before the last look */
};

/*
 * Delays before the first and the last look: 50, 100, 200 ... 6,400 ms, 13 s in
 * all.
 */
enum { SDP_CONFIRM_FIRST_MS = 50, SDP_CONFIRM_LAST_MS = 6400 };

static struct workqueue_struct *sdp_confirm_wq;
static LIST_HEAD(sdp_confirms);
static DEFINE_SPINLOCK(sdp_confirm_lock);	/* a leaf */
static bool sdp_confirm_ends;			/* under sdp_confirm_lock: no more looks */

/*
 * Whether it still connects there: the program may connect it elsewhere
 * meanwhile.
 */
static bool sdp_confirm_is_same(const struct sock *sk,
				const struct sdp_dst_key *key)
{
	struct in6_addr ip;

	if (READ_ONCE(inet_sk(sk)->inet_dport) != key->port)
		return false;
	if (ipv6_addr_v4mapped(&key->ip)) {
		ipv6_addr_set_v4mapped(READ_ONCE(inet_sk(sk)->inet_daddr), &ip);
		return ipv6_addr_equal(&ip, &key->ip);
	}
#if IS_ENABLED(CONFIG_IPV6)
	return ipv6_addr_equal(&sk->sk_v6_daddr, &key->ip);
#else
	return false;
#endif
}

static void sdp_confirm_free(struct sdp_confirm *confirm)
{
	spin_lock_bh(&sdp_confirm_lock);
	list_del(&confirm->node);
	spin_unlock_bh(&sdp_confirm_lock);
	sock_put(confirm->sk);
	kfree(confirm);
}

/* Schedule the next look.  False: there is none. */
static bool sdp_confirm_again(struct sdp_confirm *confirm)
{
	bool again = false;

	if (confirm->delay_ms >= SDP_CONFIRM_LAST_MS)
		return false;
	confirm->delay_ms *= 2;
	spin_lock_bh(&sdp_confirm_lock);
	if (!sdp_confirm_ends)
		again = queue_delayed_work(sdp_confirm_wq, &confirm->work,
					   msecs_to_jiffies(confirm->delay_ms));
	spin_unlock_bh(&sdp_confirm_lock);
	return again;
}

/* Nothing was found out.  If a probe was under way another one may ask again. */
static void sdp_confirm_never(struct sock *sk, const struct sdp_dst_key *key)
{
	sdp_dst_cache_learn(sdp_net(sock_net(sk)), key, SDP_REASON_LEARNING);
}

static void sdp_confirm_look(struct work_struct *work)
{
	struct sdp_confirm *confirm = container_of(to_delayed_work(work),
						   struct sdp_confirm, work);
	struct sock *sk = confirm->sk;
	bool same = sdp_confirm_is_same(sk, &confirm->key);
	/* The SYN counts as the first byte. */
	bool acked = same && READ_ONCE(tcp_sk(sk)->bytes_acked);

	if (same && !acked && READ_ONCE(sk->sk_state) == TCP_SYN_SENT &&
	    sdp_confirm_again(confirm))
		return;
	trace_sdp_dst_confirm(0, &confirm->key.ip, ntohs(confirm->key.port),
			      acked ? "tcp" : "unknown",
			      sdp_reason_word(SDP_REASON_REFUSED));
	if (acked)
		sdp_confirm_now(sk, &confirm->key);
	else
		sdp_confirm_never(sk, &confirm->key);
	sdp_confirm_free(confirm);
}

/**
 * sdp_confirm_later() - remember a refusal once TCP's connection is established
 * @sk: a socket that TCP connects
 * @key: its destination, which refused SDP
 * @gfp: how to allocate
 *
 * sdp_dst_cache_learn() is told of the refusal once TCP's connection is there,
 * and otherwise that nothing was found out.  That is also so without memory,
 * and for a kernel's own socket.
 *
 * Context: process or softirq; the caller holds a reference of the socket.
 */
void sdp_confirm_later(struct sock *sk, const struct sdp_dst_key *key,
		       gfp_t gfp)
{
	struct sdp_confirm *confirm = NULL;

	/* A kernel's own socket may outlive its namespace, if somebody holds it. */
	if (sk->sk_net_refcnt)
		confirm = kzalloc_obj(*confirm, gfp | __GFP_NOWARN);
	if (!confirm) {
		sdp_confirm_never(sk, key);
		return;
	}
	INIT_DELAYED_WORK(&confirm->work, sdp_confirm_look);
	confirm->key = *key;
	confirm->delay_ms = SDP_CONFIRM_FIRST_MS;
	confirm->sk = sk;
	sock_hold(sk);
	spin_lock_bh(&sdp_confirm_lock);
	list_add_tail(&confirm->node, &sdp_confirms);
	queue_delayed_work(sdp_confirm_wq, &confirm->work,
			   msecs_to_jiffies(confirm->delay_ms));
	spin_unlock_bh(&sdp_confirm_lock);
}

/**
 * sdp_confirm_now() - remember a refusal: TCP was not refused
 * @sk: a socket that TCP connected
 * @key: its destination, which refused SDP
 *
 * Context: process or softirq.
 */
void sdp_confirm_now(struct sock *sk, const struct sdp_dst_key *key)
{
	sdp_dst_cache_learn(sdp_net(sock_net(sk)), key, SDP_REASON_REFUSED);
}

/**
 * sdp_confirm_init() - make the workqueue
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int __init sdp_confirm_init(void)
{
	sdp_confirm_wq = alloc_workqueue("sdp_confirm", WQ_UNBOUND, 0);
	return sdp_confirm_wq ? 0 : -ENOMEM;
}

/**
 * sdp_confirm_exit() - end all looks, and what is not known yet
 *
 * Context: process; nobody calls sdp_confirm_later() any more.
 */
void sdp_confirm_exit(void)
{
	struct sdp_confirm *confirm, *next;
	LIST_HEAD(cancelled);

	spin_lock_bh(&sdp_confirm_lock);
	sdp_confirm_ends = true;
	list_for_each_entry_safe(confirm, next, &sdp_confirms, node)
		if (cancel_delayed_work(&confirm->work))
			list_move(&confirm->node, &cancelled);
	spin_unlock_bh(&sdp_confirm_lock);
	list_for_each_entry_safe(confirm, next, &cancelled, node)
		sdp_confirm_free(confirm);
	/* Workers that run at this moment free their entries themselves. */
	destroy_workqueue(sdp_confirm_wq);
}
