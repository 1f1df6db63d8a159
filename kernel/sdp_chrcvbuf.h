/* SPDX-License-Identifier: GPL-2.0 */
/* The peer's receive buffers, asked for more or less of; see sdp_chrcvbuf.c. */
#ifndef _SDP_CHRCVBUF_H
#define _SDP_CHRCVBUF_H

#include "sdp_conn.h"

bool sdp_chrcvbuf_ask_more(struct sdp_conn *conn, const struct sdp_msg *msg);
void sdp_chrcvbuf_posted(struct sdp_conn *conn, const struct sdp_msg *msg);
unsigned long sdp_chrcvbuf_shrink(struct sdp_conn *conn);
void sdp_chrcvbuf_given(struct sdp_conn *conn, u32 size);

/**
 * sdp_chrcvbuf_build() - a message is about to be made
 * @conn: the connection; the caller has the socket lock
 *
 * Between this and sdp_chrcvbuf_built() conn->snd_max may be taken at its word: the
 * peer is not told meanwhile that we send nothing so long.
 *
 * Context: process.
 */
static inline void sdp_chrcvbuf_build(struct sdp_conn *conn)
{
	WRITE_ONCE(conn->building, true);
	smp_mb();	/* before snd_max is read */
}

/**
 * sdp_chrcvbuf_built() - it is in the queue, or was given up
 * @conn: as for sdp_chrcvbuf_build()
 *
 * Context: process.
 */
static inline void sdp_chrcvbuf_built(struct sdp_conn *conn)
{
	smp_store_release(&conn->building, false);	/* it is in the queue */
}

void sdp_chrcvbuf_grown(struct sdp_conn *conn);

#endif
