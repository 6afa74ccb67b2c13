/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The points of runtimes that a file has. */
#ifndef CLEW_ANSWERS_FUNCTIONS_RUNTIMES_H
#define CLEW_ANSWERS_FUNCTIONS_RUNTIMES_H

#include <stdio.h>

#include "format/json.h"
#include "record/functions/probe_cost.h"
#include "record/functions/runtime_file.h"

/* A runtime in a file. */
struct clew_runtime_shown {
	const struct clew_runtime *runtime;
	const char *path;
	struct runtime_found found;
};

void clew_print_runtime(FILE *out, const struct clew_runtime_shown *shown,
			const struct clew_probe_cost *cost);
/* An element of the open array. */
void clew_json_runtime(struct clew_json *json, const struct clew_runtime_shown *shown,
		       const struct clew_probe_cost *cost);

#endif
