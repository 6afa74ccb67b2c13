/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where in their code the threads of a path ran and waited, by the stacks of the capture behind
 * the causal trace. Nothing is printed without them.
 */
#ifndef CLEW_ANSWERS_PATH_PATH_STACKS_H
#define CLEW_ANSWERS_PATH_PATH_STACKS_H

#include <stdio.h>

#include "analyse/sum/path_stacks.h"
#include "format/json.h"

/* Prints ", 61 % in XLogFileInit <- XLogWrite (27 of 44 samples)" of a running segment, ", in
 * LWLockAcquire <- StartTransaction" of a wait. 0 or -ENOMEM. */
int clew_print_path_stack(FILE *out, const struct clew_path_stacks *stacks,
			  const struct clew_model *model, const struct clew_path_segment *segment);
/* The field "sampled" of a running segment's open object, "stack" of a wait's. 0 or -ENOMEM. */
int clew_json_path_stack(struct clew_json *json, const struct clew_path_stacks *stacks,
			 const struct clew_model *model, const struct clew_path_segment *segment);

/* Prints a paragraph about all of them. 0 or -ENOMEM. */
int clew_print_path_stacks(FILE *out, const struct clew_path_stacks *stacks);
/* Fields of the open object about all of them. 0 or -ENOMEM. */
int clew_json_path_stacks(struct clew_json *json, const struct clew_path_stacks *stacks);

#endif
