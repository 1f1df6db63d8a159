// SPDX-License-Identifier: GPL-2.0
/*
 * The memory of all connections.
 *
 * Receive buffers and messages of all connections are counted together, as
 * those of TCP are in tcp_mem, and for the same reason: each connection may
 * stay within SO_RCVBUF and SO_SNDBUF, and ten thousand of them still take all
 * there is.
 *
 * There are two limits.  Above mem_pressure no connection takes more than it
 * has.  Above mem_max every connection gives back what it can go on without.  A
 * ring shrinks to the few buffers that the credit rules need, as its buffers
 * come back.  A sender has one small message under way at a time.  New
 * connections are refused, or fall back to TCP.  What is open goes on, slowly:
 * nothing is ended for lack of memory.
 *
 * A limit on memory is a limit of the machine, so no namespace has its own.
 *
 * Besides, every buffer is charged to the memory cgroup of the process that has
 * the socket (sdp_conn_own()), even if a worker makes it.  Before accept()
 * there is no such process: what has come by then is charged to the caller of
 * accept() (sdp_refill_owned()).
 */
#include <linux/mm.h>
#include "sdp_mem.h"

struct sdp_mem_limits sdp_mem_limits __read_mostly;
struct percpu_counter sdp_mem_used;

/* mem_max is this part of the memory that is not the kernel's own, as for
 * tcp_mem, but more of it: idle TCP connections hold no buffers, ours hold four
 * each, and 10,000 of them are to fit into 1 GiB.
 */
enum { SDP_MEM_PART = 4 };

/**
 * sdp_mem_kib() - how much memory is in use
 *
 * Context: process or softirq; sums over all processors.
 * Return: KiB.
 */
u64 sdp_mem_kib(void)
{
	return percpu_counter_sum_positive(&sdp_mem_used) / 1024;
}

/**
 * sdp_mem_init() - make the counter, and set the limits by the machine's memory
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int __init sdp_mem_init(void)
{
	u64 kib = nr_free_buffer_pages() / SDP_MEM_PART * (PAGE_SIZE / 1024);

	kib = clamp_t(u64, kib, 1024, INT_MAX);
	sdp_mem_limits.mem_max = kib;
	sdp_mem_limits.mem_pressure = kib / 4 * 3;
	return percpu_counter_init(&sdp_mem_used, 0, GFP_KERNEL);
}

/**
 * sdp_mem_exit() - undo sdp_mem_init(); all memory has been given back
 *
 * Context: process.
 */
void sdp_mem_exit(void)
{
	WARN_ON_ONCE(percpu_counter_sum(&sdp_mem_used));
	percpu_counter_destroy(&sdp_mem_used);
}
