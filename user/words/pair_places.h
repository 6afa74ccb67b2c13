/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that the antagonists of a blame ran in while they kept their victims waiting. */
#ifndef CLEW_WORDS_PAIR_PLACES_H
#define CLEW_WORDS_PAIR_PLACES_H

#include <clew/blame.h>
#include <stdio.h>

#include "words/places.h"

struct clew_pair_places {
	const struct clew_model *model;
	struct clew_trace *places;
	struct vector sums; /* struct clew_place_sums, by the number of the pair */
};

/* 0 or -ENOMEM; to be released by clew_pair_places_done() in either case, as a zeroed one may be.
 */
int clew_pair_places_init(struct clew_pair_places *pairs, const struct clew_model *model);
void clew_pair_places_done(struct clew_pair_places *pairs);

/* For clew_blame_options.charged; `context` is a struct clew_pair_places. 0 or -ENOMEM. */
int clew_pair_places_charge(void *context, const struct clew_blame_pair *pair, clew_time from,
			    clew_time to);

/* Prints ", running 11.9 ms in CALL, 12 page faults" of the call that took longest; nothing where
 * that is little. */
void clew_print_pair_places(FILE *out, struct clew_pair_places *pairs,
			    const struct clew_blame_pair *pair);
/* The field "in" of the open object: the same; none where nothing is known. */
void clew_json_pair_places(struct clew_json *json, struct clew_pair_places *pairs,
			   const struct clew_blame_pair *pair);

#endif
