/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Policies and priorities of tasks over time. Most tasks have no record, and few have several. */
#include "trace/internal.h"
#include <errno.h>

int trace_priority_add(struct clew_trace *trace, const struct clew_priority *record)
{
	struct trace_task *task = trace_task_get(trace, record->task);
	struct trace_priority *priority;

	if (!task)
		return trace_nobody(record->task) ? 0 : -ENOMEM;
	priority = arena_take(&trace->arena, sizeof(*priority));
	if (!priority)
		return -ENOMEM;
	*priority = (struct trace_priority){
		.older = task->priority,
		/* A keyframe says what holds already. */
		.since = record->header.time <= trace->stated.until ? 0 : record->header.time,
		.scheduled = {.policy = record->policy, .value = (int8_t)record->value},
	};
	task->priority = priority;
	return 0;
}

struct clew_scheduled clew_trace_scheduled_at(const struct clew_trace *trace, uint32_t serial,
					      uint64_t at)
{
	const struct trace_task *task = trace_task_find(trace, serial);
	const struct trace_priority *priority = task ? task->priority : NULL;

	while (priority && priority->since > at)
		priority = priority->older;
	return priority ? priority->scheduled : (struct clew_scheduled){0};
}
