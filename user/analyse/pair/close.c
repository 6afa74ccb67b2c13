/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Pairing. Events are sorted by moment and sequence number all at once, then dealt out
 * to their entries, origins and destinations apart; an entry's two lists are merged into
 * groups, and each group becomes a dependency. All in linear time. Their ends are added
 * in order of time, as spans like it best: where no span is suspended that is the same
 * as one dependency after the other, if those of one moment keep that order.
 */
#include "analyse/pair/internal.h"

#include "model/make_internal.h"
#include <stdio.h>
#include <stdlib.h>

/* Some origins and the destinations that belong to them: numbers of events, in order. */
struct group {
	const uint32_t *origins, *destinations;
	uint32_t origin_count, destination_count;
};

struct closing {
	struct clew_pairing *pairing;
	struct clew_maker *maker;
	struct clew_pair_problem *problem;
	struct sort_key *keys; /* events in order of time */
	uint32_t *begins; /* of each entry's origins, its destinations, the next one's .. in `order`
			   */
	uint32_t *order;
	uint32_t *dependencies; /* of each event, CLEW_NONE: it has none */
};

static int fail(const struct closing *closing, int r, uint32_t entry, uint32_t event,
		const char *message)
{
	struct clew_pair_problem *problem = closing->problem;
	const struct pair_entry *about = pair_entry(closing->pairing, entry);

	if (problem) {
		*problem = (struct clew_pair_problem){.type = about->type, .event = event};
		if (about->id != CLEW_NONE)
			problem->id = strings_get(&closing->pairing->strings, about->id);
		snprintf(problem->message, sizeof(problem->message), "%s", message);
	}
	return r;
}

/* ---- order ---- */

static size_t bucket_of(const struct pair_event *event)
{
	return 2 * (size_t)event->entry + event->is_destination;
}

static void deal_out(struct closing *closing, size_t count)
{
	size_t buckets = 2 * closing->pairing->entries.count;
	uint32_t *begins = closing->begins;

	for (uint32_t i = 0; i < count; i++)
		begins[bucket_of(pair_event(closing->pairing, i)) + 1]++;
	for (size_t i = 0; i < buckets; i++)
		begins[i + 1] += begins[i];
	for (size_t i = 0; i < count; i++)
		closing->order[begins[bucket_of(pair_event(
			closing->pairing, closing->keys[i].index))]++] = closing->keys[i].index;
	/* Each begin was moved to its end, which is the next one's begin. */
	memmove(begins + 1, begins, buckets * sizeof(*begins));
	begins[0] = 0;
}

static int put_in_order(struct closing *closing)
{
	const struct clew_pairing *pairing = closing->pairing;
	size_t count = pairing->events.count;
	struct sort_key *keys = malloc((count + 1) * sizeof(*keys)),
			*spare = malloc((count + 1) * sizeof(*spare));

	closing->keys = keys;
	closing->begins = calloc(2 * pairing->entries.count + 1, sizeof(*closing->begins));
	closing->order = malloc((count + 1) * sizeof(*closing->order));
	closing->dependencies = malloc((count + 1) * sizeof(*closing->dependencies));
	if (!keys || !spare || !closing->begins || !closing->order || !closing->dependencies) {
		free(spare);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		keys[i] = (struct sort_key){.key = pair_event(pairing, i)->sequence, .index = i};
	if (pairing->sequenced)
		sort_keys(keys, spare, count);
	for (size_t i = 0; i < count; i++)
		keys[i].key = event_key(pair_event(pairing, keys[i].index)->at);
	sort_keys(keys, spare, count);
	free(spare);
	deal_out(closing, count);
	return 0;
}

/* ---- groups ---- */

static bool is_not_after(const struct pair_event *origin, const struct pair_event *destination)
{
	return origin->at != destination->at ? origin->at < destination->at
					     : origin->sequence <= destination->sequence;
}

/* Takes the next group off the rest of an entry with reuse. */
static struct group next_group(const struct closing *closing, const struct pair_options *options,
			       struct group *left)
{
	struct group group = {.origins = left->origins, .destinations = left->destinations};
	bool several = options->mode != CLEW_MODE_SINGLE;

	while (left->origin_count && (several || !group.origin_count)) {
		if (left->destination_count &&
		    !is_not_after(pair_event(closing->pairing, *left->origins),
				  pair_event(closing->pairing, *left->destinations)))
			break;
		left->origins++;
		left->origin_count--;
		group.origin_count++;
	}
	while (left->destination_count) {
		if (left->origin_count &&
		    is_not_after(pair_event(closing->pairing, *left->origins),
				 pair_event(closing->pairing, *left->destinations)))
			break;
		left->destinations++;
		left->destination_count--;
		group.destination_count++;
	}
	return group;
}

static struct group all_of(const struct closing *closing, uint32_t entry)
{
	const uint32_t *begins = closing->begins + 2 * (size_t)entry;

	return (struct group){.origins = closing->order + begins[0],
			      .origin_count = begins[1] - begins[0],
			      .destinations = closing->order + begins[1],
			      .destination_count = begins[2] - begins[1]};
}

/* ---- checks, before anything is made ---- */

static int check_event(const struct closing *closing, uint32_t number)
{
	const struct pair_event *event = pair_event(closing->pairing, number);
	struct clew_maker *maker = closing->maker;
	int r = 0;

	if (event->span >= maker->spans.count)
		return fail(closing, -EINVAL, event->entry, number, "there is no such span");
	if (event->wait_from != event->at)
		r = make_check_suspend(maker, event->span, event->wait_from, event->at,
				       event->place);
	if (r == 0)
		r = make_check_endpoint(maker, event->span, event->at, event->place);
	if (r == 0)
		r = make_check_free(maker, event->span, event->at, event->place,
				    event->is_destination);
	return r < 0 ? fail(closing, r, event->entry, number, clew_maker_error(maker)) : 0;
}

static int check(const struct closing *closing)
{
	const struct clew_pairing *pairing = closing->pairing;
	size_t types = model_column(closing->maker->model, COLUMN_TYPE)->count;
	int r = make_begin(closing->maker, true);

	for (uint32_t i = 0; i < pairing->entries.count && r == 0; i++) {
		const struct pair_options *options = pair_options(pairing, i);
		struct group all = all_of(closing, i);

		if (pair_entry(pairing, i)->type >= types)
			return fail(closing, -ENOENT, i, CLEW_NONE,
				    "there is no such dependency type");
		if (all.origin_count > 1 && !options->reuse && options->mode == CLEW_MODE_SINGLE)
			return fail(closing, -EINVAL, i, all.origins[1], "it has several origins");
	}
	for (uint32_t i = 0; i < pairing->events.count && r == 0; i++)
		r = check_event(closing, i);
	return r;
}

/* ---- making ---- */

static clew_time trigger_of(const struct closing *closing, const struct group *group,
			    enum clew_mode mode)
{
	uint32_t last = mode == CLEW_MODE_OR ? 0 : group->origin_count - 1;

	return pair_event(closing->pairing, group->origins[last])->at;
}

static void count_group(const struct closing *closing, uint32_t entry, const struct group *group,
			bool is_created)
{
	const struct clew_pairing *pairing = closing->pairing;
	struct clew_pair_metrics *metrics = (struct clew_pair_metrics *)pairing->metrics.data +
					    pair_entry(pairing, entry)->type;

	metrics->origins += group->origin_count;
	metrics->destinations += group->destination_count;
	metrics->created += is_created;
	metrics->dropped += !is_created;
	if (!is_created) {
		metrics->unpaired_origins += group->origin_count;
		metrics->unpaired_destinations += group->destination_count;
	}
	if (!group->origin_count || !group->destination_count)
		return;
	metrics->paired++;
	for (uint32_t i = 0; i < group->destination_count; i++) {
		if (pair_event(pairing, group->destinations[i])->at >=
		    trigger_of(closing, group, pair_options(pairing, entry)->mode))
			break;
		metrics->backward++;
	}
}

static int make_dependency(const struct closing *closing, uint32_t entry, const struct group *group)
{
	const struct clew_pairing *pairing = closing->pairing;
	const struct pair_entry *about = pair_entry(pairing, entry);
	const struct pair_options *options = pair_options(pairing, entry);
	uint32_t attributes = CLEW_NONE, dependency;
	int r = 0;

	if (options->key_attribute != CLEW_NONE && about->id != CLEW_NONE) {
		const char *const pair[] = {strings_get(&pairing->strings, options->key_attribute),
					    strings_get(&pairing->strings, about->id)};

		r = clew_maker_attributes(closing->maker, pair, 1, &attributes);
	}
	if (r == 0)
		r = clew_maker_dependency(closing->maker, about->type, options->mode, attributes,
					  &dependency);
	if (r < 0)
		return fail(closing, r, entry, CLEW_NONE, clew_maker_error(closing->maker));
	for (uint32_t i = 0; i < group->origin_count; i++)
		closing->dependencies[group->origins[i]] = dependency;
	for (uint32_t i = 0; i < group->destination_count; i++)
		closing->dependencies[group->destinations[i]] = dependency;
	return 0;
}

static int make_group(const struct closing *closing, uint32_t entry, const struct group *group)
{
	const struct pair_options *options = pair_options(closing->pairing, entry);
	bool is_wanted = (group->origin_count || options->keep_without_origin) &&
			 (group->destination_count || options->keep_without_destination) &&
			 (group->origin_count || group->destination_count);
	int r = is_wanted ? make_dependency(closing, entry, group) : 0;

	if (r == 0 && (group->origin_count || group->destination_count))
		count_group(closing, entry, group, is_wanted);
	return r;
}

static int make_dependencies(const struct closing *closing)
{
	const struct clew_pairing *pairing = closing->pairing;
	int r = 0;

	memset(closing->dependencies, 0xff, pairing->events.count * sizeof(*closing->dependencies));
	for (uint32_t i = 0; i < pairing->entries.count && r == 0; i++) {
		const struct pair_options *options = pair_options(pairing, i);
		struct group left = all_of(closing, i);

		if (!options->reuse)
			r = make_group(closing, i, &left);
		while (options->reuse && r == 0 && (left.origin_count || left.destination_count)) {
			struct group group = next_group(closing, options, &left);

			r = make_group(closing, i, &group);
		}
	}
	return r;
}

static int compare_ends(const void *a, const void *b, void *context)
{
	const struct sort_key *x = a, *y = b;
	const struct closing *closing = context;
	const struct pair_event *one = pair_event(closing->pairing, x->index),
				*other = pair_event(closing->pairing, y->index);

	if (closing->dependencies[x->index] != closing->dependencies[y->index])
		return closing->dependencies[x->index] < closing->dependencies[y->index] ? -1 : 1;
	if (one->is_destination != other->is_destination)
		return one->is_destination ? 1 : -1;
	return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Events of one dependency after the other: those of each moment, or if a span is suspended all. */
static void put_ends_in_order(struct closing *closing)
{
	size_t count = closing->pairing->events.count;

	for (size_t i = 0; i < count; i++)
		closing->keys[i].tag = (uint32_t)i;
	for (size_t from = 0, to; from < count; from = to) {
		for (to = from + 1;
		     to < count &&
		     (closing->pairing->waits || closing->keys[to].key == closing->keys[from].key);)
			to++;
		if (to - from > 1)
			qsort_r(closing->keys + from, to - from, sizeof(*closing->keys),
				compare_ends, closing);
	}
}

static int make_ends(const struct closing *closing)
{
	struct clew_maker *maker = closing->maker;
	int r = 0;

	for (size_t i = 0; i < closing->pairing->events.count && r == 0; i++) {
		uint32_t number = closing->keys[i].index,
			 dependency = closing->dependencies[number];
		const struct pair_event *event = pair_event(closing->pairing, number);

		if (dependency == CLEW_NONE)
			continue;
		if (event->is_destination)
			r = clew_maker_destination(maker, dependency, event->span, event->wait_from,
						   event->at, event->place);
		else
			r = clew_maker_origin(maker, dependency, event->span, event->at,
					      event->place);
		if (r < 0)
			return fail(closing, r, event->entry, number, clew_maker_error(maker));
	}
	return r;
}

/* The vector's memory is zero until it is written. */
static int room_for_metrics(struct clew_pairing *pairing)
{
	for (uint32_t i = 0; i < pairing->entries.count; i++) {
		size_t wanted = (size_t)pair_entry(pairing, i)->type + 1;

		if (wanted <= pairing->metrics.count)
			continue;
		if (vector_reserve(&pairing->metrics, wanted) < 0)
			return -ENOMEM;
		pairing->metrics.count = wanted;
	}
	return 0;
}

int clew_pairing_close(struct clew_pairing *pairing, struct clew_maker *maker,
		       struct clew_pair_problem *ret_problem)
{
	struct closing closing = {.pairing = pairing, .maker = maker, .problem = ret_problem};
	int r = put_in_order(&closing);

	if (ret_problem)
		*ret_problem = (struct clew_pair_problem){.type = CLEW_NONE, .event = CLEW_NONE};
	if (r == 0)
		r = check(&closing);
	if (r == 0)
		r = room_for_metrics(pairing);
	if (r == 0)
		r = make_dependencies(&closing);
	if (r == 0) {
		put_ends_in_order(&closing);
		r = make_ends(&closing);
	}
	free(closing.keys);
	free(closing.begins);
	free(closing.order);
	free(closing.dependencies);
	if (r == 0)
		pair_forget(pairing);
	return r;
}
