/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * From a maker's sequences to the arrays of a model, and simplification, which
 * works on arrays. No mark is lost: the marks of an ES that is dropped go to a
 * neighbour that contains their moment; without one the ES stays.
 */
#include "model/make_internal.h"

/* ---- simplification ---- */

static bool is_idle(const struct clew_es *es)
{
	return es->start == es->end && es->in == CLEW_NONE && es->out == CLEW_NONE;
}

uint32_t make_simplify_span(struct clew_es *es, uint32_t count)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct clew_es *last = left ? &es[left - 1] : NULL, *next = &es[i + 1];
		bool abuts = last && last->end == es[i].start;

		if (last && i + 1 < count && is_idle(&es[i])) {
			bool abuts_next = next->start == es[i].end;
			bool has_marks = es[i].mark < next->mark;
			bool parts_waits = es[i].wait != CLEW_NONE || next->wait != CLEW_NONE;

			if (abuts)
				continue;
			if (abuts_next) {
				next->mark = es[i].mark;
				next->wait = es[i].wait;
				continue;
			}
			if (!has_marks && !parts_waits)
				continue;
		}
		if (abuts && last->out == CLEW_NONE && es[i].in == CLEW_NONE) {
			last->end = es[i].end;
			last->out = es[i].out;
			continue;
		}
		es[left++] = es[i];
	}
	return left;
}

/* ---- laying out ---- */

/* Counts the ESs that touch the current moment: `number` is that of the next
 * one. */
struct ordinals {
	clew_time at;
	uint32_t number;
};

/* The numbers of an ES among those at its start and at its end; the next in
 * order. */
static void next_ordinals(struct ordinals *ordinals, bool is_first, clew_time start, clew_time end,
			  uint32_t *ret_start, uint32_t *ret_end)
{
	*ret_start = !is_first && ordinals->at == start ? ordinals->number : 0;
	*ret_end = start == end ? *ret_start : 0;
	*ordinals = (struct ordinals){end, *ret_end + 1};
}

/* Adds a span's ESs and marks to two columns that have room. */
static void lay_out(const struct make_span *made, uint32_t span, struct vector *all,
		    struct vector *marks)
{
	struct place mark_place = {0, 0};
	struct clew_mark *mark_out = marks->data;
	struct clew_es *out = all->data;
	struct ordinals ordinals = {0};

	for (struct place place = {0, 0}; !sequence_is_end(&made->es, place);
	     place = sequence_next(&made->es, place)) {
		const struct make_es *es = sequence_item(&made->es, place);
		uint32_t at_start, at_end;

		out[all->count++] = (struct clew_es){.start = es->start,
						     .end = es->end,
						     .span = span,
						     .in = es->in,
						     .out = es->out,
						     .wait = es->wait,
						     .mark = (uint32_t)marks->count};
		next_ordinals(&ordinals, sequence_is_first(place), es->start, es->end, &at_start,
			      &at_end);
		for (; !sequence_is_end(&made->marks, mark_place);
		     mark_place = sequence_next(&made->marks, mark_place)) {
			const struct make_mark *mark = sequence_item(&made->marks, mark_place);

			if (mark->at > es->end || (mark->at == es->end && mark->ordinal > at_end))
				break;
			mark_out[marks->count++] =
				(struct clew_mark){.at = mark->at, .label = mark->label};
		}
	}
}

static size_t es_count(const struct make_span *made)
{
	size_t count = 0;

	for (uint32_t i = 0; i < made->es.run_count; i++)
		count += sequence_run(&made->es, i)->count;
	return count;
}

/* ---- and back ---- */

int make_take_back(struct make_span *made, const struct clew_es *es, uint32_t count,
		   const struct clew_mark *marks, uint32_t mark_end)
{
	struct ordinals ordinals = {0};

	sequence_done(&made->es);
	sequence_done(&made->marks);
	for (uint32_t i = 0; i < count; i++) {
		const struct make_es item = {.start = es[i].start,
					     .end = es[i].end,
					     .in = es[i].in,
					     .out = es[i].out,
					     .wait = es[i].wait};
		uint32_t end = i + 1 < count ? es[i + 1].mark : mark_end, at_start, at_end;

		if (sequence_append(&made->es, &item) < 0)
			return -ENOMEM;
		next_ordinals(&ordinals, i == 0, es[i].start, es[i].end, &at_start, &at_end);
		for (uint32_t j = es[i].mark; j < end; j++) {
			bool is_start = marks[j].at == es[i].start,
			     is_end = marks[j].at == es[i].end;
			const struct make_mark mark = {.at = marks[j].at,
						       .label = marks[j].label,
						       .ordinal = is_end     ? at_end
								  : is_start ? at_start
									     : 0};

			if (sequence_append(&made->marks, &mark) < 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* ---- simplify, as an operation ---- */

int clew_maker_simplify(struct clew_maker *maker)
{
	struct vector es = {.item = sizeof(struct clew_es)},
		      marks = {.item = sizeof(struct clew_mark)};
	int r = make_begin(maker, true);

	for (uint32_t i = 0; r == 0 && i < maker->spans.count; i++) {
		struct make_span *made = make_span(maker, i);
		uint32_t left;

		es.count = marks.count = 0;
		if (vector_reserve(&es, es_count(made)) < 0 ||
		    vector_reserve(&marks, maker->mark_count) < 0) {
			r = make_dead(maker);
			break;
		}
		lay_out(made, i, &es, &marks);
		left = make_simplify_span(es.data, (uint32_t)es.count);
		if (left < es.count &&
		    make_take_back(made, es.data, left, marks.data, (uint32_t)marks.count) < 0)
			r = make_dead(maker);
	}
	vector_done(&es);
	vector_done(&marks);
	return r;
}

/* ---- the finish ---- */

/* Replaces endpoints in ESs by dependencies; the `next` of each endpoint
 * becomes its ES. */
static void resolve_es(struct clew_maker *maker, struct vector *all, uint32_t *es_of)
{
	struct clew_es *es = all->data;

	for (uint32_t i = 0; i < all->count; i++) {
		if (es[i].in != CLEW_NONE) {
			es_of[es[i].in] = i;
			es[i].in = make_endpoint(maker, es[i].in)->dependency;
		}
		if (es[i].out != CLEW_NONE) {
			es_of[es[i].out] = i;
			es[i].out = make_endpoint(maker, es[i].out)->dependency;
		}
	}
}

static struct clew_range lay_out_endpoints(struct clew_maker *maker, uint32_t first, uint32_t count,
					   const uint32_t *es_of, struct vector *column)
{
	struct clew_range range = {(uint32_t)column->count, count};
	uint32_t *out = column->data;

	for (uint32_t i = first; i != CLEW_NONE; i = make_endpoint(maker, i)->next)
		out[column->count++] = es_of[i];
	return range;
}

static int lay_out_all(struct clew_maker *maker)
{
	struct vector *es = model_column(maker->model, COLUMN_ES),
		      *marks = model_column(maker->model, COLUMN_MARK);
	struct vector *dependencies = model_column(maker->model, COLUMN_DEPENDENCY);
	struct vector *origins = model_column(maker->model, COLUMN_ORIGIN),
		      *destinations = model_column(maker->model, COLUMN_DESTINATION);
	struct vector es_of = {.item = sizeof(uint32_t)};
	struct clew_dependency *out;
	size_t count = 0;
	int r;

	for (uint32_t i = 0; i < maker->spans.count; i++)
		count += es_count(make_span(maker, i));
	r = make_room(maker, 0, count, "elementary spans");
	if (r < 0)
		return r;
	if (vector_reserve(es, count) < 0 || vector_reserve(marks, maker->mark_count) < 0 ||
	    vector_reserve(dependencies, maker->dependencies.count) < 0 ||
	    vector_reserve(origins, maker->endpoints.count) < 0 ||
	    vector_reserve(destinations, maker->endpoints.count) < 0 ||
	    vector_reserve(&es_of, maker->endpoints.count) < 0) {
		vector_done(&es_of);
		return make_dead(maker);
	}
	for (uint32_t i = 0; i < maker->spans.count; i++) {
		struct make_span *made = make_span(maker, i);
		uint32_t first = (uint32_t)es->count;

		lay_out(made, i, es, marks);
		sequence_done(&made->es);
		sequence_done(&made->marks);
		make_model_span(maker, i)->elementary =
			(struct clew_range){first, (uint32_t)es->count - first};
	}
	resolve_es(maker, es, es_of.data);
	out = dependencies->data;
	for (size_t i = 0; i < maker->dependencies.count; i++) {
		const struct make_dependency *made =
			(struct make_dependency *)maker->dependencies.data + i;

		out[dependencies->count++] = (struct clew_dependency){
			.type = made->type,
			.mode = made->mode,
			.attributes = made->attributes,
			.origins = lay_out_endpoints(maker, made->first_origin, made->origin_count,
						     es_of.data, origins),
			.destinations = lay_out_endpoints(maker, made->first_destination,
							  made->destination_count, es_of.data,
							  destinations)};
	}
	vector_done(&es_of);
	return 0;
}

int clew_maker_finish(struct clew_maker *maker, struct clew_model **ret_model)
{
	int r = make_begin(maker, false);

	if (r == 0 && !maker->bulk)
		r = lay_out_all(maker);
	if (r < 0)
		return r;
	if (model_seal(maker->model) < 0)
		return make_dead(maker);
	*ret_model = maker->model;
	maker->model = NULL;
	return 0;
}
