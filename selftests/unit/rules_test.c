// SPDX-License-Identifier: GPL-2.0
/*
 * The rules of sdp.conf(5), in the order of the functions of rules.c, which is
 * included so that its allocations can be made to fail.
 */
#include <arpa/inet.h>
#include <fnmatch.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Allocations that succeed before one fails; negative: all do. */
static int allocations = -1;

static bool may_allocate(void)
{
	if (!allocations)
		return false;
	if (allocations > 0)
		allocations--;
	return true;
}

#define realloc(p, n)		(may_allocate() ? realloc(p, n) : NULL)
#define calloc(n, m)		(may_allocate() ? calloc(n, m) : NULL)
#define strndup(s, n)		(may_allocate() ? strndup(s, n) : NULL)
#define vasprintf(p, f, a)	(may_allocate() ? vasprintf(p, f, a) : -1)
#include "../../userspace/rules.c"
#undef realloc
#undef calloc
#undef strndup
#undef vasprintf

#include <kunit/test.h>

/* A copy of just its size, so that the first byte behind it is seen. */
static struct rules *parse(struct kunit *test, const char *text)
{
	size_t len = strlen(text);
	char *copied = kunit_kmalloc(test, len, GFP_KERNEL);

	memcpy(copied, text, len);
	return rules_parse(copied, len);
}

/* A rule as one form of the many that it may be written in. */
static void describe(char *to, size_t room, const struct rule *rule)
{
	char addr[RULES_ADDR_MAX + 8] = "*";

	if (rule->host) {
		snprintf(addr, sizeof(addr), "%.40s", rule->host);
	} else if (!rule->any_addr) {
		rules_put_addr(addr, rule->addr);
		snprintf(addr + strlen(addr), 8, "/%u", rule->prefix);
	}
	snprintf(to, room, "%s %s %s %s %u-%u", rules_use_word(rule->use),
		 rule->role == RULES_CLIENT ? "client" : "server",
		 rule->program, addr, rule->low, rule->high);
}

static void parse__accepts(struct kunit *test)
{
	static const struct {
		const char *line, *means;
	} cases[] = {
		{ "use both client * *:*", "both client * * 0-65535" },
		{ "use sdp server iperf* *:*", "sdp server iperf* * 0-65535" },
		{ "use tcp connect ssh *:22", "tcp client ssh * 22-22" },
		{ "use tcp listen sshd *:22", "tcp server sshd * 22-22" },
		{ "USE Both CLIENT Java *:*", "both client Java * 0-65535" },
		{ "use both client * *:0", "both client * * 0-0" },
		{ "use both client * *:65535", "both client * * 65535-65535" },
		{ "use both client * *:0-65535", "both client * * 0-65535" },
		{ "use both client * *:1024-2047", "both client * * 1024-2047" },
		{ "use both client * *:80-80", "both client * * 80-80" },
		{ "use both client * *:0080", "both client * * 80-80" },
		/* blanks */
		{ "  use\tboth  client\t\t* *:* \t", "both client * * 0-65535" },
		{ "use both client * *:*\r", "both client * * 0-65535" },
		{ "use both client * 10.0.0.0 / 8 : 80 - 90",
		  "both client * 10.0.0.0/8 80-90" },
		{ "use both client * * : *", "both client * * 0-65535" },
		{ "use both client * [fd00::] / 8 : 80",
		  "both client * fd00::/8 80-80" },
		{ "use both client * fd00::1 : 80", "both client * fd00::1/128 80-80" },
		{ "use both client * fd00::1:80 :90", "both client * fd00::1:80/128 90-90" },
		{ "use both client * fd00::1: 80", "both client * fd00::1/128 80-80" },
		/* comments */
		{ "use both client * *:*#x", "both client * * 0-65535" },
		{ "use both client * *:80 # x", "both client * * 80-80" },
		{ "use both client a#b *:*", "both client a#b * 0-65535" },
		/* no classes */
		{ "use both client a[:.=]b *:*", "both client a[:.=]b * 0-65535" },
		{ "use both client \\[[:x] *:*", "both client \\[[:x] * 0-65535" },
		{ "use both client 4store ::2/128:80", "both client 4store ::2/128 80-80" },
		/* no program */
		{ "use both client *:80", "both client * * 80-80" },
		{ "use both client 10.0.0.1:80 # x", "both client * 10.0.0.1/32 80-80" },
		{ "use both client [::2]:80", "both client * ::2/128 80-80" },
		/* IPv4 */
		{ "use both client * 10.1.2.3:80", "both client * 10.1.2.3/32 80-80" },
		{ "use both client * 10.1.2.3/32:80", "both client * 10.1.2.3/32 80-80" },
		{ "use both client * 0.0.0.0/0:*", "both client * 0.0.0.0/0 0-65535" },
		{ "use both client * 128.0.0.0/1:*", "both client * 128.0.0.0/1 0-65535" },
		{ "use both client * 255.255.255.255:*",
		  "both client * 255.255.255.255/32 0-65535" },
		/* IPv6 */
		{ "use both client * [::]/0:*", "both client * ::/0 0-65535" },
		{ "use both client * [FD00::A]:1", "both client * fd00::a/128 1-1" },
		{ "use both client * [fd00::]/8:*", "both client * fd00::/8 0-65535" },
		{ "use both client * 1234:5678::0/64:*",
		  "both client * 1234:5678::/64 0-65535" },
		{ "use both client * 1:2:3:4:5:6:7:8:80",
		  "both client * 1:2:3:4:5:6:7:8/128 80-80" },
		{ "use both client * fd00::1:*", "both client * fd00::1/128 0-65535" },
		{ "use both client * :::80", "both client * ::/128 80-80" },
		{ "use both client * ::2/128:80-90", "both client * ::2/128 80-90" },
		/* IPv4 in the shape of IPv6 */
		{ "use both client * [::ffff:10.1.2.3]:80",
		  "both client * 10.1.2.3/32 80-80" },
		{ "use both client * [::ffff:10.0.0.0]/104:80",
		  "both client * 10.0.0.0/8 80-80" },
		{ "use both client * [::ffff:0.0.0.0]/96:80",
		  "both client * 0.0.0.0/0 80-80" },
		/* host names */
		{ "use both client * localhost:80", "both client * localhost 80-80" },
		{ "use both client * db-1.Example.com.:80",
		  "both client * db-1.Example.com. 80-80" },
		{ "use both client * 3com.example:*", "both client * 3com.example 0-65535" },
		{ "use both client * a_b : 1-2", "both client * a_b 1-2" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct rules *rules = parse(test, cases[i].line);
		char means[160] = "none";

		if (rules->nr_rules == 1)
			describe(means, sizeof(means), rules->rule);
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(means, cases[i].means),
				      "\"%s\" is \"%s\"", cases[i].line, means);
		KUNIT_EXPECT_TRUE_MSG(test, !rules->nr_notes, "\"%s\": %s",
				      cases[i].line,
				      rules->nr_notes ? rules->note->text : "");
		rules_free(rules);
	}
}

static void parse__keeps_text(struct kunit *test)
{
	struct rules *rules = parse(test,
		"# one\n\n  use tcp  client * *:80  # why\nuse both server * *:*#z\nuse sdp client * h:1\r\n");

	KUNIT_ASSERT_EQ(test, rules->nr_rules, 3);
	KUNIT_EXPECT_STREQ(test, rules->rule[0].text, "use tcp  client * *:80");
	KUNIT_EXPECT_STREQ(test, rules->rule[1].text, "use both server * *:*");
	KUNIT_EXPECT_STREQ(test, rules->rule[2].text, "use sdp client * h:1");
	KUNIT_EXPECT_EQ(test, rules->rule[0].line, 3);
	KUNIT_EXPECT_EQ(test, rules->rule[1].line, 4);
	KUNIT_EXPECT_EQ(test, rules->rule[2].line, 5);
	KUNIT_EXPECT_EQ(test, rules->rule[2].column, 18);
	rules_free(rules);
}

/* Whether these are the notes of the file, one a line. */
static void expect_notes(struct kunit *test, const char *text,
			 const char *expected)
{
	struct rules *rules = parse(test, text);
	char notes[2048] = "";
	size_t i, at = 0;

	for (i = 0; i < rules->nr_notes; i++)
		at += snprintf(notes + at, sizeof(notes) - at, "%s%u:%u: %s%s",
			       i ? "\n" : "", rules->note[i].line,
			       rules->note[i].column,
			       rules->note[i].error ? "" : "warning: ",
			       rules->note[i].text);
	KUNIT_EXPECT_TRUE_MSG(test, !strcmp(notes, expected),
			      "\"%s\" says\n%s\nand not\n%s", text, notes,
			      expected);
	rules_free(rules);
}

static void parse__refuses(struct kunit *test)
{
	static const struct {
		const char *line, *says;
	} cases[] = {
		{ "usee both client * *:*",
		  "1:1: \"usee\": a line begins with \"use\", \"log\" or \"#\"" },
		{ "  except tcp server * *:22",
		  "1:3: \"except\": a line begins with \"use\", \"log\" or \"#\"" },
		{ "\x1b[31m both",
		  "1:1: \"?[31m\": a line begins with \"use\", \"log\" or \"#\"" },
		{ "0123456789012345678901234567890123456789x",
		  "1:1: \"0123456789012345678901234567890123456789...\": a line begins with \"use\", \"log\" or \"#\"" },
		{ "match destination *:* program ttcp",
		  "1:1: \"match\" is of libsdp before 2006: write \"use both client PROGRAM ADDRESS:PORT\" for \"match destination\", \"use both server\" for \"match listen\", and at the end what is to be left to TCP, as \"use tcp client * *:*\"" },
		{ "use", "1:4: expected \"both\", \"sdp\" or \"tcp\" after \"use\"" },
		{ "use # both", "1:4: expected \"both\", \"sdp\" or \"tcp\" after \"use\"" },
		{ "use udp client * *:*",
		  "1:5: \"udp\": expected \"both\", \"sdp\" or \"tcp\"" },
		{ "use client * *:*",
		  "1:5: \"client\": expected \"both\", \"sdp\" or \"tcp\"" },
		{ "use both", "1:9: expected \"client\" or \"server\"" },
		{ "use both   ", "1:9: expected \"client\" or \"server\"" },
		{ "use both clients * *:*",
		  "1:10: \"clients\": expected \"client\" or \"server\"" },
		{ "use both both * *:*",
		  "1:10: \"both\": expected \"client\" or \"server\"" },
		{ "use both client",
		  "1:16: expected a program's name or \"*\", and ADDRESS:PORT" },
		{ "use both client *",
		  "1:18: expected ADDRESS:PORT after the program's name" },
		{ "use both client * # *:*",
		  "1:18: expected ADDRESS:PORT after the program's name" },
		{ "use both client /usr/bin/psql *:5432",
		  "1:17: a program is named without its path: write \"psql\"" },
		{ "use both client bin/psql",
		  "1:17: a program is named without its path: write \"psql\"" },
		/* a program left out, and blanks */
		{ "use tcp client 10.0.0.0/8 : 22",
		  "1:16: \"10.0.0.0/8\": a program's name, or \"*\", is missing before the address" },
		{ "use tcp client 10.0.0.0 /8:22",
		  "1:16: \"10.0.0.0\": a program's name, or \"*\", is missing before the address" },
		{ "use tcp client 10.0.0.0/ 8:22",
		  "1:16: \"10.0.0.0/\": a program's name, or \"*\", is missing before the address" },
		{ "use tcp client 10.0.0.1: 22",
		  "1:16: \"10.0.0.1:\": a program's name, or \"*\", is missing before the address" },
		{ "use tcp client *:22 - 23",
		  "1:16: \"*:22\": a program's name, or \"*\", is missing before the address" },
		{ "use tcp client [fd00::1] :",
		  "1:16: \"[fd00::1]\": a program's name, or \"*\", is missing before the address" },
		/* what fnmatch() knows and we do not */
		{ "use tcp client [[:alpha:]]* *:22",
		  "1:17: \"[:alpha:]]*\": a set has no classes here: write signs and ranges, as in [a-z]" },
		{ "use tcp client a[!]x[=a=]] *:22",
		  "1:21: \"[=a=]]\": a set has no classes here: write signs and ranges, as in [a-z]" },
		/* addresses */
		{ "use both client * :80",
		  "1:19: expected an address, a host name or \"*\"" },
		{ "use both client * /8:80",
		  "1:19: expected an address, a host name or \"*\"" },
		{ "use both client * *.example.com:80",
		  "1:19: \"*.example.com:80\": \"*\" is all addresses, and stands alone" },
		{ "use both client * */8:80",
		  "1:19: \"*/8:80\": \"*\" is all addresses, and stands alone" },
		{ "use both client * 10.0.0.*:80",
		  "1:19: \"10.0.0.*:80\": an address has no wildcards: write the network, as in 10.1.2.0/24" },
		{ "use both client * db*:80",
		  "1:19: \"db*:80\": an address has no wildcards: write the network, as in 10.1.2.0/24" },
		{ "use both client * 10.0.0:80", "1:19: \"10.0.0\": not an IPv4 address" },
		{ "use both client * 10.0.0.256:80",
		  "1:19: \"10.0.0.256\": not an IPv4 address" },
		{ "use both client * 10.0.0.0.1:80",
		  "1:19: \"10.0.0.0.1\": not an IPv4 address" },
		{ "use both client * 10:80", "1:19: \"10\": not an IPv4 address" },
		{ "use both client * [fd00::1:80", "1:19: \"[\" without \"]\"" },
		{ "use both client * []:80", "1:20: \"\": not an IPv6 address" },
		{ "use both client * [10.0.0.1]:80",
		  "1:20: \"10.0.0.1\": not an IPv6 address" },
		{ "use both client * [fe80::1%eth0]:80",
		  "1:20: \"fe80::1%eth0\": write the address without its scope" },
		{ "use both client * fd00::",
		  "1:19: \"fd00::\": not an IPv6 address and port: write [ADDRESS]:PORT" },
		{ "use both client * fd00::g:80",
		  "1:19: \"fd00::g:80\": not an IPv6 address and port: write [ADDRESS]:PORT" },
		{ "use both client * 1:2:3:4:5:6:7:8",
		  "1:19: \"1:2:3:4:5:6:7:8\": not an IPv6 address and port: write [ADDRESS]:PORT" },
		{ "use both client * a..b:80",
		  "1:19: \"a..b\": neither an address nor a host name" },
		{ "use both client * -a:80",
		  "1:19: \"-a\": neither an address nor a host name" },
		{ "use both client * a,b:80",
		  "1:19: \"a,b\": neither an address nor a host name" },
		/* prefixes */
		{ "use both client * 10.0.0.0/33:80",
		  "1:28: prefix length 33: at most 32 is possible here" },
		{ "use both client * 10.0.0.0/99999999999999999999:80",
		  "1:28: prefix length 99999999999999999999: at most 32 is possible here" },
		{ "use both client * [fd00::]/129:80",
		  "1:28: prefix length 129: at most 128 is possible here" },
		{ "use both client * 10.0.0.0/:80",
		  "1:28: expected a prefix length, 0 to 32, after \"/\"" },
		{ "use both client * [fd00::]/:80",
		  "1:28: expected a prefix length, 0 to 128, after \"/\"" },
		{ "use both client * 10.0.0.0/255.0.0.0:80",
		  "1:28: a netmask: write the prefix length, 0 to 32" },
		{ "use both client * host/24:80",
		  "1:23: a host name has no prefix: write the network's address" },
		/* ports */
		{ "use both client * 10.0.0.1",
		  "1:27: expected \":\" and a port or \"*\" after the address" },
		{ "use both client * *",
		  "1:20: expected \":\" and a port or \"*\" after the address" },
		{ "use both client * 10.0.0.1 80",
		  "1:28: expected \":\" and a port or \"*\" after the address" },
		{ "use both client * [fd00::1]80",
		  "1:28: expected \":\" and a port or \"*\" after the address" },
		{ "use both client * 10.0.0.1:",
		  "1:28: expected a port, 0 to 65535, or \"*\"" },
		{ "use both client * *:http",
		  "1:21: \"http\": expected a port, 0 to 65535, or \"*\"" },
		{ "use both client * *:-80",
		  "1:21: \"-80\": expected a port, 0 to 65535, or \"*\"" },
		{ "use both client * *:80-",
		  "1:24: expected a port, 0 to 65535, or \"*\"" },
		{ "use both client * *:80-*",
		  "1:24: \"*\": expected a port, 0 to 65535, or \"*\"" },
		{ "use both client * *:65536", "1:21: port 65536: the largest is 65535" },
		{ "use both client * *:1-65536", "1:23: port 65536: the largest is 65535" },
		{ "use both client * *:90-80",
		  "1:21: ports 90-80: the smaller one stands first" },
		{ "use both client * *:80,90", "1:23: \",90\": expected the end of the rule" },
		{ "use both client * *:80 *:90", "1:24: \"*:90\": expected the end of the rule" },
		{ "use both client * *:*x", "1:22: \"x\": expected the end of the rule" },
		/* log */
		{ "log level 7", "1:5: \"level\": expected \"destination\" or \"min-level\"" },
		{ "log min-level",
		  "1:14: expected a level, 1 (all) to 9 (errors), after \"min-level\"" },
		{ "log min-level -1",
		  "1:15: expected a level, 1 (all) to 9 (errors), after \"min-level\"" },
		{ "log min-level#9",
		  "1:14: expected a level, 1 (all) to 9 (errors), after \"min-level\"" },
		{ "log min-level 7x",
		  "1:15: expected a level, 1 (all) to 9 (errors), after \"min-level\"" },
		{ "log destination",
		  "1:16: expected \"stderr\", \"syslog\" or \"file NAME\" after \"destination\"" },
		{ "log destination stdout",
		  "1:17: expected \"stderr\", \"syslog\" or \"file NAME\" after \"destination\"" },
		{ "log destination file", "1:21: expected a file's name after \"file\"" },
		{ "log destination file /var/log/",
		  "1:22: \"/var/log/\": not a file's name" },
		/* warnings */
		{ "use both client * 10.1.2.3/8:80",
		  "1:19: warning: there is more in the address than its prefix covers: read as 10.0.0.0/8" },
		{ "use both client * [fd00::1]/64:80",
		  "1:19: warning: there is more in the address than its prefix covers: read as fd00::/64" },
		{ "use both client * fd00::1:80",
		  "1:19: warning: read as [fd00::1]:80: write it so, if it is meant so" },
		{ "use both client * fe80::1:2:3",
		  "1:19: warning: read as [fe80::1:2]:3: write it so, if it is meant so" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		expect_notes(test, cases[i].line, cases[i].says);
}

static void parse__host_name_lengths(struct kunit *test)
{
	char line[400], name[300];
	struct rules *rules;
	size_t len, label;

	for (len = 62; len <= 64; len++) {
		snprintf(line, sizeof(line), "use tcp client * %0*dx.y:1", (int)len - 1, 0);
		rules = parse(test, line);
		KUNIT_EXPECT_EQ(test, rules->nr_rules, len <= 63);
		rules_free(rules);
	}
	for (len = 252; len <= 254; len++) {
		for (label = 0; label < len; label++)
			name[label] = label % 50 == 49 ? '.' : 'n';
		name[len] = '\0';
		snprintf(line, sizeof(line), "use tcp client * %s:1", name);
		rules = parse(test, line);
		KUNIT_EXPECT_EQ(test, rules->nr_rules, len <= 253);
		rules_free(rules);
	}
}

/* Each line is told for itself, and the right ones stay. */
static void parse__leaves_wrong_lines_out(struct kunit *test)
{
	static const char text[] =
		"use tcp client * *:22\n"
		"use tcp client * *:x\n"
		"# use tcp\n"
		"nonsense\n"
		"use both client * *:*";
	struct rules *rules = parse(test, text);

	KUNIT_ASSERT_EQ(test, rules->nr_rules, 2);
	KUNIT_EXPECT_EQ(test, rules->rule[0].line, 1);
	KUNIT_EXPECT_EQ(test, rules->rule[1].line, 5);
	KUNIT_EXPECT_EQ(test, rules->nr_errors, 2);
	rules_free(rules);
	expect_notes(test, text,
		     "2:20: \"x\": expected a port, 0 to 65535, or \"*\"\n"
		     "4:1: \"nonsense\": a line begins with \"use\", \"log\" or \"#\"");
}

static void parse__zero_byte(struct kunit *test)
{
	static const char text[] = "use both client a\0b *:*\n#\0\nuse tcp client * *:1";
	struct rules *rules = rules_parse(text, sizeof(text) - 1);

	KUNIT_EXPECT_EQ(test, rules->nr_rules, 1);
	KUNIT_ASSERT_EQ(test, rules->nr_errors, 1);
	KUNIT_EXPECT_EQ(test, rules->note->column, 18);
	KUNIT_EXPECT_STREQ(test, rules->note->text, "a zero byte: this is no text");
	rules_free(rules);
}

static void parse__nothing(struct kunit *test)
{
	struct rules *rules = rules_parse(NULL, 0);

	KUNIT_ASSERT_NOT_NULL(test, rules);
	KUNIT_EXPECT_EQ(test, rules->nr_rules + rules->nr_notes, 0);
	KUNIT_EXPECT_EQ(test, rules->log.dest, RULES_LOG_STDERR);
	KUNIT_EXPECT_EQ(test, rules->log.min_level, RULES_LEVEL_ERROR);
	rules_free(rules);
}

static void parse__log(struct kunit *test)
{
	static const struct {
		const char *lines;
		enum rules_dest dest;
		unsigned int min_level;
		const char *name;
		bool wrong;
	} cases[] = {
		{ "log", RULES_LOG_STDERR, 9, "" },
		{ "log min-level 1", RULES_LOG_STDERR, 1, "" },
		{ "log destination syslog", RULES_LOG_SYSLOG, 9, "" },
		{ "log destination file sdp.log min-level 7", RULES_LOG_FILE, 7, "sdp.log" },
		{ "log min-level 7 destination file /a/b", RULES_LOG_FILE, 7, "/a/b" },
		{ "LOG Min-Level 7 Destination STDERR # x", RULES_LOG_STDERR, 7, "" },
		/* a comment ends a word, but a file's name */
		{ "log min-level 7#x", RULES_LOG_STDERR, 7, "" },
		{ "log destination syslog# min-level 7", RULES_LOG_SYSLOG, 9, "" },
		{ "log# min-level 7", RULES_LOG_STDERR, 9, "" },
		{ "log destination file a#b", RULES_LOG_FILE, 9, "a#b" },
		/* any level is one */
		{ "log min-level 0", RULES_LOG_STDERR, 1, "" },
		{ "log min-level 10", RULES_LOG_STDERR, 9, "" },
		{ "log min-level 99999999999999999999", RULES_LOG_STDERR, 9, "" },
		/* the last word counts, and only of lines that are right */
		{ "log min-level 7\nlog destination syslog", RULES_LOG_SYSLOG, 7, "" },
		{ "log min-level 7 min-level 8", RULES_LOG_STDERR, 8, "" },
		{ "log min-level 7\nlog min-level 3 destination", RULES_LOG_STDERR, 7, "", true },
	};
	char line[RULES_LOG_NAME_MAX + 40];
	struct rules *rules;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rules = parse(test, cases[i].lines);
		KUNIT_EXPECT_TRUE_MSG(test, rules->log.dest == cases[i].dest &&
				      !rules->nr_errors == !cases[i].wrong &&
				      rules->log.min_level == cases[i].min_level &&
				      !strcmp(rules->log.name, cases[i].name),
				      "%s", cases[i].lines);
		rules_free(rules);
	}
	for (i = RULES_LOG_NAME_MAX; i < RULES_LOG_NAME_MAX + 2; i++) {
		snprintf(line, sizeof(line), "log destination file %0*d", (int)i, 1);
		rules = parse(test, line);
		KUNIT_EXPECT_EQ(test, rules->nr_errors, i > RULES_LOG_NAME_MAX);
		KUNIT_EXPECT_EQ(test, strlen(rules->log.name),
				i > RULES_LOG_NAME_MAX ? 0 : i);
		rules_free(rules);
	}
}

static void parse__many_rules(struct kunit *test)
{
	const int count = 1000;
	char *text = kunit_kmalloc(test, 40 * count, GFP_KERNEL), *at = text;
	struct rules *rules;
	int i;

	for (i = 0; i < count; i++)
		at += sprintf(at, "use tcp client p%d *:%d\n", i, i);
	rules = rules_parse(text, at - text);
	KUNIT_ASSERT_EQ(test, rules->nr_rules, count);
	for (i = 0; i < count; i++)
		KUNIT_EXPECT_EQ(test, rules->rule[i].low, i);
	rules_free(rules);
}

/* What is left over is for the leak checker. */
static void parse__no_memory(struct kunit *test)
{
	static const char text[] =
		"log destination file x\nuse both client * 10.1.1.1/8:1\nwrong\n"
		"use both server * host:1\nuse tcp client * fd00::1:2\nuse tcp client * *:y\n";
	struct rules *rules = NULL;
	int n;

	for (n = 0; !rules && n < 100; n++) {
		allocations = n;
		rules = rules_parse(text, sizeof(text) - 1);
	}
	allocations = -1;
	KUNIT_ASSERT_NOT_NULL(test, rules);
	KUNIT_EXPECT_EQ(test, rules->nr_rules, 3);
	KUNIT_EXPECT_EQ(test, rules->nr_notes, 4);
	KUNIT_EXPECT_TRUE(test, n > 10);
	rules_free(rules);
}

static void set_end(struct kunit *test, struct rules_end *end, const char *addr,
		    unsigned int port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };

	if (inet_pton(AF_INET, addr, &in.sin_addr) == 1) {
		KUNIT_ASSERT_TRUE(test, rules_end(end, (struct sockaddr *)&in));
	} else {
		KUNIT_ASSERT_EQ(test, inet_pton(AF_INET6, addr, &in6.sin6_addr), 1);
		KUNIT_ASSERT_TRUE(test, rules_end(end, (struct sockaddr *)&in6));
	}
}

static void end__families(struct kunit *test)
{
	struct sockaddr sa = { .sa_family = AF_UNIX };
	struct rules_end end, mapped;

	KUNIT_EXPECT_FALSE(test, rules_end(&end, &sa));
	set_end(test, &end, "10.1.2.3", 80);
	KUNIT_EXPECT_FALSE(test, end.addr.v6);
	KUNIT_EXPECT_EQ(test, end.port, 80);
	set_end(test, &mapped, "::ffff:10.1.2.3", 80);
	KUNIT_EXPECT_TRUE(test, !memcmp(&end.addr, &mapped.addr, sizeof(end.addr)));
	set_end(test, &end, "fd00::1", 65535);
	KUNIT_EXPECT_TRUE(test, end.addr.v6);
	KUNIT_EXPECT_EQ(test, end.port, 65535);
}

static void is_loopback__table(struct kunit *test)
{
	static const struct {
		const char *addr;
		bool client, server;
	} cases[] = {
		{ "127.0.0.1", true, true },
		{ "127.255.255.255", true, true },
		{ "126.255.255.255", false, false },
		{ "128.0.0.0", false, false },
		{ "::1", true, true },
		{ "::2", false, false },
		{ "::ffff:127.0.0.1", true, true },
		{ "::ffff:10.0.0.1", false, false },
		/* all of the host, and for a client the host itself */
		{ "0.0.0.0", true, false },
		{ "::", true, false },
		{ "::ffff:0.0.0.0", true, false },
	};
	struct rules_end end;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		set_end(test, &end, cases[i].addr, 1);
		KUNIT_EXPECT_TRUE_MSG(test,
			rules_is_loopback(RULES_CLIENT, &end.addr) == cases[i].client &&
			rules_is_loopback(RULES_SERVER, &end.addr) == cases[i].server,
			"%s", cases[i].addr);
	}
}

/*
 * The C library's fnmatch() knows; it is not for the middle of connect().  A set
 * that ends within a range is not asked for: there it matches nothing.
 */
static void glob__as_fnmatch(struct kunit *test)
{
	static const char *const patterns[] = {
		"*", "", "a", "abc", "a*", "*a", "*a*", "a*c", "a*b*c", "**", "a**c",
		"?", "??", "a?c", "?*", "*?", "[abc]", "[a-c]", "[!a-c]", "[^a]",
		"[", "a[", "[]", "[]]", "[]a]", "[!]a]", "[a-]", "[-a]",
		"a[b-d]e", "*[0-9]", "db2*", "t?cp", "net[ps]erf*", "\\*", "a\\?",
		"\\[a]", "\\\\", "*\\**", "*a*a*a*a*a*a*b",
	};
	static const char *const names[] = {
		"", "a", "b", "abc", "abbc", "ac", "aac", "cba", "abcabc", "db2",
		"db2sysc", "ttcp", "tcp", "netperf", "netserver", "netxerf", "*",
		"a?", "[a]", "[a-", "[", "a[", "[]", "]", "-", "abe", "ade", "aee",
		"x9", "9", "\\", "a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
		"aaaaaaaaaaaaaaaaaaaaab", "\xff", "a\xff" "c",
	};
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(patterns); i++)
		for (j = 0; j < ARRAY_SIZE(names); j++)
			KUNIT_EXPECT_TRUE_MSG(test,
				rules_glob(patterns[i], names[j]) ==
				!fnmatch(patterns[i], names[j], 0),
				"\"%s\" and \"%s\"", patterns[i], names[j]);
}

static void decide__table(struct kunit *test)
{
	static const char text[] =
		"use tcp client ssh *:*\n"				/* 1 */
		"use tcp client * 10.9.1.0/24:*\n"			/* 2 */
		"use sdp client * 10.9.0.0/16:5000-5010\n"		/* 3 */
		"use both client * 10.9.0.0/16:*\n"			/* 4 */
		"use sdp client * [fd09::]/64:*\n"			/* 5 */
		"use tcp server * *:22\n"				/* 6 */
		"use sdp server db* 10.9.0.1:*\n"			/* 7 */
		"use both server * [fd09::1]:80\n"			/* 8 */
		"use tcp server web 0.0.0.0/0:8080\n"			/* 9 */
		"use tcp client * nowhere:*\n"				/* 10 */
		"use tcp client ftp *:*\n"				/* 11 */
		"use sdp client * *:5000\n";				/* 12 */
	static const struct {
		enum rules_role role;
		const char *program, *addr;
		unsigned int port;
		unsigned int line;	/* 0: none */
		enum rules_use use;
	} cases[] = {
		/* the first one wins */
		{ RULES_CLIENT, "ssh", "10.9.0.2", 5000, 1, RULES_TCP },
		{ RULES_CLIENT, "ssh2", "10.9.0.2", 5000, 3, RULES_SDP },
		{ RULES_CLIENT, "Ssh", "10.9.0.2", 5000, 3, RULES_SDP },
		{ RULES_CLIENT, "", "10.9.0.2", 5000, 3, RULES_SDP },
		{ RULES_CLIENT, "x", "10.9.1.2", 5000, 2, RULES_TCP },
		/* ports */
		{ RULES_CLIENT, "x", "10.9.0.2", 4999, 4, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.9.0.2", 5010, 3, RULES_SDP },
		{ RULES_CLIENT, "x", "10.9.0.2", 5011, 4, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.9.0.2", 0, 4, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.9.0.2", 65535, 4, RULES_BOTH },
		/* networks */
		{ RULES_CLIENT, "x", "10.9.0.255", 1, 4, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.9.1.0", 1, 2, RULES_TCP },
		{ RULES_CLIENT, "x", "10.9.1.255", 1, 2, RULES_TCP },
		{ RULES_CLIENT, "x", "10.9.2.0", 1, 4, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.9.255.255", 1, 4, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.10.0.0", 1, 0, RULES_BOTH },
		{ RULES_CLIENT, "x", "10.8.255.255", 1, 0, RULES_BOTH },
		/* IPv4 in the shape of IPv6 */
		{ RULES_CLIENT, "x", "::ffff:10.9.1.5", 1, 2, RULES_TCP },
		{ RULES_CLIENT, "x", "::ffff:10.9.0.5", 5000, 3, RULES_SDP },
		/* IPv6 */
		{ RULES_CLIENT, "x", "fd09::2", 1, 5, RULES_SDP },
		{ RULES_CLIENT, "x", "fd09:0:0:0:ffff:ffff:ffff:ffff", 1, 5, RULES_SDP },
		{ RULES_CLIENT, "x", "fd09:0:0:1::", 1, 0, RULES_BOTH },
		{ RULES_CLIENT, "x", "fd09:0:0:1::", 5000, 12, RULES_SDP },
		{ RULES_CLIENT, "x", "a09::", 1, 0, RULES_BOTH },
		/* servers */
		{ RULES_SERVER, "x", "0.0.0.0", 22, 6, RULES_TCP },
		{ RULES_SERVER, "ssh", "::", 22, 6, RULES_TCP },
		{ RULES_SERVER, "db2", "10.9.0.1", 50000, 7, RULES_SDP },
		{ RULES_SERVER, "db2", "::ffff:10.9.0.1", 50000, 7, RULES_SDP },
		{ RULES_SERVER, "db2", "0.0.0.0", 50000, 0, RULES_BOTH },
		{ RULES_SERVER, "x", "10.9.0.1", 50000, 0, RULES_BOTH },
		{ RULES_SERVER, "x", "fd09::1", 80, 8, RULES_BOTH },
		{ RULES_SERVER, "x", "fd09::1", 0, 0, RULES_BOTH },
		/* :: serves IPv4 too */
		{ RULES_SERVER, "web", "0.0.0.0", 8080, 9, RULES_TCP },
		{ RULES_SERVER, "web", "::", 8080, 9, RULES_TCP },
		{ RULES_SERVER, "web", "fd09::1", 8080, 0, RULES_BOTH },
		/* a name that was not found matches nothing */
		{ RULES_CLIENT, "ftp", "1.1.1.1", 1, 11, RULES_TCP },
	};
	struct rules *rules = parse(test, text);
	const struct rule *rule;
	struct rules_end end;
	enum rules_use use;
	size_t i;

	KUNIT_ASSERT_EQ(test, rules->nr_notes, 0);
	KUNIT_ASSERT_EQ(test, rules->nr_rules, 12);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		set_end(test, &end, cases[i].addr, cases[i].port);
		use = rules_decide(rules, false, cases[i].role,
				   cases[i].program, &end, &rule);
		KUNIT_EXPECT_TRUE_MSG(test, use == cases[i].use &&
				      (rule ? rule->line : 0) == cases[i].line,
				      "case %zu: %s by line %u", i,
				      rules_use_word(use), rule ? rule->line : 0);
		/* "require" leaves no choice, and exceptions in peace */
		use = rules_decide(rules, true, cases[i].role,
				   cases[i].program, &end, &rule);
		KUNIT_EXPECT_TRUE_MSG(test, use == (cases[i].use == RULES_TCP ?
						    RULES_TCP : RULES_SDP) &&
				      (rule ? rule->line : 0) == cases[i].line,
				      "case %zu with require", i);
	}
	rules_free(rules);
}

static void decide__without_rules(struct kunit *test)
{
	struct rules *rules = parse(test, "# none\nlog min-level 9\n");
	const struct rule *rule;
	struct rules_end end;

	set_end(test, &end, "10.9.0.1", 80);
	KUNIT_EXPECT_EQ(test, rules_decide(NULL, false, RULES_CLIENT, "x", &end, &rule),
			RULES_BOTH);
	KUNIT_EXPECT_EQ(test, rules_decide(NULL, true, RULES_SERVER, "x", &end, &rule),
			RULES_SDP);
	KUNIT_EXPECT_EQ(test, rules_decide(rules, false, RULES_SERVER, "x", &end, &rule),
			RULES_BOTH);
	KUNIT_EXPECT_TRUE(test, !rule);
	rules_free(rules);
}

/* Each prefix of each family: the last bit that counts, and the first that does not. */
static void miss__prefix_edges(struct kunit *test)
{
	static const char *const addrs[] = { "170.85.170.85", "aa55:aa55::5aa5:55aa" };
	unsigned int bits, prefix;
	char line[100];
	int v6;

	for (v6 = 0; v6 < 2; v6++) {
		bits = v6 ? 128 : 32;
		for (prefix = 0; prefix <= bits; prefix++) {
			struct rules_end end;
			struct rules *rules;

			snprintf(line, sizeof(line), "use sdp client * %s%s%s/%u:*",
				 v6 ? "[" : "", addrs[v6], v6 ? "]" : "", prefix);
			rules = parse(test, line);
			KUNIT_ASSERT_EQ(test, rules->nr_rules, 1);
			set_end(test, &end, addrs[v6], 1);
			KUNIT_EXPECT_EQ_MSG(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
					    RULES_MATCH, "%s", line);
			if (prefix < bits) {
				end.addr.bytes[prefix / 8] ^= 0x80 >> (prefix % 8);
				KUNIT_EXPECT_EQ_MSG(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
						    RULES_MATCH, "%s", line);
			}
			if (prefix) {
				set_end(test, &end, addrs[v6], 1);
				end.addr.bytes[(prefix - 1) / 8] ^= 0x80 >> ((prefix - 1) % 8);
				KUNIT_EXPECT_EQ_MSG(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
						    RULES_MISS_ADDR, "%s", line);
			}
			rules_free(rules);
		}
	}
}

static void miss__host_names(struct kunit *test)
{
	struct rules *rules = parse(test, "use sdp client * two.example:80");
	struct rules_end end;

	set_end(test, &end, "10.9.0.7", 80);
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
			RULES_MISS_HOST);
	KUNIT_ASSERT_TRUE(test, rules_add_addr(rules->rule, &end.addr));
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
			RULES_MATCH);
	set_end(test, &end, "10.9.0.6", 80);
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
			RULES_MISS_ADDR);
	set_end(test, &end, "fd09::7", 80);
	KUNIT_ASSERT_TRUE(test, rules_add_addr(rules->rule, &end.addr));
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
			RULES_MATCH);
	/* whole addresses of either family */
	end.addr.bytes[15] ^= 1;
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
			RULES_MISS_ADDR);
	end.port = 81;
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_CLIENT, "x", &end),
			RULES_MISS_PORT);
	KUNIT_EXPECT_EQ(test, rules_miss(rules->rule, RULES_SERVER, "x", &end),
			RULES_MISS_ROLE);
	rules_free(rules);
}

static void put_addr__as_inet_ntop(struct kunit *test)
{
	uint32_t chance = 1, n;
	int i, j;

	for (n = 0; n < 20000; n++) {
		char ours[RULES_ADDR_MAX], theirs[INET6_ADDRSTRLEN];
		struct rules_addr addr = { .v6 = n % 4 };

		for (i = 0; i < (addr.v6 ? 16 : 4); i += 2) {
			chance = chance * 1664525 + 1013904223;
			for (j = 0; j < 2; j++)
				addr.bytes[i + j] = chance >> 31 ?
					chance >> (8 + 8 * j) : 0;
		}
		/* The C library shows ::1.2.3.4 in the old way. */
		if (addr.v6 && !memcmp(addr.bytes, (uint8_t [12]){ }, 12))
			continue;
		inet_ntop(addr.v6 ? AF_INET6 : AF_INET, addr.bytes, theirs,
			  sizeof(theirs));
		KUNIT_EXPECT_EQ(test, rules_put_addr(ours, &addr), strlen(ours));
		KUNIT_EXPECT_TRUE_MSG(test, !strcmp(ours, theirs), "%s and %s",
				      ours, theirs);
	}
	rules_put_addr((char [RULES_ADDR_MAX]){ },
		       &(struct rules_addr){ .v6 = true });
}

static struct rules *read_corpus(struct kunit *test, const char *name)
{
	static char text[1 << 16];
	char path[512];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), CORPUS "/%s.conf", name);
	f = fopen(path, "r");
	KUNIT_ASSERT_NOT_NULL(test, f);
	n = fread(text, 1, sizeof(text), f);
	fclose(f);
	return rules_parse(text, n);
}

/* Files as they lie in /etc: each is read without a word, but the last. */
static void corpus__is_read(struct kunit *test)
{
	static const struct {
		const char *name;
		unsigned int rules, errors;
	} files[] = {
		{ "default", 2, 0 }, { "database", 7, 0 }, { "benchmarks", 7, 0 },
		{ "ipv6", 6, 0 }, { "crlf", 2, 0 }, { "names", 3, 0 },
		{ "all-comments", 0, 0 }, { "mistakes", 0, 11 },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(files); i++) {
		struct rules *rules = read_corpus(test, files[i].name);

		KUNIT_EXPECT_EQ_MSG(test, rules->nr_rules, files[i].rules, "%s",
				    files[i].name);
		KUNIT_EXPECT_EQ_MSG(test, rules->nr_errors, files[i].errors, "%s: %s",
				    files[i].name,
				    rules->nr_notes ? rules->note->text : "");
		rules_free(rules);
	}
}

/* What they decide, as who wrote them would say. */
static void corpus__decides(struct kunit *test)
{
	static const struct {
		const char *name;
		enum rules_role role;
		const char *program, *addr;
		unsigned int port;
		unsigned int line;	/* 0: none */
		enum rules_use use;
	} cases[] = {
		{ "default", RULES_CLIENT, "x", "10.0.0.1", 80, 8, RULES_BOTH },
		{ "default", RULES_SERVER, "x", "::", 80, 7, RULES_BOTH },

		{ "database", RULES_SERVER, "db2sysc", "192.168.100.1", 50000, 5, RULES_SDP },
		{ "database", RULES_SERVER, "db2sysc", "192.168.100.1", 50010, 5, RULES_SDP },
		{ "database", RULES_SERVER, "db2sysc", "192.168.100.1", 50011, 10, RULES_TCP },
		{ "database", RULES_SERVER, "db2sysc", "0.0.0.0", 50000, 10, RULES_TCP },
		{ "database", RULES_CLIENT, "db2bp", "192.168.100.2", 50000, 6, RULES_SDP },
		{ "database", RULES_CLIENT, "db2bp", "192.168.101.2", 50000, 11, RULES_TCP },
		{ "database", RULES_SERVER, "tnslsnr", "0.0.0.0", 1521, 7, RULES_BOTH },
		{ "database", RULES_SERVER, "tnslsnr", "::", 1521, 7, RULES_BOTH },
		{ "database", RULES_SERVER, "tnslsnr", "0.0.0.0", 1522, 10, RULES_TCP },
		{ "database", RULES_CLIENT, "sqlplus", "192.168.100.11", 1521, 8, RULES_BOTH },
		{ "database", RULES_CLIENT, "sqlplus", "192.168.100.12", 1521, 11, RULES_TCP },
		{ "database", RULES_CLIENT, "ora_pmon", "192.168.100.12", 1526, 9, RULES_BOTH },
		{ "database", RULES_CLIENT, "oracle", "192.168.100.12", 1526, 11, RULES_TCP },
		{ "database", RULES_CLIENT, "ssh", "192.168.100.1", 22, 11, RULES_TCP },

		{ "benchmarks", RULES_CLIENT, "ttcp", "11.4.8.1", 5001, 4, RULES_SDP },
		{ "benchmarks", RULES_CLIENT, "ttcp", "11.4.8.1", 22, 8, RULES_BOTH },
		{ "benchmarks", RULES_CLIENT, "ttcp", "11.4.9.1", 22, 10, RULES_TCP },
		{ "benchmarks", RULES_SERVER, "ttcp", "0.0.0.0", 5001, 5, RULES_SDP },
		{ "benchmarks", RULES_SERVER, "tcp", "0.0.0.0", 5001, 0, RULES_BOTH },
		{ "benchmarks", RULES_SERVER, "tscpd", "0.0.0.0", 5001, 5, RULES_SDP },
		{ "benchmarks", RULES_SERVER, "ttcp", "10.0.0.1", 22, 6, RULES_TCP },
		{ "benchmarks", RULES_SERVER, "ttcp6", "::", 25, 6, RULES_TCP },
		{ "benchmarks", RULES_SERVER, "ttcp", "10.0.0.1", 26, 0, RULES_BOTH },
		{ "benchmarks", RULES_SERVER, "httpd", "10.0.0.1", 8080, 7, RULES_BOTH },
		{ "benchmarks", RULES_CLIENT, "netperf", "10.1.2.3", 12865, 9, RULES_SDP },
		{ "benchmarks", RULES_CLIENT, "netsurf", "10.1.2.3", 12900, 10, RULES_TCP },
		{ "benchmarks", RULES_CLIENT, "netserf2", "10.1.2.3", 12900, 9, RULES_SDP },
		{ "benchmarks", RULES_CLIENT, "netperf", "10.1.2.3", 12901, 10, RULES_TCP },
		{ "benchmarks", RULES_CLIENT, "netqerf", "10.1.2.3", 12865, 10, RULES_TCP },
		{ "benchmarks", RULES_CLIENT, "netperf", "11.1.2.3", 12865, 10, RULES_TCP },

		{ "ipv6", RULES_CLIENT, "x", "1234:5678::9", 80, 2, RULES_SDP },
		{ "ipv6", RULES_CLIENT, "x", "1234:5678:0:1::9", 80, 0, RULES_BOTH },
		{ "ipv6", RULES_CLIENT, "x", "fd00:1::17", 2049, 3, RULES_BOTH },
		{ "ipv6", RULES_CLIENT, "x", "fd00:1::17", 2050, 0, RULES_BOTH },
		{ "ipv6", RULES_CLIENT, "x", "fd00:2:ffff::1", 443, 4, RULES_BOTH },
		{ "ipv6", RULES_CLIENT, "x", "10.2.255.255", 1, 5, RULES_TCP },
		{ "ipv6", RULES_CLIENT, "x", "::ffff:10.2.0.1", 1, 5, RULES_TCP },
		{ "ipv6", RULES_CLIENT, "x", "10.3.0.1", 1, 0, RULES_BOTH },
		{ "ipv6", RULES_SERVER, "x", "::", 8080, 6, RULES_BOTH },
		{ "ipv6", RULES_SERVER, "x", "::", 8081, 7, RULES_BOTH },
		{ "ipv6", RULES_SERVER, "x", "fd00::1", 8081, 0, RULES_BOTH },

		{ "crlf", RULES_SERVER, "smbd", "0.0.0.0", 445, 4, RULES_BOTH },
		{ "crlf", RULES_SERVER, "smbd", "0.0.0.0", 139, 0, RULES_BOTH },
		{ "crlf", RULES_CLIENT, "smbd", "10.0.0.1", 445, 5, RULES_TCP },

		{ "names", RULES_SERVER, "x", "0.0.0.0", 9000, 3, RULES_BOTH },
		{ "names", RULES_CLIENT, "java", "10.0.0.7", 7000, 2, RULES_SDP },
		{ "names", RULES_CLIENT, "java", "10.0.0.7", 7200, 0, RULES_BOTH },
		{ "names", RULES_CLIENT, "Java", "10.0.0.7", 7000, 0, RULES_BOTH },
		{ "names", RULES_CLIENT, "java", "10.0.0.8", 7000, 0, RULES_BOTH },

		{ "all-comments", RULES_CLIENT, "x", "10.0.0.1", 80, 0, RULES_BOTH },
		{ "all-comments", RULES_SERVER, "x", "10.0.0.1", 80, 0, RULES_BOTH },

		/* No line that is wrong decides, whatever is right in it. */
		{ "mistakes", RULES_CLIENT, "ttcp", "10.0.0.1", 22, 0, RULES_BOTH },
		{ "mistakes", RULES_CLIENT, "psql", "10.0.0.1", 5432, 0, RULES_BOTH },
		{ "mistakes", RULES_CLIENT, "x", "fd00::1", 80, 0, RULES_BOTH },
		{ "mistakes", RULES_SERVER, "x", "0.0.0.0", 80, 0, RULES_BOTH },
	};
	const struct rule *rule;
	struct rules_end end;
	struct rules *rules;
	enum rules_use use;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rules = read_corpus(test, cases[i].name);
		/* The names of names.conf are found: one has this address. */
		set_end(test, &end, "10.0.0.7", 0);
		if (!strcmp(cases[i].name, "names"))
			KUNIT_ASSERT_TRUE(test, rules_add_addr(&rules->rule[0], &end.addr));
		set_end(test, &end, cases[i].addr, cases[i].port);
		use = rules_decide(rules, false, cases[i].role, cases[i].program,
				   &end, &rule);
		KUNIT_EXPECT_TRUE_MSG(test, use == cases[i].use &&
				      (rule ? rule->line : 0) == cases[i].line,
				      "%s: %s %s:%u: %s by line %u", cases[i].name,
				      cases[i].program, cases[i].addr, cases[i].port,
				      rules_use_word(use), rule ? rule->line : 0);
		rules_free(rules);
	}
}

static struct kunit_case rules_cases[] = {
	KUNIT_CASE(parse__accepts),
	KUNIT_CASE(parse__keeps_text),
	KUNIT_CASE(parse__refuses),
	KUNIT_CASE(parse__host_name_lengths),
	KUNIT_CASE(parse__leaves_wrong_lines_out),
	KUNIT_CASE(parse__zero_byte),
	KUNIT_CASE(parse__nothing),
	KUNIT_CASE(parse__log),
	KUNIT_CASE(parse__many_rules),
	KUNIT_CASE(parse__no_memory),
	KUNIT_CASE(end__families),
	KUNIT_CASE(is_loopback__table),
	KUNIT_CASE(glob__as_fnmatch),
	KUNIT_CASE(decide__table),
	KUNIT_CASE(decide__without_rules),
	KUNIT_CASE(miss__prefix_edges),
	KUNIT_CASE(miss__host_names),
	KUNIT_CASE(put_addr__as_inet_ntop),
	KUNIT_CASE(corpus__is_read),
	KUNIT_CASE(corpus__decides),
	{ }
};

static struct kunit_suite rules_suite = {
	.name = "rules",
	.test_cases = rules_cases,
};

kunit_test_suite(rules_suite);
