/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `path` as JSON. */
#include "answers/path/path.h"

#include <clew/tokens.h>

#include "answers/path/path_stacks.h"
#include "answers/path/path_via.h"
#include "words/es.h"
#include "words/lines.h"
#include "words/places.h"
#include "words/running.h"
#include "words/stack_table.h"
#include "words/truth.h"

/* The answer, on its way out. */
struct printed {
	struct clew_path_sum *sum; /* its lists are sorted when they are asked for */
	struct clew_span_names names;
	int error; /* of the printing, 0 none */
};

/* The first failure of an output that goes on. */
static void note(struct printed *answer, int r)
{
	if (!answer->error)
		answer->error = r;
}

static void json_elements(struct clew_json *json, struct printed *answer,
			  const struct clew_found_path *found)
{
	for (uint32_t i = 0; i < found->path.count; i++) {
		const struct clew_es *es = &answer->sum->model->es[found->path.es[i]];

		clew_json_object(json, NULL);
		clew_json_es_fields(json, &answer->names, found->path.es[i]);
		clew_json_signed(json, "start", es->start);
		clew_json_signed(json, "end", es->end);
		clew_json_via_dependency(json, answer->sum->model, &found->path, i);
		clew_json_object_end(json);
	}
}

static void json_segments(struct clew_json *json, struct printed *answer,
			  const struct clew_found_path *found)
{
	const struct clew_model *model = answer->sum->model;

	for (size_t i = 0; i < found->segment_count; i++) {
		const struct clew_path_segment *segment = &found->segments[i];

		clew_json_object(json, NULL);
		clew_json_signed(json, "start", segment->start);
		clew_json_signed(json, "end", segment->end);
		clew_json_signed(json, "ns", segment->end - segment->start);
		clew_json_string(json, "kind", clew_wait_kind_name(segment->kind));
		clew_json_es_fields(json, &answer->names, segment->es);
		clew_json_bool(json, "on_path", segment->on_path);
		if (segment->dependency != CLEW_NONE) {
			clew_json_unsigned(json, "dep", segment->dependency + 1);
			clew_json_string(
				json, "type",
				clew_model_string(
					model, model->types[model->dependencies[segment->dependency]
								    .type]));
		}
		clew_json_string(json, "object", clew_path_segment_object(model, segment));
		if (segment->child != CLEW_NONE)
			clew_json_string(json, "child",
					 clew_span_name(&answer->names, segment->child));
		if (segment->kind == CLEW_SEGMENT_RUNNING) {
			struct clew_segment place = clew_path_place(answer->sum, segment);

			clew_json_running(json, answer->sum->places, &place);
		}
		note(answer, clew_json_path_stack(json, &answer->sum->stacks, model, segment));
		clew_json_object_end(json);
	}
}

static void json_marks(struct clew_json *json, struct printed *answer,
		       const struct clew_found_path *found)
{
	for (size_t i = 0; i < found->mark_count; i++) {
		const struct clew_mark *mark = &answer->sum->model->marks[found->marks[i].mark];

		clew_json_object(json, NULL);
		clew_json_es_fields(json, &answer->names, found->marks[i].es);
		clew_json_string(json, "label", clew_model_string(answer->sum->model, mark->label));
		clew_json_signed(json, "at", mark->at);
		clew_json_object_end(json);
	}
}

static void json_calls(struct clew_json *json, struct printed *answer)
{
	size_t count;
	const struct clew_place_sum *sums = clew_place_sums_list(&answer->sum->ran_in, &count);

	clew_json_array(json, "calls");
	for (size_t i = 0; i < count; i++) {
		clew_json_object(json, NULL);
		clew_json_place_sum(json, &sums[i]);
		clew_json_unsigned(json, "segments", sums[i].segments);
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
}

static void json_totals(struct clew_json *json, struct printed *answer)
{
	static const char *const keys[] = {[CLEW_BY_KIND] = "kinds",
					   [CLEW_BY_THREAD] = "threads",
					   [CLEW_BY_FUNCTION] = "functions",
					   [CLEW_BY_OBJECT] = "objects"};
	size_t count, at = 0;
	const struct clew_path_total *totals = clew_path_totals_list(answer->sum->totals, &count);

	clew_json_object(json, "totals");
	for (uint32_t dimension = 0; dimension < CLEW_BY_COUNT; dimension++) {
		clew_json_array(json, keys[dimension]);
		for (; at < count && totals[at].dimension == dimension; at++) {
			clew_json_object(json, NULL);
			if (dimension == CLEW_BY_KIND || dimension == CLEW_BY_OBJECT)
				clew_json_string(json, "kind",
						 clew_wait_kind_name(totals[at].kind));
			if (dimension == CLEW_BY_THREAD)
				clew_json_string(json, "span",
						 clew_span_name(&answer->names, totals[at].span));
			if (totals[at].name)
				clew_json_string(json,
						 dimension == CLEW_BY_OBJECT ? "object" : "name",
						 totals[at].name);
			clew_json_signed(json, "ns", totals[at].ns);
			clew_json_unsigned(json, "segments", totals[at].segments);
			clew_json_object_end(json);
		}
		clew_json_array_end(json);
	}
	json_calls(json, answer);
	clew_json_object_end(json);
}

static void json_path_head(struct clew_json *json, const struct clew_found_path *found)
{
	clew_json_signed(json, "start", found->path.start);
	clew_json_signed(json, "end", found->path.end);
	clew_json_signed(json, "work", found->path.work);
}

/* From the start of the first of `count` paths to the end of the last. */
static void find_extent(const struct printed *answer, size_t count, clew_time *ret_start,
			clew_time *ret_end)
{
	*ret_start = answer->sum->found[0].path.start;
	*ret_end = answer->sum->found[0].path.end;
	for (size_t i = 1; i < count; i++) {
		const struct clew_path *path = &answer->sum->found[i].path;

		*ret_start = path->start < *ret_start ? path->start : *ret_start;
		*ret_end = path->end > *ret_end ? path->end : *ret_end;
	}
}

/* With --all, the elements and segments are those of all instances in turn. */
static void json_answer(struct clew_json *json, struct printed *answer, bool several)
{
	bool all = answer->sum->asked->all;
	size_t shown = all ? answer->sum->count : 1;
	clew_time start, end, work = 0, total = 0;

	find_extent(answer, shown, &start, &end);
	for (size_t i = 0; i < shown; i++) {
		const struct clew_path *path = &answer->sum->found[i].path;

		work += path->work;
		total += path->end - path->start;
	}
	clew_json_string(json, "strategy",
			 clew_strategy_name(answer->sum->asked->options.strategy));
	clew_json_signed(json, "start", start);
	clew_json_signed(json, "end", end);
	clew_json_signed(json, "work", work);
	clew_json_signed(json, "total_ns", total);
	clew_json_array(json, "elements");
	for (size_t i = 0; i < shown; i++)
		json_elements(json, answer, &answer->sum->found[i]);
	clew_json_array_end(json);
	clew_json_array(json, "segments");
	for (size_t i = 0; i < shown; i++)
		json_segments(json, answer, &answer->sum->found[i]);
	clew_json_array_end(json);
	clew_json_array(json, "marks");
	for (size_t i = 0; i < shown; i++)
		json_marks(json, answer, &answer->sum->found[i]);
	clew_json_array_end(json);
	json_totals(json, answer);
	note(answer, clew_json_path_stacks(json, &answer->sum->stacks));
	clew_json_array(json, all ? "instances" : "paths");
	for (size_t i = 0; i < answer->sum->count && (all || several); i++) {
		clew_json_object(json, NULL);
		if (all)
			clew_json_string(
				json, "span",
				clew_span_name(&answer->names, answer->sum->found[i].span));
		json_path_head(json, &answer->sum->found[i]);
		if (all) {
			clew_json_unsigned(json, "elements", answer->sum->found[i].path.count);
			clew_json_unsigned(json, "segments", answer->sum->found[i].segment_count);
		} else {
			clew_json_array(json, "elements");
			json_elements(json, answer, &answer->sum->found[i]);
			clew_json_array_end(json);
			clew_json_array(json, "segments");
			json_segments(json, answer, &answer->sum->found[i]);
			clew_json_array_end(json);
		}
		clew_json_object_end(json);
	}
	clew_json_array_end(json);
	if (all)
		clew_json_unsigned(json, "without_path", answer->sum->counts.without_path);
	find_extent(answer, answer->sum->count, &start, &end);
	if (answer->sum->stacks.trace)
		clew_json_lines_told(json, answer->sum->stacks.trace);
	clew_json_model_truth(json, answer->sum->model, start, end);
}

int clew_json_paths(FILE *out, struct clew_path_sum *sum, bool several)
{
	struct printed answer = {.sum = sum, .names.model = sum->model};
	struct clew_stacked stacked;
	int r = clew_stacked_begin(&stacked, sum->stacks.trace);

	if (r == 0) {
		json_answer(&stacked.fields.json, &answer, several);
		r = clew_stacked_end(&stacked, out);
	}
	note(&answer, r);
	clew_span_names_done(&answer.names);
	return answer.error;
}
