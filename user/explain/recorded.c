/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command that a capture was made of.
 *
 * clew forks the command before it records, and it waits at a pipe until the recording has begun.
 * All that it creates gets a later serial, so that one pass over the tasks finds its children.
 */
#include "explain/recorded.h"

#include <errno.h>
#include <stdlib.h>

static bool is_root(const struct clew_trace *trace, const struct clew_trace_task *task)
{
	const struct clew_trace_task *parent =
		task->parent == CLEW_NO_TASK ? NULL : clew_trace_task(trace, task->parent);

	return task->serial != CLEW_NO_TASK && task->process == task->serial &&
	       task->birth <= clew_trace_start(trace) && !(task->flags & CLEW_TASK_SELF) &&
	       parent && parent->flags & CLEW_TASK_SELF;
}

uint64_t clew_recorded_release(const struct clew_trace *trace, uint32_t root)
{
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++)
		if (sleeps[i].task == root)
			return sleeps[i].open == CLEW_OPEN_START ? sleeps[i].end
								 : clew_trace_start(trace);
	return clew_trace_start(trace);
}

int clew_recorded_find(const struct clew_trace *trace, struct clew_recorded *ret_recorded)
{
	size_t count = clew_trace_task_count(trace);

	*ret_recorded = (struct clew_recorded){.root = CLEW_NO_TASK};
	if (!clew_trace_meta(trace, "command"))
		return 0;
	ret_recorded->tasks = malloc((count + 1) * sizeof(*ret_recorded->tasks));
	if (!ret_recorded->tasks)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		bool first = ret_recorded->root == CLEW_NO_TASK && is_root(trace, task);

		if (first) {
			ret_recorded->root = task->serial;
			ret_recorded->from = clew_recorded_release(trace, task->serial);
			ret_recorded->to = clew_trace_until(trace, task->death);
		}
		if (first || clew_recorded_has(ret_recorded, task->parent) ||
		    clew_recorded_has(ret_recorded, task->process))
			ret_recorded->tasks[ret_recorded->task_count++] = task->serial;
	}
	return 0;
}

void clew_recorded_done(struct clew_recorded *recorded)
{
	free(recorded->tasks);
	*recorded = (struct clew_recorded){.root = CLEW_NO_TASK};
}

bool clew_recorded_has(const struct clew_recorded *recorded, uint32_t serial)
{
	size_t from = 0, to = recorded->task_count;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (recorded->tasks[middle] == serial)
			return true;
		if (recorded->tasks[middle] < serial)
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}
