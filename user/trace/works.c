/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A part of a capture takes over which of its waits separate operations. Rests and exchanges depend
 * on all that a thread does: a part that does not have it all takes them from a trace that does.
 */
#include "trace/internal.h"
#include "trace/windows.h"
#include <errno.h>

static int take(struct dense *numbers, const struct dense *from, uint32_t index, uint32_t other)
{
	uint64_t number = dense_get(from, other);

	return number || dense_get(numbers, index) ? dense_set(numbers, index, number) : 0;
}

static int take_of_task(struct clew_trace *trace, const struct trace_task *task,
			const struct clew_trace *works, const struct trace_task *whole)
{
	uint32_t at = 0;
	int r = 0;

	for (uint32_t i = 0; i < task->pieces.count && r == 0; i++) {
		uint32_t piece = task->pieces.data[i], index = piece & PIECE_INDEX, other;

		if (piece >> PIECE_SHIFT != PIECE_SLEEP)
			continue;
		while (at < whole->pieces.count &&
		       trace_piece_start(works, whole->pieces.data[at]) <
			       trace_piece_start(trace, piece))
			at++;
		if (at == whole->pieces.count)
			break;
		other = whole->pieces.data[at] & PIECE_INDEX;
		if (trace_sleep_at(works, other)->start != trace_sleep_at(trace, index)->start)
			continue;
		r = take(&trace->in_exchange, &works->in_exchange, index, other);
		if (r == 0)
			r = take(&trace->resting, &works->resting, index, other);
	}
	return r;
}

int clew_trace_take_works(struct clew_trace *trace, const struct clew_trace *works)
{
	int r = 0;

	for (size_t i = 0; i < trace->tasks.count && r == 0; i++) {
		const struct trace_task *task = trace_task_at(trace, i),
					*whole = trace_task_find(works, task->task.serial);

		if (whole)
			r = take_of_task(trace, task, works, whole);
	}
	return r;
}
