/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The threads that may end a wait for a word in memory. */
#include "explain/may_end.h"

/* The words of one condition variable lie side by side. */
static bool awaits_same(const struct clew_trace *trace, uint32_t task,
			const struct clew_sleep *sleep)
{
	struct clew_piece piece;

	return clew_trace_piece(trace, task, clew_trace_end(trace), true, &piece) &&
	       piece.kind == CLEW_PIECE_SLEEP && piece.sleep->end == CLEW_TIME_OPEN &&
	       piece.sleep->object.kind == CLEW_OBJECT_FUTEX &&
	       piece.sleep->object.number >> 3 == sleep->object.number >> 3;
}

struct clew_may_end clew_may_end_find(const struct clew_trace *trace,
				      const struct clew_sleep *sleep)
{
	const uint32_t process = clew_trace_process(trace, sleep->task);
	struct clew_may_end found = {};

	if (sleep->end != CLEW_TIME_OPEN || sleep->kind != CLEW_WAIT_FUTEX ||
	    sleep->object.kind != CLEW_OBJECT_FUTEX || sleep->object.shared || sleep->blind ||
	    sleep->holder_count || clew_trace_is_cut(trace))
		return found;
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->process != process || task->serial == sleep->task ||
		    task->death != CLEW_TIME_OPEN || awaits_same(trace, task->serial, sleep))
			continue;
		if (found.count < CLEW_MAY_END_MOST)
			found.tasks[found.count] = task->serial;
		found.count++;
	}
	return found;
}
