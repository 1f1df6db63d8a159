// SPDX-License-Identifier: GPL-2.0
/*
 * io_uring's sends that promise not to copy: their results, their notifications,
 * and whether these tell the truth.  SDP does not copy; TCP copies on the way to
 * its own host.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "lib/uring.h"
#include "lib/variant.h"

enum { LEN = 300000 };

/* Submit one request. */
static int ring_send_(struct ring *r, int fd, const void *buf, size_t len, int zc_flags,
		      int sqe_flags)
{
	struct io_uring_sqe sqe = {
		.opcode = IORING_OP_SEND_ZC, .flags = sqe_flags, .ioprio = zc_flags, .fd = fd,
		.addr = (uintptr_t)buf, .len = len, .msg_flags = MSG_WAITALL,
	};

	OK(ring_submit(r, &sqe));
	return 0;
}

#define ring_send(...)	CALL(ring_send_(__VA_ARGS__))

/* Usage is reported from Linux 6.2 on. */
static bool reports_usage(void)
{
	return kernel_since(6, 2);
}

/* One send of all of @buf, which somebody reads. */
static int send_zc_(struct ring *r, const struct pair *p, const char *buf, int zc_flags,
		    int sqe_flags)
{
	unsigned long long lent = on_sdp() ? counter("bytes_lent") : 0;
	struct task t = { .run = task_recv, .fd = p->s, .len = LEN, .flags = MSG_WAITALL };
	struct io_uring_cqe cqe;

	t.buf = calloc(1, LEN);
	task_start(&t);
	if (reports_usage())
		zc_flags |= IORING_SEND_ZC_REPORT_USAGE;
	ring_send(r, p->c, buf, LEN, zc_flags, sqe_flags);
	ring_next(r, &cqe);
	EQ(LEN, cqe.res);
	CHECK(cqe.flags & IORING_CQE_F_MORE);
	ring_next(r, &cqe);
	CHECK(cqe.flags & IORING_CQE_F_NOTIF);
	if (reports_usage())
		EQ(on_sdp() ? 0 : IORING_NOTIF_USAGE_ZC_COPIED,
		   (unsigned int)cqe.res);
	/* That is the truth. */
	if (on_sdp())
		EQ(lent + LEN, counter("bytes_lent"));
	EQ(LEN, task_join(&t));
	EQ(-1, pattern_check(t.buf, LEN, 1, 0));
	free(t.buf);
	return 0;
}

#define send_zc(...)	CALL(send_zc_(__VA_ARGS__))

static void needs_send_zc(void)
{
	if (!kernel_since(6, 0))
		ktap_skip("Linux before 6.0 has no SEND_ZC");
}

CASE(uring_send_zc)
{
	char *buf = aligned_alloc(4096, 2 * LEN);
	struct pair p;
	struct ring r;
	int i;

	needs_send_zc();
	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	pair_open(&p);
	ring_open(&r);
	pattern_fill(buf + 100, LEN, 1, 0);
	for (i = 0; i < 4; i++)
		send_zc(&r, &p, buf + 100, 0, i % 2 ? IOSQE_ASYNC : 0);
}

/* The same from buffers that the ring has for good, which begin anywhere. */
CASE(uring_send_zc_fixed)
{
	static const size_t at[] = { 1000, 4096, 70001 };
	char *buf = aligned_alloc(4096, 4 * LEN);
	struct iovec v = { .iov_base = buf + 1000, .iov_len = 3 * LEN };
	struct pair p;
	struct ring r;
	size_t i;

	needs_send_zc();
	sysctl("zcopy_wait", 60000);
	sysctl("zcopy_write", 0);
	pair_open(&p);
	ring_open(&r);
	OK(syscall(__NR_io_uring_register, r.fd, IORING_REGISTER_BUFFERS, &v, 1));
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		pattern_fill(buf + at[i], LEN, 1, 0);
		send_zc(&r, &p, buf + at[i], IORING_RECVSEND_FIXED_BUF, 0);
	}
}
