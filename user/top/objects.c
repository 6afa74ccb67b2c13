/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds up waits by object. */
#include "top/objects.h"

#include <errno.h>
#include <stdlib.h>

#include "answers/why/now.h"
#include "base/hash.h"
#include "base/interval.h"
#include "base/map.h"
#include "base/vector.h"
#include "live/charged.h"
#include "trace/wait_key.h"

struct finding {
	const struct clew_trace *trace;
	uint64_t from, to;
	struct map places;     /* hash of an object -> its index */
	struct map holders;    /* (hash, task) -> ns for which it had the object */
	struct vector objects; /* struct top_object */
};

static uint64_t key_of(const struct clew_trace *trace, const struct clew_sleep *sleep)
{
	struct clew_wait_key key = clew_wait_key(trace, sleep);
	uint64_t hash = HASH_SEED;

	for (size_t i = 0; i < sizeof(key.parts) / sizeof(key.parts[0]); i++)
		hash = hash_mix(hash, key.parts[i]);
	return hash;
}

/* The part of an interval within the period, ns. */
static uint64_t within(const struct finding *finding, uint64_t start, uint64_t end)
{
	return interval_overlap(start, end, finding->from, finding->to);
}

/* The object of that key, a new one if there is none; NULL: no memory. */
static struct top_object *find_object(struct finding *finding, uint64_t key)
{
	const uint64_t *place = map_get(&finding->places, key, 0);
	struct vector *objects = &finding->objects;
	struct top_object *object;

	if (place)
		return (struct top_object *)objects->data + *place;
	if (vector_reserve(objects, objects->count + 1) < 0 ||
	    map_set(&finding->places, key, 0, objects->count) < 0)
		return NULL;
	object = (struct top_object *)objects->data + objects->count++;
	*object = (struct top_object){.holder = CLEW_NO_TASK};
	return object;
}

static int add_holders(struct finding *finding, struct top_object *object, uint64_t key,
		       const struct clew_sleep *sleep)
{
	for (uint32_t i = 0; i < sleep->holder_count; i++) {
		const struct clew_holder *holder = &sleep->holders[i];
		uint64_t ns = within(finding, holder->from, holder->to);
		const uint64_t *before;

		if (!charged_holder(holder) || !ns)
			continue;
		before = map_get(&finding->holders, key, holder->task);
		ns += before ? *before : 0;
		if (map_set(&finding->holders, key, holder->task, ns) < 0)
			return -ENOMEM;
		if (ns > object->holder_ns) {
			object->holder = holder->task;
			object->holder_ns = ns;
		}
	}
	return 0;
}

static int add(struct finding *finding, const struct clew_sleep *sleep)
{
	uint64_t ns = within(finding, sleep->start, sleep->end), key;
	struct top_object *object;

	if (!ns || !clew_waits_for_object(sleep) || !clew_wait_matters(finding->trace, sleep))
		return 0;
	key = key_of(finding->trace, sleep);
	object = find_object(finding, key);
	if (!object)
		return -ENOMEM;
	object->ns += ns;
	object->waits++;
	if (ns > object->longest_ns) {
		object->longest_ns = ns;
		object->longest = sleep;
	}
	return add_holders(finding, object, key, sleep);
}

static int dearest_first(const void *left, const void *right)
{
	const struct top_object *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns > b->ns ? -1 : 1;
	return a->longest < b->longest ? -1 : a->longest > b->longest;
}

int top_objects_find(const struct clew_trace *trace, const struct clew_chosen *chosen,
		     struct top_object **ret_objects, size_t *ret_count)
{
	struct finding finding = {.trace = trace,
				  .from = clew_trace_start(trace),
				  .to = clew_trace_end(trace),
				  .objects.item = sizeof(struct top_object)};
	size_t count;
	const struct clew_sleep *sleeps = clew_trace_sleeps(trace, &count);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		if (clew_is_chosen(chosen, trace, sleeps[i].task))
			r = add(&finding, &sleeps[i]);
	map_done(&finding.places);
	map_done(&finding.holders);
	*ret_count = finding.objects.count;
	*ret_objects = calloc(*ret_count + 1, sizeof(**ret_objects));
	if (!*ret_objects)
		r = -ENOMEM;
	for (size_t i = 0; r == 0 && i < *ret_count; i++)
		(*ret_objects)[i] = ((const struct top_object *)finding.objects.data)[i];
	vector_done(&finding.objects);
	if (r == 0 && *ret_count)
		qsort(*ret_objects, *ret_count, sizeof(**ret_objects), dearest_first);
	return r;
}
