// SPDX-License-Identifier: GPL-2.0
/*
 * Socket semantics within one host, TCP being the oracle: every case runs on
 * TCP and on SDP by each variant (see lib/variant.h).  Both ends are this
 * host's RDMA address; SDP to oneself goes through the device.
 *
 *	sdp_socket [-l] [-t CASE]... [-v VARIANT]...	(patterns of the shell)
 *
 * SDP_ADDR4, SDP_ADDR6: this host's addresses (default: the rig's of
 * $SDP_HOST); SDP_NOBODY4, SDP_NOBODY6: addresses of its network that nobody
 * has.
 */
#include <stdlib.h>
#include <string.h>

#include "lib/compat.h"
#include "lib/variant.h"

/* After an exec (see the case exec_keeps) the descriptor is ours still. */
static int after_exec(int fd, const char *name)
{
	variant_choose(variant_by_name(name));
	must_be_sdp(fd);
	send_text(fd, "after exec");
	return 0;
}

int main(int argc, char **argv)
{
	int ret;

	if (argc == 4 && !strcmp(argv[1], "--after-exec"))
		return after_exec(atoi(argv[2]), argv[3]);
	variant_init();
	compat_init();
	ret = ktap_main(argc, argv, variant_names, NR_VARIANTS, variant_choose);
	variant_exit();
	return ret;
}
