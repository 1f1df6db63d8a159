/* SPDX-License-Identifier: GPL-2.0 */
/* Busy polling before a caller sleeps; see sdp_busy_poll.c. */
#ifndef _SDP_BUSY_POLL_H
#define _SDP_BUSY_POLL_H

#include "sdp_conn.h"

long sdp_busy_poll_sleep(struct sdp_conn *conn, wait_queue_entry_t *wait, long timeo,
			 unsigned int asked);

#endif
