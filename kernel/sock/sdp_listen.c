// SPDX-License-Identifier: GPL-2.0
/*
 * Listening and accepting.
 *
 * listen() is TCP's own: "in state LISTEN and the slot is ours" is the whole
 * mark.  A request that arrives by SDP finds its listener by TCP's look-up, so
 * wildcards, SO_REUSEPORT groups, V6ONLY and SO_BINDTODEVICE work without a
 * line here.
 *
 * A child is a connection without a socket.  It takes a place in the backlog
 * when it is admitted (list setup), moves to silent when it is answered, and to
 * acceptq when it is established.  accept() makes its struct sock, in the
 * caller's context, so memory cgroup and namespace are right.  Until then a
 * child may hold as much memory as the listener's SO_RCVBUF says (sdp_ring.c).
 * Taking a child off a list, under ssk->lock, hands over two references: the
 * listener's on the child, and the child's on the listener.
 *
 * A client that is gone says so by one message that nobody repeats.  So when
 * the backlog is full, a child that was answered and has been silent for one to
 * four seconds loses its place to the next request: a lost message keeps other
 * clients out for no longer.  The child is not ended then, but set aside (list
 * asides).  On a host that is short of time the client's answer may have
 * arrived already, and wait in a queue of the CM behind the requests of others.
 * When the answer is seen the child gets in, whether the backlog is full or
 * not, as a client with a SYN cookie does with TCP.  As many children may be
 * set aside as there are places; then the oldest of them ends.
 *
 * With TCP_DEFER_ACCEPT an established child waits on another list (deferred)
 * until it has sent something, or its time is over.
 *
 * Peers decide how long these lists are, and in which order children come and
 * go.  So no list is walked: each is in the order in which it is looked at from
 * its front.
 */
#include <linux/sched/signal.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <linux/sdp.h>
#include "sdp_dst_cache.h"
#include "sdp_fallback_log.h"
#include "sdp_inherit.h"
#include "sdp_join.h"
#include "sdp_listen.h"
#include "sdp_rx.h"
#include "sdp_sk_conn.h"
#include "sdp_trace.h"

/*
 * Whether it still listens.  Closing clears this first, and empties the lists
 * after.
 */
static bool sdp_listen_is_open(const struct sdp_sk *ssk)
{
	lockdep_assert_held(&ssk->lock);
	return !ssk->closed && ssk->sk &&
	       READ_ONCE(ssk->sk->sk_state) == TCP_LISTEN;
}

/* Calls up from children */

/* Take a child off its list and give up its place. */
static void sdp_child_gives_place(struct sdp_sk *ssk, struct sdp_conn *conn)
{
	lockdep_assert_held(&ssk->lock);
	list_del_init(&conn->accept_node);
	if (conn->aside)
		WRITE_ONCE(ssk->aside, ssk->aside - 1);
	else
		ssk->qlen--;
}

/* Give a child that was set aside a place again. */
static void sdp_child_gets_place(struct sdp_sk *ssk, struct sdp_conn *conn)
{
	lockdep_assert_held(&ssk->lock);
	conn->aside = false;
	WRITE_ONCE(ssk->aside, ssk->aside - 1);
	ssk->qlen++;
	trace_sdp_child_back(conn->id, ntohs(conn->local.port),
			     ssk->qlen, ssk->aside);
}

static bool sdp_child_is_before(struct rb_node *node,
				const struct rb_node *other)
{
	return (s32)(rb_entry(node, struct sdp_conn, acceptq_node)->id -
		     rb_entry(other, struct sdp_conn, acceptq_node)->id) < 0;
}

/* Insert in the order of the requests: the children's workers run in any. */
static void sdp_child_enqueue(struct sdp_sk *ssk, struct sdp_conn *conn)
{
	lockdep_assert_held(&ssk->lock);
	list_del_init(&conn->accept_node);
	rb_add_cached(&conn->acceptq_node, &ssk->acceptq, sdp_child_is_before);
	WRITE_ONCE(ssk->acceptable, ssk->acceptable + 1);
}

/* Take the first child off acceptq; NULL: there is none. */
static struct sdp_conn *sdp_child_dequeue(struct sdp_sk *ssk)
{
	struct rb_node *first = rb_first_cached(&ssk->acceptq);

	lockdep_assert_held(&ssk->lock);
	if (!first)
		return NULL;
	rb_erase_cached(first, &ssk->acceptq);
	WRITE_ONCE(ssk->acceptable, ssk->acceptable - 1);
	return rb_entry(first, struct sdp_conn, acceptq_node);
}

/* The child is established: accept() may have it, whatever becomes of it. */
static void sdp_child_ready(struct sdp_conn *conn, struct sdp_sk *ssk)
{
	lockdep_assert_held(&ssk->lock);
	if (conn->acceptable || list_empty(&conn->accept_node))
		return;
	conn->acceptable = true;
	conn->deferred = false;
	if (conn->aside)
		sdp_child_gets_place(ssk, conn);
	sdp_child_enqueue(ssk, conn);
	trace_sdp_child_ready(conn->id, ntohs(conn->local.port),
			      ssk->qlen, ssk->aside);
	if (ssk->sk && !ssk->closed)
		ssk->sk->sk_data_ready(ssk->sk);
}

/*
 * Jiffies for which TCP_DEFER_ACCEPT keeps a silent child from accept(); 0: it
 * does not.  TCP counts repetitions of the SYN-ACK: after that many accept()
 * gets the child anyway.
 */
static unsigned long sdp_child_defers(const struct sock *sk)
{
	u8 repeats = READ_ONCE(inet_csk(sk)->icsk_accept_queue.rskq_defer_accept);
	unsigned long time = 0, step = TCP_TIMEOUT_INIT;

	while (repeats--) {
		time += step;
		step = min_t(unsigned long, step * 2, TCP_RTO_MAX);
	}
	return time;
}

/*
 * Whether it has sent nothing.  Its end of stream counts as something, as with
 * TCP.
 */
static bool sdp_child_is_silent(const struct sdp_conn *conn)
{
	return !sdp_rx_bytes(conn) && !sdp_conn_is_eof(conn);
}

/*
 * Whether accept() has to wait until the child sends something.  No other child
 * loses its place for this one.
 */
static bool sdp_child_defer(struct sdp_conn *conn, struct sdp_sk *ssk)
{
	unsigned long time;

	lockdep_assert_held(&ssk->lock);
	if (conn->acceptable || list_empty(&conn->accept_node) ||
	    sdp_conn_state(conn) != SDP_ESTABLISHED ||
	    !sdp_child_is_silent(conn) || !sdp_listen_is_open(ssk))
		return false;
	time = conn->deferred ? 0 : sdp_child_defers(ssk->sk);
	if (!time)
		return conn->deferred;
	if (conn->aside)
		sdp_child_gets_place(ssk, conn);
	conn->deferred = true;
	conn->defer_until = jiffies + time;
	list_move_tail(&conn->accept_node, &ssk->deferred);
	sdp_ulp_queue_defer(ssk, time);
	trace_sdp_child_deferred(conn->id, ntohs(conn->local.port),
				 ssk->qlen, ssk->aside);
	return true;
}

/* Children handled at once: all that have a place may have become due together. */
enum { SDP_LISTEN_DUE = 64 };

/**
 * sdp_listen_defer_work() - give accept() the children whose deferral is over
 * @work: struct sdp_sk.defer of the listener
 *
 * Context: process, a worker.
 */
void sdp_listen_defer_work(struct work_struct *work)
{
	struct sdp_sk *ssk = container_of(to_delayed_work(work), struct sdp_sk,
					  defer);
	unsigned long now = jiffies;
	struct sdp_conn *conn;
	int n = 0;

	spin_lock_bh(&ssk->lock);
	while ((conn = list_first_entry_or_null(&ssk->deferred, struct sdp_conn,
						accept_node))) {
		bool due = time_after_eq(now, conn->defer_until);

		if (!due || n++ == SDP_LISTEN_DUE) {
			sdp_ulp_queue_defer(ssk, due ? 0 : conn->defer_until - now);
			break;
		}
		sdp_child_ready(conn, ssk);
	}
	spin_unlock_bh(&ssk->lock);
	sdp_ulp_put(ssk);
}

/* The child was answered: the client's turn to send. */
static void sdp_child_answered(struct sdp_conn *conn, struct sdp_sk *ssk)
{
	lockdep_assert_held(&ssk->lock);
	if (!list_empty(&conn->accept_node) && !conn->aside)
		list_move_tail(&conn->accept_node, &ssk->silent);
}

/*
 * The child is established, or has sent something: accept() may have it, unless
 * it is to wait for data.
 */
static void sdp_child_speaks(struct sdp_conn *conn, struct sdp_sk *ssk)
{
	if (!sdp_child_defer(conn, ssk))
		sdp_child_ready(conn, ssk);
}

static void sdp_child_state_change(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;

	spin_lock_bh(&ssk->lock);
	if (sdp_conn_state(conn) >= SDP_ESTABLISHED)
		sdp_child_speaks(conn, ssk);
	else if (sdp_conn_state(conn) == SDP_SYN_RECV &&
		 READ_ONCE(conn->silent_at))
		sdp_child_answered(conn, ssk);
	spin_unlock_bh(&ssk->lock);
}

/* A child that was accepted or dropped meanwhile is on no list. */
static void sdp_child_error(struct sdp_conn *conn, void *upper)
{
	bool mine = false, never;
	struct sdp_sk *ssk = upper;

	spin_lock_bh(&ssk->lock);
	/* As with TCP, accept() gets an established child with its error.  That
	 * it was established may not have been reported yet.  With
	 * TCP_DEFER_ACCEPT a child that has sent nothing is dropped.
	 */
	never = sdp_child_is_silent(conn) && sdp_listen_is_open(ssk) &&
		sdp_child_defers(ssk->sk);
	if (sdp_conn_was_up(conn) && !never)
		sdp_child_ready(conn, ssk);
	if (!conn->acceptable && !list_empty(&conn->accept_node)) {
		sdp_child_gives_place(ssk, conn);
		trace_sdp_child_gone(conn->id, ntohs(conn->local.port),
				     ssk->qlen, ssk->aside);
		mine = true;
	}
	spin_unlock_bh(&ssk->lock);
	if (!mine)
		return;
	sdp_conn_detach_locked(conn);
	sdp_ulp_put(ssk);
	sdp_conn_put(conn);	/* not the last: the transport has one */
}

static void sdp_child_data_ready(struct sdp_conn *conn, void *upper)
{
	struct sdp_sk *ssk = upper;

	spin_lock_bh(&ssk->lock);
	if (conn->deferred)
		sdp_child_speaks(conn, ssk);
	spin_unlock_bh(&ssk->lock);
}

static void sdp_child_quiet(struct sdp_conn *conn, void *upper)
{
}

static const struct sdp_conn_ops sdp_child_ops = {
	.data_ready	= sdp_child_data_ready,
	.write_space	= sdp_child_quiet,
	.state_change	= sdp_child_state_change,
	.urgent		= sdp_child_quiet,
	.error		= sdp_child_error,
};

/* A request looks for its listener */

static struct sdp_sk *sdp_listen_find(struct net *net, int ifindex,
				      const struct sdp_addr *local,
				      const struct sdp_addr *remote,
				      kuid_t *uid)
{
	int master = l3mdev_master_ifindex_by_index(net, ifindex);
	/* TCP takes the device of a VRF for the one that a packet came in by. */
	int sdif = master ? ifindex : 0;
	struct sdp_sk *ssk = NULL;
	struct sock *sk;

	if (master)
		ifindex = master;
	rcu_read_lock();
	if (ipv6_addr_v4mapped(&local->ip))
		sk = __inet_lookup_listener(net, SDP_HASHINFO(net) NULL, 0,
					    remote->ip.s6_addr32[3],
					    remote->port,
					    local->ip.s6_addr32[3],
					    ntohs(local->port), ifindex, sdif);
	else
		sk = inet6_lookup_listener(net, SDP_HASHINFO(net) NULL, 0,
					   &remote->ip, remote->port,
					   &local->ip, ntohs(local->port),
					   ifindex, sdif);
	/* A listener that wants segments signed has no use for a client that
	 * cannot sign them, nor a listener that filters packets for a client
	 * without packets.
	 */
	if (sk && sk->sk_state == TCP_LISTEN && !sdp_ulp_needs_packets(sk)) {
		ssk = sdp_ulp_get(sk);
		*uid = sk_uid(sk);
	}
	rcu_read_unlock();
	return ssk;
}

/**
 * sdp_listen_is_here() - whether a socket of ours listens for connections of this host
 * @net: namespace
 * @ifindex: device that the client is bound to; 0: lo
 * @local: address and port that it connects to
 *
 * A guess: of several listeners of a port TCP may choose another.
 *
 * Context: process.
 * Return: true if so.
 */
bool sdp_listen_is_here(struct net *net, int ifindex,
			const struct sdp_addr *local)
{
	struct sdp_addr remote = { .ip = local->ip };
	struct sdp_sk *ssk;
	kuid_t uid;

	ssk = sdp_listen_find(net, ifindex ?: LOOPBACK_IFINDEX, local, &remote,
			      &uid);
	sdp_ulp_put(ssk);
	return ssk;
}

static void sdp_listen_drop(struct sdp_sk *ssk, struct sdp_conn *conn,
			    const char *why)
{
	sdp_conn_attach(conn, NULL, NULL);
	sdp_ulp_put(ssk);
	sdp_conn_fail(conn, ECONNRESET, SDP_EV_ABORT, why);
	sdp_conn_put(conn);
}

/* Children looked at for one request; the next request goes on. */
enum { SDP_LISTEN_LOOK = 16 };

/*
 * The first child on a list that is still silent.  A child that was heard of,
 * or is about to leave, is moved to setup.
 */
static struct sdp_conn *sdp_listen_first_silent(struct sdp_sk *ssk,
						struct list_head *list)
{
	struct sdp_conn *conn;
	int n;

	lockdep_assert_held(&ssk->lock);
	for (n = 0; n < SDP_LISTEN_LOOK; n++) {
		conn = list_first_entry_or_null(list, struct sdp_conn,
						accept_node);
		if (!conn || (READ_ONCE(conn->silent_at) &&
			      sdp_conn_state(conn) == SDP_SYN_RECV))
			return conn;
		list_move_tail(&conn->accept_node, &ssk->setup);
	}
	return NULL;
}

static struct sdp_conn *sdp_listen_silent(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_listen_first_silent(ssk, &ssk->silent);
	unsigned long at = conn ? READ_ONCE(conn->silent_at) : 0;

	/* Those behind it were answered later, and their time is about as long. */
	return at && time_after(jiffies, at) ? conn : NULL;
}

/*
 * Take the oldest silent child that was set aside off its list; NULL: there is
 * none.
 */
static struct sdp_conn *sdp_listen_give_up(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_listen_first_silent(ssk, &ssk->asides);

	if (conn) {
		sdp_child_gives_place(ssk, conn);
		trace_sdp_child_evicted(conn->id, ntohs(conn->local.port),
					ssk->qlen, ssk->aside);
	}
	return conn;
}

/*
 * Take a place in the backlog.  @given_up: a child for the caller to drop, or
 * NULL.
 */
static bool sdp_listen_take_place(struct sdp_sk *ssk,
				  struct sdp_conn **given_up)
{
	struct sdp_conn *silent;
	unsigned int max;
	bool room = false;

	*given_up = NULL;
	spin_lock_bh(&ssk->lock);
	if (!sdp_listen_is_open(ssk))
		goto out;
	max = READ_ONCE(ssk->sk->sk_max_ack_backlog);
	room = ssk->qlen <= max;
	if (room) {
		ssk->qlen++;
		goto out;
	}
	silent = sdp_listen_silent(ssk);
	if (!silent)
		goto out;
	/* As many may be set aside as there are places. */
	if (ssk->aside > max)
		*given_up = sdp_listen_give_up(ssk);
	room = ssk->aside <= max;
	if (room) {
		silent->aside = true;
		list_move_tail(&silent->accept_node, &ssk->asides);
		WRITE_ONCE(ssk->aside, ssk->aside + 1);
		trace_sdp_child_aside(silent->id, ntohs(silent->local.port),
				      ssk->qlen, ssk->aside);
	}
out:
	spin_unlock_bh(&ssk->lock);
	return room;
}

/**
 * sdp_listen_spawn() - struct sdp_xport_upper.spawn
 * @xp: the transport that received the request
 * @net: namespace of the request
 * @ifindex: device that it came by
 * @local: address and port that it is for
 * @remote: address and port that it is from
 *
 * Context: process; does not wait for others.
 * Return: see struct sdp_xport_upper.
 */
struct sdp_conn *sdp_listen_spawn(const struct sdp_xport *xp, struct net *net,
				  int ifindex, const struct sdp_addr *local,
				  const struct sdp_addr *remote)
{
	struct sdp_net *sn = sdp_net(net);
	struct sdp_conn *conn, *given_up;
	struct sdp_sk *ssk;
	kuid_t uid;
	bool room, open;

	ssk = sdp_listen_find(net, ifindex, local, remote, &uid);
	if (!ssk || !READ_ONCE(sn->enable)) {
		sdp_count(sn, SDP_CNT_REJECT_LISTENER, 1);
		trace_sdp_child_refused(0, ntohs(local->port), ssk ?
					"SDP is disabled" : "nobody listens");
		sdp_ulp_put(ssk);
		return ERR_PTR(-ECONNREFUSED);
	}
	room = sdp_listen_take_place(ssk, &given_up);
	if (given_up) {
		sdp_count(sn, SDP_CNT_REJECT_BACKLOG, 1);
		sdp_listen_drop(ssk, given_up,
				"silent, and the backlog is full");
	}
	if (!room) {
		sdp_count(sn, SDP_CNT_REJECT_BACKLOG, 1);
		trace_sdp_child_refused(0, ntohs(local->port), "backlog is full");
		sdp_ulp_put(ssk);
		return ERR_PTR(-ENOBUFS);
	}
	conn = sdp_conn_alloc(xp, net, uid, sdp_rx_work, GFP_KERNEL);
	if (IS_ERR(conn)) {
		sdp_count(sn, SDP_CNT_REJECT_LIMIT, 1);
		trace_sdp_child_refused(0, ntohs(local->port),
					PTR_ERR(conn) == -EUSERS ?
					"limit of connections" : "no memory");
		spin_lock_bh(&ssk->lock);
		ssk->qlen--;
		spin_unlock_bh(&ssk->lock);
		sdp_ulp_put(ssk);
		return conn;
	}
	conn->local = *local;
	conn->remote = *remote;
	conn->ifindex = ifindex;
	sdp_conn_get(conn);		/* the listener's reference */
	sdp_conn_attach(conn, &sdp_child_ops, ssk);	/* takes over the reference to ssk */
	spin_lock_bh(&ssk->lock);
	open = sdp_listen_is_open(ssk);
	if (open) {
		list_add_tail(&conn->accept_node, &ssk->setup);
		/* The listener's sk_rcvbuf as it is: nothing has been tuned yet. */
		sdp_ring_set_max_bytes(&conn->ring,
				       READ_ONCE(ssk->sk->sk_rcvbuf));
		sdp_conn_set_zcopy(conn, READ_ONCE(ssk->zcopy));
		sdp_sk_conn_sync_stamps(ssk->sk, conn);
		trace_sdp_child_new(conn->id, ntohs(conn->local.port),
				    ssk->qlen, ssk->aside);
	} else {
		ssk->qlen--;
	}
	spin_unlock_bh(&ssk->lock);
	if (!open) {
		trace_sdp_child_refused(conn->id, ntohs(local->port),
					"closed meanwhile");
		sdp_conn_attach(conn, NULL, NULL);
		sdp_ulp_put(ssk);
		sdp_conn_put(conn);
		sdp_conn_put(conn);
		return ERR_PTR(-ECONNREFUSED);
	}
	return conn;
}

/* The first child that accept() may not have yet; NULL: there is none. */
static struct sdp_conn *sdp_listen_first_setup(struct sdp_sk *ssk)
{
	struct list_head *list = &ssk->setup;

	lockdep_assert_held(&ssk->lock);
	if (list_empty(list))
		list = &ssk->silent;
	if (list_empty(list))
		list = &ssk->asides;
	if (list_empty(list))
		list = &ssk->deferred;
	return list_first_entry_or_null(list, struct sdp_conn, accept_node);
}

/* Take a child off its list; the caller gets its two references. */
static struct sdp_conn *sdp_listen_pop(struct sdp_sk *ssk, bool setup_too)
{
	struct sdp_conn *conn;

	spin_lock_bh(&ssk->lock);
	conn = sdp_child_dequeue(ssk);
	if (!conn && setup_too)
		conn = sdp_listen_first_setup(ssk);
	if (conn)
		sdp_child_gives_place(ssk, conn);
	spin_unlock_bh(&ssk->lock);
	return conn;
}

/* Put back a child that accept() could not take, for the next accept(). */
static bool sdp_listen_put_back(struct sdp_sk *ssk, struct sdp_conn *conn)
{
	bool open;

	spin_lock_bh(&ssk->lock);
	open = sdp_listen_is_open(ssk);
	if (open) {
		sdp_child_enqueue(ssk, conn);
		ssk->qlen++;
		trace_sdp_child_put_back(conn->id, ntohs(conn->local.port),
					 ssk->qlen, ssk->aside);
		ssk->sk->sk_data_ready(ssk->sk);
	}
	spin_unlock_bh(&ssk->lock);
	return open;
}

/* Have the transports listen on the port, and show the listener to tools. */
static int sdp_listen_open(struct sdp_sk *ssk, struct sdp_net *sn, u16 port)
{
	int err;

	lockdep_assert_held(&ssk->listening);
	err = sdp_xport_listen(port);
	if (err)
		return err;
	err = xa_alloc_bh(&sn->all_listeners, &ssk->place, ssk, xa_limit_31b,
			  GFP_KERNEL);
	if (err) {
		sdp_xport_unlisten(port);
		return -ENOMEM;
	}
	WRITE_ONCE(ssk->port, port);
	return 0;
}

static void sdp_listen_close(struct sdp_sk *ssk, struct sdp_net *sn)
{
	struct sdp_conn *conn;

	lockdep_assert_held(&ssk->listening);
	if (ssk->port) {
		xa_erase_bh(&sn->all_listeners, ssk->place);
		sdp_xport_unlisten(ssk->port);
		WRITE_ONCE(ssk->port, 0);
	}
	while ((conn = sdp_listen_pop(ssk, true))) {
		sdp_listen_drop(ssk, conn, "never accepted");
		cond_resched();
	}
	if (cancel_delayed_work(&ssk->defer))
		sdp_ulp_put(ssk);
}

/*
 * Whether the socket listens on this port no more.  TCP's state decides, as the
 * last of several callers left it.  A socket that was closed or given to TCP
 * must not leave anything behind, since nothing could be found by it later.
 */
static bool sdp_listen_is_over(const struct sock *sk, const struct sdp_sk *ssk)
{
	return READ_ONCE(ssk->closed) || READ_ONCE(sk->sk_state) != TCP_LISTEN ||
	       (ssk->port && READ_ONCE(inet_sk(sk)->inet_num) != ssk->port);
}

/**
 * sdp_listen_stop() - end listening and abort the children that were not accepted
 * @sk: a listener, or any socket
 * @ssk: its SDP state
 *
 * Context: process; not under the socket lock.
 */
void sdp_listen_stop(struct sock *sk, struct sdp_sk *ssk)
{
	mutex_lock(&ssk->listening);
	sdp_listen_close(ssk, sdp_net(sock_net(sk)));
	mutex_unlock(&ssk->listening);
}

/**
 * sdp_listen_check() - sdp_listen_stop(), if TCP has stopped listening
 * @sk: a socket that shutdown() or connect() was called on
 * @ssk: its SDP state
 *
 * Context: process; not under the socket lock.
 */
void sdp_listen_check(struct sock *sk, struct sdp_sk *ssk)
{
	/* A listener without a port at the transport may have children: another
	 * listener may have opened the same port.
	 */
	if (!READ_ONCE(ssk->port) && !READ_ONCE(ssk->qlen) &&
	    !READ_ONCE(ssk->aside))
		return;
	mutex_lock(&ssk->listening);
	if (sdp_listen_is_over(sk, ssk))
		sdp_listen_close(ssk, sdp_net(sock_net(sk)));
	mutex_unlock(&ssk->listening);
}

/* Stop listening again.  The port stays bound, as when TCP's own listen() fails. */
static void sdp_listen_undo(struct socket *sock)
{
	struct sock *sk = sock->sk;
	u8 locks;

	lock_sock(sk);
	if (sk->sk_state == TCP_LISTEN) {
		locks = sk->sk_userlocks;
		sk->sk_userlocks |= SOCK_BINDPORT_LOCK | SOCK_BINDADDR_LOCK;
		sk->sk_prot->disconnect(sk, O_NONBLOCK);
		sk->sk_userlocks = locks;
		sock->state = SS_UNCONNECTED;
		sk->sk_state_change(sk);
	}
	release_sock(sk);
}

static int sdp_listen_with(struct socket *sock, struct sdp_sk *ssk, int backlog)
{
	struct sock *sk = sock->sk;
	struct sdp_net *sn = sdp_net(sock_net(sk));
	u16 port;
	int err;

	err = sdp_ulp_tcp(sk)->listen(sock, backlog);
	if (err)
		return err;
	/* Another thread may have ended it by now, or have it listen elsewhere. */
	if (sdp_listen_is_over(sk, ssk))
		sdp_listen_close(ssk, sn);
	/* A thread that ends it takes its port away too.  Port 0 would mean
	 * that none is open.
	 */
	port = READ_ONCE(inet_sk(sk)->inet_num);
	if (ssk->port || !port || sdp_listen_is_over(sk, ssk))
		return 0;
	err = sdp_listen_open(ssk, sn, port);
	if (!err) {
		sdp_dst_cache_listening(sn, htons(port));
		return 0;
	}
	trace_sdp_cm(0, "listen", err);
	/* TCP listens all the same; only a program that asked for SDP gets the
	 * error.
	 */
	if (sdp_ulp_may_fall_back(sk, ssk))
		return 0;
	sdp_listen_undo(sock);
	sdp_listen_close(ssk, sn);	/* children, if another listener has the port too */
	return err;
}

/* A connect() to this host has failed, and the socket is to listen now. */
static void sdp_listen_forget_join(struct sock *sk, struct sdp_sk *ssk)
{
	if (READ_ONCE(ssk->mode) != SDP_SK_JOINING)
		return;
	lock_sock(sk);
	if (ssk->mode == SDP_SK_JOINING && sk->sk_state == TCP_CLOSE)
		sdp_join_abandon(sk, ssk);
	release_sock(sk);
}

/**
 * sdp_listen() - proto_ops.listen
 * @sock: the socket
 * @backlog: as TCP's
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_listen(struct socket *sock, int backlog)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (ssk) {
		mutex_lock(&ssk->listening);
		sdp_listen_forget_join(sk, ssk);
		err = sdp_listen_with(sock, ssk, backlog);
		mutex_unlock(&ssk->listening);
		/* A thread that ended it during this call may have found no
		 * port.
		 */
		sdp_listen_check(sk, ssk);
		sdp_ulp_put(ssk);
	} else {
		err = sdp_ulp_tcp(sk)->listen(sock, backlog);
	}
	sdp_ulp_leave();
	return err;
}

/* Accepting */

static int sdp_accept_child(struct sock *sk, struct sdp_sk *ssk,
			    struct socket *newsock, struct sdp_conn *conn)
{
	struct sdp_sk *nssk;
	struct sock *nsk;
	int err;

	nsk = sdp_ulp_steal(sock_net(sk), sk->sk_family, 0);
	if (IS_ERR(nsk)) {
		err = PTR_ERR(nsk);
		goto fail;
	}
	newsock->ops = sdp_ulp_tcp(sk);
	sdp_inherit_congestion(sk, nsk);
	lock_sock(nsk);
	security_sk_clone(sk, nsk);
	sock_graft(nsk, newsock);
	sdp_inherit(sk, nsk);
	/* As TCP: link-local addresses need a scope. */
	if (ipv6_addr_type(&conn->remote.ip) & IPV6_ADDR_LINKLOCAL)
		nsk->sk_bound_dev_if = conn->ifindex;
	err = sdp_ulp_attach(nsk, newsock);
	if (!err) {
		nssk = sdp_ulp_get(nsk);
		nssk->by_ulp = ssk->by_ulp;
		nssk->zcopy = READ_ONCE(ssk->zcopy);
		sdp_sk_conn_graft(nsk, nssk, conn);
		sdp_ulp_put(nssk);
		newsock->state = SS_CONNECTED;
	}
	release_sock(nsk);
	if (err)
		goto fail;
	trace_sdp_child_accepted(conn->id, ntohs(conn->local.port),
				 READ_ONCE(ssk->qlen), READ_ONCE(ssk->aside));
	sdp_ulp_put(ssk);	/* the child's reference */
	return 0;

fail:
	if (!sdp_listen_put_back(ssk, conn))
		sdp_listen_drop(ssk, conn, "never accepted");
	return err;
}

/* A plain TCP client of a listener that asked for SDP: reset it. */
static void sdp_accept_reset(struct socket *newsock)
{
	struct sock *nsk = newsock->sk;

	lock_sock(nsk);
	nsk->sk_prot->disconnect(nsk, 0);
	release_sock(nsk);
	sdp_ulp_tcp(nsk)->release(newsock);
	newsock->state = SS_UNCONNECTED;
}

/* Clients reset in one round; sdp_accept() and poll() come back for the rest. */
enum { SDP_ACCEPT_RESETS = 64 };

/* Accept one child.  0: it is in @newsock; -EAGAIN: there is none. */
static int sdp_accept_one(struct socket *sock, struct sdp_sk *ssk,
			  struct socket *newsock, SDP_ACCEPT_ARGS)
{
	struct sock *sk = sock->sk;
	struct sdp_net *sn = sdp_net(sock_net(sk));
	int flags = SDP_ACCEPT_FLAGS;
	struct sdp_conn *conn;
	int resets, err;

	for (resets = 0; resets < SDP_ACCEPT_RESETS; resets++) {
		/* If it no longer listens TCP's accept() returns the error. */
		conn = READ_ONCE(sk->sk_state) == TCP_LISTEN ?
		       sdp_listen_pop(ssk, false) : NULL;
		if (conn)
			return sdp_accept_child(sk, ssk, newsock, conn);
		SDP_ACCEPT_FLAGS = flags | O_NONBLOCK;
		err = sdp_ulp_tcp(sk)->accept(sock, newsock, SDP_ACCEPT_PASS);
		SDP_ACCEPT_FLAGS = flags;
		if (err)
			return err;
		newsock->ops = sdp_ulp_tcp(sk);
		if (sdp_join_accepted(newsock, ssk))
			return 0;
		if (sdp_ulp_may_fall_back(sk, ssk)) {
			sdp_count(sn, SDP_CNT_TCP_ACCEPT, 1);
			sdp_count(sn, SDP_CNT_REASON + SDP_REASON_TCP_CLIENT,
				  1);
			trace_sdp_fallback(0, sdp_reason_word(SDP_REASON_TCP_CLIENT),
					   true);
			sdp_fallback_log_add(newsock->sk, SDP_REASON_TCP_CLIENT,
					     ssk->by_ulp);
			return 0;
		}
		sdp_count(sn, SDP_CNT_TCP_RESET, 1);
		trace_sdp_fallback(0, sdp_reason_word(SDP_REASON_TCP_CLIENT),
				   false);
		sdp_accept_reset(newsock);
	}
	return -EAGAIN;
}

/**
 * sdp_accept() - proto_ops.accept
 * @sock: the listener
 * @newsock: gets the SDP or the plain TCP child, whichever came
 * @SDP_ACCEPT_ARGS: the other arguments of this kernel's accept()
 *
 * Context: process.
 * Return: 0 or a negative errno.
 */
int sdp_accept(struct socket *sock, struct socket *newsock, SDP_ACCEPT_ARGS)
{
	struct sock *sk = sock->sk;
	DEFINE_WAIT(wait);
	struct sdp_sk *ssk;
	long timeo;
	int err;

	sdp_ulp_enter();
	ssk = sdp_ulp_get(sk);
	if (!ssk) {
		err = SDP_TCP_CALL(sk, accept, sock, newsock, SDP_ACCEPT_PASS);
		goto out;
	}
	timeo = sock_rcvtimeo(sk, SDP_ACCEPT_FLAGS & O_NONBLOCK);
	for (;;) {
		err = sdp_accept_one(sock, ssk, newsock, SDP_ACCEPT_PASS);
		if (err != -EAGAIN || !timeo)
			break;
		prepare_to_wait_exclusive(sk_sleep(sk), &wait,
					  TASK_INTERRUPTIBLE);
		if (!READ_ONCE(ssk->acceptable) &&
		    reqsk_queue_empty(&inet_csk(sk)->icsk_accept_queue) &&
		    sk->sk_state == TCP_LISTEN)
			timeo = schedule_timeout(timeo);
		finish_wait(sk_sleep(sk), &wait);
		if (signal_pending(current)) {
			/* This waiter alone may have been woken for a child:
			 * look once more.
			 */
			err = sdp_accept_one(sock, ssk, newsock,
					     SDP_ACCEPT_PASS);
			if (err == -EAGAIN)
				err = sock_intr_errno(timeo);
			break;
		}
	}
	if (err == -EINVAL)
		sdp_listen_check(sk, ssk);
	sdp_ulp_put(ssk);
out:
	sdp_ulp_leave();
	return err;
}
