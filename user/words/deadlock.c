/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Deadlocks in words and in JSON. */
#include "words/deadlock.h"

#include <clew/tokens.h>
#include <stdlib.h>

#include "format/text.h"
#include "format/wrap.h"
#include "words/object.h"
#include "words/task.h"

static void print_task(FILE *out, const struct clew_trace *trace, uint32_t task)
{
	clew_print_task(out, trace, task, clew_trace_end(trace));
}

static void print_object(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	if (!clew_print_object(out, trace, &sleep->object, sleep))
		fputs(clew_wait_kind_name(sleep->kind), out);
}

/* "that only A reads", or with the others that have that end of a pipe, too. */
static void print_pipe(FILE *out, const struct clew_trace *trace,
		       const struct clew_stuck_step *step)
{
	bool reads = step->role == CLEW_STUCK_READER;
	bool own = clew_trace_process(trace, step->task) == clew_trace_process(trace, step->next);

	fputs(reads ? " for room in " : " for data in ", out);
	print_object(out, trace, step->sleep);
	fprintf(out, " that %s", step->others ? "" : "only ");
	if (own)
		fputs("its own process", out);
	else
		print_task(out, trace, step->next);
	if (step->others)
		fprintf(out, " and %u other%s", step->others, step->others > 1 ? "s" : "");
	fputs(reads ? " read" : " write", out);
	fputs(step->others ? "" : "s", out);
	if (own) {
		fputs(" (", out);
		print_task(out, trace, step->next);
		putc(')', out);
	}
}

/* "at unix:[9], whose other end only B has", or what is polled. */
static void print_peer(FILE *out, const struct clew_trace *trace,
		       const struct clew_stuck_step *step)
{
	const bool polls = step->sleep->kind == CLEW_WAIT_POLL;

	if (polls) {
		fprintf(out, " in %s for ends that %s", clew_call_name(step->sleep->call) ?: "poll",
			step->others ? "" : "only ");
	} else {
		fputs(" at ", out);
		print_object(out, trace, step->sleep);
		fprintf(out, ", whose other end %s", step->others ? "" : "only ");
	}
	print_task(out, trace, step->next);
	if (step->others)
		fprintf(out, " and %u other%s", step->others, step->others > 1 ? "s" : "");
	fputs(step->others ? " have" : " has", out);
}

static void print_others(FILE *out, const struct clew_stuck_step *step)
{
	if (step->others)
		fprintf(out, " or %u other%s", step->others, step->others > 1 ? "s" : "");
}

static void print_step(FILE *out, const struct clew_trace *trace,
		       const struct clew_stuck_step *step)
{
	switch ((enum clew_stuck_role)step->role) {
	case CLEW_STUCK_HOLDER:
		fputs(" for ", out);
		print_object(out, trace, step->sleep);
		fputs(" that ", out);
		if (step->next == step->task)
			fputs("it has itself", out);
		else
			print_task(out, trace, step->next);
		fputs(step->next == step->task ? "" : " has", out);
		break;
	case CLEW_STUCK_THREAD:
		fputs(" for its thread ", out);
		print_task(out, trace, step->next);
		print_others(out, step);
		break;
	case CLEW_STUCK_JOINED:
	case CLEW_STUCK_CHILD:
		fputs(step->role == CLEW_STUCK_CHILD ? " for " : " for its thread ", out);
		print_task(out, trace, step->next);
		print_others(out, step);
		fputs(" to end", out);
		break;
	case CLEW_STUCK_READER:
	case CLEW_STUCK_WRITER:
		print_pipe(out, trace, step);
		break;
	case CLEW_STUCK_PEER:
		print_peer(out, trace, step);
		break;
	}
}

void clew_print_circle(FILE *out, const struct clew_trace *trace,
		       const struct clew_deadlock *deadlock, uint32_t task)
{
	size_t first = 0;

	while (first < deadlock->count && deadlock->steps[first].task != task)
		first++;
	for (size_t i = 0; i < deadlock->count; i++) {
		const struct clew_stuck_step *step =
			&deadlock->steps[(first + i) % deadlock->count];

		fputs(i ? ", " : "", out);
		print_task(out, trace, step->task);
		fputs(i ? "" : " waits", out);
		print_step(out, trace, step);
	}
}

void clew_print_deadlock(FILE *out, const struct clew_trace *trace,
			 const struct clew_deadlock *deadlock, uint32_t task)
{
	fputs("deadlock: ", out);
	clew_print_circle(out, trace, deadlock, task);
	if (deadlock->until != CLEW_TIME_OPEN)
		fprintf(out, ", until a signal came after %s",
			CLEW_DURATION(deadlock->until - deadlock->since));
}

void clew_print_deadlock_line(FILE *out, const struct clew_trace *trace,
			      const struct clew_deadlock *deadlock, size_t width)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	if (!memory)
		return;
	clew_print_deadlock(memory, trace, deadlock, CLEW_NO_TASK);
	fclose(memory);
	clew_print_wrapped(out, text, 0, 2, width);
	putc('\n', out);
	free(text);
}

void clew_json_deadlock(struct clew_json *json, const char *key, const struct clew_trace *trace,
			const struct clew_deadlock *deadlock)
{
	char *text = NULL;
	size_t size;
	FILE *memory = open_memstream(&text, &size);

	clew_json_object(json, key);
	if (memory) {
		clew_print_deadlock(memory, trace, deadlock, CLEW_NO_TASK);
		fclose(memory);
		clew_json_string(json, "text", text);
		free(text);
	}
	clew_json_unsigned(json, "since", deadlock->since);
	if (deadlock->until == CLEW_TIME_OPEN)
		clew_json_null(json, "until");
	else
		clew_json_unsigned(json, "until", deadlock->until);
	clew_json_array(json, "steps");
	for (size_t i = 0; i < deadlock->count; i++) {
		const struct clew_stuck_step *step = &deadlock->steps[i];

		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, step->task, clew_trace_end(trace));
		clew_json_string(json, "kind", clew_wait_kind_name(step->sleep->kind));
		clew_json_string(json, "call", clew_call_name(step->sleep->call));
		clew_json_object_of(json, "object", trace, &step->sleep->object, step->sleep);
		clew_json_string(json, "next", clew_stuck_role_name(step->role));
		clew_json_string(json, "evidence", clew_evidence_name(step->evidence));
		clew_json_unsigned(json, "others", step->others);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	clew_json_object_end(json);
}

void clew_json_deadlocks(struct clew_json *json, const struct clew_trace *trace)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(trace, &count);

	clew_json_array(json, "deadlocks");
	for (size_t i = 0; i < count; i++)
		clew_json_deadlock(json, NULL, trace, &all[i]);
	clew_json_array_end(json);
}
