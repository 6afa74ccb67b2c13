/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls and functions that the antagonists of a blame ran in while they kept their victims
 * waiting. */
#ifndef CLEW_ANALYSE_SUM_PAIR_PLACES_H
#define CLEW_ANALYSE_SUM_PAIR_PLACES_H

#include <clew/blame.h>

#include "analyse/sum/places.h"
#include "explain/samples.h"

struct clew_pair_places {
	const struct clew_model *model;
	struct clew_trace *places;
	struct vector sums;		 /* struct clew_place_sums, by the number of the pair */
	const struct clew_trace *stacks; /* of the capture behind the model; NULL: it has none */
	struct vector samples;		 /* struct clew_samples, by the number of the pair */
};

/* The calls and samples of a pair, for another process. */
struct clew_pair_found {
	const struct clew_place_sum *sums;
	size_t sum_count;
	struct clew_samples_found samples;
};

/* Copies what a pair has. 0 or -ENOMEM. */
int clew_pair_places_export(struct clew_pair_places *pairs, const struct clew_blame_pair *pair,
			    struct shared *shared, struct clew_pair_found *ret_found);
/* Adds it to the pair of that number; samples are copied to the arena. 0 or -ENOMEM. */
int clew_pair_places_import(struct clew_pair_places *pairs, uint32_t number, struct arena *arena,
			    const struct clew_pair_found *found);

/* `model`: NULL if nothing is charged, only imported. 0 or -ENOMEM; to be released by
 * clew_pair_places_done() in either case, as a zeroed one may be. */
int clew_pair_places_init(struct clew_pair_places *pairs, const struct clew_model *model,
			  const struct clew_trace *stacks);
void clew_pair_places_done(struct clew_pair_places *pairs);

/* For clew_blame_options.charged; `context` is a struct clew_pair_places. 0 or -ENOMEM. */
int clew_pair_places_charge(void *context, const struct clew_blame_pair *pair, clew_time from,
			    clew_time to);

#endif
