/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides whether the rules of construction give an instant of a span the ESs
 * that the trace has there. Instants are independent: explicit suspends come
 * before all endpoints, and a gap that the line of a child makes has nothing
 * inside.
 *
 * The number of an endpoint is twice its final ES, plus one for an origin.
 * After each step the endpoints made so far must be in their final order, as
 * later ones only come between them; so the first position that keeps this
 * order is the right one.
 */
#include "notation/plan.h"
#include <stdlib.h>

#define MOST_ENDPOINTS 96u
#define NOTHING	       UINT64_MAX

struct step {
	uint64_t endpoint;
	uint32_t dependency, order; /* order among several of one dependency */
};

struct item {
	uint64_t in, out; /* endpoints */
	bool starts, ends;
};

struct instant {
	struct plan *plan;
	clew_time at;
	uint32_t first, count;	/* the ESs that touch it */
	bool is_begin, is_end;	/* nothing of the span touches from the left, from the right */
	bool is_first, is_last; /* the span's first and last ESs are among them */
	struct item items[2 * MOST_ENDPOINTS + 4];
	uint32_t item_count;
};

/* ---- the rules ---- */

static struct item *fission(struct instant *instant, uint32_t index)
{
	struct item *items = instant->items;

	for (uint32_t i = instant->item_count++; i > index; i--)
		items[i] = items[i - 1];
	items[index].ends = true;
	items[index].out = NOTHING;
	items[index + 1].starts = true;
	items[index + 1].in = NOTHING;
	return &items[index];
}

static void make_origin(struct instant *instant, uint64_t endpoint, bool early)
{
	struct item *item = instant->items;

	if (!item->ends || item->out != NOTHING)
		item = fission(instant, early ? 0 : instant->item_count - 1);
	item->out = endpoint;
}

static void make_destination(struct instant *instant, uint64_t endpoint, bool late)
{
	struct item *item = instant->items;

	if (!item->starts || item->in != NOTHING)
		item = fission(instant, late ? instant->item_count - 1 : 0) + 1;
	item->in = endpoint;
}

static bool in_order(const struct instant *instant)
{
	uint64_t last = 0;

	for (uint32_t i = 0; i < instant->item_count; i++) {
		const uint64_t both[2] = {instant->items[i].in, instant->items[i].out};

		for (int side = 0; side < 2; side++) {
			if (both[side] == NOTHING)
				continue;
			/* Endpoint 0 can only be the first. */
			if (both[side] < last || (both[side] == last && last > 0))
				return false;
			last = both[side];
		}
	}
	return true;
}

static bool is_idle(const struct item *item)
{
	return item->starts && item->ends && item->in == NOTHING && item->out == NOTHING;
}

/* As the model is simplified, within the instant. */
static void simplify(struct instant *instant)
{
	struct item *items = instant->items;
	uint32_t left = 0;

	for (uint32_t i = 0; i < instant->item_count; i++) {
		bool is_span_first = i == 0 && instant->is_first && items[i].starts;
		bool is_span_last =
			i + 1 == instant->item_count && instant->is_last && items[i].ends;

		if (is_idle(&items[i]) && !is_span_first && !is_span_last &&
		    (left > 0 || i + 1 < instant->item_count))
			continue;
		if (left > 0 && items[left - 1].out == NOTHING && items[i].in == NOTHING) {
			items[left - 1].ends = items[i].ends;
			items[left - 1].out = items[i].out;
			continue;
		}
		items[left++] = items[i];
	}
	instant->item_count = left;
}

/* ---- the steps ---- */

static bool is_made_by_line(const struct plan *plan, uint32_t dependency)
{
	return plan->is_made[dependency];
}

/* The length of the child whose line makes a call. */
static bool call_takes_time(const struct plan *plan, uint32_t call)
{
	const struct clew_model *model = plan->model;
	const struct clew_span *child =
		&model->spans[model->es[model->destinations[model->dependencies[call]
								    .destinations.first]]
				      .span];

	return child->start < child->end;
}

/* An origin that the line of a child makes: the parent's call, together with
 * the start of the suspend, or the child's return. */
static bool take_made_origin(struct instant *instant, const struct step *step)
{
	const struct plan *plan = instant->plan;
	const struct clew_model *model = plan->model;

	make_origin(instant, step->endpoint, false);
	if (model->dependencies[step->dependency].type == CLEW_DEPENDENCY_CALL &&
	    call_takes_time(plan, step->dependency)) {
		struct item *last = &instant->items[instant->item_count - 1];

		if (last->ends)
			return false;
		last->ends = true;
	}
	return in_order(instant);
}

static bool take_made_destination(struct instant *instant, const struct step *step)
{
	const struct plan *plan = instant->plan;
	bool is_return = plan->model->dependencies[step->dependency].type == CLEW_DEPENDENCY_RETURN;

	if (is_return && call_takes_time(plan, step->dependency - 1)) {
		if (instant->items[0].starts)
			return false;
		instant->items[0].starts = true;
	}
	make_destination(instant, step->endpoint, is_return);
	return in_order(instant);
}

static bool take_step(struct instant *instant, const struct step *step)
{
	struct instant before;
	bool is_origin = step->endpoint & 1;
	uint32_t es = (uint32_t)(step->endpoint >> 1);

	if (is_made_by_line(instant->plan, step->dependency))
		return is_origin ? take_made_origin(instant, step)
				 : take_made_destination(instant, step);
	for (int other_place = 0; other_place < 2; other_place++) {
		if (other_place)
			*instant = before;
		else
			before = *instant;
		if (is_origin)
			make_origin(instant, step->endpoint, other_place);
		else
			make_destination(instant, step->endpoint, other_place);
		if (in_order(instant)) {
			if (other_place)
				instant->plan->es[es] |= is_origin ? PLAN_ES_EARLY : PLAN_ES_LATE;
			return true;
		}
	}
	return false;
}

static int compare_steps(const void *one, const void *other)
{
	const struct step *a = one, *b = other;
	unsigned a_origin = a->endpoint & 1, b_origin = b->endpoint & 1;

	if (a->dependency != b->dependency)
		return a->dependency < b->dependency ? -1 : 1;
	if (a_origin != b_origin)
		return a_origin ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* The position of an ES among the endpoints of its dependency. */
static uint32_t order_of(const uint32_t *endpoints, struct clew_range range, uint32_t es)
{
	uint32_t order = 0;

	while (order < range.count && endpoints[range.first + order] != es)
		order++;
	return order;
}

/* False: too many. */
static bool collect_steps(const struct instant *instant, struct step *steps, uint32_t *ret_count)
{
	const struct clew_model *model = instant->plan->model;
	uint32_t count = 0;

	for (uint32_t i = instant->first; i < instant->first + instant->count; i++) {
		const struct clew_es *es = &model->es[i];

		if (count + 2 > MOST_ENDPOINTS)
			return false;
		if (es->start == instant->at && es->in != CLEW_NONE)
			steps[count++] = (struct step){
				2 * (uint64_t)i, es->in,
				order_of(model->destinations,
					 model->dependencies[es->in].destinations, i)};
		if (es->end == instant->at && es->out != CLEW_NONE)
			steps[count++] = (struct step){
				2 * (uint64_t)i + 1, es->out,
				order_of(model->origins, model->dependencies[es->out].origins, i)};
	}
	qsort(steps, count, sizeof(*steps), compare_steps);
	*ret_count = count;
	return true;
}

static bool is_as_wanted(const struct instant *instant)
{
	const struct clew_model *model = instant->plan->model;

	if (instant->item_count != instant->count)
		return false;
	for (uint32_t i = 0; i < instant->count; i++) {
		const struct item *item = &instant->items[i];
		const struct clew_es *es = &model->es[instant->first + i];
		uint64_t number = 2 * (uint64_t)(instant->first + i);
		bool starts = es->start == instant->at, ends = es->end == instant->at;

		if (item->starts != starts || item->ends != ends)
			return false;
		if (item->in != (starts && es->in != CLEW_NONE ? number : NOTHING) ||
		    item->out != (ends && es->out != CLEW_NONE ? number + 1 : NOTHING))
			return false;
	}
	return true;
}

static bool plan_instant(struct instant *instant)
{
	struct plan *plan = instant->plan;
	const struct clew_model *model = plan->model;
	uint32_t end = instant->first + instant->count, count;
	struct step steps[MOST_ENDPOINTS];
	bool gap_made_before =
		instant->is_begin && (plan->es[instant->first] & PLAN_ES_GAP_IMPLIED);
	bool gap_made_behind =
		instant->is_end && !instant->is_last && (plan->es[end] & PLAN_ES_GAP_IMPLIED);

	/* The common cases: one endpoint that makes the boundary, or boundaries
	 * of suspends and the endpoints at them. */
	if (!gap_made_before && !gap_made_behind) {
		const struct clew_es *es = &model->es[instant->first];

		if (instant->count == 1 && (instant->is_begin || instant->is_end))
			return true;
		if (instant->count == 2 && !instant->is_begin && !instant->is_end &&
		    (es[0].out == CLEW_NONE) != (es[1].in == CLEW_NONE))
			return true;
	}
	instant->items[0] = (struct item){.in = NOTHING,
					  .out = NOTHING,
					  .starts = instant->is_begin && !gap_made_before,
					  .ends = instant->is_end && !gap_made_behind};
	instant->item_count = 1;
	if (!collect_steps(instant, steps, &count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!take_step(instant, &steps[i]))
			return false;
	if (plan->simplify)
		simplify(instant);
	return is_as_wanted(instant);
}

bool plan_span(struct plan *plan, uint32_t number)
{
	const struct clew_model *model = plan->model;
	const struct clew_span *span = &model->spans[number];
	uint32_t begin = span->elementary.first, end = begin + span->elementary.count;
	struct instant instant;

	instant.plan = plan;
	/* Each ES begins an instant, unless the ES before it ends there, and
	 * ends another one, unless it has no length. */
	for (uint32_t i = begin; i < end; i++) {
		for (int side = 0; side < 2; side++) {
			uint32_t last = i;

			instant.at = side ? model->es[i].end : model->es[i].start;
			if (side ? model->es[i].start == instant.at
				 : i > begin && model->es[i - 1].end == instant.at)
				continue;
			while (last + 1 < end && model->es[last + 1].start == instant.at)
				last++;
			instant.first = i;
			instant.count = last - i + 1;
			instant.is_begin = side == 0;
			instant.is_end = model->es[last].end == instant.at;
			instant.is_first = i == begin;
			instant.is_last = last + 1 == end;
			if (!plan_instant(&instant))
				return false;
		}
	}
	return true;
}
