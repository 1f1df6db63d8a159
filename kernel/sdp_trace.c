// SPDX-License-Identifier: GPL-2.0
/*
 * The one place where the trace points of sdp_trace.h are made.
 */
#define CREATE_TRACE_POINTS
#include "sdp_trace.h"
