/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The last sleep of each task. */
#include "record/stream/sleepers.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/vector.h"

/*
 * Tasks for which there is room from the start. The thread that drains the rings notes sleeps,
 * and must not ask for the lock of the process's mappings, as an allocation may do.
 */
#define ROOM 4096

struct place {
	struct clew_sleeper sleeper;
	bool asked;
};

struct clew_sleepers {
	struct map places;  /* serial -> place in the list */
	struct vector list; /* struct place, without holes */
};

void clew_sleepers_free(struct clew_sleepers *sleepers)
{
	if (!sleepers)
		return;
	map_done(&sleepers->places);
	vector_done(&sleepers->list);
	free(sleepers);
}

struct clew_sleepers *clew_sleepers_new(void)
{
	struct clew_sleepers *sleepers = calloc(1, sizeof(*sleepers));

	if (!sleepers)
		return NULL;
	sleepers->list.item = sizeof(struct place);
	if (vector_reserve(&sleepers->list, ROOM) == 0 && map_reserve(&sleepers->places, ROOM) == 0)
		return sleepers;
	clew_sleepers_free(sleepers);
	return NULL;
}

static struct place *place_at(const struct clew_sleepers *sleepers, size_t index)
{
	return (struct place *)sleepers->list.data + index;
}

/* The last one moves to the place that becomes free. */
static void drop(struct clew_sleepers *sleepers, size_t index)
{
	struct place *place = place_at(sleepers, index),
		     *last = place_at(sleepers, --sleepers->list.count);
	uint64_t *moved = map_get(&sleepers->places, last->sleeper.serial, 0);

	if (moved)
		*moved = index;
	map_remove(&sleepers->places, place->sleeper.serial, 0);
	*place = *last;
}

/* The task's place, a new one if it has none; NULL: no memory. */
static struct place *take_place(struct clew_sleepers *sleepers, uint32_t serial)
{
	const uint64_t *known = map_get(&sleepers->places, serial, 0);
	struct vector *list = &sleepers->list;

	if (known)
		return place_at(sleepers, *known);
	if (vector_reserve(list, list->count + 1) < 0 ||
	    map_set(&sleepers->places, serial, 0, list->count) < 0)
		return NULL;
	return place_at(sleepers, list->count++);
}

void clew_sleepers_note(struct clew_sleepers *sleepers, const struct clew_switch *change,
			const struct clew_wait *wait)
{
	struct place *place;

	if (change->header.flags & CLEW_SWITCH_DEAD) {
		const uint64_t *known = map_get(&sleepers->places, change->prev, 0);

		if (known)
			drop(sleepers, *known);
		return;
	}
	place = take_place(sleepers, change->prev);
	if (place)
		*place = (struct place){.sleeper = {.time = change->header.time,
						    .wait = *wait,
						    .serial = change->prev,
						    .state = change->prev_state}};
}

void clew_sleepers_note_found(struct clew_sleepers *sleepers, const struct clew_switch *change,
			      const struct clew_wait *wait, uint64_t start)
{
	struct place *place = map_get(&sleepers->places, change->prev, 0)
				      ? NULL
				      : take_place(sleepers, change->prev);

	if (place)
		*place = (struct place){.sleeper = {.time = start,
						    .wait = *wait,
						    .serial = change->prev,
						    .state = change->prev_state,
						    .found = true}};
}

const struct clew_sleeper *clew_sleepers_find(const struct clew_sleepers *sleepers, uint32_t serial)
{
	const uint64_t *known = map_get(&sleepers->places, serial, 0);
	struct place *place = known ? place_at(sleepers, *known) : NULL;

	if (!place)
		return NULL;
	place->asked = true;
	return &place->sleeper;
}

void clew_sleepers_forget(struct clew_sleepers *sleepers, uint64_t time)
{
	for (size_t i = sleepers->list.count; i-- > 0;) {
		struct place *place = place_at(sleepers, i);

		if (!place->asked && place->sleeper.time < time)
			drop(sleepers, i);
		else
			place->asked = false;
	}
}
