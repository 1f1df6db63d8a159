// SPDX-License-Identifier: LGPL-2.1
/*
 * From where the rules come: the environment, the file, the host names.  Used
 * at the start of a program and by sdp_run, never in the middle of a call.  And
 * what the rules need to know of the kernel, which is asked in the middle of one.
 */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "rules.h"

#ifndef SDP_CONFIG
#define SDP_CONFIG "/etc/sdp/sdp.conf"
#endif

bool rules_host_joins(void)
{
	int fd = open("/proc/sys/net/sdp/local", O_RDONLY | O_CLOEXEC);
	char first = '0';

	if (fd < 0)
		return false;
	if (read(fd, &first, 1) != 1)
		first = '0';
	close(fd);
	return first == '1';
}

const char *rules_path(const char **variable)
{
	static const char *const names[] = { "SDP_CONFIG_FILE", "LIBSDP_CONFIG_FILE" };
	const char *path;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		path = secure_getenv(names[i]);
		if (path && *path) {
			*variable = names[i];
			return path;
		}
	}
	*variable = NULL;
	return SDP_CONFIG;
}

/* A pipe might never end, a terminal might ask; /dev/null says "none". */
static bool may_be_read(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	return S_ISREG(st.st_mode) ||
	       (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static int read_all(int fd, char **text, size_t *len)
{
	size_t room = 0;
	char *more;
	ssize_t n;

	for (*text = NULL, *len = 0;; *len += n) {
		if (*len == room) {
			room = room ? 2 * room : 4096;
			more = realloc(*text, room);
			if (!more)
				return -ENOMEM;
			*text = more;
		}
		n = read(fd, *text + *len, room - *len);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n < 0)
			return -errno;
		else if (!n)
			return 0;
	}
}

int rules_read(const char *path, struct rules **rules)
{
	char *text = NULL;
	size_t len;
	int fd, err;

	*rules = NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	err = may_be_read(fd) ? read_all(fd, &text, &len) : -EINVAL;
	close(fd);
	if (!err) {
		*rules = rules_parse(text, len);
		if (!*rules)
			err = -ENOMEM;
	}
	free(text);
	return err;
}

/* Return: 0, an error of getaddrinfo(), or EAI_MEMORY. */
static int look_up(struct rule *rule)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list, *ai;
	struct rules_end end;
	int err;

	err = getaddrinfo(rule->host, NULL, &hints, &list);
	if (err)
		return err;
	for (ai = list; ai && !err; ai = ai->ai_next)
		if (rules_end(&end, ai->ai_addr) &&
		    !rules_add_addr(rule, &end.addr))
			err = EAI_MEMORY;
	freeaddrinfo(list);
	return err;
}

bool rules_resolve(struct rules *rules, const char *program)
{
	size_t i;
	int err;

	for (i = 0; i < rules->nr_rules; i++) {
		struct rule *rule = &rules->rule[i];

		if (!rule->host || (program && !rules_glob(rule->program, program)))
			continue;
		err = look_up(rule);
		if (err == EAI_MEMORY)
			return false;
		if (err && !rules_note(rules, rule->line, rule->column, true,
				       "%s: %s: the rule matches nothing",
				       rule->host, gai_strerror(err)))
			return false;
	}
	return true;
}
