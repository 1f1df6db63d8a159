/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Statistics of a connection, for tools: messages, and bytes by the way they
 * took.
 *
 * Messages that arrive are counted by the poller.  Everything else, what is
 * sent and what RDMA brings, is counted under conn->lock.  sdp_conn_stats_get()
 * reads all of them; a caller that needs them consistent holds conn->lock.
 *
 * Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_CONN_STATS_H
#define _SDP_CONN_STATS_H

#include <linux/compiler.h>
#include <linux/types.h>

struct sdp_conn_stats {
	u64 sent;		/* user bytes posted, or read by the peer */
	u64 zcopied;		/* user bytes sent without a copy */
	u64 written;		/* user bytes sent by RDMA Write to the peer's reader */
	u64 bounced;		/* bytes read by RDMA to a bounce buffer */
	u64 read;		/* bytes read by RDMA to the reader's buffer */
	u64 filled;		/* bytes that the peer wrote to the reader's buffer */
	u64 tx_msgs;		/* messages posted */
	u64 tx_data_msgs;	/* messages posted with payload or an advert */
	u64 rx_msgs;		/* messages received */
	u64 rx_data_msgs;	/* messages received with payload or an advert */
};

/**
 * sdp_conn_stats_posted() - count a message that was posted
 * @stats: of the connection; under conn->lock
 * @payload: bytes of payload
 * @data: whether it has payload, or is an advert
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_posted(struct sdp_conn_stats *stats, u32 payload, bool data)
{
	stats->sent += payload;
	stats->tx_msgs++;
	stats->tx_data_msgs += data;
}

/**
 * sdp_conn_stats_written() - count bytes of an RDMA Write to the peer's reader
 * @stats: of the connection; under conn->lock
 * @bytes: how many
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_written(struct sdp_conn_stats *stats, u32 bytes)
{
	stats->sent += bytes;
	stats->written += bytes;
}

/**
 * sdp_conn_stats_taken() - count advertised bytes that the peer has read
 * @stats: of the connection; under conn->lock
 * @bytes: how many
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_taken(struct sdp_conn_stats *stats, u32 bytes)
{
	stats->sent += bytes;
}

/**
 * sdp_conn_stats_zcopied() - count bytes that were sent without a copy
 * @stats: of the connection; under conn->lock
 * @bytes: how many
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_zcopied(struct sdp_conn_stats *stats, u32 bytes)
{
	stats->zcopied += bytes;
}

/**
 * sdp_conn_stats_read() - count bytes of an RDMA Read
 * @stats: of the connection; under conn->lock
 * @bytes: how many
 * @bounced: whether they went to a bounce buffer
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_read(struct sdp_conn_stats *stats, u32 bytes, bool bounced)
{
	if (bounced)
		stats->bounced += bytes;
	else
		stats->read += bytes;
}

/**
 * sdp_conn_stats_filled() - count bytes that the peer wrote to the reader
 * @stats: of the connection; under conn->lock
 * @bytes: how many
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_filled(struct sdp_conn_stats *stats, u32 bytes)
{
	stats->filled += bytes;
}

/**
 * sdp_conn_stats_arrived() - count a message that arrived
 * @stats: of the connection; by the poller
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_arrived(struct sdp_conn_stats *stats)
{
	stats->rx_msgs++;
}

/**
 * sdp_conn_stats_arrived_data() - count a message with payload or an advert
 * @stats: of the connection; by the poller
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_arrived_data(struct sdp_conn_stats *stats)
{
	stats->rx_data_msgs++;
}

/**
 * sdp_conn_stats_get() - copy the statistics
 * @stats: of the connection; may change at the same time without conn->lock
 *
 * Context: any; pure.
 * Return: a copy.
 */
static inline struct sdp_conn_stats sdp_conn_stats_get(const struct sdp_conn_stats *stats)
{
	struct sdp_conn_stats copy = *stats;

	copy.rx_msgs = READ_ONCE(stats->rx_msgs);
	copy.rx_data_msgs = READ_ONCE(stats->rx_data_msgs);
	return copy;
}

#endif
