/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes a whole trace at once. The events of all tables are distributed to
 * their spans, those of each span are sorted by time and processed once, and
 * then the dependencies get their endpoints.
 */
#include "model/make_bulk.h"

/* ---- spans and the other tables, as they are ---- */

static int add_spans(struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	uint32_t list_count =
		(uint32_t)model_column(bulk->maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1;

	for (size_t i = 0; i < rows->span_count; i++) {
		const struct clew_bulk_span *row = &rows->spans[i];
		uint32_t span;
		int r;

		if (row->start > row->end)
			return bulk_refuse(bulk, -EINVAL, "spans", i, "it ends before it begins");
		if (row->parent != CLEW_NONE && row->parent >= i)
			return bulk_refuse(bulk, -EINVAL, "spans", i,
					   "its parent is not an earlier one");
		if (row->parent != CLEW_NONE && (row->start < rows->spans[row->parent].start ||
						 row->end > rows->spans[row->parent].end))
			return bulk_refuse(bulk, -EINVAL, "spans", i, "it goes beyond its parent");
		if (row->attributes != CLEW_NONE && row->attributes >= list_count)
			return bulk_refuse(bulk, -ENOENT, "spans", i,
					   "there is no such attribute list");
		r = make_new_span(bulk->maker, row->parent, row->name, row->start, row->end, &span);
		if (r < 0)
			return r;
		make_model_span(bulk->maker, span)->attributes = row->attributes;
		bulk->child_count += row->parent != CLEW_NONE;
	}
	return 0;
}

static int add_suspends(struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	struct make_suspend_row *out;

	if (vector_reserve(&bulk->suspends, bulk->child_count + rows->suspend_count) < 0)
		return make_dead(bulk->maker);
	out = bulk->suspends.data;
	for (size_t i = 0; i < rows->span_count; i++)
		if (rows->spans[i].parent != CLEW_NONE)
			*out++ = (struct make_suspend_row){.end = rows->spans[i].end,
							   .wait = CLEW_NONE};
	for (size_t i = 0; i < rows->suspend_count; i++, out++) {
		const struct clew_bulk_suspend *row = &rows->suspends[i];
		const struct clew_bulk_span *span;

		if (row->span >= rows->span_count)
			return bulk_refuse(bulk, -ENOENT, "suspends", i, "there is no such span");
		if (row->start > row->end)
			return bulk_refuse(bulk, -EINVAL, "suspends", i,
					   "it ends before it begins");
		out->end = row->end;
		span = &rows->spans[row->span];
		if (row->start < row->end) {
			int r = make_wait(bulk->maker, row->kind, row->attributes, &out->wait);

			if (r < 0)
				return r;
			if (row->start < span->start || row->end > span->end)
				return bulk_refuse(bulk, -EINVAL, "suspends", i,
						   "it goes beyond its span");
		}
	}
	return 0;
}

/* Counts the origins and destinations of each. */
static int add_dependencies(struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	struct vector *column = model_column(bulk->maker->model, COLUMN_DEPENDENCY);
	uint32_t type_count = (uint32_t)model_column(bulk->maker->model, COLUMN_TYPE)->count;
	uint32_t list_count =
		(uint32_t)model_column(bulk->maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1;
	struct clew_dependency *out;

	if (vector_reserve(column, first_dependency(bulk) + rows->dependency_count) < 0)
		return make_dead(bulk->maker);
	column->count = first_dependency(bulk) + rows->dependency_count;
	out = column->data;
	for (uint32_t i = 0; i < first_dependency(bulk); i++)
		*out++ = (struct clew_dependency){.type = i % 2 ? CLEW_DEPENDENCY_RETURN
								: CLEW_DEPENDENCY_CALL,
						  .mode = CLEW_MODE_SINGLE,
						  .attributes = CLEW_NONE,
						  .origins = {i, 1},
						  .destinations = {i, 1}};
	for (size_t i = 0; i < rows->dependency_count; i++) {
		const struct clew_bulk_dependency *row = &rows->dependencies[i];

		if (row->type >= type_count)
			return bulk_refuse(bulk, -ENOENT, "dependencies", i,
					   "there is no such type");
		if (row->mode > CLEW_MODE_OR)
			return bulk_refuse(bulk, -EINVAL, "dependencies", i,
					   "there is no such mode");
		if (row->attributes != CLEW_NONE && row->attributes >= list_count)
			return bulk_refuse(bulk, -ENOENT, "dependencies", i,
					   "there is no such attribute list");
		*out++ = (struct clew_dependency){
			.type = row->type, .mode = row->mode, .attributes = row->attributes};
	}
	return 0;
}

static int add_labels(struct bulk *bulk)
{
	const struct clew_bulk_mark *marks = bulk->rows->marks;
	uint32_t *labels;

	if (vector_reserve(&bulk->labels, bulk->rows->mark_count) < 0)
		return make_dead(bulk->maker);
	labels = bulk->labels.data;
	for (size_t i = 0; i < bulk->rows->mark_count; i++) {
		int r;

		if (i > 0 && marks[i].label == marks[i - 1].label) {
			labels[i] = labels[i - 1];
			continue;
		}
		r = strings_add(model_strings(bulk->maker->model), marks[i].label, &labels[i]);
		if (r < 0)
			return r == -E2BIG
				       ? bulk_refuse(bulk, r, "marks", i, "more than 4 GB of names")
				       : make_dead(bulk->maker);
	}
	return 0;
}

/* ---- ESs ---- */

/* Replaces endpoints in ESs by dependencies, and notes the ES of each
 * endpoint. */
static void resolve(const struct bulk *bulk, struct clew_es *all, uint32_t first, uint32_t end)
{
	const struct our_end *ours = bulk->ours.data;
	uint32_t *es_of = bulk->es_of.data;

	for (uint32_t i = first; i < end; i++) {
		struct clew_es *es = &all[i];

		if (es->in != CLEW_NONE) {
			es_of[ours[es->in].endpoint] = i;
			es->in = ours[es->in].dependency;
		}
		if (es->out != CLEW_NONE) {
			es_of[ours[es->out].endpoint] = i;
			es->out = ours[es->out].dependency;
		}
	}
}

static size_t most_events(const struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;

	return 6 * (size_t)bulk->child_count + 2 * rows->suspend_count + rows->endpoint_count +
	       rows->mark_count;
}

static int walk_all(struct bulk *bulk)
{
	struct clew_maker *maker = bulk->maker;
	struct vector *es = model_column(maker->model, COLUMN_ES),
		      *marks = model_column(maker->model, COLUMN_MARK);
	struct vector spare = {.item = sizeof(struct sort_key)};
	struct make_walk walk = {.maker = maker,
				 .suspends = bulk->suspends.data,
				 .labels = bulk->labels.data,
				 .es = es,
				 .marks = marks};
	int r = 0;

	/* Each span has one ES, and each event adds at most one. */
	if (vector_reserve(es, bulk->rows->span_count + most_events(bulk)) < 0 ||
	    vector_reserve(marks, bulk->rows->mark_count) < 0 ||
	    vector_reserve(&bulk->es_of, first_endpoint(bulk) + bulk->rows->endpoint_count) < 0)
		return make_dead(maker);
	for (uint32_t i = 0; r == 0 && i < bulk->rows->span_count; i++) {
		size_t count = bulk_event_count(bulk, i);
		uint32_t first = (uint32_t)es->count;

		r = make_room(maker, es->count, count + 1, "elementary spans");
		if (r == 0 &&
		    (vector_reserve(&bulk->events, count) < 0 ||
		     vector_reserve(&bulk->ours, count) < 0 || vector_reserve(&spare, count) < 0))
			r = make_dead(maker);
		if (r < 0)
			break;
		bulk_gather(bulk, i);
		sort_keys(bulk->events.data, spare.data, count);
		walk.span = i;
		walk.start = bulk->rows->spans[i].start;
		walk.end = bulk->rows->spans[i].end;
		r = make_walk_span(&walk, bulk->events.data, count);
		if (r < 0)
			break;
		if (bulk->rows->simplify)
			es->count = first + make_simplify_span((struct clew_es *)es->data + first,
							       (uint32_t)es->count - first);
		resolve(bulk, es->data, first, (uint32_t)es->count);
		make_model_span(maker, i)->elementary =
			(struct clew_range){first, (uint32_t)es->count - first};
	}
	make_walk_done(&walk);
	vector_done(&spare);
	return r;
}

/* ---- dependencies' endpoints ---- */

/* A new triggering origin becomes the first one, and the former one goes to the
 * end, as in a maker. */
static void put_origin(const struct bulk *bulk, struct clew_dependency *dependency,
		       uint32_t *origins, uint32_t origin)
{
	const struct clew_es *es = model_column(bulk->maker->model, COLUMN_ES)->data;
	uint32_t *first = origins + dependency->origins.first, count = dependency->origins.count++;

	if (count > 0) {
		clew_time at = es[origin].end, trigger_at = es[*first].end;

		if (dependency->mode == CLEW_MODE_OR ? at < trigger_at : at > trigger_at) {
			first[count] = *first;
			*first = origin;
			return;
		}
	}
	first[count] = origin;
}

static int put_endpoints(struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	struct clew_model *model = bulk->maker->model;
	struct vector *origin_column = model_column(model, COLUMN_ORIGIN),
		      *destination_column = model_column(model, COLUMN_DESTINATION);
	struct vector *column = model_column(model, COLUMN_DEPENDENCY);
	struct clew_dependency *dependencies = column->data,
			       *own = dependencies + first_dependency(bulk);
	const uint32_t *es_of = bulk->es_of.data;
	uint32_t *origins, *destinations, origin_count = 0, destination_count = 0;

	for (size_t i = 0; i < column->count; i++) {
		dependencies[i].origins.first = origin_count;
		dependencies[i].destinations.first = destination_count;
		origin_count += dependencies[i].origins.count;
		destination_count += dependencies[i].destinations.count;
		dependencies[i].origins.count = dependencies[i].destinations.count = 0;
	}
	if (vector_reserve(origin_column, origin_count) < 0 ||
	    vector_reserve(destination_column, destination_count) < 0)
		return make_dead(bulk->maker);
	origin_column->count = origin_count;
	destination_column->count = destination_count;
	origins = origin_column->data;
	destinations = destination_column->data;
	for (uint32_t i = 0; i < first_dependency(bulk); i++) {
		origins[dependencies[i].origins.first + dependencies[i].origins.count++] =
			es_of[2 * i];
		destinations[dependencies[i].destinations.first +
			     dependencies[i].destinations.count++] = es_of[2 * i + 1];
	}
	es_of += first_endpoint(bulk);
	for (size_t i = 0; i < rows->endpoint_count; i++) {
		struct clew_dependency *dependency = &own[rows->endpoints[i].dependency];

		if (rows->endpoints[i].destination)
			destinations[dependency->destinations.first +
				     dependency->destinations.count++] = es_of[i];
		else
			put_origin(bulk, dependency, origins, es_of[i]);
	}
	return 0;
}

/* ---- all of it ---- */

static int check_sizes(struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	struct clew_maker *maker = bulk->maker;
	size_t children = bulk->child_count;
	int r = make_room(maker, 2 * children, rows->dependency_count, "dependencies");

	if (r == 0)
		r = make_room(maker, 4 * children, rows->endpoint_count,
			      "endpoints of dependencies");
	if (r == 0)
		r = make_room(maker, children, rows->suspend_count, "suspends");
	return r < 0 ? r : make_room(maker, 0, rows->mark_count, "marks");
}

static int run(struct bulk *bulk)
{
	int r = add_spans(bulk);

	if (r == 0)
		r = check_sizes(bulk);
	if (r == 0)
		r = add_suspends(bulk);
	if (r == 0)
		r = add_dependencies(bulk);
	if (r == 0)
		r = bulk_deal(bulk);
	if (r == 0)
		r = add_labels(bulk);
	if (r == 0)
		r = walk_all(bulk);
	vector_done(&bulk->events);
	vector_done(&bulk->ours);
	vector_done(&bulk->others.items);
	vector_done(&bulk->ends.items);
	return r < 0 ? r : put_endpoints(bulk);
}

int clew_maker_bulk(struct clew_maker *maker, const struct clew_bulk *rows)
{
	struct bulk bulk = {
		.maker = maker,
		.rows = rows,
		.others = {.ends.item = sizeof(size_t), .items.item = sizeof(struct sort_key)},
		.ends = {.ends.item = sizeof(size_t), .items.item = sizeof(uint32_t)},
		.events.item = sizeof(struct sort_key),
		.ours.item = sizeof(struct our_end),
		.suspends.item = sizeof(struct make_suspend_row),
		.labels.item = sizeof(uint32_t),
		.es_of.item = sizeof(uint32_t)};
	int r = make_begin(maker, true);

	if (r == 0 && (maker->spans.count > 0 || maker->dependencies.count > 0))
		return make_fail(maker, -EINVAL, "there are spans or dependencies already");
	if (r == 0)
		r = make_room(maker, 0, rows->span_count, "spans");
	if (r < 0)
		return r;
	r = run(&bulk);
	maker->bulk = true;
	maker->dead = r;
	vector_done(&bulk.others.ends);
	vector_done(&bulk.ends.ends);
	vector_done(&bulk.suspends);
	vector_done(&bulk.labels);
	vector_done(&bulk.es_of);
	return r;
}
