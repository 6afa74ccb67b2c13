/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The rules of construction within one span. ESs are in order of time, the
 * first begins and the last ends with the span, each begins at or after the end
 * of the one before. "First at t" is the lowest-index ES that contains t, "last
 * at t" the highest; an endpoint goes to an ES that begins or ends there and is
 * free, else it splits one of these two.
 */
#include "model/make_internal.h"
#include <stdio.h>

static struct make_es *es_at(const struct make_span *span, struct place place)
{
	return sequence_item(&span->es, place);
}

/* The lowest-index ES that ends at t or later, and whether it contains t. */
static struct place first_at(struct make_span *span, clew_time at, bool *ret_contains)
{
	struct place place = sequence_find(&span->es, at, false);

	*ret_contains = !sequence_is_end(&span->es, place) && es_at(span, place)->start <= at;
	return place;
}

/* The highest-index ES that contains t; there is one. */
static struct place last_at(struct make_span *span, clew_time at)
{
	struct place place = sequence_find(&span->es, at, true);

	if (!sequence_is_end(&span->es, place) && es_at(span, place)->start <= at)
		return place;
	return sequence_previous(&span->es, place);
}

/* ---- marks ---- */

static struct make_mark *first_mark(struct make_span *span, clew_time at, bool more,
				    struct place *ret_place)
{
	struct place place = sequence_find(&span->marks, at, more);

	*ret_place = place;
	return sequence_is_end(&span->marks, place) ? NULL : sequence_item(&span->marks, place);
}

/* ESs number `from` and later at a moment move up by one: adjusts the ordinals
 * of their marks. */
static void renumber_marks(struct make_span *span, clew_time at, uint32_t from)
{
	struct place place;
	struct make_mark *mark = first_mark(span, at, false, &place);

	while (mark && mark->at == at) {
		if (mark->ordinal >= from)
			mark->ordinal++;
		place = sequence_next(&span->marks, place);
		mark = sequence_is_end(&span->marks, place) ? NULL
							    : sequence_item(&span->marks, place);
	}
}

static bool has_mark_at(struct make_span *span, clew_time at)
{
	struct place place;
	const struct make_mark *mark =
		at > span->last_mark ? NULL : first_mark(span, at, false, &place);

	return mark && mark->at == at;
}

static bool has_mark_inside(struct make_span *span, clew_time start, clew_time end)
{
	struct place place;
	const struct make_mark *mark =
		start >= span->last_mark ? NULL : first_mark(span, start, true, &place);

	return mark && mark->at < end;
}

/* ---- endpoints ---- */

static bool has_number(unsigned place)
{
	return place >> 8;
}

/* The ES that CLEW_PLACE_NUMBER names; false: fewer ESs touch the moment. */
static bool find_number(struct make_span *span, clew_time at, unsigned where,
			struct place *ret_place)
{
	struct place place;
	bool contains;

	place = first_at(span, at, &contains);
	for (unsigned number = (where >> 8) - 1; number > 0 && contains; number--) {
		place = sequence_next(&span->es, place);
		contains = !sequence_is_end(&span->es, place) && es_at(span, place)->start <= at;
	}
	*ret_place = place;
	return contains;
}

static const char *span_name(const struct clew_maker *maker, uint32_t span)
{
	return strings_get(model_strings(maker->model), make_model_span(maker, span)->name);
}

int make_check_endpoint(struct clew_maker *maker, uint32_t number, clew_time at, unsigned place)
{
	const struct clew_span *span = make_model_span(maker, number);
	char moment[32], start[32], end[32];
	bool contains;

	if ((place & CLEW_PLACE_EARLY) && (place & CLEW_PLACE_LATE))
		return make_fail(maker, -EINVAL, "as early and as late as possible at once");
	if (has_number(place) && (place & 0xff))
		return make_fail(maker, -EINVAL, "a numbered place and another at once");
	if (at < span->start || at > span->end)
		return make_fail(maker, -EINVAL, "%s is outside span '%.60s' [%s,%s]",
				 make_moment(maker, at, moment), span_name(maker, number),
				 make_moment(maker, span->start, start),
				 make_moment(maker, span->end, end));
	first_at(make_span(maker, number), at, &contains);
	if (!contains && !(place & CLEW_PLACE_SPLIT_GAP))
		return make_fail(maker, -EINVAL, "span '%.60s' is suspended at %s",
				 span_name(maker, number), make_moment(maker, at, moment));
	return 0;
}

int make_check_free(struct clew_maker *maker, uint32_t number, clew_time at, unsigned where,
		    bool destination)
{
	struct make_span *span = make_span(maker, number);
	const struct make_es *es;
	struct place place;

	if (!has_number(where))
		return 0;
	if (!find_number(span, at, where, &place))
		return make_fail(maker, -EINVAL,
				 "not so many elementary spans of span '%.60s' touch %s",
				 span_name(maker, number), make_moment(maker, at, (char[32]){0}));
	es = es_at(span, place);
	if (destination ? es->start == at && es->in == CLEW_NONE
			: es->end == at && es->out == CLEW_NONE)
		return 0;
	return make_fail(
		maker, -EINVAL,
		"that elementary span of span '%.60s' does not %s at %s, or has a dependency there",
		span_name(maker, number), destination ? "begin" : "end",
		make_moment(maker, at, (char[32]){0}));
}

/* A zero-length ES before the one at `next`, which follows a gap. */
static int split_gap(struct make_span *span, struct place next, clew_time at,
		     struct place *ret_place)
{
	struct make_es es = {.start = at,
			     .end = at,
			     .in = CLEW_NONE,
			     .out = CLEW_NONE,
			     .wait = es_at(span, next)->wait};

	return sequence_insert(&span->es, next, &es, ret_place);
}

/* Fission of an ES: `out` goes from the first part, `in` into the second. */
static int fission(struct make_span *span, struct place place, clew_time at, bool is_last,
		   uint32_t out, uint32_t in)
{
	struct make_es *before = es_at(span, place), after = *before;
	uint32_t ordinal = 0;

	if (has_mark_at(span, at)) {
		for (struct place i = place; is_last && !sequence_is_first(i); ordinal++) {
			i = sequence_previous(&span->es, i);
			if (es_at(span, i)->end < at)
				break;
		}
		renumber_marks(span, at, ordinal);
	}
	after.start = at;
	after.in = in;
	after.wait = CLEW_NONE;
	before->end = at;
	before->out = out;
	return sequence_insert(&span->es, sequence_next(&span->es, place), &after, &place);
}

static int find_or_split_gap(struct make_span *span, clew_time at, struct place *ret_place)
{
	bool contains;

	*ret_place = first_at(span, at, &contains);
	return contains ? 0 : split_gap(span, *ret_place, at, ret_place);
}

int make_out(struct clew_maker *maker, uint32_t number, clew_time at, unsigned where,
	     uint32_t endpoint)
{
	struct make_span *span = make_span(maker, number);
	bool is_last = !(where & CLEW_PLACE_EARLY);
	struct place place;
	struct make_es *es;

	if (has_number(where)) {
		find_number(span, at, where, &place);
		es_at(span, place)->out = endpoint;
		return 0;
	}
	if (find_or_split_gap(span, at, &place) < 0)
		return make_dead(maker);
	es = es_at(span, place);
	if (es->end == at && es->out == CLEW_NONE) {
		es->out = endpoint;
		return 0;
	}
	if (is_last)
		place = last_at(span, at);
	return fission(span, place, at, is_last, endpoint, CLEW_NONE) < 0 ? make_dead(maker) : 0;
}

int make_in(struct clew_maker *maker, uint32_t number, clew_time at, unsigned where,
	    uint32_t endpoint)
{
	struct make_span *span = make_span(maker, number);
	bool is_last = where & CLEW_PLACE_LATE;
	struct place place;
	struct make_es *es;

	if (has_number(where)) {
		find_number(span, at, where, &place);
		es_at(span, place)->in = endpoint;
		return 0;
	}
	if (find_or_split_gap(span, at, &place) < 0)
		return make_dead(maker);
	es = es_at(span, place);
	if (es->start == at && es->in == CLEW_NONE) {
		es->in = endpoint;
		return 0;
	}
	if (is_last)
		place = last_at(span, at);
	return fission(span, place, at, is_last, CLEW_NONE, endpoint) < 0 ? make_dead(maker) : 0;
}

bool make_find_number(struct make_span *span, clew_time at, unsigned place_number)
{
	struct place place;

	return !has_number(place_number) || find_number(span, at, place_number, &place);
}

int make_mark(struct make_span *span, const struct make_mark *mark)
{
	const struct make_mark *other;
	struct place place;

	if (find_or_split_gap(span, mark->at, &place) < 0)
		return -ENOMEM;
	if (mark->at > span->last_mark)
		span->last_mark = mark->at;
	for (other = first_mark(span, mark->at, false, &place);
	     other && other->at == mark->at && other->ordinal < mark->ordinal;) {
		place = sequence_next(&span->marks, place);
		other = sequence_is_end(&span->marks, place) ? NULL
							     : sequence_item(&span->marks, place);
	}
	return sequence_insert(&span->marks, place, mark, &place);
}

int make_split(struct clew_maker *maker, uint32_t number, clew_time at)
{
	struct make_span *span = make_span(maker, number);
	struct place place = last_at(span, at);

	return fission(span, place, at, true, CLEW_NONE, CLEW_NONE) < 0 ? make_dead(maker) : 0;
}

/* ---- suspends ---- */

/* The distance that one suspend reaches back from `end`, within the first ES there.
 * *ret_before: where to continue, before `end`. */
static clew_time suspend_from(struct make_span *span, clew_time start, clew_time end,
			      bool *ret_more, clew_time *ret_before)
{
	bool contains;
	struct place place = first_at(span, end, &contains);
	clew_time begin = es_at(span, place)->start;

	*ret_more = !sequence_is_first(place);
	if (*ret_more)
		*ret_before = es_at(span, sequence_previous(&span->es, place))->end;
	return begin > start ? begin : start;
}

static const char *suspend_text(const struct clew_maker *maker, clew_time start, clew_time end,
				char text[static 96])
{
	char from[32], to[32];

	snprintf(text, 96, "%s..%s", make_moment(maker, start, from), make_moment(maker, end, to));
	return text;
}

int make_check_suspend(struct clew_maker *maker, uint32_t number, clew_time start, clew_time end,
		       unsigned where)
{
	const struct clew_span *limits = make_model_span(maker, number);
	struct make_span *span = make_span(maker, number);
	char text[96];
	bool contains, more = true;
	struct place place;

	if (start > end)
		return make_fail(maker, -EINVAL, "the suspend %s ends before it begins",
				 suspend_text(maker, start, end, text));
	if (start == end)
		return 0;
	if (start < limits->start || end > limits->end)
		return make_fail(maker, -EINVAL, "the suspend %s goes beyond span '%.60s'",
				 suspend_text(maker, start, end, text), span_name(maker, number));
	place = first_at(span, end, &contains);
	if (!contains)
		return make_fail(maker, -EINVAL,
				 "the suspend %s ends where span '%.60s' is suspended already",
				 suspend_text(maker, start, end, text), span_name(maker, number));
	if (!(where & CLEW_PLACE_SPLIT_ENDS) && es_at(span, place)->start > start)
		return make_fail(maker, -EINVAL,
				 "the suspend %s crosses the boundary of an elementary span at %s",
				 suspend_text(maker, start, end, text),
				 make_moment(maker, es_at(span, place)->start, (char[32]){0}));
	for (clew_time to = end; !(where & CLEW_PLACE_SPLIT_MARKS) && more && to > start;) {
		clew_time before = start, begin = suspend_from(span, start, to, &more, &before);

		if (has_mark_inside(span, begin, to))
			return make_fail(maker, -EINVAL, "there is a mark within the suspend %s",
					 suspend_text(maker, start, end, text));
		to = before;
	}
	return 0;
}

/* Within the first ES at `end`, which contains `start`. Each mark strictly
 * inside gets an ES of its own. */
static int suspend_one(struct make_span *span, clew_time start, clew_time end, uint32_t wait)
{
	bool contains;
	struct place place = first_at(span, end, &contains), mark_place;
	struct make_es *before = es_at(span, place), after = *before;
	struct make_mark *mark = first_mark(span, start, true, &mark_place);
	struct make_es own = {.in = CLEW_NONE, .out = CLEW_NONE, .wait = wait};
	uint32_t ordinal = 0;

	before->end = start;
	before->out = CLEW_NONE;
	after.start = end;
	after.in = CLEW_NONE;
	after.wait = wait;
	place = sequence_next(&span->es, place);
	while (mark && mark->at < end) {
		/* ESs of two marks at one moment abut, so there is no gap
		 * between them. */
		ordinal = own.end == mark->at && ordinal > 0 ? ordinal : 0;
		own.wait = ordinal > 0 ? CLEW_NONE : wait;
		mark->ordinal = ordinal++;
		own.start = own.end = mark->at;
		if (sequence_insert(&span->es, place, &own, &place) < 0)
			return -ENOMEM;
		place = sequence_next(&span->es, place);
		mark_place = sequence_next(&span->marks, mark_place);
		mark = sequence_is_end(&span->marks, mark_place)
			       ? NULL
			       : sequence_item(&span->marks, mark_place);
	}
	return sequence_insert(&span->es, place, &after, &place);
}

int make_suspend(struct clew_maker *maker, uint32_t number, clew_time start, clew_time end,
		 uint32_t wait)
{
	struct make_span *span = make_span(maker, number);
	bool more = true;

	while (more && end > start) {
		clew_time before = start, begin = suspend_from(span, start, end, &more, &before);

		if (begin < end && suspend_one(span, begin, end, wait) < 0)
			return make_dead(maker);
		end = before;
	}
	return 0;
}
