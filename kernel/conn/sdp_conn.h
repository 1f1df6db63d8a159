/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The connection: the object between a socket and a transport.
 *
 * It exists before accept() gives it a socket and after close() has taken the
 * socket away, so it belongs to neither.
 *
 * References.  One each is held by
 *   - the socket that carries it, or the listener in whose queue it stands
 *     (dropped when the connection is detached);
 *   - the transport, from connect() or spawn() until it has carried out
 *     SDP_DO_FREE;
 *   - the queued worker, and each delayed work that is pending.
 * Dropping the last reference frees it.  The connection holds its namespace, so
 * counters stay valid.
 *
 * Locking strategy.  Order: the socket lock, then conn->rx.poll (a mutex), then
 * conn->lock, then conn->rx.lock; conn->up.lock stands alone.  Workers only
 * ever try rx.poll, because its holder may be a caller that waits for memory or
 * for a processor.
 *   - conn->lock: state, first error, flow control, modes, the send queue.
 *     One lock, because a header is one snapshot of all of them.  Posting to
 *     the transport happens under it, in both directions.  So conn->queues, set
 *     and cleared under it, begins and ends all posting, and messages leave in
 *     the order of their sequence numbers.
 *   - conn->rx.lock: what arrived and waits for a reader.
 *   - conn->up.lock: the layer above that is told of events.  Held during the
 *     call up, which may only wake and take leaf locks.
 *   - conn->rx.poll: the right to poll for receives, hence everything that is
 *     learned from a received message.  A caller that fails to get it sets
 *     SDP_CONN_AGAIN, which the poller sees before it leaves.  The transport's
 *     worker sets SDP_CONN_WANTED instead, and is called again when rx.poll is
 *     released; until the worker has had its turn nobody else takes the mutex.
 *   - the socket lock: the reader's own list (rx.ready) and the sender's
 *     page fragment.
 * Completion handlers take none of them: they set a bit and wake a waiting
 * caller, or queue the worker.
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
#include "sdp_post_wait.h"
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

/* Calls to the layer above, a socket or a listener; there is no other way up.
 * All may be called in process or softirq context, under conn->up.lock: they
 * wake, and do not call back into the connection.
 */
struct sdp_conn_ops {
	void (*data_ready)(struct sdp_conn *conn, void *upper);
	void (*write_space)(struct sdp_conn *conn, void *upper);
	/* Established, end of stream, or closed: look at the state. */
	void (*state_change)(struct sdp_conn *conn, void *upper);
	/* Urgent data was announced, or has arrived; see sdp_urg.h. */
	void (*urgent)(struct sdp_conn *conn, void *upper);
	/* The connection failed; conn->err is set (a positive errno). */
	void (*error)(struct sdp_conn *conn, void *upper);
};

enum sdp_conn_flag {
	SDP_CONN_FIRED_RECV,	/* event: receives to poll, queue not armed */
	SDP_CONN_FIRED_SEND,	/* event: send completions, queue not armed */
	SDP_CONN_AGAIN,		/* a caller failed to get rx.poll: poll again */
	SDP_CONN_WANTED,	/* the transport's worker waits for rx.poll and is next */
	SDP_CONN_OPEN,		/* receives may be polled: the QP is in RTS */
	SDP_CONN_EOF,		/* the peer's DisConn was received */
	SDP_CONN_WAS_UP,	/* the connection was established at some time */
	SDP_CONN_UNCORK,	/* corked bytes have waited long enough */
	SDP_CONN_PROBED,	/* the probe has its answer */
	SDP_CONN_CHECK,		/* the timers are due: see sdp_check.c */
	SDP_CONN_SIGURG,	/* urgent data was announced */
	SDP_CONN_BOUNCE,		/* no reader came in time for a SrcAvail of the peer */
};

/* Control messages to be posted, as bits: one of each kind suffices. */
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

enum { SDP_CTL_MSGS = 8 };	/* control messages in flight, at most */

/* Bits of tx.done: what is left to be done when conn->lock is released. */
enum sdp_tx_done {
	SDP_TX_DONE_FIN		= 0x01,	/* our DisConn is complete */
	SDP_TX_DONE_SPACE	= 0x02,	/* there is room for a writer that waits */
	SDP_TX_DONE_LOST	= 0x04,	/* a post or a completion failed */
	SDP_TX_DONE_ABORT	= 0x08,	/* our AbortConn is complete: the end may go */
	SDP_TX_DONE_TIMEOUT	= 0x10,	/* the peer did not answer in time: give up */
	SDP_TX_DONE_READ	= 0x20,	/* an RDMA Read brought bytes for the reader */
	SDP_TX_DONE_UMR	= 0x40,	/* a registration changed its state */
};

/* What both devices support.  Set before the connection is established, read
 * without locks after.
 */
struct sdp_caps {
	bool may_read;		/* we may read what the peer advertises */
	bool may_advertise;	/* we may advertise memory for the peer to read */
	bool may_invalidate;	/* the peer takes Send-with-Invalidate */
	bool can_invalidate;	/* so does our device */
	u32 umem_max;		/* bytes that one key can cover */
};

/* What the Hello exchange said, by sdp_session.c.  Set before the connection is
 * established, read without locks after.
 */
struct sdp_session {
	u16 bufs;			/* Bufs of our message */
	struct sdp_wire_hello peer;	/* the peer's message */
};

/* Uncleared pages kept for messages, by sdp_buf.c; under conn->lock. */
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
	bool data;		/* data for the reader arrived */
	bool urgent;		/* urgent data was announced, or arrived */
	bool advert;		/* a SrcAvail arrived */
	bool fin;		/* DisConn arrived */
	bool reset;		/* AbortConn arrived */
	bool lost;		/* a completion failed */
	bool told;		/* reset, lost or fail was reported to the socket */
	int fail;		/* protocol error, negative errno */
};

struct sdp_conn {
	/* Set at birth, read without locks. */
	refcount_t ref;
	struct rcu_head rcu;
	u32 id;				/* names the connection in every trace line */
	bool active;			/* we sent the Hello */
	bool probe;			/* only asks the peer whether it takes SDP (SIDR) */
	u32 limit_ms;			/* milliseconds to get established, active side */
	u8 family;			/* AF_INET or AF_INET6, as on the wire */
	kuid_t uid;			/* charged for the connection */
	struct mem_cgroup *payer;	/* charged for buffers; NULL: that of the allocating task */
	bool owned;			/* a socket has it, payer is set; set under rx.lock */
	const struct sdp_xport *xp;
	void *xp_priv;			/* the transport's own half */
	struct net *net;
	struct sdp_net *sn;
	struct sdp_addr remote;
	struct sdp_addr local;		/* final when established */
	int ifindex;			/* bound device, 0: any */
	u32 mark;			/* for the route */
	u8 tos;				/* IP_TOS or IPV6_TCLASS; 0: none */

	/* Set before it is established, read without locks; may change later. */
	u32 rcv_size;			/* bytes of a new receive buffer; see sdp_ring.h */
	u32 snd_max;			/* payload bytes of a full message; see sdp_chrcvbuf.c */
	bool building;			/* a sender relies on snd_max: see sdp_chrcvbuf.h */
	struct sdp_session session;
	u8 reason;			/* enum sdp_reason, when refused */
	/* Passive side: jiffies from which a peer that was silent since our
	 * HelloAck may lose its place in a full backlog; else 0.
	 */
	unsigned long silent_at;

	/* Callers and events; see sdp_conn_kick(). */
	unsigned long flags;		/* enum sdp_conn_flag */
	atomic_t users;			/* callers in a system call */
	u32 spin_ns;			/* ns to poll before sleeping; see sdp_busy_poll.c */
	int zcopy;			/* zero copy from so many bytes; 0: off; -1: namespace's */
	bool stamps;			/* the user wants to know when bytes arrived */
	wait_queue_head_t wq;		/* callers that sleep in a system call */
	struct work_struct work;	/* polls when no caller does */
	struct delayed_work timer;	/* FIN_WAIT_2 of an orphan, LAST_ACK */
	struct delayed_work uncork;	/* sets SDP_CONN_UNCORK */
	struct delayed_work check;	/* sets SDP_CONN_CHECK */
	struct delayed_work bounce;	/* sets SDP_CONN_BOUNCE */

	struct {
		spinlock_t lock;	/* ops and upper; held during the call up */
		const struct sdp_conn_ops *ops;
		void *upper;
	} up;

	/*
	 * The connection as a whole.  conn->lock guards all members from here to
	 * the end of tx, where they do not say otherwise.
	 */
	spinlock_t lock;
	enum sdp_state state;
	int err;			/* the first error, positive errno */
	bool queues;			/* the transport has its queues: see sdp_xport.h */
	bool dead;			/* the transport is torn down: no more posts */
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
	struct sdp_post_wait post_wait;
	struct sdp_spare spare;
	struct sdp_conn_stats stats;

	struct {
		bool broken;		/* a send failed: nothing may follow it */
		bool orphan;		/* the socket was closed */
		bool fin_queued;	/* DisConn goes behind the last data */
		bool fin_posted;	/* our DisConn was posted */
		bool abort_posted;	/* our AbortConn was posted */
		bool abort_heard;	/* the peer's AbortConn was received */
		bool want_space;	/* a caller or poller waits for room */
		bool waiting;		/* the next message waits for a credit */
		bool armed;		/* the send queue is armed: an event will come */
		bool fired;		/* an event came, completions are being reaped */
		bool timed_out;		/* the peer's device did not answer */
		u16 oob;		/* urgent messages not announced yet */
		u16 ctl;		/* enum sdp_ctl, to be posted */
		u8 done;		/* enum sdp_tx_done, to be acted upon */
		u16 sq_requests;	/* requests of any kind that the send queue takes */
		u16 inflight;		/* requests that are posted and not retired */
		u16 watched_ops;	/* requests in flight whose completion is awaited */
		u16 unsignalled;	/* requests posted since the last signalled one */
		u32 limit_least;	/* limit of outstanding if the peer reads, bytes */
		u32 limit_most;		/* limit of outstanding if the peer does not read, bytes */
		u32 limit;		/* current limit, from limit_least to limit_most */
		u32 notsent_lowat;	/* bytes not posted at which a writer waits */
		u32 outstanding;	/* bytes queued or in flight */
		u32 inflight_bytes;	/* bytes in flight */
		struct list_head queue;	/* messages built, not posted */
		struct list_head posted; /* requests in the order of completion */
		struct list_head invalidations;	/* registrations to be invalidated */
		struct sdp_msg ctl_msg[SDP_CTL_MSGS];
		struct list_head ctl_free; /* the ctl_msg that are not in flight */
		unsigned long sent_at;	/* jiffies of the last message with payload or advert */
		struct sdp_rtt rtt;
	} tx;

	/* Guarded by rx.poll, rx.lock or conn->lock: each member says it. */
	struct sdp_ring ring;

	struct {
		struct mutex poll;	/* the right to poll for receives */
		struct list_head idle;	/* buffers to be posted again; under poll */
		/* The end was reported: no byte is delivered after it.
		 * Under poll and conn->lock.
		 */
		bool over;
		unsigned long data_at;	/* jiffies of the last data or advert; under poll */
		/* Jiffies of the last message, by the poller.  Keepalive writes
		 * it as well, under conn->lock: an older value is as good there.
		 */
		unsigned long heard;

		spinlock_t lock;	/* what follows */
		struct list_head queue;	/* buffers that arrived */
		struct list_head all;	/* every buffer, by sdp_buf.all */
		u64 bytes;		/* bytes of the stream that have arrived */
		u32 inq;		/* payload bytes not yet read */
		/* A message was accounted whose payload is not in inq yet.  Set
		 * under conn->lock.
		 */
		bool coming;
		u32 read;		/* bytes read, modulo 2^32 */
		struct {
			u32 seq;	/* place of the urgent byte, as read counts */
			u32 hole;	/* place of the replaced urgent bytes, as read counts */
			u32 holes;	/* number of replaced urgent bytes, side by side */
			u32 mark;	/* name of the urgent byte, see sdp_buf.mark */
			u16 data;	/* the urgent byte, and its state: SDP_URG_* */
			u16 pending;	/* urgent bytes announced and not arrived */
		} urg;
		u32 bounced;		/* bytes of pages given to RDMA Reads, unread */
		u32 bouncing;		/* bytes of pages given to incomplete RDMA Reads */

		/* Under the socket lock. */
		struct list_head ready;	/* taken from queue by the reader */
		ktime_t stamp;		/* sdp_buf.stamp of the last byte read */
	} rx;
	struct sdp_found found;

	/* Lists that others keep.  Those of a listener are under its lock. */
	u32 place;			/* in sdp_net.all_conns */
	struct list_head accept_node;	/* on a list of the listener */
	struct rb_node acceptq_node;	/* in the listener's acceptq */
	bool acceptable;		/* ready for accept(); under the listener's lock */
	bool aside;			/* silent, lost its place; under the listener's lock */
	bool deferred;			/* established, but silent; under the listener's lock */
	unsigned long defer_until;	/* jiffies from which accept() may have it though silent */
};

struct sdp_conn *sdp_conn_alloc(const struct sdp_xport *xp, struct net *net,
				kuid_t uid, work_func_t work, gfp_t gfp);
void sdp_conn_own(struct sdp_conn *conn);

/**
 * sdp_conn_get() - take a reference
 * @conn: a connection with at least one reference
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

/**
 * sdp_conn_route() - look the route up, as the transport does it
 * @conn: a client's connection
 *
 * Context: process; may allocate with GFP_KERNEL.
 * Return: as struct sdp_xport says.
 */
static inline int sdp_conn_route(struct sdp_conn *conn)
{
	return conn->xp->route(conn);
}

/**
 * sdp_conn_connect() - begin to connect
 * @conn: a client's connection, behind sdp_conn_route()
 *
 * Context: process; may allocate with GFP_KERNEL.
 * Return: as struct sdp_xport says.
 */
static inline int sdp_conn_connect(struct sdp_conn *conn)
{
	return conn->xp->connect(conn);
}

unsigned int sdp_conn_event(struct sdp_conn *conn, enum sdp_event event);
bool sdp_conn_tell_abort(struct sdp_conn *conn);
void sdp_conn_fail(struct sdp_conn *conn, int err, enum sdp_event event,
		   const char *why);
void sdp_conn_refuse(struct sdp_conn *conn, int err, u8 reason);
void sdp_conn_attach(struct sdp_conn *conn, const struct sdp_conn_ops *ops,
		     void *upper);
void sdp_conn_detach_locked(struct sdp_conn *conn);
void sdp_conn_with_upper(struct sdp_conn *conn, const struct sdp_conn_ops *ops,
			 void (*call)(void *upper, void *arg), void *arg);
void sdp_conn_orphan(struct sdp_conn *conn);

/**
 * sdp_conn_err() - the first error
 * @conn: the connection
 *
 * Context: any.
 * Return: a positive errno; 0 if the connection has not failed.
 */
static inline int sdp_conn_err(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->err);
}

/**
 * sdp_conn_is_eof() - whether the peer has ended its stream
 * @conn: the connection
 *
 * Context: any.
 * Return: true if its DisConn was received; what came before may be unread yet.
 */
static inline bool sdp_conn_is_eof(const struct sdp_conn *conn)
{
	return test_bit(SDP_CONN_EOF, &conn->flags);
}

/**
 * sdp_conn_was_up() - whether the connection was ever established
 * @conn: the connection
 *
 * Context: any.
 * Return: true if so, even if it has ended since.
 */
static inline bool sdp_conn_was_up(const struct sdp_conn *conn)
{
	return test_bit(SDP_CONN_WAS_UP, &conn->flags);
}

/**
 * sdp_conn_first_answer() - whether this answer to a probe is the first
 * @conn: the connection of a probe
 *
 * Context: any.
 * Return: true, once.
 */
static inline bool sdp_conn_first_answer(struct sdp_conn *conn)
{
	return !test_and_set_bit(SDP_CONN_PROBED, &conn->flags);
}

/**
 * sdp_conn_set_zcopy() - set the length from which zero copy is tried
 * @conn: the connection
 * @bytes: 0: never; -1: what the namespace says
 *
 * Context: any.
 */
static inline void sdp_conn_set_zcopy(struct sdp_conn *conn, int bytes)
{
	WRITE_ONCE(conn->zcopy, bytes);
}

/**
 * sdp_conn_zcopy() - length from which zero copy is tried
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes, of the socket or else of the namespace; 0: all is copied.
 */
static inline u32 sdp_conn_zcopy(const struct sdp_conn *conn)
{
	int own = READ_ONCE(conn->zcopy);

	return own < 0 ? READ_ONCE(conn->sn->zcopy_thresh) : own;
}

/**
 * sdp_conn_write_least() - least room in a SinkAvail that is worth writing to
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes; more than a full message carries, and more than a page.
 */
static inline u32 sdp_conn_write_least(const struct sdp_conn *conn)
{
	return max_t(u32, READ_ONCE(conn->snd_max), PAGE_SIZE) + 1;
}

/**
 * sdp_conn_unread() - whether stream data waits for the reader
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: true if bytes are unread, are in a buffer of an RDMA Read, or are in
 * a message that was accounted and is not queued yet.
 */
static inline bool sdp_conn_unread(struct sdp_conn *conn)
{
	bool unread;

	spin_lock(&conn->rx.lock);
	unread = conn->rx.inq || conn->rx.bounced || conn->rx.coming;
	spin_unlock(&conn->rx.lock);
	return unread;
}

/* Tell the layer above, wake callers; process or softirq, no spinlock held. */
void sdp_conn_data_ready(struct sdp_conn *conn);
void sdp_conn_write_space(struct sdp_conn *conn);
void sdp_conn_state_change(struct sdp_conn *conn);
void sdp_conn_urgent(struct sdp_conn *conn);
void sdp_conn_kick(struct sdp_conn *conn, enum sdp_conn_flag flag);
void sdp_conn_queue_work(struct sdp_conn *conn);

/**
 * sdp_conn_enter() - count a caller in, which will poll
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
 * sdp_conn_state() - the current state
 * @conn: the connection
 *
 * Context: any.
 * Return: the state; without conn->lock it may have changed already.
 */
static inline enum sdp_state sdp_conn_state(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->state);
}

/**
 * sdp_conn_has_events() - whether an event came that nobody has acted on
 * @conn: the connection
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool sdp_conn_has_events(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->flags) & (BIT(SDP_CONN_FIRED_RECV) |
					 BIT(SDP_CONN_FIRED_SEND));
}

void sdp_conn_start_timer(struct sdp_conn *conn, unsigned int ms);
void sdp_conn_stop_timer(struct sdp_conn *conn);
void sdp_conn_uncork_later(struct sdp_conn *conn, unsigned long delay);
void sdp_conn_uncork_never(struct sdp_conn *conn);
void sdp_conn_bounce_later(struct sdp_conn *conn, unsigned long delay);
void sdp_conn_bounce_never(struct sdp_conn *conn);
void sdp_conn_check_later(struct sdp_conn *conn, unsigned long delay);
void sdp_conn_check_never(struct sdp_conn *conn);
int sdp_conn_init(void);
void sdp_conn_wait_all(void);
void sdp_conn_exit(void);

/**
 * sdp_conn_stamps() - whether the user wants to know when bytes arrived
 * @conn: the connection
 *
 * Context: any.
 * Return: true if so.
 */
static inline bool sdp_conn_stamps(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->stamps);
}

/**
 * sdp_conn_set_stamps() - set what sdp_conn_stamps() tells
 * @conn: the connection
 * @stamps: whether the user wants to know
 *
 * Context: any.
 */
static inline void sdp_conn_set_stamps(struct sdp_conn *conn, bool stamps)
{
	if (unlikely(stamps != READ_ONCE(conn->stamps)))
		WRITE_ONCE(conn->stamps, stamps);
}

/**
 * sdp_conn_stamp() - time stamp for data that has just arrived
 * @conn: the connection
 *
 * Context: any.
 * Return: wall clock time; 0 if the user does not ask for it.
 */
static inline ktime_t sdp_conn_stamp(const struct sdp_conn *conn)
{
	return unlikely(READ_ONCE(conn->stamps)) ? ktime_get_real() : 0;
}

#endif
