/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tables of tasks, and of when each ran. */
#include <errno.h>
#include <string.h>

#include "tables/internal.h"
#include "words/group.h"

enum {
	TASK_ID,
	TASK_TID,
	TASK_PID,
	TASK_COMM,
	TASK_PROCESS,
	TASK_PARENT,
	TASK_START,
	TASK_END,
	TASK_COMMAND,
	TASK_EXECUTABLE,
	TASK_CGROUP,
	TASK_CONTAINER,
	TASK_POD,
	TASK_NAMESPACE,
	TASK_UNIT,
	TASK_KERNEL,
	TASK_SELF
};

static const struct clew_column task_columns[] = {
	[TASK_ID] = CLEW_INTEGER("id", "number of the task"),
	[TASK_TID] = CLEW_INTEGER("tid", "thread id; a later task may have the same"),
	[TASK_PID] = CLEW_INTEGER("pid", "process id"),
	[TASK_COMM] = CLEW_TEXT("comm", "its last name"),
	[TASK_PROCESS] = CLEW_TEXT("process", "name of its process's first thread"),
	[TASK_PARENT] = CLEW_INTEGER("parent_tid", "the task that created it; NULL unknown"),
	[TASK_START] = CLEW_INTEGER("start", "when it was created; NULL before the capture"),
	[TASK_END] = CLEW_INTEGER("end", "when it died; NULL not in the capture"),
	[TASK_COMMAND] = CLEW_TEXT("command", "command line of its process; NULL unknown"),
	[TASK_EXECUTABLE] = CLEW_TEXT("executable", "path of its program; NULL unknown"),
	[TASK_CGROUP] = CLEW_TEXT("cgroup", "path of its control group; NULL unknown"),
	[TASK_CONTAINER] = CLEW_TEXT("container", "its container's name, or id; NULL none"),
	[TASK_POD] = CLEW_TEXT("pod", "name of its pod of Kubernetes; NULL none, or unknown"),
	[TASK_NAMESPACE] = CLEW_TEXT("namespace", "of that pod"),
	[TASK_UNIT] = CLEW_TEXT("unit", "its unit of systemd, if it is in no container"),
	[TASK_KERNEL] = CLEW_INTEGER("kernel", "1: a thread of the kernel"),
	[TASK_SELF] = CLEW_INTEGER("self", "1: a thread of clew itself"),
	{},
};

static size_t task_count(struct table_source *source)
{
	return clew_trace_task_count(source->trace);
}

static size_t task_parts(const struct table_source *source, size_t item)
{
	const struct clew_trace_task *task = clew_trace_task_at(source->trace, item);

	return row_wanted(source, task->serial, task->birth, task->death);
}

static const char *unless_empty(const char *text)
{
	return text && text[0] ? text : NULL;
}

static int set_place(struct table_cursor *cursor, uint64_t group, unsigned column,
		     struct clew_cell *value)
{
	struct clew_place place;
	const char *name;

	clew_place_of(cursor->source->trace, group, &place);
	name = column == TASK_CONTAINER	  ? place.container
	       : column == TASK_POD	  ? place.pod
	       : column == TASK_NAMESPACE ? place.name_space
					  : place.unit;
	if (!name)
		return 0;
	cursor->text = strdup(name);
	if (!cursor->text)
		return -ENOMEM;
	clew_set_string(value, cursor->text);
	return 0;
}

static int task_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct table_source *source = cursor->source;
	const struct clew_trace_task *task = clew_trace_task_at(source->trace, cursor->item);

	switch (column) {
	case TASK_ID:
		clew_set_number(value, cursor->item);
		break;
	case TASK_TID:
		clew_set_number(value, task->tid);
		break;
	case TASK_PID:
		clew_set_number(value, task->pid);
		break;
	case TASK_COMM:
		clew_set_string(value, task->comm);
		break;
	case TASK_PROCESS:
		clew_set_process(source->trace, task->serial, clew_trace_end(source->trace), value);
		break;
	case TASK_PARENT:
		clew_set_tid(source->trace, task->parent, value);
		break;
	case TASK_START:
		clew_set_known(value, task->birth, 0);
		break;
	case TASK_END:
		clew_set_known(value, task->death, CLEW_TIME_OPEN);
		break;
	case TASK_COMMAND:
		clew_set_string(value, unless_empty(clew_trace_program(source->trace, task)));
		break;
	case TASK_EXECUTABLE:
		clew_set_string(value, unless_empty(task->executable));
		break;
	case TASK_CGROUP:
		clew_set_string(value,
				unless_empty(clew_trace_cgroup(source->trace, task->cgroup)));
		break;
	case TASK_CONTAINER:
	case TASK_POD:
	case TASK_NAMESPACE:
	case TASK_UNIT:
		return set_place(cursor, task->cgroup, column, value);
	case TASK_KERNEL:
		clew_set_number(value,
				(task->flags & (CLEW_TASK_KTHREAD | CLEW_TASK_KWORKER)) != 0);
		break;
	case TASK_SELF:
		clew_set_number(value, (task->flags & CLEW_TASK_SELF) != 0);
		break;
	}
	return 0;
}

const struct table table_tasks = {.name = "tasks",
				  .meaning = "threads and processes",
				  .columns = task_columns,
				  .count = task_count,
				  .parts = task_parts,
				  .value = task_value};

/* ---- runs ---- */

enum { RUN_ID, RUN_CPU, RUN_TID, RUN_PID, RUN_COMM, RUN_START, RUN_END, RUN_NS };

static const struct clew_column run_columns[] = {
	[RUN_ID] = CLEW_INTEGER("id", "number of the run"),
	[RUN_CPU] = CLEW_INTEGER("cpu", "the CPU"),
	[RUN_TID] = CLEW_INTEGER("tid", "the task that had it"),
	[RUN_PID] = CLEW_INTEGER("pid", "its process"),
	[RUN_COMM] = CLEW_TEXT("comm", "its name then"),
	[RUN_START] = CLEW_INTEGER("start", "from then on"),
	[RUN_END] = CLEW_INTEGER("end", "until then"),
	[RUN_NS] = CLEW_INTEGER("ns", "how long"),
	{},
};

static size_t run_count(struct table_source *source)
{
	size_t count;

	clew_trace_runs(source->trace, &count);
	return count;
}

static const struct clew_run *run_at(const struct table_source *source, size_t item)
{
	size_t count;

	return clew_trace_runs(source->trace, &count) + item;
}

/* A CPU's idle times are no rows. */
static size_t run_parts(const struct table_source *source, size_t item)
{
	const struct clew_run *run = run_at(source, item);

	return run->task != CLEW_NO_TASK && row_wanted(source, run->task, run->start, run->end);
}

static int run_value(struct table_cursor *cursor, unsigned column, struct clew_cell *value)
{
	const struct clew_run *run = run_at(cursor->source, cursor->item);

	switch (column) {
	case RUN_ID:
		clew_set_number(value, cursor->item);
		break;
	case RUN_CPU:
		clew_set_number(value, run->cpu);
		break;
	case RUN_TID:
		clew_set_tid(cursor->source->trace, run->task, value);
		break;
	case RUN_PID:
		clew_set_pid(cursor->source->trace, run->task, value);
		break;
	case RUN_COMM:
		clew_set_comm(cursor->source->trace, run->task, run->start, value);
		break;
	case RUN_START:
		clew_set_number(value, run->start);
		break;
	case RUN_END:
		clew_set_number(value, run->end);
		break;
	case RUN_NS:
		clew_set_number(value, run->end - run->start);
		break;
	}
	return 0;
}

const struct table table_runs = {.name = "runs",
				 .meaning = "times in which a task had a CPU",
				 .columns = run_columns,
				 .count = run_count,
				 .parts = run_parts,
				 .value = run_value};
