/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Functions that can be probed, as `clew functions` shows them. */
#ifndef CLEW_ANSWERS_FUNCTIONS_PROBED_H
#define CLEW_ANSWERS_FUNCTIONS_PROBED_H

#include <stdbool.h>
#include <stdio.h>

#include "format/json.h"
#include "record/functions/carried.h"
#include "record/functions/function_cost.h"
#include "symbol/elf/dwarf.h"

/* Functions of one file. */
struct clew_functions_shown {
	const char *path;
	struct clew_functions_object about;
	const char *returns;				/* "all", "closed", "exits", "none" */
	const char *why;				/* these */
	const struct clew_function_symbol *const *list; /* in order of address */
	size_t count;
	const struct clew_signature **signatures; /* one each, NULL: nothing is known of it */
	struct clew_function_cost cost;
	struct vector carried;	 /* struct clew_carried: probes that fit, too */
	const char **left_alone; /* one each: the word why it is not probed, NULL: it can be */
};

/* The file, its functions and what all cost: members of an object that is open. */
void clew_functions_write(struct clew_json *json, const struct clew_functions_shown *shown,
			  const struct clew_probe_cost *cost);
void clew_probe_cost_write(struct clew_json *json, const struct clew_probe_cost *cost);
/* The probes that the file carries: the member "probes"; for people, nothing if there are none. */
void clew_carried_write(struct clew_json *json, const struct clew_functions_shown *shown);
void clew_carried_print(FILE *out, const struct clew_functions_shown *shown);
/* The member "cost". */
void clew_function_cost_write(struct clew_json *json, const struct clew_function_cost *cost);

/* For people: what costs most first. `ways`: also say how returns are seen. 0 or -ENOMEM. */
int clew_functions_print(FILE *out, const struct clew_functions_shown *shown, bool ways,
			 const struct clew_probe_cost *cost);
void clew_probe_cost_print(FILE *out, const struct clew_probe_cost *cost);
/* Costs of the probes where nobody calls. */
void clew_function_cost_print(FILE *out, const struct clew_function_cost *cost);

/* The answer: what was found in the files, and what it costs. */
struct clew_functions_answer {
	const struct clew_functions_shown *shown; /* a file each */
	size_t count;
	struct clew_function_cost cost; /* of all */
	const struct clew_probe_cost *probe_cost;
};

/* True if something in the file is what was asked for. */
static inline bool clew_functions_fit(const struct clew_functions_shown *shown)
{
	return shown->count || shown->carried.count;
}

/* 0 or -ENOMEM. */
int clew_functions_text(FILE *out, const struct clew_functions_answer *answer);
void clew_functions_json(FILE *out, const struct clew_functions_answer *answer);

#endif
