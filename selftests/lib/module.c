// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "ktap.h"
#include "module.h"
#include "variant.h"

const char *module_file(void)
{
	return getenv("SDP_MODULE") ?: "/run/rig/modules/af_sdp.ko";
}

int module_load_with(const char *parameters)
{
	int fd = open(module_file(), O_RDONLY | O_CLOEXEC), ret, err;

	if (fd < 0)
		return -1;
	ret = syscall(SYS_finit_module, fd, parameters, 0);
	err = errno;
	close(fd);
	/* As run.sh has it: it begins with the defaults, and knows nobody. */
	if (!ret) {
		sysctl("connect_timeout", ktap_ms(10000));
		sysctl("cache_timeout", 0);
		sysctl("local", on_join());
	}
	errno = err;
	return ret;
}

int module_load(void)
{
	return module_load_with("");
}

int module_unload(void)
{
	return syscall(SYS_delete_module, "af_sdp", O_NONBLOCK);
}

bool module_loaded(void)
{
	return !access("/proc/net/sdpstat", F_OK);
}

int module_users(void)
{
	FILE *f = fopen("/sys/module/af_sdp/refcnt", "re");
	int n = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &n) != 1)
		n = 0;
	fclose(f);
	return n;
}

bool device_present(void)
{
	return !access("/sys/class/infiniband/rxe0", F_OK);
}

int device_try_add(void)
{
	char line[128];

	snprintf(line, sizeof(line), "rdma link add rxe0 type rxe netdev %s",
		 getenv("SDP_NETDEV") ?: "eth0");
	return system(line) ? -1 : 0;
}

void device_add(void)
{
	OK(device_try_add());
}

void device_remove(void)
{
	EQ(0, system("rdma link delete rxe0"));
}

void module_restore(void)
{
	if (!module_loaded())
		OK(module_load());
	if (!device_present())
		device_add();
}
