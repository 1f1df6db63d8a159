/* SPDX-License-Identifier: GPL-2.0 */
/* What the timers of a connection have due is done; see sdp_check.c. */
#ifndef _SDP_CHECK_H
#define _SDP_CHECK_H

#include "sdp_conn.h"

/* How long a peer may take to answer a cancel: it has its reads to finish, and
 * may be slow.
 */
enum { SDP_CHECK_CANCEL = 20 * HZ };

/**
 * sdp_check_set() - when to ask whether the peer is there, and to give up
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
void sdp_check_set(struct sdp_conn *conn, u32 keep_idle, u32 user_timeout);

/**
 * sdp_check_patience() - how long the peer has to begin with what is advertised
 * @conn: the connection
 *
 * Context: any.
 * Return: jiffies, from 1: net.sdp.zcopy_wait, but less than TCP_USER_TIMEOUT.
 */
unsigned long sdp_check_patience(const struct sdp_conn *conn);

/**
 * sdp_check_begin() - something is about to be queued or advertised
 * @conn: the connection, conn->lock held
 *
 * If nothing was under way the time for progress begins now: what was sent before
 * has arrived.
 *
 * Context: process or softirq.
 */
void sdp_check_begin(struct sdp_conn *conn);

/**
 * sdp_check_async() - memory stays advertised after a call
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_async(struct sdp_conn *conn);

/**
 * sdp_check_starved() - a message waits for credits
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_starved(struct sdp_conn *conn);

/**
 * sdp_check_cm_lost() - nothing but silence will tell that the peer is gone
 * @conn: the connection
 *
 * It is asked for by keepalives, after a second of silence each.
 *
 * Context: process or softirq, no spinlock of the connection held.
 */
void sdp_check_cm_lost(struct sdp_conn *conn);

/**
 * sdp_check_answered() - the peer's device has answered a keepalive
 * @conn: the connection, conn->lock held
 *
 * Context: process or softirq.
 */
void sdp_check_answered(struct sdp_conn *conn);

/**
 * sdp_check() - is it time to give up, or to ask?
 * @conn: the connection, conn->lock held; what has arrived has been reaped
 * @async: jiffies until memory that stays advertised is to be looked at, or
 *	SDP_TIMERS_NEVER; 0: the peer does not answer
 *
 * What is to be done is in tx.done and tx.ctl then.
 *
 * Context: process or softirq.
 */
void sdp_check(struct sdp_conn *conn, unsigned long async);

#endif
