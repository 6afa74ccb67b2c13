/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds and prints what threads wait for at this moment. */
#include "answers/why/hangs.h"

#include <clew/tokens.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/other_end.h"
#include "format/text.h"
#include "format/wrap.h"
#include "words/deadlock.h"
#include "words/ledger.h"
#include "words/object.h"
#include "words/other_end.h"
#include "words/task.h"

/* ---- finding ---- */

int clew_hangs_find(const struct clew_trace *trace, uint32_t process, clew_hang_age age,
		    struct clew_hangs *ret_hangs)
{
	size_t count = clew_trace_task_count(trace);
	struct clew_hangs hangs = {.trace = trace};
	struct map waits;
	int r = clew_hangs_index(trace, &waits);

	hangs.of = calloc(count + 1, sizeof(*hangs.of));
	hangs.ages = calloc(count + 1, sizeof(*hangs.ages));
	if (!hangs.of || !hangs.ages)
		r = -ENOMEM;
	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_trace_task *task = clew_trace_task_at(trace, i);

		if (task->process != process || task->death != CLEW_TIME_OPEN)
			continue;
		r = clew_hang_find(trace, &waits, task->serial, &hangs.of[hangs.count]);
		hangs.ages[hangs.count++] = age(trace, task);
	}
	map_done(&waits);
	*ret_hangs = hangs;
	return r;
}

void clew_hangs_done(struct clew_hangs *hangs)
{
	free(hangs->of);
	free(hangs->ages);
}

/* ---- text ---- */

static void print_task(FILE *out, const struct clew_trace *trace, uint32_t task)
{
	clew_print_task(out, trace, task, clew_trace_end(trace));
}

/* "waits in futex for futex 0x7f.., a mutex". */
static void print_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const char *call = clew_call_name(sleep->call), *kind = clew_wait_kind_name(sleep->kind);
	const char *function = clew_sleep_function(trace, sleep);
	char *object = NULL;
	size_t size;
	FILE *memory = open_memstream(&object, &size);

	if (!memory)
		return;
	clew_print_object(memory, trace, &sleep->object, sleep);
	fclose(memory);
	fprintf(out, "waits%s%s", call ? " in " : "", call ?: "");
	fprintf(out, " for %s", object[0] ? object : kind);
	if (object[0] && (!call || strcmp(call, kind) != 0))
		fprintf(out, " (%s)", kind);
	if (!object[0] && function)
		fprintf(out, ", in %s of the kernel", function);
	free(object);
}

static void print_role(FILE *out, const struct clew_hang_step *step)
{
	fputs(step->role == CLEW_HANG_HOLDER   ? ", which is held by "
	      : step->role == CLEW_HANG_CHILD  ? ", for the end of "
	      : step->role == CLEW_HANG_THREAD ? ", which may be for "
					       : ", whose other end is with ",
	      out);
}

/* The end of a chain: why it does not go on. */
static void print_end(FILE *out, const struct clew_trace *trace, const struct clew_hang *hang)
{
	const struct clew_hang_step *last = &hang->steps[hang->count - 1];

	if (hang->cut) {
		fputs(", and so on", out);
	} else if (hang->cycle != CLEW_HANG_MOST) {
		fputs(", and that is ", out);
		print_task(out, trace, hang->steps[hang->cycle].task);
		fputs(clew_hang_is_deadlock(trace, hang) ? " again: a deadlock" : " again: a cycle",
		      out);
	} else if (!last->sleep) {
		fputs(hang->count > 1 ? "" : "runs, or is ready to", out);
	} else {
		clew_print_other_end(out, trace, last->sleep, false);
	}
}

static void print_hang(FILE *out, const struct clew_trace *trace, const struct clew_hang *hang)
{
	print_task(out, trace, hang->steps[0].task);
	fputc(' ', out);
	for (size_t i = 0; i < hang->count; i++) {
		const struct clew_hang_step *step = &hang->steps[i];

		if (i) {
			print_role(out, step);
			print_task(out, trace, step->task);
			if (step->others)
				fprintf(out, " or %zu other%s", step->others,
					step->others > 1 ? "s" : "");
			if (!step->sleep)
				fputs(", which runs, or is ready to", out);
			else
				fputs(", which ", out);
		}
		if (step->sleep)
			print_wait(out, trace, step->sleep);
	}
	print_end(out, trace, hang);
}

/* True if a thread of the process is in a deadlock, or waits for it. */
static bool is_about(const struct clew_hangs *hangs, const struct clew_deadlock *deadlock)
{
	for (size_t i = 0; i < hangs->count; i++)
		if (clew_trace_deadlock_of(hangs->trace, hangs->of[i].steps[0].task) == deadlock)
			return true;
	return false;
}

static void print_deadlocks(FILE *out, const struct clew_hangs *hangs, size_t width)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(hangs->trace, &count);

	for (size_t i = 0; i < count; i++)
		if (is_about(hangs, &all[i]))
			clew_print_deadlock_line(out, hangs->trace, &all[i], width);
}

void clew_hangs_print(FILE *out, const struct clew_hangs *hangs, size_t width)
{
	print_deadlocks(out, hangs, width);
	for (size_t i = 0; i < hangs->count; i++) {
		uint64_t age = hangs->of[i].steps[0].sleep ? hangs->ages[i] : UINT64_MAX;
		char *text = NULL;
		size_t size;
		FILE *memory = open_memstream(&text, &size);

		if (!memory)
			return;
		print_hang(memory, hangs->trace, &hangs->of[i]);
		fclose(memory);
		fprintf(out, "%10s  ", age == UINT64_MAX ? "" : CLEW_DURATION(age));
		clew_print_wrapped(out, text, 12, 14, width);
		free(text);
	}
}

/* ---- JSON ---- */

static void json_step(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_hang_step *step)
{
	clew_json_object(json, NULL);
	clew_json_task_fields(json, trace, step->task, clew_trace_end(trace));
	clew_json_string(json, "role", clew_hang_role_name(step->role));
	if (step->role != CLEW_HANG_FIRST) {
		clew_json_string(json, "evidence", clew_evidence_name(step->evidence));
		clew_json_unsigned(json, "others", step->others);
	}
	clew_json_bool(json, "waits", step->sleep);
	if (step->sleep) {
		clew_json_string(json, "kind", clew_wait_kind_name(step->sleep->kind));
		clew_json_string(json, "call", clew_call_name(step->sleep->call));
		clew_json_object_of(json, "object", trace, &step->sleep->object, step->sleep);
		clew_json_other_end(json, trace, step->sleep);
	}
	clew_json_object_end(json);
}

static void json_deadlocks(struct clew_json *json, const struct clew_hangs *hangs)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(hangs->trace, &count);

	clew_json_array(json, "deadlocks");
	for (size_t i = 0; i < count; i++)
		if (is_about(hangs, &all[i]))
			clew_json_deadlock(json, NULL, hangs->trace, &all[i]);
	clew_json_array_end(json);
}

void clew_hangs_json(struct clew_json *json, const struct clew_hangs *hangs)
{
	clew_json_array(json, "threads");
	for (size_t i = 0; i < hangs->count; i++) {
		const struct clew_hang *hang = &hangs->of[i];
		bool known = hang->steps[0].sleep && hangs->ages[i] != UINT64_MAX;

		clew_json_object(json, NULL);
		clew_json_task_fields(json, hangs->trace, hang->steps[0].task,
				      clew_trace_end(hangs->trace));
		if (known)
			clew_json_unsigned(json, "waited_ns", hangs->ages[i]);
		else
			clew_json_null(json, "waited_ns");
		clew_json_array(json, "chain");
		for (size_t k = 0; k < hang->count; k++)
			json_step(json, hangs->trace, &hang->steps[k]);
		clew_json_array_end(json);
		if (hang->cycle == CLEW_HANG_MOST)
			clew_json_null(json, "cycle");
		else
			clew_json_unsigned(json, "cycle", hang->cycle);
		clew_json_bool(json, "deadlock", clew_hang_is_deadlock(hangs->trace, hang));
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	json_deadlocks(json, hangs);
}

void clew_hangs_say(FILE *out, const struct clew_hangs *hangs, uint32_t process, bool as_json,
		    size_t width)
{
	struct clew_json json = {.out = out};

	if (as_json) {
		clew_json_object(&json, NULL);
		clew_json_task_fields(&json, hangs->trace, process, clew_trace_end(hangs->trace));
		clew_hangs_json(&json, hangs);
		clew_json_ledger(&json, hangs->trace, clew_trace_start(hangs->trace),
				 clew_trace_end(hangs->trace));
		clew_json_object_end(&json);
		clew_json_end(&json);
		return;
	}
	fputs("What ", out);
	clew_print_task(out, hangs->trace, process, clew_trace_end(hangs->trace));
	fprintf(out,
		" waits for now, %zu thread%s, each behind how long it has been off the CPU\n\n",
		hangs->count, hangs->count == 1 ? "" : "s");
	clew_hangs_print(out, hangs, width);
	fputc('\n', out);
	clew_print_ledger(out, hangs->trace, clew_trace_start(hangs->trace),
			  clew_trace_end(hangs->trace));
}
