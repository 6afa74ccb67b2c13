/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the two ways of blaming share.
 */
#ifndef CLEW_ANALYSE_BLAME_INTERNAL_H
#define CLEW_ANALYSE_BLAME_INTERNAL_H

#include <clew/blame.h>
#include <clew/tokens.h>
#include <model/map.h>

#include "path_internal.h"

struct blame {
	const struct clew_model *model;
	bool *victims; /* by span */
	bool *antagonists;
	clew_time begin; /* of the trace */
	struct clew_blame_pair *pairs;
	size_t count, capacity;
	struct map index;     /* (victim and antagonist, number of the resource) -> place in pairs */
	struct map resources; /* (name, kind) -> its number */
	uint32_t resource_count;
};

/* Charges an antagonist with some of a victim's time, if both were chosen. 0 or -ENOMEM. */
int blame_charge(struct blame *blame, uint32_t victim, uint32_t antagonist, clew_time ns, uint32_t kind, const char *resource);

/*
 * The stretch of an ES's span before it in which the ES waits; empty if from >= to.
 * `context` is the caller's.
 */
struct stretch {
	clew_time from, to;
};

/* Charges all that ran in the stretches of the victims' ESs that `waits` gives; `to` is always the ES's start. */
int blame_running(struct blame *blame, uint32_t kind, struct stretch (*waits)(const struct blame *blame, uint32_t es));

/* Charges the holders of locks, the requests ahead, and what had the CPUs. */
int blame_resources(struct blame *blame);

#endif
