/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers at random, the same in each run: set random_state, which must not be 0, and draw. */
#ifndef CLEW_TESTS_DRAW_H
#define CLEW_TESTS_DRAW_H

#include <stdint.h>

static uint64_t random_state;

/* All 64 bits: xorshift64 (Marsaglia). */
static inline uint64_t draw_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* From 0 to count - 1. */
static inline unsigned draw(unsigned count)
{
	return (unsigned)(draw_word() >> 33) % count;
}

#endif
