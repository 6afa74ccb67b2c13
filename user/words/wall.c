/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Wall-clock time of a recording. */
#include "words/wall.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SECOND INT64_C(1000000000)

void clew_wall_base_of(const struct clew_capture_info *info, const char *offset,
		       struct clew_time_base *ret_base)
{
	const struct clew_clock *clock = info->clock_count ? &info->clocks[0] : NULL;

	*ret_base = (struct clew_time_base){.start = info->start, .end = info->end};
	if (!clock)
		return;
	ret_base->has_wall = true;
	ret_base->zone = (offset ? strtol(offset, NULL, 10) : 0) * SECOND;
	ret_base->wall = (int64_t)(clock->wall - clock->monotonic) + ret_base->zone;
}

void clew_wall_base(const struct clew_trace *trace, struct clew_time_base *ret_base)
{
	const struct clew_capture_info *info = clew_trace_info(trace);

	*ret_base = (struct clew_time_base){};
	if (info)
		clew_wall_base_of(info, clew_trace_meta(trace, "utc_offset"), ret_base);
	/* The trace knows better where a recording ends that was cut off. */
	ret_base->start = clew_trace_start(trace);
	ret_base->end = clew_trace_end(trace);
}

const char *clew_format_wall(uint64_t ns, const struct clew_time_base *base, char *buffer,
			     size_t size)
{
	int64_t local = (int64_t)ns + base->wall;
	time_t seconds = local / SECOND;
	struct tm broken_down;
	size_t length = 0;

	buffer[0] = '\0';
	if (!base->has_wall || !gmtime_r(&seconds, &broken_down))
		return buffer;
	length = strftime(buffer, size, "%Y-%m-%d %H:%M:%S", &broken_down);
	if (length)
		snprintf(buffer + length, size - length, ".%03u",
			 (unsigned)(local % SECOND / 1000000));
	return buffer;
}
