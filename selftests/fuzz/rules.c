// SPDX-License-Identifier: GPL-2.0
/*
 * Hostile rule files, and what they decide: the rules hold together, each one's
 * text read alone gives the same rule, and the answer is that of the simplest
 * matcher, which compares bit by bit.
 *
 * An input's last eight bytes make the question, the others are the file.  Made
 * by chance, it is some lines of the files on the command line, bent.
 */
#include <errno.h>
#include <netinet/in.h>

#include "../../userspace/rules.h"
#include "../unit/chance.h"
#include "fuzz.h"

#define QUESTION	8

static bool bit_of(const uint8_t *bytes, unsigned int bit)
{
	return bytes[bit / 8] >> (7 - bit % 8) & 1;
}

static void check_notes(const struct rules *rules, size_t size)
{
	size_t i, errors = 0;
	const char *p;

	for (i = 0; i < rules->nr_notes; i++) {
		const struct rules_note *note = &rules->note[i];

		CHECK(note->line >= 1 && note->line <= size + 1);
		CHECK(note->column >= 1 && note->column <= size + 1);
		CHECK(!i || note->line >= note[-1].line);
		/* One error a line. */
		CHECK(!i || note->line > note[-1].line || !note[-1].error);
		errors += note->error;
		CHECK(*note->text);
		for (p = note->text; *p; p++)
			CHECK(*p >= ' ' && *p <= '~');
	}
	CHECK(errors == rules->nr_errors);
	CHECK(rules->log.min_level >= 1 && rules->log.min_level <= 9);
	CHECK(strlen(rules->log.name) <= RULES_LOG_NAME_MAX);
	CHECK((rules->log.dest == RULES_LOG_FILE) <= !!rules->log.name[0]);
}

static void check_rule(const struct rule *rule)
{
	unsigned int bits, bit;

	CHECK(rule->low <= rule->high);
	CHECK(*rule->program && !strchr(rule->program, '/'));
	CHECK(rule->any_addr + !!rule->host + (rule->nr_addrs == 1) == 1);
	if (!rule->nr_addrs)
		return;
	bits = rule->addr->v6 ? 128 : 32;
	CHECK(rule->prefix <= bits);
	for (bit = rule->prefix; bit < 128; bit++)
		CHECK(!bit_of(rule->addr->bytes, bit));
}

static void check_again(const struct rule *rule)
{
	struct rules *again = rules_parse(rule->text, strlen(rule->text));
	const struct rule *r = again->rule;

	CHECK(again->nr_rules == 1);
	CHECK(r->use == rule->use && r->role == rule->role && r->line == 1);
	CHECK(!strcmp(r->text, rule->text) && !strcmp(r->program, rule->program));
	CHECK(r->low == rule->low && r->high == rule->high);
	CHECK(r->any_addr == rule->any_addr && r->nr_addrs == rule->nr_addrs);
	CHECK(r->prefix == rule->prefix && !r->host == !rule->host);
	CHECK(!r->host || !strcmp(r->host, rule->host));
	CHECK(!r->nr_addrs || !memcmp(r->addr, rule->addr, sizeof(*r->addr)));
	rules_free(again);
}

static bool fits(const struct rule *rule, enum rules_role role,
		 const char *program, const struct rules_end *end)
{
	struct rules_addr addr = end->addr;
	unsigned int bit;

	if (rule->role != role || end->port < rule->low ||
	    end->port > rule->high || rule->host)
		return false;
	if (!rules_glob(rule->program, program))
		return false;
	if (rule->any_addr)
		return true;
	/* :: stands for 0.0.0.0 too */
	if (addr.v6 && !rule->addr->v6 &&
	    !memcmp(addr.bytes, (uint8_t [16]){ }, 16))
		addr.v6 = false;
	if (addr.v6 != rule->addr->v6)
		return false;
	for (bit = 0; bit < rule->prefix; bit++)
		if (bit_of(addr.bytes, bit) != bit_of(rule->addr->bytes, bit))
			return false;
	return true;
}

/* A question near one of the rules, so that prefixes and ports are at stake. */
static void ask(const struct rules *rules, const uint8_t q[QUESTION])
{
	static const char *const programs[] = { "ttcp", "db2sysc", "java", "" };
	enum rules_role role = q[0] & 1 ? RULES_SERVER : RULES_CLIENT;
	const char *program = programs[q[0] >> 1 & 3];
	const struct rule *rule, *expected = NULL, *near;
	struct rules_end end = { .addr.v6 = q[0] & 8 };
	char text[RULES_ADDR_MAX];
	enum rules_use use;
	size_t i;

	if (rules->nr_rules) {
		near = &rules->rule[q[1] % rules->nr_rules];
		if (near->nr_addrs)
			end.addr = *near->addr;
		end.port = near->low + (q[2] & 3) - 1;
		if (q[2] & 4)
			end.port = near->high + (q[2] & 3) - 1;
		if (q[2] & 8) {
			unsigned int bit = q[3] % (end.addr.v6 ? 128 : 32);

			end.addr.bytes[bit / 8] ^= 0x80 >> bit % 8;
		}
	}
	for (i = 0; i < rules->nr_rules && !expected; i++)
		if (fits(&rules->rule[i], role, program, &end))
			expected = &rules->rule[i];
	use = rules_decide(rules, q[4] & 1, role, program, &end, &rule);
	CHECK(rule == expected);
	if (q[4] & 1)
		CHECK(use == (rule && rule->use == RULES_TCP ? RULES_TCP : RULES_SDP));
	else
		CHECK(use == (rule ? rule->use : RULES_BOTH));
	CHECK(rules_put_addr(text, &end.addr) < RULES_ADDR_MAX);
	rules_is_loopback(role, &end.addr);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rules *rules;
	uint8_t *text;
	size_t i;

	if (size < QUESTION)
		return 0;
	size -= QUESTION;
	text = exact_copy(data, size);
	rules = rules_parse((char *)text, size);
	CHECK(rules);
	free(text);
	check_notes(rules, size);
	for (i = 0; i < rules->nr_rules; i++) {
		CHECK(!i || rules->rule[i].line > rules->rule[i - 1].line);
		check_rule(&rules->rule[i]);
		check_again(&rules->rule[i]);
	}
	ask(rules, data + size);
	rules_free(rules);
	return 0;
}

/* ---- inputs by chance ---- */

enum { TEXT_MAX = 1 << 11 };

static struct line {
	char *text;
	size_t len;
} *lines;
static size_t nr_lines;

static size_t put(char *to, size_t room, const char *from, size_t len)
{
	if (len > room)
		len = room;
	memcpy(to, from, len);
	return len;
}

/* Insert, remove, repeat or change a few bytes somewhere. */
static size_t mutate(char *text, size_t len, size_t room)
{
	static const char *const words[] = {
		"use ", "both", "sdp ", "tcp ", "client ", "server ", "log ", "*",
		":", "/", "-", "[", "]", "#", "::", "::ffff:", "10.0.0.0", "/32",
		"/33", "/128", "65535", "65536", "99999999999999999999", " ", "\t",
		"\r", "\n", "min-level 7", "destination file x", "host.example",
		"[a-z]", "\\", "?", "0", "ffff",
	};
	size_t at = below(len + 1), n;
	char c[2] = { };
	const char *w;

	switch (below(4)) {
	case 0:
		n = below(len - at + 1) % 8;
		memmove(text + at, text + at + n, len - at - n);
		return len - n;
	case 1:
		if (at < len)
			text[at] = below(4) ? ' ' + below(95) : rnd();
		return len;
	case 2:
		c[0] = below(4) ? ' ' + below(95) : rnd();
		w = c;
		n = 1;
		break;
	default:
		w = words[below(sizeof(words) / sizeof(words[0]))];
		n = strlen(w);
	}
	if (len + n > room)
		return len;
	memmove(text + at + n, text + at, len - at);
	memcpy(text + at, w, n);
	return len + n;
}

size_t fuzz_make(uint8_t *input, size_t room)
{
	uint32_t count = 1 + below(8), i;
	char *to = (char *)input;
	size_t len = 0;

	room = (room < TEXT_MAX ? room : TEXT_MAX) - QUESTION;
	while (nr_lines && count--) {
		const struct line *l = &lines[below(nr_lines)];

		len += put(to + len, room - len, l->text, l->len);
		len += put(to + len, room - len, "\n", below(32) ? 1 : 0);
	}
	while (below(4))
		len = mutate(to, len, room);
	for (i = 0; i < QUESTION; i++)
		to[len + i] = rnd();
	return len + QUESTION;
}

void fuzz_file(const char *bytes, size_t size)
{
	const char *end = bytes + size, *nl;

	while (bytes < end) {
		nl = memchr(bytes, '\n', end - bytes);
		lines = realloc(lines, (nr_lines + 1) * sizeof(*lines));
		CHECK(lines);
		lines[nr_lines].len = (nl ? nl : end) - bytes;
		lines[nr_lines].text = exact_copy(bytes, lines[nr_lines].len);
		bytes = nl ? nl + 1 : end;
		nr_lines++;
	}
}

size_t fuzz_change(uint8_t *input, size_t size, size_t room)
{
	uint8_t question[QUESTION];

	if (size < QUESTION || size > room - QUESTION)
		return fuzz_make(input, room);
	size -= QUESTION;
	memcpy(question, input + size, QUESTION);
	size = mutate((char *)input, size, room - QUESTION);
	memcpy(input + size, question, QUESTION);
	if (below(2))
		input[size + below(QUESTION)] = rnd();
	return size + QUESTION;
}
