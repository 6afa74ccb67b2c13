/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairing by key across traces, whose clocks do not agree yet: within one trace alone
 * does time give an order. Events that could be paired in more than one way are left alone and
 * counted.
 */
#include "analyse/stitch/internal.h"

typedef int pair_function(struct stitch *s, uint32_t statement, const struct keyed *origin,
			  const struct keyed *destinations, size_t destination_count, bool exact);

struct group {
	struct stitch *s;
	uint32_t statement;
	struct clew_stitch_count *count;
	pair_function *pair;
	struct keyed *origins, *destinations; /* each in order of trace, then of time */
	size_t origin_count, destination_count;
};

static int compare(const void *one, const void *other)
{
	const struct keyed *a = one, *b = other;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	if (a->is_destination != b->is_destination)
		return a->is_destination ? 1 : -1;
	if (a->trace != b->trace)
		return a->trace < b->trace ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	return a->item < b->item ? -1 : a->item > b->item;
}

static bool of_one_trace(const struct keyed *items, size_t count)
{
	return count == 0 || items[0].trace == items[count - 1].trace;
}

/* The number of events that lack a counterpart where there is none. */
static uint64_t count_alone(const struct keyed *items, size_t count)
{
	uint64_t alone = 0;

	for (size_t i = 0; i < count; i++)
		alone += !items[i].is_whole;
	return alone;
}

/* Origins of one trace and destinations in others. */
static int pair_up(struct group *g, const struct keyed *origins, size_t origin_count,
		   const struct keyed *destinations, size_t destination_count)
{
	int r = 0;

	if (origin_count == 0 || destination_count == 0) {
		g->count->alone += count_alone(origins, origin_count) +
				   count_alone(destinations, destination_count);
		return 0;
	}
	if (origin_count == 1)
		return g->pair(g->s, g->statement, origins, destinations, destination_count, true);
	if (origin_count != destination_count || !of_one_trace(destinations, destination_count)) {
		g->count->ambiguous += origin_count + destination_count;
		return 0;
	}
	for (size_t i = 0; i < origin_count && r == 0; i++)
		r = g->pair(g->s, g->statement, &origins[i], &destinations[i], 1, false);
	return r;
}

static size_t how_many_of(const struct keyed *items, size_t count, uint32_t trace)
{
	size_t of = 0;

	while (of < count && items[of].trace == trace)
		of++;
	return of;
}

/* Destinations in the trace of their origin go to the end: they cannot be meant. Returns how many
 * others there are. */
static size_t put_away(struct keyed *items, size_t count, uint32_t trace)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct keyed item = items[i];

		if (item.trace == trace)
			continue;
		items[i] = items[left];
		items[left++] = item;
	}
	return left;
}

static int pair_group(struct group *g)
{
	struct keyed *o = g->origins, *d = g->destinations;
	size_t first_origins, first_destinations, left;
	uint32_t low, high;
	int r;

	if (g->origin_count == 0 || g->destination_count == 0)
		return pair_up(g, o, g->origin_count, d, g->destination_count);
	if (of_one_trace(o, g->origin_count)) {
		left = put_away(d, g->destination_count, o->trace);
		g->count->alone += count_alone(d + left, g->destination_count - left);
		return pair_up(g, o, g->origin_count, d, left);
	}
	/* Both ways between two traces. */
	low = o[0].trace;
	high = o[g->origin_count - 1].trace;
	first_origins = how_many_of(o, g->origin_count, low);
	first_destinations = how_many_of(d, g->destination_count, low);
	if (first_origins + how_many_of(o + first_origins, g->origin_count - first_origins, high) !=
		    g->origin_count ||
	    first_destinations + how_many_of(d + first_destinations,
					     g->destination_count - first_destinations, high) !=
		    g->destination_count) {
		g->count->ambiguous += g->origin_count + g->destination_count;
		return 0;
	}
	r = pair_up(g, o, first_origins, d + first_destinations,
		    g->destination_count - first_destinations);
	return r < 0 ? r
		     : pair_up(g, o + first_origins, g->origin_count - first_origins, d,
			       first_destinations);
}

int stitch_match(struct stitch *s, uint32_t statement, struct keyed *items, size_t count,
		 pair_function *pair)
{
	struct group group = {.s = s,
			      .statement = statement,
			      .count = &s->result->counts[statement],
			      .pair = pair};
	int r = 0;

	if (count)
		qsort(items, count, sizeof(*items), compare);
	for (size_t i = 0; i < count && r == 0;) {
		size_t middle = i, end;

		while (middle < count && items[middle].key == items[i].key &&
		       !items[middle].is_destination)
			middle++;
		for (end = middle; end < count && items[end].key == items[i].key;)
			end++;
		group.origins = items + i;
		group.origin_count = middle - i;
		group.destinations = items + middle;
		group.destination_count = end - middle;
		r = pair_group(&group);
		i = end;
	}
	return r;
}
