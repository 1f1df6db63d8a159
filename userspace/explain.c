// SPDX-License-Identifier: GPL-2.0
/*
 * sdp_run --explain and --check-config: what the rules say, without running
 * anything.  The same functions decide here as in the library (rules.h), on the
 * same file and the same environment.  The module is asked about addresses of this
 * host alone, for what net.sdp.local is.
 *
 * Output for scripts: the first word of the line "answer: WORD ..." is "tcp",
 * "sdp" or "both".
 */
#include <errno.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/sdp.h>

#include "explain.h"
#include "rules.h"

#define EXIT_OWN	125

/* What one question needs. */
struct question {
	enum rules_role role;
	const char *program;		/* NULL: whichever */
	bool require;
	const char *path;		/* of the rules */
	const struct rules *rules;	/* or NULL */
	const char *none;		/* why there are none */
};

static const char *const role_word[] = {
	[RULES_CLIENT] = "client", [RULES_SERVER] = "server",
};

static int out_of_memory(void)
{
	fputs("sdp_run: out of memory\n", stderr);
	return EXIT_OWN;
}

static void print_notes(const char *path, const struct rules *rules, FILE *to)
{
	size_t i;

	for (i = 0; i < rules->nr_notes; i++) {
		const struct rules_note *note = &rules->note[i];

		fprintf(to, "%s:%u:%u: %s%s\n", path, note->line, note->column,
			note->error ? "" : "warning: ", note->text);
	}
}

static int cannot_read(const char *path, const char *variable, int err,
		       const char *so)
{
	fprintf(stderr, "sdp_run: %s%s%s: %s%s\n", variable ? variable : "",
		variable ? "=" : "", path,
		err == -EINVAL ? "not a regular file" : strerror(-err), so);
	return EXIT_OWN;
}

int check_config(const char *path)
{
	const char *variable = NULL;
	struct rules *rules;
	int err, ret;

	if (!path)
		path = rules_path(&variable);
	err = rules_read(path, &rules);
	if (err)
		return cannot_read(path, variable, err, "");
	if (!rules_resolve(rules, NULL)) {
		rules_free(rules);
		return out_of_memory();
	}
	print_notes(path, rules, stderr);
	printf("%s: %zu rule%s, %zu error%s\n", path, rules->nr_rules,
	       rules->nr_rules == 1 ? "" : "s", rules->nr_errors,
	       rules->nr_errors == 1 ? "" : "s");
	ret = rules->nr_errors ? 1 : 0;
	rules_free(rules);
	return ret;
}

static const char *meaning(enum rules_role role, enum rules_use use)
{
	static const char *const means[2][3] = {
		[RULES_CLIENT] = {
			[RULES_TCP] = "plain TCP",
			[RULES_SDP] = "SDP or an error",
			[RULES_BOTH] = "SDP is tried, then TCP",
		},
		[RULES_SERVER] = {
			[RULES_TCP] = "plain TCP",
			[RULES_SDP] = "serves SDP and refuses TCP clients",
			[RULES_BOTH] = "serves SDP and TCP clients",
		},
	};

	return means[role][use];
}

static void print_answer(const struct question *q, enum rules_use use)
{
	printf("answer: %s: %s\n", rules_use_word(use), meaning(q->role, use));
}

static void print_rule(const struct question *q, const struct rule *rule,
		       const char *what)
{
	printf("  %s:%u: %s -- %s\n", q->path, rule->line, rule->text, what);
}

static bool for_all_programs(const struct rule *rule)
{
	return !strcmp(rule->program, "*");
}

/* Without a program, as if it were one that the rule names. */
static enum rules_miss miss_of(const struct question *q, const struct rule *rule,
			       const struct rules_end *end)
{
	struct rule any = *rule;

	if (q->program)
		return rules_miss(rule, q->role, q->program, end);
	any.program = "*";
	return rules_miss(&any, q->role, "", end);
}

/* Whether an interface of this host has the address. */
static bool is_own(const struct rules_addr *addr)
{
	struct ifaddrs *list, *ifa;
	struct rules_end end;
	bool own = false;

	if (getifaddrs(&list))
		return false;
	for (ifa = list; ifa && !own; ifa = ifa->ifa_next)
		own = ifa->ifa_addr && rules_end(&end, ifa->ifa_addr) &&
		      end.addr.v6 == addr->v6 &&
		      !memcmp(end.addr.bytes, addr->bytes, sizeof(addr->bytes));
	freeifaddrs(list);
	return own;
}

/* As running a program does. */
static void load_module(void)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, IPPROTO_SDP);

	if (fd >= 0)
		close(fd);
}

static void print_not_joined(enum rules_use use)
{
	fputs("  inside this host, and ", stdout);
	if (access("/proc/sys/net/sdp/local", F_OK))
		puts("the kernel module af_sdp is not loaded, or too old to join sockets");
	else
		printf("net.sdp.local is 0: \"sysctl -w net.sdp.local=1\" makes it \"%s\"\n",
		       rules_use_word(use));
}

/*
 * Says what comes of @use inside this host, where the kernel may join the two sockets.
 * Returns false if TCP does, and no rule changes that.
 */
static bool print_answer_of(const struct question *q, const struct rules_end *end,
			    enum rules_use use)
{
	bool loopback = rules_is_loopback(q->role, &end->addr);
	bool joins = false;

	if (use != RULES_TCP && (loopback || is_own(&end->addr))) {
		load_module();
		joins = rules_host_joins();
		if (loopback && !joins) {
			print_answer(q, RULES_TCP);
			print_not_joined(use);
			return false;
		}
	}
	print_answer(q, use);
	if (joins)
		printf("  local: joined by a pipe inside this host if the %s is ours\n",
		       q->role == RULES_CLIENT ? "server" : "client");
	return true;
}

static void answer(const struct question *q, const struct rules_end *end)
{
	char text[RULES_ADDR_MAX];
	const struct rule *rule;
	enum rules_miss miss;
	enum rules_use use;
	size_t i;

	rules_put_addr(text, &end->addr);
	printf("%s %s, %s%s%s:%u\n", role_word[q->role],
	       q->program ? q->program : "(any program)",
	       end->addr.v6 ? "[" : "", text, end->addr.v6 ? "]" : "",
	       end->port);
	if (!q->rules || !q->rules->nr_rules) {
		use = rules_decide(NULL, q->require, q->role, "", end, &rule);
		if (!print_answer_of(q, end, use))
			return;
		printf("  %s: %s: what sdp_run starts tries SDP\n", q->path,
		       q->rules ? "no rules in it" : q->none);
		return;
	}
	use = rules_decide(q->rules, q->require, q->role,
			   q->program ? q->program : "", end, &rule);
	/* Without a program only a rule for all of them decides. */
	for (i = 0; !q->program && i < q->rules->nr_rules; i++) {
		const struct rule *r = &q->rules->rule[i];

		if (!for_all_programs(r) || rules_miss(r, q->role, "", end))
			continue;
		rule = r;
		use = r->use;
		if (q->require && use == RULES_BOTH)
			use = RULES_SDP;
		break;
	}
	if (!print_answer_of(q, end, use))
		return;
	if (q->require && (!rule || rule->use == RULES_BOTH))
		puts("  SDP_PRELOAD=require makes \"sdp\" of \"both\"");
	for (i = 0; i < q->rules->nr_rules; i++) {
		const struct rule *r = &q->rules->rule[i];

		if (r == rule) {
			print_rule(q, r, "this one decides");
			return;
		}
		miss = miss_of(q, r, end);
		if (!q->program && !for_all_programs(r) && !miss)
			print_rule(q, r, "decides for the programs it names");
		else
			print_rule(q, r, rules_miss_why(miss));
	}
	puts("  no rule matches: \"both\"");
}

/* ADDRESS:PORT is read as in a rule. */
static struct rules *read_end(enum rules_role role, const char *text)
{
	struct rules *rules;
	char *line;
	int len;

	len = asprintf(&line, "use both %s * %s", role_word[role], text);
	if (len < 0)
		return NULL;
	rules = rules_parse(line, len);
	free(line);
	if (rules && rules->nr_rules && !rules_resolve(rules, NULL)) {
		rules_free(rules);
		return NULL;
	}
	return rules;
}

/* Whether it names one end, or several by one host name. */
static bool is_one_end(const struct rules *rules, const char *text)
{
	const struct rule *rule = rules->nr_rules == 1 ? rules->rule : NULL;
	const char *what = NULL;

	if (rules->nr_errors)
		what = rules->note[rules->nr_notes - 1].text;
	else if (!rule || strpbrk(text, "\n#"))
		what = "not ADDRESS:PORT";
	else if (rule->low != rule->high)
		what = "one port, not several";
	else if (rule->any_addr && rule->role == RULES_CLIENT)
		what = "one address, not all";
	else if (!rule->any_addr && !rule->host &&
		 rule->prefix < (rule->addr->v6 ? 128 : 32))
		what = "one address, not a network";
	if (what)
		fprintf(stderr, "sdp_run: --explain %s: %s\n", text, what);
	return !what;
}

static int explain_ends(struct question *q, const char *text)
{
	struct rules *asked = read_end(q->role, text);
	struct rules_end end = { };
	int ret = 0;
	size_t i;

	if (!asked)
		return out_of_memory();
	if (!is_one_end(asked, text)) {
		ret = EXIT_OWN;
	} else {
		end.port = asked->rule->low;
		if (asked->rule->any_addr)
			answer(q, &end);
		for (i = 0; i < asked->rule->nr_addrs; i++) {
			end.addr = asked->rule->addr[i];
			answer(q, &end);
		}
	}
	rules_free(asked);
	return ret;
}

int explain(char *const *args)
{
	const char *env = getenv("SDP_PRELOAD"), *variable, *end;
	struct question q = { .role = RULES_CLIENT };
	struct rules *rules;
	int err, ret;

	if (*args && (!strcmp(*args, "client") || !strcmp(*args, "server"))) {
		if (!strcmp(*args, "server"))
			q.role = RULES_SERVER;
		args++;
	}
	end = *args ? *args++ : NULL;
	q.program = end && *args ? *args++ : NULL;
	if (!end || *args) {
		fputs("sdp_run: --explain takes [client|server] ADDRESS:PORT [PROGRAM]\n",
		      stderr);
		return EXIT_OWN;
	}
	if (q.program && strrchr(q.program, '/'))
		q.program = strrchr(q.program, '/') + 1;
	if (env && !strcmp(env, "off")) {
		print_answer(&q, RULES_TCP);
		puts("  SDP_PRELOAD=off: nothing is touched, no rule is asked");
		return 0;
	}
	q.require = env && !strcmp(env, "require");

	q.path = rules_path(&variable);
	err = rules_read(q.path, &rules);
	if (err == -ENOMEM)
		return out_of_memory();
	q.none = "no such file";
	/* The library says so too, and does what it does without rules. */
	if (err && (variable || (err != -ENOENT && err != -ENOTDIR))) {
		cannot_read(q.path, variable, err, ": going on without rules");
		q.none = "not read";
	}
	if (rules && !rules_resolve(rules, q.program)) {
		rules_free(rules);
		return out_of_memory();
	}
	if (rules)
		print_notes(q.path, rules, stderr);
	q.rules = rules;
	ret = explain_ends(&q, end);
	rules_free(rules);
	return ret;
}
