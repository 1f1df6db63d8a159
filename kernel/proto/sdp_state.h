/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The states of a connection as one table (protocol text, section 6.2):
 * (state, event) gives the next state and what has to be done on the way.
 *
 * Besides DisConn, which ends a stream, the transport ends the connection: on
 * InfiniBand and RoCE by the CM's DREQ, which a DREP answers.
 *
 * The names are TCP's where TCP has the state.  A pair that is not in the table
 * leaves the state as it is and asks for nothing: a late event is no error.
 *
 * Pure: KUnit and the user-space tests compile this file as it stands.
 */
#ifndef _SDP_STATE_H
#define _SDP_STATE_H

#include <linux/types.h>

enum sdp_state {
	SDP_CLOSED,
	SDP_SYN_SENT,		/* Hello sent */
	SDP_SYN_RECV,		/* HelloAck sent, neither RTU nor message seen */
	SDP_ESTABLISHED,
	SDP_FIN_WAIT_1,		/* own DisConn queued or posted, not completed */
	SDP_FIN_WAIT_2,		/* own DisConn completed */
	SDP_CLOSING,		/* peer's DisConn received, own not completed */
	SDP_CLOSE_WAIT,		/* peer's DisConn received, own not queued */
	SDP_LAST_ACK,		/* peer's DisConn received, own queued or completed */
	SDP_TIME_WAIT_1,	/* we end the connection (DREQ sent) */
	SDP_TIME_WAIT_2,	/* ended by both (DREQ and DREP): time wait */
	SDP_STATE_COUNT
};

enum sdp_event {
	SDP_EV_CONNECT,		/* we send a Hello */
	SDP_EV_ACCEPT,		/* we send a HelloAck */
	SDP_EV_ESTABLISHED,	/* REP, RTU or the first message */
	SDP_EV_SHUTDOWN,	/* SHUT_WR or an orderly close() */
	SDP_EV_FIN_SENT,	/* own DisConn completed */
	SDP_EV_FIN_HEARD,	/* peer's DisConn received */
	SDP_EV_ABORT_HEARD,	/* AbortConn received */
	SDP_EV_END_HEARD,	/* the peer's transport ends the connection */
	SDP_EV_END_DONE,	/* our end was answered, or nobody answered in time */
	SDP_EV_ABORT,		/* we abort: linger 0, unread data, protocol error */
	SDP_EV_REFUSED,		/* the attempt failed: REJ, time-out, bad HelloAck */
	SDP_EV_TIME_WAIT_OVER,	/* the transport's time wait is over */
	SDP_EV_LOST,		/* device removed or QP in error */
	SDP_EV_FIN_TIMEOUT,	/* orphan or LAST_ACK timer */
	SDP_EVENT_COUNT
};

/* What the table asks the caller to do; bits. */
enum sdp_state_action {
	SDP_DO_DISCONN	= 0x01,	/* queue DisConn behind the data */
	SDP_DO_END	= 0x02,	/* end the connection by the transport */
	SDP_DO_END_ACK	= 0x04,	/* answer the peer's end */
	SDP_DO_EOF	= 0x08,	/* the reader sees end of file after the data */
	SDP_DO_RESET	= 0x10,	/* the user sees ECONNRESET; in CLOSE_WAIT EPIPE */
	SDP_DO_WAKE	= 0x20,	/* connected: wake the connector or the acceptor */
	SDP_DO_ABORTCONN = 0x40, /* AbortConn before the end, after DisConn (6.3) */
	SDP_DO_TIMER	= 0x80,	/* start the timer that gives SDP_EV_FIN_TIMEOUT */
	SDP_DO_FREE	= 0x100, /* free what the transport has, and buffers */
};

unsigned int sdp_state_next(enum sdp_state *state, enum sdp_event event);
const char *sdp_state_name(enum sdp_state state);
bool sdp_state_may_send(enum sdp_state state);

#endif
