/* SPDX-License-Identifier: GPL-2.0 */
/* How a caller sleeps in send() or recv(); see sdp_wait.c. */
#ifndef _SDP_WAIT_H
#define _SDP_WAIT_H

#include <net/sock.h>
#include "sdp_conn.h"

int sdp_wait_event(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, long *timeo);
int sdp_wait_until(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, unsigned long until, long *timeo);
void sdp_wait_cancelled(struct sock *sk, struct sdp_conn *conn,
			wait_queue_entry_t *wait, unsigned long since);
int sdp_wait_memory(struct sock *sk, long *timeo);

#endif
