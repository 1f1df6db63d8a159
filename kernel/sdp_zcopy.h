/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a connection knows of memory that is not copied: the state of two roles.
 *
 * As a source it advertises the memory of a call that waits (sdp_zsrc.c), or memory
 * that stays so after the call (sdp_zsrc_async.c); as a sink it reads into, or
 * advertises, the buffer of a reader that waits (sdp_zsink.c).  Each owner changes
 * its own; here is what others ask and tell them.  All of it is under conn->lock
 * where it does not say otherwise.
 */
#ifndef _SDP_ZCOPY_H
#define _SDP_ZCOPY_H

#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/skbuff.h>
#include "sdp_buf.h"

struct sdp_zsrc {
	struct list_head umrs;	/* of calls and of async; for the peer to read, oldest first */
	unsigned long at;	/* jiffies of the last advert, or of news of one */
	bool busy;		/* a call advertises: others do not send */
	bool withdrawn;		/* what that call advertises goes by copy */
	bool more;		/* that call has more to write right away */
};

struct sdp_zsrc_async {
	u32 bytes;		/* that stay advertised after a call */
	bool refused;		/* by the peer: some go first, by copy */
	bool telling;		/* an owner is being told */
	struct sk_buff_head notes; /* those to be told after it */
};

struct sdp_zsink {
	struct list_head read_umrs; /* to be read into, in order */
	struct list_head avail_umrs; /* advertised for the peer to write to: one, or none */
	struct list_head reads;	/* RDMA Reads to post when there is something to read */
	bool held;		/* reads: inline bytes go before, to the reader */
	bool busy;		/* a reader is: others do not read by RDMA */
	bool gave_up;		/* the reader has a piece that is not read */
	/* Under the socket lock. */
	bool direct;		/* the last reader would rather have it so */
	unsigned int readers;	/* such readers in a call */
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

/* Is anything advertised, or about to be?  A hint without the lock. */
static inline bool sdp_zsrc_is_out(const struct sdp_zsrc *src)
{
	return !list_empty_careful(&src->umrs);
}

/* Does a call advertise, so that others are not to send?  A hint without the lock. */
static inline bool sdp_zsrc_is_busy(const struct sdp_zsrc *src)
{
	return READ_ONCE(src->busy);
}

/* The lists, for who goes through all that is registered. */
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

/* Has that call more to write to the peer's reader right away? */
static inline bool sdp_zsrc_has_more(const struct sdp_zsrc *src)
{
	return src->more;
}

/* Something was advertised, or there is news of it. */
static inline void sdp_zsrc_moved(struct sdp_zsrc *src, unsigned long now)
{
	src->at = now;
}

/* Jiffies when that was last. */
static inline unsigned long sdp_zsrc_at(const struct sdp_zsrc *src)
{
	return src->at;
}

/* Bytes that stay advertised after a call.  A hint without the lock. */
static inline u32 sdp_zsrc_async_bytes(const struct sdp_zsrc_async *async)
{
	return READ_ONCE(async->bytes);
}

/* There are more. */
static inline void sdp_zsrc_async_add(struct sdp_zsrc_async *async, u32 bytes)
{
	WRITE_ONCE(async->bytes, async->bytes + bytes);
}

/* Some were refused, and go first, by copy. */
static inline void sdp_zsrc_async_refuse(struct sdp_zsrc_async *async)
{
	async->refused = true;
}

/* Does something that was refused go first, by copy? */
static inline bool sdp_zsrc_async_refused(const struct sdp_zsrc_async *async)
{
	return READ_ONCE(async->refused);
}

/* The reader's buffer that is advertised, or about to be; NULL: none is. */
static inline struct sdp_umr *sdp_zsink_avail(struct sdp_zsink *snk)
{
	return list_first_entry_or_null(&snk->avail_umrs, struct sdp_umr, node);
}

/* Do RDMA Reads wait for something to read?  A hint without the lock. */
static inline bool sdp_zsink_has_reads(const struct sdp_zsink *snk)
{
	return !list_empty_careful(&snk->reads);
}

/* Would the last reader rather have what is advertised read to its buffer? */
static inline bool sdp_zsink_is_direct(const struct sdp_zsink *snk)
{
	return READ_ONCE(snk->direct);
}

/* The last reader would, or not; under the socket lock. */
static inline void sdp_zsink_set_direct(struct sdp_zsink *snk, bool direct)
{
	WRITE_ONCE(snk->direct, direct);
}

/* Are such readers in a call?  They look themselves. */
static inline bool sdp_zsink_has_readers(const struct sdp_zsink *snk)
{
	return READ_ONCE(snk->readers);
}

/* Those reads are nobody's any more. */
static inline void sdp_zsink_take_reads(struct sdp_zsink *snk, struct list_head *msgs)
{
	list_splice_tail_init(&snk->reads, msgs);
}

#endif
