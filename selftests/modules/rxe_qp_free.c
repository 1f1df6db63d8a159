// SPDX-License-Identifier: GPL-2.0
/*
 * A defect of soft-RoCE, by verbs alone: who receives a packet finds its queue pair
 * by number, under the RCU lock, and then takes a reference if the count is not
 * zero; but ib_destroy_qp() gives the queue pair to kfree() without a grace period.
 * The count is then read, and perhaps incremented, in memory that is somebody
 * else's (KASAN says so, in rxe_pool_get_index()).  scripts/rig/uml-patch mends it
 * in the kernels that the rig builds.
 *
 * One queue pair sends to the other, which has nothing to receive into, so that it
 * is sent again and again.  The moment between the look-up and the reference is a
 * few instructions long: a probe at the end of xa_load() holds the receiver there,
 * on its processor, still under the RCU lock.  If ib_destroy_qp() of what it has
 * found comes to its end meanwhile, the defect is shown, and the probe has the
 * receiver find nothing, so that no harm is done.  A device that waits for readers
 * waits for this one, which goes on after RXE_FREE_HOLD.
 */
#include <linux/delay.h>
#include <linux/kallsyms.h>
#include <linux/kprobes.h>
#include <linux/workqueue.h>

#include "rxe_pair.h"

enum {
	RXE_FREE_HOLD	= 500,		/* ms, in which ib_destroy_qp() returns */
	RXE_FREE_LIMIT	= 5000,		/* ms until a receiver is held */
};

enum rxe_free_step {
	RXE_FREE_IDLE,
	RXE_FREE_ARMED,			/* the next one that looks it up is held */
	RXE_FREE_HELD,
	RXE_FREE_GONE,			/* it was freed, the receiver still held */
	RXE_FREE_OVER,			/* the receiver has gone on */
};

static struct {
	atomic_t step;
	unsigned long index;		/* what is looked up: the queue pair's number */
	int cpu;			/* nobody is held where the caller runs */
} rxe_free;

/* Of all who look something up in an xarray: where they call from is not known yet. */
static int rxe_free_enter(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	return atomic_read(&rxe_free.step) != RXE_FREE_ARMED ||
	       regs_get_kernel_argument(regs, 1) != rxe_free.index ||
	       raw_smp_processor_id() == rxe_free.cpu;
}

static int rxe_free_return(struct kretprobe_instance *ri, struct pt_regs *regs)
{
	static const char caller[] = "rxe_pool_get_index";
	char from[KSYM_SYMBOL_LEN];
	int us;

	sprint_symbol_no_offset(from, get_kretprobe_retaddr(ri));
	if (strncmp(from, caller, sizeof(caller) - 1) || !regs_return_value(regs) ||
	    atomic_cmpxchg(&rxe_free.step, RXE_FREE_ARMED, RXE_FREE_HELD) !=
	    RXE_FREE_ARMED)
		return 0;
	for (us = 0; us < RXE_FREE_HOLD * USEC_PER_MSEC; us += 5) {
		if (atomic_read(&rxe_free.step) == RXE_FREE_GONE)
			break;
		udelay(5);
	}
	if (atomic_cmpxchg(&rxe_free.step, RXE_FREE_HELD, RXE_FREE_OVER) ==
	    RXE_FREE_GONE)
		regs_set_return_value(regs, 0);
	return 0;
}

static struct kretprobe rxe_free_probe = {
	.kp.symbol_name	= "xa_load",
	.entry_handler	= rxe_free_enter,
	.handler	= rxe_free_return,
	.maxactive	= 64,
};

struct rxe_free_try {
	struct rxe_pair pair;
	struct work_struct work;
	int err;			/* of work */
};

/* A message of no bytes.  Linux 6.1 sends it where it is posted. */
static void rxe_free_send(struct work_struct *work)
{
	struct rxe_free_try *t = container_of(work, struct rxe_free_try, work);
	struct ib_send_wr send = {
		.opcode		= IB_WR_SEND,
		.send_flags	= IB_SEND_SIGNALED,
	};

	t->err = ib_post_send(t->pair.qp[0], &send, NULL);
}

/* Until somebody who looks for its queue pair is held. */
static int rxe_free_hold(struct rxe_free_try *t)
{
	int ms;

	rxe_free.index = t->pair.qp[1]->qp_num;
	rxe_free.cpu = raw_smp_processor_id();
	atomic_set(&rxe_free.step, RXE_FREE_ARMED);
	schedule_work_on(cpumask_any_but(cpu_online_mask, rxe_free.cpu), &t->work);
	for (ms = 0; atomic_read(&rxe_free.step) == RXE_FREE_ARMED; ms++) {
		if (ms >= RXE_FREE_LIMIT &&
		    atomic_cmpxchg(&rxe_free.step, RXE_FREE_ARMED, RXE_FREE_IDLE) ==
		    RXE_FREE_ARMED)
			return -ETIMEDOUT;
		usleep_range(1000, 2000);
	}
	return 0;
}

static int rxe_free_destroy(struct rxe_free_try *t)
{
	int err = ib_destroy_qp(t->pair.qp[1]);

	if (err)
		return err;
	t->pair.qp[1] = NULL;
	if (atomic_cmpxchg(&rxe_free.step, RXE_FREE_HELD, RXE_FREE_GONE) ==
	    RXE_FREE_HELD)
		return 0;
	return -EXDEV;
}

/**
 * rxe_qp_free() - a queue pair that is destroyed under its reader
 * @device: of soft-RoCE
 *
 * Context: process context; may sleep.
 * Return: 0 if it was freed while a reader under the RCU lock had hold of it;
 * -EXDEV if ib_destroy_qp() has waited for the reader; -ENXIO with one
 * processor, where nobody can be held; -ETIMEDOUT if nobody looked for the queue
 * pair; or the device's error.
 */
int rxe_qp_free(struct ib_device *device)
{
	struct rxe_free_try t = { .pair.device = device };
	int err;

	if (num_online_cpus() < 2)
		return -ENXIO;
	err = register_kretprobe(&rxe_free_probe);
	if (err)
		return err;
	/* Whoever is held must not be where the caller has to run. */
	migrate_disable();
	INIT_WORK_ONSTACK(&t.work, rxe_free_send);
	err = rxe_pair_open(&t.pair) ?: rxe_pair_connect(&t.pair, 0) ?:
	      rxe_pair_connect(&t.pair, 1) ?: rxe_free_hold(&t) ?:
	      rxe_free_destroy(&t);
	migrate_enable();
	flush_work(&t.work);
	destroy_work_on_stack(&t.work);
	if (t.err)
		err = t.err;
	dev_info(&device->dev,
		 "a queue pair whose packet's receiver has just found it is destroyed: %d%s\n",
		 err, err ? "" : ", freed under the reader");
	rxe_pair_close(&t.pair);
	/* Waits until no handler runs. */
	unregister_kretprobe(&rxe_free_probe);
	return err;
}
