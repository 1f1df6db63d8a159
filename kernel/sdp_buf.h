/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kinds of memory that move: receive buffers, messages to be sent, and the
 * user's own, registered with the device.
 *
 * A receive buffer is whole pages with references, never slab memory, so that
 * its pages can enter a pipe.  A message to be sent lies in a page fragment,
 * header and payload side by side; control messages, which have no payload,
 * have fixed places in the connection and so need no allocation.
 *
 * What is posted to the device is a struct sdp_msg, whether it is a message or
 * another request.
 */
#ifndef _SDP_BUF_H
#define _SDP_BUF_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/skbuff.h>
#include "sdp_umem.h"
#include "sdp_wire.h"

struct sdp_conn;

/* Pages kept for messages to come while others are under way. */
enum { SDP_TX_SPARE = 4 };

/* Bytes of the longest message: what one fragment holds. */
enum { SDP_MSG_MAX = 32768 };

struct sdp_buf {
	struct list_head node;	/* rx.idle, rx.queue or rx.ready; none when posted */
	struct list_head all;	/* rx.all, rx.lock */
	struct page *page;	/* compound */
	u64 dma;
	bool mapped;
	bool posted;		/* the transport has it */
	bool fetched;		/* by RDMA Read; not one of the ring, */
	bool filled;		/* and complete */
	bool owed;		/* nobody was charged for it */
	bool ended;		/* what came has had our device forget a key: */
	u32 key;		/* this one */
	u32 size;		/* bytes, header too */
	u32 off;		/* of the payload not yet read */
	u32 left;		/* its bytes */
	u32 mark;		/* the last is urgent: sdp_urg_arrived(); 0: no */
	ktime_t stamp;		/* when it came, by the clock on the wall; 0: unknown */
};

struct sdp_umr;

/* Requests to the device. */
enum sdp_op {
	SDP_OP_SEND,		/* a message, and what it offers if it does */
	SDP_OP_NOTHING,		/* asks the peer's device whether it is there */
	SDP_OP_READ,		/* RDMA Read into @buf or @umr */
	SDP_OP_WRITE,		/* RDMA Write of @umr, which is invalidated then */
	SDP_OP_TAKE_BACK,	/* invalidates @umr's key */
};

enum { SDP_OP_SLOTS = 3 };	/* of the send queue that one takes, at most */

struct sdp_msg {
	struct list_head node;	/* tx.queue, reads, back, posted or ctl_free */
	struct page *page;	/* reference; NULL: a control message */
	void *addr;		/* where the BSDH goes */
	u64 dma;
	u32 bytes;		/* of the whole message, when posted */
	u32 payload;		/* bytes behind the BSDH */
	u32 charged;		/* bytes of tx.outstanding */
	u32 mseq;
	u8 op;			/* enum sdp_op */
	u8 slots;		/* of the send queue that it takes */
	u8 mid;			/* of a message */
	bool more;		/* the same call will send more right away */
	bool full;		/* nothing can be put behind it any more */
	bool urgent;		/* so is its last byte */
	bool ends;		/* the peer's device forgets @rkey when it comes */
	bool signalled;
	bool mapped;		/* for the device; only when posted */
	struct sdp_buf *buf;	/* to read into, with its size; or */
	struct sdp_umr *umr;	/* to read into, write, advertise or invalidate */
	u32 rkey;		/* to read from, write to or end, when posted */
	u64 va;
	u8 hdr[SDP_LEN_HDR_MAX] __aligned(8);	/* of control messages */
};

/* Where registered user memory stands. */
enum sdp_umr_state {
	SDP_UMR_QUEUED,	/* not told to anybody yet */
	SDP_UMR_ADVERTISED,		/* the peer has its key; or it is read into, written */
	SDP_UMR_INVALIDATING,		/* not the peer's any more, its key may be valid */
	SDP_UMR_IDLE,		/* no device knows it: to be unpinned, or is */
};

/*
 * A piece of memory that the device may touch.  It belongs to the call that lends
 * it, which does not return before it is IDLE; or, if it is async, to the
 * connection (sdp_zsrc_async.c).
 */
struct sdp_umr {
	struct list_head node;	/* on a list of zsrc or zsink */
	u8 state;		/* enum sdp_umr_state; conn->lock */
	bool async;		/* it stays advertised after the call */
	bool rest;		/* refused, and to be copied; conn->lock */
	bool copied;		/* and so it was */
	u8 why;			/* the counter of the reason; 0: none yet; conn->lock */
	bool ended;		/* the peer has had its key forgotten; conn->lock */
	struct sk_buff *note;	/* tells its owner; NULL: nobody wants to know */
	struct sk_buff_head notes; /* and who sent behind it, and copied */
	u32 moved;		/* bytes that are where they are to go */
	struct sdp_msg *msg;	/* of the stream, that it goes with; while queued */
	struct sdp_msg op;	/* what moves it, or takes it back */
	struct sdp_umem umem;
};

/**
 * sdp_buf_gfp() - how memory is had that is charged to a socket's memory cgroup
 * @gfp: how the caller would have it, if it were his own
 *
 * A worker is everybody's.  It neither reclaims what is that cgroup's, nor waits
 * as long as memory.high has one wait who is above it, which is up to 2 s: as with
 * TCP, whose softirqs cannot.  A process does both, for itself.
 *
 * Context: any.
 * Return: @gfp, in a worker without direct reclaim.
 */
gfp_t sdp_buf_gfp(gfp_t gfp);

/**
 * sdp_buf_alloc() - make a receive buffer and map it
 * @conn: the connection
 * @size: bytes, whole pages
 * @fetch: for an RDMA Read, and not one of the ring
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a buffer that is on rx.all and nowhere else; NULL without memory.
 */
struct sdp_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, bool fetch,
			      gfp_t gfp);

/**
 * sdp_buf_free() - unmap and free a receive buffer
 * @conn: the connection
 * @buf: on rx.all and nowhere else, not posted
 *
 * Context: process or softirq.
 */
void sdp_buf_free(struct sdp_conn *conn, struct sdp_buf *buf);

/**
 * sdp_buf_charge() - charge the owner for what waits for him
 * @conn: the connection, which is owned
 * @gfp: how to allocate
 *
 * Pages that nobody was charged for cannot be charged later.  So bytes that arrived
 * before there was an owner go over to a buffer of his: those of the first such on
 * rx.queue.
 *
 * Context: as @gfp says.
 * Return: true if there may be another; false also without memory.
 */
bool sdp_buf_charge(struct sdp_conn *conn, gfp_t gfp);

/**
 * sdp_buf_addr() - where its bytes are
 * @buf: the buffer
 *
 * Context: any.
 * Return: address of the first byte, that is of the BSDH.
 */
static inline void *sdp_buf_addr(const struct sdp_buf *buf)
{
	return page_address(buf->page);
}

/**
 * sdp_msg_alloc() - make an empty Data message at the end of the fragment
 * @conn: the connection
 * @frag: where messages are cut from, the caller's
 * @mid: SDP_MID_DATA or SDP_MID_SRC_AVAIL
 * @want: payload bytes wished for; from 1 in Data
 * @gfp: how to allocate
 * @room: how many payload bytes fit, at least 1 if @want is, at most @want
 *
 * Context: as @gfp says.
 * Return: a message, or NULL without memory.
 */
struct sdp_msg *sdp_msg_alloc(struct sdp_conn *conn, struct page_frag *frag,
			      u8 mid, u32 want, gfp_t gfp, u32 *room);

/**
 * sdp_msg_alloc_read() - make a request to read into a buffer
 * @buf: where to; goes with the request from now on
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a request, or NULL without memory.
 */
struct sdp_msg *sdp_msg_alloc_read(struct sdp_buf *buf, gfp_t gfp);

/**
 * sdp_msg_payload_at() - where its payload begins
 * @msg: a message with memory of its own
 *
 * Context: any.
 * Return: behind the headers.
 */
static inline void *sdp_msg_payload_at(const struct sdp_msg *msg)
{
	return msg->addr + SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid);
}

/**
 * sdp_umr_alloc() - make one that has no memory yet
 * @op: SDP_OP_READ, WRITE or TAKE_BACK: what its own request is for
 * @slots: of the send queue that the request takes
 *
 * Context: process; sleeps.
 * Return: it, QUEUED; NULL without memory.
 */
struct sdp_umr *sdp_umr_alloc(u8 op, u8 slots);

/**
 * sdp_umr_free() - undo sdp_umr_alloc()
 * @umr: on no list; no device knows its memory any more
 *
 * Context: any.
 */
void sdp_umr_free(struct sdp_umr *umr);

/**
 * sdp_msg_room() - payload bytes that may still be put behind a message
 * @conn: the connection
 * @frag: where messages are cut from, the caller's
 * @msg: a message
 *
 * Context: any.
 * Return: bytes; 0 if it was not the last one cut, or its end is urgent.
 */
u32 sdp_msg_room(const struct sdp_conn *conn, const struct page_frag *frag,
		 const struct sdp_msg *msg);

/**
 * sdp_msg_grow() - payload was put behind it
 * @frag: where it was cut from
 * @msg: the message
 * @bytes: how much, at most sdp_msg_room()
 *
 * Context: any.
 */
void sdp_msg_grow(struct page_frag *frag, struct sdp_msg *msg, u32 bytes);

/**
 * sdp_msg_free() - give a message or request back
 * @conn: the connection; conn->lock held unless it is Data
 * @msg: on no list
 *
 * What it lends, if anything, was not told to anybody, or no device knows it any
 * more.
 *
 * Context: process or softirq.
 */
void sdp_msg_free(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_msg_sent() - give a message back that the device has done with
 * @conn: the connection, conn->lock held
 * @msg: on no list
 *
 * Keeps its page for the next message if nothing else lies in it: a new one
 * would be cleared first, on most kernels.
 *
 * Context: process or softirq.
 */
void sdp_msg_sent(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_msg_fit() - let spare pages go that SO_SNDBUF has no room for
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_msg_fit(struct sdp_conn *conn);

/**
 * sdp_msg_spare() - memory of pages that are kept for the next messages
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: bytes.
 */
u32 sdp_msg_spare(const struct sdp_conn *conn);

/**
 * sdp_msg_idle() - nothing is under way: let the spare pages go
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_msg_idle(struct sdp_conn *conn);

/**
 * sdp_buf_purge() - free every buffer and message of a connection
 * @conn: its last reference is gone
 *
 * Context: process or softirq.
 */
void sdp_buf_purge(struct sdp_conn *conn);

/**
 * sdp_buf_init() - make the caches
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int sdp_buf_init(void);

/**
 * sdp_buf_exit() - undo sdp_buf_init()
 *
 * Context: process.
 */
void sdp_buf_exit(void);

#endif
