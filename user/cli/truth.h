/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the recording lost and cost, behind an answer about a causal trace that was made
 * of a capture; of any other nothing is known.
 */
#ifndef CLEW_CLI_TRUTH_H
#define CLEW_CLI_TRUTH_H

#include <clew/model.h>
#include <stdio.h>

#include "words/json.h"

/* "ledger" and "cost" of the object that is open; neither where nothing is known. */
void clew_json_model_truth(struct clew_json *json, const struct clew_model *model, clew_time from,
			   clew_time to);
/* The same, a line each behind an empty one. */
void clew_print_model_truth(FILE *out, const struct clew_model *model, clew_time from,
			    clew_time to);

/* For an answer about all of the trace. */
#define CLEW_WHOLE INT64_MIN, INT64_MAX

#endif
