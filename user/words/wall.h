/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wall-clock time of a recording, in the time zone in which it was made. */
#ifndef CLEW_WORDS_WALL_H
#define CLEW_WORDS_WALL_H

#include "trace/trace.h"

#include "format/position.h"

/*
 * The relation of a recording's clocks: by its first reading of them, and by the offset of its time
 * zone from UTC, `offset` (s, as text; NULL or "": UTC).
 */
void clew_wall_base_of(const struct clew_capture_info *info, const char *offset,
		       struct clew_time_base *ret_base);
/* The same for a trace. One that came from no capture has no wall-clock time. */
void clew_wall_base(const struct clew_trace *trace, struct clew_time_base *ret_base);

/* "2026-11-25 10:32:07.500", local time; "" without wall-clock time. Returns buffer. */
const char *clew_format_wall(uint64_t ns, const struct clew_time_base *base, char *buffer,
			     size_t size);

#endif
