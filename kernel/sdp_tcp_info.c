// SPDX-License-Identifier: GPL-2.0
/*
 * TCP_INFO of an SDP connection.
 *
 * Programs ask it for the state, for a round-trip time to log, for what was
 * acknowledged, and for how long nothing has moved: a proxy closes by that.  A
 * segment stands for a message, a window for what the peer's buffers hold, and
 * acknowledged is what the peer's device has.  What no SDP connection has
 * (retransmissions, ECN, pacing) stays as TCP reports it of a socket that was
 * never connected: 0.
 */
#include <net/tcp.h>
#include "sdp_sk_conn.h"
#include "sdp_tcp_info.h"
#include "sdp_tx.h"

static u8 sdp_tcp_info_state_of(const struct sdp_conn *conn)
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

	return states[sdp_conn_state(conn)];
}

/**
 * sdp_tcp_info_state() - the state that TCP would be in
 * @ssk: SDP state of a socket that is connected or about to be
 *
 * Context: process or softirq.
 * Return: TCP_ESTABLISHED and its like; TCP_CLOSE if it is over.
 */
u8 sdp_tcp_info_state(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);
	u8 state;

	if (conn)
		state = sdp_tcp_info_state_of(conn);
	else
		state = READ_ONCE(ssk->mode) == SDP_SK_CONNECTING ?
			TCP_SYN_SENT : TCP_CLOSE;
	sdp_conn_put(conn);
	return state;
}

/* Fill in what one snapshot under conn->lock says. */
static void sdp_tcp_info_sent(struct sdp_conn *conn, struct tcp_info *info)
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

static void sdp_tcp_info_received(struct sdp_conn *conn, struct tcp_info *info)
{
	info->tcpi_last_data_recv = jiffies_to_msecs(jiffies -
						     READ_ONCE(conn->rx.data_at));
	info->tcpi_bytes_received = READ_ONCE(conn->rx.bytes);
}

/**
 * sdp_tcp_info_get() - fill in TCP_INFO
 * @sk: the socket, not locked
 * @ssk: its SDP state
 * @info: filled in
 *
 * Context: process; takes the socket lock for a moment.
 */
void sdp_tcp_info_get(struct sock *sk, struct sdp_sk *ssk,
		      struct tcp_info *info)
{
	struct sdp_conn *conn;

	tcp_get_info(sk, info);
	conn = sdp_sk_conn_conn_get(ssk);
	if (!conn) {
		info->tcpi_state = sdp_tcp_info_state(ssk);
		return;
	}
	/* Completions are reaped late: reap them now, for a current answer. */
	sdp_tx_reap(conn);
	info->tcpi_state = sdp_tcp_info_state_of(conn);
	info->tcpi_snd_mss = conn->snd_max;
	if (conn->rcv_size)	/* 0 before sdp_refill_begin() */
		info->tcpi_rcv_mss = conn->rcv_size - SDP_LEN_BSDH;
	info->tcpi_advmss = info->tcpi_rcv_mss;
	sdp_tcp_info_sent(conn, info);
	sdp_tcp_info_received(conn, info);
	sdp_conn_put(conn);
}

/**
 * sdp_tcp_info_mss() - the value of TCP_MAXSEG
 * @ssk: the socket's SDP state
 *
 * Context: process or softirq.
 * Return: payload bytes of the longest message that the peer takes; 0 if it is
 * not known yet.
 */
u32 sdp_tcp_info_mss(struct sdp_sk *ssk)
{
	struct sdp_conn *conn = sdp_sk_conn_conn_get(ssk);
	u32 mss = conn ? READ_ONCE(conn->snd_max) : 0;

	sdp_conn_put(conn);
	return mss;
}
