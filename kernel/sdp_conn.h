/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connection: what lives between a socket and a transport.
 *
 * It exists before accept() gives it a socket and after close() has taken the
 * socket away, so it belongs to neither.
 *
 * References.  One each is held by
 *   - the socket that carries it, or the listener in whose queue it stands
 *     (dropped when it is detached);
 *   - the transport, from connect() or spawn() until it has carried out
 *     SDP_DO_FREE;
 *   - the queued worker and the pending timer.
 * The last one frees it.  It holds its namespace, so counters stay valid.
 *
 * Locking strategy.  Order: the socket lock, then conn->rx.poll (a mutex that
 * workers only ever try: who has it may be a caller who gets no memory, or no
 * processor), then conn->lock, then conn->rx.lock; conn->up.lock stands alone.
 *   - conn->lock: state, first error, flow control, modes, the send queue.
 *     One lock, because a header is one snapshot of all of them.  Posting to
 *     the transport happens under it, in both directions: so conn->queues, set
 *     and cleared under it, begins and ends all posting, and messages leave in
 *     the order of their sequence numbers.
 *   - conn->rx.lock: what arrived and waits for a reader.
 *   - conn->up.lock: who is told.  Held during the call up, which may only
 *     wake and take leaf locks.
 *   - conn->rx.poll: the right to poll for receives, hence everything that is
 *     learned from a received message.  Who fails to get it leaves a mark
 *     (SDP_CONN_AGAIN) that the holder sees before he goes.  The transport's
 *     worker leaves another (SDP_CONN_WANTED), for which it is called again;
 *     until it has had its turn nobody else takes it.
 *   - the socket lock: the reader's own list (rx.ready) and the sender's
 *     page fragment.
 * Completion handlers take none of them: they set a bit and wake a caller who
 * waits, or queue the worker.
 */
#ifndef _SDP_CONN_H
#define _SDP_CONN_H

#include <linux/in6.h>
#include <linux/mutex.h>
#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/uidgid.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include "sdp_buf.h"
#include "sdp_conn_stats.h"
#include "sdp_cork.h"
#include "sdp_flow.h"
#include "sdp_mode.h"
#include "sdp_net.h"
#include "sdp_peer_ring.h"
#include "sdp_reg_order.h"
#include "sdp_ring.h"
#include "sdp_rtt.h"
#include "sdp_state.h"
#include "sdp_timers.h"
#include "sdp_xport.h"
#include "sdp_zcopy.h"
#include "sdp_zpolicy.h"

struct sdp_addr {
	struct in6_addr ip;	/* IPv4 as v4-mapped */
	__be16 port;
};

/* The only way up.  All may be called in process or softirq context, under
 * conn->up.lock: they wake, and do not call back into the connection.
 */
struct sdp_conn_ops {
	void (*data_ready)(struct sdp_conn *conn, void *upper);
	void (*write_space)(struct sdp_conn *conn, void *upper);
	/* Established, end of stream, or closed: look at the state. */
	void (*state_change)(struct sdp_conn *conn, void *upper);
	/* Urgent data was announced, or has come; see sdp_urg.h. */
	void (*urgent)(struct sdp_conn *conn, void *upper);
	/* The connection failed; conn->err is set (a positive errno). */
	void (*error)(struct sdp_conn *conn, void *upper);
};

enum sdp_conn_flag {
	SDP_CONN_FIRED_RECV,	/* event: receives to poll, queue not armed */
	SDP_CONN_FIRED_SEND,	/* event: send completions, queue not armed */
	SDP_CONN_AGAIN,		/* somebody wanted rx.poll and did not get it */
	SDP_CONN_WANTED,	/* so did the transport's worker, which is next */
	SDP_CONN_OPEN,		/* receives may be polled: the QP is in RTS */
	SDP_CONN_EOF,		/* the peer's DisConn was heard */
	SDP_CONN_WAS_UP,	/* it was established at some time */
	SDP_CONN_UNCORK,	/* corked bytes have waited long enough */
	SDP_CONN_PROBED,	/* the probe has its answer */
	SDP_CONN_CHECK,		/* time to look whether the peer is there */
	SDP_CONN_SIGURG,	/* urgent data was announced */
	SDP_CONN_FETCH,		/* nobody has come to take what is offered */
};

/* Control messages that wait to be posted, as bits: one of a kind suffices. */
enum sdp_ctl {
	SDP_CTL_SENDSM		= 0x01,
	SDP_CTL_RCVBUF_ACK	= 0x02,
	SDP_CTL_SUSP_ACK	= 0x04,
	SDP_CTL_ABORT		= 0x08,
	SDP_CTL_KEEPALIVE	= 0x10,
	SDP_CTL_RCVBUF		= 0x20,
	SDP_CTL_RD_COMPL	= 0x40,
	SDP_CTL_SRC_CANCEL	= 0x80,
	SDP_CTL_WR_COMPL	= 0x100,
	SDP_CTL_SINK_AVAIL	= 0x200,
	SDP_CTL_SINK_CANCEL	= 0x400,
	SDP_CTL_CANCEL_ACK	= 0x800,
};

enum { SDP_CTL_MSGS = 8 };	/* control messages under way, at most */

/* What sdp_tx_wc() found, to be acted upon without the lock. */
enum sdp_tx_done {
	SDP_TX_DONE_FIN		= 0x01,
	SDP_TX_DONE_SPACE	= 0x02,
	SDP_TX_DONE_LOST	= 0x04,
	SDP_TX_DONE_ABORT	= 0x08,
	SDP_TX_DONE_TIMEOUT	= 0x10,
	SDP_TX_DONE_READ	= 0x20,
	SDP_TX_DONE_UMR	= 0x40,
};

/* What both devices can: set before it is established, read without locks after. */
struct sdp_caps {
	bool may_read;		/* what the peer advertises may be read */
	bool may_lend;		/* memory may be advertised for the peer to read */
	bool may_end;		/* the peer takes Send-with-Invalidate */
	u32 umem_max;		/* bytes that one key can be for */
};

/* Pages for messages, not cleared, by sdp_buf.c; under conn->lock. */
struct sdp_spare {
	u8 n;
	struct page *pages[SDP_TX_SPARE];
};

/* Is there one?  A hint without the lock. */
static inline bool sdp_spare_any(const struct sdp_spare *spare)
{
	return READ_ONCE(spare->n);
}

/* What one poll found, by sdp_rx.c; under rx.poll. */
struct sdp_found {
	bool data;		/* something for the reader came */
	bool urgent;		/* something urgent came */
	bool advert;		/* something was advertised */
	bool fin;		/* DisConn came */
	bool reset;		/* AbortConn came */
	bool lost;		/* a completion failed */
	bool told;		/* the socket knows of one of these three */
	int fail;		/* protocol error, negative errno */
};

struct sdp_conn {
	/* Set at birth, read without locks. */
	refcount_t ref;
	struct rcu_head rcu;
	u32 id;				/* names it in every trace line */
	bool active;			/* we sent the Hello */
	bool probe;			/* we only ask whether one would do */
	u32 limit_ms;			/* to be established, active side */
	u8 family;			/* AF_INET or AF_INET6, of the wire */
	kuid_t uid;			/* charged for it */
	struct mem_cgroup *payer;	/* of its buffers; NULL: who makes one */
	bool owned;			/* somebody has it and pays; set under rx.lock */
	const struct sdp_xport *xp;
	void *xp_priv;			/* the transport's own half */
	struct net *net;
	struct sdp_net *sn;
	struct sdp_addr remote;
	struct sdp_addr local;		/* final when established */
	int ifindex;			/* bound device, 0: any */
	u32 mark;			/* for the route */
	u8 tos;				/* IP_TOS or IPV6_TCLASS; 0: none */

	/* Set before it is established, read without locks after. */
	u32 rcv_size;			/* of new receive buffers; see sdp_ring.c */
	u32 snd_max;			/* payload bytes of a message; may grow */
	bool building;			/* a sender makes a message so long: see sdp_chrcvbuf.h */
	u8 reason;			/* enum sdp_reason, when refused */
	unsigned long silent_at;	/* passive: jiffies when who has said
					 * nothing since we answered may be
					 * put out of a full backlog; else 0
					 */

	/* Callers and events; see sdp_conn_kick(). */
	unsigned long flags;		/* enum sdp_conn_flag */
	atomic_t users;			/* callers inside a call */
	u32 spin_ns;			/* that polling is worth; see sdp_busy_poll.c */
	int zcopy;			/* bytes from which on; -1: the namespace's */
	bool stamps;			/* the user wants to know when bytes came */
	wait_queue_head_t wq;		/* callers who sleep in one */
	struct work_struct work;	/* polls when no caller does */
	struct delayed_work timer;	/* FIN_WAIT_2 of an orphan, LAST_ACK */
	struct delayed_work uncork;	/* sets SDP_CONN_UNCORK */
	struct delayed_work check;	/* sets SDP_CONN_CHECK */
	struct delayed_work fetch;	/* sets SDP_CONN_FETCH */

	struct {
		spinlock_t lock;	/* who is told */
		const struct sdp_conn_ops *ops;
		void *upper;
	} up;

	/*
	 * The connection as a whole, under lock.  What stands behind it, down to
	 * tx, is too, where it does not say otherwise.
	 */
	spinlock_t lock;
	enum sdp_state state;
	int err;			/* the first error, positive errno */
	bool queues;			/* the transport has its queues: see sdp_xport.h */
	bool dead;			/* the transport has let go: no more posts */
	struct sdp_flow flow;
	struct sdp_mode mode;

	struct sdp_caps caps;
	struct sdp_timers timers;
	struct sdp_peer_ring peer_ring;
	struct sdp_cork cork;
	struct sdp_zpolicy zpolicy;
	struct sdp_zsrc zsrc;
	struct sdp_zsrc_async zsrc_async;
	struct sdp_zsink zsink;
	struct sdp_reg_order reg;
	struct sdp_spare spare;
	struct sdp_conn_stats stats;

	struct {
		bool broken;		/* a send failed: nothing may follow it */
		bool orphan;		/* no socket will come back for it */
		bool fin_queued;	/* DisConn is the last of the stream */
		bool fin_posted;
		bool abort_posted;
		bool abort_heard;	/* the peer's AbortConn */
		bool want_space;	/* a caller or poller waits for room */
		bool waiting;		/* the next message waits for a credit */
		bool armed;		/* an event of send completions will come */
		bool fired;		/* it has come, completions are being reaped */
		bool timed_out;		/* the peer's device did not answer */
		u16 oob;		/* urgent messages not announced yet */
		u16 ctl;		/* enum sdp_ctl, to be posted */
		u8 done;		/* enum sdp_tx_done, to be acted upon */
		u16 sq_size;		/* places in the send queue */
		u16 inflight;		/* places that are taken */
		u16 watched_ops;	/* of those, whose completion is awaited */
		u16 unsignalled;	/* of those, since the last signalled */
		u32 unsignalled_bytes;	/* the same in bytes */
		u32 limit_least;	/* bytes outstanding to a peer that reads, at most */
		u32 limit_most;		/* the same to a peer that does not read */
		u32 limit;		/* the same now, between these two */
		u32 notsent_lowat;	/* bytes not posted, from which on a writer waits */
		u32 outstanding;	/* bytes queued or under way */
		u32 inflight_bytes;	/* bytes under way */
		struct list_head queue;	/* built, not posted */
		struct list_head posted; /* in the order of completion */
		struct list_head back;	/* registrations to be invalidated */
		struct sdp_msg ctl_msg[SDP_CTL_MSGS];
		struct list_head ctl_free; /* those of ctl_msg that are not under way */
		unsigned long sent_at;	/* jiffies of the last message with payload */
		struct sdp_rtt rtt;
	} tx;

	/* Of both rx.poll and rx.lock, and some of lock: each member says it. */
	struct sdp_ring ring;

	struct {
		struct mutex poll;	/* the right to poll for receives */
		struct list_head idle;	/* to be posted again; under poll */
		bool over;		/* the end was told: no byte comes behind it;
					 * under poll and conn->lock
					 */
		unsigned long data_at;	/* jiffies of the last data message; under poll */
		/* Jiffies of the last message; keepalive writes it as well, under
		 * conn->lock, where an older one is as good.
		 */
		unsigned long heard;

		spinlock_t lock;	/* what follows */
		struct list_head queue;	/* arrived */
		struct list_head all;	/* every buffer, by sdp_buf.all */
		u64 bytes;		/* of the stream that have come */
		u32 inq;		/* payload bytes not yet read */
		bool coming;		/* some were heard and are not in inq yet;
					 * set under conn->lock
					 */
		u32 read;		/* bytes read, modulo 2^32 */
		struct {
			u32 seq;	/* of the urgent byte, as read counts */
			u32 hole;	/* of those it replaced, as read counts */
			u32 holes;	/* how many, side by side */
			u32 mark;	/* its name, see sdp_buf.mark */
			u16 data;	/* the byte, and what is with it */
			u16 pending;	/* announced, and not here yet */
		} urg;
		u32 fetched;		/* bytes of pages given to RDMA Reads, unread */
		u32 fetching;		/* of those, in Reads that are not complete */

		/* Under the socket lock. */
		struct list_head ready;	/* taken from queue by the reader */
		ktime_t stamp;		/* sdp_buf.stamp of the last byte read */
	} rx;
	struct sdp_found found;

	/* Lists of others. */
	u32 place;			/* in sdp_net.all_conns */
	struct list_head accept_node;	/* the listener's, its lock; */
	struct rb_node acceptq_node;	/* in its acceptq instead */
	bool acceptable;		/* established in a listener's queue; ditto */
	bool aside;			/* silent, its place is another's; ditto */
	bool deferred;			/* established, and has not said anything; ditto */
	unsigned long defer_until;	/* jiffies, when accept() may have it all the same */
};

struct sdp_conn *sdp_conn_alloc(const struct sdp_xport *xp, struct net *net,
				kuid_t uid, work_func_t work, gfp_t gfp);
void sdp_conn_own(struct sdp_conn *conn);

/**
 * sdp_conn_get() - take a reference
 * @conn: a connection that somebody holds
 *
 * Context: any.
 * Return: @conn.
 */
static inline struct sdp_conn *sdp_conn_get(struct sdp_conn *conn)
{
	refcount_inc(&conn->ref);
	return conn;
}

void sdp_conn_put(struct sdp_conn *conn);
unsigned int sdp_conn_event(struct sdp_conn *conn, enum sdp_event event);
bool sdp_conn_tell_abort(struct sdp_conn *conn);
void sdp_conn_fail(struct sdp_conn *conn, int err, enum sdp_event event,
		   const char *why);
void sdp_conn_refuse(struct sdp_conn *conn, int err, u8 reason);
void sdp_conn_attach(struct sdp_conn *conn, const struct sdp_conn_ops *ops,
		     void *upper);

/**
 * sdp_conn_zcopy() - from which length on nothing is copied
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; 0: all is copied.
 */
static inline u32 sdp_conn_zcopy(const struct sdp_conn *conn)
{
	int own = READ_ONCE(conn->zcopy);

	return own < 0 ? READ_ONCE(conn->sn->zcopy_thresh) : own;
}

/**
 * sdp_conn_unread() - does anything of the stream wait for the reader?
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: true if it does, is being read by RDMA for the reader, or was heard just now.
 */
static inline bool sdp_conn_unread(struct sdp_conn *conn)
{
	bool unread;

	spin_lock(&conn->rx.lock);
	unread = conn->rx.inq || conn->rx.fetched || conn->rx.coming;
	spin_unlock(&conn->rx.lock);
	return unread;
}

/* The calls up; process or softirq context, no spinlock held. */
void sdp_conn_data_ready(struct sdp_conn *conn);
void sdp_conn_write_space(struct sdp_conn *conn);
void sdp_conn_state_change(struct sdp_conn *conn);
void sdp_conn_urgent(struct sdp_conn *conn);
void sdp_conn_kick(struct sdp_conn *conn, enum sdp_conn_flag flag);
void sdp_conn_queue_work(struct sdp_conn *conn);

/**
 * sdp_conn_enter() - a caller is here and will poll
 * @conn: the connection, referenced
 *
 * Context: process.
 */
static inline void sdp_conn_enter(struct sdp_conn *conn)
{
	atomic_inc(&conn->users);
}

void sdp_conn_leave(struct sdp_conn *conn);

/**
 * sdp_conn_state() - the state as it is at this moment
 * @conn: the connection
 *
 * Context: any.
 * Return: the state; without conn->lock it may be history.
 */
static inline enum sdp_state sdp_conn_state(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->state);
}

void sdp_conn_start_timer(struct sdp_conn *conn, unsigned int ms);
void sdp_conn_stop_timer(struct sdp_conn *conn);
void sdp_conn_uncork_later(struct sdp_conn *conn, unsigned long delay);
void sdp_conn_uncork_never(struct sdp_conn *conn);
void sdp_conn_fetch_later(struct sdp_conn *conn, unsigned long delay);
void sdp_conn_fetch_never(struct sdp_conn *conn);
void sdp_conn_check_later(struct sdp_conn *conn, unsigned long delay);
void sdp_conn_check_never(struct sdp_conn *conn);
int sdp_conn_init(void);
void sdp_conn_wait_all(void);
void sdp_conn_exit(void);

/**
 * sdp_conn_stamp() - the time of what has come right now
 * @conn: the connection
 *
 * Context: any.
 * Return: the time by the clock on the wall; 0 if the user does not ask for it.
 */
static inline ktime_t sdp_conn_stamp(const struct sdp_conn *conn)
{
	return unlikely(READ_ONCE(conn->stamps)) ? ktime_get_real() : 0;
}

#endif
