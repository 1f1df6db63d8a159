/* SPDX-License-Identifier: GPL-2.0 */
/*
 * TSan knows no fences, so a full barrier is an atomic operation on a variable of
 * the thread's own: it orders, and hides no race between threads.
 */
#ifndef _PURE_ASM_BARRIER_H
#define _PURE_ASM_BARRIER_H

static __thread int pure_barrier __attribute__((unused));

#define smp_mb()		((void)__atomic_fetch_add(&pure_barrier, 1, __ATOMIC_SEQ_CST))
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v)	__atomic_store_n(p, v, __ATOMIC_RELEASE)

#endif
