/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Choosing threads. */
#include "cli/operand/selection.h"

#include "cli/front/fail.h"
#include "cli/operand/groups.h"
#include "format/text.h"
#include <fnmatch.h>
#include <stdio.h>

static bool is_chosen(const struct clew_selection *selection, const struct clew_trace_task *task)
{
	if (task->serial == CLEW_NO_TASK)
		return false;
	if (selection->tid.given && task->tid != selection->tid.value)
		return false;
	if (selection->pid.given && task->pid != selection->pid.value)
		return false;
	if (selection->groups && !clew_groups_have(selection->groups, task))
		return false;
	if (selection->recorded.root != CLEW_NO_TASK &&
	    !clew_recorded_has(&selection->recorded, task->serial))
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

#define MOST_NAMED 4 /* tasks that have one number in different pid namespaces */

/* The number by which --pid (`process`) or --tid knows a task in its own pid namespace. */
static uint32_t inner_number(const struct clew_trace *trace, const struct clew_trace_task *task,
			     bool process)
{
	const struct clew_trace_task *it = process ? clew_trace_task(trace, task->process) : task;

	return it ? it->inner_tid : 0;
}

/* The task of the machine's pid namespace that has a number; NULL: none. */
static const struct clew_trace_task *outer_task(const struct clew_number *number,
						const struct clew_trace *trace, bool process)
{
	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if ((process ? task->pid : task->tid) == number->value)
			return task;
	}
	return NULL;
}

/* The numbers outside of those that have a number inside another namespace, each once. Returns how
 * many there are; `ret_found` has at most MOST_NAMED. */
static size_t find_inner(const struct clew_number *number, const struct clew_trace *trace,
			 bool process, uint32_t *ret_found)
{
	size_t count = 0;

	for (size_t i = 0; i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);
		uint32_t outer = process ? task->pid : task->tid;
		bool known = inner_number(trace, task, process) != number->value;

		for (size_t j = 0; j < count && j < MOST_NAMED; j++)
			known |= ret_found[j] == outer;
		if (known)
			continue;
		if (count < MOST_NAMED)
			ret_found[count] = outer;
		count++;
	}
	return count;
}

/* Somebody who took the number from inside a container would get an answer about another one. */
static void note_inner(const struct clew_trace *trace, const struct clew_trace_task *outer,
		       bool process, uint32_t inner)
{
	static bool noted; /* once, also where each window of a capture is asked */
	const char *option = process ? "pid" : "tid";

	if (noted)
		return;
	noted = true;
	fprintf(stderr, "clew: --%s %u is taken for ", option, process ? outer->pid : outer->tid);
	clew_print_safe(stderr, clew_trace_comm_at(trace, outer->serial, clew_trace_end(trace)));
	fprintf(stderr,
		" of this machine; the one that has this number in its container is --%s %u\n",
		option, inner);
}

/* Takes a number that no task has in the machine's pid namespace for one of another namespace. */
static int resolve_number(struct clew_number *number, const struct clew_trace *trace, bool process)
{
	const struct clew_trace_task *outer;
	uint32_t found[MOST_NAMED];
	char said[MOST_NAMED * sizeof(", 4294967295")];
	size_t count, used = 0;

	if (!number->given)
		return 0;
	outer = outer_task(number, trace, process);
	count = find_inner(number, trace, process, found);
	if (outer && count && found[0] != number->value)
		note_inner(trace, outer, process, found[0]);
	if (outer)
		return 0;
	if (count == 1)
		number->value = found[0];
	if (count <= 1)
		return 0;
	for (size_t j = 0; j < count && j < MOST_NAMED; j++)
		used += (size_t)snprintf(said + used, sizeof(said) - used, "%s%u", j ? ", " : "",
					 found[j]);
	return clew_fail(CLEW_EXIT_INPUT,
			 "%s %u is in several pid namespaces: choose one by its %s outside, %s%s",
			 process ? "process" : "thread", number->value, process ? "pid" : "tid",
			 said, count > MOST_NAMED ? ", .." : "");
}

int clew_selection_resolve(struct clew_selection *selection, const struct clew_trace *trace)
{
	int status = resolve_number(&selection->tid, trace, false);

	if (!status)
		status = resolve_number(&selection->pid, trace, true);
	if (!status)
		status = clew_groups_find(trace, &selection->group, &selection->groups);
	if (!status && selection->recorded_first && !clew_selection_chooses(selection) &&
	    clew_recorded_find(trace, &selection->recorded) < 0)
		status = clew_fail_memory();
	return status;
}

void clew_selection_done(struct clew_selection *selection)
{
	clew_groups_free(selection->groups);
	clew_recorded_done(&selection->recorded);
}

int clew_selection_check(struct clew_selection *selection, const struct clew_trace *trace)
{
	int status = clew_selection_resolve(selection, trace);
	const struct clew_selection by_tid = {.tid = selection->tid},
				    by_pid = {.pid = selection->pid};
	const struct clew_selection by_name = {.comm = selection->comm, .trace = trace};

	if (status)
		return status;
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
	return clew_fail(
		CLEW_EXIT_INPUT,
		"no thread is all that was asked for: give --tid, --pid, --comm or a group "
		"alone");
}
