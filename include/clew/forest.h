/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The spawning forest of a causal trace: which span started which root span.
 *
 * A root span is spawned where a dependency of a spawning type has one of its
 * ESs as a destination. The spawner is the span of that dependency's triggering
 * origin, root span or not. A dependency without an origin spawns nothing.
 *
 * A forest is read-only and may be used by any number of threads. The model has
 * to outlive it.
 */
#ifndef CLEW_FOREST_H
#define CLEW_FOREST_H

#include <clew/model.h>

struct clew_forest;

struct clew_forest_rule {
	uint32_t type;	    /* a dependency type of the model */
	bool first_only;    /* the root span may have no incoming dependency before */
	bool several_times; /* several spans may spawn one root span: the first is its spawner, all
			       list it */
};

/* Why a forest cannot be made. */
struct clew_forest_problem {
	uint32_t root;	     /* the root span */
	uint32_t dependency; /* the dependency that breaks the rule */
	bool not_first;	     /* it is not the first that comes in; else it is a second spawner */
};

/*
 * Makes the forest of a model, which is freed by clew_forest_free(). `rules`
 * NULL: those of clew_forest_default_rules(). -EINVAL: the trace breaks a rule,
 * *ret_problem says where (it may be NULL); -ENOMEM.
 */
int clew_forest_new(const struct clew_model *model, const struct clew_forest_rule *rules,
		    size_t rule_count, struct clew_forest **ret_forest,
		    struct clew_forest_problem *ret_problem);
void clew_forest_free(struct clew_forest *forest);

/*
 * The rules for the dependency types named spawn, fork and submit, as far as
 * the model has them; none of them is strict. Writes at most `capacity` rules;
 * returns how many there are.
 */
size_t clew_forest_default_rules(const struct clew_model *model, struct clew_forest_rule *rules,
				 size_t capacity);

/*
 * The span that spawned a root span; CLEW_NONE: none did, or it is not a root
 * span.
 */
uint32_t clew_forest_spawner(const struct clew_forest *forest, uint32_t root);
/*
 * The root span's ES that this dependency leads to, so that es[].in is the
 * dependency; CLEW_NONE as above.
 */
uint32_t clew_forest_spawned_at(const struct clew_forest *forest, uint32_t root);
/*
 * The root spans that a span itself spawned, in order of the root spans, each
 * once. The array belongs to the forest.
 */
const uint32_t *clew_forest_spawned(const struct clew_forest *forest, uint32_t span,
				    uint32_t *ret_count);
/*
 * The root spans without a spawner, in order. The array belongs to the forest.
 */
const uint32_t *clew_forest_unspawned(const struct clew_forest *forest, uint32_t *ret_count);

#endif
