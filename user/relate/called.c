/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * For each activity, the calls in other tasks that are for it, in order of
 * begin. Each call is linked to the nearest earlier one that ends later, so
 * that a search for open calls skips those that are over.
 */
#include "relate/internal.h"
#include <errno.h>
#include <stdlib.h>

static const struct clew_relation *relation_at(const struct clew_relations *relations,
					       const struct call *call)
{
	return (const struct clew_relation *)relations->list.data + call->relation;
}

const struct clew_activity *clew_relations_lower(const struct clew_relations *relations,
						 const struct clew_relation *relation)
{
	return relate_activity(relations, relation->lower);
}

const struct clew_activity *clew_relations_upper(const struct clew_relations *relations,
						 const struct clew_relation *relation,
						 uint32_t number)
{
	return relate_activity(relations, relation->uppers[number]);
}

static uint64_t end_of(const struct clew_relations *relations, uint32_t place)
{
	return clew_relations_lower(relations, relation_at(relations, &relations->calls[place]))
		->end;
}

/* The earlier calls that end later are linked with each other already. */
static void link_calls(struct clew_relations *relations, uint32_t first, uint32_t behind)
{
	for (uint32_t place = first; place < behind; place++) {
		uint32_t longer = place > first ? place - 1 : CLEW_NO_NUMBER;
		uint64_t end = end_of(relations, place);

		while (longer != CLEW_NO_NUMBER && end_of(relations, longer) <= end)
			longer = relations->calls[longer].longer;
		relations->calls[place].longer = longer;
	}
}

int relate_order_calls(struct clew_relations *relations)
{
	size_t activities = relations->activities.count, total = 0;
	const struct clew_relation *list = relations->list.data;
	uint32_t *next = calloc(activities + 2, sizeof(*next));

	if (!next)
		return -ENOMEM;
	relations->calls_of = next;
	for (size_t i = 0; i < relations->list.count; i++)
		for (uint32_t k = 0; k < list[i].upper_count && !list[i].nested; k++, total++)
			next[list[i].uppers[k] + 2]++;
	if (total >= CLEW_NO_NUMBER)
		return -EFBIG;
	relations->calls = malloc((total + 1) * sizeof(*relations->calls));
	if (!relations->calls)
		return -ENOMEM;
	/*
	 * next[a + 1] is where the next call of activity a goes, and at the end
	 * where those of a end.
	 */
	for (size_t i = 2; i <= activities + 1; i++)
		next[i] += next[i - 1];
	for (uint32_t i = 0; i < relations->list.count; i++)
		for (uint32_t k = 0; k < list[i].upper_count && !list[i].nested; k++)
			relations->calls[next[list[i].uppers[k] + 1]++].relation = i;
	for (size_t i = 0; i < activities; i++)
		link_calls(relations, next[i], next[i + 1]);
	return 0;
}

/* True if relation a is the better one to follow. */
static bool is_better(const struct clew_relations *relations, const struct clew_relation *a,
		      const struct clew_relation *b)
{
	if (a->evidence != b->evidence)
		return a->evidence < b->evidence;
	return clew_relations_lower(relations, a)->end > clew_relations_lower(relations, b)->end;
}

/*
 * The best of an activity's calls that are open at a moment and end by `over`.
 * A call that begins later limits *until.
 */
static const struct clew_relation *open_call(const struct clew_relations *relations, uint32_t upper,
					     uint64_t at, uint64_t over, bool perhaps,
					     uint64_t *until)
{
	const uint32_t task = relate_activity(relations, upper)->task;
	uint32_t first = relations->calls_of[upper], low = first,
		 high = relations->calls_of[upper + 1], place;
	const uint32_t end = high;
	const struct clew_relation *best = NULL;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (clew_relations_lower(relations,
					 relation_at(relations, &relations->calls[middle]))
			    ->begin <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < end) {
		uint64_t begin = clew_relations_lower(
					 relations, relation_at(relations, &relations->calls[low]))
					 ->begin;

		*until = begin < *until ? begin : *until;
	}
	place = low > first ? low - 1 : CLEW_NO_NUMBER;
	for (unsigned budget = RELATE_BUDGET; place != CLEW_NO_NUMBER && budget; budget--) {
		const struct call *call = &relations->calls[place];
		const struct clew_relation *relation = relation_at(relations, call);
		const struct clew_activity *lower = clew_relations_lower(relations, relation);

		if (lower->end <= at) {
			place = call->longer;
			continue;
		}
		if (lower->end <= over && lower->task != task && !lower->is_async &&
		    (relation->upper_count > 1) == perhaps &&
		    (!best || is_better(relations, relation, best)))
			best = relation;
		place = place > first ? place - 1 : CLEW_NO_NUMBER;
	}
	return best;
}

const struct clew_relation *clew_relations_called(const struct clew_relations *relations,
						  uint32_t serial, uint64_t at, uint64_t to,
						  uint64_t over, bool perhaps, uint64_t *ret_until)
{
	const struct clew_activity *activity = clew_relations_at(relations, serial, at);

	*ret_until = to;
	for (unsigned depth = 0; activity && depth < RELATE_DEPTH; depth++) {
		uint32_t number = (uint32_t)(activity - relate_activity(relations, 0));
		const struct clew_relation *found =
			activity->end > at
				? open_call(relations, number, at, over, perhaps, ret_until)
				: NULL;

		if (activity->end > at && activity->end < *ret_until)
			*ret_until = activity->end;
		if (found) {
			uint64_t end = clew_relations_lower(relations, found)->end;

			*ret_until = end < *ret_until ? end : *ret_until;
			return found;
		}
		activity = activity->parent == CLEW_NO_NUMBER
				   ? NULL
				   : relate_activity(relations, activity->parent);
	}
	return NULL;
}
