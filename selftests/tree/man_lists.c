// SPDX-License-Identifier: GPL-2.0
/*
 * Prints the lists of the man pages, as roff, from the lists that the kernel is made of:
 *
 *	man_lists sysctls	kernel/ns/sdp_tunables.h, for af_sdp(7)
 *	man_lists counters	kernel/ns/sdp_counters.h, for sdpstat(8)
 *	man_lists reasons	the reasons of falling back, uapi/linux/sdp.h, for sdpstat(8)
 *
 * selftests/tree/man.sh compares them with what stands in the pages.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <linux/sdp.h>

#include "../../kernel/ns/sdp_counters.h"
#include "../../kernel/ns/sdp_tunables.h"

enum { WIDTH = 80 };	/* columns of a line of the page's source */

/* Without a meaning to roff: a - that is no hyphen, a backslash.  How many columns. */
static int print_word(const char *word, int len)
{
	int i, columns = len;

	for (i = 0; i < len; i++) {
		bool escaped = word[i] == '\\' || (word[i] == '-' && !i);

		if (escaped)
			putchar('\\');
		putchar(word[i] == '\\' ? 'e' : word[i]);
		columns += escaped;
	}
	return columns;
}

/* In lines, and each sentence on a line of its own, as roff would have it. */
static void print_text(const char *text)
{
	int column = 0, len;

	for (; *text; text += len) {
		text += strspn(text, " ");
		len = strcspn(text, " ");
		if (column && column + 1 + len > WIDTH) {
			putchar('\n');
			column = 0;
		} else if (column) {
			putchar(' ');
			column++;
		} else if (*text == '.' || *text == '\'') {
			fputs("\\&", stdout);
		}
		column += print_word(text, len);
		if (len && text[len - 1] == '.') {
			putchar('\n');
			column = 0;
		}
	}
	if (column)
		putchar('\n');
}

static void print_item(const char *name, const char *detail, const char *text)
{
	if (detail)
		printf(".TP\n.BR %s \" (%s)\"\n", name, detail);
	else
		printf(".TP\n.B %s\n", name);
	print_text(text);
}

static void print_sysctl(const char *name, unsigned int def, unsigned int min,
			 unsigned int max, const char *help)
{
	char detail[64];

	if (max == min + 1)
		snprintf(detail, sizeof(detail), "default %u; %u or %u", def, min, max);
	else
		snprintf(detail, sizeof(detail), "default %u; %u to %u", def, min, max);
	print_item(name, detail, help);
}

static void print_sysctls(void)
{
#define PRINT(field, def, min, max, help) print_sysctl(#field, def, min, max, help);
	SDP_TUNABLES(PRINT)
#undef PRINT
}

static void print_counters(void)
{
#define PRINT(sym, name, help) print_item(name, NULL, help);
	SDP_COUNTERS(PRINT)
#undef PRINT
}

static void print_reasons(void)
{
#define PRINT(name, word, help) print_item(word, NULL, help);
	SDP_REASONS(PRINT)
#undef PRINT
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*print)(void);
	} lists[] = {
		{ "sysctls", print_sysctls },
		{ "counters", print_counters },
		{ "reasons", print_reasons },
	};
	size_t i;

	for (i = 0; argc == 2 && i < sizeof(lists) / sizeof(lists[0]); i++) {
		if (strcmp(argv[1], lists[i].name))
			continue;
		lists[i].print();
		return 0;
	}
	fprintf(stderr, "usage: man_lists sysctls | counters | reasons\n");
	return 2;
}
