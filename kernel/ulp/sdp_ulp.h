/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The ULP slot of a TCP socket (icsk_ulp_ops, icsk_ulp_data): what makes the
 * socket an SDP socket.
 *
 * Attached: sock->ops is our proto_ops, the slot holds a struct sdp_sk, and
 * sk_state is TCP_CLOSE (or TCP_LISTEN).  Detached: sock->ops is TCP's, the
 * slot is empty, and the socket is a TCP socket like any other.  sk_prot is
 * always TCP's.
 *
 * Each of our operations counts itself in and out (sdp_ulp_enter(),
 * sdp_ulp_leave()) and looks up the slot again.  An operation that was entered
 * through a stale ops pointer finds no slot and calls TCP's operation.
 */
#ifndef _SDP_ULP_H
#define _SDP_ULP_H

#include <linux/mutex.h>
#include <linux/net.h>
#include <net/inet_connection_sock.h>
#include <net/tcp.h>
#include "sdp_conn.h"

struct sdp_join;
struct sdp_stream_ops;

enum sdp_sk_mode {
	SDP_SK_IDLE,		/* no connection by SDP, perhaps a listener: TCP answers */
	SDP_SK_CONNECTING,	/* connecting by SDP; the outcome is open */
	SDP_SK_CONNECTED,	/* conn carries the stream */
	SDP_SK_JOINING,		/* TCP connects, or has, to this host; it may be joined */
	SDP_SK_JOINED,		/* a pipe of this host carries the stream, beside TCP */
	SDP_SK_DETACHED,	/* the socket was given back to TCP */
};

struct sdp_sk {
	struct rcu_head rcu;
	refcount_t ref;
	u8 mode;		/* enum sdp_sk_mode; written under the socket lock */
	u8 reason;		/* enum sdp_reason of the last attempt */
	bool by_ulp;		/* made by TCP_ULP: falls back by default */
	s8 fallback;		/* SDP_FALLBACK; -1: not set */
	int zcopy;		/* SDP_ZCOPY, bytes; -1: the namespace's */
	bool historic;		/* made by the family number for IPv4 */
	bool named;		/* its addresses are those of a connection */
	bool port_ours;		/* sdp_port_take() chose the port, not bind() */
	const struct sdp_stream_ops *stream; /* what carries the stream when connected */
	struct sdp_conn *conn;	/* a reference; written under the socket lock and ssk->lock */
	wait_queue_head_t wq;	/* calls that wait for the outcome of connect().
				 * Not sk_wq: one more wake-up there is one more
				 * report to an edge-triggered poller.
				 */
	struct work_struct decide;
	struct sock *decide_sk;	/* the sock; a reference of the queued work */
	wait_queue_entry_t owned; /* in sk_lock.wq while decide waits for the socket lock */
	struct sockaddr_storage addr;	/* address of connect(), for TCP, as the
					 * cgroup's programs left it
					 */
	int addr_len;
	unsigned int connecting; /* connect() calls that wait; under the socket lock */

	u8 side;		/* which end of join; written before the mode */
	unsigned int tcp_sends;	/* callers that send by TCP, of a direction that has not
				 * switched; under lock
				 */
	struct mem_cgroup *payer; /* charged for what is sent here, if it is joined; under lock */
	struct sdp_join *join;	/* a reference; written once, before the mode */

	spinlock_t lock;	/* softirq-safe; nests inside conn->up.lock */
	struct sock *sk;	/* the socket to wake; NULL when it is gone */
	bool closed;		/* no more wake-ups, no more children */
	bool reported;		/* sk_err was set from the connection */
	/* For a listener: */
	struct list_head setup;	/* children in set-up that are on no other list */
	struct list_head silent; /* answered children, not heard of since; oldest first */
	struct list_head asides; /* silent children without a place; oldest first */
	struct list_head deferred; /* established children that have sent nothing */
	struct delayed_work defer; /* the first child of deferred has waited long enough */
	struct rb_root_cached acceptq; /* children for accept(), in the order of their requests */
	unsigned int qlen;	/* places of the backlog that are taken, on all lists */
	unsigned int aside;	/* children without a place in the backlog */
	unsigned int acceptable; /* children in acceptq */
	struct mutex listening;	/* guards port and place; taken before the socket lock */
	u16 port;		/* port that the transports listen on; 0: none */
	u32 place;		/* index in sdp_net.all_listeners while port is set */
};

/* What the slot of a socket calls; see sdp_ulp_init(). */
struct sdp_ulp_calls {
	work_func_t decide;	/* decides the outcome of connect() */
	work_func_t defer;	/* takes children whose deferral is over */
	void (*free)(struct sdp_sk *ssk);	/* the slot is being freed; softirq */
};

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

u8 sdp_ulp_state(const struct sock *sk);
struct sdp_sk *sdp_ulp_get(struct sock *sk);
void sdp_ulp_put(struct sdp_sk *ssk);
int sdp_ulp_attach(struct sock *sk, struct socket *sock);
void sdp_ulp_detach(struct sock *sk, struct socket *sock, struct sdp_sk *ssk);
bool sdp_ulp_renew(struct sock *sk, struct sdp_sk *ssk);
void sdp_ulp_idle(struct sdp_sk *ssk);
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
		 const struct sdp_ulp_calls *calls,
		 const struct sdp_stream_ops *stream);
int sdp_ulp_open(void);
void sdp_ulp_close(void);
void sdp_ulp_exit(void);

extern struct proto_ops sdp_ulp_ops[2];	/* ours: IPv4, IPv6 */

void sdp_ulp_queue_decide(struct sdp_sk *ssk);
void sdp_ulp_queue_defer(struct sdp_sk *ssk, unsigned long delay);
bool sdp_ulp_lock_or_later(struct sdp_sk *ssk);

#endif
