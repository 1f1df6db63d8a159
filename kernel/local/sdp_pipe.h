/* SPDX-License-Identifier: GPL-2.0 */
/*
 * One direction of a stream inside one host: bytes in memory, from one producer
 * to one consumer.
 *
 * The bytes lie in a chain of buffers.  The producer fills the last one and
 * appends more; the consumer reads from the front.  Neither takes a lock of the
 * other's: @written and @read are positions in the stream, modulo 2^32, each
 * written by one side alone and released after what it stands for.  There may
 * be several callers on a side, but one at a time: the owner of the pipe has a
 * mutex for each.
 *
 * A buffer that was read stays in the chain, in front of the consumer, and the
 * producer fills it again.  So the producer alone allocates and frees, and in a
 * stream that flows nobody does.  An empty pipe begins its last buffer anew:
 * short messages that are answered one by one stay in one page.
 *
 * A stream begins in TCP and may return to it (sdp_pipe_switch(),
 * sdp_pipe_leave()), at a position that both sides know.
 *
 * Waiting.  The pipe has no queue of its own; what sleeps and wakes is the
 * owner's.  A consumer that waits is woken by whatever the producer adds, once
 * that is as much as it needs.  A producer that waits for space is not woken
 * after each read: it says so (sdp_pipe_want_space()), and is woken when the
 * pipe is a good part empty.  For that
 *
 *   - the producer is on its wait queue before it says so, and looks again
 *     behind a full barrier before it sleeps;
 *   - the consumer looks after each read (sdp_pipe_space_due()), without a
 *     barrier, and behind a full barrier whenever it stops: before it sleeps,
 *     returns, or polls (sdp_pipe_stop());
 *   - the consumer takes note (sdp_pipe_space_told()) before it wakes.
 *
 * docs/model/pipe.pml has the rule, and what is lost without each part of it.
 *
 * Pure: types, barriers and arithmetic, nothing else of the kernel.
 */
#ifndef _SDP_PIPE_H
#define _SDP_PIPE_H

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/types.h>
#include <asm/barrier.h>

enum sdp_pipe_kind {
	SDP_PIPE_OWN,		/* memory of the pipe, filled by copying */
	SDP_PIPE_PAGE,		/* somebody's page, by reference */
};

struct sdp_pipe_buf {
	struct sdp_pipe_buf *next; /* the one behind it; NULL: none yet */
	void *mem;		/* SDP_PIPE_OWN: the bytes; else a struct page, NULL
				 * when it was read
				 */
	u32 start;		/* stream position of its first byte */
	u32 len;		/* bytes that it has; more are added to the last one */
	u32 size;		/* bytes that there is room for */
	u32 off;		/* SDP_PIPE_PAGE: where the bytes begin in the page */
	u8 kind;		/* enum sdp_pipe_kind */
};

struct sdp_pipe {
	/* The producer's: */
	u32 written ____cacheline_aligned_in_smp; /* position behind the last byte; released */
	struct sdp_pipe_buf *tail; /* the last buffer, never NULL */
	struct sdp_pipe_buf *oldest; /* the first of the chain, read or not */
	bool switched;		/* the stream has left TCP; released */
	bool left;		/* and has gone back to it; released */
	u32 seq;		/* TCP's sequence number at which it has left it */
	u32 left_at;		/* position at which it has gone back */
	struct sdp_pipe_buf none; /* the chain of a new pipe; has no memory */

	/* The consumer's: */
	u32 read ____cacheline_aligned_in_smp; /* position of the first unread byte; released */
	struct sdp_pipe_buf *head; /* the buffer of that byte, or one before; released */
	bool begun;		/* what was sent by TCP before has been read */

	/* What one side says to the other: */
	bool want_space ____cacheline_aligned_in_smp; /* the producer waits for space, */
	u32 mark;		/* that is, until no more bytes than this are unread */
	u32 low;		/* the smallest mark that a producer waits for */
	u32 need;		/* bytes that a waiting consumer needs, at least 1 */
};

void sdp_pipe_init(struct sdp_pipe *pipe, u32 low);
void sdp_pipe_append(struct sdp_pipe *pipe, struct sdp_pipe_buf *buf, u32 len);
bool sdp_pipe_unput(struct sdp_pipe *pipe, u8 *byte);
struct sdp_pipe_buf *sdp_pipe_reuse(struct sdp_pipe *pipe);
struct sdp_pipe_buf *sdp_pipe_pop(struct sdp_pipe *pipe);

/* Both sides */

/**
 * sdp_pipe_fill() - bytes that are unread
 * @pipe: the pipe
 *
 * Context: any; exact for the producer and the consumer.  For others the answer
 * may be more than there ever was at a time, but is 0 only if that was so.
 * Return: bytes.
 */
static inline u32 sdp_pipe_fill(const struct sdp_pipe *pipe)
{
	/* @read first: it never overtakes @written. */
	u32 read = smp_load_acquire(&pipe->read);

	return smp_load_acquire(&pipe->written) - read;	/* then the bytes */
}

/* The producer */

/**
 * sdp_pipe_room() - bytes that the producer may add now
 * @pipe: the pipe
 * @limit: bytes that may be unread
 *
 * Context: the producer.
 * Return: bytes; 0: it is full.
 */
static inline u32 sdp_pipe_room(const struct sdp_pipe *pipe, u32 limit)
{
	/* Then what was read may be written over. */
	u32 fill = pipe->written - smp_load_acquire(&pipe->read);

	return fill < limit ? limit - fill : 0;
}

/**
 * sdp_pipe_tail() - the buffer to copy to
 * @pipe: the pipe
 *
 * Context: the producer.
 * Return: the buffer, with room behind its len; NULL: sdp_pipe_append() has to
 * be called before.
 */
static inline struct sdp_pipe_buf *sdp_pipe_tail(struct sdp_pipe *pipe)
{
	struct sdp_pipe_buf *buf = pipe->tail;

	if (buf->kind != SDP_PIPE_OWN)
		return NULL;
	/* The consumer looks at no buffer while nothing is unread. */
	if (pipe->written == smp_load_acquire(&pipe->read)) {
		buf->start = pipe->written;
		WRITE_ONCE(buf->len, 0);
	}
	return buf->len < buf->size ? buf : NULL;
}

/**
 * sdp_pipe_put() - bytes were copied behind what the last buffer has
 * @pipe: the pipe
 * @n: how many, no more than there was room
 *
 * The consumer can read them when this returns.
 *
 * Context: the producer.
 */
static inline void sdp_pipe_put(struct sdp_pipe *pipe, u32 n)
{
	struct sdp_pipe_buf *buf = pipe->tail;

	WRITE_ONCE(buf->len, buf->len + n);
	smp_store_release(&pipe->written, pipe->written + n);	/* after the bytes */
}

/**
 * sdp_pipe_is_enough() - whether a consumer that waits is to be woken
 * @pipe: the pipe
 *
 * A producer that cannot go on wakes it in any case.
 *
 * Context: the producer.
 * Return: true if so.
 */
static inline bool sdp_pipe_is_enough(const struct sdp_pipe *pipe)
{
	if (likely(READ_ONCE(pipe->need) <= 1))
		return true;
	smp_mb();	/* with sdp_pipe_need(): what was put, before what is needed */
	return sdp_pipe_fill(pipe) >= READ_ONCE(pipe->need);
}

/**
 * sdp_pipe_want_space() - ask to be woken when there is space
 * @pipe: the pipe
 * @mark: no more bytes than this may be unread then; at least pipe->low, and
 *	well below what the producer takes for full, or it is woken too often
 *
 * The caller is on the wait queue already, or its next call asks again.
 *
 * Context: any; with several callers the last one's mark counts.
 * Return: true if it is so by now: the caller need not wait.
 */
static inline bool sdp_pipe_want_space(struct sdp_pipe *pipe, u32 mark)
{
	WRITE_ONCE(pipe->mark, mark);
	WRITE_ONCE(pipe->want_space, true);
	smp_mb();	/* with sdp_pipe_stop() */
	return sdp_pipe_fill(pipe) <= mark;
}

/**
 * sdp_pipe_switch() - the stream leaves TCP
 * @pipe: the pipe
 * @seq: sequence number of the byte that TCP would send next
 *
 * Context: the producer; once, before anything is put.
 */
static inline void sdp_pipe_switch(struct sdp_pipe *pipe, u32 seq)
{
	pipe->seq = seq;
	smp_store_release(&pipe->switched, true);	/* after seq */
}

/**
 * sdp_pipe_leave() - the stream goes back to TCP, for good
 * @pipe: the pipe
 *
 * What is in the pipe comes before what TCP carries from here on.  A stream that
 * has not left TCP never does then.
 *
 * Context: the producer; once.
 */
static inline void sdp_pipe_leave(struct sdp_pipe *pipe)
{
	pipe->left_at = pipe->written;
	smp_store_release(&pipe->left, true);	/* after left_at */
}

/* The consumer */

/**
 * sdp_pipe_is_next() - whether the stream goes on in the pipe
 * @pipe: the pipe
 * @copied_seq: sequence number of the byte that TCP would deliver next; TCP may have
 *	skipped an urgent byte that it carries behind the pipe
 *
 * Context: the consumer; for others it is so at some time.
 * Return: false if TCP has, or will have, what comes next.
 */
static inline bool sdp_pipe_is_next(const struct sdp_pipe *pipe, u32 copied_seq)
{
	/* Each flag before the position that it is about. */
	if (unlikely(smp_load_acquire(&pipe->left)) &&
	    READ_ONCE(pipe->read) == pipe->left_at)
		return false;
	if (likely(READ_ONCE(pipe->begun)))
		return true;
	/* and this one */
	return smp_load_acquire(&pipe->switched) &&
	       (s32)(copied_seq - pipe->seq) >= 0;
}

/**
 * sdp_pipe_begin() - the consumer has read what TCP sent before
 * @pipe: the pipe, of which sdp_pipe_is_next() is true
 *
 * Context: the consumer.
 */
static inline void sdp_pipe_begin(struct sdp_pipe *pipe)
{
	WRITE_ONCE(pipe->begun, true);
}

/**
 * sdp_pipe_at() - find a byte that is unread
 * @pipe: the pipe
 * @buf: the buffer to begin with, or NULL for the first; set to the one found
 * @pos: position of the byte, not before that buffer
 * @off: set to where in the buffer it is
 *
 * Context: the consumer.
 * Return: bytes from there on in this buffer; 0: there is none at @pos.
 */
static inline u32 sdp_pipe_at(const struct sdp_pipe *pipe,
			      struct sdp_pipe_buf **buf, u32 pos, u32 *off)
{
	struct sdp_pipe_buf *at = *buf ?: pipe->head;
	u32 ready, len;

	ready = smp_load_acquire(&pipe->written) - pos;	/* then the bytes */
	if ((s32)ready <= 0)
		return 0;
	while (pos - at->start >= (len = READ_ONCE(at->len)))
		at = at->next;
	*buf = at;
	*off = pos - at->start;
	return ready < len - *off ? ready : len - *off;
}

/**
 * sdp_pipe_get() - bytes have been read
 * @pipe: the pipe
 * @buf: from sdp_pipe_at(), for the first unread byte
 * @n: how many, no more than it returned
 *
 * The producer may write over them when this returns.
 *
 * Context: the consumer.
 */
static inline void sdp_pipe_get(struct sdp_pipe *pipe, struct sdp_pipe_buf *buf,
				u32 n)
{
	if (buf != pipe->head)
		smp_store_release(&pipe->head, buf);	/* after the last look back */
	smp_store_release(&pipe->read, pipe->read + n);	/* after the bytes were read */
}

/**
 * sdp_pipe_space_due() - whether the producer waits, and may go on
 * @pipe: the pipe
 *
 * Looked at after each read.  If true, the consumer calls sdp_pipe_space_told()
 * and then wakes the producer.
 *
 * Context: the consumer, or a poller of its side.
 * Return: true if so.
 */
static inline bool sdp_pipe_space_due(const struct sdp_pipe *pipe)
{
	return unlikely(READ_ONCE(pipe->want_space)) &&
	       sdp_pipe_fill(pipe) <= READ_ONCE(pipe->mark);
}

/**
 * sdp_pipe_stop() - sdp_pipe_space_due() for a consumer that reads no more
 * @pipe: the pipe
 *
 * The producer may have begun to wait since the last read, and have missed it.
 *
 * Context: the consumer, or a poller of its side.
 * Return: true if the producer is to be told and woken.
 */
static inline bool sdp_pipe_stop(const struct sdp_pipe *pipe)
{
	smp_mb();	/* with sdp_pipe_want_space() */
	return sdp_pipe_space_due(pipe);
}

/**
 * sdp_pipe_space_told() - the producer is about to be woken
 * @pipe: the pipe
 *
 * Context: the consumer, or a poller of its side; before the wake-up.
 */
static inline void sdp_pipe_space_told(struct sdp_pipe *pipe)
{
	WRITE_ONCE(pipe->want_space, false);
}

/**
 * sdp_pipe_has() - whether there is enough to read
 * @pipe: the pipe
 * @n: bytes, at least 1
 *
 * A producer may wait while more than pipe->low is unread.  Then no more
 * comes before something is read, so that has to be enough.
 *
 * Context: the consumer, or a poller of its side.
 * Return: true if so.
 */
static inline bool sdp_pipe_has(const struct sdp_pipe *pipe, u32 n)
{
	u32 fill = sdp_pipe_fill(pipe);

	return fill >= n || fill > READ_ONCE(pipe->low);
}

/**
 * sdp_pipe_need() - ask to be woken when there is enough to read
 * @pipe: the pipe
 * @n: bytes without which the consumer need not be woken
 *
 * The caller is on the wait queue already.  When it waits no more it calls
 * sdp_pipe_need_any().
 *
 * Context: the consumer.
 * Return: sdp_pipe_has(), that is, whether the caller need not wait.
 */
static inline bool sdp_pipe_need(struct sdp_pipe *pipe, u32 n)
{
	WRITE_ONCE(pipe->need, n);
	smp_mb();	/* with sdp_pipe_is_enough() */
	return sdp_pipe_has(pipe, n);
}

/**
 * sdp_pipe_need_any() - the consumer waits no more
 * @pipe: the pipe
 *
 * Context: the consumer.
 */
static inline void sdp_pipe_need_any(struct sdp_pipe *pipe)
{
	WRITE_ONCE(pipe->need, 1);
}

#endif
