/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names the class of an operation. */
#include "words/class.h"

#include <string.h>

#include "format/text.h"
#include "words/describe.h"

static const struct {
	const char *one, *many, *joint; /* joint: before the endpoint */
} kind_words[CLEW_OPERATION_KINDS] = {
	[CLEW_OPERATION_REQUEST] = {"request", "requests", "to"},
	[CLEW_OPERATION_SERVED] = {"request", "requests", "at"},
	[CLEW_OPERATION_CONNECT] = {"connect", "connects", "to"},
	[CLEW_OPERATION_WORK] = {"work", "works", "behind"},
	[CLEW_OPERATION_START] = {"start", "starts", ""},
	[CLEW_OPERATION_COMMAND] = {"command", "commands", ""},
};

/* The server's address, or who has the other end; of work the call that it came behind. */
static void print_endpoint(FILE *out, const struct clew_trace *trace,
			   const struct clew_kind_operation *operation)
{
	const struct clew_sleep *by = operation->by;
	struct object_description it;
	const char *name = NULL;

	if (!by)
		return;
	if (operation->kind == CLEW_OPERATION_WORK) {
		name = clew_call_name(by->call);
	} else {
		if (!object_describe(trace, &by->object, by, &it))
			return;
		name = operation->kind == CLEW_OPERATION_SERVED ? it.local.text : it.peer.text;
		if (!name[0] && by->ended_by != CLEW_NO_TASK)
			name = clew_trace_comm_at(trace, clew_trace_process(trace, by->ended_by),
						  by->end);
	}
	if (!name || !name[0])
		return;
	fprintf(out, " %s ", kind_words[operation->kind].joint);
	clew_print_safe(out, name);
}

void clew_print_class_of(FILE *out, const struct clew_trace *trace,
			 const struct clew_kind_operation *operation, bool one)
{
	const struct clew_trace_task *task = clew_trace_task(trace, operation->operation.task),
				     *process = task ? clew_trace_task(trace, task->process) : NULL;

	fputs(one ? kind_words[operation->kind].one : kind_words[operation->kind].many, out);
	if (one && process && strcmp(task->comm, process->comm)) {
		fputs(" of ", out);
		clew_print_safe(out, task->comm);
	}
	if (process) {
		fputs(" of ", out);
		clew_print_safe(out, process->comm);
	}
	print_endpoint(out, trace, operation);
}
