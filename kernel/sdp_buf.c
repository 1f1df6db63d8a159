// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that moves.
 *
 * Receive buffers are made when the ring grows and go round after that: posted,
 * arrived, read, posted again.  A buffer is mapped for the device as long as it
 * is in that circle.
 *
 * Messages are cut from a page fragment of up to 32 KiB, one behind the other,
 * so that small ones share pages and a large one gets most of a fragment.  It is
 * the task's, as with TCP (sk_page_frag()): an idle connection keeps none.  The
 * last one cut may grow while nothing follows it: what a caller writes in
 * small pieces while credits are short becomes one message.
 */
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/sock.h>
#include "sdp_conn.h"
#include "sdp_mem.h"

static struct kmem_cache *sdp_buf_cache;
static struct kmem_cache *sdp_msg_cache;
static struct kmem_cache *sdp_umr_cache;

/* Headers start here: a cache line is not shared with the message before. */
enum { SDP_MSG_ALIGN = 64 };

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
gfp_t sdp_buf_gfp(gfp_t gfp)
{
	return current->flags & PF_KTHREAD ? gfp & ~__GFP_DIRECT_RECLAIM : gfp;
}

/* A worker allocates for the process whose socket it is. */
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

/* On rx.all, or off: what the ring has, and what RDMA Reads were given. */
static void sdp_buf_account(struct sdp_conn *conn, const struct sdp_buf *buf,
			    int sign)
{
	lockdep_assert_held(&conn->rx.lock);
	if (buf->owed)
		sdp_ring_account_owed(&conn->ring, buf->size, sign);
	if (buf->fetched) {
		conn->rx.fetched += sign * (int)buf->size;
		if (!buf->filled)
			conn->rx.fetching += sign * (int)buf->size;
		return;
	}
	sdp_ring_account(&conn->ring, buf->size, sign);
}

/* @unread: it is for bytes that have come, and no device need know it. */
static struct sdp_buf *sdp_buf_make(struct sdp_conn *conn, u32 size, bool fetch,
				    bool unread, gfp_t gfp)
{
	struct sdp_buf *buf;
	int err;

	buf = kmem_cache_zalloc(sdp_buf_cache, gfp | __GFP_NOWARN);
	if (!buf)
		goto fail;
	INIT_LIST_HEAD(&buf->node);
	buf->size = size;
	buf->fetched = fetch;
	/* Who is owned has a payer: with sdp_conn_own(). */
	buf->owed = !smp_load_acquire(&conn->owned);
	buf->page = sdp_buf_page(conn, get_order(buf->size), gfp);
	if (!buf->page)
		goto fail_buf;
	sdp_mem_add(page_size(buf->page));
	/* Listed first: teardown unmaps what is listed. */
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
	sdp_count(conn->sn, SDP_CNT_NO_BUFFER, 1);
	return NULL;
}

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
			      gfp_t gfp)
{
	return sdp_buf_make(conn, size, fetch, false, gfp);
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

static struct sdp_buf *sdp_buf_owed(struct sdp_conn *conn)
{
	struct sdp_buf *buf;

	lockdep_assert_held(&conn->rx.lock);
	list_for_each_entry(buf, &conn->rx.queue, node)
		if (buf->owed)
			return buf;
	return NULL;
}

/* In its place of the queue, and as full. */
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
	if (buf->fetched) {
		buf->filled = true;
		conn->rx.fetching -= buf->size;
	}
	list_replace_init(&old->node, &buf->node);
}

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
bool sdp_buf_charge(struct sdp_conn *conn, gfp_t gfp)
{
	struct sdp_buf *old, *buf;
	bool fetched = false;
	u32 size = 0;

	spin_lock_bh(&conn->rx.lock);
	old = sdp_buf_owed(conn);
	if (old) {
		size = old->size;
		fetched = old->fetched;
	}
	spin_unlock_bh(&conn->rx.lock);
	if (!size)
		return false;
	/* Of a connection that is over it is read, and never posted again. */
	buf = sdp_buf_make(conn, size, fetched, true, gfp);
	if (!buf)
		return false;
	/* The reader may have taken it over meanwhile. */
	spin_lock_bh(&conn->rx.lock);
	old = sdp_buf_owed(conn);
	if (old && old->size == size && old->fetched == fetched)
		sdp_buf_succeed(conn, old, buf);
	else
		old = buf;
	spin_unlock_bh(&conn->rx.lock);
	sdp_buf_free(conn, old);
	return true;
}

/**
 * sdp_msg_spare() - memory of pages that are kept for the next messages
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

/* Pages kept for the next messages; with conn->lock held, or by the last user. */
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
 * sdp_msg_fit() - let spare pages go that SO_SNDBUF has no room for
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

/* A spare page in place of one that has no room for @bytes, if there is one. */
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

static void sdp_msg_init(struct sdp_msg *msg, u8 op, u8 slots)
{
	INIT_LIST_HEAD(&msg->node);
	msg->page = NULL;
	msg->payload = 0;
	msg->charged = 0;
	msg->op = op;
	msg->slots = slots;
	msg->mseq = 0;
	msg->mid = SDP_MID_DATA;
	msg->more = false;
	msg->full = false;
	msg->urgent = false;
	msg->ends = false;
	msg->signalled = false;
	msg->mapped = false;
	msg->buf = NULL;
	msg->umr = NULL;
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
	sdp_msg_init(msg, SDP_OP_SEND, 1);
	get_page(frag->page);
	msg->page = frag->page;
	msg->addr = page_address(frag->page) + frag->offset;
	msg->mid = mid;
	frag->offset += hdr;
	/* A small fragment, when memory is short, holds less than wished. */
	*room = min(want, frag->size - frag->offset);
	return msg;
}

/**
 * sdp_msg_alloc_read() - make a request to read into a buffer
 * @buf: where to; goes with the request from now on
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
	sdp_msg_init(msg, SDP_OP_READ, 1);
	msg->buf = buf;
	return msg;
}

/**
 * sdp_umr_alloc() - make one that has no memory yet
 * @op: SDP_OP_READ, WRITE or TAKE_BACK: what its own request is for
 * @slots: of the send queue that the request takes
 *
 * Context: process; sleeps.
 * Return: it, QUEUED; NULL without memory.
 */
struct sdp_umr *sdp_umr_alloc(u8 op, u8 slots)
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
	umr->ended = false;
	umr->note = NULL;
	__skb_queue_head_init(&umr->notes);
	umr->moved = 0;
	umr->msg = NULL;
	sdp_msg_init(&umr->op, op, slots);
	umr->op.umr = umr;
	return umr;
}

/**
 * sdp_umr_free() - undo sdp_umr_alloc()
 * @umr: on no list; no device knows its memory any more
 *
 * Context: any.
 */
void sdp_umr_free(struct sdp_umr *umr)
{
	kmem_cache_free(sdp_umr_cache, umr);
}

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
 * sdp_msg_grow() - payload was put behind it
 * @frag: where it was cut from
 * @msg: the message
 * @bytes: how much, at most sdp_msg_room()
 *
 * Context: any.
 */
void sdp_msg_grow(struct page_frag *frag, struct sdp_msg *msg, u32 bytes)
{
	frag->offset += bytes;
	msg->payload += bytes;
}

/* Nobody was told of it, or no device knows it any more. */
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
 * sdp_msg_free() - give a message or request back
 * @conn: the connection; conn->lock held unless it is Data
 * @msg: on no list
 *
 * What it lends, if anything, was not told to anybody, or no device knows it any
 * more.
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
 * sdp_msg_sent() - give a message back that the device has done with
 * @conn: the connection, conn->lock held
 * @msg: on no list
 *
 * Keeps its page for the next message if nothing else lies in it: a new one
 * would be cleared first, on most kernels.
 *
 * Context: process or softirq.
 */
void sdp_msg_sent(struct sdp_conn *conn, struct sdp_msg *msg)
{
	struct page *page = msg->page;

	lockdep_assert_held(&conn->lock);
	/* The only reference is ours: neither the fragment's nor a message's. */
	if (page && conn->spare.n < SDP_TX_SPARE && PageCompound(page) &&
	    !page_is_pfmemalloc(page) && page_ref_count(page) == 1 &&
	    !sdp_mem_is_short())
		sdp_msg_keep_spare(conn, page);
	sdp_msg_free(conn, msg);
}

/**
 * sdp_msg_idle() - nothing is under way: let the spare pages go
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
 * @conn: its last reference is gone
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
