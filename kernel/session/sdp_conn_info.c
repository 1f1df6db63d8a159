// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection tells of itself: SDP_INFO, sock_diag, and TCP_INFO.
 *
 * Programs ask TCP_INFO for the state, for a round-trip time to log, for what
 * was acknowledged, and for how long nothing has moved: a proxy closes by that.
 * A segment stands for a message, a window for what the peer's buffers hold,
 * and acknowledged is what the peer's device has.  What no SDP connection has
 * (retransmissions, ECN, pacing) stays as TCP reports it of a socket that was
 * never connected: 0.
 */
#include <linux/sdp.h>
#include <linux/tcp.h>
#include <net/tcp_states.h>
#include "sdp_conn_info.h"
#include "sdp_tx.h"

/**
 * sdp_conn_info() - fill in what SDP_INFO and sock_diag show
 * @conn: the connection
 * @info: filled in
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_conn_info(struct sdp_conn *conn, struct sdp_info *info)
{
	struct sdp_conn_stats stats;

	memset(info, 0, sizeof(*info));
	info->sdpi_transport = conn->xp->id;
	info->sdpi_reason = conn->reason;
	info->sdpi_id = conn->id;
	info->sdpi_snd_size = conn->snd_max;
	if (conn->rcv_size)	/* 0 before sdp_refill_begin() */
		info->sdpi_rcv_size = conn->rcv_size - SDP_LEN_BSDH;
	spin_lock_bh(&conn->lock);
	stats = sdp_conn_stats_get(&conn->stats);
	info->sdpi_state = conn->state;
	info->sdpi_mode_send = conn->mode.src.mode;
	info->sdpi_mode_recv = conn->mode.snk.mode;
	info->sdpi_credits = sdp_flow_credits(&conn->flow);
	info->sdpi_posted = conn->flow.posted;
	info->sdpi_peer_bufs = conn->flow.peer_bufs;
	info->sdpi_outq = conn->tx.outstanding +
			  sdp_zsrc_async_bytes(&conn->zsrc_async);
	info->sdpi_bytes_lent = stats.zcopied;
	info->sdpi_bytes_fetched = stats.bounced;
	info->sdpi_bytes_taken = stats.read;
	info->sdpi_bytes_written = stats.written;
	info->sdpi_bytes_filled = stats.filled;
	info->sdpi_adverts_out = conn->mode.src.out.n;
	info->sdpi_adverts_held = conn->mode.snk.held.n;
	info->sdpi_bytes_sent = stats.sent;
	info->sdpi_msgs_sent = stats.tx_msgs;
	info->sdpi_mem = sizeof(*conn) + conn->xp->priv_size +
			 conn->tx.outstanding + sdp_msg_spare(conn);
	spin_unlock_bh(&conn->lock);
	spin_lock_bh(&conn->rx.lock);
	info->sdpi_inq = conn->rx.inq;
	info->sdpi_mem += sdp_ring_mem(&conn->ring) + conn->rx.bounced +
			  sdp_ring_bufs(&conn->ring) * sizeof(struct sdp_buf);
	spin_unlock_bh(&conn->rx.lock);
	info->sdpi_bytes_received = READ_ONCE(conn->rx.bytes);
	info->sdpi_msgs_received = stats.rx_msgs;
	conn->xp->info(conn, info->sdpi_device, sizeof(info->sdpi_device),
		       &info->sdpi_port_num, &info->sdpi_qp_num,
		       &info->sdpi_peer_qp_num);
}

/**
 * sdp_conn_tcp_state() - the state that TCP would be in
 * @conn: the connection
 *
 * Context: any.
 * Return: TCP_ESTABLISHED and its like; TCP_CLOSE if it has failed, or both
 * sides have ended it.
 */
u8 sdp_conn_tcp_state(const struct sdp_conn *conn)
{
	static const u8 states[SDP_STATE_COUNT] = {
		[SDP_CLOSED]		= TCP_CLOSE,
		[SDP_SYN_SENT]		= TCP_SYN_SENT,
		[SDP_SYN_RECV]		= TCP_SYN_RECV,
		[SDP_ESTABLISHED]	= TCP_ESTABLISHED,
		[SDP_FIN_WAIT_1]	= TCP_FIN_WAIT1,
		[SDP_FIN_WAIT_2]	= TCP_FIN_WAIT2,
		[SDP_CLOSING]		= TCP_CLOSING,
		[SDP_CLOSE_WAIT]	= TCP_CLOSE_WAIT,
		[SDP_LAST_ACK]		= TCP_LAST_ACK,
		[SDP_TIME_WAIT_1]	= TCP_CLOSE,	/* no socket is in this state */
		[SDP_TIME_WAIT_2]	= TCP_CLOSE,
	};

	return sdp_conn_err(conn) ? TCP_CLOSE : states[sdp_conn_state(conn)];
}

/* Fill in what one snapshot under conn->lock says. */
static void sdp_conn_tcp_info_sent(struct sdp_conn *conn, struct tcp_info *info)
{
	unsigned long now = jiffies, acked;
	struct sdp_conn_stats stats;
	s32 notsent;

	spin_lock_bh(&conn->lock);
	stats = sdp_conn_stats_get(&conn->stats);
	notsent = conn->tx.outstanding - conn->tx.inflight_bytes;
	acked = sdp_timers_progress(&conn->timers);
	if (time_after(READ_ONCE(conn->rx.heard), acked))
		acked = READ_ONCE(conn->rx.heard);
	info->tcpi_unacked = conn->tx.inflight;
	info->tcpi_last_data_sent = jiffies_to_msecs(now - conn->tx.sent_at);
	info->tcpi_last_ack_recv = jiffies_to_msecs(now - acked);
	info->tcpi_rtt = conn->tx.rtt.srtt_us;
	info->tcpi_rttvar = conn->tx.rtt.var_us;
	info->tcpi_min_rtt = conn->tx.rtt.min_us;
	info->tcpi_snd_cwnd = sdp_flow_credits(&conn->flow);
	info->tcpi_snd_wnd = info->tcpi_snd_cwnd * conn->snd_max;
	info->tcpi_notsent_bytes = max(notsent, 0);
	info->tcpi_bytes_sent = stats.sent;
	/* inflight_bytes has headers too, and may exceed the bytes sent. */
	info->tcpi_bytes_acked = stats.sent - min_t(u64, stats.sent,
						    conn->tx.inflight_bytes);
	info->tcpi_segs_out = stats.tx_msgs;
	info->tcpi_data_segs_out = stats.tx_data_msgs;
	info->tcpi_delivered = stats.tx_msgs - min_t(u64, stats.tx_msgs,
						     conn->tx.inflight);
	info->tcpi_segs_in = stats.rx_msgs;
	info->tcpi_data_segs_in = stats.rx_data_msgs;
	spin_unlock_bh(&conn->lock);
}

static void sdp_conn_tcp_info_received(struct sdp_conn *conn, struct tcp_info *info)
{
	info->tcpi_last_data_recv = jiffies_to_msecs(jiffies -
						     READ_ONCE(conn->rx.data_at));
	info->tcpi_bytes_received = READ_ONCE(conn->rx.bytes);
}

/**
 * sdp_conn_tcp_info() - fill in TCP_INFO
 * @conn: the connection
 * @info: holds what TCP reports of a socket that is not connected; changed
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_conn_tcp_info(struct sdp_conn *conn, struct tcp_info *info)
{
	/* Completions are reaped late: reap them now, for a current answer. */
	sdp_tx_reap(conn);
	info->tcpi_state = sdp_conn_tcp_state(conn);
	info->tcpi_snd_mss = conn->snd_max;
	if (conn->rcv_size)	/* 0 before sdp_refill_begin() */
		info->tcpi_rcv_mss = conn->rcv_size - SDP_LEN_BSDH;
	info->tcpi_advmss = info->tcpi_rcv_mss;
	sdp_conn_tcp_info_sent(conn, info);
	sdp_conn_tcp_info_received(conn, info);
}

/**
 * sdp_conn_mss() - the value of TCP_MAXSEG
 * @conn: the connection
 *
 * Context: any.
 * Return: payload bytes of the longest message that the peer takes; 0 if it is
 * not known yet.
 */
u32 sdp_conn_mss(const struct sdp_conn *conn)
{
	return READ_ONCE(conn->snd_max);
}
