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

gfp_t sdp_buf_gfp(gfp_t gfp);
struct sdp_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, bool fetch,
			      gfp_t gfp);
void sdp_buf_free(struct sdp_conn *conn, struct sdp_buf *buf);
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

struct sdp_msg *sdp_msg_alloc(struct sdp_conn *conn, struct page_frag *frag,
			      u8 mid, u32 want, gfp_t gfp, u32 *room);
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

struct sdp_umr *sdp_umr_alloc(u8 op, u8 slots);
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
