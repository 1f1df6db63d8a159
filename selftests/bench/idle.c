// SPDX-License-Identifier: GPL-2.0
/*
 * What a connection that does nothing takes of memory, at both ends: the difference
 * of /proc/meminfo that many of them make.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

static struct memory memory_there(void *control)
{
	struct memory m;

	ask(&over_tcp, control, OP_MEMORY, 0, 0);
	recv_exact(&over_tcp, control, sizeof(m));
	memcpy(&m, over_tcp.data(control), sizeof(m));
	return m;
}

static void print_memory(const char *name, const char *side, int n, struct memory was,
			 struct memory is)
{
	double kernel = (is.kernel - was.kernel) / 1024.0 / n;
	double user = (is.user - was.user) / 1024.0 / n;

	printf("  %-10s %10.1f KiB of the kernel's %10.1f KiB of the program's\n", side,
	       kernel, user);
	if (opt.tsv)
		printf("@\tidle\t%d\t%s\tKiB, %s: kernel, program, sum\t%.1f\t%.1f\t%.1f\n",
		       n, name, side, kernel, user, kernel + user);
}

static void print_own(const char *name, int n, double kib)
{
	printf("  %-10s %10.1f KiB of the kernel's, by its own account\n", name, kib);
	if (opt.tsv)
		printf("@\tidle\t%d\t%s\tKiB, own account\t%.1f\n", n, name, kib);
}

void measure_idle(const bool *chosen, void *control)
{
	void **conns = calloc(opt.idle, sizeof(*conns));
	struct memory here, there;
	uint64_t ours;
	int t, i, n;

	for (t = 0; t < NTRANSPORTS; t++) {
		const struct transport *over = transports[t];

		if (!chosen[t] || !over->can_idle || over->connects_only)
			continue;
		n = opt.idle;
		if (over->idle_max && over->idle_max < n)
			n = over->idle_max;
		ours = 0;
		here = memory_now();
		there = memory_there(control);
		for (i = 0; i < n; i++) {
			conns[i] = over->connect(opt.host, port_of(t, PORT_HOLD));
			if (over->memory)
				ours += over->memory(conns[i]);
		}
		sleep(1);
		printf("\n%s, %d idle connections, memory of one:\n", over->name, n);
		print_memory(over->name, "client", n, here, memory_now());
		print_memory(over->name, "server", n, there, memory_there(control));
		if (over->memory)
			print_own(over->name, n, ours / 1024.0 / n);
		if (over->stays_open)
			break;		/* the last one: the end of the program closes it */
		ask(&over_tcp, control, OP_DROP, 0, 0);
		for (i = 0; i < n; i++)
			over->close(conns[i]);
		recv_exact(&over_tcp, control, 1);
		sleep(2);
	}
	free(conns);
}
