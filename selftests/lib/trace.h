/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel's trace of events, of all processes.  Needs root and tracefs. */
#ifndef _TRACE_H
#define _TRACE_H

#include <stdbool.h>

#include "ktap.h"

/* @event: "sdp/sdp_fallback", say. */
int trace_switch_(const char *event, bool on);
#define trace_switch(event, on)	CALL(trace_switch_(event, on))

int trace_empty_(void);
#define trace_empty()		CALL(trace_empty_())

/* How many lines have both words. */
int trace_lines_(const char *a, const char *b);
#define trace_lines(a, b)	CALL(trace_lines_(a, b))

#endif
