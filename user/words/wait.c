/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The ends of a wait. */
#include "words/wait.h"

uint64_t clew_wait_end(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return clew_trace_until(trace, sleep->end);
}

const char *clew_end_words(const struct clew_trace *trace)
{
	if (!clew_trace_is_cut(trace))
		return "at the capture's end";
	return clew_trace_is_cut_early(trace) ? "soon after the interval"
					      : "10 s after the interval";
}

uint64_t clew_wait_runqueue(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t until = clew_trace_until(trace, sleep->switch_in);

	return sleep->end == CLEW_TIME_OPEN || until < sleep->end ? 0 : until - sleep->end;
}

const char *clew_wait_open_name(unsigned open)
{
	switch (open) {
	case CLEW_OPEN_START:
		return "start";
	case CLEW_OPEN_END:
		return "end";
	case CLEW_OPEN_BOTH:
		return "both";
	default:
		return NULL;
	}
}
