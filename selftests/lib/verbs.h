/* SPDX-License-Identifier: GPL-2.0 */
/* Verbs of user space, for the programs that show what a soft device does. */
#ifndef _SELFTESTS_VERBS_H
#define _SELFTESTS_VERBS_H

#include <infiniband/verbs.h>

/* Ends the program with 2, and errno's text, unless @well. */
void verbs_must(int well, const char *what);
/* The device of this name, or the program ends. */
struct ibv_context *verbs_opened(const char *name);
/* An RC queue pair for one message each way, or the program ends. */
struct ibv_qp *verbs_made(struct ibv_pd *pd, struct ibv_cq *cq);

#endif /* _SELFTESTS_VERBS_H */
