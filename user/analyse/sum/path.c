/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The paths that are asked for, and their sums. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/sum/path_internal.h"
#include "convert/stays.h"

struct clew_segment clew_path_place(const struct clew_path_sum *sum,
				    const struct clew_path_segment *segment)
{
	return clew_place_at(sum->places, sum->model, segment->span, segment->start, segment->end);
}

static int sum_segments(struct clew_path_sum *sum, const struct clew_found_path *found)
{
	int r = 0;

	for (size_t i = 0; i < found->segment_count && r == 0; i++) {
		const struct clew_path_segment *segment = &found->segments[i];
		struct clew_segment place;

		r = clew_path_stacks_add(&sum->stacks, sum->model, segment);
		if (segment->kind != CLEW_SEGMENT_RUNNING || r < 0)
			continue;
		place = clew_path_place(sum, segment);
		r = clew_place_sums_add(&sum->ran_in, sum->places, &place,
					clew_segment_length(&place));
	}
	return r;
}

int clew_path_sum_marks(struct clew_path_sum *sum, const char *marks,
			struct clew_query_error *ret_error)
{
	int r = 0;

	for (size_t i = 0; i < sum->count && r == 0; i++) {
		struct clew_found_path *found = &sum->found[i];

		r = clew_path_marks(sum->model, &found->path, marks, strlen(marks), &found->marks,
				    &found->mark_count, ret_error);
	}
	return r;
}

static void add_up(struct clew_path_counts *counts, const struct clew_path *path)
{
	counts->start = counts->count && counts->start < path->start ? counts->start : path->start;
	counts->end = counts->count && counts->end > path->end ? counts->end : path->end;
	counts->whole += path->end - path->start;
	counts->work += path->work;
	counts->count++;
}

static int sum_up(struct clew_path_sum *sum, const struct clew_found_path *found)
{
	int r = clew_path_totals_add(sum->totals, found->segments, found->segment_count);

	return r < 0 ? r : sum_segments(sum, found);
}

static void free_found(struct clew_found_path *found)
{
	free(found->path.es);
	free(found->segments);
	free(found->marks);
}

/* Takes ownership of what was found. 0 or -ENOMEM. */
static int store(struct clew_path_sum *sum, struct clew_found_path *found)
{
	struct clew_found_path *grown = sum->found;

	if (!(sum->count & (sum->count - 1)))
		grown = reallocarray(grown, sum->count ? 2 * sum->count : 1, sizeof(*grown));
	if (!grown) {
		free_found(found);
		return -ENOMEM;
	}
	sum->found = grown;
	grown[sum->count++] = *found;
	return 0;
}

/*
 * Takes ownership of a path. Only the first of several paths between the same two
 * positions is summed. 0 or -ENOMEM.
 */
static int keep(struct clew_path_sum *sum, struct clew_path *path, uint32_t span, bool first)
{
	struct clew_found_path found = {.path = *path, .span = span};
	int r;

	path->es = NULL;
	add_up(&sum->counts, &found.path);
	r = clew_path_segments(sum->model, &found.path, &found.segments, &found.segment_count);
	if (r == 0)
		r = clew_places_cut(sum->places, sum->model, &found.segments, &found.segment_count);
	if (r == 0 && first)
		r = sum_up(sum, &found);
	if (r == 0 && sum->asked->keep)
		return store(sum, &found);
	free_found(&found);
	return r;
}

/*
 * `span`: the span whose instance it is, which begins at `start` or before; or
 * CLEW_NONE. 0, -ENOENT if no path leads there, -EINVAL if the model is inconsistent, or -ENOMEM.
 */
static int find(struct clew_path_sum *sum, const struct clew_position *from,
		const struct clew_position *to, uint32_t span, clew_time start)
{
	struct clew_paths paths = {};
	int r = clew_path_find(sum->finder, from, to, &sum->asked->options, &paths);

	if (r == -ENOENT && span != CLEW_NONE) {
		sum->counts.without_path++;
		return 0;
	}
	for (size_t i = 0; i < paths.count && r == 0; i++) {
		if (start < paths.paths[i].start)
			paths.paths[i].start = start;
		r = keep(sum, &paths.paths[i], span, i == 0);
	}
	clew_paths_done(&paths);
	return r;
}

int path_find_operation(struct clew_path_sum *sum, uint32_t span,
			const struct clew_path_operation *operation)
{
	return find(sum, &operation->start, &operation->end, span, operation->from);
}

static int find_operations(struct clew_path_sum *sum, uint32_t span)
{
	struct clew_path_operation *operations;
	size_t count;
	int r = clew_path_operations(sum->model, span, sum->asked->idle, &operations, &count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < count && r == 0; i++)
		r = path_find_operation(sum, span, &operations[i]);
	free(operations);
	return r;
}

static int find_instance(struct clew_path_sum *sum, uint32_t number)
{
	const struct clew_span *span = &sum->model->spans[number];
	const struct clew_position from = {span->elementary.first, span->start};
	const struct clew_position to = {span->elementary.first + span->elementary.count - 1,
					 span->end};

	return find(sum, &from, &to, number, from.at);
}

int clew_path_sum_span(struct clew_path_sum *sum, uint32_t span)
{
	return sum->asked->operations ? find_operations(sum, span) : find_instance(sum, span);
}

int clew_path_sum_between(struct clew_path_sum *sum, const struct clew_position *from,
			  const struct clew_position *to)
{
	return find(sum, from, to, CLEW_NONE, from->at);
}

int clew_path_sum_model(struct clew_path_sum *sum, const struct clew_model *model,
			struct clew_trace *stacks)
{
	sum->model = model;
	sum->stacks.trace = stacks;
	if (clew_path_finder_new(model, &sum->finder) < 0 ||
	    clew_stays_of_model(model, &sum->places) < 0 ||
	    clew_path_totals_new(model, &sum->totals) < 0)
		return -ENOMEM;
	return 0;
}

void clew_path_sum_begin(struct clew_path_sum *sum, const struct clew_path_asked *asked)
{
	*sum = (struct clew_path_sum){.asked = asked,
				      .windows.longs.item = sizeof(struct clew_operation)};
	parties_init(&sum->windows.parties, &sum->windows.arena);
}

void clew_path_sum_done(struct clew_path_sum *sum)
{
	for (size_t i = 0; i < sum->count; i++)
		free_found(&sum->found[i]);
	free(sum->found);
	clew_place_sums_done(&sum->ran_in);
	clew_trace_free(sum->places);
	clew_path_stacks_done(&sum->stacks);
	clew_path_totals_free(sum->totals);
	clew_path_finder_free(sum->finder);
	path_windows_done(&sum->windows);
}
