// SPDX-License-Identifier: GPL-2.0
/*
 * Which transport a connection gets.
 *
 * A client's is chosen by the destination, the first in the table that reaches
 * it.  A listener's port is open on each transport, since a request may come by
 * any.
 */
#include <linux/init.h>
#include "sdp_xport.h"

static const struct sdp_xport *const *sdp_xports;

/**
 * sdp_xport_init() - set the transports that there are
 * @xports: from the preferred one on; NULL ends the table, which is not empty
 *
 * Context: process; before there is a connection.
 */
void __init sdp_xport_init(const struct sdp_xport *const *xports)
{
	sdp_xports = xports;
}

/**
 * sdp_xport_find() - choose the transport for a destination
 * @net: namespace of the socket
 * @remote: the destination
 * @ifindex: device that the socket is bound to, 0: any
 *
 * Context: any.
 * Return: the transport.  If none reaches the destination it is the preferred
 * one, whose route() says why not.
 */
const struct sdp_xport *sdp_xport_find(struct net *net,
				       const struct sdp_addr *remote,
				       int ifindex)
{
	const struct sdp_xport *const *xp;

	for (xp = sdp_xports; *xp; xp++)
		if ((*xp)->reaches(net, remote, ifindex))
			return *xp;
	return sdp_xports[0];
}

/* Undo listen() of the transports before @end. */
static void sdp_xport_unlisten_until(const struct sdp_xport *const *end, u16 port)
{
	while (end-- != sdp_xports)
		(*end)->unlisten(port);
}

/**
 * sdp_xport_listen() - start taking requests for a port by each transport
 * @port: the port, of any namespace; counted
 *
 * Context: process; sleeps.
 * Return: 0, or the error of one of them: none listens then.
 */
int sdp_xport_listen(u16 port)
{
	const struct sdp_xport *const *xp;
	int err;

	for (xp = sdp_xports; *xp; xp++) {
		err = (*xp)->listen(port);
		if (err) {
			sdp_xport_unlisten_until(xp, port);
			return err;
		}
	}
	return 0;
}

/**
 * sdp_xport_unlisten() - undo one sdp_xport_listen()
 * @port: the port
 *
 * Context: process; sleeps.
 */
void sdp_xport_unlisten(u16 port)
{
	const struct sdp_xport *const *xp = sdp_xports;

	while (*xp)
		xp++;
	sdp_xport_unlisten_until(xp, port);
}
