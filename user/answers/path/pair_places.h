/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls and functions that the antagonists of a blame ran in, as text and as JSON. */
#ifndef CLEW_ANSWERS_PATH_PAIR_PLACES_H
#define CLEW_ANSWERS_PATH_PAIR_PLACES_H

#include <stdio.h>

#include "analyse/sum/pair_places.h"
#include "format/json.h"

/* Prints ", running 11.9 ms in CALL, 12 page faults" of the call that took longest; nothing where
 * that is little. */
void clew_print_pair_places(FILE *out, struct clew_pair_places *pairs,
			    const struct clew_blame_pair *pair);
/* The field "in" of the open object: the same; none where nothing is known. */
void clew_json_pair_places(struct clew_json *json, struct clew_pair_places *pairs,
			   const struct clew_blame_pair *pair);

/* Prints ", 61 % in XLogFileInit <- XLogWrite (27 of 44 samples)" where it has samples. 0 or
 * -ENOMEM. */
int clew_print_pair_samples(FILE *out, const struct clew_pair_places *pairs,
			    const struct clew_blame_pair *pair);
/* The field "stacks" of the open object. 0 or -ENOMEM. */
int clew_json_pair_samples(struct clew_json *json, const struct clew_pair_places *pairs,
			   const struct clew_blame_pair *pair);
/* Prints a line that says how many samples the pairs have, each pair its own. */
void clew_print_pairs_told(FILE *out, const struct clew_pair_places *pairs);
/* The same as fields of the open object. */
void clew_json_pairs_told(struct clew_json *json, const struct clew_pair_places *pairs);

#endif
