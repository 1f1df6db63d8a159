// SPDX-License-Identifier: GPL-2.0
/*
 * The one place that defines the trace points of sdp_trace.h.
 */
#define CREATE_TRACE_POINTS
#include "sdp_trace.h"
