/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew path --operations of a long capture. An operation belongs to the window in which it ends.
 * Windows leave out operations that began before they know everything; these are found afterwards,
 * in traces of all of their time.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/operand/long_operations.h"
#include "cli/operand/windows.h"
#include "cli/path/path.h"
#include "cli/path/path_sum.h"
#include "convert/convert.h"
#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/stacks.h"
#include "words/lines.h"

#define LEFT_BYTES (1ull << 32) /* the most that a trace's sums take */

struct summing {
	const struct path_values *values;
	struct map chosen; /* serials of the threads */
	struct map idle; /* serial -> the end of its last wait that may be idle, before a window */
	struct path_adding adding;
};

/* The operations to find in a trace: those that end in a window, or those of a list. */
struct wanted {
	const struct clew_trace_window *window;
	const struct clew_operation *longs;
	size_t count;
	struct vector missed; /* struct clew_operation: began before the trace has everything */
};

/* ---- in the process of a window ---- */

static bool is_wanted(const struct wanted *wanted, uint32_t serial, clew_time end)
{
	if (wanted->window)
		return clew_window_counts(wanted->window, (uint64_t)end);
	for (size_t i = 0; i < wanted->count; i++)
		if (wanted->longs[i].task == serial && wanted->longs[i].to == (uint64_t)end)
			return true;
	return false;
}

/* Notes an operation that began before all is known. 0 or -ENOMEM. */
static int miss(const struct summing *summing, struct wanted *wanted, uint32_t serial,
		clew_time end)
{
	const uint64_t *from = map_get(&summing->idle, serial, 0);
	struct vector *missed = &wanted->missed;

	/* Without an idle wait before it, there is none. */
	if (wanted->window && !from)
		return 0;
	missed->item = sizeof(struct clew_operation);
	if (vector_reserve(missed, missed->count + 1) < 0)
		return -ENOMEM;
	((struct clew_operation *)missed->data)[missed->count++] = (struct clew_operation){
		.task = serial, .from = from ? *from : 0, .to = (uint64_t)end};
	return 0;
}

static int find_of_span(const struct summing *summing, struct path_answer *answer,
			struct wanted *wanted, uint32_t span, uint32_t serial)
{
	/* Before this moment the trace has runs alone: it gives no reason for the gaps. */
	uint64_t kept = wanted->window ? wanted->window->kept : 0;
	struct clew_path_operation *operations;
	clew_time end;
	size_t count;
	int r = clew_path_operations(answer->model, span, summing->values->idle, &operations,
				     &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++) {
		if (!is_wanted(wanted, serial, operations[i].end.at))
			continue;
		r = (uint64_t)operations[i].from < kept
			    ? miss(summing, wanted, serial, operations[i].end.at)
			    : path_find_operation(answer, span, &operations[i]);
	}
	free(operations);
	if (r == 0 && clew_path_unbegun(answer->model, span, summing->values->idle, &end) &&
	    is_wanted(wanted, serial, end))
		r = miss(summing, wanted, serial, end);
	return r;
}

/* Finds what is wanted of a trace and leaves its sums. 0 or -errno. */
static int find_in(const struct summing *summing, const struct clew_trace *trace,
		   struct wanted *wanted, struct shared *out)
{
	struct path_answer answer = {.values = summing->values};
	uint32_t *spans = NULL;
	struct clew_model *model;
	size_t count;
	int r = clew_model_from_trace(trace, &model);

	if (r < 0)
		return r;
	r = path_answer_init(&answer, model,
			     clew_trace_has_stacks(trace) ? (struct clew_trace *)trace : NULL);
	if (r == 0) {
		spans = parties_spans_of(trace, model, &summing->chosen, false, &count);
		r = spans ? 0 : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < count; i++)
		r = find_of_span(summing, &answer, wanted, spans[i],
				 clew_task_of_span(trace, spans[i]));
	if (r == 0)
		r = path_sum_export(&answer, trace, &wanted->missed, out);
	free(spans);
	vector_done(&wanted->missed);
	path_answer_done(&answer);
	clew_model_free(model);
	return r;
}

static int look(void *context, struct clew_trace *trace, const struct clew_trace_window *window,
		struct shared *out)
{
	struct wanted wanted = {.window = window};

	return find_in(context, trace, &wanted, out);
}

/* ---- in the calling process ---- */

static int add(void *context, const struct shared *found)
{
	return path_sum_add(&((struct summing *)context)->adding, found);
}

/* Notes when waits end that may separate operations: whether one is in an exchange is not known
 * yet. */
static int tell(void *context, const struct clew_trace *trace, const struct clew_finding *finding,
		bool here)
{
	struct summing *summing = context;
	const struct clew_sleep *sleep = finding->sleep;
	const uint64_t *known;

	(void)here; /* what a window knows itself is behind the start of its part */
	if (finding->tag != CLEW_FINDING_SLEEP || sleep->end == CLEW_TIME_OPEN ||
	    sleep->end >= trace->part->from || !map_get(&summing->chosen, sleep->task, 0) ||
	    !operation_is_idle(sleep->kind, sleep->call, false, summing->values->idle))
		return 0;
	known = map_get(&summing->idle, sleep->task, 0);
	return known && *known > sleep->end ? 0
					    : map_set(&summing->idle, sleep->task, 0, sleep->end);
}

/* ---- operations that are longer than what a window knows ---- */

/* One that began before the trace is in adding.longs afterwards. 0 or -errno. */
static int find_longs(void *context, const struct clew_trace *trace,
		      const struct clew_operation *longs, size_t count)
{
	struct summing *summing = context;
	struct wanted wanted = {.longs = longs, .count = count};
	struct shared *out = shared_new(LEFT_BYTES);
	int r = out ? find_in(summing, trace, &wanted, out) : -ENOMEM;

	if (r == 0)
		r = path_sum_add(&summing->adding, out);
	shared_free(out);
	return r;
}

static int find_left_out(struct summing *summing, const char *operand)
{
	struct path_adding *adding = &summing->adding;
	int status = 0;

	/* Where the idle wait was in an exchange after all, the operation began earlier. */
	for (int attempt = 0; attempt < 2 && !status; attempt++) {
		struct vector longs = adding->longs;
		struct clew_operation *all = longs.data;

		adding->longs = (struct vector){.item = longs.item};
		for (size_t i = 0; attempt && i < longs.count; i++)
			all[i].from = 0;
		status = clew_long_operations(operand, all, longs.count, find_longs, summing);
		vector_done(&longs);
	}
	return status;
}

/* ---- the answer ---- */

bool path_has_windows(const struct clew_reader *reader, const struct path_values *values)
{
	/* Functions that were called are spans as well, which the names do not have. */
	return values->operations && !values->json && clew_is_by_name(values->all) &&
	       !clew_reader_info(reader)->counts[CLEW_KIND_FUNCTION];
}

/* Finds the threads that were chosen. */
static int choose(const char *operand, struct clew_reader *reader, const struct path_values *values,
		  struct map *chosen)
{
	struct clew_scope scope = {.hierarchy = values->hierarchy};
	struct clew_trace *names;
	struct clew_model *model = NULL;
	uint32_t *spans = NULL;
	bool *only = NULL;
	size_t count;
	int status = clew_windows_names(operand, reader, &names);

	if (status)
		return status;
	if (clew_model_from_trace(names, &model) < 0)
		status = path_out_of_memory();
	if (!status)
		status = clew_groups_spans(model, &values->group, &only);
	scope.only = only;
	if (!status)
		status = path_spans(values, &scope, model, &spans, &count);
	if (!status && parties_list(names, spans, count, chosen) < 0)
		status = path_out_of_memory();
	free(spans);
	free(only);
	clew_model_free(model);
	clew_trace_free(names);
	return status;
}

static int print(struct summing *summing, struct clew_trace *names)
{
	const struct path_values *values = summing->values;
	struct path_answer answer = {.values = values};
	struct clew_trace *stacks = clew_trace_has_stacks(names) ? names : NULL;
	struct clew_model *model = NULL;
	int status = 0;

	if (clew_source_wanted(&values->source))
		status = clew_need_stacks("path", stacks, &values->source);
	if (!status && path_sum_finish(&summing->adding, names, &model, &answer) < 0)
		status = path_out_of_memory();
	answer.stacks.trace = stacks;
	if (!status)
		status = path_check_found(&answer);
	if (!status)
		status = path_print(&answer);
	if (!status && stacks)
		clew_print_lines_told(stdout, stacks);
	path_answer_done(&answer);
	clew_model_free(model);
	return status;
}

int path_in_windows(const char *operand, struct clew_reader *reader,
		    const struct path_values *values)
{
	struct summing summing = {.values = values};
	const struct clew_windows_taker taker = {
		.look = look, .add = add, .tell = tell, .context = &summing, .models = true};
	struct clew_trace *names = NULL;
	int status = path_adding_init(&summing.adding) < 0 ? path_out_of_memory() : 0;

	if (!status)
		status = choose(operand, reader, values, &summing.chosen);
	if (!status)
		status = clew_windows_look(operand, reader, 0, &taker, &names);
	if (!status)
		status = find_left_out(&summing, operand);
	if (!status)
		status = print(&summing, names);
	clew_trace_free(names);
	path_adding_done(&summing.adding);
	map_done(&summing.chosen);
	map_done(&summing.idle);
	return status;
}
