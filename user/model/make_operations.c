/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A maker's operations on time: spans, suspends, dependencies, marks. Each is
 * checked completely before it changes anything.
 */
#include "model/make_internal.h"

/* ---- spans ---- */

static struct clew_span *all_spans(const struct clew_maker *maker)
{
	return model_column(maker->model, COLUMN_SPAN)->data;
}

static int check_span(struct clew_maker *maker, uint32_t span)
{
	return span < model_column(maker->model, COLUMN_SPAN)->count
		       ? 0
		       : make_fail(maker, -ENOENT, "there is no such span");
}

static void join_siblings(struct clew_maker *maker, uint32_t parent, uint32_t number)
{
	struct clew_span *spans = all_spans(maker);
	uint32_t *first =
		parent == CLEW_NONE ? &maker->model->first_root : &spans[parent].first_child;
	uint32_t *last =
		parent == CLEW_NONE ? &maker->last_root : &make_span(maker, parent)->last_child;

	if (*last == CLEW_NONE)
		*first = number;
	else
		spans[*last].next_sibling = number;
	*last = number;
}

int make_new_span(struct clew_maker *maker, uint32_t parent, const char *name, clew_time start,
		  clew_time end, uint32_t *ret_span)
{
	struct vector *spans = model_column(maker->model, COLUMN_SPAN);
	struct clew_span span = {.start = start,
				 .end = end,
				 .parent = parent,
				 .elementary = {CLEW_NONE, 0},
				 .first_child = CLEW_NONE,
				 .next_sibling = CLEW_NONE,
				 .attributes = CLEW_NONE};
	const struct make_span made = {.last_child = CLEW_NONE,
				       .last_mark = INT64_MIN,
				       .es.item = sizeof(struct make_es),
				       .marks.item = sizeof(struct make_mark)};
	uint32_t number = (uint32_t)spans->count;
	uint64_t *found, key;
	int r = make_room(maker, number, 1, "spans");

	if (r < 0)
		return r;
	r = strings_add(model_strings(maker->model), name, &span.name);
	if (r == -E2BIG)
		return make_fail(maker, r, "more than 4 GB of names");
	key = (uint64_t)parent << 32 | span.name;
	found = map_get(&maker->span_index, key, 0);
	if (found)
		*found |= MAKE_AMBIGUOUS;
	if (r < 0 || (!found && map_set(&maker->span_index, key, 0, number) < 0) ||
	    model_add(spans, &span) < 0 || model_add(&maker->spans, &made) < 0)
		return make_dead(maker);
	join_siblings(maker, parent, number);
	*ret_span = number;
	return 0;
}

static int add_whole_span(struct clew_maker *maker, uint32_t parent, const char *name,
			  clew_time start, clew_time end, uint32_t *ret_span)
{
	const struct make_es whole = {
		.start = start, .end = end, .in = CLEW_NONE, .out = CLEW_NONE, .wait = CLEW_NONE};
	int r = make_new_span(maker, parent, name, start, end, ret_span);

	if (r == 0 && sequence_append(&make_span(maker, *ret_span)->es, &whole) < 0)
		r = make_dead(maker);
	return r;
}

static int check_times(struct clew_maker *maker, const char *name, clew_time start, clew_time end)
{
	char from[32], to[32];

	if (start <= end)
		return 0;
	return make_fail(maker, -EINVAL, "span '%.60s' [%s,%s] ends before it begins", name,
			 make_moment(maker, start, from), make_moment(maker, end, to));
}

int clew_maker_root(struct clew_maker *maker, const char *name, clew_time start, clew_time end,
		    uint32_t *ret_span)
{
	int r = make_begin(maker, true);

	if (r == 0)
		r = check_times(maker, name, start, end);
	return r < 0 ? r : add_whole_span(maker, CLEW_NONE, name, start, end, ret_span);
}

int clew_maker_child_alone(struct clew_maker *maker, uint32_t parent, const char *name,
			   clew_time start, clew_time end, uint32_t *ret_span)
{
	int r = make_begin(maker, true);

	if (r == 0)
		r = check_span(maker, parent);
	if (r == 0)
		r = check_times(maker, name, start, end);
	return r < 0 ? r : add_whole_span(maker, parent, name, start, end, ret_span);
}

int clew_maker_split(struct clew_maker *maker, uint32_t span, clew_time at)
{
	int r = make_begin(maker, true);

	if (r == 0)
		r = check_span(maker, span);
	if (r == 0)
		r = make_check_endpoint(maker, span, at, 0);
	return r < 0 ? r : make_split(maker, span, at);
}

uint32_t clew_maker_find_span(const struct clew_maker *maker, const char *const *names,
			      size_t count, bool *ret_ambiguous)
{
	uint32_t span = CLEW_NONE;

	*ret_ambiguous = false;
	for (size_t i = 0; i < count; i++) {
		uint32_t name = strings_find(model_strings(maker->model), names[i]);
		const uint64_t *found = name == CLEW_NONE ? NULL
							  : map_get(&maker->span_index,
								    (uint64_t)span << 32 | name, 0);

		if (!found)
			return CLEW_NONE;
		*ret_ambiguous = *ret_ambiguous || (*found & MAKE_AMBIGUOUS);
		span = (uint32_t)*found;
	}
	return span;
}

int clew_maker_suspend(struct clew_maker *maker, uint32_t span, clew_time start, clew_time end,
		       unsigned place, uint32_t kind, uint32_t attributes)
{
	uint32_t wait;
	int r = make_begin(maker, true);

	if (r == 0)
		r = check_span(maker, span);
	if (r == 0)
		r = make_check_suspend(maker, span, start, end, place);
	if (r < 0 || start == end)
		return r;
	r = make_wait(maker, kind, attributes, &wait);
	return r < 0 ? r : make_suspend(maker, span, start, end, wait);
}

/* ---- dependencies ---- */

static struct make_dependency *dependency_at(const struct clew_maker *maker, uint32_t dependency)
{
	return (struct make_dependency *)maker->dependencies.data + dependency;
}

static int new_dependency(struct clew_maker *maker, uint32_t type, enum clew_mode mode,
			  uint32_t attributes, uint32_t *ret_dependency)
{
	const struct make_dependency dependency = {.type = type,
						   .mode = mode,
						   .attributes = attributes,
						   .first_origin = CLEW_NONE,
						   .last_origin = CLEW_NONE,
						   .first_destination = CLEW_NONE,
						   .last_destination = CLEW_NONE};

	if (model_add(&maker->dependencies, &dependency) < 0)
		return make_dead(maker);
	*ret_dependency = (uint32_t)maker->dependencies.count - 1;
	return 0;
}

int clew_maker_dependency(struct clew_maker *maker, uint32_t type, enum clew_mode mode,
			  uint32_t attributes, uint32_t *ret_dependency)
{
	int r = make_begin(maker, true);

	if (r < 0)
		return r;
	if (type >= model_column(maker->model, COLUMN_TYPE)->count)
		return make_fail(maker, -ENOENT, "there is no such dependency type");
	if (mode != CLEW_MODE_SINGLE && mode != CLEW_MODE_AND && mode != CLEW_MODE_OR)
		return make_fail(maker, -EINVAL, "there is no such mode of a dependency");
	if (attributes != CLEW_NONE &&
	    attributes >= model_column(maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1)
		return make_fail(maker, -ENOENT, "there is no such attribute list");
	r = make_room(maker, maker->dependencies.count, 1, "dependencies");
	return r < 0 ? r : new_dependency(maker, type, mode, attributes, ret_dependency);
}

static int new_endpoint(struct clew_maker *maker, uint32_t dependency, uint32_t *ret_endpoint)
{
	const struct make_endpoint endpoint = {.next = CLEW_NONE, .dependency = dependency};

	*ret_endpoint = (uint32_t)maker->endpoints.count;
	if (model_add(&maker->endpoints, &endpoint) < 0)
		return make_dead(maker);
	return 0;
}

static void append_endpoint(struct clew_maker *maker, uint32_t *first, uint32_t *last,
			    uint32_t endpoint)
{
	make_endpoint(maker, endpoint)->next = CLEW_NONE;
	if (*last == CLEW_NONE)
		*first = endpoint;
	else
		make_endpoint(maker, *last)->next = endpoint;
	*last = endpoint;
}

/* A new triggering origin becomes the first one, and the former one goes to the
 * end. At equal moments the older one triggers. */
static void join_origin(struct clew_maker *maker, struct make_dependency *dependency, clew_time at,
			uint32_t endpoint)
{
	uint32_t old = dependency->first_origin;
	bool triggers = dependency->origin_count++ == 0 ||
			(dependency->mode == CLEW_MODE_OR ? at < dependency->trigger_at
							  : at > dependency->trigger_at);

	if (triggers)
		dependency->trigger_at = at;
	if (triggers && old != CLEW_NONE) {
		make_endpoint(maker, endpoint)->next = make_endpoint(maker, old)->next;
		dependency->first_origin = endpoint;
		if (dependency->last_origin == old)
			dependency->last_origin = endpoint;
		endpoint = old;
	}
	append_endpoint(maker, &dependency->first_origin, &dependency->last_origin, endpoint);
}

static int add_origin(struct clew_maker *maker, uint32_t dependency, uint32_t span, clew_time at,
		      unsigned place)
{
	uint32_t endpoint;
	int r = new_endpoint(maker, dependency, &endpoint);

	if (r == 0)
		r = make_out(maker, span, at, place, endpoint);
	if (r == 0)
		join_origin(maker, dependency_at(maker, dependency), at, endpoint);
	return r;
}

static int add_destination(struct clew_maker *maker, uint32_t number, uint32_t span, clew_time at,
			   unsigned place)
{
	struct make_dependency *dependency = dependency_at(maker, number);
	uint32_t endpoint;
	int r = new_endpoint(maker, number, &endpoint);

	if (r == 0)
		r = make_in(maker, span, at, place, endpoint);
	if (r < 0)
		return r;
	append_endpoint(maker, &dependency->first_destination, &dependency->last_destination,
			endpoint);
	dependency->destination_count++;
	return 0;
}

static int check_dependency(struct clew_maker *maker, uint32_t dependency, uint32_t span)
{
	int r = make_begin(maker, true);

	if (r == 0 && dependency >= maker->dependencies.count)
		r = make_fail(maker, -ENOENT, "there is no such dependency");
	if (r == 0)
		r = check_span(maker, span);
	return r < 0 ? r : make_room(maker, maker->endpoints.count, 1, "endpoints of dependencies");
}

int clew_maker_origin(struct clew_maker *maker, uint32_t dependency, uint32_t span, clew_time at,
		      unsigned place)
{
	int r = check_dependency(maker, dependency, span);

	if (r == 0 && dependency_at(maker, dependency)->mode == CLEW_MODE_SINGLE &&
	    dependency_at(maker, dependency)->origin_count > 0)
		r = make_fail(maker, -EEXIST,
			      "the dependency has an origin already: several need 'and' or 'or'");
	if (r == 0)
		r = make_check_endpoint(maker, span, at, place);
	if (r == 0)
		r = make_check_free(maker, span, at, place, false);
	return r < 0 ? r : add_origin(maker, dependency, span, at, place);
}

int clew_maker_destination(struct clew_maker *maker, uint32_t dependency, uint32_t span,
			   clew_time wait_from, clew_time at, unsigned place)
{
	int r = check_dependency(maker, dependency, span);

	if (r == 0 && wait_from != at && place >> 8)
		r = make_fail(maker, -EINVAL,
			      "a wait moves the numbers of elementary spans: suspend first");
	if (r == 0 && wait_from != at)
		r = make_check_suspend(maker, span, wait_from, at, place);
	if (r == 0)
		r = make_check_endpoint(maker, span, at, place);
	if (r == 0)
		r = make_check_free(maker, span, at, place, true);
	if (r == 0)
		r = make_suspend(maker, span, wait_from, at, CLEW_NONE);
	return r < 0 ? r : add_destination(maker, dependency, span, at, place);
}

int clew_maker_child(struct clew_maker *maker, uint32_t parent, const char *name, clew_time start,
		     clew_time end, uint32_t *ret_span)
{
	uint32_t call, back, child;
	int r = make_begin(maker, true);

	if (r == 0)
		r = check_span(maker, parent);
	if (r == 0)
		r = check_times(maker, name, start, end);
	if (r == 0)
		r = make_check_endpoint(maker, parent, start, 0);
	if (r == 0)
		r = make_check_suspend(maker, parent, start, end, 0);
	if (r == 0)
		r = make_room(maker, maker->dependencies.count, 2, "dependencies");
	if (r == 0)
		r = make_room(maker, maker->endpoints.count, 4, "endpoints of dependencies");
	if (r == 0)
		r = add_whole_span(maker, parent, name, start, end, &child);
	if (r < 0)
		return r;
	if (new_dependency(maker, CLEW_DEPENDENCY_CALL, CLEW_MODE_SINGLE, CLEW_NONE, &call) < 0 ||
	    new_dependency(maker, CLEW_DEPENDENCY_RETURN, CLEW_MODE_SINGLE, CLEW_NONE, &back) < 0)
		return -ENOMEM;
	/* The return depends on the call, so at one instant it comes last. */
	if (add_origin(maker, call, parent, start, 0) < 0 ||
	    add_destination(maker, call, child, start, 0) < 0 ||
	    add_origin(maker, back, child, end, 0) < 0 ||
	    make_suspend(maker, parent, start, end, CLEW_NONE) < 0 ||
	    add_destination(maker, back, parent, end, CLEW_PLACE_LATE) < 0)
		return -ENOMEM;
	*ret_span = child;
	return 0;
}

/* ---- marks ---- */

int clew_maker_mark(struct clew_maker *maker, uint32_t span, const char *label, clew_time at,
		    unsigned place)
{
	struct make_mark mark = {.at = at};
	int r = make_begin(maker, true);

	if (r == 0)
		r = check_span(maker, span);
	if (r == 0)
		r = make_check_endpoint(maker, span, at, place);
	if (r == 0)
		r = make_room(maker, maker->mark_count, 1, "marks");
	if (r == 0 && !make_find_number(make_span(maker, span), at, place))
		r = make_fail(maker, -EINVAL, "not so many elementary spans touch that moment");
	if (r < 0)
		return r;
	mark.ordinal = place >> 8 ? (place >> 8) - 1 : 0;
	r = strings_add(model_strings(maker->model), label, &mark.label);
	if (r == -E2BIG)
		return make_fail(maker, r, "more than 4 GB of names");
	if (r < 0 || make_mark(make_span(maker, span), &mark) < 0)
		return make_dead(maker);
	maker->mark_count++;
	return 0;
}
