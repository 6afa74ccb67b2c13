/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks in JSON and in words. See task.h. */
#include "words/task.h"

#include <string.h>

#include "words/group.h"
#include "words/text.h"

const char *clew_process_name(const struct clew_trace *trace, const struct clew_trace_task *task,
			      uint64_t at)
{
	const struct clew_trace_task *leader = clew_trace_task(trace, task->process);

	return leader && leader->tid ? clew_trace_comm_at(trace, leader->serial, at) : "";
}

void clew_json_task_place(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			  uint64_t at)
{
	const struct clew_trace_task *task =
		serial == CLEW_NO_TASK ? NULL : clew_trace_task(trace, serial);
	const struct clew_trace_task *leader = task ? clew_trace_task(trace, task->process) : NULL;
	const char *process = task ? clew_process_name(trace, task, at) : "";

	clew_json_string(json, "process", process[0] ? process : NULL);
	if (task)
		clew_json_container(json, trace, task);
	if (!task || !task->inner_tid)
		return;
	if (leader && leader->inner_tid)
		clew_json_unsigned(json, "inner_pid", leader->inner_tid);
	else
		clew_json_null(json, "inner_pid");
	clew_json_unsigned(json, "inner_tid", task->inner_tid);
}

void clew_json_task_fields(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			   uint64_t at)
{
	const struct clew_trace_task *task =
		serial == CLEW_NO_TASK ? NULL : clew_trace_task(trace, serial);

	/* The tid is 0 where the records of its identity were lost. */
	if (!task || !task->tid) {
		clew_json_null(json, "pid");
		clew_json_null(json, "tid");
		clew_json_null(json, "comm");
		clew_json_null(json, "process");
		return;
	}
	clew_json_unsigned(json, "pid", task->pid);
	clew_json_unsigned(json, "tid", task->tid);
	clew_json_string(json, "comm", clew_trace_comm_at(trace, serial, at));
	clew_json_task_place(json, trace, serial, at);
}

void clew_print_task_place(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	const struct clew_trace_task *task =
		serial == CLEW_NO_TASK ? NULL : clew_trace_task(trace, serial);
	const char *process = task ? clew_process_name(trace, task, at) : "";

	if (!task || !task->tid)
		return;
	if (task->inner_tid)
		fprintf(out, " (inside %u)", task->inner_tid);
	if (process[0] && strcmp(process, clew_trace_comm_at(trace, serial, at))) {
		fputs(" of ", out);
		clew_print_safe(out, process);
	}
}

void clew_print_task_name(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	const struct clew_trace_task *task = clew_trace_task(trace, serial);

	if (serial == CLEW_NO_TASK) {
		fputs("the idle task", out);
	} else if (!task || !task->tid) {
		fputs("an unknown task", out);
	} else {
		clew_print_safe(out, clew_trace_comm_at(trace, serial, at));
		fprintf(out, "-%u", task->tid);
		if (task->instance > 1)
			fprintf(out, "#%u", task->instance);
	}
}

void clew_print_task(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	clew_print_task_name(out, trace, serial, at);
	clew_print_task_place(out, trace, serial, at);
}
