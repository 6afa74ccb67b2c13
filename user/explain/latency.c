/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Histograms by group. */
#include "explain/latency.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX /* CLEW_NO_NUMBER */

struct clew_latency clew_latency_new(unsigned digits)
{
	return (struct clew_latency){.digits = digits,
				     .most = CLEW_LATENCY_MOST_GROUPS,
				     .room = SIZE_MAX,
				     .groups.item = sizeof(struct clew_latency_group)};
}

void clew_latency_done(struct clew_latency *latency)
{
	for (size_t i = 0; i < latency->groups.count; i++)
		histogram_done(&clew_latency_at(latency, i)->times);
	vector_done(&latency->groups);
	map_done(&latency->places);
	arena_done(&latency->arena);
}

/* ---- groups ---- */

/* With the NUL, so that "ab", "c" and "a", "bc" differ. */
static uint64_t hash_name(uint64_t hash, const char *text)
{
	return hash_bytes(hash, text, strlen(text) + 1);
}

static uint64_t id_of(const struct clew_latency *latency, uint32_t parent,
		      const struct clew_latency_name *name)
{
	uint64_t hash = parent == NONE ? HASH_SEED : clew_latency_at(latency, parent)->id * 3 + 1;

	hash = hash_name(hash_name(hash, name->name), name->place);
	for (unsigned i = 0; i < name->property_count; i++)
		hash = hash_name(hash_name(hash, name->properties[i].name),
				 name->properties[i].value);
	return hash;
}

static int copy_text(struct arena *arena, const char **text)
{
	*text = arena_copy(arena, *text, strlen(*text));
	return *text ? 0 : -ENOMEM;
}

static int copy_name(struct arena *arena, struct clew_latency_name *name)
{
	int r = copy_text(arena, &name->name) ?: copy_text(arena, &name->place);

	for (unsigned i = 0; i < name->property_count && r == 0; i++)
		r = copy_text(arena, &name->properties[i].value);
	return r;
}

int clew_latency_place(struct clew_latency *latency, uint32_t parent,
		       const struct clew_latency_name *name, uint32_t *ret_index)
{
	uint64_t id = id_of(latency, parent, name), *known = map_get(&latency->places, id, 0);
	struct clew_latency_group group = {
		.id = id,
		.parent = parent,
		.depth = parent == NONE ? 0 : clew_latency_at(latency, parent)->depth + 1,
		.name = *name,
		.times = histogram_new(latency->digits)};
	struct vector *groups = &latency->groups;

	*ret_index = known ? (uint32_t)*known : NONE;
	if (known || groups->count >= latency->most || group.depth == CLEW_LATENCY_MOST_DEPTH)
		return 0;
	if (copy_name(&latency->arena, &group.name) < 0 ||
	    vector_reserve(groups, groups->count + 1) < 0 ||
	    map_set(&latency->places, id, 0, groups->count) < 0)
		return -ENOMEM;
	*ret_index = (uint32_t)groups->count;
	*clew_latency_at(latency, groups->count++) = group;
	return 0;
}

int clew_latency_add(struct clew_latency *latency, uint32_t group, uint64_t ns, uint64_t probe,
		     const uint64_t *split)
{
	struct clew_latency_group *to = clew_latency_at(latency, group);
	size_t growth = latency->room == SIZE_MAX ? 0 : histogram_growth(&to->times, ns);

	if (growth > latency->room) {
		latency->unplaced++;
		return 0;
	}
	latency->room -= growth;
	to->probe += probe;
	for (int i = 0; i < CLEW_SPLIT_COUNT; i++)
		to->split[i] += split[i];
	return histogram_add(&to->times, ns);
}

/* ---- several results ---- */

static int merge_group(struct clew_latency_group *to, const struct clew_latency_group *from)
{
	for (int i = 0; i < CLEW_SPLIT_COUNT; i++)
		to->split[i] += from->split[i];
	to->probe += from->probe;
	to->open += from->open;
	to->inherited += from->inherited;
	return histogram_merge(&to->times, &from->times);
}

int clew_latency_merge(struct clew_latency *latency, const struct clew_latency *other)
{
	size_t count = other->groups.count;
	uint32_t *places = malloc((count + 1) * sizeof(*places));
	int r = places ? 0 : -ENOMEM;

	for (size_t i = 0; i < count && r == 0; i++) {
		const struct clew_latency_group *group = clew_latency_at(other, i);
		uint32_t parent = group->parent == NONE ? NONE : places[group->parent];

		places[i] = NONE;
		if (parent != NONE || group->parent == NONE)
			r = clew_latency_place(latency, parent, &group->name, &places[i]);
		if (r == 0 && places[i] != NONE)
			r = merge_group(clew_latency_at(latency, places[i]), group);
		else
			latency->unplaced += group->times.count + group->open + group->inherited;
	}
	latency->unplaced += other->unplaced;
	free(places);
	return r;
}

int clew_latency_aggregate(const struct clew_latency *latency, struct clew_latency *ret)
{
	int r = 0;

	*ret = clew_latency_new(latency->digits);
	ret->unplaced = latency->unplaced;
	for (size_t i = 0; i < latency->groups.count && r == 0; i++) {
		const struct clew_latency_group *group = clew_latency_at(latency, i);
		struct clew_latency_name name = group->name;
		struct clew_latency_group *to;
		size_t before = ret->groups.count;
		uint32_t index;

		/* Places are no part of what these groups are. */
		name.place = "";
		r = clew_latency_place(ret, NONE, &name, &index);
		if (r < 0)
			break;
		to = clew_latency_at(ret, index);
		if (ret->groups.count > before) {
			to->name.place = group->name.place;
			r = copy_text(&ret->arena, &to->name.place);
		}
		to->several |= strcmp(to->name.place, group->name.place) != 0;
		r = r ?: merge_group(to, group);
	}
	return r;
}

/* ---- order ---- */

/* The costs of a group and its descendants, for the order. */
struct cost {
	uint64_t most; /* by total: its own time, or that of its children if it has less; else the
			  most that it or a descendant has */
	bool wanted;
	uint64_t count;
	uint32_t index, child, next; /* indexes, NONE none */
};

/* In order of name, properties and place, so that the order follows from what the groups are. */
static int compare_names(const struct clew_latency_name *a, const struct clew_latency_name *b)
{
	int order = strcmp(a->name, b->name);

	for (unsigned i = 0; !order && i < a->property_count && i < b->property_count; i++)
		order = strcmp(a->properties[i].value, b->properties[i].value);
	return order ?: strcmp(a->place, b->place);
}

static int dearer_first(const void *left, const void *right, void *context)
{
	const struct cost *a = left, *b = right;
	int order;

	if (a->most != b->most)
		return a->most > b->most ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	order = compare_names(&clew_latency_at(context, a->index)->name,
			      &clew_latency_at(context, b->index)->name);
	return order ?: (a->index > b->index) - (a->index < b->index);
}

static uint64_t key_of(const struct histogram *times, enum clew_latency_sort sort)
{
	switch (sort) {
	case CLEW_LATENCY_SORT_COUNT:
		return times->count;
	case CLEW_LATENCY_SORT_P50:
		return histogram_percentile(times, .5);
	case CLEW_LATENCY_SORT_P99:
		return histogram_percentile(times, .99);
	case CLEW_LATENCY_SORT_MAX:
		return times->greatest;
	default:
		return times->sum;
	}
}

static bool fits(const struct clew_latency_name *name, const char *filter)
{
	bool found = !filter || strcasestr(name->name, filter);

	for (unsigned i = 0; i < name->property_count && !found; i++)
		found = strcasestr(name->properties[i].value, filter);
	return found;
}

/* Costs by index; children come behind their parents, so that one pass from the end adds up. */
static void add_up(const struct clew_latency *latency, const struct clew_latency_view *view,
		   struct cost *costs)
{
	for (size_t i = latency->groups.count; i-- > 0;) {
		const struct clew_latency_group *group = clew_latency_at(latency, i);
		uint64_t key = key_of(&group->times, view->sort);
		struct cost *cost = &costs[i], *parent;

		cost->index = (uint32_t)i;
		cost->count += group->times.count + group->open + group->inherited;
		cost->most = key > cost->most ? key : cost->most;
		cost->wanted |= fits(&group->name, view->filter);
		if (group->parent == NONE)
			continue;
		parent = &costs[group->parent];
		if (view->sort == CLEW_LATENCY_SORT_TOTAL)
			parent->most += cost->most;
		else if (cost->most > parent->most)
			parent->most = cost->most;
		parent->count += cost->count;
		parent->wanted |= cost->wanted;
	}
}

/* Puts the groups of `sorted` behind their parents, in the order that siblings have there. */
static size_t walk(const struct clew_latency *latency, const struct cost *sorted,
		   struct cost *by_index, uint32_t *order)
{
	size_t count = latency->groups.count, placed = 0;
	uint32_t roots = NONE, at;

	for (size_t i = 0; i < count; i++)
		by_index[i].child = by_index[i].next = NONE;
	/* From the cheapest on, each becomes the first of its siblings. */
	for (size_t i = count; i-- > 0;) {
		uint32_t index = sorted[i].index, parent = clew_latency_at(latency, index)->parent;
		uint32_t *first = parent == NONE ? &roots : &by_index[parent].child;

		if (!sorted[i].count || !sorted[i].wanted)
			continue;
		by_index[index].next = *first;
		*first = index;
	}
	for (at = roots; at != NONE;) {
		order[placed++] = at;
		if (by_index[at].child != NONE) {
			at = by_index[at].child;
			continue;
		}
		while (at != NONE && by_index[at].next == NONE)
			at = clew_latency_at(latency, at)->parent;
		if (at != NONE)
			at = by_index[at].next;
	}
	return placed;
}

int clew_latency_order(const struct clew_latency *latency, const struct clew_latency_view *view,
		       uint32_t **ret_order, size_t *ret_count)
{
	size_t count = latency->groups.count;
	struct cost *by_index = calloc(count + 1, sizeof(*by_index));
	struct cost *sorted = malloc((count + 1) * sizeof(*sorted));

	*ret_order = malloc((count + 1) * sizeof(**ret_order));
	if (!by_index || !sorted || !*ret_order) {
		free(by_index);
		free(sorted);
		free(*ret_order);
		return -ENOMEM;
	}
	add_up(latency, view, by_index);
	memcpy(sorted, by_index, count * sizeof(*sorted));
	if (count)
		qsort_r(sorted, count, sizeof(*sorted), dearer_first, (void *)(uintptr_t)latency);
	*ret_count = walk(latency, sorted, by_index, *ret_order);
	free(by_index);
	free(sorted);
	return 0;
}
