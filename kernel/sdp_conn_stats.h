/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What tools are shown of a connection: bytes by the way that they took, messages.
 *
 * What is sent, and what RDMA brings, is counted under conn->lock; messages that
 * arrive by who polls.  sdp_conn_stats_get() reads them all, and who wants them to
 * agree holds conn->lock.
 *
 * Pure: types and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_CONN_STATS_H
#define _SDP_CONN_STATS_H

#include <linux/compiler.h>
#include <linux/types.h>

struct sdp_conn_stats {
	u64 sent;		/* user bytes posted, or read by the peer */
	u64 zcopied;		/* of these, not copied */
	u64 written;		/* of these, written to the peer's reader */
	u64 bounced;		/* bytes read by RDMA to be copied */
	u64 read;		/* bytes read by RDMA to where the reader wants them */
	u64 filled;		/* bytes that the peer wrote there */
	u64 tx_msgs;		/* messages posted */
	u64 tx_data_msgs;	/* of these, with payload or an advert */
	u64 rx_msgs;		/* messages arrived */
	u64 rx_data_msgs;	/* of these, with payload or an advert */
};

/**
 * sdp_conn_stats_posted() - a message goes
 * @stats: of the connection; under conn->lock
 * @payload: bytes
 * @data: it has payload, or is an advert
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
 * sdp_conn_stats_written() - bytes go to the peer's reader by RDMA Write
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
 * sdp_conn_stats_taken() - the peer has read bytes that were advertised
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
 * sdp_conn_stats_zcopied() - bytes that were sent had not been copied
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
 * sdp_conn_stats_read() - an RDMA Read has brought bytes
 * @stats: of the connection; under conn->lock
 * @bytes: how many
 * @bounced: to a buffer of ours, to be copied
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
 * sdp_conn_stats_filled() - the peer has written to the reader's buffer
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
 * sdp_conn_stats_arrived() - a message has arrived
 * @stats: of the connection; by who polls
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_arrived(struct sdp_conn_stats *stats)
{
	stats->rx_msgs++;
}

/**
 * sdp_conn_stats_arrived_data() - it has payload, or is an advert
 * @stats: of the connection; by who polls
 *
 * Context: any; pure.
 */
static inline void sdp_conn_stats_arrived_data(struct sdp_conn_stats *stats)
{
	stats->rx_data_msgs++;
}

/**
 * sdp_conn_stats_get() - all of them
 * @stats: of the connection; may change meanwhile without conn->lock
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
