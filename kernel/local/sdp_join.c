// SPDX-License-Identifier: GPL-2.0
/*
 * Joining two sockets, and ending that; see sdp_join.h.
 *
 * The proof.  Source and destination of the child, reversed, lead to one
 * established socket of the namespace, or to none.  It is the other end of the
 * same connection if what it expects is what the child sends next, and if the
 * child expects what it has sent: that is, by 32 bits and the four-tuple.  NAT,
 * TPROXY, another namespace or a forged tuple are not found, or not proved, and
 * the child is plain TCP.
 *
 * Order.  The child is attached and its own direction switched before anything
 * is published.  Then, under the client's ssk->lock, the client gets the pair,
 * and its mode last.  The client's own direction switches in its next send().
 */
#include <linux/bpf.h>
#include <linux/bpf-cgroup.h>
#include <linux/gfp.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <net/inet6_hashtables.h>
#include <net/inet_hashtables.h>
#include <net/ipv6.h>
#include <net/l3mdev.h>
#include <net/tcp.h>
#include "sdp_join.h"
#include "sdp_mem.h"
#include "sdp_net.h"
#include "sdp_trace.h"

/* Bytes of a buffer for long writes, and of all that a flowing pipe keeps. */
enum {
	SDP_JOIN_LARGE	= 32 * 1024,
	SDP_JOIN_KEEP	= 256 * 1024 + SDP_JOIN_LARGE,
	/* Large buffers that the reader's memory cgroup is to have room for. */
	SDP_JOIN_ROOM	= 8,
};

static const struct sdp_stream_ops *sdp_join_ops;	/* sdp_join_stream.c */

/**
 * sdp_join_init() - be told what carries the stream of a socket that is joined
 * @ops: the table
 *
 * Context: process, before there is a socket of ours.
 */
void __init sdp_join_init(const struct sdp_stream_ops *ops)
{
	sdp_join_ops = ops;
}

/* Memory */

static void sdp_join_buf_free(struct sdp_join_way *way, struct sdp_pipe_buf *buf)
{
	way->kept -= buf->size;
	sdp_mem_add(-(s64)buf->size);
	free_pages((unsigned long)buf->mem, get_order(buf->size));
	kfree(buf);
}

static void *sdp_join_pages(u32 size, gfp_t gfp)
{
	gfp |= GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN | __GFP_COMP;
	return (void *)__get_free_pages(gfp, get_order(size));
}

/*
 * Whether the payer's memory cgroup has room for those until the next look, and for
 * as many again.  Its processes need memory to run at all, and are killed for what
 * they do not get.
 */
static bool sdp_join_leaves_room(void)
{
	void *mem[2 * SDP_JOIN_ROOM];
	int n, i;

	for (n = 0; n < 2 * SDP_JOIN_ROOM; n++) {
		mem[n] = sdp_join_pages(SDP_JOIN_LARGE, __GFP_ACCOUNT);
		if (!mem[n])
			break;
	}
	for (i = 0; i < n; i++)
		free_pages((unsigned long)mem[i], get_order(SDP_JOIN_LARGE));
	return n == 2 * SDP_JOIN_ROOM;
}

/*
 * Whether to look for room: only every eighth time, since the pages are cleared for
 * it.  A pipe that flows has all of its buffers before it is asked.
 */
static bool sdp_join_looks_for_room(const struct sdp_join_way *way)
{
	return way->kept >= SDP_JOIN_KEEP / 2 &&
	       way->kept / SDP_JOIN_LARGE % SDP_JOIN_ROOM == 0;
}

/* Whether there is memory, and the reader's memory cgroup is full. */
static bool sdp_join_is_at_limit(void)
{
	void *mem = sdp_join_pages(SDP_JOIN_LARGE, 0);

	free_pages((unsigned long)mem, get_order(SDP_JOIN_LARGE));
	return mem;
}

/* Memory, charged to the payer.  @size: becomes what there is; NULL: nothing. */
static void *sdp_join_mem(struct sdp_join_way *way, u32 *size)
{
	bool large = *size > PAGE_SIZE;
	void *mem;

	mem = sdp_join_pages(*size, __GFP_ACCOUNT);
	if (large && (!mem || sdp_join_looks_for_room(way)) &&
	    !sdp_join_leaves_room() && sdp_join_is_at_limit()) {
		free_pages((unsigned long)mem, get_order(*size));
		return NULL;
	}
	if (mem || !large)
		return mem;
	*size = PAGE_SIZE;
	return sdp_join_pages(PAGE_SIZE, __GFP_ACCOUNT);
}

/* @payer: who is charged; NULL: the caller */
static struct sdp_pipe_buf *sdp_join_buf_alloc(struct sdp_join_way *way, u32 size,
					       struct mem_cgroup *payer)
{
	struct mem_cgroup *was = sdp_set_active_memcg(payer);
	struct sdp_pipe_buf *buf;

	buf = kzalloc_obj(*buf, GFP_KERNEL_ACCOUNT | __GFP_NORETRY);
	if (buf)
		buf->mem = sdp_join_mem(way, &size);
	sdp_set_active_memcg(was);
	if (!buf)
		return NULL;
	if (!buf->mem) {
		kfree(buf);
		return NULL;
	}
	buf->size = size;
	way->kept += size;
	sdp_mem_add(size);
	return buf;
}

/**
 * sdp_join_buf() - get a buffer for the pipe to copy to
 * @sk: the sender
 * @way: the direction
 * @want: bytes that the caller has to send
 *
 * One that was read is taken before a new one is made.  Of what a burst has left
 * one buffer is given back with each that is taken, once the burst is over.
 *
 * As by TCP, the reader pays for what a receiver has, and the sender for the rest:
 * nobody can fill another's memory cgroup with more than he may have unread.
 *
 * Context: process, the producer; sleeps.
 * Return: the buffer; NULL without memory, or above net.sdp.mem_max.
 */
struct sdp_pipe_buf *sdp_join_buf(const struct sock *sk,
				  struct sdp_join_way *way, size_t want)
{
	struct sdp_pipe *pipe = &way->pipe;
	struct mem_cgroup *payer;
	u32 size = PAGE_SIZE;
	struct sdp_pipe_buf *buf;

	/* Many short writes that nobody reads fill large buffers too. */
	if (want > 2 * PAGE_SIZE || sdp_pipe_fill(pipe) >= 2 * PAGE_SIZE)
		size = max_t(u32, PAGE_SIZE, SDP_JOIN_LARGE);
	while ((buf = sdp_pipe_reuse(pipe))) {
		if (buf->size >= size && (way->kept <= SDP_JOIN_KEEP ||
					  sdp_pipe_fill(pipe) >= SDP_JOIN_KEEP))
			return buf;
		sdp_join_buf_free(way, buf);
	}
	if (unlikely(sdp_mem_is_over()))
		return NULL;
	payer = way->kept < sdp_join_received(sk, way) ? way->payer : NULL;
	return sdp_join_buf_alloc(way, size, payer);
}

static void sdp_join_put(struct sdp_join *join)
{
	struct sdp_pipe_buf *buf;
	int i;

	if (!refcount_dec_and_test(&join->ref))
		return;
	for (i = 0; i < 2; i++) {
		while ((buf = sdp_pipe_pop(&join->way[i].pipe)))
			sdp_join_buf_free(&join->way[i], buf);
		mem_cgroup_put(join->way[i].payer);
	}
	kfree(join);
}

/**
 * sdp_join_free() - the slot of a socket is being freed
 * @ssk: the slot
 *
 * Context: any.
 */
void sdp_join_free(struct sdp_sk *ssk)
{
	if (ssk->join)
		sdp_join_put(ssk->join);
	mem_cgroup_put(ssk->payer);
}

static struct sdp_join *sdp_join_alloc(void)
{
	struct sdp_join *join = kzalloc_obj(*join, GFP_KERNEL_ACCOUNT);
	int i;

	if (!join)
		return NULL;
	refcount_set(&join->ref, 2);	/* one of each slot */
	for (i = 0; i < 2; i++) {
		sdp_pipe_init(&join->way[i].pipe, 0);
		mutex_init(&join->way[i].send);
		mutex_init(&join->way[i].lend);
		mutex_init(&join->way[i].recv);
	}
	return join;
}

/* Limits */

/**
 * sdp_join_received() - how many unread bytes the receiver is said to have
 * @sk: the sender
 * @way: the direction
 *
 * TCP would have had them acknowledged: close() does not wait for them, and
 * SIOCOUTQ does not count them.
 *
 * Context: any.
 * Return: bytes.
 */
u32 sdp_join_received(const struct sock *sk, const struct sdp_join_way *way)
{
	u32 rcvbuf = READ_ONCE(way->rcvbuf) ?:
		     READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_rmem[1]);

	return rcvbuf / 2;
}

/**
 * sdp_join_limit() - how many bytes may be unread
 * @sk: the sender
 * @way: the direction
 *
 * As TCP: what the sender may have unsent (TCP_NOTSENT_LOWAT among the limits) and
 * the receiver unread; half of what the sizes are that a user has set, since TCP
 * counts its own overhead there.
 *
 * Context: any.
 * Return: bytes.
 */
u32 sdp_join_limit(const struct sock *sk, const struct sdp_join_way *way)
{
	/* A sender's size grows up to the largest, of which some is overhead. */
	u32 unsent = sk->sk_userlocks & SOCK_SNDBUF_LOCK ?
		     READ_ONCE(sk->sk_sndbuf) / 2 :
		     READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_wmem[2]) / 8 * 5;

	return min(unsent, tcp_notsent_lowat(tcp_sk(sk))) +
	       sdp_join_received(sk, way);
}

/* Ends */

/* Tools find the slot from here on: true; false without memory. */
static bool sdp_join_list(struct net *net, struct sdp_join_end *end,
			  struct sdp_sk *ssk)
{
	return !xa_alloc_bh(&sdp_net(net)->all_joined, &end->place, ssk,
			    xa_limit_31b, GFP_KERNEL);
}

static void sdp_join_unlist(struct net *net, struct sdp_join_end *end)
{
	if (end->place)
		xa_erase_bh(&sdp_net(net)->all_joined, end->place);
	end->place = 0;
}

static void sdp_join_end_put(struct rcu_head *head)
{
	struct sdp_join_end *end = container_of(head, struct sdp_join_end, rcu);

	sock_put(end->gone);
	sdp_join_put(end->join);
}

/* No more wake-ups for the end when this returns, but for those under way. */
static void sdp_join_end_close(struct sdp_join *join, u8 side)
{
	struct sdp_join_end *end = &join->end[side];

	end->gone = rcu_dereference_protected(end->sk, true);
	if (!end->gone)
		return;
	sdp_join_unlist(sock_net(end->gone), end);
	refcount_inc(&join->ref);
	end->join = join;
	RCU_INIT_POINTER(end->sk, NULL);
	call_rcu(&end->rcu, sdp_join_end_put);
}

/**
 * sdp_join_put_noted() - note that bytes were put, before the reader is told
 * @way: the direction
 * @bytes: how many, since the reader was told last
 *
 * Context: the producer, with way->send.
 */
void sdp_join_put_noted(struct sdp_join_way *way, u64 bytes)
{
	WRITE_ONCE(way->bytes, way->bytes + bytes);
	WRITE_ONCE(way->tells, way->tells + 1);
	WRITE_ONCE(way->at, (u32)jiffies ?: 1);
	if (unlikely(READ_ONCE(way->stamps)))
		WRITE_ONCE(way->stamp, ktime_get_real());
}

/**
 * sdp_join_wake_reader() - there is something to read
 * @join: the pair
 * @side: who reads it
 *
 * By sk_data_ready(), so that whoever has hooked it is called.
 *
 * Context: process; a full barrier, if anybody can be asleep.
 */
void sdp_join_wake_reader(struct sdp_join *join, u8 side)
{
	struct sock *sk;

	rcu_read_lock();
	sk = rcu_dereference(join->end[side].sk);
	if (sk)
		sk->sk_data_ready(sk);
	rcu_read_unlock();
}

/**
 * sdp_join_wake_writer() - there is space to write to
 * @join: the pair
 * @side: who writes
 *
 * Context: process; a full barrier, if anybody can be asleep.
 */
void sdp_join_wake_writer(struct sdp_join *join, u8 side)
{
	struct sock *sk;

	rcu_read_lock();
	sk = rcu_dereference(join->end[side].sk);
	if (sk)
		sk->sk_write_space(sk);
	rcu_read_unlock();
}

/**
 * sdp_join_show() - let packets tell that the connection is in use
 * @sk: the socket; not locked
 * @end: its end
 *
 * Connection tracking forgets what it does not see for some time.  The FIN is
 * invalid then, and where rules drop that the other end never learns of it.  TCP
 * sends its ACK anew; it says nothing.  Each end does so in its turn: an ACK that one
 * end repeats passes for a packet that is lost again and again, after three of
 * which connection tracking waits for five minutes only.
 *
 * Its times are seconds, and so is the interval.
 *
 * Context: process, in a call that moves bytes; sleeps.
 */
void sdp_join_show(struct sock *sk, struct sdp_join_end *end)
{
	WRITE_ONCE(end->shown, (u32)jiffies);
	lock_sock(sk);
	if ((1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT |
				   TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2))
		sdp_tcp_send_ack(sk, tcp_sk(sk)->rcv_nxt);
	release_sock(sk);
}

/*
 * The socket is given up.  What the other end has not read yet stays in the pipe.
 * Returns whether something is unread that the other end has sent.
 */
static bool sdp_join_disconnect(struct sock *sk, struct sdp_sk *ssk)
{
	struct sdp_join *join = sdp_join_get(ssk);

	if (!join)
		return false;
	sdp_join_end_close(join, ssk->side);
	smp_mb();	/* with sdp_join_by_pipe(): it sees this, or we what it has put */
	if (sdp_join_unread(&join->way[ssk->side]))
		return true;	/* TCP's RST wakes a writer, who gets its error */
	sdp_join_wake_writer(join, !ssk->side);
	return false;
}

/* Returning to TCP */

/**
 * sdp_join_leave() - a direction returns to TCP, for good
 * @sk: either end
 * @way: the direction
 * @why: one of SDP_CNT_JOIN_LEAVES_*
 *
 * Context: the producer, with way->send.
 */
void sdp_join_leave(const struct sock *sk, struct sdp_join_way *way,
		    enum sdp_counter why)
{
	struct sdp_net *sn = sdp_net(sock_net(sk));

	lockdep_assert_held(&way->send);
	if (way->pipe.left)
		return;
	sdp_pipe_leave(&way->pipe);
	sdp_count(sn, SDP_CNT_JOIN_LEAVES, 1);
	sdp_count(sn, why, 1);
}

/* Have a direction return to TCP.  @empty: only if nothing in it is unread. */
static int sdp_join_return_way(const struct sock *sk, struct sdp_join_way *way,
			       bool empty)
{
	/* A sender has it while it copies, from a page that may not come. */
	int err = mutex_lock_interruptible(&way->send);

	if (err)
		return err;
	if (way->lent || (empty && sdp_pipe_fill(&way->pipe)))
		err = -EBUSY;
	else
		sdp_join_leave(sk, way, SDP_CNT_JOIN_LEAVES_OPTION);
	mutex_unlock(&way->send);
	return err;
}

/* The socket is not joined from now on, nor about to be, if it was not meanwhile. */
static bool sdp_join_detach(struct socket *sock, struct sdp_sk *ssk,
			    struct sdp_join *join)
{
	struct sock *sk = sock->sk;
	bool ok;

	lock_sock(sk);
	spin_lock_bh(&ssk->lock);
	ok = join ? sdp_join_get(ssk) == join : ssk->mode == SDP_SK_JOINING;
	if (ok)
		WRITE_ONCE(ssk->mode, SDP_SK_DETACHED);	/* nobody joins it now */
	spin_unlock_bh(&ssk->lock);
	if (ok) {
		if (join)
			sdp_join_end_close(join, ssk->side);
		sdp_ulp_detach(sk, sock, ssk);
	}
	release_sock(sk);
	return ok;
}

/**
 * sdp_join_give_back() - make the socket TCP's altogether, with a free slot
 * @sock: the socket; not locked
 * @ssk: its SDP state, kept by the caller
 * @empty: fail if the other end has not read all that was sent either
 *
 * For what replaces the socket's operations, or reads TCP's queues.  The other
 * end stays as it is: both directions have returned to TCP.
 *
 * Context: process; sleeps.
 * Return: 0, also if it was neither joined nor about to be; -EBUSY: a pipe has
 * bytes that are unread; -EINTR.
 */
int sdp_join_give_back(struct socket *sock, struct sdp_sk *ssk, bool empty)
{
	struct sock *sk = sock->sk;
	struct sdp_join *join;
	int err = 0;

	while (READ_ONCE(ssk->mode) == SDP_SK_JOINING || sdp_join_get(ssk)) {
		join = sdp_join_get(ssk);
		/* Ask before the other direction has returned. */
		if (join && empty && sdp_join_unread(&join->way[!ssk->side]))
			err = -EBUSY;
		if (join && !err)
			err = sdp_join_return_way(sk, &join->way[ssk->side], true);
		if (join && !err)
			err = sdp_join_return_way(sk, &join->way[!ssk->side], empty);
		if (err || sdp_join_detach(sock, ssk, join))
			break;
	}
	return err;
}

/**
 * sdp_join_abandon() - the socket is disconnected, or TCP could not connect it
 * @sk: locked
 * @ssk: its SDP state: joined, or to be; it is not any more
 *
 * Context: process.
 */
void sdp_join_abandon(struct sock *sk, struct sdp_sk *ssk)
{
	/* A server may be joining it, without its socket lock. */
	spin_lock_bh(&ssk->lock);
	if (ssk->mode == SDP_SK_JOINING)
		WRITE_ONCE(ssk->mode, SDP_SK_IDLE);
	spin_unlock_bh(&ssk->lock);
	sdp_join_disconnect(sk, ssk);
	sdp_ulp_idle(ssk);
}

/*
 * SO_LINGER with a time: wait until the receiver has what is unread, but for what
 * TCP would have had acknowledged.
 */
static void sdp_join_linger(struct sock *sk, struct sdp_sk *ssk,
			    struct sdp_join *join)
{
	struct sdp_join_way *way = &join->way[!ssk->side];
	DEFINE_WAIT_FUNC(wait, woken_wake_function);
	long timeo = sk->sk_lingertime;

	add_wait_queue(sk_sleep(sk), &wait);
	while (timeo && !signal_pending(current)) {
		if (sdp_pipe_want_space(&way->pipe, sdp_join_received(sk, way)) ||
		    sdp_join_is_closed(join, ssk->side) || READ_ONCE(sk->sk_err))
			break;
		release_sock(sk);	/* a RST is to be seen */
		timeo = wait_woken(&wait, TASK_INTERRUPTIBLE, timeo);
		lock_sock(sk);
	}
	remove_wait_queue(sk_sleep(sk), &wait);
}

/**
 * sdp_join_close() - the socket is being closed
 * @sk: locked
 * @ssk: its SDP state
 *
 * Context: process.
 */
void sdp_join_close(struct sock *sk, struct sdp_sk *ssk)
{
	struct sdp_join *join = sdp_join_get(ssk);

	if (join && sock_flag(sk, SOCK_LINGER) && sk->sk_lingertime &&
	    !(current->flags & PF_EXITING) &&
	    !sdp_join_unread(&join->way[ssk->side]))
		sdp_join_linger(sk, ssk, join);
	if (!sdp_join_disconnect(sk, ssk))
		return;
	/* As TCP for what is unread: RST. */
	sock_set_flag(sk, SOCK_LINGER);
	sk->sk_lingertime = 0;
}

/* Joining */

/**
 * sdp_join_connects() - the socket connects to an address of this host
 * @sk: locked, not connected
 * @ssk: its SDP state; may be joined from now on
 *
 * Context: process.
 */
void sdp_join_connects(struct sock *sk, struct sdp_sk *ssk)
{
	if (!ssk->payer)
		ssk->payer = get_mem_cgroup_from_mm(current->mm);
	ssk->stream = sdp_join_ops;
	smp_store_release(&ssk->mode, SDP_SK_JOINING);	/* after stream */
}

/*
 * The device that the child's packets came by, as its socket sees it: a link or
 * a VRF that the connection is bound to, or lo.
 */
static int sdp_join_device(const struct sock *sk)
{
	return READ_ONCE(sk->sk_bound_dev_if) ?: LOOPBACK_IFINDEX;
}

static struct sock *sdp_join_find(struct sock *sk)
{
	const struct inet_sock *inet = inet_sk(sk);
	struct net *net = sock_net(sk);
	int dif = sdp_join_device(sk);
	/* Of a VRF, only those that are bound to it. */
	int sdif = l3mdev_master_ifindex_by_index(net, dif);

#if IS_ENABLED(CONFIG_IPV6)
	const struct in6_addr *from = &sk->sk_v6_rcv_saddr;

	if (sk->sk_family == AF_INET6 && !ipv6_addr_v4mapped(&sk->sk_v6_daddr))
		return __inet6_lookup_established(net, SDP_HASHINFO(net) from,
						  inet->inet_sport,
						  &sk->sk_v6_daddr,
						  ntohs(inet->inet_dport),
						  dif, sdif);
#endif
	return __inet_lookup_established(net, SDP_HASHINFO(net)
					 inet->inet_rcv_saddr, inet->inet_sport,
					 inet->inet_daddr,
					 ntohs(inet->inet_dport), dif, sdif);
}

/*
 * See the head of this file.  @sk is locked: what it expects stands still, and the
 * other end, which is not locked, does not hear of anything newer.  It may be in the
 * middle of sending: what has arrived is not in its snd_nxt yet.
 */
static bool sdp_join_is_peer(const struct sock *sk, const struct sock *peer)
{
	const struct tcp_sock *c = tcp_sk(sk), *p = tcp_sk(peer);
	int state = 1 << READ_ONCE(peer->sk_state);

	/* One that has shut down receives by the pipe, and has sent by TCP. */
	return state & (TCPF_ESTABLISHED | TCPF_FIN_WAIT1 | TCPF_FIN_WAIT2) &&
	       c->snd_nxt == c->write_seq && READ_ONCE(p->rcv_nxt) == c->snd_nxt &&
	       !before(c->rcv_nxt, READ_ONCE(p->snd_una)) &&
	       !after(c->rcv_nxt, READ_ONCE(p->write_seq));
}

/* Whether the connection is to itself: the route to its peer is over lo. */
static bool sdp_join_is_local(const struct sock *sk)
{
	struct dst_entry *dst;
	bool local;

	rcu_read_lock();
	dst = __sk_dst_get((struct sock *)sk);
	/* Without a route it may be: the look-up tells. */
	local = !dst || dst->dev->flags & IFF_LOOPBACK ||
		netif_is_l3_master(dst->dev);
	rcu_read_unlock();
	return local;
}

/* Whether a program of the socket's cgroup is to see, and may drop, its packets. */
static bool sdp_join_is_filtered(struct sock *sk)
{
	return sdp_cgroup_asks(sk, INGRESS) || sdp_cgroup_asks(sk, EGRESS);
}

static void sdp_join_set_end(struct sdp_join *join, u8 side, struct sock *sk)
{
	struct sdp_join_way *way = &join->way[side];

	sock_hold(sk);
	rcu_assign_pointer(join->end[side].sk, sk);
	join->end[side].shown = (u32)jiffies;
	if (sk->sk_userlocks & SOCK_RCVBUF_LOCK)
		way->rcvbuf = READ_ONCE(sk->sk_rcvbuf);
}

/* The pair is made, and the child has it; now the client.  false: it has gone. */
static bool sdp_join_client(struct sdp_join *join, struct sdp_sk *pssk)
{
	bool ok;

	spin_lock_bh(&pssk->lock);
	ok = pssk->sk && !pssk->closed && pssk->mode == SDP_SK_JOINING &&
	     !pssk->join;
	if (ok) {
		sdp_join_set_end(join, 1, pssk->sk);
		join->way[1].payer = pssk->payer;
		pssk->payer = NULL;
		pssk->side = 1;
		pssk->join = join;
		smp_store_release(&pssk->mode, SDP_SK_JOINED);	/* after join, side */
	}
	spin_unlock_bh(&pssk->lock);
	return ok;
}

/* Of a child that nobody else knows yet; its socket is locked. */
static bool sdp_join_child(struct sdp_join *join, struct socket *sock,
			   const struct sdp_sk *listener, struct sdp_sk *pssk)
{
	struct sock *sk = sock->sk;
	struct sdp_sk *ssk;
	bool ok;

	if (sdp_ulp_attach(sk, sock))
		return false;
	ssk = sdp_ulp_get(sk);
	ssk->by_ulp = listener->by_ulp;
	ssk->zcopy = READ_ONCE(listener->zcopy);
	ssk->stream = sdp_join_ops;
	sdp_join_set_end(join, 0, sk);
	join->way[0].payer = get_mem_cgroup_from_mm(current->mm);
	sdp_pipe_switch(&join->way[1].pipe, tcp_sk(sk)->write_seq);
	ok = sdp_join_list(sock_net(sk), &join->end[0], ssk) &&
	     sdp_join_list(sock_net(sk), &join->end[1], pssk) &&
	     sdp_join_client(join, pssk);
	if (ok) {
		ssk->join = join;
		ssk->side = 0;
		smp_store_release(&ssk->mode, SDP_SK_JOINED);	/* after join, side */
	} else {
		sdp_join_unlist(sock_net(sk), &join->end[0]);
		sdp_join_unlist(sock_net(sk), &join->end[1]);
		sdp_ulp_detach(sk, sock, ssk);
	}
	sdp_ulp_put(ssk);
	return ok;
}

static bool sdp_join_pair(struct socket *sock, const struct sdp_sk *listener,
			  struct sock *peer, struct sdp_sk *pssk)
{
	struct sdp_join *join = sdp_join_alloc();
	struct sock *sk = sock->sk;
	bool ok;

	if (!join)
		return false;
	lock_sock(sk);
	ok = (1 << sk->sk_state) & (TCPF_ESTABLISHED | TCPF_CLOSE_WAIT) &&
	     sdp_join_is_peer(sk, peer) &&
	     sdp_join_child(join, sock, listener, pssk);
	release_sock(sk);
	if (!ok) {
		if (rcu_access_pointer(join->end[0].sk))
			sock_put(sk);
		mem_cgroup_put(join->way[0].payer);
		kfree(join);
		return false;
	}
	sdp_count(sdp_net(sock_net(sk)), SDP_CNT_JOINS, 1);
	return true;
}

/**
 * sdp_join_accepted() - join a child that TCP has accepted, if it is of this host
 * @sock: its socket, with TCP's operations, not known to the caller of accept() yet
 * @listener: SDP state of the listener
 *
 * Context: process.
 * Return: true if @sock is joined, and ours; false: it is a plain child.
 */
bool sdp_join_accepted(struct socket *sock, const struct sdp_sk *listener)
{
	struct sock *sk = sock->sk, *peer;
	struct sdp_sk *pssk = NULL;
	bool joined = false;

	if (!READ_ONCE(sdp_net(sock_net(sk))->local) ||
	    !sdp_join_is_local(sk) || sdp_ulp_needs_packets(sk) ||
	    sdp_join_is_filtered(sk))
		return false;
	peer = sdp_join_find(sk);
	if (!peer)
		return false;
	if (sk_fullsock(peer))
		pssk = sdp_ulp_get(peer);
	if (pssk && READ_ONCE(pssk->mode) == SDP_SK_JOINING &&
	    !sdp_join_is_filtered(peer))
		joined = sdp_join_pair(sock, listener, peer, pssk);
	sdp_ulp_put(pssk);
	sock_gen_put(peer);
	return joined;
}
