/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A query's spans and positions in one trace.
 *
 * A stage behind -> or => is matched below those root spans only that the stage
 * before it spawned; they keep their order, which is the trace's or the category's.
 */
#include "query/internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- root spans to begin at ---- */

static int add_spawned(const struct evaluation *evaluation, uint32_t span, uint8_t *spawned,
		       struct list *found)
{
	uint32_t count;
	const uint32_t *roots = clew_forest_spawned(evaluation->forest, span, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (spawned[roots[i]])
			continue;
		spawned[roots[i]] = 1;
		if (query_list_append(found, roots[i]) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* The span after another in its root span's tree, parents before children; CLEW_NONE: there is
 * none. */
static uint32_t next_in_tree(const struct clew_model *model, uint32_t root, uint32_t span)
{
	if (model->spans[span].first_child != CLEW_NONE)
		return model->spans[span].first_child;
	while (span != root && model->spans[span].next_sibling == CLEW_NONE)
		span = model->spans[span].parent;
	return span == root ? CLEW_NONE : model->spans[span].next_sibling;
}

/* Marks the root spans that `from` spawned, with `any_depth` what those spawned in turn, too. */
static int mark_spawned(struct evaluation *evaluation, const struct list *from, bool any_depth,
			uint8_t *spawned)
{
	struct list found = {};
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->count; i++)
		r = add_spawned(evaluation, from->items[i], spawned, &found);
	for (size_t i = 0; r == 0 && any_depth && i < found.count; i++) {
		uint32_t root = found.items[i];

		for (uint32_t span = root; r == 0 && span != CLEW_NONE;
		     span = next_in_tree(evaluation->model, root, span))
			r = add_spawned(evaluation, span, spawned, &found);
	}
	free(found.items);
	return r;
}

/* The root spans in the categories that a path selects; those marked only, where `spawned` is not
 * NULL. */
static int roots_in_categories(struct evaluation *evaluation, const struct path *path,
			       const uint8_t *spawned, struct list *roots)
{
	struct list categories = {};
	int r = query_match_categories(evaluation, path, &categories);

	for (size_t i = 0; r == 0 && i < categories.count; i++) {
		uint32_t count;
		const uint32_t *spans =
			clew_model_category_spans(evaluation->model, categories.items[i], &count);

		for (uint32_t span = 0; r == 0 && span < count; span++)
			if (!spawned || spawned[spans[span]])
				r = query_list_append(roots, spans[span]);
	}
	free(categories.items);
	return r;
}

static int roots_spawned(const struct evaluation *evaluation, const uint8_t *spawned,
			 struct list *roots)
{
	const struct clew_model *model = evaluation->model;
	int r = 0;

	for (uint32_t root = model->first_root; r == 0 && root != CLEW_NONE;
	     root = model->spans[root].next_sibling)
		if (spawned[root])
			r = query_list_append(roots, root);
	return r;
}

/* ---- stages ---- */

static int run_spec(struct evaluation *evaluation, const struct spec *spec, const uint8_t *spawned,
		    struct list *spans)
{
	bool in_categories = spec->category.count > 0 && evaluation->hierarchy != CLEW_NONE;
	struct list roots = {};
	int r = 0;

	if (in_categories)
		r = roots_in_categories(evaluation, &spec->category, spawned, &roots);
	else if (spawned)
		r = roots_spawned(evaluation, spawned, &roots);
	if (r == 0)
		r = query_match_spans(evaluation, &spec->spans,
				      in_categories || spawned ? &roots : NULL, spans);
	free(roots.items);
	return r;
}

static int need_forest(struct evaluation *evaluation)
{
	int r;

	if (evaluation->forest)
		return 0;
	r = clew_forest_new(evaluation->model, NULL, 0, &evaluation->own_forest, NULL);
	evaluation->forest = evaluation->own_forest;
	return r;
}

/* `spans`: of the stage before; becomes this one's. */
static int run_stage(struct evaluation *evaluation, const struct stage *stage, struct list *spans)
{
	uint8_t *spawned = NULL;
	struct list found = {};
	int r = 0;

	if (stage->spawning != SPAWNING_NONE) {
		r = need_forest(evaluation);
		if (r < 0)
			return r;
		spawned = calloc((size_t)evaluation->model->span_count + 1, 1);
		if (!spawned)
			return -ENOMEM;
		r = mark_spawned(evaluation, spans, stage->spawning == SPAWNING_ANY_DEPTH, spawned);
	}
	for (const struct spec *spec = stage->specs; r == 0 && spec; spec = spec->next)
		r = run_spec(evaluation, spec, spawned, &found);
	free(spawned);
	free(spans->items);
	*spans = found;
	return r;
}

static int begin(struct evaluation *evaluation, const struct clew_query *query,
		 const struct clew_model *model, const struct clew_query_options *options)
{
	*evaluation = (struct evaluation){.query = query, .model = model};
	evaluation->hierarchy = options ? options->hierarchy : 0;
	if (evaluation->hierarchy >= model->hierarchy_count)
		evaluation->hierarchy = CLEW_NONE;
	evaluation->forest = options ? options->forest : NULL;
	evaluation->only = options ? options->only : NULL;
	return query->regexes ? regex_scratch_new(&evaluation->scratch) : 0;
}

static void done(struct evaluation *evaluation)
{
	clew_forest_free(evaluation->own_forest);
	regex_scratch_free(evaluation->scratch);
	free(evaluation->unsuspended);
}

static void keep_only(const bool *only, struct list *spans)
{
	size_t kept = 0;

	for (size_t i = 0; i < spans->count; i++)
		if (only[spans->items[i]])
			spans->items[kept++] = spans->items[i];
	spans->count = kept;
}

static int run(struct evaluation *evaluation, struct list *spans)
{
	int r = 0;

	for (const struct stage *stage = evaluation->query->stages; r == 0 && stage;
	     stage = stage->next)
		r = run_stage(evaluation, stage, spans);
	if (r == 0 && evaluation->only)
		keep_only(evaluation->only, spans);
	if (r == 0 && evaluation->query->condition)
		r = query_filter(evaluation, evaluation->query->condition, spans);
	return r;
}

int clew_query_spans(const struct clew_query *query, const struct clew_model *model,
		     const struct clew_query_options *options, uint32_t **ret_spans,
		     size_t *ret_count)
{
	struct evaluation evaluation;
	struct list spans = {};
	int r = begin(&evaluation, query, model, options);

	if (r == 0)
		r = run(&evaluation, &spans);
	done(&evaluation);
	if (r < 0) {
		free(spans.items);
		return r;
	}
	*ret_spans = spans.items;
	*ret_count = spans.count;
	return 0;
}

int clew_query_categories(const struct clew_query *query, const struct clew_model *model,
			  const struct clew_query_options *options, bool span_paths,
			  uint32_t **ret_categories, size_t *ret_count)
{
	struct evaluation evaluation;
	struct list categories = {};
	int r = begin(&evaluation, query, model, options);
	bool possible = evaluation.hierarchy != CLEW_NONE && !query->stages->next;

	for (const struct spec *spec = query->stages->specs; r == 0 && possible && spec;
	     spec = spec->next) {
		if (spec->category.count > 0)
			r = query_match_categories(&evaluation, &spec->category, &categories);
		else if (span_paths)
			r = query_match_categories(&evaluation, &spec->spans, &categories);
	}
	done(&evaluation);
	if (r < 0) {
		free(categories.items);
		return r;
	}
	*ret_categories = categories.items;
	*ret_count = categories.count;
	return 0;
}

/* ---- positions ---- */

struct finder {
	struct evaluation evaluation;
	struct clew_positions *positions;
	size_t capacity;
	clew_time trace_start;
};

static int add_position(struct finder *finder, uint32_t es, clew_time at)
{
	struct clew_positions *positions = finder->positions;

	if (positions->count == finder->capacity) {
		size_t capacity = finder->capacity ? 2 * finder->capacity : 16;
		struct clew_position *items = realloc(positions->items, capacity * sizeof(*items));

		if (!items)
			return -ENOMEM;
		positions->items = items;
		finder->capacity = capacity;
	}
	positions->items[positions->count++] = (struct clew_position){.es = es, .at = at};
	return 0;
}

/* total * percent / 100, rounded down, and whether it was rounded. */
static clew_time part_of(const struct clew_query *query, clew_time total, bool *ret_rounded)
{
	unsigned __int128 fraction = 0, sum;
	bool rounded = false;

	/* From the last digit to the first: cutting off at each of them is cutting off at the end.
	 */
	for (size_t i = strlen(query->decimals); i > 0; i--) {
		fraction += (unsigned __int128)(unsigned)(query->decimals[i - 1] - '0') *
			    (uint64_t)total;
		rounded |= fraction % 10 != 0;
		fraction /= 10;
	}
	sum = (unsigned __int128)query->percent * (uint64_t)total + fraction;
	*ret_rounded = rounded || sum % 100 != 0;
	return (clew_time)(sum / 100);
}

static int find_percent(struct finder *finder, uint32_t span)
{
	const struct clew_query *query = finder->evaluation.query;
	const struct clew_model *model = finder->evaluation.model;
	const struct clew_range *range = &model->spans[span].elementary;
	bool whole = query->decimals[strspn(query->decimals, "0")] == '\0', rounded;
	uint32_t last = range->first + range->count - 1;
	clew_time running, target;
	__int128 before = 0;

	if (query->percent > 100 || (query->percent == 100 && !whole) || range->count == 0)
		return 0;
	if (query->percent == 0 && whole)
		return add_position(finder, range->first, model->es[range->first].start);
	if (query->percent == 100)
		return add_position(finder, last, model->es[last].end);
	running = query_span_running(model, span);
	target = part_of(query, running > 0 ? running : 0, &rounded);
	for (uint32_t es = range->first; es <= last; es++) {
		__int128 sum = before + model->es[es].end - model->es[es].start;

		if (sum > target || (sum == target && !rounded))
			return add_position(finder, es,
					    (clew_time)(model->es[es].start + (target - before)));
		before = sum;
	}
	return 0;
}

static int find_marks(struct finder *finder, uint32_t span)
{
	const struct clew_model *model = finder->evaluation.model;
	const struct clew_range *range = &model->spans[span].elementary;
	int r = 0;

	for (uint32_t es = range->first; es < range->first + range->count; es++) {
		struct clew_range marks = clew_model_marks(model, es);

		for (uint32_t mark = marks.first; mark < marks.first + marks.count; mark++) {
			r = regex_matches(finder->evaluation.query->mark,
					  finder->evaluation.scratch,
					  clew_model_string(model, model->marks[mark].label));
			if (r > 0)
				r = add_position(finder, es, model->marks[mark].at);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int find_moment(struct finder *finder, uint32_t span)
{
	const struct clew_model *model = finder->evaluation.model;
	__int128 at = (__int128)finder->trace_start + finder->evaluation.query->moment;
	uint32_t es;

	if (at < model->spans[span].start || at > model->spans[span].end) {
		finder->positions->outside++;
		return 0;
	}
	es = clew_model_es_at(model, span, (clew_time)at);
	if (es == CLEW_NONE || model->es[es].start > at) {
		finder->positions->suspended++;
		return 0;
	}
	return add_position(finder, es, (clew_time)at);
}

static clew_time start_of(const struct clew_model *model)
{
	clew_time start = model->span_count > 0 ? model->spans[0].start : 0;

	for (uint32_t span = 1; span < model->span_count; span++)
		if (model->spans[span].start < start)
			start = model->spans[span].start;
	return start;
}

static int find_in_spans(struct finder *finder, const struct list *spans)
{
	enum place place = finder->evaluation.query->place;
	int r = 0;

	if (place == PLACE_MOMENT)
		finder->trace_start = start_of(finder->evaluation.model);
	for (size_t i = 0; r == 0 && i < spans->count; i++) {
		if (place == PLACE_PERCENT)
			r = find_percent(finder, spans->items[i]);
		else if (place == PLACE_MARK)
			r = find_marks(finder, spans->items[i]);
		else
			r = find_moment(finder, spans->items[i]);
	}
	return r;
}

/* Leaves the first one of those that are as early or as late as any. */
static void keep_one(struct clew_positions *positions, enum policy policy)
{
	if (policy == POLICY_ALL || positions->count == 0)
		return;
	for (size_t i = 1; i < positions->count; i++) {
		const struct clew_position *one = &positions->items[i],
					   *kept = &positions->items[0];

		if (policy == POLICY_EARLIEST ? one->at < kept->at : one->at > kept->at)
			positions->items[0] = *one;
	}
	positions->count = 1;
}

int clew_query_positions(const struct clew_query *query, const struct clew_model *model,
			 const struct clew_query_options *options,
			 struct clew_positions *ret_positions)
{
	struct finder finder = {.positions = ret_positions};
	struct list spans = {};
	int r;

	*ret_positions = (struct clew_positions){};
	if (query->place == PLACE_NONE)
		return -EINVAL;
	r = begin(&finder.evaluation, query, model, options);
	if (r == 0)
		r = run(&finder.evaluation, &spans);
	if (r == 0)
		r = find_in_spans(&finder, &spans);
	done(&finder.evaluation);
	free(spans.items);
	if (r < 0)
		clew_positions_done(ret_positions);
	else
		keep_one(ret_positions, query->policy);
	return r;
}

void clew_positions_done(struct clew_positions *positions)
{
	free(positions->items);
	*positions = (struct clew_positions){};
}
