/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The child process for which a wait is. */
#include "explain/awaited_child.h"

#define ANY_CHILD (-1) /* of wait4(2) */

/* The first thread of a task's process, if that is a child of `process`, and has not ended. */
static const struct clew_trace_task *child_of(const struct clew_trace *trace,
					      const struct clew_trace_task *task, uint32_t process)
{
	const struct clew_trace_task *first = clew_trace_task(trace, task->process);

	return task->serial != CLEW_NO_TASK && task->death == CLEW_TIME_OPEN && first &&
			       first->parent != CLEW_NO_TASK &&
			       clew_trace_process(trace, first->parent) == process
		       ? first
		       : NULL;
}

uint32_t clew_awaited_child(const struct clew_trace *trace, const struct clew_sleep *sleep,
			    uint8_t *ret_evidence)
{
	const int32_t argument = (int32_t)sleep->object.number;
	const uint32_t process = clew_trace_process(trace, sleep->task);
	const struct clew_trace_task *found = NULL;

	/* The process may have adopted children that are not known to be its own yet. */
	*ret_evidence = argument == ANY_CHILD ? CLEW_EVIDENCE_CANDIDATE : CLEW_EVIDENCE_OBSERVED;
	if (sleep->end != CLEW_TIME_OPEN || sleep->kind != CLEW_WAIT_CHILD ||
	    sleep->object.kind != CLEW_OBJECT_CHILD || (argument <= 0 && argument != ANY_CHILD))
		return CLEW_NO_TASK;
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *child =
			child_of(trace, clew_trace_task_at(trace, i), process);

		/* The number is of the caller's pid namespace. */
		if (!child || (argument != ANY_CHILD && child->tid != (uint32_t)argument &&
			       child->inner_tid != (uint32_t)argument))
			continue;
		if (found && found != child)
			return CLEW_NO_TASK;
		found = child;
	}
	/* Where other threads of it live, they may be what it still does. */
	return found && found->death == CLEW_TIME_OPEN ? found->serial : CLEW_NO_TASK;
}
