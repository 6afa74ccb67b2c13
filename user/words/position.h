/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations and moments as people write them. Arithmetic is on integers: what
 * is written comes out exactly, fractions of a nanosecond cut off.
 */
#ifndef CLEW_WORDS_POSITION_H
#define CLEW_WORDS_POSITION_H

#include <stdint.h>

/*
 * "1.25s", "300ms", "5us", "10ns", "2m", "1h": a number, perhaps with decimals,
 * and a unit. Without a unit it counts `bare_unit` ns; 0: a unit is needed.
 * -EINVAL: not of that form; -ERANGE: more than an int64_t holds.
 */
int clew_parse_duration(const char *text, uint64_t bare_unit, uint64_t *ret_ns);

/*
 * A moment: an integer is CLOCK_MONOTONIC ns, a duration with a unit counts from
 * `start`. Errors as above.
 */
int clew_parse_moment(const char *text, uint64_t start, uint64_t *ret_ns);

#endif
