// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <linux/userfaultfd.h>

#include "absent.h"
#include "sdptest.h"

int absent_make_(struct absent *a, size_t len)
{
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_api api = { .api = UFFD_API };

	a->len = len;
	a->bytes = malloc(len);
	a->there = mmap(NULL, len, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(a->there != MAP_FAILED && a->bytes);
	pattern_fill(a->bytes, len, 1, 0);
	a->fd = OK(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK));
	OK(ioctl(a->fd, UFFDIO_API, &api));
	reg.range.start = (unsigned long)a->there;
	reg.range.len = len;
	OK(ioctl(a->fd, UFFDIO_REGISTER, &reg));
	return 0;
}

int absent_give_(struct absent *a, size_t at, size_t len)
{
	struct uffdio_copy copy = {
		.dst = (unsigned long)a->there + at,
		.src = (unsigned long)a->bytes + at,
		.len = len,
	};

	OK(ioctl(a->fd, UFFDIO_COPY, &copy));
	return 0;
}

int absent_give_but_(struct absent *a, size_t at)
{
	size_t page = sysconf(_SC_PAGESIZE), first, i;

	/* Two that are given one after the other may lie together. */
	for (first = 0; first <= page; first += page)
		for (i = first; i < a->len; i += 2 * page)
			if (i != at)
				absent_give(a, i, page);
	return 0;
}

size_t absent_missed_(struct absent *a)
{
	struct uffd_msg msg;

	await(a->fd, POLLIN);
	EQ(sizeof(msg), read(a->fd, &msg, sizeof(msg)));
	EQ(UFFD_EVENT_PAGEFAULT, msg.event);
	return msg.arg.pagefault.address - (unsigned long)a->there;
}
