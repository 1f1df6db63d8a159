/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a transport is: a table.  The protocol above never asks which it has.
 *
 * A transport calls down into the movers (sdp_rx_arrived(), sdp_tx_wc()) and
 * raises events with sdp_conn_event(); it reaches the socket layer only by
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
 * A connection exists before its transport has anything to post to or to poll, and
 * after: an address is being resolved, or the device has gone.  Whoever reaches a
 * connection may do so at any time, and need not know.  The transport sets
 * conn->queues when it has made the queues, and clears it, as it sets conn->dead,
 * before it takes them away, both under conn->lock.  What is marked (q) is called
 * while it is set, and is nobody's to call otherwise; of receives SDP_CONN_OPEN says
 * the same, under conn->rx.poll.
 */
struct sdp_xport {
	const char *name;
	u8 id;			/* SDP_TRANSPORT_* */
	u16 priv_size;		/* bytes of conn->xp_priv */

	/* Start or stop hearing requests for a port of any namespace; counted.
	 * Process context; sleep.  listen() returns 0, -ENOMEM, or -EADDRINUSE
	 * if the port is taken by somebody outside the module.
	 */
	int (*listen)(u16 port);
	void (*unlisten)(u16 port);

	/* What the routing tables say of the way: conn->local.ip is set if it was
	 * not.  Any context that may allocate with GFP_KERNEL.  0, or a negative
	 * errno: with conn->reason set, or else for lack of something.
	 */
	int (*route)(struct sdp_conn *conn);
	/* Begin to connect @conn, after route(); the outcome comes as an event.
	 * The same context.  0, or a negative errno for lack of something.
	 */
	int (*connect)(struct sdp_conn *conn);

	/* Carry out SDP_DO_DREQ, SDP_DO_DREP, SDP_DO_FREE, and what a refused
	 * attempt needs.  Any context; the work is done elsewhere.
	 */
	void (*act)(struct sdp_conn *conn, unsigned int actions);

	/* (q) Under conn->lock.  0 or negative errno.
	 * What post() does is said by msg->op; one that offers memory makes it
	 * readable for the peer before the message goes.
	 */
	int (*post)(struct sdp_conn *conn, struct sdp_msg *msg);
	int (*post_recv)(struct sdp_conn *conn, struct sdp_buf *buf);

	/* Hand completions to sdp_rx_arrived(); under conn->rx.poll, with
	 * SDP_CONN_OPEN.  Returns how many, at most @budget.
	 */
	int (*poll_recv)(struct sdp_conn *conn, int budget);
	/* (q) Hand completions to sdp_tx_wc(), with 0, -ETIMEDOUT where the
	 * peer's device did not answer, or another errno; under conn->lock.
	 */
	void (*poll_send)(struct sdp_conn *conn);
	/* Ask for one event; true if completions are already there.  The first
	 * as poll_recv(), the second (q), under conn->lock.
	 */
	bool (*arm_recv)(struct sdp_conn *conn);
	bool (*arm_send)(struct sdp_conn *conn);

	/* Who polled is done, and sdp_rx_claim() had failed for him; process
	 * context.
	 */
	void (*poll_free)(struct sdp_conn *conn);

	/* The first message came before the RTU: the peer has had our REP. */
	void (*established)(struct sdp_conn *conn);

	/* A receive buffer enters the transport's hands: it is on rx.all.  Fails
	 * when it has no queues.  It leaves them: under rx.lock.
	 */
	int (*map)(struct sdp_conn *conn, struct sdp_buf *buf);
	void (*unmap)(struct sdp_conn *conn, struct sdp_buf *buf);
	/* Make pinned memory ready to be read by the peer, or to be read into,
	 * as umem->dir says: its key and va are set.  Process context; sleeps.
	 * 0 or a negative errno, also when it has no queues.
	 */
	int (*reg)(struct sdp_conn *conn, struct sdp_umem *umem);
	/* Undo it: it was not posted, or taken back, or the device is done with
	 * all of the connection.  Process context; sleeps; also when it is dead.
	 */
	void (*dereg)(struct sdp_conn *conn, struct sdp_umem *umem);

	/* The peer has had our device forget its key: under conn->lock. */
	void (*invalidated)(struct sdp_conn *conn, struct sdp_umem *umem);

	/* A posted message comes back: under conn->lock. */
	void (*unmap_msg)(struct sdp_conn *conn, struct sdp_msg *msg);

	/* Where it stands, if it has its queues; for tools. */
	void (*info)(struct sdp_conn *conn, char *device, size_t size, u8 *port,
		     u32 *qpn, u32 *peer_qpn);

	/* The last reference to @conn is gone: free xp_priv. */
	void (*release)(struct sdp_conn *conn);
};

struct sdp_xport_upper {
	/**
	 * @spawn: a request arrived: admit it?
	 *
	 * Finds the listener by TCP's look-up and takes a place in its
	 * backlog.  Process context; may allocate, must not wait for others:
	 * it runs in a callback that ib_cm shares among all its users.
	 *
	 * Return: a connection with a reference for the transport;
	 * -ECONNREFUSED if nobody listens, -ENOBUFS if the backlog is full,
	 * -EUSERS at a limit, -ENOMEM.
	 */
	struct sdp_conn *(*spawn)(const struct sdp_xport *xp, struct net *net,
				  int ifindex, const struct sdp_addr *local,
				  const struct sdp_addr *remote);
};

#endif
