// SPDX-License-Identifier: GPL-2.0
/*
 * Rsockets: librdmacm's sockets in user space, over RDMA.  The library is loaded when it is
 * asked for.
 *
 * Librdmacm serves the connections of a process by one thread of its own, which may wait
 * for an event that never comes when several threads accept and close.  So nothing here is
 * closed but where connections are measured, one after another.
 */
#include <errno.h>
#include <string.h>

#include <rdma/rsocket.h>

#include "sockets.h"

static struct calls rsocket_calls = {
	.hint = " (is there an RDMA device with this address?)"
};

static void load(void)
{
	void *library;

	if (rsocket_calls.socket)
		return;
	library = library_open("librdmacm.so.1", "librdmacm1");
	rsocket_calls.bind = library_symbol(library, "rbind");
	rsocket_calls.listen = library_symbol(library, "rlisten");
	rsocket_calls.accept = library_symbol(library, "raccept");
	rsocket_calls.connect = library_symbol(library, "rconnect");
	rsocket_calls.getsockname = library_symbol(library, "rgetsockname");
	rsocket_calls.setsockopt = library_symbol(library, "rsetsockopt");
	rsocket_calls.send = library_symbol(library, "rsend");
	rsocket_calls.recv = library_symbol(library, "rrecv");
	rsocket_calls.close = library_symbol(library, "rclose");
	rsocket_calls.socket = library_symbol(library, "rsocket");
}

static void *rsocket_listen(const struct plan *plan, struct place *at)
{
	load();
	return socket_listen(&rsocket_calls, plan, at);
}

static void *rsocket_connect(const struct plan *plan, const struct place *at)
{
	load();
	return socket_connect(&rsocket_calls, plan, at);
}

/* What the library has made is nothing else. */
static void rsocket_check(void *conn, bool after_connect)
{
	(void)conn;
	(void)after_connect;
}

const struct transport over_rsocket = {
	.name = "rsocket", .carrier = "RDMA", .no_epoll = true,
	.listen = rsocket_listen, .connect = rsocket_connect, .check = rsocket_check, SOCKET_CALLS
};
