/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The time of a task as a sequence of intervals without a hole between them.
 */
#include "convert/to_model.h"

static struct interval interval_of(const struct clew_trace *trace, uint32_t piece)
{
	uint32_t index = piece & PIECE_INDEX;
	const struct clew_sleep *sleep;
	const struct clew_ready *ready;
	const struct clew_run *run;

	switch (piece >> PIECE_SHIFT) {
	case PIECE_RUN:
		run = (const struct clew_run *)trace->runs.data + index;
		return (struct interval){
			.start = run->start, .end = run->end, .index = index, .kind = INTERVAL_RUN};
	case PIECE_READY:
		ready = (const struct clew_ready *)trace->readies.data + index;
		return (struct interval){.start = ready->start,
					 .end = ready->end,
					 .index = index,
					 .kind = INTERVAL_READY};
	default:
		sleep = (const struct clew_sleep *)trace->sleeps.data + index;
		return (struct interval){.start = sleep->start,
					 .end = sleep->end == CLEW_TIME_OPEN ? CLEW_TIME_OPEN
									     : sleep->switch_in,
					 .index = index,
					 .kind = INTERVAL_SLEEP};
	}
}

struct intervals capture_intervals(const struct clew_trace *trace, const struct trace_task *task)
{
	return (struct intervals){.trace = trace, .task = task, .cursor = task->begin};
}

bool capture_interval_next(struct intervals *intervals, struct interval *ret_stretch)
{
	const struct trace_task *task = intervals->task;
	struct interval interval;

	if (!intervals->pending && intervals->next < task->pieces.count) {
		interval = interval_of(intervals->trace, task->pieces.data[intervals->next++]);
		if (interval.end > task->end)
			interval.end = task->end;
		if (interval.start < intervals->cursor)
			interval.start = intervals->cursor;
		if (interval.start > interval.end)
			interval.start =
				interval.end < intervals->cursor ? intervals->cursor : interval.end;
		if (interval.end < interval.start)
			interval.end = interval.start;
		intervals->then = interval;
		intervals->pending = true;
	}
	if (intervals->pending && intervals->then.start <= intervals->cursor) {
		*ret_stretch = intervals->then;
		intervals->pending = false;
		intervals->cursor = ret_stretch->end;
		return true;
	}
	if (!intervals->pending && intervals->cursor >= task->end)
		return false;
	*ret_stretch =
		(struct interval){.start = intervals->cursor,
				  .end = intervals->pending ? intervals->then.start : task->end,
				  .kind = INTERVAL_UNKNOWN};
	intervals->cursor = ret_stretch->end;
	return true;
}
