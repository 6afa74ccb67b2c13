/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Distributes the rows of a bulk's tables to their spans, in the order of a
 * maker's operations: children, suspends, endpoints, marks. For endpoints, the
 * largest table, it only distributes the numbers of their rows.
 */
#include "model/make_bulk.h"

#define FETCH_AHEAD 24 /* items */

static int count_endpoints(struct bulk *bulk, size_t *counts)
{
	const struct clew_bulk *rows = bulk->rows;
	struct clew_dependency *dependencies =
		(struct clew_dependency *)model_column(bulk->maker->model, COLUMN_DEPENDENCY)
			->data +
		first_dependency(bulk);

	for (size_t i = 0; i < rows->endpoint_count; i++) {
		const struct clew_bulk_endpoint *row = &rows->endpoints[i];
		struct clew_dependency *dependency = &dependencies[row->dependency];

		if (row->span >= rows->span_count)
			return bulk_refuse(bulk, -ENOENT, "endpoints", i, "there is no such span");
		if (row->dependency >= rows->dependency_count)
			return bulk_refuse(bulk, -ENOENT, "endpoints", i,
					   "there is no such dependency");
		if (row->at < rows->spans[row->span].start || row->at > rows->spans[row->span].end)
			return bulk_refuse(bulk, -EINVAL, "endpoints", i, "it is outside its span");
		counts[row->span]++;
		if (row->destination) {
			dependency->destinations.count++;
		} else {
			if (dependency->origins.count > 0 && dependency->mode == CLEW_MODE_SINGLE)
				return bulk_refuse(bulk, -EEXIST, "endpoints", i,
						   "its dependency has an origin already");
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
			return bulk_refuse(bulk, -ENOENT, "marks", i, "there is no such span");
		if (row->at < rows->spans[row->span].start || row->at > rows->spans[row->span].end)
			return bulk_refuse(bulk, -EINVAL, "marks", i, "it is outside its span");
		counts[row->span]++;
	}
	return 0;
}

static struct sort_key make_event(clew_time at, uint32_t index, unsigned kind, unsigned place)
{
	return (struct sort_key){
		.key = event_key(at), .index = index, .tag = kind | place << EVENT_BITS};
}

static void deal(const struct bulk *bulk, uint32_t span, clew_time at, uint32_t index,
		 unsigned kind, unsigned place)
{
	size_t *ends = (size_t *)bulk->others.ends.data + span;

	((struct sort_key *)bulk->others.items.data)[(*ends)++] =
		make_event(at, index, kind, place);
}

static void deal_suspend(const struct bulk *bulk, uint32_t span, clew_time start, clew_time end,
			 uint32_t suspend)
{
	if (start == end)
		return;
	deal(bulk, span, start, suspend, EVENT_SUSPEND, 0);
	deal(bulk, span, end, suspend, EVENT_RESUME, 0);
}

/* All but endpoints; marks come last. */
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
		deal_suspend(bulk, rows->suspends[i].span, rows->suspends[i].start,
			     rows->suspends[i].end, child + i);
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

/* Turns counts into begins; distributing the items advances these to the
 * ends. */
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

int bulk_deal(struct bulk *bulk)
{
	size_t span_count = bulk->rows->span_count;
	int r;

	if (vector_reserve(&bulk->others.ends, span_count) < 0 ||
	    vector_reserve(&bulk->ends.ends, span_count) < 0)
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

size_t bulk_event_count(const struct bulk *bulk, uint32_t span)
{
	return lot_end(&bulk->others, span) - lot_begin(&bulk->others, span) +
	       lot_end(&bulk->ends, span) - lot_begin(&bulk->ends, span);
}

/* Rows of endpoints are scattered in memory, so they are prefetched. */
void bulk_gather(const struct bulk *bulk, uint32_t span)
{
	const struct sort_key *others = bulk->others.items.data;
	const struct clew_bulk_endpoint *rows = bulk->rows->endpoints;
	const uint32_t *ends = bulk->ends.items.data;
	size_t other = lot_begin(&bulk->others, span), other_end = lot_end(&bulk->others, span),
	       end = lot_end(&bulk->ends, span);
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
	for (size_t i = lot_begin(&bulk->ends, span); i < end; i++) {
		const struct clew_bulk_endpoint *row = &rows[ends[i]];

		if (end - i > FETCH_AHEAD)
			__builtin_prefetch(&rows[ends[i + FETCH_AHEAD]]);
		ours[our_count] = (struct our_end){first_endpoint(bulk) + ends[i],
						   first_dependency(bulk) + row->dependency};
		*out++ = make_event(row->at, our_count++, row->destination ? EVENT_IN : EVENT_OUT,
				    row->place);
	}
	while (other < other_end)
		*out++ = others[other++];
}
