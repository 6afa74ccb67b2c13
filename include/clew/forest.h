/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The spawning forest of a causal trace: which span started which root span. A root
 * span is spawned where a dependency of a spawning type has one of its ESs as a
 * destination; the spawner is the span of that dependency's triggering origin, root
 * span or not. A dependency without an origin spawns nothing.
 *
 * A finished forest is read-only, for any number of threads.
 */
#ifndef CLEW_FOREST_H
#define CLEW_FOREST_H

#include <clew/model.h>

struct clew_forest;

struct clew_forest_rule {
	uint32_t type;	    /* a dependency type of the model */
	bool first_only;    /* another incoming dependency of the root span may not come before */
	bool several_times; /* a root span may be spawned by several spans: the first one counts,
			       all list it */
};

/* What kept a forest from being made. */
struct clew_forest_problem {
	uint32_t root;	     /* the root span */
	uint32_t dependency; /* where it came up */
	bool not_first;	     /* else: spawned by a second span */
};

/*
 * Makes the forest of a model. `rules` NULL: those of clew_forest_default_rules().
 * -EINVAL: a rule is broken, *ret_problem says where; -ENOMEM. ret_problem may be NULL.
 */
int clew_forest_new(const struct clew_model *model, const struct clew_forest_rule *rules,
		    size_t rule_count, struct clew_forest **ret_forest,
		    struct clew_forest_problem *ret_problem);
void clew_forest_free(struct clew_forest *forest);

/*
 * The rules for the types that spawn by their names: spawn, fork, submit; none of
 * them is strict. At most `capacity` are written; returns how many there are.
 */
size_t clew_forest_default_rules(const struct clew_model *model, struct clew_forest_rule *rules,
				 size_t capacity);

/* The span that spawned a root span; CLEW_NONE: none did, or it is no root span. */
uint32_t clew_forest_spawner(const struct clew_forest *forest, uint32_t root);
/* The root span's ES that the dependency by which that span spawned it leads to, so that es[].in is
 * this dependency; CLEW_NONE as above. */
uint32_t clew_forest_spawned_at(const struct clew_forest *forest, uint32_t root);
/* The root spans that a span spawned itself, in order of the root spans, each once. */
const uint32_t *clew_forest_spawned(const struct clew_forest *forest, uint32_t span,
				    uint32_t *ret_count);
/* The root spans that nobody spawned, in order. */
const uint32_t *clew_forest_unspawned(const struct clew_forest *forest, uint32_t *ret_count);

#endif
