// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A whole trace at once. Events of all tables are dealt out to their spans in the
 * order in which a maker would take them, each span's are sorted by time, and walked
 * once. Calls and returns come first: child k, counted over the spans with a parent,
 * has dependencies 2k (call) and 2k + 1 (return) and endpoints 4k .. 4k + 3: origin
 * and destination of the call, origin and destination of the return.
 */
#include <model/make_internal.h>
#include <stdlib.h>

#define FETCH_AHEAD 24 /* items */

/* Something of each span: once it is dealt, span s's items are ends[s - 1] .. ends[s], the first's from 0. */
struct lot {
	struct vector ends; /* size_t */
	struct vector items;
};

/* An endpoint of the span at hand. */
struct our_end {
	uint32_t endpoint, dependency;
};

struct bulk {
	struct clew_maker *maker;
	const struct clew_bulk *rows;
	uint32_t child_count;
	struct lot others;	/* sort_key: all events but the table's endpoints */
	struct lot ends;	/* uint32_t: rows of endpoints */
	struct vector events;	/* sort_key: one span's, endpoints being numbers of the next */
	struct vector ours;	/* our_end: one span's */
	struct vector suspends; /* make_suspend_row: children's, then the table's */
	struct vector labels;	/* uint32_t: strings of marks */
	struct vector es_of;	/* uint32_t: ES of each endpoint */
};

static uint32_t first_endpoint(const struct bulk *bulk)
{
	return 4 * bulk->child_count;
}

static uint32_t first_dependency(const struct bulk *bulk)
{
	return 2 * bulk->child_count;
}

static int refuse(struct bulk *bulk, int r, const char *table, size_t row, const char *what)
{
	return make_fail(bulk->maker, r, "row %zu of the %s: %s", row, table, what);
}

/* ---- spans and the other tables, as they are ---- */

static int add_spans(struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	uint32_t list_count = (uint32_t)model_column(bulk->maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1;

	for (size_t i = 0; i < rows->span_count; i++) {
		const struct clew_bulk_span *row = &rows->spans[i];
		uint32_t span;
		int r;

		if (row->start > row->end)
			return refuse(bulk, -EINVAL, "spans", i, "it ends before it begins");
		if (row->parent != CLEW_NONE && row->parent >= i)
			return refuse(bulk, -EINVAL, "spans", i, "its parent is not an earlier one");
		if (row->parent != CLEW_NONE && (row->start < rows->spans[row->parent].start || row->end > rows->spans[row->parent].end))
			return refuse(bulk, -EINVAL, "spans", i, "it goes beyond its parent");
		if (row->attributes != CLEW_NONE && row->attributes >= list_count)
			return refuse(bulk, -ENOENT, "spans", i, "there is no such attribute list");
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
			*out++ = (struct make_suspend_row){.end = rows->spans[i].end, .wait = CLEW_NONE};
	for (size_t i = 0; i < rows->suspend_count; i++, out++) {
		const struct clew_bulk_suspend *row = &rows->suspends[i];
		const struct clew_bulk_span *span;

		if (row->span >= rows->span_count)
			return refuse(bulk, -ENOENT, "suspends", i, "there is no such span");
		if (row->start > row->end)
			return refuse(bulk, -EINVAL, "suspends", i, "it ends before it begins");
		out->end = row->end;
		span = &rows->spans[row->span];
		if (row->start < row->end) {
			int r = make_wait(bulk->maker, row->kind, row->attributes, &out->wait);

			if (r < 0)
				return r;
			if (row->start < span->start || row->end > span->end)
				return refuse(bulk, -EINVAL, "suspends", i, "it goes beyond its span");
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
	uint32_t list_count = (uint32_t)model_column(bulk->maker->model, COLUMN_ATTRIBUTE_LIST)->count - 1;
	struct clew_dependency *out;

	if (vector_reserve(column, first_dependency(bulk) + rows->dependency_count) < 0)
		return make_dead(bulk->maker);
	column->count = first_dependency(bulk) + rows->dependency_count;
	out = column->data;
	for (uint32_t i = 0; i < first_dependency(bulk); i++)
		*out++ = (struct clew_dependency){.type = i % 2 ? CLEW_DEPENDENCY_RETURN : CLEW_DEPENDENCY_CALL,
						  .mode = CLEW_MODE_SINGLE,
						  .attributes = CLEW_NONE,
						  .origins = {i, 1},
						  .destinations = {i, 1}};
	for (size_t i = 0; i < rows->dependency_count; i++) {
		const struct clew_bulk_dependency *row = &rows->dependencies[i];

		if (row->type >= type_count)
			return refuse(bulk, -ENOENT, "dependencies", i, "there is no such type");
		if (row->mode > CLEW_MODE_OR)
			return refuse(bulk, -EINVAL, "dependencies", i, "there is no such mode");
		if (row->attributes != CLEW_NONE && row->attributes >= list_count)
			return refuse(bulk, -ENOENT, "dependencies", i, "there is no such attribute list");
		*out++ = (struct clew_dependency){.type = row->type, .mode = row->mode, .attributes = row->attributes};
	}
	return 0;
}

/* ---- dealing out ---- */

static int count_endpoints(struct bulk *bulk, size_t *counts)
{
	const struct clew_bulk *rows = bulk->rows;
	struct clew_dependency *dependencies =
		(struct clew_dependency *)model_column(bulk->maker->model, COLUMN_DEPENDENCY)->data + first_dependency(bulk);

	for (size_t i = 0; i < rows->endpoint_count; i++) {
		const struct clew_bulk_endpoint *row = &rows->endpoints[i];
		struct clew_dependency *dependency = &dependencies[row->dependency];

		if (row->span >= rows->span_count)
			return refuse(bulk, -ENOENT, "endpoints", i, "there is no such span");
		if (row->dependency >= rows->dependency_count)
			return refuse(bulk, -ENOENT, "endpoints", i, "there is no such dependency");
		if (row->at < rows->spans[row->span].start || row->at > rows->spans[row->span].end)
			return refuse(bulk, -EINVAL, "endpoints", i, "it is outside its span");
		counts[row->span]++;
		if (row->destination) {
			dependency->destinations.count++;
		} else {
			if (dependency->origins.count > 0 && dependency->mode == CLEW_MODE_SINGLE)
				return refuse(bulk, -EEXIST, "endpoints", i, "its dependency has an origin already");
			dependency->origins.count++;
		}
	}
	return 0;
}

static int count_others(struct bulk *bulk, size_t *counts)
{
	const struct clew_bulk *rows = bulk->rows;

	for (size_t i = 0; i < rows->span_count; i++) {
		const struct clew_bulk_span *row = &rows->spans[i];

		if (row->parent == CLEW_NONE)
			continue;
		counts[i] += 2;
		counts[row->parent] += row->start < row->end ? 4 : 2;
	}
	for (size_t i = 0; i < rows->suspend_count; i++)
		if (rows->suspends[i].start < rows->suspends[i].end)
			counts[rows->suspends[i].span] += 2;
	for (size_t i = 0; i < rows->mark_count; i++) {
		const struct clew_bulk_mark *row = &rows->marks[i];

		if (row->span >= rows->span_count)
			return refuse(bulk, -ENOENT, "marks", i, "there is no such span");
		if (row->at < rows->spans[row->span].start || row->at > rows->spans[row->span].end)
			return refuse(bulk, -EINVAL, "marks", i, "it is outside its span");
		counts[row->span]++;
	}
	return 0;
}

static struct sort_key make_event(clew_time at, uint32_t index, unsigned kind, unsigned place)
{
	return (struct sort_key){.key = event_key(at), .index = index, .tag = kind | place << EVENT_BITS};
}

static void deal(const struct bulk *bulk, uint32_t span, clew_time at, uint32_t index, unsigned kind, unsigned place)
{
	size_t *ends = (size_t *)bulk->others.ends.data + span;

	((struct sort_key *)bulk->others.items.data)[(*ends)++] = make_event(at, index, kind, place);
}

static void deal_suspend(const struct bulk *bulk, uint32_t span, clew_time start, clew_time end, uint32_t suspend)
{
	if (start == end)
		return;
	deal(bulk, span, start, suspend, EVENT_SUSPEND, 0);
	deal(bulk, span, end, suspend, EVENT_RESUME, 0);
}

/* Marks last. */
static void deal_others(const struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	uint32_t child = 0;

	for (uint32_t i = 0; i < rows->span_count; i++) {
		const struct clew_bulk_span *row = &rows->spans[i];

		if (row->parent == CLEW_NONE)
			continue;
		deal(bulk, row->parent, row->start, 4 * child, EVENT_OUT, 0);
		deal(bulk, i, row->start, 4 * child + 1, EVENT_IN, 0);
		deal(bulk, i, row->end, 4 * child + 2, EVENT_OUT, 0);
		deal_suspend(bulk, row->parent, row->start, row->end, child);
		deal(bulk, row->parent, row->end, 4 * child + 3, EVENT_IN, CLEW_PLACE_LATE);
		child++;
	}
	for (uint32_t i = 0; i < rows->suspend_count; i++)
		deal_suspend(bulk, rows->suspends[i].span, rows->suspends[i].start, rows->suspends[i].end, child + i);
	for (uint32_t i = 0; i < rows->mark_count; i++)
		deal(bulk, rows->marks[i].span, rows->marks[i].at, i, EVENT_MARK, 0);
}

static void deal_endpoints(const struct bulk *bulk)
{
	const struct clew_bulk *rows = bulk->rows;
	size_t *ends = bulk->ends.ends.data;
	uint32_t *items = bulk->ends.items.data;

	for (uint32_t i = 0; i < rows->endpoint_count; i++)
		items[ends[rows->endpoints[i].span]++] = i;
}

/* From counts to begins, which dealing moves on to the ends. */
static int prepare_lot(struct bulk *bulk, struct lot *lot)
{
	size_t *ends = lot->ends.data, total = 0;

	for (size_t i = 0; i < bulk->rows->span_count; i++) {
		size_t count = ends[i];

		ends[i] = total;
		total += count;
	}
	return vector_reserve(&lot->items, total) < 0 ? make_dead(bulk->maker) : 0;
}

static int deal_out(struct bulk *bulk)
{
	size_t span_count = bulk->rows->span_count;
	int r;

	if (vector_reserve(&bulk->others.ends, span_count) < 0 || vector_reserve(&bulk->ends.ends, span_count) < 0)
		return make_dead(bulk->maker);
	r = count_others(bulk, bulk->others.ends.data);
	if (r == 0)
		r = count_endpoints(bulk, bulk->ends.ends.data);
	if (r == 0)
		r = prepare_lot(bulk, &bulk->others);
	if (r == 0)
		r = prepare_lot(bulk, &bulk->ends);
	if (r < 0)
		return r;
	deal_others(bulk);
	deal_endpoints(bulk);
	return 0;
}

static size_t begin_of(const struct lot *lot, uint32_t span)
{
	return span ? ((const size_t *)lot->ends.data)[span - 1] : 0;
}

static size_t end_of(const struct lot *lot, uint32_t span)
{
	return ((const size_t *)lot->ends.data)[span];
}

static size_t event_count(const struct bulk *bulk, uint32_t span)
{
	return end_of(&bulk->others, span) - begin_of(&bulk->others, span) + end_of(&bulk->ends, span) - begin_of(&bulk->ends, span);
}

/* A span's events in order of making. Rows of endpoints lie anywhere: they are fetched while others are worked on. */
static void gather(const struct bulk *bulk, uint32_t span)
{
	const struct sort_key *others = bulk->others.items.data;
	const struct clew_bulk_endpoint *rows = bulk->rows->endpoints;
	const uint32_t *ends = bulk->ends.items.data;
	size_t other = begin_of(&bulk->others, span), other_end = end_of(&bulk->others, span), end = end_of(&bulk->ends, span);
	struct sort_key *out = bulk->events.data;
	struct our_end *ours = bulk->ours.data;
	uint32_t our_count = 0;

	for (; other < other_end && EVENT_KIND(others[other].tag) != EVENT_MARK; other++) {
		*out = others[other];
		if (EVENT_KIND(out->tag) <= EVENT_IN) {
			ours[our_count] = (struct our_end){out->index, out->index / 2};
			out->index = our_count++;
		}
		out++;
	}
	for (size_t i = begin_of(&bulk->ends, span); i < end; i++) {
		const struct clew_bulk_endpoint *row = &rows[ends[i]];

		if (end - i > FETCH_AHEAD)
			__builtin_prefetch(&rows[ends[i + FETCH_AHEAD]]);
		ours[our_count] = (struct our_end){first_endpoint(bulk) + ends[i], first_dependency(bulk) + row->dependency};
		*out++ = make_event(row->at, our_count++, row->destination ? EVENT_IN : EVENT_OUT, row->place);
	}
	while (other < other_end)
		*out++ = others[other++];
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
			return r == -E2BIG ? refuse(bulk, r, "marks", i, "more than 4 GB of names") : make_dead(bulk->maker);
	}
	return 0;
}

/* ---- ESs ---- */

/* From numbers of endpoints to dependencies, and to the endpoints' ESs. */
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

	return 6 * (size_t)bulk->child_count + 2 * rows->suspend_count + rows->endpoint_count + rows->mark_count;
}

static int walk_all(struct bulk *bulk)
{
	struct clew_maker *maker = bulk->maker;
	struct vector *es = model_column(maker->model, COLUMN_ES), *marks = model_column(maker->model, COLUMN_MARK);
	struct vector spare = {.item = sizeof(struct sort_key)};
	struct make_walk walk = {.maker = maker, .suspends = bulk->suspends.data, .labels = bulk->labels.data, .es = es, .marks = marks};
	int r = 0;

	/* An event makes one ES at most, beside the one that each span has. */
	if (vector_reserve(es, bulk->rows->span_count + most_events(bulk)) < 0 || vector_reserve(marks, bulk->rows->mark_count) < 0 ||
	    vector_reserve(&bulk->es_of, first_endpoint(bulk) + bulk->rows->endpoint_count) < 0)
		return make_dead(maker);
	for (uint32_t i = 0; r == 0 && i < bulk->rows->span_count; i++) {
		size_t count = event_count(bulk, i);
		uint32_t first = (uint32_t)es->count;

		r = make_room(maker, es->count, count + 1, "elementary spans");
		if (r == 0 && (vector_reserve(&bulk->events, count) < 0 || vector_reserve(&bulk->ours, count) < 0 ||
			       vector_reserve(&spare, count) < 0))
			r = make_dead(maker);
		if (r < 0)
			break;
		gather(bulk, i);
		sort_keys(bulk->events.data, spare.data, count);
		walk.span = i;
		walk.start = bulk->rows->spans[i].start;
		walk.end = bulk->rows->spans[i].end;
		r = make_walk_span(&walk, bulk->events.data, count);
		if (r < 0)
			break;
		if (bulk->rows->simplify)
			es->count = first + make_simplify_span((struct clew_es *)es->data + first, (uint32_t)es->count - first);
		resolve(bulk, es->data, first, (uint32_t)es->count);
		make_model_span(maker, i)->elementary = (struct clew_range){first, (uint32_t)es->count - first};
	}
	make_walk_done(&walk);
	vector_done(&spare);
	return r;
}

/* ---- dependencies' endpoints ---- */

/* A new triggering origin takes the first place, and the one that had it goes to the end, as in a maker. */
static void put_origin(const struct bulk *bulk, struct clew_dependency *dependency, uint32_t *origins, uint32_t origin)
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
	struct vector *origin_column = model_column(model, COLUMN_ORIGIN), *destination_column = model_column(model, COLUMN_DESTINATION);
	struct vector *column = model_column(model, COLUMN_DEPENDENCY);
	struct clew_dependency *dependencies = column->data, *own = dependencies + first_dependency(bulk);
	const uint32_t *es_of = bulk->es_of.data;
	uint32_t *origins, *destinations, origin_count = 0, destination_count = 0;

	for (size_t i = 0; i < column->count; i++) {
		dependencies[i].origins.first = origin_count;
		dependencies[i].destinations.first = destination_count;
		origin_count += dependencies[i].origins.count;
		destination_count += dependencies[i].destinations.count;
		dependencies[i].origins.count = dependencies[i].destinations.count = 0;
	}
	if (vector_reserve(origin_column, origin_count) < 0 || vector_reserve(destination_column, destination_count) < 0)
		return make_dead(bulk->maker);
	origin_column->count = origin_count;
	destination_column->count = destination_count;
	origins = origin_column->data;
	destinations = destination_column->data;
	for (uint32_t i = 0; i < first_dependency(bulk); i++) {
		origins[dependencies[i].origins.first + dependencies[i].origins.count++] = es_of[2 * i];
		destinations[dependencies[i].destinations.first + dependencies[i].destinations.count++] = es_of[2 * i + 1];
	}
	es_of += first_endpoint(bulk);
	for (size_t i = 0; i < rows->endpoint_count; i++) {
		struct clew_dependency *dependency = &own[rows->endpoints[i].dependency];

		if (rows->endpoints[i].destination)
			destinations[dependency->destinations.first + dependency->destinations.count++] = es_of[i];
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
		r = make_room(maker, 4 * children, rows->endpoint_count, "endpoints of dependencies");
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
		r = deal_out(bulk);
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
	struct bulk bulk = {.maker = maker,
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
