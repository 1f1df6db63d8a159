// SPDX-License-Identifier: GPL-2.0
/*
 * One copy: a sender that waits lends its memory to the reader.
 *
 * A blocking send() of a long piece pins it and publishes it behind what is in the
 * pipe.  The reader copies from there, once, and send() returns when it has
 * taken all.  The sender lends only to a reader that is asleep in recv() at that
 * moment, or what does not fit into the pipe: that is, when TCP would have it
 * wait too.  One thread that writes and then reads its own socket would otherwise
 * stop for ever.
 *
 * A sender that has waited long enough, or is to end, takes its memory back: what is
 * not read is copied into the pipe.  It lends no more than the pipe takes, so a
 * reader that was told of the bytes finds them, and send() returns as if all had
 * been copied.
 *
 * The mutex of the loan is held by the reader for one copy of at most 64 KiB with
 * page faults off, and by the sender while it copies its pinned pages.  So neither
 * waits for a page of the other's, which may not come (a slow file, userfaultfd).
 *
 * The positions of the pipe do not know of a loan: it is empty again, or the
 * pipe's, before anything else is put behind it.  Other senders of the direction
 * find it full until then.
 *
 * With a processor to spare two copies side by side are faster than one with a
 * rendezvous, so which way to go is decided by what it has cost (sdp_zpolicy.c).
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "sdp_join.h"
#include "sdp_trace.h"
#include "sdp_umem.h"

enum {
	SDP_JOIN_LOAN_CLAIM	= 64 * 1024,	/* bytes that a reader copies at a time */
	SDP_JOIN_LOAN_MS	= 10,		/* ms, while nothing is read */
};

/**
 * sdp_join_may_lend() - whether a send is one that may be lent
 * @sk: the sender
 * @ssk: its SDP state
 * @msg: the message
 *
 * Context: process.
 * Return: true if it is long enough, and its memory can be held.
 */
bool sdp_join_may_lend(const struct sock *sk, const struct sdp_sk *ssk,
		       const struct msghdr *msg)
{
	const struct iov_iter *iter = &msg->msg_iter;
	int least = READ_ONCE(ssk->zcopy);

	if (least < 0)
		least = READ_ONCE(sdp_net(sock_net(sk))->zcopy_thresh);
	/* Memory that has no address of the kernel's is copied. */
	return least && iov_iter_count(iter) >= max_t(u32, least, SDP_JOIN_LOAN_LEAST) &&
	       !IS_ENABLED(CONFIG_HIGHMEM) &&
	       (user_backed_iter(iter) ||
		(iov_iter_is_bvec(iter) && msg->msg_flags & SDP_MSG_SPLICE_PAGES));
}

/**
 * sdp_join_prefers_loan() - whether to lend is cheaper, by what was measured
 * @sk: the sender
 * @way: the direction
 * @len: bytes of the send
 * @now: ns when it begins
 *
 * Context: the producer, with way->send.
 * Return: true if this send should be lent.
 */
bool sdp_join_prefers_loan(const struct sock *sk, struct sdp_join_way *way,
			   size_t len, u64 now)
{
	return !READ_ONCE(sdp_net(sock_net(sk))->zcopy_adapt) ||
	       sdp_zpolicy_begin(&way->zpolicy, len, now) == SDP_WAY_ZCOPY;
}

/* Hold what @iter stands at, and publish it.  NULL: it has to be copied. */
static struct sdp_umem *sdp_join_publish(struct sock *sk, struct sdp_join_way *way,
					 const struct iov_iter *iter, u32 most)
{
	struct sdp_umem *umem;

	umem = kmalloc_obj(*umem, GFP_KERNEL_ACCOUNT | __GFP_NORETRY | __GFP_NOWARN);
	if (!umem)
		return NULL;
	most = min_t(size_t, most, iov_iter_count(iter));
	if (sdp_umem_pin(umem, sdp_net(sock_net(sk)), iter, most, most,
			 DMA_TO_DEVICE) <= 0) {
		kfree(umem);
		return NULL;
	}
	if (umem->bytes < SDP_JOIN_LOAN_LEAST) {
		sdp_umem_unpin(umem);
		kfree(umem);
		return NULL;
	}
	mutex_lock(&way->lend);
	WRITE_ONCE(way->lent, umem);
	smp_store_release(&way->lent_left, umem->bytes);	/* after what it has */
	mutex_unlock(&way->lend);
	return umem;
}

/* Copy what is not read into the pipe.  Returns how much that was. */
static u32 sdp_join_put_back(const struct sock *sk, struct sdp_join_way *way,
			     const struct sdp_umem *umem)
{
	u32 left = way->lent_left, done = 0, n;
	struct sdp_pipe_buf *buf;

	while (left) {
		buf = sdp_pipe_tail(&way->pipe);
		if (!buf) {
			buf = sdp_join_buf(sk, way, left);
			if (!buf)
				break;
			sdp_pipe_append(&way->pipe, buf, 0);
		}
		n = min(left, buf->size - buf->len);
		sdp_umem_copy(umem, umem->bytes - left, buf->mem + buf->len, n);
		sdp_pipe_put(&way->pipe, n);
		left -= n;
		done += n;
		/* Who looks meanwhile finds more than there is, not less. */
		smp_store_release(&way->lent_left, left);
	}
	return done;
}

/*
 * The loan is over.  @keep: what is not read is put into the pipe.  Returns the bytes
 * that the reader has, or will have.
 */
static u32 sdp_join_take_loan_back(struct sock *sk, struct sdp_join_way *way,
				   struct sdp_umem *umem, bool keep)
{
	u32 done;

	mutex_lock(&way->lend);
	done = umem->bytes - way->lent_left;
	sdp_count(sdp_net(sock_net(sk)), SDP_CNT_JOIN_LENT, done);
	if (unlikely(way->lent_left && keep))
		done += sdp_join_put_back(sk, way, umem);
	smp_store_release(&way->lent_left, 0);	/* after what was put into the pipe */
	WRITE_ONCE(way->lent, NULL);
	mutex_unlock(&way->lend);
	sdp_umem_unpin(umem);
	kfree(umem);
	return done;
}

static bool sdp_join_loan_ends(const struct sock *sk, const struct sdp_join *join, u8 side)
{
	return READ_ONCE(sk->sk_err) || READ_ONCE(sk->sk_shutdown) & SEND_SHUTDOWN ||
	       sdp_join_is_closed(join, side);
}

/* Sleep while the reader takes.  Returns false if it has not, for long. */
static bool sdp_join_loan_wait(struct sock *sk, struct sdp_join *join, u8 side, long *timeo)
{
	unsigned long patience = msecs_to_jiffies(SDP_JOIN_LOAN_MS);
	unsigned long until = jiffies + patience;
	struct sdp_join_way *way = &join->way[!side];
	u32 left = READ_ONCE(way->lent_left), last = left;
	DEFINE_WAIT(wait);
	long nap;

	for (;;) {
		prepare_to_wait(sk_sleep(sk), &wait, TASK_INTERRUPTIBLE);
		left = READ_ONCE(way->lent_left);
		if (left != last)
			until = jiffies + patience;
		last = left;
		nap = min_t(long, until - jiffies, *timeo);
		if (!left || nap <= 0 || sdp_join_loan_ends(sk, join, side) ||
		    signal_pending(current))
			break;
		nap -= schedule_timeout(nap);
		if (*timeo != MAX_SCHEDULE_TIMEOUT)
			*timeo -= nap;
	}
	finish_wait(sk_sleep(sk), &wait);
	return !left || nap > 0;
}

/**
 * sdp_join_lend() - lend what is next of a message, and wait until it is read
 * @sk: the sender
 * @join: the pair
 * @side: the sender's
 * @iter: the memory; advanced by what the reader has, or will have
 * @most: bytes that the pipe would take; no more are lent
 * @timeo: jiffies that the caller may sleep; what has gone by is taken off
 * @slept: ns that the caller slept are added
 *
 * Releases way->send while the caller sleeps.
 *
 * Context: the producer, with way->send; nothing is lent.
 * Return: bytes; 0: this memory has to be copied; -EAGAIN: it was not read for long,
 * and part or all of it is in the pipe: @iter tells.
 */
ssize_t sdp_join_lend(struct sock *sk, struct sdp_join *join, u8 side,
		      struct iov_iter *iter, u32 most, long *timeo, u64 *slept)
{
	struct sdp_join_way *way = &join->way[!side];
	struct sdp_umem *umem = sdp_join_publish(sk, way, iter, most);
	u32 n, bytes;
	bool reads;

	if (!umem)
		return 0;
	bytes = umem->bytes;
	sdp_join_put_noted(way, bytes);
	mutex_unlock(&way->send);
	sdp_join_wake_reader(join, !side);
	sdp_join_show_sender(sk, join, side);
	*slept -= ktime_get_ns();
	reads = sdp_join_loan_wait(sk, join, side, timeo);
	*slept += ktime_get_ns();
	mutex_lock(&way->send);
	n = sdp_join_take_loan_back(sk, way, umem, !sdp_join_is_closed(join, side));
	WRITE_ONCE(way->bytes, way->bytes - (bytes - n));
	iov_iter_advance(iter, n);
	smp_mb();	/* with sdp_join_is_lent() */
	if (unlikely(READ_ONCE(way->lent_full))) {
		WRITE_ONCE(way->lent_full, false);
		sk->sk_write_space(sk);
	}
	return reads ? n : -EAGAIN;
}

/**
 * sdp_join_is_lent() - whether another sender lends memory
 * @way: the direction
 *
 * If so the direction is full until the loan is over, and the caller is woken as for
 * space then.
 *
 * Context: any; a caller that sleeps is on the wait queue, or SOCK_NOSPACE is set.
 * Return: true if so.
 */
bool sdp_join_is_lent(struct sdp_join_way *way)
{
	if (likely(!READ_ONCE(way->lent)))
		return false;
	WRITE_ONCE(way->lent_full, true);
	smp_mb();	/* with sdp_join_lend() */
	return READ_ONCE(way->lent);
}

/**
 * sdp_join_read_loan() - copy from what is lent
 * @join: the pair
 * @side: the reader's
 * @pos: position of the byte wanted, as if the loan were in the pipe; behind what the
 *	consumer has found there
 * @to: where to copy to; NULL: nowhere (MSG_TRUNC)
 * @len: bytes wanted
 * @keep: they are peeked at
 *
 * Context: the consumer, with way->recv; the pipe was empty.
 * Return: bytes; 0: nothing is lent, or it is in the pipe by now; -EFAULT.
 */
ssize_t sdp_join_read_loan(struct sdp_join *join, u8 side, u32 pos,
			   struct iov_iter *to, size_t len, bool keep)
{
	struct sdp_join_way *way = &join->way[side];
	u32 n, done, left, skip;

	do {
		mutex_lock(&way->lend);
		left = way->lent_left;
		/*
		 * It is not before the mutex was taken that the pipe stands still: the
		 * loan may have been put back into it, and this be the next one.  Then
		 * skip is more than any loan has.
		 */
		skip = pos - way->pipe.written;
		if (!way->lent || left <= skip) {
			mutex_unlock(&way->lend);
			return 0;
		}
		n = min3((u32)min_t(size_t, len, SDP_JOIN_LOAN_CLAIM), left - skip,
			 (u32)SDP_JOIN_LOAN_CLAIM);
		done = n;
		if (to) {
			pagefault_disable();
			done = sdp_umem_to_iter(way->lent,
						way->lent->bytes - left + skip, n, to);
			pagefault_enable();
		}
		if (!keep)
			WRITE_ONCE(way->lent_left, left - done);
		mutex_unlock(&way->lend);
		if (!keep && done == left)
			sdp_join_wake_writer(join, !side);
		/* The caller's page was not there: have it come, with no lock held. */
	} while (!done && sdp_iter_fault_in(to, n) < n);
	return done ?: -EFAULT;
}
