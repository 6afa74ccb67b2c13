// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Collecting events by key. They are paired in pair_close.c.
 */
#include "pair_internal.h"

#include <model/model_internal.h>
#include <stdlib.h>

#define MOST (CLEW_NONE - 1)

static void begin(struct clew_pairing *pairing)
{
	strings_begin(&pairing->strings);
	pairing->entries.item = sizeof(struct pair_entry);
	pairing->options.item = sizeof(struct pair_options);
	pairing->events.item = sizeof(struct pair_event);
	pairing->metrics.item = sizeof(struct clew_pair_metrics);
	pairing->sequenced = false;
}

void pair_forget(struct clew_pairing *pairing)
{
	strings_done(&pairing->strings);
	map_done(&pairing->keys);
	vector_done(&pairing->entries);
	vector_done(&pairing->options);
	vector_done(&pairing->events);
	begin(pairing);
}

int clew_pairing_new(struct clew_pairing **ret_pairing)
{
	struct clew_pairing *pairing = calloc(1, sizeof(*pairing));

	if (!pairing)
		return -ENOMEM;
	begin(pairing);
	*ret_pairing = pairing;
	return 0;
}

void clew_pairing_free(struct clew_pairing *pairing)
{
	if (!pairing)
		return;
	pair_forget(pairing);
	vector_done(&pairing->metrics);
	free(pairing);
}

void clew_pairing_metrics(const struct clew_pairing *pairing, uint32_t type, struct clew_pair_metrics *ret_metrics)
{
	*ret_metrics = (struct clew_pair_metrics){};
	if (type < pairing->metrics.count)
		*ret_metrics = ((const struct clew_pair_metrics *)pairing->metrics.data)[type];
}

/* ---- entries ---- */

static bool are_same(const struct pair_options *a, const struct pair_options *b)
{
	return a->reuse == b->reuse && a->keep_without_origin == b->keep_without_origin &&
	       a->keep_without_destination == b->keep_without_destination && a->mode == b->mode && a->key_attribute == b->key_attribute;
}

/* The number of some options, which are kept if they are new. From the last back: it is mostly that. */
static int find_options(struct clew_pairing *pairing, const struct clew_pair_options *options, uint32_t *ret_number)
{
	const struct pair_options *all = pairing->options.data;
	struct pair_options wanted = {.reuse = options->reuse,
				      .keep_without_origin = options->keep_without_origin,
				      .keep_without_destination = options->keep_without_destination,
				      .mode = options->mode,
				      .key_attribute = CLEW_NONE};
	int r = options->key_attribute ? strings_add(&pairing->strings, options->key_attribute, &wanted.key_attribute) : 0;

	if (r < 0)
		return r;
	for (size_t i = pairing->options.count; i-- > 0;) {
		*ret_number = (uint32_t)i;
		if (are_same(&all[i], &wanted))
			return 0;
	}
	*ret_number = (uint32_t)pairing->options.count;
	return model_add(&pairing->options, &wanted);
}

int clew_pairing_entry(struct clew_pairing *pairing, uint32_t type, const char *id, const struct clew_pair_options *options,
		       uint32_t *ret_entry)
{
	static const struct clew_pair_options none = {};
	struct pair_entry entry = {.type = type, .id = CLEW_NONE};
	uint64_t *found;
	int r = find_options(pairing, options ?: &none, &entry.options);

	if (r == 0 && id)
		r = strings_add(&pairing->strings, id, &entry.id);
	if (r < 0)
		return r;
	found = id ? map_get(&pairing->keys, entry.id, type) : NULL;
	if (found) {
		if (pair_entry(pairing, (uint32_t)*found)->options != entry.options)
			return -EEXIST;
		*ret_entry = (uint32_t)*found;
		return 0;
	}
	if (pairing->entries.count >= MOST)
		return -E2BIG;
	*ret_entry = (uint32_t)pairing->entries.count;
	r = model_add(&pairing->entries, &entry);
	return r < 0 || !id ? r : map_set(&pairing->keys, entry.id, type, *ret_entry);
}

/* ---- events ---- */

static int add_event(struct clew_pairing *pairing, uint32_t entry, const struct clew_pair_event *event, bool is_destination)
{
	struct pair_event *all;
	size_t count = pairing->events.count;

	if (entry >= pairing->entries.count)
		return -ENOENT;
	if (count >= MOST)
		return -E2BIG;
	if (is_destination && event->wait_from > event->at)
		return -EINVAL;
	if (vector_reserve(&pairing->events, count + 1) < 0)
		return -ENOMEM;
	all = pairing->events.data;
	all[count] = (struct pair_event){.at = event->at,
					 .wait_from = is_destination ? event->wait_from : event->at,
					 .sequence = event->sequence,
					 .entry = entry,
					 .span = event->span,
					 .place = event->place,
					 .is_destination = is_destination};
	pairing->events.count++;
	pairing->sequenced |= event->sequence != 0;
	return 0;
}

int clew_pairing_origin(struct clew_pairing *pairing, uint32_t entry, const struct clew_pair_event *event)
{
	return add_event(pairing, entry, event, false);
}

int clew_pairing_destination(struct clew_pairing *pairing, uint32_t entry, const struct clew_pair_event *event)
{
	return add_event(pairing, entry, event, true);
}
