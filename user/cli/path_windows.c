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

#include "cli/fail.h"
#include "cli/path.h"
#include "cli/path_sum.h"
#include "cli/progress.h"
#include "cli/windows.h"
#include "convert/convert.h"
#include "trace/idle.h"
#include "trace/internal.h"
#include "trace/stacks.h"
#include "words/lines.h"

#define APART	   10000000000ull /* ns: operations that are as near are in one trace */
#define LEFT_BYTES (1ull << 32)	  /* the most that a trace's sums take */

struct summing {
	const struct path_values *values;
	struct map chosen; /* serials of the threads */
	struct map idle; /* serial -> the end of its last wait that may be idle, before a window */
	struct path_adding adding;
};

/* The operations to find in a trace: those that end in a window, or those of a list. */
struct wanted {
	const struct clew_trace_window *window;
	const struct path_long *longs;
	size_t count;
	struct vector missed; /* struct path_long: began before the trace */
};

/* ---- in the process of a window ---- */

static bool is_wanted(const struct wanted *wanted, uint32_t serial, clew_time end)
{
	if (wanted->window)
		return clew_window_counts(wanted->window, (uint64_t)end);
	for (size_t i = 0; i < wanted->count; i++)
		if (wanted->longs[i].serial == serial && wanted->longs[i].end == (uint64_t)end)
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
	missed->item = sizeof(struct path_long);
	if (vector_reserve(missed, missed->count + 1) < 0)
		return -ENOMEM;
	((struct path_long *)missed->data)[missed->count++] = (struct path_long){
		.serial = serial, .from = from ? *from : 0, .end = (uint64_t)end};
	return 0;
}

static int find_of_span(const struct summing *summing, struct path_answer *answer,
			struct wanted *wanted, uint32_t span, uint32_t serial)
{
	uint64_t known = wanted->window ? wanted->window->known : 0;
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
		r = (uint64_t)operations[i].from < known
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

static int compare_longs(const void *a, const void *b)
{
	const struct path_long *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

static int fail_to_add(const char *operand, int r)
{
	return r == -ENOMEM ? path_out_of_memory() : clew_fail_to_read(operand, r, strerror(-r));
}

/* Finds them in one trace from `from`, ns, to the end of the last one. One that began before it
 * is in adding.longs afterwards. */
static int find_longs(struct summing *summing, const char *operand, const struct path_long *longs,
		      size_t count, uint64_t from)
{
	struct wanted wanted = {.longs = longs, .count = count};
	struct clew_progress progress;
	struct clew_trace_options options = {.size = sizeof(options),
					     .from = from,
					     .progress = clew_progress_update,
					     .progress_context = &progress};
	struct shared *out = shared_new(LEFT_BYTES);
	struct clew_trace *trace = NULL;
	int r = out ? 0 : -ENOMEM;

	for (size_t i = 0; i < count; i++)
		options.to = longs[i].end > options.to ? longs[i].end : options.to;
	clew_progress_begin(&progress, "reading long operations");
	if (r == 0)
		r = clew_trace_load(operand, &options, &trace, NULL, 0);
	clew_progress_end(&progress);
	if (r == 0)
		r = find_in(summing, trace, &wanted, out);
	clew_trace_free(trace);
	if (r == 0)
		r = path_sum_add(&summing->adding, out);
	shared_free(out);
	return r < 0 ? fail_to_add(operand, r) : 0;
}

/* Operations that are near each other are found together. */
static int find_groups(struct summing *summing, const char *operand, struct path_long *longs,
		       size_t count)
{
	int status = 0;

	qsort(longs, count, sizeof(*longs), compare_longs);
	for (size_t first = 0, next; first < count && !status; first = next) {
		uint64_t end = longs[first].end;

		for (next = first + 1; next < count && longs[next].from < end + APART; next++)
			end = longs[next].end > end ? longs[next].end : end;
		status = find_longs(summing, operand, &longs[first], next - first,
				    longs[first].from);
	}
	return status;
}

static int find_left_out(struct summing *summing, const char *operand)
{
	struct vector longs = summing->adding.longs, missed;
	int status;

	if (!longs.count)
		return 0;
	fprintf(stderr,
		"clew: operations that are longer than what a window knows are read once more: "
		"%zu\n",
		longs.count);
	summing->adding.longs = (struct vector){.item = longs.item};
	status = find_groups(summing, operand, longs.data, longs.count);
	vector_done(&longs);
	/* An idle wait that was in an exchange after all began none of them. */
	missed = summing->adding.longs;
	summing->adding.longs = (struct vector){.item = missed.item};
	if (!status && missed.count)
		status = find_longs(summing, operand, missed.data, missed.count, 0);
	vector_done(&missed);
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
