// SPDX-License-Identifier: GPL-2.0
/*
 * SDP_FAULT_SITES: a file with the places where the module calls for memory, one a
 * line (sites.py makes it):
 *
 *	SECTION OFFSET KIND TIMES
 *
 * the offset of where such a call returns to in a section of the module's code, the
 * kind of fault that reaches what it asks for (failslab, fail_page_alloc), and how
 * many in a row it takes until the call has failed.  Then a sweep is not over the
 * n-th chance of a call but over these places: a fault falls where that very address is
 * on the stack, in whatever context, and nowhere else.  Who was struck once is left
 * out from then on, and told in a line "struck: N", the N-th of the file, from 1.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "fault.h"

enum { MOST = 256, TRIES = 5 };

static struct site {
	char section[32];
	unsigned long offset;
	char kind[24];
	char times[8];
	bool struck;
	int tries;
	/* Of the last fault. */
	bool hit;
	unsigned long at;	/* where the site was then */
} *sites;	/* shared by all cases, each of which is a process of its own */

static int nr;

int fault_sites_init(void)
{
	const char *path = getenv("SDP_FAULT_SITES");
	char line[128];
	FILE *f;

	if (!path)
		return 0;
	f = fopen(path, "re");
	sites = mmap(NULL, MOST * sizeof(*sites), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!f || sites == MAP_FAILED)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		struct site *s = &sites[nr];

		if (nr == MOST || sscanf(line, "%31s %lx %23s %7s", s->section, &s->offset,
					 s->kind, s->times) != 4)
			break;
		nr++;
	}
	if (!feof(f) || !nr)
		nr = -1;
	fclose(f);
	return nr < 0 ? -1 : 0;
}

bool fault_at_sites(void)
{
	return nr > 0;
}

/* Where it is now; 0 while there is no module. */
static unsigned long address(const struct site *s)
{
	unsigned long start = 0;
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/af_sdp/sections/%s", s->section);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%li", (long *)&start) != 1)
		start = 0;
	fclose(f);
	return start ? start + s->offset : 0;
}

int fault_site_next(int n)
{
	struct site *s;

	/* A module that was loaded meanwhile may have come to lie elsewhere. */
	if (n >= 0 && sites[n].hit) {
		s = &sites[n];
		s->hit = false;
		if (address(s) == s->at) {
			s->struck = true;
			ktap_note("struck: %d", n + 1);
		} else if (s->tries++ < TRIES) {
			n--;
		}
	}
	while (++n < nr) {
		s = &sites[n];
		if (s->struck)
			continue;
		s->at = address(s);
		if (!s->at)
			FAIL("where is the module's section %s?", s->section);
		return n;
	}
	return -1;
}

void fault_site_arm(int n)
{
	fault_aim_at(sites[n].at);
	fault_strike(sites[n].kind, "1", "100", sites[n].times);
}

bool fault_site_disarm(int n)
{
	int err = errno;

	sites[n].hit = fault_struck_yet(sites[n].kind);
	fault_quiet();
	errno = err;
	return sites[n].hit;
}
