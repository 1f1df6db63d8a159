/* SPDX-License-Identifier: GPL-2.0 */
/* io_uring, used bare: no library. */
#ifndef _SELFTESTS_URING_H
#define _SELFTESTS_URING_H

#include <linux/io_uring.h>

#include "ktap.h"

struct ring {
	int fd;
	struct io_uring_params p;
	struct io_uring_sqe *sqes;
	char *at;
	size_t size;
};

int ring_open_(struct ring *r);
#define ring_open(r)		CALL(ring_open_(r))
void ring_close(struct ring *r);

/* Submit one request.  -1 with errno: the kernel has not taken it. */
int ring_submit(struct ring *r, const struct io_uring_sqe *sqe);

/* The next completion. */
int ring_next_(struct ring *r, struct io_uring_cqe *cqe);
#define ring_next(...)		CALL(ring_next_(__VA_ARGS__))

#endif
