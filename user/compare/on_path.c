/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a causal trace again without the waits of a cause's kind, and measures operations in both.
 *
 * The run takes away all waits of that kind which the threads of the class have, and what ends
 * them; of run queues it gives these threads CPUs of their own. Where less than half of the time is
 * such waits, as it is part of others, nothing can be said. Where gaps are gone elementary spans
 * are joined, and a moment of a thread is found again by how long the thread had run until then.
 * Running time is halved instead, which joins nothing.
 */
#include "compare/on_path.h"

#include <clew/what_if.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare/replay.h"
#include "query/regex.h"

#define MOST_CLASSES	4   /* that are tried, */
#define MOST_ROWS	3   /* causes of each, */
#define MOST_OPERATIONS 400 /* and operations of it, spread over the capture */
#define MOST_THREADS	64
#define MOST_TEXT	16384

/* A class and its operations in the model. */
struct trying {
	const struct clew_model *model;
	struct replay_threads found;
	struct replay_operation operations[MOST_OPERATIONS];
	size_t count;
	char threads[MOST_TEXT]; /* an expression for the names of their spans */
};

/* ---- the operations ---- */

/* True for operations of a class in the first capture after. */
static bool is_candidate(const struct compare_operation *operation, uint32_t class)
{
	return operation->class == class && operation->side == COMPARE_AFTER && !operation->capture;
}

/* Chooses operations at even distances. */
static void choose(struct trying *trying, const struct compare *compare, uint32_t class)
{
	const struct compare_operation *all = compare->operations.data;
	size_t count = 0, number = 0;

	trying->count = 0;
	for (size_t i = 0; i < compare->operations.count; i++)
		count += is_candidate(&all[i], class);
	for (size_t i = 0; i < compare->operations.count && trying->count < MOST_OPERATIONS; i++) {
		if (is_candidate(&all[i], class) &&
		    number++ * MOST_OPERATIONS >= trying->count * count)
			trying->count += replay_place(&trying->found, all[i].tid, all[i].from,
						      all[i].from + all[i].ns,
						      &trying->operations[trying->count]);
	}
}

/* Writes the expression for the names of spans. False: there are none or too many. */
static bool name_threads(struct trying *trying)
{
	uint32_t named[MOST_THREADS];
	size_t length = 0, count = 0;

	for (size_t i = 0; i < trying->count; i++) {
		uint32_t number = trying->operations[i].span;
		const struct clew_span *span = &trying->model->spans[number];
		const char *name = clew_model_string(trying->model, span->name);
		bool known = false;

		for (size_t k = 0; k < count && !known; k++)
			known = named[k] == number;
		if (known)
			continue;
		if (count == MOST_THREADS || length + 2 * strlen(name) + 4 > MOST_TEXT)
			return false;
		if (count)
			trying->threads[length++] = '|';
		length += regex_write_exact(trying->threads + length, name);
		named[count++] = number;
	}
	trying->threads[length] = '\0';
	return count > 0;
}

/* ---- without a cause ---- */

/* The statements that take a cause away, to be freed; NULL: no memory. */
static char *statements(const struct trying *trying, const struct compare_name *cause)
{
	const char *kind = clew_wait_kind_name(cause->wait_kind);
	char *text = NULL;
	int r;

	if (cause->wait_kind == CLEW_SEGMENT_RUNNING)
		r = asprintf(&text, "scale spans((%s)) by .5;", trying->threads);
	else if (cause->wait_kind == CLEW_SEGMENT_RUNQUEUE)
		r = asprintf(&text, "set cpus to %d for spans((%s));", MOST_THREADS,
			     trying->threads);
	else if (cause->edge_type < 0)
		r = asprintf(&text, "drop waits(%s) spans((%s));", kind, trying->threads);
	else
		r = asprintf(&text,
			     "drop waits(%s) spans((%s)); "
			     "remove dependencies(%s) from spans(**) to spans((%s));",
			     kind, trying->threads, clew_edge_type_name((unsigned)cause->edge_type),
			     trying->threads);
	return r < 0 ? NULL : text;
}

/* ns that all elementary spans before each one ran; NULL: no memory. */
static clew_time *running_before(const struct clew_model *model)
{
	clew_time *sums = calloc((size_t)model->es_count + 1, sizeof(*sums));

	for (uint32_t es = 0; sums && es < model->es_count; es++)
		sums[es + 1] = sums[es] + model->es[es].end - model->es[es].start;
	return sums;
}

/* The moment at which a span has run so long: the last one, or with `first` the first one. */
static clew_time moment_of(const struct clew_model *model, const clew_time *sums, uint32_t span,
			   clew_time ran, bool first)
{
	const struct clew_range *range = &model->spans[span].elementary;
	uint32_t low = range->first, high = range->first + range->count - 1;
	clew_time at = sums[range->first] + ran;

	while (low < high) {
		uint32_t middle = low + (high - low + !first) / 2;

		if (first ? sums[middle + 1] >= at : sums[middle] > at) {
			high = first ? middle : middle - 1;
		} else {
			low = first ? middle + 1 : middle;
		}
	}
	return model->es[low].start + at - sums[low];
}

/* True if the gap before an elementary span is one of those that are taken away. */
static bool is_taken(const struct clew_model *model, uint32_t es, const struct compare_name *cause)
{
	uint32_t in = model->es[es].in, wait = model->es[es].wait;

	if (wait == CLEW_NONE || model->waits[wait].kind != cause->wait_kind)
		return false;
	if (in == CLEW_NONE || cause->edge_type < 0)
		return in == CLEW_NONE;
	return !strcmp(clew_model_string(model, model->types[model->dependencies[in].type]),
		       clew_edge_type_name((unsigned)cause->edge_type));
}

/* A run without a cause, and the one with it. */
struct both_runs {
	const struct clew_model *before, *after;
	clew_time *ran_before, *ran_after;
	const struct compare_name *cause;
	double taken, shorter; /* ns of operations */
};

/* ns that a thread has run until a moment of it. */
static clew_time ran_until(const struct both_runs *runs, const struct replay_operation *operation,
			   const struct replay_moment *moment)
{
	uint32_t first = runs->before->spans[operation->span].elementary.first;

	return runs->ran_before[moment->es] - runs->ran_before[first] + moment->into;
}

static void measure(struct both_runs *runs, const struct replay_operation *operation)
{
	const struct clew_model *model = runs->before;
	uint32_t span = operation->span, last = operation->to.es;
	clew_time from = ran_until(runs, operation, &operation->from),
		  to = ran_until(runs, operation, &operation->to);

	for (uint32_t es = operation->from.es + 1; es <= last; es++)
		if (is_taken(model, es, runs->cause))
			runs->taken += (double)(model->es[es].start - model->es[es - 1].end);
	if (runs->cause->wait_kind == CLEW_SEGMENT_RUNNING)
		runs->taken += (double)(to - from) / 2;
	runs->shorter += (double)replay_length(model, operation);
	/* Elementary spans are joined where gaps are gone. An operation that ends with a wait ends
	 * where the thread goes on. */
	if (runs->after->es_count == model->es_count)
		runs->shorter -= (double)replay_length_in(model, runs->after, operation);
	else
		runs->shorter -=
			(double)(moment_of(runs->after, runs->ran_after, span, to,
					   operation->to.into > 0) -
				 moment_of(runs->after, runs->ran_after, span, from, false));
}

static int measure_all(const struct trying *trying, const struct compare_name *cause,
		       const struct clew_model *after, double ns, double *ret_part)
{
	struct both_runs runs = {.before = trying->model,
				 .after = after,
				 .ran_before = running_before(trying->model),
				 .ran_after = running_before(after),
				 .cause = cause};
	int r = runs.ran_before && runs.ran_after ? 0 : -ENOMEM;

	for (size_t i = 0; i < trying->count && r == 0; i++)
		measure(&runs, &trying->operations[i]);
	/* A queue for a CPU is a part of the waits that it follows. */
	if (cause->wait_kind == CLEW_SEGMENT_RUNQUEUE)
		runs.taken = ns;
	if (r == 0 && runs.taken > 0 && runs.taken >= ns / 2)
		*ret_part = fmin(1, fmax(0, runs.shorter / runs.taken));
	free(runs.ran_before);
	free(runs.ran_after);
	return r;
}

/* `ns`: of all waits of that kind in the operations that are tried. 0 or -ENOMEM; *ret_part stays
 * if the run is refused. */
static int try_without(const struct trying *trying, const struct compare_name *cause, double ns,
		       double *ret_part)
{
	char *text = statements(trying, cause);
	struct clew_program *program = NULL;
	struct clew_query_error error = {};
	struct clew_model *after = NULL;
	struct clew_what_if result;
	int r = text ? clew_program_compile(text, strlen(text), false, &program, &error) : -ENOMEM;

	if (r == 0)
		r = clew_what_if(trying->model, program, NULL, &after, &result, &error);
	if (r == 0)
		r = measure_all(trying, cause, after, ns, ret_part);
	clew_model_free(after);
	clew_program_free(program);
	free(text);
	return r == -ENOMEM ? r : 0;
}

/* True for a cause that takes longer than before. */
static bool is_tried(const struct compare_row *row)
{
	return row->changed && row->cause != UINT32_MAX && row->difference.change > 0;
}

/* ns of the causes of one kind in as many operations as are tried. A CPU that was idle is no queue.
 */
static double ns_of_kind(const struct trying *trying, const struct compare *compare,
			 const struct compare_class *class, const struct compare_name *cause)
{
	double ns = 0;

	for (size_t i = 0; i < class->row_count; i++) {
		const struct compare_row *row = &class->rows[i];
		const struct compare_name *it =
			row->cause == UINT32_MAX ? NULL
						 : compare_name_at(&compare->causes, row->cause);

		if (it && it->wait_kind == cause->wait_kind && it->edge_type == cause->edge_type &&
		    (it->wait_kind != CLEW_SEGMENT_RUNQUEUE || it->party[0]))
			ns += (double)row->sides[COMPARE_AFTER].ns;
	}
	return ns * (double)trying->count / (double)class->count[COMPARE_AFTER];
}

static int try_class(struct trying *trying, const struct compare *compare,
		     struct compare_class *class)
{
	unsigned tried = 0;
	int r = 0;

	choose(trying, compare, class->class);
	if (!name_threads(trying))
		return 0;
	for (size_t i = 0; i < class->row_count && tried < MOST_ROWS && r == 0; i++) {
		struct compare_row *row = &class->rows[i];
		const struct compare_name *cause;

		if (!is_tried(row))
			continue;
		tried++;
		cause = compare_name_at(&compare->causes, row->cause);
		r = try_without(trying, cause, ns_of_kind(trying, compare, class, cause),
				&row->on_path);
	}
	return r;
}

int on_path_try(const struct compare *compare, struct compare_result *result,
		const struct clew_model *model)
{
	struct trying *trying = calloc(1, sizeof(*trying));
	int r;

	if (!trying)
		return -ENOMEM;
	trying->model = model;
	r = replay_threads_find(model, &trying->found);
	for (size_t i = 0; i < result->class_count && i < MOST_CLASSES && r == 0; i++)
		if (result->classes[i].verdict == COMPARE_CHANGED)
			r = try_class(trying, compare, &result->classes[i]);
	replay_threads_done(&trying->found);
	free(trying);
	return r;
}
