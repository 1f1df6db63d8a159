/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The memory of all connections: how much is in use and how much may be; see
 * sdp_mem.c.
 */
#ifndef _SDP_MEM_H
#define _SDP_MEM_H

#include <linux/memcontrol.h>
#include <linux/percpu_counter.h>
#include <linux/sched/mm.h>

/*
 * X(field, help).  The sysctl is net.sdp.<field>, in KiB, for the whole
 * machine: namespaces other than the first can only read it.
 */
#define SDP_MEM_LIMITS(X) \
	X(mem_pressure,	"KiB of buffers and messages from which on receive buffers do not grow") \
	X(mem_max,	"KiB from which on they shrink, senders wait, and connections are refused")

struct sdp_mem_limits {
#define SDP_MEM_FIELD(field, help) unsigned int field;
	SDP_MEM_LIMITS(SDP_MEM_FIELD)
#undef SDP_MEM_FIELD
};

/* Set by sysctl: read it with READ_ONCE(). */
extern struct sdp_mem_limits sdp_mem_limits;

extern struct percpu_counter sdp_mem_used;	/* bytes in use */

/* Bytes that a processor may count by itself before the others see them. */
enum { SDP_MEM_BATCH = 64 * 1024 };

/**
 * sdp_mem_add() - count memory that is taken or given back
 * @bytes: bytes taken; negative: bytes given back
 *
 * Context: any but hard interrupt.
 */
static inline void sdp_mem_add(s64 bytes)
{
	percpu_counter_add_batch(&sdp_mem_used, bytes, SDP_MEM_BATCH);
}

/* Whether more than @kib is in use; exact to SDP_MEM_BATCH per processor. */
static inline bool sdp_mem_above(unsigned int kib)
{
	return unlikely(percpu_counter_read(&sdp_mem_used) > (s64)kib * 1024);
}

/**
 * sdp_mem_is_short() - whether no connection may take more memory
 *
 * Context: any.
 * Return: true above net.sdp.mem_pressure, or net.sdp.mem_max if that is less.
 */
static inline bool sdp_mem_is_short(void)
{
	return sdp_mem_above(min(READ_ONCE(sdp_mem_limits.mem_pressure),
				 READ_ONCE(sdp_mem_limits.mem_max)));
}

/**
 * sdp_mem_is_over() - whether connections are to give spare memory back
 *
 * Context: any.
 * Return: true above net.sdp.mem_max.
 */
static inline bool sdp_mem_is_over(void)
{
	return sdp_mem_above(READ_ONCE(sdp_mem_limits.mem_max));
}

u64 sdp_mem_kib(void);
int sdp_mem_init(void);
void sdp_mem_exit(void);

#endif
