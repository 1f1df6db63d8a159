/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The zero-copy source: memory of a call that waits is advertised to the peer;
 * see sdp_zsrc.c for what the call does, and sdp_zsrc_push.c for what is done when
 * its turn has come, and when the peer reports.
 */
#ifndef _SDP_ZSRC_H
#define _SDP_ZSRC_H

#include <linux/wait.h>
#include "sdp_conn.h"

struct sdp_zsrc_call;

/* Calls to the socket layer, which is above this file: how a call sleeps. */
struct sdp_zsrc_wait_ops {
	/* Take in what has arrived. */
	void (*poll)(struct sdp_conn *conn);
	/* Sleep until something has happened.  0: look again; -ETIME: it is
	 * @until (jiffies); another error: the call has to end.
	 */
	int (*sleep)(struct sdp_zsrc_call *call, unsigned long until);
	/* Sleep until cancelled memory may be the caller's again.  @since: jiffies
	 * when it was cancelled.
	 */
	void (*sleep_cancelled)(struct sdp_zsrc_call *call, unsigned long since);
};

/* A call that advertises its memory, and waits until that is its own again. */
struct sdp_zsrc_call {
	const struct sdp_zsrc_wait_ops *ops;
	wait_queue_entry_t *wait;	/* for conn->wq, with woken_wake_function() */
	struct page_frag *frag;		/* where messages are cut from */
	struct iov_iter *iter;		/* what is sent */
	/* ns: when the call began, to choose by what sends have cost; 0: it is
	 * advertised in any case.
	 */
	u64 began;
	/* Set by sdp_zsrc_send(). */
	enum sdp_counter why;		/* why the rest is copied; 0: no reason */
	bool again;			/* the peer has a buffer for the rest */
};

bool sdp_zsrc_can(const struct sdp_conn *conn);
bool sdp_zsrc_pays(const struct sdp_conn *conn, const struct iov_iter *iter);
size_t sdp_zsrc_send(struct sdp_conn *conn, struct sdp_zsrc_call *call);
void sdp_zsrc_spent(struct sdp_conn *conn, size_t len, bool zcopied, u64 ns);
struct sdp_umr *sdp_zsrc_avail(struct sdp_conn *conn, struct page_frag *frag,
			       const struct iov_iter *iter, bool async);
int sdp_zsrc_queue(struct sdp_conn *conn, struct sdp_umr *umr);
void sdp_zsrc_drop_msg(struct sdp_conn *conn, struct sdp_msg *msg);
void sdp_zsrc_withdraw(struct sdp_conn *conn, const char *why);

/* sdp_zsrc_push.c */
void sdp_zsrc_lapse(struct sdp_conn *conn, struct sdp_umr *umr, enum sdp_counter why);
void sdp_zsrc_told(struct sdp_conn *conn, const struct sdp_advert_told *told);
bool sdp_zsrc_push(struct sdp_conn *conn, struct sdp_msg *msg);

#endif
