/* SPDX-License-Identifier: GPL-2.0 */
/* Polling before sleeping; see sdp_busy_poll.c. */
#ifndef _SDP_BUSY_POLL_H
#define _SDP_BUSY_POLL_H

#include "sdp_conn.h"

/**
 * sdp_busy_poll_sleep() - wait until something happened on a connection
 * @conn: the connection, entered
 * @wait: the caller's entry on conn->wq, with woken_wake_function(); he has
 *	looked at what he waits for since he is on it
 * @timeo: jiffies at most, not 0; what goes by in polling is not taken off
 * @asked: microseconds to poll that the user asked for (SO_BUSY_POLL), or 0
 *
 * Context: process, no lock held.
 * Return: jiffies that are left; 0: the time is over.  A signal ends it too.
 */
long sdp_busy_poll_sleep(struct sdp_conn *conn, wait_queue_entry_t *wait, long timeo,
			 unsigned int asked);

#endif
