/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The answer of `path`, as text and as JSON. */
#ifndef CLEW_ANSWERS_PATH_PATH_H
#define CLEW_ANSWERS_PATH_PATH_H

#include <stdio.h>

#include "analyse/sum/path.h"
#include "format/json.h"

/* Print the paths or their sums, and what is known to be missing from them. `several`: there may be
 * several paths between the same positions. 0 or -ENOMEM. */
int clew_print_paths(FILE *out, struct clew_path_sum *sum);
int clew_json_paths(FILE *out, struct clew_path_sum *sum, bool several);

#endif
