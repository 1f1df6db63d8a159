/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * What libsdp_preload.so has to say: messages put together and delivered without
 * allocation, lock or stdio, so that connect() and listen() may speak.
 */
#ifndef _SDP_PRELOAD_LOG_H
#define _SDP_PRELOAD_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "rules.h"

/* A message; what does not fit is cut. */
struct message {
	size_t len;
	char text[700];
};

void log_str(struct message *m, const char *s);
void log_number(struct message *m, unsigned long n);
/* ADDRESS:PORT, or [ADDRESS]:PORT. */
void log_end(struct message *m, const struct rules_end *end);

/**
 * log_init() - where to, and how much
 * @log: copied
 * @program: named in files and for syslog; not copied
 *
 * Called while the program starts; what its standard error is then is kept in mind.
 */
void log_init(const struct rules_log *log, const char *program);

/* Whether messages of this level are wanted. */
bool log_wants(enum rules_level level);

/**
 * log_send() - deliver
 * @level: dropped if not wanted
 * @m: without a closing newline
 *
 * An error that cannot be delivered where the rules say goes to standard error.
 * Changes errno.
 */
void log_send(enum rules_level level, struct message *m);

#endif
