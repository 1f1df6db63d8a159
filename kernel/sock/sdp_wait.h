/* SPDX-License-Identifier: GPL-2.0 */
/* How a caller sleeps in send() or recv(); see sdp_wait.c. */
#ifndef _SDP_WAIT_H
#define _SDP_WAIT_H

#include <net/sock.h>
#include "sdp_conn.h"
#include "sdp_zsrc.h"

/* A send() that sleeps while its memory is advertised. */
struct sdp_wait_zcopy {
	struct sdp_zsrc_call call;	/* with sdp_wait_zcopy_ops */
	struct sock *sk;		/* locked; released while asleep */
	struct sdp_conn *conn;		/* its connection, entered */
	long *timeo;			/* jiffies at most; what has gone by is taken off */
	u64 *slept;			/* ns that the time asleep is added to; or NULL */
};

extern const struct sdp_zsrc_wait_ops sdp_wait_zcopy_ops;

int sdp_wait_event(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, long *timeo);
int sdp_wait_until(struct sock *sk, struct sdp_conn *conn,
		   wait_queue_entry_t *wait, unsigned long until, long *timeo);
void sdp_wait_cancelled(struct sock *sk, struct sdp_conn *conn,
			wait_queue_entry_t *wait, unsigned long since);
int sdp_wait_memory(struct sock *sk, long *timeo);
int sdp_wait_space(struct sock *sk, struct sdp_conn *conn, long *timeo, u64 *slept);

#endif
