/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sorted sequence of items with fast insertion anywhere: runs of up to some
 * hundreds of items, and a directory of runs. An item begins with its key, a
 * clew_time; the owner may change keys as long as the order stays. A look-up
 * starts where the last one ended, so work in order of time costs no search.
 */
#ifndef CLEW_MODEL_MAKE_SEQUENCE_H
#define CLEW_MODEL_MAKE_SEQUENCE_H

#include <clew/model.h>
#include <string.h>

#define SEQUENCE_RUN 256u

struct sequence_run {
	uint32_t count, capacity;
	uint64_t items[];
};

struct sequence {
	union {
		struct sequence_run *only;  /* directory_capacity 0: at most one run */
		struct sequence_run **runs; /* none of them empty */
	};
	struct sequence_run *near; /* run `finger`; NULL: it may have moved */
	uint32_t run_count, directory_capacity;
	uint32_t finger; /* run of the last look-up */
	uint32_t nail;	 /* where in it */
	uint32_t item;	 /* bytes of one, a multiple of 8 */
};

/* Valid until the next insertion. The end: run == run_count, index 0. */
struct place {
	uint32_t run, index;
};

static inline struct sequence_run *sequence_run(const struct sequence *sequence, uint32_t run)
{
	return sequence->directory_capacity ? sequence->runs[run] : sequence->only;
}

static inline void *sequence_item(const struct sequence *sequence, struct place place)
{
	return (char *)sequence_run(sequence, place.run)->items +
	       (size_t)place.index * sequence->item;
}

static inline bool sequence_is_end(const struct sequence *sequence, struct place place)
{
	return place.run == sequence->run_count;
}

static inline bool sequence_is_first(struct place place)
{
	return place.run == 0 && place.index == 0;
}

static inline struct place sequence_next(const struct sequence *sequence, struct place place)
{
	if (place.index + 1 < sequence_run(sequence, place.run)->count)
		return (struct place){place.run, place.index + 1};
	return (struct place){place.run + 1, 0};
}

/* `place` is not the first. */
static inline struct place sequence_previous(const struct sequence *sequence, struct place place)
{
	if (place.index > 0)
		return (struct place){place.run, place.index - 1};
	return (struct place){place.run - 1, sequence_run(sequence, place.run - 1)->count - 1};
}

/* The first item with a key of at least `key`; with `more`, of more than
 * that. */
struct place sequence_find(struct sequence *sequence, clew_time key, bool more);
/* Inserts an item before `place`; *ret_place is its position. 0 or -ENOMEM. */
int sequence_insert(struct sequence *sequence, struct place place, const void *item,
		    struct place *ret_place);
/* An item at the end. */
int sequence_append(struct sequence *sequence, const void *item);
/* Empties it and frees its memory. */
void sequence_done(struct sequence *sequence);

#endif
