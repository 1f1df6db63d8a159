// SPDX-License-Identifier: GPL-2.0
/*
 * The slot.
 *
 * References.  Each socket that has our slot holds one reference to the
 * module: setsockopt(TCP_ULP) takes it through tcp_set_ulp(), the other doors
 * and accept() take it here; tcp_cleanup_ulp() puts it after our release(), or
 * sdp_ulp_detach() does.  The owner of our proto_ops stays TCP's, so nothing
 * has to be moved when they are swapped.
 *
 * Order.  Who looks the slot up reads the data first and then asks whether the
 * slot is ours, since after a fall back it may already be kTLS's.  Attaching
 * writes data, then ops; detaching the other way round, and puts sock->ops
 * back before the slot is free, because kTLS copies them.
 *
 * Unload.  Operations count themselves per processor.  sdp_ulp_exit() first
 * waits (synchronize_rcu_tasks) until whoever had loaded an ops pointer has
 * counted himself in or has left, then until the sum is zero, and once more
 * for the instructions between counting out and returning.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/transp_v6.h>
#include "sdp_ulp.h"

const struct proto_ops *sdp_tcp_ops[2];
struct proto_ops sdp_ulp_ops[2];
const struct sdp_xport *sdp_ulp_xport;
DEFINE_PER_CPU(long, sdp_ulp_inflight);

static const struct sdp_ulp_works *sdp_ulp_works;
static struct workqueue_struct *sdp_ulp_wq;
static struct tcp_ulp_ops sdp_ulp;

static void sdp_ulp_free(struct rcu_head *head)
{
	kfree(container_of(head, struct sdp_sk, rcu));
}

/**
 * sdp_ulp_put() - drop a reference
 * @ssk: from sdp_ulp_get(), or NULL
 *
 * Context: any.
 */
void sdp_ulp_put(struct sdp_sk *ssk)
{
	if (ssk && refcount_dec_and_test(&ssk->ref))
		call_rcu(&ssk->rcu, sdp_ulp_free);
}

/**
 * sdp_ulp_get() - ours of a socket
 * @sk: any TCP socket
 *
 * Context: any.
 * Return: a reference, or NULL if the socket is not (or no longer) ours.
 */
struct sdp_sk *sdp_ulp_get(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct sdp_sk *ssk;

	rcu_read_lock();
	ssk = rcu_dereference(*(struct sdp_sk __rcu **)&icsk->icsk_ulp_data);
	smp_rmb();	/* data before ops, with sdp_ulp_detach() */
	if (READ_ONCE(icsk->icsk_ulp_ops) != &sdp_ulp ||
	    (ssk && !refcount_inc_not_zero(&ssk->ref)))
		ssk = NULL;
	rcu_read_unlock();
	return ssk;
}

/* The references of a decision that is not needed, as another has its own. */
static void sdp_ulp_drop_decide(struct sdp_sk *ssk, struct sock *sk)
{
	sock_put(sk);
	sdp_ulp_put(ssk);
}

/*
 * release_sock() wakes who waits for the socket's lock: us, too.  It holds the lock's
 * spinlock meanwhile, which the worker takes next: so this has returned before
 * anything comes of it.
 */
static int sdp_ulp_released(wait_queue_entry_t *wait, unsigned int mode,
			    int flags, void *key)
{
	struct sdp_sk *ssk = container_of(wait, struct sdp_sk, owned);

	list_del_init(&wait->entry);
	if (!queue_work(sdp_ulp_wq, &ssk->decide))
		sdp_ulp_drop_decide(ssk, ssk->decide_sk);
	return 0;
}

static int sdp_ulp_fill_slot(struct sock *sk, struct socket *sock, bool by_ulp)
{
	struct sdp_sk *ssk;

	if (sk->sk_state != TCP_CLOSE || inet_csk(sk)->icsk_ulp_data)
		return -EISCONN;
	ssk = kzalloc_obj(*ssk, GFP_KERNEL_ACCOUNT);
	if (!ssk)
		return -ENOMEM;
	refcount_set(&ssk->ref, 1);
	ssk->by_ulp = by_ulp;
	ssk->fallback = -1;
	ssk->zcopy = -1;
	init_waitqueue_head(&ssk->wq);
	INIT_WORK(&ssk->decide, sdp_ulp_works->decide);
	INIT_DELAYED_WORK(&ssk->defer, sdp_ulp_works->defer);
	init_waitqueue_func_entry(&ssk->owned, sdp_ulp_released);
	INIT_LIST_HEAD(&ssk->owned.entry);
	spin_lock_init(&ssk->lock);
	mutex_init(&ssk->listening);
	INIT_LIST_HEAD(&ssk->setup);
	INIT_LIST_HEAD(&ssk->silent);
	INIT_LIST_HEAD(&ssk->asides);
	INIT_LIST_HEAD(&ssk->deferred);
	ssk->acceptq = RB_ROOT_CACHED;
	ssk->sk = sk;
	rcu_assign_pointer(*(struct sdp_sk __rcu **)&inet_csk(sk)->icsk_ulp_data,
			   ssk);
	WRITE_ONCE(sock->ops, &sdp_ulp_ops[sk->sk_family == AF_INET6]);
	/* tcp_init_sock() set it on the socket that the sock came from, and
	 * tcp_set_ulp() has cleared it.
	 */
	sdp_sock_support_zc(sock);
	return 0;
}

/**
 * sdp_ulp_attach() - make a socket ours, as doors 1, 2 and accept() do
 * @sk: in state CLOSE, locked or not yet visible
 * @sock: its socket
 *
 * Takes the module reference that the slot holds.
 *
 * Context: process.
 * Return: 0, -ENOMEM, -EISCONN if the slot or the socket is in use.
 */
int sdp_ulp_attach(struct sock *sk, struct socket *sock)
{
	int err = sdp_ulp_fill_slot(sk, sock, false);

	if (err)
		return err;
	__module_get(THIS_MODULE);
	smp_wmb();	/* data before ops, with sdp_ulp_get() */
	WRITE_ONCE(inet_csk(sk)->icsk_ulp_ops, &sdp_ulp);
	return 0;
}

/**
 * sdp_ulp_detach() - give the socket back to TCP
 * @sk: locked
 * @sock: its socket
 * @ssk: ours
 *
 * Context: process.
 */
void sdp_ulp_detach(struct sock *sk, struct socket *sock, struct sdp_sk *ssk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	sock_owned_by_me(sk);
	smp_wmb();	/* what TCP made of it before TCP's poll() */
	WRITE_ONCE(sock->ops, sdp_ulp_tcp(sk));	/* before the slot is free */
	WRITE_ONCE(icsk->icsk_ulp_ops, NULL);
	smp_wmb();	/* ops before data, with sdp_ulp_get() */
	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	sdp_sock_support_zc(sock);
	WRITE_ONCE(ssk->mode, SDP_SK_DETACHED);
	spin_lock_bh(&ssk->lock);
	ssk->sk = NULL;
	ssk->closed = true;
	spin_unlock_bh(&ssk->lock);
	sdp_ulp_put(ssk);
	/* The slot's; whoever calls this is counted, so we stay loaded. */
	module_put(THIS_MODULE);
}

/* setsockopt(TCP_ULP, "sdp"), under the socket lock. */
static int sdp_ulp_enter_slot(struct sock *sk)
{
	struct socket *sock = sk->sk_socket;
	int err = -EOPNOTSUPP;

	if (!sock)
		return err;
	if (sock->state == SS_UNCONNECTED && sock->ops == sdp_ulp_tcp(sk) &&
	    sk->sk_state == TCP_CLOSE)
		err = sdp_ulp_fill_slot(sk, sock, true);
	/* It stays TCP's, which has it: tcp_set_ulp() has cleared it. */
	if (err)
		sdp_sock_support_zc(sock);
	return err;
}

/* tcp_cleanup_ulp(): the sock is being destroyed. */
static void sdp_ulp_leave_slot(struct sock *sk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);
	struct sdp_sk *ssk = (struct sdp_sk __force *)icsk->icsk_ulp_data;

	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	spin_lock_bh(&ssk->lock);
	ssk->sk = NULL;
	ssk->closed = true;
	spin_unlock_bh(&ssk->lock);
	sdp_ulp_put(ssk);
}

/* A TCP child of our listener has nothing of ours. */
static void sdp_ulp_clone(const struct request_sock *req, struct sock *newsk,
			  const gfp_t priority)
{
	inet_csk(newsk)->icsk_ulp_ops = NULL;
	RCU_INIT_POINTER(inet_csk(newsk)->icsk_ulp_data, NULL);
}

static struct tcp_ulp_ops sdp_ulp __read_mostly = {
	.name		= "sdp",
	.owner		= THIS_MODULE,
	.init		= sdp_ulp_enter_slot,
	.release	= sdp_ulp_leave_slot,
	.clone		= sdp_ulp_clone,
};

/**
 * sdp_ulp_hand_on() - guard a call into TCP that may sleep for long
 *
 * rmmod is refused while it lasts, rather than hanging.
 *
 * Context: process.
 * Return: to be passed to sdp_ulp_hand_back().
 */
bool sdp_ulp_hand_on(void)
{
	return try_module_get(THIS_MODULE);
}

/**
 * sdp_ulp_hand_back() - the call has returned
 * @held: from sdp_ulp_hand_on()
 *
 * Context: process.
 */
void sdp_ulp_hand_back(bool held)
{
	if (held)
		module_put(THIS_MODULE);
}

/**
 * sdp_ulp_steal() - a fresh TCP sock without a socket
 * @net: namespace
 * @family: AF_INET or AF_INET6
 * @kern: 0 for a user's
 *
 * TCP's own creation with all its hooks (LSM, cgroups), in the caller.
 *
 * Context: process.
 * Return: the sock, or ERR_PTR().
 */
struct sock *sdp_ulp_steal(struct net *net, int family, int kern)
{
	struct socket *sock;
	struct sock *sk;
	int err;

	err = __sock_create(net, family, SOCK_STREAM, IPPROTO_TCP, &sock, kern);
	if (err)
		return ERR_PTR(err);
	sk = sock->sk;
	write_lock_bh(&sk->sk_callback_lock);
	sk_set_socket(sk, NULL);
	rcu_assign_pointer(sk->sk_wq, NULL);
	write_unlock_bh(&sk->sk_callback_lock);
	sock->sk = NULL;
	sock_release(sock);
	return sk;
}

/**
 * sdp_ulp_may_fall_back() - may TCP take over, or serve plain clients?
 * @sk: the socket
 * @ssk: ours
 *
 * Context: any.
 * Return: true if so.
 */
bool sdp_ulp_may_fall_back(const struct sock *sk, const struct sdp_sk *ssk)
{
	s8 set = READ_ONCE(ssk->fallback);

	if (set >= 0)
		return set;
	return ssk->by_ulp || READ_ONCE(sdp_net(sock_net(sk))->fallback);
}

/* Options of IP, IP_MINTTL, and their like of IPv6; a socket of that may speak IPv4. */
static bool sdp_ulp_has_ip_options(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	const struct ip_options_rcu *opt;
	bool any;

	rcu_read_lock();
	opt = rcu_dereference(inet->inet_opt);
	any = opt && opt->opt.optlen;	/* without any, once they were cleared */
	rcu_read_unlock();
	if (any || READ_ONCE(inet->min_ttl))
		return true;
#if IS_ENABLED(CONFIG_IPV6)
	if (sk->sk_family == AF_INET6)
		return rcu_access_pointer(inet6_sk(sk)->opt) ||
		       READ_ONCE(inet6_sk(sk)->min_hopcount);
#endif
	return false;
}

/**
 * sdp_ulp_needs_packets() - does it have an option about packets?
 * @sk: the socket
 *
 * SDP has nothing like TCP_MD5SIG or TCP-AO, no hop limit to look at, no options of
 * IP, no packet to show to a filter (SO_ATTACH_FILTER, SO_ATTACH_BPF), to keep on the
 * link (SO_DONTROUTE) or to have encrypted (IP_XFRM_POLICY), and none whose way out is
 * told of (SO_TIMESTAMPING), or that a network card stamps as it comes in.
 *
 * Context: any; of a socket that is not locked, under RCU.
 * Return: true if it has one that SDP cannot keep.
 */
bool sdp_ulp_needs_packets(const struct sock *sk)
{
	if (rcu_access_pointer(sk->sk_filter) || sdp_ulp_has_ip_options(sk) ||
	    sock_flag(sk, SOCK_LOCALROUTE) ||
	    READ_ONCE(sk->sk_tsflags) & (SOF_TIMESTAMPING_TX_RECORD_MASK |
					 SOF_TIMESTAMPING_RX_HARDWARE))
		return true;
#ifdef CONFIG_XFRM
	if (rcu_access_pointer(sk->sk_policy[XFRM_POLICY_OUT]) ||
	    rcu_access_pointer(sk->sk_policy[XFRM_POLICY_IN]))
		return true;
#endif
#ifdef CONFIG_TCP_AO
	if (rcu_access_pointer(tcp_sk(sk)->ao_info))
		return true;
#endif
#ifdef CONFIG_TCP_MD5SIG
	if (rcu_access_pointer(tcp_sk(sk)->md5sig_info))
		return true;
#endif
	return false;
}

/**
 * sdp_ulp_queue_decide() - the outcome of connect() is known
 * @ssk: ours; ssk->lock held, ssk->sk set
 *
 * Context: process or softirq.
 */
void sdp_ulp_queue_decide(struct sdp_sk *ssk)
{
	lockdep_assert_held(&ssk->lock);
	refcount_inc(&ssk->ref);
	sock_hold(ssk->sk);
	ssk->decide_sk = ssk->sk;
	if (!queue_work(sdp_ulp_wq, &ssk->decide))
		sdp_ulp_drop_decide(ssk, ssk->sk);
}

/**
 * sdp_ulp_queue_defer() - look at the children that wait, later
 * @ssk: ours, of a listener with children; ssk->lock held
 * @delay: jiffies; nothing changes if it is to be looked at already
 *
 * The work has a reference to @ssk.
 *
 * Context: process or softirq.
 */
void sdp_ulp_queue_defer(struct sdp_sk *ssk, unsigned long delay)
{
	lockdep_assert_held(&ssk->lock);
	refcount_inc(&ssk->ref);
	if (!queue_delayed_work(sdp_ulp_wq, &ssk->defer, delay))
		refcount_dec(&ssk->ref);	/* not the last: a child has one */
}

/**
 * sdp_ulp_lock_or_later() - the socket's lock, for the worker that decides
 * @ssk: ours; called by its worker
 *
 * Who has the lock may sleep with it for as long as his memory lets him, and the
 * workers are everybody's: so they do not wait.  When he gives it back the worker
 * is queued anew.
 *
 * Context: process.
 * Return: true if ssk->decide_sk is locked now, as by lock_sock(); else the
 * worker's references are not its own any more.
 */
bool sdp_ulp_lock_or_later(struct sdp_sk *ssk)
{
	struct sock *sk = ssk->decide_sk;
	bool free;

	spin_lock_bh(&sk->sk_lock.slock);
	free = !sk->sk_lock.owned;
	if (free)
		sk->sk_lock.owned = 1;
	else if (READ_ONCE(ssk->mode) == SDP_SK_DETACHED ||
		 !list_empty(&ssk->owned.entry))
		/* TCP's by now, whose calls are not ours to wait for; or it waits
		 * for an event before this one.
		 */
		sdp_ulp_drop_decide(ssk, sk);
	else
		add_wait_queue(&sk->sk_lock.wq, &ssk->owned);
	spin_unlock_bh(&sk->sk_lock.slock);
	if (free)
		mutex_acquire(&sk->sk_lock.dep_map, 0, 1, _RET_IP_);
	return free;
}

static int __init sdp_ulp_take_ops(int i, int family,
				   void (*fill)(struct proto_ops *ops))
{
	struct socket *sock;
	int err;

	err = sock_create_kern(&init_net, family, SOCK_STREAM, IPPROTO_TCP,
			       &sock);
	if (err)
		return err;
	sdp_tcp_ops[i] = sock->ops;
	sdp_ulp_ops[i] = *sock->ops;
	sock_release(sock);
	fill(&sdp_ulp_ops[i]);
	return 0;
}

/**
 * sdp_ulp_init() - take TCP's operations, derive ours
 * @fill: puts our operations into a copy of TCP's
 * @works: what the workers of a socket do
 * @xp: the transport of every connection
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_ulp_init(void (*fill)(struct proto_ops *ops),
			const struct sdp_ulp_works *works,
			const struct sdp_xport *xp)
{
	int err;

	sdp_ulp_works = works;
	sdp_ulp_xport = xp;
	err = sdp_ulp_take_ops(0, AF_INET, fill);
	/* With ipv6.disable=1 there are no such sockets, ours included. */
	if (!err && ipv6_mod_enabled())
		err = sdp_ulp_take_ops(1, AF_INET6, fill);
	if (err)
		return err;
	sdp_ulp_wq = alloc_workqueue("sdp_decide", WQ_UNBOUND, 0);
	return sdp_ulp_wq ? 0 : -ENOMEM;
}

/**
 * sdp_ulp_open() - open the third door, the name for TCP_ULP
 *
 * Who comes in by it holds the module, which is gone all the same if a later step
 * of loading it fails: so there must be none.
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_ulp_open(void)
{
	return tcp_register_ulp(&sdp_ulp);
}

/**
 * sdp_ulp_close() - close it
 *
 * Context: process.
 */
void sdp_ulp_close(void)
{
	tcp_unregister_ulp(&sdp_ulp);
}

static long sdp_ulp_calls(void)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu(sdp_ulp_inflight, cpu));
	return sum;
}

/**
 * sdp_ulp_exit() - wait until no operation of ours runs any more
 *
 * The doors are closed and no socket has our slot.
 *
 * Context: process; sleeps.
 */
void sdp_ulp_exit(void)
{
	synchronize_rcu_tasks();
	while (sdp_ulp_calls())
		msleep(20);
	destroy_workqueue(sdp_ulp_wq);
	synchronize_rcu_tasks();
	rcu_barrier();		/* sdp_ulp_free() */
}
