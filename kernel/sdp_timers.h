/* SPDX-License-Identifier: GPL-2.0 */
/* When to ask whether the peer is there, and to give up; see sdp_timers.c. */
#ifndef _SDP_TIMERS_H
#define _SDP_TIMERS_H

#include "sdp_conn.h"

/**
 * sdp_timers_set() - when to ask whether the peer is there, and to give up
 * @conn: the connection
 * @keep_idle: jiffies without a message until a keepalive is sent; 0: never
 * @user_timeout: jiffies that what was sent may remain under way or queued
 *	without any progress, and a keepalive without an answer; 0: for ever
 *
 * A keepalive that is not answered, or a user timeout, ends the connection by
 * ETIMEDOUT.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_timers_set(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout);

/**
 * sdp_timers_patience() - how long the peer has to begin with what is lent to it
 * @conn: the connection
 *
 * Context: any.
 * Return: jiffies, from 1; less than TCP_USER_TIMEOUT, as a reader who is slow is
 * no reason to end the connection.
 */
static inline unsigned long sdp_timers_patience(const struct sdp_conn *conn)
{
	unsigned long wait = msecs_to_jiffies(READ_ONCE(conn->sn->zcopy_wait));
	u32 timeout = READ_ONCE(conn->timers.user_timeout);

	if (timeout)
		wait = min_t(unsigned long, wait, timeout / 2);
	return max(wait, 1UL);
}

/* How long a peer may take to answer a cancel: it has its reads to finish, and
 * may be slow.
 */
enum { SDP_TIMERS_CANCEL = 20 * HZ };

/**
 * sdp_timers_begins() - something is about to be queued or lent
 * @conn: the connection, conn->lock held
 *
 * If nothing was under way the time for progress begins now: what was sent before
 * has arrived.
 *
 * Context: process or softirq.
 */
void sdp_timers_begins(struct sdp_conn *conn);

/**
 * sdp_timers_lease() - memory is lent that no call waits for
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_timers_lease(struct sdp_conn *conn);

/**
 * sdp_timers_watch() - a message waits for credits
 * @conn: the connection, conn->lock held
 *
 * Who waits with nothing under way would never hear of a peer that is gone, if the
 * word of its going was lost: TCP probes a closed window.
 *
 * Context: process or softirq.
 */
void sdp_timers_watch(struct sdp_conn *conn);

/**
 * sdp_timers_deaf() - nothing but silence will tell that the peer is gone
 * @conn: the connection
 *
 * It is asked for by keepalives, after a second of silence each.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_timers_deaf(struct sdp_conn *conn);

/**
 * sdp_timers_answered() - the peer's device has answered a keepalive
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_timers_answered(struct sdp_conn *conn);

/**
 * sdp_timers_check() - is it time to give up, or to ask?
 * @conn: the connection, conn->lock held; what has arrived has been reaped
 *
 * What is to be done is in tx.done and tx.ctl then.
 *
 * Context: process or softirq.
 */
void sdp_timers_check(struct sdp_conn *conn);

#endif
