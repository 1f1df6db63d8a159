// SPDX-License-Identifier: GPL-2.0
/*
 * The state table of section 6.2, and nothing else.
 *
 * It has one block per state, and a block one line per event that means
 * something there.  What the table relies on:
 *
 *  - END_HEARD.  The end may overtake the peer's DisConn, so the transport
 *    empties the receive queue before it reports it (6.1).  An end in FIN_WAIT_*
 *    or CLOSE_WAIT is therefore one without both DisConns: a reset.  If a
 *    DisConn was still in the queue, it has changed the state by then.  A
 *    SDP_DO_END that comes of that is void: the CM refuses it, which does no
 *    harm.
 *  - SHUTDOWN.  In SYN_SENT it ends the attempt, as with TCP: nothing was
 *    promised to anybody.  In SYN_RECV the peer may be established already, so
 *    the close is held back (1.5): the state is FIN_WAIT_1 with the DisConn
 *    queued, and ESTABLISHED in that state releases the queue.  The transport
 *    only has to post nothing before that event, which holds for data too.
 *  - REFUSED in a state with a connection is a late REJ: the peer's CM has
 *    given the connection up, or ended it before it had our RTU.  There is
 *    nobody left to tell.  Like END_HEARD it is an orderly end after both
 *    DisConns, and is reported only when the receive queue is empty.
 *  - END_HEARD or REFUSED while our DisConn is still queued is a reset:
 *    sdp_conn_event() adds SDP_DO_RESET.
 *  - END_DONE without an end of ours: the CM sent a DREQ for us because it found
 *    the connection stale.
 *  - SDP_DO_END that cannot be carried out.  If the CM knows no connection any
 *    more, the transport reports SDP_EV_END_DONE and SDP_EV_TIME_WAIT_OVER
 *    instead, so that TIME_WAIT_1 always ends.  An end that cannot be sent yet
 *    is held for as long as it would wait for an answer.
 *  - SDP_DO_ABORTCONN in FIN_WAIT_1, CLOSING and LAST_ACK.  The DisConn may
 *    still be queued.  Then it is dropped with the data before it, and the end
 *    goes alone (6.3).  Otherwise the end waits for the completion of the
 *    AbortConn, but not for long: then FIN_TIMEOUT in TIME_WAIT_1 asks for it.
 *    A second end is void.
 *  - Timers.  close() starts the orphan timer, as it knows that nobody is left.
 *    The table starts only the timer of LAST_ACK, which gives the first closer
 *    net.sdp.fin_timeout for its end.  FIN_TIMEOUT asks for no SDP_DO_RESET:
 *    nobody would see it.
 *  - SDP_DO_WAKE means connected.  A failed attempt is reported with its own
 *    error by the function that noticed the failure.
 */

#include <linux/types.h>

#include "sdp_state.h"

/* All 0: the pair is not in the table.  No real entry is all 0, since every way
 * to SDP_CLOSED asks for SDP_DO_FREE.
 */
struct sdp_state_entry {
	u16	next;
	u16	todo;
};

/* Events that end the connection in every live state. */
#define SDP_STATE_ENDS						\
	[SDP_EV_LOST] = { SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },	\
	[SDP_EV_TIME_WAIT_OVER] = { SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE }, \
	[SDP_EV_END_DONE] = { SDP_TIME_WAIT_2, SDP_DO_RESET },		\
	[SDP_EV_ABORT_HEARD] = { SDP_TIME_WAIT_1, SDP_DO_RESET | SDP_DO_END }

/* The peer's CM ends the connection: a reset before both DisConns were there,
 * an orderly end after.
 */
#define SDP_STATE_CM_RESETS						\
	[SDP_EV_END_HEARD] = { SDP_TIME_WAIT_2, SDP_DO_END_ACK | SDP_DO_RESET },	\
	[SDP_EV_REFUSED] = { SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE }
#define SDP_STATE_CM_ENDS						\
	[SDP_EV_END_HEARD] = { SDP_TIME_WAIT_2, SDP_DO_END_ACK },		\
	[SDP_EV_REFUSED] = { SDP_CLOSED, SDP_DO_FREE }

/* Own abort, before and after our DisConn was queued. */
#define SDP_STATE_ABORT							\
	[SDP_EV_ABORT] = { SDP_TIME_WAIT_1, SDP_DO_RESET | SDP_DO_END }
#define SDP_STATE_ABORT_FIN						\
	[SDP_EV_ABORT] = { SDP_TIME_WAIT_1,				\
			   SDP_DO_RESET | SDP_DO_ABORTCONN | SDP_DO_END }
#define SDP_STATE_FIN_TIMEOUT						\
	[SDP_EV_FIN_TIMEOUT] = { SDP_TIME_WAIT_1,			\
				 SDP_DO_ABORTCONN | SDP_DO_END }

static const struct sdp_state_entry
sdp_state_table[SDP_STATE_COUNT][SDP_EVENT_COUNT] = {
	[SDP_CLOSED] = {
		[SDP_EV_CONNECT] = { SDP_SYN_SENT, 0 },
		[SDP_EV_ACCEPT] = { SDP_SYN_RECV, 0 },
	},
	[SDP_SYN_SENT] = {
		[SDP_EV_ESTABLISHED] = { SDP_ESTABLISHED, SDP_DO_WAKE },
		[SDP_EV_SHUTDOWN] = { SDP_CLOSED, SDP_DO_FREE },
		[SDP_EV_ABORT] = { SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },
		[SDP_EV_REFUSED] = { SDP_CLOSED, SDP_DO_FREE },
		[SDP_EV_LOST] = { SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },
		[SDP_EV_TIME_WAIT_OVER] = { SDP_CLOSED, SDP_DO_FREE },
	},
	[SDP_SYN_RECV] = {
		[SDP_EV_ESTABLISHED] = { SDP_ESTABLISHED, SDP_DO_WAKE },
		[SDP_EV_SHUTDOWN] = { SDP_FIN_WAIT_1, SDP_DO_DISCONN },
		/* No RTU yet: the CM sends a REJ when its id is destroyed. */
		[SDP_EV_ABORT] = { SDP_CLOSED, SDP_DO_RESET | SDP_DO_FREE },
		SDP_STATE_CM_RESETS,
		SDP_STATE_ENDS,
	},
	[SDP_ESTABLISHED] = {
		[SDP_EV_SHUTDOWN] = { SDP_FIN_WAIT_1, SDP_DO_DISCONN },
		[SDP_EV_FIN_HEARD] = { SDP_CLOSE_WAIT, SDP_DO_EOF },
		SDP_STATE_ABORT,
		SDP_STATE_CM_RESETS,
		SDP_STATE_ENDS,
	},
	[SDP_FIN_WAIT_1] = {
		[SDP_EV_ESTABLISHED] = { SDP_FIN_WAIT_1, SDP_DO_WAKE },
		[SDP_EV_FIN_SENT] = { SDP_FIN_WAIT_2, 0 },
		[SDP_EV_FIN_HEARD] = { SDP_CLOSING, SDP_DO_EOF },
		SDP_STATE_ABORT_FIN,
		SDP_STATE_FIN_TIMEOUT,
		SDP_STATE_CM_RESETS,
		SDP_STATE_ENDS,
	},
	[SDP_FIN_WAIT_2] = {
		/* The first closer ends the connection. */
		[SDP_EV_FIN_HEARD] = { SDP_TIME_WAIT_1, SDP_DO_EOF | SDP_DO_END },
		SDP_STATE_ABORT_FIN,
		SDP_STATE_FIN_TIMEOUT,
		SDP_STATE_CM_RESETS,
		SDP_STATE_ENDS,
	},
	[SDP_CLOSING] = {
		[SDP_EV_FIN_SENT] = { SDP_TIME_WAIT_1, SDP_DO_END },
		SDP_STATE_ABORT_FIN,
		SDP_STATE_FIN_TIMEOUT,
		SDP_STATE_CM_ENDS,
		SDP_STATE_ENDS,
	},
	[SDP_CLOSE_WAIT] = {
		[SDP_EV_SHUTDOWN] = { SDP_LAST_ACK, SDP_DO_DISCONN },
		SDP_STATE_ABORT,
		SDP_STATE_CM_RESETS,
		SDP_STATE_ENDS,
	},
	[SDP_LAST_ACK] = {
		[SDP_EV_FIN_SENT] = { SDP_LAST_ACK, SDP_DO_TIMER },
		[SDP_EV_FIN_TIMEOUT] = { SDP_TIME_WAIT_1, SDP_DO_END },
		SDP_STATE_ABORT_FIN,
		SDP_STATE_CM_ENDS,
		SDP_STATE_ENDS,
	},
	/* The user was told on the way here, so nothing resets from here on. */
	[SDP_TIME_WAIT_1] = {
		[SDP_EV_END_DONE] = { SDP_TIME_WAIT_2, 0 },
		SDP_STATE_CM_ENDS,
		/* Our AbortConn did not complete in time. */
		[SDP_EV_FIN_TIMEOUT] = { SDP_TIME_WAIT_1, SDP_DO_END },
		[SDP_EV_TIME_WAIT_OVER] = { SDP_CLOSED, SDP_DO_FREE },
		[SDP_EV_LOST] = { SDP_CLOSED, SDP_DO_FREE },
	},
	[SDP_TIME_WAIT_2] = {
		[SDP_EV_TIME_WAIT_OVER] = { SDP_CLOSED, SDP_DO_FREE },
		[SDP_EV_LOST] = { SDP_CLOSED, SDP_DO_FREE },
	},
};

/**
 * sdp_state_next() - look an event up in the table
 * @state: the current state; replaced by the next one
 * @event: what happened
 *
 * Context: the lock that guards @state; pure.
 * Return: bits of enum sdp_state_action; 0 if there is nothing to do.
 */
unsigned int sdp_state_next(enum sdp_state *state, enum sdp_event event)
{
	const struct sdp_state_entry *entry = &sdp_state_table[*state][event];

	if (!entry->next && !entry->todo)
		return 0;
	*state = entry->next;
	return entry->todo;
}

/**
 * sdp_state_name() - a state in words
 * @state: any value
 *
 * Context: any; pure.
 * Return: a constant string ("ESTABLISHED"), "?" for no state.
 */
const char *sdp_state_name(enum sdp_state state)
{
	static const char * const names[SDP_STATE_COUNT] = {
		[SDP_CLOSED]		= "CLOSED",
		[SDP_SYN_SENT]		= "SYN_SENT",
		[SDP_SYN_RECV]		= "SYN_RECV",
		[SDP_ESTABLISHED]	= "ESTABLISHED",
		[SDP_FIN_WAIT_1]	= "FIN_WAIT_1",
		[SDP_FIN_WAIT_2]	= "FIN_WAIT_2",
		[SDP_CLOSING]		= "CLOSING",
		[SDP_CLOSE_WAIT]	= "CLOSE_WAIT",
		[SDP_LAST_ACK]		= "LAST_ACK",
		[SDP_TIME_WAIT_1]	= "TIME_WAIT_1",
		[SDP_TIME_WAIT_2]	= "TIME_WAIT_2",
	};

	if ((unsigned int)state >= SDP_STATE_COUNT)
		return "?";
	return names[state];
}

/**
 * sdp_state_may_send() - whether user data may still be queued
 * @state: the current state
 *
 * Context: any; pure.
 * Return: true in SYN_SENT, SYN_RECV (queued until established), ESTABLISHED
 * and CLOSE_WAIT.
 */
bool sdp_state_may_send(enum sdp_state state)
{
	return state == SDP_SYN_SENT || state == SDP_SYN_RECV ||
	       state == SDP_ESTABLISHED || state == SDP_CLOSE_WAIT;
}
