// SPDX-License-Identifier: GPL-2.0
/* What several of the fault cases have before their calls, and after. */
#include <poll.h>
#include <string.h>

#include "fault.h"

int fault_listen_at_(int l, union addr *a, int port)
{
	here(a, port);
	OK(set_int(l, SOL_SOCKET, SO_REUSEADDR, 1));
	OK(bind_to(l, a));
	OK(listen(l, 8));
	return l;
}

void fault_before_accept(struct step *st)
{
	pair_start(&st->p);
	OK(connect_to(st->p.c, &st->p.addr));
	await(st->p.l, POLLIN);
}

void fault_before_talk(struct step *st)
{
	pair_open(&st->p);
}

void fault_before_said(struct step *st)
{
	sysctl("zcopy_thresh", 0);
	pair_open(&st->p);
	st->len = FAULT_SAID;
	memset(fault_room, 0, st->len);
	EQ(st->len, send(st->p.c, fault_big, st->len, MSG_NOSIGNAL));
}

void fault_before_heard(struct step *st, size_t len, int thresh)
{
	sysctl("zcopy_thresh", thresh);
	pair_open(&st->p);
	st->len = len;
	st->task = (struct task){ .run = task_recv, .fd = st->p.s, .buf = fault_room,
				  .len = len, .flags = MSG_WAITALL };
	memset(fault_room, 0, len);
	task_start(&st->task);
}

void fault_after_talk(struct step *st, int ret)
{
	(void)ret;
	fault_talk(st->p.c, st->p.s);
}

int fault_again_(struct step *st, int ret, int (*call)(struct step *st))
{
	if (ret)
		OK(call(st));
	return 0;
}

int fault_has_said_(struct step *st)
{
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
	fault_talk(st->p.c, st->p.s);
	return 0;
}

int fault_has_heard_(struct step *st)
{
	EQ(st->len, task_join(&st->task));
	EQ(-1, pattern_check(fault_room, st->len, 7, 0));
	return 0;
}
