/* SPDX-License-Identifier: GPL-2.0 */
/* Verbs of user space, for the programs that show what a soft device does. */
#ifndef _SELFTESTS_VERBS_H
#define _SELFTESTS_VERBS_H

#include <infiniband/verbs.h>

/* Ends the program with 2, and errno's text, unless @well. */
void verbs_must(int well, const char *what);
struct verbs {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *cq;	/* of four entries */
};

/* The device of this name, and what a queue pair needs of it, or the program ends. */
struct verbs verbs_opened(const char *name);
/* An RC queue pair for one message each way, or the program ends. */
struct ibv_qp *verbs_made(const struct verbs *v);

#endif /* _SELFTESTS_VERBS_H */
