/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The module itself, and the RDMA device below it: soft-RoCE, which "rdma link"
 * makes and removes, rxe0 on SDP_NETDEV.  Needs root.
 */
#ifndef _MODULE_H
#define _MODULE_H

#include <stdbool.h>

/* SDP_MODULE, or the rig's. */
const char *module_file(void);
/* Return: 0, or -1 with errno. */
int module_load(void);

/* The same, with module parameters ("family6=28"). */
int module_load_with(const char *parameters);
int module_unload(void);
bool module_loaded(void);
/* What holds it: sockets, mostly. */
int module_users(void);

bool device_present(void);
/* Return: 0, or -1. */
int device_try_add(void);
void device_add(void);
void device_remove(void);

/* Both as the rig made them. */
void module_restore(void);

#endif
