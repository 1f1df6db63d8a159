/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The source of SrcAvails: a caller's own memory is offered to the peer; see
 * sdp_zsrc.c.
 *
 * All but sdp_zsrc_told() is for the one caller who lends.
 */
#ifndef _SDP_ZSRC_H
#define _SDP_ZSRC_H

#include "sdp_conn.h"

/**
 * sdp_zsrc_pays() - should this send() advertise its memory?
 * @conn: the connection
 * @iter: what it sends
 *
 * Context: process.
 * Return: true if it is long enough, user memory, and the peer takes offers.
 */
bool sdp_zsrc_pays(const struct sdp_conn *conn, const struct iov_iter *iter);

/**
 * sdp_zsrc_prefers() - or is copying cheaper, by what was measured?
 * @conn: the connection
 * @len: bytes of the send
 * @now: ns, as it begins; by then the last one has had its time
 *
 * Context: process.
 * Return: true if this one should be offered.
 */
bool sdp_zsrc_prefers(struct sdp_conn *conn, size_t len, u64 now);

/**
 * sdp_zsrc_spent() - a send is over that sdp_zsrc_prefers() was asked for
 * @conn: the connection
 * @len: its bytes, from 1
 * @lent: whether it was
 * @ns: of the caller's time, without his sleep
 *
 * Context: process.
 */
void sdp_zsrc_spent(struct sdp_conn *conn, size_t len, bool lent, u64 ns);

/**
 * sdp_zsrc_can() - can memory be advertised at all?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if both devices can, and messages are long enough.
 */
bool sdp_zsrc_can(const struct sdp_conn *conn);

/**
 * sdp_zsrc_message() - make the SrcAvail, with the inline bytes that it needs
 * @conn: the connection
 * @frag: where messages are cut from
 * @umr: what it advertises, from sdp_umr_make(); has the message then
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int sdp_zsrc_message(struct sdp_conn *conn, struct page_frag *frag,
		     struct sdp_umr *umr);

/**
 * sdp_zsrc_begin() - nobody else sends from now on
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_zsrc_end()
 *
 * Context: process.
 * Return: 0; SDP_CNT_COPIED_BUSY if somebody lends already or the connection is dead,
 * SDP_CNT_COPIED_HABIT if the peer has refused too often of late.
 */
enum sdp_counter sdp_zsrc_begin(struct sdp_conn *conn);

/**
 * sdp_zsrc_more() - advertise, or write, the next piece
 * @conn: the connection; the caller has the socket lock
 * @frag: where messages are cut from
 * @iter: the user's memory; advanced
 *
 * It is posted by the next sdp_tx_run() that credits and the mode allow.
 *
 * Context: process; sleeps.
 * Return: bytes offered; 0 if as many pieces are out as may be; negative errno:
 * this piece, and what comes behind it, has to go by copy.
 */
ssize_t sdp_zsrc_more(struct sdp_conn *conn, struct page_frag *frag,
		      struct iov_iter *iter);

/**
 * sdp_zsrc_reap() - unpin what has come back
 * @conn: the connection
 *
 * Context: process; may sleep.
 * Return: bytes that the peer has, of what is not out any more.
 */
size_t sdp_zsrc_reap(struct sdp_conn *conn);

/**
 * sdp_zsrc_cancel() - take back what the peer has not read
 * @conn: the connection
 *
 * What it reads at the moment it may read to the end: there is an answer to
 * wait for.  sdp_tx_run() is the caller's.
 *
 * Context: process.
 */
void sdp_zsrc_cancel(struct sdp_conn *conn);

/**
 * sdp_zsrc_end() - others may send again
 * @conn: the connection; nothing is out
 *
 * Context: process.
 */
void sdp_zsrc_end(struct sdp_conn *conn);

/**
 * sdp_zsrc_told() - the peer has told what became of our SrcAvails
 * @conn: the connection, conn->lock held
 * @told: what
 *
 * Context: process or softirq.
 */
void sdp_zsrc_told(struct sdp_conn *conn, const struct sdp_advert_told *told);

/**
 * sdp_zsrc_queue() - register what a message advertises, or writes, and queue it
 * @conn: the connection; the caller advertises, or has the socket lock and it is for
 *	sdp_zsrc_async.c
 * @msg: the message, or the memory's own request; the memory is listed then
 *
 * Not if what the caller advertised before it has been withdrawn: that comes first
 * in the stream, and by copy.  Nor if the stream is at its end.
 *
 * Context: process; sleeps, for nobody but the device.
 * Return: 0; -ECANCELED if so, or the error of sdp_umr_reg(): the message is gone,
 * and the memory IDLE, on no list, and to be returned.
 */
int sdp_zsrc_queue(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_zsrc_drop_msg() - the message that was to advertise something is not needed
 * @conn: the connection, conn->lock held
 * @msg: the message, on tx.queue
 *
 * Context: process or softirq.
 */
void sdp_zsrc_drop_msg(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_zsrc_lapse() - what stays advertised goes by copy; nothing else meanwhile
 * @conn: the connection, conn->lock held
 * @umr: the memory
 * @why: one of SDP_CNT_COPIED_*, unless it has a reason already
 *
 * Copying is the worker's, which is told by tx.done.
 *
 * Context: process or softirq.
 */
void sdp_zsrc_lapse(struct sdp_conn *conn, struct sdp_umr *umr, enum sdp_counter why);

/**
 * sdp_zsrc_push() - memory of a user is next in the stream: post its message
 * @conn: the connection, conn->lock held
 * @msg: the first of tx.queue, a SrcAvail or an RDMA Write
 *
 * Context: process or softirq.
 * Return: true if something was posted, or the queue has changed; false: it waits.
 */
bool sdp_zsrc_push(struct sdp_conn *conn, struct sdp_msg *msg);

/**
 * sdp_zsrc_due() - when the peer has had time enough to come for what is advertised
 * @conn: the connection
 *
 * Context: any; a hint.
 * Return: jiffies.
 */
unsigned long sdp_zsrc_due(const struct sdp_conn *conn);

/**
 * sdp_zsrc_withdrawn() - does what the caller advertised go by copy?
 * @conn: the connection; the caller advertises
 *
 * Context: any.
 * Return: true if so.
 */
bool sdp_zsrc_withdrawn(const struct sdp_conn *conn);

#endif
