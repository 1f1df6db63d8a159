// SPDX-License-Identifier: GPL-2.0
/*
 * Listening on ports, by verbs.
 *
 * A port number is listened on for the whole host, not for a namespace: the net
 * device that a REQ came to tells the namespace.  ib_cm cannot listen on a
 * range any more, so there is one listening id for each device and port.
 *
 * All is under one mutex, which also orders listen() and devices that come.  If
 * a device refuses a port listen() fails; a device that comes later only warns.
 */
#include <linux/slab.h>
#include <linux/xarray.h>
#include "sdp_dev.h"
#include "sdp_ib_port.h"
#include "sdp_trace.h"

/* A port number that is listened on, with an id on each device. */
struct sdp_ib_port {
	struct list_head ids;
	unsigned int users;
	u16 port;
};

struct sdp_ib_listen {
	struct list_head node;
	struct sdp_dev *dev;		/* not a reference: remove() ends it */
	struct ib_cm_id *cm_id;
};

static DEFINE_XARRAY(sdp_ib_ports);	/* by port number; under the mutex */
static DEFINE_MUTEX(sdp_ib_ports_lock);
static ib_cm_handler sdp_ib_port_event;

static int sdp_ib_listen_on(struct sdp_dev *dev, void *arg)
{
	struct sdp_ib_port *port = arg;
	struct sdp_ib_listen *listen;
	int err;

	lockdep_assert_held(&sdp_ib_ports_lock);
	/* listen() and a new device may both come here. */
	list_for_each_entry(listen, &port->ids, node)
		if (listen->dev == dev)
			return 0;
	listen = kzalloc_obj(*listen, GFP_KERNEL);
	if (!listen)
		return -ENOMEM;
	listen->dev = dev;
	listen->cm_id = ib_cm_insert_listen(dev->ib, sdp_ib_port_event,
					    cpu_to_be64(SDP_IB_SERVICE_ID +
							port->port));
	if (IS_ERR(listen->cm_id)) {
		err = PTR_ERR(listen->cm_id);
		trace_sdp_dev(0, dev_name(&dev->ib->dev), "cannot listen", err);
		kfree(listen);
		return err == -EBUSY ? -EADDRINUSE : err;
	}
	list_add_tail(&listen->node, &port->ids);
	return 0;
}

static void sdp_ib_unlisten_on(struct sdp_ib_port *port, struct sdp_dev *dev)
{
	struct sdp_ib_listen *listen, *next;

	list_for_each_entry_safe(listen, next, &port->ids, node) {
		if (dev && listen->dev != dev)
			continue;
		list_del(&listen->node);
		ib_destroy_cm_id(listen->cm_id);
		kfree(listen);
	}
}

static void sdp_ib_put_port(struct sdp_ib_port *port)
{
	if (--port->users)
		return;
	trace_sdp_port(0, "unlisten", port->port);
	xa_erase(&sdp_ib_ports, port->port);
	sdp_ib_unlisten_on(port, NULL);
	kfree(port);
}

int sdp_ib_listen(u16 number)
{
	struct sdp_ib_port *port;
	int err = 0;

	mutex_lock(&sdp_ib_ports_lock);
	port = xa_load(&sdp_ib_ports, number);
	if (port) {
		port->users++;
		goto out;
	}
	port = kzalloc_obj(*port, GFP_KERNEL);
	if (!port) {
		err = -ENOMEM;
		goto out;
	}
	port->port = number;
	port->users = 1;
	INIT_LIST_HEAD(&port->ids);
	err = xa_insert(&sdp_ib_ports, number, port, GFP_KERNEL);
	if (err) {
		kfree(port);
		goto out;
	}
	trace_sdp_port(0, "listen", number);
	err = sdp_dev_for_each(sdp_ib_listen_on, port);
	if (err)
		sdp_ib_put_port(port);
out:
	mutex_unlock(&sdp_ib_ports_lock);
	return err;
}

void sdp_ib_unlisten(u16 number)
{
	struct sdp_ib_port *port;

	mutex_lock(&sdp_ib_ports_lock);
	port = xa_load(&sdp_ib_ports, number);
	if (port)
		sdp_ib_put_port(port);
	mutex_unlock(&sdp_ib_ports_lock);
}

/**
 * sdp_ib_ports_add() - listen on a new device too
 * @dev: the device
 *
 * Context: process; sleeps.  Warns of a port that the device refuses.
 */
void sdp_ib_ports_add(struct sdp_dev *dev)
{
	struct sdp_ib_port *port;
	unsigned long number;
	int err;

	mutex_lock(&sdp_ib_ports_lock);
	xa_for_each(&sdp_ib_ports, number, port) {
		err = sdp_ib_listen_on(dev, port);
		if (err)
			pr_warn("%s: cannot listen on port %u (%d)\n",
				dev_name(&dev->ib->dev), port->port, err);
	}
	mutex_unlock(&sdp_ib_ports_lock);
}

/**
 * sdp_ib_ports_remove() - stop listening on a device
 * @dev: the device, which goes
 *
 * Context: process; sleeps until callbacks for its ports have returned.
 */
void sdp_ib_ports_remove(struct sdp_dev *dev)
{
	struct sdp_ib_port *port;
	unsigned long number;

	mutex_lock(&sdp_ib_ports_lock);
	xa_for_each(&sdp_ib_ports, number, port)
		sdp_ib_unlisten_on(port, dev);
	mutex_unlock(&sdp_ib_ports_lock);
}

/**
 * sdp_ib_ports_init() - set the callback for requests
 * @event: callback of every listening id
 *
 * Context: process, before anything else here.
 */
void __init sdp_ib_ports_init(ib_cm_handler event)
{
	sdp_ib_port_event = event;
}

/**
 * sdp_ib_ports_exit() - undo sdp_ib_ports_init()
 *
 * Context: process, when nobody listens any more.
 */
void sdp_ib_ports_exit(void)
{
	/* An array that got one node of two keeps that one, empty. */
	xa_destroy(&sdp_ib_ports);
}
