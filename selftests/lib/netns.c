// SPDX-License-Identifier: GPL-2.0
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns.h"
#include "variant.h"

enum { LINE = 4096 };

/* Is @len what snprintf() returned for a line that fits? */
static void fits(int len)
{
	CHECK(len >= 0 && len < LINE);
}

int shell_(const char *fmt, ...)
{
	char line[LINE];
	va_list args;
	int status;

	va_start(args, fmt);
	fits(vsnprintf(line, sizeof(line), fmt, args));
	va_end(args);
	status = system(line);
	if (status)
		FAIL("wait status %#x of: %s", status, line);
	return 0;
}

int netns_here_(void)
{
	return OK(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

int netns_enter_(int fd)
{
	OK(setns(fd, CLONE_NEWNET));
	return 0;
}

int netns_new_(void)
{
	int was = netns_here_();

	OK(unshare(CLONE_NEWNET));
	shell("ip link set lo up");
	shell("ip addr add %s/32 dev lo", host_addr(AF_INET, NULL));
	shell("ip addr add %s/128 dev lo nodad", host_addr(AF_INET6, NULL));
	if (on_ours())
		sysctl("local", on_join());
	return was;
}

int rules_(const char *fmt, ...)
{
	char body[LINE], line[LINE];
	va_list args;

	if (system("nft list tables >/dev/null 2>&1"))
		ktap_skip("no nft, or this kernel has no nftables");
	va_start(args, fmt);
	fits(vsnprintf(body, sizeof(body), fmt, args));
	va_end(args);
	fits(snprintf(line, sizeof(line), "nft 'table inet sdp { %s; }'", body));
	return shell_("%s", line);
}

int net_sysctl_(const char *name, int value)
{
	char path[128], text[16];
	int fd, n;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	n = snprintf(text, sizeof(text), "%d", value);
	fd = OK(open(path, O_WRONLY | O_CLOEXEC));
	EQ(n, write(fd, text, n));
	close(fd);
	return 0;
}
