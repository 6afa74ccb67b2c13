// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Pairing. Events are sorted by moment and sequence number all at once, then dealt out
 * to their entries, origins and destinations apart; an entry's two lists are merged into
 * groups, and each group becomes a dependency. All in linear time.
 */
#include "pair_internal.h"

#include <model/make_internal.h>
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
	uint32_t *begins; /* of each entry's origins, its destinations, the next one's .. in `order` */
	uint32_t *order;
};

static int fail(const struct closing *closing, int r, uint32_t entry, uint32_t event, const char *message)
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

static void deal_out(struct closing *closing, const struct sort_key *keys, size_t count)
{
	size_t buckets = 2 * closing->pairing->entries.count;
	uint32_t *begins = closing->begins;

	for (size_t i = 0; i < count; i++)
		begins[bucket_of(pair_event(closing->pairing, (uint32_t)i)) + 1]++;
	for (size_t i = 0; i < buckets; i++)
		begins[i + 1] += begins[i];
	for (size_t i = 0; i < count; i++)
		closing->order[begins[bucket_of(pair_event(closing->pairing, keys[i].index))]++] = keys[i].index;
	/* Each begin was moved to its end, which is the next one's begin. */
	memmove(begins + 1, begins, buckets * sizeof(*begins));
	begins[0] = 0;
}

static int put_in_order(struct closing *closing)
{
	const struct clew_pairing *pairing = closing->pairing;
	size_t count = pairing->events.count;
	struct sort_key *keys = malloc((count + 1) * sizeof(*keys)), *spare = malloc((count + 1) * sizeof(*spare));

	closing->begins = calloc(2 * pairing->entries.count + 1, sizeof(*closing->begins));
	closing->order = malloc((count + 1) * sizeof(*closing->order));
	if (!keys || !spare || !closing->begins || !closing->order) {
		free(keys);
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
	deal_out(closing, keys, count);
	free(keys);
	free(spare);
	return 0;
}

/* ---- groups ---- */

static bool is_not_after(const struct pair_event *origin, const struct pair_event *destination)
{
	return origin->at != destination->at ? origin->at < destination->at : origin->sequence <= destination->sequence;
}

/* Of what is left of an entry with reuse, takes the next group off. */
static struct group next_group(const struct closing *closing, const struct pair_options *options, struct group *left)
{
	struct group group = {.origins = left->origins, .destinations = left->destinations};
	bool several = options->mode != CLEW_MODE_SINGLE;

	while (left->origin_count && (several || !group.origin_count)) {
		if (left->destination_count &&
		    !is_not_after(pair_event(closing->pairing, *left->origins), pair_event(closing->pairing, *left->destinations)))
			break;
		left->origins++;
		left->origin_count--;
		group.origin_count++;
	}
	while (left->destination_count) {
		if (left->origin_count &&
		    is_not_after(pair_event(closing->pairing, *left->origins), pair_event(closing->pairing, *left->destinations)))
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
		r = make_check_suspend(maker, event->span, event->wait_from, event->at, event->place);
	if (r == 0)
		r = make_check_endpoint(maker, event->span, event->at, event->place);
	if (r == 0)
		r = make_check_free(maker, event->span, event->at, event->place, event->is_destination);
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
			return fail(closing, -ENOENT, i, CLEW_NONE, "there is no such dependency type");
		if (all.origin_count > 1 && !options->reuse && options->mode == CLEW_MODE_SINGLE)
			return fail(closing, -EINVAL, i, all.origins[1], "it has several origins");
	}
	for (uint32_t i = 0; i < pairing->events.count && r == 0; i++)
		r = check_event(closing, i);
	return r;
}

/* ---- making ---- */

static clew_time trigger_of(const struct closing *closing, const struct group *group, enum clew_mode mode)
{
	uint32_t last = mode == CLEW_MODE_OR ? 0 : group->origin_count - 1;

	return pair_event(closing->pairing, group->origins[last])->at;
}

static void count_group(const struct closing *closing, uint32_t entry, const struct group *group, bool is_created)
{
	const struct clew_pairing *pairing = closing->pairing;
	struct clew_pair_metrics *metrics = (struct clew_pair_metrics *)pairing->metrics.data + pair_entry(pairing, entry)->type;

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
		if (pair_event(pairing, group->destinations[i])->at >= trigger_of(closing, group, pair_options(pairing, entry)->mode))
			break;
		metrics->backward++;
	}
}

static int make_dependency(const struct closing *closing, uint32_t entry, const struct group *group)
{
	const struct clew_pairing *pairing = closing->pairing;
	const struct pair_entry *about = pair_entry(pairing, entry);
	const struct pair_options *options = pair_options(pairing, entry);
	struct clew_maker *maker = closing->maker;
	uint32_t attributes = CLEW_NONE, dependency, event = CLEW_NONE;
	int r = 0;

	if (options->key_attribute != CLEW_NONE && about->id != CLEW_NONE) {
		const char *const pair[] = {strings_get(&pairing->strings, options->key_attribute),
					    strings_get(&pairing->strings, about->id)};

		r = clew_maker_attributes(maker, pair, 1, &attributes);
	}
	if (r == 0)
		r = clew_maker_dependency(maker, about->type, options->mode, attributes, &dependency);
	for (uint32_t i = 0; i < group->origin_count && r == 0; i++) {
		const struct pair_event *origin = pair_event(pairing, event = group->origins[i]);

		r = clew_maker_origin(maker, dependency, origin->span, origin->at, origin->place);
	}
	for (uint32_t i = 0; i < group->destination_count && r == 0; i++) {
		const struct pair_event *to = pair_event(pairing, event = group->destinations[i]);

		r = clew_maker_destination(maker, dependency, to->span, to->wait_from, to->at, to->place);
	}
	return r < 0 ? fail(closing, r, entry, event, clew_maker_error(maker)) : 0;
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

static int make(const struct closing *closing)
{
	const struct clew_pairing *pairing = closing->pairing;
	int r = 0;

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

int clew_pairing_close(struct clew_pairing *pairing, struct clew_maker *maker, struct clew_pair_problem *ret_problem)
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
		r = make(&closing);
	free(closing.begins);
	free(closing.order);
	if (r == 0)
		pair_forget(pairing);
	return r;
}
