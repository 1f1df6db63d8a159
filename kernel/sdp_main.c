// SPDX-License-Identifier: GPL-2.0
/*
 * AF_SDP: stream sockets over RDMA by the Sockets Direct Protocol.
 *
 * Initialisation in the order of the layers, exit in reverse; nothing else.
 * docs/design.md has the picture; each file tells its part of the story at its
 * top.
 *
 * The transport is initialised before the socket layer above it, but nothing
 * can listen or connect until programs can make sockets, which is the last
 * step.
 */
#include <linux/module.h>
#include <linux/net.h>
#include "sdp_confirm.h"
#include "sdp_conn.h"
#include "sdp_conn_stream.h"
#include "sdp_connect.h"
#include "sdp_dst_cache.h"
#include "sdp_fallback_log.h"
#include "sdp_family.h"
#include "sdp_ib.h"
#include "sdp_join.h"
#include "sdp_listen.h"
#include "sdp_mem.h"
#include "sdp_net.h"
#include "sdp_opt.h"
#include "sdp_sock.h"
#include "sdp_tx_push.h"
#include "sdp_ulp.h"
#include "sdp_view.h"
#include "sdp_zsink.h"
#include "sdp_zsrc.h"
#include "sdp_zsrc_async.h"

static const struct sdp_xport_upper sdp_upper = {
	.spawn = sdp_listen_spawn,
};

static const struct sdp_xport *const sdp_xports_all[] = {
	&sdp_ib_xport,
	NULL,
};

static const struct sdp_tx_zcopy_ops sdp_zcopy_ops = {
	.push		= sdp_zsrc_push,
	.push_read	= sdp_zsink_push_read,
	.check		= sdp_zsrc_async_check,
};

static const struct sdp_ulp_calls sdp_calls = {
	.decide	= sdp_connect_decide,
	.defer	= sdp_listen_defer_work,
	.free	= sdp_join_free,
};

static int __init sdp_init(void)
{
	int err;

	sdp_tx_init(&sdp_zcopy_ops);
	sdp_xport_init(sdp_xports_all);
	sdp_join_init(&sdp_join_stream_ops);
	err = sdp_mem_init();
	if (err)
		return err;
	err = sdp_net_init();
	if (err)
		goto fail_mem;
	err = sdp_dst_cache_init();
	if (err)
		goto fail_net;
	err = sdp_confirm_init();
	if (err)
		goto fail_peers;
	err = sdp_fallback_log_init();
	if (err)
		goto fail_confirm;
	err = sdp_buf_init();
	if (err)
		goto fail_record;
	err = sdp_conn_init();
	if (err)
		goto fail_buf;
	err = sdp_ib_init(&sdp_upper);
	if (err)
		goto fail_conn;
	err = sdp_ulp_init(sdp_sock_fill, &sdp_calls, &sdp_conn_stream_ops);
	if (err)
		goto fail_ib;
	err = sdp_opt_init();
	if (err)
		goto fail_ulp;
	err = sdp_diag_init();
	if (err)
		goto fail_opt;
	err = sdp_sysctl_init();
	if (err)
		goto fail_diag;
	err = sdp_family_init();
	if (err)
		goto fail_sysctl;
	err = sdp_ulp_open();
	if (err)
		goto fail_family;
	pr_info("loaded\n");
	return 0;

fail_family:
	sdp_family_exit();
fail_sysctl:
	sdp_sysctl_exit();
fail_diag:
	sdp_diag_exit();
fail_opt:
	sdp_opt_exit();
fail_ulp:
	sdp_ulp_exit();
fail_ib:
	sdp_ib_exit();
fail_conn:
	sdp_conn_exit();
fail_buf:
	sdp_buf_exit();
fail_record:
	sdp_fallback_log_exit();
fail_confirm:
	sdp_confirm_exit();
fail_peers:
	sdp_dst_cache_exit();
fail_net:
	sdp_net_exit();
fail_mem:
	sdp_mem_exit();
	return err;
}

static void __exit sdp_exit(void)
{
	sdp_ulp_close();
	sdp_family_exit();
	sdp_sysctl_exit();
	sdp_diag_exit();
	sdp_opt_exit();
	/* Sockets are gone; connections that outlived theirs end here. */
	sdp_connect_exit();
	sdp_ib_exit();
	sdp_ulp_exit();
	sdp_conn_exit();
	sdp_buf_exit();
	sdp_fallback_log_exit();
	sdp_confirm_exit();
	sdp_dst_cache_exit();
	sdp_net_exit();
	sdp_mem_exit();
}

module_init(sdp_init);
module_exit(sdp_exit);

MODULE_DESCRIPTION("Stream sockets over RDMA (Sockets Direct Protocol)");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
/* Family 27, protocol 257 with both families, and the TCP_ULP name. */
MODULE_ALIAS_NETPROTO(27);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET, 257, 1);
MODULE_ALIAS_NET_PF_PROTO_TYPE(PF_INET6, 257, 1);
MODULE_ALIAS("tcp-ulp-sdp");
