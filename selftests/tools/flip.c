// SPDX-License-Identifier: GPL-2.0
/*
 * A library for LD_PRELOAD: of what a program sends, one byte is another than it was.
 * FLIP="SIZE AT": byte AT of each send() of just so many bytes.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

ssize_t send(int fd, const void *data, size_t size, int flags)
{
	ssize_t (*next)(int fd, const void *data, size_t size, int flags) =
		dlsym(RTLD_NEXT, "send");
	const char *flip = getenv("FLIP");
	size_t of, at;
	char *other;
	ssize_t n;

	if (!flip || sscanf(flip, "%zu %zu", &of, &at) != 2 || size != of || at >= size)
		return next(fd, data, size, flags);
	other = malloc(size);
	if (!other)
		abort();
	memcpy(other, data, size);
	other[at] ^= 0x80;
	n = next(fd, other, size, flags);
	free(other);
	return n;
}
