/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * clew blame of a long capture: each window's waits are charged in a process of its own, and the
 * pairs are added up. See trace/windows.h and blame_sum.h.
 */
#include "cli/blame/blame.h"

#include <clew/kernel/records.h>
#include <clew/query.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/blame/blame_sum.h"
#include "cli/front/fail.h"
#include "cli/operand/query.h"
#include "cli/operand/windows.h"
#include "convert/convert.h"
#include "trace/stacks.h"
#include "words/lines.h"

/* The chosen threads, by the names of the whole capture: tables of serials, NULL: all. */
struct summing {
	struct map *victims, *antagonists;
	bool calls; /* what the victims called is one, too */
	struct blame_sum sum;
};

/* ---- in the process of a window ---- */

static int choose(const struct summing *summing, const struct clew_trace *trace,
		  const struct clew_model *model, struct blame_choice *choice)
{
	choice->victims = summing->victims ? parties_spans_of(trace, model, summing->victims,
							      summing->calls, &choice->victim_count)
					   : blame_find_others(model, NULL, &choice->victim_count);
	if (summing->antagonists)
		choice->antagonists = parties_spans_of(trace, model, summing->antagonists, false,
						       &choice->antagonist_count);
	return choice->victims && (!summing->antagonists || choice->antagonists) ? 0 : -ENOMEM;
}

static clew_time time_of(uint64_t at)
{
	return at < INT64_MAX ? (clew_time)at : INT64_MAX;
}

static int charge(const struct summing *summing, const struct clew_trace *trace,
		  const struct clew_model *model, const struct clew_trace_window *window,
		  struct shared *out)
{
	struct clew_pair_places ran_in;
	struct blame_choice choice = {};
	struct clew_blame_pair *pairs = NULL;
	clew_time unknown = 0;
	size_t count;
	int r = clew_pair_places_init(&ran_in, model, clew_trace_has_stacks(trace) ? trace : NULL);

	if (r == 0)
		r = choose(summing, trace, model, &choice);
	if (r == 0)
		r = clew_blame_find(model,
				    &(struct clew_blame_options){
					    .victims = choice.victims,
					    .victim_count = choice.victim_count,
					    .antagonists = choice.antagonists,
					    .antagonist_count = choice.antagonist_count,
					    .charged = clew_pair_places_charge,
					    .context = &ran_in,
					    .ends_from = time_of(window->from),
					    .ends_to = time_of(window->to),
					    .known = time_of(window->known),
					    .unknown = &unknown,
				    },
				    &pairs, &count);
	if (r == 0)
		r = blame_sum_export(trace, model, pairs, count, &ran_in, unknown, out);
	free(pairs);
	blame_choice_done(&choice);
	clew_pair_places_done(&ran_in);
	return r;
}

static int look(void *context, struct clew_trace *trace, const struct clew_trace_window *window,
		struct shared *out)
{
	struct clew_model *model;
	int r = clew_model_from_trace(trace, &model);

	if (r < 0)
		return r;
	r = charge(context, trace, model, window, out);
	clew_model_free(model);
	return r;
}

static int add(void *context, const struct shared *found)
{
	return blame_sum_add(&((struct summing *)context)->sum, found);
}

/* ---- in the calling process ---- */

/* Finds the threads that were chosen. 0 or, after clew_fail(), an exit status. */
static int choose_by_names(const char *operand, struct clew_reader *reader,
			   const struct blame_values *values, struct map *victims,
			   struct map *antagonists)
{
	struct blame_choice choice = {};
	struct clew_trace *names;
	struct clew_model *model;
	bool *only = NULL;
	int status = clew_windows_names(operand, reader, &names);

	if (status)
		return status;
	if (clew_model_from_trace(names, &model) < 0) {
		clew_trace_free(names);
		return blame_fail_for_memory();
	}
	status = clew_groups_spans(model, &values->group, &only);
	if (!status)
		status = blame_choose(model, values, only, &choice);
	if (!status &&
	    (parties_list(names, choice.victims, choice.victim_count, victims) < 0 ||
	     parties_list(names, choice.antagonists, choice.antagonist_count, antagonists) < 0))
		status = blame_fail_for_memory();
	blame_choice_done(&choice);
	free(only);
	clew_model_free(model);
	clew_trace_free(names);
	return status;
}

bool blame_has_windows(const struct clew_reader *reader, const struct blame_values *values)
{
	/* Functions that were called are spans as well, which the names do not have. */
	bool functions = clew_reader_info(reader)->counts[CLEW_KIND_FUNCTION] > 0;

	return !values->all_running && !values->by && clew_is_by_name(values->victims) &&
	       clew_is_by_name(values->antagonists) &&
	       (!functions || (!values->victims && !values->antagonists));
}

static int print(struct summing *summing, const struct blame_values *values,
		 struct clew_trace *names)
{
	struct blame_answer answer = {
		.from = INT64_MIN, .to = INT64_MAX, .unknown = summing->sum.unknown};
	struct clew_trace *stacks = clew_trace_has_stacks(names) ? names : NULL;
	struct clew_model *model = NULL;
	int status = 0;

	if (clew_source_wanted(&values->source))
		status = clew_need_stacks("blame", stacks, &values->source);
	if (!status &&
	    blame_sum_finish(&summing->sum, names, &model, &answer.pairs, &answer.count) < 0)
		status = blame_fail_for_memory();
	if (!status) {
		answer.victims.model = answer.antagonists.model = model;
		answer.ran_in = summing->sum.ran_in;
		answer.ran_in.model = model;
		answer.ran_in.stacks = stacks;
		summing->sum.ran_in = (struct clew_pair_places){};
		status = blame_print(&answer, values);
	}
	if (!status && stacks && !values->json)
		clew_print_lines_told(stdout, stacks);
	blame_answer_done(&answer);
	clew_model_free(model);
	return status;
}

int blame_in_windows(const char *operand, struct clew_reader *reader,
		     const struct blame_values *values)
{
	struct map victims = {}, antagonists = {};
	struct summing summing = {.calls = !values->victims};
	const struct clew_windows_taker taker = {
		.look = look, .add = add, .context = &summing, .models = true};
	struct clew_trace *names = NULL;
	int status = blame_sum_init(&summing.sum) < 0 ? blame_fail_for_memory() : 0;

	if (values->victims || clew_groups_asked(&values->group))
		summing.victims = &victims;
	if (values->antagonists)
		summing.antagonists = &antagonists;
	if (!status && (summing.victims || summing.antagonists))
		status = choose_by_names(operand, reader, values, &victims, &antagonists);
	if (!status)
		status = clew_windows_look(operand, reader, 0, &taker, &names);
	if (!status)
		status = print(&summing, values, names);
	clew_trace_free(names);
	blame_sum_done(&summing.sum);
	map_done(&victims);
	map_done(&antagonists);
	return status;
}
