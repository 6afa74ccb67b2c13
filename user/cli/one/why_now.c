/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* clew why --now: what the threads of a process wait for at this moment. */
#include "cli/one/why_now.h"

#include <string.h>

#include "answers/why/hangs.h"
#include "cli/front/fail.h"
#include "cli/front/terminal.h"
#include "cli/record/found.h"

/* The process of a number: the machine's, or else the only one that has it in a namespace of its
 * own. */
static int find_process(const struct clew_trace *trace, struct clew_selection *selection,
			uint32_t *ret_process)
{
	uint32_t pid = selection->pid.value;
	int status = clew_selection_resolve(selection, trace);

	for (size_t i = 0; !status && i < clew_trace_task_count(trace); i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->tid != selection->pid.value || task->death != CLEW_TIME_OPEN)
			continue;
		*ret_process = task->process;
		return 0;
	}
	return status
		       ?: clew_fail(CLEW_EXIT_INPUT,
				    "--pid: there is no process %u, or it has ended: name one that "
				    "runs",
				    pid);
}

int clew_why_now(const char *operand, struct clew_selection *selection, bool as_json)
{
	struct clew_hangs hangs = {};
	struct clew_trace *trace = NULL;
	uint32_t process = CLEW_NO_TASK;
	int status;

	if (strcmp(operand, CLEW_DEFAULT_TRACE) != 0)
		return clew_fail(CLEW_EXIT_INPUT,
				 "why: --now is about this moment: leave it out, or '%s'", operand);
	status = clew_found_now(&trace);
	if (!status)
		status = find_process(trace, selection, &process);
	if (!status && clew_hangs_find(trace, process, clew_found_age, &hangs) < 0)
		status = clew_fail_memory();
	if (!status)
		clew_hangs_say(stdout, &hangs, process, as_json, clew_terminal_width());
	clew_hangs_done(&hangs);
	clew_trace_free(trace);
	return status;
}
