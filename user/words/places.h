/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The calls that threads of a causal trace ran in; their words are those of words/running.h. */
#ifndef CLEW_WORDS_PLACES_H
#define CLEW_WORDS_PLACES_H

#include <stdio.h>

#include "analyse/sum/places.h"
#include "format/json.h"

/* Prints "in CALL, 12 page faults". */
void clew_print_place_sum(FILE *out, const struct clew_place_sum *sum);
/* The fields "call", "faults", "evidence", "memory" and "ns" of the open object. */
void clew_json_place_sum(struct clew_json *json, const struct clew_place_sum *sum);

#endif
