// SPDX-License-Identifier: GPL-2.0
/*
 * How libFuzzer changes an input: half of the time by its own means, which know
 * nothing of messages, half of the time by those of the fuzzer.
 */
#include "../unit/chance.h"
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
			       unsigned int seed);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room,
			       unsigned int seed)
{
	rng = seed;
	/* A fuzzer may write a message more before it looks at the room. */
	if (below(2) || room < FUZZ_ROOM)
		return LLVMFuzzerMutate(data, size, room);
	return fuzz_change(data, size, room);
}
