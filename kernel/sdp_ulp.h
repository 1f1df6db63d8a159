/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The slot of a TCP socket: what makes it one of ours.
 *
 * Attached: our proto_ops in sock->ops, a struct sdp_sk in the upper-layer
 * slot, sk_state CLOSE (or LISTEN).  Detached: TCP's ops, slot empty; a TCP
 * socket like any other.  sk_prot is TCP's, always.
 *
 * Every operation of ours counts itself in and out (sdp_ulp_enter(),
 * sdp_ulp_leave()), and looks the slot up anew: an operation that was entered
 * through a stale pointer finds no slot and calls TCP's.
 */
#ifndef _SDP_ULP_H
#define _SDP_ULP_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "sdp_conn.h"

enum sdp_sk_mode {
	SDP_SK_IDLE,		/* neither connected nor listening: TCP decides */
	SDP_SK_CONNECTING,	/* over SDP; the outcome is open */
	SDP_SK_CONNECTED,	/* conn carries the stream */
	SDP_SK_DETACHED,	/* the slot is given up: TCP's now */
};

struct sdp_sk {
	struct rcu_head rcu;
	refcount_t ref;
	u8 mode;		/* enum sdp_sk_mode; written under the socket lock */
	u8 reason;		/* enum sdp_reason of the last attempt */
	bool by_ulp;		/* door 3: falling back is silent */
	s8 fallback;		/* SDP_FALLBACK; -1: not set */
	int zcopy;		/* SDP_ZCOPY; -1: the namespace's */
	bool historic;		/* made by the family number for IPv4 */
	bool named;		/* it has the names of a connection, */
	bool port_ours;		/* and a port by sdp_port_take(), not by bind() */
	struct sdp_conn *conn;	/* a reference; written under the socket lock */
	wait_queue_head_t wq;	/* calls that wait for the outcome.  Not sk_wq:
				 * one more wake-up there is one more report
				 * to an edge-triggered poller.
				 */
	struct work_struct decide;
	struct sock *decide_sk;	/* the worker's reference */
	wait_queue_entry_t owned; /* in sk_lock.wq: the worker waits for the lock */
	struct sockaddr_storage addr;	/* of connect(), for TCP, as the cgroup's
					 * programs left it
					 */
	int addr_len;
	unsigned int connecting; /* calls of connect() that wait; socket lock */

	spinlock_t lock;	/* softirq-safe; under conn->up.lock */
	struct sock *sk;	/* whom to wake; NULL when it is gone */
	bool closed;		/* no more wake-ups, no more children */
	bool reported;		/* sk_err was set from the connection */
	/* Of a listener. */
	struct list_head setup;	/* children not yet established, but for */
	struct list_head silent; /* those who were answered, in that order, and */
	struct list_head asides; /* those of them without a place any more */
	struct list_head deferred; /* established children that have said nothing */
	struct delayed_work defer; /* the first of them has waited for long enough */
	struct rb_root_cached acceptq; /* in the order of their requests */
	unsigned int qlen;	/* all: places of the backlog taken */
	unsigned int aside;	/* children without a place, of asides or setup */
	unsigned int acceptable; /* length of acceptq */
	struct mutex listening;	/* port and place change; over the socket lock */
	u16 port;		/* that the transport listens on; 0: none */
	u32 place;		/* in sdp_net.all_listeners, while it has a port */
};

/* What the workers of a socket do; see sdp_ulp_init(). */
struct sdp_ulp_works {
	work_func_t decide;	/* the outcome of a connect() is known */
	work_func_t defer;	/* TCP_DEFER_ACCEPT's time is over for a child */
};

/* The transport of every connection, so far. */
extern const struct sdp_xport *sdp_ulp_xport;

extern const struct proto_ops *sdp_tcp_ops[2];	/* TCP's own: IPv4, IPv6 */

/**
 * sdp_ulp_tcp() - TCP's own operations for this socket
 * @sk: a TCP socket
 *
 * Context: any.
 * Return: the table.
 */
static inline const struct proto_ops *sdp_ulp_tcp(const struct sock *sk)
{
	return sdp_tcp_ops[sk->sk_family == AF_INET6];
}

DECLARE_PER_CPU(long, sdp_ulp_inflight);

static inline void sdp_ulp_enter(void)
{
	this_cpu_inc(sdp_ulp_inflight);
}

static inline void sdp_ulp_leave(void)
{
	this_cpu_dec(sdp_ulp_inflight);
}

struct sdp_sk *sdp_ulp_get(struct sock *sk);
void sdp_ulp_put(struct sdp_sk *ssk);
int sdp_ulp_attach(struct sock *sk, struct socket *sock);
void sdp_ulp_detach(struct sock *sk, struct socket *sock, struct sdp_sk *ssk);
bool sdp_ulp_hand_on(void);
void sdp_ulp_hand_back(bool held);

#define SDP_TCP_CALL(sk, call, ...) ({					\
	bool held_ = sdp_ulp_hand_on();					\
	typeof(sdp_ulp_tcp(sk)->call(__VA_ARGS__)) ret_ =		\
		sdp_ulp_tcp(sk)->call(__VA_ARGS__);			\
	sdp_ulp_hand_back(held_);					\
	ret_; })

struct sock *sdp_ulp_steal(struct net *net, int family, int kern);
bool sdp_ulp_may_fall_back(const struct sock *sk, const struct sdp_sk *ssk);
bool sdp_ulp_needs_packets(const struct sock *sk);
int sdp_ulp_init(void (*fill)(struct proto_ops *ops),
		 const struct sdp_ulp_works *works, const struct sdp_xport *xp);
int sdp_ulp_open(void);
void sdp_ulp_close(void);
void sdp_ulp_exit(void);

extern struct proto_ops sdp_ulp_ops[2];	/* ours: IPv4, IPv6 */

void sdp_ulp_queue_decide(struct sdp_sk *ssk);
void sdp_ulp_queue_defer(struct sdp_sk *ssk, unsigned long delay);
bool sdp_ulp_lock_or_later(struct sdp_sk *ssk);

#endif
