/* SPDX-License-Identifier: GPL-2.0 */
/* Sockets of TCP that are ended from outside, as ss -K does. */
#ifndef _SELFTESTS_DESTROY_H
#define _SELFTESTS_DESTROY_H

#include "variant.h"

/* The listener of the variant's family at @a; -1 with errno, EOPNOTSUPP: no kernel for that. */
int destroy_listener(const union addr *a);

/* The connection that @fd is an end of: this end; as the above. */
int destroy_connection(int fd);

/* Nobody gets in, and @c, who was there to be accepted, is gone (-1: not looked at). */
int listener_is_over_(int l, int c, const union addr *a);
#define listener_is_over(...)	CALL(listener_is_over_(__VA_ARGS__))

#endif
