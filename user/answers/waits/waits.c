/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list of waits and their sums, as text and as JSON. */
#include "answers/waits/waits.h"

#include <clew/tokens.h>
#include <stdlib.h>

#include "answers/sums.h"
#include "format/text.h"
#include "trace/wait_key.h"
#include "words/deadlock.h"
#include "words/describe.h"
#include "words/ledger.h"
#include "words/lines.h"
#include "words/object.h"
#include "words/stack_table.h"
#include "words/task.h"

#define LIST_DEPTH 2 /* of an element of the list in the JSON object */

/* ---- the list ---- */

void clew_write_wait(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	clew_print_wait(out, trace, false, sleep);
}

void clew_write_wait_json(FILE *out, const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_json json = {.out = out, .depth = LIST_DEPTH};

	clew_json_wait(&json, trace, false, sleep);
}

static int print_list(FILE *out, const struct clew_trace *trace, struct clew_waits *waits)
{
	int r = clew_waits_finish(waits);

	for (size_t i = 0; i < waits->list.count && r == 0; i++) {
		const struct clew_listed_wait *wait = clew_waits_at(waits, i);

		if (wait->sleep)
			clew_print_wait(out, trace, waits->asked->stacks, wait->sleep);
		else
			fputs(wait->text, out);
	}
	return r;
}

/* The stacks of the list are known before it is written. 0 or -ENOMEM. */
static int json_stacks(struct clew_json *json, struct clew_waits *waits)
{
	for (size_t i = 0; i < waits->list.count; i++) {
		const struct clew_sleep *sleep = clew_waits_at(waits, i)->sleep;

		clew_stack_of_sleep(json->stacks, sleep);
		if (sleep->end != CLEW_TIME_OPEN)
			clew_stack_of_waker(json->stacks, sleep->ended_by, sleep->raw_end);
	}
	return clew_stack_table_write(json->stacks, json);
}

static int json_list(struct clew_json *json, const struct clew_trace *trace,
		     struct clew_waits *waits)
{
	struct clew_stack_table stacks;
	int r = clew_waits_finish(waits);

	if (r < 0)
		return r;
	r = clew_stack_table_begin(&stacks, waits->asked->stacks ? trace : NULL);
	json->stacks = &stacks;
	if (r == 0 && waits->asked->stacks)
		r = json_stacks(json, waits);
	clew_json_array(json, "waits");
	for (size_t i = 0; i < waits->list.count && r == 0; i++) {
		const struct clew_listed_wait *wait = clew_waits_at(waits, i);

		if (wait->sleep)
			clew_json_wait(json, trace, waits->asked->stacks, wait->sleep);
		else
			clew_json_written(json, wait->text);
	}
	clew_json_array_end(json);
	clew_stack_table_done(&stacks);
	return r;
}

/* ---- deadlocks ---- */

/* True if a wait of the list is in the deadlock, or for it. */
static bool is_listed(const struct clew_trace *trace, const struct clew_waits *waits,
		      const struct clew_deadlock *deadlock)
{
	for (size_t i = 0; i < waits->list.count; i++) {
		const struct clew_listed_wait *wait = clew_waits_at(waits, i);

		if (wait->stuck && clew_trace_deadlock_of(trace, wait->task) == deadlock)
			return true;
	}
	return false;
}

static void print_deadlocks(FILE *out, const struct clew_trace *trace,
			    const struct clew_waits *waits)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(trace, &count);

	for (size_t i = 0; i < count; i++) {
		if (!is_listed(trace, waits, &all[i]))
			continue;
		clew_print_deadlock(out, trace, &all[i], CLEW_NO_TASK);
		putc('\n', out);
	}
}

static void json_deadlocks(struct clew_json *json, const struct clew_trace *trace,
			   const struct clew_waits *waits)
{
	size_t count;
	const struct clew_deadlock *all = clew_trace_deadlocks(trace, &count);

	clew_json_array(json, "deadlocks");
	for (size_t i = 0; i < count; i++)
		if (is_listed(trace, waits, &all[i]))
			clew_json_deadlock(json, NULL, trace, &all[i]);
	clew_json_array_end(json);
}

/* ---- the sums ---- */

struct names {
	const struct clew_trace *trace;
	const struct clew_waits *waits;
};

/* An item is the number of a group's wait or, by holder, a task's serial. */
static const struct clew_sleep *sleep_of(const struct names *names, uint32_t item)
{
	return clew_wait_groups_wait(&names->waits->groups, item);
}

static void print_name(void *context, FILE *out, uint32_t item)
{
	const struct names *names = context;
	const struct clew_trace *trace = names->trace;
	enum clew_sum_by by = names->waits->asked->by;
	const struct clew_sleep *sleep;

	if (by == CLEW_SUM_BY_HOLDER) {
		clew_print_task(out, trace, item, clew_trace_end(trace));
		return;
	}
	sleep = sleep_of(names, item);
	switch (by) {
	case CLEW_SUM_BY_TASK:
		clew_print_task(out, trace, sleep->task, sleep->start);
		break;
	case CLEW_SUM_BY_KIND:
		fputs(clew_wait_kind_name(sleep->kind), out);
		break;
	case CLEW_SUM_BY_CALL:
		fputs(clew_call_name(sleep->call) ?: "no call", out);
		break;
	default:
		if (!clew_waits_for_object(sleep) ||
		    !clew_print_object(out, trace, &sleep->object, sleep))
			fprintf(out, "no object (%s)", clew_wait_kind_name(sleep->kind));
		break;
	}
}

static void json_fields(void *context, struct clew_json *json, uint32_t item)
{
	const struct names *names = context;
	const struct clew_trace *trace = names->trace;
	enum clew_sum_by by = names->waits->asked->by;
	const struct clew_sleep *sleep;

	if (by == CLEW_SUM_BY_HOLDER) {
		clew_json_task_fields(json, trace, item, clew_trace_end(trace));
		return;
	}
	sleep = sleep_of(names, item);
	if (by == CLEW_SUM_BY_TASK)
		clew_json_task_fields(json, trace, sleep->task, sleep->start);
	if (by == CLEW_SUM_BY_OBJECT)
		clew_json_object_of(json, "object", trace, &sleep->object, sleep);
}

/* Into `json`, or as text if that is NULL. 0 or -ENOMEM. */
static int say_sums(FILE *out, struct clew_json *json, const struct clew_trace *trace,
		    struct clew_waits *waits)
{
	enum clew_sum_by by = waits->asked->by;
	struct names names = {.trace = trace, .waits = waits};
	const struct clew_sums_names callbacks = {
		.name = print_name, .fields = json_fields, .context = &names};
	struct clew_sum *sums;
	int r = clew_wait_groups_finish(&waits->groups, by, trace, &sums);

	if (r < 0)
		return r;
	if (json)
		clew_json_groups(json, sums, waits->groups.count, by, &callbacks);
	else
		clew_print_groups(out, sums, waits->groups.count, by, &callbacks);
	free(sums);
	return 0;
}

/* ---- the answer ---- */

static struct clew_left_out left_out_of(const struct clew_waits_counts *counts)
{
	return (struct clew_left_out){.idle = counts->idle,
				      .self = counts->self,
				      .timed = true,
				      .idle_ns = counts->idle_ns,
				      .self_ns = counts->self_ns};
}

int clew_print_waits(FILE *out, const struct clew_trace *trace, struct clew_waits *waits, bool part)
{
	const struct clew_waits_asked *asked = waits->asked;
	const struct clew_waits_counts *counts = &waits->counts;
	const struct clew_left_out left_out = left_out_of(counts);
	int r = asked->by == CLEW_SUM_BY_NONE ? print_list(out, trace, waits)
					      : say_sums(out, NULL, trace, waits);

	if (asked->by == CLEW_SUM_BY_NONE && r == 0)
		print_deadlocks(out, trace, waits);
	putc('\n', out);
	clew_print_count(out, part, counts->wanted, counts->all, "waits");
	fprintf(out, ", %s in all\n", CLEW_DURATION(counts->ns));
	if (asked->stacks)
		fprintf(out, "Stacks of %zu waits, %.1f %% of that time\n", counts->covered,
			counts->ns ? 100.0 * (double)counts->covered_ns / (double)counts->ns : 0.0);
	clew_print_lines_told(out, trace);
	clew_print_left_out(out, &left_out, "idle waits");
	clew_print_ledger(out, trace, asked->from, asked->to);
	clew_print_cost(out, clew_trace_info(trace));
	return r;
}

int clew_json_waits(struct clew_json *json, const struct clew_trace *trace,
		    struct clew_waits *waits)
{
	const struct clew_waits_asked *asked = waits->asked;
	const struct clew_left_out left_out = left_out_of(&waits->counts);
	int r;

	clew_json_answer(json);
	r = asked->by == CLEW_SUM_BY_NONE ? json_list(json, trace, waits)
					  : say_sums(NULL, json, trace, waits);
	if (asked->by == CLEW_SUM_BY_NONE)
		json_deadlocks(json, trace, waits);
	clew_json_lines_told(json, trace);
	clew_json_left_out(json, &left_out);
	clew_json_ledger(json, trace, asked->from, asked->to);
	clew_json_object_end(json);
	clew_json_end(json);
	return r;
}
