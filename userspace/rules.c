// SPDX-License-Identifier: LGPL-2.1
/*
 * The rules, as pure functions: text in, rules out; a socket's end in, a
 * decision out.  Nothing here opens, writes, or remembers.
 *
 * The grammar is that of libsdp.conf, whose files are to work as they are:
 *
 *	use both|sdp|tcp client|server PROGRAM ADDRESS[/PREFIX]:PORT[-PORT]
 *	log [destination stderr|syslog|file NAME] [min-level 1-9]
 *
 * with blanks allowed around the "/", ":" and "-" after PROGRAM, "connect" and
 * "listen" for the roles, a comment from # on, but within PROGRAM and NAME, where it
 * is a sign like others, any number as a level, and an IPv6 address without
 * brackets, which the last colon ends then.  What its manual promised and its
 * parser did not keep is kept here: PROGRAM may be left out.  Host names,
 * brackets and capitals in keywords are additions.
 *
 * A line with an error is left out and noted with its column, and the others
 * count: since the first match wins, only what this line would have decided is
 * decided by another.  To refuse the whole file would take all "use sdp" and
 * "use tcp" away from programs for which they were right.
 *
 * IPv4 addresses in the shape of IPv6 are IPv4 on either side of a comparison.
 * A server bound to :: serves IPv4 too and is compared with IPv4 rules as
 * 0.0.0.0.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rules.h"

/* A line being read. */
struct cursor {
	struct rules *rules;
	unsigned int line;
	const char *start, *at, *end;
	bool no_memory;
};

struct word {
	const char *at;
	size_t len;
};

/* ---------------------------------------------------------------------- notes */

static bool __attribute__((format(printf, 5, 0)))
vnote(struct rules *rules, unsigned int line, unsigned int column, bool error,
      const char *fmt, va_list ap)
{
	struct rules_note *note;

	note = realloc(rules->note, (rules->nr_notes + 1) * sizeof(*note));
	if (!note)
		return false;
	rules->note = note;
	note += rules->nr_notes;
	if (vasprintf(&note->text, fmt, ap) < 0)
		return false;
	note->line = line;
	note->column = column;
	note->error = error;
	rules->nr_notes++;
	rules->nr_errors += error;
	return true;
}

bool rules_note(struct rules *rules, unsigned int line, unsigned int column,
		bool error, const char *fmt, ...)
{
	va_list ap;
	bool ok;

	va_start(ap, fmt);
	ok = vnote(rules, line, column, error, fmt, ap);
	va_end(ap);
	return ok;
}

/* An error at @at; false, so that a parser can return it. */
static bool __attribute__((format(printf, 3, 4)))
fault(struct cursor *c, const char *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!vnote(c->rules, c->line, at - c->start + 1, true, fmt, ap))
		c->no_memory = true;
	va_end(ap);
	return false;
}

static void __attribute__((format(printf, 3, 4)))
warn(struct cursor *c, const char *at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!vnote(c->rules, c->line, at - c->start + 1, false, fmt, ap))
		c->no_memory = true;
	va_end(ap);
}

#define SHOW_MAX	40

/* A word as it can be shown: not too long, and nothing for a terminal. */
static const char *show(char to[SHOW_MAX + 4], struct word w)
{
	size_t i, n = w.len > SHOW_MAX ? SHOW_MAX : w.len;

	for (i = 0; i < n; i++)
		to[i] = w.at[i] >= ' ' && w.at[i] <= '~' ? w.at[i] : '?';
	strcpy(to + n, n < w.len ? "..." : "");
	return to;
}

/* ---------------------------------------------------------------------- words */

static bool is_blank(char ch)
{
	/* Also the end of a line that was written elsewhere. */
	return ch == ' ' || ch == '\t' || ch == '\r' || ch == '\v' || ch == '\f';
}

static bool is_digit(char ch)
{
	return ch >= '0' && ch <= '9';
}

static bool is_letter(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static void skip_blanks(struct cursor *c)
{
	while (c->at < c->end && is_blank(*c->at))
		c->at++;
}

static bool at_end(const struct cursor *c)
{
	return c->at == c->end || *c->at == '#';
}

/* Where something is missing: behind the last that is there. */
static const char *behind(const struct cursor *c)
{
	const char *at = c->at;

	while (at > c->start && is_blank(at[-1]))
		at--;
	return at;
}

/* The next word; its length is 0 at the end of the line. */
static struct word next_word(struct cursor *c)
{
	struct word w;

	skip_blanks(c);
	w.at = c->at;
	if (!at_end(c))
		while (c->at < c->end && !is_blank(*c->at))
			c->at++;
	w.len = c->at - w.at;
	return w;
}

/* A word that a comment ends too. */
static struct word next_plain_word(struct cursor *c)
{
	struct word w = next_word(c);
	const char *comment = w.len ? memchr(w.at, '#', w.len) : NULL;

	if (comment) {
		w.len = comment - w.at;
		c->at = comment;
	}
	return w;
}

static bool is(struct word w, const char *keyword)
{
	return w.len == strlen(keyword) && !strncasecmp(w.at, keyword, w.len);
}

static char *copy(struct cursor *c, struct word w)
{
	char *s = strndup(w.at, w.len);

	if (!s)
		c->no_memory = true;
	return s;
}

/* Digits at the cursor as a number, or -1; what is too large stays too large. */
static long number(struct cursor *c)
{
	long n = 0;

	if (c->at == c->end || !is_digit(*c->at))
		return -1;
	for (; c->at < c->end && is_digit(*c->at); c->at++)
		if (n < 1000000)
			n = 10 * n + (*c->at - '0');
	return n;
}

/* From @at to the next blank, for a message. */
static struct word rest_of_word(const struct cursor *c, const char *at)
{
	struct word w = { .at = at };

	while (at + w.len < c->end && !is_blank(at[w.len]) && at[w.len] != '#')
		w.len++;
	return w;
}

/* ------------------------------------------------------------------ addresses */

static bool is_mapped(const uint8_t bytes[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(bytes, mapped, sizeof(mapped));
}

static bool set_addr(struct rules_addr *addr, bool v6, const void *bytes)
{
	*addr = (struct rules_addr){ .v6 = v6 };
	memcpy(addr->bytes, bytes, v6 ? 16 : 4);
	if (v6 && is_mapped(addr->bytes)) {
		memmove(addr->bytes, addr->bytes + 12, 4);
		memset(addr->bytes + 4, 0, 12);
		addr->v6 = false;
	}
	return true;
}

/* The text as an address of that family, not yet brought into our form. */
static bool from_text(bool v6, struct word w, uint8_t bytes[16])
{
	char text[INET6_ADDRSTRLEN];

	if (!w.len || w.len >= sizeof(text))
		return false;
	memcpy(text, w.at, w.len);
	text[w.len] = '\0';
	return inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes) == 1;
}

static bool is_host_name(struct word w)
{
	size_t i, label = 0;

	if (w.len > 253)
		return false;
	for (i = 0; i < w.len; i++) {
		if (w.at[i] == '.') {
			if (!label)
				return false;
			label = 0;
			continue;
		}
		if (!is_letter(w.at[i]) && !is_digit(w.at[i]) &&
		    w.at[i] != '_' && (w.at[i] != '-' || !label))
			return false;
		if (++label > 63)
			return false;
	}
	return w.len > 0;
}

static bool looks_like_ipv4(struct word w)
{
	size_t i;

	for (i = 0; i < w.len; i++)
		if (!is_digit(w.at[i]) && w.at[i] != '.')
			return false;
	return w.len > 0;
}

/* /PREFIX behind an address, if there is one. */
static bool parse_prefix(struct cursor *c, unsigned int bits,
			 unsigned int *prefix)
{
	const char *at;
	long n;

	*prefix = bits;
	skip_blanks(c);
	if (c->at == c->end || *c->at != '/')
		return true;
	c->at++;
	skip_blanks(c);
	at = c->at;
	n = number(c);
	if (n < 0)
		return fault(c, at, "expected a prefix length, 0 to %u, after \"/\"",
			     bits);
	if (c->at < c->end && *c->at == '.')
		return fault(c, at, "a netmask: write the prefix length, 0 to %u",
			     bits);
	if (n > (long)bits)
		return fault(c, at, "prefix length %.*s: at most %u is possible here",
			     (int)(c->at - at), at, bits);
	*prefix = n;
	return true;
}

/* Clears what the prefix does not cover; true if there was something. */
static bool clear_host_bits(struct rules_addr *addr, unsigned int prefix)
{
	unsigned int i, bits = addr->v6 ? 128 : 32;
	bool any = false;

	for (i = prefix; i < bits; i++) {
		uint8_t bit = 0x80 >> (i % 8);

		any |= addr->bytes[i / 8] & bit;
		addr->bytes[i / 8] &= ~bit;
	}
	return any;
}

/* An address and its prefix; the cursor stands behind the address's text. */
static bool parse_ip(struct cursor *c, struct rule *rule, bool v6,
		     const char *at, const uint8_t bytes[16])
{
	char text[RULES_ADDR_MAX];
	struct rules_addr addr;

	if (!parse_prefix(c, v6 ? 128 : 32, &rule->prefix))
		return false;
	if (v6 && is_mapped(bytes) && rule->prefix >= 96) {
		set_addr(&addr, true, bytes);
		rule->prefix -= 96;
	} else {
		addr = (struct rules_addr){ .v6 = v6 };
		memcpy(addr.bytes, bytes, v6 ? 16 : 4);
	}
	if (clear_host_bits(&addr, rule->prefix)) {
		rules_put_addr(text, &addr);
		warn(c, at, "there is more in the address than its prefix covers: read as %s/%u",
		     text, rule->prefix);
	}
	if (!rules_add_addr(rule, &addr))
		c->no_memory = true;
	return !c->no_memory;
}

static bool parse_bracketed(struct cursor *c, struct rule *rule)
{
	const char *at = c->at;
	struct word w = { .at = at + 1 };
	char shown[SHOW_MAX + 4];
	uint8_t bytes[16];

	while (w.at + w.len < c->end && w.at[w.len] != ']')
		w.len++;
	if (w.at + w.len == c->end)
		return fault(c, at, "\"[\" without \"]\"");
	c->at = w.at + w.len + 1;
	if (memchr(w.at, '%', w.len))
		return fault(c, w.at, "\"%s\": write the address without its scope",
			     show(shown, w));
	if (!from_text(true, w, bytes))
		return fault(c, w.at, "\"%s\": not an IPv6 address",
			     show(shown, w));
	return parse_ip(c, rule, true, at, bytes);
}

/* Without brackets: two colons make it IPv6, and the last is the port's. */
static bool parse_bare_ipv6(struct cursor *c, struct rule *rule, struct word w)
{
	struct word whole = w;
	char shown[SHOW_MAX + 4], text[INET6_ADDRSTRLEN];
	struct cursor ahead = *c;
	uint8_t bytes[16];

	ahead.at = w.at + w.len;
	skip_blanks(&ahead);
	if (ahead.at == ahead.end || (*ahead.at != '/' && *ahead.at != ':'))
		while (w.at[--w.len] != ':')
			;
	if (!from_text(true, w, bytes))
		return fault(c, w.at, "\"%s\": not an IPv6 address and port: write [ADDRESS]:PORT",
			     show(shown, rest_of_word(c, w.at)));
	c->at = w.at + w.len;
	if (w.len < whole.len && from_text(true, whole, (uint8_t [16]){ })) {
		inet_ntop(AF_INET6, bytes, text, sizeof(text));
		warn(c, w.at, "read as [%s]%.*s: write it so, if it is meant so",
		     text, (int)(whole.len - w.len), w.at + w.len);
	}
	return parse_ip(c, rule, true, w.at, bytes);
}

static bool parse_name(struct cursor *c, struct rule *rule, struct word w)
{
	char shown[SHOW_MAX + 4];

	if (!is_host_name(w))
		return fault(c, w.at, "\"%s\": neither an address nor a host name",
			     show(shown, w));
	skip_blanks(c);
	if (c->at < c->end && *c->at == '/')
		return fault(c, c->at, "a host name has no prefix: write the network's address");
	rule->host = copy(c, w);
	return rule->host;
}

static bool parse_bare(struct cursor *c, struct rule *rule)
{
	struct word w = { .at = c->at };
	char shown[SHOW_MAX + 4];
	const char *colon = NULL;
	unsigned int colons = 0;
	uint8_t bytes[16];

	for (; w.at + w.len < c->end; w.len++) {
		char ch = w.at[w.len];

		if (is_blank(ch) || ch == '#' || ch == '/' || ch == '*')
			break;
		if (ch == ':' && !colons++)
			colon = w.at + w.len;
	}
	if (colons > 1)
		return parse_bare_ipv6(c, rule, w);
	if (w.at + w.len < c->end && w.at[w.len] == '*' && !colons)
		return fault(c, w.at, "\"%s\": an address has no wildcards: write the network, as in 10.1.2.0/24",
			     show(shown, rest_of_word(c, w.at)));
	if (colon)
		w.len = colon - w.at;
	if (!w.len)
		return fault(c, w.at, "expected an address, a host name or \"*\"");
	c->at = w.at + w.len;
	if (!looks_like_ipv4(w))
		return parse_name(c, rule, w);
	if (!from_text(false, w, bytes))
		return fault(c, w.at, "\"%s\": not an IPv4 address",
			     show(shown, w));
	return parse_ip(c, rule, false, w.at, bytes);
}

static bool parse_address(struct cursor *c, struct rule *rule)
{
	const char *at = c->at;
	char shown[SHOW_MAX + 4];

	rule->column = at - c->start + 1;
	if (*at == '[')
		return parse_bracketed(c, rule);
	if (*at != '*')
		return parse_bare(c, rule);
	c->at++;
	rule->any_addr = true;
	if (!at_end(c) && !is_blank(*c->at) && *c->at != ':')
		return fault(c, at, "\"%s\": \"*\" is all addresses, and stands alone",
			     show(shown, rest_of_word(c, at)));
	return true;
}

/* ---------------------------------------------------------------------- lines */

static bool parse_port(struct cursor *c, uint16_t *port)
{
	const char *at;
	char shown[SHOW_MAX + 4];
	long n;

	skip_blanks(c);
	at = c->at;
	n = number(c);
	if (n < 0) {
		if (at_end(c))
			return fault(c, behind(c), "expected a port, 0 to 65535, or \"*\"");
		return fault(c, at, "\"%s\": expected a port, 0 to 65535, or \"*\"",
			     show(shown, rest_of_word(c, at)));
	}
	if (n > 65535)
		return fault(c, at, "port %s: the largest is 65535",
			     show(shown, (struct word){ at, c->at - at }));
	*port = n;
	return true;
}

static bool parse_ports(struct cursor *c, struct rule *rule)
{
	const char *at;

	skip_blanks(c);
	if (c->at == c->end || *c->at != ':')
		return fault(c, at_end(c) ? behind(c) : c->at,
			     "expected \":\" and a port or \"*\" after the address");
	c->at++;
	skip_blanks(c);
	at = c->at;
	rule->high = UINT16_MAX;
	if (c->at < c->end && *c->at == '*') {
		c->at++;
		return true;
	}
	if (!parse_port(c, &rule->low))
		return false;
	rule->high = rule->low;
	skip_blanks(c);
	if (c->at == c->end || *c->at != '-')
		return true;
	c->at++;
	if (!parse_port(c, &rule->high))
		return false;
	if (rule->high < rule->low)
		return fault(c, at, "ports %u-%u: the smaller one stands first",
			     rule->low, rule->high);
	return true;
}

/* Where a set of the pattern names a class, as [[:alpha:]], which we do not know. */
static const char *find_class(struct word w)
{
	const char *at, *first, *end = w.at + w.len;

	for (at = w.at; at < end; at++) {
		if (*at == '\\') {
			at++;
			continue;
		}
		if (*at != '[')
			continue;
		first = at + 1;
		if (first < end && (*first == '!' || *first == '^'))
			first++;
		for (at = first; at < end && (*at != ']' || at == first); at++)
			if (*at == '[' && at + 1 < end && strchr(":.=", at[1]))
				return at;
	}
	return NULL;
}

/*
 * Whether the word is the start of ADDRESS:PORT with blanks in it, and no program:
 * by how it looks, and by an end or a continuation that no address begins with.
 */
static bool is_torn_address(const struct cursor *c, struct word w)
{
	const char *next = c->at;

	if (*w.at != '[' && !is_digit(*w.at) && !memchr(w.at, ':', w.len))
		return false;
	if (w.at[w.len - 1] == ':' || w.at[w.len - 1] == '/')
		return true;
	return !at_end(c) && (*next == '/' || *next == '-' ||
			      (*next == ':' && (next + 1 == c->end || next[1] != ':')));
}

static bool parse_program(struct cursor *c, struct rule *rule)
{
	struct word w = next_word(c), name;
	char shown[SHOW_MAX + 4];
	const char *slash;

	if (!w.len)
		return fault(c, behind(c), "expected a program's name or \"*\", and ADDRESS:PORT");
	skip_blanks(c);
	if (at_end(c) && memchr(w.at, ':', w.len)) {
		/* Left out: all programs. */
		c->at = w.at;
		w = (struct word){ "*", 1 };
	} else if (is_torn_address(c, w)) {
		return fault(c, w.at, "\"%s\": a program's name, or \"*\", is missing before the address",
			     show(shown, w));
	} else if (find_class(w)) {
		return fault(c, find_class(w), "\"%s\": a set has no classes here: write signs and ranges, as in [a-z]",
			     show(shown, rest_of_word(c, find_class(w))));
	} else {
		slash = memrchr(w.at, '/', w.len);
		name.at = slash ? slash + 1 : w.at;
		name.len = w.len - (name.at - w.at);
		if (slash)
			return fault(c, w.at, "a program is named without its path: write \"%s\"",
				     show(shown, name));
		if (at_end(c))
			return fault(c, behind(c), "expected ADDRESS:PORT after the program's name");
	}
	rule->program = copy(c, w);
	return rule->program;
}

static bool parse_use(struct cursor *c, struct rule *rule)
{
	char shown[SHOW_MAX + 4];
	struct word w;

	w = next_plain_word(c);
	if (is(w, "both"))
		rule->use = RULES_BOTH;
	else if (is(w, "sdp"))
		rule->use = RULES_SDP;
	else if (is(w, "tcp"))
		rule->use = RULES_TCP;
	else if (w.len)
		return fault(c, w.at, "\"%s\": expected \"both\", \"sdp\" or \"tcp\"",
			     show(shown, w));
	else
		return fault(c, behind(c), "expected \"both\", \"sdp\" or \"tcp\" after \"use\"");

	w = next_plain_word(c);
	if (is(w, "client") || is(w, "connect"))
		rule->role = RULES_CLIENT;
	else if (is(w, "server") || is(w, "listen"))
		rule->role = RULES_SERVER;
	else if (w.len)
		return fault(c, w.at, "\"%s\": expected \"client\" or \"server\"",
			     show(shown, w));
	else
		return fault(c, behind(c), "expected \"client\" or \"server\"");

	if (!parse_program(c, rule) || !parse_address(c, rule) ||
	    !parse_ports(c, rule))
		return false;
	skip_blanks(c);
	if (!at_end(c))
		return fault(c, c->at, "\"%s\": expected the end of the rule",
			     show(shown, rest_of_word(c, c->at)));
	for (w.at = c->start; is_blank(*w.at); w.at++)
		;
	w.len = behind(c) - w.at;
	rule->text = copy(c, w);
	return rule->text;
}

static bool parse_destination(struct cursor *c, struct rules_log *log)
{
	struct word w = next_plain_word(c);
	char shown[SHOW_MAX + 4];

	if (is(w, "stderr")) {
		log->dest = RULES_LOG_STDERR;
	} else if (is(w, "syslog")) {
		log->dest = RULES_LOG_SYSLOG;
	} else if (is(w, "file")) {
		w = next_word(c);
		if (!w.len)
			return fault(c, behind(c), "expected a file's name after \"file\"");
		if (w.len > RULES_LOG_NAME_MAX)
			return fault(c, w.at, "a file's name of %zu bytes: at most %d are possible",
				     w.len, RULES_LOG_NAME_MAX);
		if (w.at[w.len - 1] == '/')
			return fault(c, w.at, "\"%s\": not a file's name",
				     show(shown, w));
		log->dest = RULES_LOG_FILE;
		memcpy(log->name, w.at, w.len);
		log->name[w.len] = '\0';
	} else {
		return fault(c, w.len ? w.at : behind(c),
			     "expected \"stderr\", \"syslog\" or \"file NAME\" after \"destination\"");
	}
	return true;
}

static bool parse_log(struct cursor *c)
{
	struct rules_log log = c->rules->log;
	char shown[SHOW_MAX + 4];
	struct word w;
	long n;

	while ((w = next_plain_word(c)).len) {
		if (is(w, "destination")) {
			if (!parse_destination(c, &log))
				return false;
		} else if (is(w, "min-level")) {
			w = next_plain_word(c);
			c->at = w.at;
			n = number(c);
			if (n < 0 || c->at != w.at + w.len)
				return fault(c, w.len ? w.at : behind(c),
					     "expected a level, 1 (all) to 9 (errors), after \"min-level\"");
			log.min_level = n < 1 ? 1 : n > RULES_LEVEL_ERROR ? RULES_LEVEL_ERROR : n;
		} else {
			return fault(c, w.at, "\"%s\": expected \"destination\" or \"min-level\"",
				     show(shown, w));
		}
	}
	c->rules->log = log;
	return true;
}

static void free_rule(struct rule *rule)
{
	free(rule->text);
	free(rule->program);
	free(rule->host);
	free(rule->addr);
}

static bool add_rule(struct rules *rules, const struct rule *rule)
{
	/* Twice as many each time there are as many as a power of two. */
	size_t n = rules->nr_rules;
	struct rule *all = rules->rule;

	if (!(n & (n - 1))) {
		all = realloc(all, (n ? 2 * n : 1) * sizeof(*all));
		if (!all)
			return false;
		rules->rule = all;
	}
	all[n] = *rule;
	rules->nr_rules++;
	return true;
}

static void parse_line(struct cursor *c)
{
	struct rule rule = { };
	char shown[SHOW_MAX + 4];
	struct word w = next_plain_word(c);

	if (!w.len)
		return;
	if (memchr(w.at, 0, c->end - w.at)) {
		fault(c, memchr(w.at, 0, c->end - w.at), "a zero byte: this is no text");
	} else if (is(w, "log")) {
		parse_log(c);
	} else if (is(w, "match")) {
		fault(c, w.at, "\"match\" is of libsdp before 2006: write \"use both client PROGRAM ADDRESS:PORT\" for \"match destination\", \"use both server\" for \"match listen\", and at the end what is to be left to TCP, as \"use tcp client * *:*\"");
	} else if (!is(w, "use")) {
		fault(c, w.at, "\"%s\": a line begins with \"use\", \"log\" or \"#\"",
		      show(shown, w));
	} else if (!parse_use(c, &rule)) {
		free_rule(&rule);
	} else {
		rule.line = c->line;
		if (!add_rule(c->rules, &rule)) {
			c->no_memory = true;
			free_rule(&rule);
		}
	}
}

struct rules *rules_parse(const char *text, size_t len)
{
	struct cursor c = { .end = text };
	const char *end = text + len, *nl;

	c.rules = calloc(1, sizeof(*c.rules));
	if (!c.rules)
		return NULL;
	c.rules->log.min_level = RULES_LEVEL_ERROR;
	while (text < end && !c.no_memory) {
		nl = memchr(text, '\n', end - text);
		c.line++;
		c.start = c.at = text;
		c.end = nl ? nl : end;
		parse_line(&c);
		text = nl ? nl + 1 : end;
	}
	if (c.no_memory) {
		rules_free(c.rules);
		return NULL;
	}
	return c.rules;
}

void rules_free(struct rules *rules)
{
	size_t i;

	if (!rules)
		return;
	for (i = 0; i < rules->nr_rules; i++)
		free_rule(&rules->rule[i]);
	for (i = 0; i < rules->nr_notes; i++)
		free(rules->note[i].text);
	free(rules->rule);
	free(rules->note);
	free(rules);
}

bool rules_add_addr(struct rule *rule, const struct rules_addr *addr)
{
	struct rules_addr *all;

	all = realloc(rule->addr, (rule->nr_addrs + 1) * sizeof(*all));
	if (!all)
		return false;
	rule->addr = all;
	all[rule->nr_addrs++] = *addr;
	return true;
}

/* ------------------------------------------------------------------ decisions */

bool rules_end(struct rules_end *end, const struct sockaddr *sa)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)sa;
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)sa;

	if (sa->sa_family == AF_INET) {
		end->port = ntohs(sin->sin_port);
		return set_addr(&end->addr, false, &sin->sin_addr);
	}
	if (sa->sa_family == AF_INET6) {
		end->port = ntohs(sin6->sin6_port);
		return set_addr(&end->addr, true, &sin6->sin6_addr);
	}
	return false;
}

static bool is_unspecified(const struct rules_addr *addr)
{
	static const uint8_t zero[16];

	return !memcmp(addr->bytes, zero, addr->v6 ? 16 : 4);
}

bool rules_is_loopback(enum rules_role role, const struct rules_addr *addr)
{
	static const uint8_t one[16] = { [15] = 1 };

	/* As a destination 0.0.0.0 is this host by way of the loopback. */
	if (is_unspecified(addr))
		return role == RULES_CLIENT;
	return addr->v6 ? !memcmp(addr->bytes, one, 16) :
			  addr->bytes[0] == IN_LOOPBACKNET;
}

/*
 * One sign of the pattern, which is a set if it has its "]".  Moves *@p behind it.
 */
static bool glob_one(const char **p, char ch)
{
	const char *at = *p + 1, *first;
	bool not, hit = false;

	switch (**p) {
	case '?':
		*p = at;
		return true;
	case '\\':
		if (!*at)
			break;
		*p = at + 1;
		return *at == ch;
	case '[':
		not = *at == '!' || *at == '^';
		at += not;
		for (first = at; *at && (*at != ']' || at == first); at++) {
			unsigned char low = *at, high = low;

			if (at[1] == '-' && at[2] && at[2] != ']') {
				high = at[2];
				at += 2;
			}
			hit |= (unsigned char)ch >= low &&
			       (unsigned char)ch <= high;
		}
		if (!*at)
			break;
		*p = at + 1;
		return hit != not;
	}
	*p += 1;
	return (*p)[-1] == ch;
}

bool rules_glob(const char *pattern, const char *name)
{
	const char *star = NULL, *from = NULL;

	while (*name) {
		if (*pattern == '*') {
			star = ++pattern;
			from = name;
		} else if (*pattern && glob_one(&pattern, *name)) {
			name++;
		} else if (star) {
			/* The last * takes one more; earlier ones need not. */
			pattern = star;
			name = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

static bool in_network(const struct rules_addr *addr,
		       const struct rules_addr *net, unsigned int prefix)
{
	unsigned int whole = prefix / 8, rest = prefix % 8;

	return addr->v6 == net->v6 && !memcmp(addr->bytes, net->bytes, whole) &&
	       (!rest || !((addr->bytes[whole] ^ net->bytes[whole]) >>
			   (8 - rest)));
}

static bool addr_fits(const struct rule *rule, const struct rules_addr *addr)
{
	static const struct rules_addr any4;
	unsigned int prefix = rule->prefix;
	size_t i;

	if (rule->any_addr)
		return true;
	for (i = 0; i < rule->nr_addrs; i++) {
		const struct rules_addr *net = &rule->addr[i];

		if (rule->host)
			prefix = net->v6 ? 128 : 32;
		if (in_network(addr, net, prefix))
			return true;
		if (addr->v6 && !net->v6 && is_unspecified(addr) &&
		    in_network(&any4, net, prefix))
			return true;
	}
	return false;
}

enum rules_miss rules_miss(const struct rule *rule, enum rules_role role,
			   const char *program, const struct rules_end *end)
{
	if (rule->role != role)
		return RULES_MISS_ROLE;
	if (!rules_glob(rule->program, program))
		return RULES_MISS_PROGRAM;
	if (end->port < rule->low || end->port > rule->high)
		return RULES_MISS_PORT;
	if (addr_fits(rule, &end->addr))
		return RULES_MATCH;
	return rule->host && !rule->nr_addrs ? RULES_MISS_HOST : RULES_MISS_ADDR;
}

enum rules_use rules_decide(const struct rules *rules, bool require,
			    enum rules_role role, const char *program,
			    const struct rules_end *end,
			    const struct rule **rule)
{
	/* libsdp's answer where no rule has one. */
	enum rules_use use = RULES_BOTH;
	size_t i;

	*rule = NULL;
	for (i = 0; rules && i < rules->nr_rules; i++) {
		if (rules_miss(&rules->rule[i], role, program, end))
			continue;
		*rule = &rules->rule[i];
		use = (*rule)->use;
		break;
	}
	return require && use == RULES_BOTH ? RULES_SDP : use;
}

/* ----------------------------------------------------------------------- text */

const char *rules_use_word(enum rules_use use)
{
	static const char *const words[] = {
		[RULES_TCP] = "tcp", [RULES_SDP] = "sdp", [RULES_BOTH] = "both",
	};

	return words[use];
}

const char *rules_miss_why(enum rules_miss miss)
{
	static const char *const why[] = {
		[RULES_MATCH] = "matches",
		[RULES_MISS_ROLE] = "another role",
		[RULES_MISS_PROGRAM] = "another program",
		[RULES_MISS_PORT] = "another port",
		[RULES_MISS_ADDR] = "another address",
		[RULES_MISS_HOST] = "its host name was not found",
	};

	return why[miss];
}

static char *put_number(char *to, unsigned int n, unsigned int base)
{
	char digits[10];
	size_t i = sizeof(digits);

	do {
		digits[--i] = "0123456789abcdef"[n % base];
		n /= base;
	} while (n);
	memcpy(to, digits + i, sizeof(digits) - i);
	return to + sizeof(digits) - i;
}

size_t rules_put_addr(char to[RULES_ADDR_MAX], const struct rules_addr *addr)
{
	const uint8_t *b = addr->bytes;
	unsigned int i, run, gap = 8, gap_len = 1;
	char *p = to;

	if (!addr->v6) {
		for (i = 0; i < 4; i++) {
			if (i)
				*p++ = '.';
			p = put_number(p, b[i], 10);
		}
		*p = '\0';
		return p - to;
	}
	/* The first of the longest rows of zeroes, if longer than one, is "::". */
	for (i = 0; i < 8; i++) {
		for (run = 0; i + run < 8 && !b[2 * (i + run)] &&
		     !b[2 * (i + run) + 1]; run++)
			;
		if (run > gap_len) {
			gap = i;
			gap_len = run;
		}
	}
	for (i = 0; i < 8; i++) {
		if (i == gap) {
			*p++ = ':';
			*p++ = ':';
			i += gap_len - 1;
			continue;
		}
		if (i && p[-1] != ':')
			*p++ = ':';
		p = put_number(p, b[2 * i] << 8 | b[2 * i + 1], 16);
	}
	*p = '\0';
	return p - to;
}
