/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The losses and the cost of the recording, for an answer about a causal trace. Only a
 * trace that was made from a capture has these; for any other nothing is printed.
 */
#ifndef CLEW_WORDS_TRUTH_H
#define CLEW_WORDS_TRUTH_H

#include <clew/model.h>
#include <stdio.h>

#include "format/json.h"

/* The fields "ledger" and "cost" of the open object. */
void clew_json_model_truth(struct clew_json *json, const struct clew_model *model, clew_time from,
			   clew_time to);
/* An empty line, then a line for each. */
void clew_print_model_truth(FILE *out, const struct clew_model *model, clew_time from,
			    clew_time to);

/* The interval of an answer about the whole trace. */
#define CLEW_WHOLE INT64_MIN, INT64_MAX

#endif
