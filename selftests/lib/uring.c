// SPDX-License-Identifier: GPL-2.0
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "uring.h"

static unsigned int *word(const struct ring *r, __u32 off)
{
	return (unsigned int *)(r->at + off);
}

int ring_open_(struct ring *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = OK(syscall(__NR_io_uring_setup, 8, &r->p));
	CHECK(r->p.features & IORING_FEAT_SINGLE_MMAP);
	r->size = r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe);
	r->at = mmap(NULL, r->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
		     IORING_OFF_SQ_RING);
	r->sqes = mmap(NULL, r->p.sq_entries * sizeof(*r->sqes), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	CHECK(r->at != MAP_FAILED && (void *)r->sqes != MAP_FAILED);
	return 0;
}

void ring_close(struct ring *r)
{
	munmap(r->sqes, r->p.sq_entries * sizeof(*r->sqes));
	munmap(r->at, r->size);
	close(r->fd);
}

int ring_submit(struct ring *r, const struct io_uring_sqe *sqe)
{
	unsigned int *tail = word(r, r->p.sq_off.tail), i;
	int ret;

	i = *tail & *word(r, r->p.sq_off.ring_mask);
	r->sqes[i] = *sqe;
	word(r, r->p.sq_off.array)[i] = i;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	ret = syscall(__NR_io_uring_enter, r->fd, 1, 0, 0, NULL, 0);
	if (ret >= 0) {
		EQ(1, ret);
		return 0;
	}
	/* It would be the next call's. */
	EQ(*tail - 1, __atomic_load_n(word(r, r->p.sq_off.head), __ATOMIC_ACQUIRE));
	__atomic_store_n(tail, *tail - 1, __ATOMIC_RELEASE);
	return -1;
}

int ring_next_(struct ring *r, struct io_uring_cqe *cqe)
{
	unsigned int *head = word(r, r->p.cq_off.head);
	const struct io_uring_cqe *cqes = (void *)(r->at + r->p.cq_off.cqes);

	while (*head == __atomic_load_n(word(r, r->p.cq_off.tail), __ATOMIC_ACQUIRE))
		OK(syscall(__NR_io_uring_enter, r->fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0));
	*cqe = cqes[*head & *word(r, r->p.cq_off.ring_mask)];
	__atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
	return 0;
}
