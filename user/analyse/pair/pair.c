/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collecting events by key. They are paired in pair_close.c.
 */
#include "analyse/pair/internal.h"

#include "model/internal.h"
#include <stdlib.h>

#define MOST (CLEW_NONE - 1)

static void begin(struct clew_pairing *pairing)
{
	strings_begin(&pairing->strings);
	pairing->first.item = sizeof(uint32_t);
	pairing->entries.item = sizeof(struct pair_entry);
	pairing->options.item = sizeof(struct pair_options);
	pairing->events.item = sizeof(struct pair_event);
	pairing->metrics.item = sizeof(struct clew_pair_metrics);
	pairing->sequenced = pairing->waits = false;
}

void pair_forget(struct clew_pairing *pairing)
{
	strings_done(&pairing->strings);
	vector_done(&pairing->first);
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

void clew_pairing_metrics(const struct clew_pairing *pairing, uint32_t type,
			  struct clew_pair_metrics *ret_metrics)
{
	*ret_metrics = (struct clew_pair_metrics){};
	if (type < pairing->metrics.count)
		*ret_metrics = ((const struct clew_pair_metrics *)pairing->metrics.data)[type];
}

/* ---- entries ---- */

static bool are_same(const struct clew_pairing *pairing, const struct pair_options *a,
		     const struct clew_pair_options *b)
{
	const char *attribute = a->key_attribute == CLEW_NONE
					? NULL
					: strings_get(&pairing->strings, a->key_attribute);

	if (a->reuse != b->reuse || a->keep_without_origin != b->keep_without_origin ||
	    a->keep_without_destination != b->keep_without_destination || a->mode != b->mode ||
	    !attribute != !b->key_attribute)
		return false;
	return !attribute || strcmp(attribute, b->key_attribute) == 0;
}

/* The number of some options, which are kept if they are new. From the last back: it is mostly
 * that. */
static int find_options(struct clew_pairing *pairing, const struct clew_pair_options *options,
			uint32_t *ret_number)
{
	struct pair_options new = {.reuse = options->reuse,
				   .keep_without_origin = options->keep_without_origin,
				   .keep_without_destination = options->keep_without_destination,
				   .mode = options->mode,
				   .key_attribute = CLEW_NONE};
	int r = 0;

	for (size_t i = pairing->options.count; i-- > 0;) {
		*ret_number = (uint32_t)i;
		if (are_same(pairing, (const struct pair_options *)pairing->options.data + i,
			     options))
			return 0;
	}
	if (options->key_attribute)
		r = strings_add(&pairing->strings, options->key_attribute, &new.key_attribute);
	*ret_number = (uint32_t)pairing->options.count;
	return r < 0 ? r : model_add(&pairing->options, &new);
}

/* The entry that an id's list has of a type, or the end of the list, to be set. NULL: no memory. */
static uint32_t *find_entry(struct clew_pairing *pairing, uint32_t id, uint32_t type)
{
	static const uint32_t none = CLEW_NONE;
	uint32_t *entry;

	while (pairing->first.count <= id)
		if (model_add(&pairing->first, &none) < 0)
			return NULL;
	entry = (uint32_t *)pairing->first.data + id;
	while (*entry != CLEW_NONE && pair_entry(pairing, *entry)->type != type)
		entry = &((struct pair_entry *)pairing->entries.data)[*entry].next;
	return entry;
}

int clew_pairing_entry(struct clew_pairing *pairing, uint32_t type, const char *id,
		       const struct clew_pair_options *options, uint32_t *ret_entry)
{
	static const struct clew_pair_options none = {};
	struct pair_entry entry = {.type = type, .id = CLEW_NONE, .next = CLEW_NONE};
	uint32_t number = (uint32_t)pairing->entries.count, *found = NULL;
	int r = find_options(pairing, options ?: &none, &entry.options);

	if (r == 0 && id)
		r = strings_add(&pairing->strings, id, &entry.id);
	if (r < 0)
		return r;
	/* Before a place in an entry is looked for: entries move. */
	if (vector_reserve(&pairing->entries, pairing->entries.count + 1) < 0)
		return -ENOMEM;
	if (id) {
		found = find_entry(pairing, entry.id, type);
		if (!found)
			return -ENOMEM;
		if (*found != CLEW_NONE && pair_entry(pairing, *found)->options != entry.options)
			return -EEXIST;
		if (*found != CLEW_NONE) {
			*ret_entry = *found;
			return 0;
		}
	}
	if (number >= MOST)
		return -E2BIG;
	if (found)
		*found = number;
	*ret_entry = number;
	return model_add(&pairing->entries, &entry);
}

/* ---- events ---- */

static int add_event(struct clew_pairing *pairing, uint32_t entry,
		     const struct clew_pair_event *event, bool is_destination)
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
	pairing->waits |= all[count].wait_from != event->at;
	return 0;
}

int clew_pairing_origin(struct clew_pairing *pairing, uint32_t entry,
			const struct clew_pair_event *event)
{
	return add_event(pairing, entry, event, false);
}

int clew_pairing_destination(struct clew_pairing *pairing, uint32_t entry,
			     const struct clew_pair_event *event)
{
	return add_event(pairing, entry, event, true);
}
