/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Durations and moments as people write them. Arithmetic is on integers: what
 * is written comes out exactly, fractions of a nanosecond cut off.
 */
#ifndef CLEW_FORMAT_POSITION_H
#define CLEW_FORMAT_POSITION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * "1.25s", "300ms", "5us", "10ns", "2m", "1h": a number, perhaps with decimals,
 * and a unit. Without a unit it counts `bare_unit` ns; 0: a unit is needed.
 * -EINVAL: not of that form; -ERANGE: more than an int64_t holds.
 */
int clew_parse_duration(const char *text, uint64_t bare_unit, uint64_t *ret_ns);

/* A recording's time, and how wall-clock time relates to it. */
struct clew_time_base {
	uint64_t start; /* ns, CLOCK_MONOTONIC */
	uint64_t end;
	int64_t wall; /* ns that local time is ahead of CLOCK_MONOTONIC */
	int64_t zone; /* ns that it is ahead of UTC */
	bool has_wall;
};

/*
 * A moment, as ns of CLOCK_MONOTONIC. An integer is that; a duration with a unit counts from
 * the recording's start, or from its end if a minus stands before it ("-5s"). Local time of
 * the recording is "10:32:07.5", "10:32", or with a date before it, "2026-11-25 10:32"; without
 * one it is on the first day on which it is not before the recording's start by more than a
 * second. With a Z behind it, it is UTC. -EINVAL: of no such form; -ERANGE: before the epoch, or
 * more than an int64_t holds; -ENODATA: local time, which the recording does not know.
 */
int clew_parse_moment(const char *text, const struct clew_time_base *base, uint64_t *ret_ns);

#endif
