/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The child process for which a wait is. See awaited_child.h. */
#include "explain/awaited_child.h"

#define ANY_CHILD (-1) /* of wait4(2) */

/* True if a task is the first thread of a living child of a process. */
static bool is_child(const struct clew_trace *trace, const struct clew_trace_task *task,
		     uint32_t process)
{
	return task->serial != CLEW_NO_TASK && task->serial == task->process &&
	       task->death == CLEW_TIME_OPEN && clew_trace_process(trace, task->parent) == process;
}

uint32_t clew_awaited_child(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const int32_t argument = (int32_t)sleep->object.number;
	uint32_t process = clew_trace_process(trace, sleep->task), found = CLEW_NO_TASK;

	if (sleep->end != CLEW_TIME_OPEN || sleep->kind != CLEW_WAIT_CHILD ||
	    sleep->object.kind != CLEW_OBJECT_CHILD || (argument <= 0 && argument != ANY_CHILD))
		return CLEW_NO_TASK;
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (!is_child(trace, task, process))
			continue;
		/* The number is of the caller's pid namespace. */
		if (argument != ANY_CHILD && task->tid != (uint32_t)argument &&
		    task->inner_tid != (uint32_t)argument)
			continue;
		if (found != CLEW_NO_TASK)
			return CLEW_NO_TASK;
		found = task->serial;
	}
	return found;
}
