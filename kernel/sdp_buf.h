/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The two kinds of memory that move: receive buffers and messages to be sent.
 *
 * A receive buffer is whole pages with references, never slab memory, so that
 * its pages can enter a pipe.  A message to be sent lies in a page fragment,
 * header and payload side by side; control messages, which have no payload,
 * have fixed places in the connection and so need no allocation.
 */
#ifndef _SDP_BUF_H
#define _SDP_BUF_H

#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/mm_types.h>
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
	u32 size;		/* bytes, header too */
	u32 off;		/* of the payload not yet read */
	u32 left;		/* its bytes */
	u32 mark;		/* the last is urgent: sdp_urg_arrived(); 0: no */
};

struct sdp_msg {
	struct list_head node;	/* tx.queue, tx.posted or tx.ctl_free */
	struct page *page;	/* reference; NULL: a control message */
	void *addr;		/* where the BSDH goes */
	u64 dma;
	u32 bytes;		/* of the whole message, when posted */
	u32 payload;		/* bytes behind the BSDH */
	u32 charged;		/* bytes of tx.outstanding */
	u32 mseq;
	u8 mid;			/* unless it is a keepalive */
	bool keepalive;
	bool more;		/* the same call will send more right away */
	bool full;		/* nothing can be put behind it any more */
	bool urgent;		/* so is its last byte */
	bool signalled;
	bool mapped;		/* for the device; only when posted */
	u8 hdr[SDP_LEN_HDR_MAX] __aligned(8);	/* of control messages */
};

/**
 * sdp_buf_alloc() - make a receive buffer and map it
 * @conn: the connection
 * @size: bytes, whole pages
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a buffer that is on rx.all and nowhere else; NULL without memory.
 */
struct sdp_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, gfp_t gfp);

/**
 * sdp_buf_free() - unmap and free a receive buffer
 * @conn: the connection
 * @buf: on rx.all and nowhere else, not posted
 *
 * Context: process or softirq.
 */
void sdp_buf_free(struct sdp_conn *conn, struct sdp_buf *buf);

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
 * @want: payload bytes wished for, from 1
 * @gfp: how to allocate
 * @room: how many payload bytes fit, from 1, at most @want
 *
 * Context: as @gfp says.
 * Return: a message, or NULL without memory.
 */
struct sdp_msg *sdp_msg_alloc(struct sdp_conn *conn, struct page_frag *frag,
			      u32 want, gfp_t gfp, u32 *room);

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
 * sdp_msg_free() - give a message back
 * @conn: the connection; tx.lock held if it is a control message
 * @msg: on no list
 *
 * Context: process or softirq.
 */
void sdp_msg_free(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_msg_sent() - give a message back that the device has done with
 * @conn: the connection, tx.lock held
 * @msg: on no list
 *
 * Keeps its page for the next message if nothing else lies in it: a new one
 * would be cleared first, on most kernels.
 *
 * Context: process or softirq.
 */
void sdp_msg_sent(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_msg_idle() - nothing is under way: let the spare pages go
 * @conn: the connection, tx.lock held
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
