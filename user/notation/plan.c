/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes the plan of plan.h: whether notation can express a trace, which lines
 * of children make their call and return, and which spans must be written
 * exactly.
 */
#include "notation/plan.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct check {
	const struct clew_model *model;
	char *message;
	size_t message_size;
};

static int fail(const struct check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
static int fail(const struct check *check, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(check->message, check->message_size, format, arguments);
	va_end(arguments);
	return -EINVAL;
}

static const char *span_name(const struct check *check, uint32_t span)
{
	return clew_model_string(check->model, check->model->spans[span].name);
}

static int check_span(const struct check *check, uint32_t number)
{
	const struct clew_model *model = check->model;
	const struct clew_span *span = &model->spans[number];
	uint32_t begin = span->elementary.first, end = begin + span->elementary.count;
	clew_time at = span->start;

	for (uint32_t i = begin; i < end; i++) {
		const struct clew_es *es = &model->es[i];

		if (es->start < at || es->end < es->start || (i == begin && es->start != at))
			return fail(check,
				    "elementary span %u of span '%.80s' is not where it can be",
				    i - begin, span_name(check, number));
		at = es->end;
	}
	if (begin == end || at != span->end)
		return fail(check, "the elementary spans of span '%.80s' do not end with it",
			    span_name(check, number));
	return 0;
}

static int check_dependency(const struct check *check, uint32_t number)
{
	const struct clew_model *model = check->model;
	const struct clew_dependency *dependency = &model->dependencies[number];
	const uint32_t *origins = model->origins + dependency->origins.first;
	const uint32_t *destinations = model->destinations + dependency->destinations.first;

	if (dependency->origins.count > 1 && dependency->mode == CLEW_MODE_SINGLE)
		return fail(check,
			    "dependency %u has several origins but is neither `and` nor `or`",
			    number + 1);
	for (uint32_t i = 0; i < dependency->origins.count; i++) {
		clew_time first = model->es[origins[0]].end, at = model->es[origins[i]].end;

		if (model->es[origins[i]].out != number)
			return fail(check, "dependency %u and its origin do not know each other",
				    number + 1);
		if (dependency->mode == CLEW_MODE_OR ? at < first : at > first)
			return fail(check,
				    "the first origin of dependency %u is not the triggering one",
				    number + 1);
	}
	for (uint32_t i = 0; i < dependency->destinations.count; i++)
		if (model->es[destinations[i]].in != number)
			return fail(check,
				    "dependency %u and its destination do not know each other",
				    number + 1);
	return 0;
}

/* Each link of an ES must be in a list of its dependency, so there must be as
 * many of both. */
static int check_links(const struct check *check)
{
	const struct clew_model *model = check->model;
	uint32_t in = 0, out = 0;

	for (uint32_t i = 0; i < model->es_count; i++) {
		in += model->es[i].in != CLEW_NONE;
		out += model->es[i].out != CLEW_NONE;
	}
	if (in != model->destination_count || out != model->origin_count)
		return fail(check, "elementary spans and dependencies do not know each other");
	return 0;
}

/* Checks all names except the values of attributes. */
static int check_names(const struct check *check)
{
	const struct clew_model *model = check->model;
	uint32_t empty = clew_model_find_string(model, "");
	bool is_used = false;

	if (empty == CLEW_NONE)
		return 0;
	for (uint32_t i = 0; i < model->span_count; i++)
		is_used |= model->spans[i].name == empty;
	for (uint32_t i = 0; i < model->category_count; i++)
		is_used |= model->categories[i].name == empty;
	for (uint32_t i = 0; i < model->hierarchy_count; i++)
		is_used |= model->hierarchies[i] == empty;
	for (uint32_t i = 0; i < model->type_count; i++)
		is_used |= model->types[i] == empty;
	for (uint32_t i = 0; i < model->mark_count; i++)
		is_used |= model->marks[i].label == empty;
	for (uint32_t i = 0; i < model->attribute_count; i++)
		is_used |= model->attributes[i].key == empty;
	return is_used ? fail(check, "a name is empty") : 0;
}

static int check_model(const struct check *check)
{
	int r = check_names(check);

	for (uint32_t i = 0; i < check->model->span_count && r == 0; i++)
		r = check_span(check, i);
	for (uint32_t i = 0; i < check->model->dependency_count && r == 0; i++)
		r = check_dependency(check, i);
	return r < 0 ? r : check_links(check);
}

/* True if simplifying would only remove ESs that marks alone keep. */
static bool is_simple(const struct clew_model *model, const struct clew_span *span)
{
	const struct clew_es *es = model->es + span->elementary.first;
	uint32_t count = span->elementary.count;

	for (uint32_t i = 1; i < count; i++) {
		bool abuts = es[i - 1].end == es[i].start;

		if (abuts && es[i - 1].out == CLEW_NONE && es[i].in == CLEW_NONE)
			return false;
		if (i + 1 == count || es[i].start != es[i].end || es[i].in != CLEW_NONE ||
		    es[i].out != CLEW_NONE)
			continue;
		if (abuts || es[i + 1].start == es[i].end)
			return false;
		if (es[i].wait == CLEW_NONE && es[i + 1].wait == CLEW_NONE &&
		    !clew_model_marks(model, span->elementary.first + i).count)
			return false;
	}
	return true;
}

/* ---- calls and returns that a child's line makes ---- */

static bool is_pair(const struct clew_dependency *dependency, uint32_t type)
{
	return dependency->type == type && dependency->mode == CLEW_MODE_SINGLE &&
	       dependency->attributes == CLEW_NONE && dependency->origins.count == 1 &&
	       dependency->destinations.count == 1;
}

/* The parent's ES after a gap that lasts exactly as long as a child; CLEW_NONE:
 * none. */
static uint32_t find_gap(const struct clew_model *model, uint32_t return_es,
			 const struct clew_span *child)
{
	uint32_t behind = return_es, first = model->spans[child->parent].elementary.first;

	while (behind > first && model->es[behind - 1].end == child->end)
		behind--;
	if (behind == first || model->es[behind].start != child->end ||
	    model->es[behind - 1].end != child->start || model->es[behind].wait != CLEW_NONE)
		return CLEW_NONE;
	return behind;
}

/* The child whose line would make dependency `call` and the next one;
 * CLEW_NONE: none. */
static uint32_t find_called(struct plan *plan, uint32_t call)
{
	const struct clew_model *model = plan->model;
	const struct clew_dependency *pair = &model->dependencies[call];
	uint32_t from, to, back_from, back_to, child, gap;
	const struct clew_span *span;

	if (call + 1 >= model->dependency_count || !is_pair(&pair[0], CLEW_DEPENDENCY_CALL) ||
	    !is_pair(&pair[1], CLEW_DEPENDENCY_RETURN))
		return CLEW_NONE;
	from = model->origins[pair[0].origins.first];
	to = model->destinations[pair[0].destinations.first];
	back_from = model->origins[pair[1].origins.first];
	back_to = model->destinations[pair[1].destinations.first];
	child = model->es[to].span;
	span = &model->spans[child];
	if (span->parent == CLEW_NONE || model->es[from].span != span->parent ||
	    model->es[back_from].span != child || model->es[back_to].span != span->parent ||
	    plan->calls[child] != CLEW_NONE)
		return CLEW_NONE;
	if (model->es[from].end != span->start || model->es[to].start != span->start ||
	    model->es[back_from].end != span->end || model->es[back_to].start != span->end)
		return CLEW_NONE;
	if (span->start == span->end)
		return child;
	gap = find_gap(model, back_to, span);
	if (gap == CLEW_NONE || (plan->es[gap] & PLAN_ES_GAP_IMPLIED))
		return CLEW_NONE;
	plan->es[gap] |= PLAN_ES_GAP_IMPLIED;
	return child;
}

/* The highest span that a dependency has to do with, or what it was before. */
static uint32_t highest_span(const struct clew_model *model,
			     const struct clew_dependency *dependency, uint32_t highest)
{
	for (uint32_t i = 0; i < dependency->origins.count; i++) {
		uint32_t span = model->es[model->origins[dependency->origins.first + i]].span;

		highest = span + 1 > highest ? span + 1 : highest;
	}
	for (uint32_t i = 0; i < dependency->destinations.count; i++) {
		uint32_t span =
			model->es[model->destinations[dependency->destinations.first + i]].span;

		highest = span + 1 > highest ? span + 1 : highest;
	}
	return highest;
}

/* The line of a span comes after all dependencies with lower numbers, so these
 * must not need that span or a later one. */
static void find_calls(struct plan *plan)
{
	const struct clew_model *model = plan->model;
	uint32_t highest = 0; /* of spans, plus one */

	for (uint32_t i = 0; i < model->dependency_count; i++) {
		const struct clew_dependency *pair = &model->dependencies[i];
		uint32_t child = CLEW_NONE, to;

		if (is_pair(pair, CLEW_DEPENDENCY_CALL)) {
			to = model->es[model->destinations[pair->destinations.first]].span;
			child = to >= highest ? find_called(plan, i) : CLEW_NONE;
		}
		highest = highest_span(model, pair, highest);
		if (child == CLEW_NONE)
			continue;
		plan->calls[child] = i;
		plan->is_made[i] = plan->is_made[i + 1] = true;
		i++;
	}
}

/* The call and return of a child get lines of their own. */
static void part_call(struct plan *plan, uint32_t child)
{
	const struct clew_model *model = plan->model;
	uint32_t call = plan->calls[child], gap;

	if (call == CLEW_NONE)
		return;
	plan->calls[child] = CLEW_NONE;
	plan->is_made[call] = plan->is_made[call + 1] = false;
	if (model->spans[child].start == model->spans[child].end)
		return;
	gap = find_gap(model, model->destinations[model->dependencies[call + 1].destinations.first],
		       &model->spans[child]);
	plan->es[gap] &= (uint8_t)~PLAN_ES_GAP_IMPLIED;
}

/* Goes backwards, as children come after their parents: a span is decided
 * before its parent. */
static void plan_spans(struct plan *plan)
{
	const struct clew_model *model = plan->model;

	for (uint32_t i = model->span_count; i-- > 0;) {
		plan->is_exact[i] = !plan_span(plan, i);
		if (!plan->is_exact[i])
			continue;
		part_call(plan, i);
		for (uint32_t child = model->spans[i].first_child; child != CLEW_NONE;
		     child = model->spans[child].next_sibling)
			part_call(plan, child);
	}
}

int plan_make(struct plan *plan, const struct clew_model *model, char *message, size_t message_size)
{
	const struct check check = {
		.model = model, .message = message, .message_size = message_size};
	int r = check_model(&check);

	*plan = (struct plan){.model = model, .simplify = true};
	if (r < 0)
		return r;
	plan->es = calloc(model->es_count + 1, sizeof(*plan->es));
	plan->calls = malloc((model->span_count + 1) * sizeof(*plan->calls));
	plan->is_exact = calloc(model->span_count + 1, sizeof(*plan->is_exact));
	plan->is_made = calloc(model->dependency_count + 1, sizeof(*plan->is_made));
	if (!plan->es || !plan->calls || !plan->is_exact || !plan->is_made) {
		plan_done(plan);
		return -ENOMEM;
	}
	memset(plan->calls, 0xff, model->span_count * sizeof(*plan->calls));
	for (uint32_t i = 0; i < model->span_count && plan->simplify; i++)
		plan->simplify = is_simple(model, &model->spans[i]);
	find_calls(plan);
	plan_spans(plan);
	return 0;
}

void plan_done(struct plan *plan)
{
	free(plan->es);
	free(plan->calls);
	free(plan->is_exact);
	free(plan->is_made);
	*plan = (struct plan){0};
}
