// SPDX-License-Identifier: GPL-2.0
/*
 * The buffers of a pipe; see sdp_pipe.h.
 *
 * The chain goes from the oldest buffer to the tail, and the consumer's head
 * stands somewhere on it.  What is before the head was read, and is the
 * producer's again: the consumer does not look back.
 */
#include "sdp_pipe.h"

/**
 * sdp_pipe_init() - begin with an empty pipe
 * @pipe: filled in
 * @low: the smallest mark that its producer will wait for, in bytes
 *
 * Context: any; pure.
 */
void sdp_pipe_init(struct sdp_pipe *pipe, u32 low)
{
	*pipe = (struct sdp_pipe){
		.tail	= &pipe->none,
		.oldest	= &pipe->none,
		.head	= &pipe->none,
		.low	= low,
		.need	= 1,
	};
}

/**
 * sdp_pipe_append() - add a buffer to the chain
 * @pipe: the pipe
 * @buf: mem, kind, size and off are set
 * @len: bytes that it has already; the consumer can read them when this returns
 *
 * Context: the producer.
 */
void sdp_pipe_append(struct sdp_pipe *pipe, struct sdp_pipe_buf *buf, u32 len)
{
	buf->next = NULL;
	buf->start = pipe->written;
	buf->len = len;
	/* The consumer follows it only to bytes that are released later. */
	pipe->tail->next = buf;
	pipe->tail = buf;
	if (len)
		/* then the consumer may read them */
		smp_store_release(&pipe->written, pipe->written + len);
}

/**
 * sdp_pipe_unput() - take the last byte back
 * @pipe: the pipe
 * @byte: set to it; sdp_pipe_put() of one byte puts it there again
 *
 * Context: a caller who is the producer and keeps the consumer out.
 * Return: false if it has been read, or is none of the pipe's own memory.
 */
bool sdp_pipe_unput(struct sdp_pipe *pipe, u8 *byte)
{
	struct sdp_pipe_buf *buf = pipe->tail;

	if (pipe->written == pipe->read || buf->kind != SDP_PIPE_OWN || !buf->len)
		return false;
	*byte = ((u8 *)buf->mem)[buf->len - 1];
	WRITE_ONCE(buf->len, buf->len - 1);
	smp_store_release(&pipe->written, pipe->written - 1);	/* as in put() */
	return true;
}

/**
 * sdp_pipe_reuse() - take a buffer out of the chain that was read
 * @pipe: the pipe
 *
 * Context: the producer.
 * Return: the buffer, the caller's now, to append again or to free; NULL: there
 * is none.
 */
struct sdp_pipe_buf *sdp_pipe_reuse(struct sdp_pipe *pipe)
{
	struct sdp_pipe_buf *head, *buf;

	head = smp_load_acquire(&pipe->head);	/* what is before it was read */
	do {
		buf = pipe->oldest;
		if (buf == head)
			return NULL;
		pipe->oldest = buf->next;
	} while (buf == &pipe->none);
	return buf;
}

/**
 * sdp_pipe_pop() - take any buffer out of the chain, read or not
 * @pipe: a pipe that nobody uses any more
 *
 * Context: the owner, who is both sides.
 * Return: the buffer, to be freed; NULL: there is none left.
 */
struct sdp_pipe_buf *sdp_pipe_pop(struct sdp_pipe *pipe)
{
	struct sdp_pipe_buf *buf = pipe->oldest;

	if (buf == &pipe->none)
		buf = buf->next;
	pipe->oldest = buf ? buf->next : NULL;
	return buf;
}
