// SPDX-License-Identifier: GPL-2.0
/*
 * The ULP slot: how a TCP socket becomes an SDP socket, and TCP's again.
 *
 * References.  Each socket whose slot is ours holds one reference to the
 * module.  setsockopt(TCP_ULP) takes it through tcp_set_ulp(); the other ways
 * to make a socket and accept() take it here.  tcp_cleanup_ulp() puts it after
 * our release(), or sdp_ulp_detach() does.  The owner of our proto_ops stays
 * TCP's, so no reference has to be moved when the ops are swapped.
 *
 * Order.  A lookup reads the data first and then checks that the slot is ours,
 * since after a fallback the slot may already be kTLS's.  Attaching writes the
 * data, then the ops.  Detaching clears them the other way round.  It restores
 * sock->ops before the slot is free, because kTLS copies them.
 *
 * Unload.  Operations count themselves per processor.  sdp_ulp_exit() first
 * waits (synchronize_rcu_tasks()) until each task that had loaded an ops
 * pointer has counted itself in or has left.  It then waits until the sum of
 * the counts is zero, and once more for the instructions between counting out
 * and returning.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <net/transp_v6.h>
#include "sdp_ulp.h"

const struct proto_ops *sdp_tcp_ops[2];
struct proto_ops sdp_ulp_ops[2];
DEFINE_PER_CPU(long, sdp_ulp_inflight);

static const struct sdp_ulp_calls *sdp_ulp_up;
static const struct sdp_stream_ops *sdp_ulp_stream;
static struct workqueue_struct *sdp_ulp_wq;
static struct tcp_ulp_ops sdp_ulp;

static void sdp_ulp_free(struct rcu_head *head)
{
	struct sdp_sk *ssk = container_of(head, struct sdp_sk, rcu);

	sdp_ulp_up->free(ssk);
	kfree(ssk);
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
 * sdp_ulp_get() - look up the SDP state of a socket
 * @sk: any TCP socket
 *
 * Context: any.
 * Return: a reference, or NULL if the slot is not, or no longer, ours.
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

/**
 * sdp_ulp_state() - what SDP_INFO says of the state of a socket that TCP connects
 * @sk: the socket
 *
 * Context: any.
 * Return: enum sdp_state, or SDP_DIAG_LISTEN.
 */
u8 sdp_ulp_state(const struct sock *sk)
{
	static const u8 states[TCP_MAX_STATES] = {
		[TCP_ESTABLISHED]	= SDP_ESTABLISHED,
		[TCP_SYN_SENT]		= SDP_SYN_SENT,
		[TCP_SYN_RECV]		= SDP_SYN_RECV,
		[TCP_FIN_WAIT1]		= SDP_FIN_WAIT_1,
		[TCP_FIN_WAIT2]		= SDP_FIN_WAIT_2,
		[TCP_TIME_WAIT]		= SDP_CLOSED,	/* no socket is in this state */
		[TCP_CLOSE]		= SDP_CLOSED,
		[TCP_CLOSE_WAIT]	= SDP_CLOSE_WAIT,
		[TCP_LAST_ACK]		= SDP_LAST_ACK,
		[TCP_LISTEN]		= SDP_DIAG_LISTEN,
		[TCP_CLOSING]		= SDP_CLOSING,
	};

	return states[READ_ONCE(sk->sk_state)];
}

/* Drop the references of a decision that is not needed. */
static void sdp_ulp_drop_decide(struct sdp_sk *ssk, struct sock *sk)
{
	sock_put(sk);
	sdp_ulp_put(ssk);
}

/*
 * release_sock() wakes the waiters for the socket lock, this entry among them.
 * It holds sk_lock.slock meanwhile, and the work takes that lock first: so this
 * function has returned before the work does anything.
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

static struct sdp_sk *sdp_ulp_alloc(struct sock *sk, bool by_ulp)
{
	struct sdp_sk *ssk = kzalloc_obj(*ssk, GFP_KERNEL_ACCOUNT);

	if (!ssk)
		return NULL;
	refcount_set(&ssk->ref, 1);
	ssk->by_ulp = by_ulp;
	ssk->fallback = -1;
	ssk->zcopy = -1;
	ssk->stream = sdp_ulp_stream;
	init_waitqueue_head(&ssk->wq);
	INIT_WORK(&ssk->decide, sdp_ulp_up->decide);
	INIT_DELAYED_WORK(&ssk->defer, sdp_ulp_up->defer);
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
	return ssk;
}

static int sdp_ulp_fill_slot(struct sock *sk, struct socket *sock, bool by_ulp)
{
	struct sdp_sk *ssk;

	if (inet_csk(sk)->icsk_ulp_data)
		return -EISCONN;
	ssk = sdp_ulp_alloc(sk, by_ulp);
	if (!ssk)
		return -ENOMEM;
	rcu_assign_pointer(*(struct sdp_sk __rcu **)&inet_csk(sk)->icsk_ulp_data,
			   ssk);
	WRITE_ONCE(sock->ops, &sdp_ulp_ops[sk->sk_family == AF_INET6]);
	/* Set SOCK_SUPPORT_ZC again.  tcp_init_sock() set it on another socket
	 * if the sock was taken from one, and tcp_set_ulp() clears it.
	 */
	sdp_sock_support_zc(sock);
	return 0;
}

/**
 * sdp_ulp_attach() - make a TCP socket an SDP socket
 * @sk: in state CLOSE, or a child of accept(); locked or not yet visible
 * @sock: its socket
 *
 * For all ways but TCP_ULP: family number, protocol number, and accept().
 * Takes the module reference that the slot holds.
 *
 * Context: process.
 * Return: 0, -ENOMEM, -EISCONN if the slot is in use.
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

/* The sock is not known by this slot any more. */
static void sdp_ulp_forget_sock(struct sdp_sk *ssk)
{
	spin_lock_bh(&ssk->lock);
	ssk->sk = NULL;
	ssk->closed = true;
	spin_unlock_bh(&ssk->lock);
}

/**
 * sdp_ulp_detach() - give the socket back to TCP
 * @sk: locked
 * @sock: its socket
 * @ssk: its SDP state; the slot's reference is dropped
 *
 * Context: process.
 */
void sdp_ulp_detach(struct sock *sk, struct socket *sock, struct sdp_sk *ssk)
{
	struct inet_connection_sock *icsk = inet_csk(sk);

	sock_owned_by_me(sk);
	smp_wmb();	/* TCP's state before TCP's poll() can read it */
	WRITE_ONCE(sock->ops, sdp_ulp_tcp(sk));	/* before the slot is free */
	WRITE_ONCE(icsk->icsk_ulp_ops, NULL);
	smp_wmb();	/* ops before data, with sdp_ulp_get() */
	RCU_INIT_POINTER(icsk->icsk_ulp_data, NULL);
	sdp_sock_support_zc(sock);
	WRITE_ONCE(ssk->mode, SDP_SK_DETACHED);
	sdp_ulp_forget_sock(ssk);
	sdp_ulp_put(ssk);
	/* Drop the slot's reference.  The module stays loaded: sdp_ulp_exit()
	 * waits for callers, which are counted in, and for the work.
	 */
	module_put(THIS_MODULE);
}

/**
 * sdp_ulp_renew() - begin anew, with what the user has set
 * @sk: locked
 * @ssk: its SDP state, which its callers keep for as long as they need it
 *
 * Context: process.
 * Return: true; false without memory: nothing has changed.
 */
bool sdp_ulp_renew(struct sock *sk, struct sdp_sk *ssk)
{
	struct sdp_sk *fresh = sdp_ulp_alloc(sk, ssk->by_ulp);

	sock_owned_by_me(sk);
	if (!fresh)
		return false;
	fresh->fallback = ssk->fallback;
	fresh->zcopy = ssk->zcopy;
	fresh->historic = ssk->historic;
	rcu_assign_pointer(*(struct sdp_sk __rcu **)&inet_csk(sk)->icsk_ulp_data,
			   fresh);
	sdp_ulp_forget_sock(ssk);
	sdp_ulp_put(ssk);
	return true;
}

/**
 * sdp_ulp_idle() - the socket is not connected any more, nor about to be
 * @ssk: the SDP state of a locked socket that may have been joined
 *
 * Context: process.
 */
void sdp_ulp_idle(struct sdp_sk *ssk)
{
	WRITE_ONCE(ssk->mode, SDP_SK_IDLE);
	ssk->stream = sdp_ulp_stream;
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
	/* The socket stays TCP's, which supports zero copy: set the flag again
	 * that tcp_set_ulp() has cleared.
	 */
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
	sdp_ulp_forget_sock(ssk);
	sdp_ulp_put(ssk);
}

/* A TCP child of our listener gets an empty slot. */
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
 * The call holds a module reference.  So rmmod is refused while it lasts,
 * instead of hanging.
 *
 * Context: process.
 * Return: true if a reference was taken; to be passed to sdp_ulp_hand_back().
 */
bool sdp_ulp_hand_on(void)
{
	return try_module_get(THIS_MODULE);
}

/**
 * sdp_ulp_hand_back() - end the guard when the call has returned
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
 * sdp_ulp_steal() - make a TCP sock without a socket
 * @net: namespace
 * @family: AF_INET or AF_INET6
 * @kern: 0: the sock is a user's
 *
 * TCP's own creation makes the sock and runs all its hooks (LSM, cgroups) in
 * the caller's context.
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
 * sdp_ulp_may_fall_back() - whether TCP may take over, or serve plain clients
 * @sk: the socket
 * @ssk: its SDP state
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

/*
 * IP options and IP_MINTTL, and their IPv6 counterparts.  An IPv6 socket may
 * have both, since it may speak IPv4.
 */
static bool sdp_ulp_has_ip_options(const struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	const struct ip_options_rcu *opt;
	bool any;

	rcu_read_lock();
	opt = rcu_dereference(inet->inet_opt);
	any = opt && opt->opt.optlen;	/* 0 once they were cleared */
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
 * sdp_ulp_needs_packets() - whether an option of the socket needs packets
 * @sk: the socket
 *
 * SDP cannot keep these options:
 *   - TCP_MD5SIG and TCP-AO
 *   - IP options and a minimum hop limit: there is no IP header
 *   - SO_ATTACH_FILTER and SO_ATTACH_BPF: there is no packet to filter
 *   - SO_DONTROUTE: there is no packet to keep on the link
 *   - IP_XFRM_POLICY: there is no packet to encrypt
 *   - SO_TIMESTAMPING of packets sent, or by the network card as they come in
 *
 * Context: any; under RCU if the socket is not locked.
 * Return: true if it has one of them.
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
 * sdp_ulp_queue_decide() - have the outcome of connect() decided
 * @ssk: the socket's SDP state; ssk->lock held, ssk->sk set
 *
 * The work holds a reference to @ssk and one to the sock.
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
 * sdp_ulp_queue_defer() - have the deferred children looked at later
 * @ssk: of a listener with children; ssk->lock held
 * @delay: jiffies; nothing changes if the work is pending
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
 * sdp_ulp_lock_or_later() - lock the socket for the deciding work, or requeue it
 * @ssk: the SDP state whose work calls this
 *
 * The owner of the socket lock may sleep while it waits for memory, without
 * bound, and all sockets share the workers: so a worker does not wait for the
 * lock.  The work is queued again when the owner releases the lock.
 *
 * Context: process.
 * Return: true if ssk->decide_sk is locked now, as by lock_sock().  Otherwise
 * the work's references are no longer the caller's.
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
		/* The socket is TCP's by now, and TCP's calls are not ours to
		 * wait for.  Or the entry waits already, for an earlier event.
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
 * sdp_ulp_init() - take TCP's operations and derive ours
 * @fill: puts our operations into a copy of TCP's
 * @calls: what the slot of a socket calls
 * @stream: what carries the stream of a connected socket
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_ulp_init(void (*fill)(struct proto_ops *ops),
			const struct sdp_ulp_calls *calls,
			const struct sdp_stream_ops *stream)
{
	int err;

	sdp_ulp_up = calls;
	sdp_ulp_stream = stream;
	err = sdp_ulp_take_ops(0, AF_INET, fill);
	/* With ipv6.disable=1 nobody can make an IPv6 socket. */
	if (!err && ipv6_mod_enabled())
		err = sdp_ulp_take_ops(1, AF_INET6, fill);
	if (err)
		return err;
	sdp_ulp_wq = alloc_workqueue("sdp_decide", WQ_UNBOUND, 0);
	return sdp_ulp_wq ? 0 : -ENOMEM;
}

/**
 * sdp_ulp_open() - register the name for TCP_ULP
 *
 * From here on a socket can hold the module.  The module is freed all the same
 * if a later step of loading it fails: so this has to be the last step.
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int __init sdp_ulp_open(void)
{
	return tcp_register_ulp(&sdp_ulp);
}

/**
 * sdp_ulp_close() - unregister the name for TCP_ULP
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
 * sdp_ulp_exit() - wait until none of our operations runs any more
 *
 * No way to make a socket is left, and no socket's slot is ours.
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
