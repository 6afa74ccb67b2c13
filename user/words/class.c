/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names the class of an operation. */
#include "words/class.h"

#include <string.h>

#include "format/text.h"
#include "words/describe.h"

static const struct {
	const char *one, *many, *joint; /* joint: before the endpoint, but a server's own */
} kind_words[CLEW_OPERATION_KINDS] = {
	[CLEW_OPERATION_REQUEST] = {"request", "requests", "to"},
	[CLEW_OPERATION_SERVED] = {"request", "requests", ""},
	[CLEW_OPERATION_PIPELINE] = {"span of open questions", "spans of open questions", "to"},
	[CLEW_OPERATION_CONNECT] = {"connect", "connects", "to"},
	[CLEW_OPERATION_WORK] = {"work", "works", "behind"},
	[CLEW_OPERATION_START] = {"start", "starts", ""},
	[CLEW_OPERATION_COMMAND] = {"command", "commands", ""},
	[CLEW_OPERATION_SPAN] = {"span", "spans", ""},
};

/* Names what a logical span runs. */
static void print_span(FILE *out, const struct clew_jobs *jobs, uint32_t number)
{
	const struct clew_job *job = clew_job_at(jobs, number);

	fprintf(out, " %s.", job->runtime->name);
	clew_print_safe(out, clew_job_name(jobs, job));
}

/* The server's address, or who has the other end; of work the call that it came behind. */
static void print_endpoint(FILE *out, const struct clew_trace *trace,
			   const struct clew_kind_operation *operation)
{
	const struct clew_sleep *by = operation->by;
	const struct clew_object object = clew_operation_object(operation);
	uint32_t other = clew_operation_other(operation);
	bool serves = clew_operation_serves(operation);
	struct object_description it;
	const char *name = NULL;

	if (operation->kind == CLEW_OPERATION_SPAN) {
		print_span(out, clew_trace_jobs(trace), operation->operation.job - 1);
		return;
	}
	if (!object.kind && !by)
		return;
	if (operation->kind == CLEW_OPERATION_WORK) {
		name = clew_call_name(by->call);
	} else {
		if (!object_describe(trace, by ? &by->object : &object, by, &it))
			return;
		name = serves ? it.local.text : it.peer.text;
		if (!name[0] && other != CLEW_NO_TASK)
			name = clew_trace_comm_at(trace, clew_trace_process(trace, other),
						  by ? by->end : operation->operation.to);
	}
	if (!name || !name[0])
		return;
	fprintf(out, " %s ", serves ? "at" : kind_words[operation->kind].joint);
	clew_print_safe(out, name);
}

void clew_print_class_of(FILE *out, const struct clew_trace *trace,
			 const struct clew_kind_operation *operation, bool one)
{
	const struct clew_trace_task *task = clew_trace_task(trace, operation->operation.task),
				     *process = task ? clew_trace_task(trace, task->process) : NULL;

	fputs(one ? kind_words[operation->kind].one : kind_words[operation->kind].many, out);
	if (one && operation->kind != CLEW_OPERATION_SPAN && process &&
	    strcmp(task->comm, process->comm)) {
		fputs(" of ", out);
		clew_print_safe(out, task->comm);
	}
	if (process) {
		fputs(" of ", out);
		clew_print_safe(out, process->comm);
	}
	print_endpoint(out, trace, operation);
}
