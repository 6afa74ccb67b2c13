/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew waits: every sleep of the chosen threads, on what, held and ended by whom.
 */
#include "trace/trace.h"

#include "cli/commands.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/selection.h"
#include "words/describe.h"
#include "words/ledger.h"
#include "words/link.h"
#include "words/object.h"
#include "words/task.h"
#include "words/text.h"

struct waits_values {
	struct clew_selection selection;
	uint64_t least; /* ns */
	uint64_t kinds; /* bit mask, 0 all */
	bool json;
};

const struct clew_option clew_waits_options[] = {
	{0, "tid", "N", "only waits of this thread", clew_take_number,
	 offsetof(struct waits_values, selection.tid)},
	{0, "pid", "N", "only waits of this process's threads", clew_take_number,
	 offsetof(struct waits_values, selection.pid)},
	{0, "comm", "GLOB", "only waits of threads named like this", clew_take_string,
	 offsetof(struct waits_values, selection.comm)},
	{0, "min", "DURATION", "only waits at least so long (5ms)", clew_take_duration,
	 offsetof(struct waits_values, least)},
	{0, "kind", "KIND,..", "only waits of these kinds", clew_take_wait_kinds,
	 offsetof(struct waits_values, kinds)},
	{0, "json", NULL, "print one JSON object", clew_take_flag,
	 offsetof(struct waits_values, json)},
	CLEW_OPTION_END,
};

static uint64_t end_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	return sleep->end == CLEW_TIME_OPEN ? clew_trace_end(trace) : sleep->end;
}

static uint64_t runqueue_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t until =
		sleep->switch_in == CLEW_TIME_OPEN ? clew_trace_end(trace) : sleep->switch_in;

	return sleep->end == CLEW_TIME_OPEN || until < sleep->end ? 0 : until - sleep->end;
}

static bool wanted(const struct clew_trace *trace, const struct waits_values *values,
		   const struct clew_sleep *sleep)
{
	const struct clew_trace_task *task = clew_trace_task(trace, sleep->task);

	if (!task || !clew_selection_wants_at(&values->selection, trace, task, sleep->start))
		return false;
	if (values->kinds && !(values->kinds >> sleep->kind & 1))
		return false;
	return end_of(trace, sleep) - sleep->start >= values->least;
}

static const char *open_name(unsigned open)
{
	switch (open) {
	case CLEW_OPEN_START:
		return "start";
	case CLEW_OPEN_END:
		return "end";
	case CLEW_OPEN_BOTH:
		return "both";
	default:
		return NULL;
	}
}

static void json_holders(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_sleep *sleep)
{
	clew_json_array(json, "holders");
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];

		clew_json_object(json, NULL);
		clew_json_task_fields(json, trace, holder->task, holder->from);
		clew_json_unsigned(json, "from", holder->from);
		clew_json_unsigned(json, "to",
				   holder->to == CLEW_TIME_OPEN ? clew_trace_end(trace)
								: holder->to);
		clew_json_string(json, "evidence", clew_evidence_name(holder->evidence));
		clew_json_bool(json, "barged", holder->barged);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_ended_by(struct clew_json *json, const struct clew_trace *trace,
			  const struct clew_sleep *sleep)
{
	if (sleep->end == CLEW_TIME_OPEN) {
		clew_json_null(json, "ended_by");
		return;
	}
	clew_json_object(json, "ended_by");
	clew_json_task_fields(json, trace, sleep->ended_by, sleep->raw_end ?: sleep->end);
	clew_json_string(json, "context", clew_context_name(sleep->context));
	clew_json_unsigned(json, "at", sleep->end);
	clew_json_unsigned(json, "raw_at", sleep->raw_end ?: sleep->end);
	clew_json_links(json, trace, sleep);
	clew_json_object_end(json);
}

static void json_wait(struct clew_json *json, const struct clew_trace *trace,
		      const struct clew_sleep *sleep)
{
	clew_json_object(json, NULL);
	clew_json_task_fields(json, trace, sleep->task, sleep->start);
	clew_json_unsigned(json, "start", sleep->start);
	clew_json_known(json, "end", sleep->end, CLEW_TIME_OPEN);
	clew_json_string(json, "kind", clew_wait_kind_name(sleep->kind));
	clew_json_string(json, "call", clew_call_name(sleep->call));
	clew_json_unsigned(json, "call_id", sleep->call_id);
	clew_json_object_of(json, "object", trace, &sleep->object, sleep);
	json_holders(json, trace, sleep);
	json_ended_by(json, trace, sleep);
	clew_json_unsigned(json, "runqueue_ns", runqueue_of(trace, sleep));
	clew_json_string(json, "open", open_name(sleep->open));
	clew_json_bool(json, "blind", sleep->blind);
	clew_json_object_end(json);
}

static void print_holders(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t to = holder->to == CLEW_TIME_OPEN ? clew_trace_end(trace) : holder->to;

		fputs(i ? ", then by " : ", held by ", stdout);
		clew_print_task(stdout, trace, holder->task, holder->from);
		printf(" for %s", CLEW_DURATION(to - holder->from));
		if (holder->barged)
			fputs(" (barged in)", stdout);
	}
}

static void print_end(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	uint64_t runqueue = runqueue_of(trace, sleep);

	if (sleep->end == CLEW_TIME_OPEN) {
		fputs("; not over at the capture's end", stdout);
		return;
	}
	if (sleep->ended_by != CLEW_NO_TASK) {
		fputs("; ended by ", stdout);
		clew_print_task(stdout, trace, sleep->ended_by, sleep->raw_end ?: sleep->end);
		if (sleep->link_count) {
			fputs(" through ", stdout);
			clew_print_first_link(stdout, trace, sleep);
		}
		if (sleep->context != CLEW_WAKE_TASK)
			printf(" (in %s)", clew_context_name(sleep->context));
	} else if (sleep->link_count && sleep->links[0].kind != CLEW_LINK_IPI) {
		fputs("; ended by ", stdout);
		clew_print_first_link(stdout, trace, sleep);
		printf(" (in %s)", clew_context_name(sleep->context));
	} else if (sleep->context == CLEW_WAKE_UNKNOWN) {
		fputs("; who ended it is unknown", stdout);
	} else {
		printf("; ended in %s", clew_context_name(sleep->context));
	}
	if (runqueue)
		printf(", then ready for %s", CLEW_DURATION(runqueue));
}

static void print_wait(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	const char *call = clew_call_name(sleep->call);

	printf("+%-13s %9s  %-8s ",
	       CLEW_OFFSET(sleep->start - clew_trace_start(trace),
			   clew_trace_end(trace) - clew_trace_start(trace)),
	       CLEW_DURATION(end_of(trace, sleep) - sleep->start),
	       clew_wait_kind_name(sleep->kind));
	clew_print_task(stdout, trace, sleep->task, sleep->start);
	/* "futex futex 0x.." would say nothing more. */
	if (call && sleep->object.kind != CLEW_OBJECT_FUTEX)
		printf(", %s", call);
	if (clew_waits_for_object(sleep)) {
		fputs(", ", stdout);
		clew_print_object(stdout, trace, &sleep->object, sleep);
	}
	if (sleep->open & CLEW_OPEN_START)
		fputs(" (since before the capture)", stdout);
	print_holders(trace, sleep);
	print_end(trace, sleep);
	if (sleep->blind)
		fputs(" [records lost here]", stdout);
	putchar('\n');
}

static void answer_json(const struct clew_trace *trace, const struct waits_values *values)
{
	struct clew_json json = {.out = stdout};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	clew_json_object(&json, NULL);
	clew_json_array(&json, "waits");
	for (size_t i = 0; i < count; i++)
		if (wanted(trace, values, &sleeps[i]))
			json_wait(&json, trace, &sleeps[i]);
	clew_json_array_end(&json);
	clew_json_ledger(&json, trace, clew_trace_start(trace), clew_trace_end(trace));
	clew_json_object_end(&json);
	clew_json_end(&json);
}

static void answer_text(const struct clew_trace *trace, const struct waits_values *values)
{
	size_t count, shown = 0;
	uint64_t ns = 0;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);

	for (size_t i = 0; i < count; i++) {
		if (!wanted(trace, values, &sleeps[i]))
			continue;
		print_wait(trace, &sleeps[i]);
		ns += end_of(trace, &sleeps[i]) - sleeps[i].start;
		shown++;
	}
	printf("\n%zu of %zu waits, %s in all\n", shown, count, CLEW_DURATION(ns));
	clew_print_ledger_and_cost(stdout, trace);
}

int clew_command_waits(const struct clew_command *command, int argc, char **argv)
{
	struct waits_values values = {};
	struct clew_trace *trace;
	char **operands;
	int status;

	if (!clew_options_parse(command, argc, argv, &values, &operands, &status))
		return status;
	status = clew_open_trace(operands[0], 0, &trace);
	if (status)
		return status;
	status = clew_selection_check(&values.selection, trace);
	if (!status && values.json)
		answer_json(trace, &values);
	else if (!status)
		answer_text(trace, &values);
	clew_trace_free(trace);
	return status;
}
