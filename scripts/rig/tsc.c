// SPDX-License-Identifier: GPL-2.0
/*
 * How fast this machine's time stamp counter runs: kHz on standard output.  An
 * emulated guest counts with it, and one that measures it by itself while the
 * machine is busy can be wrong by a factor: its seconds, and with them all of
 * its time-outs, are then that much too short.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#define TRIES		50
#define INTERVAL	100000		/* µs */

struct point {
	uint64_t ticks, ns;
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

/* Both clocks at one time: of some tries the one that was interrupted least. */
static struct point look(void)
{
	uint64_t least = UINT64_MAX;
	struct point p = { 0 };

	for (int i = 0; i < TRIES; i++) {
		uint64_t before = __rdtsc(), ns = now(), after = __rdtsc();

		if (after - before < least) {
			least = after - before;
			p.ticks = before + least / 2;
			p.ns = ns;
		}
	}
	return p;
}

int main(void)
{
	struct point a = look(), b;

	usleep(INTERVAL);
	b = look();
	printf("%.0f\n", (b.ticks - a.ticks) * 1e6 / (b.ns - a.ns));
	return 0;
}
