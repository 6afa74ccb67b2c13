/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tasks that were short of memory, stopped or throttled on the way to what a why
 * explains, and for how much of its time. This time is part of the causes, which
 * tell what happened meanwhile.
 */
#ifndef CLEW_ANSWERS_WHY_RESTRAINTS_H
#define CLEW_ANSWERS_WHY_RESTRAINTS_H

#include "explain/why.h"
#include <stdio.h>

#include "format/json.h"

/* One task and one thing by which it was held back. */
struct clew_restraint {
	uint64_t ns;
	uint32_t task;
	const struct clew_sleep *sleep; /* one of these waits */
};

/* All restraints of a why, largest first; free(3) them. 0 or -errno. */
int clew_restraints_make(const struct clew_trace *trace, const struct clew_why *why,
			 struct clew_restraint **ret_restraints, size_t *ret_count);

/* Prints "limited-7 (memory: cgroup /small)", safe for a terminal. */
void clew_print_restraint(FILE *out, const struct clew_trace *trace,
			  const struct clew_restraint *restraint);
/* An element of an array. */
void clew_json_restraint(struct clew_json *json, const struct clew_trace *trace,
			 const struct clew_restraint *restraint);

#endif
