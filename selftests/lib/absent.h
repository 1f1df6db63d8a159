/* SPDX-License-Identifier: GPL-2.0 */
/* Memory of userfaultfd: whoever touches a page that is not there waits for it. */
#ifndef _ABSENT_H
#define _ABSENT_H

#include "ktap.h"

struct absent {
	char *there, *bytes;
	size_t len;
	int fd;		/* readable while somebody waits */
};

/* So many bytes, of which none are there; the pattern, key 1, is what they are to be. */
int absent_make_(struct absent *a, size_t len);
#define absent_make(...)	CALL(absent_make_(__VA_ARGS__))

/* Whole pages of it, from @at on. */
int absent_give_(struct absent *a, size_t at, size_t len);
#define absent_give(...)	CALL(absent_give_(__VA_ARGS__))

/* All pages but the one at @at, and none that lies behind the one before it. */
int absent_give_but_(struct absent *a, size_t at);
#define absent_give_but(...)	CALL(absent_give_but_(__VA_ARGS__))

/* Waits until somebody waits for a page, for the first time: where that is. */
size_t absent_missed_(struct absent *a);
#define absent_missed(a)	CALL(absent_missed_(a))

#endif
