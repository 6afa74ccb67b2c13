/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The paths that clew path is asked for, and their sums. See path.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/front/fail.h"
#include "cli/path/path.h"
#include "convert/stays.h"

bool path_is_all(const struct path_values *values)
{
	return values->all || !values->from;
}

int path_out_of_memory(void)
{
	return clew_fail(CLEW_EXIT_SYSTEM,
			 "path: out of memory: free some, or take a smaller trace");
}

struct clew_segment path_place_of(const struct path_answer *answer,
				  const struct clew_path_segment *segment)
{
	return clew_place_at(answer->places, answer->model, segment->span, segment->start,
			     segment->end);
}

static int sum_segments(struct path_answer *answer, const struct path_found *found)
{
	int r = 0;

	for (size_t i = 0; i < found->segment_count && r == 0; i++) {
		const struct clew_path_segment *segment = &found->segments[i];
		struct clew_segment place;

		r = clew_path_stacks_add(&answer->stacks, answer->model, segment);
		if (segment->kind != CLEW_SEGMENT_RUNNING || r < 0)
			continue;
		place = path_place_of(answer, segment);
		r = clew_place_sums_add(&answer->ran_in, answer->places, &place,
					clew_segment_length(&place));
	}
	return r;
}

static int find_marks(struct path_answer *answer)
{
	const char *marks = answer->values->marks;
	struct clew_query_error error;
	int r = 0;

	for (size_t i = 0; marks && i < answer->count && r == 0; i++) {
		struct path_found *found = &answer->found[i];

		r = clew_path_marks(answer->model, &found->path, marks, strlen(marks),
				    &found->marks, &found->mark_count, &error);
	}
	if (r == -EINVAL)
		return clew_fail(CLEW_EXIT_INPUT, "--marks, at byte %zu: %s", error.offset,
				 error.message);
	return r < 0 ? clew_fail_query("--marks", r) : 0;
}

static void add_up(struct path_sum *sum, const struct clew_path *path)
{
	sum->start = sum->count && sum->start < path->start ? sum->start : path->start;
	sum->end = sum->count && sum->end > path->end ? sum->end : path->end;
	sum->whole += path->end - path->start;
	sum->work += path->work;
	sum->count++;
}

static int sum_up(struct path_answer *answer, const struct path_found *found)
{
	int r = clew_path_totals_add(answer->totals, found->segments, found->segment_count);

	return r < 0 ? r : sum_segments(answer, found);
}

static void free_found(struct path_found *found)
{
	free(found->path.es);
	free(found->segments);
	free(found->marks);
}

/* Takes ownership of what was found. 0 or -ENOMEM. */
static int store(struct path_answer *answer, struct path_found *found)
{
	struct path_found *grown = answer->found;

	if (!(answer->count & (answer->count - 1)))
		grown = reallocarray(grown, answer->count ? 2 * answer->count : 1, sizeof(*grown));
	if (!grown) {
		free_found(found);
		return -ENOMEM;
	}
	answer->found = grown;
	grown[answer->count++] = *found;
	return 0;
}

/*
 * Takes ownership of a path. Only the first of several paths between the same two
 * positions is summed. 0 or -ENOMEM.
 */
static int keep(struct path_answer *answer, struct clew_path *path, uint32_t span, bool sum)
{
	struct path_found found = {.path = *path, .span = span};
	int r;

	path->es = NULL;
	add_up(&answer->sum, &found.path);
	r = clew_path_segments(answer->model, &found.path, &found.segments, &found.segment_count);
	if (r == 0)
		r = clew_places_cut(answer->places, answer->model, &found.segments,
				    &found.segment_count);
	if (r == 0 && sum)
		r = sum_up(answer, &found);
	/* Text shows only sums of instances. */
	if (r == 0 && (!path_is_all(answer->values) || answer->values->json))
		return store(answer, &found);
	free_found(&found);
	return r;
}

/*
 * `span`: the span whose instance it is, which begins at `start` or before; or
 * CLEW_NONE. 0, -ENOENT if no path leads there, -EINVAL if the model is inconsistent, or -ENOMEM.
 */
static int find(struct path_answer *answer, const struct clew_position *from,
		const struct clew_position *to, uint32_t span, clew_time start)
{
	const struct clew_path_options options = {
		.strategy = answer->values->strategy,
		.all_origins = answer->values->all_origins,
		.top = answer->values->top.value,
	};
	struct clew_paths paths = {};
	int r = clew_path_find(answer->finder, from, to, &options, &paths);

	if (r == -ENOENT && span != CLEW_NONE) {
		answer->sum.without_path++;
		return 0;
	}
	for (size_t i = 0; i < paths.count && r == 0; i++) {
		if (start < paths.paths[i].start)
			paths.paths[i].start = start;
		r = keep(answer, &paths.paths[i], span, i == 0);
	}
	clew_paths_done(&paths);
	return r;
}

int path_find_operation(struct path_answer *answer, uint32_t span,
			const struct clew_path_operation *operation)
{
	return find(answer, &operation->start, &operation->end, span, operation->from);
}

static int find_operations(struct path_answer *answer, uint32_t span)
{
	struct clew_path_operation *operations;
	size_t count;
	int r = clew_path_operations(answer->model, span, answer->values->idle, &operations,
				     &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++)
		r = path_find_operation(answer, span, &operations[i]);
	free(operations);
	return r;
}

static int find_instance(struct path_answer *answer, uint32_t number)
{
	const struct clew_span *span = &answer->model->spans[number];
	const struct clew_position from = {span->elementary.first, span->start};
	const struct clew_position to = {span->elementary.first + span->elementary.count - 1,
					 span->end};

	return find(answer, &from, &to, number, from.at);
}

int path_spans(const struct path_values *values, const struct clew_scope *scope,
	       const struct clew_model *model, uint32_t **ret_spans, size_t *ret_count)
{
	int status = 0;

	*ret_spans = NULL;
	if (values->all)
		status = clew_find_spans("--all", values->all, model, scope, ret_spans, ret_count);
	else
		*ret_spans = clew_scope_roots(model, scope, ret_count);
	if (status)
		return status;
	if (!*ret_spans)
		return path_out_of_memory();
	clew_sort_spans(*ret_spans, ret_count);
	return 0;
}

static int fail(const struct path_answer *answer, int r)
{
	if (r == -ENOENT)
		return clew_fail(
			CLEW_EXIT_NEGATIVE,
			"no path leads from '%s' to '%s': see with clew dump what depends on what",
			answer->values->from, answer->values->to);
	if (r < 0 && r != -ENOMEM)
		return clew_fail(CLEW_EXIT_INPUT, "the trace is inconsistent: see clew check");
	return r < 0 ? path_out_of_memory() : 0;
}

static int find_all(struct path_answer *answer)
{
	uint32_t *spans;
	size_t count;
	int status = path_spans(answer->values, &answer->scope, answer->model, &spans, &count),
	    r = 0;

	if (status)
		return status;
	for (size_t i = 0; i < count && r == 0; i++)
		r = answer->values->operations ? find_operations(answer, spans[i])
					       : find_instance(answer, spans[i]);
	free(spans);
	return r < 0 ? fail(answer, r) : path_check_found(answer);
}

int path_check_found(const struct path_answer *answer)
{
	const struct path_values *values = answer->values;

	if (answer->sum.count)
		return 0;
	if (values->operations && !answer->sum.without_path)
		return clew_fail(CLEW_EXIT_NEGATIVE,
				 "no operation of '%s' lies between two idle waits: choose other "
				 "spans, or other waits with --idle",
				 values->all ?: "all");
	return clew_fail(CLEW_EXIT_NEGATIVE, "no span of '%s' has a path: see clew check",
			 values->all ?: "all");
}

static int find_one(struct path_answer *answer)
{
	struct clew_position from, to;
	int status = clew_find_ends(answer->ends.from, answer->ends.to, answer->model,
				    &answer->scope, &from, &to);

	return status ? status : fail(answer, find(answer, &from, &to, CLEW_NONE, from.at));
}

int path_find(struct path_answer *answer)
{
	int status = path_is_all(answer->values) ? find_all(answer) : find_one(answer);

	return status ? status : find_marks(answer);
}

int path_answer_init(struct path_answer *answer, const struct clew_model *model,
		     struct clew_trace *stacks)
{
	answer->model = answer->names.model = model;
	answer->stacks.trace = stacks;
	if (clew_path_finder_new(model, &answer->finder) < 0 ||
	    clew_stays_of_model(model, &answer->places) < 0 ||
	    clew_path_totals_new(model, &answer->totals) < 0)
		return -ENOMEM;
	return 0;
}

void path_answer_done(struct path_answer *answer)
{
	for (size_t i = 0; i < answer->count; i++)
		free_found(&answer->found[i]);
	free(answer->found);
	clew_span_names_done(&answer->names);
	clew_place_sums_done(&answer->ran_in);
	clew_trace_free(answer->places);
	clew_path_stacks_done(&answer->stacks);
	clew_path_totals_free(answer->totals);
	clew_path_finder_free(answer->finder);
}
