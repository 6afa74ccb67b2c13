/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Runs a capture again in which a function was recorded, with calls that take longer: the growth of
 * its operations over what was added to the calls meanwhile is the slope.
 */
#include "cli/one/try_predict.h"

#include <clew/what_if.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/operand/open.h"
#include "cli/operand/selection.h"
#include "compare/replay.h"
#include "convert/convert.h"
#include "query/regex.h"

/* ---- the operations ---- */

static int find(const struct clew_try_values *values, const char *name,
		const struct clew_trace *trace, struct timed *ret_timed)
{
	struct clew_selection selection = {};
	const struct clew_chosen chosen = {
		.wants = clew_selection_wants, .context = &selection, .some = true};
	struct clew_relations *relations;
	int status, r;

	if (values->class)
		return timed_find_class(trace, &chosen, name, ret_timed) < 0 ? clew_fail_memory()
									     : 0;
	status = clew_open_relations(trace, 0, &relations);
	if (status)
		return status;
	r = timed_find_calls(relations, &chosen, name, ret_timed);
	clew_relations_free(relations);
	return r < 0 ? clew_fail_memory() : 0;
}

int clew_try_find(const struct clew_try_values *values, const struct clew_trace *trace,
		  const char *title, struct timed *ret_timed)
{
	const char *option = values->class ? "--class" : "--operation",
		   *name = values->class ?: values->operation;
	struct timed all = {};
	int status;

	*ret_timed = (struct timed){};
	status = find(values, name, trace, ret_timed);
	if (status || ret_timed->all.count)
		return status;
	status = find(values, "*", trace, &all);
	if (!status)
		status = clew_fail(CLEW_EXIT_NEGATIVE,
				   "%s: %s has no whole operation named '%s': %s%s%s%s", option,
				   title, name, all.name ? "name one of " : "let it run for longer",
				   all.name ?: "", all.others ? ", " : "", all.others ?: "");
	timed_done(&all);
	return status;
}

/* ---- the run ---- */

/* The function in OBJECT:FUNCTION. */
static const char *function_in(const char *text)
{
	const char *colon = strrchr(text, ':');

	while (colon && colon > text && colon[-1] == ':') /* of C++ */
		colon = memrchr(text, ':', (size_t)(colon - 1 - text));
	return colon ? colon + 1 : text;
}

/* A program by which each call of a function takes longer. NULL: no memory. */
static char *write_program(const char *function, uint64_t ns)
{
	char *exact = malloc(2 * strlen(function) + 2), *text;
	int size = exact ? (int)regex_write_exact(exact, function) : 0;

	if (!exact)
		return NULL;
	if (asprintf(&text, "change spans(**/(%.*s)) by duration(%" PRIu64 "ns);", size, exact,
		     ns) < 0)
		text = NULL;
	free(exact);
	return text;
}

/* Runs the model again with longer calls. 0 or, after clew_fail(), an exit status. */
static int run_again(const struct clew_model *model, const char *trace, const char *text,
		     uint64_t *ret_calls, struct clew_model **ret_after)
{
	struct clew_what_if_options options = {.hierarchy = CLEW_NONE, .matches = ret_calls};
	struct clew_query_error error = {};
	struct clew_program *program = NULL;
	struct clew_what_if result;
	int r = clew_program_compile(text, strlen(text), false, &program, &error);

	if (r == 0)
		r = clew_what_if(model, program, &options, ret_after, &result, &error);
	clew_program_free(program);
	if (r == -ENOMEM)
		return clew_fail_memory();
	return r < 0 ? clew_fail(CLEW_EXIT_INPUT, "%s: %s: see clew check", trace, error.message)
		     : 0;
}

/* ---- the growth ---- */

/* A capture, both runs of it, and what is timed in them. */
struct predicting {
	const struct clew_try_values *values;
	const char *operand;
	struct clew_trace *trace; /* NULL: a span is timed */
	struct clew_model *model, *after;
	struct timed timed;
	uint64_t operations, calls; /* the calls between the first operation and the last one */
	double growth;		    /* ns of all operations */
};

/* Counts the calls that begin in an interval, ns. */
static void count_calls(struct predicting *predicting, uint64_t from, uint64_t to)
{
	const struct clew_model *model = predicting->model;
	const char *name = function_in(predicting->values->function);

	for (uint32_t i = 0; i < model->span_count; i++)
		predicting->calls += model->spans[i].start >= (clew_time)from &&
				     model->spans[i].start <= (clew_time)to &&
				     !strcmp(clew_model_string(model, model->spans[i].name), name);
}

/* Adds the growth of the spans of the operation's function. */
static void grow_spans(struct predicting *predicting)
{
	const struct clew_model *before = predicting->model, *after = predicting->after;
	const char *name = function_in(predicting->values->span);

	for (uint32_t i = 0; i < before->span_count; i++) {
		const struct clew_span *span = &before->spans[i], *now = &after->spans[i];

		if (strcmp(clew_model_string(before, span->name), name) != 0)
			continue;
		predicting->growth +=
			(double)(now->end - now->start) - (double)(span->end - span->start);
		predicting->operations++;
	}
	count_calls(predicting, 0, UINT64_MAX >> 1);
}

/* Adds that of the operations of a class. */
static int grow_operations(struct predicting *predicting)
{
	const struct timed_operation *all = predicting->timed.all.data;
	struct replay_threads threads;
	uint64_t from = UINT64_MAX, to = 0;
	int r = replay_threads_find(predicting->model, &threads);

	for (size_t i = 0; i < predicting->timed.all.count && r == 0; i++) {
		struct replay_operation operation;

		if (!replay_place(&threads, all[i].tid, all[i].from, all[i].to, &operation))
			continue;
		predicting->growth += (double)(replay_length_in(predicting->model,
								predicting->after, &operation) -
					       replay_length(predicting->model, &operation));
		predicting->operations++;
		from = all[i].from < from ? all[i].from : from;
		to = all[i].to > to ? all[i].to : to;
	}
	count_calls(predicting, from, to);
	replay_threads_done(&threads);
	return r < 0 ? clew_fail_memory() : 0;
}

static int open_operations(struct predicting *predicting)
{
	int status = clew_open_trace(predicting->operand, 0, &predicting->trace), r;

	if (!status)
		status = clew_try_find(predicting->values, predicting->trace, predicting->operand,
				       &predicting->timed);
	if (status)
		return status;
	r = clew_model_from_trace(predicting->trace, &predicting->model);
	if (r == -ENOMEM)
		return clew_fail_memory();
	return r < 0 ? clew_fail(CLEW_EXIT_INPUT,
				 "%s: has more in it than a causal trace can hold: record for a "
				 "shorter time",
				 predicting->operand)
		     : 0;
}

static void predicting_done(struct predicting *predicting)
{
	timed_done(&predicting->timed);
	clew_model_free(predicting->after);
	clew_model_free(predicting->model);
	clew_trace_free(predicting->trace);
}

int clew_try_predict(const struct clew_try_values *values, const char *operand, uint64_t ns,
		     double *ret_slope)
{
	struct predicting predicting = {.values = values, .operand = operand};
	char *text = write_program(function_in(values->function), ns);
	uint64_t calls = 0;
	int status = 0;

	if (!text)
		status = clew_fail_memory();
	else if (values->span)
		status = clew_open_model(operand, &predicting.model, NULL);
	else
		status = open_operations(&predicting);
	if (!status)
		status = run_again(predicting.model, operand, text, &calls, &predicting.after);
	if (!status && values->span)
		grow_spans(&predicting);
	else if (!status)
		status = grow_operations(&predicting);
	if (!status && (!calls || (values->span && !predicting.operations)))
		status =
			clew_fail(CLEW_EXIT_INPUT, "%s has no calls of %s: record with -f %s%s%s",
				  operand, calls ? values->span : values->function,
				  values->function, values->span ? " -f " : "", values->span ?: "");
	if (!status && !predicting.operations)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "%s: no thread's timeline has a whole operation: record for "
				   "longer",
				   operand);
	if (!status && !predicting.calls)
		status = clew_fail(CLEW_EXIT_INPUT,
				   "%s has no calls of %s while there were operations: record for "
				   "longer",
				   operand, values->function);
	if (!status)
		*ret_slope = predicting.growth / ((double)predicting.calls * (double)ns);
	predicting_done(&predicting);
	free(text);
	return status;
}
