// SPDX-License-Identifier: GPL-2.0
/* Loading the module, and making a network namespace, with allocations that fail. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "fault.h"
#include "lib/module.h"

static void before_load(struct step *st)
{
	(void)st;
	OK(module_unload());
}

static int call_load(struct step *st)
{
	(void)st;
	return module_load();
}

/* It may have loaded and had no memory for the device. */
static void after_load(struct step *st, int ret)
{
	(void)st;
	if (!ret)
		OK(module_unload());
	OK(module_load());
}

CASE_LIMIT(load_faults, BIT(PROTO_V4), 300)
{
	static const struct op op = {
		"load", before_load, call_load, after_load,
		{ ENOMEM, ENOBUFS, ENFILE },
	};

	/* It leaks the cache's name when sysfs has no memory. */
	fault_spare("do_kmem_cache_create");
	fault_sweep_at(FAULT_NEW_MODULE, &op, 30);
}

static void before_netns(struct step *st)
{
	st->fd = OK(open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
}

static int call_netns(struct step *st)
{
	(void)st;
	return unshare(CLONE_NEWNET);
}

static void after_netns(struct step *st, int ret)
{
	if (ret)
		OK(call_netns(st));
	CHECK(module_loaded());
	OK(setns(st->fd, CLONE_NEWNET));
}

CASE_LIMIT(netns_faults, BIT(PROTO_V4), 120)
{
	static const struct op op = {
		"namespace", before_netns, call_netns, after_netns,
		{ ENOMEM },
	};

	fault_sweep(&op, 5);
}
