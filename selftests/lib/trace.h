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

/* Pointers are shown as they are, or not: then they tell which and not where. */
int trace_pointers_(bool shown);
#define trace_pointers(shown)	CALL(trace_pointers_(shown))

/*
 * How many timers have been started and have neither expired nor been cancelled,
 * of objects that have work @function, within @size bytes of that.  For "timer/" and
 * "workqueue/workqueue_execute_start", with pointers shown; nothing may be lost.
 */
int trace_armed_(const char *function, long size);
#define trace_armed(...)	CALL(trace_armed_(__VA_ARGS__))

/* How many lines have both words. */
int trace_lines_(const char *a, const char *b);
#define trace_lines(a, b)	CALL(trace_lines_(a, b))

#endif
