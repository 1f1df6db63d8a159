/* SPDX-License-Identifier: GPL-2.0 */
/* What a runner and its session say to each other; see control.c. */
#ifndef _PERF_CONTROL_H
#define _PERF_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#include <json-c/json.h>

struct control;

struct control *control_dial(const char *host, uint16_t port);
struct control *control_new(int fd);
void control_watch(struct control *c, bool exits);
void control_say(struct control *c, struct json_object *what);
struct json_object *control_hear(struct control *c);
struct json_object *control_ask(struct control *c, struct json_object *what);
void control_name(struct control *c, bool peer, struct sockaddr_storage *ss, socklen_t *len);
void control_close(struct control *c);

/* What is in an answer, or in a request. */
const char *control_text(struct json_object *in, const char *key);
int64_t control_number(struct json_object *in, const char *key);

#endif
