/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Choosing threads. See selection.h.
 */
#include "cli/selection.h"

#include "cli/fail.h"
#include <fnmatch.h>

static bool is_chosen(const struct clew_selection *selection, const struct clew_trace_task *task)
{
	if (task->serial == CLEW_NO_TASK)
		return false;
	if (selection->tid.given && task->tid != selection->tid.value)
		return false;
	if (selection->pid.given && task->pid != selection->pid.value)
		return false;
	return selection->self || selection->tid.given || selection->pid.given ||
	       !(task->flags & CLEW_TASK_SELF);
}

static bool had_name(const struct clew_selection *selection, const struct clew_trace_task *task)
{
	const char *name;

	for (size_t i = 0; (name = clew_trace_comm_number(selection->trace, task->serial, i)); i++)
		if (fnmatch(selection->comm, name, 0) == 0)
			return true;
	return false;
}

bool clew_selection_wants(void *context, const struct clew_trace_task *task)
{
	const struct clew_selection *selection = context;

	if (!is_chosen(selection, task))
		return false;
	if (!selection->comm)
		return true;
	return selection->trace ? had_name(selection, task)
				: fnmatch(selection->comm, task->comm, 0) == 0;
}

bool clew_selection_wants_at(const struct clew_selection *selection, const struct clew_trace *trace,
			     const struct clew_trace_task *task, uint64_t at)
{
	return is_chosen(selection, task) &&
	       (!selection->comm ||
		fnmatch(selection->comm, clew_trace_comm_at(trace, task->serial, at), 0) == 0);
}

static bool any_wanted(const struct clew_selection *selection, const struct clew_trace *trace)
{
	for (size_t i = 0, count = clew_trace_task_count(trace); i < count; i++)
		if (clew_selection_wants((void *)selection, clew_trace_task_at(trace, i)))
			return true;
	return false;
}

int clew_selection_check(struct clew_selection *selection, const struct clew_trace *trace)
{
	const struct clew_selection by_tid = {.tid = selection->tid},
				    by_pid = {.pid = selection->pid};
	const struct clew_selection by_name = {.comm = selection->comm, .trace = trace};

	if (selection->tid.given && !any_wanted(&by_tid, trace))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"no thread %u in the capture: see `clew waits` for those there are",
			selection->tid.value);
	if (selection->pid.given && !any_wanted(&by_pid, trace))
		return clew_fail(
			CLEW_EXIT_INPUT,
			"no process %u in the capture: see `clew waits` for those there are",
			selection->pid.value);
	if (any_wanted(selection, trace))
		return 0;
	selection->trace = trace;
	if (any_wanted(selection, trace))
		return 0;
	if (selection->comm && !any_wanted(&by_name, trace))
		return clew_fail(CLEW_EXIT_INPUT,
				 "no thread of the capture is named '%s': see `clew waits` for "
				 "those there are",
				 selection->comm);
	return clew_fail(CLEW_EXIT_INPUT,
			 "no thread is all that was asked for: give --tid, --pid or --comm alone");
}
