/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Two sockets of one host, joined: the path inside one host.
 *
 * TCP makes the connection, over lo, as ever; look-up, backlog, hooks, SYN, FIN,
 * RST, TIME_WAIT and ss are TCP's.  A socket of ours that connects to an address
 * of this host keeps its slot meanwhile (SDP_SK_JOINING).  When a listener of
 * ours accepts the child, the other end is looked up among the established
 * sockets of the namespace and proved by its sequence numbers, and the two are
 * joined by a pipe for each direction (SDP_SK_JOINED).  From then on bytes go
 * through the pipes, and TCP's sequence numbers stand still: so each direction
 * can return to TCP at any byte, for good.  Whatever is unusual is left to TCP
 * that way, and is TCP's to the letter.
 *
 * Whoever looks at packets, as connection tracking does, is to know that the
 * connection is in use: each second in which bytes go by a pipe each end has TCP
 * send one ACK (sdp_join_show()).
 *
 * No code takes a lock of the other end's.  What one end knows of the other is
 * the sock, under RCU, to wake it; NULL when the other end was closed.
 *
 *   sdp_join.c		prove and join; wake; end
 *   sdp_join_loan.c	one copy: memory of a sender that waits
 *   sdp_join_send.c	into the pipe, or by TCP
 *   sdp_join_recv.c	what TCP carried first, the pipe, what TCP carries later
 *   sdp_join_stream.c	the table for the socket layer (sdp_stream.h)
 */
#ifndef _SDP_JOIN_H
#define _SDP_JOIN_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include "sdp_net.h"
#include "sdp_pipe.h"
#include "sdp_ulp.h"
#include "sdp_zpolicy.h"

struct sdp_umem;

enum { SDP_JOIN_LOAN_LEAST = 32 * 1024 };	/* bytes; fewer are never lent */

/* One direction. */
struct sdp_join_way {
	struct sdp_pipe pipe;
	struct mutex send;	/* makes its callers one producer */
	struct mutex recv;	/* makes its callers one consumer */
	struct mem_cgroup *payer; /* the reader's, charged for the buffers; a reference */
	u32 kept;		/* bytes of the pipe's own buffers; the producer's */
	u32 rcvbuf;		/* bytes of SO_RCVBUF if the reader has set it; else 0 */
	bool stamps;		/* the reader wants to know when bytes came */
	bool show;		/* the reader is to show itself: sdp_join_show() */
	ktime_t stamp;		/* when the last byte was put, if it does */
	u64 bytes;		/* that were put; the producer's */
	u32 tells;		/* times that the reader was told of them; the producer's */
	u32 at;			/* jiffies when the last were; 0: none yet */
	struct mutex lend;	/* guards what is lent; see sdp_join_loan.c */
	struct sdp_umem *lent;	/* memory that a sender lends; NULL: none */
	u32 lent_left;		/* bytes of it that are unread, behind the pipe's; 0 if none is
				 * lent; released
				 */
	bool lent_full;		/* another sender waits for the end of the loan */
	u32 spin_ns;		/* ns that the reader polls before it sleeps; learnt */
	bool asleep;		/* the reader sleeps in recv(); a hint */
	struct sdp_zpolicy zpolicy; /* whether to lend; the producer's */
	u32 looked;		/* jiffies when the producer looked for who watches */
};

struct sdp_join_end {
	struct sock __rcu *sk;	/* a reference; NULL when the end was closed */
	u32 shown;		/* jiffies when it last was: sdp_join_show() */
	struct sock *gone;	/* what sk was, until callers under RCU are over */
	struct sdp_join *join;	/* the pair, and a reference to it until then */
	u32 place;		/* of the slot in sdp_net.all_joined; 0: none */
	struct rcu_head rcu;
};

/* End i reads way[i] and writes way[!i]. */
struct sdp_join {
	refcount_t ref;
	struct sdp_join_end end[2];
	struct sdp_join_way way[2];
};

/**
 * sdp_join_get() - what the socket is joined by
 * @ssk: its SDP state
 *
 * Context: any.
 * Return: the pair, which stays as long as @ssk does; NULL: it is not joined.
 */
static inline struct sdp_join *sdp_join_get(const struct sdp_sk *ssk)
{
	/* then join and side */
	return smp_load_acquire(&ssk->mode) == SDP_SK_JOINED ? ssk->join : NULL;
}

/**
 * sdp_join_is_closed() - whether the other end was closed
 * @join: the pair
 * @side: the caller's
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool sdp_join_is_closed(const struct sdp_join *join, u8 side)
{
	return !rcu_access_pointer(join->end[!side].sk);
}

/**
 * sdp_join_unread() - bytes that were sent and are not read
 * @way: the direction
 *
 * Context: any; exact for the consumer.  0 only if that was so at a time.
 * Return: bytes of the pipe and of what is lent.
 */
static inline u32 sdp_join_unread(const struct sdp_join_way *way)
{
	/* First: what is put back into the pipe is counted there. */
	u32 lent = smp_load_acquire(&way->lent_left);

	return sdp_pipe_fill(&way->pipe) + lent;
}

/**
 * sdp_join_is_unseen() - whether no packet of this end was seen for some time
 * @end: the caller's
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool sdp_join_is_unseen(const struct sdp_join_end *end)
{
	return (u32)jiffies - READ_ONCE(end->shown) >= HZ;
}

void sdp_join_show(struct sock *sk, struct sdp_join_end *end);

/**
 * sdp_join_show_sender() - show that the connection is in use, if that is due
 * @sk: the sender; not locked
 * @join: the pair
 * @side: the sender's
 *
 * Context: process, in a call that has sent; sleeps.
 */
static inline void sdp_join_show_sender(struct sock *sk, struct sdp_join *join,
					u8 side)
{
	if (likely(!sdp_join_is_unseen(&join->end[side])))
		return;
	WRITE_ONCE(join->way[!side].show, true);	/* the reader, in its turn */
	sdp_join_show(sk, &join->end[side]);
}

void sdp_join_init(const struct sdp_stream_ops *ops);
void sdp_join_connects(struct sock *sk, struct sdp_sk *ssk);
bool sdp_join_accepted(struct socket *sock, const struct sdp_sk *listener);
void sdp_join_put_noted(struct sdp_join_way *way, u64 bytes);
void sdp_join_wake_reader(struct sdp_join *join, u8 side);
void sdp_join_wake_writer(struct sdp_join *join, u8 side);
void sdp_join_leave(const struct sock *sk, struct sdp_join_way *way,
		    enum sdp_counter why);
int sdp_join_give_back(struct socket *sock, struct sdp_sk *ssk, bool empty);
void sdp_join_abandon(struct sock *sk, struct sdp_sk *ssk);
void sdp_join_close(struct sock *sk, struct sdp_sk *ssk);
void sdp_join_free(struct sdp_sk *ssk);

struct sdp_pipe_buf *sdp_join_buf(const struct sock *sk,
				  struct sdp_join_way *way, size_t want);

bool sdp_join_may_lend(const struct sock *sk, const struct sdp_sk *ssk,
		       const struct msghdr *msg);
bool sdp_join_prefers_loan(const struct sock *sk, struct sdp_join_way *way,
			   size_t len, u64 now);
ssize_t sdp_join_lend(struct sock *sk, struct sdp_join *join, u8 side,
		      struct iov_iter *iter, u32 most, long *timeo, u64 *slept);
bool sdp_join_is_lent(struct sdp_join_way *way);
ssize_t sdp_join_read_loan(struct sdp_join *join, u8 side, u32 pos,
			   struct iov_iter *to, size_t len, bool keep);

int sdp_join_send(struct sock *sk, struct sdp_sk *ssk, struct msghdr *msg,
		  size_t len, long timeo);
int sdp_join_recv(struct sock *sk, struct sdp_sk *ssk, struct msghdr *msg,
		  size_t len, int flags, long timeo);
u32 sdp_join_inq(const struct sock *sk, const struct sdp_join_way *way);
bool sdp_join_is_readable(const struct sock *sk, const struct sdp_join_way *way,
			  u32 n);
u32 sdp_join_received(const struct sock *sk, const struct sdp_join_way *way);
u32 sdp_join_limit(const struct sock *sk, const struct sdp_join_way *way);
void sdp_join_sync(const struct sock *sk, struct sdp_join_way *way);

extern const struct sdp_stream_ops sdp_join_stream_ops;

#endif
