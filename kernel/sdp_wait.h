/* SPDX-License-Identifier: GPL-2.0 */
/* The sleeps of a caller in send() or recv(); see sdp_wait.c. */
#ifndef _SDP_WAIT_H
#define _SDP_WAIT_H

#include <net/sock.h>
#include "sdp_conn.h"

/**
 * sdp_wait_event() - sleep until something happened on the connection
 * @sk: locked; not meanwhile
 * @conn: its connection, entered
 * @wait: the caller's entry on conn->wq, with woken_wake_function(); he has looked
 *	at what he waits for since he is on it
 * @timeo: jiffies at most; what has gone by is taken off
 *
 * Context: process.
 * Return: 0: look again; -EAGAIN: the time is over; -EINTR or -ERESTARTSYS.
 */
int sdp_wait_event(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, long *timeo);

/**
 * sdp_wait_until() - the same, but no longer than memory is to be advertised
 * @sk: as above
 * @conn: as above
 * @wait: as above
 * @until: jiffies
 * @timeo: as above
 *
 * Context: process.
 * Return: as above; -ETIME: it is time to take the memory back.
 */
int sdp_wait_until(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, unsigned long until, long *timeo);

/**
 * sdp_wait_cancelled() - sleep until memory may have come back
 * @sk: locked; not meanwhile
 * @conn: its connection, entered
 * @wait: the caller's entry on conn->wq
 * @since: jiffies when something was heard of it last
 *
 * After too long a time it is had back in the only other way: by ending the
 * connection.  No signal ends it, since memory that a device may touch is not the
 * caller's.
 *
 * Context: process.
 */
void sdp_wait_cancelled(struct sock *sk, struct sdp_conn *conn,
			wait_queue_entry_t *wait, unsigned long since);

/**
 * sdp_wait_memory() - give others time to free some
 * @sk: locked; not meanwhile
 * @timeo: jiffies at most; what has gone by is taken off
 *
 * TCP does not fail when memory is short, it waits; so do we.
 *
 * Context: process.
 * Return: as sdp_wait_event().
 */
int sdp_wait_memory(struct sock *sk, long *timeo);

#endif
