/* SPDX-License-Identifier: LGPL-2.1 */
/*
 * Which program, address and port goes by SDP: the rules of sdp.conf(5), read
 * and asked.  rules.c tells how.
 */
#ifndef _SDP_RULES_H
#define _SDP_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

enum rules_use {
	RULES_TCP,			/* leave the socket alone */
	RULES_SDP,			/* SDP or an error */
	RULES_BOTH,			/* SDP, and TCP where it is not possible */
};

enum rules_role {
	RULES_CLIENT,			/* decided by the destination */
	RULES_SERVER,			/* decided by the local address */
};

/* IPv4 in the first four bytes, or IPv6; never IPv4 in the shape of IPv6. */
struct rules_addr {
	bool v6;
	uint8_t bytes[16];
};

struct rules_end {
	struct rules_addr addr;
	uint16_t port;
};

struct rule {
	enum rules_use use;
	enum rules_role role;
	unsigned int line;
	unsigned int column;		/* of the address */
	char *text;			/* the line, without its comment */
	char *program;			/* with wildcards */
	bool any_addr;
	char *host;			/* a name, or NULL */
	struct rules_addr *addr;	/* one, or what the name stands for */
	size_t nr_addrs;
	unsigned int prefix;		/* bits that count */
	uint16_t low, high;		/* ports, both included */
};

/* What is to be said of a line. */
struct rules_note {
	unsigned int line, column;	/* from 1, in bytes */
	bool error;			/* the rule does not count */
	char *text;
};

enum rules_dest { RULES_LOG_STDERR, RULES_LOG_SYSLOG, RULES_LOG_FILE };

/* Levels of messages, libsdp's; what is below the file's min-level is not said. */
enum rules_level {
	RULES_LEVEL_MISS	= 3,	/* each rule that does not match */
	RULES_LEVEL_HIT		= 4,	/* the rule that does */
	RULES_LEVEL_USE		= 7,	/* what connect() and listen() did */
	RULES_LEVEL_WARNING	= 8,
	RULES_LEVEL_ERROR	= 9,
};

/* Longest NAME of "log destination file NAME": it becomes a file's name. */
#define RULES_LOG_NAME_MAX	200

struct rules_log {
	enum rules_dest dest;
	unsigned int min_level;
	char name[RULES_LOG_NAME_MAX + 1];
};

struct rules {
	struct rule *rule;
	size_t nr_rules;
	struct rules_note *note;
	size_t nr_notes;
	size_t nr_errors;		/* notes that are errors */
	struct rules_log log;
};

enum rules_miss {
	RULES_MATCH,
	RULES_MISS_ROLE,
	RULES_MISS_PROGRAM,
	RULES_MISS_PORT,
	RULES_MISS_ADDR,
	RULES_MISS_HOST,		/* the name stands for no address */
};

/**
 * rules_parse() - read the text of a rule file
 * @text: the bytes, not terminated
 * @len: how many
 *
 * Names are left unresolved, see rules_add_addr().
 *
 * Return: the rules, for rules_free(); NULL if there is no memory.
 */
struct rules *rules_parse(const char *text, size_t len);
void rules_free(struct rules *rules);

/**
 * rules_note() - add to what is to be said of the file
 * @rules: of this file
 * @line: from 1
 * @column: from 1
 * @error: whether the line does not count
 * @fmt: as for printf()
 *
 * Return: false if there is no memory.
 */
bool rules_note(struct rules *rules, unsigned int line, unsigned int column,
		bool error, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/**
 * rules_add_addr() - say one address that a rule's host name stands for
 * @rule: has a host name
 * @addr: counted whole
 *
 * Return: false if there is no memory.
 */
bool rules_add_addr(struct rule *rule, const struct rules_addr *addr);

/*
 * What follows is for the middle of connect() and listen(): no allocation, no
 * lock, no call of the C library that might have one.
 */

/**
 * rules_end() - take address and port out of a socket address
 * @end: filled in
 * @sa: AF_INET, or AF_INET6 as long as its address
 *
 * Return: false if it is neither.
 */
bool rules_end(struct rules_end *end, const struct sockaddr *sa);

/**
 * rules_is_loopback() - whether an address is one that no other host has
 * @role: an unspecified address is everybody's for a server, and the loopback
 *	for a client
 * @addr: in question
 *
 * No RDMA device leads there: what is by SDP is joined inside this host.
 */
bool rules_is_loopback(enum rules_role role, const struct rules_addr *addr);

/* Whether a program's name fits: *, ?, [a-z], [!a-z], and \ before one of these. */
bool rules_glob(const char *pattern, const char *name);

/* Why @rule does not decide on @end, or RULES_MATCH. */
enum rules_miss rules_miss(const struct rule *rule, enum rules_role role,
			   const char *program, const struct rules_end *end);

/**
 * rules_decide() - the answer
 * @rules: NULL stands for none
 * @require: SDP_PRELOAD=require: SDP or an error where TCP would do too
 * @role: connect() or listen()
 * @program: name without path
 * @end: destination or own address
 * @rule: the rule that decides, NULL if none does
 */
enum rules_use rules_decide(const struct rules *rules, bool require,
			    enum rules_role role, const char *program,
			    const struct rules_end *end,
			    const struct rule **rule);

/* Words for messages. */
const char *rules_use_word(enum rules_use use);
const char *rules_miss_why(enum rules_miss miss);

#define RULES_ADDR_MAX	40

/* Writes @addr as text, with its closing zero; returns the length without it. */
size_t rules_put_addr(char to[RULES_ADDR_MAX], const struct rules_addr *addr);

/* rules_file.c: what needs the system. */

/**
 * rules_host_joins() - whether the kernel joins sockets inside this host
 *
 * For the middle of connect() and listen() too.  Changes errno.
 *
 * Return: what net.sdp.local is in this network namespace; false too where there
 * is no such file: the module is not loaded, or older, or there is no /proc.
 */
bool rules_host_joins(void);

/**
 * rules_path() - which file holds the rules
 * @variable: the name of the environment variable that said so, or NULL
 *
 * Programs that gained privileges do not ask the environment.
 *
 * Return: its path; it points into the environment or is constant.
 */
const char *rules_path(const char **variable);

/**
 * rules_read() - read a rule file
 * @path: of it
 * @rules: what it says, for rules_free()
 *
 * Return: 0 or a negative errno; EINVAL if it is no regular file.
 */
int rules_read(const char *path, struct rules **rules);

/**
 * rules_resolve() - look up the host names of the rules for a program
 * @rules: gain a note for each name that stands for nothing
 * @program: NULL for all
 *
 * Return: false if there is no memory.
 */
bool rules_resolve(struct rules *rules, const char *program);

#endif
