/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Network namespaces of a case's own, and what may stand between two sockets there:
 * rules, routes, devices.  Needs root, ip and, for rules, nft.
 */
#ifndef _SELFTESTS_NETNS_H
#define _SELFTESTS_NETNS_H

#include "ktap.h"

/* A command that must succeed. */
int shell_(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define shell(...)	CALL(shell_(__VA_ARGS__))

/*
 * This process is in a new namespace: lo, which has this host's addresses too, and
 * net.sdp.local as the variant has it.  A descriptor of the one it was in.
 */
int netns_new_(void);
#define netns_new()	CALL(netns_new_())
/* A descriptor of the one this process is in. */
int netns_here_(void);
#define netns_here()	CALL(netns_here_())
/* Into the one of @fd. */
int netns_enter_(int fd);
#define netns_enter(fd)	CALL(netns_enter_(fd))

/*
 * A table of nftables, for both IPs, with these chains.
 * Skips the case where this kernel has no such thing.
 */
int rules_(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define rules(...)	CALL(rules_(__VA_ARGS__))

/* One of /proc/sys/net. */
int net_sysctl_(const char *name, int value);
#define net_sysctl(name, value)	CALL(net_sysctl_(name, value))

#endif
