/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The source of SrcAvails: a caller's own memory is offered to the peer; see
 * sdp_offer.c.
 *
 * All but sdp_offer_told() is for the one caller who lends.
 */
#ifndef _SDP_OFFER_H
#define _SDP_OFFER_H

#include "sdp_conn.h"

/**
 * sdp_offer_pays() - should this send() offer its memory?
 * @conn: the connection
 * @iter: what it sends
 *
 * Context: process.
 * Return: true if it is long enough, user memory, and the peer takes offers.
 */
bool sdp_offer_pays(const struct sdp_conn *conn, const struct iov_iter *iter);

/**
 * sdp_offer_prefers() - or is copying cheaper, by what was measured?
 * @conn: the connection
 * @len: bytes of the send
 * @now: ns, as it begins; by then the last one has had its time
 *
 * Context: process.
 * Return: true if this one should be offered.
 */
bool sdp_offer_prefers(struct sdp_conn *conn, size_t len, u64 now);

/**
 * sdp_offer_spent() - a send is over that sdp_offer_prefers() was asked for
 * @conn: the connection
 * @len: its bytes, from 1
 * @lent: whether it was
 * @ns: of the caller's time, without his sleep
 *
 * Context: process.
 */
void sdp_offer_spent(struct sdp_conn *conn, size_t len, bool lent, u64 ns);

/**
 * sdp_offer_can() - can memory be lent at all?
 * @conn: the connection
 *
 * Context: any.
 * Return: true if both devices can, and messages are long enough.
 */
bool sdp_offer_can(const struct sdp_conn *conn);

/**
 * sdp_offer_message() - make the SrcAvail, with the inline bytes that it needs
 * @conn: the connection
 * @frag: where messages are cut from
 * @loan: what it offers, from sdp_loan_make(); has the message then
 *
 * Context: process; sleeps.
 * Return: 0 or -ENOMEM.
 */
int sdp_offer_message(struct sdp_conn *conn, struct page_frag *frag,
		      struct sdp_loan *loan);

/**
 * sdp_offer_begin() - nobody else sends from now on
 * @conn: the connection; the caller has the socket lock, and may let it go
 *	until sdp_offer_end()
 *
 * Context: process.
 * Return: 0; SDP_CNT_COPIED_BUSY if somebody lends already or the connection is dead,
 * SDP_CNT_COPIED_HABIT if the peer has refused too often of late.
 */
enum sdp_counter sdp_offer_begin(struct sdp_conn *conn);

/**
 * sdp_offer_more() - offer the next piece
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
ssize_t sdp_offer_more(struct sdp_conn *conn, struct page_frag *frag,
		       struct iov_iter *iter);

/**
 * sdp_offer_reap() - unpin what has come back
 * @conn: the connection
 *
 * Context: process; may sleep.
 * Return: bytes that the peer has, of what is not out any more.
 */
size_t sdp_offer_reap(struct sdp_conn *conn);

/**
 * sdp_offer_is_out() - is anything lent?
 * @conn: the connection
 *
 * Context: process.
 * Return: true until sdp_offer_reap() has taken back the last.
 */
bool sdp_offer_is_out(struct sdp_conn *conn);

/**
 * sdp_offer_cancel() - take back what the peer has not read
 * @conn: the connection
 *
 * What it reads at the moment it may read to the end: there is an answer to
 * wait for.  sdp_tx_run() is the caller's.
 *
 * Context: process.
 */
void sdp_offer_cancel(struct sdp_conn *conn);

/**
 * sdp_offer_end() - others may send again
 * @conn: the connection; nothing is out
 *
 * Context: process.
 */
void sdp_offer_end(struct sdp_conn *conn);

/**
 * sdp_offer_told() - the peer has told what became of our SrcAvails
 * @conn: the connection, conn->lock held
 * @told: what
 *
 * Context: process or softirq.
 */
void sdp_offer_told(struct sdp_conn *conn, const struct sdp_advert_told *told);

#endif
