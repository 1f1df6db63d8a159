// SPDX-License-Identifier: GPL-2.0
#include "chance.h"

__thread uint64_t rng;

uint32_t rnd(void)
{
	/* splitmix64: any seed is a good one. */
	uint64_t z = rng += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return (z ^ z >> 31) >> 32;
}

size_t bend(uint8_t *bytes, size_t size, size_t room)
{
	/* Ends of ranges, and the sizes that messages have. */
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff, 15, 16, 20, 36, 92 };

	switch (below(5)) {
	case 0:
		if (size)
			bytes[below(size)] ^= 1 << below(8);
		break;
	case 1:
		if (size)
			bytes[below(size)] = edges[below(sizeof(edges))];
		break;
	case 2:
		if (size)
			bytes[below(size)] = rnd();
		break;
	case 3:
		return below(size + 1);
	case 4:
		while (size < room && below(8))
			bytes[size++] = rnd();
		break;
	}
	return size;
}
