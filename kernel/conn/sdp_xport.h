/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface of a transport.  The protocol above never asks which it has.
 * A client's connection gets one by its destination, a server's has the one that
 * the request came by (sdp_xport.c).
 *
 * A transport calls down into the movers (sdp_rx_arrived(), sdp_tx_wc()) and
 * raises events with sdp_conn_event().  It reaches the socket layer only by
 * struct sdp_xport_upper, which it was given when it was initialised.
 */
#ifndef _SDP_XPORT_H
#define _SDP_XPORT_H

#include <linux/types.h>

struct net;
struct sdp_addr;
struct sdp_buf;
struct sdp_conn;
struct sdp_msg;
struct sdp_umem;

/*
 * A connection exists before its transport has queues to post to or to poll,
 * while an address is being resolved, and after, when the device has gone.
 * Callers may use a connection at any time, and need not know.  The transport
 * sets conn->queues when it has made the queues.  Before it destroys them it
 * clears conn->queues and sets conn->dead.  It does both under conn->lock.
 *
 * Functions marked (q) may only be called while conn->queues is set.  Those for
 * receives may only be called while SDP_CONN_OPEN is set, under conn->rx.poll.
 */
struct sdp_xport {
	const char *name;
	u8 id;			/* SDP_TRANSPORT_* */
	u16 priv_size;		/* bytes of conn->xp_priv */

	/* Start taking requests for a port, of any namespace; counted.  Process
	 * context; sleeps.  Returns 0, -ENOMEM, or -EADDRINUSE if somebody
	 * outside the module has the port.
	 */
	int (*listen)(u16 port);
	/* Undo one listen().  Process context; sleeps. */
	void (*unlisten)(u16 port);

	/* Whether this is the transport for a destination, by its address and the
	 * device that the socket is bound to (0: any).  Any context.
	 */
	bool (*reaches)(struct net *net, const struct sdp_addr *remote,
			int ifindex);
	/* Look the route up; sets conn->local.ip if it was a wildcard.  Process
	 * context; may allocate with GFP_KERNEL.  Returns 0 or a negative
	 * errno: conn->reason is set, or else a resource is lacking.
	 */
	int (*route)(struct sdp_conn *conn);
	/* Begin to connect @conn, after route(); an event tells the outcome.
	 * Process context; may allocate with GFP_KERNEL.  Returns 0, or a
	 * negative errno if a resource is lacking.
	 */
	int (*connect)(struct sdp_conn *conn);

	/* Carry out SDP_DO_END, SDP_DO_END_ACK and SDP_DO_FREE, and clean up
	 * after a refused attempt.  Any context; a worker does it.
	 */
	void (*act)(struct sdp_conn *conn, unsigned int actions);

	/* (q) Whether a request of this kind, enum sdp_op, may be posted now.
	 * If not, it may be when completions were polled.  Under conn->lock.
	 */
	bool (*can_post)(struct sdp_conn *conn, u8 op);
	/* (q) Post the request that msg->op says; can_post() was true.  Sets
	 * msg->signalled if its completion is reported though it was not wanted.
	 * A message that advertises memory first makes its key valid for the
	 * peer.  Under conn->lock.  Returns 0 or a negative errno.
	 */
	int (*post)(struct sdp_conn *conn, struct sdp_msg *msg);
	/* (q) Post a receive buffer.  Under conn->lock.  Returns 0 or a
	 * negative errno.
	 */
	int (*post_recv)(struct sdp_conn *conn, struct sdp_buf *buf);

	/* Hand receive completions to sdp_rx_arrived(); under conn->rx.poll,
	 * with SDP_CONN_OPEN.  Returns how many, at most @budget.
	 */
	int (*poll_recv)(struct sdp_conn *conn, int budget);
	/* (q) Hand send completions to sdp_tx_wc(), with 0, -ETIMEDOUT where
	 * the peer's device did not answer, or another errno; under conn->lock.
	 */
	void (*poll_send)(struct sdp_conn *conn);
	/* Ask for one event of receives; under conn->rx.poll, with
	 * SDP_CONN_OPEN.  Returns true if completions are already there.
	 */
	bool (*arm_recv)(struct sdp_conn *conn);
	/* (q) Ask for one event of sends; under conn->lock.  Returns true if
	 * completions are already there.
	 */
	bool (*arm_send)(struct sdp_conn *conn);

	/* The poller has released rx.poll, for which sdp_rx_claim() had failed:
	 * the worker may try again.  Process context.
	 */
	void (*poll_free)(struct sdp_conn *conn);

	/* The first message came before the RTU: the peer has our REP. */
	void (*established)(struct sdp_conn *conn);

	/* Map a receive buffer, which is on rx.all.  Returns 0, -ENODEV without
	 * queues, or -ENOMEM.
	 */
	int (*map)(struct sdp_conn *conn, struct sdp_buf *buf);
	/* Undo map(); under rx.lock. */
	void (*unmap)(struct sdp_conn *conn, struct sdp_buf *buf);
	/* Register pinned memory, to be read or to be written as umem->dir
	 * says; sets its key and va.  Process context; sleeps.  Returns 0 or a
	 * negative errno, -ENODEV without queues.
	 */
	int (*reg)(struct sdp_conn *conn, struct sdp_umem *umem);
	/* Undo reg(): the memory was not posted, or its key was invalidated, or
	 * the queue pair is destroyed.  Process context; sleeps.  Also called
	 * when the connection is dead.
	 */
	void (*dereg)(struct sdp_conn *conn, struct sdp_umem *umem);

	/* The peer has invalidated the key by Send-with-Invalidate; under
	 * conn->lock.
	 */
	void (*invalidated)(struct sdp_conn *conn, struct sdp_umem *umem);

	/* Unmap a message that was posted; under conn->lock. */
	void (*unmap_msg)(struct sdp_conn *conn, struct sdp_msg *msg);

	/* Tell device, port and queue pair numbers to tools.  Leaves them alone
	 * without queues.  Takes conn->lock.
	 */
	void (*info)(struct sdp_conn *conn, char *device, size_t size, u8 *port,
		     u32 *qpn, u32 *peer_qpn);

	/* The last reference to @conn is gone: free xp_priv. */
	void (*release)(struct sdp_conn *conn);
};

void sdp_xport_init(const struct sdp_xport *const *xports);
const struct sdp_xport *sdp_xport_find(struct net *net,
				       const struct sdp_addr *remote,
				       int ifindex);
int sdp_xport_listen(u16 port);
void sdp_xport_unlisten(u16 port);

struct sdp_xport_upper {
	/**
	 * @spawn: admit a request that arrived, or refuse it
	 *
	 * Finds the listener by TCP's look-up and takes a place in its
	 * backlog.  Process context; may allocate, must not wait for others:
	 * it runs in a callback that ib_cm shares among all its users.
	 *
	 * Return: a connection with a reference for the transport, or an
	 * ERR_PTR(): -ECONNREFUSED if nobody listens, -ENOBUFS if the backlog
	 * is full, -EUSERS at a limit, -ENOMEM.
	 */
	struct sdp_conn *(*spawn)(const struct sdp_xport *xp, struct net *net,
				  int ifindex, const struct sdp_addr *local,
				  const struct sdp_addr *remote);
};

#endif
