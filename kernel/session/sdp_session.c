// SPDX-License-Identifier: GPL-2.0
/*
 * The session: what Hello and HelloAck say, and what follows from it.
 *
 * A transport carries the two messages, and makes and destroys what bytes move by.
 * What stands in them, whether they are valid, and which limits a connection has
 * after them is the same for each transport, and is decided here:
 *
 *	active					passive
 *	sdp_session_connect()			sdp_session_get_hello(), _accept()
 *	sdp_session_open(), _put_hello()	sdp_session_open(), _begin()
 *	sdp_session_get_hello_ack()		sdp_session_put_hello_ack()
 *	sdp_session_begin(), _can_rdma()	sdp_session_can_rdma()
 *	sdp_session_up()			sdp_session_up()
 *
 * and sdp_session_close() ends all posting and polling, before the transport
 * destroys what it has.
 *
 * The peer's message is kept when it arrives (conn->session.peer), because a transport
 * hears of it in a callback and goes on in a worker.
 */
#include <net/ipv6.h>
#include "sdp_refill.h"
#include "sdp_rx.h"
#include "sdp_session.h"
#include "sdp_trace.h"

/* Adverts of the peer that we hold at a time. */
enum { SDP_SESSION_ADVERTS = SDP_ADVERT_ADVERTS };

/* The Hello has IPv4 addresses behind zeros, not v4-mapped (1.2). */
static void sdp_session_ip_to_wire(const struct in6_addr *ip, u8 *wire)
{
	memcpy(wire, ip, sizeof(*ip));
	if (ipv6_addr_v4mapped(ip))
		memset(wire, 0, 12);
}

static void sdp_session_ip_from_wire(const u8 *wire, u8 ipv, struct in6_addr *ip)
{
	memcpy(ip, wire, sizeof(*ip));
	if (ipv == 4)
		ipv6_addr_set_v4mapped(ip->s6_addr32[3], ip);
}

/* SDP_CAP_* of our message. */
static u8 sdp_session_caps(const struct sdp_conn *conn)
{
	return conn->caps.can_invalidate && READ_ONCE(conn->sn->zcopy_invalidate) ?
	       SDP_CAP_INVALIDATE : 0;
}

/**
 * sdp_session_open() - the transport has its queues: post the first receives
 * @conn: the connection
 * @queues: what they are like
 *
 * The queues are used from here on.  An event may have come before: completion
 * queues are pooled, and a device may be late with an event for the last user.
 *
 * Context: process; may allocate with GFP_KERNEL.
 * Return: 0, or -ENOMEM if there is no memory for the fewest receives.
 */
int sdp_session_open(struct sdp_conn *conn, const struct sdp_session_queues *queues)
{
	int bufs;

	spin_lock_bh(&conn->lock);
	conn->tx.sq_requests = queues->requests;
	conn->caps.umem_max = queues->umem_max;
	conn->caps.can_invalidate = queues->can_invalidate;
	conn->queues = true;
	spin_unlock_bh(&conn->lock);
	bufs = sdp_rx_start(conn, queues->rq_size);
	if (bufs < 0)
		return bufs;
	conn->session.bufs = bufs;
	return 0;
}

/**
 * sdp_session_get_hello() - read and judge a Hello that arrived
 * @hello: set to what it says
 * @data: SDP_LEN_HELLO bytes
 * @local: its address is set to DstIP
 * @remote: set to SrcIP and LocalPort
 *
 * That the addresses are the path's is for the transport to say.
 *
 * Context: any.
 * Return: SDP_WIRE_OK, or what is wrong.
 */
enum sdp_wire_verdict sdp_session_get_hello(struct sdp_wire_hello *hello, const void *data,
					    struct sdp_addr *local,
					    struct sdp_addr *remote)
{
	enum sdp_wire_verdict verdict = sdp_wire_get_hello(hello, data, SDP_LEN_HELLO);

	if (verdict != SDP_WIRE_OK)
		return verdict;
	/* A peer with port 0 has no name, and accept() would fail. */
	if (!hello->port)
		return SDP_WIRE_BAD_PORT;
	sdp_session_ip_from_wire(hello->dst_ip, hello->ipv, &local->ip);
	sdp_session_ip_from_wire(hello->src_ip, hello->ipv, &remote->ip);
	remote->port = htons(hello->port);
	return SDP_WIRE_OK;
}

/**
 * sdp_session_accept() - a connection was admitted for a Hello
 * @conn: the connection, in state CLOSED
 * @hello: from sdp_session_get_hello()
 *
 * Context: process or softirq.
 */
void sdp_session_accept(struct sdp_conn *conn, const struct sdp_wire_hello *hello)
{
	conn->session.peer = *hello;
	conn->family = hello->ipv == 4 ? AF_INET : AF_INET6;
	/* A peer that will ask wants us to have larger buffers than its own. */
	sdp_refill_begin(conn, hello->des_rcvsz > hello->rcvsz);
}

/**
 * sdp_session_connect() - an attempt to connect begins
 * @conn: the connection, in state CLOSED
 *
 * Context: process or softirq.
 */
void sdp_session_connect(struct sdp_conn *conn)
{
	sdp_refill_begin(conn, true);
}

/**
 * sdp_session_put_hello() - write our Hello
 * @conn: the connection, behind sdp_session_open()
 * @data: SDP_LEN_HELLO bytes
 *
 * Context: any.
 */
void sdp_session_put_hello(const struct sdp_conn *conn, void *data)
{
	struct sdp_wire_hello hello = {
		.bufs		= conn->session.bufs,
		.version	= SDP_WIRE_VERSION,
		.ipv		= conn->family == AF_INET ? 4 : 6,
		.cap		= sdp_session_caps(conn),
		.max_adverts	= SDP_SESSION_ADVERTS,
		.des_rcvsz	= sdp_buf_full_size(conn),
		.rcvsz		= conn->rcv_size,
		.port		= ntohs(conn->local.port),
	};

	sdp_session_ip_to_wire(&conn->local.ip, hello.src_ip);
	sdp_session_ip_to_wire(&conn->remote.ip, hello.dst_ip);
	sdp_wire_put_hello(data, &hello);
}

/**
 * sdp_session_put_hello_ack() - write our HelloAck
 * @conn: the connection, behind sdp_session_open()
 * @data: SDP_LEN_HELLO_ACK bytes
 *
 * Context: any.
 */
void sdp_session_put_hello_ack(const struct sdp_conn *conn, void *data)
{
	struct sdp_wire_hello ack = {
		.bufs		= conn->session.bufs,
		.version	= SDP_WIRE_VERSION,
		.cap		= sdp_session_caps(conn),
		.max_adverts	= SDP_SESSION_ADVERTS,
		.rcvsz		= conn->rcv_size,
	};

	sdp_wire_put_hello_ack(data, &ack);
}

/**
 * sdp_session_get_hello_ack() - read and judge a HelloAck, and keep it
 * @conn: the connection
 * @data: SDP_LEN_HELLO_ACK bytes
 *
 * Context: any; once for each connection.
 * Return: SDP_WIRE_OK, or what is wrong.
 */
enum sdp_wire_verdict sdp_session_get_hello_ack(struct sdp_conn *conn, const void *data)
{
	return sdp_wire_get_hello_ack(&conn->session.peer, data, SDP_LEN_HELLO_ACK);
}

/**
 * sdp_session_begin() - both messages are known: take over what they say
 * @conn: the connection, behind sdp_session_open(); the peer's message is kept
 *
 * Context: process or softirq; takes conn->lock.
 */
void sdp_session_begin(struct sdp_conn *conn)
{
	const struct sdp_wire_hello *peer = &conn->session.peer;

	spin_lock_bh(&conn->lock);
	sdp_flow_init(&conn->flow, conn->session.bufs, peer->bufs);
	sdp_mode_init(&conn->mode, peer->max_adverts, SDP_SESSION_ADVERTS);
	sdp_peer_ring_init(&conn->peer_ring, peer->bufs);
	conn->caps.may_invalidate = peer->cap & sdp_session_caps(conn);
	spin_unlock_bh(&conn->lock);
	conn->snd_max = min_t(u32, peer->rcvsz, SDP_MSG_MAX) - SDP_LEN_BSDH;
}

/**
 * sdp_session_can_rdma() - which side's device may read the other's memory
 * @conn: the connection, behind sdp_session_begin(), not established
 * @reads: ours may
 * @is_read: the peer's may; if the peer takes SrcAvail at all (section 7)
 *
 * Context: process or softirq.
 */
void sdp_session_can_rdma(struct sdp_conn *conn, bool reads, bool is_read)
{
	conn->caps.may_read = reads;
	conn->caps.may_advertise = is_read && sdp_wire_takes_offers(&conn->session.peer);
	trace_sdp_session(conn->id, conn->snd_max, conn->session.peer.bufs,
			  conn->session.peer.max_adverts, reads, conn->caps.may_advertise,
			  conn->caps.may_invalidate);
}

/**
 * sdp_session_up() - the queue pair moves bytes both ways: receives may be polled
 * @conn: the connection; established, or it is with the first message
 *
 * Context: process.
 */
void sdp_session_up(struct sdp_conn *conn)
{
	set_bit(SDP_CONN_OPEN, &conn->flags);
	sdp_rx_poll(conn);
}

/**
 * sdp_session_close() - end all posting and polling
 * @conn: the connection
 *
 * What has arrived stays readable.  The transport may destroy its queues after.
 *
 * Context: the transport's worker.
 * Return: false if somebody else polls: the transport is called again then.
 */
bool sdp_session_close(struct sdp_conn *conn)
{
	if (!sdp_rx_claim(conn))
		return false;
	/* Hear what has arrived: it stays readable without the queue pair. */
	sdp_rx_close(conn);
	clear_bit(SDP_CONN_OPEN, &conn->flags);
	spin_lock_bh(&conn->lock);
	conn->queues = false;
	conn->dead = true;
	spin_unlock_bh(&conn->lock);
	sdp_rx_unclaim(conn);
	return true;
}

/**
 * sdp_session_bufs() - receive buffers that our Hello or HelloAck announces
 * @conn: the connection, behind sdp_session_open()
 *
 * Context: any.
 * Return: their number.
 */
u16 sdp_session_bufs(const struct sdp_conn *conn)
{
	return conn->session.bufs;
}
