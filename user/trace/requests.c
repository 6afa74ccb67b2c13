/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trace's block requests. They are stored by the builder's number, and at the end put
 * in order of when they were queued, without unused numbers. Also here: requests whose
 * completion was lost, intervals in which tasks spun for locks, and sleeps for want of
 * quota.
 */
#include "trace/internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct clew_trace_request *request_at(const struct clew_trace *trace, size_t index)
{
	return (struct clew_trace_request *)trace->requests.data + index;
}

int trace_add_request(struct clew_trace *trace, const struct clew_block_request *request)
{
	size_t count = request->number + 1;
	int r = count > UINT32_MAX ? -EFBIG : vector_reserve(&trace->requests, count);

	if (r < 0)
		return r;
	if (count > trace->requests.count)
		trace->requests.count = count;
	request_at(trace, request->number)->block = *request;
	return 0;
}

int trace_add_below(struct clew_trace *trace, const struct clew_below *below)
{
	int r = vector_reserve(&trace->below, trace->below.count + 1);

	if (r < 0)
		return r;
	((struct clew_below *)trace->below.data)[trace->below.count++] = *below;
	return 0;
}

int trace_add_spin(struct clew_trace *trace, const struct clew_spin *spin)
{
	int r = vector_reserve(&trace->spins, trace->spins.count + 1);

	if (r < 0)
		return r;
	((struct clew_spin *)trace->spins.data)[trace->spins.count++] = *spin;
	return 0;
}

static int compare_spins(const void *left, const void *right)
{
	const struct clew_spin *a = left, *b = right;

	if (a->task != b->task)
		return a->task < b->task ? -1 : 1;
	if (a->end != b->end)
		return a->end < b->end ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

const struct clew_spin *clew_trace_spin(const struct clew_trace *trace, uint32_t serial,
					uint64_t after)
{
	const struct clew_spin *spins = trace->spins.data;
	size_t low = 0, high = trace->spins.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (spins[middle].task < serial ||
		    (spins[middle].task == serial && spins[middle].end <= after))
			low = middle + 1;
		else
			high = middle;
	}
	return low < trace->spins.count && spins[low].task == serial ? &spins[low] : NULL;
}

const struct clew_trace_request *clew_trace_requests(const struct clew_trace *trace,
						     size_t *ret_count)
{
	*ret_count = trace->requests.count;
	return trace->requests.data;
}

/* Puts requests in order of `queued`. place_of[number] is the new index, UINT32_MAX of an unused
 * number. */
static int order_requests(struct clew_trace *trace, uint32_t *place_of)
{
	size_t count = trace->requests.count, used = 0;
	struct sort_key *keys = malloc(2 * (count + 1) * sizeof(*keys));
	struct clew_trace_request *sorted = malloc((count + 1) * sizeof(*sorted));

	if (!keys || !sorted) {
		free(keys);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++) {
		place_of[i] = UINT32_MAX;
		if (request_at(trace, i)->block.device || request_at(trace, i)->block.queued ||
		    request_at(trace, i)->block.completed)
			keys[used++] = (struct sort_key){.key = request_at(trace, i)->block.queued,
							 .index = (uint32_t)i};
	}
	sort_keys(keys, keys + count + 1, used);
	for (size_t i = 0; i < used; i++) {
		sorted[i] = *request_at(trace, keys[i].index);
		sorted[i].block.number = (uint32_t)i;
		place_of[keys[i].index] = (uint32_t)i;
	}
	if (used)
		memcpy(trace->requests.data, sorted, used * sizeof(*sorted));
	trace->requests.count = used;
	free(keys);
	free(sorted);
	return 0;
}

/* ns: a disk may do later requests first, but not those that come this much later. */
#define OVERTAKEN 1000000000

/* When the last gap ended, 0 there was none. */
static uint64_t lost_until(const struct clew_trace *trace)
{
	const struct clew_gap *gaps = trace->gaps.data;
	uint64_t until = 0;

	for (size_t i = 0; i < trace->gaps.count; i++)
		until = gaps[i].header.time > until ? gaps[i].header.time : until;
	return until;
}

/* The later one of two moments, of which a map of a part of the capture may have one. */
static uint64_t later_of(uint64_t at, const struct map *passed, uint64_t key, uint32_t device)
{
	const uint64_t *other = passed ? map_get(passed, key, device) : NULL;

	return other && *other > at ? *other : at;
}

/*
 * Finds the requests whose completion was lost. The kernel re-used the request's memory;
 * or records were lost since, and a later request for the same sectors, or one that came
 * much later, is complete. Without a loss a request may take very long. `open`: sectors
 * of requests without a completion -> when the last complete request there was asked for.
 */
static int find_lost(struct clew_trace *trace, struct map *open, struct map *newest)
{
	const struct trace_part *part = trace->part;
	size_t count = trace->requests.count;
	uint64_t until = lost_until(trace);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		struct clew_trace_request *request = request_at(trace, i);
		const struct clew_block_request *block = &request->block;

		request->end_lost = block->reused != 0;
		if (!block->completed && trace_asked_at(block) < until)
			r = map_set(open, block->sector, block->device,
				    later_of(0, part ? &part->again : NULL, block->sector,
					     block->device));
	}
	for (size_t i = 0; i < count && open->count && r >= 0; i++) {
		const struct clew_block_request *block = &request_at(trace, i)->block;
		uint64_t *again = block->completed && block->bytes
					  ? map_get(open, block->sector, block->device)
					  : NULL;

		if (again && trace_asked_at(block) > *again)
			*again = trace_asked_at(block);
		if (block->completed)
			r = map_set(newest, block->device, 0, trace_asked_at(block));
	}
	for (size_t i = 0; i < count && open->count && r >= 0; i++) {
		struct clew_trace_request *request = request_at(trace, i);
		const struct clew_block_request *block = &request->block;
		const uint64_t *known = map_get(newest, block->device, 0),
			       *again = map_get(open, block->sector, block->device);
		uint64_t later =
			later_of(known ? *known : 0, part ? &part->newest : NULL, block->device, 0);

		if (!block->completed && trace_asked_at(block) < until)
			request->end_lost |=
				(block->bytes && again && *again > trace_asked_at(block)) ||
				later > trace_asked_at(block) + OVERTAKEN;
	}
	return r;
}

/* When a capture was cut off some streams end before others: the moment that all of them reach. */
static uint64_t seen_until(const struct clew_trace *trace)
{
	const struct clew_gap *gaps = trace->gaps.data;
	uint64_t until = CLEW_TIME_OPEN;

	for (size_t i = 0; i < trace->gaps.count; i++)
		if (gaps[i].count == CLEW_GAP_UNCOUNTED && gaps[i].from < until)
			until = gaps[i].from;
	return until;
}

/* A request whose completion was lost counts until its issue only, as it may have been over at any
 * time after that. */
static void find_ends(struct clew_trace *trace)
{
	uint64_t seen = seen_until(trace), over = 0;

	for (size_t i = 0; i < trace->requests.count; i++) {
		struct clew_trace_request *request = request_at(trace, i);
		const struct clew_block_request *block = &request->block;

		request->until = block->completed			     ? block->completed
				 : request->end_lost || seen < block->issued ? block->issued
									     : seen;
		over = request->until > over ? request->until : over;
		request->over = over;
	}
}

/* Gives each request its lists, in one block of numbers: counted before, filled after. */
static int make_room(struct clew_trace *trace)
{
	size_t total = 0;
	uint32_t *numbers;

	for (size_t i = 0; i < trace->requests.count; i++)
		total += (size_t)request_at(trace, i)->lower_count +
			 request_at(trace, i)->woke_count;
	numbers = arena_take(&trace->arena, (total + 1) * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < trace->requests.count; i++) {
		struct clew_trace_request *request = request_at(trace, i);

		request->lower = numbers;
		numbers += request->lower_count;
		request->woke = numbers;
		numbers += request->woke_count;
		request->lower_count = request->woke_count = 0;
	}
	return 0;
}

static void add_to(const uint32_t *list, uint32_t *count, uint32_t number)
{
	((uint32_t *)(uintptr_t)list)[(*count)++] = number;
}

static bool has(const uint32_t *list, uint32_t count, uint32_t number)
{
	while (count > 0)
		if (list[--count] == number)
			return true;
	return false;
}

static bool is_request(const struct clew_link *link)
{
	return link->kind == CLEW_LINK_REQUEST;
}

/* Renumbers the requests in sleeps' links and counts their sleepers; `fill`: lists the sleepers. */
static void join_sleeps(struct clew_trace *trace, const uint32_t *place_of, size_t numbers,
			bool fill)
{
	for (size_t i = trace->first_sleep; i < trace->sleeps.count; i++) {
		const struct clew_sleep *sleep = (const struct clew_sleep *)trace->sleeps.data + i;
		struct clew_link *links = (struct clew_link *)(uintptr_t)sleep->links;
		size_t count = (size_t)sleep->link_count + sleep->and_count;

		for (size_t k = 0; k < count; k++) {
			struct clew_trace_request *request;

			if (!is_request(&links[k]))
				continue;
			if (!fill)
				links[k].number = links[k].number < numbers
							  ? place_of[links[k].number]
							  : UINT32_MAX;
			if (links[k].number >= trace->requests.count || k >= sleep->link_count)
				continue;
			request = request_at(trace, links[k].number);
			/* A request that completes in parts may end several sleeps of one task. */
			if (!fill)
				request->woke_count++;
			else if (!has(request->woke, request->woke_count, sleep->task))
				add_to(request->woke, &request->woke_count, sleep->task);
		}
	}
}

static void join_below(struct clew_trace *trace, const uint32_t *place_of, size_t numbers,
		       bool fill)
{
	const struct clew_below *below = trace->below.data;

	for (size_t i = 0; i < trace->below.count; i++) {
		uint32_t upper = below[i].upper < numbers ? place_of[below[i].upper] : UINT32_MAX;
		uint32_t lower = below[i].lower < numbers ? place_of[below[i].lower] : UINT32_MAX;

		if (upper == UINT32_MAX || lower == UINT32_MAX)
			continue;
		if (fill)
			add_to(request_at(trace, upper)->lower,
			       &request_at(trace, upper)->lower_count, lower);
		else
			request_at(trace, upper)->lower_count++;
	}
}

static int list_throttles(struct clew_trace *trace)
{
	struct numbers *list = &trace->throttles;

	for (size_t i = trace->first_sleep; i < trace->sleeps.count; i++) {
		const struct clew_sleep *sleep = (const struct clew_sleep *)trace->sleeps.data + i;

		if (sleep->kind != CLEW_WAIT_THROTTLE || sleep->object.kind != CLEW_OBJECT_CGROUP)
			continue;
		if (list->count == list->capacity) {
			uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
			uint32_t *data = realloc(list->data, capacity * sizeof(*data));

			if (!data)
				return -ENOMEM;
			trace->number_bytes += (capacity - list->capacity) * sizeof(*data);
			list->data = data;
			list->capacity = capacity;
		}
		list->data[list->count++] = (uint32_t)i;
	}
	return 0;
}

int trace_finish_requests(struct clew_trace *trace)
{
	size_t numbers = trace->requests.count;
	struct map open = {0}, newest = {0};
	uint32_t *place_of;
	int r;

	trace_finish_stays(trace);
	if (trace->spins.count > 1)
		qsort(trace->spins.data, trace->spins.count, sizeof(struct clew_spin),
		      compare_spins);
	r = list_throttles(trace);
	if (r < 0 || numbers == 0)
		return r;
	place_of = malloc(numbers * sizeof(*place_of));
	if (!place_of)
		return -ENOMEM;
	r = order_requests(trace, place_of);
	if (r >= 0)
		r = find_lost(trace, &open, &newest);
	map_done(&open);
	map_done(&newest);
	if (r >= 0) {
		find_ends(trace);
		join_below(trace, place_of, numbers, false);
		join_sleeps(trace, place_of, numbers, false);
		r = make_room(trace);
	}
	if (r >= 0) {
		join_below(trace, place_of, numbers, true);
		join_sleeps(trace, place_of, numbers, true);
		r = trace_finish_pages(trace, place_of, numbers);
	}
	free(place_of);
	return r;
}
