/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks in JSON and in words. See task.h. */
#include "words/task.h"

#include "words/text.h"

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
		return;
	}
	clew_json_unsigned(json, "pid", task->pid);
	clew_json_unsigned(json, "tid", task->tid);
	clew_json_string(json, "comm", clew_trace_comm_at(trace, serial, at));
}

void clew_print_task(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at)
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
