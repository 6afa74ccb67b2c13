/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Tasks in JSON and in words. */
#include "words/task.h"

#include <linux/sched.h>
#include <string.h>

#include "format/text.h"
#include "words/group.h"

const char *clew_process_name(const struct clew_trace *trace, const struct clew_trace_task *task,
			      uint64_t at)
{
	const struct clew_trace_task *leader = clew_trace_task(trace, task->process);

	return leader && leader->tid ? clew_trace_comm_at(trace, leader->serial, at) : "";
}

/* As sched(7) names them. */
static const char *policy_name(uint8_t policy)
{
	static const char *const names[] = {
		[SCHED_NORMAL] = "other", [SCHED_FIFO] = "FIFO", [SCHED_RR] = "RR",
		[SCHED_BATCH] = "batch",  [SCHED_IDLE] = "idle", [SCHED_DEADLINE] = "DEADLINE",
	};

	return policy < sizeof(names) / sizeof(names[0]) && names[policy] ? names[policy] : "?";
}

static bool has_real_time(uint8_t policy)
{
	return policy == SCHED_FIFO || policy == SCHED_RR;
}

static void json_scheduled(struct clew_json *json, struct clew_scheduled scheduled)
{
	if (!scheduled.policy && !scheduled.value)
		return;
	clew_json_string(json, "policy", policy_name(scheduled.policy));
	if (has_real_time(scheduled.policy))
		clew_json_signed(json, "priority", scheduled.value);
	else if (scheduled.policy != SCHED_DEADLINE)
		clew_json_signed(json, "nice", scheduled.value);
}

/* The nice value matters where a task is ready; callers print it there, see clew_nice_at(). */
static void print_scheduled(FILE *out, struct clew_scheduled scheduled)
{
	if (has_real_time(scheduled.policy))
		fprintf(out, " (%s %d)", policy_name(scheduled.policy), scheduled.value);
	else if (scheduled.policy)
		fprintf(out, " (%s policy)", policy_name(scheduled.policy));
}

int clew_nice_at(const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	struct clew_scheduled scheduled = clew_trace_scheduled_at(trace, serial, at);

	return scheduled.policy == SCHED_NORMAL ? scheduled.value : 0;
}

void clew_json_task_place(struct clew_json *json, const struct clew_trace *trace, uint32_t serial,
			  uint64_t at)
{
	const struct clew_trace_task *task =
		serial == CLEW_NO_TASK ? NULL : clew_trace_task(trace, serial);
	const struct clew_trace_task *leader = task ? clew_trace_task(trace, task->process) : NULL;
	const char *process = task ? clew_process_name(trace, task, at) : "";

	clew_json_string(json, "process", process[0] ? process : NULL);
	if (task && task->host)
		clew_json_string(json, "host", task->host);
	if (task) {
		json_scheduled(json, clew_trace_scheduled_at(trace, serial, at));
		clew_json_place(json, trace, task);
	}
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
	print_scheduled(out, clew_trace_scheduled_at(trace, serial, at));
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
		if (task->host)
			fprintf(out, " on %s", task->host);
	}
}

void clew_print_task(FILE *out, const struct clew_trace *trace, uint32_t serial, uint64_t at)
{
	clew_print_task_name(out, trace, serial, at);
	clew_print_task_place(out, trace, serial, at);
}
