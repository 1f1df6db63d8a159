/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Chance that can be had again: whoever knows rng's start knows all that
 * follows.  Each thread has its own.
 */
#ifndef _UNIT_CHANCE_H
#define _UNIT_CHANCE_H

#include <stddef.h>
#include <stdint.h>

extern __thread uint64_t rng;

uint32_t rnd(void);

/* 0 to n - 1 */
static inline uint32_t below(uint32_t n)
{
	return rnd() % n;
}

/* Change, cut or lengthen a message somewhere; its new size. */
size_t bend(uint8_t *bytes, size_t size, size_t room);

#endif
