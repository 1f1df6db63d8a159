/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory that the device reads and writes: receive buffers, messages to be
 * sent, and registered user memory.
 *
 * A receive buffer is whole pages with references, never slab memory, so that
 * its pages can enter a pipe.  A message to be sent lies in a page fragment,
 * header and payload side by side.  Control messages, which have no payload,
 * have fixed places in the connection and need no allocation.
 *
 * Every request posted to the device is a struct sdp_msg, whether it is a
 * message or not.
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

/* Pages kept for coming messages while others are in flight. */
enum { SDP_TX_SPARE = 4 };

/* Bytes of the longest message: what one fragment holds. */
enum { SDP_MSG_MAX = 32768 };

struct sdp_buf {
	struct list_head node;	/* rx.idle, rx.queue or rx.ready; none when posted */
	struct list_head all;	/* on rx.all, under rx.lock */
	struct page *page;	/* compound */
	u64 dma;		/* mapped address of the page */
	bool mapped;		/* for the device */
	bool posted;		/* the transport has it */
	bool bounce;		/* for an RDMA Read; not part of the ring */
	bool filled;		/* its RDMA Read is complete */
	bool owed;		/* nobody was charged for it */
	bool invalidated;		/* came by Send-with-Invalidate: key is invalid now */
	u32 key;		/* key that the message invalidated */
	u32 size;		/* bytes, header included */
	u32 off;		/* offset of the payload not yet read, bytes */
	u32 left;		/* payload not yet read, bytes */
	u32 mark;		/* its last byte is urgent: sdp_urg_arrived(); 0: not so */
	ktime_t stamp;		/* arrival, wall clock; 0: unknown */
};

struct sdp_umr;

/* Requests to the device. */
enum sdp_op {
	SDP_OP_SEND,		/* a message; makes the key of @umr valid first, if any */
	SDP_OP_NOTHING,		/* asks the peer's device whether it is there */
	SDP_OP_READ,		/* RDMA Read into @buf or @umr */
	SDP_OP_WRITE,		/* RDMA Write of @umr, whose key is invalidated after it */
	SDP_OP_INVALIDATE,	/* invalidates the key of @umr */
	/* For can_post() alone: */
	SDP_OP_ADVERTISE,	/* a message that makes the key of @umr valid */
	SDP_OP_ANY,		/* any that makes nothing valid */
};

struct sdp_msg {
	/* On tx.queue, tx.invalidations, tx.posted, tx.ctl_free or zsink.reads. */
	struct list_head node;
	struct page *page;	/* reference; NULL: no memory of its own */
	void *addr;		/* address of the BSDH */
	u64 dma;		/* mapped address of the message */
	u32 bytes;		/* length of the whole request, when posted */
	u32 payload;		/* payload bytes; without the headers */
	u32 charged;		/* bytes of tx.outstanding */
	u32 mseq;		/* MSeq; RDMA Read of @umr: MSeq of the SrcAvail read */
	u16 sq_position;	/* the transport's: place in its send queue */
	u8 op;			/* enum sdp_op */
	u8 mid;			/* MID of a message */
	bool more;		/* the same call will send more right away */
	bool full;		/* no payload can be added */
	bool urgent;		/* its last byte is urgent */
	bool invalidates;		/* Send-with-Invalidate of @rkey */
	bool signalled;		/* its completion is wanted; when posted: is reported */
	bool mapped;		/* for the device; only when posted */
	struct sdp_buf *buf;	/* RDMA Read into a bounce buffer; else NULL */
	struct sdp_umr *umr;	/* to read into, write, advertise or invalidate; or NULL */
	u32 rkey;		/* key of the peer's memory, when posted */
	u64 va;			/* address of the peer's memory, when posted */
	u8 hdr[SDP_LEN_HDR_MAX] __aligned(8);	/* header of a control message */
};

/* Who may access registered user memory. */
enum sdp_umr_state {
	SDP_UMR_QUEUED,	/* not advertised or posted yet */
	SDP_UMR_ADVERTISED,		/* the peer has its key, or RDMA of ours accesses it */
	SDP_UMR_INVALIDATING,		/* the peer is done with it, its key may still be valid */
	SDP_UMR_IDLE,		/* no device can access it: it may be unpinned */
};

/*
 * A piece of user memory that the device may access.  It belongs to the call
 * that advertises it, which does not return before it is IDLE.  If it is async
 * it belongs to the connection instead (sdp_zsrc_async.c).
 */
struct sdp_umr {
	struct list_head node;	/* on a list of zsrc or zsink */
	u8 state;		/* enum sdp_umr_state; under conn->lock */
	bool async;		/* stays advertised after the call */
	bool rest;		/* refused, and still to be copied; under conn->lock */
	bool copied;		/* some of it went by copy */
	u8 why;			/* counter of why it is copied; 0: none yet; conn->lock */
	bool invalidated;		/* the peer invalidated its key; under conn->lock */
	struct sk_buff *note;	/* tells its owner when it is free; or NULL */
	struct sk_buff_head notes; /* notes of calls that are told after this */
	u32 moved;		/* bytes that have been transferred */
	struct sdp_msg *msg;	/* message or request on tx.queue, while queued */
	struct sdp_msg op;	/* request that transfers or invalidates it */
	struct sdp_umem umem;
};

gfp_t sdp_buf_gfp(gfp_t gfp);
u32 sdp_buf_full_size(const struct sdp_conn *conn);
struct sdp_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, bool bounce,
			      gfp_t gfp);
void sdp_buf_free(struct sdp_conn *conn, struct sdp_buf *buf);
bool sdp_buf_charge(struct sdp_conn *conn, gfp_t gfp);

/**
 * sdp_buf_addr() - address of a receive buffer
 * @buf: the buffer
 *
 * Context: any.
 * Return: address of the first byte, where the BSDH of a message is.
 */
static inline void *sdp_buf_addr(const struct sdp_buf *buf)
{
	return page_address(buf->page);
}

struct sdp_msg *sdp_msg_alloc(struct sdp_conn *conn, struct page_frag *frag,
			      u8 mid, u32 want, gfp_t gfp, u32 *room);
struct sdp_msg *sdp_msg_alloc_read(struct sdp_buf *buf, gfp_t gfp);

/**
 * sdp_msg_payload_at() - address of the payload of a message
 * @msg: a message with memory of its own
 *
 * Context: any.
 * Return: address of the byte after the headers.
 */
static inline void *sdp_msg_payload_at(const struct sdp_msg *msg)
{
	return msg->addr + SDP_LEN_BSDH + sdp_wire_ext_len(msg->mid);
}

struct sdp_umr *sdp_umr_alloc(u8 op);
void sdp_umr_free(struct sdp_umr *umr);
u32 sdp_msg_room(const struct sdp_conn *conn, const struct page_frag *frag,
		 const struct sdp_msg *msg);
void sdp_msg_grow(struct page_frag *frag, struct sdp_msg *msg, u32 bytes);
void sdp_msg_free(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_msg_sent(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_msg_fit(struct sdp_conn *conn);
u32 sdp_msg_spare(const struct sdp_conn *conn);
void sdp_msg_idle(struct sdp_conn *conn);
void sdp_buf_purge(struct sdp_conn *conn);
int sdp_buf_init(void);
void sdp_buf_exit(void);

#endif
