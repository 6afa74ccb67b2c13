/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sequence of make_sequence.h. A full run is split in half, except at its
 * end, where the next item begins a new run, so that items in order fill their
 * runs.
 */
#include "model/make_sequence.h"
#include <errno.h>
#include <stdlib.h>

static clew_time key_at(const struct sequence *sequence, const struct sequence_run *run,
			uint32_t index)
{
	clew_time key;

	memcpy(&key, (const char *)run->items + (size_t)index * sequence->item, sizeof(key));
	return key;
}

static bool is_before(const struct sequence *sequence, const struct sequence_run *run,
		      uint32_t index, clew_time key, bool more)
{
	clew_time here = key_at(sequence, run, index);

	return more ? here <= key : here < key;
}

static bool is_run_before(const struct sequence *sequence, uint32_t index, clew_time key, bool more)
{
	const struct sequence_run *run = sequence_run(sequence, index);

	return is_before(sequence, run, run->count - 1, key, more);
}

/* The first run whose last item is not before the key. */
static uint32_t find_run(const struct sequence *sequence, clew_time key, bool more)
{
	uint32_t low = 0, high = sequence->run_count, finger = sequence->finger;

	if (finger < high) {
		if (is_run_before(sequence, finger, key, more)) {
			low = finger + 1;
			if (low == high || !is_run_before(sequence, low, key, more))
				return low;
			low++;
		} else {
			high = finger;
			if (high == 0 || is_run_before(sequence, high - 1, key, more))
				return high;
			high--;
		}
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (is_run_before(sequence, middle, key, more))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* True if this look-up gives the position of the last one or the next, so that
 * work in order of time touches no other memory. */
static bool find_near(struct sequence *sequence, clew_time key, bool more, struct place *ret_place)
{
	const struct sequence_run *run = sequence->near;

	if (!run || sequence->nail >= run->count)
		return false;
	*ret_place = (struct place){sequence->finger, sequence->nail};
	if (!is_before(sequence, run, sequence->nail, key, more)) {
		if (sequence->nail == 0)
			return sequence->finger == 0;
		return is_before(sequence, run, sequence->nail - 1, key, more);
	}
	if (sequence->nail + 1 < run->count) {
		ret_place->index = ++sequence->nail;
		return !is_before(sequence, run, sequence->nail, key, more);
	}
	*ret_place = (struct place){sequence->finger + 1, 0};
	return ret_place->run == sequence->run_count;
}

struct place sequence_find(struct sequence *sequence, clew_time key, bool more)
{
	uint32_t run, low = 0, high;
	struct place near;

	if (find_near(sequence, key, more, &near))
		return near;
	run = find_run(sequence, key, more);
	if (run == sequence->run_count)
		return (struct place){run, 0};
	sequence->finger = run;
	for (high = sequence_run(sequence, run)->count - 1; low < high;) {
		uint32_t middle = low + (high - low) / 2;

		if (is_before(sequence, sequence_run(sequence, run), middle, key, more))
			low = middle + 1;
		else
			high = middle;
	}
	sequence->near = sequence_run(sequence, run);
	sequence->nail = low;
	return (struct place){run, low};
}

static struct sequence_run *new_run(const struct sequence *sequence, uint32_t capacity)
{
	struct sequence_run *run = malloc(sizeof(*run) + (size_t)capacity * sequence->item);

	if (run)
		*run = (struct sequence_run){.capacity = capacity};
	return run;
}

static int grow_directory(struct sequence *sequence)
{
	uint32_t capacity = sequence->directory_capacity ? sequence->directory_capacity * 2 : 4;
	struct sequence_run **runs;

	if (sequence->run_count < sequence->directory_capacity)
		return 0;
	runs = realloc(sequence->directory_capacity ? sequence->runs : NULL,
		       capacity * sizeof(*runs));
	if (!runs)
		return -ENOMEM;
	if (sequence->directory_capacity == 0)
		runs[0] = sequence->only;
	sequence->runs = runs;
	sequence->directory_capacity = capacity;
	return 0;
}

/* A new run after run `before`, with its items from `from` on. */
static int split(struct sequence *sequence, uint32_t before, uint32_t from)
{
	struct sequence_run *run = new_run(sequence, SEQUENCE_RUN), *old;

	if (!run || grow_directory(sequence) < 0) {
		free(run);
		return -ENOMEM;
	}
	sequence->near = NULL;
	old = sequence->runs[before];
	run->count = old->count - from;
	old->count = from;
	memcpy(run->items, (char *)old->items + (size_t)from * sequence->item,
	       (size_t)run->count * sequence->item);
	memmove(sequence->runs + before + 2, sequence->runs + before + 1,
		(sequence->run_count - before - 1) * sizeof(*sequence->runs));
	sequence->runs[before + 1] = run;
	sequence->run_count++;
	return 0;
}

/* Room for one more item in a run that is not of full size. */
static int grow_run(struct sequence *sequence, uint32_t index)
{
	struct sequence_run *run = sequence_run(sequence, index);
	uint32_t capacity = run->capacity * 2 < SEQUENCE_RUN ? run->capacity * 2 : SEQUENCE_RUN;

	run = realloc(run, sizeof(*run) + (size_t)capacity * sequence->item);
	if (!run)
		return -ENOMEM;
	run->capacity = capacity;
	sequence->near = NULL;
	if (sequence->directory_capacity)
		sequence->runs[index] = run;
	else
		sequence->only = run;
	return 0;
}

int sequence_insert(struct sequence *sequence, struct place place, const void *item,
		    struct place *ret_place)
{
	struct sequence_run *run;
	char *at;
	int r = 0;

	if (sequence->run_count == 0) {
		sequence->only = new_run(sequence, 1);
		if (!sequence->only)
			return -ENOMEM;
		sequence->run_count = 1;
		place = (struct place){0, 0};
	} else if (place.index == 0 && place.run > 0) {
		place.run--;
		place.index = sequence_run(sequence, place.run)->count;
	}
	run = sequence_run(sequence, place.run);
	if (run->count == SEQUENCE_RUN) {
		uint32_t from = place.index == SEQUENCE_RUN ? SEQUENCE_RUN : SEQUENCE_RUN / 2;

		r = split(sequence, place.run, from);
		if (r == 0 && place.index >= from && (place.index > from || from == SEQUENCE_RUN)) {
			place.run++;
			place.index -= from;
		}
	} else if (run->count == run->capacity) {
		r = grow_run(sequence, place.run);
	}
	if (r < 0)
		return r;
	run = sequence_run(sequence, place.run);
	at = (char *)run->items + (size_t)place.index * sequence->item;
	memmove(at + sequence->item, at, (size_t)(run->count - place.index) * sequence->item);
	memcpy(at, item, sequence->item);
	run->count++;
	/* When many sequences grow in turn, the next cache line of each is
	 * cold. */
	__builtin_prefetch(at + 2 * sequence->item, 1);
	*ret_place = place;
	return 0;
}

int sequence_append(struct sequence *sequence, const void *item)
{
	struct place place;

	return sequence_insert(sequence, (struct place){sequence->run_count, 0}, item, &place);
}

void sequence_done(struct sequence *sequence)
{
	for (uint32_t i = 0; i < sequence->run_count; i++)
		free(sequence_run(sequence, i));
	if (sequence->directory_capacity)
		free(sequence->runs);
	*sequence = (struct sequence){.item = sequence->item};
}
