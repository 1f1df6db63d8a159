// SPDX-License-Identifier: GPL-2.0
/*
 * Prints docs/compatibility.md from the tables of lib/compat.c:
 *
 *	build/selftests/compat_table > docs/compatibility.md
 *
 * With "cases" it prints the names of the cases that the tables refer to, which
 * selftests/tree/compat.sh looks for.
 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "lib/compat.h"
#include "lib/sdptest.h"

static const char head[] =
"<!-- Printed by build/selftests/compat_table from selftests/lib/compat.c: change that. -->\n"
"# What differs from TCP\n"
"\n"
"A socket that SDP carries is a TCP socket of the kernel's, and answers as one: every option is read and\n"
"set, and every call made, in each state of a socket (new, bound, listening, resolving, asking, connected,\n"
"accepted, refused, shut by either side, closed by the peer with data unread and without, reset, dissolved,\n"
"fallen back), beside a socket of TCP's in the same state, by all three ways in, by IPv4 and IPv6\n"
"(`selftests/socket/states.c`). An answer that differs and is not below is a failed test; so is one that is\n"
"below and does not differ any more, and an option that TCP knows and this page does not.\n"
"\n"
"A socket that fell back is TCP's alone: nothing below is true of it.\n";

static const char *kind_of(enum compat_kind kind)
{
	switch (kind) {
	case COMPAT_SAME:
		return "as by TCP";
	case COMPAT_TCP:
		return "makes it TCP";
	case COMPAT_UNUSED:
		return "none, as by TCP";
	case COMPAT_NO_EFFECT:
		return "none";
	case COMPAT_REFUSED:
		return "an error";
	}
	return "?";
}

/* Names of cases, each in quotes; where none is named the answers alone are compared. */
static void print_cases(const char *shown)
{
	const char *end;

	for (; shown && *shown; shown = *end ? end + 1 : end) {
		end = strchrnul(shown, ' ');
		printf("`%.*s`%s", (int)(end - shown), shown, *end ? ", " : "");
	}
}

static void print_options(int level, const char *title)
{
	unsigned int i;

	printf("\n### %s\n| option | its effect | shown by | |\n|---|---|---|---|\n", title);
	for (i = 0; i < compat_nr_options; i++) {
		const struct compat_option *o = &compat_options[i];

		if (o->level != level)
			continue;
		printf("| `%s` | %s | ", o->name, kind_of(o->kind));
		print_cases(o->shown);
		printf(" | %s |\n", o->why ?: "");
	}
}

static void print_page(void)
{
	unsigned int i;

	fputs(head, stdout);
	printf("\n## Behaviour\n| what | why | shown by |\n|---|---|---|\n");
	for (i = 0; i < compat_nr_behaviours; i++) {
		const struct compat_behaviour *b = &compat_behaviours[i];

		printf("| %s | %s | ", b->what, b->why);
		print_cases(b->shown);
		printf(" |\n");
	}
	printf("\n## Calls that answer otherwise\n| call | what, and why |\n|---|---|\n");
	for (i = 0; i < compat_nr_calls; i++)
		printf("| `%s` | %s |\n", compat_calls[i].call, compat_calls[i].why);
	printf("\n## Options\n"
	       "All of them are kept, returned and inherited as by TCP (`accept_inherits`); where no case is\n"
	       "named, that and the answers in each state are all there is to it. \"None\": it is kept, and nothing\n"
	       "comes of it; \"none, as by TCP\": it is for other kinds of sockets.\n");
	print_options(SOL_SOCKET, "SOL_SOCKET");
	print_options(SOL_TCP, "SOL_TCP");
	print_options(SOL_IP, "SOL_IP");
	print_options(SOL_IPV6, "SOL_IPV6");
}

static void print_names(const char *shown)
{
	const char *end;

	for (; shown && *shown; shown = *end ? end + 1 : end) {
		end = strchrnul(shown, ' ');
		printf("%.*s\n", (int)(end - shown), shown);
	}
}

int main(int argc, char **argv)
{
	unsigned int i;

	if (argc == 1) {
		print_page();
		return 0;
	}
	if (argc != 2 || strcmp(argv[1], "cases")) {
		fprintf(stderr, "usage: compat_table [cases]\n");
		return 2;
	}
	for (i = 0; i < compat_nr_options; i++)
		print_names(compat_options[i].shown);
	for (i = 0; i < compat_nr_behaviours; i++)
		print_names(compat_behaviours[i].shown);
	return 0;
}
