/* SPDX-License-Identifier: GPL-2.0 */
/* Asking the peer for other receive buffers; see sdp_chrcvbuf.c. */
#ifndef _SDP_CHRCVBUF_H
#define _SDP_CHRCVBUF_H

#include "sdp_conn.h"

bool sdp_chrcvbuf_ask_more(struct sdp_conn *conn, const struct sdp_msg *msg);
void sdp_chrcvbuf_posted(struct sdp_conn *conn, const struct sdp_msg *msg);
unsigned long sdp_chrcvbuf_shrink(struct sdp_conn *conn);
void sdp_chrcvbuf_given(struct sdp_conn *conn, u32 size);

/**
 * sdp_chrcvbuf_build() - begin to build a message
 * @conn: the connection; the caller has the socket lock
 *
 * Until sdp_chrcvbuf_built() a message may be as long as conn->snd_max says: in
 * the meantime the peer is not asked for smaller buffers, which would be a
 * promise to send nothing so long.
 *
 * Context: process.
 */
static inline void sdp_chrcvbuf_build(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->building, true);
	smp_mb();	/* read snd_max after: pairs with sdp_chrcvbuf_ask_less() */
}

/**
 * sdp_chrcvbuf_built() - end sdp_chrcvbuf_build()
 * @conn: the connection; the message was queued, or freed
 *
 * Context: process.
 */
static inline void sdp_chrcvbuf_built(struct sdp_conn *conn)
{
	smp_store_release(&conn->building, false);	/* after it was queued */
}

void sdp_chrcvbuf_grown(struct sdp_conn *conn);

#endif
