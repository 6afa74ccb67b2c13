/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The model of a trace that was run again. Removed dependencies are left out; where one
 * of them, or a gap, was all that divided a span, the span is one there again. No mark is
 * lost, and each stays at its part of its ES.
 */
#include "model/internal.h"

#include "analyse/whatif/cpus.h"
#include "analyse/whatif/result.h"

static bool is_link(const struct clew_es *before, const struct clew_es *behind)
{
	return before->out != CLEW_NONE || behind->in != CLEW_NONE;
}

/* Gaps that are gone have no wait. */
static void drop_waits(struct whatif *w)
{
	for (uint32_t i = 1; i < w->base.es_count; i++) {
		struct clew_es *es = &w->es[i];

		if (es->wait != CLEW_NONE && es[-1].span == es->span && es[-1].end == es->start &&
		    w->base.es[i - 1].end < w->base.es[i].start)
			es->wait = CLEW_NONE;
	}
}

/* When an ES has run so long. */
static clew_time moment(const struct clew_es *es, clew_time ran, const struct cut *cuts,
			size_t count)
{
	clew_time at = es->start + ran;

	for (size_t i = 0; i < count && at > cuts[i].from; i++)
		at += cuts[i].to - cuts[i].from;
	return at;
}

static int place_marks(struct result *result)
{
	struct whatif *w = result->w;
	size_t cut = 0, cut_count = w->cpus ? w->cpus->cut_count : 0;

	if (!w->base.mark_count)
		return 0;
	result->marks = malloc(((size_t)w->base.mark_count + 1) * sizeof(*result->marks));
	if (!result->marks)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->base.es_count; i++) {
		const struct clew_es *old = &w->base.es[i], *es = &w->es[i];
		uint32_t end = i + 1 < w->base.es_count ? old[1].mark : w->base.mark_count;
		clew_time length = old->end - old->start, ran = es->end - es->start;
		size_t first = cut;

		for (; cut < cut_count && w->cpus->cuts[cut].es == i; cut++)
			ran -= w->cpus->cuts[cut].to - w->cpus->cuts[cut].from;

		for (uint32_t mark = old->mark; mark < end; mark++) {
			clew_time from = w->base.marks[mark].at - old->start;

			from = from < 0 ? 0 : from > length ? length : from;
			if (length != ran)
				from = length ? (clew_time)((__int128)from * ran / length) : 0;
			result->marks[mark] = (struct clew_mark){
				.at = moment(es, from, cut > first ? &w->cpus->cuts[first] : NULL,
					     cut - first),
				.label = w->base.marks[mark].label};
		}
	}
	return 0;
}

/* ---- dependencies ---- */

/* The origin that triggers now goes first, the others keep their order but for the one it changes
 * places with. */
static void choose_trigger(const struct whatif *w, const struct clew_dependency *d,
			   uint32_t *origins)
{
	uint32_t best = 0, other;

	if (d->mode == CLEW_MODE_SINGLE)
		return;
	for (uint32_t i = 1; i < d->origins.count; i++) {
		clew_time a = w->es[origins[i]].end, b = w->es[origins[best]].end;

		if (d->mode == CLEW_MODE_AND ? a > b : a < b)
			best = i;
	}
	other = origins[0];
	origins[0] = origins[best];
	origins[best] = other;
}

static int join(struct result *result)
{
	struct whatif *w = result->w;
	uint32_t dependency_count = 0, origin_count = 0, destination_count = 0;
	size_t count = (size_t)w->base.dependency_count + 1;

	result->dependencies = malloc(count * sizeof(*result->dependencies));
	result->origins = malloc(((size_t)w->base.origin_count + 1) * sizeof(*result->origins));
	result->destinations =
		malloc(((size_t)w->base.destination_count + 1) * sizeof(*result->destinations));
	result->number = w->fate ? malloc(count * sizeof(*result->number)) : NULL;
	if (!result->dependencies || !result->origins || !result->destinations ||
	    (w->fate && !result->number))
		return -ENOMEM;
	for (uint32_t i = 0; i < w->base.dependency_count; i++) {
		const struct clew_dependency *old = &w->base.dependencies[i];
		struct clew_dependency *d = &result->dependencies[dependency_count];

		*d = *old;
		d->destinations.first = destination_count;
		for (uint32_t j = old->destinations.first;
		     j < old->destinations.first + old->destinations.count; j++) {
			if (whatif_fate(w, j) == FATE_REMOVED)
				w->es[w->base.destinations[j]].in = CLEW_NONE;
			else
				result->destinations[destination_count++] = w->base.destinations[j];
		}
		d->destinations.count = destination_count - d->destinations.first;
		if (old->destinations.count && !d->destinations.count) {
			for (uint32_t j = 0; j < old->origins.count; j++)
				w->es[w->base.origins[old->origins.first + j]].out = CLEW_NONE;
			result->number[i] = CLEW_NONE;
			continue;
		}
		d->origins.first = origin_count;
		for (uint32_t j = 0; j < old->origins.count; j++)
			result->origins[origin_count++] = w->base.origins[old->origins.first + j];
		if (old->origins.count > 1)
			choose_trigger(w, d, result->origins + d->origins.first);
		if (result->number)
			result->number[i] = dependency_count;
		dependency_count++;
	}
	result->out.dependencies = result->dependencies;
	result->out.dependency_count = dependency_count;
	result->out.origins = result->origins;
	result->out.origin_count = origin_count;
	result->out.destinations = result->destinations;
	result->out.destination_count = destination_count;
	for (uint32_t i = 0; result->number && i < w->base.es_count; i++) {
		struct clew_es *es = &w->es[i];

		es->in = es->in == CLEW_NONE ? CLEW_NONE : result->number[es->in];
		es->out = es->out == CLEW_NONE ? CLEW_NONE : result->number[es->out];
	}
	return 0;
}

/* ---- merging ---- */

/* The border between them is gone. */
static bool divided_no_more(const struct whatif *w, uint32_t es)
{
	const struct clew_es *old = &w->base.es[es], *new = &w->es[es];

	if (is_link(&new[-1], new) || new[-1].end != new->start)
		return false;
	if (w->cut_before && w->cut_before[es])
		return true;
	return is_link(&old[-1], old) || old[-1].end < old->start;
}

static int merge(struct result *result)
{
	struct whatif *w = result->w;
	uint32_t count = 0;

	result->moved = malloc(((size_t)w->base.es_count + 1) * sizeof(*result->moved));
	if (!result->moved)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->base.span_count; i++) {
		struct clew_range range = w->base.spans[i].elementary,
				  *to = &result->spans[i].elementary;

		to->first = count;
		for (uint32_t es = range.first; es < range.first + range.count; es++)
			result->moved[es] =
				es > range.first && divided_no_more(w, es) ? count - 1 : count++;
		to->count = count - to->first;
	}
	/* In place, from the front; what merges is looked at no more. */
	for (uint32_t i = 0; i < w->base.es_count; i++) {
		uint32_t to = result->moved[i];

		if (i > 0 && result->moved[i - 1] == to) {
			w->es[to].end = w->es[i].end;
			w->es[to].out = w->es[i].out;
		} else {
			w->es[to] = w->es[i];
		}
	}
	for (uint32_t i = 0; i < result->out.origin_count; i++)
		result->origins[i] = result->moved[result->origins[i]];
	for (uint32_t i = 0; i < result->out.destination_count; i++)
		result->destinations[i] = result->moved[result->destinations[i]];
	result->out.es_count = count;
	return 0;
}

/* ---- names ---- */

static int rename_spans(struct whatif *w, const struct statement *s, uint64_t *matches,
			struct clew_model *model)
{
	const struct clew_query_options options = {.hierarchy = w->options.hierarchy,
						   .only = w->options.only};
	bool categories = s->kind == STATEMENT_RENAME_CATEGORIES;
	uint32_t *found = NULL, name;
	size_t count = 0;
	int r = categories
			? clew_query_categories(s->spans, w->model, &options, true, &found, &count)
			: clew_query_spans(s->spans, w->model, &options, &found, &count);

	if (r == -E2BIG)
		return whatif_fail(
			w, -EINVAL, s->offset,
			"a regular expression takes too much to decide: write a simpler one");
	if (r == 0)
		r = strings_add(model_strings(model), s->name, &name);
	for (size_t i = 0; i < count && r == 0; i++) {
		if (categories)
			((struct clew_category *)model_column(model, COLUMN_CATEGORY)
				 ->data)[found[i]]
				.name = name;
		else
			((struct clew_span *)model_column(model, COLUMN_SPAN)->data)[found[i]]
				.name = name;
	}
	if (matches)
		*matches += count;
	free(found);
	return r;
}

/* Types that the trace did not have. */
static int name_types(const struct result *result, struct clew_model *model)
{
	struct whatif *w = result->w;
	struct vector *types = model_column(model, COLUMN_TYPE);
	struct clew_dependency *dependencies = model_column(model, COLUMN_DEPENDENCY)->data;
	uint32_t first = model->dependency_count - result->linked_count - w->added_count;

	for (uint32_t i = 0; i < w->added_count; i++) {
		const struct statement *s = &w->program->statements[w->added[i].statement];
		uint32_t name, type;
		char *text;
		int r;

		if (w->added[i].type != CLEW_NONE)
			continue;
		text = strndup(w->program->text + s->types_at, s->types_size);
		r = text ? strings_add(model_strings(model), text, &name) : -ENOMEM;
		free(text);
		if (r < 0)
			return r;
		for (type = 0; type < types->count && ((uint32_t *)types->data)[type] != name;)
			type++;
		if (type == types->count && model_add(types, &name) < 0)
			return -ENOMEM;
		dependencies[first + i].type = type & 0xffffff;
	}
	model->types = types->data;
	model->type_count = (uint32_t)types->count;
	return 0;
}

static int name(const struct result *result, struct clew_model *model)
{
	struct whatif *w = result->w;
	int r = name_types(result, model);

	for (uint32_t i = 0; i < w->program->count && r == 0; i++) {
		const struct statement *s = &w->program->statements[i];

		if (s->kind == STATEMENT_RENAME_SPANS || s->kind == STATEMENT_RENAME_CATEGORIES)
			r = rename_spans(w, s, w->options.matches ? &w->options.matches[i] : NULL,
					 model);
	}
	return r;
}

/* The arrays, one after the other, where what the program and the resources did made them other
 * ones. */
static int rearrange(struct result *result)
{
	struct whatif *w = result->w;
	int r = place_marks(result);

	if (r == 0)
		r = whatif_type_waits(result);
	if (r == 0)
		r = whatif_choose_links(result);
	/* Without statements about dependencies, waits or resources, and without several origins,
	 * they stay as they are. */
	if (r == 0 && (w->fate || w->several || w->wait_count || w->cpus || w->queues))
		r = join(result);
	if (r == 0)
		r = whatif_add_links(result);
	if (r == 0 && (w->fate || w->wait_count || w->cpus || w->queues))
		r = merge(result);
	return r < 0 ? r : whatif_expand(result);
}

static int make(struct result *result, struct clew_model **ret_model)
{
	struct whatif *w = result->w;
	struct clew_model *model;
	int r;

	if (w->base.wait_count)
		drop_waits(w);
	result->out = w->base;
	result->spans = malloc(((size_t)w->base.span_count + 1) * sizeof(*result->spans));
	if (!result->spans)
		return -ENOMEM;
	memcpy(result->spans, w->base.spans, w->base.span_count * sizeof(*result->spans));
	r = rearrange(result);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < w->base.span_count; i++) {
		struct clew_span *span = &result->spans[i];

		span->start = w->es[span->elementary.first].start;
		span->end = w->es[span->elementary.first + span->elementary.count - 1].end;
	}
	result->out.es = w->es;
	result->out.spans = result->spans;
	result->out.marks = result->marks;
	result->out.waits = result->waits;
	result->out.wait_count = w->base.wait_count + result->new_wait_count;
	result->out.types = NULL;
	result->out.attribute_lists = NULL;
	result->out.categories = NULL;
	r = model_from_arrays(w->model, &result->out, &w->es_memory, &model);
	if (r < 0)
		return r == -EINVAL ? -EBADMSG : r;
	r = whatif_describe_waits(result, model);
	if (r == 0)
		r = name(result, model);
	if (r < 0)
		clew_model_free(model);
	else
		*ret_model = model;
	return r;
}

int whatif_result(struct whatif *w, struct clew_model **ret_model)
{
	struct result result = {.w = w};
	int r = make(&result, ret_model);

	free(result.spans);
	free(result.dependencies);
	free(result.origins);
	free(result.destinations);
	free(result.marks);
	free(result.number);
	free(result.moved);
	free(result.waits);
	free(result.new_waits);
	free(result.links);
	return r;
}
