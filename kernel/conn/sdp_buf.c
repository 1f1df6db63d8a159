// SPDX-License-Identifier: GPL-2.0
/*
 * Allocation of receive buffers, messages and registered user memory.
 *
 * Receive buffers are made when the ring grows, and are reused after that:
 * posted, arrived, read, posted again.  A buffer stays mapped for the device in
 * all of these steps.  Buffers for RDMA Reads are made for one read, and freed
 * when the reader has emptied them.
 *
 * Messages are cut from a page fragment of up to 32 KiB, one behind the other,
 * so that small ones share pages and a large one gets most of a fragment.  The
 * fragment is the task's, as with TCP (sk_page_frag()): an idle connection
 * keeps none.  The message cut last may grow while nothing follows it, so what
 * a caller writes in small pieces while credits are short becomes one message.
 *
 * Buffers are charged to the owner's memory cgroup.  Buffers made before the
 * connection has an owner are charged to nobody; sdp_buf_charge() replaces them
 * later.  Without memory the functions here return NULL: the caller retries,
 * waits, or does without.
 */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>
#include "sdp_conn.h"
#include "sdp_mem.h"
#include "sdp_trace.h"

static struct kmem_cache *sdp_buf_cache;
static struct kmem_cache *sdp_msg_cache;
static struct kmem_cache *sdp_umr_cache;

/* Alignment of messages: a header does not share the last one's cache line. */
enum { SDP_MSG_ALIGN = 64 };

/**
 * sdp_buf_gfp() - flags to allocate memory charged to a socket's memory cgroup
 * @gfp: flags for memory of the caller's own
 *
 * Workers are shared by all connections.  So a worker neither reclaims memory
 * of that cgroup nor sleeps where memory.high throttles its users, for up to
 * 2 s.  TCP does neither, too, since its softirqs cannot.  A process does both,
 * for itself.
 *
 * Context: any.
 * Return: @gfp, in a worker without direct reclaim.
 */
gfp_t sdp_buf_gfp(gfp_t gfp)
{
	return current->flags & PF_KTHREAD ? gfp & ~__GFP_DIRECT_RECLAIM : gfp;
}

/* Allocate a page, charged to the owner even if a worker allocates it. */
static struct page *sdp_buf_page(struct sdp_conn *conn, unsigned int order,
				 gfp_t gfp)
{
	struct mem_cgroup *payer = READ_ONCE(conn->payer), *was = NULL;
	struct page *page;

	if (payer) {
		was = sdp_set_active_memcg(payer);
		gfp = sdp_buf_gfp(gfp);
	}
	page = alloc_pages(gfp | __GFP_NOWARN | __GFP_COMP | __GFP_ACCOUNT,
			   order);
	if (payer)
		sdp_set_active_memcg(was);
	return page;
}

/* Account a buffer that enters rx.all (@sign 1) or leaves it (@sign -1), to the
 * ring or to RDMA Reads.
 */
static void sdp_buf_account(struct sdp_conn *conn, const struct sdp_buf *buf,
			    int sign)
{
	lockdep_assert_held(&conn->rx.lock);
	if (buf->owed)
		sdp_ring_account_owed(&conn->ring, buf->size, sign);
	if (buf->bounce) {
		conn->rx.bounced += sign * (int)buf->size;
		if (!buf->filled)
			conn->rx.bouncing += sign * (int)buf->size;
		return;
	}
	sdp_ring_account(&conn->ring, buf->size, sign);
}

/* @unread: for bytes that have already arrived, so it need not be mapped. */
static struct sdp_buf *sdp_buf_make(struct sdp_conn *conn, u32 size, bool bounce,
				    bool unread, gfp_t gfp)
{
	struct sdp_buf *buf;
	int err;

	buf = kmem_cache_zalloc(sdp_buf_cache, gfp | __GFP_NOWARN);
	if (!buf)
		goto fail;
	INIT_LIST_HEAD(&buf->node);
	buf->size = size;
	buf->bounce = bounce;
	/* If owned is set so is payer: pairs with sdp_conn_own(). */
	buf->owed = !smp_load_acquire(&conn->owned);
	buf->page = sdp_buf_page(conn, get_order(buf->size), gfp);
	if (!buf->page)
		goto fail_buf;
	sdp_mem_add(page_size(buf->page));
	/* List it before it is mapped: teardown unmaps what is listed. */
	spin_lock_bh(&conn->rx.lock);
	list_add_tail(&buf->all, &conn->rx.all);
	sdp_buf_account(conn, buf, 1);
	spin_unlock_bh(&conn->rx.lock);
	err = conn->xp->map(conn, buf);
	if (err && !(unread && err == -ENODEV)) {
		sdp_buf_free(conn, buf);
		goto fail;
	}
	return buf;

fail_buf:
	kmem_cache_free(sdp_buf_cache, buf);
fail:
	trace_sdp_no_mem(conn->id, bounce ? "RDMA Read" : "receive buffer", size);
	sdp_count(conn->sn, SDP_CNT_NO_BUFFER, 1);
	return NULL;
}

/**
 * sdp_buf_alloc() - make a receive buffer and map it
 * @conn: the connection
 * @size: bytes, whole pages
 * @bounce: for an RDMA Read, not for the ring
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a buffer that is on rx.all and nowhere else; NULL without memory.
 */
struct sdp_buf *sdp_buf_alloc(struct sdp_conn *conn, u32 size, bool bounce,
			      gfp_t gfp)
{
	return sdp_buf_make(conn, size, bounce, false, gfp);
}

/**
 * sdp_buf_free() - unmap and free a receive buffer
 * @conn: the connection
 * @buf: on rx.all and nowhere else, not posted
 *
 * Context: process or softirq.
 */
void sdp_buf_free(struct sdp_conn *conn, struct sdp_buf *buf)
{
	spin_lock_bh(&conn->rx.lock);
	list_del(&buf->all);
	sdp_buf_account(conn, buf, -1);
	if (buf->mapped)
		conn->xp->unmap(conn, buf);
	spin_unlock_bh(&conn->rx.lock);
	sdp_mem_add(-(s64)page_size(buf->page));
	put_page(buf->page);
	kmem_cache_free(sdp_buf_cache, buf);
}

/* The first buffer on rx.queue that nobody was charged for, or NULL. */
static struct sdp_buf *sdp_buf_owed(struct sdp_conn *conn)
{
	struct sdp_buf *buf;

	lockdep_assert_held(&conn->rx.lock);
	list_for_each_entry(buf, &conn->rx.queue, node)
		if (buf->owed)
			return buf;
	return NULL;
}

/* Copy the unread bytes of @old to @buf, which takes its place in the queue. */
static void sdp_buf_succeed(struct sdp_conn *conn, struct sdp_buf *old,
			    struct sdp_buf *buf)
{
	lockdep_assert_held(&conn->rx.lock);
	memcpy(sdp_buf_addr(buf) + old->off, sdp_buf_addr(old) + old->off,
	       old->left);
	buf->off = old->off;
	buf->left = old->left;
	buf->mark = old->mark;
	buf->stamp = old->stamp;
	if (buf->bounce) {
		buf->filled = true;
		conn->rx.bouncing -= buf->size;
	}
	list_replace_init(&old->node, &buf->node);
}

/**
 * sdp_buf_charge() - charge the owner for one buffer that waits to be read
 * @conn: the connection, which is owned
 * @gfp: how to allocate
 *
 * Pages that nobody was charged for cannot be charged later.  So bytes that
 * arrived before there was an owner are copied to a buffer that is charged.
 * This does it for the first such buffer on rx.queue.
 *
 * Context: as @gfp says.
 * Return: true if there may be another; false if not, or without memory.
 */
bool sdp_buf_charge(struct sdp_conn *conn, gfp_t gfp)
{
	struct sdp_buf *old, *buf;
	bool bounce = false;
	u32 size = 0;

	spin_lock_bh(&conn->rx.lock);
	old = sdp_buf_owed(conn);
	if (old) {
		size = old->size;
		bounce = old->bounce;
	}
	spin_unlock_bh(&conn->rx.lock);
	if (!size)
		return false;
	/* If the connection is over the buffer is only read, and need not be
	 * mapped.
	 */
	buf = sdp_buf_make(conn, size, bounce, true, gfp);
	if (!buf)
		return false;
	/* The reader may have taken the old one in the meantime. */
	spin_lock_bh(&conn->rx.lock);
	old = sdp_buf_owed(conn);
	if (old && old->size == size && old->bounce == bounce)
		sdp_buf_succeed(conn, old, buf);
	else
		old = buf;
	spin_unlock_bh(&conn->rx.lock);
	sdp_buf_free(conn, old);
	return true;
}

/**
 * sdp_msg_spare() - memory in pages that are kept for the next messages
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 * Return: bytes.
 */
u32 sdp_msg_spare(const struct sdp_conn *conn)
{
	u8 n = READ_ONCE(conn->spare.n);

	return n ? n * page_size(conn->spare.pages[0]) : 0;
}

/* Under conn->lock, or without it when the last reference is gone. */
static struct page *sdp_msg_take_spare(struct sdp_conn *conn)
{
	struct page *page = conn->spare.pages[--conn->spare.n];

	sdp_mem_add(-(s64)page_size(page));
	return page;
}

static void sdp_msg_keep_spare(struct sdp_conn *conn, struct page *page)
{
	get_page(page);
	sdp_mem_add(page_size(page));
	conn->spare.pages[conn->spare.n++] = page;
	sdp_msg_fit(conn);
}

/**
 * sdp_msg_fit() - free spare pages that SO_SNDBUF has no room for
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_msg_fit(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	while (conn->spare.n &&
	       conn->tx.outstanding + sdp_msg_spare(conn) > READ_ONCE(conn->tx.limit))
		put_page(sdp_msg_take_spare(conn));
}

/* Replace the page of the fragment by a spare one, if there is one and the page
 * has no room for @bytes.  A page that only the fragment refers to stays:
 * skb_page_frag_refill() uses it again.
 */
static void sdp_msg_next_page(struct sdp_conn *conn, struct page_frag *frag,
			      u32 bytes)
{
	struct page *page = NULL;

	if (!READ_ONCE(conn->spare.n) ||
	    (frag->page && (frag->offset + bytes <= frag->size ||
			    page_ref_count(frag->page) == 1)))
		return;
	spin_lock_bh(&conn->lock);
	if (conn->spare.n)
		page = sdp_msg_take_spare(conn);
	spin_unlock_bh(&conn->lock);
	if (!page)
		return;
	if (frag->page)
		put_page(frag->page);
	frag->page = page;
	frag->offset = 0;
	frag->size = page_size(page);
}

static void sdp_msg_init(struct sdp_msg *msg, u8 op)
{
	INIT_LIST_HEAD(&msg->node);
	msg->page = NULL;
	msg->payload = 0;
	msg->charged = 0;
	msg->op = op;
	msg->mseq = 0;
	msg->mid = SDP_MID_DATA;
	msg->more = false;
	msg->full = false;
	msg->urgent = false;
	msg->invalidates = false;
	msg->signalled = false;
	msg->mapped = false;
	msg->buf = NULL;
	msg->umr = NULL;
}

/**
 * sdp_msg_alloc() - make an empty message at the end of the fragment
 * @conn: the connection
 * @frag: the caller's page fragment, from which messages are cut
 * @mid: SDP_MID_DATA or SDP_MID_SRC_AVAIL
 * @want: payload bytes wanted; at least 1 for Data
 * @gfp: how to allocate
 * @room: set to the payload bytes that fit: at most @want, at least 1 if @want
 *	is not 0
 *
 * Context: as @gfp says.
 * Return: a message, or NULL without memory.
 */
struct sdp_msg *sdp_msg_alloc(struct sdp_conn *conn, struct page_frag *frag,
			      u8 mid, u32 want, gfp_t gfp, u32 *room)
{
	u32 hdr = SDP_LEN_BSDH + sdp_wire_ext_len(mid);
	u32 bytes = hdr + want;
	struct sdp_msg *msg;

	msg = kmem_cache_alloc(sdp_msg_cache, gfp | __GFP_NOWARN);
	if (!msg)
		return NULL;
	frag->offset = ALIGN(frag->offset, SDP_MSG_ALIGN);
	sdp_msg_next_page(conn, frag, bytes);
	if (!skb_page_frag_refill(bytes, frag, gfp | __GFP_ACCOUNT)) {
		kmem_cache_free(sdp_msg_cache, msg);
		return NULL;
	}
	sdp_msg_init(msg, SDP_OP_SEND);
	get_page(frag->page);
	msg->page = frag->page;
	msg->addr = page_address(frag->page) + frag->offset;
	msg->mid = mid;
	frag->offset += hdr;
	/* When memory is short, the fragment may be small and hold less. */
	*room = min(want, frag->size - frag->offset);
	return msg;
}

/**
 * sdp_msg_alloc_read() - make a request for an RDMA Read to a bounce buffer
 * @buf: the buffer; the request owns it from now on
 * @gfp: how to allocate
 *
 * Context: as @gfp says.
 * Return: a request, or NULL without memory.
 */
struct sdp_msg *sdp_msg_alloc_read(struct sdp_buf *buf, gfp_t gfp)
{
	struct sdp_msg *msg = kmem_cache_alloc(sdp_msg_cache,
					       gfp | __GFP_NOWARN);

	if (!msg)
		return NULL;
	sdp_msg_init(msg, SDP_OP_READ);
	msg->buf = buf;
	return msg;
}

/**
 * sdp_umr_alloc() - make a struct sdp_umr that has no user memory yet
 * @op: what its own request does: SDP_OP_READ, SDP_OP_WRITE or
 *	SDP_OP_INVALIDATE
 *
 * Context: process; sleeps.
 * Return: it, in state SDP_UMR_QUEUED; NULL without memory.
 */
struct sdp_umr *sdp_umr_alloc(u8 op)
{
	struct sdp_umr *umr = kmem_cache_alloc(sdp_umr_cache, GFP_KERNEL);

	if (!umr)
		return NULL;
	INIT_LIST_HEAD(&umr->node);
	umr->state = SDP_UMR_QUEUED;
	umr->async = false;
	umr->rest = false;
	umr->copied = false;
	umr->why = 0;
	umr->invalidated = false;
	umr->note = NULL;
	__skb_queue_head_init(&umr->notes);
	umr->moved = 0;
	umr->msg = NULL;
	sdp_msg_init(&umr->op, op);
	umr->op.umr = umr;
	return umr;
}

/**
 * sdp_umr_free() - undo sdp_umr_alloc()
 * @umr: on no list, its memory deregistered and unpinned
 *
 * Context: any.
 */
void sdp_umr_free(struct sdp_umr *umr)
{
	kmem_cache_free(sdp_umr_cache, umr);
}

/**
 * sdp_msg_room() - payload bytes that can still be added to a message
 * @conn: the connection
 * @frag: the caller's page fragment, from which messages are cut
 * @msg: a message
 *
 * Context: any.
 * Return: bytes; 0 if it was not cut last from @frag, ends with an urgent byte,
 * or advertises memory.
 */
u32 sdp_msg_room(const struct sdp_conn *conn, const struct page_frag *frag,
		 const struct sdp_msg *msg)
{
	if (frag->page != msg->page || msg->urgent || msg->umr ||
	    page_address(frag->page) + frag->offset !=
	    msg->addr + SDP_LEN_BSDH + msg->payload)
		return 0;
	return min(frag->size - frag->offset,
		   READ_ONCE(conn->snd_max) - msg->payload);
}

/**
 * sdp_msg_grow() - account payload that was added to a message
 * @frag: the page fragment that it was cut from
 * @msg: the message
 * @bytes: payload added, at most sdp_msg_room()
 *
 * Context: any.
 */
void sdp_msg_grow(struct page_frag *frag, struct sdp_msg *msg, u32 bytes)
{
	frag->offset += bytes;
	msg->payload += bytes;
}

/* The message was not posted, or no device can access the memory any more: it
 * is IDLE.  Memory that a posted message has advertised is left alone.
 */
static void sdp_msg_free_umr(struct sdp_msg *msg)
{
	struct sdp_umr *umr = msg->umr;

	if (msg->op != SDP_OP_SEND) {
		umr->msg = NULL;
		umr->state = SDP_UMR_IDLE;
	} else if (umr->msg == msg) {
		umr->msg = NULL;
		umr->state = SDP_UMR_IDLE;
	}
}

/**
 * sdp_msg_free() - free a message or request
 * @conn: the connection; conn->lock held, unless @msg has memory of its own and
 *	was never queued
 * @msg: on no list
 *
 * If it has registered memory, that was not advertised, or no device can access
 * it any more.  A control message goes back to tx.ctl_free.
 *
 * Context: process or softirq.
 */
void sdp_msg_free(struct sdp_conn *conn, struct sdp_msg *msg)
{
	if (msg->mapped)
		conn->xp->unmap_msg(conn, msg);
	if (msg->umr)
		sdp_msg_free_umr(msg);
	if (msg->page) {
		sdp_mem_add(-(s64)msg->charged);
		put_page(msg->page);
		kmem_cache_free(sdp_msg_cache, msg);
	} else if (msg->op == SDP_OP_READ && !msg->umr) {
		if (msg->buf)
			sdp_buf_free(conn, msg->buf);
		kmem_cache_free(sdp_msg_cache, msg);
	} else if (!msg->umr) {
		list_add(&msg->node, &conn->tx.ctl_free);
	}
}

/**
 * sdp_msg_sent() - free a message or request that is complete
 * @conn: the connection, conn->lock held
 * @msg: on no list
 *
 * Keeps its page for the next message if nothing else lies in it: most kernels
 * would clear a new page first.
 *
 * Context: process or softirq.
 */
void sdp_msg_sent(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct page *page = msg->page;

	lockdep_assert_held(&conn->lock);
	/* Ours is the only reference: no fragment or other message uses it. */
	if (page && conn->spare.n < SDP_TX_SPARE && PageCompound(page) &&
	    !page_is_pfmemalloc(page) && page_ref_count(page) == 1 &&
	    !sdp_mem_is_short())
		sdp_msg_keep_spare(conn, page);
	sdp_msg_free(conn, msg);
}

/**
 * sdp_msg_idle() - free the spare pages, when nothing is outstanding
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_msg_idle(struct sdp_conn *conn)
{
	lockdep_assert_held(&conn->lock);
	while (conn->spare.n)
		put_page(sdp_msg_take_spare(conn));
}

/**
 * sdp_buf_purge() - free every buffer and message of a connection
 * @conn: the connection, whose last reference is gone
 *
 * Context: process or softirq.
 */
void sdp_buf_purge(struct sdp_conn *conn)
{
	struct sdp_buf *buf, *next_buf;
	struct sdp_msg *msg, *next_msg;

	list_splice_init(&conn->tx.posted, &conn->tx.queue);
	sdp_zsink_take_reads(&conn->zsink, &conn->tx.queue);
	list_for_each_entry_safe(msg, next_msg, &conn->tx.queue, node) {
		list_del_init(&msg->node);
		sdp_msg_free(conn, msg);
	}
	list_for_each_entry_safe(buf, next_buf, &conn->rx.all, all)
		sdp_buf_free(conn, buf);
	while (conn->spare.n)
		put_page(sdp_msg_take_spare(conn));
}

/**
 * sdp_buf_init() - make the caches
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int __init sdp_buf_init(void)
{
	sdp_buf_cache = KMEM_CACHE(sdp_buf, SLAB_ACCOUNT);
	sdp_msg_cache = KMEM_CACHE(sdp_msg, SLAB_ACCOUNT);
	sdp_umr_cache = KMEM_CACHE(sdp_umr, SLAB_ACCOUNT);
	if (sdp_buf_cache && sdp_msg_cache && sdp_umr_cache)
		return 0;
	sdp_buf_exit();
	return -ENOMEM;
}

/**
 * sdp_buf_exit() - undo sdp_buf_init()
 *
 * Context: process.
 */
void sdp_buf_exit(void)
{
	kmem_cache_destroy(sdp_umr_cache);
	kmem_cache_destroy(sdp_msg_cache);
	kmem_cache_destroy(sdp_buf_cache);
}

/**
 * sdp_buf_full_size() - bytes of a buffer for a peer that sends much
 * @conn: the connection
 *
 * Context: any.
 * Return: bytes with header, whole pages.
 */
u32 sdp_buf_full_size(const struct sdp_conn *conn)
{
	u32 size = READ_ONCE(conn->sn->rcvbuf_size);

	return max_t(u32, round_down(size, PAGE_SIZE), PAGE_SIZE);
}
