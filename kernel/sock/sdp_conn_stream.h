/* SPDX-License-Identifier: GPL-2.0 */
/* SDP's connection as the stream of a socket; see sdp_conn_stream.c. */
#ifndef _SDP_CONN_STREAM_H
#define _SDP_CONN_STREAM_H

#include "sdp_stream.h"

extern const struct sdp_stream_ops sdp_conn_stream_ops;

#endif
