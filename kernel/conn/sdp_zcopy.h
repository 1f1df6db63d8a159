/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The zero-copy state of a connection, in two roles.
 *
 * As a source it advertises the memory of a call that waits (sdp_zsrc.c,
 * sdp_zsrc_push.c), or memory that stays advertised after the call
 * (sdp_zsrc_async.c).  As a sink it reads into the buffer of a reader that
 * waits, or advertises it (sdp_zsink.c).
 * Only these files change their part of the state; the functions here are what
 * other files ask and tell them.
 *
 * All of this is under conn->lock where it does not say otherwise.
 */
#ifndef _SDP_ZCOPY_H
#define _SDP_ZCOPY_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include "sdp_buf.h"

struct sdp_zsrc {
	struct list_head umrs;	/* memory to be sent, of calls and async; oldest first */
	unsigned long at;	/* jiffies of the last advert, or of progress of one */
	bool busy;		/* a call advertises its memory: others must not send */
	bool withdrawn;		/* what the busy call advertised has to go another way */
	bool more;		/* the busy call has more to write right away */
};

struct sdp_zsrc_async {
	u32 bytes;		/* bytes that stay advertised after their call */
	bool refused;		/* some were refused: copies of them go first */
	bool telling;		/* an owner is being told that its memory is free */
	struct sk_buff_head notes; /* notes to be told after the one being told */
};

struct sdp_zsink {
	struct list_head read_umrs; /* reader's memory for RDMA Reads, in order */
	struct list_head avail_umrs; /* reader's memory for a SinkAvail: one or none */
	struct list_head reads;	/* RDMA Reads to post when the peer advertises */
	bool held;		/* reads wait: inline bytes go to the reader first */
	bool busy;		/* a reader has the sink: others do not read by RDMA */
	bool gave_up;		/* a piece was given up: none behind it may be read */
	/* Under the socket lock. */
	bool direct;		/* the last reader had a buffer for RDMA Reads */
	unsigned int readers;	/* readers in a call with a buffer for RDMA Reads */
};

static inline void sdp_zcopy_init(struct sdp_zsrc *src, struct sdp_zsrc_async *async,
				  struct sdp_zsink *snk)
{
	INIT_LIST_HEAD(&src->umrs);
	__skb_queue_head_init(&async->notes);
	INIT_LIST_HEAD(&snk->read_umrs);
	INIT_LIST_HEAD(&snk->avail_umrs);
	INIT_LIST_HEAD(&snk->reads);
}

/* Whether anything is advertised, or about to be.  A hint without the lock. */
static inline bool sdp_zsrc_is_out(const struct sdp_zsrc *src)
{
	return !list_empty_careful(&src->umrs);
}

/* Whether a call advertises: others must not send.  A hint without the lock. */
static inline bool sdp_zsrc_is_busy(const struct sdp_zsrc *src)
{
	return READ_ONCE(src->busy);
}

/* The lists, for callers that walk all registered memory. */
static inline struct list_head *sdp_zsrc_umrs(struct sdp_zsrc *src)
{
	return &src->umrs;
}

static inline struct list_head *sdp_zsink_avail_umrs(struct sdp_zsink *snk)
{
	return &snk->avail_umrs;
}

static inline struct list_head *sdp_zsink_read_umrs(struct sdp_zsink *snk)
{
	return &snk->read_umrs;
}

/* Whether the call has more to write to the peer's reader right away. */
static inline bool sdp_zsrc_has_more(const struct sdp_zsrc *src)
{
	return src->more;
}

/* Note that something was advertised, or progress of an advert. */
static inline void sdp_zsrc_moved(struct sdp_zsrc *src, unsigned long now)
{
	src->at = now;
}

/* Jiffies of the last sdp_zsrc_moved(). */
static inline unsigned long sdp_zsrc_at(const struct sdp_zsrc *src)
{
	return src->at;
}

/* Bytes that stay advertised after their call.  A hint without the lock. */
static inline u32 sdp_zsrc_async_bytes(const struct sdp_zsrc_async *async)
{
	return READ_ONCE(async->bytes);
}

/* Add bytes that stay advertised after their call. */
static inline void sdp_zsrc_async_add(struct sdp_zsrc_async *async, u32 bytes)
{
	WRITE_ONCE(async->bytes, async->bytes + bytes);
}

/* Note that some were refused, and that copies of them go first. */
static inline void sdp_zsrc_async_refuse(struct sdp_zsrc_async *async)
{
	async->refused = true;
}

/* Whether copies of something refused have to go first. */
static inline bool sdp_zsrc_async_refused(const struct sdp_zsrc_async *async)
{
	return READ_ONCE(async->refused);
}

/* The reader's buffer that is advertised, or about to be; or NULL. */
static inline struct sdp_umr *sdp_zsink_avail(struct sdp_zsink *snk)
{
	return list_first_entry_or_null(&snk->avail_umrs, struct sdp_umr, node);
}

/* Whether RDMA Reads wait to be posted.  A hint without the lock. */
static inline bool sdp_zsink_has_reads(const struct sdp_zsink *snk)
{
	return !list_empty_careful(&snk->reads);
}

/* Whether the last reader had a buffer for RDMA Reads. */
static inline bool sdp_zsink_is_direct(const struct sdp_zsink *snk)
{
	return READ_ONCE(snk->direct);
}

/* Set what sdp_zsink_is_direct() returns; under the socket lock. */
static inline void sdp_zsink_set_direct(struct sdp_zsink *snk, bool direct)
{
	WRITE_ONCE(snk->direct, direct);
}

/* Whether readers with a buffer for RDMA Reads are in a call.  They look for
 * adverts themselves.
 */
static inline bool sdp_zsink_has_readers(const struct sdp_zsink *snk)
{
	return READ_ONCE(snk->readers);
}

/* Move all RDMA Reads that wait to @msgs: the connection is over. */
static inline void sdp_zsink_take_reads(struct sdp_zsink *snk, struct list_head *msgs)
{
	list_splice_tail_init(&snk->reads, msgs);
}

#endif
